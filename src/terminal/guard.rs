//! Taking the terminal over, and giving it back on every way out.
//!
//! What was changed is kept in one static place, so that a panic hook or a signal can undo it from anywhere, and is
//! undone at most once.

use super::attention;
use super::tty::Tty;
use crossterm::cursor::Show;
use crossterm::event::{
    DisableBracketedPaste, DisableFocusChange, EnableBracketedPaste, EnableFocusChange, KeyboardEnhancementFlags,
    PopKeyboardEnhancementFlags, PushKeyboardEnhancementFlags,
};
use crossterm::queue;
use crossterm::terminal::{EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen};
use rustix::process::Signal;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use std::cell::Cell;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError, TryLockError};
use std::time::{Duration, Instant};
use tokio::signal::unix::{SignalKind, signal};

/// What must be undone.
struct Entered {
    tty: Tty,
    cooked: Termios,
    keyboard: bool,
    mouse: bool,
    titled: bool,
}

static ENTERED: Mutex<Option<Entered>> = Mutex::new(None);

/// Wheel, buttons and movements while one is down, in the form that has no upper column. Not crossterm's own pair: that
/// one also asks for every other movement of the mouse.
const MOUSE_ON: &str = "\x1b[?1002h\x1b[?1006h";
const MOUSE_OFF: &str = "\x1b[?1006l\x1b[?1002l";

/// The terminal is ours while this lives.
#[derive(Debug)]
pub struct Guard {
    tty: Tty,
    mouse: bool,
    /// Whether the terminal said that it can tell keys apart that look alike.
    keyboard: bool,
    /// What the window is called; none as long as it has the name it had.
    title: Option<String>,
}

/// The window's name is put aside, and taken up again.
const TITLE_ASIDE: &str = "\x1b[22;2t";
const TITLE_BACK: &str = "\x1b[23;2t";

impl Guard {
    /// Takes the terminal over: raw mode, alternate screen, bracketed paste, focus reports and, when asked, the mouse.
    ///
    /// # Errors
    /// When the terminal does not take it; nothing is left changed then.
    pub fn enter(tty: &Tty, mouse: bool) -> io::Result<Self> {
        let guard = Self { tty: tty.clone(), mouse, keyboard: false, title: None };
        guard.take_over()?;
        Ok(guard)
    }

    fn take_over(&self) -> io::Result<()> {
        let input = self.tty.input();
        let cooked = tcgetattr(&*input)?;
        let mut raw = cooked.clone();
        raw.make_raw();
        let entered = Entered {
            tty: self.tty.clone(),
            cooked,
            keyboard: self.keyboard,
            mouse: self.mouse,
            titled: self.title.is_some(),
        };
        // Held until all is written: what another thread undoes meanwhile was done before.
        let mut held = ENTERED.lock().unwrap_or_else(PoisonError::into_inner);
        *held = Some(entered);
        let set_up = || -> io::Result<()> {
            tcsetattr(&*input, OptionalActions::Now, &raw)?;
            let mut bytes = Vec::new();
            queue!(bytes, EnterAlternateScreen, EnableBracketedPaste, EnableFocusChange)?;
            if self.keyboard {
                queue!(bytes, PushKeyboardEnhancementFlags(KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES))?;
            }
            if self.mouse {
                bytes.extend_from_slice(MOUSE_ON.as_bytes());
            }
            if let Some(title) = &self.title {
                bytes.extend_from_slice(TITLE_ASIDE.as_bytes());
                bytes.extend_from_slice(attention::title(title).as_bytes());
            }
            (&*self.tty.output()).write_all(&bytes)
        };
        let done = set_up();
        drop(held);
        done.inspect_err(|_| restore())
    }

    /// Asks the terminal what it is. The answers come in among the keys.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub fn ask(&self) -> io::Result<()> {
        // Background colour, synchronized output, keyboard protocol.
        (&*self.tty.output()).write_all(b"\x1b]11;?\x1b\\\x1b[?2026$p\x1b[?u")
    }

    /// Has the terminal tell shift-enter from enter and the like, after it said that it can.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub fn tell_keys_apart(&mut self) -> io::Result<()> {
        if self.keyboard {
            return Ok(());
        }
        self.keyboard = true;
        let mut bytes = Vec::new();
        queue!(bytes, PushKeyboardEnhancementFlags(KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES))?;
        change(&self.tty, &bytes, |entered| entered.keyboard = true)
    }

    /// Whether the mouse is ours.
    #[must_use]
    pub fn has_mouse(&self) -> bool {
        self.mouse
    }

    /// Takes the mouse, or leaves it to the terminal. With it one scrolls and chooses here; without it the terminal marks
    /// and copies text by itself.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub fn set_mouse(&mut self, mouse: bool) -> io::Result<()> {
        if mouse == self.mouse {
            return Ok(());
        }
        self.mouse = mouse;
        let bytes = if mouse { MOUSE_ON } else { MOUSE_OFF };
        change(&self.tty, bytes.as_bytes(), |entered| entered.mouse = mouse)
    }

    /// Calls the window by another name; the one it had comes back with the terminal.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub fn set_title(&mut self, title: String) -> io::Result<()> {
        if self.title.as_ref() == Some(&title) {
            return Ok(());
        }
        let first = self.title.is_none();
        let bytes = format!("{}{}", if first { TITLE_ASIDE } else { "" }, attention::title(&title));
        self.title = Some(title);
        change(&self.tty, bytes.as_bytes(), |entered| entered.titled = true)
    }

    /// Gives the terminal to another program; [`Guard::resume`] takes it back.
    pub fn pause(&self) {
        restore();
    }

    /// Takes the terminal back after [`Guard::pause`].
    ///
    /// # Errors
    /// When the terminal does not take it.
    pub fn resume(&self) -> io::Result<()> {
        self.take_over()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        restore();
    }
}

/// Writes what changes the terminal and notes that it has to be undone, unless the terminal was given back meanwhile: another
/// thread may do that at any time, and would undo it before it is done.
fn change(tty: &Tty, bytes: &[u8], note: impl FnOnce(&mut Entered)) -> io::Result<()> {
    let mut entered = ENTERED.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(entered) = &mut *entered else { return Ok(()) };
    note(entered);
    (&*tty.output()).write_all(bytes)
}

/// Writes a frame, unless the terminal was given back meanwhile.
pub(super) fn write_frame(tty: &Tty, bytes: &[u8]) -> io::Result<()> {
    change(tty, bytes, |_| {})
}

/// Undoes what [`Guard::enter`] did, in reverse order. The second call does nothing.
pub fn restore() {
    let entered = ENTERED.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(entered) = entered {
        give_back(&entered);
    }
}

/// As [`restore`], and does not wait longer than a moment for a frame that a stopped terminal does not take.
fn restore_soon() {
    const MOMENT: Duration = Duration::from_millis(500);
    const BETWEEN: Duration = Duration::from_millis(5);
    let deadline = Instant::now() + MOMENT;
    loop {
        match ENTERED.try_lock() {
            Ok(mut entered) => return entered.take().iter().for_each(give_back),
            Err(TryLockError::Poisoned(_)) => return restore(),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => std::thread::sleep(BETWEEN),
            Err(TryLockError::WouldBlock) => return,
        }
    }
}

fn give_back(entered: &Entered) {
    let mut bytes = Vec::new();
    if entered.mouse {
        bytes.extend_from_slice(MOUSE_OFF.as_bytes());
    }
    if entered.titled {
        bytes.extend_from_slice(TITLE_BACK.as_bytes());
    }
    if entered.keyboard {
        let _in_memory = queue!(bytes, PopKeyboardEnhancementFlags);
    }
    // A frame that was cut off may have left the terminal waiting for its end.
    let _in_memory = queue!(
        bytes,
        EndSynchronizedUpdate,
        DisableFocusChange,
        DisableBracketedPaste,
        LeaveAlternateScreen,
        Show,
        crossterm::style::ResetColor
    );
    // The terminal may be gone: then there is nothing to give back.
    let _gone = (&*entered.tty.output()).write_all(&bytes);
    let _gone = tcsetattr(&*entered.tty.input(), OptionalActions::Now, &entered.cooked);
}

/// Has SIGQUIT and SIGABRT give the terminal back before they end the program. A thread of its own waits for them, because
/// they are sent to a program that no longer hears anything else. What a program does to itself by `abort` cannot be waited
/// for.
///
/// # Errors
/// When the system gives no thread, or refuses the signals.
pub fn restore_on_quit() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let kinds = [SignalKind::quit(), SignalKind::from_raw(Signal::ABORT.as_raw())];
    let [mut quit, mut abort] = {
        let _within = runtime.enter();
        [signal(kinds[0])?, signal(kinds[1])?]
    };
    let wait = move || {
        let number = runtime.block_on(async {
            tokio::select! {
                _ = quit.recv() => kinds[0].as_raw_value(),
                _ = abort.recv() => kinds[1].as_raw_value(),
            }
        });
        restore_soon();
        std::process::exit(128 + number);
    };
    drop(std::thread::Builder::new().name("levain-signals".to_owned()).stack_size(128 << 10).spawn(wait)?);
    Ok(())
}

thread_local! {
    static FOREGROUND: Cell<bool> = const { Cell::new(false) };
}

/// While this lives, the thread does the work without which the program cannot go on: a panic ends the program.
/// Everywhere else a panic is somebody's failed task and leaves the picture alone.
#[derive(Debug)]
pub struct Foreground {
    before: bool,
}

impl Foreground {
    #[must_use]
    pub fn enter() -> Self {
        Self { before: FOREGROUND.replace(true) }
    }
}

impl Drop for Foreground {
    fn drop(&mut self) {
        FOREGROUND.set(self.before);
    }
}

/// Panics of background work since the last call, in words.
static BACKGROUND_PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Takes the reports of panics that happened in background work.
#[must_use]
pub fn take_background_panics() -> Vec<String> {
    std::mem::take(&mut *BACKGROUND_PANICS.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Installs the panic hook. Installed last, so that the terminal is given back before anybody prints.
pub fn install_panic_hook() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if FOREGROUND.get() {
            restore();
            before(info);
            return;
        }
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        let words = info.payload_as_str().unwrap_or("no message");
        tracing::error!(place, words, "a background task panicked");
        BACKGROUND_PANICS
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(format!("a background task failed ({words}, {place}); please report this"));
    }));
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use super::*;
    use std::sync::Arc;

    /// A signal gives the terminal back at any time, also while the loop is about to switch something on.
    #[test]
    fn s18_nothing_is_switched_on_in_a_terminal_that_was_given_back() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let tty = Tty::into_file(&Arc::new(file.reopen().unwrap()));
        let mut guard = Guard { tty: tty.clone(), mouse: false, keyboard: false, title: None };
        guard.tell_keys_apart().unwrap();
        guard.set_mouse(true).unwrap();
        guard.set_title("shop".to_owned()).unwrap();
        write_frame(&tty, b"frame").unwrap();
        drop(guard);
        assert_eq!(std::fs::read_to_string(file.path()).unwrap(), "");
    }
}
