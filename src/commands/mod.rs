//! Everything a person can do, once: a table of commands and the keys that reach them.
//!
//! The palette, the help screen, the hints in the status line and the `/` completion are all read from
//! [`TABLE`] and [`Keymap`], so what they say is always true. What a command does is the workbench's business.

mod default_keys;
mod key;
mod keymap;
mod table;

pub use key::{BadKey, Key, KeyCode};
pub use keymap::{Binding, Keymap, line_of};
pub use table::{Command, CommandId, Context, Group, Need, TABLE};
