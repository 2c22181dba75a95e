//! What came of a thread, and what was said in it, read from its log.

use super::layout::Layout;
use super::log;
use super::summary::{Summarise, Summary};
use crate::domain::{
    ControlEvent, Cost, Event, PromptEvent, Record, RequestEvent, Status, ThreadEvent, ThreadId, ThreadResult,
    ToolEvent,
};
use crate::ports::StoreError;
use std::ops::ControlFlow;

/// What came of the thread `id` so far.
///
/// # Errors
/// [`StoreError`], also where the thread has no log and no summary that reads.
pub fn of(layout: &Layout, id: &ThreadId, summarise: Summarise) -> Result<ThreadResult, StoreError> {
    let mut found = Found::default();
    each(layout, id, |record| {
        found.hear(&record.event);
        ControlFlow::Continue(())
    })?;
    let (status, directive, cost) = if let (Some((status, cost)), Some(directive)) = (found.ended, found.directive) {
        (status, directive, cost)
    } else {
        // It goes on, or never began: how it stands is said beside the log.
        let summary = Summary::look(layout, id, summarise)?;
        (summary.status, summary.directive, summary.cost)
    };
    let result = ThreadResult {
        success: status == Status::Completed,
        thread_id: id.clone(),
        status,
        directive,
        cost: cost.into(),
        result: None,
        result_truncated: false,
        outputs: found.outputs,
        error: found.error.filter(|_| status != Status::Completed),
        suspended: status == Status::Suspended,
        continuation_thread_id: found.next.filter(|_| status == Status::Continued),
    };
    Ok(match found.said {
        Some(said) => result.saying(&said),
        None => result,
    })
}

/// What a log tells of its thread.
#[derive(Default)]
struct Found {
    directive: Option<String>,
    said: Option<String>,
    outputs: Option<serde_json::Value>,
    error: Option<String>,
    ended: Option<(Status, Cost)>,
    next: Option<ThreadId>,
}

impl Found {
    fn hear(&mut self, event: &Event) {
        match event {
            Event::Thread(ThreadEvent::ThreadStarted { directive, .. }) => self.directive = Some(directive.clone()),
            Event::Thread(ThreadEvent::DirectiveReturn { outputs, .. }) => self.outputs = Some(outputs.clone()),
            Event::Thread(ThreadEvent::ThreadCompleted { cost }) => self.ended = Some((Status::Completed, *cost)),
            Event::Thread(ThreadEvent::ThreadContinued { cost, new_thread_id }) => {
                (self.ended, self.next) = (Some((Status::Continued, *cost)), Some(new_thread_id.clone()));
            }
            Event::Thread(ThreadEvent::ThreadCancelled { cost }) => self.ended = Some((Status::Cancelled, *cost)),
            Event::Thread(ThreadEvent::ThreadKilled { cost }) => self.ended = Some((Status::Killed, *cost)),
            Event::Thread(ThreadEvent::ThreadError { cost, error }) => {
                (self.error, self.ended) = (Some(error.clone()), Some((Status::Error, *cost)));
            }
            Event::Control(ControlEvent::ThreadSuspended { reason, cost, .. }) => {
                (self.error, self.ended) = (Some(reason.clone()), Some((Status::Suspended, *cost)));
            }
            // Somebody goes on with it.
            Event::Prompt(PromptEvent::PromptQueued { .. }) => (self.ended, self.error) = (None, None),
            Event::Request(RequestEvent::CognitionOut { text, .. }) if !text.trim().is_empty() => {
                self.said = Some(text.clone());
            }
            Event::Thread(_)
            | Event::Settings(_)
            | Event::Prompt(_)
            | Event::Context(_)
            | Event::Request(_)
            | Event::Approval(_)
            | Event::Tool(_)
            | Event::Control(_)
            | Event::Unknown { .. } => {}
        }
    }
}

/// Each record of the log of `id`, the oldest first, until `hear` says that it is enough.
pub(super) fn each(
    layout: &Layout,
    id: &ThreadId,
    mut hear: impl FnMut(&Record) -> ControlFlow<()>,
) -> Result<(), StoreError> {
    for page in log::pages(&layout.log(id)?) {
        for record in page?.into_records() {
            if hear(&record).is_break() {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// One thing that was said in a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The number of its record in the log, counted from 1.
    pub line: usize,
    pub event_type: &'static str,
    pub text: String,
}

/// What was said in the thread `id`: prompts, answers, calls and their results, in order, until `hear` says that it is
/// enough.
///
/// # Errors
/// [`StoreError`].
pub fn said(layout: &Layout, id: &ThreadId, mut hear: impl FnMut(Said) -> ControlFlow<()>) -> Result<(), StoreError> {
    let mut line = 0;
    each(layout, id, |record| {
        line += 1;
        for (event_type, text) in words(&record.event) {
            if hear(Said { line, event_type, text }).is_break() {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    })
}

fn words(event: &Event) -> Vec<(&'static str, String)> {
    if let Event::Prompt(PromptEvent::CognitionIn { text, .. }) = event {
        vec![("cognition_in", text.clone())]
    } else if let Event::Request(RequestEvent::CognitionOut { text, message, .. }) = event {
        let calls = message.calls().map(|call| ("tool_call_start", format!("{} {}", call.tool, call.input)));
        let text = Some(text).filter(|text| !text.trim().is_empty());
        text.map(|text| ("cognition_out", text.clone())).into_iter().chain(calls).collect()
    } else if let Event::Tool(ToolEvent::ToolCallResult { output, .. }) = event {
        vec![("tool_call_result", output.clone())]
    } else {
        Vec::new()
    }
}
