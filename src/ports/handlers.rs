//! Who is asked at the stages of the pipeline: handlers written as files, extensions in JavaScript, those of a test.

use super::ThreadAccess;
use super::tools::Waiting;
use crate::domain::{
    Drawing, DrawnKinds, Gesture, HandlerPlace, Leaving, OfferedCommand, OfferedShortcut, Piece, Role, Saw,
    SessionTold, Stage, StageValue, State, Suggestion, Timestamp, ToComplete, ToDraw, ToolCall,
};
use serde_json::Value;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a handler may take where it does not say.
pub const DEADLINE: Duration = Duration::from_secs(10);

/// A handler of one stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handler {
    /// What people call it.
    pub id: String,
    pub stage: Stage,
    pub place: Option<HandlerPlace>,
    pub deadline: Duration,
    /// Whether asking it runs something beside the program: then it is not asked for an estimate.
    pub runs: bool,
}

/// What a handler is asked.
#[derive(Clone, Debug)]
pub struct HandlerCall {
    /// The event of the stage. As long as nobody changes it, all handlers are given the same.
    pub event: StageValue,
    /// What is known of the thread, for conditions.
    pub facts: Value,
    /// Somebody only looks at what would be sent: nothing may be left behind.
    pub preview: bool,
    /// When the value that it is about began its way through the handlers of the stage.
    pub since: Instant,
}

/// What a handler answers.
#[derive(Clone, Debug, PartialEq)]
pub enum HandlerReply {
    /// Its condition does not hold.
    NotAsked { saw: Vec<Saw> },
    /// It may not run here, for this reason.
    Refused { reason: String },
    /// What it says; null is no opinion.
    Answer {
        value: StageValue,
        saw: Vec<Saw>,
        /// What it printed beside that.
        said: String,
    },
}

/// What became of `/skill:NAME` or `/NAME`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expansion {
    pub stage: Stage,
    /// The skill or template.
    pub name: String,
    pub place: HandlerPlace,
    /// What the prompt is now.
    pub text: String,
    /// Who was asked for it, in words; nothing where it is the text of the file.
    pub said: String,
}

/// Why nothing stands for the name of a skill or a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotExpanded {
    /// It cannot be read. The text is used as it is.
    AsWritten(String),
    /// Who has its text did not give it, or what was written does not fit it. Nothing is sent, and the person keeps what they
    /// wrote.
    GivenBack(String),
}

/// Everybody who is asked in a thread.
pub trait Handlers: Send + Sync {
    /// Those of one stage, in the order in which they are asked. Fast: it is asked on the loop.
    fn at(&self, stage: Stage) -> Vec<Handler>;

    /// Whether there are any at a stage: asked while an answer arrives, for every batch of it.
    fn listens(&self, stage: Stage) -> bool {
        !self.at(stage).is_empty()
    }

    /// The thread in which they are asked, before it begins.
    fn join(&self, _thread: Arc<dyn ThreadAccess>) {}

    /// How the thread stands from here on. Fast: it is told on the loop, and often.
    fn changed(&self, _state: &State) {}

    /// What the system text of the thread consists of from here on, before any of them changes it. Fast: it is told on the
    /// loop.
    fn planned(&self, _system: &[Piece]) {}

    /// A thread or a prompt begins: what was saved since the last one counts from here on, and what has to be loaded for it
    /// is, unless nothing may run now. Where nothing was saved, it reads no more than that.
    fn ready(&self, _runs: bool) -> Waiting<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// What people should know of those that are not as they are written, each once.
    fn news(&self) -> Vec<String> {
        Vec::new()
    }

    /// What those who are asked before room is made know of the session: with the entries of these prompts and answers, and what
    /// these calls did with files.
    fn session(&self, _said: Vec<(Role, Timestamp)>, _calls: Vec<ToolCall>) -> Waiting<'_, SessionTold> {
        Box::pin(std::future::ready(SessionTold::default()))
    }

    /// Asks one of them. Losing the future ends it, with all that it started.
    ///
    /// # Errors
    /// What went wrong, in words.
    fn ask<'a>(&'a self, handler: &'a Handler, call: &'a HandlerCall) -> Waiting<'a, Result<HandlerReply, String>>;

    /// The commands of extensions.
    fn commands(&self) -> Vec<OfferedCommand> {
        Vec::new()
    }

    /// The keys that run something of theirs.
    fn shortcuts(&self) -> Vec<OfferedShortcut> {
        Vec::new()
    }

    /// Whether there are extensions, which may draw something.
    fn has_extensions(&self) -> bool {
        false
    }

    /// What of the conversation they draw.
    fn drawn(&self) -> DrawnKinds {
        DrawnKinds::default()
    }

    /// How they draw something of the conversation.
    fn drawing(&self, _to_draw: ToDraw) -> Waiting<'_, Drawing> {
        Box::pin(std::future::ready(Drawing::default()))
    }

    /// Whether they complete drafts beyond the arguments of their commands.
    fn completes(&self) -> bool {
        false
    }

    /// What they say that can complete a draft.
    fn completions(&self, _draft: ToComplete) -> Waiting<'_, Vec<Suggestion>> {
        Box::pin(std::future::ready(Vec::new()))
    }

    /// What becomes of something that a person typed at a terminal, before the screen does anything with it; none where one took it.
    fn typed(&self, data: String) -> Waiting<'_, Option<String>> {
        Box::pin(std::future::ready(Some(data)))
    }

    /// Whether somebody wants to be asked before a person leaves the thread.
    fn guards_leaving(&self) -> bool {
        false
    }

    /// Asks before a person leaves the thread; who does not want that, in a sentence.
    fn may_leave(&self, _leaving: Leaving) -> Waiting<'_, Result<(), String>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// A person does something that they are to know of at once. Fast: it is told on the loop.
    fn gesture(&self, _gesture: Gesture) {}

    /// Runs what one offers under a key. Losing the future ends it, with all that it started.
    ///
    /// # Errors
    /// What went wrong, in words.
    fn shortcut(&self, key: String) -> Waiting<'_, Result<(), String>> {
        Box::pin(std::future::ready(Err(format!("{key} runs nothing"))))
    }

    /// Runs one of them. Losing the future ends it, with all that it started.
    ///
    /// # Errors
    /// What went wrong, in words.
    fn command(&self, name: String, _arguments: String) -> Waiting<'_, Result<(), String>> {
        Box::pin(std::future::ready(Err(format!("there is no command {name}"))))
    }

    /// The text of the skill or template that `text` names, which begins with `/`; none where it names none. Where it is a
    /// prompt of an MCP server, that is asked, unless nothing may run now: then there is none. Losing the future ends the asking.
    ///
    /// # Errors
    /// [`NotExpanded`]
    fn expand(&self, _text: String, _runs: bool) -> Waiting<'_, Result<Option<Expansion>, NotExpanded>> {
        Box::pin(std::future::ready(Ok(None)))
    }
}

/// There are none.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHandlers;

impl Handlers for NoHandlers {
    fn at(&self, _stage: Stage) -> Vec<Handler> {
        Vec::new()
    }

    fn ask<'a>(&'a self, _handler: &'a Handler, _call: &'a HandlerCall) -> Waiting<'a, Result<HandlerReply, String>> {
        Box::pin(std::future::ready(Err("there is no such handler".to_owned())))
    }
}
