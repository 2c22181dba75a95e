//! Threads as rows: in the column at the left, and in the list over the transcript.

use crate::domain::{Outputs, Status, Timestamp, USUAL_DIRECTIVE, Waiting};
use crate::ui::cells::Canvas;
use crate::ui::theme::Role;
use crate::ui::wrap::columns;
use crate::workbench::geometry::{self, Area, Regions};
use crate::workbench::{Model, ThreadRow};

/// The column at the left.
pub(super) fn draw(model: &Model, regions: &Regions, canvas: &mut Canvas<'_>) {
    let area = regions.panel;
    if area.width < 4 || area.height < 2 {
        return;
    }
    let edge = area.x + area.width - 1;
    for y in area.y..area.y + area.height {
        canvas.put(edge, y, edge + 1, "│", Role::Border);
    }
    canvas.put(area.x + 1, area.y, edge, "threads", Role::Title);
    let rows = geometry::panel_threads(regions);
    if model.threads.rows.is_empty() {
        canvas.put(area.x + 1, area.y + 1, edge, "none yet", Role::TextMuted);
    }
    for (index, row) in model.threads.rows.iter().take(rows).enumerate() {
        let y = area.y + 1 + 2 * u16::try_from(index).unwrap_or(0);
        let current = model.view.thread.as_ref() == Some(&row.thread_id);
        let (mark, role) = status_mark(row);
        let title = if current { Role::Title } else { Role::Text };
        let below = indent(row.level, 3);
        canvas.put(area.x, y, edge, if current { "›" } else { " " }, Role::PromptMark);
        canvas.put(area.x + 1, y, edge, mark, role);
        canvas.put_short(area.x + 3, y, edge, &format!("{below}{}", row.name()), title);
        let background = row.background();
        let whole = format!("{} · {}", row.told(), background.clone().unwrap_or_else(|| summary(row, model.now)));
        let room = usize::from(edge.saturating_sub(area.x + 3)).saturating_sub(columns(&below));
        let detail = if columns(&whole) <= room || background.is_some() {
            whole
        } else {
            format!("{} · {} · {}", row.told(), row.spend, age(model.now.since(row.updated_at)))
        };
        let below = " ".repeat(columns(&below));
        canvas.put_short(area.x + 3, y + 1, edge, &format!("{below}{detail}"), Role::TextMuted);
    }
}

/// A row is a table's from so many columns on.
const TABLE: u16 = 76;

/// A table shows how much was written lately from so many columns on.
const WITH_BARS: u16 = 88;

/// One row of the list of threads as a table: status, age, model, turns, tokens, spend, how much it wrote, title.
fn table_row(row: &ThreadRow, level: usize, now: Timestamp, area: Area, chosen: bool, canvas: &mut Canvas<'_>) {
    let right = area.x + area.width;
    let ink = |role| if chosen { Role::ListChosen } else { role };
    let (mark, status) = status_mark(row);
    let mut x = canvas.put(area.x, area.y, right, mark, ink(status)) + 1;
    canvas.put_short(x, area.y, x + 10, row.told(), ink(status));
    x += 11;
    canvas.put_short(x, area.y, x + 6, &age(now.since(row.updated_at)), ink(Role::ListDetail));
    x += 7;
    canvas.put_short(x, area.y, x + 14, &row.model.short(), ink(Role::ListDetail));
    x += 15;
    let amounts = [(4, row.turns.to_string()), (6, row.tokens.to_string()), (8, row.spend.to_string())];
    for (wide, text) in amounts {
        let columns = u16::try_from(columns(&text)).unwrap_or(wide).min(wide);
        canvas.put_short(x + wide - columns, area.y, x + wide, &text, ink(Role::ListDetail));
        x += wide + 1;
    }
    if area.width >= WITH_BARS {
        let most = u16::try_from(Outputs::MOST).unwrap_or(0);
        canvas.put(x + 1, area.y, x + 1 + most, &row.outputs.bars(), ink(Role::StatusInfo));
        x += most + 1;
    }
    let x = canvas.put(x + 1, area.y, right, &indent(level, 8), ink(Role::List));
    let x = risk(row, x, area, chosen, canvas);
    let x = canvas.put_short(x, area.y, right, row.name(), ink(Role::List));
    if let Some(background) = row.background().filter(|_| x + 12 < right) {
        canvas.put_short(x + 2, area.y, right, &background, ink(Role::ListDetail));
    }
}

/// A sign before the name of a thread whose directive grants what is risky and does not acknowledge it; where the name
/// begins then.
fn risk(row: &ThreadRow, x: u16, area: Area, chosen: bool, canvas: &mut Canvas<'_>) -> u16 {
    let role = if chosen { Role::ListChosen } else { Role::StatusWarning };
    let sign = if row.risk.is_some() { "! " } else { "" };
    canvas.put(x, area.y, area.x + area.width, sign, role)
}

/// What stands before the name of a thread that another one started: two columns for each level, so many levels at most.
fn indent(level: usize, most: usize) -> String {
    match level.min(most) {
        0 => String::new(),
        levels => format!("{}└ ", "  ".repeat(levels - 1)),
    }
}

/// One row of the list of threads, which stands below so many others.
pub(super) fn list_row(
    row: &ThreadRow,
    level: usize,
    now: Timestamp,
    area: Area,
    chosen: bool,
    canvas: &mut Canvas<'_>,
) {
    if area.width >= TABLE {
        return table_row(row, level, now, area, chosen, canvas);
    }
    let right = area.x + area.width;
    let (mark, status_role) = status_mark(row);
    let (role, detail, status_role) = if chosen {
        (Role::ListChosen, Role::ListChosen, Role::ListChosen)
    } else {
        (Role::List, Role::ListDetail, status_role)
    };
    let x = canvas.put_short(area.x, area.y, right, mark, status_role);
    let x = canvas.put_short(x + 1, area.y, right, row.told(), status_role);
    let x = x.max(area.x + 12);
    // What most threads run is not worth a word.
    let runs = row
        .directive
        .rsplit('/')
        .next()
        .filter(|_| *row.directive != *USUAL_DIRECTIVE)
        .map(|name| format!("{name} · "));
    let x = canvas.put(x, area.y, right, &indent(level, 4), role);
    let x = risk(row, x, area, chosen, canvas);
    let name = row.name();
    if let Some(background) = row.background().filter(|_| area.width > 30) {
        let end = canvas.put_short(x, area.y, x + right.saturating_sub(x) / 2, name, role);
        canvas.put_short(end + 2, area.y, right.saturating_sub(1), &background, detail);
        return;
    }
    let all = summary(row, now);
    let told = [format!("{}{all}", runs.unwrap_or_default()), all, age(now.since(row.updated_at))];
    let place = |told: &String| right.saturating_sub(u16::try_from(columns(told)).unwrap_or(0) + 1);
    // As much as leaves room for the name.
    match told.iter().find(|told| area.width > 30 && place(told) > x + 12) {
        Some(told) => {
            canvas.put_short(x, area.y, place(told).saturating_sub(1), name, role);
            canvas.put(place(told), area.y, right, told, detail);
        }
        None => {
            canvas.put_short(x, area.y, right.saturating_sub(1), name, role);
        }
    }
}

fn summary(row: &ThreadRow, now: Timestamp) -> String {
    let turns = if row.turns == 1 { "turn" } else { "turns" };
    format!("{} {turns} · {} · {}", row.turns, row.spend, age(now.since(row.updated_at)))
}

/// A mark that tells the status without colour.
fn status_mark(row: &ThreadRow) -> (&'static str, Role) {
    match row.status {
        Status::Waiting if row.waiting == Some(Waiting::Approval) => ("?", Role::StatusWarning),
        Status::Running => ("●", Role::ThreadRunning),
        Status::Created | Status::Queued => ("◌", Role::ThreadWaiting),
        Status::Waiting | Status::Suspended => ("○", Role::ThreadWaiting),
        Status::Completed | Status::Continued => ("✓", Role::ThreadDone),
        Status::Error | Status::Killed => ("✗", Role::ThreadFailed),
        Status::Cancelled => ("■", Role::ThreadDone),
    }
}

fn age(milliseconds: u64) -> String {
    match milliseconds / 1_000 {
        0..60 => "now".to_owned(),
        seconds @ 60..3_600 => format!("{} min", seconds / 60),
        seconds @ 3_600..86_400 => format!("{} h", seconds / 3_600),
        seconds => format!("{} d", seconds / 86_400),
    }
}
