//! A conversation in an engine: what its handlers leave as it was crosses once.

use super::plain::{LEAST, Reader, Writer};
use crate::domain::Messages;
use crate::domain::stage_value::weight;
use rquickjs::{Array, Ctx, Persistent, Result, Value};
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

/// Messages, and what they are in the engine. It must not outlive that.
#[derive(Clone)]
pub(super) struct Conversation {
    pub(super) messages: Arc<Messages>,
    /// As many; none where a message is not in the engine as it is.
    objects: Vec<Option<Persistent<Value<'static>>>>,
}

impl Conversation {
    /// Has `messages` in the engine, where `known` has some of them already, and makes the list of them that a handler gets.
    pub(super) fn enter<'js>(
        ctx: &Ctx<'js>,
        messages: Arc<Messages>,
        known: Option<Self>,
    ) -> Result<(Self, Value<'js>)> {
        let (before, mut known) = known.map(|known| (known.messages, known.objects)).unwrap_or_default();
        let places: Vec<*const serde_json::Value> = before.iter().map(Arc::as_ptr).collect();
        let (mut places, mut writer) = (Places::of(&places), Writer::new(ctx));
        let (list, mut objects) = (Array::new(ctx.clone())?, Vec::with_capacity(messages.len()));
        for (index, message) in messages.iter().enumerate() {
            let place = places.find(&Arc::as_ptr(message)).and_then(|place| known.get_mut(place));
            // The same message may stand in a list twice.
            let object = match place.and_then(|object| object.clone()) {
                Some(object) => object.restore(ctx)?,
                None => writer.json(message)?,
            };
            list.set(index, object.clone())?;
            objects.push(Some(Persistent::save(ctx, object)));
        }
        Ok((Self { messages, objects }, list.into_value()))
    }

    /// What a handler left in `list`; none where that is no list. Messages that are as they were are shared.
    pub(super) fn left_in<'js>(self, ctx: &Ctx<'js>, list: &Value<'js>) -> Result<Option<Self>> {
        let Some(list) = list.as_array() else { return Ok(None) };
        let known = self.objects.into_iter().map(|object| match object {
            Some(object) => object.restore(ctx),
            None => Ok(Value::new_undefined(ctx.clone())),
        });
        let known = known.collect::<Result<Vec<_>>>()?;
        let (mut places, mut reader) = (Places::of(&known), Reader::new(ctx));
        let (mut messages, mut objects) = (Messages::new(), Vec::new());
        // A message may stand in the list a million times, and one that is large is looked at once.
        let mut seen = vec![false; known.len()];
        for object in list.iter::<Value<'js>>() {
            reader.take(LEAST)?;
            let object = object?;
            let place = places.find(&object);
            let seen = place.and_then(|place| seen.get_mut(place));
            // Many handlers copy every message and change one: a copy is looked for where the message was.
            let before = self.messages.get(place.unwrap_or_else(|| places.pass()));
            let is_same = match (before, &seen) {
                (Some(_), Some(true)) => true,
                (Some(before), Some(false)) => reader.is_same(&object, before)?,
                (Some(before), None) => {
                    reader.take(weight(before))?;
                    reader.is_same(&object, before)?
                }
                (None, _) => false,
            };
            if let Some(seen) = seen {
                *seen = is_same;
            }
            let (message, is_it) = match before {
                Some(before) if is_same => (Arc::clone(before), true),
                _ => {
                    let message = reader.read(&object)?.into();
                    // What has more than is recorded is made anew: the next handler gets what is.
                    let is_it = reader.is_same(&object, &message)?;
                    let before = before.filter(|before| ***before == message);
                    (before.map_or_else(|| Arc::new(message), Arc::clone), is_it)
                }
            };
            messages.push(message);
            objects.push(is_it.then(|| Persistent::save(ctx, object)));
        }
        let same = |(now, before): (&Arc<_>, &Arc<_>)| Arc::ptr_eq(now, before);
        let is_unchanged = messages.len() == self.messages.len() && messages.iter().zip(&*self.messages).all(same);
        let messages = if is_unchanged { self.messages } else { Arc::new(messages) };
        Ok(Some(Self { messages, objects }))
    }
}

/// Where something stands in a list; soon found where it is looked for in the order of the list.
struct Places<'a, T> {
    list: &'a [T],
    next: usize,
    by_value: Option<HashMap<&'a T, usize>>,
}

impl<'a, T: Eq + Hash> Places<'a, T> {
    fn of(list: &'a [T]) -> Self {
        Self { list, next: 0, by_value: None }
    }

    fn find(&mut self, wanted: &T) -> Option<usize> {
        let mut place = self.next;
        if self.list.get(place) != Some(wanted) {
            let all = || self.list.iter().enumerate().map(|(place, one)| (one, place)).collect();
            place = *self.by_value.get_or_insert_with(all).get(wanted)?;
        }
        self.next = place + 1;
        Some(place)
    }

    /// The place behind the one that was found last, which is behind it from here on.
    fn pass(&mut self) -> usize {
        self.next += 1;
        self.next - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_found_in_any_order() {
        let list = ["a", "b", "c", "d"];
        let mut places = Places::of(&list);
        let found = ["a", "c", "d", "b", "x", "c", "a"].map(|one| places.find(&one));
        assert_eq!(found, [Some(0), Some(2), Some(3), Some(1), None, Some(2), Some(0)]);
        assert_eq!([places.pass(), places.pass()], [1, 2]);
    }
}
