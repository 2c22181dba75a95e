//! Sessions of pi as threads: a file of them is a tree of entries, of which each branch becomes a thread. What was said is
//! taken over, and what it cost stays with whoever paid for it.
//!
//! The form is pi's, version 3 (its `docs/session.md`); of the older ones, version 1 is a line of entries without ids, and
//! version 2 calls custom messages otherwise. A line that does not read costs itself.

use super::Setup;
use crate::domain::conversation::entry_id;
use crate::domain::event::StopReason;
use crate::domain::image::{LARGEST_IMAGE, media_type};
use crate::domain::{
    Block, CallId, ContentHash, ContextEvent, CustomMessage, Event, ExtensionEntry, Image, Lineage, Message, ModelRef,
    Money, Problem, PromptEvent, Record, RequestEvent, Role, SetLimits, SettingsEvent, Severity, ThreadEvent, ThreadId,
    ThreadKind, ThreadOrigin, Timestamp, Tokens, ToolCall, ToolEvent, Usage, Values,
};
use crate::engine::thread::{Thread, apply};
use crate::ports::executor::ThreadSpec;
use crate::store::content::ContentStore;
use crate::store::fork::NewThread;
use crate::store::upkeep;
use crate::worker::host::REPLAY;
use base64::Engine as _;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Read as _};
use std::path::Path;

/// The largest file, in bytes.
const LARGEST: u64 = 256 << 20;

/// The newest form that is read.
const NEWEST: u64 = 3;

/// What came of a file.
#[derive(Debug)]
pub struct Imported {
    /// A thread for each branch, that of the newest entry first.
    pub threads: Vec<ThreadId>,
    /// What was left out, and why.
    pub problems: Vec<Problem>,
}

/// One entry of the file.
struct Line {
    number: u32,
    parent: Option<String>,
    value: Value,
}

/// A session as it was read.
struct Session {
    name: Option<String>,
    /// What entries are called.
    labels: HashMap<String, Option<String>>,
    entries: HashMap<String, Line>,
    /// In the order of the file.
    order: Vec<String>,
}

/// Makes threads of one's own of the session in `file`.
///
/// # Errors
/// The sentence a person should read; nothing was made then, or part of it where the disk is full.
pub fn import(setup: &Setup, file: &Path) -> Result<Imported, String> {
    let mut problems = Vec::new();
    let session = read(file, &mut problems)?;
    let model = setup.choose(&setup.items(), setup.directive()).map_err(|error| error.to_string())?.model;
    setup.layout.prepare().map_err(|error| error.to_string())?;
    let content = ContentStore::new(setup.layout.objects());
    let mut import = Import {
        setup,
        file,
        session: &session,
        content,
        model,
        problems,
        owners: HashMap::new(),
        threads: Vec::new(),
    };
    for leaf in session.leaves() {
        import.branch(&leaf)?;
    }
    import.content.sync().map_err(|error| error.to_string())?;
    if import.threads.is_empty() {
        return Err(format!("nothing was said in {}", file.display()));
    }
    Ok(Imported { threads: import.threads, problems: import.problems })
}

fn read(file: &Path, problems: &mut Vec<Problem>) -> Result<Session, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{} cannot be read: {error}", file.display());
    let opened = std::fs::File::open(file).map_err(|error| failed(&error))?;
    let size = opened.metadata().map_err(|error| failed(&error))?;
    if !size.is_file() || size.len() > LARGEST {
        return Err(failed(&format!("it is no file, or larger than {} MB", LARGEST >> 20)));
    }
    let mut session = Session { name: None, labels: HashMap::new(), entries: HashMap::new(), order: Vec::new() };
    let mut header = false;
    for (number, line) in (1..).zip(BufReader::new(opened.take(LARGEST)).lines()) {
        let line = line.map_err(|error| failed(&error))?;
        if line.trim().is_empty() {
            continue;
        }
        let mut warn = |message: String| {
            let remedy = "the other lines were taken over";
            problems.push(Problem::at(file, number, Severity::Warning, message, remedy));
        };
        let value: Value = match serde_json::from_str(&line) {
            Ok(value) => value,
            Err(error) => {
                warn(format!("this is not JSON: {error}"));
                continue;
            }
        };
        if !header {
            let version = value["version"].as_u64().unwrap_or(1);
            if value["type"] != "session" || version > NEWEST {
                return Err(format!(
                    "{}:{number}: this is not the head of a session of pi of version {NEWEST} or older",
                    file.display()
                ));
            }
            header = true;
            continue;
        }
        // The first form has neither ids nor branches.
        let before = session.order.last().cloned();
        let id = value["id"].as_str().map_or_else(|| format!("line-{number}"), str::to_owned);
        let parent = match &value["parentId"] {
            Value::String(parent) if session.entries.contains_key(parent) => Some(parent.clone()),
            Value::String(parent) => {
                warn(format!("its parent `{parent}` does not stand before it"));
                before
            }
            Value::Null if value.get("id").is_some() => None,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => before,
        };
        if let (Some("label"), Some(target)) = (value["type"].as_str(), value["targetId"].as_str()) {
            session.labels.insert(target.to_owned(), value["label"].as_str().map(str::to_owned));
        }
        if value["type"] == "session_info" {
            session.name = value["name"].as_str().map(str::to_owned);
        }
        if session.entries.contains_key(&id) {
            warn(format!("there is an entry `{id}` before it"));
            continue;
        }
        session.order.push(id.clone());
        session.entries.insert(id, Line { number, parent, value });
    }
    if header { Ok(session) } else { Err(format!("{} is empty", file.display())) }
}

impl Session {
    /// The ends of all branches, the newest entry first.
    fn leaves(&self) -> Vec<String> {
        let parents: HashSet<&String> = self.entries.values().filter_map(|line| line.parent.as_ref()).collect();
        self.order.iter().rev().filter(|id| !parents.contains(id)).cloned().collect()
    }

    /// From the first entry to this one.
    fn path(&self, leaf: &str) -> Vec<(&str, &Line)> {
        let mut path = Vec::new();
        let mut at = self.entries.get_key_value(leaf);
        while let Some((id, line)) = at {
            path.push((id.as_str(), line));
            at = line.parent.as_ref().and_then(|parent| self.entries.get_key_value(parent));
        }
        path.reverse();
        path
    }
}

fn is_said(entry: &Value) -> bool {
    entry["type"] == "message" || entry["type"] == "custom_message"
}

struct Import<'a> {
    setup: &'a Setup,
    file: &'a Path,
    session: &'a Session,
    content: ContentStore,
    model: ModelRef,
    problems: Vec<Problem>,
    /// In which thread an entry was said first, by its place in that, and the byte behind it in its log.
    owners: HashMap<String, (usize, u64)>,
    threads: Vec<ThreadId>,
}

impl Import<'_> {
    fn branch(&mut self, leaf: &str) -> Result<(), String> {
        let number = self.threads.len();
        let failed = |error: crate::ports::StoreError| error.to_string();
        let path = self.session.path(leaf);
        let shared = path.iter().take_while(|(id, _)| self.owners.contains_key(*id)).count();
        if !path.iter().skip(shared).any(|(_, line)| is_said(&line.value)) {
            return Ok(());
        }
        let from = shared.checked_sub(1).and_then(|last| self.owners.get(path.get(last)?.0).copied());
        let previous = from.and_then(|(thread, until)| Some((self.threads.get(thread)?.clone(), until)));
        let lineage = match &previous {
            Some((previous, _)) => Lineage::fork(previous),
            None => Lineage::of(ThreadOrigin::CommandLine),
        };
        let (directive, model) = (self.setup.directive().to_owned(), self.model.clone());
        let spec = ThreadSpec {
            id: None,
            directive: directive.clone(),
            inputs: Values::new(),
            model: model.clone(),
            kind: ThreadKind::Interactive,
            limits: SetLimits::default(),
            lineage,
            ceilings: Vec::new(),
        };
        let now = self.setup.now();
        let mut writer = NewThread::begin(&self.setup.layout, spec, now).map_err(failed)?;
        let name = self.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = format!("this thread begins with the messages of the pi session {name}");
        writer.write(now, Event::Thread(ThreadEvent::Notice { text })).map_err(failed)?;
        let thread =
            Thread::new(writer.id().clone(), &directive, ThreadKind::Interactive, model, SetLimits::default().limits);
        let mut fold = Fold { thread, before: HashMap::new(), calls: HashMap::new(), places: HashMap::new() };
        for (place, (id, line)) in path.iter().enumerate() {
            if place == shared
                && let Some((from, until)) = previous.clone()
            {
                writer.write(now, Event::Thread(ThreadEvent::ThreadForked { from, until })).map_err(failed)?;
            }
            let at = time(&line.value).unwrap_or(now);
            fold.before.insert((*id).to_owned(), fold.thread.history.len() + fold.thread.notes().count());
            for event in self.events(line, &fold) {
                fold.hear(writer.id(), at, &event);
                let offset = writer.write(at, event).map_err(failed)?;
                fold.places.entry((*id).to_owned()).or_insert(offset);
            }
            self.owners.entry((*id).to_owned()).or_insert((number, writer.end()));
        }
        for (id, at) in &fold.places {
            let label = self.session.labels.get(id).cloned().flatten();
            if let Some(label) = label.filter(|_| self.owners.get(id).is_some_and(|(owner, _)| *owner == number)) {
                let entry = ExtensionEntry::Label { target: entry_id(*at), label: Some(label) };
                writer.write(now, Event::Thread(ThreadEvent::ExtensionEntry { entry })).map_err(failed)?;
            }
        }
        let id = writer.finish(&self.setup.layout).map_err(failed)?;
        if let Some(title) = self.session.name.clone() {
            let event = Event::Settings(SettingsEvent::TitleSet { title });
            upkeep::file(&self.setup.layout, &id, event, now, REPLAY).map_err(|error| error.to_string())?;
        }
        self.threads.push(id);
        Ok(())
    }

    fn warn(&mut self, line: &Line, message: impl Into<String>) {
        let remedy = "the other lines were taken over";
        let problem = Problem::at(self.file, line.number, Severity::Warning, message, remedy);
        // One entry is in every branch behind it.
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    /// What an entry says, as a log does.
    fn events(&mut self, line: &Line, fold: &Fold) -> Vec<Event> {
        let value = &line.value;
        let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
        match value["type"].as_str().unwrap_or_default() {
            "message" => self.message(line, fold),
            "custom_message" => vec![message_of(custom(value, self.content_text(line, &value["content"])))],
            "custom" => {
                let entry = ExtensionEntry::Custom { custom_type: text("customType"), data: value["data"].clone() };
                vec![Event::Thread(ThreadEvent::ExtensionEntry { entry })]
            }
            "branch_summary" => {
                let (from, summary) = (fold.thread.id.clone(), text("summary"));
                let (request, usage, spend, reason) = (None, Usage::default(), None, None);
                vec![Event::Context(ContextEvent::BranchSummarised { from, summary, request, usage, spend, reason })]
            }
            "compaction" => {
                let all = fold.thread.history.len() + fold.thread.notes().count();
                let from = fold.before.get(&text("firstKeptEntryId")).copied().unwrap_or(all);
                let tokens = Tokens(value["tokensBefore"].as_u64().unwrap_or(0));
                vec![Event::Context(ContextEvent::ContextCompacted {
                    summary: text("summary"),
                    kept: all.saturating_sub(from),
                    summarised: from,
                    dropped: 0,
                    tokens_before: tokens,
                    tokens_after: Tokens(0),
                    request: None,
                    usage: Usage::default(),
                    spend: None,
                    reason: None,
                    steps: Vec::new(),
                    details: None,
                })]
            }
            // Name and labels are the thread's; which model comes next says whoever goes on.
            "session_info" | "label" | "model_change" | "thinking_level_change" => Vec::new(),
            other => {
                self.warn(line, format!("entries of the type `{other}` are not known"));
                Vec::new()
            }
        }
    }

    fn message(&mut self, line: &Line, fold: &Fold) -> Vec<Event> {
        let message = &line.value["message"];
        let text = |name: &str| message[name].as_str().unwrap_or_default().to_owned();
        match message["role"].as_str().unwrap_or_default() {
            "user" => {
                let images = self.images(line, &message["content"]);
                let (text, role) = (self.content_text(line, &message["content"]), "user".to_owned());
                vec![Event::Prompt(PromptEvent::CognitionIn { text, role, prompt: None, images, files: Vec::new() })]
            }
            "assistant" => answer(message),
            "toolResult" => {
                let call_id = CallId(text("toolCallId"));
                if !fold.calls.contains_key(&call_id.0) {
                    self.warn(line, format!("no call before it has the id `{}`", call_id.0));
                    return Vec::new();
                }
                let output = self.content_text(line, &message["content"]);
                let error = (message["isError"] == true).then(|| output.clone());
                let images = self.images(line, &message["content"]);
                let shown = images.into_iter().map(|image| ToolEvent::ResultImage { call_id: call_id.clone(), image });
                let mut events: Vec<Event> = shown.map(Event::Tool).collect();
                if !message["details"].is_null() {
                    let (call_id, details) = (call_id.0.clone(), message["details"].clone());
                    let entry = ExtensionEntry::Details { call_id, details, terminate: false };
                    events.push(Event::Thread(ThreadEvent::ExtensionEntry { entry }));
                }
                events.push(Event::Tool(ToolEvent::ToolCallResult { call_id, output, error }));
                events
            }
            "bashExecution" => {
                let call_id = CallId(format!("pi-{}", line.number));
                let shared = message["excludeFromContext"] != true;
                let error = match (&message["cancelled"], message["exitCode"].as_i64()) {
                    (Value::Bool(true), _) => Some("cancelled".to_owned()),
                    (_, Some(code)) if code != 0 => Some(format!("(exit code {code})")),
                    _ => None,
                };
                let (command, output) = (text("command"), text("output"));
                vec![
                    Event::Tool(ToolEvent::ShellStarted { call_id: call_id.clone(), command, shared }),
                    Event::Tool(ToolEvent::ShellEnded { call_id, output, error }),
                ]
            }
            "custom" | "hookMessage" => {
                vec![message_of(custom(message, self.content_text(line, &message["content"])))]
            }
            other => {
                self.warn(line, format!("messages of the role `{other}` are not known"));
                Vec::new()
            }
        }
    }

    /// The text of a content, whichever of its two forms it has.
    fn content_text(&mut self, line: &Line, content: &Value) -> String {
        match content {
            Value::String(text) => text.clone(),
            Value::Array(blocks) => {
                let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
                texts.join("\n")
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
                self.warn(line, "it has no content");
                String::new()
            }
        }
    }

    /// Keeps the images of a content.
    fn images(&mut self, line: &Line, content: &Value) -> Vec<Image> {
        let mut images = Vec::new();
        for block in content.as_array().into_iter().flatten().filter(|block| block["type"] == "image") {
            let bytes = base64::engine::general_purpose::STANDARD.decode(block["data"].as_str().unwrap_or_default());
            let Some((bytes, kind)) =
                bytes.ok().and_then(|bytes| Some((media_type(&bytes)?, bytes)).map(|(k, b)| (b, k)))
            else {
                self.warn(line, "its image is not a PNG, JPEG, GIF or WebP image");
                continue;
            };
            let (hash, size) = (ContentHash::of(&bytes), bytes.len() as u64);
            if size > LARGEST_IMAGE {
                self.warn(line, crate::domain::image::too_large());
            } else if let Err(error) = self.content.keep(&hash, || bytes) {
                self.warn(line, format!("its image was not kept: {error}"));
            } else {
                images.push(Image { name: String::new(), media_type: kind.to_owned(), hash, bytes: size });
            }
        }
        images
    }
}

/// What a thread is, as far as its entries were read.
struct Fold {
    thread: Thread,
    /// How much had been said before each entry.
    before: HashMap<String, usize>,
    calls: HashMap<String, ToolCall>,
    /// The byte of the log at which each entry is.
    places: HashMap<String, u64>,
}

impl Fold {
    fn hear(&mut self, id: &ThreadId, at: Timestamp, event: &Event) {
        if let Event::Request(RequestEvent::CognitionOut { message, .. }) = event {
            self.calls.extend(message.calls().map(|call| (call.call_id.0.clone(), call.clone())));
        }
        let _to_do = apply(&mut self.thread, &Record { timestamp: at, thread_id: id.clone(), event: event.clone() });
    }
}

/// An answer, as one that another thread was given: paid there, and of no request here.
fn answer(message: &Value) -> Vec<Event> {
    let mut blocks = Vec::new();
    for block in message["content"].as_array().into_iter().flatten() {
        let text = |name: &str| block[name].as_str().unwrap_or_default().to_owned();
        match block["type"].as_str().unwrap_or_default() {
            "text" => blocks.push(Block::Text { text: text("text") }),
            // Only its own provider takes thinking back, and only with its mark.
            "thinking" => {
                let signature = block["thinkingSignature"].as_str().map(str::to_owned);
                blocks.push(Block::Thinking { text: text("thinking"), signature });
            }
            "toolCall" => {
                let (call_id, tool, input) = (CallId(text("id")), text("name"), block["arguments"].clone());
                blocks.push(Block::ToolCall(ToolCall { call_id, tool, input }));
            }
            _ => {}
        }
    }
    if blocks.is_empty() {
        return Vec::new();
    }
    let message_said = Message { role: Role::Assistant, blocks };
    let text = |name: &str| message[name].as_str().unwrap_or_default().to_owned();
    // A log takes no model without a name.
    let named =
        |name: &str| Some(text(name)).filter(|name| !name.trim().is_empty()).unwrap_or_else(|| "unknown".to_owned());
    let count = |name: &str| Tokens(message["usage"][name].as_u64().unwrap_or(0));
    let usage = Usage {
        input: count("input"),
        output: count("output"),
        cache_read: count("cacheRead"),
        cache_write: count("cacheWrite"),
        ..Usage::default()
    };
    let stop = match message["stopReason"].as_str().unwrap_or("stop") {
        "stop" => StopReason::EndTurn,
        "toolUse" => StopReason::ToolUse,
        "length" => StopReason::MaxTokens,
        "aborted" => StopReason::Cancelled,
        other => StopReason::Other { word: other.to_owned() },
    };
    let spend = message["usage"]["cost"]["total"].as_f64().map(Money::from_dollars);
    let calls: Vec<ToolCall> = message_said.calls().cloned().collect();
    let out = Event::Request(RequestEvent::CognitionOut {
        text: message_said.text(),
        model: ModelRef::new(&named("provider"), &named("model")),
        request: 0,
        stop,
        usage,
        spend,
        message: message_said,
        elapsed_ms: 0,
    });
    let begins = calls.into_iter().map(|ToolCall { call_id, tool, input }| {
        Event::Tool(ToolEvent::ToolCallStart {
            tool,
            call_id,
            item: None,
            input,
            capability: None,
            grant: None,
            parallel: true,
            confined: false,
            change: None,
        })
    });
    std::iter::once(out).chain(begins).collect()
}

fn custom(value: &Value, text: String) -> CustomMessage {
    CustomMessage {
        custom_type: value["customType"].as_str().unwrap_or_default().to_owned(),
        text,
        display: value["display"].as_bool().unwrap_or(true),
        details: value["details"].clone(),
        by: "pi".to_owned(),
    }
}

fn message_of(message: CustomMessage) -> Event {
    Event::Thread(ThreadEvent::ExtensionEntry { entry: ExtensionEntry::Message { message, behind: false, turn: None } })
}

fn time(entry: &Value) -> Option<Timestamp> {
    let at: jiff::Timestamp = entry["timestamp"].as_str()?.parse().ok()?;
    u64::try_from(at.as_millisecond()).ok().map(Timestamp)
}
