//! Events on their way to one handler. What large ones are in the engine is kept for the next handler.

use super::super::conversation::{Conversation, is_list_of};
use super::super::message::Lost;
use super::super::outcome::{Answer, Registration, Told};
use super::super::place::Problem;
use super::super::plain::{Json, Plain, is_same};
use super::super::realm::Realm;
use super::{EventLoop, Terms};
use crate::domain::stage_value::MOST_MESSAGES;
use crate::domain::{Messages, StageValue};
use rquickjs::object::Property;
use rquickjs::{Ctx, Function, IntoJs as _, Object, Persistent};
use serde_json::Value;
use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::{Rc, Weak};
use std::sync::Arc;

/// What a handler of a large event left in the engine for the next one.
#[derive(Default)]
pub(super) struct Reusable {
    /// The request that was given last, where its handler left it as it was.
    request: Option<(Arc<Value>, Persistent<rquickjs::Value<'static>>)>,
    conversation: Option<Conversation>,
}

/// The event that is a request.
const REQUEST: &str = "before_provider_request";

/// The event whose handlers get a signal.
const BEFORE_COMPACTION: &str = "session_before_compact";

impl EventLoop {
    pub(super) fn ask_handler(&mut self, handler: Registration, given: StageValue, terms: Terms) {
        if self.is_stale {
            self.publish();
        }
        let number = self.numbers.get(&handler).copied();
        let Registration { event, path, index } = handler;
        let Some(number) = number else {
            let message = format!("it has no handler of {event} any more");
            let file = Some(path.to_string_lossy().into_owned());
            let error = Some(Problem { message, file, ..Problem::default() });
            let answer = Answer { error, ..Answer::of(path, index) };
            let _gone = terms.2.send((answer, Told::default()));
            return;
        };
        // One that asks a model for a summary wants to know that nobody waits for it any more.
        let signal = (event == BEFORE_COMPACTION).then(|| {
            self.signals += 1.0;
            self.signals
        });
        let context = signal.map_or_else(|| Plain::map([]), |signal| Plain::map([("signal", Plain::Number(signal))]));
        let waiting = self.pending.len();
        match given {
            StageValue::Json(given) => self.ask_of_json((path, index), (event, number), given, context, terms),
            StageValue::Messages(given) => self.ask_of_messages((path, index), (event, number), given, context, terms),
        }
        if let Some(one) = self.pending.get_mut(waiting) {
            (one.signal, one.of_turn) = (signal, true);
        }
    }

    fn ask_of_json(
        &mut self,
        place: (PathBuf, u64),
        (event, number): (String, f64),
        given: Arc<Value>,
        context: Plain,
        terms: Terms,
    ) {
        let reusable = Rc::clone(&self.reusable);
        let known = reusable.borrow_mut().request.take().filter(|(known, _)| Arc::ptr_eq(known, &given));
        let made = Rc::new(RefCell::new(known.map(|(_, made)| made)));
        let (asked, is_request, as_made) = (Arc::clone(&given), event == REQUEST, Rc::clone(&made));
        let begin = move |realm: &Realm, lost: &Lost| {
            realm.begin(Some(lost), |ctx, api| {
                let known = made.borrow().clone();
                let payload = match known {
                    Some(known) => known.restore(ctx)?,
                    None => Json(&given).into_js(ctx)?,
                };
                *made.borrow_mut() = is_request.then(|| Persistent::save(ctx, payload.clone()));
                let given = Arc::clone(&given);
                let is_same = move |field: String, value: rquickjs::Value<'_>| is_same(&value, &given[&*field]);
                let is_same = Function::new(ctx.clone(), is_same)?;
                api.get::<_, Function<'_>>("callHandler")?.call((number, event, payload, context, is_same))
            })
        };
        let changed = move |mut record: Plain, answer: &mut Answer| {
            answer.value = record.take("value").map(Value::from);
            if answer.has_no_effect() {
                reusable.borrow_mut().request = as_made.borrow_mut().take().map(|made| (asked, made));
            }
        };
        self.begin(place, terms, begin, changed);
    }

    fn ask_of_messages(
        &mut self,
        place: (PathBuf, u64),
        (event, number): (String, f64),
        given: Arc<Messages>,
        context: Plain,
        terms: Terms,
    ) {
        let (reusable, asked, same) = (Rc::clone(&self.reusable), Arc::clone(&given), Arc::clone(&given));
        let known = reusable.borrow_mut().conversation.take();
        let kept = Rc::new(RefCell::new(None));
        let made = Rc::clone(&kept);
        let begin = move |realm: &Realm, lost: &Lost| {
            realm.begin(Some(lost), |ctx, api| {
                let (conversation, list) = Conversation::enter(ctx, given, known)?;
                *made.borrow_mut() = Some(conversation);
                let payload = Object::new(ctx.clone())?;
                payload.prop("messages", Property::from(list).writable().enumerable().configurable())?;
                let is_same = move |_: String, value: rquickjs::Value<'_>| is_list_of(&value, &same);
                let is_same = Function::new(ctx.clone(), is_same)?;
                // JavaScript may keep this function for ever; it must not keep the conversation with it.
                let take = Function::new(ctx.clone(), take_messages(Rc::downgrade(&made)))?;
                api.get::<_, Function<'_>>("callHandler")?.call((number, event, payload, context, is_same, take))
            })
        };
        let changed = move |mut record: Plain, answer: &mut Answer| {
            answer.value = record.take("value").map(Value::from);
            if record.get("taken").is_some_and(Plain::is_true) {
                let conversation = kept.borrow_mut().take();
                let messages = conversation.as_ref().map(|conversation| &conversation.messages);
                answer.messages = messages.filter(|messages| !Arc::ptr_eq(messages, &asked)).cloned();
                // One that is refused for its length would be kept until the next request.
                reusable.borrow_mut().conversation = conversation.filter(|now| now.messages.len() <= MOST_MESSAGES);
            }
        };
        self.begin(place, terms, begin, changed);
    }
}

/// Reads what a handler left of the conversation that it was given: tells whether that is one.
fn take_messages<'js>(
    kept: Weak<RefCell<Option<Conversation>>>,
) -> impl Fn(Ctx<'js>, rquickjs::Value<'js>) -> rquickjs::Result<bool> + 'js {
    move |ctx, list| {
        let Some(kept) = kept.upgrade() else { return Ok(false) };
        let conversation = kept.borrow_mut().take();
        let now = conversation.map(|conversation| conversation.read_back(&ctx, &list)).transpose()?.flatten();
        let is_one = now.is_some();
        *kept.borrow_mut() = now;
        Ok(is_one)
    }
}
