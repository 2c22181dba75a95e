//! What a screen wants done with the terminal itself, which only the loop has.

use crate::domain::Foreground;
use crate::workbench::message::Source;
use crate::workbench::request::EditedValue;

#[derive(Debug, PartialEq)]
pub(super) enum TerminalEffect {
    Copy(String),
    OpenFile(Source),
    RunForeground(Box<Foreground>),
    SignIn(String),
    Edit(String),
    EditValue(EditedValue, String),
    ShowText(String),
    ToggleMouse,
    Attention(String),
    Suspend,
    Redraw,
}
