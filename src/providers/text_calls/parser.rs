//! Finds `<invoke name="…"><parameter name="…">…</parameter></invoke>` in text that arrives in pieces.
//!
//! Text passes as soon as it cannot be the beginning of a call. A call is passed on when it is whole; one that never
//! ends is text after all. Every way of cutting the text gives the same calls and the same text around them.

use crate::domain::{CallId, ToolSpec};
use crate::ports::ProviderEvent;
use serde_json::{Map, Value};
use std::collections::VecDeque;

const OPEN: &str = "<invoke";
const CLOSE: &str = "</invoke>";
const PARAMETER: &str = "<parameter";
const PARAMETER_CLOSE: &str = "</parameter>";

/// Longest call; what grows past it is text.
const LONGEST: usize = if cfg!(test) { 200 } else { 1024 * 1024 };

/// See the module.
#[derive(Debug)]
pub(super) struct Parser {
    specs: Vec<ToolSpec>,
    /// Calls in the thread before this answer, for ids.
    earlier: usize,
    calls: u32,
    /// What may be a call or the beginning of one.
    held: String,
    /// How much of `held` has been searched for the call's end.
    searched: usize,
}

impl Parser {
    /// `earlier` is the number of the first id made here: higher than any in the conversation.
    pub(super) fn new(specs: Vec<ToolSpec>, earlier: usize) -> Self {
        Self { specs, earlier, calls: 0, held: String::new(), searched: 0 }
    }

    /// Calls found so far.
    pub(super) fn calls(&self) -> u32 {
        self.calls
    }

    /// Takes more text and gives what is certain.
    pub(super) fn push(&mut self, text: &str, events: &mut VecDeque<ProviderEvent>) {
        self.held.push_str(text);
        loop {
            let start = beginning(&self.held);
            if start > 0 {
                let rest = self.held.split_off(start);
                say(std::mem::replace(&mut self.held, rest), events);
                self.searched = self.searched.saturating_sub(start);
            }
            if !self.held.starts_with(OPEN) {
                return;
            }
            // The end's own beginning may have come before.
            let from = self.held.floor_char_boundary(self.searched.saturating_sub(CLOSE.len()));
            let end = self.held.get(from..).and_then(|rest| rest.find(CLOSE)).map(|at| from + at + CLOSE.len());
            match end {
                Some(end) if end <= LONGEST => {
                    let rest = self.held.split_off(end);
                    let call = std::mem::replace(&mut self.held, rest);
                    self.searched = 0;
                    self.call(call, events);
                }
                None if self.held.len() <= LONGEST => {
                    self.searched = self.held.len();
                    return;
                }
                Some(_) | None => {
                    // This one is too long, and so are all that begin where no end is within reach.
                    let end = end.unwrap_or(self.held.len() + 1);
                    let text = self.held.ceil_char_boundary(OPEN.len().max(end.saturating_sub(LONGEST)));
                    let rest = self.held.split_off(text);
                    say(std::mem::replace(&mut self.held, rest), events);
                    // Up to there no end was found: what is left is not searched again.
                    self.searched = end.saturating_sub(text + CLOSE.len());
                }
            }
        }
    }

    /// The text is over: what was held back was no call.
    pub(super) fn finish(&mut self, events: &mut VecDeque<ProviderEvent>) {
        say(std::mem::take(&mut self.held), events);
    }

    fn call(&mut self, text: String, events: &mut VecDeque<ProviderEvent>) {
        let Some((tool, arguments)) = self.read(&text) else {
            say(text, events);
            return;
        };
        let index = self.calls;
        self.calls += 1;
        let call_id = CallId(format!("textcall_{}", self.earlier + usize::try_from(index).unwrap_or_default()));
        events.push_back(ProviderEvent::ToolCallStarted { index, call_id, tool });
        let partial_json = Value::Object(arguments).to_string();
        events.push_back(ProviderEvent::ToolInput { index, partial_json });
    }

    /// Tool and arguments of a whole call; `None` where no tool is named.
    fn read(&self, text: &str) -> Option<(String, Map<String, Value>)> {
        let (head, mut rest) = text.split_once('>')?;
        let tool = name_in(head)?;
        let properties = self.specs.iter().find(|spec| spec.name == tool).map(|spec| &spec.schema["properties"]);
        let mut arguments = Map::new();
        while let Some((_, found)) = rest.split_once(PARAMETER) {
            let Some((head, after)) = found.split_once('>') else { break };
            // One that is not closed reaches to the next, or to the end of the call.
            let next = [PARAMETER_CLOSE, PARAMETER, CLOSE].iter().filter_map(|mark| after.find(mark)).min();
            let (value, after) = after.split_at_checked(next.unwrap_or(after.len())).unwrap_or((after, ""));
            if let Some(name) = name_in(head) {
                let wanted = properties.map(|properties| &properties[name.as_str()]["type"]);
                arguments.insert(name, typed(value, wanted));
            }
            rest = after;
        }
        Some((tool, arguments))
    }
}

/// Where the first thing begins that is, or may become, a call; the text's length where there is none.
fn beginning(text: &str) -> usize {
    let starts = text.match_indices('<').map(|(at, _)| at);
    starts
        .into_iter()
        .find(|at| {
            let rest = text.get(*at..).unwrap_or_default();
            match rest.strip_prefix(OPEN) {
                Some(after) => after.starts_with(|letter: char| letter.is_whitespace()) || after.is_empty(),
                None => OPEN.starts_with(rest),
            }
        })
        .unwrap_or(text.len())
}

fn say(text: String, events: &mut VecDeque<ProviderEvent>) {
    if !text.is_empty() {
        events.push_back(ProviderEvent::Text(text));
    }
}

/// The value of `name` in the head of an element, in quotes of either kind or none.
fn name_in(head: &str) -> Option<String> {
    let (_, after) = head.split_once("name")?;
    let value = after.trim_start().strip_prefix('=')?.trim();
    let value = value.trim_matches(['"', '\'']).trim();
    (!value.is_empty()).then(|| value.to_owned())
}

/// The value as its schema wants it, where it can be read so; a text otherwise.
fn typed(value: &str, wanted: Option<&Value>) -> Value {
    let text = || Value::String(value.strip_prefix('\n').unwrap_or(value).trim_end().to_owned());
    match wanted.and_then(Value::as_str) {
        Some("number" | "integer" | "boolean" | "object" | "array" | "null") => {
            serde_json::from_str(value.trim()).unwrap_or_else(|_| text())
        }
        _ => text(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    /// What comes of `text` in pieces that end at `cuts`: text together, calls apart.
    fn read(text: &str, cuts: &[usize]) -> Vec<String> {
        let schema = json!({"properties": {"n": {"type": "integer"}, "list": {"type": "array"}}});
        let spec = ToolSpec { name: "look".into(), description: String::new(), schema };
        let mut parser = Parser::new(vec![spec], 0);
        let mut ends: Vec<usize> = cuts.iter().map(|cut| text.floor_char_boundary(cut % (text.len() + 1))).collect();
        ends.push(text.len());
        ends.sort_unstable();
        let mut events = VecDeque::new();
        let mut start = 0;
        for end in ends {
            parser.push(text.get(start..end).unwrap(), &mut events);
            start = end;
        }
        parser.finish(&mut events);
        let mut all: Vec<String> = Vec::new();
        let mut in_text = false;
        for event in events {
            let text = matches!(event, ProviderEvent::Text(_));
            if let ProviderEvent::Text(text) = event {
                match all.last_mut().filter(|_| in_text) {
                    Some(last) => last.push_str(&text),
                    None => all.push(text),
                }
            } else if let ProviderEvent::ToolCallStarted { call_id, tool, .. } = event {
                all.push(format!("{} {tool}", call_id.0));
            } else if let ProviderEvent::ToolInput { partial_json, .. } = event {
                all.push(partial_json);
            }
            in_text = text;
        }
        all
    }

    #[test]
    fn calls_among_text() {
        let text = "I <b>look</b>: <invoke name=\"look\"><parameter name=\"at\">a < b\n</parameter>\
                    <parameter name=\"n\">3</parameter></invoke> and\n<invoke name='list'>\n</invoke>";
        assert_eq!(
            read(text, &[]),
            ["I <b>look</b>: ", "textcall_0 look", r#"{"at":"a < b","n":3}"#, " and\n", "textcall_1 list", "{}"]
        );
    }

    #[test]
    fn careless_writing_is_understood() {
        for (text, input) in [
            ("<invoke name=look><parameter name=n>x</parameter></invoke>", r#"{"n":"x"}"#),
            ("<invoke name = \"look\" ><parameter name=\"list\">[1, 2]</parameter></invoke>", r#"{"list":[1,2]}"#),
            ("<invoke\nname=\"look\"><parameter name=\"a\">1<parameter name=\"b\">2</invoke>", r#"{"a":"1","b":"2"}"#),
        ] {
            assert_eq!(read(text, &[]), ["textcall_0 look", input], "{text}");
        }
    }

    #[test]
    fn what_is_no_call_is_text() {
        for text in
            ["<invoke name=\"look\"><parameter", "a <inv", "<invoked>x</invoke>", "<invoke >x</invoke>", "1 < 2"]
        {
            assert_eq!(read(text, &[]), [text]);
        }
    }

    #[test]
    fn a_call_that_grows_too_long_is_text_and_one_within_it_a_call() {
        let short = "<invoke name=\"look\"></invoke>";
        let long = format!("<invoke name=\"x\">{}", "é".repeat(LONGEST));
        assert_eq!(read(&long, &[]), std::slice::from_ref(&long));
        let both = format!("{long}{short} end");
        assert_eq!(read(&both, &[]), [long.as_str(), "textcall_0 look", "{}", " end"]);
        let just = format!("<invoke name=\"x\">{}</invoke>", "a".repeat(LONGEST - 26));
        assert_eq!((just.len(), read(&just, &[]).len()), (LONGEST, 2));
        let over = just.replace("</", "a</");
        assert_eq!(read(&over, &[]), [over]);
    }

    proptest! {
        #[test]
        fn every_cut_gives_the_same(
            parts in proptest::collection::vec(
                prop_oneof![
                    Just("<invoke name=\"look\">"), Just("</invoke>"), Just("<parameter name=\"n\">"), Just("4é"),
                    Just("</parameter>"), Just("<invoke"), Just("<"), Just(" text "), Just("<invoke name='x'>"), Just(">"),
                ],
                0..50,
            ),
            cuts in proptest::collection::vec(0_usize..800, 0..12),
        ) {
            let text = parts.concat();
            prop_assert_eq!(read(&text, &cuts), read(&text, &[]));
        }
    }
}
