//! Which model answers, and how much it thinks.

use super::message::{Effect, Level, ModelChoice};
use super::model::Model;
use super::picker::{Choice, Entry};
use super::thread_view::Link;
use crate::domain::{Command, ModelRef, ThinkingLevel};

/// What a level is called that nobody chose.
const USUAL: &str = "default";

impl Model {
    /// A draft follows the settings; a thread keeps its model.
    pub(super) fn usual_model(&mut self, usual: ModelRef) -> Vec<Effect> {
        if self.view.link == Link::Draft { self.set_model(usual) } else { Vec::new() }
    }

    /// Whoever has begun keeps the model they began with.
    pub(super) fn model_found(&mut self, found: ModelRef) -> Vec<Effect> {
        if self.model_is_scripted && self.view.link == Link::Draft && found.provider != "scripted" {
            self.model_is_scripted = false;
            self.say(Level::Info, format!("no key is set; {found} on this machine answers"));
            self.usual.clone_from(&found);
            self.model = found;
            self.changed = true;
        }
        Vec::new()
    }

    pub(super) fn set_model(&mut self, model: ModelRef) -> Vec<Effect> {
        self.changed = true;
        if self.view.link == Link::Draft {
            self.model_is_scripted = model.provider == "scripted";
            self.usual = model.clone();
            self.model = model;
            return Vec::new();
        }
        if matches!(self.view.link, Link::Starting | Link::Opening | Link::Reviving) {
            self.say(Level::Warning, "not changed: the worker is not ready; choose the model again in a moment");
            return Vec::new();
        }
        // The thread says when it is another: it may know no such provider.
        self.tell_thread(Command::SetModel { model })
    }

    /// Has the model think so much from the next request on.
    ///
    /// # Errors
    /// There is no such level.
    pub(super) fn think(&mut self, word: &str) -> Result<Vec<Effect>, String> {
        let level = match word.parse::<ThinkingLevel>() {
            Ok(level) => Some(level),
            Err(_) if word == USUAL => None,
            Err(_) => {
                let known: Vec<_> = ThinkingLevel::all().map(ThinkingLevel::word).collect();
                return Err(format!("a model does not think `{word}`; use {USUAL}, {}", known.join(", ")));
            }
        };
        Ok(self.set_model(self.model.clone().with_thinking(level)))
    }

    /// A choice as it is chosen: the model that is in use goes on thinking as it does.
    pub(super) fn as_it_thinks(&self, choice: &ModelChoice) -> ModelChoice {
        let is_used = choice.model.as_ref().is_some_and(|model| model.is_same(&self.model));
        ModelChoice { model: if is_used { Some(self.model.clone()) } else { choice.model.clone() }, ..choice.clone() }
    }

    /// The levels, each as the model with it.
    pub(super) fn thinking_entries(&self) -> Vec<Entry> {
        let entry = |level: Option<ThinkingLevel>| {
            let label = level.map_or(USUAL, ThinkingLevel::word).to_owned();
            let note = if level.is_none() { "as its provider does it by itself" } else { "" }.to_owned();
            let model = Some(self.model.clone().with_thinking(level));
            Entry {
                label: label.clone(),
                detail: note.clone(),
                usable: true,
                current: self.model.thinking == level,
                choice: Choice::Model(Box::new(ModelChoice { label, model, note })),
                body: None,
                group: None,
            }
        };
        std::iter::once(None).chain(ThinkingLevel::all().map(Some)).map(entry).collect()
    }
}
