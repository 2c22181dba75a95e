//! What extensions put in the place of what the program shows and does: editors, drawings of calls and messages, programs that
//! have the terminal, a person's own commands; and what the command line says of extensions.

use crate::support::scripted_project::{Project, done, say};
use crate::support::terminal;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use terminal::key;

/// An editor of no class of pi's, which shouts, marks its place and holds back while it is asked to.
const EDITOR: &str = r#"
class Shouting {
  text = ""; focused = true; onSubmit?: (text: string) => void;
  render(width: number) { return ["~".repeat(width), `>> ${this.text}<`, "\x1b]0;evil\x07 shouts"]; }
  invalidate() {}
  getText() { return this.text; }
  setText(text: string) { this.text = text; }
  handleInput(data: string) {
    if (data === "\r") { const text = this.text; this.text = ""; this.onSubmit?.(text); }
    else if (data === "\x7f") this.text = this.text.slice(0, -1);
    else if (data.startsWith("\x1b[200~")) this.text += data.slice(6, -6).toUpperCase();
    else if (!data.startsWith("\x1b")) this.text += data.toUpperCase();
  }
}
export default (pi: any) => {
  pi.on("session_start", (_: any, ctx: any) => ctx.ui.setEditorComponent(() => new Shouting()));
  pi.registerCommand("usual", { handler: async (_: string, ctx: any) => ctx.ui.setEditorComponent(undefined) });
  pi.registerCommand("tell", { handler: async (_: string, ctx: any) => ctx.ui.notify(`holds ${ctx.ui.getEditorText()}`) });
  pi.registerShortcut("ctrl+x", { description: "tells", handler: async (ctx: any) => ctx.ui.notify(`holds ${ctx.ui.getEditorText()}`) });
  pi.registerCommand("fill", { handler: async (_: string, ctx: any) => ctx.ui.setEditorText("filled in") });
};
"#;

#[test]
fn an_editor_of_an_extension_stands_in_the_place_of_the_draft() {
    let project = Project::extended(EDITOR, &[done()]);
    let terminal = project.begun((100, 45));
    terminal.wait_for(">> <");
    terminal.wait_for(" shouts");
    terminal.send_keys("what now");
    terminal.wait_for(">> WHAT NOW<");
    terminal.paste(" and then");
    terminal.wait_for(">> WHAT NOW AND THEN<");
    // The program's own keys stay, and it can ask what is written.
    terminal.send_keys("\x18");
    terminal.wait_for("holds WHAT NOW AND THEN");
    terminal.send_keys(key::F1);
    terminal.wait_for("┌ help");
    terminal.send_keys(key::ESC);
    terminal.wait_gone("┌ help");
    terminal.send_keys(key::ENTER);
    terminal.wait_for("› WHAT NOW AND THEN");
    terminal.wait_for(">> <");
    assert!(!String::from_utf8_lossy(&terminal.bytes()).contains("\x1b]0;evil"));
    // It fits a smaller screen.
    terminal.resize(80, 24);
    terminal.wait_until("it is drawn for 80 columns", |screen| screen.contents().contains(&"~".repeat(80)));
    terminal.leave();
}

#[test]
fn an_editor_can_be_filled_and_taken_away() {
    let project = Project::extended(&EDITOR.replace(".toUpperCase()", ""), &[done()]);
    let terminal = project.begun((100, 45));
    terminal.wait_for(">> <");
    terminal.send_keys("/fill\r");
    terminal.wait_for(">> filled in<");
    terminal.send_keys(&"\x7f".repeat(9));
    terminal.wait_for(">> <");
    // What cannot be sent comes back into it.
    terminal.send_keys("/nonsens");
    terminal.wait_for(">> /nonsens<");
    terminal.send_keys(key::ENTER);
    terminal.wait_for("there is no command /nonsens");
    terminal.wait_for(">> /nonsens<");
    terminal.send_keys(&"\x7f".repeat(8));
    terminal.wait_for(">> <");
    terminal.send_keys("/usual\r");
    terminal.wait_gone(" shouts");
    say(&terminal, "as usual");
    terminal.wait_for("› as usual");
    terminal.leave();
}

/// What a tool reports while it runs is drawn by itself, each time; what it comes to in the end as well.
#[test]
fn a_call_that_runs_is_drawn_with_what_it_has_reported() {
    let extension = r#"import fs from "node:fs";
export default (pi: any) => {
  pi.registerTool({ name: "steps", label: "steps", description: "takes steps", parameters: { type: "object" },
    execute: async (_id: string, _params: any, _signal: any, onUpdate: any) => {
      for (const step of [0, 1, 2]) {
        if (step) onUpdate({ content: [{ type: "text", text: "raw" }], details: { step } });
        while (!fs.existsSync(`go-${step}`)) await new Promise((resolve) => setTimeout(resolve, 5));
      }
      return { content: [{ type: "text", text: "raw end" }], details: { step: 3 } };
    },
    renderCall: (_args: any, _theme: any, context: any) => ({ render: () => [`STEPS started ${context.executionStarted} partial ${context.isPartial}`], invalidate() {} }),
    renderResult: (result: any, { isPartial }: any) => ({ render: () => [`at step ${result.details.step} partial ${isPartial}`], invalidate() {} }) });
};"#;
    let project = Project::extended(extension, &[&calls("walk", "steps", &json!({}))[..], &[done()]].concat());
    let terminal = project.begun((100, 45));
    say(&terminal, "walk on");
    terminal.wait_for("y allow once");
    terminal.wait_for("STEPS started false partial true");
    terminal.send_keys("y");
    terminal.wait_for("STEPS started true partial true");
    project.write("go-0", "");
    terminal.wait_for("at step 1 partial true");
    project.write("go-1", "");
    terminal.wait_for("at step 2 partial true");
    assert!(!terminal.screen_text().contains("raw"));
    project.write("go-2", "");
    terminal.wait_for("at step 3 partial false");
    terminal.wait_for("STEPS started true partial false");
    terminal.wait_for("Did steps.");
    terminal.leave();
}

/// A tool whose call and result are drawn, and a message that is.
const DRAWS: &str = r#"
export default (pi: any) => {
  pi.registerTool({
    name: "look", label: "look", description: "looks", parameters: { type: "object", properties: { at: { type: "string" } } },
    execute: async (_id: string, params: any) => {
      if (params.at === "nothing") throw new Error("there is nothing");
      return { content: [{ type: "text", text: "raw text" }], details: { seen: 3 } };
    },
    renderCall: (args: any, theme: any) => ({ render: (width: number) => [`${theme.bold("LOOKS")} at ${args.at} in ${width}\x1b[2J`], invalidate() {} }),
    renderResult: (result: any, { expanded }: any, theme: any, context: any) => ({ invalidate() {},
      render: () => [context.isError ? `failed: ${result.content[0].text}` : `saw ${result.details.seen}${expanded ? " in full" : ""}`] }),
  });
  pi.registerTool({ name: "half", description: "", parameters: { type: "object" }, execute: async () => ({ content: [{ type: "text", text: "own result" }] }),
    renderCall: () => ({ render: () => ["HALF drawn"], invalidate() {} }) });
  pi.registerTool({ name: "bad", description: "", parameters: { type: "object" }, execute: async () => ({ content: [{ type: "text", text: "bad result" }] }),
    renderCall: () => { throw new Error("no"); }, renderResult: () => ({ render: () => { throw new Error("no"); }, invalidate() {} }) });
  pi.registerMessageRenderer("note", (message: any, { expanded }: any, theme: any) => ({ invalidate() {},
    render: (width: number) => [theme.bg("customMessageBg", " ".repeat(width)), theme.fg("error", `NOTE ${message.content} ${message.details.n}${expanded ? " in full" : ""}`), ""] }));
  pi.registerEntryRenderer("seen", (entry: any, { expanded }: any) => ({ invalidate() {},
    render: (width: number) => [`ENTRY ${entry.data.n}${expanded ? " in full" : ""}\x1b[2J`, "x".repeat(width * 2)] }));
  pi.registerCommand("entry", { handler: async () => { pi.appendEntry("seen", { n: 9 }); pi.appendEntry("unseen", { n: 8 }); } });
  pi.registerMarkdownTransformer((text: string) => { if (text.includes("explode")) throw new Error("no"); return text.replace("Reword me.", "DRAWN **otherwise**"); });
  pi.registerMarkdownTransformer((text: string) => text.replace("otherwise", "another way"));
  pi.registerCommand("note", { handler: async () => pi.sendMessage({ customType: "note", content: "of mine", display: true, details: { n: 7 } }) });
  pi.registerCommand("plain", { handler: async () => pi.sendMessage({ customType: "other", content: "undrawn", display: true }) });
};
"#;

fn calls(words: &str, tool: &str, input: &Value) -> [Value; 2] {
    [
        json!({"when": {"after_tool": tool}, "steps": [{"text": format!("Did {tool}.")}]}),
        json!({"when": {"contains": words}, "steps": [{"tool_call": {"name": tool, "input": input}}]}),
    ]
}

#[test]
fn calls_results_and_messages_are_drawn_by_extensions() {
    let replies = [
        calls("see", "look", &json!({"at": "me"})),
        calls("halve", "half", &json!({})),
        calls("err", "bad", &json!({})),
    ];
    let project = Project::extended(DRAWS, &[&replies.concat()[..], &[done()]].concat());
    let terminal = project.begun((100, 45));
    let allow = || {
        terminal.wait_for("y allow once");
        terminal.send_keys("y");
        terminal.wait_gone("y allow once");
    };
    say(&terminal, "see it");
    allow();
    terminal.wait_for("LOOKS at me in 98  ✓");
    terminal.wait_for("saw 3");
    assert!(!terminal.screen_text().contains("raw text"));
    say(&terminal, "halve it");
    allow();
    terminal.wait_for("HALF drawn  ✓");
    terminal.wait_for("own result");
    // One that cannot draw costs its drawing alone.
    say(&terminal, "err now");
    allow();
    terminal.wait_for("Did bad.");
    terminal.wait_for("bad result");
    say(&terminal, "/note");
    terminal.wait_for("· NOTE of mine 7");
    terminal.look(|screen| {
        let row = (0..45).find(|row| screen.contents_between(*row, 0, *row, 100).contains("NOTE of")).unwrap();
        let column =
            (0..20).find(|column| screen.cell(row, *column).is_some_and(|cell| cell.contents() == "N")).unwrap();
        assert_ne!(screen.cell(row, column).unwrap().fgcolor(), vt100::Color::Default);
    });
    say(&terminal, "/plain");
    terminal.wait_for("undrawn");
    // In full, and for another width.
    terminal.send_keys("\x0f");
    terminal.wait_for("NOTE of mine 7 in full");
    terminal.wait_for("saw 3 in full");
    terminal.send_keys("\x0f");
    terminal.wait_gone("saw 3 in full");
    terminal.resize(80, 45);
    terminal.wait_for("LOOKS at me in 78");
    terminal.leave();
    // The log keeps what was said, and who looks without a worker sees that.
    let terminal = project.home.levain_in_terminal(&["--model", &project.model, "-c"]).size(100, 30).start();
    terminal.wait_for("raw text");
    terminal.leave();
}

#[test]
fn a_program_of_an_extension_has_the_terminal_while_it_runs() {
    let project = Project::extended(
        r#"import { spawnSync } from "node:child_process";
export default (pi: any) => {
  const run = (ctx: any) => { const { status, error } = spawnSync("/bin/sh", ["-c",
    "trap 'echo interrupted; caught=1' INT; echo it has the $TERM; echo key $ANTHROPIC_API_KEY; read name; echo hello $name; until test $caught; do sleep 0.1; done; sleep 2; echo slept; read end; exit 3"], { stdio: "inherit" });
    ctx.ui.notify(`ended with ${status} ${error?.code}`); };
  pi.registerCommand("front", { handler: async (_: string, ctx: any) => run(ctx) });
};"#,
        &[done()],
    );
    let terminal = project.home.levain_in_terminal(&["--model", &project.model]).size(100, 30);
    let terminal = terminal.env("TERM", "xterm-256color").env("ANTHROPIC_API_KEY", "sk-hush-hush").start();
    terminal.wait_for("A new thread");
    say(&terminal, "begin");
    terminal.wait_for("Done.");
    say(&terminal, "/front");
    terminal.wait_for("it has the xterm-256color");
    terminal.send_keys("ada\r");
    terminal.wait_for("hello ada");
    assert!(!terminal.screen_text().contains("hush"));
    // Ctrl-C is the program's own, also where it takes its time after it.
    terminal.send_keys("\x03");
    terminal.wait_for("interrupted");
    terminal.wait_for("slept");
    terminal.send_keys("\r");
    terminal.wait_for("ended with 3 undefined");
    say(&terminal, "go on");
    terminal.wait_for("› go on");
    terminal.leave();
    // Without a screen that gives its terminal nothing is run.
    let (code, out, err) = project.levain(&["run", "--model", &project.model, "hello"]);
    assert_eq!(code, 0, "{out}{err}");
}

#[test]
fn a_screen_that_dies_ends_the_wait_for_its_program() {
    let project = Project::extended(
        r#"import { spawnSync } from "node:child_process";
export default (pi: any) => pi.registerCommand("front", { handler: async (_: string, ctx: any) => {
  const { error } = spawnSync("/bin/sh", ["-c", "echo at $((40 + 2)); sleep 60"], { stdio: "inherit" });
  ctx.ui.notify(`over: ${error?.code}`); } });"#,
        &[done()],
    );
    let terminal = project.begun((100, 45));
    say(&terminal, "/front");
    terminal.wait_for("at 42");
    terminal.kill();
    terminal::poll("the extension goes on", || {
        let threads = std::fs::read_dir(project.home.project().join(".ai/agent/threads")).unwrap();
        let logs =
            threads.filter_map(|thread| std::fs::read_to_string(thread.unwrap().path().join("transcript.jsonl")).ok());
        logs.into_iter().any(|log| log.contains("over: ENOTTY"))
    });
}

#[test]
fn a_persons_own_command_is_run_by_the_first_extension_that_wants_to() {
    let project = Project::extended(
        r#"
export default (pi: any) => {
  pi.on("user_bash", (event: any) => { if (event.command === "fail") throw new Error("not me"); });
  pi.on("user_bash", (event: any) => event.command.startsWith("tell")
    ? { result: { output: `told ${event.excludeFromContext} \x1b]0;evil\x07`, exitCode: 4, cancelled: false, truncated: false } } : undefined);
  pi.on("user_bash", (event: any) => event.command.startsWith("run ") ? { operations: {
    exec: async (command: string, cwd: string, { onData }: any) => { onData(Buffer.from(`piece of ${command}\n`)); onData("more\n"); return { exitCode: 0 }; } } } : undefined);
  pi.on("user_bash", (event: any) => event.command === "hang" ? new Promise((done) => setTimeout(done, 60000)) : undefined);
};"#,
        &[done()],
    );
    let terminal = project.begun((100, 45));
    say(&terminal, "!!tell me");
    terminal.wait_for("told true");
    terminal.wait_for("exit code 4; e.ts ran it");
    say(&terminal, "!run it");
    terminal.wait_for("piece of run it");
    terminal.wait_for("more");
    say(&terminal, "!fail");
    terminal.wait_for("did not run the command: ");
    terminal.wait_for("not me");
    terminal.wait_for("fail: command not found");
    say(&terminal, "!echo as $((1 + 1)) usual");
    terminal.wait_for("as 2 usual");
    say(&terminal, "!hang");
    terminal.wait_for("… running");
    terminal.send_keys(key::ESC);
    terminal.wait_for("It was stopped.");
    assert!(!String::from_utf8_lossy(&terminal.bytes()).contains("\x1b]0;evil"));
    terminal.leave();
}

#[test]
fn the_command_line_names_extensions_and_their_flags() {
    let extension = r#"
export default (pi: any) => {
  pi.registerFlag("loud", { description: "", type: "boolean" });
  pi.registerFlag("who", { description: "", type: "string", default: "nobody" });
  pi.registerFlag("off", { description: "", type: "boolean", default: true });
  pi.on("input", (event: any) => ({ action: "transform",
    text: `${event.text}: ${JSON.stringify([pi.getFlag("loud"), pi.getFlag("who"), pi.getFlag("off"), pi.getFlag("other")])}` }));
};"#;
    let project = Project::with("", &[done()]).trusted();
    let own = project.home.path().join("own.ts");
    std::fs::write(&own, extension).unwrap();
    let own = own.to_str().unwrap();
    let model = ["--model", &project.model];
    let said = |arguments: &[&str]| {
        let all = [&["run", "--json"], &model[..], arguments, &["hello"]].concat();
        let (code, out, err) = project.levain(&all);
        assert_eq!(code, 0, "{out}{err}");
        let line: Value = serde_json::from_str(out.lines().next().unwrap()).unwrap();
        project.event(line["thread_id"].as_str().unwrap(), "cognition_in")["text"].as_str().unwrap().to_owned()
    };
    assert_eq!(said(&[]), "hello");
    assert_eq!(said(&["-e", own]), r#"hello: [null,"nobody",true,null]"#);
    let prompt = said(&["-e", own, "--flag", "loud", "--flag=who=a=b", "--flag", "off=false"]);
    assert_eq!(prompt, r#"hello: [true,"a=b",false,null]"#);
    // A flag that is not understood may be the one that turns a guard on.
    for (flag, words) in [
        ("who", "the flag who needs a value, as --flag who=…"),
        ("off=perhaps", "the flag off is true or false, not `perhaps`"),
        ("new", "no extension has the flag new"),
    ] {
        for command in [&["run", "hello"][..], &["--plain"]] {
            let (code, out, err) = project.levain(&[command, &model, &["-e", own, "--flag", flag]].concat());
            assert_eq!((code, out.as_str()), (2, ""), "{err}");
            assert!(err.contains(words) && err.contains("levain extensions lists the flags"), "{words}: {err}");
        }
    }
    let (code, _, err) = project.levain(&["run", "-e", "nowhere.ts", "hello"]);
    assert_eq!(code, 2);
    assert!(err.contains("there is no extension at nowhere.ts"), "{err}");
    // The screen's worker is told, too.
    let terminal = project.open(&["-e", own, "--flag", "who=ada"], (100, 45));
    say(&terminal, "hello there");
    terminal.wait_for("Done.");
    terminal.leave();
    let threads = std::fs::read_dir(project.home.project().join(".ai/agent/threads")).unwrap();
    let mut logs =
        threads.filter_map(|thread| std::fs::read_to_string(thread.unwrap().path().join("transcript.jsonl")).ok());
    assert!(logs.any(|log| log.contains(r#"hello there: [null,\"ada\",true,null]"#)));
}

#[test]
fn entries_and_the_markdown_of_answers_are_drawn_by_extensions_and_the_log_stays() {
    let replies = [
        json!({"when": {"contains": "loud"}, "steps": [{"text": "It will explode."}]}),
        json!({"steps": [{"text": "Reword me."}]}),
    ];
    let project = Project::extended(DRAWS, &replies);
    let terminal = project.open(&[], (100, 40));
    say(&terminal, "begin");
    terminal.wait_for("DRAWN another way");
    say(&terminal, "loud");
    terminal.wait_for("It will explode.");
    terminal.send_keys("/entry\r");
    terminal.wait_for("ENTRY 9");
    // Shown in full, as calls are.
    terminal.send_keys("\x0f");
    terminal.wait_for("ENTRY 9 in full");
    let contents = terminal.screen_text();
    assert!(!contents.contains("unseen") && contents.contains(&"x".repeat(90)), "{contents}");
    terminal.leave();
    let (_, listed, _) = project.levain(&["threads", "--json"]);
    let id = listed
        .lines()
        .find_map(|line| Some(serde_json::from_str::<Value>(line).ok()?["thread_id"].as_str()?.to_owned()));
    let events = project.events(&id.unwrap());
    let said = events.iter().filter(|(name, _)| name == "cognition_out");
    let said: Vec<_> = said.map(|(_, payload)| payload["text"].clone()).collect();
    assert_eq!(said, ["Reword me.", "It will explode."]);
}

/// A command that knows its arguments, and a provider that knows issues.
const COMPLETING: &str = r##"
export default (pi: any) => {
  pi.registerCommand("deploy", {
    description: "ships it",
    getArgumentCompletions: async (prefix: string) => ["staging", "production"].filter((name) => name.startsWith(prefix))
      .map((name) => ({ value: name, label: name, description: `to ${name}\x1b]0;evil\x07` })),
    handler: async (where: string, ctx: any) => ctx.ui.notify(`shipped to <${where}>`),
  });
  pi.registerCommand("hang", {
    getArgumentCompletions: () => new Promise((resolve) => setTimeout(resolve, 20_000)),
    handler: async (_: string, ctx: any) => ctx.ui.notify(`it may ask: ${ctx.hasUI}`),
  });
  pi.registerCommand("fresh", { handler: async (_: string, ctx: any) => {
    await ctx.newSession({ withSession: async (fresh: any) => { await fresh.sendUserMessage("kick off"); } });
  } });
  pi.on("session_start", (_: any, ctx: any) => ctx.ui.addAutocompleteProvider((inner: any) => ({
    ...inner,
    getSuggestions: async (lines: string[], line: number, col: number, options: any) => {
      const word = lines[line].slice(0, col).split(" ").at(-1)!;
      if (!word.startsWith("#")) return inner.getSuggestions(lines, line, col, options);
      return { items: [{ value: "#12", label: "#12", description: "the tests hang" }], prefix: word };
    },
  })));
};
"##;

#[test]
fn extensions_complete_arguments_of_their_commands_and_words() {
    let project = Project::extended(COMPLETING, &[done()]);
    let terminal = project.begun((100, 45));
    terminal.send_keys("/deploy ");
    terminal.wait_for("to production");
    terminal.wait_for("to staging");
    terminal.send_keys("p");
    terminal.wait_gone("to staging");
    terminal.wait_for("▸ production");
    terminal.send_keys(key::ENTER);
    terminal.wait_for("› /deploy production");
    terminal.wait_gone("to production");
    terminal.send_keys(key::ENTER);
    terminal.wait_for("shipped to <production>");
    // Where nothing of an argument was begun, Enter sends.
    terminal.send_keys("/deploy ");
    terminal.wait_for("to production");
    terminal.send_keys(key::ENTER);
    terminal.wait_for("shipped to <>");
    // A provider knows words, and what the program offers stays.
    terminal.send_keys("why #");
    terminal.wait_for("the tests hang");
    terminal.send_keys("\t");
    terminal.wait_for("› why #12");
    terminal.wait_gone("the tests hang");
    terminal.send_keys(&"\x7f".repeat(7));
    terminal.send_keys("/hel");
    terminal.wait_for("▸ /help");
    assert!(!String::from_utf8_lossy(&terminal.bytes()).contains("\x1b]0;evil"));
    terminal.send_keys(&"\x7f".repeat(4));
    // Whoever runs while a completion is waited for is no less free for that.
    terminal.send_keys("/hang now");
    terminal.wait_for("› /hang now");
    terminal.send_keys(key::ENTER);
    terminal.wait_for("it may ask: true");
    // What is said in the session that takes the place of this one is the draft there.
    terminal.send_keys("/fresh");
    terminal.wait_for("› /fresh");
    terminal.send_keys(key::ENTER);
    terminal.wait_for("› kick off");
    terminal.wait_for("A new thread");
    terminal.leave();
}

#[test]
fn an_extension_lists_the_sessions_of_the_project_and_pastes_into_the_draft() {
    let extension = r#"import { SessionManager } from "@mariozechner/pi-coding-agent";
export default (pi: any) => {
  pi.registerCommand("sessions", { handler: async (_: string, ctx: any) => {
    const all = await SessionManager.list(ctx.cwd);
    const own = all.find((one: any) => one.path === ctx.sessionManager.getSessionFile());
    const said = SessionManager.open(own.path).getEntries().filter((entry: any) => entry.message?.role === "user");
    ctx.ui.notify(`${all.length} <${own.firstMessage}> ${own.modified instanceof Date} ${said.length} <${said[0].message.content[0].text}>`);
  } });
  pi.registerShortcut("ctrl+x", { handler: async (ctx: any) => ctx.ui.pasteToEditor("of mine ") });
};"#;
    let project = Project::extended(extension, &[done()]);
    let terminal = project.begun((100, 45));
    terminal.send_keys("/sessions");
    terminal.wait_for("› /sessions");
    terminal.send_keys(key::ENTER);
    terminal.wait_for("1 <begin> true 1 <begin>");
    // Where the cursor stands, as if the person had pasted it.
    terminal.send_keys("words here");
    terminal.wait_for("› words here");
    terminal.send_keys(&"\x1b[D".repeat(4));
    terminal.send_keys("\x18");
    terminal.wait_for("› words of mine here");
    terminal.leave();
}

#[test]
fn a_footer_knows_what_extensions_say_in_the_status_line() {
    let extension = r#"export default (pi: any) => {
  pi.on("session_start", (_: any, ctx: any) => ctx.ui.setFooter((tui: any, theme: any, data: any) => ({
    render: () => [`footer: ${[...data.getExtensionStatuses()].map(([key, text]: any) => `${key} is ${text}`)}`], invalidate() {},
  })));
  pi.registerCommand("paint", { handler: async (text: string, ctx: any) => {
    ctx.ui.setStatus("build", text);
    pi.setSessionName(text);
    ctx.ui.notify(`named <${pi.getSessionName()}>`);
  } });
};"#;
    let project = Project::extended(extension, &[done()]);
    let terminal = project.begun((100, 45));
    terminal.wait_for("footer:");
    terminal.send_keys("/paint green");
    terminal.wait_for("› /paint green");
    terminal.send_keys(key::ENTER);
    // A name that was given is known at once.
    terminal.wait_for("named <green>");
    terminal.wait_for("footer: build is green");
    terminal.leave();
}

#[test]
fn extensions_are_told_that_the_person_is_asked_and_they_copy() {
    let extension = r#"import fs from "node:fs";
import { copyToClipboard } from "@mariozechner/pi-coding-agent";
export default (pi: any) => {
  for (const event of ["ui_prompt_start", "ui_prompt_end"])
    pi.on(event, (told: any) => fs.appendFileSync("told", `${told.type} ${told.kind} ${told.title}\n`));
  pi.registerCommand("inquire", { handler: async (_: string, ctx: any) => {
    ctx.ui.notify(`got ${await ctx.ui.confirm("Sure?", "It is about this.")}`);
    await copyToClipboard("to be pasted");
  } });
};"#;
    let project = Project::extended(extension, &[done()]);
    let terminal = project.begun((100, 45));
    terminal.send_keys("/inquire");
    terminal.wait_for("› /inquire");
    terminal.send_keys(key::ENTER);
    terminal.wait_for("It is about this.");
    let told = || std::fs::read_to_string(project.home.project().join("told")).unwrap_or_default();
    terminal::poll("it is told", || told() == "ui_prompt_start confirm Sure?\n");
    terminal.send_keys(key::ESC);
    terminal.wait_for("got false");
    terminal::poll("its end is told", || told().ends_with("ui_prompt_end confirm Sure?\n"));
    // And it copies, by the terminal (OSC 52).
    let copied = format!("\x1b]52;c;{}", STANDARD.encode("to be pasted"));
    terminal::poll("it is copied", || String::from_utf8_lossy(&terminal.bytes()).contains(&copied));
    terminal.leave();
}
