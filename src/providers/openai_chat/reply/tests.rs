use super::*;
use crate::domain::CallId;
use crate::domain::event::ErrorCategory;
use crate::providers::answer;
use futures_util::StreamExt;
use proptest::prelude::*;

const RECORDED: &str = r#"data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}],"usage":null}

: keep-alive

data: {"choices":[{"index":0,"delta":{"reasoning_content":"Größe?"},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{"content":"Let me \"look\" 🦀\n"},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"look","arguments":""}}]},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"at\": \"P"}}]},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"aris\"}"}}]},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_b","type":"function","function":{"name":"list","arguments":""}}]},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: {"choices":[],"usage":{"prompt_tokens":112,"completion_tokens":89,"total_tokens":201,"prompt_tokens_details":{"cached_tokens":100,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":40}}}

data: [DONE]

"#;

/// The events when `bytes` come in pieces that end at `cuts`.
fn read(bytes: &[u8], cuts: &[usize]) -> Vec<Result<ProviderEvent, CallError>> {
    let mut ends: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).chain([bytes.len()]).collect();
    ends.sort_unstable();
    let pieces = ends.iter().scan(0, |start, end| Some(Ok(bytes[std::mem::replace(start, *end)..*end].to_vec())));
    let pieces: Vec<_> = pieces.collect();
    let reader = ChatReader::new(vec![SecretString::from("hush-hush-key")], 0);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(answer::read(futures_util::stream::iter(pieces), reader).collect())
}

/// The events of a stream of these chunks and the end marker.
fn events(chunks: &[&str]) -> Vec<ProviderEvent> {
    let stream = format!("data: {}\n\ndata: [DONE]\n\n", chunks.join("\n\ndata: "));
    read(stream.as_bytes(), &[]).into_iter().map(Result::unwrap).collect()
}

fn started(index: u32, id: &str, tool: &str) -> ProviderEvent {
    ProviderEvent::ToolCallStarted { index, call_id: CallId(id.into()), tool: tool.into() }
}

fn input(index: u32, json: &str) -> ProviderEvent {
    ProviderEvent::ToolInput { index, partial_json: json.into() }
}

#[test]
fn a_recorded_answer() {
    let usage = Usage {
        input: Tokens(12),
        output: Tokens(89),
        cache_read: Tokens(100),
        cache_write: Tokens(0),
        reasoning: Tokens(40),
    };
    let events: Result<Vec<_>, _> = read(RECORDED.as_bytes(), &[]).into_iter().collect();
    assert_eq!(
        events.unwrap(),
        [
            ProviderEvent::Thinking("Größe?".into()),
            ProviderEvent::ThinkingSignature("chat:reasoning_content".into()),
            ProviderEvent::Text("Let me \"look\" 🦀\n".into()),
            started(0, "call_a", "look"),
            input(0, "{\"at\": \"P"),
            input(0, "aris\"}"),
            started(1, "call_b", "list"),
            ProviderEvent::Usage(usage),
            input(1, "{}"),
            ProviderEvent::Finished(StopReason::ToolUse),
        ]
    );
}

#[test]
fn an_answer_cut_before_its_finish_reason_is_never_whole() {
    // Some servers leave the end marker out.
    let finished = RECORDED.find("\"tool_calls\"}").unwrap();
    for end in 0..RECORDED.len() - 1 {
        let events = read(&RECORDED.as_bytes()[..end], &[]);
        match events.last() {
            Some(Ok(ProviderEvent::Finished(StopReason::ToolUse))) => assert!(end > finished, "{end}"),
            Some(Ok(ProviderEvent::Finished(StopReason::Truncated { .. }))) => assert!(events.len() > 1),
            Some(Err(error)) => assert_eq!((error.category, events.len()), (ErrorCategory::Transient, 1)),
            other => panic!("cut at {end}: {other:?}"),
        }
    }
}

#[test]
fn careless_servers_are_understood() {
    let whole = r#"{"choices":[{"delta":{"tool_calls":[{"id":"x","function":{"name":"a","arguments":"{}"}},{"id":"y","function":{"name":"b","arguments":"{}"}}]},"finish_reason":"stop"}]}"#;
    let expected = [
        started(0, "x", "a"),
        input(0, "{}"),
        started(1, "y", "b"),
        input(1, "{}"),
        ProviderEvent::Finished(StopReason::ToolUse),
    ];
    assert_eq!(events(&[whole]), expected);

    let all_zero = [
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"a","arguments":"{}"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"y","function":{"name":"b","arguments":"{}"}}]}}]}"#,
        r#"{"choices":[{"finish_reason":"tool_calls","delta":null}]}"#,
    ];
    assert_eq!(events(&all_zero), expected);

    let nameless = r#"{"choices":[{"delta":{"tool_calls":[{"function":{"name":"a","arguments":null}}]},"finish_reason":"tool_calls"}]}"#;
    assert_eq!(events(&[nameless])[0], started(0, "call_0", "a"));

    let other_choice = r#"{"choices":[{"index":1,"delta":{"content":"no"}},{"index":0,"delta":{"content":"yes","reasoning":"r"},"finish_reason":"length"}]}"#;
    let expected = [
        ProviderEvent::Thinking("r".into()),
        ProviderEvent::ThinkingSignature("chat:reasoning".into()),
        ProviderEvent::Text("yes".into()),
        ProviderEvent::Finished(StopReason::MaxTokens),
    ];
    assert_eq!(events(&[other_choice]), expected);
}

#[test]
fn calls_that_come_whole_one_after_the_other_are_told_apart_by_their_names() {
    let calls = [
        r#"{"choices":[{"delta":{"tool_calls":[{"function":{"name":"a","arguments":"{\"x\":1}"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"function":{"name":"b","arguments":"{}"}}]}}]}"#,
        r#"{"choices":[{"finish_reason":"stop"}]}"#,
    ];
    let expected = [
        started(0, "call_0", "a"),
        input(0, "{\"x\":1}"),
        started(1, "call_1", "b"),
        input(1, "{}"),
        ProviderEvent::Finished(StopReason::ToolUse),
    ];
    assert_eq!(events(&calls), expected);
    // A name that is repeated with every piece of one call.
    let pieces = [
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"a","arguments":"{"}}]}}]}"#,
        r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"a","arguments":"}"}}]},"finish_reason":"stop"}]}"#,
    ];
    assert_eq!(events(&pieces)[..3], [started(0, "call_0", "a"), input(0, "{"), input(0, "}")]);
}

#[test]
fn arguments_that_come_as_an_object_are_kept() {
    let call = |arguments: &str| {
        let call = format!(r#"{{"index":0,"id":"x","function":{{"name":"a","arguments":{arguments}}}}}"#);
        events(&[&format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{call}]}},"finish_reason":"stop"}}]}}"#)])
    };
    assert_eq!(call(r#"{"at": [1, "é"]}"#)[1], input(0, r#"{"at": [1, "é"]}"#));
    for none in ["null", "\"\"", "7", "[]"] {
        assert_eq!(call(none)[1], input(0, "{}"), "{none}");
    }
}

#[test]
fn a_content_may_be_a_list_of_thoughts_and_texts() {
    let thought =
        r#"{"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}}]}"#;
    let text = r#"{"choices":[{"delta":{"content":[{"type":"text","text":"So."},{"type":"reference"},7]},"finish_reason":"stop"}]}"#;
    let end = ProviderEvent::Finished(StopReason::EndTurn);
    let expected = [ProviderEvent::Thinking("hm".into()), ProviderEvent::Text("So.".into()), end];
    // What is something else costs nothing beside it.
    assert_eq!(events(&[thought, text]), expected);
}

#[test]
fn a_call_is_told_from_the_next_however_its_pieces_are_marked() {
    let chunk = |call: &str, finish: &str| {
        format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{call}]}},"finish_reason":{finish}}}]}}"#)
    };
    let done = ProviderEvent::Finished(StopReason::ToolUse);
    // A new id for each piece.
    let pieces = [
        chunk(r#"{"index":0,"id":"x1","function":{"name":"a","arguments":"{\"p\""}}"#, "null"),
        chunk(r#"{"index":0,"id":"x2","function":{"arguments":":1}"}}"#, "null"),
        chunk(r#"{"index":0,"id":"x3","function":{"name":"b","arguments":"{}"}}"#, r#""tool_calls""#),
    ];
    let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
    let expected = [
        started(0, "x1", "a"),
        input(0, r#"{"p""#),
        input(0, ":1}"),
        started(1, "x3", "b"),
        input(1, "{}"),
        done.clone(),
    ];
    assert_eq!(events(&pieces), expected);
    // The name behind the first arguments.
    let pieces = [
        chunk(r#"{"index":0,"id":"x","function":{"arguments":"{\"p\""}}"#, "null"),
        chunk(r#"{"index":0,"function":{"name":"a","arguments":":1}"}}"#, r#""tool_calls""#),
    ];
    let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
    assert_eq!(events(&pieces), [started(0, "x", "a"), input(0, r#"{"p":1}"#), done.clone()]);
    // None at all: the call is told, so that it is refused in words.
    let nameless = chunk(r#"{"index":0,"id":"x","function":{"arguments":"{}"}}"#, r#""tool_calls""#);
    assert_eq!(events(&[&nameless]), [started(0, "x", ""), input(0, "{}"), done]);
}

#[test]
fn usage_is_read_wherever_servers_tell_of_it() {
    let usage = |data: &str| {
        let found = events(&[data]).into_iter().find_map(|event| {
            let ProviderEvent::Usage(usage) = event else { return None };
            Some((usage.input.0, usage.cache_read.0, usage.cache_write.0))
        });
        found.unwrap()
    };
    assert_eq!(usage(r#"{"usage":{"prompt_tokens":10,"prompt_cache_hit_tokens":4}}"#), (6, 4, 0));
    assert_eq!(usage(r#"{"usage":{"prompt_tokens":10,"cached_tokens":3}}"#), (7, 3, 0));
    assert_eq!(usage(r#"{"choices":[{"usage":{"prompt_tokens":10,"completion_tokens":1}}]}"#), (10, 0, 0));
    let written =
        r#"{"usage":{"prompt_tokens":10,"prompt_tokens_details":{"cached_tokens":2,"cache_write_tokens":5}}}"#;
    assert_eq!(usage(written), (3, 2, 5));
}

#[test]
fn a_failure_told_as_a_finish_reason_is_tried_again() {
    for word in ["error", "network_error", "insufficient_system_resource"] {
        let finish = format!(r#"{{"choices":[{{"delta":{{}},"finish_reason":"{word}"}}]}}"#);
        let events = events(&[&finish]);
        assert!(
            matches!(&events[..], [ProviderEvent::Finished(StopReason::Truncated { detail })] if detail.contains(word))
        );
    }
}

#[test]
fn refusals_and_unknown_reasons() {
    let refused = r#"{"choices":[{"delta":{"refusal":"I will not."},"finish_reason":"stop"}]}"#;
    assert_eq!(events(&[refused]).last(), Some(&ProviderEvent::Finished(StopReason::Refusal)));
    let other = r#"{"choices":[{"delta":{},"finish_reason":"tired"}]}"#;
    assert_eq!(events(&[other]), [ProviderEvent::Finished(StopReason::Other { word: "tired".into() })]);
    assert!(matches!(&events(&["{}"])[..], [ProviderEvent::Finished(StopReason::Truncated { .. })]));
}

#[test]
fn errors_within_the_stream() {
    let error = |data: &str| read(format!("data: {data}\n\n").as_bytes(), &[]).pop().unwrap().unwrap_err();
    let overloaded = error(r#"{"error":{"message":"busy, hush-hush-key","type":"server_error","code":null}}"#);
    assert_eq!((overloaded.category, overloaded.code.as_str()), (ErrorCategory::Transient, "server_error"));
    assert_eq!(overloaded.message, "busy, [key]");
    assert_eq!(error(r#"{"error":"context length exceeded"}"#).category, ErrorCategory::ContextTooLong);
    // Gateways put the status into a stream that had begun.
    for (status, category) in [(429, ErrorCategory::RateLimited), (502, ErrorCategory::Transient)] {
        let told = error(&format!(r#"{{"error":{{"code":{status},"message":"Try again in 11.5s."}}}}"#));
        assert_eq!((told.category, told.retry_after_ms), (category, Some(11_500)), "{status}");
    }
    assert_eq!(error("oops").code, "bad_event");
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
