// node:diagnostics_channel: channels that nobody listens to.

import { withStubs } from "../stubs.js";

export const channel = (name) => ({ name, hasSubscribers: false, publish() {}, subscribe() {}, unsubscribe: () => false });
export const hasSubscribers = () => false;
export const tracingChannel = (name) => ({ name, hasSubscribers: false, traceSync: (work, _context, self, ...args) => work.apply(self, args) });
// Names of the real module that are not implemented.
export const {
  Channel, subscribe, unsubscribe,
} = withStubs("node:diagnostics_channel");
export default { channel, hasSubscribers, tracingChannel };
