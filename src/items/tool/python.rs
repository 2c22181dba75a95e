//! Python tools: assignments of literals at the top of the module, from the syntax tree. Nothing is run.

use super::syntax::{self, DEEPEST, letter_of, text_of};
use super::{Named, Said};
use crate::domain::{Problem, Severity};
use serde_json::{Map, Value};
use std::path::Path;
use tree_sitter::Node;

/// Lines that a backslash joins with the next, at most. The grammar's scanner goes over all that follow for each of them:
/// of 10,000 it takes seconds. People write a few.
const MOST_JOINED: usize = 1_000;

pub(super) fn read(text: &str, file: &Path, problems: &mut Vec<Problem>) -> Said {
    let mut said = Said::default();
    if text.matches("\\\n").chain(text.matches("\\\r")).count() > MOST_JOINED {
        syntax::too_complex(file, problems);
        return said;
    }
    let language = tree_sitter_python::LANGUAGE.into();
    let mistake = (Severity::Error, "is not valid Python here");
    let Some(tree) = syntax::tree(text, &language, file, mistake, problems) else { return said };
    let root = tree.root_node();
    if let Some(line) = empty_block(root) {
        let message = "nothing is indented below this line";
        problems.push(Problem::at(file, line, Severity::Error, message, "indent what belongs to it, or write pass"));
    }
    let mut cursor = root.walk();
    let statements = root.named_children(&mut cursor).filter(|child| child.kind() != "comment");
    for (index, statement) in statements.enumerate() {
        let Some(inner) = statement.named_child(0).filter(|_| statement.kind() == "expression_statement") else {
            continue;
        };
        match inner.kind() {
            "assignment" => drop(said.assign(text, inner, 0)),
            "string" | "concatenated_string" if index == 0 => {
                let mut reader = Reader { text, known: &said.values, whole: true, named: said.named };
                let docstring = reader.value(inner, 0);
                said.docstring = docstring.as_ref().and_then(Value::as_str).map(|text| text.trim().to_owned());
            }
            _ => {}
        }
    }
    said
}

impl Said {
    /// One assignment, `a = 1` or `a: int = 1`; or several at once, `a = b = 1`. Answers with the value, and whether it is all
    /// of it.
    fn assign(&mut self, text: &str, node: Node<'_>, depth: usize) -> Option<(Option<Value>, bool)> {
        let (left, right) = (node.child_by_field_name("left")?, node.child_by_field_name("right")?);
        let (value, whole) = if right.kind() == "assignment" && depth < DEEPEST {
            self.assign(text, right, depth + 1)?
        } else {
            let mut reader = Reader { text, known: &self.values, whole: true, named: self.named };
            let value = reader.value(right, 0);
            let whole = reader.whole;
            self.named = reader.named;
            (value, whole)
        };
        if left.kind() != "identifier" {
            return Some((value, whole));
        }
        let name = text_of(text, left).to_owned();
        if !whole && (name.starts_with("__") || name.chars().all(|letter| letter.is_uppercase() || letter == '_')) {
            self.partial.push(name.clone());
        }
        match &value {
            Some(value) => drop(self.values.insert(name, value.clone())),
            // An earlier value no longer holds.
            None => drop(self.values.remove(&name)),
        }
        Some((value, whole))
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
        let read = if depth > DEEPEST { None } else { self.literal(node, depth) };
        self.whole &= read.is_some();
        read
    }

    fn literal(&mut self, node: Node<'_>, depth: usize) -> Option<Value> {
        let written = text_of(self.text, node);
        let operator = || node.child_by_field_name("operator").map(|operator| operator.kind());
        match node.kind() {
            "string" => string(self.text, node).map(Value::String),
            "concatenated_string" => {
                parts(node).map(|part| string(self.text, part)).collect::<Option<String>>().map(Value::String)
            }
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            "none" => Some(Value::Null),
            "integer" => integer(written),
            "float" => {
                let number = written.replace('_', "").parse().ok();
                number.and_then(serde_json::Number::from_f64).map(Value::Number)
            }
            "list" | "tuple" | "set" => {
                let items = parts(node).filter_map(|item| self.value(item, depth + 1));
                Some(Value::Array(items.collect()))
            }
            "dictionary" => Some(Value::Object(self.dictionary(node, depth))),
            "parenthesized_expression" => parts(node).next().and_then(|inner| self.value(inner, depth + 1)),
            "identifier" => self.named.value(self.known.get(written)?),
            "unary_operator" if operator() == Some("-") => {
                negated(self.value(node.child_by_field_name("argument")?, depth + 1)?.as_number()?)
            }
            "binary_operator" if operator() == Some("+") => {
                let (left, right) = (node.child_by_field_name("left")?, node.child_by_field_name("right")?);
                match (self.value(left, depth + 1)?, self.value(right, depth + 1)?) {
                    (Value::String(left), Value::String(right)) => Some(Value::String(left + &right)),
                    (Value::Array(mut left), Value::Array(mut right)) => {
                        left.append(&mut right);
                        Some(Value::Array(left))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn dictionary(&mut self, node: Node<'_>, depth: usize) -> Map<String, Value> {
        let mut map = Map::new();
        for entry in parts(node) {
            match entry.kind() {
                "pair" => {
                    let key = entry.child_by_field_name("key").and_then(|key| self.value(key, depth + 1));
                    let value = entry.child_by_field_name("value").and_then(|value| self.value(value, depth + 1));
                    if let (Some(key), Some(value)) = (key.as_ref().and_then(text), value) {
                        map.insert(key, value);
                    }
                }
                // `**other`, where other was written out.
                "dictionary_splat" => match parts(entry).next().and_then(|inner| self.value(inner, depth + 1)) {
                    Some(Value::Object(mut more)) => map.append(&mut more),
                    _ => self.whole = false,
                },
                _ => self.whole = false,
            }
        }
        map
    }
}

/// The line of the first block that holds no statement, from 1: the grammar lets it pass, Python does not.
fn empty_block(root: Node<'_>) -> Option<u32> {
    let mut cursor = root.walk();
    loop {
        let node = cursor.node();
        if node.kind() == "block" && parts(node).next().is_none() {
            return u32::try_from(node.start_position().row).ok()?.checked_add(1);
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return None;
            }
        }
    }
}

/// What is in it, without comments.
fn parts(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    // To ask for one by its number takes longer the higher that is.
    let children: Vec<_> = node.named_children(&mut node.walk()).collect();
    children.into_iter().filter(|child| child.kind() != "comment")
}

/// A text; none where it is computed in part, is no text but bytes, or names its letters.
fn string(text: &str, node: Node<'_>) -> Option<String> {
    let (first, last) = (node.child(0)?, node.child(node.child_count().checked_sub(1)?)?);
    if first.kind() != "string_start" || last.kind() != "string_end" {
        return None;
    }
    let inside = text.get(first.end_byte()..last.start_byte())?.replace("\r\n", "\n");
    let prefix = text_of(text, first).trim_end_matches(['"', '\'']).to_ascii_lowercase();
    match prefix.as_str() {
        "" | "u" => unescaped(&inside),
        "r" => Some(inside),
        _ => None,
    }
}

/// What escapes in a text stand for. Of an unknown one the backslash stays, as Python has it.
fn unescaped(written: &str) -> Option<String> {
    let mut out = String::with_capacity(written.len());
    let mut letters = written.chars().peekable();
    while let Some(next) = letters.next() {
        if next != '\\' {
            out.push(next);
            continue;
        }
        match letters.next() {
            Some(same @ ('\\' | '\'' | '"')) => out.push(same),
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('a') => out.push('\u{7}'),
            Some('b') => out.push('\u{8}'),
            Some('f') => out.push('\u{c}'),
            Some('v') => out.push('\u{b}'),
            // A line that goes on.
            Some('\n') => {}
            Some(first @ '0'..='7') => {
                let mut digits = first.to_string();
                while digits.len() < 3
                    && let Some(digit) = letters.next_if(|letter| letter.is_digit(8))
                {
                    digits.push(digit);
                }
                out.push(u32::from_str_radix(&digits, 8).ok().and_then(char::from_u32)?);
            }
            Some(kind @ ('x' | 'u' | 'U')) => {
                let count = match kind {
                    'x' => 2,
                    'u' => 4,
                    _ => 8,
                };
                out.push(letter_of(&letters.by_ref().take(count).collect::<String>())?);
            }
            Some('N') => return None,
            Some(other) => out.extend(['\\', other]),
            None => out.push('\\'),
        }
    }
    Some(out)
}

fn integer(written: &str) -> Option<Value> {
    let plain = written.replace('_', "").to_ascii_lowercase();
    let (base, digits) = [("0x", 16), ("0o", 8), ("0b", 2)]
        .into_iter()
        .find_map(|(prefix, base)| plain.strip_prefix(prefix).map(|digits| (base, digits)))
        .unwrap_or((10, &plain));
    let whole = i64::from_str_radix(digits, base).ok().map(Value::from);
    whole.or_else(|| u64::from_str_radix(digits, base).ok().map(Value::from))
}

fn negated(number: &serde_json::Number) -> Option<Value> {
    let whole = number.as_i64().and_then(i64::checked_neg).map(Value::from);
    whole.or_else(|| serde_json::Number::from_f64(-number.as_f64()?).map(Value::Number))
}

/// A key as JSON has it.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}
