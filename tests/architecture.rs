//! Keeps `ARCHITECTURE.md` true: who may know whom, which outside crates stay behind which wall, how long a file gets,
//! and that every folder is on the map.
//!
//! The sources are read as tokens, not compiled: comments and strings are left out, `use` trees are unfolded, `self`
//! and `super` are resolved. What a re-export hides is not seen. Unit tests count like the code they stand in.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Each folder of `src` and what it may name beside itself. An entry with `::` opens only that part.
const KNOWS: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("ports", &["domain"]),
    ("items", &["domain"]),
    ("context", &["domain", "items"]),
    ("pipeline", &["domain", "items", "context"]),
    ("engine", &["domain", "ports", "items", "context", "pipeline"]),
    ("providers", &["domain", "ports", "items"]),
    ("tools", &["domain", "ports", "items"]),
    ("extensions", &["domain", "ports", "items"]),
    ("store", &["domain", "ports", "items"]),
    ("worker", &["domain", "ports", "engine", "store"]),
    ("commands", &["domain"]),
    ("config", &["domain", "items"]),
    ("workbench", &["domain", "commands", "worker::protocol", "worker::client", "worker::Client"]),
    ("ui", &["workbench", "domain", "commands"]),
    ("terminal", &["commands"]),
    ("cli", &["*"]),
    ("app", &["*"]),
];

/// Crates from outside that only some parts may name.
const WALLED: &[(&str, &[&str])] = &[
    ("ratatui", &["ui", "app", "terminal"]),
    ("crossterm", &["terminal", "app"]),
    ("termina", &["terminal", "app"]),
    ("syntect", &["ui"]),
    ("two_face", &["ui"]),
    // The port's error carries the database's own.
    ("rusqlite", &["store", "ports::store"]),
    ("reqwest", &["providers", "tools"]),
    // What plans, composes, decides and draws does not wait.
    ("tokio", &["engine", "providers", "tools", "extensions", "store", "worker", "terminal", "cli", "app"]),
];

/// Longest source file, in lines. One that grows past 500 usually hides a concept without a name.
const LONGEST: usize = 700;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn sources() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().join("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    assert!(found.len() > 10, "the sources were not found");
    found
}

/// The folders of `src`: the top-level modules.
fn folders() -> Vec<String> {
    let entries = fs::read_dir(root().join("src")).unwrap().map(|entry| entry.unwrap());
    let folders = entries.filter(|entry| entry.path().is_dir());
    folders.map(|entry| entry.file_name().into_string().unwrap()).collect()
}

// ------------------------------------------------------------------------------------------------ tokens

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    /// `::`
    Path,
    Sign(char),
}

/// The words and signs of a source, each with its line; comments, strings, letters and lifetimes are left out.
fn tokens(source: &str) -> Vec<(Token, usize)> {
    let letters: Vec<char> = source.chars().collect();
    let at = |index: usize| letters.get(index).copied().unwrap_or('\0');
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut found = Vec::new();
    let (mut index, mut line) = (0, 1);
    while index < letters.len() {
        let start = index;
        match (at(index), at(index + 1)) {
            ('/', '/') => {
                while index < letters.len() && at(index) != '\n' {
                    index += 1;
                }
            }
            ('/', '*') => {
                let mut depth = 0;
                loop {
                    match (at(index), at(index + 1)) {
                        ('/', '*') => (depth, index) = (depth + 1, index + 2),
                        ('*', '/') => (depth, index) = (depth - 1, index + 2),
                        _ => index += 1,
                    }
                    if depth == 0 || index >= letters.len() {
                        break;
                    }
                }
            }
            ('"', _) => index = after_string(&letters, index),
            ('\'', _) => {
                // A lifetime has no closing quote; a letter has one right behind it, or a backslash.
                if at(index + 1) == '\\' {
                    index += 3;
                    while index < letters.len() && at(index) != '\'' {
                        index += 1;
                    }
                    index += 1;
                } else if at(index + 2) == '\'' {
                    index += 3;
                } else {
                    index += 1;
                    while is_word(at(index)) {
                        index += 1;
                    }
                }
            }
            (':', ':') => {
                found.push((Token::Path, line));
                index += 2;
            }
            (letter, _) if is_word(letter) => {
                while is_word(at(index)) {
                    index += 1;
                }
                let word: String = letters[start..index].iter().collect();
                let hashes = (index..letters.len()).take_while(|place| at(*place) == '#').count();
                let raw = matches!(word.as_str(), "r" | "br" | "cr");
                if raw && at(index + hashes) == '"' {
                    let end: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
                    index += hashes + 1;
                    while index < letters.len() && !letters[index..].starts_with(&end) {
                        index += 1;
                    }
                    index += end.len();
                } else if raw && hashes == 1 {
                    index += 1; // a raw name: r#type
                } else if !(matches!(word.as_str(), "b" | "c") && matches!(at(index), '"' | '\'')) {
                    found.push((Token::Word(word), line));
                }
            }
            (letter, _) => {
                if !letter.is_whitespace() {
                    found.push((Token::Sign(letter), line));
                }
                index += 1;
            }
        }
        let end = index.min(letters.len());
        line += letters[start..end].iter().filter(|letter| **letter == '\n').count();
    }
    found
}

fn after_string(letters: &[char], mut index: usize) -> usize {
    index += 1;
    while let Some(letter) = letters.get(index) {
        match letter {
            '"' => return index + 1,
            '\\' => index += 2,
            _ => index += 1,
        }
    }
    index
}

// ------------------------------------------------------------------------------------------------- paths

/// A path that a source names, from the root of our crate (`ours`) or from a crate outside.
#[derive(Debug, PartialEq, Eq)]
struct Named {
    line: usize,
    ours: bool,
    segments: Vec<String>,
}

struct Walk<'a> {
    tokens: &'a [(Token, usize)],
    /// The module we are in: the file's, then those opened by `mod name {`, each with its brace depth.
    module: Vec<String>,
    opened: Vec<usize>,
    found: Vec<Named>,
}

/// The module that a file below `src` is.
fn module_of(file: &str) -> Vec<String> {
    let path = file.trim_start_matches("src/").trim_end_matches(".rs");
    let mut segments: Vec<String> = path.split('/').map(str::to_owned).collect();
    if segments.last().is_some_and(|last| matches!(last.as_str(), "mod" | "lib" | "main")) {
        segments.pop();
    }
    segments
}

/// Every path that `source` names.
fn paths(file: &str, source: &str) -> Vec<Named> {
    let tokens = tokens(source);
    let mut walk = Walk { tokens: &tokens, module: module_of(file), opened: Vec::new(), found: Vec::new() };
    walk.all();
    walk.found
}

impl Walk<'_> {
    fn token(&self, index: usize) -> Option<&Token> {
        self.tokens.get(index).map(|(token, _)| token)
    }

    fn word(&self, index: usize) -> Option<&str> {
        match self.token(index) {
            Some(Token::Word(word)) => Some(word),
            _ => None,
        }
    }

    fn all(&mut self) {
        let (mut index, mut depth) = (0, 0);
        while index < self.tokens.len() {
            match self.token(index) {
                Some(Token::Sign('{')) => depth += 1,
                Some(Token::Sign('}')) => {
                    depth -= 1;
                    if self.opened.last() == Some(&depth) {
                        self.opened.pop();
                        self.module.pop();
                    }
                }
                Some(Token::Word(word)) if word == "mod" && self.token(index + 2) == Some(&Token::Sign('{')) => {
                    let name = self.word(index + 1).unwrap_or_default().to_owned();
                    self.module.push(name);
                    self.opened.push(depth);
                    index += 1;
                }
                Some(Token::Word(word)) => {
                    let imported = word == "use" && self.word(index + 1).is_some();
                    let start = if imported { index + 1 } else { index };
                    if imported || self.token(start + 1) == Some(&Token::Path) {
                        index = self.tree(start, &[]);
                        continue;
                    }
                }
                Some(Token::Path | Token::Sign(_)) | None => {}
            }
            index += 1;
        }
    }

    /// Reads the path or `use` tree that begins at `index` behind `prefix`, and returns where it ends.
    fn tree(&mut self, mut index: usize, prefix: &[String]) -> usize {
        let line = self.tokens.get(index).map_or(0, |(_, line)| *line);
        let mut segments = prefix.to_vec();
        loop {
            match self.token(index) {
                Some(Token::Word(word)) => segments.push(word.clone()),
                Some(Token::Sign('{')) if !segments.is_empty() => {
                    index += 1;
                    loop {
                        match self.token(index) {
                            Some(Token::Sign('}')) | None => return index + 1,
                            Some(Token::Word(_)) => index = self.tree(index, &segments),
                            Some(Token::Path | Token::Sign(_)) => index += 1,
                        }
                    }
                }
                _ => break,
            }
            index += 1;
            if self.token(index) != Some(&Token::Path) {
                break;
            }
            index += 1;
        }
        self.name(line, segments);
        index
    }

    /// Keeps a path, resolved.
    fn name(&mut self, line: usize, segments: Vec<String>) {
        let mut ours = false;
        let mut resolved: Vec<String> = Vec::new();
        for (place, segment) in segments.into_iter().enumerate() {
            match (place, segment.as_str()) {
                (0, "crate" | "levain") => ours = true,
                (0, "self") => (ours, resolved) = (true, self.module.clone()),
                (0, "super") => {
                    (ours, resolved) = (true, self.module.clone());
                    resolved.pop();
                }
                (_, "super") => {
                    resolved.pop();
                }
                (_, "self") => {}
                _ => resolved.push(segment),
            }
        }
        self.found.push(Named { line, ours, segments: resolved });
    }
}

// ------------------------------------------------------------------------------------------------- rules

/// Whether `path` is `rule` or lies below it.
fn covers(rule: &str, path: &[String]) -> bool {
    rule == "*" || rule.split("::").map(str::to_owned).enumerate().all(|(at, part)| path.get(at) == Some(&part))
}

/// What in `source` the tables do not allow, one sentence each.
fn violations(file: &str, source: &str) -> Vec<String> {
    let module = module_of(file);
    // The library's and the program's own first lines introduce everyone.
    let Some(folder) = module.first() else { return Vec::new() };
    let Some((_, knows)) = KNOWS.iter().find(|(name, _)| name == folder) else {
        return vec![format!("{file}: the folder `{folder}` is in no table of tests/architecture.rs")];
    };
    let mut wrong = Vec::new();
    for Named { line, ours, segments } in paths(file, source) {
        let Some(first) = segments.first() else { continue };
        if ours {
            let is_folder = KNOWS.iter().any(|(name, _)| name == first);
            if is_folder && first != folder && !knows.iter().any(|rule| covers(rule, &segments)) {
                wrong.push(format!("{file}:{line}: {folder} names {}; it builds on {knows:?}", segments.join("::")));
            }
            continue;
        }
        // Ratatui hands crossterm on under its own name.
        let outside = segments.iter().take(if first == "ratatui" { 2 } else { 1 });
        for (name, places) in outside.filter_map(|name| WALLED.iter().find(|(walled, _)| walled == name)) {
            if !places.iter().any(|place| covers(place, &module)) {
                wrong.push(format!("{file}:{line}: {folder} names the crate {name}; only {places:?} may"));
            }
        }
    }
    wrong
}

#[test]
fn modules_know_only_whom_they_may() {
    let mut wrong = Vec::new();
    for path in sources() {
        let file = path.strip_prefix(root()).unwrap().to_str().unwrap();
        wrong.extend(violations(file, &fs::read_to_string(&path).unwrap()));
    }
    assert!(wrong.is_empty(), "see \"Who may know whom\" in ARCHITECTURE.md:\n{}", wrong.join("\n"));
}

#[test]
fn no_file_hides_a_second_concept() {
    for path in sources() {
        let lines = fs::read_to_string(&path).unwrap().lines().count();
        assert!(lines <= LONGEST, "{} has {lines} lines; which concept in it wants its own name?", path.display());
    }
}

#[test]
fn every_folder_is_on_the_map() {
    let map = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    for folder in folders() {
        assert!(map.contains(&format!("`src/{folder}/`")), "ARCHITECTURE.md does not mention `src/{folder}/`");
    }
}

/// The table on the page and the one above say the same, as far as whole folders go.
#[test]
fn the_page_has_the_same_table() {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let (_, section) = page.split_once("## Who may know whom").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let folders_in = |cell: &str| -> BTreeSet<String> {
        let words = cell.split(|letter: char| !letter.is_alphanumeric()).map(str::to_owned);
        words.filter(|word| word == "all" || KNOWS.iter().any(|(name, _)| name == word)).collect()
    };
    let mut told = BTreeMap::new();
    for row in section.lines().filter(|line| line.starts_with('|')) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
        for name in folders_in(cells[0]) {
            told.insert(name, folders_in(cells[1]));
        }
    }
    for (name, knows) in KNOWS {
        let first = |rule: &str| rule.split("::").next().unwrap_or_default().replace('*', "all");
        let expected: BTreeSet<String> = knows.iter().map(|rule| first(rule)).collect();
        assert_eq!(told.get(*name), Some(&expected), "the row of `{name}` in ARCHITECTURE.md");
    }
}

// -------------------------------------------------------------------------------- the checker, checked

#[track_caller]
fn assert_found(file: &str, source: &str, lines: &[usize]) {
    let found = violations(file, source);
    let expected: Vec<String> = lines.iter().map(|line| format!("{file}:{line}:")).collect();
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (sentence, place) in found.iter().zip(&expected) {
        assert!(sentence.starts_with(place), "{sentence} is not at {place}");
    }
}

#[test]
fn forbidden_paths_are_found() {
    assert_found("src/domain/event.rs", "use crate::store::Log;", &[1]);
    assert_found("src/ui/view.rs", "fn a() {\n    crate::store::open(crate::domain::x());\n}", &[2]);
    assert_found("src/ui/view.rs", "use crate::{\n    domain::Event,\n    engine::{self, Thread},\n};", &[3, 3]);
    assert_found("src/ui/screens/mod.rs", "use super::super::store;\nuse super::theme;", &[1]);
    assert_found("src/ui/mod.rs", "mod tests {\n    use super::super::worker::Server;\n}\nuse super::worker;", &[2, 4]);
    assert_found("src/workbench/update.rs", "use crate::worker::protocol::State;\nuse crate::worker::server;", &[2]);
    assert_found("src/workbench/update.rs", "use ratatui::text::Line;", &[1]);
    assert_found("src/ui/view.rs", "use ratatui::{Frame, crossterm::event::Event};", &[1]);
    assert_found("src/engine/driver.rs", "type E = ::rusqlite::Error;", &[1]);
    assert_found("src/context/mod.rs", "async fn a() { tokio::task::yield_now().await }", &[1]);
    assert_eq!(violations("src/strange/mod.rs", "").len(), 1, "a folder without rules");
}

#[test]
fn allowed_paths_are_left_alone() {
    assert_found("src/ports/store.rs", "use rusqlite::Error;\nuse crate::domain::Event;", &[]);
    assert_found(
        "src/ui/mod.rs",
        "mod tests {\n    use super::theme;\n    mod deep { use super::super::view; }\n}",
        &[],
    );
    assert_found("src/cli/run.rs", "use crate::{engine, store, worker::server};", &[]);
    let words = "// crate::store\n/* use crate::store; /* crate::store */ */\nlet a = \"crate::store \\\" crate::store\";\n\
                 let b = r#\"crate::store \" crate::store\"#; let c = '\"'; fn d<'a>(e: &'a str) { '\\'' }\n";
    assert_found("src/domain/id.rs", words, &[]);
    // The same behind all of that is still found.
    assert_found("src/domain/id.rs", &format!("{words}use crate::store;"), &[5]);
}

// ------------------------------------------------------------------------------------- one writer for people

/// Where standard output and standard error may be named: the writer for people, the terminal that the screen draws on,
/// and the log of workers. Everywhere else text would reach a terminal as it is.
const WRITERS: &[&str] = &["src/app/people.rs", "src/terminal/tty.rs", "src/app/logging.rs"];

/// Lines that write to standard output or standard error by themselves, tests left out.
fn own_writers(source: &str) -> Vec<usize> {
    let source = source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let tokens = tokens(source);
    let word = |index: usize| match tokens.get(index) {
        Some((Token::Word(word), _)) => word.as_str(),
        _ => "",
    };
    let named = |index: usize| {
        let bang = matches!(tokens.get(index + 1), Some((Token::Sign('!'), _)));
        match word(index) {
            "stdout" | "stderr" => {
                let called = matches!(tokens.get(index + 1), Some((Token::Sign('('), _)));
                let path = index > 0 && matches!(tokens.get(index - 1), Some((Token::Path, _)));
                // A child's are its own: `.stdout(…)`.
                path || (called && !matches!(tokens.get(index.wrapping_sub(1)), Some((Token::Sign('.'), _))))
            }
            "println" | "eprintln" | "eprint" | "dbg" => bang,
            // Not `a.print != b`.
            "print" => bang && matches!(tokens.get(index + 2), Some((Token::Sign('('), _))),
            _ => false,
        }
    };
    let mut lines: Vec<usize> = (0..tokens.len()).filter(|index| named(*index)).map(|index| tokens[index].1).collect();
    lines.dedup();
    lines
}

#[test]
fn s06_people_are_written_to_in_one_place() {
    let mut wrong = Vec::new();
    for path in sources() {
        let file = path.strip_prefix(root()).unwrap().to_str().unwrap();
        if !WRITERS.contains(&file) {
            let lines = own_writers(&fs::read_to_string(&path).unwrap());
            wrong.extend(lines.into_iter().map(|line| format!("{file}:{line}")));
        }
    }
    assert!(wrong.is_empty(), "these write past app::people, so that text could steer the terminal: {wrong:#?}");
}

#[test]
fn s06_a_writer_is_found() {
    let source = "use std::io::{self, stdout};\nfn a(c: &mut Command) {\n    c.stdout(x);\n    io::stdout().lock();\n    \
                  std::io::stderr();\n    println!(\"x\");\n    stdout();\n}\n// stdout()\n";
    assert_eq!(own_writers(source), [4, 5, 6, 7]);
}
