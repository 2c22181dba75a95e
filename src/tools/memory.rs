//! What a project's threads remember: its memory, a list of notes.

use super::shared_file::{MOST, change, checked, read};
use super::{Answer, Failed};
use crate::ports::Beneath;
use serde::{Deserialize, Serialize};

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
        return Ok("No note contains any of these words.".to_owned());
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

fn unknown(id: u64) -> Failed {
    Failed(format!("There is no note [{id}]. Search for it first."))
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
        assert_eq!(query("cook"), "No note contains any of these words.");
        assert_eq!(said(update(&path, Update { id: 1, text: "It needs gcc".to_owned() })), "[1] is changed.");
        assert_eq!(said(remove(&path, &Remove { id: 3 })), "[3] is forgotten.");
        assert_eq!(said(remove(&path, &Remove { id: 3 })), "There is no note [3]. Search for it first.");
        // A number is never given twice.
        assert_eq!(said(add(&path, Add { text: "New".to_owned() })), "Remembered as [4].");
        let kept: Vec<_> = notes(&path).unwrap().into_iter().map(|note| (note.id, note.text)).collect();
        assert_eq!(kept, [(1, "It needs gcc".into()), (2, "Ada owns the build".into()), (4, "New".into())]);
        assert!(said(add(&path, Add { text: "x".repeat(2_001) })).contains("longer than 2000 characters"));
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
        for (text, why) in [("{", "could not read"), ("{\"version\": 2, \"last\": 0, \"notes\": []}", "a newer levain")]
        {
            std::fs::write(path.path(), text).unwrap();
            assert!(said(add(&path, Add { text: "a".to_owned() })).contains(why));
            assert_eq!(std::fs::read_to_string(path.path()).unwrap(), text);
        }
    }
}
