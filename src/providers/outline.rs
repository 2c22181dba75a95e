//! Where things stand in a YAML text. The YAML reader gives values without lines, so the lines are found by
//! indentation; in a text written in another style they are a little less exact.

use std::ops::Range;

/// The lines of a text. Line numbers here count from 0.
#[derive(Debug)]
pub(crate) struct Outline<'a> {
    lines: Vec<&'a str>,
}

impl<'a> Outline<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { lines: text.lines().collect() }
    }

    pub(crate) fn all(&self) -> Range<usize> {
        0..self.lines.len()
    }

    /// The lines of `range` as one text.
    pub(crate) fn text(&self, range: Range<usize>) -> String {
        self.lines.get(range).unwrap_or_default().join("\n")
    }

    /// The line within `range` that holds the key `key`, or else its first line.
    pub(crate) fn line_of(&self, key: &str, range: &Range<usize>) -> usize {
        self.find(key, range).unwrap_or(range.start)
    }

    /// The entries of the list below `key`, each with all its lines.
    pub(crate) fn items(&self, key: &str, range: &Range<usize>) -> Vec<Range<usize>> {
        let Some(start) = self.find(key, range).map(|line| line + 1) else { return Vec::new() };
        let is_item = |line: &str| line.trim_start() == "-" || line.trim_start().starts_with("- ");
        let Some(first) = (start..range.end).find(|line| self.lines.get(*line).is_some_and(|line| is_item(line)))
        else {
            return Vec::new();
        };
        let depth = indent(self.lines.get(first).unwrap_or(&""));
        let mut items: Vec<Range<usize>> = Vec::new();
        for number in first..range.end {
            let line = self.lines.get(number).copied().unwrap_or_default();
            let blank = line.trim().is_empty() || line.trim_start().starts_with('#');
            if !blank && indent(line) == depth && is_item(line) {
                items.push(number..number + 1);
            } else if !blank && indent(line) <= depth {
                break;
            } else if let Some(last) = items.last_mut() {
                last.end = number + 1;
            }
        }
        items
    }

    fn find(&self, key: &str, range: &Range<usize>) -> Option<usize> {
        let is_key = |at: &str| at.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(':'));
        let line = |number: &usize| self.lines.get(*number).copied().unwrap_or_default();
        let in_block = range.clone().find(|number| is_key(line(number).trim_start_matches([' ', '-'])));
        // `{ a: 1, key: 2 }`
        let in_braces = |line: &str| line.split(['{', ',']).skip(1).any(|at| is_key(at.trim_start()));
        in_block.or_else(|| range.clone().find(|number| in_braces(line(number))))
    }
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_found_at_their_depth() {
        let text = "name: x\nreplies:\n  # first\n  - when: {}\n    steps:\n      - text: |\n          - not an item\n      - cut\n\n  - steps:\n    - hang\nafter: 1\n";
        let outline = Outline::new(text);
        let replies = outline.items("replies", &outline.all());
        assert_eq!(replies, [3..9, 9..11]);
        assert_eq!(outline.items("steps", &replies[0]), [5..7, 7..9]);
        assert_eq!(outline.items("steps", &replies[1]).first(), Some(&(10..11)));
        assert_eq!(outline.line_of("when", &replies[0]), 3);
        assert!(outline.items("nothing", &outline.all()).is_empty());
    }
}
