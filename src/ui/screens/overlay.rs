//! What lies over the transcript: lists, pages and forms.

use super::{dialog, form, items, panel, peek, sheet, steps};
use crate::ui::cells::Canvas;
use crate::ui::painter::Painter;
use crate::ui::theme::Role;
use crate::ui::wrap::columns;
use crate::workbench::geometry::{self, Area};
use crate::workbench::layer_rows::{self, LayerLine};
use crate::workbench::overlay::{Overlay, Pager, PagerLine};
use crate::workbench::picker::{Choice, Entry, ListRow, Picker, PickerKind};
use crate::workbench::{Model, RequestShown};

/// Draws it; tells where the cursor stands, if text is edited in it.
pub(super) fn draw(model: &Model, painter: &mut Painter, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
    let area = geometry::overlay(model);
    if area.width == 0 || area.height == 0 {
        return None;
    }
    if !matches!(model.overlay, Some(Overlay::Component(_))) {
        canvas.fill(area, Role::List);
    }
    match model.overlay.as_ref()? {
        Overlay::Picker(picker) => picker_rows(model, picker, area, painter, canvas),
        Overlay::Pager(pager) => {
            page(pager, area, canvas);
            None
        }
        Overlay::Form(form) => form::draw(form, area, canvas),
        Overlay::Dialog(panel) => dialog::draw(panel, model.now, area, canvas),
        // It is drawn with the others of its kind.
        Overlay::Component(_) => None,
        Overlay::RequestPage(sheet) => sheet::draw(sheet, area, canvas),
    }
}

/// What stands in the frame of a list.
fn title(model: &Model, picker: &Picker) -> String {
    if let Some(request) = model.browser.request.as_ref().filter(|_| picker.kind == PickerKind::Layers) {
        // What others are compared with comes first where not all fits, and what tells least comes last.
        let marked = model.browser.marked.as_ref().map(|marked| format!(" · marked: {}", marked.name));
        let word = if request.number.is_some() { "context" } else { "preview" };
        let model = request.whole.as_ref().map(|whole| format!(" · {}", whole.model)).unwrap_or_default();
        format!("{word}{} · {} · {}{model}", marked.unwrap_or_default(), request.size, request.name())
    } else {
        let about = if picker.kind == PickerKind::Models { " · $ in / out per million tokens" } else { "" };
        format!("{} · {} of {}{about}", model.list_title(picker), picker.shown.len(), picker.entries.len())
    }
}

fn picker_rows(
    model: &Model,
    picker: &Picker,
    area: Area,
    painter: &mut Painter,
    canvas: &mut Canvas<'_>,
) -> Option<(u16, u16)> {
    let title = title(model, picker);
    let mut inner = canvas.frame(area, &title, Role::BorderFocused);
    if picker.kind.has_preview() {
        let (list, preview) = geometry::list_parts(model, picker, inner);
        let beside = preview.x > list.x;
        if picker.kind == PickerKind::Pipeline {
            steps::preview(model, preview, beside, canvas);
        } else if picker.kind == PickerKind::Threads {
            peek::draw(model, preview, beside, painter, canvas);
        } else {
            items::preview(model, preview, beside, canvas);
        }
        inner = list;
    }
    let right = inner.x + inner.width;
    let mut cursor = None;
    let x = canvas.put(inner.x, inner.y, right, "› ", Role::PromptMark);
    if picker.naming.is_some() || picker.filtering || !picker.filter.is_empty() {
        let (before, written) = picker.naming.as_ref().map_or(("", &picker.filter), |name| (picker.names(), name));
        let x = canvas.put(x, inner.y, right, before, Role::TextMuted);
        // The end of a long line is what one writes at.
        let room = usize::from(right.saturating_sub(x).saturating_sub(1));
        let hidden = written.chars().count().saturating_sub(room);
        let tail: String = written.chars().skip(hidden).collect();
        let end = canvas.put(x, inner.y, right, &tail, Role::Draft);
        let writes = picker.naming.is_some() || picker.filtering;
        cursor = writes.then_some((end.min(right.saturating_sub(1)), inner.y));
    } else {
        let since = model.browser.request.as_ref().filter(|_| picker.kind == PickerKind::Layers);
        let since = since.and_then(|request| request.since.as_ref());
        let hint = since.map_or_else(|| "/ to filter".to_owned(), |since| format!("/ to filter · {since}"));
        canvas.put_short(x, inner.y, right, &hint, Role::DraftHint);
    }
    let rows = usize::from(geometry::list(model).height);
    if rows == 0 {
        return cursor;
    }
    let first = inner.y + 1;
    if picker.shown.is_empty() {
        canvas.put_short(inner.x + 2, first, right, picker.empty(), Role::TextMuted);
    }
    if let Some(request) = model.browser.request.as_ref().filter(|_| picker.kind == PickerKind::Layers) {
        let list = Area { y: first, height: u16::try_from(rows).unwrap_or(u16::MAX), ..inner };
        layer_rows(request, picker, list, canvas);
        return cursor;
    }
    // Only directives stand in columns by it.
    let widest = picker.entries.iter().filter(|entry| matches!(entry.choice, Choice::Directive(_)));
    let widest = widest.map(|entry| columns(entry.label())).max().unwrap_or(0);
    let widest = u16::try_from(widest).unwrap_or(u16::MAX);
    let all = picker.rows();
    for (y, row) in (first..).zip(all.iter().skip(picker.top(&all, rows)).take(rows)) {
        let place = match row {
            ListRow::Entry(place) => *place,
            ListRow::Heading(heading) => {
                canvas.put_short(inner.x, y, right, heading, Role::Title);
                continue;
            }
        };
        let Some(entry) = picker.shown.get(place).and_then(|index| picker.entries.get(*index)) else { continue };
        let chosen = place == picker.chosen;
        let line = Area { x: inner.x, y, width: inner.width, height: 1 };
        if chosen {
            canvas.fill(line, Role::ListChosen);
        }
        let role = if chosen { Role::ListChosen } else { Role::List };
        let mark = match (chosen, entry.current) {
            _ if picker.is_marked(entry) => "◆",
            (true, _) => "▸",
            (false, true) => "*",
            (false, false) => " ",
        };
        canvas.put(line.x, y, right, mark, role);
        let line = Area { x: line.x + 2, width: line.width.saturating_sub(3), ..line };
        match &entry.choice {
            Choice::Thread(row) => panel::list_row(row, model.level_of(row), model.now, line, chosen, canvas),
            Choice::Item(item) => items::row(item, line, chosen, canvas),
            Choice::Directive(directive) => items::directive(entry, directive, widest, line, chosen, canvas),
            Choice::Queued(_) => items::queued(entry, line, chosen, canvas),
            Choice::Pipeline(step) => steps::row(model, entry, step, line, chosen, canvas),
            Choice::Command(_)
            | Choice::Model(_)
            | Choice::Theme(_)
            | Choice::Prompt(_)
            | Choice::Layer(_)
            | Choice::TakeBack(_)
            | Choice::Place(_)
            | Choice::Trust(_)
            | Choice::Runs(_)
            | Choice::Bisect(_) => {
                entry_row(entry, line, chosen, canvas);
            }
        }
    }
    cursor
}

/// The layers of a request, by the part they are in.
pub(super) fn layer_rows(request: &RequestShown, picker: &Picker, list: Area, canvas: &mut Canvas<'_>) {
    let lines = request.lines(picker, geometry::layer_columns(list.width));
    let top = layer_rows::top(&lines, picker.chosen, usize::from(list.height));
    let total = request.tokens();
    for (y, line) in (list.y..list.y + list.height).zip(lines.iter().skip(top)) {
        let area = Area { x: list.x + 2, y, width: list.width.saturating_sub(3), height: 1 };
        let chosen = line.place() == Some(picker.chosen);
        if chosen {
            canvas.fill(Area { x: list.x, width: list.width, ..area }, Role::ListChosen);
        }
        let layer = |place: usize| {
            let Choice::Layer(index) = picker.entries.get(*picker.shown.get(place)?)?.choice else { return None };
            request.layers.get(index)
        };
        match line {
            LayerLine::Part { part, layers, tokens } => {
                items::part(part, *layers, *tokens, total, Area { x: list.x, width: area.width + 2, ..area }, canvas);
            }
            LayerLine::Layer { place, whole } => {
                if chosen {
                    canvas.put(list.x, y, list.x + list.width, "▸", Role::ListChosen);
                }
                if let Some(layer) = layer(*place) {
                    items::layer(layer, *whole, total, area, chosen, canvas);
                }
            }
            LayerLine::Reason { place, bytes } => {
                if let Some(layer) = layer(*place) {
                    items::reason(layer, bytes, area, chosen, canvas);
                }
            }
        }
    }
}

fn entry_row(entry: &Entry, area: Area, chosen: bool, canvas: &mut Canvas<'_>) {
    let right = area.x + area.width;
    let (role, detail) = match (chosen, entry.usable) {
        (true, _) => (Role::ListChosen, Role::ListChosen),
        (false, true) => (Role::List, Role::ListDetail),
        (false, false) => (Role::ListUnusable, Role::ListUnusable),
    };
    let wide = u16::try_from(columns(&entry.detail())).unwrap_or(u16::MAX);
    let current = if entry.current { " (in use)" } else { "" };
    let x = canvas.put_short(area.x, area.y, right, &format!("{}{current}", entry.label()), role);
    if x.saturating_add(2).saturating_add(wide) <= right {
        canvas.put(right - wide, area.y, right, &entry.detail(), detail);
    } else if x + 4 < right {
        canvas.put_short(x + 2, area.y, right, &entry.detail(), detail);
    }
}

fn page(pager: &Pager, area: Area, canvas: &mut Canvas<'_>) {
    let inner = geometry::inside(area);
    let (width, height) = (usize::from(inner.width), usize::from(inner.height));
    let rows = pager.rows(width);
    let top = pager.top.min(rows.len().saturating_sub(height));
    let shown = rows.get(top..).unwrap_or_default();
    let mut title = pager.title.to_owned();
    if pager.filtering || !pager.filter.is_empty() {
        title = format!("{title} · search: {}{}", pager.filter, if pager.filtering { "▏" } else { "" });
    }
    if rows.len() > height {
        title = format!("{title} · {}–{} of {}", top + 1, top + shown.len().min(height), rows.len());
    }
    canvas.frame(area, &title, Role::BorderFocused);
    let (left_wide, _) = pager.columns(width);
    let (x, right) = (inner.x + 1, inner.x + inner.width);
    let said = x + u16::try_from(left_wide).unwrap_or(u16::MAX);
    for (y, row) in (inner.y..inner.y + inner.height).zip(shown) {
        match pager.lines.get(row.line) {
            Some(PagerLine::Heading(text)) => {
                canvas.put_short(x, y, right, text, Role::Title);
            }
            Some(PagerLine::Whole(text)) => {
                canvas.put_short(x, y, right, text, Role::Text);
            }
            Some(PagerLine::Row { left, text }) => {
                if row.bytes.start == 0 {
                    canvas.put_short(x, y, said.min(right), left, Role::Key);
                }
                canvas.put_short(
                    said + 2,
                    y,
                    right,
                    text.get(row.bytes.clone()).unwrap_or_default().trim_end(),
                    Role::Text,
                );
            }
            Some(PagerLine::Blank) | None => {}
        }
    }
}
