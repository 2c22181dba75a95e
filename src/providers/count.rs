//! Pieces of asking a provider how many tokens a request is.

use crate::domain::Tokens;
use crate::domain::event::{CallError, ErrorCategory};
use serde::Serialize;
use serde_json::{Map, Value};

/// The body of a request, to be changed.
pub(super) fn object(body: &[u8]) -> Result<Map<String, Value>, CallError> {
    serde_json::from_slice(body).map_err(|error| failed(&error.to_string()))
}

pub(super) fn written(body: &impl Serialize) -> Result<Vec<u8>, CallError> {
    serde_json::to_vec(body).map_err(|error| failed(&error.to_string()))
}

/// The number that an answer has under `name`.
pub(super) fn told(answer: &[u8], name: &str) -> Result<Tokens, CallError> {
    let answer: Value = serde_json::from_slice(answer).map_err(|error| failed(&error.to_string()))?;
    answer.get(name).and_then(Value::as_u64).map(Tokens).ok_or_else(|| failed("it holds no count"))
}

fn failed(why: &str) -> CallError {
    CallError {
        category: ErrorCategory::Permanent,
        code: "no_count".to_owned(),
        message: format!("could not count the tokens: {why}"),
        status: None,
        retry_after_ms: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_read_or_its_absence_told() {
        assert_eq!(told(b"{\"input_tokens\": 12}", "input_tokens").ok(), Some(Tokens(12)));
        for answer in [&b"{}"[..], b"[", b"{\"input_tokens\": \"x\"}"] {
            assert!(told(answer, "input_tokens").unwrap_err().message.contains("could not count"));
        }
    }
}
