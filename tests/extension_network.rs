//! What extensions reach: hosts that the person named by `fetch`, and models of providers that they register.

use crate::support::scripted_project::{Project, extension_returns};
use crate::support::{terminal, wire_server};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use wire_server::WireServer;

/// A server of a few pages, which keeps the heads of the requests it gets.
struct Server {
    port: u16,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&heads);
        std::thread::spawn(move || {
            for stream in listener.incoming().filter_map(Result::ok) {
                let kept = Arc::clone(&kept);
                std::thread::spawn(move || answer(stream, port, &kept));
            }
        });
        Self { port, heads }
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

fn answer(mut stream: TcpStream, port: u16, heads: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).unwrap_or(0) == 0 {
            return;
        }
    }
    let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).unwrap();
    heads.lock().unwrap().push(head.clone());
    let path = head.split(' ').nth(1).unwrap();
    let whole = |status: &str, more: &str, body: &[u8]| {
        let head = format!("HTTP/1.1 {status}\r\n{more}content-length: {}\r\nconnection: close\r\n\r\n", body.len());
        [head.as_bytes(), body].concat()
    };
    let _gone = match path {
        "/json" => stream.write_all(&whole("200 OK", "content-type: application/json\r\n", br#"{"n": 42}"#)),
        "/echo" => stream.write_all(&whole("201 Created", "x-of: server\r\n", &body)),
        "/far" => stream.write_all(&whole("302 Found", "location: http://example.invalid/\r\n", b"")),
        "/other" => stream.write_all(&whole(
            "307 Temporary Redirect",
            &format!("location: http://localhost:{port}/json\r\n"),
            b"",
        )),
        "/slow" => {
            let _gone = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nfirst");
            std::thread::sleep(std::time::Duration::from_secs(30));
            Ok(())
        }
        _ => stream.write_all(&whole("404 Not Found", "", b"nothing")),
    };
}

/// What `body` comes to, where `base` is the address of a server.
fn said(body: &str, hosts: &str, base: &str) -> Value {
    extension_returns(&format!("const base = {}; {body}", Value::from(base)), hosts)
}

#[test]
fn a_host_that_the_person_named_is_reached() {
    let server = Server::start();
    let (base, host) = (format!("http://127.0.0.1:{}", server.port), format!("127.0.0.1:{}", server.port));
    let told = said(
        r#"
const first = await fetch(base + "/json", { headers: { Authorization: "Bearer own" } });
const bytes = new Uint8Array([0, 255, 10, 128]);
const echoed = await fetch(base + "/echo", { method: "POST", body: bytes });
const missing = await fetch(base + "/nothing");
return [first.status, first.ok, first.headers.get("content-type"), await first.json(), echoed.status, echoed.statusText, echoed.headers.get("x-of"),
  [...new Uint8Array(await echoed.arrayBuffer())], missing.ok, await missing.text()];"#,
        &host,
        &base,
    );
    let expected = json!([200, true, "application/json", {"n": 42}, 201, "Created", "server", [0, 255, 10, 128], false, "nothing"]);
    assert_eq!(told, expected);
    assert!(server.heads()[0].to_lowercase().contains("authorization: bearer own"), "{:?}", server.heads());
}

#[test]
fn undici_asks_as_fetch_does() {
    let server = Server::start();
    let (base, host) = (format!("http://127.0.0.1:{}", server.port), format!("127.0.0.1:{}", server.port));
    let told = said(
        r#"
const { fetch, request, Agent, ProxyAgent, setGlobalDispatcher, MockAgent } = await import("undici");
const required = (await import("node:module")).createRequire("/x.js")("undici");
setGlobalDispatcher(new Agent({ connect: { timeout: 1 } }));
const first = await fetch(base + "/json", { dispatcher: new Agent() });
const { statusCode, headers, body } = await request(base + "/echo", { method: "POST", body: "said" });
const moved = await request(base + "/far");
const refused = await request("http://example.invalid/").then(() => "reached", (error) => error.name);
let proxy = "none";
try { new ProxyAgent("http://127.0.0.1:9"); } catch (error: any) { proxy = error.message; }
return [await first.json(), statusCode, headers["x-of"], await body.text(), moved.statusCode, refused, proxy, required.fetch === fetch, typeof MockAgent];"#,
        &host,
        &base,
    );
    let proxy = "a proxy of an extension's own is not available in levain";
    assert_eq!(told, json!([{"n": 42}, 201, "server", "said", 302, "TypeError", proxy, true, "undefined"]));
}

#[test]
fn a_request_can_be_given_up_while_its_answer_comes() {
    let server = Server::start();
    let (base, host) = (format!("http://127.0.0.1:{}", server.port), format!("127.0.0.1:{}", server.port));
    let told = said(
        r#"
const control = new AbortController();
const answer = await fetch(base + "/slow", { signal: control.signal });
const reader = answer.body.getReader();
const first = new TextDecoder().decode((await reader.read()).value);
setTimeout(() => control.abort(), 10);
try { await reader.read(); return [first, "read on"]; } catch (error) { return [first, error.name]; }"#,
        &host,
        &base,
    );
    assert_eq!(told, json!(["first", "AbortError"]));
}

#[test]
fn no_other_host_is_reached_by_itself_or_by_a_redirect() {
    let server = Server::start();
    let base = format!("http://127.0.0.1:{}", server.port);
    let get = "return (await fetch(base + '/json')).status;";
    for hosts in ["example.com", "*", "127.0.0.1:1"] {
        let told = said(get, hosts, &base).to_string();
        assert!(told.contains("fetch failed") && told.contains("extension_hosts"), "{hosts}: {told}");
    }
    assert_eq!(server.heads(), Vec::<String>::new());
    let host = format!("127.0.0.1:{}", server.port);
    let told = said("return (await fetch(base + '/far')).status;", &host, &base).to_string();
    assert!(told.contains("extensions may not reach example.invalid"), "{told}");
    let told = said("return (await fetch('file:///etc/passwd')).status;", "*", &base).to_string();
    assert!(told.contains("only http and https"), "{told}");
    // To another host that is named no key goes along.
    let both = format!("{host},localhost");
    let go = "return (await fetch(base + '/other', { headers: { Authorization: 'Bearer own', 'X-Api-Key': 'k', Accept: 'text/x', Host: 'evil' } })).status;";
    assert_eq!(said(go, &both, &base), json!(200));
    let last = server.heads().last().unwrap().to_lowercase();
    assert!(last.contains("accept: text/x") && last.contains("host: localhost"), "{last}");
    assert!(!last.contains("authorization") && !last.contains("x-api-key"), "{last}");
    assert!(!server.heads().iter().any(|head| head.contains("evil")), "{:?}", server.heads());
}

#[test]
fn answers_that_nobody_reads_keep_nobody_from_theirs() {
    let server = Server::start();
    let (base, host) = (format!("http://127.0.0.1:{}", server.port), format!("127.0.0.1:{}", server.port));
    let told = said(
        r#"
for (let i = 0; i < 40; i++) await fetch(base + "/json", { method: i % 2 ? "HEAD" : "GET" });
const all = await Promise.all(Array.from({ length: 12 }, () => fetch(base + "/json").then((answer) => answer.json())));
return all.filter((one) => one.n === 42).length;"#,
        &host,
        &base,
    );
    assert_eq!(told, json!(12));
}

#[test]
fn nothing_is_sent_while_somebody_only_looks() {
    let server = Server::start();
    let project = Project::new("");
    let extension = format!(
        "export default (pi: any) => {{ pi.on('before_agent_start', async () => {{ await fetch('http://127.0.0.1:{}/json').catch(() => 0); }}); }};",
        server.port
    );
    project.write(".ai/extensions/e.ts", &extension);
    let project = project.trusted();
    let mut show = project.home.levain(&["context", "show", "--model", &project.model, "--prompt", "hello"]);
    let (_, out, err) = terminal::output(show.env("LEVAIN_EXTENSION_HOSTS", "127.0.0.1"));
    assert!(!out.is_empty(), "{err}");
    assert_eq!(server.heads(), Vec::<String>::new());
}

const PROVIDER: &str = r#"
export default (pi: any) => {
  pi.registerProvider("own", { baseUrl: "BASE/v1", apiKey: "OWN_MODEL_KEY", api: "openai-completions",
    models: [{ id: "small", name: "Small", contextWindow: 32000, maxTokens: 4096, cost: { input: 1, output: 2, cacheRead: 0, cacheWrite: 0 } }] });
  pi.registerProvider("strange", { baseUrl: "BASE", apiKey: "OWN_MODEL_KEY", api: "smoke-signals", models: [{ id: "x" }] });
};"#;

#[test]
fn a_provider_of_the_persons_own_extension_answers() {
    let server = WireServer::start("Hello from afar.");
    let project = Project::new("");
    let own = project.home.home().join(".pi/agent/extensions");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("own.ts"), PROVIDER.replace("BASE", &server.base(""))).unwrap();
    let levain = |arguments: &[&str], key: Option<&str>| {
        let mut run = project.home.levain(arguments);
        if let Some(key) = key {
            run.env("OWN_MODEL_KEY", key);
        }
        terminal::output(&mut run)
    };
    let ask = ["run", "--model", "own/small", "hello"];
    let (code, _, err) = levain(&ask, None);
    assert!(code != 0 && err.contains("OWN_MODEL_KEY"), "{err}");
    let (_, out, err) = levain(&["models"], Some(wire_server::KEY));
    let row = out.lines().find(|line| line.starts_with("own/small")).unwrap_or_else(|| panic!("{out}{err}"));
    assert!(row.contains("32") && row.contains("$1.00/$2.00") && row.contains("ready"), "{row}");
    let (code, out, err) = levain(&ask, Some(wire_server::KEY));
    assert!(code == 0 && out.contains("Hello from afar."), "{out}{err}");
    assert!(err.contains("smoke-signals"), "{err}");
    // One that does not load costs nobody else's, and no other vendor's key is asked for.
    std::fs::write(own.join("broken.ts"), "export default (pi: any) => { registerProvider(; };").unwrap();
    let wants = PROVIDER.replace("OWN_MODEL_KEY", "ANTHROPIC_API_KEY").replace("\"own\"", "\"greedy\"");
    std::fs::write(own.join("greedy.ts"), wants).unwrap();
    let (_, out, _) = levain(&["models"], Some(wire_server::KEY));
    assert!(out.contains("own/small") && !out.contains("greedy"), "{out}");
    let (_, out, err) = levain(&["check"], None);
    let told = out + &err;
    assert!(told.contains("which is the key of anthropic") && told.contains("broken.ts"), "{told}");
    // A changed file counts at once.
    let more = PROVIDER.replace("BASE", &server.base("")).replace("\"small\"", "\"large\"");
    std::fs::write(own.join("own.ts"), more).unwrap();
    let (_, out, _) = levain(&["models"], Some(wire_server::KEY));
    assert!(out.contains("own/large") && !out.contains("own/small"), "{out}");
    // A project's own says nothing of where a key goes.
    std::fs::remove_file(own.join("own.ts")).unwrap();
    project.write(".ai/extensions/e.ts", &PROVIDER.replace("BASE", &server.base("")));
    let project = project.trusted();
    let (_, out, _) = terminal::output(&mut project.home.levain(&["models"]));
    assert!(!out.contains("own/small"), "{out}");
}
