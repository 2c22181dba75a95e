//! What a thread may use and has used, what its tree did when, and what became of it, as pages.

use super::geometry;
use super::message::{Effect, Level};
use super::model::Model;
use super::overlay::{Overlay, Pager, PagerLine};
use crate::domain::note::seconds;
use crate::domain::timeline::{TimelineRow, drawn};
use crate::domain::{BudgetReport, Limits, ThreadId};

/// No timeline is drawn in fewer columns.
const NARROWEST: usize = 40;

impl Model {
    /// Asks how the chosen thread, else the one on the screen, stands in the ledger.
    pub(super) fn ask_budget(&mut self) -> Vec<Effect> {
        let Some(thread_id) = self.meant_thread() else {
            self.say(Level::Info, "this thread has not begun");
            return Vec::new();
        };
        vec![Effect::LoadBudget { thread_id }]
    }

    /// Asks what the threads did of the tree that the chosen one is of, else the one on the screen.
    pub(super) fn ask_timeline(&mut self) -> Vec<Effect> {
        let Some(thread_id) = self.meant_thread() else {
            self.say(Level::Info, "this thread has not begun");
            return Vec::new();
        };
        vec![Effect::LoadTimeline { thread_id }]
    }

    /// Asks what became of the chosen thread, else the one on the screen.
    pub(super) fn ask_state(&mut self) -> Vec<Effect> {
        let Some(thread_id) = self.meant_thread() else {
            self.say(Level::Info, "this thread has not begun");
            return Vec::new();
        };
        vec![Effect::LoadState { thread_id }]
    }

    /// Shows what a thread keeps under names.
    pub(super) fn show_state(&mut self, values: Result<Vec<(String, String)>, String>) {
        match values {
            Ok(values) if values.is_empty() => self.say(Level::Info, "the thread keeps no values"),
            Ok(values) => {
                let row = |(left, text)| PagerLine::Row { left, text };
                self.lay_over(Pager::new("state", values.into_iter().map(row).collect()));
            }
            Err(why) => self.say(Level::Error, why),
        }
    }

    pub(super) fn ask_postmortem(&mut self) -> Vec<Effect> {
        let Some(thread_id) = self.meant_thread() else {
            self.say(Level::Info, "this thread has not begun");
            return Vec::new();
        };
        vec![Effect::LoadPostmortem { thread_id }]
    }

    /// Shows it.
    pub(super) fn show_postmortem(&mut self, rows: Result<Vec<(&'static str, String)>, String>) {
        match rows {
            Ok(rows) => {
                let row = |(left, text): (&str, String)| PagerLine::Row { left: left.to_owned(), text };
                self.lay_over(Pager::new("post-mortem", rows.into_iter().map(row).collect()));
            }
            Err(why) => self.say(Level::Error, why),
        }
    }

    /// Shows it, as wide as the page is.
    pub(super) fn show_timeline(&mut self, rows: Result<Vec<TimelineRow>, String>) {
        match rows {
            Ok(rows) => {
                self.lay_over(Pager::new("timeline", Vec::new()));
                let width = geometry::pager_width(self).saturating_sub(2).max(NARROWEST);
                if let Some(Overlay::Pager(pager)) = &mut self.overlay {
                    pager.fill(drawn(&rows, width).into_iter().map(PagerLine::Whole).collect());
                }
            }
            Err(why) => self.say(Level::Error, why),
        }
    }

    /// Shows it.
    pub(super) fn show_budget(&mut self, id: &ThreadId, report: Result<Box<BudgetReport>, String>) {
        let mut lines = vec![PagerLine::Heading(id.to_string())];
        lines.extend(self.counted(id));
        if let Some(rate) = report.as_ref().ok().and_then(|report| report.burn_rate(self.worked(id)?)) {
            lines.push(PagerLine::Row { left: "burn rate".to_owned(), text: rate });
        }
        lines.push(PagerLine::Blank);
        lines.push(PagerLine::Heading("with everything below it".to_owned()));
        match report {
            Ok(report) => {
                let live = |count: u32| format!("{count} running");
                lines.extend(report.in_words().into_iter().map(|line| {
                    let (left, text) = line.split_once("  ").unwrap_or(("", &line));
                    PagerLine::Row { left: left.to_owned(), text: text.trim_start().to_owned() }
                }));
                lines.push(PagerLine::Row { left: "children".to_owned(), text: live(report.live_children) });
                if let Some(parent) = report.parent {
                    lines.push(PagerLine::Row { left: "started by".to_owned(), text: parent.to_string() });
                }
            }
            Err(why) => lines.push(PagerLine::Row { left: "unknown".to_owned(), text: why }),
        }
        self.lay_over(Pager::new("budget", lines));
    }

    /// How long the thread worked, in milliseconds, as far as it is known here.
    fn worked(&self, id: &ThreadId) -> Option<u64> {
        let state = self.view.state.as_ref().filter(|_| self.view.is_of(id));
        state.map(|state| state.cost.elapsed_ms).or_else(|| self.threads.find(id).map(|row| row.elapsed_ms))
    }

    /// What is counted for the thread alone.
    fn counted(&self, id: &ThreadId) -> Vec<PagerLine> {
        let state = self.view.state.as_ref().filter(|_| self.view.is_of(id));
        let row = self.threads.find(id);
        let limits = state.map(|state| state.limits).or_else(|| row.map(|row| row.limits));
        let Limits { turns, duration_seconds, spawns, depth, .. } = limits.unwrap_or_default();
        let of = |used: Option<String>, limit: Option<String>| match (used, limit) {
            (Some(used), Some(limit)) => format!("{used} of {limit}"),
            (Some(used), None) => format!("{used}, no limit"),
            (None, Some(limit)) => format!("at most {limit}"),
            (None, None) => "no limit".to_owned(),
        };
        let used = state.map(|state| state.cost.turns).or_else(|| row.map(|row| row.turns));
        let time = self.worked(id).map(seconds);
        let most = duration_seconds.map(|limit| seconds(limit.saturating_mul(1_000)));
        let started = state.map(|state| state.cost.spawns.to_string());
        let rows = [
            ("turns", of(used.map(|turns| turns.to_string()), turns.map(|turns| turns.to_string()))),
            ("working time", of(time, most)),
            ("threads started", of(started, spawns.map(|spawns| spawns.to_string()))),
            ("levels below", depth.map_or_else(|| "no limit".to_owned(), |depth| format!("at most {depth}"))),
        ];
        rows.into_iter().map(|(left, text)| PagerLine::Row { left: left.to_owned(), text }).collect()
    }
}
