//! The tool calls of an answer that is arriving: how they are numbered, and whether their arguments have come.

use super::answer::Events;
use crate::domain::CallId;
use crate::ports::ProviderEvent;

/// Calls in the order in which they began. `K` is how the wire tells one from another.
#[derive(Debug)]
pub(crate) struct Calls<K> {
    /// What ids made here begin with.
    made: &'static str,
    /// The number of the first id made here: higher than any in the conversation.
    earlier: usize,
    begun: Vec<Call<K>>,
}

#[derive(Debug)]
struct Call<K> {
    key: K,
    /// Until a piece of its arguments has come.
    empty: bool,
}

impl<K> Calls<K> {
    pub(crate) fn new(made: &'static str, earlier: usize) -> Self {
        Self { made, earlier, begun: Vec::new() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.begun.is_empty()
    }

    /// How many have begun.
    pub(crate) fn count(&self) -> usize {
        self.begun.len()
    }

    /// Whether a piece of its arguments has come.
    pub(crate) fn has_grown(&self, number: usize) -> bool {
        self.begun.get(number).is_some_and(|call| !call.empty)
    }

    /// The number of the newest call whose key fits.
    pub(crate) fn find(&self, fits: impl Fn(&K) -> bool) -> Option<usize> {
        self.begun.iter().rposition(|call| fits(&call.key))
    }

    /// Begins a call, and returns its number. One that has no id gets one.
    pub(crate) fn begin(&mut self, key: K, id: &str, tool: String, events: &mut Events) -> usize {
        let number = self.begun.len();
        let made = || format!("{}{}", self.made, self.earlier + number);
        let call_id = CallId(if id.is_empty() { made() } else { id.to_owned() });
        events.push_back(ProviderEvent::ToolCallStarted { index: index(number), call_id, tool });
        self.begun.push(Call { key, empty: true });
        number
    }

    /// Another piece of a call's arguments.
    pub(crate) fn grow(&mut self, number: usize, partial_json: String, events: &mut Events) {
        if partial_json.is_empty() {
            return;
        }
        if let Some(call) = self.begun.get_mut(number) {
            call.empty = false;
        }
        events.push_back(ProviderEvent::ToolInput { index: index(number), partial_json });
    }

    /// The arguments of a call are over. Where none have come, they are `whole`, or nothing if that is empty.
    pub(crate) fn end(&mut self, number: usize, whole: String, events: &mut Events) {
        if number < self.begun.len() && !self.has_grown(number) {
            self.grow(number, if whole.is_empty() { "{}".to_owned() } else { whole }, events);
        }
    }
}

fn index(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_made_here_stay_apart_within_a_thread() {
        let (mut events, mut ids) = (Events::new(), Vec::new());
        for (earlier, id) in [(0, ""), (1, "own"), (2, "")] {
            Calls::new("call_", earlier).begin((), id, "ls".to_owned(), &mut events);
        }
        for event in events {
            let ProviderEvent::ToolCallStarted { call_id, .. } = event else { panic!("{event:?}") };
            ids.push(call_id.0);
        }
        assert_eq!(ids, ["call_0", "own", "call_2"]);
    }

    #[test]
    fn a_call_without_arguments_ends_with_none() {
        let (mut events, mut calls) = (Events::new(), Calls::new("call_", 0));
        for (key, piece) in [(7, "{\"a\":1}"), (8, ""), (7, "")] {
            let number = calls.begin(key, "x", "ls".to_owned(), &mut events);
            calls.grow(number, piece.to_owned(), &mut events);
        }
        assert_eq!((calls.find(|key| *key == 7), calls.find(|key| *key == 9)), (Some(2), None));
        calls.end(0, "{}".to_owned(), &mut events);
        calls.end(1, String::new(), &mut events);
        calls.end(2, "{\"b\":2}".to_owned(), &mut events);
        calls.end(3, String::new(), &mut events);
        let mut inputs = Vec::new();
        for event in events {
            if let ProviderEvent::ToolInput { index, partial_json } = event {
                inputs.push(format!("{index} {partial_json}"));
            }
        }
        assert_eq!(inputs, ["0 {\"a\":1}", "1 {}", "2 {\"b\":2}"]);
    }
}
