//! The context beside the conversation.

use super::items;
use crate::commands::{CommandId, Context};
use crate::ui::cells::Canvas;
use crate::ui::theme::Role;
use crate::workbench::geometry::{self, Area};
use crate::workbench::layer_rows::LayerLine;
use crate::workbench::{Model, RequestShown};

/// The column at the right.
pub(super) fn draw(model: &Model, area: Area, canvas: &mut Canvas<'_>) {
    if area.width < 12 || area.height < 3 {
        return;
    }
    for y in area.y..area.y + area.height {
        canvas.put(area.x, y, area.x + 1, "│", Role::Border);
    }
    let inner = Area { x: area.x + 2, width: area.width - 3, ..area };
    let right = inner.x + inner.width;
    let key = model.keymap.key_for(CommandId::ContextShow, &[Context::Anywhere]);
    let key = key.map(|key| key.to_string()).unwrap_or_default();
    match &model.beside.shown {
        Some(Ok(request)) => {
            let number = request.number.map(|number| format!(" #{number}")).unwrap_or_default();
            let title = format!("context{number} · {}", request.size);
            canvas.put_short(inner.x, inner.y, right, &title, Role::Title);
            layers(request, &key, Area { y: inner.y + 1, height: inner.height - 1, ..inner }, canvas);
        }
        Some(Err(why)) => {
            canvas.put_short(inner.x, inner.y, right, "context", Role::Title);
            canvas.put_short(inner.x, inner.y + 1, right, why, Role::TextMuted);
        }
        None => {
            canvas.put_short(inner.x, inner.y, right, "context", Role::Title);
            let text = if model.view.thread.is_some() { "reading…" } else { "nothing was sent yet" };
            canvas.put_short(inner.x, inner.y + 1, right, text, Role::TextMuted);
        }
    }
}

/// As many rows of layers as fit; the last row says how many more there are.
fn layers(request: &RequestShown, key: &str, area: Area, canvas: &mut Canvas<'_>) {
    let lines = request.all_lines(geometry::layer_columns(area.width + 3));
    let total = request.tokens();
    let rows = usize::from(area.height);
    let shown = if lines.len() > rows { rows.saturating_sub(1) } else { lines.len() };
    for (y, line) in (area.y..).zip(lines.iter().take(shown)) {
        let row = Area { y, height: 1, ..area };
        let layer = line.place().and_then(|place| request.layers.get(place));
        match (line, layer) {
            (LayerLine::Part { part, layers, tokens }, _) => items::part(part, *layers, *tokens, total, row, canvas),
            (LayerLine::Layer { whole, .. }, Some(layer)) => items::layer(layer, *whole, total, row, false, canvas),
            (LayerLine::Reason { bytes, .. }, Some(layer)) => items::reason(layer, bytes, row, false, canvas),
            (LayerLine::Layer { .. } | LayerLine::Reason { .. }, None) => {}
        }
    }
    let more = lines.iter().skip(shown).filter(|line| matches!(line, LayerLine::Layer { .. })).count();
    if more > 0 {
        let told = format!("… {more} more: {key}");
        canvas.put_short(area.x, area.y + area.height - 1, area.x + area.width, &told, Role::TextMuted);
    }
}
