//! `transcript.jsonl`: appending to it, reading it forwards from an offset, and page by page from its end.
//!
//! A line is whole or it is not there: a torn last line (the process died, the disk was full) is cut off when the log
//! is opened for writing and skipped by readers. A line that does not read as an event costs only itself, and so does one
//! in a log of this person's own that their program did not write.

use super::authentic::{self, LogKey};
use super::layout::failed;
use crate::domain::{Record, ThreadId};
use crate::ports::{Beneath, StoreError, faults};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};

/// What is read at once of a log that is read as a whole, in bytes.
const WHOLE: u64 = 1 << 20;

/// No line is longer; one that is was not written here, and costs no memory.
const LONGEST_LINE: u64 = 64 << 20;

/// How much is read at a time.
const BLOCK: u64 = 64 * 1024;

/// The longest first line that is looked at to tell whose log it is: it holds the inputs of the thread's directive.
const LONGEST_FIRST: u64 = 4 << 20;

/// The log of a thread.
#[derive(Clone, Debug)]
pub struct ThreadLog {
    file: Beneath,
    id: ThreadId,
    whose: Whose,
}

#[derive(Clone, Debug)]
enum Whose {
    /// This person's: lines with a code by this key count.
    Own(LogKey),
    /// Nothing is in it yet, and no key was ever made.
    Empty,
    /// Somebody else's: its lines are shown as they are, and nothing follows from them.
    Elsewhere,
}

impl ThreadLog {
    /// Looks at the first line of `file` to tell whose it is.
    pub(super) fn find(file: Beneath, id: &ThreadId, key: Option<&LogKey>) -> Result<Self, StoreError> {
        let first = match file.open().map_err(failed("open", &file))? {
            Some(opened) => first_line(&opened).map_err(failed("read", &file))?,
            None => None,
        };
        let fits = |key: &LogKey, line: &[u8]| {
            authentic::part(line).is_some_and(|(object, code)| key.fits(id, 0, (&object, code)))
        };
        let whose = match (first, key) {
            (None, Some(key)) => Whose::Own(key.clone()),
            (None, None) => Whose::Empty,
            (Some(line), Some(key)) if fits(key, &line) => Whose::Own(key.clone()),
            (Some(_), _) => Whose::Elsewhere,
        };
        Ok(Self { file, id: id.clone(), whose })
    }

    /// Whether it has lines, and not this person's.
    #[must_use]
    pub fn is_elsewhere(&self) -> bool {
        matches!(self.whose, Whose::Elsewhere)
    }

    /// The event of a line without its end, which begins at `offset`.
    fn record(&self, offset: u64, line: &[u8]) -> Option<Record> {
        serde_json::from_slice(&self.object(offset, line)?).ok()
    }

    /// Its JSON without a code, where it counts.
    fn object(&self, offset: u64, line: &[u8]) -> Option<Vec<u8>> {
        let parted = authentic::part(line);
        match (&self.whose, parted) {
            (Whose::Own(key), Some((object, code))) if key.fits(&self.id, offset, (&object, code)) => Some(object),
            (Whose::Own(_) | Whose::Empty, _) => None,
            (Whose::Elsewhere, Some((object, _))) => Some(object),
            (Whose::Elsewhere, None) => Some(line.to_vec()),
        }
    }
}

/// The first line without its end; `None` where there is no whole line.
fn first_line(file: &File) -> std::io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let mut reader = std::io::BufReader::new(file).take(LONGEST_FIRST);
    std::io::BufRead::read_until(&mut reader, b'\n', &mut line)?;
    match line.pop() {
        Some(b'\n') => Ok(Some(line)),
        // A torn first line is no line; one that goes on and on is nobody's.
        Some(_) if line.len() as u64 + 1 >= LONGEST_FIRST => Ok(Some(Vec::new())),
        Some(_) | None => Ok(None),
    }
}

/// Appends to a log. One process at a time does.
#[derive(Debug)]
pub struct LogWriter {
    path: Beneath,
    id: ThreadId,
    key: LogKey,
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
    /// Opens or makes the log of `id` in `path`, whose lines get their codes by `key`. A torn last line is cut off and
    /// reported.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn open(path: Beneath, id: &ThreadId, key: &LogKey) -> Result<(Self, Option<Repair>), StoreError> {
        let mut file = path.open_append().map_err(failed("open", &path))?;
        let length = file.metadata().map_err(failed("look at", &path))?.len();
        let whole = whole_length(&mut file, length).map_err(failed("read", &path))?;
        let repair = (whole < length).then_some(Repair { cut_bytes: length - whole, at_offset: whole });
        if repair.is_some() {
            file.set_len(whole).map_err(failed("fix", &path))?;
        }
        Ok((Self { path, id: id.clone(), key: key.clone(), file, end: whole }, repair))
    }

    /// Appends one line and returns where it begins and where the next will.
    ///
    /// # Errors
    /// [`StoreError::Io`]; what was written of the line is cut off again.
    pub fn append(&mut self, record: &Record) -> Result<(u64, u64), StoreError> {
        let mut line = serde_json::to_vec(record).map_err(|error| StoreError::Malformed {
            what: "an event",
            path: self.path.path(),
            detail: error.to_string(),
        })?;
        self.key.seal(&self.id, self.end, &mut line);
        line.push(b'\n');
        // What could not be cut off after an earlier failure would stand before this line.
        let there = self.file.metadata().map(|meta| meta.len());
        if there.is_ok_and(|length| length > self.end) {
            self.file.set_len(self.end).map_err(failed("fix", &self.path))?;
        }
        if let Err(source) = faults::point().and_then(|()| self.file.write_all(&line)) {
            // A full disk may have taken half of it.
            let _tried_again_with_the_next = self.file.set_len(self.end);
            return Err(failed("append to", &self.path)(source));
        }
        let start = self.end;
        self.end += line.len() as u64;
        Ok((start, self.end))
    }

    /// Takes back the line at `offset`, which was the last, because it did not come on disk.
    pub fn take_back(&mut self, offset: u64) {
        self.end = offset;
        let _tried_again_with_the_next = self.file.set_len(offset);
    }

    /// Where the next line will begin.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.end
    }

    /// A function that waits until the log is on disk.
    #[must_use]
    pub fn sync(&self) -> Box<dyn FnOnce() -> Result<(), StoreError> + Send> {
        let (path, end) = (self.path.clone(), self.end);
        match self.file.try_clone() {
            Ok(file) => Box::new(move || {
                faults::point().and_then(|()| file.sync_data()).map_err(failed("sync", &path))?;
                faults::log_synced(end);
                Ok(())
            }),
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
pub struct LogPage {
    pub lines: Vec<Line>,
    /// Where the page begins; 0 when nothing lies before it.
    pub start: u64,
    /// Where the page ends.
    pub end: u64,
}

impl LogPage {
    /// A page that is one line, which is too long to be an event.
    fn of_nothing(start: u64, end: u64) -> Self {
        tracing::warn!(start, end, "a line of the log is longer than any event");
        Self { lines: vec![Line { offset: start, next_offset: end, record: None }], start, end }
    }

    /// The events of the page.
    pub fn into_records(self) -> impl Iterator<Item = Record> {
        self.lines.into_iter().filter_map(|line| line.record)
    }
}

/// Reads the whole lines that begin at `from`, about `most_bytes` of them (at least one line, where there is one).
///
/// # Errors
/// [`StoreError::Io`]. A log that is not there is empty.
pub fn read_forward(log: &ThreadLog, from: u64, most_bytes: u64) -> Result<LogPage, StoreError> {
    read_sparing(log, from, most_bytes, usize::MAX)
}

/// The same; lines of more than `largest` bytes are only measured.
///
/// # Errors
/// [`StoreError::Io`].
pub fn read_sparing(log: &ThreadLog, from: u64, most_bytes: u64, largest: usize) -> Result<LogPage, StoreError> {
    let Some(mut file) = log.open()? else { return Ok(LogPage { start: from, end: from, ..LogPage::default() }) };
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
                None if bytes.len() as u64 > LONGEST_LINE => return Ok(bytes),
                None => wanted = BLOCK,
            }
        }
    };
    let bytes = read().map_err(failed("read", &log.file))?;
    if bytes.last().is_some_and(|last| *last != b'\n') {
        let end = line_end(&mut file, from + bytes.len() as u64).map_err(failed("read", &log.file))?;
        return Ok(LogPage::of_nothing(from, end));
    }
    Ok(LogPage { end: from + bytes.len() as u64, lines: lines(log, &bytes, from, largest), start: from })
}

/// The JSON of the event in the line that begins and ends there; `None` where it is none that counts.
///
/// # Errors
/// [`StoreError::Io`].
pub fn read_line(log: &ThreadLog, offset: u64, next_offset: u64) -> Result<Option<Vec<u8>>, StoreError> {
    let Some(mut file) = log.open()? else { return Ok(None) };
    let mut line = Vec::new();
    file.seek(SeekFrom::Start(offset))
        .and_then(|_| file.take(next_offset.saturating_sub(offset).min(LONGEST_LINE)).read_to_end(&mut line))
        .map_err(failed("read", &log.file))?;
    let Some(line) = line.strip_suffix(b"\n") else { return Ok(None) };
    Ok(log.object(offset, line))
}

/// Where the line ends that goes on at `from`; the end of the file where it does not.
fn line_end(file: &mut File, from: u64) -> std::io::Result<u64> {
    file.seek(SeekFrom::Start(from))?;
    let (mut at, mut block) = (from, vec![0; usize::try_from(BLOCK).unwrap_or(0)]);
    loop {
        let got = file.read(&mut block)?;
        let read = block.get(..got).unwrap_or_default();
        match read.iter().position(|byte| *byte == b'\n') {
            Some(index) => return Ok(at + index as u64 + 1),
            None if got == 0 => return Ok(at),
            None => at += got as u64,
        }
    }
}

/// A log from its beginning to its end, page by page.
///
/// # Errors
/// [`StoreError::Io`], as the last item.
pub fn pages(log: &ThreadLog) -> impl Iterator<Item = Result<LogPage, StoreError>> {
    pages_from(log, 0)
}

/// The same from `from` on, where a line begins.
///
/// # Errors
/// [`StoreError::Io`], as the last item.
pub fn pages_from(log: &ThreadLog, from: u64) -> impl Iterator<Item = Result<LogPage, StoreError>> {
    let mut from = Some(from);
    std::iter::from_fn(move || {
        let page = read_forward(log, from?, WHOLE);
        from = page.as_ref().ok().map(|page| page.end);
        Some(page).filter(|page| page.as_ref().map_or(true, |page| !page.lines.is_empty()))
    })
}

/// Reads the whole lines that end at `before` (the end of the log without it), about `most_bytes` of them.
///
/// # Errors
/// [`StoreError::Io`]. A log that is not there is empty.
pub fn read_backward(log: &ThreadLog, before: Option<u64>, most_bytes: u64) -> Result<LogPage, StoreError> {
    let Some(mut file) = log.open()? else { return Ok(LogPage::default()) };
    let length = file.metadata().map_err(failed("look at", &log.file))?.len();
    let read = |file: &mut File| -> std::io::Result<LogPage> {
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
                    return Ok(LogPage { lines: lines(log, &bytes, first, usize::MAX), start: first, end });
                }
                None if start == 0 => return Ok(LogPage { start: 0, end, ..LogPage::default() }),
                None if wanted > LONGEST_LINE => {
                    let start = whole_length(file, end.saturating_sub(1))?;
                    return Ok(LogPage::of_nothing(start, end));
                }
                None => wanted *= 2,
            }
        }
    };
    read(&mut file).map_err(failed("read", &log.file))
}

impl ThreadLog {
    fn open(&self) -> Result<Option<File>, StoreError> {
        self.file.open().map_err(failed("open", &self.file))
    }

    /// Its bytes as they are, codes included; `None` where there is no log.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn bytes(&self) -> Result<Option<impl Read + use<>>, StoreError> {
        self.open()
    }
}

fn lines(log: &ThreadLog, bytes: &[u8], first_offset: u64, largest: usize) -> Vec<Line> {
    let mut offset = first_offset;
    let line = |line: &[u8]| {
        let start = offset;
        offset += line.len() as u64;
        let read = line.len() <= largest;
        let record = read.then(|| log.record(start, line.strip_suffix(b"\n").unwrap_or(line))).flatten();
        Line { offset: start, next_offset: offset, record }
    };
    let lines: Vec<Line> = bytes.split_inclusive(|byte| *byte == b'\n').map(line).collect();
    // Once for all: a log of garbage must not make another.
    let read = |line: &&Line| line.next_offset - line.offset <= largest as u64;
    let mut bad = lines.iter().filter(read).filter(|line| line.record.is_none());
    if let Some(first) = bad.next() {
        let count = bad.count() + 1;
        let (thread, offset) = (&log.id, first.offset);
        tracing::warn!(%thread, offset, count, "lines of the log are no events or were not written by this program");
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Event, ThreadEvent, Timestamp};
    use crate::store::Layout;
    use proptest::prelude::*;
    use std::path::PathBuf;

    fn note(text: &str) -> Record {
        let event = Event::Thread(ThreadEvent::Notice { text: text.to_owned() });
        Record { timestamp: Timestamp(1_000), thread_id: ThreadId::new("chat", 1), event }
    }

    fn texts(page: LogPage) -> Vec<String> {
        page.into_records()
            .filter_map(
                |record| if let Event::Thread(ThreadEvent::Notice { text }) = record.event { Some(text) } else { None },
            )
            .collect()
    }

    /// A thread's log in a project of its own.
    struct Bench {
        _folder: tempfile::TempDir,
        layout: Layout,
        id: ThreadId,
    }

    impl Bench {
        fn new(count: usize) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let layout = Layout::new(folder.path(), &folder.path().join("state"));
            let id = layout.claim_as(&ThreadId::new("chat", 1)).unwrap();
            let bench = Self { _folder: folder, layout, id };
            let (mut writer, repair) = bench.write();
            assert_eq!(repair, None);
            for number in 0..count {
                writer.append(&note(&number.to_string())).unwrap();
            }
            bench
        }

        fn write(&self) -> (LogWriter, Option<Repair>) {
            LogWriter::open(self.layout.thread(&self.id).log(), &self.id, self.layout.own_key().unwrap()).unwrap()
        }

        fn log(&self) -> ThreadLog {
            self.layout.log(&self.id).unwrap()
        }

        fn path(&self) -> PathBuf {
            self.layout.thread(&self.id).log().path()
        }
    }

    #[test]
    fn a_torn_line_is_cut_off_and_reported_at_every_length() {
        let bench = Bench::new(3);
        let path = bench.path();
        let whole = std::fs::read(&path).unwrap();
        let second_end = read_forward(&bench.log(), 0, 1 << 20).unwrap().lines[1].next_offset;
        for length in usize::try_from(second_end).unwrap()..whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            let (mut writer, repair) = bench.write();
            let cut = length as u64 - second_end;
            assert_eq!(repair, (cut > 0).then_some(Repair { cut_bytes: cut, at_offset: second_end }));
            writer.append(&note("new")).unwrap();
            assert_eq!(texts(read_forward(&bench.log(), 0, 1 << 20).unwrap()), ["0", "1", "new"]);
        }
    }

    #[test]
    fn a_bad_line_costs_itself() {
        let bench = Bench::new(2);
        let path = bench.path();
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.extend_from_slice(b"{\"half\": \xff\n");
        std::fs::write(&path, &bytes).unwrap();
        let (mut writer, repair) = bench.write();
        assert_eq!(repair, None);
        writer.append(&note("after")).unwrap();
        assert_eq!(texts(read_backward(&bench.log(), None, 1 << 20).unwrap()), ["0", "1", "after"]);
    }

    #[test]
    fn a_missing_log_is_empty() {
        let bench = Bench::new(0);
        std::fs::remove_file(bench.path()).unwrap();
        assert!(read_forward(&bench.log(), 0, 100).unwrap().lines.is_empty());
        assert!(read_backward(&bench.log(), None, 100).unwrap().lines.is_empty());
    }

    #[test]
    fn s04_a_line_that_somebody_else_put_in_is_passed_over() {
        let bench = Bench::new(2);
        let own = std::fs::read_to_string(bench.path()).unwrap();
        let forged = serde_json::to_string(&note("forged")).unwrap();
        let again = own.lines().next().unwrap();
        std::fs::write(bench.path(), format!("{own}{forged}\n{again}\n")).unwrap();
        let (mut writer, _) = bench.write();
        writer.append(&note("after")).unwrap();
        assert_eq!(texts(read_forward(&bench.log(), 0, 1 << 20).unwrap()), ["0", "1", "after"]);
        assert!(!bench.log().is_elsewhere());
    }

    #[test]
    fn s04_a_log_whose_first_line_is_not_ours_is_from_elsewhere() {
        let bench = Bench::new(2);
        let own = std::fs::read_to_string(bench.path()).unwrap();
        std::fs::write(bench.path(), format!("{}\n{own}", serde_json::to_string(&note("theirs")).unwrap())).unwrap();
        assert!(bench.log().is_elsewhere());
        assert_eq!(texts(read_forward(&bench.log(), 0, 1 << 20).unwrap()), ["theirs", "0", "1"]);
        let other = Layout::new(bench.layout.project(), &bench.layout.project().join("other-state"));
        std::fs::write(bench.path(), own).unwrap();
        assert!(other.log(&bench.id).unwrap().is_elsewhere(), "another person's");
    }

    proptest! {
        #[test]
        fn pages_of_any_size_make_the_whole(count in 0_usize..40, size in 1_u64..2_000) {
            let bench = Bench::new(count);
            let log = bench.log();
            let expected: Vec<String> = (0..count).map(|number| number.to_string()).collect();
            let (mut from, mut forward) = (0, Vec::new());
            loop {
                let page = read_forward(&log, from, size).unwrap();
                if page.lines.is_empty() {
                    break;
                }
                from = page.end;
                forward.extend(texts(page));
            }
            prop_assert_eq!(&forward, &expected);
            let (mut before, mut backward) = (None, Vec::new());
            loop {
                let page = read_backward(&log, before, size).unwrap();
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
