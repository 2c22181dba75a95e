//! The terminal harness itself, tried on small shell programs: what it shows, answers and complains about.

use crate::support::terminal;
use rustix::process::Signal;
use terminal::{Answers, Home, key};

/// Raw enough to read single bytes, and quiet.
const RAW: &str = "stty raw -echo; ";

fn shell(home: &Home, script: &str) -> terminal::Launch {
    home.in_terminal("sh", &["-c", script])
}

#[test]
fn it_shows_the_screen_and_passes_keys_on() {
    let home = Home::new();
    let terminal =
        shell(&home, "printf 'name? '; read name; printf '\\033[5;3Hhello %s' \"$name\"; exit 3").size(40, 10).start();
    terminal.wait_for("name?");
    terminal.send_keys("ada\n");
    let ended = terminal.wait_exit();
    ended.assert_code(3).assert_restored();
    assert_eq!(ended.text.lines().nth(4), Some("  hello ada"));
    assert!(ended.bytes.starts_with(b"name? "));
}

#[test]
fn it_answers_what_a_terminal_is_asked() {
    let home = Home::new();
    let expected = "^]11;rgb:1010/1010/1010^\\^[?2026;2$y^[?0u^[?62;22c";
    let script = format!(
        "{RAW} printf '\\033]11;?\\033\\\\\\033[?2026$p\\033[?u\\033[c'; \
         dd bs=1 count={} 2>/dev/null | tr '\\033' '^'; stty sane",
        expected.len()
    );
    let terminal = shell(&home, &script).start();
    terminal.wait_for(expected);
    terminal.wait_exit().assert_code(0);

    let silent = shell(&home, &format!("{RAW} printf '\\033[c'; printf 'asked '; dd bs=1 count=1 2>/dev/null"))
        .answers(Answers::silent())
        .start();
    silent.wait_for("asked");
    silent.send_keys("x");
    silent.wait_for("asked x");
}

#[test]
fn it_tells_what_was_not_restored() {
    let home = Home::new();
    let modes = "\\033[?1049h\\033[?2004h\\033[?25l\\033[?1000h\\033[?1004h\\033[>1u";
    let ended = shell(&home, &format!("{RAW} printf '{modes}'")).start().wait_exit();
    assert_eq!(ended.left.len(), 7, "{:?}", ended.left);
    let back = "\\033[<u\\033[?1004l\\033[?1000l\\033[?25h\\033[?2004l\\033[?1049l";
    let restored = format!("before=$(stty -g); {RAW} printf '{modes}{back}'; stty $before");
    shell(&home, &restored).start().wait_exit().assert_restored();
}

#[test]
fn it_notices_who_keeps_the_terminal() {
    let home = Home::new();
    let ended = shell(&home, "trap '' HUP; sleep 60 & exit 0").start().wait_exit();
    assert_eq!(ended.left, ["something the program started still holds the terminal"]);
    assert_eq!(home.processes().len(), 1);
    for pid in home.processes() {
        terminal::kill(pid, Signal::KILL);
    }
    home.wait_until_quiet();
}

#[test]
fn it_resizes_kills_and_hangs_up() {
    let home = Home::new();
    let terminal = shell(&home, "trap 'stty size' WINCH; stty size; while :; do read line; done").size(80, 24).start();
    terminal.wait_for("24 80");
    terminal.resize(100, 30);
    terminal.wait_for("30 100");
    terminal.kill();
    let ended = terminal.wait_exit();
    assert_eq!(ended.code(), None, "{:?}", ended.status);

    // The trap would not run if an end-of-file key had ended `cat` first.
    let script = format!("{RAW} trap 'exit 7' HUP; printf ready; while :; do cat >/dev/null; done");
    let terminal = shell(&home, &script).start();
    terminal.wait_for("ready");
    assert_eq!(terminal.hang_up().exit_code(), 7);
    home.wait_until_quiet();
}

#[test]
fn it_counts_frames_and_pastes_in_brackets() {
    let home = Home::new();
    let script = format!(
        "{RAW} printf '\\033[?2004h\\033[?2026hone\\033[?2026l\\033[?2026htwo\\033[?2026l'; \
         dd bs=1 count=16 2>/dev/null | tr '\\033' '^'; printf '\\033[?2004l'"
    );
    let terminal = shell(&home, &script).start();
    terminal.wait_for("onetwo");
    assert_eq!(terminal.frames(), 2);
    terminal.paste("text");
    terminal.wait_for("^[200~text^[201~");
    terminal.send_keys(key::ENTER);
}
