//! What an argument of the command line may become: told to shells, read from the project at hand.
//!
//! A shell puts a candidate into the line as it is, so only words are offered that mean themselves in every shell.

use super::config;
use crate::app::ThemeSource;
use crate::config::Arguments;
use crate::domain::letters::{MARK, is_unseen};
use crate::items::Kind;
use crate::session::Setup;
use crate::store::threads;
use clap::{Arg, Command};
use clap_complete::engine::{ArgValueCandidates, ArgValueCompleter, CompletionCandidate};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// As many threads are offered, and so many of them with their titles.
const MOST_THREADS: usize = 500;
const MOST_TITLES: usize = 50;

/// As many names of a folder are looked at.
const MOST_FILES: usize = 5_000;

/// Letters of the words that explain a candidate.
const HELP: usize = 60;

/// The line that a shell asks about, as far as it decides what there is.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    project: Option<PathBuf>,
}

impl Asked {
    pub(super) fn of(words: &[OsString]) -> Self {
        let next = words.iter().position(|word| word == "--project").and_then(|place| words.get(place + 1));
        let joined = || words.iter().find_map(|word| word.to_str()?.strip_prefix("--project=").map(OsString::from));
        Self { project: next.cloned().or_else(joined).map(PathBuf::from) }
    }

    fn setup(&self) -> Option<Setup> {
        Setup::gather(self.project.as_deref(), Arguments::default()).ok()
    }
}

/// What there is for an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Models,
    Directives,
    Items,
    Tools,
    Threads,
    /// Threads and directives: whatever has a request.
    Requests,
    Settings,
    Themes,
    Files,
}

impl Source {
    fn of(command: &str, argument: &Arg) -> Option<Self> {
        let values = argument.get_value_names().unwrap_or_default();
        let value = values.first().map_or("", |value| value.as_str());
        Some(match (value, argument.get_id().as_str()) {
            ("MODEL", _) => Self::Models,
            ("DIRECTIVE", _) | ("ID", "directive" | "directives") => Self::Directives,
            ("ID", _) => Self::Threads,
            ("ITEM", _) => Self::Items,
            ("TOOL", _) => Self::Tools,
            ("A" | "B", _) => Self::Requests,
            ("KEY", _) => Self::Settings,
            ("NAME", "name") if command == "theme" => Self::Themes,
            ("PATH" | "FILE" | "DIR", _) => Self::Files,
            _ => return None,
        })
    }

    /// Every word there is, and what it is.
    fn words(self, setup: &Setup) -> Vec<(String, String)> {
        let items = |kind: Option<Kind>| {
            let items = setup.items();
            let found = items.iter().filter(|found| kind.is_none_or(|kind| found.item.kind == kind));
            let told = found.map(|found| {
                let space = items.root(found.item).map(ToString::to_string).unwrap_or_default();
                (found.item.id.to_string(), format!("{} ({space})", found.item.kind.word()))
            });
            told.collect::<Vec<_>>()
        };
        match self {
            Self::Models => setup.models.named(),
            Self::Directives => items(Some(Kind::Directive)),
            Self::Tools => items(Some(Kind::Tool)),
            Self::Items => items(None),
            Self::Threads => threads::peek(&setup.layout, MOST_THREADS, MOST_TITLES)
                .into_iter()
                .map(|(id, title)| (id.to_string(), title))
                .collect(),
            Self::Requests => {
                let mut all = Self::Threads.words(setup);
                all.append(&mut Self::Directives.words(setup));
                all
            }
            Self::Settings => config::names(setup).into_iter().map(|name| (name, String::new())).collect(),
            Self::Themes => ThemeSource::new(setup).names().into_iter().map(|name| (name, String::new())).collect(),
            Self::Files => Vec::new(),
        }
    }
}

/// The command with what each of its arguments may become. Nothing is read before it is asked for.
pub(super) fn with_candidates(command: Command, asked: &Asked) -> Command {
    let name = command.get_name().to_owned();
    let command = command.mut_args(|argument| {
        if !argument.get_action().takes_values() || !argument.get_possible_values().is_empty() {
            return argument;
        }
        let Some(source) = Source::of(&name, &argument) else {
            // Not what clap would guess from its type.
            return argument.value_hint(clap::ValueHint::Other);
        };
        if source == Source::Files {
            return argument.add(ArgValueCompleter::new(files));
        }
        let asked = asked.clone();
        argument.add(ArgValueCandidates::new(move || candidates(source, &asked)))
    });
    command.mut_subcommands(|inner| with_candidates(inner, asked))
}

fn candidates(source: Source, asked: &Asked) -> Vec<CompletionCandidate> {
    let Some(setup) = asked.setup() else { return Vec::new() };
    let words = source.words(&setup).into_iter().filter(|(word, _)| is_plain(word));
    let candidate = |(place, (word, help)): (usize, (String, String))| {
        let help = shown(&help);
        let candidate = CompletionCandidate::new(word).display_order(Some(place));
        candidate.help((!help.is_empty()).then(|| help.into()))
    };
    words.enumerate().map(candidate).collect()
}

/// Whether a shell takes the word for itself: no letter of it quotes, expands, ends a command or steers a terminal.
fn is_plain(word: &str) -> bool {
    let fits = |letter: char| {
        letter.is_ascii_alphanumeric()
            || "_-./@:+,%#".contains(letter)
            || (!letter.is_ascii() && letter.is_alphanumeric())
    };
    !word.is_empty() && !word.starts_with(['-', '#', ':']) && word.chars().all(fits)
}

/// The beginning of a text, on one line and without what a terminal would obey.
fn shown(text: &str) -> String {
    let letter = |letter: char| if is_unseen(letter) { if letter == '\n' { ' ' } else { MARK } } else { letter };
    text.chars().take(HELP).map(letter).collect()
}

/// Files and folders that the beginning of a path may mean. Links are named and not followed.
fn files(begun: &OsStr) -> Vec<CompletionCandidate> {
    let Some(begun) = begun.to_str() else { return Vec::new() };
    let (folder, start) =
        begun.rsplit_once('/').map_or((String::new(), begun), |(folder, start)| (format!("{folder}/"), start));
    let place = Path::new(if folder.is_empty() { "." } else { &folder });
    let Ok(entries) = std::fs::read_dir(place) else { return Vec::new() };
    let named = |entry: std::fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        let hidden = name.starts_with('.') && !start.starts_with('.');
        let fits = name.starts_with(start) && !hidden && is_plain(&name);
        let slash = if entry.file_type().is_ok_and(|kind| kind.is_dir()) { "/" } else { "" };
        fits.then(|| format!("{folder}{name}{slash}"))
    };
    let mut found: Vec<String> = entries.take(MOST_FILES).flatten().filter_map(named).collect();
    found.sort();
    found.into_iter().map(CompletionCandidate::new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s16_only_words_that_mean_themselves_reach_a_shell() {
        for plain in ["team/ship", "chat-1700000000000", "anthropic/claude-opus-4-6", "ollama/llama3:8b", "über/größe"]
        {
            assert!(is_plain(plain), "{plain}");
        }
        for strange in [
            "$(reboot)",
            "a;b",
            "a b",
            "`x`",
            "a\u{1b}[2J",
            "a\nb",
            "-rf",
            "~x",
            "a*",
            "{a,b}",
            "a'b",
            "!x",
            "a\u{202e}b",
            "",
        ] {
            assert!(!is_plain(strange), "{strange:?}");
        }
        assert_eq!(shown("a\nb\u{1b}]0;x\u{7}"), "a b\u{fffd}]0;x\u{fffd}");
    }

    #[test]
    fn s16_the_project_of_a_line_is_the_one_that_is_asked() {
        let asked = |line: &str| Asked::of(&line.split(' ').map(OsString::from).collect::<Vec<_>>()).project;
        assert_eq!(asked("levain --project /a run"), Some("/a".into()));
        assert_eq!(asked("levain run --project=/b"), Some("/b".into()));
        assert_eq!(asked("levain run"), None);
    }
}
