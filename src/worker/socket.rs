//! The socket form of the protocol: where the socket lies, who may connect, and lines of JSON.

use crate::domain::{ContentHash, ThreadId};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io;
use std::path::{Path, PathBuf};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

/// No message is longer; a peer that sends more is not one of ours.
const LONGEST_LINE: usize = 64 << 20;

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
}

impl LineReader {
    pub(super) fn new(half: OwnedReadHalf) -> Self {
        Self { reader: BufReader::with_capacity(64 * 1024, half), line: Vec::new() }
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
            if whole {
                let message = serde_json::from_slice(&self.line);
                self.line.clear();
                return message.map(Some).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error));
            }
            if self.line.len() > LONGEST_LINE {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a line without end"));
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
        if self.bytes.capacity() > 1 << 20 {
            self.bytes = Vec::new();
        }
        Ok(())
    }
}
