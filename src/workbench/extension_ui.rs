//! What extensions ask and show on the screen: when a question opens, and what becomes of its answer.

use super::attention::visible;
use super::dialog::{DialogPanel, Dialogs};
use super::fork::{ForkAsked, Forking, SummaryAsked};
use super::geometry;
use super::message::Upkeep;
use super::message::{Effect, Level};
use super::model::Model;
use super::overlay::Overlay;
use super::thread_view::{Destination, Link, Sent};
use crate::domain::conversation::entry_at;
use crate::domain::{ContentHash, DialogReply, Indicator, Insertion, Looks, NumberedText, OpenDialog, ShownPlace};
use crate::domain::{ForkPoint, MoveTo};
use crate::worker::protocol::Command;

/// Most letters of it: the status line has other things to tell.
const LONGEST_WORKING: usize = 40;

impl Model {
    /// What extensions show at a place, line by line; those of the status in one.
    #[must_use]
    pub fn shown_at(&self, place: ShownPlace) -> Vec<String> {
        let all = self.view.state.iter().flat_map(|state| &state.extensions.shown).filter(|shown| shown.place == place);
        let lines = all.flat_map(|shown| shown.lines.iter().cloned());
        if place == ShownPlace::Status {
            let line = lines.collect::<Vec<_>>().join(" · ");
            return if line.is_empty() { Vec::new() } else { vec![line] };
        }
        lines.collect()
    }

    /// What an extension says the thread does while a model is waited for; styles have no place in it.
    #[must_use]
    pub fn working_message(&self) -> Option<String> {
        let told = self.shown_at(ShownPlace::Working).pop()?;
        Some(visible(&anstream::adapter::strip_str(&told).to_string()).chars().take(LONGEST_WORKING).collect())
    }

    fn looks(&self) -> Option<&Looks> {
        Some(&self.view.state.as_ref()?.extensions.looks)
    }

    /// What an extension has before the word for what the thread does.
    pub(super) fn indicator(&self) -> Option<&Indicator> {
        self.looks()?.indicator.as_ref()
    }

    /// The mark before the word for what the thread does; none where an extension wants none.
    #[must_use]
    pub fn working_mark(&self) -> &str {
        let Some(marks) = self.indicator() else { return "●" };
        let place = self.indicator_ticks.checked_rem(marks.frames.len()).unwrap_or_default();
        marks.frames.get(place).map_or("", String::as_str)
    }

    /// Whether extensions leave out what the thread does while a model is waited for.
    #[must_use]
    pub fn hides_working(&self) -> bool {
        self.looks().is_some_and(|looks| looks.hides_working)
    }

    /// Calls folded thoughts what an extension calls them, and shows details in full or folds them where it wishes that.
    fn take_looks(&mut self) {
        let label = self.view.state.as_ref().and_then(|state| state.extensions.looks.thought_label.as_deref());
        self.view.transcript.label_thoughts(label);
        let Some(looks) = self.looks() else { return };
        let (number, wish) = looks.unfolds.map_or((0, false), |wish| (wish.number, wish.wish));
        // What was wished before this screen came was for somebody else.
        let before = self.view.dialogs.unfolded.replace(number);
        if number > 0 && before.is_some_and(|before| before != number) {
            self.show_details(wish);
        }
    }

    /// Shows all details or folds them.
    pub(super) fn show_details(&mut self, open: bool) {
        self.details = open;
        self.view.transcript.set_open(open);
        self.changed = true;
    }

    /// Rows below the title, above and below the draft.
    pub(super) fn shown_rows(&self) -> (u16, u16, u16) {
        let (mut header, mut above, mut below, mut status) = (0, 0, 0, 0_u16);
        for shown in self.view.state.iter().flat_map(|state| &state.extensions.shown) {
            let lines = u16::try_from(shown.lines.len()).unwrap_or(u16::MAX);
            match shown.place {
                ShownPlace::Header => header = lines.saturating_add(header),
                ShownPlace::AboveDraft => above = lines.saturating_add(above),
                ShownPlace::BelowDraft | ShownPlace::Footer => below = lines.saturating_add(below),
                ShownPlace::Status => status = 1,
                ShownPlace::Title | ShownPlace::Working => {}
            }
        }
        (header, above, status.saturating_add(below))
    }

    /// The questions that wait in the thread on the screen.
    fn dialogs(&self) -> &[OpenDialog] {
        self.view.state.as_ref().map_or(&[], |state| state.extensions.dialogs.as_slice())
    }

    /// Those that were not answered here.
    fn unanswered(&self) -> impl Iterator<Item = &OpenDialog> {
        self.dialogs().iter().filter(|open| !self.view.dialogs.answered.contains(&open.id))
    }

    /// Opens the question that waits, and closes one that no longer does.
    pub(super) fn follow_dialogs(&mut self) {
        if let Some(Overlay::Dialog(panel)) = &self.overlay {
            let id = panel.open.id;
            if !self.dialogs().iter().any(|open| open.id == id) {
                self.overlay = None;
                self.changed = true;
            }
        }
        let waits = |id: &u64| self.dialogs().iter().any(|open| open.id == *id);
        let (told, answered) = (&self.view.dialogs.told, &self.view.dialogs.answered);
        let told = told.iter().copied().filter(waits).collect();
        let answered = answered.iter().copied().filter(waits).collect();
        self.view.dialogs = Dialogs { told, answered, ..self.view.dialogs };
        self.take_suggestion();
        self.take_call();
        self.take_theme();
        self.take_looks();
        let Some(open) = self.unanswered().next().cloned() else { return };
        // A question may come from what draws itself below it.
        let is_free = self.overlay.as_ref().is_none_or(|overlay| matches!(overlay, Overlay::Component(_)));
        if self.view.link != Link::Connected || !is_free {
            return;
        }
        if self.composer.is_empty() && self.view.approvals.is_empty() {
            self.open_dialog(open);
        } else if !self.view.dialogs.told.contains(&open.id) {
            self.view.dialogs.told.push(open.id);
            let title = open.dialog.title().lines().next().unwrap_or_default().to_owned();
            self.say(Level::Warning, format!("{} asks: {title} (/answer)", open.from));
        }
    }

    /// Goes where an extension leads the person; what is written stays behind its draft.
    pub(super) fn follow_move(&mut self) -> Vec<Effect> {
        let Some(state) = &self.view.state else { return Vec::new() };
        let moved = state.extensions.moved.as_ref();
        let text = NumberedText::take(moved.map(|moved| &moved.text), &mut self.view.dialogs.moved);
        let Some((text, to)) = text.map(str::to_owned).zip(moved.map(|moved| moved.to.clone())) else {
            return Vec::new();
        };
        let effects = match to {
            MoveTo::New => self.go_to(Destination::New),
            MoveTo::Open { thread_id } => self.go_to(Destination::Open(thread_id)),
            MoveTo::Leave => self.quit(),
            MoveTo::Entry { thread_id, entry, summarised, instructions, label } => {
                let Some(at) = entry_at(&entry) else { return Vec::new() };
                let labelled = label.map(|label| Effect::Manage {
                    thread_id: thread_id.clone(),
                    upkeep: Upkeep::Label { target: entry, label: Some(label) },
                });
                let fork = ForkAsked::of(thread_id, ForkPoint::Entry(at), Forking::Revise);
                let summary = summarised.then_some(SummaryAsked { instructions });
                let mut effects = self.go_to(Destination::Fork(ForkAsked { summary, ..fork }));
                effects.extend(labelled);
                effects
            }
        };
        if !text.is_empty() {
            self.composer.put_back(&text);
            self.complete();
        }
        self.changed = true;
        effects
    }

    /// Takes a program of an extension that is to have the terminal, if no other screen does.
    pub(super) fn follow_foreground(&mut self) -> Option<Effect> {
        if self.view.link != Link::Connected {
            // Another worker counts anew.
            (self.view.dialogs.foreground, self.view.dialogs.theme) = (0, 0);
            return None;
        }
        let wanted = self.view.state.as_ref()?.extensions.foreground.as_ref()?;
        if wanted.id <= self.view.dialogs.foreground {
            return None;
        }
        self.view.dialogs.foreground = wanted.id;
        let (id, program) = (wanted.id, Box::new(wanted.clone()));
        let command = Command::TakeForeground { id };
        Some(Effect::Send { id: self.sending(Sent::Foreground(program)), command })
    }

    /// The program that had the terminal has ended.
    pub(super) fn foreground_over(&mut self, id: u64, code: Option<i32>) -> Vec<Effect> {
        self.tell_worker(Sent::Other, Command::ForegroundOver { id, code })
    }

    /// Takes on the theme that an extension chose.
    fn take_theme(&mut self) {
        let chosen = self.view.state.as_ref().and_then(|state| state.extensions.theme.clone());
        let Some(NumberedText { number, text }) = chosen.filter(|chosen| chosen.number > self.view.dialogs.theme)
        else {
            return;
        };
        self.view.dialogs.theme = number;
        if self.themes.contains(&text) {
            self.changed |= self.theme.replace(text.clone()) != Some(text);
        } else {
            self.say(Level::Warning, format!("an extension wants the theme `{text}`, which is not here"));
        }
    }

    /// Takes what an extension calls the person for.
    fn take_call(&mut self) {
        let Some(state) = &self.view.state else { return };
        let calling = NumberedText::take(state.extensions.calling.as_ref(), &mut self.view.dialogs.calling);
        if let Some(text) = calling {
            self.calling = Some(text.to_owned());
        }
    }

    /// Puts a text of an extension on the clipboard. Where another thread is looked at nobody copies for it.
    pub(super) fn take_copy(&mut self) -> Option<Effect> {
        let state = self.view.state.as_ref()?;
        let copied = NumberedText::take(state.extensions.copied.as_ref(), &mut self.view.dialogs.copied)?;
        Some(Effect::Copy(copied.to_owned()))
    }

    /// Puts a text of an extension into the draft: where the cursor stands, or before what is written there.
    fn take_suggestion(&mut self) {
        let Some(state) = &self.view.state else { return };
        let suggested = state.extensions.suggested.as_ref();
        let text = NumberedText::take(suggested.map(|suggested| &suggested.text), &mut self.view.dialogs.suggested);
        let Some(text) = text else { return };
        let is_read = |hash: &ContentHash| *hash == ContentHash::of(self.composer.text().as_bytes());
        match suggested.map(|suggested| &suggested.how) {
            Some(Insertion::Pasted) => self.composer.paste(text),
            _ if self.composer.is_empty() => self.composer.set(text),
            Some(Insertion::Instead(hash)) if is_read(hash) => self.composer.replace(text),
            Some(Insertion::Before | Insertion::Instead(_)) | None => self.composer.put_back(text),
        }
        self.complete();
        self.changed = true;
    }

    fn open_dialog(&mut self, open: OpenDialog) {
        self.overlay = Some(Overlay::Dialog(Box::new(DialogPanel::new(open, self.now))));
        self.wrap_dialog();
        self.changed = true;
    }

    pub(super) fn wrap_dialog(&mut self) {
        let width = geometry::form_width(self);
        if let Some(Overlay::Dialog(panel)) = &mut self.overlay {
            panel.wrap(width);
        }
    }

    /// `/answer`: shows the question that waits.
    pub(super) fn show_dialog(&mut self) {
        let open = self.unanswered().next().cloned();
        match open {
            Some(open) => self.open_dialog(open),
            None => self.say(Level::Info, "no extension asks anything"),
        }
    }

    /// Answers the question that is open, unless it came under the person's hands just now.
    pub(super) fn accept_dialog(&mut self) -> Vec<Effect> {
        let Some(Overlay::Dialog(panel)) = &self.overlay else { return Vec::new() };
        if !panel.is_armed(self.now) {
            return Vec::new();
        }
        let reply = panel.reply();
        self.answer_dialog(reply)
    }

    /// Answers it; without a reply it is dismissed.
    pub(super) fn answer_dialog(&mut self, reply: Option<DialogReply>) -> Vec<Effect> {
        let Some(Overlay::Dialog(panel)) = self.overlay.take() else { return Vec::new() };
        let id = panel.open.id;
        self.view.dialogs.answered.push(id);
        self.changed = true;
        vec![Effect::Send { id: self.sending(Sent::Other), command: Command::AnswerDialog { id, reply } }]
    }

    /// A typed line answers, where lines are all there is: a number, an option, a text; nothing dismisses the question.
    pub(super) fn line_for_dialog(&mut self, line: &str) -> Vec<Effect> {
        let Some(Overlay::Dialog(panel)) = &mut self.overlay else { return Vec::new() };
        let said = line.trim();
        if said.is_empty() {
            return self.answer_dialog(None);
        }
        if let Some(options) = panel.options() {
            let number = said.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
            let begins = |option: &&str| option.to_lowercase().starts_with(&said.to_lowercase());
            let named = || {
                let fit: Vec<usize> = (0..options.len()).filter(|place| begins(&options[*place])).collect();
                if let [only] = fit.as_slice() { Some(*only) } else { None }
            };
            let Some(place) = number.filter(|place| *place < options.len()).or_else(named) else {
                self.say(Level::Warning, "answer with the number of a choice; an empty line dismisses the question");
                return Vec::new();
            };
            panel.chosen = place;
        } else {
            panel.text.set(line);
        }
        let reply = panel.reply();
        self.answer_dialog(reply)
    }
}
