//! Agent sessions of extensions: models and tools of the thread, at its cost and within what it may do.

use crate::support::scripted_project::Project;
use serde_json::{Value, json};

/// A tool that has an agent do a task with tools of its own.
const DELEGATE: &str = r#"import { createAgentSession, DefaultResourceLoader, SessionManager } from "@mariozechner/pi-coding-agent";
export default (pi: any) => {
  pi.registerTool({ name: "delegate", label: "Delegate", description: "Delegates", parameters: { type: "object", properties: { task: { type: "string" } } },
    execute: async (_id: string, { task }: any, signal: any, onUpdate: any, ctx: any) => {
      const loader = new DefaultResourceLoader({ cwd: ctx.cwd, noContextFiles: true, systemPrompt: "You are a scout." });
      await loader.reload();
      const { session } = await createAgentSession({ cwd: ctx.cwd, model: ctx.model, tools: ["read", "write", "bash"], resourceLoader: loader, sessionManager: SessionManager.inMemory() });
      const seen: string[] = [];
      session.subscribe((event: any) => { if (event.type === "tool_execution_end") { seen.push(`${event.toolName}:${event.isError}`); onUpdate({ content: [{ type: "text", text: seen.join(" ") }] }); } });
      signal?.addEventListener("abort", () => session.abort());
      await session.prompt(task);
      const { toolCalls } = session.getSessionStats();
      session.dispose();
      const refused = session.messages.filter((message: any) => message.isError).map((message: any) => message.content[0].text);
      return { content: [{ type: "text", text: JSON.stringify({ said: session.getLastAssistantText(), seen, toolCalls, refused }) }] };
    } });
};"#;

#[test]
fn an_agent_of_an_extension_works_at_the_threads_cost_and_within_what_it_may_do() {
    let calls = json!([
        {"tool_call": {"name": "read", "input": {"path": "notes.txt"}}},
        {"tool_call": {"name": "write", "input": {"path": "made.txt", "content": "x"}}},
        {"tool_call": {"name": "bash", "input": {"command": "touch ran"}}}
    ]);
    let replies = [
        json!({"when": {"after_tool": "delegate"}, "steps": [{"text": "Parent done."}]}),
        json!({"when": {"after_tool": "bash"}, "steps": [{"text": "The scout is back."}]}),
        json!({"when": {"anywhere": "look into the notes"}, "steps": calls}),
        json!({"steps": [{"tool_call": {"name": "delegate", "input": {"task": "look into the notes"}}}]}),
    ];
    let project = Project::extended(DELEGATE, &replies);
    let grants = "```xml\n<directive name=\"work\"><metadata><permissions><execute><tool>extension/delegate</tool>\
                  <tool>rye/file-system/read</tool></execute></permissions></metadata></directive>\n```\nWork.\n";
    project.write(".ai/directives/work.md", grants);
    project.write("notes.txt", "the notes");
    let project = project.trusted();
    let id = project.run("go");
    let result = project.event(&id, "tool_call_result");
    let told: Value = serde_json::from_str(result["output"].as_str().unwrap()).unwrap_or_else(|_| panic!("{result}"));
    assert_eq!((&told["said"], &told["toolCalls"]), (&json!("The scout is back."), &json!(3)), "{told}");
    let mut seen: Vec<&str> = told["seen"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    seen.sort_unstable();
    assert_eq!(seen, ["bash:true", "read:false", "write:true"], "{told}");
    let refused = told["refused"].to_string();
    assert!(
        refused.contains("may not use rye/bash") && refused.contains("may not use rye/file-system/write"),
        "{told}"
    );
    let there = |name: &str| project.home.project().join(name).exists();
    assert!(!there("made.txt") && !there("ran"));
    // Both of its requests are in the log, and what they cost is the thread's.
    let calls: Vec<Value> = project
        .events(&id)
        .into_iter()
        .filter(|(name, event)| name == "extension_entry" && event["entry"]["entry"] == "model_call")
        .map(|(_, event)| event["entry"].clone())
        .collect();
    assert_eq!(calls.len(), 2, "{calls:?}");
    let of_agent: u64 = calls.iter().filter_map(|call| call["usage"]["output"].as_u64()).sum();
    let of_thread: u64 = project
        .events(&id)
        .iter()
        .filter(|(name, _)| name == "cognition_out")
        .filter_map(|(_, out)| out["usage"]["output"].as_u64())
        .sum();
    let cost = project.event(&id, "thread_completed")["cost"].clone();
    assert_eq!(cost["usage"]["output"].as_u64(), Some(of_thread + of_agent), "{cost}");
}

/// Beside the file of their session, as pi's packages do, extensions may keep files; nowhere else below `.ai`.
const KEEPS: &str = r#"import fs from "node:fs";
import path from "node:path";
export default (pi: any) => { pi.on("input", (event: any, ctx: any) => {
  const file = ctx.sessionManager.getSessionFile();
  const thread = path.dirname(path.dirname(file));
  const own = file.slice(0, -".jsonl".length);
  const tried = (work: () => void) => { try { work(); return "made"; } catch (error: any) { return error.code; } };
  const told = [
    tried(() => { fs.mkdirSync(path.join(own, "runs/1"), { recursive: true }); fs.writeFileSync(path.join(own, "runs/1/session.jsonl"), "{}"); fs.rmSync(path.join(own, "runs/1"), { recursive: true }); fs.writeFileSync(path.join(own, "kept"), "x"); }),
    tried(() => fs.mkdirSync(path.join(path.dirname(file), "artifacts"))), tried(() => fs.appendFileSync(path.join(thread, "transcript.jsonl"), "{}")), tried(() => fs.writeFileSync(path.join(thread, "thread.json"), "{}")),
    tried(() => fs.mkdirSync(path.join(path.dirname(thread), "other/session"), { recursive: true })), tried(() => fs.symlinkSync("/etc", path.join(own, "link"))),
  ];
  return { action: "transform", text: told.join(" ") };
}); };"#;

#[test]
fn extensions_keep_files_beside_their_session() {
    let project = Project::extended(KEEPS, &[json!({"steps": [{"text": "Done."}]})]);
    let id = project.run("go");
    let said = project.event(&id, "cognition_in")["text"].clone();
    assert_eq!(said, "made made EACCES EACCES EACCES EACCES", "{said}");
    let kept = project.home.project().join(".ai/agent/threads").join(&id).join(format!("session/{id}/kept"));
    assert!(kept.exists());
    // They go with the thread.
    let (code, out, err) = project.levain(&["threads", "rm", "--yes", &id]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(!kept.exists());
}
