//! A vendor's server on loopback that says the same to every request, in the wire form in which it was asked (chat completions,
//! Gemini), and checks each request. For calls beside a thread's own.

use super::loopback::Loopback;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Response, Uri};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// The key that requests must carry.
pub const KEY: &str = "test-key-do-not-leak-91bd";

/// The server. Dropping it ends it.
pub struct WireServer {
    shared: Arc<Shared>,
    server: Loopback,
}

struct Shared {
    says: String,
    asked: Mutex<Vec<String>>,
    headers: Mutex<Vec<HeaderMap>>,
    broken: Mutex<Vec<String>>,
}

impl WireServer {
    pub fn start(says: &str) -> Self {
        let shared = Shared {
            says: says.to_owned(),
            asked: Mutex::default(),
            headers: Mutex::default(),
            broken: Mutex::default(),
        };
        let shared = Arc::new(shared);
        let server = Loopback::start(Router::new().fallback(answer).with_state(Arc::clone(&shared)));
        Self { shared, server }
    }

    pub fn base(&self, path: &str) -> String {
        format!("http://{}{path}", self.server.address)
    }

    /// What the requests so far asked for: their texts, with everything around them.
    pub fn asked(&self) -> Vec<String> {
        assert_eq!(*self.shared.broken.lock().unwrap(), Vec::<String>::new());
        self.shared.asked.lock().unwrap().clone()
    }
}

impl WireServer {
    /// The headers of the requests so far.
    pub fn headers(&self) -> Vec<HeaderMap> {
        self.shared.headers.lock().unwrap().clone()
    }
}

impl Drop for WireServer {
    fn drop(&mut self) {
        self.server.end();
        if !std::thread::panicking() {
            assert_eq!(*self.shared.broken.lock().unwrap(), Vec::<String>::new());
        }
    }
}

async fn answer(State(shared): State<Arc<Shared>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response<Body> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
    let events = match uri.path() {
        "/v1/chat/completions" => {
            let is_right = header("authorization") == format!("Bearer {KEY}")
                && asked["stream"] == true
                && asked["messages"].as_array().is_some_and(|messages| !messages.is_empty());
            is_right.then(|| {
                let piece = |delta: Value, finish: Value| {
                    json!({"id": "1", "object": "chat.completion.chunk", "model": asked["model"],
                    "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
                };
                let usage = json!({"id": "1", "object": "chat.completion.chunk", "choices": [],
                    "usage": {"prompt_tokens": 40, "completion_tokens": 6, "total_tokens": 46}});
                let text = piece(json!({"role": "assistant", "content": shared.says}), Value::Null);
                format!(
                    "data: {text}\n\ndata: {}\n\ndata: {usage}\n\ndata: [DONE]\n\n",
                    piece(json!({}), json!("stop"))
                )
            })
        }
        path if path.starts_with("/v1beta/models/") && path.ends_with(":streamGenerateContent") => {
            let is_right = header("x-goog-api-key") == KEY
                && asked["contents"].as_array().is_some_and(|contents| !contents.is_empty());
            is_right.then(|| {
                let whole = json!({"candidates": [{"index": 0, "finishReason": "STOP",
                        "content": {"role": "model", "parts": [{"text": shared.says}]}}],
                    "usageMetadata": {"promptTokenCount": 40, "candidatesTokenCount": 6, "totalTokenCount": 46}});
                format!("data: {whole}\n\n")
            })
        }
        _ => None,
    };
    let Some(events) = events else {
        let text = format!("no such request: {uri} {headers:?} {asked}");
        shared.broken.lock().unwrap().push(text.clone());
        return Response::builder().status(400).body(text.into()).unwrap();
    };
    shared.asked.lock().unwrap().push(asked.to_string());
    shared.headers.lock().unwrap().push(headers);
    let response = Response::builder().header("content-type", "text/event-stream").header("x-ratelimit-remaining", "7");
    // What nobody is to be told of.
    let response = response.header("set-cookie", "session=1").header("x-echo", format!("was {KEY}"));
    response.body(events.into()).unwrap()
}
