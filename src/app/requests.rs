//! Requests for the context screen: as they were sent, and as the next would be.

use crate::context::diff::{Change, Side, difference};
use crate::context::what_if::{WhatIf, can_change, changed};
use crate::context::words::{asker, conversation, kind, origin, part_of};
use crate::domain::{
    Assembly, ContentHash, Decision, Entry, Layer, LayerKind, Lifetime, ModelRef, Money, Origin, Preview, SentBody,
    Space, ThreadId, Tokens, Usage, Via, WireForm,
};
use crate::engine::driver::ModelRegistry;
use crate::engine::thread::{Thread, apply};
use crate::items::{Items, Kind, Place};
use crate::ports::{CallRequest, StoreError};
use crate::providers::encode;
use crate::providers::text_calls::in_words;
use crate::session::Setup;
use crate::store::content::ContentStore;
use crate::store::summary::Summary;
use crate::store::{log, request};
use crate::workbench::counter::{Basis, Coming};
use crate::workbench::request::WhatIf as AsIf;
use crate::workbench::{AssembledRequest, LayerRow, News, RequestShown, Source};
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
        return Err("this thread has no request yet; /preview shows the next one".to_owned());
    };
    let mut shown = shown(setup, whole(setup, thread, found).map_err(text)?);
    let before = numbers.iter().rev().find(|number| **number < found).copied();
    (shown.numbers, shown.number) = (numbers, Some(found));
    tell_news(setup, thread, before, &mut shown);
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
        payload: None,
        assembly: Assembly {
            system,
            messages: messages.into_iter().map(Entry::new).collect(),
            layers: record.layers,
            texts: texts.into_iter().map(Into::into).collect(),
        },
    })
}

/// What the screen shows of a request that a worker told of.
pub(super) fn previewed(setup: &Setup, thread_id: ThreadId, preview: Preview) -> RequestShown {
    let Preview { model, max_output_tokens, assembly, frozen, handled, payload, .. } = preview;
    let payload = payload.map(|payload| payload.to_string());
    let numbers = request::numbers(&setup.layout, &thread_id).unwrap_or_default();
    let name = handled
        .map_or_else(|| "what Enter would send".to_owned(), |by| format!("nothing would be sent: {by} handles it"));
    let whole = AssembledRequest { name, thread_id, model, max_output_tokens, sent: None, payload, assembly };
    let (thread_id, spend) = (whole.thread_id.clone(), cost_of(setup, &whole));
    let mut shown = shown(setup, whole);
    shown.size.extend(spend.map(|spend| format!(" · ~{spend}")));
    shown.held = frozen.map(Arc::new);
    shown.numbers = numbers.into_iter().map(|(number, _)| number).collect();
    let last = shown.numbers.last().copied();
    tell_news(setup, &thread_id, last, &mut shown);
    shown
}

/// The request as it would be without some layers, marked by what is different from it as it is.
///
/// # Errors
/// Why a layer cannot be left out.
pub(super) fn as_if(setup: &Setup, asked: &AsIf) -> Result<RequestShown, String> {
    let AsIf { whole, number, numbers, texts } = asked;
    let as_it_is = Side::from(&whole.assembly);
    let fixed = texts.keys().filter_map(|place| as_it_is.layers.get(*place)).find(|layer| !can_change(layer));
    if let Some(layer) = fixed {
        return Err(match layer.decision {
            Decision::Included => format!("{} stays: the constitution is not up for change", layer.id),
            Decision::Skipped { .. } => format!("{} is not in the request anyway", layer.id),
        });
    }
    let now = changed(&as_it_is, &WhatIf { texts: texts.clone() });
    let difference = difference(&as_it_is, &now);
    let whole = AssembledRequest {
        name: format!("{} as if", whole.name),
        sent: None,
        payload: None,
        assembly: Assembly {
            system: now.system,
            messages: now.messages.into_iter().map(Entry::new).collect(),
            layers: now.layers,
            texts: now.texts.into_iter().map(Into::into).collect(),
        },
        ..AssembledRequest::clone(whole)
    };
    let spend = cost_of(setup, &whole);
    let mut shown = shown(setup, whole);
    shown.size.extend(spend.map(|spend| format!(" · ~{spend}")));
    (shown.number, shown.numbers) = (*number, numbers.clone());
    shown.since = Some(format!("what if: {}", difference.in_short()));
    // What is left out can still be read.
    let Assembly { layers, texts: before, messages, .. } = &asked.whole.assembly;
    for place in texts.iter().filter(|(_, text)| text.is_none()).map(|(place, _)| place) {
        let (Some(row), Some(layer)) = (shown.layers.get_mut(*place), layers.get(*place)) else { continue };
        let said = conversation(layer, messages.iter().map(|entry| &*entry.message)).map(Arc::from);
        row.text = said.or_else(|| before.get(*place).cloned()).unwrap_or_default();
        row.absence = Some("taken out, to see what if".to_owned());
    }
    Ok(shown)
}

/// What sending the request costs, without its answer; none where no price is known or nothing is paid.
fn cost_of(setup: &Setup, whole: &AssembledRequest) -> Option<Money> {
    let usage = Usage { input: whole.assembly.tokens(), ..Usage::default() };
    setup.models.spend(&whole.model, &usage).filter(|spend| *spend > Money::ZERO)
}

/// Marks what is different from request `before` of the thread. One that does not read any more is compared with by
/// nobody.
fn tell_news(setup: &Setup, thread: &ThreadId, before: Option<u32>, shown: &mut RequestShown) {
    let Some(request) = &shown.whole else { return };
    let Some(before) = before.and_then(|number| whole(setup, thread, number).ok()) else { return };
    let difference = difference(&Side::from(&before.assembly), &Side::from(&request.assembly));
    for change in &difference.layers {
        let news = match change.change {
            Change::Added { .. } => News::Added,
            Change::Words { .. } | Change::Messages { .. } | Change::Reason { .. } => News::Changed,
            Change::Moved { .. } => News::Moved,
            Change::Removed { .. } => continue,
        };
        if let Some(row) = change.place.and_then(|place| shown.layers.get_mut(place)) {
            row.news = Some(news);
        }
    }
    shown.since = Some(format!("since {}: {}", before.name, difference.in_short()));
}

/// What the coming request comes to without its prompt, where `tokens` is its size and `attached` what goes along.
pub(super) fn basis(setup: &Setup, coming: Coming, tokens: Tokens, attached: u64) -> Basis {
    let million = Usage { input: Tokens(1_000_000), ..Usage::default() };
    let per_million = setup.models.spend(&coming.model, &million);
    let window = setup.models.window(&coming.model);
    Basis { coming, tokens, attached, window, per_million }
}

/// The call that `side` is for `model`, with the bytes of its images.
///
/// # Errors
/// [`StoreError`] when an image is kept and does not read.
pub fn call(setup: &Setup, side: &Side, model: &ModelRef, max_output_tokens: u64) -> Result<CallRequest, StoreError> {
    let content = ContentStore::new(setup.layout.objects());
    let mut images = BTreeMap::new();
    let sees = setup.models.takes_images(model);
    for hash in side.messages.iter().flat_map(|message| &message.blocks).flat_map(|block| block.images_to_send(sees)) {
        images.extend(content.image(hash)?.map(|bytes| (hash.clone(), bytes)));
    }
    // One that is left out may have a text too: what the model would have been told.
    let told = |layer: &Layer| layer.kind == LayerKind::ToolSchema && layer.decision == Decision::Included;
    let layers = side.layers.iter().zip(&side.texts).filter(|(layer, _)| told(layer));
    Ok(CallRequest {
        model: model.model.clone(),
        thinking: model.thinking,
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
    // What handlers made of it cannot be made again: it is kept.
    if let Some((hash, sent)) = sent.and_then(|sent| Some((sent.body.as_ref()?, sent))).filter(|(_, s)| s.form == form)
    {
        let text = ContentStore::new(setup.layout.objects()).text(hash).map_err(|error| error.to_string())?;
        let bytes = text.into_bytes();
        let is_sent = Some(ContentHash::of(&bytes) == sent.hash);
        return Ok(WireBody { form, bytes, is_sent });
    }
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

/// Reads a thread from its log.
///
/// # Errors
/// The sentence a person should read.
pub fn fold(setup: &Setup, id: &ThreadId) -> Result<Thread, String> {
    let summary = Summary::look(&setup.layout, id, REPLAY.summary).map_err(|error| error.to_string())?;
    let log = setup.layout.log(id).map_err(|error| error.to_string())?;
    let mut thread = Thread::new(id.clone(), &summary.directive, summary.kind, summary.model, summary.limits);
    for page in log::pages(&log) {
        for record in page.map_err(|error| error.to_string())?.into_records() {
            let _done_already = apply(&mut thread, &record);
        }
    }
    Ok(thread)
}

fn shown(setup: &Setup, whole: AssembledRequest) -> RequestShown {
    let (model, assembly) = (&whole.model, &whole.assembly);
    let tokens = assembly.tokens();
    let window = setup.models.window(model);
    let share = window.and_then(|window| tokens.percent_of(window)).map(|share| format!(" · {share}%"));
    let window = window.map(|window| format!(" of {window}")).unwrap_or_default();
    // Listed once for all layers.
    let items = setup.items();
    let layers = assembly.layers.iter().zip(&assembly.texts);
    RequestShown {
        title: whole.name.clone(),
        size: format!("~{tokens}{window} tokens{}", share.unwrap_or_default()),
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
        news: None,
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
        // The file as people are told of it.
        Origin::Handler { place, .. } => {
            let place = place.as_ref()?;
            let file = PathBuf::from(&place.file);
            return file.is_file().then_some(Source { file, line: place.line });
        }
        Origin::Provider { .. } | Origin::User | Origin::Thread | Origin::OtherThread { .. } => return None,
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
        Via::Directive { id, line, .. } => (items.file(items.get(Kind::Directive, id)?.item), *line),
        Via::Provider { by, .. } => (items.file(items.get(Kind::Directive, by)?.item), 0),
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
