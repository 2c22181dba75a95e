//! The command line: one file a subcommand, and the edge where errors become sentences and exit codes.

mod attach;
mod background;
mod browser;
mod candidates;
mod check;
mod completions;
mod config;
mod context;
mod conversation;
mod deferred;
mod doctor;
mod extensions;
mod failure;
mod find;
mod highlight;
mod items;
mod keys;
mod login;
mod look;
mod mcp;
mod models;
mod orchestrate;
mod page;
mod pipeline;
mod postmortem;
mod run;
mod screen;
mod sign;
mod state;
mod text;
mod threads;
mod transcript;
mod trust;
mod undo;
mod upkeep;
mod worker;

use crate::config::Arguments;
use crate::domain::{ModelRef, Money, nearest};
use crate::session::{Setup, people, secrets};
use crate::tools::keeper;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory as _, Parser, Subcommand};
use deferred::Deferred;
use failure::{Failure, code};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// A terminal workbench for people who write directives: a debugger for context.
#[derive(Debug, Parser)]
#[command(name = "levain", version)]
struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    open: Open,
    #[command(subcommand)]
    command: Option<Subcommands>,
}

/// What every command understands.
#[derive(Clone, Debug, Args)]
struct Common {
    /// The model, as provider/model (anthropic/claude-sonnet-5-5, openai/gpt-6.2-sol, scripted/demo) or a tier (fast,
    /// general, high, max)
    #[arg(long, global = true, value_name = "MODEL")]
    model: Option<String>,
    /// The project's folder, instead of the nearest one with .ai or .git in it
    #[arg(long, global = true, value_name = "DIR")]
    project: Option<PathBuf>,
}

/// What extensions of threads are told on the command line.
#[derive(Clone, Debug, Default, Args)]
struct ExtensionOptions {
    /// An extension to load besides, as a file or a folder; may be given several times
    #[arg(long, short = 'e', value_name = "PATH")]
    extension: Vec<PathBuf>,
    /// A flag of an extension; may be given several times
    #[arg(long, value_name = "NAME[=VALUE]")]
    flag: Vec<String>,
}

/// Opening the workbench.
#[derive(Debug, Args)]
struct Open {
    /// The directive to chat with
    #[arg(value_name = "DIRECTIVE")]
    directive: Option<String>,
    /// Reopen a thread: the newest, or the one with this id
    #[expect(clippy::option_option, reason = "this is how clap tells an option without its value")]
    #[arg(long = "continue", short = 'c', value_name = "ID", num_args = 0..=1)]
    resume: Option<Option<String>>,
    /// Line by line instead of a screen: for screen readers, and terminals that can only print
    #[arg(long)]
    plain: bool,
    #[command(flatten)]
    extensions: ExtensionOptions,
}

impl Open {
    /// What was said about the workbench, as it was written; the recording may be opened line by line, too.
    fn given(&self, may_be_plain: bool) -> Option<String> {
        let directive = self.directive.as_ref().map(|directive| format!("`{directive}`"));
        let resume = self.resume.as_ref().map(|_| "--continue".to_owned());
        let extension = self.extensions.extension.first().map(|_| "--extension".to_owned());
        let flag = self.extensions.flag.first().map(|_| "--flag".to_owned());
        directive
            .or(resume)
            .or(extension)
            .or(flag)
            .or_else(|| (self.plain && !may_be_plain).then(|| "--plain".to_owned()))
    }
}

#[derive(Debug, Subcommand)]
enum Subcommands {
    /// Run a directive to its end and print the answer
    Run(Deferred<run::RunArguments>),
    /// List the threads of this project
    Threads(Deferred<threads::ThreadsArguments>),
    /// Print what happened in a thread
    Transcript(Deferred<transcript::TranscriptArguments>),
    /// List the models, and what is missing where they cannot be used
    Models(Deferred<models::ModelsArguments>),
    /// Watch a running thread and talk to it, line by line
    Attach(Deferred<attach::AttachArguments>),
    /// Sign files with your key
    Sign(Deferred<sign::SignArguments>),
    /// Sign in to a provider of an extension, or list those that can be signed in to
    Login(Deferred<login::LoginArguments>),
    /// Forget what you signed in with to a provider
    Logout(Deferred<login::LogoutArguments>),
    /// Make, import, trust and list keys
    Keys(Deferred<keys::KeysArguments>),
    /// Check the terminal, settings, models and threads, and say how to fix problems
    Doctor(Deferred<doctor::DoctorArguments>),
    /// Print the completions of a shell
    Completions(Deferred<completions::CompletionsArguments>),
    /// List the items this project can name: directives, knowledge, tools
    Items(Deferred<items::ItemsArguments>),
    /// Check items and settings, and say how to fix problems
    Check(Deferred<check::CheckArguments>),
    /// List the effective settings, each with its file and line
    Config(Deferred<config::ConfigArguments>),
    /// Print the effective keys, with all commands, as a keymap file
    Keymap,
    /// List the themes, or print one as a file to begin your own with
    Theme(Deferred<look::ThemeArguments>),
    /// Look at a recording: a small project with threads in it, where a script answers
    Demo(Deferred<screen::DemoArguments>),
    /// Trust this project: let its tools, hooks and extensions run as they are now
    Trust(Deferred<trust::TrustArguments>),
    /// See what a model is about to receive or has received, where it comes from, and why something is missing
    Context(Deferred<Box<context::ContextArguments>>),
    /// See what handlers did with prompts and requests, run one again, pause before one
    Pipeline(Deferred<pipeline::PipelineArguments>),
    /// Add, test and list MCP servers, whose tools threads can call; be one yourself with `serve`
    Mcp(Deferred<mcp::McpArguments>),
    /// Load extensions and list what they register, offer them an event or a recorded thread, or begin one
    Extensions(Deferred<extensions::ExtensionsArguments>),
    /// Run a thread for screens to connect to (started by levain itself)
    #[command(hide = true)]
    Worker(Deferred<worker::WorkerArguments>),
    /// Work out the colours of code for a screen (started by levain itself)
    #[command(hide = true)]
    Highlight,
    /// Make text of a page of the web (started by levain itself)
    #[command(hide = true)]
    Page(Deferred<page::PageArguments>),
}

/// Runs the program.
#[must_use]
pub fn main() -> ExitCode {
    let tell = |line: &str| {
        let _gone = writeln!(people::err(), "{line}");
    };
    match keeper::answer(tell) {
        Some(Ok(code)) => return code,
        Some(Err(why)) => {
            // It is the command's output for whoever waits for that.
            let _gone = writeln!(people::err(), "The command was not started: {why}");
            return ExitCode::from(keeper::NOT_STARTED);
        }
        None => {}
    }
    secrets::begin();
    bear_file_limits();
    people::tell_panics();
    if let Some(code) = completions::answer() {
        return code;
    }
    let Cli { common, open, command } = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => match misunderstood(&error) {
            Some(failure) => return failure.report(),
            None => return told(&error),
        },
    };
    let is_demo = matches!(command, Some(Subcommands::Demo(_)));
    if command.is_some()
        && let Some(given) = open.given(is_demo)
    {
        let failure = Failure::usage(format!("{given} opens the workbench, and a command does something else"));
        return failure.hint("leave one of the two out; levain --help lists commands").report();
    }
    let result = match command {
        None => screen::open(&common, open),
        Some(Subcommands::Demo(Deferred(arguments))) => screen::demo(&common, open.plain, &arguments),
        Some(Subcommands::Run(Deferred(arguments))) => run::run(&common, &arguments),
        Some(Subcommands::Threads(Deferred(arguments))) => threads::run(&common, &arguments),
        Some(Subcommands::Transcript(Deferred(arguments))) => transcript::run(&common, &arguments),
        Some(Subcommands::Models(Deferred(arguments))) => models::run(&common, &arguments),
        Some(Subcommands::Attach(Deferred(arguments))) => attach::run(&common, &arguments),
        Some(Subcommands::Sign(Deferred(arguments))) => sign::run(&common, &arguments),
        Some(Subcommands::Login(Deferred(arguments))) => login::login(&common, &arguments),
        Some(Subcommands::Logout(Deferred(arguments))) => login::logout(&common, &arguments),
        Some(Subcommands::Keys(Deferred(arguments))) => keys::run(&common, &arguments),
        Some(Subcommands::Doctor(Deferred(arguments))) => doctor::run(&common, &arguments),
        Some(Subcommands::Completions(Deferred(arguments))) => completions::run(&arguments),
        Some(Subcommands::Items(Deferred(arguments))) => items::run(&common, &arguments),
        Some(Subcommands::Check(Deferred(arguments))) => check::run(&common, &arguments),
        Some(Subcommands::Config(Deferred(arguments))) => config::run(&common, &arguments),
        Some(Subcommands::Keymap) => look::keymap(&common),
        Some(Subcommands::Theme(Deferred(arguments))) => look::theme(&common, &arguments),
        Some(Subcommands::Trust(Deferred(arguments))) => trust::run(&common, &arguments),
        Some(Subcommands::Context(Deferred(arguments))) => context::run(&common, &arguments),
        Some(Subcommands::Pipeline(Deferred(arguments))) => pipeline::run(&common, &arguments),
        Some(Subcommands::Mcp(Deferred(arguments))) => mcp::run(&common, &arguments),
        Some(Subcommands::Extensions(Deferred(arguments))) => extensions::run(&common, &arguments),
        Some(Subcommands::Worker(Deferred(arguments))) => Ok(worker::run(&common, &arguments)),
        Some(Subcommands::Highlight) => Ok(highlight::run()),
        Some(Subcommands::Page(Deferred(arguments))) => Ok(page::run(&arguments)),
    };
    result.unwrap_or_else(|failure| failure.report())
}

/// Makes a write beyond the largest size that a file may have fail like any other that finds no room, rather than end the
/// process: a handler that does nothing takes the place of the default, and programs that are started do not inherit it.
fn bear_file_limits() {
    let raised = Arc::new(AtomicBool::new(false));
    if let Err(error) = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, raised) {
        tracing::warn!(%error, "a file that grows too large ends this process");
    }
}

/// Prints what clap says: help, or what is wrong with the command line, whose words may be anything.
fn told(error: &clap::Error) -> ExitCode {
    let text = error.render();
    let is_help = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    // A reader that went away is told nothing.
    let _gone = if is_help { people::out().help(&text) } else { write!(people::err(), "{text}") };
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(code::USAGE))
}

/// What to say of words that clap takes for a directive with too much behind it.
fn misunderstood(error: &clap::Error) -> Option<Failure> {
    let words: Vec<String> =
        std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect();
    let strange =
        [ContextKind::InvalidArg, ContextKind::InvalidSubcommand].into_iter().find_map(|kind| error.get(kind));
    let Some(ContextValue::String(strange)) = strange else { return None };
    let about_words = matches!(error.kind(), ErrorKind::UnknownArgument | ErrorKind::InvalidSubcommand);
    if !about_words {
        return None;
    }
    too_much(&words, strange)
}

/// The same for the words of a command line, of which `strange` was not understood.
fn too_much(words: &[String], strange: &str) -> Option<Failure> {
    let first = first_word(words)?;
    let commands = Cli::command();
    if commands.find_subcommand(first).is_some() {
        // A word of theirs, which clap knows better.
        return None;
    }
    if let Some(near) = near_command(first) {
        let failure = Failure::usage(format!("there is no command `{first}`; did you mean `{near}`?"));
        return Some(failure.hint("levain --help lists all"));
    }
    if strange.starts_with('-') {
        return None;
    }
    let failure = Failure::usage(format!("unexpected `{strange}`: levain opens one directive or runs one command"));
    Some(failure.hint("a prompt goes with levain run, also to a directive: levain run --directive ID \"…\""))
}

/// The first word that is neither an option nor an option's value.
fn first_word(words: &[String]) -> Option<&str> {
    let mut words = words.iter();
    loop {
        match words.next()?.as_str() {
            "--model" | "--project" | "--extension" | "-e" | "--flag" => drop(words.next()),
            option if option.starts_with('-') => {}
            word => return Some(word),
        }
    }
}

/// The command whose name is like `word`.
fn near_command(word: &str) -> Option<String> {
    let commands = Cli::command();
    let names = commands.get_subcommands().filter(|command| !command.is_hide_set()).map(clap::Command::get_name);
    nearest(word, names).filter(|near| *near != word).map(ToOwned::to_owned)
}

impl Common {
    fn arguments(&self, directive: Option<String>) -> Arguments {
        let asked = self.model.as_deref();
        let model: Option<ModelRef> = asked.and_then(|asked| asked.parse().ok());
        let tier = asked.filter(|_| model.is_none()).map(ToOwned::to_owned);
        Arguments { model, tier, directive, ..Arguments::default() }
    }
}

impl ExtensionOptions {
    /// What a session starts with, with what was said of extensions.
    ///
    /// # Errors
    /// As [`Setup::gather`], and where there is no extension at a path or no such flag: a guard that was asked for and is not
    /// there would be one that is gone.
    fn gather(&self, common: &Common, directive: Option<String>) -> Result<Setup, Failure> {
        let mut extensions = Vec::new();
        for path in &self.extension {
            let found = crate::session::extensions::named(path);
            if found.is_empty() {
                let message = format!("there is no extension at {}", path.display());
                return Err(Failure::usage(message)
                    .hint("name a .ts or .js file, or a folder with an index.ts or a package.json that names one"));
            }
            extensions.extend(found);
        }
        let arguments = Arguments { extensions, flags: self.flag.clone(), ..common.arguments(directive) };
        let setup = told_when_slow(|| Setup::gather(common.project.as_deref(), arguments))?;
        let strange = |(message, hint): (String, String)| Failure::usage(message).hint(hint);
        setup.extensions().check_flags().map_err(strange)?;
        Ok(setup)
    }
}

/// Does `work`, and says what takes so long where it does: nothing is on the screen so far.
fn told_when_slow<T>(work: impl FnOnce() -> T) -> T {
    const SLOW: Duration = Duration::from_millis(500);
    if !people::is_err_watched() {
        return work();
    }
    let (working, over) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            if over.recv_timeout(SLOW) == Err(mpsc::RecvTimeoutError::Timeout) {
                let _gone =
                    writeln!(people::err(), "still starting: extensions that are new or were changed are read first");
            }
        });
        let done = work();
        drop(working);
        done
    })
}

/// An amount of money on the command line, in dollars.
fn dollars(text: &str) -> Result<Money, String> {
    /// No limit of anybody is higher.
    const MOST: f64 = 1e9;
    let amount = text.parse::<f64>().ok().filter(|amount| (0.0..=MOST).contains(amount));
    amount.map(Money::from_dollars).ok_or_else(|| "write dollars as a number, such as 0.5".to_owned())
}

/// A runtime on this thread: everything here is short, and one thread saves a wake-up across threads for every piece of
/// text.
fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .thread_name("levain-blocking")
        .max_blocking_threads(8)
        .thread_keep_alive(Duration::from_secs(2))
        .build()
        .map_err(|error| Failure::new(format!("could not start the async runtime: {error}")))
}

/// Runs what a person looks at, and when they leave ends without waiting for what was only to be shown to them.
fn until_left<T>(screen: impl Future<Output = T>) -> Result<T, Failure> {
    let runtime = runtime()?;
    let left = runtime.block_on(screen);
    runtime.shutdown_background();
    Ok(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_subcommand_says_of_itself_what_the_list_says_of_it() {
        let (listed, mut built) = (Cli::command(), Cli::command());
        built.build();
        for command in listed.get_subcommands() {
            let whole = built.find_subcommand(command.get_name()).unwrap();
            assert_eq!(whole.get_about(), command.get_about(), "{}", command.get_name());
            assert_eq!(whole.get_long_about(), command.get_long_about(), "{}", command.get_name());
        }
    }

    #[test]
    fn continue_takes_an_id_or_none() {
        let parse = |arguments: &[&str]| Cli::try_parse_from(arguments).unwrap().open.resume;
        assert_eq!(parse(&["levain"]), None);
        assert_eq!(parse(&["levain", "--continue"]), Some(None));
        assert_eq!(parse(&["levain", "-c", "chat-1"]), Some(Some("chat-1".into())));
    }

    #[test]
    fn a_command_that_is_misspelt_is_named() {
        let meant = |line: &str, strange: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            too_much(&words, strange).map(|failure| failure.message().to_owned())
        };
        let near = Some("there is no command `contxt`; did you mean `context`?".to_owned());
        assert_eq!(meant("contxt show", "show"), near);
        assert_eq!(meant("--model a/b contxt show", "show"), near);
        assert_eq!(meant("contxt --json", "--json"), near);
        assert_eq!(meant("--models x", "--models"), None, "clap has the option that is meant");
        assert_eq!(meant("run --frob", "--frob"), None);
        for line in ["team/ship why", "hello why", "--model=a/b team/ship why"] {
            assert!(meant(line, "why").unwrap().starts_with("unexpected `why`"), "{line}");
        }
    }

    #[test]
    fn a_model_is_a_name_or_a_tier() {
        let parse = |model: &str| Cli::try_parse_from(["levain", "--model", model]).unwrap().common.arguments(None);
        assert_eq!(parse("openai/gpt").model, Some(ModelRef::new("openai", "gpt")));
        assert_eq!(parse("fast").tier.as_deref(), Some("fast"));
    }
}
