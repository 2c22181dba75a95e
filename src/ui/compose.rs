//! The rows of one block of the transcript. The first two columns hold its mark, the rest its text.

use super::lines::{Ink, Lines};
use super::theme::Role;
use super::wrap::{Breaks, Inline};
use crate::domain::event::StopReason;
use crate::domain::{Drawing, NoteKind, Tokens};
use crate::workbench::transcript::{Answer, Block, Kind, Marker, Prompt, Thinking, Tool, ToolState};

/// Columns of the mark before a block.
pub(super) const GUTTER: usize = 2;

/// Rows of a folded prompt and of an opened tool result.
const PROMPT_ROWS: usize = 24;
const OUTPUT_ROWS: usize = 400;
/// Bytes of an opened prompt that are shown: some 10 ms of work.
const PROMPT_BYTES: usize = 128 << 10;
/// Rows of a call that has ended and is folded.
const FOLDED_ROWS: usize = 4;
/// Rows of a running tool's output that are shown while it is folded.
const LIVE_ROWS: usize = 5;
/// The same of a command that the person ran.
const OWN_ROWS: usize = 12;
/// Rows of the main argument of a call that was denied.
const DENIED_ROWS: usize = 3;

/// Columns of text in a transcript that is `width` wide.
pub(super) fn text_width(width: u16) -> usize {
    let width = usize::from(width);
    if has_gutter(width) { width - GUTTER } else { width }.max(2)
}

/// Whether a transcript that wide has room for marks.
pub(super) fn has_gutter(width: usize) -> bool {
    width > GUTTER + 8
}

/// Whether a blank row stands above a block.
pub(super) fn is_spaced(block: &Block) -> bool {
    match &block.kind {
        Kind::Prompt(_) | Kind::Answer(_) | Kind::Thinking(_) => true,
        Kind::Tool(_) => block.open,
        Kind::Marker(marker) => match marker.sort {
            NoteKind::Context | NoteKind::Info => false,
            NoteKind::Warning | NoteKind::Error | NoteKind::Limit | NoteKind::Stopped | NoteKind::Completed => true,
        },
    }
}

/// The mark in the first column, and how it looks.
pub(super) fn mark(block: &Block) -> (&'static str, Role) {
    match &block.kind {
        Kind::Prompt(Prompt { pending: true, .. }) => ("◌", Role::PromptMark),
        Kind::Prompt(_) => ("›", Role::PromptMark),
        Kind::Answer(_) => ("", Role::Text),
        Kind::Thinking(_) => (if block.open { "▾" } else { "▸" }, Role::Thinking),
        Kind::Tool(_) => (if block.open { "▾" } else { "▸" }, Role::Tool),
        Kind::Marker(marker) => sort_mark(marker.sort),
    }
}

fn sort_mark(sort: NoteKind) -> (&'static str, Role) {
    match sort {
        NoteKind::Context => ("◇", Role::StatusInfo),
        NoteKind::Info => ("·", Role::StatusInfo),
        NoteKind::Warning => ("!", Role::StatusWarning),
        NoteKind::Error => ("✗", Role::StatusError),
        NoteKind::Limit => ("▲", Role::StatusLimit),
        NoteKind::Stopped => ("■", Role::StatusWarning),
        NoteKind::Completed => ("✓", Role::StatusOk),
    }
}

/// The rows of a block without its answer text, which grows in a document of its own.
pub(super) fn rows(block: &Block, width: usize) -> Lines {
    let mut lines = Lines::default();
    match (&block.kind, block.drawing()) {
        (Kind::Tool(tool), drawing) => tool_rows(tool, drawing, block.open, width, &mut lines),
        (Kind::Prompt(_) | Kind::Marker(_), Some(Drawing { body: Some(body), .. })) => drawn(body, width, &mut lines),
        _ if block.entry.is_some() => {}
        (Kind::Prompt(prompt), _) => prompt_rows(prompt, block.open, width, &mut lines),
        (Kind::Answer(answer), _) => answer_foot(answer, width, &mut lines),
        (Kind::Thinking(thinking), _) => thinking_head(thinking, block.open, width, &mut lines),
        (Kind::Marker(Marker { sort, text }), _) => {
            let mut inline = Inline::default();
            inline.put_lines(text, sort_mark(*sort).1);
            inline.wrap(width, Breaks::Words, &mut lines, |_| {});
        }
    }
    lines.shrink();
    lines
}

/// Rows that an extension drew, without their styles.
fn drawn(rows: &[String], width: usize, lines: &mut Lines) {
    for row in rows {
        let text = anstream::adapter::strip_str(row).to_string();
        one_row(lines, width, &[(&text, Role::Text)]);
    }
}

/// A call and its result. How it stands is told behind the first row; a part that no extension drew is as usual.
fn tool_rows(tool: &Tool, drawing: Option<&Drawing>, open: bool, width: usize, lines: &mut Lines) {
    match drawing.and_then(|drawing| drawing.head.as_deref()) {
        None => tool_head(tool, width, lines),
        Some([]) => {}
        Some([first, others @ ..]) => {
            let (state, role) = standing(&tool.state);
            let (text, state) = (anstream::adapter::strip_str(first).to_string(), format!("  {state}"));
            let room = width.saturating_sub(super::wrap::columns(&state).min(width / 2));
            one_row(lines, width, &[(&shortened(text.trim_end(), room), Role::Text), (&state, role)]);
            drawn(others, width, lines);
        }
    }
    match drawing.and_then(|drawing| drawing.body.as_deref()) {
        None => tool_body(tool, open, width, lines),
        Some(body) => drawn(body, width, lines),
    }
}

/// A row as an extension drew it, with its styles, of a block that has `rows` of them; none where the program draws it.
pub(super) fn drawn_row(block: &Block, row: usize, rows: usize) -> Option<&str> {
    let drawing = block.drawing()?;
    let of_head = drawing.head.as_ref().and_then(|head| head.get(row));
    let of_body = || {
        let body = drawing.body.as_ref()?;
        body.get(row.checked_sub(rows.checked_sub(body.len())?)?)
    };
    of_head.or_else(of_body).map(|line| line.trim_end())
}

fn prompt_rows(prompt: &Prompt, open: bool, width: usize, lines: &mut Lines) {
    let mut inline = Inline::default();
    if prompt.role != "user" {
        inline.put(&format!("{}: ", prompt.role), Role::PromptMark);
    }
    // No more is wrapped than may be shown.
    let most = if open { PROMPT_BYTES } else { PROMPT_ROWS * width * 4 };
    let shown = prompt.text.get(..prompt.text.floor_char_boundary(most)).unwrap_or(&prompt.text);
    if let Some(words) = prompt.stands_in() {
        inline.put(words, Role::TextMuted);
    }
    inline.put_lines(shown.trim_end(), Role::Prompt);
    let mut all = Lines::default();
    inline.wrap(width, Breaks::Words, &mut all, |_| {});
    let most =
        if open || (all.len() <= PROMPT_ROWS && shown.len() == prompt.text.len()) { all.len() } else { PROMPT_ROWS };
    for row in 0..most.min(all.len()) {
        lines.copy_row(&all, row);
    }
    if open && shown.len() < prompt.text.len() {
        let more = (prompt.text.len() - shown.len()).div_ceil(1_000);
        one_row(lines, width, &[(&format!("… {more} kB more, in your editor"), Role::TextMuted)]);
    } else if most < all.len() || shown.len() < prompt.text.len() {
        let total = prompt.text.lines().count();
        one_row(
            lines,
            width,
            &[
                ("… all ", Role::TextMuted),
                (&total.to_string(), Role::TextMuted),
                (" lines with details", Role::TextMuted),
            ],
        );
    }
    for image in &prompt.images {
        let size = image.bytes.div_ceil(1_000);
        let text = format!("+ {} · {} · {size} kB", image.name, image.media_type);
        one_row(lines, width, &[(&text, Role::TextMuted)]);
    }
    for file in &prompt.files {
        one_row(lines, width, &[(&format!("+ {}", file.in_words()), Role::TextMuted)]);
    }
}

/// What stands below an answer that has ended: what it took, and why it ended if not by itself.
fn answer_foot(answer: &Answer, width: usize, lines: &mut Lines) {
    let Some(reason) = &answer.ended else { return };
    let mut end = |role: Role, text: &str| {
        let mut inline = Inline::default();
        inline.put(text, role);
        inline.wrap(width, Breaks::Words, lines, |_| {});
    };
    match reason {
        StopReason::EndTurn | StopReason::ToolUse => {}
        StopReason::MaxTokens => end(Role::StatusWarning, "! cut off: the model's output limit was reached"),
        StopReason::Refusal => end(Role::StatusWarning, "! the model refused to go on"),
        StopReason::Truncated { detail } => end(Role::StatusError, &format!("✗ cut short: {detail}")),
        StopReason::TooLarge { detail } => end(Role::StatusWarning, &format!("! cut off: {detail}")),
        StopReason::Cancelled => end(Role::StatusWarning, "■ stopped here"),
        StopReason::Lost => {
            end(Role::StatusError, "✗ cut short: the worker died; this is what it had saved");
        }
        StopReason::Other { word } => end(Role::StatusWarning, &format!("! ended: {word}")),
    }
    if let Some(summary) = answer.summary.as_ref().filter(|_| *reason != StopReason::ToolUse) {
        let spend = summary.spend.map_or_else(|| "no price known".to_owned(), |spend| spend.to_string());
        let seconds = summary.elapsed_ms / 1_000;
        let tenth = summary.elapsed_ms % 1_000 / 100;
        // An answer that was stopped may never have been told what it took.
        let took = if summary.output == Tokens(0) && !answer.text.is_empty() {
            format!("~{} out, not reported", Tokens::estimate(&answer.text))
        } else {
            let input = if summary.input > Tokens(0) { format!("{} in, ", summary.input) } else { String::new() };
            format!("{input}{} out · {spend}", summary.output)
        };
        let text = format!("{} · {seconds}.{tenth} s · {took}", summary.model.short());
        end(Role::TextMuted, &text);
    }
}

fn thinking_head(thinking: &Thinking, open: bool, width: usize, lines: &mut Lines) {
    let own = if thinking.finished { "thought" } else { "thinking…" };
    let word = thinking.label.as_deref().filter(|_| !open).unwrap_or(own);
    let text = format!("{word} · ~{} tokens", Tokens::estimate(&thinking.text));
    one_row(lines, width, &[(&text, Role::Thinking)]);
}

/// How a call stands, in a word.
fn standing(state: &ToolState) -> (String, Role) {
    match state {
        ToolState::Asked => ("… asked".to_owned(), Role::TextMuted),
        ToolState::Waiting => ("○ needs approval".to_owned(), Role::StatusWarning),
        ToolState::Running => ("… running".to_owned(), Role::StatusWarning),
        ToolState::Done => ("✓".to_owned(), Role::StatusOk),
        ToolState::Failed(error) => (format!("✗ {}", error.lines().next().unwrap_or("failed")), Role::StatusError),
    }
}

fn tool_head(tool: &Tool, width: usize, lines: &mut Lines) {
    let (state, role) = standing(&tool.state);
    // While the model still writes the call its arguments are all there is.
    let main = if tool.main.is_empty() {
        tool.input.get(..tool.input.floor_char_boundary(200)).unwrap_or("")
    } else {
        &tool.main
    };
    let columns = super::wrap::columns;
    let state_columns = columns(&state).min(width / 2);
    let name_columns = columns(&tool.name);
    let room = width.saturating_sub(name_columns + state_columns + 4);
    let main = shortened(main, room);
    if let Some(denied) = tool.denied_by() {
        // What did not happen, and who said so, is read in whole words.
        let mut inline = Inline::default();
        inline.put(&tool.name, Role::Tool);
        inline.put("  ", Role::Text);
        inline.put(&shortened(&tool.main, width.saturating_mul(DENIED_ROWS)), Role::ToolMain);
        inline.put("  ", Role::Text);
        inline.put(&format!("✗ {denied}"), Role::StatusError);
        inline.wrap(width, Breaks::Words, lines, |_| {});
    } else {
        one_row(
            lines,
            width,
            &[
                (&tool.name, Role::Tool),
                ("  ", Role::Text),
                (&main, Role::ToolMain),
                ("  ", Role::Text),
                (&state, role),
            ],
        );
    }
}

fn tool_body(tool: &Tool, open: bool, width: usize, lines: &mut Lines) {
    if !open {
        // Who ran a command wants to see what it printed.
        if tool.name.starts_with('!') {
            last_words(without_error(tool), OWN_ROWS, width, lines);
        } else if tool.state == ToolState::Running {
            last_words(&tool.output, LIVE_ROWS, width, lines);
        } else if let (ToolState::Done, Some(change)) = (&tool.state, &tool.change) {
            folded(change.lines().filter(|line| is_change(line)), change_role, FOLDED_ROWS, width, lines);
        } else if tool.state == ToolState::Done {
            let said = tool.output.lines().filter(|line| !line.trim().is_empty());
            folded(said, |_| Role::ToolOutput, FOLDED_ROWS, width, lines);
        }
        return;
    }
    if let Some(change) = &tool.change {
        folded(change.lines(), change_role, OUTPUT_ROWS, width, lines);
    }
    section(&tool.input, Role::MarkdownCodeBlock, width, lines);
    section(without_error(tool), Role::ToolOutput, width, lines);
    if let ToolState::Failed(error) = &tool.state {
        section(error, Role::StatusError, width, lines);
    }
}

/// What a call printed, without how it failed, which is told beside it.
fn without_error(tool: &Tool) -> &str {
    let output = tool.output.trim_end();
    let ToolState::Failed(error) = &tool.state else { return &tool.output };
    output.strip_suffix(error.trim_end()).unwrap_or(&tool.output)
}

/// Whether a line of a difference came or went.
fn is_change(line: &str) -> bool {
    (line.starts_with('+') && !line.starts_with("+++")) || (line.starts_with('-') && !line.starts_with("---"))
}

/// The colour of a line of a difference.
pub(super) fn change_role(line: &str) -> Role {
    match line.as_bytes() {
        _ if !is_change(line) => Role::TextMuted,
        [b'+', ..] => Role::CodeAdded,
        _ => Role::CodeRemoved,
    }
}

/// The first `most` rows of what a call came to, and how many more there are.
fn folded<'a>(
    said: impl Iterator<Item = &'a str> + Clone,
    role: fn(&str) -> Role,
    most: usize,
    width: usize,
    lines: &mut Lines,
) {
    for line in said.clone().take(most) {
        one_row(lines, width, &[("  ", Role::Text), (line, role(line))]);
    }
    let more = said.skip(most).count();
    if more > 0 {
        let word = if more == 1 { "line" } else { "lines" };
        one_row(lines, width, &[(&format!("  … {more} more {word}"), Role::TextMuted)]);
    }
}

/// A part of an opened call.
fn section(text: &str, role: Role, width: usize, lines: &mut Lines) {
    let near = text.get(..text.floor_char_boundary(OUTPUT_ROWS * width * 4)).unwrap_or(text);
    let (mut shown, mut seen) = (0, 0);
    for line in near.split_inclusive('\n') {
        let mut rows = Lines::default();
        let mut inline = Inline::default();
        inline.put(line.trim_end_matches(['\n', '\r']), role);
        inline.wrap(width.saturating_sub(2).max(2), Breaks::Letters, &mut rows, |lines| {
            if width > 6 {
                lines.put("  ", role.into());
            }
        });
        let room = rows.len().min(OUTPUT_ROWS - shown);
        (0..room).for_each(|row| lines.copy_row(&rows, row));
        shown += room;
        if room < rows.len() {
            break;
        }
        seen += line.len();
    }
    let more = text.get(seen..).unwrap_or_default().lines().count();
    if more > 0 {
        let word = if more == 1 { "line" } else { "lines" };
        one_row(lines, width, &[(&format!("  … {more} more {word}"), Role::TextMuted)]);
    }
}

/// The last rows of what a tool has printed.
fn last_words(output: &str, most: usize, width: usize, lines: &mut Lines) {
    let mut last: Vec<&str> = output.trim_end().lines().rev().take(most).collect();
    last.reverse();
    for line in last {
        one_row(lines, width, &[("  ", Role::Text), (line, Role::ToolOutput)]);
    }
}

/// One row of pieces; what does not fit ends in `…`.
fn one_row(lines: &mut Lines, width: usize, pieces: &[(&str, Role)]) {
    let mut left = width;
    for (text, role) in pieces {
        let text = shortened(text, left);
        left -= super::wrap::columns(&text).min(left);
        lines.put(&text, Ink::from(*role));
    }
    lines.end_row();
}

/// The text in at most `room` columns.
pub(super) fn shortened(text: &str, room: usize) -> String {
    let text: String = text.chars().take(room * 4 + 8).collect();
    let text = super::glyphs::harmless(&text);
    if super::wrap::columns(&text) <= room {
        return text.into_owned();
    }
    let mut shown = String::new();
    let mut used = 1;
    for (grapheme, wide) in super::wrap::Graphemes::of(&text) {
        used += wide;
        if used > room {
            break;
        }
        shown.push_str(grapheme);
    }
    if room > 0 {
        shown.push('…');
    }
    shown
}
