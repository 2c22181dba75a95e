//! Taking back what a thread's file tools changed.

use super::Root;
use super::files::{changed_lines, difference};
use crate::domain::ContentHash;
use std::borrow::Cow;

/// What a file was before a thread changed it, and what the thread made of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Relative to the project.
    pub path: String,
    /// Nothing where there was no file.
    pub before: Option<Vec<u8>>,
    /// What the thread wrote last.
    pub after: Vec<u8>,
    /// All that the thread wrote there, by hash.
    pub written: Vec<ContentHash>,
}

/// How a file stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// As the thread left it: it can be taken back.
    AsLeft,
    /// As it was before.
    AsBefore,
    /// Somebody changed it since: this is how it is now, nothing where it is gone.
    Changed(Option<Vec<u8>>),
    /// It cannot be looked at, and why.
    Unreadable(String),
}

impl Taken {
    /// How the file stands now.
    #[must_use]
    pub fn state(&self, root: &Root) -> State {
        let now = match root.writable(&self.path) {
            Ok(place) if place.exists => match root.read(&self.path) {
                Ok((_, bytes)) => Some(bytes),
                Err(error) => return State::Unreadable(error.to_string()),
            },
            Ok(_) => None,
            Err(error) => return State::Unreadable(error.to_string()),
        };
        if now == self.before {
            return State::AsBefore;
        }
        let hash = now.as_deref().map(ContentHash::of);
        if hash.is_some_and(|hash| self.written.contains(&hash)) { State::AsLeft } else { State::Changed(now) }
    }

    /// What taking it back would change; where somebody changed the file since, both differences, and why it is not taken
    /// back.
    #[must_use]
    pub fn told(&self, state: &State) -> String {
        let path = &self.path;
        match state {
            State::AsLeft => self.difference(),
            State::AsBefore => format!("{path}: is as it was before\n"),
            State::Unreadable(why) => format!("{path}: {why}\n"),
            State::Changed(now) => format!(
                "{path}: somebody changed it since, so it is not taken back. Since the thread left it:\n{}What the thread had \
                 changed, the other way round:\n{}",
                self.since(now.as_deref()),
                self.difference()
            ),
        }
    }

    /// How many lines taking it back puts in, and takes out.
    #[must_use]
    pub fn lines(&self) -> (usize, usize) {
        changed_lines(&words(Some(&self.after)), &words(self.before.as_deref()))
    }

    /// What taking it back changes, as a unified difference.
    #[must_use]
    pub fn difference(&self) -> String {
        text(&self.path, Some(&self.after), self.before.as_deref())
    }

    /// What somebody made of what the thread left, as a unified difference.
    #[must_use]
    pub fn since(&self, now: Option<&[u8]>) -> String {
        text(&self.path, Some(&self.after), now)
    }
}

fn text(path: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> String {
    difference(path, &words(old), &words(new))
}

fn words(bytes: Option<&[u8]>) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes.unwrap_or_default())
}

/// Puts a file back as it was, if it is as the thread left it. False where it was that already.
///
/// # Errors
/// Why it stays as it is, in a sentence.
pub fn take_back(root: &Root, taken: &Taken) -> Result<bool, String> {
    match taken.state(root) {
        State::AsBefore => return Ok(false),
        State::Changed(_) => return Err("somebody changed it since".to_owned()),
        State::Unreadable(why) => return Err(why),
        State::AsLeft => {}
    }
    let place = root.writable(&taken.path).map_err(|error| error.to_string())?;
    let done = match &taken.before {
        Some(bytes) => root.put(&place.path, bytes),
        None => root.remove(&place.path),
    };
    done.map(|()| true).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::fs;

    /// What happens to the files of a project.
    #[derive(Clone, Debug)]
    enum Step {
        /// The thread writes; with `false` it was killed between the note and the write.
        Writes(u8, u8, bool),
        Somebody(u8, Option<u8>),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            3 => (0_u8..3, 0_u8..5, proptest::bool::weighted(0.8)).prop_map(|(file, text, done)| Step::Writes(file, text, done)),
            1 => (0_u8..3, proptest::option::of(0_u8..5)).prop_map(|(file, text)| Step::Somebody(file, text)),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        /// Whatever was written, by whom and however far it came: each file is byte for byte as it was, or it is refused
        /// and stays as it is.
        #[test]
        fn a_file_is_as_it_was_or_refused(
            begun in proptest::collection::vec(proptest::option::of(0_u8..5), 3),
            steps in proptest::collection::vec(step(), 0..12),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let root = Root::new(folder.path());
            let path = |file: u8| folder.path().join(format!("f{file}"));
            let text = |text: u8| format!("text {text}\n").into_bytes();
            for (file, content) in (0_u8..).zip(&begun) {
                if let Some(content) = content { fs::write(path(file), text(*content)).unwrap(); }
            }
            let mut taken: BTreeMap<u8, Taken> = BTreeMap::new();
            let mut foreign: BTreeMap<u8, bool> = BTreeMap::new();
            for step in &steps {
                match step {
                    Step::Writes(file, content, done) => {
                        let (before, after) = (fs::read(path(*file)).ok(), text(*content));
                        let one = taken.entry(*file).or_insert_with(|| Taken {
                            path: format!("f{file}"), before, after: Vec::new(), written: Vec::new(),
                        });
                        one.written.push(ContentHash::of(&after));
                        one.after.clone_from(&after);
                        if *done { fs::write(path(*file), after).unwrap(); }
                    }
                    Step::Somebody(file, content) => {
                        foreign.insert(*file, true);
                        match content {
                            Some(content) => fs::write(path(*file), text(*content)).unwrap(),
                            None => drop(fs::remove_file(path(*file))),
                        }
                    }
                }
            }
            for (file, one) in &taken {
                let now = fs::read(path(*file)).ok();
                let expected = if take_back(&root, one).is_ok() { one.before.clone() } else { now };
                prop_assert_eq!(fs::read(path(*file)).ok(), expected);
                if !foreign.contains_key(file) {
                    prop_assert_eq!(fs::read(path(*file)).ok(), begun.get(usize::from(*file)).copied().flatten().map(text));
                }
            }
            let untouched = (0_u8..3).filter(|file| !taken.contains_key(file) && !foreign.contains_key(file));
            for file in untouched {
                prop_assert_eq!(fs::read(path(file)).ok(), begun.get(usize::from(file)).copied().flatten().map(text));
            }
            prop_assert!(!fs::read_dir(folder.path()).unwrap().flatten().any(|entry| entry.file_name().to_string_lossy().starts_with(".new-")));
        }
    }
}
