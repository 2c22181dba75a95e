//! Everything the screen is a picture of.

use super::beside::Beside;
use super::code::Colours;
use super::completion::Completion;
use super::composer::Composer;
use super::context_browser::ContextBrowser;
use super::drafts::LeftDrafts;
use super::fork::Begun;
use super::form::InputForm;
use super::geometry;
use super::hearing::Hearing;
use super::history::History;
use super::layout::Position;
use super::message::{DirectiveChoice, Effect, Level, ModelChoice};
use super::notices::{NoticeLine, Notices};
use super::overlay::Overlay;
use super::peek::Peek;
use super::pointer::Pointer;
use super::request::Compared;
use super::request_page::RequestPage;
use super::thread_list::ThreadList;
use super::thread_view::{Phase, Sent, Standing, ThreadView};
use super::transcript::Transcript;
use crate::commands::{CommandId, Context, Keymap};
use crate::domain::event::PromptMode;
use crate::domain::{ModelRef, ThreadId, Timestamp, Values, input};
use std::time::Duration;

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
    /// What tells the prompts of this screen from those of any other: no two screens have the same.
    pub screen: String,
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
    /// The thread that is shown.
    pub view: ThreadView,
    /// What stands beside the conversation.
    pub beside: Beside,
    /// The thread that is looked into from the list.
    pub peek: Peek,
    /// The colours of code in it.
    pub colours: Colours,
    pub details: bool,
    pub composer: Composer,
    pub completion: Completion,
    pub overlay: Option<Overlay>,
    pub(super) pointer: Pointer,
    /// What was typed and is heard by extensions first.
    pub(super) hearing: Hearing,
    /// Counts the marks of an extension that stood in turn.
    pub indicator_ticks: usize,
    /// What somebody who is away is to be told of other threads.
    pub(super) calling: Option<String>,
    /// How the thread stood after the message before.
    pub(super) standing: Standing,
    pub threads: ThreadList,
    pub models: Vec<ModelChoice>,
    /// Whether the threads column is wanted; none leaves it to the width.
    pub panel: Option<bool>,
    /// What was last chosen from the palette, the newest first.
    pub(super) recent: Vec<CommandId>,
    pub themes: Vec<String>,
    pub theme: Option<String>,
    /// Whether the terminal's background is light, once it told.
    pub light: Option<bool>,
    /// The program should end.
    pub quitting: bool,
    /// The next press of the same key leaves, for so many seconds.
    pub leaving_seconds: u8,
    pub notices: Notices,
    pub(super) history: History,
    pub(super) models_loaded: bool,
    pub(super) changed: bool,
    /// Number of the newest command.
    commands: u64,
    pub(super) screen: String,
    /// What a new thread tells its directive.
    pub inputs: Values,
    /// What is known of the directive on the screen, for a new thread of it.
    pub draft: Option<DirectiveChoice>,
    /// Whether a person chose that directive, so that it can begin without a prompt.
    pub(super) by_name: bool,
    pub browser: ContextBrowser,
    /// A fork that is being opened.
    pub(super) begun: Option<Begun>,
    /// A fork whose first request is compared with that one.
    pub(super) awaited: Option<(ThreadId, Compared)>,
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
            draft: options.draft,
            by_name: options.by_name,
            browser: ContextBrowser::default(),
            beside: Beside::default(),
            peek: Peek::new(),
            begun: None,
            awaited: None,
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
            view: ThreadView::new(options.open.clone(), Transcript::default()),
            colours: Colours::default(),
            details: false,
            composer: Composer::default(),
            completion: Completion::default(),
            overlay: None,
            pointer: Pointer::default(),
            hearing: Hearing::default(),
            indicator_ticks: 0,
            calling: None,
            standing: Standing::default(),
            threads: ThreadList::default(),
            models: Vec::new(),
            panel: None,
            recent: Vec::new(),
            themes: options.themes,
            theme: options.theme,
            light: None,
            quitting: false,
            leaving_seconds: 0,
            notices: Notices::default(),
            history: History::default(),
            models_loaded: false,
            changed: true,
            commands: 0,
            screen: options.screen,
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
        let works = self.view.is_working() && self.view.activity.phase != Phase::Approval;
        let asks = matches!(&self.overlay, Some(Overlay::Dialog(panel)) if panel.open.ends.is_some());
        works || asks || self.notice().is_some() || self.leaving_seconds > 0
    }

    /// How long each mark of an extension stands, while several stand in turn on the screen: [`super::Message::IndicatorTick`] is wanted
    /// after that.
    #[must_use]
    pub fn indicator_interval(&self) -> Option<Duration> {
        let waits = matches!(self.view.activity.phase, Phase::Asking | Phase::Thinking | Phase::Writing);
        let is_shown = waits && !self.hides_working();
        let indicator = self.indicator().filter(|marks| marks.frames.len() > 1 && is_shown)?;
        Some(Duration::from_millis(indicator.interval_ms))
    }

    /// Tells what time it is, for the ages in the list of threads.
    pub fn set_now(&mut self, now: Timestamp) {
        self.now = now;
    }

    /// The notice on the screen.
    #[must_use]
    pub fn notice(&self) -> Option<&NoticeLine> {
        self.notices.shown()
    }

    pub(super) fn say(&mut self, level: Level, text: impl Into<String>) {
        self.notices.say(level, text.into());
        self.changed = true;
    }

    /// Takes back notices of what was mended: from the screen, and from the list.
    pub(super) fn unsay(&mut self, texts: &[String]) {
        self.changed |= self.notices.unsay(texts);
    }

    /// A number for the next command.
    pub(super) fn number(&mut self) -> u64 {
        self.commands += 1;
        self.commands
    }

    /// What the prompt is called that command `id` hands over.
    pub(super) fn prompt_name(&self, id: u64) -> String {
        format!("{}-{id}", self.screen)
    }

    /// The number of a command that is sent now; its answer will be known by it.
    pub(super) fn sending(&mut self, what: Sent) -> u64 {
        let id = self.number();
        self.view.sent.insert(id, what);
        id
    }

    pub(super) fn enter(&mut self, phase: Phase) {
        self.changed |= self.view.enter(phase);
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
        if self.is_answering() && self.view.has_seen_call() {
            contexts.push(Context::Waiting);
        }
        if !self.view.approvals.is_empty() {
            contexts.push(Context::Approval);
        }
        if self.view.position != Position::Follow && self.composer.is_empty() {
            contexts.push(Context::Scrolled);
        }
        if self.view.is_working() {
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
            None => match &self.view.reading {
                None => self.composer_contexts(),
                Some(reading) if reading.search.as_ref().is_some_and(|search| search.writing) => {
                    vec![Context::Search, Context::Anywhere]
                }
                Some(_) => vec![Context::Reading, Context::Anywhere],
            },
            Some(overlay) => overlay.contexts(self.shows_preview()),
        }
    }
}
