//! Frames to the terminal: ratatui's difference, one write each.

use super::backend::{FrameBackend, Gathered};
use super::guard;
use super::tty::Tty;
use ratatui::Terminal;
use ratatui::buffer::Buffer;
use ratatui::layout::Position;
use ratatui::style::Modifier;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;

const BEGIN: &[u8] = b"\x1b[?2026h";
const END: &[u8] = b"\x1b[?2026l";

/// Draws frames.
#[derive(Debug)]
pub struct Screen {
    terminal: Terminal<FrameBackend>,
    gathered: Gathered,
    links: Rc<RefCell<BTreeMap<u32, String>>>,
    tty: Tty,
    /// Whether frames are wrapped so that the terminal shows each of them at once.
    synchronized: bool,
    frames: u64,
}

impl Screen {
    /// # Errors
    /// When the terminal's size cannot be learnt.
    pub fn new(tty: &Tty) -> io::Result<Self> {
        let gathered = Gathered::default();
        gathered.bytes.borrow_mut().extend_from_slice(BEGIN);
        let links = Rc::default();
        let terminal = Terminal::new(FrameBackend::new(gathered.clone(), Rc::clone(&links), tty))?;
        Ok(Self { terminal, gathered, links, tty: tty.clone(), synchronized: false, frames: 0 })
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
        // What `Terminal::draw` does, but nobody waits for the next buffer to be emptied.
        self.terminal.autoresize()?;
        let (cursor, links) = view(self.terminal.current_buffer_mut());
        *self.links.borrow_mut() = links;
        self.terminal.flush()?;
        match cursor {
            Some(position) => {
                self.terminal.show_cursor()?;
                self.terminal.set_cursor_position(position)?;
            }
            None => self.terminal.hide_cursor()?,
        }
        let written = self.write();
        self.terminal.swap_buffers();
        self.frames += 1;
        written
    }

    /// Sends the terminal what was gathered for it.
    fn write(&self) -> io::Result<()> {
        let mut bytes = self.gathered.bytes.borrow_mut();
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
        self.terminal.clear()
    }

    /// The next frame is written whole over what stands there, which may not be what was drawn.
    pub fn doubt(&mut self) {
        // Only the buffer of the coming frame can be reached: it is filled and made the one before.
        self.terminal.swap_buffers();
        for cell in &mut self.terminal.current_buffer_mut().content {
            // As nothing is ever drawn.
            cell.set_symbol("\u{2400}").modifier = Modifier::all();
        }
        self.terminal.swap_buffers();
    }

    /// Frames drawn so far.
    #[must_use]
    pub fn frames(&self) -> u64 {
        self.frames
    }
}
