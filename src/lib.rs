//! levain: a terminal workbench and thread engine for people who write directives; a debugger for context.
//!
//! `ARCHITECTURE.md` holds the map of these modules and who may know whom. Good places to start reading:
//! [`engine::thread`] for what a thread does, [`workbench::update`] for what a key does, [`app`] for how it all moves.

pub mod app;
pub mod cli;
pub mod commands;
pub mod config;
pub mod context;
pub mod domain;
pub mod engine;
pub mod extensions;
pub mod items;
pub mod pipeline;
pub mod ports;
pub mod providers;
pub mod session;
pub mod store;
pub mod terminal;
pub mod tools;
pub mod ui;
pub mod workbench;
pub mod worker;
