//! What the workbench is told and what it asks for: the two closed lists between it and the program around it.

use super::bisect_list::{BisectAsked, BisectNews};
use super::changes::{Changes, Which};
use super::code::{Code, CodeId, Colouring};
use super::counter::{Basis, Coming};
use super::export_form::ExportForm;
use super::fork::{ForkAsked, ForkMade};
use super::pipeline_list::{PipelineRows, PipelineText};
use super::request::{AssembledRequest, EditedValue, PageContent, View, WhatIf};
pub use super::rows::{DirectiveChoice, ItemRow, ModelChoice, PromptRow, ServerRow};
use super::thread_row::ThreadRow;
use crate::commands::{Key, Keymap};
use crate::domain::background::BackgroundCommand;
use crate::domain::conversation::Conversation;
use crate::domain::timeline::TimelineRow;
use crate::domain::{
    BudgetReport, ContentHash, Foreground, FrozenRequest, ModelRef, NoteKind, Record, ThreadId, ToAttach, ToComplete,
    ToDraw, Values,
};
use crate::worker::protocol::{Command, FromWorker, State};
use std::path::PathBuf;
use std::sync::Arc;

/// What the left button does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Button {
    Pressed,
    /// Moved while it is down.
    Dragged,
    Released,
}

/// What is asked of MCP servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServersAsked {
    /// What is known of them.
    Known,
    /// What they offer now: this one, or all.
    Test(Option<String>),
    /// The same of this one, which is kept.
    Refresh(String),
}

/// A command beside the conversation, and the end of what it printed, or why that is not known.
pub type Ran = (BackgroundCommand, Result<String, String>);

/// Something that happened outside the workbench.
#[derive(Debug)]
pub enum Message {
    Key(Key),
    /// A bracketed paste, whole.
    Paste(String),
    Resize {
        columns: u16,
        rows: u16,
    },
    /// The wheel, in lines; positive is up.
    Wheel {
        lines: i32,
    },
    /// A line that was typed where there is no screen.
    Line(String),
    /// The left button of the mouse, at a cell of the screen.
    Mouse {
        button: Button,
        column: u16,
        row: u16,
    },
    /// The terminal window got or lost the focus.
    Focus(bool),
    /// The terminal told its background colour.
    Background {
        light: bool,
    },
    /// The thread's id is fixed and its folder made (answer to [`Effect::Start`] and [`Effect::Open`]). `newest` holds
    /// the last page of its log, `older` the offset before which more lies.
    Opened {
        thread_id: ThreadId,
        newest: Vec<Record>,
        older: Option<u64>,
        /// How the thread stood when it was last saved; none for a new one.
        state: Option<State>,
        /// Whether somebody else wrote its log: it can be read, and is gone on with in a thread of one's own.
        elsewhere: bool,
    },
    /// What was sent to a thread from elsewhere goes into this one, which begins with the same words.
    Forked {
        from: ThreadId,
        thread_id: ThreadId,
    },
    /// A thread begins with the words of another (answer to [`Effect::Fork`]).
    ForkMade(Box<ForkMade>),
    /// The page of the log that ends at `before` (answer to [`Effect::LoadOlder`]).
    Older {
        thread_id: ThreadId,
        before: u64,
        records: Vec<Record>,
        older: Option<u64>,
    },
    /// Of the thread that is looked into (answers to the [`Effect::Peek`] of this number).
    Peeked {
        number: u64,
        news: PeekNews,
    },
    /// A worker runs the thread and listens.
    Connected {
        thread_id: ThreadId,
    },
    /// From the worker of this thread.
    Worker(ThreadId, FromWorker),
    /// The worker is gone. `expected` is true after its `bye`; otherwise it died and `detail` tells what is known.
    Disconnected {
        thread_id: ThreadId,
        expected: bool,
        detail: String,
    },
    /// All threads of the project, newest first.
    Threads(Vec<Arc<ThreadRow>>),
    /// The archived threads.
    Archived(Vec<Arc<ThreadRow>>),
    /// Nobody runs the thread that was opened.
    Alone {
        thread_id: ThreadId,
    },
    /// The thread could not be removed.
    NotRemoved(ThreadId),
    /// Some thread of the project changed, whoever runs it.
    ThreadsChanged,
    /// The threads that wait for the person's word on a call.
    Running(Vec<ThreadRow>),
    /// What the threads of a tree did when, or why that is not known.
    Timeline(Result<Vec<TimelineRow>, String>),
    /// What became of a thread, as rows, or why that is not known.
    Postmortem(Result<Vec<(&'static str, String)>, String>),
    /// What a thread did to files, or why that is not known.
    Changes(Which, Result<Changes, String>),
    /// The conversation that the thread is of, or why it cannot be read.
    Conversation(ThreadId, Result<Conversation, String>),
    /// What a thread runs beside its conversation, or why that is not known.
    BackgroundCommands(Result<Vec<Ran>, String>),
    /// How the MCP servers stand, or why that is not known.
    Servers(Result<Vec<ServerRow>, String>),
    /// What a thread keeps under names, or why that is not known.
    State(Result<Vec<(String, String)>, String>),
    /// How a thread stands in the budget ledger, or why that is not known.
    Budget {
        thread_id: ThreadId,
        report: Result<Box<BudgetReport>, String>,
    },
    /// Earlier prompts of this person in this project, oldest first.
    History(Vec<String>),
    /// The models that can be chosen.
    Models(Vec<ModelChoice>),
    /// A server on this machine has a model, where so far only the script would answer. It may be the script's own.
    ModelFound(ModelRef),
    /// The settings were saved and name another model.
    UsualModel(ModelRef),
    /// The keymap was saved.
    Keymap(Keymap),
    /// The themes there are now, and the one that the settings name.
    Themes {
        names: Vec<String>,
        chosen: Option<String>,
    },
    /// Stop what runs, whatever the keyboard is at.
    Interrupt,
    /// `$EDITOR` came back with this text.
    Edited(String),
    /// The value at a breakpoint, to be edited.
    Paused(Result<String, String>),
    /// `$EDITOR` came back with this value.
    ValueEdited(EditedValue, String),
    /// What handlers did, and the value at a breakpoint.
    Pipeline(Option<ThreadId>, Result<PipelineRows, String>),
    /// How a search for a layer goes (answer to [`Effect::Bisect`]).
    Bisect(BisectAsked, BisectNews),
    /// What these notices told of was mended.
    Mended(Vec<String>),
    /// Something failed or is worth saying; shown for a while and kept in the notices list.
    Notice {
        level: Level,
        text: String,
    },
    /// A frame was drawn that shows this waiting call for the first time.
    ApprovalDrawn {
        id: u64,
    },
    /// This waiting call was read out where there is no screen: what is typed next may be the answer.
    ApprovalTold {
        id: u64,
    },
    /// It is as late as [`super::Model::next_deadline`] says.
    Deadline,
    /// The next mark of an extension is to stand where one stands: see [`super::Model::indicator_interval`].
    IndicatorTick,
    /// One second has passed while something on the screen shows time.
    Second,
    /// What was too much for one turn goes on, or was finished with the last: see [`super::Model::is_behind`] and
    /// [`super::TranscriptLayout::is_behind`].
    GoOn,
    /// The program was continued after a suspend: everything is drawn again.
    Resumed,
    /// Every directive that can be named, those of the project first.
    Directives(Vec<DirectiveChoice>),
    /// Every item that can be named.
    Items(Vec<ItemRow>),
    /// A request with its layers (answer to [`Effect::LoadRequest`] and [`Effect::PreviewRequest`]), or why there is none.
    Request(Result<Box<RequestShown>, String>),
    /// The request that belongs beside the conversation (answer to [`Effect::LoadBeside`]), or why there is none.
    Beside {
        thread_id: ThreadId,
        number: Option<u32>,
        request: Result<Box<RequestShown>, String>,
    },
    /// The request as it would be (answer to [`Effect::WhatIf`]), or why it cannot be so.
    WhatIf(WhatIf, Result<Box<RequestShown>, String>),
    /// A page about the request on the screen (answer to [`Effect::ViewRequest`]), or why there is none.
    Page(Result<Box<PageContent>, String>),
    /// What is known of the coming request (answer to [`Effect::LoadBasis`]).
    Basis(Box<Basis>),
    /// The text of an item, or why it does not read (answer to [`Effect::ReadItem`]).
    ItemText {
        kind: &'static str,
        id: String,
        text: Result<String, String>,
    },
    /// Files of the project, by their paths from its root.
    Files(Vec<String>),
    /// Skills and templates that a prompt can name.
    /// And whether there are extensions, which may have commands of their own.
    Prompts(Vec<PromptRow>, bool),
    /// What of the project can run (answer to [`Effect::LoadTrust`]).
    Runs(Box<ProjectRuns>),
    /// Something that people write was saved: settings, items, themes.
    Saved,
    /// The program of an extension that had the terminal has ended (answer to [`Effect::RunForeground`]).
    ForegroundOver {
        id: u64,
        code: Option<i32>,
    },
    /// What the pieces of some code are (answer to [`Effect::Colour`]).
    Coloured {
        id: CodeId,
        colouring: Colouring,
    },
}

impl Message {
    /// [`Self::Threads`] of these rows.
    #[must_use]
    pub fn threads(rows: Vec<ThreadRow>) -> Self {
        Self::Threads(rows.into_iter().map(Arc::new).collect())
    }

    /// The message's name, for logs.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Key(_) => "key",
            Self::Paste(_) => "paste",
            Self::Resize { .. } => "resize",
            Self::Wheel { .. } => "wheel",
            Self::Line(_) => "line",
            Self::Mouse { .. } => "mouse",
            Self::Focus(_) => "focus",
            Self::Background { .. } => "background",
            Self::Opened { .. } => "opened",
            Self::Forked { .. } => "forked",
            Self::ForkMade(_) => "fork made",
            Self::Older { .. } => "older",
            Self::Peeked { .. } => "peeked",
            Self::Connected { .. } => "connected",
            Self::Worker(..) => "worker",
            Self::Disconnected { .. } => "disconnected",
            Self::Threads(_) => "threads",
            Self::Archived(_) => "archived",
            Self::NotRemoved(_) => "not removed",
            Self::ThreadsChanged => "threads changed",
            Self::Alone { .. } => "alone",
            Self::Running(_) => "running",
            Self::Timeline(_) => "timeline",
            Self::Postmortem(_) => "postmortem",
            Self::BackgroundCommands(..) => "background_commands",
            Self::Servers(..) => "servers",
            Self::Changes(..) => "changes",
            Self::Conversation(..) => "conversation",
            Self::State(_) => "state",
            Self::Paused(_) => "paused",
            Self::ValueEdited(..) => "value edited",
            Self::Pipeline(..) => "pipeline",
            Self::Bisect(..) => "bisect",
            Self::Budget { .. } => "budget",
            Self::History(_) => "history",
            Self::Models(_) => "models",
            Self::ModelFound(_) => "model_found",
            Self::UsualModel(_) => "usual_model",
            Self::Keymap(_) => "keymap",
            Self::Themes { .. } => "themes",
            Self::Interrupt => "interrupt",
            Self::Edited(_) => "edited",
            Self::Mended(_) => "mended",
            Self::Notice { .. } => "notice",
            Self::ApprovalDrawn { .. } => "approval_drawn",
            Self::ApprovalTold { .. } => "approval_told",
            Self::Deadline => "deadline",
            Self::IndicatorTick => "indicator_tick",
            Self::Second => "second",
            Self::GoOn => "go on",
            Self::Resumed => "resumed",
            Self::Directives(_) => "directives",
            Self::Items(_) => "items",
            Self::Request(_) => "request",
            Self::WhatIf(..) => "what if",
            Self::Page(_) => "page",
            Self::Basis(_) => "basis",
            Self::Beside { .. } => "beside",
            Self::ItemText { .. } => "item_text",
            Self::Files(_) => "files",
            Self::Prompts(..) => "prompts",
            Self::Runs(_) => "runs",
            Self::Saved => "saved",
            Self::Coloured { .. } => "coloured",
            Self::ForegroundOver { .. } => "foreground over",
        }
    }
}

/// What is told of a thread that is looked into.
#[derive(Debug)]
pub enum PeekNews {
    /// The end of its log; `older` is the offset before which more lies.
    Opened { newest: Vec<Record>, older: Option<u64> },
    /// Why its log cannot be read.
    Failed(String),
    /// From its worker.
    Worker(Box<FromWorker>),
    /// Nobody runs it, or nobody any more.
    Alone,
}

/// A request, layer by layer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestShown {
    /// `THREAD#NUMBER`, or what it would be.
    pub title: String,
    /// For which model, and how large, in words.
    pub size: String,
    /// Numbers of all requests of the thread, in order.
    pub numbers: Vec<u32>,
    /// Which of them this is; none for one that was not sent.
    pub number: Option<u32>,
    pub layers: Vec<LayerRow>,
    /// The request itself.
    pub whole: Option<Arc<AssembledRequest>>,
    /// What is sent when the person says so; none for a request that was sent, or without a prompt.
    pub held: Option<Arc<FrozenRequest>>,
    /// How it differs from the request before it, in words; none for the first.
    pub since: Option<String>,
}

/// What became of a layer since the request before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    Added,
    Changed,
    Moved,
}

impl News {
    /// A sign that tells it without colour.
    #[must_use]
    pub fn sign(self) -> &'static str {
        match self {
            Self::Added => "+",
            Self::Changed => "~",
            Self::Moved => ">",
        }
    }
}

/// What of a project can run, and whether the person trusts it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectRuns {
    pub root: PathBuf,
    /// How things stand, in words.
    pub standing: String,
    /// Names what would be trusted; none where it is trusted, or cannot be.
    pub hash: Option<String>,
    /// Files below the root, with what is to be said of each.
    pub files: Vec<(PathBuf, String)>,
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    pub file: PathBuf,
    /// Counts from 1; none for the whole file.
    pub line: Option<u32>,
}

/// A layer, or a candidate that was left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LayerRow {
    pub id: String,
    pub kind: &'static str,
    /// The part of the request it is in.
    pub part: String,
    pub origin: String,
    pub tokens: u64,
    pub lifetime: &'static str,
    /// Why it is not in the request.
    pub absence: Option<String>,
    /// What became of it since the request before.
    pub news: Option<News>,
    pub text: Arc<str>,
    /// Where its text is written.
    pub source: Option<Source>,
    /// Where it is written that it be there, and who asks for it in words.
    pub asked_by: Option<Source>,
    pub asker: Option<String>,
}

/// How loud a notice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Info,
    Warning,
    Error,
}

impl From<Level> for NoteKind {
    fn from(level: Level) -> Self {
        match level {
            Level::Info => Self::Info,
            Level::Warning => Self::Warning,
            Level::Error => Self::Error,
        }
    }
}

/// What can be done with a thread as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Upkeep {
    /// End its process in order.
    Stop,
    /// End it whatever it does.
    Kill,
    Rename(String),
    /// Call something that was said in it so, or nothing.
    Label {
        target: String,
        label: Option<String>,
    },
    Archive,
    /// List it with the others again.
    Unarchive,
    /// Remove it and all it said.
    Remove,
}

/// Something the workbench wants done. Effects are carried out in order and never waited for: answers come back as
/// messages.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Make a new thread, start its worker, connect and send the first command.
    Start {
        directive: String,
        model: ModelRef,
        inputs: Values,
        /// Number of the command, as in [`Self::Send`].
        id: u64,
        first: Command,
    },
    /// Show a thread: read the end of its log, connect if a worker runs it.
    Open {
        thread_id: ThreadId,
    },
    /// Start a worker for the thread on screen (it has none), then send the command.
    Revive {
        thread_id: ThreadId,
        id: u64,
        command: Command,
    },
    /// Send a command to the connected worker, whose answer carries the same number. A workbench uses each number once.
    Send {
        id: u64,
        command: Command,
    },
    /// Read the page of the log that ends at this offset.
    LoadOlder {
        thread_id: ThreadId,
        before: u64,
    },
    /// Make a thread that begins with the words of another.
    Fork {
        /// The thread on the screen.
        shown: ThreadId,
        asked: Box<ForkAsked>,
    },
    /// Read the conversation that the thread is of (answer: [`Message::Conversation`]).
    LoadConversation {
        thread_id: ThreadId,
    },
    LoadThreads,
    /// Read which threads are archived (answer: [`Message::Archived`]).
    LoadArchived,
    /// Read what the threads did of the tree that this one is of.
    LoadTimeline {
        thread_id: ThreadId,
    },
    /// Read what became of a thread.
    LoadPostmortem {
        thread_id: ThreadId,
    },
    /// Read what a thread did to files.
    LoadChanges(Which),
    /// Put these files back as they were before the thread changed them, and read again what it did.
    TakeBack(Which, Vec<String>),
    /// Tell how MCP servers stand, after asking them.
    AskServers(ServersAsked),
    /// Read what a thread runs beside its conversation.
    LoadBackground {
        thread_id: ThreadId,
    },
    /// Read what a thread keeps under names.
    LoadState {
        thread_id: ThreadId,
    },
    /// Ask the ledger of a thread's budget.
    LoadBudget {
        thread_id: ThreadId,
    },
    /// Look into a thread: read the end of its log and follow its worker, if one runs. Whatever was looked into before is
    /// followed no more.
    Peek {
        thread_id: ThreadId,
        number: u64,
    },
    /// Look into no thread any more.
    StopPeek,
    /// Do something with a thread as a whole.
    Manage {
        thread_id: ThreadId,
        upkeep: Upkeep,
    },
    /// Stop threads: those of a generation at once, when those of the one before have been told.
    StopTrees {
        generations: Vec<Vec<ThreadId>>,
    },
    /// Look which threads run, and whether they wait for the person's word on a call.
    LookForRunning,
    LoadHistory,
    LoadModels,
    /// Add a prompt to the person's history.
    Remember(String),
    /// Put text on the clipboard.
    Copy(String),
    /// Open the text in `$EDITOR`; it comes back as the draft.
    Edit(String),
    /// The same of a value at a breakpoint; it comes back as that.
    EditValue(EditedValue, String),
    /// Read the value at a breakpoint, to edit it.
    LoadPaused {
        hash: ContentHash,
    },
    /// Read what handlers did in a thread, and which there are in threads of the directive.
    LoadPipeline {
        thread_id: Option<ThreadId>,
        directive: String,
    },
    /// Read a text for a row of the pipeline (answer: [`Message::ItemText`]).
    ReadPipeline {
        id: String,
        what: PipelineText,
    },
    /// Tell what it takes to find the layer that makes a check come out otherwise, or find it.
    Bisect {
        asked: BisectAsked,
        begins: bool,
    },
    StopBisect,
    /// Tell the next worker this before anything else.
    SayFirst {
        id: u64,
        command: Command,
    },
    /// Show the text in `$EDITOR`; what is changed there is lost.
    ShowText(String),
    /// Write the registry and the budget ledger as files for other programs.
    ExportRegistry,
    /// Write a thread's whole log into a file of the project.
    Export {
        thread_id: ThreadId,
        form: ExportForm,
    },
    /// Take the mouse or leave it to the terminal.
    ToggleMouse,
    /// Call somebody who looks elsewhere.
    Attention(String),
    Suspend,
    /// Draw everything again from nothing.
    Redraw,
    Quit,
    LoadDirectives,
    LoadItems,
    /// Read the beginning of an item's text.
    ReadItem {
        kind: &'static str,
        id: String,
    },
    LoadFiles,
    /// List skills and templates.
    LoadPrompts,
    /// List what of the project can run.
    LoadTrust,
    /// Trust the project, if what can run is still what this names.
    TrustProject {
        hash: String,
    },
    /// Work out the colours of some code.
    Colour(Code),
    /// Ask the worker what extensions make of something that was typed (answered by [`FromWorker::Typed`]).
    HearTyped {
        id: u64,
        data: String,
    },
    /// Ask the worker how extensions draw something (answered by [`FromWorker::Drawn`]).
    Draw {
        id: u64,
        to_draw: ToDraw,
    },
    /// Ask the worker what completes the draft (answered by [`FromWorker::Suggested`]).
    Complete {
        id: u64,
        draft: ToComplete,
    },
    /// Give the terminal to a program of an extension until it has ended.
    RunForeground(Box<Foreground>),
    /// Give the terminal to a program of our own that signs the person in to this provider of an extension.
    SignIn(String),
    /// Open a file in `$EDITOR`, at its line where the editor can.
    OpenFile(Source),
    /// Read a request of a thread: the one of this number, else the newest.
    LoadRequest {
        thread_id: ThreadId,
        number: Option<u32>,
    },
    /// The same, to be shown beside the conversation.
    LoadBeside {
        thread_id: ThreadId,
        number: Option<u32>,
    },
    /// Reckon what the coming request comes to without its prompt.
    LoadBasis(Coming),
    /// Show a request as it would be without these layers, by their places (answer: [`Message::WhatIf`]).
    WhatIf(WhatIf),
    /// Write a page about a request.
    ViewRequest {
        whole: Arc<AssembledRequest>,
        view: View,
    },
    /// Put together what sending `prompt` now would send, and send nothing.
    PreviewRequest {
        thread_id: Option<ThreadId>,
        directive: String,
        model: ModelRef,
        prompt: String,
        /// Names of the images that go along.
        images: Vec<String>,
        files: Vec<ToAttach>,
        inputs: Values,
    },
}
