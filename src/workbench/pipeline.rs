//! The pipeline on the screen: what handlers did with the newest prompts, breakpoints before them, and going on from one.

use super::message::{Effect, Level, PipelineLine};
use super::model::Model;
use super::overlay::{Pager, PagerLine};
use super::request::EditedValue;
use super::thread_view::Sent;
use crate::domain::command::{Breakpoint, Handling, Resume};
use crate::domain::{Stage, nearest};
use crate::worker::protocol::Command;
use serde_json::Value;

/// Lines of a value that are shown at a breakpoint.
const SHOWN: usize = 200;

impl Model {
    /// Asks what handlers did in the thread on the screen.
    pub(super) fn ask_pipeline(&mut self) -> Vec<Effect> {
        let Some(thread_id) = self.view.thread.clone() else {
            self.say(Level::Info, "this thread has not begun");
            return Vec::new();
        };
        let paused = self.view.handling().and_then(|handling| handling.paused.clone());
        vec![Effect::LoadPipeline { thread_id, paused }]
    }

    /// Shows it.
    pub(super) fn show_pipeline(&mut self, told: Result<(Vec<PipelineLine>, Option<String>), String>) {
        let (lines, value) = match told {
            Ok(told) => told,
            Err(why) => return self.say(Level::Error, why),
        };
        let mut page = Vec::new();
        if let (Some(Handling { stage, handler, .. }), Some(value)) = (self.view.handling(), value) {
            page.push(PagerLine::Heading(format!("paused before {handler} ({stage})")));
            let row = |left: &str, text: &str| PagerLine::Row { left: left.to_owned(), text: text.to_owned() };
            page.push(row("/go", "continue with this value"));
            page.push(row("/go edit", "change it in $EDITOR first"));
            page.push(row("/go skip", "continue without the handler"));
            page.push(row("/go abort", "give up the turn"));
            page.push(PagerLine::Blank);
            page.extend(value.lines().take(SHOWN).map(|line| PagerLine::Whole(format!("  {line}"))));
            page.push(PagerLine::Blank);
        }
        if !self.view.breakpoints.is_empty() {
            page.push(PagerLine::Heading("breakpoints".to_owned()));
            let named = self.view.breakpoints.iter().map(|one| PagerLine::Whole(format!("  {}", name(one))));
            page.extend(named);
            page.push(PagerLine::Blank);
        }
        if lines.is_empty() {
            page.push(PagerLine::Whole("No handler was asked in this thread.".to_owned()));
            page.push(PagerLine::Whole("Write one in .ai/config/agent/pipeline.yaml (docs/pipeline.md).".to_owned()));
        }
        for line in lines {
            page.push(match line {
                PipelineLine::Of(text) => PagerLine::Heading(text),
                PipelineLine::Step { handler, text } => PagerLine::Row { left: handler, text },
                PipelineLine::Detail(text) => PagerLine::Whole(format!("      {text}")),
            });
        }
        self.lay_over(Pager::new("pipeline", page));
    }

    /// `/break STAGE[:HANDLER]` adds a breakpoint, `/break` removes all.
    ///
    /// # Errors
    /// What is wrong with its argument.
    pub(super) fn add_breakpoint(&mut self, place: &str) -> Result<Vec<Effect>, String> {
        if place.is_empty() {
            self.view.breakpoints.clear();
            self.say(Level::Info, "there are no breakpoints now");
        } else {
            let (stage, handler) = place.split_once(':').map_or((place, None), |(stage, name)| (stage, Some(name)));
            let names = || Stage::all().filter(|stage| stage.pauses()).map(Stage::name);
            let Some(stage) = Stage::from_name(stage).filter(|stage| stage.pauses()) else {
                let near = nearest(stage, names()).map(|near| format!(" (did you mean {near}?)")).unwrap_or_default();
                return Err(format!("there is no stage {stage}{near}"));
            };
            let handler = handler.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
            let breakpoint = Breakpoint { stage, handler, contains: None };
            self.say(Level::Info, format!("the thread pauses before {}; /break removes it", name(&breakpoint)));
            if !self.view.breakpoints.contains(&breakpoint) {
                self.view.breakpoints.push(breakpoint);
            }
        }
        let breakpoints = self.view.breakpoints.clone();
        Ok(self.tell_worker(Sent::Other, Command::SetBreakpoints { breakpoints }))
    }

    /// `/go [edit|skip|abort]` goes on from a breakpoint.
    ///
    /// # Errors
    /// What is wrong with its argument, or that nothing is paused.
    pub(super) fn go_on(&mut self, how: &str) -> Result<Vec<Effect>, String> {
        let Some(hash) = self.view.handling().and_then(|handling| handling.paused.clone()) else {
            return Err("nothing is paused at a breakpoint".to_owned());
        };
        let how = match how {
            "" => Resume::Continue { value: None },
            "skip" => Resume::Skip,
            "abort" => Resume::Abort,
            "edit" => return Ok(vec![Effect::LoadPaused { hash }]),
            other => return Err(format!("/go knows edit, skip and abort, not `{other}`")),
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

/// What people call it.
fn name(breakpoint: &Breakpoint) -> String {
    let Breakpoint { stage, handler, .. } = breakpoint;
    handler.as_ref().map_or_else(|| format!("every handler of {stage}"), |handler| format!("{handler} ({stage})"))
}
