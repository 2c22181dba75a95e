//! The rows of the context screen: the layers of a request by the part they are in, each part under a heading.

use super::geometry;
use super::message::{LayerRow, RequestShown};
use super::model::Model;
use super::overlay::Overlay;
use super::picker::{Choice, Picker};
use super::request_page::row_ends;
use std::ops::Range;
use unicode_width::UnicodeWidthStr as _;

/// Columns of a layer's kind, with the blank behind it.
pub const KIND: usize = 14;
/// Columns before a reason that has rows of its own.
pub const REASON: usize = 4;

/// One row of the list of layers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LayerLine {
    /// A part of the request begins: so many of its layers are in it, and take so many tokens.
    Part { part: String, layers: usize, tokens: u64 },
    /// The layer at this place of the list. Why it was left out stands in the same row where it fits (`whole`).
    Layer { place: usize, whole: bool },
    /// These bytes of the reason why the layer at this place was left out.
    Reason { place: usize, bytes: Range<usize> },
}

impl LayerLine {
    /// The place of the layer that it is about.
    #[must_use]
    pub fn place(&self) -> Option<usize> {
        match self {
            Self::Part { .. } => None,
            Self::Layer { place, .. } | Self::Reason { place, .. } => Some(*place),
        }
    }
}

impl RequestShown {
    /// Tokens of what is in it.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.layers.iter().filter(|layer| layer.absence.is_none()).map(|layer| layer.tokens).sum()
    }

    /// The rows of `picker`, which lists its layers, where so many columns are for each.
    #[must_use]
    pub fn lines(&self, picker: &Picker, width: usize) -> Vec<LayerLine> {
        self.lines_of(
            width,
            picker.shown.iter().enumerate().filter_map(|(place, index)| {
                let Choice::Layer(index) = picker.entries.get(*index)?.choice else { return None };
                Some((place, self.layers.get(index)?))
            }),
        )
    }

    /// The rows of all its layers, where so many columns are for each.
    #[must_use]
    pub fn all_lines(&self, width: usize) -> Vec<LayerLine> {
        self.lines_of(width, self.layers.iter().enumerate())
    }

    fn lines_of<'a>(&'a self, width: usize, layers: impl Iterator<Item = (usize, &'a LayerRow)>) -> Vec<LayerLine> {
        let mut lines = Vec::new();
        let mut part: Option<&str> = None;
        for (place, layer) in layers {
            if part != Some(&layer.part) {
                part = Some(&layer.part);
                lines.push(self.heading_of(&layer.part));
            }
            let Some(reason) = &layer.absence else {
                lines.push(LayerLine::Layer { place, whole: true });
                continue;
            };
            let whole = KIND + layer.id.width() + "  ✗ ".width() + reason.width() <= width;
            lines.push(LayerLine::Layer { place, whole });
            if !whole {
                let rows = row_ends(reason, width.saturating_sub(REASON));
                lines.extend(rows.into_iter().map(|bytes| LayerLine::Reason { place, bytes }));
            }
        }
        lines
    }

    fn heading_of(&self, part: &str) -> LayerLine {
        let inside = || self.layers.iter().filter(|layer| layer.part == part && layer.absence.is_none());
        LayerLine::Part {
            part: part.to_owned(),
            layers: inside().count(),
            tokens: inside().map(|layer| layer.tokens).sum(),
        }
    }
}

/// The first of `lines` in a list of so many rows: the chosen layer is seen, with the heading above it if it is the first
/// of its part.
#[must_use]
pub fn top(lines: &[LayerLine], chosen: usize, rows: usize) -> usize {
    let first = lines.iter().position(|line| line.place() == Some(chosen)).unwrap_or(0);
    let last = lines.iter().rposition(|line| line.place() == Some(chosen)).unwrap_or(0);
    let heading = first.checked_sub(1).filter(|above| lines.get(*above).is_some_and(|line| line.place().is_none()));
    (last + 1).saturating_sub(rows).min(heading.unwrap_or(first))
}

impl Model {
    /// Chooses the layer in a row of the list as it is on the screen; whether it was chosen before. None where no layers
    /// are listed.
    pub(super) fn choose_layer_row(&mut self, row: usize) -> Option<bool> {
        let list = geometry::list(self);
        let Some(Overlay::Picker(picker)) = &self.overlay else { return None };
        let request = self.browser.request.as_ref().filter(|_| picker.kind == super::picker::PickerKind::Layers)?;
        let lines = request.lines(picker, geometry::layer_columns(list.width));
        let top = top(&lines, picker.chosen, usize::from(list.height));
        let Some(place) = lines.get(top + row).and_then(LayerLine::place) else { return Some(false) };
        let Some(Overlay::Picker(picker)) = &mut self.overlay else { return None };
        Some(std::mem::replace(&mut picker.chosen, place) == place)
    }

    /// Goes to the next layer that was left out, or the one before; round the ends.
    pub(super) fn next_left_out(&mut self, forward: bool) {
        let Some(Overlay::Picker(picker)) = &mut self.overlay else { return };
        let out: Vec<usize> = picker
            .shown
            .iter()
            .enumerate()
            .filter_map(|(place, index)| (!picker.entries.get(*index)?.usable).then_some(place))
            .collect();
        let next = if forward {
            out.iter().find(|place| **place > picker.chosen).or(out.first())
        } else {
            out.iter().rfind(|place| **place < picker.chosen).or(out.last())
        };
        match next {
            Some(place) => picker.chosen = *place,
            None => self.say(super::message::Level::Info, "nothing was left out of what is listed"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::picker::{Entry, PickerKind};
    use super::*;

    fn request(layers: &[(&str, &str, u64, Option<&str>)]) -> RequestShown {
        let row = |(part, id, tokens, absence): &(&str, &str, u64, Option<&str>)| LayerRow {
            part: (*part).into(),
            id: (*id).into(),
            kind: "hook",
            tokens: *tokens,
            absence: absence.map(str::to_owned),
            ..LayerRow::default()
        };
        RequestShown { layers: layers.iter().map(row).collect(), ..RequestShown::default() }
    }

    fn picker(request: &RequestShown) -> Picker {
        let entry = |(index, layer): (usize, &LayerRow)| Entry {
            choice: Choice::Layer(index),
            label: layer.id.clone(),
            detail: format!("{} {}", layer.part, layer.absence.as_deref().unwrap_or_default()),
            usable: layer.absence.is_none(),
            current: false,
            body: Some(format!("the text of {}", layer.id).into()),
            group: None,
        };
        Picker::new(PickerKind::Layers, request.layers.iter().enumerate().map(entry).collect(), false)
    }

    #[test]
    fn layers_stand_by_part_and_reasons_are_never_cut() {
        let reason = "condition false: environment eq production, was staging";
        let request = request(&[
            ("system", "a", 10, None),
            ("system", "b", 90, Some(reason)),
            ("message 1", "c", 5, Some("off")),
            ("message 1", "d", 30, None),
        ]);
        let picker = picker(&request);
        let lines = request.lines(&picker, 40);
        assert_eq!(lines[0], LayerLine::Part { part: "system".into(), layers: 1, tokens: 10 });
        assert_eq!(lines[1], LayerLine::Layer { place: 0, whole: true });
        assert_eq!(lines[2], LayerLine::Layer { place: 1, whole: false });
        let told: String = lines
            .iter()
            .filter_map(
                |line| if let LayerLine::Reason { bytes, .. } = line { reason.get(bytes.clone()) } else { None },
            )
            .collect();
        assert_eq!(told, reason);
        assert!(lines.contains(&LayerLine::Layer { place: 2, whole: true }));
        assert_eq!(request.lines(&picker, 90).len(), 6, "all in one row each");
        assert_eq!(request.tokens(), 40);
        assert_eq!(top(&lines, 0, 3), 0);
        assert_eq!(top(&lines, 3, 3), lines.len() - 3);
    }

    #[test]
    fn a_filter_keeps_the_order_and_looks_into_texts_when_asked() {
        let request = request(&[("system", "zeta", 1, None), ("tools", "alpha", 1, Some("over its budget"))]);
        let mut picker = picker(&request);
        for (filter, left) in [
            ("a", vec![0, 1]),
            ("budget", vec![1]),
            ("system", vec![0]),
            ("text of", vec![]),
            ("text: of zeta", vec![0]),
            ("text:budget", vec![]),
        ] {
            filter.clone_into(&mut picker.filter);
            picker.refilter();
            assert_eq!(picker.shown, left, "{filter}");
        }
    }
}
