//! Gemini from the server's side.

use super::Said;
use serde_json::{Value, json};
use std::fmt::Write as _;

pub(super) fn encode(said: &[Said]) -> String {
    let mut stream = String::new();
    let mut send = |event: &Value| write!(stream, "data: {event}\n\n").unwrap();
    let part = |part: Value| json!({"candidates": [{"content": {"parts": [part], "role": "model"}, "index": 0}]});
    for said in said {
        match said {
            Said::Thinking(text) => send(&part(json!({"text": text, "thought": true}))),
            Said::Text(text) => send(&part(json!({"text": text}))),
            Said::Call(id, name, pieces) => {
                let args: Value = serde_json::from_str(&pieces.concat()).unwrap();
                let call = json!({"id": id, "name": name, "args": args});
                send(&part(json!({"functionCall": call, "thoughtSignature": "sig"})));
            }
            Said::Error(kind, message) => {
                send(&json!({"error": {"code": 503, "message": message, "status": kind}}));
            }
            Said::End => {
                let usage = json!({
                    "promptTokenCount": 30, "cachedContentTokenCount": 20,
                    "candidatesTokenCount": 5, "thoughtsTokenCount": 2, "totalTokenCount": 37,
                });
                let candidate = json!({"content": {"parts": [], "role": "model"}, "finishReason": "STOP", "index": 0});
                send(&json!({"candidates": [candidate], "usageMetadata": usage}));
            }
        }
    }
    stream
}
