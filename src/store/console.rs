//! What the extensions of a thread print, and their errors: for whoever writes extensions. Nothing follows from it, so it is no part
//! of the log; it lies beside it as JSON lines, and the older half of a long one goes.

use super::layout::{Layout, failed};
use crate::domain::{ThreadId, Timestamp};
use crate::ports::{Beneath, StoreError};
use serde::{Deserialize, Serialize};
use std::io::{self, Write as _};
use std::sync::{Mutex, PoisonError};

/// Bytes that are kept, and read.
const MOST: u64 = 1 << 20;

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsoleLine {
    pub at: Timestamp,
    /// The extension, by its name; empty where nobody knows whose it is.
    pub extension: String,
    /// `debug`, `info`, `warn`, `error` or `output`.
    pub level: String,
    pub text: String,
}

/// Where a thread's extensions print; one line at a time.
#[derive(Debug)]
pub struct Console(Mutex<Beneath>);

impl Console {
    #[must_use]
    pub fn new(layout: &Layout, thread: &ThreadId) -> Self {
        Self(Mutex::new(layout.thread(thread).console()))
    }

    /// Adds a line.
    ///
    /// # Errors
    /// Why it is not kept.
    pub fn print(&self, line: &ConsoleLine) -> io::Result<()> {
        let file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        let mut open = file.open_append()?;
        if open.metadata()?.len().saturating_add(text.len() as u64) > MOST {
            let whole = file.read(MOST)?.unwrap_or_default();
            let newer = whole.get(whole.len() / 2..).unwrap_or_default();
            let begins = newer.iter().position(|byte| *byte == b'\n').map_or(newer.len(), |at| at + 1);
            file.replace(newer.get(begins..).unwrap_or_default())?;
            open = file.open_append()?;
        }
        open.write_all(text.as_bytes())
    }
}

/// What the extensions of a thread printed last, the oldest first: so many lines at most. What is no line is passed over.
///
/// # Errors
/// [`StoreError::Io`].
pub fn printed(layout: &Layout, thread: &ThreadId, most: usize) -> Result<Vec<ConsoleLine>, StoreError> {
    let file = layout.thread(thread).console();
    let bytes = file.read(MOST).map_err(failed("read", &file))?.unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    let newest = lines.get(lines.len().saturating_sub(most)..).unwrap_or_default();
    Ok(newest.iter().filter_map(|line| serde_json::from_str(line).ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_lines_stay() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path(), folder.path());
        layout.prepare().unwrap();
        let id = layout.claim("chat", Timestamp(1)).unwrap();
        let console = Console::new(&layout, &id);
        assert_eq!(printed(&layout, &id, 10).unwrap(), []);
        let line = |number: u64| ConsoleLine {
            at: Timestamp(number),
            extension: "e".into(),
            level: "info".into(),
            text: format!("{number} {}", "x".repeat(4_000)),
        };
        for number in 0..600 {
            console.print(&line(number)).unwrap();
        }
        assert!(layout.thread(&id).console().path().metadata().unwrap().len() <= MOST);
        let kept = printed(&layout, &id, 1_000).unwrap();
        assert!(kept.len() > 100 && kept.len() < 300, "{}", kept.len());
        assert_eq!(kept.last(), Some(&line(599)));
        assert!(kept.is_sorted_by_key(|line| line.at));
        assert_eq!(printed(&layout, &id, 2).unwrap(), [line(598), line(599)]);
        // A line that somebody else wrote costs itself.
        let file = layout.thread(&id).console();
        file.open_append().unwrap().write_all(b"not json\n").unwrap();
        assert_eq!(printed(&layout, &id, 2).unwrap(), [line(599)]);
    }
}
