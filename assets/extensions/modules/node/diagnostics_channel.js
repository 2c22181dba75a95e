// node:diagnostics_channel: channels that nobody listens to.

export const channel = (name) => ({ name, hasSubscribers: false, publish() {}, subscribe() {}, unsubscribe: () => false });
export const hasSubscribers = () => false;
export const tracingChannel = (name) => ({ name, hasSubscribers: false, traceSync: (work, _context, self, ...args) => work.apply(self, args) });
export default { channel, hasSubscribers, tracingChannel };
