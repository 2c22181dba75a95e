//! The network as extensions have it: requests that they make, bodies that they read piece by piece, and sockets.

use super::extension_sockets::Sockets;
use crate::extensions::Refusal;
use crate::ports::child::Talk;
use crate::ports::tools::Waiting;
use crate::tools::request::{Hosts, WebAnswer, WebRequest};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Answers whose bodies are still to be read, at most: the oldest gives way.
const MOST: usize = 16;

/// The answers of a thread's extensions whose bodies are still read.
#[derive(Debug)]
pub(super) struct Network {
    hosts: Hosts,
    open: Arc<Mutex<Open>>,
    sockets: Sockets,
}

#[derive(Debug, Default)]
struct Open {
    all: BTreeMap<u64, WebAnswer>,
    last: u64,
    /// Closed while a piece of it was waited for.
    closed: BTreeSet<u64>,
}

fn lock(open: &Mutex<Open>) -> MutexGuard<'_, Open> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Network {
    pub(super) fn new(hosts: Hosts) -> Self {
        Self { sockets: Sockets::new(hosts.clone()), hosts, open: Arc::default() }
    }

    /// Talks over a socket.
    pub(super) fn socket(&self, spec: &Value, talk: Talk) -> Waiting<'static, Result<Value, Refusal>> {
        self.sockets.talk(spec, talk)
    }

    /// Does what is asked of the network; none where it is something else.
    pub(super) fn act(&self, name: &str, arguments: &Value) -> Option<Waiting<'static, Result<Value, Refusal>>> {
        match name {
            "http.open" => Some(self.open(arguments)),
            "http.read" => Some(self.read(arguments.get("id").and_then(Value::as_u64).unwrap_or_default())),
            _ => None,
        }
    }

    /// Makes a request, with the fields of `http.open`; its body stands in `body64`.
    fn open(&self, arguments: &Value) -> Waiting<'static, Result<Value, Refusal>> {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let header = |pair: &Value| Some((pair.get(0)?.as_str()?.to_owned(), pair.get(1)?.as_str()?.to_owned()));
        let headers = arguments.get("headers").and_then(Value::as_array).into_iter().flatten().filter_map(header);
        let body = arguments.get("body64").and_then(Value::as_str).and_then(|body| BASE64_STANDARD.decode(body).ok());
        let request = WebRequest {
            url: text("url"),
            method: text("method"),
            headers: headers.collect(),
            body,
            redirect: text("redirect"),
        };
        let (hosts, open) = (self.hosts.clone(), Arc::clone(&self.open));
        Box::pin(async move {
            let answer = request.open(&hosts).await.map_err(|why| Refusal::new("ECONNREFUSED", why))?;
            let (status, text) = answer.status();
            let headers: Vec<(&str, String)> = answer.headers().collect();
            let mut told = json!({"status": status, "statusText": text, "headers": headers, "url": answer.url()});
            let mut open = lock(&open);
            open.last += 1;
            let id = open.last;
            open.all.insert(id, answer);
            // Whoever never reads an answer keeps nobody else from theirs.
            while open.all.len() > MOST {
                open.all.pop_first();
            }
            told["id"] = id.into();
            Ok(told)
        })
    }

    /// The next piece of an answer's body, in base64; null at its end.
    fn read(&self, id: u64) -> Waiting<'static, Result<Value, Refusal>> {
        let open = Arc::clone(&self.open);
        Box::pin(async move {
            // Away while it is read: a call that is given up loses it.
            let taken = lock(&open).all.remove(&id);
            let Some(mut answer) = taken else { return Ok(Value::Null) };
            let piece = answer.next().await;
            let mut open = lock(&open);
            let is_closed = open.closed.remove(&id);
            match piece {
                Ok(Some(piece)) => {
                    if !is_closed {
                        open.all.insert(id, answer);
                    }
                    Ok(BASE64_STANDARD.encode(piece).into())
                }
                Ok(None) => Ok(Value::Null),
                Err(why) => Err(Refusal::new("ECONNRESET", why)),
            }
        })
    }

    pub(super) fn close(&self, id: u64) {
        let mut open = lock(&self.open);
        if open.all.remove(&id).is_none() {
            open.closed.insert(id);
            while open.closed.len() > MOST {
                open.closed.pop_first();
            }
        }
    }

    /// The engine begins again: nobody reads them any more.
    pub(super) fn clear(&self) {
        lock(&self.open).all.clear();
        self.sockets.clear();
    }
}
