//! A page about a request.

use crate::ui::cells::Canvas;
use crate::ui::theme::Role;
use crate::workbench::geometry::Area;
use crate::workbench::request::{LineKind, SheetLine};
use crate::workbench::request_page::{RequestPage, Row};

/// Draws it; tells where the cursor stands while what to look for is written.
pub(super) fn draw(sheet: &RequestPage, area: Area, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
    let search = u16::from(sheet.search.is_some());
    let height = usize::from(area.height.saturating_sub(2 + search));
    let mut title = sheet.page.title.clone();
    if sheet.rows.len() > height {
        let last = (sheet.top + height).min(sheet.rows.len());
        let more = if sheet.is_behind() { "…" } else { "" };
        title = format!("{title} · {}–{last} of {}{more}", sheet.top + 1, sheet.rows.len());
    }
    let inner = canvas.frame(area, &title, Role::BorderFocused);
    let text = Area { x: inner.x + 1, width: inner.width.saturating_sub(1), ..inner };
    let text = Area { height: text.height.saturating_sub(search), ..text };
    for (y, row) in (text.y..text.y + text.height).zip(sheet.rows.iter().skip(sheet.top)) {
        if let Some(line) = sheet.page.lines.get(row.line) {
            put(line, row, text, y, canvas);
        }
    }
    let search = sheet.search.as_ref()?;
    canvas.highlight(text, |row| search.places(row), Role::Match);
    let (y, right) = (text.y + text.height, inner.x + inner.width);
    let x = canvas.put(inner.x, y, right, "/ ", Role::PromptMark);
    // The end of long words is what one writes at.
    let room = usize::from(right.saturating_sub(x).saturating_sub(1));
    let hidden = search.text.chars().count().saturating_sub(room);
    let tail: String = search.text.chars().skip(hidden).collect();
    let end = canvas.put(x, y, right, &tail, Role::Draft);
    if search.found && !sheet.hits.is_empty() {
        canvas.put_short(end + 2, y, right, &format!("{} of {}", sheet.hit + 1, sheet.hits.len()), Role::TextMuted);
    } else if !search.found {
        canvas.put_short(end + 2, y, right, "not found", Role::StatusWarning);
    }
    search.writing.then_some((end.min(right.saturating_sub(1)), y))
}

/// One row, each of its pieces in its own colour.
fn put(line: &SheetLine, row: &Row, area: Area, y: u16, canvas: &mut Canvas<'_>) {
    let right = area.x + area.width;
    let (mut x, mut at) = (area.x, row.bytes.start);
    let piece = |from: usize, to: usize| line.text.get(from.max(row.bytes.start)..to.min(row.bytes.end));
    let first = line.marks.partition_point(|(place, _)| place.end <= at);
    for (place, sort) in line.marks.iter().skip(first) {
        if place.start >= row.bytes.end {
            break;
        }
        if let Some(before) = piece(at, place.start.max(at)) {
            x = canvas.put(x, y, right, before, role(line.sort));
        }
        if let Some(marked) = piece(place.start, place.end) {
            x = canvas.put(x, y, right, marked, role(*sort));
        }
        at = place.end;
    }
    if let Some(rest) = piece(at.min(row.bytes.end), row.bytes.end) {
        canvas.put(x, y, right, rest, role(line.sort));
    }
}

fn role(sort: LineKind) -> Role {
    match sort {
        LineKind::Plain => Role::Text,
        LineKind::Muted => Role::TextMuted,
        LineKind::Heading => Role::Title,
        LineKind::Added => Role::StatusOk,
        LineKind::Removed => Role::StatusError,
        LineKind::Changed => Role::StatusWarning,
        LineKind::Name => Role::CodeFunction,
        LineKind::Text | LineKind::OtherLayer => Role::CodeString,
        LineKind::Number => Role::CodeNumber,
        LineKind::Layer => Role::CodeType,
    }
}
