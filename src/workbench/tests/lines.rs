//! A transcript in which a line of text is a row.

use super::*;
use crate::workbench::code::{Code, CodeId, Colours};
use std::ops::Range;

pub(super) struct Lines;

impl TranscriptLayout for Lines {
    fn height(&mut self, block: &Block, _width: u16) -> usize {
        match &block.kind {
            Kind::Answer(answer) => answer.text.lines().count() + 1,
            Kind::Prompt(prompt) => prompt.text.lines().count() + 1,
            Kind::Thinking(_) | Kind::Tool(_) | Kind::Marker(_) => 1,
        }
    }

    fn find(&mut self, block: &Block, _: u16, search: &Search, beyond: Option<usize>, forward: bool) -> Option<usize> {
        let text = match &block.kind {
            Kind::Answer(answer) => &answer.text,
            Kind::Prompt(prompt) => &prompt.text,
            Kind::Tool(tool) if block.open => &tool.output,
            Kind::Thinking(_) | Kind::Tool(_) | Kind::Marker(_) => return None,
        };
        let is_beyond = |row: &usize| beyond.is_none_or(|beyond| if forward { *row > beyond } else { *row < beyond });
        let lines = text.lines().enumerate().filter(|(_, line)| search.is_found_in(line));
        let mut rows = lines.map(|(line, _)| line + 1).filter(is_beyond).collect::<Vec<_>>().into_iter();
        if forward { rows.next() } else { rows.next_back() }
    }

    fn text(&mut self, _block: &Block, _width: u16, from: (usize, u16), to: (usize, u16)) -> String {
        format!("{from:?}-{to:?}")
    }

    /// An answer that ends with a whole fence is code from its first line on.
    fn uncoloured(&mut self, block: &Block, _width: u16, rows: Range<usize>, colours: &Colours) -> Option<Code> {
        let Kind::Answer(answer) = &block.kind else { return None };
        let text = answer.text.strip_suffix("\n```").filter(|_| !rows.is_empty())?;
        let code = Code { id: CodeId::of("x", text), language: "x".into(), text: text.into() };
        colours.of(code.id).is_none().then_some(code)
    }
}

/// The same, of which no more than so many rows of a block are laid out yet.
pub(super) struct Slowly(pub(super) usize);

impl TranscriptLayout for Slowly {
    fn height(&mut self, block: &Block, width: u16) -> usize {
        Lines.height(block, width).min(self.0)
    }

    fn whole_height(&mut self, block: &Block, width: u16) -> usize {
        Lines.height(block, width)
    }

    fn is_behind(&self) -> bool {
        true
    }

    fn find(&mut self, block: &Block, width: u16, search: &Search, at: Option<usize>, forward: bool) -> Option<usize> {
        Lines.find(block, width, search, at, forward)
    }

    fn text(&mut self, block: &Block, width: u16, from: (usize, u16), to: (usize, u16)) -> String {
        Lines.text(block, width, from, to)
    }

    fn uncoloured(&mut self, block: &Block, width: u16, rows: Range<usize>, colours: &Colours) -> Option<Code> {
        Lines.uncoloured(block, width, rows, colours)
    }
}
