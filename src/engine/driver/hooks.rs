//! Asking hooks how a thread is to go on. What they answer is recorded, so a log replays without them.

use super::Audience;
use super::prepare_error::PrepareError;
use super::run::Driver;
use crate::context::control::decide;
use crate::domain::{ControlEvent, Event, Saw, Values};
use crate::engine::thread::Effect;
use serde_json::Value;

impl<A: Audience> Driver<A> {
    /// Asks the hooks of `event` and puts their answer at the head of what is to be done. Where the context cannot be
    /// planned nobody is asked, and the thread does what it does by itself.
    pub(super) async fn ask_hooks(&mut self, event: &'static str, fields: Value) {
        let decided = match self.planned().await {
            Ok(plan) => {
                let all = laid_over(plan.fields.clone(), fields);
                let inputs: Values = all
                    .get("inputs")
                    .and_then(|inputs| serde_json::from_value(inputs.clone()).ok())
                    .unwrap_or_default();
                decide(&plan.hooks, event, &all, &inputs)
            }
            Err(PrepareError::Stopped) => return,
            Err(PrepareError::Failed(error)) => {
                tracing::warn!(%event, error = %error.message, "hooks could not be asked");
                crate::context::control::Decided::default()
            }
        };
        let saw = decided.asked.iter().find(|asked| Some(&asked.hook) == decided.by.as_ref()).map(|asked| &asked.saw);
        let why = match saw {
            None => "no hook had an answer".to_owned(),
            Some(saw) if saw.is_empty() => "it has no condition".to_owned(),
            // A condition may hold because of a test that does not.
            Some(saw) => {
                let told = |saw: &Saw| if saw.holds { saw.to_string() } else { format!("false: {saw}") };
                saw.iter().map(told).collect::<Vec<_>>().join("; ")
            }
        };
        let event = event.to_owned();
        let answer = Event::Control(ControlEvent::HookDecided { event, hook: decided.by, action: decided.answer, why });
        self.todo.push_front(Effect::Emit(answer));
    }
}

/// What is known of the thread, with what is known of the event over it.
fn laid_over(below: Value, above: Value) -> Value {
    match (below, above) {
        (Value::Object(mut below), Value::Object(above)) => {
            below.extend(above);
            Value::Object(below)
        }
        (_, above) => above,
    }
}
