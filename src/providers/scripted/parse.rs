//! Reads a scenario. The result is a scenario and a list of problems: a reply that cannot be read is left out, a key
//! that is not known is named together with the nearest one that is.

use super::scenario::{Echo, Problem, Reply, Scenario, Step, When};
use crate::domain::event::StopReason;
use crate::providers::outline::Outline;
use serde_yaml::{Mapping, Value};
use std::ops::Range;
use std::time::Duration;

const SCENARIO_KEYS: &[&str] = &["name", "description", "rate", "replies"];
const REPLY_KEYS: &[&str] = &["when", "steps"];
const WHEN_KEYS: &[&str] = &["contains", "anywhere", "equals", "starts_with", "turn", "after_tool", "attempt"];
const STEP_KEYS: &[&str] = &["text", "thinking", "tool_call", "pause", "error", "cut", "hang", "stop"];
const STOP_WORDS: &[&str] = &["end_turn", "max_tokens", "refusal"];

/// See [`Scenario::parse`].
pub(super) fn parse(text: &str) -> (Scenario, Vec<Problem>) {
    let mut parser = Parser { outline: Outline::new(text), problems: Vec::new() };
    let scenario = parser.scenario(text);
    parser.problems.sort_by_key(|problem| problem.line);
    (scenario, parser.problems)
}

struct Parser<'a> {
    outline: Outline<'a>,
    problems: Vec<Problem>,
}

/// A reply or step that has been reported and is left out.
struct Dropped;

type Parsed<T> = Result<T, Dropped>;

impl Parser<'_> {
    fn scenario(&mut self, text: &str) -> Scenario {
        let all = self.outline.all();
        let items = self.outline.items("replies", &all);
        let (head, replies) = match serde_yaml::from_str::<Value>(text) {
            Ok(Value::Mapping(map)) => {
                let replies = if let Some(Value::Sequence(replies)) = map.get("replies") {
                    replies.clone()
                } else {
                    self.problem(self.outline.line_of("replies", &all), "`replies` must be a list");
                    Vec::new()
                };
                (map, replies.into_iter().map(Some).collect())
            }
            Ok(_) => {
                self.problem(0, "a scenario is a map with `name` and `replies`");
                (Mapping::new(), Vec::new())
            }
            Err(error) => self.piecewise(&error, &items),
        };
        self.check_keys(&head, SCENARIO_KEYS, &(0..items.first().map_or(all.end, |item| item.start)));
        let mut scenario = Scenario {
            name: text_of(head.get("name")).unwrap_or_default(),
            description: text_of(head.get("description")).unwrap_or_default(),
            rate: head.get("rate").and_then(number).unwrap_or_default(),
            replies: Vec::new(),
        };
        if head.get("rate").is_some_and(|rate| number(rate).is_none()) {
            self.problem(self.outline.line_of("rate", &all), "`rate` must be a whole number of words a second");
        }
        for (index, reply) in replies.iter().enumerate() {
            let range = items.get(index).cloned().unwrap_or_else(|| {
                let line = self.outline.line_of("replies", &all);
                line..line + 1
            });
            if let Some(Ok(reply)) = reply.as_ref().map(|reply| self.reply(reply, &range)) {
                scenario.replies.push(reply);
            }
        }
        scenario
    }

    /// Reads a text that is not YAML as a whole: its head and each of its replies alone.
    fn piecewise(&mut self, whole: &serde_yaml::Error, items: &[Range<usize>]) -> (Mapping, Vec<Option<Value>>) {
        let known = self.problems.len();
        let head = self.outline.text(0..items.first().map_or(0, |item| item.start));
        let head = match serde_yaml::from_str::<Value>(&head) {
            Ok(Value::Mapping(map)) => map,
            Ok(_) => Mapping::new(),
            Err(error) => {
                self.unreadable(&error, 0);
                Mapping::new()
            }
        };
        let mut replies = Vec::new();
        for item in items {
            replies.push(match serde_yaml::from_str::<Value>(&self.outline.text(item.clone())) {
                Ok(Value::Sequence(mut one)) if one.len() == 1 => one.pop(),
                Ok(_) => None,
                Err(error) => {
                    self.unreadable(&error, item.start);
                    None
                }
            });
        }
        if self.problems.len() == known {
            self.unreadable(whole, 0);
        }
        (head, replies)
    }

    fn reply(&mut self, reply: &Value, range: &Range<usize>) -> Parsed<Reply> {
        let Value::Mapping(map) = reply else {
            return self.dropped(range.start, "a reply is a map with `steps` and perhaps `when`");
        };
        self.check_keys(map, REPLY_KEYS, range);
        let when = match map.get("when") {
            None | Some(Value::Null) => When::default(),
            Some(Value::Mapping(when)) => self.when(when, range)?,
            Some(_) => return self.dropped(self.outline.line_of("when", range), "`when` must be a map of conditions"),
        };
        let Some(Value::Sequence(values)) = map.get("steps") else {
            return self.dropped(self.outline.line_of("steps", range), "a reply needs `steps`, a list");
        };
        let lines = self.outline.items("steps", range);
        let mut steps = Vec::with_capacity(values.len());
        for (index, value) in values.iter().enumerate() {
            let range = lines.get(index).unwrap_or(range).clone();
            steps.push(self.step(value, &range)?);
        }
        Ok(Reply { when, steps })
    }

    /// A condition that is not understood would hold too often, so it costs the reply.
    fn when(&mut self, map: &Mapping, range: &Range<usize>) -> Parsed<When> {
        if self.check_keys(map, WHEN_KEYS, range) {
            return Err(Dropped);
        }
        let mut when = When::default();
        for (key, value) in map {
            let key = key.as_str().unwrap_or_default();
            let line = self.outline.line_of(key, range);
            match (key, texts(value), number(value)) {
                ("contains", Some(texts), _) => when.contains = texts,
                ("anywhere", Some(texts), _) => when.anywhere = texts,
                ("equals", Some(texts), _) => when.equals = texts,
                ("starts_with", Some(texts), _) => when.starts_with = texts,
                ("after_tool", _, _) if value.is_string() => when.after_tool = text_of(Some(value)),
                ("turn", _, Some(number)) => when.turn = Some(number),
                ("attempt", _, Some(number)) => when.attempt = Some(number),
                ("turn" | "attempt", _, None) => return self.dropped(line, &format!("`{key}` must be a whole number")),
                _ => return self.dropped(line, &format!("`{key}` must be a text, or for several a list of texts")),
            }
        }
        Ok(when)
    }

    fn step(&mut self, value: &Value, range: &Range<usize>) -> Parsed<Step> {
        let bare;
        let map = match value {
            Value::Mapping(map) => map,
            // `- cut` for `- cut: true`
            Value::String(word) => {
                bare = Mapping::from_iter([(Value::String(word.clone()), Value::Bool(true))]);
                &bare
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Sequence(_) | Value::Tagged(_) => {
                return self.dropped(range.start, "a step is a map such as `text: …`");
            }
        };
        let Some((key, content)) = STEP_KEYS.iter().find_map(|key| Some((*key, map.get(key)?))) else {
            let word = map.keys().next().and_then(Value::as_str).unwrap_or_default();
            return self.dropped(range.start, &unknown(word, STEP_KEYS));
        };
        let extra: &[&str] = match key {
            "text" => &["text", "rate", "echo"],
            "thinking" => &["thinking", "rate"],
            _ => &[key],
        };
        self.check_keys(map, extra, range);
        let rate = map.get("rate").and_then(number);
        if map.get("rate").is_some() && rate.is_none() {
            self.problem(self.outline.line_of("rate", range), "`rate` must be a whole number of words a second");
        }
        let echo = if map.get("echo").and_then(Value::as_bool) == Some(true) { Echo::Input } else { Echo::Plain };
        let step = match (key, content) {
            ("text", _) => text_of(Some(content)).map(|text| Step::Text { text, rate, echo }),
            ("thinking", _) => text_of(Some(content)).map(|text| Step::Thinking { text, rate }),
            ("pause", _) => number(content).map(|ms| Step::Pause(Duration::from_millis(ms.into()))),
            ("cut", Value::Bool(true)) => Some(Step::Cut),
            ("hang", Value::Bool(true)) => Some(Step::Hang),
            ("stop", Value::String(word)) => stop(word).map(Step::Stop),
            ("tool_call", Value::Mapping(call)) => {
                self.check_keys(call, &["name", "input"], range);
                tool_call(call)
            }
            ("error", Value::Mapping(error)) => {
                self.check_keys(error, &["status", "type", "message", "retry_after"], range);
                error_step(error)
            }
            _ => None,
        };
        match step {
            Some(step) => Ok(step),
            None => self.dropped(self.outline.line_of(key, range), &format!("`{key}` must be {}", form(key))),
        }
    }

    /// Reports every key of `map` that is not in `known`, and tells whether there was one.
    fn check_keys(&mut self, map: &Mapping, known: &[&str], range: &Range<usize>) -> bool {
        let mut found = false;
        for key in map.keys() {
            let key = key.as_str().unwrap_or("(not a text)");
            if !known.contains(&key) {
                found = true;
                self.problem(self.outline.line_of(key, range), &unknown(key, known));
            }
        }
        found
    }

    fn dropped<T>(&mut self, line: usize, message: &str) -> Parsed<T> {
        self.problem(line, message);
        Err(Dropped)
    }

    fn unreadable(&mut self, error: &serde_yaml::Error, first_line: usize) {
        let line = error.location().map_or(0, |location| location.line().saturating_sub(1));
        // Without the position, which is that of the piece.
        let text = error.to_string();
        let what = text.split(" at line ").next().unwrap_or(&text);
        self.problem(first_line + line, &format!("this is not YAML: {what}"));
    }

    /// `line` counts from 0.
    fn problem(&mut self, line: usize, message: &str) {
        self.problems.push(Problem { line: line + 1, message: message.to_owned() });
    }
}

fn tool_call(call: &Mapping) -> Option<Step> {
    let name = call.get("name")?.as_str()?.to_owned();
    let input = match call.get("input") {
        Some(input) => serde_json::to_value(input).ok()?,
        None => serde_json::json!({}),
    };
    Some(Step::ToolCall { name, input })
}

fn error_step(error: &Mapping) -> Option<Step> {
    let status = |value: &Value| u16::try_from(value.as_u64()?).ok();
    let pause = |value: &Value| Duration::try_from_secs_f64(value.as_f64()?).ok();
    Some(Step::Error {
        status: optional(error.get("status"), status)?,
        kind: text_of(error.get("type")).unwrap_or_default(),
        message: text_of(error.get("message")).unwrap_or_default(),
        retry_after: optional(error.get("retry_after"), pause)?,
    })
}

/// What `read` makes of a value that may be missing; none where it is there and does not read.
#[expect(clippy::option_option, reason = "missing and unreadable are two things")]
fn optional<T>(value: Option<&Value>, read: impl FnOnce(&Value) -> Option<T>) -> Option<Option<T>> {
    value.map_or(Some(None), |value| read(value).map(Some))
}

fn stop(word: &str) -> Option<StopReason> {
    match word {
        "end_turn" => Some(StopReason::EndTurn),
        "max_tokens" => Some(StopReason::MaxTokens),
        "refusal" => Some(StopReason::Refusal),
        _ => None,
    }
}

/// What a step's value must be, for people.
fn form(key: &str) -> String {
    match key {
        "text" | "thinking" => "a text".to_owned(),
        "pause" => "a whole number of milliseconds".to_owned(),
        "tool_call" => "a map with `name` and perhaps `input`".to_owned(),
        "error" => "a map with `status` (a number), `type`, `message`, `retry_after` (seconds)".to_owned(),
        "stop" => format!("one of {}", STOP_WORDS.join(", ")),
        _ => "true".to_owned(),
    }
}

fn text_of(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Null | Value::Sequence(_) | Value::Mapping(_) | Value::Tagged(_) => None,
    }
}

/// One text or a list of texts.
fn texts(value: &Value) -> Option<Vec<String>> {
    if let Value::Sequence(values) = value {
        return values.iter().map(|value| text_of(Some(value))).collect();
    }
    Some(vec![text_of(Some(value))?])
}

fn number(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|number| u32::try_from(number).ok())
}

fn unknown(key: &str, known: &[&str]) -> String {
    let nearest = known.iter().min_by_key(|candidate| distance(key, candidate));
    match nearest.filter(|nearest| distance(key, nearest) <= 3) {
        Some(nearest) => format!("unknown name `{key}`; did you mean `{nearest}`?"),
        None => format!("unknown name `{key}`; known: {}", known.join(", ")),
    }
}

/// How many letters must change to make `a` from `b`.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, left) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut before = i + 1;
        for (cell, right) in row.iter_mut().skip(1).zip(b.chars()) {
            let new = (diagonal + usize::from(left != right)).min(before + 1).min(*cell + 1);
            diagonal = std::mem::replace(cell, new);
            before = new;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests;
