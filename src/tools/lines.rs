//! Names for the lines of a file, so that a model can say which it means without counting.
//!
//! A line gets its name when the file is first read and keeps it for as long as its text stays, wherever it moves to. A
//! line that changes gets another, and a name that was given up is never given again: an outdated name finds nothing
//! instead of finding something else.

use crate::domain::ContentHash;
use similar::{DiffOp, TextDiff};
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Letters of a name.
const LENGTH: usize = 6;

/// As many files are remembered; beyond that all are forgotten and must be read again.
const FILES: usize = 400;

/// Finding what stayed takes no longer than this; then lines get new names that could have kept theirs.
const PATIENCE: Duration = Duration::from_millis(500);

/// The names given so far, by file.
#[derive(Debug, Default)]
pub(super) struct LineNames {
    files: BTreeMap<PathBuf, Named>,
}

#[derive(Debug)]
struct Named {
    /// Of the whole text that the names describe.
    text: ContentHash,
    lines: Vec<ContentHash>,
    names: Vec<String>,
    /// Every name ever given in this file.
    given: HashSet<String>,
}

/// The text of each line, without its end.
pub(super) fn lines_of(text: &str) -> Vec<&str> {
    text.lines().collect()
}

impl LineNames {
    /// The names of the lines of `text`, which is what `path` holds now.
    pub(super) fn of(&mut self, path: &Path, text: &str) -> &[String] {
        let hash = ContentHash::of(text.as_bytes());
        if !self.files.contains_key(path) && self.files.len() >= FILES {
            self.files.clear();
        }
        let named = self.files.entry(path.to_owned()).or_insert_with(|| Named {
            text: ContentHash::of(b""),
            lines: Vec::new(),
            names: Vec::new(),
            given: HashSet::new(),
        });
        if named.text != hash {
            named.take_notice(text);
            named.text = hash;
        }
        &named.names
    }

    /// The names a model knows for `text`; none when what it has read of `path` is another text, or nothing.
    pub(super) fn known(&self, path: &Path, text: &str) -> Option<&[String]> {
        let named = self.files.get(path)?;
        (named.text == ContentHash::of(text.as_bytes())).then_some(named.names.as_slice())
    }
}

impl Named {
    fn take_notice(&mut self, text: &str) {
        let texts = lines_of(text);
        let lines: Vec<ContentHash> = texts.iter().map(|line| ContentHash::of(line.as_bytes())).collect();
        let mut names: Vec<Option<String>> = vec![None; lines.len()];
        let [old, new] = [&self.lines, &lines].map(|lines| lines.iter().map(ContentHash::as_str).collect::<Vec<_>>());
        for op in TextDiff::configure().timeout(PATIENCE).diff_slices(&old, &new).ops() {
            if let DiffOp::Equal { old_index, new_index, len } = *op {
                for step in 0..len {
                    if let (Some(old), Some(new)) = (self.names.get(old_index + step), names.get_mut(new_index + step))
                    {
                        *new = Some(old.clone());
                    }
                }
            }
        }
        self.names = names
            .into_iter()
            .zip(texts)
            .enumerate()
            .map(|(index, (kept, line))| kept.unwrap_or_else(|| self.new_name(index + 1, line)))
            .collect();
        self.lines = lines;
    }

    /// The first six digits of the hash of number and text; where those were given before, of a longer text.
    fn new_name(&mut self, number: usize, line: &str) -> String {
        let mut text = format!("{number}:{line}");
        loop {
            let name: String = ContentHash::of(text.as_bytes()).as_str().chars().take(LENGTH).collect();
            if self.given.insert(name.clone()) {
                return name;
            }
            text.push('+');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_keeps_its_name_while_its_text_stays() {
        let mut names = LineNames::default();
        let path = Path::new("a");
        let first = names.of(path, "one\ntwo\n}\nthree\n}\n").to_vec();
        assert_eq!(first.len(), 5);
        assert!(first.iter().all(|name| name.len() == LENGTH));
        let second = names.of(path, "zero\none\n}\nthree\n}\n").to_vec();
        assert_eq!(second[1], first[0]);
        assert_eq!(second[2..], first[2..]);
        assert!(!first.contains(&second[0]), "a new line has a new name");
        let third = names.of(path, "zero\none\ntwo\n}\nthree\n}\n").to_vec();
        assert!(!first.contains(&third[2]), "the name that was given up is not given again");
        let unique: HashSet<_> = third.iter().collect();
        assert_eq!(unique.len(), third.len());
    }

    #[test]
    fn names_are_known_for_the_text_that_was_read() {
        let mut names = LineNames::default();
        let path = Path::new("a");
        assert!(names.known(path, "x\n").is_none());
        names.of(path, "x\n");
        assert!(names.known(path, "x\n").is_some());
        assert!(names.known(path, "y\n").is_none());
    }

    #[test]
    fn many_lines_have_as_many_names() {
        let text: String = "a\nb\nb\n\n".repeat(5_000);
        let mut names = LineNames::default();
        let unique: HashSet<String> = names.of(Path::new("a"), &text).iter().cloned().collect();
        assert_eq!(unique.len(), 20_000);
    }
}
