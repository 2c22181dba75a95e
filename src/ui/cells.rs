//! Writing text into cells.

use super::glyphs::harmless;
use super::lines::{Ink, Lines};
use super::links;
use super::theme::{Role, Theme};
use super::wrap::{Graphemes, grapheme_columns};
use crate::workbench::geometry::{self, Area};
use ansi_to_tui::IntoText as _;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use std::collections::BTreeMap;
use std::ops::Range;

/// A buffer and the theme it is written in.
pub(super) struct Canvas<'frame> {
    pub(super) buffer: &'frame mut Buffer,
    pub(super) theme: &'frame Theme,
    /// Where the links of the frame lead, by the marks of their cells.
    pub(super) links: BTreeMap<u32, String>,
}

impl Canvas<'_> {
    pub(super) fn style(&self, ink: Ink) -> Style {
        // Whatever is written over a link is no part of it.
        self.theme.style(ink.role).add_modifier(ink.emphasis.modifier()).underline_color(Color::Reset)
    }

    /// The mark of a link's cells; none when another link of the frame has the same.
    fn mark(&mut self, target: &str) -> Option<Color> {
        let mark = links::mark(target);
        let known = self.links.entry(mark).or_insert_with(|| target.to_owned());
        (known == target).then(|| links::colour_of(mark))
    }

    /// Writes text from column `x` on, at most up to column `end`; tells where it stopped.
    pub(super) fn put(&mut self, x: u16, y: u16, end: u16, text: &str, ink: impl Into<Ink>) -> u16 {
        let style = self.style(ink.into());
        self.put_harmless(x, y, end, &harmless(text), style)
    }

    /// Makes column `x` visible: a wide letter that reaches into it from the left would hide what is written there.
    fn uncover(&mut self, x: u16, y: u16) {
        let Some(left) = x.checked_sub(1).and_then(|left| self.buffer.cell_mut((left, y))) else { return };
        if !left.symbol().is_ascii() && grapheme_columns(left.symbol()) > 1 {
            left.set_symbol(" ");
        }
    }

    /// Like [`Self::put`] for text that is known to be harmless.
    fn put_harmless(&mut self, x: u16, y: u16, end: u16, text: &str, style: Style) -> u16 {
        let area = self.buffer.area;
        let end = end.min(area.right());
        if y < area.y || y >= area.bottom() || x < area.x || x >= end {
            return x;
        }
        self.uncover(x, y);
        let first = self.buffer.index_of(x, y);
        let Some(cells) = self.buffer.content.get_mut(first..first + usize::from(end - x)) else { return x };
        let mut column = 0;
        if text.is_ascii() {
            for (cell, byte) in cells.iter_mut().zip(text.bytes()) {
                cell.set_char(char::from(byte)).set_style(style);
                column += 1;
            }
        } else {
            for (grapheme, wide) in Graphemes::of(text) {
                if wide == 0 {
                    continue;
                }
                let Some(covered) = cells.get_mut(column..column + wide) else { break };
                for (index, cell) in covered.iter_mut().enumerate() {
                    if index == 0 {
                        cell.set_symbol(grapheme).set_style(style);
                    } else {
                        cell.reset();
                        cell.set_style(style);
                    }
                }
                column += wide;
            }
        }
        x + u16::try_from(column).unwrap_or(0)
    }

    /// Writes text and ends it with `…` where it does not fit.
    pub(super) fn put_short(&mut self, x: u16, y: u16, end: u16, text: &str, ink: impl Into<Ink>) -> u16 {
        let ink = ink.into();
        let room = usize::from(end.saturating_sub(x));
        // Only as much as can be seen is looked at.
        let text: String = text.chars().take(room * 4 + 8).collect();
        if super::wrap::columns(&harmless(&text)) <= room {
            return self.put(x, y, end, &text, ink);
        }
        let stopped = self.put(x, y, end.saturating_sub(1), &text, ink);
        self.put(stopped, y, end, "…", ink)
    }

    /// Writes text with sequences of styles (SGR) on the style of `role`; tells where it stopped.
    pub(super) fn put_styled(&mut self, x: u16, y: u16, end: u16, text: &str, role: Role) -> u16 {
        let ground = self.style(role.into());
        let Ok(parsed) = text.into_text() else { return self.put(x, y, end, text, role) };
        let spans = parsed.lines.into_iter().flat_map(|line| line.spans);
        spans.fold(x, |at, span| {
            let style = ground.patch(self.theme.fit(span.style));
            self.put_harmless(at, y, end, &harmless(&span.content), style)
        })
    }

    /// Writes a row of rendered lines; tells where it ended.
    pub(super) fn put_row(&mut self, x: u16, y: u16, end: u16, lines: &Lines, row: usize) -> u16 {
        let mut at = x;
        for (text, ink) in lines.row(row) {
            let mut style = self.style(ink);
            if let Some(mark) = lines.target(ink.link).and_then(|target| self.mark(target)) {
                style = style.underline_color(mark);
            }
            at = self.put_harmless(at, y, end, text, style);
        }
        at
    }

    /// Gives the places that `find` finds in the text of each row (as ranges of bytes) a style.
    pub(super) fn highlight(&mut self, area: Area, find: impl Fn(&str) -> Vec<Range<usize>>, role: Role) {
        let style = self.theme.style(role);
        let area = rect(area).intersection(self.buffer.area);
        let (mut text, mut starts) = (String::new(), Vec::new());
        for y in area.top()..area.bottom() {
            text.clear();
            starts.clear();
            for x in area.left()..area.right() {
                starts.push(text.len());
                text.push_str(self.buffer.cell((x, y)).map_or(" ", |cell| cell.symbol()));
            }
            for place in find(&text) {
                let from = starts.partition_point(|start| *start <= place.start).saturating_sub(1);
                let to = starts.partition_point(|start| *start < place.end);
                for x in (area.left()..area.right()).skip(from).take(to - from) {
                    if let Some(cell) = self.buffer.cell_mut((x, y)) {
                        cell.set_style(style);
                    }
                }
            }
        }
    }

    /// Shows that what stands in a row is marked, up to column `end`: whole letters, and no blanks behind the last of them.
    pub(super) fn mark_row(&mut self, area: Area, end: u16) {
        let symbol = |x: u16| self.buffer.cell((x, area.y)).map_or(" ", |cell| cell.symbol());
        let is_wide = |x: u16| grapheme_columns(symbol(x)) > 1;
        let Some(last) = (area.x.saturating_sub(1)..end).rev().find(|x| symbol(*x) != " ") else { return };
        let text_end = last + 1 + u16::from(is_wide(last));
        let from = area.x - u16::from(area.x > 0 && is_wide(area.x - 1));
        let to = (area.x + area.width).min(text_end);
        let to = to + u16::from(to > from && is_wide(to - 1));
        let marked = Area { x: from, width: to.saturating_sub(from), ..area };
        self.buffer.set_style(rect(marked).intersection(self.buffer.area), self.theme.style(Role::Selection));
    }

    /// Empties an area and gives it a style.
    pub(super) fn fill(&mut self, area: Area, role: Role) {
        let style = self.theme.style(role);
        let area = rect(area).intersection(self.buffer.area);
        for y in area.top()..area.bottom() {
            self.uncover(area.left(), y);
            for x in area.left()..area.right() {
                if let Some(cell) = self.buffer.cell_mut((x, y)) {
                    cell.reset();
                    cell.set_style(style);
                }
            }
        }
    }

    /// A frame with its title around an area; tells what is inside.
    pub(super) fn frame(&mut self, area: Area, title: &str, role: Role) -> Area {
        if area.width < 4 || area.height < 3 {
            return area;
        }
        let (right, bottom) = (area.x + area.width - 1, area.y + area.height - 1);
        let flat = "─".repeat(usize::from(area.width - 2));
        for (y, left_corner, right_corner) in [(area.y, "┌", "┐"), (bottom, "└", "┘")] {
            self.put(area.x, y, right + 1, left_corner, role);
            self.put(area.x + 1, y, right, &flat, role);
            self.put(right, y, right + 1, right_corner, role);
        }
        for y in area.y + 1..bottom {
            self.put(area.x, y, right + 1, "│", role);
            self.put(right, y, right + 1, "│", role);
        }
        if !title.is_empty() {
            let at = self.put(area.x + 1, area.y, right, " ", role);
            let at = self.put_short(at, area.y, right, title, Role::Title);
            self.put(at, area.y, right, " ", role);
        }
        geometry::inside(area)
    }
}

pub(super) fn rect(area: Area) -> Rect {
    Rect { x: area.x, y: area.y, width: area.width, height: area.height }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_over_wide_letters_keeps_its_sides() {
        let theme = Theme::default();
        let mut buffer = Buffer::empty(Rect { x: 0, y: 0, width: 12, height: 3 });
        let mut canvas = Canvas { buffer: &mut buffer, theme: &theme, links: BTreeMap::new() };
        for y in 0..3 {
            canvas.put(0, y, 12, "急がば回れ漢", Role::Text);
        }
        canvas.fill(Area { x: 3, y: 0, width: 6, height: 3 }, Role::Text);
        canvas.frame(Area { x: 3, y: 0, width: 6, height: 3 }, "", Role::Border);
        let row: Vec<&str> = (0..12).map(|x| buffer.cell((x, 1)).map_or("", |cell| cell.symbol())).collect();
        assert_eq!(row, ["急", " ", " ", "│", " ", " ", " ", " ", "│", " ", "漢", " "]);
    }
}
