// A small ReadableStream: enough to read a response body in pieces, by reader or by `for await`,
// and to build one from an underlying source. No back pressure beyond one `pull` at a time.

export class ReadableStream {
  #queue = [];
  #waiting = [];
  #state = "open";
  #error;
  #source;
  #pulling = false;
  #started = false;
  #locked = false;

  constructor(source = {}) {
    this.#source = source;
    const controller = {
      enqueue: (chunk) => {
        if (this.#state !== "open") throw new TypeError("the stream is closed");
        const reader = this.#waiting.shift();
        if (reader) reader.resolve({ value: chunk, done: false });
        else this.#queue.push(chunk);
      },
      close: () => this.#finish("closed"),
      error: (reason) => this.#finish("failed", reason),
      desiredSize: 1,
    };
    this.controller = controller;
    Promise.resolve()
      .then(() => source.start?.(controller))
      .then(
        () => {
          this.#started = true;
          this.#pull();
        },
        (error) => this.#finish("failed", error),
      );
  }

  #finish(state, reason) {
    if (this.#state !== "open") return;
    this.#state = state;
    this.#error = reason;
    for (const reader of this.#waiting.splice(0)) {
      if (state === "failed") reader.reject(reason);
      else reader.resolve({ value: undefined, done: true });
    }
  }

  #pull() {
    if (!this.#started || this.#pulling || this.#state !== "open" || this.#queue.length > 0) return;
    if (this.#waiting.length === 0 || typeof this.#source.pull !== "function") return;
    this.#pulling = true;
    Promise.resolve()
      .then(() => this.#source.pull(this.controller))
      .then(
        () => {
          this.#pulling = false;
          this.#pull();
        },
        (error) => this.#finish("failed", error),
      );
  }

  get locked() {
    return this.#locked;
  }

  getReader() {
    if (this.#locked) throw new TypeError("the stream already has a reader");
    this.#locked = true;
    const read = () => {
      if (this.#queue.length > 0) return Promise.resolve({ value: this.#queue.shift(), done: false });
      if (this.#state === "failed") return Promise.reject(this.#error);
      if (this.#state === "closed") return Promise.resolve({ value: undefined, done: true });
      return new Promise((resolve, reject) => {
        this.#waiting.push({ resolve, reject });
        this.#pull();
      });
    };
    return {
      read,
      cancel: (reason) => this.#cancel(reason),
      releaseLock: () => {
        this.#locked = false;
      },
      closed: new Promise(() => {}),
    };
  }

  async #cancel(reason) {
    if (this.#state !== "open") return;
    this.#queue = [];
    this.#finish("closed");
    await this.#source.cancel?.(reason);
  }

  cancel(reason) {
    if (this.#locked) return Promise.reject(new TypeError("the stream has a reader"));
    return this.#cancel(reason);
  }

  tee() {
    const reader = this.getReader();
    const branches = [];
    let reading = false;
    const pull = async () => {
      if (reading) return;
      reading = true;
      const { value, done } = await reader.read();
      reading = false;
      for (const branch of branches) done ? branch.close() : branch.enqueue(value);
    };
    const make = () => new ReadableStream({ start: (controller) => void branches.push(controller), pull });
    return [make(), make()];
  }

  pipeThrough(pair) {
    void this.pipeTo(pair.writable);
    return pair.readable;
  }

  async pipeTo(writable) {
    const writer = writable.getWriter();
    for await (const chunk of this) await writer.write(chunk);
    await writer.close();
  }

  async *values() {
    const reader = this.getReader();
    let finished = false;
    try {
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        yield value;
      }
      finished = true;
    } finally {
      if (!finished) await reader.cancel();
      reader.releaseLock();
    }
  }

  [Symbol.asyncIterator]() {
    return this.values();
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
    });
  }
}

export class WritableStream {
  #sink;
  constructor(sink = {}) {
    this.#sink = sink;
    this.#sink.start?.();
  }
  getWriter() {
    return {
      write: async (chunk) => this.#sink.write?.(chunk),
      close: async () => this.#sink.close?.(),
      abort: async (reason) => this.#sink.abort?.(reason),
      releaseLock: () => {},
      ready: Promise.resolve(),
    };
  }
}

export class TransformStream {
  constructor(transformer = {}) {
    let output;
    this.readable = new ReadableStream({ start: (controller) => void (output = controller) });
    const ready = Promise.resolve().then(() => transformer.start?.(output));
    this.writable = new WritableStream({
      write: async (chunk) => {
        await ready;
        if (transformer.transform) await transformer.transform(chunk, output);
        else output.enqueue(chunk);
      },
      close: async () => {
        await transformer.flush?.(output);
        output.close();
      },
    });
  }
}
