//! Signals that ask a process to end.
//!
//! Whoever takes signals over must end when they come, also while it waits for something that does not come: a terminal
//! that is held, a pipe that nobody reads, a disk that does not answer. So a thread of its own listens too, and ends a
//! process that has neither heard nor left in time.
//!
//! While another program has the terminal, Ctrl-C is that program's: the terminal sends SIGINT to both.

use crate::terminal::guard;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// How long a process may take to end after a signal.
const PATIENCE: Duration = Duration::from_millis(1_500);

/// How long giving the terminal back may take then: one that is held takes nothing.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// Waits for the first of SIGTERM, SIGHUP and SIGINT.
#[derive(Debug)]
pub struct Shutdown {
    signals: Signals,
    taken: Arc<Mutex<Taken>>,
}

#[derive(Debug)]
struct Signals([(Signal, i32); 3]);

/// What became of the signals so far.
#[derive(Debug, Default)]
struct Taken {
    heard_at: Option<Instant>,
    /// The process ends, whatever else it waits for.
    leaving: bool,
    /// Another program has the terminal, so SIGINT is not for us.
    ignores_interrupt: bool,
}

impl Signals {
    fn listen() -> std::io::Result<Self> {
        let listen = |kind: SignalKind| Ok::<_, std::io::Error>((signal(kind)?, kind.as_raw_value()));
        let kinds = [SignalKind::terminate(), SignalKind::hangup(), SignalKind::interrupt()];
        let [terminate, hangup, interrupt] = kinds.map(listen);
        Ok(Self([terminate?, hangup?, interrupt?]))
    }

    async fn next(&mut self) -> i32 {
        let [terminate, hangup, interrupt] = &mut self.0;
        tokio::select! {
            _ = terminate.0.recv() => terminate.1,
            _ = hangup.0.recv() => hangup.1,
            _ = interrupt.0.recv() => interrupt.1,
        }
    }
}

impl Shutdown {
    /// Takes the signals over.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn listen() -> std::io::Result<Self> {
        let taken = Arc::new(Mutex::new(Taken::default()));
        watch(Arc::clone(&taken))?;
        Ok(Self { signals: Signals::listen()?, taken })
    }

    /// The number of the signal that came. Losing this future loses nothing.
    pub async fn signalled(&mut self) -> i32 {
        let number = self.signals.next().await;
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).heard_at = Some(Instant::now());
        number
    }

    /// Waits for what may give the terminal to another program: SIGINT is not for us meanwhile.
    pub(super) async fn without_interrupt<T>(&mut self, work: impl Future<Output = T>) -> T {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).ignores_interrupt = true;
        let done = work.await;
        let [.., (interrupt, _)] = &mut self.signals.0;
        // Several count as one, which is forgotten here.
        let sent = interrupt.poll_recv(&mut Context::from_waker(Waker::noop())).is_ready();
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.ignores_interrupt = false;
        // The thread that listens too may come to it only now.
        if sent {
            taken.heard_at = Some(Instant::now());
        }
        done
    }

    /// The process ends because of the signal that came: if not by itself, then soon.
    pub fn leave(&self) {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).leaving = true;
    }
}

/// Ends the process when a signal came and is not followed.
fn watch(taken: Arc<Mutex<Taken>>) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut signals = {
        let _within = runtime.enter();
        Signals::listen()?
    };
    let wait = move || {
        runtime.block_on(async {
            loop {
                let number = signals.next().await;
                if number == SignalKind::interrupt().as_raw_value()
                    && taken.lock().unwrap_or_else(PoisonError::into_inner).ignores_interrupt
                {
                    continue;
                }
                let came = Instant::now();
                tokio::time::sleep(PATIENCE).await;
                let taken = taken.lock().unwrap_or_else(PoisonError::into_inner);
                // Whoever listens may have heard a moment before this thread did.
                let heard = taken.heard_at.is_some_and(|at| at + PATIENCE > came);
                if taken.leaving || !heard {
                    drop(taken);
                    end(128 + number);
                }
            }
        });
    };
    drop(std::thread::Builder::new().name("levain-leaving".to_owned()).stack_size(128 << 10).spawn(wait)?);
    Ok(())
}

fn end(code: i32) -> ! {
    let (given, back) = std::sync::mpsc::channel::<()>();
    let restore = move || {
        guard::restore();
        drop(given);
    };
    if std::thread::Builder::new().name("levain-restore".to_owned()).spawn(restore).is_ok() {
        let _held = back.recv_timeout(LAST_WORDS);
    }
    std::process::exit(code);
}
