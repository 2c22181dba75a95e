//! What can complete the word being written: commands behind `/`, files and threads behind `@`, and what extensions offer.

use super::message::{Effect, PromptRow};
use super::model::Model;
use super::picker::best;
use super::suggestions::{DraftSnapshot, Suggestions, split_at_letter};
use super::thread_row::ThreadRow;
use super::thread_view::{Link, Sent};
use crate::commands::{CommandId, Need, TABLE};
use crate::domain::attachment::THREAD;
use crate::domain::command::LONG_NAME;
use crate::domain::mention::mention;
use crate::domain::problem::nearest;
use crate::domain::{DraftEdit, ExtensionCompletion, OfferedCommand, OwnCompletion, Suggestion, ThreadId, ToComplete};

/// As many files and threads as are offered for one word.
const MOST_FILES: usize = 50;
const MOST_THREADS: usize = 10;
/// The same of skills and templates.
const MOST_PROMPTS: usize = 50;
/// Bytes of a draft that extensions are asked about at each letter.
const LARGEST_ASKED: usize = 64 << 10;

/// What completes the word at the cursor.
#[derive(Clone, Debug, Default)]
pub struct Completion {
    pub entries: Vec<Completed>,
    pub chosen: usize,
    /// Whether the person went to the chosen one.
    moved: bool,
    /// Whether the first choice is what is written, or nothing of it was begun.
    sends: bool,
    /// Closed by the person until the draft or its cursor changes.
    pub(super) dismissed: Option<DraftSnapshot>,
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
    /// What an extension offers.
    Offered(ExtensionCompletion),
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
            Self::Offered(offered) => offered.label.clone(),
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
            Self::Offered(offered) => &offered.about,
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
        self.moved = true;
    }

    /// Whether Enter means the draft as it stands: nothing of what is offered was begun, or it is written, and none was gone to.
    #[must_use]
    pub fn is_only_offered(&self) -> bool {
        self.sends && !self.moved
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

    /// How a command of an extension is called that has the name of one of levain's, for behind a sentence; nothing without one.
    pub(super) fn long_name(&self, word: &str) -> String {
        let mut offered = self.view.state.iter().flat_map(|state| &state.extensions.commands);
        let is_there = offered.any(|command| command.name == word);
        if is_there { format!(" (the extension's is /{LONG_NAME}{word})") } else { String::new() }
    }

    /// Whether the worker that is started is to say if there is such a command: there are extensions, or may be.
    pub(super) fn may_name_commands(&self) -> bool {
        self.view.link != Link::Connected && !self.browser.no_extensions
    }

    /// Skills and templates, and the commands of extensions.
    fn prompt_rows(&self) -> Vec<PromptRow> {
        let offered = self.view.state.iter().flat_map(|state| &state.extensions.commands);
        let offered = offered.map(|one| PromptRow { word: word_of(&one.name), about: one.about.clone() });
        self.browser.prompts.iter().cloned().chain(offered).collect()
    }

    /// Whether names behind `@` are being looked for, so that files should be listed.
    pub(super) fn mentions(&self) -> bool {
        self.composer.word_before_cursor().is_some_and(|word| word.starts_with('@'))
    }

    /// Follows the draft.
    pub(super) fn complete(&mut self) {
        if self.completion.dismissed.as_ref().is_some_and(|closed| self.stands_at(closed)) {
            return;
        }
        let own = self.own_completions();
        let entries = match self.suggested() {
            Some(suggestions) => with_own(suggestions, &own),
            None => own,
        };
        if entries != self.completion.entries || self.completion.dismissed.is_some() {
            let text = self.composer.raw();
            let is_written = |entry: &Completed| matches!(entry, Completed::Offered(offered) if changes_nothing(&offered.edit, &text));
            let chosen = entries.iter().position(is_written).unwrap_or_default();
            let begins = |entry: &Completed| matches!(entry, Completed::Offered(offered) if offered.edit.from == offered.edit.to);
            let sends = entries.get(chosen).is_some_and(|entry| is_written(entry) || begins(entry));
            self.completion = Completion { entries, chosen, sends, ..Completion::default() };
        }
    }

    /// What the program itself offers.
    fn own_completions(&self) -> Vec<Completed> {
        let Some(word) = self.begun() else { return Vec::new() };
        match word.strip_prefix('@') {
            Some(name) => self.named(name),
            None => self.commands(word.strip_prefix('/').unwrap_or_default()),
        }
    }

    fn draft_snapshot(&self) -> DraftSnapshot {
        DraftSnapshot { text: self.composer.raw(), cursor: self.composer.cursor() }
    }

    fn stands_at(&self, spot: &DraftSnapshot) -> bool {
        self.composer.cursor() == spot.cursor && self.composer.raw() == spot.text
    }

    /// The command of an extension that says what its arguments can be, where the cursor stands in those.
    fn completing_command(&self) -> Option<&str> {
        let offered = &self.view.state.as_ref()?.extensions.commands;
        if !offered.iter().any(|command| command.completes) {
            return None;
        }
        let word = self.composer.first_line().split(char::is_whitespace).next()?;
        let (line, letter) = self.composer.cursor();
        if line > 0 || letter <= word.chars().count() {
            return None;
        }
        let means = |command: &&OfferedCommand| command.completes && word_of(&command.name) == word;
        offered.iter().find(means).map(|command| command.name.as_str())
    }

    /// Asks extensions what completes the draft, where they may know and were not asked about it as it stands.
    pub(super) fn want_suggestions(&mut self) -> Option<Effect> {
        let command = self.completing_command().map(str::to_owned);
        let others = self.view.state.as_ref().is_some_and(|state| state.extensions.completes);
        let may_know = command.is_some() || (others && !self.composer.is_empty());
        if !may_know || self.view.link != Link::Connected || self.composer.bytes() > LARGEST_ASKED {
            let was_shown = self.view.suggestions.answered.is_some();
            self.view.suggestions = Suggestions::default();
            if was_shown {
                self.complete();
            }
            return None;
        }
        let Suggestions { asked, answered } = &self.view.suggestions;
        // An older question is given up for a newer one there.
        let mut spots = asked.iter().map(|(_, spot)| spot).chain(answered.iter().map(|(spot, _)| spot));
        if spots.any(|spot| self.stands_at(spot)) {
            return None;
        }
        let spot = self.draft_snapshot();
        let own = |entry: &Completed| OwnCompletion { word: entry.word(), about: entry.detail().to_owned() };
        let draft = ToComplete {
            lines: spot.text.split('\n').map(str::to_owned).collect(),
            line: spot.cursor.0,
            column: spot.cursor.1,
            command,
            own: self.own_completions().iter().map(own).collect(),
            word: self.begun().unwrap_or_default(),
        };
        let id = self.sending(Sent::Suggestions);
        if let Some((older, _)) = self.view.suggestions.asked.replace((id, spot)) {
            self.view.sent.remove(&older);
        }
        Some(Effect::Complete { id, draft })
    }

    /// What the program offers is otherwise now: extensions are asked again.
    pub(super) fn offers_otherwise(&mut self) {
        self.view.suggestions = Suggestions::default();
        self.complete();
        self.changed = true;
    }

    /// They have answered.
    pub(super) fn suggestions_came(&mut self, id: u64, said: Vec<Suggestion>) {
        let Some((_, spot)) = self.view.suggestions.asked.take_if(|(asked, _)| *asked == id) else { return };
        self.view.suggestions.answered = Some((spot, said));
        self.complete();
        // Asked again where the draft is another one now.
        self.changed = true;
    }

    /// What extensions said of the draft as it stands; until they have answered about that, what they said of the draft as it was
    /// before the word at the cursor was gone on with. None where they said nothing of it.
    fn suggested(&self) -> Option<Vec<Suggestion>> {
        let (spot, said) = self.view.suggestions.answered.as_ref()?;
        if self.stands_at(spot) {
            // Like with names: nothing is offered once it stands there.
            let is_written = |one: &Suggestion| matches!(one, Suggestion::Extension(offered) if changes_nothing(&offered.edit, &spot.text));
            return Some(if said.len() == 1 && said.iter().all(is_written) { Vec::new() } else { said.clone() });
        }
        let now = self.draft_snapshot();
        let (before, after) = split_at_letter(&spot.text, spot.letters_before());
        let (begun, rest) = split_at_letter(&now.text, now.letters_before());
        if rest != after || !(begun.starts_with(before) || before.starts_with(begun)) {
            return None;
        }
        let (then, cursor) = (spot.letters_before(), now.letters_before());
        let carried = |suggestion: &Suggestion| {
            let Suggestion::Extension(offered) = suggestion else { return None };
            let edit = &offered.edit;
            (edit.to == then && edit.from <= cursor).then(|| {
                let edit = DraftEdit { to: cursor, ..edit.clone() };
                ExtensionCompletion { edit, ..offered.clone() }
            })
        };
        let all: Vec<_> = said.iter().filter_map(carried).collect();
        let fits =
            |offered: &&ExtensionCompletion| offered.edit.text.starts_with(split_at_letter(begun, offered.edit.from).1);
        let fitting: Vec<_> = all.iter().filter(fits).cloned().collect();
        // They may look for it otherwise than by how it begins.
        let all = if fitting.is_empty() { all } else { fitting };
        (!all.is_empty()).then(|| all.into_iter().map(Suggestion::Extension).collect())
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
        let prompts = self.prompt_rows();
        let whole = |row: &&PromptRow| row.word.strip_prefix('/') == Some(word);
        if prompts.iter().any(|row| whole(&row)) {
            return Vec::new();
        }
        let of_program = best(word, commands.iter().map(|(slash, _)| slash));
        let of_program = of_program.into_iter().map(|place| Completed::Command(commands[place].1));
        let others = best(word, prompts.iter().map(|row| row.word.trim_start_matches('/')));
        let others = others.into_iter().take(MOST_PROMPTS).map(|place| Completed::Prompt(prompts[place].clone()));
        let mut found: Vec<_> = of_program.chain(others).collect();
        // What begins as it is written comes before what only holds it, whosever it is.
        found.sort_by_cached_key(|entry| {
            let name = entry.word();
            let name = name.trim_start_matches('/');
            (name != word, !name.starts_with(word))
        });
        found
    }

    /// Whether the chosen entry begins with the word.
    #[must_use]
    pub fn completes(&self) -> bool {
        let entry = self.completion.chosen().map(Completed::word);
        self.begun().zip(entry).is_some_and(|(word, entry)| entry.starts_with(&word))
    }

    /// Puts the chosen entry in place of the word; a blank behind it ends the word.
    pub(super) fn insert_completion(&mut self) {
        if let Some(Completed::Offered(offered)) = self.completion.chosen() {
            self.composer.edit(&offered.edit);
            // It is whole; what may follow is offered with the next letter.
            return self.dismiss_completion();
        }
        let (Some(entry), Some(word)) = (self.completion.chosen(), self.begun()) else { return };
        let text = format!("{} ", entry.word());
        self.composer.replace_before(word.chars().count(), &text);
        self.complete();
    }

    /// Closes the list until the draft or its cursor changes.
    pub(super) fn dismiss_completion(&mut self) {
        self.completion = Completion { dismissed: Some(self.draft_snapshot()), ..Completion::default() };
    }
}

/// How an extension's command is called in the draft: levain's own come first where names are the same.
fn word_of(name: &str) -> String {
    let long = CommandId::from_slash(name).is_some();
    format!("/{}{name}", if long { LONG_NAME } else { "" })
}

/// What is offered, with the program's own things in the places that extensions gave them.
fn with_own(suggestions: Vec<Suggestion>, own: &[Completed]) -> Vec<Completed> {
    let entry = |suggestion| match suggestion {
        Suggestion::Program { word } => own.iter().find(|own| own.word() == word).cloned(),
        Suggestion::Extension(offered) => Some(Completed::Offered(offered)),
    };
    suggestions.into_iter().filter_map(entry).collect()
}

fn changes_nothing(edit: &DraftEdit, text: &str) -> bool {
    let (_, behind) = split_at_letter(text, edit.from);
    split_at_letter(behind, edit.to.saturating_sub(edit.from)).0 == edit.text
}
