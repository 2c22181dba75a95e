//! Names of things: threads, models, tool calls, stored texts.

use super::thinking::ThinkingLevel;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Name of a thread and of its folder: `<last segment of the directive>-<epoch milliseconds>`, with `-2`, `-3` … when
/// that folder exists already. Older and longer forms are read as they are.
///
/// Letters, digits and pictures of every script stay, since a folder can be named by them; of ASCII what no shell wants
/// quoted. What separates, steers or cannot be seen becomes `_`.
///
/// What is read as an id follows the same rules: it becomes a path, and words of a command line.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ThreadId(String);

/// As many bytes of a directive's name are in an id: with the rest of a name the folder stays well within the 255 that
/// file systems take.
const LONGEST_NAME: usize = 100;

impl ThreadId {
    /// The usual id of a thread that runs `directive` and was created at `epoch_ms`.
    #[must_use]
    pub fn new(directive: &str, epoch_ms: u64) -> Self {
        let last = directive.rsplit('/').next().unwrap_or(directive);
        let safe: String = last.chars().map(|letter| if stays(letter) { letter } else { '_' }).collect();
        let safe = safe.trim_start_matches(['.', '-']);
        let safe = safe.get(..safe.floor_char_boundary(LONGEST_NAME)).unwrap_or_default();
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

    /// When the thread was made, as far as the id tells: the milliseconds in it, else 0.
    #[must_use]
    pub fn begun(&self) -> u64 {
        self.0.rsplit('-').filter(|part| part.len() > 9).find_map(|part| part.parse().ok()).unwrap_or_default()
    }
}

/// Whether a letter of a directive's name may stand in the name of a folder and on a command line.
fn stays(letter: char) -> bool {
    if letter.is_ascii() {
        return letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.');
    }
    // Debug output writes out what can be seen. Marks that belong to a letter before them are told by standing behind one.
    let seen: String = ['a', letter].iter().collect();
    seen.escape_debug().count() == 2 && !letter.is_whitespace()
}

/// Text that cannot be the id of a thread.
#[derive(Debug, Clone, thiserror::Error)]
#[error(
    "`{}` is not a thread id: use letters, digits, `_`, `-` and `.`, with no `-` or `.` at the beginning",
    .0.escape_debug()
)]
pub struct BadThreadId(String);

/// The longest part of an id between slashes, in bytes, and the most parts.
const LONGEST_PART: usize = 200;
const MOST_PARTS: usize = 8;

impl FromStr for ThreadId {
    type Err = BadThreadId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let plain = |part: &str| {
            !part.is_empty() && part.len() <= LONGEST_PART && !part.starts_with(['.', '-']) && part.chars().all(stays)
        };
        if text.split('/').count() <= MOST_PARTS && text.split('/').all(plain) {
            Ok(Self(text.to_owned()))
        } else {
            let end = text.floor_char_boundary(LONGEST_PART);
            Err(BadThreadId(text.get(..end).unwrap_or_default().to_owned()))
        }
    }
}

impl TryFrom<String> for ThreadId {
    type Error = BadThreadId;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<ThreadId> for String {
    fn from(id: ThreadId) -> Self {
        id.0
    }
}

impl fmt::Display for ThreadId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Its models have a tag behind a colon.
const OLLAMA: &str = "ollama";

/// A model of a provider, written `provider/model` everywhere (`anthropic/claude-sonnet-4-5`, `scripted/demo`), with how much it is
/// to think behind a colon (`openai/gpt-5:high`). Any other word behind a colon is a part of its name (`ollama/qwen3:8b`).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ModelRef {
    pub provider: String,
    pub model: String,
    /// As its provider does it by itself without.
    pub thinking: Option<ThinkingLevel>,
}

impl ModelRef {
    #[must_use]
    pub fn new(provider: &str, model: &str) -> Self {
        Self { provider: provider.to_owned(), model: model.to_owned(), thinking: None }
    }

    /// The model that a provider's part of a file or a directive calls so, with its level where one is written behind it. A colon at
    /// the end says that what stands before it is a name. The first one in a name of Ollama's is that of its tag (`phi3:medium`).
    #[must_use]
    pub fn named(provider: &str, name: &str) -> Self {
        if let Some(whole) = name.strip_suffix(':') {
            return Self::new(provider, whole);
        }
        match ThinkingLevel::split(name) {
            (model, Some(_)) if provider == OLLAMA && !model.contains(':') => Self::new(provider, name),
            (model, thinking) => Self::new(provider, model).with_thinking(thinking),
        }
    }

    /// The same model, thinking so much.
    #[must_use]
    pub fn with_thinking(self, thinking: Option<ThinkingLevel>) -> Self {
        Self { thinking, ..self }
    }

    /// Its name without its provider, as [`Self::named`] reads it.
    #[must_use]
    pub fn short(&self) -> String {
        let Self { model, thinking, .. } = self;
        match thinking {
            Some(level) if self.provider == OLLAMA && !model.contains(':') => format!("{model}:latest:{level}"),
            Some(level) => format!("{model}:{level}"),
            None if Self::named(&self.provider, model) != *self => format!("{model}:"),
            None => model.clone(),
        }
    }

    /// Whether it is the same model, however much it thinks.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        (&self.provider, &self.model) == (&other.provider, &other.model)
    }
}

/// Text that names no model.
#[derive(Debug, Clone, thiserror::Error)]
#[error("`{0}` is not a model name; write provider/model, for example anthropic/claude-sonnet-4-5")]
pub struct BadModelRef(String);

impl FromStr for ModelRef {
    type Err = BadModelRef;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = text.split_once('/').map(|(provider, name)| Self::named(provider, name));
        let is_whole = |model: &Self| !model.provider.is_empty() && !model.model.is_empty();
        named.filter(is_whole).ok_or_else(|| BadModelRef(text.to_owned()))
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
        write!(formatter, "{}/{}", self.provider, self.short())
    }
}

/// The provider's name for one tool call; the result must carry it back.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(pub String);

impl CallId {
    /// The name of the file for what it printed. A provider may have made the id up: nothing in it leads elsewhere.
    #[must_use]
    pub fn output_file(&self) -> String {
        let safe = |letter: char| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' };
        format!("{}.txt", self.0.chars().take(80).map(safe).collect::<String>())
    }
}

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
    fn what_can_be_read_in_a_name_stays_in_the_id() {
        let name = |directive: &str| ThreadId::new(directive, 1).as_str().trim_end_matches("-1").to_owned();
        for kept in ["größe", "e\u{301}te\u{301}", "設計", "नमस्ते", "🚀_start", "❤\u{fe0f}", "v1.2-a"]
        {
            assert_eq!(name(&format!("team/{kept}")), kept);
        }
        for (written, expected) in [
            ("a b\u{a0}c\u{3000}d", "a_b_c_d"),
            ("a\u{202e}b\u{200b}c\u{feff}d\u{7}e", "a_b_c_d_e"),
            ("$(x);'*?\"|<>&~!", "__x____________"),
            ("..hidden", "hidden"),
            ("--help", "help"),
            ("\u{e000}\u{10ffff}", "__"),
        ] {
            assert_eq!(name(written), expected);
        }
        assert_eq!(name(&"ü".repeat(200)).len(), LONGEST_NAME);
        assert_eq!(name(&format!("a{}", "🚀".repeat(200))).len(), LONGEST_NAME - 3);
    }

    proptest::proptest! {
        /// The first component of a path is the id, and nothing of it is hidden, too long or invisible.
        #[test]
        fn an_id_is_a_safe_name_of_a_folder(directive in "([a-z./ \\-]|🚀|é|\\PC|.){0,120}", at: u64) {
            use std::path::{Component, Path};
            let id = ThreadId::new(&directive, at).numbered(u32::MAX);
            let parts: Vec<_> = Path::new(id.as_str()).components().collect();
            proptest::prop_assert!(matches!(parts[..], [Component::Normal(_)]), "{id}");
            proptest::prop_assert!(id.as_str().len() <= 255 && !id.as_str().starts_with(['.', '-']));
            proptest::prop_assert!(!id.as_str().contains(|letter: char| letter.is_whitespace() || letter.is_control()));
            proptest::prop_assert_eq!(id.as_str().parse::<ThreadId>().ok(), Some(id));
        }
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

    #[test]
    fn a_model_thinks_as_its_name_says_and_other_words_behind_a_colon_are_its_name() {
        let read = |text: &str| text.parse::<ModelRef>().unwrap();
        let thinks = read("openai/gpt-5:high");
        assert_eq!((thinks.model.as_str(), thinks.thinking), ("gpt-5", Some(ThinkingLevel::High)));
        assert!(thinks.is_same(&read("openai/gpt-5")) && thinks != read("openai/gpt-5"));
        for name in [
            "ollama/qwen3:8b",
            "ollama/phi3:medium",
            "ollama/qwen3:8b:off",
            "openrouter/x/y:free",
            "openai/gpt-5:xhigh",
            "acme/phi:medium:",
            "a/b:High",
        ] {
            assert_eq!(read(name).to_string(), name);
            assert_eq!(serde_json::to_value(read(name)).unwrap(), name);
        }
        assert_eq!((read("ollama/qwen3:8b").thinking, read("a/b:High").model), (None, "b:High".to_owned()));
        // Whatever it is called, it is read as the same model again.
        let levels = ThinkingLevel::all().map(Some).chain([None]);
        for level in levels {
            for (provider, model) in [("ollama", "phi3:medium"), ("acme", "phi:high"), ("a", "b")] {
                let model = ModelRef::new(provider, model).with_thinking(level);
                assert_eq!(read(&model.to_string()), model);
            }
        }
        let untagged = ModelRef::new("ollama", "qwen3").with_thinking(Some(ThinkingLevel::Low));
        assert_eq!(untagged.to_string(), "ollama/qwen3:latest:low", "which is the same to Ollama");
        assert!(":high".parse::<ModelRef>().is_err() && "a/:high".parse::<ModelRef>().is_err());
    }
}
