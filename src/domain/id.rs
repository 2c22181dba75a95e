//! Names of things: threads, models, tool calls, stored texts.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Name of a thread and of its folder: `<last segment of the directive>-<epoch milliseconds>`, with `-2`, `-3` … when
/// that folder exists already. Older and longer forms are read as they are.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ThreadId(String);

impl ThreadId {
    /// The usual id of a thread that runs `directive` and was created at `epoch_ms`.
    #[must_use]
    pub fn new(directive: &str, epoch_ms: u64) -> Self {
        let last = directive.rsplit('/').next().unwrap_or(directive);
        let safe: String = last
            .chars()
            .map(|letter| if letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.') { letter } else { '_' })
            .collect();
        let safe = safe.trim_start_matches('.');
        Self(format!("{}-{epoch_ms}", if safe.is_empty() { "thread" } else { safe }))
    }

    /// This id with a number behind it, for the second thread of one millisecond.
    #[must_use]
    pub fn numbered(&self, number: u32) -> Self {
        Self(format!("{}-{number}", self.0))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// An id that could leave the threads folder.
#[derive(Debug, Clone, thiserror::Error)]
#[error("`{0}` is not a thread id: it must be a relative path without `..`")]
pub struct BadThreadId(String);

impl FromStr for ThreadId {
    type Err = BadThreadId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let plain = !text.is_empty()
            && text.split('/').all(|part| !part.is_empty() && part != "." && part != "..")
            && !text.contains(['\\', '\0', '\n']);
        if plain { Ok(Self(text.to_owned())) } else { Err(BadThreadId(text.to_owned())) }
    }
}

impl fmt::Display for ThreadId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A model of a provider, written `provider/model` everywhere (`anthropic/claude-sonnet-4-5`, `scripted/demo`).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ModelRef {
    pub provider: String,
    pub model: String,
}

impl ModelRef {
    #[must_use]
    pub fn new(provider: &str, model: &str) -> Self {
        Self { provider: provider.to_owned(), model: model.to_owned() }
    }
}

/// Text that names no model.
#[derive(Debug, Clone, thiserror::Error)]
#[error("`{0}` names no model; write provider/model, for example anthropic/claude-sonnet-4-5")]
pub struct BadModelRef(String);

impl FromStr for ModelRef {
    type Err = BadModelRef;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('/') {
            Some((provider, model)) if !provider.is_empty() && !model.is_empty() => Ok(Self::new(provider, model)),
            _ => Err(BadModelRef(text.to_owned())),
        }
    }
}

impl TryFrom<String> for ModelRef {
    type Error = BadModelRef;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<ModelRef> for String {
    fn from(model: ModelRef) -> Self {
        model.to_string()
    }
}

impl fmt::Display for ModelRef {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.provider, self.model)
    }
}

/// The provider's name for one tool call; the result must carry it back.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(pub String);

/// SHA-256 of a stored text, as 64 lower-case hexadecimal digits: its name in the content store.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ContentHash(String);

impl ContentHash {
    /// Hash of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        use sha2::{Digest, Sha256};
        use std::fmt::Write as _;
        let mut text = String::with_capacity(64);
        for byte in Sha256::digest(bytes) {
            let written = write!(text, "{byte:02x}");
            debug_assert!(written.is_ok(), "writing to a String does not fail");
        }
        Self(text)
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_named_after_the_last_segment() {
        assert_eq!(ThreadId::new("team/deploy", 1_772_758_807_565).as_str(), "deploy-1772758807565");
        assert_eq!(ThreadId::new("a/b c", 1).numbered(2).as_str(), "b_c-1-2");
        assert_eq!(ThreadId::new("..", 1).as_str(), "thread-1");
    }

    #[test]
    fn an_id_cannot_leave_its_folder() {
        for bad in ["", "../x", "a/../b", "/etc", "a//b", "a\0b"] {
            assert!(bad.parse::<ThreadId>().is_err(), "{bad:?} was accepted");
        }
        assert!("team/deploy/deploy-1".parse::<ThreadId>().is_ok());
    }

    #[test]
    fn a_model_keeps_the_slashes_of_its_own_name() {
        let model: ModelRef = "openrouter/meta/llama-3".parse().unwrap();
        assert_eq!((model.provider.as_str(), model.model.as_str()), ("openrouter", "meta/llama-3"));
        assert!("gpt".parse::<ModelRef>().is_err());
    }
}
