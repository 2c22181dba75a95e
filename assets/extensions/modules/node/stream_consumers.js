// node:stream/consumers: a whole stream as one value.

import { withStubs } from "../stubs.js";
import { text as readText } from "./stream.js";
import { concat } from "../../runtime/fetch.js";
import { bytesOf } from "../../runtime/encoding.js";
import { asBuffer } from "../../runtime/buffer.js";

export const text = readText;
export const json = async (stream) => JSON.parse(await readText(stream));
export async function buffer(stream) {
  const parts = [];
  for await (const part of stream) parts.push(bytesOf(part));
  return asBuffer(concat(parts));
}
export const arrayBuffer = async (stream) => new Uint8Array(await buffer(stream)).buffer;
// Names of the real module that are not implemented.
export const {
  blob,
} = withStubs("node:stream/consumers");
export default { text, json, buffer, arrayBuffer };
