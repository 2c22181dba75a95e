//! A capability file as it is written: names for capabilities, and what they imply.

use crate::domain::{Problem, Severity, meant, nearest};
use crate::items::cascade::tree::read;
use crate::items::cascade::{Node, Tree};
use crate::items::directive::{is_alias, is_capability};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The names at the top of a file that mean something.
const KEYS: [&str; 6] = ["name", "description", "capabilities", "aliases", "implies", "hierarchy"];

/// Those that describe it.
const DESCRIPTIVE: [&str; 5] = ["category", "tool_type", "version", "schema_version", "author"];

const PRIMARIES: [&str; 3] = ["execute", "fetch", "sign"];

/// What stands for other things, and where it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub name: String,
    /// Capabilities, and of an alias also other aliases; of `implies` primaries.
    pub stands_for: Vec<String>,
    /// Counts from 1.
    pub line: u32,
}

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapabilityFile {
    pub file: PathBuf,
    pub name: Option<String>,
    pub description: Option<String>,
    /// The file's own name stands for its capabilities.
    pub aliases: Vec<Entry>,
    pub implies: Vec<Entry>,
    pub hierarchy: Vec<Entry>,
}

impl CapabilityFile {
    /// Reads the text of `file`, whose name without ending is `stem`. With a fatal problem nothing in it counts.
    #[must_use]
    pub fn parse(text: &str, file: &Path, stem: &str) -> (Self, Vec<Problem>) {
        let mut reading = Reading { file, problems: Vec::new() };
        let mut read_file = Self { file: file.to_owned(), ..Self::default() };
        let node = read(text, file, 0, &mut reading.problems);
        match &node {
            Some(Node { tree: Tree::Map(entries), .. }) => reading.whole(&mut read_file, entries, stem),
            Some(node) => reading.fatal(node.line, "is not a mapping", "write `name: value`"),
            None if reading.problems.is_empty() => reading.fatal(1, "is empty", "write name, capabilities and aliases"),
            None => {}
        }
        (read_file, reading.problems)
    }
}

struct Reading<'a> {
    file: &'a Path,
    problems: Vec<Problem>,
}

impl Reading<'_> {
    fn tell(&mut self, severity: Severity, line: u32, message: impl Into<String>, remedy: impl Into<String>) {
        self.problems.push(Problem::at(self.file, line, severity, message, remedy));
    }

    fn fatal(&mut self, line: u32, message: impl Into<String>, remedy: impl Into<String>) {
        self.tell(Severity::Fatal, line, message, remedy);
    }

    fn whole(&mut self, read: &mut CapabilityFile, entries: &[(String, Node)], stem: &str) {
        for (key, node) in entries {
            match key.as_str() {
                "name" => read.name = self.text(key, node),
                "description" => read.description = self.text(key, node),
                "capabilities" => {
                    let stands_for = self.capabilities(key, node, false);
                    read.aliases.push(Entry { name: stem.to_owned(), stands_for, line: node.line });
                }
                "aliases" => {
                    for (name, node) in self.map(key, node) {
                        if !is_alias(name) {
                            let remedy = "write a name that is no capability, such as team.read";
                            self.fatal(node.line, format!("`{name}` cannot be an alias"), remedy);
                        }
                        let stands_for = self.capabilities(name, node, true);
                        read.aliases.push(Entry { name: name.clone(), stands_for, line: node.line });
                    }
                }
                "implies" => {
                    for (name, node) in self.map(key, node) {
                        let stands_for = self.list(name, node);
                        for word in
                            std::iter::once(name).chain(&stands_for).filter(|word| !PRIMARIES.contains(&word.as_str()))
                        {
                            self.fatal(node.line, format!("`{word}` is no primary"), meant(word, PRIMARIES));
                        }
                        read.implies.push(Entry { name: name.clone(), stands_for, line: node.line });
                    }
                }
                "hierarchy" => {
                    for (name, node) in self.map(key, node) {
                        let named = [name.clone()];
                        self.judge(&named, node.line, false);
                        let stands_for = self.capabilities(name, node, false);
                        read.hierarchy.push(Entry { name: name.replace('/', "."), stands_for, line: node.line });
                    }
                }
                other if DESCRIPTIVE.contains(&other) => {}
                other => {
                    let severity = if nearest(other, KEYS).is_some() { Severity::Fatal } else { Severity::Warning };
                    self.tell(severity, node.line, format!("unknown name `{other}`"), meant(other, KEYS));
                }
            }
        }
        if let Some(name) = read.name.as_ref().filter(|name| *name != stem) {
            let message = format!("is named `{name}`, its file `{stem}`");
            self.tell(Severity::Warning, 1, message, "use one name for both; levain uses the file's");
        }
    }

    fn text(&mut self, key: &str, node: &Node) -> Option<String> {
        match &node.tree {
            Tree::Plain(Value::String(text)) => Some(text.clone()),
            Tree::Plain(_) | Tree::List(_) | Tree::Map(_) => {
                self.tell(Severity::Warning, node.line, format!("`{key}` is not a text"), "write one");
                None
            }
        }
    }

    fn map<'a>(&mut self, key: &str, node: &'a Node) -> &'a [(String, Node)] {
        match &node.tree {
            Tree::Map(entries) => entries,
            Tree::Plain(Value::Null) => &[],
            Tree::Plain(_) | Tree::List(_) => {
                self.fatal(node.line, format!("`{key}` is not a mapping"), format!("write {key}: {{ name: [...] }}"));
                &[]
            }
        }
    }

    /// A text, or a list of them.
    fn list(&mut self, key: &str, node: &Node) -> Vec<String> {
        let nodes = match &node.tree {
            Tree::List(nodes) => nodes.as_slice(),
            Tree::Plain(_) | Tree::Map(_) => std::slice::from_ref(node),
        };
        let texts: Vec<String> = nodes
            .iter()
            .filter_map(|node| match &node.tree {
                Tree::Plain(Value::String(text)) => Some(text.trim().to_owned()),
                Tree::Plain(_) | Tree::List(_) | Tree::Map(_) => None,
            })
            .collect();
        if texts.len() < nodes.len() || texts.is_empty() {
            self.fatal(
                node.line,
                format!("`{key}` names nothing, or something that is no text"),
                "write a list of names",
            );
        }
        texts
    }

    fn capabilities(&mut self, key: &str, node: &Node, may_name_aliases: bool) -> Vec<String> {
        let texts: Vec<String> = self.list(key, node).into_iter().map(|text| text.replace('/', ".")).collect();
        self.judge(&texts, node.line, may_name_aliases);
        texts
    }

    fn judge(&mut self, texts: &[String], line: u32, may_name_aliases: bool) {
        for text in texts {
            if !(is_capability(&text.replace('/', ".")) || may_name_aliases && is_alias(text)) {
                let remedy = "write it in full, such as rye.execute.tool.team.*";
                self.fatal(line, format!("`{text}` is no capability"), remedy);
            }
        }
    }
}
