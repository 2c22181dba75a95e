//! The interactive model and its update: a [`Message`] goes in, the model changes, [`Effect`]s come out.
//!
//! Nothing here waits, draws, or reads a file or a clock. How high a piece of the transcript is on the screen is asked
//! from [`TranscriptLayout`], so that scrolling is exact without this part knowing about fonts, markdown or colours. Start
//! reading at [`update()`].

mod answering;
mod answering_model;
pub mod approval;
mod attention;
mod background;
pub mod beside;
mod bisect;
pub mod bisect_list;
mod budget;
pub mod changes;
pub mod code;
mod colouring;
pub mod completion;
pub mod component;
pub mod composer;
mod context_browser;
mod conversation;
mod conversation_list;
pub mod counter;
pub mod dialog;
mod drafts;
mod drawing;
mod dropped;
mod entries;
pub mod export;
mod export_form;
mod extension_editor;
mod extension_keys;
mod extension_ui;
mod following;
pub mod fork;
mod forking;
pub mod form;
pub mod geometry;
mod heard;
mod hearing;
pub mod help;
mod history;
mod kin;
pub mod layer_rows;
mod layers;
mod layout;
mod leaving;
pub mod line;
mod listen;
mod managing;
pub mod message;
mod model;
mod notices;
mod obstacle;
mod others;
pub mod overlay;
pub mod peek;
mod peeking;
mod perform;
pub mod picker;
mod pipeline;
pub mod pipeline_list;
pub mod pointer;
mod queue;
mod reading;
mod reckoning;
pub mod request;
pub mod request_page;
mod rows;
mod scroll;
mod search;
mod servers;
mod submit;
mod suggestions;
mod taking_back;
mod thread_list;
mod thread_order;
mod thread_row;
mod thread_view;
pub mod transcript;
mod turning;
mod update;
mod words;

#[cfg(test)]
mod tests;

pub use crate::worker::protocol;
pub use context_browser::{ContextBrowser, Preview};
pub use export_form::ExportForm;
pub use layout::{Position, TranscriptLayout};
pub use message::{
    Button, DirectiveChoice, Effect, ItemRow, LayerRow, Level, Message, ModelChoice, News, PeekNews, ProjectRuns,
    PromptRow, RequestShown, Source, Upkeep,
};
pub use model::{Model, Options};
pub use notices::{NoticeLine, Notices};
pub use request::AssembledRequest;
pub use search::{Reading, Search};
pub use thread_row::ThreadRow;
pub use thread_view::{Activity, Link, PendingPrompt, Phase, ThreadView};
pub use update::update;
