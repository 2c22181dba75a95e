//! The protocol, in both forms of the client: whatever holds for a socket holds for a channel.

use levain::context::Plan;
use levain::domain::event::{Approve, CancelScope, Delta, PromptMode, StopReason};
use levain::domain::{
    ApprovalEvent, ControlEvent, Event, Grant, Limits, ModelRef, Permissions, PromptEvent, Record, RequestEvent,
    Status, ThreadKind, Timestamp, ToComplete, Waiting,
};
use levain::engine::driver::Ended;
use levain::ports::{Forgetful, SystemClock};
use levain::providers::{Catalog, Keys, Providers, Settings};
use levain::session::Models;
use levain::store::log::{self, ThreadLog};
use levain::store::summary::Summary;
use levain::store::{Layout, Summaries};
use levain::tools::NoTools;
use levain::worker::client::{Client, ConnectError};
use levain::worker::host::{HostError, Hosted, Hosting, host};
use levain::worker::protocol::{Command, FromWorker, State, ToWorker, VERSION};
use std::sync::Arc;
use std::time::Duration;

const SCENARIO: &str = "
name: test
rate: 0
replies:
  - when: { contains: slow }
    steps:
      - text: 'one two three four five six seven eight nine ten'
        rate: 100
      - hang
  - when: { contains: steady }
    steps:
      - text: 'a b c d e f g h i j k l m n o p q r s t'
        rate: 100
  - when: { contains: deploy }
    steps:
      - tool_call: { name: deploy, input: { to: staging } }
  - steps:
      - thinking: Hm.
      - text: An answer.
";

#[derive(Clone, Copy, Debug)]
enum Form {
    Socket,
    Channel,
}

const FORMS: [Form; 2] = [Form::Socket, Form::Channel];

/// A thread in a temporary project, run by this process.
struct Bench {
    folder: tempfile::TempDir,
    layout: Layout,
    hosted: Hosted,
    form: Form,
}

impl Bench {
    async fn new(form: Form) -> Self {
        Self::with(form, Duration::from_mins(1), Duration::from_mins(1)).await
    }

    async fn with(form: Form, idle: Duration, orphaned: Duration) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let scenario = folder.path().join("test.yaml");
        std::fs::write(&scenario, SCENARIO).unwrap();
        let project = folder.path().join("project");
        std::fs::create_dir(&project).unwrap();
        let layout = Layout::new(&project, &folder.path().join("state"));
        let thread_id = layout.claim("levain/chat", Timestamp(1)).unwrap();
        let model = ModelRef::new("scripted", scenario.to_str().unwrap());
        let summary = Summary::new(thread_id, "levain/chat".into(), ThreadKind::Interactive, model, Timestamp(1));
        summary.write(&layout).unwrap();
        let hosted =
            host(hosting(&folder, &layout, &summary, idle, orphaned), &Summaries::start(&layout)).await.unwrap();
        Self { folder, layout, hosted, form }
    }

    fn log(&self) -> ThreadLog {
        self.layout.log(&"chat-1".parse().unwrap()).unwrap()
    }

    async fn raw(&self) -> Client {
        match self.form {
            Form::Socket => Client::connect(self.hosted.socket()).await.unwrap(),
            Form::Channel => self.hosted.client(),
        }
    }

    async fn connect(&self, from: u64) -> Client {
        let mut client = self.raw().await;
        client.greet(from).await.unwrap();
        client
    }
}

fn hosting(
    folder: &tempfile::TempDir,
    layout: &Layout,
    summary: &Summary,
    idle: Duration,
    orphaned: Duration,
) -> Hosting {
    let nothing = |_: &str| None;
    let providers = Providers::new(Settings::from_env(nothing, Keys::from_env(nothing)));
    Hosting {
        handlers: Arc::new(levain::ports::NoHandlers),
        layout: layout.clone(),
        thread_id: summary.thread_id.clone(),
        runtime: folder.path().to_owned(),
        models: Box::new(Models::new(providers, Catalog::embedded())),
        limits: Limits::default(),
        tools: Arc::new(NoTools),
        permissions: Permissions {
            grants: vec![Grant::new("rye.execute.tool.deploy", true)],
            ..Permissions::default()
        },
        approvals: Box::new(Forgetful),
        rules: None,
        clock: Arc::new(SystemClock),
        planner: Arc::new(Plan::default()),
        risk: None,
        budgets: None,
        idle,
        orphaned,
        unanswered: Duration::from_millis(200),
        secret: Some("open sesame".into()),
    }
}

async fn submit(client: &Client, id: u64, text: &str) {
    let command = Command::Submit {
        text: text.into(),
        mode: PromptMode::FollowUp,
        images: Vec::new(),
        files: Vec::new(),
        client: None,
    };
    client.sender().command(id, command).await.unwrap();
}

/// The next message for which `pick` has an answer; the others are passed over.
async fn until<T>(client: &mut Client, mut pick: impl FnMut(FromWorker) -> Option<T>) -> T {
    let wait = async {
        loop {
            let message = client.next().await.expect("the worker is there");
            if let Some(found) = pick(message) {
                return found;
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(20), wait).await.expect("it came")
}

async fn until_event(client: &mut Client, mut wanted: impl FnMut(&Event) -> bool) -> Record {
    until(client, |message| match message {
        FromWorker::Event { record, .. } if wanted(&record.event) => Some(record),
        _ => None,
    })
    .await
}

fn is_answer(event: &Event) -> bool {
    matches!(event, Event::Request(RequestEvent::CognitionOut { .. }))
}

async fn until_idle(client: &mut Client) -> State {
    until(client, |message| match message {
        FromWorker::State(state) if state.waiting == Some(Waiting::User) && state.cost.turns > 0 => Some(state),
        _ => None,
    })
    .await
}

#[tokio::test]
async fn another_version_is_refused_in_words() {
    for form in FORMS {
        let bench = Bench::new(form).await;
        let mut client = bench.raw().await;
        client.sender().send(ToWorker::Hello { version: VERSION + 1, secret: None }).await.unwrap();
        let reason = until(&mut client, |message| match message {
            FromWorker::Refused { reason } => Some(reason),
            _ => None,
        })
        .await;
        assert!(reason.contains("the same version for both"), "{form:?}: {reason}");
        assert_eq!(client.next().await, None, "{form:?}");
    }
}

#[tokio::test]
async fn a_client_must_say_hello_first() {
    for form in FORMS {
        let bench = Bench::new(form).await;
        let mut client = bench.raw().await;
        client.sender().send(ToWorker::Subscribe { from_offset: 0 }).await.unwrap();
        assert!(matches!(client.next().await, Some(FromWorker::Refused { .. })), "{form:?}");
    }
}

#[tokio::test]
async fn the_log_comes_whole_and_in_order_from_any_offset() {
    for form in FORMS {
        let bench = Bench::new(form).await;
        let mut first = bench.connect(0).await;
        submit(&first, 7, "hello").await;
        let acked = until(&mut first, |message| match message {
            FromWorker::Ack { id } => Some(id),
            _ => None,
        });
        assert_eq!(acked.await, 7, "{form:?}");
        until_idle(&mut first).await;
        let whole = log::read_forward(&bench.log(), 0, 1 << 20).unwrap();
        for start in [0, whole.lines[3].offset, whole.end] {
            let mut client = bench.connect(start).await;
            let mut seen = Vec::new();
            until(&mut client, |message| match message {
                FromWorker::Event { offset, next_offset, record } => {
                    seen.push((offset, next_offset, record));
                    None
                }
                FromWorker::State(_) => Some(()),
                _ => None,
            })
            .await;
            let expected: Vec<_> = whole
                .lines
                .iter()
                .filter(|line| line.offset >= start)
                .map(|line| (line.offset, line.next_offset, line.record.clone().unwrap()))
                .collect();
            assert_eq!(seen, expected, "{form:?} from {start}");
        }
    }
}

#[tokio::test]
async fn live_text_is_the_text_of_the_answer_for_everyone_who_listens() {
    for form in FORMS {
        let bench = Bench::new(form).await;
        let mut early = bench.connect(0).await;
        submit(&early, 1, "steady").await;
        let mut early_text = String::new();
        until(&mut early, |message| {
            collect(&mut early_text, &message);
            (early_text.len() > 6).then_some(())
        })
        .await;
        // Comes in the middle of the answer and gets what it missed.
        let mut late = bench.connect(log::read_backward(&bench.log(), None, 1).unwrap().end).await;
        let mut late_text = String::new();
        for (client, text) in [(&mut early, &mut early_text), (&mut late, &mut late_text)] {
            let whole = until(client, |message| {
                collect(text, &message);
                match message {
                    FromWorker::Event {
                        record: Record { event: Event::Request(RequestEvent::CognitionOut { text, .. }), .. },
                        ..
                    } => Some(text),
                    _ => None,
                }
            })
            .await;
            assert_eq!(*text, whole, "{form:?}");
            assert_eq!(whole.trim(), "a b c d e f g h i j k l m n o p q r s t");
        }
    }
}

fn collect(text: &mut String, message: &FromWorker) {
    let mut add = |delta: &Delta| {
        if let Delta::Text { text: more } = delta {
            text.push_str(more);
        }
    };
    match message {
        FromWorker::Delta { delta, .. } => add(delta),
        FromWorker::Inflight { deltas, .. } => deltas.iter().for_each(add),
        _ => {}
    }
}

#[tokio::test]
async fn a_command_that_makes_no_sense_is_refused_and_costs_nothing() {
    for form in FORMS {
        let bench = Bench::new(form).await;
        let mut client = bench.connect(0).await;
        // What begins a thread may be empty: its directive says what to do. What goes on may not.
        submit(&client, 8, "hello").await;
        until_event(&mut client, is_answer).await;
        let commands = [
            Command::Submit {
                text: "  ".into(),
                mode: PromptMode::Steer,
                images: Vec::new(),
                files: Vec::new(),
                client: None,
            },
            Command::Withdraw { prompt: 99 },
            Command::SetModel { model: ModelRef::new("nobody", "x") },
        ];
        for (id, command) in (1..).zip(commands) {
            client.sender().command(id, command).await.unwrap();
            let refused = until(&mut client, |message| match message {
                FromWorker::Error { id, message } => Some((id, message)),
                FromWorker::Ack { .. } => panic!("it was accepted"),
                _ => None,
            });
            assert_eq!(refused.await.0, id, "{form:?}");
        }
        submit(&client, 9, "still there?").await;
        until_event(&mut client, is_answer).await;
    }
}

#[tokio::test]
async fn a_cancel_keeps_what_had_arrived() {
    for form in FORMS {
        let bench = Bench::new(form).await;
        let mut client = bench.connect(0).await;
        submit(&client, 1, "slow").await;
        let mut text = String::new();
        until(&mut client, |message| {
            collect(&mut text, &message);
            text.contains("two").then_some(())
        })
        .await;
        client.sender().command(2, Command::Cancel { scope: CancelScope::Turn }).await.unwrap();
        let record = until_event(&mut client, is_answer).await;
        let Event::Request(RequestEvent::CognitionOut { text: kept, stop, .. }) = record.event else { unreachable!() };
        assert!(kept.starts_with(&text) && stop == StopReason::Cancelled, "{form:?}: {kept} {stop:?}");
        until_event(&mut client, |event| matches!(event, Event::Control(ControlEvent::TurnCancelled { .. }))).await;
    }
}

#[tokio::test]
async fn an_idle_worker_ends_after_goodbye_and_lets_the_thread_be_taken_up_again() {
    for form in FORMS {
        let bench = Bench::with(form, Duration::ZERO, Duration::from_mins(1)).await;
        let mut client = bench.connect(0).await;
        submit(&client, 1, "hello").await;
        until_idle(&mut client).await;
        client.sender().send(ToWorker::Goodbye).await.unwrap();
        let Bench { folder, layout, hosted, .. } = bench;
        let ended = tokio::time::timeout(Duration::from_secs(10), hosted.finished()).await.expect("it ended");
        assert_eq!(ended.unwrap(), Ended::Asked, "{form:?}");
        let id = "chat-1".parse().unwrap();
        let summary = Summary::look(&layout, &id, |_, _| None).unwrap();
        assert_eq!((summary.status, summary.cost.turns, summary.title.as_str()), (Status::Waiting, 1, "hello"));
        let long = Duration::from_mins(1);
        let again = host(hosting(&folder, &layout, &summary, long, long), &Summaries::start(&layout)).await.unwrap();
        let mut client = again.client();
        client.greet(0).await.unwrap();
        submit(&client, 1, "and again").await;
        until(&mut client, |message| match message {
            FromWorker::State(state) if state.cost.turns == 2 => Some(()),
            _ => None,
        })
        .await;
    }
}

#[tokio::test]
async fn a_worker_whose_last_client_vanished_waits_a_while() {
    for form in FORMS {
        let bench = Bench::with(form, Duration::from_mins(1), Duration::from_millis(20)).await;
        let mut client = bench.connect(0).await;
        submit(&client, 1, "hello").await;
        until_idle(&mut client).await;
        drop(client);
        let ended = tokio::time::timeout(Duration::from_secs(10), bench.hosted.finished()).await;
        assert_eq!(ended.expect("it ended").unwrap(), Ended::Asked, "{form:?}");
    }
}

#[tokio::test]
async fn work_goes_on_when_nobody_looks() {
    for form in FORMS {
        // Before the client is there it must not be gone.
        let bench = Bench::with(form, Duration::ZERO, Duration::from_mins(1)).await;
        let mut client = bench.connect(0).await;
        submit(&client, 1, "steady").await;
        until_event(&mut client, |event| matches!(event, Event::Request(RequestEvent::RequestRecorded { .. }))).await;
        client.sender().send(ToWorker::Goodbye).await.unwrap();
        drop(client);
        let own = bench.log();
        tokio::time::timeout(Duration::from_secs(10), bench.hosted.finished()).await.expect("it ended").unwrap();
        let page = log::read_forward(&own, 0, 1 << 20).unwrap();
        assert!(page.into_records().any(|record| is_answer(&record.event)), "{form:?}");
    }
}

#[tokio::test]
async fn a_shutdown_says_goodbye_to_everyone() {
    for form in FORMS {
        let bench = Bench::new(form).await;
        let mut clients = [bench.connect(0).await, bench.connect(0).await];
        submit(&clients[0], 1, "slow").await;
        until_event(&mut clients[1], |event| matches!(event, Event::Request(RequestEvent::RequestRecorded { .. })))
            .await;
        clients[0].sender().command(2, Command::Shutdown).await.unwrap();
        let finished = tokio::spawn(bench.hosted.finished());
        for client in &mut clients {
            until(client, |message| matches!(message, FromWorker::Bye { .. }).then_some(())).await;
        }
        finished.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_thread_has_one_host() {
    let bench = Bench::new(Form::Channel).await;
    let id = "chat-1".parse().unwrap();
    let summary = Summary::look(&bench.layout, &id, |_, _| None).unwrap();
    let second = host(
        hosting(&bench.folder, &bench.layout, &summary, Duration::ZERO, Duration::ZERO),
        &Summaries::start(&bench.layout),
    )
    .await;
    assert!(matches!(second, Err(HostError::Busy)));
    let nobody = Client::connect(&bench.folder.path().join("none.sock")).await;
    assert!(matches!(nobody, Err(ConnectError::NotThere(_))));
}

/// The call that waits, once it does.
async fn until_asked(client: &mut Client) -> levain::worker::protocol::Approval {
    until(client, |message| match message {
        FromWorker::State(state) => state.approvals.first().cloned(),
        _ => None,
    })
    .await
}

/// A command that a tool runs can reach the socket as well, and approves nothing through it.
#[tokio::test]
async fn s10_only_who_started_the_worker_approves() {
    let bench = Bench::new(Form::Socket).await;
    let mut guest = bench.connect(0).await;
    submit(&guest, 1, "deploy").await;
    let asked = until_asked(&mut guest).await;
    let approve = Command::Approve { id: asked.id, args_hash: asked.args_hash, decision: Approve::Always, said: None };
    let guessed = bench.raw().await.with_secret(Some("open".into()));
    for (mut client, id) in [(guest, 2), (guessed, 3)] {
        if id == 3 {
            client.greet(0).await.unwrap();
        }
        client.sender().command(id, approve.clone()).await.unwrap();
        let refused = until(&mut client, |message| match message {
            FromWorker::Error { id: own, message } if own == id => Some(message),
            _ => None,
        });
        assert!(refused.await.contains("only the screen that started"), "{id}");
        // Nor has it extensions run on a text of its own.
        let (lines, own) = (vec!["/deploy x".to_owned()], Vec::new());
        let draft = ToComplete { lines, line: 0, column: 9, command: None, own, word: String::new() };
        client.sender().send(ToWorker::Complete { id: id + 10, draft }).await.unwrap();
        let refused = until(&mut client, |message| match message {
            FromWorker::Error { id: own, message } if own == id + 10 => Some(message),
            FromWorker::Suggested { .. } => panic!("it was asked"),
            _ => None,
        });
        assert!(refused.await.contains("only the screen that started"), "{id}");
    }
    let given = |page: log::LogPage| {
        page.into_records().any(|record| matches!(record.event, Event::Approval(ApprovalEvent::ApprovalGiven { .. })))
    };
    assert!(!given(log::read_forward(&bench.log(), 0, 1 << 20).unwrap()));
    let mut own = bench.raw().await.with_secret(Some("open sesame".into()));
    own.greet(0).await.unwrap();
    assert!(own.may_approve());
    own.sender().command(4, approve).await.unwrap();
    until_event(&mut own, |event| matches!(event, Event::Approval(ApprovalEvent::ApprovalGiven { .. }))).await;
}

#[tokio::test]
async fn s17_a_question_ends_the_worker_in_time_and_stands_when_it_is_opened_again() {
    let bench = Bench::new(Form::Socket).await;
    let mut client = bench.connect(0).await;
    submit(&client, 1, "deploy").await;
    let asked = until_asked(&mut client).await;
    client.sender().send(ToWorker::Goodbye).await.unwrap();
    drop(client);
    // Nobody looks: it ends in order, without an answer.
    let ended = tokio::time::timeout(Duration::from_secs(20), bench.hosted.finished()).await.expect("it ended");
    assert_eq!(ended.unwrap(), Ended::Asked);
    let (folder, layout) = (&bench.folder, &bench.layout);
    let id = "chat-1".parse().unwrap();
    let summary = Summary::look(layout, &id, |_, _| None).unwrap();
    assert_eq!((summary.status, summary.waiting), (Status::Waiting, Some(Waiting::Approval)));
    let long = Duration::from_mins(1);
    let again = host(hosting(folder, layout, &summary, long, long), &Summaries::start(layout)).await.unwrap();
    let mut client = Client::connect(again.socket()).await.unwrap().with_secret(Some("open sesame".into()));
    client.greet(0).await.unwrap();
    let stands = until_asked(&mut client).await;
    assert_eq!(stands, asked);
    let deny = Command::Approve { id: stands.id, args_hash: stands.args_hash, decision: Approve::Deny, said: None };
    client.sender().command(1, deny).await.unwrap();
    until_event(&mut client, is_answer).await;
}

/// A client that reads late is sent back to the log, by itself, and misses nothing.
#[tokio::test]
async fn s15_a_client_that_lagged_hears_on_by_itself() {
    for form in FORMS {
        let bench = Bench::new(form).await;
        let mut late = bench.connect(0).await;
        let mut client = bench.connect(0).await;
        let long = "x".repeat(1 << 20);
        submit(&client, 0, "slow").await;
        // Some of what is said is too large to wait anywhere, and all of it is more than may wait.
        for turn in 1..=160 {
            submit(&client, turn, if turn % 40 == 0 { &long } else { long.get(..60_000).unwrap() }).await;
            client.sender().command(1_000, Command::Withdraw { prompt: turn + 1 }).await.unwrap();
            until(&mut client, |message| matches!(message, FromWorker::Ack { id: 1_000 }).then_some(())).await;
        }
        let (mut lagged, mut queued, mut said) = (false, 0, 0);
        while queued < 161 {
            until(&mut late, |message| {
                match message {
                    FromWorker::Lagged { .. } => lagged = true,
                    FromWorker::Event {
                        record: Record { event: Event::Prompt(PromptEvent::PromptQueued { prompt, text, .. }), .. },
                        ..
                    } => {
                        queued += 1;
                        said += text.len();
                        assert_eq!(prompt, queued);
                    }
                    _ => {}
                }
                Some(())
            })
            .await;
        }
        assert_eq!((lagged, said), (true, 4 + 4 * long.len() + 156 * 60_000), "{form:?}");
    }
}

#[tokio::test]
async fn s15_a_message_that_is_too_long_is_refused_in_words() {
    for form in FORMS {
        let bench = Bench::new(form).await;
        let mut client = bench.connect(0).await;
        for length in [5 << 20, 17 << 20] {
            submit(&client, 7, &"x".repeat(length)).await;
            let refused = until(&mut client, |message| match message {
                FromWorker::Error { id: 7, message } => Some(message),
                FromWorker::Ack { .. } => panic!("it was accepted"),
                _ => None,
            });
            let refused = refused.await;
            assert!(refused.contains("the limit is"), "{form:?} {refused}");
        }
        submit(&client, 8, "hello").await;
        until_event(&mut client, is_answer).await;
    }
}

#[tokio::test]
async fn s16_only_so_many_clients_may_look() {
    let bench = Bench::new(Form::Socket).await;
    let mut clients = Vec::new();
    for _ in 0..32 {
        clients.push(bench.connect(0).await);
    }
    let mut one_more = bench.raw().await;
    let Err(ConnectError::Refused(reason)) = one_more.greet(0).await else { panic!("it was let in") };
    assert!(reason.contains("32 clients are connected to this thread"), "{reason}");
    clients.pop();
    until(&mut clients[0], |_| Some(())).await;
    loop {
        let mut next = bench.raw().await;
        if next.greet(0).await.is_ok() {
            break;
        }
    }
}
