//! A model's server on loopback that a test plays by hand: it checks every request, and the test decides when which
//! piece of the answer leaves. Speaks the Messages form (`/v1/messages`).

use super::loopback::Loopback;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Response, Uri};
use futures_util::stream;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};
use tokio::sync::mpsc as pieces;

const PATIENCE: Duration = Duration::from_secs(20);

/// The key that requests must carry.
pub const KEY: &str = "test-key-do-not-leak-7f3a";

/// The server. Dropping it ends it.
pub struct ModelServer {
    calls: mpsc::Receiver<Call>,
    broken: Arc<Mutex<Vec<String>>>,
    server: Loopback,
}

/// One request, waiting for its answer.
pub struct Call {
    pub body: Value,
    /// The same as it came.
    pub bytes: Vec<u8>,
    pieces: pieces::UnboundedSender<Vec<u8>>,
    /// Pieces of a flood that have not left.
    waiting: Arc<std::sync::atomic::AtomicUsize>,
    closed: mpsc::Receiver<Instant>,
}

#[derive(Clone)]
struct Shared {
    calls: mpsc::Sender<Call>,
    broken: Arc<Mutex<Vec<String>>>,
}

impl ModelServer {
    pub fn start() -> Self {
        let (sender, calls) = mpsc::channel();
        let broken = Arc::new(Mutex::new(Vec::new()));
        let shared = Shared { calls: sender, broken: Arc::clone(&broken) };
        // What people paste is longer than axum takes by itself.
        let router = Router::new().fallback(answer).layer(DefaultBodyLimit::disable()).with_state(shared);
        Self { calls, broken, server: Loopback::start(router) }
    }

    pub fn base(&self) -> String {
        format!("http://{}", self.server.address)
    }

    /// Waits for the next request.
    #[track_caller]
    pub fn call(&self) -> Call {
        let call = self.calls.recv_timeout(PATIENCE).expect("a request");
        assert_eq!(*self.broken.lock().unwrap(), Vec::<String>::new());
        call
    }

    /// Whether a request is waiting to be answered.
    pub fn is_asked(&self) -> Option<Call> {
        self.calls.try_recv().ok()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.server.end();
        if !std::thread::panicking() {
            assert_eq!(*self.broken.lock().unwrap(), Vec::<String>::new());
        }
    }
}

impl Call {
    fn event(&self, value: &Value) {
        let name = value["type"].as_str().unwrap();
        // The program may have hung up.
        let _gone = self.pieces.send(format!("event: {name}\ndata: {value}\n\n").into_bytes());
    }

    /// Sends bytes as they are.
    pub fn raw(&self, bytes: Vec<u8>) {
        let _gone = self.pieces.send(bytes);
    }

    /// Whether the program has closed the connection.
    pub fn is_closed(&self) -> bool {
        self.pieces.is_closed()
    }

    /// Sends `piece` again and again, `most` bytes in all, for as long as the program takes it; returns whether that closed
    /// the connection. What the program does not take waits with the system.
    pub fn flood(&self, piece: &[u8], most: usize) -> bool {
        const AHEAD: usize = 256;
        for _ in 0..=most / piece.len() {
            let began = Instant::now();
            while self.waiting.load(std::sync::atomic::Ordering::Relaxed) > AHEAD && !self.is_closed() {
                assert!(began.elapsed() < PATIENCE, "nothing is read any more, and the connection is open");
                std::thread::sleep(Duration::from_millis(1));
            }
            if self.is_closed() {
                return true;
            }
            self.waiting.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            self.raw(piece.to_vec());
        }
        self.is_closed()
    }

    /// Begins the answer.
    pub fn begin(&self) {
        self.event(&json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant",
            "model": "test", "content": [], "stop_reason": null,
            "usage": {"input_tokens": 11, "output_tokens": 1, "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0}}}));
        let start = json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}});
        self.event(&start);
    }

    pub fn text(&self, text: &str) {
        self.event(&json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}));
    }

    /// Answers with a call of a tool.
    pub fn tool(self, name: &str, input: &Value) {
        let call = json!({"type": "tool_use", "id": "toolu_1", "name": name, "input": {}});
        self.event(&json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant",
            "model": "test", "content": [], "stop_reason": null, "usage": {"input_tokens": 11, "output_tokens": 1}}}));
        self.event(&json!({"type": "content_block_start", "index": 0, "content_block": call}));
        let input = json!({"type": "input_json_delta", "partial_json": input.to_string()});
        self.event(&json!({"type": "content_block_delta", "index": 0, "delta": input}));
        self.event(&json!({"type": "content_block_stop", "index": 0}));
        self.event(&json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"},
            "usage": {"output_tokens": 12}}));
        self.event(&json!({"type": "message_stop"}));
    }

    /// Ends the answer as it should.
    pub fn end(self) {
        self.event(&json!({"type": "content_block_stop", "index": 0}));
        self.event(&json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 12}}));
        self.event(&json!({"type": "message_stop"}));
    }

    /// A whole answer at once.
    pub fn answer(self, text: &str) {
        self.begin();
        self.text(text);
        self.end();
    }

    /// The rest of an answer that has begun.
    pub fn answer_on(self, text: &str) {
        self.text(text);
        self.end();
    }

    /// Waits until the program has closed the connection.
    #[track_caller]
    pub fn closed(&self) -> Instant {
        self.closed.recv_timeout(PATIENCE).expect("the connection is closed")
    }

    /// Role and last text of every message of the request: what surrounds what was said stands before it.
    pub fn messages(&self) -> Vec<(String, String)> {
        let text = |content: &Value| match content {
            Value::String(text) => text.clone(),
            Value::Array(blocks) => {
                blocks.iter().rev().find_map(|block| block["text"].as_str()).unwrap_or_default().to_owned()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
        };
        let messages = self.body["messages"].as_array().unwrap();
        messages.iter().map(|one| (one["role"].as_str().unwrap().to_owned(), text(&one["content"]))).collect()
    }
}

async fn answer(State(shared): State<Shared>, uri: Uri, headers: HeaderMap, bytes: Bytes) -> Response<Body> {
    if uri.path() == "/v1/messages/count_tokens" {
        let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let refused = body.get("max_tokens").is_some() || body.get("stream").is_some() || headers["x-api-key"] != KEY;
        let (status, told) = if refused { (400, "{}") } else { (200, "{\"input_tokens\": 4321}") };
        return Response::builder()
            .status(status)
            .header("content-type", "application/json")
            .body(told.into())
            .unwrap();
    }
    let body = match rules(&uri, &headers, &bytes) {
        Ok(body) => body,
        Err(rule) => {
            shared.broken.lock().unwrap().push(rule.clone());
            return Response::builder().status(400).body(rule.into()).unwrap();
        }
    };
    let (sender, receiver) = pieces::unbounded_channel();
    let (close, closed) = mpsc::channel();
    let waiting = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let call = Call { body, bytes: bytes.to_vec(), pieces: sender, waiting: Arc::clone(&waiting), closed };
    shared.calls.send(call).unwrap_or_default();
    let playing = Playing { receiver, waiting, close };
    let body = Body::from_stream(stream::unfold(playing, |mut playing| async move {
        let bytes = playing.receiver.recv().await?;
        let one_less = |count: usize| Some(count.saturating_sub(1));
        let relaxed = std::sync::atomic::Ordering::Relaxed;
        let _was = playing.waiting.fetch_update(relaxed, relaxed, one_less);
        Some((Ok::<_, std::io::Error>(bytes), playing))
    }));
    Response::builder().header("content-type", "text/event-stream").body(body).unwrap()
}

/// What the vendor asks of a request.
fn rules(uri: &Uri, headers: &HeaderMap, body: &[u8]) -> Result<Value, String> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let body: Value = serde_json::from_slice(body).map_err(|error| format!("no JSON: {error}"))?;
    let messages = body["messages"].as_array().cloned().unwrap_or_default();
    let roles: Vec<&str> = messages.iter().filter_map(|message| message["role"].as_str()).collect();
    let alternate = roles.iter().enumerate().all(|(at, role)| *role == ["user", "assistant"][at % 2]);
    let checks = [
        ("path", uri.path() == "/v1/messages"),
        ("key", header("x-api-key") == KEY),
        ("version", header("anthropic-version") == "2023-06-01"),
        ("stream", body["stream"] == true),
        ("max_tokens", body["max_tokens"].as_u64().is_some_and(|most| most > 0)),
        ("roles", !roles.is_empty() && alternate && roles.last() == Some(&"user")),
        (
            "no empty content",
            messages.iter().all(|message| !matches!(&message["content"], Value::String(text) if text.is_empty())),
        ),
    ];
    match checks.iter().find(|(_, holds)| !holds) {
        Some((rule, _)) => Err(format!("broken rule `{rule}`: {uri} {body}")),
        None => Ok(body),
    }
}

struct Playing {
    receiver: pieces::UnboundedReceiver<Vec<u8>>,
    waiting: Arc<std::sync::atomic::AtomicUsize>,
    close: mpsc::Sender<Instant>,
}

impl Drop for Playing {
    fn drop(&mut self) {
        let _nobody_waits = self.close.send(Instant::now());
    }
}
