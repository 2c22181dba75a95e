//! A list to choose from, with a filter.

use super::bisect_list::BisectRow;
use super::conversation_list::Place;
use super::message::{DirectiveChoice, ItemRow, ModelChoice};
use super::pipeline_list::PipelineRow;
use super::thread_row::ThreadRow;
use crate::commands::{CommandId, Context};
use crate::domain::ThreadId;
use crate::worker::protocol::QueuedPrompt;
use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

/// The theme that the background of the terminal chooses.
pub(super) const AUTO: &str = "auto";

/// What begins a filter that looks into the texts of layers.
pub(super) const IN_TEXTS: &str = "text:";

/// A list with a filter line.
#[derive(Clone, Debug)]
pub struct Picker {
    pub kind: PickerKind,
    pub filter: String,
    /// Whether letters go into the filter.
    pub filtering: bool,
    pub entries: Vec<Entry>,
    /// The entries that match, best first, by place.
    pub shown: Vec<usize>,
    /// Place in `shown`.
    pub chosen: usize,
    /// Entries are still on their way.
    pub loading: bool,
    /// The texts of the entries in lower case, once somebody looks for something in them.
    pub(super) texts: Vec<String>,
    /// The threads that are marked: what is done is done with all of them.
    pub marked: Vec<ThreadId>,
    /// What the chosen thread is to be called, while that is written.
    pub naming: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PickerKind {
    Palette,
    Models,
    Threads,
    Thinking,
    Themes,
    History,
    Directives,
    Items,
    Queue,
    Layers,
    Changes,
    Trust,
    Conversation,
    Pipeline,
    Bisect,
}

impl PickerKind {
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Palette => "commands",
            Self::Models => "models",
            Self::Threads => "threads",
            Self::Thinking => "how much the model thinks",
            Self::Themes => "themes",
            Self::History => "earlier prompts",
            Self::Directives => "start a directive",
            Self::Items => "items",
            Self::Queue => "queued messages",
            Self::Layers => "context",
            Self::Changes => "files that the thread changed",
            Self::Trust => "what of this project can run",
            Self::Conversation => "conversation",
            Self::Pipeline => "pipeline",
            Self::Bisect => "the layer that makes the difference",
        }
    }

    /// Whether what is chosen is shown beside or below the list.
    #[must_use]
    pub fn has_preview(self) -> bool {
        matches!(self, Self::Items | Self::Layers | Self::Threads | Self::Changes | Self::Pipeline)
    }

    /// What letters are while the filter is not written: keys of these contexts. None where letters always filter.
    #[must_use]
    pub fn keys(self) -> Option<Context> {
        match self {
            Self::Threads => Some(Context::Threads),
            Self::Items => Some(Context::Items),
            Self::Queue => Some(Context::Queue),
            Self::Layers => Some(Context::Layers),
            Self::Changes => Some(Context::Changes),
            Self::Conversation => Some(Context::Conversation),
            Self::Pipeline => Some(Context::Steps),
            Self::Palette
            | Self::Models
            | Self::Thinking
            | Self::Themes
            | Self::History
            | Self::Directives
            | Self::Trust
            | Self::Bisect => None,
        }
    }

    /// What an empty list says.
    #[must_use]
    pub fn nothing(self) -> &'static str {
        match self {
            Self::Queue => "nothing is queued",
            Self::Changes => "its file tools changed no files",
            Self::Conversation => "nothing of what was said is listed; f lists more",
            Self::Threads => "no threads",
            Self::Palette
            | Self::Models
            | Self::Thinking
            | Self::Themes
            | Self::History
            | Self::Directives
            | Self::Items
            | Self::Layers
            | Self::Pipeline
            | Self::Bisect => "nothing matches",
            Self::Trust => "nothing in this project could run by itself",
        }
    }
}

/// One line of a list.
#[derive(Clone, Debug)]
pub struct Entry {
    pub choice: Choice,
    pub(super) label: String,
    pub(super) detail: String,
    pub usable: bool,
    /// What is in use now.
    pub current: bool,
    /// The text it stands for, where that can be searched.
    pub body: Option<Arc<str>>,
    /// The heading it stands below, while nothing is filtered.
    pub group: Option<Cow<'static, str>>,
}

impl Entry {
    /// What it is called.
    #[must_use]
    pub fn label(&self) -> &str {
        if let Choice::Thread(row) = &self.choice { row.name() } else { &self.label }
    }

    /// What is said of it right of that, quieter.
    #[must_use]
    pub fn detail(&self) -> Cow<'_, str> {
        if let Choice::Thread(row) = &self.choice {
            format!("{} {} {}", row.directive, row.told(), row.thread_id).into()
        } else {
            self.detail.as_str().into()
        }
    }
}

/// A row of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListRow {
    Heading(Cow<'static, str>),
    /// The entry at this place of what is shown.
    Entry(usize),
}

/// What an entry stands for.
#[derive(Clone, Debug, PartialEq)]
pub enum Choice {
    Command(CommandId),
    Model(Box<ModelChoice>),
    Thread(Arc<ThreadRow>),
    Theme(Option<String>),
    Prompt(String),
    Directive(Box<DirectiveChoice>),
    Item(Box<ItemRow>),
    Queued(Box<QueuedPrompt>),
    /// The layer at this place of the request on screen.
    Layer(usize),
    /// To take back the file at this place of those that are listed, or all of them.
    TakeBack(Option<usize>),
    /// A place of the conversation.
    Place(Box<Place>),
    /// A row of the pipeline.
    Pipeline(PipelineRow),
    /// A row of the search for a layer.
    Bisect(BisectRow),
    /// To trust the project as it was listed, which this names.
    Trust(String),
    /// A file that can run.
    Runs(PathBuf),
}

impl Picker {
    /// What it says where it shows nothing.
    #[must_use]
    pub fn empty(&self) -> &'static str {
        match (self.loading, self.entries.is_empty()) {
            (true, _) => "loading…",
            (false, true) => self.kind.nothing(),
            (false, false) => "nothing matches",
        }
    }

    /// What keys mean in it. `preview` tells whether the request behind it has not been sent.
    pub(super) fn contexts(&self, preview: bool) -> Vec<Context> {
        match self.kind.keys().filter(|_| !self.filtering && self.naming.is_none()) {
            Some(Context::Layers) if preview => {
                vec![Context::Preview, Context::Layers, Context::List, Context::Anywhere]
            }
            Some(keys) => vec![keys, Context::List, Context::Anywhere],
            None => vec![Context::Picker, Context::Anywhere],
        }
    }

    /// Takes a letter; whether it had a use for it.
    pub(super) fn letter(&mut self, letter: char) -> bool {
        if let Some(name) = &mut self.naming {
            name.push(letter);
            return true;
        }
        if self.filtering {
            self.type_letter(letter);
        }
        self.filtering
    }

    /// Takes the first line of what is pasted; whether it had a use for it.
    pub(super) fn paste(&mut self, text: &str) -> bool {
        let line = text.lines().next().unwrap_or_default();
        if let Some(name) = &mut self.naming {
            name.extend(line.chars().filter(|letter| !letter.is_control()));
            return true;
        }
        if self.filtering {
            line.chars().for_each(|letter| self.type_letter(letter));
        }
        self.filtering
    }

    /// Its rows, with a heading above each group unless something is filtered.
    #[must_use]
    pub fn rows(&self) -> Vec<ListRow> {
        let mut rows = Vec::with_capacity(self.shown.len());
        let mut group = None;
        for (place, index) in self.shown.iter().enumerate() {
            let own =
                self.entries.get(*index).and_then(|entry| entry.group.as_ref()).filter(|_| self.filter.is_empty());
            if let Some(heading) = own.filter(|_| own != group) {
                rows.push(ListRow::Heading(heading.clone()));
            }
            group = own;
            rows.push(ListRow::Entry(place));
        }
        rows
    }

    /// The row at the top of a list of so many rows: the chosen entry is always seen.
    #[must_use]
    pub fn top(&self, rows: &[ListRow], height: usize) -> usize {
        let chosen = rows.iter().position(|row| *row == ListRow::Entry(self.chosen)).unwrap_or(0);
        (chosen + 1).saturating_sub(height)
    }

    /// Chooses the entry at a row of the list as it is on the screen; whether it was chosen before.
    pub(super) fn choose_row(&mut self, row: usize, rows: usize) -> bool {
        let all = self.rows();
        let Some(ListRow::Entry(place)) = all.get(self.top(&all, rows) + row).cloned() else { return false };
        std::mem::replace(&mut self.chosen, place) == place
    }

    pub(super) fn new(kind: PickerKind, entries: Vec<Entry>, loading: bool) -> Self {
        let filtering = kind.keys().is_none();
        let mut picker = Self {
            kind,
            filter: String::new(),
            filtering,
            entries: Vec::new(),
            shown: Vec::new(),
            chosen: 0,
            loading,
            texts: Vec::new(),
            marked: Vec::new(),
            naming: None,
        };
        picker.set_entries(entries);
        picker
    }

    /// Replaces the entries; the chosen one stays chosen where it still exists.
    pub(super) fn set_entries(&mut self, entries: Vec<Entry>) {
        let (chosen, at) = (self.chosen().cloned(), self.chosen);
        (self.entries, self.texts) = (entries, Vec::new());
        self.refilter();
        if let Some(chosen) = chosen {
            let place = |is_it: &dyn Fn(&Entry) -> bool| {
                self.shown.iter().position(|index| self.entries.get(*index).is_some_and(is_it))
            };
            let same = place(&|entry| entry.choice == chosen.choice);
            let place = same.or_else(|| place(&|entry| entry.label() == chosen.label()));
            self.chosen = place.unwrap_or(at).min(self.shown.len().saturating_sub(1));
        } else if self.filter.is_empty() {
            self.choose_current();
        }
    }

    /// Chooses the entry that stands for that, if it is shown.
    pub(super) fn choose(&mut self, is_it: impl Fn(&Choice) -> bool) {
        let place = self.shown.iter().position(|index| self.entries.get(*index).is_some_and(|one| is_it(&one.choice)));
        self.chosen = place.unwrap_or(self.chosen);
    }

    pub(super) fn choose_current(&mut self) {
        let place = self.shown.iter().position(|index| self.entries[*index].current);
        self.chosen = place.unwrap_or(0);
    }

    /// Marks the chosen thread, or takes its mark off, and goes on to the next entry.
    pub(super) fn mark(&mut self) {
        let Some(Choice::Thread(row)) = self.chosen().map(|entry| &entry.choice) else { return };
        let id = row.thread_id.clone();
        match self.marked.iter().position(|marked| *marked == id) {
            Some(place) => drop(self.marked.remove(place)),
            None => self.marked.push(id),
        }
        self.step(1);
    }

    /// What is asked for while the chosen entry gets a name.
    #[must_use]
    pub fn names(&self) -> &'static str {
        if self.kind == PickerKind::Conversation {
            "label: "
        } else if self.kind == PickerKind::Layers {
            "check: "
        } else {
            "rename: "
        }
    }

    /// Whether the entry is marked.
    #[must_use]
    pub fn is_marked(&self, entry: &Entry) -> bool {
        matches!(&entry.choice, Choice::Thread(row) if self.marked.contains(&row.thread_id))
    }

    #[must_use]
    pub fn chosen(&self) -> Option<&Entry> {
        self.shown.get(self.chosen).and_then(|index| self.entries.get(*index))
    }

    /// Finds what matches the filter, best first; everything in its own order without one. What holds it in its name or
    /// its `/` word goes before what is only said of another entry, or holds its letters here and there.
    pub(super) fn refilter(&mut self) {
        if matches!(
            self.kind,
            PickerKind::Layers | PickerKind::Conversation | PickerKind::Pipeline | PickerKind::Bisect
        ) {
            return self.keep_in_order();
        }
        let texts = self.entries.iter().map(|entry| format!("{} {}", entry.label(), entry.detail()));
        let found = best(&self.filter, texts);
        let wanted = self.filter.trim().to_lowercase();
        let named = |place: &usize| {
            let entry = &self.entries[*place];
            let (label, detail) = (entry.label(), entry.detail());
            let mut commands = detail.split_whitespace().filter_map(|word| word.strip_prefix('/'));
            label.to_lowercase().contains(&wanted) || commands.any(|word| word.starts_with(&wanted))
        };
        let (first, rest): (Vec<usize>, Vec<usize>) = found.into_iter().partition(named);
        self.shown = first.into_iter().chain(rest).collect();
        self.chosen = 0;
    }

    /// Leaves the entries that hold every word of the filter, in their own order: in what is seen of them, or behind
    /// [`IN_TEXTS`] in their texts.
    fn keep_in_order(&mut self) {
        let wanted = self.filter.to_lowercase();
        let in_texts = wanted.strip_prefix(IN_TEXTS);
        let words: Vec<&str> = in_texts.unwrap_or(&wanted).split_whitespace().collect();
        let holds = |seen: &str| words.iter().all(|word| seen.contains(word));
        self.shown = if in_texts.is_some() {
            if self.texts.len() != self.entries.len() {
                let text = |entry: &Entry| entry.body.as_ref().map(|body| body.to_lowercase()).unwrap_or_default();
                self.texts = self.entries.iter().map(text).collect();
            }
            (0..).zip(&self.texts).filter(|(_, text)| holds(text)).map(|(place, _)| place).collect()
        } else {
            let seen = |entry: &Entry| format!("{} {}", entry.label(), entry.detail()).to_lowercase();
            (0..).zip(&self.entries).filter(|(_, entry)| holds(&seen(entry))).map(|(place, _)| place).collect()
        };
        self.chosen = 0;
    }

    /// Takes the filter off, if there is one; the chosen entry stays.
    pub(super) fn unfilter(&mut self) -> bool {
        if self.naming.take().is_some() {
            return true;
        }
        let filters = (self.filtering && self.kind.keys().is_some()) || !self.filter.is_empty();
        if !filters || self.kind.keys().is_none() {
            return false;
        }
        let chosen = self.shown.get(self.chosen).copied();
        self.filter.clear();
        self.filtering = false;
        self.refilter();
        self.chosen = chosen.and_then(|index| self.shown.iter().position(|other| *other == index)).unwrap_or(0);
        true
    }

    pub(super) fn type_letter(&mut self, letter: char) {
        if !letter.is_control() {
            self.filter.push(letter);
            self.refilter();
        }
    }

    /// Takes the last letter off the filter.
    pub(super) fn unwrite(&mut self) {
        match &mut self.naming {
            Some(name) => drop(name.pop()),
            None => drop(self.filter.pop()),
        }
    }

    /// Moves the choice by `step` entries and stops at both ends.
    pub(super) fn step(&mut self, step: isize) {
        // What is written is about the thread that is chosen.
        if self.naming.is_some() {
            return;
        }
        let last = self.shown.len().saturating_sub(1);
        self.chosen = self.chosen.saturating_add_signed(step).min(last);
    }
}

/// Places of the texts that match, best first.
pub(super) fn best(filter: &str, texts: impl Iterator<Item = impl AsRef<str>>) -> Vec<usize> {
    if filter.trim().is_empty() {
        return (0..texts.count()).collect();
    }
    let mut matcher = Matcher::new(Config::DEFAULT);
    let pattern = Pattern::parse(filter, CaseMatching::Smart, Normalization::Smart);
    let mut letters = Vec::new();
    let mut scored: Vec<(u32, usize)> = texts
        .enumerate()
        .filter_map(|(index, text)| {
            Some((pattern.score(Utf32Str::new(text.as_ref(), &mut letters), &mut matcher)?, index))
        })
        .collect();
    scored.sort_by_key(|(score, index)| (std::cmp::Reverse(*score), *index));
    scored.into_iter().map(|(_, index)| index).collect()
}
