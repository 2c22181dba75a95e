//! `levain login` and `logout`: signing in to the providers that extensions bring.

use super::failure::{Failure, written};
use super::{Common, ExtensionOptions, browser, runtime};
use crate::domain::{Space, Timestamp, nearest};
use crate::ports::tools::Waiting;
use crate::providers::ProviderFile;
use crate::session::Setup;
use crate::session::logins::{Choice, Page, Person};
use crate::session::people::{day, err, json_line, out};
use clap::Args;
use serde_json::json;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;
use tokio::sync::oneshot;

/// How long somebody may take where nothing is said.
const PATIENCE: u64 = 600;

#[derive(Debug, Args)]
pub(super) struct LoginArguments {
    /// The provider; without, those that can be signed in to are listed
    #[arg(value_name = "PROVIDER")]
    provider: Option<String>,
    /// Print addresses only; open no browser
    #[arg(long)]
    no_browser: bool,
    /// Seconds to wait for you
    #[arg(long, value_name = "SECONDS", default_value_t = PATIENCE)]
    wait: u64,
    /// One JSON object, or one a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    extensions: ExtensionOptions,
}

#[derive(Debug, Args)]
pub(super) struct LogoutArguments {
    /// The provider
    #[arg(value_name = "PROVIDER")]
    provider: String,
    /// One JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    extensions: ExtensionOptions,
}

/// The providers that can be signed in to, each with the file of its extension.
fn providers(setup: &Setup) -> Vec<(String, PathBuf)> {
    let providers = setup.models.providers();
    let files = providers.files().iter().filter(|file| file.space != Space::Project);
    let mut all: Vec<(String, PathBuf)> = Vec::new();
    for ProviderFile { tool_id, login, .. } in files {
        // The first file of a name is the one that counts.
        if let Some(path) = login.as_ref().filter(|_| !all.iter().any(|(name, _)| name == tool_id)) {
            all.push((tool_id.clone(), path.clone()));
        }
    }
    all
}

/// The file of the provider `name`.
fn found(setup: &Setup, name: &str) -> Result<PathBuf, Failure> {
    let all = providers(setup);
    all.iter().find(|(known, _)| known == name).map(|(_, path)| path.clone()).ok_or_else(|| {
        let hint = match nearest(name, all.iter().map(|(known, _)| known.as_str())) {
            Some(near) => format!("did you mean `{near}`?"),
            None if all.is_empty() => "no extension of yours signs in; levain mcp login is for MCP servers".to_owned(),
            None => "levain login lists those that there are; levain mcp login is for MCP servers".to_owned(),
        };
        Failure::usage(format!("there is no provider `{name}` to sign in to")).hint(hint)
    })
}

pub(super) fn login(common: &Common, arguments: &LoginArguments) -> Result<ExitCode, Failure> {
    let LoginArguments { provider, json, extensions, .. } = arguments;
    let setup = extensions.gather(common, None)?;
    let Some(name) = provider else { return list(&setup, *json) };
    let done = sign_in(&setup, name, arguments);
    if let (true, Err(failure)) = (json, &done) {
        let problem = failure.whole();
        let line = json!({"schema": "levain.login/1", "provider": name, "signed_in": false, "problem": problem});
        written(json_line(&mut out(), &line))?;
    }
    done
}

fn sign_in(setup: &Setup, name: &str, arguments: &LoginArguments) -> Result<ExitCode, Failure> {
    let LoginArguments { no_browser, wait, json, .. } = arguments;
    let path = found(setup, name)?;
    let person = Arc::new(Terminal { opens: !no_browser, lines: Arc::default() });
    say(&format!("signing in to {name}, as {} does it; Ctrl-C leaves\n", path.display()));
    let ask = setup.logins.sign_in(name, &path, person, Duration::from_secs(*wait));
    let runtime = runtime()?;
    let interrupted = async {
        let stopped = tokio::signal::ctrl_c().await;
        stopped.map_err(|error| error.to_string())
    };
    let done = runtime.block_on(async {
        tokio::select! {
            done = ask => Some(done),
            Ok(()) = interrupted => None,
        }
    });
    let Some(done) = done else {
        // What was asked stands on the line, and ^C behind it.
        say("\n");
        return Ok(ExitCode::from(super::code::INTERRUPTED));
    };
    done.map_err(|why| Failure::new(format!("you are not signed in to {name}: {why}")))?;
    let mut output = out();
    written(if *json {
        json_line(&mut output, &json!({ "schema": "levain.login/1", "provider": name, "signed_in": true }))
    } else {
        writeln!(output, "signed in to {name}; levain logout {name} forgets it")
    })?;
    Ok(ExitCode::SUCCESS)
}

fn list(setup: &Setup, json: bool) -> Result<ExitCode, Failure> {
    let mut output = out();
    let all = providers(setup);
    let width = all.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
    let mut write = || -> io::Result<()> {
        for (name, path) in &all {
            let status = setup.logins.status(name, path);
            if json {
                let (signed_in, expires) = match &status {
                    Ok(status) => (status.is_some(), status.and_then(|status| status.expires)),
                    Err(_) => (false, None),
                };
                let line = json!({"schema": "levain.login/1", "provider": name, "signed_in": signed_in, "expires": expires,
                    "problem": status.err(), "path": path});
                json_line(&mut output, &line)?;
                continue;
            }
            let said = match status {
                Ok(None) => "signed out".to_owned(),
                Ok(Some(status)) => match status.expires {
                    Some(at) => format!("signed in; its key is renewed from {}", day(Timestamp(at))),
                    None => "signed in".to_owned(),
                },
                Err(why) => why,
            };
            writeln!(output, "{name:<width$}  {said}  ({})", path.display())?;
        }
        if all.is_empty() && !json {
            writeln!(output, "no extension of yours brings a provider to sign in to")?;
        }
        Ok(())
    };
    written(write())?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn logout(common: &Common, arguments: &LogoutArguments) -> Result<ExitCode, Failure> {
    let LogoutArguments { provider, json, extensions } = arguments;
    let setup = extensions.gather(common, None)?;
    let (name, path) = (provider, found(&setup, provider)?);
    let failed = |error: io::Error| Failure::new(format!("the login to {name} could not be forgotten: {error}"));
    let gone = setup.logins.sign_out(name, &path).map_err(failed)?;
    let mut output = out();
    written(if *json {
        json_line(&mut output, &json!({ "schema": "levain.logout/1", "provider": name, "forgotten": gone }))
    } else if gone {
        writeln!(output, "{name}: forgotten; the provider may know its token until that expires")
    } else {
        writeln!(output, "{name}: you were not signed in")
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Whoever waits for the next line of standard input.
type Reader = mpsc::Sender<oneshot::Sender<Option<String>>>;

/// The terminal that the command runs in.
struct Terminal {
    opens: bool,
    /// Reads lines, once one is wanted. On a thread that nobody waits for: a line may never come.
    lines: Arc<Mutex<Option<Reader>>>,
}

impl Terminal {
    /// The next line; none at the end of the input.
    fn line(&self) -> Waiting<'static, Option<String>> {
        let (reply, line) = oneshot::channel();
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let reader = lines.get_or_insert_with(|| {
            let (wanted, waiting) = mpsc::channel::<oneshot::Sender<Option<String>>>();
            thread::spawn(move || {
                for reply in waiting {
                    let mut text = String::new();
                    let read = io::stdin().read_line(&mut text).unwrap_or_default();
                    let _gone = reply.send((read > 0).then(|| text.trim_end_matches(['\r', '\n']).to_owned()));
                }
            });
            wanted
        });
        let _gone = reader.send(reply);
        Box::pin(async move { line.await.ok().flatten() })
    }
}

/// Without a standard error there is nobody to tell.
fn say(text: &str) {
    let mut output = err();
    let _closed = write!(output, "{text}").and_then(|()| output.flush());
}

impl Person for Terminal {
    fn open(&self, page: Page) {
        let Page { url, instructions, code } = page;
        say(&format!("open this address to sign in:\n\n{url}\n\n"));
        if let Some(code) = code {
            say(&format!("and enter there: {code}\n"));
        }
        if let Some(said) = instructions {
            say(&format!("{said}\n"));
        }
        let is_web = ["https://", "http://"].iter().any(|scheme| url.starts_with(scheme));
        if self.opens && is_web && browser::open(&url) {
            say("your browser is asked to open it\n");
        }
    }

    fn tell(&self, message: &str) {
        say(&format!("{message}\n"));
    }

    fn ask(&self, message: String, placeholder: String) -> Waiting<'static, Option<String>> {
        let shown = if placeholder.is_empty() { String::new() } else { format!(" ({placeholder})") };
        // Many end their question with a colon of their own.
        let asked = message.trim_end().trim_end_matches(':');
        say(&format!("{asked}{shown}: "));
        self.line()
    }

    fn choose(&self, message: String, options: Vec<Choice>) -> Waiting<'static, Option<String>> {
        say(&format!("{message}\n"));
        for (number, option) in (1..).zip(&options) {
            say(&format!("  {number}  {}\n", option.label));
        }
        say(&format!("1 to {}: ", options.len()));
        let line = self.line();
        Box::pin(async move {
            let number: usize = line.await?.trim().parse().ok()?;
            options.into_iter().nth(number.checked_sub(1)?).map(|option| option.id)
        })
    }
}
