//! The messages of a conversation as handlers get them, and back.
//!
//! A handler sees the roles of pi (`user`, `assistant`, `toolResult`, `custom`), one message for each result. What comes
//! back as it went out is the same message of the thread; everything else is the handler's.

use super::answer::{self, custom, parts};
use crate::domain::event::StopReason;
use crate::domain::{
    AnswerFacts, Block, CallId, ContentHash, Entry, Image, Message, ModelRef, Money, Role, ToolCall, Usage, WireForm,
};
use serde_json::{Map, Value, json};
use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;
use std::sync::Arc;

/// A message of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    pub entry: Entry,
    /// It is not as the thread has it.
    pub changed: bool,
}

/// In which wire forms models are asked, as far as that is known.
#[derive(Clone, Debug, Default)]
pub struct Forms(Vec<(ModelRef, WireForm)>);

impl Forms {
    /// Those of the models that answered in `entries`.
    #[must_use]
    pub fn of(entries: &[Entry], form: impl Fn(&ModelRef) -> Option<WireForm>) -> Self {
        let mut known: Vec<(ModelRef, WireForm)> = Vec::new();
        for answer in entries.iter().filter_map(|entry| entry.said.as_ref()?.answer.as_ref()) {
            if !known.iter().any(|(model, _)| *model == answer.model) {
                known.extend(form(&answer.model).map(|form| (answer.model.clone(), form)));
            }
        }
        Self(known)
    }

    fn get(&self, model: &ModelRef) -> Option<WireForm> {
        self.0.iter().find(|(known, _)| known == model).map(|(_, form)| *form)
    }
}

/// What a message has beside its words: which of them it has does not make it another one.
const BESIDE: [&str; 7] = ["timestamp", "api", "provider", "model", "usage", "stopReason", "errorMessage"];

/// A conversation as handlers get it: for each of `entries` one message, or several where it has the results of several
/// calls.
#[must_use]
pub fn to_json(entries: &[Entry], forms: &Forms) -> Vec<Value> {
    let names = tools(entries);
    entries.iter().flat_map(|entry| dated(group(&entry.message, &names), entry, forms)).collect()
}

/// The messages of an entry with the time at which they were said, and what is known of an answer.
fn dated(mut group: Vec<Value>, entry: &Entry, forms: &Forms) -> Vec<Value> {
    let Some(said) = &entry.said else { return group };
    let mut results = said.results.iter();
    for fields in group.iter_mut().filter_map(Value::as_object_mut) {
        let is_result = fields.get("role").is_some_and(|role| role == "toolResult");
        let at = is_result.then(|| results.next()).flatten().unwrap_or(&said.at);
        fields.insert("timestamp".to_owned(), at.0.into());
        if let Some(answer) = &said.answer {
            fields.extend(answered(answer, forms));
        }
    }
    group
}

/// What is known of an answer.
fn answered<'a>(answer: &'a AnswerFacts, forms: &Forms) -> impl Iterator<Item = (String, Value)> + use<'a> {
    let AnswerFacts { model, usage, spend, stop } = answer;
    let fields = [
        ("api", forms.get(model).map(|form| form.name_of_pi().into())),
        ("provider", Some(model.provider.as_str().into())),
        ("model", Some(model.model.as_str().into())),
        ("usage", Some(used(usage, *spend))),
        ("stopReason", Some(stopped(stop).into())),
        ("errorMessage", stop_detail(stop).map(Value::from)),
    ];
    fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)))
}

/// An answer that has not ended, as far as it is there: it has no place in the conversation yet.
#[must_use]
pub fn arriving(message: &Message, (model, form): (&ModelRef, Option<WireForm>), usage: &Usage, since: u64) -> Value {
    let blocks: Vec<Value> = message.blocks.iter().filter_map(block).collect();
    json!({
        "role": "assistant", "content": blocks, "api": form.map(WireForm::name_of_pi), "provider": model.provider, "model": model.model,
        "usage": used(usage, None), "timestamp": since,
    })
}

/// What an answer took, as pi counts it. What it cost is known as a whole.
#[must_use]
pub fn used(usage: &Usage, spend: Option<Money>) -> Value {
    let cost = spend.map_or(0.0, Money::dollars);
    // As JavaScript writes it.
    let cost = if cost == 0.0 { json!(0) } else { json!(cost) };
    json!({"input": usage.input.0, "output": usage.output.0, "cacheRead": usage.cache_read.0,
        "cacheWrite": usage.cache_write.0, "totalTokens": usage.total().0, "cost": {"total": cost}})
}

/// How an answer ended, in the words of pi.
#[must_use]
pub fn stopped(stop: &StopReason) -> &'static str {
    match stop {
        StopReason::EndTurn => "stop",
        StopReason::ToolUse => "toolUse",
        StopReason::Cancelled => "aborted",
        StopReason::MaxTokens => "length",
        StopReason::Refusal
        | StopReason::Truncated { .. }
        | StopReason::TooLarge { .. }
        | StopReason::Lost
        | StopReason::Other { .. } => "error",
    }
}

/// Why it did not end by itself, where that is known.
fn stop_detail(stop: &StopReason) -> Option<&str> {
    match stop {
        StopReason::Truncated { detail } | StopReason::TooLarge { detail } => Some(detail),
        StopReason::EndTurn
        | StopReason::ToolUse
        | StopReason::Cancelled
        | StopReason::MaxTokens
        | StopReason::Refusal
        | StopReason::Lost
        | StopReason::Other { .. } => None,
    }
}

/// The tool of every call.
fn tools(entries: &[Entry]) -> HashMap<&CallId, &str> {
    entries.iter().flat_map(|entry| entry.message.calls()).map(|call| (&call.call_id, call.tool.as_str())).collect()
}

fn group(message: &Message, names: &HashMap<&CallId, &str>) -> Vec<Value> {
    if let Some(custom) = message.as_custom() {
        return vec![json!({
            "role": "custom",
            "customType": custom.custom_type,
            "content": custom.text,
            "display": custom.display,
            "details": custom.details,
        })];
    }
    if message.role == Role::Assistant {
        let blocks: Vec<Value> = message.blocks.iter().filter_map(block).collect();
        return vec![json!({"role": "assistant", "content": blocks})];
    }
    let mut group = Vec::new();
    let mut said = Vec::new();
    for one in &message.blocks {
        if let Block::ToolResult { call_id, output, error, .. } = one {
            let text = [json!({"type": "text", "text": output})];
            let content: Vec<Value> =
                text.into_iter().chain(one.images().map(|(kind, hash)| answer::image(kind, hash))).collect();
            group.push(json!({
                "role": "toolResult",
                "toolCallId": call_id.0,
                "toolName": names.get(call_id).copied().unwrap_or_default(),
                "content": content,
                "isError": error,
            }));
        } else {
            said.extend(block(one));
        }
    }
    if !said.is_empty() || group.is_empty() {
        group.push(json!({"role": "user", "content": said}));
    }
    group
}

fn block(block: &Block) -> Option<Value> {
    Some(match block {
        Block::Text { text } => json!({"type": "text", "text": text}),
        Block::Attached(attached) => json!({"type": "text", "text": attached.told()}),
        Block::Custom(custom) => json!({"type": "text", "text": custom.text}),
        Block::Thinking { text, signature } => {
            json!({"type": "thinking", "thinking": text, "thinkingSignature": signature})
        }
        Block::RedactedThinking { data } => {
            json!({"type": "thinking", "thinking": "", "redacted": true, "thinkingSignature": data})
        }
        Block::ToolCall(call) => {
            json!({"type": "toolCall", "id": call.call_id.0, "name": call.tool, "arguments": call.input})
        }
        Block::Image { media_type, hash } => answer::image(media_type, hash),
        Block::ToolResult { .. } => return None,
    })
}

/// The content of an answer, as handlers have it.
pub(super) fn content(answer: &Message) -> Value {
    answer.blocks.iter().filter_map(block).collect()
}

/// The answer that handlers have as `message`.
pub(super) fn answer(message: &Value) -> Result<Message, String> {
    match one(message, &Images::new())? {
        Some((Role::Assistant, blocks)) => Ok(Message { role: Role::Assistant, blocks }),
        Some(_) | None => Err(format!("it has the role `{}`, where an answer is expected", role(message))),
    }
}

/// `own` with the content of `message`. Its calls have to be the same ones, whatever their tools are called there. What a model
/// thought bears its maker's signature: without that where it was changed.
pub(super) fn replaced(own: &Message, message: &Value) -> Result<Message, String> {
    let has_image =
        |content: &Value| content.as_array().is_some_and(|blocks| blocks.iter().any(|block| block["type"] == "image"));
    if message.get("content").is_some_and(has_image) {
        return Err("it adds an image, which no answer has".to_owned());
    }
    let mut now = answer(message)?;
    let is_empty = |block: &Block| matches!(block, Block::Text { text } if text.trim().is_empty());
    now.blocks.retain(|block| own.blocks.contains(block) || !is_empty(block));
    if now.blocks.is_empty() && !own.blocks.is_empty() {
        return Err("nothing is left of the answer: leave a word of it".to_owned());
    }
    let is_same = |(now, own): (&ToolCall, &ToolCall)| now.call_id == own.call_id && is_alike(&now.input, &own.input);
    if now.calls().count() != own.calls().count() || !now.calls().zip(own.calls()).all(is_same) {
        return Err("it changes what the answer calls, which tool_call can".to_owned());
    }
    let mut calls = own.calls();
    for block in &mut now.blocks {
        if matches!(block, Block::ToolCall(_)) {
            *block = calls.next().cloned().map_or_else(|| block.clone(), Block::ToolCall);
        } else if !own.blocks.contains(block)
            && let Block::Thinking { signature, .. } = block
        {
            *signature = None;
        }
    }
    now.blocks.retain(|block| own.blocks.contains(block) || !matches!(block, Block::RedactedThinking { .. }));
    // Makers of thoughts and calls refuse them in another order.
    let place = |block: &Block| own.blocks.iter().position(|known| known == block);
    let fixed = now.blocks.iter().filter(|block| !matches!(block, Block::Text { .. }));
    let places: Vec<usize> = fixed.filter_map(place).collect();
    if !places.is_sorted() {
        return Err("it puts thoughts and calls into another order".to_owned());
    }
    Ok(now)
}

/// Whether two values are the same to a program that has one kind of number alone: it writes `10.0` as `10`.
fn is_alike(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_alike(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let has = |(name, value): (&String, &Value)| other.get(name).is_some_and(|other| is_alike(value, other));
            one.len() == other.len() && one.iter().all(has)
        }
        (one, other) => one == other,
    }
}

/// The images of a conversation, by their hashes as handlers have them.
type Images<'a> = HashMap<&'a str, &'a ContentHash>;

fn by_name(block: &Block) -> impl Iterator<Item = (&str, &ContentHash)> {
    block.images().map(|(_, hash)| (hash.as_str(), hash))
}

/// Whether every message of an answer can be read. Those of `known` can.
pub(super) fn check(list: &[Arc<Value>], known: &[Arc<Value>]) -> Result<(), String> {
    let known: HashSet<*const Value> = known.iter().map(Arc::as_ptr).collect();
    for (number, value) in (1..).zip(list).filter(|(_, value)| !known.contains(&Arc::as_ptr(value))) {
        one(value, &Images::new()).map_err(|why| format!("message {number}: {why}"))?;
    }
    Ok(())
}

/// The messages of a request, as handlers made `list` of `entries`.
#[must_use]
pub fn told<M: Borrow<Value>>(entries: &[Entry], list: &[M]) -> Vec<Told> {
    let names = tools(entries);
    let groups: Vec<Vec<Value>> = entries.iter().map(|entry| group(&entry.message, &names)).collect();
    let mut places: HashMap<String, Vec<usize>> = HashMap::new();
    for (place, group) in groups.iter().enumerate().rev() {
        places.entry(group.first().map(words).unwrap_or_default()).or_default().push(place);
    }
    let images: Images<'_> = entries.iter().flat_map(|entry| &entry.message.blocks).flat_map(by_name).collect();
    let list: Vec<&Value> = list.iter().map(Borrow::borrow).collect();
    let read_one = |value: &&Value| one(value, &images).ok().flatten();
    let mut made = Vec::with_capacity(list.len());
    let mut at = 0;
    while let Some(rest) = list.get(at..).filter(|rest| !rest.is_empty()) {
        let stands = |place: usize| {
            let group = groups.get(place).map_or(&[][..], Vec::as_slice);
            !group.is_empty() && rest.len() >= group.len() && group.iter().zip(rest).all(|(own, told)| is_as(told, own))
        };
        let found = rest.first().and_then(|first| places.get_mut(&words(first))).and_then(|known| {
            let place = known.last().copied().filter(|place| stands(*place))?;
            known.pop();
            Some(place)
        });
        if let Some(place) = found {
            made.extend(entries.get(place).map(|entry| Told { entry: entry.clone(), changed: false }));
            at += groups.get(place).map_or(1, Vec::len);
            continue;
        }
        let results = rest.iter().take_while(|value| role(value) == "toolResult").count();
        let taken = results.max(1);
        let blocks: Vec<Block> = rest.iter().take(taken).filter_map(read_one).flat_map(|(_, blocks)| blocks).collect();
        let role = rest.first().and_then(read_one).map_or(Role::User, |(role, _)| role);
        if !blocks.is_empty() {
            made.push(Told { entry: Entry::new(Message { role, blocks }), changed: true });
        }
        at += taken;
    }
    made
}

/// The messages of a list that no thread has.
#[cfg(test)]
fn from_json(list: &[Value]) -> Vec<Entry> {
    told(&[], list).into_iter().map(|told| told.entry).collect()
}

/// What tells a message from others.
fn words(message: &Value) -> String {
    let said = message.get("content").map(Value::to_string).unwrap_or_default();
    let call = message.get("toolCallId").and_then(Value::as_str).unwrap_or_default();
    format!("{} {call} {said}", role(message))
}

/// Whether a message that came back is one of the thread: what it has beside its words may be gone.
fn is_as(told: &Value, own: &Value) -> bool {
    let (Some(told), Some(own)) = (told.as_object(), own.as_object()) else { return false };
    let is_known = |name: &String| own.contains_key(name) || BESIDE.contains(&name.as_str());
    own.iter().all(|(name, value)| told.get(name) == Some(value)) && told.keys().all(is_known)
}

fn role(value: &Value) -> &str {
    value.get("role").and_then(Value::as_str).unwrap_or_default()
}

/// A message that a handler wrote; none for a role that no model is told of.
fn one(value: &Value, images: &Images<'_>) -> Result<Option<(Role, Vec<Block>)>, String> {
    let map = value.as_object().ok_or("it is no object")?;
    let text = |name: &str| map.get(name).and_then(Value::as_str).unwrap_or_default();
    let user = |text: String| Ok(Some((Role::User, vec![Block::Text { text }])));
    let said = || map.get("content").ok_or_else(|| "it has no content".to_owned());
    match role(value) {
        "user" => match said()? {
            Value::String(text) => user(text.clone()),
            Value::Array(blocks) => {
                Ok(Some((Role::User, blocks.iter().map(|block| read(block, images)).collect::<Result<_, _>>()?)))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
                Err("its content is neither text nor a list".to_owned())
            }
        },
        "assistant" => match said()? {
            Value::String(text) => Ok(Some((Role::Assistant, vec![Block::Text { text: text.clone() }]))),
            Value::Array(blocks) => {
                Ok(Some((Role::Assistant, blocks.iter().map(|block| read(block, images)).collect::<Result<_, _>>()?)))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
                Err("its content is neither text nor a list".to_owned())
            }
        },
        "toolResult" => {
            let call_id = CallId(text("toolCallId").to_owned());
            let error = map.get("isError").and_then(Value::as_bool).unwrap_or_default();
            let (output, named) = parts(said()?)?;
            let image = |block: &Value| match read(block, images) {
                Ok(Block::Image { media_type, hash }) => {
                    Some(Image { name: String::new(), media_type, hash, bytes: 0 })
                }
                _ => None,
            };
            let images = named.into_iter().filter_map(image).collect();
            Ok(Some((Role::User, vec![Block::ToolResult { call_id, output, error, images }])))
        }
        "custom" => Ok(Some((Role::User, vec![Block::Custom(custom(map, "handler")?)]))),
        "bashExecution" if map.get("excludeFromContext").and_then(Value::as_bool) == Some(true) => Ok(None),
        "bashExecution" => user(ran(map)),
        "branchSummary" => user(format!(
            "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n{}</summary>",
            text("summary")
        )),
        "compactionSummary" => user(format!(
            "The conversation before this point was compacted into this summary:\n\n<summary>\n{}\n</summary>",
            text("summary")
        )),
        "" => Err("it has no role".to_owned()),
        _ => Ok(None),
    }
}

/// What the model reads of a command of the person's own.
fn ran(map: &Map<String, Value>) -> String {
    let text = |name: &str| map.get(name).and_then(Value::as_str).unwrap_or_default();
    let is = |name: &str| map.get(name).and_then(Value::as_bool).unwrap_or_default();
    let output = text("output");
    let mut told = format!("Ran `{}`\n", text("command"));
    let _never_fails = if output.is_empty() { write!(told, "(no output)") } else { write!(told, "```\n{output}\n```") };
    if is("cancelled") {
        told.push_str("\n\n(command cancelled)");
    } else if let Some(code) = map.get("exitCode").and_then(Value::as_i64).filter(|code| *code != 0) {
        let _never_fails = write!(told, "\n\nCommand exited with code {code}");
    }
    if is("truncated") && !text("fullOutputPath").is_empty() {
        let _never_fails = write!(told, "\n\n[Output truncated. Full output: {}]", text("fullOutputPath"));
    }
    told
}

fn read(value: &Value, images: &Images<'_>) -> Result<Block, String> {
    let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let signature = value.get("thinkingSignature").and_then(Value::as_str).map(str::to_owned);
    match value.get("type").and_then(Value::as_str) {
        Some("text") => Ok(Block::Text { text: text("text") }),
        Some("thinking") if value.get("redacted").and_then(Value::as_bool) == Some(true) => {
            Ok(Block::RedactedThinking { data: signature.unwrap_or_default() })
        }
        Some("thinking") => Ok(Block::Thinking { text: text("thinking"), signature }),
        Some("toolCall") => Ok(Block::ToolCall(ToolCall {
            call_id: CallId(text("id")),
            tool: text("name"),
            input: value.get("arguments").cloned().unwrap_or_else(|| json!({})),
        })),
        // A hash may name anything that the project keeps: only images of this conversation are sent.
        Some("image") => match images.get(text("hash").as_str()) {
            Some(hash) => Ok(Block::Image { media_type: text("mimeType"), hash: (*hash).clone() }),
            None => Ok(Block::Text { text: format!("[an image ({}) that is not in this thread]", text("mimeType")) }),
        },
        Some(other) => Err(format!("`{other}` is no type of a block")),
        None => Err("a block of its content has no type".to_owned()),
    }
}

/// Where `told` differs from `entries`: the places of messages that are a handler's, and the messages that are gone.
#[must_use]
pub fn differs(entries: &[Entry], told: &[Told]) -> (Vec<usize>, Vec<Entry>) {
    let mut left: BTreeMap<&ContentHash, usize> = BTreeMap::new();
    for told in told.iter().filter(|told| !told.changed) {
        *left.entry(&told.entry.hash).or_default() += 1;
    }
    let changed = told.iter().enumerate().filter(|(_, told)| told.changed).map(|(place, _)| place).collect();
    let gone = entries.iter().filter(|entry| match left.get_mut(&entry.hash) {
        Some(count @ 1..) => {
            *count -= 1;
            false
        }
        Some(_) | None => true,
    });
    (changed, gone.cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::CustomMessage;
    use proptest::prelude::*;

    fn entry(role: Role, blocks: Vec<Block>) -> Entry {
        Entry::new(Message { role, blocks })
    }

    fn text(text: &str) -> Block {
        Block::Text { text: text.to_owned() }
    }

    fn call(id: &str) -> Block {
        Block::ToolCall(ToolCall { call_id: CallId(id.into()), tool: "ls".into(), input: json!({"path": id}) })
    }

    fn result(id: &str, output: &str) -> Block {
        Block::ToolResult { call_id: CallId(id.into()), output: output.into(), error: false, images: Vec::new() }
    }

    fn conversation() -> Vec<Entry> {
        let custom = CustomMessage {
            custom_type: "note".into(),
            text: "mind this".into(),
            display: false,
            details: json!({"a": 1}),
            by: "h".into(),
        };
        vec![
            entry(Role::User, vec![text("hi")]),
            Entry::new(Message::custom(custom)),
            entry(Role::Assistant, vec![text("looking"), call("1"), call("2")]),
            entry(Role::User, vec![result("1", "one"), result("2", "two")]),
            entry(Role::Assistant, vec![text("done")]),
        ]
    }

    #[test]
    fn roles_are_those_of_pi_and_results_stand_alone() {
        let list = to_json(&conversation(), &Forms::default());
        let roles: Vec<_> = list.iter().map(role).collect();
        assert_eq!(roles, ["user", "custom", "assistant", "toolResult", "toolResult", "assistant"]);
        assert_eq!(list[3]["toolName"], "ls");
        assert_eq!(list[2]["content"][1]["arguments"], json!({"path": "1"}));
    }

    #[test]
    fn what_comes_back_unchanged_is_the_threads_own() {
        let entries = conversation();
        let told = told(&entries, &to_json(&entries, &Forms::default()));
        assert!(told.iter().all(|told| !told.changed));
        assert_eq!(told.into_iter().map(|told| told.entry).collect::<Vec<_>>(), entries);
    }

    #[test]
    fn one_changed_result_changes_its_message_and_no_other() {
        let entries = conversation();
        let mut list = to_json(&entries, &Forms::default());
        list[4]["content"][0]["text"] = "cut".into();
        let told = told(&entries, &list);
        assert_eq!(told.iter().map(|told| told.changed).collect::<Vec<_>>(), [false, false, false, true, false]);
        assert_eq!(told[3].entry.message.blocks, [result("1", "one"), result("2", "cut")]);
        let (changed, gone) = differs(&entries, &told);
        assert_eq!((changed, gone), (vec![3], vec![entries[3].clone()]));
    }

    #[test]
    fn a_hash_names_no_image_of_another_place() {
        let list = [json!({"role": "user", "content": [{"type": "image", "mimeType": "image/png", "hash": "ab"}]})];
        let entries = from_json(&list);
        assert!(matches!(&entries[0].message.blocks[0], Block::Text { text } if text.contains("not in this thread")));
    }

    #[test]
    fn kinds_that_become_user_messages() {
        let list = [
            json!({"role": "bashExecution", "command": "ls", "output": "a", "exitCode": 2}),
            json!({"role": "bashExecution", "command": "ls", "output": "", "excludeFromContext": true}),
            json!({"role": "compactionSummary", "summary": "S"}),
            json!({"role": "branchSummary", "summary": "B"}),
            json!({"role": "moon", "phase": 3}),
        ];
        let check = |list: &[Value]| check(&list.iter().cloned().map(Arc::new).collect::<Vec<_>>(), &[]);
        assert_eq!(check(&list), Ok(()));
        let texts: Vec<_> = from_json(&list).iter().map(|entry| entry.message.text()).collect();
        assert_eq!(texts.len(), 3);
        assert_eq!(texts[0], "Ran `ls`\n```\na\n```\n\nCommand exited with code 2");
        assert!(texts[1].ends_with("<summary>\nS\n</summary>") && texts[2].ends_with("<summary>\nB</summary>"));
        assert!(check(&[json!({"role": "user", "content": 3})]).is_err());
        assert!(check(&[json!("x")]).is_err());
    }

    proptest! {
        /// Whatever is left out and moved: what was not touched stays the thread's, and nothing is lost or doubled.
        #[test]
        fn any_order_keeps_messages(order in Just((0..5_usize).collect::<Vec<_>>()).prop_shuffle(), keep in 0..6_usize) {
            let entries = conversation();
            let names = tools(&entries);
            let kept: Vec<_> = order.into_iter().take(keep).collect();
            let list: Vec<Value> = kept.iter().flat_map(|place| group(&entries[*place].message, &names)).collect();
            let told = told(&entries, &list);
            prop_assert!(told.iter().all(|told| !told.changed));
            let back: Vec<_> = told.iter().map(|told| &told.entry).collect();
            prop_assert_eq!(back, kept.iter().map(|place| &entries[*place]).collect::<Vec<_>>());
        }
    }
}
