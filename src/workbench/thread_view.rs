//! One thread as it is shown: what its log, its worker and the person at it have said, and where it is looked at. Another
//! thread has a view of its own, made from nothing.

use super::approval::Approvals;
use super::component::{AskedDrawing, Components};
use super::dialog::Dialogs;
use super::fork::ForkAsked;
use super::layout::Position;
use super::search::Reading;
use super::suggestions::Suggestions;
use super::transcript::{BlockId, Kind, Transcript};
use crate::domain::background::BackgroundCommand;
use crate::domain::command::{Breakpoint, Handling};
use crate::domain::event::PromptMode;
use crate::domain::{Event, Foreground, Record, RequestEvent, ThreadId, Timestamp, ToAttach, TodoList};
use crate::worker::protocol::{Command, QueuedPrompt, State};
use std::collections::BTreeMap;
use std::sync::Arc;

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

/// How the thread on the screen stands, as far as somebody who is away wants to know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Standing {
    #[default]
    Rests,
    Works,
    Asks,
    Failed,
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
    /// Number of the command that hands it over, and what the prompt is called to the worker.
    pub(super) id: u64,
    pub(super) client: String,
    pub text: Arc<str>,
    pub mode: PromptMode,
    pub(super) images: Vec<String>,
    pub(super) files: Vec<ToAttach>,
    /// Its block in the transcript; without one it is shown above the draft.
    pub(super) block: Option<BlockId>,
    /// Not handed over yet: it is sent when the worker listens.
    pub(super) held: bool,
    /// The worker's number of it, once it is in the log; then it is not said yet.
    pub(super) prompt: Option<u64>,
}

impl PendingPrompt {
    pub(super) fn command(&self) -> Command {
        let (text, images, files) = (self.text.to_string(), self.images.clone(), self.files.clone());
        Command::Submit { text, mode: self.mode, images, files, client: Some(self.client.clone()) }
    }
}

/// What a command was that was sent and not answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    Prompt,
    /// A command of the person's own, as it was written.
    Shell(String),
    /// A prompt in a request that was looked at.
    FrozenRequest,
    Approval,
    /// A change to what is queued.
    Queue,
    /// Where the person goes if extensions let them.
    Leave(Destination),
    /// How extensions draw something.
    Drawing,
    /// What they say that completes the draft.
    Suggestions,
    /// What they make of something that was typed.
    Typed,
    /// What is written, for them to know.
    Draft,
    /// A program of an extension that is to have the terminal.
    Foreground(Box<Foreground>),
    Other,
}

/// Where a person goes from a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Destination {
    New,
    Open(ThreadId),
    /// To a fork that is to be made.
    Fork(ForkAsked),
}

/// What belongs to the one thread that is shown. What is of the screen, such as the draft, stays when another is shown.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each says one thing of its own; no two make a state")]
pub struct ThreadView {
    /// None before the first prompt of a new one.
    pub thread: Option<ThreadId>,
    /// The thread that started it.
    pub parent: Option<ThreadId>,
    /// The thread that it continues.
    pub previous: Option<ThreadId>,
    /// The thread that continues it.
    pub successor: Option<ThreadId>,
    /// Whether somebody else wrote its log.
    pub elsewhere: bool,
    pub link: Link,
    /// What the worker last told.
    pub state: Option<State>,
    /// The steps of its work, as far as the log that was read and the worker tell.
    pub(super) todo: Option<TodoList>,
    /// Where its pipeline pauses, as this screen set it.
    pub breakpoints: Vec<Breakpoint>,
    /// What was done about questions of extensions.
    pub(super) dialogs: Dialogs,
    pub(super) components: Components,
    /// The drawing of an extension that is waited for.
    pub(super) asked_drawing: Option<AskedDrawing>,
    pub(super) suggestions: Suggestions,
    pub activity: Activity,
    /// What stopped the thread without the person asking for it, in words that follow its name; none once it goes on.
    pub(super) stopped: Option<&'static str>,
    /// When the work began that goes on, as far as the log tells.
    pub(super) works_since: Option<Timestamp>,
    pub transcript: Transcript,
    pub position: Position,
    /// Blocks that came since the view is held.
    pub unseen: usize,
    /// Whether a block that was there grew since.
    pub unseen_growth: bool,
    /// The last block a held view shows.
    pub(super) shown_through: Option<BlockId>,
    /// Where the person reads; none while they write.
    pub reading: Option<Reading>,
    /// Calls that wait for the person.
    pub approvals: Approvals,
    /// What was sent and is not confirmed.
    pub waits: Vec<PendingPrompt>,
    /// Commands that were sent and not answered, by their numbers.
    pub(super) sent: BTreeMap<u64, Sent>,
    /// The queue as the worker told it while changes to it were unanswered, and so perhaps from before them.
    pub(super) queue_told: Option<Vec<QueuedPrompt>>,
    /// Where the log ends as far as it was seen live.
    pub(super) log_end: u64,
    /// Where the oldest loaded page of the log begins; none when that is its beginning.
    pub(super) older: Option<u64>,
    pub(super) loading_older: bool,
    /// Whether it is known that nobody runs the thread, as far as this screen has heard.
    pub(super) alone: bool,
    /// How old its row was when it was last found running all the same.
    pub(super) rejoined: Option<Timestamp>,
}

impl ThreadView {
    /// A view of a thread whose log is to be read, or of a new one. `transcript` is empty.
    pub(super) fn new(thread: Option<ThreadId>, transcript: Transcript) -> Self {
        Self {
            link: if thread.is_some() { Link::Opening } else { Link::Draft },
            thread,
            parent: None,
            previous: None,
            successor: None,
            elsewhere: false,
            state: None,
            todo: None,
            breakpoints: Vec::new(),
            dialogs: Dialogs::default(),
            components: Components::default(),
            asked_drawing: None,
            suggestions: Suggestions::default(),
            activity: Activity { phase: Phase::Idle, seconds: 0 },
            stopped: None,
            works_since: None,
            transcript,
            position: Position::Follow,
            unseen: 0,
            unseen_growth: false,
            shown_through: None,
            reading: None,
            approvals: Approvals::default(),
            waits: Vec::new(),
            sent: BTreeMap::new(),
            queue_told: None,
            log_end: 0,
            older: None,
            loading_older: false,
            alone: false,
            rejoined: None,
        }
    }

    /// A view of another thread, or of a new one. Its blocks share no id with this one's.
    pub(super) fn successor(&self, thread: Option<ThreadId>) -> Self {
        Self::new(thread, self.transcript.successor())
    }

    /// Whether it is of this thread.
    #[must_use]
    pub fn is_of(&self, thread_id: &ThreadId) -> bool {
        self.thread.as_ref() == Some(thread_id)
    }

    /// Takes over what the thread does now; whether it did something else before.
    pub(super) fn enter(&mut self, phase: Phase) -> bool {
        if self.activity.phase == phase {
            return false;
        }
        if self.activity.phase == Phase::Idle || phase == Phase::Idle {
            self.activity.seconds = 0;
        }
        self.activity.phase = phase;
        true
    }

    /// Whether a line of the log that comes live is news to it. Where a request begins in the log is remembered, and what
    /// is far above let go of.
    pub(super) fn takes(&mut self, record: &Record, offset: u64, next_offset: u64) -> bool {
        if offset < self.log_end {
            return false;
        }
        self.log_end = next_offset;
        if matches!(record.event, Event::Request(RequestEvent::RequestRecorded { .. })) {
            self.transcript.turn_at(offset);
            if self.position == Position::Follow
                && let Some(older) = self.transcript.let_go()
            {
                self.older = Some(older);
            }
        }
        true
    }

    /// Lets the transcript change at its end, and counts what a held view does not show; whether what is seen changes.
    pub(super) fn grow(&mut self, change: impl FnOnce(&mut Transcript)) -> bool {
        let (before, news) = (self.transcript.len(), self.news());
        change(&mut self.transcript);
        if self.position == Position::Follow {
            return true;
        }
        self.unseen += self.transcript.len().saturating_sub(before);
        self.unseen_growth |= self.unseen == 0;
        // Text that grows below a held view changes nothing that is seen.
        let growing = self.transcript.iter().next_back().map(|block| block.id);
        self.news() != news || growing <= self.shown_through
    }

    /// Whether the thread is at work, so that a prompt would steer it.
    #[must_use]
    pub fn is_working(&self) -> bool {
        self.activity.phase != Phase::Idle
    }

    /// The handler of the pipeline that is waited for, or stood before.
    #[must_use]
    pub fn handling(&self) -> Option<&Handling> {
        // What a worker told that is gone is over.
        self.state.as_ref().filter(|_| self.link == Link::Connected)?.handling.as_ref()
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

    /// The to-do list, while something on it is left to do.
    #[must_use]
    pub fn open_tasks(&self) -> Option<&TodoList> {
        self.todo.as_ref().filter(|list| list.is_open())
    }

    /// Commands that run beside the conversation, as far as its worker has told.
    pub fn background(&self) -> impl Iterator<Item = &BackgroundCommand> {
        self.state.iter().flat_map(|state| &state.background).filter(|command| command.runs())
    }

    #[must_use]
    pub fn queue(&self) -> &[QueuedPrompt] {
        self.state.as_ref().map_or(&[], |state| &state.queue)
    }

    /// Whether a worker of the thread listens, or can be started.
    pub(super) fn can_be_told(&self) -> bool {
        matches!(self.link, Link::Connected | Link::Resting) && !self.elsewhere
    }

    /// Whether this prompt has its place in the transcript, though it is not said yet.
    pub(super) fn has_block_of(&self, prompt: u64) -> bool {
        self.waits.iter().any(|waits| waits.block.is_some() && waits.prompt == Some(prompt))
    }

    /// What the pill of a held view counts.
    #[must_use]
    pub fn news(&self) -> usize {
        self.unseen + usize::from(self.unseen_growth)
    }

    /// Whether the newest part of the transcript is text that is being written.
    #[must_use]
    pub fn is_writing(&self) -> bool {
        self.transcript
            .iter()
            .next_back()
            .is_some_and(|block| matches!(&block.kind, Kind::Answer(answer) if answer.ended.is_none()))
    }
}
