//! The parts of the screen, each drawn from the model into its area.

mod approval;
mod bar;
mod beside;
mod component;
mod dialog;
mod draft;
mod form;
mod items;
mod overlay;
mod panel;
mod peek;
mod sheet;
mod steps;
mod transcript;
mod work;

#[cfg(test)]
mod tests;

use super::cells::Canvas;
use super::painter::Painter;
use super::theme::Role;
use crate::workbench::{Model, geometry};
use ratatui::buffer::Buffer;
use ratatui::layout::Position;
use std::collections::BTreeMap;

/// Draws the model into an empty buffer; tells where the cursor stands, which is where text is edited, for input methods too.
pub fn view(model: &Model, painter: &mut Painter, buffer: &mut Buffer) -> Option<Position> {
    painter.follow(model);
    painter.begin();
    // The terminal's size may be ahead of the model by one message.
    let size = buffer.area;
    let regions = geometry::regions(model);
    let (cursor, links) = {
        let theme = painter.theme().clone();
        let mut canvas = Canvas { buffer, theme: &theme, links: BTreeMap::new() };
        if let Some(ground) = theme.ground() {
            canvas.buffer.set_style(size, ground);
        }
        panel::draw(model, &regions, &mut canvas);
        beside::draw(model, regions.beside, &mut canvas);
        bar::title(model, regions.title, &mut canvas);
        transcript::draw(model, painter, regions.transcript, &mut canvas);
        approval::draw(model, regions.approval, &mut canvas);
        if model.overlay.is_none() {
            draft::notice(model, regions.notice, &mut canvas);
        }
        work::draw(model, regions.work, &mut canvas);
        draft::queue(model, regions.queue, &mut canvas);
        dialog::shown(model, &regions, &mut canvas);
        let mut cursor = draft::draw(model, &regions, &mut canvas);
        component::draw(model, &mut canvas);
        bar::status(model, regions.status, &mut canvas);
        if model.overlay.is_some() {
            cursor = overlay::draw(model, painter, &mut canvas);
            let below = geometry::overlay_notice(model);
            canvas.fill(below, Role::Text);
            draft::notice(model, below, &mut canvas);
        } else {
            draft::completion(model, &regions, &mut canvas);
        }
        (cursor, canvas.links)
    };
    painter.end(&[&model.view.transcript, &model.peek.view.transcript], links);
    cursor.map(Position::from).filter(|position| size.contains(*position))
}
