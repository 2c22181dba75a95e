//! Reckons what sending the draft would come to.

use super::counter::{Basis, Coming, Counter};
use super::message::Effect;
use super::model::Model;
use crate::domain::{Mentions, ToAttach, Tokens};

impl Model {
    fn coming(&self) -> Coming {
        Coming {
            thread: self.view.thread.clone(),
            directive: self.directive.clone(),
            model: self.model.clone(),
            inputs: self.inputs.clone(),
            context: self.view.state.as_ref().map_or(Tokens(0), |state| state.context),
            files: self.coming_files(),
        }
    }

    /// What the draft names, without the name that is being written.
    fn coming_files(&self) -> Vec<ToAttach> {
        let mut files = Mentions::of(&self.composer.raw()).to_attach();
        if !self.completion.entries.is_empty() {
            let begun = self.composer.word_before_cursor().and_then(|word| word.strip_prefix('@').map(str::to_owned));
            files.retain(|file| !matches!((file, &begun), (ToAttach::Name(name), Some(begun)) if name == begun));
        }
        files
    }

    /// Asks for the basis of the draft's request, once for each that it could be.
    pub(super) fn want_basis(&mut self) -> Option<Effect> {
        if self.composer.is_empty() || self.begins_command() || self.overlay.is_some() || self.view.is_working() {
            return None;
        }
        let coming = self.coming();
        if self.browser.coming.as_ref() == Some(&coming) {
            return None;
        }
        self.browser.coming = Some(coming.clone());
        Some(Effect::LoadBasis(coming))
    }

    pub(super) fn basis_read(&mut self, basis: Basis) -> Vec<Effect> {
        self.changed |= self.browser.coming.as_ref() == Some(&basis.coming);
        self.browser.basis = Some(basis);
        Vec::new()
    }

    /// What sending the draft would come to, once that is known.
    #[must_use]
    pub fn counter(&self) -> Option<Counter> {
        if self.composer.is_empty() || self.view.is_working() {
            return None;
        }
        let basis = self.browser.basis.as_ref().filter(|basis| self.browser.coming.as_ref() == Some(&basis.coming))?;
        if basis.coming != self.coming() {
            return None;
        }
        Some(Counter::of(basis, self.composer.bytes(), Mentions::of(&self.composer.raw()).images.len()))
    }
}
