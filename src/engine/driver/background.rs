//! Commands beside the conversation: starting them, hearing of their ends, and telling calls how they stand.

use super::Audience;
use super::run::Driver;
use super::tools::{CommandsStand, RunningTool, ToolProgress};
use crate::domain::background::{CommandsAsked, MOST_COMMANDS};
use crate::domain::{CallId, Event, ToolEvent};
use crate::engine::thread::Effect;
use crate::ports::tools::{CommandBeside, Isolation};
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

    pub(super) fn run_beside(&mut self, name: CallId, input: Value, confined: bool) {
        let isolation = if confined { Isolation::Sandbox } else { Isolation::Open };
        let command = CommandBeside { name, input, isolation };
        self.background.push(RunningTool::background(Arc::clone(&self.settings.tools), command));
    }

    pub(super) async fn background_told(&mut self, name: CallId, news: ToolProgress) {
        let Some(index) = self.background.iter().position(|command| command.call_id == name) else { return };
        match news {
            ToolProgress::Said(text) => self.background.get_mut(index).into_iter().for_each(|it| it.heard(&text)),
            ToolProgress::Started(process, recorded) => {
                self.background.get_mut(index).into_iter().for_each(|it| it.process = Some(process));
                let begins = self.may_begin(name, process).await;
                let _command_gone = recorded.send(begins);
            }
            // A command asks for nothing.
            ToolProgress::Became(..)
            | ToolProgress::Shows(..)
            | ToolProgress::Checkpoint { .. }
            | ToolProgress::Keeps(..)
            | ToolProgress::AsksParent(_)
            | ToolProgress::StartsChild { .. }
            | ToolProgress::ChildEnded { .. }
            | ToolProgress::StartsCommand { .. }
            | ToolProgress::AsksCommands(..) => {}
            ToolProgress::Ended(outcome) => {
                let command = self.background.remove(index);
                self.forget(&command);
                drop(command);
                let output = outcome.output;
                let output =
                    output.get(output.ceil_char_boundary(output.len().saturating_sub(TOLD))..).unwrap_or_default();
                let (output, error) = (output.to_owned(), outcome.error);
                self.emit(Event::Tool(ToolEvent::CommandEnded { call_id: name, output, error })).await;
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
