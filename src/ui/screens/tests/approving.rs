//! What a person can allow, they have seen.

use super::*;

#[test]
fn s15_no_call_can_be_allowed_whose_end_is_below_what_is_drawn() {
    let (mut armed, mut hidden) = (0, 0);
    for columns in 20..=130 {
        for (rows, lines) in [(12, 1), (16, 3), (24, 1), (24, 4), (24, 9), (45, 20)] {
            let command = "echo a line of a command that has to be seen\n".repeat(lines);
            let input = serde_json::json!({"command": command, "x-then": "and", "z-last": "its-end"});
            let mut session = waiting_call(columns, rows, "rye/bash", input, None);
            session.tell(Message::ApprovalDrawn { id: 1 });
            session.model.set_now(Timestamp(NOW + 60_000));
            session.tell(Message::Deadline);
            let screen = session.screen();
            if session.model.is_armed() {
                armed += 1;
                assert!(screen.contains("its-end"), "{columns}x{rows}, {lines} lines:\n{screen}");
            } else {
                hidden += 1;
            }
        }
    }
    // Both happen, or nothing was tried.
    assert!(armed > 100 && hidden > 50, "{armed} {hidden}");
}
