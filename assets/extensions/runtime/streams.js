// Streams of the web, small: reading in pieces, writing in turn, transforming, and pipes between them that carry errors both
// ways. A source is asked for more while less waits than its strategy says; bytes have no readers of their own (BYOB).

import { AbortController } from "./events.js";

export class CountQueuingStrategy {
  constructor({ highWaterMark }) {
    this.highWaterMark = highWaterMark;
  }
  size() {
    return 1;
  }
}
export class ByteLengthQueuingStrategy {
  constructor({ highWaterMark }) {
    this.highWaterMark = highWaterMark;
  }
  size(chunk) {
    return chunk.byteLength;
  }
}

/** A promise that nobody has to hear of. */
function deferred() {
  const made = {};
  made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }));
  made.promise.catch(() => {});
  return made;
}
const soon = (work) => Promise.resolve().then(work);

// What only the classes here do to each other.
const { read, cancel, release } = { read: Symbol("read"), cancel: Symbol("cancel"), release: Symbol("release") };

export class ReadableStreamDefaultController {
  #of;
  constructor(of) {
    this.#of = of;
  }
  get desiredSize() {
    return this.#of.room();
  }
  enqueue(chunk) {
    this.#of.enqueue(chunk);
  }
  close() {
    this.#of.close();
  }
  error(reason) {
    this.#of.failed(reason);
  }
}

export class ReadableStream {
  #queue = [];
  #waiting = [];
  /** open, closing (what waits is still read), closed or failed. */
  #state = "open";
  #error;
  #source;
  #strategy;
  #size = 0;
  #pulling = false;
  #again = false;
  #started = false;
  #reader;
  #controller;

  constructor(source = {}, strategy = {}) {
    this.#source = source ?? {};
    this.#strategy = { highWaterMark: strategy?.highWaterMark ?? (this.#source.type === "bytes" ? 0 : 1), size: strategy?.size?.bind(strategy) ?? (() => 1) };
    this.#controller = new ReadableStreamDefaultController({
      room: () => (this.#state === "failed" ? null : this.#state === "open" ? this.#strategy.highWaterMark - this.#size : 0),
      enqueue: (chunk) => this.#enqueue(chunk),
      close: () => this.#close(),
      failed: (reason) => this.#failed(reason),
    });
    const begun = this.#source.start?.(this.#controller);
    soon(() => begun).then(
      () => {
        this.#started = true;
        this.#pull();
      },
      (error) => this.#failed(error),
    );
  }

  #mustBeOpen() {
    if (this.#state !== "open") throw new TypeError("Invalid state: Controller is already closed");
  }
  #enqueue(value) {
    this.#mustBeOpen();
    const reader = this.#waiting.shift();
    if (reader) reader.resolve({ value, done: false });
    else {
      const size = this.#strategy.size(value);
      this.#queue.push({ value, size });
      this.#size += size;
    }
    this.#pull();
  }
  #close() {
    this.#mustBeOpen();
    this.#state = this.#queue.length > 0 ? "closing" : "closed";
    this.#settle();
  }
  #failed(reason) {
    if (this.#state !== "open" && this.#state !== "closing") return;
    [this.#error, this.#state, this.#queue] = [reason, "failed", []];
    this.#settle();
  }

  /** Tells whoever waits that it is over. */
  #settle() {
    if (this.#state === "failed") {
      for (const { reject } of this.#waiting.splice(0)) reject(this.#error);
      this.#reader?.over.reject(this.#error);
    } else if (this.#state === "closed") {
      for (const { resolve } of this.#waiting.splice(0)) resolve({ value: undefined, done: true });
      this.#reader?.over.resolve(undefined);
    }
  }

  #pull() {
    const wants = this.#waiting.length > 0 || this.#strategy.highWaterMark - this.#size > 0;
    if (!this.#started || this.#state !== "open" || !wants || typeof this.#source.pull !== "function") return;
    if (this.#pulling) {
      this.#again = true;
      return;
    }
    this.#pulling = true;
    soon(() => this.#source.pull(this.#controller)).then(
      () => {
        this.#pulling = false;
        if (this.#again) {
          this.#again = false;
          this.#pull();
        }
      },
      (error) => this.#failed(error),
    );
  }

  [read]() {
    const next = this.#queue.shift();
    if (next) {
      this.#size -= next.size;
      if (this.#state === "closing" && this.#queue.length === 0) {
        this.#state = "closed";
        this.#settle();
      } else this.#pull();
      return Promise.resolve({ value: next.value, done: false });
    }
    if (this.#state === "failed") return Promise.reject(this.#error);
    if (this.#state === "closed") return Promise.resolve({ value: undefined, done: true });
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#pull();
    });
  }
  async [cancel](reason) {
    if (this.#state === "failed") throw this.#error;
    if (this.#state === "closed") return;
    [this.#queue, this.#size, this.#state] = [[], 0, "closed"];
    this.#settle();
    await this.#source.cancel?.(reason);
  }
  [release]() {
    const lost = new TypeError("Invalid state: The reader was released");
    for (const { reject } of this.#waiting.splice(0)) reject(lost);
    this.#reader?.over.reject(lost);
    this.#reader = undefined;
  }

  get locked() {
    return this.#reader !== undefined;
  }
  getReader(options) {
    if (options?.mode === "byob") throw new TypeError("readers of bytes (BYOB) are not offered");
    return new ReadableStreamDefaultReader(this);
  }
  /** Called by the reader, which is told when all is over. */
  lock(over) {
    if (this.#reader) throw new TypeError("Invalid state: ReadableStream is locked");
    this.#reader = { over };
    this.#settle();
  }
  cancel(reason) {
    return this.locked ? Promise.reject(new TypeError("Invalid state: ReadableStream is locked")) : this[cancel](reason);
  }

  tee() {
    const reader = this.getReader();
    const branches = [];
    const left = [true, true];
    let reading = false;
    const pull = async () => {
      if (reading) return;
      reading = true;
      try {
        const { value, done } = await reader.read();
        for (const [i, branch] of branches.entries()) if (left[i]) done ? branch.close() : branch.enqueue(value);
      } catch (error) {
        for (const branch of branches) branch.error(error);
      } finally {
        reading = false;
      }
    };
    const make = (i) => new ReadableStream({
      start: (controller) => void branches.push(controller),
      pull,
      cancel: (reason) => {
        left[i] = false;
        return left.includes(true) ? undefined : reader.cancel(reason);
      },
    }, { highWaterMark: 0 });
    return [make(0), make(1)];
  }

  pipeThrough({ readable, writable }, options) {
    this.pipeTo(writable, options).catch(() => {});
    return readable;
  }

  async pipeTo(writable, { preventClose, preventAbort, preventCancel, signal } = {}) {
    if (this.locked) throw new TypeError("Invalid state: ReadableStream is locked");
    const writer = writable.getWriter();
    const reader = this.getReader();
    // How the pipe ended before its source did: by its signal, or by its writer, also while nothing comes.
    let ended;
    const end = (reason, aborts) => {
      if (ended) return;
      const aborted = aborts && !preventAbort ? writer.abort(reason) : undefined;
      // Whoever waits for more hears of it either way.
      const cancelled = preventCancel ? reader.releaseLock() : reader.cancel(reason);
      ended = { reason, settled: Promise.allSettled([aborted, cancelled]) };
    };
    const stop = () => end(signal.reason, true);
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
    writer.closed.then(() => end(new TypeError("Invalid state: Destination WritableStream is closed"), false), (error) => end(error, false));
    let last = Promise.resolve();
    try {
      for (;;) {
        await writer.ready;
        const { value, done } = await reader.read();
        if (ended || done) break;
        last = writer.write(value);
        last.catch(() => {});
      }
      if (!ended) {
        await last;
        if (!preventClose) await writer.close();
        return;
      }
    } catch (error) {
      // A writer that failed says so a moment later.
      await soon(() => {});
      if (!ended) {
        if (!preventAbort) await writer.abort(error).catch(() => {});
        throw error;
      }
    } finally {
      ended ??= {};
      signal?.removeEventListener("abort", stop);
      await ended.settled;
      reader.releaseLock();
      writer.releaseLock();
    }
    throw ended.reason;
  }

  async *values({ preventCancel } = {}) {
    const reader = this.getReader();
    let finished = false;
    try {
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        yield value;
      }
      finished = true;
    } catch (error) {
      finished = true;
      throw error;
    } finally {
      if (!finished && !preventCancel) await reader.cancel();
      reader.releaseLock();
    }
  }
  [Symbol.asyncIterator](options) {
    return this.values(options);
  }

  static from(items) {
    const iterator = items[Symbol.asyncIterator]?.() ?? items[Symbol.iterator]();
    return new ReadableStream({
      async pull(controller) {
        const { value, done } = await iterator.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => iterator.return?.(reason),
    }, { highWaterMark: 0 });
  }
}

export class ReadableStreamDefaultReader {
  #stream;
  #over = deferred();
  constructor(stream) {
    stream.lock(this.#over);
    this.#stream = stream;
  }
  get closed() {
    return this.#over.promise;
  }
  read() {
    return this.#stream ? this.#stream[read]() : Promise.reject(new TypeError("Invalid state: The reader is not attached to a stream"));
  }
  cancel(reason) {
    return this.#stream ? this.#stream[cancel](reason) : Promise.reject(new TypeError("Invalid state: The reader is not attached to a stream"));
  }
  releaseLock() {
    this.#stream?.[release]();
    this.#stream = undefined;
  }
}

export class WritableStreamDefaultController {
  #stop = new AbortController();
  #fail;
  constructor(fail) {
    this.#fail = fail;
  }
  get signal() {
    return this.#stop.signal;
  }
  error(reason) {
    this.#fail(reason);
  }
  /** For the stream. */
  stop(reason) {
    this.#stop.abort(reason);
  }
}

export class WritableStream {
  #sink;
  #controller;
  #state = "open";
  #error;
  #over = deferred();
  #ready = deferred();
  /** All that is to be done with the sink, in turn. */
  #last;
  #writer;
  #most;
  #sizeOf;
  #size = 0;
  constructor(sink = {}, strategy = {}) {
    this.#sink = sink ?? {};
    this.#most = strategy?.highWaterMark ?? 1;
    this.#sizeOf = strategy?.size?.bind(strategy) ?? (() => 1);
    this.#controller = new WritableStreamDefaultController((reason) => this.#failed(reason));
    this.#ready.resolve();
    const begun = this.#sink.start?.(this.#controller);
    this.#last = soon(() => begun).catch((error) => this.#failed(error));
  }
  #failed(reason) {
    if (this.#state === "failed" || this.#state === "closed") return;
    [this.#state, this.#error] = ["failed", reason];
    this.#over.reject(reason);
    this.#ready.reject(reason);
    this.#ready = deferred();
    this.#ready.reject(reason);
  }
  #do(work) {
    const made = this.#last.then(() => {
      if (this.#state === "failed") throw this.#error;
      return work();
    });
    this.#last = made.catch((error) => this.#failed(error));
    return made;
  }
  get locked() {
    return this.#writer !== undefined;
  }
  getWriter() {
    return new WritableStreamDefaultWriter(this);
  }
  /** Called by the writer, which does all of it. */
  lock(writer) {
    if (this.#writer) throw new TypeError("Invalid state: WritableStream is locked");
    this.#writer = writer;
    return {
      closed: () => this.#over.promise,
      ready: () => this.#ready.promise,
      room: () => (this.#state === "failed" ? null : this.#state === "open" ? this.#most - this.#size : 0),
      release: () => {
        this.#writer = undefined;
      },
      write: (chunk) => this.#write(chunk),
      close: () => this.#close(),
      abort: (reason) => this.#abort(reason),
    };
  }
  #write(chunk) {
    if (this.#state === "failed") return Promise.reject(this.#error);
    if (this.#state !== "open") return Promise.reject(new TypeError("Invalid state: WritableStream is closed"));
    const size = this.#sizeOf(chunk);
    this.#size += size;
    if (this.#size >= this.#most) this.#ready = deferred();
    return this.#do(async () => {
      try {
        await this.#sink.write?.(chunk, this.#controller);
      } finally {
        this.#size -= size;
        if (this.#size < this.#most) this.#ready.resolve();
      }
    });
  }
  #close() {
    if (this.#state === "failed") return Promise.reject(this.#error);
    if (this.#state !== "open") return Promise.reject(new TypeError("Invalid state: WritableStream is closed"));
    this.#state = "closing";
    return this.#do(async () => {
      await this.#sink.close?.();
      this.#state = "closed";
      this.#over.resolve(undefined);
    });
  }
  async #abort(reason) {
    if (this.#state === "failed" || this.#state === "closed") return;
    this.#controller.stop(reason);
    const before = this.#last;
    this.#failed(reason);
    await before;
    await this.#sink.abort?.(reason);
  }
  close() {
    return this.locked ? Promise.reject(new TypeError("Invalid state: WritableStream is locked")) : this.#close();
  }
  abort(reason) {
    return this.locked ? Promise.reject(new TypeError("Invalid state: WritableStream is locked")) : this.#abort(reason);
  }
}

/** What a writer promises that has no stream. */
function lost() {
  const promise = Promise.reject(new TypeError("Invalid state: The writer is not attached to a stream"));
  promise.catch(() => {});
  return promise;
}

export class WritableStreamDefaultWriter {
  #of;
  constructor(stream) {
    this.#of = stream.lock(this);
  }
  #own() {
    if (!this.#of) throw new TypeError("Invalid state: The writer is not attached to a stream");
    return this.#of;
  }
  get closed() {
    return this.#of ? this.#of.closed() : lost();
  }
  get ready() {
    return this.#of ? this.#of.ready() : lost();
  }
  get desiredSize() {
    return this.#own().room();
  }
  async write(chunk) {
    return this.#own().write(chunk);
  }
  async close() {
    return this.#own().close();
  }
  async abort(reason) {
    return this.#own().abort(reason);
  }
  releaseLock() {
    this.#of?.release();
    this.#of = undefined;
  }
}

export class TransformStreamDefaultController {
  #of;
  constructor(of) {
    this.#of = of;
  }
  get desiredSize() {
    return this.#of.output.desiredSize;
  }
  enqueue(chunk) {
    this.#of.enqueue(chunk);
  }
  error(reason) {
    this.#of.failed(reason);
  }
  terminate() {
    const { output, failed } = this.#of;
    if (output.desiredSize !== null) output.close();
    failed(new TypeError("Invalid state: TransformStream has been terminated"));
  }
}

export class TransformStream {
  #readable;
  #writable;
  constructor(transformer = {}, writableStrategy = {}, readableStrategy = {}) {
    const { transform, flush, start, cancel: cancelled } = transformer ?? {};
    let input;
    let room = deferred();
    // Nothing more is made than is read: each read, or room for more, lets something through.
    let isWanted = false;
    const wake = () => {
      isWanted = true;
      room.resolve();
    };
    const of = {
      enqueue: (chunk) => {
        isWanted = false;
        of.output.enqueue(chunk);
      },
      failed: (reason) => {
        of.output.error(reason);
        input.error(reason);
        wake();
      },
    };
    this.#readable = new ReadableStream({
      start: (controller) => {
        of.output = controller;
      },
      pull: wake,
      cancel: (reason) => {
        input.error(reason);
        wake();
        return cancelled?.call(transformer, reason);
      },
    }, { highWaterMark: 0, ...readableStrategy });
    const controller = new TransformStreamDefaultController(of);
    const guarded = (work) => soon(work).catch((error) => {
      of.output.error(error);
      throw error;
    });
    this.#writable = new WritableStream({
      start: (own) => {
        input = own;
        return guarded(() => start?.call(transformer, controller));
      },
      write: async (chunk) => {
        if (!isWanted) {
          room = deferred();
          await room.promise;
        }
        await guarded(() => (transform ? transform.call(transformer, chunk, controller) : of.enqueue(chunk)));
      },
      close: async () => {
        await guarded(() => flush?.call(transformer, controller));
        if (of.output.desiredSize !== null) of.output.close();
      },
      abort: (reason) => {
        of.output.error(reason);
        return cancelled?.call(transformer, reason);
      },
    }, writableStrategy);
  }
  get readable() {
    return this.#readable;
  }
  get writable() {
    return this.#writable;
  }
}
