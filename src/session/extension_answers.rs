//! What handlers of extensions are given and answer, as stages take it.

use crate::domain::stage_value::{MOST_MESSAGES, weight};
use crate::domain::{Stage, StageValue};
use crate::extensions::{Answer, Told};
use serde_json::{Value, json};

/// Lines of what a handler wrote that are kept with its step.
const MOST_LINES: usize = 50;

/// Megabytes of an answer that stands in the log.
pub(super) const LARGEST_ANSWER: usize = 4;

/// Megabytes of the entries that a handler is given of a session.
const LARGEST_SESSION: usize = 16;

/// Whether an answer can be taken. A conversation and a request are kept piece by piece, with their pictures; everything else
/// stands in the log.
pub(super) fn fits(stage: Stage, value: &StageValue) -> Result<(), String> {
    let is_kept_apart = matches!(stage, Stage::Context | Stage::BeforeProviderRequest);
    let most = if is_kept_apart { 32 } else { LARGEST_ANSWER };
    let messages = match value {
        StageValue::Json(value) => value.get("messages").and_then(Value::as_array).map_or(0, Vec::len),
        StageValue::Messages(messages) => messages.len(),
    };
    if messages > MOST_MESSAGES {
        return Err(format!("it answered with more than {MOST_MESSAGES} messages"));
    }
    let mut left: usize = most << 20;
    let mut takes = |value: &Value| {
        let rest = left.checked_sub(weight(value));
        left = rest.unwrap_or_default();
        rest.is_some()
    };
    let fits = match value {
        StageValue::Json(value) => takes(value),
        StageValue::Messages(messages) => messages.iter().all(|message| takes(message)),
    };
    if fits { Ok(()) } else { Err(format!("it answered with more than {most} MB")) }
}

/// The newest of a session's entries, as many as a handler is given.
pub(super) fn newest(entries: &[Value]) -> Vec<Value> {
    let mut left: usize = LARGEST_SESSION << 20;
    let fits = |entry: &&Value| {
        let size = weight(entry);
        let fits = size <= left;
        left = left.saturating_sub(size);
        fits
    };
    let count = entries.iter().rev().take_while(fits).count();
    entries.get(entries.len() - count..).unwrap_or_default().to_vec()
}

/// The text of what a tool's result holds; an image is named.
pub(super) fn text_of(content: &Value) -> String {
    let parts = content.as_array().into_iter().flatten();
    let part = |part: &Value| match part.get("text").and_then(Value::as_str) {
        Some(text) => text.to_owned(),
        None => format!("({})", part.get("type").and_then(Value::as_str).unwrap_or("something")),
    };
    parts.map(part).collect::<Vec<_>>().join("\n")
}

/// What a handler answered, with what it changed in place where it does not say otherwise.
pub(super) fn value_of(stage: Stage, answer: Answer) -> StageValue {
    let Answer { result, value, messages, .. } = answer;
    if let Some(messages) = messages {
        return StageValue::Messages(messages);
    }
    // A payload is the whole answer, the others are fields of it.
    let fields = [(Stage::ToolCall, "input"), (Stage::Context, "messages"), (Stage::BeforeProviderHeaders, "headers")];
    let field = fields.into_iter().find(|(other, _)| *other == stage).map(|(_, field)| field);
    match (result, value, field) {
        (None, Some(value), Some(field)) => json!({field: value}).into(),
        (Some(Value::Object(mut map)), Some(value), Some(field)) => {
            map.entry(field).or_insert(value);
            Value::Object(map).into()
        }
        (result, value, _) => result.or(value).unwrap_or_default().into(),
    }
}

/// What extensions wrote and told people meanwhile.
pub(super) fn lines(told: &Told) -> Vec<String> {
    let Told { said, lines, reports } = told;
    let notices = said.iter().filter(|said| said.name == "ui.notify");
    let notices = notices.filter_map(|said| Some(said.arguments.get("message")?.as_str()?.to_owned()));
    let written = lines.iter().map(|line| format!("{}: {}", line.level, line.text.trim_end()));
    let failed = reports.iter().map(|report| format!("beside what was asked: {report}"));
    notices.chain(written).chain(failed).take(MOST_LINES).collect()
}
