//! The handlers of a thread: those that are written as files and in its directive, then those of extensions; and the skills
//! and templates of its prompts.

use super::built_in::{Equipment, Running};
use super::directive_planner::DirectivePlanner;
use super::extension_handlers::ExtensionHandlers;
use super::server_prompts::ServerPrompts;
use super::setup::{Setup, program};
use super::stamp::{Stamp, stamp};
use crate::config::{Authorities, Authority, Dirs, Trust};
use crate::context::condition::judge;
use crate::domain::{
    Drawing, DrawnKinds, Gesture, HandlerPlace, KnownTool, Leaving, Messages, OfferedCommand, OfferedShortcut,
    Permissions, Piece, Problem, Role, SandboxMode, SessionTold, Space, Stage, StageValue, State, Suggestion,
    Timestamp, ToComplete, ToDraw, ToolCall,
};
use crate::items::handler::{Action, Edit, FILE, Handler as Written};
use crate::items::hook::Condition;
use crate::items::prompt_file::{ExpandError, Expanded, Named, PromptFile, PromptFiles};
use crate::items::server_prompt::ServerPrompt;
use crate::items::{self, Items, Kind, Knowledge};
use crate::ports::ThreadAccess;
use crate::ports::handlers::{DEADLINE, Expansion, Handler, HandlerCall, HandlerReply, Handlers, NotExpanded};
use crate::ports::tools::Waiting;
use crate::tools::program::Program;
use crate::tools::reusable_keeper::ReusableKeeper;
use crate::tools::{Environment, Keeper, NoTools, Sandbox};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// No text grows longer by its edits, in bytes.
const LONGEST_TEXT: usize = 4 << 20;

/// So long a keeper waits for the next command.
const WAITS: Duration = Duration::from_secs(2);

/// So long it holds for the handlers of one value that the project was found trusted: for a few quick ones.
const HOLDS: Duration = Duration::from_millis(20);

/// See the module.
struct FileHandlers {
    items: Items,
    /// Whose threads bring handlers of their own.
    directive: String,
    dirs: Dirs,
    root: PathBuf,
    /// The folder that holds the person's own `.ai`.
    home: PathBuf,
    environment: Environment,
    sandbox: Sandbox,
    /// What is written, and how the files were then.
    read: RwLock<(Arc<Known>, Vec<Stamp>)>,
    files: Vec<PathBuf>,
    /// The keeper of commands, between two of them.
    keeper: Idle,
    /// Whether the project is trusted, and when that was looked at.
    trust: Mutex<Option<(Instant, Arc<Trust>)>>,
}

/// A keeper that waits for a command, and since when.
type Idle = Arc<Mutex<Option<(ReusableKeeper, Instant)>>>;

/// Handlers as they were read.
struct Known {
    handlers: Vec<Written>,
    /// What the project's directive that brings some of them decides.
    authority: Option<Authorities>,
}

impl From<items::Handlers> for Known {
    fn from(read: items::Handlers) -> Self {
        Self { handlers: read.handlers, authority: read.authority.map(|of| Authorities::from([of])) }
    }
}

/// Everybody who is asked.
struct AllHandlers {
    files: FileHandlers,
    extensions: Arc<ExtensionHandlers>,
    prompts: Arc<ServerPrompts>,
    news: Mutex<Vec<String>>,
}

/// What stands for the name of a skill or a template, or who is to be asked for it.
enum Meant {
    Text(Expansion),
    Asks(PromptFile, ServerPrompt, Map<String, Value>),
}

/// Who is asked in a thread that somebody only looks at, and the tools that it would have of extensions once these are ready.
pub struct Looked {
    pub handlers: Arc<dyn Handlers>,
    extensions: Arc<ExtensionHandlers>,
}

impl Looked {
    /// Gives it its tools: those that are `known` without extensions, and theirs, of which the planner hears what they say.
    /// Answers with the ones that are offered.
    #[must_use]
    pub fn equip(
        &self,
        known: Vec<KnownTool>,
        permissions: &Permissions,
        planner: &DirectivePlanner,
    ) -> Vec<KnownTool> {
        let all = self.extensions.among(known, permissions);
        let offered = self.extensions.active(all.clone());
        let words = self.extensions.words(&offered, permissions);
        let of_extensions = words.clone();
        planner.tools.come_from(move || words.clone());
        self.extensions.equip(Equipment {
            all: Box::new(move || all.clone()),
            words: Box::new(move || of_extensions.clone()),
            // Whoever looks has nothing done.
            built_in: Arc::new(NoTools),
            permissions: permissions.clone(),
            running: Running::default(),
        });
        offered
    }
}

impl fmt::Debug for Looked {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Looked").finish_non_exhaustive()
    }
}

impl Setup {
    /// Who is asked at the stages of the pipeline of a thread of `directive`.
    #[must_use]
    pub fn handlers(&self, items: &Items, directive: &str) -> Arc<dyn Handlers> {
        self.looked(items, directive).handlers
    }

    /// A thread of `directive` that is only looked at.
    #[must_use]
    pub fn looked(&self, items: &Items, directive: &str) -> Looked {
        let prompts = ServerPrompts::new(self, items, None, Arc::new(self.connections()));
        let extensions = Arc::new(ExtensionHandlers::new(self, None));
        let handlers = self.handlers_with((items, directive), Arc::clone(&extensions), prompts);
        Looked { handlers, extensions }
    }

    /// The same with these extensions, which the thread's tools have, too, and by whom MCP servers are asked for prompts.
    pub(super) fn handlers_with(
        &self,
        (items, directive): (&Items, &str),
        extensions: Arc<ExtensionHandlers>,
        prompts: Arc<ServerPrompts>,
    ) -> Arc<dyn Handlers> {
        let files = FileHandlers::new(self, items, directive);
        Arc::new(AllHandlers { files, extensions, prompts, news: Mutex::default() })
    }

    /// The skills and templates that a prompt can name.
    #[must_use]
    pub fn prompt_files(&self) -> PromptFiles {
        PromptFiles::find(&self.project.root, &self.prompt_home())
    }

    /// The folder that holds the person's own `.ai`, and so their skills and templates.
    pub(super) fn prompt_home(&self) -> PathBuf {
        self.user_space().parent().map_or_else(|| self.dirs.home.clone(), Path::to_owned)
    }

    /// What is wrong with the handlers of files, where no thread may start for it.
    #[must_use]
    pub fn refused_handlers(items: &Items) -> Option<Problem> {
        Problem::refusal(&items::Handlers::read(items).problems).cloned()
    }
}

impl FileHandlers {
    fn new(setup: &Setup, items: &Items, directive: &str) -> Self {
        let roots = items.roots().iter().filter(|root| root.space != Space::System);
        let own = items.get(Kind::Directive, directive).map(|found| items.file(found.item));
        let files: Vec<PathBuf> = roots.map(|root| root.file(FILE)).chain(own).collect();
        let stamps = files.iter().map(|file| stamp(file)).collect();
        let read = items::Handlers::of_threads(items, directive);
        Self {
            items: items.clone(),
            directive: directive.to_owned(),
            dirs: setup.dirs.clone(),
            root: setup.project.root.clone(),
            home: setup.prompt_home(),
            environment: setup.environment(),
            sandbox: setup.sandbox(),
            read: RwLock::new((Arc::new(read.into()), stamps)),
            files,
            keeper: Idle::default(),
            trust: Mutex::default(),
        }
    }

    fn known(&self) -> Arc<Known> {
        Arc::clone(&self.read.read().unwrap_or_else(PoisonError::into_inner).0)
    }

    /// Whether it may do what it does: one of the project only where the person trusts that (in a directive, the directive as it
    /// is, too), and one of the person's own that runs files of the project only where they trust those.
    async fn may_run(&self, known: &Known, written: &Written, since: Instant) -> bool {
        let words = if let Action::Command(words) = &written.action { words.clone() } else { Vec::new() };
        let of_project = written.space == Space::Project;
        let of_directive = of_project && written.file != self.root.join(FILE);
        let authority = known.authority.clone().filter(|_| of_directive);
        let (dirs, root) = (self.dirs.clone(), self.root.clone());
        let judged = self.judged(since);
        let looked_at = Instant::now();
        let looked = tokio::task::spawn_blocking(move || {
            let lies_below = |word: &&String| Path::new(word).is_relative() && root.join(word).is_file();
            let named: Vec<&String> = words.iter().filter(lies_below).collect();
            if !of_project && named.is_empty() {
                return (true, None);
            }
            if authority.is_some_and(|of| Trust::authority(&dirs, &root, &of) != Authority::Given) {
                return (false, None);
            }
            let fresh = judged.is_none().then(|| Arc::new(Trust::of(&dirs, &root)));
            let Some(trust) = judged.or_else(|| fresh.clone()) else { return (false, None) };
            let may = match (of_project, words.is_empty()) {
                (true, true) => trust.allows(),
                (true, false) => trust.covers_handler(&words),
                (false, _) => named.into_iter().all(|word| trust.covers_file(word)),
            };
            (may, fresh)
        });
        let (may, fresh) = looked.await.unwrap_or_default();
        if let Some(fresh) = fresh {
            *self.trust.lock().unwrap_or_else(PoisonError::into_inner) = Some((looked_at, fresh));
        }
        may
    }

    /// What was found a moment ago for a handler of the same value, which began its way `since` then. Between two values a
    /// model may have written anything, by a call that was asked about; between the handlers of one only who is trusted runs,
    /// and what runs beside the thread could come between looking and running anyhow.
    fn judged(&self, since: Instant) -> Option<Arc<Trust>> {
        let judged = self.trust.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, trust) = judged.as_ref().filter(|(at, _)| *at >= since && at.elapsed() < HOLDS)?;
        Some(Arc::clone(trust))
    }

    /// The program of a handler, confined by what is there now.
    fn program(&self, words: &[String]) -> Result<Program, String> {
        let confined = self.sandbox.mode == SandboxMode::Require;
        Ok(Program {
            words: words.to_vec(),
            folder: self.root.clone(),
            environment: self.environment.clone(),
            keeper: Keeper::Process(program().map_err(|error| error.to_string())?),
            confinement: confined.then(|| self.sandbox.confinement(&[], &[])),
        })
    }

    /// The keeper that waits, or another.
    fn keeper_for(&self, program: &Program) -> Result<ReusableKeeper, String> {
        let waits = self.keeper.lock().unwrap_or_else(PoisonError::into_inner).take();
        waits.filter(|(keeper, _)| keeper.waits()).map_or_else(|| program.keeper(), |(keeper, _)| Ok(keeper))
    }

    /// Has it wait for the next handler, for a moment.
    fn put_back(&self, keeper: ReusableKeeper) {
        let now = Instant::now();
        *self.keeper.lock().unwrap_or_else(PoisonError::into_inner) = Some((keeper, now));
        let keeper = Arc::downgrade(&self.keeper);
        tokio::spawn(async move {
            tokio::time::sleep(WAITS).await;
            let Some(keeper) = keeper.upgrade() else { return };
            let mut keeper = keeper.lock().unwrap_or_else(PoisonError::into_inner);
            let _not_asked = keeper.take_if(|(_, since)| *since == now);
        });
    }

    /// Asks a command.
    async fn ask_program(&self, words: &[String], question: &Value) -> Result<(Value, String), String> {
        let program = self.program(words)?;
        let keeper = self.keeper_for(&program)?;
        // Where it serves once the next one starts meanwhile.
        let next = async { if program.keeper_is_reusable() { None } else { program.keeper().ok() } };
        let ((answer, keeper), next) = tokio::join!(program.ask(keeper, question), next);
        if let Some(keeper) = keeper.or(next) {
            self.put_back(keeper);
        }
        answer
    }

    async fn answer(&self, written: &Written, call: &HandlerCall) -> Result<(StageValue, String), String> {
        let event = &call.event;
        let value: StageValue = match &written.action {
            Action::Handled => json!({"action": "handled"}).into(),
            Action::Block(reason) if written.stage == Stage::SessionBeforeCompact => {
                return Ok((json!({"cancel": true, "reason": reason}).into(), String::new()));
            }
            Action::Block(reason) => json!({"block": true, "reason": reason}).into(),
            Action::Edit(edits) => {
                let (stage, event, edits) = (written.stage, event.clone(), edits.clone());
                let made = tokio::task::spawn_blocking(move || edit(stage, &event, &edits)).await;
                made.map_err(|failed| failed.to_string())??
            }
            Action::Message(text) => add(written, event, text, &written.id),
            Action::Knowledge(id) => {
                let (items, wanted) = (self.items.clone(), id.clone());
                let text = tokio::task::spawn_blocking(move || knowledge(&items, &wanted)).await;
                add(written, event, &text.map_err(|failed| failed.to_string())??, id)
            }
            Action::Set(fields) => set(written.stage, event, fields).into(),
            Action::KeepLast(count) => newest(&messages(event), *count).into(),
            Action::Command(words) => {
                let mut question = event.json().into_owned();
                if let Value::Object(map) = &mut question {
                    map.insert("preview".to_owned(), call.preview.into());
                    map.insert("thread".to_owned(), call.facts.clone());
                    map.insert("cwd".to_owned(), self.root.display().to_string().into());
                }
                let (answer, said) = self.ask_program(words, &question).await?;
                return Ok((answer.into(), said));
            }
        };
        Ok((value, String::new()))
    }
}

fn place_of(written: &Written) -> HandlerPlace {
    HandlerPlace { file: written.file.display().to_string(), line: Some(written.line) }
}

/// Whether it runs something, or decides what is run or sent otherwise than as text.
fn decides(action: &Action) -> bool {
    matches!(action, Action::Command(_) | Action::Set(_))
}

/// The text of an item, as a request would have it.
fn knowledge(items: &Items, id: &str) -> Result<String, String> {
    let found = items.find(Kind::Knowledge, id).map_err(|missing| missing.to_string())?;
    let text = items.read(found.item).map_err(|problem| problem.to_string())?;
    Ok(Knowledge::parse(&text, &items.file(found.item)).0.body.trim().to_owned())
}

/// The messages of a conversation; none of anything else.
fn messages(event: &StageValue) -> Cow<'_, [Arc<Value>]> {
    event.messages().unwrap_or_default()
}

/// The newest messages, from one of the person's on: results are not parted from their calls.
fn newest(all: &[Arc<Value>], count: usize) -> Messages {
    let from = all.len().saturating_sub(count);
    let role = |value: &Arc<Value>| value.get("role").and_then(Value::as_str).unwrap_or_default().to_owned();
    let begins = (0..=from).rev().find(|place| all.get(*place).is_none_or(|one| role(one) != "toolResult"));
    all.iter().skip(begins.unwrap_or_default()).cloned().collect()
}

/// What an edit makes of the text of a stage.
fn edit(stage: Stage, event: &StageValue, edits: &[Edit]) -> Result<StageValue, String> {
    let grew = Cell::new(false);
    let one = |text: String, edit: &Edit| {
        let now = if grew.get() { text } else { edit.apply(&text) };
        grew.set(grew.get() || now.len() > LONGEST_TEXT);
        now
    };
    let changed = |text: &str| edits.iter().fold(text.to_owned(), one);
    let field = |name: &str| event.get(name).and_then(Value::as_str).unwrap_or_default();
    let made: StageValue = match stage {
        Stage::Input => json!({"action": "transform", "text": changed(field("text"))}).into(),
        Stage::BeforeAgentStart => json!({"systemPrompt": changed(field("systemPrompt"))}).into(),
        Stage::Context => {
            let one = |message: &Arc<Value>| {
                let mut now = Value::clone(message);
                now.get_mut("content").into_iter().for_each(|content| texts(content, &changed));
                if now == **message { Arc::clone(message) } else { Arc::new(now) }
            };
            messages(event).iter().map(one).collect::<Messages>().into()
        }
        Stage::ToolResult => {
            let mut content = event.get("content").cloned().unwrap_or_default();
            texts(&mut content, &changed);
            json!({"content": content}).into()
        }
        Stage::MessageEnd if event.get("message").is_some_and(|message| message["role"] == "assistant") => {
            let mut message = event.get("message").cloned().unwrap_or_default();
            message.get_mut("content").into_iter().for_each(|content| words(content, edits, &one));
            json!({"message": message}).into()
        }
        Stage::SessionStart
        | Stage::Skill
        | Stage::Template
        | Stage::AgentStart
        | Stage::TurnStart
        | Stage::BeforeProviderHeaders
        | Stage::BeforeProviderRequest
        | Stage::MessageStart
        | Stage::MessageUpdate
        | Stage::MessageEnd
        | Stage::ToolCall
        | Stage::ToolExecutionStart
        | Stage::ToolExecutionUpdate
        | Stage::ToolExecutionEnd
        | Stage::TurnEnd
        | Stage::AgentEnd
        | Stage::AgentSettled
        | Stage::SessionBeforeCompact
        | Stage::SessionCompact
        | Stage::SessionCompactFailed
        | Stage::ModelSelect
        | Stage::ThinkingLevelSelect
        | Stage::SessionInfoChanged
        | Stage::AfterProviderResponse
        | Stage::QueueUpdate
        | Stage::SessionShutdown => Value::Null.into(),
    };
    if grew.get() {
        return Err(format!("a text grew beyond {} MB", LONGEST_TEXT >> 20));
    }
    Ok(made)
}

/// Changes the words of an answer: before the first of its texts, behind the last, and in each.
fn words(content: &mut Value, edits: &[Edit], one: &impl Fn(String, &Edit) -> String) {
    let blocks = content.as_array_mut().into_iter().flatten();
    let mut texts: Vec<&mut Value> = blocks.filter(|block| block["type"] == "text").collect();
    let last = texts.len().saturating_sub(1);
    for (place, block) in texts.iter_mut().enumerate() {
        let meant = |edit: &&Edit| match edit {
            Edit::Prepend(_) => place == 0,
            Edit::Append(_) => place == last,
            Edit::Replace { .. } => true,
        };
        let text = block["text"].as_str().unwrap_or_default().to_owned();
        block["text"] = edits.iter().filter(meant).fold(text, one).into();
    }
}

/// Changes every text of a content. What a model thought is its maker's, and calls are not texts.
fn texts(content: &mut Value, changed: &impl Fn(&str) -> String) {
    match content {
        Value::String(text) => *text = changed(text),
        Value::Array(blocks) => {
            for block in blocks.iter_mut().filter(|block| block.get("type").and_then(Value::as_str) == Some("text")) {
                if let Some(Value::String(text)) = block.get_mut("text") {
                    *text = changed(text);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {}
    }
}

/// A message that is added.
fn add(written: &Written, event: &StageValue, text: &str, kind: &str) -> StageValue {
    if written.stage == Stage::Context {
        let mut all = messages(event).into_owned();
        all.push(Arc::new(json!({"role": "custom", "customType": kind, "content": text, "display": false})));
        return all.into();
    }
    json!({"message": {"customType": kind, "content": text, "display": false}}).into()
}

/// Fields that are put into arguments or a request.
fn set(stage: Stage, event: &StageValue, fields: &Map<String, Value>) -> Value {
    let name = if stage == Stage::ToolCall { "input" } else { "payload" };
    let mut value = event.get(name).cloned().unwrap_or_default();
    if let Value::Object(map) = &mut value {
        map.extend(fields.clone());
    }
    if stage == Stage::ToolCall { json!({"input": value}) } else { value }
}

impl Handlers for AllHandlers {
    fn at(&self, stage: Stage) -> Vec<Handler> {
        let mut all = self.files.at(stage);
        all.extend(self.extensions.at(stage));
        all
    }

    fn listens(&self, stage: Stage) -> bool {
        self.files.listens(stage) || self.extensions.listens(stage)
    }

    fn join(&self, thread: Arc<dyn ThreadAccess>) {
        self.prompts.join(Arc::clone(&thread));
        self.extensions.join(thread);
    }

    fn changed(&self, state: &State) {
        self.extensions.changed(state);
    }

    fn planned(&self, system: &[Piece]) {
        self.extensions.planned(system);
    }

    fn ready(&self, runs: bool) -> Waiting<'_, ()> {
        Box::pin(async move {
            let mut told = self.files.refresh();
            if runs {
                told.extend(self.extensions.ready().await);
            }
            self.news.lock().unwrap_or_else(PoisonError::into_inner).extend(told);
        })
    }

    fn news(&self) -> Vec<String> {
        std::mem::take(&mut *self.news.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn ask<'a>(&'a self, handler: &'a Handler, call: &'a HandlerCall) -> Waiting<'a, Result<HandlerReply, String>> {
        Box::pin(async move {
            match self.extensions.ask(handler, call).await {
                Some(reply) => reply,
                None => self.files.ask(handler, call).await,
            }
        })
    }

    fn session(&self, said: Vec<(Role, Timestamp)>, calls: Vec<ToolCall>) -> Waiting<'_, SessionTold> {
        Box::pin(self.extensions.session(said, calls))
    }

    fn shortcuts(&self) -> Vec<OfferedShortcut> {
        self.extensions.shortcuts()
    }

    fn has_extensions(&self) -> bool {
        self.extensions.are_there()
    }

    fn drawn(&self) -> DrawnKinds {
        self.extensions.drawn()
    }

    fn drawing(&self, to_draw: ToDraw) -> Waiting<'_, Drawing> {
        Box::pin(self.extensions.drawing(to_draw))
    }

    fn completes(&self) -> bool {
        self.extensions.completes()
    }

    fn completions(&self, draft: ToComplete) -> Waiting<'_, Vec<Suggestion>> {
        Box::pin(self.extensions.completions(draft))
    }

    fn typed(&self, data: String) -> Waiting<'_, Option<String>> {
        Box::pin(self.extensions.typed(data))
    }

    fn guards_leaving(&self) -> bool {
        self.extensions.guards_leaving()
    }

    fn may_leave(&self, leaving: Leaving) -> Waiting<'_, Result<(), String>> {
        Box::pin(self.extensions.may_leave(leaving))
    }

    fn gesture(&self, gesture: Gesture) {
        self.extensions.gesture(gesture);
    }

    fn shortcut(&self, key: String) -> Waiting<'_, Result<(), String>> {
        Box::pin(self.extensions.shortcut(key))
    }

    fn commands(&self) -> Vec<OfferedCommand> {
        self.extensions.commands()
    }

    fn command(&self, name: String, arguments: String) -> Waiting<'_, Result<(), String>> {
        Box::pin(self.extensions.command(name, arguments))
    }

    fn expand(&self, text: String, runs: bool) -> Waiting<'_, Result<Option<Expansion>, NotExpanded>> {
        let (root, home, named) = (self.files.root.clone(), self.files.home.clone(), self.extensions.named());
        Box::pin(async move {
            let look = tokio::task::spawn_blocking(move || meant(&root, &home, &named, &text)).await;
            let meant = look.unwrap_or_else(|failed| Err(NotExpanded::AsWritten(failed.to_string())));
            // What is still being written does not have to fit.
            if !runs && matches!(meant, Err(NotExpanded::GivenBack(_))) {
                return Ok(None);
            }
            match meant? {
                None => Ok(None),
                Some(Meant::Text(expansion)) => Ok(Some(expansion)),
                Some(Meant::Asks(..)) if !runs => Ok(None),
                Some(Meant::Asks(file, asks, values)) => {
                    let said = format!("the MCP server {} was asked for its prompt {}", asks.server_name(), asks.name);
                    let text = Arc::clone(&self.prompts).ask(file.clone(), asks, values).await;
                    let text = text.map_err(NotExpanded::GivenBack)?;
                    let place = place_of_prompt(&file);
                    Ok(Some(Expansion { stage: Stage::Template, name: file.name, place, text, said }))
                }
            }
        })
    }
}

impl FileHandlers {
    fn listens(&self, stage: Stage) -> bool {
        self.known().handlers.iter().any(|one| one.stage == stage)
    }

    fn at(&self, stage: Stage) -> Vec<Handler> {
        let known = self.known();
        let of_stage = known.handlers.iter().filter(|one| one.stage == stage);
        of_stage
            .map(|one| Handler {
                id: one.id.clone(),
                stage,
                place: Some(place_of(one)),
                deadline: one.timeout.unwrap_or(DEADLINE),
                runs: matches!(one.action, Action::Command(_)),
            })
            .collect()
    }

    /// Takes what was saved since. Answers with what people should know.
    fn refresh(&self) -> Vec<String> {
        let now: Vec<Stamp> = self.files.iter().map(|file| stamp(file)).collect();
        if self.read.read().unwrap_or_else(PoisonError::into_inner).1 == now {
            return Vec::new();
        }
        let read = items::Handlers::of_threads(&self.items, &self.directive);
        let mut known = self.read.write().unwrap_or_else(PoisonError::into_inner);
        known.1 = now;
        if let Some(problem) = Problem::refusal(&read.problems) {
            // Half of a change never counts: what was read before stays.
            return vec![format!("the handlers stay as they were: {problem}")];
        }
        known.0 = Arc::new(read.into());
        Vec::new()
    }

    async fn ask(&self, handler: &Handler, call: &HandlerCall) -> Result<HandlerReply, String> {
        let known = self.known();
        // Two may have one name: the place tells them apart.
        let is_it = |one: &&Written| {
            let at = handler.place.as_ref().is_none_or(|place| place_of(one) == *place);
            one.id == handler.id && one.stage == handler.stage && at
        };
        let Some(written) = known.handlers.iter().find(is_it) else {
            return Err("it is no longer written there".to_owned());
        };
        let mut fields = Value::Null;
        // A conversation is large: it is copied only where a condition may look at it.
        if !matches!(written.condition, Condition::Always) {
            fields = call.event.json().into_owned();
            if let Value::Object(map) = &mut fields {
                map.insert("thread".to_owned(), call.facts.clone());
                map.insert("preview".to_owned(), call.preview.into());
            }
        }
        let verdict = judge(&written.condition, &fields);
        if !verdict.holds {
            return Ok(HandlerReply::NotAsked { saw: verdict.saw });
        }
        if decides(&written.action) && !self.may_run(&known, written, call.since).await {
            let reason = "you have not trusted this project (levain trust)".to_owned();
            return Ok(HandlerReply::Refused { reason });
        }
        let (value, said) = self.answer(written, call).await?;
        Ok(HandlerReply::Answer { value, saw: verdict.saw, said })
    }
}

/// What `text` means, by files as they are now.
fn meant(root: &Path, home: &Path, named: &Named, text: &str) -> Result<Option<Meant>, NotExpanded> {
    let found = PromptFiles::find(root, home).with(named);
    let expanded = found.expand(text).map_err(|error| match error {
        ExpandError::Unread(why) => NotExpanded::AsWritten(why),
        ExpandError::Unfit(why) => NotExpanded::GivenBack(why),
    })?;
    Ok(expanded.map(|expanded| match expanded {
        Expanded::Skill(file, text) => Meant::Text(of_file(file, Stage::Skill, text)),
        Expanded::Template(file, text) => Meant::Text(of_file(file, Stage::Template, text)),
        Expanded::Asks(file, asks, values) => Meant::Asks(file.clone(), asks.clone(), values),
    }))
}

fn of_file(file: &PromptFile, stage: Stage, text: String) -> Expansion {
    Expansion { stage, name: file.name.clone(), place: place_of_prompt(file), text, said: String::new() }
}

fn place_of_prompt(file: &PromptFile) -> HandlerPlace {
    HandlerPlace { file: file.file.display().to_string(), line: None }
}
