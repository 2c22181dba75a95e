//! Which git branch a folder is on, read without git: a project's git settings name programs, which git would run to look
//! whether files changed.
//!
//! Only `HEAD` is read, and what leads to it: `.git`, which is a folder or, in a worktree or submodule, a file that names
//! one. Each is opened without following a link and without waiting, has to be a regular file, and is read to a bound.

use rustix::fs::{Mode, OFlags, open, openat};
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Longest file that is read, in bytes: a path, or the name of a branch.
const LONGEST: u64 = 8 << 10;

/// Longest name of a branch that is told, in bytes.
const LONGEST_NAME: usize = 255;

/// The name of the branch that the nearest git work tree around `folder` is on; `(detached)` on none.
pub(super) fn of(folder: &Path) -> Option<String> {
    let tree = folder.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok())?;
    let head = read(&state_folder(tree)?, "HEAD")?;
    let head = head.trim_end();
    let Some(target) = head.strip_prefix("ref:") else {
        let is_hash = matches!(head.len(), 40 | 64) && head.bytes().all(|byte| byte.is_ascii_hexdigit());
        return is_hash.then(|| "(detached)".to_owned());
    };
    let name = target.trim_start().strip_prefix("refs/heads/")?;
    is_name(name).then(|| name.to_owned())
}

/// The folder with the `HEAD` of the work tree.
fn state_folder(tree: &Path) -> Option<OwnedFd> {
    if let Ok(folder) = open(tree.join(".git"), FOLDER.union(OFlags::NOFOLLOW), Mode::empty()) {
        return Some(folder);
    }
    let tree_folder = open(tree, FOLDER, Mode::empty()).ok()?;
    let text = read(&tree_folder, ".git")?;
    let named = PathBuf::from(text.trim_end().strip_prefix("gitdir:")?.trim_start());
    // Relative to the work tree.
    openat(tree_folder, named, FOLDER, Mode::empty()).ok()
}

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
const FILE: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// The text of a regular file.
fn read(folder: &impl AsFd, name: &str) -> Option<String> {
    let file = File::from(openat(folder, name, FILE, Mode::empty()).ok()?);
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    file.take(LONGEST + 1).read_to_string(&mut text).ok()?;
    (text.len() as u64 <= LONGEST).then_some(text)
}

/// Whether git would make a branch of that name, as far as it matters to who reads it.
fn is_name(name: &str) -> bool {
    let refused = |letter: char| {
        letter.is_whitespace()
            || crate::domain::letters::is_hidden_behind('a', letter)
            || matches!(letter, '~' | '^' | ':' | '?' | '*' | '[' | '\\')
    };
    // What other ways of keeping branches leave in HEAD.
    let is_stub = name == ".invalid";
    !name.is_empty() && name.len() <= LONGEST_NAME && !is_stub && !name.contains(refused)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn tree(head: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(".git")).unwrap();
        fs::write(folder.path().join(".git/HEAD"), head).unwrap();
        folder
    }

    #[test]
    fn s03_the_branch_is_read_from_its_file() {
        for (head, branch) in [
            ("ref: refs/heads/main\n", Some("main")),
            ("ref: refs/heads/topic/漢字\n", Some("topic/漢字")),
            ("0123456789abcdef0123456789abcdef01234567\n", Some("(detached)")),
            ("ref: refs/heads/.invalid\n", None),
            ("ref: refs/tags/x\n", None),
            ("ref: refs/heads/a\u{1b}]52;c;x\u{7}\n", None),
            ("ref: refs/heads/a b\n", None),
            ("ref: refs/heads/a\u{e0041}\n", None),
            ("", None),
            ("root:x:0:0\n", None),
        ] {
            let folder = tree(head);
            let below = folder.path().join("a/b");
            fs::create_dir_all(&below).unwrap();
            assert_eq!(of(folder.path()).as_deref(), branch, "{head:?}");
            assert_eq!(of(&below).as_deref(), branch, "{head:?}");
        }
        let long = tree(&format!("ref: refs/heads/{}\n", "a".repeat(300)));
        assert_eq!(of(long.path()), None);
        let huge = tree(&format!("ref: refs/heads/a{}\n", " ".repeat(1 << 20)));
        assert_eq!(of(huge.path()), None);
    }

    #[test]
    fn s03_a_worktree_names_its_folder() {
        let folder = tree("ref: refs/heads/main\n");
        let state = folder.path().join(".git/worktrees/other");
        fs::create_dir_all(&state).unwrap();
        fs::write(state.join("HEAD"), "ref: refs/heads/other\n").unwrap();
        for named in [state.display().to_string(), "../.git/worktrees/other".to_owned()] {
            let other = folder.path().join("other");
            fs::create_dir_all(&other).unwrap();
            fs::write(other.join(".git"), format!("gitdir: {named}\n")).unwrap();
            assert_eq!(of(&other).as_deref(), Some("other"));
        }
    }

    #[test]
    fn s03_links_and_pipes_are_not_read() {
        let (secret, folder) = (tree("ref: refs/heads/elsewhere\n"), tree(""));
        let head = folder.path().join(".git/HEAD");
        fs::remove_file(&head).unwrap();
        symlink(secret.path().join(".git/HEAD"), &head).unwrap();
        assert_eq!(of(folder.path()), None);
        fs::remove_file(&head).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &head, rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert_eq!(of(folder.path()), None, "a pipe that nobody writes to");
        fs::remove_dir_all(folder.path().join(".git")).unwrap();
        symlink(secret.path().join(".git"), folder.path().join(".git")).unwrap();
        assert_eq!(of(folder.path()), None);
    }
}
