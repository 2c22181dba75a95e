// node:timers.

import { withStubs } from "../stubs.js";
import { clearImmediate, clearInterval, clearTimeout, setImmediate, setInterval, setTimeout } from "../../runtime/timers.js";
import promises from "./timers_promises.js";

export { clearImmediate, clearInterval, clearTimeout, setImmediate, setInterval, setTimeout, promises };
// Names of the real module that are not implemented.
export const {
  _unrefActive, active, enroll, unenroll,
} = withStubs("node:timers");
export default { clearImmediate, clearInterval, clearTimeout, setImmediate, setInterval, setTimeout, promises };
