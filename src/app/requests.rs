//! Requests for the context screen: as they were sent, and as the next would be.

use crate::context::diff::Side;
use crate::context::words::{asker, conversation, kind, origin, part_of};
use crate::context::{EnvironmentSnapshot, Offer, Parts, Plan, RequestBuilder, Start};
use crate::domain::{
    Assembly, Block, Channel, ContentHash, Decision, Entry, Event, FrozenRequest, Image, Layer, LayerKind, Lifetime,
    Message, ModelRef, Money, Origin, Piece, RequestEvent, SentBody, Space, ThreadEvent, ThreadId, ThreadKind, Tokens,
    Usage, Via, WireForm,
};
use crate::engine::driver::{ModelRegistry, Planner};
use crate::engine::thread::{Phase, Thread, apply};
use crate::items::directive::Values;
use crate::items::{Items, Kind, Place};
use crate::ports::{CallRequest, Clock, StoreError, SystemClock};
use crate::providers::encode;
use crate::providers::text_calls::in_words;
use crate::session::{DirectivePlanner, Setup, toolbox};
use crate::store::content::ContentStore;
use crate::store::image::take_in;
use crate::store::summary::Summary;
use crate::store::{log, recover, request};
use crate::workbench::counter::{Basis, Coming};
use crate::workbench::{AssembledRequest, LayerRow, RequestShown, Source};
use crate::worker::host::REPLAY;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Request `number` of a thread, or its newest.
///
/// # Errors
/// The sentence a person should read.
pub(super) fn stored(setup: &Setup, thread: &ThreadId, number: Option<u32>) -> Result<RequestShown, String> {
    let text = |error: StoreError| error.to_string();
    let numbers: Vec<u32> =
        request::numbers(&setup.layout, thread).map_err(text)?.into_iter().map(|(number, _)| number).collect();
    let Some(found) = number.or(numbers.last().copied()) else {
        return Err("this thread has sent nothing yet; Ctrl+P shows what it would send".to_owned());
    };
    let mut shown = shown(setup, whole(setup, thread, found).map_err(text)?);
    (shown.numbers, shown.number) = (numbers, Some(found));
    Ok(shown)
}

/// A request as it was sent.
///
/// # Errors
/// [`StoreError`].
pub(super) fn whole(setup: &Setup, thread: &ThreadId, number: u32) -> Result<AssembledRequest, StoreError> {
    let request::Stored { record, system, messages, texts } = request::read(&setup.layout, thread, number)?;
    Ok(AssembledRequest {
        name: format!("{thread}#{number}"),
        thread_id: thread.clone(),
        model: record.model,
        max_output_tokens: record.max_output_tokens,
        sent: record.sent,
        assembly: Assembly {
            system,
            messages: messages.into_iter().map(Entry::new).collect(),
            layers: record.layers,
            texts: texts.into_iter().map(Into::into).collect(),
        },
    })
}

/// What would be sent next. Reads items, hooks and the log, and looks around; sends nothing. The images that go along
/// are kept, so that what is sent afterwards is what was looked at.
///
/// # Errors
/// The sentence a person should read.
pub(super) async fn next(
    setup: Arc<Setup>,
    thread: Option<ThreadId>,
    directive: String,
    model: ModelRef,
    (prompt, images): (String, Vec<String>),
    inputs: Values,
) -> Result<RequestShown, String> {
    let Ready { thread, id, planner, plan } = ready(&setup, thread, directive, &model, inputs).await?;
    let persona = thread.as_ref().and_then(|thread| thread.persona.clone());
    let snapshot = EnvironmentSnapshot { persona, ..planner.snapshot(&plan.state).await };
    if let Some(why) = plan.state.iter().find_map(|state| state.failure(&snapshot)) {
        return Err(why);
    }
    off_loop(setup, move |setup| {
        let mut content = ContentStore::new(setup.layout.objects());
        let images = images.into_iter().map(|name| take_in(setup.layout.project(), &mut content, name));
        let images = images.collect::<Result<Vec<Image>, String>>()?;
        let said = Message::said(&prompt, &images);
        let assembly = assembled(setup, &planner, &plan, &snapshot, thread.as_ref(), said);
        let max_output_tokens = setup.models.max_output(&model);
        let held = (!prompt.trim().is_empty() || thread.is_none()).then(|| FrozenRequest {
            thread_id: id.clone(),
            images,
            model: model.clone(),
            max_output_tokens,
            hash: FrozenRequest::name(&model, max_output_tokens, &assembly),
            tools: FrozenRequest::tools_of(&assembly),
            state: plan.state(&snapshot),
            system: plan.system,
            opening: plan.opening,
        });
        let name = "what Enter would send".to_owned();
        let mut shown =
            shown(setup, AssembledRequest { name, thread_id: id, model, max_output_tokens, sent: None, assembly });
        shown.held = held.map(Arc::new);
        if let Some(thread) = &thread {
            let numbers = request::numbers(&setup.layout, &thread.id).unwrap_or_default();
            shown.numbers = numbers.into_iter().map(|(number, _)| number).collect();
        }
        Ok(shown)
    })
    .await
}

/// What the coming request of a thread, or of a new one, is made from.
struct Ready {
    thread: Option<Thread>,
    id: ThreadId,
    planner: DirectivePlanner,
    plan: Plan,
}

async fn ready(
    setup: &Arc<Setup>,
    thread: Option<ThreadId>,
    directive: String,
    model: &ModelRef,
    inputs: Values,
) -> Result<Ready, String> {
    let model = model.clone();
    off_loop(Arc::clone(setup), move |setup| {
        let folded = thread.as_ref().map(|id| fold(setup, id)).transpose()?;
        let inputs = folded.as_ref().map_or(inputs, |folded| folded.inputs.clone());
        let planner = DirectivePlanner::prepare(setup, &directive, Some(inputs)).map_err(|error| error.to_string())?;
        let thread = folded.as_ref().map(|folded| &folded.thread);
        let limits = thread.map_or(planner.limits, |thread| thread.limits);
        let kind = thread.map_or(ThreadKind::Interactive, |thread| thread.kind);
        let id = thread.map_or_else(|| ThreadId::new(&directive, SystemClock.now().0), |thread| thread.id.clone());
        let start = Start { thread_id: Some(id.clone()), ..Start::new(model, limits, kind) };
        let mut plan = planner.planned(&start).map_err(|error| error.to_string())?;
        if let Some(system) = folded.as_ref().and_then(|folded| folded.system(setup)) {
            plan.system = system;
        }
        Ok(Ready { thread: folded.map(|folded| folded.thread), id, planner, plan })
    })
    .await
}

/// What the coming request comes to without its prompt and without what commands would say: a person who only writes
/// runs none.
///
/// # Errors
/// The sentence a person should read.
pub(super) async fn basis(setup: Arc<Setup>, coming: Coming) -> Result<Basis, String> {
    /// Few enough tokens for the usual price, where long requests have another.
    const MANY: u64 = 100_000;
    let tokens = if coming.context > Tokens(0) {
        coming.context
    } else {
        let Coming { thread, directive, model, inputs, .. } = coming.clone();
        let Ready { thread, planner, plan, .. } = ready(&setup, thread, directive, &model, inputs).await?;
        let snapshot = planner.snapshot_unasked(&plan.state).await;
        off_loop(Arc::clone(&setup), move |setup| {
            let said = Message::user("");
            Ok(assembled(setup, &planner, &plan, &snapshot, thread.as_ref(), said).tokens())
        })
        .await?
    };
    let spend = setup.models.spend(&coming.model, &Usage { input: Tokens(MANY), ..Usage::default() });
    let window = setup.models.window(&coming.model);
    let per_million = spend.map(|spend| Money(spend.0.saturating_mul(1_000_000 / MANY.cast_signed())));
    Ok(Basis { coming, tokens, window, per_million })
}

/// The request that saying this would make, of `thread` or of a new one, with the tools it would offer. Reads which items
/// there are.
#[must_use]
pub fn assembled(
    setup: &Setup,
    planner: &DirectivePlanner,
    plan: &Plan,
    snapshot: &EnvironmentSnapshot,
    thread: Option<&Thread>,
    said: Message,
) -> Assembly {
    let persona = thread.and_then(|thread| thread.persona.clone());
    let state = plan.state(&EnvironmentSnapshot { persona, ..snapshot.clone() });
    let begun = thread.is_some_and(|thread| !thread.history.is_empty());
    let history = match thread {
        // A directive can begin without a word of the person's; what goes on needs one.
        Some(thread) if begun && said.text().trim().is_empty() => thread.history.clone(),
        Some(thread) => thread.history_with(said),
        None => vec![Entry::new(said)],
    };
    let opening = thread.and_then(|thread| thread.opening.as_deref()).unwrap_or(&plan.opening);
    let permissions = match thread {
        Some(thread) => thread.permissions.clone(),
        None => setup.permissions(planner.grants.clone(), Vec::new()),
    };
    let known = toolbox::known(&setup.items(), &permissions, || setup.trust().allows());
    let parts = Parts { system: &plan.system, opening, state: &state, history: &history };
    let tools = Offer::Granted { plan, permissions: &permissions, known };
    RequestBuilder { parts, tools }.build().assembly
}

/// The call that `side` is for `model`, with the bytes of its images.
///
/// # Errors
/// [`StoreError`] when an image is kept and does not read.
pub fn call(setup: &Setup, side: &Side, model: &ModelRef, max_output_tokens: u64) -> Result<CallRequest, StoreError> {
    let content = ContentStore::new(setup.layout.objects());
    let mut images = BTreeMap::new();
    for block in side.messages.iter().flat_map(|message| &message.blocks) {
        let Block::Image { hash, .. } = block else { continue };
        images.extend(content.image(hash)?.map(|bytes| (hash.clone(), bytes)));
    }
    // One that is left out may have a text too: what the model would have been told.
    let told = |layer: &Layer| layer.kind == LayerKind::ToolSchema && layer.decision == Decision::Included;
    let layers = side.layers.iter().zip(&side.texts).filter(|(layer, _)| told(layer));
    Ok(CallRequest {
        model: model.model.clone(),
        system: side.system.clone(),
        messages: side.messages.iter().cloned().map(Arc::new).collect(),
        tools: layers.filter_map(|(_, text)| serde_json::from_str(text).ok()).collect(),
        images: Arc::new(images),
        max_output_tokens,
        attempt: 1,
    })
}

/// A request as it goes over the wire.
#[derive(Clone, Debug)]
pub struct WireBody {
    pub form: WireForm,
    pub bytes: Vec<u8>,
    /// Whether these are the bytes that were sent; none for a request that was not, or of an earlier version.
    pub is_sent: Option<bool>,
}

/// The body of `call` in `form`, or in the one in which it was sent or its model is asked.
///
/// # Errors
/// The sentence a person should read.
pub fn wire_body(
    setup: &Setup,
    call: &CallRequest,
    model: &ModelRef,
    sent: Option<&SentBody>,
    form: Option<WireForm>,
) -> Result<WireBody, String> {
    let own = sent.map_or_else(|| setup.models.form(model), |sent| sent.form);
    let form = form.unwrap_or(own);
    let body = |call: &CallRequest| encode::body(form, call).map_err(|error| error.message);
    let bytes = body(&setup.models.settled(model, call.clone()))?;
    let Some(sent) = sent.filter(|sent| sent.form == form) else { return Ok(WireBody { form, bytes, is_sent: None }) };
    if ContentHash::of(&bytes) == sent.hash {
        return Ok(WireBody { form, bytes, is_sent: Some(true) });
    }
    // Whether a model is told of tools in words may have changed since.
    for call in [call.clone(), in_words(call.clone())] {
        let bytes = body(&call)?;
        if ContentHash::of(&bytes) == sent.hash {
            return Ok(WireBody { form, bytes, is_sent: Some(true) });
        }
    }
    Ok(WireBody { form, bytes, is_sent: Some(false) })
}

/// Runs `work`, which reads files, where it holds nobody up.
async fn off_loop<T: Send + 'static>(
    setup: Arc<Setup>,
    work: impl FnOnce(&Setup) -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    tokio::task::spawn_blocking(move || work(&setup)).await.map_err(|error| error.to_string())?
}

/// A thread as its log tells it.
#[derive(Debug)]
pub struct Folded {
    pub thread: Thread,
    pub inputs: Values,
    /// The newest request for an answer since its newest worker took it over; one for a summary has another system text.
    planned: Option<u32>,
}

/// Reads a thread from its log.
///
/// # Errors
/// The sentence a person should read.
pub fn fold(setup: &Setup, id: &ThreadId) -> Result<Folded, String> {
    let summary = Summary::look(&setup.layout, id, REPLAY.summary).map_err(|error| error.to_string())?;
    let log = setup.layout.log(id).map_err(|error| error.to_string())?;
    let mut thread = Thread::new(id.clone(), &summary.directive, summary.kind, summary.model, summary.limits);
    let mut planned = None;
    for page in log::pages(&log) {
        for record in page.map_err(|error| error.to_string())?.into_records() {
            let _done_already = apply(&mut thread, &record);
            if matches!(record.event, Event::Thread(ThreadEvent::WorkerStarted { .. })) {
                planned = None;
            } else if let (Event::Request(RequestEvent::RequestRecorded { .. }), Phase::Calling { request, .. }) =
                (&record.event, &thread.phase)
            {
                planned = Some(*request);
            }
        }
    }
    Ok(Folded { thread, inputs: summary.inputs, planned })
}

impl Folded {
    /// The system text's pieces, where a worker runs that has planned them already: it sends them again, whatever has
    /// become of the items.
    fn system(&self, setup: &Setup) -> Option<Vec<Piece>> {
        let planned =
            self.planned.filter(|_| recover::is_held(&setup.layout, &self.thread.id).is_ok_and(|held| held))?;
        let whole = whole(setup, &self.thread.id, planned).ok()?;
        let layers = whole.assembly.layers.into_iter().zip(whole.assembly.texts);
        let system = layers.filter(|(layer, _)| layer.channel == Channel::System);
        let piece = |(layer, text): (Layer, Arc<str>)| {
            let Layer { id, kind, origin, lifetime, decision, .. } = layer;
            Piece { id, kind, origin, lifetime, decision, text }
        };
        Some(system.map(piece).collect())
    }
}

fn shown(setup: &Setup, whole: AssembledRequest) -> RequestShown {
    let (model, assembly) = (&whole.model, &whole.assembly);
    let window = setup.models.window(model).map(|window| format!(" of {window}")).unwrap_or_default();
    // Listed once for all layers.
    let items = setup.items();
    let layers = assembly.layers.iter().zip(&assembly.texts);
    RequestShown {
        title: whole.name.clone(),
        size: format!("{model} · ~{}{window} tokens", assembly.tokens()),
        layers: layers.map(|(layer, text)| row(&items, layer, text, &assembly.messages)).collect(),
        whole: Some(Arc::new(whole)),
        ..RequestShown::default()
    }
}

fn row(items: &Items, layer: &Layer, text: &Arc<str>, messages: &[Entry]) -> LayerRow {
    let asked_by = asked_by(items, &layer.origin);
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
        text: conversation(layer, messages.iter().map(|entry| &*entry.message))
            .map_or_else(|| Arc::clone(text), Into::into),
        source: source(items, &layer.origin),
        asked_by,
        asker: asker(&layer.origin),
    }
}

/// Where a layer is written, where that can be opened.
fn source(items: &Items, origin: &Origin) -> Option<Source> {
    let (space, path, line) = match origin {
        Origin::Item { space, path, lines, .. } => (space, path, lines.map(|(first, _)| first)),
        Origin::File { space, path } => (space, path, None),
        Origin::Provider { .. } | Origin::User | Origin::Thread => return None,
    };
    let mut folders = items.roots().iter().filter(|root| root.space == *space).filter_map(|root| match &root.place {
        Place::Folder(folder) => Some(folder.join(path)),
        Place::Embedded => None,
    });
    let file = folders.find(|path| path.is_file()).filter(|_| *space != Space::System)?;
    Some(Source { file, line: line.filter(|line| *line > 0) })
}

/// Where it is written that the layer be there: the hook, or the directive's entry.
fn asked_by(items: &Items, origin: &Origin) -> Option<Source> {
    let Origin::Item { via: Some(via), .. } = origin else { return None };
    let (file, line) = match via {
        Via::Hook { file, line, .. } => (here(items, file), *line),
        Via::Directive { id, line, .. } => (items.file(items.find(Kind::Directive, id).ok()?.item), *line),
        Via::Provider { by, .. } => (items.file(items.find(Kind::Directive, by).ok()?.item), 0),
    };
    file.is_file().then_some(Source { file, line: Some(line).filter(|line| *line > 0) })
}

/// A file that was recorded, or the one in its place where the project has moved since.
fn here(items: &Items, file: &str) -> PathBuf {
    let recorded = PathBuf::from(file);
    let moved = || {
        let below = Path::new(file.rsplit_once("/.ai/")?.1);
        let is_inside = below.components().all(|part| matches!(part, Component::Normal(_)));
        let roots = items.roots().iter().filter(|root| is_inside && root.space == Space::Project);
        let mut files = roots.filter_map(|root| match &root.place {
            Place::Folder(folder) => Some(folder.join(".ai").join(below)),
            Place::Embedded => None,
        });
        files.find(|file| file.is_file())
    };
    if recorded.is_file() { recorded } else { moved().unwrap_or(recorded) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::items::Spaces;

    #[test]
    fn a_hook_of_a_project_that_has_moved_is_found_in_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let (project, user) = (folder.path().join("now"), folder.path().join("home"));
        let hooks = project.join(".ai/config/agent/hooks.yaml");
        std::fs::create_dir_all(hooks.parent().unwrap()).unwrap();
        std::fs::write(&hooks, "hooks: []\n").unwrap();
        std::fs::write(folder.path().join("outside"), "").unwrap();
        let items = Items::list(&Spaces::new(&project, &user, []));
        let found = |file: &str| {
            let via =
                Via::Hook { id: "h".into(), event: "thread_started".into(), layer: 2.0, file: file.into(), line: 3 };
            let origin = Origin::Item {
                space: Space::Project,
                bundle: None,
                id: "a".into(),
                path: String::new(),
                lines: None,
                signature: None,
                via: Some(via),
            };
            asked_by(&items, &origin).map(|source| (source.file, source.line))
        };
        assert_eq!(found("/before/.ai/config/agent/hooks.yaml"), Some((hooks.clone(), Some(3))));
        assert_eq!(found(hooks.to_str().unwrap()), Some((hooks, Some(3))));
        for elsewhere in
            ["/before/.ai/config/gone.yaml", "/before/.ai/../../outside", "/before/.ai//etc/hostname", "levain:/x"]
        {
            assert_eq!(found(elsewhere), None, "{elsewhere}");
        }
    }
}
