//! What the model is told beside what was said, and room for it in the window.

use crate::domain::amount::{Money, Tokens, Usage};
use crate::domain::assembly::Piece;
use crate::domain::id::ThreadId;
use crate::domain::message::Message;
use crate::domain::note::{Note, NoteKind, percent, room_in_words, taken_over_in_words};
use crate::domain::pipeline::Step;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use strum::VariantNames;

/// What the model is told beside what was said, and room for it in the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, VariantNames)]
#[serde(tag = "event_type", content = "payload", rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ContextEvent {
    /// The system text of the coming request, when it differs from the one before.
    SystemPrompt { text: String, layers: Vec<String> },
    /// What opens the first message, around the directive: `before` and `after` name the sources, `layers` holds
    /// every candidate with its text, so that each later request begins the same.
    ContextInjected {
        before: Vec<String>,
        after: Vec<String>,
        #[serde(default)]
        layers: Vec<Piece>,
    },
    /// The coming request takes a large share of the model's window.
    ContextWindowPressure { usage_ratio: f64, tokens_used: Tokens, tokens_limit: Tokens },
    /// The coming request fills the model's window, or the provider refused it as too long.
    ContextLimitReached { usage_ratio: f64, tokens_used: Tokens, tokens_limit: Tokens },
    /// Someone asked for room in the window.
    CompactRequested {
        /// What the summary is to look at.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instructions: Option<String>,
    },
    /// Someone asked that another thread goes on.
    HandoffRequested {},
    /// Someone goes on from an earlier place, and wants what was said behind it in short. It is asked for by the coming request.
    BranchSummaryRequested {
        /// The thread in which it was said.
        from: ThreadId,
    },
    /// What was said behind that place, in short: it joins the conversation with the next prompt.
    BranchSummarised {
        from: ThreadId,
        /// What the model is told; nothing where there is no summary.
        summary: String,
        /// The request that asked for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<u32>,
        #[serde(default)]
        usage: Usage,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spend: Option<Money>,
        /// Why there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// It goes on with what was said in another thread, whose window was full. First of its messages; what surrounds the
    /// conversation comes behind them.
    ContextInherited {
        from: ThreadId,
        /// The summary of what is not here, and the newest messages as they were there.
        messages: Vec<Message>,
        /// So many of that thread's are in the summary.
        summarised: usize,
        /// So many are not.
        dropped: usize,
    },
    /// Older messages have given way to `summary` in later requests. The log keeps them.
    ContextCompacted {
        /// What the model is told instead of them.
        summary: String,
        /// So many of the newest messages stay as they are.
        kept: usize,
        /// So many went into the summary.
        summarised: usize,
        /// So many were left out without being read.
        dropped: usize,
        tokens_before: Tokens,
        /// Estimated.
        tokens_after: Tokens,
        /// The request that asked for the summary.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<u32>,
        #[serde(default)]
        usage: Usage,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spend: Option<Money>,
        /// Why there is no summary.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// What handlers did of whom no request tells.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        steps: Vec<Step>,
        /// What the handler that made the summary leaves with it, for itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<Value>,
    },
}

/// What was put around the prompt: how many items, how large, how many were left out, and which it is.
fn injected(names: &[&str], layers: &[Piece], out: usize) -> String {
    let items = if names.len() == 1 { "1 item".to_owned() } else { format!("{} items", names.len()) };
    let is_named = |piece: &&Piece| piece.is_included() && names.contains(&piece.id.as_str());
    let tokens: Tokens = layers.iter().filter(is_named).map(|piece| Tokens::estimate(&piece.text)).sum();
    let size = if tokens > Tokens(0) { format!(", ~{tokens} tokens") } else { String::new() };
    let out = if out > 0 { format!(", {out} left out") } else { String::new() };
    let names = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
    format!("context injected: {items}{size}{out}{names}")
}

impl ContextEvent {
    /// See [`super::Event::is_critical`].
    pub(super) fn is_critical(&self) -> bool {
        matches!(
            self,
            Self::CompactRequested { .. }
                | Self::BranchSummaryRequested { .. }
                | Self::HandoffRequested { .. }
                | Self::ContextInherited { .. }
        )
    }

    /// See [`super::Event::note`].
    pub(super) fn note(&self) -> Option<Note> {
        let (kind, text) = match self {
            Self::SystemPrompt { text, .. } => {
                (NoteKind::Context, format!("system prompt: ~{} tokens", Tokens::estimate(text)))
            }
            Self::ContextInjected { before, after, layers } => {
                let names: Vec<_> = before.iter().chain(after).map(String::as_str).collect();
                let out = layers.iter().filter(|piece| !piece.is_included()).count();
                if names.is_empty() && out == 0 {
                    return None;
                }
                (NoteKind::Context, injected(&names, layers, out))
            }
            Self::ContextWindowPressure { usage_ratio, .. } => {
                (NoteKind::Warning, format!("the context takes {} of the window", percent(*usage_ratio)))
            }
            Self::ContextLimitReached { usage_ratio, .. } => {
                (NoteKind::Limit, format!("the context takes {} of the window: compacting", percent(*usage_ratio)))
            }
            Self::ContextCompacted { summarised, dropped, tokens_before, tokens_after, reason, .. } => {
                let tokens = (*tokens_before, *tokens_after);
                (NoteKind::Context, room_in_words(*summarised, *dropped, tokens, reason.as_deref()))
            }
            Self::ContextInherited { from, messages: all, summarised, dropped } => {
                // The first tells where it comes from.
                let kept = all.len().saturating_sub(1);
                let taken = taken_over_in_words(kept, *summarised, *dropped, None);
                (NoteKind::Context, format!("continues {from}: {taken}"))
            }
            Self::BranchSummarised { from, summary, reason, .. } => match reason {
                Some(why) => (NoteKind::Warning, format!("there is no summary of the branch in {from}: {why}")),
                None => (NoteKind::Context, summary.clone()),
            },
            Self::CompactRequested { .. } | Self::BranchSummaryRequested { .. } | Self::HandoffRequested { .. } => {
                return None;
            }
        };
        Some(Note { kind, text })
    }
}
