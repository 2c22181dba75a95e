//! Servers and sockets of extensions: `node:http` and `node:net`, where the person named this machine. What is expected is what
//! the same programs come to on Node 20.

use crate::support::scripted_project::{Project, extension_returns};
use crate::support::terminal;
use serde_json::json;

#[test]
fn an_extension_serves_pages_and_asks_for_them() {
    let told = extension_returns(
        r#"
const http = await import("node:http");
const seen = [];
const server = http.createServer(async (req, res) => {
  const parts = [];
  for await (const part of req) parts.push(part);
  seen.push(`${req.method} ${req.url} ${req.headers["x-own"] ?? "-"} ${Buffer.concat(parts).length} ${req.socket.remoteAddress} ${req.complete}`);
  if (req.url === "/pieces") {
    res.setHeader("Set-Cookie", ["a=1", "b=2"]);
    res.writeHead(201, { "Content-Type": "text/plain" });
    const sent = res.headersSent;
    res.write("one ");
    res.write("two ");
    return res.end(String(sent));
  }
  if (req.url === "/empty") return res.writeHead(204).end();
  if (req.url === "/late") return setTimeout(() => res.end("late"), 30);
  res.statusCode = req.url === "/" ? 200 : 404;
  res.end(JSON.stringify({ url: req.url }));
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const { port, address, family } = server.address();
const at = `http://127.0.0.1:${port}`;
const told = [];
const first = await fetch(at + "/", { headers: { "X-Own": "yes" } });
told.push([first.status, first.headers.get("content-length"), await first.text()]);
const pieces = await fetch(at + "/pieces", { method: "POST", body: "x".repeat(200000) });
told.push([pieces.status, pieces.statusText, pieces.headers.get("content-type"), pieces.headers.getSetCookie(), await pieces.text()]);
told.push([(await fetch(at + "/empty")).status, await (await fetch(at + "/late")).text(), (await fetch(at + "/none")).status]);
const got = await new Promise((resolve, reject) => {
  const req = http.request(at + "/pieces", { method: "PUT", headers: { "X-Own": "put" } }, (res) => {
    let text = "";
    res.setEncoding("utf8");
    res.on("data", (piece) => (text += piece));
    res.on("end", () => resolve([res.statusCode, res.headers["content-type"], res.headers["set-cookie"], text, res.complete]));
  });
  req.on("error", reject);
  req.write("some ");
  req.end("body");
});
told.push(got);
told.push(await new Promise((resolve) => http.get({ hostname: "127.0.0.1", port, path: "/?a=b" }, (res) => { res.resume(); res.on("end", () => resolve(res.statusCode)); })));
told.push(await new Promise((resolve) => { const req = http.request(at, { method: "HEAD" }, (res) => resolve([res.statusCode, res.headers["content-length"]])); req.end(); }));
const isOpen = server.listening;
await new Promise((resolve) => { server.close(() => resolve()); server.closeAllConnections(); });
const after = await new Promise((resolve) => http.get(at, () => resolve("answered")).on("error", (error) => resolve(error.code)));
return [told, seen, address, family, port > 0, isOpen, server.listening, server.address(), after];"#,
        "localhost,127.0.0.1",
    );
    let expected = json!([
        [
            [200, "11", "{\"url\":\"/\"}"],
            [201, "Created", "text/plain", ["a=1", "b=2"], "one two true"],
            [204, "late", 404],
            [201, "text/plain", ["a=1", "b=2"], "one two true", true],
            404,
            [200, null]
        ],
        [
            "GET / yes 0 127.0.0.1 true",
            "POST /pieces - 200000 127.0.0.1 true",
            "GET /empty - 0 127.0.0.1 true",
            "GET /late - 0 127.0.0.1 true",
            "GET /none - 0 127.0.0.1 true",
            "PUT /pieces put 9 127.0.0.1 true",
            "GET /?a=b - 0 127.0.0.1 true",
            "HEAD / - 0 127.0.0.1 true"
        ],
        "127.0.0.1",
        "IPv4",
        true,
        true,
        false,
        null,
        "ECONNREFUSED"
    ]);
    assert_eq!(told, expected);
}

#[test]
fn requests_are_read_strictly_and_connections_can_be_taken_over() {
    let told = extension_returns(
        r#"
const net = await import("node:net");
const http = await import("node:http");
const told = [];
const server = http.createServer((req, res) => {
  let length = 0;
  req.on("data", (piece) => (length += piece.length));
  req.on("end", () => { res.sendDate = false; res.end(`${req.url}:${length}`); });
});
server.on("upgrade", (req, socket, head) => {
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: ${req.headers.upgrade}\r\nConnection: Upgrade\r\n\r\n`);
  socket.on("data", (piece) => socket.write(String(piece).toUpperCase()));
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const { port } = server.address();
const raw = (text) => new Promise((resolve) => {
  const socket = net.connect(port, "127.0.0.1");
  let all = "";
  socket.on("data", (piece) => (all += piece));
  socket.on("close", () => resolve(all));
  socket.on("error", () => {});
  socket.write(text);
});
// Two at once, a body in chunks, and the end.
told.push(await raw("POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n3;x=y\r\nyou\r\n0\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
told.push(await raw("GET /old HTTP/1.0\r\n\r\n"));
for (const bad of [
  "nonsense\r\n\r\n",
  "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
  "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n",
  "GET / HTTP/1.1\r\nHost : x\r\n\r\n",
  "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
  "GET / HTTP/1.1\r\n\r\n",
]) told.push((await raw(bad)).split("\r\n")[0]);
told.push((await raw("GET / HTTP/1.1\r\nHost: x\r\nX: " + "y".repeat(20000) + "\r\n\r\n")).split("\r\n")[0]);
told.push(await new Promise((resolve, reject) => {
  const req = http.request({ hostname: "127.0.0.1", port, path: "/chat", headers: { Connection: "Upgrade", Upgrade: "echo" } });
  req.on("upgrade", (res, socket, head) => {
    socket.on("data", (piece) => { socket.destroy(); resolve([res.statusCode, res.headers.upgrade, String(piece), head.length]); });
    socket.write("loud");
  });
  req.on("error", reject);
  req.end();
}));
server.closeAllConnections();
server.close();
return told;"#,
        "127.0.0.1",
    );
    let kept = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: keep-alive\r\n\r\n/a:8";
    let last = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\n/b:0";
    let old = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\n/old:0";
    let bad = "HTTP/1.1 400 Bad Request";
    let long = "HTTP/1.1 431 Request Header Fields Too Large";
    let both = format!("{kept}{last}");
    assert_eq!(told, json!([both, old, bad, bad, bad, bad, bad, bad, long, [101, "echo", "LOUD", 0]]));
}

#[test]
fn sockets_carry_both_ways_and_tell_what_went_wrong() {
    let told = extension_returns(
        r#"
const net = await import("node:net");
const told = [];
const server = net.createServer((socket) => {
  let length = 0;
  socket.on("data", (piece) => { length += piece.length; });
  socket.on("end", () => socket.end(`got ${length}`));
});
server.on("connection", (socket) => told.push(["took", socket.remoteAddress, socket.remotePort > 0]));
await new Promise((resolve) => server.listen({ port: 0 , host: "localhost" }, resolve));
const { port } = server.address();
told.push(await new Promise((resolve, reject) => {
  const socket = net.createConnection({ port, host: "localhost" }, () => {
    for (let i = 0; i < 5; i += 1) socket.write(Buffer.alloc(1 << 20, i));
    socket.end();
  });
  let all = "";
  socket.setEncoding("utf8");
  socket.on("data", (piece) => (all += piece));
  socket.on("close", (hadError) => resolve([all, Boolean(hadError), socket.bytesWritten, socket.destroyed]));
  socket.on("error", reject);
}));
const second = net.createServer();
told.push(await new Promise((resolve) => second.on("error", (error) => resolve([error.code, error.syscall])).listen(port, "localhost")));
await new Promise((resolve) => server.close(resolve));
told.push(await new Promise((resolve) => net.connect(port, "localhost").on("error", (error) => resolve([error.code, error.syscall]))));
await new Promise((resolve) => second.listen(0, "localhost", resolve));
const gone = net.connect(second.address().port, "localhost");
second.on("connection", (socket) => socket.destroy());
told.push(await new Promise((resolve) => { gone.on("end", () => resolve("ended")); gone.on("data", () => {}); }));
second.close();
return told;"#,
        "localhost,127.0.0.1",
    );
    let expected = json!([
        ["took", "127.0.0.1", true],
        ["got 5242880", false, 5_242_880, true],
        ["EADDRINUSE", "listen"],
        ["ECONNREFUSED", "connect"],
        "ended"
    ]);
    assert_eq!(told, expected);
}

/// What comes of listening at these hosts.
const LISTEN: &str = r#"
const http = await import("node:http");
const net = await import("node:net");
const at = (host: any) => new Promise((resolve) => {
  const server = http.createServer((_req: any, res: any) => res.end("here"));
  server.on("error", (error: any) => resolve(`${error.code}: ${error.message}`));
  server.listen(0, host, () => { resolve(server.address().address); server.close(); });
});
const reached = await new Promise((resolve) => net.connect(9, "127.0.0.1").on("error", (error: any) => resolve(`${error.code}: ${error.message}`)));
return [await at(undefined), await at("0.0.0.0"), await at("192.0.2.1"), reached];"#;

#[test]
fn nobody_listens_or_connects_where_the_person_did_not_say_so() {
    let told = extension_returns(LISTEN, "*");
    let may =
        "extensions may not listen on this machine: name localhost in extension_hosts of your config.toml to allow it";
    let alone = "extensions listen on this machine alone, so at localhost and not at `192.0.2.1`";
    let private =
        "`127.0.0.1` is not a public address; extension_hosts of your config.toml has to name it as it stands";
    let text = |at: usize| told[at].as_str().unwrap_or_default();
    assert!(text(0).contains(may) && text(1).contains(may), "{told}");
    assert!(text(2).contains(alone) && text(3).contains(private), "{told}");
    let told = extension_returns(LISTEN, "localhost");
    assert_eq!([&told[0], &told[1]], ["127.0.0.1", "127.0.0.1"], "other machines do not get there");
    assert!(told[2].as_str().unwrap_or_default().contains(alone), "{told}");
}

#[test]
fn no_socket_opens_while_somebody_only_looks() {
    let project = Project::new("");
    let extension = "import net from 'node:net';\nexport default (pi: any) => { pi.on('context', async (event: any) => {
  const told = await new Promise((resolve) => net.createServer().on('error', (error: any) => resolve(error.code)).listen(0, 'localhost', () => resolve('listens')));
  return { messages: [...event.messages, { role: 'user', content: `told: ${told}`, timestamp: 0 }] };
}); };";
    project.write(".ai/extensions/e.ts", extension);
    let project = project.trusted();
    let mut shown = project.home.levain(&["context", "show", "--wire", "--model", &project.model]);
    let (code, out, err) = terminal::output(shown.env("LEVAIN_EXTENSION_HOSTS", "localhost"));
    assert_eq!(code, 0, "{out}{err}");
    assert!(out.contains("told: EACCES") && !out.contains("told: listens"), "{out}{err}");
}

/// What libraries look at as they load, or call in the way of before classes.
const OLD_WAYS: &str = r#"
const stream: any = await import("node:stream");
const util: any = await import("node:util");
const tls: any = await import("node:tls");
function Upper(this: any, options: any) { stream.Transform.call(this, options); }
util.inherits(Upper, stream.Transform);
Upper.prototype._transform = function (chunk: any, _encoding: any, done: any) { done(null, String(chunk).toUpperCase()); };
const upper = new (Upper as any)();
upper.end("loud");
const loud = await upper.toArray();
const slow = new stream.Readable({ read(this: any) { this.push("abcdef"); this.push(null); } });
const pieces: string[] = [];
slow.on("readable", () => { for (let piece = slow.read(4); piece !== null; piece = slow.read(4)) pieces.push(String(piece)); });
await new Promise((resolve) => slow.on("end", resolve));
const piped = await stream.promises.pipeline(["a", "b"], async function* (source: any) { for await (const x of source) yield x + "!"; }, async (source: any) => { let all = ""; for await (const x of source) all += x; return all; });
return [String(loud), upper instanceof stream.Writable, upper._writableState.finished, pieces, piped, typeof new tls.TLSSocket(new stream.PassThrough())._handle._parentWrap.constructor,
  Object.prototype.toString.call(new URLSearchParams())];"#;

#[test]
fn streams_serve_libraries_of_before_classes() {
    let told = extension_returns(OLD_WAYS, "");
    let expected = json!(["LOUD", true, true, ["abcd", "ef"], "a!b!", "function", "[object URLSearchParams]"]);
    assert_eq!(told, expected);
}
