//! What extensions ask of their thread, answered: the names are those of `assets/extensions/HOST.md`.

use super::active_tools::ActiveTools;
use super::allowance::Allowance;
use super::built_in::{self, Equipment};
use super::components::Components;
use super::entries::Entries;
use super::extension_models;
use super::extension_network::Network;
use super::extension_programs::{self as programs, LONGEST_PAUSE, Programs};
use super::extension_providers::When;
use super::extension_servers;
use super::extension_text::plain;
use super::extensions::{Extensions, name_of};
use super::late_providers::LateProviders;
use super::model_registry::Models;
use super::moves;
use super::prompt_options::PromptOptions;
use super::setup::Setup;
use crate::domain::{
    Command, Dialog, DialogReply, ExtensionEntry, Gesture, KnownTool, Look, ModelRef, MoveTo, State, Status, Themes,
    ThinkingLevel, ThreadId, ThreadKind, WireForm,
};
use crate::extensions::{Asker, Engine, Outside, Refusal};
use crate::items::prompt_file::Named;
use crate::ports::child::Talk;
use crate::ports::tools::Waiting;
use crate::ports::{Clock as _, SystemClock, ThreadAccess};
use crate::store::Layout;
use crate::store::console::{Console, ConsoleLine};
use crate::tools::request::Hosts;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::watch;

/// See the module.
pub(super) struct ExtensionThread {
    pub(super) root: PathBuf,
    /// The folder that holds the person's own `.ai`.
    pub(super) home: PathBuf,
    programs: Programs,
    network: Network,
    /// Hosts that the person let extensions reach.
    hosts: Hosts,
    /// What extensions are told is the file of the session.
    pub(super) file: Option<PathBuf>,
    /// With the runtime in which it lives: extensions are on a thread of their own.
    pub(super) thread: OnceLock<(Arc<dyn ThreadAccess>, Handle)>,
    pub(super) state: watch::Sender<Option<State>>,
    /// What its tools are, and what it may use.
    pub(super) tools: OnceLock<Equipment>,
    /// The tools that extensions want to be offered, by name; all without.
    pub(super) active: RwLock<Option<ActiveTools>>,
    /// Messages that they have sent.
    pub(super) sent: AtomicU64,
    reload: AtomicBool,
    /// Extensions are being loaded, and the thread waits for that.
    loading: AtomicBool,
    pub(super) layout: Layout,
    /// What the command line says of them is asked of it.
    pub(super) extensions: Extensions,
    pub(super) late_providers: LateProviders,
    pub(super) components: Components,
    pub(super) models: Models,
    /// What they may still leave in the thread.
    pub(super) allowance: Allowance,
    /// An extension leads the person to a new thread as soon as it has said with what draft, or is done.
    moves: Mutex<Option<MoveTo>>,
    /// How much the model is to think, and the model that it was said of, until the thread says that it has another.
    pub(super) wished: Mutex<Option<(ModelRef, ThinkingLevel)>>,
    /// Held by each answer that the code of an extension gives for a model.
    pub(super) answering: Arc<()>,
    /// Skills and templates that extensions bring.
    named: RwLock<Named>,
    pub(super) prompt_options: PromptOptions,
    /// None where no thread is.
    pub(super) entries: Option<Arc<Mutex<Entries>>>,
    /// Where they print; None where no thread is.
    console: Option<Console>,
}

impl ExtensionThread {
    pub(super) fn new(setup: &Setup, thread: Option<ThreadId>) -> Arc<Self> {
        Arc::new(Self {
            root: setup.project.root.clone(),
            home: setup.prompt_home(),
            programs: Programs::new(setup),
            hosts: Hosts::new(&setup.config.extension_hosts.value),
            network: Network::new(Hosts::new(&setup.config.extension_hosts.value)),
            file: thread.as_ref().map(|thread| setup.layout.thread(thread).session_file()),
            thread: OnceLock::new(),
            state: watch::Sender::new(None),
            tools: OnceLock::new(),
            active: RwLock::default(),
            sent: AtomicU64::new(0),
            reload: AtomicBool::new(false),
            loading: AtomicBool::new(false),
            layout: setup.layout.clone(),
            extensions: setup.extensions(),
            late_providers: LateProviders::new(setup),
            components: Components::with(Themes {
                names: setup.dirs.theme_names(),
                // Which one follows the terminal its screen knows.
                chosen: Some(setup.config.theme.value.name().unwrap_or("dark").to_owned()),
            }),
            models: setup.models.clone(),
            allowance: Allowance::default(),
            moves: Mutex::default(),
            wished: Mutex::default(),
            answering: Arc::default(),
            named: RwLock::default(),
            prompt_options: PromptOptions::default(),
            console: thread.as_ref().map(|thread| Console::new(&setup.layout, thread)),
            entries: thread.map(|thread| Arc::new(Mutex::new(Entries::new(setup.layout.clone(), thread)))),
        })
    }

    /// Whose extensions these are. A second thread has its own.
    pub(super) fn join(&self, thread: Arc<dyn ThreadAccess>) {
        if let Ok(runtime) = Handle::try_current() {
            self.components.begin(Arc::clone(&thread), &runtime);
            let _joined_already = self.thread.set((thread, runtime));
        }
    }

    /// Draws the components of this engine from here on.
    pub(super) fn follow(&self, engine: Option<&Arc<Engine>>) {
        self.looks_own();
        self.components.follow(engine.map(Arc::downgrade).unwrap_or_default());
    }

    /// What extensions changed of how the thread looks is as it was.
    fn looks_own(&self) {
        self.thread.get().into_iter().for_each(|(thread, _)| thread.look(Look::Own));
    }

    /// Leads the person somewhere when the command is over, if `name` is an action that does. Nobody is led in the background.
    fn led(&self, name: &str, arguments: &Value) -> Option<Result<Value, Refusal>> {
        let is_prompt = |id: &str| {
            self.entries(|entries| {
                entries.one(id).map(|entry| entry.pointer("/message/role").is_some_and(|role| role == "user"))
            })
        };
        let own: ThreadId = self.entries(|entries| entries.header()["id"].as_str()?.parse().ok())?;
        let to = match moves::destination(name, arguments, &own, is_prompt)? {
            Ok(to) => to,
            Err(refusal) => return Some(Err(refusal)),
        };
        let led = self.has_person();
        if led {
            *self.moves.lock().unwrap_or_else(PoisonError::into_inner) = Some(to);
        }
        Some(Ok(json!({"cancelled": !led})))
    }

    /// Has whoever looks at the thread leave the program.
    pub(super) fn leave(&self) {
        if let Some((thread, _)) = self.thread.get().filter(|_| self.has_person()) {
            thread.move_on(MoveTo::Leave, String::new());
        }
    }

    /// A command is over: who was to be led to a new thread goes there now.
    pub(super) fn command_over(&self) {
        if let Some(((thread, _), to)) = self.thread.get().zip(self.moves_to()) {
            thread.move_on(to, String::new());
        }
    }

    /// Where a command leads, if it does and nobody went there yet.
    pub(super) fn moves_to(&self) -> Option<MoveTo> {
        self.moves.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The skills and templates that extensions bring.
    pub(super) fn named(&self) -> Named {
        self.named.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn bring(&self, named: Named) {
        *self.named.write().unwrap_or_else(PoisonError::into_inner) = named;
    }

    /// Keeps a line that one printed.
    fn print(&self, asker: &Asker, line: &Value) {
        let Some(console) = &self.console else { return };
        let text = |name: &str| line.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let extension = asker.path.as_ref().map_or_else(String::new, |_| called(asker));
        let (level, text) = (text("level"), text("text").trim_end().to_owned());
        if let Err(error) = console.print(&ConsoleLine { at: SystemClock.now(), extension, level, text }) {
            tracing::warn!(%error, "a line of an extension is not kept");
        }
    }

    /// What extensions are told is the file of another thread.
    pub(super) fn file_of(&self, thread: &ThreadId) -> PathBuf {
        self.layout.thread(thread).session_file()
    }

    /// The entry of a prompt, so many from the end; of the newest entry without.
    pub(super) fn prompt_from_end(&self, back: Option<usize>) -> Value {
        self.entries(|entries| {
            let said = |entry: &&Value| entry.pointer("/message/role").is_some_and(|role| role == "user");
            let prompts: Vec<&Value> = entries.all().iter().filter(said).collect();
            let chosen = back.and_then(|back| prompts.get(prompts.len().checked_sub(back)?));
            chosen.map_or_else(|| entries.leaf().into(), |entry| entry["id"].clone())
        })
    }

    /// What extensions are told before a person goes on from an entry of this thread, or of another of its conversation.
    pub(super) fn tree_preparation(&self, thread_id: &ThreadId, entry: &str, summarised: bool) -> Value {
        self.entries(|entries| {
            let own = entries.header()["id"] == thread_id.as_str();
            let target = if own { entry.to_owned() } else { format!("{thread_id}#{entry}") };
            let place = entries.all().iter().position(|one| own && one["id"] == entry);
            let behind = place.map_or(&[][..], |place| entries.all().get(place + 1..).unwrap_or_default());
            json!({"targetId": target, "oldLeafId": entries.leaf(), "commonAncestorId": own.then_some(entry),
                "entriesToSummarize": if summarised { behind } else { &[] }, "userWantsSummary": summarised})
        })
    }

    /// Has whoever looks at the thread see it in this theme.
    pub(super) fn choose_theme(&self, name: String) {
        if let Some((thread, _)) = self.thread.get() {
            thread.choose_theme(name);
        }
    }

    /// Tells people something.
    pub(super) fn notice(&self, text: String) {
        if let Some((thread, _)) = self.thread.get() {
            thread.notice(text);
        }
    }

    /// How often something was to be drawn anew.
    pub(super) fn redraws(&self) -> u64 {
        self.components.redraws()
    }

    pub(super) fn gesture(&self, gesture: Gesture) {
        self.components.gesture(gesture);
    }

    pub(super) fn changed(&self, state: &State) {
        let mut wished = self.wished.lock().unwrap_or_else(PoisonError::into_inner);
        wished.take_if(|(model, _)| state.model != *model);
        self.state.send_replace(Some(state.clone()));
    }

    /// What the log holds now, read on the thread of extensions.
    pub(super) fn entries<T: Default>(&self, read: impl FnOnce(&Entries) -> T) -> T {
        let Some(entries) = &self.entries else { return T::default() };
        let mut entries = entries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = entries.follow() {
            tracing::warn!(%error, "an extension asked for the entries of its thread");
        }
        read(&entries)
    }

    /// Leaves something in the log, and waits for it, unless the thread itself waits for extensions to be loaded: what an
    /// extension reads next has it.
    pub(super) fn append(&self, entry: ExtensionEntry) {
        let Some((thread, runtime)) = self.thread.get() else { return };
        let left = thread.append(entry);
        if self.loading.load(Ordering::Relaxed) {
            runtime.spawn(left);
        } else {
            runtime.block_on(left);
        }
    }

    /// Whether extensions are being loaded.
    pub(super) fn loads(&self, loading: bool) {
        self.loading.store(loading, Ordering::Relaxed);
    }

    /// Leaves what a tool gave beside its text in the log, and whether the model is not to answer that.
    pub(super) async fn keep_details(&self, call_id: String, details: Value, terminate: bool) {
        if let Some((thread, _)) = self.thread.get() {
            thread.append(ExtensionEntry::Details { call_id, details, terminate }).await;
        }
    }

    /// Whether it is a thread, and not somebody who only lists or looks.
    pub(super) fn is_one(&self) -> bool {
        self.entries.is_some()
    }

    /// Whether a person can be asked.
    pub(super) fn has_person(&self) -> bool {
        self.state.borrow().as_ref().is_some_and(|state| state.kind == ThreadKind::Interactive)
    }

    /// Does what a person could do, with nobody who waits for it.
    pub(super) fn tell(&self, command: Command) {
        if let Some((thread, runtime)) = self.thread.get() {
            let asked = thread.command(command);
            runtime.spawn(async move {
                if let Err(why) = asked.await {
                    tracing::info!(why, "an extension asked for something");
                }
            });
        }
    }

    pub(super) fn stop_turn(&self) {
        self.thread.get().into_iter().for_each(|(thread, _)| thread.abort());
    }

    /// Gives the thread a name, and waits for it like [`Self::append`].
    pub(super) fn rename(&self, title: String) {
        self.settle(Command::Rename { title });
    }

    /// Has the thread do something before the extension goes on, where that can be waited for.
    pub(super) fn settle(&self, command: Command) {
        match self.thread.get() {
            Some((thread, runtime)) if !self.loading.load(Ordering::Relaxed) => {
                if let Err(why) = runtime.block_on(thread.command(command)) {
                    tracing::info!(why, "an extension changed its thread");
                }
            }
            Some(_) | None => self.tell(command),
        }
    }

    /// What the thread's tools are, and what of them it may use.
    pub(super) fn equip(&self, equipment: Equipment) {
        let _equipped_already = self.tools.set(equipment);
    }

    /// Calls a model for an extension.
    fn call_model(
        &self,
        thread: &Arc<dyn ThreadAccess>,
        asker: &Asker,
        arguments: &Value,
    ) -> Waiting<'static, Result<Value, Refusal>> {
        let refused = |refusal| Box::pin(std::future::ready(Err(refusal)));
        let Some(mut call) = extension_models::call(called(asker), arguments) else {
            return refused(Refusal::new("EINVAL", "there is no model to call"));
        };
        // Code that asks itself would ask for ever; it may ask the server for which it speaks.
        if self.models.form(&call.model) == WireForm::Extension && Arc::strong_count(&self.answering) > 1 {
            match extension_servers::within(&self.models, &self.hosts, arguments) {
                Ok(within) => call.within = Some(within),
                Err(why) => {
                    let by =
                        format!("{} is answered by an extension, and one of those is answering already", call.model);
                    return refused(Refusal::new("EAGAIN", format!("{by}: {why}")));
                }
            }
        }
        let answer = thread.call_model(call);
        Box::pin(async move {
            let answer = answer.await.map_err(|why| Refusal::new("EIO", why))?;
            Ok(extension_models::answered(answer, SystemClock.now().0))
        })
    }

    /// Asks the person, and answers as pi does: with null where nobody can be asked, or they dismiss it.
    fn ask_person(
        &self,
        thread: &dyn ThreadAccess,
        asker: &Asker,
        dialog: Dialog,
        arguments: &Value,
    ) -> Waiting<'static, Result<Value, Refusal>> {
        if asker.preview || !self.has_person() {
            return Box::pin(std::future::ready(Ok(Value::Null)));
        }
        let within = arguments.get("timeout").and_then(Value::as_u64).map(Duration::from_millis);
        // What was shown of an option is less than the option where that has colours.
        let options = arguments.get("options").and_then(Value::as_array).cloned().unwrap_or_default();
        let answer = thread.ask(called(asker), dialog, within);
        Box::pin(async move {
            Ok(match answer.await {
                None => Value::Null,
                Some(DialogReply::Confirmed(is_so)) => is_so.into(),
                Some(DialogReply::Text(text)) => {
                    let chosen = options.into_iter().find(|option| option.as_str().map(plain).as_ref() == Some(&text));
                    chosen.unwrap_or_else(|| text.into())
                }
            })
        })
    }

    /// Whether extensions want a tool to be offered. They can only take tools away.
    pub(super) fn is_active(&self, tool: &KnownTool) -> bool {
        let active = self.active.read().unwrap_or_else(PoisonError::into_inner);
        active.as_ref().is_none_or(|active| active.have(&tool.spec.name))
    }

    /// Whether extensions have taken tools away.
    pub(super) fn narrows(&self) -> bool {
        self.active.read().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Something else is asked of them: what they leave is counted anew. Answers with what people should know of those before.
    pub(super) fn asked_anew(&self) -> Vec<String> {
        self.allowance.start_again()
    }

    /// The same for a command, of which no prompt tells.
    pub(super) fn command_begins(&self) {
        if let Some((thread, _)) = self.thread.get() {
            self.allowance.start_again().into_iter().for_each(|text| thread.notice(text));
        }
    }

    /// What is done as soon as it is asked for; none where it is something else.
    fn at_once(&self, thread: &dyn ThreadAccess, name: &str, arguments: &Value) -> Option<Result<Value, Refusal>> {
        match name {
            "clipboard.copy" => {
                let text = arguments.get("text").and_then(Value::as_str).filter(|_| self.has_person());
                let Some(text) = text else {
                    return Some(Err(Refusal::new("ENOSYS", "there is no screen with a clipboard")));
                };
                thread.copy(text.to_owned());
            }
            "reload" => {
                if !self.reload.swap(true, Ordering::Relaxed) {
                    thread.notice("extensions are loaded again with the next prompt".to_owned());
                }
            }
            _ => return None,
        }
        Some(Ok(Value::Null))
    }

    /// Whether an extension wants all of them to be loaded again.
    pub(super) fn wants_reload(&self) -> bool {
        self.reload.swap(false, Ordering::Relaxed)
    }

    /// Keeps what is told of a provider after the load, and tells the person what comes of it.
    fn provider(&self, asker: &Asker, arguments: &Value) {
        let (Some((thread, _)), Some(path)) = (self.thread.get(), &asker.path) else { return };
        let name = arguments.get("name").and_then(Value::as_str).unwrap_or_default();
        let Some(said) = self.late_providers.take(path, (name, arguments.get("config")), When::Later) else { return };
        let from = called(asker);
        let said = plain(&format!("{from}: {said}"));
        self.allowance.notice(&from, said).into_iter().for_each(|text| thread.notice(text));
    }
}

/// The question that an extension asks with these arguments.
fn dialog(name: &str, arguments: &Value) -> Option<Dialog> {
    let text = |name: &str| plain(arguments.get(name).and_then(Value::as_str).unwrap_or_default());
    let title = text("title");
    Some(match name {
        "ui.select" => {
            let options = arguments.get("options").and_then(Value::as_array).into_iter().flatten();
            Dialog::Select { title, options: options.filter_map(Value::as_str).map(plain).collect() }
        }
        "ui.confirm" => Dialog::Confirm { title, message: text("message") },
        "ui.input" => Dialog::Input { title, placeholder: text("placeholder") },
        "ui.editor" => Dialog::Editor { title, text: text("prefill") },
        _ => return None,
    })
}

/// What only reads, and so may be asked while somebody only looks.
fn only_reads(name: &str) -> bool {
    const TELLS: [&str; 3] = ["run.abort", "run.shutdown", "session.append"];
    let shows = name.starts_with("ui.") && !["ui.available", "ui.theme", "ui.themes"].contains(&name);
    !shows && !name.contains(".set") && !TELLS.contains(&name)
}

/// The name of an extension, for people.
pub(super) fn called(asker: &Asker) -> String {
    asker.path.as_deref().map_or_else(|| "an extension".to_owned(), name_of)
}

impl Outside for ExtensionThread {
    fn restarted(&self) {
        self.components.clear();
        self.network.clear();
        self.looks_own();
    }

    fn call(&self, asker: &Asker, name: &str, arguments: Value) -> Result<Value, Refusal> {
        if asker.preview && !only_reads(name) {
            return Ok(Value::Null);
        }
        if name == "console" {
            self.print(asker, &arguments);
            return Ok(Value::Null);
        }
        if name == "process.run" {
            let (program, longest) = self.programs.program(&arguments)?;
            let Some((thread, runtime)) = self.thread.get() else {
                return Err(Refusal::access("there is no thread here"));
            };
            if programs::wants_terminal(&arguments) && self.has_person() && !asker.preview {
                let program = programs::in_foreground(called(asker), &program)?;
                let code = runtime.block_on(thread.foreground(program));
                let code = code.ok_or_else(|| Refusal::new("ENOTTY", "no screen gave its terminal"))?;
                return Ok(json!({"stdout": "", "stderr": "", "code": code, "signal": null, "timedOut": false}));
            }
            let input = arguments.get("input").and_then(Value::as_str).map(|text| text.as_bytes().to_vec());
            return runtime.block_on(programs::process(program, input, longest.min(LONGEST_PAUSE)));
        }
        if name == "ui.open"
            && self.programs.are_confined()
            && arguments.get("kind").is_some_and(|kind| kind == "editor")
        {
            // What it sends counts as the person's own, and their commands run outside of a sandbox.
            return Err(Refusal::access("an editor of an extension is not shown where a sandbox is required"));
        }
        if name == "ui.wantsInput" && self.programs.are_confined() {
            // So does what it makes of keys.
            return Err(Refusal::access("what is typed is not told to extensions where a sandbox is required"));
        }
        if name == "http.close" {
            self.network.close(arguments.get("id").and_then(Value::as_u64).unwrap_or_default());
            return Ok(Value::Null);
        }
        if let "session.append" | "session.setLabel" = name {
            self.allowance.entry(arguments.to_string().len()).map_err(|why| Refusal::new("EMSGSIZE", why))?;
        }
        if self.thread.get().is_some()
            && self.components.told(name, &called(asker), &arguments).map_err(|why| Refusal::new("EAGAIN", why))?
        {
            return Ok(Value::Null);
        }
        if let "registered" | "unregistered" = name
            && arguments.get("kind").is_some_and(|kind| kind == "provider")
        {
            self.provider(asker, &arguments);
            return Ok(Value::Null);
        }
        let told = self.of_thread(name, asker, &arguments).or_else(|| self.of_session(name, &arguments));
        let told = told.or_else(|| extension_models::told(&self.models, name, &arguments));
        Ok(told.or_else(|| self.of_tools(name, &arguments)).unwrap_or_else(|| {
            self.shown(name, asker, &arguments);
            Value::Null
        }))
    }

    fn spawn(&self, _asker: Asker, spec: Value, talk: Talk) -> Waiting<'static, Result<Value, Refusal>> {
        match self.programs.program(&spec) {
            Ok((program, longest)) => Box::pin(programs::spawn(program, talk, spec, longest)),
            Err(refusal) => Box::pin(std::future::ready(Err(refusal))),
        }
    }

    fn socket(&self, _asker: Asker, spec: Value, talk: Talk) -> Waiting<'static, Result<Value, Refusal>> {
        if self.thread.get().is_none() {
            return Box::pin(std::future::ready(Err(Refusal::access("there is no thread here"))));
        }
        self.network.socket(&spec, talk)
    }

    fn act(&self, asker: Asker, name: String, arguments: Value) -> Waiting<'static, Result<Value, Refusal>> {
        let refused = |refusal: Refusal| -> Waiting<'static, Result<Value, Refusal>> {
            Box::pin(std::future::ready(Err(refusal)))
        };
        if name == "exec" {
            return match self.programs.program(&arguments) {
                Ok((program, longest)) => Box::pin(async move { Ok(programs::exec(program, longest).await) }),
                Err(refusal) => refused(refusal),
            };
        }
        if name == "model.key" {
            return Box::pin(std::future::ready(Ok(extension_models::key(&self.models, &arguments))));
        }
        let Some((thread, _)) = self.thread.get().cloned() else {
            return refused(Refusal::access("there is no thread here"));
        };
        if let Some(dialog) = dialog(&name, &arguments) {
            return self.ask_person(thread.as_ref(), &asker, dialog, &arguments);
        }
        if asker.preview {
            return refused(Refusal::access(
                "nothing may be left behind while somebody only looks at what would be sent",
            ));
        }
        if let Some(asked) = self.network.act(&name, &arguments) {
            return asked;
        }
        if let Some(led) = self.led(&name, &arguments) {
            return Box::pin(std::future::ready(led));
        }
        if name == "tool.run" {
            return built_in::run(self.tools.get(), &arguments, |tool| self.is_active(tool), thread);
        }
        if name == "run.compact" {
            return self.compact(thread, &arguments);
        }
        if name == "llm.stream" {
            return self.call_model(&thread, &asker, &arguments);
        }
        if let Some(done) = self.at_once(thread.as_ref(), &name, &arguments) {
            return Box::pin(std::future::ready(done));
        }
        let said = match Self::said(&name, &arguments) {
            Ok(said) => said,
            Err(refusal) => return refused(refusal),
        };
        if let Some(said) = said.as_ref().filter(|_| name == "message.send" && !self.begins(&arguments)) {
            return self.leave_message(&thread, called(&asker), said, &arguments);
        }
        // Said in the session that took the place of this one: the draft there, which the person sends.
        if let (Some(said), "message.sendUser") = (&said, name.as_str())
            && let Some(to) = self.moves_to()
        {
            thread.move_on(to, plain(&said.text));
            return Box::pin(std::future::ready(Ok(Value::Null)));
        }
        let left_out = if let Some(said) = &said { said.left_out() } else { None };
        let command = match name.as_str() {
            "message.sendUser" | "message.send" => said.map(|said| self.submit(&arguments, said.text)),
            "model.set" => {
                let named = |field: &str| arguments.pointer(&format!("/model/{field}"))?.as_str();
                let model = named("provider")
                    .zip(named("id"))
                    .map(|(provider, id)| ModelRef::new(extension_models::own(provider), id));
                let thinking = self.thinking();
                model.map(|model| Command::SetModel { model: model.with_thinking(thinking) })
            }
            "run.waitIdle" => {
                let mut state = self.state.subscribe();
                return Box::pin(async move {
                    let _gone = state.wait_for(|state| state.as_ref().is_none_or(is_idle)).await;
                    Ok(Value::Null)
                });
            }
            _ => None,
        };
        if let Some(Command::Submit { .. }) = &command
            && let Err(why) = self.allowance.message(self.state.borrow().as_ref().map_or(0, |state| state.queue.len()))
        {
            return refused(Refusal::new("EAGAIN", why));
        }
        let Some(command) = command else {
            return refused(Refusal::new("ENOSYS", format!("{name} is not offered to extensions here yet")));
        };
        let is_choice = name == "model.set";
        let done = thread.command(command);
        Box::pin(async move {
            match done.await {
                Ok(()) if is_choice => Ok(true.into()),
                Ok(()) => left_out.map_or(Ok(Value::Null), Err),
                Err(_) if is_choice => Ok(false.into()),
                Err(why) => Err(Refusal::new("EINVAL", why)),
            }
        })
    }
}

pub(super) fn is_idle(state: &State) -> bool {
    !matches!(state.status, Status::Running | Status::Queued) && state.approvals.is_empty()
}
