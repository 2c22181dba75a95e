//! Where the parts meet: the loop that runs the workbench, and what carries out its effects.
//!
//! [`run`] is the loop, [`effect_runner`] carries out effects and brings their answers back as messages, [`setup`] gathers
//! settings, providers and paths for screens, workers and headless commands alike.

mod approvals;
mod branch;
pub mod cases;
pub mod colouring;
mod connection;
mod directive_planner;
mod editor;
mod effect_runner;
mod environment;
pub mod export;
mod factory;
mod fault;
mod forking;
mod gauge;
mod item_library;
pub mod listing;
pub mod logging;
mod model_registry;
pub mod models;
mod pacer;
mod pages;
pub mod people;
pub mod plain;
pub mod recording;
mod reload;
pub mod requests;
mod run;
pub mod secrets;
pub mod setup;
mod shutdown;
mod theme;
mod toolbox;

pub use directive_planner::{DirectivePlanner, PlannerError};
pub use factory::Factory;
pub use forking::fork;
pub use model_registry::Models;
pub use plain::run_plain;
pub use reload::keymap;
pub use run::{Opening, Recording, look_problems, run};
pub use setup::{Chosen, Setup};
pub use shutdown::Shutdown;
pub use theme::ThemeSource;
pub use toolbox::{built_in, capability};
