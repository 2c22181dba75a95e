//! What lies around a run, as a person meets it: provider files, settings of agents, wishes of directives, signatures,
//! trust.

use crate::support::terminal::{Home, output};
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn json(home: &Home, arguments: &[&str]) -> Vec<Value> {
    let (_, out, err) = output(&mut home.levain(arguments));
    let lines = out.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}\n{err}")));
    lines.collect()
}

fn find<'a>(lines: &'a [Value], field: &str, value: &str) -> &'a Value {
    lines.iter().find(|line| line[field] == value).unwrap_or_else(|| panic!("no {field} {value} in {lines:#?}"))
}

const GATEWAY: &str = "tool_id: gateway
tool_type: http
wire: chat
tier_mapping: { fast: small-1 }
pricing:
  small-1: { input: 1, output: 5.5 }
context_window: 100000
config:
  url: http://127.0.0.1:9/v1/chat/completions
";

#[test]
fn a_users_provider_file_answers_and_a_projects_only_counts() {
    let home = Home::new();
    write(&home.home(), ".ai/tools/team/providers/gateway.yaml", GATEWAY);
    write(&home.project(), ".ai/tools/providers/gateway.yaml", "tool_id: gateway\ncontext_window: 50000\n");
    write(
        &home.project(),
        ".ai/tools/providers/stranger.yaml",
        &GATEWAY.replace("tool_id: gateway", "tool_id: stranger"),
    );
    let models = json(&home, &["models", "--json"]);
    let small = find(&models, "model", "gateway/small-1");
    assert_eq!((&small["ready"], &small["window"]), (&true.into(), &50_000.into()), "{small}");
    assert_eq!((&small["input"], &small["output"]), (&1.0.into(), &5.5.into()));
    let stranger = find(&models, "model", "stranger/small-1");
    assert!(stranger["missing"].as_str().unwrap().contains("is in the project"), "{stranger}");
    let problems = json(&home, &["check", "--json"]);
    let told = find(&problems, "message", "a project cannot set a provider's address, key or headers");
    assert_eq!((&told["severity"], &told["line"]), (&"warning".into(), &8.into()), "{told}");
    let (_, out, _) = output(&mut home.levain(&["doctor"]));
    assert!(out.contains("gateway: told by a file of the user space"), "{out}");
}

#[test]
fn settings_of_agents_tell_where_they_are_from() {
    let home = Home::new();
    write(&home.home(), ".ai/config/agent/resilience.yaml", "retry:\n  max_attempts: 9\n");
    write(&home.project(), ".ai/config/agent/resilience.yaml", "# ours\nretry: { max_attempts: 2, max_atempts: 1 }\n");
    fs::write(home.config().join("config.toml"), "theme = \"light\"\n").unwrap();
    let lines = json(&home, &["config", "--json"]);
    let retry = find(&lines, "key", "resilience.retry.max_attempts");
    assert_eq!((&retry["value"], &retry["from"], &retry["line"]), (&2.into(), &"project".into(), &2.into()));
    let theme = find(&lines, "key", "theme");
    assert_eq!((&theme["value"], &theme["from"], &theme["line"]), (&"light".into(), &"user".into(), &1.into()));
    let longest = find(&lines, "key", "resilience.retry.longest_pause_seconds");
    assert_eq!((&longest["from"], &longest["schema"]), (&"system".into(), &"levain.config/1".into()));
    let (code, out, err) = output(&mut home.levain(&["config", "resilience.retry.max_attempts"]));
    assert_eq!(code, 0);
    assert!(out.starts_with("resilience.retry.max_attempts  2  (") && out.contains("resilience.yaml:2"), "{out}");
    assert!(err.contains("did you mean `max_attempts`?"), "{err}");
    let file = home.project().join(".ai/config/agent/resilience.yaml");
    let (code, out, _) = output(&mut home.levain(&["check", file.to_str().unwrap()]));
    assert_eq!(code, 1, "a slip for a name that decides");
    assert!(out.contains("did you mean `max_attempts`?") && out.contains("1 error, 0 warnings"), "{out}");
    let (code, _, err) = output(&mut home.levain(&["config", "themes"]));
    assert_eq!(code, 2);
    assert!(err.contains("did you mean `theme`?"), "{err}");
}

const WISH: &str =
    "```xml\n<directive name=\"wish\" version=\"1\"><metadata><model WISH/></metadata></directive>\n```\nGo.\n";

#[test]
fn a_directive_gets_the_model_it_wishes_for_unless_one_is_named() {
    let home = Home::new();
    write(
        &home.home(),
        ".ai/tools/providers/gateway.yaml",
        &GATEWAY.replace("{ fast: small-1 }", "{ fast: small-1, odd: odd-1 }"),
    );
    let scripted = |name: &str| {
        write(home.path(), name, "name: x\nrate: 0\nreplies:\n  - steps: [{ text: Here. }]\n");
        format!("scripted/{}", home.path().join(name).display())
    };
    let (mine, usual) = (scripted("mine.yaml"), scripted("usual.yaml"));
    write(&home.project(), ".ai/config/agent/agent.yaml", &format!("tier_mapping: {{ mine: {mine} }}\n"));
    fs::write(home.config().join("config.toml"), format!("model = \"{usual}\"\n")).unwrap();
    let model = |wish: &str, arguments: &[&str]| {
        write(&home.project(), ".ai/directives/wish.md", &WISH.replace("WISH", wish));
        let all = [&["run", "--json", "--directive", "wish", "--limit-seconds", "5"], arguments, &["hello"]].concat();
        let (code, out, err) = output(&mut home.levain(&all));
        let result: Value = serde_json::from_str(&out).unwrap_or(Value::Null);
        (code, result["model"].as_str().unwrap_or_default().to_owned(), err)
    };
    assert_eq!(model("tier=\"mine\"", &[]).1, mine);
    assert_eq!(model("tier=\"mine\"", &["--model", &usual]).1, usual);
    // Without a key for any, the usual model answers, and says so.
    let (code, asked, err) = model("tier=\"high\"", &[]);
    assert_eq!((code, asked), (0, usual), "{err}");
    assert!(err.contains("names is not available") && err.contains("_API_KEY"), "{err}");
    assert_eq!(model("tier=\"high\" fallback=\"mine\"", &[]).1, mine);
    let (code, _, err) = model("tier=\"general\" provider=\"nobody\"", &[]);
    assert_eq!(code, 2);
    assert!(err.contains("there is no provider `nobody`") && err.contains("gateway"), "{err}");
    let (code, _, err) = model("tier=\"hihg\"", &[]);
    assert_eq!(code, 2);
    assert!(err.contains("`hihg` is no model or tier") && err.contains("odd"), "{err}");
    home.wait_until_quiet();
}

#[test]
fn signatures_are_listed_and_required_where_the_person_says_so() {
    let home = Home::new();
    let plain = "```xml\n<directive name=\"NAME\" version=\"1\"></directive>\n```\nGo.\n";
    for name in ["signed", "changed", "plain"] {
        write(&home.project(), &format!(".ai/directives/{name}.md"), &plain.replace("NAME", name));
    }
    let file = |name: &str| home.project().join(format!(".ai/directives/{name}.md"));
    assert_eq!(output(&mut home.levain(&["keys", "generate"])).0, 0);
    let sign = |name: &str| output(&mut home.levain(&["sign", file(name).to_str().unwrap()]));
    assert_eq!((sign("signed").0, sign("changed").0), (0, 0));
    let text = fs::read_to_string(file("changed")).unwrap();
    fs::write(file("changed"), text.replace("Go.", "Stop.")).unwrap();
    let verdict = |id: &str| find(&json(&home, &["items", "--json"]), "id", id)["signature"]["verdict"].clone();
    assert_eq!(
        (verdict("signed"), verdict("changed"), verdict("plain")),
        ("valid".into(), "changed".into(), "unsigned".into())
    );
    assert_eq!(verdict("levain/chat"), Value::Null);
    let problems = json(&home, &["check", "--json"]);
    assert_eq!(find(&problems, "message", "was changed after it was signed")["severity"], "warning");
    assert!(
        problems.iter().all(|problem| !problem["message"].as_str().unwrap().contains("is not signed")),
        "{problems:#?}"
    );

    let run = |id: &str| output(&mut home.levain(&["run", "--model", "scripted/demo", "--directive", id, "hello"]));
    assert_eq!(run("changed").0, 0);
    fs::write(home.config().join("config.toml"), "signatures = \"project=require\"\n").unwrap();
    assert_eq!(run("signed").0, 0);
    for (id, why) in [("changed", "was changed after it was signed"), ("plain", "is not signed")] {
        let (code, _, err) = run(id);
        assert_eq!(code, 2, "{err}");
        assert!(err.contains(why) && err.contains("levain sign"), "{err}");
    }
    let problems = json(&home, &["check", "--json"]);
    assert_eq!(problems.iter().filter(|problem| problem["severity"] == "error").count(), 2, "{problems:#?}");
    home.wait_until_quiet();
}

/// What it is, a directive, and the files it leads to; the first of them is not signed.
type Door<'a> = (&'a str, String, Vec<(&'a str, String)>);

#[test]
fn s17_where_signatures_are_required_nothing_unsigned_comes_into_a_thread_by_any_door() {
    const HOOK: &str = "hooks:\n  - {id: h, event: thread_started, position: before, action: {primary: fetch, item_type: knowledge, item_id: k}}\n";
    const HANDLER: &str = "handlers:\n  - {id: p, stage: context, keep_last: 50}\n";
    const PLAIN: &str = "```xml\n<directive name=\"x\" version=\"1\"></directive>\n```\nGo.\n";
    let of = |metadata: &str| {
        format!("```xml\n<directive name=\"x\" version=\"1\"><metadata>{metadata}</metadata></directive>\n```\nGo.\n")
    };
    let k = ("knowledge/k.yaml", "name: k\nbody: THE TEXT\n".to_owned());
    let doors: [Door<'_>; 5] = [
        ("knowledge of a directive", of("<context><before>k</before></context>"), vec![k.clone()]),
        (
            "a directive that is extended",
            PLAIN.replace("version", "extends=\"team/base\" version"),
            vec![("directives/team/base.md", PLAIN.replace("\"x\"", "\"base\""))],
        ),
        ("knowledge of a hook", PLAIN.to_owned(), vec![k.clone(), ("config/agent/hooks.yaml", HOOK.to_owned())]),
        ("hooks", PLAIN.to_owned(), vec![("config/agent/hooks.yaml", HOOK.to_owned()), k]),
        ("handlers", PLAIN.to_owned(), vec![("config/agent/pipeline.yaml", HANDLER.to_owned())]),
    ];
    for (what, directive, files) in doors {
        let home = Home::new();
        let path = |name: &str| home.project().join(".ai").join(name);
        let sign = |name: &str| {
            let (code, _, err) = output(&mut home.levain(&["sign", path(name).to_str().unwrap()]));
            assert_eq!(code, 0, "{what}: {err}");
        };
        assert_eq!(output(&mut home.levain(&["keys", "generate"])).0, 0);
        write(&home.project(), ".ai/directives/x.md", &directive);
        for (name, text) in &files {
            write(&home.project(), &format!(".ai/{name}"), text);
        }
        sign("directives/x.md");
        for (name, _) in files.iter().skip(1) {
            sign(name);
        }
        fs::create_dir_all(home.config()).unwrap();
        fs::write(home.config().join("config.toml"), "signatures = \"project=require\"\n").unwrap();
        assert_eq!(output(&mut home.levain(&["trust"])).0, 0, "{what}");
        let run = || output(&mut home.levain(&["run", "--model", "scripted/demo", "--directive", "x", "hello"]));
        let (last, _) = &files[0];
        let refused = |why: &str| {
            let (code, _, err) = run();
            assert!(code == 2 && err.contains(why), "{what}: {code} {err}");
            assert!(err.contains(last.rsplit('/').next().unwrap()), "{what}: {err}");
        };
        refused("is not signed");
        sign(last);
        assert_eq!(output(&mut home.levain(&["trust"])).0, 0);
        let (code, _, err) = run();
        assert_eq!(code, 0, "{what}: {err}");
        let text = fs::read_to_string(path(last)).unwrap();
        fs::write(path(last), format!("{text}\n")).unwrap();
        fs::write(
            path(last),
            text.replace("THE TEXT", "ANOTHER").replace("Go.", "Stop.").replace("id: h", "id: i").replace("50", "51"),
        )
        .unwrap();
        assert_eq!(output(&mut home.levain(&["trust"])).0, 0);
        refused("was changed after it was signed");
        home.wait_until_quiet();
    }
}

#[test]
fn s17_a_provider_that_is_not_signed_is_none_where_signatures_are_required() {
    let home = Home::new();
    write(&home.home(), ".ai/tools/team/providers/gateway.yaml", GATEWAY);
    let file = home.home().join(".ai/tools/team/providers/gateway.yaml");
    assert_eq!(output(&mut home.levain(&["keys", "generate"])).0, 0);
    fs::create_dir_all(home.config()).unwrap();
    fs::write(home.config().join("config.toml"), "signatures = \"user=require\"\n").unwrap();
    let known = || json(&home, &["models", "--json"]).iter().any(|line| line["model"] == "gateway/small-1");
    let told = |why: &str| {
        let problems = json(&home, &["check", "--json"]);
        assert!(problems.iter().any(|it| it["message"].as_str().unwrap().contains(why)), "{why}: {problems:#?}");
    };
    assert!(!known());
    told("is not signed");
    assert_eq!(output(&mut home.levain(&["sign", file.to_str().unwrap()])).0, 0);
    assert!(known());
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("127.0.0.1:9", "127.0.0.1:10")).unwrap();
    assert!(!known());
    told("was changed after it was signed");
}

#[test]
fn trust_is_given_by_command_and_lost_by_change() {
    let home = Home::new();
    let trust = |arguments: &[&str]| json(&home, &[&["trust", "--json"], arguments].concat()).remove(0);
    assert_eq!(trust(&["--show"])["status"], "nothing");
    write(&home.project(), ".ai/tools/team/ship.sh", "echo ship\n");
    let (_, out, _) = output(&mut home.levain(&["doctor"]));
    assert!(out.contains("you have not trusted this project") && out.contains("levain trust"), "{out}");
    assert_eq!(trust(&["--show"])["status"], "untrusted");
    let given = trust(&[]);
    assert_eq!((&given["status"], &given["files"][0]), (&"trusted".into(), &"tools/team/ship.sh".into()));
    write(&home.project(), ".ai/tools/team/ship.sh", "echo ruin\n");
    assert_eq!(trust(&["--show"])["status"], "changed");
    assert_eq!(trust(&[])["status"], "trusted");
    assert_eq!(trust(&["--revoke"])["status"], "untrusted");
    // A key that a project brings along is believed with the project, not before.
    let stranger = home.path().join("stranger");
    let user = |command: &mut Command| output(command.env("USER_SPACE", &stranger));
    fs::create_dir_all(&stranger).unwrap();
    assert_eq!(user(&mut home.levain(&["keys", "generate"])).0, 0);
    write(
        &home.project(),
        ".ai/knowledge/rules.md",
        "```yaml\nname: rules\ntitle: Rules\nversion: 1.0.0\n```\nBe kind.\n",
    );
    let rules = home.project().join(".ai/knowledge/rules.md");
    assert_eq!(user(&mut home.levain(&["sign", rules.to_str().unwrap()])).0, 0);
    let key = fs::read_dir(stranger.join(".ai/config/keys/trusted")).unwrap().next().unwrap().unwrap().path();
    let trusted = home.project().join(".ai/config/keys/trusted");
    fs::create_dir_all(&trusted).unwrap();
    fs::copy(&key, trusted.join(key.file_name().unwrap())).unwrap();
    let verdict = || find(&json(&home, &["items", "--json"]), "id", "rules")["signature"]["verdict"].clone();
    assert_eq!(verdict(), "untrusted");
    assert_eq!(trust(&[])["status"], "trusted");
    assert_eq!(verdict(), "valid");
}

#[test]
fn bundles_are_named_by_setting_or_variable() {
    let home = Home::new();
    let knowledge = "```yaml\nname: NAME\ntitle: T\nversion: 1.0.0\n```\nText.\n";
    write(&home.home(), "team/.ai/knowledge/team.md", &knowledge.replace("NAME", "team"));
    write(&home.path().join("more"), ".ai/knowledge/more.md", &knowledge.replace("NAME", "more"));
    fs::write(home.config().join("config.toml"), "bundles = [\"~/team\"]\n").unwrap();
    assert_eq!(find(&json(&home, &["items", "--json"]), "id", "team")["space"], "system:team");
    let (_, out, _) = output(home.levain(&["items", "--json"]).env("LEVAIN_SYSTEM_SPACE", home.path().join("more")));
    assert!(out.contains("system:more") && !out.contains("system:team"), "{out}");
}

/// A model server on this machine that knows one model, for as long as the test runs.
fn local_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}/v1", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut request = [0; 2_048];
            let length = stream.read(&mut request).unwrap_or(0);
            let known = request[..length].starts_with(b"GET /v1/models ");
            let (status, body) =
                if known { ("200 OK", "{\"data\": [{\"id\": \"crumb-1\"}]}") } else { ("404 Not Found", "{}") };
            let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
            let _hung_up = stream.write_all(format!("{head}{body}").as_bytes());
        }
    });
    base
}

#[test]
fn a_server_on_this_machine_answers_where_nothing_else_is_set() {
    let home = Home::new();
    let base = local_server();
    // Whatever else listens on this machine is not asked.
    let nowhere = "http://127.0.0.1:9/v1";
    let places = [
        ("LEVAIN_LOCAL_SERVERS", "true"),
        ("OLLAMA_BASE_URL", base.as_str()),
        ("LMSTUDIO_BASE_URL", nowhere),
        ("LLAMACPP_BASE_URL", nowhere),
        ("VLLM_BASE_URL", nowhere),
    ];
    let (_, out, _) = output(home.levain(&["doctor"]).envs(places));
    assert!(out.contains("ollama runs on this machine with 1 models"), "{out}");
    assert!(out.contains("ollama/crumb-1 at http"), "{out}");
    let mut launch = home.levain_in_terminal(&[]);
    for (name, value) in places {
        launch = launch.env(name, value);
    }
    let terminal = launch.start();
    terminal.wait_for("no key is set; ollama/crumb-1 on this machine answers");
    terminal.wait_for(" crumb-1 · ");
    terminal.send_keys("\x0c");
    terminal.wait_for("on this machine");
    terminal.kill();
    terminal.wait_exit();
    // A setting is a choice, and then nobody is asked.
    fs::write(home.config().join("config.toml"), "model = \"scripted/demo\"\n").unwrap();
    let (_, out, _) = output(home.levain(&["doctor"]).envs(places));
    assert!(out.contains("scripted/demo answers from a script"), "{out}");
}

#[test]
fn the_screen_says_that_a_project_is_not_trusted() {
    let home = Home::new();
    write(&home.project(), ".ai/tools/ship.sh", "echo ship\n");
    let terminal = home.levain_in_terminal(&["--model", "scripted/demo"]).size(160, 30).start();
    terminal.wait_for("you have not trusted this project");
    terminal.kill();
    terminal.wait_exit();
}

/// The head of the one request that a run makes, asked of a model of the provider file whose `config` is given. `HOST`
/// stands for the server.
fn asked(wire: &str, config: &str) -> String {
    let home = Home::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap().to_string();
    let text = format!(
        "tool_id: gateway\ntool_type: http\nwire: {wire}\ntier_mapping: {{ fast: small-1 }}\nconfig:\n{config}\n"
    );
    write(&home.home(), ".ai/tools/providers/gateway.yaml", &text.replace("HOST", &host));
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = Vec::new();
        let mut piece = [0; 4_096];
        while !head.windows(4).any(|four| four == b"\r\n\r\n") {
            let length = stream.read(&mut piece).unwrap();
            assert!(length > 0, "the request ended early");
            head.extend_from_slice(&piece[..length]);
        }
        let _hung_up =
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}");
        String::from_utf8_lossy(&head).to_lowercase()
    });
    let arguments = ["run", "--model", "gateway/small-1", "--limit-turns", "1", "hello"];
    let (code, _, err) = output(home.levain(&arguments).env("GATEWAY_KEY", "hush-hush-hush"));
    assert_ne!(code, 0, "{err}");
    home.wait_until_quiet();
    server.join().unwrap()
}

#[test]
fn s05_an_address_with_the_path_in_it_is_used_as_it_is() {
    let auth = "  auth: { type: bearer, token: \"${GATEWAY_KEY}\" }";
    let place = "/v1/projects/p/locations/l/publishers/google/models";
    for (wire, written, expected) in [
        (
            "gemini",
            format!("{place}/{{model}}:streamGenerateContent?alt=sse"),
            format!("{place}/small-1:streamgeneratecontent?alt=sse "),
        ),
        (
            "gemini",
            format!("{place}/{{model}}:generateContent?tag=a"),
            format!("{place}/small-1:streamgeneratecontent?tag=a&alt=sse "),
        ),
        (
            "gemini",
            "/v1/models/tuned:generateContent".to_owned(),
            "/v1/models/tuned:streamgeneratecontent?alt=sse ".to_owned(),
        ),
        ("gemini", "/v1beta".to_owned(), "/v1beta/models/small-1:streamgeneratecontent?alt=sse ".to_owned()),
        ("anthropic", "/team/messages".to_owned(), "/team/messages ".to_owned()),
        (
            "chat",
            "/d/{model}/chat/completions?api-version=3".to_owned(),
            "/d/small-1/chat/completions?api-version=3 ".to_owned(),
        ),
        // The path of another form says where the server is.
        ("responses", "/v1/chat/completions".to_owned(), "/v1/responses ".to_owned()),
    ] {
        let head = asked(wire, &format!("  url: \"http://HOST{written}\"\n{auth}"));
        assert!(head.starts_with(&format!("post {expected}")), "{wire} {written}: {head}");
    }
}

#[test]
fn s05_a_key_travels_as_the_file_says_in_every_form() {
    for (wire, usual) in [("anthropic", "x-api-key"), ("gemini", "x-goog-api-key"), ("chat", ""), ("responses", "")] {
        let with = |auth: &str| asked(wire, &format!("  url: \"http://HOST/v1\"\n  auth: {auth}"));
        let head = with("{ type: bearer, token: \"${GATEWAY_KEY}\" }");
        assert!(head.contains("\r\nauthorization: bearer hush-hush-hush\r\n"), "{wire}: {head}");
        assert!(usual.is_empty() || !head.contains(usual), "{wire}: {head}");
        let head = with("{ type: api_key, header: X-Team-Key, key: \"${GATEWAY_KEY}\" }");
        assert!(head.contains("\r\nx-team-key: hush-hush-hush\r\n") && !head.contains("authorization"), "{head}");
    }
    let head = asked("anthropic", "  url: \"http://HOST/v1\"\n  auth: { type: api_key, key: \"${GATEWAY_KEY}\" }");
    assert!(head.contains("\r\nx-api-key: hush-hush-hush\r\n"), "{head}");
}

#[test]
fn s05_a_tier_that_a_person_names_is_of_the_provider_that_the_directive_names() {
    let home = Home::new();
    write(&home.project(), ".ai/directives/wish.md", &WISH.replace("WISH", "tier=\"fast\" provider=\"openai\""));
    let chosen = |keys: &[&str], asked: &str| {
        let mut command = home.levain(&["--model", asked, "context", "show", "wish", "--json"]);
        let (_, out, err) = output(command.envs(keys.iter().map(|key| (*key, "k"))));
        let shown: Value = serde_json::from_str(&out).unwrap_or(Value::Null);
        shown["model"].as_str().map_or(err, str::to_owned)
    };
    let both = &["OPENAI_API_KEY", "ANTHROPIC_API_KEY"];
    for keys in [&both[..], &both[..1], &both[1..]] {
        assert_eq!(chosen(keys, "high"), "openai/gpt-6.2-sol", "{keys:?}");
    }
    // Who names a model means that one.
    assert_eq!(chosen(both, "claude-opus-4-6"), "anthropic/claude-opus-4-6");
    assert_eq!(chosen(both, "anthropic/claude-opus-4-6"), "anthropic/claude-opus-4-6");
    write(&home.project(), ".ai/directives/wish.md", &WISH.replace("WISH", "tier=\"fast\""));
    let mut run = home.levain(&["--model", "high", "run", "--directive", "wish", "hello"]);
    let (code, _, err) = output(run.envs(both.iter().map(|key| (*key, "k"))));
    assert_eq!(code, 2);
    assert!(err.contains("several providers have the tier `high`"), "{err}");
}

#[test]
fn s07_a_file_of_keys_that_others_can_read_costs_only_its_keys() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let file = home.config().join("credentials.toml");
    fs::write(&file, "[anthropic]\napi_key = \"hush-hush-hush\"\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    for arguments in [&["items"][..], &["models"], &["context", "show"], &["threads"], &["config"]] {
        let (code, _, err) = output(&mut home.levain(arguments));
        assert_eq!(code, 0, "{arguments:?}: {err}");
    }
    let (code, out, _) = output(&mut home.levain(&["check"]));
    assert!(code == 1 && out.contains("can be read by others") && out.contains("1 error,"), "{out}");
    // Whoever needs one of its keys is told what keeps it from being used.
    let (code, out, err) = output(&mut home.levain(&["run", "--model", "anthropic/claude-sonnet-4-5", "hello"]));
    assert_ne!(code, 0, "{out}");
    assert!(
        err.contains("can be read by others") && err.contains("chmod 600") && err.contains("ANTHROPIC_API_KEY"),
        "{err}"
    );
    let (_, out, _) = output(&mut home.levain(&["doctor"]));
    assert!(out.contains("can be read by others") && !out.contains("hush"), "{out}");
    // The scripted model needs no key, and one of the environment is used.
    let (code, out, err) = output(&mut home.levain(&["run", "--model", "scripted/demo", "hello"]));
    assert!(code == 0 && !out.is_empty(), "{err}");
    let models = home.levain(&["models", "--json"]).env("OPENAI_API_KEY", "k").output().unwrap().stdout;
    let models: Vec<Value> =
        String::from_utf8(models).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(find(&models, "model", "openai/gpt-5")["ready"], true);
    assert_eq!(find(&models, "model", "anthropic/claude-sonnet-4-5")["ready"], false);
    home.wait_until_quiet();
}

#[test]
fn s02_directives_that_changed_beside_trusted_tools_are_trusted_again() {
    let home = Home::new();
    let write = |path: &str, text: &str| {
        let path = home.project().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let directive = |granted: &str| {
        format!(
            "```xml\n<directive name=\"a\"><metadata><permissions>{granted}</permissions></metadata></directive>\n```\nGo.\n"
        )
    };
    let trust = |arguments: &[&str]| {
        let output = home.levain(&[&["trust"], arguments].concat()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    write(".ai/tools/a.sh", "echo a\n");
    write(".ai/directives/a.md", &directive("<fetch>*</fetch>"));
    trust(&[]);
    write(".ai/directives/a.md", &directive("<sign>*</sign>"));
    assert!(trust(&["--show"]).contains("a.md: each call that it allows needs approval"));
    assert!(!trust(&[]).contains("needs approval"));
    assert!(!trust(&["--show"]).contains("needs approval"));
}
