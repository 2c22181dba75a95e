//! Tables with aligned columns; where they are too wide, cells wrap.

use crate::ui::lines::Ink;
use crate::ui::lines::Lines;
use crate::ui::theme::{Emphasis, Role};
use crate::ui::wrap::{Breaks, Inline, columns};
use pulldown_cmark::Alignment;

/// Columns between two table columns: ` │ `.
const BETWEEN: usize = 3;

/// A table being read.
pub(super) struct Table {
    alignments: Vec<Alignment>,
    rows: Vec<Vec<Inline>>,
    row: Vec<Inline>,
}

impl Table {
    pub(super) fn new(alignments: &[Alignment]) -> Self {
        Self { alignments: alignments.to_vec(), rows: Vec::new(), row: Vec::new() }
    }

    pub(super) fn cell(&mut self, cell: Inline) {
        self.row.push(cell);
    }

    pub(super) fn end_row(&mut self) {
        self.rows.push(std::mem::take(&mut self.row));
    }

    /// Writes the rows within `width` columns.
    pub(super) fn write(&self, width: usize, lines: &mut Lines, mut begin: impl FnMut(&mut Lines)) {
        let count = self.alignments.len().max(1);
        let Some(widths) = self.widths(width) else {
            // No room for columns: one cell a row.
            for cell in self.rows.iter().flatten() {
                cell.wrap(width, Breaks::Words, lines, &mut begin);
            }
            return;
        };
        for (index, row) in self.rows.iter().enumerate() {
            let cells: Vec<Lines> = (0..count)
                .map(|column| {
                    let mut cell = Lines::default();
                    if let Some(inline) = row.get(column) {
                        inline.wrap(widths[column], Breaks::Words, &mut cell, |_| {});
                    }
                    cell
                })
                .collect();
            let high = cells.iter().map(Lines::len).max().unwrap_or(0);
            for line in 0..high {
                begin(lines);
                for (column, cell) in cells.iter().enumerate() {
                    if column > 0 {
                        lines.put(" │ ", Role::MarkdownTable.into());
                    }
                    self.put_cell(lines, cell, line, column, widths[column], index == 0, column + 1 == count);
                }
                lines.end_row();
            }
            if index == 0 {
                begin(lines);
                for (column, wide) in widths.iter().enumerate() {
                    if column > 0 {
                        lines.put("─┼─", Role::MarkdownTable.into());
                    }
                    lines.put(&"─".repeat(*wide), Role::MarkdownTable.into());
                }
                lines.end_row();
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "a cell is a row, a column and where it stands")]
    fn put_cell(
        &self,
        lines: &mut Lines,
        cell: &Lines,
        line: usize,
        column: usize,
        wide: usize,
        head: bool,
        last: bool,
    ) {
        let used: usize = cell.row(line).map(|(text, _)| columns(text)).sum();
        let blank = wide.saturating_sub(used);
        let before = match self.alignments.get(column) {
            Some(Alignment::Right) => blank,
            Some(Alignment::Center) => blank / 2,
            Some(Alignment::Left | Alignment::None) | None => 0,
        };
        lines.put(&" ".repeat(before), Role::Text.into());
        for (text, ink) in cell.row(line) {
            let emphasis = if head { ink.emphasis.with(Emphasis::BOLD) } else { ink.emphasis };
            lines.put_from(cell.links(), text, Ink { emphasis, ..ink });
        }
        if !last {
            lines.put(&" ".repeat(blank - before), Role::Text.into());
        }
    }

    /// Columns of each column: what they want where there is room; otherwise the wide ones share what is left.
    fn widths(&self, width: usize) -> Option<Vec<usize>> {
        let count = self.alignments.len().max(1);
        let room = width.checked_sub((count - 1) * BETWEEN)?;
        let wanted: Vec<usize> = (0..count)
            .map(|column| {
                self.rows.iter().filter_map(|row| row.get(column)).map(Inline::columns).max().unwrap_or(0).max(1)
            })
            .collect();
        if wanted.iter().sum::<usize>() <= room {
            return Some(wanted);
        }
        if room < count * 4 {
            return None;
        }
        // The narrow columns get what they want, the others an equal share of the rest.
        let mut widths = vec![0; count];
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_key(|column| wanted[*column]);
        let mut left = room;
        for (place, column) in order.into_iter().enumerate() {
            let share = left / (count - place);
            widths[column] = wanted[column].min(share);
            left -= widths[column];
        }
        Some(widths)
    }
}
