//! Components of extensions on the screen: which one has the keys, and what it is told.
//!
//! The one that was opened last and wants keys has them all, but ctrl-c: that closes it, whatever it does. While
//! something else lies over the conversation, or a call waits for approval, it waits.

use super::component::{Components, sequence};
use super::geometry;
use super::message::Effect;
use super::model::Model;
use super::overlay::Overlay;
use super::thread_view::{Link, Sent};
use crate::commands::Key;
use crate::domain::{Gesture, OpenComponent, ScreenSize, Themes};
use crate::worker::protocol::Command;

/// Bytes of a draft that extensions are told of, with each letter; a longer one is not told. They can write no more there either.
const LONGEST_DRAFT: usize = 64 << 10;

impl Model {
    /// The components of the thread on the screen, the last one above the others.
    pub fn components(&self) -> impl Iterator<Item = &OpenComponent> {
        let open = self.view.state.iter().flat_map(|state| &state.extensions.components);
        open.filter(|open| open.editor.is_none()).filter(|open| !self.view.components.closed.contains(&open.id))
    }

    /// Gives the keys to the component that wants them, and tells extensions how large the screen is and how it looks.
    pub(super) fn follow_components(&mut self) -> Vec<Effect> {
        let Some(state) = self.view.state.as_ref().filter(|_| self.view.link == Link::Connected) else {
            self.drop_component();
            self.view.components = Components::default();
            return Vec::new();
        };
        let there: Vec<u64> = state.extensions.components.iter().map(|open| open.id).collect();
        let draws = state.extensions.draws;
        self.view.components.closed.retain(|id| there.contains(id));
        // A call that waits for the person is not kept waiting behind a game that waits for the call.
        let is_free = self.view.approvals.is_empty();
        let wants = self.components().filter(|open| open.focused && is_free).last().cloned();
        match (&self.overlay, wants) {
            (Some(Overlay::Component(_)) | None, Some(open)) => {
                let known = self.overlay.replace(Overlay::Component(Box::new(open.clone())));
                self.changed |= !matches!(known, Some(Overlay::Component(known)) if *known == open);
            }
            (Some(Overlay::Component(_)), None) => self.drop_component(),
            (Some(_) | None, _) => {}
        }
        let inner = geometry::regions(self).composer.width;
        let screen = ScreenSize { columns: self.size.0, rows: self.size.1, inner };
        if !draws {
            return Vec::new();
        }
        let mut told = Vec::new();
        let draft = (self.composer.revision(), self.details);
        let known = self.view.components.draft.replace(draft);
        if known.is_none_or(|known| known.0 != draft.0) && self.editor().is_none() {
            let text = Some(self.composer.text()).filter(|text| text.len() <= LONGEST_DRAFT);
            let gesture = Gesture::Draft { text: text.unwrap_or_default() };
            told.push(Effect::Send { id: self.sending(Sent::Draft), command: Command::Gesture { gesture } });
        }
        if known.map_or(draft.1, |known| known.1 != draft.1) {
            told.push(self.gesture(Gesture::Unfold { open: draft.1 }));
        }
        if self.view.components.screen.replace(screen) != Some(screen) {
            told.push(self.gesture(Gesture::Resize(screen)));
        }
        // One that follows the terminal is the one for its background.
        let usual = if self.light == Some(true) { "light" } else { "dark" };
        let chosen = self.theme.clone().unwrap_or_else(|| usual.to_owned());
        let are_known = self.view.components.themes.as_ref();
        if are_known.is_none_or(|known| known.names != self.themes || known.chosen.as_ref() != Some(&chosen)) {
            let themes = Themes { names: self.themes.clone(), chosen: Some(chosen) };
            self.view.components.themes = Some(themes.clone());
            told.push(self.gesture(Gesture::Themes(themes)));
        }
        told
    }

    fn drop_component(&mut self) {
        if let Some(Overlay::Component(_)) = self.overlay {
            self.overlay = None;
            self.changed = true;
        }
    }

    pub(super) fn gesture(&mut self, gesture: Gesture) -> Effect {
        Effect::Send { id: self.sending(Sent::Other), command: Command::Gesture { gesture } }
    }

    /// The component that has the keys.
    fn keyed(&self) -> Option<u64> {
        if let Some(Overlay::Component(open)) = &self.overlay { Some(open.id) } else { None }
    }

    /// Hands a key to the component that has them; none where none has.
    pub(super) fn key_of_component(&mut self, key: Key) -> Option<Vec<Effect>> {
        let component = self.keyed()?;
        if key.normal() == Key::ctrl('c') {
            self.view.components.closed.push(component);
            self.drop_component();
            return Some(vec![self.gesture(Gesture::Close { component })]);
        }
        Some(vec![self.type_to(component, key)])
    }

    fn typing(&mut self, component: u64, data: String) -> Effect {
        let by = self.screen.clone();
        self.gesture(Gesture::Type { component, data, by })
    }

    pub(super) fn type_to(&mut self, component: u64, key: Key) -> Effect {
        self.typing(component, sequence(key))
    }

    /// Hands what is pasted to the component that has the keys; none where none has.
    pub(super) fn paste_of_component(&mut self, text: &str) -> Option<Vec<Effect>> {
        let component = self.keyed()?;
        Some(vec![self.paste_to(component, text)])
    }

    pub(super) fn paste_to(&mut self, component: u64, text: &str) -> Effect {
        // What ends a paste is no part of one.
        let text = text.replace('\x1b', "");
        self.typing(component, format!("\x1b[200~{text}\x1b[201~"))
    }

    /// A typed line, where lines are all there is: its letters and enter; escape where it is empty.
    pub(super) fn line_for_component(&mut self, line: &str) -> Vec<Effect> {
        let Some(component) = self.keyed() else { return Vec::new() };
        let data =
            if line.trim().is_empty() { vec!["\x1b".to_owned()] } else { vec![line.to_owned(), "\r".to_owned()] };
        data.into_iter().map(|data| self.typing(component, data)).collect()
    }

    /// What an extension offers under a key. A letter is always one of the draft.
    fn shortcut_of(&self, key: Key) -> Option<&str> {
        if key.typed().is_some() {
            return None;
        }
        let state = self.view.state.as_ref().filter(|_| self.view.link == Link::Connected && self.overlay.is_none())?;
        let named = |offered: &str| offered.replace('+', "-").parse::<Key>().is_ok_and(|own| own == key.normal());
        state.extensions.shortcuts.iter().map(|offered| offered.key.as_str()).find(|offered| named(offered))
    }

    pub(super) fn has_shortcut(&self, key: Key) -> bool {
        self.shortcut_of(key).is_some()
    }

    /// Runs what an extension offers under a key that means nothing else here; none where none does.
    pub(super) fn shortcut(&mut self, key: Key) -> Option<Effect> {
        let command = Command::PressShortcut { key: self.shortcut_of(key)?.to_owned() };
        Some(Effect::Send { id: self.sending(Sent::Other), command })
    }
}
