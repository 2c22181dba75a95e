//! Components of extensions: their lines, where they stand.

use crate::ui::cells::Canvas;
use crate::ui::theme::Role;
use crate::workbench::Model;
use crate::workbench::geometry;

/// Draws all that are open, the last one above the others.
pub(super) fn draw(model: &Model, canvas: &mut Canvas<'_>) {
    // Nothing lies over a call that waits for the person, nor over the draft that has the keys then.
    if model.view.approvals.shown().is_some() {
        return;
    }
    for open in model.components() {
        let area = geometry::component(model, open);
        canvas.fill(area, Role::Text);
        for (y, line) in (area.y..area.y + area.height).zip(&open.lines) {
            canvas.put_styled(area.x, y, area.x + area.width, line, Role::Text);
        }
    }
}
