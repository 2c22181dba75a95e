//! What people are told about a thread beside what was said in it: one line for an event, the same wherever it is read.

use super::amount::{Money, Tokens};
use super::control::Control;
use super::event::{Approve, CancelScope, EndReason, Event};
use super::status::{Cost, LimitKind, Limits};

/// A line about a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    pub kind: NoteKind,
    pub text: String,
}

/// What a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoteKind {
    /// What the context was made from.
    Context,
    Info,
    Warning,
    Error,
    /// A limit was reached.
    Limit,
    /// Someone stopped it.
    Stopped,
    Completed,
}

impl NoteKind {
    /// The sign before the line where there are no colours.
    #[must_use]
    pub fn sign(self) -> &'static str {
        match self {
            Self::Context | Self::Info => "·",
            Self::Warning => "!",
            Self::Error => "✗",
            Self::Limit => "○",
            Self::Stopped => "■",
            Self::Completed => "✓",
        }
    }
}

impl Event {
    /// What people are told of the event. Nothing of one whose content is shown itself (what was said, calls and their
    /// results), and of one that only changes how the thread stands, which state and lists tell.
    #[must_use]
    pub fn note(&self) -> Option<Note> {
        let (kind, text) = match self {
            Self::ErrorClassified { attempt, error, .. } => {
                (NoteKind::Error, format!("attempt {attempt} failed: {} ({})", error.message, error.code))
            }
            Self::RetryScheduled { attempt, delay_ms, .. } => {
                (NoteKind::Info, format!("attempt {attempt} follows in {}", seconds(*delay_ms)))
            }
            Self::SystemPrompt { text, .. } => {
                (NoteKind::Context, format!("system text: ~{} tokens", Tokens::estimate(text)))
            }
            Self::ContextInjected { before, after, .. } => {
                let names: Vec<_> = before.iter().chain(after).map(String::as_str).collect();
                if names.is_empty() {
                    return None;
                }
                (NoteKind::Context, format!("put around the prompt: {}", names.join(", ")))
            }
            Self::LogRepaired { cut_bytes, at_offset } => {
                let text = format!("the log was repaired: {cut_bytes} torn bytes at {at_offset} were cut off");
                (NoteKind::Warning, text)
            }
            Self::ModelChanged { model } => (NoteKind::Info, format!("from here on {model} answers")),
            Self::LimitsChanged { limits } => (NoteKind::Info, format!("limits are now {}", limits_in_words(limits))),
            Self::Limit { code, current, maximum } => (NoteKind::Limit, limit_in_words(*code, *current, *maximum)),
            Self::HookDecided { event, hook: Some(hook), action: Some(action), .. } if *action != Control::Retry => {
                (NoteKind::Info, format!("the hook {hook} answers {event}: {}", action.word()))
            }
            Self::ContextWindowPressure { usage_ratio, .. } => {
                (NoteKind::Warning, format!("the context takes {} of the window", percent(*usage_ratio)))
            }
            Self::ContextLimitReached { usage_ratio, .. } => {
                (NoteKind::Limit, format!("the context takes {} of the window: making room", percent(*usage_ratio)))
            }
            Self::ContextCompacted { summarised, dropped, tokens_before, tokens_after, reason, .. } => {
                let tokens = (*tokens_before, *tokens_after);
                (NoteKind::Context, room_in_words(*summarised, *dropped, tokens, reason.as_deref()))
            }
            Self::ThreadSuspended { reason, .. } => (NoteKind::Limit, format!("suspended: {reason}")),
            Self::CancelRequested { scope: CancelScope::Thread | CancelScope::Kill } => {
                (NoteKind::Stopped, "the thread was asked to stop".to_owned())
            }
            Self::TurnCancelled { after_ms } => (NoteKind::Info, format!("stopped {after_ms} ms after the interrupt")),
            Self::WorkerEnded { reason: EndReason::Signal } => {
                (NoteKind::Warning, "the worker was ended by a signal".to_owned())
            }
            Self::ThreadCompleted { cost } => (NoteKind::Completed, format!("completed: {}", cost_in_words(cost))),
            Self::ThreadError { error, cost } => {
                (NoteKind::Error, format!("the thread ended with an error: {error} ({})", cost_in_words(cost)))
            }
            Self::ThreadCancelled { cost } => (NoteKind::Stopped, format!("cancelled: {}", cost_in_words(cost))),
            Self::ThreadKilled { cost } => (NoteKind::Stopped, format!("killed: {}", cost_in_words(cost))),
            Self::ApprovalGiven { decision: Approve::Thread, .. } => {
                (NoteKind::Info, "allowed for the rest of this thread".to_owned())
            }
            Self::ApprovalGiven { decision: Approve::Always, .. } => {
                (NoteKind::Info, "allowed from here on in every thread of this project".to_owned())
            }
            Self::PermissionsSet { grants, .. } => {
                (NoteKind::Info, format!("what the thread may do changed: {} grants", grants.len()))
            }
            Self::PersonaChanged { persona: Some(persona) } => {
                (NoteKind::Info, format!("persona is now {}", persona.name))
            }
            Self::PersonaChanged { persona: None } => (NoteKind::Info, "no persona any more".to_owned()),
            Self::Notice { text } => (NoteKind::Info, text.clone()),
            Self::ThreadStarted { .. }
            | Self::WorkerStarted { .. }
            | Self::WorkerEnded { .. }
            | Self::ClockJumped { .. }
            | Self::PromptQueued { .. }
            | Self::PromptWithdrawn { .. }
            | Self::QueueArranged { .. }
            | Self::CognitionIn { .. }
            | Self::CognitionOut { .. }
            | Self::CognitionReasoning { .. }
            | Self::TokenDelta { .. }
            | Self::RequestRecorded { .. }
            | Self::RetryDue { .. }
            | Self::RulesSet { .. }
            | Self::HookDecided { .. }
            | Self::CompactRequested {}
            | Self::DirectiveReturn { .. }
            | Self::ApprovalRequested { .. }
            | Self::ApprovalGiven { .. }
            | Self::PermissionDenied { .. }
            | Self::ToolCallStart { .. }
            | Self::ToolProcess { .. }
            | Self::ToolCallResult { .. }
            | Self::ShellStarted { .. }
            | Self::ShellEnded { .. }
            | Self::CancelRequested { .. }
            | Self::CallCharged { .. }
            | Self::Unknown { .. } => return None,
        };
        Some(Note { kind, text })
    }
}

/// `0.4 s`, `12 s`, `3 min 20 s`.
#[must_use]
pub fn seconds(milliseconds: u64) -> String {
    match milliseconds {
        0..10_000 => format!("{}.{} s", milliseconds / 1_000, milliseconds % 1_000 / 100),
        10_000..60_000 => format!("{} s", milliseconds / 1_000),
        _ => format!("{} min {} s", milliseconds / 60_000, milliseconds % 60_000 / 1_000),
    }
}

fn cost_in_words(cost: &Cost) -> String {
    let word = if cost.turns == 1 { "turn" } else { "turns" };
    let unpriced = if cost.unpriced { " and unpriced answers" } else { "" };
    format!("{} {word}, {} tokens, {}{unpriced}", cost.turns, cost.usage.total(), cost.spend)
}

fn limits_in_words(limits: &Limits) -> String {
    let parts = [
        limits.turns.map(|turns| format!("{turns} turns")),
        limits.tokens.map(|tokens| format!("{tokens} tokens")),
        limits.spend.map(|spend| spend.to_string()),
        limits.duration_seconds.map(|duration| seconds(duration.saturating_mul(1_000))),
    ];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
}

/// `82 %`
fn percent(ratio: f64) -> String {
    format!("{:.0} %", ratio * 100.0)
}

fn room_in_words(summarised: usize, dropped: usize, tokens: (Tokens, Tokens), reason: Option<&str>) -> String {
    let (before, after) = tokens;
    match (summarised, dropped, reason) {
        (0, 0, reason) => format!("no room was made: {}", reason.unwrap_or("nothing is older")),
        (0, dropped, reason) => {
            let why = reason.map(|reason| format!(", without a summary: {reason}")).unwrap_or_default();
            format!("{dropped} earlier messages are left out from here on (~{before} → ~{after} tokens){why}")
        }
        (summarised, 0, _) => {
            format!("{summarised} earlier messages are summarised from here on (~{before} → ~{after} tokens)")
        }
        (summarised, dropped, _) => format!(
            "{summarised} earlier messages are summarised and {dropped} left out from here on (~{before} → ~{after} tokens)"
        ),
    }
}

fn limit_in_words(code: LimitKind, current: u64, maximum: u64) -> String {
    let money = |micro: u64| Money(i64::try_from(micro).unwrap_or(i64::MAX)).to_string();
    let (what, current, maximum) = match code {
        LimitKind::Turns => ("turns", current.to_string(), maximum.to_string()),
        LimitKind::Tokens => ("tokens", Tokens(current).to_string(), Tokens(maximum).to_string()),
        LimitKind::Spend => ("spend", money(current), money(maximum)),
        LimitKind::Duration => ("seconds", current.to_string(), maximum.to_string()),
    };
    format!("limit reached: {current} of {maximum} {what} ({})", code.code())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Persona;

    #[test]
    fn what_is_shown_itself_has_no_note() {
        let said = Event::CognitionIn { text: "hi".into(), role: "user".into(), prompt: None, images: Vec::new() };
        assert_eq!(said.note(), None);
        let persona = Persona { name: "critic".into(), text: "You look closely.".into() };
        assert_eq!(Event::PersonaChanged { persona: Some(persona) }.note().unwrap().text, "persona is now critic");
        let cost = Cost { turns: 1, unpriced: true, ..Cost::default() };
        let ended = Event::ThreadKilled { cost }.note().unwrap();
        assert_eq!((ended.kind, ended.kind.sign()), (NoteKind::Stopped, "■"));
        assert_eq!(ended.text, "killed: 1 turn, 0 tokens, $0.00 and unpriced answers");
    }

    #[test]
    fn times_are_short() {
        assert_eq!(seconds(430), "0.4 s");
        assert_eq!(seconds(12_345), "12 s");
        assert_eq!(seconds(200_000), "3 min 20 s");
    }
}
