//! Keeps the pages in `docs/` true where they list what the code defines.

use levain::commands::{CommandId, Context, Group, Keymap, TABLE};
use levain::config::{Arguments, Config, Dirs};
use levain::ui::{Role, Theme};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

fn text(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// An event as the page or the source tells it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Told {
    fields: BTreeSet<String>,
    durable: bool,
    critical: bool,
}

fn snake_case(name: &str) -> String {
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !words.is_empty() {
            words.push('_');
        }
        words.extend(letter.to_lowercase());
    }
    words
}

/// The lines from the one that contains `start` to the first that is `end`.
fn section<'a>(source: &'a str, start: &str, end: &str) -> Vec<&'a str> {
    let mut lines = source.lines().skip_while(|line| !line.contains(start)).peekable();
    assert!(lines.peek().is_some(), "`{start}` was not found");
    lines.skip(1).take_while(|line| *line != end).collect()
}

/// The names behind `Self::` in a function.
fn named_in(source: &str, function: &str) -> BTreeSet<String> {
    let body = section(source, function, "    }").join("\n");
    let names = body.split("Self::").skip(1);
    names.map(|rest| snake_case(rest.split(|letter: char| !letter.is_alphanumeric()).next().unwrap())).collect()
}

/// The events that the source defines, read from its lay-out: variants are indented by one step, fields by two.
fn defined() -> BTreeMap<String, Told> {
    let mut events: BTreeMap<String, Told> = BTreeMap::new();
    for family in ["approval", "context", "control", "prompt", "request", "settings", "thread", "tool"] {
        let source = text(&format!("src/domain/event/{family}.rs"));
        let mut of_family: BTreeMap<String, Told> = BTreeMap::new();
        let mut variant = String::new();
        for line in section(&source, "pub enum ", "}") {
            let word: String =
                line.trim_start().chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect();
            match line.len() - line.trim_start().len() {
                4 if !word.is_empty() => {
                    variant = snake_case(&word);
                    of_family.insert(variant.clone(), Told::default());
                    // Short variants stand on one line.
                    if let Some((_, inside)) = line.split_once("{ ") {
                        let names = inside.split(", ").filter_map(|field| field.split_once(':'));
                        of_family.get_mut(&variant).unwrap().fields.extend(names.map(|(name, _)| name.to_owned()));
                    }
                }
                8 if !word.is_empty() => drop(of_family.get_mut(&variant).unwrap().fields.insert(word)),
                _ => {}
            }
        }
        let critical = named_in(&source, "fn is_critical");
        let transient = if family == "request" { named_in(&source, "fn is_durable") } else { BTreeSet::new() };
        for (name, told) in &mut of_family {
            (told.durable, told.critical) = (!transient.contains(name), critical.contains(name));
        }
        events.extend(of_family);
    }
    assert!(events.len() > 40, "{events:?}");
    events
}

/// The events that `docs/events.md` lists. Fields are the words in backticks outside brackets.
fn listed() -> BTreeMap<String, Told> {
    let mut events = BTreeMap::new();
    for line in text("docs/events.md").lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [event, payload, log, sync, when] = cells[..] else { panic!("not five cells: {line}") };
        assert!(!when.is_empty(), "{line}");
        let mut outside = String::new();
        let mut depth = 0;
        for letter in payload.chars() {
            match letter {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ if depth == 0 => outside.push(letter),
                _ => {}
            }
        }
        let fields = outside.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        let told = Told { fields, durable: log == "log", critical: sync == "sync" };
        assert!(events.insert(event.trim_matches('`').to_owned(), told).is_none(), "twice: {event}");
    }
    events
}

#[test]
fn every_event_is_described() {
    let (defined, listed) = (defined(), listed());
    for (name, told) in &defined {
        assert_eq!(listed.get(name), Some(told), "docs/events.md and src/domain/event/ differ on `{name}`");
    }
    for name in listed.keys() {
        assert!(defined.contains_key(name), "docs/events.md describes `{name}`, which is no event");
    }
}

/// The dependencies in `Cargo.toml`, under the names we use.
fn dependencies() -> BTreeSet<String> {
    let manifest: toml::Table = text("Cargo.toml").parse().unwrap();
    let tables = ["dependencies", "dev-dependencies", "build-dependencies"];
    let of_systems = manifest.get("target").and_then(toml::Value::as_table).into_iter().flat_map(toml::Table::values);
    let places = std::iter::once(&manifest).chain(of_systems.filter_map(toml::Value::as_table));
    let tables = places.flat_map(|place| tables.iter().filter_map(|table| place.get(*table)?.as_table()));
    tables.flat_map(|table| table.keys().cloned()).collect()
}

#[test]
fn every_dependency_has_its_reason() {
    let page = text("docs/dependencies.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let explained: BTreeSet<String> = rows.map(str::to_owned).collect();
    let used = dependencies();
    let missing: Vec<_> = used.difference(&explained).collect();
    assert!(missing.is_empty(), "docs/dependencies.md has no line for {missing:?}");
    let gone: Vec<_> = explained.difference(&used).collect();
    assert!(gone.is_empty(), "docs/dependencies.md explains {gone:?}, which Cargo.toml does not name");
}

/// The blocks of one language on a page.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let begins = format!("```{language}\n");
    let blocks = page.split(&begins).skip(1).map(|rest| rest.split("```").next().unwrap().to_owned());
    blocks.collect()
}

#[test]
fn keys_and_themes_are_described() {
    let page = text("docs/keys-and-themes.md");
    let named: BTreeSet<&str> = page.split('`').skip(1).step_by(2).collect();
    for context in Context::ALL {
        assert!(named.contains(context.word()), "the context {}", context.word());
    }
    for role in Role::ALL {
        assert!(named.contains(role.name()), "the role {}", role.name());
    }
    let examples = blocks(&page, "toml");
    assert_eq!(examples.len(), 2);
    assert_eq!(Keymap::with_user(&examples[0], Path::new("keymap.toml")).1, []);
    assert_eq!(Theme::from_toml(&examples[1], Path::new("theme.toml")).1, []);
}

/// The settings that the README shows are real, and no more than it shows.
#[test]
fn the_settings_in_the_readme_are_good() {
    let readme = text("README.md");
    let block = readme.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let dirs = Dirs::below(folder.path());
    fs::create_dir_all(&dirs.config).unwrap();
    fs::write(dirs.config_file(), block).unwrap();
    let (_, problems) = Config::load(&dirs, None, &|_| None, Arguments::default());
    assert_eq!(problems, []);
    // An unknown setting is told all known ones, which is how we get at them here.
    fs::write(dirs.config_file(), "zzzzzzzzzzzz = 1").unwrap();
    let (_, problems) = Config::load(&dirs, None, &|_| None, Arguments::default());
    let known = problems[0].remedy.strip_prefix("known: ").unwrap();
    for name in known.split(", ") {
        assert!(block.contains(&format!("{name} = ")), "the README does not show `{name}`");
    }
}

/// The names of all functions that begin like a terminal test, `t05_…`, with the numbers at their beginning.
fn terminal_tests() -> BTreeMap<String, Vec<usize>> {
    let mut found = BTreeMap::new();
    let mut folders = vec!["tests".to_owned(), "src".to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let path = format!("{folder}/{}", entry.file_name().to_str().unwrap());
            if entry.file_type().unwrap().is_dir() {
                folders.push(path);
            } else if Path::new(&path).extension().is_some_and(|ending| ending == "rs") {
                for rest in text(&path).split("fn t").skip(1) {
                    let name: String =
                        rest.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect();
                    let name = format!("t{name}");
                    let numbers = name.split('_').map_while(|word| word.strip_prefix('t')?.parse().ok());
                    let numbers: Vec<usize> = numbers.collect();
                    if !numbers.is_empty() {
                        found.insert(name, numbers);
                    }
                }
            }
        }
    }
    found
}

#[test]
fn every_terminal_test_is_listed_and_exists() {
    let page = text("docs/terminal-tests.md");
    let mut listed: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    let mut numbers = Vec::new();
    for row in page.lines().filter(|line| line.starts_with("| T")) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [number, _, tests] = cells[..] else { panic!("not three cells: {row}") };
        numbers.push(number.trim_start_matches('T').parse::<usize>().unwrap());
        let names = tests.split('`').skip(1).step_by(2).filter(|word| word.starts_with('t'));
        let mut any = tests.starts_with("none: ");
        for name in names {
            any = true;
            listed.entry(name.to_owned()).or_default().push(*numbers.last().unwrap());
        }
        assert!(any, "neither a test nor a reason why there is none: {row}");
    }
    assert!(numbers.len() >= 33 && numbers.iter().copied().eq(1..=numbers.len()), "the numbers: {numbers:?}");
    let tests = terminal_tests();
    for (name, numbers) in &listed {
        assert_eq!(tests.get(name), Some(numbers), "docs/terminal-tests.md lists `{name}`");
    }
    for name in tests.keys() {
        assert!(listed.contains_key(name), "docs/terminal-tests.md does not list `{name}`");
    }
}

/// Whether a word in backticks is a file of this repository.
fn is_file(word: &str) -> bool {
    let below = ["src/", "tests/", "docs/", "assets/"].iter().any(|folder| word.starts_with(folder));
    (below && !word.ends_with('/')) || matches!(word, "README.md" | "CHANGELOG.md")
}

#[test]
fn the_recipes_name_files_that_are_there_and_count_them() {
    let page = text("CONTRIBUTING.md");
    let (_, recipes) = page.split_once("\n## Recipes\n").unwrap();
    let mut counted = 0;
    for recipe in recipes.split("\n### ").skip(1) {
        let (heading, rest) = recipe.split_once('\n').unwrap();
        let (_, number) = heading.rsplit_once(": ").unwrap();
        let number: usize = number.strip_suffix(" files").unwrap().parse().unwrap();
        // The list, up to the paragraph behind it.
        let list = rest.trim_start().split("\n\n").next().unwrap();
        let files: BTreeSet<&str> = list.split('`').skip(1).step_by(2).filter(|word| is_file(word)).collect();
        assert_eq!(files.len(), number, "{heading}: {files:#?}");
        for file in files.iter().filter(|file| !file.contains("NAME")) {
            assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join(file).is_file(), "{heading}: {file} is not there");
        }
        counted += 1;
    }
    assert_eq!(counted, 6);
}

/// Every file below `folder` with one of these endings.
fn files_of(folder: &str, endings: &[&str], found: &mut Vec<String>) {
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{folder}/{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            files_of(&path, endings, found);
        } else if endings.iter().any(|ending| path.ends_with(ending)) {
            found.push(path);
        }
    }
}

/// The list is `tests/phrases.tsv`; how texts read is in `docs/style.md`.
#[test]
fn no_old_words_come_back() {
    let list = text("tests/phrases.tsv");
    let old: Vec<(&str, &str)> =
        list.lines().filter(|line| !line.starts_with('#')).map(|line| line.split_once('\t').unwrap()).collect();
    assert!(old.len() >= 60, "{}", old.len());
    let any: Vec<String> = old.iter().map(|(old, _)| regex::escape(old)).collect();
    let any = regex::Regex::new(&any.join("|")).unwrap();
    let mut files = vec!["README.md".to_owned(), "SECURITY.md".to_owned()];
    files_of("src", &[".rs", ".snap"], &mut files);
    files_of("docs", &[".md"], &mut files);
    files_of("assets", &[".toml"], &mut files);
    let mut wrong = Vec::new();
    for file in &files {
        for (number, line) in (1..).zip(text(file).lines()) {
            // Comments are for people who read the source.
            let is_source = Path::new(file).extension().is_some_and(|ending| ending == "rs");
            if !any.is_match(line) || is_source && line.trim_start().starts_with("//") {
                continue;
            }
            let found = old.iter().filter(|(old, _)| line.contains(old));
            wrong.extend(found.map(|(old, new)| format!("{file}:{number}: `{old}`; write: {new}")));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What stands in backticks.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

#[test]
fn what_is_done_with_threads_on_the_screen_is_done_on_the_command_line_and_the_other_way_round() {
    let page = text("docs/threads.md");
    let (_, rows) = page.split_once("### On the screen and on the command line").unwrap();
    let (rows, _) = rows.split_once("A thread does the same with the tool").unwrap();
    let rows: Vec<Vec<&str>> = rows
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| ---") && !line.starts_with("| what |"))
        .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
        .collect();
    assert!(rows.len() > 20, "{rows:?}");
    let (mut on_screen, mut typed) = (BTreeSet::new(), BTreeSet::new());
    for row in &rows {
        let [_, screen, line] = row.as_slice() else { panic!("{row:?} has no three columns") };
        on_screen.extend(quoted(screen));
        typed.extend(quoted(line).filter_map(|words| words.strip_prefix("levain threads ")));
        assert!(screen.len() > 2 && line.len() > 2, "{row:?} says of one side neither how nor why not");
    }
    for name in &on_screen {
        assert!(CommandId::from_name(name).is_some(), "`{name}` is no command");
    }
    let own = TABLE.iter().filter(|command| command.group() == Group::Threads).map(|command| command.name);
    let missing: Vec<&str> = own.filter(|name| !on_screen.contains(name)).collect();
    assert!(missing.is_empty(), "commands of the screen without a row: {missing:?}");
    let help = Command::new(env!("CARGO_BIN_EXE_levain")).args(["threads", "--help"]).output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let subcommands = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // What is said of them may go on in further lines.
    let subcommands = subcommands.filter(|line| !line.starts_with("   "));
    let known: BTreeSet<&str> =
        subcommands.filter_map(|line| line.split_whitespace().next()).filter(|word| *word != "help").collect();
    let told: BTreeSet<&str> = typed.into_iter().filter(|words| !words.starts_with('-')).collect();
    assert_eq!(told, known, "subcommands of `levain threads`, as the page has them and as there are");
}
