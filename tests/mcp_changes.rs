//! Servers that say that their lists changed: a person is told once, and nothing changes by itself.

use crate::support::terminal::{Home, output, write};
use serde_json::{Value, json};
use std::fs;

/// A server that speaks the version of the protocol that its first argument names. Whoever calls its tool hears three times that
/// its lists changed, in the newest version only where it was asked to tell.
const SERVER: &str = r#"
import json, sys
version = sys.argv[1]
log = open(sys.argv[2], "a")
def say(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n"); sys.stdout.flush()
listens = None
for line in sys.stdin:
    message = json.loads(line)
    method, number, params = message.get("method"), message.get("id"), message.get("params", {})
    log.write(line); log.flush()
    if method == "initialize":
        say({"id": number, "result": {"protocolVersion": version, "serverInfo": {"name": "sky", "version": "1"},
            "capabilities": {"tools": {"listChanged": True}, "prompts": {"listChanged": True}}}})
    elif method == "subscriptions/listen":
        listens = {"io.modelcontextprotocol/subscriptionId": number}
        say({"method": "notifications/subscriptions/acknowledged", "params": {"notifications": params["notifications"], "_meta": listens}})
    elif method == "tools/list":
        say({"id": number, "result": {"resultType": "complete", "tools": [{"name": "tool", "description": "d", "inputSchema": {"type": "object"}}]}})
    elif method == "prompts/list":
        say({"id": number, "result": {"resultType": "complete", "prompts": []}})
    elif method == "tools/call":
        for what in ["tools", "prompts", "tools"]:
            meta = {"params": {"_meta": listens}} if listens else {}
            if listens or version < "2026": say({"method": "notifications/%s/list_changed" % what, **meta})
        say({"id": number, "result": {"resultType": "complete", "content": [{"type": "text", "text": "answer"}]}})
"#;

/// Runs a thread that calls the tool twice; the notices of its log.
fn notices(version: &str) -> (Home, Vec<String>) {
    let home = Home::new();
    write(&home.path().join("server.py"), SERVER);
    let call = json!({ "tool_call": { "name": "mcp_sky_tool", "input": {} } });
    let script = json!({ "name": "s", "rate": 0, "replies": [
        { "when": { "after_tool": "mcp_sky_tool" }, "steps": [{ "text": "Done." }] }, { "steps": [call, call] },
    ]});
    write(&home.path().join("s.yaml"), &script.to_string());
    let directive = "```xml\n<directive name=\"x\"><metadata><permissions><execute><tool>mcp/*</tool></execute>\
                     <acknowledge risk=\"unrestricted\">a test</acknowledge></permissions></metadata></directive>\n```\nDo it.\n";
    write(&home.project().join(".ai/directives/x.md"), directive);
    let ok = |arguments: &[&str]| {
        let (code, out, err) = output(&mut home.levain(arguments));
        assert_eq!(code, 0, "{arguments:?}: {out}{err}");
    };
    ok(&["trust"]);
    let (server, log) = (home.path().join("server.py"), home.path().join("server.log"));
    ok(&["mcp", "add", "sky", "--", "python3", server.to_str().unwrap(), version, log.to_str().unwrap()]);
    let file = home.home().join(".ai/tools/mcp/sky/tool.yaml");
    let before = fs::read_to_string(&file).unwrap();
    let model = format!("scripted/{}", home.path().join("s.yaml").display());
    ok(&["run", "--json", "--model", &model, "--directive", "x", "go"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), before, "what a person trusted changes when they say so");
    let threads = fs::read_dir(home.project().join(".ai/agent/threads")).unwrap().flatten();
    let logs = threads.filter_map(|entry| fs::read_to_string(entry.path().join("transcript.jsonl")).ok());
    let events: Vec<Value> = logs.collect::<String>().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let told = events.iter().filter(|event| event["event_type"] == "notice");
    let told = told.filter_map(|event| event["payload"]["text"].as_str()).filter(|text| text.contains("MCP"));
    let told = told.map(ToOwned::to_owned).collect();
    home.wait_until_quiet();
    (home, told)
}

const TOLD: &str =
    "the MCP server sky says that its tools changed; levain goes on with those it knows: levain mcp refresh sky";

#[test]
fn a_server_whose_lists_changed_is_told_of_once_for_each_connection() {
    let (_home, told) = notices("2025-06-18");
    assert_eq!(told, [TOLD]);
}

#[test]
fn a_server_that_tells_only_who_asked_is_asked() {
    let (home, told) = notices("2026-07-28");
    assert_eq!(told, [TOLD]);
    let log = fs::read_to_string(home.path().join("server.log")).unwrap();
    let asked = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let asked = asked.filter(|line| line["method"] == "subscriptions/listen");
    let filters: Vec<Value> = asked.map(|mut line| line["params"]["notifications"].take()).collect();
    assert!(
        filters.iter().all(|one| *one == json!({ "toolsListChanged": true, "promptsListChanged": true })),
        "{filters:?}"
    );
    assert!(!filters.is_empty());
}
