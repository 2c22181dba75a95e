//! All HTTP providers against a server on this machine: one list of situations, run in each wire form.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

mod dialect;
mod rules;
mod server;

use dialect::{Dialect, Said};
use futures_util::{StreamExt, stream};
use levain::domain::event::{CallError, ErrorCategory, StopReason};
use levain::domain::{Block, CallId, ContentHash, Message, Role, ToolCall, ToolSpec, Usage};
use levain::ports::{CallRequest, ProviderEvent};
use levain::providers::http::SILENCE;
use levain::providers::{Keys, Providers, Settings};
use server::{Piece, Play, Server};
use std::sync::Arc;
use std::time::Duration;

/// The key of every call; nothing that comes back may show it.
const KEY: &str = "sesame-sesame-0123456789";

type Item = Result<ProviderEvent, CallError>;

fn providers(server: &Server, silence: Duration) -> Providers {
    Providers::new(settings(server, silence))
}

fn settings(server: &Server, silence: Duration) -> Settings {
    let keys = Keys::from_env(|_| Some(KEY.to_owned()));
    let base = server.base();
    let folder = std::path::PathBuf::new();
    let below = |name: &str, path: &str| (name.to_owned(), format!("{base}{path}"));
    let bases = [
        below("anthropic", ""),
        below("openai", "/v1/"),
        below("openai-responses", "/v1"),
        below("gemini", "/v1beta/"),
    ];
    Settings {
        refused: std::collections::BTreeMap::new(),
        header_values: std::collections::BTreeMap::new(),
        keys,
        bases: bases.into(),
        proxies: levain::providers::Proxies::default(),
        logins: None,
        files: Vec::new(),
        preference: levain::providers::Preference::default(),
        scenario_dir: folder,
        silence,
    }
}

fn request(messages: Vec<Message>) -> CallRequest {
    let messages = messages.into_iter().map(Arc::new).collect();
    CallRequest {
        model: "test-1".into(),
        system: "Be brief.".into(),
        messages,
        max_output_tokens: 64,
        attempt: 1,
        ..CallRequest::default()
    }
}

/// All items of the answer that the server plays to `prompt`.
async fn ask(providers: &Providers, dialect: Dialect, prompt: &str) -> Vec<Item> {
    let provider = providers.provider(&dialect.model()).unwrap();
    let items: Vec<Item> = provider.call(request(vec![Message::user(prompt)])).collect().await;
    let shown = format!("{items:?} {provider:?} {providers:?}", provider = provider.endpoint());
    assert!(!shown.contains("sesame"), "a key shows: {shown}");
    items
}

/// Has each wire form play `said` and compares what arrives, usage and signatures apart.
async fn check(said: &[Said], expected: &[ProviderEvent]) {
    let server = Server::start().await;
    let providers = providers(&server, SILENCE);
    for dialect in Dialect::ALL {
        let prompt = server.add(Play::stream([Piece::Bytes(dialect.encode(said).into_bytes())]));
        let items: Result<Vec<_>, _> = ask(&providers, dialect, &prompt).await.into_iter().collect();
        let mut events = items.unwrap();
        let usage = events
            .iter()
            .rev()
            .find_map(|event| if let ProviderEvent::Usage(usage) = event { Some(*usage) } else { None });
        assert_eq!(usage, Some(dialect.usage()), "{dialect:?}");
        events.retain(|event| !matches!(event, ProviderEvent::Usage(_) | ProviderEvent::ThinkingSignature(_)));
        let expected = if dialect.has_whole_arguments() { joined(expected) } else { expected.to_vec() };
        assert_eq!(events, expected, "{dialect:?}");
    }
    server.check_rules();
}

/// `events` with the pieces of each call's arguments in one.
fn joined(events: &[ProviderEvent]) -> Vec<ProviderEvent> {
    let mut all: Vec<ProviderEvent> = Vec::new();
    for event in events {
        if let ProviderEvent::ToolInput { index, partial_json: more } = event
            && let Some(ProviderEvent::ToolInput { index: last, partial_json }) = all.last_mut()
            && last == index
        {
            partial_json.push_str(more);
        } else {
            all.push(event.clone());
        }
    }
    all
}

/// The error that a call ends with.
fn error_of(items: &[Item]) -> &CallError {
    match items.last() {
        Some(Err(error)) => error,
        other => panic!("no error but {other:?}"),
    }
}

fn started(index: u32, id: &str, tool: &str) -> ProviderEvent {
    ProviderEvent::ToolCallStarted { index, call_id: CallId(id.into()), tool: tool.into() }
}

fn input(index: u32, json: &str) -> ProviderEvent {
    ProviderEvent::ToolInput { index, partial_json: json.into() }
}

#[tokio::test]
async fn a_plain_answer() {
    check(
        &[Said::Text("Hello "), Said::Text("wörld \"🦀\"\n"), Said::End],
        &[
            ProviderEvent::Text("Hello ".into()),
            ProviderEvent::Text("wörld \"🦀\"\n".into()),
            ProviderEvent::Finished(StopReason::EndTurn),
        ],
    )
    .await;
}

#[tokio::test]
async fn thinking_before_the_answer() {
    check(
        &[Said::Thinking("hm"), Said::Text("42"), Said::End],
        &[
            ProviderEvent::Thinking("hm".into()),
            ProviderEvent::Text("42".into()),
            ProviderEvent::Finished(StopReason::EndTurn),
        ],
    )
    .await;
}

#[tokio::test]
async fn one_call_and_two_calls_in_pieces() {
    check(
        &[Said::Call("c1", "look", &["{\"at\":", "\"Paris\"}"]), Said::End],
        &[
            started(0, "c1", "look"),
            input(0, "{\"at\":"),
            input(0, "\"Paris\"}"),
            ProviderEvent::Finished(StopReason::ToolUse),
        ],
    )
    .await;
    check(
        &[
            Said::Text("both"),
            Said::Call("c1", "look", &["{\"a\":1}"]),
            Said::Call("c2", "list", &["{", "}"]),
            Said::End,
        ],
        &[
            ProviderEvent::Text("both".into()),
            started(0, "c1", "look"),
            input(0, "{\"a\":1}"),
            started(1, "c2", "list"),
            input(1, "{"),
            input(1, "}"),
            ProviderEvent::Finished(StopReason::ToolUse),
        ],
    )
    .await;
}

#[tokio::test]
async fn an_error_in_mid_stream() {
    let server = Server::start().await;
    let providers = providers(&server, SILENCE);
    for dialect in Dialect::ALL {
        let stream = dialect.encode(&[Said::Text("so"), Said::Error("overloaded_error", "too busy")]);
        let prompt = server.add(Play::stream([Piece::Bytes(stream.into_bytes())]));
        let items = ask(&providers, dialect, &prompt).await;
        assert!(items.contains(&Ok(ProviderEvent::Text("so".into()))), "{dialect:?}: {items:?}");
        let error = error_of(&items);
        assert_eq!((error.category, error.code.as_str()), (ErrorCategory::Transient, "overloaded_error"));
        assert_eq!(error.message, "too busy");
    }
    server.check_rules();
}

#[tokio::test]
async fn silence_within_the_answer_and_before_it() {
    let server = Server::start().await;
    let providers = providers(&server, Duration::from_millis(150));
    for dialect in Dialect::ALL {
        let begun = dialect.encode(&[Said::Text("so")]);
        let silent = server.add(Play::stream([Piece::Bytes(begun.into_bytes()), Piece::Hold]));
        let mute = server.add(Play::never());
        for prompt in [silent, mute] {
            let items = ask(&providers, dialect, &prompt).await;
            let error = error_of(&items);
            assert_eq!((error.category, error.code.as_str()), (ErrorCategory::Transient, "silence"));
            assert!(error.message.contains("sent nothing for 0.15 s"), "{}", error.message);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_cut_at_any_byte_is_never_whole() {
    let server = Server::start().await;
    let providers = providers(&server, SILENCE);
    for dialect in Dialect::ALL {
        let said = [Said::Thinking("é"), Said::Text("so"), Said::Call("c1", "look", &["{}"]), Said::End];
        let bytes = dialect.encode(&said).into_bytes();
        // Without its last line break the marker has not arrived.
        let cuts = (0..bytes.len() - 1).flat_map(|end| [(end, false), (end, true)]);
        let finished = String::from_utf8_lossy(&bytes).find("\"finish_reason\":\"");
        let answers = stream::iter(cuts).map(|(end, orderly)| {
            let how = if orderly { Piece::End } else { Piece::Break };
            let prompt = server.add(Play::stream([Piece::Bytes(bytes[..end].to_vec()), how]));
            let providers = providers.clone();
            async move { (end, orderly, ask(&providers, dialect, &prompt).await) }
        });
        let mut answers = std::pin::pin!(answers.buffer_unordered(100));
        while let Some((end, orderly, items)) = answers.next().await {
            match items.last() {
                Some(Ok(ProviderEvent::Finished(StopReason::Truncated { .. }))) => {}
                // Some servers of this form leave the end marker out: where they end the answer in order, its reason is enough.
                Some(Ok(ProviderEvent::Finished(StopReason::ToolUse)))
                    if orderly && finished.is_some_and(|finished| end > finished) => {}
                Some(Err(error)) => assert_eq!(error.category, ErrorCategory::Transient, "{error:?}"),
                other => panic!("{dialect:?} cut at {end}: {other:?}"),
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pieces_of_every_size_give_the_same_events() {
    let server = Server::start().await;
    let providers = providers(&server, SILENCE);
    for dialect in Dialect::ALL {
        let said = [Said::Thinking("größe"), Said::Text("🦀"), Said::Call("c1", "look", &["{\"é\":", "1}"]), Said::End];
        let bytes = dialect.encode(&said).into_bytes();
        let whole = server.add(Play::stream([Piece::Bytes(bytes.clone())]));
        let expected = ask(&providers, dialect, &whole).await;
        for size in [1, 2, 3, 7, 50] {
            let prompt = server.add(Play::stream(bytes.chunks(size).map(|piece| Piece::Bytes(piece.to_vec()))));
            assert_eq!(ask(&providers, dialect, &prompt).await, expected, "{dialect:?} in pieces of {size}");
        }
    }
}

#[tokio::test]
async fn refusals_by_status() {
    use ErrorCategory::{Auth, ContextTooLong, Permanent, Quota, RateLimited, Transient};
    let server = Server::start().await;
    let providers = providers(&server, SILENCE);
    for (status, kind, message, category) in [
        (400, "invalid_request_error", "model: field required", Permanent),
        (400, "invalid_request_error", "prompt is too long: 300000 tokens", ContextTooLong),
        (401, "authentication_error", "invalid key sesame-sesame-0123456789", Auth),
        (403, "permission_error", "not you", Auth),
        (404, "not_found_error", "model: test-1", Permanent),
        (408, "timeout_error", "slow", Transient),
        (413, "request_too_large", "too large", ContextTooLong),
        (429, "rate_limit_error", "slower", RateLimited),
        (429, "insufficient_quota", "no money", Quota),
        (500, "api_error", "oh", Transient),
        (502, "", "", Transient),
        (503, "", "", Transient),
        (529, "overloaded_error", "Overloaded", Transient),
    ] {
        for dialect in Dialect::ALL {
            let body = if kind.is_empty() { String::new() } else { dialect.error_body(kind, message) };
            let prompt = server.add(Play::refusal(status, "application/json", &body));
            let items = ask(&providers, dialect, &prompt).await;
            assert_eq!(items.len(), 1, "{items:?}");
            let error = error_of(&items);
            assert_eq!((error.category, error.status), (category, Some(status)), "{error:?}");
            let code = if kind.is_empty() { format!("http_{status}") } else { kind.to_owned() };
            assert_eq!(error.code, code);
            assert!(error.message.contains(&status.to_string()), "{}", error.message);
        }
    }
    server.check_rules();
}

#[tokio::test]
async fn pages_pauses_and_redirects() {
    let server = Server::start().await;
    let providers = providers(&server, SILENCE);
    for dialect in Dialect::ALL {
        let page = "<!doctype html><title>Bad gateway</title><p>sesame-sesame-0123456789";
        let prompt = server.add(Play::refusal(502, "text/html", page));
        let items = ask(&providers, dialect, &prompt).await;
        assert!(error_of(&items).message.ends_with("502 Bad Gateway: Bad gateway"), "{items:?}");

        let mut limited = Play::refusal(429, "application/json", "{}");
        limited.headers.push(("retry-after", "3".into()));
        let items = ask(&providers, dialect, &server.add(limited)).await;
        assert_eq!(error_of(&items).retry_after_ms, Some(3_000));
        let mut limited = Play::refusal(429, "application/json", "{}");
        limited.headers.push(("x-ratelimit-remaining-requests", "3".into()));
        limited.headers.push(("x-ratelimit-reset-requests", "9s".into()));
        limited.headers.push(("x-ratelimit-remaining-tokens", "0".into()));
        limited.headers.push(("x-ratelimit-reset-tokens", "6m0s".into()));
        let items = ask(&providers, dialect, &server.add(limited)).await;
        assert_eq!(error_of(&items).retry_after_ms, Some(360_000));

        // A login page in the place of the service.
        let items = ask(&providers, dialect, &server.add(Play::refusal(200, "text/html; charset=utf-8", page))).await;
        let error = error_of(&items);
        assert_eq!((error.category, error.code.as_str()), (ErrorCategory::Permanent, "not_a_stream"));

        let mut moved = Play::refusal(308, "text/plain", "");
        moved.headers.push(("location", "https://u:p@elsewhere.example/v2?t=1".into()));
        let items = ask(&providers, dialect, &server.add(moved)).await;
        let message = &error_of(&items).message;
        assert!(message.contains("https://elsewhere.example/v2;"), "{message}");
    }
    server.check_rules();
}

#[tokio::test]
async fn servers_on_this_machine_are_found() {
    let server = Server::start().await;
    let settings = Settings { bases: [("vllm".to_owned(), server.base())].into(), ..settings(&server, SILENCE) };
    let found = Providers::new(settings).probe().await;
    let models: Vec<String> = found
        .iter()
        .filter(|found| found.provider == "vllm")
        .flat_map(|found| found.models.iter().map(ToString::to_string))
        .collect();
    assert_eq!(models, ["vllm/qwen/qwen3", "vllm/small"]);
}

#[tokio::test]
async fn nobody_there() {
    let server = Server::start().await;
    let providers = providers(&server, SILENCE);
    let base = server.base();
    server.stop().await;
    for dialect in Dialect::ALL {
        let items = ask(&providers, dialect, "hello").await;
        let error = error_of(&items);
        assert_eq!((error.category, error.code.as_str()), (ErrorCategory::Transient, "no_connection"), "{error:?}");
        assert!(error.message.contains(&base), "{}", error.message);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropping_the_answer_closes_the_connection() {
    let server = Server::start().await;
    let providers = providers(&server, SILENCE);
    for dialect in Dialect::ALL {
        let begun = dialect.encode(&[Said::Text("so")]);
        let prompt = server.add(Play::stream([Piece::Bytes(begun.into_bytes()), Piece::Hold]));
        let provider = providers.provider(&dialect.model()).unwrap();
        let mut answer = provider.call(request(vec![Message::user(prompt)]));
        while let Some(item) = answer.next().await {
            if item == Ok(ProviderEvent::Text("so".into())) {
                break;
            }
        }
        let before = server.closed();
        drop(answer);
        let closed = tokio::time::timeout(Duration::from_millis(200), server.wait_closed(before + 1));
        assert!(closed.await.is_ok(), "{dialect:?}: the server still streams");
    }
}

/// A history with everything in it, gaps, images and the thoughts of every maker included, keeps the rules of all wire
/// forms, and so do tools.
#[tokio::test]
async fn a_whole_history() {
    let call = |id: &str| {
        let input = serde_json::json!({"at": id});
        Block::ToolCall(ToolCall { call_id: CallId(id.into()), tool: "look".into(), input })
    };
    let result = |id: &str| Block::ToolResult {
        call_id: CallId(id.into()),
        output: "seen".into(),
        error: id == "2",
        images: Vec::new(),
    };
    let text = |text: &str| Block::Text { text: text.into() };
    let thinking = Block::Thinking { text: "hm".into(), signature: Some("sig".into()) };
    let signed = |signature: &str| Block::Thinking { text: "hm".into(), signature: Some(signature.into()) };
    let thoughts =
        || [r#"responses:{"id":"r1","encrypted_content":"x"}"#, "gemini-text:sig", "gemini-call:sig"].map(signed);
    let image = |bytes: &[u8]| Block::Image { media_type: "image/png".into(), hash: ContentHash::of(bytes) };
    let unsigned = Block::Thinking { text: "hm".into(), signature: None };
    let user = |blocks| Message { role: Role::User, blocks };
    let model = |blocks| Message { role: Role::Assistant, blocks };
    let history = |prompt: &str| {
        vec![
            model(vec![text("welcome")]),
            user(vec![text("a"), text(""), text("b")]),
            user(vec![text("c")]),
            model([vec![thinking.clone()], thoughts().to_vec(), vec![text("I look"), call("1"), call("2")]].concat()),
            user(vec![result("2"), text("go on")]),
            user(vec![result("1")]),
            model(vec![unsigned.clone()]),
            user(vec![text("still there?"), image(b"png"), image(b"gone")]),
            model(vec![signed("gemini-text:sig")]),
            user(vec![text("well?")]),
            model(thoughts().to_vec()),
            user(vec![image(b"png")]),
            model(vec![call("3")]),
            user(vec![result("9"), text(prompt)]),
        ]
    };
    let full = |messages| {
        let schema = serde_json::json!({"type": "object", "properties": {"at": {"type": "string"}}});
        let tools = vec![ToolSpec { name: "look".into(), description: "Looks around.".into(), schema }];
        let images = Arc::new([(ContentHash::of(b"png"), b"png".to_vec())].into());
        CallRequest { tools, images, ..request(messages) }
    };
    let server = Server::start().await;
    let providers = providers(&server, SILENCE);
    for dialect in Dialect::ALL {
        let stream = dialect.encode(&[Said::Text("fine"), Said::End]);
        let prompt = server.add(Play::stream([Piece::Bytes(stream.into_bytes())]));
        let provider = providers.provider(&dialect.model()).unwrap();
        let items: Vec<Item> = provider.call(full(history(&prompt))).collect().await;
        assert_eq!(items.last(), Some(&Ok(ProviderEvent::Finished(StopReason::EndTurn))), "{items:?}");
    }
    server.check_rules();
}

/// What `Dialect::encode` reports as used.
fn reported(input: u64, cache_read: u64, cache_write: u64, reasoning: u64) -> Usage {
    use levain::domain::Tokens;
    Usage {
        input: Tokens(input),
        output: Tokens(7),
        cache_read: Tokens(cache_read),
        cache_write: Tokens(cache_write),
        reasoning: Tokens(reasoning),
    }
}
