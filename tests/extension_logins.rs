//! Signing in to providers of extensions (`oauth`): `levain login`, and keys that are renewed.

use crate::support::scripted_project::{Project, say};
use crate::support::wire_server;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use wire_server::WireServer;

/// What gives out tokens: for the code, one that is old at once; for that one's refresh token, once, the key of the model's
/// server.
struct TokenServer {
    port: u16,
    /// The bodies that it got.
    asked: Arc<Mutex<Vec<String>>>,
}

impl TokenServer {
    fn start(place: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (asked, place) = (Arc::new(Mutex::new(Vec::new())), place.to_owned());
        let kept = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().filter_map(Result::ok) {
                give(stream, &place, &kept);
            }
        });
        Self { port, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn give(mut stream: TcpStream, place: &str, asked: &Mutex<Vec<String>>) {
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
    let body = String::from_utf8(body).unwrap();
    let mut asked = asked.lock().unwrap();
    let is_first = !asked.contains(&body);
    asked.push(body.clone());
    let form = head.starts_with("POST /token ") && head.to_lowercase().contains("application/x-www-form-urlencoded");
    let (status, told) = match body.as_str() {
        "grant_type=authorization_code&code=the-code" if form => (
            "200 OK",
            json!({"access_token": "stale-access-token", "refresh_token": "refresh-token-1", "expires_in": -1, "place": place}),
        ),
        "grant_type=refresh_token&refresh_token=refresh-token-1" if form && is_first => (
            "200 OK",
            json!({"access_token": wire_server::KEY, "refresh_token": "refresh-token-2", "expires_in": 3600, "place": place}),
        ),
        other => ("400 Bad Request", json!({"error": "invalid_grant", "of": other})),
    };
    let told = told.to_string();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        told.len()
    );
    let _gone = stream.write_all(format!("{head}{told}").as_bytes());
}

const SIGNS_IN: &str = r#"
export default (pi: any) => {
  const token = async (fields: any) => {
    const answer = await fetch("BASE/token", { method: "POST", headers: { "Content-Type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams(fields).toString() });
    if (!answer.ok) throw new Error(`no token: ${answer.status} ${await answer.text()}`);
    const told = await answer.json();
    return { access: told.access_token, refresh: told.refresh_token, expires: Date.now() + told.expires_in * 1000, place: told.place };
  };
  pi.registerProvider("own", { baseUrl: "http://127.0.0.1:1/v1", api: "openai-completions",
    models: [{ id: "small", name: "Small", contextWindow: 32000, maxTokens: 4096, cost: { input: 1, output: 2, cacheRead: 0, cacheWrite: 0 } }],
    oauth: {
      name: "Own",
      async login(callbacks: any) {
        callbacks.onAuth({ url: "BASE/authorize", instructions: "Copy the code\x1b[2J there." });
        const code = await callbacks.onPrompt({ message: "Paste the code", placeholder: "code" });
        callbacks.onProgress?.("asking for a token");
        return token({ grant_type: "authorization_code", code });
      },
      refreshToken: (credentials: any) => token({ grant_type: "refresh_token", refresh_token: credentials.refresh }),
      getApiKey: (credentials: any) => credentials.access,
      modifyModels: (models: any[], credentials: any) => models.map((model) => (model.provider === "own" ? { ...model, baseUrl: credentials.place } : model)),
    } });
};"#;

/// A project, the person's extension that signs in, and the server of tokens. The model answers at `server` alone.
fn signing(server: &WireServer) -> (Project, PathBuf, TokenServer) {
    let tokens = TokenServer::start(&server.base("/v1"));
    let project = Project::new("");
    let folder = project.home.home().join(".pi/agent/extensions");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("own.ts");
    fs::write(&file, SIGNS_IN.replace("BASE", &format!("http://127.0.0.1:{}", tokens.port))).unwrap();
    (project, file, tokens)
}

/// What the program says to `arguments`, where `typed` is its input.
fn levain(project: &Project, tokens: &TokenServer, arguments: &[&str], typed: &str) -> (i32, String, String) {
    let mut command = project.home.levain(arguments);
    command.env("LEVAIN_EXTENSION_HOSTS", format!("127.0.0.1:{}", tokens.port));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

/// The files that hold logins.
fn kept(project: &Project) -> Vec<PathBuf> {
    let all = fs::read_dir(project.home.config().join("logins")).into_iter().flatten();
    let all = all.map(|entry| entry.unwrap().path());
    all.filter(|path| path.extension().is_some_and(|ending| ending == "json")).collect()
}

const ASK: [&str; 4] = ["run", "--model", "own/small", "hello"];

#[test]
fn a_login_gives_the_key_and_is_renewed_when_it_is_old() {
    let server = WireServer::start("Hello to who signed in.");
    let (project, _, tokens) = signing(&server);
    let (code, _, err) = levain(&project, &tokens, &ASK, "");
    assert!(code != 0 && err.contains("levain login own"), "{err}");
    let (_, out, _) = levain(&project, &tokens, &["login"], "");
    assert!(out.starts_with("own  signed out"), "{out}");
    let (code, out, err) = levain(&project, &tokens, &["login", "own", "--no-browser"], "the-code\n");
    assert!(code == 0 && out.contains("signed in to own"), "{out}{err}");
    for words in [
        &format!("http://127.0.0.1:{}/authorize", tokens.port),
        "Copy the code there.",
        "Paste the code (code): ",
        "asking for a token",
    ] {
        assert!(err.contains(words), "{words}: {err}");
    }
    assert!(!err.contains('\x1b'), "{err:?}");
    // Nobody else reads what is kept.
    let files = kept(&project);
    assert_eq!((files.len(), fs::metadata(&files[0]).unwrap().permissions().mode() & 0o777), (1, 0o600));
    let (_, out, _) = levain(&project, &tokens, &["models"], "");
    assert!(out.lines().any(|line| line.starts_with("own/small") && line.ends_with("ready")), "{out}");
    // To look at a request renews nothing.
    let (code, _, err) = levain(&project, &tokens, &["context", "show", "--wire", "--model", "own/small"], "");
    assert_eq!((code, tokens.asked().len()), (0, 1), "{err}");
    // What the login gave is old already, and the model's server wants the new key. Threads that begin at once renew it once.
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..3).map(|_| scope.spawn(|| levain(&project, &tokens, &ASK, ""))).collect();
        for run in runs {
            let (code, out, err) = run.join().unwrap();
            assert!(code == 0 && out.contains("Hello to who signed in."), "{out}{err}");
        }
    });
    assert_eq!(
        tokens.asked(),
        ["grant_type=authorization_code&code=the-code", "grant_type=refresh_token&refresh_token=refresh-token-1"]
    );
    // Neither the log nor the record of a request holds any of it.
    let threads = project.home.project().join(".ai/agent/threads");
    let mut folders = vec![threads];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = fs::read_to_string(&path) {
                for secret in [wire_server::KEY, "refresh-token", "stale-access"] {
                    assert!(!text.contains(secret), "{secret} in {}", path.display());
                }
            }
        }
    }
    let (_, out, _) = levain(&project, &tokens, &["login", "--json"], "");
    let line: Value = serde_json::from_str(&out).unwrap();
    assert!(line["signed_in"] == true && line["expires"].as_u64().is_some() && line["problem"].is_null(), "{line}");
    let (code, out, _) = levain(&project, &tokens, &["logout", "own"], "");
    assert!(code == 0 && out.contains("forgotten"), "{out}");
    assert!(kept(&project).is_empty());
    let (code, _, err) = levain(&project, &tokens, &ASK, "");
    assert!(code != 0 && err.contains("levain login own"), "{err}");
}

#[test]
fn the_screen_gives_its_terminal_to_a_login() {
    let server = WireServer::start("Hello to who signed in.");
    let (project, _, tokens) = signing(&server);
    let hosts = format!("127.0.0.1:{}", tokens.port);
    let terminal = project.home.levain_in_terminal(&["--model", "own/small"]).size(100, 30);
    let terminal = terminal.env("LEVAIN_EXTENSION_HOSTS", &hosts).env("BROWSER", "true").start();
    terminal.wait_for("A new thread");
    say(&terminal, "/login");
    terminal.wait_for("/login NAME signs you in");
    say(&terminal, "/login own");
    terminal.wait_for("Paste the code (code): ");
    terminal.send_keys("the-code\r");
    terminal.wait_for("signed in to own");
    say(&terminal, "hello");
    terminal.wait_for("Hello to who signed in.");
    terminal.leave();
}

#[test]
fn a_login_that_fails_or_ends_says_why_without_a_token() {
    let server = WireServer::start("Hello.");
    let (project, file, tokens) = signing(&server);
    for (typed, words) in [("other-code\n", "no token: 400"), ("", "the person left")] {
        let (code, out, err) = levain(&project, &tokens, &["login", "own", "--no-browser"], typed);
        assert!(code == 1 && out.is_empty() && err.contains(words) && kept(&project).is_empty(), "{out}{err}");
    }
    let (code, _, err) = levain(&project, &tokens, &["login", "onw"], "");
    assert!(code == 2 && err.contains("did you mean `own`?"), "{err}");
    // A renewal that is refused names the command, and quotes no token.
    assert_eq!(levain(&project, &tokens, &["login", "own", "--no-browser"], "the-code\n").0, 0);
    let text = fs::read_to_string(&kept(&project)[0]).unwrap();
    fs::write(&kept(&project)[0], text.replace("refresh-token-1", "refresh-token-9")).unwrap();
    let (code, _, err) = levain(&project, &tokens, &ASK, "");
    assert!(code != 0 && err.contains("no token: 400") && err.contains("levain login own"), "{err}");
    assert!(!err.contains("refresh-token-9") && err.contains("[key]"), "{err}");
    // One that others can read is not used.
    fs::set_permissions(&kept(&project)[0], fs::Permissions::from_mode(0o644)).unwrap();
    let (code, _, err) = levain(&project, &tokens, &ASK, "");
    assert!(code != 0 && err.contains("chmod 600"), "{err}");
    // Nor by another extension that takes the name, or by one of the project.
    fs::set_permissions(&kept(&project)[0], fs::Permissions::from_mode(0o600)).unwrap();
    fs::rename(&file, file.with_file_name("other.ts")).unwrap();
    let (code, _, err) = levain(&project, &tokens, &ASK, "");
    assert!(code != 0 && err.contains("you are not signed in to own"), "{err}");
    fs::rename(file.with_file_name("other.ts"), project.home.home().join("moved.ts")).unwrap();
    let text = fs::read_to_string(project.home.home().join("moved.ts")).unwrap();
    project.write(".ai/extensions/own.ts", &text);
    let project = project.trusted();
    let (code, _, err) = levain(&project, &tokens, &["login", "own"], "");
    assert!(code == 2 && err.contains("no extension of yours signs in"), "{err}");
}
