//! Log records become blocks.

use super::{Answer, Block, Kind, MarkerSort, Prompt, Summary, Thinking, Tool, ToolState, Transcript, plain_lines};
use crate::domain::event::{Approve, CancelScope, EndReason, StopReason};
use crate::domain::{CallId, Control, Cost, Event, Image, LimitKind, Limits, Message, Money, Record, Tokens, ToolCall};
use crate::workbench::approval::short;
use serde_json::Value;

impl Transcript {
    /// Applies one event of the log.
    #[expect(clippy::too_many_lines, reason = "an arm for each event")]
    pub fn apply(&mut self, record: Record) {
        self.permit(&record.event);
        match record.event {
            Event::CognitionIn { text, role, images, .. } => self.said(text, role, images),
            Event::CognitionReasoning { text } => self.thought(plain_lines(text)),
            Event::CognitionOut { text, model, request, stop, usage, spend, message, elapsed_ms } => {
                let summary = Summary { model, output: usage.output, spend, elapsed_ms };
                self.answered(plain_lines(text), request, stop, summary, &message);
            }
            Event::TokenDelta { request, delta } => self.delta(request, delta),
            Event::RequestRecorded { request, .. } => self.expect_request(request),
            Event::ErrorClassified { attempt, error, .. } => {
                self.mark(MarkerSort::Error, format!("attempt {attempt} failed: {} ({})", error.message, error.code));
            }
            Event::RetryScheduled { attempt, delay_ms, .. } => {
                let text = format!("attempt {attempt} follows in {}", seconds(delay_ms));
                self.mark(MarkerSort::Info, text);
            }
            Event::ToolCallStart { tool, call_id, item, input, .. } => {
                self.tool_started(short(&item.unwrap_or(tool)).to_owned(), call_id, &input);
            }
            Event::ToolCallResult { call_id, output, error } | Event::ShellEnded { call_id, output, error } => {
                self.tool_ended(call_id, output, error);
            }
            Event::ShellStarted { call_id, command, shared } => {
                let name = if shared { "!" } else { "!!" };
                self.tool_started(name.to_owned(), call_id, &serde_json::json!({ "command": command }));
            }
            Event::SystemPrompt { text, .. } => {
                let tokens = Tokens::estimate(&text);
                self.mark(MarkerSort::Context, format!("system text: ~{tokens} tokens"));
            }
            Event::ContextInjected { before, after, .. } => {
                let names: Vec<_> = before.iter().chain(&after).map(String::as_str).collect();
                if !names.is_empty() {
                    self.mark(MarkerSort::Context, format!("put around the prompt: {}", names.join(", ")));
                }
            }
            Event::LogRepaired { cut_bytes, at_offset } => {
                let text = format!("the log was repaired: {cut_bytes} torn bytes at {at_offset} were cut off");
                self.mark(MarkerSort::Warning, text);
            }
            Event::ModelChanged { model } => {
                self.mark(MarkerSort::Info, format!("from here on {model} answers"));
            }
            Event::LimitsChanged { limits } => {
                self.mark(MarkerSort::Info, format!("limits are now {}", limits_in_words(&limits)));
            }
            Event::Limit { code, current, maximum } => {
                self.mark(MarkerSort::Limit, limit_in_words(code, current, maximum));
            }
            Event::HookDecided { event, hook: Some(hook), action: Some(action), .. } if action != Control::Retry => {
                self.mark(MarkerSort::Info, format!("the hook {hook} answers {event}: {}", action.word()));
            }
            Event::ContextWindowPressure { usage_ratio, .. } => {
                self.mark(MarkerSort::Warning, format!("the context takes {} of the window", percent(usage_ratio)));
            }
            Event::ContextLimitReached { usage_ratio, .. } => {
                let text = format!("the context takes {} of the window: making room", percent(usage_ratio));
                self.mark(MarkerSort::Limit, text);
            }
            Event::ContextCompacted { summarised, dropped, tokens_before, tokens_after, reason, .. } => {
                let text = room_in_words(summarised, dropped, (tokens_before, tokens_after), reason.as_deref());
                self.mark(MarkerSort::Context, text);
            }
            Event::ThreadSuspended { reason, .. } => {
                self.mark(MarkerSort::Limit, format!("suspended: {reason}"));
            }
            Event::CancelRequested { scope: CancelScope::Thread | CancelScope::Kill } => {
                self.mark(MarkerSort::Stopped, "the thread was asked to stop");
            }
            Event::TurnCancelled { after_ms } => {
                self.end_live(&StopReason::Cancelled);
                self.mark(MarkerSort::Info, format!("stopped {after_ms} ms after the interrupt"));
            }
            Event::WorkerEnded { reason: EndReason::Signal } => {
                self.mark(MarkerSort::Warning, "the worker was ended by a signal");
            }
            Event::ThreadCompleted { cost } => {
                self.mark(MarkerSort::Completed, format!("completed: {}", cost_in_words(&cost)));
            }
            Event::ThreadError { error, cost } => {
                self.mark(
                    MarkerSort::Error,
                    format!("the thread ended with an error: {error} ({})", cost_in_words(&cost)),
                );
            }
            Event::ThreadCancelled { cost } => {
                self.end_live(&StopReason::Cancelled);
                self.mark(MarkerSort::Stopped, format!("cancelled: {}", cost_in_words(&cost)));
            }
            Event::ThreadKilled { cost } => {
                self.end_live(&StopReason::Cancelled);
                self.mark(MarkerSort::Stopped, format!("killed: {}", cost_in_words(&cost)));
            }
            Event::Notice { text } => {
                self.mark(MarkerSort::Info, text);
            }
            // They change how the thread stands, which the status line shows.
            Event::ThreadStarted { .. }
            | Event::ClockJumped { .. }
            | Event::WorkerStarted { .. }
            | Event::WorkerEnded { .. }
            | Event::PromptQueued { .. }
            | Event::PromptWithdrawn { .. }
            | Event::QueueArranged { .. }
            | Event::RetryDue { .. }
            | Event::RulesSet { .. }
            | Event::HookDecided { .. }
            | Event::CompactRequested {}
            | Event::DirectiveReturn { .. }
            | Event::ToolProcess { .. }
            | Event::CancelRequested { .. }
            | Event::Unknown { .. }
            // The call that changed it tells.
            | Event::PersonaChanged { .. }
            // Told above.
            | Event::PermissionsSet { .. }
            | Event::ApprovalRequested { .. }
            | Event::ApprovalGiven { .. }
            | Event::CallCharged { .. }
            | Event::PermissionDenied { .. } => {}
        }
    }

    /// What an event says about what the thread may do.
    fn permit(&mut self, event: &Event) {
        if let Event::ApprovalRequested { call_id, item, .. } = event {
            self.tool_stands(call_id, short(item), ToolState::Waiting);
        } else if let Event::PermissionDenied { call_id, capability, reason, .. } = event {
            self.tool_stands(call_id, short(capability), ToolState::Asked);
            if let Some(Block { kind: Kind::Tool(tool), .. }) = self.tool_mut(call_id) {
                tool.denied = Some(*reason);
            }
        } else if let Event::ApprovalGiven { decision: Approve::Thread, .. } = event {
            self.mark(MarkerSort::Info, "allowed for the rest of this thread");
        } else if let Event::ApprovalGiven { decision: Approve::Always, .. } = event {
            self.mark(MarkerSort::Info, "allowed from here on in every thread of this project");
        } else if let Event::PermissionsSet { grants, .. } = event
            // At first it is what its directive says.
            && std::mem::replace(&mut self.permitted, true)
        {
            self.mark(MarkerSort::Info, format!("what the thread may do changed: {} grants", grants.len()));
        }
    }

    /// A pending prompt of the same text becomes the said one: in its place when nothing was said after it, else at the
    /// end, where the log has it.
    fn said(&mut self, text: String, role: String, images: Vec<Image>) {
        let is_pending =
            |block: &&Block| matches!(&block.kind, Kind::Prompt(prompt) if prompt.pending && prompt.text == text);
        let last = self.blocks.iter().rev().find(|block| !matches!(block.kind, Kind::Marker(_))).map(|block| block.id);
        let pending = self.blocks.iter().rev().find(is_pending).map(|block| block.id);
        if let Some(id) = pending {
            if pending == last
                && let Some(Block { kind: Kind::Prompt(prompt), revision, .. }) = self.block_mut(id)
            {
                prompt.pending = false;
                prompt.role = role;
                prompt.images = images;
                *revision += 1;
                return;
            }
            self.remove(id);
        }
        self.push(Kind::Prompt(Prompt { text, role, pending: false, images }));
    }

    /// Thinking is in the log: what was streamed of it is replaced, in place when both say the same.
    fn thought(&mut self, text: String) {
        let is_thinking = |block: &Block| matches!(block.kind, Kind::Thinking(_));
        let live: Vec<_> = self.live.iter().copied().filter(|id| self.block(*id).is_some_and(is_thinking)).collect();
        if live.is_empty() {
            let request = self.live_request;
            self.push(Kind::Thinking(Thinking { text, request, finished: true }));
            return;
        }
        let mut streamed = String::new();
        for id in &live {
            if let Some(Block { kind: Kind::Thinking(thinking), .. }) = self.block(*id) {
                streamed.push_str(&thinking.text);
            }
        }
        let mut whole = (streamed != text).then_some(text);
        let replaced = whole.is_some();
        for id in live {
            let Some(Block { kind: Kind::Thinking(thinking), revision, .. }) = self.block_mut(id) else { continue };
            thinking.finished = true;
            *revision += 1;
            if let Some(text) = whole.take() {
                thinking.text = text;
            } else if replaced {
                self.live.retain(|known| *known != id);
                self.remove(id);
            }
        }
    }

    /// The answer is in the log: what was streamed of it is replaced. Nothing moves when both say the same.
    fn answered(&mut self, text: String, request: u32, stop: StopReason, summary: Summary, message: &Message) {
        let live = if self.live_request == request { std::mem::take(&mut self.live) } else { Vec::new() };
        if live.is_empty() {
            self.drop_live();
        }
        self.answered = self.answered.max(request);
        self.live_request = request;
        let mut parts = Vec::new();
        let mut streamed = 0;
        let mut same = true;
        for id in live {
            let Some(block) = self.block_mut(id) else { continue };
            match &mut block.kind {
                Kind::Answer(answer) => {
                    same = same && text.get(streamed..).is_some_and(|rest| rest.starts_with(&answer.text));
                    streamed += answer.text.len();
                    parts.push(id);
                }
                Kind::Thinking(thinking) => {
                    thinking.finished = true;
                    block.revision += 1;
                }
                Kind::Prompt(_) | Kind::Tool(_) | Kind::Marker(_) => {}
            }
        }
        if parts.is_empty() {
            // An answer of nothing but tool calls leaves no block of its own, unless it did not end well.
            if !text.is_empty() || !stop.is_whole() || message.blocks.is_empty() {
                let answer = Answer { text, request, ended: Some(stop), summary: Some(summary) };
                self.push(Kind::Answer(answer));
            }
        } else {
            let last = parts.len() - 1;
            let mut text = Some(text);
            let whole = same && text.as_ref().is_some_and(|text| text.len() == streamed);
            for (index, id) in parts.into_iter().enumerate() {
                let Some(Block { kind: Kind::Answer(answer), revision, .. }) = self.block_mut(id) else { continue };
                if index == 0 && !whole {
                    answer.text = text.take().unwrap_or_default();
                } else if !whole {
                    answer.text.clear();
                }
                answer.text.shrink_to_fit();
                answer.ended = Some(stop.clone());
                if index == last {
                    answer.summary = Some(summary.clone());
                }
                *revision += u32::from(!whole);
            }
        }
        for call in message.calls().cloned().map(ToolCall::straight) {
            let tool = || new_tool(call.tool.clone(), call.call_id.clone(), &call.input, ToolState::Asked);
            match self.tool_mut(&call.call_id) {
                // Its arguments are whole now: one can tell what the call is about.
                Some(Block { kind: kind @ Kind::Tool(Tool { state: ToolState::Asked, .. }), revision, .. }) => {
                    *kind = Kind::Tool(tool());
                    *revision += 1;
                }
                Some(_) => {}
                None => drop(self.push(Kind::Tool(tool()))),
            }
        }
    }

    fn tool_started(&mut self, name: String, call_id: CallId, input: &Value) {
        let tool = new_tool(name, call_id, input, ToolState::Running);
        match self.tool_mut(&tool.call_id) {
            Some(block) => {
                block.kind = Kind::Tool(tool);
                block.revision += 1;
            }
            None => {
                self.push(Kind::Tool(tool));
            }
        }
    }

    /// The call is known by this name and stands like this.
    fn tool_stands(&mut self, call_id: &CallId, name: &str, state: ToolState) {
        if let Some(block) = self.tool_mut(call_id)
            && let Kind::Tool(tool) = &mut block.kind
        {
            name.clone_into(&mut tool.name);
            tool.state = state;
            block.revision += 1;
        }
    }

    fn tool_ended(&mut self, call_id: CallId, output: String, error: Option<String>) {
        let state = error.map_or(ToolState::Done, ToolState::Failed);
        if let Some(block) = self.tool_mut(&call_id)
            && let Kind::Tool(tool) = &mut block.kind
        {
            tool.output = output;
            tool.state = state;
            block.revision += 1;
        } else {
            let (name, main, input) = ("tool".to_owned(), String::new(), String::new());
            self.push(Kind::Tool(Tool { call_id, name, main, input, output, state, denied: None }));
        }
    }
}

fn new_tool(name: String, call_id: CallId, input: &Value, state: ToolState) -> Tool {
    let text = match input {
        Value::String(text) => text.clone(),
        Value::Object(fields) if fields.is_empty() => String::new(),
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            serde_json::to_string_pretty(input).unwrap_or_default()
        }
    };
    Tool { call_id, name, main: main_argument(input), input: text, output: String::new(), state, denied: None }
}

/// The argument by which a person recognises a call.
fn main_argument(input: &Value) -> String {
    const TELLING: [&str; 12] = [
        "command",
        "cmd",
        "file_path",
        "path",
        "file",
        "item_id",
        "directive",
        "pattern",
        "query",
        "url",
        "name",
        "title",
    ];
    let in_short = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    };
    let Value::Object(fields) = input else { return if input.is_null() { String::new() } else { in_short(input) } };
    let telling = TELLING.iter().find_map(|name| fields.get(*name));
    let text = telling.or_else(|| fields.values().find(|value| value.is_string())).or_else(|| fields.values().next());
    let text = text.map(in_short).unwrap_or_default();
    let mut words = String::with_capacity(text.len().min(200));
    for word in text.split_whitespace() {
        if words.len() > 200 {
            break;
        }
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(word);
    }
    words
}

/// `0.4 s`, `12 s`, `3 min 20 s`.
#[must_use]
pub(in crate::workbench) fn seconds(milliseconds: u64) -> String {
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
    use serde_json::json;

    #[test]
    fn the_telling_argument_is_shown() {
        assert_eq!(main_argument(&json!({"timeout": 3, "command": "cargo  test\n--all"})), "cargo test --all");
        assert_eq!(main_argument(&json!({"depth": 3})), "3");
        assert_eq!(main_argument(&json!({})), "");
        assert_eq!(main_argument(&Value::Null), "");
    }

    #[test]
    fn times_are_short() {
        assert_eq!(seconds(430), "0.4 s");
        assert_eq!(seconds(12_345), "12 s");
        assert_eq!(seconds(200_000), "3 min 20 s");
    }
}
