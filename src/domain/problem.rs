//! A mistake in something a person wrote, told so that it can be mended.

use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};

/// How much a mistake costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Understood all the same, or probably not what was meant.
    Warning,
    /// The entry it is in has no effect.
    Error,
    /// What it is in is refused: passing over the mistake would let a thread do more, spend more or be told less than was
    /// written. `docs/faults.md` lists these.
    Fatal,
}

impl Severity {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Fatal => "fatal",
        }
    }
}

/// One mistake. What it is in keeps the value it had without it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// `None` for a mistake in the environment.
    pub file: Option<PathBuf>,
    /// Counts from 1; `None` when the file as a whole is meant.
    pub line: Option<u32>,
    pub severity: Severity,
    pub message: String,
    /// What to do about it.
    pub remedy: String,
}

impl Problem {
    /// A mistake at a line of a file.
    #[must_use]
    pub fn at(
        file: &Path,
        line: impl Into<Option<u32>>,
        severity: Severity,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        let (message, remedy) = (message.into(), remedy.into());
        Self { file: Some(file.to_owned()), line: line.into(), severity, message, remedy }
    }

    /// The first of `problems` for which what they are in is refused.
    #[must_use]
    pub fn refusal(problems: &[Self]) -> Option<&Self> {
        problems.iter().find(|problem| problem.severity == Severity::Fatal)
    }

    /// `config.toml:3: message`, for where the remedy has a place of its own.
    #[must_use]
    pub fn without_remedy(&self) -> String {
        let file = self.file.as_ref().map(|file| file.display().to_string());
        let place = file.map(|file| self.line.map_or_else(|| format!("{file}: "), |line| format!("{file}:{line}: ")));
        format!("{}{}", place.unwrap_or_default(), self.message)
    }
}

impl fmt::Display for Problem {
    /// `config.toml:3: message; remedy`
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}; {}", self.without_remedy(), self.remedy)
    }
}

/// The word of `known` that `word` was probably meant to be: at most two letters off, and less than half the word.
#[must_use]
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |name: &str| name.to_lowercase().replace('-', "_");
    let word = plain(word);
    known
        .into_iter()
        .map(|name| (strsim::osa_distance(&word, &plain(name)), name))
        .filter(|(distance, name)| *distance <= 2 && distance * 2 < name.len())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// The next step for a word that means nothing: the known one that it was probably meant to be, else all there are.
#[must_use]
pub fn meant<'a>(word: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> String {
    match nearest(word, known.clone()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("known: {}", known.into_iter().collect::<Vec<_>>().join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_word_and_a_stranger_does_not() {
        let known = ["model", "theme", "idle_seconds"];
        let find = |word| nearest(word, known);
        assert_eq!(find("modle"), Some("model"));
        assert_eq!(find("Idle-Second"), Some("idle_seconds"));
        assert_eq!(nearest("claude-opsu-4-6", ["claude-opus-4-6"]), Some("claude-opus-4-6"));
        assert_eq!(find("colour"), None);
        assert_eq!(find(""), None);
    }
}
