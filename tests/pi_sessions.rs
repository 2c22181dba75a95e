//! Sessions of pi: read into threads, and written out again.

use crate::support::conversation::has_said;
use crate::support::model_server::{KEY, ModelServer};
use crate::support::terminal::Home;
use serde_json::{Value, json};
use std::process::Stdio;

const PNG: &str = "iVBORw0KGgpyZXN0";

/// A session with a call, an image, a command, a summary of older messages, and two branches behind the first answer.
fn session() -> Vec<Value> {
    let entry = |id: &str, parent: Option<&str>, more: Value| {
        let mut entry = json!({"id": id, "parentId": parent, "timestamp": "2026-03-15T10:00:00.000Z"});
        entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        entry
    };
    let said = |message: Value| json!({"type": "message", "message": message});
    let user = |text: &str| said(json!({"role": "user", "content": text, "timestamp": 1}));
    let answer = |content: Value, stop: &str| {
        said(json!({"role": "assistant", "content": content, "provider": "anthropic", "model": "claude-x",
            "stopReason": stop, "timestamp": 1, "usage": {"input": 10, "output": 5, "cacheRead": 1, "cacheWrite": 2,
            "totalTokens": 18, "cost": {"total": 0.25}}}))
    };
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let call = json!([{"type": "text", "text": "I look."}, {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "a"}}]);
    let result = json!({"role": "toolResult", "toolCallId": "c1", "toolName": "read", "isError": false, "timestamp": 1,
        "details": {"lines": 3}, "content": [{"type": "text", "text": "a file"}, {"type": "image", "mimeType": "image/png", "data": PNG}]});
    let ran = json!({"role": "bashExecution", "command": "make", "output": "built", "exitCode": 0, "cancelled": false,
        "truncated": false, "excludeFromContext": true, "timestamp": 1});
    vec![
        json!({"type": "session", "version": 3, "id": "9d2e", "timestamp": "2026-03-15T10:00:00.000Z", "cwd": "/p"}),
        entry("00000001", None, user("the first question")),
        entry("00000002", Some("00000001"), answer(call, "toolUse")),
        entry("00000003", Some("00000002"), said(result)),
        entry("00000004", Some("00000003"), answer(text("The first answer."), "stop")),
        entry("00000005", Some("00000004"), json!({"type": "custom", "customType": "state", "data": {"n": 1}})),
        entry("00000006", Some("00000005"), user("the left question")),
        entry("00000007", Some("00000006"), answer(text("The left answer."), "stop")),
        entry("00000008", Some("00000007"), json!({"type": "label", "targetId": "00000006", "label": "a wrong turn"})),
        entry(
            "00000009",
            Some("00000004"),
            json!({"type": "branch_summary", "fromId": "00000004", "summary": "Left was tried."}),
        ),
        entry(
            "0000000a",
            Some("00000009"),
            json!({"type": "custom_message", "customType": "note", "content": "a note", "display": true}),
        ),
        entry("0000000b", Some("0000000a"), user("the second question")),
        entry("0000000c", Some("0000000b"), answer(text("The second answer."), "stop")),
        entry("0000000d", Some("0000000c"), said(ran)),
        entry(
            "0000000e",
            Some("0000000d"),
            json!({"type": "compaction", "summary": "All so far.", "firstKeptEntryId": "0000000b", "tokensBefore": 900}),
        ),
        entry("0000000f", Some("0000000e"), json!({"type": "session_info", "name": "the two questions"})),
        entry("00000010", Some("0000000f"), user("the third question")),
        entry("00000011", Some("00000010"), answer(text("The third answer."), "stop")),
    ]
}

fn file(home: &Home, lines: &[String]) -> String {
    let path = home.project().join("session.jsonl");
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    path.display().to_string()
}

fn levain(home: &Home, arguments: &[&str]) -> (bool, String, String) {
    let output = home.levain(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.success(), text(output.stdout), text(output.stderr))
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What both programs know of the entries, each with that of the entries before it on its path.
fn told(entries: &[Value]) -> Vec<String> {
    let one = |entry: &Value| {
        let message = entry.get("message");
        let text = |content: &Value| match content {
            Value::Array(blocks) => blocks
                .iter()
                .map(|block| match block["type"].as_str().unwrap() {
                    "text" => block["text"].as_str().unwrap().to_owned(),
                    "image" => format!("{}:{}", block["mimeType"], block["data"]),
                    _ => format!("{} {} {}", block["id"], block["name"], block["arguments"]),
                })
                .collect::<Vec<_>>()
                .join("|"),
            other => other.as_str().unwrap_or_default().to_owned(),
        };
        match (entry["type"].as_str().unwrap(), message) {
            ("message", Some(message)) => format!(
                "{} {} {} {} {} {} {}",
                message["role"],
                text(&message["content"]),
                message["command"],
                message["details"],
                message["stopReason"],
                message["usage"]["cost"]["total"],
                message["excludeFromContext"],
            ),
            (kind, _) => {
                format!("{kind} {}{}{} {}", text(&entry["content"]), entry["summary"], entry["data"], entry["name"])
            }
        }
    };
    let place = |id: &Value| entries.iter().find(|entry| entry["id"] == *id && !id.is_null());
    let path = |entry: &Value| {
        let mut path = vec![one(entry)];
        let mut at = place(&entry["parentId"]);
        while let Some(entry) = at {
            // Labels and names stand elsewhere in a file of ours.
            if !matches!(entry["type"].as_str(), Some("label" | "session_info")) {
                path.push(one(entry));
            }
            at = place(&entry["parentId"]);
        }
        path.join(" < ")
    };
    let known =
        entries.iter().filter(|entry| !matches!(entry["type"].as_str(), Some("session" | "label" | "session_info")));
    let mut told: Vec<String> = known.map(path).collect();
    told.sort();
    told
}

#[test]
fn a_session_of_pi_becomes_threads_and_is_written_out_as_it_was() {
    let (home, server) = (Home::new(), ModelServer::start());
    let session = session();
    let path = file(&home, &session.iter().map(Value::to_string).collect::<Vec<_>>());
    let (done, made, said) = levain(&home, &["threads", "import", &path, "--json"]);
    assert!(done && said.is_empty(), "{said}");
    let ids: Vec<String> = lines(&made).iter().map(|line| line["thread_id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids.len(), 2, "one for each branch");
    let (_, listed, _) = levain(&home, &["threads", "--json"]);
    assert!(lines(&listed).iter().any(|row| row["title"] == "the two questions"), "{listed}");
    let (_, tree, _) = levain(&home, &["threads", "conversation", &ids[0], "--json"]);
    let left = lines(&tree).into_iter().find(|row| row["label"] == "a wrong turn").expect("the label");
    assert_eq!((&left["text"], &left["level"], &left["here"]), (&json!("the left question"), &json!(1), &json!(false)));
    for id in &ids {
        let (done, written, why) = levain(&home, &["transcript", id, "--export", "pi"]);
        assert!(done, "{why}");
        let written = lines(&written);
        assert_eq!(written[0]["type"], "session");
        assert_eq!(told(&written), told(&session));
        let label = written.iter().find(|entry| entry["type"] == "label").expect("the label");
        let target = written.iter().find(|entry| entry["id"] == label["targetId"]).expect("its entry");
        assert_eq!(target["message"]["content"][0]["text"], "the left question", "{target}");
        let compaction = written.iter().find(|entry| entry["type"] == "compaction").unwrap();
        let kept = written.iter().find(|entry| entry["id"] == compaction["firstKeptEntryId"]).expect("what is kept");
        assert_eq!(kept["message"]["content"][0]["text"], "the second question", "{kept}");
    }
    // A model gets what pi's would: the summary in the place of what is older.
    let mut run = home.levain(&["run", "--model", "anthropic/test-model", "--fork", &ids[1], "and now"]);
    run.env("ANTHROPIC_BASE_URL", server.base()).env("ANTHROPIC_API_KEY", KEY).stdin(Stdio::null());
    let run = run.stdout(Stdio::piped()).spawn().unwrap();
    let call = server.call();
    assert!(
        has_said(&call.messages(), "The left answer.") && call.body.to_string().contains("a file"),
        "{}",
        call.body
    );
    call.answer("Well.");
    assert!(run.wait_with_output().unwrap().status.success());
    home.wait_until_quiet();
}

#[test]
fn a_line_that_does_not_read_costs_itself_and_a_file_of_another_kind_is_refused() {
    let home = Home::new();
    let mut all: Vec<String> = session().iter().take(2).map(Value::to_string).collect();
    all.push("{ nonsense".to_owned());
    all.push(json!({"type": "hologram", "id": "x", "parentId": "00000001"}).to_string());
    all.push(
        json!({"type": "message", "id": "y", "parentId": "nobody", "message": {"role": "user", "content": "again"}})
            .to_string(),
    );
    let path = file(&home, &all);
    let (done, made, said) = levain(&home, &["threads", "import", &path]);
    assert!(done && made.lines().count() == 1, "{made}{said}");
    for (line, what) in
        [(3, "this is not JSON"), (4, "`hologram` are not known"), (5, "`nobody` does not stand before it")]
    {
        assert!(said.contains(&format!("session.jsonl:{line}: ")) && said.contains(what), "{said}");
    }
    // The first form: a line without ids.
    let first = [
        json!({"type": "session", "id": "1", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/p"}),
        json!({"type": "message", "timestamp": "2026-01-01T00:00:00.000Z", "message": {"role": "user", "content": "hello"}}),
        json!({"type": "message", "timestamp": "2026-01-01T00:00:00.000Z", "message": {"role": "assistant", "content": [{"type": "text", "text": "hi"}]}}),
    ];
    let path = file(&home, &first.iter().map(Value::to_string).collect::<Vec<_>>());
    let (done, made, said) = levain(&home, &["threads", "import", &path]);
    assert!(done, "{said}");
    let (_, tree, _) = levain(&home, &["threads", "conversation", made.trim(), "--json"]);
    assert_eq!(lines(&tree).iter().map(|row| row["text"].as_str().unwrap()).collect::<Vec<_>>(), ["hello", "hi"]);
    for (text, why) in [
        ("{\"type\": \"session\", \"version\": 4}\n", "not the head of a session of pi of version 3"),
        ("{\"type\": \"message\"}\n", "not the head"),
        ("", "is empty"),
        ("{\"type\": \"session\", \"version\": 3}\n", "nothing was said"),
    ] {
        std::fs::write(home.project().join("session.jsonl"), text).unwrap();
        let (done, _, said) = levain(&home, &["threads", "import", &path]);
        assert!(!done && said.contains(why), "{text}: {said}");
    }
    let (done, _, said) = levain(&home, &["threads", "import", "/nowhere.jsonl"]);
    assert!(!done && said.contains("cannot be read"), "{said}");
}
