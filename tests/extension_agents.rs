//! Agent sessions of extensions: models and tools of the thread, at its cost and within what it may do.

use crate::support::scripted_project::Project;
use crate::support::terminal::{key, poll};
use serde_json::{Value, json};
use std::fs;

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

/// What an extension does with the built-in tools beside the thread's calls, and a guard.
const BESIDE: &str = r#"import { createReadTool, createWriteTool } from "@mariozechner/pi-coding-agent";
import path from "node:path";
export default (pi: any) => {
  pi.on("tool_call", (event: any) => (event.toolName === "write" && event.input.path === ".env" ? { block: true, reason: "not the secrets" } : undefined));
  pi.on("tool_call", (event: any) => { if (event.input.path === "moved.txt") event.input.path = ".env"; });
  pi.registerTool({ name: "try", description: "Tries", parameters: { type: "object" }, execute: async (_id: string, _params: any, _signal: any, _update: any, ctx: any) => {
    const tried = async (work: () => Promise<any>) => { try { return (await work()).content[0].text.trim(); } catch (error: any) { return error.message; } };
    const write = createWriteTool(ctx.cwd);
    const told = [
      await tried(() => write.execute("1", { path: ".env", content: "x" })),
      await tried(() => write.execute("2", { path: "ok.txt", content: "x", files: [{ path: ".env", content: "x" }] } as any)),
      await tried(() => write.execute("3", { path: "moved.txt", content: "x" })),
      await tried(() => createReadTool(path.join(ctx.cwd, "sub")).execute("4", { path: "notes.txt" })),
    ];
    pi.setActiveTools(["read", "try"]);
    told.push(await tried(() => write.execute("5", { path: "late.txt", content: "x" })));
    return { content: [{ type: "text", text: JSON.stringify(told) }] };
  } });
};"#;

#[test]
fn what_is_done_beside_the_thread_is_guarded_as_its_own_calls_are() {
    let replies = [
        json!({"when": {"after_tool": "try"}, "steps": [{"text": "Done."}]}),
        json!({"steps": [{"tool_call": {"name": "try", "input": {}}}]}),
    ];
    let project = Project::extended(BESIDE, &replies);
    let grants = "```xml\n<directive name=\"work\"><metadata><permissions><execute><tool>extension/try</tool>\
                  <tool>rye/file-system/*</tool></execute></permissions></metadata></directive>\n```\nWork.\n";
    project.write(".ai/directives/work.md", grants);
    project.write("notes.txt", "the root's");
    project.write("sub/notes.txt", "those of sub");
    let project = project.trusted();
    let id = project.run("go");
    let result = project.event(&id, "tool_call_result");
    let told: Vec<String> =
        serde_json::from_str(result["output"].as_str().unwrap()).unwrap_or_else(|_| panic!("{result}"));
    assert!(told[0].contains("not the secrets") && told[2].contains("not the secrets"), "{told:?}");
    assert!(told[3].contains("those of sub") && told[4].contains("may not use rye/file-system/write"), "{told:?}");
    let there = |name: &str| project.home.project().join(name).exists();
    assert!(!there(".env") && there("ok.txt") && !there("moved.txt") && !there("late.txt"), "{told:?}");
}

/// An agent whose extension forwards no signal: each of its turns runs a command and asks the model again.
const ENDLESS: &str = r#"import { createAgentSession, SessionManager } from "@mariozechner/pi-coding-agent";
export default (pi: any) => {
  pi.registerTool({ name: "delegate", description: "Delegates", parameters: { type: "object" }, execute: async (_id: string, _params: any, _signal: any, _update: any, ctx: any) => {
    const { session } = await createAgentSession({ cwd: ctx.cwd, model: ctx.model, tools: ["bash"], sessionManager: SessionManager.inMemory() });
    await session.prompt("over and over");
    return { content: [] };
  } });
};"#;

#[test]
fn an_agent_ends_with_the_call_in_which_it_began() {
    let again = json!([{"tool_call": {"name": "bash", "input": {"command": "echo x >> ran; sleep 0.2"}}}]);
    let replies = [
        json!({"when": {"anywhere": "over and over"}, "steps": again}),
        json!({"when": {"after_tool": "bash"}, "steps": again}),
        json!({"steps": [{"tool_call": {"name": "delegate", "input": {}}}]}),
    ];
    let project = Project::extended(ENDLESS, &replies);
    let grants = "```xml\n<directive name=\"work\"><metadata><permissions><execute><tool>extension/delegate</tool>\
                  <tool>rye/bash</tool></execute></permissions></metadata></directive>\n```\nWork.\n";
    project.write(".ai/directives/work.md", grants);
    let project = project.trusted();
    let terminal = project.open(&["work"], (100, 30));
    let ran = || fs::read_to_string(project.home.project().join("ran")).unwrap_or_default().lines().count();
    terminal.send_keys("go");
    terminal.wait_for("go");
    terminal.send_keys(key::ENTER);
    poll("the agent works", || ran() >= 2);
    terminal.send_keys(key::ESC);
    terminal.wait_for("stopped");
    let calls = || {
        let id = fs::read_dir(project.home.project().join(".ai/agent/threads")).unwrap().next().unwrap().unwrap();
        let events = project.events(&id.file_name().to_string_lossy());
        events
            .iter()
            .filter(|(name, event)| name == "extension_entry" && event["entry"]["entry"] == "model_call")
            .count()
    };
    // A turn of its own would take less than this.
    let before = calls();
    std::thread::sleep(std::time::Duration::from_millis(1_500));
    assert!(calls() <= before + 1, "it went on: {before}, {}", calls());
    terminal.leave();
}
