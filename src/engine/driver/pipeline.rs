//! Prompts, requests, calls and results on their way through their handlers, beside the loop.
//!
//! A job takes one value through a stage (a prompt through three) and is waited for like a tool: others are heard
//! meanwhile, a prompt that is sent then is queued. What a job has made becomes an event, so a log replays without
//! handlers.

use super::pace::Streaming;
use super::prepare::PromptMade;
use super::ready::Ready;
use super::stage::{Breakpoints, Passed, StageProgress};
use crate::context::Plan;
use crate::domain::command::{Handling, QueuedPrompt, Resume};
use crate::domain::{
    CallId, Event, ExtensionEntry, HistoryEdits, ModelRef, Piece, RequestEvent, Step, ThreadEvent, Timestamp, ToolRef,
};
use crate::pipeline::{Chain, Compact};
use crate::ports::ToolOutcome;
use serde_json::Value;
use std::collections::{HashMap, HashSet, VecDeque};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use tokio::sync::{Notify, mpsc, oneshot, watch};

/// What a job is for.
pub(super) enum Goal {
    /// Waits for those who are told that the thread begins; the prompt is taken then.
    Begin {
        prompt: u64,
    },
    Prompt(Box<QueuedPrompt>),
    Context {
        request: u32,
        attempt: u32,
        plan: Arc<Plan>,
        state: Vec<Piece>,
    },
    Payload {
        request: u32,
        ready: Box<Ready>,
        tools: Vec<ToolRef>,
        endpoint: String,
    },
    /// An answer that is whole, or as far as it came before its call failed.
    Answer,
    Call(CallId),
    Result {
        call_id: CallId,
        outcome: ToolOutcome,
    },
    Compact {
        request: u32,
    },
    Observe,
}

/// What a job has made.
pub(super) enum Made {
    Begun,
    Prompt(Box<PromptMade>),
    Context(Option<Box<HistoryEdits>>, Passed),
    Stage(Passed),
    /// Headers and request, as far as they had handlers.
    Request(Vec<Passed>),
}

/// A value under way. Dropping it ends the handler that is asked.
pub(super) struct PipelineJob {
    pub(super) goal: Goal,
    pub(super) job: Pin<Box<dyn Future<Output = Made> + Send>>,
    pub(super) progress: mpsc::Receiver<StageProgress>,
    pub(super) skip: Arc<Notify>,
    pub(super) handling: Option<Handling>,
    pub(super) paused: Option<Pause>,
}

/// A value that stands still at a breakpoint.
pub(super) struct Pause {
    pub(super) chain: Chain,
    pub(super) since: Timestamp,
    pub(super) resume: oneshot::Sender<Resume>,
}

/// Everything of a thread that is on its way through handlers.
#[derive(Default)]
pub(super) struct Pipeline {
    pub(super) jobs: Vec<PipelineJob>,
    pub(super) breakpoints: Arc<Mutex<Breakpoints>>,
    /// What is still to be told to those who watch.
    pub(super) observed: VecDeque<Telling>,
    /// The calls of which they know that they began.
    pub(super) begun: HashSet<CallId>,
    /// What the handlers of the coming request did.
    pub(super) steps: Vec<Step>,
    /// What they made of its history.
    pub(super) edits: Option<HistoryEdits>,
    /// What the tools of the present turn gave beside the text of their results.
    pub(super) details: HashMap<CallId, Value>,
    /// A handler gave a summary, or wants none.
    pub(super) compact: Option<Compact>,
    /// Some are still being told that the thread begins. No prompt is taken then, as whoever is told may register more.
    pub(super) begins: watch::Sender<bool>,
    /// The work since the last `agent_start`.
    pub(super) run: Option<Run>,
    /// So many messages of the history those who watch know of.
    pub(super) known: usize,
    /// The answer that they are told of while it arrives.
    pub(super) streaming: Option<Streaming>,
    /// They know how the answer ended that is recorded next.
    pub(super) knows_end: bool,
    /// Failures of which people know.
    pub(super) told: HashSet<String>,
}

/// Something in the queue of what is told to those who watch.
pub(super) enum Telling {
    Event(Chain),
    /// Somebody waits until everything before it was told; dropping it says so.
    Reached(#[expect(dead_code, reason = "only its end matters")] oneshot::Sender<()>),
}

/// How a thread stood before an event.
pub(super) struct Before {
    pub(super) rested: bool,
    pub(super) model: ModelRef,
    /// Room was being made.
    pub(super) compacts: bool,
}

/// From the first prompt of a thread that rested until it rests again, as those who watch are told of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    /// The turn of the thread with which it began.
    pub(super) turn: u32,
    /// Where the history was then.
    pub(super) from: usize,
    /// A turn has begun that has not ended.
    pub(super) in_turn: bool,
}

/// What a job has to say.
pub(super) enum News {
    Progress(StageProgress),
    Done(Made),
}

/// The next news of any job; nothing where there is none. Losing this future loses nothing.
pub(super) async fn heard(pipeline: &mut Pipeline) -> (usize, News) {
    poll_fn(|context| {
        for (index, job) in pipeline.jobs.iter_mut().enumerate() {
            if let Poll::Ready(Some(progress)) = job.progress.poll_recv(context) {
                return Poll::Ready((index, News::Progress(progress)));
            }
            if let Poll::Ready(made) = job.job.as_mut().poll(context) {
                return Poll::Ready((index, News::Done(made)));
            }
        }
        Poll::Pending
    })
    .await
}

impl Pipeline {
    /// Follows what tools give beside their text, turn by turn.
    pub(super) fn keep_details(&mut self, event: &Event) {
        if let Event::Thread(ThreadEvent::ExtensionEntry { entry: ExtensionEntry::Details { call_id, details, .. } }) =
            event
        {
            self.details.insert(CallId(call_id.clone()), details.clone());
        } else if matches!(event, Event::Request(RequestEvent::RequestRecorded { .. })) {
            self.details.clear();
        }
    }

    /// Who is waited for.
    pub(super) fn handling(&self) -> Option<Handling> {
        self.jobs.iter().find_map(|job| job.handling.clone())
    }

    /// Whether a value stands still at a breakpoint.
    pub(super) fn is_paused(&self) -> bool {
        self.jobs.iter().any(|job| job.paused.is_some())
    }

    /// Whether somebody is being told what happened.
    pub(super) fn is_observing(&self) -> bool {
        self.jobs.iter().any(|job| matches!(job.goal, Goal::Observe))
    }

    /// Whether those who watch know everything that has happened.
    pub(super) fn keeps_up(&self) -> bool {
        self.observed.is_empty() && !self.is_observing()
    }

    pub(super) fn works_on(&self, call_id: &CallId) -> bool {
        self.jobs
            .iter()
            .any(|job| matches!(&job.goal, Goal::Call(id) | Goal::Result { call_id: id, .. } if id == call_id))
    }

    /// Whether a request that is paid for is on its way through handlers.
    pub(super) fn holds_request(&self) -> bool {
        self.jobs.iter().any(|job| matches!(job.goal, Goal::Payload { .. }))
    }

    /// A prompt was taken back: nobody waits for its handlers any more.
    pub(super) fn forget_prompt(&mut self, prompt: u64) {
        self.jobs.retain(|job| match &job.goal {
            Goal::Prompt(queued) => queued.prompt != prompt,
            Goal::Begin { prompt: waits } => *waits != prompt,
            Goal::Context { .. }
            | Goal::Payload { .. }
            | Goal::Answer
            | Goal::Call(_)
            | Goal::Result { .. }
            | Goal::Compact { .. }
            | Goal::Observe => true,
        });
    }

    /// The results that are on their way through handlers: those of calls that have ended.
    pub(super) fn take_results(&mut self) -> Vec<(CallId, String)> {
        let (results, others): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.jobs).into_iter().partition(|job| matches!(job.goal, Goal::Result { .. }));
        self.jobs = others;
        let result = |job: PipelineJob| match job.goal {
            Goal::Result { call_id, outcome } => Some((call_id, outcome.output)),
            Goal::Begin { .. }
            | Goal::Prompt(_)
            | Goal::Context { .. }
            | Goal::Payload { .. }
            | Goal::Answer
            | Goal::Call(_)
            | Goal::Compact { .. }
            | Goal::Observe => None,
        };
        results.into_iter().filter_map(result).collect()
    }

    /// Lets go of everything but what only watches.
    pub(super) fn stop(&mut self) {
        self.jobs.retain(|job| matches!(job.goal, Goal::Observe));
        (self.edits, self.compact) = (None, None);
        self.steps.clear();
    }

    /// Skips the handler that is waited for, if it can be; false where nobody is waited for.
    pub(super) fn skip(&self) -> bool {
        let skips = |job: &&PipelineJob| {
            let waits = job.handling.is_some() && job.paused.is_none();
            waits
                && matches!(
                    job.goal,
                    Goal::Prompt(_)
                        | Goal::Context { .. }
                        | Goal::Payload { .. }
                        | Goal::Answer
                        | Goal::Result { .. }
                        | Goal::Compact { .. }
                )
        };
        match self.jobs.iter().find(skips) {
            Some(job) => {
                job.skip.notify_waiters();
                true
            }
            None => false,
        }
    }
}
