//! What a thread does about failed calls, reached limits and a full window. Made from settings and hooks when a process
//! takes the thread over, and recorded, so that a log replays to the same state whatever has become of the settings.

use super::amount::Tokens;
use super::event::{CallError, ErrorCategory};
use serde::{Deserialize, Serialize};

/// See the module. Without any, calls are tried as [`Retry::default`] says and no hook is asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rules {
    pub retry: Retry,
    /// What failures mean: the first that fits counts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub patterns: Vec<ErrorPattern>,
    /// What a failure means that neither a pattern nor the program itself recognises.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback: Option<ErrorPattern>,
    /// When the context window counts as full. Without it nobody looks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<WindowRules>,
    /// What the directive has to hand back: a one-shot thread whose model only talks is reminded of it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<String>,
    /// The events at which hooks are asked, because there are any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<String>,
    /// When what steers is taken.
    #[serde(skip_serializing_if = "is_usual")]
    pub steering: Steering,
    /// How many of the messages that follow up are taken at once.
    #[serde(skip_serializing_if = "is_usual")]
    pub follow_up: FollowUp,
}

fn is_usual<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// When a message that steers reaches the model, where an answer asks for several calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Steering {
    /// Once all of them have been made.
    #[default]
    AfterBatch,
    /// Once those that run have ended; the others are not made.
    SkipRemaining,
}

/// How many of the messages that follow up are taken when the thread would wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FollowUp {
    #[default]
    OneAtATime,
    All,
}

/// How often a call is tried, and after what pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retry {
    /// Tries of one turn, the first included.
    pub max_attempts: u32,
    /// Where the pattern has none of its own.
    pub pause: Pause,
    /// A provider that asks for a longer pause is not waited for.
    pub longest_asked_ms: u64,
}

impl Retry {
    /// Nobody may set more tries.
    pub const MOST_ATTEMPTS: u32 = 10;
    /// Nobody may set a longer pause.
    pub const LONGEST_MS: u64 = 600_000;
}

impl Default for Retry {
    fn default() -> Self {
        let pause = Pause::Exponential { first_ms: 2_000, longest_ms: 60_000 };
        Self { max_attempts: 4, pause, longest_asked_ms: 900_000 }
    }
}

/// How long to wait before the next try.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Pause {
    /// Doubled with every try.
    Exponential {
        first_ms: u64,
        longest_ms: u64,
    },
    Fixed {
        delay_ms: u64,
    },
}

impl Pause {
    /// The pause after a failed try, counted from 1.
    #[must_use]
    pub fn after(self, attempt: u32) -> u64 {
        match self {
            Self::Exponential { first_ms, longest_ms } => {
                let doubled = 1_u64 << attempt.saturating_sub(1).min(16);
                first_ms.saturating_mul(doubled).min(longest_ms)
            }
            Self::Fixed { delay_ms } => delay_ms,
        }
    }
}

/// Failures of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorPattern {
    pub id: String,
    pub category: ErrorCategory,
    pub retryable: bool,
    /// HTTP codes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub status: Vec<u16>,
    /// The provider's own words for failures (its type or code), or the program's, such as `no_connection`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub codes: Vec<String>,
    /// Phrases of the message or the code.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<Pause>,
}

impl ErrorPattern {
    /// Whether `error` is of this kind: one match is enough. Letters' case does not count.
    #[must_use]
    pub fn fits(&self, error: &CallError) -> bool {
        let code = error.code.to_lowercase();
        let message = error.message.to_lowercase();
        let said = |word: &String| {
            let word = word.to_lowercase();
            code.contains(&word) || message.contains(&word)
        };
        error.status.is_some_and(|status| self.status.contains(&status))
            || self.codes.iter().any(|known| known.to_lowercase() == code)
            || self.words.iter().any(said)
    }
}

/// When the context window counts as full.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WindowRules {
    /// The share at which hooks may say something.
    pub pressure: f64,
    /// The share at which room is made before the next request.
    pub full: f64,
    /// The newest messages that stay as they are when room is made, in tokens.
    pub keep: Tokens,
    /// Whether another thread goes on then, with what stays. Else this one does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hands_off: bool,
}

impl Default for WindowRules {
    fn default() -> Self {
        Self { pressure: 0.8, full: 0.9, keep: Tokens(16_000), hands_off: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_or_stay_as_they_are() {
        let pause = Pause::Exponential { first_ms: 500, longest_ms: 3_000 };
        assert_eq!((1..=4).map(|attempt| pause.after(attempt)).collect::<Vec<_>>(), [500, 1_000, 2_000, 3_000]);
        assert_eq!(pause.after(4_000), 3_000);
        assert_eq!(Pause::Fixed { delay_ms: 7 }.after(3), 7);
    }

    #[test]
    fn a_pattern_fits_by_status_code_or_words() {
        let error = CallError {
            category: ErrorCategory::Permanent,
            code: "Overloaded_Error".into(),
            message: "Please slow DOWN".into(),
            status: Some(529),
            retry_after_ms: None,
        };
        let empty = ErrorPattern {
            id: "x".into(),
            category: ErrorCategory::Transient,
            retryable: true,
            status: Vec::new(),
            codes: Vec::new(),
            words: Vec::new(),
            pause: None,
        };
        let with = |status: &[u16], codes: &[&str], words: &[&str]| {
            let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
            ErrorPattern { status: status.to_vec(), codes: texts(codes), words: texts(words), ..empty.clone() }
        };
        for (pattern, fits) in [
            (empty.clone(), false),
            (with(&[500, 529], &[], &[]), true),
            (with(&[500], &[], &[]), false),
            (with(&[], &["overloaded_error"], &[]), true),
            (with(&[], &["overloaded"], &[]), false),
            (with(&[], &[], &["overloaded"]), true),
            (with(&[], &[], &["slow down"]), true),
        ] {
            assert_eq!(pattern.fits(&error), fits, "{pattern:?}");
        }
    }
}
