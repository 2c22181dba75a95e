//! Where the person reads, and the words that are looked for.

use super::transcript::{Block, BlockId, Kind};
use regex::{Regex, RegexBuilder};
use std::ops::Range;

/// Where the person reads.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The chosen block.
    pub block: BlockId,
    /// The other end of a range.
    pub mark: Option<BlockId>,
    pub search: Option<Search>,
}

/// Words that are looked for.
#[derive(Clone, Debug, Default)]
pub struct Search {
    pub text: String,
    /// Whether letters go into it.
    pub writing: bool,
    /// Finds `text`; none while that is empty.
    pattern: Option<Regex>,
    /// The line of the chosen block that was found.
    pub(super) line: usize,
    /// Where the search began, for Esc.
    pub(super) origin: BlockId,
    /// Whether anything was found.
    pub found: bool,
}

impl Search {
    /// A search that begins at a block and is to be written.
    pub(super) fn begun_at(origin: BlockId) -> Self {
        Self { writing: true, found: true, origin, ..Self::default() }
    }

    /// Looks for other words. Upper and lower case differ only when they hold a capital.
    pub(crate) fn set(&mut self, text: String) {
        let exact = text.chars().any(char::is_uppercase);
        let pattern = RegexBuilder::new(&regex::escape(&text)).case_insensitive(!exact).build();
        // Words that are too many for a pattern are not found.
        self.pattern = pattern.ok().filter(|_| !text.is_empty());
        self.text = text;
    }

    /// Places of the words in `text`, as ranges of bytes, in order and apart.
    #[must_use]
    pub fn places(&self, text: &str) -> Vec<Range<usize>> {
        self.pattern.iter().flat_map(|pattern| pattern.find_iter(text)).map(|found| found.range()).collect()
    }

    /// Whether the words are in `text`.
    #[must_use]
    pub fn is_found_in(&self, text: &str) -> bool {
        self.pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
    }

    /// The same, also across marks of Markdown and ends of lines, unless the text of which this is a part has more than
    /// `LENIENT_MOST` bytes: that would take too long.
    #[must_use]
    pub fn is_found_in_markdown(&self, text: &str, whole: usize) -> bool {
        const LENIENT_MOST: usize = 256 << 10;
        let bare = || text.chars().filter(|letter| !matches!(letter, '*' | '_' | '`' | '~'));
        let joined = || bare().map(|letter| if letter == '\n' { ' ' } else { letter }).collect::<String>();
        self.is_found_in(text) || (whole <= LENIENT_MOST && self.is_found_in(&joined()))
    }

    pub(super) fn is_in(&self, block: &Block) -> bool {
        match &block.kind {
            Kind::Answer(answer) => self.is_found_in_markdown(&answer.text, answer.text.len()),
            Kind::Thinking(thinking) => self.is_found_in_markdown(&thinking.text, thinking.text.len()),
            Kind::Prompt(_) | Kind::Tool(_) | Kind::Marker(_) => {
                block.texts().iter().any(|text| self.is_found_in(text))
            }
        }
    }
}

impl Block {
    /// Everything it says, folded or not.
    fn texts(&self) -> Vec<&str> {
        match &self.kind {
            Kind::Prompt(prompt) => vec![&prompt.text],
            Kind::Answer(answer) => vec![&answer.text],
            Kind::Thinking(thinking) => vec![&thinking.text],
            Kind::Tool(tool) => vec![&tool.name, &tool.main, &tool.input, &tool.output],
            Kind::Marker(marker) => vec![&marker.text],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(wanted: &str, text: &str) -> Vec<Range<usize>> {
        let mut search = Search::default();
        search.set(wanted.into());
        search.places(text)
    }

    #[test]
    fn small_letters_find_capitals_and_capitals_only_themselves() {
        assert_eq!(places("ab", "ab AB aB"), [0..2, 3..5, 6..8]);
        assert_eq!(places("AB", "ab AB aB AB"), [3..5, 9..11]);
        assert_eq!(places("é", "É漢é"), [0..2, 5..7]);
        assert!(places("", "abc").is_empty());
        assert!(places("abcd", "abc").is_empty());
        assert_eq!(places("a.b(", "axb( a.b( A.B("), [5..9, 10..14], "signs mean themselves");
    }
}
