//! A history in the shape that every wire form asks for: roles alternate beginning with the user, and each tool call
//! has its result in the message that follows.
//!
//! Histories with gaps are real: a cancelled turn leaves calls without results, a compacted one results without calls.

use crate::domain::{Block, CallId, Image, Role, ToolCall};
use crate::ports::CallRequest;
use crate::providers::signature::{Maker, made, sealed_by};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use std::borrow::Cow;
use std::fmt::Write as _;

/// Consecutive messages of one role.
#[derive(Debug, PartialEq)]
pub(crate) struct Turn<'a> {
    pub(crate) role: Role,
    pub(crate) parts: Vec<Part<'a>>,
}

/// One part of a turn. In a user's turn the results come first.
#[derive(Debug, PartialEq)]
pub(crate) enum Part<'a> {
    Text(Cow<'a, str>),
    /// Bytes in base64. Only users send images.
    Image {
        media_type: &'a str,
        data: String,
    },
    /// `signature` as its maker made it.
    Thinking {
        text: &'a str,
        maker: Maker,
        signature: &'a str,
    },
    RedactedThinking(&'a str),
    Call(&'a ToolCall),
    Result {
        call_id: &'a CallId,
        output: Cow<'a, str>,
        error: bool,
        /// What it shows beside its text: media types, and bytes in base64.
        images: Vec<(&'a str, String)>,
    },
}

/// What the model reads where a call was never run.
const NOT_RUN: &str = "This call was not run: the turn was stopped before it.";

/// What stands at the beginning of a history that begins with an answer.
const EARLIER: &str = "(earlier messages are left out)";

/// The turns of `request`, with the thinking of makers that the wire `takes`. Empty texts and thinking without a
/// signature are left out: no wire takes them back.
pub(crate) fn turns(request: &CallRequest, takes: impl Fn(Maker) -> bool) -> Vec<Turn<'_>> {
    let goes_back = |part: &Part<'_>| match part {
        Part::Thinking { maker, .. } => takes(*maker),
        Part::RedactedThinking(_) => takes(Maker::Messages),
        Part::Text(_) | Part::Image { .. } | Part::Call(_) | Part::Result { .. } => true,
    };
    let mut turns: Vec<Turn<'_>> = Vec::new();
    for message in &request.messages {
        let parts: Vec<Part<'_>> =
            message.blocks.iter().filter_map(|block| part(block, message.role, request)).filter(goes_back).collect();
        if parts.is_empty() {
            continue;
        }
        match turns.last_mut() {
            Some(last) if last.role == message.role => last.parts.extend(parts),
            _ => turns.push(Turn { role: message.role, parts }),
        }
    }
    if turns.first().is_some_and(|first| first.role == Role::Assistant) {
        turns.insert(0, Turn { role: Role::User, parts: vec![Part::Text(EARLIER.into())] });
    }
    pair_results(turns)
}

fn part<'a>(block: &'a Block, role: Role, request: &'a CallRequest) -> Option<Part<'a>> {
    match block {
        Block::Text { text } if text.trim().is_empty() => None,
        Block::Text { text } => Some(Part::Text(text.into())),
        Block::Attached(attached) => Some(Part::Text(attached.told().into())),
        Block::Custom(custom) if custom.text.trim().is_empty() => None,
        Block::Custom(custom) => Some(Part::Text(custom.text.as_str().into())),
        Block::Thinking { text, signature: Some(signature) } => {
            let (maker, signature) = made(sealed_by(&request.model, signature)?);
            Some(Part::Thinking { text, maker, signature })
        }
        Block::Thinking { signature: None, .. } => None,
        Block::RedactedThinking { data } => sealed_by(&request.model, data).map(Part::RedactedThinking),
        Block::ToolCall(call) => Some(Part::Call(call)),
        Block::ToolResult { call_id, output, error, images: shown } => {
            let (mut output, mut images) = (Cow::Borrowed(output.as_str()), Vec::new());
            for Image { media_type, hash, .. } in shown {
                match request.images.get(hash) {
                    Some(bytes) => images.push((media_type.as_str(), BASE64_STANDARD.encode(bytes))),
                    None => {
                        let _never_fails = write!(output.to_mut(), "\n[an image ({media_type}) that is not shown]");
                    }
                }
            }
            Some(Part::Result { call_id, output, error: *error, images })
        }
        Block::Image { media_type, hash } => Some(match request.images.get(hash) {
            Some(bytes) if role == Role::User => Part::Image { media_type, data: BASE64_STANDARD.encode(bytes) },
            Some(_) | None => Part::Text(format!("[an image ({media_type}) that is no longer here]").into()),
        }),
    }
}

/// Puts the result of each call of an answer at the head of the turn after it, in the order of the calls.
fn pair_results(turns: Vec<Turn<'_>>) -> Vec<Turn<'_>> {
    let mut paired: Vec<Turn<'_>> = Vec::with_capacity(turns.len());
    let mut open: Vec<&CallId> = Vec::new();
    for turn in turns {
        match turn.role {
            Role::Assistant => {
                open = turn
                    .parts
                    .iter()
                    .filter_map(|part| if let Part::Call(call) = part { Some(&call.call_id) } else { None })
                    .collect();
                paired.push(turn);
            }
            Role::User => {
                let parts = answered(&std::mem::take(&mut open), turn.parts);
                paired.push(Turn { role: Role::User, parts });
            }
        }
    }
    if !open.is_empty() {
        paired.push(Turn { role: Role::User, parts: answered(&open, Vec::new()) });
    }
    paired
}

fn answered<'a>(calls: &[&'a CallId], mut parts: Vec<Part<'a>>) -> Vec<Part<'a>> {
    let mut all = Vec::with_capacity(parts.len() + calls.len());
    for call in calls {
        let found = parts.iter().position(|part| matches!(part, Part::Result { call_id, .. } if call_id == call));
        all.push(match found {
            Some(index) => parts.remove(index),
            None => Part::Result { call_id: call, output: NOT_RUN.into(), error: true, images: Vec::new() },
        });
    }
    // A result whose call is gone is still worth reading.
    for part in parts {
        if let Part::Result { output, images, .. } = part {
            all.push(Part::Text(format!("(result of an earlier call)\n{output}").into()));
            all.extend(images.into_iter().map(|(media_type, data)| Part::Image { media_type, data }));
        } else {
            all.push(part);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{ContentHash, Message};
    use std::sync::Arc;

    fn call(id: &str) -> Block {
        let input = serde_json::json!({});
        Block::ToolCall(ToolCall { call_id: CallId(id.into()), tool: "look".into(), input })
    }

    fn result(id: &str) -> Block {
        Block::ToolResult { call_id: CallId(id.into()), output: format!("saw {id}"), error: false, images: Vec::new() }
    }

    fn text(text: &str) -> Block {
        Block::Text { text: text.into() }
    }

    /// Each turn as a line: role and parts in short.
    fn check(messages: &[(Role, Vec<Block>)], expected: &[&str]) {
        let messages: Vec<_> =
            messages.iter().map(|(role, blocks)| Arc::new(Message { role: *role, blocks: blocks.clone() })).collect();
        let images = [(ContentHash::of(b"here"), b"here".to_vec())];
        let request = CallRequest { messages, images: Arc::new(images.into()), ..CallRequest::default() };
        let lines: Vec<String> = turns(&request, |maker| maker == Maker::Messages).iter().map(line).collect();
        assert_eq!(lines, expected);
    }

    fn line(turn: &Turn<'_>) -> String {
        let parts: Vec<String> = turn
            .parts
            .iter()
            .map(|part| match part {
                Part::Text(text) => format!("{text:?}"),
                Part::Image { media_type, data } => format!("image {media_type} {data}"),
                Part::Thinking { signature, .. } => format!("thinking {signature}"),
                Part::RedactedThinking(data) => format!("redacted {data}"),
                Part::Call(call) => format!("call {}", call.call_id.0),
                Part::Result { call_id, error, .. } => format!("result {} {error}", call_id.0),
            })
            .collect();
        format!("{:?} {}", turn.role, parts.join(", "))
    }

    #[test]
    fn neighbours_of_one_role_join_and_empty_texts_go() {
        check(
            &[
                (Role::User, vec![text("a")]),
                (Role::Assistant, vec![text(" \n")]),
                (Role::User, vec![text("b")]),
                (Role::Assistant, vec![Block::Thinking { text: "hm".into(), signature: Some("s".into()) }, text("c")]),
                (Role::User, vec![text("d")]),
                // What another wire form signed is no answer in this one.
                (Role::Assistant, vec![Block::Thinking { text: "hm".into(), signature: Some("responses:s".into()) }]),
                (Role::User, vec![text("e")]),
            ],
            &[r#"User "a", "b""#, r#"Assistant thinking s, "c""#, r#"User "d", "e""#],
        );
    }

    #[test]
    fn results_lead_in_the_order_of_the_calls() {
        check(
            &[
                (Role::User, vec![text("go")]),
                (Role::Assistant, vec![call("1"), call("2")]),
                (Role::User, vec![text("hurry"), result("2")]),
                (Role::User, vec![result("1")]),
            ],
            &[r#"User "go""#, "Assistant call 1, call 2", r#"User result 1 false, result 2 false, "hurry""#],
        );
    }

    #[test]
    fn images_are_sent_where_their_bytes_are() {
        let image = |bytes: &[u8]| Block::Image { media_type: "image/png".into(), hash: ContentHash::of(bytes) };
        check(
            &[(Role::User, vec![image(b"here"), image(b"gone")])],
            &[r#"User image image/png aGVyZQ==, "[an image (image/png) that is no longer here]""#],
        );
    }

    #[test]
    fn gaps_are_filled() {
        check(
            &[
                (Role::Assistant, vec![call("1")]),
                (Role::User, vec![result("9"), text("on")]),
                (Role::Assistant, vec![call("2")]),
            ],
            &[
                r#"User "(earlier messages are left out)""#,
                "Assistant call 1",
                r#"User result 1 true, "(result of an earlier call)\nsaw 9", "on""#,
                "Assistant call 2",
                "User result 2 true",
            ],
        );
        check(&[], &[]);
    }
}
