//! What a server sends, with a bound on its lines: a line that never ends must not fill the memory.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, ReadBuf};

/// Longest line, in bytes.
const LONGEST: usize = 16 << 20;

/// A reader that fails where a line is longer than 16 MB.
#[derive(Debug)]
pub(super) struct Bounded<R> {
    inner: R,
    line: usize,
}

impl<R> Bounded<R> {
    pub(super) fn new(inner: R) -> Self {
        Self { inner, line: 0 }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Bounded<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.line > LONGEST {
            let message = "a line of the server is longer than 16 MB";
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, message)));
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.inner).poll_read(context, buffer);
        let fresh = buffer.filled().get(before..).unwrap_or_default();
        match fresh.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => self.line = fresh.len() - at - 1,
            None => self.line += fresh.len(),
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    #[tokio::test]
    async fn a_line_that_never_ends_is_an_error() {
        let mut all = Vec::new();
        let lines = [b"a\n".repeat(10), vec![b'x'; LONGEST - 1], b"\n".to_vec()].concat();
        Bounded::new(lines.as_slice()).read_to_end(&mut all).await.unwrap();
        assert_eq!(all.len(), lines.len());
        let endless = vec![b'x'; LONGEST + 1];
        let error = Bounded::new(endless.as_slice()).read_to_end(&mut all).await.unwrap_err();
        assert!(error.to_string().contains("16 MB"));
    }
}
