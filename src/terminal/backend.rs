//! Cells as the terminal is sent them: by ratatui's crossterm backend, gathered for one write, with the links of cells.

use ratatui::backend::{Backend as _, CrosstermBackend};
use ratatui::buffer::Cell;
use ratatui::layout::Position;
use ratatui::style::Color;
use std::cell::{RefCell, RefMut};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::rc::Rc;

/// Collects what the backend writes. It flushes several times a frame; the terminal is to get one write.
#[derive(Clone, Debug, Default)]
struct Gathered(Rc<RefCell<Vec<u8>>>);

impl Write for Gathered {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Gathers frames.
#[derive(Debug)]
pub(super) struct FrameBackend {
    inner: CrosstermBackend<Gathered>,
    gathered: Gathered,
}

impl FrameBackend {
    /// Before all that is gathered stands `opening`.
    pub(super) fn new(opening: &[u8]) -> Self {
        let gathered = Gathered(Rc::new(RefCell::new(opening.to_vec())));
        Self { inner: CrosstermBackend::new(gathered.clone()), gathered }
    }

    /// What was gathered.
    pub(super) fn bytes(&self) -> RefMut<'_, Vec<u8>> {
        self.gathered.0.borrow_mut()
    }

    /// Writes cells. Those with the mark of a link in the colour of their underline stand between the sequences of it.
    pub(super) fn draw<'cell>(
        &mut self,
        content: impl Iterator<Item = (u16, u16, &'cell Cell)>,
        links: &BTreeMap<u32, String>,
    ) -> io::Result<()> {
        if links.is_empty() {
            return self.inner.draw(content);
        }
        // Cells of one link that are written after each other stand within one pair of sequences.
        let mut run: Vec<(u16, u16, Cell)> = Vec::new();
        let mut link = None;
        for (x, y, cell) in content {
            let mut cell = cell.clone();
            let own = mark(std::mem::replace(&mut cell.underline_color, Color::Reset));
            if own != link {
                self.draw_run(&run, link.and_then(|mark| Some((mark, links.get(&mark)?.as_str()))))?;
                run.clear();
                link = own;
            }
            run.push((x, y, cell));
        }
        self.draw_run(&run, link.and_then(|mark| Some((mark, links.get(&mark)?.as_str()))))
    }

    /// Writes cells, as a link when they are one. Its id makes one link of all its rows.
    fn draw_run(&mut self, run: &[(u16, u16, Cell)], link: Option<(u32, &str)>) -> io::Result<()> {
        if run.is_empty() {
            return Ok(());
        }
        if let Some((mark, target)) = link {
            write!(self.gathered, "\x1b]8;id={mark:x};{target}\x1b\\")?;
        }
        self.inner.draw(run.iter().map(|(x, y, cell)| (*x, *y, cell)))?;
        if link.is_some() {
            self.gathered.write_all(b"\x1b]8;;\x1b\\")?;
        }
        Ok(())
    }

    /// Puts the cursor there, or hides it.
    pub(super) fn put_cursor(&mut self, cursor: Option<Position>) -> io::Result<()> {
        let Some(position) = cursor else { return self.inner.hide_cursor() };
        self.inner.show_cursor()?;
        self.inner.set_cursor_position(position)
    }

    /// Empties the screen.
    pub(super) fn clear(&mut self) -> io::Result<()> {
        self.inner.clear()
    }
}

/// The mark of a cell's link.
fn mark(underline: Color) -> Option<u32> {
    if let Color::Rgb(red, green, blue) = underline { Some(u32::from_be_bytes([0, red, green, blue])) } else { None }
}
