//! `levain attach`: a running thread, line by line. What is typed is sent; with `--json` both directions are the
//! protocol itself.

use super::failure::{Failure, code};
use super::find;
use super::text::{EventWriter, write_question};
use super::{Common, runtime};
use crate::app::Shutdown;
use crate::app::plain::read_lines;
use crate::domain::command::PROGRAM_CLIENT;
use crate::domain::event::{Approve, CancelScope, Delta, PromptMode};
use crate::domain::{Event, Mentions, RequestEvent, Status, ThreadId, ThreadKind, Waiting};
use crate::ports::StoreError;
use crate::session::Setup;
use crate::session::people::{err, json_line, out};
use crate::store::log;
use crate::store::summary::Summary;
use crate::store::threads::is_elsewhere;
use crate::worker::client::Client;
use crate::worker::host::REPLAY;
use crate::worker::launch::Launcher;
use crate::worker::protocol::{Approval, Command, FromWorker, State, ToWorker};
use clap::Args;
use serde::Serialize;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

#[derive(Debug, Args)]
pub(super) struct AttachArguments {
    /// The thread, or a part of its id that fits only one
    #[arg(value_name = "ID")]
    id: String,
    /// Print every message of the worker as a JSON line, and read commands as JSON lines
    #[arg(long)]
    json: bool,
}

/// A line of `--json`.
#[derive(Serialize)]
struct MessageLine<'a> {
    schema: &'static str,
    #[serde(flatten)]
    message: &'a FromWorker,
}

pub(super) fn run(common: &Common, arguments: &AttachArguments) -> Result<ExitCode, Failure> {
    let setup = Setup::gather(common.project.as_deref(), common.arguments(None))?;
    let id = find::thread(&setup, &arguments.id)?;
    if is_elsewhere(&setup.layout, &id) {
        return Err(StoreError::Elsewhere { id: id.to_string() }.into());
    }
    let summary = Summary::look(&setup.layout, &id, REPLAY.summary)?;
    let end = log::read_backward(&setup.layout.log(&id)?, None, 1)?.end;
    let launcher = setup.launcher()?;
    runtime()?.block_on(async {
        let from = if arguments.json { 0 } else { end };
        let client = match launcher.find(&id, from).await {
            Ok(client) => client,
            Err(_) if summary.kind == ThreadKind::OneShot && summary.status != Status::Suspended => {
                return Err(Failure::new(format!(
                    "{id} is {}: nothing runs that could be attached to",
                    summary.status
                ))
                .hint(format!("levain transcript {id} prints what happened")));
            }
            Err(_) => launcher.reach(&id, from).await.map_err(|error| Failure::new(error.to_string()))?,
        };
        let (json, offset) = (arguments.json, from);
        Attached {
            client,
            launcher,
            id,
            offset,
            json,
            writer: EventWriter::default(),
            streamed: false,
            commands: 0,
            state: None,
            leaves: false,
        }
        .talk()
        .await
    })
}

struct Attached {
    client: Client,
    launcher: Launcher,
    id: ThreadId,
    /// Where the log goes on behind what was printed.
    offset: u64,
    json: bool,
    /// Whether the answer under way is on the screen already.
    writer: EventWriter,
    streamed: bool,
    commands: u64,
    state: Option<State>,
    /// The person is about to leave.
    leaves: bool,
}

/// What can be typed.
const HELP: &str = "\
What you type is sent; while the thread works it steers the next turn.
/approve ID once|thread|always|deny [WHY]   answer a call that needs approval
/stop      stop the running turn
/compact   compact older messages into a summary; words behind it say what that is to look at
/quit      leave; the thread goes on";

impl Attached {
    /// Leaves in order: the worker closes the connection once it has heard.
    async fn goodbye(&mut self) {
        const PATIENCE: Duration = Duration::from_millis(200);
        if self.client.sender().send(ToWorker::Goodbye).await.is_ok() {
            let closed = async { while self.client.next().await.is_some() {} };
            let _gave_up = tokio::time::timeout(PATIENCE, closed).await;
        }
    }

    async fn talk(mut self) -> Result<ExitCode, Failure> {
        let mut lines = read_lines();
        let mut shutdown = Shutdown::listen().map_err(|error| Failure::new(error.to_string()))?;
        let mut typing = true;
        let mut unanswered = 0_u32;
        loop {
            let rests = self.state.as_ref().is_some_and(rests) && unanswered == 0;
            if !typing && rests {
                self.goodbye().await;
                return Ok(self.exit_code());
            }
            tokio::select! {
                message = self.client.next() => match message {
                    Some(message) => {
                        if matches!(message, FromWorker::Ack { .. } | FromWorker::Error { .. }) {
                            unanswered = unanswered.saturating_sub(1);
                        }
                        let over = matches!(message, FromWorker::Bye { .. });
                        if !self.show(&message) || over {
                            return Ok(self.exit_code());
                        }
                    }
                    None => return Err(Failure::new("the worker ended unexpectedly")),
                },
                line = lines.recv(), if typing => match line {
                    Some(line) => {
                        unanswered += u32::from(self.say(&line).await?);
                        if self.leaves {
                            self.goodbye().await;
                            return Ok(ExitCode::SUCCESS);
                        }
                    }
                    None => typing = false,
                },
                _ = shutdown.signalled() => {
                    shutdown.leave();
                    self.goodbye().await;
                    return Ok(ExitCode::from(code::INTERRUPTED));
                }
            }
        }
    }

    /// Sends what was typed; whether there was something to send.
    async fn say(&mut self, line: &str) -> Result<bool, Failure> {
        if line.trim().is_empty() {
            return Ok(false);
        }
        let command = if self.json {
            match serde_json::from_str(line) {
                Ok(command) => command,
                Err(error) => {
                    let example = r#"{"name":"submit","text":"hello","mode":"steer"}"#;
                    let _closed = writeln!(err(), "error: not a command: {error}\nhint: for example {example}");
                    return Ok(false);
                }
            }
        } else if line.trim() == "/help" {
            let _closed = writeln!(err(), "{HELP}");
            return Ok(false);
        } else if line.trim() == "/quit" {
            self.leaves = true;
            return Ok(false);
        } else if line.trim() == "/compact" {
            Command::Compact { instructions: None }
        } else if let Some(wish) = line.trim().strip_prefix("/compact ") {
            Command::Compact { instructions: Some(wish.trim().to_owned()) }
        } else if line.trim() == "/handoff" {
            Command::HandOff
        } else if matches!(line.trim(), "/stop" | "/cancel") {
            Command::Cancel { scope: CancelScope::Turn }
        } else if let Some(answer) = line.trim().strip_prefix("/approve") {
            match self.approve(answer) {
                Ok(command) => command,
                Err(problem) => {
                    let _closed = writeln!(err(), "error: {problem}\nhint: for example /approve 1 once");
                    return Ok(false);
                }
            }
        } else if let Some(word) = misspelt(line) {
            let hint = "the commands here are /approve, /stop, /compact, /handoff, /help and /quit; begin with a space to send it as a message";
            let _closed = writeln!(err(), "error: there is no command {word}\nhint: {hint}");
            return Ok(false);
        } else {
            let named = Mentions::of(line);
            let files = named.to_attach();
            Command::Submit {
                text: line.to_owned(),
                mode: PromptMode::Steer,
                images: named.images,
                files,
                client: None,
            }
        };
        if matches!(command, Command::Approve { .. }) && !self.client.may_approve() {
            // Only who started a worker may approve its calls: this becomes one of ours.
            let own = self.launcher.take_over(&mut self.client, &self.id, self.offset).await;
            self.client = own.map_err(|error| Failure::new(error.to_string()))?;
        }
        self.commands += 1;
        let command = if self.json { by_program(command, self.commands) } else { command };
        self.client.sender().command(self.commands, command).await.map_err(|error| Failure::new(error.to_string()))?;
        Ok(true)
    }

    /// `ID once`, `ID thread`, `ID always` or `ID deny`; behind that, what the model is told.
    fn approve(&self, answer: &str) -> Result<Command, String> {
        let mut words = answer.split_whitespace();
        let id: Option<u64> = words.next().and_then(|word| word.parse().ok());
        let decision = words.next().and_then(Approve::from_word).ok_or("say once, thread, always or deny")?;
        let mut waiting = self.state.iter().flat_map(|state| &state.approvals);
        let approval = waiting.find(|approval| Some(approval.id) == id);
        let approval = approval.ok_or_else(|| {
            let ids = self.state.iter().flat_map(|state| &state.approvals).map(|approval| approval.id.to_string());
            match ids.collect::<Vec<_>>().as_slice() {
                [] => "no call needs approval".to_owned(),
                [id] => format!("no call with that number needs approval; {id} does"),
                ids => format!("no call with that number needs approval; {} do", ids.join(", ")),
            }
        })?;
        let said: Vec<&str> = words.collect();
        let said = (!said.is_empty() && decision == Approve::Deny).then(|| said.join(" "));
        Ok(Command::Approve { id: approval.id, args_hash: approval.args_hash.clone(), decision, said })
    }

    /// Prints a message; false when nobody reads any more.
    fn show(&mut self, message: &FromWorker) -> bool {
        if let FromWorker::Event { next_offset, .. } = message {
            self.offset = *next_offset;
        }
        // What waited before is told here, what comes later by its event.
        let mut waiting = Vec::new();
        if let FromWorker::State(state) = message
            && self.state.replace(state.clone()).is_none()
        {
            waiting.clone_from(&state.approvals);
        }
        let mut output = out();
        let result = if self.json {
            json_line(&mut output, &MessageLine { schema: "levain.worker/1", message })
        } else {
            waiting
                .into_iter()
                .try_for_each(|approval| {
                    let Approval { id, item, input, capability, preview, .. } = approval;
                    writeln!(output, "▸ {} {}", &item, &input.to_string())?;
                    write_question(&mut output, id, &item, &capability, preview.as_deref())
                })
                .and_then(|()| self.print(&mut output, message))
        };
        result.and_then(|()| output.flush()).is_ok()
    }

    fn print(&mut self, output: &mut impl Write, message: &FromWorker) -> io::Result<()> {
        match message {
            FromWorker::Event { record, .. } => {
                let answered = matches!(record.event, Event::Request(RequestEvent::CognitionOut { .. }));
                if answered && std::mem::take(&mut self.streamed) {
                    writeln!(output, "\n")
                } else {
                    self.writer.write(output, &record.event)
                }
            }
            FromWorker::Delta { delta: Delta::Text { text }, .. } => {
                self.streamed = true;
                output.write_all(text.as_bytes())
            }
            FromWorker::ToolOutput { text, .. } => output.write_all(text.as_bytes()),
            FromWorker::Inflight { deltas, .. } => {
                for delta in deltas {
                    if let Delta::Text { text } = delta {
                        self.streamed = true;
                        output.write_all(text.as_bytes())?;
                    }
                }
                Ok(())
            }
            FromWorker::Error { message, .. } => writeln!(output, "✗ {message}"),
            FromWorker::Refused { reason } => writeln!(output, "✗ {reason}"),
            FromWorker::Hello { .. }
            | FromWorker::Ack { .. }
            | FromWorker::Delta { .. }
            | FromWorker::Preview { .. }
            | FromWorker::Drawn { .. }
            | FromWorker::Suggested { .. }
            | FromWorker::Typed { .. }
            | FromWorker::State(_)
            | FromWorker::ToolOutputSoFar { .. }
            | FromWorker::Lagged { .. }
            | FromWorker::Bye { .. } => Ok(()),
        }
    }

    fn exit_code(&self) -> ExitCode {
        match self.state.as_ref().map(|state| state.status) {
            Some(Status::Error | Status::Killed) => ExitCode::from(code::ERROR),
            _ => ExitCode::SUCCESS,
        }
    }
}

/// The `/` command that a line begins with, when there is none of that name here. A path is none.
fn misspelt(line: &str) -> Option<&str> {
    let word = line.split_whitespace().next()?;
    let name = word.strip_prefix('/').filter(|_| line.starts_with('/'))?;
    name.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-').then_some(word)
}

fn rests(state: &State) -> bool {
    (state.waiting == Some(Waiting::User) || state.status.is_terminal()) && state.queue.is_empty()
}

/// A prompt that a program sends says so, unless it has a name of its own.
fn by_program(mut command: Command, number: u64) -> Command {
    if let Command::Submit { client: client @ None, .. } = &mut command {
        *client = Some(format!("{PROGRAM_CLIENT}{}-{number}", std::process::id()));
    }
    command
}
