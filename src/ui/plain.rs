//! The workbench as linear text: for screen readers, and for terminals that can do nothing but print. Everything is said
//! once, in the order in which it happens, under headings; nothing is written over, and what goes away is announced.

use super::glyphs::harmless;
use crate::commands::{Command, Need, TABLE};
use crate::domain::NoteKind;
use crate::domain::OpenComponent;
use crate::domain::Tokens;
use crate::domain::event::StopReason;
use crate::workbench::approval::Panel;
use crate::workbench::dialog::DialogPanel;
use crate::workbench::form::InputForm;
use crate::workbench::help::COMMANDS;
use crate::workbench::line::ANSWERS;
use crate::workbench::overlay::{Overlay, Pager, PagerLine};
use crate::workbench::picker::{Choice, Picker, PickerKind};
use crate::workbench::request::SheetLine;
use crate::workbench::transcript::{Answer, Block, BlockId, Kind, Tool, ToolState};
use crate::workbench::{Level, Link, Model, Phase};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Entries of a list that are read out.
const ENTRIES: usize = 40;
/// Lines of a tool's result that are read out.
const RESULT_LINES: usize = 40;

/// Tells what is new, and remembers what it has told.
#[derive(Debug, Default)]
pub struct Narrator {
    begun: bool,
    thread: Option<String>,
    blocks: BTreeMap<BlockId, SpokenBlock>,
    notices: usize,
    overlay: String,
    approval: Option<u64>,
    queue: Vec<String>,
    draft: String,
    /// Whether it was told that an empty line starts the thread.
    alone: bool,
    found: Option<BlockId>,
    worked: bool,
}

/// What was told of a block.
#[derive(Debug, Default)]
struct SpokenBlock {
    /// Bytes of its text.
    bytes: usize,
    /// What it was when it was told: for calls, how they stood.
    stage: u8,
}

impl Narrator {
    /// What happened since the last call, in whole lines; empty when that is nothing.
    pub fn tell(&mut self, model: &Model) -> String {
        let mut text = String::new();
        self.opening(model, &mut text);
        self.thread(model, &mut text);
        for block in model.view.transcript.iter() {
            let told = self.blocks.entry(block.id).or_default();
            match &block.kind {
                Kind::Answer(answer) => answer_text(answer, told, &mut text),
                Kind::Tool(tool) => tool_text(tool, told, &mut text),
                Kind::Thinking(_) | Kind::Prompt(_) | Kind::Marker(_) => once(block, told, &mut text),
            }
        }
        self.gone(model, &mut text);
        self.queue(model, &mut text);
        self.notices(model, &mut text);
        self.draft(model, &mut text);
        self.found(model, &mut text);
        self.approval(model, &mut text);
        self.overlay(model, &mut text);
        let works = model.view.is_working();
        if std::mem::replace(&mut self.worked, works) && !works {
            text.push_str("Ready.\n");
        }
        text
    }

    fn opening(&mut self, model: &Model, text: &mut String) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        let _ = writeln!(
            text,
            "levain: a thread with {}, model {}.",
            line(&model.directive),
            line(&model.model.to_string())
        );
        if model.model_is_scripted {
            text.push_str("A script answers: no model is called and nothing is spent.\n");
        }
        text.push_str("Type a message and press Enter. /help lists the commands, /quit leaves.\n\n");
    }

    /// Another thread is shown: nothing that was told is of it.
    fn thread(&mut self, model: &Model, text: &mut String) {
        let id = model.view.thread.as_ref().map(ToString::to_string);
        if id == self.thread || (self.thread.is_none() && model.view.link == Link::Starting) {
            self.thread = id;
            return;
        }
        let kept = self.blocks.keys().any(|id| model.view.transcript.block(*id).is_some());
        if !kept {
            self.blocks.clear();
        }
        match &id {
            Some(id) => heading(&format!("Thread {id}"), text),
            None => heading(&format!("A new thread with {}", model.directive), text),
        }
        self.thread = id;
    }

    /// Announces what was told and is there no more.
    fn gone(&mut self, model: &Model, text: &mut String) {
        let gone: Vec<BlockId> =
            self.blocks.keys().copied().filter(|id| model.view.transcript.block(*id).is_none()).collect();
        for id in gone {
            if self.blocks.remove(&id).is_some_and(|told| told.bytes > 0 || told.stage > 0) {
                text.push_str("The last part above is withdrawn.\n\n");
            }
        }
    }

    fn queue(&mut self, model: &Model, text: &mut String) {
        let now: Vec<String> = model.view.queued().map(|(text, _)| text.to_owned()).collect();
        for new in now.iter().filter(|one| !self.queue.contains(one)) {
            let _ = writeln!(text, "Queued: {}\n", line(new));
        }
        for old in self.queue.iter().filter(|one| !now.contains(one)) {
            let said = model
                .view
                .transcript
                .iter()
                .rev()
                .take(8)
                .any(|block| matches!(&block.kind, Kind::Prompt(prompt) if prompt.text == **old));
            if !said {
                let _ = writeln!(text, "No longer queued: {}\n", line(old));
            }
        }
        self.queue = now;
    }

    fn notices(&mut self, model: &Model, text: &mut String) {
        let new = model.notices.said().saturating_sub(self.notices);
        self.notices = model.notices.said();
        let skipped = model.notices.iter().len().saturating_sub(new);
        for notice in model.notices.iter().skip(skipped) {
            let word = match notice.level {
                Level::Info => "Note",
                Level::Warning => "Warning",
                Level::Error => "Error",
            };
            let _ = writeln!(text, "{word}: {}\n", line(&notice.text));
        }
    }

    fn draft(&mut self, model: &Model, text: &mut String) {
        let draft = model.composer.text();
        // While something is open a line means something there.
        if model.overlay.is_some() {
            return;
        }
        if draft != self.draft && !draft.trim().is_empty() && !draft.ends_with('\n') {
            let _ = writeln!(
                text,
                "Not sent yet: {}\nAn empty line sends it, another line takes its place.\n",
                line(&draft)
            );
        }
        self.draft = draft;
        let alone = model.starts_alone();
        if alone && !self.alone {
            text.push_str("An empty line starts the directive, other text starts it with that prompt.\n\n");
        }
        self.alone = alone;
    }

    /// The place that was looked for.
    fn found(&mut self, model: &Model, text: &mut String) {
        let now = model.view.reading.as_ref().map(|reading| reading.block);
        if now != self.found
            && let Some(block) = now.and_then(|id| model.view.transcript.block(id))
        {
            heading("Found", text);
            lines(&crate::workbench::export::plain(block), "", text);
            text.push('\n');
        }
        self.found = now;
    }

    fn approval(&mut self, model: &Model, text: &mut String) {
        let shown = model.view.approvals.shown();
        let id = shown.map(|panel| panel.approval.id);
        // While a list is open it waits: an answer must not be taken for an entry.
        if id == self.approval || model.overlay.is_some() {
            return;
        }
        if let Some(panel) = shown {
            question(panel, model.view.approvals.len(), text);
        }
        self.approval = id;
    }

    fn overlay(&mut self, model: &Model, text: &mut String) {
        let mut said = String::new();
        match &model.overlay {
            Some(Overlay::Picker(picker)) => list(model, picker, &mut said),
            Some(Overlay::Pager(pager)) => page(pager, &mut said),
            Some(Overlay::Form(form)) => field(form, &mut said),
            Some(Overlay::Dialog(panel)) => dialog(panel, &mut said),
            Some(Overlay::Component(open)) => component(open, &mut said),
            Some(Overlay::RequestPage(sheet)) => {
                heading(&sheet.page.title, &mut said);
                // Their own words tell what was added and what is gone: colours do not reach everybody on a screen either.
                for SheetLine { text, .. } in &sheet.page.lines {
                    let _ = writeln!(said, "{}", line(text));
                }
                said.push_str("\nAn empty line goes back to the layers.\n\n");
            }
            None => {}
        }
        if said != self.overlay {
            if said.is_empty() {
                text.push_str("Closed.\n\n");
            }
            text.push_str(&said);
            self.overlay = said;
        }
    }
}

/// Text as lines that a terminal does not obey, with a blank line behind them.
#[must_use]
pub fn as_lines(words: &str) -> String {
    let mut text = String::new();
    lines(words, "", &mut text);
    text.push('\n');
    text
}

fn heading(words: &str, text: &mut String) {
    let _ = writeln!(text, "# {}\n", line(words));
}

/// Text as one harmless line.
fn line(words: &str) -> String {
    harmless(words.trim_end()).into_owned()
}

/// Text as harmless lines.
fn lines(words: &str, before: &str, text: &mut String) {
    for line in words.lines() {
        let _ = writeln!(text, "{before}{}", harmless(line));
    }
}

/// What is told whole, and once.
fn once(block: &Block, told: &mut SpokenBlock, text: &mut String) {
    if told.stage > 0 {
        return;
    }
    match &block.kind {
        Kind::Prompt(prompt) => {
            let who = if prompt.role == "user" { "You" } else { prompt.role.as_str() };
            heading(who, text);
            lines(prompt.stands_in().unwrap_or(&prompt.text), "", text);
            for image in &prompt.images {
                let _ = writeln!(text, "With the image {} ({}).", line(&image.name), line(&image.media_type));
            }
            for file in &prompt.files {
                let _ = writeln!(text, "With {}.", line(&file.in_words()));
            }
        }
        Kind::Thinking(thinking) if thinking.finished => {
            let _ = writeln!(text, "Thought: about {} tokens.", Tokens::estimate(&thinking.text));
            if block.open {
                lines(&thinking.text, "", text);
            }
        }
        Kind::Thinking(_) | Kind::Answer(_) | Kind::Tool(_) => return,
        Kind::Marker(_) if block.entry.is_some() => return,
        Kind::Marker(marker) => {
            let word = match marker.sort {
                NoteKind::Context => "About this request",
                NoteKind::Info => "Note",
                NoteKind::Warning => "Warning",
                NoteKind::Error => "Error",
                NoteKind::Limit => "Limit",
                NoteKind::Stopped => "Stopped",
                NoteKind::Completed => "Completed",
            };
            let _ = writeln!(text, "{word}: {}", line(&marker.text));
        }
    }
    text.push('\n');
    told.stage = 1;
}

/// The whole lines of an answer as they arrive, and what it took when it has ended.
fn answer_text(answer: &Answer, told: &mut SpokenBlock, text: &mut String) {
    const ENDED: u8 = 2;
    if told.stage == ENDED {
        return;
    }
    let new = answer.text.get(told.bytes..).unwrap_or_default();
    let whole = if answer.ended.is_some() { new.len() } else { new.rfind('\n').map_or(0, |end| end + 1) };
    if whole > 0 && told.stage == 0 {
        heading("Answer", text);
        told.stage = 1;
    }
    lines(new.get(..whole).unwrap_or_default(), "", text);
    told.bytes += whole;
    let Some(reason) = &answer.ended else { return };
    told.stage = ENDED;
    match reason {
        StopReason::EndTurn | StopReason::ToolUse => {}
        StopReason::MaxTokens => text.push_str("Cut off: the model's output limit was reached.\n"),
        StopReason::Refusal => text.push_str("The model refused to go on.\n"),
        StopReason::Truncated { detail } => drop(writeln!(text, "Cut short: {}", line(detail))),
        StopReason::TooLarge { detail } => drop(writeln!(text, "Cut off: {}", line(detail))),
        StopReason::Cancelled => text.push_str("Stopped here.\n"),
        StopReason::Lost => text.push_str("Cut short: the worker died; this is what it had saved.\n"),
        StopReason::Other { word } => drop(writeln!(text, "Ended: {}", line(word))),
    }
    text.push('\n');
}

/// A call with its arguments when they are whole, and its result when that is there.
fn tool_text(tool: &Tool, told: &mut SpokenBlock, text: &mut String) {
    const CALLED: u8 = 1;
    const ENDED: u8 = 2;
    if told.stage == ENDED || (tool.state == ToolState::Asked && tool.main.is_empty()) {
        return;
    }
    if told.stage < CALLED {
        told.stage = CALLED;
        heading(&format!("Call: {} {}", tool.name, tool.main), text);
        lines(&tool.input, "  ", text);
        text.push('\n');
    }
    let (word, result) = match &tool.state {
        ToolState::Asked | ToolState::Waiting | ToolState::Running => return,
        ToolState::Done => ("Result", &tool.output),
        ToolState::Failed(error) => ("Failed", error),
    };
    told.stage = ENDED;
    let denied = tool.denied_by().map(|denied| format!(", {denied}")).unwrap_or_default();
    let _ = writeln!(text, "{word} of {}{denied}:", line(&tool.name));
    for line in result.lines().take(RESULT_LINES) {
        let _ = writeln!(text, "  {}", harmless(line));
    }
    let more = result.lines().count().saturating_sub(RESULT_LINES);
    if more > 0 {
        let _ = writeln!(text, "  and {more} more lines");
    }
    text.push('\n');
}

fn question(panel: &Panel, waiting: usize, text: &mut String) {
    heading(&format!("A call needs approval: {}", panel.approval.item), text);
    for row in panel.all_lines() {
        let _ = writeln!(text, "  {}", harmless(&row.text));
    }
    let why = panel.approval.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
    let _ = writeln!(text, "It needs {}{}.", line(&panel.approval.capability), line(&why));
    if waiting > 1 {
        let _ = writeln!(text, "{} more wait behind it.", waiting - 1);
    }
    let _ = writeln!(text, "May it run? Type {ANSWERS}.\n");
}

fn list(model: &Model, picker: &Picker, text: &mut String) {
    if picker.loading {
        return;
    }
    let request = model.browser.request.as_ref().filter(|_| picker.kind == PickerKind::Layers);
    match request {
        Some(request) => heading(&format!("Context: {}", request.heading()), text),
        None => {
            heading(
                &format!("List: {}, {} of {}", model.list_title(picker), picker.shown.len(), picker.entries.len()),
                text,
            );
        }
    }
    if picker.shown.is_empty() {
        let _ = writeln!(text, "{}.", picker.empty());
    }
    for (number, index) in (1..).zip(picker.shown.iter().take(ENTRIES)) {
        let Some(entry) = picker.entries.get(*index) else { continue };
        let current = if entry.current { " (in use)" } else { "" };
        // Of a layer that is left out it is said why.
        let usable = if entry.usable || request.is_some() { "" } else { " (not usable)" };
        let layer = request.zip(if let Choice::Layer(index) = &entry.choice { Some(*index) } else { None });
        let layer = layer.and_then(|(request, index)| {
            request.layers.get(index).map(|layer| format!("{}, {}", layer.part, layer.summary()))
        });
        let detail = layer.unwrap_or_else(|| entry.detail().into_owned());
        let dash = if detail.is_empty() { "" } else { ": " };
        let _ = writeln!(text, "{number}. {}{current}{usable}{dash}{}", line(entry.label()), line(&detail));
    }
    if picker.shown.len() > ENTRIES {
        let _ = writeln!(text, "and {} more; words narrow the list.", picker.shown.len() - ENTRIES);
    }
    if let Some(Ok(read)) = model
        .browser
        .preview
        .as_ref()
        .filter(|_| picker.kind == PickerKind::Items && picker.chosen > 0)
        .and_then(|preview| preview.text.as_ref())
    {
        text.push_str("\nThe chosen item:\n");
        lines(read, "  ", text);
    }
    text.push_str("\nA number takes an entry, words narrow the list, an empty line closes it.\n");
    if request.is_some() {
        about_request(model, text);
    }
    text.push('\n');
}

/// The commands that go on from the request that is looked at.
fn about_request(model: &Model, text: &mut String) {
    let of_request = |row: &&Command| matches!(row.needs, Need::Request | Need::Unsent);
    for row in TABLE.iter().filter(of_request).filter(|row| model.obstacle(row.id).is_none()) {
        if let Some(slash) = row.slash {
            let _ = writeln!(text, "/{slash}: {}", row.help);
        }
    }
}

fn page(pager: &Pager, text: &mut String) {
    heading(&format!("Page: {}", pager.title), text);
    // Keys mean nothing here.
    let commands = pager.lines.iter().position(|row| *row == PagerLine::Heading(COMMANDS.to_owned())).unwrap_or(0);
    for row in pager.lines.iter().skip(commands) {
        match row {
            PagerLine::Blank => text.push('\n'),
            PagerLine::Heading(words) => drop(writeln!(text, "## {}", line(words))),
            PagerLine::Whole(words) => drop(writeln!(text, "{}", line(words))),
            PagerLine::Row { left, text: words } => drop(writeln!(text, "{}: {}", line(left), line(words))),
        }
    }
    text.push('\n');
}

/// The input that is asked for.
fn field(form: &InputForm, text: &mut String) {
    let Some(field) = form.field() else { return };
    heading(&format!("Input of {}: {}", form.directive.id, field.input.name), text);
    if !field.input.description.is_empty() {
        let _ = writeln!(text, "{}", line(&field.input.description));
    }
    if let Some(wrong) = &field.wrong {
        let _ = writeln!(text, "Refused: {}", line(wrong));
    }
    let given = field.text.text();
    let otherwise = if given.is_empty() { field.input.default.clone().unwrap_or_default() } else { given };
    let must = if field.input.required { "required" } else { "may be left empty" };
    match field.input.options().as_slice() {
        [] if matches!(field.input.kind.as_str(), "string" | "any") => {
            let _ = writeln!(text, "It is {must}.");
        }
        [] => {
            let _ = writeln!(text, "A value of type {}, {must}.", line(&field.input.kind));
        }
        options => {
            let _ = writeln!(text, "One of: {}; {must}.", line(&options.join(", ")));
        }
    }
    if !otherwise.is_empty() {
        let _ = writeln!(text, "An empty line leaves it at: {}", line(&otherwise));
    }
    text.push('\n');
}

/// A question of an extension, with what answers it.
fn dialog(panel: &DialogPanel, text: &mut String) {
    heading(&format!("{} asks", panel.open.from), text);
    lines(&panel.question(), "", text);
    if let Some(options) = panel.options() {
        for (place, option) in (1..).zip(options) {
            let _ = writeln!(text, "{place}. {}", line(option));
        }
        text.push_str("Answer with a number; an empty line dismisses the question.\n");
    } else {
        if !panel.text.is_empty() {
            let _ = writeln!(text, "So far: {}", line(&panel.text.text()));
        }
        text.push_str("Answer with a line; an empty one dismisses the question.\n");
    }
    text.push('\n');
}

/// A component of an extension, without its styles.
fn component(open: &OpenComponent, text: &mut String) {
    heading(&open.from, text);
    for drawn in &open.lines {
        let _ = writeln!(text, "{}", line(anstream::adapter::strip_str(drawn).to_string().trim_end()));
    }
    text.push_str("A line is typed into it, with enter; an empty one is escape.\n\n");
}

/// Whether the next line of a script may be taken: what the last one asked for has been told.
#[must_use]
pub fn rests(model: &Model) -> bool {
    let loading = matches!(&model.overlay, Some(Overlay::Picker(picker)) if picker.loading) || model.browser.awaits;
    let linked = !matches!(model.view.link, Link::Starting | Link::Opening | Link::Reviving);
    let asked = model.view.activity.phase == Phase::Approval && model.is_armed()
        || model.view.handling().is_some_and(|handling| handling.paused.is_some())
        || matches!(model.overlay, Some(Overlay::Dialog(_) | Overlay::Component(_)));
    !loading && linked && (asked || !model.view.is_working())
}
