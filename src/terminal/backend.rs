//! ratatui's crossterm backend for frames that are gathered, with two answers of its own.
//!
//! ratatui asks for the cursor's position whenever it clears the screen, and crossterm finds out by asking the terminal
//! and reading the answer from the keyboard, which here has another reader already. We know the position: we set it.

use super::tty::Tty;
use ratatui::backend::{Backend, ClearType, CrosstermBackend, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};
use std::cell::RefCell;
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
    tty: Tty,
    cursor: Position,
}

impl FrameBackend {
    pub(super) fn new(gathered: Gathered, tty: &Tty) -> Self {
        Self { inner: CrosstermBackend::new(gathered), tty: tty.clone(), cursor: Position::ORIGIN }
    }
}

impl Backend for FrameBackend {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        self.inner.draw(content)
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
