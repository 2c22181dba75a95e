//! (being built)
pub mod message;
pub use message::{Effect, Level, Message, ModelChoice, ThreadRow};
