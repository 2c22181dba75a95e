//! What extensions are told of a turn, and by what they learn that it is stopped.

use crate::support::running_thread::{RunningThread, rests};
use crate::support::scripted_project::Project;
use crate::support::terminal;
use levain::domain::Command;
use levain::domain::event::{CancelScope, PromptMode};
use serde_json::{Value, json};
use std::fs;

fn granting(project: &Project) {
    let grants = "<execute><tool>rye/bash</tool><tool>extension/*</tool></execute>";
    let directive =
        format!("<directive name=\"work\"><metadata><permissions>{grants}</permissions></metadata></directive>");
    project.write(".ai/directives/work.md", &format!("```xml\n{directive}\n```\nWork.\n"));
}

fn replies(tool: &str) -> [Value; 2] {
    let called = json!({"steps": [{"tool_call": {"name": tool, "input": {}}}]});
    [json!({"when": {"after_tool": tool}, "steps": [{"text": "Done."}]}), called]
}

fn lines(project: &Project, file: &str) -> Vec<String> {
    let text = fs::read_to_string(project.home.project().join(file)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// What a tool gives beside its text is seen by whoever is told of its result, and what a handler makes of it is kept.
#[test]
fn details_of_a_result_go_through_handlers_and_are_kept_as_they_leave_them() {
    let extension = r#"import fs from "node:fs";
const told = (...words: any[]) => fs.appendFileSync("told", words.map((word) => JSON.stringify(word)).join(" ") + "\n");
export default (pi: any) => {
  pi.registerTool({ name: "st", label: "St", description: "x", parameters: { type: "object" },
    execute: async () => ({ content: [{ type: "text", text: "hi" }], details: { n: 7 } }) });
  pi.on("tool_result", (event: any) => {
    const source = (name: string) => pi.getAllTools().find((tool: any) => tool.name === name)?.sourceInfo?.source;
    told("result", event.details, source("bash"), typeof source("st"));
    return { details: { n: 99 } };
  });
  pi.on("tool_execution_end", (event: any) => told("end", event.result.details));
  pi.on("turn_end", (event: any, ctx: any) => {
    if (event.toolResults.length === 0) return;
    const kept = ctx.sessionManager.getBranch().filter((entry: any) => entry.message?.role === "toolResult");
    told("turn", event.toolResults[0].details, kept[0]?.message.details);
  });
  pi.on("context", (event: any) => {
    const result = event.messages.find((message: any) => message.role === "toolResult");
    if (!result) return;
    told("context", result.details);
    return { messages: event.messages.map((message: any) => message === result ? { ...result, content: [{ type: "text", text: "less" }], details: { n: 3 } } : message) };
  });
  pi.on("context", (event: any) => {
    const result = event.messages.find((message: any) => message.role === "toolResult");
    if (result) told("again", result.details);
  });
  pi.on("session_shutdown", (event: any) => told("over", event.reason));
};"#;
    let project = Project::with("", &replies("st"));
    granting(&project);
    project.write(".ai/extensions/e.ts", extension);
    let project = project.trusted();
    let id = project.run("go");
    let told = lines(&project, "told");
    assert_eq!(
        told,
        [
            r#""result" {"n":7} "builtin" "string""#,
            r#""end" {"n":99}"#,
            r#""turn" {"n":99} {"n":99}"#,
            r#""context" {"n":99}"#,
            r#""again" {"n":3}"#,
            r#""over" "quit""#
        ],
        "{:?}",
        project.events(&id)
    );
}

/// What an extension makes of an answer is what the log keeps; its calls are the model's.
#[test]
fn an_extension_has_the_last_word_of_an_answer_and_its_calls_stay() {
    let extension = r#"import fs from "node:fs";
const told = (...words: any[]) => fs.appendFileSync("told", words.join(" ") + "\n");
export default (pi: any) => {
  pi.on("message_end", ({ message }: any) => {
    if (message.role !== "assistant") return { message: { ...message, content: "passed over" } };
    // In place, as pi's own examples do.
    for (const part of message.content) if (part.type === "text") part.text = part.text.replace("sesame", "[gone]");
  });
  pi.on("message_end", ({ message }: any) => {
    if (message.role !== "assistant") return;
    told("saw", message.content.map((part: any) => part.text ?? `calls ${part.name}`));
    return { message: { ...message, content: [{ type: "text", text: "Look: " }, ...message.content] } };
  });
  pi.on("turn_end", ({ message }: any) => told("turn", message.content.map((part: any) => part.text ?? `calls ${part.name}`)));
};"#;
    let replies = [
        json!({"when": {"after_tool": "rye_bash"}, "steps": [{"text": "It is sesame."}]}),
        json!({"steps": [{"tool_call": {"name": "rye_bash", "input": {"command": "echo hi"}}}]}),
    ];
    let project = Project::with("", &replies);
    granting(&project);
    project.write(".ai/extensions/e.ts", extension);
    let project = project.trusted();
    let id = project.run("open");
    let told = lines(&project, "told");
    let expected = ["saw calls bash", "turn Look: ,calls bash", "saw It is [gone].", "turn Look: ,It is [gone]."];
    assert_eq!(told, expected, "{:?}", project.events(&id));
    let events = project.events(&id);
    let answers: Vec<_> = events.iter().filter(|(name, _)| name == "cognition_out").map(|(_, answer)| answer).collect();
    assert_eq!((&answers[0]["text"], &answers[1]["text"]), (&json!("Look: "), &json!("Look: It is [gone].")));
    assert_eq!(project.event(&id, "tool_call_start")["tool"], "rye_bash");
    assert_eq!(project.event(&id, "cognition_in")["text"], "open");
    let log = project.home.project().join(format!(".ai/agent/threads/{id}/transcript.jsonl"));
    assert!(!fs::read_to_string(log).unwrap().contains("sesame"));
}

/// Unlike a person, who goes on without a handler that they do not wait for.
#[tokio::test]
async fn an_extension_stops_the_turn_of_an_answer_before_its_calls() {
    let extension = r#"export default (pi: any) => {
  pi.on("message_end", async ({ message }: any, ctx: any) => {
    if (message.role !== "assistant") return;
    ctx.abort();
    await new Promise((resolve) => setTimeout(resolve, 20_000));
  });
};"#;
    let called =
        json!({"steps": [{"text": "Let me."}, {"tool_call": {"name": "rye_bash", "input": {"command": "touch ran"}}}]});
    let project = Project::with("", &[called]);
    granting(&project);
    project.write(".ai/extensions/e.ts", extension);
    let project = project.trusted();
    let mut thread = RunningThread::start(&project, "levain/chat").await;
    thread.say("go", PromptMode::FollowUp).await;
    let id = thread.id.to_string();
    let is_kept = || project.events(&id).iter().any(|(name, _)| name == "cognition_out");
    thread.until("it is stopped", |state| rests(state) && is_kept()).await;
    assert!(!project.home.project().join("ran").exists());
    let events = project.events(&id);
    let answer = events.iter().find(|(name, _)| name == "cognition_out").map(|(_, answer)| answer).unwrap();
    assert_eq!((&answer["text"], &answer["stop"]["reason"]), (&json!("Let me."), &json!("cancelled")), "{answer}");
}

/// Levels are the thread's: its log, its requests and whoever is told of them know the same.
#[test]
fn an_extension_sets_how_much_the_model_thinks_and_is_told_of_it() {
    let extension = r#"import fs from "node:fs";
const told = (...words: any[]) => fs.appendFileSync("told", words.join(" ") + "\n");
export default (pi: any) => {
  pi.on("before_agent_start", (_: any, ctx: any) => {
    told("first", pi.getThinkingLevel());
    pi.setThinkingLevel("high");
    told("then", pi.getThinkingLevel(), ctx.sessionManager.buildSessionContext().thinkingLevel);
    pi.setThinkingLevel("harder");
  });
  pi.on("thinking_level_select", (event: any) => told("select", event.previousLevel, event.level));
  pi.on("agent_end", (_: any, ctx: any) => {
    const changes = ctx.sessionManager.getEntries().filter((entry: any) => entry.type === "thinking_level_change");
    told("end", pi.getThinkingLevel(), ctx.model.id, changes.map((entry: any) => entry.thinkingLevel));
  });
};"#;
    let project = Project::extended(extension, &[json!({"steps": [{"text": "Done."}]})]);
    let id = project.run("go");
    let mut told = lines(&project, "told");
    told.sort();
    assert_eq!(told.len(), 4, "{told:?}");
    assert!(told[0].starts_with("end high ") && told[0].ends_with(" high"), "{told:?}");
    assert_eq!(told[1..], ["first off", "select off high", "then high high"]);
    let model = format!("{}:high", project.model);
    assert_eq!(project.event(&id, "model_changed")["model"], model.as_str());
    assert_eq!(project.event(&id, "request_recorded")["model"], model.as_str());
    assert!(
        project
            .events(&id)
            .iter()
            .any(|(name, event)| name == "notice"
                && event["text"].as_str().unwrap().contains("no model thinks `harder`"))
    );
}

/// What a handler waits for with `ctx.signal` ends with the turn.
#[tokio::test]
async fn a_handler_learns_by_its_signal_that_the_turn_is_stopped() {
    let extension = r#"import fs from "node:fs";
export default (pi: any) => {
  pi.on("input", (_event: any, ctx: any) => { fs.appendFileSync("told", `input ${ctx.signal}\n`); });
  pi.on("tool_call", (_event: any, ctx: any) => new Promise((resolve) => {
    fs.appendFileSync("told", `call ${ctx.signal.aborted}\n`);
    setTimeout(resolve, 20_000);
    ctx.signal.addEventListener("abort", () => { fs.appendFileSync("told", "stopped\n"); resolve(undefined); });
  }));
};"#;
    let project = Project::with("", &replies("bash"));
    granting(&project);
    project.write(".ai/extensions/e.ts", extension);
    let project = project.trusted();
    let mut thread = RunningThread::start(&project, "work").await;
    thread.say("go", PromptMode::FollowUp).await;
    terminal::poll("the handler waits", || lines(&project, "told").len() == 2);
    thread.ask(Command::Cancel { scope: CancelScope::Turn }).await.unwrap();
    thread.until("it rests", rests).await;
    terminal::poll("it is told", || lines(&project, "told").len() == 3);
    assert_eq!(lines(&project, "told"), ["input undefined", "call false", "stopped"]);
    thread.leave().await;
}

/// Whoever keeps count of what happens can decide by it: a guard knows of the turn and of the call that it is asked about. Tools
/// have pi's names everywhere.
#[test]
fn guards_are_asked_behind_what_happened_before_and_tools_have_pis_names_in_messages() {
    let extension = r#"import fs from "node:fs";
const told = (...words: any[]) => fs.appendFileSync("told", words.map((word) => JSON.stringify(word)).join(" ") + "\n");
const seen: string[] = [];
const names = (messages: any[]) => messages.flatMap((message) => message.toolName ??
  (message.role === "assistant" ? message.content.filter((one: any) => one.type === "toolCall").map((one: any) => one.name) : []));
export default (pi: any) => {
  for (const event of ["agent_start", "turn_start", "message_start", "tool_execution_start", "tool_execution_end", "turn_end"])
    pi.on(event, async (told: any) => {
      await new Promise((resolve) => setTimeout(resolve, 2));
      seen.push(event + (told.message?.role ? " " + told.message.role : ""));
    });
  pi.on("context", (event: any) => {
    told("context", seen.splice(0), names(event.messages));
    const results = event.messages.filter((message: any) => message.toolName === "bash");
    if (results.length > 0) return { messages: event.messages.map((one: any) =>
      one.toolName === "bash" ? { ...one, content: [{ type: "text", text: "left out" }] } : one) };
  });
  pi.on("tool_call", (event: any) => {
    told("call", seen.splice(0), event.toolName);
    return { block: true, reason: "no" };
  });
  pi.on("turn_end", (event: any, ctx: any) => {
    const branch = ctx.sessionManager.getBranch().map((entry: any) => entry.message).filter(Boolean);
    told("turn", names([event.message, ...event.toolResults]), names(branch));
  });
  pi.on("agent_end", (event: any) => told("end", names(event.messages)));
};"#;
    let called = json!({"steps": [{"tool_call": {"name": "rye_bash", "input": {"command": "true"}}}]});
    let after = json!({"when": {"after_tool": "rye_bash"}, "steps": [{"text": "Done."}]});
    let project = Project::with("", &[after, called]);
    granting(&project);
    project.write(".ai/extensions/e.ts", extension);
    let project = project.trusted();
    let id = project.run("go");
    assert_eq!(
        lines(&project, "told"),
        [
            r#""context" ["agent_start","turn_start","message_start user"] []"#,
            r#""call" ["message_start assistant","tool_execution_start"] "bash""#,
            r#""turn" ["bash","bash"] ["bash","bash"]"#,
            r#""context" ["tool_execution_end","message_start toolResult","turn_end assistant","turn_start"] ["bash","bash"]"#,
            r#""turn" [] ["bash","bash"]"#,
            r#""end" ["bash","bash"]"#,
        ],
        "{:?}",
        project.events(&id)
    );
    // What was changed went out under the name that the model knows.
    let (code, sent, err) = project.levain(&["context", "show", "--thread", &id, "--wire"]);
    assert_eq!(code, 0, "{err}");
    assert!(sent.contains("left out") && sent.contains("rye_bash") && !sent.contains("\"bash\""), "{sent}");
}

/// What wants the conversation compacted waits for the thread, and is told what came of it.
#[tokio::test]
async fn an_extension_is_told_when_a_compaction_is_done() {
    let extension = r#"import fs from "node:fs";
const told = (...words: any[]) => fs.appendFileSync("told", words.map((word) => JSON.stringify(word)).join(" ") + "\n");
export default (pi: any) => {
  let summary: string | undefined = "A summary.";
  pi.on("agent_end", (_event: any, ctx: any) => ctx.compact({
    onComplete: (result: any) => told("done", result.summary.endsWith("A summary."), typeof result.firstKeptEntryId, result.tokensBefore > 0),
    onError: (error: any) => told("failed", error.message),
  }));
  pi.on("session_before_compact", () => {
    told("asked");
    const answer = summary ? { compaction: { summary } } : { cancel: true };
    summary = undefined;
    return answer;
  });
  pi.on("session_compact", (event: any) => told("event", event.compactionEntry.summary.endsWith("A summary."), typeof event.compactionEntry.id));
};"#;
    let project = Project::with("", &[json!({"steps": [{"text": "Done."}]})]);
    granting(&project);
    project.write(".ai/extensions/e.ts", extension);
    let project = project.trusted();
    let mut thread = RunningThread::start(&project, "work").await;
    let failed = r#""failed" "the conversation was not compacted""#;
    // Nothing is older than what was said just now.
    thread.say("go", PromptMode::FollowUp).await;
    terminal::poll("it is told that nothing was compacted", || lines(&project, "told").len() == 1);
    thread.say("on", PromptMode::FollowUp).await;
    terminal::poll("it is compacted", || lines(&project, "told").len() == 4);
    let mut told = lines(&project, "told");
    told[2..].sort();
    let done = [r#""asked""#, r#""done" true "string" true"#, r#""event" true "string""#];
    assert_eq!(told, [&[failed], &done[..]].concat());
    // A handler wants none.
    thread.say("more", PromptMode::FollowUp).await;
    terminal::poll("it is told that it was cancelled", || lines(&project, "told").len() == 6);
    assert_eq!(lines(&project, "told")[4..], [r#""asked""#, failed]);
    thread.leave().await;
}

/// A guard that blocks a call may say that the model is not to answer that.
#[test]
fn a_guard_may_end_the_turn_with_the_call() {
    let extension = r#"export default (pi: any) => {
  pi.on("tool_call", () => ({ block: true, reason: "enough", terminate: true }));
};"#;
    let project = Project::with("", &replies("rye_bash"));
    granting(&project);
    project.write(".ai/extensions/e.ts", extension);
    let project = project.trusted();
    let id = project.run("go");
    let kinds: Vec<_> = project.events(&id).into_iter().map(|(kind, _)| kind).collect();
    let count = |wanted: &str| kinds.iter().filter(|kind| *kind == wanted).count();
    assert_eq!((count("cognition_out"), count("tool_call_result")), (1, 1), "{kinds:?}");
}

/// What extensions do not know of they do not take away.
#[test]
fn the_active_tools_given_back_are_all_there_were() {
    let offered = |extension: &str| {
        let project = Project::with("", &[json!({"steps": [{"text": "Done."}]})]);
        project.write(".ai/extensions/e.ts", extension);
        let project = project.trusted();
        let (code, out, err) = project.levain(&["run", "--json", "--model", &project.model, "go"]);
        assert_eq!(code, 0, "{err}");
        let told: Value = serde_json::from_str(out.lines().next().unwrap()).unwrap();
        let id = told["thread_id"].as_str().unwrap();
        let (_, sent, _) = project.levain(&["context", "show", "--thread", id, "--wire"]);
        let sent: Value = serde_json::from_str(&sent).unwrap_or_else(|_| panic!("{sent}"));
        let names = sent["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone());
        names.collect::<Vec<_>>()
    };
    let all = offered("export default () => {};");
    assert!(all.contains(&"rye_execute".into()), "{all:?}");
    let same = "export default (pi: any) => { pi.on('session_start', () => pi.setActiveTools(pi.getActiveTools())); };";
    assert_eq!(offered(same), all);
    let fewer = "export default (pi: any) => { pi.on('session_start', () => pi.setActiveTools(['read'])); };";
    let fewer = offered(fewer);
    assert!(fewer.contains(&"rye_file_system_read".into()) && !fewer.contains(&"rye_bash".into()), "{fewer:?}");
}

/// What an extension says before the first request, or while a prompt goes through its handlers, goes along with that prompt: it is
/// neither a prompt of its own nor asked about by itself.
#[test]
fn what_is_said_before_a_request_goes_along_with_its_prompt() {
    let extension = r#"export default (pi: any) => {
  pi.on("session_start", async () => {
    await pi.exec("true", []);
    pi.sendMessage({ customType: "state", content: "FIRST OF ALL", display: false });
  });
  pi.on("before_agent_start", () => { pi.sendMessage({ customType: "state", content: "BESIDE THE PROMPT", display: false }); });
};"#;
    let project = Project::with("", &[json!({"steps": [{"text": "Done."}]})]);
    granting(&project);
    project.write(".ai/extensions/e.ts", extension);
    let project = project.trusted();
    let id = project.run("go on");
    let (code, sent, err) = project.levain(&["context", "show", "--thread", &id, "--wire"]);
    assert_eq!(code, 0, "{err}");
    let places = ["FIRST OF ALL", "BESIDE THE PROMPT", "go on"].map(|text| sent.find(text));
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?} {sent}");
    let count = |kind: &str| project.events(&id).iter().filter(|(other, _)| other == kind).count();
    assert_eq!((count("request_recorded"), count("cognition_in")), (1, 1), "{:?}", project.events(&id));
}
