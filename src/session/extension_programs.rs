//! Programs that extensions run: `pi.exec` and `child_process`.

use super::setup::{Setup, program};
use crate::domain::{ForegroundProgram, SandboxMode};
use crate::extensions::Refusal;
use crate::ports::child::{Exit, Printed, Talk};
use crate::tools::program::{Program, Ran};
use crate::tools::{Environment, Keeper, Sandbox};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// So long a program of an extension may run that does not say how long.
const LONGEST: Duration = Duration::from_hours(1);
/// So long JavaScript stands still for a program that it waits for without a pause.
pub(super) const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// How they are run.
pub(super) struct Programs {
    root: PathBuf,
    environment: Environment,
    sandbox: Sandbox,
}

impl Programs {
    pub(super) fn new(setup: &Setup) -> Self {
        let root = setup.project.root.clone();
        Self { root, environment: setup.environment(), sandbox: setup.sandbox() }
    }

    /// Whether a sandbox has to hold what extensions run.
    pub(super) fn are_confined(&self) -> bool {
        self.sandbox.mode == SandboxMode::Require
    }

    /// The program that an extension wants to run. A `shell` gets the command as one line.
    pub(super) fn program(&self, arguments: &Value) -> Result<(Program, Duration), Refusal> {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str).map(str::to_owned);
        let command = text("command").filter(|command| !command.is_empty());
        let command = command.ok_or_else(|| Refusal::new("EINVAL", "there is no command to run"))?;
        let rest = arguments.get("args").and_then(Value::as_array).into_iter().flatten();
        let mut words: Vec<String> =
            std::iter::once(command).chain(rest.filter_map(|word| word.as_str().map(str::to_owned))).collect();
        match arguments.get("shell") {
            Some(Value::Bool(true)) => words = vec!["/bin/sh".to_owned(), "-c".to_owned(), words.join(" ")],
            Some(Value::String(shell)) => words = vec![shell.clone(), "-c".to_owned(), words.join(" ")],
            _ => {}
        }
        let mut environment = self.environment.clone();
        for (name, value) in arguments.get("env").and_then(Value::as_object).into_iter().flatten() {
            environment = environment.with(name, value.as_str().unwrap_or_default());
        }
        let folder = text("cwd").map_or_else(|| self.root.clone(), |cwd| self.root.join(cwd));
        let program_of_this = program().map_err(|error| Refusal::new("EIO", error.to_string()))?;
        let confined = self.sandbox.mode == SandboxMode::Require;
        let program = Program {
            words,
            folder,
            environment,
            keeper: Keeper::Process(program_of_this),
            confinement: confined.then(|| self.sandbox.confinement(&[], &[])),
        };
        let longest = arguments.get("timeout").and_then(Value::as_u64).map_or(LONGEST, Duration::from_millis);
        Ok((program, longest.min(LONGEST)))
    }
}

/// The program of an extension that is to have a person's terminal: where a sandbox is required, none.
pub(super) fn in_foreground(from: String, program: &Program) -> Result<ForegroundProgram, Refusal> {
    if program.confinement.is_some() {
        return Err(Refusal::access("a sandbox cannot hold a program that has the terminal"));
    }
    let text = |value: &std::ffi::OsStr| value.to_str().map(str::to_owned);
    let variables = program.environment.variables();
    let environment = variables.filter_map(|(name, value)| Some((text(name)?, text(value)?))).collect();
    Ok(ForegroundProgram { from, words: program.words.clone(), folder: program.folder.clone(), environment })
}

/// Whether an extension wants its program to have the terminal: it reads what a person types.
pub(super) fn wants_terminal(arguments: &Value) -> bool {
    arguments.pointer("/stdio/0").is_some_and(|input| input == "inherit")
}

/// The error of Node, where there is no such program: what starts it would say so as a program of that name does.
fn missing(program: &Program) -> Option<Refusal> {
    let word = program.words.first()?;
    let is_there = |path: &Path| path.metadata().is_ok_and(|found| found.is_file());
    let found = if word.contains('/') {
        is_there(&program.folder.join(word))
    } else {
        let path = program.environment.variables().find(|(name, _)| *name == "PATH").map(|(_, value)| value.to_owned());
        std::env::split_paths(&path.unwrap_or_default()).any(|folder| is_there(&folder.join(word)))
    };
    (!found).then(|| Refusal::new("ENOENT", format!("spawn {word} ENOENT")))
}

/// As pi's `exec` tells it: ended from outside is code 0 and `killed`, not started is code 1.
pub(super) async fn exec(program: Program, longest: Duration) -> Value {
    if let Some(missing) = missing(&program) {
        return json!({"stdout": "", "stderr": missing.message, "code": 1, "killed": false});
    }
    match program.run(None, longest).await {
        Ok(Ran { output, said, code, too_long }) => {
            let killed = too_long || code.is_none();
            let code = if killed { 0 } else { code.unwrap_or_default() };
            json!({"stdout": String::from_utf8_lossy(&output), "stderr": said, "code": code, "killed": killed})
        }
        Err(why) => json!({"stdout": "", "stderr": why, "code": 1, "killed": false}),
    }
}

/// As Node's `child_process` tells it, with what it prints meanwhile.
pub(super) async fn spawn(program: Program, talk: Talk, arguments: Value, longest: Duration) -> Result<Value, Refusal> {
    let reads = arguments.pointer("/stdio/0").is_none_or(|input| input == "pipe");
    let last = arguments.get("killSignal").and_then(Value::as_str).filter(|signal| *signal == "SIGKILL");
    let last = if last.is_some() { Signal::KILL } else { Signal::TERM };
    let command = program.words.first().cloned().unwrap_or_default();
    if let Some(missing) = missing(&program) {
        return Err(missing);
    }
    (talk.hears)(Printed::Output, Vec::new()).await;
    let ended = program.talk(talk, reads, (longest, last)).await;
    let Exit { code, signal, too_long } =
        ended.map_err(|why| Refusal::new("ENOENT", format!("spawn {command}: {why}")))?;
    Ok(json!({"code": code, "signal": signal.map(signal_name), "timedOut": too_long}))
}

/// What Node calls a signal.
fn signal_name(number: i32) -> String {
    let known = [
        (Signal::HUP, "SIGHUP"),
        (Signal::INT, "SIGINT"),
        (Signal::QUIT, "SIGQUIT"),
        (Signal::ILL, "SIGILL"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::KILL, "SIGKILL"),
        (Signal::USR1, "SIGUSR1"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::USR2, "SIGUSR2"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::ALARM, "SIGALRM"),
        (Signal::TERM, "SIGTERM"),
    ];
    let found = known.iter().find(|(signal, _)| signal.as_raw() == number);
    found.map_or_else(|| format!("signal {number}"), |(_, name)| (*name).to_owned())
}

/// The end of a program that JavaScript stood still for, as Node tells it.
pub(super) async fn process(program: Program, input: Option<Vec<u8>>, longest: Duration) -> Result<Value, Refusal> {
    let command = program.words.first().cloned().unwrap_or_default();
    if let Some(missing) = missing(&program) {
        return Err(missing);
    }
    let ran = program.run(input, longest).await;
    let Ran { output, said, code, too_long } =
        ran.map_err(|why| Refusal::new("ENOENT", format!("spawn {command}: {why}")))?;
    let signal = if too_long || code.is_none() { Some("SIGTERM") } else { None };
    Ok(
        json!({"stdout": String::from_utf8_lossy(&output), "stderr": said, "code": code, "signal": signal, "timedOut": too_long}),
    )
}
