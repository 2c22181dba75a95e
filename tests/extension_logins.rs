//! Signing in to providers of extensions (`oauth`): `levain login`, and keys that are renewed.

use crate::support::loopback::Loopback;
use crate::support::scripted_project::{Project, say};
use crate::support::wire_server;
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex};
use wire_server::WireServer;

/// What gives out tokens: for the code, one that is old at once; for that one's refresh token, once, the key of the model's
/// server. Dropping it ends it.
struct TokenServer {
    shared: Arc<Shared>,
    server: Loopback,
}

struct Shared {
    /// Where the model answers whoever signed in.
    place: String,
    /// The bodies that came.
    asked: Mutex<Vec<String>>,
}

impl TokenServer {
    fn start(place: &str) -> Self {
        let shared = Arc::new(Shared { place: place.to_owned(), asked: Mutex::default() });
        let router = Router::new().route("/token", post(give)).with_state(Arc::clone(&shared));
        Self { shared, server: Loopback::start(router) }
    }

    /// As `extension_hosts` names it.
    fn host(&self) -> String {
        self.server.address.to_string()
    }

    fn asked(&self) -> Vec<String> {
        self.shared.asked.lock().unwrap().clone()
    }
}

async fn give(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: String) -> (StatusCode, String) {
    let mut asked = shared.asked.lock().unwrap();
    let is_first = !asked.contains(&body);
    asked.push(body.clone());
    let form = headers.get("content-type").is_some_and(|form| form == "application/x-www-form-urlencoded");
    let token = |access: &str, refresh: &str, expires_in: i64| {
        let told =
            json!({"access_token": access, "refresh_token": refresh, "expires_in": expires_in, "place": shared.place});
        (StatusCode::OK, told.to_string())
    };
    match body.as_str() {
        "grant_type=authorization_code&code=the-code" if form => token("stale-access-token", "refresh-token-1", -1),
        "grant_type=refresh_token&refresh_token=refresh-token-1" if form && is_first => {
            token(wire_server::KEY, "refresh-token-2", 3600)
        }
        other => (StatusCode::BAD_REQUEST, json!({"error": "invalid_grant", "of": other}).to_string()),
    }
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
        const code = await callbacks.onPrompt({ message: "Paste the code:", placeholder: "code" });
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
    fs::write(&file, SIGNS_IN.replace("BASE", &format!("http://{}", tokens.host()))).unwrap();
    (project, file, tokens)
}

/// What the program says to `arguments`, where `text` is its input.
fn levain(project: &Project, tokens: &TokenServer, arguments: &[&str], text: &str) -> (i32, String, String) {
    answered(project.home.levain(arguments).env("LEVAIN_EXTENSION_HOSTS", tokens.host()), text)
}

/// What a command says whose input is `text`.
fn answered(command: &mut Command, text: &str) -> (i32, String, String) {
    let (read, mut write) = std::io::pipe().unwrap();
    write.write_all(text.as_bytes()).unwrap();
    drop(write);
    let output = command.stdin(read).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

/// The files that hold logins.
fn kept(project: &Project) -> Vec<PathBuf> {
    let all = fs::read_dir(project.home.config().join("logins")).into_iter().flatten();
    let all = all.map(|entry| entry.unwrap().path());
    all.filter(|path| path.extension().is_some_and(|ending| ending == "json")).collect()
}

/// The extension with nothing of a provider that is known but its login.
fn of_known(name: &str) -> String {
    let (before, rest) = SIGNS_IN.split_once("pi.registerProvider(\"own\", {").unwrap();
    let (_, oauth) = rest.split_once("oauth: {").unwrap();
    let (oauth, _) = oauth.split_once("modifyModels").unwrap();
    format!("{before}pi.registerProvider({name:?}, {{ oauth: {{{oauth} }} }});\n}};")
}

#[test]
fn an_extension_signs_in_to_a_provider_that_is_known() {
    let server = WireServer::start("Signed in.");
    let (project, file, tokens) = signing(&server);
    fs::write(&file, of_known("openai").replace("BASE", &format!("http://{}", tokens.host()))).unwrap();
    let levain = |arguments: &[&str], text: &str| {
        let mut command = project.home.levain(arguments);
        command.env("LEVAIN_EXTENSION_HOSTS", tokens.host()).env("OPENAI_BASE_URL", server.base("/v1"));
        answered(&mut command, text)
    };
    let ask = ["run", "--model", "openai/gpt-4.1", "hello"];
    let (code, _, err) = answered(&mut project.home.levain(&ask), "");
    assert!(code != 0 && err.contains("levain login openai") && err.contains("OPENAI_API_KEY"), "{err}");
    let (code, out, err) = levain(&["login", "openai", "--no-browser"], "the-code\n");
    assert!(code == 0 && out.contains("signed in to openai"), "{out}{err}");
    let (code, out, err) = levain(&ask, "");
    assert!(code == 0 && out.contains("Signed in."), "{out}{err}");
    // What else is known of it stays.
    let (_, out, _) = levain(&["models"], "");
    let row = out.lines().find(|line| line.starts_with("openai/gpt-4.1 ")).unwrap_or_else(|| panic!("{out}"));
    assert!(row.contains("$2.00/$8.00") && row.contains("ready"), "{row}");
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
        &format!("http://{}/authorize", tokens.host()),
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
    let hosts = tokens.host();
    let terminal = project.home.levain_in_terminal(&["--model", "own/small"]).size(100, 30);
    let terminal = terminal.env("LEVAIN_EXTENSION_HOSTS", &hosts).env("BROWSER", "true").start();
    terminal.wait_for("A new thread");
    say(&terminal, "/login");
    terminal.wait_for("/login NAME signs you in");
    // What was asked before stays on the terminal that it is given.
    let asked = |times: usize| {
        say(&terminal, "/login own");
        terminal.wait_until(&format!("the login asks, {times}"), |screen| {
            screen.contents().matches("Paste the code (code): ").count() == times
        });
    };
    asked(1);
    // Ctrl-C leaves the login, and nothing else.
    terminal.send_keys("\x03");
    terminal.wait_for("you are not signed in to own");
    asked(2);
    terminal.send_keys("other-code\r");
    // The mark of the screen's own line: the login says so before, on the terminal that it has.
    terminal.wait_for("✗ you are not signed in to own: no token: 400");
    asked(3);
    terminal.send_keys("the-code\r");
    terminal.wait_for("· signed in to own");
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
    // A host that nobody named is told of with the setting that names it, whatever the extension makes of it.
    let mut elsewhere = project.home.levain(&["login", "own", "--no-browser"]);
    let (code, _, err) = answered(&mut elsewhere, "the-code\n");
    assert!(code == 1 && err.contains("fetch failed") && err.contains("extension_hosts"), "{err}");
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
