//! `transcript.jsonl`: appending to it, reading it forwards from an offset, and page by page from its end.
//!
//! A line is whole or it is not there: a torn last line (the process died, the disk was full) is cut off when the log
//! is opened for writing and skipped by readers. A line that does not read as an event costs only itself.

use crate::domain::Record;
use crate::ports::StoreError;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

fn failed(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> StoreError {
    move |source| StoreError::Io { doing, path: path.to_owned(), source }
}

/// What is read at once of a log that is read as a whole, in bytes.
const WHOLE: u64 = 1 << 20;

/// How much is read at a time.
const BLOCK: u64 = 64 * 1024;

/// Appends to a log. One process at a time does.
#[derive(Debug)]
pub struct LogWriter {
    path: PathBuf,
    file: File,
    end: u64,
}

/// What was cut off a log with a torn last line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repair {
    pub cut_bytes: u64,
    pub at_offset: u64,
}

impl LogWriter {
    /// Opens or makes the log. A torn last line is cut off and reported.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn open(path: &Path) -> Result<(Self, Option<Repair>), StoreError> {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        let mut file = options.open(path).map_err(failed("open", path))?;
        let length = file.metadata().map_err(failed("look at", path))?.len();
        let whole = whole_length(&mut file, length).map_err(failed("read", path))?;
        let repair = (whole < length).then_some(Repair { cut_bytes: length - whole, at_offset: whole });
        if repair.is_some() {
            file.set_len(whole).map_err(failed("mend", path))?;
        }
        Ok((Self { path: path.to_owned(), file, end: whole }, repair))
    }

    /// Appends one line and returns where it begins and where the next will.
    ///
    /// # Errors
    /// [`StoreError::Io`]; what was written of the line is cut off again.
    pub fn append(&mut self, record: &Record) -> Result<(u64, u64), StoreError> {
        let mut line = serde_json::to_vec(record).map_err(|error| StoreError::Malformed {
            what: "an event",
            path: self.path.clone(),
            detail: error.to_string(),
        })?;
        line.push(b'\n');
        if let Err(source) = self.file.write_all(&line) {
            // A full disk may have taken half of it.
            let _may_fail_too = self.file.set_len(self.end);
            return Err(StoreError::Io { doing: "append to", path: self.path.clone(), source });
        }
        let start = self.end;
        self.end += line.len() as u64;
        Ok((start, self.end))
    }

    /// Where the next line will begin.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.end
    }

    /// A function that waits until the log is on disk.
    #[must_use]
    pub fn sync(&self) -> Box<dyn FnOnce() -> Result<(), StoreError> + Send> {
        let path = self.path.clone();
        match self.file.try_clone() {
            Ok(file) => Box::new(move || file.sync_data().map_err(failed("sync", &path))),
            Err(error) => Box::new(move || Err(failed("sync", &path)(error))),
        }
    }
}

/// Length of the part of a file that ends with a whole line.
fn whole_length(file: &mut File, length: u64) -> std::io::Result<u64> {
    let mut end = length;
    let mut block = Vec::new();
    while end > 0 {
        let start = end.saturating_sub(BLOCK);
        file.seek(SeekFrom::Start(start))?;
        block.resize(usize::try_from(end - start).unwrap_or(0), 0);
        file.read_exact(&mut block)?;
        if let Some(index) = block.iter().rposition(|byte| *byte == b'\n') {
            return Ok(start + index as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

/// A line of a log and where it lies.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    pub offset: u64,
    pub next_offset: u64,
    /// `None` for a line that does not read as an event.
    pub record: Option<Record>,
}

/// A part of a log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    pub lines: Vec<Line>,
    /// Where the page begins; 0 when nothing lies before it.
    pub start: u64,
    /// Where the page ends.
    pub end: u64,
}

impl Page {
    /// The events of the page.
    pub fn into_records(self) -> impl Iterator<Item = Record> {
        self.lines.into_iter().filter_map(|line| line.record)
    }
}

/// Reads the whole lines that begin at `from`, about `most_bytes` of them (at least one line, where there is one).
///
/// # Errors
/// [`StoreError::Io`]. A log that is not there is empty.
pub fn read_forward(path: &Path, from: u64, most_bytes: u64) -> Result<Page, StoreError> {
    let Some(mut file) = open(path)? else { return Ok(Page { start: from, end: from, ..Page::default() }) };
    let mut read = || -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(from))?;
        let mut wanted = most_bytes.max(1);
        loop {
            let known = bytes.len();
            let got = Read::by_ref(&mut file).take(wanted).read_to_end(&mut bytes)?;
            let fresh = bytes.get(known..).unwrap_or_default();
            match fresh.iter().rposition(|byte| *byte == b'\n') {
                Some(index) => {
                    bytes.truncate(known + index + 1);
                    return Ok(bytes);
                }
                None if got == 0 => return Ok(Vec::new()),
                None => wanted = BLOCK,
            }
        }
    };
    let bytes = read().map_err(failed("read", path))?;
    Ok(Page { end: from + bytes.len() as u64, lines: lines(&bytes, from), start: from })
}

/// A log from its beginning to its end, page by page.
///
/// # Errors
/// [`StoreError::Io`], as the last item.
pub fn pages(path: &Path) -> impl Iterator<Item = Result<Page, StoreError>> {
    let mut from = Some(0);
    std::iter::from_fn(move || {
        let page = read_forward(path, from?, WHOLE);
        from = page.as_ref().ok().map(|page| page.end);
        Some(page).filter(|page| page.as_ref().map_or(true, |page| !page.lines.is_empty()))
    })
}

/// Reads the whole lines that end at `before` (the end of the log without it), about `most_bytes` of them.
///
/// # Errors
/// [`StoreError::Io`]. A log that is not there is empty.
pub fn read_backward(path: &Path, before: Option<u64>, most_bytes: u64) -> Result<Page, StoreError> {
    let Some(mut file) = open(path)? else { return Ok(Page::default()) };
    let length = file.metadata().map_err(failed("look at", path))?.len();
    let read = |file: &mut File| -> std::io::Result<Page> {
        let end = whole_length(file, before.unwrap_or(length).min(length))?;
        let mut wanted = most_bytes.max(1);
        loop {
            let start = end.saturating_sub(wanted);
            file.seek(SeekFrom::Start(start))?;
            let mut bytes = vec![0; usize::try_from(end - start).unwrap_or(0)];
            file.read_exact(&mut bytes)?;
            // The first line is whole only at the very beginning.
            let skip = if start == 0 { Some(0) } else { bytes.iter().position(|byte| *byte == b'\n').map(|at| at + 1) };
            match skip.filter(|skip| *skip < bytes.len()) {
                Some(skip) => {
                    bytes.drain(..skip);
                    let first = start + skip as u64;
                    return Ok(Page { lines: lines(&bytes, first), start: first, end });
                }
                None if start == 0 => return Ok(Page { start: 0, end, ..Page::default() }),
                None => wanted *= 2,
            }
        }
    };
    read(&mut file).map_err(failed("read", path))
}

fn open(path: &Path) -> Result<Option<File>, StoreError> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed("open", path)(error)),
    }
}

fn lines(bytes: &[u8], first_offset: u64) -> Vec<Line> {
    let mut offset = first_offset;
    bytes
        .split_inclusive(|byte| *byte == b'\n')
        .map(|line| {
            let start = offset;
            offset += line.len() as u64;
            let record = serde_json::from_slice(line)
                .inspect_err(|error| tracing::warn!(start, %error, "a line of the log does not read as an event"))
                .ok();
            Line { offset: start, next_offset: offset, record }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Event, ThreadId, Timestamp};
    use proptest::prelude::*;

    fn note(text: &str) -> Record {
        let event = Event::Notice { text: text.to_owned() };
        Record { timestamp: Timestamp(1_000), thread_id: ThreadId::new("chat", 1), event }
    }

    fn texts(page: Page) -> Vec<String> {
        page.into_records()
            .filter_map(|record| if let Event::Notice { text } = record.event { Some(text) } else { None })
            .collect()
    }

    fn log_of(count: usize) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("transcript.jsonl");
        let (mut writer, repair) = LogWriter::open(&path).unwrap();
        assert_eq!(repair, None);
        for number in 0..count {
            writer.append(&note(&number.to_string())).unwrap();
        }
        (folder, path)
    }

    #[test]
    fn a_torn_line_is_cut_off_and_reported_at_every_length() {
        let (_folder, path) = log_of(3);
        let whole = std::fs::read(&path).unwrap();
        let second_end = read_forward(&path, 0, 1 << 20).unwrap().lines[1].next_offset;
        for length in usize::try_from(second_end).unwrap()..whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            let (mut writer, repair) = LogWriter::open(&path).unwrap();
            let cut = length as u64 - second_end;
            assert_eq!(repair, (cut > 0).then_some(Repair { cut_bytes: cut, at_offset: second_end }));
            writer.append(&note("new")).unwrap();
            assert_eq!(texts(read_forward(&path, 0, 1 << 20).unwrap()), ["0", "1", "new"]);
        }
    }

    #[test]
    fn a_bad_line_costs_itself() {
        let (_folder, path) = log_of(2);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.extend_from_slice(b"{\"half\": \xff\n");
        std::fs::write(&path, &bytes).unwrap();
        let (mut writer, repair) = LogWriter::open(&path).unwrap();
        assert_eq!(repair, None);
        writer.append(&note("after")).unwrap();
        assert_eq!(texts(read_backward(&path, None, 1 << 20).unwrap()), ["0", "1", "after"]);
    }

    #[test]
    fn a_missing_log_is_empty() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("none");
        assert!(read_forward(&path, 0, 100).unwrap().lines.is_empty());
        assert!(read_backward(&path, None, 100).unwrap().lines.is_empty());
    }

    proptest! {
        #[test]
        fn pages_of_any_size_make_the_whole(count in 0_usize..40, size in 1_u64..2_000) {
            let (_folder, path) = log_of(count);
            let expected: Vec<String> = (0..count).map(|number| number.to_string()).collect();
            let (mut from, mut forward) = (0, Vec::new());
            loop {
                let page = read_forward(&path, from, size).unwrap();
                if page.lines.is_empty() {
                    break;
                }
                from = page.end;
                forward.extend(texts(page));
            }
            prop_assert_eq!(&forward, &expected);
            let (mut before, mut backward) = (None, Vec::new());
            loop {
                let page = read_backward(&path, before, size).unwrap();
                before = Some(page.start);
                let done = page.start == 0;
                let mut older = texts(page);
                older.append(&mut backward);
                backward = older;
                if done {
                    break;
                }
            }
            prop_assert_eq!(&backward, &expected);
        }
    }
}
