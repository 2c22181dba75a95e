//! Questions of extensions to the person, what they show and draw, and their commands that run.

use crate::domain::{
    ContentHash, Dialog, DialogReply, ExtensionEntry, Foreground, ForegroundProgram, Insertion, Look, Looks, ModelRef,
    MoveTo, Moved, NumberedText, OfExtensions, OpenComponent, OpenDialog, Shown, Suggested, Tokens, ToolCall,
};
use crate::engine::answer::Answer;
use crate::ports::{Handlers, ModelAnswer, ModelCall};
use serde_json::Value;
use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;

/// Who waits for a call of a model.
pub(super) type Reply = oneshot::Sender<Result<ModelAnswer, String>>;

/// As many questions wait at once. Who asks one more is answered as if it had been dismissed.
pub(super) const MOST: usize = 16;
/// As many things are shown at once.
const MOST_SHOWN: usize = 32;
/// Bytes of a question with all its texts, and of what is shown.
pub(super) const LARGEST: usize = 64 << 10;

/// What an extension asks for.
pub(super) enum Asked {
    Dialog {
        from: String,
        dialog: Dialog,
        within: Option<Duration>,
        reply: oneshot::Sender<Option<DialogReply>>,
    },
    Show(Shown),
    Components(Vec<OpenComponent>, oneshot::Sender<()>),
    Foreground(ForegroundProgram, oneshot::Sender<()>, oneshot::Sender<Option<i32>>),
    Notice(String),
    /// The turn ends, whoever is waited for.
    Abort,
    Suggest(String, Insertion),
    /// A text for the clipboard.
    Copy(String),
    Attention(String),
    Theme(String),
    Look(Look),
    Move(MoveTo, String),
    Append(ExtensionEntry, oneshot::Sender<()>),
    Call(Box<ModelCall>, Reply),
    Guard(ToolCall, oneshot::Sender<Result<Value, String>>),
}

/// Questions that wait, and what is shown.
pub(super) struct Dialogs {
    pub(super) open: Vec<(OpenDialog, oneshot::Sender<Option<DialogReply>>)>,
    pub(super) asked: u64,
    /// The draft of the new thread that the person was led to last.
    pub(super) moved: Option<Moved>,
    /// What the person is called for, the newest.
    pub(super) calling: Option<NumberedText>,
    /// The theme that was chosen last.
    pub(super) theme: Option<NumberedText>,
    /// How they have the thread shown.
    pub(super) looks: Looks,
    /// The newest text for the draft.
    pub(super) suggested: Option<Suggested>,
    /// The newest text for the clipboard.
    pub(super) copied: Option<NumberedText>,
    shown: Vec<Shown>,
    pub(super) components: Vec<OpenComponent>,
    /// The program that is to have a terminal, or has it.
    pub(super) foreground: Option<ForegroundWait>,
    /// How many there were.
    pub(super) foregrounds: u64,
    /// How many wait, and components that a person attends to.
    count: watch::Sender<usize>,
    /// Commands of extensions that run beside the thread.
    pub(super) running: JoinSet<(String, Result<(), String>)>,
    /// They are asked whether a person may leave, and how they draw something.
    pub(super) asked_beside: JoinSet<()>,
    /// Calls of models that they make.
    pub(super) calls: JoinSet<Called>,
    /// Ends them.
    pub(super) closing: watch::Sender<bool>,
    /// How many were made.
    pub(super) called: u32,
}

/// A program that is to have a terminal, or has it.
pub(super) struct ForegroundWait {
    pub(super) wanted: Foreground,
    /// Told when a screen has taken it.
    pub(super) taken: Option<oneshot::Sender<()>>,
    pub(super) over: oneshot::Sender<Option<i32>>,
}

/// A call of a model that an extension makes.
#[derive(Clone)]
pub(super) struct About {
    /// What it has in the ledger.
    pub(super) number: u32,
    /// The extension that made it.
    pub(super) from: String,
    /// What was sent, in the content store.
    pub(super) body: Option<ContentHash>,
    pub(super) model: ModelRef,
    /// The estimate of the request.
    pub(super) sent: Tokens,
    /// It is a part of an answer, with which it counts.
    pub(super) within: bool,
}

/// A call of a model that is over.
pub(super) struct Called {
    pub(super) about: About,
    pub(super) answer: Answer,
    pub(super) failed: Option<String>,
    pub(super) reply: Reply,
}

impl Default for Dialogs {
    fn default() -> Self {
        Self {
            open: Vec::new(),
            asked: 0,
            suggested: None,
            copied: None,
            theme: None,
            looks: Looks::default(),
            calling: None,
            moved: None,
            shown: Vec::new(),
            components: Vec::new(),
            foreground: None,
            foregrounds: 0,
            count: watch::Sender::new(0),
            running: JoinSet::new(),
            asked_beside: JoinSet::new(),
            calls: JoinSet::new(),
            closing: watch::Sender::new(false),
            called: 0,
        }
    }
}

impl Dialogs {
    /// What extensions ask, show and offer now.
    pub(super) fn state(&self, handlers: &dyn Handlers) -> OfExtensions {
        OfExtensions {
            dialogs: self.open.iter().map(|(dialog, _)| dialog.clone()).collect(),
            shown: self.shown.clone(),
            suggested: self.suggested.clone(),
            copied: self.copied.clone(),
            calling: self.calling.clone(),
            theme: self.theme.clone(),
            moved: self.moved.clone(),
            commands: handlers.commands(),
            shortcuts: handlers.shortcuts(),
            components: self.components.clone(),
            guards_leaving: handlers.guards_leaving(),
            draws: handlers.has_extensions(),
            completes: handlers.completes(),
            foreground: self.waiting_program().cloned(),
            drawn: handlers.drawn(),
            looks: self.looks.clone(),
        }
    }

    /// The program that no screen has taken yet.
    fn waiting_program(&self) -> Option<&Foreground> {
        let waits = self.foreground.as_ref()?;
        waits.taken.as_ref().is_some_and(|taken| !taken.is_closed()).then_some(&waits.wanted)
    }

    /// A program waits for a terminal, unless another one does or has it.
    pub(super) fn bring_forward(
        &mut self,
        program: ForegroundProgram,
        taken: oneshot::Sender<()>,
        over: oneshot::Sender<Option<i32>>,
    ) {
        if self.foreground.as_ref().is_some_and(|other| !other.over.is_closed()) {
            return;
        }
        self.foregrounds += 1;
        let wanted = Foreground { id: self.foregrounds, program };
        self.foreground = Some(ForegroundWait { wanted, taken: Some(taken), over });
        self.count();
    }

    /// A screen takes it.
    ///
    /// # Errors
    /// The sentence for that screen, where it may not.
    pub(super) fn take_foreground(&mut self, id: u64) -> Result<(), String> {
        let waits = self.foreground.as_mut().filter(|waits| waits.wanted.id == id);
        let taken = waits.and_then(|waits| waits.taken.take());
        let told = taken.is_some_and(|taken| taken.send(()).is_ok());
        if told { Ok(()) } else { Err("that program no longer waits for a terminal".to_owned()) }
    }

    /// It has ended, or the screen that ran it is gone.
    pub(super) fn foreground_over(&mut self, id: u64, code: Option<i32>) {
        if let Some(waits) = self.foreground.take_if(|waits| waits.wanted.id == id) {
            let _gone = waits.over.send(code);
        }
        self.count();
    }

    /// How many questions wait, as it changes.
    pub(super) fn watch(&self) -> watch::Receiver<usize> {
        self.count.subscribe()
    }

    /// Ends the commands that run; whether there were any.
    pub(super) fn stop_commands(&mut self) -> bool {
        let any = !self.running.is_empty();
        self.running.abort_all();
        any
    }

    pub(super) fn count(&self) {
        let runs = self.foreground.as_ref().is_some_and(|waits| !waits.over.is_closed());
        let now =
            usize::from(runs) + self.open.len() + self.components.iter().filter(|component| component.focused).count();
        self.count.send_if_modified(|count| std::mem::replace(count, now) != now);
    }

    pub(super) fn show(&mut self, shown: Shown) {
        let place = self.shown.iter().position(|known| known.key == shown.key && known.place == shown.place);
        let size: usize = shown.lines.iter().map(String::len).sum();
        match place {
            Some(place) if shown.lines.is_empty() => drop(self.shown.remove(place)),
            Some(place) if size <= LARGEST => self.shown[place] = shown,
            None if !shown.lines.is_empty() && size <= LARGEST && self.shown.len() < MOST_SHOWN => {
                self.shown.push(shown);
                self.shown.sort_by(|one, other| (one.place, &one.key).cmp(&(other.place, &other.key)));
            }
            Some(_) | None => {}
        }
    }
}

/// What became of what extensions wanted.
pub(super) enum Happened {
    /// Who asked the question at this place no longer waits.
    Withdrawn(usize),
    /// A command has ended, with its name and what went wrong.
    CommandOver(Option<(String, String)>),
    /// A call of a model is.
    Called(Box<Called>),
}

/// Comes when something became of what extensions wanted. Losing this future loses nothing.
pub(super) async fn happened(dialogs: &mut Dialogs) -> Happened {
    poll_fn(|context| {
        let gone = |(_, reply): &mut (OpenDialog, oneshot::Sender<_>)| reply.poll_closed(context).is_ready();
        if let Some(place) = dialogs.open.iter_mut().position(gone) {
            return Poll::Ready(Happened::Withdrawn(place));
        }
        if let Poll::Ready(Some(Ok(called))) = dialogs.calls.poll_join_next(context) {
            return Poll::Ready(Happened::Called(Box::new(called)));
        }
        match dialogs.running.poll_join_next(context) {
            Poll::Ready(Some(Ok((name, Err(why))))) => Poll::Ready(Happened::CommandOver(Some((name, why)))),
            // It did its work, or was stopped.
            Poll::Ready(Some(_)) => Poll::Ready(Happened::CommandOver(None)),
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        }
    })
    .await
}
