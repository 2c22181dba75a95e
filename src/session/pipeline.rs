//! What the handlers of a thread did, read back from its log and its requests.

use crate::context::diff::unified;
use crate::domain::pipeline::{KEPT, LISTS};
use crate::domain::{
    ContentHash, ContextEvent, ControlEvent, Event, PromptEvent, Stage, StageValue, Step, StepOutcome, ThreadId,
    ToolEvent,
};
use crate::pipeline::{Chain, Merged};
use crate::ports::StoreError;
use crate::store::content::ContentStore;
use crate::store::{Layout, log, request};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt;

/// What went through handlers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Passage {
    pub of: Subject,
    /// What it was about, in a line.
    pub title: String,
    pub steps: Vec<Step>,
}

/// What a passage is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    Prompt(u64),
    Request(u32),
    /// The answer to this request.
    Answer(u32),
    Call(String),
    /// What older messages gave way to, without a request of its own.
    Summary,
}

impl fmt::Display for Subject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prompt(number) => write!(formatter, "prompt {number}"),
            Self::Request(number) => write!(formatter, "request {number}"),
            // Which one it is is its title.
            Self::Answer(_) => formatter.write_str("answer"),
            Self::Call(_) => formatter.write_str("call"),
            Self::Summary => formatter.write_str("summary"),
        }
    }
}

/// How often somebody was asked, and what came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Telemetry {
    /// How often it was asked or passed over.
    pub asked: u64,
    /// How often its condition held.
    pub held: u64,
    pub changed: u64,
    pub failed: u64,
    pub took_ms: u64,
}

/// Everything that went through handlers in a thread, in order.
///
/// # Errors
/// [`StoreError`] where the log cannot be read.
pub fn passages(layout: &Layout, id: &ThreadId) -> Result<Vec<Passage>, StoreError> {
    let mut all = Vec::new();
    let mut said: BTreeMap<u64, String> = BTreeMap::new();
    let short = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(80).collect::<String>();
    each(layout, id, |event| match event {
        Event::Prompt(PromptEvent::PromptQueued { prompt, text, .. }) => {
            said.insert(prompt, short(&text));
        }
        Event::Prompt(PromptEvent::PromptPrepared { prompt, steps, .. }) if !steps.is_empty() => {
            all.push(Passage { of: Subject::Prompt(prompt), title: said.remove(&prompt).unwrap_or_default(), steps });
        }
        Event::Prompt(PromptEvent::PromptHandled { prompt, text, steps, .. }) => {
            all.push(Passage { of: Subject::Prompt(prompt), title: short(&text), steps });
        }
        Event::Request(crate::domain::RequestEvent::RequestRecorded { request, model, .. }) => {
            // One that does not read is told of where it is opened.
            let steps = request::record(layout, id, request).map(|record| record.pipeline).unwrap_or_default();
            if !steps.is_empty() {
                all.push(Passage { of: Subject::Request(request), title: model.to_string(), steps });
            }
        }
        Event::Request(crate::domain::RequestEvent::AnswerPrepared { request, steps }) => {
            all.push(Passage { of: Subject::Answer(request), title: format!("to request {request}"), steps });
        }
        Event::Tool(
            ToolEvent::CallPrepared { call_id, steps, .. } | ToolEvent::ResultPrepared { call_id, steps, .. },
        ) => {
            all.push(Passage { of: Subject::Call(call_id.0.clone()), title: call_id.0, steps });
        }
        Event::Context(ContextEvent::ContextCompacted { steps, kept, .. }) if !steps.is_empty() => {
            let title = format!("of all but {kept} messages");
            all.push(Passage { of: Subject::Summary, title, steps });
        }
        Event::Thread(_)
        | Event::Settings(_)
        | Event::Prompt(_)
        | Event::Context(_)
        | Event::Request(_)
        | Event::Approval(_)
        | Event::Tool(_)
        | Event::Control(_)
        | Event::Unknown { .. } => {}
    })?;
    Ok(all)
}

/// How often each handler, and each hook that says how to go on, was asked in a thread, by its name.
///
/// # Errors
/// As [`passages`].
pub fn telemetry(layout: &Layout, id: &ThreadId) -> Result<BTreeMap<(String, String), Telemetry>, StoreError> {
    let mut all: BTreeMap<(String, String), Telemetry> = BTreeMap::new();
    for step in passages(layout, id)?.into_iter().flat_map(|passage| passage.steps) {
        let one = all.entry((step.stage.name().to_owned(), step.handler)).or_default();
        one.asked += 1;
        one.held += u64::from(step.outcome != StepOutcome::NotAsked);
        one.changed += u64::from(matches!(
            step.outcome,
            StepOutcome::Changed | StepOutcome::Handled | StepOutcome::Blocked { .. }
        ));
        one.failed += u64::from(step.outcome.is_failure());
        one.took_ms += step.took_ms;
    }
    each(layout, id, |event| {
        if let Event::Control(ControlEvent::HookDecided { event, hook: Some(hook), action, .. }) = event {
            let one = all.entry((event, hook)).or_default();
            one.asked += 1;
            one.held += 1;
            one.changed += u64::from(action.is_some());
        }
    })?;
    Ok(all)
}

fn each(layout: &Layout, id: &ThreadId, mut take: impl FnMut(Event)) -> Result<(), StoreError> {
    let said = layout.log(id)?;
    for page in log::pages(&said) {
        page?.into_records().for_each(|record| take(record.event));
    }
    Ok(())
}

/// A value that a handler got or made, as it was.
///
/// # Errors
/// [`StoreError`] where it is no longer in the content store.
pub fn value(layout: &Layout, hash: &ContentHash) -> Result<Value, StoreError> {
    let store = ContentStore::new(layout.objects());
    let read = |hash: &ContentHash| -> Result<Value, StoreError> {
        let text = store.text(hash)?;
        Ok(serde_json::from_str(&text).unwrap_or(Value::String(text)))
    };
    let mut value = read(hash)?;
    if let Value::Object(map) = &mut value {
        whole(map, &read)?;
        if let Some(Value::Object(inner)) = map.get_mut("payload") {
            whole(inner, &read)?;
        }
    }
    Ok(value)
}

/// Puts lists back that were kept piece by piece.
fn whole(
    map: &mut Map<String, Value>,
    read: &impl Fn(&ContentHash) -> Result<Value, StoreError>,
) -> Result<(), StoreError> {
    for name in LISTS {
        let Some(kept) = map.get(name).and_then(|list| list.get(KEPT)).and_then(Value::as_array) else { continue };
        let hashes = kept.iter().filter_map(|hash| serde_json::from_value::<ContentHash>(hash.clone()).ok());
        let list = hashes.map(|hash| read(&hash)).collect::<Result<Vec<_>, _>>()?;
        map.insert(name.to_owned(), list.into());
    }
    Ok(())
}

/// What a step changed, as a unified difference; none where it changed nothing, or that is no longer kept.
#[must_use]
pub fn difference(layout: &Layout, step: &Step) -> Option<String> {
    let (before, after) = (value(layout, step.before.as_ref()?).ok()?, value(layout, step.after.as_ref()?).ok()?);
    Some(unified(&in_lines(&before), &in_lines(&after)))
}

/// A value as people read it: texts in their own lines.
#[must_use]
pub fn in_lines(value: &Value) -> String {
    let mut text = String::new();
    lines(value, "", &mut text);
    text
}

fn lines(value: &Value, path: &str, text: &mut String) {
    use std::fmt::Write as _;
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (name, value) in map {
                lines(value, &if path.is_empty() { name.clone() } else { format!("{path}.{name}") }, text);
            }
        }
        Value::Array(list) if !list.is_empty() => {
            for (number, value) in list.iter().enumerate() {
                lines(value, &format!("{path}[{number}]"), text);
            }
        }
        Value::String(said) if said.contains('\n') => {
            let _never_fails = writeln!(text, "{path}:");
            for line in said.lines() {
                let _never_fails = writeln!(text, "  {line}");
            }
        }
        Value::String(said) => {
            let _never_fails = writeln!(text, "{path}: {said}");
        }
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            let _never_fails = writeln!(text, "{path}: {other}");
        }
    }
}

/// The newest value that a handler got at a stage of a thread, or at one of its prompts or requests.
#[must_use]
pub fn recorded<'a>(
    passages: &'a [Passage],
    stage: Stage,
    handler: Option<&str>,
    number: Option<u64>,
) -> Option<(&'a Passage, &'a Step)> {
    let is_of = |of: &Subject| match (of, number) {
        (_, None) => true,
        (Subject::Prompt(prompt), Some(number)) => *prompt == number,
        (Subject::Request(request), Some(number)) => u64::from(*request) == number,
        (Subject::Answer(_) | Subject::Call(_) | Subject::Summary, Some(_)) => false,
    };
    let passages = passages.iter().rev().filter(|passage| is_of(&passage.of));
    let mut steps = passages.flat_map(|passage| passage.steps.iter().rev().map(move |step| (passage, step)));
    steps.find(|(_, step)| {
        step.stage == stage && step.before.is_some() && handler.is_none_or(|handler| step.handler == handler)
    })
}

/// A step for `--json`: with what it got and made.
#[must_use]
pub fn with_values(layout: &Layout, step: &Step) -> Value {
    let read = |hash: &Option<ContentHash>| hash.as_ref().and_then(|hash| value(layout, hash).ok());
    let mut told = serde_json::to_value(step).unwrap_or_default();
    if let Value::Object(map) = &mut told {
        map.insert("before".to_owned(), json!(read(&step.before)));
        map.insert("after".to_owned(), json!(read(&step.after)));
    }
    told
}

/// What the answer of a handler makes of an event, in a word and as the event that the next one would get.
///
/// # Errors
/// Why it does not fit the stage.
pub fn merged(
    stage: Stage,
    event: &Value,
    answer: &StageValue,
    by: &str,
) -> Result<(&'static str, Option<Value>), String> {
    let mut chain = Chain::of(stage, event)?;
    let word = match chain.merge(answer, by)? {
        Merged::Unchanged => "no effect",
        Merged::Changed => "changed",
        Merged::Handled => "handled",
        Merged::Blocked => "blocked",
    };
    Ok((word, (word == "changed").then(|| chain.event().json().into_owned())))
}
