//! Prompts of MCP servers as templates: kept in files, asked for when they are used, and what becomes of those that fail.

use crate::support::terminal::{Home, key, output, poll, write};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

/// A server with prompts and one tool. It notes what it is asked, and refuses a prompt that is asked for in a wrong way.
const SERVER: &str = r#"
import json, sys, time
log = open(sys.argv[1], "a")
def say(message):
    sys.stdout.write(json.dumps(message) + "\n"); sys.stdout.flush()
def text(role, words): return {"role": role, "content": {"type": "text", "text": words}}
log.write("started\n")
prompts = [
    {"name": "fore cast", "description": "Tells the\nweather", "arguments": [
        {"name": "city", "description": "Where", "required": True}, {"name": "state"}]},
    {"name": "many", "arguments": []}, {"name": "hangs"}, {"name": "broken"}, {"name": "dies"},
]
if len(sys.argv) > 2: prompts = prompts[:1]
for line in sys.stdin:
    message = json.loads(line)
    method, number, params = message.get("method"), message.get("id"), message.get("params", {})
    log.write(json.dumps({"method": method, "params": {k: v for k, v in params.items() if k != "_meta"}}) + "\n"); log.flush()
    def answer(result): say({"jsonrpc": "2.0", "id": number, "result": result})
    def refuse(why): say({"jsonrpc": "2.0", "id": number, "error": {"code": -32602, "message": why}})
    if method == "initialize":
        answer({"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}, "prompts": {}},
            "serverInfo": {"name": "sky", "version": "1"}})
    elif method == "tools/list":
        answer({"tools": [{"name": "tool", "description": "d", "inputSchema": {"type": "object"}}]})
    elif method == "tools/call":
        answer({"content": [{"type": "text", "text": "done"}]})
    elif method == "prompts/list":
        answer({"prompts": prompts})
    elif method == "prompts/get":
        name, given = params["name"], params.get("arguments", {})
        if name == "fore cast":
            if "city" not in given or set(given) - {"city", "state"}: refuse("bad arguments")
            else: answer({"messages": [text("user", "Weather in %s, %s?" % (given["city"], given.get("state", "-")))]})
        elif name == "many":
            answer({"messages": [text("user", "Look:"), {"role": "user", "content": {"type": "image", "data": "AAAA", "mimeType": "image/png"}},
                text("assistant", "I see."), {"role": "user", "content": {"type": "resource", "resource": {"uri": "a:b", "text": "BODY"}}}]})
        elif name == "hangs": continue
        elif name == "broken": refuse("the sky has fallen")
        elif name == "dies": sys.exit("it fell over")
"#;

/// A person with that server among their own items, a directive that grants its tools, and a model that calls one before it
/// answers.
struct Person {
    home: Home,
    model: String,
}

impl Person {
    fn new() -> Self {
        let home = Home::new();
        write(&home.path().join("server.py"), SERVER);
        let script = json!({ "name": "s", "rate": 0, "replies": [
            { "when": { "contains": "Weather" }, "steps": [{ "tool_call": { "name": "mcp_sky_tool", "input": {} } }] },
            { "steps": [{ "text": "Done." }] },
        ]});
        write(&home.path().join("s.yaml"), &script.to_string());
        let directive = "```xml\n<directive name=\"x\"><metadata><permissions><execute><tool>mcp/*</tool></execute>\
                         <acknowledge risk=\"unrestricted\">a test</acknowledge></permissions></metadata></directive>\n```\nDo it.\n";
        write(&home.project().join(".ai/directives/x.md"), directive);
        let person = Self { model: format!("scripted/{}", home.path().join("s.yaml").display()), home };
        person.ok(&["trust"]);
        person
    }

    fn ok(&self, arguments: &[&str]) -> String {
        let (code, out, err) = output(&mut self.home.levain(arguments));
        assert_eq!(code, 0, "{arguments:?}: {out}{err}");
        out
    }

    fn log(&self) -> PathBuf {
        self.home.path().join("server.log")
    }

    /// Adds the server, which forgets what it was asked for that.
    fn add(&self, more: &[&str]) -> Value {
        let (server, log) = (self.home.path().join("server.py"), self.log());
        let command = ["--json", "--timeout", "2", "--", "python3", server.to_str().unwrap(), log.to_str().unwrap()];
        let out = self.ok(&[&["mcp", "add", "sky"], more, &command].concat());
        fs::write(log, "").unwrap();
        serde_json::from_str(&out).unwrap()
    }

    fn run(&self, prompt: &str) -> (i32, Value) {
        let (code, out, err) =
            output(&mut self.home.levain(&["run", "--json", "--model", &self.model, "--directive", "x", prompt]));
        (
            code,
            serde_json::from_str(out.lines().next_back().unwrap_or_default()).unwrap_or_else(|_| panic!("{out}{err}")),
        )
    }

    /// The payloads of the events of that name in all threads.
    fn events(&self, name: &str) -> Vec<Value> {
        let threads = fs::read_dir(self.home.project().join(".ai/agent/threads")).into_iter().flatten().flatten();
        let logs = threads.filter_map(|entry| fs::read_to_string(entry.path().join("transcript.jsonl")).ok());
        let all = logs.collect::<String>();
        let all = all.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        all.filter(|event| event["event_type"] == name).map(|mut event| event["payload"].take()).collect()
    }

    /// What the server was asked of that method.
    fn asked(&self, method: &str) -> Vec<Value> {
        let log = fs::read_to_string(self.log()).unwrap_or_default();
        let all = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        all.filter(|line| line["method"] == method).map(|mut line| line["params"].take()).collect()
    }
}

#[test]
fn a_prompt_of_a_server_is_expanded_by_asking_it_over_the_threads_own_connection() {
    let person = Person::new();
    assert_eq!(person.add(&[])["prompts"], 5);
    let file = person.home.home().join(".ai/prompts/mcp/sky/fore_cast.yaml");
    assert!(file.exists());
    let listed = person.ok(&["pipeline", "list"]);
    assert!(listed.contains("/mcp/sky/fore_cast") && listed.contains("Tells the weather"), "{listed}");
    let (code, line) = person.run("/mcp/sky/fore_cast 'New York' state=NY");
    assert_eq!(code, 0, "{line}");
    let wanted = json!({ "name": "fore cast", "arguments": { "city": "New York", "state": "NY" } });
    assert_eq!(person.asked("prompts/get"), [wanted]);
    assert_eq!(person.events("cognition_in")[0]["text"], "Weather in New York, NY?");
    let prepared = &person.events("prompt_prepared")[0];
    assert_eq!(prepared["typed"], "/mcp/sky/fore_cast 'New York' state=NY");
    let step = &prepared["steps"][0];
    assert_eq!((&step["stage"], &step["handler"]), (&json!("template"), &json!("mcp/sky/fore_cast")));
    assert_eq!(step["place"]["file"], file.to_str().unwrap());
    assert_eq!(step["said"], "the MCP server sky was asked for its prompt fore cast");
    // The tool that the model called went over the same connection.
    assert_eq!(person.asked("tools/call").len(), 1);
    assert_eq!(fs::read_to_string(person.log()).unwrap().matches("started").count(), 1);
    // What is no text of the person's is named, what is no text is told of.
    assert_eq!(person.run("/mcp/sky/many").0, 0);
    let said = "Look:\n\n[image, image/png, left out]\n\nassistant: I see.\n\nBODY";
    assert!(person.events("cognition_in").iter().any(|said_now| said_now["text"] == said));
    person.home.wait_until_quiet();
}

#[test]
fn a_server_that_gives_no_prompt_ends_a_run_with_what_is_missing_and_nothing_is_sent() {
    let person = Person::new();
    person.add(&[]);
    for (prompt, why) in [
        ("/mcp/sky/fore_cast", "of the MCP server sky needs `city` (Where): write /mcp/sky/fore_cast CITY [STATE]"),
        ("/mcp/sky/fore_cast a b c", "takes CITY [STATE]"),
        ("/mcp/sky/fore_cats a", "sky has no prompt `fore_cats` (did you mean /mcp/sky/fore_cast?)"),
        ("/mcp/sky/hangs", "sky did not answer within 2 s"),
        ("/mcp/sky/broken", "sky: the sky has fallen"),
        ("/mcp/sky/dies", "sky cannot be reached"),
    ] {
        let (code, line) = person.run(prompt);
        let error = line["error"].as_str().unwrap_or_default();
        assert!(code != 0 && error.contains(why), "{prompt}: {line}");
        assert!(error.starts_with(prompt.split(' ').next().unwrap()), "{line}");
    }
    assert!(person.events("cognition_in").is_empty() && person.events("request_recorded").is_empty());
    assert_eq!(person.events("prompt_withdrawn").len(), 6);
    person.home.wait_until_quiet();
}

#[test]
fn a_prompt_that_failed_is_in_the_draft_again_and_its_completion_tells_what_it_takes() {
    let person = Person::new();
    person.add(&[]);
    let terminal = person.home.levain_in_terminal(&["--model", &person.model, "x"]).size(140, 30).start();
    terminal.wait_for("x ");
    terminal.send_keys("/mcp/sky/fo");
    terminal.wait_for("CITY [STATE] · Tells the weather");
    terminal.send_keys(key::TAB);
    terminal.wait_for("/mcp/sky/fore_cast ");
    terminal.send_keys(key::ENTER);
    terminal.wait_for("needs `city` (Where)");
    terminal.wait_for("› /mcp/sky/fore_cast");
    assert!(person.asked("prompts/get").is_empty());
    terminal.send_keys(" Bonn");
    terminal.send_keys(key::ENTER);
    terminal.wait_for("template mcp/sky/fore_cast inserted");
    terminal.wait_for("Done.");
    assert_eq!(person.events("cognition_in")[0]["text"], "Weather in Bonn, -?");
    // Who does not want to wait has the words again.
    terminal.send_keys("/mcp/sky/hangs ");
    terminal.send_keys(key::ENTER);
    poll("the server is asked", || person.asked("prompts/get").iter().any(|asked| asked["name"] == "hangs"));
    terminal.wait_for("hangs was not sent");
    terminal.wait_for("› /mcp/sky/hangs");
    terminal.leave();
    person.home.wait_until_quiet();
}

#[test]
fn files_of_prompts_follow_what_the_server_offers_and_go_with_it() {
    let person = Person::new();
    person.add(&[]);
    let folder = person.home.home().join(".ai/prompts/mcp/sky");
    let names = || {
        let mut names: Vec<String> =
            fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    assert_eq!(names(), ["broken.yaml", "dies.yaml", "fore_cast.yaml", "hangs.yaml", "many.yaml"]);
    // One of the person's own stays, and what the server no longer offers goes.
    write(&folder.join("mine.yaml"), "prompt: {server: other, name: x}\n");
    let server = person.home.home().join(".ai/tools/mcp/servers/sky.yaml");
    let text = fs::read_to_string(&server).unwrap();
    let log = person.log().display().to_string();
    write(&server, &text.replace(&log, &format!("{log}\n  - few")));
    person.ok(&["mcp", "refresh", "sky"]);
    assert_eq!(names(), ["fore_cast.yaml", "mine.yaml"]);
    person.ok(&["mcp", "remove", "sky"]);
    assert_eq!(names(), ["mine.yaml"]);
}

#[test]
fn a_projects_prompt_is_asked_for_once_the_person_trusts_the_project_as_it_is() {
    let person = Person::new();
    person.add(&["--here"]);
    let (code, line) = person.run("/mcp/sky/fore_cast Bonn");
    let why = "sky was not asked: you have not trusted this project as it is (levain trust)";
    assert!(code != 0 && line["error"].as_str().unwrap().contains(why), "{line}");
    assert_eq!(fs::read_to_string(person.log()).unwrap(), "", "the server was started");
    person.ok(&["trust"]);
    assert_eq!(person.run("/mcp/sky/fore_cast Bonn").0, 0);
    // A file that came after, for a server of the person's own, waits the same.
    let text = fs::read_to_string(person.home.project().join(".ai/prompts/mcp/sky/fore_cast.yaml")).unwrap();
    write(&person.home.project().join(".ai/prompts/mcp/sky/other.yaml"), &text);
    let (code, line) = person.run("/mcp/sky/other Bonn");
    assert!(code != 0 && line["error"].as_str().unwrap().contains(why), "{line}");
    person.home.wait_until_quiet();
}

#[test]
fn a_preview_shows_what_the_server_makes_of_it() {
    let person = Person::new();
    person.add(&[]);
    let show = |prompt: &str| {
        output(&mut person.home.levain(&[
            "context",
            "show",
            "x",
            "--model",
            &person.model,
            "--text",
            "--prompt",
            prompt,
        ]))
    };
    let (code, out, err) = show("/mcp/sky/fore_cast Bonn");
    assert!(code == 0 && out.contains("Weather in Bonn, -?"), "{out}{err}");
    let (code, out, err) = show("/mcp/sky/fore_cast");
    assert!(code != 0 && err.contains("needs `city`"), "{out}{err}");
    person.home.wait_until_quiet();
}
