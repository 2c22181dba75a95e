//! What several tests use.

pub mod conversation;
pub mod driven_thread;
pub mod files;
pub mod loopback;
pub mod model_server;
pub mod running_thread;
pub mod scripted_handlers;
pub mod scripted_project;
pub mod terminal;
pub mod wire_server;
