// node:inspector is not available; see absent.js.

import { absentModule } from "./absent.js";

const absent = absentModule("node:inspector", "the engine has no inspector");
export const {
  Session, open, url,
} = absent;
export const {
  Network, close, console, waitForDebugger,
} = absent;
export default absent;
