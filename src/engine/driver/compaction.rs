//! Making room in the window: looking whether it is full, asking for a summary of older messages, and leaving them out
//! where there is none.

use super::Audience;
use super::account::Unfunded;
use super::calls::Call;
use super::prepare_error::PrepareError;
use super::ready::Purpose;
use super::ready::Ready;
use super::run::Driver;
use crate::context::{BuiltRequest, Offer, Parts, RequestBuilder};
use crate::domain::event::{CallError, StopReason};
use crate::domain::{
    Assembly, ContextEvent, Entry, Event, LayerKind, Message, Piece, RequestEvent, Role, ThreadId, ThreadKind, Tokens,
    Usage, WindowRules,
};
use crate::engine::compaction::{cut, cuts, newest, retell};
use crate::engine::retry;
use crate::engine::thread::{CompactionCause, Effect, Handoff, Phase};
use crate::pipeline::{Compact, CompactSettings, Summarised, to_json};
use serde_json::Value;
use std::sync::Arc;

/// The longest summary, in tokens.
const LONGEST_SUMMARY: u64 = 4_000;
/// What is summarised where the window of the model that does it is not known.
const USUAL_WINDOW: Tokens = Tokens(32_000);

/// No conversation is kept that is longer: about 8 MB of text. The largest windows hold as much.
const LONGEST_HISTORY: Tokens = Tokens(2_000_000);

/// Which messages are giving way.
#[derive(Clone, Debug)]
pub(super) struct Compaction {
    /// So many of the oldest.
    from: usize,
    /// So many of them are in the request for the summary.
    summarised: usize,
    before: Tokens,
}

/// A branch of the conversation that was left.
#[derive(Clone, Debug)]
pub(super) struct LeftBranch {
    /// The thread in which it is.
    from: ThreadId,
    /// What was said in it, and what its summary is to look at.
    text: String,
    instructions: Option<String>,
}

impl<A: Audience> Driver<A> {
    /// A person goes on from an earlier place, and wants what was said behind it in short.
    pub(super) async fn ask_for_branch_summary(
        &mut self,
        from: ThreadId,
        text: String,
        instructions: Option<String>,
    ) -> Result<(), String> {
        if !self.thread.can_take() || self.thread.kind != ThreadKind::Interactive {
            return Err("only an idle thread can summarise a branch; stop it first".into());
        }
        if text.trim().is_empty() {
            return Err("nothing was said in that branch".into());
        }
        // Half of the window, as of older messages.
        let model = self.settings.models.quick(&self.thread.model);
        let most = self.settings.models.window(&model).unwrap_or(USUAL_WINDOW);
        let text = newest(&text, Tokens(most.0 / 2)).to_owned();
        self.may_take(&text)?;
        instructions.as_deref().map_or(Ok(()), |instructions| self.may_take(instructions))?;
        self.branch = Some(LeftBranch { from: from.clone(), text, instructions });
        let asked = self.accept(Event::Context(ContextEvent::BranchSummaryRequested { from })).await;
        asked.inspect_err(|_refusal| self.branch = None)
    }

    /// A person wants room, with a summary that looks at what they say.
    pub(super) async fn ask_for_compaction(&mut self, instructions: Option<String>) -> Result<(), String> {
        if !self.thread.can_take() || self.thread.kind != ThreadKind::Interactive {
            return Err("only an idle thread can be compacted; stop it first".into());
        }
        if self.thread.history.is_empty() {
            return Err("there are no messages to compact".into());
        }
        let instructions = instructions.filter(|instructions| !instructions.trim().is_empty());
        instructions.as_deref().map_or(Ok(()), |instructions| self.may_take(instructions))?;
        self.accept(Event::Context(ContextEvent::CompactRequested { instructions })).await
    }

    /// The event to record instead of the request, when that takes too much of the window. `history` is what it tells of
    /// the conversation.
    pub(super) fn crowded(&self, request: &Assembly, history: &[Entry]) -> Option<Event> {
        // Whatever the window is, and whatever its provider counts.
        let tokens_used: Tokens = history.iter().map(|entry| entry.tokens).sum();
        if tokens_used >= LONGEST_HISTORY && !self.thread.made_room {
            let (usage_ratio, tokens_limit) = (1.0, LONGEST_HISTORY);
            return Some(Event::Context(ContextEvent::ContextLimitReached { usage_ratio, tokens_used, tokens_limit }));
        }
        let rules = self.thread.rules.window?;
        let limit = self.settings.models.window(&self.thread.model).filter(|window| window.0 > 0)?;
        let used = self.size(request, history);
        #[expect(clippy::cast_precision_loss, reason = "a share of two numbers far below 2^53")]
        let ratio = used.0 as f64 / limit.0 as f64;
        let (usage_ratio, tokens_used, tokens_limit) = (ratio, used, limit);
        if ratio >= rules.full && !self.thread.made_room {
            return Some(Event::Context(ContextEvent::ContextLimitReached { usage_ratio, tokens_used, tokens_limit }));
        }
        if ratio >= rules.pressure && !self.thread.pressed {
            return Some(Event::Context(ContextEvent::ContextWindowPressure {
                usage_ratio,
                tokens_used,
                tokens_limit,
            }));
        }
        None
    }

    /// What the provider counted last with an estimate of what came since; all of it estimated where nobody counted.
    pub(super) fn size(&self, request: &Assembly, history: &[Entry]) -> Tokens {
        let Some(counted) = self.thread.counted else { return request.tokens() };
        let since = history.iter().rev().take_while(|entry| entry.message.role == Role::User);
        counted + since.map(|entry| entry.tokens).sum()
    }

    /// Sends `request` for a summary of what is old, or leaves that out where nobody can be asked.
    pub(super) async fn make_room(&mut self, request: u32) {
        if let Some(LeftBranch { from, text, instructions }) = self.branch.clone() {
            let mut told =
                format!("<conversation>\n{text}\n</conversation>\n\n{}", LEFT.replace("{from}", from.as_str()));
            if let Some(instructions) = instructions {
                told = format!("{told}\n\n{instructions}");
            }
            return match self.ask_for_summary(request, told).await {
                Ok(()) | Err(SummaryError::Stopped) => {}
                Err(SummaryError::Because(reason)) => self.room_made(Summary::None(&reason)),
            };
        }
        let rules = self.thread.rules.window.unwrap_or_default();
        let window = self.settings.models.window(&self.thread.model);
        // Who asks for room wants as much as there is.
        let asked = matches!(self.thread.phase, Phase::Compacting { room: CompactionCause::Asked, .. });
        let asked = asked && self.thread.handoff == Handoff::No;
        let most = if asked { Tokens(0) } else { rules.keep };
        let keep = window.map_or(most, |window| most.min(Tokens(window.0 / 4)));
        let history = &self.thread.history;
        let before = history.iter().map(|entry| entry.tokens).sum();
        let Some(from) = cut(history, keep) else {
            self.compaction = Some(Compaction { from: 0, summarised: 0, before });
            self.room_made(Summary::None("there are no older messages to compact"));
            return;
        };
        self.compaction = Some(Compaction { from, summarised: 0, before });
        let settings =
            CompactSettings { enabled: self.thread.rules.window.is_some(), reserve: spare(window, rules), keep };
        let compact = |driver: &Self| {
            let old = driver.thread.history.get(..from).unwrap_or_default();
            Compact {
                messages: to_json(old, &driver.forms(old)),
                from,
                places: cuts(&driver.thread.history),
                tokens_before: before.0,
                previous_summary: summary(driver.thread.opening.as_deref().map_or(&[], Vec::as_slice))
                    .map(|text| text.to_string()),
                instructions: driver.thread.summary_wish.as_deref().map(str::to_owned),
                settings,
                ..Compact::default()
            }
        };
        if self.before_compaction(request, compact) {
            return;
        }
        match self.pipeline.compact.take() {
            Some(Compact { cancelled: Some(by), .. }) => {
                self.compaction.iter_mut().for_each(|compaction| compaction.from = 0);
                return self.room_made(Summary::None(&format!("the handler {by} cancelled it")));
            }
            Some(Compact { summary: Some(Summarised { text, from, details, .. }), .. }) => {
                if let Some(compaction) = &mut self.compaction {
                    (compaction.from, compaction.summarised) = (from, from);
                }
                return self.room_made(Summary::Handlers(&text, details.as_ref()));
            }
            Some(_) | None => {}
        }
        let asked = match self.retold() {
            Ok(text) => self.ask_for_summary(request, text).await,
            Err(reason) => Err(reason.into()),
        };
        match asked {
            Ok(()) | Err(SummaryError::Stopped) => {}
            Err(SummaryError::Because(reason)) => self.trim(&reason),
        }
    }

    /// The messages that give way as one text, with the summary of those before.
    fn retold(&mut self) -> Result<String, String> {
        let model = self.settings.models.quick(&self.thread.model);
        let most = self.settings.models.window(&model).unwrap_or(USUAL_WINDOW);
        let Some(compaction) = &mut self.compaction else {
            return Err("there is nothing to summarise".to_owned());
        };
        let old = self.thread.history.get(..compaction.from).unwrap_or_default();
        // Half of the window: estimates err, and the answer needs room too.
        let retold = retell(old, Tokens(most.0 / 2));
        if retold.text.is_empty() {
            return Err(format!("no message fits into the window of {model}"));
        }
        compaction.summarised = old.len() - retold.dropped;
        let mut text = format!("<conversation>\n{}\n</conversation>", retold.text);
        if let Some(earlier) = summary(self.thread.opening.as_deref().map_or(&[], Vec::as_slice)) {
            text = format!("<earlier_summary>\n{earlier}\n</earlier_summary>\n\n{text}");
        }
        if let Some(wish) = &self.thread.summary_wish {
            text = format!("{text}\n\nThe person wants of this summary: {wish}");
        }
        Ok(text)
    }

    /// Sends `text` to be summarised.
    async fn ask_for_summary(&mut self, request: u32, text: String) -> Result<(), SummaryError> {
        // It may be the first request of a fork.
        self.registered().await?;
        let plan = self.planned().await?;
        let instruction =
            plan.compaction.clone().ok_or_else(|| "there is no instruction for the summary".to_owned())?;
        let model = self.settings.models.quick(&self.thread.model);
        let provider = self.settings.models.provider(&model)?;
        let system: Vec<Piece> = plan
            .system
            .iter()
            .filter(|piece| piece.kind == LayerKind::Constitution)
            .cloned()
            .chain([instruction])
            .collect();
        let history = [Entry::new(Message::user(text))];
        let parts = Parts { system: &system, history: &history, ..Parts::default() };
        let BuiltRequest { assembly, specs, tools } = RequestBuilder { parts, tools: Offer::Nothing }.build();
        let max_output_tokens = self.settings.models.max_output(&model).min(LONGEST_SUMMARY);
        let attempt = if let Phase::Compacting { room: CompactionCause::ForRequest { attempt }, .. } = self.thread.phase
        {
            attempt
        } else {
            1
        };
        let (purpose, encoded) = (Purpose::Summary, None);
        let mut ready =
            Ready { assembly, tools: specs, model: model.clone(), attempt, max_output_tokens, purpose, encoded };
        self.fund(request, &mut ready).await?;
        self.encode(&provider, &mut ready).await?;
        let kept = self.keep_request(request, &ready, provider.endpoint(), tools);
        let tokens = ready.assembly.tokens();
        self.ready = Some(ready);
        let turn = self.thread.turn();
        let recorded = RequestEvent::RequestRecorded { request, turn, attempt, model, tokens };
        if !kept || self.record(Event::Request(recorded)).await.is_err() {
            self.todo.push_front(Effect::MakeRoom { request });
        }
        Ok(())
    }

    /// A summary has arrived, or what there is of one.
    pub(super) fn summarised(&mut self, call: &Call) {
        let text = call.answer.text();
        let text = text.trim();
        let stop = call.answer.stop();
        let cut = stop == Some(&StopReason::MaxTokens);
        if text.is_empty() || !(cut || stop == Some(&StopReason::EndTurn)) {
            self.trim("the model gave no summary");
            self.charge(call);
        } else if cut {
            let text = format!("{text}\n\n(The summary was cut off here: it grew too long.)");
            self.room_made(Summary::Models(call, &text));
        } else {
            self.room_made(Summary::Models(call, text));
        }
    }

    /// The call for a summary failed: it is made again like any other, and given up like any other.
    pub(super) fn summary_failed(&mut self, call: &Call, error: CallError) {
        let rules = Arc::clone(&self.thread.rules);
        let meaning = retry::meaning(&rules, &error);
        if let Phase::Compacting { room: CompactionCause::ForRequest { attempt }, .. } = self.thread.phase
            && let Some(delay_ms) = retry::next_try(&rules, &error, attempt).filter(|_| meaning.retryable)
        {
            self.compaction = None;
            let classification = Some(meaning.id.to_owned());
            let again = Event::Request(RequestEvent::RetryScheduled { attempt: attempt + 1, delay_ms, classification });
            self.todo.push_front(Effect::Emit(again));
            self.todo.push_front(Effect::Emit(Event::Request(RequestEvent::ErrorClassified {
                request: call.request,
                attempt,
                error,
            })));
        } else {
            self.trim(&error.message);
        }
        self.charge(call);
    }

    /// Leaves older messages out without a summary, where they have to go; who only asked for room loses nothing.
    fn trim(&mut self, reason: &str) {
        let asked = matches!(self.thread.phase, Phase::Compacting { room: CompactionCause::Asked, .. });
        if let Some(compaction) = &mut self.compaction {
            compaction.summarised = 0;
            compaction.from = if asked { 0 } else { compaction.from };
        }
        self.room_made(Summary::None(reason));
    }

    /// Puts what became of the summary of a branch at the head of what is to be done.
    fn branch_told(&mut self, from: ThreadId, summary: Summary<'_>) {
        let (answer, told, reason) = match summary {
            Summary::Models(call, text) => (Some(call), text, None),
            Summary::Handlers(text, _) => (None, text, None),
            Summary::None(reason) => (None, "", Some(reason.to_owned())),
        };
        let summary = if told.is_empty() {
            String::new()
        } else {
            format!("A branch of this conversation was left (in {from}). What was said in it, summarised:\n\n{told}")
        };
        let usage = answer.map_or_else(Usage::default, |call| call.answer.cost(self.thread.context()));
        self.todo.push_front(Effect::Emit(Event::Context(ContextEvent::BranchSummarised {
            from,
            summary,
            request: answer.map(|call| call.request),
            usage,
            spend: answer.and_then(|call| self.settings.models.spend(&call.model, &usage)),
            reason,
        })));
    }

    /// Puts what became of it at the head of what is to be done.
    fn room_made(&mut self, summary: Summary<'_>) {
        if let Some(LeftBranch { from, .. }) = self.branch.take() {
            return self.branch_told(from, summary);
        }
        let Some(Compaction { from, summarised, before }) = self.compaction.take() else { return };
        let kept = self.thread.history.len() - from;
        let dropped = from - summarised;
        let (answer, reason) = match summary {
            Summary::Models(call, _) => (Some(call), None),
            Summary::Handlers(..) => (None, None),
            Summary::None(reason) => (None, Some(reason)),
        };
        let details = if let Summary::Handlers(_, details) = summary { details.cloned() } else { None };
        let summary = match summary {
            Summary::Models(_, text) | Summary::Handlers(text, _) => {
                format!("What was said before, summarised to make room ({from} messages):\n\n{text}")
            }
            Summary::None(_) => format!("({from} earlier messages were left out to make room.)"),
        };
        let after = self.thread.history.iter().skip(from).map(|entry| entry.tokens).sum::<Tokens>();
        let usage = answer.map_or_else(Usage::default, |call| call.answer.cost(self.thread.context()));
        let event = ContextEvent::ContextCompacted {
            tokens_before: before,
            tokens_after: after + if from > 0 { Tokens::estimate(&summary) } else { Tokens(0) },
            summary: if from > 0 { summary } else { String::new() },
            kept,
            summarised,
            dropped,
            request: answer.map(|call| call.request),
            usage,
            spend: answer.and_then(|call| self.settings.models.spend(&call.model, &usage)),
            reason: reason.map(str::to_owned),
            steps: std::mem::take(&mut self.pipeline.steps),
            details,
        };
        // Where nothing can stay behind, another thread would have as little room.
        let hands_off = self.thread.handoff == Handoff::Asked || self.thread.handoff == Handoff::Full && from > 0;
        self.todo.push_front(if hands_off {
            Effect::HandOff(Box::new(event))
        } else {
            Effect::Emit(Event::Context(event))
        });
    }
}

/// What a model that summarises a branch is told of it.
const LEFT: &str = "This is a branch of a conversation that was left (in {from}): the person goes on from before it. Summarise \
                    what was tried, found, decided and changed in it, for whoever goes on.";

/// What there is of older messages when they give way.
#[derive(Clone, Copy)]
enum Summary<'a> {
    /// What a model answered to this call.
    Models(&'a Call, &'a str),
    /// What a handler of the pipeline made of them, and what it leaves with that.
    Handlers(&'a str, Option<&'a Value>),
    /// Nothing, for this reason.
    None(&'a str),
}

/// Why nobody is asked for a summary.
enum SummaryError {
    Because(String),
    Stopped,
}

impl From<PrepareError> for SummaryError {
    fn from(prepare_error: PrepareError) -> Self {
        match prepare_error {
            PrepareError::Failed(error) => Self::Because(error.message),
            PrepareError::Stopped => Self::Stopped,
        }
    }
}

impl From<Unfunded> for SummaryError {
    fn from(unfunded: Unfunded) -> Self {
        match unfunded {
            Unfunded::Stopped => Self::Stopped,
            Unfunded::Failed(_) | Unfunded::Refused(_) | Unfunded::NoSlot(_) | Unfunded::Blocked => {
                Self::Because(unfunded.to_string())
            }
        }
    }
}

impl From<String> for SummaryError {
    fn from(reason: String) -> Self {
        Self::Because(reason)
    }
}

/// What is left of a window where it counts as full.
fn spare(window: Option<Tokens>, rules: WindowRules) -> Tokens {
    let window = window.unwrap_or_default().0;
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a number far below 2^53"
    )]
    let full = (window as f64 * rules.full) as u64;
    Tokens(window.saturating_sub(full))
}

/// The summary in an opening.
pub(super) fn summary(opening: &[Piece]) -> Option<Arc<str>> {
    opening.iter().find(|piece| piece.kind == LayerKind::Summary).map(|piece| Arc::clone(&piece.text))
}
