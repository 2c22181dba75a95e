//! The visible rows of the transcript.

use crate::commands::CommandId;
use crate::ui::cells::Canvas;
use crate::ui::compose::is_spaced;
use crate::ui::painter::Painter;
use crate::ui::theme::Role;
use crate::ui::wrap::columns;
use crate::workbench::geometry::Area;
use crate::workbench::pointer::Spot;
use crate::workbench::transcript::BlockId;
use crate::workbench::{Model, Position, ThreadView, TranscriptLayout};
use std::ops::Range;

pub(super) fn draw(model: &Model, painter: &mut Painter, area: Area, canvas: &mut Canvas<'_>) {
    if area.height == 0 || area.width == 0 {
        return;
    }
    if model.view.transcript.is_empty() {
        welcome(model, area, canvas);
        return;
    }
    view(model, &model.view, painter, area, canvas);
    if let Some(search) = model.view.reading.as_ref().and_then(|reading| reading.search.as_ref()) {
        canvas.highlight(area, |text| search.places(text), Role::Match);
    }
    if model.view.position != Position::Follow {
        pill(model, &model.view, area, canvas);
    }
}

/// The visible rows of a thread, wherever it is shown.
pub(super) fn view(model: &Model, view: &ThreadView, painter: &mut Painter, area: Area, canvas: &mut Canvas<'_>) {
    let rows = usize::from(area.height);
    let top = view.top(painter, area.width, rows);
    let mut y = area.y;
    let bottom = area.y + area.height;
    let mut line = top.line;
    let chosen = view.chosen_blocks();
    for index in top.index..view.transcript.len() {
        let Some(block) = view.transcript.get(index) else { break };
        let height = painter.height(block, area.width);
        let left = usize::from(bottom - y);
        let count = height.saturating_sub(line).min(left);
        painter.draw(block, area.width, line..line + count, &model.colours, canvas, (area.x, y));
        if chosen.is_some_and(|(first, last)| (first..=last).contains(&index)) {
            // A blank row above a block is not of it.
            let blank = usize::from(is_spaced(block) && line == 0);
            let rows = y + u16::try_from(blank).unwrap_or(0)..y + u16::try_from(count).unwrap_or(0);
            for y in rows {
                canvas.put(area.x, y, area.x + 1, "┃", Role::PromptMark);
            }
        }
        mark(model, block.id, line..line + count, Area { y, ..area }, canvas);
        y += u16::try_from(count).unwrap_or(0);
        line = 0;
        if y >= bottom {
            break;
        }
    }
}

/// Shows which of these rows of a block are marked; they stand at the top of `area`.
fn mark(model: &Model, block: BlockId, rows: Range<usize>, area: Area, canvas: &mut Canvas<'_>) {
    let Some((first, last)) = model.marked().filter(|(first, last)| (first.block..=last.block).contains(&block)) else {
        return;
    };
    let right = area.x + area.width;
    for (y, row) in (area.y..).zip(rows) {
        let from = Spot { block, row, column: 0 };
        if (Spot { column: u16::MAX, ..from }) < first || from > last {
            continue;
        }
        let x = if (block, row) == (first.block, first.row) { first.column.clamp(area.x, right) } else { area.x };
        let end = if (block, row) == (last.block, last.row) { last.column.saturating_add(1).min(right) } else { right };
        canvas.mark_row(Area { x, y, width: end.saturating_sub(x), height: 1 }, right);
    }
}

/// Says what came below a held view, and the key that goes there.
pub(super) fn pill(model: &Model, view: &ThreadView, area: Area, canvas: &mut Canvas<'_>) {
    let key = model.keymap.key_for(CommandId::TranscriptEnd, &model.contexts());
    let key = key.map(|key| format!(" · {key} to follow")).unwrap_or_default();
    let text = match view.news() {
        0 => format!(" more below{key} "),
        news => format!(" {news} new{key} "),
    };
    let wide = u16::try_from(columns(&text)).unwrap_or(area.width).min(area.width);
    let x = area.x + area.width - wide;
    canvas.put_short(x, area.y + area.height - 1, area.x + area.width, &text, Role::Pill);
}

/// A text in rows of at most `width` columns; a word that is wider has a row of its own.
fn in_rows(text: &str, width: usize) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match rows.last_mut().filter(|row| columns(row) + 1 + columns(word) <= width) {
            Some(row) => row.extend([" ", word]),
            None => rows.push(word.to_owned()),
        }
    }
    rows
}

/// What an empty transcript says.
fn welcome(model: &Model, area: Area, canvas: &mut Canvas<'_>) {
    let right = area.x + area.width;
    let indent = if area.width > 20 { 2 } else { 0 };
    let key = |command: CommandId| {
        let key = model.keymap.key_for(command, &model.composer_contexts());
        key.map_or_else(|| "/".to_owned(), |key| key.to_string())
    };
    let mut rows: Vec<(String, String, Role)> = Vec::new();
    if model.view.link == crate::workbench::Link::Opening {
        rows.push((String::new(), "reading the log…".to_owned(), Role::TextMuted));
    } else {
        rows.push((String::new(), format!("A new thread with {}.", model.directive), Role::Title));
        let about = model.draft.as_ref().map(|draft| draft.description.as_str());
        rows.extend(
            about.filter(|about| !about.is_empty()).map(|about| (String::new(), about.to_owned(), Role::TextMuted)),
        );
        for (name, value) in &model.inputs {
            rows.push((String::new(), format!("{name}: {value}"), Role::Text));
        }
        if model.model_is_scripted {
            let text = "A script answers: no model is called and nothing is spent. For a real model set ANTHROPIC_API_KEY, \
                        OPENAI_API_KEY or GEMINI_API_KEY, or start Ollama, LM Studio or llama.cpp on this machine.";
            let width = usize::from(area.width.saturating_sub(indent)).min(80);
            rows.extend(in_rows(text, width).into_iter().map(|row| (String::new(), row, Role::StatusWarning)));
        }
        rows.push((String::new(), String::new(), Role::Text));
        for (command, text) in [
            (CommandId::ContextPreview, "preview the next request"),
            (CommandId::ContextShow, "show the newest request and its sources"),
            (CommandId::DirectiveChoose, "start another directive"),
            (CommandId::ModelChoose, "choose a model"),
            (CommandId::ThreadsShow, "open an earlier thread"),
            (CommandId::PaletteOpen, "everything else by name"),
            (CommandId::HelpShow, "every key"),
        ] {
            rows.push((key(command), text.to_owned(), Role::TextMuted));
        }
    }
    let high = u16::try_from(rows.len()).unwrap_or(u16::MAX);
    let skip = usize::from(high.saturating_sub(area.height).min(2)) * usize::from(area.height < high);
    let first = area.y + u16::from(area.height > high);
    for (y, (left, text, role)) in (first..area.y + area.height).zip(rows.into_iter().skip(skip.min(1))) {
        let mut x = area.x + indent;
        if !left.is_empty() {
            canvas.put(x, y, right, &left, Role::Key);
            x += 8;
        }
        canvas.put_short(x, y, right, &text, role);
    }
}
