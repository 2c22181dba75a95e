//! Where the parts of a thread meet: settings, providers, items, tools and paths, put together for screens, workers and
//! headless commands alike.
//!
//! [`setup`] gathers all of it for a project, [`factory`] makes of it what a thread is run with.

mod allowance;
mod approvals;
mod branch;
mod built_in;
pub mod cases;
mod children;
mod components;
pub mod conversation;
mod directive_planner;
mod doubt;
mod drawings;
mod entries;
mod environment;
mod extension_handlers;
mod extension_messages;
mod extension_models;
mod extension_network;
mod extension_offer;
mod extension_programs;
mod extension_providers;
mod extension_reads;
mod extension_streams;
mod extension_text;
mod extension_thread;
mod extension_tools;
pub mod extensions;
mod factory;
mod forking;
mod gauge;
mod handlers;
mod item_library;
mod late_providers;
pub mod logging;
pub mod logins;
mod model_registry;
pub mod models;
mod moves;
mod orchestrator;
mod overlay_layout;
mod own_commands;
pub mod parent;
pub mod people;
pub mod pi_export;
pub mod pi_import;
pub mod pipeline;
mod prompt_options;
pub mod replay;
pub mod secrets;
mod server_prompts;
pub mod servers;
pub mod setup;
mod stamp;
pub mod toolbox;
mod tools_of_pi;
pub mod undo;

pub use directive_planner::{DirectivePlanner, PlannerError};
pub use factory::Factory;
pub use forking::fork;
pub use handlers::Looked;
pub use model_registry::Models;
pub use orchestrator::Orchestrator;
pub use setup::{Chosen, Setup, program};
pub use toolbox::{built_in, capability};
