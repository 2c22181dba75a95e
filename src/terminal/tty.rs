//! The terminal's two ends.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

/// The terminal as two files: where keys come from and where frames go. Standard input and output where they are a
/// terminal, `/dev/tty` otherwise.
#[derive(Clone, Debug)]
pub struct Tty {
    input: Arc<File>,
    output: Arc<File>,
}

impl Tty {
    /// One that writes into a file.
    #[cfg(test)]
    pub(super) fn into_file(file: &Arc<File>) -> Self {
        Self { input: Arc::clone(file), output: Arc::clone(file) }
    }

    /// Finds the terminal.
    ///
    /// # Errors
    /// When there is none.
    pub fn open() -> io::Result<Self> {
        Ok(Self { input: Arc::new(end(io::stdin())?), output: Arc::new(end(io::stdout())?) })
    }

    /// Where keys come from.
    #[must_use]
    pub fn input(&self) -> Arc<File> {
        Arc::clone(&self.input)
    }

    /// Where frames go.
    #[must_use]
    pub fn output(&self) -> Arc<File> {
        Arc::clone(&self.output)
    }

    /// Columns and rows.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub fn size(&self) -> io::Result<(u16, u16)> {
        let size = rustix::termios::tcgetwinsize(&*self.output)?;
        // A terminal nobody told its size has none.
        Ok(if size.ws_col == 0 || size.ws_row == 0 { (80, 24) } else { (size.ws_col, size.ws_row) })
    }
}

fn end(standard: impl AsFd) -> io::Result<File> {
    let descriptor = standard.as_fd();
    if rustix::termios::isatty(descriptor) {
        return Ok(File::from(descriptor.try_clone_to_owned()?));
    }
    OpenOptions::new().read(true).write(true).open("/dev/tty")
}
