//! JavaScript's literals: texts, numbers, lists and objects with plain or quoted names, with comments between them.

use serde_json::{Map, Value};

/// Deeper values are left out.
const DEEPEST: usize = 64;

/// The literal that `text` begins with, without the parts that are computed, and whether there were none of those.
pub(super) fn read(text: &str) -> (Option<Value>, bool) {
    let mut reader = Reader { rest: text, whole: true };
    let value = reader.value(0);
    if value.is_some() {
        reader.ended();
    }
    (value, reader.whole)
}

struct Reader<'a> {
    rest: &'a str,
    whole: bool,
}

impl Reader<'_> {
    /// Over blanks and comments.
    fn blank(&mut self) {
        loop {
            self.rest = self.rest.trim_start();
            if self.rest.starts_with("//") {
                self.rest = self.rest.split_once('\n').map_or("", |(_, rest)| rest);
            } else if self.rest.starts_with("/*") {
                self.rest = self.rest.split_once("*/").map_or("", |(_, rest)| rest);
            } else {
                return;
            }
        }
    }

    fn take(&mut self, sign: &str) -> bool {
        self.blank();
        let rest = self.rest.strip_prefix(sign);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// None, and no longer whole, when what stands here is computed. It is not passed over then.
    fn value(&mut self, depth: usize) -> Option<Value> {
        self.blank();
        let first = self.rest.chars().next()?;
        let value = match first {
            '"' | '\'' | '`' => self.text(first).map(Value::String),
            '[' if depth < DEEPEST => Some(self.list(depth)),
            '{' if depth < DEEPEST => Some(self.object(depth)),
            '-' | '+' | '.' | '0'..='9' => self.number(),
            _ => self.word(),
        };
        self.whole &= value.is_some();
        value
    }

    fn word(&mut self) -> Option<Value> {
        let end = self.rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at_checked(end)?;
        let value = match word {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "null" | "undefined" => Value::Null,
            _ => return None,
        };
        self.rest = rest;
        Some(value)
    }

    fn number(&mut self) -> Option<Value> {
        let end = self.rest.find(|letter: char| !letter.is_ascii_alphanumeric() && !"+-._".contains(letter));
        let (written, rest) = self.rest.split_at_checked(end.unwrap_or(self.rest.len()))?;
        let plain = written.replace('_', "");
        let whole = plain.parse::<i64>().ok().map(Value::from);
        let fraction = || plain.parse::<f64>().ok().and_then(serde_json::Number::from_f64).map(Value::Number);
        let value = whole.or_else(fraction)?;
        self.rest = rest;
        Some(value)
    }

    fn text(&mut self, quote: char) -> Option<String> {
        let mut out = String::new();
        let mut letters = self.rest.char_indices().skip(1);
        while let Some((at, letter)) = letters.next() {
            match letter {
                _ if letter == quote => {
                    self.rest = self.rest.get(at + 1..).unwrap_or_default();
                    return Some(out);
                }
                '\n' if quote != '`' => return None,
                '$' if quote == '`' && self.rest.get(at + 1..).is_some_and(|rest| rest.starts_with('{')) => {
                    return None;
                }
                '\\' => match letters.next()?.1 {
                    'n' => out.push('\n'),
                    't' => out.push('\t'),
                    'r' => out.push('\r'),
                    '\n' => {}
                    other => out.push(other),
                },
                _ => out.push(letter),
            }
        }
        None
    }

    fn list(&mut self, depth: usize) -> Value {
        let mut values = Vec::new();
        self.take("[");
        while !self.rest.is_empty() && !self.take("]") && !self.closes_another('}') {
            let value = self.value(depth + 1);
            values.extend(self.part(value));
        }
        Value::Array(values)
    }

    fn object(&mut self, depth: usize) -> Value {
        let mut map = Map::new();
        self.take("{");
        while !self.rest.is_empty() && !self.take("}") && !self.closes_another(']') {
            let name = self.name().filter(|_| self.take(":"));
            let value = if name.is_some() { self.value(depth + 1) } else { None };
            self.whole &= name.is_some();
            if let (Some(name), Some(value)) = (name, self.part(value)) {
                map.insert(name, value);
            }
        }
        Value::Object(map)
    }

    /// Whether a bracket of another sort stands here: then what is being read was never closed.
    fn closes_another(&mut self, bracket: char) -> bool {
        let closes = self.rest.starts_with(bracket);
        self.whole &= !closes;
        closes
    }

    fn name(&mut self) -> Option<String> {
        self.blank();
        if let Some(quote) = self.rest.chars().next().filter(|letter| matches!(letter, '"' | '\'')) {
            return self.text(quote);
        }
        let end = self
            .rest
            .find(|letter: char| !letter.is_alphanumeric() && !matches!(letter, '_' | '$'))
            .filter(|end| *end > 0)?;
        let (name, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest;
        Some(name.to_owned())
    }

    /// The value if a comma or a closing bracket follows it; otherwise it is part of something computed, and that is
    /// passed over.
    fn part(&mut self, value: Option<Value>) -> Option<Value> {
        self.blank();
        let ends = |rest: &str| rest.starts_with([']', '}']);
        if self.take(",") || ends(self.rest) {
            return value;
        }
        self.whole = false;
        let mut depth = 0_usize;
        while let Some(letter) = self.rest.chars().next() {
            match letter {
                '"' | '\'' | '`' if self.text(letter).is_some() => continue,
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' if depth > 0 => depth -= 1,
                ']' | '}' => return None,
                _ => {}
            }
            self.rest = self.rest.get(letter.len_utf8()..).unwrap_or_default();
            if letter == ',' && depth == 0 {
                return None;
            }
        }
        None
    }

    /// Behind a whole value stands the end of a statement, or `as const`; anything else computes with it.
    fn ended(&mut self) {
        let line = self.rest.lines().next().unwrap_or_default().trim();
        let plain = line.is_empty()
            || line.starts_with([';', ',', '}'])
            || line.starts_with("//")
            || line.starts_with("as ")
            || line.starts_with("satisfies ");
        self.whole &= plain;
    }
}
