//! Whole settings files, good and bad. Beside each bad file lies what is said about it: one line for each problem,
//! `LINE: message; remedy`. A file whose name begins with `project` is read as a project's.

use levain::config::{Arguments, Config, Dirs, PROJECT_FILE};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// What is said about the file, one line for each problem.
fn said_about(file: &Path) -> (Config, String) {
    let folder = tempfile::tempdir().unwrap();
    let dirs = Dirs::below(folder.path());
    let root = folder.path().join("project");
    let is_project = file.file_name().unwrap().to_string_lossy().starts_with("project");
    let place = if is_project { root.join(PROJECT_FILE) } else { dirs.config_file() };
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    fs::copy(file, &place).unwrap();
    let (config, problems) = Config::load(&dirs, Some(&root), &|_| None, Arguments::default());
    let mut said = String::new();
    for problem in problems {
        assert_eq!(problem.file.as_deref(), Some(place.as_path()));
        let line = problem.line.map_or("-".to_owned(), |line| line.to_string());
        let remedy = problem.remedy.replace(&folder.path().display().to_string(), "DIR");
        writeln!(said, "{line}: {}; {remedy}", problem.message).unwrap();
    }
    (config, said)
}

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/configs").join(folder);
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

#[test]
fn good_files_pass_without_a_word() {
    for file in files("good") {
        let (config, said) = said_about(&file);
        assert_eq!(said, "", "{}", file.display());
        assert_ne!(config, Config::default(), "{} set nothing", file.display());
    }
}

/// With `UPDATE_EXPECTED=1` the expected texts are written instead of compared.
#[test]
fn bad_files_are_told_apart() {
    for file in files("bad") {
        let (_, said) = said_about(&file);
        let expected = file.with_extension("txt");
        assert_ne!(said, "", "{} passed", file.display());
        if std::env::var_os("UPDATE_EXPECTED").is_some() {
            fs::write(&expected, &said).unwrap();
        }
        assert_eq!(said, fs::read_to_string(&expected).unwrap_or_default(), "{}", expected.display());
    }
}
