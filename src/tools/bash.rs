//! `bash`: a command line, run with bash in the project's folder, to its end or beside the conversation.

use super::command::{Ended, Launch, ending};
use super::commands;
use super::root::Root;
use super::sandbox::refusal;
use super::{Answer, Failed, ToolContext};
use crate::domain::background::CommandsAsked;
use crate::domain::capability::{COMMANDS, flattened};
use crate::ports::{Beneath, ToolListener};
use serde::Deserialize;
use serde_json::Value;
use std::path::PathBuf;
use std::time::Duration;
use tokio::time::timeout;

/// How long a command may run when nothing is said, and at most.
const USUAL: Duration = Duration::from_mins(2);
const LONGEST: Duration = Duration::from_mins(10);

/// The same beside the conversation.
const LONGEST_BESIDE: Duration = Duration::from_hours(24 * 7);

/// What ends within this time of its start did not work as a server or a watcher: the call that started it says so.
const AT_ONCE: Duration = Duration::from_millis(500);

#[derive(Deserialize)]
pub(super) struct Bash {
    command: String,
    /// Seconds.
    timeout: Option<f64>,
    working_dir: Option<String>,
    /// Folders beside the project that it writes in, if it is confined.
    #[serde(default)]
    write_paths: Vec<PathBuf>,
    /// TCP ports that it connects to, if it is confined.
    #[serde(default)]
    ports: Vec<u16>,
    /// It goes on beside the conversation.
    #[serde(default)]
    pub(super) background: bool,
}

impl Bash {
    /// A command that a person gave: it may take as long as any.
    pub(super) fn of_a_person(command: &str) -> Self {
        Self {
            command: command.to_owned(),
            timeout: Some(LONGEST.as_secs_f64()),
            working_dir: None,
            write_paths: Vec::new(),
            ports: Vec::new(),
            background: false,
        }
    }

    fn longest(&self) -> Duration {
        let (usual, most) = if self.background { (LONGEST_BESIDE, LONGEST_BESIDE) } else { (USUAL, LONGEST) };
        let longest = self.timeout.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        longest.unwrap_or(usual).clamp(Duration::from_secs(1), most)
    }

    /// The folder that it runs in, if there is something to run.
    fn folder(&self, root: &Root) -> Result<PathBuf, Failed> {
        if self.command.trim().is_empty() {
            return Err(Failed("`command` is empty".to_owned()));
        }
        Ok(root.folder(self.working_dir.as_deref().unwrap_or("."))?)
    }
}

/// Has a command run beside the conversation, and answers with its name; `input` is what the call said, `file` where its output will be.
pub(super) async fn start(
    context: &ToolContext,
    arguments: &Bash,
    input: Value,
    confined: bool,
    listener: &dyn ToolListener,
) -> Answer {
    arguments.folder(&context.root)?;
    let started = listener.starts_command(arguments.command.clone(), input, confined).await;
    let name = started.map_err(|why| Failed(format!("The command was not started: {why}.")))?;
    let tool = flattened(COMMANDS);
    if let Ok(stand) = timeout(AT_ONCE, listener.commands(CommandsAsked::Over(name.clone()))).await {
        let commands = stand.map_err(|why| Failed(format!("It is not known how {} stands: {why}.", name.0)))?;
        return commands::outcome(context, &commands, &name).await;
    }
    Ok(format!(
        "{} runs. {tool} reads what it prints, waits for its end, or stops it; it ends with this thread.",
        name.0
    ))
}

/// Runs a command to its end, or until `stop` is over; `spill` is where its output goes when it is too long for an
/// answer.
pub(super) async fn bash(
    context: &ToolContext,
    spill: Option<Beneath>,
    arguments: &Bash,
    confined: bool,
    stop: impl Future<Output = ()>,
    listener: &dyn ToolListener,
) -> Answer {
    let root = &context.root;
    let (folder, longest) = (arguments.folder(root)?, arguments.longest());
    let confinement = confined.then(|| {
        let write: Vec<PathBuf> = arguments.write_paths.iter().map(|path| root.path().join(path)).collect();
        context.sandbox.confinement(&write, &arguments.ports)
    });
    let launch = Launch {
        words: vec!["bash".into(), "-c".into(), arguments.command.clone().into()],
        folder: &folder,
        environment: &context.environment,
        variables: Vec::new(),
        input: None,
        confinement: confinement.clone(),
        longest,
        spill,
        apart: false,
        whole: arguments.background,
    };
    let finished = context.keeper.run(launch, stop, listener).await?;
    let text = finished.output.finish(|path| root.told(&path.path()));
    let Some(ending) = ending(&finished.ended, longest) else {
        return Ok(if text.is_empty() { "(no output)".to_owned() } else { text });
    };
    let gap = match &finished.ended {
        Ended::Itself(_) if text.is_empty() || text.ends_with('\n') => "",
        Ended::Itself(_) | Ended::TooLong | Ended::Stopped | Ended::Lost(_) => "\n",
    };
    let refused = confinement.and_then(|confinement| refusal(&text, &confinement));
    let refused = refused.map(|refused| format!("{refused}\n")).unwrap_or_default();
    Err(Failed(format!("{text}{gap}{refused}({ending})")))
}
