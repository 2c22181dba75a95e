//! Where the parts meet: the loop that runs the workbench, and what carries out its effects.
//!
//! [`run`] is the loop, [`performer`] carries out effects and brings their answers back as messages, [`setup`] gathers
//! settings, providers and paths for screens, workers and headless commands alike.

mod approvals;
mod branch;
mod briefing;
pub mod cases;
pub mod colouring;
mod connection;
mod editor;
pub mod export;
mod fault;
mod forking;
mod gauge;
mod library;
pub mod listing;
pub mod logging;
pub mod models;
mod outside;
mod pacer;
mod pages;
pub mod people;
mod performer;
pub mod plain;
pub mod recording;
mod reload;
pub mod requests;
mod run;
pub mod secrets;
pub mod setup;
mod shutdown;
mod surroundings;
mod theme;
mod toolbox;

pub use briefing::{Briefing, BriefingError};
pub use forking::fork;
pub use outside::Models;
pub use plain::run_plain;
pub use reload::keymap;
pub use run::{Opening, Recording, look_problems, run};
pub use setup::{Chosen, Setup};
pub use shutdown::Shutdown;
pub use theme::ThemeSource;
pub use toolbox::{built_in, capability};
