// The classes of node:stream: Readable, Writable, Duplex, Transform, PassThrough.
//
// Data flows as soon as somebody listens or iterates; a source is asked for more when everything so far was taken. The classes
// are functions, as libraries of before classes call them on objects of their own (`Transform.call(this)`).

import { EventEmitter } from "./events.js";
import { asBuffer } from "../../runtime/buffer.js";
import { StringDecoder } from "./string_decoder.js";

/** So many bytes or things a source is asked for, and a stream holds where nobody says otherwise. */
export const MOST_BYTES = 65536;
export const MOST_THINGS = 16;
const later = (work) => Promise.resolve().then(work);

export function Stream() {}
Object.setPrototypeOf(Stream, EventEmitter);
Stream.prototype = Object.create(EventEmitter.prototype, { constructor: { value: Stream, writable: true, configurable: true } });
Stream.prototype.pipe = function (target, options) {
  const pipes = (this.pipes ??= new Map());
  const take = (chunk) => {
    if (target.write(chunk) !== false || !this.readState) return;
    this.pause();
    target.once("drain", () => this.resume());
  };
  const end = () => target.end?.();
  this.on("data", take);
  if (options?.end !== false) this.on("end", end);
  pipes.set(target, () => {
    this.off("data", take);
    this.off("end", end);
  });
  target.emit?.("pipe", this);
  return target;
};

function makeReadable(stream, options) {
  Object.assign(stream, { readable: true, destroyed: false, readableEnded: false, readableFlowing: null });
  const objectMode = Boolean(options.objectMode ?? options.readableObjectMode);
  const most = options.highWaterMark ?? options.readableHighWaterMark ?? (objectMode ? MOST_THINGS : MOST_BYTES);
  // `size` counts what waits in the queue: things, or bytes and letters.
  const state = { queue: [], size: 0, ended: false, decoder: null, reading: false, scheduled: false, objectMode, most, isAsked: false, error: null, closed: false };
  Object.defineProperty(stream, "readState", { value: state, configurable: true });
  if (options.encoding) state.decoder = new StringDecoder(options.encoding);
  if (options.read) stream._read = options.read;
  if (options.destroy) stream._destroy = options.destroy;
}

const sizeOf = (state, item) => (state.objectMode ? 1 : item.length ?? 1);

/** What came, as it is read: text where an encoding was named, else bytes. */
function formed({ objectMode, decoder }, chunk, encoding) {
  if (objectMode) return chunk;
  if (typeof chunk === "string") return decoder ? chunk : globalThis.Buffer.from(chunk, encoding);
  return decoder ? decoder.write(chunk) : chunk instanceof Uint8Array ? asBuffer(chunk) : chunk;
}

function put(state, chunk, encoding) {
  const item = formed(state, chunk, encoding);
  if (!state.objectMode && item.length === 0) return;
  state.queue.push(item);
  state.size += sizeOf(state, item);
}

function putLast(state) {
  const rest = state.decoder?.end();
  if (rest) put(state, rest);
  state.ended = true;
}

function take(state) {
  const item = state.queue.shift();
  state.size -= sizeOf(state, item);
  return item;
}

/** What waits is read by nobody any more. */
export function dropUnread(stream) {
  Object.assign(stream.readState, { queue: [], size: 0 });
}

const readableMethods = {
  _read() {},
  push(chunk, encoding) {
    const state = this.readState;
    if (chunk === null) putLast(state);
    else put(state, chunk, encoding);
    state.reading = false;
    this.emit("readable");
    schedule(this);
    return !state.ended && state.size < state.most;
  },
  /** What waits already is given as text, too. */
  setEncoding(encoding) {
    const state = this.readState;
    const { queue, ended } = state;
    dropUnread(this);
    state.decoder = new StringDecoder(encoding);
    for (const item of queue) put(state, item);
    if (ended) putLast(state);
    return this;
  },
  /** So many bytes, all there are, or one thing; null where that is not there yet. */
  read(size) {
    const state = this.readState;
    let item = null;
    if (size !== 0 && state.queue.length > 0) {
      if (state.objectMode) item = take(state);
      else if (size === undefined || size <= state.size || state.ended) item = takeBytes(state, size ?? state.size);
    }
    const isEmpty = state.queue.length === 0;
    if (this.readableFlowing === true) return item;
    if (state.ended) isEmpty && finishReading(this);
    else if (isEmpty || item === null) ask(this);
    return item;
  },
  unshift(chunk, encoding) {
    const state = this.readState;
    const item = formed(state, chunk, encoding);
    state.queue.unshift(item);
    state.size += sizeOf(state, item);
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
  unpipe(target) {
    for (const [to, stop] of this.pipes ?? []) {
      if (target !== undefined && to !== target) continue;
      stop();
      this.pipes.delete(to);
      to.emit?.("unpipe", this);
    }
    return this;
  },
  async toArray() {
    const all = [];
    for await (const item of this) all.push(item);
    return all;
  },
  _destroy(_error, done) {
    done?.();
  },
  destroy(error, done) {
    if (this.destroyed) return this;
    this.destroyed = true;
    const states = [this.readState, this.writeState].filter(Boolean);
    for (const state of states) state.error = error ?? null;
    this._destroy(error ?? null, (failed) => done?.(failed));
    later(() => {
      for (const state of states) state.closed = true;
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
    let isOver = false;
    const heard = {
      readable: () => wake(),
      close: () => wake(),
      error: (error) => {
        failure = { error };
        wake();
      },
    };
    for (const [name, listener] of Object.entries(heard)) this.on(name, listener);
    try {
      for (;;) {
        while (state.queue.length > 0) yield take(state);
        isOver = state.ended;
        if (failure) throw failure.error;
        if (isOver || this.destroyed) break;
        const waiting = new Promise((resolve) => {
          wake = resolve;
        });
        ask(this);
        await waiting;
      }
      if (isOver) finishReading(this);
    } finally {
      for (const [name, listener] of Object.entries(heard)) this.off(name, listener);
      // Whoever leaves before the end wants no more.
      if (!isOver) this.destroy();
    }
  },
};

/** So many bytes or letters of what waits, or all where there are fewer. */
function takeBytes(state, count) {
  const { queue } = state;
  const all = queue.length === 1 ? queue[0] : typeof queue[0] === "string" ? queue.join("") : globalThis.Buffer.concat(queue);
  const rest = all.slice(count);
  state.queue = rest.length > 0 ? [rest] : [];
  state.size = rest.length;
  return all.slice(0, count);
}

/** Has the source bring more. */
function ask(stream) {
  const state = stream.readState;
  if (state.reading || state.ended || stream.destroyed) return;
  state.reading = true;
  // Its end may have come meanwhile.
  later(() => !state.ended && !stream.destroyed && stream._read(MOST_BYTES));
}

/** All was taken. */
function finishReading(stream) {
  if (stream.readableEnded || stream.destroyed) return;
  stream.readableEnded = true;
  later(() => {
    stream.emit("end");
    if (stream.writable) return;
    stream.readState.closed = true;
    stream.emit("close");
  });
}

function schedule(stream) {
  const state = stream.readState;
  if (state.scheduled || stream.readableFlowing !== true) return;
  state.scheduled = true;
  later(() => {
    state.scheduled = false;
    while (stream.readableFlowing === true && state.queue.length > 0) stream.emit("data", take(state));
    if (stream.readableFlowing !== true || stream.destroyed) return;
    if (state.ended) finishReading(stream);
    else ask(stream);
  });
}

/** Whoever listens to data gets it, unless the stream was paused; whoever waits for something to read has it brought. */
function flowing(stream, name) {
  const state = stream.readState;
  if (name === "data" && stream.readableFlowing !== false) stream.resume();
  if (name === "readable" && state && !state.isAsked && stream.readableFlowing !== true) {
    state.isAsked = true;
    stream.readableFlowing = false;
    later(() => {
      if (state.queue.length > 0 || state.ended) stream.emit("readable");
      else ask(stream);
    });
  }
  return stream;
}

/** A class that is a function: called on an object of one's own it makes that one. */
function kind(Parent, make) {
  const Kind = function (options) {
    const self = this instanceof Kind || (this && Parent.prototype.isPrototypeOf(this)) ? this : new Kind(options);
    if (self === this) make(self, options ?? {});
    return self;
  };
  Object.setPrototypeOf(Kind, Parent);
  Kind.prototype = Object.create(Parent.prototype, { constructor: { value: Kind, writable: true, configurable: true } });
  return Kind;
}
const methodsOf = (Kind, methods) => {
  for (const key of Reflect.ownKeys(methods)) Object.defineProperty(Kind.prototype, key, { ...Object.getOwnPropertyDescriptor(methods, key), enumerable: true });
};

export const Readable = kind(Stream, makeReadable);
Object.defineProperty(Readable, "name", { value: "Readable" });
methodsOf(Readable, {
  on(name, listener) {
    EventEmitter.prototype.on.call(this, name, listener);
    return flowing(this, name);
  },
  addListener(name, listener) {
    return this.on(name, listener);
  },
  once(name, listener) {
    EventEmitter.prototype.once.call(this, name, listener);
    return flowing(this, name);
  },
});
Object.assign(Readable, {
  from(items, options) {
    // A text or bytes are one piece.
    const isWhole = typeof items === "string" || items instanceof Uint8Array;
    const iterator = isWhole ? [items][Symbol.iterator]() : items[Symbol.asyncIterator]?.() ?? items[Symbol.iterator]();
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
  },
  toWeb: (stream) => globalThis.ReadableStream.from(stream),
  fromWeb: (stream) => Readable.from(stream),
});

function makeWritable(stream, options) {
  Object.assign(stream, { writable: true, destroyed: false, writableEnded: false, writableFinished: false });
  const objectMode = Boolean(options.objectMode ?? options.writableObjectMode);
  const most = options.highWaterMark ?? options.writableHighWaterMark ?? (objectMode ? MOST_THINGS : MOST_BYTES);
  const state = { error: null, closed: false, queue: [], busy: false, size: 0, most, needsDrain: false, emitClose: options.emitClose !== false, objectMode };
  Object.defineProperty(stream, "writeState", { value: state, configurable: true });
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
      if (done) later(() => done(gone));
      return false;
    }
    if (this.writableEnded) {
      const error = Object.assign(new Error("write after end"), { code: "ERR_STREAM_WRITE_AFTER_END" });
      this.destroy(error);
      return false;
    }
    const data = typeof chunk === "string" && !this.writeState.objectMode ? globalThis.Buffer.from(chunk, encoding ?? undefined) : chunk;
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
    if (chunk !== undefined && chunk !== null) this.write(chunk, encoding ?? undefined);
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
        later(() => stream.emit("drain"));
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
    later(() => {
      stream.emit("finish");
      if (stream.readState || !state.emitClose) return;
      state.closed = true;
      stream.emit("close");
    });
  };
  if (stream._final) stream._final(finish);
  else finish();
}

export const Writable = kind(Stream, makeWritable);
Object.defineProperty(Writable, "name", { value: "Writable" });
export const Duplex = kind(Readable, (stream, options) => {
  makeReadable(stream, options);
  makeWritable(stream, options);
  if (options.allowHalfOpen !== undefined) stream.allowHalfOpen = Boolean(options.allowHalfOpen);
});
Object.defineProperty(Duplex, "name", { value: "Duplex" });
export const Transform = kind(Duplex, (stream, options) => {
  makeReadable(stream, options);
  makeWritable(stream, options);
  if (options.transform) stream._transform = options.transform;
  if (options.flush) stream._flush = options.flush;
});
Object.defineProperty(Transform, "name", { value: "Transform" });
methodsOf(Transform, {
  _write(chunk, encoding, done) {
    this._transform(chunk, encoding, (error, data) => {
      if (data !== undefined && data !== null) this.push(data);
      done(error);
    });
  },
  _transform(chunk, _encoding, done) {
    done(null, chunk);
  },
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
  },
});
export const PassThrough = kind(Transform, (stream, options) => {
  makeReadable(stream, options);
  makeWritable(stream, options);
});
Object.defineProperty(PassThrough, "name", { value: "PassThrough" });

const mix = (Kind, methods) => {
  for (const key of Reflect.ownKeys(methods)) {
    if (!Object.hasOwn(Kind.prototype, key)) Object.defineProperty(Kind.prototype, key, { value: methods[key], writable: true, enumerable: typeof key === "string", configurable: true });
  }
};
mix(Readable, readableMethods);
mix(Writable, writableMethods);
mix(Writable, { destroy: readableMethods.destroy, _destroy: readableMethods._destroy });
mix(Duplex, writableMethods);

// What libraries look at to know how a stream stands.
const looks = (Kind, getters) => {
  for (const [name, get] of Object.entries(getters)) Object.defineProperty(Kind.prototype, name, { get, configurable: true });
};
looks(Readable, {
  _readableState() {
    const state = this.readState;
    return state && {
      objectMode: state.objectMode, highWaterMark: state.most, buffer: state.queue, length: state.size, flowing: this.readableFlowing, ended: state.ended, endEmitted: this.readableEnded,
      reading: state.reading, destroyed: this.destroyed, errored: state.error, closed: state.closed, encoding: state.decoder?.encoding ?? null, pipes: [...(this.pipes?.keys() ?? [])],
    };
  },
  readableLength() {
    return this.readState?.size ?? 0;
  },
  readableHighWaterMark() {
    return this.readState?.most;
  },
  readableObjectMode() {
    return Boolean(this.readState?.objectMode);
  },
  readableEncoding() {
    return this.readState?.decoder?.encoding ?? null;
  },
  readableAborted() {
    return this.destroyed && !this.readableEnded;
  },
});
const written = {
  _writableState() {
    const state = this.writeState;
    return state && {
      objectMode: state.objectMode, highWaterMark: state.most, length: state.size, ending: this.writableEnded, ended: this.writableEnded, finished: this.writableFinished,
      needDrain: state.needsDrain, destroyed: this.destroyed, errored: state.error, closed: state.closed, bufferedRequestCount: state.queue.length, corked: 0,
    };
  },
  writableLength() {
    return this.writeState?.size ?? 0;
  },
  writableHighWaterMark() {
    return this.writeState?.most;
  },
  writableObjectMode() {
    return Boolean(this.writeState?.objectMode);
  },
  writableNeedDrain() {
    return Boolean(this.writeState?.needsDrain);
  },
  writableCorked: () => 0,
};
const both = {
  closed() {
    return Boolean((this.readState ?? this.writeState)?.closed);
  },
  errored() {
    return (this.readState ?? this.writeState)?.error ?? null;
  },
};
looks(Writable, written);
looks(Duplex, written);
looks(Readable, both);
looks(Writable, both);
Object.defineProperty(Writable, Symbol.hasInstance, {
  value(stream) {
    return Function.prototype[Symbol.hasInstance].call(this, stream) || (this === Writable && Boolean(stream?.writeState) && stream instanceof Stream);
  },
});
Writable.toWeb = (stream) => new globalThis.WritableStream({
  write: (chunk) => new Promise((resolve, reject) => stream.write(chunk, (error) => (error ? reject(error) : resolve()))),
  close: () => new Promise((resolve) => stream.end(resolve)),
  abort: (reason) => void stream.destroy(reason),
});
Duplex.from = (source) => {
  if (source?.readable && source?.writable && typeof source.readable === "object") {
    const made = new Duplex({ objectMode: true, write: (chunk, encoding, done) => source.writable.write(chunk, encoding, done), final: (done) => source.writable.end(done), read() {} });
    source.readable.on("data", (chunk) => made.push(chunk));
    source.readable.on("end", () => made.push(null));
    return made;
  }
  return Readable.from(source);
};
