//! `levain pipeline`: what handlers did with the prompts and requests of a thread; one handler again on what it got; pausing
//! before one.

use super::failure::{Failure, written};
use super::{Common, ExtensionOptions, find, runtime};
use crate::context::diff::unified;
use crate::domain::command::{Breakpoint, Command, Resume};
use crate::domain::{Stage, StageValue, Step, ThreadId};
use crate::items::{Handlers, Kind};
use crate::ports::handlers::{HandlerCall, HandlerReply};
use crate::session::Setup;
use crate::session::people::{err, json_line, out};
use crate::session::pipeline::{self, Passage, in_lines};
use crate::store::summary::Summary;
use crate::worker::host::REPLAY;
use clap::{Args, Subcommand};
use serde::Serialize;
use serde_json::{Value, json};
use std::io::{self, Read as _, Write};
use std::process::ExitCode;
use std::time::Instant;

#[derive(Debug, Args)]
pub(super) struct PipelineArguments {
    /// The thread, or a part of its id that only it has; the newest without
    #[arg(long, value_name = "ID", global = true)]
    thread: Option<String>,
    /// How often each handler was asked, and how long it took
    #[arg(long)]
    stats: bool,
    /// Show what each handler changed
    #[arg(long, short = 'd')]
    diff: bool,
    /// One JSON object a line
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Option<PipelineCommand>,
}

#[derive(Debug, Subcommand)]
enum PipelineCommand {
    /// List the handlers, skills and templates of this project
    List(OfDirective),
    /// Ask a handler again, as it is written now, with what it got in a thread; nothing is sent
    Run(RunArguments),
    /// Pause a running thread before handlers
    Break(BreakArguments),
    /// Go on from a breakpoint
    Resume(ResumeArguments),
}

#[derive(Debug, Args)]
struct OfDirective {
    /// With the handlers of this directive; of the one that the thread has, or a new one would have, without
    #[arg(long, value_name = "DIRECTIVE")]
    directive: Option<String>,
}

#[derive(Debug, Args)]
struct RunArguments {
    /// The stage: input, `before_agent_start`, context, `tool_call` and others
    #[arg(value_name = "STAGE")]
    stage: String,
    /// The handler; the only one of its stage without
    #[arg(long, value_name = "NAME")]
    handler: Option<String>,
    /// What it got at this prompt or request; the newest without
    #[arg(long, value_name = "N")]
    number: Option<u64>,
    /// Give it this event instead: a file with JSON, or - for the standard input
    #[arg(long, value_name = "FILE")]
    event: Option<String>,
    #[command(flatten)]
    directive: OfDirective,
    #[command(flatten)]
    extensions: ExtensionOptions,
}

#[derive(Debug, Args)]
struct BreakArguments {
    /// STAGE or STAGE:HANDLER; without any, all breakpoints are removed
    #[arg(value_name = "STAGE[:HANDLER]")]
    at: Vec<String>,
    /// Only where the value contains this
    #[arg(long, value_name = "TEXT")]
    contains: Option<String>,
}

#[derive(Debug, Args)]
struct ResumeArguments {
    /// Pause again before the next handler
    #[arg(long, conflicts_with_all = ["skip", "abort", "value"])]
    step: bool,
    /// Go on without this handler
    #[arg(long, conflicts_with_all = ["abort", "value"])]
    skip: bool,
    /// Give up the turn
    #[arg(long, conflicts_with = "value")]
    abort: bool,
    /// Go on with this value: a file with JSON, or - for the standard input
    #[arg(long, value_name = "FILE")]
    value: Option<String>,
}

pub(super) fn run(common: &Common, arguments: &PipelineArguments) -> Result<ExitCode, Failure> {
    let setup = match &arguments.command {
        Some(PipelineCommand::Run(run)) => run.extensions.gather(common, None)?,
        Some(PipelineCommand::List(_) | PipelineCommand::Break(_) | PipelineCommand::Resume(_)) | None => {
            Setup::gather(common.project.as_deref(), common.arguments(None))?
        }
    };
    let thread = || match &arguments.thread {
        Some(id) => find::thread(&setup, id),
        None => find::newest(&setup),
    };
    match &arguments.command {
        Some(PipelineCommand::List(of)) => {
            let named = arguments.thread.as_ref().map(|_| thread()).transpose()?;
            list(&setup, &of.directive(&setup, named.as_ref())?, arguments.json)
        }
        Some(PipelineCommand::Run(run)) => {
            let stage = stage_named(&run.stage)?;
            // What is given is of no thread, unless one is named.
            let needed = run.event.is_none() || arguments.thread.is_some();
            let thread = needed.then(thread).transpose()?;
            again(&setup, (stage, run), thread.as_ref(), arguments.json)
        }
        Some(PipelineCommand::Break(at)) => {
            let breakpoints = at.at.iter().map(|place| breakpoint(place, at)).collect::<Result<Vec<_>, _>>()?;
            tell(&setup, &thread()?, Command::SetBreakpoints { breakpoints })
        }
        Some(PipelineCommand::Resume(how)) => {
            let how = match how {
                ResumeArguments { step: true, .. } => Resume::Step,
                ResumeArguments { skip: true, .. } => Resume::Skip,
                ResumeArguments { abort: true, .. } => Resume::Abort,
                ResumeArguments { value, .. } => Resume::Continue { value: value.as_deref().map(read).transpose()? },
            };
            tell(&setup, &thread()?, Command::Resume { how })
        }
        None if arguments.stats => stats(&setup, &thread()?, arguments.json),
        None => show(&setup, &thread()?, arguments),
    }
}

impl OfDirective {
    /// The directive whose handlers are looked at besides those of files.
    fn directive(&self, setup: &Setup, thread: Option<&ThreadId>) -> Result<String, Failure> {
        match (&self.directive, thread) {
            (Some(named), _) => {
                let items = setup.items();
                items.find(Kind::Directive, named).map_err(|missing| Failure::usage(missing.to_string()))?;
                Ok(named.clone())
            }
            (None, Some(thread)) => Ok(Summary::look(&setup.layout, thread, REPLAY.summary)?.directive),
            (None, None) => Ok(setup.directive().to_owned()),
        }
    }
}

fn stage_named(name: &str) -> Result<Stage, Failure> {
    Stage::from_name(name).ok_or_else(|| {
        let known: Vec<_> = Stage::all().map(Stage::name).collect();
        let near = crate::domain::nearest(name, known.iter().copied());
        let near = near.map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default();
        Failure::usage(format!("there is no stage `{name}`{near}")).hint(known.join(", "))
    })
}

fn breakpoint(place: &str, arguments: &BreakArguments) -> Result<Breakpoint, Failure> {
    let (stage, handler) = place.split_once(':').map_or((place, None), |(stage, handler)| (stage, Some(handler)));
    let (handler, contains) = (handler.map(str::to_owned), arguments.contains.clone());
    let stage = stage_named(stage)?;
    if !stage.pauses() {
        return Err(Failure::usage(format!("nothing waits at {stage}, so nothing can be paused there")));
    }
    Ok(Breakpoint { stage, handler, contains })
}

fn read(file: &str) -> Result<Value, Failure> {
    let mut text = String::new();
    if file == "-" {
        let read = io::stdin().read_to_string(&mut text);
        read.map_err(|error| Failure::new(format!("the standard input could not be read: {error}")))?;
    } else {
        text = std::fs::read_to_string(file)
            .map_err(|error| Failure::usage(format!("{file} could not be read: {error}")))?;
    }
    serde_json::from_str(&text).map_err(|error| Failure::usage(format!("{file} holds no JSON: {error}")))
}

fn tell(setup: &Setup, thread: &ThreadId, command: Command) -> Result<ExitCode, Failure> {
    let orchestrator = setup.orchestrator()?;
    runtime()?.block_on(orchestrator.tell(thread, command)).map_err(Failure::new)?;
    Ok(ExitCode::SUCCESS)
}

fn show(setup: &Setup, thread: &ThreadId, arguments: &PipelineArguments) -> Result<ExitCode, Failure> {
    let passages = pipeline::passages(&setup.layout, thread)?;
    let mut output = io::BufWriter::new(out());
    if passages.is_empty() && !arguments.json {
        let _closed = writeln!(err(), "no handler was asked in {thread}; levain pipeline list shows those there are");
    }
    for Passage { of, title, steps } in &passages {
        if arguments.json {
            let steps: Vec<Value> = steps.iter().map(|step| pipeline::with_values(&setup.layout, step)).collect();
            let line =
                json!({"schema": "levain.pipeline/1", "thread_id": thread, "of": of, "title": title, "steps": steps});
            written(json_line(&mut output, &line))?;
            continue;
        }
        written(writeln!(output, "{of}  {title}"))?;
        for step in steps {
            written(step_line(&mut output, step))?;
            if let Some(difference) = pipeline::difference(&setup.layout, step).filter(|_| arguments.diff) {
                for line in difference.lines() {
                    written(writeln!(output, "      {line}"))?;
                }
            }
        }
    }
    written(output.flush())?;
    Ok(ExitCode::SUCCESS)
}

fn step_line(output: &mut impl Write, step: &Step) -> io::Result<()> {
    let Step { stage, handler, took_ms, said, place, .. } = step;
    let place = place.as_ref().map(|place| format!("  {place}")).unwrap_or_default();
    writeln!(output, "  {:<24} {handler:<20} {}  {took_ms} ms{place}", stage.name(), step.ending())?;
    for line in said.lines() {
        writeln!(output, "      │ {line}")?;
    }
    Ok(())
}

fn stats(setup: &Setup, thread: &ThreadId, as_json: bool) -> Result<ExitCode, Failure> {
    let all = pipeline::telemetry(&setup.layout, thread)?;
    let mut output = io::BufWriter::new(out());
    for ((stage, handler), one) in &all {
        if as_json {
            let line = json!({"schema": "levain.pipeline.stats/1", "stage": stage, "handler": handler, "counts": one});
            written(json_line(&mut output, &line))?;
            continue;
        }
        let mean = one.took_ms.checked_div(one.held).unwrap_or_default();
        written(writeln!(
            output,
            "{stage:<24} {handler:<24} asked {}, held {}, changed {}, failed {}, {mean} ms each",
            one.asked, one.held, one.changed, one.failed
        ))?;
    }
    written(output.flush())?;
    Ok(ExitCode::SUCCESS)
}

/// A line of `list --json`.
#[derive(Serialize)]
struct Listed {
    schema: &'static str,
    /// `handler`, `skill`, `template`.
    kind: &'static str,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    stage: Option<Stage>,
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(skip_serializing_if = "String::is_empty")]
    description: String,
}

fn list(setup: &Setup, directive: &str, as_json: bool) -> Result<ExitCode, Failure> {
    let schema = "levain.pipeline.list/1";
    let items = setup.items();
    let handlers = setup.handlers(&items, directive);
    runtime()?.block_on(handlers.ready(true));
    let files = setup.prompt_files();
    let mut all: Vec<Listed> = Vec::new();
    all.extend(Stage::all().flat_map(|stage| handlers.at(stage)).map(|one| Listed {
        schema,
        kind: "handler",
        name: one.id,
        stage: Some(one.stage),
        file: one.place.as_ref().map(|place| place.file.clone()).unwrap_or_default(),
        line: one.place.and_then(|place| place.line),
        description: String::new(),
    }));
    for (kind, list) in [("skill", &files.skills), ("template", &files.templates)] {
        all.extend(list.iter().map(|one| Listed {
            schema,
            kind,
            name: one.name.clone(),
            stage: None,
            file: one.file.display().to_string(),
            line: None,
            description: one.description.clone(),
        }));
    }
    let mut output = io::BufWriter::new(out());
    for one in &all {
        if as_json {
            written(json_line(&mut output, one))?;
            continue;
        }
        let Listed { kind, name, stage, file, line, description, .. } = one;
        let shown = match (*kind, stage) {
            ("skill", _) => format!("/skill:{name}"),
            ("template", _) => format!("/{name}"),
            (_, Some(stage)) => format!("{stage} {name}"),
            (_, None) => name.clone(),
        };
        let line = line.map(|line| format!(":{line}")).unwrap_or_default();
        let about = if description.is_empty() { String::new() } else { format!("  {description}") };
        written(writeln!(output, "{kind:<9} {shown:<32} {file}{line}{about}"))?;
    }
    written(output.flush())?;
    if all.is_empty() && !as_json {
        let _closed = writeln!(
            err(),
            "there are no handlers, skills and templates here; docs/pipeline.md shows how to write one"
        );
    }
    let problems = Handlers::of_threads(&items, directive).problems.into_iter().map(|problem| problem.to_string());
    let problems = problems.chain(handlers.news()).chain(files.problems);
    let mut code = ExitCode::SUCCESS;
    for problem in problems {
        let _closed = writeln!(err(), "{problem}");
        code = ExitCode::FAILURE;
    }
    Ok(code)
}

fn again(
    setup: &Setup,
    (stage, arguments): (Stage, &RunArguments),
    thread: Option<&ThreadId>,
    as_json: bool,
) -> Result<ExitCode, Failure> {
    let handlers = setup.handlers(&setup.items(), &arguments.directive.directive(setup, thread)?);
    let runtime = runtime()?;
    runtime.block_on(handlers.ready(true));
    for text in handlers.news() {
        let _closed = writeln!(err(), "{text}");
    }
    let mut known = handlers.at(stage);
    known.retain(|one| arguments.handler.as_ref().is_none_or(|name| one.id == *name));
    let names = || handlers.at(stage).into_iter().map(|one| one.id).collect::<Vec<_>>().join(", ");
    let handler = match known.as_slice() {
        [only] => only,
        [] => return Err(Failure::usage(format!("there is no such handler at {stage}")).hint(names())),
        _ => return Err(Failure::usage(format!("{stage} has several handlers: name one with --handler")).hint(names())),
    };
    let event = if let Some(file) = &arguments.event {
        read(file)?
    } else {
        let Some(thread) = thread else { return Err(Failure::usage("no thread is named")) };
        let all = pipeline::passages(&setup.layout, thread)?;
        let found = pipeline::recorded(&all, stage, Some(&handler.id), arguments.number)
            .or_else(|| pipeline::recorded(&all, stage, None, arguments.number));
        let Some(hash) = found.and_then(|(_, step)| step.before.clone()) else {
            return Err(Failure::new(format!("no handler was asked at {stage} in {thread}"))
                .hint("give it an event with --event FILE"));
        };
        pipeline::value(&setup.layout, &hash)?
    };
    let begun = Instant::now();
    let call =
        HandlerCall { event: StageValue::of(stage, event.clone()), facts: json!({}), preview: true, since: begun };
    let asked = async { tokio::time::timeout(handler.deadline, handlers.ask(handler, &call)).await };
    let reply = runtime.block_on(asked);
    let took = begun.elapsed().as_millis();
    let reply = reply.map_err(|_elapsed| Failure::new(format!("{} did not answer in time", handler.id)))?;
    let mut output = out();
    match reply.map_err(|error| Failure::new(format!("{}: {error}", handler.id)))? {
        HandlerReply::NotAsked { saw } => {
            let saw: Vec<String> = saw.iter().map(ToString::to_string).collect();
            written(writeln!(output, "{}: condition false: {}", handler.id, saw.join(", ")))?;
        }
        HandlerReply::Refused { reason } => return Err(Failure::new(format!("{} was not run: {reason}", handler.id))),
        HandlerReply::Answer { value, said, .. } => {
            for line in said.lines() {
                let _closed = writeln!(err(), "{line}");
            }
            let (outcome, after) = pipeline::merged(stage, &event, &value, &handler.id).map_err(Failure::new)?;
            if as_json {
                let answer = match &value {
                    StageValue::Json(answer) => Value::clone(answer),
                    StageValue::Messages(messages) => json!({"messages": messages}),
                };
                let line = json!({"schema": "levain.pipeline.run/1", "handler": handler.id, "stage": stage,
                    "answer": answer, "outcome": outcome, "after": after, "took_ms": u64::try_from(took).unwrap_or(u64::MAX)});
                written(json_line(&mut output, &line))?;
            } else {
                written(writeln!(output, "{}: {outcome}, {took} ms", handler.id))?;
                let after = after.unwrap_or_else(|| event.clone());
                written(write!(output, "{}", unified(&in_lines(&event), &in_lines(&after))))?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}
