//! Sizes, counts and times of strangers have bounds: what a provider streams, who connects, what a person pipes in. The
//! program as it is built, its memory as the system counts it, and its end after a signal.
//!
//! `LEVAIN_LONG_TESTS=1` streams ten times as much.

use crate::support::model_server::{Call, KEY, ModelServer};
use crate::support::terminal::{Home, kill, poll};
use rustix::process::{Pid, Signal};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};

/// What a worker and a screen may take at most, in kB.
const WORKER: u64 = 150 << 10;
const SCREEN: u64 = 200 << 10;

fn megabytes(usual: usize) -> usize {
    let long = std::env::var_os("LEVAIN_LONG_TESTS").is_some();
    (if long { 10 * usual } else { usual }) << 20
}

/// The most memory that a process has had, in kB.
fn peak(pid: Pid) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero())).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0");
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Figures for whoever runs the tests with `--no-capture`.
#[expect(clippy::print_stderr, reason = "a test has no other place")]
fn tell(what: &str, figure: &str) {
    eprintln!("{what}: {figure}");
}

#[track_caller]
fn below(most: u64, pid: Pid, what: &str) {
    let peak = peak(pid);
    tell(what, &format!("{} MB", peak >> 10));
    assert!(peak > 1 << 10, "{what} is still there");
    assert!(peak < most, "{what} took {} MB", peak >> 10);
}

#[track_caller]
fn ended(child: &mut Child) -> ExitStatus {
    let mut status = None;
    poll("it has ended", || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    status.unwrap()
}

fn against(home: &Home, server: &ModelServer, arguments: &[&str]) -> Command {
    let mut command = home.levain(arguments);
    command.env("ANTHROPIC_BASE_URL", server.base()).env("ANTHROPIC_API_KEY", KEY).stdin(Stdio::null());
    command
}

/// A scenario that answers with `text` and then, if it `hangs`, with nothing.
fn scenario(home: &Home, text: &str, hangs: bool) -> String {
    let path = home.path().join("test.yaml");
    let hang = if hangs { "      - hang\n" } else { "" };
    std::fs::write(&path, format!("name: test\nrate: 0\nreplies:\n  - steps:\n      - text: '{text}'\n{hang}"))
        .unwrap();
    format!("scripted/{}", path.display())
}

/// Where `levain run --json` prints its result: a file, so that nobody has to read while its memory is looked at.
fn printed(home: &Home) -> (Stdio, PathBuf) {
    let path = home.path().join("printed");
    (File::create(&path).unwrap().into(), path)
}

/// Waits for the end of `levain run --json` and returns its result, and the most memory it had, in kB.
#[track_caller]
fn result(child: &mut Child, path: &PathBuf) -> (Value, u64) {
    let pid = Pid::from_child(child);
    let mut most = 0;
    poll("it has ended", || {
        most = most.max(peak(pid));
        child.try_wait().unwrap().is_some()
    });
    (serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap_or_default(), most)
}

/// The socket of the only thread that runs.
fn socket(home: &Home) -> PathBuf {
    fn find(folder: PathBuf) -> Option<PathBuf> {
        std::fs::read_dir(folder).ok()?.flatten().find_map(|entry| {
            let path = entry.path();
            if path.is_dir() { find(path) } else { path.extension().is_some_and(|end| end == "sock").then_some(path) }
        })
    }
    let mut found = None;
    poll("somebody listens", || {
        found = find(home.path().join("run"));
        found.as_ref().is_some_and(|path| UnixStream::connect(path).is_ok())
    });
    found.unwrap()
}

// --- line 15

#[test]
fn s15_long_input_and_a_long_answer_end_a_run() {
    let home = Home::new();
    let model = scenario(&home, &"word ".repeat(600_000), false);
    let input = home.path().join("input");
    std::fs::write(&input, "x".repeat(3 << 20)).unwrap();
    let (out, path) = printed(&home);
    let mut run = home
        .levain(&["run", "--json", "--model", &model])
        .stdin(File::open(input).unwrap())
        .stdout(out)
        .spawn()
        .unwrap();
    let (result, _) = result(&mut run, &path);
    assert_eq!(run.wait().unwrap().code(), Some(0));
    assert_eq!(result["result"].as_str().unwrap().trim_end().len(), 600_000 * 5 - 1);
}

#[test]
fn s15_input_that_is_too_long_is_refused_in_words() {
    let home = Home::new();
    let model = scenario(&home, "never", false);
    let mut run =
        home.levain(&["run", "--model", &model]).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = run.stdin.take().unwrap();
    // The program does not read all of it.
    let piece = "x".repeat(1 << 20);
    for _ in 0..70 {
        let _gone = input.write_all(piece.as_bytes());
    }
    drop(input);
    assert_eq!(ended(&mut run).code(), Some(2));
    let mut told = String::new();
    run.stderr.take().unwrap().read_to_string(&mut told).unwrap();
    assert!(told.contains("more than 4 MB") && told.contains("max_prompt_kb"), "{told}");
}

/// What an interrupted command was doing: until when to wait, and the command.
fn ends_after_a_signal(mut child: Child, what: &str) {
    kill(Pid::from_child(&child), Signal::INT);
    let status = ended(&mut child);
    tell(what, &status.to_string());
    assert!(!status.success(), "{what}: {status}");
}

#[test]
fn s15_a_run_ends_on_a_signal_while_it_reads_its_input() {
    let home = Home::new();
    let model = scenario(&home, "never", false);
    let mut run = home.levain(&["run", "--model", &model]).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = run.stdin.take().unwrap();
    // More than a pipe holds: once it is written, the program reads.
    input.write_all("x".repeat(1 << 20).as_bytes()).unwrap();
    ends_after_a_signal(run, "reading");
    drop(input);
}

#[test]
fn s15_a_run_ends_on_a_signal_while_nobody_reads_its_answer() {
    let home = Home::new();
    let model = scenario(&home, &"word ".repeat(100_000), false);
    let mut run =
        home.levain(&["run", "--model", &model, "hi"]).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 4];
    let mut out = run.stdout.take().unwrap();
    out.read_exact(&mut first).unwrap();
    ends_after_a_signal(run, "printing");
    drop(out);
}

#[test]
fn s15_a_run_ends_on_a_signal_while_nothing_can_be_saved() {
    let home = Home::new();
    let server = ModelServer::start();
    // Enough for what the thread begins with, not for its answer.
    let line = format!("ulimit -f 200; exec {} run --model anthropic/test hi", env!("CARGO_BIN_EXE_levain"));
    let mut command = Command::new("sh");
    command.args(["-c", &line]).current_dir(home.project()).env_clear().envs(home.environment());
    command.env("ANTHROPIC_BASE_URL", server.base()).env("ANTHROPIC_API_KEY", KEY).stdin(Stdio::null());
    let run = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let call = server.call();
    call.begin();
    call.text(&"x".repeat(150 << 10));
    call.end();
    let mut attach = home.levain(&["attach", "--json", "chat-"]);
    let mut attach = attach.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let told = BufReader::new(attach.stdout.take().unwrap()).lines().map_while(Result::ok);
    let waits = told.into_iter().any(|line| line.contains("\"waiting\":\"storage\""));
    assert!(waits, "the thread waits for the store");
    ends_after_a_signal(run, "waiting for the store");
    attach.kill().unwrap();
    attach.wait().unwrap();
}

#[test]
fn s15_commands_end_on_a_signal_while_a_provider_hangs_and_nobody_reads() {
    let home = Home::new();
    let model = scenario(&home, &"word ".repeat(200_000), true);
    let run =
        home.levain(&["run", "--model", &model, "hi"]).stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let _listens = socket(&home);
    for arguments in
        [["attach", "chat-"].as_slice(), &["attach", "--json", "chat-"], &["transcript", "--follow", "--json", "chat-"]]
    {
        let mut child = home.levain(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut out = child.stdout.take().unwrap();
        out.read_exact(&mut [0; 2]).unwrap();
        // It is not read any more, and the pipe is full.
        if arguments[0] == "attach" {
            poll("the pipe is full", || rustix::io::ioctl_fionread(&out).unwrap() > 60_000);
        }
        let input = child.stdin.take();
        ends_after_a_signal(child, &arguments.join(" "));
        drop((out, input));
    }
    ends_after_a_signal(run, "hanging");
    home.wait_until_quiet();
}

#[test]
fn s15_the_screen_ends_on_a_signal_while_its_terminal_is_held() {
    let home = Home::new();
    let pair = portable_pty::native_pty_system().openpty(portable_pty::PtySize::default()).unwrap();
    let mut command = portable_pty::CommandBuilder::new(env!("CARGO_BIN_EXE_levain"));
    command.args(["demo"]);
    command.cwd(home.project());
    command.env_clear();
    for (name, value) in home.environment() {
        command.env(name, value);
    }
    let mut child = pair.slave.spawn_command(command).unwrap();
    let pid = Pid::from_raw(i32::try_from(child.process_id().unwrap()).unwrap()).unwrap();
    // Its first bytes come, then the terminal takes no more, as after ctrl-s.
    let mut reader = pair.master.try_clone_reader().unwrap();
    reader.read_exact(&mut [0; 64]).unwrap();
    let held = File::open(pair.master.tty_name().unwrap()).unwrap();
    rustix::termios::tcflow(&held, rustix::termios::Action::OOff).unwrap();
    pair.master.resize(portable_pty::PtySize { rows: 40, cols: 120, ..Default::default() }).unwrap();
    kill(pid, Signal::INT);
    poll("the screen has ended", || child.try_wait().unwrap().is_some());
    drop((reader, held));
}

// --- line 16

/// Streams what `flood` sends against `levain run`, which must close the connection, keep what it has, ask nobody again
/// and stay small.
#[track_caller]
fn cut(what: &str, begin: &str, piece: &str, most: usize) -> Value {
    let (home, server) = (Home::new(), ModelServer::start());
    let (out, path) = printed(&home);
    let mut run =
        against(&home, &server, &["run", "--json", "--model", "anthropic/test", "hi"]).stdout(out).spawn().unwrap();
    let call = server.call();
    call.begin();
    call.raw(begin.as_bytes().to_vec());
    let closed = call.flood(piece.as_bytes(), most);
    assert!(
        closed || {
            call.closed();
            true
        }
    );
    let (result, most) = result(&mut run, &path);
    tell(what, &format!("{} MB", most >> 10));
    assert!(most < WORKER, "{what} took {} MB", most >> 10);
    assert!(server.is_asked().is_none(), "{what} was asked for again");
    home.wait_until_quiet();
    result
}

fn event(value: &Value) -> String {
    format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap())
}

fn delta(value: &Value) -> String {
    event(&json!({"type": "content_block_delta", "index": 0, "delta": value}))
}

#[test]
fn s16_text_without_end_is_cut() {
    let piece = delta(&json!({"type": "text_delta", "text": "a word and another one\n".repeat(1_000)}));
    let result = cut("text", "", &piece, megabytes(40));
    assert_eq!(result["status"], "completed");
    let length = result["result"].as_str().unwrap().len();
    assert!((3 << 20..=4 << 20).contains(&length), "{length}");
}

#[test]
fn s16_text_of_letters_that_json_escapes_is_cut() {
    let piece = delta(&json!({"type": "text_delta", "text": "\u{1}".repeat(20_000)}));
    let length = cut("escapes", "", &piece, megabytes(40))["result"].as_str().unwrap().len();
    assert!(length <= (4 << 20) / 6, "{length}");
}

#[test]
fn s16_thinking_without_end_is_cut() {
    let piece = delta(&json!({"type": "thinking_delta", "thinking": "hm ".repeat(8_000)}));
    cut("thinking", "", &piece, megabytes(40));
}

#[test]
fn s16_arguments_without_end_are_cut() {
    let call = json!({"type": "tool_use", "id": "t", "name": "bash", "input": {}});
    let begin = event(&json!({"type": "content_block_start", "index": 0, "content_block": call}));
    let piece = delta(&json!({"type": "input_json_delta", "partial_json": "x".repeat(20_000)}));
    cut("arguments", &begin, &piece, megabytes(40));
}

#[test]
fn s16_calls_without_end_are_cut() {
    let call = json!({"type": "tool_use", "id": "t", "name": "bash", "input": {}});
    let one = event(&json!({"type": "content_block_start", "index": 1, "content_block": call}));
    cut("calls", "", &one.repeat(100), megabytes(20));
}

#[test]
fn s16_one_event_without_end_is_cut() {
    cut("an event", "event: content_block_delta\ndata: {\"type\":\"", &"y".repeat(64 << 10), megabytes(60));
    cut("lines of an event", "event: content_block_delta\n", &"data: yyyyyyyy\n".repeat(4_000), megabytes(60));
}

#[test]
fn s16_padding_without_end_is_cut() {
    cut("comments", "", &": still here\n\n".repeat(4_000), megabytes(40));
    cut("blank lines", "", &"\n".repeat(64 << 10), megabytes(40));
    let empty = delta(&json!({"type": "text_delta", "text": ""}));
    cut("empty pieces", "", &empty.repeat(400), megabytes(40));
}

#[test]
fn s16_a_worker_and_a_screen_stay_small_whatever_is_streamed() {
    let (home, server) = (Home::new(), ModelServer::start());
    let mut launch = home.levain_in_terminal(&["--model", "anthropic/test"]);
    launch = launch.env("ANTHROPIC_BASE_URL", &server.base()).env("ANTHROPIC_API_KEY", KEY);
    let terminal = launch.start();
    terminal.wait_for("levain/chat");
    let piece = delta(&json!({"type": "text_delta", "text": "a *word* and `another` one\n".repeat(1_000)}));
    // Its provider counts next to nothing, so the window never seems full.
    for round in 0..5 {
        terminal.send_keys(&format!("round {round}\r"));
        let call = loop {
            let call: Call = server.call();
            if !String::from_utf8_lossy(&call.bytes).contains("<conversation>") {
                break call;
            }
            call.answer("They spoke of words.");
        };
        call.begin();
        let closed = call.flood(piece.as_bytes(), megabytes(20));
        assert!(
            closed || {
                call.closed();
                true
            }
        );
        terminal.wait_for("cut off: the answer reached the limit of 4 MB");
    }
    for pid in home.processes() {
        let name = std::fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).unwrap_or_default();
        let words: Vec<&[u8]> = name.split(|byte| *byte == 0).collect();
        if words.get(1) == Some(&b"worker".as_slice()) {
            below(WORKER, pid, "the worker");
        }
    }
    below(SCREEN, terminal.pid(), "the screen");
}

#[test]
fn s16_a_thousand_silent_clients_cost_nothing() {
    let home = Home::new();
    let model = scenario(&home, "hello", true);
    let mut run =
        home.levain(&["run", "--model", &model, "hi"]).stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let path = socket(&home);
    let half = vec![b'x'; 100 << 10];
    let mut silent = Vec::new();
    for number in 0..1_000 {
        let Ok(mut stream) = UnixStream::connect(&path) else { continue };
        stream.set_nonblocking(true).unwrap();
        if number % 2 == 0 {
            let _taken = stream.write(&half);
        }
        silent.push(stream);
    }
    // The rest is told why, or closed after a while, and there is room again.
    let mut refused = String::new();
    let last = silent.last_mut().unwrap();
    poll("the last one is refused", || {
        let _nothing_yet = last.read_to_string(&mut refused);
        refused.contains("max_clients")
    });
    let hello = "{\"type\":\"hello\",\"version\":";
    let version = levain::worker::protocol::VERSION;
    poll("there is room for somebody who says hello", || {
        let mut stream = UnixStream::connect(&path).unwrap();
        let _refused_already = writeln!(stream, "{hello}{version}}}");
        let mut line = String::new();
        let _gone = BufReader::new(stream).read_line(&mut line);
        line.contains("\"hello\"")
    });
    below(WORKER, Pid::from_child(&run), "a worker with silent clients");
    run.kill().unwrap();
    run.wait().unwrap();
}

/// All clients that may look do, say something long, and read nothing while answers come.
#[test]
fn s16_clients_that_do_not_read_cost_a_share() {
    let (home, server) = (Home::new(), ModelServer::start());
    let mut run =
        against(&home, &server, &["run", "--model", "anthropic/test", "hi"]).stdout(Stdio::null()).spawn().unwrap();
    let call = server.call();
    call.begin();
    call.text("begun");
    let path = socket(&home);
    let version = levain::worker::protocol::VERSION;
    let mut clients: Vec<UnixStream> = Vec::new();
    poll("all clients are there", || {
        let mut stream = UnixStream::connect(&path).unwrap();
        let said = "{\"type\":\"subscribe\",\"from_offset\":0}";
        let _refused_already = writeln!(stream, "{{\"type\":\"hello\",\"version\":{version}}}\n{said}");
        let mut first = [0; 15];
        let greeted = stream.read_exact(&mut first).is_ok() && first.starts_with(b"{\"type\":\"hello\"");
        if greeted {
            clients.push(stream);
        }
        !greeted
    });
    assert!(clients.len() >= 31, "{}", clients.len());
    let long = vec![b'x'; 4 << 20];
    for stream in &mut clients {
        stream.set_nonblocking(true).unwrap();
        let _taken = stream.write(&long);
    }
    let piece = delta(&json!({"type": "text_delta", "text": "a word and another one\n".repeat(200)}));
    let closed = call.flood(piece.as_bytes(), megabytes(20));
    assert!(
        closed || {
            call.closed();
            true
        }
    );
    below(WORKER, Pid::from_child(&run), "a worker with clients that do not read");
    let _over_or_ending = ended(&mut run);
}

/// What is too large to be written is told, on the program as a person starts it.
#[test]
fn s12_a_file_that_may_not_grow_ends_no_process() {
    let home = Home::new();
    let model = scenario(&home, "Hello.", false);
    let line = format!("ulimit -f 4; exec {} run --model {model} {}", env!("CARGO_BIN_EXE_levain"), "x".repeat(16_000));
    let mut command = Command::new("sh");
    command.args(["-c", &line]).current_dir(home.project()).env_clear().envs(home.environment());
    let run = command.stdin(Stdio::null()).output().unwrap();
    assert_eq!(run.status.signal(), None, "{run:?}");
    assert!(!run.status.success() && String::from_utf8_lossy(&run.stderr).contains("File too large"), "{run:?}");
}
