//! The thread that is looked into, beside or below the list of threads, or in its place: what it is, and its transcript as
//! the conversation draws it.

use super::{items, transcript};
use crate::ui::cells::Canvas;
use crate::ui::painter::Painter;
use crate::ui::theme::Role;
use crate::workbench::geometry::{self, Area};
use crate::workbench::{Model, Position};

pub(super) fn draw(model: &Model, area: Area, beside: bool, painter: &mut Painter, canvas: &mut Canvas<'_>) {
    if area.width < 4 || area.height == 0 {
        return;
    }
    items::part_off(area, beside, canvas);
    let Some(row) = model.chosen_thread() else { return };
    let (x, right) = (area.x + 1, area.x + area.width);
    let about = row.about();
    let head = geometry::peek_head(area.height, about.len());
    if head == 1 {
        canvas.put_short(x, area.y, right, &format!("{} · {}", row.thread_id, about.join(" · ")), Role::TextMuted);
    } else if head > 1 {
        canvas.put_short(x, area.y, right, row.thread_id.as_str(), Role::Title);
        for (y, line) in (area.y + 1..area.y + head - 1).zip(&about) {
            canvas.put_short(x, y, right, line, Role::TextMuted);
        }
    }
    let Some(area) = geometry::peek(model) else { return };
    if let Some(why) = model.peek.failed.as_ref().filter(|_| model.peek.view.is_of(&row.thread_id)) {
        canvas.put_short(x, area.y, right, why, Role::StatusError);
    } else if !model.peek.shows(&row.thread_id) {
        canvas.put_short(x, area.y, right, "reading…", Role::TextMuted);
    } else if model.peek.view.transcript.is_empty() {
        canvas.put_short(x, area.y, right, "nothing was said yet", Role::TextMuted);
    } else {
        transcript::view(model, &model.peek.view, painter, area, canvas);
        if model.peek.view.position != Position::Follow {
            transcript::pill(model, &model.peek.view, area, canvas);
        }
    }
}
