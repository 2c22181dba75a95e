// Puts the globals that the engine lacks in place. Loaded once, before any extension.
//
// What the engine has of its own is kept (queueMicrotask, atob, performance …), except that Intl and
// the locale methods are always ours, since an engine without locale data has half of them.

import { charge, currentOwner, host } from "./bridge.js";
import { Buffer } from "./buffer.js";
import { structuredClone } from "./clone.js";
import { console } from "./console.js";
import { crypto } from "./crypto.js";
import { TextDecoder, TextEncoder, atob, btoa } from "./encoding.js";
import { DOMException } from "./errors.js";
import { AbortController, AbortSignal, CustomEvent, Event, EventTarget } from "./events.js";
import { Blob, File, FormData, Headers, Request, Response, fetch } from "./fetch.js";
import { Intl, patchLocaleMethods } from "./intl.js";
import { MessageChannel, MessageEvent, MessagePort } from "./messages.js";
import { process } from "./process.js";
import { CompressionStream, DecompressionStream, TextDecoderStream, TextEncoderStream } from "./converting_streams.js";
import { nameStacks } from "./stacks.js";
import {
  ByteLengthQueuingStrategy, CountQueuingStrategy, ReadableStream, ReadableStreamDefaultController, ReadableStreamDefaultReader,
  TransformStream, TransformStreamDefaultController, WritableStream, WritableStreamDefaultController, WritableStreamDefaultWriter,
} from "./streams.js";
import { clearImmediate, clearInterval, clearTimeout, setImmediate, setInterval, setTimeout } from "./timers.js";
import { URL, URLSearchParams } from "./url.js";

const origin = host.now();
const marks = new Map();

const performance = {
  timeOrigin: Date.now(),
  now: () => host.now() - origin,
  mark: (name) => void marks.set(name, host.now()),
  measure: (name, from) => ({ name, duration: host.now() - (marks.get(from) ?? origin) }),
  clearMarks: () => marks.clear(),
};

function queueMicrotask(callback) {
  const owner = currentOwner();
  Promise.resolve().then(() => {
    try {
      callback();
    } catch (error) {
      charge(owner, "microtask", error);
    }
  });
}

const ALWAYS = {
  AbortController, AbortSignal, Blob, Buffer, CustomEvent, Event, EventTarget, File, FormData, Headers, Intl,
  ByteLengthQueuingStrategy, CompressionStream, CountQueuingStrategy, DecompressionStream, MessageChannel, MessageEvent, MessagePort, ReadableStream, ReadableStreamDefaultController,
  ReadableStreamDefaultReader, Request, Response, TextDecoder, TextDecoderStream, TextEncoder, TextEncoderStream, TransformStream,
  TransformStreamDefaultController, URL, URLSearchParams, WritableStream, WritableStreamDefaultController, WritableStreamDefaultWriter,
  clearImmediate, clearInterval, clearTimeout, console, crypto, fetch, process, queueMicrotask, setImmediate,
  setInterval, setTimeout, structuredClone,
};
const IF_MISSING = { DOMException, atob, btoa, performance };

const define = (name, value) =>
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });

for (const [name, value] of Object.entries(ALWAYS)) {
  define(name, value);
  // Libraries tell these apart by what `Object.prototype.toString` calls them.
  if (typeof value === "function" && value.prototype && /^[A-Z]/.test(name) && name !== "Buffer" && !(Symbol.toStringTag in value.prototype)) {
    Object.defineProperty(value.prototype, Symbol.toStringTag, { value: name, configurable: true });
  }
}
for (const [name, value] of Object.entries(IF_MISSING)) if (globalThis[name] === undefined) define(name, value);
// An engine's own `performance` may know the time and nothing else.
for (const [name, value] of Object.entries(performance)) {
  if (!(name in globalThis.performance)) Object.defineProperty(globalThis.performance, name, { value, writable: true, configurable: true });
}
define("global", globalThis);
define("navigator", Object.freeze({ userAgent: "levain", hardwareConcurrency: 1, language: "en-US" }));
patchLocaleMethods();
nameStacks();

// A new field on Object.prototype would appear in every object of every extension and in what they
// answer. Overriding what is there stays possible; adding is refused, with an error the author sees.
Object.preventExtensions(Object.prototype);

// This side keeps what is registered in lists and maps and waits with promises: an extension that replaced their methods
// would take the guards of the others away. Objects of one's own can still have methods of these names.
const iteratorOf = (iterable) => Object.getPrototypeOf(iterable[Symbol.iterator]());
const iterators = [iteratorOf([]), iteratorOf(new Map()), iteratorOf(new Set()), Object.getPrototypeOf(iteratorOf([]))];
for (const { prototype } of [Array, Promise]) Object.freeze(prototype);
for (const Kind of [Map, Set, WeakMap]) {
  // A class of one's own that is a function sets this on what it inherits from here; what is frozen could not be covered so. Not of
  // lists and promises, whose constructors the engine reads with each of their methods and waits.
  Object.defineProperty(Kind.prototype, "constructor", {
    get: () => Kind,
    set(value) {
      if (this === Kind.prototype) throw new TypeError("'constructor' is read-only");
      Object.defineProperty(this, "constructor", { value, writable: true, enumerable: true, configurable: true });
    },
    configurable: true,
  });
  Object.freeze(Kind.prototype);
}
for (const prototype of iterators) Object.freeze(prototype);

export { performance };
