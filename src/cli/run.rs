//! `levain run`: a thread from prompt to end, in this process. It listens like a worker, so it can be watched.

use super::failure::{Failure, code, written};
use super::{Common, ExtensionOptions, runtime};
use super::{find, text};
use crate::app::Shutdown;
use crate::domain::bounds::in_words;
use crate::domain::event::{CancelScope, Delta, Denial, PromptMode, StopReason};
use crate::domain::{
    ApprovalEvent, Ceiling, ControlEvent, Cost, Event, ForkPoint, LimitSource, Limits, Lineage, Mentions, ModelRef,
    Money, RequestEvent, SetLimits, Status, ThreadEvent, ThreadId, ThreadKind, ThreadOrigin, ToAttach, Tokens, Waiting,
};
use crate::engine::driver::Ended;
use crate::items::directive::Values;
use crate::items::{Directive, Items, Kind};
use crate::ports::{Executor, ThreadSpec};
use crate::session::parent::limits_below;
use crate::session::people::{err, is_watched, json_line, out};
use crate::session::setup::SetupError;
use crate::session::{DirectivePlanner, Factory, Setup, capability, logging};
use crate::store::fork::{self, Fork, Forked, Left};
use crate::store::summary::{Summary, specification};
use crate::store::threads::is_elsewhere;
use crate::store::{Layout, upkeep};
use crate::worker::client::Client;
use crate::worker::detached::Detached;
use crate::worker::host::REPLAY;
use crate::worker::protocol::{Command, FromWorker};
use crate::worker::supervisor::{Outcome, Supervisor, ThreadFactory};
use clap::Args;
use serde::Serialize;
use std::io::{self, IsTerminal, Read, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::timeout;

#[derive(Debug, Args)]
pub(super) struct RunArguments {
    /// The prompt; by default standard input. Optional with --directive
    #[arg(value_name = "PROMPT")]
    prompt: Vec<String>,
    /// The directive to run
    #[arg(long, value_name = "ID")]
    directive: Option<String>,
    /// Run in a fork of this thread; with #N fork it before the prompt that led to its request N, which is sent
    /// again if no other is given
    #[arg(long, value_name = "ID[#N]", conflicts_with_all = ["directive", "input", "background"])]
    fork: Option<String>,
    /// A value for an input of the directive; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = input)]
    input: Vec<(String, String)>,
    /// An image that goes along; may be given several times
    #[arg(long, value_name = "FILE")]
    image: Vec<String>,
    /// Allow a tool that the directive asks about: its id (rye/bash, extension/NAME), its capability, or the name of one that
    /// is built in; may be given several times
    #[arg(long, value_name = "TOOL")]
    allow: Vec<String>,
    /// End after this many turns
    #[arg(long, value_name = "N")]
    limit_turns: Option<u32>,
    /// End after this many tokens
    #[arg(long, value_name = "N")]
    limit_tokens: Option<u64>,
    /// End after spending this much
    #[arg(long, value_name = "DOLLARS", value_parser = super::dollars)]
    limit_spend: Option<Money>,
    /// End after this much working time
    #[arg(long, value_name = "SECONDS")]
    limit_seconds: Option<u64>,
    /// Start at most this many child threads
    #[arg(long, value_name = "N")]
    limit_spawns: Option<u32>,
    /// Have at most this many levels of threads below it
    #[arg(long, value_name = "N")]
    limit_depth: Option<u32>,
    /// Start it in a worker of its own, and print its id instead of waiting for it
    #[arg(long, conflicts_with = "allow")]
    background: bool,
    /// Print one JSON object about the whole run
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    extensions: ExtensionOptions,
}

/// `--json` of a run in the background.
#[derive(Debug, Serialize)]
struct Started<'a> {
    schema: &'static str,
    thread_id: &'a ThreadId,
}

/// `--json` of a run.
#[derive(Debug, Serialize)]
struct RunResult {
    schema: &'static str,
    success: bool,
    thread_id: ThreadId,
    status: Status,
    directive: String,
    model: ModelRef,
    cost: Cost,
    /// The last answer.
    result: String,
    /// What the directive handed back.
    #[serde(skip_serializing_if = "Option::is_none")]
    outputs: Option<serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// How the last answer ended, where that is not its usual end: it was cut off, or refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    stop: Option<StopReason>,
    /// Code of the limit that ended the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<&'static str>,
    /// Capabilities for which a person would have had to be asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    approvals: Vec<String>,
    /// The threads before this one that it continues, the first first. What they cost is counted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    continues: Vec<ThreadId>,
}

/// `name=value`.
pub(super) fn input(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write it as name=value")?;
    if name.is_empty() { Err("the name before `=` is empty".into()) } else { Ok((name.into(), value.into())) }
}

impl RunArguments {
    /// Those of the thread that it begins with, else those that were given.
    fn inputs(&self, forked: Option<&Summary>) -> Values {
        forked.map_or_else(|| self.input.iter().cloned().collect(), |from| from.inputs.clone())
    }

    fn limits(&self, usual: Limits, directive: Limits) -> SetLimits {
        let own = Limits {
            turns: self.limit_turns,
            tokens: self.limit_tokens.map(Tokens),
            spend: self.limit_spend,
            duration_seconds: self.limit_seconds,
            spawns: self.limit_spawns,
            depth: self.limit_depth,
        };
        SetLimits::by(LimitSource::Defaults, usual)
            .overridden(SetLimits::by(LimitSource::Directive, directive))
            .overridden(SetLimits::by(LimitSource::Override, own))
    }

    /// What to ask. Of standard input no more than `most` bytes are read.
    fn prompt(&self, most: usize, again: bool) -> Result<String, Failure> {
        let mut prompt = self.prompt.join(" ");
        if prompt.is_empty() && !again && !io::stdin().is_terminal() {
            let mut bytes = Vec::new();
            let unread = |error: io::Error| Failure::usage(format!("standard input is not text: {error}"));
            io::stdin().lock().take(most as u64 + 1).read_to_end(&mut bytes).map_err(unread)?;
            if bytes.len() > most {
                let most = in_words(most);
                let failure = Failure::usage(format!("standard input has more than {most}, and no prompt may"));
                return Err(failure.hint("max_prompt_kb in your config.toml sets how much"));
            }
            prompt = String::from_utf8(bytes).map_err(|error| unread(io::Error::other(error)))?;
        }
        // A directive that was named may say it all.
        if prompt.trim().is_empty() && self.directive.is_none() && !again {
            return Err(Failure::usage("there is nothing to ask").hint("levain run \"your question\""));
        }
        Ok(prompt)
    }
}

pub(super) fn run(common: &Common, arguments: &RunArguments) -> Result<ExitCode, Failure> {
    let setup = arguments.extensions.gather(common, arguments.directive.clone())?;
    for problem in &setup.problems {
        let _closed = writeln!(err(), "warning: {problem}");
    }
    let from = arguments.fork.as_deref().map(|name| find::place(&setup, name)).transpose()?;
    let forked = from.as_ref().map(|(id, _)| Summary::look(&setup.layout, id, REPLAY.summary)).transpose()?;
    let directive = forked.as_ref().map_or_else(|| setup.directive().to_owned(), |from| from.directive.clone());
    let items = setup.items();
    let planner = DirectivePlanner::prepare(&setup, &directive, Some(arguments.inputs(forked.as_ref())))?;
    for problem in &planner.problems {
        let _closed = writeln!(err(), "{}: {problem}", problem.severity.word());
    }
    let again = matches!(from, Some((_, ForkPoint::Request(_))));
    let prompt = arguments.prompt(setup.config.bounds.prompt, again)?;
    logging::to_file(setup.dirs.state.join("levain.log"));
    let layout = setup.layout.clone();
    let mut made = Made::default();
    let ended = runtime()?.block_on(async {
        let named = setup.arguments.model.is_some();
        let own = |from: &Summary| !named && !is_elsewhere(&setup.layout, &from.thread_id);
        let model = if let Some(from) = forked.as_ref().filter(|from| own(from)) {
            from.model.clone()
        } else {
            let chosen = setup.choose_found(&items, &directive).await.map_err(SetupError::from)?;
            if let Some(notice) = &chosen.notice {
                let _closed = writeln!(err(), "warning: {notice}");
            }
            chosen.model
        };
        let allowed = arguments.allow.iter().map(|text| capability(text)).collect();
        let mut factory = Factory::new(setup);
        factory.allowed = allowed;
        let begins = Begins { directive, inputs: arguments.inputs(forked.as_ref()), model, from, prompt };
        hosted(factory, arguments, begins, &items, planner, &mut made).await
    });
    made.clear_away(&layout);
    let (result, live, interrupted) = match ended? {
        Ran::Here(result, live, interrupted) => (result, live, interrupted),
        Ran::InBackground => return Ok(ExitCode::SUCCESS),
    };
    finish(&result, &made, arguments.json, live, interrupted)
}

/// How long a run waits for the children that were stopped with it.
const CHILDREN_END_WITHIN: Duration = Duration::from_secs(2);

/// How a run ended.
enum Ran {
    /// What came of it, whether the answer was shown while it arrived, and whether it was interrupted.
    Here(Box<RunResult>, bool, bool),
    /// It works on by itself.
    InBackground,
}

/// The thread that a run made, which stays when something was said or answered in it.
#[derive(Debug, Default)]
struct Made {
    thread_id: Option<ThreadId>,
    stays: bool,
}

impl Made {
    /// Removes the thread of a start that failed before anything was said: it would only stand in lists.
    fn clear_away(&self, layout: &Layout) {
        let Some(id) = self.thread_id.as_ref().filter(|_| !self.stays) else { return };
        if let Err(error) = upkeep::remove(layout, id) {
            tracing::warn!(thread = %id, %error, "a thread in which nothing was said stays");
        }
    }
}

/// What a run begins with.
struct Begins {
    directive: String,
    inputs: Values,
    model: ModelRef,
    /// The thread whose words it takes over, and up to where.
    from: Option<(ThreadId, ForkPoint)>,
    prompt: String,
}

/// The limits of a thread of the command line, where it stands in the tree, and what the threads above it may do.
fn place(setup: &Setup, limits: SetLimits) -> Result<(SetLimits, Lineage, Vec<Ceiling>), Failure> {
    let Some(parent) = setup.parent_thread().map_err(Failure::new)? else {
        return Ok((limits, Lineage::of(ThreadOrigin::CommandLine), Vec::new()));
    };
    let limits = limits_below(limits, &parent).map_err(Failure::new)?;
    Ok((limits, parent.lineage.clone(), parent.permissions.ceilings_of_child(&parent.id)))
}

async fn hosted(
    factory: Factory,
    arguments: &RunArguments,
    begins: Begins,
    items: &Items,
    planner: DirectivePlanner,
    made: &mut Made,
) -> Result<Ran, Failure> {
    let Begins { directive, inputs, model, from, prompt } = begins;
    let limits = arguments.limits(factory.setup.one_shot_limits(), planner.limits);
    let (limits, lineage, ceilings) = place(&factory.setup, limits)?;
    let spec = ThreadSpec {
        id: None,
        directive: directive.clone(),
        inputs,
        model: model.clone(),
        kind: ThreadKind::OneShot,
        limits,
        lineage,
        ceilings,
    };
    let says = from.is_some() || !prompt.trim().is_empty() || !arguments.image.is_empty();
    let layout = factory.setup.layout.clone();
    // What comes through standard input is data, in which an `@` names nothing.
    let named = Mentions::of(if arguments.prompt.is_empty() { "" } else { &prompt });
    let given = arguments.image.iter().map(|file| absolute(file));
    let images = given.chain(named.images.iter().cloned()).collect();
    let submit = |text, files| Command::Submit { text, mode: PromptMode::FollowUp, images, files, client: None };
    if arguments.background {
        in_background(&factory.setup, spec, submit(prompt, named.to_attach()), arguments.json).await?;
        return Ok(Ran::InBackground);
    }
    let (thread_id, submit) = match from {
        None => (Summary::make(&layout, spec, factory.setup.now())?.thread_id, submit(prompt, named.to_attach())),
        Some((from, until)) => {
            let ThreadSpec { directive, inputs, model, kind, limits, ceilings, .. } = spec;
            let lineage = Lineage::fork(&from);
            let changes = Vec::new();
            let fork = Fork { directive, inputs, model, kind, limits, lineage, ceilings, changes };
            let Forked { id, prompt: again } = fork::make(&layout, &from, until, fork, factory.setup.now())?;
            // The same again goes with the files as they were.
            let (text, files) = match again.filter(|_| prompt.trim().is_empty()) {
                Some(Left { text, files }) => (text, files.into_iter().map(ToAttach::Kept).collect()),
                None => (prompt, named.to_attach()),
            };
            (id, submit(text, files))
        }
    };
    made.thread_id = Some(thread_id.clone());
    let begun = specification(&layout, &thread_id)?;
    let factory = Arc::new(factory);
    let supervisor = Supervisor::new(layout, Arc::clone(&factory) as Arc<dyn ThreadFactory>);
    let hosting = factory.planned(&thread_id, items, planner, &begun, &supervisor)?;
    let mut running = supervisor.host(hosting).await.map_err(|error| Failure::new(error.to_string()))?;
    let mut client = running.client();
    client.greet(0).await.map_err(|error| Failure::new(error.to_string()))?;
    let mut heard = Heard { says, ..Heard::default() };
    let mut result = RunResult {
        schema: "levain.run/1",
        success: false,
        thread_id,
        status: Status::Created,
        directive,
        model,
        cost: Cost::default(),
        result: String::new(),
        outputs: None,
        error: None,
        stop: None,
        limit: None,
        approvals: Vec::new(),
        continues: Vec::new(),
    };
    let mut spent = Cost::default();
    let live = !arguments.json && is_watched();
    let mut submit = Some(submit);
    let (interrupted, ended) = loop {
        let watch = watch(&mut client, submit.take(), live, &mut result, &mut heard);
        let (interrupted, ended) = tokio::join!(watch, running.ended());
        let Outcome::Ended(Ended::HandedOff(next)) = &ended else { break (interrupted, ended) };
        // The run goes on in the thread that continues this one.
        let Some(newest) = supervisor.get(next).filter(|_| !matches!(interrupted, Ok(true) | Err(_))) else {
            break (interrupted, ended);
        };
        running = newest;
        client = running.client();
        client.greet(0).await.map_err(|error| Failure::new(error.to_string()))?;
        result.continues.push(std::mem::replace(&mut result.thread_id, next.clone()));
        spent = spent + result.cost;
    };
    result.cost = spent + result.cost;
    // Children that were stopped with it write their end.
    let _gone = timeout(CHILDREN_END_WITHIN, supervisor.finished()).await;
    made.stays = heard.is_something() || result.success;
    if let Outcome::Failed(why) = ended {
        return Err(Failure::new(why));
    }
    if result.success && result.outputs.is_none() {
        let missing = promised(items, &result.directive);
        if !missing.is_empty() {
            result.success = false;
            let (directive, missing) = (&result.directive, missing.join("`, `"));
            result.error = Some(format!("`{directive}` declares outputs (`{missing}`), but its model returned none"));
        }
    }
    Ok(Ran::Here(Box::new(result), live, interrupted?))
}

/// What there was in a thread, beside what came of it.
#[derive(Clone, Copy, Debug, Default)]
struct Heard {
    /// Whether the run has words or pictures of a person's.
    says: bool,
    /// Whether they were taken.
    taken: bool,
    /// Whether the model, or a tool of it, has answered.
    answered: bool,
}

impl Heard {
    fn is_something(self) -> bool {
        self.says && self.taken || self.answered
    }

    fn event(&mut self, event: &Event) {
        self.taken |= matches!(event, Event::Prompt(_));
        let request = matches!(
            event,
            Event::Request(
                RequestEvent::CognitionOut { .. }
                    | RequestEvent::CognitionReasoning { .. }
                    | RequestEvent::CallCharged { .. }
            )
        );
        self.answered |= request || matches!(event, Event::Tool(_));
    }
}

/// Starts the thread in a worker of its own, which works on when this process is gone.
async fn in_background(setup: &Setup, spec: ThreadSpec, first: Command, json: bool) -> Result<(), Failure> {
    let executor = Detached { launcher: setup.launcher()? };
    let thread_id = executor.spawn(spec, first).await.map_err(|error| Failure::new(error.to_string()))?;
    let mut output = out();
    if json {
        written(json_line(&mut output, &Started { schema: "levain.started/1", thread_id: &thread_id }))?;
    } else {
        written(writeln!(output, "{thread_id}"))?;
        let _closed = writeln!(err(), "hint: levain attach {thread_id} · levain threads kill {thread_id}");
    }
    Ok(())
}

/// The outputs that a directive always has.
fn promised(items: &Items, directive: &str) -> Vec<String> {
    let Some(found) = items.get(Kind::Directive, directive) else { return Vec::new() };
    let Ok(text) = items.read(found.item) else { return Vec::new() };
    let (directive, _told_before) = Directive::parse(&text, &items.file(found.item));
    directive.required_outputs()
}

/// A thread that was told to stop and has not by then is let go.
const CANCELLED_WITHIN: Duration = Duration::from_millis(600);

async fn until(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant.into()).await,
        None => std::future::pending().await,
    }
}

/// Number of the command that asks.
const SUBMIT: u64 = 1;

/// The path from here, for a process that may count from elsewhere.
fn absolute(file: &str) -> String {
    std::path::absolute(file).map_or_else(|_| file.to_owned(), |path| path.display().to_string())
}

/// Sends the prompt, if it has none yet, and follows the thread to its end; returns whether it was interrupted.
async fn watch(
    client: &mut Client,
    submit: Option<Command>,
    live: bool,
    result: &mut RunResult,
    all: &mut Heard,
) -> Result<bool, Failure> {
    let failed = |error: io::Error| Failure::new(error.to_string());
    let mut shutdown = Shutdown::listen().map_err(failed)?;
    let sender = client.sender();
    if let Some(submit) = submit {
        sender.command(SUBMIT, submit).await.map_err(|error| Failure::new(error.to_string()))?;
    }
    let mut interrupted = false;
    let mut asked_at: Option<Instant> = None;
    let (mut is_stuck, mut notice) = (false, None);
    loop {
        let message = tokio::select! {
            message = client.next() => message,
            _ = shutdown.signalled() => {
                if interrupted {
                    std::process::exit(i32::from(code::INTERRUPTED));
                }
                interrupted = true;
                shutdown.leave();
                let _ended = sender.command(2, Command::Cancel { scope: CancelScope::Thread }).await;
                asked_at = Some(Instant::now());
                continue;
            }
            // What cannot be recorded cannot be cancelled either: then the process leaves the thread as it is.
            () = until(asked_at.map(|at| at + CANCELLED_WITHIN)) => {
                asked_at = None;
                let _ended = sender.command(3, Command::Shutdown).await;
                continue;
            }
        };
        match message {
            Some(FromWorker::Event { record, .. }) => {
                all.event(&record.event);
                heard(&record.event, live, result);
                if let Event::Thread(ThreadEvent::Notice { text }) = record.event {
                    notice = Some(text);
                }
            }
            Some(FromWorker::Delta { delta: Delta::Text { text }, .. }) if live => {
                let mut output = out();
                let _reader_gone = output.write_all(text.as_bytes()).and_then(|()| output.flush());
            }
            Some(FromWorker::State(state)) => {
                is_stuck = state.waiting == Some(Waiting::Storage);
                (result.status, result.cost) = (state.status, state.cost);
            }
            Some(FromWorker::Error { id, message }) => {
                result.error = Some(message);
                if id == SUBMIT {
                    // Nothing will happen in a thread that was asked nothing.
                    let _ended = sender.command(2, Command::Shutdown).await;
                }
            }
            Some(FromWorker::Bye { .. }) | None => {
                // What could not be saved is in no log: only the notice tells of it.
                if is_stuck {
                    result.error = result.error.take().or(notice);
                }
                return Ok(interrupted);
            }
            Some(
                FromWorker::Delta { .. }
                | FromWorker::Hello { .. }
                | FromWorker::Refused { .. }
                | FromWorker::Ack { .. }
                | FromWorker::Inflight { .. }
                | FromWorker::ToolOutput { .. }
                | FromWorker::ToolOutputSoFar { .. }
                | FromWorker::Preview { .. }
                | FromWorker::Drawn { .. }
                | FromWorker::Suggested { .. }
                | FromWorker::Typed { .. }
                | FromWorker::Lagged { .. },
            ) => {}
        }
    }
}

fn heard(event: &Event, live: bool, result: &mut RunResult) {
    match event {
        Event::Request(RequestEvent::CognitionOut { text, stop, .. }) => {
            result.result.clone_from(text);
            let usual = matches!(stop, StopReason::EndTurn | StopReason::ToolUse);
            result.stop = (!usual).then(|| stop.clone());
            // Who reads only the answer must know that it is not all of it.
            let told = live || matches!(stop, StopReason::TooLarge { .. });
            if let (true, Some(mark)) = (told, text::stop_mark(stop)) {
                let _closed = writeln!(err(), "\n[{mark}]");
            }
        }
        Event::Request(RequestEvent::ErrorClassified { error, .. }) => result.error = Some(error.message.clone()),
        Event::Request(RequestEvent::RetryScheduled { attempt, delay_ms, .. }) if live => {
            let seconds = delay_ms.div_ceil(1_000);
            let reason = result.error.as_deref().unwrap_or("the answer was cut off");
            let _closed = writeln!(err(), "\n{reason}: attempt {attempt} in {seconds} s");
        }
        Event::Approval(ApprovalEvent::PermissionDenied { capability, reason: Denial::Unattended, .. }) => {
            if !result.approvals.contains(capability) {
                result.approvals.push(capability.clone());
            }
        }
        Event::Control(ControlEvent::Limit { code, .. }) => result.limit = Some(code.code()),
        Event::Thread(ThreadEvent::ThreadError { error, cost }) => {
            (result.error, result.status, result.cost) = (Some(error.clone()), Status::Error, *cost);
        }
        Event::Control(ControlEvent::ThreadSuspended { reason, cost, .. }) => {
            (result.error, result.status, result.cost) = (Some(reason.clone()), Status::Suspended, *cost);
        }
        Event::Thread(ThreadEvent::ThreadCompleted { cost }) => {
            (result.error, result.status, result.cost, result.success) = (None, Status::Completed, *cost, true);
            // One that it met was raised since.
            result.limit = None;
        }
        Event::Thread(ThreadEvent::DirectiveReturn { outputs, .. }) => result.outputs = Some(outputs.clone()),
        Event::Thread(ThreadEvent::ThreadCancelled { cost }) => {
            (result.status, result.cost) = (Status::Cancelled, *cost);
        }
        Event::Thread(ThreadEvent::ThreadContinued { cost, .. }) => {
            (result.status, result.cost) = (Status::Continued, *cost);
        }
        Event::Thread(ThreadEvent::ThreadKilled { cost }) => (result.status, result.cost) = (Status::Killed, *cost),
        Event::Thread(
            ThreadEvent::ThreadStarted { .. }
            | ThreadEvent::ChildThreadStarted { .. }
            | ThreadEvent::ChildThreadEnded { .. }
            | ThreadEvent::ClockJumped { .. }
            | ThreadEvent::WorkerStarted { .. }
            | ThreadEvent::WorkerEnded { .. }
            | ThreadEvent::ThreadForked { .. }
            | ThreadEvent::LogRepaired { .. }
            | ThreadEvent::ThreadHandoff { .. }
            | ThreadEvent::ExtensionEntry { .. }
            | ThreadEvent::RiskNoted { .. }
            | ThreadEvent::Notice { .. },
        )
        | Event::Prompt(_)
        | Event::Settings(_)
        | Event::Context(_)
        | Event::Request(
            RequestEvent::RequestRecorded { .. }
            | RequestEvent::TokenDelta { .. }
            | RequestEvent::CognitionReasoning { .. }
            | RequestEvent::RetryScheduled { .. }
            | RequestEvent::RetryDue { .. }
            | RequestEvent::AnswerPrepared { .. }
            | RequestEvent::CallCharged { .. },
        )
        | Event::Control(
            ControlEvent::HooksCalled { .. }
            | ControlEvent::HookDecided { .. }
            | ControlEvent::ThreadQueued { .. }
            | ControlEvent::ThreadAdmitted {}
            | ControlEvent::CancelRequested { .. }
            | ControlEvent::TurnCancelled { .. },
        )
        | Event::Approval(_)
        | Event::Tool(_)
        | Event::Unknown { .. } => {}
    }
}

fn finish(result: &RunResult, made: &Made, json: bool, live: bool, interrupted: bool) -> Result<ExitCode, Failure> {
    let mut output = out();
    if json {
        written(json_line(&mut output, result))?;
    } else if live {
        written(writeln!(output))?;
    } else if result.status == Status::Completed && (result.outputs.is_none() || !result.result.trim().is_empty()) {
        written(writeln!(output, "{}", result.result))?;
    }
    if let (false, Some(outputs)) = (json, &result.outputs) {
        written(writeln!(output, "{}", &format!("{outputs:#}")))?;
    }
    if let (false, Some(error)) = (json, &result.error) {
        let _closed = writeln!(err(), "error: {error}");
        if result.status == Status::Suspended && made.stays {
            let _closed = writeln!(err(), "hint: send it a message with levain attach {}", result.thread_id);
        }
    }
    for capability in &result.approvals {
        let _closed = writeln!(
            err(),
            "error: `{capability}` needs approval, and nobody was there to give it\nhint: levain run --allow {capability} …"
        );
    }
    Ok(ExitCode::from(match (interrupted, result.status, result.limit) {
        (true, ..) => code::INTERRUPTED,
        (_, Status::Completed, _) if !result.approvals.is_empty() => code::APPROVAL,
        (_, Status::Completed, _) if result.success => 0,
        (_, _, Some(_)) => code::LIMIT,
        (_, Status::Suspended, _) => code::APPROVAL,
        _ => code::ERROR,
    }))
}
