//! What an excellent program in a terminal is expected to do, row by row: drawing (T1–T5), size (T8–T12), keyboard and
//! paste (T13–T18), clipboard, input methods and colour (T20–T26), life and death (T29–T33). T12, T19, T24, T27 and T28
//! have more tests in `screen.rs`, T33 in `driver.rs`. There is no inline mode, so what is asked of one (T6, T7, T10) has
//! no test.

use crate::support::model_server::{Call, KEY, ModelServer};
use crate::support::terminal::{Answers, Home, Launch, Terminal, key, kill, poll};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use levain::domain::{Event, PromptEvent, Record, RequestEvent, ThreadId};
use levain::store::Layout;
use levain::store::log::{self, LogWriter};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The program, with the thread it had before.
fn levain(home: &Home, server: &ModelServer) -> Launch {
    let mut arguments = vec!["--model", "anthropic/test-model"];
    // The thread of a draft that was not sent goes with its worker, some time soon.
    let threads = std::fs::read_dir(home.project().join(".ai/agent/threads")).into_iter().flatten().flatten();
    let log = |thread: std::fs::DirEntry| std::fs::read_to_string(thread.path().join("transcript.jsonl")).ok();
    if threads.filter_map(log).any(|log| log.contains("prompt_queued")) {
        arguments.push("--continue");
    }
    let launch = home.levain_in_terminal(&arguments);
    launch.env("ANTHROPIC_BASE_URL", &server.base()).env("ANTHROPIC_API_KEY", KEY)
}

fn start(launch: Launch) -> Terminal {
    let terminal = launch.start();
    terminal.wait_for("test-model");
    terminal
}

/// Sends a prompt and begins its answer.
fn ask(terminal: &Terminal, server: &ModelServer, prompt: &str) -> Call {
    terminal.send_keys(prompt);
    terminal.wait_for(prompt);
    terminal.send_keys(key::ENTER);
    let call = server.call();
    call.begin();
    call
}

fn count(bytes: &[u8], what: &[u8]) -> usize {
    bytes.windows(what.len()).filter(|window| *window == what).count()
}

fn log_of(home: &Home) -> PathBuf {
    let threads = home.project().join(".ai/agent/threads");
    let mut logs: Vec<PathBuf> = fs::read_dir(threads)
        .unwrap()
        .map(|entry| entry.unwrap().path().join("transcript.jsonl"))
        .filter(|path| path.exists())
        .collect();
    assert_eq!(logs.len(), 1, "{logs:?}");
    logs.remove(0)
}

const BEGIN: &[u8] = b"\x1b[?2026h";
const END: &[u8] = b"\x1b[?2026l";

#[test]
fn t01_every_frame_is_one_synchronized_update() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = start(levain(&home, &server));
    let call = ask(&terminal, &server, "count");
    for number in 0..40 {
        call.text(&format!("line {number}\n\n"));
    }
    call.text("the end");
    call.end();
    terminal.wait_for("the end");
    terminal.leave();

    for answers in [Answers::default(), Answers { synchronized: false, ..Answers::default() }, Answers::silent()] {
        let knows = answers.synchronized;
        let terminal = start(levain(&home, &server).answers(answers));
        terminal.wait_for("the end");
        terminal.send_keys("some words");
        terminal.wait_for("some words");
        let bytes = terminal.bytes();
        // The question is no frame: it names the mode with `$p` behind.
        let (begun, ended) = (count(&bytes, BEGIN), count(&bytes, END));
        assert!(begun.abs_diff(ended) <= 1, "{begun} begun, {ended} ended");
        assert_eq!(ended > 0, knows, "{ended} frames");
        terminal.send_keys("\x15"); // ctrl-u
        terminal.leave();
    }

    let terminal = levain(&home, &server).env("LEVAIN_FAULT", "panic-loop").start();
    let ended = terminal.wait_exit();
    ended.assert_restored();
}

#[test]
fn t02_a_stream_never_clears_the_screen_and_writes_little() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = start(levain(&home, &server));
    let call = ask(&terminal, &server, "count");
    call.text("begin\n\n");
    terminal.wait_for("begin");
    let (before, frames) = (terminal.bytes().len(), terminal.frames());
    for number in 0..200 {
        call.text(&format!("line {number} of an answer that is longer than the screen is high\n\n"));
        if number % 20 == 0 {
            terminal.wait_for(&format!("line {number} of"));
        }
    }
    call.text("the end");
    call.end();
    terminal.wait_for("the end");
    let bytes = terminal.bytes();
    let streamed = &bytes[before..];
    assert_eq!(count(streamed, b"\x1b[2J"), 0, "no full clear");
    assert_eq!(count(streamed, b"\x1b[3J"), 0, "the scrollback is nobody's business");
    let frames = terminal.frames() - frames;
    let each = streamed.len() as u64 / frames.max(1);
    assert!(each < 80 * 24 * 3, "{each} bytes for each of {frames} frames");
    terminal.leave();
}

#[test]
fn t03_frames_are_capped_and_a_key_is_shown_at_once_all_the_same() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = start(levain(&home, &server));
    let call = ask(&terminal, &server, "count");
    call.text("begin ");
    terminal.wait_for("begin");
    let (start, frames) = (Instant::now(), terminal.frames());
    for number in 0..1_000 {
        call.text(&format!("word{number} "));
        if number % 50 == 0 {
            terminal.wait_for(&format!("word{number}"));
        }
    }
    call.text("the end");
    terminal.wait_for("the end");
    let drawn = terminal.frames() - frames;
    let most = start.elapsed().as_millis() * 60 / 1_000 + 3;
    assert!(u128::from(drawn) <= most, "{drawn} frames, at most {most} fit");
    terminal.send_keys("a key");
    terminal.wait_for("a key");
    call.end();
    terminal.send_keys("\x15");
    terminal.wait_gone("a key");
    terminal.leave();
}

#[test]
fn t04_stray_bytes_are_drawn_over_by_what_comes_next() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = start(levain(&home, &server));
    let call = ask(&terminal, &server, "say something");
    call.answer_on("Something.");
    terminal.wait_for("Something.");
    terminal.disturb("\x1b[3;1HSTRAY BYTES FROM ANOTHER PROGRAM");
    terminal.wait_for("STRAY BYTES");
    terminal.send_keys("\x1b[15~"); // F5
    terminal.wait_gone("STRAY BYTES");
    terminal.wait_for("Something.");
    // A screen that comes alive again after a rest is written whole.
    let (mut written, mut since) = (terminal.bytes().len(), Instant::now());
    poll("nothing was drawn for a while", || {
        if std::mem::replace(&mut written, terminal.bytes().len()) != terminal.bytes().len() {
            since = Instant::now();
        }
        since.elapsed() > Duration::from_millis(2_500)
    });
    terminal.disturb("\x1b[3;1HSTRAY BYTES WHILE NOBODY LOOKED");
    terminal.wait_for("STRAY BYTES");
    terminal.send_keys("a");
    terminal.wait_gone("STRAY BYTES");
    terminal.wait_for("Something.");
    terminal.send_keys(key::BACKSPACE);
    terminal.wait_until("the draft is empty", |screen| !screen.contents().contains("› a"));
    assert_eq!(count(&terminal.bytes(), b"\x1b[2J"), 1, "only F5 cleared the screen");
    // What a person's own command starts cannot reach the terminal.
    terminal.send_keys("!!echo stray > /dev/tty || echo has no terminal\r");
    terminal.wait_for("has no terminal");
    terminal.disturb("\x1b[3;1HSTRAY BYTES ONCE MORE");
    terminal.wait_for("STRAY BYTES");
    terminal.send_keys("\x1b[O"); // the window goes behind another
    terminal.send_keys("\x1b[I"); // and comes back
    terminal.wait_gone("STRAY BYTES");
    terminal.wait_for("Something.");
    terminal.leave();
}

#[test]
fn t04_a_size_that_changed_and_changed_back_unseen_is_drawn_whole() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = start(levain(&home, &server).size(80, 24));
    let call = ask(&terminal, &server, "say something");
    call.answer_on(&format!("Something {}the end.", "wide ".repeat(10)));
    terminal.wait_for("the end.");
    terminal.signal(Signal::STOP);
    terminal.resize(40, 12);
    terminal.wait_gone("the end.");
    terminal.resize(80, 24);
    assert!(!terminal.screen_text().contains("the end."));
    terminal.signal(Signal::CONT);
    terminal.wait_for("the end.");
    terminal.leave();
}

/// Wide, joined, combining and keycap letters.
const ODD: &str = "漢字 👩‍👩‍👧‍👦 👍🏽 🇩🇪 1️⃣ e\u{301}\u{302} نص अनुच्छेद ﷽ end";

#[test]
fn t05_no_line_is_wider_than_the_screen_and_borders_stand() {
    let (home, server) = (Home::new(), ModelServer::start());
    for columns in [40, 61] {
        let terminal = start(levain(&home, &server).size(columns, 24));
        let call = ask(&terminal, &server, "odd letters");
        let text = format!("{ODD}\n\n| a | b |\n|---|---|\n| {ODD} | x |\n\n```\n{ODD}{ODD}\n```\n\nthe end");
        call.answer_on(&text);
        terminal.wait_for("the end");
        terminal.paste(ODD);
        terminal.wait_for("end");
        terminal.send_keys("\x1bx"); // all commands, in a frame over it
        terminal.wait_for("┌ commands");
        terminal.wait_for("┘"); // the last of the frame
        let rows: Vec<String> = terminal.look(|screen| screen.rows(0, columns).collect());
        let framed: Vec<&String> = rows.iter().filter(|row| row.trim_start().starts_with('│')).collect();
        assert!(framed.len() > 8, "{rows:#?}");
        terminal.look(|screen| {
            for row in 0..24 {
                let first = screen.cell(row, 0).map(|cell| cell.contents().to_owned()).unwrap_or_default();
                if first == "│" {
                    let last = screen.cell(row, columns - 1).map(|cell| cell.contents().to_owned());
                    assert_eq!(last.as_deref(), Some("│"), "row {row} at {columns} columns:\n{}", screen.contents());
                }
            }
        });
        terminal.send_keys(key::ESC);
        terminal.wait_gone("┌ commands");
        terminal.send_keys("\x15\x15\x15");
        terminal.leave();
        home.wait_until_quiet();
        fs::remove_dir_all(home.project().join(".ai/agent")).unwrap();
    }
}

#[test]
fn t08_a_resize_while_streaming_ends_in_one_true_picture() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = start(levain(&home, &server).size(100, 30));
    let call = ask(&terminal, &server, "count");
    let long = "words that fill more than one row of the screen whatever its width may be ".repeat(3);
    for columns in [90, 70, 118, 60, 80] {
        call.text(&long);
        terminal.resize(columns, 24);
    }
    call.text("\n\nthe end");
    call.end();
    terminal.wait_for("the end");
    let settled = terminal.screen_text();
    terminal.leave();
    // Opened afresh at this size it looks the same.
    let fresh = start(levain(&home, &server).size(80, 24));
    fresh.wait_for("the end");
    let body = |text: &str| -> Vec<String> {
        let rows = text.lines().filter(|row| row.contains("words") || row.contains("the end"));
        rows.map(|row| row.trim_end().trim_end_matches('▌').trim_end().to_owned()).collect()
    };
    assert_eq!(body(&settled), body(&fresh.screen_text()));
    fresh.leave();
}

#[test]
fn t09_leaving_gives_the_shell_back_as_it_was() {
    let (home, server) = (Home::new(), ModelServer::start());
    let shell = home.in_terminal("bash", &["--norc", "--noprofile", "-i"]).env("PS1", "shell> ");
    let terminal = shell.env("ANTHROPIC_BASE_URL", &server.base()).env("ANTHROPIC_API_KEY", KEY).start();
    terminal.wait_for("shell>");
    terminal.send_keys("echo before-$((40+2))\r");
    terminal.wait_for("before-42");
    let before = terminal.screen_text();
    terminal.send_keys(&format!("{} --model anthropic/test-model\r", env!("CARGO_BIN_EXE_levain")));
    terminal.wait_for("test-model · ");
    terminal.send_keys("\x14"); // threads
    terminal.wait_for("threads ·");
    terminal.send_keys(key::CTRL_C);
    terminal.send_keys(key::CTRL_C);
    terminal.wait_until("the shell is back", |screen| {
        !screen.alternate_screen() && screen.contents().matches("shell>").count() == 3
    });
    let after = terminal.screen_text();
    assert!(after.starts_with(before.trim_end()), "{after}");
    assert!(!after.contains("threads ·"), "{after}");
    terminal.send_keys("exit\r");
    terminal.wait_exit().assert_restored();
}

#[test]
fn t11_a_held_view_stays_whatever_arrives() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = start(levain(&home, &server));
    let call = ask(&terminal, &server, "count");
    for number in 0..60 {
        call.text(&format!("line {number}\n\n"));
    }
    terminal.wait_for("line 59");
    terminal.send_keys(key::PAGE_UP);
    terminal.wait_gone("line 59");
    let held = |terminal: &Terminal| -> Vec<String> {
        terminal.screen_text().lines().filter(|row| row.trim_start().starts_with("line ")).map(str::to_owned).collect()
    };
    let before = held(&terminal);
    assert!(before.len() > 4);
    for number in 60..90 {
        call.text(&format!("line {number}\n\n"));
    }
    terminal.wait_for("new");
    terminal.send_keys("typing");
    terminal.wait_for("typing");
    call.end();
    terminal.wait_for("send");
    let after = held(&terminal);
    let shared = before.len().min(after.len()) - 1;
    assert_eq!(before[..shared], after[..shared]);
    terminal.send_keys("\x15");
    terminal.wait_gone("typing");
    terminal.send_keys(key::END);
    terminal.wait_for("line 89");
    terminal.leave();
}

#[test]
fn t12_a_list_longer_than_the_screen_scrolls_to_its_last_entry() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = start(levain(&home, &server).size(40, 10));
    terminal.send_keys(key::F1);
    terminal.wait_for("help ·");
    terminal.send_keys("G");
    terminal.wait_for("/queue");
    terminal.send_keys("g");
    terminal.wait_for("Main keys");
    terminal.send_keys(key::ESC);
    terminal.wait_gone("help ·");
    terminal.leave();
}

#[test]
fn t13_a_paste_is_one_edit() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = start(levain(&home, &server));
    // What the terminal reports must not be mistaken for text, nor text for reports.
    terminal.paste("one\rtwo\x1b[I\x1b[<35;150;7Mthree");
    terminal.wait_for("three");
    let text = terminal.screen_text();
    assert!(text.contains("one") && text.contains("two") && !text.contains("35;150"), "{text}");
    terminal.send_keys("\x1f"); // undo
    terminal.wait_gone("three");
    terminal.wait_gone("one");
    let large = "a line of a very large paste\n".repeat(5_000_000 / 29);
    terminal.paste(&large);
    terminal.wait_for("lines");
    terminal.send_keys("then");
    terminal.wait_for("then");
    for _ in 0..4 {
        terminal.send_keys(key::BACKSPACE);
    }
    terminal.wait_gone("then");
    terminal.send_keys(key::BACKSPACE); // the whole paste
    terminal.wait_gone("lines");
    terminal.leave();
}

#[test]
fn t14_pasted_lines_without_brackets_are_not_sent() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = start(levain(&home, &server));
    terminal.send_keys("first line\rsecond line\rthird line");
    terminal.wait_for("third line");
    let text = terminal.screen_text();
    assert!(text.contains("first line") && text.contains("second line"), "{text}");
    terminal.send_keys(key::ENTER);
    let call = server.call();
    assert_eq!(call.messages()[0].1, "first line\nsecond line\nthird line");
    call.answer("Read.");
    terminal.wait_for("Read.");
    terminal.leave();
}

#[test]
fn t15_the_keyboard_protocol_is_asked_for_used_and_given_back() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = start(levain(&home, &server));
    poll("the protocol is switched on", || count(&terminal.bytes(), b"\x1b[>") > 0);
    // Letters, a capital with its modifiers, and a symbol with ctrl, as kitty sends them.
    terminal.send_keys("a\x1b[98;2uC\x1b[13;2ud");
    terminal.wait_for("aBC");
    terminal.send_keys("\x1b[117;5u\x1b[127u\x1b[117;5u"); // ctrl-u, backspace, ctrl-u
    terminal.wait_gone("aBC");
    terminal.leave(); // asserts that the stack of protocols is as it was

    let silent = start(levain(&home, &server).answers(Answers::silent()));
    silent.send_keys("works without");
    silent.wait_for("works without");
    silent.send_keys("\x15");
    silent.leave();
}

#[test]
fn t16_every_way_to_write_a_line_break_and_esc_loses_nothing() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = start(levain(&home, &server));
    for newline in ["\x1b\r", "\n", "\\\r", "\x1b[13;2u"] {
        terminal.send_keys("above");
        terminal.wait_for("above");
        terminal.send_keys(newline);
        terminal.send_keys("below");
        terminal.wait_for("below");
        assert!(!terminal.screen_text().contains("abovebelow"), "{newline:?}: {}", terminal.screen_text());
        assert!(server.is_asked().is_none(), "{newline:?} sent the draft");
        terminal.send_keys("\x1b[27u"); // Esc, in the words of the keyboard protocol
        terminal.send_keys("!");
        terminal.wait_for("below!");
        terminal.send_keys("\x15\x7f\x15");
        terminal.wait_gone("above");
    }
    terminal.leave();
}

#[test]
fn t17_a_mouse_report_in_two_reads_types_nothing() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = start(levain(&home, &server));
    // An escape byte alone for a while is the Esc key, and `ESC [` may be alt-[.
    for cut in 3..11 {
        let (head, tail) = "\x1b[<35;150;7M".split_at(cut);
        terminal.send_keys(head);
        std::thread::yield_now();
        terminal.send_keys(tail);
    }
    terminal.send_keys("only this");
    terminal.wait_for("only this");
    let text = terminal.screen_text();
    assert!(!text.contains("35;") && !text.contains("7M"), "{text}");
    terminal.send_keys("\x15");
    terminal.leave();
}

#[test]
fn t18_the_mouse_can_be_left_to_the_terminal() {
    let (home, server) = (Home::new(), ModelServer::start());
    let taken =
        |terminal: &Terminal| terminal.look(vt100::Screen::mouse_protocol_mode) != vt100::MouseProtocolMode::None;
    let terminal = start(levain(&home, &server));
    assert!(taken(&terminal));
    terminal.send_keys("/mouse\r");
    terminal.wait_for("mouse");
    terminal.wait_until("the mouse is the terminal's", |screen| {
        screen.mouse_protocol_mode() == vt100::MouseProtocolMode::None
    });
    terminal.send_keys("/mouse\r");
    terminal.wait_until("the mouse is ours", |screen| screen.mouse_protocol_mode() != vt100::MouseProtocolMode::None);
    terminal.leave();
    fs::write(home.config().join("config.toml"), "mouse = false\n")
        .or_else(|_| {
            fs::create_dir_all(home.config())?;
            fs::write(home.config().join("config.toml"), "mouse = false\n")
        })
        .unwrap();
    let terminal = start(levain(&home, &server));
    assert!(!taken(&terminal));
    terminal.leave();
}

/// A report of the left button, at a row and column counted from 0.
fn button(kind: &str, column: u16, row: u16) -> String {
    let (code, end) = match kind {
        "press" => (0, 'M'),
        "drag" => (32, 'M'),
        _ => (0, 'm'),
    };
    format!("\x1b[<{code};{};{}{end}", column + 1, row + 1)
}

fn row_of(terminal: &Terminal, text: &str) -> u16 {
    let rows = terminal.look(|screen| screen.rows(0, 100).collect::<Vec<_>>());
    let row = rows.iter().position(|row| row.contains(text)).unwrap_or_else(|| panic!("no `{text}` in {rows:#?}"));
    u16::try_from(row).unwrap()
}

#[test]
fn t18_a_click_chooses_but_not_the_one_that_focuses_the_window() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = start(levain(&home, &server));
    ask(&terminal, &server, "hello").answer_on("Hello yourself.");
    terminal.wait_for("Hello yourself.");
    let row = row_of(&terminal, "Hello yourself.");
    let click = button("press", 6, row) + &button("release", 6, row);
    terminal.send_keys("\x1b[O");
    terminal.send_keys(&format!("\x1b[I{click}"));
    terminal.send_keys("x");
    terminal.wait_for("› x");
    assert!(!terminal.screen_text().contains('┃'), "{}", terminal.screen_text());
    terminal.send_keys("\x15");
    terminal.wait_gone("› x");
    poll("a later click chooses", || {
        terminal.send_keys(&click);
        terminal.screen_text().contains("┃")
    });
    terminal.send_keys(key::ESC);
    terminal.wait_gone("┃");
    terminal.leave();
}

#[test]
fn t21_what_is_marked_with_the_mouse_has_no_gutter_and_no_wrap_breaks() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = start(levain(&home, &server).size(40, 24));
    let long = "a paragraph that is as long as two rows of the screen";
    let url = "https://example.org/a/path/that/is/longer/than/a/row";
    let text = format!("{long}\n\n- {url}\n\n```\nfn main() {{\n    code();\n}}\n```\n\nlast words");
    ask(&terminal, &server, "say").answer_on(&text);
    terminal.wait_for("last words");
    let (first, last) = (row_of(&terminal, "a paragraph"), row_of(&terminal, "last words"));
    terminal.send_keys(&(button("press", 2, first) + &button("drag", 9, last)));
    terminal.wait_until("it is shown what is marked", |screen| screen.cell(first, 3).is_some_and(vt100::Cell::inverse));
    terminal.send_keys(&button("release", 9, last));
    terminal.wait_for("copied");
    let bytes = terminal.bytes();
    let bytes = String::from_utf8_lossy(&bytes).into_owned();
    let coded: String =
        bytes.split_once("]52;c;").unwrap().1.chars().take_while(|letter| !letter.is_control()).collect();
    let copied = String::from_utf8(STANDARD.decode(coded).unwrap()).unwrap();
    assert_eq!(copied, format!("{long}\n\n• {url}\n\nfn main() {{\n    code();\n}}\n\nlast wor"));
    terminal.leave();
}

#[test]
fn t20_t21_copying_says_its_path_and_gives_the_text_as_it_was_written() {
    let answer = "A paragraph that is long enough to be wrapped over more than one row of a screen of eighty columns, \
                  with https://example.org/a/very/long/address/that/is/wrapped/as/well/and/must/stay/whole?q=1 in it.\n\n\
                  - item\n  - inner\n\n    code";
    for tmux in [false, true] {
        let (home, server) = (Home::new(), ModelServer::start());
        let mut launch = levain(&home, &server).env_remove("TMUX");
        if tmux {
            launch = launch.env("TMUX", "/tmp/tmux-0/default,1,0");
        }
        let terminal = start(launch);
        ask(&terminal, &server, "answer").answer_on(answer);
        terminal.wait_for("code");
        terminal.wait_for("send");
        terminal.send_keys("\x1bc");
        terminal.wait_for("copied");
        terminal.wait_for(if tmux { "through tmux" } else { "through the terminal" });
        let bytes = terminal.bytes();
        let text = String::from_utf8_lossy(&bytes);
        let (before, behind) = text.split_once("]52;c;").expect("a sequence for the clipboard");
        assert_eq!(before.ends_with("\x1bPtmux;\x1b\x1b"), tmux);
        let coded: String = behind.chars().take_while(|letter| !letter.is_control()).collect();
        assert_eq!(String::from_utf8(STANDARD.decode(coded).unwrap()).unwrap(), answer);
        terminal.leave();
    }
}

/// What the bytes show as links: where each leads, its id and its text; and all text that is no link.
fn links_in(bytes: &[u8]) -> (Vec<(String, String, String)>, String) {
    let text = String::from_utf8_lossy(bytes);
    let (mut links, mut plain) = (Vec::new(), String::new());
    let visible = |text: &str| -> String {
        let mut shown = String::new();
        let mut rest = text;
        while let Some((before, sequence)) = rest.split_once('\x1b') {
            shown.push_str(before);
            let ends = |letter: char| letter.is_ascii_alphabetic() || letter == '\\';
            let body = sequence.get(1..).unwrap_or_default();
            rest = body.split_once(ends).map_or("", |(_, rest)| rest);
        }
        shown + rest
    };
    let mut pieces = text.split("\x1b]8;");
    plain += &visible(pieces.next().unwrap());
    let mut open = None;
    for piece in pieces {
        let (head, body) = piece.split_once("\x1b\\").expect("a whole sequence");
        let (parameters, target) = head.split_once(';').expect("parameters and address");
        match (target, &open) {
            ("", Some(())) => {
                open = None;
                plain += &visible(body);
            }
            (_, None) => {
                links.push((target.to_owned(), parameters.to_owned(), visible(body)));
                open = Some(());
            }
            other => panic!("{other:?} within another"),
        }
    }
    assert!(open.is_none(), "a link was left open");
    (links, plain)
}

#[test]
fn t22_links_are_links_where_they_are_known_and_addresses_elsewhere() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = start(levain(&home, &server).size(40, 24).env("LEVAIN_LINKS", "on"));
    let call = ask(&terminal, &server, "links");
    let label = "ZZZZ ZZZZ ZZZZ ZZZZ ZZZZ ZZZZ ZZZZ ZZZZ ZZZZ ZZZZ";
    let text = format!(
        "Before [{label}](https://example.org/a?b=c) after.\n\n[bad](javascript:x) [worse](https://x.org/\u{9c}y)\n\nThe end."
    );
    call.answer_on(&text);
    terminal.wait_for("The end.");
    terminal.send_keys("\x1bx"); // a list over it
    terminal.wait_for("┌ commands");
    terminal.send_keys(key::ESC);
    terminal.wait_gone("┌ commands");
    let bytes = terminal.bytes();
    let (links, plain) = links_in(&bytes);
    assert!(!links.is_empty(), "no link");
    let (target, id, _) = links[0].clone();
    assert_eq!(target, "https://example.org/a?b=c");
    assert!(id.starts_with("id="), "{id}");
    for link in &links {
        assert_eq!((&link.0, &link.1), (&target, &id), "one link over all its rows");
        assert!(link.2.chars().all(|letter| letter == 'Z' || letter == ' '), "{link:?} is more than its label");
    }
    assert!(!plain.contains('Z') && plain.contains("javascript:x"), "{plain}");
    assert!(links.iter().map(|link| link.2.matches('Z').count()).sum::<usize>() >= 40, "{links:?}");
    terminal.leave();

    for (name, value) in [("LEVAIN_LINKS", "off"), ("LEVAIN_LINKS", "auto"), ("FORCE_HYPERLINK", "0")] {
        let terminal = start(levain(&home, &server).env(name, value));
        terminal.wait_for("(https://example.org/a?b=c)");
        assert_eq!(count(&terminal.bytes(), b"\x1b]8;"), 0, "{name}={value}");
        terminal.leave();
    }
}

#[test]
fn t23_the_cursor_stands_where_one_writes() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = start(levain(&home, &server));
    let caret_after = |terminal: &Terminal, text: &str| {
        let wanted = text.to_owned();
        terminal.wait_until("the cursor stands behind the text", move |screen| {
            let (row, column) = screen.cursor_position();
            let line = screen.rows(0, 80).nth(usize::from(row)).unwrap_or_default();
            let before: String = screen.contents_between(row, 0, row, column);
            !screen.hide_cursor() && line.contains(wanted.trim()) && before.trim_end().ends_with(wanted.trim())
        });
    };
    terminal.send_keys("漢字 and more");
    caret_after(&terminal, "漢字 and more");
    terminal.send_keys("\x1bx");
    terminal.wait_for("┌ commands");
    terminal.send_keys("theme");
    caret_after(&terminal, "theme");
    terminal.send_keys(key::ESC);
    terminal.wait_gone("┌ commands");
    terminal.send_keys("\x15");
    terminal.leave();
}

#[test]
fn t25_without_colour_everything_can_still_be_told_apart() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = start(levain(&home, &server).env("NO_COLOR", "1"));
    terminal.send_keys("\x1bx");
    terminal.wait_for("┌ commands");
    terminal.wait_for("▸"); // what is chosen
    terminal.send_keys(key::ESC);
    terminal.wait_gone("┌ commands");
    let call = ask(&terminal, &server, "work");
    call.text("half");
    terminal.wait_for("● streaming");
    call.end();
    terminal.wait_gone("● streaming");
    terminal.leave();
}

#[test]
fn t26_every_screen_is_linear_text_where_one_asks_for_it() {
    let home = Home::new();
    let terminal = home.levain_in_terminal(&["--plain", "--model", "scripted/tools"]).size(100, 60).start();
    let line = |text: &str| terminal.send_keys(&format!("{text}\r"));
    terminal.wait_for("Type a message and press Enter.");
    line("please write");
    terminal.wait_for("May it run?");
    terminal.wait_for("Hello from a scripted model.");
    // A word that is too early is refused in words. All that was said counts: the screen keeps no more than its rows.
    let mut sent = 0;
    poll("the call is answered", || {
        let bytes = terminal.bytes();
        let said = String::from_utf8_lossy(&bytes);
        if said.contains("That is what became of the file.") {
            return true;
        }
        if said.matches("answer again").count() == sent {
            line("yes");
            sent += 1;
        }
        false
    });
    assert!(home.project().join("hello.txt").exists());
    terminal.wait_for("Ready.");
    for (command, heading) in [
        ("/help", "# Page: help"),
        ("/threads", "# List: threads"),
        ("/model", "# List: models"),
        ("/items", "# List: items"),
        ("/directive", "# List: start a directive"),
        ("/theme", "# List: themes"),
        ("/queue", "nothing is queued"),
        ("/notices", "# Page: notices"),
        ("/context", "# Context: "),
    ] {
        line(command);
        poll(heading, || String::from_utf8_lossy(&terminal.bytes()).contains(heading));
        if !command.starts_with("/help") && command != "/notices" {
            line("");
        }
    }
    line("/quit");
    terminal.wait_exit().assert_code(0);
}

#[test]
fn t26_a_script_may_talk_to_it() {
    use std::io::Write as _;
    let home = Home::new();
    let mut command = home.levain(&["--plain", "--model", "scripted/tools"]);
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"list\n/context\n\nrun\nno\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    for part in
        ["# You\n\nlist", "# Call: ", "# Answer", "# Context: ", "May it run?", "Failed of bash, denied by you:"]
    {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    assert!(!text.contains('\x1b') && !text.contains('\r'), "something was written over: {text:?}");
}

#[test]
fn t26_a_held_request_is_previewed_compared_dropped_and_sent_by_words() {
    use std::io::Write as _;
    let home = Home::new();
    let mut command = home.levain(&["--plain", "--model", "scripted/demo"]);
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let script = "/diff\nhello\n/preview never said\n/drop\n/preview and now?\n/diff\n\n/text\n/wire\n/send\n/context\n/earlier\n\n";
    child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    let mut at = 0;
    for part in [
        "no request is open",
        "# You\n\nhello",
        "# Context: what Enter would send",
        "/send: Send the request that is shown",
        "Closed.",
        "# Context: what Enter would send",
        "# difference · ",
        "An empty line goes back to the layers.",
        "# text · ",
        "\"messages\"",
        "# You\n\nand now?",
        "# Context: ",
        "#2",
        "#1",
    ] {
        let found = text.get(at..).unwrap().find(part);
        at += found.unwrap_or_else(|| panic!("no `{part}` behind byte {at} of\n{text}")) + part.len();
    }
    assert!(!text.contains("# You\n\nnever said"), "{text}");
}

#[test]
fn t29_at_rest_nothing_is_written_and_nothing_runs() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = start(levain(&home, &server));
    ask(&terminal, &server, "hello").answer_on("Hello.");
    terminal.wait_for("Hello.");
    terminal.wait_for("send");
    let ticks = || {
        home.processes()
            .into_iter()
            .filter_map(|pid| fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok())
            .filter_map(|stat| {
                let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
                Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
            })
            .sum::<u64>()
    };
    // The last notice and the summary settle first.
    let mut written = terminal.bytes().len();
    poll("it is at rest", || {
        std::thread::sleep(Duration::from_millis(1_200));
        std::mem::replace(&mut written, terminal.bytes().len()) == terminal.bytes().len()
    });
    // How often each thread of ours gave the processor away to wait: each time something had woken it.
    let wakeups = || -> BTreeMap<PathBuf, u64> {
        let tasks = home.processes().into_iter().flat_map(|pid| {
            fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero())).into_iter().flatten().flatten()
        });
        let count = |task: fs::DirEntry| {
            let status = fs::read_to_string(task.path().join("status")).ok()?;
            let told = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
            Some((task.path(), told.trim().parse().ok()?))
        };
        tasks.filter_map(count).collect()
    };
    // Whatever comes back more seldom than this is below one wake-up a second anyway.
    let (before, woken, written) = (ticks(), wakeups(), terminal.bytes().len());
    std::thread::sleep(Duration::from_secs(8)); // what is measured is that nothing happens
    assert_eq!(terminal.bytes().len(), written, "bytes were written at rest");
    let used = ticks() - before;
    let woken: u64 = wakeups().iter().map(|(task, count)| count - woken.get(task).unwrap_or(&0)).sum();
    assert!(used <= 3, "{used} ticks of 10 ms in 8 s: half a percent of a processor is 4");
    assert!(woken <= 8, "{woken} wake-ups in 8 s");
    terminal.leave();
}

#[test]
fn t30_a_log_of_ten_thousand_events_opens_and_scrolls() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = start(levain(&home, &server));
    ask(&terminal, &server, "first prompt of all").answer_on("First answer.");
    terminal.wait_for("First answer.");
    terminal.leave();
    home.wait_until_quiet();
    let layout = Layout::new(&home.project(), &home.path().join("state/levain"));
    let id: ThreadId = log_of(&home).parent().unwrap().file_name().unwrap().to_str().unwrap().parse().unwrap();
    let records = log::read_forward(&layout.log(&id).unwrap(), 0, 1 << 20).unwrap().into_records();
    let said: Vec<Record> = records
        .filter(|record| {
            matches!(
                record.event,
                Event::Prompt(PromptEvent::CognitionIn { .. }) | Event::Request(RequestEvent::CognitionOut { .. })
            )
        })
        .collect();
    assert!(said.len() >= 2);
    let (mut writer, _) = LogWriter::open(layout.thread(&id).log(), &id, layout.own_key().unwrap()).unwrap();
    for number in 0..5_000 {
        for record in &said {
            let mut record = record.clone();
            if let Event::Request(RequestEvent::CognitionOut { text, .. }) = &mut record.event {
                *text = format!("Answer number {number}.");
            }
            writer.append(&record).unwrap();
        }
    }
    let terminal = start(levain(&home, &server));
    terminal.wait_for("Answer number 4999.");
    for _ in 0..20 {
        terminal.send_keys(key::PAGE_UP);
    }
    terminal.wait_gone("Answer number 4999.");
    terminal.send_keys("typed");
    terminal.wait_for("typed");
    terminal.send_keys("\x15");
    terminal.leave();
}

#[test]
fn t31_a_torn_line_is_told_and_costs_nothing_before_it() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = start(levain(&home, &server));
    let call = ask(&terminal, &server, "first");
    call.answer_on("Kept whole.");
    terminal.wait_for("Kept whole.");
    // Words are on screen before they are in the log.
    let path = log_of(&home);
    poll("the answer is in the log", || fs::read_to_string(&path).unwrap().contains("cognition_out"));
    for pid in home.processes() {
        if pid != terminal.pid() {
            kill(pid, Signal::KILL);
        }
    }
    terminal.kill();
    terminal.wait_exit();
    let mut log = fs::read(&path).unwrap();
    log.extend_from_slice(b"{\"timestamp\":17727588,\"thread_id\":\"cha");
    fs::write(&path, log).unwrap();
    let terminal = start(levain(&home, &server));
    terminal.wait_for("Kept whole.");
    terminal.wait_for("fixed the log");
    terminal.send_keys("second\r");
    server.call().answer("Goes on.");
    terminal.wait_for("Goes on.");
    terminal.leave();
}

#[test]
fn t32_a_full_disk_is_told_and_the_answer_is_shown() {
    let (home, server) = (Home::new(), ModelServer::start());
    // No file of these processes may grow past 200 blocks of 512 bytes.
    let script = format!("ulimit -f 200; exec {} --model anthropic/test-model", env!("CARGO_BIN_EXE_levain"));
    let launch = home.in_terminal("bash", &["--norc", "--noprofile", "-c", &script]);
    let terminal = start(launch.env("ANTHROPIC_BASE_URL", &server.base()).env("ANTHROPIC_API_KEY", KEY));
    let call = ask(&terminal, &server, "much");
    for _ in 0..300 {
        call.text(&"many words ".repeat(60));
    }
    call.text("\n\nthe end");
    call.end();
    terminal.wait_for("the end");
    terminal.wait_until("the person is told", |screen| {
        let text = screen.contents();
        text.contains("not saved") || text.contains("could not") || text.contains("File too large")
    });
    terminal.send_keys("still here");
    terminal.wait_for("still here");
    terminal.send_keys("\x15");
    terminal.leave();
}

#[test]
fn t33_a_sleep_of_the_machine_is_no_timeout() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = start(levain(&home, &server));
    let call = ask(&terminal, &server, "sleep");
    call.text("before");
    terminal.wait_for("before");
    let all = home.processes();
    for pid in &all {
        kill(*pid, Signal::STOP);
    }
    terminal.resize(90, 30);
    std::thread::sleep(Duration::from_secs(2)); // the sleep itself
    call.text(" and after");
    for pid in &all {
        kill(*pid, Signal::CONT);
    }
    terminal.wait_for("before and after");
    call.end();
    terminal.wait_for("send");
    assert!(!terminal.screen_text().contains("silent"));
    terminal.leave();
}
