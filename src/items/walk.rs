//! Listing the files of one kind below a root. Links are followed only within the root's `.ai`.

use super::id::{ItemId, Kind};
use super::space::Root;
use crate::domain::{Problem, Severity};
use std::fs;
use std::path::{Path, PathBuf};

/// More files than this below one folder are nobody's items.
const MOST_FILES: usize = 100_000;

/// Deeper folders than this are not entered.
const DEEPEST: usize = 32;

/// A file that is an item: its id, the rank of its ending, its path relative to the root.
pub(super) struct File {
    pub(super) id: ItemId,
    pub(super) rank: usize,
    pub(super) path: String,
}

/// One walk.
struct Walk<'a> {
    kind: Kind,
    root: &'a Root,
    /// The root's `.ai` without links.
    inside: PathBuf,
    /// The folders we are in, without links, to notice a link back into one of them.
    above: Vec<PathBuf>,
    found: Vec<File>,
    problems: &'a mut Vec<Problem>,
}

/// The items of `kind` below the folder `base` of `root`.
pub(super) fn files(kind: Kind, root: &Root, base: &Path, problems: &mut Vec<Problem>) -> Vec<File> {
    // Nothing there, or not readable: no items, and nothing worth a word.
    let Ok(inside) = fs::canonicalize(base.join(".ai")) else { return Vec::new() };
    let relative = format!(".ai/{}", kind.folder());
    let mut walk = Walk { kind, root, inside, above: Vec::new(), found: Vec::new(), problems };
    match fs::canonicalize(base.join(&relative)) {
        Ok(real) if !real.starts_with(&walk.inside) => walk.refuse(&relative),
        Ok(real) => walk.folder(&real, &relative, ""),
        Err(_none) => {}
    }
    walk.found
}

/// The item that a path below a kind's folder stands for.
pub(super) fn item(kind: Kind, below: &str) -> Option<(ItemId, usize)> {
    let (stem, ending) = below.rsplit_once('.')?;
    let rank = kind.rank(ending)?;
    Some((ItemId::parse(stem).ok()?, rank))
}

/// Folders that tools leave behind, and what is hidden.
fn passed_over(name: &str) -> bool {
    name.starts_with('.') || matches!(name, "__pycache__" | "node_modules")
}

impl Walk<'_> {
    fn warn(&mut self, path: &str, message: String, remedy: &str) {
        self.problems.push(Problem::at(&self.root.file(path), None, Severity::Warning, message, remedy));
    }

    fn refuse(&mut self, path: &str) {
        let message = "this link leads out of its space, so its target is not an item".to_owned();
        self.problems.push(Problem::at(
            &self.root.file(path),
            None,
            Severity::Error,
            message,
            "copy the file, or name the folder in LEVAIN_SYSTEM_SPACE",
        ));
    }

    /// `real` without links, `shown` relative to the root, `below` relative to the kind's folder.
    fn folder(&mut self, real: &Path, shown: &str, below: &str) {
        let entries = match fs::read_dir(real) {
            Ok(entries) => entries,
            Err(error) => return self.warn(shown, format!("could not be listed: {error}"), "look at its permissions"),
        };
        self.above.push(real.to_owned());
        for entry in entries.flatten() {
            let Ok(name) = entry.file_name().into_string() else {
                self.warn(shown, "a file in this folder has a name that is not UTF-8".to_owned(), "rename it");
                continue;
            };
            if passed_over(&name) {
                continue;
            }
            let Ok(kind) = entry.file_type() else { continue };
            let path = format!("{shown}/{name}");
            let id = if below.is_empty() { name } else { format!("{below}/{name}") };
            if kind.is_symlink() {
                self.link(&entry.path(), &path, &id);
            } else if kind.is_dir() {
                self.enter(&entry.path(), &path, &id);
            } else if kind.is_file() {
                self.file(path, &id);
            }
        }
        self.above.pop();
    }

    fn enter(&mut self, real: &Path, shown: &str, below: &str) {
        if self.above.len() >= DEEPEST {
            return self.warn(shown, format!("lies more than {DEEPEST} folders deep"), "move it up");
        }
        self.folder(real, shown, below);
    }

    fn link(&mut self, link: &Path, shown: &str, below: &str) {
        let Ok(real) = fs::canonicalize(link) else {
            return self.warn(shown, "this link is broken".to_owned(), "remove it, or put back what it names");
        };
        if !real.starts_with(&self.inside) {
            self.refuse(shown);
        } else if real.is_file() {
            self.file(shown.to_owned(), below);
        } else if self.above.contains(&real) {
            self.warn(shown, "this link points to a folder that contains it".to_owned(), "remove it");
        } else if real.is_dir() {
            self.enter(&real, shown, below);
        }
    }

    fn file(&mut self, path: String, below: &str) {
        if self.found.len() >= MOST_FILES {
            return;
        }
        if let Some((id, rank)) = item(self.kind, below) {
            self.found.push(File { id, rank, path });
        }
    }
}
