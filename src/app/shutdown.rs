//! Signals that ask a process to end.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Waits for the first of SIGTERM, SIGHUP and SIGINT.
#[derive(Debug)]
pub struct Shutdown {
    signals: [(Signal, i32); 3],
}

impl Shutdown {
    /// Takes the signals over.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn listen() -> std::io::Result<Self> {
        let listen = |kind: SignalKind| Ok::<_, std::io::Error>((signal(kind)?, kind.as_raw_value()));
        let signals =
            [listen(SignalKind::terminate())?, listen(SignalKind::hangup())?, listen(SignalKind::interrupt())?];
        Ok(Self { signals })
    }

    /// The number of the signal that came. Losing this future loses nothing.
    pub async fn signalled(&mut self) -> i32 {
        let [terminate, hangup, interrupt] = &mut self.signals;
        tokio::select! {
            _ = terminate.0.recv() => terminate.1,
            _ = hangup.0.recv() => hangup.1,
            _ = interrupt.0.recv() => interrupt.1,
        }
    }
}
