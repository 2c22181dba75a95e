//! Where models answer: one file for each wire form, and a scripted provider that needs no network.
//!
//! [`Providers`] finds the provider of a model, [`Catalog`] knows windows and prices, [`Keys`] holds the keys. Providers
//! keep nothing between calls and never retry; what a failure means is decided in [`classify`], whether to try again
//! in the engine.

mod answer;
pub mod anthropic;
mod blot;
mod calls;
pub mod catalog;
pub mod classify;
mod count;
pub mod encode;
mod error_body;
mod from_extension;
#[cfg(fuzzing)]
pub mod fuzzing;
pub mod gemini;
pub mod http;
pub mod keys;
pub mod known;
pub mod local;
mod network;
pub mod openai_chat;
pub mod openai_responses;
mod outline;
mod pause;
mod proxy;
mod relay;
pub mod resolver;
mod schema;
pub mod scripted;
pub mod signature;
mod signed_in;
pub mod site;
mod sse;
pub mod text_calls;
pub(crate) mod thinking;
mod tiers;
mod turns;
mod wire;
pub mod yaml;

pub use catalog::{Catalog, ModelInfo};
pub use from_extension::{ExtensionEvents, ExtensionStreams};
pub use keys::{Keys, KeysError};
pub use known::is_local;
pub use local::Found;
pub use proxy::Proxies;
pub use resolver::{Choice, Providers, ResolveError, Settings, is_scripted};
pub use signed_in::{Login, Logins};
pub use tiers::Preference;
pub use yaml::{ProviderFile, ToolForm};
