//! Keeps `ARCHITECTURE.md` true: who may know whom, which outside crates stay behind which wall, how long a file gets,
//! that files of a folder do not use each other in circles, and that every folder is on the map.
//!
//! The sources are read as tokens by `proc-macro2`, not compiled: `use` trees are unfolded, `self` and `super` are resolved.
//! For the table, unit tests count like the code they stand in, and what a re-export hides is not seen. For circles, unit
//! tests are left out, and a name is followed to the file that defines it.

use proc_macro2::{Delimiter, Group, Spacing, TokenStream, TokenTree};
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
    (
        "session",
        &[
            "domain",
            "ports",
            "items",
            "context",
            "pipeline",
            "engine",
            "providers",
            "tools",
            "extensions",
            "store",
            "worker",
            "config",
        ],
    ),
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
    ("rusqlite", &["store", "ports::store", "extensions::databases"]),
    ("reqwest", &["providers", "tools"]),
    ("quick_xml", &["items::markup"]),
    ("rmcp", &["tools::mcp", "cli::mcp"]),
    ("landlock", &["tools::sandbox"]),
    ("seccompiler", &["tools::sandbox"]),
    ("rquickjs", &["extensions"]),
    ("oxc", &["extensions::strip"]),
    // What plans, composes, decides and draws does not wait.
    ("tokio", &["engine", "providers", "tools", "extensions", "store", "worker", "session", "terminal", "cli", "app"]),
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

/// What a source says, as Rust's own lexer cuts it: no comments; strings and numbers are literals.
fn tokens(source: &str) -> Vec<TokenTree> {
    let stream: TokenStream = source.parse().unwrap_or_else(|error| panic!("{error}:\n{source}"));
    stream.into_iter().collect()
}

fn inside(group: &Group) -> Vec<TokenTree> {
    group.stream().into_iter().collect()
}

fn line(token: &TokenTree) -> usize {
    token.span().start().line
}

/// The name at `index`, a raw one as it is meant. The name of a lifetime is none.
fn word(tokens: &[TokenTree], index: usize) -> Option<String> {
    let TokenTree::Ident(word) = tokens.get(index)? else { return None };
    let lifetime = index > 0 && is_sign(tokens, index - 1, '\'');
    (!lifetime).then(|| word.to_string().trim_start_matches("r#").to_owned())
}

fn is_sign(tokens: &[TokenTree], index: usize, sign: char) -> bool {
    matches!(tokens.get(index), Some(TokenTree::Punct(found)) if found.as_char() == sign)
}

/// Whether `::` stands at `index`, and not two colons apart.
fn is_path(tokens: &[TokenTree], index: usize) -> bool {
    let joint = matches!(tokens.get(index), Some(TokenTree::Punct(sign)) if sign.spacing() == Spacing::Joint);
    joint && is_sign(tokens, index, ':') && is_sign(tokens, index + 1, ':')
}

fn group(tokens: &[TokenTree], index: usize, delimiter: Delimiter) -> Option<&Group> {
    let TokenTree::Group(group) = tokens.get(index)? else { return None };
    (group.delimiter() == delimiter).then_some(group)
}

fn is_test_attribute(tokens: &[TokenTree], index: usize) -> bool {
    let attribute = group(tokens, index + 1, Delimiter::Bracket);
    is_sign(tokens, index, '#')
        && attribute.is_some_and(|group| group.stream().to_string().replace(' ', "") == "cfg(test)")
}

/// The same without what only tests are built with, and the files that such a `mod name;` names.
fn without_tests(tokens: &[TokenTree]) -> (Vec<TokenTree>, Vec<String>) {
    let (mut kept, mut files) = (Vec::new(), Vec::new());
    let mut index = 0;
    while index < tokens.len() {
        if is_test_attribute(tokens, index) {
            index += 2;
            while index < tokens.len() {
                let ends = is_sign(tokens, index, ';') || is_sign(tokens, index, ',');
                if word(tokens, index).as_deref() == Some("mod") && is_sign(tokens, index + 2, ';') {
                    files.extend(word(tokens, index + 1));
                }
                index += 1;
                if ends || group(tokens, index - 1, Delimiter::Brace).is_some() {
                    break;
                }
            }
            continue;
        }
        kept.push(match &tokens[index] {
            TokenTree::Group(group) => {
                let (kept, _) = without_tests(&inside(group));
                let mut shorter = Group::new(group.delimiter(), kept.into_iter().collect());
                shorter.set_span(group.span());
                TokenTree::Group(shorter)
            }
            other @ (TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_)) => other.clone(),
        });
        index += 1;
    }
    (kept, files)
}

// ------------------------------------------------------------------------------------------------- paths

/// A path that a source names, from the root of our crate (`ours`), or from where it stands or a crate outside.
#[derive(Debug, PartialEq, Eq)]
struct Named {
    line: usize,
    ours: bool,
    segments: Vec<String>,
    /// The module it stands in.
    module: Vec<String>,
    /// What a `use` calls it from there on; `*` for all that is in it.
    alias: Option<String>,
}

struct Walk {
    /// The module we are in: the file's, then those opened by `mod name {`.
    module: Vec<String>,
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

/// Every path that `tokens` name.
fn paths(file: &str, tokens: &[TokenTree]) -> Vec<Named> {
    let mut walk = Walk { module: module_of(file), found: Vec::new() };
    walk.all(tokens);
    walk.found
}

impl Walk {
    fn all(&mut self, tokens: &[TokenTree]) {
        let mut index = 0;
        while index < tokens.len() {
            let found = word(tokens, index);
            if let Some(TokenTree::Group(group)) = tokens.get(index) {
                self.all(&inside(group));
            } else if found.as_deref() == Some("mod")
                && let Some((name, group)) = word(tokens, index + 1).zip(group(tokens, index + 2, Delimiter::Brace))
            {
                self.module.push(name);
                self.all(&inside(group));
                self.module.pop();
                index += 2;
            } else if found.as_deref() == Some("use") {
                index = self.tree(tokens, index + 1, &[], true);
                continue;
            } else if found.is_some() && is_path(tokens, index + 1) {
                index = self.tree(tokens, index, &[], false);
                continue;
            }
            index += 1;
        }
    }

    /// Reads the path or `use` tree that begins at `index` behind `prefix`, and returns where it ends.
    fn tree(&mut self, tokens: &[TokenTree], mut index: usize, prefix: &[String], imported: bool) -> usize {
        let mut segments = prefix.to_vec();
        let mut alias = None;
        let start = index;
        loop {
            if is_path(tokens, index) {
                index += 2;
            }
            if let Some(word) = word(tokens, index) {
                segments.push(word);
            } else if let Some(group) = group(tokens, index, Delimiter::Brace).filter(|_| imported) {
                let branches = inside(group);
                let mut branch = 0;
                while branch < branches.len() {
                    branch = self.tree(&branches, branch, &segments, true) + 1;
                }
                return index + 1;
            } else {
                if imported && is_sign(tokens, index, '*') {
                    alias = Some("*".to_owned());
                    index += 1;
                }
                break;
            }
            index += 1;
            if !is_path(tokens, index) {
                break;
            }
        }
        if imported && alias.is_none() {
            alias = segments.iter().rfind(|segment| *segment != "self").cloned();
            if word(tokens, index).as_deref() == Some("as") {
                alias = word(tokens, index + 1);
                index += 2;
            }
        }
        if segments.len() > prefix.len() || alias.as_deref() == Some("*") {
            self.name(line(&tokens[start]), segments, alias);
        }
        index
    }

    /// Keeps a path, resolved.
    fn name(&mut self, line: usize, segments: Vec<String>, alias: Option<String>) {
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
        self.found.push(Named { line, ours, segments: resolved, module: self.module.clone(), alias });
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
    for Named { line, ours, segments, .. } in paths(file, &tokens(source)) {
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

// ------------------------------------------------------------------------------------------------ circles

// A circle inside a folder is two files or more that cannot be read, tested or moved without each other. A file may use what
// the head of its folder defines, though the head (`mod.rs`, or `name.rs` beside `name/`) names its parts to introduce them:
// what a head says of its own parts is left out here, else every folder would be one circle.

/// The circles there were when this test came: how many uses lie on one, and its files. A number may become smaller and a
/// file may go, never the other way; where a file only gets another name, its name changes here. The test says what to write.
///
/// They are debts, not examples. The largest is the workbench: the model holds a value of nearly every file, and the files
/// take the whole model. It goes as they take the part that they need.
const KNOWN_CIRCLES: &[(usize, &[&str])] = &[
    (2, &["src/config/authority.rs", "src/config/trust.rs"]),
    (2, &["src/context/plan.rs", "src/context/provider.rs"]),
    (
        11,
        &[
            "src/engine/driver/calls.rs",
            "src/engine/driver/compaction.rs",
            "src/engine/driver/context.rs",
            "src/engine/driver/record.rs",
            "src/engine/driver/run.rs",
            "src/engine/driver/tools.rs",
        ],
    ),
    (2, &["src/engine/thread/control_point.rs", "src/engine/thread/turn.rs"]),
    (
        12,
        &[
            "src/providers/anthropic.rs",
            "src/providers/encode.rs",
            "src/providers/gemini/request.rs",
            "src/providers/gemini.rs",
            "src/providers/openai_chat/request.rs",
            "src/providers/openai_chat.rs",
            "src/providers/openai_responses.rs",
        ],
    ),
    (2, &["src/providers/resolver.rs", "src/providers/tiers.rs"]),
    (2, &["src/providers/scripted/parse.rs", "src/providers/scripted/scenario.rs"]),
    (4, &["src/session/directive_planner.rs", "src/session/environment.rs", "src/session/setup.rs"]),
    (2, &["src/store/layout.rs", "src/store/log.rs"]),
    (2, &["src/tools/fetch.rs", "src/tools/page.rs"]),
    (2, &["src/ui/lines.rs", "src/ui/wrap.rs"]),
    (
        36,
        &[
            "src/workbench/completion.rs",
            "src/workbench/context_browser.rs",
            "src/workbench/drafts.rs",
            "src/workbench/form.rs",
            "src/workbench/geometry.rs",
            "src/workbench/history.rs",
            "src/workbench/model.rs",
            "src/workbench/overlay.rs",
            "src/workbench/perform.rs",
            "src/workbench/pointer.rs",
            "src/workbench/request_page.rs",
            "src/workbench/submit.rs",
        ],
    ),
];

/// A source file as the search for circles sees it.
struct File {
    name: String,
    module: Vec<String>,
    named: Vec<Named>,
}

/// Files by their modules, with the names that each has from elsewhere.
struct Inside {
    files: Vec<File>,
    at: BTreeMap<Vec<String>, usize>,
    aliases: BTreeMap<(Vec<String>, String), Vec<String>>,
}

impl Inside {
    /// What only tests are built with is left out.
    fn new(sources: &[(String, String)]) -> Self {
        let mut tests: BTreeSet<Vec<String>> = BTreeSet::new();
        let mut files = Vec::new();
        for (file, source) in sources {
            let (tokens, names) = without_tests(&tokens(source));
            let module = module_of(file);
            tests.extend(names.into_iter().map(|name| [module.as_slice(), &[name]].concat()));
            files.push(File { name: file.clone(), named: paths(file, &tokens), module });
        }
        files.retain(|file| !tests.iter().any(|test| file.module.starts_with(test)));
        let at = files.iter().enumerate().map(|(index, file)| (file.module.clone(), index)).collect();
        let mut inside = Self { files, at, aliases: BTreeMap::new() };
        let mut aliases = BTreeMap::new();
        for file in &inside.files {
            for named in &file.named {
                if let Some((alias, path)) = named.alias.clone().zip(inside.path_from_root(named)) {
                    aliases.insert((named.module.clone(), alias), path);
                }
            }
        }
        inside.aliases = aliases;
        inside
    }

    /// The path from the root of our crate, where it is one of ours.
    fn path_from_root(&self, named: &Named) -> Option<Vec<String>> {
        if named.ours {
            return Some(named.segments.clone());
        }
        let (first, rest) = named.segments.split_first()?;
        let known = self.aliases.get(&(named.module.clone(), first.clone())).filter(|_| named.alias.is_none());
        let child = [named.module.as_slice(), std::slice::from_ref(first)].concat();
        let begin = known.cloned().or_else(|| self.at.contains_key(&child).then_some(child))?;
        Some([begin.as_slice(), rest].concat())
    }

    /// The file that defines what `path` names: names that a module has from elsewhere are followed.
    fn home(&self, path: &[String]) -> Option<usize> {
        let mut path = path.to_vec();
        for _ in 0..20 {
            let length = (1..=path.len()).rev().find(|length| self.at.contains_key(&path[..*length]))?;
            let next = path.get(length).and_then(|name| self.aliases.get(&(path[..length].to_vec(), name.clone())));
            match next.filter(|next| **next != path[..=length]) {
                Some(next) => path = [next.as_slice(), &path[length + 1..]].concat(),
                None => return self.at.get(&path[..length]).copied(),
            }
        }
        None
    }

    /// Which files use which others of the same folder, heads' own parts left out.
    fn uses(&self) -> Vec<BTreeSet<usize>> {
        let uses = self.files.iter().enumerate().map(|(index, file)| {
            let homes = file.named.iter().filter_map(|named| self.home(&self.path_from_root(named)?));
            let counts = |home: &usize| {
                let other = &self.files[*home].module;
                *home != index && other.first() == file.module.first() && !other.starts_with(&file.module)
            };
            homes.filter(counts).collect()
        });
        uses.collect()
    }

    /// The circles, those that share a file as one: how many uses lie on them, and their files in order.
    fn circles(&self) -> Vec<(usize, Vec<&str>)> {
        let uses = self.uses();
        let reached: Vec<BTreeSet<usize>> = (0..uses.len())
            .map(|start| {
                let (mut reached, mut ahead) = (BTreeSet::new(), vec![start]);
                while let Some(next) = ahead.pop() {
                    ahead.extend(uses[next].iter().copied().filter(|next| reached.insert(*next)));
                }
                reached
            })
            .collect();
        let around = (0..uses.len()).filter(|file| reached[*file].contains(file));
        let knots: BTreeSet<BTreeSet<usize>> = around
            .map(|file| reached[file].iter().copied().filter(|other| reached[*other].contains(&file)).collect())
            .collect();
        let told = knots.into_iter().map(|knot| {
            let count = knot.iter().map(|file| uses[*file].intersection(&knot).count()).sum();
            (count, knot.iter().map(|file| self.files[*file].name.as_str()).collect())
        });
        told.collect()
    }
}

/// A circle as `KNOWN_CIRCLES` tells it.
fn row((uses, files): &(usize, Vec<&str>)) -> String {
    format!("    ({uses}, &{files:?}),")
}

#[test]
fn circles_inside_folders_only_become_fewer() {
    let read = |path: PathBuf| {
        let file = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
        (file, fs::read_to_string(&path).unwrap())
    };
    let sources: Vec<_> = sources().into_iter().map(read).collect();
    let inside = Inside::new(&sources);
    let found = inside.circles();
    let known = |(uses, files): &&(usize, Vec<&str>)| {
        KNOWN_CIRCLES.iter().any(|(most, knot)| uses <= most && files.iter().all(|file| knot.contains(file)))
    };
    let grown: Vec<String> = found.iter().filter(|circle| !known(circle)).map(row).collect();
    assert!(
        grown.is_empty(),
        "files that use each other in a circle, new or with more uses than known:\n{}",
        grown.join("\n")
    );
    let rows: Vec<String> = found.iter().map(row).collect();
    let old: Vec<String> = KNOWN_CIRCLES.iter().map(|(uses, files)| row(&(*uses, files.to_vec()))).collect();
    assert_eq!(rows, old, "there is less of this now; KNOWN_CIRCLES is to say:\n{}", rows.join("\n"));
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

fn circles_in(sources: &[(&str, &str)]) -> Vec<(usize, Vec<String>)> {
    let owned: Vec<_> = sources.iter().map(|(file, source)| ((*file).to_owned(), (*source).to_owned())).collect();
    let inside = Inside::new(&owned);
    let owned = |(uses, files): (usize, Vec<&str>)| (uses, files.into_iter().map(str::to_owned).collect());
    inside.circles().into_iter().map(owned).collect()
}

#[track_caller]
fn assert_circle(sources: &[(&str, &str)], uses: usize, files: &[&str]) {
    let files = files.iter().map(|file| (*file).to_owned()).collect();
    assert_eq!(circles_in(sources), [(uses, files)]);
}

#[test]
fn circles_are_found() {
    let (a, b, c) = ("src/ui/a.rs", "src/ui/b.rs", "src/ui/c.rs");
    assert_circle(&[(a, "use crate::ui::b::B;"), (b, "fn b() { super::a::a() }")], 2, &[a, b]);
    assert_circle(&[(a, "use super::b;"), (b, "use super::c;"), (c, "type A = super::a::A;")], 3, &[a, b, c]);
    // Through a name that the folder hands on, or that `use` gave.
    let head = ("src/ui/mod.rs", "mod a;\nmod b;\npub use a::A;\npub(crate) use self::b::{B as Other, C};");
    assert_circle(&[head, (a, "use super::{Other};"), (b, "use crate::ui::A;")], 2, &[a, b]);
    assert_circle(&[head, (a, "use crate::ui;\nfn a(c: ui::C) {}"), (b, "use super::a::A;")], 2, &[a, b]);
    // A part of a folder and what is beside the folder.
    let deep = ("src/ui/a/deep.rs", "use super::super::b::B;");
    assert_circle(&[(a, "mod deep;"), deep, (b, "use super::a::deep::D;")], 2, &["src/ui/a/deep.rs", b]);
}

#[test]
fn what_is_no_circle_is_left_alone() {
    let (a, b) = ("src/ui/a.rs", "src/ui/b.rs");
    assert_eq!(circles_in(&[(a, "use super::b::B;"), (b, "// use super::a::A;\nlet a = \"super::a::A\";")]), []);
    assert_eq!(circles_in(&[(a, "use super::b::B;"), (b, "#[cfg(test)]\nmod tests { use crate::ui::a::A; }")]), []);
    assert_eq!(circles_in(&[(a, "use super::b::B;"), (b, "#[cfg(test)]\nuse super::a::A;\nfn b() {}")]), []);
    let tests = ("src/ui/b/tests.rs", "use crate::ui::a::A;");
    assert_eq!(circles_in(&[(a, "use super::b::tests::B;"), (b, "#[cfg(test)]\nmod tests;"), tests]), []);
    // A head and its parts; the table has a word on other folders.
    assert_eq!(circles_in(&[("src/ui/mod.rs", "mod a;\nuse a::A;\nstruct M;"), (a, "use super::M;")]), []);
    assert_eq!(circles_in(&[(a, "use crate::app::x::X;"), ("src/app/x.rs", "use crate::ui::a::A;")]), []);
}

// ------------------------------------------------------------------------------------- one writer for people

/// Where standard output and standard error may be named: the writer for people, the terminal that the screen draws on,
/// and the log of workers. Everywhere else text would reach a terminal as it is.
const WRITERS: &[&str] = &["src/session/people.rs", "src/terminal/tty.rs", "src/session/logging.rs"];

/// Lines that write to standard output or standard error by themselves, tests left out.
fn own_writers(source: &str) -> Vec<usize> {
    let (tokens, _) = without_tests(&tokens(source));
    let mut lines = Vec::new();
    writers_in(&tokens, &mut lines);
    lines.dedup();
    lines
}

fn writers_in(tokens: &[TokenTree], lines: &mut Vec<usize>) {
    for (index, token) in tokens.iter().enumerate() {
        let before = |sign| index > 0 && is_sign(tokens, index - 1, sign);
        let called = group(tokens, index + 1, Delimiter::Parenthesis).is_some();
        // Not `a.print != b`.
        let expanded = is_sign(tokens, index + 1, '!') && matches!(tokens.get(index + 2), Some(TokenTree::Group(_)));
        let writes = match word(tokens, index).as_deref() {
            // A child's are its own: `.stdout(…)`.
            Some("stdout" | "stderr") => (index > 1 && is_path(tokens, index - 2)) || (called && !before('.')),
            Some("println" | "eprintln" | "eprint" | "dbg" | "print") => expanded,
            _ => false,
        };
        if writes {
            lines.push(line(token));
        }
        if let TokenTree::Group(group) = token {
            writers_in(&inside(group), lines);
        }
    }
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
    assert!(wrong.is_empty(), "these write past session::people, so that text could steer the terminal: {wrong:#?}");
}

#[test]
fn s06_a_writer_is_found() {
    let source = "use std::io::{self, stdout};\nfn a(c: &mut Command) {\n    c.stdout(x);\n    io::stdout().lock();\n    \
                  std::io::stderr();\n    println!(\"x\");\n    stdout();\n}\n// stdout()\n";
    assert_eq!(own_writers(source), [4, 5, 6, 7]);
}

#[test]
fn code_that_no_compiler_checks_stands_in_one_place() {
    // The lint is `deny` and not `forbid`, because of it.
    let asks = |path: &PathBuf| fs::read_to_string(path).unwrap().contains("(unsafe_code");
    let found: Vec<PathBuf> = sources().into_iter().filter(asks).collect();
    assert_eq!(found, [root().join("src/worker/code_pages.rs")]);
}

#[test]
fn every_file_of_tests_is_part_of_the_suite() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
    let suite = std::fs::read_to_string(format!("{folder}/suite.rs")).unwrap();
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let forgotten: Vec<String> = names
        .filter_map(|name| name.strip_suffix(".rs").map(str::to_owned))
        .filter(|name| name != "suite" && !suite.lines().any(|line| line == format!("mod {name};")))
        .collect();
    assert!(forgotten.is_empty(), "no `mod` in tests/suite.rs for {forgotten:?}");
}
