//! How the workbench asks how high things are on the screen, and what it holds at the top.

use super::code::{Code, Colours};
use super::search::Search;
use super::transcript::{Block, BlockId};
use std::ops::Range;

/// Tells how high things are on the screen.
pub trait TranscriptLayout {
    /// Rows of `block` in a transcript of `width` columns.
    fn height(&mut self, block: &Block, width: u16) -> usize;

    /// Columns of the text of blocks in a transcript of `width` columns.
    fn text_width(&self, width: u16) -> u16 {
        width
    }

    /// Rows it will have when all of it is laid out, about; 0 while nothing of it is. See [`Self::is_behind`].
    fn whole_height(&mut self, block: &Block, width: u16) -> usize {
        self.height(block, width)
    }

    /// Whether some text was more than could be laid out for one frame. The next goes on with it, and heights grow.
    fn is_behind(&self) -> bool {
        false
    }

    /// A row of `block` that shows what is searched for: the first of those beyond a row, or the last before it.
    fn find(
        &mut self,
        block: &Block,
        width: u16,
        search: &Search,
        beyond: Option<usize>,
        forward: bool,
    ) -> Option<usize>;

    /// The text of `block` from one cell (row and column of the block) to another, as it was written: without marks,
    /// without the ends of rows that wrapping made, without blanks at the ends of lines.
    fn text(&mut self, block: &Block, width: u16, from: (usize, u16), to: (usize, u16)) -> String;

    /// The first finished code within these rows of `block` whose colours are not known.
    fn uncoloured(&mut self, block: &Block, width: u16, rows: Range<usize>, colours: &Colours) -> Option<Code>;
}

/// What the top row of the transcript shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// The end is at the bottom.
    Follow,
    /// Line `line` of `block` is at the top.
    At { block: BlockId, line: usize },
    /// The line `rows` rows before the end of `block` is at the top. For one that was reached from below and is not laid
    /// out whole: its end is still to come, and stays where it is looked at.
    Before { block: BlockId, rows: usize },
}

/// A place in the transcript while walking: block index and line in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub index: usize,
    pub line: usize,
}
