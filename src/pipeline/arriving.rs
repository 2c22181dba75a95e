//! An answer while it arrives, told piece by piece: what came since somebody was told last.
//!
//! Nothing is kept but how far each block was told, so whoever is told seldom gets longer pieces, and nothing piles up.

use serde_json::{Value, json};

/// What has arrived of one block of an answer.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    pub kind: PartKind,
    /// What it says; of a call the arguments as they are written.
    pub text: &'a str,
}

/// What a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    Text,
    Thinking,
    Call,
}

impl PartKind {
    fn word(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Thinking => "thinking",
            Self::Call => "toolcall",
        }
    }
}

/// How far an answer was told.
#[derive(Clone, Debug, Default)]
pub struct Arriving {
    /// So many bytes of each block, and whether its end was told.
    blocks: Vec<(usize, bool)>,
}

impl Arriving {
    /// What came since the last time, as events of pi's streams. `content` is the answer as a message has it, with a block for
    /// each part; a block has ended when another one has begun, or the answer is `whole`.
    pub fn since(&mut self, parts: &[Part<'_>], content: &Value, whole: bool) -> Vec<Value> {
        let mut events = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            let word = part.kind.word();
            if self.blocks.len() == index {
                self.blocks.push((0, false));
                events.push(json!({"type": format!("{word}_start"), "contentIndex": index}));
            }
            let Some((told, ended)) = self.blocks.get_mut(index).filter(|(_, ended)| !ended) else { continue };
            if let Some(delta) = part.text.get(*told..).filter(|delta| !delta.is_empty()) {
                events.push(json!({"type": format!("{word}_delta"), "contentIndex": index, "delta": delta}));
                *told = part.text.len();
            }
            if whole || index + 1 < parts.len() {
                *ended = true;
                let mut end = json!({"type": format!("{word}_end"), "contentIndex": index});
                match part.kind {
                    PartKind::Text | PartKind::Thinking => end["content"] = part.text.into(),
                    PartKind::Call => end["toolCall"] = content.get(index).cloned().unwrap_or_default(),
                }
                events.push(end);
            }
        }
        events
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(arriving: &mut Arriving, parts: &[(PartKind, &str)], whole: bool) -> Vec<String> {
        let parts: Vec<Part<'_>> = parts.iter().map(|(kind, text)| Part { kind: *kind, text }).collect();
        let content = parts.iter().map(|part| json!({"name": part.text})).collect();
        let events = arriving.since(&parts, &content, whole).into_iter();
        let line = |event: Value| {
            let more = event.get("delta").or(event.get("content")).or(event.pointer("/toolCall/name"));
            let more = more.and_then(Value::as_str).unwrap_or_default().to_owned();
            format!("{} {} {more}", event["contentIndex"], event["type"].as_str().unwrap()).trim_end().to_owned()
        };
        events.map(line).collect()
    }

    #[test]
    fn what_came_is_told_once_however_seldom_somebody_is_told() {
        use PartKind::{Call, Text, Thinking};
        let mut often = Arriving::default();
        assert_eq!(told(&mut often, &[(Thinking, "hm")], false), ["0 thinking_start", "0 thinking_delta hm"]);
        assert_eq!(told(&mut often, &[(Thinking, "hm")], false), [] as [&str; 0]);
        let two = [(Thinking, "hm, é"), (Text, "w")];
        assert_eq!(
            told(&mut often, &two, false),
            ["0 thinking_delta , é", "0 thinking_end hm, é", "1 text_start", "1 text_delta w"]
        );
        let three = [(Thinking, "hm, é"), (Text, "well"), (Call, "{}")];
        let end =
            ["1 text_delta ell", "1 text_end well", "2 toolcall_start", "2 toolcall_delta {}", "2 toolcall_end {}"];
        assert_eq!(told(&mut often, &three, true), end);
        assert_eq!(told(&mut often, &three, true), [] as [&str; 0]);
        let mut once = Arriving::default();
        assert_eq!(told(&mut once, &three, true).len(), 9);
    }

    /// A provider may write two calls side by side: the first has ended for those who watch, and is whole at the end.
    #[test]
    fn a_block_that_ended_is_told_no_more() {
        use PartKind::Call;
        let mut arriving = Arriving::default();
        told(&mut arriving, &[(Call, "{"), (Call, "")], false);
        assert_eq!(
            told(&mut arriving, &[(Call, "{}"), (Call, "{}")], true),
            ["1 toolcall_delta {}", "1 toolcall_end {}"]
        );
    }
}
