//! Where in a person's file an error is: stacks of the engine name lines of what a file became.

use serde::Serialize;
use std::collections::HashMap;
use std::fmt;
use std::fmt::Write as _;

/// An error of an extension, as people are told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Problem {
    pub message: String,
    /// The file in which it happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack: Option<String>,
}

/// The place and the message, without the stack.
impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { message, file, line, column, .. } = self;
        match (file, line, column) {
            (Some(file), Some(line), Some(column)) => write!(formatter, "{file}:{line}:{column}: {message}"),
            (Some(file), ..) => write!(formatter, "{file}: {message}"),
            (None, ..) => formatter.write_str(message),
        }
    }
}

/// From places in what a file became to places in the file, both counted from 0.
#[derive(Clone, Debug)]
pub(super) struct LineMap {
    /// In the order of the first.
    places: Vec<((u32, u32), (u32, u32))>,
}

impl LineMap {
    pub(super) fn new(mut places: Vec<((u32, u32), (u32, u32))>) -> Self {
        places.sort_unstable();
        Self { places }
    }

    /// The place in the source, all counted from 1.
    fn source(&self, line: u32, column: u32) -> (u32, u32) {
        let wanted = (line.saturating_sub(1), column.saturating_sub(1));
        let behind = self.places.partition_point(|(made, _)| *made <= wanted);
        let before = behind.checked_sub(1).and_then(|index| self.places.get(index));
        before.or_else(|| self.places.first()).map_or((line, column), |(_, (line, column))| (line + 1, column + 1))
    }
}

/// The maps of all files that were loaded, by path.
#[derive(Debug, Default)]
pub(super) struct Places {
    maps: HashMap<String, LineMap>,
}

impl Places {
    pub(super) fn keep(&mut self, path: &str, lines: Option<LineMap>) {
        match lines {
            Some(lines) => drop(self.maps.insert(path.to_owned(), lines)),
            None => drop(self.maps.remove(path)),
        }
    }

    /// A problem out of an error's message and its stack, which may begin with the message.
    pub(super) fn problem(&self, message: &str, stack: Option<&str>) -> Problem {
        let mut shown = String::new();
        let mut first = None;
        let rows = stack.unwrap_or_default().lines().skip_while(|row| !row.starts_with("    at "));
        for row in rows.filter(|row| !row.contains("(levain:") && !row.trim().is_empty()) {
            let Some((before, place, after)) = place_in(row) else {
                let _written = writeln!(shown, "{row}");
                continue;
            };
            let (line, column) = match self.maps.get(place.path) {
                Some(map) => map.source(place.line, place.column),
                None => (place.line, place.column),
            };
            if first.is_none() && place.path.starts_with('/') {
                first = Some((place.path.to_owned(), line, column));
            }
            let _written = writeln!(shown, "{before}{}:{line}:{column}{after}", place.path);
        }
        let (file, line, column) = match first {
            Some((file, line, column)) => (Some(file), Some(line), Some(column)),
            None => (None, None, None),
        };
        let stack = (!shown.is_empty()).then_some(shown);
        Problem { message: message.to_owned(), file, line, column, stack }
    }
}

struct Place<'a> {
    path: &'a str,
    line: u32,
    column: u32,
}

/// The place that a row of a stack names, with what stands before and behind it: `at name (/path/x.ts:3:10)`, or
/// `at /path/x.ts:3:10`.
fn place_in(row: &str) -> Option<(&str, Place<'_>, &str)> {
    let (body, after) = match row.strip_suffix(')') {
        Some(body) => (body, ")"),
        None => (row, ""),
    };
    let (rest, column) = body.rsplit_once(':')?;
    let (rest, line) = rest.rsplit_once(':')?;
    let (line, column) = (line.parse().ok()?, column.parse().ok()?);
    let begin = match rest.rfind(" (") {
        Some(at) => at + 2,
        None => rest.find("at ")? + 3,
    };
    let (before, path) = (rest.get(..begin)?, rest.get(begin..)?);
    Some((before, Place { path, line, column }, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_names_the_lines_of_the_source() {
        let mut places = Places::default();
        places.keep("/a b/x.ts", Some(LineMap::new(vec![((0, 0), (4, 2)), ((2, 4), (9, 6))])));
        let stack = "Error: no\nat (/y.ts:1:1)\n    at f (/a b/x.ts:3:9)\n    at run (levain:host.js:1:1)\n    at /a b/x.ts:1:1\n    at native\n";
        let problem = places.problem("no", Some(stack));
        assert_eq!((problem.file.as_deref(), problem.line, problem.column), (Some("/a b/x.ts"), Some(10), Some(7)));
        let shown = "    at f (/a b/x.ts:10:7)\n    at /a b/x.ts:5:3\n    at native\n";
        assert_eq!(problem.stack.as_deref(), Some(shown));
    }
}
