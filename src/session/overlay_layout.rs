//! Where an overlay of an extension stands: the options of pi's `overlayOptions`, for a screen of a size.

use crate::domain::{ScreenSize, Spot};
use serde_json::Value;

/// Columns of an overlay that does not say how wide it is.
const USUAL_WIDTH: u16 = 80;

/// Where it stands, and as much of it as there is room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) spot: Spot,
    pub(super) rows: usize,
    pub(super) is_visible: bool,
}

impl Default for Layout {
    fn default() -> Self {
        Self { spot: Spot { column: 0, row: 0, width: USUAL_WIDTH }, rows: usize::MAX, is_visible: true }
    }
}

/// Lays out an overlay of so many lines. What does not read counts as not said.
pub(super) fn layout(options: &Value, screen: ScreenSize, lines: usize) -> Layout {
    let [top, right, bottom, left] = margins(options.get("margin"));
    let columns = screen.columns.saturating_sub(left + right).max(1);
    let rows = screen.rows.saturating_sub(top + bottom).max(1);
    let least = options.get("minWidth").and_then(|value| extent(value, columns)).unwrap_or(1);
    let width = options.get("width").and_then(|value| extent(value, screen.columns)).unwrap_or(USUAL_WIDTH);
    let width = width.max(least).clamp(1, columns);
    let most = options.get("maxHeight").and_then(|value| extent(value, screen.rows)).unwrap_or(rows).clamp(1, rows);
    let height = u16::try_from(lines).unwrap_or(u16::MAX).min(most);
    let anchor = options.get("anchor").and_then(Value::as_str).unwrap_or("center");
    let (free_columns, free_rows) = (columns - width, rows - height.min(rows));
    let column = match options.get("col").and_then(|value| position(value, free_columns)) {
        Some(column) => column,
        None if anchor.ends_with("left") || anchor.starts_with("left") => left,
        None if anchor.ends_with("right") || anchor.starts_with("right") => left + free_columns,
        None => left + free_columns / 2,
    };
    let row = match options.get("row").and_then(|value| position(value, free_rows)) {
        Some(row) => row,
        None if anchor.starts_with("top") => top,
        None if anchor.starts_with("bottom") => top + free_rows,
        None => top + free_rows / 2,
    };
    let moved = |at: u16, name: &str, (least, most): (u16, u16)| {
        let offset = options.get(name).and_then(Value::as_i64).unwrap_or_default();
        let at = i64::from(at).saturating_add(offset).clamp(i64::from(least), i64::from(most));
        u16::try_from(at).unwrap_or(least)
    };
    let column = moved(column, "offsetX", (left, left + free_columns));
    let row = moved(row, "offsetY", (top, top + free_rows));
    let is_visible = options.get("visible").and_then(Value::as_bool).unwrap_or(true);
    Layout { spot: Spot { column, row, width }, rows: usize::from(most), is_visible }
}

fn cells(value: &Value) -> Option<u16> {
    let number = value.as_f64().filter(|number| *number >= 0.0)?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of cells, and clamped")]
    Some(number.min(f64::from(u16::MAX)) as u16)
}

/// A share, as `50%`.
fn share(value: &Value, of: u16) -> Option<u16> {
    let percent: f64 = value.as_str()?.strip_suffix('%')?.trim().parse().ok()?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of cells, and clamped")]
    Some((f64::from(of) * percent.clamp(0.0, 100.0) / 100.0) as u16)
}

fn extent(value: &Value, of: u16) -> Option<u16> {
    cells(value).or_else(|| share(value, of))
}

/// Cells from the edge, or a share of what is free.
fn position(value: &Value, free: u16) -> Option<u16> {
    cells(value).or_else(|| share(value, free))
}

/// Top, right, bottom, left.
fn margins(value: Option<&Value>) -> [u16; 4] {
    let Some(value) = value else { return [0; 4] };
    if let Some(all) = cells(value) {
        return [all.min(u16::MAX / 4); 4];
    }
    ["top", "right", "bottom", "left"].map(|side| value.get(side).and_then(cells).unwrap_or_default().min(u16::MAX / 4))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    const SCREEN: ScreenSize = ScreenSize { columns: 100, rows: 40, inner: 100 };

    fn at(options: &Value) -> (u16, u16, u16) {
        let Spot { column, row, width } = layout(options, SCREEN, 10).spot;
        (column, row, width)
    }

    #[test]
    fn overlays_stand_where_they_say() {
        assert_eq!(at(&json!({})), (10, 15, 80));
        assert_eq!(at(&json!({"width": 40, "anchor": "top-left"})), (0, 0, 40));
        assert_eq!(at(&json!({"width": "50%", "anchor": "bottom-right", "margin": 2})), (48, 28, 50));
        assert_eq!(at(&json!({"width": 20, "anchor": "right-center", "offsetX": -3, "offsetY": 2})), (77, 17, 20));
        assert_eq!(at(&json!({"width": 20, "row": 5, "col": "100%"})), (80, 5, 20));
        assert_eq!(at(&json!({"width": 10, "minWidth": 30, "anchor": "top-center"})), (35, 0, 30));
        assert_eq!(layout(&json!({"maxHeight": "25%"}), SCREEN, 30).rows, 10);
        assert!(!layout(&json!({"visible": false}), SCREEN, 30).is_visible);
    }

    proptest! {
        #[test]
        fn an_overlay_stays_on_the_screen(
            columns in 1_u16..300, rows in 1_u16..100, lines in 0_usize..200, width in -10_i64..400, offset in -500_i64..500,
            margin in 0_u16..60, anchor in 0_usize..4,
        ) {
            let anchor = ["center", "top-left", "bottom-right", "nonsense"][anchor];
            let options = json!({"width": width, "offsetX": offset, "offsetY": -offset, "margin": margin, "anchor": anchor});
            let Layout { spot, rows: most, .. } = layout(&options, ScreenSize { columns, rows, inner: columns }, lines);
            prop_assert!(spot.width >= 1 && most >= 1);
            if columns > 2 * margin {
                prop_assert!(spot.column + spot.width <= columns - margin);
            }
            if rows > 2 * margin {
                prop_assert!(usize::from(spot.row) + most.min(lines) <= usize::from(rows - margin));
            }
        }
    }
}
