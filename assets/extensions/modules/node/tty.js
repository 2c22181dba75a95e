// node:tty.

import { info } from "../../runtime/bridge.js";
import { Readable, Writable } from "./stream.js";

export const isatty = () => Boolean(info.tty);
export const ReadStream = Readable;
export const WriteStream = Writable;
export default { isatty, ReadStream, WriteStream };
