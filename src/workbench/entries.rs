//! What the lists of commands, models, threads, themes and earlier prompts hold.

use super::message::ModelChoice;
use super::model::Model;
use super::picker::{AUTO, Choice, Entry};
use super::thread_order;
use super::thread_row::ThreadRow;
use crate::commands::{CommandId, Context, Group, TABLE};
use std::borrow::Cow;
use std::sync::Arc;

impl Model {
    /// Entries of the palette: every command that makes sense there, with its key, those chosen last first and the others by
    /// what they are about; below them what cannot be run now, with the reason.
    pub(super) fn palette_entries(&self) -> Vec<Entry> {
        let contexts = self.composer_contexts();
        let commands = TABLE.iter().filter(|command| command.in_palette);
        let entry = |command: &crate::commands::Command| {
            let obstacle = self.obstacle(command.id);
            Entry {
                choice: Choice::Command(command.id),
                body: None,
                group: Some(match self.recent.iter().position(|recent| *recent == command.id) {
                    _ if obstacle.is_some() => "not now".into(),
                    Some(_) => "recent".into(),
                    None => command.group().title().into(),
                }),
                label: command.title.to_owned(),
                detail: obstacle.map_or_else(|| self.keys_of(command.id, &contexts), str::to_owned),
                usable: obstacle.is_none(),
                current: false,
            }
        };
        let mut entries: Vec<_> = commands.map(entry).collect();
        entries.sort_by_key(|entry| {
            let Choice::Command(command) = entry.choice else { return (true, 0, Group::Program) };
            let recent = self.recent.iter().position(|recent| *recent == command);
            // What cannot be run now stands in its groups too, below everything else.
            let recent = recent.filter(|_| entry.usable).unwrap_or(usize::MAX);
            (!entry.usable, recent, command.row().group())
        });
        entries
    }

    /// A command was chosen by name: the palette lists it first from now on.
    pub(super) fn used(&mut self, command: CommandId) {
        const MOST: usize = 5;
        self.recent.retain(|recent| *recent != command);
        self.recent.insert(0, command);
        self.recent.truncate(MOST);
    }

    fn keys_of(&self, command: CommandId, contexts: &[Context]) -> String {
        let key = self.keymap.key_for(command, contexts).map(|key| key.to_string());
        let slash = command.row().slash.map(|word| format!("/{word}"));
        [slash, key].into_iter().flatten().collect::<Vec<_>>().join("  ")
    }

    pub(super) fn model_entries(&self) -> Vec<Entry> {
        let entry = |choice: &ModelChoice| Entry {
            label: choice.label.clone(),
            detail: choice.note.clone(),
            usable: choice.model.is_some(),
            current: choice.model.as_ref().is_some_and(|model| model.is_same(&self.model)),
            choice: Choice::Model(Box::new(self.as_it_thinks(choice))),
            body: None,
            group: None,
        };
        self.models.iter().map(entry).collect()
    }

    pub(super) fn thread_entries(&self) -> Vec<Entry> {
        // What is seen of them is in their rows.
        let entry = |(row, group): (Arc<ThreadRow>, Option<&'static str>)| Entry {
            label: String::new(),
            detail: String::new(),
            usable: true,
            current: Some(&row.thread_id) == self.view.thread.as_ref(),
            choice: Choice::Thread(row),
            body: None,
            group: group.map(Cow::Borrowed),
        };
        thread_order::arranged(self.threads.order, self.threads.archived.as_ref().unwrap_or(&self.threads.rows))
            .into_iter()
            .map(entry)
            .collect()
    }

    pub(super) fn theme_entries(&self) -> Vec<Entry> {
        let entry = |theme: Option<&String>| Entry {
            choice: Choice::Theme(theme.cloned()),
            body: None,
            group: None,
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
            body: None,
            group: None,
            label: text.split_whitespace().take(60).collect::<Vec<_>>().join(" "),
            detail: String::new(),
            usable: true,
            current: false,
        };
        self.history.prompts.iter().rev().map(entry).collect()
    }
}
