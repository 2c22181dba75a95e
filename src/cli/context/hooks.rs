//! `levain context hooks`: every hook of a directive, what its condition saw, and what they answer together.

use super::Draft;
use super::subject::{chosen, start};
use crate::app::people::{json_line, out};
use crate::app::{Briefing, Setup};
use crate::cli::Common;
use crate::cli::failure::{Failure, written};
use crate::context::condition::judge;
use crate::context::control::decide;
use crate::domain::Saw;
use crate::items::Hook;
use crate::items::directive::Values;
use crate::items::hook::{Action, Control, events};
use clap::Args;
use serde::Serialize;
use serde_json::{Map, Value};
use std::io::{self, Write};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(super) struct HooksArguments {
    /// The directive; the one a bare levain opens when left out
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
}

pub(super) fn run(common: &Common, arguments: &HooksArguments) -> Result<ExitCode, Failure> {
    let setup = Setup::gather(common.project.as_deref(), common.arguments(arguments.directive.clone()))?;
    if let Some(event) = arguments.event.as_deref().filter(|event| !events().any(|known| known == *event)) {
        let known: Vec<_> = events().collect();
        return Err(Failure::usage(format!("there is no event `{event}`")).hint(known.join(", ")));
    }
    let inputs: Values = arguments.draft.input.iter().cloned().collect();
    let briefing = Briefing::prepare(&setup, setup.directive(), Some(inputs.clone()))?;
    let (chosen, _told_elsewhere) = chosen(&setup, &setup.items(), setup.directive());
    let plan = briefing.planned(&start(&setup, chosen.model, briefing.limits, &arguments.draft))?;
    let mut fields = plan.fields.clone();
    for (path, value) in &arguments.field {
        put(&mut fields, path, serde_json::from_str(value).unwrap_or_else(|_error| value.as_str().into()));
    }
    let mut output = io::BufWriter::new(out());
    let wanted = |hook: &&Hook| arguments.event.as_ref().is_none_or(|event| *event == hook.event);
    for hook in plan.hooks.iter().filter(wanted) {
        let decided = decide(&plan.hooks, &hook.event, &fields, &inputs);
        let verdict = judge(&hook.condition, &fields);
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
            decides: decided.by.as_ref() == Some(&hook.id),
        };
        written(if arguments.json { json_line(&mut output, &line) } else { write_hook(&mut output, &line) })?;
    }
    if let (false, Some(event)) = (arguments.json, &arguments.event) {
        let decided = decide(&plan.hooks, event, &fields, &inputs);
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
    for saw in &line.saw {
        let sign = if saw.holds { "✓" } else { "✗" };
        writeln!(output, "      {sign} {}", &saw.to_string())?;
    }
    Ok(())
}
