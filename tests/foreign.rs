//! Projects of strangers: whatever lies in one, looking at it starts no process, sends no signal, opens no connection,
//! changes nothing outside of the project and the person's state folder, lets nothing steer the terminal, and ends.
//!
//! `project.rs` makes them: every path that this program uses below a project, with everything that can lie there instead
//! of what should, and traps of other kinds beside it. A third of the commands looks at each, in turn; with
//! `LEVAIN_LONG_TESTS=1` all of them, at four times as many projects.

mod canary;
mod project;

use crate::support::terminal::{Home, key, write};
use canary::Canaries;
use project::{PATHS_OF_A_TRAP, Project, THREAD};
use std::cell::Cell;
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What only looks, with the answer it may have: none must hang, whatever it says.
const LOOKS: &[&[&str]] = &[
    &["threads"],
    &["threads", "--json"],
    &["transcript", THREAD],
    &["transcript", "--json", THREAD],
    &["transcript", "--export", "md", THREAD],
    &["transcript", "--export", "jsonl", THREAD],
    &["attach", THREAD],
    &["items"],
    &["items", "words"],
    &["check"],
    &["config"],
    &["doctor"],
    &["models"],
    &["keys", "list"],
    &["keymap"],
    &["theme"],
    &["trust", "--show"],
    &["context", "show", "--model", "scripted/demo"],
    &["context", "show", "--thread", THREAD],
    &["context", "explain", "Identity", "--model", "scripted/demo"],
    &["context", "hooks"],
    &["context", "lint"],
    &["context", "test"],
    &["context", "diff", "a#1", "a#2"],
];

/// What also writes, below the project and the state folder. The model is [`ANSWER`]: the demo takes its time.
const WRITES: &[&[&str]] =
    &[&["threads", "fork", THREAD], &["run", "--model", MODEL, "--directive", "levain/chat", "hello"]];

const MODEL: &str = "scripted/../answer.yaml";
const ANSWER: &str = "name: answer\nreplies:\n  - steps:\n      - text: here\n";

/// No command takes longer; a debug build beside others is slow.
const LONGEST: Duration = Duration::from_mins(1);

/// Runs a command to its end and returns all it printed.
fn run(home: &Home, arguments: &[&str], about: &str) -> String {
    let mut command: Command = home.levain(arguments);
    command.env("PATH", canary::path(home));
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let (mut out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let read = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        err.read_to_end(&mut bytes).unwrap();
        bytes
    });
    let printed = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        out.read_to_end(&mut bytes).unwrap();
        bytes
    });
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begun.elapsed() > LONGEST {
            child.kill().unwrap();
            panic!("levain {} does not end in {about}", arguments.join(" "));
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let all = [printed.join().unwrap(), read.join().unwrap()].concat();
    let text = String::from_utf8_lossy(&all).into_owned();
    let shown: String = text.chars().take(2_000).collect();
    assert!(
        status.code().is_some_and(|code| code < 100),
        "levain {} ended with {status} in {about}: {shown}",
        arguments.join(" ")
    );
    assert!(!text.contains("panicked"), "levain {} in {about}: {shown}", arguments.join(" "));
    text
}

/// Looks at the projects whose number leaves `share` of `shares`.
fn look(share: usize, shares: usize) {
    let long = std::env::var_os("LEVAIN_LONG_TESTS").is_some();
    let factor = if long { 4 } else { 1 };
    let numbers = (0..project::COUNT * factor).filter(|number| number % shares == share);
    for number in numbers {
        let home = Home::new();
        let canaries = Canaries::new(&home);
        let project = Project::make(number, &home, &canaries);
        write(&home.path().join("answer.yaml"), ANSWER);
        let before = canaries.outside();
        let turn = |place: usize| long || place % 3 == (number / PATHS_OF_A_TRAP + number) % 3;
        let commands = LOOKS.iter().chain(WRITES).enumerate().filter(|(place, _)| turn(*place));
        for (_, arguments) in commands {
            run(&home, arguments, &project.about);
            canaries.check(&format!("levain {} in {}", arguments.join(" "), project.about));
        }
        if number % 16 == share % 16 {
            screen(&home, &project);
        }
        home.wait_until_quiet();
        canaries.check(&project.about);
        assert_eq!(canaries.outside(), before, "something outside changed in {}", project.about);
    }
}

/// Opens the workbench on the stranger's thread, looks around and leaves.
fn screen(home: &Home, project: &Project) {
    let terminal = home
        .levain_in_terminal(&["--model", "scripted/demo", "--continue", THREAD])
        .env("PATH", &canary::path(home))
        .start();
    let seen = Cell::new(false);
    terminal.wait_until("the screen or an end", |screen| {
        let text = screen.contents();
        seen.set(text.contains("project · "));
        seen.get() || text.contains("error:") || text.contains("hint:")
    });
    if seen.get() {
        terminal.send_keys(key::CTRL_C);
        terminal.wait_for("again");
        terminal.send_keys(key::CTRL_C);
    }
    let bytes = terminal.wait_exit().bytes;
    let text = String::from_utf8_lossy(&bytes);
    for steers in ["\x1b]52;c;ZXZpbA", "\x1b]0;owned", "\u{202e}owned", "\u{e0041}", "\u{200b}owned"] {
        assert!(!text.contains(steers), "the terminal was steered by {steers:?} in {}", project.about);
    }
}

macro_rules! shares {
    ($($name:ident $share:expr),*) => { $(#[test] fn $name() { look($share, 8); })* };
}

shares!(
    s01_a_foreign_project_is_inert_0 0,
    s01_a_foreign_project_is_inert_1 1,
    s01_a_foreign_project_is_inert_2 2,
    s01_a_foreign_project_is_inert_3 3,
    s01_a_foreign_project_is_inert_4 4,
    s01_a_foreign_project_is_inert_5 5,
    s01_a_foreign_project_is_inert_6 6,
    s01_a_foreign_project_is_inert_7 7
);

/// The forged thread can be read, and going on with it gives none of what it claims.
#[test]
fn s04_a_forged_thread_opens_read_only_and_is_gone_on_with_without_its_grants() {
    let home = Home::new();
    let canaries = Canaries::new(&home);
    let project = Project::forged(&home, &canaries);
    let about = &project.about;
    let listed = run(&home, &["threads", "--json"], about);
    assert!(listed.contains("\"elsewhere\":true"), "{listed}");
    assert!(run(&home, &["threads"], about).contains("elsewhere"));
    assert!(run(&home, &["transcript", THREAD], about).contains("what they said"));
    assert!(run(&home, &["attach", THREAD], about).contains("from elsewhere"));
    let terminal = home.levain_in_terminal(&["--model", "scripted/demo", "--continue", THREAD]).size(120, 40).start();
    terminal.wait_for("from elsewhere");
    terminal.wait_for("what they said");
    canaries.check(about);
    terminal.send_keys("go on");
    terminal.wait_for("go on");
    terminal.send_keys(key::ENTER);
    terminal.wait_gone("from elsewhere");
    terminal.wait_for("talking to the demo");
    terminal.send_keys(key::CTRL_C);
    terminal.wait_until("an end is near", |screen| {
        screen.contents().contains("again") || screen.contents().contains("stopped")
    });
    terminal.send_keys(key::CTRL_C);
    terminal.send_keys(key::CTRL_C);
    terminal.wait_exit();
    home.wait_until_quiet();
    let threads = std::fs::read_dir(home.project().join(".ai/agent/threads")).unwrap();
    let own = threads.flatten().find(|entry| entry.file_name().to_string_lossy().starts_with("chat-")).expect("a fork");
    let log = std::fs::read_to_string(own.path().join("transcript.jsonl")).unwrap();
    assert!(
        log.contains("what they said") && log.contains("go on") && log.lines().all(|line| line.contains("\"mac\""))
    );
    assert!(!log.contains("rm -rf") && !log.contains("\"allowed\":[\"*\"]"), "{log}");
    canaries.check(about);
}
