//! A conversation in an engine: what its handlers leave as it was crosses once.

use super::plain::{LEAST, Reader, Writer};
use crate::domain::Messages;
use crate::domain::stage_value::weight;
use rquickjs::{Array, Ctx, Persistent, Result, Value};
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

/// Messages, and what they are in the engine. It must not outlive that.
pub(super) struct Conversation {
    pub(super) messages: Arc<Messages>,
    /// As many; none where a message is not in the engine as it is.
    objects: Vec<Option<Persistent<Value<'static>>>>,
}

impl Conversation {
    /// Brings `messages` into the engine, as what `known` has of them there, and makes the list of them that a handler gets.
    pub(super) fn enter<'js>(
        ctx: &Ctx<'js>,
        messages: Arc<Messages>,
        known: Option<Self>,
    ) -> Result<(Self, Value<'js>)> {
        let mut objects = known.map_or_else(|| vec![None; messages.len()], |known| known.objects_of(&messages));
        let (list, mut writer) = (Array::new(ctx.clone())?, Writer::new(ctx));
        for (index, (message, kept)) in messages.iter().zip(&mut objects).enumerate() {
            let object = match kept.take() {
                Some(object) => object.restore(ctx)?,
                None => writer.json(message)?,
            };
            list.set(index, object.clone())?;
            *kept = Some(Persistent::save(ctx, object));
        }
        Ok((Self { messages, objects }, list.into_value()))
    }

    /// What `messages` are in the engine, as far as they are the same. The others are let go.
    fn objects_of(self, messages: &Messages) -> Vec<Option<Persistent<Value<'static>>>> {
        let places: Vec<*const serde_json::Value> = self.messages.iter().map(Arc::as_ptr).collect();
        let mut places = Places::of(&places);
        // The same message may stand in a list twice.
        let object = |message| self.objects.get(places.find(&Arc::as_ptr(message))?)?.clone();
        messages.iter().map(object).collect()
    }

    /// What a handler left in `list`; none where that is no list. Messages that are as they were are shared.
    pub(super) fn read_back<'js>(self, ctx: &Ctx<'js>, list: &Value<'js>) -> Result<Option<Self>> {
        let Some(list) = list.as_array() else { return Ok(None) };
        let given = self.objects.into_iter().flatten().map(|object| object.restore(ctx)).collect::<Result<Vec<_>>>()?;
        let (mut places, mut reader) = (Places::of(&given), Reader::new(ctx));
        let (mut messages, mut objects) = (Messages::new(), Vec::new());
        // A message may stand in the list a million times, and one that is large is looked at once.
        let mut seen = vec![false; given.len()];
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
            // What a handler made is its own, and may be more than is recorded: the next one gets that made anew.
            let is_given = is_same && seen.is_some();
            if let Some(seen) = seen {
                *seen = is_same;
            }
            let message = match before {
                Some(before) if is_same => Arc::clone(before),
                _ => {
                    let message = reader.read(&object)?.into();
                    let before = before.filter(|before| ***before == message);
                    before.map_or_else(|| Arc::new(message), Arc::clone)
                }
            };
            messages.push(message);
            objects.push(is_given.then(|| Persistent::save(ctx, object)));
        }
        let same = |(now, before): (&Arc<_>, &Arc<_>)| Arc::ptr_eq(now, before);
        let is_unchanged = messages.len() == self.messages.len() && messages.iter().zip(&*self.messages).all(same);
        let messages = if is_unchanged { self.messages } else { Arc::new(messages) };
        Ok(Some(Self { messages, objects }))
    }
}

/// Whether `list` holds `messages` as they are.
pub(super) fn is_list_of(list: &Value<'_>, messages: &Messages) -> Result<bool> {
    let Some(list) = list.as_array().filter(|list| list.len() == messages.len()) else { return Ok(false) };
    let mut reader = Reader::new(list.ctx());
    for (object, message) in list.iter::<Value<'_>>().zip(messages) {
        if !reader.is_same(&object?, message)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Where something stands in a list: found at once where places are asked for in order.
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

    /// The place after the one found last, which counts as found from here on.
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
