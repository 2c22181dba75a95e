//! Marking with the mouse over what is really drawn.

use super::*;
use crate::workbench::Effect;
use crate::workbench::geometry;
use crate::workbench::message::Button;

/// Drags from one cell to another; gives what was copied and the cells that are shown as marked.
fn drag(session: &mut Session, from: (u16, u16), to: (u16, u16)) -> (String, Vec<(u16, u16)>) {
    session.tell(Message::Mouse { button: Button::Pressed, column: from.0, row: from.1 });
    session.tell(Message::Mouse { button: Button::Dragged, column: to.0, row: to.1 });
    let (columns, rows) = session.model.size;
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    session.draw(&mut terminal);
    let selection = session.painter.theme().style(crate::ui::theme::Role::Selection);
    let buffer = terminal.backend().buffer();
    let is_marked = |(x, y): &(u16, u16)| {
        let style = buffer[(*x, *y)].style();
        style.bg == selection.bg.or(style.bg) && style.add_modifier.contains(selection.add_modifier)
    };
    let marked = (0..rows).flat_map(|y| (0..columns).map(move |x| (x, y))).filter(is_marked).collect();
    let released = Message::Mouse { button: Button::Released, column: to.0, row: to.1 };
    let effects = update(&mut session.model, &mut session.painter, released);
    let copied = effects.into_iter().find_map(|effect| if let Effect::Copy(text) = effect { Some(text) } else { None });
    (copied.unwrap_or_default(), marked)
}

fn said(columns: u16, rows: u16, text: &str) -> (Session, u16) {
    let mut session = Session::started(columns, rows);
    session.answered(1, text, StopReason::EndTurn);
    session.state(Status::Waiting, 1, Vec::new());
    let screen = session.screen();
    let row = screen.lines().position(|row| row.contains(text)).unwrap_or_else(|| panic!("{text} is not in\n{screen}"));
    (session, u16::try_from(row).unwrap())
}

#[test]
fn half_a_wide_letter_is_the_whole_letter() {
    let (mut session, row) = said(80, 24, "漢字と仮名");
    // The letters stand in columns 2, 4, 6, 8 and 10; both ends lie in the middle of one.
    let (copied, marked) = drag(&mut session, (5, row), (8, row));
    assert_eq!(copied, "字と仮");
    // The second cell of a wide letter is none of its own.
    assert_eq!(marked, [(4, row), (6, row), (8, row)]);
}

#[test]
fn what_is_beyond_the_text_of_a_row_is_not_marked() {
    for columns in [80, 20] {
        let (mut session, row) = said(columns, 12, "short");
        let (copied, marked) = drag(&mut session, (4, row), (columns - 1, row));
        assert_eq!(copied, "ort");
        assert_eq!(marked, (4..7).map(|x| (x, row)).collect::<Vec<_>>());
        let (copied, marked) = drag(&mut session, (columns - 3, row), (columns + 40, row));
        assert_eq!((copied.as_str(), marked), ("", Vec::new()));
        // Terminals may report what lies outside; it counts as the edge.
        let (copied, _) = drag(&mut session, (2, row), (columns + 40, row));
        assert_eq!(copied, "short");
    }
}

#[test]
fn a_press_outside_the_transcript_marks_nothing() {
    let (mut session, row) = said(160, 24, "short");
    let transcript = geometry::regions(&session.model).transcript;
    assert!(transcript.x > 0, "the threads stand beside it");
    let (copied, marked) = drag(&mut session, (transcript.x - 5, row), (transcript.x + 6, row));
    assert_eq!((copied.as_str(), marked), ("", Vec::new()));
}
