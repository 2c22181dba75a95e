//! Whole items, provider files and settings of agents, good and bad. Beside each bad file in `tests/bad/` lies what is said
//! about it: one line for each problem, `severity LINE: message; remedy`. A new file needs no code; run with `UPDATE_EXPECTED=1` to write what is said.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use levain::domain::Space;
use levain::items::signature::TrustStore;
use levain::items::{Cascade, Directive, Items, Kind, Spaces, cascade, check};
use levain::providers::ProviderFile;
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

#[test]
fn bad_items_are_told_apart() {
    let items = Items::list(&Spaces::embedded());
    for kind in Kind::ALL {
        told_apart(&format!("tests/bad/{kind}"), |file, text| check::text(kind, text, file, None, Some(&items)));
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

/// The project's own items: what a newcomer reads first must be good.
#[test]
fn the_items_of_this_repository_have_no_problem() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let nobody = tempfile::tempdir().unwrap();
    let items = Items::list(&Spaces::new(root, nobody.path(), []));
    assert_eq!(items.problems(), []);
    let own = |item: &levain::items::Item| items.file(item).starts_with(root.join(".ai"));
    let mut ids = Vec::new();
    for found in items.iter().filter(|found| own(found.item)) {
        assert_eq!(check::item(&items, found.item), [], "{}", found.item.id);
        ids.push(format!("{} {}", found.item.kind, found.item.id));
    }
    assert_eq!(
        ids,
        [
            "directive dev/base",
            "directive dev/explain",
            "directive dev/review",
            "knowledge dev/review_length",
            "knowledge dev/rules",
            "knowledge levain/Constitution",
            "tool dev/longest",
        ]
    );
    // They show what directives can do: extend, leave out, take inputs, give results, be asked by hooks.
    let read = |id: &str| {
        let item = items.find(Kind::Directive, id).unwrap().item;
        Directive::parse(&items.read(item).unwrap(), &items.file(item)).0
    };
    let (base, explain, review) = (read("dev/base"), read("dev/explain"), read("dev/review"));
    assert!(base.extends.is_some() && !base.context.suppress.is_empty());
    assert!(explain.inputs.iter().all(|input| !input.required), "`levain dev/explain` opens without a form");
    assert!(!review.outputs.is_empty() && !review.hooks.is_empty() && review.model.is_some());
    let (_, problems) = Cascade::read(&Spaces::new(root, nobody.path(), []), &TrustStore::default());
    assert_eq!(problems, []);
    let text = fs::read_to_string(root.join(".ai/config/agent/hooks.yaml")).unwrap();
    let hooks: serde_json::Value = serde_yaml::from_str(&text).unwrap();
    assert_eq!(hooks["hooks"].as_array().map(Vec::len), Some(2));
}

/// Provider files; one whose name begins with `project` is read as a project's.
#[test]
fn bad_provider_files_are_told_apart() {
    told_apart("tests/bad/provider", |file, text| {
        let space = if name(file).starts_with("project") { Space::Project } else { Space::User };
        ProviderFile::parse(text, space, file).1
    });
}

/// Settings of agents, laid over the shipped file that is named before the first `-`.
#[test]
fn bad_settings_of_agents_are_told_apart() {
    told_apart("tests/bad/settings", |file, text| {
        let asked = name(file).split('-').next().unwrap().to_owned();
        let which = cascade::FILES.into_iter().find(|known| *known == asked).unwrap();
        let shipped =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("assets/system/{}/{which}.yaml", cascade::FOLDER));
        let layer = |space, file: &Path| cascade::Layer { space, file: file.to_owned() };
        let below = (which, layer(Space::System, &shipped), fs::read_to_string(&shipped).unwrap());
        Cascade::merge(vec![below, (which, layer(Space::Project, file), text.to_owned())]).1
    });
}

fn name(file: &Path) -> String {
    file.file_name().unwrap().to_string_lossy().into_owned()
}

/// Compares what is said about each file of a folder with what lies beside it.
fn told_apart(folder: &str, problems: impl Fn(&Path, &str) -> Vec<levain::domain::Problem>) {
    let files = files(folder);
    assert!(files.len() >= 3);
    for file in files {
        let mut said = String::new();
        for problem in problems(&file, &String::from_utf8_lossy(&fs::read(&file).unwrap())) {
            assert_eq!(problem.file.as_deref(), Some(file.as_path()));
            assert!(!problem.remedy.is_empty());
            let line = problem.line.map_or("-".to_owned(), |line| line.to_string());
            writeln!(said, "{} {line}: {}; {}", problem.severity.word(), problem.message, problem.remedy).unwrap();
        }
        assert_ne!(said, "", "{} passed", file.display());
        assert!(!said.contains("sk-secret"), "{said}");
        let expected = file.with_extension("expected");
        if std::env::var_os("UPDATE_EXPECTED").is_some() {
            fs::write(&expected, &said).unwrap();
        }
        assert_eq!(said, fs::read_to_string(&expected).unwrap_or_default(), "{}", expected.display());
    }
}
