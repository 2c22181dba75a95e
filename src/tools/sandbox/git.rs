//! What of a git repository decides what git runs later. It is found by reading what git itself reads first: `.git`, where
//! that is a file the folder it names, and the folder that several of those share. What the settings in there name
//! (included files, folders of hooks) is not followed.

use std::fs;
use std::path::{Path, PathBuf};

/// In a repository's folder: settings, hooks, what the repositories of its parts and its other worktrees have of that,
/// addresses from before there were settings, and the name of the folder in which all of this is looked for instead.
const DECIDES: [&str; 9] =
    ["hooks", "config", "config.worktree", "info", "modules", "commondir", "worktrees", "remotes", "branches"];

/// What is guarded of the repository of `folder`. Where there is none, that one is made there.
pub(super) fn guarded(folder: &Path) -> Vec<PathBuf> {
    let entry = folder.join(".git");
    let Some(own) = repository(&entry) else { return vec![entry] };
    let mut guarded = Vec::new();
    if own != entry {
        guarded.push(entry);
    }
    let common = named_in(&own.join("commondir"), "").unwrap_or_else(|| own.clone());
    guarded.extend(DECIDES.map(|name| common.join(name)));
    if own != common {
        guarded.push(own);
    }
    guarded
}

/// The folder that `.git` is or leads to, if git takes it for a repository's.
fn repository(entry: &Path) -> Option<PathBuf> {
    let folder = if entry.is_file() { named_in(entry, "gitdir:")? } else { fs::canonicalize(entry).ok()? };
    // With links git made them long ago.
    folder.join("HEAD").symlink_metadata().is_ok().then_some(folder)
}

/// The folder whose name is in a file, behind `word`.
fn named_in(file: &Path, word: &str) -> Option<PathBuf> {
    let text = fs::read_to_string(file).ok()?;
    let name = text.strip_prefix(word)?.trim_start_matches(' ').trim_end_matches(['\r', '\n']);
    fs::canonicalize(file.parent()?.join(name)).ok()
}

/// Whether the repository's settings mean something else when a `commondir` is there, though it names the same folder: git
/// passes over where the files are, and that there are none, then.
#[cfg(target_os = "linux")]
pub(super) fn heeds_commondir(repository: &Path) -> bool {
    let text = fs::read_to_string(repository.join("config")).unwrap_or_default().to_lowercase();
    let mut settings = text.lines().map(|line| line.split_once('=').unwrap_or((line, "")));
    settings.any(|(name, value)| {
        let name = name.rsplit([']', ' ', '\t']).find(|part| !part.is_empty());
        name == Some("worktree") || (name == Some("bare") && value.trim() != "false")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn a_repository_is_one_only_with_a_head() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        assert_eq!(guarded(&root), [root.join(".git")]);
        fs::create_dir_all(root.join(".git/hooks")).unwrap();
        assert_eq!(guarded(&root), [root.join(".git")]);
        write(&root.join(".git/HEAD"), "ref: refs/heads/main\n");
        assert_eq!(guarded(&root), DECIDES.map(|name| root.join(".git").join(name)));
    }

    #[test]
    fn a_file_or_a_link_that_leads_to_a_repository_is_guarded_with_what_decides_there() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        let (bare, own) = (root.join(".bare"), root.join(".bare/worktrees/main"));
        write(&bare.join("HEAD"), "ref: refs/heads/main\n");
        write(&own.join("HEAD"), "ref: refs/heads/main\n");
        write(&own.join("commondir"), "../..\n");
        write(&root.join("main/.git"), &format!("gitdir: {}\n", own.display()));
        write(&root.join(".git"), "gitdir: ./.bare\n");
        let shared = DECIDES.map(|name| bare.join(name));
        assert_eq!(guarded(&root), [&[root.join(".git")], shared.as_slice()].concat());
        assert_eq!(guarded(&root.join("main")), [&[root.join("main/.git")], shared.as_slice(), &[own]].concat());
        fs::remove_file(root.join(".git")).unwrap();
        std::os::unix::fs::symlink(".bare", root.join(".git")).unwrap();
        assert_eq!(guarded(&root), [&[root.join(".git")], shared.as_slice()].concat());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn settings_that_a_commondir_would_change_are_found() {
        let folder = tempfile::tempdir().unwrap();
        for (text, heeds) in [
            ("[core]\n\tbare = false\n[extensions]\n\tworktreeConfig = true\n", false),
            ("[core]\n\tbare = true\n", true),
            ("[core]\n\tbare\n", true),
            ("[core] worktree=../elsewhere\n", true),
        ] {
            fs::write(folder.path().join("config"), text).unwrap();
            assert_eq!(heeds_commondir(folder.path()), heeds, "{text}");
        }
    }
}
