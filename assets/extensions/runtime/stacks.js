// Stacks and messages of errors as Node has them, for an engine that keeps frames only and names nothing.
//
// Much is printed by `error.stack` alone, so it begins with the error. And who reads "not a function" wants to know what is none.
// Frames are kept as the engine's own objects and written when a stack is read, since many errors are thrown that nobody reads.

const toText = Error.prototype.toString;
const sourceOf = Function.prototype.toString;

/** Frames of one error, until somebody reads them. What an own `prepareStackTrace` of an extension made is none of these. */
class Frames {
  constructor(head, sites) {
    this.head = head;
    this.sites = sites;
  }
  toString() {
    return [this.head, ...this.sites.map(frameOf)].join("\n");
  }
}

function frameOf(site) {
  const name = site.getFunctionName();
  const file = site.getFileName();
  const place = site.isNative() ? "native" : file ? `${file}:${site.getLineNumber()}:${site.getColumnNumber()}` : "missing";
  return name ? `    at ${name} (${place})` : file ? `    at ${place}` : `    at <anonymous> (${place})`;
}

/** The first line of a stack, as V8 writes it. */
function headOf(error) {
  try {
    return toText.call(error);
  } catch {
    return "Error";
  }
}

const LONGEST = 200_000;
const FAR = 40;
const BEFORE = /(?:(?:[\w$]+|\([^()]*\)|\[[^[\]]*\])(?:\s*\??\.\s*)?)*$/;
const AFTER = /^[\w$]*(?:\s*\[[^[\]]*\]|\s*\??\.\s*[\w$]+)*/;

/** What is called where `text` is at `at`; undefined where nothing is called there. */
function calledIn(text, at, isNew) {
  const before = text.slice(0, at);
  const after = AFTER.exec(text.slice(at))[0];
  const isWord = /^[\w$]/.test(after) && !/[\w$]$/.test(before);
  if (!isWord || !(isNew || /^\s*(?:\(|`|\?\.\()/.test(text.slice(at + after.length)))) return undefined;
  const whole = (BEFORE.exec(before)[0] + after).trim().replace(/^new\s+/, "");
  const shown = whole.replace(/\([^()]*\)/g, "(...)").replace(/\["([\w $-]+)"\]/g, ".$1");
  return /^[\w$]/.test(shown) && shown.length <= 100 ? shown : undefined;
}

/** What is called at a place, in the words of the source: `config.load`; undefined where that cannot be told. */
function calledAt(site, isNew) {
  const work = site.getFunction();
  const [line, column] = [site.getLineNumber(), site.getColumnNumber()];
  if (typeof work !== "function" || !line || !work.lineNumber) return undefined;
  const source = sourceOf.call(work);
  if (source.length > LONGEST) return undefined;
  const text = source.split("\n")[line - work.lineNumber];
  if (text === undefined) return undefined;
  if (line > work.lineNumber) return calledIn(text, column - 1, isNew);
  // The first line begins where the function does, which the engine tells a few letters too early of some.
  for (let early = 0; early <= FAR; early += 1) {
    const called = calledIn(text, column - work.columnNumber - early, isNew);
    if (called !== undefined) return called;
  }
  return undefined;
}

const READ = /^cannot (read|set) property '(.*)' of (undefined|null)$/s;

/** The message of an error that the engine threw, as V8 has it. */
function wordsOf(message, sites) {
  if (message === "not a function" || message === "not a constructor") {
    // What is native calls what it was given, which has no name there.
    const called = sites[0] && !sites[0].isNative() ? calledAt(sites[0], message === "not a constructor") : undefined;
    return called && `${called} is ${message}`;
  }
  const found = READ.exec(message);
  return found ? `Cannot ${found[1]} properties of ${found[3]} (${found[1] === "set" ? "setting" : "reading"} '${found[2]}')` : undefined;
}

function prepare(error, sites) {
  try {
    if (error instanceof TypeError && typeof error.message === "string") {
      const message = wordsOf(error.message, sites);
      if (message !== undefined) Object.defineProperty(error, "message", { value: message, writable: true, configurable: true, enumerable: false });
    }
  } catch {
    // An error is never lost for its words.
  }
  return new Frames(headOf(error), sites);
}

export function nameStacks() {
  const given = Object.getOwnPropertyDescriptor(Error.prototype, "stack");
  if (!given?.get) return;
  const read = (error, stack) => (stack instanceof Frames ? String(stack) : stack);
  Object.defineProperty(Error.prototype, "stack", {
    get() {
      return read(this, given.get.call(this));
    },
    set: given.set,
    configurable: true,
  });
  // What V8's frames answer besides; libraries ask without looking whether they may.
  Error.prepareStackTrace = (_error, sites) => sites;
  const [site] = given.get.call(new Error("")) ?? [];
  if (site) {
    const answers = {
      isEval: () => false, isToplevel: () => true, isAsync: () => false, isPromiseAll: () => false, getPromiseIndex: () => null, getTypeName: () => null, getMethodName: () => null,
      getEvalOrigin: () => undefined, getThis: () => undefined, getScriptHash: () => "", getPosition: () => 0, getEnclosingLineNumber: () => null, getEnclosingColumnNumber: () => null,
      getScriptNameOrSourceURL() {
        return this.getFileName();
      },
      toString() {
        return frameOf(this).slice("    at ".length);
      },
    };
    const proto = Object.getPrototypeOf(site);
    for (const [name, value] of Object.entries(answers)) {
      if (!(name in proto) || name === "toString") Object.defineProperty(proto, name, { value, writable: true, configurable: true });
    }
  }
  Error.prepareStackTrace = prepare;
  const capture = Error.captureStackTrace;
  if (typeof capture !== "function") return;
  Object.defineProperty(Error, "captureStackTrace", {
    value: function captureStackTrace(target, from) {
      capture(target, from ?? captureStackTrace);
      const own = Object.getOwnPropertyDescriptor(target, "stack");
      if (own?.value instanceof Frames) Object.defineProperty(target, "stack", { value: String(own.value), writable: true, configurable: true });
    },
    writable: true,
    configurable: true,
  });
}
