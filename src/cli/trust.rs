//! `levain trust`: let the things of a project run that could run, or stop letting them.

use super::Common;
use super::failure::{Failure, written};
use crate::config::trust::{self, Runnable};
use crate::config::{Trust, authority};
use crate::session::Setup;
use crate::session::people::{json_line, out};
use clap::Args;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(super) struct TrustArguments {
    /// Trust it no longer
    #[arg(long)]
    revoke: bool,
    /// Only show what can run, and whether you trust it
    #[arg(long, conflicts_with = "revoke")]
    show: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// `--json`.
#[derive(Serialize)]
struct TrustLine<'a> {
    schema: &'static str,
    project: &'a Path,
    /// `trusted`, `untrusted`, `changed`, `nothing` (there is nothing to run, and nobody trusted it) or `unreadable`.
    status: &'static str,
    /// What can run, below the project's `.ai`.
    files: &'a [String],
    /// What is different from what was trusted, in words.
    differs: &'a [String],
    /// Commands of context providers, by the files that hold them.
    commands: &'a BTreeMap<String, Vec<String>>,
    /// Directives whose permissions are asked for, because nobody trusted them as they are.
    asked: &'a [String],
}

pub(super) fn run(common: &Common, arguments: &TrustArguments) -> Result<ExitCode, Failure> {
    let setup = Setup::gather(common.project.as_deref(), common.arguments(None))?;
    let root = &setup.project.root;
    let failed =
        |error: io::Error| Failure::new(format!("could not write below {}: {error}", setup.dirs.config.display()));
    if arguments.revoke {
        Trust::revoke(&setup.dirs, root).map_err(failed)?;
    }
    let mut trust = setup.trust();
    let directives = authority::of_project(root);
    if trust == Trust::Nothing && !arguments.revoke && !arguments.show {
        Trust::grant(&setup.dirs, root, &Runnable::nothing(), &directives).map_err(failed)?;
    }
    // Of what was trusted already, the directives may decide something else now.
    if let (false, false, Trust::Unknown(runnable) | Trust::Changed(runnable, _) | Trust::Trusted(runnable)) =
        (arguments.revoke, arguments.show, &trust)
    {
        Trust::grant(&setup.dirs, root, runnable, &directives).map_err(failed)?;
        trust = Trust::Trusted(runnable.clone());
    }
    if let Trust::Unreadable { reason } = &trust {
        return Err(Failure::new(format!("{} cannot be trusted: {reason}", root.display())));
    }
    let asked = Trust::asked(&setup.dirs, root, &directives);
    written(tell(root, &trust, &asked, Trust::is_given(&setup.dirs, root), arguments.json))?;
    Ok(ExitCode::SUCCESS)
}

fn tell(root: &Path, trust: &Trust, asked: &[String], given: bool, json: bool) -> io::Result<()> {
    let (status, files, sentence): (_, &[String], _) = match trust {
        Trust::Nothing if given => {
            ("trusted", &[], "is trusted: the permissions of its directives apply; nothing else can run".to_owned())
        }
        Trust::Nothing => ("nothing", &[], "holds nothing that could run by itself, and is not trusted".to_owned()),
        Trust::Trusted(runnable) => ("trusted", &runnable.files, "is trusted: this may run as it is now".to_owned()),
        Trust::Unknown(runnable) => {
            ("untrusted", &runnable.files, "is not trusted: no tool or command in these files runs".to_owned())
        }
        Trust::Changed(runnable, _) => (
            "changed",
            &runnable.files,
            "has changed since you trusted it: no tool or command in these files runs".to_owned(),
        ),
        Trust::Unreadable { reason } => ("unreadable", &[], reason.clone()),
    };
    let differs: &[String] = if let Trust::Changed(_, differs) = trust { differs } else { &[] };
    let none = BTreeMap::new();
    let commands = match trust {
        Trust::Trusted(runnable) | Trust::Unknown(runnable) | Trust::Changed(runnable, _) => &runnable.commands,
        Trust::Nothing | Trust::Unreadable { .. } => &none,
    };
    let mut output = out();
    if json {
        let schema = "levain.trust/1";
        return json_line(&mut output, &TrustLine { schema, project: root, status, files, differs, commands, asked });
    }
    writeln!(output, "{} {sentence}", root.display())?;
    for file in files {
        writeln!(output, "  {}", trust::shown(file))?;
    }
    for different in differs {
        writeln!(output, "  {different}")?;
    }
    for (file, command) in commands {
        writeln!(output, "  {file} runs: {}", command.join(" "))?;
    }
    if !files.is_empty() {
        writeln!(
            output,
            "Only these files are looked at. What they start in turn (scripts that scripts call, Makefiles, programs on \
             your PATH) is not: a change there is not noticed."
        )?;
    }
    for path in asked {
        writeln!(output, "  {path}: each call that it allows needs approval")?;
    }
    Ok(())
}
