//! Where the parts meet: the loop that runs the workbench, and what carries out its effects.
//!
//! [`run`] is the loop, [`effect_runner`] carries out effects and brings their answers back as messages. What screens, workers and
//! headless commands have in common is put together in [`session`](crate::session).

mod attention;
mod background;
mod bisect;
pub mod colouring;
mod connection;
mod editor;
mod effect_runner;
pub mod export;
mod fault;
mod foreground;
mod forking;
mod history;
pub mod listing;
mod managing;
mod model_choices;
mod notices;
mod pacer;
mod pages;
mod peeking;
mod pipeline;
pub mod plain;
mod previewer;
pub mod recording;
mod reload;
pub mod requests;
mod rest;
mod run;
mod servers;
mod shutdown;
mod taking_back;
mod terminal_effect;
mod theme;
mod thread_rows;
mod trusting;

pub use plain::run_plain;
pub use reload::keymap;
pub use run::{Opening, Recording, look_problems, run};
pub use shutdown::Shutdown;
pub use theme::ThemeSource;
