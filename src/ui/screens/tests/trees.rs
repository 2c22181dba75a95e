//! Pages about a tree of threads.

use super::*;
use crate::domain::timeline::{Timeline, TimelineRow};
use crate::domain::{ControlEvent, ThreadEvent, Timestamp};

fn row(name: &str, level: usize, changes: &[(u64, Event)]) -> TimelineRow {
    let mut timeline = Timeline::default();
    for (at, event) in changes {
        timeline.hear(Timestamp(*at), event);
    }
    TimelineRow { name: name.into(), level, cost: "$0.12".into(), timeline }
}

#[test]
fn the_timeline_of_a_tree() {
    let due = || Event::Request(RequestEvent::RetryDue { attempt: 2 });
    let queued = || Event::Control(ControlEvent::ThreadQueued { reason: "full".into() });
    let again = || {
        let (attempt, delay_ms, classification) = (2, 2_000, None);
        Event::Request(RequestEvent::RetryScheduled { attempt, delay_ms, classification })
    };
    let over = || Event::Thread(ThreadEvent::ThreadCompleted { cost: Cost::default() });
    check("timeline", |columns, rows| {
        let mut session = Session::started(columns, rows);
        session.tell(Message::Timeline(Ok(vec![
            row("plan the bread", 0, &[(0, due()), (60_000, over())]),
            row(
                "research 小麦 and other flours",
                1,
                &[(4_000, due()), (20_000, again()), (22_000, due()), (30_000, over())],
            ),
            row("review", 1, &[(5_000, queued()), (30_000, due()), (55_000, over())]),
        ])));
        session
    });
}
