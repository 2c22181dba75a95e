//! What sending a draft would send. It is put together from the thread as it stands, while the thread goes on.

use super::Audience;
use super::context::start_of;
use super::run::Driver;
use super::user_commands::{attached, included};
use crate::context::{EnvironmentSnapshot, Offer, Parts, Plan, RequestBuilder, State};
use crate::domain::{Assembly, Draft, FrozenRequest, KnownTool, Message, Piece, Preview};
use crate::engine::thread::Thread;
use std::sync::Arc;
use tokio::sync::oneshot;

/// The request that saying `said` in `thread` would make, while `state` holds.
#[must_use]
pub fn previewed(thread: &Thread, plan: &Plan, state: &[Piece], known: Vec<KnownTool>, said: Message) -> Assembly {
    // A directive can begin without a word of the person's; what goes on needs one.
    let history = if said.text().trim().is_empty() && !thread.history.is_empty() {
        thread.history.clone()
    } else {
        thread.history_with(said)
    };
    let opening = thread.opening.as_deref().unwrap_or(&plan.opening);
    let inherited = thread.inherited;
    let parts = Parts { system: &plan.system, opening, state, history: &history, inherited };
    let tools = Offer::Granted { plan, permissions: &thread.permissions, known };
    RequestBuilder { parts, tools }.build().assembly
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
        let known = self.known_tools();
        let job = async move {
            let failed = |error: tokio::task::JoinError| format!("could not build the request: {error}");
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
            let build = move || {
                let attached = files.iter().map(|file| file.told().len() as u64).sum();
                let sends = !text.trim().is_empty() || thread.prompts == 0;
                let state = plan.state(&EnvironmentSnapshot { persona: thread.persona.clone(), ..snapshot });
                // Without words nothing is sent: only the size of what goes along is wanted.
                let files = if text.trim().is_empty() { Vec::new() } else { files };
                let assembly = previewed(&thread, &plan, &state, known, Message::said(&text, &images, &files));
                let frozen = sends.then(|| FrozenRequest {
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
                });
                Preview { model, max_output_tokens, window, assembly, attached, frozen }
            };
            tokio::task::spawn_blocking(build).await.map_err(failed)
        };
        self.previews.spawn(async move {
            tokio::select! {
                preview = job => drop(reply.send(preview)),
                () = reply.closed() => {}
            }
        });
    }
}
