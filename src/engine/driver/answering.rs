//! An answer while it arrives, and what is recorded of it when it ends: whole, cut, or stopped.

use super::Audience;
use super::calls::{Call, Progress};
use super::pipeline::{Goal, Made};
use super::ready::Purpose;
use super::run::Driver;
use super::stage::Passed;
use super::tools::EarlyCalls;
use crate::domain::event::StopReason;
use crate::domain::{
    AnswerFacts, ControlEvent, Entry, Event, Message, MessageFacts, RequestEvent, Stage, Step, Tokens, Usage,
};
use crate::engine::thread::{Effect, Phase};
use crate::pipeline::{Chain, to_json};
use crate::ports::ResponseHead;
use serde_json::{Value, json};
use std::time::Instant;

impl<A: Audience> Driver<A> {
    pub(super) async fn progressed(&mut self, progress: Progress) {
        while let Some(ResponseHead { status, headers }) = self.call.as_mut().and_then(Call::head) {
            self.watched(Stage::AfterProviderResponse, json!({"status": status, "headers": headers}));
            self.tell_waiting();
        }
        match progress {
            Progress::Going => {
                self.show_and_keep(false);
                self.begin_early().await;
            }
            Progress::Finished => {
                self.show_and_keep(true);
                if let Some(call) = self.call.take_if(|call| call.purpose == Purpose::Summary) {
                    self.summarised(&call);
                    self.carry_out().await;
                } else if let Some(call) = self.call.take() {
                    let stop = call.answer.ended();
                    self.answer_ended(call, stop).await;
                }
            }
            Progress::Failed(error) => {
                self.show_and_keep(true);
                let Some(call) = self.call.take() else { return };
                if call.purpose == Purpose::Summary {
                    self.summary_failed(&call, error);
                    self.carry_out().await;
                } else if call.answer.is_empty() {
                    self.settings.audience.settled(call.request);
                    self.charge(&call);
                    let (request, attempt) = (call.request, call.attempt);
                    self.emit(Event::Request(RequestEvent::ErrorClassified { request, attempt, error })).await;
                } else {
                    let stop = error.cuts();
                    self.answer_ended(call, stop).await;
                }
            }
        }
    }

    /// An answer ended with `stop`: it is recorded, by way of its handlers where there are some.
    async fn answer_ended(&mut self, mut call: Call, stop: StopReason) {
        let told = self.has(Stage::MessageEnd).then(|| call.answer.message());
        let Some(message) = told.filter(|message| !message.blocks.is_empty()) else {
            return self.keep_answer(call, stop, None, Vec::new()).await;
        };
        // The time of handlers is not the model's, and a crash amid them leaves all of it.
        let rest = call.ended();
        if let Err(error) = self.settings.store.keep_inflight(call.request, &rest) {
            self.complain(&error);
        }
        let usage = call.answer.usage();
        let spend = self.settings.models.spend(&call.model, &usage);
        let facts = AnswerFacts { model: call.model.clone(), usage, spend, stop: stop.clone() };
        let facts = MessageFacts { answer: Some(facts), ..MessageFacts::at(self.settings.clock.now()) };
        let entry = Entry::said(message.clone(), facts);
        let forms = self.forms(std::slice::from_ref(&entry));
        let Some(Value::Object(mut facts)) = to_json(&[entry], &forms).pop() else {
            return self.keep_answer(call, stop, None, Vec::new()).await;
        };
        if self.pipeline.streaming.take().is_none() {
            self.watched(Stage::MessageStart, json!({"message": facts}));
            self.tell_waiting();
        }
        facts.remove("content");
        self.answered = Some((call, stop));
        self.start(Goal::Answer, |asking| async move {
            Made::Stage(asking.through(Chain::MessageEnd { facts, answer: message }).await)
        });
    }

    /// An answer is through its handlers.
    pub(super) async fn answer_made(&mut self, passed: Passed) {
        let Some((call, stop)) = self.answered.take() else { return };
        let steps = self.kept_steps(&passed.asked);
        let now = if let Chain::MessageEnd { answer, .. } = passed.chain { Some(answer) } else { None };
        self.keep_answer(call, stop, now, steps).await;
    }

    /// Records what has arrived of `call` as an answer that ended with `stop`, with the words that handlers made of it. All of it
    /// comes before a stop that is wished meanwhile, and what it calls behind that.
    async fn keep_answer(&mut self, call: Call, stop: StopReason, now: Option<Message>, steps: Vec<Step>) {
        let elapsed_ms = call.elapsed_ms();
        let estimate = self.unreported(&call);
        let Call { request, model, answer, .. } = call;
        self.pipeline.knows_end = now.is_some();
        let message = now.unwrap_or_else(|| answer.message());
        let (text, usage) = (message.thinking(), answer.usage());
        let prepared = (!steps.is_empty()).then_some(Event::Request(RequestEvent::AnswerPrepared { request, steps }));
        let thought = (!text.is_empty()).then_some(Event::Request(RequestEvent::CognitionReasoning { text }));
        let event = Event::Request(RequestEvent::CognitionOut {
            text: message.text(),
            request,
            stop,
            usage,
            spend: self.settings.models.spend(&model, &usage),
            model,
            message,
            elapsed_ms,
        });
        let events = prepared.into_iter().chain(thought).chain(estimate).chain([event]);
        self.todo.extend(events.map(Effect::Emit));
        self.carry_out().await;
        // What is not in the log yet is kept beside it.
        if self.blocked.is_none() {
            self.settings.audience.settled(request);
            if let Err(error) = self.settings.store.clear_inflight() {
                self.complain(&error);
            }
        }
    }

    /// What `call` has cost beside what an answer in the log says.
    pub(super) fn charged(&self, call: &Call) -> Option<Event> {
        self.charge_of(call, call.answer.cost(self.thread.context()))
    }

    fn charge_of(&self, call: &Call, usage: Usage) -> Option<Event> {
        let request = call.request;
        let spend = self.settings.models.spend(&call.model, &usage);
        (usage.total() > Tokens(0)).then_some(Event::Request(RequestEvent::CallCharged { request, usage, spend }))
    }

    /// The same of one that leaves an answer, which has what was reported: what nobody reported.
    fn unreported(&self, call: &Call) -> Option<Event> {
        let (all, told) = (call.answer.cost(self.thread.context()), call.answer.usage());
        let input = Tokens(all.input.0.saturating_sub(told.input.0));
        let output = Tokens(all.output.0.saturating_sub(told.output.0));
        self.charge_of(call, Usage { input, output, ..Usage::default() })
    }

    /// Records it before what is still to be done.
    pub(super) fn charge(&mut self, call: &Call) {
        if let Some(event) = self.charged(call) {
            self.todo.push_front(Effect::Emit(event));
        }
    }

    pub(super) fn show_and_keep(&mut self, all: bool) {
        let Some(call) = &mut self.call else { return };
        let now = Instant::now();
        let shown = call.due_to_show(now, all);
        if call.purpose == Purpose::Summary {
            drop(call.due_to_keep(now));
            return;
        }
        let (request, grew) = (call.request, !shown.is_empty());
        let kept = call.due_to_keep(now);
        if grew {
            self.settings.audience.streamed(request, shown);
        }
        if !kept.is_empty()
            && let Err(error) = self.settings.store.keep_inflight(request, &kept)
        {
            self.complain(&error);
        }
        if grew {
            self.answer_grew();
        }
        if all {
            self.answer_over();
        }
    }

    /// Closes the connection, then records what had arrived.
    pub(super) fn stop_call(&mut self) {
        (self.ready, self.pending_snapshot) = (None, None);
        self.early = EarlyCalls::default();
        self.pipeline.knows_end = self.answered.is_some();
        if let Some((call, _)) = self.answered.take() {
            // Nobody waits for its handlers any more: it is kept as it came.
            self.call = Some(call);
        }
        self.pipeline.stop();
        self.show_and_keep(true);
        let stopping = if let Phase::Stopping { since, .. } = self.thread.phase { Some(since) } else { None };
        let asked = stopping.unwrap_or_else(|| self.settings.clock.now());
        let mut events = Vec::new();
        (self.compaction, self.branch) = (None, None);
        if let Some(call) = self.call.take() {
            let told = call.purpose == Purpose::Answer && !call.answer.is_empty();
            events.extend(if told { self.unreported(&call) } else { self.charged(&call) });
            let elapsed_ms = call.elapsed_ms();
            let Call { request, model, answer, .. } = call;
            self.settings.audience.settled(request);
            if told {
                if !answer.thinking().is_empty() {
                    events.push(Event::Request(RequestEvent::CognitionReasoning { text: answer.thinking() }));
                }
                events.push(Event::Request(RequestEvent::CognitionOut {
                    text: answer.text(),
                    request,
                    stop: StopReason::Cancelled,
                    usage: answer.usage(),
                    spend: self.settings.models.spend(&model, &answer.usage()),
                    model,
                    message: answer.message(),
                    elapsed_ms,
                }));
            }
        }
        let after_ms = self.settings.clock.now().since(asked);
        events.push(Event::Control(ControlEvent::TurnCancelled { after_ms }));
        for event in events.into_iter().rev() {
            self.todo.push_front(Effect::Emit(event));
        }
        if let Err(error) = self.settings.store.clear_inflight() {
            self.complain(&error);
        }
    }
}
