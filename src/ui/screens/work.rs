//! What the thread is about, above the draft: the commands that run beside its conversation, and the steps of its to-do list, those
//! that are left first.

use super::Canvas;
use crate::domain::TodoList;
use crate::domain::todo::{Progress, Task};
use crate::ui::Role;
use crate::workbench::Model;
use crate::workbench::geometry::{Area, BACKGROUND_MOST};

pub(super) fn draw(model: &Model, area: Area, canvas: &mut Canvas<'_>) {
    let right = area.x + area.width;
    let list = model.view.open_tasks();
    let running = model.view.background().count();
    // One row is the list's, whatever runs.
    let room = area.height.saturating_sub(u16::from(list.is_some())).min(BACKGROUND_MOST);
    let shown = usize::from(room).min(running);
    let mut y = area.y;
    for (index, command) in model.view.background().take(shown).enumerate() {
        let x = canvas.put(area.x, y, right, "$ ", Role::ThreadRunning);
        let hidden = running - shown;
        let more = if index + 1 == shown && hidden > 0 { format!(" (+{hidden} more)") } else { String::new() };
        let x = canvas.put(x, y, right, &format!("{}{more}  ", command.name.0), Role::TextMuted);
        canvas.put_short(x, y, right, &command.line(), Role::Text);
        y += 1;
    }
    if let Some(list) = list {
        let height = (area.y + area.height).saturating_sub(y);
        tasks(list, Area { y, height, ..area }, canvas);
    }
}

fn tasks(list: &TodoList, area: Area, canvas: &mut Canvas<'_>) {
    if area.height == 0 {
        return;
    }
    let right = area.x + area.width;
    let x = canvas.put(area.x, area.y, right, "to do  ", Role::TextMuted);
    let rows = usize::from(area.height) - 1;
    if rows == 0 {
        canvas.put_short(x, area.y, right, &list.summary(), Role::Text);
        return;
    }
    canvas.put_short(x, area.y, right, &format!("{} of {} done", list.done(), list.tasks.len()), Role::TextMuted);
    // What comes next is on the screen; what is done, where there is room.
    let next = list.tasks.iter().position(|task| task.progress != Progress::Done).unwrap_or_default();
    let from = next.min(list.tasks.len().saturating_sub(rows));
    for (y, Task { text, progress }) in (area.y + 1..area.y + area.height).zip(list.tasks.iter().skip(from)) {
        let (mark, of_mark, of_text) = match progress {
            Progress::Done => ("✓ ", Role::ThreadDone, Role::TextMuted),
            Progress::Active => ("▸ ", Role::PromptMark, Role::Text),
            Progress::Pending => ("· ", Role::TextMuted, Role::Text),
        };
        let x = canvas.put(area.x + 2, y, right, mark, of_mark);
        canvas.put_short(x, y, right, text, of_text);
    }
}
