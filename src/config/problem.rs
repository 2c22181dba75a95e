//! A mistake in a setting, told so that a person can mend it.

use std::fmt;
use std::path::PathBuf;

/// One mistake. The setting it is in keeps the value it had without it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// `None` for a mistake in the environment.
    pub file: Option<PathBuf>,
    /// Counts from 1; `None` when the file as a whole is meant.
    pub line: Option<u32>,
    pub message: String,
    /// What to do about it.
    pub remedy: String,
}

impl fmt::Display for Problem {
    /// `config.toml:3: message; remedy`
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(formatter, "{}", file.display())?;
            if let Some(line) = self.line {
                write!(formatter, ":{line}")?;
            }
            formatter.write_str(": ")?;
        }
        write!(formatter, "{}; {}", self.message, self.remedy)
    }
}

/// The word of `known` that `word` was probably meant to be: at most two letters off, and less than half the word.
pub(super) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase().replace('-', "_");
    known
        .map(|name| (strsim::osa_distance(&word, name), name))
        .filter(|(distance, name)| *distance <= 2 && distance * 2 < name.len())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_word_and_a_stranger_does_not() {
        let known = ["model", "theme", "idle_seconds"];
        let find = |word| nearest(word, known.into_iter());
        assert_eq!(find("modle"), Some("model"));
        assert_eq!(find("Idle-Second"), Some("idle_seconds"));
        assert_eq!(find("colour"), None);
        assert_eq!(find(""), None);
    }
}
