//! ratatui's crossterm backend for frames that are gathered, with two answers of its own.
//!
//! ratatui asks for the cursor's position whenever it clears the screen, and crossterm finds out by asking the terminal
//! and reading the answer from the keyboard, which here has another reader already. We know the position: we set it.

use super::tty::Tty;
use ratatui::backend::{Backend, ClearType, CrosstermBackend, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};
use ratatui::style::Color;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::rc::Rc;

/// Collects what ratatui writes. It flushes several times a frame; the terminal is to get one write.
#[derive(Clone, Debug, Default)]
pub(super) struct Gathered {
    pub(super) bytes: Rc<RefCell<Vec<u8>>>,
}

impl Write for Gathered {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Draws into [`Gathered`].
#[derive(Debug)]
pub(super) struct FrameBackend {
    inner: CrosstermBackend<Gathered>,
    gathered: Gathered,
    /// Where links lead, by the marks of their cells.
    links: Rc<RefCell<BTreeMap<u32, String>>>,
    tty: Tty,
    cursor: Position,
}

impl FrameBackend {
    pub(super) fn new(gathered: Gathered, links: Rc<RefCell<BTreeMap<u32, String>>>, tty: &Tty) -> Self {
        Self {
            inner: CrosstermBackend::new(gathered.clone()),
            gathered,
            links,
            tty: tty.clone(),
            cursor: Position::ORIGIN,
        }
    }
}

impl FrameBackend {
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
}

/// The mark of a cell's link.
fn mark(underline: Color) -> Option<u32> {
    if let Color::Rgb(red, green, blue) = underline { Some(u32::from_be_bytes([0, red, green, blue])) } else { None }
}

impl Backend for FrameBackend {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let links = Rc::clone(&self.links);
        let links = links.borrow();
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

    fn hide_cursor(&mut self) -> io::Result<()> {
        self.inner.hide_cursor()
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        self.inner.show_cursor()
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(self.cursor)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        self.cursor = position.into();
        self.inner.set_cursor_position(self.cursor)
    }

    fn clear(&mut self) -> io::Result<()> {
        self.inner.clear()
    }

    fn clear_region(&mut self, clear_type: ClearType) -> io::Result<()> {
        self.inner.clear_region(clear_type)
    }

    fn size(&self) -> io::Result<Size> {
        let (columns, rows) = self.tty.size()?;
        Ok(Size::new(columns, rows))
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize { columns_rows: self.size()?, pixels: Size::new(0, 0) })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
