//! The conversation as a tree: what was said in every thread that goes on with the same words, to go on from any of it.

use super::conversation_list::{ConversationList, Place};
use super::fork::{ForkAsked, Forking, SummaryAsked};
use super::message::{Effect, Level, Upkeep};
use super::model::Model;
use super::overlay::Overlay;
use super::picker::{Choice, Entry, Picker, PickerKind};
use super::thread_view::Destination;
use crate::domain::conversation::{Conversation, Listed, Row, Said, SaidKind};
use crate::domain::{ForkPoint, ThreadId};
use std::sync::Arc;

impl Model {
    /// Goes on from the chosen place, and tells in short what is left behind.
    pub(super) fn go_on_with_summary(&mut self) -> Vec<Effect> {
        let Some(place) = self.chosen_entry() else { return Vec::new() };
        self.overlay = None;
        self.go_on_from(&place, true)
    }

    pub(super) fn show_conversation(&mut self) -> Vec<Effect> {
        let Some(thread_id) = self.view.thread.clone() else { return Vec::new() };
        let listed = self.browser.conversation.listed;
        self.browser.conversation = ConversationList { listed, ..ConversationList::default() };
        self.pick(PickerKind::Conversation, true);
        vec![Effect::LoadConversation { thread_id }]
    }

    /// Reads the conversation again where it is listed and something in it got a label.
    pub(super) fn reread_conversation(&mut self) -> Option<Effect> {
        std::mem::take(&mut self.browser.conversation.labelled).then_some(())?;
        self.conversation_list()?;
        self.view.thread.clone().map(|thread_id| Effect::LoadConversation { thread_id })
    }

    pub(super) fn conversation_read(&mut self, thread_id: ThreadId, read: Result<Conversation, String>) {
        match read {
            Ok(conversation) => {
                self.browser.conversation.conversation = conversation;
                self.browser.conversation.thread = Some(thread_id);
                self.refill(PickerKind::Conversation);
            }
            Err(why) => {
                if self.list(PickerKind::Conversation).is_some() {
                    self.overlay = None;
                }
                self.say(Level::Error, why);
            }
        }
    }

    /// Lists more of what was said, or less.
    pub(super) fn list_next(&mut self) {
        let listed = self.browser.conversation.listed.next();
        self.browser.conversation.listed = listed;
        self.refill(PickerKind::Conversation);
        let told = match listed {
            Listed::Words => "what was said, without calls of tools",
            Listed::Prompts => "prompts",
            Listed::Labelled => "what has a label",
            Listed::All => "everything",
        };
        self.say(Level::Info, format!("listed: {told}"));
    }

    pub(super) fn conversation_entries(&self) -> Vec<Entry> {
        let ConversationList { thread: Some(thread), conversation, listed, .. } = &self.browser.conversation else {
            return Vec::new();
        };
        let rows = conversation.rows(thread, *listed);
        let leaf = rows.iter().rposition(|row| row.here);
        let entry = |(at, row): (usize, &Row)| {
            let branch = conversation.branches().get(row.branch)?;
            let said = match row.entry {
                Some(entry) => Some(branch.said.get(entry)?),
                None => None,
            };
            let title = if branch.title.is_empty() { branch.thread.as_str() } else { branch.title.as_str() };
            let handed_off = branch.from.as_ref().is_some_and(|from| from.handed_off);
            let text = match said {
                Some(said) => in_words(said),
                None if handed_off => format!("continued: {title}"),
                None if branch.said.len() <= branch.copied => format!("fork: {title} (nothing said yet)"),
                None => format!("fork: {title}"),
            };
            let label =
                said.and_then(|said| said.label.as_ref()).map(|label| format!("[{label}] ")).unwrap_or_default();
            let last = said.is_none() || row.entry == branch.said.len().checked_sub(1);
            let place = Place { thread: branch.thread.clone(), said: said.cloned().map(Arc::new), last };
            Some(Entry {
                choice: Choice::Place(Box::new(place)),
                label: format!("{}{}{label}{text}", if row.here { "│ " } else { "  " }, "  ".repeat(row.level)),
                detail: if said.is_none() { branch.thread.to_string() } else { String::new() },
                usable: true,
                current: Some(at) == leaf,
                body: None,
                group: None,
            })
        };
        rows.iter().enumerate().filter_map(entry).collect()
    }

    fn conversation_list(&mut self) -> Option<&mut Picker> {
        let Some(Overlay::Picker(picker)) = &mut self.overlay else { return None };
        (picker.kind == PickerKind::Conversation).then_some(picker)
    }

    fn chosen_entry(&mut self) -> Option<Place> {
        let Choice::Place(place) = &self.conversation_list()?.chosen()?.choice else { return None };
        Some(Place::clone(place))
    }

    /// Begins to write what the chosen entry is called.
    pub(super) fn begin_label(&mut self) {
        let Some(Place { said: Some(said), .. }) = self.chosen_entry() else {
            self.say(Level::Info, "choose something that was said; /rename names a thread");
            return;
        };
        if let Some(picker) = self.conversation_list() {
            picker.naming = Some(said.label.clone().unwrap_or_default());
        }
    }

    /// Calls the chosen entry what was written, nothing where that is empty; none where nothing was being written.
    pub(super) fn label_it(&mut self) -> Option<Vec<Effect>> {
        let label = self.conversation_list()?.naming.take()?;
        let Some(Place { thread, said: Some(said), .. }) = self.chosen_entry() else { return Some(Vec::new()) };
        let label = Some(label).filter(|label| !label.trim().is_empty());
        self.browser.conversation.labelled = true;
        Some(vec![Effect::Manage { thread_id: thread, upkeep: Upkeep::Label { target: said.id(), label } }])
    }

    /// Goes on from there: in its thread, where nothing was said behind it, else in a fork. With `summarised`, what is left
    /// behind is told in short.
    pub(super) fn go_on_from(&mut self, place: &Place, summarised: bool) -> Vec<Effect> {
        let Some(shown) = self.view.thread.clone() else { return Vec::new() };
        let is_prompt = place.said.as_ref().is_some_and(|said| said.kind == SaidKind::Prompt);
        let target = place.said.as_ref().filter(|_| is_prompt || !place.last || summarised);
        let Some(said) = target else {
            if place.thread == shown {
                self.say(Level::Info, "this is where the thread is");
                return Vec::new();
            }
            return self.open_thread(place.thread.clone());
        };
        let leaves = || self.browser.conversation.conversation.left_behind(&shown, &place.thread, said.at);
        if summarised && leaves().is_empty() {
            self.say(Level::Info, "nothing is left behind from there that could be summarised");
            return Vec::new();
        }
        let fork = ForkAsked::of(place.thread.clone(), ForkPoint::Entry(said.at), Forking::Revise);
        self.leave_for(Destination::Fork(ForkAsked { summary: summarised.then(SummaryAsked::default), ..fork }))
    }
}

fn in_words(said: &Said) -> String {
    let who = match said.kind {
        SaidKind::Prompt => "you: ",
        SaidKind::Answer => "model: ",
        SaidKind::Result => "gave: ",
        SaidKind::Message => "message: ",
        SaidKind::Inherited => "so far: ",
        SaidKind::BranchSummary => "branch: ",
        SaidKind::Calls | SaidKind::Shell => "",
    };
    format!("{who}{}", said.text)
}
