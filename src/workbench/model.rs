//! Everything the screen is a picture of.

use super::approval::Approvals;
use super::code::Colours;
use super::completion::Completion;
use super::composer::Composer;
use super::context_browser::ContextBrowser;
use super::drafts::LeftDrafts;
use super::form::InputForm;
use super::geometry;
use super::history::History;
use super::message::{DirectiveChoice, Effect, Level, ModelChoice, ThreadRow};
use super::overlay::Overlay;
use super::pointer::Pointer;
use super::reading::Reading;
use super::request_page::RequestPage;
use super::scroll::Position;
use super::transcript::{BlockId, Transcript};
use crate::commands::{Context, Keymap};
use crate::domain::event::PromptMode;
use crate::domain::{ModelRef, ThreadId, Timestamp, Values, input};
use crate::worker::protocol::{Command, QueuedPrompt, State};
use std::collections::VecDeque;
use std::sync::Arc;

/// What the workbench starts from.
#[derive(Clone, Debug)]
pub struct Options {
    /// Directive of a new thread.
    pub directive: String,
    pub model: ModelRef,
    /// Whether that model answers from a script.
    pub model_is_scripted: bool,
    /// Name of the project, for the title.
    pub project: String,
    /// A thread to show at once.
    pub open: Option<ThreadId>,
    /// Columns and rows.
    pub size: (u16, u16),
    pub keymap: Keymap,
    pub now: Timestamp,
    /// Names of the themes that can be chosen, and the one in use; none follows the terminal's background.
    pub themes: Vec<String>,
    pub theme: Option<String>,
    /// What is known of the directive of a new thread: with inputs, they are asked for first.
    pub draft: Option<DirectiveChoice>,
    /// Whether a person asked for that directive by name.
    pub by_name: bool,
}

/// What stands between the screen and the thread's worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// No thread yet: the first prompt makes one.
    Draft,
    /// The thread is being made and its worker started.
    Starting,
    /// The thread's log is being read.
    Opening,
    /// The log is shown; no worker runs.
    Resting,
    /// A worker is being started for the shown thread.
    Reviving,
    Connected,
}

/// What the thread is doing, as far as the screen knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    Idle,
    /// A prompt is on its way to the worker.
    Sending,
    /// A request is out, nothing came back yet.
    Asking,
    Thinking,
    Writing,
    Tool(String),
    /// A call waits until the person allows or denies it.
    Approval,
    /// A failed call is tried again after so many seconds.
    Retrying {
        seconds: u64,
    },
    Cancelling,
}

/// A phase and how long the work goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Activity {
    pub phase: Phase,
    pub seconds: u64,
}

/// A prompt the worker has not confirmed yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingPrompt {
    pub text: Arc<str>,
    pub mode: PromptMode,
    pub(super) images: Vec<String>,
    /// Its block in the transcript; without one it is shown above the draft.
    pub(super) block: Option<BlockId>,
    /// Not handed over yet: it is sent when the worker listens.
    pub(super) held: bool,
    /// In the log, but not said yet.
    pub(super) safe: bool,
}

impl PendingPrompt {
    pub(super) fn command(&self) -> Command {
        Command::Submit { text: self.text.to_string(), mode: self.mode, images: self.images.clone() }
    }
}

/// A message to the person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoticeLine {
    pub level: Level,
    pub text: String,
}

/// A command that was sent and not answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    Prompt(Arc<str>),
    /// A command of the person's own, as it was written.
    Shell(String),
    /// A prompt in a request that was looked at.
    FrozenRequest(Arc<str>),
    Approval,
    /// A change to what is queued.
    Queue,
    Other,
}

/// How long a notice stays, in seconds, and how many are kept.
const NOTICE_SECONDS: u8 = 8;
const NOTICES_KEPT: usize = 200;

/// The interactive model. Read it freely; [`super::update()`] changes it.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each says one thing of its own; no two make a state")]
pub struct Model {
    pub directive: String,
    pub model: ModelRef,
    pub model_is_scripted: bool,
    pub project: String,
    pub size: (u16, u16),
    pub now: Timestamp,
    pub keymap: Keymap,
    pub thread: Option<ThreadId>,
    /// Whether somebody else wrote the log of the thread that is shown.
    pub elsewhere: bool,
    pub link: Link,
    /// What the worker last told.
    pub state: Option<State>,
    pub activity: Activity,
    pub transcript: Transcript,
    /// The colours of code in it.
    pub colours: Colours,
    pub position: Position,
    /// Blocks that came since the view is held.
    pub unseen: usize,
    /// Whether a block that was there grew since.
    pub unseen_growth: bool,
    pub details: bool,
    pub composer: Composer,
    pub completion: Completion,
    pub overlay: Option<Overlay>,
    /// Where the person reads; none while they write.
    pub reading: Option<Reading>,
    pub(super) pointer: Pointer,
    /// Calls that wait for the person.
    pub approvals: Approvals,
    pub threads: Vec<ThreadRow>,
    pub models: Vec<ModelChoice>,
    /// Whether the threads column is wanted; none leaves it to the width.
    pub panel: Option<bool>,
    pub themes: Vec<String>,
    pub theme: Option<String>,
    /// Whether the terminal's background is light, once it told.
    pub light: Option<bool>,
    /// The program should end.
    pub quitting: bool,
    /// The next press of the same key leaves, for so many seconds.
    pub leaving_seconds: u8,
    /// What was sent and is not confirmed.
    pub waits: Vec<PendingPrompt>,
    pub notices: VecDeque<NoticeLine>,
    /// How many there were in all.
    pub notices_said: usize,
    pub(super) history: History,
    pub(super) notice_seconds: u8,
    pub(super) sent: VecDeque<Sent>,
    /// The queue as the worker told it while changes to it were unanswered, and so perhaps from before them.
    pub(super) queue_told: Option<Vec<QueuedPrompt>>,
    /// Where the log ends as far as it was seen live.
    pub(super) log_end: u64,
    pub(super) older: Option<u64>,
    pub(super) loading_older: bool,
    pub(super) threads_loaded: bool,
    /// The threads that wait for the person's word on a call, the one on the screen too.
    pub(super) asking: Vec<ThreadId>,
    /// Those of them that were told.
    pub(super) asking_told: Vec<ThreadId>,
    /// Whether it is known that nobody runs the shown thread, as far as this screen has heard.
    pub(super) alone: bool,
    /// How old the row of the shown thread was when it was last found running all the same.
    pub(super) rejoined: Option<Timestamp>,
    pub(super) models_loaded: bool,
    pub(super) changed: bool,
    /// The last block a held view shows.
    pub(super) shown_through: Option<BlockId>,
    /// What a new thread tells its directive.
    pub inputs: Values,
    /// What is known of the directive on the screen, for a new thread of it.
    pub draft: Option<DirectiveChoice>,
    /// Whether a person chose that directive, so that it can begin without a prompt.
    pub(super) by_name: bool,
    pub browser: ContextBrowser,
    /// A form that was left, with what was written into it.
    pub(super) left_form: Option<InputForm>,
    pub(super) left_drafts: LeftDrafts,
    /// How the draft was to be sent when it was taken out of the queue.
    pub(super) taken_mode: Option<PromptMode>,
    /// The model of a new thread whose directive wishes for none.
    pub(super) usual: ModelRef,
}

impl Model {
    /// A model and what it wants done first.
    #[must_use]
    pub fn new(options: Options) -> (Self, Vec<Effect>) {
        let mut model = Self {
            inputs: Values::new(),
            elsewhere: false,
            draft: options.draft,
            by_name: options.by_name,
            browser: ContextBrowser::default(),
            left_form: None,
            left_drafts: LeftDrafts::new(),
            taken_mode: None,
            usual: options.model.clone(),
            directive: options.directive,
            model: options.model,
            model_is_scripted: options.model_is_scripted,
            project: options.project,
            size: options.size,
            now: options.now,
            keymap: options.keymap,
            thread: options.open.clone(),
            link: if options.open.is_some() { Link::Opening } else { Link::Draft },
            state: None,
            activity: Activity { phase: Phase::Idle, seconds: 0 },
            transcript: Transcript::default(),
            colours: Colours::default(),
            position: Position::Follow,
            unseen: 0,
            unseen_growth: false,
            details: false,
            composer: Composer::default(),
            completion: Completion::default(),
            overlay: None,
            reading: None,
            pointer: Pointer::default(),
            approvals: Approvals::default(),
            threads: Vec::new(),
            models: Vec::new(),
            panel: None,
            themes: options.themes,
            theme: options.theme,
            light: None,
            quitting: false,
            leaving_seconds: 0,
            waits: Vec::new(),
            notices: VecDeque::new(),
            notices_said: 0,
            history: History::default(),
            notice_seconds: 0,
            sent: VecDeque::new(),
            queue_told: None,
            log_end: 0,
            older: None,
            loading_older: false,
            threads_loaded: false,
            asking: Vec::new(),
            asking_told: Vec::new(),
            alone: false,
            rejoined: None,
            models_loaded: false,
            changed: true,
            shown_through: None,
        };
        model.composer.wrap(geometry::composer_width(&model));
        // What has a default need not be asked: the first words are a prompt.
        let misses = |choice: &DirectiveChoice| input::accept(&choice.inputs, Values::new()).is_err();
        if let Some(directive) = model.draft.clone().filter(misses) {
            model.ask_inputs(directive);
        }
        let mut effects: Vec<_> = options.open.map(|thread_id| Effect::Open { thread_id }).into_iter().collect();
        effects.push(Effect::LoadHistory);
        effects.extend(model.look_at_threads());
        (model, effects)
    }

    /// Whether something visible changed since this was last asked.
    pub fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    /// Whether something on the screen is not done: it goes on with every change, and [`super::Message::GoOn`] is one.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.sheet().is_some_and(RequestPage::is_behind)
    }

    /// Whether the screen shows time: while it does, [`super::Message::Second`] is wanted once a second.
    #[must_use]
    pub fn shows_time(&self) -> bool {
        let works = self.is_working() && self.activity.phase != Phase::Approval;
        works || self.notice_seconds > 0 || self.leaving_seconds > 0
    }

    /// Tells what time it is, for the ages in the list of threads.
    pub fn set_now(&mut self, now: Timestamp) {
        self.now = now;
    }

    /// Whether the thread is at work, so that a prompt would steer it.
    #[must_use]
    pub fn is_working(&self) -> bool {
        self.activity.phase != Phase::Idle
    }

    /// Whether nothing but a command of the person's is at work: a prompt need not wait for its end.
    #[must_use]
    pub fn runs_command_alone(&self) -> bool {
        matches!(&self.activity.phase, Phase::Tool(name) if matches!(name.as_str(), "!" | "!!"))
    }

    /// What waits to be used, oldest first: confirmed by the worker, then not yet.
    pub fn queued(&self) -> impl Iterator<Item = (&str, PromptMode)> {
        let confirmed = self.queue().iter().map(|prompt| (prompt.text.as_str(), prompt.mode));
        let waits = self.waits.iter().filter(|waits| waits.block.is_none());
        confirmed.chain(waits.map(|waits| (&*waits.text, waits.mode)))
    }

    #[must_use]
    pub fn queue(&self) -> &[QueuedPrompt] {
        self.state.as_ref().map_or(&[], |state| &state.queue)
    }

    /// The notice on the screen.
    #[must_use]
    pub fn notice(&self) -> Option<&NoticeLine> {
        self.notices.back().filter(|_| self.notice_seconds > 0)
    }

    /// What the pill of a held view counts.
    #[must_use]
    pub fn news(&self) -> usize {
        self.unseen + usize::from(self.unseen_growth)
    }

    pub(super) fn say(&mut self, level: Level, text: impl Into<String>) {
        self.notices.push_back(NoticeLine { level, text: text.into() });
        self.notices_said += 1;
        if self.notices.len() > NOTICES_KEPT {
            self.notices.pop_front();
        }
        self.notice_seconds = NOTICE_SECONDS;
        self.changed = true;
    }

    pub(super) fn enter(&mut self, phase: Phase) {
        if self.activity.phase == phase {
            return;
        }
        if self.activity.phase == Phase::Idle || phase == Phase::Idle {
            self.activity.seconds = 0;
        }
        self.activity.phase = phase;
        self.changed = true;
    }

    /// What holds while the draft has the keyboard, most particular first.
    #[must_use]
    pub fn composer_contexts(&self) -> Vec<Context> {
        let mut contexts = Vec::with_capacity(8);
        if !self.completion.entries.is_empty() {
            contexts.push(Context::Completion);
        }
        if self.is_armed() {
            contexts.push(Context::Answering);
        }
        if self.is_answering() && self.has_seen_call() {
            contexts.push(Context::Waiting);
        }
        if !self.approvals.is_empty() {
            contexts.push(Context::Approval);
        }
        if self.position != Position::Follow && self.composer.is_empty() {
            contexts.push(Context::Scrolled);
        }
        if self.is_working() {
            contexts.push(Context::Working);
        }
        if self.composer.is_empty() {
            contexts.push(Context::Empty);
        }
        contexts.extend([Context::Composer, Context::Text, Context::Anywhere]);
        contexts
    }

    /// What holds for the next key.
    #[must_use]
    pub fn contexts(&self) -> Vec<Context> {
        match &self.overlay {
            None => match &self.reading {
                None => self.composer_contexts(),
                Some(reading) if reading.search.as_ref().is_some_and(|search| search.writing) => {
                    vec![Context::Search, Context::Anywhere]
                }
                Some(_) => vec![Context::Reading, Context::Anywhere],
            },
            Some(Overlay::Picker(picker)) => match picker.kind.keys().filter(|_| !picker.filtering) {
                Some(Context::Layers) if self.shows_preview() => {
                    vec![Context::Preview, Context::Layers, Context::List, Context::Anywhere]
                }
                Some(keys) => vec![keys, Context::List, Context::Anywhere],
                None => vec![Context::Picker, Context::Anywhere],
            },
            Some(Overlay::Form(_)) => vec![Context::Form, Context::Text, Context::Anywhere],
            Some(Overlay::Pager(_)) => vec![Context::Pager, Context::Anywhere],
            Some(Overlay::RequestPage(sheet)) if sheet.is_searching() => vec![Context::Search, Context::Anywhere],
            Some(Overlay::RequestPage(_)) if self.shows_preview() => {
                vec![Context::Preview, Context::Sheet, Context::List, Context::Anywhere]
            }
            Some(Overlay::RequestPage(_)) => vec![Context::Sheet, Context::List, Context::Anywhere],
        }
    }
}
