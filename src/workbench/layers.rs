//! The context screen: a request layer by layer, as it was sent or as it would be sent now.

use super::context_browser::{Preview, Wanted};
use super::message::{Effect, LayerRow, Level, RequestShown};
use super::model::Model;
use super::overlay::Overlay;
use super::perform::slash;
use super::picker::{Choice, Entry, Picker, PickerKind};
use super::request::{EditedValue, View, WhatIf};
use super::thread_view::Link;
use crate::domain::FrozenRequest;
use crate::domain::Mentions;
use crate::domain::event::PromptMode;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The kind of preview that shows a layer.
const LAYER: &str = "layer";

impl Model {
    pub(super) fn layer_entries(&self) -> Vec<Entry> {
        let layers = self.browser.request.as_ref().map_or(&[][..], |request| &request.layers);
        let entry = |(index, layer): (usize, &LayerRow)| Entry {
            label: layer.id.clone(),
            detail: layer.seen(),
            usable: layer.absence.is_none(),
            current: false,
            choice: Choice::Layer(index),
            body: Some(Arc::clone(&layer.text)),
            group: None,
        };
        layers.iter().enumerate().map(entry).collect()
    }

    /// Shows a request of the thread: the one of that number, else the newest.
    pub(super) fn show_request(&mut self, number: Option<u32>) -> Vec<Effect> {
        let Some(thread_id) = self.view.thread.clone() else { return self.preview_request() };
        self.open_layers();
        self.browser.wanted = Wanted::Sent(number);
        vec![Effect::LoadRequest { thread_id, number }]
    }

    /// Whether Enter would run what is written instead of sending it.
    pub(super) fn drafts_command(&self) -> bool {
        let text = self.composer.text();
        slash(&text).is_some() || text.trim_start().starts_with('!')
    }

    /// Whether what is written is a command, or may become one with the next letters.
    pub(super) fn begins_command(&self) -> bool {
        let text = self.composer.text();
        self.drafts_command() || text.starts_with('/') && !text.contains(char::is_whitespace)
    }

    /// Shows what Enter would send.
    pub(super) fn preview_request(&mut self) -> Vec<Effect> {
        if self.drafts_command() {
            self.say(Level::Info, "the draft is a command: Enter runs it and sends nothing");
            return Vec::new();
        }
        if self.asks_first() {
            return Vec::new();
        }
        self.open_layers();
        self.preview_again()
    }

    /// Puts together anew what Enter would send.
    pub(super) fn preview_again(&mut self) -> Vec<Effect> {
        self.browser.wanted = Wanted::Preview;
        let named = Mentions::of(&self.composer.raw());
        vec![Effect::PreviewRequest {
            thread_id: self.view.thread.clone(),
            directive: self.directive.clone(),
            model: self.model.clone(),
            prompt: self.composer.text(),
            files: named.to_attach(),
            images: named.images,
            inputs: self.inputs.clone(),
        }]
    }

    /// Takes the chosen layer out of the request that is shown, or puts it back as it was.
    pub(super) fn what_if(&mut self) -> Vec<Effect> {
        let Some(place) = self.chosen_place() else { return Vec::new() };
        self.change_layer(place, None)
    }

    /// Opens the text of the chosen layer in the person's editor, to see what if it were another.
    pub(super) fn edit_layer(&self) -> Vec<Effect> {
        let (Some(place), Some(shown)) = (self.chosen_place(), &self.browser.request) else { return Vec::new() };
        let text = shown.layers.get(place).map(|row| row.text.to_string()).unwrap_or_default();
        vec![Effect::EditValue(EditedValue::Layer(place), text)]
    }

    /// `$EDITOR` came back with another text for a layer.
    pub(super) fn text_edited(&mut self, place: usize, text: &str) -> Vec<Effect> {
        let before =
            self.browser.request.as_ref().and_then(|shown| shown.layers.get(place)).map(|row| row.text.clone());
        // Editors end a text with a line.
        let text = if before.as_ref().is_some_and(|before| before.ends_with('\n')) {
            text
        } else {
            text.trim_end_matches('\n')
        };
        match before {
            Some(before) if *before != *text => self.change_layer(place, Some(text.to_owned())),
            Some(_) | None => Vec::new(),
        }
    }

    fn chosen_place(&self) -> Option<usize> {
        let Choice::Layer(place) = self.layers_picker()?.chosen()?.choice else { return None };
        Some(place)
    }

    /// Has the layer have another text in what is shown. Without one it is left out; where it was changed already, it is as it
    /// was.
    fn change_layer(&mut self, place: usize, text: Option<String>) -> Vec<Effect> {
        let Some(shown) = &self.browser.request else { return Vec::new() };
        let begun = self.browser.what_if.take().or_else(|| {
            let asked = WhatIf {
                whole: shown.whole.clone()?,
                number: shown.number,
                numbers: shown.numbers.clone(),
                texts: BTreeMap::new(),
            };
            Some((asked, Box::new(shown.clone())))
        });
        let Some((mut asked, as_it_is)) = begun else { return Vec::new() };
        if asked.texts.remove(&place).is_none() || text.is_some() {
            asked.texts.insert(place, text);
        }
        if asked.texts.is_empty() {
            self.show_as(*as_it_is);
            return self.page_again();
        }
        self.browser.what_if = Some((asked.clone(), as_it_is));
        vec![Effect::WhatIf(asked)]
    }

    /// Shows the request as it would be, unless something else was asked for since.
    pub(super) fn what_if_made(&mut self, asked: &WhatIf, request: Result<Box<RequestShown>, String>) -> Vec<Effect> {
        self.browser.awaits = false;
        let wanted = self.browser.what_if.as_ref().is_some_and(|(wanted, _)| wanted == asked);
        if !wanted || self.layers_picker().is_none() {
            return Vec::new();
        }
        match request {
            Ok(request) => self.show_as(*request),
            Err(why) => {
                self.say(Level::Info, why);
                if let Some((_, as_it_is)) = self.browser.what_if.take() {
                    self.show_as(*as_it_is);
                }
            }
        }
        self.page_again()
    }

    fn show_as(&mut self, request: RequestShown) {
        self.browser.request = Some(request);
        self.browser.preview = None;
        self.refill(PickerKind::Layers);
        self.changed = true;
    }

    fn open_layers(&mut self) {
        if self.layers_picker().is_none() {
            self.browser.request = None;
            self.browser.what_if = None;
            self.pick(PickerKind::Layers, true);
        }
    }

    /// The list of layers, also while a page lies over it.
    pub(super) fn layers_picker(&self) -> Option<&Picker> {
        match &self.overlay {
            Some(Overlay::Picker(picker)) => Some(picker).filter(|picker| picker.kind == PickerKind::Layers),
            Some(Overlay::RequestPage(sheet)) => Some(&sheet.under),
            Some(Overlay::Pager(_) | Overlay::Form(_) | Overlay::Dialog(_) | Overlay::Component(_)) | None => None,
        }
    }

    /// Whether a request is looked at.
    #[must_use]
    pub fn shows_request(&self) -> bool {
        self.layers_picker().is_some()
    }

    /// Whether the request on the screen has not been sent.
    #[must_use]
    pub fn shows_preview(&self) -> bool {
        self.browser.request.as_ref().is_some_and(|request| request.number.is_none())
    }

    /// Whether the request on the screen is one that Enter sends.
    #[must_use]
    pub fn can_send_shown(&self) -> bool {
        let is_held = self.browser.request.as_ref().is_some_and(|request| request.held.is_some());
        is_held && (self.composer.first_letter().is_some() || self.starts_alone())
    }

    /// Sends the request on the screen as it is.
    pub(super) fn send_shown(&mut self) -> Vec<Effect> {
        if self.browser.what_if.is_some() {
            self.say(Level::Info, "this is only what would be: put the layers back to send it");
            return Vec::new();
        }
        let Some(request) = &self.browser.request else { return Vec::new() };
        let Some(held) = request.held.clone().filter(|_| self.can_send_shown()) else {
            self.say(Level::Info, "there is nothing to send yet: write a prompt first");
            return Vec::new();
        };
        if self.view.is_working() || !matches!(self.view.link, Link::Draft | Link::Resting | Link::Connected) {
            self.say(Level::Warning, "not sent: the thread is working, and its next request depends on the result");
            return Vec::new();
        }
        self.overlay = None;
        self.browser.request = None;
        self.hand_over(PromptMode::FollowUp, Some(held), Vec::new())
    }

    /// Sends nothing and empties the draft.
    pub(super) fn drop_shown(&mut self) -> Vec<Effect> {
        self.overlay = None;
        let text = self.composer.take();
        self.complete();
        if text.trim().is_empty() {
            return Vec::new();
        }
        self.history.remember(&text);
        vec![Effect::Remember(text)]
    }

    /// The request that led to the chosen block.
    pub(super) fn show_request_of_block(&mut self) -> Vec<Effect> {
        let Some((_, at)) = self.view.chosen_blocks() else { return Vec::new() };
        let (begins, number) = (self.begins_request(at), self.request_of(at));
        // The newest one was not answered, or not yet.
        if number.is_none() && !(begins && self.view.thread.is_some()) {
            self.say(Level::Info, "no request belongs to this");
            return Vec::new();
        }
        self.show_request(number)
    }

    /// Goes to the request before or after the one that is shown.
    pub(super) fn turn_request(&mut self, forward: bool) -> Vec<Effect> {
        let Some(request) = &self.browser.request else { return Vec::new() };
        // Whoever presses the key faster than requests are read goes on from what they asked for last.
        let asked = if let Wanted::Sent(number) = self.browser.wanted { number } else { None };
        let at = asked.or(request.number).map_or(request.numbers.len(), |number| {
            request.numbers.iter().position(|other| *other == number).unwrap_or(0)
        });
        let next = if forward { at.checked_add(1) } else { at.checked_sub(1) };
        match next.and_then(|next| request.numbers.get(next)).copied() {
            Some(number) => self.show_request(Some(number)),
            // Behind the newest is what would come next.
            None if forward && request.number.is_some() && !self.composer.is_empty() => self.preview_request(),
            None => Vec::new(), // the title tells that it is the first or the last
        }
    }

    pub(super) fn request_read(&mut self, request: Result<Box<RequestShown>, String>) -> Vec<Effect> {
        self.browser.awaits = false;
        match request {
            // Somebody asked for another meanwhile, and Enter does not mean the same there.
            Ok(request) if !self.browser.wanted.is(request.number) => return Vec::new(),
            Ok(request) => {
                let changed =
                    self.browser.request.as_ref().map(|before| before.changed_in(&request)).unwrap_or_default();
                if !changed.is_empty() {
                    self.say(Level::Info, format!("changed since you looked: {}", changed.join(", ")));
                }
                self.browser.request = Some(*request);
                self.browser.what_if = None;
                self.browser.preview = None;
                self.refill(PickerKind::Layers);
                self.choose_sought();
            }
            Err(why) => {
                let shown = self.browser.request.as_ref().map(|request| request.number);
                if shown.is_none() && self.list(PickerKind::Layers).is_some() {
                    self.overlay = None;
                }
                if let (Some(Some(number)), Wanted::Sent(_)) = (shown, self.browser.wanted) {
                    self.browser.wanted = Wanted::Sent(Some(number));
                }
                self.say(Level::Warning, why);
            }
        }
        self.changed = true;
        let wanted = self.browser.compares.take();
        match (&self.browser.request, wanted) {
            (Some(request), Some(before)) => request.view(View::Difference(before)),
            (_, _) => self.page_again(),
        }
    }

    /// Chooses the layer that is looked for.
    fn choose_sought(&mut self) {
        let Some(id) = self.browser.seeks.take() else { return };
        let layers = self.browser.request.as_ref().map(|shown| shown.layers.as_slice()).unwrap_or_default();
        let place = layers.iter().position(|layer| layer.id == id && layer.absence.is_none());
        if let (Some(place), Some(picker)) = (place, self.list(PickerKind::Layers)) {
            picker.choose(|choice| *choice == Choice::Layer(place));
        }
    }

    /// The chosen layer, while layers are listed.
    #[must_use]
    pub fn chosen_layer(&self) -> Option<&LayerRow> {
        let Choice::Layer(index) = self.layers_picker()?.chosen()?.choice else { return None };
        self.browser.request.as_ref()?.layers.get(index)
    }

    /// Puts the chosen layer's text beside the list.
    pub(super) fn follow_layer(&mut self) {
        let Some(layer) = self.chosen_layer() else { return };
        let id = format!("{} {}", layer.part, layer.id);
        if self.browser.preview.as_ref().is_none_or(|preview| preview.kind != LAYER || preview.id != id) {
            let text = Some(Ok(layer.text.clone()));
            self.browser.preview = Some(Preview { kind: LAYER, id, text, top: 0 });
        }
    }

    /// Shows the layer's whole text in the editor, as a copy.
    pub(super) fn show_layer(&self) -> Vec<Effect> {
        self.chosen_layer().map(|layer| Effect::ShowText(layer.text.to_string())).into_iter().collect()
    }

    /// Opens the file that the layer is written in.
    pub(super) fn open_layer(&self) -> Vec<Effect> {
        // What was left out is mended where it is asked for.
        let source = self.chosen_layer().and_then(|layer| match layer.absence {
            None => layer.source.clone(),
            Some(_) => layer.asked_by.clone().or_else(|| layer.source.clone()),
        });
        match source {
            Some(source) => vec![Effect::OpenFile(source)],
            None => self.show_layer(),
        }
    }

    /// Opens the file that says that the layer be there.
    pub(super) fn open_asker(&mut self) -> Vec<Effect> {
        let Some(layer) = self.chosen_layer() else { return Vec::new() };
        if let Some(source) = layer.asked_by.clone() {
            return vec![Effect::OpenFile(source)];
        }
        let why = match &layer.asker {
            Some(asker) => format!("it is named {asker}: there is no file to open"),
            None => "no hook or directive names it: there is no file to open".to_owned(),
        };
        self.say(Level::Info, why);
        Vec::new()
    }

    pub(super) fn copy_layer(&self) -> Vec<Effect> {
        self.chosen_layer().map(|layer| Effect::Copy(layer.text.to_string())).into_iter().collect()
    }
}

impl RequestShown {
    /// Ids of what is different in `after`, another look at the same prompt.
    fn changed_in(&self, after: &Self) -> Vec<String> {
        let same = |one: &FrozenRequest, other: &FrozenRequest| one.hash == other.hash;
        let (Some(before), Some(now)) = (&self.held, &after.held) else { return Vec::new() };
        if same(before, now) {
            return Vec::new();
        }
        let is_in = |layers: &[LayerRow], one: &LayerRow| {
            layers.iter().any(|other| (&other.id, &other.part, &other.text) == (&one.id, &one.part, &one.text))
        };
        let new = after.layers.iter().filter(|layer| !is_in(&self.layers, layer));
        let gone = self.layers.iter().filter(|layer| !is_in(&after.layers, layer));
        let mut ids: Vec<String> = new.chain(gone).map(|layer| layer.id.clone()).collect();
        ids.sort();
        ids.dedup();
        ids
    }

    /// Its name and its place among the requests of the thread.
    #[must_use]
    pub fn name(&self) -> String {
        let place = self.number.and_then(|number| self.numbers.iter().position(|other| *other == number));
        let place = place.map(|place| format!(" · {} of {}", place + 1, self.numbers.len())).unwrap_or_default();
        format!("{}{place}", self.title)
    }

    /// The same with its size.
    #[must_use]
    pub fn heading(&self) -> String {
        format!("{} · {}", self.name(), self.size)
    }
}

impl LayerRow {
    /// What is seen of it in the list beside its name: its part, its kind, and why it was left out.
    fn seen(&self) -> String {
        format!("{} {} {}", self.part, self.kind, self.absence.as_deref().unwrap_or_default())
    }

    /// Its size and where it comes from, or why it was left out.
    #[must_use]
    pub fn summary(&self) -> String {
        match &self.absence {
            Some(absence) if self.tokens > 0 => format!("left out, ~{}: {absence}", self.tokens),
            Some(absence) => format!("left out: {absence}"),
            None => format!("~{} · {}", self.tokens, self.origin),
        }
    }
}
