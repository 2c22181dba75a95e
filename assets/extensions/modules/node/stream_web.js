// node:stream/web.

import { withStubs } from "../stubs.js";
import { CompressionStream, DecompressionStream, TextDecoderStream, TextEncoderStream } from "../../runtime/converting_streams.js";
import {
  ByteLengthQueuingStrategy, CountQueuingStrategy, ReadableStream, ReadableStreamDefaultController, ReadableStreamDefaultReader,
  TransformStream, TransformStreamDefaultController, WritableStream, WritableStreamDefaultController, WritableStreamDefaultWriter,
} from "../../runtime/streams.js";

export {
  ByteLengthQueuingStrategy, CompressionStream, CountQueuingStrategy, DecompressionStream, ReadableStream, ReadableStreamDefaultController,
  ReadableStreamDefaultReader, TextDecoderStream, TextEncoderStream, TransformStream, TransformStreamDefaultController, WritableStream,
  WritableStreamDefaultController, WritableStreamDefaultWriter,
};
// Names of the real module that are not implemented.
export const { ReadableByteStreamController, ReadableStreamBYOBReader, ReadableStreamBYOBRequest } = withStubs("node:stream/web");
export default { ReadableStream, TransformStream, WritableStream, TextDecoderStream, TextEncoderStream, CompressionStream, DecompressionStream };
