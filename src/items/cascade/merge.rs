//! Laying one file's values over those below it.

use super::tree::{Node, Tree};
use crate::domain::{Problem, Severity, meant, nearest};
use serde_json::Value;
use std::path::Path;

/// Names at the top of a file that describe it.
const DESCRIPTIVE: [&str; 5] = ["category", "tool_type", "version", "schema_version", "description"];

/// Where mistakes go.
pub(super) struct Merging<'a> {
    pub(super) file: &'a Path,
    pub(super) problems: &'a mut Vec<Problem>,
}

impl Merging<'_> {
    /// Lays `over` on `under`: maps entry by entry, lists of things with ids by id, everything else whole. What does not
    /// fit what is below is told and left out. `path` names the place for messages.
    pub(super) fn lay(&mut self, under: &mut Node, over: Node, path: &str) {
        if !fits(&under.tree, &over.tree) {
            let message = format!("`{path}` must be {}", word(&under.tree));
            let remedy = match &under.tree {
                Tree::Plain(Value::Bool(_)) => format!("write {}", word(&under.tree)),
                Tree::Plain(_) | Tree::List(_) | Tree::Map(_) => {
                    format!("write {} such as {}", word(&under.tree), example(under))
                }
            };
            self.tell(over.line, Severity::Fatal, message, remedy);
            return;
        }
        let Node { tree, line, layer } = over;
        match (&mut under.tree, tree) {
            // `name:` with nothing behind it says nothing.
            (Tree::Map(_) | Tree::List(_), Tree::Plain(_)) => {}
            (Tree::Map(below), Tree::Map(entries)) => {
                let open = below.is_empty();
                for (name, node) in entries {
                    // Reserved: a file does not name its own parents.
                    if name == "extends" {
                        continue;
                    }
                    // What a file says of itself is no setting.
                    if path.is_empty() && DESCRIPTIVE.contains(&name.as_str()) {
                        continue;
                    }
                    let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                    if let Some((_, known)) = below.iter_mut().find(|(known, _)| *known == name) {
                        self.lay(known, node, &path);
                        continue;
                    }
                    if !open {
                        self.tell_unknown(&path, &name, &node, below);
                    }
                    below.push((name, node));
                }
            }
            (Tree::List(below), Tree::List(nodes)) if nodes.first().is_some_and(|node| node.id().is_some()) => {
                for node in nodes {
                    match below.iter_mut().find(|known| known.id().is_some() && known.id() == node.id()) {
                        Some(known) => *known = node,
                        None => below.push(node),
                    }
                }
                under.line = line;
                under.layer = layer;
            }
            (_, tree) => *under = Node { tree, line, layer },
        }
    }

    fn tell_unknown(&mut self, path: &str, name: &str, node: &Node, below: &[(String, Node)]) {
        let known = below.iter().map(|(name, _)| name.as_str()).filter(|name| *name != "description");
        let is_slip = nearest(name, known.clone()).is_some();
        // Levels of risk are as many as somebody names.
        if path.strip_suffix(name) == Some("levels.") && !is_slip {
            return;
        }
        let severity = if is_slip { Severity::Fatal } else { Severity::Warning };
        self.tell(node.line, severity, format!("unknown setting `{path}`"), meant(name, known));
    }

    fn tell(&mut self, line: u32, severity: Severity, message: String, remedy: String) {
        self.problems.push(Problem::at(self.file, line, severity, message, remedy));
    }
}

/// Whether `over` can stand where `under` stands.
fn fits(under: &Tree, over: &Tree) -> bool {
    match (under, over) {
        // Nothing was set, or nothing is: whatever is plain will do.
        (Tree::Plain(Value::Null), Tree::Plain(_))
        | (_, Tree::Plain(Value::Null))
        | (Tree::List(_), Tree::List(_))
        | (Tree::Map(_), Tree::Map(_)) => true,
        (Tree::Plain(under), Tree::Plain(over)) => std::mem::discriminant(under) == std::mem::discriminant(over),
        (Tree::Plain(_) | Tree::List(_) | Tree::Map(_), _) => false,
    }
}

fn word(tree: &Tree) -> &'static str {
    match tree {
        Tree::Plain(Value::Bool(_)) => "true or false",
        Tree::Plain(Value::Number(_)) => "a number",
        Tree::Plain(_) => "a string",
        Tree::List(_) => "a list",
        Tree::Map(_) => "a mapping",
    }
}

fn example(node: &Node) -> String {
    match &node.tree {
        Tree::Plain(value) => value.to_string(),
        Tree::List(_) => "[a, b]".to_owned(),
        Tree::Map(entries) => format!("{{ {}: … }}", entries.first().map_or("name", |(name, _)| name)),
    }
}
