//! Which files of a folder are extensions. The rules are pi's: one level deep, in the order of names.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const INDEX: [&str; 2] = ["index.ts", "index.js"];

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
    let manifest = fs::read(folder.join("package.json")).ok();
    let manifest: Option<Value> = manifest.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let listed = manifest.as_ref().and_then(|manifest| manifest.pointer("/pi/extensions")?.as_array());
    if let Some(listed) = listed {
        let named = listed.iter().filter_map(Value::as_str).map(|name| folder.join(name));
        let clean = named.map(|path| path.components().collect::<PathBuf>());
        return clean.flat_map(|path| if path.is_dir() { index(&path) } else { vec![path] }).collect();
    }
    index(folder)
}

fn index(folder: &Path) -> Vec<PathBuf> {
    INDEX.iter().map(|name| folder.join(name)).find(|path| path.is_file()).into_iter().collect()
}

fn file(path: PathBuf) -> Vec<PathBuf> {
    let fits = path.extension().is_some_and(|ending| ending == "ts" || ending == "js");
    if fits && path.is_file() { vec![path] } else { Vec::new() }
}
