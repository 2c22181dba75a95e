//! What the screen holds of a long thread.

use super::*;
use crate::domain::{RequestEvent, ThreadEvent};
use crate::workbench::transcript::BlockId;

/// What is let go is asked for again when its place comes into view.
#[test]
fn s16_the_screen_lets_go_of_what_is_old() {
    let mut session = connected();
    let model = ModelRef::new("a", "one");
    for request in 1..=20 {
        session.event(Event::Request(RequestEvent::RequestRecorded {
            tokens: Tokens(0),
            request,
            turn: request,
            attempt: 1,
            model: model.clone(),
        }));
        session.answer(request, &format!("{request} {}", "x".repeat(2 << 20)), StopReason::EndTurn);
    }
    let held = |session: &Session| {
        session
            .model
            .view
            .transcript
            .iter()
            .map(|block| if let Kind::Answer(answer) = &block.kind { answer.text.len() } else { 0 })
            .sum::<usize>()
    };
    assert!(held(&session) <= 18 << 20, "{}", held(&session));
    let older = session.model.view.older;
    assert!(older.is_some_and(|older| older > 100), "{older:?}");
    let last = session.model.view.transcript.iter().next_back().map(|block| block.id);
    session.keys("ctrl-home");
    session.tell(Message::Older {
        thread_id: id(),
        before: older.unwrap_or_default(),
        records: vec![Record {
            timestamp: Timestamp(5),
            thread_id: id(),
            event: Event::Thread(ThreadEvent::Notice { text: "old".into() }),
        }],
        older: None,
    });
    let ids: Vec<_> = session.model.view.transcript.iter().map(|block| block.id).collect();
    assert!(ids.is_sorted() && ids[0] < BlockId(0) && ids.last().copied() == last, "{ids:?}");
}
