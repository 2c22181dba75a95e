//! Which part of the screen is where, from the model alone. Update needs it to scroll by pages, view to draw.

use super::dialog::DialogPanel;
use super::form::Field;
use super::model::Model;
use super::overlay::Overlay;
use super::picker::{Picker, PickerKind};
use super::request_page::row_ends;
use crate::domain::{OpenComponent, Spot};
use unicode_width::UnicodeWidthStr as _;

/// A rectangle of cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Area {
    pub x: u16,
    pub y: u16,
    pub width: u16,
    pub height: u16,
}

/// The parts of the screen; a part without room has no height or width.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Regions {
    pub panel: Area,
    /// The context beside the conversation.
    pub beside: Area,
    pub title: Area,
    /// What extensions show below the title.
    pub header: Area,
    pub transcript: Area,
    /// A call that waits for the person.
    pub approval: Area,
    pub notice: Area,
    /// What the thread is about: commands beside the conversation, its to-do list.
    pub work: Area,
    pub queue: Area,
    /// What extensions show above the draft.
    pub above: Area,
    /// The line above the draft.
    pub border: Area,
    pub composer: Area,
    /// What they show below it.
    pub below: Area,
    pub status: Area,
}

/// From this width on the threads column can be shown, and from the second on it is shown by default.
const PANEL_POSSIBLE: u16 = 120;
const PANEL_DEFAULT: u16 = 140;
const PANEL_WIDTH: u16 = 34;

/// From this width on the context can stand beside the conversation, and from the second on the threads do too by default.
const BESIDE_POSSIBLE: u16 = 140;
const BESIDE_AND_PANEL: u16 = 180;

/// From this width on the list of threads has three fifths of it, as a table, and the thread that is looked into the rest.
const THREADS_AND_PEEK: u16 = 150;

/// Most lines of the draft that are shown at once.
const COMPOSER_MOST: u16 = 8;

/// Most commands beside the conversation that are shown above the draft.
pub const BACKGROUND_MOST: u16 = 3;

/// Columns before the draft's text.
pub const COMPOSER_INDENT: u16 = 2;

/// Whether the threads column fits beside the transcript.
#[must_use]
pub fn has_room_for_panel(model: &Model) -> bool {
    model.size.0 >= PANEL_POSSIBLE
}

/// Whether the threads column is on the screen.
#[must_use]
pub fn shows_panel(model: &Model) -> bool {
    let columns = model.size.0;
    let from = if shows_beside(model) { BESIDE_AND_PANEL } else { PANEL_DEFAULT };
    has_room_for_panel(model) && model.panel.unwrap_or(columns >= from)
}

/// Whether the context fits beside the conversation.
#[must_use]
pub fn has_room_for_beside(model: &Model) -> bool {
    model.size.0 >= BESIDE_POSSIBLE
}

/// Whether the context stands beside the conversation.
#[must_use]
pub fn shows_beside(model: &Model) -> bool {
    model.beside.on && has_room_for_beside(model)
}

/// Columns of the context beside the conversation: two fifths, 80 at most.
fn beside_width(model: &Model) -> u16 {
    if shows_beside(model) { (model.size.0 * 2 / 5).min(80) } else { 0 }
}

/// Threads that the column shows: two rows each, below its title.
#[must_use]
pub fn panel_threads(regions: &Regions) -> usize {
    usize::from(regions.panel.height.saturating_sub(1)) / 2
}

/// Columns in which the draft is wrapped.
#[must_use]
pub fn composer_width(model: &Model) -> u16 {
    let panel = if shows_panel(model) { PANEL_WIDTH } else { 0 };
    model.size.0.saturating_sub(panel + beside_width(model)).saturating_sub(COMPOSER_INDENT).max(1)
}

/// Shares the screen out.
#[must_use]
pub fn regions(model: &Model) -> Regions {
    let (columns, rows) = model.size;
    let mut regions = Regions::default();
    let mut x = 0;
    if shows_panel(model) {
        regions.panel = Area { x: 0, y: 0, width: PANEL_WIDTH, height: rows.saturating_sub(1) };
        x = PANEL_WIDTH;
    }
    let width = columns - x - beside_width(model);
    regions.beside = Area { x: x + width, y: 0, width: beside_width(model), height: rows.saturating_sub(1) };
    let mut left = rows;
    let mut take = |wanted: u16| {
        let height = wanted.min(left);
        left -= height;
        height
    };
    // In the order of need: where one writes, how it stands, then the rest.
    let lines = u16::try_from(model.composer.rows()).unwrap_or(u16::MAX);
    let editor = model.editor().map(|open| u16::try_from(open.lines.len()).unwrap_or(u16::MAX));
    // An editor of an extension has its own frame and completions.
    let composer = match editor {
        Some(lines) => take(lines.clamp(1, (rows / 2).max(1))),
        None => take(lines.clamp(1, COMPOSER_MOST).min((rows / 3).max(1))),
    };
    let status = take(u16::from(rows >= 2));
    let approval = take(approval_rows(model, width, rows));
    let border = take(u16::from(rows >= 5 && editor.is_none()));
    let title = take(u16::from(rows >= 8));
    let notice = take(if rows >= 4 { notice_rows(model, width).min(3) } else { 0 });
    let queue = take(if rows >= 10 { u16::try_from(model.view.queued().count()).unwrap_or(3).min(3) } else { 0 });
    let work = take(work_rows(model, rows));
    let (header, above, below) = if rows >= 16 { model.shown_rows() } else { (0, 0, 0) };
    let (below, above) = (take(below.min(rows / 6)), take(above.min(rows / 4)));
    let header = take(header.min(rows / 4));
    let transcript = left;
    let mut y = 0;
    let mut place = |height: u16| {
        let area = Area { x, y, width, height };
        y += height;
        area
    };
    regions.title = place(title);
    regions.header = place(header);
    regions.transcript = place(transcript);
    regions.approval = place(approval);
    regions.notice = place(notice);
    regions.work = place(work);
    regions.queue = place(queue);
    regions.above = place(above);
    regions.border = place(border);
    regions.composer = place(composer);
    regions.below = place(below);
    regions.status = Area { x: 0, width: columns, ..place(status) };
    regions
}

/// Rows of commands beside the conversation, and of the to-do list: one below another where the screen is high, else one alone for
/// each.
fn work_rows(model: &Model, rows: u16) -> u16 {
    let count = |count: usize| u16::try_from(count).unwrap_or(u16::MAX);
    let commands = count(model.view.background().count());
    let tasks = model.view.open_tasks().map_or(0, |list| count(list.tasks.len()).saturating_add(1));
    match rows {
        0..12 => 0,
        12..24 => commands.min(1) + tasks.min(1),
        _ => commands.min(BACKGROUND_MOST) + tasks.min(rows / 6),
    }
}

/// Rows of the panel around a waiting call: its lines, what it is about, its keys and a frame; two thirds of the screen at
/// most.
fn approval_rows(model: &Model, width: u16, rows: u16) -> u16 {
    let most = usize::from((rows * 2 / 3).max(3));
    u16::try_from(approval_wants(model, width, most).min(most)).unwrap_or(rows)
}

/// Whether a waiting call is seen whole.
pub(super) fn approval_fits(model: &Model) -> bool {
    let area = regions(model).approval;
    let rows = usize::from(area.height);
    approval_wants(model, area.width, rows) <= rows
}

/// Whether the end of a waiting call is in view, from the line on that is at the top.
pub(super) fn approval_ends(model: &Model) -> bool {
    let Some(panel) = model.view.approvals.shown() else { return false };
    let area = regions(model).approval;
    if panel.top == 0 && approval_fits(model) {
        return true;
    }
    let keys = usize::from(approval_key_rows(area.width));
    let room = match usize::from(area.height) {
        // Without a frame one row is for the keys.
        height @ 0..5 => height.saturating_sub(1),
        // Two are the frame, and two say who wants what.
        height => height.saturating_sub(2).saturating_sub(if height < 6 { 1 } else { keys + 2 }),
    };
    let width = usize::from(area.width.max(8)) - 6;
    let mut rows = 0;
    panel.lines.iter().skip(panel.top).all(|line| {
        rows += row_ends(&line.text, width).len();
        rows <= room.max(1)
    })
}

/// The keys of a waiting call take a second row below this width, that of the keymap as it is shipped.
const KEYS: u16 = 91;

/// Rows of the keys of a waiting call in a panel of this width. What does not fit is left out, never what the call says: whether
/// that was seen whole is reckoned with the same rows.
#[must_use]
pub fn approval_key_rows(width: u16) -> u16 {
    if width < KEYS { 2 } else { 1 }
}

/// Rows that would show a waiting call whole, as far as it takes no more than `most`.
fn approval_wants(model: &Model, width: u16, most: usize) -> usize {
    const AROUND: usize = 4;
    let Some(panel) = model.view.approvals.shown() else { return 0 };
    let keys = usize::from(approval_key_rows(width)) - 1;
    // Inside the frame, and behind the indent of what is no name.
    let width = usize::from(width.max(8)) - 6;
    let (wants, needs) = panel.who(&model.directive);
    // Both in one row where they fit.
    let mut wanted = AROUND + keys + usize::from(wants.width() + 2 + needs.width() > width + 2);
    for line in &panel.lines {
        wanted += row_ends(&line.text, width).len();
        if wanted > most {
            break;
        }
    }
    wanted
}

fn notice_rows(model: &Model, width: u16) -> u16 {
    let Some(notice) = model.notice() else { return 0 };
    let width = usize::from(width.max(4)) - 2;
    // As much of it as three rows can hold.
    let text = notice.text.get(..notice.text.floor_char_boundary(width * 16)).unwrap_or_default();
    let rows = text.lines().map(|line| row_ends(line, width).len()).sum::<usize>();
    u16::try_from(rows.max(1)).unwrap_or(u16::MAX)
}

/// Where what lies over the transcript is drawn, with its frame.
#[must_use]
pub fn overlay(model: &Model) -> Area {
    let regions = regions(model);
    let (columns, rows) = model.size;
    let Some(overlay) = &model.overlay else { return Area::default() };
    match overlay {
        Overlay::Component(open) => component(model, open),
        Overlay::Picker(_) | Overlay::Pager(_) | Overlay::Form(_) | Overlay::Dialog(_) | Overlay::RequestPage(_) => {
            // A request needs the columns more than the list of threads beside it.
            let of_request = match overlay {
                // The list of threads says all that the one beside it says.
                Overlay::Picker(picker) => matches!(picker.kind, PickerKind::Layers | PickerKind::Threads),
                Overlay::RequestPage(_) => true,
                Overlay::Pager(_) | Overlay::Form(_) | Overlay::Dialog(_) | Overlay::Component(_) => false,
            };
            let beside = if of_request { 0 } else { regions.panel.width };
            let body = Area {
                x: beside,
                y: 0,
                width: columns - beside,
                height: rows.saturating_sub(regions.status.height + regions.notice.height),
            };
            if body.width < 60 || body.height < 16 {
                return body;
            }
            let is_large = matches!(overlay, Overlay::Picker(picker) if picker.kind.has_preview());
            if is_large || matches!(overlay, Overlay::RequestPage(_)) {
                // It shows two things at once, and may have all there is.
                return body;
            }
            // Of a narrow screen it takes the whole width, so that no ends of lines stand beside it.
            let margin = if body.width < 80 { 0 } else { 4 };
            let width = (body.width - margin).min(100);
            let height = body.height - 4;
            let entries = match overlay {
                Overlay::Picker(picker) => picker.entries.len().max(picker.rows().len()),
                Overlay::Pager(pager) => pager.rows(usize::from(width - 2)).len().saturating_sub(1),
                Overlay::RequestPage(sheet) => sheet.rows.len(),
                Overlay::Component(open) => open.lines.len(),
                Overlay::Dialog(panel) => dialog_rows(panel, usize::from(width)).saturating_sub(2),
                // Its description with a blank, and no blank below the last field; it has no filter line.
                Overlay::Form(form) => {
                    let about = if form.directive.description.is_empty() { 0 } else { 2 };
                    (form.fields.iter().map(field_rows).sum::<usize>() + about).saturating_sub(3)
                }
            };
            let height = height.min(u16::try_from(entries).unwrap_or(u16::MAX).saturating_add(4).max(8));
            Area { x: body.x + (body.width - width) / 2, y: body.y + (body.height - height) / 3, width, height }
        }
    }
}

/// Where a component of an extension is: where it says, above the status line, else at the bottom of the conversation.
#[must_use]
pub fn component(model: &Model, open: &OpenComponent) -> Area {
    let (columns, rows) = model.size;
    let lines = u16::try_from(open.lines.len()).unwrap_or(u16::MAX);
    let Regions { composer, notice, status, .. } = regions(model);
    if let Some(Spot { column, row, width }) = open.at {
        let (x, room) = (column.min(columns), rows.saturating_sub(status.height));
        let height = lines.min(room);
        return Area { x, y: row.min(room - height), width: width.min(columns - x), height };
    }
    let room = rows.saturating_sub(status.height + notice.height);
    let height = lines.min(room);
    // What it says comes first stays where there is no room for all.
    Area { x: composer.x, y: room - height, width: composer.width, height }
}

/// The rows of what a question asks, in a frame that is `width` wide.
#[must_use]
pub fn question_rows(panel: &DialogPanel, width: usize) -> Vec<(String, std::ops::Range<usize>)> {
    let width = width.saturating_sub(4).max(1);
    let text = panel.question();
    text.lines().flat_map(|line| row_ends(line, width).into_iter().map(|bytes| (line.to_owned(), bytes))).collect()
}

/// Rows of a question with its answers, a blank between.
fn dialog_rows(panel: &DialogPanel, width: usize) -> usize {
    let answers = panel.options().map_or_else(|| panel.text.rows().max(1), |options| options.len());
    question_rows(panel, width).len() + 1 + answers
}

/// Where a notice stands while something lies over the transcript: below that.
#[must_use]
pub fn overlay_notice(model: &Model) -> Area {
    let Regions { notice, status, .. } = regions(model);
    Area { y: model.size.1.saturating_sub(status.height + notice.height), ..notice }
}

/// Most rows of one field that are shown at once.
pub const FIELD_MOST: usize = 4;

/// Rows a field of a form takes: its name, what is written, what is wrong, and a blank.
#[must_use]
pub fn field_rows(field: &Field) -> usize {
    2 + field.text.rows().min(FIELD_MOST) + usize::from(field.wrong.is_some())
}

/// Columns in which the fields of a form are wrapped.
#[must_use]
pub fn form_width(model: &Model) -> u16 {
    let area = overlay(model);
    let frame = if area.width < 4 || area.height < 3 { 0 } else { 2 };
    area.width.saturating_sub(frame + COMPOSER_INDENT + 1).max(1)
}

/// Columns of a page of help or notices.
#[must_use]
pub fn pager_width(model: &Model) -> usize {
    usize::from(inside(overlay(model)).width)
}

/// Columns in which a page about a request is wrapped.
#[must_use]
pub fn sheet_width(model: &Model) -> usize {
    let area = overlay(model);
    let frame = if area.width < 4 || area.height < 3 { 0 } else { 2 };
    usize::from(area.width.saturating_sub(frame + 2)).max(1)
}

/// Twentieths of the width that a list has beside its preview. Why a layer was left out is read in the list; of a changed
/// file, the difference is.
const OF_LAYERS: u16 = 13;
const OF_FILES: u16 = 8;

/// How a list shares what is inside its frame: the list with its filter line, of so many twentieths where both stand beside
/// each other, and the preview, which may have no room.
fn parts(inner: Area, list: u16) -> (Area, Area) {
    if inner.width >= 110 {
        let list = Area { width: inner.width * list / 20, ..inner };
        let x = inner.x + list.width + 1;
        return (list, Area { x, width: inner.x + inner.width - x, ..inner });
    }
    if inner.height >= 14 {
        let list = Area { height: inner.height / 2, ..inner };
        let y = inner.y + list.height + 1;
        return (list, Area { y, height: inner.y + inner.height - y, ..inner });
    }
    (inner, Area::default())
}

/// The list of threads and the thread that is looked into. Taken as a whole that leaves the filter line.
#[must_use]
pub fn threads_parts(model: &Model, inner: Area) -> (Area, Area) {
    if model.peek.whole && inner.height > 2 {
        let y = inner.y + 2;
        return (Area { height: 1, ..inner }, Area { y, height: inner.height - 2, ..inner });
    }
    if inner.width >= THREADS_AND_PEEK {
        let list = Area { width: inner.width * 3 / 5, ..inner };
        let x = inner.x + list.width + 1;
        return (list, Area { x, width: inner.x + inner.width - x, ..inner });
    }
    parts(inner, OF_LAYERS)
}

/// How a list shares what is inside its frame with what it shows of the chosen entry.
#[must_use]
pub fn list_parts(model: &Model, picker: &Picker, inner: Area) -> (Area, Area) {
    if picker.kind == PickerKind::Threads {
        threads_parts(model, inner)
    } else if picker.kind.has_preview() {
        parts(inner, if picker.kind == PickerKind::Changes { OF_FILES } else { OF_LAYERS })
    } else {
        (inner, Area::default())
    }
}

/// Rows about the thread that is looked into, above its transcript, in an area of that height: its name, so many lines
/// and a blank, or all in one row.
#[must_use]
pub fn peek_head(height: u16, lines: usize) -> u16 {
    match height {
        0..4 => 0,
        4..14 => 1,
        _ => u16::try_from(lines).unwrap_or(u16::MAX).min(5) + 2,
    }
}

/// Where the transcript of the thread that is looked into stands, if there is room for it.
#[must_use]
pub fn peek(model: &Model) -> Option<Area> {
    let Some(Overlay::Picker(picker)) = &model.overlay else { return None };
    let lines = model.chosen_thread()?.about().len();
    let (_, area) = list_parts(model, picker, inside(overlay(model)));
    let head = peek_head(area.height, lines);
    let area =
        Area { x: area.x + 1, y: area.y + head, width: area.width.saturating_sub(2), height: area.height - head };
    (area.width > 3 && area.height > 0).then_some(area)
}

/// The rows of the entries of an open list.
#[must_use]
pub fn list(model: &Model) -> Area {
    let area = overlay(model);
    let Some(Overlay::Picker(picker)) = &model.overlay else { return Area::default() };
    let inner = list_parts(model, picker, inside(area)).0;
    // The filter stands above.
    Area { y: inner.y + 1, height: inner.height.saturating_sub(1), ..inner }
}

/// Columns of a row of a list that is so wide, without the mark of the chosen one.
#[must_use]
pub fn layer_columns(width: u16) -> usize {
    usize::from(width.saturating_sub(3))
}

/// What is inside the frame around an area; one without room has no frame.
#[must_use]
pub fn inside(area: Area) -> Area {
    if area.width < 4 || area.height < 3 {
        return area;
    }
    Area { x: area.x + 1, y: area.y + 1, width: area.width - 2, height: area.height - 2 }
}

/// Rows of the list inside what lies over the transcript.
#[must_use]
pub fn overlay_rows(model: &Model) -> usize {
    let area = overlay(model);
    if let Some(Overlay::Picker(picker)) = &model.overlay
        && picker.kind.has_preview()
    {
        let inner = Area { height: area.height.saturating_sub(2), width: area.width.saturating_sub(2), ..area };
        return usize::from(list_parts(model, picker, inner).0.height.saturating_sub(1)).max(1);
    }
    let around = model.overlay.as_ref().map_or(0, Overlay::rows_around);
    usize::from(area.height.saturating_sub(around)).max(1)
}
