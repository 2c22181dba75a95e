//! Whole items, good and bad. Beside each bad file in `tests/bad/<kind>/` lies what is said about it: one line for each
//! problem, `severity LINE: message; remedy`. A new file needs no code; run with `UPDATE_EXPECTED=1` to write what is said.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use levain::items::{Items, Kind, Spaces, check};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending != "expected"));
    files.sort();
    files
}

fn said_about(kind: Kind, file: &Path, items: &Items) -> String {
    let text = String::from_utf8_lossy(&fs::read(file).unwrap()).into_owned();
    let mut said = String::new();
    for problem in check::text(kind, &text, file, None, Some(items)) {
        assert_eq!(problem.file.as_deref(), Some(file));
        assert!(!problem.remedy.is_empty());
        let line = problem.line.map_or("-".to_owned(), |line| line.to_string());
        writeln!(said, "{} {line}: {}; {}", problem.severity.word(), problem.message, problem.remedy).unwrap();
    }
    said
}

#[test]
fn bad_items_are_told_apart() {
    let items = Items::list(&Spaces::embedded());
    for kind in Kind::ALL {
        let files = files(&format!("tests/bad/{kind}"));
        assert!(files.len() >= 3, "{kind}: {}", files.len());
        for file in files {
            let said = said_about(kind, &file, &items);
            assert_ne!(said, "", "{} passed", file.display());
            let expected = file.with_extension("expected");
            if std::env::var_os("UPDATE_EXPECTED").is_some() {
                fs::write(&expected, &said).unwrap();
            }
            assert_eq!(said, fs::read_to_string(&expected).unwrap_or_default(), "{}", expected.display());
        }
    }
}

#[test]
fn what_is_shipped_has_no_problem() {
    let items = Items::list(&Spaces::embedded());
    assert_eq!(items.problems(), []);
    assert!(items.iter().count() > 0);
    for found in items.iter() {
        assert_eq!(check::item(&items, found.item), [], "{}", found.item.id);
    }
}
