//! The interactive model and its update: a [`Message`] goes in, the model changes, [`Effect`]s come out.
//!
//! Nothing here waits, draws, or reads a file or a clock. How high a piece of the transcript is on the screen is asked
//! from [`Layout`], so that scrolling is exact without this part knowing about fonts, markdown or colours. Start
//! reading at [`update()`].

pub mod approval;
pub mod code;
pub mod completion;
pub mod composer;
pub mod counter;
mod drafts;
mod dropped;
pub mod export;
pub mod form;
pub mod geometry;
pub mod help;
mod history;
mod layers;
pub mod line;
mod listen;
pub mod message;
mod model;
mod obstacle;
mod others;
pub mod overlay;
mod perform;
pub mod pointer;
mod queue;
mod reading;
mod scroll;
pub mod sheet;
mod shelf;
mod submit;
pub mod transcript;
mod update;

#[cfg(test)]
mod tests;

pub use crate::worker::protocol;
pub use message::{
    DirectiveChoice, Effect, ExportForm, ItemRow, LayerRow, Level, Message, ModelChoice, RequestShown, Source,
    ThreadRow, Whole,
};
pub use model::{Activity, Link, Model, NoticeLine, Options, Phase, Waits};
pub use reading::{Reading, Search};
pub use scroll::{Layout, Position};
pub use shelf::{Preview, Shelf};
pub use update::update;
