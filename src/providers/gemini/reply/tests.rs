use super::*;
use crate::domain::CallId;
use crate::domain::event::ErrorCategory;
use crate::providers::answer;
use futures_util::StreamExt;
use proptest::prelude::*;

const RECORDED: &str = r#"data: {"candidates":[{"content":{"parts":[{"text":"Größe?","thought":true}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":112,"totalTokenCount":112},"modelVersion":"m","responseId":"r"}

data: {"candidates":[{"content":{"parts":[{"text":"I \"look\" 🦀"}],"role":"model"},"index":0}]}

data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"look","args":{"at":"Paris"}},"thoughtSignature":"c2ln"},{"functionCall":{"id":"own","name":"list"}}],"role":"model"},"index":0}]}

data: {"candidates":[{"content":{"parts":[{"text":"","thoughtSignature":"ZW5k"}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":112,"candidatesTokenCount":49,"cachedContentTokenCount":100,"thoughtsTokenCount":40,"totalTokenCount":201}}

"#;

/// The events when `bytes` come in pieces that end at `cuts`.
fn read(bytes: &[u8], cuts: &[usize]) -> Vec<Result<ProviderEvent, CallError>> {
    let mut ends: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).chain([bytes.len()]).collect();
    ends.sort_unstable();
    let pieces = ends.iter().scan(0, |start, end| Some(Ok(bytes[std::mem::replace(start, *end)..*end].to_vec())));
    let pieces: Vec<_> = pieces.collect();
    let reader = GeminiReader::new(vec![SecretString::from("hush-hush-key")], 3);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(answer::read(futures_util::stream::iter(pieces), reader).collect())
}

/// The last item of a stream of these chunks.
fn last(chunks: &[&str]) -> Result<ProviderEvent, CallError> {
    let stream = format!("data: {}\n\n", chunks.join("\n\ndata: "));
    read(stream.as_bytes(), &[]).pop().unwrap()
}

#[test]
fn a_recorded_answer() {
    let started = |index, id: &str, tool: &str| ProviderEvent::ToolCallStarted {
        index,
        call_id: CallId(id.into()),
        tool: tool.into(),
    };
    let input = |index, json: &str| ProviderEvent::ToolInput { index, partial_json: json.into() };
    let usage = Usage {
        input: Tokens(12),
        output: Tokens(89),
        cache_read: Tokens(100),
        cache_write: Tokens(0),
        reasoning: Tokens(40),
    };
    let events: Vec<_> = read(RECORDED.as_bytes(), &[]).into_iter().map(Result::unwrap).collect();
    assert_eq!(
        events,
        [
            ProviderEvent::Thinking("Größe?".into()),
            ProviderEvent::Usage(Usage { input: Tokens(112), ..Usage::default() }),
            ProviderEvent::Text("I \"look\" 🦀".into()),
            ProviderEvent::ThinkingSignature("gemini-call:c2ln".into()),
            started(0, "gemini_call_3", "look"),
            input(0, r#"{"at":"Paris"}"#),
            started(1, "own", "list"),
            input(1, "{}"),
            ProviderEvent::ThinkingSignature("gemini-text:ZW5k".into()),
            ProviderEvent::Usage(usage),
            ProviderEvent::Finished(StopReason::ToolUse),
        ]
    );
}

#[test]
fn reasons_to_finish() {
    let with = |word: &str| last(&[&format!(r#"{{"candidates":[{{"finishReason":"{word}"}}]}}"#)]).unwrap();
    assert_eq!(with("STOP"), ProviderEvent::Finished(StopReason::EndTurn));
    assert_eq!(with("MAX_TOKENS"), ProviderEvent::Finished(StopReason::MaxTokens));
    assert_eq!(with("SAFETY"), ProviderEvent::Finished(StopReason::Refusal));
    let malformed = with("MALFORMED_FUNCTION_CALL");
    assert!(matches!(malformed, ProviderEvent::Finished(StopReason::Truncated { .. })), "{malformed:?}");
    assert_eq!(with("TIRED"), ProviderEvent::Finished(StopReason::Other { word: "tired".into() }));
    let call =
        r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"a"}}]},"finishReason":"FUNCTION_CALL"}]}"#;
    assert_eq!(last(&[call]).unwrap(), ProviderEvent::Finished(StopReason::ToolUse));
    let blocked = r#"{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{}}"#;
    assert_eq!(last(&[blocked]).unwrap(), ProviderEvent::Finished(StopReason::Refusal));
}

#[test]
fn errors_in_the_stream() {
    for (status, category) in
        [("UNAVAILABLE", ErrorCategory::Transient), ("RESOURCE_EXHAUSTED", ErrorCategory::RateLimited)]
    {
        let event = format!(r#"{{"error":{{"code":503,"message":"hush-hush-key fell","status":"{status}"}}}}"#);
        let error = last(&[&event]).unwrap_err();
        assert_eq!((error.category, error.code.as_str()), (category, status));
        assert_eq!(error.message, "[key] fell");
    }
}

proptest! {
    #[test]
    fn every_cut_gives_the_same_events(cuts in proptest::collection::vec(0_usize..2_000, 0..30)) {
        prop_assert_eq!(read(RECORDED.as_bytes(), &cuts), read(RECORDED.as_bytes(), &[]));
    }
}
