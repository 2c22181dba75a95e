//! A thread as the entries of a session of pi, read from its log and kept up with it.
//!
//! An entry's id is the place of its line in the log, which stays as it is. A thread has no branches: each entry follows the
//! one before it.

use super::pi_names::name_tools;
use super::tools_of_pi;
use crate::domain::conversation::entry_at;
use crate::domain::{
    AnswerFacts, ContextEvent, CustomMessage, Entry, Event, ExtensionEntry, Message, MessageFacts, ModelRef,
    PromptEvent, Record, RequestEvent, Role, SettingsEvent, ThinkingLevel, ThreadEvent, ThreadId, Timestamp, ToolCall,
    ToolEvent,
};
use crate::pipeline::{Forms, image, to_json};
use crate::ports::StoreError;
use crate::store::{Layout, log};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};

/// The type of the entry that a compaction is.
const COMPACTION: &str = "compaction";

/// Bytes of the log that are read at once.
const PAGE: u64 = 1 << 20;

/// See the module.
pub(super) struct Entries {
    layout: Layout,
    thread: ThreadId,
    /// So far the log is read.
    at: u64,
    all: Vec<Value>,
    header: Value,
    /// The system text of the newest request.
    system: Option<String>,
    name: Option<String>,
    /// The one that answers.
    model: Option<ModelRef>,
    /// Messages that join behind the next prompt.
    prepared: Vec<CustomMessage>,
    calls: HashMap<String, ToolCall>,
    /// What came before the result it belongs to: details, and images.
    details: HashMap<String, Value>,
    images: HashMap<String, Vec<Value>>,
    /// Commands of the person's own that run, and whether the model gets them.
    commands: HashMap<String, (String, bool)>,
}

impl Entries {
    pub(super) fn new(layout: Layout, thread: ThreadId) -> Self {
        let (all, header, system, name, model, prepared) = (Vec::new(), Value::Null, None, None, None, Vec::new());
        let (calls, details, images, commands) = (HashMap::new(), HashMap::new(), HashMap::new(), HashMap::new());
        Self { layout, thread, at: 0, all, header, system, name, model, prepared, calls, details, images, commands }
    }

    /// Reads what was written since.
    ///
    /// # Errors
    /// [`StoreError`] where the log cannot be read.
    pub(super) fn follow(&mut self) -> Result<(), StoreError> {
        let log = self.layout.log(&self.thread)?;
        loop {
            let page = log::read_forward(&log, self.at, PAGE)?;
            if page.lines.is_empty() {
                return Ok(());
            }
            self.at = page.end;
            for line in page.lines {
                if let Some(record) = line.record {
                    self.take(line.offset, record);
                }
            }
        }
    }

    /// The byte of the log that each entry is from, beside it.
    pub(super) fn with_places(&self) -> impl Iterator<Item = (u64, &Value)> {
        self.all.iter().map(|entry| (entry["id"].as_str().and_then(entry_at).unwrap_or_default(), entry))
    }

    /// From the first to the newest, as [`HOST.md`](../../assets/extensions/HOST.md) wants them.
    pub(super) fn all(&self) -> &[Value] {
        &self.all
    }

    pub(super) fn one(&self, id: &str) -> Option<&Value> {
        self.all.iter().find(|entry| entry["id"] == id)
    }

    /// A call of a tool, and its result as a message where that is there.
    pub(super) fn call(&self, id: &str) -> Option<(&ToolCall, Option<&Value>)> {
        let messages = self.all.iter().rev().filter_map(|entry| entry.get("message"));
        let is_its = |message: &&Value| message["role"] == "toolResult" && message["toolCallId"] == id;
        self.calls.get(id).map(|call| (call, messages.clone().find(is_its)))
    }

    /// What these calls gave beside the text of their results.
    pub(super) fn details_of(&self, mut calls: HashSet<String>) -> HashMap<String, Value> {
        let mut found = HashMap::new();
        let messages = self.all.iter().rev().filter_map(|entry| entry.get("message"));
        for message in messages.filter(|message| message["role"] == "toolResult") {
            if calls.is_empty() {
                break;
            }
            let call = message.get("toolCallId").and_then(Value::as_str).and_then(|call| calls.take(call));
            let details = message.get("details").filter(|details| !details.is_null());
            found.extend(call.zip(details.cloned()));
        }
        found
    }

    /// Those up to one of them, or all.
    pub(super) fn up_to(&self, id: Option<&str>) -> &[Value] {
        let end = id.and_then(|id| self.all.iter().position(|entry| entry["id"] == id));
        end.map_or(&self.all, |end| &self.all[..=end])
    }

    pub(super) fn leaf(&self) -> Option<&str> {
        self.all.last()?.get("id")?.as_str()
    }

    pub(super) fn header(&self) -> &Value {
        &self.header
    }

    pub(super) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    pub(super) fn system(&self) -> Option<&str> {
        self.system.as_deref()
    }

    /// Those that tell of a compaction.
    pub(super) fn compactions(&self) -> Vec<Value> {
        self.all.iter().filter(|entry| entry["type"] == COMPACTION).cloned().collect()
    }

    /// What an entry is called.
    pub(super) fn label(&self, id: &str) -> Option<&str> {
        let labels = self.all.iter().rev().filter(|entry| entry["type"] == "label");
        labels.filter(|entry| entry["targetId"] == id).map(|entry| entry["label"].as_str()).next().flatten()
    }

    /// The entry with which the newest so many messages begin: results of one answer are one.
    fn first_kept(&self, kept: usize) -> Option<&Value> {
        let role = |entry: &Value| entry.pointer("/message/role").and_then(Value::as_str).map(str::to_owned);
        let (mut left, mut behind, mut first) = (kept, None, None);
        for entry in self.all.iter().rev() {
            let role = role(entry);
            let is_told = role.is_some() || entry["type"] == "custom_message" || entry["type"] == "branch_summary";
            if !is_told || entry.pointer("/message/excludeFromContext").is_some_and(|excluded| *excluded == true) {
                continue;
            }
            let same = role.as_deref() == Some("toolResult") && behind.as_deref() == Some("toolResult");
            if !same {
                if left == 0 {
                    break;
                }
                left -= 1;
            }
            (first, behind) = (entry.get("id"), role);
        }
        first
    }

    /// The entries of prompts and answers of these times, in their order: those that were said in another thread have none.
    pub(super) fn named(&self, said: &[(Role, Timestamp)]) -> Vec<Option<String>> {
        let word = |role| match role {
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        let mut left = self.all.iter();
        let mut one = |(role, at): &(Role, Timestamp)| {
            let is_it = |entry: &&Value| {
                let field = |name: &str| entry.get("message").and_then(|message| message.get(name));
                field("role").is_some_and(|own| own == word(*role))
                    && field("timestamp").is_some_and(|own| *own == at.0)
            };
            let mut ahead = left.clone();
            let found = ahead.find(is_it)?;
            left = ahead;
            found["id"].as_str().map(str::to_owned)
        };
        said.iter().map(&mut one).collect()
    }

    fn push(&mut self, offset: u64, at: Timestamp, mut entry: Value) {
        // What one line of the log says in several entries has several ids.
        let mut id = format!("{offset:08x}");
        if self.leaf().is_some_and(|leaf| leaf.starts_with(&id)) {
            id = format!("{id}-{}", self.all.len());
        }
        let parent = self.leaf().map(str::to_owned);
        if let Value::Object(fields) = &mut entry {
            fields.insert("id".to_owned(), id.into());
            fields.insert("parentId".to_owned(), parent.into());
            fields.insert("timestamp".to_owned(), iso(at).into());
        }
        self.all.push(entry);
    }

    fn say(&mut self, offset: u64, at: Timestamp, message: Message, answer: Option<AnswerFacts>) {
        let said = Entry::said(message, MessageFacts { answer, ..MessageFacts::at(at) });
        for mut told in to_json(&[said], &Forms::default()) {
            name_tools(&mut told);
            self.push(offset, at, json!({"type": "message", "message": told}));
        }
    }

    fn take(&mut self, offset: u64, record: Record) {
        let Record { timestamp: at, event, .. } = record;
        match event {
            Event::Thread(ThreadEvent::ThreadStarted { project, lineage, model, .. }) => {
                self.model = Some(model);
                self.header = json!({"type": "session", "version": 3, "id": self.thread.as_str(), "timestamp": iso(at),
                    "cwd": project, "parentSession": lineage.previous});
            }
            Event::Thread(ThreadEvent::ExtensionEntry { entry }) => self.take_entry(offset, at, entry),
            Event::Settings(SettingsEvent::ModelChanged { model }) => {
                let change = if self.model.as_ref().is_some_and(|before| before.is_same(&model)) {
                    let level = model.thinking.unwrap_or(ThinkingLevel::Off);
                    json!({"type": "thinking_level_change", "thinkingLevel": level})
                } else {
                    json!({"type": "model_change", "provider": model.provider, "modelId": model.model})
                };
                self.model = Some(model);
                self.push(offset, at, change);
            }
            Event::Settings(SettingsEvent::TitleSet { title }) => {
                self.push(offset, at, json!({"type": "session_info", "name": title}));
                self.name = Some(title);
            }
            Event::Prompt(PromptEvent::PromptPrepared { messages, .. }) => self.prepared = messages,
            Event::Prompt(PromptEvent::CognitionIn { text, images, files, .. }) => {
                self.say(offset, at, Message::said(&text, &images, &files), None);
                for custom in std::mem::take(&mut self.prepared) {
                    self.push(offset, at, custom_message(custom));
                }
            }
            Event::Request(RequestEvent::CognitionOut { message, model, usage, spend, stop, .. }) => {
                for call in message.calls() {
                    self.calls.insert(call.call_id.0.clone(), call.clone());
                }
                self.say(offset, at, message, Some(AnswerFacts { model, usage, spend, stop }));
            }
            Event::Tool(ToolEvent::ResultImage { call_id, image: shown }) => {
                let told = image(&shown.media_type, &shown.hash);
                self.images.entry(call_id.0).or_default().push(told);
            }
            Event::Tool(ToolEvent::ShellStarted { call_id, command, shared }) => {
                self.commands.insert(call_id.0, (command, shared));
            }
            Event::Tool(ToolEvent::ShellEnded { call_id, output, error }) => {
                let (command, shared) = self.commands.remove(&call_id.0).unwrap_or_default();
                let code = error.as_deref().map_or(Some(0), exit_code);
                let ran = json!({"role": "bashExecution", "command": command, "output": output, "exitCode": code,
                    "cancelled": code.is_none(), "truncated": false, "excludeFromContext": !shared, "timestamp": at.0});
                self.push(offset, at, json!({"type": "message", "message": ran}));
            }
            Event::Tool(ToolEvent::ToolCallResult { call_id, output, error }) => {
                let tool = self.calls.get(&call_id.0).map(|call| call.tool.clone()).unwrap_or_default();
                let named = tools_of_pi::named(json!({"toolName": tool}));
                let text = json!({"type": "text", "text": output});
                let images = self.images.remove(&call_id.0).unwrap_or_default();
                let content: Vec<Value> = std::iter::once(text).chain(images).collect();
                let result = json!({"role": "toolResult", "toolCallId": call_id.0, "toolName": named["toolName"],
                    "content": content, "isError": error.is_some(), "timestamp": at.0,
                    "details": self.details.remove(&call_id.0)});
                self.push(offset, at, json!({"type": "message", "message": result}));
            }
            Event::Context(ContextEvent::SystemPrompt { text, .. }) => self.system = Some(text),
            Event::Context(ContextEvent::ContextCompacted { summary, tokens_before, kept, details, .. }) => {
                let made = json!({"type": COMPACTION, "summary": summary, "tokensBefore": tokens_before.0,
                    "firstKeptEntryId": self.first_kept(kept), "details": details});
                self.push(offset, at, made);
            }
            Event::Context(ContextEvent::BranchSummarised { summary, .. }) if !summary.is_empty() => {
                let from = self.leaf().map_or_else(|| "root".to_owned(), str::to_owned);
                self.push(offset, at, json!({"type": "branch_summary", "fromId": from, "summary": summary}));
            }
            Event::Thread(_)
            | Event::Settings(_)
            | Event::Prompt(_)
            | Event::Request(_)
            | Event::Context(_)
            | Event::Tool(_)
            | Event::Approval(_)
            | Event::Control(_)
            | Event::Unknown { .. } => {}
        }
    }

    fn take_entry(&mut self, offset: u64, at: Timestamp, entry: ExtensionEntry) {
        match entry {
            ExtensionEntry::Custom { custom_type, data } => {
                self.push(offset, at, json!({"type": "custom", "customType": custom_type, "data": data}));
            }
            ExtensionEntry::Label { target, label } => {
                self.push(offset, at, json!({"type": "label", "targetId": target, "label": label}));
            }
            ExtensionEntry::Details { call_id, details, .. } => {
                self.details.insert(call_id, details);
            }
            ExtensionEntry::Message { message, .. } => self.push(offset, at, custom_message(message)),
            ExtensionEntry::ModelCallSent { .. } | ExtensionEntry::ModelCall { .. } => {}
        }
    }
}

fn custom_message(message: CustomMessage) -> Value {
    let CustomMessage { custom_type, text, display, details, .. } = message;
    json!({"type": "custom_message", "customType": custom_type, "content": text, "display": display,
        "details": details})
}

fn iso(at: Timestamp) -> String {
    let time = jiff::Timestamp::from_millisecond(i64::try_from(at.0).unwrap_or_default()).unwrap_or_default();
    time.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}

/// The exit code that the end of a command tells; none of one that was stopped.
fn exit_code(error: &str) -> Option<i64> {
    error.strip_prefix("(exit code ")?.strip_suffix(')')?.parse().ok()
}
