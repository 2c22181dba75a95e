//! `levain context`: what a model would receive or has received, where it came from, and why something is missing.

mod compare;
mod explain;
mod hooks;
mod lint;
mod show;
mod subject;
mod test;
mod what_if;

use super::failure::Failure;
use super::{Common, run};
use clap::{Args, Subcommand};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(super) struct ContextArguments {
    #[command(subcommand)]
    command: ContextCommands,
}

#[derive(Debug, Subcommand)]
enum ContextCommands {
    /// Show what a directive's first request would hold, or what a thread's request held; no model is called
    Show(show::ShowArguments),
    /// Compare two requests: THREAD#NUMBER, THREAD (its newest), or a directive as it would be now
    Diff(compare::DiffArguments),
    /// Say why something is in a directive's context, or why not
    Explain(explain::ExplainArguments),
    /// Look for what is probably wrong with the context of directives; exits with 1 when there are errors
    Lint(lint::LintArguments),
    /// Compare the requests of the project's cases with how they were; exits with 1 when one changed
    Test(test::TestArguments),
    /// Show a request that was sent with layers left out or changed, or another model; send it with --send
    WhatIf(what_if::WhatIfArguments),
    /// Find the layer that makes a check of the answer come out otherwise, by leaving out halves
    Bisect(what_if::BisectArguments),
    /// Show what the hooks of a directive would do
    Hooks(hooks::HooksArguments),
}

pub(super) fn run(common: &Common, arguments: &ContextArguments) -> Result<ExitCode, Failure> {
    match &arguments.command {
        ContextCommands::Show(arguments) => show::run(common, arguments),
        ContextCommands::Diff(arguments) => compare::run(common, arguments),
        ContextCommands::Explain(arguments) => explain::run(common, arguments),
        ContextCommands::Lint(arguments) => lint::run(common, arguments),
        ContextCommands::Test(arguments) => test::run(common, arguments),
        ContextCommands::WhatIf(arguments) => what_if::what_if(common, arguments),
        ContextCommands::Bisect(arguments) => what_if::bisect(common, arguments),
        ContextCommands::Hooks(arguments) => hooks::run(common, arguments),
    }
}

/// The thread a directive would be planned for.
#[derive(Clone, Debug, Args)]
struct Draft {
    /// A value for an input of the directive; may be given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = run::input)]
    input: Vec<(String, String)>,
    /// The prompt
    #[arg(long, value_name = "TEXT", default_value = "")]
    prompt: String,
    /// As the workbench would start it, without the limits of a single run
    #[arg(long)]
    interactive: bool,
    /// As a thread that continues this one
    #[arg(long, value_name = "ID")]
    continues: Option<crate::domain::ThreadId>,
}
