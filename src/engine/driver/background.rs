//! Commands in the background: starting them, and telling calls how they stand; and what they and a person's own tell.

use super::Audience;
use super::run::Driver;
use super::tools::{CommandsStand, RunningTool, ToolProgress};
use crate::domain::background::{CommandsAsked, MOST_COMMANDS};
use crate::domain::{CallId, Event, ToolEvent};
use crate::engine::thread::Effect;
use crate::ports::ToolOutcome;
use crate::ports::tools::{BackgroundCall, Isolation};
use serde_json::Value;
use std::sync::Arc;
use tokio::sync::oneshot;

/// As much of the end of what a command printed is in its event, in bytes. All of it is in its file.
const TOLD: usize = 2 << 10;

impl<A: Audience> Driver<A> {
    /// Records that a call starts a command, if the thread may have one more.
    pub(super) async fn starts_command(
        &mut self,
        by: CallId,
        command: String,
        input: Value,
        confined: bool,
    ) -> Result<CallId, String> {
        let running = self.thread.commands.iter().filter(|command| command.runs()).count();
        if running >= MOST_COMMANDS {
            return Err(format!("{running} commands run already; stop one first"));
        }
        let name = CallId(format!("command-{}", self.thread.commands_started + 1));
        let started = ToolEvent::CommandStarted { call_id: name.clone(), by, command, input, confined };
        let before = self.thread.commands_started;
        self.emit(Event::Tool(started)).await;
        match &self.blocked {
            Some(blocked) if self.thread.commands_started == before => Err(blocked.refusal()),
            Some(_) | None => Ok(name),
        }
    }

    pub(super) fn run_background(&mut self, name: CallId, input: Value, confined: bool) {
        let isolation = if confined { Isolation::Sandbox } else { Isolation::Open };
        let command = BackgroundCall { name, input, isolation };
        self.background.push(RunningTool::background(Arc::clone(&self.settings.tools), command));
    }

    /// News of a command: of a person's own, or of one in the background.
    pub(super) async fn command_told(&mut self, call_id: CallId, news: ToolProgress) {
        let own = self.shell.as_ref().is_some_and(|shell| shell.call_id == call_id);
        let mut all = self.shell.iter_mut().chain(&mut self.background);
        let Some(command) = all.find(|command| command.call_id == call_id) else { return };
        match news {
            ToolProgress::Said(text) => {
                command.heard(&text);
                if own {
                    self.settings.audience.tool_said(&call_id, text);
                }
            }
            ToolProgress::Started(process, recorded) => {
                command.process = Some(process);
                let begins = self.may_begin(call_id, process).await;
                let _command_gone = recorded.send(begins);
            }
            // Only tools make somebody else of a thread, change files by themselves, keep values for it, show images and start
            // others.
            ToolProgress::Became(..)
            | ToolProgress::Shows(..)
            | ToolProgress::Checkpoint { .. }
            | ToolProgress::Keeps(..)
            | ToolProgress::AsksParent(_)
            | ToolProgress::StartsChild { .. }
            | ToolProgress::ChildEnded { .. }
            | ToolProgress::StartsCommand { .. }
            | ToolProgress::AsksCommands(..) => {}
            ToolProgress::Ended(ToolOutcome { output, error }) => {
                if let Some(process) = command.process {
                    self.settings.store.forget_process(&process);
                }
                let ended = if own {
                    self.shell = None;
                    let ToolOutcome { output, error } = self.short(ToolOutcome { output, error });
                    ToolEvent::ShellEnded { call_id, output, error }
                } else {
                    self.background.retain(|command| command.call_id != call_id);
                    let from = output.ceil_char_boundary(output.len().saturating_sub(TOLD));
                    let output = output.get(from..).unwrap_or_default().to_owned();
                    ToolEvent::CommandEnded { call_id, output, error }
                };
                self.emit(Event::Tool(ended)).await;
                self.tell_waiters();
            }
        }
    }

    pub(super) fn asked_for_commands(&mut self, asked: &CommandsAsked, reply: oneshot::Sender<CommandsStand>) {
        let (CommandsAsked::Over(name) | CommandsAsked::Stop(name)) = asked else {
            let _call_gone = reply.send(Ok(self.thread.commands.clone()));
            return;
        };
        if !self.thread.commands.iter().any(|command| command.name == *name) {
            let _call_gone = reply.send(Err(format!("there is no command `{}`", name.0)));
            return;
        }
        if matches!(asked, CommandsAsked::Stop(_)) {
            self.stop_command(name);
        }
        self.waiters.push((name.clone(), reply));
        self.tell_waiters();
    }

    /// Asks a command to end; whether it runs.
    pub(super) fn stop_command(&mut self, name: &CallId) -> bool {
        let running = self.background.iter_mut().find(|command| command.call_id == *name);
        running.map(RunningTool::stop).is_some()
    }

    /// Answers those who waited for a command that has ended.
    fn tell_waiters(&mut self) {
        for (name, reply) in std::mem::take(&mut self.waiters) {
            if self.thread.commands.iter().any(|command| command.name == name && command.runs()) {
                self.waiters.push((name, reply));
            } else {
                let _call_gone = reply.send(Ok(self.thread.commands.clone()));
            }
        }
        self.waiters.retain(|(_, reply)| !reply.is_closed());
    }

    /// Ends all of them: the thread ends, or its process does.
    pub(super) async fn end_commands(&mut self) {
        for command in std::mem::take(&mut self.background) {
            let (call_id, error) = (command.call_id.clone(), Some("Stopped with its thread.".to_owned()));
            self.end_tool(command);
            self.todo.push_back(Effect::Emit(Event::Tool(ToolEvent::CommandEnded {
                call_id,
                output: String::new(),
                error,
            })));
        }
        self.carry_out().await;
        self.waiters.clear();
    }
}
