//! `levain doctor`: what levain finds here, and what to do about what is missing.

use super::Common;
use super::failure::{Failure, code, written};
use crate::app::{ThemeSource, look_problems};
use crate::config::{FoundBy, ThemeChoice, Trust};
use crate::domain::{SandboxMode, Severity};
use crate::engine::driver::ModelRegistry;
use crate::items::signature::SigningKey;
use crate::providers::is_scripted;
use crate::session::Setup;
use crate::session::people::{json_line, out};
use crate::store::registry::Part;
use crate::store::threads::Threads;
use crate::terminal::{Guard, Input, InputEvent, Tty};
use crate::tools::sandbox::Offered;
use clap::Args;
use serde::Serialize;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

#[derive(Debug, Args)]
pub(super) struct DoctorArguments {
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

/// How good a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Health {
    Ok,
    /// Works, with less.
    Warning,
    Error,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Finding {
    schema: &'static str,
    area: &'static str,
    health: Health,
    message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

#[derive(Debug, Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, area: &'static str, health: Health, message: impl Into<String>, remedy: Option<&str>) {
        let remedy = remedy.map(ToOwned::to_owned);
        self.0.push(Finding { schema: "levain.finding/1", area, health, message: message.into(), remedy });
    }

    fn ok(&mut self, area: &'static str, message: impl Into<String>) {
        self.add(area, Health::Ok, message, None);
    }
}

pub(super) fn run(common: &Common, arguments: &DoctorArguments) -> Result<ExitCode, Failure> {
    let mut findings = Findings::default();
    findings.ok("program", format!("levain {}", env!("CARGO_PKG_VERSION")));
    terminal(&mut findings);
    match Setup::gather(common.project.as_deref(), common.arguments(None)) {
        Ok(setup) => {
            project(&setup, &mut findings);
            settings(&setup, &mut findings);
            sandbox(&setup, &mut findings);
            models(&setup, &mut findings);
            threads(&setup, &mut findings);
        }
        Err(error) => findings.add("settings", Health::Error, error.to_string(), None),
    }
    let mut output = out();
    for finding in &findings.0 {
        written(if arguments.json { json_line(&mut output, finding) } else { write_finding(&mut output, finding) })?;
    }
    let failed = findings.0.iter().any(|finding| finding.health == Health::Error);
    Ok(if failed { ExitCode::from(code::ERROR) } else { ExitCode::SUCCESS })
}

/// What of the sandbox this system has.
fn sandbox(setup: &Setup, findings: &mut Findings) {
    const AREA: &str = "sandbox";
    let (mode, offered) = (setup.config.sandbox.value, Offered::here());
    let required = mode == SandboxMode::Require;
    let remedy = if required {
        "no command runs until then; set sandbox = \"auto\" to be asked instead"
    } else {
        "nothing is taken for confined: what a directive grants in a sandbox asks"
    };
    for missing in &offered.missing {
        let health = if required { Health::Error } else { Health::Warning };
        findings.add(AREA, health, format!("missing: {missing}"), Some(remedy));
    }
    if offered.holds() {
        findings.ok(AREA, format!("{}: {}", mode.word(), offered.found));
        offered.remarks.into_iter().for_each(|remark| findings.ok(AREA, remark));
    }
}

fn write_finding(output: &mut impl Write, finding: &Finding) -> io::Result<()> {
    let mark = match finding.health {
        Health::Ok => "ok     ",
        Health::Warning => "warning",
        Health::Error => "error  ",
    };
    writeln!(output, "{mark}  {:<9} {}", finding.area, finding.message)?;
    match &finding.remedy {
        Some(remedy) => writeln!(output, "         {:<9} → {remedy}", ""),
        None => Ok(()),
    }
}

fn terminal(findings: &mut Findings) {
    const AREA: &str = "terminal";
    let tty = match Tty::open() {
        Ok(tty) => tty,
        Err(error) => {
            let remedy = "run levain in a terminal; levain run works without one";
            findings.add(AREA, Health::Warning, format!("there is none ({error})"), Some(remedy));
            return;
        }
    };
    let variable = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
    let term = variable("TERM").unwrap_or_else(|| "unset".to_owned());
    match tty.size() {
        Ok((columns, rows)) if columns < 40 || rows < 10 => {
            let message = format!("{term}, {columns}×{rows}: small");
            findings.add(AREA, Health::Warning, message, Some("80×24 shows everything"));
        }
        Ok((columns, rows)) => findings.ok(AREA, format!("{term}, {columns}×{rows}")),
        Err(error) => findings.add(AREA, Health::Error, format!("does not tell its size: {error}"), None),
    }
    if variable("NO_COLOR").is_some() {
        findings.ok(AREA, "NO_COLOR is set: no colours");
    } else if variable("COLORTERM").is_none() && !term.contains("256color") {
        let remedy = "where the terminal has more, set COLORTERM=truecolor";
        findings.add(AREA, Health::Warning, "sixteen colours, as far as it tells", Some(remedy));
    }
    let answers = ask(&tty).unwrap_or_default();
    let mut tells = |has: bool, yes: &str, no: &str, remedy: &str| {
        if has {
            findings.ok(AREA, yes);
        } else {
            findings.add(AREA, Health::Warning, no, Some(remedy));
        }
    };
    tells(
        answers.synchronized,
        "shows each frame at once (synchronized output)",
        "does not know synchronized output: a frame may tear",
        "newer terminals know it; tmux from 3.7 on",
    );
    tells(
        answers.keyboard,
        "tells shift-enter from enter (keyboard protocol)",
        "cannot tell shift-enter from enter",
        "use alt-enter, ctrl-j, or \\ and enter for a new line",
    );
    tells(
        answers.background,
        "tells its background, so light or dark is chosen by itself",
        "does not tell its background: the dark theme is used",
        "set theme = \"light\" in config.toml if it is light",
    );
}

#[derive(Debug, Default)]
struct Answers {
    synchronized: bool,
    keyboard: bool,
    background: bool,
}

/// Asks the terminal what it can do, and waits a moment for its answers.
fn ask(tty: &Tty) -> Option<Answers> {
    const MOMENT: Duration = Duration::from_millis(200);
    let guard = Guard::enter(tty, false).ok()?;
    let runtime = super::runtime().ok()?;
    let mut answers = Answers::default();
    runtime.block_on(async {
        let mut input = Input::start(tty).ok()?;
        guard.ask().ok()?;
        let listen = async {
            while let Some(event) = input.next().await {
                match event {
                    InputEvent::SynchronizedOutput => answers.synchronized = true,
                    InputEvent::KeyboardProtocol => answers.keyboard = true,
                    InputEvent::Background { .. } => answers.background = true,
                    InputEvent::Closed => return,
                    InputEvent::Key(_)
                    | InputEvent::Paste(_)
                    | InputEvent::Wheel(_)
                    | InputEvent::Pressed(..)
                    | InputEvent::Dragged(..)
                    | InputEvent::Released(..)
                    | InputEvent::Focus(_) => {}
                }
            }
        };
        let _time_is_up = tokio::time::timeout(MOMENT, listen).await;
        Some(())
    })?;
    Some(answers)
}

fn project(setup: &Setup, findings: &mut Findings) {
    const AREA: &str = "project";
    let root = setup.project.root.display();
    let how = match setup.project.found_by {
        FoundBy::Argument => "named with --project",
        FoundBy::Items => "the nearest folder with .ai",
        FoundBy::Git => "the root of the git repository",
        FoundBy::WorkingFolder => "the working folder",
    };
    findings.ok(AREA, format!("{root} ({how})"));
    for (space, folder) in [("project", setup.project.root.join(".ai")), ("user", setup.user_space())] {
        if folder.is_dir() {
            findings.ok(AREA, format!("{space} space: {}", folder.display()));
        } else {
            findings.ok(AREA, format!("{space} space: none ({} is not there)", folder.display()));
        }
    }
    if let Err(error) = setup.layout.prepare() {
        findings.add(AREA, Health::Error, error.to_string(), Some("threads cannot be kept here: make it writable"));
    }
    match setup.dirs.runtime() {
        Ok(path) => findings.ok(AREA, format!("sockets of workers: {}", path.display())),
        Err(error) => findings.add(AREA, Health::Error, error.to_string(), None),
    }
    let trust = setup.trust();
    match (&trust, trust.warning()) {
        (_, Some(warning)) => {
            findings.add(AREA, Health::Warning, warning, Some("levain trust --show lists what could run"));
        }
        (Trust::Trusted(runnable), None) => {
            findings.ok(AREA, format!("trusted: {} files below .ai may run", runnable.files.len()));
        }
        (_, None) => findings.ok(AREA, "nothing of this project could run"),
    }
    match SigningKey::load(&setup.user_space()) {
        Ok(key) => findings.ok(AREA, format!("you sign with {}", key.fingerprint())),
        Err(error) => findings.ok(AREA, format!("you do not sign: {error}")),
    }
}

fn settings(setup: &Setup, findings: &mut Findings) {
    const AREA: &str = "settings";
    let (theme, mistakes) = (ThemeSource::new(setup), look_problems(setup));
    for problem in setup.problems.iter().chain(&mistakes) {
        let health = match problem.severity {
            Severity::Warning => Health::Warning,
            Severity::Error | Severity::Fatal => Health::Error,
        };
        findings.add(AREA, health, problem.without_remedy(), Some(&problem.remedy));
    }
    let path = setup.keymap_file();
    if !path.exists() && setup.config.keymap.is_none() {
        findings.ok(AREA, "keymap: built in");
    } else if !mistakes.iter().any(|problem| problem.file.as_ref() == Some(&path)) {
        findings.ok(AREA, format!("keymap: {}", path.display()));
    }
    match &setup.config.theme.value {
        ThemeChoice::Auto => findings.ok(AREA, "theme: as the terminal is"),
        ThemeChoice::Named(name) if theme.problems().is_empty() => {
            findings.ok(AREA, format!("theme: {name} ({})", setup.config.theme.source));
        }
        ThemeChoice::Named(_) => {}
    }
}

fn models(setup: &Setup, findings: &mut Findings) {
    const AREA: &str = "models";
    let look = setup.config.model.is_none() && setup.config.local_servers.value;
    let found = super::runtime()
        .ok()
        .filter(|_| setup.config.local_servers.value)
        .map(|runtime| runtime.block_on(async { (setup.models.servers().await, setup.models.default_found().await) }));
    for (server, models) in found.iter().flat_map(|(servers, _)| servers) {
        findings.ok(AREA, format!("{server} runs on this machine with {models} models"));
    }
    for (provider, place) in setup.models.files() {
        findings.ok(AREA, format!("{provider}: told by a file of the {place} space"));
    }
    let model = found.filter(|_| look).map_or_else(|| setup.model(), |(_, model)| model);
    let why =
        setup.config.model.as_ref().map_or_else(|| "nothing else was set".to_owned(), |model| model.source.to_string());
    match setup.models.provider(&model) {
        Ok(_) if is_scripted(&model) => {
            let remedy = "set ANTHROPIC_API_KEY or OPENAI_API_KEY, or point OPENAI_BASE_URL at a local server";
            let message = format!("{model} answers from a script ({why}): no model is called");
            findings.add(AREA, Health::Warning, message, Some(remedy));
        }
        Ok(provider) => findings.ok(AREA, format!("{model} at {} ({why})", provider.endpoint())),
        Err(error) => findings.add(AREA, Health::Error, format!("{model} ({why}): {error}"), None),
    }
}

fn threads(setup: &Setup, findings: &mut Findings) {
    const AREA: &str = "threads";
    let threads = match Threads::look(&setup.layout, setup.now(), crate::worker::host::REPLAY) {
        Ok(threads) => threads,
        Err(error) => return findings.add(AREA, Health::Error, error.to_string(), None),
    };
    if !threads.reaped.is_empty() {
        let message = format!("{} had lost their process and were ended", threads.reaped.len());
        findings.add(AREA, Health::Warning, message, Some("levain threads lists them; a message resumes one"));
    }
    match threads.list(Part::All, usize::MAX).and_then(|all| Ok((all, threads.running()?))) {
        Ok((all, _)) if all.is_empty() => findings.ok(AREA, "none yet"),
        Ok((all, running)) => {
            let elsewhere = all.iter().filter(|thread| thread.elsewhere).count();
            let more = if elsewhere > 0 { format!(", {elsewhere} from elsewhere") } else { String::new() };
            findings.ok(AREA, format!("{} kept{more}, {} with a process", all.len(), running.len()));
        }
        Err(error) => findings.add(AREA, Health::Error, error.to_string(), None),
    }
}
