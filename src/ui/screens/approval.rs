//! The panel of a call that waits for the person: who wants what, its exact arguments, the keys that answer.

use crate::commands::{CommandId, Context};
use crate::ui::cells::Canvas;
use crate::ui::lines::Lines;
use crate::ui::theme::Role;
use crate::ui::wrap::{Breaks, Inline, columns};
use crate::workbench::Model;
use crate::workbench::approval::{LineSort, Panel};
use crate::workbench::geometry::{self, Area};

const SCROLL: &str = "scroll";

/// Draws the panel, if a call waits.
pub(super) fn draw(model: &Model, area: Area, canvas: &mut Canvas<'_>) {
    let Some(panel) = model.view.approvals.shown().filter(|_| area.height > 0 && area.width > 2) else { return };
    canvas.fill(area, Role::Text);
    let title = match model.view.transcript.unanswered_calls().max(model.view.approvals.len()) {
        0 | 1 => format!("approval · {}", panel.tool()),
        all => format!("approval · {} · 1 of {all} calls", panel.tool()),
    };
    let mut inner = area;
    if area.height >= 5 {
        let role = if model.is_answering() { Role::BorderFocused } else { Role::Border };
        inner = canvas.frame(area, &title, role);
        inner = Area { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
    }
    let keys = keys(model);
    // On a small screen the arguments come before who asks and before the second row of keys.
    let rows = if inner.height < 4 { 1 } else { geometry::approval_key_rows(area.width) };
    let right = inner.x + inner.width;
    let mut y = inner.y;
    if inner.height > rows + 2 {
        let (wants, needs) = panel.who(&model.directive);
        let end = canvas.put_short(inner.x, y, right, &wants, Role::StatusWarning);
        if usize::from(end + 2) + columns(&needs) <= usize::from(right) {
            canvas.put(end + 2, y, right, &needs, Role::TextMuted);
        } else if inner.height > rows + 4 {
            y += 1;
            canvas.put_short(inner.x, y, right, &needs, Role::TextMuted);
        }
        y += 1;
    }
    let bottom = inner.y + inner.height - rows;
    let key = model.keymap.key_for(CommandId::ApprovalFold, &[Context::Answering]);
    let does = if panel.is_folded() { "shows them" } else { "hides them" };
    let fold = key.map(|key| format!("{key} {does}")).unwrap_or_default();
    let whole = call(panel, &fold, Area { y, height: bottom.saturating_sub(y), ..inner }, canvas);
    let mut left = inner.x;
    if area.height < 5 {
        // Without a frame there is no title that names the tool.
        left = canvas.put_short(left, bottom, left + inner.width / 2, panel.tool(), Role::StatusWarning) + 1;
    }
    // A key that would do nothing is not offered.
    let offered: Vec<_> = keys.into_iter().filter(|(_, word)| !whole || *word != SCROLL).collect();
    put_keys(&offered, Area { x: left, y: bottom, width: right.saturating_sub(left), height: rows }, canvas);
}

/// The arguments from the line on that is at the top; `fold` tells the key that folds them. Whether they are all seen.
fn call(panel: &Panel, fold: &str, area: Area, canvas: &mut Canvas<'_>) -> bool {
    if area.height == 0 {
        return false;
    }
    let right = area.x + area.width;
    let mut y = area.y;
    let bottom = area.y + area.height;
    for (index, line) in panel.lines.iter().enumerate().skip(panel.top) {
        let role = match line.sort {
            LineSort::Name | LineSort::Fold => Role::Key,
            LineSort::Text => Role::MarkdownCodeBlock,
            LineSort::Added => Role::StatusOk,
            LineSort::Removed => Role::StatusError,
            LineSort::Place => Role::TextMuted,
        };
        let indent = if matches!(line.sort, LineSort::Name | LineSort::Fold) || area.width < 30 { 0 } else { 2 };
        let room = usize::from(area.width.saturating_sub(indent).max(1));
        let (mut inline, mut rows) = (Inline::default(), Lines::default());
        inline.put(&line.text, role);
        inline.wrap(room, Breaks::Words, &mut rows, |_| {});
        for row in 0..rows.len() {
            if y >= bottom {
                more(panel.lines.len() - index, Area { y: bottom.saturating_sub(1), height: 1, ..area }, canvas);
                return false;
            }
            canvas.put_row(area.x + indent, y, right, &rows, row);
            y += 1;
        }
        if line.sort == LineSort::Fold && rows.len() == 1 {
            let x = area.x + u16::try_from(columns(&line.text)).unwrap_or(area.width) + 2;
            if usize::from(x) + columns(fold) <= usize::from(right) {
                canvas.put(x, y - 1, right, fold, Role::TextMuted);
            }
        }
    }
    panel.top == 0
}

/// Says at the right of the last row that there is more.
fn more(lines: usize, area: Area, canvas: &mut Canvas<'_>) {
    let text = if area.width < 40 { format!(" +{lines} ") } else { format!(" {lines} more below ") };
    let wide = u16::try_from(columns(&text)).unwrap_or(area.width);
    if wide < area.width {
        let right = area.x + area.width;
        canvas.put(right - wide, area.y, right, &text, Role::Pill);
    }
}

/// The keys that answer, and what they do.
fn keys(model: &Model) -> Vec<(String, &'static str)> {
    let (contexts, commands): (&[Context], &[(CommandId, &'static str)]) = if model.is_armed() {
        (
            &[Context::Answering, Context::Waiting, Context::Approval],
            &[
                (CommandId::ApprovalOnce, "allow once"),
                (CommandId::ApprovalDeny, "deny"),
                (CommandId::ApprovalRefuse, "say why"),
                (CommandId::ApprovalThread, "in this thread"),
                (CommandId::ApprovalAlways, "always here"),
                (CommandId::ListDown, SCROLL),
            ],
        )
    } else {
        (&[Context::Approval], &[(CommandId::ApprovalTake, "answer"), (CommandId::ApprovalDeny, "deny")])
    };
    let commands = if model.is_answering() && !model.is_armed() { &commands[1..] } else { commands };
    let goes_on = model.is_answering() && model.view.approval_goes_on();
    let key = |command: CommandId| model.keymap.key_for(command, contexts).map(|key| key.to_string());
    let mut keys: Vec<_> = commands.iter().filter_map(|(command, word)| Some((key(*command)?, *word))).collect();
    if goes_on {
        let scroll = |command| model.keymap.key_for(command, &[Context::Waiting]).map(|key| key.to_string());
        keys.extend(scroll(CommandId::ListPageDown).map(|key| (key, "read on")));
        keys.extend(scroll(CommandId::ListLast).map(|key| (key, "to its end")));
    }
    if !model.is_answering() {
        keys.push((String::new(), "keys go to your draft"));
    } else if !model.is_armed() {
        keys.push((String::new(), if goes_on { "read to its end first" } else { "read it first" }));
    }
    keys
}

fn wide(key: &str, word: &str) -> u16 {
    u16::try_from(columns(key) + columns(word) + usize::from(!key.is_empty())).unwrap_or(u16::MAX)
}

fn put_keys(keys: &[(String, &str)], area: Area, canvas: &mut Canvas<'_>) {
    let right = area.x + area.width;
    let (mut x, mut y) = (area.x, area.y);
    for (key, word) in keys {
        if x > area.x && x + wide(key, word) > right {
            (x, y) = (area.x, y + 1);
        }
        if y >= area.y + area.height {
            return;
        }
        x = canvas.put(x, y, right, key, Role::Key);
        x += u16::from(!key.is_empty());
        x = canvas.put_short(x, y, right, word, Role::TextMuted) + 3;
    }
}
