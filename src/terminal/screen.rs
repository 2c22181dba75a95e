//! Frames to the terminal: what differs from the one before, one write each.
//!
//! ratatui's `Terminal` is not used: nobody is to wait until its next buffer is emptied, and the buffer of what is shown,
//! which has to be doubted at times, cannot be reached in it.

use super::backend::FrameBackend;
use super::guard;
use super::tty::Tty;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Modifier;
use std::collections::BTreeMap;
use std::io;

const BEGIN: &[u8] = b"\x1b[?2026h";
const END: &[u8] = b"\x1b[?2026l";

/// Draws frames.
#[derive(Debug)]
pub struct Screen {
    backend: FrameBackend,
    tty: Tty,
    /// What stands on the screen.
    shown: Buffer,
    /// Where the next frame is drawn: empty between two frames.
    next: Buffer,
    /// Whether frames are wrapped so that the terminal shows each of them at once.
    synchronized: bool,
    frames: u64,
}

impl Screen {
    /// # Errors
    /// When the terminal's size cannot be learnt.
    pub fn new(tty: &Tty) -> io::Result<Self> {
        let (columns, rows) = tty.size()?;
        let empty = Buffer::empty(Rect::new(0, 0, columns, rows));
        let backend = FrameBackend::new(BEGIN);
        Ok(Self { backend, tty: tty.clone(), shown: empty.clone(), next: empty, synchronized: false, frames: 0 })
    }

    /// The terminal said that it knows synchronized output.
    pub fn synchronize(&mut self) {
        self.synchronized = true;
    }

    /// Draws one frame. `view` tells where the cursor stands, if it is to be seen, and where the links lead whose cells have
    /// the mark as the colour of their underline.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub fn draw(
        &mut self,
        view: impl FnOnce(&mut Buffer) -> (Option<Position>, BTreeMap<u32, String>),
    ) -> io::Result<()> {
        self.fit()?;
        let (cursor, links) = view(&mut self.next);
        self.gather(&links)?;
        self.backend.put_cursor(cursor)?;
        let written = self.write();
        std::mem::swap(&mut self.shown, &mut self.next);
        self.next.reset();
        self.frames += 1;
        written
    }

    /// Takes on the terminal's size.
    fn fit(&mut self) -> io::Result<()> {
        let (columns, rows) = self.tty.size()?;
        let area = Rect::new(0, 0, columns, rows);
        if area != self.next.area {
            self.shown.resize(area);
            self.next.resize(area);
            self.forget()?;
        }
        Ok(())
    }

    /// Gathers what differs. A letter that is typed changes the last rows alone: the others are only compared.
    fn gather(&mut self, links: &BTreeMap<u32, String>) -> io::Result<()> {
        let area = self.next.area;
        let row = first_different(&self.shown, &self.next);
        if row <= area.height / 2 {
            return self.backend.draw(self.shown.diff_iter(&self.next), links);
        }
        let (shown, next) = (rows_from(row, &mut self.shown), rows_from(row, &mut self.next));
        let gathered = self.backend.draw(shown.diff_iter(&next), links);
        self.shown.content.extend(shown.content);
        self.next.content.extend(next.content);
        gathered
    }

    /// Sends the terminal what was gathered for it.
    fn write(&self) -> io::Result<()> {
        let mut bytes = self.backend.bytes();
        let from = if self.synchronized {
            bytes.extend_from_slice(END);
            0
        } else {
            BEGIN.len()
        };
        let written = guard::write_frame(&self.tty, bytes.get(from..).unwrap_or_default());
        // The next frame is gathered behind its opening.
        bytes.truncate(BEGIN.len());
        bytes.shrink_to(1 << 16);
        written
    }

    /// The next frame is drawn from nothing.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub fn forget(&mut self) -> io::Result<()> {
        self.shown.reset();
        self.backend.clear()
    }

    /// The next frame is written whole over what stands there, which may not be what was drawn.
    pub fn doubt(&mut self) {
        for cell in &mut self.shown.content {
            // As nothing is ever drawn.
            cell.set_symbol("\u{2400}").modifier = Modifier::all();
        }
    }

    /// Frames drawn so far.
    #[must_use]
    pub fn frames(&self) -> u64 {
        self.frames
    }
}

/// The first row in which two buffers of one size differ; their height where none does.
fn first_different(one: &Buffer, other: &Buffer) -> u16 {
    let width = usize::from(one.area.width).max(1);
    let mut rows = one.content.chunks(width).zip(other.content.chunks(width));
    let row = rows.position(|(one, other)| one != other).and_then(|row| u16::try_from(row).ok());
    row.unwrap_or(one.area.height)
}

/// Takes the rows from `row` on out of a buffer.
fn rows_from(row: u16, buffer: &mut Buffer) -> Buffer {
    let Rect { x, width, height, .. } = buffer.area;
    let content = buffer.content.split_off(usize::from(row) * usize::from(width));
    Buffer { area: Rect { x, y: row, width, height: height - row }, content }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_differs_is_found_in_the_last_rows_as_in_all(
            before in prop::collection::vec("[a-c 漢é]{0,8}", 9),
            after in prop::collection::vec("[a-c 漢é]{0,8}", 9),
            same in 0usize..=9,
        ) {
            let area = Rect::new(0, 0, 9, 9);
            let (mut one, mut other) = (Buffer::empty(area), Buffer::empty(area));
            for (row, y) in (0..9u16).enumerate() {
                one.set_string(0, y, &before[row], Modifier::BOLD);
                other.set_string(0, y, if row < same { &before[row] } else { &after[row] }, Modifier::BOLD);
            }
            let expected: Vec<_> = one.diff_iter(&other).map(|(x, y, cell)| (x, y, cell.clone())).collect();
            let row = first_different(&one, &other);
            prop_assert!(expected.iter().all(|(_, y, _)| *y >= row));
            let (one, other) = (rows_from(row, &mut one), rows_from(row, &mut other));
            let found: Vec<_> = one.diff_iter(&other).map(|(x, y, cell)| (x, y, cell.clone())).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
