//! Signing in to MCP servers by OAuth, with an authorization server that checks every request (`tests/support/oauth.py`).

use crate::support::terminal::{Home, output, write};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A person with a server that wants them to sign in.
struct Person {
    home: Home,
    server: Child,
    port: u16,
}

impl Drop for Person {
    fn drop(&mut self) {
        let _gone = self.server.kill();
        let _reaped = self.server.wait();
    }
}

impl Person {
    /// One whose tokens last so many seconds.
    fn new(lasts: u32) -> Self {
        Self::with(&[&lasts.to_string()])
    }

    /// One with a server that is started with these arguments.
    fn with(arguments: &[&str]) -> Self {
        let home = Home::new();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/oauth.py");
        let mut server = Command::new("python3");
        server.arg(script).arg(home.path().join("oauth.log")).args(arguments);
        let mut server = server.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim().parse().unwrap();
        // A browser of a person who says yes to everything.
        let browser =
            "#!/bin/sh\nexec python3 -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1])' \"$1\"\n";
        let path = home.path().join("browser");
        write(&path, browser);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        Self { home, server, port }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    fn levain(&self, arguments: &[&str]) -> (i32, String, String) {
        let mut command = self.home.levain(arguments);
        command.env("CLIENT_SECRET", "s3cret");
        output(command.env("BROWSER", self.home.path().join("browser")).env("LEVAIN_LOG", "trace"))
    }

    /// The server among the person's own items, and so signed in to.
    fn signed_in(self) -> Self {
        let url = self.url();
        self.levain(&["mcp", "add", "vault", "--url", &url]);
        let (code, out, err) = self.levain(&["mcp", "login", "vault"]);
        assert_eq!(code, 0, "{out}{err}\n{}", self.log());
        self
    }

    fn log(&self) -> String {
        fs::read_to_string(self.home.path().join("oauth.log")).unwrap_or_default()
    }

    fn forget_log(&self) {
        fs::write(self.home.path().join("oauth.log"), "").unwrap();
    }

    fn token_files(&self) -> Vec<PathBuf> {
        let all = fs::read_dir(self.home.config().join("mcp-tokens")).into_iter().flatten().flatten();
        all.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|ending| ending == "json")).collect()
    }

    fn kept(&self) -> Value {
        let files = self.token_files();
        let [file] = files.as_slice() else { panic!("{files:?}") };
        serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
    }

    /// What a thread gets that calls the tool of the server.
    fn call(&self) -> String {
        let script = json!({ "name": "s", "rate": 0, "replies": [
            { "when": { "after_tool": "mcp_vault_tool" }, "steps": [{ "text": "Done." }] },
            { "steps": [{ "tool_call": { "name": "mcp_vault_tool", "input": {} } }] },
        ]});
        write(&self.home.path().join("s.yaml"), &script.to_string());
        let directive = "```xml\n<directive name=\"x\"><metadata><permissions><execute><tool>mcp/*</tool></execute>\
                         <acknowledge risk=\"unrestricted\">a test</acknowledge></permissions></metadata></directive>\n```\nGo.\n";
        write(&self.home.project().join(".ai/directives/x.md"), directive);
        assert_eq!(self.levain(&["trust"]).0, 0);
        let model = format!("scripted/{}", self.home.path().join("s.yaml").display());
        let (_, out, err) = self.levain(&["run", "--json", "--model", &model, "--directive", "x", "go"]);
        let line: Value =
            serde_json::from_str(out.lines().next_back().unwrap_or_default()).unwrap_or_else(|_| panic!("{out}{err}"));
        let log = format!(".ai/agent/threads/{}/transcript.jsonl", line["thread_id"].as_str().unwrap());
        let log = fs::read_to_string(self.home.project().join(log)).unwrap();
        let mut events = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let result = events.find(|event| event["event_type"] == "tool_call_result").unwrap();
        result["payload"]["output"].as_str().unwrap().to_owned()
    }

    /// Whether a text stands in any file that levain wrote, but those of tokens.
    fn is_written_somewhere(&self, text: &str) -> Option<PathBuf> {
        let tokens = self.home.config().join("mcp-tokens");
        let mut folders = vec![self.home.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for path in fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()) {
                if path.is_dir() && path != tokens {
                    folders.push(path);
                } else if path.is_file() && String::from_utf8_lossy(&fs::read(&path).unwrap()).contains(text) {
                    return Some(path);
                }
            }
        }
        None
    }
}

#[test]
fn a_person_signs_in_in_their_browser_and_threads_send_the_token() {
    let person = Person::new(3_600);
    let (code, out, err) = person.levain(&["mcp", "add", "vault", "--url", &person.url()]);
    assert!(code != 0 && err.contains("vault wants you to sign in: levain mcp login vault"), "{out}{err}");
    let (code, out, err) = person.levain(&["mcp", "login", "vault"]);
    assert!(code == 0 && out.contains("signed in to vault"), "{out}{err}\n{}", person.log());
    assert!(err.contains("/authorize?") && err.contains("Ctrl-C leaves"), "{err}");
    assert!(person.log().contains("register levain\nauthorize tools\ntoken authorization_code\n"), "{}", person.log());
    let (code, out, err) = person.levain(&["mcp", "refresh", "vault"]);
    assert!(code == 0 && out.contains("1 tools"), "{out}{err}");
    let result = person.call();
    assert!(result.contains("treasure"), "{result}");
    assert!(!person.log().contains("bad:"), "{}", person.log());
    // The token is in its file alone, which nobody else can read, whatever is logged.
    let file = &person.token_files()[0];
    assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    let kept = person.kept();
    for name in ["access_token", "refresh_token"] {
        let token = kept["credentials"]["token_response"][name].as_str().unwrap();
        assert!(token.len() > 30 && !out.contains(token) && !err.contains(token));
        assert_eq!(person.is_written_somewhere(token), None);
    }
    // What others can read is not used.
    fs::set_permissions(file, fs::Permissions::from_mode(0o644)).unwrap();
    let (code, out, err) = person.levain(&["mcp", "test", "vault"]);
    assert!(code != 0 && format!("{out}{err}").contains("chmod 600"), "{out}{err}");
    let (code, out, err) = person.levain(&["mcp", "logout", "vault"]);
    assert!(code == 0 && out.contains("forgotten"), "{out}{err}");
    assert!(person.token_files().is_empty());
    let (code, out, _) = person.levain(&["mcp", "test", "vault"]);
    assert!(code != 0 && out.contains("levain mcp login vault"), "{out}");
    person.home.wait_until_quiet();
}

#[test]
fn a_token_that_expired_is_renewed_and_one_that_cannot_be_is_said_to_be_over() {
    let person = Person::new(1).signed_in();
    let before = person.kept();
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    person.forget_log();
    let (code, out, err) = person.levain(&["mcp", "test", "vault"]);
    assert_eq!(code, 0, "{out}{err}\n{}", person.log());
    // Whoever looks for the authorization server asks without a token first.
    let log = person.log().replace("401 without a token\n", "");
    assert!(log.starts_with("token refresh_token\ninitialize\n") && !log.contains("bad:"), "{log}");
    let token = |kept: &Value| kept["credentials"]["token_response"]["access_token"].clone();
    assert_ne!(token(&before), token(&person.kept()));
    // Somebody else used up the refresh token.
    let file = &person.token_files()[0];
    fs::write(file, before.to_string()).unwrap();
    let (code, out, _) = person.levain(&["mcp", "test", "vault"]);
    assert!(code != 0 && out.contains("vault wants you to sign in: levain mcp login vault"), "{out}\n{}", person.log());
}

#[test]
fn a_client_of_ones_own_signs_in_where_only_the_servers_answer_leads() {
    let person = Person::with(&["1", "hidden"]);
    person.levain(&["mcp", "add", "vault", "--url", &person.url()]);
    let (code, _, err) = person.levain(&["mcp", "login", "vault"]);
    assert!(code != 0 && err.contains("name it with --client-id"), "{err}");
    let own = ["mcp", "login", "vault", "--client-id", "known", "--client-secret", "CLIENT_SECRET"];
    let (code, out, err) = person.levain(&own);
    assert_eq!(code, 0, "{out}{err}\n{}", person.log());
    assert_eq!(person.levain(&["mcp", "refresh", "vault"]).0, 0);
    // Its secret goes along when the token is renewed, and stands nowhere else.
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    person.forget_log();
    let result = person.call();
    assert!(person.log().contains("token refresh_token\n"), "{}", person.log());
    assert!(!person.log().contains("bad:"), "{}", person.log());
    assert_eq!(person.is_written_somewhere("s3cret"), None);
    // What it was not signed in for is named, as far as it can be run as it stands.
    let wanted = "vault wants more of you than you signed in for: levain mcp login vault --scope more";
    assert!(result.contains(wanted) && !result.contains("$(x)"), "{result}");
    let (code, out, err) = person.levain(&[&own[..], &["--scope", "more"]].concat());
    assert_eq!(code, 0, "{out}{err}\n{}", person.log());
    assert!(person.log().contains("authorize tools more\n"), "{}", person.log());
    assert!(person.call().contains("treasure"), "{}", person.log());
    person.home.wait_until_quiet();
    // Who removes their server has nothing left of it.
    assert_eq!((person.levain(&["mcp", "remove", "vault"]).0, person.token_files()), (0, Vec::new()));
}

#[test]
fn a_token_goes_to_the_server_and_the_address_that_it_is_for() {
    let person = Person::new(3_600).signed_in();
    let other = Person::new(3_600);
    // A project names the same server with another address.
    let file = |url: &str| {
        let config = json!({ "transport": "http", "url": url });
        json!({ "tool_type": "mcp_server", "executor_id": null, "description": "d", "config": config }).to_string()
    };
    let of_project = person.home.project().join(".ai/tools/mcp/servers");
    write(&of_project.join("vault.yaml"), &file(&other.url()));
    // And another server with the same address.
    write(&of_project.join("twin.yaml"), &file(&person.url()));
    assert_eq!(person.levain(&["trust"]).0, 0);
    person.forget_log();
    for (name, asked) in [("vault", &other), ("twin", &person)] {
        let (code, out, err) = person.levain(&["mcp", "test", name]);
        assert!(code != 0 && out.contains(&format!("levain mcp login {name}")), "{out}{err}");
        let log = asked.log();
        assert!(log.contains("401 without a token") && !log.contains("with a token\n401 with a"), "{log}");
        assert!(!log.contains("401 with a token"), "{log}");
    }
}

#[test]
fn who_does_not_sign_in_is_not_signed_in() {
    let person = Person::new(3_600);
    person.levain(&["mcp", "add", "vault", "--url", &person.url()]);
    let (code, _, err) = person.levain(&["mcp", "login", "vault", "--no-browser", "--wait", "1"]);
    assert!(code != 0 && err.contains("vault: nobody signed in within 1 s"), "{err}");
    // What comes back without the state of this very login is sent away; a refusal is told in the server's words.
    let mut command = person.home.levain(&["mcp", "login", "vault", "--no-browser"]);
    let mut login = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(login.stderr.take().unwrap()).lines().map_while(Result::ok);
    let address = lines.find(|line| line.starts_with("http://")).unwrap();
    let waits = lines.find(|line| line.contains("waiting for it at 127.0.0.1:")).unwrap();
    let port: u16 = waits.split("127.0.0.1:").nth(1).unwrap().split(',').next().unwrap().parse().unwrap();
    let state = address.split(['?', '&']).find_map(|pair| pair.strip_prefix("state=")).unwrap();
    let get = |target: &str| {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        write!(stream, "GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        said
    };
    assert!(get("/callback?code=stolen&state=guessed").starts_with("HTTP/1.1 404"));
    let said = get(&format!("/callback?error=access_denied&error_description=no%0Athanks&state={state}"));
    assert!(said.contains("You are not signed in to vault"), "{said}");
    let last = lines.find(|line| line.contains("refused")).unwrap();
    assert!(last.contains("vault: the authorization server refused: access_denied (nothanks)"), "{last}");
    assert!(!login.wait().unwrap().success());
    assert!(person.token_files().is_empty());
    assert!(!person.log().contains("token "), "{}", person.log());
}

#[test]
fn what_cannot_be_signed_in_to_is_refused_with_what_to_do() {
    let person = Person::new(3_600);
    let plain = json!({ "tool_type": "mcp_server", "executor_id": null, "description": "d",
        "config": { "url": "http://h.example/mcp" } });
    write(&person.home.home().join(".ai/tools/mcp/servers/plain.yaml"), &plain.to_string());
    let process = json!({ "tool_type": "mcp_server", "executor_id": null, "description": "d",
        "config": { "command": "true" } });
    write(&person.home.home().join(".ai/tools/mcp/servers/process.yaml"), &process.to_string());
    write(&person.home.project().join(".ai/tools/mcp/servers/theirs.yaml"), &plain.to_string());
    for (arguments, why) in [
        (&["plain"][..], "could read a token: use https"),
        (&["process"], "process is a process: there is nothing to sign in to"),
        (&["theirs"], "which you have not trusted as it is"),
        (&["plian"], "did you mean `plain`?"),
        (&["plain", "--client-id", "x", "--client-secret", "NO_SUCH"], "the variable NO_SUCH is not set"),
    ] {
        let (code, _, err) = person.levain(&[&["mcp", "login"], arguments].concat());
        assert!(code != 0 && err.contains(why), "{arguments:?}: {err}");
    }
    let (code, out, _) = person.levain(&["mcp", "logout", "plain", "--json"]);
    let line: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, line), (0, json!({ "schema": "levain.mcp_logout/1", "name": "plain", "forgotten": 0 })));
}
