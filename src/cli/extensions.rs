//! `levain extensions`: load extensions and tell what they register, offer them an event, begin one.
//!
//! What is given by its path is loaded because the person named it; what is found in a project, only where they trust it.
//! The extensions of threads are the same, found and started by the same functions (`session::extensions`).

use super::Common;
use super::failure::{Failure, code, written};
use super::find;
use super::runtime;
use crate::domain::StageValue;
use crate::extensions::{
    Answer, Emitted, EngineError, Limits, Line, Loaded, Problem, Registered, Said, Told, template, types,
};
use crate::session::Setup;
use crate::session::extensions::{Changes, Extension, FOLDERS, OWN_FOLDERS, named};
use crate::session::people::{clock, json_line, out};
use crate::session::replay;
use crate::store::console::{self, ConsoleLine};
use clap::{Args, Subcommand};
use serde::Serialize;
use serde_json::Value;
use std::fs;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct ExtensionsArguments {
    #[command(subcommand)]
    command: Option<ExtensionsCommand>,
    #[command(flatten)]
    list: ListArguments,
}

#[derive(Debug, Args)]
struct ListArguments {
    /// Files, or folders of extensions; without any, those of the project and your own
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum ExtensionsCommand {
    /// Offer one event to each handler by itself, and show what it makes of it
    Emit(EmitArguments),
    /// Replay a thread's prompts, requests, calls and results through extensions, and show what each handler would change
    Test(TestArguments),
    /// Show what the extensions of a thread printed, and their errors
    Console(ConsoleArguments),
    /// Write the types of the interface, for an editor
    Types {
        /// The folder, instead of .ai/extensions/types
        #[arg(value_name = "DIR")]
        folder: Option<PathBuf>,
    },
    /// Begin an extension: a small working one, in .ai/extensions
    New {
        /// What to call it: letters, digits, - and _
        #[arg(value_name = "NAME")]
        name: String,
    },
}

#[derive(Debug, Args)]
struct EmitArguments {
    /// The event, such as `tool_call`
    #[arg(value_name = "EVENT")]
    event: String,
    /// What comes with it, as a JSON object
    #[arg(long, value_name = "JSON", default_value = "{}")]
    with: String,
    #[command(flatten)]
    list: ListArguments,
}

#[derive(Debug, Args)]
struct TestArguments {
    /// Files, or folders of extensions
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// The thread, or a part of its id that only it has; the newest without
    #[arg(long, value_name = "THREAD")]
    thread: Option<String>,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct ConsoleArguments {
    /// The thread, or a part of its id that only it has; the newest without
    #[arg(long, value_name = "THREAD")]
    thread: Option<String>,
    /// Lines at most, the newest
    #[arg(long, value_name = "N", default_value = "200")]
    lines: NonZeroUsize,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

/// `--json`, a line for each line of `console`.
#[derive(Serialize)]
struct PrintedLine<'a> {
    schema: &'static str,
    #[serde(flatten)]
    line: &'a ConsoleLine,
}

/// A file, or a folder that was to be one.
struct Wanted {
    path: PathBuf,
    may_run: Result<(), Refused>,
}

enum Refused {
    NotTrusted,
    NothingThere,
}

/// `--json`, a line for each file.
#[derive(Serialize)]
struct FileLine<'a> {
    schema: &'static str,
    path: &'a Path,
    /// `loaded`, `failed` or `untrusted`.
    status: &'static str,
    took_ms: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    registered: Option<&'a Registered>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a Problem>,
    output: &'a [Line],
    reports: &'a [Problem],
}

/// `--json`, a line for each handler.
#[derive(Serialize)]
struct AnswerLine<'a> {
    schema: &'static str,
    event: &'a str,
    no_effect: bool,
    #[serde(flatten)]
    answer: &'a Answer,
}

/// `--json`, a line for each handler and event of `test`.
#[derive(Serialize)]
struct TestLine<'a> {
    schema: &'static str,
    event: &'a str,
    of: &'a str,
    path: &'a Path,
    handler: u64,
    took_ms: f64,
    /// `no effect`, `changed`, `handled`, `blocked` or `failed`.
    outcome: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<&'a str>,
    /// Why it is blocked, or failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

/// `--json`, the last line of `emit`.
#[derive(Serialize)]
struct EmittedLine<'a> {
    schema: &'static str,
    event: &'a str,
    handlers: usize,
    asked: &'a [Said],
    output: &'a [Line],
    reports: &'a [Problem],
}

pub(super) fn run(common: &Common, arguments: &ExtensionsArguments) -> Result<ExitCode, Failure> {
    let setup = Setup::gather(common.project.as_deref(), common.arguments(None))?;
    match &arguments.command {
        None => list(&setup, &arguments.list),
        Some(ExtensionsCommand::Emit(arguments)) => emit(&setup, arguments),
        Some(ExtensionsCommand::Test(arguments)) => test(&setup, arguments),
        Some(ExtensionsCommand::Console(arguments)) => show_console(&setup, arguments),
        Some(ExtensionsCommand::Types { folder }) => {
            let trusted = setup.trust().allows();
            let folder = folder.clone().unwrap_or_else(|| setup.project.root.join(".ai/extensions/types"));
            let done = write_all(&folder, types(), Existing::Replaced)?;
            // An extension could import them.
            if trusted && !setup.trust().allows() {
                written(writeln!(
                    out(),
                    "The project has new files now that could run: `levain trust` trusts it again"
                ))?;
            }
            Ok(done)
        }
        Some(ExtensionsCommand::New { name }) => begin(&setup, name),
    }
}

/// What a thread's extensions printed, the newest last.
fn show_console(setup: &Setup, arguments: &ConsoleArguments) -> Result<ExitCode, Failure> {
    let id = match &arguments.thread {
        Some(name) => find::thread(setup, name)?,
        None => find::newest(setup)?,
    };
    let printed = console::printed(&setup.layout, &id, arguments.lines.get());
    let printed = printed.map_err(|error| Failure::new(error.to_string()))?;
    let mut output = out();
    for line in &printed {
        let ConsoleLine { at, extension, level, text } = line;
        written(if arguments.json {
            json_line(&mut output, &PrintedLine { schema: "levain.extension_line/1", line })
        } else {
            writeln!(output, "{} {extension} {level}: {text}", clock(*at))
        })?;
    }
    if printed.is_empty() && !arguments.json {
        written(writeln!(output, "No extension printed anything in {id}."))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn list(setup: &Setup, arguments: &ListArguments) -> Result<ExitCode, Failure> {
    let wanted = wanted(setup, &arguments.paths);
    let mut output = out();
    if wanted.is_empty() && !arguments.json {
        let places = [FOLDERS.join(", "), OWN_FOLDERS.map(|folder| format!("~/{folder}")).join(", ")].join(", ");
        written(writeln!(output, "There are no extensions in {places}."))?;
    }
    let mut all_loaded = true;
    let mut engine = None;
    let runtime = runtime()?;
    for wanted in wanted {
        let loaded = match wanted.may_run {
            Ok(()) => {
                let engine = match &engine {
                    Some(engine) => engine,
                    None => engine.insert(setup.extensions().engine(Limits::default(), None, &Changes::None)?),
                };
                Some(runtime.block_on(engine.load(&wanted.path))?)
            }
            Err(Refused::NotTrusted) => None,
            Err(Refused::NothingThere) => Some(nothing_there(&wanted.path)),
        };
        all_loaded &= loaded.as_ref().is_none_or(|loaded| loaded.result.is_ok());
        written(tell_file(&mut output, &wanted.path, loaded.as_ref(), arguments.json))?;
    }
    Ok(if all_loaded { ExitCode::SUCCESS } else { ExitCode::from(code::ERROR) })
}

fn emit(setup: &Setup, arguments: &EmitArguments) -> Result<ExitCode, Failure> {
    let payload: Value = serde_json::from_str(&arguments.with).map_err(|error| {
        Failure::usage(format!("--with is no JSON: {error}")).hint("such as --with '{\"text\":\"hello\"}'")
    })?;
    if !payload.is_object() {
        return Err(Failure::usage("--with is to be a JSON object: the fields of the event"));
    }
    let engine = setup.extensions().engine(Limits::default(), None, &Changes::None)?;
    let runtime = runtime()?;
    let mut output = out();
    let mut all_loaded = true;
    for wanted in wanted(setup, &arguments.list.paths) {
        let loaded = match wanted.may_run {
            Ok(()) => Some(runtime.block_on(engine.load(&wanted.path))?),
            Err(Refused::NotTrusted) => None,
            Err(Refused::NothingThere) => Some(nothing_there(&wanted.path)),
        };
        if loaded.as_ref().is_none_or(|loaded| loaded.result.is_err()) {
            all_loaded &= loaded.is_none();
            written(tell_file(&mut output, &wanted.path, loaded.as_ref(), arguments.list.json))?;
        }
    }
    let emitted = runtime.block_on(engine.emit(&arguments.event, payload))?;
    written(tell_answers(&mut output, &arguments.event, &emitted, arguments.list.json))?;
    Ok(if all_loaded { ExitCode::SUCCESS } else { ExitCode::from(code::ERROR) })
}

/// Offers every event of a thread to each handler by itself, as it was then.
fn test(setup: &Setup, arguments: &TestArguments) -> Result<ExitCode, Failure> {
    let id = match &arguments.thread {
        Some(name) => find::thread(setup, name)?,
        None => find::newest(setup)?,
    };
    let events = replay::events(&setup.layout, &id).map_err(|error| Failure::new(error.to_string()))?;
    let engine = setup.extensions().engine(Limits::default(), None, &Changes::None)?;
    let (runtime, mut output) = (runtime()?, out());
    for wanted in wanted(setup, &arguments.paths) {
        let loaded = match wanted.may_run {
            Ok(()) => runtime.block_on(engine.load(&wanted.path))?,
            Err(Refused::NotTrusted | Refused::NothingThere) => nothing_there(&wanted.path),
        };
        if loaded.result.is_err() {
            written(tell_file(&mut output, &wanted.path, Some(&loaded), arguments.json))?;
            return Ok(ExitCode::from(code::ERROR));
        }
    }
    let listing = runtime.block_on(engine.list())?;
    let (mut asked, mut effects, mut failed) = (0, 0, 0);
    for replayed in &events {
        for handler in listing.handlers.iter().filter(|handler| handler.event == replayed.stage.name()) {
            let (answer, told) = runtime
                .block_on(engine.call(handler.clone(), StageValue::of(replayed.stage, replayed.event.clone())))?;
            asked += 1;
            let (path, number, took_ms) = (answer.path.clone(), answer.index + 1, answer.took);
            let error = answer.error.as_ref().map(|problem| problem.message.clone());
            let came = match error {
                Some(error) => Err(error),
                None => replay::effect(replayed, answer, &path.display().to_string()),
            };
            let (outcome, difference, reason) = match &came {
                Ok(effect) => (effect.word, effect.difference.as_deref(), effect.reason.as_deref()),
                Err(error) => ("failed", None, Some(error.as_str())),
            };
            effects += usize::from(!matches!(outcome, "no effect" | "failed"));
            failed += usize::from(came.is_err());
            let (schema, event, of) = ("levain.extension_test/1", replayed.stage.name(), replayed.of.as_str());
            let line =
                TestLine { schema, event, of, path: &path, handler: number, took_ms, outcome, difference, reason };
            written(tell_test(&mut output, &line, arguments.json))?;
            if !arguments.json {
                written(tell_rest(&mut output, &told.lines, &told.reports))?;
            }
        }
    }
    if !arguments.json {
        written(writeln!(
            output,
            "{} events of {id}: handlers were asked {asked} times, {effects} would change something, {failed} failed.",
            events.len()
        ))?;
    }
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::from(code::ERROR) })
}

fn tell_test(output: &mut impl Write, line: &TestLine<'_>, json: bool) -> io::Result<()> {
    if json {
        return json_line(output, line);
    }
    // What has no effect is in the sum below.
    if line.outcome == "no effect" {
        return Ok(());
    }
    let TestLine { event, of, path, handler, took_ms, outcome, difference, reason, .. } = line;
    writeln!(output, "{of}  {event}  {}  handler {handler}  {took_ms:.2} ms  {outcome}", path.display())?;
    for row in reason.iter().copied().chain(*difference).flat_map(str::lines) {
        writeln!(output, "  {row}")?;
    }
    Ok(())
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        Self::new(error.to_string())
    }
}

/// What is to be loaded, in order, each file once.
fn wanted(setup: &Setup, paths: &[PathBuf]) -> Vec<Wanted> {
    let mut wanted: Vec<Wanted> = Vec::new();
    let mut add = |path: PathBuf, may_run| {
        if !wanted.iter().any(|other| other.path == path) {
            wanted.push(Wanted { path, may_run });
        }
    };
    for path in paths {
        let found = named(path);
        if found.is_empty() {
            add(path.clone(), Err(Refused::NothingThere));
            continue;
        }
        for file in found {
            add(file, Ok(()));
        }
    }
    if !paths.is_empty() {
        return wanted;
    }
    let extensions = setup.extensions();
    let trusted = extensions.are_trusted();
    for Extension { path, of_project, .. } in extensions.found() {
        add(path, if trusted || !of_project { Ok(()) } else { Err(Refused::NotTrusted) });
    }
    wanted
}

fn nothing_there(path: &Path) -> Loaded {
    let message =
        "there is no extension here: neither a file, nor a folder with an index.ts or a package.json that names one";
    let file = Some(path.to_string_lossy().into_owned());
    let problem = Problem { message: message.to_owned(), file, ..Problem::default() };
    Loaded { path: path.to_owned(), took: 0.0, result: Err(problem), lines: Vec::new(), reports: Vec::new() }
}

// ------------------------------------------------------------------------------------------------- telling

fn tell_file(output: &mut impl Write, path: &Path, loaded: Option<&Loaded>, json: bool) -> io::Result<()> {
    let (status, took_ms) = match loaded {
        None => ("untrusted", 0.0),
        Some(loaded) => (if loaded.result.is_ok() { "loaded" } else { "failed" }, loaded.took),
    };
    let (lines, reports): (&[Line], &[Problem]) = loaded.map_or((&[], &[]), |loaded| (&loaded.lines, &loaded.reports));
    let result = loaded.map(|loaded| loaded.result.as_ref());
    if json {
        let (registered, error) = match result {
            None => (None, None),
            Some(Ok(registered)) => (Some(registered), None),
            Some(Err(error)) => (None, Some(error)),
        };
        let schema = "levain.extension/1";
        let line = FileLine { schema, path, status, took_ms, registered, error, output: lines, reports };
        return json_line(output, &line);
    }
    match result {
        None => {
            writeln!(output, "{}  not trusted, so not loaded", path.display())?;
            writeln!(output, "  review what can run (levain trust --show), then: levain trust")?;
        }
        Some(Ok(registered)) => {
            writeln!(output, "{}  loaded in {took_ms:.1} ms", path.display())?;
            tell_registered(output, registered)?;
        }
        Some(Err(problem)) => {
            writeln!(output, "{}  not loaded", path.display())?;
            tell_problem(output, problem)?;
        }
    }
    tell_rest(output, lines, reports)
}

fn tell_registered(output: &mut impl Write, registered: &Registered) -> io::Result<()> {
    let events = registered.events.iter();
    let events: Vec<String> =
        events.map(|(name, count)| if *count == 1 { name.clone() } else { format!("{name} ({count})") }).collect();
    let rows = [
        ("handles", &events),
        ("tools", &registered.tools),
        ("commands", &registered.commands),
        ("shortcuts", &registered.shortcuts),
        ("flags", &registered.flags),
        ("providers", &registered.providers),
        ("renderers", &registered.renderers),
    ];
    for (name, values) in rows.iter().filter(|(_, values)| !values.is_empty()) {
        writeln!(output, "  {name:<10}{}", values.join(", "))?;
    }
    if rows.iter().all(|(_, values)| values.is_empty()) {
        writeln!(output, "  registers nothing")?;
    }
    Ok(())
}

fn tell_problem(output: &mut impl Write, problem: &Problem) -> io::Result<()> {
    let place = match (&problem.file, problem.line, problem.column) {
        (Some(file), Some(line), Some(column)) => format!("{file}:{line}:{column}: "),
        (Some(file), _, _) => format!("{file}: "),
        (None, _, _) => String::new(),
    };
    let message = problem.message.replace('\n', "\n    ");
    writeln!(output, "  {place}{message}")?;
    for row in problem.stack.iter().flat_map(|stack| stack.lines()) {
        writeln!(output, "  {row}")?;
    }
    Ok(())
}

fn tell_rest(output: &mut impl Write, lines: &[Line], reports: &[Problem]) -> io::Result<()> {
    for report in reports {
        writeln!(output, "  beside what was asked:")?;
        tell_problem(output, report)?;
    }
    for Line { level, text } in lines {
        writeln!(output, "  {level}: {}", text.trim_end())?;
    }
    Ok(())
}

fn tell_answers(output: &mut impl Write, event: &str, emitted: &Emitted, json: bool) -> io::Result<()> {
    let Emitted { answers, told: Told { said, lines, reports } } = emitted;
    if json {
        for answer in answers {
            let (schema, no_effect) = ("levain.extension_answer/1", answer.has_no_effect());
            json_line(output, &AnswerLine { schema, event, no_effect, answer })?;
        }
        let schema = "levain.extension_event/1";
        let handlers = answers.len();
        return json_line(output, &EmittedLine { schema, event, handlers, asked: said, output: lines, reports });
    }
    if answers.is_empty() {
        writeln!(output, "Nobody handles {event}.")?;
    }
    for answer in answers {
        writeln!(output, "{}  handler {}  {:.2} ms", answer.path.display(), answer.index + 1, answer.took)?;
        if answer.has_no_effect() {
            writeln!(output, "  no effect")?;
        }
        if let Some(result) = &answer.result {
            writeln!(output, "  answered  {result}")?;
        }
        if let Some(value) = &answer.value {
            writeln!(output, "  changed   {value}")?;
        }
        if let Some(messages) = &answer.messages {
            writeln!(output, "  messages  {}", Value::Array(messages.iter().map(|one| Value::clone(one)).collect()))?;
        }
        if let Some(error) = &answer.error {
            tell_problem(output, error)?;
        }
    }
    for Said { name, arguments } in said {
        writeln!(output, "  asked for {name} {arguments}")?;
    }
    tell_rest(output, lines, reports)
}

// ------------------------------------------------------------------------------------------------- writing

#[derive(Clone, Copy, PartialEq, Eq)]
enum Existing {
    Replaced,
    Kept,
}

fn begin(setup: &Setup, name: &str) -> Result<ExitCode, Failure> {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    if name.is_empty() || !name.chars().all(fits) {
        return Err(Failure::usage(format!("`{name}` is no name for an extension: letters, digits, - and _")));
    }
    let folder = setup.project.root.join(".ai/extensions").join(name);
    write_all(&folder, template(), Existing::Kept)
}

fn write_all<'a>(
    folder: &Path,
    files: impl Iterator<Item = (&'a str, &'a [u8])>,
    existing: Existing,
) -> Result<ExitCode, Failure> {
    let failed = |path: &Path, error: &io::Error| Failure::new(format!("could not write {}: {error}", path.display()));
    if existing == Existing::Kept && folder.exists() {
        return Err(Failure::new(format!("{} is there already", folder.display())));
    }
    fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
    let mut output = out();
    for (name, bytes) in files {
        let path = folder.join(name);
        let write = || -> io::Result<()> {
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            file.write_all(bytes)?;
            file.persist(&path).map_err(|error| error.error)?;
            Ok(())
        };
        write().map_err(|error| failed(&path, &error))?;
        written(writeln!(output, "{}", path.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_names_its_place() {
        let place = (Some("/x.ts".to_owned()), Some(3), Some(7));
        let problem = Problem { message: "no".into(), file: place.0, line: place.1, column: place.2, stack: None };
        let mut text = Vec::new();
        tell_problem(&mut text, &problem).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), "  /x.ts:3:7: no\n");
    }
}
