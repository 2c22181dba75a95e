//! Databases of extensions: `node:sqlite` and `better-sqlite3`, over the `SQLite` of the program. What is expected is what their
//! documentation says.

use crate::support::scripted_project::extension_returns;
use serde_json::json;

/// `attempt(work)` gives what it comes to, or what it throws.
const ATTEMPT: &str = "
const attempt = (work) => { try { return work() ?? 'done'; } catch (error) { return [error.name, error.code ?? null, error.message]; } };
const fs = await import('node:fs');
const path = await import('node:path');
const here = process.cwd();
";

fn returns(body: &str) -> serde_json::Value {
    extension_returns(&format!("{ATTEMPT}{body}"), "")
}

#[test]
fn an_extension_keeps_rows_with_node_sqlite() {
    let told = returns(
        r#"
const { DatabaseSync, backup } = await import("node:sqlite");
const file = path.join(here, "own.db");
const db = new DatabaseSync(file);
db.exec("CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT, c BLOB, d REAL); INSERT INTO t(b) VALUES ('x'), ('y')");
const put = db.prepare("INSERT INTO t(b, c, d) VALUES (?, ?, ?)");
const rows = [put.run("z", new Uint8Array([1, 2]), 1.5)];
const all = db.prepare("SELECT * FROM t WHERE a > ?").all(2)[0];
rows.push(Object.getPrototypeOf(all), [all.a, all.b, [...all.c], all.d, all.c.constructor.name]);
rows.push(db.prepare("SELECT a, typeof(?) AS ty FROM t WHERE b = :b").get({ b: "z" }, 1));
rows.push(db.prepare("SELECT 1 WHERE 0").get() === undefined, [...db.prepare("SELECT a FROM t").iterate()].map((row) => row.a));
const big = db.prepare("SELECT 9007199254740993 AS n");
const failures = [attempt(() => big.get()), attempt(() => db.prepare("SELECT nope FROM t")), attempt(() => db.exec("INSERT INTO t(a) VALUES (1)")), attempt(() => db.prepare("SELECT $x").get({ y: 1 })), attempt(() => db.prepare("SELECT ?").get(true))];
big.setReadBigInts(true);
rows.push(String(big.get().n));
const arrays = db.prepare("SELECT a, b FROM t LIMIT 1");
arrays.setReturnArrays(true);
rows.push(arrays.get(), arrays.columns()[1]);
db.exec("BEGIN");
rows.push(db.isTransaction);
db.exec("ROLLBACK");
const expanded = db.prepare("SELECT $x || ?");
expanded.get({ $x: "a" }, "b");
rows.push(expanded.expandedSQL, db.location() === fs.realpathSync(file));
await backup(db, path.join(here, "copy.db"));
db.close();
failures.push(attempt(() => db.exec("SELECT 1")), [db.isOpen]);
const copy = new DatabaseSync(path.join(here, "copy.db"), { readOnly: true });
rows.push(copy.prepare("SELECT count(*) AS n FROM t").get().n);
failures.push(attempt(() => copy.exec("DELETE FROM t")));
return [rows, failures];"#,
    );
    let column = json!({"column": "b", "database": "main", "name": "b", "table": "t", "type": "TEXT"});
    let rows = json!([
        {"lastInsertRowid": 3, "changes": 1}, null, [3, "z", [1, 2], 1.5, "Uint8Array"], {"a": 3, "ty": "real"}, true, [1, 2, 3],
        "9007199254740993", [1, "x"], column, true, "SELECT 'a' || 'b'", true, 3
    ]);
    let failures = json!([
        [
            "RangeError",
            "ERR_OUT_OF_RANGE",
            "Value is too large to be represented as a JavaScript number: 9007199254740993"
        ],
        ["Error", "ERR_SQLITE_ERROR", "no such column: nope"],
        ["Error", "ERR_SQLITE_ERROR", "UNIQUE constraint failed: t.a"],
        ["Error", "ERR_INVALID_STATE", "Unknown named parameter 'y'"],
        ["TypeError", "ERR_INVALID_ARG_TYPE", "Provided value cannot be bound to SQLite parameter 1."],
        ["Error", "ERR_INVALID_STATE", "database is not open"],
        [false],
        ["Error", "ERR_SQLITE_ERROR", "attempt to write a readonly database"]
    ]);
    assert_eq!(told, json!([rows, failures]));
}

#[test]
fn an_extension_keeps_rows_with_better_sqlite3() {
    let told = returns(
        r#"
const { default: Database } = await import("better-sqlite3");
const { createRequire } = await import("node:module");
const required = createRequire(path.join(here, "x.js"))("better-sqlite3");
const db = new Database("own.db");
db.pragma("journal_mode = WAL");
db.exec("CREATE TABLE u(id INTEGER PRIMARY KEY, n TEXT UNIQUE)");
const put = db.prepare("INSERT INTO u(n) VALUES (@n)");
const many = db.transaction((names) => { for (const n of names) put.run({ n }); return names.length; });
const within = db.transaction((names) => { try { many(names); } catch (error) { return error.code; } return many(["inner"]); });
const rows = [many(["a", "b"]), attempt(() => many.immediate(["c", "a"])), within(["d", "a"]), within(["e"]), db.inTransaction];
rows.push(db.prepare("SELECT n FROM u ORDER BY id").pluck().all(), db.prepare("SELECT * FROM u WHERE n = ?").raw().get("a"), db.prepare("SELECT u.n, 1 AS one FROM u WHERE id = 1").expand().get());
rows.push(put.run({ n: "f" }), db.pragma("journal_mode", { simple: true }), db.prepare("SELECT * FROM u WHERE id = ? AND n = $n").get(1, { n: "a" }));
rows.push(db.prepare("SELECT 9007199254740993 AS n").get().n, String(db.prepare("SELECT 9007199254740993 AS n").safeIntegers().get().n), Buffer.isBuffer(db.prepare("SELECT x'00ff'").pluck().get()));
db.exec("CREATE VIRTUAL TABLE f USING fts5(x); INSERT INTO f VALUES ('the quick fox')");
rows.push(db.prepare("SELECT highlight(f, 0, '[', ']') FROM f WHERE f MATCH 'quick'").pluck().get());
db.pragma("journal_mode = DELETE");
const copy = new Database(db.serialize());
rows.push(copy.prepare("SELECT count(*) FROM u").pluck().get(), copy.memory, copy instanceof Database, required === Database);
const failures = [() => db.prepare("SELECT 1; SELECT 2"), () => db.prepare("SELECT 1").run(), () => put.all(), () => put.run({}), () => put.run(1, 2), () => db.prepare("SELECT ?").get(), () => db.prepare("SELECT ?").get(undefined), () => new Database("none/own.db"), () => new Database("other.db", { fileMustExist: true }), () => db.function("f", () => 1)].map(attempt);
return [rows, failures, db.close().open, attempt(() => db.prepare("SELECT 1"))];"#,
    );
    let unique = json!(["SqliteError", "SQLITE_CONSTRAINT_UNIQUE", "UNIQUE constraint failed: u.n"]);
    let rows = json!([
        2, unique, "SQLITE_CONSTRAINT_UNIQUE", 1, false,
        ["a", "b", "e", "inner"], [1, "a"], {"u": {"n": "a"}, "$": {"one": 1}},
        {"changes": 1, "lastInsertRowid": 5}, "wal", {"id": 1, "n": "a"},
        9_007_199_254_740_992_i64, "9007199254740993", true,
        "the [quick] fox", 5, true, true, true
    ]);
    let failures = json!([
        ["RangeError", null, "The supplied SQL string contains more than one statement"],
        ["TypeError", null, "This statement returns data. Use get(), all(), or iterate() instead"],
        ["TypeError", null, "This statement does not return data. Use run() instead"],
        ["RangeError", null, "Missing named parameter \"n\""],
        ["RangeError", null, "Too many parameter values were provided"],
        ["RangeError", null, "Too few parameter values were provided"],
        ["TypeError", null, "SQLite3 can only bind numbers, strings, bigints, buffers, and null"],
        ["SqliteError", "SQLITE_CANTOPEN", "unable to open database file"],
        ["SqliteError", "SQLITE_CANTOPEN", "unable to open database file"],
        ["Error", "ERR_NOT_SUPPORTED", "function of better-sqlite3 is not available to extensions in levain"]
    ]);
    assert_eq!(told, json!([rows, failures, false, ["TypeError", null, "The database connection is not open"]]));
}

/// What a file may be is decided where files are; SQL reaches no other, sets nothing for the program and takes no memory without
/// bounds.
#[test]
fn sql_reaches_no_file_that_its_extension_does_not_and_has_bounds() {
    let told = returns(
        r#"
const os = await import("node:os");
const { DatabaseSync } = await import("node:sqlite");
const db = new DatabaseSync(":memory:");
db.exec("CREATE TABLE t(x)");
const outside = path.join(os.homedir(), "outside.db");
const guarded = path.join(here, ".ai/extensions/e.ts");
fs.symlinkSync("inside.db", path.join(here, "link.db"));
new DatabaseSync(path.join(here, "inside.db")).exec("CREATE TABLE t(x)");
const opened = [outside, guarded, path.join(here, ".ai/own.db"), "/proc/self/mem", path.join(os.homedir(), ".config/levain/credentials.toml")].map((file) => attempt(() => new DatabaseSync(file) && "opened")[1]);
opened.push(attempt(() => new DatabaseSync(path.join(here, "link.db")) && "opened"), attempt(() => new DatabaseSync(path.join(os.homedir(), ".pi/own/own.db")) && "opened")[1]);
fs.mkdirSync(path.join(os.homedir(), ".pi/own"), { recursive: true });
opened.push(attempt(() => new DatabaseSync(path.join(os.homedir(), ".pi/own/own.db")) && "opened"));
const code = (work) => { try { work(); return "done"; } catch (error) { return `${error.errcode ?? error.code} ${error.message}`; } };
const said = [
  `ATTACH '${outside}' AS a`, `ATTACH '${guarded}' AS a`, "ATTACH 'relative.db' AS a", `ATTACH 'file:${path.join(here, "inside.db")}' AS a`, `VACUUM INTO '${outside}'`,
  "PRAGMA hard_heap_limit = 1", "PRAGMA temp_store_directory = '/'", "SELECT load_extension('x')", `SELECT writefile('${outside}', 'x')`,
  "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 60) INSERT INTO t SELECT zeroblob(5000000) FROM c",
  "INSERT INTO t VALUES (zeroblob(70000000))", `ATTACH '${path.join(here, "inside.db")}' AS inside`, "VACUUM", `VACUUM INTO '${path.join(here, "vacuumed.db")}'`,
].map((sql) => code(() => db.exec(sql)));
const computed = code(() => db.prepare("ATTACH ? AS b").run(outside));
const kept = db.prepare("PRAGMA temp_store = MEMORY") && (db.exec("PRAGMA temp_store = MEMORY; PRAGMA max_page_count = 1000000000; PRAGMA cache_size = -9000000"), [db.prepare("PRAGMA temp_store").get().temp_store, db.prepare("PRAGMA max_page_count").get().max_page_count, db.prepare("PRAGMA cache_size").get().cache_size]);
db.exec("PRAGMA temp_store = '2x'");
const still = db.prepare("PRAGMA temp_store").get().temp_store;
const wide = new DatabaseSync(path.join(here, "wide.db"));
wide.exec("PRAGMA page_size = 65536; CREATE TABLE t(x)");
wide.close();
const { default: Database } = await import("better-sqlite3");
const content = new Database(fs.readFileSync(path.join(here, "wide.db")));
const most = content.pragma("max_page_count", { simple: true });
content.close();
const heavy = code(() => db.prepare(`WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 60) SELECT ${Array.from({ length: 200 }, (_, i) => `length(group_concat(hex(zeroblob(500000)) || ${i}))`).join(", ")} FROM c`).all());
const large = code(() => db.prepare("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT zeroblob(20000000) FROM c").all());
const many = code(() => { for (let i = 0; i < 5; i++) new DatabaseSync(":memory:"); });
return [opened, said, computed, kept, still, most, heavy, large, many, fs.existsSync(outside), fs.existsSync(path.join(here, "vacuumed.db"))];"#,
    );
    let denied = "23 not authorized";
    let expected = json!([
        ["EACCES", "EACCES", "EACCES", "EACCES", "EACCES", "opened", "ERR_SQLITE_ERROR", "opened"],
        [
            denied,
            denied,
            denied,
            denied,
            "23 authorization denied",
            denied,
            denied,
            "1 not authorized",
            "1 no such function: writefile",
            "13 database or disk is full",
            "18 string or blob too big",
            "done",
            "done",
            "done"
        ],
        denied,
        [0, 32768, -2000],
        0,
        2048,
        "7 out of memory",
        "SQLITE_TOOBIG more than 67108864 bytes are answered; ask for fewer rows",
        "SQLITE_CANTOPEN at most 32 databases are open at once, 4 of them in memory; close one",
        false,
        true
    ]);
    assert_eq!(told, expected);
}
