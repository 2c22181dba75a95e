//! Where a thread can go on in more than one way: what hooks are asked, and what follows from each answer.

use super::effect::Effect;
use super::handoff::make_room;
use super::room::{CompactionCause, Handoff};
use super::state::{ControlPoint, Phase, ReturnState, Returned, Share, Thread};
use super::turn::{prepare_anyway, start_turn, take_prompts};
use crate::domain::{
    Control, ControlEvent, Event, LimitKind, LimitSource, Money, RequestEvent, Status, ThreadEvent, ThreadKind,
};
use crate::engine::retry;
use serde_json::{Value, json};

impl Share {
    fn fields(self) -> Value {
        let Self { ratio, used, limit } = self;
        json!({"usage_ratio": ratio, "pressure_ratio": ratio, "tokens_used": used, "tokens_limit": limit})
    }

    /// As a person reads it.
    fn percent(self) -> String {
        format!("{:.0} %", self.ratio * 100.0)
    }
}

impl Thread {
    /// Whether hooks are asked about a limit that whoever started the thread set, or that is what a parent has left: its own
    /// directive's hooks do not let it past that.
    #[must_use]
    pub fn asks_past_its_starter(&self) -> bool {
        let Phase::Asking(question) = &self.phase else { return false };
        let ControlPoint::Limit { code, .. } = **question else { return false };
        matches!(self.limits_by.of(code), Some(LimitSource::Override | LimitSource::Parent))
    }
}

impl ControlPoint {
    /// The event whose hooks are asked.
    pub(super) fn event(&self) -> &'static str {
        match self {
            Self::Failed { .. } => "error",
            Self::Limit { .. } => "limit",
            Self::Step => "after_step",
            Self::Pressure { .. } => "context_window_pressure",
            Self::Full { .. } => "context_limit_reached",
            Self::Returned(_) => "directive_return",
            Self::Completion { .. } => "after_complete",
        }
    }

    /// What conditions can test beside the fields that every event has.
    fn fields(&self, thread: &Thread) -> Value {
        let mut fields = match self {
            Self::Failed { attempt, error, .. } => {
                let meaning = retry::meaning(&thread.rules, error);
                json!({
                    "error": {
                        "type": error.code,
                        "code": error.code,
                        "message": error.message,
                        "status": error.status,
                        "retry_after_seconds": error.retry_after_ms.map(|pause| pause.div_ceil(1_000)),
                    },
                    "classification": {
                        "id": meaning.id,
                        "code": meaning.id,
                        "category": meaning.category,
                        "retryable": meaning.retryable,
                        "retry_policy": meaning.pause,
                    },
                    "attempt": attempt,
                    "max_attempts": thread.rules.retry.max_attempts,
                })
            }
            Self::Limit { code, current, maximum, .. } => {
                json!({"limit_code": code, "current_value": current, "current_max": maximum})
            }
            Self::Pressure { share, .. } | Self::Full { share, .. } => share.fields(),
            Self::Returned(Returned { outputs, .. }) => json!({"outputs": outputs}),
            Self::Completion { error } => json!({
                "status": if error.is_some() { Status::Error } else { Status::Completed },
                "error": error.as_ref().map(|message| json!({"message": message})),
                "continuation_thread_id": thread.successor.as_ref().map(ToString::to_string),
            }),
            Self::Step => json!({}),
        };
        let cost = &thread.cost;
        if let Value::Object(fields) = &mut fields {
            let spend = cost.spend.dollars();
            let told = json!({
                "turns": cost.turns,
                "input_tokens": cost.usage.total().0.saturating_sub(cost.usage.output.0),
                "output_tokens": cost.usage.output,
                "tokens": cost.usage.total(),
                "spend": spend,
                "current": spend,
                "elapsed_seconds": cost.elapsed_ms / 1_000,
            });
            fields.insert("cost".to_owned(), told);
            fields.insert("loop_count".to_owned(), json!(cost.turns));
            fields.insert("model".to_owned(), json!(thread.model.to_string()));
            fields.insert("thread_id".to_owned(), json!(thread.id.to_string()));
            fields.insert("state".to_owned(), thread.kept.value());
        }
        fields
    }

    /// What happened, as the reason why a thread goes no further.
    fn reason(&self) -> String {
        match self {
            Self::Failed { error, .. } => error.message.clone(),
            Self::Limit { code, current, maximum, .. } => reached(*code, *current, *maximum),
            Self::Step => "a turn of tool calls has ended".to_owned(),
            Self::Pressure { share, .. } | Self::Full { share, .. } => {
                format!("the context takes {} of the window", share.percent())
            }
            Self::Returned(_) => "the directive has returned".to_owned(),
            Self::Completion { .. } => "the thread has completed its task".to_owned(),
        }
    }
}

/// `25 of 25 turns are used`
fn reached(code: LimitKind, current: u64, maximum: u64) -> String {
    if code == LimitKind::Spend {
        let money = |micro: u64| Money(i64::try_from(micro).unwrap_or(i64::MAX));
        return format!("{} of {} are spent", money(current), money(maximum));
    }
    format!("{current} of {maximum} {} are used", code.thing())
}

/// Asks the hooks, where there are any; else the thread goes on by itself.
pub(super) fn ask(thread: &mut Thread, question: ControlPoint) -> Vec<Effect> {
    let event = question.event();
    if !thread.rules.asks.iter().any(|asked| asked == event) {
        return answer(thread, question, None, None);
    }
    let fields = question.fields(thread);
    thread.phase = Phase::Asking(Box::new(question));
    vec![Effect::AskHooks { event, fields }]
}

/// Goes on as the hooks say.
pub(super) fn decided(thread: &mut Thread, action: Option<Control>, hook: Option<&str>, why: &str) -> Vec<Effect> {
    let phase = std::mem::replace(&mut thread.phase, Phase::Idle);
    if let Phase::Asking(question) = phase {
        let by = hook.map(|hook| format!("the hook `{hook}`"));
        return answer(thread, *question, action, by);
    }
    if let Phase::Hooks(run) = phase {
        // Which of its calls it was.
        let by = hook.map(|hook| format!("the hook `{hook}`: {why}"));
        return answer(thread, run.point, action, by);
    }
    thread.phase = phase;
    tracing::warn!(thread = %thread.id, ?hook, "an answer of hooks that nobody waits for");
    Vec::new()
}

fn answer(thread: &mut Thread, question: ControlPoint, action: Option<Control>, by: Option<String>) -> Vec<Effect> {
    // Another thread goes on already, whatever hooks say.
    if let (ControlPoint::Completion { error: None }, Some(next)) = (&question, &thread.successor) {
        let (cost, new_thread_id) = (thread.cost, next.clone());
        return vec![Effect::Emit(Event::Thread(ThreadEvent::ThreadContinued { cost, new_thread_id }))];
    }
    // It has failed, whatever hooks say.
    if let ControlPoint::Completion { error: Some(error) } = question {
        return failed(thread, error);
    }
    match action {
        Some(Control::Suspend | Control::Escalate) => return suspend(thread, question),
        Some(Control::Abort) => {
            push_partial(thread, question);
            thread.phase = Phase::Idle;
            return vec![Effect::Emit(Event::Thread(ThreadEvent::ThreadCancelled { cost: thread.cost }))];
        }
        Some(Control::Fail) => {
            let by = by.map(|by| format!(" (ended by {by})")).unwrap_or_default();
            let error = match &question {
                ControlPoint::Failed { error, .. } => error.message.clone(),
                ControlPoint::Limit { .. }
                | ControlPoint::Step
                | ControlPoint::Pressure { .. }
                | ControlPoint::Full { .. }
                | ControlPoint::Returned(_)
                | ControlPoint::Completion { .. } => format!("{}{by}", question.reason()),
            };
            let was_asked = matches!(question, ControlPoint::Completion { .. });
            push_partial(thread, question);
            return if was_asked { failed(thread, error) } else { fail(thread, error) };
        }
        None | Some(Control::Retry | Control::Continue | Control::Skip) => {}
    }
    let onward = matches!(action, Some(Control::Continue | Control::Skip));
    match question {
        // The turn is given up, and that is all.
        failed @ ControlPoint::Failed { .. } if onward => {
            push_partial(thread, failed);
            take_prompts(thread, true)
        }
        ControlPoint::Failed { attempt, error, partial } => {
            let asked = action == Some(Control::Retry);
            try_again(thread, asked, ControlPoint::Failed { attempt, error, partial })
        }
        ControlPoint::Limit { attempt, .. } if action.is_some() => prepare_anyway(thread, attempt),
        ControlPoint::Limit { code, current, maximum, .. } => stop_at_limit(thread, code, current, maximum),
        ControlPoint::Step => start_turn(thread, 1),
        ControlPoint::Pressure { attempt, .. } => prepare_anyway(thread, attempt),
        ControlPoint::Full { attempt, .. } if action == Some(Control::Skip) => {
            thread.made_room = true;
            prepare_anyway(thread, attempt)
        }
        ControlPoint::Full { attempt, .. } => {
            // A thread that has just begun with what another handed to it would hand the same to a third.
            let hands_off = thread.rules.window.is_some_and(|window| window.hands_off) && thread.cost.turns > 0;
            let handoff = if hands_off { Handoff::Full } else { Handoff::No };
            make_room(thread, CompactionCause::ForRequest { attempt }, handoff)
        }
        // Another round, with the answer that it was taken.
        ControlPoint::Returned(_) if action.is_some() => start_turn(thread, 1),
        ControlPoint::Returned(Returned { error: Some(error), .. }) if thread.kind == ThreadKind::OneShot => {
            fail(thread, error)
        }
        ControlPoint::Returned(_) => {
            thread.handing = ReturnState::Done;
            take_prompts(thread, true)
        }
        ControlPoint::Completion { .. } => {
            vec![Effect::Emit(Event::Thread(ThreadEvent::ThreadCompleted { cost: thread.cost }))]
        }
    }
}

/// The thread ends in `error`; of a one-shot thread `after_complete` tells hooks so before.
pub(super) fn fail(thread: &mut Thread, error: String) -> Vec<Effect> {
    match thread.kind {
        ThreadKind::Interactive => failed(thread, error),
        ThreadKind::OneShot => ask(thread, ControlPoint::Completion { error: Some(error) }),
    }
}

fn failed(thread: &mut Thread, error: String) -> Vec<Effect> {
    thread.phase = Phase::Idle;
    vec![Effect::Emit(Event::Thread(ThreadEvent::ThreadError { cost: thread.cost, error }))]
}

/// Another try, as often as the rules allow: because a hook asked for it, or because such failures may pass.
fn try_again(thread: &mut Thread, asked: bool, question: ControlPoint) -> Vec<Effect> {
    let ControlPoint::Failed { attempt, error, .. } = &question else { return Vec::new() };
    let meaning = retry::meaning(&thread.rules, error);
    let wanted = asked || meaning.retryable;
    if let Some(delay_ms) = retry::next_try(&thread.rules, error, *attempt).filter(|_| wanted) {
        let classification = Some(meaning.id.to_owned());
        return vec![Effect::Emit(Event::Request(RequestEvent::RetryScheduled {
            attempt: attempt + 1,
            delay_ms,
            classification,
        }))];
    }
    let error = error.message.clone();
    push_partial(thread, question);
    match thread.kind {
        // The person reads the error and decides.
        ThreadKind::Interactive => wait_for_person(thread),
        ThreadKind::OneShot => fail(thread, error),
    }
}

fn stop_at_limit(thread: &mut Thread, code: LimitKind, current: u64, maximum: u64) -> Vec<Effect> {
    match thread.kind {
        ThreadKind::Interactive => wait_for_person(thread),
        ThreadKind::OneShot => fail(thread, format!("Limit exceeded: {} ({current}/{maximum})", code.code())),
    }
}

/// A person decides how to go on, also about what waits in the queue: they are told that it waits.
fn wait_for_person(thread: &mut Thread) -> Vec<Effect> {
    thread.phase = Phase::Idle;
    let waits = match thread.queue.len() {
        0 => return Vec::new(),
        1 => "1 message waits".to_owned(),
        count => format!("{count} messages wait"),
    };
    let text = format!("{waits} in the queue; send another to continue, or take it back");
    vec![Effect::Emit(Event::Thread(ThreadEvent::Notice { text }))]
}

/// The thread waits for a person, who is told why and how to go on.
fn suspend(thread: &mut Thread, question: ControlPoint) -> Vec<Effect> {
    let limit = if let ControlPoint::Limit { code, .. } = &question { Some(*code) } else { None };
    let onward = match &question {
        ControlPoint::Limit { .. } => "send a message to allow as much again",
        ControlPoint::Full { .. } => "use /compact, then send a message to continue",
        ControlPoint::Failed { .. }
        | ControlPoint::Step
        | ControlPoint::Pressure { .. }
        | ControlPoint::Returned(_)
        | ControlPoint::Completion { .. } => "send a message to continue",
    };
    let reason = format!("{}; {onward}", question.reason());
    push_partial(thread, question);
    thread.phase = Phase::Idle;
    vec![Effect::Emit(Event::Control(ControlEvent::ThreadSuspended { cost: thread.cost, reason, limit }))]
}

/// Only when nothing more will be tried does the model see its own unfinished words again.
fn push_partial(thread: &mut Thread, question: ControlPoint) {
    if let ControlPoint::Failed { partial: Some(partial), .. } = question {
        thread.push_entry(partial);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::event::CallError;
    use crate::domain::event::ErrorCategory;
    use crate::domain::{Limits, ModelRef, ThreadId, Tokens, hook_fields};

    /// The paths to everything in `value` that is no object.
    fn paths(value: &Value, above: &str) -> Vec<String> {
        let Value::Object(map) = value else { return vec![above.to_owned()] };
        let below = |name: &str| if above.is_empty() { name.to_owned() } else { format!("{above}.{name}") };
        map.iter().flat_map(|(name, value)| paths(value, &below(name))).collect()
    }

    #[test]
    fn every_field_of_a_control_point_is_listed_and_every_one_listed_is_there() {
        let model = ModelRef::new("scripted", "demo");
        let thread = Thread::new(ThreadId::new("t", 1), "t", ThreadKind::OneShot, model, Limits::default());
        let error = CallError {
            category: ErrorCategory::Transient,
            code: "x".into(),
            message: "it broke".into(),
            status: Some(500),
            retry_after_ms: Some(5_000),
        };
        let share = Share { ratio: 0.9, used: Tokens(9), limit: Tokens(10) };
        let points = [
            ControlPoint::Failed { attempt: 1, error, partial: None },
            ControlPoint::Limit { code: LimitKind::Turns, current: 1, maximum: 1, attempt: 1 },
            ControlPoint::Step,
            ControlPoint::Pressure { share, attempt: 1 },
            ControlPoint::Full { share, attempt: 1 },
            ControlPoint::Completion { error: Some("it broke".into()) },
        ];
        for point in points {
            let (event, fields) = (point.event(), point.fields(&thread));
            for path in paths(&fields, "") {
                assert!(hook_fields::is_known(event, &path), "{event} has {path}, which is not listed");
            }
            for name in hook_fields::of(event).filter(|name| !hook_fields::is_known("thread_started", name)) {
                let pointer = format!("/{}", name.trim_end_matches(".*").replace('.', "/"));
                assert!(fields.pointer(&pointer).is_some(), "{event} lists {name}, which is not there: {fields}");
            }
        }
    }
}
