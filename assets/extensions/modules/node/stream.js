// node:stream: the classes, and what is done with streams.

import { withStubs } from "../stubs.js";
import { decodeBytes } from "../../runtime/buffer.js";
import { coded } from "../../runtime/errors.js";
import { Duplex, MOST_BYTES, MOST_THINGS, PassThrough, Readable, Stream, Transform, Writable } from "./stream_classes.js";

export { Duplex, PassThrough, Readable, Stream, Transform, Writable };

export function finished(stream, options, done) {
  const call = typeof options === "function" ? options : done;
  const { readable = true, writable = true, signal } = typeof options === "object" && options !== null ? options : {};
  const reads = readable && Boolean(stream.readState);
  const writes = writable && Boolean(stream.writeState);
  let over = false;
  const finish = (error) => {
    if (over) return;
    over = true;
    call.call(stream, error);
  };
  const all = () => {
    if ((!reads || stream.readableEnded) && (!writes || stream.writableFinished)) finish();
  };
  const closed = () => {
    if ((reads && !stream.readableEnded) || (writes && !stream.writableFinished)) finish(coded(Error, "ERR_STREAM_PREMATURE_CLOSE", "Premature close"));
    else finish();
  };
  stream.on("end", all);
  stream.on("finish", all);
  stream.on("close", closed);
  stream.on("error", finish);
  signal?.addEventListener("abort", () => finish(signal.reason), { once: true });
  // What is over already tells nothing more.
  Promise.resolve().then(() => {
    if (stream.errored) finish(stream.errored);
    else if (stream.closed) closed();
    else if (reads || writes) all();
  });
  return () => {
    over = true;
    for (const [name, listener] of [["end", all], ["finish", all], ["close", closed], ["error", finish]]) stream.off(name, listener);
  };
}

/** Streams, iterables and functions of them one into the next; the last argument is told what came of it. */
export function pipeline(...parts) {
  const done = parts.pop();
  if (typeof done !== "function") throw coded(TypeError, "ERR_INVALID_ARG_TYPE", "the last argument of pipeline must be a function");
  const list = Array.isArray(parts[0]) && parts.length === 1 ? parts[0] : parts;
  const streams = [];
  let over = false;
  const finish = (error, result) => {
    if (over) return;
    over = true;
    if (error) for (const stream of streams) stream.destroy?.();
    done(error ?? undefined, result);
  };
  let before;
  for (const [i, part] of list.entries()) {
    const isWork = typeof part === "function";
    const made = isWork ? part(before) : part;
    if (isWork && i === list.length - 1 && typeof made?.then === "function" && !made[Symbol.asyncIterator]) {
      made.then((result) => finish(undefined, result), finish);
      return undefined;
    }
    const stream = made instanceof Stream ? made : Readable.from(made);
    streams.push(stream);
    stream.on("error", finish);
    if (before && !isWork) before.pipe(stream);
    before = stream;
  }
  finished(before, { readable: !before.writeState }, finish);
  return before;
}

export const promises = {
  pipeline: (...parts) => {
    const options = parts.at(-1);
    const isOptions = options !== null && typeof options === "object" && !options.on && !options[Symbol.asyncIterator] && !options[Symbol.iterator];
    if (isOptions) parts.pop();
    return new Promise((resolve, reject) => {
      const last = pipeline(...parts, (error, value) => (error ? reject(error) : resolve(value)));
      const { signal } = isOptions ? options : {};
      signal?.addEventListener("abort", () => last?.destroy?.(signal.reason), { once: true });
    });
  },
  finished: (stream, options) => new Promise((resolve, reject) => finished(stream, options ?? {}, (error) => (error ? reject(error) : resolve()))),
};

export const text = async (stream) => {
  let whole = "";
  for await (const chunk of stream) whole += typeof chunk === "string" ? chunk : decodeBytes(chunk, "utf8");
  return whole;
};
export const getDefaultHighWaterMark = (objectMode) => (objectMode ? MOST_THINGS : MOST_BYTES);
export const setDefaultHighWaterMark = () => {};
export const isReadable = (stream) => Boolean(stream?.readable && stream.readState && !stream.readableEnded && !stream.destroyed && !stream.errored);
export const isWritable = (stream) => Boolean(stream?.writeState && !stream.writableEnded && !stream.destroyed);
export const isErrored = (stream) => Boolean(stream?.errored);
export const isDisturbed = (stream) => Boolean(stream?.readState && (stream.readableEnded || stream.readableFlowing !== null || stream.destroyed));
export const isDestroyed = (stream) => Boolean(stream?.destroyed);
export const destroy = (stream, error) => stream.destroy(error);
export function addAbortSignal(signal, stream) {
  const stop = () => stream.destroy(Object.assign(new Error("The operation was aborted"), { name: "AbortError", code: "ABORT_ERR", cause: signal.reason }));
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  return stream;
}

Object.assign(Stream, {
  Stream, Readable, Writable, Duplex, Transform, PassThrough, pipeline, finished, promises, getDefaultHighWaterMark, setDefaultHighWaterMark, isReadable, isWritable, isErrored, isDisturbed,
  isDestroyed, destroy, addAbortSignal,
});
// Names of the real module that are not implemented.
export const { _isArrayBufferView, _isUint8Array, _uint8ArrayToBuffer, compose, duplexPair } = withStubs("node:stream");
export default Stream;
