//! How extensions have a thread look, and what they hear and do of what a person types.

use crate::support::scripted_project::{Project, done, say};
use crate::support::terminal::{PATIENCE, Terminal, key};
use serde_json::json;
use std::time::Instant;

/// Commands that change how the thread looks, each by what stands behind its name.
const LOOKS: &str = r#"
export default (pi: any) => {
  const doing = (name: string, change: (ui: any, words: string[]) => void) =>
    pi.registerCommand(name, { handler: async (args: string, ctx: any) => { change(ctx.ui, args.split(" ")); ctx.ui.notify(`did ${name} ${args}.`); } });
  doing("marks", (ui, words) => ui.setWorkingIndicator(words[0] ? { frames: words, intervalMs: 80 } : undefined));
  doing("unmarked", (ui) => ui.setWorkingIndicator({ frames: [] }));
  doing("visible", (ui, words) => ui.setWorkingVisible(words[0] === "yes"));
  doing("label", (ui, words) => ui.setHiddenThinkingLabel(words[0] ? `\x1b[31m${words.join(" ")}\x1b[2J` : undefined));
  doing("expand", (ui, words) => { ui.setToolsExpanded(words[0] === "yes"); ui.notify(`expanded ${ui.getToolsExpanded()}`); });
  doing("is", (ui) => ui.notify(`now expanded ${ui.getToolsExpanded()}`));
  pi.registerCommand("again", { handler: async (_: string, ctx: any) => ctx.reload() });
};
"#;

fn command(terminal: &Terminal, text: &str, done: &str) {
    terminal.send_keys(&format!("{text}\r"));
    terminal.wait_for(done);
}

#[test]
fn an_extension_changes_what_stands_where_a_model_is_waited_for() {
    let waits = json!({"when": {"contains": "wait"}, "steps": ["hang"]});
    let project = Project::extended(LOOKS, &[waits, done()]);
    let terminal = project.begun((100, 45));
    command(&terminal, "/marks one two", "did marks one two.");
    say(&terminal, "wait now");
    // The marks stand in turn.
    for mark in ["one waiting", "two waiting", "one waiting"] {
        terminal.wait_for(mark);
    }
    command(&terminal, "/unmarked", "did unmarked .");
    terminal.wait_gone("one waiting");
    terminal.wait_until("nothing stands before the word", |screen| {
        screen.contents().lines().any(|line| line.starts_with(" waiting") || line.trim_start().starts_with("waiting"))
    });
    command(&terminal, "/visible no", "did visible no.");
    terminal.wait_until("what it does is left out", |screen| !screen.contents().contains("waiting "));
    command(&terminal, "/visible yes", "did visible yes.");
    command(&terminal, "/marks", "did marks .");
    terminal.wait_for("● waiting");
    terminal.send_keys(key::ESC);
    terminal.wait_gone("● waiting");
    terminal.leave();
}

#[test]
fn an_extension_names_folded_thoughts_and_shows_details() {
    let thinks =
        json!({"when": {"contains": "think"}, "steps": [{"thinking": "secret thoughts of it"}, {"text": "Thought."}]});
    let project = Project::extended(LOOKS, &[thinks, done()]);
    let terminal = project.begun((100, 45));
    say(&terminal, "think now");
    terminal.wait_for("thought · ~");
    command(&terminal, "/label musing deeply", "did label musing deeply.");
    terminal.wait_for("musing deeply · ~");
    assert!(!terminal.screen_text().contains("thought · ~"));
    // Those that come later are called so as well.
    say(&terminal, "think again");
    terminal.wait_until("both are", |screen| screen.contents().matches("musing deeply · ~").count() == 2);
    command(&terminal, "/expand yes", "expanded true");
    terminal.wait_for("secret thoughts of it");
    // What is shown in full is what it is.
    terminal.wait_for("thought · ~");
    terminal.send_keys("\x0f");
    terminal.wait_gone("secret thoughts of it");
    command(&terminal, "/is", "now expanded false");
    command(&terminal, "/label", "did label .");
    terminal.wait_gone("musing deeply · ~");
    // Loaded again, an extension begins with the program's own words.
    command(&terminal, "/label once more", "did label once more.");
    terminal.wait_for("once more · ~");
    command(&terminal, "/again", "extensions are loaded again with the next prompt");
    say(&terminal, "on");
    terminal.wait_gone("once more · ~");
    terminal.leave();
}

/// Hears what is typed: lower case becomes upper case, `#` is taken, `$` becomes several keys, `!` hangs. Reads and writes the draft.
const HEARS: &str = r##"
export default (pi: any) => {
  let off = () => {};
  pi.on("session_start", (_: any, ctx: any) => {
    if (pi.getFlag("deaf")) return;
    off = ctx.ui.onTerminalInput((data: string) => {
      if (data === "#") return { consume: true };
      if (data === "$") return { data: "cash\x7f\x7f" };
      if (data === "!") for (const end = Date.now() + 2000; Date.now() < end;);
      return /^[a-z]$/.test(data) ? { data: data.toUpperCase() } : undefined;
    });
  });
  pi.registerFlag("deaf", { type: "boolean", default: false });
  pi.registerShortcut("ctrl+q", { description: "deafens", handler: async (ctx: any) => { off(); ctx.ui.notify("hears nothing"); } });
  pi.registerShortcut("ctrl+x", { description: "swaps", handler: async (ctx: any) => {
    const draft = ctx.ui.getEditorText();
    ctx.ui.setEditorText([...draft].reverse().join(""));
    ctx.ui.notify(`read ${draft}, is ${ctx.ui.getEditorText()}`);
  } });
};
"##;

/// Types what ends with a full stop until extensions made that of it: on a busy machine it may take longer than a key waits.
fn types(terminal: &Terminal, keys: &str, becomes: &str) {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        terminal.send_keys(keys);
        terminal.wait_until("it is written", |screen| written(screen).ends_with('.'));
        if terminal.look(written) == becomes {
            return;
        }
        terminal.send_keys("\x15");
        terminal.wait_until("it is gone", |screen| !written(screen).ends_with('.'));
    }
    panic!("{keys:?} never became {becomes:?}: {}", terminal.screen_text());
}

/// The last row that begins as a draft does.
fn written(screen: &vt100::Screen) -> String {
    let contents = screen.contents();
    let draft = contents.lines().rev().find_map(|line| line.strip_prefix("› "));
    draft.unwrap_or_default().trim_end().to_owned()
}

#[test]
fn an_extension_hears_what_is_typed_before_the_screen_does() {
    let project = Project::extended(HEARS, &[done()]);
    let terminal = project.begun((100, 45));
    types(&terminal, "hi #there$.", "HI THEREca.");
    // A paste is not one of the keys that it changes.
    terminal.paste(" and more.");
    terminal.wait_for("HI THEREca. and more.");
    terminal.send_keys("\x15");
    // One that hangs holds nobody up, and is asked again when it has answered.
    terminal.send_keys("!xy.");
    terminal.wait_for("› !xy.");
    terminal.send_keys("\x15");
    types(&terminal, "so.", "SO.");
    terminal.leave();
}

#[test]
fn an_extension_that_no_longer_wants_it_hears_nothing() {
    let project = Project::extended(HEARS, &[done()]);
    let terminal = project.begun((100, 45));
    types(&terminal, "so.", "SO.");
    terminal.send_keys("\x11");
    terminal.wait_for("hears nothing");
    terminal.send_keys(" is it.");
    terminal.wait_for("› SO. is it.");
    terminal.leave();
}

#[test]
fn an_extension_reads_the_draft_and_writes_another_in_its_place() {
    let project = Project::extended(HEARS, &[done()]);
    let terminal = project.open(&["--flag", "deaf"], (100, 45));
    say(&terminal, "begin");
    terminal.wait_for("Done.");
    terminal.send_keys("live");
    terminal.wait_for("live");
    terminal.send_keys("\x18");
    terminal.wait_for("read live, is evil");
    terminal.wait_for("› evil");
    // And once more, what it has written itself.
    terminal.send_keys("\x18");
    terminal.wait_for("read evil, is live");
    terminal.wait_for("› live");
    terminal.leave();
}
