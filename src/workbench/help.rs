//! The help page and the page of notices, made from the command table and the keys in use.

use super::message::Level;
use super::model::Model;
use super::overlay::{Pager, PagerLine};
use crate::commands::{CommandId, Context, TABLE};

/// What is needed every day, in the order in which it is met.
const MAIN: [CommandId; 10] = [
    CommandId::PromptSend,
    CommandId::TurnInterrupt,
    CommandId::ContextPreview,
    CommandId::ContextShow,
    CommandId::ReadStart,
    CommandId::ThreadsShow,
    CommandId::ModelChoose,
    CommandId::DirectiveChoose,
    CommandId::PaletteOpen,
    CommandId::AppLeave,
];

/// What certain signs in a draft mean.
const SIGNS: [(&str, &str); 4] = [
    ("!", "Run a command; the model gets what it prints with your next message."),
    ("!!", "Run a command; the model does not get its output."),
    ("/", "Run a command of levain by its name: those below."),
    ("@", "Name a file, a folder or a thread: its text goes along. `@shot.png` sends the image."),
];
/// The heading above what can be typed behind a `/`.
pub const COMMANDS: &str = "Commands";

impl Model {
    pub(super) fn help_page(&self) -> Pager {
        let mut lines = vec![PagerLine::Heading("Main keys".to_owned())];
        for command in MAIN {
            let keys = Context::ALL.into_iter().filter_map(|context| self.keymap.key_for(command, &[context]));
            let left = keys.map(|key| key.to_string()).next();
            lines.extend(left.map(|left| PagerLine::Row { left, text: command.row().help.to_owned() }));
        }
        // Next is what keys do here.
        let mut here = self.contexts();
        // Then what always helps, before the many keys of writing.
        if let Some((_, rest)) = here.split_first_mut() {
            rest.sort_by_key(|context| *context != Context::Anywhere);
        }
        let elsewhere = Context::ALL.into_iter().filter(|context| !here.contains(context));
        for context in here.iter().copied().chain(elsewhere) {
            let mut rows: Vec<(CommandId, String)> = Vec::new();
            for binding in self.keymap.in_context(context) {
                match rows.iter_mut().find(|(command, _)| *command == binding.command) {
                    Some((_, keys)) => {
                        keys.push_str(", ");
                        keys.push_str(&binding.key.to_string());
                    }
                    None => rows.push((binding.command, binding.key.to_string())),
                }
            }
            if rows.is_empty() {
                continue;
            }
            lines.push(PagerLine::Blank);
            lines.push(PagerLine::Heading(context.title().to_owned()));
            for (command, keys) in rows {
                let row = command.row();
                lines.push(PagerLine::Row { left: keys, text: row.help.to_owned() });
            }
        }
        lines.push(PagerLine::Blank);
        lines.push(PagerLine::Heading("At the start of a message".to_owned()));
        for (left, text) in SIGNS {
            lines.push(PagerLine::Row { left: left.to_owned(), text: text.to_owned() });
        }
        lines.push(PagerLine::Blank);
        lines.push(PagerLine::Heading(COMMANDS.to_owned()));
        for row in TABLE {
            if let Some(slash) = row.slash {
                let left = format!("/{slash}");
                lines.push(PagerLine::Row { left, text: row.help.to_owned() });
            }
        }
        Pager::new("help", lines)
    }

    pub(super) fn notices_page(&self) -> Pager {
        let mut lines: Vec<PagerLine> = self
            .notices
            .iter()
            .rev()
            .map(|notice| {
                let left = match notice.level {
                    Level::Info => "info",
                    Level::Warning => "warning",
                    Level::Error => "error",
                };
                PagerLine::Row { left: left.to_owned(), text: notice.text.clone() }
            })
            .collect();
        if lines.is_empty() {
            lines.push(PagerLine::Heading("Nothing was said yet.".to_owned()));
        }
        Pager::new("notices", lines)
    }
}
