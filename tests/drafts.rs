//! A draft's worker: it tells what would be sent, takes the first prompt, and goes where nothing is sent.

use crate::support::model_server::{KEY, ModelServer};
use crate::support::terminal::{Home, Terminal, poll};
use levain::domain::event::{PromptEvent, PromptMode};
use levain::domain::{
    Event, Lineage, ModelRef, Record, SetLimits, ThreadId, ThreadKind, ThreadOrigin, Timestamp, Values,
};
use levain::ports::{ThreadSpec, ThreadStore};
use levain::store::summaries::Summaries;
use levain::store::summary::Summary;
use levain::store::threads::Threads;
use levain::store::{FileStore, Layout};
use levain::worker::host::REPLAY;
use std::fs;
use std::process::Command;

fn start(home: &Home, server: &ModelServer) -> Terminal {
    let launch = home.levain_in_terminal(&["--model", "anthropic/test-model"]);
    let terminal = launch.env("ANTHROPIC_BASE_URL", &server.base()).env("ANTHROPIC_API_KEY", KEY).start();
    terminal.wait_for("test-model");
    terminal
}

/// A thread that no process runs.
fn make(layout: &Layout, origin: ThreadOrigin) -> ThreadId {
    let spec = ThreadSpec {
        id: None,
        directive: "levain/chat".into(),
        inputs: Values::new(),
        model: ModelRef::new("a", "b"),
        kind: ThreadKind::Interactive,
        limits: SetLimits::default(),
        lineage: Lineage::of(origin),
        ceilings: Vec::new(),
    };
    Summary::make(layout, spec, Timestamp(1)).unwrap().thread_id
}

/// The ids of the project's threads.
fn threads(home: &Home) -> Vec<String> {
    let entries = fs::read_dir(home.project().join(".ai/agent/threads")).into_iter().flatten();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn listed(home: &Home) -> String {
    String::from_utf8(home.levain(&["threads", "--json"]).output().unwrap().stdout).unwrap()
}

#[test]
fn a_draft_that_is_not_sent_leaves_nothing_behind() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = start(&home, &server);
    assert_eq!(threads(&home), Vec::<String>::new());
    terminal.send_keys("hello");
    terminal.wait_for("request ~");
    let own = threads(&home);
    assert_eq!(own.len(), 1);
    assert!(!listed(&home).contains(&own[0]), "nobody looks for a thread in which nothing was said");
    terminal.leave();
    home.wait_until_quiet();
    poll("the thread is gone", || threads(&home).is_empty());
    assert!(server.is_asked().is_none());
}

#[test]
fn the_first_prompt_goes_to_the_worker_that_told_of_its_request() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = start(&home, &server);
    terminal.send_keys("hello");
    terminal.wait_for("request ~");
    let own = threads(&home);
    terminal.send_keys("\r");
    let call = server.call();
    call.answer("Hi.");
    terminal.wait_for("Hi.");
    assert_eq!(threads(&home), own);
    let started = fs::read_to_string(home.project().join(format!(".ai/agent/threads/{}/transcript.jsonl", own[0])));
    assert_eq!(started.unwrap().matches("\"worker_started\"").count(), 1);
    assert!(listed(&home).contains(&own[0]));
    terminal.leave();
    home.wait_until_quiet();
    assert_eq!(threads(&home), own);
}

#[test]
fn a_draft_whose_worker_was_killed_is_cleared_away_by_the_next_look() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = start(&home, &server);
    terminal.send_keys("hello");
    terminal.wait_for("request ~");
    let own = threads(&home);
    let folder = home.project().join(".ai/agent/threads").join(&own[0]);
    let layout = Layout::new(&home.project().canonicalize().unwrap(), &home.path().join("state/levain"));
    let running = || Threads::look(&layout, Timestamp(0), REPLAY).unwrap().running().unwrap();
    poll("the registry knows its process", || running().iter().any(|row| row.thread_id.as_str() == own[0]));
    let log = folder.join("transcript.jsonl");
    let line = fs::read_to_string(log).unwrap();
    let line = line.lines().find(|line| line.contains("\"worker_started\"")).unwrap().to_owned();
    let record: serde_json::Value = serde_json::from_str(&line).unwrap();
    let pid = record["payload"]["pid"].to_string();
    assert!(Command::new("kill").args(["-9", &pid]).status().unwrap().success());
    poll("the thread is gone", || {
        listed(&home);
        !threads(&home).contains(&own[0])
    });
    // The draft is sent all the same.
    terminal.send_keys(" again\r");
    server.call().answer("Hi.");
    terminal.wait_for("Hi.");
    terminal.leave();
    home.wait_until_quiet();
}

#[test]
fn a_thread_in_which_was_spoken_is_listed_before_its_row_tells_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let layout = Layout::new(folder.path(), &folder.path().join("state"));
    let id = make(&layout, ThreadOrigin::Screen);
    let process = Some((std::process::id(), String::new()));
    let mut opened =
        FileStore::open(&layout, &id, process, REPLAY.summary, &Summaries::start(&layout)).unwrap().unwrap();
    let listed = || {
        Threads::look(&layout, Timestamp(50_000), REPLAY).unwrap().list(levain::store::registry::Part::All, 10).unwrap()
    };
    assert_eq!(listed(), []);
    let said = PromptEvent::PromptQueued {
        prompt: 1,
        text: "hello".into(),
        mode: PromptMode::FollowUp,
        images: Vec::new(),
        files: Vec::new(),
        client: None,
    };
    opened
        .store
        .append(&Record { timestamp: Timestamp(2), thread_id: id.clone(), event: Event::Prompt(said) })
        .unwrap();
    assert_eq!(listed().into_iter().map(|row| row.thread_id).collect::<Vec<_>>(), [id]);
}

#[test]
fn a_draft_that_never_got_a_worker_is_cleared_away_after_a_while() {
    let folder = tempfile::tempdir().unwrap();
    let layout = Layout::new(folder.path(), &folder.path().join("state"));
    let (draft, asked) = (make(&layout, ThreadOrigin::Screen), make(&layout, ThreadOrigin::CommandLine));
    let is_there = |id| layout.thread(id).path().exists();
    let listed = |now| {
        let rows = Threads::look(&layout, Timestamp(now), REPLAY)
            .unwrap()
            .list(levain::store::registry::Part::All, 10)
            .unwrap();
        rows.into_iter().map(|row| row.thread_id).collect::<Vec<_>>()
    };
    assert_eq!(listed(50_000), std::slice::from_ref(&asked));
    assert!(is_there(&draft));
    assert_eq!(listed(70_000), std::slice::from_ref(&asked));
    assert!(!is_there(&draft) && is_there(&asked));
}

#[test]
fn a_prompt_that_is_sent_at_once_goes_to_the_worker_that_is_being_started() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = start(&home, &server);
    // In several writes: a burst would be a paste.
    for letter in ["h", "i", "\r"] {
        terminal.send_keys(letter);
    }
    server.call().answer("Hello.");
    terminal.wait_for("Hello.");
    let own = threads(&home);
    assert_eq!(own.len(), 1);
    let log = fs::read_to_string(home.project().join(format!(".ai/agent/threads/{}/transcript.jsonl", own[0])));
    assert_eq!(log.unwrap().matches("\"worker_started\"").count(), 1);
    terminal.leave();
    home.wait_until_quiet();
}

/// Nothing is made of it, and no thread stays that nobody could answer in.
#[test]
fn a_prompt_without_a_key_stays_in_the_draft() {
    let home = Home::new();
    let terminal = home.levain_in_terminal(&["--model", "anthropic/claude-haiku-4-5"]).start();
    terminal.wait_for("claude-haiku-4-5");
    terminal.send_keys("keep these words");
    terminal.wait_for("keep these words");
    terminal.send_keys("\r");
    terminal.wait_for("no key for anthropic");
    terminal.wait_until("the words are in the draft", |screen| screen.contents().contains("› keep these words"));
    terminal.leave();
    let logs: String = threads(&home)
        .iter()
        .filter_map(|id| {
            fs::read_to_string(home.project().join(format!(".ai/agent/threads/{id}/transcript.jsonl"))).ok()
        })
        .collect();
    assert!(!logs.contains("prompt_queued"), "{logs}");
}
