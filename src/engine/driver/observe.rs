//! Telling those who watch what happens in a thread: nobody waits for them.

use super::Audience;
use super::pipeline::{Goal, Made, News, heard};
use super::run::Driver;
use super::stage::Asking;
use crate::domain::{
    ContextEvent, Entry, Event, Merge, PromptEvent, RequestEvent, SettingsEvent, Stage, ThreadEvent, ToolEvent,
};
use crate::engine::thread::Phase;
use crate::pipeline::{Chain, to_json};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// So long is waited for those who are told what happened, when a thread ends.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// More is not told to those who do not keep up.
const MOST_OBSERVED: usize = 1_000;

impl<A: Audience> Driver<A> {
    /// Tells those who watch what an event means for them. `rested` is whether the thread did before it.
    pub(super) fn observe(&mut self, event: &Event, rested: bool) {
        for (stage, fields) in self.observed(event, rested) {
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
    fn observed(&mut self, event: &Event, rested: bool) -> Vec<(Stage, Map<String, Value>)> {
        let fields = |value: Value| if let Value::Object(map) = value { map } else { Map::new() };
        let turn = self.thread.turn().saturating_sub(1);
        let mut all = Vec::new();
        match event {
            Event::Thread(ThreadEvent::WorkerStarted { .. }) => {
                let reason = if self.thread.history.is_empty() { "startup" } else { "resume" };
                all.push((Stage::SessionStart, json!({"reason": reason})));
            }
            Event::Thread(ThreadEvent::WorkerEnded { .. }) => all.push((Stage::SessionShutdown, json!({}))),
            Event::Prompt(PromptEvent::CognitionIn { .. }) if !self.pipeline.runs => {
                self.pipeline.runs = true;
                all.push((Stage::AgentStart, json!({})));
            }
            Event::Request(RequestEvent::RequestRecorded { attempt: 1, .. }) => {
                all.push((Stage::TurnStart, json!({"turnIndex": turn})));
            }
            Event::Request(RequestEvent::CognitionOut { message, .. }) => {
                let message = to_json(&[Entry::new(message.clone())]).pop();
                all.push((Stage::MessageEnd, json!({"message": message})));
                if !matches!(self.thread.phase, Phase::Tools { .. }) {
                    let turn = turn.saturating_sub(1);
                    all.push((Stage::TurnEnd, json!({"turnIndex": turn, "message": message, "toolResults": []})));
                }
            }
            Event::Tool(ToolEvent::ToolCallStart { tool, call_id, input, .. }) => {
                all.push((
                    Stage::ToolExecutionStart,
                    json!({"toolCallId": call_id.0, "toolName": tool, "args": input}),
                ));
            }
            Event::Tool(ToolEvent::ToolCallResult { call_id, output, error }) => {
                let result = json!({"content": [{"type": "text", "text": output}]});
                let ended = json!({"toolCallId": call_id.0, "result": result, "isError": error.is_some()});
                all.push((Stage::ToolExecutionEnd, ended));
                if !matches!(self.thread.phase, Phase::Tools { .. } | Phase::Hooks(_)) {
                    let results = self.thread.history.last().map(|entry| to_json(std::slice::from_ref(entry)));
                    let turn = turn.saturating_sub(1);
                    all.push((Stage::TurnEnd, json!({"turnIndex": turn, "toolResults": results})));
                }
            }
            Event::Context(ContextEvent::ContextCompacted { summary, tokens_before, .. }) => {
                all.push((
                    Stage::SessionCompact,
                    json!({"compactionEntry": {"summary": summary, "tokensBefore": tokens_before.0}}),
                ));
            }
            Event::Settings(SettingsEvent::ModelChanged { model }) => {
                all.push((Stage::ModelSelect, json!({"model": {"provider": model.provider, "id": model.model, "name": model.model}, "source": "set"})));
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
        if !rested && self.thread.is_resting() && std::mem::take(&mut self.pipeline.runs) {
            let asked = self.thread.history.iter().rposition(|entry| entry.message.is_prompt()).unwrap_or_default();
            let messages = to_json(self.thread.history.get(asked..).unwrap_or_default());
            all.push((Stage::AgentEnd, json!({"messages": messages})));
        }
        all.into_iter().map(|(stage, value)| (stage, fields(value))).collect()
    }

    /// Whether anybody watches what happens.
    pub(super) fn is_observed(&self) -> bool {
        Stage::all().any(|stage| stage.merge() == Merge::Observe && self.has(stage))
    }
}
