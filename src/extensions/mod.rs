//! The JavaScript host: extensions in an engine of their own, on an OS thread of its own, behind messages.
//!
//! `assets/extensions` holds the JavaScript side and `HOST.md`, the contract of both. This folder is the embedder: it
//! reads and transforms files ([`strip()`], `modules`), answers what the JavaScript asks for (`host`, `files`), and keeps
//! memory and time in bounds (`realm`). What may be done is a [`Policy`], given as a value; nothing here reads the
//! environment or settings. No engine starts before [`Engine::start`].

mod assets;
mod ciphers;
mod conversation;
mod crypto;
mod databases;
mod deadline;
mod engine;
mod event_loop;
mod files;
mod host;
mod locale;
mod message;
mod modules;
mod outcome;
mod outside;
mod place;
mod plain;
mod program;
mod realm;
mod settings;
mod strip;
mod watch;
mod zlib;

pub use assets::{template, types};
pub use engine::Engine;
pub use outcome::{Answer, Ask, Emitted, Line, Listing, Loaded, Registered, Registration, Said, Told};
pub use outside::{Asker, Outside, Refusal};
pub use place::Problem;
pub use realm::EngineError;
pub use settings::{Limits, Policy, Settings};
pub use strip::{Stripped, SyntaxProblem, strip};
