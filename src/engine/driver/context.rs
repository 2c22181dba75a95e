//! Putting a request together: the plan is made once, what holds now is looked at before each call.

use super::Audience;
use super::run::Driver;
use crate::context::{Parts, Plan, Start, Surroundings, assemble};
use crate::domain::event::{CallError, ErrorCategory};
use crate::domain::{Assembly, Event};
use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::Arc;

/// Who plans what surrounds a thread's conversation: reads items and looks around.
pub trait Planner: Send + Sync {
    /// Makes the plan. Reads files, so it is called off the loop.
    ///
    /// # Errors
    /// The sentence a person should read.
    fn plan(&self, start: &Start) -> Result<Plan, String>;

    /// The events at which hooks say how to go on.
    fn asks(&self) -> Vec<String> {
        Vec::new()
    }

    /// What is around the thread now. Answers within a quarter of a second.
    fn surroundings(&self) -> Pin<Box<dyn Future<Output = Surroundings> + Send + '_>> {
        Box::pin(ready(Surroundings::default()))
    }
}

/// A plan that was made before.
impl Planner for Plan {
    fn plan(&self, _start: &Start) -> Result<Plan, String> {
        Ok(self.clone())
    }

    fn asks(&self) -> Vec<String> {
        Plan::asks(self)
    }
}

impl<A: Audience> Driver<A> {
    /// The coming request. The first of a thread fixes how its first message opens, in the log.
    pub(super) async fn assembled(&mut self) -> Result<Assembly, CallError> {
        let plan = self.planned().await?;
        if self.thread.opening.is_none() {
            let (before, after) = plan.injected();
            self.record(Event::ContextInjected { before, after, layers: plan.opening.clone() }).await;
        }
        let surroundings = if plan.state.iter().any(crate::context::State::needs_surroundings) {
            self.settings.planner.surroundings().await
        } else {
            Surroundings::default()
        };
        let state = plan.state(&surroundings);
        let opening = self.thread.opening.as_deref().map_or(&[][..], Vec::as_slice);
        Ok(assemble(&Parts { system: &plan.system, opening, state: &state, history: &self.thread.history }))
    }

    pub(super) async fn planned(&mut self) -> Result<Arc<Plan>, CallError> {
        if let Some(plan) = &self.plan {
            return Ok(Arc::clone(plan));
        }
        let thread = &self.thread;
        let start = Start {
            thread_id: Some(thread.id.clone()),
            ..Start::new(thread.model.clone(), thread.limits, thread.kind)
        };
        let planner = Arc::clone(&self.settings.planner);
        let result = tokio::task::spawn_blocking(move || planner.plan(&start)).await;
        match result.unwrap_or_else(|failed| Err(format!("the context could not be planned: {failed}"))) {
            Ok(plan) => {
                for problem in &plan.problems {
                    tracing::warn!(%problem, "in the context");
                }
                let plan = Arc::new(plan);
                self.plan = Some(Arc::clone(&plan));
                Ok(plan)
            }
            Err(message) => Err(CallError {
                category: ErrorCategory::Permanent,
                code: "no_context".into(),
                message,
                status: None,
                retry_after_ms: None,
            }),
        }
    }
}
