//! Calls that wait for the person: shown one after the other, never exchanged for another under their hands.
//!
//! An answer by a single letter counts only when the call has been on the screen to its end, with the keyboard on it, for a
//! moment: a key that was on its way to something else approves nothing, and what was pushed out of sight is not approved
//! unread. What is typed before goes into the draft. What of a call cannot be seen is written out.

use super::geometry;
use super::message::{Effect, Level};
use super::model::{Link, Model, Sent};
use crate::domain::Timestamp;
use crate::domain::event::Approve;
use crate::domain::letters::is_hidden_behind;
use crate::worker::protocol::{Approval, Command};
use serde_json::Value;
use std::collections::VecDeque;

/// How long a call is shown before a letter answers it, in milliseconds.
const ARMING: u64 = 500;

/// Letters of one line of a panel; longer ones go on in the next.
const LINE: usize = 400;

/// What waits, the call that is shown first.
#[derive(Clone, Debug, Default)]
pub struct Approvals {
    queue: VecDeque<Panel>,
    /// Answered here; the worker has not said so yet.
    answered: Vec<u64>,
}

/// A waiting call as it is shown.
#[derive(Clone, Debug)]
pub struct Panel {
    pub approval: Approval,
    pub lines: Vec<PanelLine>,
    /// The first line shown.
    pub top: usize,
    /// What of it was on the screen.
    seen: Seen,
    /// "Always" was asked for once; it counts the second time.
    confirms: bool,
    /// The person gave it the keyboard although there is a draft.
    taken: bool,
    /// Since when it is on the screen and has the keyboard.
    ready_since: Option<Timestamp>,
    /// Whether the screen says that a letter answers.
    armed: bool,
}

/// What of a call was on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Seen {
    Not,
    Begun,
    ToItsEnd,
}

/// A line of a panel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PanelLine {
    pub sort: LineSort,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineSort {
    /// Name of an argument, or a heading.
    Name,
    Text,
    Added,
    Removed,
    /// Where in a file a difference is.
    Place,
}

impl Approvals {
    /// The call that is shown.
    #[must_use]
    pub fn shown(&self) -> Option<&Panel> {
        self.queue.front()
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Follows what the worker says is waiting. What is shown stays shown while it waits.
    fn follow(&mut self, waiting: &[Approval]) {
        self.answered.retain(|id| waiting.iter().any(|approval| approval.id == *id));
        let waits = |id: u64| waiting.iter().any(|approval| approval.id == id);
        self.queue.retain(|panel| waits(panel.approval.id));
        for approval in waiting {
            let known = self.queue.iter().any(|panel| panel.approval.id == approval.id);
            if !known && !self.answered.contains(&approval.id) {
                self.queue.push_back(Panel::new(approval.clone()));
            }
        }
    }
}

impl Panel {
    fn new(approval: Approval) -> Self {
        let mut lines = Vec::new();
        if let Some(preview) = &approval.preview {
            difference(preview, &mut lines);
            heading("the call in full", &mut lines);
        }
        match &approval.input {
            Value::Object(fields) if fields.is_empty() => heading("without arguments", &mut lines),
            Value::Object(fields) => {
                // What is short, such as a path, is not looked for below what is long.
                let is_long = |value: &Value| value.as_str().is_none_or(|text| text.contains('\n'));
                let (long, short): (Vec<_>, Vec<_>) = fields.iter().partition(|(_, value)| is_long(value));
                for (name, value) in short.into_iter().chain(long) {
                    argument(name, value, &mut lines);
                }
            }
            other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
                argument("arguments", other, &mut lines);
            }
        }
        Self {
            approval,
            lines,
            top: 0,
            seen: Seen::Not,
            confirms: false,
            taken: false,
            ready_since: None,
            armed: false,
        }
    }

    /// Whose thread wants what, and what it needs for that.
    #[must_use]
    pub fn who(&self, directive: &str) -> (String, String) {
        let Approval { item, capability, .. } = &self.approval;
        (format!("{directive} wants {item}"), format!("needs {capability}"))
    }

    /// The tool in one word: the last of its item's id.
    #[must_use]
    pub fn tool(&self) -> &str {
        short(&self.approval.item)
    }
}

/// The last part of an id or of a capability: what people call the tool.
pub(super) fn short(id: &str) -> &str {
    id.rsplit(['/', '.']).next().unwrap_or(id)
}

fn heading(text: &str, lines: &mut Vec<PanelLine>) {
    lines.push(PanelLine { sort: LineSort::Name, text: text.to_owned() });
}

fn argument(name: &str, value: &Value, lines: &mut Vec<PanelLine>) {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            serde_json::to_string_pretty(value).unwrap_or_default()
        }
    };
    heading(name, lines);
    let mut empty = 0;
    for line in text.lines() {
        if line.is_empty() {
            empty += 1;
            continue;
        }
        put_empty(&mut empty, lines);
        put(LineSort::Text, line, lines);
    }
    put_empty(&mut empty, lines);
}

/// Adds empty lines: a few as they are, more as a count, so that nothing hides behind them.
fn put_empty(empty: &mut usize, lines: &mut Vec<PanelLine>) {
    const MOST: usize = 2;
    let count = std::mem::take(empty);
    if count > MOST {
        lines.push(PanelLine { sort: LineSort::Place, text: format!("‹{count} empty lines›") });
    } else {
        lines.extend((0..count).map(|_| PanelLine { sort: LineSort::Text, text: String::new() }));
    }
}

/// `line` with what cannot be seen written out: letters without a width, blanks of other kinds, long runs of blanks, and
/// blanks at the end.
fn seen(line: &str) -> String {
    const MOST_BLANKS: usize = 16;
    let mut shown = String::with_capacity(line.len());
    let (mut blanks, mut before, mut begun) = (0, '\0', false);
    for letter in line.chars() {
        if letter == ' ' {
            blanks += 1;
            continue;
        }
        // What a line begins with is its indent, which shows where it ends.
        let most = if begun { MOST_BLANKS } else { 4 * MOST_BLANKS };
        if blanks > most {
            shown.extend(["‹", &blanks.to_string(), " blanks›"]);
        } else {
            shown.extend(std::iter::repeat_n(' ', blanks));
        }
        (blanks, begun) = (0, true);
        if letter == '\t' {
            shown.push('\t');
        } else if letter.is_whitespace() || letter == NO_DOT || is_hidden_behind(before, letter) {
            shown.extend(["‹U+", &format!("{:04X}", u32::from(letter)), "›"]);
        } else {
            shown.push(letter);
        }
        before = letter;
    }
    match blanks {
        0 => {}
        1 => shown.push_str("‹blank›"),
        more => shown.extend(["‹", &more.to_string(), " blanks›"]),
    }
    shown
}

/// The letter of braille without a dot, which looks like a blank and is none.
const NO_DOT: char = '\u{2800}';

fn difference(text: &str, lines: &mut Vec<PanelLine>) {
    for line in text.lines() {
        let sort = match line.chars().next() {
            Some('+') => LineSort::Added,
            Some('-') => LineSort::Removed,
            Some('@') => LineSort::Place,
            _ => LineSort::Text,
        };
        put(sort, line, lines);
    }
}

/// Adds a line, in pieces where it is long, so that only what is on the screen is ever looked at. A piece ends behind a
/// blank where there is one.
fn put(sort: LineSort, line: &str, lines: &mut Vec<PanelLine>) {
    let line = &seen(line);
    let mut rest = line.as_str();
    while let Some((end, _)) = rest.char_indices().nth(LINE) {
        let most = rest.get(..end).unwrap_or_default();
        let end = most.rfind(' ').map_or(end, |blank| blank + 1);
        let (piece, behind) = rest.split_at(end);
        lines.push(PanelLine { sort, text: piece.to_owned() });
        rest = behind;
    }
    if !rest.is_empty() || line.is_empty() {
        lines.push(PanelLine { sort, text: rest.to_owned() });
    }
}

impl Model {
    /// Whether the keyboard is on the waiting call: nothing lies over it, and there is no draft or it was left.
    #[must_use]
    pub fn is_answering(&self) -> bool {
        let free = |panel: &Panel| panel.taken || self.composer.is_empty();
        self.overlay.is_none() && self.approvals.shown().is_some_and(free)
    }

    /// Whether a letter answers now.
    #[must_use]
    pub fn is_armed(&self) -> bool {
        let since = self.approvals.shown().and_then(|panel| panel.ready_since);
        self.is_answering() && since.is_some_and(|since| self.now.since(since) >= ARMING)
    }

    /// When a letter will answer, if that is still to come: [`Message::ApprovalArmed`](super::Message) is wanted then.
    #[must_use]
    pub fn arms_at(&self) -> Option<Timestamp> {
        let since = self.approvals.shown().and_then(|panel| panel.ready_since)?;
        (self.is_answering() && !self.is_armed()).then_some(Timestamp(since.0 + ARMING))
    }

    /// The waiting call that has not been on the screen before, or not to its end, and is there now, if a frame was drawn.
    #[must_use]
    pub fn approval_in_view(&self) -> Option<u64> {
        let visible = geometry::regions(self).approval.height >= 3 && self.overlay.is_none();
        let news = |panel: &&Panel| match panel.seen {
            Seen::Not => true,
            Seen::Begun => geometry::approval_ends(self),
            Seen::ToItsEnd => false,
        };
        self.approvals.shown().filter(|_| visible).filter(news).map(|panel| panel.approval.id)
    }

    /// Whether the end of the waiting call has not been on the screen yet.
    #[must_use]
    pub fn approval_goes_on(&self) -> bool {
        self.approvals.shown().is_some_and(|panel| panel.seen == Seen::Begun)
    }

    /// Whether the waiting call has been on the screen.
    pub(super) fn has_seen_call(&self) -> bool {
        self.approvals.shown().is_some_and(|panel| panel.seen > Seen::Not)
    }

    pub(super) fn approval_drawn(&mut self, id: u64) {
        let ends = geometry::approval_ends(self);
        if let Some(panel) = self.approvals.queue.front_mut().filter(|panel| panel.approval.id == id) {
            let seen = panel.seen.max(if ends { Seen::ToItsEnd } else { Seen::Begun });
            // The keys that are told depend on it.
            self.changed |= std::mem::replace(&mut panel.seen, seen) != seen;
        }
    }

    /// All of the waiting call was read out.
    pub(super) fn approval_told(&mut self, id: u64) {
        if let Some(panel) = self.approvals.queue.front_mut().filter(|panel| panel.approval.id == id) {
            panel.seen = Seen::ToItsEnd;
        }
    }

    /// Brings the waiting calls in line with what the worker told.
    pub(super) fn follow_approvals(&mut self) {
        let waiting = self.state.as_ref().map(|state| state.approvals.clone()).unwrap_or_default();
        self.approvals.follow(&waiting);
    }

    /// Forgets them: the worker is gone, or another thread is shown.
    pub(super) fn forget_approvals(&mut self) {
        self.approvals = Approvals::default();
    }

    /// An answer was not taken: the call is shown again if it still waits.
    pub(super) fn answer_failed(&mut self) {
        self.approvals.answered.clear();
        self.follow_approvals();
    }

    /// Keeps the time since when a letter would answer.
    pub(super) fn settle_approval(&mut self) {
        let (now, answering) = (self.now, self.is_answering());
        for (place, panel) in self.approvals.queue.iter_mut().enumerate() {
            if place == 0 && panel.seen == Seen::ToItsEnd && answering {
                panel.ready_since.get_or_insert(now);
            } else {
                panel.ready_since = None;
            }
        }
        // Whatever came first when its time was there: the screen says so then.
        let armed = self.is_armed();
        if let Some(panel) = self.approvals.queue.front_mut() {
            self.changed |= std::mem::replace(&mut panel.armed, armed) != armed;
        }
    }

    /// Gives the keyboard to the waiting call, or back to the draft.
    pub(super) fn take_keyboard(&mut self, taken: bool) {
        if let Some(panel) = self.approvals.queue.front_mut() {
            panel.taken = taken;
        }
    }

    pub(super) fn scroll_approval(&mut self, step: isize) {
        if geometry::approval_fits(self) {
            return;
        }
        if let Some(panel) = self.approvals.queue.front_mut() {
            let last = panel.lines.len().saturating_sub(1);
            panel.top = panel.top.saturating_add_signed(step).min(last);
        }
    }

    /// Answers the call that is shown.
    pub(super) fn answer(&mut self, decision: Approve) -> Vec<Effect> {
        let Some(panel) = self.approvals.shown() else {
            self.say(Level::Info, "no call waits for you");
            return Vec::new();
        };
        if decision != Approve::Deny && panel.seen == Seen::Not {
            self.say(Level::Warning, "the call that waits has not been on the screen yet");
            return Vec::new();
        }
        if decision != Approve::Deny && panel.seen < Seen::ToItsEnd {
            self.say(Level::Warning, "the call that waits goes on below: it is answered where its end was seen (end)");
            return Vec::new();
        }
        if self.link != Link::Connected {
            return Vec::new();
        }
        if decision == Approve::Always && !panel.confirms {
            let text = format!("the same again allows {} in this project for good", panel.approval.capability);
            self.approvals.queue.iter_mut().take(1).for_each(|panel| panel.confirms = true);
            self.say(Level::Warning, text);
            return Vec::new();
        }
        let (id, args_hash) = (panel.approval.id, panel.approval.args_hash.clone());
        self.approvals.queue.pop_front();
        self.approvals.answered.push(id);
        self.sent.push_back(Sent::Approval);
        self.changed = true;
        vec![Effect::Send(Command::Approve { id, args_hash, decision })]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn panel(input: Value, preview: Option<&str>) -> Panel {
        Panel::new(Approval {
            id: 1,
            call_id: crate::domain::CallId("c".into()),
            tool: "rye_file_system_write".into(),
            item: "rye/file-system/write".into(),
            capability: "x".into(),
            args_hash: crate::domain::ContentHash::of(b""),
            input,
            preview: preview.map(str::to_owned),
        })
    }

    #[test]
    fn every_argument_is_shown_whole() {
        let text = "x".repeat(1_000);
        let panel = panel(json!({"path": "a", "content": format!("one\n\n{text}")}), Some("@@ -1 +1 @@\n-a\n+b\n c"));
        let lines: Vec<_> = panel.lines.iter().map(|line| (line.sort, line.text.as_str())).collect();
        let (name, plain) = (LineSort::Name, LineSort::Text);
        assert_eq!(
            lines[..8],
            [
                (LineSort::Place, "@@ -1 +1 @@"),
                (LineSort::Removed, "-a"),
                (LineSort::Added, "+b"),
                (plain, " c"),
                (name, "the call in full"),
                (name, "path"),
                (plain, "a"),
                (name, "content"),
            ]
        );
        assert_eq!(lines[8..10], [(plain, "one"), (plain, "")]);
        let shown: String = lines[10..].iter().map(|(_, text)| *text).collect();
        assert_eq!(shown, text);
        assert_eq!(panel.tool(), "write");
    }

    #[test]
    fn s11_what_cannot_be_seen_is_written_out() {
        for (text, shown) in [
            ("ls -l", "ls -l"),
            ("    let x", "    let x"),
            ("ls  ", "ls‹2 blanks›"),
            ("ls ", "ls‹blank›"),
            (&format!("ls{}; rm -rf ~", " ".repeat(300)), "ls‹300 blanks›; rm -rf ~"),
            ("a\u{a0}b\u{3000}c\u{2800}d\u{3164}e", "a‹U+00A0›b‹U+3000›c‹U+2800›d‹U+3164›e"),
            ("a\u{200b}b\u{202e}c\u{e0041}d\u{7}", "a‹U+200B›b‹U+202E›c‹U+E0041›d‹U+0007›"),
        ] {
            assert_eq!(seen(text), shown, "{text:?}");
        }
        let hidden = format!("ls\n{}rm -rf ~", "\n".repeat(200));
        let panel = panel(json!({ "command": hidden }), None);
        let lines: Vec<_> = panel.lines.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(lines, ["command", "ls", "‹200 empty lines›", "rm -rf ~"]);
    }

    #[test]
    fn a_long_line_goes_on_behind_a_blank() {
        let text = "many short words, ".repeat(60);
        let panel = panel(json!({ "command": text }), None);
        let pieces: Vec<_> = panel.lines.iter().skip(1).map(|line| line.text.as_str()).collect();
        assert!(pieces.len() > 2 && pieces.iter().rev().skip(1).all(|piece| piece.ends_with(' ')), "{pieces:?}");
        assert_eq!(pieces.concat(), format!("{}‹blank›", text.trim_end()));
    }
}
