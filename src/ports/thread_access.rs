//! What extensions can ask of their thread beside answering its stages: a person, and whatever a person could ask.

use super::tools::Waiting;
use crate::domain::{Command, Dialog, DialogReply, ExtensionEntry, OpenComponent, Shown};

/// A thread, for those who are asked in it.
pub trait ThreadAccess: Send + Sync {
    /// Asks the person. None where they dismissed it or the thread ends. Losing the future takes the question back.
    fn ask(&self, from: String, dialog: Dialog) -> Waiting<'static, Option<DialogReply>>;

    /// Shows something until something else has its key, or nothing where there are no lines.
    fn show(&self, shown: Shown);

    /// These components are on the screen now, and no others. Told once this is over.
    fn components(&self, open: Vec<OpenComponent>) -> Waiting<'static, ()>;

    /// Tells people something, once.
    fn notice(&self, text: String);

    /// Puts a text into the draft of whoever looks at the thread.
    fn suggest(&self, text: String);

    /// Leaves something in the log. In the log once this is over, unless the thread ends before.
    fn append(&self, entry: ExtensionEntry) -> Waiting<'static, ()>;

    /// Asks for what a person could ask for.
    fn command(&self, command: Command) -> Waiting<'static, Result<(), String>>;
}
