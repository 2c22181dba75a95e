//! `levain config [KEY]`: the settings that hold, and where each of them is from.
//!
//! Two kinds stand in one list: the person's own (`model`, `theme`, …, from `config.toml`), and those of agents
//! (`agent.…`, `resilience.…`, merged from `.ai/config/agent` of all spaces).

use super::Common;
use super::failure::{Failure, written};
use crate::config::Source;
use crate::domain::nearest;
use crate::session::Setup;
use crate::session::people::{err, json_line, out};
use clap::Args;
use serde::Serialize;
use serde_json::Value;
use std::io::{self, Write};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(super) struct ConfigArguments {
    /// A setting, or the beginning of several: theme, agent, resilience.retry
    #[arg(value_name = "KEY")]
    key: Option<String>,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

/// A line of `--json`.
#[derive(Serialize)]
struct ConfigLine {
    schema: &'static str,
    key: String,
    value: Value,
    /// `built_in`, `user`, `project`, `system`, `environment` or `argument`.
    from: &'static str,
    file: Option<String>,
    line: Option<u32>,
    /// The same for people.
    origin: String,
}

const SCHEMA: &str = "levain.config/1";

pub(super) fn run(common: &Common, arguments: &ConfigArguments) -> Result<ExitCode, Failure> {
    let setup = Setup::gather(common.project.as_deref(), common.arguments(None))?;
    let all = lines(&setup);
    let asked = arguments.key.as_deref().map(|key| key.trim_end_matches('.'));
    let wanted = |line: &&ConfigLine| {
        asked.is_none_or(|asked| {
            line.key.strip_prefix(asked).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    };
    let shown: Vec<&ConfigLine> = all.iter().filter(wanted).collect();
    if let (Some(asked), true) = (asked, shown.is_empty()) {
        let hint = match nearest(asked, all.iter().map(|line| line.key.as_str())) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "levain config lists all settings".to_owned(),
        };
        return Err(Failure::usage(format!("there is no setting `{asked}`")).hint(hint));
    }
    for problem in &setup.problems {
        let _closed = writeln!(err(), "{}: {problem}", problem.severity.word());
    }
    let width = shown.iter().map(|line| line.key.chars().count()).max().unwrap_or_default();
    let mut output = io::BufWriter::new(out());
    let mut write = || -> io::Result<()> {
        for line in &shown {
            if arguments.json {
                json_line(&mut output, line)?;
            } else {
                let value = line.value.as_str().map_or_else(|| line.value.to_string(), ToOwned::to_owned);
                writeln!(output, "{:<width$}  {}  ({})", line.key, &value, &line.origin)?;
            }
        }
        output.flush()
    };
    written(write())?;
    Ok(ExitCode::SUCCESS)
}

/// The names of all settings.
pub(super) fn names(setup: &Setup) -> Vec<String> {
    lines(setup).into_iter().map(|line| line.key).collect()
}

/// Every setting, the person's own first.
fn lines(setup: &Setup) -> Vec<ConfigLine> {
    let mut all: Vec<ConfigLine> = setup.config.told().into_iter().map(|told| own(setup, told)).collect();
    all.extend(setup.cascade.entries(None).into_iter().map(|entry| ConfigLine {
        schema: SCHEMA,
        key: entry.key,
        value: entry.value,
        from: entry.origin.space.word(),
        file: Some(entry.origin.file.display().to_string()),
        line: Some(entry.origin.line),
        origin: entry.origin.to_string(),
    }));
    all
}

/// A setting of the person's own.
fn own(setup: &Setup, (name, value, source): (&'static str, String, Source)) -> ConfigLine {
    let origin = source.to_string();
    let (from, file, line) = match source {
        Source::BuiltIn => ("built_in", None, None),
        Source::Environment(_) => ("environment", None, None),
        Source::Argument(_) => ("argument", None, None),
        Source::File { path, line } => {
            let from = if path == setup.dirs.config_file() { "user" } else { "project" };
            (from, Some(path.display().to_string()), Some(line))
        }
    };
    let value = if value.is_empty() { Value::Null } else { Value::String(value) };
    ConfigLine { schema: SCHEMA, key: name.to_owned(), value, from, file, line, origin }
}
