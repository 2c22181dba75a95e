//! `bash`: a command line, run with bash in the project's folder.

use super::command::{Ended, Launch, ending};
use super::sandbox::refusal;
use super::{Answer, Failed, ToolContext};
use crate::ports::{Beneath, ToolListener};
use serde::Deserialize;
use std::path::PathBuf;
use std::time::Duration;

/// How long a command may run when nothing is said, and at most.
const USUAL: Duration = Duration::from_mins(2);
const LONGEST: Duration = Duration::from_mins(10);

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
        }
    }
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
    if arguments.command.trim().is_empty() {
        return Err(Failed("`command` is empty".to_owned()));
    }
    let root = &context.root;
    let folder = root.folder(arguments.working_dir.as_deref().unwrap_or("."))?;
    let longest = arguments.timeout.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let longest = longest.unwrap_or(USUAL).clamp(Duration::from_secs(1), LONGEST);
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
