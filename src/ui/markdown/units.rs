//! Where blocks and list items begin in a text.

use super::{OPTIONS, blank_lines};
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag};

/// A block or list item that begins in a text.
pub(super) struct Unit {
    pub(super) start: usize,
    pub(super) sort: UnitSort,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum UnitSort {
    Paragraph,
    Fenced,
    /// First item of a list, or a later one, with the number it has.
    Item {
        first: bool,
        number: Option<u64>,
    },
    Other,
}

/// The start of the first line at or after `at` that is not blank.
fn next_line(source: &str, at: usize) -> usize {
    let before = source.get(..at).unwrap_or_default();
    let at = if before.is_empty() || before.ends_with('\n') {
        at
    } else {
        source.get(at..).and_then(|rest| rest.find('\n')).map_or(source.len(), |end| at + end + 1)
    };
    at + blank_lines(source.get(at..).unwrap_or_default(), true)
}

/// The blocks of a text and the items of its lists, by the lines on which they begin.
pub(super) fn units(source: &str) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    let mut depth = 0_usize;
    let mut in_list = false;
    let mut list_number = None;
    let mut first_item = false;
    let line_start = |at: usize| source.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |end| end + 1);
    // Where the block before ended. Definitions show nothing and belong to what follows them: a paragraph that begins
    // with some would be read as something else without.
    let mut ended = 0;
    let mut add = |at: usize, ended: usize, sort: UnitSort| {
        let start = match (units.is_empty(), sort) {
            (true, _) => 0,
            (false, UnitSort::Item { first: false, .. }) => line_start(at),
            (false, _) => next_line(source, ended).min(line_start(at)),
        };
        units.push(Unit { start, sort });
    };
    for (event, range) in Parser::new_ext(source, OPTIONS).into_offset_iter() {
        match event {
            Event::Start(tag) => {
                if depth == 0 {
                    if let Tag::List(number) = &tag {
                        in_list = true;
                        first_item = true;
                        list_number = *number;
                    } else if matches!(tag, Tag::CodeBlock(CodeBlockKind::Fenced(_))) {
                        add(range.start, ended, UnitSort::Fenced);
                    } else if tag == Tag::Paragraph {
                        add(range.start, ended, UnitSort::Paragraph);
                    } else {
                        add(range.start, ended, UnitSort::Other);
                    }
                } else if depth == 1 && in_list && tag == Tag::Item {
                    add(range.start, ended, UnitSort::Item { first: first_item, number: list_number });
                    first_item = false;
                    list_number = list_number.map(|number| number.saturating_add(1));
                }
                depth += 1;
            }
            Event::End(_) => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    in_list = false;
                    ended = range.end;
                }
            }
            Event::Rule | Event::Html(_) if depth == 0 => {
                add(range.start, ended, UnitSort::Other);
                ended = range.end;
            }
            Event::Text(_)
            | Event::Code(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::Html(_)
            | Event::InlineHtml(_)
            | Event::FootnoteReference(_)
            | Event::SoftBreak
            | Event::HardBreak
            | Event::Rule
            | Event::TaskListMarker(_) => {}
        }
    }
    units
}
