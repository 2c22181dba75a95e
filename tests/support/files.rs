//! What lies in a folder.

use std::path::{Path, PathBuf};

/// All files below `folder`.
pub fn all_files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(all_files(&path));
        } else if path.is_file() {
            found.push((path.clone(), std::fs::read(&path).unwrap_or_default()));
        }
    }
    found
}
