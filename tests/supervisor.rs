//! Many threads in one process: what one does, and how it ends, is nothing to the others, and nothing of it stays.

use crate::support::terminal;
use levain::context::Plan;
use levain::domain::event::PromptMode;
use levain::domain::{
    Command, Event, Limits, Lineage, ModelRef, Money, Permissions, RequestEvent, SetLimits, Status, ThreadEvent,
    ThreadId, ThreadKind, ThreadOrigin, Timestamp, Tokens, Usage, Waiting,
};
use levain::engine::driver::ModelRegistry;
use levain::ports::{Clock, Executor, Forgetful, Provider, SystemClock, ThreadSpec};
use levain::providers::{Catalog, Keys, Providers, Settings};
use levain::session::Models;
use levain::store::registry::Part;
use levain::store::summary::{Specification, Summary};
use levain::store::threads::Threads;
use levain::store::{Layout, log, recover};
use levain::tools::NoTools;
use levain::worker::client::Client;
use levain::worker::host::{Hosting, REPLAY};
use levain::worker::protocol::FromWorker;
use levain::worker::supervisor::{Outcome, Running, Supervisor, ThreadFactory};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;
use terminal::{Home, poll};

const SCENARIO: &str = "
name: test
rate: 0
replies:
  - when: { contains: hang }
    steps:
      - text: 'one two three'
      - hang
  - steps:
      - text: An answer.
";

fn submit(text: &str) -> Command {
    Command::Submit {
        text: text.into(),
        mode: PromptMode::FollowUp,
        images: Vec::new(),
        files: Vec::new(),
        client: None,
    }
}

fn spec(model: &ModelRef, id: &str) -> ThreadSpec {
    ThreadSpec {
        id: Some(id.parse().unwrap()),
        directive: "levain/chat".into(),
        inputs: levain::domain::Values::new(),
        model: model.clone(),
        kind: ThreadKind::Interactive,
        limits: SetLimits::default(),
        lineage: Lineage::of(ThreadOrigin::CommandLine),
        ceilings: Vec::new(),
    }
}

/// A registry of models that fails as soon as a request is made, as a fault of this program would.
struct Faulty(Models);

impl ModelRegistry for Faulty {
    fn provider(&self, model: &ModelRef) -> Result<Arc<dyn Provider>, String> {
        self.0.provider(model)
    }

    fn window(&self, _model: &ModelRef) -> Option<Tokens> {
        None
    }

    fn max_output(&self, _model: &ModelRef) -> u64 {
        panic!("a fault in the middle of a thread")
    }

    fn spend(&self, _model: &ModelRef, _usage: &Usage) -> Option<Money> {
        None
    }
}

/// Hosts threads without tools; those called `fault…` fail.
struct Bare {
    layout: Layout,
    runtime: PathBuf,
}

impl ThreadFactory for Bare {
    fn hosting(
        self: Arc<Self>,
        id: &ThreadId,
        _begun: Specification,
        _supervisor: &Supervisor,
    ) -> Result<Hosting, String> {
        let nothing = |_: &str| None;
        let providers = Providers::new(Settings::from_env(nothing, Keys::from_env(nothing)));
        let faulty = id.as_str().starts_with("fault");
        let models = Models::new(providers, Catalog::embedded());
        let models: Box<dyn ModelRegistry> = if faulty { Box::new(Faulty(models)) } else { Box::new(models) };
        Ok(Hosting {
            handlers: Arc::new(levain::ports::NoHandlers),
            layout: self.layout.clone(),
            thread_id: id.clone(),
            runtime: self.runtime.clone(),
            models,
            tools: Arc::new(NoTools),
            limits: Limits::default(),
            permissions: Permissions::default(),
            approvals: Box::new(Forgetful),
            rules: None,
            clock: Arc::new(SystemClock),
            planner: Arc::new(Plan::default()),
            risk: None,
            budgets: None,
            idle: Duration::from_hours(1),
            orphaned: Duration::from_hours(1),
            unanswered: Duration::from_hours(1),
            secret: None,
        })
    }
}

fn sockets(folder: &Path) -> Vec<PathBuf> {
    use std::os::unix::fs::FileTypeExt;
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            found.extend(sockets(&entry.path()));
        } else if kind.is_socket() {
            found.push(entry.path());
        }
    }
    found
}

async fn until(running: &Running, enough: impl Fn(&levain::domain::State) -> bool) {
    let mut client = running.client();
    client.greet(0).await.unwrap();
    let seen = async {
        while let Some(message) = client.next().await {
            if let FromWorker::State(state) = message
                && enough(&state)
            {
                return;
            }
        }
        panic!("the thread ended");
    };
    tokio::time::timeout(Duration::from_mins(1), seen).await.unwrap();
}

fn rests(state: &levain::domain::State) -> bool {
    state.waiting == Some(Waiting::User) && state.cost.turns > 0
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_threads_of_one_process_start_talk_and_end_each_for_itself() {
    let folder = tempfile::tempdir().unwrap();
    let (project, runtime) = (folder.path().join("project"), folder.path().join("run"));
    for path in [&project, &runtime] {
        std::fs::create_dir(path).unwrap();
    }
    let scenario = folder.path().join("test.yaml");
    std::fs::write(&scenario, SCENARIO).unwrap();
    let model = ModelRef::new("scripted", scenario.to_str().unwrap());
    let layout = Layout::new(&project, &folder.path().join("state"));
    let factory = Bare { layout: layout.clone(), runtime: runtime.clone() };
    let supervisor = Supervisor::new(layout.clone(), Arc::new(factory));
    let mut all = Vec::new();
    for number in 0..10 {
        for (name, words) in [("talk", "hi"), ("go", "hi"), ("cancel", "hang"), ("kill", "hang"), ("fault", "hi")] {
            let id = supervisor.spawn(spec(&model, &format!("{name}-{number}")), submit(words)).await.unwrap();
            all.push(id);
        }
    }
    let named = |name: &str| all.iter().filter(|id| id.as_str().starts_with(name)).cloned().collect::<Vec<_>>();
    // Those that fail go alone.
    for id in named("fault") {
        if let Some(running) = supervisor.get(&id) {
            assert!(matches!(running.ended().await, Outcome::Failed(_)));
        }
    }
    for id in named("talk").iter().chain(&named("go")) {
        until(&supervisor.get(id).unwrap(), rests).await;
    }
    // Talked to again while others hang.
    for id in named("talk") {
        let running = supervisor.get(&id).unwrap();
        running.handle().ask(submit("and again")).await.unwrap();
        until(&running, |state| state.cost.turns == 2 && rests(state)).await;
    }
    for id in named("cancel") {
        let running = supervisor.get(&id).unwrap();
        assert_eq!(supervisor.status(&id).await.unwrap().status, Status::Running);
        supervisor.cancel(&id).await.unwrap();
        running.ended().await;
    }
    for id in named("kill") {
        supervisor.kill(&id).await.unwrap();
        assert!(supervisor.get(&id).is_none() && !recover::is_held(&layout, &id).unwrap());
        assert!(supervisor.kill(&id).await.is_err(), "nothing runs it any more");
    }
    assert_eq!(supervisor.running().len(), 20);
    supervisor.leave(levain::domain::event::EndReason::Asked).await;
    assert!(supervisor.running().is_empty());
    drop(supervisor);
    assert_eq!(sockets(&runtime), Vec::<PathBuf>::new());
    let rows = Threads::look(&layout, SystemClock.now(), REPLAY).unwrap().list(Part::All, 100).unwrap();
    assert_eq!(rows.len(), 50);
    for row in rows {
        let ended = match row.thread_id.as_str().split_once('-').unwrap().0 {
            "cancel" => Status::Cancelled,
            "kill" => Status::Killed,
            "fault" => Status::Error,
            _ => Status::Waiting,
        };
        assert_eq!((row.status, row.pid), (ended, None), "{}", row.thread_id);
        assert_eq!(row.lineage.origin, ThreadOrigin::CommandLine);
        assert!(!recover::is_held(&layout, &row.thread_id).unwrap());
        let log = layout.log(&row.thread_id).unwrap();
        let events: Vec<Event> =
            log::pages(&log).flat_map(|page| page.unwrap().into_records()).map(|record| record.event).collect();
        assert!(
            matches!(&events[0], Event::Thread(ThreadEvent::ThreadStarted { lineage, .. }) if lineage.origin == ThreadOrigin::CommandLine)
        );
        if ended == Status::Killed {
            assert!(matches!(events.last(), Some(Event::Thread(ThreadEvent::ThreadKilled { .. }))), "{events:?}");
            assert!(
                events.iter().any(|event| matches!(event, Event::Request(RequestEvent::CognitionOut { text, .. }) if text == "one two three"))
            );
        }
    }
}

/// Makes threads in a home, and a worker that runs all of them.
fn hosted(home: &Home, count: usize) -> (Layout, std::process::Child, Vec<PathBuf>) {
    let project = home.project().canonicalize().unwrap();
    let layout = Layout::new(&project, &home.path().join("state/levain"));
    let scenario = home.path().join("test.yaml");
    std::fs::write(&scenario, SCENARIO).unwrap();
    let model = ModelRef::new("scripted", scenario.to_str().unwrap());
    let mut arguments = vec!["worker".to_owned()];
    for number in 0..count {
        let made = Summary::make(&layout, spec(&model, &format!("t-{number}")), Timestamp(number as u64)).unwrap();
        arguments.extend(["--thread".to_owned(), made.thread_id.to_string()]);
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut worker = home.levain(&arguments).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(worker.stdout.take().unwrap()).lines().take(count);
    let ready = lines.map(|line| {
        let line = line.unwrap();
        let said: serde_json::Value = serde_json::from_str(&line).unwrap();
        PathBuf::from(said["ready"].as_str().unwrap_or_else(|| panic!("{line}")))
    });
    let ready = ready.collect();
    (layout, worker, ready)
}

async fn ask(socket: &Path, command: Command) {
    let mut client = Client::connect(socket).await.unwrap();
    client.greet(u64::MAX).await.unwrap();
    client.sender().command(7, command).await.unwrap();
    while let Some(message) = client.next().await {
        match message {
            FromWorker::Ack { id: 7 } => return,
            FromWorker::Error { message, .. } => panic!("{message}"),
            FromWorker::Hello { .. }
            | FromWorker::Preview { .. }
            | FromWorker::Drawn { .. }
            | FromWorker::Suggested { .. }
            | FromWorker::Typed { .. }
            | FromWorker::Refused { .. }
            | FromWorker::Ack { .. }
            | FromWorker::Event { .. }
            | FromWorker::Delta { .. }
            | FromWorker::Inflight { .. }
            | FromWorker::ToolOutput { .. }
            | FromWorker::ToolOutputSoFar { .. }
            | FromWorker::State(_)
            | FromWorker::Lagged { .. }
            | FromWorker::Bye { .. } => {}
        }
    }
    panic!("no answer");
}

fn statuses(home: &Home) -> Vec<(String, String)> {
    let output = home.levain(&["threads", "--json"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut found: Vec<_> = text
        .lines()
        .map(|line| {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            (row["thread_id"].as_str().unwrap().to_owned(), row["status"].as_str().unwrap().to_owned())
        })
        .collect();
    found.sort();
    found
}

#[test]
fn a_worker_of_fifty_threads_is_cancelled_killed_and_crashes_and_leaves_nothing_behind() {
    let home = Home::new();
    let (layout, mut worker, ready) = hosted(&home, 50);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        for (number, socket) in ready.iter().enumerate() {
            ask(socket, submit(if number % 5 == 0 { "hi" } else { "hang" })).await;
            // Each second one also runs a command of the person's own.
            if number % 2 == 1 {
                ask(socket, Command::Shell { command: "sleep 1000".into(), shared: false }).await;
            }
        }
    });
    let sleeps = || std::fs::read_dir(layout.processes()).map_or(0, |all| all.flatten().count());
    poll("all commands run", || sleeps() == 25);
    let ids = |from: usize, to: usize| (from..to).map(|number| format!("t-{number}")).collect::<Vec<_>>();
    for (word, from, to, told) in [("cancel", 0, 10, "cancelled"), ("kill", 10, 20, "killed")] {
        let ids = ids(from, to);
        let arguments: Vec<&str> = ["threads", word].into_iter().chain(ids.iter().map(String::as_str)).collect();
        let output = home.levain(&arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        poll("they have ended", || {
            let now = statuses(&home);
            ids.iter().all(|id| now.contains(&(id.clone(), told.to_owned())))
        });
    }
    poll("their commands are gone, and the others run", || sleeps() == 15);
    assert_eq!(sockets(home.path()).len(), 30);
    // Killed threads are gone; asking again says so.
    let output = home.levain(&["threads", "kill", "t-10"]).output().unwrap();
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("no process runs the thread t-10"));
    worker.kill().unwrap();
    worker.wait().unwrap();
    let now = statuses(&home);
    assert_eq!(now.len(), 50);
    for (id, status) in &now {
        let number: usize = id.trim_start_matches("t-").parse().unwrap();
        let expected = match number {
            0..10 => "cancelled",
            10..20 => "killed",
            _ => "error",
        };
        assert_eq!(status, expected, "{id}");
        assert!(!recover::is_held(&layout, &id.parse().unwrap()).unwrap());
    }
    assert_eq!(sockets(home.path()), Vec::<PathBuf>::new());
    poll("no process is left", || home.processes().is_empty());
    assert_eq!(sleeps(), 0);
}

#[test]
fn a_worker_that_does_not_answer_is_ended_by_signals() {
    let home = Home::new();
    let (layout, mut worker, ready) = hosted(&home, 1);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(ask(&ready[0], submit("hang")));
    // It hears nothing and does nothing any more.
    terminal::kill(rustix::process::Pid::from_child(&worker), rustix::process::Signal::STOP);
    let output = home.levain(&["threads", "kill", "t-0"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    worker.wait().unwrap();
    assert!(!recover::is_held(&layout, &"t-0".parse().unwrap()).unwrap());
    assert_eq!(statuses(&home), [("t-0".to_owned(), "error".to_owned())]);
    assert_eq!(sockets(home.path()), Vec::<PathBuf>::new());
}
