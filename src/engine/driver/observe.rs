//! Telling those who watch what happens in a thread: nobody waits for them.

use super::Audience;
use super::pipeline::{Before, Goal, Made, News, Run, heard};
use super::run::Driver;
use super::stage::Asking;
use crate::domain::{
    CallId, ContextEvent, ControlEvent, Event, Merge, ModelRef, PromptEvent, RequestEvent, SettingsEvent, Stage,
    ThreadEvent, ToolEvent,
};
use crate::engine::thread::Phase;
use crate::pipeline::{Chain, to_json};
use serde_json::{Value, json};
use std::time::Duration;

/// So long is waited for those who are told what happened, when a thread ends.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// More is not told to those who do not keep up.
const MOST_OBSERVED: usize = 1_000;

impl<A: Audience> Driver<A> {
    /// Tells those who watch what an event means for them.
    pub(super) fn observe(&mut self, event: &Event, before: &Before) {
        for (stage, value) in self.observed(event, before) {
            let Value::Object(fields) = value else { continue };
            if self.has(stage) && self.pipeline.observed.len() < MOST_OBSERVED {
                if stage == Stage::SessionStart {
                    self.pipeline.begins.send_replace(true);
                }
                self.pipeline.observed.push_back(Chain::Observe { stage, event: fields });
            }
        }
        if !self.pipeline.observed.is_empty() && !self.pipeline.jobs.iter().any(|job| matches!(job.goal, Goal::Observe))
        {
            self.tell_next();
        }
    }

    pub(super) fn tell_next(&mut self) {
        if let Some(chain) = self.pipeline.observed.pop_front() {
            self.start(Goal::Observe, |asking| async move {
                // Nobody waits for it.
                let asking = Asking { watch: None, ..asking };
                Made::Stage(asking.through(chain).await)
            });
        }
    }

    /// Waits for those who are still to be told, as long as may be.
    pub(super) async fn last_words(&mut self) {
        let all = async {
            while self.pipeline.jobs.iter().any(|job| matches!(job.goal, Goal::Observe)) {
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
    fn observed(&mut self, event: &Event, before: &Before) -> Vec<(Stage, Value)> {
        let mut all = Vec::new();
        if let Event::Thread(ThreadEvent::WorkerStarted { .. }) = event {
            // What was said before this worker is not told as if it happened now.
            self.pipeline.known = self.thread.history.len();
        }
        if let Event::Prompt(PromptEvent::CognitionIn { .. }) = event
            && self.pipeline.run.is_none()
        {
            let (turn, from) = (self.thread.cost.turns, self.pipeline.known);
            self.pipeline.run = Some(Run { turn, from, in_turn: false });
            all.push((Stage::AgentStart, json!({})));
        }
        let said = self.said_since();
        all.extend(said.iter().map(|message| (Stage::MessageEnd, json!({"message": message}))));
        match event {
            Event::Thread(ThreadEvent::WorkerStarted { .. }) => {
                let reason = if self.thread.history.is_empty() { "startup" } else { "resume" };
                all.push((Stage::SessionStart, json!({"reason": reason})));
            }
            Event::Thread(ThreadEvent::WorkerEnded { .. }) => all.push((Stage::SessionShutdown, json!({}))),
            Event::Request(RequestEvent::RequestRecorded { attempt: 1, .. }) if self.is_answered_next() => {
                all.push((Stage::TurnStart, json!({"turnIndex": self.turn_index()})));
                self.pipeline.run.iter_mut().for_each(|run| run.in_turn = true);
            }
            Event::Request(RequestEvent::CognitionOut { .. }) if !matches!(self.thread.phase, Phase::Tools { .. }) => {
                all.extend(self.turn_end(said.last(), &[]));
            }
            Event::Tool(ToolEvent::ToolCallStart { tool, call_id, input, .. }) => {
                all.push((
                    Stage::ToolExecutionStart,
                    json!({"toolCallId": call_id.0, "toolName": tool, "args": input}),
                ));
            }
            Event::Tool(ToolEvent::ToolCallResult { call_id, output, error }) => {
                let result = json!({"content": [{"type": "text", "text": output}]});
                let (tool, failed) = (self.tool_of(call_id), error.is_some());
                all.insert(
                    0,
                    (
                        Stage::ToolExecutionEnd,
                        json!({"toolCallId": call_id.0, "toolName": tool, "result": result, "isError": failed}),
                    ),
                );
                if !matches!(self.thread.phase, Phase::Tools { .. } | Phase::Hooks(_)) {
                    let calls = self.calling().and_then(|place| self.told(place, place + 1).pop());
                    all.extend(self.turn_end(calls.as_ref(), &said));
                }
            }
            Event::Context(ContextEvent::ContextCompacted { summary, tokens_before, request, reason, .. }) => {
                let entry = json!({"summary": summary, "tokensBefore": tokens_before.0});
                let by_handler = request.is_none() && reason.is_none();
                all.push((Stage::SessionCompact, json!({"compactionEntry": entry, "fromExtension": by_handler})));
            }
            Event::Settings(SettingsEvent::ModelChanged { model }) if *model != before.model => {
                let named =
                    |model: &ModelRef| json!({"provider": model.provider, "id": model.model, "name": model.model});
                let (model, previous) = (named(model), named(&before.model));
                all.push((Stage::ModelSelect, json!({"model": model, "previousModel": previous, "source": "set"})));
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
        all
    }

    /// The run is over; a turn that was not brought to its end ends with it.
    fn run_ends(&mut self, event: &Event) -> Vec<(Stage, Value)> {
        let Some(run) = self.pipeline.run else { return Vec::new() };
        let mut all = Vec::new();
        if run.in_turn {
            let stopped = matches!(event, Event::Control(ControlEvent::TurnCancelled { .. }));
            let reason = if stopped { "aborted" } else { "error" };
            let message = json!({"role": "assistant", "content": [], "stopReason": reason});
            all.extend(self.turn_end(Some(&message), &[]));
        }
        self.pipeline.run = None;
        self.breakpoints().steps = false;
        let messages = self.told(run.from, self.thread.history.len());
        all.push((Stage::AgentEnd, json!({"messages": messages})));
        all
    }

    /// The end of the turn that has begun; nothing where it has ended.
    fn turn_end(&mut self, message: Option<&Value>, results: &[Value]) -> Option<(Stage, Value)> {
        let turn = self.turn_index();
        let run = self.pipeline.run.as_mut().filter(|run| run.in_turn)?;
        run.in_turn = false;
        // It was counted when its answer arrived.
        let turn = if message.is_some_and(|message| message.get("stopReason").is_some()) {
            turn
        } else {
            turn.saturating_sub(1)
        };
        Some((Stage::TurnEnd, json!({"turnIndex": turn, "message": message, "toolResults": results})))
    }

    /// The turn of the run, from 0.
    fn turn_index(&self) -> u32 {
        self.thread.cost.turns.saturating_sub(self.pipeline.run.map_or(0, |run| run.turn))
    }

    /// Whether the request that is recorded asks for an answer, and not for a summary.
    fn is_answered_next(&self) -> bool {
        !matches!(self.thread.phase, Phase::Compacting { .. })
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
        let before = to_json(self.thread.history.get(start..from).unwrap_or_default()).len();
        to_json(self.thread.history.get(start..to).unwrap_or_default()).split_off(before)
    }

    /// Where the calls stand that were answered last.
    fn calling(&self) -> Option<usize> {
        self.thread.history.iter().rposition(|entry| entry.message.calls().next().is_some())
    }

    /// The tool of a call.
    fn tool_of(&self, call_id: &CallId) -> Option<&str> {
        let calls = self.thread.history.get(self.calling()?)?.message.calls();
        calls.into_iter().find(|call| call.call_id == *call_id).map(|call| call.tool.as_str())
    }

    /// Whether anybody watches what happens.
    pub(super) fn is_observed(&self) -> bool {
        Stage::all().any(|stage| stage.merge() == Merge::Observe && self.has(stage))
    }
}
