//! What handlers make of a prompt, a conversation and a request, whether it is sent or only looked at.

use super::stage::{Asked, Asking, Passed};
use crate::domain::{
    Assembly, CustomMessage, Entry, HeaderEdits, HistoryEdits, Image, LayerKind, Messages, Origin, Piece, Stage,
    StageValue, Step, StepOutcome,
};
use crate::engine::thread::Thread;
use crate::pipeline::{Chain, Forms, differs, edited, to_json, told};
use crate::ports::NotExpanded;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::time::Instant;

/// What became of a prompt.
#[derive(Debug, Default)]
pub(super) struct PromptMade {
    pub(super) text: String,
    pub(super) images: Vec<Image>,
    /// The handler that took it.
    pub(super) handled: Option<String>,
    pub(super) messages: Vec<CustomMessage>,
    /// Every candidate for the system text, where handlers changed it.
    pub(super) system: Option<Vec<Piece>>,
    pub(super) asked: Vec<Asked>,
    /// Somebody gave it up.
    pub(super) aborted: bool,
    /// Why the person keeps what they wrote.
    pub(super) given_back: Option<String>,
}

/// Takes a prompt through its stages.
pub(super) async fn prepare_prompt(
    asking: &Asking,
    source: &'static str,
    text: String,
    images: Vec<Image>,
    system: Option<&[Piece]>,
) -> PromptMade {
    let mut made = PromptMade { text, images, ..PromptMade::default() };
    // A directive that begins says nothing of a person's.
    let said = !made.text.trim().is_empty() || !made.images.is_empty();
    if said && asking.has(Stage::Input) {
        let (text, images) = (std::mem::take(&mut made.text), std::mem::take(&mut made.images));
        let passed = asking.through(Chain::Input { text, images, added: Vec::new(), source, handled: false }).await;
        made.aborted = passed.aborted;
        let handler = passed.asked.last().map(|asked| asked.step.handler.clone());
        made.asked.extend(passed.asked);
        if let Chain::Input { text, images, handled, .. } = passed.chain {
            (made.text, made.images) = (text, images);
            made.handled = handler.filter(|_| handled);
        }
        if made.handled.is_some() || made.aborted {
            return made;
        }
    }
    if made.text.starts_with('/') {
        expand(asking, &mut made).await;
        if made.given_back.is_some() {
            return made;
        }
    }
    if let Some(system) = system.filter(|_| asking.has(Stage::BeforeAgentStart)) {
        begin(asking, &mut made, system).await;
    }
    made
}

/// Puts the text of the skill or template in the place of its name. A prompt of a server that is not to be had stays with the
/// person who wrote its name.
async fn expand(asking: &Asking, made: &mut PromptMade) {
    let name = made.text.split_whitespace().next().unwrap_or_default().to_owned();
    let step = |stage, handler: String, place, outcome| Step {
        stage,
        handler,
        place,
        outcome,
        took_ms: 0,
        before: None,
        after: None,
        saw: Vec::new(),
        said: String::new(),
        edited: false,
    };
    let begun = Instant::now();
    match asking.expanded(&name, made.text.clone()).await {
        Ok(None) => {}
        Ok(Some(expansion)) => {
            let before = Some(json!({"text": made.text}).into());
            let after = Some(json!({"text": expansion.text}).into());
            let mut step = step(expansion.stage, expansion.name, Some(expansion.place), StepOutcome::Changed);
            if !expansion.said.is_empty() {
                step.took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
                step.said = expansion.said;
            }
            made.asked.push(Asked { step, before, after });
            made.text = expansion.text;
        }
        Err(NotExpanded::AsWritten(error)) => {
            let step = step(Stage::Skill, name, None, StepOutcome::Failed { error });
            made.asked.push(Asked { step, before: None, after: None });
        }
        Err(NotExpanded::GivenBack(why)) => made.given_back = Some(format!("{name} was not sent: {why}")),
    }
}

/// Asks who adds messages and system text. The constitution is in nobody's reach.
async fn begin(asking: &Asking, made: &mut PromptMade, system: &[Piece]) {
    let (constitution, own): (Vec<Piece>, Vec<Piece>) =
        system.iter().cloned().partition(|piece| piece.kind == LayerKind::Constitution);
    let base = joined(&own);
    let chain = Chain::BeforeAgentStart {
        prompt: made.text.clone(),
        images: made.images.clone(),
        base: base.clone(),
        system: None,
        messages: Vec::new(),
    };
    let passed = asking.through(chain).await;
    made.aborted = passed.aborted;
    let mut pieces = own;
    for asked in &passed.asked {
        let text = |value: &Option<StageValue>| {
            value.as_ref().and_then(|event| event.get("systemPrompt")).and_then(Value::as_str).map(str::to_owned)
        };
        if let (Some(before), Some(after)) = (text(&asked.before), text(&asked.after))
            && before != after
        {
            pieces = edited(&pieces, &after, (&asked.step.handler, asked.step.place.as_ref()));
        }
    }
    made.asked.extend(passed.asked);
    if let Chain::BeforeAgentStart { system, messages, .. } = passed.chain {
        made.messages = messages;
        // What a person wrote at a breakpoint, and no handler changed after.
        if let Some(now) =
            system.as_ref().filter(|now| joined(&pieces) != **now && made.asked.iter().any(|asked| asked.step.edited))
        {
            pieces = edited(&pieces, now, ("you", None));
        }
        made.system = system.map(|_| constitution.into_iter().chain(pieces).collect());
    }
}

/// The text of pieces as a request has it.
fn joined(pieces: &[Piece]) -> String {
    let included = pieces.iter().filter(|piece| piece.is_included());
    included.map(|piece| &*piece.text).collect::<Vec<_>>().join("\n\n")
}

/// What handlers make of a history for one request.
pub(super) async fn edit_history(asking: &Asking, history: &[Entry], forms: &Forms) -> (Option<HistoryEdits>, Passed) {
    let messages: Messages = to_json(history, forms).into_iter().map(Arc::new).collect();
    let passed = asking.through(Chain::Context { messages: messages.into() }).await;
    let by = passed.changed_by().map(|step| Origin::Handler {
        stage: Stage::Context,
        handler: step.handler.clone(),
        place: step.place.clone(),
    });
    let edits = match (&passed.chain, by) {
        (Chain::Context { messages }, Some(by)) => {
            let told = told(history, messages);
            let (made, gone) = differs(history, &told);
            let history = told.into_iter().map(|told| told.entry).collect();
            Some(HistoryEdits { history, made, gone, by })
        }
        _ => None,
    };
    (edits, passed)
}

/// What handlers made of a request in its provider's form; none where it is as it was.
pub(super) fn payload_of(passed: &Passed) -> Option<Value> {
    let Chain::BeforeProviderRequest { payload, paid } = &passed.chain else { return None };
    paid.as_ref().is_some_and(|paid| paid.before != *payload).then(|| payload.clone())
}

/// What handlers made of the headers of a request; none where they were not asked.
pub(super) fn header_edits(passed: &Passed) -> Option<HeaderEdits> {
    let Chain::BeforeProviderHeaders { headers, .. } = &passed.chain else { return None };
    let told = passed.asked.iter().find_map(|asked| asked.before.as_ref())?.json();
    let told = told.get("headers").and_then(Value::as_object)?;
    let gone = told.keys().filter(|name| !headers.contains_key(*name)).map(|name| (name.clone(), None));
    let set = headers.iter().filter(|(name, value)| told.get(*name).and_then(Value::as_str) != Some(value.as_str()));
    Some(gone.chain(set.map(|(name, value)| (name.clone(), Some(value.clone())))).collect())
}

/// What conditions of handlers know of a thread.
pub(super) fn facts(thread: &Thread) -> Value {
    let cost = &thread.cost;
    json!({
        "thread_id": thread.id.as_str(),
        "directive": thread.directive,
        "model": thread.model.to_string(),
        "kind": thread.kind,
        "depth": thread.lineage.depth,
        "turn": thread.turn(),
        "cost": {"turns": cost.turns, "tokens": cost.usage.total().0, "spend": cost.spend.dollars()},
        "state": thread.kept.value(),
    })
}

/// The constitution of a request.
pub(super) fn constitution(assembly: &Assembly) -> String {
    let layers = assembly.layers.iter().zip(&assembly.texts);
    let own = layers.filter(|(layer, _)| layer.kind == LayerKind::Constitution);
    own.map(|(_, text)| &**text).find(|text| !text.is_empty()).unwrap_or_default().to_owned()
}
