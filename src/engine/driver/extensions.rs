//! What extensions of a thread ask of its driver, and how they reach it.

use super::Audience;
use super::dialogs::{Asked, Happened, LARGEST, MOST};
use super::inbox::{DriverMessage, Handle};
use super::run::Driver;
use super::stage::within;
use crate::domain::command::LONG_NAME;
use crate::domain::event::{CancelScope, PromptMode};
use crate::domain::{
    Command, Dialog, DialogReply, Drawing, Event, ExtensionEntry, ForegroundProgram, Insertion, Leaving, Look, MoveTo,
    Moved, NumberedText, OpenComponent, OpenDialog, PromptEvent, Shown, Suggested, Suggestion, ThreadEvent, ThreadKind,
    Timestamp, ToComplete, ToDraw, ToolCall,
};
use crate::engine::thread::{Effect, Phase};
use crate::pipeline::Chain;
use crate::ports::handlers::DEADLINE;
use crate::ports::tools::Waiting;
use crate::ports::{ModelAnswer, ModelCall, ThreadAccess};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

impl<A: Audience> Driver<A> {
    /// The command of an extension that a prompt is, and what stands behind its name.
    pub(super) fn offered_command(&self, text: &str) -> Option<(String, String)> {
        let rest = text.strip_prefix('/')?;
        let rest = rest.strip_prefix(LONG_NAME).unwrap_or(rest);
        let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let offered = self.settings.handlers.commands();
        offered.iter().find(|command| command.name == name)?;
        // As they were written: what white space means in them is the command's matter.
        Some((name.to_owned(), arguments.to_owned()))
    }

    /// Runs the command of an extension that a prompt names, beside the thread.
    ///
    /// # Errors
    /// The sentence for whoever asked, where there is none or it cannot run here.
    pub(super) async fn run_command(&mut self, text: String, client: Option<String>) -> Result<(), String> {
        let Some((name, arguments)) = self.offered_command(&text) else {
            let word = text.split_whitespace().next().unwrap_or_default();
            return Err(format!("there is no command {word}, neither of levain nor of an extension"));
        };
        if self.thread.kind != ThreadKind::Interactive {
            return Err(format!(
                "/{name} is a command of an extension, which runs in threads that a person talks with"
            ));
        }
        let (prompt, mode, images, files) = (self.thread.prompts + 1, PromptMode::Steer, Vec::new(), Vec::new());
        let queued = PromptEvent::PromptQueued { prompt, text: text.clone(), mode, images, files, client };
        self.accept(Event::Prompt(queued)).await?;
        // Before it is taken: no handler is asked about it, and it waits for no turn.
        let handled = PromptEvent::PromptHandled { prompt, text, by: format!("/{name}"), steps: Vec::new() };
        self.todo.push_front(Effect::Emit(Event::Prompt(handled)));
        let handlers = Arc::clone(&self.settings.handlers);
        self.dialogs.running.spawn(async move {
            let done = handlers.command(name.clone(), arguments).await;
            (format!("/{name}"), done)
        });
        Ok(())
    }

    /// Runs what an extension offers under a key, beside the thread.
    ///
    /// # Errors
    /// The sentence for whoever asked, where none offers anything under it or it cannot run here.
    pub(super) fn press(&mut self, key: String) -> Result<(), String> {
        if !self.settings.handlers.shortcuts().iter().any(|offered| offered.key == key) {
            return Err(format!("{key} runs nothing here"));
        }
        if self.thread.kind != ThreadKind::Interactive {
            return Err(format!("{key} is a key of an extension, for threads that a person talks with"));
        }
        let handlers = Arc::clone(&self.settings.handlers);
        self.dialogs.running.spawn(async move {
            let done = handlers.shortcut(key.clone()).await;
            (key, done)
        });
        Ok(())
    }

    /// Asks extensions beside the thread whether a person may leave it. Who does not answer in time has nothing against it.
    pub(super) fn may_leave(&mut self, leaving: Leaving, reply: oneshot::Sender<Result<(), String>>) {
        let (handlers, person) = (Arc::clone(&self.settings.handlers), self.dialogs.watch());
        self.dialogs.asked_beside.spawn(async move {
            let answer = within(DEADLINE, Some(person), handlers.may_leave(leaving)).await;
            let _gone = reply.send(answer.unwrap_or(Ok(())));
        });
        while self.dialogs.asked_beside.try_join_next().is_some() {}
    }

    /// Asks extensions how they draw something, beside everything else. One that takes too long does not draw it.
    pub(super) fn draw(&mut self, to_draw: ToDraw, reply: oneshot::Sender<Drawing>) {
        let handlers = Arc::clone(&self.settings.handlers);
        self.dialogs.asked_beside.spawn(async move {
            let drawn = timeout(DEADLINE, handlers.drawing(to_draw)).await;
            let _gone = reply.send(drawn.unwrap_or_default());
        });
        while self.dialogs.asked_beside.try_join_next().is_some() {}
    }

    /// Asks extensions what completes a draft, beside everything else, as long as somebody waits for it. Who takes too long has
    /// nothing to say.
    pub(super) fn complete(&mut self, draft: ToComplete, mut reply: oneshot::Sender<Vec<Suggestion>>) {
        let handlers = Arc::clone(&self.settings.handlers);
        self.dialogs.asked_beside.spawn(async move {
            let said = tokio::select! {
                said = timeout(DEADLINE, handlers.completions(draft)) => said.unwrap_or_default(),
                () = reply.closed() => return,
            };
            let _gone = reply.send(said);
        });
        while self.dialogs.asked_beside.try_join_next().is_some() {}
    }

    /// Asks extensions what becomes of something that was typed, beside everything else. Where they take too long it stays as it is.
    pub(super) fn typed(&mut self, data: String, reply: oneshot::Sender<Option<String>>) {
        let handlers = Arc::clone(&self.settings.handlers);
        self.dialogs.asked_beside.spawn(async move {
            let made = timeout(DEADLINE, handlers.typed(data.clone())).await;
            let _gone = reply.send(made.unwrap_or(Some(data)));
        });
        while self.dialogs.asked_beside.try_join_next().is_some() {}
    }

    /// Takes a call that is made beside the thread through its guards. It stands still at no breakpoint.
    fn guard(&mut self, call: &ToolCall, mut reply: oneshot::Sender<Result<Value, String>>) {
        let (asking, (_, call)) = (self.asking(), self.offered(call));
        self.dialogs.asked_beside.spawn(async move {
            let passed = tokio::select! {
                passed = asking.through(Chain::ToolCall { call, blocked: None, terminates: false }) => passed,
                () = reply.closed() => return,
            };
            let answer = if let Chain::ToolCall { call, blocked, .. } = passed.chain {
                blocked.map_or(Ok(call.input), Err)
            } else {
                Err("its guards did not answer".to_owned())
            };
            let _gone = reply.send(answer);
        });
        while self.dialogs.asked_beside.try_join_next().is_some() {}
    }

    pub(super) async fn extension_asks(&mut self, asked: Asked) {
        match asked {
            Asked::Dialog { from, dialog, within, reply } => {
                let size = serde_json::to_string(&dialog).map_or(usize::MAX, |text| text.len());
                if self.dialogs.open.len() >= MOST || size > LARGEST {
                    let _gone = reply.send(None);
                    return;
                }
                self.dialogs.asked += 1;
                let (id, since) = (self.dialogs.asked, self.settings.clock.now());
                let length = |within: Duration| u64::try_from(within.as_millis()).unwrap_or(u64::MAX);
                let ends = within.map(|within| Timestamp(since.0.saturating_add(length(within))));
                self.dialogs.open.push((OpenDialog { id, from, dialog, since, ends }, reply));
                self.dialogs.count();
            }
            Asked::Show(shown) => self.dialogs.show(shown),
            Asked::Foreground(program, taken, over) => self.dialogs.bring_forward(program, taken, over),
            Asked::Guard(call, reply) => self.guard(&call, reply),
            Asked::Call(call, reply) => self.call_model(*call, reply).await,
            Asked::Components(open, done) => {
                let size = open.iter().flat_map(|component| &component.lines).map(String::len).sum::<usize>();
                // More than a screen holds is of no use to anybody.
                self.dialogs.components = if size <= LARGEST * 4 { open } else { Vec::new() };
                self.dialogs.count();
                let _gone = done.send(());
            }
            Asked::Suggest(text, how) if text.len() <= LARGEST => {
                let before = self.dialogs.suggested.as_ref().map(|suggested| &suggested.text);
                let text = NumberedText::after(before, text);
                self.dialogs.suggested = Some(Suggested { text, how });
            }
            Asked::Move(to, text) if text.len() <= LARGEST => {
                let text = NumberedText::after(self.dialogs.moved.as_ref().map(|moved| &moved.text), text);
                self.dialogs.moved = Some(Moved { text, to });
            }
            Asked::Theme(name) if name.len() <= LONGEST_THEME => {
                self.dialogs.theme = Some(NumberedText::after(self.dialogs.theme.as_ref(), name));
            }
            Asked::Look(look) => self.dialogs.looks.change(look),
            Asked::Copy(text) if text.len() <= LARGEST => {
                self.dialogs.copied = Some(NumberedText::after(self.dialogs.copied.as_ref(), text));
            }
            Asked::Suggest(..) | Asked::Copy(_) | Asked::Move(..) | Asked::Theme(_) => {}
            Asked::Attention(text) => {
                self.dialogs.calling = Some(NumberedText::after(self.dialogs.calling.as_ref(), text));
            }
            Asked::Append(mut entry, done) => {
                // What a handler says of a prompt goes along with it, and is answered with it.
                if let ExtensionEntry::Message { turn, .. } = &mut entry
                    && matches!(self.thread.phase, Phase::Taking { .. })
                {
                    *turn = None;
                }
                let size = serde_json::to_string(&entry).map_or(usize::MAX, |text| text.len());
                if size <= LARGEST_ENTRY {
                    let _kept = self.accept(Event::Thread(ThreadEvent::ExtensionEntry { entry })).await;
                }
                let _gone = done.send(());
            }
            Asked::Abort => self.inbox.stop = self.inbox.stop.max(Some(CancelScope::Turn)),
            Asked::Notice(text) => self.todo.push_back(Effect::Emit(Event::Thread(ThreadEvent::Notice { text }))),
        }
    }

    pub(super) async fn extension_told(&mut self, happened: Happened) {
        match happened {
            Happened::Withdrawn(place) => {
                if place < self.dialogs.open.len() {
                    drop(self.dialogs.open.remove(place));
                }
                self.dialogs.count();
                self.tell_state();
            }
            Happened::CommandOver(None) => {}
            Happened::Called(called) => self.side_call_over(*called).await,
            Happened::CommandOver(Some((name, why))) => {
                let text = format!("{name} failed: {why}");
                self.emit(Event::Thread(ThreadEvent::Notice { text })).await;
            }
        }
    }

    /// Answers a question; without a reply it is dismissed.
    ///
    /// # Errors
    /// The sentence for the person, where it no longer waits or takes no such answer.
    pub(super) fn answer_dialog(&mut self, id: u64, reply: Option<DialogReply>) -> Result<(), String> {
        let place = self.dialogs.open.iter().position(|(dialog, _)| dialog.id == id);
        let Some(place) = place else { return Err("that question no longer waits".to_owned()) };
        if reply.as_ref().is_some_and(|reply| !self.dialogs.open[place].0.dialog.takes(reply)) {
            return Err("that is no answer to this question".to_owned());
        }
        let (_, asker) = self.dialogs.open.remove(place);
        let _gone = asker.send(reply);
        self.dialogs.count();
        Ok(())
    }
}

/// Bytes of the name of a theme.
const LONGEST_THEME: usize = 200;

/// Bytes of one entry that an extension leaves; a larger one is not kept.
const LARGEST_ENTRY: usize = 1 << 20;

/// A program that no screen has taken by then is not run.
const TAKEN_WITHIN: Duration = Duration::from_secs(5);

/// A driver, for its own extensions: they keep it from ending no more than it keeps itself.
struct Access(mpsc::WeakSender<DriverMessage>);

impl Handle {
    /// The same for extensions of the thread.
    #[must_use]
    pub fn access(&self) -> Arc<dyn ThreadAccess> {
        Arc::new(Access(self.sender.downgrade()))
    }
}

impl Access {
    fn tell(&self, asked: Asked) {
        // Whoever shows more than a busy thread can take is not waited for: it is left out.
        if let Some(sender) = self.0.upgrade() {
            drop(sender.try_send(DriverMessage::Extension(asked)));
        }
    }

    /// Asks for something, and waits until it is done or the thread has ended. It is asked here and now where there is room: what
    /// a handler leaves behind comes before what it answers.
    fn done(&self, asked: impl FnOnce(oneshot::Sender<()>) -> Asked) -> Waiting<'static, ()> {
        let (done, over) = oneshot::channel();
        let asked = DriverMessage::Extension(asked(done));
        let Some(sender) = self.0.upgrade() else { return Box::pin(std::future::ready(())) };
        let late = match sender.try_send(asked) {
            Ok(()) => None,
            Err(mpsc::error::TrySendError::Full(asked)) => Some(asked),
            Err(mpsc::error::TrySendError::Closed(_)) => return Box::pin(std::future::ready(())),
        };
        Box::pin(async move {
            if let Some(asked) = late
                && sender.send(asked).await.is_err()
            {
                return;
            }
            let _ended = over.await;
        })
    }
}

impl ThreadAccess for Access {
    fn ask(&self, from: String, dialog: Dialog, within: Option<Duration>) -> Waiting<'static, Option<DialogReply>> {
        let sender = self.0.upgrade();
        Box::pin(async move {
            let (reply, answer) = oneshot::channel();
            sender?.send(DriverMessage::Extension(Asked::Dialog { from, dialog, within, reply })).await.ok()?;
            match within {
                Some(within) => timeout(within, answer).await.ok()?.ok().flatten(),
                None => answer.await.ok().flatten(),
            }
        })
    }

    fn show(&self, shown: Shown) {
        self.tell(Asked::Show(shown));
    }

    fn components(&self, open: Vec<OpenComponent>) -> Waiting<'static, ()> {
        self.done(|done| Asked::Components(open, done))
    }

    fn foreground(&self, program: ForegroundProgram) -> Waiting<'static, Option<i32>> {
        let sender = self.0.upgrade();
        Box::pin(async move {
            let ((taken, is_taken), (over, is_over)) = (oneshot::channel(), oneshot::channel());
            sender?.send(DriverMessage::Extension(Asked::Foreground(program, taken, over))).await.ok()?;
            timeout(TAKEN_WITHIN, is_taken).await.ok()?.ok()?;
            is_over.await.ok().flatten()
        })
    }

    fn notice(&self, text: String) {
        self.tell(Asked::Notice(text));
    }

    fn abort(&self) {
        self.tell(Asked::Abort);
    }

    fn move_on(&self, to: MoveTo, text: String) {
        self.tell(Asked::Move(to, text));
    }

    fn call(&self, text: String) {
        self.tell(Asked::Attention(text));
    }

    fn choose_theme(&self, name: String) {
        self.tell(Asked::Theme(name));
    }

    fn copy(&self, text: String) {
        self.tell(Asked::Copy(text));
    }

    fn look(&self, look: Look) {
        self.tell(Asked::Look(look));
    }

    fn suggest(&self, text: String, how: Insertion) {
        self.tell(Asked::Suggest(text, how));
    }

    fn append(&self, entry: ExtensionEntry) -> Waiting<'static, ()> {
        self.done(|done| Asked::Append(entry, done))
    }

    fn call_model(&self, call: ModelCall) -> Waiting<'static, Result<ModelAnswer, String>> {
        let sender = self.0.upgrade();
        Box::pin(async move {
            let gone = || "the thread is ending".to_owned();
            let (reply, answer) = oneshot::channel();
            let asked = DriverMessage::Extension(Asked::Call(Box::new(call), reply));
            sender.ok_or_else(gone)?.send(asked).await.map_err(|_ended| gone())?;
            answer.await.map_err(|_ended| gone())?
        })
    }

    fn guard(&self, call: ToolCall) -> Waiting<'static, Result<Value, String>> {
        let sender = self.0.upgrade();
        Box::pin(async move {
            let gone = || "the thread is ending".to_owned();
            let (reply, answer) = oneshot::channel();
            let asked = DriverMessage::Extension(Asked::Guard(call, reply));
            sender.ok_or_else(gone)?.send(asked).await.map_err(|_ended| gone())?;
            answer.await.map_err(|_ended| gone())?
        })
    }

    fn command(&self, command: Command) -> Waiting<'static, Result<(), String>> {
        let handle = self.0.upgrade().map(|sender| Handle { sender });
        Box::pin(async move { handle.ok_or("the thread is ending")?.ask(command).await })
    }
}
