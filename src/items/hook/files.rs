//! The files hooks are written in: `hooks.yaml` of the person and the project, each on its own, and
//! `hook_conditions.yaml`, which the spaces lay over each other by id.

use super::{Hook, Place, Source};
use crate::domain::{Problem, Severity, Space, nearest};
use crate::items::knowledge::{json, mapping};
use crate::items::{Items, Root};
use serde_json::Value;
use std::path::Path;

/// Most hooks that are read; more are a mistake or an attack.
pub const MOST: usize = 2_000;

const OWN: &str = ".ai/config/agent/hooks.yaml";
const SHARED: &str = ".ai/config/agent/hook_conditions.yaml";

/// Names beside the lists that describe the file and decide nothing.
const DESCRIPTIVE: [&str; 7] =
    ["action_primaries", "action_item_types", "schema_version", "version", "description", "category", "tool_type"];

/// Every hook that is not a directive's, in the order in which they are asked.
#[derive(Clone, Debug, Default)]
pub struct Hooks {
    pub hooks: Vec<Hook>,
    /// Those that are switched off where they are written.
    pub disabled: Vec<Hook>,
    /// What is wrong with the files. A fatal problem holds up every thread: who wrote the hook counts on it.
    pub problems: Vec<Problem>,
    /// How many there are, when they are more than [`MOST`]: then none was read.
    pub too_many: Option<usize>,
}

impl Hooks {
    /// Reads the files of all spaces.
    #[must_use]
    pub fn read(items: &Items) -> Self {
        let mut hooks = Self::default();
        let mut shared: Vec<Hook> = Vec::new();
        let mut count = 0;
        // From the space that loses to the one that wins.
        for root in items.roots().iter().rev() {
            let own = match root.space {
                Space::User => Some(Source::User),
                Space::Project => Some(Source::Project),
                Space::System => None,
            };
            for (path, lists) in
                [(SHARED, shared_lists().as_slice()), (OWN, own.map(|source| ("hooks", source)).as_slice())]
            {
                if lists.is_empty() {
                    continue;
                }
                let text = match items.read_at(root, path) {
                    None => continue,
                    Some(Ok((text, objection))) => {
                        hooks.problems.extend(objection);
                        text
                    }
                    Some(Err(problem)) => {
                        hooks.problems.push(Problem { severity: Severity::Fatal, ..problem });
                        continue;
                    }
                };
                let found = read_file(&text, &root.file(path), lists, &mut hooks.problems, &mut count);
                let (found, off): (Vec<Hook>, Vec<Hook>) = found.into_iter().partition(|hook| hook.enabled);
                hooks.disabled.extend(off);
                if path == OWN {
                    hooks.hooks.extend(found);
                } else {
                    lay_over(&mut shared, found);
                }
            }
        }
        if count > MOST {
            let message = format!("there are {count} hooks, more than {MOST}; none is read");
            hooks.problems.push(Problem {
                file: None,
                line: None,
                severity: Severity::Error,
                message,
                remedy: "remove some from hooks.yaml and hook_conditions.yaml".to_owned(),
            });
            return Self { problems: hooks.problems, too_many: Some(count), ..Self::default() };
        }
        hooks.hooks.append(&mut shared);
        sort(&mut hooks.hooks);
        hooks
    }
}

fn shared_lists() -> [(&'static str, Source); 3] {
    [("builtin_hooks", Source::Builtin), ("context_hooks", Source::Context), ("infra_hooks", Source::Infra)]
}

/// Puts hooks in the order in which they are asked: by layer, then by who wrote them, then as written.
pub(super) fn sort(hooks: &mut [Hook]) {
    hooks.sort_by_key(|hook| (hook.layer, hook.source));
}

/// A file that hooks are written in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookFile {
    pub root: Root,
    /// Its path below that.
    pub path: &'static str,
    text: String,
}

impl HookFile {
    /// The files of all spaces that read.
    #[must_use]
    pub fn all(items: &Items) -> Vec<Self> {
        let places = items.roots().iter().flat_map(|root| [SHARED, OWN].map(|path| (root, path)));
        let read = places.filter_map(|(root, path)| {
            let (text, _objection) = items.read_at(root, path)?.ok()?;
            Some(Self { root: root.clone(), path, text: text.into_owned() })
        });
        read.collect()
    }

    #[must_use]
    pub fn holds(&self, hook: &Hook) -> bool {
        self.root.file(self.path) == hook.file
    }

    /// `hook`, which it holds, as it is written.
    #[must_use]
    pub fn written(&self, hook: &Hook) -> String {
        let first = usize::try_from(hook.lines.0).unwrap_or_default().saturating_sub(1);
        let mut lines = self.text.lines().skip(first);
        let Some(first) = lines.next() else { return String::new() };
        // An entry of a list goes on as long as its lines stand further in.
        let depth = |line: &str| line.len() - line.trim_start().len();
        let more = lines.take_while(|line| line.trim().is_empty() || depth(line) > depth(first));
        std::iter::once(first).chain(more).collect::<Vec<_>>().join("\n").trim_end().to_owned()
    }
}

impl Hooks {
    /// All of them, also those that are switched off.
    pub fn every(&self) -> impl Iterator<Item = &Hook> {
        self.hooks.iter().chain(&self.disabled)
    }

    /// These and a directive's own that are not switched off, in order.
    #[must_use]
    pub fn with(&self, directive: &[Hook]) -> Vec<Hook> {
        let own = directive.iter().filter(|hook| hook.enabled);
        let mut hooks: Vec<Hook> = self.hooks.iter().chain(own).cloned().collect();
        sort(&mut hooks);
        hooks
    }
}

/// The same id in the same list replaces in place; new ones follow.
fn lay_over(below: &mut Vec<Hook>, above: Vec<Hook>) {
    for hook in above {
        match below.iter_mut().find(|other| other.id == hook.id && other.source == hook.source) {
            Some(other) => *other = hook,
            None => below.push(hook),
        }
    }
}

/// The hooks in the named lists of a file.
fn read_file(
    text: &str,
    file: &Path,
    lists: &[(&str, Source)],
    problems: &mut Vec<Problem>,
    count: &mut usize,
) -> Vec<Hook> {
    if text.trim().is_empty() {
        return Vec::new();
    }
    let map = match mapping(text, 1, file) {
        Ok(map) => map,
        Err(problem) => {
            problems.push(Problem { severity: Severity::Fatal, ..problem });
            return Vec::new();
        }
    };
    let mut found = Vec::new();
    for (key, value) in &map {
        let Some(name) = key.as_str() else { continue };
        let Some((_, source)) = lists.iter().find(|(list, _)| *list == name) else {
            if !DESCRIPTIVE.contains(&name) {
                let known: Vec<_> = lists.iter().map(|(list, _)| *list).collect();
                let message = format!("unknown name `{name}`");
                let remedy = format!("known names: {}", known.join(", "));
                let is_slip = nearest(name, known.iter().copied()).is_some();
                let severity = if is_slip { Severity::Fatal } else { Severity::Warning };
                problems.push(Problem::at(file, line_of(text, name), severity, message, remedy));
            }
            continue;
        };
        if !value.is_sequence() && !value.is_null() {
            let remedy = "begin each hook with `- ` and its event";
            let message = format!("`{name}` is no list of hooks");
            problems.push(Problem::at(file, line_of(text, name), Severity::Fatal, message, remedy));
        }
        let entries = value.as_sequence().map_or(&[][..], Vec::as_slice);
        *count += entries.len();
        if *count > MOST {
            continue;
        }
        let lines = entry_lines(text, name);
        for (number, entry) in entries.iter().enumerate() {
            let line = lines.get(number).copied().unwrap_or_else(|| line_of(text, name));
            let mut place = Place { source: *source, file, lines: (line, line), problems: &mut *problems };
            if let Value::Object(map) = json(entry) {
                found.extend(Hook::read(&map, &mut place));
            } else {
                place.fatal("a hook must be a mapping", "write id, event and action");
            }
        }
    }
    found
}

/// The line of a key that begins its line.
pub(in crate::items) fn line_of(text: &str, key: &str) -> u32 {
    let is_key = |line: &&str| line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(':'));
    (1..).zip(text.lines()).find(|(_, line)| is_key(line)).map_or(1, |(number, _)| number)
}

/// The line of each entry of the block list below a key.
pub(in crate::items) fn entry_lines(text: &str, key: &str) -> Vec<u32> {
    entry_lines_behind(text, line_of(text, key))
}

/// The line of each entry of the block list behind so many lines: those that begin with `-` as deep as its first one.
pub(in crate::items) fn entry_lines_behind(text: &str, before: u32) -> Vec<u32> {
    let mut depth = None;
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(text.lines()).skip(before as usize) {
        let inside = line.trim_start();
        let indent = line.len() - inside.len();
        if inside.starts_with("- ") || inside == "-" {
            if *depth.get_or_insert(indent) == indent {
                lines.push(number);
            }
        } else if indent == 0 && !inside.is_empty() && !inside.starts_with('#') {
            break;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::items::Spaces;
    use std::fs;

    fn items(files: &[(&str, &str)]) -> (tempfile::TempDir, Items) {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let spaces = Spaces::new(&folder.path().join("project"), &folder.path().join("user"), []);
        let items = Items::list(&spaces);
        (folder, items)
    }

    const ACTION: &str = "action: {primary: fetch, item_id: team/rules}";

    #[test]
    fn hooks_are_asked_by_layer_then_source_then_place() {
        let file = |names: &[(&str, &str)]| {
            let hooks: Vec<_> = names
                .iter()
                .map(|(id, more)| format!("  - id: {id}\n    event: thread_started\n    {more}\n    {ACTION}\n"))
                .collect();
            format!("hooks:\n{}", hooks.concat())
        };
        let project = file(&[("p1", "wrap: true"), ("p2", "layer: 0"), ("p3", "layer: 3")]);
        let user = file(&[("u1", "wrap: false"), ("u2", "layer: 2")]);
        let (_folder, items) =
            items(&[("project/.ai/config/agent/hooks.yaml", &project), ("user/.ai/config/agent/hooks.yaml", &user)]);
        let Hooks { hooks, problems, .. } = Hooks::read(&items);
        assert_eq!(problems, []);
        let ours: Vec<_> = hooks
            .iter()
            .filter(|hook| !hook.file.starts_with("levain:"))
            .map(|hook| (hook.id.as_str(), hook.lines.0))
            .collect();
        assert_eq!(ours, [("u1", 2), ("p2", 6), ("u2", 6), ("p1", 2), ("p3", 10)]);
    }

    #[test]
    fn shared_lists_are_laid_over_by_id() {
        let project = "context_hooks:\n- id: ctx_environment\n  event: thread_started\n  layer: 4\n  action: {primary: \
                       load, item_id: mine}\n- id: more\n  event: thread_started\n  action: {primary: load, item_id: more}\n";
        let (_folder, items) = items(&[("project/.ai/config/agent/hook_conditions.yaml", project)]);
        let hooks = Hooks::read(&items).hooks;
        let of = |id: &str| hooks.iter().filter(|hook| hook.id == id).collect::<Vec<_>>();
        assert_eq!(of("ctx_environment").len(), 1);
        assert_eq!(of("ctx_environment")[0].names().last(), Some("mine"));
        assert_eq!(of("more")[0].layer, Source::Context.layer());
        assert!(!of("ctx_directive_instruction").is_empty());
    }

    #[test]
    fn a_broken_entry_costs_itself_and_names_its_line() {
        let text = format!(
            "hooks:\n  - id: good\n    event: error\n    {ACTION}\n\n  - id: bad\n    event: errr\n    {ACTION}\n  - 3\nother: 1\n"
        );
        let (folder, items) = items(&[("project/.ai/config/agent/hooks.yaml", &text)]);
        let Hooks { hooks, problems, .. } = Hooks::read(&items);
        assert!(hooks.iter().any(|hook| hook.id == "good"));
        let file = folder.path().join("project/.ai/config/agent/hooks.yaml");
        let told: Vec<_> = problems.iter().map(|problem| (problem.file.clone().unwrap(), problem.line)).collect();
        assert_eq!(told, [(file.clone(), Some(6)), (file.clone(), Some(9)), (file, Some(10))], "{problems:?}");
    }

    #[test]
    fn more_than_two_thousand_are_refused() {
        let text = format!("hooks:\n{}", format!("  - {{event: error, {ACTION}}}\n").repeat(MOST + 1));
        let (_folder, items) = items(&[("project/.ai/config/agent/hooks.yaml", &text)]);
        let read = Hooks::read(&items);
        assert!(read.too_many.is_some_and(|count| count > MOST) && read.hooks.is_empty());
    }
}
