//! A scanner for the markup in directives, which is XML as people and models write it.
//!
//! Only what the table [`holds_elements`] names is taken apart; the inside of every other element is its text, up to its
//! own end. So code such as `if (a < b)` survives. Comments, CDATA and masked elements (`template`, `example`, `raw`)
//! are passed over whole wherever they stand. What is read all the same after a mistake is told as such; where the mistake may
//! have hidden something that decides, it is fatal.

use crate::domain::{Problem, Severity};
use std::path::Path;

/// From its first to its last line, counting from 1 in the file.
pub type Lines = (u32, u32);

/// An element, its attributes and what is in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Element {
    pub tag: String,
    pub attributes: Vec<Attribute>,
    pub children: Vec<Element>,
    /// Its own text, references resolved, trimmed.
    pub text: String,
    pub lines: Lines,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    pub name: String,
    pub value: String,
    pub line: u32,
}

impl Element {
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|attribute| attribute.name == name).map(|attribute| attribute.value.as_str())
    }

    /// The children of one tag.
    pub fn all<'a>(&'a self, tag: &'a str) -> impl Iterator<Item = &'a Self> {
        self.children.iter().filter(move |child| child.tag == tag)
    }

    #[must_use]
    pub fn child(&self, tag: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.tag == tag)
    }
}

/// Elements whose inside is elements. Everything else holds text.
fn holds_elements(parent: &str, tag: &str) -> bool {
    matches!(
        (parent, tag),
        ("", "directive")
            | ("directive", "metadata" | "inputs" | "outputs" | "permissions" | "context" | "hooks" | "limits")
            | ("metadata", "permissions" | "context" | "hooks" | "limits")
            | ("permissions" | "action", "execute" | "fetch" | "sign" | "search" | "load")
            | ("hooks", "hook")
            | ("hook", "action" | "inputs" | "condition" | "execute" | "fetch" | "sign")
            | ("condition" | "any" | "all" | "not", "condition" | "any" | "all" | "not")
    )
}

/// Elements whose inside is never looked into, wherever they stand.
const MASKED: [&str; 3] = ["template", "example", "raw"];

/// Elements that say nothing about what a thread may do, spend or be told.
const DESCRIBES: [&str; 6] = ["description", "category", "author", "acknowledge", "input", "output"];

/// What a slip in the tag of an element costs: those that decide anything cannot be taken for what they might say.
fn severity_in(tag: &str) -> Severity {
    if DESCRIBES.contains(&tag) || MASKED.contains(&tag) { Severity::Warning } else { Severity::Fatal }
}

/// Elements in elements; what lies deeper is left out.
const DEEPEST: usize = 48;

/// After so many mistakes the rest is taken for text.
const MOST_PROBLEMS: usize = 50;

/// The elements of `text`, whose first line is line `first` of `file`.
pub(super) fn scan(text: &str, first: u32, file: &Path, problems: &mut Vec<Problem>) -> Element {
    let mut scanner = Scanner { text, at: 0, line: first, counted: 0, file, problems: Vec::new(), open: Vec::new() };
    let root = scanner.container("", first);
    problems.append(&mut scanner.problems);
    root
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    /// The line that byte `counted` lies on.
    line: u32,
    counted: usize,
    file: &'a Path,
    problems: Vec<Problem>,
    /// The tags of the containers we are in.
    open: Vec<String>,
}

/// What begins at a `<`.
enum Start {
    Tag {
        element: Element,
        closed: bool,
    },
    End(String),
    /// A comment, a declaration or a processing instruction.
    Skip,
    Cdata(String),
    /// No markup after all.
    Letter,
}

impl<'a> Scanner<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn line_at(&mut self, at: usize) -> u32 {
        if at < self.counted {
            let back = self.text.get(at..self.counted).map_or(0, |part| part.matches('\n').count());
            self.line = self.line.saturating_sub(u32::try_from(back).unwrap_or(u32::MAX));
        } else {
            let on = self.text.get(self.counted..at).map_or(0, |part| part.matches('\n').count());
            self.line = self.line.saturating_add(u32::try_from(on).unwrap_or(u32::MAX));
        }
        self.counted = at;
        self.line
    }

    fn report(&mut self, line: u32, severity: Severity, message: String, remedy: String) {
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(Problem::at(self.file, line, severity, message, remedy));
        } else if self.problems.len() == MOST_PROBLEMS {
            let message = format!("has more than {MOST_PROBLEMS} mistakes, and the rest of it is not read");
            self.problems.push(Problem::at(self.file, line, Severity::Fatal, message, "mend those before it"));
        }
    }

    /// The inside of an element that holds elements, up to its end or that of one around it.
    fn container(&mut self, tag: &str, first: u32) -> Element {
        let mut element = Element { tag: tag.to_owned(), lines: (first, first), ..Element::default() };
        let mut text = String::new();
        loop {
            let Some(next) = self.rest().find('<').filter(|_| self.problems.len() <= MOST_PROBLEMS) else {
                text.push_str(&resolved(self.rest()));
                self.at = self.text.len();
                if !tag.is_empty() {
                    self.unclosed(tag, first);
                }
                break;
            };
            text.push_str(&resolved(self.rest().get(..next).unwrap_or_default()));
            self.at += next;
            let (begin, line) = (self.at, self.line_at(self.at));
            match self.start() {
                Start::Letter => {
                    text.push('<');
                    self.at = begin + 1;
                }
                Start::Skip => {}
                Start::Cdata(inside) => text.push_str(&inside),
                Start::End(name) if name == tag => break,
                Start::End(name) if self.open.contains(&name) => {
                    self.unclosed(tag, first);
                    self.at = begin;
                    break;
                }
                Start::End(name) => {
                    let remedy = format!("remove it, or write `<{name}>` where it begins");
                    self.report(line, Severity::Warning, format!("`</{name}>` ends nothing"), remedy);
                }
                Start::Tag { element: child, closed } => {
                    let child = if closed { child } else { self.filled(tag, child) };
                    element.children.push(child);
                }
            }
        }
        text.trim().clone_into(&mut element.text);
        element.lines.1 = self.line_at(self.at);
        element
    }

    fn unclosed(&mut self, tag: &str, line: u32) {
        let remedy = format!("write `</{tag}>` where it ends");
        self.report(line, Severity::Fatal, format!("`<{tag}>` is never closed"), remedy);
    }

    /// An element whose start tag was read, with its inside.
    fn filled(&mut self, parent: &str, element: Element) -> Element {
        let first = element.lines.0;
        if holds_elements(parent, &element.tag) {
            if self.open.len() >= DEEPEST {
                self.pass_over(&element.tag, first);
                return element;
            }
            self.open.push(parent.to_owned());
            let inside = self.container(&element.tag, first);
            self.open.pop();
            return Element { attributes: element.attributes, ..inside };
        }
        let text = self.leaf(parent, &element.tag, first);
        Element { text, lines: (first, self.line_at(self.at)), ..element }
    }

    /// Leaves out an element that lies too deep, with everything in it.
    fn pass_over(&mut self, tag: &str, first: u32) {
        let message = format!("`<{tag}>` lies more than {DEEPEST} elements deep");
        self.report(first, Severity::Fatal, message, "nest less".into());
        let mut open = 1;
        while let Some(next) = self.rest().find('<') {
            self.at += next;
            if let Some(length) = end_tag(self.rest(), tag) {
                self.at += length;
                open -= 1;
                if open == 0 {
                    return;
                }
            } else {
                self.at += 1;
                open += usize::from(name(self.rest()) == tag);
            }
        }
        self.at = self.text.len();
    }

    /// The text of an element up to its end. Without an end it stops before the next one that its parent knows.
    fn leaf(&mut self, parent: &str, tag: &str, first: u32) -> String {
        let (start, mut from, mut text) = (self.at, self.at, String::new());
        let masked = MASKED.contains(&tag);
        while let Some(next) = self.rest().find('<') {
            let begin = self.at + next;
            self.at = begin;
            if let Some(after) = end_tag(self.rest(), tag) {
                text.push_str(&plain(self.text, from, begin, masked));
                self.at = begin + after;
                return dedented(&text);
            }
            let rest = self.rest();
            let skip = if masked { None } else { passed_over(rest) };
            match skip {
                Some((length, inside)) => {
                    text.push_str(&plain(self.text, from, begin, masked));
                    text.push_str(inside);
                    self.at = begin + length;
                    from = self.at;
                }
                None => self.at = begin + 1,
            }
        }
        self.at = start;
        self.unclosed(tag, first);
        let rest = self.rest();
        let length = stop(rest, parent);
        self.at = start + length;
        dedented(&resolved(rest.get(..length).unwrap_or_default()))
    }

    fn start(&mut self) -> Start {
        let rest = self.rest();
        if rest.starts_with("<![CDATA[") {
            let (length, inside) = passed_over(rest).unwrap_or((rest.len(), ""));
            self.at += length;
            return Start::Cdata(inside.to_owned());
        }
        if rest.starts_with("<!--") || rest.starts_with("<?") || rest.starts_with("<!") {
            let end = if rest.starts_with("<!--") { "-->" } else { ">" };
            let Some(length) = rest.find(end) else { return Start::Letter };
            self.at += length + end.len();
            return Start::Skip;
        }
        if let Some(after) = rest.strip_prefix("</") {
            let name = name(after);
            let behind = after.get(name.len()..).unwrap_or_default();
            let blank = behind.len() - behind.trim_start().len();
            if name.is_empty() || !behind.trim_start().starts_with('>') {
                return Start::Letter;
            }
            self.at += 2 + name.len() + blank + 1;
            return Start::End(name.to_owned());
        }
        let tag = name(rest.get(1..).unwrap_or_default());
        if tag.is_empty() {
            return Start::Letter;
        }
        let line = self.line_at(self.at);
        self.at += 1 + tag.len();
        let (attributes, closed) = self.attributes(tag, line);
        Start::Tag {
            element: Element { tag: tag.to_owned(), attributes, lines: (line, line), ..Element::default() },
            closed,
        }
    }

    /// Attributes up to the end of the tag; whether it ends itself.
    fn attributes(&mut self, tag: &str, line: u32) -> (Vec<Attribute>, bool) {
        let mut found: Vec<Attribute> = Vec::new();
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start().len();
            self.at += blank;
            let rest = self.rest();
            if let Some(length) = ["/>", ">"].into_iter().find_map(|end| rest.starts_with(end).then_some(end.len())) {
                self.at += length;
                return (found, length == 2);
            }
            if rest.is_empty() || rest.starts_with('<') {
                let remedy = "write `>` at its end".to_owned();
                self.report(line, Severity::Fatal, format!("the tag `<{tag}` is not finished"), remedy);
                return (found, false);
            }
            let name = name(rest);
            if name.is_empty() {
                let letter = rest.chars().next().map_or(1, char::len_utf8);
                let shown: String = rest.chars().take(1).collect();
                self.at += letter;
                let message = format!("`{shown}` in `<{tag}>` means nothing");
                self.report(line, severity_in(tag), message, "remove it".into());
                continue;
            }
            let here = self.line_at(self.at);
            self.at += name.len();
            let value = self.value(tag, name, here);
            if found.iter().any(|attribute| attribute.name == name) {
                let message = format!("`{name}` is given twice in `<{tag}>`; the first counts");
                self.report(here, severity_in(tag), message, "remove one of them".into());
            } else if let Some(value) = value {
                found.push(Attribute { name: name.to_owned(), value, line: here });
            }
        }
    }

    fn value(&mut self, tag: &str, name: &str, line: u32) -> Option<String> {
        let rest = self.rest();
        let Some(behind) = rest.trim_start().strip_prefix('=').map(str::trim_start) else {
            let message = format!("`{name}` in `<{tag}>` has no value");
            self.report(line, severity_in(tag), message, format!("write {name}=\"…\""));
            return None;
        };
        self.at += rest.len() - behind.len();
        if let Some(quote) = behind.chars().next().filter(|letter| matches!(letter, '"' | '\'')) {
            let inside = behind.get(1..).unwrap_or_default();
            let end = inside.find(quote).filter(|end| !inside.get(..*end).unwrap_or_default().contains('\n'));
            if let Some(value) = end.and_then(|end| inside.get(..end)) {
                self.at += value.len() + 2;
                return Some(resolved(value));
            }
            let message = format!("the value of `{name}` in `<{tag}>` has no closing quote");
            self.report(line, Severity::Fatal, message, format!("write {quote} behind it, on the same line"));
            self.at += 1;
            let line_end = inside.find(['\n', '>']).unwrap_or(inside.len());
            self.at += line_end;
            return None;
        }
        let end =
            behind.find(|letter: char| letter.is_whitespace() || matches!(letter, '>' | '<')).unwrap_or(behind.len());
        let value = behind.get(..end).unwrap_or_default();
        let value = if behind.get(end..).is_some_and(|after| after.starts_with('>')) {
            value.trim_end_matches('/')
        } else {
            value
        };
        self.at += value.len();
        let message = format!("the value of `{name}` in `<{tag}>` is not quoted");
        self.report(line, Severity::Warning, message, format!("write {name}=\"{value}\""));
        Some(resolved(value))
    }
}

/// The name that `text` begins with.
fn name(text: &str) -> &str {
    let inner = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.' | ':');
    if !text.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_') {
        return "";
    }
    text.get(..text.find(|letter| !inner(letter)).unwrap_or(text.len())).unwrap_or_default()
}

/// Length of the end tag of `tag`, if `rest` begins with it.
fn end_tag(rest: &str, tag: &str) -> Option<usize> {
    let behind = rest.strip_prefix("</")?.strip_prefix(tag)?;
    let end = behind.trim_start().strip_prefix('>')?;
    Some(rest.len() - end.len())
}

/// Length and text of what stands for itself: a comment, CDATA, a masked element.
fn passed_over(rest: &str) -> Option<(usize, &str)> {
    if rest.starts_with("<!--") {
        return rest.find("-->").map(|end| (end + 3, ""));
    }
    if let Some(inside) = rest.strip_prefix("<![CDATA[") {
        return inside.find("]]>").and_then(|end| Some((9 + end + 3, inside.get(..end)?)));
    }
    let tag = MASKED.into_iter().find(|tag| name(rest.get(1..).unwrap_or_default()) == *tag)?;
    let end = rest.find(&format!("</{tag}>"))? + tag.len() + 3;
    Some((end, rest.get(..end)?))
}

/// Where an element without an end stops: before an element that its parent is known for, or its parent's end.
fn stop(rest: &str, parent: &str) -> usize {
    let siblings: &[&str] = match parent {
        "metadata" => &["description", "category", "author", "model", "limits", "permissions", "context", "hooks"],
        "inputs" => &["input"],
        "outputs" => &["output"],
        "context" => &["system", "before", "after", "suppress", "provider"],
        "directive" => &["metadata", "inputs", "outputs", "permissions", "context", "hooks"],
        "permissions" => &["execute", "fetch", "sign", "acknowledge", "cap"],
        "execute" | "fetch" | "sign" | "search" | "load" => &["tool", "directive", "knowledge"],
        "action" => &["param"],
        _ => &[],
    };
    rest.match_indices('<')
        .find(|(at, _)| {
            let behind = rest.get(at + 1..).unwrap_or_default();
            let closes = behind.strip_prefix('/').is_some_and(|behind| !name(behind).is_empty());
            closes || siblings.contains(&name(behind))
        })
        .map_or(rest.len(), |(at, _)| at)
}

fn plain(text: &str, from: usize, to: usize, masked: bool) -> String {
    let part = text.get(from..to).unwrap_or_default();
    if masked { part.to_owned() } else { resolved(part) }
}

/// With the five named references and numeric ones replaced; an `&` that begins none stays.
fn resolved(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('&') {
        out.push_str(before);
        let reference = behind.split_once(';').filter(|(name, _)| name.len() <= 8);
        if let Some((letter, after)) = reference.and_then(|(name, after)| Some((letter(name)?, after))) {
            out.push(letter);
            rest = after;
        } else {
            out.push('&');
            rest = behind;
        }
    }
    out.push_str(rest);
    out
}

fn letter(name: &str) -> Option<char> {
    match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        "nbsp" => Some('\u{a0}'),
        _ => {
            let digits = name.strip_prefix('#')?;
            let code = match digits.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => digits.parse().ok()?,
            };
            char::from_u32(code)
        }
    }
}

/// Trimmed, and without the blanks that all lines but the first begin with.
fn dedented(text: &str) -> String {
    let text = text.trim();
    let margin = text.lines().skip(1).filter(|line| !line.trim().is_empty());
    let margin = margin.map(|line| line.len() - line.trim_start_matches(' ').len()).min().unwrap_or(0);
    let blanks = " ".repeat(margin);
    let lines: Vec<&str> = text.lines().map(|line| line.strip_prefix(blanks.as_str()).unwrap_or(line)).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn scanned(text: &str) -> (Element, Vec<String>) {
        let mut problems = Vec::new();
        let root = scan(text, 1, Path::new("a.md"), &mut problems);
        (root, problems.iter().map(ToString::to_string).collect())
    }

    /// Problems and the metadata element of `<directive><metadata>…`.
    fn metadata(inside: &str) -> (Element, Vec<String>) {
        let (root, problems) = scanned(&format!("<directive>\n<metadata>\n{inside}\n</metadata>\n</directive>"));
        (root.child("directive").unwrap().child("metadata").unwrap().clone(), problems)
    }

    #[test]
    fn code_survives() {
        let (found, problems) = metadata("<description>Run <code>if (a < b && c > d)</code> now</description>");
        assert_eq!(found.child("description").unwrap().text, "Run <code>if (a < b && c > d)</code> now");
        let (found, more) = metadata("<note>if (a < b) { c<d>(); }</note><author>me</author>");
        assert_eq!(found.child("note").unwrap().text, "if (a < b) { c<d>(); }");
        assert_eq!(found.child("author").unwrap().text, "me");
        assert_eq!((problems, more), (vec![], vec![]));
    }

    #[test]
    fn what_stands_for_itself_is_passed_over() {
        let inside = "<description>a<!-- </description> -->b <![CDATA[</description> &lt;]]> \
                      <template></description></template> &lt;&#65;&#x42;&nope;</description>";
        let (found, problems) = metadata(inside);
        let expected = "ab </description> &lt; <template></description></template> <AB&nope;";
        assert_eq!(found.child("description").unwrap().text, expected);
        assert_eq!(problems, Vec::<String>::new());
    }

    #[test]
    fn an_element_without_an_end_costs_itself() {
        let (found, problems) = metadata("<description>Does things\n<category>tools</category>");
        assert_eq!(found.child("description").unwrap().text, "Does things");
        assert_eq!(found.child("category").unwrap().text, "tools");
        assert_eq!(problems, ["a.md:3: `<description>` is never closed; write `</description>` where it ends"]);
        let (root, problems) = scanned("<directive><metadata><author>a</author></directive>");
        assert_eq!(root.child("directive").unwrap().child("metadata").unwrap().child("author").unwrap().text, "a");
        assert_eq!(problems, ["a.md:1: `<metadata>` is never closed; write `</metadata>` where it ends"]);
    }

    #[test]
    fn attributes_are_read_as_they_are_written() {
        let (found, problems) = metadata("<model tier='fast' id=gpt provider=\"a &amp; b\" tier=\"x\" spare/>");
        let model = found.child("model").unwrap();
        let values: Vec<_> = model.attributes.iter().map(|one| (one.name.as_str(), one.value.as_str())).collect();
        assert_eq!(values, [("tier", "fast"), ("id", "gpt"), ("provider", "a & b")]);
        assert_eq!(problems.len(), 3, "{problems:?}");
        assert_eq!(model.lines, (3, 3));
    }

    #[test]
    fn lines_are_those_of_the_file() {
        let (root, _) = scanned("<directive>\n<inputs>\n\n<input name=\"a\">\ntext\n</input>\n</inputs>\n</directive>");
        let inputs = root.child("directive").unwrap().child("inputs").unwrap();
        assert_eq!((inputs.lines, inputs.child("input").unwrap().lines), ((2, 7), (4, 6)));
    }

    proptest! {
        #[test]
        fn any_text_is_scanned(text in "(<|>|/|</|directive|metadata|inputs|input|description|hooks|hook| |=|\"|'|&|;|<!--|-->|<!\\[CDATA\\[|\\]\\]>|template|é|\n|a){0,60}") {
            scanned(&text);
        }

        #[test]
        fn any_text_at_all_is_scanned(text in ".*") {
            scanned(&text);
        }
    }
}
