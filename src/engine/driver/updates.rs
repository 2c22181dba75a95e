//! Telling those who watch of an answer while it arrives, and of what a tool prints while it runs.
//!
//! Nobody waits for them, and nothing piles up: what came meanwhile is told at once when they have answered, and of one answer or
//! call no more often than [`EVERY`](super::pace). Where nobody watches, nothing is made of it.

use super::Audience;
use super::pace::{Pace, Streaming};
use super::ready::Purpose;
use super::run::Driver;
use super::tools::RunningTool;
use crate::domain::{CallId, Message, Role, Stage, Timestamp};
use crate::pipeline::{Arriving, arriving};
use serde_json::{Value, json};
use tokio::time::Instant;

impl<A: Audience> Driver<A> {
    /// More of the answer in flight has arrived.
    pub(super) fn answer_grew(&mut self) {
        let follows = self.has(Stage::MessageUpdate);
        if !follows && !self.has(Stage::MessageStart) {
            return;
        }
        let Some(request) = self.call.as_ref().map(|call| call.request) else { return };
        if self.pipeline.streaming.as_ref().is_none_or(|known| known.request != request) {
            self.give_up_answer("error");
            let since = self.settings.clock.now();
            let message = self.arriving(&Message { role: Role::Assistant, blocks: Vec::new() }, since);
            self.watched(Stage::MessageStart, json!({"message": message}));
            let (far, pace) = (Arriving::default(), Pace::default());
            self.pipeline.streaming = Some(Streaming { request, since, far, pace, message });
        }
        self.pipeline.streaming.iter_mut().for_each(|streaming| streaming.pace.fresh = follows);
        self.tell_updates();
    }

    /// The answer in flight, as those who watch have it.
    fn arriving(&self, message: &Message, since: Timestamp) -> Value {
        let Some(call) = &self.call else { return Value::Null };
        arriving(message, (&call.model, self.settings.models.wire_form(&call.model)), &call.answer.usage(), since.0)
    }

    /// Nothing more of it comes: what was not told is told, before whoever watches hears how it ended.
    pub(super) fn answer_over(&mut self) {
        let ends = |call: &super::calls::Call| call.purpose == Purpose::Answer;
        let request = self.call.as_ref().filter(|call| ends(call)).map(|call| call.request);
        if self.pipeline.streaming.as_ref().map(|streaming| streaming.request) == request && request.is_some() {
            self.update_answer();
            self.tell_waiting();
        }
    }

    /// An answer was begun that does not join the conversation.
    pub(super) fn give_up_answer(&mut self, reason: &str) {
        if let Some(Streaming { mut message, .. }) = self.pipeline.streaming.take() {
            message["stopReason"] = reason.into();
            self.watched(Stage::MessageEnd, json!({"message": message}));
        }
    }

    /// When those who watch are to be told of what arrives; none while they are told of something.
    pub(super) fn updates_due(&self) -> Option<std::time::Instant> {
        if !self.pipeline.keeps_up() {
            return None;
        }
        let arrives = |known: &&Streaming| self.call.as_ref().is_some_and(|call| call.request == known.request);
        let answer = self.pipeline.streaming.as_ref().filter(arrives).and_then(|streaming| streaming.pace.due());
        let tools = self.tools.iter().filter_map(|tool| tool.pace.due());
        answer.into_iter().chain(tools).min().map(Instant::into_std)
    }

    /// Tells what is due.
    pub(super) fn tell_updates(&mut self) {
        self.collect_updates();
        self.tell_waiting();
    }

    /// What is due becomes events, where those who watch keep up.
    pub(super) fn collect_updates(&mut self) {
        if !self.pipeline.keeps_up() {
            return;
        }
        let now = Instant::now();
        if self.pipeline.streaming.as_ref().is_some_and(|streaming| streaming.pace.is_due(now)) {
            self.update_answer();
        }
        let due = self.tools.iter().filter(|tool| tool.pace.is_due(now));
        let due: Vec<CallId> = due.map(|tool| tool.call_id.clone()).collect();
        for call_id in &due {
            self.update_call(call_id);
        }
    }

    /// What came of the answer since it was told last.
    fn update_answer(&mut self) {
        let (Some(call), Some(since)) = (&self.call, self.pipeline.streaming.as_ref().map(|known| known.since)) else {
            return;
        };
        let message = self.arriving(&call.answer.so_far(), since);
        let Some(streaming) = &mut self.pipeline.streaming else { return };
        let whole = call.answer.stop().is_some();
        let content = message.get("content").unwrap_or(&Value::Null);
        let events = streaming.far.since(&call.answer.parts(), content, whole);
        streaming.pace.told(Instant::now());
        streaming.message.clone_from(&message);
        for mut event in events {
            // The answer so far, which crosses once.
            event["partial"] = true.into();
            self.watched(Stage::MessageUpdate, json!({"message": message, "assistantMessageEvent": event}));
        }
    }

    /// What a call has printed.
    pub(super) fn update_call(&mut self, call_id: &CallId) {
        let Some(tool) = self.tools.iter_mut().find(|tool| tool.call_id == *call_id && tool.pace.fresh) else { return };
        tool.pace.told(Instant::now());
        let result = json!({"content": [{"type": "text", "text": tool.said}], "details": null});
        let staged = self.thread.phase.calls().iter().find(|staged| staged.call.call_id == *call_id);
        let Some(call) = staged.map(|staged| &staged.call) else { return };
        let event =
            json!({"toolCallId": call_id.0, "toolName": call.tool, "args": call.input, "partialResult": result});
        self.watched(Stage::ToolExecutionUpdate, event);
    }

    /// A call has printed something.
    pub(super) fn call_printed(&mut self, index: usize, text: &str) {
        let watches = self.has(Stage::ToolExecutionUpdate);
        if let Some(tool) = self.tools.get_mut(index) {
            RunningTool::heard(tool, text);
            tool.pace.fresh = watches;
        }
        if watches {
            self.tell_updates();
        }
    }
}
