//! Asking hooks how a thread is to go on. What they answer is recorded, so a log replays without them.

use super::Audience;
use super::prepare_error::PrepareError;
use super::run::Driver;
use crate::context::control::{HookOutcome, HookRuns, decide};
use crate::domain::hook_step::EXECUTE;
use crate::domain::{CallId, ControlEvent, Event, HookCall, HookStep, Saw, ToolCall, Values};
use crate::engine::thread::Effect;
use crate::items::Kind;
use crate::items::hook::Call;
use serde_json::{Value, json};
use std::time::Duration;

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
                decide(&plan.hooks, event, &all, &inputs, self.thread.asks_past_its_starter())
            }
            Err(PrepareError::Stopped) => return,
            Err(PrepareError::Failed(error)) => {
                tracing::warn!(%event, error = %error.message, "hooks could not be asked");
                crate::context::control::Decided::default()
            }
        };
        if decided.asked.iter().any(|asked| !asked.runs.calls.is_empty()) {
            let hooks = steps(decided.asked, self.thread.hook_calls);
            let called = Event::Control(ControlEvent::HooksCalled { event: event.to_owned(), hooks });
            self.todo.push_front(Effect::Emit(called));
            return;
        }
        let saw = decided.asked.iter().find(|asked| Some(&asked.hook) == decided.by.as_ref()).map(|asked| &asked.saw);
        let why = saw.map_or_else(|| "no hook had an answer".to_owned(), |saw| in_words(saw));
        let event = event.to_owned();
        let answer = Event::Control(ControlEvent::HookDecided { event, hook: decided.by, action: decided.answer, why });
        self.todo.push_front(Effect::Emit(answer));
    }
}

/// What a condition saw.
fn in_words(saw: &[Saw]) -> String {
    if saw.is_empty() {
        return "it has no condition".to_owned();
    }
    // A condition may hold because of a test that does not.
    let told = |saw: &Saw| if saw.holds { saw.to_string() } else { format!("false: {saw}") };
    saw.iter().map(told).collect::<Vec<_>>().join("; ")
}

/// How long a call of a hook may take where it does not say: a tool, and a directive in a thread of its own.
const TOOL: Duration = Duration::from_mins(1);
const DIRECTIVE: Duration = Duration::from_mins(10);

/// What the hooks do whose condition holds; `made` calls of hooks were made before.
fn steps(asked: Vec<HookOutcome>, mut made: u64) -> Vec<HookStep> {
    let mut call = |Call { kind, id, params, .. }: Call, timeout: Option<Duration>| {
        made += 1;
        let call_id = CallId(format!("hook-{made}"));
        let (usual, tool, input) = if kind == Kind::Directive {
            let input = json!({"item_type": "directive", "item_id": id, "parameters": params, "thread": "fork"});
            (DIRECTIVE, EXECUTE.to_owned(), input)
        } else {
            (TOOL, id, Value::Object(params))
        };
        let within = timeout.unwrap_or(usual).as_millis();
        HookCall { call: ToolCall { call_id, tool, input }, within_ms: u64::try_from(within).unwrap_or(u64::MAX) }
    };
    let holds =
        asked.into_iter().filter(|asked| asked.holds && (asked.answer.is_some() || !asked.runs.calls.is_empty()));
    let step = |asked: HookOutcome| {
        let HookOutcome { hook, saw, answer: action, runs, .. } = asked;
        let HookRuns { calls, timeout, optional, unheard } = runs;
        let calls = calls.into_iter().map(|made| call(made, timeout)).collect();
        HookStep { hook, why: in_words(&saw), action, calls, optional, unheard }
    };
    holds.map(step).collect()
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
