//! What can lie over the transcript: a list to choose from, a page to read, or a form to fill in.

use super::form::InputForm;
use super::message::{DirectiveChoice, ItemRow, ModelChoice, ThreadRow};
use super::model::Model;
use super::request_page::{RequestPage, Row, row_ends};
use crate::commands::{CommandId, Context, TABLE};
use crate::worker::protocol::QueuedPrompt;
use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use unicode_width::UnicodeWidthStr as _;

/// The theme that the background of the terminal chooses.
pub(super) const AUTO: &str = "auto";

#[derive(Clone, Debug)]
pub enum Overlay {
    Picker(Picker),
    Pager(Pager),
    Form(InputForm),
    /// A page about the request whose layers are listed.
    RequestPage(RequestPage),
}

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
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PickerKind {
    Palette,
    Models,
    Threads,
    Themes,
    History,
    Directives,
    Items,
    Queue,
    Layers,
}

impl PickerKind {
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Palette => "commands",
            Self::Models => "models",
            Self::Threads => "threads",
            Self::Themes => "themes",
            Self::History => "earlier prompts",
            Self::Directives => "start a directive",
            Self::Items => "items",
            Self::Queue => "queued messages",
            Self::Layers => "context",
        }
    }

    /// Whether what is chosen is shown beside or below the list.
    #[must_use]
    pub fn has_preview(self) -> bool {
        matches!(self, Self::Items | Self::Layers)
    }

    /// What letters are while the filter is not written: keys of these contexts. None where letters always filter.
    #[must_use]
    pub fn keys(self) -> Option<Context> {
        match self {
            Self::Threads => Some(Context::Threads),
            Self::Items => Some(Context::Items),
            Self::Queue => Some(Context::Queue),
            Self::Layers => Some(Context::Layers),
            Self::Palette | Self::Models | Self::Themes | Self::History | Self::Directives => None,
        }
    }

    /// What an empty list says.
    #[must_use]
    pub fn nothing(self) -> &'static str {
        match self {
            Self::Queue => "nothing is queued",
            Self::Palette
            | Self::Models
            | Self::Threads
            | Self::Themes
            | Self::History
            | Self::Directives
            | Self::Items
            | Self::Layers => "nothing matches",
        }
    }
}

/// One line of a list.
#[derive(Clone, Debug)]
pub struct Entry {
    pub choice: Choice,
    pub label: String,
    /// Right of the label, quieter.
    pub detail: String,
    pub usable: bool,
    /// What is in use now.
    pub current: bool,
}

/// What an entry stands for.
#[derive(Clone, Debug, PartialEq)]
pub enum Choice {
    Command(CommandId),
    Model(ModelChoice),
    Thread(ThreadRow),
    Theme(Option<String>),
    Prompt(String),
    Directive(Box<DirectiveChoice>),
    Item(Box<ItemRow>),
    Queued(QueuedPrompt),
    /// The layer at this place of the request on screen.
    Layer(usize),
}

/// A page that scrolls.
#[derive(Clone, Debug)]
pub struct Pager {
    pub title: &'static str,
    pub lines: Vec<PagerLine>,
    /// First row on the screen.
    pub top: usize,
    /// What it lies over; that is there again when it is closed.
    pub(super) under: Option<Box<Overlay>>,
}

impl Pager {
    /// Columns of what stands on the left, in a page that is `width` wide, and of what it says there.
    #[must_use]
    pub fn columns(&self, width: usize) -> (usize, usize) {
        let lefts = self.lines.iter().map(|line| match line {
            PagerLine::Row { left, .. } => left.width(),
            PagerLine::Blank | PagerLine::Heading(_) => 0,
        });
        let left = lefts.max().unwrap_or(0).min(width / 3).max(8);
        (left, width.saturating_sub(left + 3).max(1))
    }

    /// Its rows in a page that is `width` wide, as bytes of what a line says. What does not fit goes on in the next.
    #[must_use]
    pub fn rows(&self, width: usize) -> Vec<Row> {
        let (_, room) = self.columns(width);
        let rows = |(line, said): (usize, &PagerLine)| {
            let ends = match said {
                PagerLine::Row { text, .. } => row_ends(text, room),
                PagerLine::Blank | PagerLine::Heading(_) => row_ends("", room),
            };
            ends.into_iter().map(move |bytes| Row { line, bytes })
        };
        self.lines.iter().enumerate().flat_map(rows).collect()
    }

    /// Scrolls by rows; the last stays at the bottom.
    pub(super) fn step(&mut self, step: isize, (width, height): (usize, usize)) {
        let last = self.rows(width).len().saturating_sub(height);
        // A page that has become wider has fewer rows.
        self.top = self.top.min(last).saturating_add_signed(step).min(last);
    }
}

impl Overlay {
    /// The list that is open, also while something that leads back to it lies over it.
    pub(super) fn list(&mut self) -> Option<&mut Picker> {
        match self {
            Self::Picker(picker) => Some(picker),
            Self::RequestPage(sheet) => Some(&mut sheet.under),
            Self::Pager(pager) => pager.under.as_mut()?.list(),
            Self::Form(_) => None,
        }
    }
}

/// One line of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PagerLine {
    Blank,
    Heading(String),
    /// A key or command and what it does.
    Row {
        left: String,
        text: String,
    },
}

impl Picker {
    /// The place of the entry at the top of a list of so many rows: the chosen one is always seen.
    #[must_use]
    pub fn top(&self, rows: usize) -> usize {
        (self.chosen + 1).saturating_sub(rows)
    }

    pub(super) fn new(kind: PickerKind, entries: Vec<Entry>, loading: bool) -> Self {
        let filtering = kind.keys().is_none();
        let mut picker =
            Self { kind, filter: String::new(), filtering, entries: Vec::new(), shown: Vec::new(), chosen: 0, loading };
        picker.set_entries(entries);
        picker
    }

    /// Replaces the entries; the chosen one stays chosen where it still exists.
    pub(super) fn set_entries(&mut self, entries: Vec<Entry>) {
        let (chosen, at) = (self.chosen().cloned(), self.chosen);
        self.entries = entries;
        self.refilter();
        if let Some(chosen) = chosen {
            let place = |is_it: &dyn Fn(&Entry) -> bool| {
                self.shown.iter().position(|index| self.entries.get(*index).is_some_and(is_it))
            };
            let same = place(&|entry| entry.choice == chosen.choice);
            let place = same.or_else(|| place(&|entry| entry.label == chosen.label));
            self.chosen = place.unwrap_or(at).min(self.shown.len().saturating_sub(1));
        } else if self.filter.is_empty() {
            self.choose_current();
        }
    }

    fn choose_current(&mut self) {
        let place = self.shown.iter().position(|index| self.entries[*index].current);
        self.chosen = place.unwrap_or(0);
    }

    #[must_use]
    pub fn chosen(&self) -> Option<&Entry> {
        self.shown.get(self.chosen).and_then(|index| self.entries.get(*index))
    }

    /// Finds what matches the filter, best first; everything in its own order without one. What holds it in its name or
    /// its `/` word goes before what is only said of another entry, or holds its letters here and there.
    pub(super) fn refilter(&mut self) {
        let texts = self.entries.iter().map(|entry| format!("{} {}", entry.label, entry.detail));
        let found = best(&self.filter, texts);
        let wanted = self.filter.trim().to_lowercase();
        let named = |place: &usize| {
            let Entry { label, detail, .. } = &self.entries[*place];
            let mut commands = detail.split_whitespace().filter_map(|word| word.strip_prefix('/'));
            label.to_lowercase().contains(&wanted) || commands.any(|word| word.starts_with(&wanted))
        };
        let (first, rest): (Vec<usize>, Vec<usize>) = found.into_iter().partition(named);
        self.shown = first.into_iter().chain(rest).collect();
        self.chosen = 0;
    }

    pub(super) fn type_letter(&mut self, letter: char) {
        if !letter.is_control() {
            self.filter.push(letter);
            self.refilter();
        }
    }

    /// Takes the last letter off the filter.
    pub(super) fn unwrite(&mut self) {
        self.filter.pop();
    }

    /// Moves the choice by `step` entries and stops at both ends.
    pub(super) fn step(&mut self, step: isize) {
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

impl Model {
    /// Entries of the palette: every command that makes sense there, with its key; below them what cannot be run now,
    /// with the reason.
    pub(super) fn palette_entries(&self) -> Vec<Entry> {
        let contexts = self.composer_contexts();
        let commands = TABLE.iter().filter(|command| command.in_palette);
        let entry = |command: &crate::commands::Command| {
            let obstacle = self.obstacle(command.id);
            Entry {
                choice: Choice::Command(command.id),
                label: command.title.to_owned(),
                detail: obstacle.map_or_else(|| self.keys_of(command.id, &contexts), str::to_owned),
                usable: obstacle.is_none(),
                current: false,
            }
        };
        let mut entries: Vec<_> = commands.map(entry).collect();
        entries.sort_by_key(|entry| !entry.usable);
        entries
    }

    fn keys_of(&self, command: CommandId, contexts: &[Context]) -> String {
        let key = self.keymap.key_for(command, contexts).map(|key| key.to_string());
        let slash = command.row().slash.map(|word| format!("/{word}"));
        [slash, key].into_iter().flatten().collect::<Vec<_>>().join("  ")
    }

    pub(super) fn model_entries(&self) -> Vec<Entry> {
        let entry = |choice: &ModelChoice| Entry {
            label: choice.model.to_string(),
            detail: choice.note.clone(),
            usable: choice.usable,
            current: choice.model == self.model,
            choice: Choice::Model(choice.clone()),
        };
        self.models.iter().map(entry).collect()
    }

    pub(super) fn thread_entries(&self) -> Vec<Entry> {
        let entry = |row: &ThreadRow| Entry {
            label: if row.title.is_empty() { row.thread_id.to_string() } else { row.title.clone() },
            detail: format!("{} {} {}", row.directive, row.told(), row.thread_id),
            usable: true,
            current: Some(&row.thread_id) == self.view.thread.as_ref(),
            choice: Choice::Thread(row.clone()),
        };
        self.threads.iter().map(entry).collect()
    }

    pub(super) fn theme_entries(&self) -> Vec<Entry> {
        let entry = |theme: Option<&String>| Entry {
            choice: Choice::Theme(theme.cloned()),
            label: theme.cloned().unwrap_or_else(|| AUTO.to_owned()),
            detail: if theme.is_none() { "by the terminal's background".to_owned() } else { String::new() },
            usable: true,
            current: self.theme.as_ref() == theme,
        };
        std::iter::once(None).chain(self.themes.iter().map(Some)).map(entry).collect()
    }

    pub(super) fn history_entries(&self) -> Vec<Entry> {
        let entry = |text: &String| Entry {
            choice: Choice::Prompt(text.clone()),
            label: text.split_whitespace().take(60).collect::<Vec<_>>().join(" "),
            detail: String::new(),
            usable: true,
            current: false,
        };
        self.history.prompts.iter().rev().map(entry).collect()
    }
}
