//! What extensions show around the draft and below the title, and a question of one: what it asks, and below it the choices or
//! what is written.

use crate::domain::{ShownPlace, Timestamp};
use crate::ui::cells::Canvas;
use crate::ui::theme::Role;
use crate::workbench::Model;
use crate::workbench::dialog::DialogPanel;
use crate::workbench::geometry::{Area, COMPOSER_INDENT, Regions, question_rows};

/// What extensions show around the draft.
pub(super) fn shown(model: &Model, regions: &Regions, canvas: &mut Canvas<'_>) {
    let header = model.shown_at(ShownPlace::Header);
    let above = model.shown_at(ShownPlace::AboveDraft);
    let mut below = model.shown_at(ShownPlace::BelowDraft);
    below.extend(model.shown_at(ShownPlace::Status));
    below.extend(model.shown_at(ShownPlace::Footer));
    for (area, lines) in [(regions.header, header), (regions.above, above), (regions.below, below)] {
        let (room, bottom, right) = (usize::from(area.height), area.y + area.height, area.x + area.width);
        let cut = lines.len().saturating_sub(room);
        let shown = if cut > 0 { room.saturating_sub(1) } else { room };
        for (y, line) in (area.y..bottom).zip(lines.iter().take(shown)) {
            canvas.put_styled(area.x, y, right, line, Role::TextMuted);
        }
        if cut > 0 && room > 0 {
            canvas.put(area.x, bottom - 1, right, &format!("… {} more rows", cut + 1), Role::TextMuted);
        }
    }
}

/// Draws it; tells where the cursor stands, where one writes.
pub(super) fn draw(panel: &DialogPanel, now: Timestamp, area: Area, canvas: &mut Canvas<'_>) -> Option<(u16, u16)> {
    let left = panel.open.seconds_left(now).map(|seconds| format!(" · {seconds} s left")).unwrap_or_default();
    let inner = canvas.frame(area, &format!("{} asks{left}", panel.open.from), Role::BorderFocused);
    let (right, bottom) = (inner.x + inner.width, inner.y + inner.height);
    let asked = question_rows(panel, usize::from(area.width));
    let answers = panel.options().map_or_else(|| panel.text.rows().max(1), |options| options.len());
    // The answers are seen whatever is asked; a question without room goes on in no more rows than there are.
    let least = usize::from(inner.height).saturating_sub(answers.min(usize::from(inner.height / 2).max(1)) + 1);
    let mut y = inner.y;
    for (place, (line, bytes)) in asked.iter().enumerate().take(least.max(1)) {
        let is_cut = place + 1 == least.max(1) && asked.len() > least.max(1);
        let text = if is_cut { "…" } else { line.get(bytes.clone()).unwrap_or_default() };
        canvas.put(inner.x + 1, y, right, text, if place == 0 { Role::Title } else { Role::List });
        y += 1;
    }
    y += u16::from(y < bottom.saturating_sub(1));
    let rows = usize::from(bottom.saturating_sub(y));
    if let Some(options) = panel.options() {
        let top = (panel.chosen + 1).saturating_sub(rows);
        for (place, option) in options.iter().enumerate().skip(top).take(rows) {
            let is_chosen = place == panel.chosen;
            let role = if is_chosen { Role::ListChosen } else { Role::List };
            if is_chosen {
                canvas.fill(Area { x: inner.x, y, width: inner.width, height: 1 }, Role::ListChosen);
            }
            canvas.put(inner.x + 1, y, right, if is_chosen { "▸" } else { " " }, role);
            canvas.put_short(inner.x + 3, y, right, &option.replace('\n', " "), role);
            y += 1;
        }
        return None;
    }
    let (row, column) = panel.text.caret();
    let x = inner.x + COMPOSER_INDENT;
    let top = (row + 1).saturating_sub(rows);
    let mut cursor = None;
    for line in top..(top + rows).min(panel.text.rows().max(1)) {
        canvas.put(inner.x, y, x, if line == top { "›" } else { " " }, Role::PromptMark);
        let mut at = x;
        panel.text.draw_row(line, |text, is_paste| {
            at = canvas.put(at, y, right, text, if is_paste { Role::DraftPaste } else { Role::Draft });
        });
        if panel.text.is_empty() {
            canvas.put_short(x, y, right, panel.hint(), Role::DraftHint);
        }
        if line == row {
            cursor = Some(((x + column).min(right.saturating_sub(1)), y));
        }
        y += 1;
    }
    cursor
}
