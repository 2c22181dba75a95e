//! Hostile text from everywhere: what a model writes, what a command prints, names of files, what is pasted. It is shown
//! harmlessly, the terminal obeys none of it, and the screen stays quick. The times are looked at where the program is
//! optimised, one test after the other: `cargo nextest run --release -j1 --test hostile`.

use crate::support::model_server::{Call, KEY, ModelServer};
use crate::support::terminal::{Home, Terminal, key, poll};
use serde_json::json;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

/// What a terminal would obey: colours, moves, titles, the clipboard, other screens, a reset.
const ESCAPES: &str = "\u{1b}[2J\u{1b}[H\u{1b}]0;owned\u{7}\u{1b}]52;c;b3duZWQ=\u{7}\u{1b}[?1049l\u{1b}[?2004l\u{1b}c\u{9b}31m\u{1b}P\u{90}x\u{9c}\u{8}\u{7f}\r";

/// What turns the reading direction, and what cannot be seen.
const BIDI: &str = "\u{202e}evil\u{202c} \u{2066}x\u{2069} \u{200e}\u{200f}\u{61c}";

fn zero_width() -> String {
    format!("flood{}{}end", "\u{200b}".repeat(20_000), "\u{301}".repeat(20_000))
}

/// Ten megabytes without a line end; one where the program is not optimised.
fn long_line() -> String {
    let length = if cfg!(debug_assertions) { 1_000_000 } else { 10_000_000 };
    "0123456789abcdef wide 漢字 ".repeat(length / 28)
}

fn open(home: &Home, server: &ModelServer) -> Terminal {
    let terminal = home
        .levain_in_terminal(&["--model", "anthropic/test"])
        .env("ANTHROPIC_BASE_URL", &server.base())
        .env("ANTHROPIC_API_KEY", KEY)
        // Here it is about what fits.
        .env("LEVAIN_MAX_ARGUMENTS_KB", "8192")
        .start();
    terminal.wait_for("A new thread");
    terminal
}

fn leave(terminal: Terminal, home: &Home) {
    // An emulator that leaves out the mark for what cannot be seen is a column behind from there on.
    terminal.send_keys("\u{c}");
    terminal.send_keys(key::CTRL_C);
    terminal.wait_within(PATIENCE, "asking again", |screen| screen.contents().contains("again"));
    // Before it leaves, which takes no time.
    obeys_nothing(&terminal);
    terminal.send_keys(key::CTRL_C);
    terminal.wait_exit().assert_code(0).assert_restored();
    is_quick(home);
}

const PATIENCE: Duration = Duration::from_mins(1);

fn wait(terminal: &Terminal, text: &str) {
    terminal.wait_within(PATIENCE, text, |screen| screen.contents().contains(text));
}

/// Nothing of what was to be shown has reached the terminal as a command.
fn obeys_nothing(terminal: &Terminal) {
    assert!(terminal.look(vt100::Screen::alternate_screen), "still on the screen of its own");
    assert!(terminal.look(vt100::Screen::bracketed_paste));
    let bytes = terminal.bytes();
    let holds = |needle: &str| bytes.windows(needle.len()).any(|window| window == needle.as_bytes());
    for command in [
        "\u{1b}]0;owned",
        "\u{1b}]52;c;b3du",
        "\u{1b}c",
        "\u{9b}31m",
        "\u{202e}",
        "\u{2066}",
        "\u{200f}",
        "\u{61c}",
        "\u{200b}",
    ] {
        assert!(!holds(command), "{command:?} reached the terminal");
    }
}

/// No turn and no frame took over 50 ms: the program logs those that do.
fn is_quick(home: &Home) {
    if cfg!(debug_assertions) {
        return;
    }
    let state = home.path().join("state/levain");
    let logs = fs::read_dir(state).into_iter().flatten().flatten().map(|entry| entry.path());
    let slow: Vec<String> = logs
        .filter_map(|path| fs::read_to_string(path).ok())
        .flat_map(|text| text.lines().filter(|line| line.contains("a slow ")).map(str::to_owned).collect::<Vec<_>>())
        .collect();
    assert_eq!(slow, Vec::<String>::new());
}

/// Answers as fast as it can, and at last with `tail`.
fn stream(call: Call, text: &str, tail: &str) {
    call.begin();
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(64 << 10));
        call.text(piece);
        rest = after;
    }
    call.answer_on(tail);
}

#[test]
fn from_a_model() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = open(&home, &server);
    terminal.send_keys("escapes\r");
    let call = server.call();
    call.answer(&format!(
        "one {ESCAPES} two {BIDI} three\n\n```sh\n{ESCAPES}\n```\n\n[link]({ESCAPES}) `{BIDI}` tail-1"
    ));
    wait(&terminal, "tail-1");
    terminal.wait_for("␛[2J␛[H␛]0;owned␇");
    terminal.send_keys("zero\r");
    server.call().answer(&format!("{} tail-2", zero_width()));
    wait(&terminal, "tail-2");
    terminal.send_keys("long\r");
    stream(server.call(), &long_line(), " tail-3");
    wait(&terminal, "tail-3");
    terminal.send_keys("still typing");
    wait(&terminal, "still typing");
    terminal.send_keys(key::CTRL_C);
    leave(terminal, &home);
}

#[test]
fn from_a_command() {
    let (home, server) = (Home::new(), ModelServer::start());
    fs::write(home.project().join("escapes"), format!("{ESCAPES} {BIDI}\n")).unwrap();
    fs::write(home.project().join("zero"), zero_width()).unwrap();
    fs::write(home.project().join("long"), long_line()).unwrap();
    fs::write(home.project().join("bytes"), b"\xff\xfe\x80 not text \xc3\x28\n").unwrap();
    let terminal = open(&home, &server);
    for (number, name) in ["escapes", "zero", "bytes", "long"].into_iter().enumerate() {
        // The tail is only put together by the shell: what is typed does not hold it.
        terminal.send_keys(&format!("!cat {name}; echo; echo tail''-{number}\r"));
        wait(&terminal, &format!("tail-{number}"));
    }
    leave(terminal, &home);
}

#[test]
fn from_names_of_files() {
    let (home, server) = (Home::new(), ModelServer::start());
    for name in [format!("esc{ESCAPES}.md"), format!("bidi{BIDI}.md"), format!("zw{}.md", "\u{200b}".repeat(60))] {
        fs::write(home.project().join(name), "x").unwrap();
    }
    fs::write(home.project().join(OsStr::from_bytes(b"bytes\xff\xfe.md")), "x").unwrap();
    let terminal = open(&home, &server);
    // A name with control letters is not offered: no draft could hold it.
    terminal.send_keys("@md");
    terminal.wait_for("@\"bidi");
    assert!(!terminal.screen_text().contains("@esc"));
    terminal.send_keys("\u{15}!ls -1 --literal --show-control-chars; echo tail''-1\r");
    wait(&terminal, "tail-1");
    leave(terminal, &home);
}

#[test]
fn from_a_paste() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = open(&home, &server);
    // The end of a paste is the one thing that a terminal takes out of it.
    terminal.paste(&format!("one {ESCAPES} {BIDI} tail-1"));
    wait(&terminal, "tail-1");
    terminal.send_keys("\u{15}\u{7f}\u{15}");
    terminal.wait_gone("tail-1");
    terminal.paste(&zero_width());
    wait(&terminal, "paste");
    terminal.paste(&long_line());
    terminal.send_keys(" tail-2");
    wait(&terminal, "tail-2");
    terminal.send_keys("\r");
    let call = server.call();
    assert!(call.bytes.len() > long_line().len());
    call.answer("Too long to read.");
    wait(&terminal, "Too long to read.");
    leave(terminal, &home);
}

#[test]
fn from_a_call() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = open(&home, &server);
    terminal.send_keys("write it\r");
    let content = format!("one {ESCAPES} {BIDI} {}\n{}", zero_width(), long_line());
    let call = json!({"path": format!("a{BIDI}.md"), "content": content});
    server.call().tool("rye_file_system_write", &call);
    wait(&terminal, "to its end");
    terminal.send_keys(key::END);
    wait(&terminal, "y allow");
    terminal.send_keys("n");
    wait(&terminal, "denied");
    let told = server.call();
    told.answer("As you wish.");
    wait(&terminal, "As you wish.");
    // All of what it wanted to write.
    terminal.send_keys("\t");
    wait(&terminal, "reading ·");
    terminal.send_keys("k");
    terminal.send_keys("\r");
    wait(&terminal, "content:");
    terminal.send_keys("j");
    wait(&terminal, "more line");
    terminal.send_keys("q");
    leave(terminal, &home);
}

/// Whatever one can do with a long line that is on the screen.
#[test]
fn long_lines_are_looked_at() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = open(&home, &server);
    let seen = |keys: &str, text: &str| {
        terminal.send_keys(keys);
        wait(&terminal, text);
    };
    let resized = |columns: u16, rows: u16, text: &str| {
        let frames = terminal.frames();
        terminal.resize(columns, rows);
        poll("a frame of that size", || terminal.frames() > frames);
        wait(&terminal, text);
    };
    terminal.paste(&long_line());
    terminal.send_keys(" tail-0\r");
    stream(server.call(), &format!("```\n{}", long_line()), "\n```\ntail-1");
    wait(&terminal, "tail-1");
    terminal.send_keys("and in words\r");
    stream(server.call(), &format!("{}\n\nneedle here\n\n{}", long_line(), long_line()), " tail-2");
    wait(&terminal, "tail-2");
    // Up in it, narrower and wider again.
    terminal.send_keys(key::PAGE_UP);
    terminal.wait_gone("tail-2");
    resized(61, 24, "abcdef");
    resized(160, 45, "abcdef");
    seen(key::END, "tail-2");
    // Found, also where every row has it.
    seen("\u{13}needle", "needle here");
    seen("\r", "n next match");
    seen("/\u{15}abc", "/ abc");
    seen("\r", "n next match");
    terminal.send_keys("nnnNq");
    terminal.wait_gone("n next match");
    // Opened: the prompt is the first block.
    seen("\tg", "lines with details");
    terminal.send_keys("\r");
    terminal.wait_gone("with details");
    seen("j", "kB more, in your editor");
    terminal.send_keys("q");
    seen(key::END, "tail-2");
    // The request with all of it.
    seen(key::F4, "rye/execute");
    seen("t", "┌ text · ");
    seen("G", "0123456789abcdef");
    seen("w", "┌ Anthropic Messages");
    seen("/wide", "enter keep");
    seen("\r", "n next match");
    resized(81, 24, "wide");
    seen("d", "0123456789abcdef");
    terminal.send_keys("\u{1b}");
    terminal.send_keys("\u{1b}");
    leave(terminal, &home);
}
