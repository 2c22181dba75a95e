//! Text of a project never steers the terminal it is printed on: items, settings, names of files, logs and arguments full
//! of what a terminal obeys or hides, printed by every subcommand on a terminal.

use crate::support::terminal::{Home, Terminal, key};
use serde_json::Value;
use std::fs;
use std::process::Stdio;

/// A clipboard, a title, a colour by C1, directions, zero width, a tag, deletion.
const EVIL: &str = "\u{1b}]52;c;ZXZpbA==\u{7}\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}x\u{202c}\u{200b}\u{200d}\u{2066}\u{e0041}\u{feff}\u{7f}\u{8}";

/// What `doctor` writes by itself: it takes the terminal over for a moment and asks for its background. The hostile text has
/// no sequence of these forms.
fn without_own(text: &str) -> String {
    let text = text.replace("\u{1b}]11;?\u{1b}\\", "");
    let mut pieces = text.split("\u{1b}[");
    let first = pieces.next().unwrap_or_default().to_owned();
    let ends = |letter: char| letter.is_ascii_alphabetic();
    pieces.fold(first, |kept, piece| kept + piece.split_once(ends).map_or("", |(_, rest)| rest))
}

fn steers(letter: char) -> bool {
    (letter.is_control() && !matches!(letter, '\n' | '\r' | '\t'))
        || matches!(
            letter,
            '\u{200b}'..='\u{200f}'
                | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// A project in which everything is hostile, and the id of its thread.
fn home() -> (Home, String, String) {
    let home = Home::new();
    let ai = home.project().join(".ai");
    let write = |path: &str, text: &str| {
        let path = ai.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let name = EVIL.replace('/', "");
    write(&format!("directives/evil{name}.md"), &format!("# {EVIL}\n\n{EVIL}\n"));
    write(
        "directives/known.md",
        &format!(
            "---\nname: known\ndescription: \"a {} b\"\n\"{}\": 1\n---\n\nSay {EVIL} to me.\n",
            escaped(EVIL),
            escaped(&name)
        ),
    );
    write(&format!("knowledge/evil{name}.md"), &format!("---\ntitle: {EVIL}\n---\n{EVIL}\n"));
    write("knowledge/plain.md", &format!("# plain {EVIL}\n\nwords {EVIL}\n"));
    write(&format!("tools/evil{name}.py"), &format!("__version__ = \"{}\"\n# {EVIL}\n", escaped(EVIL)));
    write("tools/providers/evil.yaml", &format!("tool_id: \"{}\"\ntool_type: http\nwire: \"{0}\"\n", escaped(EVIL)));
    write("config/levain.toml", &format!("theme = \"{}\"\n\"{0}\" = 1\n", toml_escaped(EVIL)));
    write("config/agent/resilience.yaml", &format!("\"{}\": 1\n", escaped(EVIL)));
    let action = "action: {primary: fetch, item_id: plain}";
    let hook =
        format!("hooks:\n  - id: \"{}\"\n    event: thread_started\n    \"{0}\": 1\n    {action}\n", escaped(EVIL));
    write("config/agent/hooks.yaml", &hook);
    write(&format!("context-tests/evil{name}.yaml"), &format!("directive: \"{}\"\n", escaped(EVIL)));
    let scenario = home.path().join("evil.yaml");
    let text = format!(
        "name: evil\nrate: 0\nreplies:\n  - when: {{ after_tool: nothing }}\n    steps:\n      - thinking: \"{0}\"\n      - \
         text: \"Answer {0}\"\n  - steps:\n      - tool_call: {{ name: nothing, input: {{ a: \"{0}\" }} }}\n",
        escaped(EVIL)
    );
    fs::write(&scenario, text).unwrap();
    let model = format!("scripted/{}", scenario.display());
    let prompt = format!("Hello {EVIL}");
    let run = ["run", "--json", "--model", &model, "--directive", "levain/chat", &prompt];
    let output = home.levain(&run).stdin(Stdio::null()).output().unwrap();
    let result: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    (home, result["thread_id"].as_str().unwrap().to_owned(), model)
}

/// Writes settings with which no thread starts.
fn spoil(home: &Home) {
    let write = |path: &str, text: &str| fs::write(home.project().join(".ai/config").join(path), text).unwrap();
    write("levain.toml", &format!("directive = \"{}\"\nmodel = \"{0}\"\n\"{0}\" = 1\n", toml_escaped(EVIL)));
    write("agent/resilience.yaml", &format!("\"{}\": 1\nretry: \"{0}\"\n", escaped(EVIL)));
    write("agent/hooks.yaml", &format!("hooks:\n  - id: \"{}\"\n    event: \"{0}\"\n", escaped(EVIL)));
}

/// For a text in double quotes of YAML, which no raw control may stand in.
fn escaped(text: &str) -> String {
    text.chars().fold(String::new(), |text, letter| format!("{text}\\U{:08x}", u32::from(letter)))
}

fn toml_escaped(text: &str) -> String {
    escaped(text)
}

/// Everything that a command wrote on its terminal.
fn printed(home: &Home, arguments: &[&str]) -> Vec<u8> {
    let terminal = home.levain_in_terminal(arguments).size(200, 50).start();
    if arguments.first() == Some(&"attach") {
        terminal.send_keys(key::CTRL_D);
    }
    terminal.wait_exit().bytes
}

#[track_caller]
fn assert_harmless(what: &str, bytes: &[u8]) -> bool {
    let mut text = String::from_utf8_lossy(bytes).into_owned();
    if what.starts_with("levain doctor") {
        text = without_own(&text);
    }
    if let Some(at) = text.find(steers) {
        let before: String = text.get(..at).unwrap_or_default().chars().rev().take(60).collect();
        let before: String = before.chars().rev().collect();
        panic!("{what} lets {:?} through, behind {before:?}", text.get(at..).unwrap().chars().next());
    }
    text.contains('\u{fffd}')
}

#[test]
fn s06_no_subcommand_lets_a_project_steer_the_terminal() {
    let (home, id, model) = home();
    let prompt = format!("Hello {EVIL}");
    let directive = format!("evil{}", EVIL.replace('/', ""));
    let unknown = format!("zzz{EVIL}");
    let evil_input = format!("{EVIL}={EVIL}");
    let extension = home.path().join("evil.js");
    let evil = Value::from(EVIL);
    let code = format!(
        "export default (pi) => {{ console.log({evil}); pi.registerCommand({evil}, {{ handler: async () => {{}} }});\n\
         pi.on('input', () => ({{ text: {evil} }})); pi.on('input', () => {{ throw new Error({evil}); }}); }};\n"
    );
    fs::write(&extension, code).unwrap();
    let extension = extension.to_str().unwrap();
    let commands: &[(&[&str], bool)] = &[
        (&["run", "--model", &model, "--directive", "levain/chat", &prompt], true),
        (&["run", "--model", &model, "--json", "--directive", "levain/chat", &prompt], false),
        (&["run", "--model", EVIL, "x"], true),
        (&["run", "--directive", &directive, "x"], true),
        (&["run", "--model", &model, "--directive", "known", "--input", &evil_input], true),
        (&["threads"], false),
        (&["threads", "--json"], false),
        (&["transcript", &id], true),
        (&["transcript", "--json", &id], false),
        (&["transcript", "--export", "md", &id], true),
        (&["transcript", "--export", "html", &id], true),
        (&["transcript", "--export", "jsonl", &id], false),
        (&["transcript", EVIL], false),
        (&["attach", &id], false),
        (&["attach", EVIL], false),
        (&["models"], false),
        (&["config"], true),
        (&["config", "--json"], true),
        (&["config", EVIL], true),
        (&["doctor"], true),
        (&["doctor", "--json"], false),
        (&["items"], false),
        (&["items", "--json"], false),
        (&["items", "words"], false),
        (&["items", &unknown], true),
        (&["check"], true),
        (&["check", "--json"], false),
        (&["keys", "list"], false),
        (&["keys", "trust", EVIL, "--owner", EVIL], true),
        (&["sign", EVIL], false),
        (&["trust", "--show"], true),
        (&["theme", EVIL], true),
        (&["keymap"], false),
        (&["context", "show", "--model", &model, "known"], false),
        (&["context", "show", "--model", &model, "known", "--text"], true),
        (&["context", "show", "--model", &model, "known", "--json"], true),
        (&["context", "show", "--thread", &id, "--text"], true),
        (&["context", "show", "--thread", &id, "--wire", "anthropic"], true),
        (&["context", "show", &directive], true),
        (&["context", "explain", EVIL], true),
        (&["context", "hooks", "known"], false),
        (&["context", "lint"], false),
        (&["context", "lint", &directive], true),
        (&["context", "test"], true),
        (&["context", "diff", &id, EVIL], false),
        (&[EVIL], true),
        (&[EVIL, EVIL], true),
        (&["threads", EVIL], true),
        (&["--project", EVIL, "threads"], true),
        (&["completions", EVIL], true),
        (&["extensions", extension], true),
        (&["extensions", extension, "--json"], false),
        (&["extensions", "emit", "input", extension], true),
        (&["extensions", EVIL], true),
        (&["extensions", "new", EVIL], true),
    ];
    let mut plain = Vec::new();
    let refused: &[(&[&str], bool)] = &[
        (&["run", "--model", &model, "--directive", "levain/chat", &prompt], true),
        (&["--plain", "--model", &model], false),
        (&["config"], true),
        (&["doctor"], true),
        (&["check"], true),
        (&["context", "show", "--model", &model, "known"], false),
        (&["context", "hooks", "known"], false),
    ];
    for (number, (arguments, marked)) in commands.iter().chain(refused).enumerate() {
        if number == commands.len() {
            spoil(&home);
        }
        let what = format!("levain {}", arguments.join(" ").replace(EVIL, "EVIL"));
        let bytes = printed(&home, arguments);
        if !assert_harmless(&what, &bytes) && *marked {
            plain.push(format!("{what}: {}", String::from_utf8_lossy(&bytes)));
        }
    }
    assert!(plain.is_empty(), "nothing hostile was shown, so nothing was tested: {plain:#?}");
    home.wait_until_quiet();
}

/// The sequences with which a terminal would be steered, in whatever the screen writes besides its own.
#[track_caller]
fn assert_obeys_nothing(terminal: &Terminal) {
    let text = String::from_utf8_lossy(&terminal.bytes()).into_owned();
    for sequence in ["\u{1b}]52", "\u{1b}]0;", "\u{9b}", "\u{202e}", "\u{200b}", "\u{2066}", "\u{e0041}", "\u{feff}"] {
        assert!(!text.contains(sequence), "{sequence:?} is written");
    }
}

#[test]
fn s06_no_screen_lets_a_project_steer_the_terminal() {
    let (home, id, model) = home();
    let terminal = home.levain_in_terminal(&["--continue", &id, "--model", &model]).start();
    terminal.wait_for("Answer ");
    assert_obeys_nothing(&terminal);
    terminal.send_keys(key::CTRL_C);
    terminal.send_keys(key::CTRL_C);
    terminal.wait_exit().assert_restored();
    let terminal = home.levain_in_terminal(&["--plain", "--continue", &id, "--model", &model]).start();
    terminal.wait_for("Answer ");
    terminal.send_keys("/threads\r");
    terminal.send_keys(key::CTRL_D);
    assert_harmless("levain --plain", &terminal.wait_exit().bytes);
    home.wait_until_quiet();
}
