//! Frames to the terminal: ratatui's difference, one write each.

use super::backend::{FrameBackend, Gathered};
use super::guard;
use super::tty::Tty;
use ratatui::style::Modifier;
use ratatui::{Frame, Terminal};
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

    /// Draws one frame. `view` tells where the links lead whose cells have the mark as the colour of their underline.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub fn draw(&mut self, view: impl FnOnce(&mut Frame<'_>) -> BTreeMap<u32, String>) -> io::Result<()> {
        let links = Rc::clone(&self.links);
        self.terminal.draw(|frame| *links.borrow_mut() = view(frame))?;
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
        self.frames += 1;
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
