//! A disk that fails and a process that dies, at every operation on the files of a thread, in every phase of a turn: what
//! was acknowledged is in the log, nothing is sent that is in no log, and the thread goes on.

use futures_util::stream;
use levain::context::Plan;
use levain::domain::event::{Approve, CallError, PromptMode, StopReason};
use levain::domain::{
    ApprovalEvent, CallId, Event, Grant, Limits, ModelRef, Money, Permissions, PromptEvent, RequestEvent, ThreadId,
    ThreadKind, Timestamp, Tokens, Usage, Waiting, WireForm,
};
use levain::engine::driver::ModelRegistry;
use levain::ports::{
    CallRequest, EncodedRequest, Forgetful, HttpOptions, Provider, ProviderEvent, ProviderStream, SystemClock, faults,
};
use levain::store::summary::Summary;
use levain::store::{Layout, Summaries, log, recover};
use levain::tools::NoTools;
use levain::worker::client::Client;
use levain::worker::host::{Hosted, Hosting, host};
use levain::worker::launch::Launcher;
use levain::worker::protocol::{Command, FromWorker, State};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Asks for a tool, then is done; looks each time whether what it is asked is on record.
#[derive(Clone)]
struct Script {
    layout: Layout,
    asked: Arc<AtomicUsize>,
}

impl Provider for Script {
    fn name(&self) -> &'static str {
        "script"
    }

    fn endpoint(&self) -> String {
        "none".into()
    }

    fn form(&self) -> WireForm {
        WireForm::Anthropic
    }

    fn encode(&self, request: CallRequest) -> Result<EncodedRequest, CallError> {
        let body = levain::providers::encode::body(self.form(), &request)?;
        Ok(EncodedRequest { form: self.form(), body, request: Arc::new(request), options: HttpOptions::default() })
    }

    fn send(&self, EncodedRequest { request, .. }: EncodedRequest) -> ProviderStream {
        let asked = self.asked.fetch_add(1, Ordering::SeqCst) + 1;
        let path = self.layout.thread(&id()).log().path();
        let text = std::fs::read_to_string(path).unwrap();
        let recorded = text.lines().filter(|line| line.contains("\"request_recorded\"")).count();
        assert!(recorded >= asked, "request {asked} was sent and is in no log");
        assert!(
            faults::synced() >= text.rfind("\"request_recorded\"").unwrap() as u64,
            "it was sent before it was on disk"
        );
        let number = u32::try_from(recorded).unwrap();
        assert!(self.layout.thread(&id()).request(number).exists(), "request {number} was not kept");
        let pieces = if request.calls() == 0 {
            let started = ProviderEvent::ToolCallStarted { index: 0, call_id: CallId("c".into()), tool: "t".into() };
            let input = ProviderEvent::ToolInput { index: 0, partial_json: "{}".into() };
            vec![Ok(started), Ok(input), Ok(ProviderEvent::Finished(StopReason::ToolUse))]
        } else {
            vec![Ok(ProviderEvent::Text("done".into())), Ok(ProviderEvent::Finished(StopReason::EndTurn))]
        };
        Box::pin(stream::iter(pieces))
    }
}

impl ModelRegistry for Script {
    fn provider(&self, _model: &ModelRef) -> Result<Arc<dyn Provider>, String> {
        Ok(Arc::new(self.clone()))
    }

    fn window(&self, _model: &ModelRef) -> Option<Tokens> {
        None
    }

    fn max_output(&self, _model: &ModelRef) -> u64 {
        100
    }

    fn spend(&self, _model: &ModelRef, _usage: &Usage) -> Option<Money> {
        None
    }
}

fn id() -> ThreadId {
    "chat-1".parse().unwrap()
}

/// A new thread in a project below `folder`.
fn thread(folder: &Path, model: ModelRef) -> Layout {
    let project = folder.join("project");
    std::fs::create_dir(&project).unwrap();
    let layout = Layout::new(&project, &folder.join("state"));
    let id = layout.claim("levain/chat", Timestamp(1)).unwrap();
    let summary = Summary::new(id, "levain/chat".into(), ThreadKind::Interactive, model, Timestamp(1));
    summary.write(&layout).unwrap();
    layout
}

/// Runs the thread in this process; what fails is tried again, as a person would.
async fn hosted(folder: &Path, layout: &Layout, script: &Script) -> Hosted {
    for _ in 0..3 {
        let hosting = Hosting {
            handlers: Arc::new(levain::ports::NoHandlers),
            layout: layout.clone(),
            thread_id: id(),
            runtime: folder.to_owned(),
            models: Box::new(script.clone()),
            limits: Limits::default(),
            tools: Arc::new(NoTools),
            permissions: Permissions { grants: vec![Grant::new("rye.execute.tool.t", true)], ..Permissions::default() },
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
        };
        if let Ok(hosted) = host(hosting, &Summaries::start(layout)).await {
            return hosted;
        }
    }
    panic!("it fails more than once");
}

/// Asks until it is acknowledged; how the thread stands may be told before that.
async fn acknowledged(client: &mut Client, command: &Command) -> Option<State> {
    let mut newest = None;
    for number in 100.. {
        client.sender().command(number, command.clone()).await.unwrap();
        loop {
            match client.next().await.expect("the worker is there") {
                FromWorker::Ack { id } if id == number => return newest,
                FromWorker::Error { id, .. } if id == number => break,
                FromWorker::State(state) => newest = Some(state),
                _ => {}
            }
        }
    }
    newest
}

/// The thread's state once it is as `wanted`; `newest` is what was told before.
async fn until_state(client: &mut Client, newest: Option<State>, wanted: impl Fn(&State) -> bool) -> State {
    let mut newest = newest;
    loop {
        if let Some(state) = newest.take_if(|state| wanted(state)) {
            return state;
        }
        if let FromWorker::State(state) = client.next().await.expect("the worker is there") {
            newest = Some(state);
        }
    }
}

fn prompt() -> Command {
    Command::Submit {
        text: "the question".into(),
        mode: PromptMode::FollowUp,
        images: Vec::new(),
        files: Vec::new(),
        client: None,
    }
}

fn events(layout: &Layout) -> Vec<Event> {
    let page = log::read_forward(&layout.log(&id()).unwrap(), 0, 64 << 20).unwrap();
    assert!(page.lines.iter().all(|line| line.record.is_some()), "a line is broken");
    page.into_records().map(|record| record.event).collect()
}

fn prompts(events: &[Event]) -> usize {
    events
        .iter()
        .filter(
            |event| matches!(event, Event::Prompt(PromptEvent::PromptQueued { text, .. }) if text == "the question"),
        )
        .count()
}

/// The whole course of a thread, with the operation after so many more failing. What it comes to, and how many operations
/// there were.
async fn course(fails: Option<u64>) -> (Vec<String>, u64) {
    let folder = tempfile::tempdir().unwrap();
    let layout = thread(folder.path(), ModelRef::new("script", "x"));
    let script = Script { layout: layout.clone(), asked: Arc::default() };
    let before = faults::passed();
    if let Some(points) = fails {
        faults::fail_after(points);
    }
    let hosted = hosted(folder.path(), &layout, &script).await;
    let mut client = hosted.client();
    client.greet(0).await.unwrap();
    let told = acknowledged(&mut client, &prompt()).await;
    // At this very moment it has to be there, and on disk.
    assert_eq!(prompts(&events(&layout)), 1, "an acknowledged prompt is lost, or there twice");
    let queued = std::fs::read_to_string(layout.thread(&id()).log().path()).unwrap();
    assert!(
        faults::synced() > queued.find("\"prompt_queued\"").unwrap() as u64,
        "it was acknowledged before it was on disk"
    );
    let asking = until_state(&mut client, told, |state| !state.approvals.is_empty()).await;
    let (asked, hash) = (asking.approvals[0].id, asking.approvals[0].args_hash.clone());
    let answer = Command::Approve { id: asked, args_hash: hash, decision: Approve::Once, said: None };
    let told = acknowledged(&mut client, &answer).await;
    assert!(events(&layout).iter().any(|event| matches!(event, Event::Approval(ApprovalEvent::ApprovalGiven { .. }))));
    until_state(&mut client, told, |state| state.waiting == Some(Waiting::User) && state.cost.turns == 2).await;
    let operations = faults::passed() - before;
    faults::never();
    client.sender().command(1, Command::Shutdown).await.unwrap();
    hosted.finished().await.unwrap();
    assert_eq!(script.asked.load(Ordering::SeqCst), 2, "something was sent twice");
    let kinds =
        events(&layout).into_iter().map(|event| serde_json::to_value(&event).unwrap()["event_type"].to_string());
    (kinds.collect(), operations)
}

#[tokio::test(start_paused = true)]
async fn s12_every_operation_may_fail_once() {
    let (undisturbed, operations) = course(None).await;
    assert!(operations > 25, "{operations}");
    for number in 0..operations {
        let (kinds, _) = course(Some(number)).await;
        assert_eq!(kinds, undisturbed, "operation {number} failed");
    }
}

/// Whatever of the log was not synced may be lost or garbage after the power was: what was acknowledged is there all the
/// same, and the thread can be opened.
#[tokio::test(start_paused = true)]
async fn s13_what_was_acknowledged_survives_the_loss_of_unsynced_writes() {
    let folder = tempfile::tempdir().unwrap();
    let layout = thread(folder.path(), ModelRef::new("script", "x"));
    let script = Script { layout: layout.clone(), asked: Arc::default() };
    let hosted = hosted(folder.path(), &layout, &script).await;
    let mut client = hosted.client();
    client.greet(0).await.unwrap();
    acknowledged(&mut client, &prompt()).await;
    let synced = usize::try_from(faults::synced()).unwrap();
    let path = layout.thread(&id()).log().path();
    let whole = std::fs::read(&path).unwrap();
    client.sender().command(1, Command::Shutdown).await.unwrap();
    hosted.finished().await.unwrap();
    let unsynced = &whole[synced..];
    let zeros = vec![0; unsynced.len()];
    let reversed: Vec<u8> = unsynced.split_inclusive(|byte| *byte == b'\n').rev().flatten().copied().collect();
    let half = unsynced.len() / 2;
    for rest in [&[][..], unsynced, &zeros, &reversed, &unsynced[..half], &[&zeros[..half], &unsynced[half..]].concat()]
    {
        std::fs::write(&path, [&whole[..synced], rest].concat()).unwrap();
        let records = log::read_forward(&layout.log(&id()).unwrap(), 0, 64 << 20).unwrap().into_records();
        let events: Vec<Event> = records.map(|record| record.event).collect();
        assert_eq!(prompts(&events), 1);
        recover::reap_thread(&layout, &id(), Timestamp(9), levain::worker::host::REPLAY).unwrap();
        let script = Script { layout: layout.clone(), asked: Arc::default() };
        let again = self::hosted(folder.path(), &layout, &script).await;
        let mut client = again.client();
        client.greet(0).await.unwrap();
        client.sender().command(1, Command::Shutdown).await.unwrap();
        again.finished().await.unwrap();
    }
}

const SCENARIO: &str = "
name: test
rate: 0
replies:
  - when: { contains: question }
    steps:
      - text: 'Half of it'
      - tool_call: { name: nothing, input: { a: 1 } }
  - steps:
      - text: An answer.
";

/// The worker is killed at each operation in turn; a new one finds what was acknowledged, and goes on.
#[tokio::test]
async fn s12_a_worker_may_be_killed_at_every_operation() {
    let mut number = 0;
    loop {
        let folder = tempfile::tempdir().unwrap();
        let scenario = folder.path().join("test.yaml");
        std::fs::write(&scenario, SCENARIO).unwrap();
        let layout = thread(folder.path(), ModelRef::new("scripted", scenario.to_str().unwrap()));
        let environment = |fault: Option<u64>| {
            let home = folder.path().to_str().unwrap();
            let mut all = vec![("HOME", home.to_owned()), ("LEVAIN_LOCAL_SERVERS", "false".to_owned())];
            all.push(("XDG_STATE_HOME", format!("{home}/xdg")));
            all.push(("XDG_RUNTIME_DIR", format!("{home}/run")));
            all.extend(fault.map(|number| ("LEVAIN_FAULT", format!("die-at:{number}"))));
            all.into_iter().map(|(name, value)| (name.into(), value.into())).collect()
        };
        // The worker finds the state folder below XDG_STATE_HOME.
        std::fs::create_dir_all(folder.path().join("xdg")).unwrap();
        std::fs::rename(folder.path().join("state"), folder.path().join("xdg/levain")).unwrap();
        let layout = Layout::new(layout.project(), &folder.path().join("xdg/levain"));
        let runtime = folder.path().join("run/levain");
        std::fs::create_dir_all(runtime.parent().unwrap()).unwrap();
        let launcher = |fault| Launcher {
            started: levain::worker::launch::Started::default(),
            program: env!("CARGO_BIN_EXE_levain").into(),
            runtime: runtime.clone(),
            layout: layout.clone(),
            arguments: Vec::new(),
            environment: environment(fault),
            secrets: "{}".into(),
        };
        let mut acked = false;
        let mut ended = false;
        if let Ok(mut client) = launcher(Some(number)).reach(&id(), 0).await {
            let _dead = client.sender().command(5, prompt()).await;
            while let Some(message) = client.next().await {
                acked |= matches!(message, FromWorker::Ack { id: 5 });
                if let FromWorker::State(state) = message
                    && state.waiting == Some(Waiting::User)
                    && state.cost.turns == 2
                {
                    ended = true;
                    let _dead = client.sender().command(6, Command::Shutdown).await;
                }
            }
        }
        if acked {
            let log = layout.log(&id()).unwrap();
            let records = log::read_forward(&log, 0, 64 << 20).unwrap().into_records();
            let events: Vec<Event> = records.map(|record| record.event).collect();
            assert_eq!(prompts(&events), 1, "killed at operation {number}");
        }
        let mut client = launcher(None).reach(&id(), 0).await.unwrap_or_else(|error| panic!("{number}: {error}"));
        let again = Command::Submit {
            text: "and then?".into(),
            mode: PromptMode::FollowUp,
            images: Vec::new(),
            files: Vec::new(),
            client: None,
        };
        acknowledged(&mut client, &again).await;
        let answered = async {
            loop {
                match client.next().await.expect("the worker is there") {
                    FromWorker::Event { record, .. } if matches!(&record.event, Event::Request(RequestEvent::CognitionOut { text, .. }) if text == "An answer.") =>
                    {
                        return;
                    }
                    _ => {}
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(20), answered).await.unwrap_or_else(|_| panic!("killed at {number}"));
        client.sender().command(7, Command::Shutdown).await.unwrap();
        while client.next().await.is_some() {}
        if ended {
            assert!(number > 20, "only {number} operations");
            return;
        }
        number += 1;
    }
}

/// Every file but the log may vanish or be garbage: the thread is opened, goes on, and is listed.
#[tokio::test]
async fn s14_every_file_but_the_log_may_vanish_or_be_garbage() {
    let garbage: &[u8] = b"\xff\xfe{\"half\": [1, 2\0\n{}\n";
    for spoil in [None, Some(garbage), Some(&[][..])] {
        let folder = tempfile::tempdir().unwrap();
        let layout = thread(folder.path(), ModelRef::new("script", "x"));
        let script = Script { layout: layout.clone(), asked: Arc::default() };
        let first = hosted(folder.path(), &layout, &script).await;
        let mut client = first.client();
        client.greet(0).await.unwrap();
        let told = acknowledged(&mut client, &prompt()).await;
        let asking = until_state(&mut client, told, |state| !state.approvals.is_empty()).await;
        let (id_of_call, hash) = (asking.approvals[0].id, asking.approvals[0].args_hash.clone());
        let deny = Command::Approve { id: id_of_call, args_hash: hash, decision: Approve::Deny, said: None };
        let told = acknowledged(&mut client, &deny).await;
        until_state(&mut client, told, |state| state.waiting == Some(Waiting::User)).await;
        client.sender().command(1, Command::Shutdown).await.unwrap();
        first.finished().await.unwrap();

        let thread = layout.thread(&id());
        let mut files =
            vec![thread.summary().path(), thread.inflight().path(), thread.lock().path(), thread.worker_log().path()];
        files.extend([layout.registry(), layout.prompt_history().path()]);
        files.extend(std::fs::read_dir(thread.requests().path()).unwrap().map(|entry| entry.unwrap().path()));
        for entry in std::fs::read_dir(layout.objects().path()).unwrap().flatten().filter(|entry| entry.path().is_dir())
        {
            files.extend(std::fs::read_dir(entry.path()).unwrap().map(|entry| entry.unwrap().path()));
        }
        assert!(files.len() > 8, "{files:?}");
        for file in &files {
            match spoil {
                Some(bytes) => std::fs::write(file, bytes).unwrap(),
                None => drop(std::fs::remove_file(file)),
            }
        }
        let replay = levain::worker::host::REPLAY;
        let listed = levain::store::threads::Threads::look(&layout, Timestamp(9), replay)
            .unwrap()
            .list(levain::store::registry::Part::All, 10)
            .unwrap();
        let [one] = listed.as_slice() else { panic!("{listed:?}") };
        assert_eq!((one.title.as_str(), one.cost.turns, one.elsewhere), ("the question", 2, false));
        let again = hosted(folder.path(), &layout, &script).await;
        let mut client = again.client();
        client.greet(0).await.unwrap();
        let told = acknowledged(&mut client, &prompt()).await;
        until_state(&mut client, told, |state| state.waiting == Some(Waiting::User) && state.cost.turns == 3).await;
        client.sender().command(1, Command::Shutdown).await.unwrap();
        again.finished().await.unwrap();
        assert_eq!(Summary::look(&layout, &id(), |_, _| None).unwrap().cost.turns, 3, "it was made again");
        // What was kept of a request is told apart from what was not.
        let newest = u32::try_from(script.asked.load(Ordering::SeqCst)).unwrap();
        levain::store::request::read(&layout, &id(), newest).unwrap();
    }
}

/// A project that cannot be written can be listed and read.
#[test]
fn s14_a_read_only_project_can_be_listed_and_read() {
    use std::os::unix::fs::{PermissionsExt, chown};
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65_534;
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("project");
    std::fs::create_dir_all(project.join(".ai")).unwrap();
    let is_root = rustix::process::geteuid().is_root();
    let levain = |arguments: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_levain"));
        command.args(arguments).current_dir(&project).env_clear().env("HOME", folder.path());
        command.env("XDG_RUNTIME_DIR", folder.path().join("run")).env("LEVAIN_LOCAL_SERVERS", "false");
        if is_root {
            command.uid(NOBODY).gid(NOBODY);
        }
        let output = command.stdin(std::process::Stdio::null()).output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    };
    let everything = |change: &dyn Fn(&Path)| {
        let mut folders = vec![folder.path().to_owned()];
        while let Some(one) = folders.pop() {
            for entry in std::fs::read_dir(&one).unwrap().flatten() {
                if entry.file_type().unwrap().is_dir() {
                    folders.push(entry.path());
                }
                change(&entry.path());
            }
            change(&one);
        }
    };
    std::fs::create_dir(folder.path().join("run")).unwrap();
    std::fs::set_permissions(folder.path().join("run"), std::fs::Permissions::from_mode(0o700)).unwrap();
    if is_root {
        everything(&|path| chown(path, Some(NOBODY), Some(NOBODY)).unwrap());
    }
    let (done, said) = levain(&["run", "--model", "scripted/demo", "hello"]);
    assert!(done, "{said}");
    let read_only = |mode_of_folders: u32| {
        everything(&|path| {
            if path.starts_with(&project) {
                let mode = if path.is_dir() { mode_of_folders } else { 0o400 };
                std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
            }
        });
    };
    read_only(0o500);
    // Also where the list has to be made again.
    std::fs::remove_dir_all(folder.path().join(".local/state/levain/projects")).unwrap();
    let (listed, threads) = levain(&["threads"]);
    let id = threads.split_whitespace().find(|word| word.starts_with("chat-")).unwrap_or_default();
    let (read, transcript) = levain(&["transcript", id]);
    let (shown, context) = levain(&["context", "show", "--thread", id]);
    read_only(0o700);
    assert!(listed && threads.contains("hello"), "{threads}");
    assert!(read && transcript.contains("hello"), "{transcript}");
    assert!(shown, "{context}");
}
