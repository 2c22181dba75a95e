//! The whole program in a terminal, against a model's server on loopback.

use crate::support::files::all_files;
use crate::support::model_server::{KEY, ModelServer};
use crate::support::terminal::{Answers, Home, Launch, Terminal, key, kill, poll};
use rustix::process::{Pid, Signal};
use std::time::{Duration, Instant};

fn levain(home: &Home, server: &ModelServer, arguments: &[&str]) -> Launch {
    let mut all = vec!["--model", "anthropic/test-model"];
    all.extend(arguments);
    home.levain_in_terminal(&all).env("ANTHROPIC_BASE_URL", &server.base()).env("ANTHROPIC_API_KEY", KEY)
}

fn open(home: &Home, server: &ModelServer) -> Terminal {
    let terminal = levain(home, server, &[]).start();
    terminal.wait_for("test-model · ");
    terminal
}

/// The worker: the process of this home that is not the screen.
fn worker(home: &Home, screen: &Terminal) -> Pid {
    let others: Vec<Pid> = home.processes().into_iter().filter(|pid| *pid != screen.pid()).collect();
    assert_eq!(others.len(), 1, "one worker");
    others[0]
}

/// The level stands behind the model's name, on the screen and in what is recorded; the vendor gets what it means by it.
#[test]
fn how_much_a_model_thinks_is_chosen_and_sent() {
    let (home, server) = (Home::new(), ModelServer::start());
    let arguments = ["--model", "anthropic/claude-haiku-4-5:minimal"];
    let launch = home.levain_in_terminal(&arguments).env("ANTHROPIC_BASE_URL", &server.base());
    let terminal = launch.env("ANTHROPIC_API_KEY", KEY).start();
    terminal.wait_for("claude-haiku-4-5:minimal");
    terminal.send_keys("/thinking");
    terminal.wait_for("▸ /thinking");
    terminal.send_keys(key::ENTER);
    terminal.wait_for("how much the model thinks");
    terminal.wait_for("xhigh");
    terminal.send_keys("low");
    terminal.wait_gone("xhigh");
    terminal.send_keys(key::ENTER);
    terminal.wait_for("claude-haiku-4-5:low");
    terminal.send_keys("first");
    terminal.wait_for("› first");
    terminal.send_keys(key::ENTER);
    let call = server.call();
    assert_eq!(call.body["thinking"], serde_json::json!({"type": "enabled", "budget_tokens": 2_048}));
    assert_eq!(call.body["model"], "claude-haiku-4-5");
    call.answer("Well.");
    terminal.wait_for("Well.");
    for (typed, level) in [("/thinking lots", None), ("/thinking default", Some("default"))] {
        terminal.send_keys(typed);
        terminal.wait_for(&format!("› {typed}"));
        terminal.send_keys(key::ENTER);
        terminal.wait_for(if level.is_some() {
            "model is now anthropic/claude-haiku-4-5"
        } else {
            "does not think `lots`"
        });
        terminal.send_keys("\x15");
    }
    terminal.send_keys("second");
    terminal.wait_for("› second");
    terminal.send_keys(key::ENTER);
    let call = server.call();
    assert_eq!(call.body.get("thinking"), None);
    call.answer("Done.");
    terminal.wait_for("Done.");
    terminal.leave();
}

#[test]
fn leaving_does_not_wait_for_a_slow_preview_and_ends_what_it_asked() {
    let (home, server) = (Home::new(), ModelServer::start());
    let write = |path: std::path::PathBuf, text: &str| {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let provider = "name: slow\nentry_type: context_provider\ncommand: [sh, -c, 'touch begun; sleep 600 & wait']\n\
                    timeout_seconds: 30\n";
    write(home.home().join(".ai/knowledge/slow.yaml"), provider);
    let directive = "```xml\n<directive name=\"a\" version=\"1.0.0\"><metadata>\
                     <context><provider>slow</provider></context></metadata></directive>\n```\nDo it.\n";
    write(home.project().join(".ai/directives/a.md"), directive);
    let terminal = levain(&home, &server, &["a"]).start();
    terminal.wait_for("test-model · ");
    terminal.send_keys("go\x10"); // preview
    poll("the command runs", || home.project().join("begun").exists());
    terminal.send_keys(key::CTRL_C);
    terminal.wait_for("again");
    let begun = Instant::now();
    terminal.send_keys(key::CTRL_C);
    terminal.wait_exit().assert_code(0).assert_restored();
    let took = begun.elapsed();
    assert!(took < Duration::from_millis(1_500), "leaving took {took:?}");
    home.wait_until_quiet();
}

#[test]
fn a_chat_is_answered_and_nothing_is_left_behind() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = open(&home, &server);
    terminal.send_keys("what is levain?\r");
    let call = server.call();
    assert_eq!(call.messages(), [("user".into(), "what is levain?".into())]);
    call.begin();
    call.text("Levain is a **starter**");
    terminal.wait_for("Levain is a starter");
    call.text(" for bread.");
    call.end();
    terminal.wait_for("for bread.");
    terminal.send_keys("and then?\r");
    let call = server.call();
    let said: Vec<String> = call.messages().into_iter().map(|(_, text)| text).collect();
    assert_eq!(said, ["what is levain?", "Levain is a **starter** for bread.", "and then?"]);
    call.answer("You bake.");
    terminal.wait_for("You bake.");
    terminal.leave();
    home.wait_until_quiet();
    for (path, bytes) in all_files(home.path()) {
        let leaked = bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes());
        assert!(!leaked, "the key is in {}", path.display());
    }
}

#[test]
fn a_killed_screen_costs_nothing() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = open(&home, &server);
    terminal.send_keys("tell me\r");
    let call = server.call();
    call.begin();
    call.text("The first half,");
    terminal.wait_for("The first half,");
    terminal.kill();
    terminal.wait_exit();
    call.text(" and the second.");
    call.end();
    let terminal = levain(&home, &server, &["--continue"]).start();
    terminal.wait_for("The first half, and the second.");
    terminal.send_keys("thanks\r");
    server.call().answer("Welcome.");
    terminal.wait_for("Welcome.");
    terminal.leave();
    home.wait_until_quiet();
}

#[test]
fn a_prompt_waits_for_a_worker_whose_handlers_have_not_ended() {
    let (home, server) = (Home::new(), ModelServer::start());
    let (own, go) = (home.home().join(".ai/config/agent"), home.project().join("go"));
    std::fs::create_dir_all(&own).unwrap();
    let waits = format!("while [ ! -e '{}' ]; do sleep 0.05; done", go.display());
    let handlers = format!("handlers:\n- id: last\n  stage: session_shutdown\n  command: [sh, -c, \"{waits}\"]\n");
    std::fs::write(own.join("pipeline.yaml"), handlers).unwrap();
    let terminal = open(&home, &server);
    terminal.send_keys("hello\r");
    server.call().answer("Hello.");
    terminal.wait_for("Hello.");
    terminal.leave();
    let terminal = levain(&home, &server, &["--continue"]).start();
    terminal.wait_for("Hello.");
    terminal.send_keys("again");
    terminal.wait_for("› again");
    terminal.send_keys("\r");
    // Longer than any worker takes to begin or to end by itself.
    terminal.wait_for("starting 6 s");
    std::fs::write(go, "").unwrap();
    server.call().answer("Welcome back.");
    terminal.wait_for("Welcome back.");
    terminal.leave();
    home.wait_until_quiet();
}

#[test]
fn a_screen_may_come_back_in_the_middle_of_an_answer() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = open(&home, &server);
    terminal.send_keys("tell me\r");
    let call = server.call();
    call.begin();
    call.text("one");
    terminal.wait_for("one");
    terminal.kill();
    terminal.wait_exit();
    let terminal = levain(&home, &server, &["--continue"]).start();
    terminal.wait_for("one");
    call.text(" two");
    terminal.wait_for("one two");
    call.text(" three");
    call.end();
    terminal.wait_for("one two three");
    terminal.leave();
}

#[test]
fn a_killed_worker_is_told_and_a_message_resumes() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = open(&home, &server);
    terminal.send_keys("tell me\r");
    let call = server.call();
    call.begin();
    call.text("kept words");
    terminal.wait_for("kept words");
    let log = |home: &Home| all_files(&home.project()).into_iter().find(|(path, _)| path.ends_with("inflight.jsonl"));
    poll("the words are on disk", || log(&home).is_some_and(|(_, bytes)| !bytes.is_empty()));
    let killed = Instant::now();
    kill(worker(&home, &terminal), Signal::KILL);
    terminal.wait_for("unexpectedly");
    assert!(killed.elapsed() < Duration::from_secs(1), "told after {:?}", killed.elapsed());
    terminal.wait_for("kept words");
    terminal.wait_for("○ error");
    terminal.send_keys("go on\r");
    let call = server.call();
    let said: Vec<String> = call.messages().into_iter().map(|(_, text)| text).collect();
    assert_eq!(said, ["tell me", "kept words", "go on"]);
    call.answer("More words.");
    terminal.wait_for("More words.");
    terminal.leave();
}

#[test]
fn esc_closes_the_connection_and_keeps_every_word() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = open(&home, &server);
    terminal.send_keys("tell me\r");
    let call = server.call();
    call.begin();
    call.text("partial text");
    terminal.wait_for("partial text");
    terminal.send_keys("my next thought");
    terminal.wait_for("my next thought");
    let asked = Instant::now();
    terminal.send_keys(key::ESC);
    let closed = call.closed();
    assert!(
        closed.duration_since(asked) < Duration::from_millis(200),
        "closed after {:?}",
        closed.duration_since(asked)
    );
    terminal.wait_for("enter send");
    let screen = terminal.screen_text();
    assert!(screen.contains("partial text") && screen.contains("my next thought"), "{screen}");
    terminal.leave();
}

#[test]
fn what_is_sent_while_streaming_reaches_the_next_turn() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = open(&home, &server);
    terminal.send_keys("first\r");
    let call = server.call();
    call.begin();
    call.text("working");
    terminal.wait_for("working");
    terminal.send_keys("later");
    terminal.send_keys(key::ALT_ENTER);
    terminal.send_keys("now\r");
    terminal.wait_for("now");
    poll("both are accepted", || {
        all_files(&home.project()).iter().any(|(path, bytes)| {
            path.ends_with("transcript.jsonl") && String::from_utf8_lossy(bytes).matches("prompt_queued").count() == 3
        })
    });
    call.end();
    let call = server.call();
    assert_eq!(call.messages().last().unwrap().1, "now");
    call.answer("done");
    let call = server.call();
    assert_eq!(call.messages().last().unwrap().1, "later");
    call.answer("done too");
    terminal.wait_for("done too");
    terminal.leave();
}

#[test]
fn t28_every_way_out_leaves_the_terminal_as_it_was() {
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let (home, server) = (Home::new(), ModelServer::start());
        let terminal = open(&home, &server);
        terminal.signal(signal);
        let ended = terminal.wait_exit();
        ended.assert_code(u32::try_from(128 + signal.as_raw()).unwrap());
        ended.assert_restored();
    }
}

#[test]
fn s18_quit_and_abort_leave_the_terminal_as_it_was() {
    for signal in [Signal::QUIT, Signal::ABORT] {
        let (home, server) = (Home::new(), ModelServer::start());
        let terminal = open(&home, &server);
        terminal.signal(signal);
        let ended = terminal.wait_exit();
        ended.assert_code(u32::try_from(128 + signal.as_raw()).unwrap());
        ended.assert_restored();
    }
}

#[test]
fn s18_a_terminal_that_only_prints_gets_lines() {
    for term in ["dumb", ""] {
        let (home, server) = (Home::new(), ModelServer::start());
        let terminal = levain(&home, &server, &[]).env("TERM", term).start();
        terminal.wait_for("goes line by line (--plain)");
        terminal.send_keys("hello\r");
        server.call().answer("Line by line.");
        terminal.wait_for("Line by line.");
        terminal.send_keys(key::CTRL_D);
        let ended = terminal.wait_exit();
        ended.assert_code(0).assert_restored();
        assert!(!ended.bytes.contains(&0x1b), "a sequence is written to a terminal that knows none");
    }
}

#[test]
fn t28_a_closed_terminal_ends_the_screen_and_not_the_worker() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = open(&home, &server);
    terminal.send_keys("tell me\r");
    let call = server.call();
    call.begin();
    call.text("half");
    terminal.wait_for("half");
    terminal.hang_up();
    call.text(" and half");
    call.end();
    let terminal = levain(&home, &server, &["--continue"]).start();
    terminal.wait_for("half and half");
    terminal.leave();
}

#[test]
fn t27_a_panic_in_the_loop_gives_the_terminal_back_and_tells_once() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = levain(&home, &server, &[]).env("LEVAIN_FAULT", "panic-loop").start();
    let ended = terminal.wait_exit();
    ended.assert_code(101);
    ended.assert_restored();
    let told = ended.text.matches("asked for by LEVAIN_FAULT").count();
    assert_eq!(told, 1, "{}", ended.text);
}

#[test]
fn t27_a_panic_in_the_background_is_reported_and_the_program_goes_on() {
    for fault in ["panic-task", "panic-thread"] {
        let (home, server) = (Home::new(), ModelServer::start());
        let terminal = levain(&home, &server, &[]).env("LEVAIN_FAULT", fault).start();
        terminal.wait_for("test-model · ");
        // Any key wakes the loop, which then tells.
        terminal.send_keys("x");
        terminal.wait_for("a background task failed");
        terminal.send_keys(key::BACKSPACE);
        terminal.leave();
    }
}

#[test]
fn t19_a_suspended_screen_gives_the_terminal_back_and_comes_back() {
    let (home, server) = (Home::new(), ModelServer::start());
    // Stopping needs a shell that looks after its jobs.
    let shell = home.in_terminal("bash", &["--norc", "--noprofile", "-i"]).env("PS1", "shell> ");
    let terminal = shell.env("ANTHROPIC_BASE_URL", &server.base()).env("ANTHROPIC_API_KEY", KEY).start();
    terminal.wait_for("shell>");
    terminal.send_keys(&format!("{} --model anthropic/test-model\r", env!("CARGO_BIN_EXE_levain")));
    terminal.wait_for("test-model · ");
    terminal.send_keys("draft");
    terminal.wait_for("draft");
    terminal.send_keys(key::CTRL_Z);
    terminal.wait_for("Stopped");
    assert!(!terminal.look(vt100::Screen::alternate_screen));
    terminal.send_keys("fg\r");
    terminal.wait_for("draft");
    terminal.send_keys(" goes on");
    terminal.wait_for("draft goes on");
    terminal.send_keys(key::CTRL_C);
    terminal.wait_for("again");
    terminal.send_keys(key::CTRL_C);
    terminal.wait_for("shell>");
    terminal.send_keys("exit\r");
    terminal.wait_exit().assert_restored();
}

#[test]
fn t24_light_and_dark_follow_the_terminal() {
    let (home, server) = (Home::new(), ModelServer::start());
    let dark = open(&home, &server);
    let dark_look = dark.look(vt100::Screen::contents_formatted);
    dark.leave();
    let light = levain(&home, &server, &[]).answers(Answers::light()).start();
    light.wait_for("test-model · ");
    light.wait_until("it looks different", |screen| screen.contents_formatted() != dark_look);
    light.leave();
}

#[test]
fn t24_no_color_means_no_colour_and_a_cursor_all_the_same() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = levain(&home, &server, &[]).env("NO_COLOR", "1").start();
    terminal.wait_for("test-model · ");
    terminal.send_keys("hello\r");
    server.call().answer("# Title\n\nSome `code` and **stress**.\n\n```rust\nfn main() {}\n```\n");
    terminal.wait_for("fn main()");
    assert!(!terminal.look(vt100::Screen::hide_cursor));
    let bytes = terminal.bytes();
    let text = String::from_utf8_lossy(&bytes);
    let coloured = text.split("\x1b[").filter_map(|rest| rest.split_once('m')).find(|(numbers, _)| {
        let numbers: Vec<&str> = numbers.split(';').collect();
        numbers.iter().all(|one| one.parse::<u8>().is_ok())
            && numbers.iter().any(|one| matches!(one.parse(), Ok(30..=38 | 40..=48 | 90..=97 | 100..=107_u8)))
    });
    assert_eq!(coloured, None);
    terminal.leave();
}

#[test]
fn t12_every_size_can_be_drawn() {
    for (columns, rows) in [(1, 1), (20, 5), (500, 200)] {
        let (home, server) = (Home::new(), ModelServer::start());
        let terminal = levain(&home, &server, &[]).size(columns, rows).start();
        terminal.wait_until("something is drawn", |screen| !screen.contents().trim().is_empty() || columns == 1);
        terminal.resize(80, 24);
        terminal.wait_for("test-model · ");
        terminal.resize(columns, rows);
        terminal.send_keys(key::CTRL_C);
        terminal.send_keys(key::CTRL_C);
        let ended = terminal.wait_exit();
        ended.assert_code(0);
        ended.assert_restored();
    }
}

#[test]
fn who_has_nothing_to_ask_looks_at_a_recording_first() {
    let home = Home::new();
    let folder = home.path().join("elsewhere");
    std::fs::create_dir(&folder).unwrap();
    let open = |arguments: &[&str]| home.levain_in_terminal(arguments).cwd(&folder).size(120, 36).start();
    // Here nobody looks for servers, so nobody is taken for a first visitor either.
    let terminal = open(&[]);
    terminal.wait_for("A new thread");
    terminal.leave();
    // Somebody is, with items and without: nobody answers, and nothing was said in this project yet.
    let nowhere = "http://127.0.0.1:9/v1";
    let visit = || {
        let launch = home.levain_in_terminal(&[]).size(120, 36).env("LEVAIN_LOCAL_SERVERS", "true");
        let places = ["OLLAMA_BASE_URL", "LMSTUDIO_BASE_URL", "LLAMACPP_BASE_URL", "VLLM_BASE_URL"];
        places.into_iter().fold(launch, |launch, name| launch.env(name, nowhere)).start()
    };
    assert!(home.project().join(".ai").is_dir());
    let terminal = visit();
    terminal.wait_until("it is a recording, and how to leave it", |screen| {
        let words = screen.contents().split_whitespace().collect::<Vec<_>>().join(" ");
        words.contains("this is a recording in") && words.contains("`levain` again opens this folder")
    });
    terminal.leave();
    let terminal = visit();
    terminal.wait_for("A new thread");
    terminal.leave();
    let terminal = open(&["demo"]);
    terminal.wait_for("orders.csv");
    terminal.wait_for("this is a recording in");
    // Every screen has something: requests with layers and with what is absent, and other threads.
    terminal.send_keys(key::F4);
    terminal.wait_for("bakery/voice");
    terminal.wait_for("/holidays");
    terminal.send_keys(key::ESC);
    terminal.wait_gone("/holidays");
    terminal.send_keys("what else?\r");
    terminal.wait_for("I am a script, so I know a few words only.");
    terminal.leave();
    let terminal = open(&["demo"]);
    terminal.wait_for("I am a script, so I know a few words only.");
    terminal.leave();
}

#[test]
fn threads_begun_one_after_the_other_show_all_that_was_said() {
    let home = Home::new();
    let terminal = home.levain_in_terminal(&["--model", "scripted/tools"]).size(120, 36).start();
    terminal.wait_for("A new thread");
    for _ in 0..3 {
        terminal.send_keys("list\r");
        terminal.wait_until("all of it stands there", |screen| {
            let text = screen.contents();
            ["› list", "system prompt: ~", "ls  ", "That is what lies", "tools · 0."]
                .iter()
                .all(|words| text.contains(words))
                && !text.contains('▌')
        });
        terminal.send_keys("\u{1b}n");
        terminal.wait_for("A new thread");
    }
    terminal.leave();
}

#[test]
fn code_has_colours_when_it_is_whole() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = open(&home, &server);
    terminal.send_keys("show me\r");
    let call = server.call();
    call.begin();
    call.text("```rust\nfn main() {} // begins\n```\n\nThat is all.");
    call.end();
    terminal.wait_for("That is all.");
    let colours = |screen: &vt100::Screen| -> Option<Vec<vt100::Color>> {
        let row = screen.rows(0, 100).position(|row| row.contains("fn main() {} // begins"))?;
        let at = screen.rows(0, 100).nth(row)?.find("fn main")?;
        let colour = |column: usize| {
            let column = u16::try_from(at + column).ok()?;
            Some(screen.cell(u16::try_from(row).ok()?, column)?.fgcolor())
        };
        [0, 3, 10, 13].map(colour).into_iter().collect()
    };
    terminal.wait_until("keyword, function and comment differ", |screen| {
        colours(screen)
            .is_some_and(|found| found.iter().enumerate().all(|(index, colour)| !found[..index].contains(colour)))
    });
    // What worked them out does not stay.
    poll("the screen and its worker are alone", || home.processes().len() == 2);
    terminal.leave();
}
