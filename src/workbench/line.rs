//! A line that was typed where there is no screen: `levain --plain`. What it means depends on what was read out last: an
//! entry of a list, an input of a form, the answer to a waiting call, else a prompt or a `/` command.

use super::layout::TranscriptLayout;
use super::message::{Effect, Level};
use super::model::Model;
use super::overlay::Overlay;
use super::perform::slash;
use super::picker::Choice;
use super::submit::misspelt;
use crate::commands::{CommandId, Need};
use crate::domain::event::Approve;

/// The words that answer a waiting call, as they are read out.
pub const ANSWERS: &str = "yes or y (this once), thread (for this thread), always (in this project), no or n";

fn answer_of(line: &str) -> Option<Approve> {
    Some(match line.trim().to_lowercase().as_str() {
        "yes" | "y" | "once" => Approve::Once,
        "thread" => Approve::Thread,
        "always" => Approve::Always,
        "no" | "n" | "deny" => Approve::Deny,
        _ => return None,
    })
}

impl Model {
    pub(super) fn line(&mut self, layout: &mut dyn TranscriptLayout, line: &str) -> Vec<Effect> {
        self.changed = true;
        self.view.reading = None;
        // A line behind one that ended in `\` is part of the draft, whatever it begins with.
        let goes_on = self.composer.text().ends_with('\n');
        if let Some((command, argument)) = slash(line).filter(|_| !goes_on) {
            return self.line_for_command(layout, command, argument);
        }
        let is_known = self.is_prompt_name(line) || self.may_name_commands();
        if let Some(unknown) =
            misspelt(line).filter(|_| !is_known).or_else(|| self.missing_skill(line)).filter(|_| !goes_on)
        {
            self.say(Level::Warning, unknown);
            return Vec::new();
        }
        let is_command = line.starts_with('/');
        match &self.overlay {
            Some(Overlay::Picker(_)) if !is_command => return self.line_for_list(layout, line.trim()),
            Some(Overlay::Form(_)) if !is_command => {
                self.line_for_form(line);
                return Vec::new();
            }
            Some(Overlay::Dialog(_)) if !is_command => return self.line_for_dialog(line),
            Some(Overlay::Component(_)) if !is_command => return self.line_for_component(line),
            Some(Overlay::RequestPage(_)) if !is_command => {
                self.close();
                return if line.trim().is_empty() { Vec::new() } else { self.line_for_list(layout, line.trim()) };
            }
            Some(_) => {
                self.overlay = None;
                if line.trim().is_empty() {
                    return Vec::new();
                }
            }
            None => {}
        }
        if !self.view.approvals.is_empty()
            && let Some(decision) = answer_of(line)
        {
            let armed = decision == Approve::Deny || self.is_armed();
            if !armed {
                self.say(Level::Warning, "that came before the call was read out; answer again");
                return Vec::new();
            }
            return self.answer(decision);
        }
        let draft = self.composer.text();
        if draft.ends_with('\n') {
            self.composer.set(&format!("{draft}{line}"));
        } else if !line.trim().is_empty() {
            self.composer.set(line);
        }
        self.send(layout)
    }

    /// A `/` command. What is about the request that is looked at leaves it there; all but `/preview` with words leave
    /// the draft alone.
    fn line_for_command(
        &mut self,
        layout: &mut dyn TranscriptLayout,
        command: CommandId,
        argument: &str,
    ) -> Vec<Effect> {
        if !matches!(command.row().needs, Need::Request | Need::Unsent) {
            self.overlay = None;
        }
        self.run_with(layout, command, argument).unwrap_or_else(|wrong| {
            self.say(Level::Error, wrong);
            Vec::new()
        })
    }

    /// A number takes an entry, nothing closes the list, words narrow it.
    fn line_for_list(&mut self, layout: &mut dyn TranscriptLayout, line: &str) -> Vec<Effect> {
        let Some(Overlay::Picker(picker)) = &mut self.overlay else { return Vec::new() };
        if line.is_empty() {
            self.overlay = None;
            return Vec::new();
        }
        let Ok(number) = line.parse::<usize>() else {
            line.clone_into(&mut picker.filter);
            picker.refilter();
            return Vec::new();
        };
        let Some(place) = number.checked_sub(1).filter(|place| *place < picker.shown.len()) else {
            self.say(Level::Warning, format!("there is no entry {number}"));
            return Vec::new();
        };
        picker.chosen = place;
        if let Some(Choice::Item(row)) = picker.chosen().map(|entry| &entry.choice)
            && row.directive.is_none()
            && row.file.is_none()
        {
            // Its text is read when it is chosen, and read out when it is there.
            return Vec::new();
        }
        self.accept(layout)
    }

    /// What the input at hand is given; after the last one the form is taken.
    fn line_for_form(&mut self, line: &str) {
        let Some(Overlay::Form(form)) = &mut self.overlay else { return };
        if !line.trim().is_empty() {
            form.edit(|field| field.set(line));
        }
        if form.at + 1 < form.fields.len() {
            form.step(1);
        } else {
            self.start_form();
        }
    }
}
