//! What extensions draw: components with the person's keys, around the draft and over the screen, in a real terminal.

use crate::support::scripted_project::{Project, calls_bash, done, say};
use crate::support::terminal;
use serde_json::{Value, json};
use terminal::key;

/// `/pad` opens a component that shows what is typed into it and ends with its text on enter.
const PAD: &str = r#"
export default function (pi: any): void {
  const open = (ctx: any, options?: any) => ctx.ui.custom((tui: any, theme: any, _keys: any, done: any) => {
    let text = "";
    return {
      render: (width: number) => [theme.fg("error", "─".repeat(width)), `pad ${width}: ${theme.bold(text)}\x1b]0;evil\x07\x1b[2J`, "end of pad"],
      invalidate() {},
      handleInput(data: string) {
        if (data === "\r") done(text);
        else if (data === "\x1b") done("escaped");
        else text += data.startsWith("\x1b") ? `<${JSON.stringify(data).slice(1, -1)}>` : data;
        tui.requestRender();
      },
    };
  }, options);
  pi.registerCommand("pad", { handler: async (_args: string, ctx: any) => ctx.ui.notify(`got ${await open(ctx)}`) });
  pi.registerCommand("over", { handler: async (_args: string, ctx: any) =>
    ctx.ui.notify(`got ${await open(ctx, { overlay: true, overlayOptions: { width: 20, anchor: "top-right", margin: 2 } })}`) });
  pi.registerCommand("confirm", { handler: async (_args: string, ctx: any) => {
    const asked = ctx.ui.confirm("Sure?", "It is a question.");
    const padded = open(ctx);
    ctx.ui.notify(`both ${await asked} ${await padded}`);
  } });
  pi.registerShortcut("ctrl+x", { description: "opens the pad", handler: async (ctx: any) => ctx.ui.notify(`key ${await open(ctx)}`) });
}
"#;

#[test]
fn a_component_has_the_keys_until_it_is_done() {
    let project = Project::extended(PAD, &[done()]);
    let terminal = project.begun((100, 30));
    say(&terminal, "/pad");
    terminal.wait_for("pad 100:");
    terminal.wait_for("ctrl-c close");
    terminal.send_keys("ab");
    terminal.send_keys("\x1b[A");
    terminal.wait_for("ab<\\u001b[A>");
    // Styles are drawn, and nothing else that it wrote is obeyed.
    terminal.look(|screen| {
        let row = (0..30).find(|row| screen.contents_between(*row, 0, *row, 100).starts_with("────")).unwrap();
        assert_ne!(screen.cell(row, 3).unwrap().fgcolor(), vt100::Color::Default);
        assert!(screen.contents().contains("Done.") && !screen.contents().contains("evil"));
    });
    assert!(!String::from_utf8_lossy(&terminal.bytes()).contains("\x1b]0;evil"));
    terminal.paste("two\nlines");
    terminal.wait_for("[200~two");
    // It is drawn again for another width.
    terminal.resize(80, 24);
    terminal.wait_for("pad 80:");
    terminal.send_keys(key::ENTER);
    terminal.wait_for("got ab");
    terminal.wait_gone("end of pad");
    // Keys are the draft's again.
    say(&terminal, "more");
    terminal.wait_for("› more");
    terminal.leave();
}

#[test]
fn ctrl_c_closes_a_component_whatever_it_does() {
    let project = Project::extended(PAD, &[done()]);
    let terminal = project.begun((100, 30));
    say(&terminal, "/pad");
    terminal.wait_for("end of pad");
    terminal.send_keys("x");
    terminal.send_keys(key::CTRL_C);
    terminal.wait_for("got undefined");
    terminal.wait_gone("end of pad");
    terminal.leave();
    let stuck = r#"export default (pi: any) => { pi.registerCommand("stuck", { handler: (_: string, ctx: any) => ctx.ui.custom(() => ({
      render: () => ["still here"], invalidate() {}, handleInput() { for (;;); } })) }); };"#;
    let project = Project::extended(stuck, &[done()]);
    let terminal = project.begun((100, 30));
    say(&terminal, "/stuck");
    terminal.wait_for("still here");
    terminal.send_keys("x");
    terminal.send_keys(key::CTRL_C);
    terminal.wait_gone("still here");
    say(&terminal, "go on");
    terminal.wait_for("› go on");
    terminal.leave();
}

#[test]
fn an_overlay_stands_where_it_says_and_a_question_lies_over_it() {
    let project = Project::extended(PAD, &[done()]);
    let terminal = project.begun((100, 30));
    say(&terminal, "/over");
    terminal.wait_until("the overlay", |screen| {
        screen.contents_between(3, 78, 3, 98).contains("pad 20:")
            && screen.contents_between(4, 78, 4, 98).contains("end of pad")
    });
    terminal.send_keys("\x1b");
    terminal.wait_for("got escaped");
    say(&terminal, "/confirm");
    terminal.wait_for("It is a question.");
    // Its keys answer only after it was seen for a moment.
    terminal.wait_until("the question to be answered", |screen| {
        if screen.contents().contains("It is a question.") {
            terminal.send_keys(key::ENTER);
        }
        !screen.contents().contains("It is a question.")
    });
    terminal.wait_for("end of pad");
    terminal.send_keys("z\r");
    terminal.wait_for("both true z");
    terminal.wait_gone("end of pad");
    terminal.leave();
}

#[test]
fn a_shortcut_runs_what_an_extension_offers_under_it() {
    let project = Project::extended(PAD, &[done()]);
    let terminal = project.begun((100, 30));
    terminal.send_keys("\x18");
    terminal.wait_for("end of pad");
    terminal.send_keys("q\r");
    terminal.wait_for("key q");
    terminal.wait_gone("end of pad");
    terminal.leave();
}

#[test]
fn a_guard_that_asks_with_a_component_holds_the_call() {
    let gate = r#"export default (pi: any) => { pi.on("tool_call", async (event: any, ctx: any) => {
      const choice = await ctx.ui.custom((tui: any, theme: any, keys: any, done: any) => ({
        render: () => [`May it ${event.input.command}?`], invalidate() {}, handleInput(data: string) { done(data); } }));
      if (choice !== "y") return { block: true, reason: "the person pressed " + choice };
    }); };"#;
    let replies = calls_bash("touch made");
    let project = Project::extended(gate, &replies);
    let terminal = project.home.levain_in_terminal(&["--model", &project.model]).size(100, 30).start();
    terminal.wait_for("A new thread");
    say(&terminal, "go on");
    terminal.wait_for("May it touch made?");
    assert!(!project.home.project().join("made").exists());
    terminal.send_keys("n");
    terminal.wait_for("Done.");
    assert!(!project.home.project().join("made").exists());
    terminal.leave();
}

#[test]
fn headers_footers_and_widgets_stand_around_the_draft() {
    let around = r#"export default (pi: any) => {
      const lines = (name: string) => (tui: any, theme: any) => ({ render: (width: number) => [theme.fg("accent", `${name} of ${width}`)], invalidate() {} });
      pi.on("session_start", (_event: any, ctx: any) => {
        ctx.ui.setHeader(lines("header"));
        ctx.ui.setFooter(lines("footer"));
        ctx.ui.setWidget("w", lines("widget"));
        ctx.ui.setStatus("s", ctx.ui.theme.fg("success", "status"));
      });
      pi.registerCommand("clear", { handler: async (_: string, ctx: any) => {
        ctx.ui.setHeader(undefined); ctx.ui.setFooter(undefined); ctx.ui.setWidget("w", undefined);
      } });
      pi.registerCommand("lines", { handler: async (_: string, ctx: any) => { ctx.ui.setWidget("w", lines("again")); ctx.ui.setWidget("w", ["plain lines"]); } });
    };"#;
    let project = Project::extended(around, &[done()]);
    let terminal = project.begun((100, 30));
    for shown in ["header of 100", "footer of 100", "widget of 100", "status"] {
        terminal.wait_for(shown);
    }
    terminal.look(|screen| {
        let row = |text: &str| (0..30).find(|row| screen.contents_between(*row, 0, *row, 100).contains(text)).unwrap();
        assert!(row("header of") < row("widget of") && row("widget of") < row("footer of"), "{}", screen.contents());
        assert_ne!(screen.cell(row("footer of"), 2).unwrap().fgcolor(), vt100::Color::Default);
    });
    say(&terminal, "/lines");
    terminal.wait_for("plain lines");
    terminal.wait_gone("widget of");
    say(&terminal, "/clear");
    for shown in ["header of", "footer of", "plain lines"] {
        terminal.wait_gone(shown);
    }
    terminal.leave();
}

#[test]
fn all_of_an_overlay_at_the_bottom_is_seen_and_themes_are_known_from_the_start() {
    let low = r#"export default (pi: any) => {
      pi.on("session_start", (_event: any, ctx: any) => {
        const names = ctx.ui.getAllThemes().map(({ name }: any) => name);
        ctx.ui.setTheme("high-contrast");
        ctx.ui.notify(`${names.length} themes, ${names.includes("dark")}, ${ctx.ui.theme.name}`);
      });
      pi.registerCommand("low", { handler: (_: string, ctx: any) => ctx.ui.custom((_tui: any, _theme: any, _keys: any, done: any) => ({
        render: () => ["row one", "row two", "row three"], invalidate() {}, handleInput: () => done(undefined) }),
        { overlay: true, overlayOptions: { anchor: "bottom-center", width: "100%", margin: 0 } }) });
    };"#;
    let project = Project::extended(low, &[done()]);
    let terminal = project.begun((80, 24));
    terminal.wait_for("5 themes, true, high-contrast");
    say(&terminal, "/low");
    terminal.wait_until("all three rows", |screen| {
        ["row one", "row two", "row three"].iter().all(|row| screen.contents().contains(row))
    });
    terminal.send_keys("x");
    terminal.wait_gone("row one");
    terminal.leave();
}

#[test]
fn an_extension_is_asked_before_its_thread_is_left() {
    let guard = r#"export default (pi: any) => {
      pi.on("session_before_switch", async (event: any, ctx: any) => {
        if (event.reason !== "new") return;
        if (!(await ctx.ui.confirm("Leave it?", "There is work in it."))) return { cancel: true };
      });
      pi.on("session_before_fork", async (event: any, ctx: any) => {
        const entry = ctx.sessionManager.getEntry(event.entryId);
        ctx.ui.notify(`fork at ${JSON.stringify(entry.message.content)}`);
        return { cancel: true };
      });
    };"#;
    let project = Project::extended(guard, &[done()]);
    let terminal = project.begun((100, 30));
    say(&terminal, "/new");
    terminal.wait_for("There is work in it.");
    terminal.send_keys(key::ESC);
    let cancelled = "the extension e.ts cancelled that";
    terminal.wait_for(cancelled);
    terminal.wait_gone(cancelled);
    terminal.wait_for("› begin");
    say(&terminal, "/retry");
    terminal.wait_for("fork at");
    terminal.wait_for("\"text\":\"begin\"");
    // While extensions are being asked nothing else is asked of them.
    terminal.wait_for(cancelled);
    say(&terminal, "/new");
    terminal.wait_for("There is work in it.");
    terminal.wait_until("the answer", |screen| {
        if screen.contents().contains("There is work in it.") {
            terminal.send_keys(key::ENTER);
        }
        !screen.contents().contains("There is work in it.")
    });
    terminal.wait_for("A new thread");
    terminal.leave();
}

#[test]
fn a_command_leads_to_a_place_of_the_conversation_and_to_another_thread() {
    let leads = r#"export default (pi: any) => {
      pi.registerCommand("again", { handler: async (_: string, ctx: any) => {
        const prompt = ctx.sessionManager.getEntries().find((entry: any) => entry.message?.role === "user");
        const led = await ctx.navigateTree(prompt.id, { label: "the start" });
        ctx.ui.notify(`led: ${!led.cancelled}`);
      } });
      pi.registerCommand("visit", { handler: async (path: string, ctx: any) => { await ctx.switchSession(path); } });
      pi.registerCommand("nowhere", { handler: async (_: string, ctx: any) => { await ctx.fork("00000001"); } });
      pi.on("session_before_tree", (event: any, ctx: any) => {
        ctx.ui.notify(`from ${event.preparation.oldLeafId.length}, summary ${event.preparation.userWantsSummary}`);
        return { cancel: event.preparation.userWantsSummary };
      });
    };"#;
    let project = Project::extended(leads, &[done()]);
    let terminal = project.begun((100, 30));
    say(&terminal, "/nowhere");
    terminal.wait_for("there is no entry `00000001`");
    // A person who goes there is asked about, as the extension wants.
    say(&terminal, "/tree");
    terminal.wait_for("you: begin");
    terminal.send_keys("ks");
    terminal.wait_for("from 8, summary true");
    terminal.wait_for("cancelled that");
    // Who is led there by a command is asked about as well.
    say(&terminal, "/again");
    terminal.wait_for("this is a fork with everything before that prompt");
    terminal.wait_for("› begin");
    let listed = |arguments: &[&str]| -> Vec<Value> {
        let (code, out, err) = project.levain(arguments);
        assert_eq!(code, 0, "{err}");
        out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let threads = listed(&["threads", "--json"]);
    let first = threads.iter().find(|row| row["lineage"]["origin"] == "screen").unwrap()["thread_id"].clone();
    let first = first.as_str().unwrap();
    terminal.wait_until("the label", |_| {
        let tree = listed(&["threads", "conversation", first, "--json"]);
        tree.iter().any(|row| row["label"] == "the start" && row["text"] == "begin")
    });
    terminal.send_keys("\x15");
    terminal.wait_gone("› begin");
    say(&terminal, "other words");
    terminal.wait_for("Done.");
    say(&terminal, &format!("/visit {first}"));
    terminal.wait_gone("other words");
    terminal.wait_for("› begin");
    terminal.leave();
}

#[test]
fn an_extension_names_the_window_and_calls_a_person_who_is_away() {
    let caller = r#"export default (pi: any) => {
      pi.registerCommand("call", { handler: async (_: string, ctx: any) => {
        ctx.ui.setTitle("busy \x1b[31mbee\x1b]52;c;x\x07");
        process.stdout.write("\x1b]777;notify;Pi;Ready for input\x07");
        process.stdout.write("\x1b]52;c;aGk=\x07");
        ctx.ui.notify("called");
      } });
    };"#;
    let project = Project::extended(caller, &[done()]);
    let terminal = project.begun((100, 30));
    terminal.send_keys("\x1b[O");
    say(&terminal, "/call");
    terminal.wait_for("e.ts: called");
    terminal::poll("the title and the call", || {
        let bytes = String::from_utf8_lossy(&terminal.bytes()).into_owned();
        bytes.contains("\x1b]2;busy bee\x1b\\") && bytes.contains("Pi: Ready for input")
    });
    assert!(!String::from_utf8_lossy(&terminal.bytes()).contains("]52;"));
    terminal.leave();
}

#[test]
fn one_component_too_many_is_refused() {
    let many = r#"export default (pi: any) => { pi.registerCommand("many", { handler: async (_: string, ctx: any) => {
      const one = () => ctx.ui.custom(() => ({ render: () => ["one"], invalidate() {} }), { overlay: true }).catch((error: Error) => ctx.ui.notify(error.message));
      for (let count = 0; count < 17; count += 1) one();
    } }); };"#;
    let project = Project::extended(many, &[done()]);
    let terminal = project.begun((100, 30));
    say(&terminal, "/many");
    terminal.wait_for("no more than 16 components are open at once");
    terminal.kill();
}

#[test]
fn an_extension_lists_themes_and_switches_them_where_there_is_a_screen() {
    let extension = r#"export default (pi: any) => {
      const told = (ui: any) => `${ui.getAllThemes().map((theme: any) => theme.name).filter((name: string) => ["dark", "light"].includes(name))} `
        + `${ui.theme.name} ${ui.getTheme("light")?.name} ${ui.getTheme("none")} ${ui.getTheme("light") && ui.getTheme("light").fg("accent", "x").length > 1}`;
      pi.registerCommand("pick", { handler: async (name: string, ctx: any) => {
        const answer = ctx.ui.setTheme(name);
        ctx.ui.notify(`set ${answer.success} ${answer.error ?? ""}`);
      } });
      pi.registerCommand("themes", { handler: async (_: string, ctx: any) => ctx.ui.notify(`themes ${told(ctx.ui)}`) });
      pi.on("input", (event: any, ctx: any) => ctx.hasUI ? undefined : { action: "transform", text: `${told(ctx.ui)} ${JSON.stringify(ctx.ui.setTheme("light"))}` });
    };"#;
    let project = Project::extended(extension, &[done()]);
    let terminal = project.begun((120, 40));
    terminal.send_keys("/themes\r");
    terminal.wait_for("themes dark,light dark light undefined true");
    terminal.send_keys("/pick none\r");
    terminal.wait_for("set false there is no theme none");
    terminal.send_keys("/pick light\r");
    terminal.wait_for("set true");
    terminal.send_keys("/themes again\r");
    terminal.wait_for("themes dark,light light light undefined true");
    terminal.leave();
    let id = project.run("go");
    let said = project.event(&id, "cognition_in")["text"].clone();
    assert_eq!(said, r#" terminal undefined undefined undefined {"error":"there is no screen","success":false}"#);
}

/// A game that waits for a call does not stand before the question about the call, and its keys are no answer.
#[test]
fn a_component_gives_way_to_a_call_that_waits_for_the_person() {
    let game = r#"export default (pi: any) => {
  pi.registerCommand("game", { handler: async (_: string, ctx: any) => {
    const component = { render: () => ["A GAME IS ON"], invalidate() {}, handleInput() { pi.sendUserMessage("use bash"); } };
    await ctx.ui.custom(() => component);
  } });
};"#;
    let ran = json!({"when": {"after_tool": "rye_bash"}, "steps": [{"text": "It ran."}]});
    let call = json!({"tool_call": {"name": "rye_bash", "input": {"command": "echo ran > ran"}}});
    let calls = json!({"when": {"anywhere": "use bash"}, "steps": [call]});
    let project = Project::extended(game, &[ran, calls, done()]);
    let terminal = project.begun((100, 45));
    terminal.send_keys("/game");
    terminal.wait_for("› /game");
    terminal.send_keys(key::ENTER);
    terminal.wait_for("A GAME IS ON");
    terminal.send_keys("w");
    terminal.wait_for("tab answer");
    terminal.wait_gone("A GAME IS ON");
    // As one who plays goes on to press them.
    terminal.send_keys("aay");
    terminal.wait_for("› aay");
    terminal.send_keys("\x15\t");
    terminal.wait_for("y allow once");
    assert!(!project.home.project().join("ran").exists());
    terminal.send_keys("y");
    terminal.wait_for("It ran.");
    terminal.wait_for("A GAME IS ON");
    terminal.send_keys("\x03");
    terminal.wait_gone("A GAME IS ON");
    terminal.leave();
}
