//! `levain context lint`.

use super::Draft;
use super::subject::{Commands, planned, start, stored};
use crate::cli::failure::{Failure, code, written};
use crate::cli::text::several;
use crate::cli::{Common, find};
use crate::context::Start;
use crate::context::lint::{Finding, lint, secrets, sent, unused};
use crate::context::words::conversation;
use crate::domain::input::unfit;
use crate::domain::{Decision, Event, Input, Severity, Space, ThreadId, ToolEvent};
use crate::items::{Directive, Kind};
use crate::session::people::{json_line, out};
use crate::session::{DirectivePlanner, Setup};
use crate::store::log;
use clap::Args;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(super) struct LintArguments {
    /// The directives; all of the project when left out
    #[arg(value_name = "DIRECTIVE")]
    directives: Vec<String>,
    #[command(flatten)]
    draft: Draft,
    /// Check a thread's newest request instead, and list its unused tools
    #[arg(long, value_name = "ID", conflicts_with = "directives")]
    thread: Option<String>,
    /// So many turns must have gone by before a tool counts as unused
    #[arg(long, value_name = "N", default_value_t = 5, requires = "thread")]
    turns: u32,
    /// Exit with 1 for warnings too
    #[arg(long)]
    strict: bool,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

/// A line of `--json`.
#[derive(Serialize)]
struct LintLine<'a> {
    schema: &'static str,
    directive: &'a str,
    #[serde(flatten)]
    finding: &'a Finding,
}

pub(super) fn run(common: &Common, arguments: &LintArguments) -> Result<ExitCode, Failure> {
    let setup = Setup::gather(common.project.as_deref(), common.arguments(None))?;
    let mut directives = arguments.directives.clone();
    if let Some(thread) = &arguments.thread {
        directives = vec![find::thread(&setup, thread)?.to_string()];
    } else if directives.is_empty() {
        let items = setup.items();
        let own = items
            .iter()
            .filter(|found| found.item.kind == Kind::Directive && items.space(found.item) == Space::Project);
        directives = own.map(|found| found.item.id.to_string()).collect();
    }
    let mut output = io::BufWriter::new(out());
    let (mut errors, mut warnings) = (0, 0);
    for directive in &directives {
        let findings = match &arguments.thread {
            Some(_) => in_thread(&setup, directive, arguments.turns)?,
            None => findings(&setup, directive, &arguments.draft, arguments.directives.is_empty())?,
        };
        for finding in &findings {
            match finding.severity {
                Severity::Error | Severity::Fatal => errors += 1,
                Severity::Warning => warnings += 1,
            }
            written(if arguments.json {
                json_line(&mut output, &LintLine { schema: "levain.lint/1", directive, finding })
            } else {
                write_finding(&mut output, directive, finding)
            })?;
        }
    }
    if !arguments.json {
        let what = match (&arguments.thread, directives.len()) {
            (Some(_), _) => "1 thread".to_owned(),
            (None, count) => several(count, "directive"),
        };
        let (errors, warnings) = (several(errors, "error"), several(warnings, "warning"));
        written(writeln!(output, "{what}: {errors}, {warnings}"))?;
    }
    written(output.flush())?;
    let failed = errors > 0 || (arguments.strict && warnings > 0);
    Ok(if failed { ExitCode::from(code::ERROR) } else { ExitCode::SUCCESS })
}

/// What is found in one directive. Among many, one that cannot run is a finding itself, and what it has to be told is made
/// up.
fn findings(setup: &Setup, directive: &str, draft: &Draft, among_many: bool) -> Result<Vec<Finding>, Failure> {
    let draft = &if among_many { stood_in(setup, directive, draft) } else { draft.clone() };
    let first = match planned(setup, directive, draft, Commands::Unasked) {
        Ok(first) => first,
        Err(failure) if among_many => {
            return Ok(vec![Finding {
                rule: "plan",
                severity: Severity::Error,
                layer: directive.to_owned(),
                message: failure.message().to_owned(),
                remedy: "fix it, or remove the directive".to_owned(),
            }]);
        }
        Err(failure) => return Err(failure),
    };
    let planner = DirectivePlanner::prepare(setup, directive, Some(draft.input.iter().cloned().collect()))?;
    let other = Start {
        thread_id: Some(ThreadId::new(directive, 1)),
        ..start(setup, directive, first.model.clone(), planner.limits, draft)
    };
    let again = planner.planned(&other)?;
    Ok(lint(&first.plan, &again, &first.assembly))
}

/// What is found in the newest request of a thread, and in how its tools were used.
fn in_thread(setup: &Setup, thread: &str, least: u32) -> Result<Vec<Finding>, Failure> {
    let thread = find::thread(setup, thread)?;
    let stored = stored(setup, &thread, None, None)?;
    let newest = &stored.record;
    let mut called = BTreeSet::new();
    for page in log::pages(&setup.layout.log(&thread)?) {
        for record in page?.into_records() {
            if let Event::Tool(ToolEvent::ToolCallStart { item, tool, .. }) = record.event {
                called.insert(item.unwrap_or(tool));
            }
        }
    }
    let told: Vec<(&str, Cow<'_, str>)> = newest
        .layers
        .iter()
        .zip(&stored.texts)
        .filter(|(layer, _)| layer.decision == Decision::Included)
        .map(|(layer, text)| {
            let said = conversation(layer, stored.messages.iter());
            (layer.id.as_str(), said.map_or(Cow::Borrowed(text.as_str()), Cow::Owned))
        })
        .collect();
    let mut findings = sent(&newest.layers);
    findings.extend(secrets(told.iter().map(|(id, text)| (*id, &**text))));
    findings.extend(unused(&newest.layers, &called, newest.turn, least));
    Ok(findings)
}

/// The same with something for each input that has to be given: many directives are looked at without a word about any.
fn stood_in(setup: &Setup, directive: &str, draft: &Draft) -> Draft {
    let mut draft = draft.clone();
    let items = setup.items();
    let Some(found) = items.get(Kind::Directive, directive) else { return draft };
    let Ok(text) = items.read(found.item) else { return draft };
    let (directive, _told_elsewhere) = Directive::parse(&text, &items.file(found.item));
    let known = |name: &str| directive.inputs.iter().any(|input| input.name == name);
    // What was given for one is not refused by the others.
    draft.input.retain(|(name, _)| directive.inputs.is_empty() || known(name));
    for input in directive.inputs.iter().filter(|input| input.required && input.default.is_none()) {
        if !draft.input.iter().any(|(name, _)| *name == input.name) {
            draft.input.push((input.name.clone(), stand_in(input).to_owned()));
        }
    }
    draft
}

/// A value that fits an input.
fn stand_in(input: &Input) -> &str {
    if let Some(choice) = input.choices.first() {
        return choice;
    }
    ["true", "1"]
        .into_iter()
        .find(|text| unfit(&input.kind, &input.name).is_some() && unfit(&input.kind, text).is_none())
        .unwrap_or(&input.name)
}

fn write_finding(output: &mut impl Write, directive: &str, finding: &Finding) -> io::Result<()> {
    let Finding { rule, severity, layer, message, remedy } = finding;
    let severity = severity.word();
    writeln!(output, "{severity}: {directive}: {layer}: {message}; {remedy} [{rule}]")
}
