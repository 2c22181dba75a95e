use super::*;
use crate::domain::{Message, Role, ToolCall};
use futures_util::StreamExt;
use std::sync::Arc;

fn request(messages: Vec<Message>, attempt: u32) -> CallRequest {
    let messages = messages.into_iter().map(Arc::new).collect();
    CallRequest {
        model: "x".into(),
        system: "sys!".into(),
        messages,
        max_output_tokens: 100,
        attempt,
        ..CallRequest::default()
    }
}

/// The answer of a scenario with these replies, its neighbouring texts joined.
async fn answer(replies: &str, request: CallRequest) -> Vec<Result<ProviderEvent, CallError>> {
    let (scenario, problems) = Scenario::parse(&format!("name: t\nreplies:\n{replies}"));
    assert_eq!(problems, []);
    play(&scenario, &request).collect().await
}

/// The text that is said to `messages`.
async fn said(replies: &str, request: CallRequest) -> String {
    let events = answer(replies, request).await;
    events
        .into_iter()
        .filter_map(|event| if let Ok(ProviderEvent::Text(text)) = event { Some(text) } else { None })
        .collect()
}

const CHOICES: &str = "
  - {when: {equals: Hello}, steps: [text: greeting]}
  - {when: {contains: [cod, rust], attempt: 2}, steps: [text: again]}
  - {when: {contains: [cod, rust]}, steps: [text: code]}
  - {when: {after_tool: look}, steps: [text: looked]}
  - {when: {turn: 2}, steps: [text: second]}
  - {when: {starts_with: 'repeat '}, steps: [{text: 'you said {input}', echo: true}]}
  - {steps: [text: 'default {input}']}
";

#[tokio::test]
async fn the_first_reply_that_fits_is_given() {
    let look = ToolCall { call_id: CallId("1".into()), tool: "look".into(), input: serde_json::json!({}) };
    let calling = Message { role: Role::Assistant, blocks: vec![Block::ToolCall(look)] };
    let result =
        Block::ToolResult { call_id: CallId("1".into()), output: "seen".into(), error: false, images: Vec::new() };
    let result = Message { role: Role::User, blocks: vec![result] };
    for (messages, attempt, expected) in [
        (vec![Message::user(" hello\n")], 1, "greeting"),
        (vec![Message::user("hello you")], 1, "default {input}"),
        (vec![Message::user("some Rust please")], 1, "code"),
        (vec![Message::user("some Rust please")], 2, "again"),
        (vec![Message::user("repeat a b")], 1, "you said repeat a b"),
        (vec![Message::user("a"), Message::assistant("b"), Message::user("c")], 1, "second"),
        (vec![Message::user("a"), calling, result], 1, "looked"),
        (vec![], 1, "default {input}"),
    ] {
        assert_eq!(said(CHOICES, request(messages, attempt)).await, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn words_keep_their_rate_with_few_wake_ups() {
    let text = "one  two\n three ".repeat(400);
    for (rate, seconds) in [(0, 0), (50, 24), (1_000, 1), (100_000, 0)] {
        let replies = format!("  - steps: [{{text: {text:?}, rate: {rate}}}]\n");
        let start = Instant::now();
        let events = answer(&replies, request(vec![Message::user("go")], 1)).await;
        assert!(start.elapsed().as_secs().abs_diff(seconds) <= 1, "{rate}: {:?}", start.elapsed());
        assert!(events.len() <= 1_205.min(usize::try_from(seconds).unwrap() * 105 + 110), "{rate}: {}", events.len());
        let said: String = events
            .into_iter()
            .filter_map(|event| if let Ok(ProviderEvent::Text(text)) = event { Some(text) } else { None })
            .collect();
        assert_eq!(said, text);
    }
}

#[tokio::test(start_paused = true)]
async fn usage_is_estimated_and_calls_are_numbered() {
    let replies = "
  - steps:
      - thinking: hm hm hm.
      - tool_call: {name: look}
      - pause: 5
      - tool_call: {name: look, input: {a: 1}}
";
    let events = answer(replies, request(vec![Message::user("go on!!!")], 1)).await;
    let call = |index: u32, json: &str| {
        [
            Ok(ProviderEvent::ToolCallStarted {
                index,
                call_id: CallId(format!("scripted_{index}")),
                tool: "look".into(),
            }),
            Ok(ProviderEvent::ToolInput { index, partial_json: json.into() }),
        ]
    };
    let usage = Usage { input: Tokens(3), output: Tokens(6), reasoning: Tokens(3), ..Usage::default() };
    let mut expected = vec![Ok(ProviderEvent::Thinking("hm hm hm.".into()))];
    expected.extend(call(0, "{}"));
    expected.extend(call(1, r#"{"a":1}"#));
    expected.push(Ok(ProviderEvent::Usage(usage)));
    expected.push(Ok(ProviderEvent::Finished(StopReason::ToolUse)));
    assert_eq!(events, expected);
}

#[tokio::test(start_paused = true)]
async fn failures_cuts_and_silence() {
    let go = || request(vec![Message::user("go")], 1);
    let failed = answer(
        "  - steps: [{text: a}, {error: {status: 529, type: overloaded_error, retry_after: 2}}, {text: b}]\n",
        go(),
    )
    .await;
    let Some(Err(error)) = failed.last() else { panic!("{failed:?}") };
    assert_eq!(
        (error.category, error.status, error.retry_after_ms),
        (ErrorCategory::Transient, Some(529), Some(2_000))
    );
    assert_eq!(failed.len(), 2);

    let cut = answer("  - steps: [{text: a}, cut, {text: b}]\n", go()).await;
    assert!(matches!(cut.last(), Some(Ok(ProviderEvent::Finished(StopReason::Truncated { .. })))), "{cut:?}");

    let nothing = answer("  - {when: {equals: x}, steps: []}\n", go()).await;
    assert!(matches!(&nothing[..], [Err(error)] if error.category == ErrorCategory::Permanent), "{nothing:?}");

    let hung = tokio::time::timeout(Duration::from_secs(9_999), answer("  - steps: [{text: a}, hang]\n", go())).await;
    assert!(hung.is_err());
}
