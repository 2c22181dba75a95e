//! What a message does to the model.

use super::hearing::Typed;
use super::layout::TranscriptLayout;
use super::message::{Effect, Message};
use super::model::Model;
use super::picker::{Picker, PickerKind};
use super::request::EditedValue;
use super::search::Reading;
use super::thread_view::{Link, Phase};
use super::{dropped, geometry};
use crate::commands::Key;
use crate::domain::mention::mention;
use crate::worker::protocol::FromWorker;
use std::sync::Arc;

/// Applies one message and returns the work it calls for. Waits for nothing and reads no clock: the same model and
/// message always give the same result.
#[expect(clippy::too_many_lines, reason = "one arm for each message")]
pub fn update(model: &mut Model, layout: &mut dyn TranscriptLayout, message: Message) -> Vec<Effect> {
    let mut effects = match message {
        Message::Key(key) => model.typed(layout, Typed::Key(key)),
        Message::Paste(text) => model.typed(layout, Typed::Paste(text)),
        Message::Resize { columns, rows } => {
            if (columns, rows) != model.size {
                model.resized(layout, columns, rows);
            }
            model.want_threads()
        }
        Message::Wheel { lines } => model.wheel(layout, lines),
        Message::Line(line) => model.line(layout, &line),
        Message::Mouse { button, column, row } => model.pointed(layout, button, (column, row)),
        Message::Focus(focused) => model.focused(focused),
        Message::Background { light } => {
            model.changed |= model.light.replace(light) != Some(light);
            Vec::new()
        }
        Message::Opened { thread_id, newest, older, state, elsewhere } => {
            model.opened(thread_id, newest, older, state, elsewhere)
        }
        Message::Forked { from, thread_id } => {
            model.forked(&from, thread_id);
            Vec::new()
        }
        Message::ForkMade(made) => model.fork_made(*made),
        Message::Older { thread_id, before, records, older } => model.older_page(&thread_id, before, records, older),
        Message::Peeked { number, news } => {
            model.peeked(number, news);
            Vec::new()
        }
        Message::Connected { thread_id } => model.connected(&thread_id),
        Message::Worker(_, FromWorker::Typed { id, data }) => model.typed_was_heard(layout, id, data),
        Message::Worker(thread_id, message) => model.heard(&thread_id, message),
        Message::Disconnected { thread_id, expected, detail } => model.disconnected(&thread_id, expected, &detail),
        Message::Alone { thread_id } => {
            model.view.alone |= model.view.link == Link::Resting && model.view.thread.as_ref() == Some(&thread_id);
            Vec::new()
        }
        Message::NotRemoved(thread_id) => model.not_removed(thread_id),
        Message::ThreadsChanged => {
            let mut effects = model.look_at_threads();
            effects.extend(model.reread_conversation());
            effects
        }
        Message::Running(rows) => {
            model.told_asking(rows.iter().filter(|row| row.asks()));
            model.rejoin(rows.iter())
        }
        Message::Threads(rows) => {
            model.told_asking(rows.iter().map(Arc::as_ref).filter(|row| row.asks()));
            let effects = model.rejoin(rows.iter().map(Arc::as_ref));
            model.threads.rows = rows;
            model.threads.loaded = true;
            model.refill(PickerKind::Threads);
            if model.mentions() {
                model.complete();
                model.changed = true;
            }
            effects
        }
        Message::Archived(rows) => {
            model.take_archived(rows);
            Vec::new()
        }
        Message::Timeline(rows) => {
            model.show_timeline(rows);
            Vec::new()
        }
        Message::Postmortem(rows) => {
            model.show_postmortem(rows);
            Vec::new()
        }
        Message::Changes(which, changes) => {
            model.changes_listed(&which, changes);
            Vec::new()
        }
        Message::Conversation(thread_id, read) => {
            model.conversation_read(thread_id, read);
            Vec::new()
        }
        Message::Servers(rows) => {
            model.show_servers(rows);
            Vec::new()
        }
        Message::BackgroundCommands(ran) => {
            model.show_background(ran);
            Vec::new()
        }
        Message::State(values) => {
            model.show_state(values);
            Vec::new()
        }
        Message::Budget { thread_id, report } => {
            model.show_budget(&thread_id, report);
            Vec::new()
        }
        Message::History(prompts) => {
            model.history.load(prompts);
            model.refill(PickerKind::History);
            Vec::new()
        }
        Message::Models(choices) => {
            model.models = choices;
            model.models_loaded = true;
            model.refill(PickerKind::Models);
            Vec::new()
        }
        Message::UsualModel(usual) => model.usual_model(usual),
        Message::Keymap(keymap) => {
            model.keymap = keymap;
            model.changed = true;
            Vec::new()
        }
        Message::Themes { names, chosen } => {
            (model.themes, model.theme) = (names, chosen);
            model.changed = true;
            Vec::new()
        }
        Message::ModelFound(found) => model.model_found(found),
        Message::Interrupt => model.interrupt(),
        Message::Paused(value) => model.paused_read(value),
        Message::ValueEdited(what, text) => {
            let mut effects = match what {
                EditedValue::Paused => model.value_edited(&text),
                EditedValue::Layer(place) => model.text_edited(place, &text),
            };
            effects.push(Effect::Redraw);
            model.changed = true;
            effects
        }
        Message::Bisect(asked, news) => {
            model.bisect_told(&asked, news);
            Vec::new()
        }
        Message::Pipeline(thread_id, told) => {
            model.pipeline_read(thread_id.as_ref(), told);
            Vec::new()
        }
        Message::Edited(text) => {
            model.composer.replace(text.strip_suffix('\n').unwrap_or(&text));
            model.changed = true;
            vec![Effect::Redraw]
        }
        Message::Mended(texts) => {
            model.unsay(&texts);
            Vec::new()
        }
        Message::Notice { level, text } => model.told(level, text),
        Message::ApprovalDrawn { id } => {
            model.approval_drawn(id);
            Vec::new()
        }
        Message::ApprovalTold { id } => {
            model.approval_told(id);
            model.take_keyboard(true);
            Vec::new()
        }
        Message::Deadline => Vec::new(),
        Message::IndicatorTick => {
            model.indicator_ticks = model.indicator_ticks.wrapping_add(1);
            model.changed = true;
            Vec::new()
        }
        Message::Second => {
            model.second();
            Vec::new()
        }
        Message::GoOn => {
            model.changed = true;
            Vec::new()
        }
        Message::Resumed => {
            model.changed = true;
            vec![Effect::Redraw]
        }
        Message::Directives(directives) => {
            model.directives_listed(directives);
            Vec::new()
        }
        Message::Request(request) => model.request_read(request),
        Message::Beside { thread_id, number, request } => {
            model.beside_read(&thread_id, number, request);
            Vec::new()
        }
        Message::Basis(basis) => model.basis_read(*basis),
        Message::WhatIf(what_if, request) => model.what_if_made(&what_if, request),
        Message::Page(page) => model.page_made(page),
        Message::Items(items) => {
            model.items_listed(items);
            Vec::new()
        }
        Message::ItemText { kind, id, text } => {
            model.item_read(kind, &id, text);
            Vec::new()
        }
        Message::Prompts(prompts, extensions) => {
            model.prompts_listed(prompts, extensions);
            Vec::new()
        }
        Message::Files(files) => {
            model.files_listed(files);
            Vec::new()
        }
        Message::Runs(runs) => model.trust_listed(*runs),
        Message::Saved => model.saved(),
        Message::ForegroundOver { id, code } => model.foreground_over(id, code),
        Message::Coloured { id, colouring } => {
            model.coloured(id, colouring);
            Vec::new()
        }
    };
    effects.extend(model.hear_on(layout));
    effects.extend(model.want_listed());
    model.breakpoints_first(&mut effects);
    effects.extend(model.follow_bisect());
    let asks = |effect: &Effect| {
        matches!(
            effect,
            Effect::LoadRequest { .. } | Effect::PreviewRequest { .. } | Effect::ViewRequest { .. } | Effect::WhatIf(_)
        )
    };
    model.browser.awaits |= effects.iter().any(asks);
    effects.extend(model.follow_beside());
    effects.extend(model.follow_peek());
    effects.extend(model.settle(layout));
    model.follow_dialogs();
    effects.extend(model.follow_components());
    effects.extend(model.follow_editor(layout));
    effects.extend(model.follow_move());
    effects.extend(model.follow_foreground());
    effects.extend(model.take_copy());
    model.settle_approval();
    effects.extend(model.call_attention());
    effects
}

impl Model {
    pub(super) fn key(&mut self, layout: &mut dyn TranscriptLayout, key: Key) -> Vec<Effect> {
        self.unmark();
        if let Some(effects) = self.key_of_component(key) {
            return effects;
        }
        if let Some(effects) = self.key_of_editor(key) {
            return effects;
        }
        let contexts = self.contexts();
        let was_leaving = std::mem::take(&mut self.leaving_seconds) > 0;
        self.changed |= was_leaving;
        if let Some(command) = self.keymap.command(key, &contexts) {
            return self.perform(layout, command, was_leaving);
        }
        if let Some(effect) = self.shortcut(key) {
            return vec![effect];
        }
        let Some(letter) = key.typed() else { return Vec::new() };
        match &mut self.overlay {
            Some(overlay) => {
                if !overlay.letter(letter) {
                    return Vec::new();
                }
            }
            None if self.view.reading.is_some() => {
                if !is_searching(self.view.reading.as_ref()) {
                    return Vec::new();
                }
                self.edit_search(layout, |text| text.push(letter));
            }
            None => {
                self.take_keyboard(false);
                self.history.left();
                self.composer.type_letter(letter);
                self.complete();
            }
        }
        self.changed = true;
        Vec::new()
    }

    pub(super) fn pasted(&mut self, layout: &mut dyn TranscriptLayout, text: &str) -> Vec<Effect> {
        if let Some(effects) = self.paste_of_component(text).or_else(|| self.paste_of_editor(text)) {
            return effects;
        }
        match &mut self.overlay {
            Some(overlay) => {
                if !overlay.paste(text) {
                    return Vec::new();
                }
            }
            None if is_searching(self.view.reading.as_ref()) => {
                let line = text.lines().next().unwrap_or_default();
                self.edit_search(layout, |search| search.push_str(line));
            }
            None => {
                // Who pastes wants to write.
                self.view.reading = None;
                self.history.left();
                match dropped::image(text) {
                    Some(path) => self.composer.paste(&format!("{} ", mention(&path))),
                    None => self.composer.paste(text),
                }
                self.complete();
            }
        }
        self.changed = true;
        Vec::new()
    }

    fn wheel(&mut self, layout: &mut dyn TranscriptLayout, lines: i32) -> Vec<Effect> {
        let size = (geometry::pager_width(self), geometry::overlay_rows(self));
        match &mut self.overlay {
            None => self.scroll(layout, i64::from(lines)),
            Some(overlay) => overlay.wheel(lines, size),
        }
        self.changed = true;
        Vec::new()
    }

    fn second(&mut self) {
        self.colours.second();
        self.changed |= self.shows_time();
        if self.view.is_working() {
            self.view.activity.seconds += 1;
            if let Phase::Retrying { seconds } = &mut self.view.activity.phase {
                *seconds = seconds.saturating_sub(1);
            }
        }
        self.notices.second();
        self.leaving_seconds = self.leaving_seconds.saturating_sub(1);
    }

    /// Asks for the threads when their column shows and nobody asked yet.
    fn want_threads(&mut self) -> Vec<Effect> {
        if geometry::shows_panel(self) && !self.threads.loaded {
            self.threads.loaded = true;
            return vec![Effect::LoadThreads];
        }
        Vec::new()
    }

    /// The list of that kind, if it is open.
    pub(super) fn list(&mut self, kind: PickerKind) -> Option<&mut Picker> {
        self.overlay.as_mut()?.list().filter(|picker| picker.kind == kind)
    }

    /// Gives an open list its new entries.
    pub(super) fn refill(&mut self, kind: PickerKind) {
        let open = self.list(kind).is_some();
        if open {
            let entries = self.entries(kind);
            if let Some(picker) = self.list(kind) {
                let untouched = std::mem::take(&mut picker.loading) && picker.chosen == 0 && picker.filter.is_empty();
                picker.set_entries(entries);
                if untouched {
                    picker.choose_current();
                }
            }
        }
        self.changed |= open || (kind == PickerKind::Threads && geometry::shows_panel(self));
    }

    /// Brings what depends on the rest in order after a message.
    fn settle(&mut self, layout: &mut dyn TranscriptLayout) -> Vec<Effect> {
        if !self.changed {
            return Vec::new();
        }
        if self.composer.is_empty() {
            self.taken_mode = None;
        }
        let width = geometry::composer_width(self);
        if self.composer.width() != width {
            self.composer.wrap(width);
        }
        self.wrap_form();
        self.wrap_dialog();
        self.refill(PickerKind::Palette);
        let width = geometry::sheet_width(self);
        self.with_sheet(|sheet, height| sheet.go_on(width, height));
        debug_assert!(self.view.link == Link::Draft || self.view.link == Link::Starting || self.view.thread.is_some());
        let older = self.settle_views(layout);
        let asked = self.want_suggestions();
        older.into_iter().chain(self.want_colours(layout)).chain(self.want_drawing(layout)).chain(asked).collect()
    }
}

/// Whether letters go into what is looked for.
fn is_searching(reading: Option<&Reading>) -> bool {
    reading.and_then(|reading| reading.search.as_ref()).is_some_and(|search| search.writing)
}
