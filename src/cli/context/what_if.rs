//! `levain context what-if` and `levain context bisect`: a request that was sent, with layers left out or changed.

use super::compare::write_difference;
use super::subject::{side, stored};
use crate::app::requests;
use crate::cli::failure::{Failure, code, written};
use crate::cli::{Common, find, runtime};
use crate::context::diff::{Side, difference};
use crate::context::what_if::{Bisection, Outcome, WhatIf, can_change, changed, named};
use crate::context::words::kind;
use crate::domain::{LayerChange, LayerKind, ModelRef, Money, Usage};
use crate::engine::driver::ModelRegistry as _;
use crate::ports::ProviderEvent;
use crate::session::people::{err, json_line, out};
use crate::session::{self, Setup};
use clap::Args;
use futures_util::StreamExt as _;
use serde_json::json;
use std::fmt::Write as _;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::process::{Command, ExitCode, Stdio};

#[derive(Debug, Args)]
pub(super) struct WhatIfArguments {
    /// The request, as THREAD#NUMBER
    #[arg(value_name = "THREAD#N")]
    request: String,
    /// Leave this layer out, by its id or as #NUMBER; may be given several times
    #[arg(long, value_name = "LAYER")]
    without: Vec<String>,
    /// Put the text of a file in the place of a layer; may be given several times
    #[arg(long, value_name = "LAYER=FILE")]
    with: Vec<String>,
    /// Send it and print the answer; it is part of no thread
    #[arg(long)]
    send: bool,
    /// Make a fork whose requests are like that, before the prompt that led to the request
    #[arg(long, conflicts_with = "send")]
    fork: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub(super) struct BisectArguments {
    /// The request, as THREAD#NUMBER
    #[arg(value_name = "THREAD#N")]
    request: String,
    /// A command that gets an answer on its input and says by its exit code what it finds
    #[arg(long, value_name = "CMD")]
    check: String,
    /// Only among these layers, by their ids; all but the prompt without
    #[arg(long, value_name = "LAYER")]
    among: Vec<String>,
    /// Spend at most this many dollars
    #[arg(long, value_name = "DOLLARS", value_parser = crate::cli::dollars)]
    spend: Option<Money>,
    /// Begin without asking; required without a terminal
    #[arg(long, short = 'y')]
    yes: bool,
    /// Only say how many requests it takes at most, and what they may cost
    #[arg(long, conflicts_with = "yes")]
    plan: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

/// A request that was sent, with what it takes to send one like it.
struct Sent {
    side: Side,
    model: ModelRef,
    most: u64,
}

fn sent(setup: &Setup, common: &Common, name: &str) -> Result<Sent, Failure> {
    let (thread, number) = name.rsplit_once('#').map_or((name, None), |(thread, number)| (thread, Some(number)));
    let number = number.map(str::parse).transpose().map_err(|_error| {
        Failure::usage(format!("`{name}` names no request"))
            .hint("write it as THREAD#NUMBER, such as chat-1700000000000#2")
    })?;
    let stored = stored(setup, &find::thread(setup, thread)?, None, number)?;
    let model = if common.model.is_some() { setup.model() } else { stored.record.model.clone() };
    Ok(Sent { side: side(&stored), model, most: stored.record.max_output_tokens })
}

fn places(side: &Side, name: &str) -> Result<Vec<usize>, Failure> {
    let found = named(side, name);
    if found.is_empty() {
        let there = side.layers.iter().filter(|layer| can_change(layer)).map(|layer| layer.id.as_str());
        let near = crate::domain::nearest(name, there).map(|near| format!("did you mean `{near}`?"));
        let failure = Failure::usage(format!("no layer `{name}` of the request can be changed"));
        return Err(match near {
            Some(near) => failure.hint(near),
            None => failure.hint("levain context show --thread ID --json lists the layers"),
        });
    }
    Ok(found)
}

/// Sends a request, and reads its whole answer.
fn ask(setup: &Setup, side: &Side, sent: &Sent) -> Result<(String, Option<Money>), Failure> {
    let call = requests::call(setup, side, &sent.model, sent.most)?;
    let provider = setup.models.provider(&sent.model).map_err(Failure::new)?;
    let (mut text, mut usage) = (String::new(), Usage::default());
    runtime()?.block_on(async {
        let mut stream = provider.call(call);
        while let Some(event) = stream.next().await {
            match event.map_err(|error| Failure::new(error.message))? {
                ProviderEvent::Text(piece) => text.push_str(&piece),
                ProviderEvent::ToolCallStarted { tool, .. } => {
                    let _never_fails = write!(text, "\n[calls {tool}] ");
                }
                ProviderEvent::ToolInput { partial_json, .. } => text.push_str(&partial_json),
                ProviderEvent::Usage(now) => usage = now,
                ProviderEvent::Finished(_) => break,
                ProviderEvent::Thinking(_)
                | ProviderEvent::ThinkingSignature(_)
                | ProviderEvent::RedactedThinking(_) => {}
            }
        }
        Ok::<(), Failure>(())
    })?;
    Ok((text, setup.models.spend(&sent.model, &usage)))
}

pub(super) fn what_if(common: &Common, arguments: &WhatIfArguments) -> Result<ExitCode, Failure> {
    let setup = Setup::gather(common.project.as_deref(), common.arguments(None))?;
    let sent = sent(&setup, common, &arguments.request)?;
    let mut what_if = WhatIf::default();
    for name in &arguments.without {
        what_if.texts.extend(places(&sent.side, name)?.into_iter().map(|place| (place, None)));
    }
    for with in &arguments.with {
        let (name, file) = with.split_once('=').ok_or_else(|| Failure::usage(format!("`{with}` is not LAYER=FILE")))?;
        let text = std::fs::read_to_string(file)
            .map_err(|error| Failure::usage(format!("{file} could not be read: {error}")))?;
        what_if.texts.extend(places(&sent.side, name)?.into_iter().map(|place| (place, Some(text.clone()))));
    }
    if arguments.fork {
        return fork(&setup, common, arguments, &sent, &what_if);
    }
    let now = changed(&sent.side, &what_if);
    let difference = difference(&sent.side, &now);
    let cost = setup.models.spend(&sent.model, &Usage { input: now.tokens(), ..Usage::default() });
    let answer = if arguments.send { Some(ask(&setup, &now, &sent)?) } else { None };
    let mut output = io::BufWriter::new(out());
    if arguments.json {
        let line = json!({
            "schema": "levain.what_if/1",
            "request": arguments.request,
            "model": sent.model,
            "difference": difference,
            "spend": cost,
            "system": now.system,
            "messages": now.messages,
            "answer": answer.as_ref().map(|(text, _)| text),
        });
        written(json_line(&mut output, &line).and_then(|()| output.flush()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let cost = cost.filter(|cost| *cost > Money::ZERO).map(|cost| format!(" · ~{cost} to send")).unwrap_or_default();
    written(writeln!(output, "{} as if · {} · {}{cost}", arguments.request, sent.model, difference.in_short()))?;
    written(write_difference(&mut output, &difference, &|_, _| None))?;
    if let Some((text, spend)) = answer {
        let spend = spend.map(|spend| format!(" · {spend}")).unwrap_or_default();
        written(writeln!(output, "\nthe answer{spend}:\n{text}"))?;
    }
    written(output.flush())?;
    Ok(ExitCode::SUCCESS)
}

/// Makes the fork in which such requests are sent.
fn fork(
    setup: &Setup,
    common: &Common,
    arguments: &WhatIfArguments,
    sent: &Sent,
    what_if: &WhatIf,
) -> Result<ExitCode, Failure> {
    let mut changes = Vec::new();
    for (place, text) in &what_if.texts {
        let Some(layer) = sent.side.layers.get(*place) else { continue };
        if !layer.kind.is_planned() {
            let why = format!("`{}` stays in a fork: it is made for each call, or was said", layer.id);
            return Err(Failure::usage(why).hint("--send asks once, without a fork"));
        }
        changes.push(LayerChange { id: layer.id.clone(), text: text.clone() });
    }
    let (from, until) = find::place(setup, &arguments.request)?;
    let model = common.model.is_some().then(|| sent.model.clone());
    let made = session::fork(setup, &from, until, model, changes).map_err(Failure::new)?;
    let mut output = out();
    if arguments.json {
        let line = json!({"schema": "levain.fork/1", "thread_id": made.id, "from": from});
        written(json_line(&mut output, &line))?;
    } else {
        written(writeln!(output, "{} is a fork of {from}", made.id))?;
        let prompt = made.prompt.map(|left| left.text).unwrap_or_default();
        let _closed = writeln!(
            err(),
            "hint: levain --continue {} and say: {}",
            made.id,
            prompt.lines().next().unwrap_or_default()
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// What the check finds in an answer: its exit code.
fn check(setup: &Setup, command: &str, answer: &str, quiet: bool) -> Result<i32, Failure> {
    let failed = |error: io::Error| Failure::new(format!("`{command}` could not be run: {error}"));
    let mut child = Command::new("sh")
        .args(["-c", command])
        .current_dir(&setup.project.root)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(if quiet { Stdio::null() } else { Stdio::inherit() })
        .spawn()
        .map_err(failed)?;
    if let Some(mut input) = child.stdin.take() {
        // Who does not read it may still answer.
        let _closed = input.write_all(answer.as_bytes());
    }
    let status = child.wait().map_err(failed)?;
    status
        .code()
        .filter(|code| *code < 125)
        .ok_or_else(|| Failure::new(format!("`{command}` could not be run: {status}")))
}

pub(super) fn bisect(common: &Common, arguments: &BisectArguments) -> Result<ExitCode, Failure> {
    let setup = Setup::gather(common.project.as_deref(), common.arguments(None))?;
    let sent = sent(&setup, common, &arguments.request)?;
    let mut suspects: Vec<usize> = Vec::new();
    for name in &arguments.among {
        suspects.extend(places(&sent.side, name)?);
    }
    if arguments.among.is_empty() {
        let layers = sent.side.layers.iter().enumerate();
        let counts = |kind: LayerKind| !matches!(kind, LayerKind::User | LayerKind::History);
        suspects.extend(layers.filter(|(_, layer)| can_change(layer) && counts(layer.kind)).map(|(place, _)| place));
    }
    let count = suspects.len();
    if count == 0 {
        return Err(Failure::usage("the request has no layers to look among"));
    }
    let most = Bisection::most_requests(count);
    let usage = Usage { input: sent.side.tokens(), output: crate::domain::Tokens(sent.most), ..Usage::default() };
    let each = setup.models.spend(&sent.model, &usage);
    let worst = each.map(|each| Money(each.0.saturating_mul(i64::from(most))));
    let told = worst.map_or_else(|| "of unknown price".to_owned(), |worst| format!("for {worst} at most"));
    let plan = format!("{most} requests to {} at most, {told}, to look among {count} layers", sent.model);
    if let Some(limit) = arguments.spend
        && each.is_none()
    {
        return Err(Failure::new(format!("the price of {} is not known, so {limit} cannot be kept to", sent.model))
            .hint("leave out --spend, or write prices into a provider file"));
    }
    if arguments.plan {
        let mut output = out();
        if arguments.json {
            let line = json!({
                "schema": "levain.bisect.plan/1", "request": arguments.request, "model": sent.model, "layers": count,
                "requests": most, "spend": worst, "told": plan,
            });
            written(json_line(&mut output, &line))?;
        } else {
            written(writeln!(output, "{plan}"))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.yes {
        let _closed = writeln!(err(), "{plan}");
    } else {
        let _closed = write!(err(), "{plan}. Begin? [y/N] ");
        let mut answer = String::new();
        let asks = io::stdin().is_terminal() && io::stdin().lock().read_line(&mut answer).is_ok();
        if !asks || !matches!(answer.trim(), "y" | "Y" | "yes") {
            let _closed = writeln!(err());
            return Err(Failure::usage("nothing was sent").hint("--yes begins without asking"));
        }
    }
    let (mut asked, mut paid) = (0_u32, Money::ZERO);
    let mut outcome = |without: &[usize]| -> Result<i32, Failure> {
        let limit = arguments.spend;
        if let Some((limit, each)) = limit.zip(each).filter(|(limit, each)| paid.0 + each.0 > limit.0) {
            return Err(Failure::new(format!(
                "stopped after {asked} requests for {paid}: another may cost {each}, and {limit} is the limit"
            )));
        }
        let texts = without.iter().map(|place| (*place, None)).collect();
        let (answer, spend) = ask(&setup, &changed(&sent.side, &WhatIf { texts }), &sent)?;
        asked += 1;
        paid += spend.unwrap_or(Money::ZERO);
        check(&setup, &arguments.check, &answer, arguments.json)
    };
    let whole = outcome(&[])?;
    let bare = outcome(&suspects)?;
    if whole == bare {
        let _closed = writeln!(
            err(),
            "the check says {whole} with all layers and without them: no layer of these makes the difference"
        );
        return Ok(ExitCode::from(code::ERROR));
    }
    let mut bisection = Bisection::among(suspects);
    while let Some(without) = bisection.next() {
        let now = outcome(without)?;
        let ids: Vec<&str> =
            without.iter().filter_map(|place| sent.side.layers.get(*place)).map(|one| one.id.as_str()).collect();
        let _closed = writeln!(err(), "without {}: {now}", ids.join(", "));
        bisection.tell(if now == whole { Outcome::Same } else { Outcome::Other });
    }
    let found: Vec<_> = bisection.suspects().iter().filter_map(|place| sent.side.layers.get(*place)).collect();
    let mut output = out();
    if arguments.json {
        let line = json!({
            "schema": "levain.bisect/1", "request": arguments.request, "with": whole, "without": bare,
            "layers": found, "requests": asked, "spend": paid,
        });
        written(json_line(&mut output, &line))?;
        return Ok(ExitCode::SUCCESS);
    }
    let together = if found.len() > 1 { " (only together)" } else { "" };
    for layer in found {
        let origin = crate::context::words::origin(&layer.origin);
        written(writeln!(output, "{} · {} · {origin}{together}", layer.id, kind(layer.kind)))?;
    }
    let _closed = writeln!(err(), "with it the check says {whole}, without it {bare}; {asked} requests, {paid}");
    Ok(ExitCode::SUCCESS)
}
