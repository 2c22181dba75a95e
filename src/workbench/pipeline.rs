//! The pipeline on the screen: what handlers did with the newest prompts, breakpoints before them, going on from one, and
//! asking one again.

use super::context_browser::Preview;
use super::message::{Effect, Level, Source};
use super::model::Model;
use super::overlay::Overlay;
use super::picker::{Choice, Entry, Picker, PickerKind};
use super::pipeline_list::{PipelineRow, PipelineRows, PipelineText, StepView};
use super::request::EditedValue;
use super::thread_view::{Link, Sent};
use crate::commands::CommandId;
use crate::domain::command::{Breakpoint, Handling, Resume};
use crate::domain::{HandlerPlace, Stage, ThreadId, nearest};
use crate::worker::protocol::Command;
use serde_json::Value;
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

/// The kind of preview that a row of the pipeline has.
const STEP: &str = "step";

impl Model {
    /// Lists what handlers did in the thread on the screen, and those there are.
    pub(super) fn show_pipeline(&mut self) -> Vec<Effect> {
        self.browser.preview = None;
        (self.browser.pipeline, self.browser.pipeline_opens) = (PipelineRows::default(), true);
        self.pick(PickerKind::Pipeline, true);
        vec![self.read_pipeline()]
    }

    fn read_pipeline(&self) -> Effect {
        Effect::LoadPipeline { thread_id: self.view.thread.clone(), directive: self.directive.clone() }
    }

    pub(super) fn pipeline_read(&mut self, thread_id: Option<&ThreadId>, told: Result<PipelineRows, String>) {
        if self.view.thread.as_ref() != thread_id {
            return;
        }
        match told {
            Ok(rows) => {
                let newest = rows.asked.first().map(|row| PipelineRow::Asked(Arc::clone(row)));
                self.browser.pipeline = rows;
                let opens = std::mem::take(&mut self.browser.pipeline_opens);
                self.refill(PickerKind::Pipeline);
                let first = if self.stands_before().is_some() { Some(PipelineRow::Paused) } else { newest };
                let is_first = |choice: &Choice| match (&first, choice) {
                    (Some(first), Choice::Pipeline(row)) => row == first,
                    (_, _) => true,
                };
                if let (true, Some(picker)) = (opens, self.pipeline_list()) {
                    picker.choose(is_first);
                }
            }
            Err(why) => self.say(Level::Error, why),
        }
    }

    /// The worker told how the thread stands now, where `before` was waited for before. `turned` tells whether it works now and did
    /// not, or the other way round.
    pub(super) fn pipeline_moved(&mut self, before: Option<&Handling>, turned: bool) -> Option<Effect> {
        let now = self.view.handling().cloned();
        let paused = now.as_ref().is_some_and(|now| now.paused.is_some());
        let is_new = now.as_ref() != before;
        if paused && is_new {
            let Handling { stage, handler, .. } = now.as_ref()?;
            self.say(
                Level::Warning,
                format!("paused before {handler} ({stage}): /pipeline shows the value, /go continues"),
            );
        }
        self.pipeline_list()?;
        self.refill(PickerKind::Pipeline);
        if paused
            && is_new
            && let Some(picker) = self.pipeline_list()
        {
            picker.choose(|choice| *choice == Choice::Pipeline(PipelineRow::Paused));
        }
        // What was waited for is over, and perhaps recorded. Handlers that answer at once are in no state.
        (turned || is_new && (paused || now.is_none())).then(|| self.read_pipeline())
    }

    fn pipeline_list(&mut self) -> Option<&mut Picker> {
        let Some(Overlay::Picker(picker)) = &mut self.overlay else { return None };
        (picker.kind == PickerKind::Pipeline).then_some(picker)
    }

    /// The chosen row, while the pipeline is listed.
    #[must_use]
    pub fn chosen_step(&self) -> Option<&PipelineRow> {
        let Some(Overlay::Picker(picker)) = &self.overlay else { return None };
        let Choice::Pipeline(row) = &picker.chosen()?.choice else { return None };
        Some(row)
    }

    /// Whether the thread stands still before a row that is about this, or will.
    #[must_use]
    pub fn pauses_before(&self, row: &PipelineRow) -> bool {
        let Some((stage, handler)) = row.place(self.stands_before()) else { return false };
        let means = |breakpoint: &Breakpoint| {
            breakpoint.stage == stage && (breakpoint.handler.is_none() || breakpoint.handler == handler)
        };
        self.view.breakpoints.iter().any(means)
    }

    fn stands_before(&self) -> Option<(Stage, &str)> {
        let handling = self.view.handling().filter(|handling| handling.paused.is_some())?;
        Some((handling.stage, &handling.handler))
    }

    pub(super) fn pipeline_entries(&self) -> Vec<Entry> {
        let entry = |row: PipelineRow, label: String, detail: String, group: Cow<'static, str>| Entry {
            current: row == PipelineRow::Paused,
            choice: Choice::Pipeline(row),
            label,
            detail,
            usable: true,
            body: None,
            group: Some(group),
        };
        let mut all = Vec::new();
        if let Some((stage, handler)) = self.stands_before() {
            all.push(entry(PipelineRow::Paused, handler.to_owned(), stage.name().to_owned(), "paused before".into()));
        }
        for breakpoint in &self.view.breakpoints {
            let row = PipelineRow::Breakpoint(breakpoint.clone());
            all.push(entry(row, name(breakpoint), String::new(), "breakpoints".into()));
        }
        let PipelineRows { asked, known, printed } = &self.browser.pipeline;
        for row in asked {
            let detail = format!("{} {}", row.step.stage, row.step.ending());
            all.push(entry(
                PipelineRow::Asked(Arc::clone(row)),
                row.step.handler.clone(),
                detail,
                row.of.to_string().into(),
            ));
        }
        for row in known {
            let detail = row.stage.name().to_owned();
            all.push(entry(PipelineRow::Known(Arc::clone(row)), row.id.clone(), detail, "handlers of files".into()));
        }
        for stage in Stage::all().filter(|stage| stage.pauses()) {
            all.push(entry(PipelineRow::Stage(stage), stage.name().to_owned(), String::new(), "stages".into()));
        }
        for row in printed {
            let first = row.text.lines().next().unwrap_or_default().to_owned();
            let detail = format!("{} {} {}", row.at, row.extension, row.level);
            all.push(entry(PipelineRow::Printed(Arc::clone(row)), first, detail, "console of the extensions".into()));
        }
        all
    }

    /// Asks for the text of the chosen row, if that is not there.
    pub(super) fn follow_step(&mut self) -> Option<Effect> {
        let row = self.chosen_step()?.clone();
        let paused = self.view.handling().and_then(|handling| handling.paused.clone());
        let what = match row {
            PipelineRow::Paused => Some(PipelineText::Value(paused?)),
            PipelineRow::Asked(row) => Some(PipelineText::Step(row, self.browser.step_view)),
            PipelineRow::Printed(row) => {
                let id = format!("{} {}", row.at, row.text);
                let shown = self.browser.preview.as_ref().is_some_and(|shown| shown.kind == STEP && shown.id == id);
                if !shown {
                    let text = Some(Ok(Arc::clone(&row.text)));
                    self.browser.preview = Some(Preview { kind: STEP, id, text, top: 0 });
                }
                None
            }
            PipelineRow::Breakpoint(_) | PipelineRow::Known(_) | PipelineRow::Stage(_) => {
                self.browser.preview = None;
                None
            }
        }?;
        let (id, again) = (id_of(&what), again_of(&what));
        let shown = |shown: &Preview| shown.kind == STEP && (shown.id == id || again.as_ref() == Some(&shown.id));
        if self.browser.preview.as_ref().is_some_and(shown) {
            return None;
        }
        self.browser.preview = Some(Preview { kind: STEP, id: id.clone(), text: None, top: 0 });
        Some(Effect::ReadPipeline { id, what })
    }

    fn shows_again(&self) -> bool {
        self.browser.preview.as_ref().is_some_and(|shown| shown.id.ends_with(AGAIN))
    }

    /// What is shown of the chosen handler, in words, and whether it is a difference.
    #[must_use]
    pub fn step_shows(&self) -> (&'static str, bool) {
        if self.shows_again() {
            return ("asked again", true);
        }
        (self.browser.step_view.title(), self.browser.step_view == StepView::Difference)
    }

    /// Does what a command does with the chosen row.
    pub(super) fn with_step(&mut self, command: CommandId) -> Vec<Effect> {
        let Some(row) = self.chosen_step().cloned() else { return Vec::new() };
        let done = match (command, row) {
            (CommandId::StepView, _) => {
                self.browser.step_view =
                    if self.shows_again() { StepView::default() } else { self.browser.step_view.next() };
                self.browser.preview = None;
                Ok(Vec::new())
            }
            (CommandId::StepAgain, PipelineRow::Asked(row)) if row.step.before.is_some() => {
                let what = PipelineText::Again(row);
                let id = id_of(&what);
                self.browser.preview = Some(Preview { kind: STEP, id: id.clone(), text: None, top: 0 });
                Ok(vec![Effect::ReadPipeline { id, what }])
            }
            (CommandId::StepAgain, PipelineRow::Asked(_)) => {
                Err("it was not asked then, so nothing is known of what it would get".to_owned())
            }
            (CommandId::StepAgain, _) => Err("choose a handler that was asked".to_owned()),
            (CommandId::StepBreak, PipelineRow::Breakpoint(breakpoint)) => Ok(self.without_breakpoint(&breakpoint)),
            (CommandId::StepBreak | CommandId::StepBreakStage, row) => self.toggle_breakpoint(&row, command),
            (CommandId::StepNext, _) => self.go_on("next"),
            (CommandId::StepSkip, _) => self.go_on("skip"),
            (CommandId::StepAbort, _) => self.go_on("abort"),
            (CommandId::StepOpen, PipelineRow::Paused) => self.go_on("edit"),
            (CommandId::StepOpen, row) => self.open_handler(&row),
            (_, _) => self.go_on(""),
        };
        done.unwrap_or_else(|why| {
            self.say(Level::Info, why);
            Vec::new()
        })
    }

    fn open_handler(&self, row: &PipelineRow) -> Result<Vec<Effect>, String> {
        let known = |stage: Stage, handler: &str| {
            let mut known = self.browser.pipeline.known.iter();
            known.find(|one| one.stage == stage && one.id == handler).and_then(|one| one.place.clone())
        };
        let place = match row {
            PipelineRow::Asked(row) => row.step.place.clone().or_else(|| known(row.step.stage, &row.step.handler)),
            PipelineRow::Known(row) => row.place.clone(),
            PipelineRow::Breakpoint(one) => one.handler.as_ref().and_then(|handler| known(one.stage, handler)),
            PipelineRow::Printed(row) => return Ok(vec![Effect::ShowText(row.text.to_string())]),
            PipelineRow::Stage(_) | PipelineRow::Paused => None,
        };
        let place = place.filter(|place| !place.file.is_empty());
        let Some(HandlerPlace { file, line }) = place else { return Err("it is written in no file".to_owned()) };
        Ok(vec![Effect::OpenFile(Source { file: PathBuf::from(file), line })])
    }

    fn without_breakpoint(&mut self, breakpoint: &Breakpoint) -> Vec<Effect> {
        self.view.breakpoints.retain(|one| one != breakpoint);
        self.breakpoints_set()
    }

    /// Pauses before the handler of a row, or before its whole stage; no more where it does so already.
    fn toggle_breakpoint(&mut self, row: &PipelineRow, command: CommandId) -> Result<Vec<Effect>, String> {
        let place = row.place(self.stands_before()).filter(|(stage, _)| stage.pauses());
        let Some((stage, handler)) = place else { return Err("nothing can be paused there".to_owned()) };
        let handler = handler.filter(|_| command == CommandId::StepBreak);
        let breakpoint = Breakpoint { stage, handler, contains: None };
        if self.view.breakpoints.contains(&breakpoint) {
            return Ok(self.without_breakpoint(&breakpoint));
        }
        self.view.breakpoints.push(breakpoint);
        Ok(self.breakpoints_set())
    }

    /// The worker is told where to pause; one that does not run hears of it with the next prompt.
    fn breakpoints_set(&mut self) -> Vec<Effect> {
        self.refill(PickerKind::Pipeline);
        self.changed = true;
        if matches!(self.view.link, Link::Draft | Link::Resting) {
            return Vec::new();
        }
        let breakpoints = self.view.breakpoints.clone();
        self.tell_worker(Sent::Other, Command::SetBreakpoints { breakpoints })
    }

    /// What is said to a worker before anything else: where to pause.
    pub(super) fn breakpoints_first(&mut self, effects: &mut Vec<Effect>) {
        let begins = |effect: &Effect| matches!(effect, Effect::Start { .. } | Effect::Revive { .. });
        if self.view.breakpoints.is_empty() {
            return;
        }
        if let Some(at) = effects.iter().position(begins) {
            let (id, breakpoints) = (self.sending(Sent::Other), self.view.breakpoints.clone());
            effects.insert(at, Effect::SayFirst { id, command: Command::SetBreakpoints { breakpoints } });
        }
    }

    /// `/break STAGE[:HANDLER] [contains TEXT]` adds a breakpoint, `/break off` removes all, `/break` lists what there is.
    ///
    /// # Errors
    /// What is wrong with its argument.
    pub(super) fn add_breakpoint(&mut self, place: &str) -> Result<Vec<Effect>, String> {
        if place.is_empty() {
            return Ok(self.show_pipeline());
        }
        if place == "off" {
            self.view.breakpoints.clear();
            self.say(Level::Info, "there are no breakpoints now");
            return Ok(self.breakpoints_set());
        }
        let (place, contains) =
            place.split_once(" contains ").map_or((place, None), |(place, text)| (place, Some(text)));
        let (stage, handler) = place.split_once(':').map_or((place, None), |(stage, name)| (stage, Some(name)));
        let names = || Stage::all().filter(|stage| stage.pauses()).map(Stage::name);
        let Some(stage) = Stage::from_name(stage.trim()).filter(|stage| stage.pauses()) else {
            if let Some(stage) = Stage::from_name(stage.trim()) {
                return Err(format!("nothing stands still at {stage}"));
            }
            let near = nearest(stage, names()).map(|near| format!(" (did you mean {near}?)")).unwrap_or_default();
            return Err(format!("there is no stage {stage}{near}"));
        };
        let given = |text: Option<&str>| text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let breakpoint = Breakpoint { stage, handler: given(handler), contains: given(contains) };
        self.say(Level::Info, format!("the thread pauses before {}; /break off removes it", name(&breakpoint)));
        if !self.view.breakpoints.contains(&breakpoint) {
            self.view.breakpoints.push(breakpoint);
        }
        Ok(self.breakpoints_set())
    }

    /// `/go [next|edit|skip|abort]` goes on from a breakpoint.
    ///
    /// # Errors
    /// What is wrong with its argument, or that nothing is paused.
    pub(super) fn go_on(&mut self, how: &str) -> Result<Vec<Effect>, String> {
        let Some(hash) = self.view.handling().and_then(|handling| handling.paused.clone()) else {
            return Err("nothing is paused at a breakpoint".to_owned());
        };
        let how = match how {
            "" => Resume::Continue { value: None },
            "next" => Resume::Step,
            "skip" => Resume::Skip,
            "abort" => Resume::Abort,
            "edit" => return Ok(vec![Effect::LoadPaused { hash }]),
            other => return Err(format!("/go knows next, edit, skip and abort, not `{other}`")),
        };
        Ok(self.tell_worker(Sent::Other, Command::Resume { how }))
    }

    /// The value at the breakpoint was read, to be edited.
    pub(super) fn paused_read(&mut self, value: Result<String, String>) -> Vec<Effect> {
        match value {
            Ok(text) => vec![Effect::EditValue(EditedValue::Paused, text)],
            Err(why) => {
                self.say(Level::Error, why);
                Vec::new()
            }
        }
    }

    /// `$EDITOR` came back with a value for the breakpoint.
    pub(super) fn value_edited(&mut self, text: &str) -> Vec<Effect> {
        match serde_json::from_str::<Value>(text) {
            Ok(value) => {
                let how = Resume::Continue { value: Some(value) };
                self.tell_worker(Sent::Other, Command::Resume { how })
            }
            Err(error) => {
                self.say(Level::Error, format!("the thread stays paused: that is no JSON ({error}); /go edit again"));
                Vec::new()
            }
        }
    }
}

/// How the id of a preview ends that shows a handler asked again.
const AGAIN: &str = " again";

/// The id of the preview that shows it.
fn id_of(what: &PipelineText) -> String {
    match what {
        PipelineText::Step(row, view) => format!("{} {} {view:?}", row.of, row.place),
        PipelineText::Again(row) => format!("{} {}{AGAIN}", row.of, row.place),
        PipelineText::Value(hash) => hash.as_str().to_owned(),
    }
}

/// The id of the preview that shows the same handler asked again.
fn again_of(what: &PipelineText) -> Option<String> {
    let PipelineText::Step(row, _) = what else { return None };
    Some(id_of(&PipelineText::Again(Arc::clone(row))))
}

/// What people call it.
fn name(breakpoint: &Breakpoint) -> String {
    let Breakpoint { stage, handler, contains } = breakpoint;
    let place =
        handler.as_ref().map_or_else(|| format!("every handler of {stage}"), |handler| format!("{handler} ({stage})"));
    let with = contains.as_ref().map(|text| format!(", where the value contains \"{text}\"")).unwrap_or_default();
    format!("{place}{with}")
}
