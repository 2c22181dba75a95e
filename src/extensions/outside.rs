//! What extensions ask of whoever started the engine: the calls by name of `HOST.md`.

use crate::ports::child::Talk;
use crate::ports::tools::Waiting;
use serde_json::Value;
use std::fmt;
use std::path::PathBuf;

/// Why something is not done: a name for programs, and a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub code: String,
    pub message: String,
}

impl Refusal {
    #[must_use]
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into() }
    }

    /// For what is not allowed.
    #[must_use]
    pub fn access(message: impl Into<String>) -> Self {
        Self::new("EACCES", message)
    }
}

/// The extension that asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asker {
    /// Its file, where it is known.
    pub path: Option<PathBuf>,
    /// Somebody only looks at what would be sent: nothing may be left behind.
    pub preview: bool,
}

/// Whoever answers extensions.
pub trait Outside: Send + Sync {
    /// Asks or tells something that is answered at once, on the engine's thread; null is no answer.
    ///
    /// # Errors
    /// [`Refusal`].
    fn call(&self, asker: &Asker, name: &str, arguments: Value) -> Result<Value, Refusal>;

    /// Does something that takes time; what waits for a person has a name that begins with `ui.`. Losing the future ends it.
    ///
    /// # Errors
    /// [`Refusal`].
    fn act(&self, asker: Asker, name: String, arguments: Value) -> Waiting<'static, Result<Value, Refusal>>;

    /// Runs a program and talks with it, to its end: `code`, `signal`, and whether it took too long. Losing the future ends it.
    ///
    /// # Errors
    /// [`Refusal`].
    fn spawn(&self, asker: Asker, spec: Value, talk: Talk) -> Waiting<'static, Result<Value, Refusal>>;

    /// Talks over a socket until it is over. `spec` is one of `{connect: {host, port}}`, `{listen: {host, port}}`, which tells of
    /// each connection by a number, and `{accepted: number}`. What is told is described in `HOST.md`. Losing the future closes it.
    ///
    /// # Errors
    /// [`Refusal`].
    fn socket(&self, asker: Asker, spec: Value, talk: Talk) -> Waiting<'static, Result<Value, Refusal>>;

    /// The engine began again: what extensions had open is gone.
    fn restarted(&self) {}
}

impl fmt::Debug for dyn Outside {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Outside")
    }
}
