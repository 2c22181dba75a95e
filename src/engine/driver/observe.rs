//! Telling those who watch what happens in a thread: nobody waits for them.

use super::Audience;
use super::pipeline::{Before, Goal, Made, News, Run, Telling, heard};
use super::run::Driver;
use super::stage::Asking;
use crate::domain::event::{PromptMode, StopReason};
use crate::domain::{
    CallId, ContextEvent, ControlEvent, Event, Merge, ModelRef, PromptEvent, Record, RequestEvent, SettingsEvent,
    Stage, ThinkingLevel, ThreadEvent, ThreadKind, ThreadOrigin, ToolCall, ToolEvent,
};
use crate::engine::thread::Phase;
use crate::pipeline::{Chain, to_json};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::sync::oneshot;

/// So long is waited for those who are told what happened, when a thread ends.
pub const LAST_WORDS: Duration = Duration::from_secs(10);

/// More is not told to those who do not keep up.
const MOST_OBSERVED: usize = 1_000;

/// The same of what comes many times, each with the whole of an answer.
const MOST_STREAMED: usize = 64;

impl<A: Audience> Driver<A> {
    /// Tells those who watch what an event means for them.
    pub(super) fn observe(&mut self, record: &Record, before: &Before) {
        for (stage, value) in self.observed(record, before) {
            self.watched(stage, value);
        }
        self.tell_waiting();
    }

    /// What happened stands behind what is still to be told.
    pub(super) fn watched(&mut self, stage: Stage, value: Value) {
        let Value::Object(event) = value else { return };
        // Of what streams the newest is told anyway.
        let most = if stage.streams() { MOST_STREAMED } else { MOST_OBSERVED };
        if self.has(stage) && self.pipeline.observed.len() < most {
            if stage == Stage::SessionStart {
                self.pipeline.begins.send_replace(true);
            }
            self.pipeline.observed.push_back(Telling::Event(Chain::Observe { stage, event }));
        }
    }

    /// Ends when those who watch were told everything that has happened so far; none where they were.
    pub(super) fn all_told(&mut self) -> Option<oneshot::Receiver<()>> {
        if self.pipeline.keeps_up() {
            return None;
        }
        let (sender, reached) = oneshot::channel();
        self.pipeline.observed.push_back(Telling::Reached(sender));
        Some(reached)
    }

    /// The next request is being made: a turn begins, unless one has.
    pub(super) fn turn_begins(&mut self) {
        if self.is_observed() {
            for (stage, value) in self.turn_start() {
                self.watched(stage, value);
            }
            self.tell_waiting();
        }
    }

    /// The beginning of a run, where none is under way, and of a turn of it.
    fn turn_start(&mut self) -> Vec<(Stage, Value)> {
        let mut all = Vec::new();
        let (turn, from) = (self.thread.cost.turns, self.pipeline.known);
        let run = self.pipeline.run.get_or_insert_with(|| {
            all.push((Stage::AgentStart, json!({})));
            Run { turn, from, in_turn: false }
        });
        if !std::mem::replace(&mut run.in_turn, true) {
            let (turn, at) = (turn.saturating_sub(run.turn), self.settings.clock.now().0);
            all.push((Stage::TurnStart, json!({"turnIndex": turn, "timestamp": at})));
        }
        all
    }

    /// A call begins, with the arguments of the model: before its guards are asked.
    pub(super) fn call_begins(&mut self, call: &ToolCall) {
        if self.has(Stage::ToolExecutionStart) {
            if let Some((stage, value)) = self.call_start(call) {
                self.watched(stage, value);
            }
            self.tell_waiting();
        }
    }

    fn call_start(&mut self, call: &ToolCall) -> Option<(Stage, Value)> {
        let event = json!({"toolCallId": call.call_id.0, "toolName": call.tool, "args": call.input});
        self.pipeline.begun.insert(call.call_id.clone()).then_some((Stage::ToolExecutionStart, event))
    }

    /// Whoever was told has answered: the next thing is told, or what has arrived meanwhile.
    pub(super) fn tell_next(&mut self) {
        self.collect_updates();
        self.tell_waiting();
    }

    /// Tells the next thing, unless somebody is being told.
    pub(super) fn tell_waiting(&mut self) {
        if self.pipeline.is_observing() {
            return;
        }
        while let Some(next) = self.pipeline.observed.pop_front() {
            let Telling::Event(chain) = next else { continue };
            return self.start(Goal::Observe, |asking| async move {
                // Nobody waits for it.
                let asking = Asking { watch: None, ..asking };
                Made::Stage(asking.through(chain).await)
            });
        }
    }

    /// Waits for those who are still to be told, as long as may be.
    pub(super) async fn last_words(&mut self) {
        let all = async {
            while self.pipeline.is_observing() {
                let (index, news) = heard(&mut self.pipeline).await;
                if let News::Done(_) = news {
                    self.pipeline.jobs.remove(index);
                    self.tell_next();
                }
            }
        };
        let _given_up = tokio::time::timeout(LAST_WORDS, all).await;
    }

    /// What happened, in the terms of those who watch.
    fn observed(&mut self, record: &Record, before: &Before) -> Vec<(Stage, Value)> {
        let event = &record.event;
        let mut all = Vec::new();
        if let Event::Prompt(PromptEvent::CognitionIn { .. }) = event {
            all.extend(self.turn_start());
        }
        let said = self.said_since();
        for message in &said {
            let is_answer = message["role"] == "assistant";
            if is_answer && std::mem::take(&mut self.pipeline.knows_end) {
                continue;
            }
            // Of one that was told while it arrived the beginning is known.
            let is_known = is_answer && self.pipeline.streaming.take().is_some();
            if !is_known && self.has(Stage::MessageStart) {
                all.push((Stage::MessageStart, json!({"message": message})));
            }
            all.push((Stage::MessageEnd, json!({"message": message})));
        }
        if let Event::Prompt(event) = event {
            all.extend(self.queue_changed(event));
        }
        match event {
            Event::Thread(ThreadEvent::WorkerStarted { .. }) => {
                let (begins, event) = self.session_start();
                all.push((Stage::SessionStart, event));
                if !begins {
                    let model = named(&self.thread.model);
                    all.push((Stage::ModelSelect, json!({"model": model, "source": "restore"})));
                }
            }
            // One that is cut may be tried again in the same turn.
            Event::Request(RequestEvent::CognitionOut { stop, .. })
                if !matches!(self.thread.phase, Phase::Tools { .. })
                    && !matches!(stop, StopReason::Truncated { .. }) =>
            {
                all.extend(self.turn_end(said.last(), &[]));
            }
            Event::Tool(ToolEvent::ToolCallStart { tool, call_id, input, .. }) => {
                let call = ToolCall { call_id: call_id.clone(), tool: tool.clone(), input: input.clone() };
                all.extend(self.call_start(&call));
            }
            Event::Tool(ToolEvent::ToolCallResult { call_id, output, error }) => {
                let mut result = json!({"content": [{"type": "text", "text": output}]});
                if let Some(details) = self.pipeline.details.get(call_id) {
                    result["details"] = details.clone();
                }
                let (call, failed) = (self.call(call_id).cloned(), error.is_some());
                let tool = call.as_ref().map(|call| call.tool.as_str());
                let event = json!({"toolCallId": call_id.0, "toolName": tool, "result": result, "isError": failed});
                let end = (Stage::ToolExecutionEnd, event);
                // One that is refused before anything else begins as well.
                let start = call.and_then(|call| self.call_start(&call));
                self.pipeline.begun.remove(call_id);
                all.splice(0..0, start.into_iter().chain([end]));
                if !matches!(self.thread.phase, Phase::Tools { .. } | Phase::Hooks(_)) {
                    let calls = self.calling().and_then(|place| self.told(place, place + 1).pop());
                    all.extend(self.turn_end(calls.as_ref(), &said));
                }
            }
            Event::Context(event @ ContextEvent::ContextCompacted { .. }) => all.extend(compacted(event)),
            Event::Control(ControlEvent::CancelRequested { .. }) if before.compacts => {
                all.push((Stage::SessionCompactFailed, json!({"reason": "it was stopped", "aborted": true})));
            }
            Event::Settings(SettingsEvent::ModelChanged { model }) if *model != before.model => {
                all.extend(chosen(model, &before.model));
            }
            Event::Settings(SettingsEvent::TitleSet { title }) => {
                all.push((Stage::SessionInfoChanged, json!({"name": title})));
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
        if !before.rested && self.thread.is_resting() {
            all.extend(self.run_ends(event));
        }
        all.extend(self.session_ends(event).map(|reason| (Stage::SessionShutdown, json!({"reason": reason}))));
        all
    }

    /// How the session begins for this process, and whether nothing was said in it yet.
    fn session_start(&self) -> (bool, Value) {
        let begins = self.thread.history.is_empty();
        // Nothing was asked in it yet.
        let lineage = (self.thread.requests == 0).then_some(&self.thread.lineage);
        let reason = match lineage.map(|lineage| lineage.origin) {
            Some(ThreadOrigin::Fork) => "fork",
            Some(ThreadOrigin::Handoff) => "new",
            _ if begins => "startup",
            _ => "resume",
        };
        let mut event = json!({"reason": reason});
        if let Some(previous) = lineage.and_then(|lineage| lineage.previous.as_ref()) {
            event["previousSession"] = previous.as_str().into();
        }
        (begins, event)
    }

    /// Why nothing more happens in this process, where it is so. A thread that a person talks to goes on after an error.
    fn session_ends(&self, event: &Event) -> Option<&'static str> {
        let Event::Thread(event) = event else { return None };
        let ends = matches!(
            event,
            ThreadEvent::WorkerEnded { .. } | ThreadEvent::ThreadCompleted { .. } | ThreadEvent::ThreadCancelled { .. }
        );
        let fails = matches!(event, ThreadEvent::ThreadError { .. }) && self.thread.kind != ThreadKind::Interactive;
        if matches!(event, ThreadEvent::ThreadContinued { .. }) {
            Some("new")
        } else {
            (ends || fails).then_some("quit")
        }
    }

    /// The run is over; a turn that was not brought to its end ends with it.
    fn run_ends(&mut self, event: &Event) -> Vec<(Stage, Value)> {
        let stopped = matches!(event, Event::Control(ControlEvent::TurnCancelled { .. }));
        let reason = if stopped { "aborted" } else { "error" };
        self.give_up_answer(reason);
        let Some(run) = self.pipeline.run else { return Vec::new() };
        let mut all = Vec::new();
        if run.in_turn {
            let message = json!({"role": "assistant", "content": [], "stopReason": reason});
            all.extend(self.end_of(self.turn_index(), Some(&message), &[]));
        }
        self.pipeline.run = None;
        self.pipeline.begun.clear();
        self.breakpoints().steps = false;
        let messages = self.told(run.from, self.thread.history.len());
        all.push((Stage::AgentEnd, json!({"messages": messages})));
        // Each is told when all have answered that were told of what came before.
        all.push((Stage::AgentSettled, json!({})));
        all
    }

    /// What waits to be sent, where an event has changed that.
    fn queue_changed(&self, event: &PromptEvent) -> Option<(Stage, Value)> {
        let changed = match event {
            PromptEvent::PromptQueued { .. }
            | PromptEvent::PromptWithdrawn { .. }
            | PromptEvent::PromptHandled { .. }
            | PromptEvent::QueueArranged { .. } => true,
            PromptEvent::CognitionIn { prompt, .. } => prompt.is_some(),
            PromptEvent::QueueReleased {} | PromptEvent::PromptPrepared { .. } => false,
        };
        if !changed || !self.has(Stage::QueueUpdate) {
            return None;
        }
        let texts = |mode| {
            let queue = self.thread.queue.iter().filter(|queued| queued.mode == mode);
            queue.map(|queued| queued.text.as_str()).collect::<Vec<_>>()
        };
        let (steering, following) = (texts(PromptMode::Steer), texts(PromptMode::FollowUp));
        Some((Stage::QueueUpdate, json!({"steering": steering, "followUp": following})))
    }

    /// The end of the turn that has begun; nothing where it has ended.
    fn turn_end(&mut self, message: Option<&Value>, results: &[Value]) -> Option<(Stage, Value)> {
        // It was counted when its answer arrived.
        self.end_of(self.turn_index().saturating_sub(1), message, results)
    }

    fn end_of(&mut self, turn: u32, message: Option<&Value>, results: &[Value]) -> Option<(Stage, Value)> {
        let run = self.pipeline.run.as_mut().filter(|run| run.in_turn)?;
        run.in_turn = false;
        Some((Stage::TurnEnd, json!({"turnIndex": turn, "message": message, "toolResults": results})))
    }

    /// The turn of the run, from 0.
    fn turn_index(&self) -> u32 {
        self.thread.cost.turns.saturating_sub(self.pipeline.run.map_or(0, |run| run.turn))
    }

    /// The messages that joined the history since those who watch were told last.
    fn said_since(&mut self) -> Vec<Value> {
        let (known, now) = (self.pipeline.known, self.thread.history.len());
        self.pipeline.known = now;
        if now < known {
            let gone = known - now;
            self.pipeline.run.iter_mut().for_each(|run| run.from = run.from.saturating_sub(gone));
        }
        self.told(known, now)
    }

    /// The messages of the history from one place to another, as handlers have them.
    fn told(&self, from: usize, to: usize) -> Vec<Value> {
        // Results have the names of their tools from the calls before them.
        let start = from.saturating_sub(1);
        let said = self.thread.history.get(start..to).unwrap_or_default();
        let forms = self.forms(said);
        let before = to_json(self.thread.history.get(start..from).unwrap_or_default(), &forms).len();
        let mut told = to_json(said, &forms).split_off(before);
        for message in told.iter_mut().filter(|message| message["role"] == "toolResult") {
            let id = CallId(message["toolCallId"].as_str().unwrap_or_default().to_owned());
            if let Some(details) = self.pipeline.details.get(&id) {
                message["details"] = details.clone();
            }
        }
        told
    }

    /// Where the calls stand that were answered last.
    fn calling(&self) -> Option<usize> {
        self.thread.history.iter().rposition(|entry| entry.message.calls().next().is_some())
    }

    /// One of them.
    fn call(&self, call_id: &CallId) -> Option<&ToolCall> {
        let calls = self.thread.history.get(self.calling()?)?.message.calls();
        calls.into_iter().find(|call| call.call_id == *call_id)
    }

    /// Whether anybody watches what happens.
    pub(super) fn is_observed(&self) -> bool {
        // Of the end of messages that are no answers they are told as well.
        let watches = |stage: &Stage| stage.merge() == Merge::Observe || *stage == Stage::MessageEnd;
        Stage::all().filter(watches).any(|stage| self.has(stage))
    }
}

/// Another model was chosen, or another level at which it thinks.
fn chosen(model: &ModelRef, before: &ModelRef) -> Vec<(Stage, Value)> {
    let mut all = Vec::new();
    if !model.is_same(before) {
        let event = json!({"model": named(model), "previousModel": named(before), "source": "set"});
        all.push((Stage::ModelSelect, event));
    }
    if model.thinking != before.thinking {
        // As pi calls what nobody chose.
        let word = |model: &ModelRef| model.thinking.unwrap_or(ThinkingLevel::Off).word();
        all.push((Stage::ThinkingLevelSelect, json!({"level": word(model), "previousLevel": word(before)})));
    }
    all
}

/// A model, as those who watch have it.
fn named(model: &ModelRef) -> Value {
    json!({"provider": model.provider, "id": model.model, "name": model.model})
}

/// Room was made, or was not: both where messages went without a summary.
fn compacted(event: &ContextEvent) -> Vec<(Stage, Value)> {
    let ContextEvent::ContextCompacted { summary, tokens_before, request, reason, details, .. } = event else {
        return Vec::new();
    };
    let mut all = Vec::new();
    if !summary.is_empty() {
        let mut entry = json!({"type": "compaction", "summary": summary, "tokensBefore": tokens_before.0});
        if let Some(details) = details {
            entry["details"] = details.clone();
        }
        let by_handler = request.is_none() && reason.is_none();
        all.push((Stage::SessionCompact, json!({"compactionEntry": entry, "fromExtension": by_handler})));
    }
    all.extend(reason.iter().map(|why| (Stage::SessionCompactFailed, json!({"reason": why, "aborted": false}))));
    all
}
