//! `ls`, `glob` and `grep`: looking around without changing anything. Links are shown and not followed.

use super::root::{Entry, PathError, Root};
use super::{Answer, Failed};
use globset::{GlobBuilder, GlobMatcher};
use grep_regex::RegexMatcher;
use grep_searcher::sinks::Lossy;
use grep_searcher::{BinaryDetection, SearcherBuilder};
use ignore::{DirEntry, WalkBuilder};
use serde::Deserialize;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Most entries of a folder, files of a pattern and lines of a search.
const ENTRIES: usize = 500;
const FILES: usize = 100;
const MATCHES: usize = 100;

/// Letters of a line that was found.
const LINE_LETTERS: usize = 400;

#[derive(Deserialize)]
pub(super) struct Ls {
    path: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Glob {
    pattern: String,
    path: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Grep {
    pattern: String,
    path: Option<String>,
    include: Option<String>,
}

/// The entries of a folder: folders end with `/`, links say where they lead.
pub(super) fn ls(root: &Root, arguments: &Ls) -> Answer {
    let asked = arguments.path.as_deref().unwrap_or(".");
    let path = root.folder(asked)?;
    let failed = |source| PathError::Io { asked: asked.to_owned(), doing: "listed", source };
    let mut names = Vec::new();
    for entry in root.entries(&path).map_err(failed)? {
        names.push(match entry {
            Entry::Folder(name) => format!("{name}/"),
            Entry::Link(name, target) => format!("{name} -> {target}"),
            Entry::File(name) => name,
        });
    }
    names.sort_unstable();
    let all = names.len();
    if all == 0 {
        return Ok("(the folder is empty)".to_owned());
    }
    names.truncate(ENTRIES);
    if all > ENTRIES {
        names.push(format!("({} more entries; list with glob, or a folder below)", all - ENTRIES));
    }
    Ok(names.join("\n"))
}

/// The files whose path fits a pattern, by path.
pub(super) fn glob(root: &Root, arguments: &Glob, stop: &AtomicBool) -> Answer {
    let base = root.folder(arguments.path.as_deref().unwrap_or("."))?;
    let fits = matcher(&arguments.pattern)?;
    let mut found = Vec::new();
    let mut more = false;
    for entry in files(root, &base) {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        if entry.path().strip_prefix(&base).is_ok_and(|below| fits.is_match(below)) {
            if found.len() == FILES {
                more = true;
                break;
            }
            found.push(root.told(entry.path()));
        }
    }
    if found.is_empty() {
        return Ok("(no file matches)".to_owned());
    }
    if more {
        found.push(format!("(only the first {FILES} are shown; make the pattern narrower)"));
    }
    Ok(found.join("\n"))
}

/// The lines that fit a regular expression, as `file:line: text`.
pub(super) fn grep(root: &Root, arguments: &Grep, stop: &AtomicBool) -> Answer {
    let asked = arguments.path.as_deref().unwrap_or(".");
    let base = root.existing(asked)?;
    let include = arguments.include.as_deref().map(matcher).transpose()?;
    let expression = RegexMatcher::new_line_matcher(&arguments.pattern)
        .map_err(|error| Failed(format!("the pattern is not a regular expression: {error}")))?;
    let mut searcher = SearcherBuilder::new().binary_detection(BinaryDetection::quit(0)).line_number(true).build();
    let mut found: Vec<String> = Vec::new();
    for entry in files(root, &base) {
        if stop.load(Ordering::Relaxed) || found.len() > MATCHES {
            break;
        }
        let below = entry.path().strip_prefix(&base).unwrap_or(entry.path());
        if include.as_ref().is_some_and(|fits| !fits.is_match(below)) {
            continue;
        }
        let file = root.told(entry.path());
        let sink = Lossy(|number, line| {
            let text: String = line.trim_end().chars().take(LINE_LETTERS).collect();
            found.push(format!("{file}:{number}: {text}"));
            Ok(found.len() <= MATCHES && !stop.load(Ordering::Relaxed))
        });
        // A file that cannot be read has no lines to show.
        let looked = root.open(entry.path()).and_then(|opened| searcher.search_file(&expression, &opened, sink));
        if let Err(error) = looked {
            tracing::debug!(%file, %error, "not searched");
        }
    }
    if found.is_empty() {
        return Ok("(no line matches)".to_owned());
    }
    if found.len() > MATCHES {
        found.truncate(MATCHES);
        found.push(format!("(only the first {MATCHES} are shown; make the pattern narrower, or name a path)"));
    }
    Ok(found.join("\n"))
}

/// A pattern for paths; one without a `/` is for names at any depth.
fn matcher(pattern: &str) -> Result<GlobMatcher, Failed> {
    let anywhere = if pattern.contains('/') { pattern.to_owned() } else { format!("**/{pattern}") };
    let glob = GlobBuilder::new(anywhere.trim_start_matches('/')).literal_separator(true).build();
    glob.map(|glob| glob.compile_matcher()).map_err(|error| Failed(format!("the pattern cannot be used: {error}")))
}

/// Files below `base` in order, hidden ones too; without git's own and what the project ignores.
fn files(root: &Root, base: &Path) -> impl Iterator<Item = DirEntry> + use<> {
    let root = root.clone();
    let is_git = |entry: &DirEntry| entry.depth() > 0 && entry.file_name() == ".git";
    WalkBuilder::new(base)
        .hidden(false)
        .require_git(false)
        .follow_links(false)
        .sort_by_file_path(Path::cmp)
        .filter_entry(move |entry| !is_git(entry) && !root.is_kept(entry.path()))
        .build()
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn tree() -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("src/main.rs", "fn main() {}\n// TODO: more\n"),
            ("src/deep/a.rs", "// TODO\n"),
            ("notes.md", "todo\nTODO\n"),
            ("target/out.rs", "// TODO\n"),
            (".gitignore", "/target\n"),
            (".hidden", "TODO"),
            (".git/config", "TODO"),
            ("binary", "TODO\0"),
        ] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        symlink("/etc", folder.path().join("etc")).unwrap();
        let root = Root::new(folder.path());
        (folder, root)
    }

    fn go() -> AtomicBool {
        AtomicBool::new(false)
    }

    #[test]
    fn a_folder_is_listed() {
        let (_folder, root) = tree();
        let list = ls(&root, &Ls { path: None }).unwrap();
        assert_eq!(list, ".git/\n.gitignore\n.hidden\nbinary\netc -> /etc\nnotes.md\nsrc/\ntarget/");
        assert!(ls(&root, &Ls { path: Some("etc".into()) }).unwrap_err().0.contains("outside the project"));
        assert!(ls(&root, &Ls { path: Some("notes.md".into()) }).unwrap_err().0.contains("not a folder"));
    }

    #[test]
    fn files_are_found_by_pattern() {
        let (_folder, root) = tree();
        let find = |pattern: &str, path: Option<&str>| {
            let path = path.map(str::to_owned);
            glob(&root, &Glob { pattern: pattern.into(), path }, &go()).map_err(|failed| failed.0)
        };
        assert_eq!(find("*.rs", None).unwrap(), "src/deep/a.rs\nsrc/main.rs");
        assert_eq!(find("src/*.rs", None).unwrap(), "src/main.rs");
        assert_eq!(find("**/*.rs", Some("src/deep")).unwrap(), "src/deep/a.rs");
        assert_eq!(find("passwd", None).unwrap(), "(no file matches)");
        assert!(find("{", None).unwrap_err().contains("cannot be used"));
    }

    #[test]
    fn lines_are_found_by_expression() {
        let (_folder, root) = tree();
        let search = |pattern: &str, path: Option<&str>, include: Option<&str>| {
            let (path, include) = (path.map(str::to_owned), include.map(str::to_owned));
            grep(&root, &Grep { pattern: pattern.into(), path, include }, &go()).map_err(|failed| failed.0)
        };
        assert_eq!(
            search("TODO", None, None).unwrap(),
            ".hidden:1: TODO\nnotes.md:2: TODO\nsrc/deep/a.rs:1: // TODO\nsrc/main.rs:2: // TODO: more"
        );
        assert_eq!(search("(?i)todo", None, Some("*.md")).unwrap(), "notes.md:1: todo\nnotes.md:2: TODO");
        assert_eq!(search("main", Some("src/main.rs"), None).unwrap(), "src/main.rs:1: fn main() {}");
        assert_eq!(search("nowhere", None, None).unwrap(), "(no line matches)");
        assert!(search("(", None, None).unwrap_err().contains("not a regular expression"));
        assert!(search("root", Some("etc/passwd"), None).unwrap_err().contains("outside the project"));
    }
}
