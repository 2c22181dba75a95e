// console: every line goes to the host with its level and the extension that wrote it.

import { currentOwner, host } from "./bridge.js";
import { format, inspect } from "./inspect.js";

const counts = new Map();
const starts = new Map();
let indent = "";

const write = (level, args) => {
  const text = format(...args);
  host.log(currentOwner(), level, indent ? text.replace(/^/gm, indent) : text);
};

export const console = {
  log: (...args) => write("info", args),
  info: (...args) => write("info", args),
  debug: (...args) => write("debug", args),
  warn: (...args) => write("warn", args),
  error: (...args) => write("error", args),
  trace: (...args) => write("debug", [`Trace: ${format(...args)}\n${new Error().stack ?? ""}`]),
  dir: (value, options) => write("info", [inspect(value, options)]),
  table: (value) => write("info", [value]),
  assert: (test, ...args) => {
    if (!test) write("error", args.length ? ["Assertion failed:", ...args] : ["Assertion failed"]);
  },
  count: (label = "default") => {
    counts.set(label, (counts.get(label) ?? 0) + 1);
    write("info", [`${label}: ${counts.get(label)}`]);
  },
  countReset: (label = "default") => counts.delete(label),
  time: (label = "default") => starts.set(label, host.now()),
  timeLog: (label = "default", ...args) => write("info", [`${label}: ${(host.now() - (starts.get(label) ?? host.now())).toFixed(3)}ms`, ...args]),
  timeEnd: (label = "default") => {
    console.timeLog(label);
    starts.delete(label);
  },
  group: (...args) => {
    if (args.length) write("info", args);
    indent += "  ";
  },
  groupEnd: () => {
    indent = indent.slice(2);
  },
};
console.groupCollapsed = console.group;
