//! Requests for the context screen: as they were sent, and as the next would be.

use super::{Briefing, Setup, toolbox};
use crate::context::words::{kind, origin, part_of};
use crate::context::{Parts, Plan, Start, Surroundings, assemble, offer};
use crate::domain::{
    Assembly, Channel, Decision, Entry, Layer, Lifetime, Message, ModelRef, Origin, Role, Space, ThreadId, ThreadKind,
    Tokens,
};
use crate::engine::driver::{Outside, Planner};
use crate::engine::thread::{Thread, apply};
use crate::items::directive::Values;
use crate::items::{Items, Place};
use crate::store::thread::Summary;
use crate::store::{log, request};
use crate::workbench::{LayerRow, RequestShown};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

/// Request `number` of a thread, or its newest.
///
/// # Errors
/// The sentence a person should read.
pub(super) fn stored(setup: &Setup, thread: &ThreadId, number: Option<u32>) -> Result<RequestShown, String> {
    let text = |error: crate::ports::StoreError| error.to_string();
    let numbers: Vec<u32> =
        request::numbers(&setup.layout, thread).map_err(text)?.into_iter().map(|(number, _)| number).collect();
    let Some(found) = number.or(numbers.last().copied()) else {
        return Err("this thread has sent nothing yet; Ctrl+P shows what it would send".to_owned());
    };
    let stored = request::read(&setup.layout, thread, found).map_err(text)?;
    let record = &stored.record;
    let texts = stored.texts.iter().map(String::as_str);
    let mut shown = shown(setup, &record.model, &record.layers, texts, &stored.messages.iter().collect::<Vec<_>>());
    shown.title = format!("{thread}#{found}");
    (shown.numbers, shown.number) = (numbers, Some(found));
    Ok(shown)
}

/// What would be sent next. Reads items, hooks and the log, and looks around; sends nothing.
///
/// # Errors
/// The sentence a person should read.
pub(super) async fn next(
    setup: Arc<Setup>,
    thread: Option<ThreadId>,
    directive: String,
    model: ModelRef,
    prompt: String,
    inputs: Values,
) -> Result<RequestShown, String> {
    let prepared = off_loop(Arc::clone(&setup), move |setup| {
        let folded = thread.as_ref().map(|id| fold(setup, id)).transpose()?;
        let inputs = folded.as_ref().map_or(inputs, |(_, inputs)| inputs.clone());
        let briefing = Briefing::prepare(setup, &directive, Some(inputs)).map_err(|error| error.to_string())?;
        let thread = folded.map(|(thread, _)| thread);
        let limits = thread.as_ref().map_or(briefing.limits, |thread| thread.limits);
        let kind = thread.as_ref().map_or(ThreadKind::Interactive, |thread| thread.kind);
        let start = Start {
            thread_id: thread.as_ref().map(|thread| thread.id.clone()),
            ..Start::new(model.clone(), limits, kind)
        };
        let plan = briefing.planned(&start).map_err(|error| error.to_string())?;
        Ok((thread, briefing, plan, model))
    });
    let (thread, briefing, plan, model) = prepared.await?;
    let surroundings = briefing.surroundings(&plan.state).await;
    off_loop(setup, move |setup| {
        let assembly = assembled(setup, &briefing, &plan, &surroundings, thread.as_ref(), &prompt);
        let messages: Vec<&Message> = assembly.messages.iter().map(|entry| &*entry.message).collect();
        let texts = assembly.texts.iter().map(|text| &**text);
        let mut shown = shown(setup, &model, &assembly.layers, texts, &messages);
        "what Enter would send".clone_into(&mut shown.title);
        if let Some(thread) = &thread {
            let numbers = request::numbers(&setup.layout, &thread.id).unwrap_or_default();
            shown.numbers = numbers.into_iter().map(|(number, _)| number).collect();
        }
        Ok(shown)
    })
    .await
}

/// The request that `prompt` would make, of `thread` or of a new one, with the tools it would offer. Reads which items
/// there are.
#[must_use]
pub fn assembled(
    setup: &Setup,
    briefing: &Briefing,
    plan: &Plan,
    surroundings: &Surroundings,
    thread: Option<&Thread>,
    prompt: &str,
) -> Assembly {
    let persona = thread.and_then(|thread| thread.persona.clone());
    let state = plan.state(&Surroundings { persona, ..surroundings.clone() });
    let mut history = thread.map(|thread| thread.history.clone()).unwrap_or_default();
    // A directive can begin without a word of the person's; what goes on needs one.
    if history.is_empty() || !prompt.trim().is_empty() {
        history.push(Entry::new(Message::user(prompt)));
    }
    let opening = thread.and_then(|thread| thread.opening.as_deref()).unwrap_or(&plan.opening);
    let mut assembly = assemble(&Parts { system: &plan.system, opening, state: &state, history: &history });
    let permissions = match thread {
        Some(thread) => thread.permissions.clone(),
        None => setup.permissions(briefing.grants.clone(), Vec::new()),
    };
    let known = toolbox::known(&setup.items(), &permissions, || setup.trust().allows());
    let (_specs, _recorded) = offer(&mut assembly, &permissions, known, &plan.preload);
    assembly
}

/// Runs `work`, which reads files, where it holds nobody up.
async fn off_loop<T: Send + 'static>(
    setup: Arc<Setup>,
    work: impl FnOnce(&Setup) -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    tokio::task::spawn_blocking(move || work(&setup)).await.map_err(|error| error.to_string())?
}

/// A thread as its log tells it, and its inputs.
///
/// # Errors
/// The sentence a person should read.
pub fn fold(setup: &Setup, id: &ThreadId) -> Result<(Thread, Values), String> {
    let folder = setup.layout.thread(id);
    let summary = Summary::read(&folder, id).map_err(|error| error.to_string())?;
    let mut thread = Thread::new(id.clone(), &summary.directive, summary.kind, summary.model, summary.limits);
    for page in log::pages(&folder.log()) {
        for record in page.map_err(|error| error.to_string())?.into_records() {
            let _done_already = apply(&mut thread, &record);
        }
    }
    Ok((thread, summary.inputs))
}

fn shown<'a>(
    setup: &Setup,
    model: &ModelRef,
    layers: &[Layer],
    texts: impl Iterator<Item = &'a str>,
    messages: &[&Message],
) -> RequestShown {
    let included = layers.iter().filter(|layer| layer.decision == Decision::Included);
    let tokens: Tokens = included.map(|layer| layer.tokens.count).sum();
    let window = setup.models.window(model).map(|window| format!(" of {window}")).unwrap_or_default();
    // Listed once for all layers.
    let items = setup.items();
    RequestShown {
        size: format!("{model} · ~{tokens}{window} tokens"),
        layers: layers.iter().zip(texts).map(|(layer, text)| row(&items, layer, text, messages)).collect(),
        ..RequestShown::default()
    }
}

fn row(items: &Items, layer: &Layer, text: &str, messages: &[&Message]) -> LayerRow {
    LayerRow {
        id: layer.id.clone(),
        kind: kind(layer.kind),
        part: part_of(layer.channel),
        origin: origin(&layer.origin),
        tokens: layer.tokens.count.0,
        lifetime: match layer.lifetime {
            Lifetime::Once => "made once",
            Lifetime::PerPrompt => "made for each prompt",
            Lifetime::PerCall => "made for each call",
        },
        absence: match &layer.decision {
            Decision::Included => None,
            Decision::Skipped { absence } => Some(absence.to_string()),
        },
        text: match layer.channel {
            Channel::Messages { first, count } => said(messages.get(first..first + count).unwrap_or_default()),
            Channel::System | Channel::Message { .. } | Channel::Tools => text.to_owned(),
        },
        file: file(items, &layer.origin),
    }
}

/// Messages one below the other, with who said them.
fn said(messages: &[&Message]) -> String {
    let told = messages.iter().map(|message| {
        let who = match message.role {
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        let mut text = format!("{who}: {}", message.text());
        for call in message.calls() {
            let _never_fails = write!(text, "\n[calls {} {}]", call.tool, call.input);
        }
        text
    });
    told.collect::<Vec<_>>().join("\n\n")
}

/// The file of a layer, where it is one that can be opened.
fn file(items: &Items, origin: &Origin) -> Option<PathBuf> {
    let (Origin::Item { space, path, .. } | Origin::File { space, path }) = origin else { return None };
    let mut folders = items.roots().iter().filter(|root| root.space == *space).filter_map(|root| match &root.place {
        Place::Folder(folder) => Some(folder.join(path)),
        Place::Embedded => None,
    });
    folders.find(|path| path.is_file()).filter(|_| *space != Space::System)
}
