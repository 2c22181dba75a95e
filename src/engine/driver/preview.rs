//! What sending a draft would send. It is put together from the thread as it stands, while the thread goes on.

use super::Audience;
use super::context::{known_to, start_of};
use super::prepare::{PromptMade, constitution, edit_history, facts, payload_of, prepare_prompt};
use super::run::Driver;
use super::stage::{Asked, Asking};
use super::user_commands::{attached, included};
use crate::context::{BuiltRequest, Offer, Parts, Plan, RequestBuilder, State};
use crate::domain::{
    Assembly, Attachment, Draft, FrozenRequest, HistoryEdits, Image, KnownTool, Message, Piece, Preview, Stage,
};
use crate::engine::thread::Thread;
use crate::pipeline::{Chain, Forms, Paid};
use crate::ports::{CallRequest, Handlers};
use serde_json::Value;
use std::sync::Arc;
use tokio::sync::oneshot;

/// A thread as it stands, and what would be said in it.
#[derive(Clone, Debug)]
pub struct Subject {
    pub thread: Thread,
    pub plan: Arc<Plan>,
    /// What holds now.
    pub state: Vec<Piece>,
    pub known: Vec<KnownTool>,
    pub text: String,
    pub images: Vec<Image>,
    pub files: Vec<Attachment>,
    /// In which forms the models were asked that answered in the thread.
    pub forms: Forms,
}

/// The request that it would make, and what handlers made of it on the way.
#[derive(Debug)]
pub struct Previewed {
    pub built: BuiltRequest,
    subject: Subject,
    prepared: PromptMade,
    edits: Option<HistoryEdits>,
    asked: Vec<Asked>,
}

/// The request that saying something in a thread would make, through the handlers of its prompt and conversation, which are
/// told that it is a preview. Those that run something are asked where `runs`.
///
/// # Errors
/// The sentence a person should read.
pub async fn previewed(handlers: Arc<dyn Handlers>, runs: bool, subject: Subject) -> Result<Previewed, String> {
    let facts = facts(&subject.thread);
    preview_by(&Asking { handlers, facts, preview: true, runs, watch: None, person: None, images: None }, subject).await
}

impl Previewed {
    /// What handlers make of the request in its provider's form, `body`; none where they leave it as it is.
    pub async fn payload(&self, handlers: Arc<dyn Handlers>, runs: bool, body: &[u8]) -> Option<String> {
        let facts = facts(&self.subject.thread);
        let asking = Asking { handlers, facts, preview: true, runs, watch: None, person: None, images: None };
        if !asking.has(Stage::BeforeProviderRequest) {
            return None;
        }
        let made = payload_of_preview(&asking, body, &self.built.assembly, &mut Vec::new()).await;
        made.map(|payload| payload.to_string())
    }
}

async fn preview_by(asking: &Asking, mut subject: Subject) -> Result<Previewed, String> {
    asking.handlers.ready(asking.runs).await;
    let images = std::mem::take(&mut subject.images);
    let Subject { thread, plan, text, .. } = &subject;
    let sends = !text.trim().is_empty() || thread.prompts == 0;
    let mut prepared = if sends {
        prepare_prompt(asking, "interactive", text.clone(), images, Some(&plan.system)).await
    } else {
        PromptMade { text: text.clone(), images, ..PromptMade::default() }
    };
    if let Some(why) = prepared.given_back {
        return Err(why);
    }
    // A directive can begin without a word of the person's; what goes on needs one.
    let history = if prepared.text.trim().is_empty() && !thread.history.is_empty() {
        thread.history.clone()
    } else {
        let said = Message::said(&prepared.text, &prepared.images, &subject.files);
        thread.history_said(said, &prepared.messages)
    };
    let mut asked = std::mem::take(&mut prepared.asked);
    let edits = if asking.has(Stage::Context) {
        let (edits, passed) = edit_history(asking, &history, &subject.forms).await;
        asked.extend(passed.asked);
        edits
    } else {
        None
    };
    let build = move || {
        let Subject { thread, plan, state, known, .. } = &subject;
        let opening = thread.opening.as_deref().unwrap_or(&plan.opening);
        let (inherited, edits_of) = (thread.inherited, edits.as_ref());
        let system = prepared.system.as_deref().unwrap_or(&plan.system);
        let parts = Parts { system, opening, state, history: &history, inherited, edits: edits_of };
        let tools = Offer::Granted { plan, permissions: &thread.permissions, known: known.clone() };
        let built = RequestBuilder { parts, tools }.build();
        Previewed { built, subject, prepared, edits, asked }
    };
    let failed = |error: tokio::task::JoinError| format!("could not build the request: {error}");
    tokio::task::spawn_blocking(build).await.map_err(failed)
}

impl<A: Audience> Driver<A> {
    /// Answers with what sending `draft` now would send. Nothing is waited for here, and who asked may go away.
    pub(super) fn preview(&mut self, draft: Draft, mut reply: oneshot::Sender<Result<Preview, String>>) {
        while self.previews.try_join_next().is_some() {}
        let Draft { text, images, files, runs_commands } = draft;
        let include = self.includes(files);
        let attach = images.iter().map(|name| self.settings.store.attach(name)).collect();
        let (planner, plan, thread) = (Arc::clone(&self.settings.planner), self.plan.clone(), self.thread.clone());
        let model = thread.model.clone();
        let max_output_tokens = self.settings.models.max_output(&model);
        let window = self.settings.models.window(&model);
        let (known, forms) = (self.known_tools(), self.forms(&thread.history));
        let keeps = Some(self.settings.store.keeps_images());
        let asking = Asking { preview: true, runs: runs_commands, images: keeps, ..self.asking() };
        let provider = self.settings.models.provider(&model).ok();
        let job = async move {
            let failed = |error: tokio::task::JoinError| format!("could not build the request: {error}");
            // What extensions bring is part of what is planned.
            asking.handlers.ready(asking.runs).await;
            let plan = if let Some(plan) = plan {
                plan
            } else {
                let (planner, start) = (Arc::clone(&planner), start_of(&thread));
                tokio::task::spawn_blocking(move || planner.plan(&start)).await.map_err(failed)?.map(Arc::new)?
            };
            let looks: Vec<State> =
                plan.state.iter().filter(|state| runs_commands || state.command().is_none()).cloned().collect();
            let snapshot = planner.snapshot(&looks).await;
            if let Some(why) = looks.iter().find_map(|state| state.failure(&snapshot)) {
                return Err(why);
            }
            let images = attached(attach).await?;
            let files = included(include).await?;
            let attached = files.iter().map(|file| file.told().len() as u64).sum();
            let sends = !text.trim().is_empty() || thread.prompts == 0;
            // Without words nothing is sent: only the size of what goes along is wanted.
            let files = if text.trim().is_empty() { Vec::new() } else { files };
            let state = plan.state(&known_to(&thread, snapshot));
            let subject = Subject { thread, plan, state, known, text, images, files, forms };
            let Previewed { built, subject, prepared, edits, mut asked } = preview_by(&asking, subject).await?;
            let PromptMade { text: now, images, handled, messages, system, .. } = prepared;
            let Subject { thread, plan, state, text, files, .. } = subject;
            let BuiltRequest { assembly, specs, .. } = built;
            // Of images only the names are here: with some, the handlers are asked when it is sent.
            let mut blocks = assembly.messages.iter().flat_map(|entry| &entry.message.blocks);
            let has_images = blocks.any(|block| block.images().next().is_some());
            let asks = asking.has(Stage::BeforeProviderRequest) && !has_images;
            let payload = match provider.filter(|_| asks) {
                Some(provider) => {
                    let call = CallRequest {
                        model: model.model.clone(),
                        thinking: model.thinking,
                        tools: specs,
                        images: Arc::default(),
                        system: assembly.system.clone(),
                        messages: assembly.messages.iter().map(|entry| Arc::clone(&entry.message)).collect(),
                        max_output_tokens,
                        attempt: 1,
                    };
                    let encoded = provider.encode(call).map_err(|error| error.message)?;
                    payload_of_preview(&asking, &encoded.body, &assembly, &mut asked).await
                }
                None => None,
            };
            let frozen = (sends && handled.is_none()).then(|| FrozenRequest {
                thread_id: thread.id.clone(),
                images,
                files,
                model: model.clone(),
                max_output_tokens,
                hash: FrozenRequest::name(&model, max_output_tokens, &assembly),
                tools: FrozenRequest::tools_of(&assembly),
                state,
                system: plan.system.clone(),
                opening: plan.opening.clone(),
                text: (now != text).then_some(now),
                messages,
                system_edit: system,
                history: edits.map(Box::new),
                payload: payload.clone(),
                steps: asked.into_iter().map(|asked| asked.step).collect(),
            });
            Ok(Preview { model, max_output_tokens, window, assembly, attached, frozen, handled, payload })
        };
        self.previews.spawn(async move {
            tokio::select! {
                preview = job => drop(reply.send(preview)),
                () = reply.closed() => {}
            }
        });
    }
}

/// What handlers would make of the request in its provider's form.
async fn payload_of_preview(
    asking: &Asking,
    body: &[u8],
    assembly: &Assembly,
    asked: &mut Vec<Asked>,
) -> Option<Value> {
    let before: Value = serde_json::from_slice(body).ok()?;
    let paid = Paid { before: before.clone(), constitution: constitution(assembly), room: None };
    let chain = Chain::BeforeProviderRequest { payload: before, paid: Some(Box::new(paid)) };
    let passed = asking.through(chain).await;
    let payload = payload_of(&passed);
    asked.extend(passed.asked);
    payload
}
