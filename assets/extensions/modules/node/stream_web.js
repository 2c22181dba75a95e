// node:stream/web.

import { withStubs } from "../stubs.js";
import { ReadableStream, TransformStream, WritableStream } from "../../runtime/streams.js";

export { ReadableStream, TransformStream, WritableStream };
// Names of the real module that are not implemented.
export const {
  ByteLengthQueuingStrategy, CompressionStream, CountQueuingStrategy, DecompressionStream, ReadableByteStreamController,
  ReadableStreamBYOBReader, ReadableStreamBYOBRequest, ReadableStreamDefaultController, ReadableStreamDefaultReader, TextDecoderStream,
  TextEncoderStream, TransformStreamDefaultController, WritableStreamDefaultController, WritableStreamDefaultWriter,
} = withStubs("node:stream/web");
export default { ReadableStream, TransformStream, WritableStream };
