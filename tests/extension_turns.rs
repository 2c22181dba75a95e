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
            r#""over" "quit""#
        ],
        "{:?}",
        project.events(&id)
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
