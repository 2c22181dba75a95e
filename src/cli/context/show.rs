//! `levain context show`.

use super::Draft;
use super::subject::{Commands, Planned, planned, side, stored};
use crate::app::requests;
use crate::cli::check::ProblemLine;
use crate::cli::failure::{Failure, written};
use crate::cli::{Common, find, runtime};
use crate::context::diff::Side;
use crate::context::gauge::Gauge;
use crate::context::tree;
use crate::context::words::{conversation, kind, origin, part_of};
use crate::domain::capability::flattened;
use crate::domain::{
    Decision, Grant, Layer, LayerKind, Message, ModelRef, Money, SentBody, Tokens, ToolSpec, Usage, WireForm,
};
use crate::engine::driver::ModelRegistry;
use crate::ports::CallRequest;
use crate::session::Setup;
use crate::session::people::{err, json_line, out};
use crate::tools;
use clap::{Args, ValueEnum};
use serde::Serialize;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

#[derive(Debug, Args)]
pub(super) struct ShowArguments {
    /// The directive; by default the one that levain opens
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
    /// Let the provider count the tokens; this is free, but sends it the request
    #[arg(long, conflicts_with = "wire")]
    count: bool,
    /// One JSON object
    #[arg(long, group = "form")]
    json: bool,
    /// The whole text, layer by layer
    #[arg(long, group = "form")]
    text: bool,
    /// The body as it is sent; without FORM, in the form that its model uses
    #[arg(long, value_name = "FORM", group = "form", num_args = 0..=1, default_missing_value = "own")]
    wire: Option<Wire>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Wire {
    /// The form in which it was sent, or that its model uses
    Own,
    Anthropic,
    /// Chat Completions of the vendor
    Openai,
    /// Chat Completions of compatible servers
    Compatible,
    /// Responses
    Responses,
    Gemini,
}

impl Wire {
    fn form(self) -> Option<WireForm> {
        Some(match self {
            Self::Own => return None,
            Self::Anthropic => WireForm::Anthropic,
            Self::Openai => WireForm::OpenAi,
            Self::Compatible => WireForm::Compatible,
            Self::Responses => WireForm::Responses,
            Self::Gemini => WireForm::Gemini,
        })
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
    /// The same with the tools they reach, a line each.
    capability_tree: Vec<String>,
    /// The riskiest of that, where it calls for anything.
    risk: Option<String>,
    model: &'a ModelRef,
    tokens: Tokens,
    window: Option<Tokens>,
    /// What earlier requests say about the estimate.
    gauge: Option<Gauge>,
    /// What the provider counted, where it was asked.
    counted: Option<Tokens>,
    /// What sending it costs before anything is answered, in millionths of a dollar.
    spend: Option<Money>,
    layers: Vec<LayerShown<'a>>,
    system: &'a str,
    messages: &'a [Message],
    problems: Vec<ProblemLine>,
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
        let folded = requests::fold(&setup, &thread).map_err(Failure::new)?;
        let capabilities = folded.permissions.grants.as_slice();
        let capability_tree = tree(capabilities, side.layers.iter(), tools::capabilities);
        let risk = riskiest(&setup, capabilities);
        let mut shown = ContextShown { request: Some(name), capabilities, capability_tree, risk, ..shown };
        let most = stored.record.max_output_tokens;
        return print(&setup, arguments, &mut shown, &side, (most, stored.record.sent.as_ref()), None);
    }
    let directive = setup.directive().to_owned();
    let planned = planned(&setup, &directive, &arguments.draft, Commands::Asked)?;
    let side = Side::from(&planned.assembly);
    let mut shown = ContextShown {
        directive: Some(&planned.plan.directive),
        chain: &planned.plan.chain,
        routed_by: planned.plan.routed_by.as_deref(),
        capabilities: &planned.plan.capabilities,
        capability_tree: tree(&planned.plan.capabilities, side.layers.iter(), tools::capabilities),
        risk: planned.plan.riskiest.as_ref().map(ToString::to_string),
        problems: planned.problems.iter().cloned().map(ProblemLine::from).collect(),
        ..shown(&setup, &side, &planned.model)
    };
    let most = setup.models.max_output(&planned.model);
    print(&setup, arguments, &mut shown, &side, (most, None), Some(&planned))?;
    for problem in &planned.problems {
        let _closed = writeln!(err(), "{}: {problem}", problem.severity.word());
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
        capability_tree: Vec::new(),
        risk: None,
        model,
        tokens: side.tokens(),
        window: setup.models.window(model),
        gauge: setup.gauge(model),
        counted: None,
        spend: None,
        layers: side.layers.iter().zip(&side.texts).map(|(layer, text)| LayerShown { layer, text }).collect(),
        system: &side.system,
        messages: &side.messages,
        problems: Vec::new(),
    }
}

impl ContextShown<'_> {
    /// How many tokens it is: the same estimate as on the screen, unless the provider counted.
    fn size(&self) -> Tokens {
        self.counted.unwrap_or(self.tokens)
    }
}

/// The riskiest of what a thread may do, as that was judged when it began.
fn riskiest(setup: &Setup, grants: &[Grant]) -> Option<String> {
    let place = |level: &str| setup.risks.levels().position(|known| known == level);
    let risky = grants.iter().rev().filter_map(|grant| Some((grant.risk.as_deref()?, &grant.capability)));
    let (level, capability) = risky.max_by_key(|(level, _)| place(level))?;
    Some(format!("{level}: {capability}"))
}

/// Asks the provider of the model for the number of tokens.
fn count(setup: &Setup, call: CallRequest, model: &ModelRef) -> Result<Tokens, Failure> {
    let provider = setup.models.provider(model).map_err(Failure::new)?;
    let Some(counting) = provider.count(call) else {
        let hint = "Anthropic and Gemini count without answering; leave out --count for an estimate";
        return Err(Failure::usage(format!("{} has no way to count without answering", model.provider)).hint(hint));
    };
    runtime()?.block_on(counting).map_err(|error| Failure::new(error.message))
}

fn print(
    setup: &Setup,
    arguments: &ShowArguments,
    shown: &mut ContextShown<'_>,
    side: &Side,
    (most, sent): (u64, Option<&SentBody>),
    planned: Option<&Planned>,
) -> Result<ExitCode, Failure> {
    if arguments.count {
        let call = requests::call(setup, side, shown.model, most)?;
        shown.counted = Some(count(setup, call, shown.model)?);
    }
    shown.spend = setup.models.spend(shown.model, &Usage { input: shown.size(), ..Usage::default() });
    let mut output = io::BufWriter::new(out());
    if let Some(wire) = arguments.wire {
        let call = requests::call(setup, side, shown.model, most)?;
        let mut body = requests::wire_body(setup, &call, shown.model, sent, wire.form()).map_err(Failure::new)?;
        if let Some(planned) = planned.filter(|_| body.form == setup.models.form(shown.model)) {
            let payload = planned.previewed.payload(Arc::clone(&planned.handlers), true, &body.bytes);
            body.bytes = runtime()?.block_on(payload).map_or(body.bytes, String::into_bytes);
        }
        if body.is_sent == Some(false) {
            let note = "this is not what was sent: this version of levain writes the request otherwise";
            // Without a standard error there is nobody to tell.
            let _closed = writeln!(err(), "warning: {note}");
        }
        written(output.write_all(&body.bytes).and_then(|()| output.write_all(b"\n")).and_then(|()| output.flush()))?;
    } else if arguments.json {
        written(json_line(&mut output, &*shown).and_then(|()| output.flush()))?;
    } else {
        written(write_layers(&mut output, shown, arguments.text).and_then(|()| output.flush()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn write_layers(output: &mut impl Write, shown: &ContextShown<'_>, whole: bool) -> io::Result<()> {
    let name = shown.request.as_deref().or(shown.directive).unwrap_or_default();
    let size = shown.size();
    let about = if shown.counted.is_some() { "" } else { "~" };
    write!(output, "{name} · {} · {about}{} tokens", shown.model, size.0)?;
    if let Some((window, percent)) = shown.window.and_then(|window| Some((window, size.percent_of(window)?))) {
        write!(output, " of {window}, {percent} %")?;
    }
    match (shown.counted, shown.gauge) {
        (Some(_), _) => write!(output, " (counted by the provider; estimated ~{})", shown.tokens.0)?,
        (None, Some(gauge)) => {
            let Gauge { error_percent, requests, .. } = gauge;
            let reported = gauge.corrected(shown.tokens).0;
            let of =
                if requests == 1 { "1 earlier request".to_owned() } else { format!("{requests} earlier requests") };
            write!(output, " (estimated; ~{reported} ± {error_percent} % by what was reported for {of})")?;
        }
        (None, None) => write!(output, " (estimated)")?,
    }
    match shown.spend.filter(|spend| *spend > Money::ZERO) {
        Some(spend) => writeln!(output, " · {about}{spend} to send")?,
        None => writeln!(output)?,
    }
    if shown.chain.len() > 1 {
        write!(output, "extends {}", shown.chain.join(" → "))?;
        if let Some(hook) = shown.routed_by {
            write!(output, ", chosen by the hook {hook}")?;
        }
        writeln!(output)?;
    }
    if let Some(risk) = &shown.risk {
        writeln!(output, "risk {risk}")?;
    }
    for (number, line) in shown.capability_tree.iter().enumerate() {
        writeln!(output, "{}{}", if number == 0 { "may " } else { "    " }, line)?;
    }
    let mut part = String::new();
    for LayerShown { layer, text } in &shown.layers {
        let here = part_of(layer.channel);
        if here != part {
            writeln!(output, "\n{here}")?;
            part = here;
        }
        let origin = origin(&layer.origin);
        let name = renamed(layer, text).map(|name| format!(" as {name}")).unwrap_or_default();
        let (kind, id) = (kind(layer.kind), format!("{}{}", &layer.id, &name));
        match &layer.decision {
            Decision::Included => {
                writeln!(output, "{:>8}  {kind:<13} {id}  {}", format!("~{}", layer.tokens.count.0), &origin)?;
                if whole {
                    let said = conversation(layer, shown.messages.iter());
                    writeln!(output, "{}\n", said.as_deref().unwrap_or(text))?;
                }
            }
            Decision::Skipped { absence } => {
                let size = layer.tokens.count.0;
                let size = if size == 0 { "–".to_owned() } else { format!("(~{size})") };
                writeln!(output, "{size:>8}  {kind:<13} {id}  left out: {absence}")?;
                if whole && !text.is_empty() {
                    writeln!(output, "{text}\n")?;
                }
            }
        }
    }
    Ok(())
}

/// The name a tool is offered by, where another tool has the name its id would give.
fn renamed(layer: &Layer, text: &str) -> Option<String> {
    let spec: ToolSpec = serde_json::from_str(text).ok().filter(|_| layer.kind == LayerKind::ToolSchema)?;
    (spec.name != flattened(&layer.id)).then_some(spec.name)
}
