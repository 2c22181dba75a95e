//! What is done with threads as a whole, from their list: stopping, naming, putting away, removing.

use super::message::{Effect, Level, Upkeep};
use super::model::Model;
use super::overlay::Overlay;
use super::picker::{Choice, Picker, PickerKind};
use super::thread_order;
use super::thread_row::ThreadRow;
use super::thread_view::Link;
use crate::domain::tree::{below, generations};
use crate::domain::{ThreadId, ThreadOrder};
use std::sync::Arc;

/// A thread is removed by a second word within so many milliseconds of the first.
const AGAIN_WITHIN: u64 = 10_000;

impl Model {
    fn thread_list(&mut self) -> Option<&mut Picker> {
        match &mut self.overlay {
            Some(Overlay::Picker(picker)) if picker.kind == PickerKind::Threads => Some(picker),
            Some(
                Overlay::Picker(_)
                | Overlay::Pager(_)
                | Overlay::Form(_)
                | Overlay::Dialog(_)
                | Overlay::Component(_)
                | Overlay::RequestPage(_),
            )
            | None => None,
        }
    }

    /// The chosen thread, while the list of threads is open.
    #[must_use]
    pub fn chosen_thread(&self) -> Option<&ThreadRow> {
        let Some(Overlay::Picker(picker)) = &self.overlay else { return None };
        let Choice::Thread(row) = &picker.chosen()?.choice else { return None };
        Some(row)
    }

    /// The thread a command is about: the chosen one, else the one on the screen.
    pub(super) fn meant_thread(&self) -> Option<ThreadId> {
        self.chosen_thread().map(|row| row.thread_id.clone()).or_else(|| self.view.thread.clone())
    }

    /// The threads a command is about: the marked ones, else the chosen one, else the one on the screen. No longer marked
    /// then.
    fn meant_threads(&mut self) -> Vec<ThreadId> {
        let marked = self.thread_list().map(|picker| std::mem::take(&mut picker.marked)).unwrap_or_default();
        if marked.is_empty() { self.meant_thread().into_iter().collect() } else { marked }
    }

    /// Does something with those threads, or says that there are none.
    pub(super) fn manage(&mut self, upkeep: &Upkeep) -> Vec<Effect> {
        let threads = self.meant_threads();
        if threads.is_empty() {
            self.say(Level::Info, "there is no thread yet");
        }
        let manage = |thread_id| Effect::Manage { thread_id, upkeep: upkeep.clone() };
        threads.into_iter().map(manage).collect()
    }

    /// Ends the threads at once, the second time it is asked for. The first time says what stops with them.
    pub(super) fn kill_threads(&mut self) -> Vec<Effect> {
        let marked = self.thread_list().map(|picker| picker.marked.clone()).unwrap_or_default();
        let meant = if marked.is_empty() { self.meant_thread().into_iter().collect() } else { marked };
        if meant.is_empty() {
            return self.manage(&Upkeep::Kill);
        }
        let asked = self.threads.kills.replace((meant.clone(), self.now));
        if asked.is_some_and(|(asked, at)| asked == meant && self.now.since(at) <= AGAIN_WITHIN) {
            self.threads.kills = None;
            return self.manage(&Upkeep::Kill);
        }
        let running = below(self.listed_threads(), &meant).into_iter().filter(|row| row.runs).count();
        let those = match meant.as_slice() {
            [one] => {
                let title = self.listed_threads().iter().find(|row| row.thread_id == *one).map(|row| row.title.clone());
                format!("`{}`", title.filter(|title| !title.is_empty()).unwrap_or_else(|| one.to_string()))
            }
            several => format!("{} threads", several.len()),
        };
        let below = match running {
            0 => String::new(),
            1 => "; 1 thread runs below, and stops if it is waited for".to_owned(),
            count => format!("; {count} threads run below, and those that are waited for stop"),
        };
        let text = format!(
            "repeat to kill {those}: running calls and commands end at once, reserved money is returned{below}"
        );
        self.say(Level::Warning, text);
        Vec::new()
    }

    /// Marks the chosen thread, or takes its mark off.
    pub(super) fn mark_thread(&mut self) {
        if let Some(picker) = self.thread_list() {
            picker.mark();
            self.changed = true;
        }
    }

    /// Marks the chosen thread and all that are listed below it, or takes all those marks off.
    pub(super) fn mark_tree(&mut self) {
        let Some(chosen) = self.chosen_thread().map(|row| row.thread_id.clone()) else { return };
        let tree = self.with_below(vec![chosen]);
        if let Some(picker) = self.thread_list() {
            let all = tree.iter().all(|id| picker.marked.contains(id));
            picker.marked.retain(|id| !tree.contains(id));
            if !all {
                picker.marked.extend(tree);
            }
        }
    }

    /// These threads and all that are listed below them.
    fn with_below(&self, mut threads: Vec<ThreadId>) -> Vec<ThreadId> {
        let below: Vec<ThreadId> =
            below(self.listed_threads(), &threads).iter().map(|row| row.thread_id.clone()).collect();
        threads.extend(below);
        threads
    }

    /// Stops the threads and every one below them that runs, also those that work by themselves.
    pub(super) fn stop_trees(&mut self) -> Vec<Effect> {
        let meant = self.meant_threads();
        if meant.is_empty() {
            return self.manage(&Upkeep::Stop);
        }
        let running = |rows: Vec<&Arc<ThreadRow>>| {
            rows.into_iter().filter(|row| row.runs).map(|row| row.thread_id.clone()).collect()
        };
        let below: Vec<Vec<ThreadId>> = generations(self.listed_threads(), &meant).into_iter().map(running).collect();
        // The one on the screen may be newer than the list.
        vec![Effect::StopTrees { generations: std::iter::once(meant).chain(below).collect() }]
    }

    /// Puts the list of threads into the next order.
    pub(super) fn reorder_threads(&mut self) {
        self.threads.order = thread_order::next(self.threads.order);
        self.refill(PickerKind::Threads);
        self.say(Level::Info, thread_order::told(self.threads.order));
    }

    /// Lists the threads, those first that go on only once the person does something.
    pub(super) fn show_attention(&mut self) -> Vec<Effect> {
        self.threads.order = ThreadOrder::NeedsYou;
        self.threads.archived = None;
        self.pick(PickerKind::Threads, !self.threads.loaded);
        vec![Effect::LoadThreads]
    }

    /// Lists the archived threads, or where the list has them, the others.
    pub(super) fn show_archived(&mut self) -> Vec<Effect> {
        if self.lists_archived() {
            self.threads.archived = None;
            self.pick(PickerKind::Threads, !self.threads.loaded);
            return vec![Effect::LoadThreads];
        }
        self.threads.archived = Some(Vec::new());
        self.pick(PickerKind::Threads, true);
        vec![Effect::LoadArchived]
    }

    /// Whether the list of threads is open and has the archived ones.
    #[must_use]
    pub fn lists_archived(&self) -> bool {
        let is_open = matches!(&self.overlay, Some(Overlay::Picker(picker)) if picker.kind == PickerKind::Threads);
        is_open && self.threads.archived.is_some()
    }

    /// The threads that the list has, else those that are not archived.
    fn listed_threads(&self) -> &[Arc<ThreadRow>] {
        self.threads.archived.as_ref().filter(|_| self.lists_archived()).unwrap_or(&self.threads.rows)
    }

    /// Takes over which threads are archived, if they are listed.
    pub(super) fn take_archived(&mut self, rows: Vec<Arc<ThreadRow>>) {
        if self.threads.archived.is_some() && self.list(PickerKind::Threads).is_some() {
            self.threads.archived = Some(rows);
            self.refill(PickerKind::Threads);
        }
    }

    /// Puts the threads away; in the list of those, lists them with the others again.
    pub(super) fn archive_threads(&mut self) -> Vec<Effect> {
        self.manage(if self.lists_archived() { &Upkeep::Unarchive } else { &Upkeep::Archive })
    }

    /// What an open list is called.
    #[must_use]
    pub fn list_title(&self, picker: &Picker) -> &'static str {
        if self.lists_archived() { "archived threads" } else { picker.kind.title() }
    }

    /// Begins to write what the chosen thread is called.
    pub(super) fn begin_naming(&mut self) {
        let title = self.chosen_thread().map(|row| row.title.clone());
        if let (Some(picker), Some(title)) = (self.thread_list(), title) {
            picker.naming = Some(title);
        }
    }

    /// Calls the chosen thread what was written; none where nothing was being written.
    pub(super) fn name_it(&mut self) -> Option<Vec<Effect>> {
        let name = self.thread_list()?.naming.take()?;
        Some(if name.trim().is_empty() { Vec::new() } else { self.manage(&Upkeep::Rename(name)) })
    }

    /// Removes the thread, the second time it is asked for.
    pub(super) fn remove_thread(&mut self) -> Vec<Effect> {
        let Some(thread_id) = self.meant_thread() else { return self.manage(&Upkeep::Remove) };
        let shown = self.view.is_of(&thread_id);
        if shown && self.view.is_working() {
            self.say(Level::Warning, "the thread is working; stop it first");
            return Vec::new();
        }
        let asked = self.threads.removes.replace((thread_id.clone(), self.now));
        if asked.is_none_or(|(asked, at)| asked != thread_id || self.now.since(at) > AGAIN_WITHIN) {
            let row = self.listed_threads().iter().find(|row| row.thread_id == thread_id);
            let title = row.map(|row| row.title.clone()).filter(|title| !title.is_empty());
            let name = title.unwrap_or_else(|| thread_id.to_string());
            self.say(Level::Warning, format!("repeat to delete `{name}` and everything in it"));
            return Vec::new();
        }
        self.threads.removes = None;
        self.threads.left_to_remove = Some(thread_id.clone()).filter(|_| shown);
        if shown {
            let list = self.overlay.take();
            self.new_thread();
            self.overlay = list;
        }
        vec![Effect::Manage { thread_id, upkeep: Upkeep::Remove }]
    }

    /// What was left to be removed is still there, and shown again unless the person went on meanwhile.
    pub(super) fn not_removed(&mut self, thread_id: ThreadId) -> Vec<Effect> {
        let left = self.threads.left_to_remove.take().is_some_and(|left| left == thread_id);
        if !left || self.view.thread.is_some() || self.view.link != Link::Draft {
            return Vec::new();
        }
        let list = self.overlay.take();
        let effects = self.show_thread(thread_id);
        self.overlay = list;
        effects
    }
}
