//! The children of a thread: how its tools start them, and which other threads they reach: no others than those of its tree.

use super::directive_planner::DirectivePlanner;
use super::orchestrator::Orchestrator;
use super::parent::limits_below;
use super::setup::Setup;
use crate::domain::event::{CancelScope, PromptMode};
use crate::domain::{
    Command, Cost, LimitSource, Lineage, ModelRef, Operation, Parent, SetLimits, Spent, State, ThreadId, ThreadKind,
};
use crate::engine::driver::{Budgets, Ended};
use crate::items::{Items, Kind};
use crate::ports::threads::{ChildRequest, ChildStarted, Threads};
use crate::ports::tools::Waiting;
use crate::ports::{Clock, SystemClock, ThreadSpec, ToolListener};
use crate::store::summary::{Summary, specification};
use crate::store::{Layout, upkeep};
use crate::worker::supervisor::{Outcome, Running, Supervisor};
use serde_json::Value;
use std::sync::Arc;

/// See the module.
#[derive(Clone)]
pub(super) struct ThreadsOf {
    pub(super) thread: ThreadId,
    pub(super) setup: Arc<Setup>,
    pub(super) supervisor: Supervisor,
    pub(super) orchestrator: Orchestrator,
    /// With which children that work by themselves are taken in.
    pub(super) budgets: Budgets,
}

impl std::fmt::Debug for ThreadsOf {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ThreadsOf").field("thread", &self.thread).finish_non_exhaustive()
    }
}

impl ThreadsOf {
    /// The model of a child: what was asked for, else what its directive wishes for, else its parent's.
    fn model(&self, items: &Items, request: &ChildRequest, parent: &Parent) -> Result<ModelRef, String> {
        let setup = &self.setup;
        let chosen = match &request.model {
            Some(asked) => setup.model_named(items, &request.directive, asked),
            None => setup.model_wished(items, &request.directive).map(|wished| wished.unwrap_or(parent.model.clone())),
        };
        chosen.map_err(|error| error.to_string())
    }

    /// What a child is made as.
    fn spec(&self, request: &ChildRequest, parent: &Parent) -> Result<ThreadSpec, String> {
        let setup = &self.setup;
        let items = setup.items();
        items.find(Kind::Directive, &request.directive).map_err(|missing| missing.to_string())?;
        let inputs = Some(request.inputs.clone());
        let planner =
            DirectivePlanner::prepare(setup, &request.directive, inputs).map_err(|error| error.to_string())?;
        let set = SetLimits::by(LimitSource::Defaults, setup.one_shot_limits())
            .overridden(SetLimits::by(LimitSource::Directive, planner.limits))
            .overridden(SetLimits::by(LimitSource::Override, request.limits));
        let limits = limits_below(set, parent)?;
        Ok(ThreadSpec {
            id: None,
            directive: request.directive.clone(),
            inputs: request.inputs.clone(),
            model: self.model(&items, request, parent)?,
            kind: ThreadKind::OneShot,
            limits,
            lineage: parent.lineage.clone(),
            ceilings: parent.permissions.ceilings_of_child(&parent.id),
        })
    }

    async fn start_child(&self, request: ChildRequest, listener: &dyn ToolListener) -> Result<ChildStarted, String> {
        let parent = listener.parent().await?;
        let (this, asked) = (self.clone(), request.clone());
        let make = self.orchestrator.off_loop(move |layout| {
            let spec = this.spec(&asked, &parent)?;
            let (limits, lineage) = (spec.limits, spec.lineage.clone());
            let made = Summary::make(layout, spec, SystemClock.now()).map_err(|error| error.to_string())?;
            Ok::<_, String>((made.thread_id, limits, lineage))
        });
        let (child, limits, lineage) = make.await??;
        let begun = listener.starts_child(child.clone(), request.directive, !request.background).await;
        if let Err(why) = begun {
            self.unmake(child).await;
            return Err(why);
        }
        if request.background {
            // Before the parent reserves its next call, which may take all that is left.
            self.set_aside(&child, limits, lineage).await;
            let pid = self.orchestrator.executor.begin(&child, first()).await;
            return match pid {
                Ok(pid) => Ok(ChildStarted::Background { thread_id: child, pid }),
                Err(error) => {
                    let release = self.budgets.ledger.release(&child, Spent::default());
                    // Whoever finds that it is dead releases it, too.
                    let _given_back = tokio::task::spawn_blocking(release).await;
                    Err(error.to_string())
                }
            };
        }
        self.run(child, listener).await
    }

    /// Takes a child into the ledger of budgets, with its share. Where that does not work now, it is taken in when it asks for
    /// its first call, and is told why not.
    async fn set_aside(&self, child: &ThreadId, limits: SetLimits, lineage: Lineage) {
        let register = self.budgets.register(child.clone(), lineage.parent, limits, Spent::default());
        match tokio::task::spawn_blocking(register).await {
            Ok(Ok(_answer)) => {}
            Ok(Err(error)) => tracing::debug!(%error, "a child is not in the ledger yet"),
            Err(failed) => tracing::warn!(%failed, "a child is not in the ledger yet"),
        }
    }

    /// Runs a child in this process, until it ends.
    async fn run(&self, child: ThreadId, listener: &dyn ToolListener) -> Result<ChildStarted, String> {
        let mut running = self.supervisor.open(&child).await.map_err(|error| error.to_string())?;
        let mut stop = StopOnDrop { running: Some(running.clone()) };
        running.handle().ask(first()).await?;
        // The thread that goes on with it, if one does, is the child from there on.
        let mut newest = child.clone();
        let ended = loop {
            let ended = self.watched(&newest, &running, listener).await;
            let Outcome::Ended(Ended::HandedOff(next)) = &ended else { break ended };
            newest = next.clone();
            let Some(next) = self.supervisor.get(&newest) else { break ended };
            running = next;
            stop.running = Some(running.clone());
        };
        stop.running = None;
        let result = self.orchestrator.result(&newest).await?;
        listener
            .child_ended(child, result.status, running.state().map_or_else(Cost::default, |state| state.cost))
            .await;
        match ended {
            Outcome::Failed(why) => Err(why),
            Outcome::Ended(_) => Ok(ChildStarted::Ended(Box::new(result))),
        }
    }

    /// Waits for the child, and tells whoever watches its parent how it stands.
    async fn watched(&self, child: &ThreadId, running: &Running, listener: &dyn ToolListener) -> Outcome {
        let mut state = running.states();
        let mut told = String::new();
        let ended = running.ended();
        let mut ended = std::pin::pin!(ended);
        loop {
            tokio::select! {
                outcome = &mut ended => return outcome,
                changed = state.changed() => {
                    if changed.is_err() {
                        return ended.await;
                    }
                    let line = state.borrow_and_update().as_ref().map(|state| line(child, state)).unwrap_or_default();
                    if line != told {
                        listener.said(format!("{line}\n"));
                        told = line;
                    }
                }
            }
        }
    }

    /// Takes away a child that was made and may not begin.
    async fn unmake(&self, child: ThreadId) {
        let removed = self.orchestrator.off_loop(move |layout| upkeep::remove(layout, &child)).await;
        if let Ok(Err(error)) = removed {
            tracing::warn!(%error, "a thread that did not begin stays");
        }
    }

    /// Where each of the threads comes from, as this person's program wrote it.
    async fn lineages(&self, ids: Vec<ThreadId>) -> Result<Vec<Lineage>, String> {
        let read = move |layout: &Layout| {
            ids.iter().map(|id| specification(layout, id).map(|begun| begun.lineage)).collect::<Result<Vec<_>, _>>()
        };
        self.orchestrator.off_loop(read).await?.map_err(|error| error.to_string())
    }

    /// Whether the thread is of the same tree.
    async fn is_near(&self, id: &ThreadId) -> Result<bool, String> {
        let ids = vec![self.thread.clone(), id.clone()];
        let lineages = self.lineages(ids.clone()).await?;
        let mut roots = lineages.into_iter().zip(ids).map(|(lineage, id)| lineage.root.unwrap_or(id));
        Ok(roots.next() == roots.next())
    }

    /// Whether the thread is below this one, at any depth.
    async fn is_below(&self, id: &ThreadId) -> Result<bool, String> {
        let mut id = id.clone();
        for _ in 0..MOST_LEVELS {
            let lineage = self.lineages(vec![id]).await?.pop();
            match lineage.and_then(|lineage| lineage.parent) {
                Some(parent) if parent == self.thread => return Ok(true),
                Some(parent) => id = parent,
                None => return Ok(false),
            }
        }
        Ok(false)
    }
}

/// No tree is looked through that is deeper.
const MOST_LEVELS: usize = 64;

/// What a thread is started with that is given nothing but its directive and inputs.
fn first() -> Command {
    Command::Submit {
        text: String::new(),
        mode: PromptMode::FollowUp,
        images: Vec::new(),
        files: Vec::new(),
        client: None,
    }
}

/// `team/review-17: running, 2 turns, $0.01`
fn line(child: &ThreadId, state: &State) -> String {
    let State { status, waiting, cost, .. } = state;
    let turns = if cost.turns == 1 { "turn" } else { "turns" };
    format!("{child}: {}, {} {turns}, {}", status.told(*waiting), cost.turns, cost.spend)
}

/// Cancels a child for which nobody waits any more.
struct StopOnDrop {
    running: Option<Running>,
}

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            let handle = running.handle();
            drop(tokio::spawn(async move {
                let scope = CancelScope::Thread;
                // It may have ended by itself.
                let _ended_already = handle.ask(Command::Cancel { scope }).await;
            }));
        }
    }
}

impl Threads for ThreadsOf {
    fn start<'a>(
        &'a self,
        request: ChildRequest,
        listener: &'a dyn ToolListener,
    ) -> Waiting<'a, Result<ChildStarted, String>> {
        Box::pin(self.start_child(request, listener))
    }

    fn transcript(&self, id: ThreadId) -> Waiting<'_, Result<String, String>> {
        Box::pin(async move {
            let read = move |layout: &Layout| crate::store::attachment::transcript_of(layout, &id);
            self.orchestrator.off_loop(read).await?
        })
    }

    fn operate(&self, operation: Operation) -> Waiting<'_, Result<Value, String>> {
        Box::pin(async move {
            for id in operation.threads() {
                if *id == self.thread {
                    return Err(format!("{id} is this thread itself"));
                }
                if !self.is_near(id).await? {
                    return Err(format!("{id} is not of the tree of threads that this one is of"));
                }
            }
            match &operation {
                // A message of a person's allows more: no thread says that for another.
                Operation::ResumeThread { .. } => {
                    return Err("only a person resumes a thread; start a new one by thread_directive".to_owned());
                }
                Operation::CancelThread { thread_id }
                | Operation::KillThread { thread_id }
                | Operation::HandoffThread { thread_id } => {
                    if !self.is_below(thread_id).await? {
                        return Err(format!("{thread_id} is not below this thread"));
                    }
                }
                Operation::WaitThreads { .. }
                | Operation::GetStatus { .. }
                | Operation::ListActive {}
                | Operation::AggregateResults { .. }
                | Operation::GetChain { .. }
                | Operation::ChainSearch { .. }
                | Operation::ReadTranscript { .. } => {}
            }
            let mut answer = self.orchestrator.operate(operation).await?;
            if let Some(active) = answer.get_mut("active_threads").and_then(Value::as_array_mut) {
                let mut near = Vec::new();
                for row in std::mem::take(active) {
                    let id = row["thread_id"].as_str().and_then(|id| id.parse::<ThreadId>().ok());
                    let is_near = match id {
                        Some(id) => self.is_near(&id).await.unwrap_or(false),
                        None => false,
                    };
                    if is_near {
                        near.push(row);
                    }
                }
                answer["count"] = near.len().into();
                answer["active_threads"] = near.into();
            }
            Ok(answer)
        })
    }
}
