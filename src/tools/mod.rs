//! The tools that are built in: files, search, commands, pages of the web.
//!
//! A tool knows nothing of permissions: what is called here has been allowed. What the model wrote is data; nothing in
//! it is expanded or interpreted on the way to a tool. Each answer is text for the model, within limits, and says what
//! it left out.

mod bash;
mod builtin;
mod command;
mod commands;
pub mod environment;
mod executor;
mod fetch;
mod files;
pub mod images;
pub mod keeper;
mod lines;
mod list;
pub mod mcp;
mod memory;
mod output;
pub mod page;
mod persona;
mod primary;
pub mod program;
pub mod request;
mod result;
pub mod reusable_keeper;
mod root;
pub mod sandbox;
mod shared_file;
mod state;
mod talk;
#[cfg(test)]
mod tests;
mod threads;
mod todo;
mod undo;

pub use command::Keeper;
pub use environment::Environment;
pub use executor::Trusts;
pub(crate) use executor::resolve;
pub use fetch::Reach;
pub use memory::{Note, notes};
pub use root::Root;
pub use sandbox::Sandbox;
pub use undo::{State, Taken, take_back};

use crate::domain::capability::{LEAVE_SANDBOX, WRITE_ITEMS, to_execute};
use crate::domain::image::{is_image_name, media_type};
use crate::domain::{CallId, KnownTool, SandboxMode, ThreadId, ToolCall};
use crate::items::{Items, Kind};
use crate::ports::threads::Threads;
use crate::ports::tools::{BackgroundCall, Isolation, OwnCommand, Waiting};
use crate::ports::{Beneath, KeptResults, ToolListener, ToolOutcome, ToolRunner};
use bash::Bash;
use builtin::{BUILTIN, COMMAND_TOOL, READER, Which};
use lines::LineNames;
use page::Reader;
use root::PathError;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A failure in words for the model. May follow what a command had printed.
#[derive(Debug)]
struct Failed(String);

type Answer = Result<String, Failed>;

impl From<PathError> for Failed {
    fn from(error: PathError) -> Self {
        Self(error.to_string())
    }
}

/// What a file is to the built-in tool whose id it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// It is of the project or the person, and stands in the tool's place.
    Taken(String),
    /// It is of a bundle, and describes the tool to people.
    Described(String),
}

/// What the tools of a thread work with.
#[derive(Clone, Debug)]
pub struct ToolContext {
    pub root: Root,
    pub environment: Environment,
    /// Who starts commands.
    pub keeper: Keeper,
    /// What confined commands may reach.
    pub sandbox: Sandbox,
    /// The folder for output that is too long for an answer.
    pub spill: Option<Beneath>,
    /// Asks whether the person trusts the project as it is now.
    pub trusts: Trusts,
    /// Ids of built-in tools that files have too.
    pub claims: BTreeMap<String, Claim>,
    /// The file of the project's memory.
    pub memory: Beneath,
    /// The file of the project's personas.
    pub personas: Beneath,
    /// Tools that are files.
    pub files: Vec<KnownTool>,
    /// Which addresses `fetch` may ask.
    pub reach: Reach,
    /// Who makes text of the pages it gets.
    pub reader: Reader,
    /// The items there were when the thread began, and how they are judged.
    pub items: Items,
    /// The folder that holds the person's `.ai`, with their keys.
    pub user_space: PathBuf,
    /// What was kept of results that were cut.
    pub kept: Option<Arc<dyn KeptResults>>,
    /// The other threads, where this one may reach any.
    pub threads: Option<Arc<dyn Threads>>,
}

impl ToolContext {
    /// Whether a call runs confined.
    ///
    /// # Errors
    /// That it does not run: all have to be confined, and here none is.
    fn confines(&self, isolation: Isolation) -> Result<bool, Failed> {
        let is_required = self.sandbox.mode == SandboxMode::Require;
        if is_required && !self.sandbox.holds() {
            return Err(Failed(
                "Not run: the setting `sandbox = \"require\"` has every command confined, and this system cannot confine \
                 any (`levain doctor` says what is missing)."
                    .to_owned(),
            ));
        }
        Ok(is_required || isolation == Isolation::Sandbox)
    }
}

/// Runs the built-in tools.
#[derive(Debug)]
pub struct Toolbox {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    context: ToolContext,
    names: Mutex<LineNames>,
    /// Calls that were judged as writing no items. A path may lead elsewhere when they run.
    writing_no_items: Mutex<HashSet<CallId>>,
    connections: Arc<mcp::Connections>,
}

impl Toolbox {
    #[must_use]
    pub fn new(context: ToolContext) -> Self {
        Self::sharing(context, Arc::default())
    }

    /// With connections to MCP servers that others use, too.
    #[must_use]
    pub fn sharing(context: ToolContext, connections: Arc<mcp::Connections>) -> Self {
        Self {
            shared: Arc::new(Shared {
                context,
                names: Mutex::default(),
                writing_no_items: Mutex::default(),
                connections,
            }),
        }
    }
}

impl Shared {
    fn names(&self) -> MutexGuard<'_, LineNames> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn writing_no_items(&self) -> MutexGuard<'_, HashSet<CallId>> {
        self.writing_no_items.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where `call` may write, as it was judged.
    fn root_of(&self, call: &CallId) -> Root {
        let root = &self.context.root;
        if self.writing_no_items().contains(call) { root.without_items() } else { root.clone() }
    }

    /// The items as they are now.
    fn items(&self) -> Items {
        self.context.items.afresh()
    }
}

/// Ids of all built-in tools, those they also answer to included.
pub fn ids() -> impl Iterator<Item = &'static str> {
    BUILTIN.iter().flat_map(|tool| std::iter::once(tool.item).chain(tool.aliases.iter().copied()))
}

/// The built-in tools, then `files`, each with a name of its own. `claims` as in [`ToolContext`].
#[must_use]
pub fn known(claims: &BTreeMap<String, Claim>, files: &[KnownTool]) -> Vec<KnownTool> {
    let replaced = |item: &str| files.iter().any(|file| file.item == item);
    let built_in = BUILTIN.iter().filter(|tool| !replaced(tool.item)).map(|tool| tool.known(claims));
    let mut tools: Vec<KnownTool> = built_in.chain(files.iter().cloned()).collect();
    KnownTool::settle_names(&mut tools);
    tools
}

/// The capabilities any of which allows a call of the tool `item`, its own first.
#[must_use]
pub fn capabilities(item: &str) -> Vec<String> {
    let tool = BUILTIN.iter().find(|tool| tool.item == item);
    tool.map_or_else(|| vec![to_execute(item)], |tool| tool.known(&BTreeMap::new()).capabilities())
}

impl ToolRunner for Toolbox {
    fn tools(&self) -> Vec<KnownTool> {
        known(&self.shared.context.claims, &self.shared.context.files)
    }

    fn reader(&self) -> Option<KnownTool> {
        Some(READER.known(&BTreeMap::new()))
    }

    fn command_tool(&self) -> Option<KnownTool> {
        Some(COMMAND_TOOL.known(&BTreeMap::new()))
    }

    fn may_begin_early(&self, item: &str) -> bool {
        // What was read last is what lines are edited by.
        let looks = |which| matches!(which, Which::Ls | Which::Glob | Which::Grep | Which::Fetch | Which::MemorySearch);
        BUILTIN.iter().any(|tool| tool.item == item && looks(tool.which))
    }

    fn guarded<'a>(&'a self, item: &'a str, call: &'a ToolCall) -> Waiting<'a, Vec<String>> {
        Box::pin(async move {
            let writes = |which| matches!(which, Which::Write | Which::EditLines);
            let asks =
                |name: &str| call.input.get(name).and_then(|value| value.as_array()).is_some_and(|all| !all.is_empty());
            if BUILTIN.iter().any(|tool| tool.item == item && tool.which == Which::Bash) {
                let leaves = asks("write_paths") || asks("ports");
                return leaves.then(|| LEAVE_SANDBOX.to_owned()).into_iter().collect();
            }
            if !BUILTIN.iter().any(|tool| tool.item == item && writes(tool.which)) {
                return Vec::new();
            }
            let (shared, input) = (Arc::clone(&self.shared), call.input.clone());
            let look = tokio::task::spawn_blocking(move || files::writes_items(&shared.context.root, &input));
            // What could not be looked at could be anything.
            if look.await.unwrap_or(true) {
                self.shared.writing_no_items().remove(&call.call_id);
                return vec![WRITE_ITEMS.to_owned()];
            }
            self.shared.writing_no_items().insert(call.call_id.clone());
            Vec::new()
        })
    }

    fn preview<'a>(&'a self, item: &'a str, call: &'a ToolCall) -> Waiting<'a, Option<String>> {
        Box::pin(async move {
            let tool = BUILTIN.iter().find(|tool| tool.item == item)?;
            let (shared, input) = (Arc::clone(&self.shared), call.input.clone());
            let preview = match tool.which {
                Which::Write => off_loop(move |_| files::preview_write(&shared.context.root, arguments(input)?)).await,
                Which::EditLines => {
                    let edit = move |_: &AtomicBool| {
                        files::preview_edit(&shared.context.root, &shared.names(), &arguments(input)?)
                    };
                    off_loop(edit).await
                }
                Which::Read
                | Which::Ls
                | Which::Glob
                | Which::Grep
                | Which::Bash
                | Which::Fetch
                | Which::MemoryAdd
                | Which::MemorySearch
                | Which::MemoryUpdate
                | Which::MemoryRemove
                | Which::PersonaCreate
                | Which::PersonaSwitch
                | Which::State
                | Which::Commands
                | Which::Todo
                | Which::Result
                | Which::ExecuteItem
                | Which::FetchItem
                | Which::ThreadDirective
                | Which::Orchestrator
                | Which::SignItem => return None,
            };
            preview.ok()
        })
    }

    fn run<'a>(
        &'a self,
        item: &'a str,
        call: &'a ToolCall,
        isolation: Isolation,
        listener: &'a dyn ToolListener,
    ) -> Waiting<'a, ToolOutcome> {
        Box::pin(async move { outcome(self.answer(item, call, isolation, listener).await) })
    }

    fn shell<'a>(
        &'a self,
        own: &'a OwnCommand,
        stop: Waiting<'a, ()>,
        listener: &'a dyn ToolListener,
    ) -> Waiting<'a, ToolOutcome> {
        Box::pin(async move {
            let context = &self.shared.context;
            let spill = context.spill.as_ref().map(|folder| folder.join(own.call_id.output_file()));
            let bash = Bash::of_a_person(&own.command);
            outcome(bash::bash(context, spill, &bash, false, stop, listener).await)
        })
    }

    fn background<'a>(
        &'a self,
        command: &'a BackgroundCall,
        stop: Waiting<'a, ()>,
        listener: &'a dyn ToolListener,
    ) -> Waiting<'a, ToolOutcome> {
        Box::pin(async move {
            let context = &self.shared.context;
            let spill = context.spill.as_ref().map(|folder| folder.join(command.name.output_file()));
            let run = async {
                let bash: Bash = arguments(command.input.clone())?;
                bash::bash(context, spill, &bash, context.confines(command.isolation)?, stop, listener).await
            };
            outcome(run.await)
        })
    }
}

fn outcome(answer: Answer) -> ToolOutcome {
    match answer {
        Ok(output) => ToolOutcome { output, error: None },
        Err(Failed(output)) => {
            // People get the last line, which is ours.
            let error = output.trim_end().lines().next_back().unwrap_or("failed").to_owned();
            ToolOutcome { output, error: Some(error) }
        }
    }
}

impl Toolbox {
    /// Runs a command to its end, or has it run beside the conversation.
    async fn bash(&self, call: &ToolCall, isolation: Isolation, listener: &dyn ToolListener) -> Answer {
        let context = &self.shared.context;
        let confined = context.confines(isolation)?;
        let bash: Bash = arguments(call.input.clone())?;
        if bash.background {
            return bash::start(context, &bash, call.input.clone(), confined, listener).await;
        }
        let spill = context.spill.as_ref().map(|folder| folder.join(call.call_id.output_file()));
        bash::bash(context, spill, &bash, confined, std::future::pending(), listener).await
    }

    /// Reads a file; of an image, shows it.
    async fn read(&self, asked: files::Read, listener: &dyn ToolListener) -> Answer {
        let shared = Arc::clone(&self.shared);
        if is_image_name(&asked.path) {
            let (root, path) = (shared.context.root.clone(), asked.path.clone());
            let (_, bytes) = off_loop(move |_| root.read(&path).map_err(Failed::from)).await?;
            if media_type(&bytes).is_some() {
                return images::show(asked.path, bytes, &shared.context.kept, listener).await.map_err(Failed);
            }
        }
        off_loop(move |_| files::read(&shared.context.root, &mut shared.names(), &asked)).await
    }

    /// Keeps what the files hold that a call is about to change, and notes it in the log, so that it can be taken back. A call
    /// that will fail changes nothing, and is left to fail by itself.
    async fn checkpoint(
        &self,
        which: Which,
        root: Root,
        input: serde_json::Value,
        listener: &dyn ToolListener,
    ) -> Result<(), Failed> {
        let Some(kept) = self.shared.context.kept.clone() else { return Ok(()) };
        let shared = Arc::clone(&self.shared);
        let keep = off_loop(move |_| {
            let changes = if which == Which::Write {
                files::writes(&root, arguments(input)?)
            } else {
                files::edits(&root, &shared.names(), &arguments(input)?)
            };
            let keep = |bytes: &[u8]| {
                kept.keep(bytes)
                    .map_err(|why| Failed(format!("Not written: what it replaces could not be kept: {why}")))
            };
            let mut kept = Vec::new();
            for change in changes.unwrap_or_default() {
                let before = change.before.as_deref().map(keep).transpose()?;
                kept.push((change.path, before, keep(&change.after)?));
            }
            Ok(kept)
        });
        for (path, before, after) in keep.await? {
            if before.as_ref() != Some(&after) {
                let noted = listener.checkpoint(path, before, after).await;
                noted.map_err(|why| Failed(format!("Not written: {why}")))?;
            }
        }
        Ok(())
    }

    /// The thread whose transcript is asked for as a knowledge item, unless a file has its id.
    async fn transcript_asked(&self, input: &serde_json::Value) -> Result<Option<ThreadId>, Failed> {
        let Some((id, thread)) = primary::transcript_asked(input) else { return Ok(None) };
        let shared = Arc::clone(&self.shared);
        let is_file = off_loop(move |_| Ok(shared.items().get(Kind::Knowledge, &id).is_some())).await?;
        Ok((!is_file).then_some(thread))
    }

    async fn answer(&self, item: &str, call: &ToolCall, isolation: Isolation, listener: &dyn ToolListener) -> Answer {
        let built_in = BUILTIN.iter().chain([&READER, &COMMAND_TOOL]).find(|tool| tool.item == item);
        let is_file = self.shared.context.files.iter().any(|file| file.item == item && file.absent.is_none());
        if is_file {
            let context = &self.shared.context;
            let confined = context.confines(isolation)?;
            let spill = context.spill.as_ref().map(|folder| folder.join(call.call_id.output_file()));
            let from = executor::Call { context, connections: &self.shared.connections, confined, spill };
            return executor::run(from, item, call.input.clone(), listener).await;
        }
        let Some(tool) = built_in else {
            let known = self.tools();
            if let Some(absent) = known.iter().find(|tool| tool.item == item).and_then(|tool| tool.absent.as_ref()) {
                return Err(Failed(format!("`{item}` was not run: {absent}.")));
            }
            let names: Vec<String> =
                known.into_iter().filter(|tool| tool.absent.is_none()).map(|tool| tool.spec.name).collect();
            return Err(Failed(format!("There is no tool `{}`. There are: {}.", call.tool, names.join(", "))));
        };
        if let Some(file) = tool.taken_by(&self.shared.context.claims) {
            return Err(Failed(format!(
                "`{item}` was not run: {file} stands in the place of the built-in tool, and it cannot be run or is not \
                 granted."
            )));
        }
        let (shared, input) = (Arc::clone(&self.shared), call.input.clone());
        match tool.which {
            Which::Read => self.read(arguments(input)?, listener).await,
            Which::Write => {
                let root = self.shared.root_of(&call.call_id);
                self.checkpoint(tool.which, root.clone(), input.clone(), listener).await?;
                off_loop(move |_| files::write(&root, &mut shared.names(), arguments(input)?)).await
            }
            Which::EditLines => {
                let root = self.shared.root_of(&call.call_id);
                self.checkpoint(tool.which, root.clone(), input.clone(), listener).await?;
                off_loop(move |_| files::edit_lines(&root, &mut shared.names(), &arguments(input)?)).await
            }
            Which::Ls => off_loop(move |_| list::ls(&shared.context.root, &arguments(input)?)).await,
            Which::Glob => off_loop(move |stop| list::glob(&shared.context.root, &arguments(input)?, stop)).await,
            Which::Grep => off_loop(move |stop| list::grep(&shared.context.root, &arguments(input)?, stop)).await,
            Which::Bash => self.bash(call, isolation, listener).await,
            Which::Fetch => {
                let ToolContext { reach, reader, .. } = &self.shared.context;
                fetch::fetch(*reach, reader, arguments(input)?).await
            }
            Which::MemoryAdd => off_loop(move |_| memory::add(&shared.context.memory, arguments(input)?)).await,
            Which::MemorySearch => off_loop(move |_| memory::search(&shared.context.memory, &arguments(input)?)).await,
            Which::MemoryUpdate => off_loop(move |_| memory::update(&shared.context.memory, arguments(input)?)).await,
            Which::MemoryRemove => off_loop(move |_| memory::remove(&shared.context.memory, &arguments(input)?)).await,
            Which::PersonaCreate => {
                off_loop(move |_| persona::create(&shared.context.personas, arguments(input)?)).await
            }
            Which::Result => off_loop(move |_| result::read(shared.context.kept.as_deref(), &arguments(input)?)).await,
            Which::Commands => commands::commands(&shared.context, arguments(input)?, listener).await,
            Which::State => state::state(arguments(input)?, listener).await,
            Which::Todo => todo::todo(arguments(input)?, listener).await,
            Which::FetchItem => {
                if let Some(thread) = self.transcript_asked(&input).await? {
                    return threads::transcript(&self.shared.context, thread).await;
                }
                off_loop(move |_| primary::fetch(&shared.items(), &arguments(input)?)).await
            }
            Which::ExecuteItem => {
                primary::only_here(&input)?;
                if let Some(thread) = self.transcript_asked(&input).await? {
                    return threads::transcript(&self.shared.context, thread).await;
                }
                if let Some(tool) = primary::dry_run_asked(&input) {
                    let parameters = ToolCall::parameters(input.get("parameters"));
                    return executor::dry_run(&self.shared.context, &tool, parameters).await;
                }
                if let Some((directive, background)) = primary::thread_asked(&input)? {
                    let inputs = input.get("parameters");
                    return threads::fork(&shared.context, directive, inputs, background, listener).await;
                }
                off_loop(move |_| primary::execute(&shared.items(), arguments(input)?)).await
            }
            Which::ThreadDirective => threads::start(&shared.context, arguments(input)?, listener).await,
            Which::Orchestrator => threads::orchestrate(&shared.context, arguments(input)?).await,
            Which::SignItem => {
                off_loop(move |_| primary::sign(&shared.items(), &shared.context.user_space, &arguments(input)?)).await
            }
            Which::PersonaSwitch => {
                let found = off_loop(move |_| persona::persona(&shared.context.personas, &arguments(input)?)).await?;
                let answer = match &found {
                    Some(persona) => format!("You are `{}` from here on.\n\n{}", persona.name, persona.text),
                    None => "You are yourself again.".to_owned(),
                };
                listener.becomes(found).await;
                Ok(answer)
            }
        }
    }
}

/// Reads the arguments of a call.
fn arguments<T: DeserializeOwned>(input: serde_json::Value) -> Result<T, Failed> {
    if !input.is_object() {
        return Err(Failed("The arguments are not a JSON object.".to_owned()));
    }
    serde_json::from_value(input).map_err(|error| Failed(format!("The arguments do not fit: {error}.")))
}

/// Tells work on another thread to stop when nobody waits for it any more.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs file work on a thread that may wait.
async fn off_loop<T: Send + 'static>(
    work: impl FnOnce(&AtomicBool) -> Result<T, Failed> + Send + 'static,
) -> Result<T, Failed> {
    let stop = StopOnDrop(Arc::default());
    let told = Arc::clone(&stop.0);
    match tokio::task::spawn_blocking(move || work(&told)).await {
        Ok(answer) => answer,
        Err(error) => {
            tracing::error!(%error, "a tool failed");
            Err(Failed("The tool failed inside; levain's log says more.".to_owned()))
        }
    }
}

/// No tools at all.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTools;

impl ToolRunner for NoTools {
    fn run<'a>(
        &'a self,
        _item: &'a str,
        call: &'a ToolCall,
        _isolation: Isolation,
        _listener: &'a dyn ToolListener,
    ) -> Waiting<'a, ToolOutcome> {
        let outcome = ToolOutcome::failed(format!("There is no tool `{}` in this thread.", call.tool));
        Box::pin(std::future::ready(outcome))
    }
}
