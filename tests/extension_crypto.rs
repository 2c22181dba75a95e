//! `node:crypto` of extensions. What is expected is what Node 20 gave for the same programs.

use crate::support::scripted_project::extension_returns;
use serde_json::{Value, json};

fn returns(body: &str) -> Value {
    extension_returns(&format!("const crypto = await import('node:crypto');\n{body}"), "")
}

#[test]
fn an_extension_seals_and_opens_with_aes() {
    let told = returns(
        r#"
const key = Buffer.alloc(32, 1), iv = Buffer.alloc(16, 2), text = "hello world, this is some text";
const told = [];
for (const [name, vector] of [["aes-256-cbc", iv], ["aes-256-ctr", iv], ["aes-256-gcm", iv.subarray(0, 12)]]) {
  const sealed = crypto.createCipheriv(name, key, vector);
  if (name.endsWith("gcm")) sealed.setAAD(Buffer.from("aad"));
  const hex = sealed.update(text.slice(0, 7), "utf8", "hex") + sealed.update(text.slice(7), "utf8", "hex") + sealed.final("hex");
  const tag = name.endsWith("gcm") ? sealed.getAuthTag() : undefined;
  const open = (tag) => {
    const opened = crypto.createDecipheriv(name, key, vector);
    if (tag) opened.setAAD(Buffer.from("aad")).setAuthTag(tag);
    return opened.update(hex.slice(0, 34), "hex", "utf8") + opened.update(hex.slice(34), "hex", "utf8") + opened.final("utf8");
  };
  const wrong = tag && Buffer.from(tag).fill(0);
  let failed = "opened";
  try { open(wrong); } catch (error) { failed = error.message; }
  told.push([hex, tag?.toString("hex") ?? null, open(tag) === text, failed]);
}
const failures = [() => crypto.createCipheriv("aes-256-cbc", "short", iv), () => crypto.createCipheriv("aes-256-cbc", key, "short"), () => crypto.createCipheriv("rot-13", key, iv), () => { const d = crypto.createDecipheriv("aes-256-cbc", key, iv); d.update(Buffer.alloc(16)); d.final(); }].map((work) => { try { work(); return "done"; } catch (error) { return [error.name, error.code]; } });
const piped = await new Promise((done, fail) => { const parts = []; const cipher = crypto.createCipheriv("aes-128-cbc", key.subarray(0, 16), iv); cipher.on("data", (part) => parts.push(part)); cipher.on("end", () => done(Buffer.concat(parts).toString("hex"))); cipher.on("error", fail); cipher.write("in pieces, "); cipher.end("longer than a block"); });
const words = "grüße 🎉 an alle, und noch mehr Wörter";
const texts = ["aes-256-cbc", "aes-256-ctr"].map((name) => {
  const sealed = crypto.createCipheriv(name, key, iv);
  let base64 = sealed.update(words.slice(0, 20), "utf8", "base64");
  base64 += sealed.update(words.slice(20), "utf8", "base64");
  base64 += sealed.final("base64");
  const opened = crypto.createDecipheriv(name, key, iv), bytes = Buffer.from(base64, "base64");
  let text = "";
  for (let at = 0; at < bytes.length; at += 5) text += opened.update(bytes.subarray(at, at + 5), undefined, "utf8");
  return [base64, text + opened.final("utf8") === words];
});
return [told, failures, piped, texts];"#,
    );
    let expected = json!([
        [
            ["9a4ea772fafab96046f9df8e51c47bb5d27b516416d401a940616e3f7398ddec", null, true, "opened"],
            ["0acb7e9f4b9f9d67a79a1199337603d6d68db927bf4ae6002e083aad8cd2", null, true, "opened"],
            [
                "6fb3a5252577b692a1a0d8e47cd3aadbd195b89ccbc2e21cb8a7949e008f",
                "c06d4ce1cd176135c14b05d734fd0e92",
                true,
                "Unsupported state or unable to authenticate data"
            ]
        ],
        [
            ["RangeError", "ERR_CRYPTO_INVALID_KEYLEN"],
            ["TypeError", "ERR_CRYPTO_INVALID_IV"],
            ["Error", "ERR_CRYPTO_UNKNOWN_CIPHER"],
            ["Error", "ERR_OSSL_BAD_DECRYPT"]
        ],
        "8eeb1206ad3b3fb29cd470894b85de7c0c2c77b4e0e658721d1651d915561d0e",
        [
            ["KjZnlwcjacxRXJyMbmNcIs9T4ulSw+lA4dd29WqB2Izbl8lFFsQItuQGeyyWzH4s", true],
            ["BdzRT+cgjyglafs8M2MFn8TBvDGzGfwDLwggp5fOkhtkepDHVqWUxQiwIg==", true]
        ]
    ]);
    assert_eq!(told, expected);
}

#[test]
fn an_extension_makes_keys_of_passwords_and_hashes_what_is_piped() {
    let told = returns(
        r#"
const hash = crypto.createHash("sha256");
hash.write("a");
hash.end("b");
const parts = [];
for await (const part of hash) parts.push(part.toString("hex"));
const { Readable } = await import("node:stream");
const { pipeline } = await import("node:stream/promises");
const piped = crypto.createHash("sha256");
await pipeline(Readable.from(["a", "b"]), piped);
parts.push(piped.digest("hex").slice(0, 8));
const md5 = crypto.createHash("md5");
parts.push(await new Promise((done) => Readable.from(["a", "b"]).pipe(md5).on("finish", () => done(md5.digest("hex").slice(0, 8)))));
const code = crypto.createHmac("sha1", "k");
code.setEncoding("hex");
code.end("x");
parts.push(await new Promise((done) => code.on("readable", () => { const text = code.read(); if (text) done(text.slice(0, 8)); })));
const later = await new Promise((done) => crypto.pbkdf2("pw", "salt", 10, 8, "sha1", (error, key) => done(key.toString("hex"))));
const failures = [() => crypto.pbkdf2Sync("pw", "salt", 1, 8, "none"), () => crypto.scryptSync("pw", "salt", 8, { N: 3 }), () => crypto.pbkdf2Sync("pw", "salt", 1e9, 8, "sha1")].map((work) => { try { work(); return "done"; } catch (error) { return error.code; } });
return [crypto.pbkdf2Sync("pw", "salt", 1000, 32, "sha256").toString("hex"), crypto.scryptSync("pw", "salt", 32, { N: 1024 }).toString("hex"), Buffer.from(crypto.hkdfSync("sha256", "key", "salt", "info", 42)).toString("hex"), parts, later, failures];"#,
    );
    let expected = json!([
        "0a38253555ce37f5c72a6b703f996814ebf241f203af146e93dcdeb031c5567e",
        "9f1f8695838e682c1689750f45a69fb95645b4a27f0c9994c696b1c98c0a1671",
        "9ca0d662557439e3b83365f2da4626d35da195c6d9d1779f09838cf9e408966ece99106e2585ace6f083",
        ["fb8e20fc2e4c3f248c60c39bd652f3c1347298bb977b8b4d5903b85055620603", "fb8e20fc", "187ef443", "cb00131f"],
        "21666cdc0723a960",
        ["ERR_CRYPTO_INVALID_DIGEST", "ERR_CRYPTO_INVALID_SCRYPT_PARAMS", "ERR_OUT_OF_RANGE"]
    ]);
    assert_eq!(told, expected);
}
