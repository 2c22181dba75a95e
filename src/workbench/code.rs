//! Code in the transcript and its colours. Which word is a keyword is worked out elsewhere, because it takes long; the
//! answer comes back as a message, and until then code is drawn in one colour.

use serde::{Deserialize, Serialize};
use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Bytes of colours that are kept; the oldest go first.
const KEPT: usize = 512 << 10;

/// An answer that arrives with more bytes a second than this gets no colours before it pauses: it is not read, and what
/// works out colours would take time from what draws.
const READABLE: usize = 1_000;

/// Names a piece of code by what it says: the same code has the same colours wherever it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CodeId(u64);

impl CodeId {
    /// The name of `text` written in `language`.
    #[must_use]
    pub fn of(language: &str, text: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        (language, text).hash(&mut hasher);
        Self(hasher.finish())
    }
}

/// A finished piece of code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    pub id: CodeId,
    /// As it was written above the code, such as `rust` or `py`.
    pub language: String,
    pub text: String,
}

/// What a piece of code is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CodeKind {
    Keyword,
    String,
    Comment,
    Number,
    Type,
    Function,
    /// A line of a difference that came, or went.
    Added,
    Removed,
}

/// What the pieces of some code are, line by line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Colouring {
    /// Lengths in bytes. What a line has beyond its runs is nothing in particular.
    runs: Vec<(u32, Option<CodeKind>)>,
    /// Where the runs of each line end.
    lines: Vec<u32>,
}

impl Colouring {
    /// Adds a run to the line being written.
    pub fn put(&mut self, bytes: usize, kind: Option<CodeKind>) {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let begun = self.runs.len() > self.lines.last().map_or(0, |end| *end as usize);
        match self.runs.last_mut().filter(|(_, known)| begun && *known == kind) {
            Some((length, _)) => *length = length.saturating_add(bytes),
            None if bytes > 0 => self.runs.push((bytes, kind)),
            None => {}
        }
    }

    pub fn end_line(&mut self) {
        self.lines.push(u32::try_from(self.runs.len()).unwrap_or(u32::MAX));
    }

    /// The runs of a line, counted from 0.
    #[must_use]
    pub fn line(&self, line: usize) -> &[(u32, Option<CodeKind>)] {
        let end_of = |line: usize| self.lines.get(line).map(|end| *end as usize);
        let start = line.checked_sub(1).map_or(Some(0), end_of);
        let range = start.zip(end_of(line)).map(|(start, end)| start..end);
        range.and_then(|range| self.runs.get(range)).unwrap_or_default()
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(self.runs.as_slice()) + size_of_val(self.lines.as_slice())
    }
}

/// The colours that are known.
#[derive(Clone, Debug, Default)]
pub struct Colours {
    known: HashMap<CodeId, Colouring>,
    /// Oldest first.
    order: VecDeque<CodeId>,
    bytes: usize,
    /// What was asked for: one piece at a time, the first on the screen.
    pub(super) asked: Option<CodeId>,
    /// Bytes that arrived since the last second.
    streamed: usize,
    /// Whether they came no faster than one reads.
    pub(super) readable: bool,
}

impl Colours {
    #[must_use]
    pub fn of(&self, id: CodeId) -> Option<&Colouring> {
        self.known.get(&id)
    }

    /// Adds what is known of some code; the oldest goes where there is no room.
    pub fn keep(&mut self, id: CodeId, colouring: Colouring) {
        if self.asked == Some(id) {
            self.asked = None;
        }
        self.bytes += colouring.bytes();
        if let Some(before) = self.known.insert(id, colouring) {
            self.bytes -= before.bytes();
        } else {
            self.order.push_back(id);
        }
        while self.bytes > KEPT && self.order.len() > 1 {
            let oldest = self.order.pop_front().and_then(|oldest| self.known.remove(&oldest));
            self.bytes -= oldest.map_or(0, |oldest| oldest.bytes());
        }
    }

    pub(super) fn arrived(&mut self, bytes: usize) {
        self.streamed = self.streamed.saturating_add(bytes);
        self.readable &= self.streamed <= READABLE;
    }

    pub(super) fn second(&mut self) {
        self.readable = std::mem::take(&mut self.streamed) <= READABLE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_found_by_their_line() {
        let mut colouring = Colouring::default();
        colouring.put(3, Some(CodeKind::Keyword));
        colouring.put(1, None);
        colouring.put(2, None);
        colouring.end_line();
        colouring.end_line();
        colouring.put(0, Some(CodeKind::String));
        colouring.put(4, None);
        colouring.end_line();
        assert_eq!(colouring.line(0), [(3, Some(CodeKind::Keyword)), (3, None)]);
        assert_eq!(colouring.line(1), []);
        assert_eq!(colouring.line(2), [(4, None)]);
        assert_eq!(colouring.line(3), []);
    }

    #[test]
    fn no_more_is_kept_than_has_room() {
        let mut colours = Colours::default();
        let mut colouring = Colouring::default();
        for _ in 0..4_000 {
            colouring.put(1, None);
            colouring.put(1, Some(CodeKind::Number));
        }
        let ids: Vec<CodeId> = (0..40).map(|number| CodeId::of("c", &number.to_string())).collect();
        for id in &ids {
            colours.keep(*id, colouring.clone());
            assert!(colours.bytes <= KEPT, "{}", colours.bytes);
        }
        assert!(colours.of(ids[0]).is_none());
        assert_eq!(colours.of(ids[39]), Some(&colouring));
        colours.keep(ids[39], Colouring::default());
        assert_eq!(colours.known.len(), colours.order.len());
    }
}
