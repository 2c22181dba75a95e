//! Calls of models that extensions make beside the thread's own: within its budget, charged to it, told in its log.
//!
//! One is recorded before it is sent, and with what it cost when it is over; what an extension no longer waits for is closed
//! and charged as far as it went, and of a process that died by whoever closes its log.

use super::Audience;
use super::account::Unfunded;
use super::calls::{Call, Progress};
use super::dialogs::{About, Called, Reply};
use super::ready::Purpose;
use super::run::Driver;
use crate::domain::budget::CallCost;
use crate::domain::event::CallError;
use crate::domain::{Event, ExtensionEntry, Money, ThreadEvent, Tokens, Usage};
use crate::pipeline::told;
use crate::ports::{CallRequest, ModelAnswer, ModelCall};
use std::sync::Arc;

/// As many are under way at once.
const MOST: usize = 8;

impl<A: Audience> Driver<A> {
    /// Makes a call for an extension, and goes on meanwhile.
    pub(super) async fn call_model(&mut self, call: ModelCall, reply: Reply) {
        if let Err((why, reply)) = self.begin_side_call(call, reply).await {
            let _gone = reply.send(Err(why));
        }
    }

    async fn begin_side_call(&mut self, call: ModelCall, reply: Reply) -> Result<(), (String, Reply)> {
        if self.dialogs.calls.len() >= MOST {
            return Err((format!("{MOST} calls of models are under way already"), reply));
        }
        let reached = self.thread.limits.reached(&self.thread.cost);
        if let Some((kind, current, maximum)) = reached.filter(|_| call.within.is_none()) {
            let why = format!("no call was sent: the thread is at its limit, {current} of {maximum} {}", kind.thing());
            return Err((why, reply));
        }
        let ModelCall { from, model, system, messages, tools, most_output, within } = call;
        let is_within = within.is_some();
        let provider = match within.map_or_else(|| self.settings.models.provider(&model), |within| Ok(within.0)) {
            Ok(provider) => provider,
            Err(why) => return Err((why, reply)),
        };
        let most = self.settings.models.max_output(&model);
        let max_output_tokens = most_output.map_or(most, |wanted| wanted.clamp(1, most.max(1)));
        let messages = told(&[], &messages).into_iter().map(|told| told.entry.message).collect();
        let request = CallRequest {
            model: model.model.clone(),
            thinking: model.thinking,
            system,
            messages,
            tools,
            images: Arc::default(),
            max_output_tokens,
            attempt: 1,
        };
        let encoded = match provider.encode(request) {
            Ok(encoded) => encoded,
            Err(CallError { message, .. }) => return Err((message, reply)),
        };
        let body = String::from_utf8_lossy(&encoded.body).into_owned();
        let limit = self.settings.models.bounds().prompt;
        if body.len() > limit {
            return Err((format!("the request has {} bytes, the limit is {limit} (max_prompt_kb)", body.len()), reply));
        }
        self.dialogs.called += 1;
        // Numbers of its own: those of requests begin at the other end.
        let number = u32::MAX - self.dialogs.called;
        let sent = Tokens::estimate(&body);
        // What an answer may cost was reserved with it.
        let nothing = CallCost { spend: Some(Money::ZERO), tokens: Tokens(0) };
        let most = if is_within { nothing } else { self.dearest(&model, sent, Tokens(0), max_output_tokens) };
        if let Err(unfunded) = self.reserve_beside(number, most).await {
            return Err((unfunded.to_string(), reply));
        }
        let body = self.settings.store.keep_result(&body).ok();
        let about = About { number, from, body, model, sent, within: is_within };
        self.emit(about.sent()).await;
        if self.blocked.is_some() {
            // Nothing is sent that the log does not tell of.
            let why = Unfunded::Blocked.to_string();
            self.emit(about.over(Usage::default(), Some(Money::ZERO), Some(why.clone()))).await;
            self.settle_beside(number).await;
            return Err((why, reply));
        }
        let stream = provider.send(encoded);
        let called = (about.model.clone(), 1, Purpose::Beside);
        let mut call = Call::new(number, called, stream, self.settings.models.bounds());
        let mut closing = self.dialogs.closing.subscribe();
        self.dialogs.calls.spawn(async move {
            let mut reply = reply;
            let failed = loop {
                tokio::select! {
                    progress = call.read() => match progress {
                        Progress::Going => {}
                        Progress::Finished => break None,
                        Progress::Failed(error) => break Some(error.message),
                    },
                    () = reply.closed() => break Some("nobody waits for it any more".to_owned()),
                    _ended = closing.changed() => break Some("the thread is ending".to_owned()),
                }
            };
            Called { about, answer: call.answer, failed, reply }
        });
        Ok(())
    }

    /// Closes the calls that are under way, and charges them as far as they went.
    pub(super) async fn close_side_calls(&mut self) {
        self.dialogs.closing.send_replace(true);
        while let Some(over) = self.dialogs.calls.join_next().await {
            if let Ok(called) = over {
                self.side_call_over(called).await;
            }
        }
    }

    /// A call of an extension is over: it is charged and told, then its extension goes on.
    pub(super) async fn side_call_over(&mut self, called: Called) {
        let Called { about, answer, failed, reply } = called;
        let usage = answer.cost(about.sent);
        let spend = self.settings.models.spend(&about.model, &usage);
        let counts = if about.within { (Usage::default(), Some(Money::ZERO)) } else { (usage, spend) };
        self.emit(about.over(counts.0, counts.1, failed.clone())).await;
        // Where it cannot be recorded yet, the next sum counts it.
        if self.blocked.is_none() {
            self.settle_beside(about.number).await;
        }
        let answer = match failed {
            Some(why) => Err(why),
            None => {
                Ok(ModelAnswer { message: answer.message(), stop: answer.ended(), usage, spend, model: about.model })
            }
        };
        let _gone = reply.send(answer);
        self.tell_state();
    }
}

impl About {
    fn sent(&self) -> Event {
        let Self { number, from, body, model, sent, .. } = self.clone();
        Event::Thread(ThreadEvent::ExtensionEntry {
            entry: ExtensionEntry::ModelCallSent { number, from, model, body, sent },
        })
    }

    fn over(&self, usage: Usage, spend: Option<Money>, failed: Option<String>) -> Event {
        let Self { number, from, body, model, .. } = self.clone();
        let number = Some(number);
        Event::Thread(ThreadEvent::ExtensionEntry {
            entry: ExtensionEntry::ModelCall { number, from, model, body, usage, spend, failed },
        })
    }
}

impl std::fmt::Display for Unfunded {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Failed(error) => formatter.write_str(&error.message),
            Self::Refused(refusal) => write!(formatter, "no call was sent: {refusal}"),
            Self::NoSlot(taken) => taken.fmt(formatter),
            Self::Blocked => formatter.write_str("the thread cannot be saved"),
            Self::Stopped => formatter.write_str("the thread is being stopped"),
        }
    }
}
