// Compiled validators. Nothing is compiled: code from strings is what an engine with limits should not
// make, and checking is fast enough for the arguments of tools.

import { Assert, Check, Clean, Convert, Decode, Default, Encode, Errors, Parse } from "./value.js";

export class Validator {
  #schema;
  constructor(...args) {
    this.#schema = args.at(-1);
  }
  Schema() {
    return this.#schema;
  }
  Type() {
    return this.#schema;
  }
  Check(value) {
    return Check(this.#schema, value);
  }
  Errors(value) {
    return Errors(this.#schema, value);
  }
  Assert(value) {
    Assert(this.#schema, value);
  }
  Decode(value) {
    return Decode(this.#schema, value);
  }
  Encode(value) {
    return Encode(this.#schema, value);
  }
  Parse(value) {
    return Parse(this.#schema, value);
  }
  Convert(value) {
    return Convert(this.#schema, value);
  }
  Default(value) {
    return Default(this.#schema, value);
  }
  Clean(value) {
    return Clean(this.#schema, value);
  }
}
export const Compile = (...args) => new Validator(...args);
export const Code = () => "";
export const TypeCompiler = { Compile, Code };
export const TypeCheck = Validator;
export default Compile;
