//! What extensions can ask of their thread beside answering its stages: a person, and whatever a person could ask.

use super::provider::Provider;
use super::tools::Waiting;
use crate::domain::event::StopReason;
use crate::domain::{
    Command, Dialog, DialogReply, ExtensionEntry, ForegroundProgram, Insertion, Look, Message, ModelRef, Money, MoveTo,
    OpenComponent, Shown, ToolCall, ToolSpec, Usage,
};
use serde_json::Value;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A call of a model beside those of a thread.
#[derive(Clone, Debug)]
pub struct ModelCall {
    /// The extension that makes it, for people.
    pub from: String,
    pub model: ModelRef,
    pub system: String,
    /// In the form in which handlers get them.
    pub messages: Vec<Value>,
    /// The tools that the model is told of. What it calls is for who asked.
    pub tools: Vec<ToolSpec>,
    /// Tokens of the answer, where there is a wish.
    pub most_output: Option<u64>,
    /// Whom it asks for an answer of its own, which counts as that.
    pub within: Option<Within>,
}

/// Whom an extension asks whose code answers in the place of a server.
#[derive(Clone)]
pub struct Within(pub Arc<dyn Provider>);

impl fmt::Debug for Within {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Within").field(&self.0.endpoint()).finish()
    }
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct ModelAnswer {
    pub message: Message,
    pub stop: StopReason,
    pub usage: Usage,
    pub spend: Option<Money>,
    pub model: ModelRef,
}

/// A thread, for those who are asked in it.
pub trait ThreadAccess: Send + Sync {
    /// Asks the person. None where they dismissed it, the thread ends or the time is over in which they may answer. Losing the
    /// future takes the question back.
    fn ask(&self, from: String, dialog: Dialog, within: Option<Duration>) -> Waiting<'static, Option<DialogReply>>;

    /// Shows something until something else has its key, or nothing where there are no lines.
    fn show(&self, shown: Shown);

    /// These components are on the screen now, and no others. Told once this is over.
    fn components(&self, open: Vec<OpenComponent>) -> Waiting<'static, ()>;

    /// Runs a program in the terminal of a screen; its exit code. None where no screen takes it, or goes before it has ended.
    fn foreground(&self, program: ForegroundProgram) -> Waiting<'static, Option<i32>>;

    /// Has whoever looks at the thread see it in this theme.
    fn choose_theme(&self, name: String);

    /// Changes how whoever looks at the thread sees it.
    fn look(&self, look: Look);

    /// Tells people something, once.
    fn notice(&self, text: String);

    /// Stops the turn. Unlike a person's first stop, which goes on without the handler that is waited for.
    fn abort(&self);

    /// Leads whoever looks at the thread there, with this draft.
    fn move_on(&self, to: MoveTo, text: String);

    /// Calls a person who looks elsewhere.
    fn call(&self, text: String);

    /// Puts a text on the clipboard of whoever looks at the thread.
    fn copy(&self, text: String);

    /// Puts a text into the draft of whoever looks at the thread.
    fn suggest(&self, text: String, how: Insertion);

    /// Leaves something in the log. In the log once this is over, unless the thread ends before.
    fn append(&self, entry: ExtensionEntry) -> Waiting<'static, ()>;

    /// Calls a model beside the thread, within its budget and charged to it. Losing the future closes the call.
    ///
    /// # Errors
    /// Why there is no answer, in words.
    fn call_model(&self, call: ModelCall) -> Waiting<'static, Result<ModelAnswer, String>>;

    /// Takes a call that is made beside the thread through the guards of the thread, as its own calls are: its input as they leave it.
    ///
    /// # Errors
    /// Why it is not to be made, in words.
    fn guard(&self, call: ToolCall) -> Waiting<'static, Result<Value, String>>;

    /// Asks for what a person could ask for.
    fn command(&self, command: Command) -> Waiting<'static, Result<(), String>>;
}
