//! The inputs of a directive, field below field.

use crate::domain::Input;
use crate::ui::cells::Canvas;
use crate::ui::lines::Lines;
use crate::ui::theme::Role;
use crate::ui::wrap::{Breaks, Inline, columns};
use crate::workbench::form::{Field, InputForm};
use crate::workbench::geometry::{Area, COMPOSER_INDENT, FIELD_MOST, field_rows};

/// Draws it; tells where the cursor stands.
pub(super) fn draw(form: &InputForm, area: Area, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
    let title = format!("inputs of {}", form.directive.id);
    let mut inner = canvas.frame(area, &title, Role::BorderFocused);
    if inner.width > 30 {
        (inner.x, inner.width) = (inner.x + 1, inner.width - 1);
    }
    let right = inner.x + inner.width;
    let bottom = inner.y + inner.height;
    let mut y = inner.y;
    // What it is for, where that leaves room for the fields.
    let needed: usize = form.fields.iter().map(field_rows).sum();
    if usize::from(inner.height) > needed && !form.directive.description.is_empty() {
        canvas.put_short(inner.x, y, right, &form.directive.description, Role::TextMuted);
        y += 2;
    }
    let room = usize::from(bottom - y);
    let mut cursor = None;
    for (place, field) in form.fields.iter().enumerate().skip(first(form, room)) {
        if y >= bottom {
            break;
        }
        let chosen = place == form.at;
        let area = Area { x: inner.x, y, width: inner.width, height: bottom - y };
        let (rows, at) = draw_field(field, chosen, area, canvas);
        cursor = cursor.or(at);
        y = y.saturating_add(rows);
    }
    cursor
}

/// The first field that is shown, so that the one that is written is whole.
fn first(form: &InputForm, room: usize) -> usize {
    let mut used = 0;
    let mut first = form.at;
    for (place, field) in form.fields.iter().enumerate().take(form.at + 1).rev() {
        // The blank below the last needs no room.
        used += field_rows(field) - usize::from(place == form.at);
        if used > room {
            break;
        }
        first = place;
    }
    first
}

/// One field; tells its height, and the cursor's place where it is written.
fn draw_field(field: &Field, chosen: bool, area: Area, canvas: &mut Canvas<'_>) -> (u16, Option<(u16, u16)>) {
    let right = area.x + area.width;
    let bottom = area.y + area.height;
    let mut y = area.y;
    let shown = field.text.rows().min(FIELD_MOST);
    // Where there is hardly any room, what is wrong stands in the place of the name, or there is neither.
    if usize::from(area.height) > shown || shown > 1 {
        match &field.wrong {
            Some(wrong) if usize::from(area.height) <= shown + 1 => {
                canvas.put_short(area.x, y, right, &format!("✗ {wrong}"), Role::StatusError);
            }
            Some(_) | None => label(field, chosen, Area { height: 1, ..area }, canvas),
        }
        y += 1;
    }
    if !field.input.options().is_empty() && field.text.rows() == 1 && y < bottom {
        put_choices(field, chosen, Area { y, height: 1, ..area }, canvas);
        y = put_wrong(
            field,
            area.x + COMPOSER_INDENT.min(area.width.saturating_sub(1)),
            y + 1,
            (right, bottom),
            canvas,
        );
        return (y + 1 - area.y, None);
    }
    let (row, column) = field.text.caret();
    let rows = shown.min(usize::from(bottom - y));
    let top = (row + 1).saturating_sub(rows).max(if row < rows { 0 } else { row + 1 - rows });
    let x = area.x + COMPOSER_INDENT.min(area.width.saturating_sub(1));
    let mut cursor = None;
    for line in top..top + rows {
        if line == top {
            canvas.put(area.x, y, x, if chosen { "›" } else { " " }, Role::PromptMark);
        }
        let mut at = x;
        field.text.draw_row(line, |text, is_paste| {
            at = canvas.put(at, y, right, text, if is_paste { Role::DraftPaste } else { Role::Draft });
        });
        if field.text.is_empty() {
            canvas.put_short(x, y, right, &empty(field), Role::DraftHint);
        }
        if chosen && line == row {
            cursor = Some(((x + column).min(right.saturating_sub(1)), y));
        }
        y += 1;
    }
    let y = put_wrong(field, x, y, (right, bottom), canvas);
    (y + 1 - area.y, cursor)
}

/// Why the field was refused, below it; answers with the row behind.
fn put_wrong(field: &Field, x: u16, y: u16, (right, bottom): (u16, u16), canvas: &mut Canvas<'_>) -> u16 {
    match &field.wrong {
        Some(wrong) if y < bottom => {
            canvas.put_short(x, y, right, &format!("✗ {wrong}"), Role::StatusError);
            y + 1
        }
        Some(_) | None => y,
    }
}

/// The values to choose from, side by side where they fit, else the chosen one with its place.
fn put_choices(field: &Field, chosen: bool, area: Area, canvas: &mut Canvas<'_>) {
    let (y, right) = (area.y, area.x + area.width);
    let mut x = area.x + COMPOSER_INDENT.min(area.width.saturating_sub(1));
    canvas.put(area.x, y, x, if chosen { "›" } else { " " }, Role::PromptMark);
    let all = field.choices();
    let place = field.taken(&all);
    if all.iter().map(|(_, word)| columns(word) + 4).sum::<usize>() > usize::from(right.saturating_sub(x)) + 2 {
        let word = place.and_then(|place| all.get(place)).map_or("nothing chosen", |(_, word)| word.as_str());
        let word = format!("‹ {word} › {} of {}", place.map_or(0, |place| place + 1), all.len());
        canvas.put_short(x, y, right, &word, Role::Draft);
        return;
    }
    for (number, (_, word)) in all.iter().enumerate() {
        let is_taken = place == Some(number);
        let mark = if is_taken { "● " } else { "○ " };
        let role = if is_taken { Role::Draft } else { Role::DraftHint };
        x = canvas.put(x, y, right, mark, role);
        x = canvas.put(x, y, right, word, role) + 2;
    }
}

/// What a value has to be, where that is not any text and no choice.
fn kind(input: &Input) -> &'static str {
    match input.kind.to_ascii_lowercase().as_str() {
        "integer" | "int" => "whole number",
        "number" | "float" => "number",
        "array" => "list",
        "object" => "JSON object",
        _ => "",
    }
}

/// What an empty field stands for.
fn empty(field: &Field) -> String {
    match &field.input.default {
        Some(default) if default.is_empty() => "nothing, unless you write something".to_owned(),
        Some(default) => format!("{default} (default)"),
        None if field.input.required => "required".to_owned(),
        None => "may stay empty".to_owned(),
    }
}

/// Its name, what its value must be where that is not any text, a mark where it is required, and what it is for.
fn label(field: &Field, chosen: bool, area: Area, canvas: &mut Canvas<'_>) {
    let right = area.x + area.width;
    let name = if chosen { Role::Title } else { Role::Text };
    let mut x = canvas.put_short(area.x, area.y, right, &field.input.name, name);
    if field.input.required {
        x = canvas.put(x, area.y, right, "*", Role::StatusWarning);
    }
    let kind = kind(&field.input);
    if !kind.is_empty() {
        x = canvas.put_short(x + 1, area.y, right, kind, Role::TextMuted);
    }
    let about = field.input.description.split_whitespace().collect::<Vec<_>>().join(" ");
    if !about.is_empty() && usize::from(right.saturating_sub(x)) > 8 {
        let mut inline = Inline::default();
        inline.put(&about, Role::TextMuted);
        let mut rows = Lines::default();
        inline.wrap(usize::from(right.saturating_sub(x + 3)).max(1), Breaks::Words, &mut rows, |_| {});
        let between = if kind.is_empty() { "  " } else { " · " };
        x = canvas.put(x, area.y, right, between, Role::TextMuted);
        let x = canvas.put_row(x, area.y, right, &rows, 0);
        if rows.len() > 1 {
            canvas.put(x.min(right.saturating_sub(1)), area.y, right, "…", Role::TextMuted);
        }
    }
}
