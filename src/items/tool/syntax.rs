//! Syntax trees of tools, from files that nobody trusts yet: parsing is bounded in size, depth and steps, goes on behind
//! mistakes and does not recurse.

use crate::domain::{Problem, Severity};
use crate::items::brackets::is_shallow;
use std::ops::ControlFlow;
use std::path::Path;
use tree_sitter::{Language, Node, ParseOptions, Parser, Tree};

/// Longest file that is read, in bytes. Tools are shorter; bundles and generated tables are no tools.
const LONGEST: usize = 128 << 10;

/// Deeper values are left out.
pub(super) const DEEPEST: usize = 64;

/// The parser asks after every hundred steps whether to go on. Text that is written by people takes a few steps a byte;
/// this allows ten, and some for the start.
fn most_asked(text: &str) -> usize {
    text.len() / 10 + 1_000
}

/// The tree of a file's text, with a warning where there is none, and a problem of `severity` with this `message` at the
/// first mistake in it.
pub(super) fn tree(
    text: &str,
    language: &Language,
    file: &Path,
    (severity, message): (Severity, &str),
    problems: &mut Vec<Problem>,
) -> Option<Tree> {
    if text.len() > LONGEST {
        not_read(file, "is longer than 128 kB, so levain did not read its metadata", problems);
        return None;
    }
    let Some(tree) = Some(text).filter(|text| is_shallow(text)).and_then(|text| parse(text, language)) else {
        too_complex(file, problems);
        return None;
    };
    if let Some(line) = first_mistake(tree.root_node()) {
        problems.push(Problem::at(file, line, severity, message, "fix that line"));
    }
    Some(tree)
}

/// Warns of a file whose parsing would take too long.
pub(super) fn too_complex(file: &Path, problems: &mut Vec<Problem>) {
    not_read(file, "is too complex to parse, so levain did not read its metadata", problems);
}

fn not_read(file: &Path, message: &str, problems: &mut Vec<Problem>) {
    problems.push(Problem::at(file, None, Severity::Warning, message, "move its data into a file of its own"));
}

fn parse(text: &str, language: &Language) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(language).ok()?;
    let bytes = text.as_bytes();
    let mut left = most_asked(text);
    let mut patience = |_: &tree_sitter::ParseState| {
        left = left.saturating_sub(1);
        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut patience);
    parser.parse_with_options(&mut |at, _| bytes.get(at..).unwrap_or_default(), None, Some(options))
}

/// The line of the first thing the grammar does not know, from 1.
fn first_mistake(root: Node<'_>) -> Option<u32> {
    let mut node = root.has_error().then_some(root)?;
    // Down to the innermost that holds it.
    loop {
        let mut cursor = node.walk();
        let wrong = node.children(&mut cursor).find(|child| child.has_error() || child.is_missing());
        match wrong {
            Some(child) if !child.is_error() && !child.is_missing() => node = child,
            found => {
                let row = found.unwrap_or(node).start_position().row;
                return Some(u32::try_from(row).unwrap_or(u32::MAX).saturating_add(1));
            }
        }
    }
}

/// What is written there.
pub(super) fn text_of<'a>(text: &'a str, node: Node<'_>) -> &'a str {
    text.get(node.byte_range()).unwrap_or_default()
}

/// The letter of a code in hexadecimal digits, where there is such a letter.
pub(super) fn letter_of(digits: &str) -> Option<char> {
    u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)
}
