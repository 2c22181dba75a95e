// node:stream, small: Readable, Writable, Duplex, Transform, PassThrough, pipeline and finished.
//
// Data flows as soon as somebody listens or iterates; there is no back pressure between the two ends
// beyond `read` being asked for more only when everything so far was taken.

import { withStubs } from "../stubs.js";
import { EventEmitter } from "./events.js";
import { asBuffer, decodeBytes } from "../../runtime/buffer.js";
import { StringDecoder } from "./string_decoder.js";

export class Stream extends EventEmitter {
  pipe(target, options) {
    this.on("data", (chunk) => target.write(chunk));
    if (options?.end !== false) this.on("end", () => target.end?.());
    return target;
  }
}

function makeReadable(stream, options) {
  Object.assign(stream, { readable: true, destroyed: false, readableEnded: false, readableFlowing: null });
  const state = { queue: [], ended: false, decoder: null, reading: false, scheduled: false, objectMode: Boolean(options.objectMode ?? options.readableObjectMode) };
  Object.defineProperty(stream, "readState", { value: state });
  if (options.encoding) state.decoder = new StringDecoder(options.encoding);
  if (options.read) stream._read = options.read;
  if (options.destroy) stream._destroy = options.destroy;
}

const readableMethods = {
  _read() {},
  push(chunk) {
    const state = this.readState;
    if (chunk === null) state.ended = true;
    else {
      let item = state.objectMode || typeof chunk !== "string" || state.decoder === null ? chunk : chunk;
      if (!state.objectMode && chunk instanceof Uint8Array) item = state.decoder ? state.decoder.write(chunk) : asBuffer(chunk);
      if (item !== "" && item?.length !== 0) state.queue.push(item);
    }
    state.reading = false;
    this.emit("readable");
    schedule(this);
    return true;
  },
  setEncoding(encoding) {
    this.readState.decoder = new StringDecoder(encoding);
    return this;
  },
  read() {
    const item = this.readState.queue.shift();
    if (item === undefined) schedule(this);
    return item ?? null;
  },
  unshift(chunk) {
    this.readState.queue.unshift(chunk);
  },
  resume() {
    this.readableFlowing = true;
    schedule(this);
    return this;
  },
  pause() {
    this.readableFlowing = false;
    return this;
  },
  isPaused() {
    return this.readableFlowing === false;
  },
  unpipe() {
    return this;
  },
  destroy(error) {
    if (this.destroyed) return this;
    this.destroyed = true;
    this._destroy?.(error ?? null, () => {});
    Promise.resolve().then(() => {
      if (error) this.emit("error", error);
      // Those of connections tell whether there was one.
      if (this.tellsError) this.emit("close", Boolean(error));
      else this.emit("close");
    });
    return this;
  },
  async *[Symbol.asyncIterator]() {
    const state = this.readState;
    let wake = () => {};
    let failure;
    this.on("readable", () => wake());
    this.on("error", (error) => {
      failure = { error };
      wake();
    });
    this.on("close", () => wake());
    for (;;) {
      while (state.queue.length > 0) yield state.queue.shift();
      if (failure) throw failure.error;
      if (state.ended || this.destroyed) return;
      const waiting = new Promise((resolve) => {
        wake = resolve;
      });
      if (!state.reading) {
        state.reading = true;
        this._read(65536);
      }
      if (state.queue.length === 0 && !state.ended && !failure) await waiting;
    }
  },
};

function schedule(stream) {
  const state = stream.readState;
  if (state.scheduled || stream.readableFlowing !== true) return;
  state.scheduled = true;
  Promise.resolve().then(() => {
    state.scheduled = false;
    while (stream.readableFlowing === true && state.queue.length > 0) stream.emit("data", state.queue.shift());
    if (stream.readableFlowing !== true || stream.destroyed) return;
    if (state.ended) {
      if (stream.readableEnded) return;
      const rest = state.decoder?.end();
      if (rest) stream.emit("data", rest);
      stream.readableEnded = true;
      stream.emit("end");
      if (!stream.writable) stream.emit("close");
    } else if (!state.reading) {
      state.reading = true;
      stream._read(65536);
    }
  });
}

/** Whoever listens to data gets it, unless the stream was paused. */
function flowing(stream, name) {
  if (name === "data" && stream.readableFlowing !== false) stream.resume();
  return stream;
}

export class Readable extends Stream {
  constructor(options = {}) {
    super();
    makeReadable(this, options);
  }
  on(name, listener) {
    super.on(name, listener);
    return flowing(this, name);
  }
  addListener(name, listener) {
    return this.on(name, listener);
  }
  once(name, listener) {
    super.once(name, listener);
    return flowing(this, name);
  }
  static from(items, options) {
    const iterator = typeof items === "string" ? [items][Symbol.iterator]() : items[Symbol.asyncIterator]?.() ?? items[Symbol.iterator]();
    return new Readable({
      objectMode: true,
      ...options,
      async read() {
        try {
          const { value, done } = await iterator.next();
          this.push(done ? null : value);
        } catch (error) {
          this.destroy(error);
        }
      },
    });
  }
  static toWeb(stream) {
    return globalThis.ReadableStream.from(stream);
  }
  static fromWeb(stream) {
    return Readable.from(stream);
  }
}

function makeWritable(stream, options) {
  Object.assign(stream, { writable: true, writableEnded: false, writableFinished: false });
  Object.defineProperty(stream, "writeState", { value: { queue: [], busy: false, size: 0, most: options.highWaterMark ?? options.writableHighWaterMark ?? (options.objectMode ?? options.writableObjectMode ? 16 : 65536), needsDrain: false, emitClose: options.emitClose !== false, objectMode: Boolean(options.objectMode ?? options.writableObjectMode) } });
  if (options.write) stream._write = options.write;
  if (options.final) stream._final = options.final;
  if (options.destroy) stream._destroy = options.destroy;
}

const writableMethods = {
  _write(_chunk, _encoding, done) {
    done();
  },
  write(chunk, encoding, done) {
    if (typeof encoding === "function") [encoding, done] = [undefined, encoding];
    if (this.destroyed) {
      const gone = Object.assign(new Error("Cannot call write after a stream was destroyed"), { code: "ERR_STREAM_DESTROYED" });
      if (done) Promise.resolve().then(() => done(gone));
      return false;
    }
    if (this.writableEnded) {
      const error = Object.assign(new Error("write after end"), { code: "ERR_STREAM_WRITE_AFTER_END" });
      this.destroy(error);
      return false;
    }
    const data = typeof chunk === "string" && !this.writeState.objectMode ? globalThis.Buffer.from(chunk, encoding) : chunk;
    const state = this.writeState;
    const size = state.objectMode ? 1 : data?.length ?? 1;
    state.size += size;
    state.queue.push({ data, size, encoding: "buffer", done });
    flush(this);
    const isFull = state.size >= state.most;
    state.needsDrain ||= isFull;
    return !isFull;
  },
  end(chunk, encoding, done) {
    if (typeof chunk === "function") [chunk, done] = [undefined, chunk];
    if (chunk !== undefined && chunk !== null) this.write(chunk, encoding);
    if (done) this.once("finish", done);
    this.writableEnded = true;
    flush(this);
    return this;
  },
  cork() {},
  uncork() {},
  setDefaultEncoding() {
    return this;
  },
};

function flush(stream) {
  const state = stream.writeState;
  while (!state.busy && state.queue.length > 0) {
    const next = state.queue.shift();
    // One that is taken at once is followed by the next here, not from within: very many may wait.
    state.busy = true;
    let isHere = true;
    stream._write(next.data, next.encoding, (error) => {
      state.busy = false;
      state.size -= next.size;
      next.done?.(error);
      if (error) return void stream.destroy(error);
      if (state.queue.length === 0 && state.needsDrain && !stream.writableEnded) {
        state.needsDrain = false;
        Promise.resolve().then(() => stream.emit("drain"));
      }
      if (!isHere) flush(stream);
    });
    isHere = false;
  }
  if (state.busy) return;
  if (!stream.writableEnded || stream.writableFinished) return;
  state.busy = true;
  const finish = (error) => {
    if (error) return void stream.destroy(error);
    stream.writableFinished = true;
    Promise.resolve().then(() => {
      stream.emit("finish");
      if (!stream.readState && state.emitClose) stream.emit("close");
    });
  };
  if (stream._final) stream._final(finish);
  else finish();
}

export class Writable extends Stream {
  constructor(options = {}) {
    super();
    this.destroyed = false;
    makeWritable(this, options);
  }
}

export class Duplex extends Readable {
  constructor(options = {}) {
    super(options);
    makeWritable(this, options);
  }
}

export class Transform extends Duplex {
  constructor(options = {}) {
    super(options);
    if (options.transform) this._transform = options.transform;
    if (options.flush) this._flush = options.flush;
  }
  _write(chunk, encoding, done) {
    this._transform(chunk, encoding, (error, data) => {
      if (data !== undefined && data !== null) this.push(data);
      done(error);
    });
  }
  _transform(chunk, _encoding, done) {
    done(null, chunk);
  }
  _final(done) {
    const finish = (error, data) => {
      // What failed has no end.
      if (error) return done(error);
      if (data !== undefined && data !== null) this.push(data);
      this.push(null);
      return done();
    };
    if (this._flush) this._flush(finish);
    else finish();
  }
}
export class PassThrough extends Transform {}

const mix = (Kind, methods) => {
  for (const key of Reflect.ownKeys(methods)) {
    if (!Object.hasOwn(Kind.prototype, key)) Object.defineProperty(Kind.prototype, key, { value: methods[key], writable: true, configurable: true });
  }
};
mix(Readable, readableMethods);
mix(Writable, writableMethods);
mix(Writable, { destroy: readableMethods.destroy });
mix(Duplex, writableMethods);

export function finished(stream, options, done) {
  const call = typeof options === "function" ? options : done;
  let over = false;
  const finish = (error) => {
    if (over) return;
    over = true;
    call(error);
  };
  stream.on("end", () => finish());
  stream.on("finish", () => finish());
  stream.on("close", () => finish());
  stream.on("error", finish);
  return () => {
    over = true;
  };
}

export function pipeline(...parts) {
  const done = typeof parts.at(-1) === "function" ? parts.pop() : () => {};
  const streams = parts.flat().map((part) => (typeof part.pipe === "function" || typeof part.write === "function" ? part : Readable.from(part)));
  let over = false;
  const finish = (error) => {
    if (over) return;
    over = true;
    if (error) for (const stream of streams) stream.destroy?.();
    done(error);
  };
  for (const stream of streams) stream.on("error", finish);
  streams.reduce((from, to) => from.pipe(to));
  streams.at(-1).on("finish", () => finish());
  return streams.at(-1);
}

export const promises = {
  pipeline: (...parts) => new Promise((resolve, reject) => pipeline(...parts, (error) => (error ? reject(error) : resolve()))),
  finished: (stream) => new Promise((resolve, reject) => finished(stream, (error) => (error ? reject(error) : resolve()))),
};

export const text = async (stream) => {
  let whole = "";
  for await (const chunk of stream) whole += typeof chunk === "string" ? chunk : decodeBytes(chunk, "utf8");
  return whole;
};

Object.assign(Stream, { Stream, Readable, Writable, Duplex, Transform, PassThrough, pipeline, finished, promises });
// Names of the real module that are not implemented.
export const {
  _isArrayBufferView, _isUint8Array, _uint8ArrayToBuffer, addAbortSignal, compose, destroy, duplexPair, getDefaultHighWaterMark,
  isDestroyed, isDisturbed, isErrored, isReadable, isWritable, setDefaultHighWaterMark,
} = withStubs("node:stream");
export default Stream;
