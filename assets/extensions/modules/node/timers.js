// node:timers.

import { clearImmediate, clearInterval, clearTimeout, setImmediate, setInterval, setTimeout } from "../../runtime/timers.js";
import promises from "./timers_promises.js";

export { clearImmediate, clearInterval, clearTimeout, setImmediate, setInterval, setTimeout, promises };
export default { clearImmediate, clearInterval, clearTimeout, setImmediate, setInterval, setTimeout, promises };
