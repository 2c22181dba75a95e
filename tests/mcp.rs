//! MCP, both ways: servers that others wrote called by threads, servers that misbehave, and a client that others wrote asking
//! `levain mcp serve`. `scripts/setup tests` installs the others.

use crate::support::terminal::{Home, key, output, poll, write};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Where `scripts/setup tests` puts what others wrote.
fn installed(path: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("mcp");
    let path = folder.join(path);
    assert!(path.exists(), "{} is missing: run scripts/setup tests", path.display());
    path
}

fn everything() -> PathBuf {
    installed("node_modules/@modelcontextprotocol/server-everything/dist/index.js")
}

/// A project whose directive `x` grants the tools of all servers, and a model that makes these calls in one answer.
struct Project {
    home: Home,
    model: String,
}

impl Project {
    fn new(calls: &[(&str, Value)]) -> Self {
        let home = Home::new();
        let name = |tool: &str| tool.replace(['/', '-'], "_");
        let steps: Vec<Value> =
            calls.iter().map(|(tool, input)| json!({ "tool_call": { "name": name(tool), "input": input } })).collect();
        let last = calls.last().map(|(tool, _)| name(tool)).unwrap_or_default();
        let script = json!({ "name": "s", "rate": 0, "replies": [
            { "when": { "after_tool": last }, "steps": [{ "text": "Done." }] }, { "steps": steps },
        ]});
        write(&home.path().join("s.yaml"), &script.to_string());
        let directive = "```xml\n<directive name=\"x\" version=\"1.0.0\"><metadata><description>Tries tools</description>\
                         <permissions><execute><tool>mcp/*</tool></execute>\
                         <acknowledge risk=\"unrestricted\">a test</acknowledge></permissions></metadata>\n\
                         <inputs><input name=\"who\" type=\"string\" required=\"false\">Whom to greet</input></inputs>\
                         </directive>\n```\nDo it.\n";
        write(&home.project().join(".ai/directives/x.md"), directive);
        assert!(home.levain(&["trust"]).stdin(Stdio::null()).output().unwrap().status.success());
        Self { model: format!("scripted/{}", home.path().join("s.yaml").display()), home }
    }

    fn add(&self, name: &str, command: &[&str]) -> (i32, String, String) {
        output(&mut self.home.levain(&[&["mcp", "add", name, "--json", "--"], command].concat()))
    }

    /// Keeps a server and one of its tools without asking it.
    fn keep(&self, name: &str, command: &[&str], tool: &str) {
        let folder = self.home.home().join(".ai/tools/mcp");
        let (program, arguments) = command.split_first().unwrap();
        let server = json!({ "tool_type": "mcp_server", "executor_id": null, "description": "d",
            "config": { "transport": "stdio", "command": program, "args": arguments, "timeout": 5 } });
        write(&folder.join(format!("servers/{name}.yaml")), &server.to_string());
        let tool_file = json!({ "tool_type": "mcp", "executor_id": "rye/core/runtimes/mcp/stdio", "description": "d",
            "config": { "server": format!("mcp/servers/{name}"), "tool_name": tool }, "input_schema": { "type": "object" } });
        write(&folder.join(format!("{name}/{tool}.yaml")), &tool_file.to_string());
    }

    fn command(&self) -> Command {
        self.home.levain(&["run", "--json", "--model", &self.model, "--directive", "x", "go"])
    }

    /// The results of the calls, in order.
    fn results(&self) -> Vec<String> {
        let (_, _, err) = output(&mut self.command());
        let threads = fs::read_dir(self.home.project().join(".ai/agent/threads")).into_iter().flatten().flatten();
        let logs = threads.filter_map(|entry| fs::read_to_string(entry.path().join("transcript.jsonl")).ok());
        let events = logs.collect::<String>();
        let events = events.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let results = events.filter(|event| event["event_type"] == "tool_call_result");
        let results: Vec<String> =
            results.map(|event| event["payload"]["output"].as_str().unwrap().to_owned()).collect();
        assert!(!results.is_empty(), "{err}");
        results
    }
}

#[test]
fn a_server_from_npm_is_added_listed_called_and_removed() {
    let project = Project::new(&[
        ("mcp/everything/echo", json!({ "message": "hello ${HOME} there" })),
        ("mcp/everything/get-sum", json!({ "a": 2, "b": 40 })),
        ("mcp/everything/get-structured-content", json!({ "location": "Chicago" })),
        ("mcp/everything/get-tiny-image", json!({})),
        ("mcp/everything/get-sum", json!({ "a": "two" })),
    ]);
    let server = everything();
    let (code, out, err) = project.add("everything", &["node", server.to_str().unwrap(), "stdio"]);
    assert_eq!(code, 0, "{out}{err}");
    let line: Value = serde_json::from_str(&out).unwrap();
    assert!(line["tools"].as_u64().unwrap() > 8 && line["tokens"].as_u64().unwrap() > 500, "{line}");
    let (code, _, err) = project.add("everything", &["node", "x"]);
    assert!(code == 1 && err.is_empty() || err.contains("there is a server `everything` already"), "{err}");
    let listed = output(&mut project.home.levain(&["mcp", "list"])).1;
    assert!(listed.contains("everything") && listed.contains("tokens"), "{listed}");
    let results = project.results();
    assert!(results[0].contains("hello ${HOME} there"), "{results:?}");
    assert!(results[1].contains("42"), "{results:?}");
    assert!(results[2].contains("\"temperature\""), "{results:?}");
    assert!(results[3].contains("[image 1: an image, image/png, 4 kB]"), "{results:?}");
    assert!(results[4].starts_with("Not run: `b` is missing."), "{results:?}");
    project.home.wait_until_quiet();
    let (code, out, _) = output(&mut project.home.levain(&["mcp", "remove", "everything"]));
    assert!(code == 0 && out.contains("removed"), "{out}");
    assert!(!project.home.home().join(".ai/tools/mcp/everything").exists());
    let (code, _, err) = output(&mut project.home.levain(&["mcp", "test", "evrything"]));
    assert!(code == 1 && err.contains("there is no MCP server"), "{err}");
}

#[test]
fn s18_resources_of_a_server_are_layers_with_their_origin() {
    let project = Project::new(&[]);
    let home = &project.home;
    let (code, out, err) = project.add("everything", &["node", everything().to_str().unwrap(), "stdio"]);
    assert_eq!(code, 0, "{out}{err}");
    let offered = serde_json::from_str::<Value>(&out).unwrap()["resources"].as_u64().unwrap();
    let folder = home.home().join(".ai/knowledge/mcp/everything");
    let kept: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(kept.len() as u64, offered, "{kept:?}");
    let file = kept.iter().find(|path| path.to_str().unwrap().contains("architecture")).unwrap();
    let id = format!("mcp/everything/{}", file.file_stem().unwrap().to_str().unwrap());
    let directive = |provider: &str| {
        let text = format!(
            "```xml\n<directive name=\"r\"><metadata><context><provider>{provider}</provider></context></metadata>\
             </directive>\n```\nGo.\n"
        );
        write(&home.project().join(".ai/directives/r.md"), &text);
        assert_eq!(output(&mut home.levain(&["trust"])).0, 0);
    };
    let of_project = home.project().join(".ai/directives/r.md");
    let show =
        || output(&mut home.levain(&["context", "show", "r", "--model", "scripted/demo", "--text", "--prompt", "x"]));
    directive(&id);
    let (code, out, err) = show();
    assert_eq!(code, 0, "{err}");
    assert!(out.contains(&format!("{id}:\n")) && out.contains("Everything Server"), "{out}");
    // A directive of a project that nobody has trusted as it is has nothing asked.
    let text = fs::read_to_string(&of_project).unwrap();
    let before = text.replace("<context>", "<context><provider>team/else</provider>");
    write(&home.home().join(".ai/knowledge/team/else.yaml"), "name: else\nentry_type: context_provider\nstate: calm\n");
    write(&of_project, &before);
    let (_, out, _) = show();
    assert!(!out.contains("Everything Server"), "{out}");
    let told = output(&mut home.levain(&["context", "show", "r", "--model", "scripted/demo", "--prompt", "x"])).1;
    assert!(told.contains("its server is not asked"), "{told}");
    // Files that others wrote beside those of the server stay.
    let own = folder.join("mine.yaml");
    write(&own, "name: mine\nbody: MINE\n");
    assert_eq!(output(&mut home.levain(&["mcp", "refresh", "everything"])).0, 0);
    assert!(own.exists() && file.exists());
    fs::remove_file(own).unwrap();
    // One that the server does not have is told of where it would stand, and holds nothing up.
    let text = fs::read_to_string(file).unwrap();
    let uri = text.lines().find(|line| line.trim().starts_with("uri:")).unwrap().to_owned();
    write(&home.home().join(".ai/knowledge/lost.yaml"), &text.replace(&uri, "  uri: demo://no/such"));
    directive("lost");
    let (code, out, _) =
        output(&mut home.levain(&["context", "show", "r", "--model", "scripted/demo", "--prompt", "x"]));
    assert!(code == 0 && out.contains("lost") && out.contains("everything: "), "{out}");
    // Whoever brings such an item along in a project is asked for trust first.
    fs::rename(home.home().join(".ai/knowledge/lost.yaml"), home.project().join(".ai/knowledge/lost.yaml"))
        .or_else(|_| {
            fs::create_dir_all(home.project().join(".ai/knowledge"))?;
            fs::rename(home.home().join(".ai/knowledge/lost.yaml"), home.project().join(".ai/knowledge/lost.yaml"))
        })
        .unwrap();
    let (_, out, _) = output(&mut home.levain(&["context", "show", "r", "--model", "scripted/demo", "--prompt", "x"]));
    assert!(out.contains("you have not trusted this project"), "{out}");
    home.wait_until_quiet();
    assert_eq!(output(&mut home.levain(&["mcp", "remove", "everything"])).0, 0);
    assert!(!folder.exists());
}

#[test]
fn a_server_from_pypi_is_called() {
    let project = Project::new(&[("mcp/time/get_current_time", json!({ "timezone": "Etc/UTC" }))]);
    let server = installed("venv/bin/mcp-server-time");
    let (code, out, err) = project.add("time", &[server.to_str().unwrap()]);
    assert_eq!(code, 0, "{out}{err}");
    let results = project.results();
    assert!(results[0].contains("\"timezone\":\"Etc/UTC\""), "{results:?}");
    project.home.wait_until_quiet();
}

/// A server that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _reaped = self.0.wait();
    }
}

#[test]
fn a_server_is_reached_by_streamable_http_and_again_after_it_was_gone() {
    let project =
        Project::new(&[("mcp/web/echo", json!({ "message": "one" })), ("mcp/web/echo", json!({ "message": "two" }))]);
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let start = || {
        let mut server = Command::new("node");
        server.arg(everything()).arg("streamableHttp").env("PORT", port.to_string());
        let mut server = server.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let said = BufReader::new(server.stderr.take().unwrap());
        let _listening = said.lines().map_while(Result::ok).find(|line| line.contains(&port.to_string()));
        Running(server)
    };
    let server = start();
    let url = format!("http://127.0.0.1:{port}/mcp");
    let (code, out, err) = output(&mut project.home.levain(&["mcp", "add", "web", "--url", &url]));
    assert!(code == 0 && out.contains("tools"), "{out}{err}");
    let results = project.results();
    assert!(results[0].contains("one") && results[1].contains("two"), "{results:?}");
    drop(server);
    let (code, out, _) = output(&mut project.home.levain(&["mcp", "test", "web", "--json"]));
    let line: Value = serde_json::from_str(&out).unwrap();
    assert!(code == 1 && line["error"].as_str().unwrap().contains("cannot be reached"), "{line}");
    let _server = start();
    let (code, out, _) = output(&mut project.home.levain(&["mcp", "test", "web"]));
    assert_eq!(code, 0, "{out}");
}

/// A small server: `tool` answers, and does what its first argument says besides.
const SCRIPTED: &str = r#"
import json, os, sys, time
way = sys.argv[1]
log = open(sys.argv[2], "a")
def say(message):
    sys.stdout.write(json.dumps(message) + "\n"); sys.stdout.flush()
if way == "dies": sys.exit("it has no licence")
print("hello on standard error", file=sys.stderr, flush=True)
log.write("started\n"); log.flush()
calls = 0
for line in sys.stdin:
    message = json.loads(line)
    method, number = message.get("method"), message.get("id")
    log.write((method or "answer") + "\n"); log.flush()
    if method == "initialize":
        if way == "hangs": time.sleep(600)
        say({"jsonrpc": "2.0", "id": number, "result": {"protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {"tools": {}}, "serverInfo": {"name": "scripted", "version": "1"}}})
    elif method == "tools/list":
        say({"jsonrpc": "2.0", "id": number, "result": {"tools": [{"name": "tool", "description": "d", "inputSchema": {"type": "object"}}]}})
    elif method == "tools/call":
        calls += 1
        token = message["params"].get("_meta", {}).get("progressToken")
        if way == "floods":
            while True: sys.stdout.write("x" * 65536)
        if way == "nonsense": sys.stdout.write("this is no JSON\n" * 3); sys.stdout.flush()
        if way == "silent":
            for step in range(3):
                say({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": step, "message": "working"}})
            continue
        if way == "once" and calls == 2 - (1 if os.path.exists(sys.argv[2] + ".died") else 0) * 5:
            open(sys.argv[2] + ".died", "w").close(); sys.exit("it fell over")
        say({"jsonrpc": "2.0", "id": number, "result": {"content": [{"type": "text", "text": "answer %d" % calls}]}})
"#;

fn scripted(project: &Project, name: &str, way: &str) -> PathBuf {
    let (server, log) = (project.home.path().join("server.py"), project.home.path().join(format!("{name}.log")));
    write(&server, SCRIPTED);
    project.keep(name, &["python3", server.to_str().unwrap(), way, log.to_str().unwrap()], "tool");
    log
}

#[test]
fn a_server_that_hangs_floods_dies_or_talks_nonsense_costs_only_its_calls() {
    let names = ["dies", "floods", "nonsense", "silent", "good"];
    let calls: Vec<(String, Value)> = names.iter().map(|name| (format!("mcp/{name}/tool"), json!({}))).collect();
    let calls: Vec<(&str, Value)> = calls.iter().map(|(tool, input)| (tool.as_str(), input.clone())).collect();
    let project = Project::new(&calls);
    let logs: Vec<PathBuf> = names.iter().map(|name| scripted(&project, name, name)).collect();
    let results = project.results();
    assert!(results[0].contains("dies cannot be reached") && results[0].contains("it has no licence"), "{results:?}");
    assert!(results[1].contains("floods cannot be reached"), "{results:?}");
    assert!(results[2].contains("answer 1") || results[2].contains("nonsense"), "{results:?}");
    assert!(results[3].contains("did not answer within 5 s"), "{results:?}");
    assert!(results[4].contains("answer 1"), "{results:?}");
    poll("the silent server hears that its request is cancelled", || {
        fs::read_to_string(&logs[3]).unwrap_or_default().contains("notifications/cancelled")
    });
    project.home.wait_until_quiet();
}

#[test]
fn a_server_that_died_between_two_calls_is_started_again() {
    let calls = [("mcp/once/tool", json!({})), ("mcp/once/tool", json!({})), ("mcp/once/tool", json!({}))];
    let project = Project::new(&calls);
    let log = scripted(&project, "once", "once");
    let results = project.results();
    assert!(results[0].contains("answer 1"), "{results:?}");
    assert!(results[1].contains("once cannot be reached") && results[1].contains("it fell over"), "{results:?}");
    assert!(results[2].contains("answer 1"), "{results:?}");
    assert_eq!(fs::read_to_string(log).unwrap().matches("started").count(), 2);
    project.home.wait_until_quiet();
}

#[test]
fn fifty_servers_of_which_some_are_broken_hold_no_start_up() {
    let project = Project::new(&[("mcp/s7/tool", json!({}))]);
    for number in 0..50 {
        let way = if number % 17 == 3 { "hangs" } else { "good" };
        scripted(&project, &format!("s{number}"), way);
    }
    let results = project.results();
    assert!(results[0].contains("answer 1"), "{results:?}");
    let started = (0..50).filter(|number| project.home.path().join(format!("s{number}.log")).exists());
    assert_eq!(started.collect::<Vec<_>>(), [7], "a server was asked that nobody called");
    project.home.wait_until_quiet();
}

#[test]
fn stopping_a_call_cancels_it_at_the_server_and_shows_its_progress() {
    let project = Project::new(&[("mcp/slow/tool", json!({}))]);
    let log = scripted(&project, "slow", "silent");
    let terminal = project.home.levain_in_terminal(&["--model", &project.model, "x"]).start();
    terminal.wait_for("x ");
    terminal.send_keys("go");
    terminal.send_keys(key::ENTER);
    terminal.wait_for("working");
    terminal.send_keys(key::ESC);
    poll("the server hears of it", || fs::read_to_string(&log).unwrap_or_default().contains("notifications/cancelled"));
    terminal.wait_for("stopped");
    terminal.leave();
    project.home.wait_until_quiet();
}

#[test]
fn servers_of_another_programs_file_are_taken_over_and_started_by_nobody() {
    let project = Project::new(&[]);
    let file = json!({ "mcpServers": {
        "files": { "command": "touch", "args": ["started"], "env": { "A": "${A}" } },
        "web": { "type": "http", "url": "https://h.example/mcp" },
        "old": { "type": "sse", "url": "https://h.example/sse" },
    }});
    write(&project.home.project().join(".mcp.json"), &file.to_string());
    let (code, out, _) = output(&mut project.home.levain(&["mcp", "import", "--here"]));
    assert!(code == 1 && out.contains("files: ") && out.contains("old: not taken over"), "{out}");
    assert!(!project.home.project().join("started").exists());
    // What a project brings is not started before the project is trusted.
    let (code, _, err) = output(&mut project.home.levain(&["mcp", "test", "files"]));
    assert!(code == 1 && err.contains("which you have not trusted"), "{err}");
    assert!(!project.home.project().join("started").exists());
    let listed = output(&mut project.home.levain(&["mcp", "list"])).1;
    assert!(listed.contains("https://h.example/mcp") && listed.contains("never asked"), "{listed}");
}

/// The inspector's command line, which nobody here wrote, asks `levain mcp serve`.
#[test]
fn a_client_that_others_wrote_lists_and_calls_what_is_served() {
    let project = Project::new(&[]);
    let (code, out, err) =
        output(&mut project.home.levain(&["run", "--model", "scripted/demo", "--directive", "x", "hello"]));
    assert_eq!(code, 0, "{out}{err}");
    let inspector = installed("node_modules/@modelcontextprotocol/inspector/cli/build/cli.js");
    let ask = |arguments: &[&str]| {
        let mut command = Command::new("node");
        command.arg(&inspector).arg("--cli").args([env!("CARGO_BIN_EXE_levain"), "mcp", "serve"]).args(arguments);
        command.env_clear().envs(project.home.environment()).current_dir(project.home.project());
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        let (code, out, err) = output(&mut command);
        assert_eq!(code, 0, "{out}{err}");
        serde_json::from_str::<Value>(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
    };
    let tools = ask(&["--method", "tools/list"]);
    let named = |name: &str| tools["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == name).cloned();
    let directive = named("directive_x").unwrap();
    assert_eq!(directive["description"], "Tries tools");
    assert_eq!(directive["inputSchema"]["properties"]["who"]["description"], "Whom to greet");
    for name in ["context_show", "context_explain", "context_diff", "directive_levain_chat"] {
        assert!(named(name).is_some(), "{name}: {tools}");
    }
    let shown = ask(&["--method", "tools/call", "--tool-name", "context_show", "--tool-arg", "directive=x"]);
    let text = shown["content"][0]["text"].as_str().unwrap();
    let (_, printed, _) = output(&mut project.home.levain(&["context", "show", "x"]));
    let until = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    assert_eq!(until(text), until(&printed));
    let refused = ask(&["--method", "tools/call", "--tool-name", "context_show", "--tool-arg", "directive=no/such"]);
    assert_eq!(refused["isError"], true, "{refused}");
    let resources = ask(&["--method", "resources/list"]);
    let uri = resources["resources"][0]["uri"].as_str().unwrap();
    let read = ask(&["--method", "resources/read", "--uri", uri]);
    assert!(read["contents"][0]["text"].as_str().unwrap().contains("hello"), "{read}");
}

#[test]
fn the_screen_lists_servers_and_asks_them() {
    let project = Project::new(&[]);
    let everything = everything();
    let (code, _, err) = project.add("everything", &["node", everything.to_str().unwrap(), "stdio"]);
    assert_eq!(code, 0, "{err}");
    project.keep("broken", &["sh", "-c", "echo no such database >&2; exit 3"], "look");
    let terminal = project.home.levain_in_terminal(&["--model", "scripted/demo"]).size(120, 45).start();
    terminal.wait_for("A new thread");
    terminal.send_keys("/mcp\r");
    terminal.wait_for("everything · not asked now · user · stdio");
    terminal.wait_for("broken · not asked now");
    terminal.send_keys(key::ESC);
    terminal.wait_gone("not asked now");
    // Those that do not answer cost nobody else anything.
    terminal.send_keys("/mcp test\r");
    terminal.wait_for("everything · answers · user · stdio");
    terminal.wait_for("broken · cannot be reached");
    terminal.wait_for("it said: no such");
    terminal.send_keys(key::ESC);
    terminal.wait_gone("cannot be reached");
    terminal.send_keys("/mcp refresh everythin\r");
    terminal.wait_for("there is no MCP server `everythin`");
    terminal.leave();
    project.home.wait_until_quiet();
}
