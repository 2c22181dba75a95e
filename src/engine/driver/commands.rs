//! What is asked of a thread, and whether it may be.

use super::Audience;
use super::run::{Driver, Seen};
use super::user_commands::{attached, included};
use crate::domain::event::{CancelScope, EndReason, PromptMode};
use crate::domain::{
    ApprovalEvent, Command, ControlEvent, Event, ExtensionEntry, ModelRef, PromptEvent, SettingsEvent, ThreadEvent,
    ThreadKind, ToAttach, title,
};
use crate::engine::thread::Effect;

impl<A: Audience> Driver<A> {
    /// Does what is asked, as far as it is recorded.
    ///
    /// # Errors
    /// The sentence for whoever asked, where it may not be.
    pub(super) async fn command(&mut self, command: Command) -> Result<(), String> {
        match command {
            Command::Submit { text, mode, images, files, client } => {
                self.submit(text, mode, (images, files), client).await?;
            }
            Command::RunCommand { text, client } => {
                self.may_take(&text)?;
                Self::may_be_called(client.as_deref())?;
                self.run_command(text, client).await?;
            }
            Command::Shell { command, shared } => {
                self.may_take(&command)?;
                self.begin_shell(command, shared).await?;
            }
            Command::SubmitHeld { text, held, client } => {
                self.may_take_all(&text, &held.files)?;
                Self::may_be_called(client.as_deref())?;
                self.may_send(&text, &held)?;
                let _somebody_answers = self.settings.models.provider(&self.thread.model)?;
                let (images, files) = (held.images.clone(), held.files.clone());
                let said = self.thread.history.len() + self.thread.notes().count() + 1 + held.messages.len();
                let (prompt, mode) = (self.thread.prompts + 1, PromptMode::FollowUp);
                let queued = PromptEvent::PromptQueued { prompt, text, mode, images, files, client };
                // Before what follows from the event; a refused one was never asked for.
                self.seen = Some(Seen { held, prompt, said });
                self.accept(Event::Prompt(queued)).await.inspect_err(|_refusal| self.seen = None)?;
            }
            Command::Withdraw { prompt } => {
                if !self.thread.queue.iter().any(|queued| queued.prompt == prompt) {
                    return Err("that message has been sent already".into());
                }
                self.accept(Event::Prompt(PromptEvent::PromptWithdrawn { prompt, why: None })).await?;
                self.pipeline.forget_prompt(prompt);
            }
            Command::Cancel { scope } if self.blocked.is_some() => {
                self.hang_up();
                self.todo.push_back(Effect::Emit(Event::Control(ControlEvent::CancelRequested { scope })));
            }
            // A person stops what they began; whoever stops the thread stops that with it.
            Command::Cancel { scope: CancelScope::Turn }
                if !self.thread.is_working() && self.dialogs.stop_commands() => {}
            // Who waits for a handler wants to go on without it.
            Command::Cancel { scope } if self.skip_handler(scope) => {}
            // The one thing that is answered before it is on disk: should this process die now, all of it stops anyway.
            Command::Cancel { scope } => self.inbox.stop = Some(scope),
            Command::Approve { id, args_hash, decision, said } => {
                let Some(asked) = self.thread.approval().filter(|asked| asked.id == id) else {
                    return Err("that call no longer needs approval: it was answered or stopped".into());
                };
                if asked.args_hash != args_hash {
                    return Err("nothing was allowed: the call's arguments are not the ones you saw".into());
                }
                said.as_deref().map_or(Ok(()), |said| self.may_take(said))?;
                self.accept(Event::Approval(ApprovalEvent::ApprovalGiven { id, decision, said })).await?;
            }
            Command::SetModel { model } => self.set_model(model).await?,
            Command::Compact { instructions } => self.ask_for_compaction(instructions).await?,
            Command::SummariseBranch { from, text, instructions } => {
                self.ask_for_branch_summary(from, text, instructions).await?;
            }
            Command::Label { target, label } => {
                let label = label.as_deref().map(title::given).transpose()?;
                let entry = ExtensionEntry::Label { target, label };
                self.accept(Event::Thread(ThreadEvent::ExtensionEntry { entry })).await?;
            }
            Command::StopCommand { command } => {
                if !self.stop_command(&command) {
                    return Err(format!("`{}` does not run", command.0));
                }
            }
            Command::HandOff => self.ask_for_handoff().await?,
            Command::SetLimits { limits } => {
                // What is not named stays as it is: nobody loses a limit by not knowing it.
                let limits = self.thread.limits.overridden(limits);
                self.accept(Event::Settings(SettingsEvent::LimitsChanged { limits })).await?;
            }
            Command::Rename { title } => self.file(SettingsEvent::TitleSet { title: title::given(&title)? }).await?,
            Command::Archive { archived } => self.file(SettingsEvent::Archived { archived }).await?,
            Command::Shutdown => self.leave(EndReason::Asked).await,
            Command::SetBreakpoints { breakpoints } => self.set_breakpoints(breakpoints),
            Command::Resume { how } => self.resume(how).await?,
            // Whoever hosts the thread asks beside what it does.
            Command::Leave { .. } => {}
            Command::Gesture { gesture } => self.settings.handlers.gesture(gesture),
            Command::TakeForeground { id } => self.dialogs.take_foreground(id)?,
            Command::ForegroundOver { id, code } => self.dialogs.foreground_over(id, code),
            Command::PressShortcut { key } => self.press(key)?,
            Command::AnswerDialog { id, reply } => self.answer_dialog(id, reply)?,
            Command::Release => {
                if self.thread.queue.is_empty() {
                    return Err("nothing is queued".into());
                }
                self.accept(Event::Prompt(PromptEvent::QueueReleased {})).await?;
            }
            Command::Arrange { prompts } => {
                if !self.thread.queue.iter().any(|queued| prompts.contains(&queued.prompt)) {
                    return Err("those messages have been sent already".into());
                }
                self.accept(Event::Prompt(PromptEvent::QueueArranged { prompts })).await?;
            }
        }
        Ok(())
    }

    /// Records how the thread is listed.
    async fn file(&mut self, event: SettingsEvent) -> Result<(), String> {
        self.accept(Event::Settings(event)).await?;
        self.save();
        Ok(())
    }

    async fn submit(
        &mut self,
        text: String,
        mode: PromptMode,
        (images, files): (Vec<String>, Vec<ToAttach>),
        client: Option<String>,
    ) -> Result<(), String> {
        // A directive that begins needs no words of a person's.
        if text.trim().is_empty() && self.thread.prompts > 0 {
            return Err("there is nothing to send".into());
        }
        self.may_take(&text)?;
        Self::may_be_called(client.as_deref())?;
        if self.offered_command(&text).is_some() {
            return self.run_command(text, client).await;
        }
        // Nothing is made of what nobody could answer, and whoever wrote it keeps it.
        if self.thread.kind == ThreadKind::Interactive && self.thread.can_take() {
            let _somebody_answers = self.settings.models.provider(&self.thread.model)?;
        }
        let attach = images.iter().map(|name| self.settings.store.attach(name)).collect();
        let images = self.wait_for(attached(attach)).await?;
        let files = self.wait_for(included(self.includes(files))).await?;
        self.may_take_all(&text, &files)?;
        let prompt = self.thread.prompts + 1;
        let queued = PromptEvent::PromptQueued { prompt, text, mode, images, files, client };
        self.accept(Event::Prompt(queued)).await
    }

    /// Another model answers from here on, or the same one at another level.
    async fn set_model(&mut self, model: ModelRef) -> Result<(), String> {
        let _usable = self.settings.models.provider(&model)?;
        if model != self.thread.model {
            self.accept(Event::Settings(SettingsEvent::ModelChanged { model })).await?;
        }
        Ok(())
    }
}
