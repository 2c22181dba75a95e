//! Carries out the workbench's effects. Nothing here is waited for: answers come back as messages.

use super::background;
use super::bisect;
use super::colouring::Colourist;
use super::connection::{Connection, Reach};
use super::notices::{failed, notice};
use super::peeking::{self, Looking};
use super::previewer::{NewThread, Previewer};
use super::servers;
use super::terminal_effect::TerminalEffect;
use super::{
    export, forking, history, listing, managing, pages, pipeline, requests, taking_back, thread_rows, trusting,
};
use crate::config::Trust;
use crate::domain::command::QueuedPrompt;
use crate::domain::{Draft, Event, ForkPoint, Record, State, StateStore, Status, ThreadId, Tokens, Waiting};
use crate::engine::driver::ModelRegistry;
use crate::ports::Ledger;
use crate::ports::{Clock, StoreError, SystemClock};
use crate::session::DirectivePlanner;
use crate::session::Models;
use crate::session::setup::Setup;
use crate::session::{conversation, fork};
use crate::store::KeptLedger;
use crate::store::summary::Summary;
use crate::store::threads::{Threads, is_elsewhere};
use crate::store::{Layout, kept, log, postmortem, recover, timeline};
use crate::workbench::counter::Coming;
use crate::workbench::{Effect, Level, Message};
use crate::worker::host::REPLAY;
use crate::worker::launch::Launcher;
use crate::worker::protocol::{Command, ToWorker};
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};

/// How much of a log is read for the first page on screen.
const PAGE: u64 = 256 * 1024;
/// Carries out effects that need no terminal.
#[derive(Debug)]
pub(super) struct EffectRunner {
    launcher: Launcher,
    pub(super) setup: Arc<Setup>,
    models: Models,
    messages: mpsc::Sender<Message>,
    connection: Option<Connection>,
    threads: Arc<Mutex<thread_rows::ThreadList>>,
    /// The thread that is looked into from the list.
    looking: Option<Looking>,
    previewer: Previewer,
    colourist: Colourist,
    /// What the screen wants to know; given up when the program ends, with the processes that were asked.
    reads: JoinSet<()>,
    /// What was begun for good: written, sent. The program waits for it before it ends.
    writes: JoinSet<()>,
    pages: mpsc::Receiver<PageRead>,
    page_sender: mpsc::Sender<PageRead>,
    /// What the next worker is told before anything else.
    first: Vec<(u64, Command)>,
    /// The search for a layer that goes on.
    bisect: Option<AbortHandle>,
}

/// The newest page of a thread was read: where it ends, and how its worker is to be reached then.
type PageRead = (ThreadId, u64, Reach);

impl EffectRunner {
    pub(super) fn new(launcher: Launcher, setup: Arc<Setup>, messages: mpsc::Sender<Message>) -> Self {
        let (page_sender, pages) = mpsc::channel(8);
        let models = setup.models.clone();
        let previewer = Previewer::start(launcher.clone());
        let colourist = Colourist::start(launcher.program.clone(), messages.clone());
        Self {
            launcher,
            setup,
            models,
            messages,
            threads: Arc::default(),
            connection: None,
            looking: None,
            previewer,
            colourist,
            reads: JoinSet::new(),
            writes: JoinSet::new(),
            pages,
            page_sender,
            first: Vec::new(),
            bisect: None,
        }
    }

    fn layout(&self) -> Layout {
        self.launcher.layout.clone()
    }

    /// Waits until a thread's page has been read, after which its worker can be looked for. Losing this future loses
    /// nothing.
    pub(super) async fn page_read(&mut self) -> PageRead {
        match self.pages.recv().await {
            Some(page) => page,
            None => std::future::pending().await,
        }
    }

    /// The page of a thread is on its way to the screen: what follows comes from its worker.
    pub(super) fn follow(&mut self, (thread_id, end, reach): PageRead) {
        self.connect(thread_id, end, reach);
    }

    /// Carries out one effect; those that need the terminal come back.
    #[expect(clippy::too_many_lines, reason = "one arm for each effect")]
    pub(super) fn perform(&mut self, effect: Effect) -> Option<TerminalEffect> {
        match effect {
            Effect::Start { directive, model, inputs, id, first } => {
                self.start(NewThread { directive, model, inputs }, id, first);
            }
            Effect::Open { thread_id } => self.open(thread_id),
            Effect::Revive { thread_id, id, command } => {
                let from = self.connection.as_ref().and_then(|link| link.offset(&thread_id)).unwrap_or(0);
                let commands = self.behind_first(id, command);
                self.revive(thread_id, from, Reach::Start(commands));
            }
            Effect::Send { id, command } => self.send(id, command),
            Effect::LoadOlder { thread_id, before } => self.load_older(thread_id, before),
            Effect::Fork { shown, asked } => {
                let setup = Arc::clone(&self.setup);
                let made = self.answer_with(move || forking::make(&setup, shown, *asked));
                self.writes.spawn(made);
            }
            Effect::LoadConversation { thread_id } => {
                let layout = self.layout();
                self.answer(move || {
                    let read = conversation::read(&layout, &thread_id, SystemClock.now());
                    Message::Conversation(thread_id, read.map_err(|error| error.to_string()))
                });
            }
            Effect::LoadThreads => self.load_threads(),
            Effect::LoadArchived => self.look_at_threads(thread_rows::archived, Message::Archived),
            Effect::LoadTimeline { thread_id } => self.load_timeline(thread_id),
            Effect::LoadPostmortem { thread_id } => self.load_postmortem(thread_id),
            Effect::LoadChanges(which) => self.list(|setup| taking_back::read(setup, which)),
            Effect::TakeBack(which, paths) => {
                let (setup, messages) = (Arc::clone(&self.setup), self.messages.clone());
                self.writes.spawn(taking_back::take_back(setup, which, paths, messages));
            }
            Effect::ExportRegistry => {
                let layout = self.layout();
                let written = self.answer_with(move || export::registry(&layout));
                self.writes.spawn(written);
            }
            Effect::AskServers(asked) => {
                let (setup, messages) = (Arc::clone(&self.setup), self.messages.clone());
                self.reads.spawn(servers::ask(setup, asked, messages));
            }
            Effect::LoadBackground { thread_id } => {
                let layout = self.layout();
                self.answer(move || Message::BackgroundCommands(background::read(&layout, &thread_id)));
            }
            Effect::LoadState { thread_id } => self.load_state(thread_id),
            Effect::LoadPaused { hash } => self.list(move |setup| Message::Paused(pipeline::paused(setup, &hash))),
            Effect::LoadPipeline { thread_id, directive } => self.list(move |setup| {
                let told = pipeline::told(setup, thread_id.as_ref(), &directive);
                Message::Pipeline(thread_id, told)
            }),
            Effect::ReadPipeline { id, what } => {
                let (setup, messages) = (Arc::clone(&self.setup), self.messages.clone());
                self.reads.spawn(async move {
                    let text = pipeline::text(setup, what).await;
                    let _ending = messages.send(Message::ItemText { kind: "step", id, text }).await;
                });
            }
            Effect::SayFirst { id, command } => self.first.push((id, command)),
            Effect::Bisect { asked, begins } => {
                let (setup, messages) = (Arc::clone(&self.setup), self.messages.clone());
                self.stop_bisect();
                self.bisect = Some(self.reads.spawn(bisect::ask(setup, asked, begins, messages)));
            }
            Effect::StopBisect => self.stop_bisect(),
            Effect::LoadBudget { thread_id } => self.load_budget(thread_id),
            Effect::Peek { thread_id, number } => self.peek(thread_id, number),
            Effect::StopPeek => self.looking = None,
            Effect::Manage { thread_id, upkeep } => {
                let (launcher, messages) = (self.launcher.clone(), self.messages.clone());
                self.writes.spawn(managing::manage(launcher, thread_id, upkeep, messages));
            }
            Effect::StopTrees { generations } => {
                let (launcher, messages) = (self.launcher.clone(), self.messages.clone());
                self.writes.spawn(managing::stop_trees(launcher, generations, messages));
            }
            Effect::LookForRunning => self.look_for_running(),
            Effect::LoadHistory => {
                let layout = self.layout();
                self.answer(move || Message::History(history::prompts(&layout)));
            }
            Effect::LoadModels => {
                let (models, messages) = (self.models.clone(), self.messages.clone());
                self.reads.spawn(async move {
                    let _ending = messages.send(Message::Models(models.choices_found().await)).await;
                });
            }
            Effect::LoadRequest { thread_id, number } => {
                let setup = Arc::clone(&self.setup);
                self.answer(move || Message::Request(requests::stored(&setup, &thread_id, number).map(Box::new)));
            }
            Effect::LoadBeside { thread_id, number } => {
                let setup = Arc::clone(&self.setup);
                self.answer(move || {
                    let request = requests::stored(&setup, &thread_id, number);
                    let request = request.map(|request| Box::new(request.without_texts()));
                    Message::Beside { thread_id, number, request }
                });
            }
            Effect::LoadBasis(coming) => self.load_basis(coming),
            Effect::WhatIf(what_if) => self.list(move |setup| {
                let shown = requests::as_if(setup, &what_if).map(Box::new);
                Message::WhatIf(what_if, shown)
            }),
            Effect::ViewRequest { whole, view } => {
                self.list(move |setup| Message::Page(pages::page(setup, &whole, view).map(Box::new)));
            }
            Effect::PreviewRequest { thread_id, directive, model, prompt, images, files, inputs } => {
                let draft = Draft { text: prompt, images, files, runs_commands: true };
                self.preview(thread_id, NewThread { directive, model, inputs }, draft);
            }
            Effect::Remember(text) => self.remember(text),
            Effect::Export { thread_id, form } => {
                let layout = self.layout();
                let written = self.answer_with(move || match export::to_project(&layout, &thread_id, form) {
                    Ok(path) => notice(Level::Info, format!("written to {}", path.display())),
                    Err(error) => notice(Level::Error, format!("the thread was not exported: {error}")),
                });
                self.writes.spawn(written);
            }
            Effect::Colour(code) => self.colourist.ask(code),
            Effect::Draw { id, to_draw } => self.ask_extensions(ToWorker::Draw { id, to_draw }),
            Effect::HearTyped { id, data } => self.ask_extensions(ToWorker::Typed { id, data }),
            Effect::Complete { id, draft } => self.ask_extensions(ToWorker::Complete { id, draft }),
            Effect::LoadDirectives => self.list(|setup| Message::Directives(listing::directives(setup))),
            Effect::LoadItems => self.list(|setup| Message::Items(listing::items(setup))),
            Effect::LoadPrompts => {
                self.list(|setup| Message::Prompts(listing::prompts(setup), !setup.extensions().found().is_empty()));
            }
            Effect::LoadFiles => self.list(|setup| Message::Files(listing::files(&setup.project.root))),
            Effect::LoadTrust => self.list(|setup| Message::Runs(Box::new(trusting::runs(setup)))),
            Effect::TrustProject { hash } => {
                let setup = Arc::clone(&self.setup);
                let trusted = self.answer_with(move || match trusting::trust(&setup, &hash) {
                    Ok(text) => notice(Level::Info, text),
                    Err(why) => notice(Level::Error, why),
                });
                self.writes.spawn(trusted);
            }
            Effect::ReadItem { kind, id } => self.list(move |setup| {
                let text = listing::text(setup, kind, &id);
                Message::ItemText { kind, id, text }
            }),
            Effect::Copy(text) => return Some(TerminalEffect::Copy(text)),
            Effect::OpenFile(source) => return Some(TerminalEffect::OpenFile(source)),
            Effect::RunForeground(wanted) => return Some(TerminalEffect::RunForeground(wanted)),
            Effect::SignIn(provider) => return Some(TerminalEffect::SignIn(provider)),
            Effect::Edit(text) => return Some(TerminalEffect::Edit(text)),
            Effect::EditValue(what, text) => return Some(TerminalEffect::EditValue(what, text)),
            Effect::ShowText(text) => return Some(TerminalEffect::ShowText(text)),
            Effect::ToggleMouse => return Some(TerminalEffect::ToggleMouse),
            Effect::Attention(text) => return Some(TerminalEffect::Attention(text)),
            Effect::Suspend => return Some(TerminalEffect::Suspend),
            Effect::Redraw => return Some(TerminalEffect::Redraw),
            // The loop has seen it.
            Effect::Quit => {}
        }
        None
    }

    /// From here on, everything is as `setup` has it.
    pub(super) fn know(&mut self, setup: Setup) {
        self.models = setup.models.clone();
        self.setup = Arc::new(setup);
        // A worker that was started to look at a draft knows what was there before.
        let before = std::mem::replace(&mut self.previewer, Previewer::start(self.launcher.clone()));
        self.writes.spawn(before.leave());
    }

    /// Lists something off the loop.
    fn list(&mut self, list: impl FnOnce(&Setup) -> Message + Send + 'static) {
        let setup = Arc::clone(&self.setup);
        self.answer(move || list(&setup));
    }

    /// What can wait until the first frame is drawn: whether the project is trusted, whether threads of `directive` can
    /// be planned, and with `servers`, whether a model server on this machine answers.
    pub(super) fn look_around(&mut self, setup: &Arc<Setup>, directive: Option<String>, servers: bool) {
        if let Some(directive) = directive {
            let (setup, messages) = (Arc::clone(setup), self.messages.clone());
            self.reads.spawn(async move {
                let look = tokio::task::spawn_blocking(move || doubts(&setup, &directive)).await;
                for message in look.into_iter().flatten() {
                    let _ending = messages.send(message).await;
                }
            });
        }
        let (dirs, root, messages) = (setup.dirs.clone(), setup.project.root.clone(), self.messages.clone());
        self.reads.spawn(async move {
            let warning = tokio::task::spawn_blocking(move || Trust::of(&dirs, &root).warning()).await;
            if let Ok(Some(text)) = warning {
                let _ending = messages.send(notice(Level::Warning, text)).await;
            }
        });
        if servers {
            let (models, messages) = (self.models.clone(), self.messages.clone());
            self.reads.spawn(async move {
                let _ending = messages.send(Message::ModelFound(models.default_found().await)).await;
            });
        }
    }

    /// Leaves in order: gives up what was only to be looked at, says goodbye to the worker and waits for what must be
    /// written.
    pub(super) async fn finish(mut self) {
        self.reads.shutdown().await;
        self.looking = None;
        let leaves = async {
            if let Some(connection) = self.connection.take() {
                connection.leave().await;
            }
        };
        tokio::join!(self.previewer.leave(), leaves);
        let all = async { while self.writes.join_next().await.is_some() {} };
        let _gave_up = tokio::time::timeout(std::time::Duration::from_secs(2), all).await;
    }

    /// Looks at something off the loop and sends what it comes to.
    fn answer(&mut self, work: impl FnOnce() -> Message + Send + 'static) {
        let answer = self.answer_with(work);
        self.reads.spawn(answer);
        while self.reads.try_join_next().is_some() {}
        while self.writes.try_join_next().is_some() {}
    }

    /// Runs `work` off the loop and sends what it returns.
    fn answer_with<Work>(&self, work: Work) -> impl Future<Output = ()> + use<Work>
    where
        Work: FnOnce() -> Message + Send + 'static,
    {
        let messages = self.messages.clone();
        async move {
            match tokio::task::spawn_blocking(work).await {
                Ok(message) => {
                    let _ending = messages.send(message).await;
                }
                Err(error) => tracing::error!(%error, "a job failed"),
            }
        }
    }

    /// Ends a search for a layer, with its process.
    fn stop_bisect(&mut self) {
        if let Some(before) = self.bisect.take() {
            before.abort();
        }
    }

    /// The commands for a worker that is about to start.
    fn behind_first(&mut self, id: u64, command: Command) -> Vec<(u64, Command)> {
        let mut commands = std::mem::take(&mut self.first);
        commands.push((id, command));
        commands
    }

    fn connect(&mut self, thread_id: ThreadId, from: u64, reach: Reach) {
        let messages = self.messages.clone();
        let connection = Connection::open(self.launcher.clone(), thread_id, from, reach, messages);
        if let Some(before) = self.connection.replace(connection)
            && !before.is_over()
        {
            self.writes.spawn(before.leave());
        }
    }

    fn start(&mut self, new: NewThread, number: u64, first: Command) {
        let id = if let Command::SubmitHeld { held, .. } = &first { Some(held.thread_id.clone()) } else { None };
        // Where no thread comes of it, the next one must not hear what was meant for this.
        let commands = self.behind_first(number, first);
        match self.previewer.take(new, id) {
            Ok(thread_id) => {
                let id = thread_id.clone();
                let opened =
                    Message::Opened { thread_id: id, newest: Vec::new(), older: None, state: None, elsewhere: false };
                self.tell(opened);
                self.connect(thread_id, 0, Reach::Start(commands));
            }
            Err(why) => self.tell(notice(Level::Error, why)),
        }
    }

    /// Asks the worker of a thread, or of one that is made for `new`, what sending `draft` would send.
    fn preview(&mut self, thread_id: Option<ThreadId>, new: NewThread, draft: Draft) {
        let told = self.previewer.ask(thread_id, new, draft);
        let (setup, messages) = (Arc::clone(&self.setup), self.messages.clone());
        self.reads.spawn(async move {
            let shown = match told.await {
                Ok((thread_id, preview)) => {
                    let make = move || Box::new(requests::previewed(&setup, thread_id, *preview));
                    tokio::task::spawn_blocking(make).await.map_err(|error| error.to_string())
                }
                Err(why) => Err(why),
            };
            let _ending = messages.send(Message::Request(shown)).await;
        });
    }

    /// What the coming request comes to without its prompt. Before the first request of a thread its worker tells; a person
    /// who only writes runs no command.
    fn load_basis(&mut self, coming: Coming) {
        let (setup, messages) = (Arc::clone(&self.setup), self.messages.clone());
        if coming.context > Tokens(0) && coming.files.is_empty() {
            let tokens = coming.context;
            return self.answer(move || Message::Basis(Box::new(requests::basis(&setup, coming, tokens, 0))));
        }
        let Coming { thread, directive, model, inputs, files, .. } = coming.clone();
        let new = NewThread { directive, model, inputs };
        let told = self.previewer.ask(thread, new, Draft { files, ..Draft::default() });
        self.reads.spawn(async move {
            // What cannot be planned has no size; sending or looking at it says why.
            if let Ok((_, preview)) = told.await {
                let attached = preview.attached;
                // What stands in a thread is known without it.
                let known = Some(coming.context).filter(|known| *known > Tokens(0));
                let tokens = known.unwrap_or_else(|| preview.assembly.tokens());
                let basis = requests::basis(&setup, coming, tokens, attached);
                let _ending = messages.send(Message::Basis(Box::new(basis))).await;
            }
        });
    }

    fn open(&mut self, thread_id: ThreadId) {
        let (layout, messages, pages) = (self.layout(), self.messages.clone(), self.page_sender.clone());
        let models = self.models.clone();
        self.reads.spawn(async move {
            let id = thread_id.clone();
            let read = tokio::task::spawn_blocking(move || {
                recover::mend(&layout, &id, SystemClock.now(), REPLAY);
                newest(&layout, &id)
            });
            match read.await {
                Ok(Ok(newest)) => {
                    // The loop hears of the page's end first: whoever acts on the page must know where the log goes on.
                    let reach = if newest.asks() { Reach::Host } else { Reach::Find };
                    let _ending = pages.send((thread_id.clone(), newest.page.end, reach)).await;
                    let _ending = messages.send(newest.opened(thread_id, &models)).await;
                }
                Ok(Err(error)) => {
                    let _ending = messages.send(failed(&error)).await;
                }
                Err(error) => tracing::error!(%error, "opening a thread"),
            }
        });
    }

    /// Goes on with a thread whose worker is gone: one from elsewhere in a thread of one's own.
    fn revive(&mut self, thread_id: ThreadId, from: u64, reach: Reach) {
        let (setup, layout) = (Arc::clone(&self.setup), self.layout());
        let (messages, pages) = (self.messages.clone(), self.page_sender.clone());
        self.writes.spawn(async move {
            let id = thread_id.clone();
            let forked = tokio::task::spawn_blocking(move || {
                if !is_elsewhere(&layout, &id) {
                    return Ok(None);
                }
                let fork = fork(&setup, &id, ForkPoint::End, None, Vec::new())?.id;
                let end = layout.log(&fork).and_then(|log| log::read_backward(&log, None, 1));
                Ok(Some((end.map_err(|error: StoreError| error.to_string())?.end, fork)))
            });
            let read = match forked.await {
                Ok(Ok(None)) => (thread_id, from, reach),
                Ok(Ok(Some((end, fork)))) => {
                    // First the screen knows which thread this is, then what comes from it.
                    let told = Message::Forked { from: thread_id, thread_id: fork.clone() };
                    let _ending = messages.send(told).await;
                    (fork, end, reach)
                }
                Ok(Err(detail)) => {
                    let _ending = messages.send(Message::Disconnected { thread_id, expected: false, detail }).await;
                    return;
                }
                Err(error) => return tracing::error!(%error, "going on with a thread"),
            };
            let _ending = pages.send(read).await;
        });
    }

    fn send(&mut self, id: u64, command: Command) {
        let Some(sender) = self.connection.as_ref().and_then(Connection::sender) else {
            self.tell(notice(Level::Error, "No worker runs this thread; send a message to start one.".into()));
            return;
        };
        let messages = self.messages.clone();
        let own = self.connection.as_ref().and_then(Connection::approvals);
        if let (Some(own), Command::Approve { .. }) = (own, &command) {
            self.writes.spawn(async move {
                if own.send((id, command)).await.is_err() {
                    let text = "nothing was allowed: the worker is gone".to_owned();
                    let _ending = messages.send(notice(Level::Error, text)).await;
                }
            });
            return;
        }
        self.writes.spawn(async move {
            if let Err(error) = sender.command(id, command).await {
                let _ending = messages.send(notice(Level::Error, error.to_string())).await;
            }
        });
    }

    /// Asks extensions by way of the worker. Without one nobody answers.
    fn ask_extensions(&mut self, question: ToWorker) {
        if let Some(sender) = self.connection.as_ref().and_then(Connection::sender) {
            self.writes.spawn(async move { drop(sender.send(question).await) });
        }
    }

    fn load_older(&mut self, thread_id: ThreadId, before: u64) {
        let layout = self.layout();
        let read = move |id: &ThreadId| log::read_backward(&layout.log(id)?, Some(before), PAGE);
        self.answer(move || match read(&thread_id) {
            Ok(page) => {
                let older = (page.start > 0).then_some(page.start);
                Message::Older { thread_id, before, records: page.into_records().collect(), older }
            }
            Err(error) => failed(&error),
        });
    }

    fn load_threads(&mut self) {
        self.reads.spawn(thread_rows::tell(Arc::clone(&self.threads), self.layout(), self.messages.clone()));
        while self.reads.try_join_next().is_some() {}
    }

    /// Looks into a thread, and no longer into the one before.
    fn peek(&mut self, thread_id: ThreadId, number: u64) {
        let (looking, follows) = peeking::follow(self.launcher.clone(), thread_id, number, self.messages.clone());
        self.looking = Some(looking);
        // Whoever is followed is told when nobody looks any more, also at the end.
        self.writes.spawn(follows);
        while self.writes.try_join_next().is_some() {}
    }

    fn load_timeline(&mut self, thread_id: ThreadId) {
        let (layout, now) = (self.layout(), SystemClock.now());
        self.answer(move || {
            Message::Timeline(timeline::of(&layout, &thread_id, now, REPLAY).map_err(|error| error.to_string()))
        });
    }

    fn load_postmortem(&mut self, thread_id: ThreadId) {
        let layout = self.layout();
        self.answer(move || {
            Message::Postmortem(postmortem::of(&layout, &thread_id, REPLAY.summary).map_err(|error| error.to_string()))
        });
    }

    fn load_state(&mut self, thread_id: ThreadId) {
        let layout = self.layout();
        self.answer(move || {
            let words =
                |state: StateStore| state.iter().map(|(name, value)| (name.to_owned(), value.to_string())).collect();
            Message::State(kept::of(&layout, &thread_id).map(words).map_err(|error| error.to_string()))
        });
    }

    fn load_budget(&mut self, thread_id: ThreadId) {
        let ledger = KeptLedger::new(&self.layout(), REPLAY);
        self.answer(move || {
            let report = ledger.report(&thread_id)().map(Box::new).map_err(|error| error.to_string());
            Message::Budget { thread_id, report }
        });
    }

    fn look_for_running(&mut self) {
        self.look_at_threads(thread_rows::running, Message::Running);
    }

    /// Reads rows of the registry, after threads whose process is gone were ended.
    fn look_at_threads<T: 'static>(
        &mut self,
        read: impl FnOnce(&Threads) -> Result<Vec<T>, StoreError> + Send + 'static,
        message: impl FnOnce(Vec<T>) -> Message + Send + 'static,
    ) {
        let layout = self.layout();
        self.answer(move || {
            match Threads::look(&layout, SystemClock.now(), REPLAY).and_then(|threads| read(&threads)) {
                Ok(rows) => message(rows),
                Err(error) => failed(&error),
            }
        });
    }

    fn remember(&mut self, text: String) {
        let layout = self.layout();
        self.writes.spawn(async move {
            let write = tokio::task::spawn_blocking(move || history::remember(&layout, text));
            if let Ok(Err(error)) = write.await {
                tracing::warn!(%error, "a prompt was not remembered");
            }
        });
    }

    fn tell(&mut self, message: Message) {
        if let Err(mpsc::error::TrySendError::Full(message)) = self.messages.try_send(message) {
            let messages = self.messages.clone();
            self.reads.spawn(async move {
                let _ending = messages.send(message).await;
            });
        }
    }
}

/// The end of a thread's log, and how the thread stands.
struct Newest {
    page: log::LogPage,
    summary: Summary,
    elsewhere: bool,
}

fn newest(layout: &Layout, id: &ThreadId) -> Result<Newest, StoreError> {
    let page = log::read_backward(&layout.log(id)?, None, PAGE)?;
    Ok(Newest { page, summary: Summary::look(layout, id, REPLAY.summary)?, elsewhere: is_elsewhere(layout, id) })
}

impl Newest {
    /// Whether a call waits for the person, of a thread of their own.
    fn asks(&self) -> bool {
        self.summary.waiting == Some(Waiting::Approval) && !self.elsewhere
    }

    fn opened(self, thread_id: ThreadId, models: &Models) -> Message {
        let older = (self.page.start > 0).then_some(self.page.start);
        let newest: Vec<Record> = self.page.into_records().collect();
        // What somebody else was doing nobody does here.
        let status = if self.elsewhere { Status::Waiting } else { self.summary.status };
        let mut state = state_of(Summary { status, ..self.summary }, models);
        // What waits since the thread was stopped was queued shortly before the log's end.
        for record in newest.iter().filter(|_| !self.elsewhere) {
            if let Event::Prompt(event) = &record.event {
                QueuedPrompt::follow(&mut state.queue, event);
            }
        }
        state.queue = state.queue.iter().map(QueuedPrompt::without_texts).collect();
        Message::Opened { thread_id, newest, older, state: Some(state), elsewhere: self.elsewhere }
    }
}

/// How a saved thread stands, as far as its summary and the end of its log tell.
fn state_of(summary: Summary, models: &Models) -> State {
    State {
        status: summary.status,
        waiting: None,
        kind: summary.kind,
        directive: summary.directive,
        window: models.window(&summary.model),
        model: summary.model,
        cost: summary.cost,
        limits: summary.limits,
        context: summary.context,
        queue: Vec::new(),
        approvals: Vec::new(),
        todo: None,
        background: Vec::new(),
        handling: None,
        breakpoints: Vec::new(),
        extensions: Box::default(),
    }
}

/// What is wrong with a directive, as the person is told it.
fn doubts(setup: &Setup, directive: &str) -> Vec<Message> {
    match DirectivePlanner::prepare(setup, directive, None) {
        Ok(planner) => planner.problems.iter().map(|it| notice(Level::Warning, it.to_string())).collect(),
        Err(error) => vec![notice(Level::Error, error.to_string())],
    }
}
