use super::*;
use crate::domain::CallId;
use crate::domain::event::ErrorCategory;
use crate::providers::answer;
use futures_util::StreamExt;
use proptest::prelude::*;

const RECORDED: &str = r#"event: response.created
data: {"type":"response.created","sequence_number":0,"response":{"id":"r1","status":"in_progress","error":null,"incomplete_details":null,"usage":null}}

event: response.output_item.added
data: {"type":"response.output_item.added","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[]}}

event: response.reasoning_summary_text.delta
data: {"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"Größe?"}

event: response.reasoning_summary_part.added
data: {"type":"response.reasoning_summary_part.added","output_index":0,"summary_index":1}

event: response.output_item.done
data: {"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1","type":"reasoning","encrypted_content":"gAAA","summary":[]}}

event: response.output_text.delta
data: {"type":"response.output_text.delta","output_index":1,"content_index":0,"delta":"I \"look\" 🦀"}

event: response.output_item.added
data: {"type":"response.output_item.added","output_index":2,"item":{"id":"fc_1","type":"function_call","call_id":"call_a","name":"look","arguments":""}}

event: response.function_call_arguments.delta
data: {"type":"response.function_call_arguments.delta","output_index":2,"delta":"{\"at\":"}

event: response.function_call_arguments.delta
data: {"type":"response.function_call_arguments.delta","output_index":2,"delta":"1}"}

event: response.output_item.done
data: {"type":"response.output_item.done","output_index":2,"item":{"id":"fc_1","type":"function_call","call_id":"call_a","name":"look","arguments":"{\"at\":1}"}}

event: response.output_item.done
data: {"type":"response.output_item.done","output_index":3,"item":{"id":"fc_2","type":"function_call","call_id":"call_b","name":"list","arguments":""}}

event: response.completed
data: {"type":"response.completed","response":{"id":"r1","status":"completed","usage":{"input_tokens":112,"input_tokens_details":{"cached_tokens":100},"output_tokens":89,"output_tokens_details":{"reasoning_tokens":40}}}}

"#;

/// The events when `bytes` come in pieces that end at `cuts`.
fn read(bytes: &[u8], cuts: &[usize]) -> Vec<Result<ProviderEvent, CallError>> {
    let mut ends: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).chain([bytes.len()]).collect();
    ends.sort_unstable();
    let pieces = ends.iter().scan(0, |start, end| Some(Ok(bytes[std::mem::replace(start, *end)..*end].to_vec())));
    let pieces: Vec<_> = pieces.collect();
    let reader = ResponsesReader::new(vec![SecretString::from("hush-hush-key")], 0);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(answer::read(futures_util::stream::iter(pieces), reader).collect())
}

/// The last item of a stream of these events.
fn last(events: &[&str]) -> Result<ProviderEvent, CallError> {
    let stream = format!("data: {}\n\n", events.join("\n\ndata: "));
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
    let sealed = r#"responses:{"id":"rs_1","encrypted_content":"gAAA"}"#;
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
            ProviderEvent::Thinking("\n\n".into()),
            ProviderEvent::ThinkingSignature(sealed.into()),
            ProviderEvent::Text("I \"look\" 🦀".into()),
            started(0, "call_a", "look"),
            input(0, "{\"at\":"),
            input(0, "1}"),
            started(1, "call_b", "list"),
            input(1, "{}"),
            ProviderEvent::Usage(usage),
            ProviderEvent::Finished(StopReason::ToolUse),
        ]
    );
}

#[test]
fn outcomes() {
    let finished = |stop| Ok(ProviderEvent::Finished(stop));
    let incomplete = |reason: &str| {
        let details = format!(r#"{{"incomplete_details":{{"reason":"{reason}"}}}}"#);
        last(&[&format!(r#"{{"type":"response.incomplete","response":{details}}}"#)])
    };
    assert_eq!(last(&[r#"{"type":"response.completed","response":{}}"#]), finished(StopReason::EndTurn));
    assert_eq!(incomplete("max_output_tokens"), finished(StopReason::MaxTokens));
    assert_eq!(incomplete("content_filter"), finished(StopReason::Refusal));
    let refused = [r#"{"type":"response.refusal.delta","delta":"no"}"#, r#"{"type":"response.completed"}"#];
    assert_eq!(last(&refused), finished(StopReason::Refusal));
    // The vendor's old end marker does not make an answer whole.
    let cut = [r#"{"type":"response.output_text.delta","delta":"so"}"#, "[DONE]"];
    assert!(matches!(last(&cut), Ok(ProviderEvent::Finished(StopReason::Truncated { .. }))));
}

#[test]
fn errors_in_their_three_forms() {
    for event in [
        r#"{"type":"response.failed","response":{"error":{"code":"server_error","message":"hush-hush-key fell"}}}"#,
        r#"{"type":"error","code":"server_error","message":"hush-hush-key fell","param":null}"#,
        r#"{"type":"error","error":{"type":"server_error","message":"hush-hush-key fell"}}"#,
    ] {
        let error = last(&[event]).unwrap_err();
        assert_eq!((error.category, error.code.as_str()), (ErrorCategory::Transient, "server_error"));
        assert_eq!(error.message, "[key] fell");
    }
}

proptest! {
    #[test]
    fn every_cut_gives_the_same_events(cuts in proptest::collection::vec(0_usize..3_000, 0..30)) {
        prop_assert_eq!(read(RECORDED.as_bytes(), &cuts), read(RECORDED.as_bytes(), &[]));
    }
}
