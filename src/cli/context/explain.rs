//! `levain context explain`.

use super::Draft;
use super::subject::{Commands, planned};
use crate::cli::Common;
use crate::cli::failure::{Failure, written};
use crate::context::Plan;
use crate::context::diff::Side;
use crate::context::words::{kind, origin};
use crate::domain::capability::to_execute;
use crate::domain::{Decision, Layer, Origin, Via};
use crate::items::hook::{Action, CONTROL_EVENTS};
use crate::items::{Hook, Items, Kind, is_same};
use crate::session::Setup;
use crate::session::people::{json_line, out};
use crate::tools;
use clap::Args;
use serde::Serialize;
use std::io::{self, Write};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(super) struct ExplainArguments {
    /// An item's id, a hook's id, or a file
    #[arg(value_name = "ITEM")]
    item: String,
    /// The directive; by default the one that levain opens
    #[arg(long, value_name = "ID")]
    directive: Option<String>,
    #[command(flatten)]
    draft: Draft,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

/// `--json`.
#[derive(Serialize)]
struct Explanation<'a> {
    schema: &'static str,
    item: &'a str,
    directive: &'a str,
    included: bool,
    /// Every layer that goes by the name.
    layers: Vec<&'a Layer>,
    /// Hooks of that id, or that would bring the item along, and what became of them, where no layer says it.
    hooks: Vec<HookTold>,
    /// Why there is none.
    absent: Option<String>,
}

#[derive(Serialize)]
struct HookTold {
    id: String,
    event: String,
    file: String,
    line: u32,
    /// What became of it, in words.
    message: String,
}

pub(super) fn run(common: &Common, arguments: &ExplainArguments) -> Result<ExitCode, Failure> {
    let setup = Setup::gather(common.project.as_deref(), common.arguments(arguments.directive.clone()))?;
    let directive = setup.directive().to_owned();
    let planned = planned(&setup, &directive, &arguments.draft, Commands::Unasked)?;
    let side = Side::from(&planned.assembly);
    let layers: Vec<&Layer> = side.layers.iter().filter(|layer| is_named(layer, &arguments.item)).collect();
    let hooks = hooks(&planned.plan, &layers, &arguments.item, arguments.draft.continues.is_some());
    let absent = (layers.is_empty() && hooks.is_empty()).then(|| absent(&setup.items(), &arguments.item, &directive));
    let included = layers.iter().any(|layer| layer.decision == Decision::Included);
    let explanation = Explanation {
        schema: "levain.explanation/1",
        item: &arguments.item,
        directive: &directive,
        included,
        layers,
        hooks,
        absent,
    };
    let mut output = out();
    written(if arguments.json {
        json_line(&mut output, &explanation)
    } else {
        write_words(&mut output, &explanation)
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Whether a layer goes by this name: its own, its item's, its hook's, its file's.
fn is_named(layer: &Layer, name: &str) -> bool {
    let origin = match &layer.origin {
        Origin::Item { id, path, via, .. } => {
            is_same(id, name) || path == name || matches!(via, Some(Via::Hook { id, .. }) if id == name)
        }
        Origin::File { path, .. } => path == name,
        Origin::Provider { name: provider } => provider == name,
        Origin::Handler { handler, .. } => handler == name,
        Origin::User | Origin::Thread | Origin::OtherThread { .. } => false,
    };
    layer.id == name || origin
}

/// What became of the hooks that go by a name and brought no layer. Those that would bring an item of that name count only
/// where nothing else did.
fn hooks(plan: &Plan, layers: &[&Layer], name: &str, continues: bool) -> Vec<HookTold> {
    let brings = |hook: &Hook| layers.is_empty() && hook.names().any(|other| is_same(other, name));
    let extends =
        |hook: &Hook| matches!(&hook.action, Action::SetExtends(target) if layers.is_empty() && target == name);
    let goes = |hook: &&Hook| hook.id == name || brings(hook) || extends(hook);
    let has_layer = |hook: &Hook| {
        layers.iter().any(|layer| {
            let Origin::Item { via: Some(Via::Hook { file, line, .. }), .. } = &layer.origin else { return false };
            *line == hook.lines.0 && *file == hook.file.display().to_string()
        })
    };
    let told = |hook: &Hook, message: String| HookTold {
        id: hook.id.clone(),
        event: hook.event.clone(),
        file: hook.file.display().to_string(),
        line: hook.lines.0,
        message,
    };
    let asked = plan.hooks.iter().filter(goes).filter(|hook| !has_layer(hook)).map(|hook| {
        let event = hook.event.as_str();
        let message = if let Some(route) = plan.routes.iter().find(|route| route.is_of(hook)) {
            route.to_string()
        } else if CONTROL_EVENTS.contains(&event) {
            format!("is asked at {event} and adds no layer; levain context hooks --event {event} shows its answer")
        } else if continues {
            format!("is asked at {event}, but this thread continues another one")
        } else {
            format!("is asked at {event}, but this thread continues no other (--continues ID)")
        };
        told(hook, message)
    });
    let off = plan.disabled.iter().filter(goes).map(|hook| told(hook, "is switched off (enabled: false)".to_owned()));
    asked.chain(off).collect()
}

/// Why nothing goes by a name.
fn absent(items: &Items, name: &str, directive: &str) -> String {
    let tool = items.get(Kind::Tool, name).is_some() || tools::ids().any(|id| id == name);
    if tool && items.get(Kind::Knowledge, name).is_none() {
        return format!("it is a tool, but no permission of `{directive}` grants {}", to_execute(name));
    }
    match items.find(Kind::Knowledge, name) {
        Ok(_) => format!(
            "it exists, but nothing adds it: neither `{directive}` nor what that extends names it in <context>, and no hook adds it"
        ),
        Err(missing) if items.get(Kind::Directive, name).is_none() => missing.to_string(),
        Err(_) => format!("it is a directive, and `{directive}` does not extend it"),
    }
}

fn write_words(output: &mut impl Write, explanation: &Explanation<'_>) -> io::Result<()> {
    let item = explanation.item;
    let word = if explanation.included { "is in" } else { "is not in" };
    writeln!(output, "{item} {word} the context of {}", explanation.directive)?;
    for layer in &explanation.layers {
        let origin = origin(&layer.origin);
        let origin = &origin;
        match &layer.decision {
            Decision::Included => {
                writeln!(output, "  + {:<13} ~{} tokens, from {origin}", kind(layer.kind), layer.tokens.count.0)?;
            }
            Decision::Skipped { absence } => {
                writeln!(output, "  – {:<13} {}; from {origin}", kind(layer.kind), &absence.to_string())?;
            }
        }
    }
    for HookTold { id, event, file, line, message } in &explanation.hooks {
        writeln!(output, "  · hook {id} ({event}, {file}:{line}): {message}")?;
    }
    if let Some(absent) = &explanation.absent {
        writeln!(output, "  {absent}")?;
    }
    Ok(())
}
