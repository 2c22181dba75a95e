//! Putting a request together: the plan is made once, what holds now is looked at before each call.

use super::Audience;
use super::run::Driver;
use crate::context::{Parts, Plan, Start, State, Surroundings, assemble};
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

    /// What is around the thread now, as far as `state` wants to know. Answers within a quarter of a second, or as soon
    /// as the commands among `state` have answered or are out of time.
    fn surroundings<'a>(&'a self, _state: &'a [State]) -> Pin<Box<dyn Future<Output = Surroundings> + Send + 'a>> {
        Box::pin(ready(Surroundings::default()))
    }
}

/// A plan that was made before.
impl Planner for Plan {
    fn plan(&self, _start: &Start) -> Result<Plan, String> {
        Ok(self.clone())
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
        let surroundings = if plan.state.iter().any(State::needs_surroundings) {
            self.settings.planner.surroundings(&plan.state).await
        } else {
            Surroundings::default()
        };
        if let Some(message) = plan.state.iter().find_map(|state| state.failure(&surroundings)) {
            return Err(no_context(message));
        }
        let surroundings = Surroundings { persona: self.thread.persona.clone(), ..surroundings };
        let state = plan.state(&surroundings);
        let opening = self.thread.opening.as_deref().map_or(&[][..], Vec::as_slice);
        Ok(assemble(&Parts { system: &plan.system, opening, state: &state, history: &self.thread.history }))
    }

    async fn planned(&mut self) -> Result<Arc<Plan>, CallError> {
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
            Err(message) => Err(no_context(message)),
        }
    }
}

/// Nothing can be sent, because what belongs to it is not there.
fn no_context(message: String) -> CallError {
    let (category, code) = (ErrorCategory::Permanent, "no_context".into());
    CallError { category, code, message, status: None, retry_after_ms: None }
}
