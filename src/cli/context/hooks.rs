//! `levain context hooks`: every hook of a directive, what its condition saw, and what they answer together.

use super::Draft;
use super::subject::{chosen, start};
use crate::cli::Common;
use crate::cli::failure::{Failure, written};
use crate::context::condition::judge;
use crate::context::control::decide;
use crate::context::{Fate, routes};
use crate::domain::Saw;
use crate::items::Hook;
use crate::items::directive::Values;
use crate::items::hook::{Action, Control, events};
use crate::session::people::{json_line, out};
use crate::session::{DirectivePlanner, Setup};
use clap::Args;
use serde::Serialize;
use serde_json::{Map, Value};
use std::io::{self, Write};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(super) struct HooksArguments {
    /// The directive; by default the one that levain opens
    #[arg(value_name = "DIRECTIVE")]
    directive: Option<String>,
    /// Only the hooks of this event
    #[arg(long, value_name = "NAME")]
    event: Option<String>,
    /// A field the event would have, such as classification.retryable=true; may be given several times
    #[arg(long, value_name = "PATH=VALUE", value_parser = crate::cli::run::input)]
    field: Vec<(String, String)>,
    #[command(flatten)]
    draft: Draft,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

/// A line of `--json`.
#[derive(Serialize)]
struct HookLine<'a> {
    schema: &'static str,
    id: &'a str,
    event: &'a str,
    layer: f64,
    file: String,
    line: u32,
    holds: bool,
    saw: Vec<Saw>,
    /// What it would do, in words.
    action: String,
    /// Whether its answer decides how the thread goes on.
    decides: bool,
    /// Why it does nothing although its condition holds.
    note: Option<String>,
}

pub(super) fn run(common: &Common, arguments: &HooksArguments) -> Result<ExitCode, Failure> {
    let setup = Setup::gather(common.project.as_deref(), common.arguments(arguments.directive.clone()))?;
    if let Some(event) = arguments.event.as_deref().filter(|event| !events().any(|known| known == *event)) {
        let known: Vec<_> = events().collect();
        return Err(Failure::usage(format!("there is no event `{event}`")).hint(known.join(", ")));
    }
    let inputs: Values = arguments.draft.input.iter().cloned().collect();
    let planner = DirectivePlanner::prepare(&setup, setup.directive(), Some(inputs.clone()))?;
    let (chosen, _told_elsewhere) = chosen(&setup, &setup.items(), setup.directive());
    let start = start(&setup, setup.directive(), chosen.model, planner.limits, &arguments.draft);
    let plan = planner.planned(&start)?;
    let (mut fields, mut before) = (plan.fields.clone(), plan.routing_fields.clone());
    for (path, value) in &arguments.field {
        let value: Value = serde_json::from_str(value).unwrap_or_else(|_error| value.as_str().into());
        put(&mut before, path, value.clone());
        put(&mut fields, path, value);
    }
    let routes = routes(&plan.hooks, &before, &inputs, setup.directive());
    let mut output = io::BufWriter::new(out());
    let wanted = |hook: &&Hook| arguments.event.as_ref().is_none_or(|event| *event == hook.event);
    for (number, hook) in plan.hooks.iter().enumerate().filter(|(_, hook)| wanted(hook)) {
        let all = decide(&plan.hooks, &hook.event, &fields, &inputs, false).asked;
        let before_it = plan.hooks.iter().take(number).filter(|other| other.event == hook.event).count();
        let route = routes.iter().find(|route| route.is_of(hook));
        let verdict = judge(&hook.condition, if route.is_some() { &before } else { &fields });
        let decides = route
            .map_or_else(|| all.get(before_it).is_some_and(|asked| asked.decides), |route| route.fate == Fate::Chose);
        let line = HookLine {
            schema: "levain.hook/1",
            id: &hook.id,
            event: &hook.event,
            layer: hook.layer.number(),
            file: hook.file.display().to_string(),
            line: hook.lines.0,
            holds: verdict.holds,
            saw: verdict.saw,
            action: action(&hook.action),
            decides,
            note: route.filter(|_| verdict.holds && !decides).map(ToString::to_string),
        };
        written(if arguments.json { json_line(&mut output, &line) } else { write_hook(&mut output, &line) })?;
    }
    if let (false, Some(event)) = (arguments.json, &arguments.event) {
        let decided = decide(&plan.hooks, event, &fields, &inputs, false);
        if let (Some(answer), Some(by)) = (decided.answer, decided.by) {
            written(writeln!(output, "answer: {}, from {}", answer.word(), &by))?;
        }
    }
    written(output.flush())?;
    Ok(ExitCode::SUCCESS)
}

/// Puts a value at a dotted path, making maps on the way.
fn put(fields: &mut Value, path: &str, value: Value) {
    let (name, rest) = path.split_once('.').map_or((path, None), |(name, rest)| (name, Some(rest)));
    if !fields.is_object() {
        *fields = Value::Object(Map::new());
    }
    let Some(map) = fields.as_object_mut() else { return };
    let place = map.entry(name).or_insert(Value::Null);
    match rest {
        Some(rest) => put(place, rest, value),
        None => *place = value,
    }
}

fn action(action: &Action) -> String {
    match action {
        Action::SetExtends(target) => format!("extend {target}"),
        Action::Calls(calls) => {
            let words = calls.iter().map(|call| {
                let word = call.params.get("action").and_then(Value::as_str).and_then(Control::from_word);
                match word.filter(|_| call.is_control()) {
                    Some(control) => control.word().to_owned(),
                    None => format!("{} {}", call.kind, call.id),
                }
            });
            words.collect::<Vec<_>>().join(", ")
        }
    }
}

fn write_hook(output: &mut impl Write, line: &HookLine<'_>) -> io::Result<()> {
    let mark = if line.decides {
        "→"
    } else if line.holds {
        "✓"
    } else {
        "·"
    };
    let (id, action) = (line.id, &line.action);
    writeln!(output, "{mark} {:<20} {:>3}  {id}: {action}  ({}:{})", line.event, line.layer, line.file, line.line)?;
    if let Some(note) = &line.note {
        writeln!(output, "      {note}")?;
    }
    for saw in &line.saw {
        let sign = if saw.holds { "✓" } else { "✗" };
        writeln!(output, "      {sign} {}", &saw.to_string())?;
    }
    Ok(())
}
