//! The primaries and the return of a directive, through the whole program.

use crate::support::terminal::Home;
use serde_json::Value;
use std::process::{Command, Stdio};

const REVIEW: &str = "```xml
<directive name=\"review\" version=\"1.0.0\">
  <metadata>
    <description>Looks something over</description>
    <category>team</category>
    <author>a</author>
    <permissions><fetch><knowledge>team/*</knowledge></fetch></permissions>
  </metadata>
  <outputs>
    <output name=\"verdict\" type=\"string\" required=\"true\">good or mend</output>
    <output name=\"findings\" type=\"array\">What to mend</output>
  </outputs>
</directive>
```
Look it over.
";

const RULES: &str = "```yaml
name: rules
title: House rules
entry_type: context
category: team
version: \"1.0.0\"
author: a
```
Be kind.
";

fn json(command: &mut Command) -> (i32, Value) {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    (output.status.code().unwrap(), serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}")))
}

/// A project with a directive and the rules it may read, and a model that answers by `replies`.
fn project(replies: &str) -> (Home, String) {
    let home = Home::new();
    let ai = home.project().join(".ai");
    for (path, text) in [("directives/team/review.md", REVIEW), ("knowledge/team/rules.md", RULES)] {
        std::fs::create_dir_all(ai.join(path).parent().unwrap()).unwrap();
        std::fs::write(ai.join(path), text).unwrap();
    }
    let path = home.path().join("model.yaml");
    std::fs::write(&path, format!("name: t\nrate: 0\nreplies:\n{replies}")).unwrap();
    let model = format!("scripted/{}", path.display());
    assert!(home.levain(&["trust"]).stdin(Stdio::null()).output().unwrap().status.success());
    (home, model)
}

fn events(home: &Home, result: &Value) -> Vec<Value> {
    let id = result["thread_id"].as_str().unwrap();
    let log = home.project().join(format!(".ai/agent/threads/{id}/transcript.jsonl"));
    std::fs::read_to_string(log).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn results(events: &[Value]) -> Vec<&str> {
    let named = events.iter().filter(|event| event["event_type"] == "tool_call_result");
    named.map(|event| event["payload"]["output"].as_str().unwrap()).collect()
}

#[test]
fn a_directive_hands_back_what_it_promises() {
    let (home, model) = project(
        "  - when: {after_tool: directive_return}\n    steps: [{tool_call: {name: directive_return, input: {verdict: mend, findings: [a, b]}}}]\n  \
         - steps:\n      - tool_call: {name: directive_return, input: {findings: [a]}}\n",
    );
    let run = ["run", "--json", "--model", &model, "--directive", "team/review"];
    let (code, result) = json(&mut home.levain(&run));
    assert_eq!((code, &result["status"]), (0, &"completed".into()), "{result}");
    assert_eq!(result["outputs"], serde_json::json!({"verdict": "mend", "findings": ["a", "b"]}));
    let events = events(&home, &result);
    assert_eq!(
        results(&events),
        ["Nothing was returned: `verdict` is missing. Call it again with all outputs.", "The outputs are returned."]
    );
    // Two turns: nothing is asked of the model once it has returned.
    assert_eq!(result["cost"]["turns"], 2);
    let record =
        home.project().join(format!(".ai/agent/threads/{}/requests/1.json", result["thread_id"].as_str().unwrap()));
    let record: Value = serde_json::from_slice(&std::fs::read(record).unwrap()).unwrap();
    let tools: Vec<&str> =
        record["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(tools, ["rye_fetch", "directive_return"]);
    let text = home
        .levain(&run[..1])
        .args(["--model", &model, "--directive", "team/review"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let printed: Value = serde_json::from_slice(&text.stdout).unwrap();
    assert_eq!(printed["verdict"], "mend");
}

#[test]
fn a_directive_that_cannot_be_done_ends_in_its_own_words() {
    let (home, model) = project(
        "  - steps:\n      - tool_call: {name: directive_return, input: {status: error, error_detail: the file is gone}}\n",
    );
    let (code, result) = json(&mut home.levain(&["run", "--json", "--model", &model, "--directive", "team/review"]));
    assert_eq!((code, &result["status"], &result["error"]), (1, &"error".into(), &"the file is gone".into()));
}

#[test]
fn a_model_that_only_talks_is_reminded_and_then_keeps_no_promise() {
    let (home, model) = project("  - steps:\n      - text: All done!\n");
    let run = ["run", "--model", &model, "--directive", "team/review"];
    let (code, result) = json(home.levain(&run).arg("--json"));
    assert_eq!((code, &result["status"], &result["success"]), (1, &"completed".into(), &false.into()), "{result}");
    let why = "`team/review` declares outputs (`verdict`), but its model returned none";
    assert_eq!(result["error"], why);
    let reminded = events(&home, &result).iter().filter(|event| event["payload"]["role"] == "nudge").count();
    assert_eq!((reminded, &result["cost"]["turns"]), (2, &3.into()));
    let said = home.levain(&run).stdin(Stdio::null()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&said.stdout), "All done!\n");
    assert!(String::from_utf8_lossy(&said.stderr).contains(why), "{said:?}");
}

#[test]
fn a_model_that_is_reminded_hands_back_what_was_promised() {
    let (home, model) = project(
        "  - when: {contains: have not handed back}\n    steps: [{tool_call: {name: directive_return, input: {verdict: good}}}]\n  \
         - steps:\n      - text: All done!\n",
    );
    let run = ["run", "--json", "--model", &model, "--directive", "team/review"];
    let (code, result) = json(&mut home.levain(&run));
    assert_eq!((code, &result["outputs"]["verdict"]), (0, &"good".into()), "{result}");
    let texts: Vec<_> =
        events(&home, &result).into_iter().filter(|event| event["payload"]["role"] == "nudge").collect();
    assert!(texts.len() == 1 && texts[0]["payload"]["text"].as_str().unwrap().contains("with: verdict"), "{texts:?}");
}

#[test]
fn primaries_reach_what_is_granted_and_nothing_else() {
    let (home, model) = project(
        "  - when: {after_tool: rye_fetch}\n    steps: [{tool_call: {name: directive_return, input: {verdict: good}}}]\n  \
         - steps:\n      - tool_call: {name: rye_fetch, input: {item_type: knowledge, item_id: team/rules}}\n      \
         - tool_call: {name: rye_fetch, input: {item_type: directive, item_id: team/review}}\n      \
         - tool_call: {name: rye_execute, input: {item_type: tool, item_id: rye/bash, parameters: {command: id}}}\n      \
         - tool_call: {name: rye_fetch, input: {query: kind, scope: knowledge.team.*}}\n",
    );
    let (code, result) = json(&mut home.levain(&["run", "--json", "--model", &model, "--directive", "team/review"]));
    assert_eq!(code, 0, "{result}");
    let events = events(&home, &result);
    // Calls that only read end in any order.
    let results = results(&events);
    assert_eq!(results.len(), 5, "{results:?}");
    let told = |what: &dyn Fn(&str) -> bool| assert!(results.iter().any(|result| what(result)), "{results:?}");
    told(&|rules| rules.ends_with("Be kind.\n"));
    told(&|found| found.contains("- knowledge `team/rules`"));
    told(&|directive| directive.contains("does not grant `rye.fetch.directive.team.review`"));
    told(&|bash| bash.contains("does not grant `rye.execute.tool.rye.bash`"));
}

#[test]
fn a_bare_directive_has_its_primaries_listed_and_its_calls_denied() {
    let (home, model) = project(
        "  - when: {after_tool: rye_fetch}\n    steps: [{text: Done.}]\n  \
         - steps:\n      - tool_call: {name: rye_fetch, input: {item_type: knowledge, item_id: team/rules}}\n",
    );
    let bare = "```xml\n<directive name=\"bare\" version=\"1.0.0\"></directive>\n```\nGo.\n";
    std::fs::write(home.project().join(".ai/directives/team/bare.md"), bare).unwrap();
    let (code, result) = json(&mut home.levain(&["run", "--json", "--model", &model, "--directive", "team/bare"]));
    assert_eq!((code, &result["result"]), (0, &"Done.".into()), "{result}");
    let events = events(&home, &result);
    assert!(results(&events)[0].starts_with("Permission denied"), "{:?}", results(&events));
    let show = ["context", "show", "team/bare", "--json"];
    let (_, shown) = json(&mut home.levain(&show));
    let tools: Vec<&str> = shown["layers"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|layer| layer["kind"] == "tool_schema")
        .map(|layer| layer["id"].as_str().unwrap())
        .collect();
    assert_eq!(tools, ["rye/execute", "rye/fetch", "rye/sign"]);
}

/// The files that `docs/directives.md` shows, made in a project and tried as the page says.
#[test]
fn the_page_about_directives_is_true() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/directives.md")).unwrap();
    let home = Home::new();
    for shown in page.split("<!-- file: ").skip(1) {
        let (path, rest) = shown.split_once(" -->").unwrap();
        let text = rest.split("````markdown\n").nth(1).and_then(|rest| rest.split("````").next()).unwrap();
        let file = home.project().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    let check = home.levain(&["check"]).stdin(Stdio::null()).output().unwrap();
    assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stdout));
    let layers = |arguments: &[&str]| {
        let (_, shown) = json(&mut home.levain(&[&["context", "show", "--json"], arguments].concat()));
        let layers = shown["layers"].as_array().unwrap();
        layers.iter().map(|layer| layer["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let bare = layers(&["team/haiku"]);
    assert_eq!(bare[..3], ["levain/Constitution", "ctx_environment", "ctx_directive_instruction"], "{bare:?}");
    let shipped = layers(&["team/ship", "--input", "target=staging"]);
    for id in
        ["levain/core/Identity", "team/environments", "team/ship", "rye/bash", "rye/agent/threads/directive_return"]
    {
        assert!(shipped.iter().any(|layer| layer == id), "{id} is not in {shipped:?}");
    }
    let listed =
        home.levain(&["pipeline", "list", "--directive", "team/release"]).stdin(Stdio::null()).output().unwrap();
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(listed.contains("before_agent_start style") && listed.contains("context names"), "{listed}");
    for element in ["<description>", "<model", "<limits", "<permissions>", "<context>", "<hooks>", "<handlers>"] {
        assert!(page.contains(&format!("| `{element}")), "{element} is not told");
    }
}
