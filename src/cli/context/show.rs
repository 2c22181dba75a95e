//! `levain context show`.

use super::Draft;
use super::subject::{call, planned, side, stored, tokens};
use crate::app::Setup;
use crate::cli::check::Told;
use crate::cli::failure::{Failure, written};
use crate::cli::text::{harmless, json_line};
use crate::cli::{Common, find};
use crate::context::diff::Side;
use crate::context::words::{kind, origin, part_of};
use crate::domain::{Decision, Grant, Layer, Message, ModelRef, Tokens};
use crate::engine::driver::Outside;
use crate::providers::preview::{self, Form};
use clap::{Args, ValueEnum};
use serde::Serialize;
use std::io::{self, Write};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(super) struct ShowArguments {
    /// The directive; the one a bare levain opens when left out
    #[arg(value_name = "DIRECTIVE", conflicts_with = "thread")]
    directive: Option<String>,
    #[command(flatten)]
    draft: Draft,
    /// A thread's request instead
    #[arg(long, value_name = "ID")]
    thread: Option<String>,
    /// The request of this turn instead of the newest
    #[arg(long, value_name = "N", requires = "thread")]
    turn: Option<u32>,
    /// The request of this number instead of the newest
    #[arg(long, value_name = "N", requires = "thread")]
    request: Option<u32>,
    /// One JSON object
    #[arg(long, group = "form")]
    json: bool,
    /// The whole text, layer by layer
    #[arg(long, group = "form")]
    text: bool,
    /// The body as it goes over the wire
    #[arg(long, value_name = "FORM", group = "form")]
    wire: Option<Wire>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Wire {
    Anthropic,
    /// Chat Completions of the vendor
    Openai,
    /// Chat Completions of compatible servers
    Compatible,
    /// Responses
    Responses,
    Gemini,
}

impl From<Wire> for Form {
    fn from(wire: Wire) -> Self {
        match wire {
            Wire::Anthropic => Self::Anthropic,
            Wire::Openai => Self::OpenAi,
            Wire::Compatible => Self::Compatible,
            Wire::Responses => Self::Responses,
            Wire::Gemini => Self::Gemini,
        }
    }
}

/// `--json`.
#[derive(Serialize)]
struct ContextShown<'a> {
    schema: &'static str,
    /// `THREAD#NUMBER` of a request that was sent.
    request: Option<String>,
    directive: Option<&'a str>,
    /// Root first; empty for a request that was sent.
    chain: &'a [String],
    routed_by: Option<&'a str>,
    capabilities: &'a [Grant],
    model: &'a ModelRef,
    tokens: Tokens,
    window: Option<Tokens>,
    layers: Vec<LayerShown<'a>>,
    system: &'a str,
    messages: &'a [Message],
    problems: Vec<Told>,
}

#[derive(Serialize)]
struct LayerShown<'a> {
    #[serde(flatten)]
    layer: &'a Layer,
    text: &'a str,
}

pub(super) fn run(common: &Common, arguments: &ShowArguments) -> Result<ExitCode, Failure> {
    let setup = Setup::gather(common.project.as_deref(), common.arguments(arguments.directive.clone()))?;
    if let Some(thread) = &arguments.thread {
        let thread = find::thread(&setup, thread)?;
        let stored = stored(&setup, &thread, arguments.turn, arguments.request)?;
        let name = format!("{thread}#{}", stored.record.number);
        let side = side(&stored);
        let shown = shown(&setup, &side, &stored.record.model);
        return print(&setup, arguments, &ContextShown { request: Some(name), ..shown }, &side);
    }
    let directive = setup.directive().to_owned();
    let planned = planned(&setup, &directive, &arguments.draft)?;
    let side = Side::from(&planned.assembly);
    let shown = ContextShown {
        directive: Some(&planned.plan.directive),
        chain: &planned.plan.chain,
        routed_by: planned.plan.routed_by.as_deref(),
        capabilities: &planned.plan.capabilities,
        problems: planned.plan.problems.iter().cloned().map(Told::from).collect(),
        ..shown(&setup, &side, &planned.model)
    };
    print(&setup, arguments, &shown, &side)?;
    for problem in &planned.plan.problems {
        let _closed = writeln!(io::stderr(), "{}: {problem}", problem.severity.word());
    }
    Ok(ExitCode::SUCCESS)
}

fn shown<'a>(setup: &Setup, side: &'a Side, model: &'a ModelRef) -> ContextShown<'a> {
    ContextShown {
        schema: "levain.context/1",
        request: None,
        directive: None,
        chain: &[],
        routed_by: None,
        capabilities: &[],
        model,
        tokens: tokens(side),
        window: setup.models.window(model),
        layers: side.layers.iter().zip(&side.texts).map(|(layer, text)| LayerShown { layer, text }).collect(),
        system: &side.system,
        messages: &side.messages,
        problems: Vec::new(),
    }
}

fn print(setup: &Setup, arguments: &ShowArguments, shown: &ContextShown<'_>, side: &Side) -> Result<ExitCode, Failure> {
    let mut output = io::BufWriter::new(io::stdout().lock());
    if let Some(wire) = arguments.wire {
        let body =
            preview::body(wire.into(), &call(setup, side, shown.model)).map_err(|error| Failure::new(error.message))?;
        written(output.write_all(&body).and_then(|()| output.write_all(b"\n")).and_then(|()| output.flush()))?;
    } else if arguments.json {
        written(json_line(&mut output, shown).and_then(|()| output.flush()))?;
    } else {
        written(write_layers(&mut output, shown, arguments.text).and_then(|()| output.flush()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn write_layers(output: &mut impl Write, shown: &ContextShown<'_>, whole: bool) -> io::Result<()> {
    let name = shown.request.as_deref().or(shown.directive).unwrap_or_default();
    write!(output, "{name} · {} · ~{} tokens", shown.model, shown.tokens.0)?;
    if let Some(window) = shown.window {
        write!(output, " of {window}")?;
    }
    writeln!(output, " (estimated)")?;
    if shown.chain.len() > 1 {
        write!(output, "extends {}", shown.chain.join(" → "))?;
        if let Some(hook) = shown.routed_by {
            write!(output, ", chosen by the hook {hook}")?;
        }
        writeln!(output)?;
    }
    let mut part = String::new();
    for LayerShown { layer, text } in &shown.layers {
        let here = part_of(layer.channel);
        if here != part {
            writeln!(output, "\n{here}")?;
            part = here;
        }
        let origin = origin(&layer.origin);
        let (kind, id) = (kind(layer.kind), harmless(&layer.id));
        match &layer.decision {
            Decision::Included => {
                writeln!(
                    output,
                    "{:>8}  {kind:<13} {id}  {}",
                    format!("~{}", layer.tokens.count.0),
                    harmless(&origin)
                )?;
                if whole {
                    writeln!(output, "{}\n", harmless(text))?;
                }
            }
            Decision::Skipped { absence } => {
                writeln!(output, "{:>8}  {kind:<13} {id}  left out: {}", "–", harmless(&absence.to_string()))?;
            }
        }
    }
    Ok(())
}
