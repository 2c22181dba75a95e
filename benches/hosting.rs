//! Many threads in one process: what each costs while it rests, and what all of them cost while they stream at once.
//!
//! Prints a table; nothing here passes or fails. Memory is the proportional share of this process, as Linux tells it.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a measurement that cannot go on fails")]
#![allow(clippy::print_stdout, reason = "it prints what it measured")]

use levain::context::Plan;
use levain::domain::event::{EndReason, PromptMode};
use levain::domain::{
    Command, Limits, Lineage, ModelRef, Permissions, SetLimits, ThreadId, ThreadKind, ThreadOrigin, Values, Waiting,
};
use levain::ports::{Executor, Forgetful, SystemClock, ThreadSpec};
use levain::providers::{Catalog, Keys, Providers, Settings};
use levain::session::Models;
use levain::store::Layout;
use levain::store::summary::Specification;
use levain::tools::NoTools;
use levain::worker::host::Hosting;
use levain::worker::protocol::FromWorker;
use levain::worker::supervisor::{Supervisor, ThreadFactory};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

const THREADS: usize = 50;

/// Words in each streamed answer, and how many of them come a second.
const WORDS: usize = 1_000;
const RATE: usize = 200;

struct Bare {
    layout: Layout,
    runtime: PathBuf,
    models: Models,
}

impl ThreadFactory for Bare {
    fn hosting(
        self: Arc<Self>,
        id: &ThreadId,
        _begun: Specification,
        _supervisor: &Supervisor,
    ) -> Result<Hosting, String> {
        Ok(Hosting {
            handlers: Arc::new(levain::ports::NoHandlers),
            layout: self.layout.clone(),
            thread_id: id.clone(),
            runtime: self.runtime.clone(),
            models: Box::new(self.models.clone()),
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

/// Kilobytes of memory that are this process's share.
fn memory() -> u64 {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("Pss:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Processor time of this process so far, in hundredths of a second.
fn processor() -> Duration {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name, in parentheses, may hold anything.
    let fields = text.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

fn submit(text: &str) -> Command {
    Command::Submit {
        text: text.into(),
        mode: PromptMode::FollowUp,
        images: Vec::new(),
        files: Vec::new(),
        client: None,
    }
}

/// Waits until the thread rests after `turns` answers.
async fn rests(supervisor: &Supervisor, id: &ThreadId, turns: u32) {
    let mut client = supervisor.get(id).unwrap().client();
    client.greet(u64::MAX).await.unwrap();
    while let Some(message) = client.next().await {
        if let FromWorker::State(state) = message
            && state.waiting == Some(Waiting::User)
            && state.cost.turns >= turns
        {
            return;
        }
    }
}

async fn measure() {
    let folder = tempfile::tempdir().unwrap();
    let (project, runtime) = (folder.path().join("project"), folder.path().join("run"));
    for path in [&project, &runtime] {
        std::fs::create_dir(path).unwrap();
    }
    let mut answer = String::new();
    for number in 0..WORDS {
        write!(answer, "word{number} ").unwrap();
    }
    let scenario = folder.path().join("stream.yaml");
    let text = format!(
        "name: stream\nrate: {RATE}\nreplies:\n  - when: {{ contains: stream }}\n    steps:\n      - text: '{answer}'\n  - steps:\n      - text: Hello.\n"
    );
    std::fs::write(&scenario, text).unwrap();
    let model = ModelRef::new("scripted", scenario.to_str().unwrap());
    let layout = Layout::new(&project, &folder.path().join("state"));
    let nothing = |_: &str| None;
    let models = Models::new(Providers::new(Settings::from_env(nothing, Keys::from_env(nothing))), Catalog::embedded());
    let factory = Bare { layout: layout.clone(), runtime, models };
    let supervisor = Supervisor::new(layout, Arc::new(factory));
    let spec = || ThreadSpec {
        id: None,
        directive: "levain/chat".into(),
        inputs: Values::new(),
        model: model.clone(),
        kind: ThreadKind::Interactive,
        limits: SetLimits::default(),
        lineage: Lineage::of(ThreadOrigin::CommandLine),
        ceilings: Vec::new(),
    };
    let first = supervisor.spawn(spec(), submit("hi")).await.unwrap();
    rests(&supervisor, &first, 1).await;
    let (one, began) = (memory(), Instant::now());
    let mut all = vec![first];
    for _ in 1..THREADS {
        all.push(supervisor.spawn(spec(), submit("hi")).await.unwrap());
    }
    for id in &all {
        rests(&supervisor, id, 1).await;
    }
    let (started, many) = (began.elapsed(), memory());
    println!("1 thread that rests:    {one:>8} kB");
    println!(
        "{THREADS} threads that rest:   {:>8} kB, {} kB for each further one",
        many,
        (many - one) / (THREADS as u64 - 1)
    );
    println!("starting and answering: {:>8} ms for each", started.as_millis() / (THREADS as u128 - 1));
    let before = processor();
    tokio::time::sleep(Duration::from_secs(5)).await;
    println!("resting for 5 s:        {:>8} ms of processor time", (processor().saturating_sub(before)).as_millis());
    let (before, began) = (processor(), Instant::now());
    for id in &all {
        supervisor.get(id).unwrap().handle().ask(submit("stream")).await.unwrap();
    }
    for id in &all {
        rests(&supervisor, id, 2).await;
    }
    let spent = processor().saturating_sub(before);
    println!(
        "streaming at once:      {:>8} ms of processor time, {} ms for 1,000 words, in {:.1} s; {} kB",
        spent.as_millis(),
        spent.as_millis() * 1_000 / (THREADS * WORDS) as u128,
        began.elapsed().as_secs_f64(),
        memory()
    );
    let began = Instant::now();
    for id in &all {
        supervisor.kill(id).await.unwrap();
    }
    println!("killing:                {:>8} µs for each", began.elapsed().as_micros() / THREADS as u128);
    supervisor.leave(EndReason::Asked).await;
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(measure());
}
