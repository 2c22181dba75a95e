//! The Responses API from the server's side.

use super::Said;
use serde_json::{Value, json};
use std::fmt::Write as _;

pub(super) fn encode(said: &[Said]) -> String {
    let mut stream = String::new();
    let mut number = 0;
    let mut send = |mut event: Value| {
        event["sequence_number"] = json!(number);
        number += 1;
        let name = event["type"].as_str().unwrap().to_owned();
        write!(stream, "event: {name}\ndata: {event}\n\n").unwrap();
    };
    send(json!({"type": "response.created", "response": {"id": "resp_1", "status": "in_progress", "usage": null}}));
    for (index, said) in said.iter().enumerate() {
        let added = |item: Value| json!({"type": "response.output_item.added", "output_index": index, "item": item});
        let done = |item: Value| json!({"type": "response.output_item.done", "output_index": index, "item": item});
        match said {
            Said::Thinking(text) => {
                send(added(json!({"type": "reasoning", "id": "rs_1", "summary": []})));
                let kind = "response.reasoning_summary_text.delta";
                send(json!({"type": kind, "output_index": index, "summary_index": 0, "delta": text}));
                send(done(json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "sealed"})));
            }
            Said::Text(text) => {
                send(added(json!({"type": "message", "id": "msg_1", "role": "assistant", "content": []})));
                send(json!({"type": "response.output_text.delta", "output_index": index, "delta": text}));
                send(json!({"type": "response.output_text.done", "output_index": index, "text": text}));
                send(done(
                    json!({"type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": text}]}),
                ));
            }
            Said::Call(id, name, pieces) => {
                let item = |arguments: &str| json!({"type": "function_call", "id": "fc", "call_id": id, "name": name, "arguments": arguments});
                send(added(item("")));
                for piece in *pieces {
                    let kind = "response.function_call_arguments.delta";
                    send(json!({"type": kind, "output_index": index, "delta": piece}));
                }
                send(done(item(&pieces.concat())));
            }
            Said::Error(kind, message) => {
                let error = json!({"code": kind, "message": message});
                send(json!({"type": "response.failed", "response": {"status": "failed", "error": error}}));
            }
            Said::End => {
                let usage = json!({
                    "input_tokens": 30, "input_tokens_details": {"cached_tokens": 20},
                    "output_tokens": 7, "output_tokens_details": {"reasoning_tokens": 2}, "total_tokens": 37,
                });
                send(json!({"type": "response.completed", "response": {"status": "completed", "usage": usage}}));
            }
        }
    }
    stream
}
