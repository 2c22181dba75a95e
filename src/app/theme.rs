//! Which theme is drawn with: named in the settings, picked on the screen, or light or dark as the terminal is.

use crate::config::{Dirs, Source};
use crate::domain::{Problem, Severity, nearest};
use crate::session::Setup;
use crate::ui::{ColourDepth, Theme};
use crate::workbench::Model;
use std::path::PathBuf;

/// The themes that are built in, and the person's own files laid over them.
#[derive(Debug)]
pub struct ThemeSource {
    dirs: Dirs,
    /// What the settings say; without it, light or dark as the terminal is.
    pub(super) chosen: Option<String>,
    /// Where they say it.
    source: Source,
    pub(super) depth: ColourDepth,
    current: Option<String>,
}

impl ThemeSource {
    #[must_use]
    pub fn new(setup: &Setup) -> Self {
        let depth = colour_depth(&|name| std::env::var(name).ok());
        let source = setup.config.theme.source.clone();
        Self {
            dirs: setup.dirs.clone(),
            chosen: setup.config.theme.value.name().map(ToOwned::to_owned),
            source,
            depth,
            current: None,
        }
    }

    /// The names that can be chosen.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.dirs.theme_names()
    }

    /// The file of the person's that would hold a theme.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.dirs.themes().join(format!("{name}.toml"))
    }

    /// The person's theme, or what is wrong with it.
    pub(super) fn read(&self, name: &str) -> Result<Theme, Vec<Problem>> {
        let path = self.file(name);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Theme::named(name).unwrap_or_default());
            }
            Err(error) => {
                let (message, remedy) = (format!("could not be read: {error}"), "make it a text that you may read");
                return Err(vec![Problem::at(&path, None, Severity::Error, message, remedy)]);
            }
        };
        let (theme, problems) = Theme::from_toml(&text, &path);
        if problems.is_empty() { Ok(theme) } else { Err(problems) }
    }

    /// What is wrong with the theme that the settings name.
    #[must_use]
    pub fn problems(&self) -> Vec<Problem> {
        let Some(name) = &self.chosen else { return Vec::new() };
        match self.read(name) {
            Err(problems) => problems,
            Ok(_) if self.names().contains(name) => Vec::new(),
            Ok(_) => {
                let (file, line) = match &self.source {
                    Source::File { path, line } => (Some(path.clone()), Some(*line)),
                    Source::BuiltIn | Source::Environment(_) | Source::Argument(_) => (None, None),
                };
                let names = self.names();
                let near = nearest(name, names.iter().map(String::as_str).chain(["auto"]));
                let remedy = match near {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("`theme` may be auto, {}", names.join(", ")),
                };
                let message = format!("there is no theme `{name}`");
                vec![Problem { file, line, severity: Severity::Error, message, remedy }]
            }
        }
    }

    /// What is wrong with the theme that the settings name, and with each file of the person's own.
    #[must_use]
    pub fn all_problems(&self) -> Vec<Problem> {
        let mut problems = self.problems();
        for name in self.names().iter().filter(|name| Some(*name) != self.chosen.as_ref()) {
            problems.extend(self.read(name).err().into_iter().flatten());
        }
        problems
    }

    /// Has the theme read again when next asked for.
    pub(super) fn forget(&mut self) {
        self.current = None;
    }

    /// Takes over what the settings say; some when that is another theme than before.
    #[expect(clippy::option_option, reason = "no change, and a change to none named")]
    pub(super) fn choose(&mut self, setup: &Setup) -> Option<Option<String>> {
        let chosen = setup.config.theme.value.name().map(ToOwned::to_owned);
        let changed = self.chosen != chosen;
        self.chosen.clone_from(&chosen);
        self.source.clone_from(&setup.config.theme.source);
        changed.then_some(chosen)
    }

    /// The name of the theme that the model asks for.
    pub(super) fn name(&self, model: &Model) -> String {
        let fitting = Theme::fitting(model.light == Some(true), self.depth);
        model.theme.clone().unwrap_or_else(|| fitting.to_owned())
    }

    /// The theme that the model asks for.
    pub(super) fn of(&self, model: &Model) -> Theme {
        let name = self.name(model);
        let path = self.dirs.themes().join(format!("{name}.toml"));
        if let Ok(text) = std::fs::read_to_string(&path) {
            let (theme, problems) = Theme::from_toml(&text, &path);
            for problem in problems {
                tracing::warn!(%problem, "theme");
            }
            return theme;
        }
        Theme::named(&name).unwrap_or_default()
    }

    /// The theme that the model asks for, if that is another one than before.
    pub(super) fn changed(&mut self, model: &Model) -> Option<Theme> {
        let name = self.name(model);
        if self.current.as_ref() == Some(&name) {
            return None;
        }
        self.current = Some(name);
        Some(self.of(model))
    }
}

/// How many colours the terminal shows, by the variables that programs agree on.
fn colour_depth(environment: &dyn Fn(&str) -> Option<String>) -> ColourDepth {
    let set = |name: &str| environment(name).filter(|text| !text.is_empty());
    let term = set("TERM").unwrap_or_default();
    if set("NO_COLOR").is_some() || term == "dumb" {
        return ColourDepth::None;
    }
    match set("COLORTERM").as_deref() {
        Some("truecolor" | "24bit") => ColourDepth::True,
        _ if term.contains("256color") => ColourDepth::Indexed,
        _ => ColourDepth::Sixteen,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_that_are_offered_are_those_of_the_themes_there_are() {
        let nowhere = |name: &str| (name == "HOME").then(|| "/nowhere".into());
        assert_eq!(Dirs::new(&nowhere).theme_names(), Theme::names());
    }

    #[test]
    fn colours_follow_the_environment() {
        let depth = |variables: &[(&str, &str)]| {
            colour_depth(&|name| variables.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned()))
        };
        assert_eq!(depth(&[("TERM", "xterm-256color")]), ColourDepth::Indexed);
        assert_eq!(depth(&[("TERM", "xterm-256color"), ("COLORTERM", "truecolor")]), ColourDepth::True);
        assert_eq!(depth(&[("TERM", "xterm"), ("NO_COLOR", "")]), ColourDepth::Sixteen);
        assert_eq!(depth(&[("COLORTERM", "truecolor"), ("NO_COLOR", "1")]), ColourDepth::None);
    }
}
