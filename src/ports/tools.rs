//! Running a tool call.

use crate::domain::background::{BackgroundCommand, CommandsAsked};
use crate::domain::event::Process;
use crate::domain::{
    CallId, ContentHash, Cost, Image, KnownTool, Parent, Persona, StateStore, Status, ThreadId, ToolCall,
};
use serde_json::{Map, Value};
use std::future::{Future, ready};
use std::pin::Pin;

/// What a tool gave back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolOutcome {
    /// The text the model sees.
    pub output: String,
    /// The failure in a few words, when it failed.
    pub error: Option<String>,
}

impl ToolOutcome {
    /// A failure that the model and people read alike.
    #[must_use]
    pub fn failed(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { output: text.clone(), error: Some(text) }
    }
}

/// What a call's commands may reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// Whatever the person may.
    Open,
    /// What a sandbox leaves.
    Sandbox,
}

/// Something that has to wait.
pub type Waiting<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Where nobody keeps a log of children.
const CHILDLESS: &str = "no threads can be started from here";

/// Where nobody keeps values for a thread.
const STATELESS: &str = "no state of a thread can be reached from here";

/// Told what a tool does while it runs.
pub trait ToolListener: Send + Sync {
    /// More of its output, for people who watch. What comes faster than it can be shown may be left out.
    fn said(&self, text: String);

    /// A process has been made and waits. It may begin where this answers true: then it is in the log and can be ended
    /// whatever happens to us.
    fn started(&self, process: Process) -> Waiting<'_, bool>;

    /// What the thread hands on to a child.
    ///
    /// # Errors
    /// Why it may start none, in a sentence.
    fn parent(&self) -> Waiting<'_, Result<Parent, String>> {
        Box::pin(ready(Err(CHILDLESS.to_owned())))
    }

    /// The thread starts a child, which is made and does nothing yet. It may begin where this succeeds: then it is in the
    /// log of its parent.
    ///
    /// # Errors
    /// Why it may not begin, in a sentence.
    fn starts_child(&self, _child: ThreadId, _directive: String, _waits: bool) -> Waiting<'_, Result<(), String>> {
        Box::pin(ready(Err(CHILDLESS.to_owned())))
    }

    /// A child that was waited for has ended, or waits for a person itself. In the log once this is over.
    fn child_ended(&self, _child: ThreadId, _status: Status, _cost: Cost) -> Waiting<'_, ()> {
        Box::pin(ready(()))
    }

    /// The thread takes on a persona, or puts its own off. In the log once this is over.
    fn becomes(&self, persona: Option<Persona>) -> Waiting<'_, ()>;

    /// A file below the project is about to be changed, and what it holds is kept: see `file_checkpointed`. It may be changed
    /// where this succeeds: then that is in the log.
    ///
    /// # Errors
    /// Why it may not be changed, in a sentence.
    fn checkpoint(
        &self,
        _path: String,
        _before: Option<ContentHash>,
        _after: ContentHash,
    ) -> Waiting<'_, Result<(), String>> {
        Box::pin(ready(Ok(())))
    }

    /// The result will show this image, which is in the content store. In the log once this is over.
    ///
    /// # Errors
    /// Why it shows none, in words that end a sentence.
    fn shows(&self, _image: Image) -> Waiting<'_, Result<(), String>> {
        Box::pin(ready(Err("nobody would see it".to_owned())))
    }

    /// The thread keeps these values under their names; null takes one away. Answers with all that it keeps then, which is
    /// in the log.
    ///
    /// # Errors
    /// Why nothing changed, in a sentence.
    fn keeps(&self, _values: Map<String, Value>) -> Waiting<'_, Result<StateStore, String>> {
        Box::pin(ready(Err(STATELESS.to_owned())))
    }

    /// The thread starts a command that goes on beside its conversation: [`ToolRunner::background`] runs it with `input`. Answers with
    /// its name, which is in the log.
    ///
    /// # Errors
    /// Why it may not begin, in a sentence.
    fn starts_command(&self, _command: String, _input: Value, _confined: bool) -> Waiting<'_, Result<CallId, String>> {
        Box::pin(ready(Err(COMMANDLESS.to_owned())))
    }

    /// How the thread's commands stand, now or after what is asked.
    ///
    /// # Errors
    /// Why it is not known, in a sentence: there is no command of that name.
    fn commands(&self, _asked: CommandsAsked) -> Waiting<'_, Result<Vec<BackgroundCommand>, String>> {
        Box::pin(ready(Err(COMMANDLESS.to_owned())))
    }
}

/// Where nobody keeps commands for a thread.
const COMMANDLESS: &str = "no commands can run beside the conversation from here";

/// Keeps texts under their hash, and reads them back.
pub trait KeptResults: std::fmt::Debug + Send + Sync {
    /// Keeps these bytes; they are on disk when this returns.
    ///
    /// # Errors
    /// Why they could not be kept, in a sentence.
    fn keep(&self, bytes: &[u8]) -> Result<ContentHash, String>;

    /// The text whose hash begins with `prefix`; `None` where there is none, or more than one.
    ///
    /// # Errors
    /// Why it cannot be read, in a sentence.
    fn result(&self, prefix: &str) -> Result<Option<String>, String>;
}

/// A command that a person gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnCommand {
    /// What is kept of it goes under this name.
    pub call_id: CallId,
    pub command: String,
    /// Whether the model is told of it with the next prompt.
    pub shared: bool,
}

/// A command that runs beside the conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct BackgroundCall {
    /// Its name.
    pub name: CallId,
    /// What the call said that started it.
    pub input: Value,
    pub isolation: Isolation,
}

/// Runs tool calls.
pub trait ToolRunner: Send + Sync {
    /// Every tool there is, in the order in which they are offered, each with a name of its own. Whether a thread may use
    /// one is not decided here.
    fn tools(&self) -> Vec<KnownTool> {
        Vec::new()
    }

    /// The tool that reads back results that were cut. It is told of in threads that have some, and needs no grant.
    fn reader(&self) -> Option<KnownTool> {
        None
    }

    /// The tool that looks after commands beside the conversation. It is told of in threads that have some, and needs no grant.
    fn command_tool(&self) -> Option<KnownTool> {
        None
    }

    /// Whether a call of this tool, which may run beside others, leaves nothing behind whatever becomes of its answer, not even what later
    /// calls are held against: then it may begin before the answer that asks for it is whole.
    fn may_begin_early(&self, _item: &str) -> bool {
        false
    }

    /// Whether the tool of this item mends arguments of another shape than its own. Fast: it is asked on the loop.
    fn mends(&self, _item: &str) -> bool {
        false
    }

    /// The arguments of a call of `item` as its tool wants them, where it [mends](Self::mends) them. Asked before anything is
    /// decided about the call, so it leaves nothing behind.
    ///
    /// # Errors
    /// Why the tool can do nothing with them, in a sentence.
    fn mended<'a>(&'a self, _item: &'a str, call: &'a ToolCall) -> Waiting<'a, Result<Value, String>> {
        Box::pin(ready(Ok(call.input.clone())))
    }

    /// Capabilities that this call of `item` needs beside the tool's own, each granted by its own name only.
    fn guarded<'a>(&'a self, _item: &'a str, _call: &'a ToolCall) -> Waiting<'a, Vec<String>> {
        Box::pin(ready(Vec::new()))
    }

    /// What a person should see before they allow this call of `item`, where the arguments do not say it: how a file
    /// would change.
    fn preview<'a>(&'a self, _item: &'a str, _call: &'a ToolCall) -> Waiting<'a, Option<String>> {
        Box::pin(ready(None))
    }

    /// Runs a call of `item`. Dropping the future stops the tool with everything it started.
    fn run<'a>(
        &'a self,
        item: &'a str,
        call: &'a ToolCall,
        isolation: Isolation,
        listener: &'a dyn ToolListener,
    ) -> Waiting<'a, ToolOutcome>;

    /// Runs a command that a person gave, until `stop` is over: then it is ended in order. Dropping the future stops it
    /// with everything it started.
    fn shell<'a>(
        &'a self,
        _own: &'a OwnCommand,
        _stop: Waiting<'a, ()>,
        _listener: &'a dyn ToolListener,
    ) -> Waiting<'a, ToolOutcome> {
        Box::pin(ready(ToolOutcome::failed("There is no shell here.")))
    }

    /// Runs a command beside the conversation, until `stop` is over: then it is ended in order. Dropping the future stops it with
    /// everything it started.
    fn background<'a>(
        &'a self,
        _command: &'a BackgroundCall,
        _stop: Waiting<'a, ()>,
        _listener: &'a dyn ToolListener,
    ) -> Waiting<'a, ToolOutcome> {
        Box::pin(ready(ToolOutcome::failed("There is no shell here.")))
    }
}
