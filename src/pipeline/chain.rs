//! The value of a stage on its way through its handlers.

use super::answer::{self, Merged, custom, parts, shown};
use super::compact::Compact;
use super::messages;
use super::payload::Paid;
use crate::domain::stage_value::same_messages;
use crate::domain::{CallId, CustomMessage, Image, Message, Messages, OpenHeaders, Stage, StageValue, ToolCall};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// See the module.
#[derive(Clone, Debug, PartialEq)]
pub enum Chain {
    Input {
        text: String,
        images: Vec<Image>,
        /// Those that handlers added, which they can name from then on.
        added: Vec<Image>,
        /// Who sent it: `interactive`, `rpc` or `extension`.
        source: &'static str,
        handled: bool,
    },
    BeforeAgentStart {
        prompt: String,
        images: Vec<Image>,
        /// The system text without the constitution, as the plan has it.
        base: String,
        /// The same as handlers made it.
        system: Option<String>,
        messages: Vec<CustomMessage>,
    },
    Context {
        messages: Arc<Messages>,
    },
    BeforeProviderHeaders {
        /// By their names in small letters.
        headers: BTreeMap<String, String>,
        /// The name under which the key travels.
        key: Option<String>,
    },
    BeforeProviderRequest {
        payload: Value,
        /// What it may become.
        paid: Option<Box<Paid>>,
    },
    MessageEnd {
        /// What handlers see of it beside its content: its role, its model, what it took.
        facts: Map<String, Value>,
        answer: Message,
    },
    ToolCall {
        call: ToolCall,
        blocked: Option<String>,
        /// No answer is wanted to its result.
        terminates: bool,
    },
    ToolResult {
        call: ToolCall,
        text: String,
        details: Value,
        error: bool,
        /// What it shows beside its text.
        images: Vec<Image>,
    },
    Compact(Box<Compact>),
    /// What happened, for those who want to know.
    Observe {
        stage: Stage,
        event: Map<String, Value>,
    },
}

/// What a call that a handler blocked without a word is answered with.
const BLOCKED: &str = "Tool execution was blocked";

/// Headers that handlers may set, and bytes of the value of each.
const MOST_HEADERS: usize = 100;
const LONGEST_HEADER: usize = 8 << 10;

impl Chain {
    #[must_use]
    pub fn stage(&self) -> Stage {
        match self {
            Self::Input { .. } => Stage::Input,
            Self::BeforeAgentStart { .. } => Stage::BeforeAgentStart,
            Self::Context { .. } => Stage::Context,
            Self::BeforeProviderHeaders { .. } => Stage::BeforeProviderHeaders,
            Self::BeforeProviderRequest { .. } => Stage::BeforeProviderRequest,
            Self::MessageEnd { .. } => Stage::MessageEnd,
            Self::ToolCall { .. } => Stage::ToolCall,
            Self::ToolResult { .. } => Stage::ToolResult,
            Self::Compact(_) => Stage::SessionBeforeCompact,
            Self::Observe { stage, .. } => *stage,
        }
    }

    /// A chain whose next handler would get `event`, as one was recorded.
    ///
    /// # Errors
    /// Why it is no event of the stage.
    pub fn of(stage: Stage, event: &Value) -> Result<Self, String> {
        let text = |name: &str| event.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let call = || ToolCall {
            call_id: CallId(text("toolCallId")),
            tool: text("toolName"),
            input: event.get("input").cloned().unwrap_or_default(),
        };
        let mut chain = match stage {
            Stage::Input => {
                let (images, added) = (Vec::new(), Vec::new());
                Self::Input { text: String::new(), images, added, source: "interactive", handled: false }
            }
            Stage::BeforeAgentStart => {
                let (prompt, base) = (text("prompt"), text("systemPrompt"));
                Self::BeforeAgentStart { prompt, images: Vec::new(), base, system: None, messages: Vec::new() }
            }
            Stage::Context => Self::Context { messages: Arc::default() },
            Stage::BeforeProviderHeaders => Self::BeforeProviderHeaders { headers: BTreeMap::new(), key: None },
            Stage::BeforeProviderRequest => Self::BeforeProviderRequest { payload: Value::Null, paid: None },
            Stage::ToolCall => Self::ToolCall { call: call(), blocked: None, terminates: false },
            Stage::ToolResult => Self::ToolResult {
                call: call(),
                text: String::new(),
                details: Value::Null,
                error: false,
                images: Vec::new(),
            },
            Stage::SessionBeforeCompact => return Ok(Self::Compact(Box::default())),
            Stage::MessageEnd if event.pointer("/message/role").is_some_and(|role| role == "assistant") => {
                return Self::answer(event.get("message").unwrap_or_default());
            }
            Stage::SessionStart
            | Stage::Skill
            | Stage::Template
            | Stage::AgentStart
            | Stage::TurnStart
            | Stage::MessageStart
            | Stage::MessageUpdate
            | Stage::MessageEnd
            | Stage::ToolExecutionStart
            | Stage::ToolExecutionUpdate
            | Stage::ToolExecutionEnd
            | Stage::TurnEnd
            | Stage::AgentEnd
            | Stage::AgentSettled
            | Stage::SessionCompact
            | Stage::SessionCompactFailed
            | Stage::ModelSelect
            | Stage::ThinkingLevelSelect
            | Stage::SessionInfoChanged
            | Stage::AfterProviderResponse
            | Stage::QueueUpdate
            | Stage::SessionShutdown => {
                let event = event.as_object().cloned().unwrap_or_default();
                return Ok(Self::Observe { stage, event });
            }
        };
        chain.replace(event)?;
        Ok(chain)
    }

    /// An answer that is whole, as handlers have it.
    ///
    /// # Errors
    /// Why it is none.
    fn answer(message: &Value) -> Result<Self, String> {
        let Value::Object(mut facts) = message.clone() else { return Err("it is no object".to_owned()) };
        let answer = messages::answer(message)?;
        facts.remove("content");
        Ok(Self::MessageEnd { facts, answer })
    }

    /// What the next handler gets.
    #[must_use]
    pub fn event(&self) -> StageValue {
        let mut event = match self {
            Self::Input { text, images, source, .. } => {
                json!({"text": text, "images": images_of(images).collect::<Vec<_>>(), "source": source})
            }
            Self::BeforeAgentStart { prompt, images, base, system, .. } => {
                let system = system.as_ref().unwrap_or(base);
                json!({"prompt": prompt, "images": images_of(images).collect::<Vec<_>>(), "systemPrompt": system})
            }
            Self::Context { messages } => return StageValue::Messages(Arc::clone(messages)),
            Self::BeforeProviderHeaders { headers, .. } => json!({"headers": headers}),
            Self::BeforeProviderRequest { payload, .. } => json!({"payload": payload}),
            Self::ToolCall { call, .. } => {
                json!({"toolCallId": call.call_id.0, "toolName": call.tool, "input": call.input})
            }
            Self::ToolResult { call, text, details, error, images } => json!({
                "toolCallId": call.call_id.0,
                "toolName": call.tool,
                "input": call.input,
                "content": result_content(text, images),
                "details": details,
                "isError": error,
            }),
            Self::MessageEnd { facts, answer } => {
                let mut message = facts.clone();
                message.insert("content".to_owned(), messages::content(answer));
                json!({"message": message})
            }
            Self::Compact(compact) => compact.event(),
            Self::Observe { event, .. } => Value::Object(event.clone()),
        };
        if let Value::Object(map) = &mut event {
            map.insert("type".to_owned(), self.stage().name().into());
        }
        event.into()
    }

    /// Takes what a handler answered; null is no opinion.
    ///
    /// # Errors
    /// Why the answer does not fit the stage. The value is as it was then.
    pub fn merge(&mut self, answer: &StageValue, by: &str) -> Result<Merged, String> {
        let answer = match answer {
            StageValue::Json(answer) if answer.is_null() => return Ok(Merged::Unchanged),
            StageValue::Json(answer) => answer,
            StageValue::Messages(list) => return self.merge_messages(list),
        };
        if let Self::BeforeProviderRequest { payload, paid } = self {
            // Whatever it is, it is the payload.
            paid.as_ref().map_or(Ok(()), |paid| paid.allows(answer))?;
            let changed = *payload != **answer;
            payload.clone_from(answer);
            return Ok(if changed { Merged::Changed } else { Merged::Unchanged });
        }
        let Value::Object(map) = &**answer else {
            return Err(format!("it answered {}, where an object is expected", shown(answer)));
        };
        match self {
            Self::Input { text, images, added, handled, .. } => input(map, (text, images, added), handled),
            Self::BeforeAgentStart { base, system, messages, .. } => started(map, by, (base, system), messages),
            Self::Context { .. } => match map.get("messages") {
                None | Some(Value::Null) => Ok(Merged::Unchanged),
                Some(Value::Array(list)) => self.merge_messages(&shared(list)),
                Some(other) => Err(format!("messages is {}, where a list is expected", shown(other))),
            },
            Self::BeforeProviderHeaders { headers, key } => headed(map, headers, key.as_deref()),
            Self::ToolCall { call, blocked, terminates } => called(map, call, (blocked, terminates)),
            Self::ToolResult { text, details, error, images, .. } => result(map, (text, images), details, error),
            Self::MessageEnd { answer, .. } => answered(map, answer),
            Self::Compact(compact) => compact.merge(map, by),
            Self::BeforeProviderRequest { .. } | Self::Observe { .. } => Ok(Merged::Unchanged),
        }
    }

    /// Takes the messages that a handler answered. Those that were there before have been looked at.
    fn merge_messages(&mut self, list: &Arc<Messages>) -> Result<Merged, String> {
        let Self::Context { messages } = self else {
            return Err("it answered a conversation, where none is expected".to_owned());
        };
        messages::check(list, messages)?;
        if same_messages(messages, list) {
            return Ok(Merged::Unchanged);
        }
        messages.clone_from(list);
        Ok(Merged::Changed)
    }

    /// A handler failed. What it guards is not done; else the value stays.
    pub fn failed(&mut self, why: &str) -> Merged {
        if let Self::ToolCall { blocked, .. } = self {
            *blocked = Some(why.to_owned());
            return Merged::Blocked;
        }
        Merged::Unchanged
    }

    /// Puts a value in the place of the present one, as a person wrote it at a breakpoint: the event as a handler gets it.
    ///
    /// # Errors
    /// Why it cannot be taken.
    pub fn replace(&mut self, event: &Value) -> Result<(), String> {
        let Value::Object(map) = event else { return Err("the value must be a JSON object".to_owned()) };
        let text = |name: &str| {
            map.get(name).and_then(Value::as_str).map(str::to_owned).ok_or_else(|| format!("`{name}` must be a text"))
        };
        match self {
            Self::Input { text: said, .. } => *said = text("text")?,
            Self::BeforeAgentStart { base, system, .. } => {
                let now = text("systemPrompt")?;
                *system = (now != *base).then_some(now);
            }
            Self::Context { .. } => {
                let Some(Value::Array(list)) = map.get("messages") else {
                    return Err("`messages` must be a list".to_owned());
                };
                self.merge_messages(&shared(list))?;
            }
            Self::BeforeProviderRequest { payload, paid } => {
                let now = map.get("payload").ok_or("`payload` is missing")?;
                paid.as_ref().map_or(Ok(()), |paid| paid.allows(now))?;
                now.clone_into(payload);
            }
            Self::BeforeProviderHeaders { headers, key } => {
                headed(map, headers, key.as_deref())?;
            }
            Self::ToolCall { call, .. } => {
                let input = map.get("input").filter(|input| input.is_object()).ok_or("`input` must be an object")?;
                input.clone_into(&mut call.input);
            }
            Self::ToolResult { text: said, details, error, images, .. } => {
                result(map, (said, images), details, error)?;
            }
            Self::MessageEnd { answer, .. } => {
                map.get("message").filter(|message| message.is_object()).ok_or("`message` must be an object")?;
                answered(map, answer)?;
            }
            Self::Compact(_) => return Err("this stage takes no edited value".to_owned()),
            Self::Observe { .. } => {}
        }
        Ok(())
    }
}

/// Other headers: what is missing among them or null is not sent. They say neither who asks nor how the request is to be read.
fn headed(
    map: &Map<String, Value>,
    headers: &mut BTreeMap<String, String>,
    key: Option<&str>,
) -> Result<Merged, String> {
    let given = match map.get("headers") {
        None | Some(Value::Null) => return Ok(Merged::Unchanged),
        Some(Value::Object(given)) => given,
        Some(other) => return Err(format!("headers is {}, where an object is expected", shown(other))),
    };
    let mut now = BTreeMap::new();
    for (name, value) in given {
        let name = name.to_ascii_lowercase();
        if OpenHeaders::is_closed(&name) || key.is_some_and(|key| key == name) {
            return Err(format!("it set the header `{name}`, which the provider itself sends"));
        }
        if !is_name(&name) {
            return Err(format!("`{}` is no name of a header", name.escape_default()));
        }
        let value = match value {
            Value::Null => continue,
            Value::String(value) => value.clone(),
            Value::Bool(_) | Value::Number(_) => value.to_string(),
            Value::Array(_) | Value::Object(_) => return Err(format!("the header `{name}` is no text")),
        };
        if value.len() > LONGEST_HEADER || !value.bytes().all(|byte| byte == b'\t' || (b' '..=b'~').contains(&byte)) {
            return Err(format!("the value of the header `{name}` cannot be sent: it has to be one line of ASCII"));
        }
        now.insert(name, value);
    }
    if now.len() > MOST_HEADERS {
        return Err(format!("it set more than {MOST_HEADERS} headers"));
    }
    let changed = *headers != now;
    *headers = now;
    Ok(if changed { Merged::Changed } else { Merged::Unchanged })
}

/// Whether a header can be called so: the letters of a token in RFC 9110.
fn is_name(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.len() <= 200 && name.bytes().all(is_letter)
}

/// Another content of an answer. What it calls stays: that is changed where a call is guarded, which everybody who guards sees.
fn answered(map: &Map<String, Value>, answer: &mut Message) -> Result<Merged, String> {
    let message = match map.get("message") {
        None | Some(Value::Null) => return Ok(Merged::Unchanged),
        Some(message) => message,
    };
    let now = messages::replaced(answer, message)?;
    let changed = *answer != now;
    *answer = now;
    Ok(if changed { Merged::Changed } else { Merged::Unchanged })
}

/// A list of messages that nobody has yet.
fn shared(list: &[Value]) -> Arc<Messages> {
    Arc::new(list.iter().cloned().map(Arc::new).collect())
}

/// A result as handlers have it.
fn result_content(text: &str, images: &[Image]) -> Value {
    [json!({"type": "text", "text": text})].into_iter().chain(images_of(images)).collect()
}

fn images_of(images: &[Image]) -> impl Iterator<Item = Value> {
    images.iter().map(|image| answer::image(&image.media_type, &image.hash))
}

fn input(
    map: &Map<String, Value>,
    value: (&mut String, &mut Vec<Image>, &[Image]),
    handled: &mut bool,
) -> Result<Merged, String> {
    let (text, images, added) = value;
    match map.get("action").and_then(Value::as_str) {
        Some("continue") => Ok(Merged::Unchanged),
        Some("handled") => {
            *handled = true;
            Ok(Merged::Handled)
        }
        Some("transform") => {
            let Some(now) = map.get("text").and_then(Value::as_str) else {
                return Err("it answered `transform` without a text".to_owned());
            };
            let kept = match map.get("images") {
                None | Some(Value::Null) => images.clone(),
                Some(Value::Array(list)) => {
                    // A hash may name anything that the project keeps: only those of the prompt and new ones go along.
                    let named = |one: &Value| {
                        let hash = one.get("hash").and_then(Value::as_str)?;
                        images.iter().chain(added).find(|image| image.hash.as_str() == hash).cloned()
                    };
                    list.iter().filter_map(named).collect()
                }
                Some(other) => return Err(format!("images is {}, where a list is expected", shown(other))),
            };
            let changed = *text != now || *images != kept;
            now.clone_into(text);
            *images = kept;
            Ok(if changed { Merged::Changed } else { Merged::Unchanged })
        }
        Some(other) => Err(format!("`{other}` is no action: expected continue, transform or handled")),
        None => Err("it answered without an action: expected continue, transform or handled".to_owned()),
    }
}

fn started(
    map: &Map<String, Value>,
    by: &str,
    (base, system): (&str, &mut Option<String>),
    messages: &mut Vec<CustomMessage>,
) -> Result<Merged, String> {
    let message = match map.get("message") {
        None | Some(Value::Null) => None,
        Some(Value::Object(message)) => Some(custom(message, by)?),
        Some(other) => return Err(format!("message is {}, where an object is expected", shown(other))),
    };
    let now = match map.get("systemPrompt") {
        None | Some(Value::Null) => None,
        Some(Value::String(now)) => Some(now),
        Some(other) => return Err(format!("systemPrompt is {}, where a text is expected", shown(other))),
    };
    let mut changed = message.is_some();
    messages.extend(message);
    // Without words the base stands: nobody empties the system text by a slip.
    if let Some(now) = now.filter(|now| !now.trim().is_empty()) {
        changed |= system.as_deref().unwrap_or(base) != now;
        *system = (now != base).then(|| now.clone());
    }
    Ok(if changed { Merged::Changed } else { Merged::Unchanged })
}

fn called(
    map: &Map<String, Value>,
    call: &mut ToolCall,
    (blocked, terminates): (&mut Option<String>, &mut bool),
) -> Result<Merged, String> {
    if let Some(wanted) = map.get("terminate").and_then(Value::as_bool) {
        *terminates = wanted;
    }
    match map.get("block") {
        Some(Value::Bool(true)) => {
            let reason = map.get("reason").and_then(Value::as_str).filter(|reason| !reason.is_empty());
            *blocked = Some(reason.unwrap_or(BLOCKED).to_owned());
            return Ok(Merged::Blocked);
        }
        None | Some(Value::Null | Value::Bool(false)) => {}
        Some(other) => return Err(format!("block is {}, where true or false is expected", shown(other))),
    }
    match map.get("input") {
        None | Some(Value::Null) => Ok(Merged::Unchanged),
        Some(input @ Value::Object(_)) => {
            let changed = call.input != *input;
            call.input.clone_from(input);
            Ok(if changed { Merged::Changed } else { Merged::Unchanged })
        }
        Some(other) => Err(format!("input is {}, where an object is expected", shown(other))),
    }
}

fn result(
    map: &Map<String, Value>,
    (text, images): (&mut String, &mut Vec<Image>),
    details: &mut Value,
    error: &mut bool,
) -> Result<Merged, String> {
    let mut changed = false;
    // Looked at before anything is taken: an answer counts whole or not at all.
    let failed = match map.get("isError") {
        None | Some(Value::Null) => None,
        Some(Value::Bool(now)) => Some(*now),
        Some(other) => return Err(format!("isError is {}, where true or false is expected", shown(other))),
    };
    if let Some(now) = map.get("content").filter(|now| !now.is_null()) {
        let (now, named) = parts(now)?;
        // Those of this result stay that are named still.
        let is_named = |image: &Image| {
            named.iter().any(|block| block.get("hash").and_then(Value::as_str) == Some(image.hash.as_str()))
        };
        let before = images.len();
        images.retain(is_named);
        changed |= *text != now || images.len() != before;
        *text = now;
    }
    if let Some(now) = map.get("details") {
        changed |= details != now;
        details.clone_from(now);
    }
    if let Some(now) = failed {
        changed |= *error != now;
        *error = now;
    }
    Ok(if changed { Merged::Changed } else { Merged::Unchanged })
}

#[cfg(test)]
mod tests;
