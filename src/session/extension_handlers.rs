//! The handlers that extensions register, as those of a thread.

use super::built_in::Equipment;
use super::extension_answers::{LARGEST_ANSWER, fits, lines, newest, value_of};
use super::extension_offer::{ITEM, Offered};
use super::extension_sources::Sources;
use super::extension_thread::ExtensionThread;
use super::extensions::{Changes, Extension, Extensions, name_of};
use super::pi_names::{Renamed, name_all, names_any};
use super::setup::Setup;
use super::stamp::{Stamp, stamp};
use super::tools_of_pi;
use crate::config::Trust;
use crate::context::ToolWords;
use crate::domain::stage_value::weight;
use crate::domain::{
    Gesture, KnownTool, Leaving, OfferedCommand, OfferedShortcut, Permissions, Piece, Role, SessionTold, Stage,
    StageValue, State, ThreadId, Timestamp, ToolCall, ToolSpec, Verdict,
};
use crate::extensions::{Ask, Engine, Limits, Listing, Outside};
use crate::items::prompt_file::Named;
use crate::ports::ThreadAccess;
use crate::ports::handlers::{DEADLINE, Handler, HandlerCall, HandlerReply};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::{Arc, MutexGuard, PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::timeout;

const LIMITS: Limits = Limits {
    memory: 256 << 20,
    slice: Duration::from_secs(5),
    load: DEADLINE,
    // Whoever asks has a deadline of their own, which stands still while a person is asked.
    call: Duration::from_hours(24),
};

/// Events that are asked before a person leaves a thread: for another one, for a fork, and for a place of its conversation.
const LEAVING: [&str; 3] = ["session_before_switch", "session_before_fork", "session_before_tree"];

/// See the module.
pub(super) struct ExtensionHandlers {
    extensions: Extensions,
    pub(super) thread: Arc<ExtensionThread>,
    loaded: RwLock<Arc<Loaded>>,
    offered: RwLock<Arc<Offered>>,
    /// Held while they are loaded.
    loading: Mutex<()>,
    /// The conversation that they were told last.
    renamed: std::sync::Mutex<Renamed>,
}

/// What was loaded, and from what.
#[derive(Default)]
struct Loaded {
    /// Every file that was found, and how it was; the person's decision on the project's among them.
    files: Vec<(PathBuf, Stamp)>,
    /// None where there is no extension.
    engine: Option<Arc<Engine>>,
    /// The files that are in the engine, with what people call them.
    paths: Vec<(PathBuf, String)>,
    /// Some of them are the project's.
    of_project: bool,
}

impl ExtensionHandlers {
    pub(super) fn new(setup: &Setup, thread: Option<ThreadId>) -> Self {
        let (extensions, thread) = (setup.extensions(), ExtensionThread::new(setup, thread));
        Self {
            extensions,
            thread,
            loaded: RwLock::default(),
            offered: RwLock::default(),
            loading: Mutex::default(),
            renamed: std::sync::Mutex::default(),
        }
    }

    pub(super) fn join(&self, thread: Arc<dyn ThreadAccess>) {
        self.thread.join(thread);
    }

    pub(super) fn changed(&self, state: &State) {
        // Without extensions nobody asks.
        if self.are_there() {
            self.thread.changed(state);
        }
    }

    pub(super) fn planned(&self, system: &[Piece]) {
        self.thread.prompt_options.planned(system);
    }

    /// What runs them; none where there is no extension.
    pub(super) fn engine(&self) -> Option<Arc<Engine>> {
        self.loaded().engine.clone()
    }

    /// Whether extensions of the project are in the same engine, where they reach what all others hold.
    pub(super) fn are_of_project(&self) -> bool {
        self.loaded().of_project
    }

    /// The project's folder.
    pub(super) fn root(&self) -> &std::path::Path {
        &self.extensions.root
    }

    /// Everything that they have registered.
    pub(super) fn listing(&self) -> Arc<Listing> {
        Arc::clone(&self.offered().listing)
    }

    fn loaded(&self) -> Arc<Loaded> {
        Arc::clone(&self.loaded.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// What is registered now: extensions may register more whenever they run.
    fn offered(&self) -> Arc<Offered> {
        let loaded = self.loaded();
        let listing = loaded.engine.as_ref().map(|engine| engine.listing()).unwrap_or_default();
        let known = Arc::clone(&self.offered.read().unwrap_or_else(PoisonError::into_inner));
        if Arc::ptr_eq(&known.listing, &listing) {
            return known;
        }
        let now = Arc::new(Offered::new(listing, &loaded.paths));
        *self.offered.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&now);
        now
    }

    pub(super) fn at(&self, stage: Stage) -> Vec<Handler> {
        let offered = self.offered();
        let of_stage = offered.handlers.iter().filter(|(handler, _)| handler.stage == stage);
        of_stage.map(|(handler, _)| handler.clone()).collect()
    }

    pub(super) fn listens(&self, stage: Stage) -> bool {
        self.offered().handlers.iter().any(|(handler, _)| handler.stage == stage)
    }

    /// Loads what is new or was saved since. Answers with what people should know.
    pub(super) async fn ready(&self) -> Vec<String> {
        let _one_at_a_time = self.loading.lock().await;
        let before = self.loaded();
        let mut told = self.thread.asked_anew();
        let extensions = self.extensions.clone();
        let look = move || {
            let found = extensions.found();
            let sources = found.iter().flat_map(|one| Sources::of(&one.path).watched());
            let files: Vec<(PathBuf, Stamp)> = sources.map(|file| (file.clone(), stamp(&file))).collect();
            (found, files)
        };
        let (found, mut files) = match tokio::task::spawn_blocking(look).await {
            Ok(looked) => looked,
            Err(failed) => {
                told.push(format!("extensions were not looked for, and stay as they were: {failed}"));
                return told;
            }
        };
        if found.iter().any(|one| one.of_project) {
            let decision = Trust::record(&self.extensions.dirs, &self.extensions.root);
            files.push((decision.clone(), stamp(&decision)));
        }
        let wanted = self.thread.wants_reload();
        if files == before.files && !wanted {
            return told;
        }
        // The thread waits for this, and takes nothing meanwhile.
        self.thread.loads(true);
        let (loaded, of_load) = self.load(found, files, &before).await;
        self.thread.loads(false);
        told.extend(of_load);
        *self.loaded.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(loaded);
        told
    }

    async fn load(
        &self,
        found: Vec<Extension>,
        files: Vec<(PathBuf, Stamp)>,
        before: &Arc<Loaded>,
    ) -> (Loaded, Vec<String>) {
        let mut told = Vec::new();
        let (may_run, of_project) = self.allowed(found).await;
        if !of_project.is_empty() {
            let names: Vec<_> = of_project.iter().map(|one| one.name.as_str()).collect();
            told.push(format!(
                "extensions of this project are not loaded, as you have not trusted it as it is now (levain trust): {}",
                names.join(", ")
            ));
        }
        let mut loaded = Loaded::default();
        if !may_run.is_empty() {
            let (extensions, outside) = (self.extensions.clone(), Arc::clone(&self.thread) as Arc<dyn Outside>);
            // Whoever only lists or looks has no thread.
            let changes = if self.thread.is_one() {
                Changes::OfThread { session: self.thread.file.as_ref().and_then(|file| file.parent()).map(Into::into) }
            } else {
                Changes::None
            };
            let started = tokio::task::spawn_blocking(move || extensions.engine(LIMITS, Some(outside), &changes)).await;
            match started.map_err(|failed| failed.to_string()).and_then(|engine| engine.map_err(|e| e.to_string())) {
                Ok(engine) => {
                    let engine = Arc::new(engine);
                    loaded.of_project = may_run.iter().any(|one| one.of_project);
                    if loaded.of_project {
                        self.thread.late_providers.shares_engine();
                    }
                    self.fill(&mut loaded, &engine, &may_run, &mut told).await;
                    loaded.engine = Some(engine);
                }
                Err(error) => told.push(format!("no extension is loaded: {error}")),
            }
        }
        let mut still_there = before.paths.iter().filter(|(path, _)| files.iter().any(|(file, _)| file == path));
        if still_there.any(|known| !loaded.paths.contains(known)) {
            // Half of a change never counts, and a guard that no longer loads would be one that is gone.
            told.push("the extensions that were loaded before stay as they were".to_owned());
            let (engine, paths, of_project) = (before.engine.clone(), before.paths.clone(), before.of_project);
            return (Loaded { files, engine, paths, of_project }, told);
        }
        loaded.files = files;
        if self.thread.is_one() {
            told.extend(self.providers_of(&loaded).await);
        }
        let reason = json!({"type": "session_shutdown", "reason": "reload"});
        self.tell(before, Stage::SessionShutdown, &reason).await;
        if let Some(engine) = &before.engine {
            engine.close_sockets().await;
        }
        self.thread.follow(loaded.engine.as_ref());
        if let Some(engine) = &loaded.engine {
            self.discover(engine).await;
        }
        if before.engine.is_some() {
            self.tell(&loaded, Stage::SessionStart, &json!({"type": "session_start", "reason": "reload"})).await;
        }
        (loaded, told)
    }

    /// Asks which skills and templates extensions bring. A path that is none is told of where the files are read.
    async fn discover(&self, engine: &Engine) {
        let event = json!({"type": "resources_discover", "reason": "startup", "cwd": self.extensions.root});
        let asked = timeout(DEADLINE, engine.emit("resources_discover", event)).await;
        let answers = asked.ok().and_then(Result::ok).unwrap_or_default().answers;
        let mut named = Named::default();
        for answer in &answers {
            let folder = answer.path.parent().unwrap_or(&self.extensions.root);
            let paths = |field: &str| {
                let list = answer.result.as_ref().and_then(|result| result.get(field)?.as_array());
                let list = list.into_iter().flatten().filter_map(Value::as_str);
                list.map(|path| folder.join(path)).collect::<Vec<_>>()
            };
            named.skills.extend(paths("skillPaths"));
            named.templates.extend(paths("promptPaths"));
        }
        self.thread.bring(named);
    }

    /// The skills and templates that extensions bring.
    pub(super) fn named(&self) -> Named {
        self.thread.named()
    }

    /// Those that may run, and those of the project that may not.
    async fn allowed(&self, found: Vec<Extension>) -> (Vec<Extension>, Vec<Extension>) {
        if !found.iter().any(|one| one.of_project) {
            return (found, Vec::new());
        }
        let extensions = self.extensions.clone();
        let trusted = tokio::task::spawn_blocking(move || extensions.are_trusted()).await.unwrap_or(false);
        found.into_iter().partition(|one| trusted || !one.of_project)
    }

    /// Learns the providers that extensions have registered while they were loaded.
    async fn providers_of(&self, loaded: &Loaded) -> Vec<String> {
        let Some(engine) = &loaded.engine else { return Vec::new() };
        let ask = Ask::Function { name: "providerDescriptions", arguments: Vec::new() };
        let Ok((answer, _)) = engine.ask(ask, false).await else { return Vec::new() };
        let described = answer.result.unwrap_or_default();
        let (thread, paths) = (Arc::clone(&self.thread), loaded.paths.iter().map(|(path, _)| path.clone()).collect());
        let learn = move || thread.late_providers.loaded(paths, described.as_array().map_or(&[], Vec::as_slice));
        tokio::task::spawn_blocking(learn).await.unwrap_or_default()
    }

    async fn fill(&self, loaded: &mut Loaded, engine: &Engine, found: &[Extension], told: &mut Vec<String>) {
        for extension in found {
            match engine.load(&extension.path).await {
                Ok(one) => match one.result {
                    Ok(_) => loaded.paths.push((extension.path.clone(), extension.name.clone())),
                    Err(problem) => {
                        told.push(format!("the extension {} is not loaded: {}", extension.name, problem));
                    }
                },
                Err(error) => told.push(format!("the extension {} is not loaded: {error}", extension.name)),
            }
        }
        if let Ok(listing) = engine.list().await {
            told.extend(self.extensions.strange_flags(&listing.flags));
        }
    }

    /// The commands that are registered.
    pub(super) fn commands(&self) -> Vec<OfferedCommand> {
        self.offered().commands.clone()
    }

    /// Runs one of them.
    pub(super) async fn command(&self, name: String, arguments: String) -> Result<(), String> {
        let engine = self.loaded().engine.clone().ok_or("no extension is loaded")?;
        self.run(&engine, Ask::Command { name, arguments }).await
    }

    /// The keys that run something of theirs.
    pub(super) fn shortcuts(&self) -> Vec<OfferedShortcut> {
        self.offered().shortcuts.clone()
    }

    /// Whether there are extensions.
    pub(super) fn are_there(&self) -> bool {
        self.loaded().engine.is_some()
    }

    /// Whether somebody wants to be asked before a person leaves the thread.
    pub(super) fn guards_leaving(&self) -> bool {
        self.offered().listing.handlers.iter().any(|handler| LEAVING.contains(&handler.event.as_str()))
    }

    /// Asks before a person leaves the thread. The first that cancels ends it; one that fails has nothing against it.
    pub(super) async fn may_leave(&self, leaving: Leaving) -> Result<(), String> {
        let Some(engine) = self.loaded().engine.clone() else { return Ok(()) };
        let [switch, fork, tree] = LEAVING;
        let (name, event) = match leaving {
            Leaving::New => (switch, json!({"reason": "new"})),
            Leaving::Open { thread_id } => {
                (switch, json!({"reason": "resume", "targetSessionFile": self.thread.file_of(&thread_id)}))
            }
            Leaving::Entry { thread_id, entry, summarised } => {
                (tree, json!({"preparation": self.thread.tree_preparation(&thread_id, &entry, summarised)}))
            }
            Leaving::Fork { back } => (fork, json!({"entryId": self.thread.prompt_from_end(back)})),
        };
        let listing = engine.listing();
        for handler in listing.handlers.iter().filter(|handler| handler.event == name) {
            let asked = engine.call(handler.clone(), event.clone()).await;
            let Ok((answer, _)) = asked else { return Ok(()) };
            if answer.result.as_ref().and_then(|result| result.get("cancel")).and_then(Value::as_bool) == Some(true) {
                return Err(format!("the extension {} cancelled that", name_of(&answer.path)));
            }
        }
        Ok(())
    }

    /// A person does something that they are to know of at once.
    pub(super) fn gesture(&self, gesture: Gesture) {
        self.thread.gesture(gesture);
    }

    /// Runs what one offers under a key.
    pub(super) async fn shortcut(&self, key: String) -> Result<(), String> {
        let engine = self.loaded().engine.clone().ok_or("no extension is loaded")?;
        self.run(&engine, Ask::Function { name: "callShortcut", arguments: vec![key.into(), json!({})] }).await
    }

    /// Runs what a person asked for, with allowances of its own; where it led to a new thread, the person goes there.
    async fn run(&self, engine: &Engine, ask: Ask) -> Result<(), String> {
        self.thread.command_begins();
        let asked = engine.ask(ask, false).await;
        self.thread.command_over();
        let (answer, _) = asked.map_err(|error| error.to_string())?;
        answer.error.as_ref().map_or(Ok(()), |problem| Err(problem.to_string()))
    }

    /// Whether extensions want a tool to be offered.
    pub(super) fn is_active(&self, tool: &KnownTool) -> bool {
        self.thread.is_active(tool)
    }

    /// Whether they want some not to be.
    pub(super) fn narrows(&self) -> bool {
        self.thread.narrows()
    }

    /// What tools there are in the thread, and what it may use.
    pub(super) fn equip(&self, equipment: Equipment) {
        self.thread.equip(equipment);
    }

    /// The tools that are registered.
    pub(super) fn tools(&self) -> Vec<KnownTool> {
        self.offered().tools.clone()
    }

    /// `known` with these, as [`ExtensionHandlers::tools`] of a thread that may do what `permissions` say, whether or not
    /// extensions want each to be offered. One that has pi's name of a built-in tool takes the place of that, where the thread
    /// may use it: under its item, so that what is granted, asked and guarded stays.
    pub(super) fn among(&self, mut known: Vec<KnownTool>, permissions: &Permissions) -> Vec<KnownTool> {
        let own = self.tools();
        if own.is_empty() {
            return known;
        }
        for tool in own {
            let place = tools_of_pi::item(&tool.spec.name).filter(|_| tool.absent.is_none());
            let stands = |known: &&mut KnownTool| place == Some(known.item.as_str()) && may_use(known, permissions);
            match known.iter_mut().find(stands) {
                Some(known) => {
                    known.spec = ToolSpec { name: known.spec.name.clone(), ..tool.spec };
                    (known.origin, known.parallel, known.confinable) = (tool.origin, false, false);
                }
                None => known.push(tool),
            }
        }
        KnownTool::settle_names(&mut known);
        known
    }

    /// Those of `all` that extensions want to be offered.
    pub(super) fn active(&self, mut all: Vec<KnownTool>) -> Vec<KnownTool> {
        if self.narrows() {
            all.retain(|tool| self.is_active(tool));
        }
        all
    }

    /// The name under which an extension registered the tool that does the work of this item.
    pub(super) fn of_item(&self, item: &str) -> Option<String> {
        let name = item.strip_prefix(ITEM).or_else(|| tools_of_pi::name_of(item))?;
        let item = format!("{ITEM}{name}");
        self.offered().tools.iter().any(|tool| tool.item == item && tool.absent.is_none()).then(|| name.to_owned())
    }

    /// What they say of their tools in the system text, of those of `offered` that a thread may use with these permissions.
    pub(super) fn words(&self, offered: &[KnownTool], permissions: &Permissions) -> Vec<ToolWords> {
        let listing = self.listing();
        let said = |tool: &KnownTool| {
            let name = self.of_item(&tool.item)?;
            let told = listing.tools.iter().find(|told| told["name"] == name.as_str())?;
            let (space, path) = self.extensions.place(Path::new(told["path"].as_str()?));
            let guidelines = told["promptGuidelines"].as_array().into_iter().flatten();
            Some(ToolWords {
                name: tool.spec.name.clone(),
                space,
                path,
                snippet: told["promptSnippet"].as_str().map(str::to_owned),
                guidelines: guidelines.filter_map(Value::as_str).map(str::to_owned).collect(),
            })
        };
        offered.iter().filter(|tool| may_use(tool, permissions)).filter_map(said).collect()
    }

    /// Whether one of them mends arguments of another shape (`prepareArguments`).
    pub(super) fn mends(&self, name: &str) -> bool {
        let listing = self.listing();
        listing.tools.iter().any(|tool| tool["name"] == name && tool["preparesArguments"] == true)
    }

    /// The arguments as the tool makes them. Nothing is decided about the call yet, so nothing may be left behind.
    pub(super) async fn mended(&self, name: String, arguments: Value) -> Result<Value, String> {
        let engine = self.engine().ok_or("no extension is loaded")?;
        let ask = Ask::Function { name: "prepareArguments", arguments: vec![name.into(), arguments] };
        let (answer, _) = engine.ask(ask, true).await.map_err(|error| error.to_string())?;
        if let Some(problem) = answer.error {
            return Err(problem.to_string());
        }
        let made = answer.result.unwrap_or_default();
        if weight(&made) > LARGEST_ANSWER << 20 {
            return Err(format!("its arguments were made into more than {LARGEST_ANSWER} MB"));
        }
        Ok(made)
    }

    /// Runs one of them; what it has made so far goes to `said`. Answers with the content of its result, and whether it failed.
    pub(super) async fn tool(
        &self,
        name: String,
        call: &ToolCall,
        said: UnboundedSender<Value>,
    ) -> Result<(Value, bool), String> {
        let engine = self.loaded().engine.clone().ok_or("no extension is loaded")?;
        let (call_id, arguments) = (call.call_id.0.clone(), call.input.clone());
        let ask = Ask::Tool { name, call_id, arguments, said };
        let (answer, _) = engine.ask(ask, false).await.map_err(|error| error.to_string())?;
        match (answer.result, answer.error) {
            (Some(mut result), _) => {
                let terminate = result.get("terminate").and_then(Value::as_bool).unwrap_or_default();
                let details = result.get("details").cloned().unwrap_or_default();
                if terminate || !details.is_null() {
                    self.thread.keep_details(call.call_id.0.clone(), details, terminate).await;
                }
                let failed = result.get("isError").and_then(Value::as_bool).unwrap_or_default();
                Ok((result.get_mut("content").map(Value::take).unwrap_or_default(), failed))
            }
            (None, Some(problem)) => Err(problem.to_string()),
            (None, None) => Ok((Value::Null, false)),
        }
    }

    /// What those who are asked before room is made know of the session.
    pub(super) async fn session(&self, said: Vec<(Role, Timestamp)>, calls: Vec<ToolCall>) -> SessionTold {
        let thread = Arc::clone(&self.thread);
        let read = move || {
            let (entries, named) = thread.entries(|entries| (newest(entries.all()), entries.named(&said)));
            SessionTold { entries, named, files: tools_of_pi::file_ops(&calls) }
        };
        // A log may be long.
        tokio::task::spawn_blocking(read).await.unwrap_or_default()
    }

    /// Tells those who watch that they are loaded again.
    async fn tell(&self, loaded: &Loaded, stage: Stage, event: &Value) {
        let Some(engine) = &loaded.engine else { return };
        let listing = engine.listing();
        for handler in listing.handlers.iter().filter(|handler| handler.event == stage.name()) {
            // What a watcher makes of it is its own matter.
            let _told = timeout(DEADLINE, engine.call(handler.clone(), event.clone())).await;
        }
    }

    fn renamed(&self) -> MutexGuard<'_, Renamed> {
        self.renamed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks one of them; none where it is not one of these.
    pub(super) async fn ask(&self, handler: &Handler, call: &HandlerCall) -> Option<Result<HandlerReply, String>> {
        let offered = self.offered();
        let (_, registration) = offered.handlers.iter().find(|(known, _)| known == handler)?;
        let engine = self.loaded().engine.clone()?;
        // Of its own, as others may be asked meanwhile.
        let mut renamed = self.renamed().clone();
        let event = match call.event.get("toolName") {
            Some(_) => tools_of_pi::named(call.event.json().into_owned()).into(),
            None if handler.stage == Stage::BeforeAgentStart => {
                let mut event = call.event.json().into_owned();
                if let Value::Object(event) = &mut event {
                    let (thread, since) = (Arc::clone(&self.thread), call.since);
                    let options = tokio::task::spawn_blocking(move || {
                        thread.prompt_options.since(since, || thread.prompt_options())
                    })
                    .await;
                    event.insert("systemPromptOptions".to_owned(), options.unwrap_or_default());
                }
                event.into()
            }
            None if handler.stage == Stage::SessionStart => self.thread.begun(&call.event),
            // With what the log makes of it: its id, and what was kept.
            None if handler.stage == Stage::SessionCompact => {
                let mut event = call.event.json().into_owned();
                if let (Some(Value::Object(known)), Some(Value::Object(entry))) =
                    (event.get_mut("compactionEntry"), self.thread.compaction().await)
                {
                    known.extend(entry);
                }
                event.into()
            }
            None => match &call.event {
                StageValue::Messages(messages) => {
                    let details = self.thread.details_of(renamed.untold(messages)).await;
                    StageValue::Messages(renamed.tell(messages, &details))
                }
                StageValue::Json(event) if names_any(event) => {
                    let mut event = Value::clone(event);
                    name_all(&mut event);
                    event.into()
                }
                StageValue::Json(_) => call.event.clone(),
            },
        };
        let is_guard = handler.stage == Stage::ToolCall;
        let pieces: Vec<StageValue> = if is_guard {
            tools_of_pi::pieces(&event.json()).into_iter().map(StageValue::from).collect()
        } else {
            vec![event]
        };
        let (mut answers, mut said) = (Vec::<StageValue>::new(), Vec::new());
        for payload in pieces {
            let ask = Ask::Handler { handler: registration.clone(), payload };
            let (answer, told) = match engine.ask(ask, call.preview).await {
                Ok(answered) => answered,
                Err(error) => return Some(Err(error.to_string())),
            };
            if let Some(problem) = &answer.error {
                return Some(Err(problem.to_string()));
            }
            said.extend(lines(&told));
            let mut value = value_of(handler.stage, answer);
            if handler.stage == Stage::Context {
                value = renamed.take_back(value);
                self.renamed().clone_from(&renamed);
            }
            if let Err(error) = fits(handler.stage, &value) {
                return Some(Err(format!("{}: {error}", handler.id)));
            }
            let blocks = is_guard && tools_of_pi::blocks(&value.json());
            answers.push(value);
            if blocks {
                break;
            }
        }
        let value = match answers.last() {
            Some(last) if is_guard && !tools_of_pi::blocks(&last.json()) => {
                let answers: Vec<_> = answers.iter().map(|answer| answer.json().into_owned()).collect();
                let terminate = answers.iter().rev().find_map(|answer| answer.get("terminate")?.as_bool());
                let mut joined = tools_of_pi::joined(&call.event.json(), answers);
                if let Some(terminate) = terminate {
                    joined = if joined.is_object() { joined } else { json!({}) };
                    joined["terminate"] = terminate.into();
                }
                joined.into()
            }
            Some(last) => last.clone(),
            None => Value::Null.into(),
        };
        Some(Ok(HandlerReply::Answer { value, saw: Vec::new(), said: said.join("\n") }))
    }
}

/// Whether a thread with these permissions may use a tool.
fn may_use(tool: &KnownTool, permissions: &Permissions) -> bool {
    tool.absent.is_none() && permissions.verdict(&tool.capabilities()) != Verdict::Denied
}
