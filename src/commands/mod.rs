//! (being built)
pub mod key;
pub use key::{Key, KeyCode};
