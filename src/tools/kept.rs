//! What a project's threads keep together: memory and personas, each a small JSON file. Several threads may change one
//! at the same time: a change holds a lock, reads, and replaces the file whole.

use super::{Answer, Failed};
use crate::domain::Persona;
use crate::ports::Beneath;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io;

/// Longest file that is read, in bytes.
const LONGEST: u64 = 4 << 20;
/// Most notes of a project, and most personas.
const MOST: usize = 1_000;
/// Longest note and longest persona, in letters.
const LONGEST_TEXT: usize = 2_000;
/// Most notes that a search tells.
const MOST_FOUND: usize = 20;

/// Something worth remembering.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Never given twice.
    pub id: u64,
    pub text: String,
}

/// Everything that is remembered, the oldest first.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Notes {
    /// Number of the newest note there ever was.
    last: u64,
    notes: Vec<Note>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Personas {
    personas: Vec<Persona>,
}

/// How a file stands on disk.
#[derive(Serialize, Deserialize)]
struct Versioned<T> {
    version: u32,
    #[serde(flatten)]
    content: T,
}

const VERSION: u32 = 1;

#[derive(Deserialize)]
pub(super) struct Add {
    text: String,
}

#[derive(Deserialize)]
pub(super) struct Search {
    query: String,
}

#[derive(Deserialize)]
pub(super) struct Update {
    id: u64,
    text: String,
}

#[derive(Deserialize)]
pub(super) struct Remove {
    id: u64,
}

#[derive(Deserialize)]
pub(super) struct Create {
    name: String,
    text: String,
}

#[derive(Deserialize)]
pub(super) struct Switch {
    name: String,
}

/// What is remembered in the file at `path`, the oldest first; nothing when there is no such file.
///
/// # Errors
/// The sentence a person should read.
pub fn notes(path: &Beneath) -> Result<Vec<Note>, String> {
    read::<Notes>(path).map(|notes| notes.notes).map_err(|Failed(message)| message)
}

pub(super) fn add(path: &Beneath, Add { text }: Add) -> Answer {
    let text = checked(&text)?;
    change(path, |notes: &mut Notes| {
        if notes.notes.len() >= MOST {
            return Err(Failed(format!("There are {MOST} notes already; remove what no longer holds first.")));
        }
        notes.last += 1;
        notes.notes.push(Note { id: notes.last, text });
        Ok(format!("Remembered as [{}].", notes.last))
    })
}

/// Notes with most of the words first, of those with equally many the newest.
pub(super) fn search(path: &Beneath, Search { query }: &Search) -> Answer {
    let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
    let mut found: Vec<(usize, Note)> = read::<Notes>(path)?
        .notes
        .into_iter()
        .map(|note| {
            let text = note.text.to_lowercase();
            (words.iter().filter(|word| text.contains(word.as_str())).count(), note)
        })
        .filter(|(hits, _)| *hits > 0)
        .collect();
    found.sort_by_key(|(hits, note)| std::cmp::Reverse((*hits, note.id)));
    if found.is_empty() {
        return Ok("Nothing that is remembered holds any of these words.".to_owned());
    }
    let more = found.len().saturating_sub(MOST_FOUND);
    let mut lines: Vec<String> =
        found.into_iter().take(MOST_FOUND).map(|(_, Note { id, text })| format!("[{id}] {text}")).collect();
    if more > 0 {
        lines.push(format!("({more} more)"));
    }
    Ok(lines.join("\n"))
}

pub(super) fn update(path: &Beneath, Update { id, text }: Update) -> Answer {
    let text = checked(&text)?;
    change(path, |notes: &mut Notes| {
        let note = notes.notes.iter_mut().find(|note| note.id == id).ok_or_else(|| unknown(id))?;
        note.text = text;
        Ok(format!("[{id}] is changed."))
    })
}

pub(super) fn remove(path: &Beneath, Remove { id }: &Remove) -> Answer {
    change(path, |notes: &mut Notes| {
        let place = notes.notes.iter().position(|note| note.id == *id).ok_or_else(|| unknown(*id))?;
        notes.notes.remove(place);
        Ok(format!("[{id}] is forgotten."))
    })
}

pub(super) fn create(path: &Beneath, Create { name, text }: Create) -> Answer {
    let (name, text) = (named(&name)?, checked(&text)?);
    change(path, |kept: &mut Personas| {
        kept.personas.retain(|persona| persona.name != name);
        if kept.personas.len() >= MOST {
            return Err(Failed(format!("There are {MOST} personas already.")));
        }
        let answer = format!("`{name}` is there. Switch to it to take it on.");
        kept.personas.push(Persona { name, text });
        Ok(answer)
    })
}

/// The persona of this name; none for `none`.
pub(super) fn persona(path: &Beneath, Switch { name }: &Switch) -> Result<Option<Persona>, Failed> {
    if name.trim() == "none" {
        return Ok(None);
    }
    let personas = read::<Personas>(path)?.personas;
    let names: Vec<String> = personas.iter().map(|persona| persona.name.clone()).collect();
    let found = personas.into_iter().find(|persona| persona.name == name.trim());
    found.map(Some).ok_or_else(|| {
        let there = if names.is_empty() { "none yet; create one first".to_owned() } else { names.join(", ") };
        Failed(format!("There is no persona `{}`. There are: {there}.", name.trim()))
    })
}

fn unknown(id: u64) -> Failed {
    Failed(format!("There is no note [{id}]. Search for it first."))
}

fn checked(text: &str) -> Result<String, Failed> {
    if text.trim().is_empty() {
        return Err(Failed("`text` is empty.".to_owned()));
    }
    if text.chars().count() > LONGEST_TEXT {
        return Err(Failed(format!("`text` is longer than {LONGEST_TEXT} letters; keep to what matters.")));
    }
    Ok(text.trim().to_owned())
}

fn named(name: &str) -> Result<String, Failed> {
    let name = name.trim();
    let plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | ' ');
    if name.is_empty() || name == "none" || name.chars().count() > 64 || !name.chars().all(plain) {
        let why = "A persona's name is made of letters, digits, `_`, `-` and blanks, 64 at most, and is not `none`.";
        return Err(Failed(why.to_owned()));
    }
    Ok(name.to_owned())
}

fn lost(path: &Beneath, error: &io::Error) -> Failed {
    Failed(format!("{} could not be used: {error}.", path.path().display()))
}

fn read<T: DeserializeOwned + Default>(path: &Beneath) -> Result<T, Failed> {
    let Some(bytes) = path.read(LONGEST).map_err(|error| lost(path, &error))? else { return Ok(T::default()) };
    let broken =
        |why: String| Failed(format!("{} does not read: {why}. Mend it or move it away.", path.path().display()));
    let found: Versioned<T> = serde_json::from_slice(&bytes).map_err(|error| broken(error.to_string()))?;
    if found.version > VERSION {
        return Err(broken("a newer levain wrote it".to_owned()));
    }
    Ok(found.content)
}

/// Changes the file at `path`. Nothing is written when `change` fails.
fn change<T: DeserializeOwned + Default + Serialize>(path: &Beneath, change: impl FnOnce(&mut T) -> Answer) -> Answer {
    let lost = |error: io::Error| lost(path, &error);
    path.folder().map_or(Ok(false), |folder| folder.make_folder()).map_err(lost)?;
    let lock = path.with_ending("lock").open_append().map_err(lost)?;
    lock.lock().map_err(lost)?;
    let mut content = read::<T>(path)?;
    let answer = change(&mut content)?;
    let text =
        serde_json::to_vec_pretty(&Versioned { version: VERSION, content }).map_err(|error| lost(error.into()))?;
    path.replace(&text).map_err(lost)?;
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(answer: Answer) -> String {
        match answer {
            Ok(text) | Err(Failed(text)) => text,
        }
    }

    #[test]
    fn notes_are_kept_found_changed_and_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let path = Beneath::new(folder.path(), "agent/memory.json");
        assert_eq!(notes(&path), Ok(Vec::new()));
        for text in ["The build needs clang", "Ada owns the build", "Tests run at night"] {
            said(add(&path, Add { text: text.to_owned() }));
        }
        let query = |query: &str| said(search(&path, &Search { query: query.to_owned() }));
        assert_eq!(query("BUILD ada"), "[2] Ada owns the build\n[1] The build needs clang");
        assert_eq!(query("cook"), "Nothing that is remembered holds any of these words.");
        assert_eq!(said(update(&path, Update { id: 1, text: "It needs gcc".to_owned() })), "[1] is changed.");
        assert_eq!(said(remove(&path, &Remove { id: 3 })), "[3] is forgotten.");
        assert_eq!(said(remove(&path, &Remove { id: 3 })), "There is no note [3]. Search for it first.");
        // A number is never given twice.
        assert_eq!(said(add(&path, Add { text: "New".to_owned() })), "Remembered as [4].");
        let kept: Vec<_> = notes(&path).unwrap().into_iter().map(|note| (note.id, note.text)).collect();
        assert_eq!(kept, [(1, "It needs gcc".into()), (2, "Ada owns the build".into()), (4, "New".into())]);
        assert!(said(add(&path, Add { text: "x".repeat(2_001) })).contains("longer than 2000 letters"));
    }

    #[test]
    fn threads_that_write_at_once_lose_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = Beneath::new(folder.path(), "memory.json");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..10).for_each(|number| drop(said(add(&path, Add { text: format!("n{number}") })))));
            }
        });
        let ids: std::collections::BTreeSet<u64> = notes(&path).unwrap().iter().map(|note| note.id).collect();
        assert_eq!(ids.len(), 40);
    }

    #[test]
    fn a_file_that_does_not_read_is_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = Beneath::new(folder.path(), "memory.json");
        for (text, why) in [("{", "does not read"), ("{\"version\": 2, \"last\": 0, \"notes\": []}", "a newer levain")]
        {
            std::fs::write(path.path(), text).unwrap();
            assert!(said(add(&path, Add { text: "a".to_owned() })).contains(why));
            assert_eq!(std::fs::read_to_string(path.path()).unwrap(), text);
        }
    }

    #[test]
    fn a_persona_is_made_and_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = Beneath::new(folder.path(), "personas.json");
        let switch = |name: &str| persona(&path, &Switch { name: name.to_owned() });
        let Err(Failed(message)) = switch("cook") else { panic!("nobody made it") };
        assert!(message.contains("none yet"), "{message}");
        said(create(&path, Create { name: "cook".into(), text: "Speaks of soup.".into() }));
        said(create(&path, Create { name: "cook".into(), text: "Speaks of stew.".into() }));
        let found = switch(" cook ").ok().flatten().unwrap();
        assert_eq!((found.name.as_str(), found.text.as_str()), ("cook", "Speaks of stew."));
        assert!(matches!(switch("none"), Ok(None)));
        assert!(said(create(&path, Create { name: "none".into(), text: "x".into() })).contains("name"));
    }
}
