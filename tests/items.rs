//! Whole items and the files around them, good and bad. Beside each bad file in `tests/bad/` lies what is said about it: one
//! line for each problem, mostly `severity LINE: message; remedy`. A file is named after the kind of its mistake, then the
//! case. A new file needs no code; run with `UPDATE_EXPECTED=1` to write what is said.

use levain::commands::Keymap;
use levain::domain::{Policies, Policy, Problem, Space};
use levain::items::signature::TrustStore;
use levain::items::{Cascade, Directive, Hooks, Items, Kind, Spaces, cascade, check};
use levain::providers::scripted::scenario::Scenario;
use levain::providers::{Keys, ProviderFile};
use levain::ui::Theme;
use std::collections::BTreeMap;
use std::fmt::{Display, Write as _};
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

/// Hooks of a project.
#[test]
fn bad_hooks_are_told_apart() {
    told_apart("tests/bad/hooks", |file, text| {
        let project = tempfile::tempdir().unwrap();
        let place = project.path().join(".ai/config/agent/hooks.yaml");
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(&place, text).unwrap();
        let items = Items::list(&Spaces::new(project.path(), project.path(), []));
        moved(Hooks::read(&items).problems, &place, file)
    });
}

/// Items with bad signatures, or with none where the name says that one is required. `trust` holds the one key that is
/// believed.
#[test]
fn bad_signatures_are_told_apart() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad/signature/trust");
    let (trust, errors) = TrustStore::read(&[root]);
    assert!(errors.is_empty() && trust.iter().count() == 1);
    told_apart("tests/bad/signature", |file, text| {
        let project = tempfile::tempdir().unwrap();
        let kind = match text {
            _ if file.extension().is_some_and(|ending| ending == "py") => Kind::Tool,
            _ if text.contains("```xml") => Kind::Directive,
            _ => Kind::Knowledge,
        };
        let place = project.path().join(".ai").join(kind.folder()).join(name(file));
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(&place, text).unwrap();
        let required = if name(file).contains("required") { Policy::Require } else { Policy::Warn };
        let items = Items::list(&Spaces::new(project.path(), project.path(), []))
            .judged(trust.clone(), Policies { project: required, ..Policies::default() });
        let id = file.file_stem().unwrap().to_string_lossy();
        let objection = items.objection(items.find(kind, &id).unwrap().item, text);
        moved(objection.into_iter().collect(), &place, file)
    });
}

#[test]
fn bad_keymaps_are_told_apart() {
    said_of("tests/bad/keymap", |_, text| lines(Keymap::with_user(text, Path::new("keymap.toml")).1));
}

#[test]
fn bad_themes_are_told_apart() {
    said_of("tests/bad/theme", |_, text| lines(Theme::from_toml(text, Path::new("theme.toml")).1));
}

#[test]
fn bad_scenarios_are_told_apart() {
    said_of("tests/bad/scenario", |_, text| lines(Scenario::parse(text).1));
}

/// Files of keys, private as they must be.
#[test]
fn bad_credentials_are_told_apart() {
    said_of("tests/bad/credentials", |_, text| {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("credentials.toml");
        let mut options = fs::OpenOptions::new();
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut written = options.write(true).create(true).open(&place).unwrap();
        std::io::Write::write_all(&mut written, text.as_bytes()).unwrap();
        let told = Keys::load(|_| None, Some(&place)).1;
        lines(told.into_iter().map(|error| error.to_string().replace(&folder.path().display().to_string(), "DIR")))
    });
}

fn lines(said: impl IntoIterator<Item = impl Display>) -> String {
    said.into_iter().fold(String::new(), |text, line| text + &line.to_string() + "\n")
}

/// The same problems, told of `file` instead of `place`.
fn moved(problems: Vec<Problem>, place: &Path, file: &Path) -> Vec<Problem> {
    let told = |text: &str| text.replace(&place.display().to_string(), &name(file));
    let told = |problem: Problem| {
        assert_eq!(problem.file.as_deref(), Some(place));
        let (message, remedy) = (told(&problem.message), told(&problem.remedy));
        Problem { file: Some(file.to_owned()), message, remedy, ..problem }
    };
    problems.into_iter().map(told).collect()
}

fn name(file: &Path) -> String {
    file.file_name().unwrap().to_string_lossy().into_owned()
}

/// Compares the problems of each file of a folder with what lies beside it.
fn told_apart(folder: &str, problems: impl Fn(&Path, &str) -> Vec<Problem>) {
    said_of(folder, |file, text| {
        let mut said = String::new();
        for problem in problems(file, text) {
            assert_eq!(problem.file.as_deref(), Some(file));
            assert!(!problem.remedy.is_empty());
            let line = problem.line.map_or("-".to_owned(), |line| line.to_string());
            writeln!(said, "{} {line}: {}; {}", problem.severity.word(), problem.message, problem.remedy).unwrap();
        }
        said
    });
}

/// Compares what is said of each file of a folder with what lies beside it. Of each kind of mistake, the first word of a
/// name, there are three files at least.
fn said_of(folder: &str, say: impl Fn(&Path, &str) -> String) {
    let (mut kinds, mut passed) = (BTreeMap::<String, usize>::new(), Vec::new());
    for file in files(folder) {
        let said = say(&file, &String::from_utf8_lossy(&fs::read(&file).unwrap()));
        assert!(!said.contains("sk-secret"), "{said}");
        if said.is_empty() {
            passed.push(file);
            continue;
        }
        let expected = file.with_extension("expected");
        if std::env::var_os("UPDATE_EXPECTED").is_some() {
            fs::write(&expected, &said).unwrap();
        }
        assert_eq!(said, fs::read_to_string(&expected).unwrap_or_default(), "{}", expected.display());
        let name = name(&file);
        // Settings begin with the file they are laid over.
        let part = usize::from(folder.ends_with("settings"));
        let kind = name.split(['-', '.']).nth(part).unwrap().split('_').next().unwrap();
        *kinds.entry(kind.to_owned()).or_default() += 1;
    }
    assert_eq!(passed, Vec::<PathBuf>::new());
    let few: Vec<_> = kinds.iter().filter(|(_, count)| **count < 3).collect();
    assert!(!kinds.is_empty() && few.is_empty(), "{folder}: {few:?}");
}
