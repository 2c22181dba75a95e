//! What a command prints: shown while it comes, kept within limits, whole in a file when it is more.

use crate::ports::Beneath;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;

/// Most bytes that a model gets: the first half and the last.
const MOST: usize = 51_200;

/// Most bytes that are kept in a file.
pub(super) const MOST_SPILLED: u64 = 20 << 20;

/// Most bytes of one piece shown live.
const PIECE: usize = 8 << 10;

/// Output as it arrives.
#[derive(Debug)]
pub(super) struct Output {
    head: Vec<u8>,
    tail: Vec<u8>,
    total: u64,
    spill: Option<Beneath>,
    file: Option<File>,
    fresh: Vec<u8>,
}

impl Output {
    /// Output that goes into the file `spill` as well once it gets too long.
    pub(super) fn new(spill: Option<Beneath>) -> Self {
        Self { head: Vec::new(), tail: Vec::new(), total: 0, spill, file: None, fresh: Vec::new() }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        if self.file.is_none() && self.total <= MOST as u64 && self.total + bytes.len() as u64 > MOST as u64 {
            self.open();
        }
        self.spill(bytes);
        self.total += bytes.len() as u64;
        let room = (MOST / 2).saturating_sub(self.head.len()).min(bytes.len());
        let (head, tail) = bytes.split_at(room);
        self.head.extend_from_slice(head);
        self.tail.extend_from_slice(tail);
        if self.tail.len() > MOST {
            self.tail.drain(..self.tail.len() - MOST / 2);
        }
        self.fresh.extend_from_slice(bytes);
        if self.fresh.len() > 2 * PIECE {
            self.fresh.drain(..self.fresh.len() - PIECE);
        }
    }

    /// Makes the file and puts into it what has come so far; what comes later goes there as well.
    pub(super) fn open(&mut self) {
        let Some(path) = &self.spill else { return };
        let made = path.folder().map_or(Ok(false), |folder| folder.make_folder()).and_then(|_| path.create());
        match made {
            Ok(file) => self.file = Some(file),
            Err(error) => {
                tracing::warn!(path = %path.path().display(), %error, "output is not kept");
                self.spill = None;
            }
        }
        let so_far = [self.head.as_slice(), self.tail.as_slice()].concat();
        self.spill(&so_far);
    }

    fn spill(&mut self, bytes: &[u8]) {
        if let Some(file) = self.file.as_mut().filter(|_| self.total < MOST_SPILLED)
            && let Err(error) = file.write_all(bytes)
        {
            tracing::warn!(%error, "output is not kept");
            (self.file, self.spill) = (None, None);
        }
    }

    /// What has come since this was last asked, for people who watch. A letter that is not whole waits.
    pub(super) fn fresh(&mut self) -> String {
        let mut text = String::new();
        let mut rest = 0;
        for chunk in self.fresh.utf8_chunks() {
            text.push_str(chunk.valid());
            let end = rest + chunk.valid().len() + chunk.invalid().len();
            // Only at the end can it be the beginning of a letter.
            if end == self.fresh.len() && !chunk.invalid().is_empty() && chunk.invalid().len() < 4 {
                rest += chunk.valid().len();
                break;
            }
            if !chunk.invalid().is_empty() {
                text.push('\u{fffd}');
            }
            rest = end;
        }
        self.fresh.drain(..rest);
        text
    }

    /// What the model gets. `told` is the file's name for it.
    pub(super) fn finish(mut self, told: impl Fn(&Beneath) -> String) -> String {
        let cut = if self.total > MOST as u64 {
            self.tail.drain(..self.tail.len().saturating_sub(MOST / 2));
            self.total - (self.head.len() + self.tail.len()) as u64
        } else {
            0
        };
        let mut text = String::from_utf8_lossy(&self.head).into_owned();
        if cut > 0 {
            let place = match &self.spill {
                Some(path) if self.total > MOST_SPILLED => format!("; the first 20 MB are in `{}`", told(path)),
                Some(path) => format!("; all of it is in `{}`", told(path)),
                None => String::new(),
            };
            // Writing to a text does not fail.
            let _written = writeln!(text, "\n… {cut} bytes left out here{place} …");
        }
        text.push_str(&String::from_utf8_lossy(&self.tail));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_output_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = Beneath::new(folder.path(), "out/1.txt");
        let mut output = Output::new(Some(path.clone()));
        output.push(b"one\n");
        output.push(&vec![b'x'; 40_000]);
        let text = output.finish(|path| path.path().display().to_string());
        assert_eq!(text.len(), 40_004);
        assert!(!path.exists());
    }

    #[test]
    fn long_output_keeps_both_ends_and_says_where_the_rest_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = Beneath::new(folder.path(), "out/1.txt");
        let mut output = Output::new(Some(path.clone()));
        output.push(b"first\n");
        for number in 0..20_000 {
            output.push(format!("{number}\n").as_bytes());
        }
        output.push(b"last\n");
        let all = std::fs::read(path.path()).unwrap();
        let text = output.finish(|_| "out/1.txt".into());
        assert!(text.starts_with("first\n0\n") && text.ends_with("19999\nlast\n"));
        assert!(text.contains("bytes left out here; all of it is in `out/1.txt`"));
        assert!(text.len() < MOST + 200);
        assert!(all.starts_with(b"first\n0\n") && all.ends_with(b"last\n") && all.len() > 100_000);
    }

    #[test]
    fn a_letter_in_two_pieces_is_shown_once() {
        let mut output = Output::new(None);
        output.push(b"caf\xc3");
        assert_eq!(output.fresh(), "caf");
        output.push(b"\xa9 \xff ok");
        assert_eq!(output.fresh(), "é \u{fffd} ok");
        assert_eq!(output.finish(|_| String::new()), "café \u{fffd} ok");
    }
}
