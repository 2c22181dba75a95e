//! Calls that wait for the person: shown one after the other, never exchanged for another under their hands.
//!
//! An answer by a single letter counts only when the call has been on the screen to its end, with the keyboard on it, for a
//! moment: a key that was on its way to something else approves nothing, and what was pushed out of sight is not approved
//! unread. What is typed before goes into the draft. What of a call cannot be seen is written out.

use crate::commands::CommandId;
use crate::domain::Timestamp;
use crate::domain::event::Approve;
use crate::domain::letters::is_hidden_behind;
use crate::worker::protocol::Approval;
use serde_json::Value;
use std::collections::VecDeque;

/// How long a call is shown before a letter answers it, in milliseconds.
pub(super) const ARMING: u64 = 500;

/// Letters of one line of a panel; longer ones go on in the next.
const LINE: usize = 400;

/// What waits, the call that is shown first.
#[derive(Clone, Debug, Default)]
pub struct Approvals {
    pub(super) queue: VecDeque<Panel>,
    /// Answered here; the worker has not said so yet.
    pub(super) answered: Vec<u64>,
}

/// A waiting call as it is shown.
#[derive(Clone, Debug)]
pub struct Panel {
    pub approval: Approval,
    pub lines: Vec<PanelLine>,
    /// The raw arguments, while they are folded below the difference that tells what they do.
    folded: Option<Vec<PanelLine>>,
    /// The first line shown.
    pub top: usize,
    /// What of it was on the screen.
    pub(super) seen: Seen,
    /// What lasts longer than this call and was asked for once; it counts the second time.
    pub(super) confirms: Option<Approve>,
    /// The person gave it the keyboard although there is a draft.
    pub(super) taken: bool,
    /// Since when it is on the screen and has the keyboard.
    pub(super) ready_since: Option<Timestamp>,
    /// Whether the screen says that a letter answers.
    pub(super) armed: bool,
}

/// What of a call was on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Seen {
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
    /// Stands for the raw arguments, or above them: a key shows and hides them.
    Fold,
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
    pub(super) fn follow(&mut self, waiting: &[Approval]) {
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
        let mut raw = Vec::new();
        match &approval.input {
            Value::Object(fields) if fields.is_empty() => heading("without arguments", &mut raw),
            Value::Object(fields) => {
                // What is short, such as a path, is not looked for below what is long.
                let is_long = |value: &Value| value.as_str().is_none_or(|text| text.contains('\n'));
                let (long, short): (Vec<_>, Vec<_>) = fields.iter().partition(|(_, value)| is_long(value));
                for (name, value) in short.into_iter().chain(long) {
                    argument(name, value, &mut raw);
                }
            }
            other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
                argument("arguments", other, &mut raw);
            }
        }
        let preview = approval.preview.as_deref();
        if let Some(preview) = preview {
            difference(preview, &mut lines);
            lines.push(PanelLine { sort: LineSort::Fold, text: names(&approval.input) });
        }
        // What is not told by a difference is read in the arguments.
        let tells_all = preview.is_some_and(|preview| !preview.lines().any(|line| line.starts_with('…')));
        if !tells_all {
            lines.append(&mut raw);
        }
        let folded = tells_all.then_some(raw);
        Self {
            approval,
            lines,
            folded,
            top: 0,
            seen: Seen::Not,
            confirms: None,
            taken: false,
            ready_since: None,
            armed: false,
        }
    }

    /// Whether the raw arguments are folded.
    #[must_use]
    pub fn is_folded(&self) -> bool {
        self.folded.is_some()
    }

    /// Shows the raw arguments below the difference, or hides them; without a difference they are always shown.
    pub(super) fn fold(&mut self) {
        match self.folded.take() {
            Some(raw) => self.lines.extend(raw),
            None => {
                if let Some(fold) = self.lines.iter().position(|line| line.sort == LineSort::Fold) {
                    self.folded = Some(self.lines.split_off(fold + 1));
                    self.top = self.top.min(fold);
                }
            }
        }
    }

    /// Everything, what is folded included.
    pub fn all_lines(&self) -> impl Iterator<Item = &PanelLine> {
        self.lines.iter().chain(self.folded.iter().flatten())
    }

    /// Whose thread wants what, and what it needs for that.
    #[must_use]
    pub fn who(&self, directive: &str) -> (String, String) {
        let Approval { item, capability, why, .. } = &self.approval;
        let why = why.as_ref().map(|why| format!(" · {why}")).unwrap_or_default();
        (format!("{directive} wants {item}"), format!("needs {capability}{why}"))
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

/// How many arguments there are, and their names.
fn names(input: &Value) -> String {
    match input {
        Value::Object(fields) => {
            let names: Vec<&str> = fields.keys().map(String::as_str).collect();
            seen(&format!("arguments: {} ({})", names.len(), names.join(", ")))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => "arguments".to_owned(),
    }
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

/// What the commands that answer an approval say; any other says no.
pub(super) fn decision(command: CommandId) -> Approve {
    if command == CommandId::ApprovalOnce {
        Approve::Once
    } else if command == CommandId::ApprovalThread {
        Approve::Thread
    } else if command == CommandId::ApprovalAlways {
        Approve::Always
    } else {
        Approve::Deny
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
            confined: false,
            why: None,
        })
    }

    #[test]
    fn every_argument_is_shown_whole() {
        let text = "x".repeat(1_000);
        let panel = panel(json!({"path": "a", "content": format!("one\n\n{text}")}), Some("@@ -1 +1 @@\n-a\n+b\n c"));
        let (name, plain) = (LineSort::Name, LineSort::Text);
        let lines: Vec<_> = panel.all_lines().map(|line| (line.sort, line.text.as_str())).collect();
        assert_eq!(
            lines[..8],
            [
                (LineSort::Place, "@@ -1 +1 @@"),
                (LineSort::Removed, "-a"),
                (LineSort::Added, "+b"),
                (plain, " c"),
                (LineSort::Fold, "arguments: 2 (content, path)"),
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
    fn s16_arguments_are_folded_below_a_difference_that_tells_all() {
        let input = json!({"path": "a", "content": "b\n"});
        let mut told = panel(input.clone(), Some("@@ -1 +1 @@\n-a\n+b"));
        assert!(told.is_folded() && told.lines.len() == 4, "{told:?}");
        told.fold();
        assert!(!told.is_folded() && told.lines.len() == 8, "{told:?}");
        told.top = 7;
        told.fold();
        assert_eq!((told.is_folded(), told.lines.len(), told.top), (true, 4, 3));
        // What a difference leaves out stands in the arguments, which are read.
        assert!(!panel(input.clone(), Some("+b\n… 30000 more bytes of this difference")).is_folded());
        let mut whole = panel(input, None);
        let lines = whole.lines.clone();
        whole.fold();
        assert_eq!((whole.is_folded(), whole.lines), (false, lines));
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
