//! The wire forms from the server's side, written by hand after the vendors' documents.

mod gemini;
mod responses;

use levain::domain::{ModelRef, Usage};
use serde_json::{Value, json};
use std::fmt::Write as _;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Anthropic,
    OpenAi,
    Responses,
    Gemini,
}

/// A piece of an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Said {
    Thinking(&'static str),
    Text(&'static str),
    /// Id, tool, and the pieces of its arguments.
    Call(&'static str, &'static str, &'static [&'static str]),
    Error(&'static str, &'static str),
    /// Reason to stop, usage and end marker.
    End,
}

impl Dialect {
    pub(crate) const ALL: [Self; 4] = [Self::Anthropic, Self::OpenAi, Self::Responses, Self::Gemini];

    pub(crate) fn model(self) -> ModelRef {
        match self {
            Self::Anthropic => ModelRef::new("anthropic", "test-1"),
            Self::OpenAi => ModelRef::new("openai", "test-1"),
            Self::Responses => ModelRef::new("openai-responses", "test-1"),
            Self::Gemini => ModelRef::new("gemini", "test-1"),
        }
    }

    /// What a whole answer reports as used.
    pub(crate) fn usage(self) -> Usage {
        match self {
            Self::Anthropic => super::reported(10, 20, 30, 0),
            Self::OpenAi | Self::Responses | Self::Gemini => super::reported(10, 20, 0, 2),
        }
    }

    pub(crate) fn error_body(self, kind: &str, message: &str) -> String {
        match self {
            Self::Anthropic => json!({"type": "error", "error": {"type": kind, "message": message}}),
            Self::OpenAi | Self::Responses => {
                json!({"error": {"message": message, "type": "some_type", "param": null, "code": kind}})
            }
            Self::Gemini => json!([{"error": {"code": 400, "message": message, "status": kind, "details": []}}]),
        }
        .to_string()
    }

    /// Whether the arguments of a call come in one piece, whatever a model does.
    pub(crate) fn has_whole_arguments(self) -> bool {
        self == Self::Gemini
    }

    /// The event stream of an answer.
    pub(crate) fn encode(self, said: &[Said]) -> String {
        match self {
            Self::Anthropic => anthropic(said),
            Self::OpenAi => openai(said),
            Self::Responses => responses::encode(said),
            Self::Gemini => gemini::encode(said),
        }
    }
}

fn anthropic(said: &[Said]) -> String {
    let mut stream = String::new();
    let mut send = |event: Value| {
        let name = event["type"].as_str().unwrap().to_owned();
        write!(stream, "event: {name}\ndata: {event}\n\n").unwrap();
    };
    let usage = json!({"input_tokens": 10, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 30, "output_tokens": 1});
    send(json!({"type": "message_start", "message": {"role": "assistant", "content": [], "usage": usage}}));
    send(json!({"type": "ping"}));
    for (index, said_now) in said.iter().enumerate() {
        let (block, deltas) = match said_now {
            Said::Thinking(text) => (
                json!({"type": "thinking", "thinking": "", "signature": ""}),
                vec![
                    json!({"type": "thinking_delta", "thinking": text}),
                    json!({"type": "signature_delta", "signature": "sig"}),
                ],
            ),
            Said::Text(text) => {
                (json!({"type": "text", "text": ""}), vec![json!({"type": "text_delta", "text": text})])
            }
            Said::Call(id, name, pieces) => {
                let delta = |piece: &&str| json!({"type": "input_json_delta", "partial_json": piece});
                (json!({"type": "tool_use", "id": id, "name": name, "input": {}}), pieces.iter().map(delta).collect())
            }
            Said::Error(kind, message) => {
                send(json!({"type": "error", "error": {"type": kind, "message": message}}));
                continue;
            }
            Said::End => {
                let called = said.iter().any(|said| matches!(said, Said::Call(..)));
                let reason = if called { "tool_use" } else { "end_turn" };
                send(json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 7}}));
                send(json!({"type": "message_stop"}));
                continue;
            }
        };
        send(json!({"type": "content_block_start", "index": index, "content_block": block}));
        for delta in deltas {
            send(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        send(json!({"type": "content_block_stop", "index": index}));
    }
    stream
}

fn openai(said: &[Said]) -> String {
    let mut stream = String::new();
    let mut send = |data: &str| write!(stream, "data: {data}\n\n").unwrap();
    let chunk = |delta: Value, finish: Value| {
        json!({"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
            .to_string()
    };
    send(&chunk(json!({"role": "assistant", "content": ""}), Value::Null));
    let mut calls = 0;
    for said in said {
        match said {
            Said::Thinking(text) => send(&chunk(json!({"reasoning_content": text}), Value::Null)),
            Said::Text(text) => send(&chunk(json!({"content": text}), Value::Null)),
            Said::Call(id, name, pieces) => {
                let function = json!({"name": name, "arguments": ""});
                let first = json!({"index": calls, "id": id, "type": "function", "function": function});
                send(&chunk(json!({"tool_calls": [first]}), Value::Null));
                for piece in *pieces {
                    let more = json!({"index": calls, "function": {"arguments": piece}});
                    send(&chunk(json!({"tool_calls": [more]}), Value::Null));
                }
                calls += 1;
            }
            Said::Error(kind, message) => {
                send(&json!({"error": {"message": message, "type": kind, "code": null}}).to_string());
            }
            Said::End => {
                send(&chunk(json!({}), json!(if calls > 0 { "tool_calls" } else { "stop" })));
                let details = json!({"cached_tokens": 20});
                let usage = json!({"prompt_tokens": 30, "completion_tokens": 7, "prompt_tokens_details": details, "completion_tokens_details": {"reasoning_tokens": 2}});
                send(&json!({"choices": [], "usage": usage}).to_string());
                send("[DONE]");
            }
        }
    }
    stream
}
