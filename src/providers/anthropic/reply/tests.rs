use super::*;
use crate::domain::CallId;
use crate::domain::event::ErrorCategory;
use crate::providers::answer;
use futures_util::StreamExt;
use proptest::prelude::*;

const RECORDED: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"usage":{"input_tokens":12,"cache_creation_input_tokens":100,"cache_read_input_tokens":2000,"output_tokens":1}}}

event: ping
data: {"type": "ping"}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Größe?"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQBCg"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"Y="}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"xyz"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"Let me \"look\" 🦀\n"}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: content_block_start
data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_1","name":"look","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"at\": \"P"}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"aris\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":3}

event: content_block_start
data: {"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"toolu_2","name":"list","input":{}}}

event: content_block_stop
data: {"type":"content_block_stop","index":4}

event: something_new
data: {"type":"something_new","delta":null,"index":9}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":89}}

event: message_stop
data: {"type":"message_stop"}

"#;

/// The events when `bytes` come in pieces that end at `cuts`.
fn read(bytes: &[u8], cuts: &[usize]) -> Vec<Result<ProviderEvent, CallError>> {
    let mut ends: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).chain([bytes.len()]).collect();
    ends.sort_unstable();
    let pieces = ends.iter().scan(0, |start, end| Some(Ok(bytes[std::mem::replace(start, *end)..*end].to_vec())));
    let pieces: Vec<_> = pieces.collect();
    let reader = MessagesReader::new(vec![SecretString::from("hush-hush-key")], 0);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(answer::read(futures_util::stream::iter(pieces), reader).collect())
}

fn usage(output: u64) -> ProviderEvent {
    ProviderEvent::Usage(Usage {
        input: Tokens(12),
        output: Tokens(output),
        cache_read: Tokens(2_000),
        cache_write: Tokens(100),
        reasoning: Tokens(0),
    })
}

#[test]
fn a_recorded_answer() {
    let events: Result<Vec<_>, _> = read(RECORDED.as_bytes(), &[]).into_iter().collect();
    assert_eq!(
        events.unwrap(),
        [
            usage(1),
            ProviderEvent::Thinking("Größe?".into()),
            ProviderEvent::ThinkingSignature("EqQBCgY=".into()),
            ProviderEvent::RedactedThinking("xyz".into()),
            ProviderEvent::Text("Let me \"look\" 🦀\n".into()),
            ProviderEvent::ToolCallStarted { index: 0, call_id: CallId("toolu_1".into()), tool: "look".into() },
            ProviderEvent::ToolInput { index: 0, partial_json: "{\"at\": \"P".into() },
            ProviderEvent::ToolInput { index: 0, partial_json: "aris\"}".into() },
            ProviderEvent::ToolCallStarted { index: 1, call_id: CallId("toolu_2".into()), tool: "list".into() },
            ProviderEvent::ToolInput { index: 1, partial_json: "{}".into() },
            usage(89),
            ProviderEvent::Finished(StopReason::ToolUse),
        ]
    );
}

#[test]
fn an_answer_cut_anywhere_is_never_whole() {
    let whole = RECORDED.len() - 1;
    for end in 0..whole {
        let events = read(&RECORDED.as_bytes()[..end], &[]);
        match events.last() {
            Some(Ok(ProviderEvent::Finished(StopReason::Truncated { .. }))) => assert!(events.len() > 1),
            Some(Err(error)) => assert_eq!((error.category, events.len() <= 2), (ErrorCategory::Transient, true)),
            other => panic!("cut at {end}: {other:?}"),
        }
    }
}

/// The last item of an answer whose stream is one event of `data`.
fn last(data: &str) -> Result<ProviderEvent, CallError> {
    read(format!("data: {data}\n\n").as_bytes(), &[]).pop().unwrap()
}

#[test]
fn errors_within_the_stream() {
    let error = last(r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded, hush-hush-key"}}"#);
    let error = error.unwrap_err();
    assert_eq!((error.category, error.code.as_str()), (ErrorCategory::Transient, "overloaded_error"));
    assert_eq!(error.message, "Overloaded, [key]");
    assert_eq!(last("<html>").unwrap_err().code, "bad_event");
    assert_eq!(last(r#"{"type":"error"}"#).unwrap_err().category, ErrorCategory::Permanent);
}

#[test]
fn reasons_to_stop() {
    for (word, expected) in [
        (r#""end_turn""#, StopReason::EndTurn),
        (r#""stop_sequence""#, StopReason::EndTurn),
        (r#""max_tokens""#, StopReason::MaxTokens),
        (r#""model_context_window_exceeded""#, StopReason::MaxTokens),
        (r#""refusal""#, StopReason::Refusal),
        (r#""pause_turn""#, StopReason::Other { word: "pause_turn".into() }),
        ("null", StopReason::EndTurn),
    ] {
        let stream = format!(
            "data: {{\"type\":\"message_delta\",\"delta\":{{\"stop_reason\":{word}}}}}\n\ndata: {{\"type\":\"message_stop\"}}\n\ndata: late\n\n"
        );
        assert_eq!(read(stream.as_bytes(), &[]), [Ok(ProviderEvent::Finished(expected))]);
    }
}

#[test]
fn counts_never_shrink() {
    let all = read(
        b"data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":12,\"cache_read_input_tokens\":7,\"output_tokens\":1}}}\n\n\
          data: {\"type\":\"message_delta\",\"usage\":{\"input_tokens\":0,\"cache_read_input_tokens\":null,\"output_tokens\":9}}\n\n\
          data: {\"type\":\"message_stop\"}\n\n",
        &[],
    );
    let mut counted =
        all.iter().filter_map(|event| if let Ok(ProviderEvent::Usage(usage)) = event { Some(usage) } else { None });
    let expected = Usage { input: Tokens(12), cache_read: Tokens(7), output: Tokens(9), ..Usage::default() };
    assert_eq!(counted.next_back(), Some(&expected));
}

#[test]
fn blocks_that_were_never_closed_end_with_the_message() {
    let all = read(
        b"data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"signature\":\"sig\"}}\n\n\
          data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"x\",\"name\":\"ls\",\"input\":{}}}\n\n\
          data: {\"type\":\"message_stop\"}\n\n",
        &[],
    );
    let all: Vec<ProviderEvent> = all.into_iter().map(Result::unwrap).collect();
    let expected = [
        ProviderEvent::ThinkingSignature("sig".into()),
        ProviderEvent::ToolInput { index: 0, partial_json: "{}".into() },
        ProviderEvent::Finished(StopReason::ToolUse),
    ];
    assert_eq!(all[1..], expected);
}

proptest! {
    #[test]
    fn every_chunking_gives_the_same_events(cuts in proptest::collection::vec(0_usize..10_000, 0..40)) {
        prop_assert_eq!(read(RECORDED.as_bytes(), &cuts), read(RECORDED.as_bytes(), &[]));
    }

    #[test]
    fn other_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), at in 0_usize..3_000) {
        let at = at % RECORDED.len();
        let mut all = RECORDED.as_bytes().to_vec();
        all.splice(at..(at + bytes.len()).min(RECORDED.len()), bytes);
        prop_assert!(read(&all, &[]).len() < 100);
    }
}
