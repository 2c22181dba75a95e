//! What a thread did when: for a view of a tree over time.

use super::event::{ApprovalEvent, ControlEvent, Event, RequestEvent, StopReason, ThreadEvent, Timestamp, ToolEvent};
use std::collections::HashSet;
use unicode_width::UnicodeWidthChar;

/// What a thread does at a moment, the first of them the most telling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Doing {
    /// Waits for a person who answers a call.
    Approval,
    /// Waits until it may begin.
    Queued,
    /// Waits until a failed call is made again.
    Retry,
    /// Its model answers.
    Model,
    /// Its tools run.
    Tools,
    /// Waits for children, and nothing else.
    Children,
    Nothing,
}

impl Doing {
    /// Everything that is drawn, with what it means.
    pub const LEGEND: [(Self, &'static str); 6] = [
        (Self::Model, "model"),
        (Self::Tools, "tools"),
        (Self::Children, "waits for children"),
        (Self::Approval, "needs approval"),
        (Self::Queued, "queued"),
        (Self::Retry, "waits to try again"),
    ];

    /// One cell of a bar.
    #[must_use]
    pub fn mark(self) -> char {
        match self {
            Self::Model => '█',
            Self::Tools => '▓',
            Self::Children => '░',
            Self::Approval => '?',
            Self::Queued => 'q',
            Self::Retry => '~',
            Self::Nothing => ' ',
        }
    }
}

/// What a thread did from its first event on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// From when on it did what, in the order of time.
    changes: Vec<(Timestamp, Doing)>,
    end: Timestamp,
    waits_for: HashSet<String>,
    tools: u32,
}

impl Timeline {
    /// Takes the next event of the log.
    pub fn hear(&mut self, at: Timestamp, event: &Event) {
        self.end = self.end.max(at);
        let doing = match event {
            Event::Request(RequestEvent::RequestRecorded { .. } | RequestEvent::RetryDue { .. })
            | Event::Control(ControlEvent::ThreadAdmitted {}) => Doing::Model,
            Event::Request(RequestEvent::CognitionOut { stop: StopReason::ToolUse, .. }) => {
                (self.tools, self.waits_for) = (0, HashSet::new());
                Doing::Tools
            }
            Event::Request(RequestEvent::RetryScheduled { .. }) => Doing::Retry,
            Event::Request(RequestEvent::CognitionOut { .. } | RequestEvent::ErrorClassified { .. })
            | Event::Control(ControlEvent::TurnCancelled { .. } | ControlEvent::ThreadSuspended { .. })
            | Event::Thread(
                ThreadEvent::WorkerEnded { .. }
                | ThreadEvent::ThreadCompleted { .. }
                | ThreadEvent::ThreadError { .. }
                | ThreadEvent::ThreadCancelled { .. }
                | ThreadEvent::ThreadKilled { .. }
                | ThreadEvent::ThreadContinued { .. },
            ) => Doing::Nothing,
            Event::Control(ControlEvent::ThreadQueued { .. }) => Doing::Queued,
            Event::Approval(ApprovalEvent::ApprovalRequested { .. }) => Doing::Approval,
            Event::Approval(ApprovalEvent::ApprovalGiven { .. }) => Doing::Tools,
            Event::Tool(ToolEvent::ToolCallStart { .. }) => {
                self.tools += 1;
                self.working()
            }
            Event::Tool(ToolEvent::ToolCallResult { call_id, .. }) => {
                self.tools = self.tools.saturating_sub(1);
                self.waits_for.remove(&call_id.0);
                self.working()
            }
            Event::Thread(ThreadEvent::ChildThreadStarted { call_id, background: false, .. }) => {
                self.waits_for.insert(call_id.0.clone());
                self.working()
            }
            Event::Thread(_)
            | Event::Settings(_)
            | Event::Prompt(_)
            | Event::Context(_)
            | Event::Request(_)
            | Event::Approval(_)
            | Event::Tool(_)
            | Event::Control(_)
            | Event::Unknown { .. } => self.now(),
        };
        if self.changes.is_empty() || doing != self.now() {
            self.changes.push((at, doing));
        }
    }

    /// Calls run: some of them tools, or all of them children.
    fn working(&self) -> Doing {
        let children = u32::try_from(self.waits_for.len()).unwrap_or(u32::MAX);
        if children > 0 && self.tools <= children { Doing::Children } else { Doing::Tools }
    }

    /// What it did last.
    fn now(&self) -> Doing {
        self.changes.last().map_or(Doing::Nothing, |(_, doing)| *doing)
    }

    /// What it does lasts until `now`, if it does anything.
    pub fn until(&mut self, now: Timestamp) {
        if self.now() != Doing::Nothing {
            self.end = self.end.max(now);
        }
    }

    /// When it began; none before its first event.
    #[must_use]
    pub fn begin(&self) -> Option<Timestamp> {
        self.changes.first().map(|(at, _)| *at)
    }

    /// When the last that is known of it happened.
    #[must_use]
    pub fn end(&self) -> Timestamp {
        self.end
    }

    /// What it did the longest between two moments; nothing before and after it was there.
    fn most(&self, from: u64, to: u64) -> Doing {
        let ends = self.changes.iter().skip(1).map(|(at, _)| at.0).chain([self.end.0]);
        let mut best = (0, Doing::Nothing);
        for ((begin, doing), end) in self.changes.iter().zip(ends) {
            // Of what began and ended at once something is seen all the same.
            let is_moment = begin.0 == end && begin.0 >= from && end < to;
            let long = end.min(to).saturating_sub(begin.0.max(from));
            let counts = *doing != Doing::Nothing && (long > 0 || is_moment);
            if counts && (best.1 == Doing::Nothing || long > best.0 || long == best.0 && *doing < best.1) {
                best = (long, *doing);
            }
        }
        best.1
    }

    /// What it did between `from` and `to`, in so many cells.
    #[must_use]
    pub fn bar(&self, from: Timestamp, to: Timestamp, cells: usize) -> String {
        let (all, cells) = (to.0.saturating_sub(from.0).max(1), cells.max(1) as u64);
        let edge = |cell: u64| from.0 + all.saturating_mul(cell) / cells;
        (0..cells).map(|cell| self.most(edge(cell), edge(cell + 1).max(edge(cell) + 1)).mark()).collect()
    }
}

/// A thread of a tree, for [`drawn`].
#[derive(Clone, Debug)]
pub struct TimelineRow {
    /// What it is called.
    pub name: String,
    /// So many threads that are drawn are above it.
    pub level: usize,
    /// What it cost, in words.
    pub cost: String,
    pub timeline: Timeline,
}

/// A tree over time, a line for each thread: its name, what it did when, what it cost; below that the time and what the marks
/// mean. No line has more cells than `width`, of which there should be 40 at least.
#[must_use]
pub fn drawn(rows: &[TimelineRow], width: usize) -> Vec<String> {
    let Some(from) = rows.iter().filter_map(|row| row.timeline.begin()).min() else { return Vec::new() };
    let to = rows.iter().map(|row| row.timeline.end()).max().unwrap_or(from);
    let cost = rows.iter().map(|row| row.cost.chars().count()).max().unwrap_or(0);
    let names = rows.iter().map(|row| row.level * 2 + cells(&row.name)).max().unwrap_or(0).min(width / 3);
    let room = width.saturating_sub(names + cost + 4).max(1);
    let mut lines: Vec<String> = rows
        .iter()
        .map(|row| {
            let name = cut(&format!("{}{}", "  ".repeat(row.level), row.name), names);
            let bar = row.timeline.bar(from, to, room);
            format!("{name} │{bar}│ {:>cost$}", row.cost)
        })
        .collect();
    let seconds = to.0.saturating_sub(from.0) / 1_000;
    let scale = format!("{:<room$}", format!("0 s{:>gap$}", format!("{seconds} s"), gap = room.saturating_sub(3)));
    lines.push(format!("{} │{scale}│", " ".repeat(names)));
    let mut legend = String::new();
    for (doing, meaning) in Doing::LEGEND {
        let part = format!("{} {meaning}", doing.mark());
        if cells(&legend) + part.chars().count() + 2 > width {
            lines.push(std::mem::take(&mut legend));
        }
        legend = if legend.is_empty() { part } else { format!("{legend}  {part}") };
    }
    lines.push(legend);
    lines
}

fn cells(text: &str) -> usize {
    text.chars().map(|letter| letter.width().unwrap_or(0)).sum()
}

/// `text` in exactly `room` cells.
fn cut(text: &str, room: usize) -> String {
    let mut kept = String::new();
    let mut used = 0;
    let whole = cells(text) <= room;
    for letter in text.chars().filter(|letter| !letter.is_control()) {
        let wide = letter.width().unwrap_or(0);
        if used + wide > if whole { room } else { room.saturating_sub(1) } {
            break;
        }
        kept.push(letter);
        used += wide;
    }
    if !whole && room > 0 {
        kept.push('…');
        used += 1;
    }
    kept + &" ".repeat(room.saturating_sub(used))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{CallId, Cost, Status, ThreadId};
    use proptest::prelude::*;

    fn heard(events: &[(u64, Event)]) -> Timeline {
        let mut timeline = Timeline::default();
        for (at, event) in events {
            timeline.hear(Timestamp(*at), event);
        }
        timeline
    }

    fn queued() -> Event {
        Event::Control(ControlEvent::ThreadQueued { reason: "full".into() })
    }

    fn due() -> Event {
        Event::Request(RequestEvent::RetryDue { attempt: 2 })
    }

    fn over() -> Event {
        Event::Thread(ThreadEvent::ThreadCompleted { cost: Cost::default() })
    }

    #[test]
    fn a_bar_tells_what_a_thread_did_when() {
        let timeline = heard(&[(1_000, queued()), (3_000, due()), (8_000, over())]);
        assert_eq!(timeline.bar(Timestamp(0), Timestamp(10_000), 10), " qq█████  ");
        // In one cell what took longest counts, of two alike the more telling, and a moment is seen.
        assert_eq!(timeline.bar(Timestamp(0), Timestamp(10_000), 2), "q█");
        let moment = heard(&[(5_000, due()), (5_000, over())]);
        assert_eq!(moment.bar(Timestamp(0), Timestamp(10_000), 5).trim(), "█");
    }

    #[test]
    fn children_are_waited_for_as_long_as_nothing_else_runs() {
        let id = |id: &str| CallId(id.to_owned());
        let start = |call: &str| {
            Event::Tool(ToolEvent::ToolCallStart {
                tool: "t".into(),
                call_id: id(call),
                item: None,
                input: serde_json::json!({}),
                parallel: true,
                confined: false,
                change: None,
                capability: None,
                grant: None,
            })
        };
        let child = |call: &str| {
            let (child, directive) = (ThreadId::new("c", 1), "c".to_owned());
            Event::Thread(ThreadEvent::ChildThreadStarted { child, directive, call_id: id(call), background: false })
        };
        let end = |call: &str| {
            Event::Tool(ToolEvent::ToolCallResult { call_id: id(call), output: String::new(), error: None })
        };
        let ended = ThreadEvent::ChildThreadEnded {
            child: ThreadId::new("c", 1),
            status: Status::Completed,
            cost: Cost::default(),
        };
        let timeline = heard(&[
            (0, start("a")),
            (10, start("b")),
            (10, child("b")),
            (20, end("a")),
            (30, Event::Thread(ended)),
            (30, end("b")),
            (40, over()),
        ]);
        assert_eq!(timeline.bar(Timestamp(0), Timestamp(40), 4), "▓▓░▓");
    }

    #[test]
    fn a_tree_is_drawn_with_names_costs_time_and_legend() {
        let row =
            |name: &str, level, timeline| TimelineRow { name: name.into(), level, cost: "$0.10".into(), timeline };
        let rows = [
            row("lead", 0, heard(&[(0, due()), (4_000, over())])),
            row("学生 of a very long name", 1, heard(&[(2_000, due()), (3_000, over())])),
        ];
        let lines = drawn(&rows, 60);
        assert_eq!(lines[0], format!("lead                 │{}│ $0.10", "█".repeat(31)));
        assert!(lines[1].starts_with("  学生 of a very lo… │               █"), "{}", lines[1]);
        assert!(lines[2].ends_with("4 s│"), "{}", lines[2]);
        assert!(lines[3].starts_with("█ model") && lines.iter().all(|line| cells(line) <= 60), "{lines:#?}");
        assert!(drawn(&[], 60).is_empty());
    }

    proptest! {
        #[test]
        fn no_line_is_too_wide(times in proptest::collection::vec((0_u64..9_000, 0_u8..3), 0..20), name in "\\PC{0,40}", width in 40_usize..200) {
            let mut times = times;
            times.sort_unstable();
            let events: Vec<(u64, Event)> =
                times.into_iter().map(|(at, kind)| (at, [queued(), due(), over()][usize::from(kind)].clone())).collect();
            let row = TimelineRow { name, level: 3, cost: "$1.00".into(), timeline: heard(&events) };
            for line in drawn(&[row], width) {
                prop_assert!(cells(&line) <= width, "{line}");
            }
        }
    }
}
