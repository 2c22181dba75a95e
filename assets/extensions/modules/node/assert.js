// node:assert.

import { withStubs } from "../stubs.js";
import { inspect } from "../../runtime/inspect.js";
import { deepEqual as sameValue } from "./util.js";

export class AssertionError extends Error {
  constructor({ message, actual, expected, operator } = {}) {
    super(message ?? `${inspect(actual)} ${operator} ${inspect(expected)}`);
    Object.assign(this, { name: "AssertionError", code: "ERR_ASSERTION", actual, expected, operator, generatedMessage: message === undefined });
  }
}

function check(pass, message, actual, expected, operator) {
  if (pass) return;
  if (message instanceof Error) throw message;
  throw new AssertionError({ message, actual, expected, operator });
}

export function assert(value, message) {
  check(value, message ?? "The expression evaluated to a falsy value", value, true, "==");
}
export const ok = assert;
export const equal = (a, b, message) => check(a == b || (a !== a && b !== b), message, a, b, "==");
export const notEqual = (a, b, message) => check(a != b, message, a, b, "!=");
export const strictEqual = (a, b, message) => check(Object.is(a, b), message, a, b, "strictEqual");
export const notStrictEqual = (a, b, message) => check(!Object.is(a, b), message, a, b, "notStrictEqual");
export const deepEqual = (a, b, message) => check(sameValue(a, b, false), message, a, b, "deepEqual");
export const deepStrictEqual = (a, b, message) => check(sameValue(a, b, true), message, a, b, "deepStrictEqual");
export const notDeepEqual = (a, b, message) => check(!sameValue(a, b, false), message, a, b, "notDeepEqual");
export const notDeepStrictEqual = (a, b, message) => check(!sameValue(a, b, true), message, a, b, "notDeepStrictEqual");
export const match = (text, pattern, message) => check(pattern.test(text), message, text, pattern, "match");
export const doesNotMatch = (text, pattern, message) => check(!pattern.test(text), message, text, pattern, "doesNotMatch");
export function fail(message = "Failed") {
  check(false, message);
}

function fits(error, expected) {
  if (expected === undefined) return true;
  if (expected instanceof RegExp) return expected.test(String(error));
  if (typeof expected === "function") return expected.prototype instanceof Error || expected === Error ? error instanceof expected : expected(error) === true;
  if (typeof expected === "object") {
    return Object.entries(expected).every(([key, value]) => (value instanceof RegExp ? value.test(error?.[key]) : sameValue(error?.[key], value, true)));
  }
  return true;
}

export function throws(work, expected, message) {
  let thrown;
  try {
    work();
  } catch (error) {
    thrown = { error };
  }
  check(thrown !== undefined, typeof expected === "string" ? expected : message ?? "Missing expected exception.");
  if (typeof expected !== "string" && !fits(thrown.error, expected)) throw thrown.error;
}
export const doesNotThrow = (work) => void work();
export async function rejects(work, expected, message) {
  let thrown;
  try {
    await (typeof work === "function" ? work() : work);
  } catch (error) {
    thrown = { error };
  }
  check(thrown !== undefined, typeof expected === "string" ? expected : message ?? "Missing expected rejection.");
  if (typeof expected !== "string" && !fits(thrown.error, expected)) throw thrown.error;
}
export async function doesNotReject(work) {
  await (typeof work === "function" ? work() : work);
}
export function ifError(value) {
  if (value !== null && value !== undefined) throw value;
}

Object.assign(assert, {
  AssertionError, ok, equal, notEqual, strictEqual, notStrictEqual, deepEqual, deepStrictEqual, notDeepEqual, notDeepStrictEqual, match,
  doesNotMatch, fail, throws, doesNotThrow, rejects, doesNotReject, ifError, strict: assert,
});
export const strict = assert;
// Names of the real module that are not implemented.
export const {
  CallTracker,
} = withStubs("node:assert");
export default assert;
