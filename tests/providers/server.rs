//! A server that plays prepared answers and keeps vendors' rules. Which answer it plays, the prompt says.

use super::rules;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Response, Uri};
use futures_util::stream;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A prepared answer.
#[derive(Clone)]
pub(crate) struct Play {
    status: u16,
    content_type: &'static str,
    pub(crate) headers: Vec<(&'static str, String)>,
    /// `None` is no answer at all.
    body: Option<VecDeque<Piece>>,
}

#[derive(Clone)]
pub(crate) enum Piece {
    Bytes(Vec<u8>),
    /// Nothing more comes.
    Hold,
    /// The connection breaks.
    Break,
    /// The body ends as it should.
    End,
}

impl Play {
    pub(crate) fn stream(pieces: impl IntoIterator<Item = Piece>) -> Self {
        let body = Some(pieces.into_iter().collect());
        Self { status: 200, content_type: "text/event-stream", headers: Vec::new(), body }
    }

    pub(crate) fn refusal(status: u16, content_type: &'static str, body: &str) -> Self {
        let body = Some(VecDeque::from([Piece::Bytes(body.as_bytes().to_vec())]));
        Self { status, content_type, headers: Vec::new(), body }
    }

    pub(crate) fn never() -> Self {
        Self { status: 200, content_type: "", headers: Vec::new(), body: None }
    }
}

#[derive(Default)]
struct Shared {
    plays: Mutex<Vec<Play>>,
    broken: Mutex<Vec<String>>,
    /// Bodies that are no longer being sent.
    closed: watch::Sender<usize>,
}

pub(crate) struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl Server {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared::default());
        let router = Router::new().fallback(answer).with_state(Arc::clone(&shared));
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, shared, task }
    }

    pub(crate) fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Prepares an answer and returns the prompt that asks for it.
    pub(crate) fn add(&self, play: Play) -> String {
        let mut plays = self.shared.plays.lock().unwrap();
        plays.push(play);
        format!("play <{}>", plays.len() - 1)
    }

    pub(crate) fn check_rules(&self) {
        assert_eq!(*self.shared.broken.lock().unwrap(), Vec::<String>::new());
    }

    pub(crate) fn closed(&self) -> usize {
        *self.shared.closed.borrow()
    }

    pub(crate) async fn wait_closed(&self, count: usize) {
        let mut closed = self.shared.closed.subscribe();
        closed.wait_for(|closed| *closed >= count).await.unwrap();
    }

    pub(crate) async fn stop(self) {
        self.task.abort();
        assert!(self.task.await.unwrap_err().is_cancelled());
    }
}

async fn answer(State(shared): State<Arc<Shared>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response<Body> {
    if uri.path() == "/models" {
        let list = r#"{"object":"list","data":[{"id":"qwen/qwen3"},{"id":"nomic-embed"},{"id":"small"}]}"#;
        return Response::builder().header("content-type", "application/json").body(list.into()).unwrap();
    }
    if let Err(rule) = rules::broken(&uri, &headers, &body) {
        let text = format!("broken rule: {rule}: {}", String::from_utf8_lossy(&body));
        shared.broken.lock().unwrap().push(text.clone());
        return Response::builder().status(422).body(text.into()).unwrap();
    }
    let play = asked_for(&shared, &String::from_utf8_lossy(&body));
    let Some(pieces) = play.body else { return std::future::pending().await };
    let mut response = Response::builder().status(play.status).header("content-type", play.content_type);
    for (name, value) in play.headers {
        response = response.header(name, value);
    }
    response.body(Body::from_stream(stream::unfold(Playing { pieces, shared }, Playing::step))).unwrap()
}

/// The answer that the last `<N>` of the request names.
fn asked_for(shared: &Shared, body: &str) -> Play {
    let (_, after) = body.rsplit_once('<').unwrap();
    let (number, _) = after.split_once('>').unwrap();
    shared.plays.lock().unwrap()[number.parse::<usize>().unwrap()].clone()
}

struct Playing {
    pieces: VecDeque<Piece>,
    shared: Arc<Shared>,
}

impl Playing {
    async fn step(mut self) -> Option<(Result<Vec<u8>, std::io::Error>, Self)> {
        // Lets what came before leave.
        tokio::task::yield_now().await;
        match self.pieces.pop_front()? {
            Piece::Bytes(bytes) => Some((Ok(bytes), self)),
            Piece::Hold => std::future::pending().await,
            Piece::Break => Some((Err(std::io::Error::other("as prepared")), self)),
            Piece::End => None,
        }
    }
}

impl Drop for Playing {
    fn drop(&mut self) {
        self.shared.closed.send_modify(|closed| *closed += 1);
    }
}
