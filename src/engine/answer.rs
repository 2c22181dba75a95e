//! An answer being received: pieces in, live deltas and the finished message out.

use crate::domain::bounds::{Bounds, beginning, in_words, json_size};
use crate::domain::event::{Delta, StopReason};
use crate::domain::{Block, CallId, Message, Role, Tokens, ToolCall, Usage};
use crate::pipeline::{Part, PartKind};
use crate::ports::ProviderEvent;

/// What has arrived of one answer.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    blocks: Vec<Open>,
    usage: Usage,
    stop: Option<StopReason>,
    bounds: Bounds,
    /// What it takes of [`Bounds::answer`].
    size: usize,
    calls: usize,
    /// What was reached of [`Bounds`]: nothing more is taken in.
    full: Option<String>,
}

/// What a block costs beside its text.
const BLOCK: usize = 64;

/// The longest name and id of a call.
const LONGEST_NAME: usize = 4 << 10;

/// A block that may still grow.
#[derive(Clone, Debug)]
enum Open {
    Text(String),
    Thinking { text: String, signature: Option<String> },
    Redacted(String),
    Call { index: u32, call_id: CallId, tool: String, json: String, size: usize },
}

impl Open {
    /// The call with what has arrived of its arguments.
    fn call(&self) -> Option<ToolCall> {
        let Self::Call { call_id, tool, json, .. } = self else { return None };
        Some(ToolCall { call_id: call_id.clone(), tool: tool.clone(), input: read_arguments(json) })
    }
}

/// Text that is no argument.
const NO_CALL: (usize, usize, &str) = (0, usize::MAX, "");

impl Answer {
    /// An answer that may grow as large as `bounds` say.
    #[must_use]
    pub fn within(bounds: Bounds) -> Self {
        Self { bounds, ..Self::default() }
    }

    /// Whether nothing more is taken in, because the answer is as large as it may be.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.full.is_some()
    }

    /// As much of `text` as fits, for a block that has `own` bytes and may have `most`; `setting` is where that is set.
    fn fitting(&mut self, text: String, (own, most, setting): (usize, usize, &str)) -> String {
        let size = json_size(&text);
        let whole = self.bounds.answer.saturating_sub(self.size);
        let room = whole.min(most.saturating_sub(own));
        if size <= room {
            self.size += size;
            return text;
        }
        let (what, most, setting) = if whole < most.saturating_sub(own) {
            ("the answer", self.bounds.answer, "max_answer_kb")
        } else {
            ("the arguments of a call", most, setting)
        };
        self.full = Some(format!("{what} reached the limit of {} ({setting})", in_words(most)));
        self.size += room;
        beginning(&text, room).to_owned()
    }

    /// The same for something that is whole or nothing.
    fn fits(&mut self, size: usize) -> bool {
        self.size = self.size.saturating_add(size).saturating_add(BLOCK);
        if self.size > self.bounds.answer {
            let most = in_words(self.bounds.answer);
            self.full = Some(format!("the answer reached the limit of {most} (max_answer_kb)"));
        }
        self.full.is_none()
    }

    /// `wanted`, or where a call of this answer has it already, another: some servers give several calls one id, and results,
    /// questions and handlers find their call by it.
    fn unused(&self, wanted: CallId) -> CallId {
        let is_used =
            |id: &CallId| self.blocks.iter().any(|block| matches!(block, Open::Call { call_id, .. } if call_id == id));
        if !is_used(&wanted) {
            return wanted;
        }
        // Of so many, one is free.
        (2..self.blocks.len() + 3)
            .map(|number| CallId(format!("{}_{number}", wanted.0)))
            .find(|id| !is_used(id))
            .unwrap_or(wanted)
    }

    /// Takes in one piece and returns what a screen should be shown of it. Once the answer is full, nothing.
    pub fn take(&mut self, event: ProviderEvent) -> Option<Delta> {
        if self.full.is_some() {
            return None;
        }
        match event {
            ProviderEvent::Text(text) => {
                let text = self.fitting(text, NO_CALL);
                if let Some(Open::Text(all)) = self.blocks.last_mut() {
                    all.push_str(&text);
                } else {
                    self.blocks.push(Open::Text(text.clone()));
                    self.fits(0);
                }
                Some(Delta::Text { text })
            }
            ProviderEvent::Thinking(text) => {
                let text = self.fitting(text, NO_CALL);
                if let Some(Open::Thinking { text: all, signature: None }) = self.blocks.last_mut() {
                    all.push_str(&text);
                } else {
                    self.blocks.push(Open::Thinking { text: text.clone(), signature: None });
                    self.fits(0);
                }
                Some(Delta::Thinking { text })
            }
            ProviderEvent::ThinkingSignature(sign) => {
                if !self.fits(json_size(&sign)) {
                    return None;
                }
                if let Some(Open::Thinking { signature: signature @ None, .. }) = self.blocks.last_mut() {
                    *signature = Some(sign);
                } else {
                    self.blocks.push(Open::Thinking { text: String::new(), signature: Some(sign) });
                }
                None
            }
            ProviderEvent::RedactedThinking(data) => {
                if self.fits(json_size(&data)) {
                    self.blocks.push(Open::Redacted(data));
                }
                None
            }
            ProviderEvent::ToolCallStarted { index, call_id, tool } => {
                if self.calls >= self.bounds.calls {
                    self.full = Some(format!("the answer makes more than {} calls (max_calls)", self.bounds.calls));
                    return None;
                }
                if tool.len() + call_id.0.len() > LONGEST_NAME {
                    self.full = Some("the name and id of a call are too long".to_owned());
                    return None;
                }
                if !self.fits(json_size(&tool) + json_size(&call_id.0)) {
                    return None;
                }
                let call_id = self.unused(call_id);
                self.calls += 1;
                let delta = Delta::ToolCallStart { id: call_id.clone(), name: tool.clone() };
                self.blocks.push(Open::Call { index, call_id, tool, json: String::new(), size: 0 });
                Some(delta)
            }
            ProviderEvent::ToolInput { index, partial_json } => {
                let at = self
                    .blocks
                    .iter()
                    .rposition(|block| matches!(block, Open::Call { index: own, .. } if *own == index))?;
                let Some(Open::Call { size: own, .. }) = self.blocks.get(at) else { return None };
                let before = self.size;
                let bound = (*own, self.bounds.arguments, "max_arguments_kb");
                let partial_json = self.fitting(partial_json, bound);
                let more = self.size - before;
                if let Some(Open::Call { json, size, .. }) = self.blocks.get_mut(at) {
                    json.push_str(&partial_json);
                    *size += more;
                }
                Some(Delta::ToolInputDelta { partial_json })
            }
            ProviderEvent::Usage(usage) => {
                self.usage = plausible(usage);
                None
            }
            ProviderEvent::Finished(stop) => {
                self.stop = Some(stop);
                None
            }
        }
    }

    /// An answer from deltas that were kept while it was in flight.
    #[must_use]
    pub fn from_deltas(deltas: impl IntoIterator<Item = Delta>) -> Self {
        let mut answer = Self::within(Bounds::MOST);
        let mut calls = 0;
        for delta in deltas {
            let event = match delta {
                Delta::Text { text } => ProviderEvent::Text(text),
                Delta::Thinking { text } => ProviderEvent::Thinking(text),
                Delta::ToolCallStart { id, name } => {
                    calls += 1;
                    ProviderEvent::ToolCallStarted { index: calls, call_id: id, tool: name }
                }
                Delta::ToolInputDelta { partial_json } => ProviderEvent::ToolInput { index: calls, partial_json },
            };
            answer.take(event);
        }
        answer
    }

    /// The call at this place among those of the answer, once the block behind it has begun: no provider adds to a call then, though
    /// one might.
    #[must_use]
    pub fn call_before_another(&self, place: usize) -> Option<ToolCall> {
        let behind = self.blocks.split_last()?.1;
        behind.iter().filter_map(Open::call).nth(place)
    }

    #[must_use]
    pub fn stop(&self) -> Option<&StopReason> {
        self.stop.as_ref()
    }

    /// How the answer ended, if it did.
    #[must_use]
    pub fn ended(&self) -> StopReason {
        match (&self.full, &self.stop) {
            (Some(detail), _) => StopReason::TooLarge { detail: detail.clone() },
            (None, stop) => stop.clone().unwrap_or(StopReason::EndTurn),
        }
    }

    #[must_use]
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// What it has cost: what the provider reported, else an estimate. Some servers never report it, others do at the end, before which
    /// an answer may be cut or stopped; limits are to hold all the same. Nothing where nothing arrived. `sent` is the estimate of
    /// the request.
    #[must_use]
    pub fn cost(&self, sent: Tokens) -> Usage {
        if self.is_empty() {
            return self.usage;
        }
        let told: usize = self.parts().iter().map(|part| part.text.len()).sum();
        let estimate = Tokens::of_bytes(told);
        if self.usage.total() == Tokens(0) {
            return Usage { input: sent, output: estimate, ..Usage::default() };
        }
        // What is reported at the beginning has next to nothing of the answer: only what comes with the end counts it, and some
        // servers leave that out.
        let is_told = self.stop.is_some() && estimate.0 / FAR_OFF <= self.usage.output.0;
        let output = if is_told { self.usage.output } else { self.usage.output.max(estimate) };
        Usage { output, ..self.usage }
    }

    /// Whether nothing that a person could read has arrived.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.blocks.iter().all(|block| match block {
            Open::Text(text) | Open::Thinking { text, .. } => text.is_empty(),
            Open::Redacted(_) => true,
            Open::Call { .. } => false,
        })
    }

    /// All text so far.
    #[must_use]
    pub fn text(&self) -> String {
        self.gather(|block| if let Open::Text(text) = block { Some(text) } else { None })
    }

    /// All thinking so far.
    #[must_use]
    pub fn thinking(&self) -> String {
        self.gather(|block| if let Open::Thinking { text, .. } = block { Some(text) } else { None })
    }

    fn gather<'a>(&'a self, pick: impl Fn(&'a Open) -> Option<&'a String>) -> String {
        let mut all = String::new();
        for part in self.blocks.iter().filter_map(pick) {
            all.push_str(part);
        }
        all
    }

    /// What has arrived of each of its blocks.
    #[must_use]
    pub fn parts(&self) -> Vec<Part<'_>> {
        fn part(block: &Open) -> Part<'_> {
            match block {
                Open::Text(text) => Part { kind: PartKind::Text, text },
                Open::Thinking { text, .. } => Part { kind: PartKind::Thinking, text },
                Open::Redacted(_) => Part { kind: PartKind::Thinking, text: "" },
                Open::Call { json, .. } => Part { kind: PartKind::Call, text: json },
            }
        }
        self.blocks.iter().map(part).collect()
    }

    /// The same as a message, with what would not go back to the provider: a block for each of its parts.
    #[must_use]
    pub fn so_far(&self) -> Message {
        let blocks = self.blocks.iter().filter_map(|block| match block {
            Open::Text(text) => Some(Block::Text { text: text.clone() }),
            Open::Thinking { text, signature } => {
                Some(Block::Thinking { text: text.clone(), signature: signature.clone() })
            }
            Open::Redacted(data) => Some(Block::RedactedThinking { data: data.clone() }),
            Open::Call { .. } => block.call().map(Block::ToolCall),
        });
        Message { role: Role::Assistant, blocks: blocks.collect() }
    }

    /// The message that goes back to the provider. Of an answer that was cut short only the text is kept: unsigned
    /// thinking and half a tool call would be refused.
    #[must_use]
    pub fn message(&self) -> Message {
        let whole = self.stop.as_ref().is_some_and(StopReason::is_whole);
        let at_limit = self.stop == Some(StopReason::MaxTokens);
        let last = self.blocks.len().saturating_sub(1);
        let blocks = self.blocks.iter().enumerate().filter_map(|(place, block)| match block {
            Open::Text(text) if text.is_empty() => None,
            Open::Text(text) => Some(Block::Text { text: text.clone() }),
            Open::Thinking { .. } | Open::Redacted(_) | Open::Call { .. } if !whole => None,
            Open::Thinking { text, signature } => {
                Some(Block::Thinking { text: text.clone(), signature: signature.clone() })
            }
            Open::Redacted(data) => Some(Block::RedactedThinking { data: data.clone() }),
            // Where the limit was reached before any of its arguments had come, it is not one without arguments.
            Open::Call { json, .. } if at_limit && place == last && matches!(json.trim(), "" | "{}") => {
                let cut = block.call().map(|call| ToolCall { input: serde_json::Value::String(String::new()), ..call });
                cut.map(Block::ToolCall)
            }
            Open::Call { .. } => block.call().map(Block::ToolCall),
        });
        Message { role: Role::Assistant, blocks: blocks.collect() }
    }
}

/// Arguments as the model wrote them: an object where they read as one, the bare text otherwise.
fn read_arguments(json: &str) -> serde_json::Value {
    if json.trim().is_empty() {
        return serde_json::Value::Object(serde_json::Map::new());
    }
    serde_json::from_str(json).unwrap_or_else(|_| serde_json::Value::String(json.to_owned()))
}

/// A reported answer is not its own where as many times as much arrived by the estimate.
const FAR_OFF: u64 = 16;

/// No call takes more tokens of one class: windows are far smaller. A larger number is a fault of the server, with which no budget
/// could be reckoned any more.
const MOST_TOKENS: Tokens = Tokens(100_000_000);

fn plausible(usage: Usage) -> Usage {
    let Usage { input, output, cache_read, cache_write, reasoning } = usage;
    let [input, output, cache_read, cache_write, reasoning] =
        [input, output, cache_read, cache_write, reasoning].map(|tokens| tokens.min(MOST_TOKENS));
    Usage { input, output, cache_read, cache_write, reasoning }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(index: u32, id: &str) -> ProviderEvent {
        ProviderEvent::ToolCallStarted { index, call_id: CallId(id.into()), tool: "ls".into() }
    }

    fn input(index: u32, json: &str) -> ProviderEvent {
        ProviderEvent::ToolInput { index, partial_json: json.into() }
    }

    #[test]
    fn an_answer_of_which_nothing_is_reported_costs_an_estimate() {
        let mut answer = Answer::default();
        assert_eq!(answer.cost(Tokens(100)), Usage::default(), "nothing arrived");
        answer.take(ProviderEvent::Text("four letters".into()));
        answer.take(call(0, "a"));
        answer.take(input(0, "{\"x\":1}"));
        let output = Tokens::of_bytes("four letters{\"x\":1}".len());
        assert_eq!(answer.cost(Tokens(100)), Usage { input: Tokens(100), output, ..Usage::default() });
        let usage = Usage { input: Tokens(7), ..Usage::default() };
        answer.take(ProviderEvent::Usage(usage));
        assert_eq!(
            answer.cost(Tokens(100)),
            Usage { output, ..usage },
            "it is reported at the end, which has not come"
        );
    }

    /// Anthropic tells one token of the answer at its beginning.
    #[test]
    fn an_answer_that_was_cut_costs_what_had_arrived_of_it() {
        let told = |output| Usage { input: Tokens(7), output: Tokens(output), ..Usage::default() };
        let mut answer = Answer::default();
        answer.take(ProviderEvent::Usage(told(1)));
        answer.take(ProviderEvent::Text("x".repeat(4_000)));
        assert_eq!(answer.cost(Tokens(9)), told(1_000));
        answer.take(ProviderEvent::Finished(StopReason::EndTurn));
        assert_eq!(answer.cost(Tokens(9)), told(1_000), "an end without a report");
        answer.take(ProviderEvent::Usage(told(700)));
        assert_eq!(answer.cost(Tokens(9)), told(700));
    }

    #[test]
    fn a_number_of_tokens_that_no_call_can_take_is_bounded() {
        let mut answer = Answer::default();
        answer.take(ProviderEvent::Usage(Usage { input: Tokens(u64::MAX / 2), ..Usage::default() }));
        assert_eq!(answer.usage().input, MOST_TOKENS);
    }

    #[test]
    fn calls_that_a_server_gave_one_id_get_their_own() {
        let mut answer = Answer::default();
        for event in [call(0, "a"), call(1, "a"), call(2, "a_2"), call(3, "a"), call(4, "")] {
            answer.take(event);
        }
        answer.take(ProviderEvent::Finished(StopReason::ToolUse));
        let ids: Vec<String> = answer.message().calls().map(|call| call.call_id.0.clone()).collect();
        assert_eq!(ids, ["a", "a_2", "a_2_2", "a_3", ""]);
    }

    #[test]
    fn two_calls_grow_side_by_side() {
        let mut answer = Answer::default();
        for event in [call(1, "a"), call(2, "b"), input(1, "{\"x\":"), input(2, "{}"), input(1, "1}")] {
            answer.take(event);
        }
        answer.take(ProviderEvent::Finished(StopReason::ToolUse));
        let inputs: Vec<_> = answer.message().calls().map(|call| call.input.clone()).collect();
        assert_eq!(inputs, [serde_json::json!({"x": 1}), serde_json::json!({})]);
    }

    #[test]
    fn two_signatures_close_two_thoughts() {
        let mut answer = Answer::default();
        for sign in ["a", "b"] {
            answer.take(ProviderEvent::ThinkingSignature(sign.into()));
        }
        answer.take(ProviderEvent::Finished(StopReason::EndTurn));
        let thought = |sign: &str| Block::Thinking { text: String::new(), signature: Some(sign.into()) };
        assert_eq!(answer.message().blocks, [thought("a"), thought("b")]);
    }

    #[test]
    fn of_a_cut_answer_only_the_text_goes_back() {
        let mut answer = Answer::default();
        for event in [ProviderEvent::Thinking("hm".into()), ProviderEvent::Text("so".into()), call(1, "a")] {
            answer.take(event);
        }
        assert_eq!(answer.message(), Message::assistant("so"));
        assert_eq!(answer.thinking(), "hm");
    }

    #[test]
    fn kept_deltas_make_the_same_text() {
        let deltas =
            [Delta::Thinking { text: "a".into() }, Delta::Text { text: "b".into() }, Delta::Text { text: "c".into() }];
        let answer = Answer::from_deltas(deltas);
        assert_eq!((answer.thinking().as_str(), answer.text().as_str()), ("a", "bc"));
    }

    const SMALL: Bounds = Bounds { answer: 1_000, arguments: 100, calls: 3, ..Bounds::USUAL };

    fn taken(events: impl IntoIterator<Item = ProviderEvent>) -> Answer {
        let mut answer = Answer::within(SMALL);
        for event in events {
            answer.take(event);
        }
        answer
    }

    #[test]
    fn s16_an_answer_grows_no_larger_than_it_may() {
        let long = |letter: &str| taken([ProviderEvent::Text("x".into()), ProviderEvent::Text(letter.repeat(5_000))]);
        let answer = long("x");
        assert_eq!(answer.text().len(), 1_000 - BLOCK);
        assert!(matches!(answer.ended(), StopReason::TooLarge { detail } if detail.contains("max_answer_kb")));
        assert_eq!(long("\u{1}").text().len(), 1 + (1_000 - BLOCK - 1) / 6, "as JSON has it");
        assert_eq!(long("€").text().len(), 1 + (1_000 - BLOCK - 1) / 3 * 3, "whole letters");
        let alternating = (0..10_000).flat_map(|_| {
            ["", "."].map(|text| [ProviderEvent::Text(text.into()), ProviderEvent::Thinking(text.into())]).concat()
        });
        assert!(taken(alternating).blocks.len() < 1_000 / BLOCK + 2);
        let signed = (0..10_000).map(|_| ProviderEvent::ThinkingSignature("s".repeat(50)));
        assert!(taken(signed).blocks.len() < 1_000 / BLOCK);
        assert!(taken([ProviderEvent::RedactedThinking("x".repeat(2_000))]).blocks.is_empty());
    }

    #[test]
    fn s16_calls_are_as_many_and_as_long_as_they_may_be_and_none_runs() {
        let calls = taken((0..5_000).map(|index| call(index, "a")));
        assert_eq!(calls.blocks.len(), 3);
        assert!(matches!(calls.ended(), StopReason::TooLarge { detail } if detail.contains("max_calls")));
        let mut long =
            taken([call(1, "a"), input(1, &"x".repeat(60)), call(2, "b"), input(2, "{}"), input(1, &"x".repeat(60))]);
        assert!(matches!(long.ended(), StopReason::TooLarge { detail } if detail.contains("max_arguments_kb")));
        assert_eq!(long.take(ProviderEvent::Finished(StopReason::ToolUse)), None);
        assert_eq!(long.message().calls().count(), 0);
        assert!(taken([call(1, &"a".repeat(5_000))]).is_full());
    }
}
