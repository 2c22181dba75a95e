//! The socket form of the protocol: where the socket lies, who may connect, and lines of JSON.

use crate::domain::{ContentHash, ThreadId};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

/// No message of a worker is longer; a peer that sends more is not one of ours.
const LONGEST_LINE: usize = 64 << 20;

/// What of a line's memory is kept for the next line.
const KEPT: usize = 64 << 10;

/// Memory for lines that are being read, shared by all clients of a worker.
#[derive(Clone, Debug)]
pub(super) struct Share {
    used: Arc<AtomicUsize>,
    own: usize,
    most: usize,
}

impl Share {
    /// Of `most` bytes together.
    pub(super) fn of(most: usize) -> Self {
        Self { used: Arc::default(), own: 0, most }
    }

    /// None of it yet, for one more line.
    pub(super) fn another(&self) -> Self {
        Self { used: Arc::clone(&self.used), own: 0, most: self.most }
    }

    /// Whether as much as `own` could be had.
    fn grow(&mut self, own: usize) -> bool {
        let more = own.saturating_sub(self.own);
        let before = self.used.fetch_add(more, Ordering::Relaxed);
        self.own += more;
        before + more <= self.most
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.used.fetch_sub(self.own, Ordering::Relaxed);
    }
}

/// The path of a thread's socket: short, because a socket's path may have only about a hundred bytes.
pub(super) fn path(runtime: &Path, project: &Path, id: &ThreadId) -> PathBuf {
    let name = format!("{}\n{id}", project.display());
    let hash = ContentHash::of(name.as_bytes());
    let short = hash.as_str().get(..20).unwrap_or(hash.as_str());
    runtime.join(format!("{short}.sock"))
}

/// Whether the other end belongs to the same user.
pub(super) fn same_user(stream: &UnixStream) -> bool {
    stream.peer_cred().is_ok_and(|peer| peer.uid() == rustix::process::geteuid().as_raw())
}

/// Reads messages, one a line.
#[derive(Debug)]
pub(super) struct LineReader {
    reader: BufReader<OwnedReadHalf>,
    line: Vec<u8>,
    /// Longest line.
    most: usize,
    /// What the line under way has of the memory for all.
    share: Option<Share>,
}

impl LineReader {
    /// Reads from a worker.
    pub(super) fn new(half: OwnedReadHalf) -> Self {
        Self { reader: BufReader::with_capacity(64 * 1024, half), line: Vec::new(), most: LONGEST_LINE, share: None }
    }

    /// Reads from a client, whose lines share memory with those of others.
    pub(super) fn of_client(half: OwnedReadHalf, most: usize, share: &Share) -> Self {
        Self { reader: BufReader::with_capacity(4 * 1024, half), line: Vec::new(), most, share: Some(share.another()) }
    }

    /// Lines may be as long as this from here on.
    pub(super) fn allow(&mut self, most: usize) {
        self.most = most;
    }

    /// What the line read last has of the memory for all, for as long as it is kept.
    pub(super) fn share(&mut self) -> Option<Share> {
        let next = self.share.as_ref().map(Share::another);
        std::mem::replace(&mut self.share, next)
    }

    /// The next message; `None` when the other end is gone. Losing this future loses nothing.
    pub(super) async fn next<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        loop {
            let available = self.reader.fill_buf().await?;
            if available.is_empty() {
                return Ok(None);
            }
            let (taken, whole) = match available.iter().position(|byte| *byte == b'\n') {
                Some(index) => (index + 1, true),
                None => (available.len(), false),
            };
            self.line.extend_from_slice(available.get(..taken).unwrap_or_default());
            self.reader.consume(taken);
            let length = self.line.len();
            if length > self.most {
                let text = format!("a message of more than {} bytes", self.most);
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
            if self.share.as_mut().is_some_and(|share| !share.grow(length)) {
                return Err(io::Error::new(io::ErrorKind::OutOfMemory, "too much is being sent at once"));
            }
            if whole {
                let message = serde_json::from_slice(&self.line);
                self.line.clear();
                self.line.shrink_to(KEPT);
                return message.map(Some).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error));
            }
        }
    }
}

/// Writes messages, one a line.
#[derive(Debug)]
pub(super) struct LineWriter {
    half: OwnedWriteHalf,
    bytes: Vec<u8>,
}

impl LineWriter {
    pub(super) fn new(half: OwnedWriteHalf) -> Self {
        Self { half, bytes: Vec::new() }
    }

    /// Sends all of `messages` with one write.
    pub(super) async fn send<T: Serialize>(&mut self, messages: &[T]) -> io::Result<()> {
        self.bytes.clear();
        for message in messages {
            serde_json::to_writer(&mut self.bytes, message)?;
            self.bytes.push(b'\n');
        }
        self.half.write_all(&self.bytes).await?;
        self.bytes.clear();
        self.bytes.shrink_to(KEPT);
        Ok(())
    }

    /// Sends what of `bytes` the other end takes before it pauses for `patience`; returns how much.
    pub(super) async fn send_some(&mut self, bytes: &[u8], patience: Duration) -> io::Result<usize> {
        let mut sent = 0;
        while let Some(rest) = bytes.get(sent..).filter(|rest| !rest.is_empty()) {
            match tokio::time::timeout(patience, self.half.write(rest)).await {
                Ok(written) => sent += written?,
                Err(_) => break,
            }
        }
        Ok(sent)
    }

    /// Waits until the other end takes more.
    pub(super) async fn has_room(&self) -> io::Result<()> {
        self.half.writable().await
    }
}
