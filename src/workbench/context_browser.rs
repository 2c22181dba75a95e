//! What can be taken up: directives, items and files, as they were last listed; and the screens that list them.

use super::bisect_list::Bisecting;
use super::changes::TakingBack;
use super::conversation_list::ConversationList;
use super::counter::{Basis, Coming};
use super::layout::TranscriptLayout;
use super::message::{DirectiveChoice, Effect, ItemRow, Level, ProjectRuns, PromptRow, RequestShown, Source};
use super::model::Model;
use super::overlay::Overlay;
use super::picker::{Choice, Entry, PickerKind};
use super::pipeline_list::{PipelineRows, StepView};
use super::request::{AssembledRequest, Compared, WhatIf};
use crate::domain::{Severity, WireForm};
use std::path::PathBuf;
use std::sync::Arc;

/// The lists, each as it was when somebody last asked.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each says one thing of its own; no two make a state")]
pub struct ContextBrowser {
    pub directives: Vec<DirectiveChoice>,
    pub items: Vec<ItemRow>,
    /// The request whose layers are listed.
    pub request: Option<RequestShown>,
    /// What is taken from it to see what it would be, and how it was shown before.
    pub(super) what_if: Option<(WhatIf, Box<RequestShown>)>,
    /// What was asked for last.
    pub(super) wanted: Wanted,
    /// It, another or a page about it was asked for and has not come.
    pub awaits: bool,
    /// What of the project can run, once it was listed.
    pub(super) runs: Option<ProjectRuns>,
    pub(super) taking_back: TakingBack,
    pub(super) conversation: ConversationList,
    pub pipeline: PipelineRows,
    /// It was opened and is read for the first time.
    pub(super) pipeline_opens: bool,
    pub(super) bisecting: Option<Bisecting>,
    /// The layer that is chosen once its request is listed.
    pub(super) seeks: Option<String>,
    pub(super) step_view: StepView,
    /// The model that is chosen answers the last prompt again.
    pub(super) fork_model: bool,
    /// The request that the next one to be shown is compared with.
    pub(super) compares: Option<Compared>,
    /// The request that others are compared with.
    pub marked: Option<Arc<AssembledRequest>>,
    /// The wire form in which the model of that request is asked, once it was shown.
    pub(super) wire: Option<WireForm>,
    /// The newest reckoning of a coming request, and the request one was asked for.
    pub(super) basis: Option<Basis>,
    pub(super) coming: Option<Coming>,
    /// Of the item or layer that is chosen in a list.
    pub preview: Option<Preview>,
    /// Files of the project, by their paths from its root.
    pub files: Vec<String>,
    pub(super) directives_loaded: bool,
    pub(super) items_loaded: bool,
    /// The files were asked for since an `@` was last begun.
    pub(super) files_asked: bool,
    /// Skills and templates, and whether they were asked for since a `/` was written.
    pub(super) prompts: Vec<PromptRow>,
    pub(super) prompts_asked: bool,
    /// It is known that there are no extensions.
    pub(super) no_extensions: bool,
}

/// Which request the person wants to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// One that was sent: that of this number, else the newest.
    Sent(Option<u32>),
    /// What Enter would send.
    Preview,
}

impl Default for Wanted {
    fn default() -> Self {
        Self::Sent(None)
    }
}

impl Wanted {
    /// Whether it is this one, which is none of those that were sent when it has no number.
    pub(super) fn is(self, number: Option<u32>) -> bool {
        match self {
            Self::Sent(wanted) => number.is_some() && (wanted.is_none() || wanted == number),
            Self::Preview => number.is_none(),
        }
    }
}

/// The text of an item, to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    pub kind: &'static str,
    pub id: String,
    /// None until it was read. An error says why it does not read.
    pub text: Option<Result<Arc<str>, String>>,
    /// First line on the screen.
    pub top: usize,
}

impl Model {
    pub(super) fn directive_entries(&self) -> Vec<Entry> {
        let entry = |choice: &DirectiveChoice| Entry {
            label: choice.id.clone(),
            detail: match (&choice.description, &choice.refusal) {
                (_, Some(refusal)) => format!("{refusal} · {}", choice.space),
                (description, None) if description.is_empty() => choice.space.clone(),
                (description, None) => format!("{description} · {}", choice.space),
            },
            usable: choice.refusal.is_none(),
            current: choice.id == self.directive,
            choice: Choice::Directive(Box::new(choice.clone())),
            body: None,
            group: None,
        };
        self.browser.directives.iter().map(entry).collect()
    }

    pub(super) fn item_entries(&self) -> Vec<Entry> {
        let entry = |row: &ItemRow| Entry {
            label: row.id.clone(),
            detail: row.summary(),
            usable: true,
            current: row.kind == "directive" && row.id == self.directive,
            choice: Choice::Item(Box::new(row.clone())),
            body: None,
            group: None,
        };
        self.browser.items.iter().map(entry).collect()
    }

    pub(super) fn directives_listed(&mut self, directives: Vec<DirectiveChoice>) {
        if self.draft.is_none() {
            self.draft = directives.iter().find(|choice| choice.id == self.directive).cloned();
        }
        self.browser.directives = directives;
        self.browser.directives_loaded = true;
        self.refill(PickerKind::Directives);
    }

    pub(super) fn items_listed(&mut self, items: Vec<ItemRow>) {
        self.browser.items = items;
        self.browser.items_loaded = true;
        // Its text may be another now; until it is read the old one stays.
        self.refill(PickerKind::Items);
    }

    pub(super) fn item_read(&mut self, kind: &'static str, id: &str, text: Result<String, String>) {
        if let Some(preview) = self.browser.preview.as_mut().filter(|preview| preview.kind == kind && preview.id == id)
        {
            preview.text = Some(text.map(Into::into));
            self.changed = true;
        }
    }

    /// What of the project can run; above it, to trust that.
    pub(super) fn trust_entries(&self) -> Vec<Entry> {
        let Some(runs) = &self.browser.runs else { return Vec::new() };
        let trust = runs.hash.as_ref().map(|hash| Entry {
            label: "Trust this project as it is now".to_owned(),
            detail: runs.standing.clone(),
            usable: true,
            current: false,
            choice: Choice::Trust(hash.clone()),
            body: None,
            group: None,
        });
        let file = |(file, about): &(PathBuf, String)| Entry {
            label: file.display().to_string(),
            detail: about.clone(),
            usable: true,
            current: false,
            choice: Choice::Runs(runs.root.join(file)),
            body: None,
            group: None,
        };
        trust.into_iter().chain(runs.files.iter().map(file)).collect()
    }

    pub(super) fn trust_listed(&mut self, runs: ProjectRuns) -> Vec<Effect> {
        if runs.hash.is_none() {
            self.say(Level::Info, runs.standing.clone());
        }
        self.browser.runs = Some(runs);
        self.refill(PickerKind::Trust);
        Vec::new()
    }

    pub(super) fn prompts_listed(&mut self, prompts: Vec<PromptRow>, extensions: bool) {
        (self.browser.prompts, self.browser.no_extensions) = (prompts, !extensions);
        if self.names_prompt() {
            self.offers_otherwise();
        }
    }

    pub(super) fn files_listed(&mut self, files: Vec<String>) {
        self.browser.files = files;
        if self.mentions() {
            self.offers_otherwise();
        }
    }

    /// Something that people write was saved: lists on the screen are made again.
    pub(super) fn saved(&mut self) -> Vec<Effect> {
        self.browser.coming = None;
        match &self.overlay {
            Some(Overlay::Picker(picker)) if picker.kind == PickerKind::Directives => vec![Effect::LoadDirectives],
            Some(Overlay::Picker(picker)) if picker.kind == PickerKind::Items => {
                let again = self.browser.preview.as_ref();
                let again = again.map(|preview| Effect::ReadItem { kind: preview.kind, id: preview.id.clone() });
                std::iter::once(Effect::LoadItems).chain(again).collect()
            }
            _ if self.shows_preview() && self.layers_picker().is_some() => self.preview_again(),
            _ => Vec::new(),
        }
    }

    /// The chosen item, while the list of items is open.
    #[must_use]
    pub fn chosen_item(&self) -> Option<&ItemRow> {
        let Some(Overlay::Picker(picker)) = &self.overlay else { return None };
        let Choice::Item(row) = &picker.chosen()?.choice else { return None };
        Some(row)
    }

    /// Asks for what the screen needs and nobody asked for yet.
    pub(super) fn want_listed(&mut self) -> Vec<Effect> {
        let mut effects: Vec<Effect> = self.want_basis().into_iter().collect();
        self.follow_layer();
        self.follow_change();
        effects.extend(self.follow_step());
        if let Some((kind, id)) = self.chosen_item().map(|row| (row.kind, row.id.clone())) {
            let shown = self.browser.preview.as_ref().is_some_and(|preview| preview.kind == kind && preview.id == id);
            if !shown {
                self.browser.preview = Some(Preview { kind, id: id.clone(), text: None, top: 0 });
                effects.push(Effect::ReadItem { kind, id });
            }
        }
        if self.names_prompt() {
            if !std::mem::replace(&mut self.browser.prompts_asked, true) {
                effects.push(Effect::LoadPrompts);
            }
        } else {
            self.browser.prompts_asked = false;
        }
        if self.mentions() {
            if !std::mem::replace(&mut self.browser.files_asked, true) {
                effects.push(Effect::LoadFiles);
                if !self.threads.loaded {
                    effects.push(Effect::LoadThreads);
                }
            }
        } else {
            self.browser.files_asked = false;
        }
        effects
    }

    /// Opens the chosen item's file; what is in the program is shown as a copy.
    pub(super) fn open_item(&mut self) -> Vec<Effect> {
        let Some(row) = self.chosen_item() else { return Vec::new() };
        if let Some(file) = &row.file {
            return vec![Effect::OpenFile(Source { file: file.clone(), line: row.line })];
        }
        let (kind, id) = (row.kind, row.id.clone());
        let read = self.browser.preview.as_ref().filter(|preview| preview.kind == kind && preview.id == id);
        if let Some(Ok(text)) = read.and_then(|preview| preview.text.clone()) {
            return vec![Effect::ShowText(text.to_string())];
        }
        self.say(Level::Info, format!("`{id}` has not been read yet"));
        Vec::new()
    }

    /// Scrolls the preview by lines.
    pub(super) fn scroll_preview(&mut self, layout: &mut dyn TranscriptLayout, step: i32) {
        if self.chosen_thread().is_some() {
            return self.scroll_peek(layout, -i64::from(step));
        }
        let step = isize::try_from(step).unwrap_or(0);
        let Some(preview) = &mut self.browser.preview else { return };
        let lines = match &preview.text {
            Some(Ok(text)) => text.lines().count(),
            Some(Err(_)) | None => 0,
        };
        preview.top = preview.top.saturating_add_signed(step).min(lines.saturating_sub(1));
    }
}

impl ItemRow {
    /// Kind, space, what it hides, what its signature is worth and how much is wrong with it, in few words.
    #[must_use]
    pub fn summary(&self) -> String {
        let mut words = vec![self.kind.to_owned(), self.space.clone()];
        if !self.shadows.is_empty() {
            words.push(format!("hides {}", self.shadows.join(", ")));
        }
        // Most items are not signed, and need not be.
        words.extend(self.signature.filter(|word| *word != "unsigned").map(str::to_owned));
        match self.problems.len() {
            0 => {}
            1 => words.push("1 problem".to_owned()),
            count => words.push(format!("{count} problems")),
        }
        words.join(" · ")
    }

    /// How bad the worst of its problems is.
    #[must_use]
    pub fn worst(&self) -> Option<Severity> {
        self.problems.iter().map(|problem| problem.severity).max()
    }
}
