//! What a command does.

use super::approval::decision;
use super::completion::Completed;
use super::composer::Composer;
use super::export_form::ExportForm;
use super::fork::Forking;
use super::geometry;
use super::layout::TranscriptLayout;
use super::message::{Effect, Level, ModelChoice, Source, Upkeep};
use super::model::Model;
use super::overlay::{Overlay, Pager};
use super::picker::{AUTO, Choice, Entry, Picker, PickerKind};
use super::thread_view::{Destination, Link, Phase, Sent};
use crate::commands::CommandId;
use crate::domain::ModelRef;
use crate::domain::event::{Approve, CancelScope, PromptMode};
use crate::worker::protocol::Command;

impl Model {
    /// Runs a command. `was_leaving` tells that the key before asked to leave.
    #[expect(clippy::too_many_lines, reason = "one line for each command")]
    pub(super) fn perform(
        &mut self,
        layout: &mut dyn TranscriptLayout,
        command: CommandId,
        was_leaving: bool,
    ) -> Vec<Effect> {
        self.changed = true;
        match command {
            CommandId::PromptSend => return self.send(layout),
            CommandId::PromptFollowUp => return self.submit(PromptMode::FollowUp),
            CommandId::PromptTakeBack => return self.take_back(),
            CommandId::PromptEditor => return vec![Effect::Edit(self.composer.text())],
            CommandId::TurnInterrupt => return self.interrupt(),
            CommandId::ApprovalOnce
            | CommandId::ApprovalThread
            | CommandId::ApprovalAlways
            | CommandId::ApprovalDeny => return self.answer(decision(command)),
            CommandId::ApprovalRefuse => self.begin_refusal(),
            CommandId::ApprovalTake => self.take_keyboard(true),
            CommandId::ApprovalFold => self.fold_approval(),
            CommandId::HistorySearch => self.pick(PickerKind::History, false),
            CommandId::EditNewline => self.edit(Composer::newline),
            CommandId::EditBackspace => self.edit(Composer::backspace),
            CommandId::EditDelete => self.edit(Composer::delete),
            CommandId::EditDeleteWordBack => self.edit(Composer::delete_word_back),
            CommandId::EditDeleteWord => self.edit(Composer::delete_word),
            CommandId::EditDeleteToStart => self.edit(Composer::delete_to_start),
            CommandId::EditDeleteToEnd => self.edit(Composer::delete_to_end),
            CommandId::EditYank => self.edit(Composer::yank),
            CommandId::EditUndo => self.edit(Composer::undo),
            CommandId::EditRedo => self.edit(Composer::redo),
            CommandId::EditLeft => self.sideways(-1),
            CommandId::EditRight => self.sideways(1),
            CommandId::EditUp => match &mut self.overlay {
                Some(Overlay::Form(form)) => form.vertical(-1),
                Some(Overlay::Dialog(panel)) => panel.step(-1),
                _ if !self.composer.up() => self.earlier_prompt(),
                _ => {}
            },
            CommandId::EditDown => match &mut self.overlay {
                Some(Overlay::Form(form)) => form.vertical(1),
                Some(Overlay::Dialog(panel)) => panel.step(1),
                _ if !self.composer.down() => self.later_prompt(),
                _ => {}
            },
            CommandId::EditWordLeft => self.go(Composer::word_left),
            CommandId::EditWordRight => self.go(Composer::word_right),
            CommandId::EditLineStart => self.go(Composer::line_start),
            CommandId::EditLineEnd => self.go(Composer::line_end),
            CommandId::CompletionAccept => self.insert_completion(),
            CommandId::TranscriptPageUp => self.scroll(layout, self.page()),
            CommandId::TranscriptPageDown => self.scroll(layout, -self.page()),
            CommandId::TranscriptLineUp => self.scroll(layout, 1),
            CommandId::TranscriptLineDown => self.scroll(layout, -1),
            CommandId::TranscriptTop => self.scroll_to_top(layout),
            CommandId::TranscriptEnd => self.view.follow(),
            CommandId::TranscriptDetails => {
                self.show_details(!self.details);
            }
            CommandId::TranscriptCopy => return self.copy_answer(),
            CommandId::TranscriptExport => return self.export(ExportForm::Markdown),
            CommandId::ReadStart => self.read(layout),
            CommandId::ReadStop => self.stop_reading(),
            CommandId::ReadUp => self.read_on(layout, -1),
            CommandId::ReadDown => self.read_on(layout, 1),
            CommandId::ReadFirst => self.read_on(layout, isize::MIN),
            CommandId::ReadLast => self.read_on(layout, isize::MAX),
            CommandId::ReadPromptUp => self.read_prompt(layout, false),
            CommandId::ReadPromptDown => self.read_prompt(layout, true),
            CommandId::ReadEnter => return self.open_or_fold(layout),
            CommandId::ReadFold => return self.fold(layout),
            CommandId::ThreadBudget => return self.ask_budget(),
            CommandId::ThreadState => return self.ask_state(),
            CommandId::ThreadBackground => return self.ask_background(),
            CommandId::ThreadChanges => return self.ask_changes(None),
            CommandId::ThreadTimeline => return self.ask_timeline(),
            CommandId::ThreadPostmortem => return self.ask_postmortem(),
            CommandId::PipelineShow => return self.show_pipeline(),
            CommandId::StepOpen
            | CommandId::StepView
            | CommandId::StepAgain
            | CommandId::StepBreak
            | CommandId::StepBreakStage
            | CommandId::StepGo
            | CommandId::StepNext
            | CommandId::StepSkip
            | CommandId::StepAbort => return self.with_step(command),
            CommandId::PipelineBreak | CommandId::PipelineGo | CommandId::ServersShow | CommandId::ModelLogin => {
                return self.with_words(command, "").unwrap_or_else(|| Ok(Vec::new())).unwrap_or_else(|why| {
                    self.say(Level::Info, why);
                    Vec::new()
                });
            }
            CommandId::ThreadParent => return self.open_near(self.view.parent.clone()),
            CommandId::ThreadSiblingNext | CommandId::ThreadSiblingPrevious => return self.open_sibling(command),
            CommandId::ThreadPrevious => return self.open_near(self.view.previous.clone()),
            CommandId::ThreadNext => return self.open_near(self.view.successor.clone()),
            CommandId::ThreadHandoff => return self.tell_thread(Command::HandOff),
            CommandId::ReadMark => self.mark_range(),
            CommandId::ReadCopy => return self.copy_chosen(),
            CommandId::PromptRetry => return self.fork(Forking::Again, None),
            CommandId::PromptRetryWith => {
                self.browser.fork_model = true;
                self.pick(PickerKind::Models, !self.models_loaded);
                return vec![Effect::LoadModels];
            }
            CommandId::PromptRevise => return self.fork(Forking::Revise, None),
            CommandId::ThreadFork => return self.fork(Forking::Here, None),
            CommandId::ReadUndo => return self.ask_changes_of_block(),
            CommandId::ReadRequest => return self.show_request_of_block(),
            CommandId::ContextBeside => self.toggle_beside(),
            CommandId::ContextShow => return self.show_request(None),
            CommandId::ConversationShow => return self.show_conversation(),
            CommandId::ConversationFilter => self.list_next(),
            CommandId::ConversationLabel => self.begin_label(),
            CommandId::ConversationSummary => return self.go_on_with_summary(),
            CommandId::ContextCompact => return self.tell_thread(Command::Compact { instructions: None }),
            CommandId::ContextPreview => return self.preview_request(),
            CommandId::ContextEarlier => return self.turn_request(false),
            CommandId::ContextLater => return self.turn_request(true),
            CommandId::RequestText => return self.show_text(),
            CommandId::RequestWire => return self.show_wire(),
            CommandId::RequestDifference => return self.show_difference(),
            CommandId::RequestMark => self.mark_request(),
            CommandId::SheetCopy => return self.copy_sheet(),
            CommandId::SheetNext => self.with_sheet(|sheet, rows| sheet.step_layer(true, rows)),
            CommandId::SheetPrevious => self.with_sheet(|sheet, rows| sheet.step_layer(false, rows)),
            CommandId::LayerAsked => return self.open_asker(),
            CommandId::RequestSend => return self.send_shown(),
            CommandId::RequestEdit => self.overlay = None,
            CommandId::RequestDrop => return self.drop_shown(),
            CommandId::LayerOpen => return self.open_layer(),
            CommandId::LayerCopy => return self.copy_layer(),
            CommandId::LayerWhatIf => return self.what_if(),
            CommandId::LayerFork => return self.fork_as_if(),
            CommandId::LayerEdit => return self.edit_layer(),
            CommandId::LayerBisect => self.ask_check(),
            CommandId::LayerNextOut => self.next_left_out(true),
            CommandId::LayerPreviousOut => self.next_left_out(false),
            CommandId::ReadOpen => return self.open_chosen(),
            CommandId::SearchStart
            | CommandId::SearchAccept
            | CommandId::SearchDrop
            | CommandId::SearchBackspace
            | CommandId::SearchClear
            | CommandId::SearchNext
            | CommandId::SearchPrevious => self.search(layout, command),
            CommandId::ThreadsArchived => return self.show_archived(),
            CommandId::ThreadsShow => {
                self.threads.archived = None;
                self.pick(PickerKind::Threads, !self.threads.loaded);
                return vec![Effect::LoadThreads];
            }
            CommandId::ThreadsPanel => {
                self.panel = Some(!geometry::shows_panel(self));
                if geometry::shows_panel(self) {
                    return vec![Effect::LoadThreads];
                }
                if self.panel == Some(true) {
                    self.panel = None;
                    self.say(Level::Info, "the threads column needs a terminal of 120 columns");
                }
            }
            CommandId::ThreadNew => {
                return self.leave_for(Destination::New);
            }
            CommandId::ModelChoose => {
                self.browser.fork_model = false;
                self.pick(PickerKind::Models, !self.models_loaded);
                return vec![Effect::LoadModels];
            }
            CommandId::ThinkingChoose => self.pick(PickerKind::Thinking, false),
            CommandId::ThemeChoose => self.pick(PickerKind::Themes, false),
            CommandId::PaletteOpen => self.pick(PickerKind::Palette, false),
            CommandId::HelpShow => self.lay_over(self.help_page()),
            CommandId::NoticesShow => self.lay_over(self.notices_page()),
            CommandId::ListUp => self.step(-1),
            CommandId::ListDown => self.step(1),
            CommandId::ListPageUp => self.step(-self.list_page()),
            CommandId::ListPageDown => self.step(self.list_page()),
            CommandId::ListFirst => self.step(isize::MIN),
            CommandId::ListLast => self.step(isize::MAX),
            CommandId::ListAccept => return self.accept(layout),
            CommandId::ListClose if matches!(self.overlay, Some(Overlay::Dialog(_))) => {
                return self.answer_dialog(None);
            }
            CommandId::ListClose => self.step_out(),
            CommandId::FilterStart => {
                self.peek.whole = false;
                self.edit_pager(|pager| pager.filtering = true);
                self.edit_filter(|picker| picker.filtering = true);
            }
            CommandId::FilterBackspace => {
                self.edit_pager(Pager::unwrite);
                self.edit_filter(Picker::unwrite);
            }
            CommandId::FilterClear if matches!(self.overlay, Some(Overlay::Pager(_))) => {
                self.edit_pager(|pager| pager.filter.clear());
            }
            CommandId::FilterClear => self.edit_filter(|picker| match &mut picker.naming {
                Some(name) => name.clear(),
                None => picker.filter.clear(),
            }),
            CommandId::ThreadStop => return self.manage(&Upkeep::Stop),
            CommandId::ThreadStopTree => return self.stop_trees(),
            CommandId::ThreadKill => return self.kill_threads(),
            CommandId::ThreadMarkTree => self.mark_tree(),
            CommandId::ThreadMark => self.mark_thread(),
            CommandId::ThreadPeek => self.peek.whole = !self.peek.whole,
            CommandId::ThreadsOrder => self.reorder_threads(),
            CommandId::ThreadsAttention => return self.show_attention(),
            CommandId::ThreadRename if self.chosen_thread().is_some() => self.begin_naming(),
            CommandId::ThreadRename => self.say(Level::Info, "write the name behind it: /rename NAME"),
            CommandId::ThreadArchive => return self.archive_threads(),
            CommandId::ThreadRemove => return self.remove_thread(),
            CommandId::AppTrust => {
                self.browser.runs = None;
                self.pick(PickerKind::Trust, true);
                return vec![Effect::LoadTrust];
            }
            CommandId::AppMouse => return vec![Effect::ToggleMouse],
            CommandId::AppRedraw => return vec![Effect::Redraw],
            CommandId::AppSuspend => return vec![Effect::Suspend],
            CommandId::AppLeave => return self.leave(was_leaving),
            CommandId::AppLeaveEmpty => {
                if self.composer.is_empty() {
                    return self.quit();
                }
                self.edit(Composer::delete);
            }
            CommandId::AppQuit => return self.quit(),
            CommandId::DirectiveChoose => {
                self.pick(PickerKind::Directives, !self.browser.directives_loaded);
                return vec![Effect::LoadDirectives];
            }
            CommandId::FormNext => self.step_form(1),
            CommandId::FormPrevious => self.step_form(-1),
            CommandId::FormStart if matches!(self.overlay, Some(Overlay::Dialog(_))) => return self.accept_dialog(),
            CommandId::FormStart => self.start_form(),
            CommandId::DialogAnswer => self.show_dialog(),
            CommandId::ItemsShow => {
                self.browser.preview = None;
                self.pick(PickerKind::Items, !self.browser.items_loaded);
                return vec![Effect::LoadItems];
            }
            CommandId::ItemsOpen => return self.open_item(),
            CommandId::PreviewUp => self.scroll_preview(layout, -3),
            CommandId::PreviewDown => self.scroll_preview(layout, 3),
            CommandId::QueueShow => self.pick(PickerKind::Queue, false),
            CommandId::QueueUp => return self.move_queued(-1),
            CommandId::QueueDown => return self.move_queued(1),
            CommandId::QueueDrop => return self.drop_queued(),
        }
        Vec::new()
    }

    fn edit(&mut self, change: impl FnOnce(&mut Composer)) {
        if let Some(Overlay::Form(form)) = &mut self.overlay {
            form.change(change);
            return;
        }
        if let Some(Overlay::Dialog(panel)) = &mut self.overlay {
            return change(&mut panel.text);
        }
        self.history.left();
        change(&mut self.composer);
        self.complete();
    }

    /// One letter left or right, or the choice before or after.
    fn sideways(&mut self, step: isize) {
        if let Some(Overlay::Form(form)) = &mut self.overlay
            && form.choose(step)
        {
            return;
        }
        self.go(if step < 0 { Composer::left } else { Composer::right });
    }

    /// Moves the cursor; what completes the word it stands at follows.
    fn go(&mut self, change: impl FnOnce(&mut Composer)) {
        change(self.writing());
        self.complete();
    }

    /// Searches the page on the screen, else the transcript.
    fn search(&mut self, layout: &mut dyn TranscriptLayout, command: CommandId) {
        let in_page = self.sheet().is_some();
        let mut change = |change: fn(&mut String)| {
            if in_page {
                self.with_sheet(|sheet, _| sheet.edit_search(change));
            } else {
                self.edit_search(layout, change);
            }
        };
        if command == CommandId::SearchBackspace {
            change(|text| {
                text.pop();
            });
        } else if command == CommandId::SearchClear {
            change(String::clear);
        } else if in_page {
            self.with_sheet(|sheet, rows| sheet.search(command, rows));
        } else if command == CommandId::SearchStart {
            self.start_search(layout);
        } else if command == CommandId::SearchAccept {
            self.accept_search();
        } else if command == CommandId::SearchDrop {
            self.drop_search(layout);
        } else {
            self.find(layout, command == CommandId::SearchNext);
        }
    }

    fn step_form(&mut self, step: isize) {
        if let Some(Overlay::Form(form)) = &mut self.overlay {
            form.step(step);
        }
    }

    fn edit_pager(&mut self, change: impl FnOnce(&mut Pager)) {
        if let Some(Overlay::Pager(pager)) = &mut self.overlay {
            change(pager);
            pager.refilter();
        }
    }

    fn edit_filter(&mut self, change: impl FnOnce(&mut Picker)) {
        if let Some(Overlay::Picker(picker)) = &mut self.overlay {
            change(picker);
            picker.refilter();
        }
    }

    /// Lines of one page, with one line kept from the page before.
    fn page(&self) -> i64 {
        i64::from(geometry::regions(self).transcript.height.saturating_sub(1).max(1))
    }

    fn list_page(&self) -> isize {
        if self.overlay.is_none() && !self.view.approvals.is_empty() {
            return isize::try_from(geometry::regions(self).approval.height.saturating_sub(5).max(1)).unwrap_or(1);
        }
        isize::try_from(geometry::overlay_rows(self)).unwrap_or(1)
    }

    /// What a list of that kind holds now.
    pub(super) fn entries(&self, kind: PickerKind) -> Vec<Entry> {
        match kind {
            PickerKind::Palette => self.palette_entries(),
            PickerKind::Models => self.model_entries(),
            PickerKind::Threads => self.thread_entries(),
            PickerKind::Thinking => self.thinking_entries(),
            PickerKind::Themes => self.theme_entries(),
            PickerKind::History => self.history_entries(),
            PickerKind::Directives => self.directive_entries(),
            PickerKind::Items => self.item_entries(),
            PickerKind::Queue => self.queue_entries(),
            PickerKind::Layers => self.layer_entries(),
            PickerKind::Changes => self.change_entries(),
            PickerKind::Trust => self.trust_entries(),
            PickerKind::Conversation => self.conversation_entries(),
            PickerKind::Pipeline => self.pipeline_entries(),
            PickerKind::Bisect => self.bisect_entries(),
        }
    }

    pub(super) fn pick(&mut self, kind: PickerKind, loading: bool) {
        self.peek.whole = false;
        let entries = self.entries(kind);
        self.overlay = Some(Overlay::Picker(Picker::new(kind, entries, loading)));
    }

    fn step(&mut self, step: isize) {
        let size = (geometry::pager_width(self), geometry::overlay_rows(self));
        match &mut self.overlay {
            Some(overlay) => overlay.step(step, size),
            None if self.completion.entries.is_empty() => self.scroll_approval(step),
            None => self.completion.step(step),
        }
    }

    /// Shows a page; closing it leads back to what it lies over.
    pub(super) fn lay_over(&mut self, mut page: Pager) {
        page.under = match self.overlay.take() {
            Some(Overlay::Pager(before)) => before.under,
            before => before.map(Box::new),
        };
        self.overlay = Some(Overlay::Pager(page));
        self.changed = true;
    }

    /// Takes the filter off a list whose letters are keys, else closes what is open.
    fn step_out(&mut self) {
        if std::mem::take(&mut self.peek.whole) && self.chosen_thread().is_some() {
            return;
        }
        let unfiltered = match &mut self.overlay {
            Some(Overlay::Picker(picker)) => picker.unfilter(),
            Some(Overlay::Pager(pager)) => pager.unfilter(),
            Some(Overlay::Form(_) | Overlay::Dialog(_) | Overlay::Component(_) | Overlay::RequestPage(_)) | None => {
                false
            }
        };
        if !unfiltered {
            self.close();
        }
    }

    pub(super) fn close(&mut self) {
        match self.overlay.take() {
            // What was written into it is there when it is opened again.
            Some(Overlay::Form(form)) => self.left_form = Some(form),
            Some(Overlay::RequestPage(sheet)) => self.overlay = Some(Overlay::Picker(*sheet.under)),
            Some(Overlay::Pager(pager)) => self.overlay = pager.under.map(|under| *under),
            Some(Overlay::Picker(_) | Overlay::Dialog(_) | Overlay::Component(_)) => {}
            None => self.dismiss_completion(),
        }
    }

    /// Takes the chosen entry of what is open.
    pub(super) fn accept(&mut self, layout: &mut dyn TranscriptLayout) -> Vec<Effect> {
        if let Some(effects) = self.name_it().or_else(|| self.label_it()).or_else(|| self.take_check()) {
            return effects;
        }
        if let Some(Overlay::Dialog(_)) = &self.overlay {
            return self.accept_dialog();
        }
        let Some(overlay) = self.overlay.take() else {
            if self.completion.is_only_offered() {
                return self.run(layout, CommandId::PromptSend);
            }
            let Some(Completed::Command(command)) = self.completion.chosen().cloned() else {
                self.insert_completion();
                return Vec::new();
            };
            // What only resembles the word is put in its place first: it may not be what was meant.
            if !self.completes() {
                self.insert_completion();
                return Vec::new();
            }
            self.composer.take();
            self.complete();
            return self.run(layout, command);
        };
        let Overlay::Picker(picker) = overlay else {
            self.overlay = Some(overlay);
            // What was found is read with the keys of the page.
            self.edit_pager(|pager| pager.filtering = false);
            return Vec::new();
        };
        let Some(entry) = picker.chosen().cloned() else {
            self.overlay = Some(Overlay::Picker(picker));
            return Vec::new();
        };
        let filtering = picker.filtering;
        match entry.choice {
            Choice::Command(command) if self.obstacle(command).is_none() => {
                self.used(command);
                return self.perform(layout, command, false);
            }
            Choice::Command(command) => {
                self.overlay = Some(Overlay::Picker(picker));
                return self.run(layout, command);
            }
            Choice::Model(choice) => match *choice {
                ModelChoice { model: Some(model), .. } if self.browser.fork_model => {
                    return self.fork(Forking::Again, Some(model));
                }
                ModelChoice { model: Some(model), .. } => return self.set_model(model),
                ModelChoice { label, model: None, note } => {
                    self.overlay = Some(Overlay::Picker(picker));
                    self.say(Level::Warning, format!("{label} cannot be used now: {note}"));
                }
            },
            Choice::Thread(row) => return self.open_thread(row.thread_id.clone()),
            Choice::Theme(theme) => self.theme = theme,
            Choice::Directive(directive) => return self.begin(*directive),
            Choice::Layer(_) if picker.filtering => {
                // What was found is looked at beside the list; the keys are those of the layers again.
                self.overlay = Some(Overlay::Picker(Picker { filtering: false, ..picker }));
            }
            Choice::Layer(_) => {
                self.overlay = Some(Overlay::Picker(picker));
                return self.show_layer();
            }
            Choice::Item(row) => {
                let Some(directive) = row.directive else {
                    // There is nothing to start; it is looked at.
                    self.overlay = Some(Overlay::Picker(picker));
                    return self.open_item();
                };
                return self.begin(directive);
            }
            Choice::TakeBack(at) => return self.take_back_files(picker, at),
            Choice::Place(place) => return self.go_on_from(&place, false),
            Choice::Bisect(row) => return self.take_bisect_row(row),
            Choice::Pipeline(_) => {
                self.overlay = Some(Overlay::Picker(Picker { filtering: false, ..picker }));
                return if filtering { Vec::new() } else { self.with_step(CommandId::StepOpen) };
            }
            Choice::Trust(hash) => return vec![Effect::TrustProject { hash }],
            Choice::Runs(file) => {
                self.overlay = Some(Overlay::Picker(picker));
                return vec![Effect::OpenFile(Source { file, line: None })];
            }
            Choice::Queued(queued) => return self.edit_queued(queued.prompt),
            Choice::Prompt(text) => {
                self.history.left();
                self.composer.replace(&text);
                self.complete();
            }
        }
        Vec::new()
    }

    /// Runs a command with what was written behind it.
    ///
    /// # Errors
    /// What is wrong with that.
    pub(super) fn run_with(
        &mut self,
        layout: &mut dyn TranscriptLayout,
        command: CommandId,
        argument: &str,
    ) -> Result<Vec<Effect>, String> {
        if argument.is_empty() {
            return Ok(self.run(layout, command));
        }
        self.changed = true;
        if command == CommandId::ModelChoose {
            let model = argument.parse::<ModelRef>().map_err(|bad| bad.to_string())?;
            return Ok(self.set_model(model));
        }
        if command == CommandId::ThreadRename && self.obstacle(command).is_none() {
            return Ok(self.manage(&Upkeep::Rename(argument.to_owned())));
        }
        if command == CommandId::ApprovalDeny && self.obstacle(command).is_none() {
            return Ok(self.answer_saying(Approve::Deny, Some(argument.to_owned())));
        }
        if matches!(command, CommandId::PromptRetry | CommandId::PromptRetryWith) && self.obstacle(command).is_none() {
            let model = argument.parse::<ModelRef>().map_err(|bad| bad.to_string())?;
            return Ok(self.fork(Forking::Again, Some(model)));
        }
        if let Some(done) = self.with_words(command, argument) {
            return done;
        }
        if command == CommandId::ThemeChoose {
            let follows = argument == AUTO;
            if !follows && !self.themes.iter().any(|name| name == argument) {
                return Err(format!("there is no theme `{argument}`; use auto, {}", self.themes.join(", ")));
            }
            self.theme = (!follows).then(|| argument.to_owned());
            return Ok(Vec::new());
        }
        if command == CommandId::DirectiveChoose {
            self.pick(PickerKind::Directives, !self.browser.directives_loaded);
            self.edit_filter(|picker| argument.clone_into(&mut picker.filter));
            return Ok(vec![Effect::LoadDirectives]);
        }
        if command == CommandId::SearchStart {
            self.search_for(layout, argument);
            return Ok(Vec::new());
        }
        if command == CommandId::TranscriptExport {
            if argument == "registry" {
                return Ok(vec![Effect::ExportRegistry]);
            }
            let form = ExportForm::ALL.into_iter().find(|form| form.word() == argument);
            let forms = ExportForm::ALL.map(ExportForm::word).join(", ");
            let wrong = || format!("a thread is not exported as `{argument}`; use {forms} or registry");
            return Ok(self.export(form.ok_or_else(wrong)?));
        }
        if command == CommandId::ContextPreview && self.obstacle(command).is_none() {
            self.composer.set(argument);
            return Ok(self.run(layout, command));
        }
        if let Some(why) = self.obstacle(command) {
            return Err(why.to_owned());
        }
        let word = command.row().slash.unwrap_or_default();
        let other = self.long_name(word);
        Err(format!("/{word} takes no argument{other}; begin with a space to send it as a message"))
    }

    fn copy_answer(&mut self) -> Vec<Effect> {
        if let Some(text) = self.view.transcript.last_answer() {
            return vec![Effect::Copy(text)];
        }
        self.say(Level::Info, "there is no answer to copy yet");
        Vec::new()
    }

    fn export(&mut self, form: ExportForm) -> Vec<Effect> {
        if let Some(thread_id) = self.view.thread.clone() {
            return vec![Effect::Export { thread_id, form }];
        }
        self.say(Level::Info, "there is no thread to export yet");
        Vec::new()
    }

    pub(super) fn interrupt(&mut self) -> Vec<Effect> {
        if self.view.link == Link::Connected {
            self.enter(Phase::Cancelling);
            let command = Command::Cancel { scope: CancelScope::Turn };
            return vec![Effect::Send { id: self.sending(Sent::Other), command }];
        }
        Vec::new()
    }

    fn leave(&mut self, was_leaving: bool) -> Vec<Effect> {
        if was_leaving {
            return self.quit();
        }
        // The second under way may be as good as over.
        self.leaving_seconds = 2;
        if self.overlay.is_some() {
            self.close();
            return Vec::new();
        }
        if self.view.is_working() { self.interrupt() } else { Vec::new() }
    }

    pub(super) fn quit(&mut self) -> Vec<Effect> {
        self.quitting = true;
        // What was written and not sent is found by Ctrl+R, like what was.
        self.unsent().chain([Effect::Quit]).collect()
    }
}

/// The command that `/word argument` means, with its argument; none when there is no such command.
pub(super) fn slash(text: &str) -> Option<(CommandId, &str)> {
    let line = text.strip_prefix('/')?.trim_end();
    let (word, argument) = line.split_once(' ').unwrap_or((line, ""));
    Some((CommandId::from_slash(word)?, argument.trim()))
}
