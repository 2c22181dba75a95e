//! JavaScript and TypeScript tools: constants at the top of the module, from the syntax tree. Nothing is run.
//!
//! One grammar serves for both, since JavaScript is a part of TypeScript.

use super::syntax::{self, DEEPEST, letter_of, text_of};
use super::{Named, Said};
use crate::domain::{Problem, Severity};
use serde_json::{Map, Value};
use std::path::Path;
use tree_sitter::Node;

/// Comments, at most. Where a statement may end the grammar's scanner goes over all that follow: of 6,000 it takes seconds.
const MOST_COMMENTS: usize = 3_000;

pub(super) fn read(text: &str, file: &Path, problems: &mut Vec<Problem>) -> Said {
    let mut said = Said::default();
    let comments = text.matches("/*").count() + text.lines().filter(|line| line.contains("//")).count();
    if comments > MOST_COMMENTS {
        syntax::too_complex(file, problems);
        return said;
    }
    let language = tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into();
    let mistake = (Severity::Warning, "cannot be parsed here");
    let Some(tree) = syntax::tree(text, &language, file, mistake, problems) else { return said };
    let root = tree.root_node();
    let mut reader = Module { text, said: &mut said };
    let mut cursor = root.walk();
    for statement in root.named_children(&mut cursor) {
        reader.statement(statement);
    }
    said
}

struct Module<'a> {
    text: &'a str,
    said: &'a mut Said,
}

impl Module<'_> {
    fn statement(&mut self, node: Node<'_>) {
        match node.kind() {
            "export_statement" => {
                if let Some(declared) = node.child_by_field_name("declaration") {
                    self.statement(declared);
                } else if let Some(value) = node.child_by_field_name("value") {
                    self.exported(value);
                }
            }
            "lexical_declaration" | "variable_declaration" => {
                let mut cursor = node.walk();
                for declared in node.named_children(&mut cursor) {
                    let name = declared.child_by_field_name("name").map(|name| text_of(self.text, name));
                    let value = declared.child_by_field_name("value");
                    if let (Some(name), Some(value)) = (name, value) {
                        self.assign(name, value);
                    }
                }
            }
            // `module.exports = …`, `exports.NAME = …`
            "expression_statement" => {
                let assignment = node.named_child(0).filter(|inner| inner.kind() == "assignment_expression");
                let Some(assignment) = assignment else { return };
                let left = assignment.child_by_field_name("left").map(|left| text_of(self.text, left));
                let (Some(left), Some(value)) = (left, assignment.child_by_field_name("right")) else { return };
                if left == "module.exports" {
                    self.exported(value);
                } else if let Some((_, name)) = left.rsplit_once("exports.") {
                    self.assign(name, value);
                }
            }
            _ => {}
        }
    }

    /// What is exported as one object: each of its names.
    fn exported(&mut self, value: Node<'_>) {
        let value = plain(value);
        if value.kind() != "object" {
            return;
        }
        let mut cursor = value.walk();
        for pair in value.named_children(&mut cursor).filter(|child| child.kind() == "pair") {
            let key = pair.child_by_field_name("key").and_then(|key| name_of(self.text, key));
            if let (Some(name), Some(value)) = (key, pair.child_by_field_name("value")) {
                self.assign(&name, value);
            }
        }
    }

    fn assign(&mut self, name: &str, value: Node<'_>) {
        let mut reader = Reader { text: self.text, known: &self.said.values, whole: true, named: self.said.named };
        let value = reader.value(value, 0);
        let whole = reader.whole;
        self.said.named = reader.named;
        if !whole && (name.starts_with("__") || name.chars().all(|letter| letter.is_uppercase() || letter == '_')) {
            self.said.partial.push(name.to_owned());
        }
        if let Some(value) = value {
            self.said.values.entry(name.to_owned()).or_insert(value);
        }
    }
}

/// Evaluates what is written out, and names of values that were.
struct Reader<'a> {
    text: &'a str,
    known: &'a Map<String, Value>,
    /// False once something was left out.
    whole: bool,
    named: Named,
}

impl Reader<'_> {
    /// The value, without the parts that are computed; none when all of it is.
    fn value(&mut self, node: Node<'_>, depth: usize) -> Option<Value> {
        let read = if depth > DEEPEST { None } else { self.literal(plain(node), depth) };
        self.whole &= read.is_some();
        read
    }

    fn literal(&mut self, node: Node<'_>, depth: usize) -> Option<Value> {
        let written = text_of(self.text, node);
        match node.kind() {
            "string" => Some(Value::String(unescaped(inside(written)))),
            "template_string" => {
                let mut cursor = node.walk();
                let computed = node.named_children(&mut cursor).any(|child| child.kind() == "template_substitution");
                (!computed).then(|| Value::String(unescaped(inside(written))))
            }
            "number" => number(written),
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            "null" | "undefined" => Some(Value::Null),
            "identifier" => self.named(written),
            "unary_expression" => {
                let operand = node.child_by_field_name("argument")?;
                let sign = written.chars().next().filter(|sign| matches!(sign, '-' | '+'))?;
                let Value::Number(_) = self.value(operand, depth + 1)? else { return None };
                let digits = text_of(self.text, operand);
                number(&if sign == '-' { format!("-{digits}") } else { digits.to_owned() })
            }
            "binary_expression" => {
                let plus = node.child_by_field_name("operator").is_some_and(|operator| operator.kind() == "+");
                let left = node.child_by_field_name("left").filter(|_| plus)?;
                let right = node.child_by_field_name("right")?;
                match (self.value(left, depth + 1)?, self.value(right, depth + 1)?) {
                    (Value::String(left), Value::String(right)) => Some(Value::String(left + &right)),
                    _ => None,
                }
            }
            "array" => {
                let mut values = Vec::new();
                let mut cursor = node.walk();
                for child in node.named_children(&mut cursor).filter(|child| child.kind() != "comment") {
                    if child.kind() == "spread_element" {
                        match child.named_child(0).and_then(|inner| self.value(inner, depth + 1)) {
                            Some(Value::Array(mut more)) => values.append(&mut more),
                            _ => self.whole = false,
                        }
                    } else {
                        values.extend(self.value(child, depth + 1));
                    }
                }
                Some(Value::Array(values))
            }
            "object" => Some(Value::Object(self.object(node, depth))),
            _ => None,
        }
    }

    /// What a name stands for, while that is little.
    fn named(&mut self, name: &str) -> Option<Value> {
        self.named.value(self.known.get(name)?)
    }

    fn object(&mut self, node: Node<'_>, depth: usize) -> Map<String, Value> {
        let mut map = Map::new();
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            match child.kind() {
                "comment" => {}
                "pair" => {
                    let key = child.child_by_field_name("key").and_then(|key| name_of(self.text, key));
                    let value = child.child_by_field_name("value").and_then(|value| self.value(value, depth + 1));
                    self.whole &= key.is_some();
                    if let (Some(key), Some(value)) = (key, value) {
                        map.insert(key, value);
                    }
                }
                // `{ name }`
                "shorthand_property_identifier" => {
                    let name = text_of(self.text, child);
                    match self.named(name) {
                        Some(value) => drop(map.insert(name.to_owned(), value)),
                        None => self.whole = false,
                    }
                }
                "spread_element" => match child.named_child(0).and_then(|inner| self.value(inner, depth + 1)) {
                    Some(Value::Object(mut more)) => map.append(&mut more),
                    _ => self.whole = false,
                },
                _ => self.whole = false,
            }
        }
        map
    }
}

/// A value without the types and brackets around it.
fn plain(mut node: Node<'_>) -> Node<'_> {
    while matches!(
        node.kind(),
        "as_expression" | "satisfies_expression" | "parenthesized_expression" | "non_null_expression"
    ) {
        let mut cursor = node.walk();
        let inner = node.named_children(&mut cursor).find(|child| child.kind() != "comment");
        match inner {
            Some(inner) => node = inner,
            None => break,
        }
    }
    node
}

/// The name of a property, where it is written out.
fn name_of(text: &str, key: Node<'_>) -> Option<String> {
    let written = text_of(text, key);
    match key.kind() {
        "property_identifier" | "number" => Some(written.to_owned()),
        "string" => Some(unescaped(inside(written))),
        _ => None,
    }
}

/// A text without its quotes; one that is not closed keeps all behind the first.
fn inside(written: &str) -> &str {
    let mut letters = written.chars();
    let quote = letters.next();
    if written.len() > 1 && letters.next_back() == quote {
        letters.as_str()
    } else {
        written.get(quote.map_or(0, char::len_utf8)..).unwrap_or_default()
    }
}

fn number(written: &str) -> Option<Value> {
    let plain = written.replace('_', "");
    let whole = plain.parse::<i64>().ok().map(Value::from);
    whole.or_else(|| plain.parse::<f64>().ok().and_then(serde_json::Number::from_f64).map(Value::Number))
}

/// What escapes in a text stand for. An unknown one is the letter behind the backslash, as JavaScript has it.
fn unescaped(written: &str) -> String {
    let mut out = String::with_capacity(written.len());
    let mut letters = written.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            out.push(letter);
            continue;
        }
        match letters.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('b') => out.push('\u{8}'),
            Some('f') => out.push('\u{c}'),
            Some('v') => out.push('\u{b}'),
            Some('0') => out.push('\0'),
            Some('x') => out.extend(letter_of(&letters.by_ref().take(2).collect::<String>())),
            Some('u') => {
                let mut ahead = letters.clone();
                if ahead.next() == Some('{') {
                    let digits: String = ahead.by_ref().take_while(|letter| *letter != '}').collect();
                    letters = ahead;
                    out.extend(letter_of(&digits));
                } else {
                    out.extend(letter_of(&letters.by_ref().take(4).collect::<String>()));
                }
            }
            // A line that goes on.
            Some('\n') | None => {}
            Some(other) => out.push(other),
        }
    }
    out
}
