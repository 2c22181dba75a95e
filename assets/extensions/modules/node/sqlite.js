// node:sqlite over the host's databases. Rows are read at once, also by `iterate`; functions of JavaScript, sessions and
// loadable extensions are not offered.

import { coded, unsupported } from "../../runtime/errors.js";
import { Connection, decoded, encoded, pathOf } from "../sqlite_access.js";

export const constants = Object.freeze({
  SQLITE_CHANGESET_OMIT: 0, SQLITE_CHANGESET_REPLACE: 1, SQLITE_CHANGESET_ABORT: 2, SQLITE_CHANGESET_DATA: 1, SQLITE_CHANGESET_NOTFOUND: 2,
  SQLITE_CHANGESET_CONFLICT: 3, SQLITE_CHANGESET_CONSTRAINT: 4, SQLITE_CHANGESET_FOREIGN_KEY: 5,
});

const WORDS = {
  1: "SQL logic error", 5: "database is locked", 6: "database table is locked", 7: "out of memory", 8: "attempt to write a readonly database", 9: "interrupted", 10: "disk I/O error",
  11: "database disk image is malformed", 13: "database or disk is full", 14: "unable to open database file", 17: "database schema has changed", 18: "string or blob too big",
  19: "constraint failed", 20: "datatype mismatch", 21: "bad parameter or other API misuse", 23: "authorization denied", 25: "column index out of range", 26: "file is not a database",
};

function failure(problem) {
  const error = coded(Error, problem.code === "SQLITE" ? "ERR_SQLITE_ERROR" : problem.code, problem.message);
  if (problem.code === "SQLITE") Object.assign(error, { errcode: problem.errno, errstr: WORDS[problem.errno & 0xff] ?? "unknown error" });
  return error;
}
const argument = (message) => coded(TypeError, "ERR_INVALID_ARG_TYPE", message);
const state = (message) => coded(Error, "ERR_INVALID_STATE", message);

const making = Symbol("making");
const whole = (text) => {
  throw coded(RangeError, "ERR_OUT_OF_RANGE", `Value is too large to be represented as a JavaScript number: ${text}`);
};
const isNamed = (value) => value !== null && typeof value === "object" && !ArrayBuffer.isView(value);

export class StatementSync {
  #open;
  #sql;
  #parameters;
  #columns;
  #options;
  constructor(key, open, sql, options = {}) {
    if (key !== making) throw coded(TypeError, "ERR_ILLEGAL_CONSTRUCTOR", "Illegal constructor");
    if (typeof sql !== "string") throw argument('The "sql" argument must be a string.');
    ({ parameters: this.#parameters, columns: this.#columns } = open().ask("prepare", { sql }));
    [this.#open, this.#sql] = [open, sql];
    this.#options = { bigInts: false, arrays: false, bare: true, unknown: false, ...options };
  }
  get sourceSQL() {
    return this.#sql;
  }
  get expandedSQL() {
    return this.#open().ask("expand", { sql: this.#sql, parameters: this.#bound });
  }
  #bound = [];
  #bind(values) {
    const names = this.#parameters;
    const bound = new Array(names.length).fill(null);
    const put = (index, value) => {
      const plain = encoded(value);
      if (typeof value === "bigint" && plain === undefined) throw coded(TypeError, "ERR_INVALID_ARG_VALUE", "BigInt value is too large to bind");
      if (plain === undefined) throw argument(`Provided value cannot be bound to SQLite parameter ${index + 1}.`);
      bound[index] = plain;
    };
    if (isNamed(values[0])) {
      const { bare, unknown } = this.#options;
      for (const [name, value] of Object.entries(values[0])) {
        const index = names.findIndex((other) => other === name || (bare && other?.slice(1) === name));
        if (index >= 0) put(index, value);
        else if (!unknown) throw state(`Unknown named parameter '${name}'`);
      }
      values = values.slice(1);
    }
    let at = 0;
    for (const value of values) {
      while (at < names.length && names[at] !== null && !names[at].startsWith("?")) at++;
      if (at >= names.length) throw failure({ code: "SQLITE", message: "column index out of range", errno: 25 });
      put(at++, value);
    }
    this.#bound = bound;
    return bound;
  }
  #query(values, first = false) {
    return this.#open().ask("query", { sql: this.#sql, parameters: this.#bind(values), whole: this.#options.bigInts, first });
  }
  #rows(values, first) {
    const { bigInts, arrays } = this.#options;
    const { rows } = this.#query(values, first);
    return rows.map((row) => {
      const read = row.map((value) => decoded(value, bigInts ? BigInt : whole, (bytes) => bytes));
      if (arrays) return read;
      const object = Object.create(null);
      for (const [index, { name }] of this.#columns.entries()) object[name] = read[index];
      return object;
    });
  }
  run(...values) {
    const { changes, lastInsertRowid } = this.#query(values);
    const { bigInts } = this.#options;
    return { lastInsertRowid: decoded(lastInsertRowid, bigInts ? BigInt : whole), changes: bigInts ? BigInt(changes) : changes };
  }
  get(...values) {
    return this.#rows(values, true)[0];
  }
  all(...values) {
    return this.#rows(values, false);
  }
  *#each(values) {
    yield* this.#rows(values, false);
  }
  iterate(...values) {
    return this.#each(values);
  }
  columns() {
    return this.#columns.map(({ name, column, table, database, type }) => Object.assign(Object.create(null), { column, database, name, table, type }));
  }
  setReadBigInts(enabled) {
    this.#options.bigInts = Boolean(enabled);
  }
  setReturnArrays(enabled) {
    this.#options.arrays = Boolean(enabled);
  }
  setAllowBareNamedParameters(enabled) {
    this.#options.bare = Boolean(enabled);
  }
  setAllowUnknownNamedParameters(enabled) {
    this.#options.unknown = Boolean(enabled);
  }
}

/** For `backup`, which is no method. */
let copy;

export class DatabaseSync {
  #path;
  #options;
  #connection;
  #opened = () => {
    if (!this.#connection) throw state("database is not open");
    return this.#connection;
  };
  constructor(path, options = {}) {
    if (typeof path !== "string" && !(path instanceof Uint8Array) && !(path instanceof URL)) {
      throw argument('The "path" argument must be a string, Uint8Array, or URL without null bytes.');
    }
    if (options.allowExtension) throw unsupported("allowExtension of node:sqlite");
    [this.#path, this.#options] = [path, options];
    if (options.open !== false) this.open();
  }
  open() {
    if (this.#connection) throw state("database is already open");
    const { readOnly, timeout, enableForeignKeyConstraints, enableDoubleQuotedStringLiterals } = this.#options;
    const place = pathOf(this.#path);
    const options = { ...place, readonly: readOnly || place.readonly, timeout, foreignKeys: enableForeignKeyConstraints, doubleQuotedTexts: enableDoubleQuotedStringLiterals };
    this.#connection = new Connection(options, failure);
  }
  close() {
    this.#opened().close();
    this.#connection = undefined;
  }
  [Symbol.dispose ?? Symbol("dispose")]() {
    if (this.#connection) this.close();
  }
  get isOpen() {
    return this.#connection !== undefined;
  }
  get isTransaction() {
    return this.#opened().inTransaction;
  }
  exec(sql) {
    if (typeof sql !== "string") throw argument('The "sql" argument must be a string.');
    this.#opened().ask("exec", { sql });
  }
  prepare(sql, options = {}) {
    const { readBigInts, returnArrays, allowBareNamedParameters, allowUnknownNamedParameters } = { ...this.#options, ...options };
    this.#opened();
    return new StatementSync(making, this.#opened, sql, {
      bigInts: Boolean(readBigInts), arrays: Boolean(returnArrays), bare: allowBareNamedParameters ?? true, unknown: Boolean(allowUnknownNamedParameters),
    });
  }
  location() {
    return this.#opened().path;
  }
  enableLoadExtension(allow) {
    if (allow) throw unsupported("enableLoadExtension of node:sqlite");
  }
  enableDefensive() {}
  static {
    copy = (database, path) => database.#opened().ask("backup", { path });
  }
}
for (const name of ["function", "aggregate", "createSession", "applyChangeset", "loadExtension", "setAuthorizer", "createTagStore"]) {
  DatabaseSync.prototype[name] = function () {
    throw unsupported(`${name} of node:sqlite`);
  };
}

export const backup = async (database, path, { progress } = {}) => {
  const total = copy(database, pathOf(path).path);
  progress?.({ totalPages: total, remainingPages: 0 });
  return total;
};

export default { DatabaseSync, StatementSync, backup, constants };
