//! `levain keymap` and `levain theme`: keys and colours as files, to read and to begin one's own with.

use super::Common;
use super::failure::{Failure, written};
use crate::app::{self, ThemeSource};
use crate::config::ThemeChoice;
use crate::session::Setup;
use crate::session::people::{err, out};
use crate::ui::Theme;
use clap::Args;
use std::fs;
use std::io::Write;
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(super) struct ThemeArguments {
    /// The theme to print as a file; without it, the names of all
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

/// Prints the keys that hold.
pub(super) fn keymap(common: &Common) -> Result<ExitCode, Failure> {
    let setup = Setup::gather(common.project.as_deref(), common.arguments(None))?;
    let (keymap, mistakes) = app::keymap(&setup);
    for problem in &mistakes {
        let _closed = writeln!(err(), "{}: {problem}", problem.severity.word());
    }
    let own = setup.keymap_file().display().to_string();
    written(write!(
        out(),
        "# The effective keymap, in the format of {own}.\n# Keys in that file replace built-in ones; \
         `command = \"none\"` takes a key away.\n{}",
        keymap.to_toml()
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// Prints a theme, or which there are.
pub(super) fn theme(common: &Common, arguments: &ThemeArguments) -> Result<ExitCode, Failure> {
    let setup = Setup::gather(common.project.as_deref(), common.arguments(None))?;
    let themes = ThemeSource::new(&setup);
    let Some(name) = &arguments.name else {
        let mut output = out();
        for name in themes.names() {
            let used = setup.config.theme.value == ThemeChoice::Named(name.clone());
            let file = themes.file(&name);
            let place = if file.exists() { file.display().to_string() } else { "built in".to_owned() };
            let line = format!("{name:<16} {place}{}", if used { ", used" } else { "" });
            written(writeln!(output, "{}", &line))?;
        }
        return Ok(ExitCode::SUCCESS);
    };
    let own = themes.names().contains(name).then(|| fs::read_to_string(themes.file(name)).ok()).flatten();
    let text = own.as_deref().or_else(|| Theme::text(name)).ok_or_else(|| {
        Failure::usage(format!("there is no theme `{name}`")).hint(format!("there are {}", themes.names().join(", ")))
    })?;
    written(write!(out(), "{text}"))?;
    Ok(ExitCode::SUCCESS)
}
