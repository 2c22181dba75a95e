//! The terminal: taking it over and giving it back, reading keys, writing frames.
//!
//! Input is parsed by `termina` from bytes that a thread of ours reads: answers of the terminal to questions come in as
//! events like keys do, a terminal that goes away is noticed, and the reader can be stopped while another program uses
//! the keyboard. Output goes through ratatui's crossterm backend, one write a frame.

pub mod attention;
mod backend;
pub mod clipboard;
pub mod guard;
pub mod input;
pub mod links;
pub mod screen;
mod tty;

pub use guard::Guard;
pub use input::{Input, InputEvent};
pub use screen::Screen;
pub use tty::Tty;
