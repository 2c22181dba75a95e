//! The draft with what stands around it: the line above, the queue, notices, completions.

use crate::commands::CommandId;
use crate::domain::event::PromptMode;
use crate::ui::cells::Canvas;
use crate::ui::lines::Lines;
use crate::ui::theme::Role;
use crate::ui::wrap::{Breaks, Inline, columns};
use crate::workbench::geometry::{Area, COMPOSER_INDENT, Regions};
use crate::workbench::{Level, Model, Search};
use std::borrow::Cow;

/// Draws the draft; tells where the cursor stands.
pub(super) fn draw(model: &Model, regions: &Regions, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
    let border = regions.border;
    if border.height > 0 {
        let flat = "─".repeat(usize::from(border.width));
        canvas.put(border.x, border.y, border.x + border.width, &flat, Role::Border);
        counter(model, border, canvas);
    }
    let area = regions.composer;
    if area.height == 0 || area.width == 0 {
        return None;
    }
    if let Some(reading) = &model.view.reading
        && let Some(search) = &reading.search
        && search.writing
    {
        return Some(searched(search, area, canvas));
    }
    if let Some(editor) = model.editor() {
        for (y, line) in (area.y..area.y + area.height).zip(&editor.lines) {
            canvas.put_styled(area.x, y, area.x + area.width, line, Role::Draft);
        }
        return None;
    }
    let indent = if area.width > COMPOSER_INDENT { COMPOSER_INDENT } else { 0 };
    let right = area.x + area.width;
    let (row, column) = model.composer.caret();
    let rows = usize::from(area.height);
    // The cursor's row stays in view.
    let top = row.saturating_sub(rows - 1).min(model.composer.rows().saturating_sub(rows));
    let top = top.max((row + 1).saturating_sub(rows));
    for line in 0..rows {
        let y = area.y + u16::try_from(line).unwrap_or(0);
        if indent > 0 && line + top == 0 {
            canvas.put(area.x, y, right, "›", Role::PromptMark);
        }
        let mut x = area.x + indent;
        model.composer.draw_row(top + line, |text, is_paste| {
            x = canvas.put(x, y, right, text, if is_paste { Role::DraftPaste } else { Role::Draft });
        });
    }
    if model.composer.is_empty() {
        canvas.put_short(area.x + indent, area.y, right, &hint(model), Role::DraftHint);
    }
    let y = area.y + u16::try_from(row - top).unwrap_or(0);
    // Who reads does not write: the cursor is away.
    model.view.reading.is_none().then_some(((area.x + indent + column).min(right - 1), y))
}

/// What sending the draft would come to, at the right end of the line above it, as far as there is room.
fn counter(model: &Model, border: Area, canvas: &mut Canvas<'_>) {
    let Some(counter) = model.counter() else { return };
    let room = usize::from(border.width.saturating_sub(8));
    if let Some(words) = counter.words().iter().find(|words| columns(words) <= room) {
        let wide = u16::try_from(columns(words)).unwrap_or(0);
        let right = border.x + border.width;
        canvas.put(right - wide - 4, border.y, right, &format!(" {words} "), Role::TextMuted);
    }
}

/// What is looked for, in place of the draft; tells where the cursor stands.
fn searched(search: &Search, area: Area, canvas: &mut Canvas<'_>) -> (u16, u16) {
    let right = area.x + area.width;
    let x = canvas.put(area.x, area.y, right, "/ ", Role::PromptMark);
    // The end of long words is what one writes at.
    let room = usize::from(right.saturating_sub(x).saturating_sub(1));
    let hidden = search.text.chars().count().saturating_sub(room);
    let tail: String = search.text.chars().skip(hidden).collect();
    let end = canvas.put(x, area.y, right, &tail, Role::Draft);
    if !search.found {
        canvas.put_short(end + 2, area.y, right, "not found", Role::StatusWarning);
    }
    (end.min(right.saturating_sub(1)), area.y)
}

fn hint(model: &Model) -> Cow<'static, str> {
    if model.is_answering() {
        "the keys above answer; anything else is a draft".into()
    } else if model.view.is_working() && !model.view.runs_command_alone() {
        "write to steer the next turn".into()
    } else if model.starts_alone() {
        let key = model.keymap.key_for(CommandId::PromptSend, &model.composer_contexts());
        let key = key.map_or_else(String::new, |key| format!("{key} starts it without a prompt; or "));
        format!("{key}write a prompt for it").into()
    } else if model.view.transcript.is_empty() {
        "write a prompt, / for commands, @ for files".into()
    } else {
        "".into()
    }
}

/// What waits for its turn, the newest at the bottom.
pub(super) fn queue(model: &Model, area: Area, canvas: &mut Canvas<'_>) {
    let count = model.view.queued().count();
    let rows = usize::from(area.height);
    let right = area.x + area.width;
    for (y, (index, (text, mode))) in (area.y..).zip(model.view.queued().enumerate().skip(count - count.min(rows))) {
        if y >= area.y + area.height {
            break;
        }
        let word = match mode {
            PromptMode::Steer => "next turn",
            PromptMode::FollowUp => "follow-up",
        };
        let x = canvas.put(area.x, y, right, "◌ ", Role::PromptMark);
        let hidden = count - count.min(rows);
        let more = if index == hidden && hidden > 0 { format!(" (+{hidden} before)") } else { String::new() };
        let x = canvas.put(x, y, right, &format!("{word}{more}  "), Role::TextMuted);
        let first = text.lines().next().unwrap_or_default();
        canvas.put_short(x, y, right, first, Role::Draft);
    }
}

/// The newest notice while it is new.
pub(super) fn notice(model: &Model, area: Area, canvas: &mut Canvas<'_>) {
    let Some(notice) = model.notice().filter(|_| area.height > 0) else { return };
    let (mark, role) = match notice.level {
        Level::Info => ("·", Role::StatusInfo),
        Level::Warning => ("!", Role::StatusWarning),
        Level::Error => ("✗", Role::StatusError),
    };
    let right = area.x + area.width;
    canvas.put(area.x, area.y, right, mark, role);
    let mut inline = Inline::default();
    inline.put_lines(&notice.text, role);
    let mut lines = Lines::default();
    inline.wrap(usize::from(area.width.saturating_sub(2)).max(2), Breaks::Words, &mut lines, |_| {});
    for row in 0..usize::from(area.height) {
        let y = area.y + u16::try_from(row).unwrap_or(0);
        let end = canvas.put_row(area.x + 2, y, right, &lines, row);
        if row + 1 == usize::from(area.height) && row + 1 < lines.len() {
            // The list of notices has all of it.
            canvas.put(end.min(right.saturating_sub(1)), y, right, "…", role);
        }
    }
}

/// What completes the word being written, above the draft.
pub(super) fn completion(model: &Model, regions: &Regions, canvas: &mut Canvas<'_>) {
    let entries = &model.completion.entries;
    let room = usize::from(regions.transcript.height.saturating_sub(1)).min(8);
    let rows = entries.len().min(room);
    if rows == 0 {
        return;
    }
    let above = if regions.border.height > 0 { regions.border.y } else { regions.composer.y };
    let high = u16::try_from(rows).unwrap_or(0);
    let area = Area { x: regions.composer.x, y: above - high, width: regions.composer.width, height: high };
    canvas.fill(area, Role::List);
    let right = area.x + area.width;
    let top = (model.completion.chosen + 1).saturating_sub(rows);
    let shown = || entries.iter().enumerate().skip(top).take(rows);
    // What they are stands in one column, if the names leave room for it.
    let explained = shown().filter(|(_, entry)| !entry.detail().is_empty());
    let widest = explained.map(|(_, entry)| columns(&entry.word())).max().unwrap_or_default();
    let widest = u16::try_from(widest).unwrap_or(u16::MAX).min(area.width / 2);
    let details = area.x + (widest + 4).max(14);
    for (y, (index, entry)) in (area.y..).zip(shown()) {
        // Where Enter sends, none is chosen yet.
        let chosen = index == model.completion.chosen && !model.completion.is_only_offered();
        let role = if chosen { Role::ListChosen } else { Role::List };
        if chosen {
            canvas.fill(Area { y, height: 1, ..area }, Role::ListChosen);
        }
        canvas.put(area.x, y, right, if chosen { "▸" } else { " " }, role);
        let x = canvas.put_short(area.x + 2, y, right, &entry.word(), role);
        let detail = if chosen { Role::ListChosen } else { Role::ListDetail };
        canvas.put_short((x + 2).max(details), y, right, entry.detail(), detail);
    }
}
