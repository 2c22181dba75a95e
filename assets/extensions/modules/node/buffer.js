// node:buffer.

import { withStubs } from "../stubs.js";
import { Buffer } from "../../runtime/buffer.js";
import { atob, btoa } from "../../runtime/encoding.js";
import { Blob, File } from "../../runtime/fetch.js";

export const constants = { MAX_LENGTH: 2 ** 31, MAX_STRING_LENGTH: 2 ** 29 };
export const kMaxLength = constants.MAX_LENGTH;
export const SlowBuffer = Buffer;
export const isUtf8 = () => true;
export const isAscii = (bytes) => bytes.every((byte) => byte < 128);
export { Buffer, Blob, File, atob, btoa };
// Names of the real module that are not implemented.
export const {
  INSPECT_MAX_BYTES, kStringMaxLength, resolveObjectURL, transcode,
} = withStubs("node:buffer");
export default { Buffer, Blob, File, atob, btoa, constants, kMaxLength, SlowBuffer, isUtf8, isAscii };
