// better-sqlite3 over the host's databases: the package of npm is machine code, which is not loaded here. Rows are read at
// once, also by `iterate`; functions of JavaScript, tables of them and loadable extensions are not offered.

import { asBuffer } from "../runtime/buffer.js";
import { unsupported } from "../runtime/errors.js";
import { Connection, decoded, encoded, pathOf } from "./sqlite_access.js";

export class SqliteError extends Error {
  constructor(message, code) {
    super(message);
    this.name = "SqliteError";
    this.code = code;
  }
}

const KINDS = [
  "OK", "ERROR", "INTERNAL", "PERM", "ABORT", "BUSY", "LOCKED", "NOMEM", "READONLY", "INTERRUPT", "IOERR", "CORRUPT", "NOTFOUND", "FULL", "CANTOPEN", "PROTOCOL", "EMPTY", "SCHEMA",
  "TOOBIG", "CONSTRAINT", "MISMATCH", "MISUSE", "NOLFS", "AUTH", "FORMAT", "RANGE", "NOTADB", "NOTICE", "WARNING",
];
const CLOSER = {
  261: "BUSY_RECOVERY", 517: "BUSY_SNAPSHOT", 275: "CONSTRAINT_CHECK", 531: "CONSTRAINT_COMMITHOOK", 787: "CONSTRAINT_FOREIGNKEY", 1043: "CONSTRAINT_FUNCTION", 1299: "CONSTRAINT_NOTNULL",
  1555: "CONSTRAINT_PRIMARYKEY", 1811: "CONSTRAINT_TRIGGER", 2067: "CONSTRAINT_UNIQUE", 2323: "CONSTRAINT_VTAB", 2579: "CONSTRAINT_ROWID", 2835: "CONSTRAINT_PINNED", 3091: "CONSTRAINT_DATATYPE",
  264: "READONLY_RECOVERY", 520: "READONLY_CANTLOCK", 776: "READONLY_ROLLBACK", 1032: "READONLY_DBMOVED", 1288: "READONLY_CANTINIT", 1544: "READONLY_DIRECTORY", 270: "CANTOPEN_NOTEMPDIR",
  526: "CANTOPEN_ISDIR", 782: "CANTOPEN_FULLPATH", 1550: "CANTOPEN_SYMLINK", 266: "IOERR_READ", 522: "IOERR_SHORT_READ", 778: "IOERR_WRITE", 1034: "IOERR_FSYNC",
};

function failure({ code, message, errno }) {
  if (code === "ERR_INVALID_STATE") return new TypeError("The database connection is not open");
  if (code === "SQLITE" && /^Multiple statements/.test(message)) return new RangeError("The supplied SQL string contains more than one statement");
  const named = code === "SQLITE" ? `SQLITE_${CLOSER[errno] ?? KINDS[errno & 0xff] ?? "ERROR"}` : code?.startsWith("SQLITE_") ? code : "SQLITE_CANTOPEN";
  return new SqliteError(message, named);
}

const big = (digits) => BigInt(digits);
const isNamed = (value) => value !== null && typeof value === "object" && !ArrayBuffer.isView(value);

class Statement {
  #connection;
  #described;
  #bound;
  #shape = "row";
  #safe;
  constructor(database, connection, sql, safe) {
    this.#described = connection.ask("prepare", { sql });
    this.#connection = connection;
    this.#safe = safe;
    this.database = database;
    this.source = sql;
    this.readonly = this.#described.readonly;
    this.reader = this.#described.columns.length > 0;
    this.busy = false;
  }
  #bind(values) {
    const names = this.#described.parameters;
    const isPlace = (name) => name === null || name.startsWith("?");
    const list = [];
    let named;
    for (const value of values) {
      if (Array.isArray(value)) list.push(...value);
      else if (isNamed(value)) {
        if (named) throw new TypeError("You cannot specify named parameters in two different objects");
        if (![Object.prototype, null].includes(Object.getPrototypeOf(value))) throw new TypeError("Named parameters can only be passed within plain objects");
        named = value;
      } else list.push(value);
    }
    const places = names.filter(isPlace).length;
    if (list.length > places) throw new RangeError("Too many parameter values were provided");
    if (list.length < places) throw new RangeError("Too few parameter values were provided");
    let at = 0;
    return names.map((name) => {
      if (!isPlace(name) && (!named || !Object.hasOwn(named, name.slice(1)))) {
        throw new RangeError(named ? `Missing named parameter "${name.slice(1)}"` : "Too few parameter values were provided");
      }
      const value = isPlace(name) ? list[at++] : named[name.slice(1)];
      const plain = encoded(value);
      if (plain !== undefined) return plain;
      throw typeof value === "bigint" ? new RangeError("The bound string, buffer, or bigint is too big") : new TypeError("SQLite3 can only bind numbers, strings, bigints, buffers, and null");
    });
  }
  #query(values, first = false) {
    if (this.#bound && values.length > 0) throw new TypeError("This statement already has bound parameters");
    return this.#connection.ask("query", { sql: this.source, parameters: this.#bound ?? this.#bind(values), whole: this.#safe, first });
  }
  #value = (value) => decoded(value, this.#safe ? big : Number, asBuffer);
  #rows(values, first) {
    if (!this.reader) throw new TypeError("This statement does not return data. Use run() instead");
    const { columns } = this.#described;
    return this.#query(values, first).rows.map((row) => {
      if (this.#shape === "pluck") return this.#value(row[0]);
      if (this.#shape === "raw") return row.map(this.#value);
      const object = {};
      for (const [index, { name, table }] of columns.entries()) {
        const holder = this.#shape === "expand" ? (object[table ?? "$"] ??= {}) : object;
        Object.defineProperty(holder, name, { value: this.#value(row[index]), writable: true, enumerable: true, configurable: true });
      }
      return object;
    });
  }
  run(...values) {
    if (this.reader) throw new TypeError("This statement returns data. Use get(), all(), or iterate() instead");
    const { changes, lastInsertRowid } = this.#query(values);
    return { changes, lastInsertRowid: this.#value(lastInsertRowid) };
  }
  get(...values) {
    return this.#rows(values, true)[0];
  }
  all(...values) {
    return this.#rows(values, false);
  }
  iterate(...values) {
    return this.#rows(values, false)[Symbol.iterator]();
  }
  #as(shape, enabled) {
    if (!this.reader) throw new TypeError(`The ${shape}() method is only for statements that return data`);
    this.#shape = enabled ? shape : "row";
    return this;
  }
  pluck(enabled = true) {
    return this.#as("pluck", enabled);
  }
  expand(enabled = true) {
    return this.#as("expand", enabled);
  }
  raw(enabled = true) {
    return this.#as("raw", enabled);
  }
  safeIntegers(enabled = true) {
    this.#safe = enabled;
    return this;
  }
  bind(...values) {
    if (this.#bound) throw new TypeError("The bind() method can only be invoked once per statement object");
    this.#bound = this.#bind(values);
    return this;
  }
  columns() {
    if (!this.reader) throw new TypeError("The columns() method is only for statements that return data");
    return this.#described.columns.map(({ name, column, table, database, type }) => ({ name, column, table, database, type }));
  }
}

class OwnDatabase {
  #connection;
  #safe = false;
  #verbose;
  constructor(file = "", options = {}) {
    const isContent = ArrayBuffer.isView(file);
    if (!isContent && typeof file !== "string" && !(file instanceof URL)) throw new TypeError("Expected first argument to be a string");
    const { readonly = false, fileMustExist = false, timeout = 5000, verbose = null } = options;
    if (verbose !== null && typeof verbose !== "function") throw new TypeError('Expected the "verbose" option to be a function');
    const place = isContent ? { content: new Uint8Array(file) } : pathOf(file.trim?.() ?? file);
    this.#connection = new Connection({ ...place, readonly: readonly || place.readonly, mustExist: fileMustExist || place.mustExist, timeout }, failure);
    this.#verbose = verbose;
    this.name = isContent ? ":memory:" : String(file);
    this.memory = isContent || ["", ":memory:"].includes(place.path);
    this.readonly = readonly;
  }
  get open() {
    return this.#connection.isOpen;
  }
  get inTransaction() {
    return this.open && this.#connection.inTransaction;
  }
  prepare(sql) {
    if (typeof sql !== "string") throw new TypeError("Expected first argument to be a string");
    const statement = new Statement(this, this.#connection, sql, this.#safe);
    return this.#verbose ? told(statement, this.#verbose) : statement;
  }
  exec(sql) {
    if (typeof sql !== "string") throw new TypeError("Expected first argument to be a string");
    this.#verbose?.(sql);
    this.#connection.ask("exec", { sql });
    return this;
  }
  pragma(source, { simple = false } = {}) {
    if (typeof source !== "string") throw new TypeError("Expected first argument to be a string");
    const statement = this.prepare(`PRAGMA ${source}`);
    if (!statement.reader) {
      statement.run();
      return simple ? undefined : [];
    }
    return simple ? statement.pluck().get() : statement.all();
  }
  transaction(work) {
    if (typeof work !== "function") throw new TypeError("Expected first argument to be a function");
    const database = this;
    const made = (kind) =>
      function (...values) {
        const isInner = database.inTransaction;
        const [begin, commit, undo] = isInner ? ["SAVEPOINT within", "RELEASE within", "ROLLBACK TO within"] : [`BEGIN ${kind}`, "COMMIT", "ROLLBACK"];
        database.exec(begin);
        try {
          const result = work.apply(this, values);
          if (typeof result?.then === "function") throw new TypeError("Transaction function cannot return a promise");
          database.exec(commit);
          return result;
        } catch (error) {
          if (database.inTransaction) {
            database.exec(undo);
            if (isInner) database.exec(commit);
          }
          throw error;
        }
      };
    const kinds = { default: made(""), deferred: made("DEFERRED"), immediate: made("IMMEDIATE"), exclusive: made("EXCLUSIVE") };
    for (const one of Object.values(kinds)) {
      for (const [name, other] of Object.entries({ ...kinds, database })) Object.defineProperty(one, name, { value: other, configurable: true });
    }
    return kinds.default;
  }
  async backup(path, { progress } = {}) {
    const totalPages = this.#connection.ask("backup", { path: pathOf(path).path });
    progress?.({ totalPages, remainingPages: 0 });
    return { totalPages, remainingPages: 0 };
  }
  serialize() {
    return asBuffer(this.#connection.ask("serialize"));
  }
  defaultSafeIntegers(enabled = true) {
    this.#safe = enabled;
    return this;
  }
  unsafeMode(enabled = true) {
    if (enabled) throw unsupported("unsafeMode of better-sqlite3");
    return this;
  }
  close() {
    if (this.open) this.#connection.close();
    return this;
  }
}
for (const name of ["function", "aggregate", "table", "loadExtension"]) {
  OwnDatabase.prototype[name] = function () {
    throw unsupported(`${name} of better-sqlite3`);
  };
}

/** Tells of each run of a statement. */
function told(statement, verbose) {
  for (const name of ["run", "get", "all", "iterate"]) {
    const method = statement[name];
    statement[name] = (...values) => {
      verbose(statement.source);
      return method.apply(statement, values);
    };
  }
  return statement;
}

/** The class of the package is called without `new`, too. */
function Database(file, options) {
  return Reflect.construct(OwnDatabase, [file, options], new.target ?? Database);
}
Database.prototype = OwnDatabase.prototype;
Object.defineProperty(Database.prototype, "constructor", { value: Database, writable: true, configurable: true });
Object.assign(Database, { SqliteError, Database, default: Database });

export { Database };
export default Database;
