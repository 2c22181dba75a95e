//! A YAML text as a tree in which every value knows its line.
//!
//! The YAML reader that items use gives values without lines, so these files are read from the parser's events. What
//! makes a small text large (aliases of aliases, deep nesting) is refused.

use crate::domain::{Problem, Severity};
use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput};
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;

/// More values than this are no settings.
const MOST_NODES: usize = 50_000;

/// Deeper than this nobody nests settings.
const DEEPEST: usize = 64;

/// A value, the line it stands on (from 1), and the file it is from, by its place in the cascade's list.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub tree: Tree,
    pub line: u32,
    pub layer: usize,
}

/// What a node holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree {
    /// Text, number, truth value or null.
    Plain(Value),
    List(Vec<Node>),
    /// Names with values, in the order of the file.
    Map(Vec<(String, Node)>),
}

impl Node {
    /// The value below `name`: an entry of a map, or of a list by its `id` or its number from 0.
    #[must_use]
    pub fn child(&self, name: &str) -> Option<&Self> {
        match &self.tree {
            Tree::Plain(_) => None,
            Tree::Map(entries) => entries.iter().find(|(own, _)| own == name).map(|(_, node)| node),
            Tree::List(nodes) => {
                nodes.iter().find(|node| node.id() == Some(name)).or_else(|| nodes.get(name.parse::<usize>().ok()?))
            }
        }
    }

    /// The entries of a list; none for anything else.
    #[must_use]
    pub fn children(&self) -> &[Self] {
        if let Tree::List(nodes) = &self.tree { nodes } else { &[] }
    }

    /// The text under `id`, by which entries of lists are told apart.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        let Tree::Map(entries) = &self.tree else { return None };
        let (_, node) = entries.iter().find(|(name, _)| name == "id")?;
        let Tree::Plain(Value::String(id)) = &node.tree else { return None };
        Some(id)
    }

    /// The value without its lines.
    #[must_use]
    pub fn value(&self) -> Value {
        match &self.tree {
            Tree::Plain(value) => value.clone(),
            Tree::List(nodes) => Value::Array(nodes.iter().map(Self::value).collect()),
            Tree::Map(entries) => {
                Value::Object(entries.iter().map(|(name, node)| (name.clone(), node.value())).collect())
            }
        }
    }
}

/// Reads the text of `file`, which is the cascade's file number `layer`. `None` for an empty text, or when it does not
/// read; then there is a problem.
pub(in crate::items) fn read(text: &str, file: &Path, layer: usize, problems: &mut Vec<Problem>) -> Option<Node> {
    let mut reader = Reader { parser: Parser::new_from_str(text), layer, anchors: HashMap::new(), left: MOST_NODES };
    match reader.document() {
        Ok(node) => node,
        Err(Bad { line, message, remedy }) => {
            problems.push(Problem::at(file, line, Severity::Fatal, message, remedy));
            None
        }
    }
}

/// Why a text does not read.
struct Bad {
    line: u32,
    message: String,
    remedy: &'static str,
}

impl Bad {
    fn at(span: Span, message: &str, remedy: &'static str) -> Self {
        Self { line: line_of(span), message: message.to_owned(), remedy }
    }
}

impl From<ScanError> for Bad {
    fn from(error: ScanError) -> Self {
        let line = u32::try_from(error.marker().line()).unwrap_or(u32::MAX).max(1);
        Self { line, message: format!("this is not YAML: {}", error.info()), remedy: "fix the line" }
    }
}

fn line_of(span: Span) -> u32 {
    u32::try_from(span.start.line()).unwrap_or(u32::MAX).max(1)
}

struct Reader<'a> {
    parser: Parser<'a, StrInput<'a>>,
    layer: usize,
    anchors: HashMap<usize, Node>,
    /// How many more values there may be.
    left: usize,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Span), Bad> {
        match self.parser.next_event() {
            Some(next) => Ok(next?),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    /// The first document of the text.
    fn document(&mut self) -> Result<Option<Node>, Bad> {
        loop {
            match self.next()? {
                (Event::StreamStart | Event::DocumentStart(_) | Event::Nothing, _) => {}
                (Event::StreamEnd | Event::DocumentEnd, _) => return Ok(None),
                (event, span) => {
                    let node = self.node(event, span, 0)?;
                    // An error behind the first value is one all the same.
                    while !matches!(self.next()?.0, Event::StreamEnd) {}
                    return Ok(Some(node).filter(|node| node.tree != Tree::Plain(Value::Null)));
                }
            }
        }
    }

    fn count(&mut self, nodes: usize, span: Span) -> Result<(), Bad> {
        match self.left.checked_sub(nodes) {
            Some(left) => self.left = left,
            None => return Err(Bad::at(span, "holds more values than settings have", "remove some")),
        }
        Ok(())
    }

    fn node(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<Node, Bad> {
        self.count(1, span)?;
        if depth > DEEPEST {
            return Err(Bad::at(span, "is nested too deep", "settings need a few levels only"));
        }
        let (tree, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let is_text = style != ScalarStyle::Plain || tag.is_some_and(|tag| tag.suffix == "str");
                (Tree::Plain(if is_text { Value::String(text.into_owned()) } else { plain(&text) }), anchor)
            }
            Event::SequenceStart(anchor, _) => {
                let mut nodes = Vec::new();
                loop {
                    match self.next()? {
                        (Event::SequenceEnd, _) => break,
                        (event, span) => nodes.push(self.node(event, span, depth + 1)?),
                    }
                }
                (Tree::List(nodes), anchor)
            }
            Event::MappingStart(anchor, _) => (self.map(depth)?, anchor),
            Event::Alias(anchor) => {
                let node = self.anchors.get(&anchor).cloned();
                let node = node.ok_or_else(|| Bad::at(span, "an alias names nothing", "write the value itself"))?;
                self.count(size(&node), span)?;
                return Ok(node);
            }
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd
            | Event::SequenceEnd
            | Event::MappingEnd => return Err(Bad::at(span, "this is not YAML: a value is missing", "fix the line")),
        };
        let node = Node { tree, line: line_of(span), layer: self.layer };
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    fn map(&mut self, depth: usize) -> Result<Tree, Bad> {
        let mut entries: Vec<(String, Node)> = Vec::new();
        loop {
            let name = match self.next()? {
                (Event::MappingEnd, _) => return Ok(Tree::Map(entries)),
                (Event::Scalar(name, ..), span) => (name.into_owned(), span),
                (_, span) => return Err(Bad::at(span, "a name is no text", "write `name: value`")),
            };
            let (name, name_span) = name;
            if entries.iter().any(|(known, _)| *known == name) {
                return Err(Bad::at(name_span, &format!("`{name}` is there twice"), "keep one of the two"));
            }
            let (event, span) = self.next()?;
            let mut node = self.node(event, span, depth + 1)?;
            // A value is looked for where its name stands.
            node.line = line_of(name_span);
            entries.push((name, node));
        }
    }
}

fn size(node: &Node) -> usize {
    match &node.tree {
        Tree::Plain(_) => 1,
        Tree::List(nodes) => 1 + nodes.iter().map(size).sum::<usize>(),
        Tree::Map(entries) => 1 + entries.iter().map(|(_, node)| size(node)).sum::<usize>(),
    }
}

/// A word without quotes: null, truth, number or text, as YAML's core schema has it.
fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => {
            let numeric = text.starts_with(|letter: char| letter.is_ascii_digit() || "+-.".contains(letter));
            let whole = || text.parse::<i64>().ok().map(Value::from);
            let broken = || text.parse::<f64>().ok().filter(|number| number.is_finite()).map(Value::from);
            let number = if numeric { whole().or_else(broken) } else { None };
            number.unwrap_or_else(|| Value::String(text.to_owned()))
        }
    }
}
