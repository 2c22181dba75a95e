//! Python tools: assignments of literals at the top of the module, from the syntax tree. Nothing is run.
//!
//! The parser promises no stability and stays behind this file.
#![expect(clippy::wildcard_enum_match_arm, reason = "of a hundred forms of syntax a dozen are literals")]

use super::{Named, Said};
use crate::domain::{Problem, Severity};
use ruff_python_ast::token::TokenKind;
use ruff_python_ast::{Expr, Number, Operator, Stmt, UnaryOp};
use ruff_python_parser::{Mode, ParseOptions, lexer, parse_unchecked};
use serde_json::{Map, Value};
use std::path::Path;

/// Longest file that is read as Python, in bytes. Tools are shorter; generated tables are no tools.
const LONGEST: usize = 1 << 20;

/// Deepest syntax tree. Written code stays below a tenth of it.
const DEEPEST: usize = 1_000;

/// Deeper values are left out.
const DEEPEST_VALUE: usize = 64;

pub(super) fn read(text: &str, file: &Path, problems: &mut Vec<Problem>) -> Said {
    let mut said = Said::default();
    if text.len() > LONGEST {
        let message = "is longer than a megabyte, so levain did not read its metadata";
        problems.push(Problem::at(file, None, Severity::Warning, message, "move its data into a file of its own"));
        return said;
    }
    if !is_shallow(text) {
        let message = "is nested too deeply, so levain did not read its metadata";
        problems.push(Problem::at(file, None, Severity::Warning, message, "move its data into a file of its own"));
        return said;
    }
    let parsed = parse_unchecked(text, ParseOptions::from(Mode::Module));
    if let Some(error) = parsed.errors().first() {
        let before = text.get(..usize::from(error.location.start())).unwrap_or_default();
        let line = u32::try_from(before.matches('\n').count()).unwrap_or(u32::MAX).saturating_add(1);
        let message = format!("is not valid Python: {}", error.error);
        problems.push(Problem::at(file, line, Severity::Error, message, "fix that line"));
    }
    let Some(module) = parsed.syntax().as_module() else { return said };
    for (index, statement) in module.body.iter().enumerate() {
        match statement {
            Stmt::Assign(assign) => {
                for target in &assign.targets {
                    said.assign(target, &assign.value);
                }
            }
            Stmt::AnnAssign(assign) => {
                if let Some(value) = &assign.value {
                    said.assign(&assign.target, value);
                }
            }
            Stmt::Expr(expression) if index == 0 => {
                if let Expr::StringLiteral(text) = expression.value.as_ref() {
                    said.docstring = Some(text.value.to_str().trim().to_owned());
                }
            }
            _ => {}
        }
    }
    said
}

/// Whether the syntax tree stays shallow enough to be walked and dropped, which both recurse. Judged by tokens: within
/// one statement each can go one deeper, and a comma comes back up to its bracket.
fn is_shallow(text: &str) -> bool {
    let mut tokens = lexer::lex(text, Mode::Module);
    let mut levels = vec![0_usize];
    let mut depth = 0;
    loop {
        match tokens.next_token() {
            TokenKind::EndOfFile => return true,
            TokenKind::Lpar | TokenKind::Lsqb | TokenKind::Lbrace | TokenKind::Indent => {
                depth += 1;
                levels.push(1);
            }
            TokenKind::Rpar | TokenKind::Rsqb | TokenKind::Rbrace | TokenKind::Dedent if levels.len() > 1 => {
                // A call of a call: what was in the brackets counts as one behind them.
                depth = depth + 1 - levels.pop().unwrap_or(0);
                if let Some(level) = levels.last_mut() {
                    *level += 1;
                }
            }
            TokenKind::Comma | TokenKind::Newline | TokenKind::Semi => {
                depth -= levels.last().copied().unwrap_or(0);
                if let Some(level) = levels.last_mut() {
                    *level = 0;
                }
            }
            _ => {
                depth += 1;
                if let Some(level) = levels.last_mut() {
                    *level += 1;
                }
            }
        }
        if depth > DEEPEST {
            return false;
        }
    }
}

impl Said {
    fn assign(&mut self, target: &Expr, value: &Expr) {
        let Expr::Name(name) = target else { return };
        let mut reader = Reader { known: &self.values, whole: true, depth: 0, named: self.named };
        let value = reader.value(value);
        let whole = reader.whole;
        self.named = reader.named;
        let name = name.id.to_string();
        if !whole && (name.starts_with("__") || name.chars().all(|letter| letter.is_uppercase() || letter == '_')) {
            self.partial.push(name.clone());
        }
        match value {
            Some(value) => drop(self.values.insert(name, value)),
            // An earlier value no longer holds.
            None => drop(self.values.remove(&name)),
        }
    }
}

/// Evaluates what is written out, and names of values that were.
struct Reader<'a> {
    known: &'a Map<String, Value>,
    /// False once something was left out.
    whole: bool,
    depth: usize,
    named: Named,
}

impl Reader<'_> {
    /// The value, without the parts that are computed; none when all of it is.
    fn value(&mut self, expression: &Expr) -> Option<Value> {
        self.depth += 1;
        let read = if self.depth > DEEPEST_VALUE { None } else { self.literal(expression) };
        self.depth -= 1;
        self.whole &= read.is_some();
        read
    }

    fn literal(&mut self, expression: &Expr) -> Option<Value> {
        match expression {
            Expr::StringLiteral(text) => Some(Value::String(text.value.to_str().to_owned())),
            Expr::BooleanLiteral(truth) => Some(Value::Bool(truth.value)),
            Expr::NoneLiteral(_) => Some(Value::Null),
            Expr::NumberLiteral(number) => match &number.value {
                Number::Int(whole) => whole.as_i64().map(Value::from).or_else(|| whole.as_u64().map(Value::from)),
                Number::Float(fraction) => serde_json::Number::from_f64(*fraction).map(Value::Number),
                Number::Complex { .. } => None,
            },
            Expr::List(list) => Some(self.list(&list.elts)),
            Expr::Tuple(tuple) => Some(self.list(&tuple.elts)),
            Expr::Set(set) => Some(self.list(&set.elts)),
            Expr::Dict(dict) => {
                let mut map = Map::new();
                for item in &dict.items {
                    let value = self.value(&item.value);
                    match (&item.key, value) {
                        (Some(key), Some(value)) => {
                            if let Some(key) = self.value(key).as_ref().and_then(text) {
                                map.insert(key, value);
                            }
                        }
                        // `**other`, where other was written out.
                        (None, Some(Value::Object(mut more))) => map.append(&mut more),
                        (_, Some(_)) => self.whole = false,
                        (_, None) => {}
                    }
                }
                Some(Value::Object(map))
            }
            Expr::Name(name) => self.named.value(self.known.get(name.id.as_str())?),
            Expr::UnaryOp(unary) if unary.op == UnaryOp::USub => match self.value(&unary.operand)? {
                Value::Number(number) => negated(&number),
                _ => None,
            },
            Expr::BinOp(binary) if binary.op == Operator::Add => self.sum(&binary.left, &binary.right),
            _ => None,
        }
    }

    fn list(&mut self, elements: &[Expr]) -> Value {
        elements.iter().filter_map(|element| self.value(element)).collect()
    }

    fn sum(&mut self, left: &Expr, right: &Expr) -> Option<Value> {
        match (self.value(left)?, self.value(right)?) {
            (Value::String(left), Value::String(right)) => Some(Value::String(left + &right)),
            (Value::Array(mut left), Value::Array(mut right)) => {
                left.append(&mut right);
                Some(Value::Array(left))
            }
            _ => None,
        }
    }
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
