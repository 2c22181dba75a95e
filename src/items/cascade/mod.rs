//! The settings of agents: `.ai/config/agent/*.yaml`, merged from system over user to project, each value with the file
//! and line it is from.
//!
//! Unlike items, where the nearest file wins whole, here a later file is laid over the earlier ones value by value. The
//! files in the program say which names there are and what kind of value each has; what does not fit is a problem and
//! changes nothing. `hooks.yaml` lies in the same folder and is not merged.

mod merge;
mod risk;
mod rules;
#[cfg(test)]
mod tests;
pub(super) mod tree;

pub use tree::{Node, Tree};

use super::find::read_inside;
use super::signature::{SignatureLayout, TrustStore, Verdict, verify};
use super::space::{Place, Root, Spaces, embedded_file};
use crate::domain::{Problem, Severity, Space, nearest};
use merge::Merging;
use serde_json::Value;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// The folder of the files, below a space.
pub const FOLDER: &str = ".ai/config/agent";

/// The files that are merged, by their names without the ending.
pub const FILES: [&str; 7] =
    ["agent", "capability_risk", "coordination", "error_classification", "events", "hook_conditions", "resilience"];

/// What else may lie there.
const OTHERS: [&str; 3] = ["hooks", "pipeline", "budget_ledger_schema"];

/// A file that took part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    pub space: Space,
    pub file: PathBuf,
}

/// Where a value was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin<'a> {
    pub space: Space,
    pub file: &'a Path,
    /// Counts from 1.
    pub line: u32,
}

impl fmt::Display for Origin<'_> {
    /// `FILE:3`
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.file.display(), self.line)
    }
}

/// A value at the end of a path.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry<'a> {
    /// `resilience.retry.max_attempts`
    pub key: String,
    pub value: Value,
    pub origin: Origin<'a>,
}

/// All merged files.
#[derive(Clone, Debug, Default)]
pub struct Cascade {
    files: Vec<(&'static str, Node)>,
    layers: Vec<Layer>,
    /// Files of which the project's may make nothing milder, without the project's.
    own: Vec<(&'static str, Node)>,
}

/// Files that bind a project which is not trusted: it may make their rules stricter.
const BINDING: [&str; 2] = [risk::FILE, "resilience"];

fn at<'a>(files: &'a [(&'static str, Node)], key: &str) -> Option<&'a Node> {
    let mut steps = key.split('.');
    let first = steps.next()?;
    let (_, top) = files.iter().find(|(name, _)| *name == first)?;
    let mut node = top;
    for step in steps {
        node = node.child(step)?;
    }
    Some(node)
}

impl Cascade {
    /// Reads and merges the files of all spaces. A file that was changed after it was signed is left out; whether it is
    /// signed at all does not matter here.
    #[must_use]
    pub fn read(spaces: &Spaces, trust: &TrustStore) -> (Self, Vec<Problem>) {
        let mut problems = Vec::new();
        let mut texts = Vec::new();
        for root in from_below(spaces) {
            unknown_files(root, &mut problems);
            for name in FILES {
                if let Some((file, text)) = text_of(root, name, &mut problems) {
                    if let Some(what) = tampered(root, &text, trust) {
                        let remedy = "sign it again with levain sign, or put back what was signed";
                        problems.push(Problem::at(&file, 1, Severity::Fatal, what, remedy));
                        continue;
                    }
                    texts.push((name, Layer { space: root.space, file }, text));
                }
            }
        }
        let (cascade, mut mistakes) = Self::merge(texts);
        problems.append(&mut mistakes);
        (cascade, problems)
    }

    /// Merges texts, each with the name of its file in [`FILES`]; a later one goes over an earlier one.
    #[must_use]
    pub fn merge(texts: Vec<(&'static str, Layer, String)>) -> (Self, Vec<Problem>) {
        let (mut cascade, mut problems) = (Self::default(), Vec::new());
        for (name, layer, text) in texts {
            let number = cascade.layers.len();
            let node = tree::read(&text, &layer.file, number, &mut problems);
            let (file, space) = (layer.file.clone(), layer.space);
            cascade.layers.push(layer);
            let Some(node) = node else { continue };
            if !matches!(node.tree, Tree::Map(_)) {
                let message = "is not a mapping";
                problems.push(Problem::at(&file, node.line, Severity::Fatal, message, "write `name: value`"));
                continue;
            }
            if BINDING.contains(&name) && space != Space::Project {
                match cascade.own.iter_mut().find(|(known, _)| *known == name) {
                    // What is wrong with it is told once.
                    Some((_, under)) => Merging { file: &file, problems: &mut Vec::new() }.lay(under, node.clone(), ""),
                    None => cascade.own.push((name, node.clone())),
                }
            }
            match cascade.files.iter_mut().find(|(known, _)| *known == name) {
                Some((_, under)) => Merging { file: &file, problems: &mut problems }.lay(under, node, ""),
                None => cascade.files.push((name, node)),
            }
        }
        cascade.files.sort_by_key(|(name, _)| *name);
        (cascade, problems)
    }

    /// The value at a path that begins with the name of a file: `agent.provider.default`. Entries of lists are named by
    /// their `id` or their number from 0.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Node> {
        at(&self.files, key)
    }

    /// The same without what the project says, in a file whose rules it may not make milder.
    #[must_use]
    pub fn get_own(&self, key: &str) -> Option<&Node> {
        at(&self.own, key)
    }

    /// Whether the project's file says what stands there.
    #[must_use]
    pub fn is_of_project(&self, node: &Node) -> bool {
        self.origin(node).is_some_and(|origin| origin.space == Space::Project)
    }

    /// The text at a path; none where there is another value or an empty text.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<&str> {
        match &self.get(key)?.tree {
            Tree::Plain(Value::String(text)) => Some(text.as_str()).filter(|text| !text.trim().is_empty()),
            Tree::Plain(_) | Tree::List(_) | Tree::Map(_) => None,
        }
    }

    /// The number at a path, where it is none below zero.
    #[must_use]
    pub fn number(&self, key: &str) -> Option<f64> {
        match &self.get(key)?.tree {
            Tree::Plain(value) => value.as_f64().filter(|number| *number >= 0.0),
            Tree::List(_) | Tree::Map(_) => None,
        }
    }

    /// Names and texts of the map at a path, in the order they were written.
    #[must_use]
    pub fn texts(&self, key: &str) -> Vec<(String, String)> {
        let Some(Node { tree: Tree::Map(entries), .. }) = self.get(key) else { return Vec::new() };
        let texts = entries.iter().filter_map(|(name, node)| match &node.tree {
            Tree::Plain(Value::String(text)) => Some((name.clone(), text.clone())),
            Tree::Plain(_) | Tree::List(_) | Tree::Map(_) => None,
        });
        texts.collect()
    }

    /// Every file that took part.
    pub fn layers(&self) -> impl Iterator<Item = &Layer> {
        self.layers.iter()
    }

    /// Where a node of this cascade was written.
    #[must_use]
    pub fn origin(&self, node: &Node) -> Option<Origin<'_>> {
        let layer = self.layers.get(node.layer)?;
        Some(Origin { space: layer.space, file: &layer.file, line: node.line })
    }

    /// Every value at and below the path `key`, or every value at all.
    #[must_use]
    pub fn entries(&self, key: Option<&str>) -> Vec<Entry<'_>> {
        let mut found = Vec::new();
        match key {
            Some(key) => self.get(key).into_iter().for_each(|node| self.collect(key, node, &mut found)),
            None => self.files.iter().for_each(|(name, node)| self.collect(name, node, &mut found)),
        }
        found
    }

    fn collect<'a>(&'a self, key: &str, node: &'a Node, found: &mut Vec<Entry<'a>>) {
        let named = |nodes: &[Node]| nodes.iter().any(|node| node.id().is_some());
        match &node.tree {
            Tree::Map(entries) if !entries.is_empty() => {
                for (name, node) in entries {
                    self.collect(&format!("{key}.{name}"), node, found);
                }
            }
            Tree::List(nodes) if named(nodes) => {
                for (number, node) in nodes.iter().enumerate() {
                    let name = node.id().map_or_else(|| number.to_string(), str::to_owned);
                    self.collect(&format!("{key}.{name}"), node, found);
                }
            }
            Tree::Plain(_) | Tree::List(_) | Tree::Map(_) => {
                let origin = self.origin(node);
                found.extend(origin.map(|origin| Entry { key: key.to_owned(), value: node.value(), origin }));
            }
        }
    }
}

/// The roots in the order in which their files are laid over each other: the program's own, further bundles, the
/// user's, the project's.
fn from_below(spaces: &Spaces) -> impl Iterator<Item = &Root> {
    spaces.roots().iter().rev()
}

/// The file of that name in a root, with its text.
fn text_of(root: &Root, name: &str, problems: &mut Vec<Problem>) -> Option<(PathBuf, String)> {
    for ending in ["yaml", "yml"] {
        let path = format!("{FOLDER}/{name}.{ending}");
        let file = root.file(&path);
        match &root.place {
            Place::Embedded => {
                if let Some(bytes) = embedded_file(&path) {
                    return Some((file, String::from_utf8_lossy(bytes).into_owned()));
                }
            }
            Place::Folder(base) if base.join(&path).exists() => {
                let told = file.clone();
                let bad = |message: String, remedy: &str| Problem::at(&told, None, Severity::Fatal, message, remedy);
                return match read_inside(base, &path, &bad) {
                    Ok(text) => Some((file, text)),
                    Err(problem) => {
                        problems.push(problem);
                        None
                    }
                };
            }
            Place::Folder(_) => {}
        }
    }
    None
}

/// What is wrong with the signature of a text, if it has one.
fn tampered(root: &Root, text: &str, trust: &TrustStore) -> Option<String> {
    if root.place == Place::Embedded {
        return None;
    }
    match verify(text, SignatureLayout::Code, trust) {
        Verdict::Unsigned | Verdict::Valid { .. } | Verdict::Untrusted { .. } => None,
        bad @ (Verdict::Changed { .. } | Verdict::Forged { .. } | Verdict::Malformed { .. }) => {
            Some(format!("its signature is {}, so levain ignores the file", bad.word()))
        }
    }
}

/// Files in the folder that nobody reads.
fn unknown_files(root: &Root, problems: &mut Vec<Problem>) {
    let Place::Folder(base) = &root.place else { return };
    let mut names: Vec<PathBuf> =
        fs::read_dir(base.join(FOLDER)).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    names.sort();
    for path in names {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let Some(stem) = path.file_stem().and_then(|stem| stem.to_str()) else { continue };
        let known = FILES.contains(&stem) || OTHERS.contains(&stem);
        if known || !matches!(ending, "yaml" | "yml") || stem.starts_with('.') {
            continue;
        }
        let (severity, remedy) = match nearest(stem, FILES.into_iter().chain(OTHERS)) {
            Some(near) => (Severity::Fatal, format!("did you mean {near}.yaml?")),
            None => (Severity::Warning, format!("known: {}, hooks, pipeline", FILES.join(", "))),
        };
        problems.push(Problem::at(&path, None, severity, "is not a settings file", remedy));
    }
}
