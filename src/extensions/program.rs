//! Programs and sockets that extensions talk with: what waits for one to read it, and what it printed on its way to the engine.

use super::message::Message;
use super::plain::Plain;
use crate::ports::child::{Order, Printed, Talk};
use futures_util::stream;
use rustix::process::Signal;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

/// Bytes that wait for one program to read them, at most.
const MOST_WAITING: usize = 16 << 20;

/// Pieces of what one program printed that wait for the engine, at most.
const MOST_PIECES: usize = 8;

/// What an extension says to a program of its own, or over a socket.
#[derive(Debug)]
pub(super) struct Orders {
    orders: UnboundedSender<Order>,
    room: Arc<Semaphore>,
}

/// With whom an extension talks.
#[derive(Debug)]
pub(super) enum Peer {
    Program(Orders),
    Socket(Orders),
}

/// Both ends of a program or a socket whose news are for this channel.
pub(super) fn talk_of(channel: u64, messages: Sender<Message>) -> (Orders, Talk) {
    let (orders, mut to_it) = unbounded_channel();
    let pieces = Arc::new(Semaphore::new(MOST_PIECES));
    let hears = move |printed: Printed, bytes: Vec<u8>| {
        let (pieces, messages) = (Arc::clone(&pieces), messages.clone());
        let kind = match printed {
            Printed::Output => "stdout",
            Printed::Errors => "stderr",
            Printed::State => "state",
        };
        let piece = Plain::map([("type", Plain::Text(kind.to_owned())), ("data", Plain::Bytes(bytes))]);
        Box::pin(async move {
            if let Ok(permit) = pieces.acquire_owned().await {
                // The engine may have ended meanwhile.
                let _gone = messages.send(Message::Printed(channel, piece, permit));
            }
        }) as _
    };
    let room = Arc::new(Semaphore::new(MOST_WAITING));
    (
        Orders { orders, room },
        Talk { orders: Box::pin(stream::poll_fn(move |context| to_it.poll_recv(context))), hears: Box::new(hears) },
    )
}

impl Orders {
    /// False where too much waits for it already, or it has ended.
    pub(super) fn write(&self, bytes: &[u8]) -> bool {
        let room = u32::try_from(bytes.len())
            .ok()
            .and_then(|length| Arc::clone(&self.room).try_acquire_many_owned(length).ok());
        room.is_some_and(|room| self.orders.send(Order::Write(bytes.to_vec(), Box::new(room))).is_ok())
    }

    pub(super) fn close(&self) -> bool {
        self.orders.send(Order::Close).is_ok()
    }

    /// Whether more of what comes over a socket is wanted.
    pub(super) fn flow(&self, flows: bool) -> bool {
        self.orders.send(Order::Flow(flows)).is_ok()
    }

    /// False where it has ended, or gets no such signal.
    pub(super) fn signal(&self, name: &str) -> bool {
        // Zero only asks whether it runs.
        if name == "0" {
            return !self.orders.is_closed();
        }
        signal(name).is_some_and(|signal| self.orders.send(Order::Signal(signal)).is_ok())
    }
}

/// A signal by its name or number, as `kill` of Node takes it.
fn signal(name: &str) -> Option<Signal> {
    let known = [
        ("SIGTERM", Signal::TERM),
        ("SIGKILL", Signal::KILL),
        ("SIGINT", Signal::INT),
        ("SIGHUP", Signal::HUP),
        ("SIGQUIT", Signal::QUIT),
        ("SIGUSR1", Signal::USR1),
        ("SIGUSR2", Signal::USR2),
    ];
    let found = known.iter().find(|(known, signal)| *known == name || signal.as_raw().to_string() == name);
    found.map(|(_, signal)| *signal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::{FutureExt as _, StreamExt as _};

    #[test]
    fn what_waits_for_a_program_is_bounded_and_signals_have_names_and_numbers() {
        let (messages, _engine) = std::sync::mpsc::channel();
        let (orders, mut talk) = talk_of(1, messages);
        assert!(orders.write(&[1; 4]) && !orders.write(&vec![0; MOST_WAITING]));
        drop(talk.orders.next().now_or_never().unwrap());
        assert!(orders.write(&vec![0; MOST_WAITING]), "there is room once it is written");
        assert!(orders.signal("SIGINT") && orders.signal("9") && orders.signal("0") && !orders.signal("SIGSTOP"));
        drop(talk);
        assert!(!orders.write(&[1]) && !orders.close() && !orders.signal("SIGTERM") && !orders.signal("0"));
    }
}
