//! Speaks a reply: word by word at its rate, with as few wake-ups as the eye needs.

use super::scenario::{Echo, Scenario, Step, input};
use crate::domain::event::{CallError, ErrorCategory, StopReason};
use crate::domain::{Block, CallId, Tokens, Usage};
use crate::ports::{CallRequest, ProviderEvent, ProviderStream};
use crate::providers::classify::category;
use futures_util::stream;
use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::Instant;

/// Words due within this time are said together.
const TICK: Duration = Duration::from_millis(10);

/// Most bytes said at once where there is no rate.
const MOUTHFUL: usize = 4 * 1024;

/// The answer of `scenario` to `request`.
pub(super) fn play(scenario: &Scenario, request: &CallRequest) -> ProviderStream {
    let steps = match scenario.reply(request) {
        Some(reply) => reply.steps.clone(),
        None => vec![Step::Error {
            status: None,
            kind: "no_reply".to_owned(),
            message: format!(
                "the scenario `{}` has no reply to this; add one without `when` at its end",
                scenario.name
            ),
            retry_after: None,
        }],
    };
    let player = Player {
        steps: steps.into(),
        rate: scenario.rate,
        input: input(request).into_owned(),
        next_call: request.messages.iter().flat_map(|message| message.calls()).count(),
        calls: 0,
        usage: Usage { input: prompt(request), ..Usage::default() },
        saying: None,
        ready: VecDeque::new(),
        over: false,
    };
    Box::pin(stream::unfold(player, |mut player| async move {
        let item = player.next().await?;
        Some((item, player))
    }))
}

struct Player {
    steps: VecDeque<Step>,
    rate: u32,
    /// What `{input}` stands for.
    input: String,
    /// Number of the next call within the conversation, so that ids do not repeat.
    next_call: usize,
    /// Calls of this answer.
    calls: u32,
    usage: Usage,
    saying: Option<Saying>,
    ready: VecDeque<ProviderEvent>,
    over: bool,
}

/// A text being said.
struct Saying {
    kind: Kind,
    text: String,
    /// Bytes said.
    said: usize,
    words: u32,
    rate: u32,
    start: Instant,
    last: Option<Instant>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Thinking,
}

impl Player {
    async fn next(&mut self) -> Option<Result<ProviderEvent, CallError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            if let Some(saying) = &mut self.saying {
                if let Some(piece) = saying.piece().await {
                    return Some(Ok(piece));
                }
                self.saying = None;
            }
            if self.over {
                return None;
            }
            if let Err(error) = self.step().await {
                self.over = true;
                return Some(Err(error));
            }
        }
    }

    async fn step(&mut self) -> Result<(), CallError> {
        match self.steps.pop_front() {
            Some(Step::Text { text, rate, echo }) => {
                let text = match echo {
                    Echo::Input => text.replace("{input}", &self.input),
                    Echo::Plain => text,
                };
                self.say(Kind::Text, text, rate);
            }
            Some(Step::Thinking { text, rate }) => self.say(Kind::Thinking, text, rate),
            Some(Step::ToolCall { name, input }) => {
                let partial_json = input.to_string();
                self.usage.output += Tokens::estimate(&partial_json);
                let call_id = CallId(format!("scripted_{}", self.next_call));
                self.ready.push_back(ProviderEvent::ToolCallStarted { index: self.calls, call_id, tool: name });
                self.ready.push_back(ProviderEvent::ToolInput { index: self.calls, partial_json });
                self.next_call += 1;
                self.calls += 1;
            }
            Some(Step::Pause(length)) => tokio::time::sleep(length).await,
            Some(Step::Error { status, kind, message, retry_after }) => {
                return Err(failure(status, &kind, message, retry_after));
            }
            Some(Step::Cut) => {
                let detail = "the scenario broke the connection here".to_owned();
                self.finish(StopReason::Truncated { detail });
            }
            Some(Step::Hang) => std::future::pending().await,
            Some(Step::Stop(reason)) => self.finish(reason),
            None if self.calls > 0 => self.finish(StopReason::ToolUse),
            None => self.finish(StopReason::EndTurn),
        }
        Ok(())
    }

    fn say(&mut self, kind: Kind, text: String, rate: Option<u32>) {
        let tokens = Tokens::estimate(&text);
        self.usage.output += tokens;
        if kind == Kind::Thinking {
            self.usage.reasoning += tokens;
        }
        let rate = rate.unwrap_or(self.rate);
        self.saying = Some(Saying { kind, text, said: 0, words: 0, rate, start: Instant::now(), last: None });
    }

    fn finish(&mut self, reason: StopReason) {
        self.ready.push_back(ProviderEvent::Usage(self.usage));
        self.ready.push_back(ProviderEvent::Finished(reason));
        self.over = true;
    }
}

impl Saying {
    /// The next words, when they are due; `None` after the last.
    async fn piece(&mut self) -> Option<ProviderEvent> {
        let rest = self.text.get(self.said..).unwrap_or_default();
        if rest.is_empty() {
            return None;
        }
        let length = if self.rate == 0 {
            tokio::task::yield_now().await;
            rest.ceil_char_boundary(MOUTHFUL.min(rest.len()))
        } else {
            let next = self.start + Duration::from_secs(self.words.into()) / self.rate;
            tokio::time::sleep_until(self.last.map_or(next, |last| next.max(last + TICK))).await;
            let elapsed = self.start.elapsed().as_micros();
            let due = u32::try_from(elapsed * u128::from(self.rate) / 1_000_000).unwrap_or(u32::MAX).saturating_add(1);
            let mut length = 0;
            for _ in self.words..due.max(self.words + 1) {
                length += word(rest.get(length..).unwrap_or_default());
                self.words += 1;
            }
            length
        };
        self.last = Some(Instant::now());
        let piece = rest.get(..length).unwrap_or(rest).to_owned();
        self.said += piece.len();
        Some(match self.kind {
            Kind::Text => ProviderEvent::Text(piece),
            Kind::Thinking => ProviderEvent::Thinking(piece),
        })
    }
}

/// Bytes of the first word of `text` with the blanks around it: those before it, and those that end the text.
fn word(text: &str) -> usize {
    let start = text.len() - text.trim_start().len();
    let rest = text.get(start..).unwrap_or_default();
    let end = start + rest.find(char::is_whitespace).unwrap_or(rest.len());
    if text.get(end..).is_some_and(|after| after.trim().is_empty()) { text.len() } else { end }
}

/// Estimate of the whole request.
fn prompt(request: &CallRequest) -> Tokens {
    let texts = request.messages.iter().flat_map(|message| &message.blocks).map(|block| match block {
        Block::Text { text } | Block::Thinking { text, .. } => Tokens::estimate(text),
        Block::ToolResult { output, .. } => Tokens::estimate(output),
        Block::ToolCall(call) => Tokens::estimate(&call.tool) + Tokens::estimate(&call.input.to_string()),
        Block::Attached(attached) => Tokens::estimate(&attached.text),
        Block::Custom(custom) => Tokens::estimate(&custom.text),
        Block::RedactedThinking { .. } | Block::Image { .. } => Tokens(0),
    });
    let tools = request.tools.iter().filter_map(|tool| serde_json::to_string(tool).ok());
    Tokens::estimate(&request.system) + texts.sum() + tools.map(|tool| Tokens::estimate(&tool)).sum()
}

fn failure(status: Option<u16>, kind: &str, message: String, retry_after: Option<Duration>) -> CallError {
    let code = match (kind, status) {
        ("", Some(status)) => format!("http_{status}"),
        ("", None) => "scripted_error".to_owned(),
        (kind, _) => kind.to_owned(),
    };
    let message = if message.is_empty() { format!("the scenario fails here with {code}") } else { message };
    let category = match (kind, status) {
        ("no_reply", None) => ErrorCategory::Permanent,
        _ => category(status, kind, &message),
    };
    let retry_after_ms = retry_after.and_then(|pause| u64::try_from(pause.as_millis()).ok());
    CallError { category, code, message, status, retry_after_ms }
}

#[cfg(test)]
mod tests;
