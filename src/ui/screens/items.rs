//! Rows of what can be taken up: items, directives, queued messages; and the text of the chosen item beside or below
//! its list.

use crate::domain::{Problem, Severity, Tokens};
use crate::ui::cells::Canvas;
use crate::ui::compose::change_role;
use crate::ui::lines::Lines;
use crate::ui::theme::Role;
use crate::ui::wrap::{Breaks, Inline, columns};
use crate::workbench::geometry::Area;
use crate::workbench::layer_rows;
use crate::workbench::picker::Entry;
use crate::workbench::{DirectiveChoice, ItemRow, LayerRow, Model, News, Preview};
use std::borrow::Cow;
use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;

/// One item as a row.
pub(super) fn row(item: &ItemRow, area: Area, chosen: bool, canvas: &mut Canvas<'_>) {
    let right = area.x + area.width;
    let ink = |role| if chosen { Role::ListChosen } else { role };
    let (mark, role) = match item.worst() {
        Some(Severity::Error | Severity::Fatal) => ("✗", Role::StatusError),
        Some(Severity::Warning) => ("!", Role::StatusWarning),
        None => (" ", Role::List),
    };
    let mut x = canvas.put(area.x, area.y, right, mark, ink(role)) + 1;
    if area.width > 40 {
        canvas.put_short(x, area.y, right, item.kind, ink(Role::ListDetail));
        x += 11;
    }
    let mut detail = item.space.clone();
    if !item.shadows.is_empty() {
        detail = format!("{detail} · hides {}", item.shadows.join(", "));
    }
    if let Some(word) = item.signature.filter(|word| *word != "unsigned") {
        detail = format!("{detail} · {word}");
    }
    let wide = u16::try_from(columns(&detail)).unwrap_or(u16::MAX);
    let id = u16::try_from(columns(&item.id)).unwrap_or(u16::MAX);
    if x.saturating_add(id).saturating_add(wide).saturating_add(2) <= right {
        canvas.put(right - wide, area.y, right, &detail, ink(Role::ListDetail));
        canvas.put(x, area.y, right, &item.id, ink(Role::List));
    } else {
        let x = canvas.put_short(x, area.y, right, &item.id, ink(Role::List));
        if x + 4 < right {
            canvas.put_short(x + 2, area.y, right, &detail, ink(Role::ListDetail));
        }
    }
}

/// One directive as a row: its id, and from column `from` on where it lies and what it is for.
pub(super) fn directive(
    entry: &Entry,
    directive: &DirectiveChoice,
    from: u16,
    area: Area,
    chosen: bool,
    canvas: &mut Canvas<'_>,
) {
    let right = area.x + area.width;
    let (role, detail) = match (chosen, entry.usable) {
        (true, _) => (Role::ListChosen, Role::ListChosen),
        (false, true) => (Role::List, Role::ListDetail),
        (false, false) => (Role::ListUnusable, Role::ListUnusable),
    };
    let from = (area.x + from).min(area.x + area.width / 2);
    let x = canvas.put_short(area.x, area.y, from.max(area.x + 16).min(right), &directive.id, role);
    let x = canvas.put_short((x + 2).max(from + 2), area.y, right, &directive.space, detail);
    let about = directive.refusal.as_ref().unwrap_or(&directive.description);
    let current = if entry.current { "(in use) " } else { "" };
    canvas.put_short((x + 2).max(from + 11), area.y, right, &format!("{current}{about}"), detail);
}

/// One queued message as a row.
pub(super) fn queued(entry: &Entry, area: Area, chosen: bool, canvas: &mut Canvas<'_>) {
    let right = area.x + area.width;
    let detail = if chosen { Role::ListChosen } else { Role::ListDetail };
    let x = if area.width > 40 { canvas.put_short(area.x, area.y, right, &entry.detail(), detail) + 2 } else { area.x };
    canvas.put_short(x, area.y, right, entry.label(), if chosen { Role::ListChosen } else { Role::List });
}

/// A line parts what is shown of the chosen entry from the list.
pub(super) fn part_off(area: Area, beside: bool, canvas: &mut Canvas<'_>) {
    if beside {
        for y in area.y..area.y + area.height {
            canvas.put(area.x - 1, y, area.x, "│", Role::Border);
        }
    } else {
        canvas.put(area.x, area.y - 1, area.x + area.width, &"─".repeat(usize::from(area.width)), Role::Border);
    }
}

/// The chosen item: where it lies, what is wrong with it, and its text.
pub(super) fn preview(model: &Model, area: Area, beside: bool, canvas: &mut Canvas<'_>) {
    if area.width < 4 || area.height == 0 {
        return;
    }
    part_off(area, beside, canvas);
    let (x, right, bottom) = (area.x + 1, area.x + area.width, area.y + area.height);
    let width = usize::from(area.width.saturating_sub(2)).max(1);
    let mut rows = Lines::default();
    if let Some(item) = model.chosen_item() {
        put(&mut rows, width, &item.place, Role::Title);
        put(&mut rows, width, &item.summary(), Role::TextMuted);
        // A long list of mistakes leaves room for the text.
        let most = usize::from(area.height / 3).max(1);
        for problem in item.problems.iter().take(most) {
            let (text, role) = told(problem);
            put(&mut rows, width, &text, role);
        }
        if let Some(more) = item.problems.len().checked_sub(most).filter(|more| *more > 0) {
            put(&mut rows, width, &format!("and {more} more: levain check"), Role::TextMuted);
        }
        rows.end_row();
        let shown = model.browser.preview.as_ref().filter(|preview| preview.kind == item.kind && preview.id == item.id);
        text(shown, width, usize::from(area.height), |_| Role::Text, &mut rows);
    } else if let Some(layer) = model.chosen_layer() {
        put(&mut rows, width, &format!("{} · {}", layer.kind, layer.id), Role::Title);
        put(&mut rows, width, &format!("from {}", layer.origin), Role::TextMuted);
        let sort = format!("in {} · ~{} tokens · {}", layer.part, layer.tokens, layer.lifetime);
        put(&mut rows, width, &sort, Role::TextMuted);
        if let Some(news) = layer.news {
            let told = match news {
                News::Added => "+ new since the request before",
                News::Changed => "~ changed since the request before",
                News::Moved => "> stands elsewhere than in the request before",
            };
            put(&mut rows, width, told, Role::StatusWarning);
        }
        if let Some(absence) = &layer.absence {
            put(&mut rows, width, &format!("! left out: {absence}"), Role::StatusWarning);
        }
        rows.end_row();
        text(model.browser.preview.as_ref(), width, usize::from(area.height), |_| Role::Text, &mut rows);
    } else if let Some(file) = model.chosen_change() {
        put(&mut rows, width, &file.path, Role::Title);
        rows.end_row();
        text(model.browser.preview.as_ref(), width, usize::from(area.height), change_role, &mut rows);
    }
    for (y, row) in (area.y..bottom).zip(0..rows.len()) {
        canvas.put_row(x, y, right, &rows, row);
    }
}

/// As much of the text as fits.
pub(super) fn text(preview: Option<&Preview>, width: usize, height: usize, role: fn(&str) -> Role, rows: &mut Lines) {
    match preview.and_then(|preview| preview.text.as_ref().map(|text| (text, preview.top))) {
        None => put(rows, width, "reading…", Role::TextMuted),
        Some((Err(why), _)) => put(rows, width, why, Role::StatusError),
        Some((Ok(text), top)) => {
            for line in text.lines().skip(top) {
                if rows.len() >= height {
                    break;
                }
                // Only as much of a line as can be seen is wrapped.
                let seen: String = line.chars().take(width * height).collect();
                put(rows, width, &seen, role(line));
            }
        }
    }
}

/// Columns of the bar that shows a layer's share of the request.
const BAR: u16 = 8;
/// A row has a bar from so many columns on.
const WITH_BAR: u16 = 56;

/// The heading of a part of the request: its name, and what is in it.
pub(super) fn part(name: &str, layers: usize, tokens: u64, total: u64, area: Area, canvas: &mut Canvas<'_>) {
    let right = area.x + area.width;
    let x = canvas.put_short(area.x, area.y, right, name, Role::Title);
    let count = if layers == 1 { "1 layer".to_owned() } else { format!("{layers} layers") };
    let told = format!("{count} · ~{} tokens · {}%", Tokens(tokens), percent(tokens, total));
    let wide = u16::try_from(columns(&told)).unwrap_or(u16::MAX);
    let at = right.saturating_sub(wide).max(x + 2);
    if x + 2 < at {
        canvas.put(x + 1, area.y, at - 1, &"─".repeat(usize::from(at - x - 2)), Role::Border);
    }
    canvas.put_short(at, area.y, right, &told, Role::ListDetail);
}

/// One layer as a row: its kind, what became of it, its name, its size and its share; one that was left out says why,
/// if that is `whole` in this row.
pub(super) fn layer(layer: &LayerRow, whole: bool, total: u64, area: Area, chosen: bool, canvas: &mut Canvas<'_>) {
    let right = area.x + area.width;
    let ink = |role| if chosen { Role::ListChosen } else { role };
    let kind = u16::try_from(layer_rows::KIND).unwrap_or(0);
    canvas.put_short(area.x, area.y, area.x + kind - 1, layer.kind, ink(Role::ListDetail));
    if let Some(news) = layer.news {
        canvas.put(area.x + kind - 2, area.y, area.x + kind - 1, news.sign(), ink(Role::StatusWarning));
    }
    let x = area.x + kind;
    let room = |end: u16| usize::from(end.saturating_sub(x));
    if let Some(reason) = &layer.absence {
        let told = if whole { format!("✗ {reason}") } else { "✗ left out".to_owned() };
        let wide = u16::try_from(columns(&told)).unwrap_or(u16::MAX);
        let end = right.saturating_sub(wide + 2);
        let x = canvas.put_short(x, area.y, end.max(x), &ending(&layer.id, room(end)), ink(Role::ListUnusable));
        canvas.put_short((x + 2).max(right.saturating_sub(wide)), area.y, right, &told, ink(Role::StatusWarning));
        return;
    }
    let size = format!("~{}", layer.tokens);
    let wide = u16::try_from(columns(&size)).unwrap_or(u16::MAX);
    let mut end = right.saturating_sub(wide);
    canvas.put(end, area.y, right, &size, ink(Role::ListDetail));
    end = right.saturating_sub(wide.max(6) + 1);
    if area.width >= WITH_BAR {
        end = end.saturating_sub(BAR + 1);
        canvas.put(end + 1, area.y, end + 1 + BAR, &bar(layer.tokens, total), ink(Role::StatusInfo));
    }
    canvas.put_short(x, area.y, end, &ending(&layer.id, room(end)), ink(Role::List));
}

/// Goes on with why a layer was left out.
pub(super) fn reason(layer: &LayerRow, bytes: &Range<usize>, area: Area, chosen: bool, canvas: &mut Canvas<'_>) {
    let text = layer.absence.as_deref().and_then(|reason| reason.get(bytes.clone())).unwrap_or_default();
    let x = area.x + u16::try_from(layer_rows::REASON).unwrap_or(0);
    canvas.put(x, area.y, area.x + area.width, text, if chosen { Role::ListChosen } else { Role::StatusWarning });
}

/// So much of `total`, rounded to whole percents.
fn percent(part: u64, total: u64) -> u64 {
    (part * 100 + total / 2).checked_div(total).unwrap_or(0)
}

/// A bar of [`BAR`] columns, in eighths of a column; what is there at all has at least one.
fn bar(part: u64, total: u64) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let all = u64::from(BAR) * 8;
    let eighths = if total == 0 || part == 0 { 0 } else { (part.min(total) * all / total).max(1) };
    let (full, rest) = (usize::try_from(eighths / 8).unwrap_or(0), usize::try_from(eighths % 8).unwrap_or(0));
    format!("{}{}", "█".repeat(full), EIGHTHS.get(rest).copied().unwrap_or_default())
}

/// An id in at most `room` columns. Its end tells more than its beginning, which many share.
fn ending(id: &str, room: usize) -> Cow<'_, str> {
    let Some(longest) = room.checked_sub(1).filter(|_| columns(id) > room) else { return Cow::Borrowed(id) };
    let fits = id.grapheme_indices(true).find_map(|(at, _)| id.get(at..).filter(|rest| columns(rest) <= longest));
    Cow::Owned(format!("…{}", fits.unwrap_or_default()))
}

fn told(problem: &Problem) -> (String, Role) {
    let place = problem.line.map(|line| format!("line {line}: ")).unwrap_or_default();
    let (mark, role) = match problem.severity {
        Severity::Error | Severity::Fatal => ("✗", Role::StatusError),
        Severity::Warning => ("!", Role::StatusWarning),
    };
    (format!("{mark} {place}{}; {}", problem.message, problem.remedy), role)
}

pub(super) fn put(rows: &mut Lines, width: usize, text: &str, role: Role) {
    let mut inline = Inline::default();
    inline.put(text, role);
    if inline.is_empty() {
        rows.end_row();
    } else {
        inline.wrap(width, Breaks::Words, rows, |_| {});
    }
}
