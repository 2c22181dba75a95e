//! What can be asked of a thread, and how it stands: the two ends of every conversation with one.

use super::background::BackgroundCommand;
use super::event::{Approve, CancelScope, PromptEvent, PromptMode, Timestamp};
use super::stage::Stage;
use super::{
    Attachment, CallId, ContentHash, Cost, DialogReply, DrawnKinds, Foreground, FrozenRequest, Gesture, Image,
    LayerChange, Limits, Looks, ModelRef, Moved, NumberedText, OfferedShortcut, OpenComponent, OpenDialog, Shown,
    Status, Suggested, ThreadId, ThreadKind, ToAttach, TodoList, Tokens, Waiting,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The longest id that a client gives to a prompt, in bytes.
pub const LONGEST_CLIENT_ID: usize = 64;

/// What may stand before the name of an extension's command, where another has the name alone: `/extension:NAME`.
pub const LONG_NAME: &str = "extension:";

/// What begins the id that an extension's message has in the place of a client's.
pub const EXTENSION_CLIENT: &str = "extension-";

/// What begins the id of a prompt that a program sends, and no person.
pub const PROGRAM_CLIENT: &str = "rpc-";

/// What a client can ask of a thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "snake_case")]
pub enum Command {
    Submit {
        text: String,
        mode: PromptMode,
        /// Images that go along, by their paths from the project's root.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        images: Vec<String>,
        /// Files, folders and threads that the text names, or texts that went along with it before.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<ToAttach>,
        /// What the client calls it, if it wants to know it again: the event that tells of it says so. No two prompts of a
        /// thread should have the same, and it has no more than [`LONGEST_CLIENT_ID`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        client: Option<String>,
    },
    /// Runs the command of an extension that this text names, as a prompt with it would; what names none is refused.
    RunCommand {
        text: String,
        /// As in [`Self::Submit`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        client: Option<String>,
    },
    /// Run a command of the person's own; with `shared` the model gets what it prints with the next prompt.
    Shell {
        command: String,
        shared: bool,
    },
    /// Sends the request that was looked at, with `text` as the newest prompt, or nothing: a thread that has gone on
    /// since, or works, refuses it.
    SubmitHeld {
        text: String,
        held: Box<FrozenRequest>,
        /// As in [`Self::Submit`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        client: Option<String>,
    },
    Withdraw {
        prompt: u64,
    },
    Cancel {
        scope: CancelScope,
    },
    /// Answers an approval. `args_hash` says which arguments were seen.
    Approve {
        id: u64,
        args_hash: ContentHash,
        decision: Approve,
        /// What the model is told with a refusal.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        said: Option<String>,
    },
    SetModel {
        model: ModelRef,
    },
    SetLimits {
        limits: Limits,
    },
    /// Call the thread so, whatever was said first.
    Rename {
        title: String,
    },
    /// List the thread apart, or with the others again.
    Archive {
        archived: bool,
    },
    /// Let older messages give way to a summary.
    Compact {
        /// What the summary is to look at.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instructions: Option<String>,
    },
    /// Tell what was said in a branch that was left in short, with the next prompt. Only an idle conversation does.
    SummariseBranch {
        /// The thread in which it was said.
        from: ThreadId,
        /// What was said, as text.
        text: String,
        /// What the summary is to look at.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instructions: Option<String>,
    },
    /// Call something that was said so, or nothing.
    Label {
        /// The place of its line in the log, as [`ExtensionEntry::Label`](super::ExtensionEntry::Label) names it.
        target: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
    },
    /// Let another thread go on with what is said here: now where it is idle, else before the next request.
    HandOff,
    /// Ask a command that runs beside the conversation to end.
    StopCommand {
        command: CallId,
    },
    /// End the worker; running work is cancelled first.
    Shutdown,
    /// Let queued prompts stand in this order, before those that are not named.
    Arrange {
        prompts: Vec<u64>,
    },
    /// Take what is queued now: it waits since the person stopped the thread.
    Release,
    /// Stand still before handlers that one of these means, from here on; for nothing of the kind with none.
    SetBreakpoints {
        breakpoints: Vec<Breakpoint>,
    },
    /// Go on from the breakpoint at which it stands.
    Resume {
        how: Resume,
    },
    /// Asks extensions before the person leaves the thread on their screen: an error says who does not want that.
    Leave {
        leaving: Leaving,
    },
    /// Takes the program that is to have a terminal; refused where another screen has it.
    TakeForeground {
        id: u64,
    },
    /// It has ended: with its exit code, or none where it was not run to its end.
    ForegroundOver {
        id: u64,
        code: Option<i32>,
    },
    /// Does something that extensions are to know of at once.
    Gesture {
        gesture: Gesture,
    },
    /// Runs what an extension offers under this key, as it writes it.
    PressShortcut {
        key: String,
    },
    /// Answers what an extension asks; dismisses it without a reply.
    AnswerDialog {
        id: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reply: Option<DialogReply>,
    },
}

/// Where a person goes from a thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "to", rename_all = "snake_case")]
pub enum Leaving {
    /// To a thread that begins.
    New,
    Open {
        thread_id: ThreadId,
    },
    /// To a fork at what was said there, in it or in another thread of its conversation.
    Entry {
        thread_id: ThreadId,
        entry: String,
        /// Whether what is left behind is told in short.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        summarised: bool,
    },
    /// To a fork of it.
    Fork {
        /// So many prompts from its end; behind all of them without.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        back: Option<usize>,
    },
}

/// Where the pipeline stands still, so that somebody can look at a value before a handler gets it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breakpoint {
    pub stage: Stage,
    /// Before this handler; before each of the stage without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handler: Option<String>,
    /// Only where the value, as JSON, contains this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
}

impl Breakpoint {
    /// Whether it means this handler with this value.
    #[must_use]
    pub fn is_at(&self, stage: Stage, handler: &str, event: &Value) -> bool {
        let named = self.handler.as_deref().is_none_or(|named| named == handler);
        let holds = || self.contains.as_ref().is_none_or(|text| event.to_string().contains(text.as_str()));
        self.stage == stage && named && holds()
    }
}

/// How it goes on from a breakpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum Resume {
    /// With the handler, which gets `value` in the place of what it would have got.
    Continue {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<Value>,
    },
    /// The same, and it stands still again before the next handler, whichever that is.
    Step,
    /// Without this handler.
    Skip,
    /// Not at all: what was on its way stays where it was.
    Abort,
}

/// What handlers of a thread do now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handling {
    pub stage: Stage,
    pub handler: String,
    /// Since when.
    pub since: Timestamp,
    /// It stands still at a breakpoint; the value is in the content store under this hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<ContentHash>,
}

/// How the thread stands, for status lines and lists.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    pub status: Status,
    pub waiting: Option<Waiting>,
    pub kind: ThreadKind,
    pub directive: String,
    pub model: ModelRef,
    pub cost: Cost,
    pub limits: Limits,
    /// Estimate of the next request without a prompt; nothing before the first.
    pub context: Tokens,
    /// Size of the model's window, where known.
    pub window: Option<Tokens>,
    /// What is queued, oldest first.
    pub queue: Vec<QueuedPrompt>,
    /// Calls that wait for a person, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<Approval>,
    /// The steps of its work, where it wrote some down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub todo: Option<TodoList>,
    /// Commands that run beside the conversation, and the last that did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub background: Vec<BackgroundCommand>,
    /// The handler of the pipeline that is waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handling: Option<Handling>,
    /// Where it stands still before handlers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub breakpoints: Vec<Breakpoint>,
    /// What extensions of the thread ask, show and offer.
    #[serde(flatten)]
    pub extensions: Box<OfExtensions>,
}

/// What extensions of a thread ask, show and offer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OfExtensions {
    /// What they ask, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dialogs: Vec<OpenDialog>,
    /// What they show.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shown: Vec<Shown>,
    /// What they put into the draft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggested: Option<Suggested>,
    /// Where they lead the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<Moved>,
    /// What they call a person for who looks elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calling: Option<NumberedText>,
    /// What they want on the person's clipboard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copied: Option<NumberedText>,
    /// Their commands: `/NAME` runs one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<OfferedCommand>,
    /// Keys that run something of theirs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shortcuts: Vec<OfferedShortcut>,
    /// Their components, the last one above the others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub components: Vec<OpenComponent>,
    /// Whether they want to be asked before the person leaves the thread.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub guards_leaving: bool,
    /// Whether there are extensions, which draw for a screen of a size.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub draws: bool,
    /// Whether they complete drafts beyond the arguments of their commands.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub completes: bool,
    /// The theme that they chose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub theme: Option<NumberedText>,
    /// A program of theirs that waits for a terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreground: Option<Foreground>,
    /// What of the conversation they draw.
    #[serde(default, skip_serializing_if = "DrawnKinds::is_none")]
    pub drawn: DrawnKinds,
    /// How they have the thread shown.
    #[serde(default, skip_serializing_if = "Looks::are_own")]
    pub looks: Looks,
}

/// A command that an extension offers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedCommand {
    /// Without the `/`.
    pub name: String,
    pub about: String,
    /// Whether it says what its arguments can be.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub completes: bool,
}

/// A call that waits until a person allows or denies it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Approval {
    /// Counts from 1 within the thread.
    pub id: u64,
    pub call_id: CallId,
    /// The name the model used.
    pub tool: String,
    /// The item it means.
    pub item: String,
    /// What is allowed with it.
    pub capability: String,
    /// Names tool and arguments: an answer that carries another one is refused.
    pub args_hash: ContentHash,
    pub input: serde_json::Value,
    /// What the call would change, where the arguments do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// It runs in a sandbox, with what it asks for beside.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub confined: bool,
    /// Why a person is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// A prompt that has not reached the model yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueuedPrompt {
    pub prompt: u64,
    pub text: String,
    pub mode: PromptMode,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// Texts that go along; without the texts themselves where clients are told of the queue.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Attachment>,
    /// What the client that sent it calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
}

/// What the thread is made of that goes on with another, beside what that one was: same directive, inputs, place in the tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Successor {
    pub model: ModelRef,
    pub limits: Limits,
    /// What a person wants otherwise in its requests.
    pub changes: Vec<LayerChange>,
    /// Its first messages: a [`super::ContextEvent::ContextInherited`].
    pub inherited: super::ContextEvent,
    /// What it has to do, in this order.
    pub prompts: Vec<QueuedPrompt>,
    /// What a person called it, or said first.
    pub title: Option<String>,
    /// What the other one keeps under names.
    pub state: super::StateStore,
}

impl QueuedPrompt {
    /// The prompt that this event queues.
    #[must_use]
    pub fn of(event: &PromptEvent) -> Option<Self> {
        let PromptEvent::PromptQueued { prompt, text, mode, images, files, client } = event else { return None };
        let (images, files, client) = (images.clone(), files.clone(), client.clone());
        Some(Self { prompt: *prompt, text: text.clone(), mode: *mode, images, files, client })
    }

    /// Follows what was queued, and what became of it.
    pub fn follow(queue: &mut Vec<Self>, event: &PromptEvent) {
        match event {
            PromptEvent::PromptQueued { .. } => queue.extend(Self::of(event)),
            PromptEvent::PromptWithdrawn { prompt, .. }
            | PromptEvent::PromptHandled { prompt, .. }
            | PromptEvent::CognitionIn { prompt: Some(prompt), .. } => {
                queue.retain(|queued| queued.prompt != *prompt);
            }
            PromptEvent::QueueArranged { prompts } => {
                let place = |queued: &Self| prompts.iter().position(|prompt| *prompt == queued.prompt);
                queue.sort_by_key(|queued| place(queued).unwrap_or(usize::MAX));
            }
            PromptEvent::QueueReleased {}
            | PromptEvent::PromptPrepared { .. }
            | PromptEvent::CognitionIn { prompt: None, .. } => {}
        }
    }

    /// The same without the texts that go along, for those who only tell of it.
    #[must_use]
    pub fn without_texts(&self) -> Self {
        Self { files: self.files.iter().map(Attachment::without_text).collect(), ..self.clone() }
    }
}
