//! What people are told about a thread beside what was said in it: one line for an event, the same wherever it is read.

use super::amount::{Money, Tokens};
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

/// `0.4 s`, `12 s`, `3 min 20 s`.
#[must_use]
pub fn seconds(milliseconds: u64) -> String {
    match milliseconds {
        0..10_000 => format!("{}.{} s", milliseconds / 1_000, milliseconds % 1_000 / 100),
        10_000..60_000 => format!("{} s", milliseconds / 1_000),
        _ => format!("{} min {} s", milliseconds / 60_000, milliseconds % 60_000 / 1_000),
    }
}

pub(super) fn cost_in_words(cost: &Cost) -> String {
    let word = if cost.turns == 1 { "turn" } else { "turns" };
    let unpriced = if cost.unpriced { " and unpriced answers" } else { "" };
    format!("{} {word}, {} tokens, {}{unpriced}", cost.turns, cost.usage.total(), cost.spend)
}

pub(super) fn limits_in_words(limits: &Limits) -> String {
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
pub(super) fn percent(ratio: f64) -> String {
    format!("{:.0} %", ratio * 100.0)
}

/// `1 message`
pub(super) fn messages(count: usize) -> String {
    if count == 1 { "1 message".to_owned() } else { format!("{count} messages") }
}

/// `4 messages kept, 12 summarised, 3 left out: no summary`
pub(super) fn taken_over_in_words(kept: usize, summarised: usize, dropped: usize, reason: Option<&str>) -> String {
    let mut text = format!("{} kept", messages(kept));
    if summarised > 0 {
        text = format!("{text}, {summarised} summarised");
    }
    if dropped > 0 {
        text = format!("{text}, {dropped} left out");
    }
    match reason {
        Some(reason) if dropped > 0 => format!("{text}: {reason}"),
        Some(_) | None => text,
    }
}

pub(super) fn room_in_words(
    summarised: usize,
    dropped: usize,
    tokens: (Tokens, Tokens),
    reason: Option<&str>,
) -> String {
    let (before, after) = tokens;
    match (summarised, dropped, reason) {
        (0, 0, reason) => format!("not compacted: {}", reason.unwrap_or("there are no older messages")),
        (0, dropped, reason) => {
            let why = reason.map(|reason| format!(", without a summary: {reason}")).unwrap_or_default();
            format!("compacted: {dropped} earlier messages left out (~{before} → ~{after} tokens){why}")
        }
        (summarised, 0, _) => {
            format!("compacted: {summarised} earlier messages summarised (~{before} → ~{after} tokens)")
        }
        (summarised, dropped, _) => format!(
            "compacted: {summarised} earlier messages summarised and {dropped} left out (~{before} → ~{after} tokens)"
        ),
    }
}

pub(super) fn limit_in_words(code: LimitKind, current: u64, maximum: u64) -> String {
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
    use crate::domain::{Event, Persona, PromptEvent, SettingsEvent, ThreadEvent};

    #[test]
    fn what_is_shown_itself_has_no_note() {
        let said = Event::Prompt(PromptEvent::CognitionIn {
            text: "hi".into(),
            role: "user".into(),
            prompt: None,
            images: Vec::new(),
            files: Vec::new(),
        });
        assert_eq!(said.note(), None);
        let persona = Persona { name: "critic".into(), text: "You look closely.".into() };
        assert_eq!(
            Event::Settings(SettingsEvent::PersonaChanged { persona: Some(persona) }).note().unwrap().text,
            "persona is now critic"
        );
        let cost = Cost { turns: 1, unpriced: true, ..Cost::default() };
        let ended = Event::Thread(ThreadEvent::ThreadKilled { cost }).note().unwrap();
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
