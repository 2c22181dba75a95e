//! Which files of a folder are extensions, skills or templates, in the order of names. The rules are pi's.

use super::regular;
use serde_json::Value;
use std::fs;
use std::path::{Component, Path, PathBuf};

const INDEX: [&str; 2] = ["index.ts", "index.js"];

/// More skills than this are not looked for below a folder, nor deeper than this.
const MOST: usize = 500;
const DEEPEST: usize = 6;
/// The longest `package.json` that is read, in bytes.
const LONGEST: u64 = 1 << 20;

/// The extensions of a folder of extensions; none where there is no such folder.
#[must_use]
pub fn found_in(folder: &Path) -> Vec<PathBuf> {
    let own = unit(folder);
    if !own.is_empty() {
        return own;
    }
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    let is_wanted = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        !name.starts_with('.') && name != "node_modules" && !name.ends_with(".d.ts")
    };
    paths.into_iter().filter(is_wanted).flat_map(|path| if path.is_dir() { unit(&path) } else { file(path) }).collect()
}

/// What one folder is loaded by: what its `package.json` names, else its index.
#[must_use]
pub fn unit(folder: &Path) -> Vec<PathBuf> {
    let manifest = manifest(folder);
    let listed = manifest.as_ref().and_then(|manifest| manifest.pointer("/pi/extensions")?.as_array());
    if let Some(listed) = listed {
        let named = listed.iter().filter_map(Value::as_str).map(|name| cleaned(&folder.join(name)));
        // Whoever looked through the folder saw nothing else.
        let inside = named.filter(|path| path.starts_with(folder));
        return inside.flat_map(|path| if path.is_dir() { index(&path) } else { vec![path] }).collect();
    }
    index(folder)
}

/// Whether the `package.json` of a folder says something to pi.
#[must_use]
pub fn is_package(folder: &Path) -> bool {
    manifest(folder).is_some_and(|manifest| manifest.get("pi").is_some())
}

pub(super) fn manifest(folder: &Path) -> Option<Value> {
    serde_json::from_slice(&regular::read(&folder.join("package.json"), LONGEST).ok()?).ok()
}

/// Without `.` and `..`.
pub(super) fn cleaned(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(clean.pop()),
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => clean.push(part),
        }
    }
    clean
}

fn index(folder: &Path) -> Vec<PathBuf> {
    INDEX.iter().map(|name| folder.join(name)).find(|path| path.is_file()).into_iter().collect()
}

fn file(path: PathBuf) -> Vec<PathBuf> {
    let fits = path.extension().is_some_and(|ending| ending == "ts" || ending == "js");
    if fits && path.is_file() { vec![path] } else { Vec::new() }
}

/// Files of skills: a folder with a `SKILL.md` is one and is not searched further; in the root Markdown files are, too.
pub(super) fn skills_in(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    if depth > DEEPEST || found.len() >= MOST {
        return;
    }
    let own = folder.join("SKILL.md");
    if depth > 0 && own.is_file() {
        return found.push(own);
    }
    for path in entries(folder) {
        let is_link = path.symlink_metadata().is_ok_and(|meta| meta.is_symlink());
        if path.is_dir() && !(is_link && depth > 0) {
            skills_in(&path, depth + 1, found);
        } else if depth == 0 && is_markdown(&path) && path.is_file() {
            found.push(path);
        }
    }
}

/// Markdown files in a folder and below it.
pub(super) fn templates_in(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    for path in entries(folder) {
        let is_link = path.symlink_metadata().is_ok_and(|meta| meta.is_symlink());
        if path.is_dir() && !is_link && depth < DEEPEST {
            templates_in(&path, depth + 1, found);
        } else if is_markdown(&path) && path.is_file() && found.len() < MOST {
            found.push(path);
        }
    }
}

pub(super) fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "md")
}

/// What a folder holds, by name, without what is hidden.
pub(super) fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    let hidden = |path: &PathBuf| {
        path.file_name().is_none_or(|name| name.to_string_lossy().starts_with('.') || name == "node_modules")
    };
    paths.retain(|path| !hidden(path));
    paths.sort();
    paths
}
