//! A program that is talked with while it runs: it reads what is written to it, and is heard as it prints.

use super::command::{GRACE, Running, not_started};
use super::keeper::Input;
use super::program::{Alone, Program};
use crate::ports::child::{Exit, Hears, Order, Printed, Room, Talk};
use futures_util::StreamExt as _;
use rustix::process::Signal;
use std::os::unix::process::ExitStatusExt as _;
use std::pin::{Pin, pin};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::ChildStdin;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::{Instant, sleep_until, timeout};

/// So long what it printed is still heard once it has ended: whoever hears it may be busy.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// Bytes of one piece.
const PIECE: usize = 16 << 10;

/// Something that it reads; none closes its input.
type Piece = Option<(Vec<u8>, Room)>;

/// What writes to it, and gives the keeper's input back when that is closed for the program.
type Writing = Pin<Box<dyn Future<Output = Option<ChildStdin>> + Send>>;

impl Program {
    /// Runs it to its end, `longest` at most; then it gets the signal `last`. It reads what the orders say where it `reads`, else
    /// nothing. Losing the future ends the program with all that it started.
    ///
    /// # Errors
    /// Why it could not be started.
    pub async fn talk(&self, talk: Talk, reads: bool, (longest, last): (Duration, Signal)) -> Result<Exit, String> {
        let Talk { mut orders, hears } = talk;
        let input = if reads { Input::Pieces } else { Input::Nothing };
        let (launch, pipes) = (self.launch(None, longest), (Stdio::piped(), Stdio::piped()));
        let mut running = self.keeper.start(&launch, input, pipes, &Alone).await.map_err(|failed| failed.0)?;
        let (Some(output), Some(errors)) = (running.child.stdout.take(), running.child.stderr.take()) else {
            return Err(not_started("it has no pipes").0);
        };
        let mut heard = pin!(async {
            tokio::join!(hear(output, Printed::Output, &hears), hear(errors, Printed::Errors, &hears));
        });
        let (to_it, pieces) = unbounded_channel();
        let mut writing: Option<Writing> = reads.then(|| Box::pin(write(running.take_input(), pieces)) as Writing);
        let (mut listens, mut all_heard, mut too_long) = (true, false, false);
        let mut ends_at = Instant::now() + longest;
        let status = loop {
            tokio::select! {
                biased;
                () = sleep_until(ends_at) => {
                    if too_long || last == Signal::KILL {
                        too_long = true;
                        break kill(&mut running, &mut writing).await;
                    }
                    running.signal(last);
                    (too_long, ends_at) = (true, Instant::now() + GRACE);
                }
                status = running.child.wait() => break status.ok(),
                order = orders.next(), if listens => match order {
                    Some(Order::Signal(Signal::KILL)) => break kill(&mut running, &mut writing).await,
                    Some(Order::Signal(signal)) => running.signal(signal),
                    Some(Order::Write(bytes, room)) => drop(to_it.send(Some((bytes, room)))),
                    Some(Order::Close) => drop(to_it.send(None)),
                    Some(Order::Flow(_)) => {}
                    None => listens = false,
                },
                gate = written(writing.as_mut()), if writing.is_some() => {
                    writing = None;
                    running.give_back(gate);
                }
                () = &mut heard, if !all_heard => all_heard = true,
            }
        };
        drop((writing, running));
        if !all_heard {
            let _somebody_holds_it = timeout(LAST_WORDS, heard).await;
        }
        let signal = status.map_or(Some(Signal::KILL.as_raw()), |status| status.signal());
        Ok(Exit { code: status.and_then(|status| status.code()), signal, too_long })
    }
}

/// Ends it at once: its keeper does, when nobody holds its input.
async fn kill(running: &mut Running, writing: &mut Option<Writing>) -> Option<ExitStatus> {
    drop(writing.take());
    if let Err(error) = running.end().await {
        tracing::warn!(%error, "a program of an extension may not have ended");
    }
    None
}

/// Tells what it prints there until it closes that.
async fn hear(mut pipe: impl AsyncRead + Unpin, printed: Printed, hears: &Hears) {
    let mut buffer = vec![0; PIECE];
    while let Ok(count @ 1..) = pipe.read(&mut buffer).await {
        hears(printed, buffer.get(..count).unwrap_or_default().to_vec()).await;
    }
}

async fn written(writing: Option<&mut Writing>) -> Option<ChildStdin> {
    match writing {
        Some(writing) => writing.await,
        None => std::future::pending().await,
    }
}

/// Writes pieces, each behind its length, up to the one that closes its input. That of the keeper stays open.
async fn write(gate: Option<ChildStdin>, mut pieces: UnboundedReceiver<Piece>) -> Option<ChildStdin> {
    let mut gate = gate?;
    while let Some(piece) = pieces.recv().await {
        let Some((bytes, _room)) = piece else {
            let _gone = gate.write_all(&0_u32.to_le_bytes()).await;
            break;
        };
        for part in bytes.chunks(PIECE) {
            let length = u32::try_from(part.len()).unwrap_or_default().to_le_bytes();
            if gate.write_all(&length).await.is_err() || gate.write_all(part).await.is_err() {
                return Some(gate);
            }
        }
    }
    Some(gate)
}
