//! What names an item: its kind and its id, the path below the kind's folder without the ending; and its version.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The kinds of item, each with a folder of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Directive,
    Knowledge,
    Tool,
}

impl Kind {
    pub const ALL: [Self; 3] = [Self::Directive, Self::Knowledge, Self::Tool];

    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Directive => "directive",
            Self::Knowledge => "knowledge",
            Self::Tool => "tool",
        }
    }

    /// The folder below `.ai`.
    #[must_use]
    pub fn folder(self) -> &'static str {
        match self {
            Self::Directive => "directives",
            Self::Knowledge => "knowledge",
            Self::Tool => "tools",
        }
    }

    /// File endings, the one that wins first.
    #[must_use]
    pub fn endings(self) -> &'static [&'static str] {
        match self {
            Self::Directive => &["md"],
            Self::Knowledge => &["md", "yaml", "yml"],
            Self::Tool => &["py", "yaml", "yml", "json", "js", "ts", "mjs", "cjs", "sh", "toml"],
        }
    }

    /// Which of [`Kind::endings`] the ending is.
    #[must_use]
    pub fn rank(self, ending: &str) -> Option<usize> {
        self.endings().iter().position(|known| *known == ending)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())
    }
}

/// An item's id: names joined by `/`. It stays below the folder of its kind by construction.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct ItemId(String);

/// Why a text is no id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` cannot be an id: {why}")]
pub struct BadId {
    text: String,
    why: &'static str,
}

impl ItemId {
    /// # Errors
    /// [`BadId`] for empty names, `.` and `..`, backslashes and control letters.
    pub fn parse(text: &str) -> Result<Self, BadId> {
        let bad = |why| Err(BadId { text: text.chars().filter(|letter| !letter.is_control()).collect(), why });
        if text.is_empty() {
            return bad("it is empty");
        }
        if text.chars().any(|letter| letter.is_control() || letter == '\\') {
            return bad("it holds a backslash or a control letter");
        }
        for name in text.split('/') {
            match name {
                "" => return bad("a name between two `/` is empty"),
                "." | ".." => return bad("`.` and `..` are no names"),
                _ => {}
            }
        }
        Ok(Self(text.to_owned()))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The last name: what the file is called.
    #[must_use]
    pub fn stem(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// All names but the last, joined; empty at the top.
    #[must_use]
    pub fn category(&self) -> &str {
        self.0.rsplit_once('/').map_or("", |(category, _)| category)
    }
}

/// Where the shipped base items lie, and where the original has those they stand for.
const SHIPPED: &str = "levain/core/";
const ORIGINAL: &str = "rye/agent/core/";

impl ItemId {
    /// The id of the original that a shipped base item answers to as well.
    pub(super) fn original(&self) -> Option<Self> {
        self.0.strip_prefix(SHIPPED).map(|rest| Self(format!("{ORIGINAL}{rest}")))
    }
}

/// Whether both ids name the same: they are equal, or one is the shipped id of a base item and the other the original's.
#[must_use]
pub fn is_same(one: &str, other: &str) -> bool {
    let rest = |id: &'_ str| id.strip_prefix(ORIGINAL).or_else(|| id.strip_prefix(SHIPPED)).map(str::to_owned);
    one == other || rest(one).is_some_and(|one| rest(other).is_some_and(|other| one == other))
}

impl fmt::Display for ItemId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// `1.0.0`, also with something behind it: `1.0.0-beta`.
pub(super) fn is_version(text: &str) -> bool {
    let plain = text.split(['-', '+']).next().unwrap_or_default();
    let numbers: Vec<_> = plain.split('.').collect();
    numbers.len() == 3 && numbers.iter().all(|number| number.parse::<u32>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::path::{Component, Path};

    #[test]
    fn an_id_is_names_and_slashes() {
        let id = ItemId::parse("team/deploy/check.v2").unwrap();
        assert_eq!((id.category(), id.stem()), ("team/deploy", "check.v2"));
        assert_eq!(ItemId::parse("init").unwrap().category(), "");
        for text in ["", "/etc/passwd", "a//b", "a/", "../a", "a/../../b", "./a", "a\\b", "a\0b", "a\nb"] {
            assert!(ItemId::parse(text).is_err(), "{text:?}");
        }
        let error = ItemId::parse("a/../b").unwrap_err().to_string();
        assert_eq!(error, "`a/../b` cannot be an id: `.` and `..` are no names");
    }

    #[test]
    fn s03_a_base_item_has_two_ids() {
        assert!(is_same("levain/core/protocol/sign", "rye/agent/core/protocol/sign") && is_same("a/b", "a/b"));
        assert!(!is_same("levain/core/Identity", "rye/agent/core/Behavior") && !is_same("levain/a", "rye/agent/a"));
    }

    proptest! {
        #[test]
        fn no_id_leaves_its_folder(text in "[a-z./\\\\~ ]{0,20}|.*") {
            if let Ok(id) = ItemId::parse(&text) {
                prop_assert!(Path::new(id.as_str()).components().all(|part| matches!(part, Component::Normal(_))));
            }
        }
    }
}
