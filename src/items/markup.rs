//! The markup in directives, which is XML as people and models write it.
//!
//! `quick-xml` reads each piece of markup: tags, attributes, references, comments, CDATA, and where they end. Here is what an
//! XML parser cannot do. Only what the table [`holds_elements`] names is taken apart; the inside of every other element is
//! its text, up to its own end. So code such as `if (a < b)` survives. Masked elements (`template`, `example`, `raw`) are
//! passed over whole, as comments are. What is read all the same after a mistake is told as such; where the mistake may have
//! hidden something that decides, it is fatal.

use crate::domain::{Problem, Severity};
use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::attributes::{Attribute as Read, Attributes};
use quick_xml::events::{BytesRef, Event};
use quick_xml::name::QName;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::path::Path;

/// From its first to its last line, counting from 1 in the file.
pub type Lines = (u32, u32);

/// An element, its attributes and what is in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Element {
    pub tag: String,
    pub attributes: Vec<Attribute>,
    pub children: Vec<Element>,
    /// Its own text, references resolved, trimmed; of `handlers` with every line that is in it.
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

/// Elements whose text is read in lines by somebody else: it stays as it is written, and its first line is that of the tag.
const IN_LINES: [&str; 1] = ["handlers"];

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
    let line_ends = text.match_indices('\n').map(|(at, _)| at).collect();
    let (open, endless) = (Vec::new(), HashMap::new());
    let mut scanner = Scanner { text, at: 0, first, line_ends, file, problems: Vec::new(), open, endless };
    let root = scanner.container("", first);
    problems.append(&mut scanner.problems);
    root
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    /// The number of the first line.
    first: u32,
    line_ends: Vec<usize>,
    file: &'a Path,
    problems: Vec<Problem>,
    /// The tags of the containers around the one we are in.
    open: Vec<&'a str>,
    /// What [`Scanner::passed_over`] found no end of, and from where on: it is looked for once.
    endless: HashMap<&'static str, usize>,
}

impl<'a> Scanner<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn line_at(&self, at: usize) -> u32 {
        let before = self.line_ends.partition_point(|end| *end < at);
        self.first.saturating_add(u32::try_from(before).unwrap_or(u32::MAX))
    }

    fn report(&mut self, line: u32, severity: Severity, message: String, remedy: String) {
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(Problem::at(self.file, line, severity, message, remedy));
        } else if self.problems.len() == MOST_PROBLEMS {
            let message = format!("has more than {MOST_PROBLEMS} mistakes, and the rest of it is not read");
            self.problems.push(Problem::at(self.file, line, Severity::Fatal, message, "fix those before it"));
        }
    }

    /// The inside of an element that holds elements, up to its end or that of one around it.
    fn container(&mut self, tag: &'a str, first: u32) -> Element {
        let mut element = Element { tag: tag.to_owned(), lines: (first, first), ..Element::default() };
        let mut text = String::new();
        loop {
            let rest = self.rest();
            let next = rest.find('<').filter(|_| self.problems.len() <= MOST_PROBLEMS).unwrap_or(rest.len());
            let (before, rest) = rest.split_at(next);
            text.push_str(&resolved(before));
            self.at += next;
            let line = self.line_at(self.at);
            let Some(behind) = rest.strip_prefix('<') else {
                if !tag.is_empty() {
                    self.unclosed(tag, first);
                }
                break;
            };
            let (declares, named) = (behind.starts_with(['!', '?']), name(behind.strip_prefix('/').unwrap_or(behind)));
            if !declares && named.is_empty() {
                text.push('<');
                self.at += 1;
                continue;
            }
            match markup(rest) {
                Ok((Event::CData(inside), length)) => {
                    text.push_str(&inside);
                    self.at += length;
                }
                Ok((Event::Comment(_), length)) => self.at += length,
                // What holds an element has lost its own end. A document type may hold declarations in brackets.
                Ok((Event::PI(inside), length)) if !inside.contains('<') => self.at += length,
                Ok((Event::Decl(inside), length)) if !inside.contains('<') => self.at += length,
                Ok((Event::DocType(inside), length)) if !inside.split('[').next().unwrap_or_default().contains('<') => {
                    self.at += length;
                }
                _ if declares => self.unended(rest, line),
                Ok((Event::End(end), length)) if end.trim_end() == named => {
                    if named != tag && self.open.contains(&named) {
                        self.unclosed(tag, first);
                        break;
                    }
                    self.at += length;
                    if named == tag {
                        break;
                    }
                    let remedy = format!("remove it, or write `<{named}>` where it begins");
                    self.report(line, Severity::Warning, format!("`</{named}>` closes no element"), remedy);
                }
                _ if behind.starts_with('/') => {
                    let remedy = format!("write `</{named}>`");
                    self.report(line, Severity::Warning, format!("the tag `</{named}` is not finished"), remedy);
                    text.push('<');
                    self.at += 1;
                }
                Ok((Event::Start(start) | Event::Empty(start), _)) => {
                    let inside = behind.get(..start.len()).unwrap_or_default();
                    element.children.push(self.element(tag, named, inside));
                }
                Ok(_) | Err(_) => element.children.push(self.element(tag, named, behind)),
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

    /// Passes over the beginning of a comment, CDATA or declaration that has no end, or that XML does not know.
    fn unended(&mut self, rest: &str, line: u32) {
        let begin = ["<!--", "<![CDATA[", "<?"].into_iter().find(|begin| rest.starts_with(begin)).unwrap_or("<!");
        let remedy = "end a comment with `-->`, CDATA with `]]>` and `<?` with `?>`, or remove it".to_owned();
        self.report(line, Severity::Fatal, format!("`{begin}` is not ended correctly"), remedy);
        self.pass_end(self.at + 1);
    }

    /// Goes behind the next `>` from `from` on if no `<` comes before it; then tells whether a `/` does.
    fn pass_end(&mut self, from: usize) -> Option<bool> {
        let rest = self.text.get(from..).unwrap_or_default();
        let inside = rest.split(['<', '>']).next().unwrap_or_default();
        self.at = from + inside.len();
        let ends = self.rest().starts_with('>');
        self.at += usize::from(ends);
        ends.then_some(inside.ends_with('/'))
    }

    /// The element that begins here, with what stands `inside` its start tag.
    fn element(&mut self, parent: &'a str, tag: &'a str, inside: &str) -> Element {
        let first = self.line_at(self.at);
        let (attributes, closed) = self.start_tag(tag, inside);
        let element = Element { tag: tag.to_owned(), attributes, lines: (first, first), ..Element::default() };
        if closed {
            element
        } else if !holds_elements(parent, tag) {
            let text = self.leaf(parent, tag, first);
            Element { text, lines: (first, self.line_at(self.at)), ..element }
        } else if self.open.len() >= DEEPEST {
            let message = format!("`<{tag}>` lies more than {DEEPEST} elements deep");
            self.report(first, Severity::Fatal, message, "nest less".into());
            let mut reader = reader(self.rest());
            let ends = reader.read_to_end(QName(tag)).is_ok();
            self.at = self.text.len() - if ends { reader.get_ref().len() } else { 0 };
            element
        } else {
            self.open.push(parent);
            let inside = self.container(tag, first);
            self.open.pop();
            Element { attributes: element.attributes, ..inside }
        }
    }

    /// Attributes, and whether the tag ends itself. Where quotes are missing, what was read as the `inside` of the tag goes on
    /// behind it: a value ends on its line, and the tag at the first `<` or `>` that stands in no value.
    fn start_tag(&mut self, tag: &str, inside: &str) -> (Vec<Attribute>, bool) {
        let (begin, first) = (self.at + 1, self.line_at(self.at));
        let (mut found, mut names, mut done) = (Vec::new(), BTreeSet::new(), tag.len());
        for read in Attributes::html(inside, tag.len()).with_checks(false) {
            let rest = unblanked(inside.get(done..).unwrap_or_default());
            if rest.starts_with(['<', '>']) || rest.starts_with("/>") {
                break;
            }
            let line = self.line_at(begin + inside.len() - rest.len());
            let (word, quote, value, behind) = attribute(rest, read.ok());
            done = inside.len() - behind.len();
            let name = word.get(word.trim_end_matches(in_name).len()..).unwrap_or_default();
            let name = name.trim_start_matches(|letter| !begins_name(letter));
            if let Some(odd) = word.strip_suffix(name).filter(|odd| !odd.is_empty()) {
                let message = format!("`{odd}` in `<{tag}>` is not an attribute");
                self.report(line, severity_in(tag), message, "write it as key=\"value\", or remove it".into());
            }
            if let (Some(quote), None) = (quote, value) {
                let message = format!("the value of `{name}` in `<{tag}>` has no closing quote");
                self.report(line, Severity::Fatal, message, format!("write {quote} behind it, on the same line"));
                break;
            }
            if name.is_empty() {
                continue;
            }
            if quote.is_none() {
                let (severity, message) = match value {
                    Some(_) => (Severity::Warning, format!("the value of `{name}` in `<{tag}>` is not quoted")),
                    None => (severity_in(tag), format!("`{name}` in `<{tag}>` has no value")),
                };
                self.report(line, severity, message, format!("write {name}=\"{}\"", value.unwrap_or("…")));
            }
            if names.contains(name) {
                let message = format!("`{name}` is given twice in `<{tag}>`; the first counts");
                self.report(line, severity_in(tag), message, "remove one of them".into());
            } else if let Some(value) = value {
                names.insert(name);
                found.push(Attribute { name: name.to_owned(), value: resolved(value).into_owned(), line });
            }
        }
        let closed = self.pass_end(begin + done);
        if closed.is_none() {
            let remedy = "write `>` at its end".to_owned();
            self.report(first, Severity::Fatal, format!("the tag `<{tag}` is not finished"), remedy);
        }
        (found, closed.unwrap_or(false))
    }

    /// The text of an element up to its end. Without an end it stops before the next one that its parent knows.
    fn leaf(&mut self, parent: &str, tag: &str, first: u32) -> String {
        let (body, masked, in_lines) = (self.rest(), MASKED.contains(&tag), IN_LINES.contains(&tag));
        let (mut text, mut from) = (String::new(), 0);
        if in_lines {
            text = "\n".repeat(self.line_at(self.at).saturating_sub(first) as usize);
        }
        for (at, _) in body.match_indices('<') {
            let (Some(before), Some(rest)) = (body.get(from..at), body.get(at..)) else { continue };
            if let Some(length) = end_tag(rest, tag) {
                text.push_str(&if masked { before.into() } else { resolved(before) });
                self.at += at + length;
                return if in_lines { text.trim_end().to_owned() } else { dedented(&text) };
            }
            if !masked && let Some((inside, length)) = self.passed_over(rest) {
                text.push_str(&resolved(before));
                text.push_str(&inside);
                if in_lines && inside.is_empty() {
                    text.extend(rest.get(..length).into_iter().flat_map(|comment| comment.matches('\n')));
                }
                from = at + length;
            }
        }
        self.unclosed(tag, first);
        let length = stop(body, parent);
        self.at += length;
        dedented(&resolved(body.get(..length).unwrap_or_default()))
    }

    /// Text and length of what stands for itself at the beginning of `rest`: a comment, CDATA, a masked element.
    fn passed_over(&mut self, rest: &'a str) -> Option<(Cow<'a, str>, usize)> {
        let at = self.text.len() - rest.len();
        let named = name(rest.get(1..).unwrap_or_default());
        let kind = ["<!--", "<![CDATA["].into_iter().find(|begin| rest.starts_with(begin));
        let kind = kind.or_else(|| MASKED.into_iter().find(|tag| *tag == named))?;
        if self.endless.get(kind).is_some_and(|from| *from <= at) {
            return None;
        }
        let found = if kind == named {
            let end = format!("</{kind}>");
            rest.find(&end).and_then(|at| Some((rest.get(..at + end.len())?.into(), at + end.len())))
        } else {
            match markup(rest) {
                Ok((Event::CData(inside), length)) => Some((inside.into_inner(), length)),
                Ok((Event::Comment(_), length)) => Some(("".into(), length)),
                _ => None,
            }
        };
        if found.is_none() {
            self.endless.insert(kind, at);
        }
        found
    }
}

fn reader(text: &str) -> Reader<&[u8]> {
    let mut reader = Reader::from_str(text);
    // Which tag ends which is decided above.
    (reader.config_mut().check_end_names, reader.config_mut().allow_unmatched_ends) = (false, true);
    reader
}

/// The markup that `text` begins with, and its length.
fn markup(text: &str) -> Result<(Event<'_>, usize), quick_xml::Error> {
    let mut reader = reader(text);
    let event = reader.read_event()?;
    Ok((event, text.len() - reader.get_ref().len()))
}

/// The attribute that `rest` begins with, as it was `read`: its name and what is written at it, its quote, its value if that
/// is whole, and what is behind it.
fn attribute<'a>(rest: &'a str, read: Option<Read<'_>>) -> (&'a str, Option<char>, Option<&'a str>, &'a str) {
    let key = read.as_ref().map_or_else(|| rest.split('=').next().unwrap_or_default(), |read| read.key.into_inner());
    let word = before_end(rest.get(..key.len().max(1)).unwrap_or_default());
    let behind = rest.get(word.len()..).unwrap_or_default();
    let given = unblanked(behind).strip_prefix('=').map(unblanked).filter(|given| !given.is_empty());
    let quote = given.and_then(|given| given.chars().next()).filter(|letter| matches!(letter, '"' | '\''));
    let value = match (given, quote, read) {
        (Some(given), None, Some(read)) => given.get(..read.value.len()).map(before_end),
        (Some(given), _, Some(read)) => given.get(1..=read.value.len()).filter(|value| !value.contains('\n')),
        (None, ..) | (.., None) => None,
    };
    let quotes = quote.map_or(0, char::len_utf8);
    let length = value.map_or(quotes, |value| value.len() + 2 * quotes);
    (word.trim(), quote, value, given.unwrap_or(behind).get(length..).unwrap_or_default())
}

/// `text` up to what ends a tag.
fn before_end(text: &str) -> &str {
    let before = text.split(['<', '>']).next().unwrap_or_default();
    if text.get(before.len()..).is_some_and(|end| end.starts_with('>')) {
        before.strip_suffix('/').unwrap_or(before)
    } else {
        before
    }
}

/// `text` without the blanks of XML that it begins with.
fn unblanked(text: &str) -> &str {
    text.trim_start_matches([' ', '\t', '\r', '\n'])
}

fn begins_name(letter: char) -> bool {
    letter.is_ascii_alphabetic() || letter == '_'
}

fn in_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.' | ':')
}

/// The name that `text` begins with.
fn name(text: &str) -> &str {
    let length = text.find(|letter| !in_name(letter)).unwrap_or(text.len());
    text.get(..length).filter(|name| name.starts_with(begins_name)).unwrap_or_default()
}

/// Length of the end tag of `tag`, if `rest` begins with it.
fn end_tag(rest: &str, tag: &str) -> Option<usize> {
    let end = rest.strip_prefix("</")?.strip_prefix(tag)?.trim_start().strip_prefix('>')?;
    Some(rest.len() - end.len())
}

/// Where an element without an end stops: before an element that its parent is known for, or its parent's end.
fn stop(rest: &str, parent: &str) -> usize {
    let siblings: &[&str] = match parent {
        "metadata" => {
            &["description", "category", "author", "model", "limits", "permissions", "context", "hooks", "handlers"]
        }
        "inputs" => &["input"],
        "outputs" => &["output"],
        "context" => &["system", "before", "after", "suppress", "provider"],
        "directive" => &["metadata", "inputs", "outputs", "permissions", "context", "hooks", "handlers"],
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

/// With references to letters replaced; an `&` that begins none stays.
fn resolved(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    for part in text.split_inclusive(';') {
        let (before, reference) = part.split_at(part.rfind('&').unwrap_or(part.len()));
        out.push_str(before);
        let name = reference.strip_prefix('&').and_then(|name| name.strip_suffix(';')).unwrap_or_default();
        match BytesRef::new(name).resolve_char_ref() {
            Ok(Some(letter)) => out.push(letter),
            Ok(None) if name == "nbsp" => out.push('\u{a0}'),
            Ok(None) | Err(_) => out.push_str(resolve_predefined_entity(name).unwrap_or(reference)),
        }
    }
    out.into()
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
mod tests;
