// node:console.

import { console } from "../../runtime/console.js";

export class Console {
  constructor() {
    Object.assign(this, console);
  }
}
export const { log, info, debug, warn, error, trace, dir, table, assert, count, countReset, time, timeEnd, timeLog, group, groupCollapsed, groupEnd } = console;
export default Object.assign(console, { Console });
