//! What can complete the word being written: commands behind `/`, files and threads behind `@`.

use super::message::PromptRow;
use super::model::Model;
use super::picker::best;
use super::thread_row::ThreadRow;
use super::thread_view::Link;
use crate::commands::{CommandId, Need, TABLE};
use crate::domain::ThreadId;
use crate::domain::attachment::THREAD;
use crate::domain::command::LONG_NAME;
use crate::domain::mention::mention;
use crate::domain::problem::nearest;

/// As many files and threads as are offered for one word.
const MOST_FILES: usize = 50;
const MOST_THREADS: usize = 10;
/// The same of skills and templates.
const MOST_PROMPTS: usize = 50;

/// What completes the word at the cursor.
#[derive(Clone, Debug, Default)]
pub struct Completion {
    pub entries: Vec<Completed>,
    pub chosen: usize,
    /// Closed by the person until the word changes.
    pub(super) dismissed: Option<String>,
}

/// One thing that the word can become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Completed {
    Command(CommandId),
    /// A skill or template, which the worker puts in the place of its name.
    Prompt(PromptRow),
    /// A file of the project, by its path from the root.
    File(String),
    Thread {
        thread_id: ThreadId,
        title: String,
    },
}

impl Completed {
    /// The word as it stands in the draft.
    #[must_use]
    pub fn word(&self) -> String {
        match self {
            Self::Command(command) => format!("/{}", command.row().slash.unwrap_or_default()),
            Self::Prompt(row) => row.word.clone(),
            Self::File(path) => mention(path),
            Self::Thread { thread_id, .. } => format!("@{THREAD}{thread_id}"),
        }
    }

    /// What it is, for the right of the list.
    #[must_use]
    pub fn detail(&self) -> &str {
        match self {
            Self::Command(command) => command.row().help,
            Self::Prompt(row) => &row.about,
            Self::File(_) => "",
            Self::Thread { title, .. } => title,
        }
    }
}

impl Completion {
    #[must_use]
    pub fn chosen(&self) -> Option<&Completed> {
        self.entries.get(self.chosen)
    }

    pub(super) fn step(&mut self, step: isize) {
        let last = self.entries.len().saturating_sub(1);
        self.chosen = self.chosen.saturating_add_signed(step).min(last);
    }
}

impl Model {
    /// The word that can be completed, with its `/` or `@`.
    fn begun(&self) -> Option<String> {
        let line = self.composer.first_line();
        if let Some(rest) = line.strip_prefix('/')
            && self.composer.ends_first_line()
            && !rest.contains(' ')
            && (!rest.contains('/') || self.browser.prompts.iter().any(|row| row.word.starts_with(line)))
        {
            return Some(line.to_owned());
        }
        self.composer.word_before_cursor().filter(|word| word.starts_with('@')).map(str::to_owned)
    }

    /// Whether a word behind `/` is being written, so that skills and templates should be listed.
    pub(super) fn names_prompt(&self) -> bool {
        self.composer.first_letter() == Some('/')
    }

    /// Whether a draft begins with the name of a skill, a template or an extension's command, as far as those are known.
    pub(super) fn is_prompt_name(&self, text: &str) -> bool {
        let word = text.split(char::is_whitespace).next().unwrap_or_default();
        word.starts_with("/skill:") || self.prompt_rows().iter().any(|row| row.word == word)
    }

    /// What to say of a draft that asks for a skill that is not there. Extensions may bring more than are listed here.
    pub(super) fn missing_skill(&self, text: &str) -> Option<String> {
        let word = text.split(char::is_whitespace).next()?;
        let name = word.strip_prefix("/skill:").filter(|_| self.browser.no_extensions)?;
        let rows = self.prompt_rows();
        if rows.iter().any(|row| row.word == word) {
            return None;
        }
        let skills = rows.iter().filter_map(|row| row.word.strip_prefix("/skill:"));
        let near = nearest(name, skills).map(|near| format!(" (did you mean /skill:{near}?)")).unwrap_or_default();
        Some(format!("there is no skill {name}{near}; begin with a space to send it as a message"))
    }

    /// Whether the worker that is started is to say if there is such a command: there are extensions, or may be.
    pub(super) fn may_name_commands(&self) -> bool {
        self.view.link == Link::Draft && !self.browser.no_extensions
    }

    /// Skills and templates, and the commands of extensions.
    fn prompt_rows(&self) -> Vec<PromptRow> {
        let offered = self.view.state.iter().flat_map(|state| &state.extensions.commands);
        // Levain's own come first where names are the same.
        let long = |name: &str| CommandId::from_slash(name).is_some();
        let word = |name: &str| format!("/{}{name}", if long(name) { LONG_NAME } else { "" });
        let offered = offered.map(|one| PromptRow { word: word(&one.name), about: one.about.clone() });
        self.browser.prompts.iter().cloned().chain(offered).collect()
    }

    /// Whether names behind `@` are being looked for, so that files should be listed.
    pub(super) fn mentions(&self) -> bool {
        self.composer.word_before_cursor().is_some_and(|word| word.starts_with('@'))
    }

    /// Follows the draft.
    pub(super) fn complete(&mut self) {
        let Some(word) = self.begun() else {
            self.completion = Completion::default();
            return;
        };
        if self.completion.dismissed.as_ref() == Some(&word) {
            return;
        }
        let entries = match word.strip_prefix('@') {
            Some(name) => self.named(name),
            None => self.commands(word.strip_prefix('/').unwrap_or_default()),
        };
        if entries != self.completion.entries {
            self.completion = Completion { entries, chosen: 0, dismissed: None };
        }
    }

    /// Files and threads that `name` may mean; none once it is one of them.
    fn named(&self, name: &str) -> Vec<Completed> {
        let files = &self.browser.files;
        let thread = name.strip_prefix(THREAD);
        let is_whole = |row: &ThreadRow| Some(row.thread_id.as_str()) == thread;
        if files.iter().any(|file| file == name) || self.threads.rows.iter().any(|row| is_whole(row)) {
            return Vec::new();
        }
        let found = if thread.is_some() { Vec::new() } else { best(name, files.iter()) };
        let found = found.into_iter().take(MOST_FILES);
        let mut entries: Vec<_> = found.map(|place| Completed::File(files[place].clone())).collect();
        let name = thread.unwrap_or(name);
        let threads = self.threads.rows.iter().map(|row| format!("{} {}", row.thread_id, row.title));
        entries.extend(best(name, threads).into_iter().take(MOST_THREADS).map(|place| {
            let row = &self.threads.rows[place];
            Completed::Thread { thread_id: row.thread_id.clone(), title: row.title.clone() }
        }));
        entries
    }

    /// Commands that `word` may mean and that can be run now.
    fn commands(&self, word: &str) -> Vec<Completed> {
        // The word itself is gone from the draft when the command runs.
        let can_run = |row: &&crate::commands::Command| row.needs == Need::Prompt || self.obstacle(row.id).is_none();
        // One that cannot run says why; it does not become another that begins so.
        if TABLE.iter().any(|row| row.slash == Some(word) && !can_run(&row)) {
            return Vec::new();
        }
        let runs = TABLE.iter().filter(can_run);
        let commands: Vec<_> = runs.filter_map(|row| row.slash.map(|slash| (slash, row.id))).collect();
        let mut places = best(word, commands.iter().map(|(slash, _)| slash));
        places.sort_by_key(|place| (commands[*place].0 != word, !commands[*place].0.starts_with(word)));
        let commands = places.into_iter().map(|place| Completed::Command(commands[place].1));
        let prompts = self.prompt_rows();
        let whole = |row: &&PromptRow| row.word.strip_prefix('/') == Some(word);
        if prompts.iter().any(|row| whole(&row)) {
            return Vec::new();
        }
        let found = best(word, prompts.iter().map(|row| row.word.trim_start_matches('/')));
        let found = found.into_iter().take(MOST_PROMPTS).map(|place| Completed::Prompt(prompts[place].clone()));
        commands.chain(found).collect()
    }

    /// Whether the chosen entry begins with the word.
    #[must_use]
    pub fn completes(&self) -> bool {
        let entry = self.completion.chosen().map(Completed::word);
        self.begun().zip(entry).is_some_and(|(word, entry)| entry.starts_with(&word))
    }

    /// Puts the chosen entry in place of the word; a blank behind it ends the word.
    pub(super) fn insert_completion(&mut self) {
        let (Some(entry), Some(word)) = (self.completion.chosen(), self.begun()) else { return };
        let text = format!("{} ", entry.word());
        self.composer.replace_before(word.chars().count(), &text);
        self.complete();
    }

    /// Closes the list until the word changes.
    pub(super) fn dismiss_completion(&mut self) {
        self.completion = Completion { dismissed: self.begun(), ..Completion::default() };
    }
}
