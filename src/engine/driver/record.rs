//! Putting events into the log, and waiting while the store cannot take them.
//!
//! Nothing follows from an event that is not in the log: it is not applied, not told and not acknowledged, and one after
//! which something costs money or cannot be taken back has to be on disk first. Where that fails, the thread stands still
//! with what it was about to do, tries again from time to time, and goes on by itself once it works.

use super::Audience;
use super::run::{Driver, Ended};
use crate::domain::event::CancelScope;
use crate::domain::{ControlEvent, Event, Record, Status, ThreadEvent, ThreadKind, Timestamp, Waiting};
use crate::ports::StoreError;
use crate::ports::store::{Snapshot, SyncJob};
use std::time::{Duration, Instant};

/// How long the thread waits before it tries the store again.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// How long a thread that nobody talks to waits for the store in all, where somebody may make room.
const GIVE_UP: Duration = Duration::from_mins(1);

/// The same where what stands in the way does not go by itself.
const GIVE_UP_SOON: Duration = Duration::from_secs(3);

/// An event that is in no log, and so did not happen.
pub(super) struct Unrecorded(pub(super) Box<Event>);

/// Why the thread stands still.
pub(super) struct Blocked {
    since: Instant,
    pub(super) try_at: Instant,
    /// How long a thread that nobody talks to waits.
    patience: Duration,
    why: String,
}

/// Whether a failure may be over soon without anybody looking for its cause.
fn may_pass(error: &StoreError) -> bool {
    use std::io::ErrorKind::{
        FileTooLarge, Interrupted, QuotaExceeded, ResourceBusy, StorageFull, TimedOut, WouldBlock,
    };
    match error {
        StoreError::Io { source, .. } => matches!(
            source.kind(),
            StorageFull | QuotaExceeded | FileTooLarge | ResourceBusy | Interrupted | TimedOut | WouldBlock
        ),
        StoreError::Database { .. } => true,
        StoreError::NewerSchema { .. }
        | StoreError::Malformed { .. }
        | StoreError::NotSaid { .. }
        | StoreError::NoSuchThread { .. }
        | StoreError::Elsewhere { .. } => false,
    }
}

impl Blocked {
    /// For whoever asks something of the thread meanwhile.
    pub(super) fn refusal(&self) -> String {
        format!("nothing was done: {}; the thread continues once that works", self.why)
    }
}

/// Waits off the loop until something is on disk.
async fn on_disk(sync: SyncJob) -> Result<(), StoreError> {
    tokio::task::spawn_blocking(sync).await.unwrap_or_else(|failed| {
        let source = std::io::Error::other(failed.to_string());
        Err(StoreError::Io { doing: "write", path: std::path::PathBuf::from("the log"), source })
    })
}

impl<A: Audience> Driver<A> {
    /// Records one event, then what it means for the thread.
    ///
    /// # Errors
    /// The event, where it could not be recorded: then the thread is blocked.
    pub(super) async fn record(&mut self, event: Event) -> Result<(), Unrecorded> {
        let now = self.settings.clock.now();
        if self.note_jump(now).await.is_err() {
            return Err(Unrecorded(Box::new(event)));
        }
        self.record_at(now, event).await
    }

    /// Records it if the clock jumped since it was looked at last: that is no time that the thread worked.
    ///
    /// # Errors
    /// The event, as [`Self::record`].
    async fn note_jump(&mut self, now: Timestamp) -> Result<(), Unrecorded> {
        let jump = self.steady.jump(now, Instant::now()).filter(|_| self.thread.is_timed());
        match jump {
            Some(by_ms) => self.record_at(now, Event::Thread(ThreadEvent::ClockJumped { by_ms })).await,
            None => Ok(()),
        }
    }

    /// Since `since` the thread stood still: that is no time that it worked.
    pub(super) async fn did_not_work(&mut self, since: Timestamp) {
        let by_ms = self.settings.clock.now().since(since);
        if by_ms > 0 && self.thread.is_timed() {
            self.emit(Event::Thread(ThreadEvent::ClockJumped { by_ms })).await;
        }
    }

    /// The limit of time is reached, unless the clock jumped.
    pub(super) async fn time_is_over(&mut self) {
        let now = self.settings.clock.now();
        if self.note_jump(now).await.is_ok() && self.thread.time_left(self.settings.clock.now()) == Some(0) {
            let scope = CancelScope::Limit;
            self.emit(Event::Control(ControlEvent::CancelRequested { scope })).await;
        }
    }

    /// Waits until something is on disk; who wants to stop meanwhile is answered.
    ///
    /// # Errors
    /// [`StoreError`].
    pub(super) async fn on_disk(&mut self, sync: SyncJob) -> Result<(), StoreError> {
        self.wait_for(on_disk(sync)).await
    }

    async fn record_at(&mut self, timestamp: Timestamp, event: Event) -> Result<(), Unrecorded> {
        let record = Record { timestamp, thread_id: self.thread.id.clone(), event };
        if record.event.is_durable() {
            let place = match self.settings.store.append(&record) {
                Ok(place) => place,
                Err(error) => {
                    self.block(&error);
                    return Err(Unrecorded(Box::new(record.event)));
                }
            };
            if record.event.is_critical()
                && let Err(error) = self.on_disk(self.settings.store.sync()).await
            {
                self.settings.store.take_back(place.0);
                self.block(&error);
                return Err(Unrecorded(Box::new(record.event)));
            }
            self.unblock();
            self.settings.audience.recorded(Some(place), &record);
        }
        self.applied(&record);
        Ok(())
    }

    /// The store has failed: the thread stands still, and people are told why, once.
    pub(super) fn block(&mut self, error: &StoreError) {
        let now = Instant::now();
        let since = self.blocked.as_ref().or(self.tried.as_ref()).map(|before| before.since);
        if since.is_none() {
            tracing::error!(%error, "the thread stands still");
            let text = format!("the thread pauses because it cannot be saved: {error}; it continues once saving works");
            self.tell_live(text);
        }
        let why = error.to_string();
        let patience = if may_pass(error) { GIVE_UP } else { GIVE_UP_SOON };
        self.blocked = Some(Blocked { since: since.unwrap_or(now), try_at: now + TRY_AGAIN, patience, why });
        self.give_up();
    }

    fn unblock(&mut self) {
        self.blocked = None;
        if self.tried.take().is_some() {
            tracing::info!("the thread goes on");
            self.tell_live("the thread can be saved again and continues".to_owned());
        }
    }

    /// Tries what could not be done before. Somebody who waits is not kept waiting for ever where nobody is there to make
    /// room.
    pub(super) async fn try_again(&mut self) {
        if self.blocked.is_some() {
            self.tried = self.blocked.take();
        }
        // What has failed may be under way again beside the loop: only an event that was recorded tells that it works.
        self.carry_out().await;
    }

    /// Ends a thread that nobody talks to, where the store has failed for too long.
    fn give_up(&mut self) {
        let Some(blocked) = &self.blocked else { return };
        if self.thread.kind == ThreadKind::OneShot && blocked.since.elapsed() > blocked.patience {
            tracing::error!(why = blocked.why, "given up");
            self.ended = Some(Ended::Thread(Status::Error));
        }
    }

    /// Records what somebody asked for; what follows is done once they are answered.
    ///
    /// # Errors
    /// The sentence for them where it could not be recorded: then it is as if they had not asked.
    pub(super) async fn accept(&mut self, event: Event) -> Result<(), String> {
        if self.blocked.is_some() {
            self.try_again().await;
        }
        if let Some(blocked) = &self.blocked {
            return Err(blocked.refusal());
        }
        let Err(Unrecorded(_never_asked)) = self.record(event).await else { return Ok(()) };
        let refusal = self.blocked.as_ref().map(Blocked::refusal).unwrap_or_default();
        if self.todo.is_empty() {
            // Nothing waits for the store: it is tried again when somebody asks again.
            (self.blocked, self.tried) = (None, None);
        }
        Err(refusal)
    }

    /// A failure that stops nothing is told once.
    pub(super) fn complain(&mut self, error: &StoreError) {
        tracing::error!(%error, "store");
        if !std::mem::replace(&mut self.complained, true) {
            self.tell_live(format!("part of this thread is not saved: {error}"));
        }
    }

    /// Tells those who look now.
    pub(super) fn tell_live(&self, text: String) {
        let (timestamp, thread_id) = (self.settings.clock.now(), self.thread.id.clone());
        let record = Record { timestamp, thread_id, event: Event::Thread(ThreadEvent::Notice { text }) };
        self.settings.audience.recorded(None, &record);
    }

    pub(super) fn save(&mut self) {
        let thread = &self.thread;
        let stands = self.pipeline.is_paused().then_some((Status::Waiting, Some(Waiting::Breakpoint)));
        let (status, waiting) = stands.unwrap_or_else(|| (thread.status(), thread.waiting()));
        let snapshot = Snapshot {
            status,
            waiting,
            model: thread.model.clone(),
            cost: thread.cost,
            context: thread.context(),
            limits: thread.limits,
            title: thread.title(),
            archived: thread.filing.archived,
            waits_for: thread.waits_for(),
            capabilities: self.capabilities.clone(),
        };
        self.settings.store.save(&snapshot);
    }

    pub(super) fn tell_state(&self) {
        let window = self.settings.models.window(&self.thread.model);
        let mut state = self.thread.state(window);
        state.handling = self.pipeline.handling();
        state.breakpoints.clone_from(&self.breakpoints().set);
        *state.extensions = self.dialogs.state(self.settings.handlers.as_ref());
        if self.blocked.is_some() {
            (state.status, state.waiting) = (Status::Waiting, Some(Waiting::Storage));
        }
        self.settings.handlers.changed(&state);
        self.settings.audience.changed(state);
    }
}
