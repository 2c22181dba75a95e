//! The call in flight: reading it in batches, showing and keeping what has arrived.

use super::Audience;
use super::prepare_error::PrepareError;
use super::ready::{Purpose, Ready};
use super::run::Driver;
use crate::domain::event::{CallError, Delta};
use crate::domain::{Bounds, ContentHash, MessageRef, ModelRef, RequestRecord, ToolRef};
use crate::engine::answer::Answer;
use crate::ports::{CallRequest, Provider, ProviderStream, ResponseHead, ResponseWatch};
use futures_util::StreamExt;
use futures_util::future::poll_fn;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};
use tokio::time::Sleep;

/// Live text goes to the audience at most this often. Providers read in batches of about a frame already; this is for
/// those that do not, and short enough to hold none of theirs back.
const SHOW_EVERY: Duration = Duration::from_millis(8);
/// Received text is on disk after this time at the latest, so that a killed process loses less than 250 ms of it.
const KEEP_EVERY: Duration = Duration::from_millis(150);
/// No answer takes longer, however often its provider says that it is still there.
const LONGEST: Duration = Duration::from_hours(6);
/// Pieces taken in before others get a turn.
const BATCH: usize = 512;

/// A call to a model under way.
pub(super) struct Call {
    pub(super) request: u32,
    pub(super) attempt: u32,
    pub(super) model: ModelRef,
    sent_at: Instant,
    took_ms: Option<u64>,
    pub(super) purpose: Purpose,
    pub(super) answer: Answer,
    stream: ProviderStream,
    /// How its provider begins to answer, where somebody wants to know.
    watch: Option<ResponseWatch>,
    /// It takes no longer.
    ends: Pin<Box<Sleep>>,
    /// Not shown yet.
    fresh: Vec<Delta>,
    shown_at: Option<Instant>,
    /// Not on disk yet, and since when.
    unkept: Vec<Delta>,
    unkept_since: Option<Instant>,
}

/// What became of a call after reading on.
pub(super) enum Progress {
    /// Something was taken in.
    Going,
    /// The end marker came, or the answer is as large as it may be.
    Finished,
    Failed(CallError),
}

impl Call {
    /// The model, the number of the try and the purpose are those of what is sent.
    pub(super) fn new(
        request: u32,
        (model, attempt, purpose): (ModelRef, u32, Purpose),
        stream: ProviderStream,
        bounds: Bounds,
    ) -> Self {
        Self {
            request,
            attempt,
            model,
            purpose,
            sent_at: Instant::now(),
            took_ms: None,
            answer: Answer::within(bounds),
            stream,
            watch: None,
            ends: Box::pin(tokio::time::sleep(LONGEST)),
            fresh: Vec::new(),
            shown_at: None,
            unkept: Vec::new(),
            unkept_since: None,
        }
    }

    /// How its provider begins to answer will be left there.
    pub(super) fn watches(&mut self, watch: Option<ResponseWatch>) {
        self.watch = watch;
    }

    /// How its provider began to answer, where that has not been told yet.
    pub(super) fn head(&mut self) -> Option<ResponseHead> {
        self.watch.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Closes the connection; what has arrived stays.
    pub(super) fn hang_up(&mut self) {
        self.stream = Box::pin(futures_util::stream::pending());
    }

    /// How long it took, or how long ago it was sent, in milliseconds.
    pub(super) fn elapsed_ms(&self) -> u64 {
        if let Some(took_ms) = self.took_ms {
            return took_ms;
        }
        u64::try_from(self.sent_at.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Waits until something has arrived and takes in what is there. Losing this future loses nothing.
    pub(super) async fn read(&mut self) -> Progress {
        let mut taken = 0;
        poll_fn(|context| {
            loop {
                match self.stream.poll_next_unpin(context) {
                    Poll::Pending if taken == 0 && self.ends.as_mut().poll(context).is_ready() => {
                        self.hang_up();
                        return Poll::Ready(Progress::Failed(took_too_long()));
                    }
                    Poll::Pending if taken == 0 => return Poll::Pending,
                    Poll::Pending => return Poll::Ready(Progress::Going),
                    Poll::Ready(Some(Ok(event))) => {
                        if let Some(delta) = self.answer.take(event) {
                            delta.join_onto(&mut self.fresh);
                        }
                        if self.answer.is_full() {
                            self.hang_up();
                        }
                        if self.answer.stop().is_some() || self.answer.is_full() {
                            return Poll::Ready(Progress::Finished);
                        }
                        taken += 1;
                        if taken >= BATCH {
                            return Poll::Ready(Progress::Going);
                        }
                    }
                    Poll::Ready(Some(Err(error))) => return Poll::Ready(Progress::Failed(error)),
                    // A provider that ends without a last word breaks its contract; to the thread that is a cut.
                    Poll::Ready(None) => return Poll::Ready(Progress::Failed(ended_silently())),
                }
            }
        })
        .await
    }

    /// When [`Call::due_to_show`] or [`Call::due_to_keep`] will have something, at the latest.
    pub(super) fn next_due(&self) -> Option<Instant> {
        let show = (!self.fresh.is_empty()).then(|| self.shown_at.map_or_else(Instant::now, |at| at + SHOW_EVERY));
        let keep = self.unkept_since.map(|since| since + KEEP_EVERY);
        [show, keep].into_iter().flatten().min()
    }

    /// What the audience should see now. Text after a pause is shown at once, a stream at most every [`SHOW_EVERY`].
    pub(super) fn due_to_show(&mut self, now: Instant, all: bool) -> Vec<Delta> {
        let due = all || self.shown_at.is_none_or(|at| now >= at + SHOW_EVERY);
        if self.fresh.is_empty() || !due {
            return Vec::new();
        }
        self.shown_at = Some(now);
        self.unkept_since.get_or_insert(now);
        for delta in &self.fresh {
            delta.clone().join_onto(&mut self.unkept);
        }
        std::mem::take(&mut self.fresh)
    }

    /// It is over: everything of it that is not on disk yet.
    pub(super) fn ended(&mut self) -> Vec<Delta> {
        self.took_ms = Some(self.elapsed_ms());
        self.unkept_since = None;
        std::mem::take(&mut self.unkept)
    }

    /// What should go to disk now.
    pub(super) fn due_to_keep(&mut self, now: Instant) -> Vec<Delta> {
        if self.unkept_since.is_none_or(|since| now < since + KEEP_EVERY) {
            return Vec::new();
        }
        self.unkept_since = None;
        std::mem::take(&mut self.unkept)
    }
}

impl<A: Audience> Driver<A> {
    /// Writes the request as `provider` sends it, off the loop: a long conversation takes a while.
    pub(super) async fn encode(&mut self, provider: &Arc<dyn Provider>, ready: &mut Ready) -> Result<(), PrepareError> {
        let call = CallRequest {
            model: ready.model.model.clone(),
            thinking: ready.model.thinking,
            tools: ready.tools.clone(),
            images: Arc::new(self.images(&ready.assembly).await?),
            system: ready.assembly.system.clone(),
            messages: ready.assembly.messages.iter().map(|entry| Arc::clone(&entry.message)).collect(),
            max_output_tokens: ready.max_output_tokens,
            attempt: ready.attempt,
        };
        let provider = Arc::clone(provider);
        // The hash of a long body takes a while too.
        let encode = move || provider.encode(call).map(|encoded| (encoded.sent(), encoded));
        let encoded = self.unless_stopped(tokio::task::spawn_blocking(encode)).await?;
        let encoded = encoded.map_err(|failed| CallError::unwritten(&failed.to_string())).flatten();
        ready.encoded = Some(encoded.map_err(PrepareError::Failed)?);
        Ok(())
    }

    /// Writes the record of a request that is about to be sent and offers `tools`; false where that failed.
    pub(super) fn keep_request(&mut self, number: u32, ready: &Ready, endpoint: String, tools: Vec<ToolRef>) -> bool {
        let recorded = &ready.assembly;
        let record = RequestRecord {
            schema: RequestRecord::SCHEMA.to_owned(),
            thread_id: self.thread.id.clone(),
            number,
            turn: self.thread.turn(),
            attempt: ready.attempt,
            created_at: self.settings.clock.now(),
            endpoint,
            max_output_tokens: ready.max_output_tokens,
            sent: ready.encoded.as_ref().map(|(sent, _)| sent.clone()),
            model: ready.model.clone(),
            system: ContentHash::of(recorded.system.as_bytes()),
            messages: recorded
                .messages
                .iter()
                .map(|entry| MessageRef { role: entry.message.role, hash: entry.hash.clone() })
                .collect(),
            tools,
            layers: recorded.layers.clone(),
            pipeline: std::mem::take(&mut self.pipeline.steps),
        };
        let kept = self.settings.store.record_request(&record, recorded);
        kept.inspect_err(|error| self.block(error)).is_ok()
    }
}

fn took_too_long() -> CallError {
    CallError::over_bounds(format!("the answer was not complete after {} h", LONGEST.as_secs() / 3_600))
}

fn ended_silently() -> CallError {
    CallError {
        category: crate::domain::event::ErrorCategory::Transient,
        code: "truncated".into(),
        message: "the connection ended before the answer was complete".into(),
        status: None,
        retry_after_ms: None,
    }
}
