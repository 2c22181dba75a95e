//! An editor of an extension in the place of the draft: it has the keys that write, and the draft is what it holds.
//!
//! The draft stays the one text that is counted, previewed and sent. What the editor tells replaces it; what changes it here (the
//! history, a completion, a text that could not be sent) is told to the editor.

use super::component::EditorLink;
use super::layout::TranscriptLayout;
use super::message::Effect;
use super::model::Model;
use super::thread_view::Link;
use crate::commands::{CommandId, Key};
use crate::domain::event::PromptMode;
use crate::domain::{EditorAct, Gesture, OpenComponent};

impl Model {
    /// The editor of an extension that stands in the place of the draft.
    #[must_use]
    pub fn editor(&self) -> Option<&OpenComponent> {
        let state = self.view.state.as_ref().filter(|_| self.view.link == Link::Connected)?;
        state.extensions.components.iter().rev().find(|open| open.editor.is_some())
    }

    /// Hands a key to the editor, where there is one and the key is for writing.
    pub(super) fn key_of_editor(&mut self, key: Key) -> Option<Vec<Effect>> {
        if self.overlay.is_some() || self.view.reading.is_some() {
            return None;
        }
        let component = self.editor()?.id;
        let command = self.keymap.command(key, &self.contexts());
        let writes = match command {
            None | Some(CommandId::PromptSend | CommandId::TurnInterrupt) => true,
            Some(command) => command.row().name.starts_with("edit."),
        };
        if !writes || (command.is_none() && self.has_shortcut(key)) {
            return None;
        }
        self.take_keyboard(false);
        Some(vec![self.type_to(component, key)])
    }

    /// Hands what is pasted to the editor, where there is one.
    pub(super) fn paste_of_editor(&mut self, text: &str) -> Option<Vec<Effect>> {
        if self.overlay.is_some() || self.view.reading.is_some() {
            return None;
        }
        let component = self.editor()?.id;
        self.take_keyboard(false);
        Some(vec![self.paste_to(component, text)])
    }

    /// Does what the editor asks for, and brings its text and the draft together.
    pub(super) fn follow_editor(&mut self, layout: &mut dyn TranscriptLayout) -> Vec<Effect> {
        let open = self.editor().and_then(|open| Some((open.id, open.editor.clone()?)));
        let Some((id, editor)) = open else {
            self.view.components.editor = None;
            return Vec::new();
        };
        let newest = editor.acts.last().map_or(0, |act| act.number);
        let mut effects = Vec::new();
        let known = self.view.components.editor.take().filter(|link| link.id == id);
        let is_new = known.is_none();
        // What another screen did before this one came is over.
        let mut link = known.unwrap_or_else(|| EditorLink { id, told: String::new(), sent: None, done: newest });
        if is_new && !editor.text.is_empty() && self.composer.text() != editor.text {
            // Neither what is written here nor what is written there is lost.
            if self.composer.is_empty() {
                self.composer.set(&editor.text);
            } else {
                self.composer.put_back(&editor.text);
            }
            link.told.clone_from(&editor.text);
        }
        let (done, screen) = (link.done, self.screen.clone());
        link.done = newest;
        for act in editor.acts.iter().filter(|act| act.number > done && act.by == screen) {
            if let EditorAct::Action { .. } = act.act {
                self.follow_text(&mut link, &editor.text);
            } else {
                // What was sent is gone from there: what is left of it here, because it could not be sent, is news there.
                (link.told, link.sent) = (String::new(), None);
            }
            effects.extend(self.do_for_editor(layout, &act.act));
        }
        self.follow_text(&mut link, &editor.text);
        let draft = self.composer.text();
        let is_known = link.sent.as_ref().unwrap_or(&link.told) == &draft;
        if !is_known {
            link.sent = Some(draft.clone());
            effects.push(self.gesture(Gesture::Write { component: id, text: draft }));
        }
        self.changed |= is_new;
        self.view.components.editor = Some(link);
        effects
    }

    /// The draft is what the editor says, where that is news.
    fn follow_text(&mut self, link: &mut EditorLink, text: &str) {
        if text == link.told {
            return;
        }
        text.clone_into(&mut link.told);
        link.sent = None;
        if self.composer.text() != text {
            self.composer.set(text);
            self.history.left();
            self.complete();
        }
        self.changed = true;
    }

    fn do_for_editor(&mut self, layout: &mut dyn TranscriptLayout, act: &EditorAct) -> Vec<Effect> {
        match act {
            EditorAct::Submit { text } => {
                self.composer.set(text);
                self.send(layout)
            }
            EditorAct::Action { name } => match name.as_str() {
                "interrupt" if self.view.is_working() => self.interrupt(),
                "followUp" => self.submit(PromptMode::FollowUp),
                "dequeue" => self.take_back(),
                "externalEditor" => vec![Effect::Edit(self.composer.text())],
                "expandTools" | "toggleThinking" => self.perform(layout, CommandId::TranscriptDetails, false),
                "selectModel" => self.perform(layout, CommandId::ModelChoose, false),
                "exit" => self.perform(layout, CommandId::AppLeaveEmpty, false),
                "clear" => {
                    self.composer.take();
                    self.complete();
                    Vec::new()
                }
                _ => Vec::new(),
            },
        }
    }
}
