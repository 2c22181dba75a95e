//! `levain check`: what is wrong with items and settings, each with its line and a remedy.

use super::Common;
use super::failure::{Failure, code, written};
use super::text::several;
use crate::app::look_problems;
use crate::domain::{Problem, Severity};
use crate::items::{Hooks, check};
use crate::session::Setup;
use crate::session::people::{json_line, out};
use clap::Args;
use serde::Serialize;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(super) struct CheckArguments {
    /// A file or a folder; everything that this project can name when left out
    #[arg(value_name = "PATH")]
    path: Option<PathBuf>,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

/// A line of `--json`.
#[derive(Debug, Serialize)]
pub(super) struct ProblemLine {
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<&'static str>,
    severity: Severity,
    file: Option<String>,
    line: Option<u32>,
    message: String,
    remedy: String,
}

impl From<Problem> for ProblemLine {
    fn from(problem: Problem) -> Self {
        let Problem { file, line, severity, message, remedy } = problem;
        let file = file.map(|file| file.display().to_string());
        Self { schema: None, severity, file, line, message, remedy }
    }
}

pub(super) fn run(common: &Common, arguments: &CheckArguments) -> Result<ExitCode, Failure> {
    let path = match &arguments.path {
        Some(path) => Some(fs::canonicalize(path).map_err(|error| {
            Failure::usage(format!("could not look at {}: {error}", path.display()))
                .hint("levain check checks everything")
        })?),
        None => None,
    };
    let project = common.project.clone().or_else(|| path.as_deref().and_then(project_of));
    let setup = Setup::gather(project.as_deref(), common.arguments(None))?;
    let (problems, looked) = problems(&setup, path.as_deref());
    let worst = problems.iter().map(|problem| problem.severity).max();
    let is_settings = |path: &Path| setup.cascade.layers().any(|layer| layer.file.starts_with(path));
    if let (Some(path), 0) = (&path, looked)
        && problems.is_empty()
        && !is_settings(path)
    {
        return Err(Failure::usage(format!("there is no item at {}", path.display()))
            .hint("items lie in .ai/directives, .ai/knowledge and .ai/tools, settings of agents in .ai/config/agent"));
    }
    let mut output = io::BufWriter::new(out());
    let mut write = || -> io::Result<()> {
        let count = |severity| problems.iter().filter(|problem| problem.severity == severity).count();
        let errors = count(Severity::Error) + count(Severity::Fatal);
        let warnings = count(Severity::Warning);
        if arguments.json {
            for problem in problems.clone() {
                json_line(&mut output, &ProblemLine { schema: Some("levain.problem/1"), ..problem.into() })?;
            }
        } else {
            for problem in &problems {
                writeln!(output, "{}: {}", problem.severity.word(), &problem.to_string())?;
            }
            let (errors, warnings) = (several(errors, "error"), several(warnings, "warning"));
            writeln!(output, "{}: {errors}, {warnings}", several(looked, "item"))?;
        }
        output.flush()
    };
    written(write())?;
    Ok(if worst >= Some(Severity::Error) { ExitCode::from(code::ERROR) } else { ExitCode::SUCCESS })
}

/// The project that a path is part of.
fn project_of(path: &Path) -> Option<PathBuf> {
    path.ancestors().find(|folder| folder.join(".ai").is_dir()).map(Path::to_owned)
}

/// The problems at and below `path`, and how many items were looked at.
fn problems(setup: &Setup, path: Option<&Path>) -> (Vec<Problem>, usize) {
    let items = setup.items();
    let hooks = Hooks::read(&items);
    let handlers = crate::items::Handlers::read(&items).problems;
    let concerns = |file: &Path| path.is_none_or(|path| file.starts_with(path));
    let mistakes = look_problems(setup);
    let mut problems: Vec<Problem> = setup
        .problems
        .iter()
        .chain(&mistakes)
        .chain(&setup.doubts(&items))
        .chain(items.problems())
        .chain(&hooks.problems)
        .chain(&handlers)
        .chain(&check::hooks(&hooks.hooks, &items, "optional: true"))
        .filter(|problem| path.is_none() || problem.file.as_deref().is_some_and(concerns))
        .cloned()
        .collect();
    let (mut looked, meaning) = (0, setup.meaning(&items));
    // What is shadowed is checked too: it counts in other projects.
    for item in items.iter().flat_map(|found| std::iter::once(found.item).chain(found.shadows)) {
        if concerns(&items.file(item)) {
            looked += 1;
            let mut found = check::item(&items, item);
            found.extend(setup.doubt(&items, item));
            found.extend(setup.permission_doubts(&items, &meaning, item));
            found.sort_by_key(|problem| problem.line);
            problems.append(&mut found);
        }
    }
    (problems, looked)
}
