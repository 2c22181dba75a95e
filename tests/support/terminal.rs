//! Plays a terminal: starts a program in a pseudo-terminal, keeps the screen it draws, answers what it asks the
//! terminal, sends keys, and checks at the end that the terminal was left as it was found.
//!
//! Nothing here sleeps for a while and hopes: every wait is for a condition and has a deadline, and a wait that fails
//! shows the screen.

use portable_pty::{CommandBuilder, MasterPty, PtySize, native_pty_system};
use rustix::process::{Pid, Signal};
use rustix::termios::{OptionalActions, SpecialCodeIndex};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long a wait lasts before it fails. Generous: it is only ever used up by a failing test.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Keys as a terminal without the kitty protocol sends them.
pub mod key {
    pub const ENTER: &str = "\r";
    pub const ESC: &str = "\x1b";
    pub const TAB: &str = "\t";
    pub const BACKSPACE: &str = "\x7f";
    pub const DOWN: &str = "\x1b[B";
    pub const END: &str = "\x1b[F";
    pub const PAGE_UP: &str = "\x1b[5~";
    pub const F1: &str = "\x1bOP";
    pub const F4: &str = "\x1bOS";
    pub const ALT_ENTER: &str = "\x1b\r";
    pub const CTRL_C: &str = "\x03";
    pub const CTRL_D: &str = "\x04";
    pub const CTRL_Z: &str = "\x1a";
}

/// Runs a program without a terminal to its end: its exit code, and what it wrote to the standard output and error.
pub fn output(command: &mut Command) -> (i32, String, String) {
    let Output { status, stdout, stderr } = command.stdin(Stdio::null()).output().expect("a program that starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (status.code().unwrap_or(-1), text(stdout), text(stderr))
}

/// Writes a file, and the folders above it.
pub fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder above")).expect("a folder");
    fs::write(path, text).expect("a file");
}

/// A person's folders and a project, all temporary. Dropping it ends every process that was started in it.
#[derive(Debug)]
pub struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    pub fn new() -> Self {
        let home = Self { folder: tempfile::tempdir().expect("a temporary folder") };
        for path in [home.home(), home.config(), home.path().join("state"), home.project().join(".ai")] {
            fs::create_dir_all(path).expect("a folder");
        }
        fs::DirBuilder::new().mode(0o700).create(home.path().join("run")).expect("a folder");
        home
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn home(&self) -> PathBuf {
        self.path().join("home")
    }

    /// Where `config.toml` goes.
    pub fn config(&self) -> PathBuf {
        self.path().join("config/levain")
    }

    /// The working folder of everything started here.
    pub fn project(&self) -> PathBuf {
        self.path().join("project")
    }

    /// The whole environment of what is started here: the folders above, no keys, a modern terminal.
    pub fn environment(&self) -> Vec<(OsString, OsString)> {
        let mut all: Vec<(OsString, OsString)> = Vec::new();
        let mut set = |name: &str, value: OsString| all.push((name.into(), value));
        set("PATH", std::env::var_os("PATH").unwrap_or_default());
        set("HOME", self.home().into());
        set("XDG_CONFIG_HOME", self.path().join("config").into());
        set("XDG_STATE_HOME", self.path().join("state").into());
        set("XDG_CACHE_HOME", self.path().join("cache").into());
        set("XDG_RUNTIME_DIR", self.path().join("run").into());
        set("TERM", "xterm-256color".into());
        set("COLORTERM", "truecolor".into());
        set("LANG", "C.UTF-8".into());
        // What else runs on this machine is no part of a test.
        set("LEVAIN_LOCAL_SERVERS", "false".into());
        set("LEVAIN_TEST_HOME", self.path().into());
        all
    }

    /// `levain` without a terminal, for the headless commands.
    pub fn levain(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_levain"));
        command.args(arguments).current_dir(self.project()).env_clear().envs(self.environment());
        command
    }

    /// `levain`, ready to be started in a terminal.
    pub fn levain_in_terminal(&self, arguments: &[&str]) -> Launch {
        self.in_terminal(env!("CARGO_BIN_EXE_levain"), arguments)
    }

    /// Any program, ready to be started in a terminal.
    pub fn in_terminal(&self, program: &str, arguments: &[&str]) -> Launch {
        let mut command = CommandBuilder::new(program);
        command.args(arguments);
        command.cwd(self.project());
        command.env_clear();
        for (name, value) in self.environment() {
            command.env(name, value);
        }
        Launch { command, columns: 100, rows: 30, answers: Answers::default() }
    }

    /// The processes that were started here and still run, workers and tools too: those whose environment names this
    /// folder, or that work in it. Where a process is closed to its own user, its command line or its parent tells.
    pub fn processes(&self) -> Vec<Pid> {
        let mark = [b"LEVAIN_TEST_HOME=", self.path().as_os_str().as_encoded_bytes()].concat();
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw)
            else {
                continue;
            };
            // Empty for a process that has ended and only waits to be reaped.
            let environment = fs::read(entry.path().join("environ"));
            let works_here = || fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(self.path()));
            let ours = match &environment {
                Ok(environment) => {
                    environment.split(|byte| *byte == 0).any(|variable| variable == mark) || works_here()
                }
                Err(_) => self.is_told(&entry.path()),
            };
            if ours {
                found.push(pid);
            }
        }
        found
    }

    /// Whether a process that shows nothing else is one of ours by its command line, or a child of this test.
    fn is_told(&self, process: &Path) -> bool {
        let line = fs::read(process.join("cmdline")).unwrap_or_default();
        let named = String::from_utf8_lossy(&line).contains(self.path().to_string_lossy().as_ref());
        let stat = fs::read_to_string(process.join("stat")).unwrap_or_default();
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse::<u32>().ok());
        let is_levain = stat.contains("(levain)");
        // Tests run in processes of their own, so that no other test's child is meant.
        let alone = std::env::var_os("NEXTEST").is_some();
        !line.is_empty() && is_levain && (named || (alone && parent == Some(std::process::id())))
    }

    /// Waits until nothing that was started here runs any more.
    pub fn wait_until_quiet(&self) {
        poll("every process has ended", || self.processes().is_empty());
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        for pid in self.processes() {
            kill(pid, Signal::KILL);
        }
    }
}

/// `kill -SIGNAL`; a process that is gone already is no failure.
pub fn kill(pid: Pid, signal: Signal) {
    match rustix::process::kill_process(pid, signal) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => {}
        Err(error) => panic!("could not signal {pid:?}: {error}"),
    }
}

/// Looks again and again until `condition` holds; fails after [`PATIENCE`]. For what no signal tells about: files,
/// other processes.
#[track_caller]
pub fn poll(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "waited {PATIENCE:?} in vain until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// What the terminal says when asked.
#[derive(Clone, Debug)]
pub struct Answers {
    /// OSC 10 and 11: text and background as `rgb:RRRR/GGGG/BBBB`. `None` leaves the question unanswered.
    pub foreground: Option<&'static str>,
    pub background: Option<&'static str>,
    /// DA1, which every real terminal answers; programs use it as the end of their questions.
    pub attributes: bool,
    /// DECRQM: whether synchronized updates (mode 2026) are known.
    pub synchronized: bool,
    /// Whether the kitty keyboard protocol is known.
    pub kitty: bool,
}

impl Default for Answers {
    /// A modern terminal with a dark background.
    fn default() -> Self {
        Self {
            foreground: Some("rgb:d0d0/d0d0/d0d0"),
            background: Some("rgb:1010/1010/1010"),
            attributes: true,
            synchronized: true,
            kitty: true,
        }
    }
}

impl Answers {
    /// A terminal that answers nothing at all.
    pub fn silent() -> Self {
        Self { foreground: None, background: None, attributes: false, synchronized: false, kitty: false }
    }

    /// A modern terminal with a light background.
    pub fn light() -> Self {
        Self { foreground: Some("rgb:2020/2020/2020"), background: Some("rgb:f8f8/f8f8/f8f8"), ..Self::default() }
    }
}

/// A program about to be started in a terminal.
#[derive(Debug)]
pub struct Launch {
    command: CommandBuilder,
    columns: u16,
    rows: u16,
    answers: Answers,
}

impl Launch {
    pub fn size(mut self, columns: u16, rows: u16) -> Self {
        (self.columns, self.rows) = (columns, rows);
        self
    }

    pub fn answers(mut self, answers: Answers) -> Self {
        self.answers = answers;
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    pub fn env_remove(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    pub fn cwd(mut self, folder: &Path) -> Self {
        self.command.cwd(folder);
        self
    }

    pub fn start(self) -> Terminal {
        Terminal::start(self)
    }
}

/// The modes the emulator itself keeps; all others are kept in [`Emulator::modes`].
const KEPT_BY_SCREEN: &[u16] = &[1, 6, 9, 25, 47, 1000, 1002, 1003, 1005, 1006, 1049, 2004];

/// What a terminal does beside its screen: it answers questions and remembers modes.
#[derive(Debug)]
struct Emulator {
    answers: Answers,
    /// Answers not sent yet.
    replies: Vec<u8>,
    /// Private modes that are on, such as focus reports (1004) or a synchronized update (2026).
    modes: BTreeSet<u16>,
    /// How many kitty keyboard settings are pushed.
    kitty: u16,
    /// Synchronized updates that were completed.
    frames: u64,
}

impl vt100::Callbacks for Emulator {
    fn unhandled_csi(
        &mut self,
        screen: &mut vt100::Screen,
        first: Option<u8>,
        second: Option<u8>,
        parameters: &[&[u16]],
        letter: char,
    ) {
        let number = parameters.first().and_then(|group| group.first()).copied().unwrap_or(0);
        match (first, second, letter) {
            (Some(b'?'), None, 'h' | 'l') => {
                for mode in parameters.iter().filter_map(|group| group.first()) {
                    if letter == 'h' && !KEPT_BY_SCREEN.contains(mode) {
                        self.modes.insert(*mode);
                    } else if self.modes.remove(mode) && *mode == 2026 {
                        self.frames += 1;
                    }
                }
            }
            (Some(b'>'), None, 'u') => self.kitty += 1,
            (Some(b'<'), None, 'u') => self.kitty = self.kitty.saturating_sub(number.max(1)),
            (Some(b'?'), None, 'u') if self.answers.kitty => {
                let flags = u8::from(self.kitty > 0);
                self.reply(&format!("\x1b[?{flags}u"));
            }
            (None, None, 'c') if self.answers.attributes => self.reply("\x1b[?62;22c"),
            (Some(b'?'), Some(b'$'), 'p') if self.answers.attributes => {
                let state = match number {
                    2026 if self.answers.synchronized => 2,
                    _ => 0,
                };
                self.reply(&format!("\x1b[?{number};{state}$y"));
            }
            (None, None, 'n') if number == 6 && self.answers.attributes => {
                let (row, column) = screen.cursor_position();
                self.reply(&format!("\x1b[{};{}R", row + 1, column + 1));
            }
            _ => {}
        }
    }

    fn unhandled_osc(&mut self, _screen: &mut vt100::Screen, parameters: &[&[u8]]) {
        let answer = match parameters {
            [b"10", b"?"] => self.answers.foreground.map(|colour| format!("\x1b]10;{colour}\x1b\\")),
            [b"11", b"?"] => self.answers.background.map(|colour| format!("\x1b]11;{colour}\x1b\\")),
            _ => None,
        };
        if let Some(answer) = answer {
            self.reply(&answer);
        }
    }
}

impl Emulator {
    fn reply(&mut self, text: &str) {
        self.replies.extend_from_slice(text.as_bytes());
    }
}

struct State {
    parser: vt100::Parser<Emulator>,
    /// Every byte the program wrote.
    bytes: Vec<u8>,
    /// The program's end, once it has one.
    status: Option<portable_pty::ExitStatus>,
    /// Nobody holds the terminal open any more and all that was written has been read.
    closed: bool,
    /// The reader shall end at the next byte.
    stop: bool,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// A program running in a terminal. Dropping it kills the program.
pub struct Terminal {
    shared: Arc<Shared>,
    master: Option<Box<dyn MasterPty + Send>>,
    writer: Arc<Mutex<Option<Box<dyn Write + Send>>>>,
    /// Our own handle of the program's side: keeps the terminal's settings readable after the program has ended.
    slave: Option<File>,
    reader: Option<JoinHandle<()>>,
    pid: Pid,
    settings_before: String,
}

fn non_zero(size: u16) -> NonZeroU16 {
    NonZeroU16::new(size).expect("a terminal has at least one row and one column")
}

impl Terminal {
    fn start(launch: Launch) -> Self {
        let size = PtySize { rows: launch.rows, cols: launch.columns, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).expect("a pseudo-terminal");
        let name = pair.master.tty_name().expect("the terminal's name");
        let no_controlling_terminal = rustix::fs::OFlags::NOCTTY.bits().cast_signed();
        let slave = OpenOptions::new().read(true).write(true).custom_flags(no_controlling_terminal).open(name);
        let slave = slave.expect("the terminal's other side");
        let settings_before = settings(&slave);
        let emulator =
            Emulator { answers: launch.answers, replies: Vec::new(), modes: BTreeSet::new(), kitty: 0, frames: 0 };
        let parser = vt100::Parser::new_with_callbacks(non_zero(launch.rows), non_zero(launch.columns), 0, emulator);
        let state = State { parser, bytes: Vec::new(), status: None, closed: false, stop: false };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
        let output = pair.master.try_clone_reader().expect("the terminal's output");
        let input = pair.master.take_writer().expect("the terminal's input");
        let writer = Arc::new(Mutex::new(Some(input)));

        let mut child = pair.slave.spawn_command(launch.command).expect("the program starts");
        drop(pair.slave);
        let pid = child.process_id().and_then(|id| Pid::from_raw(id.cast_signed())).expect("the program's id");
        let reader = std::thread::spawn({
            let (shared, writer) = (Arc::clone(&shared), Arc::clone(&writer));
            move || read(output, &shared, &writer)
        });
        std::thread::spawn({
            let shared = Arc::clone(&shared);
            move || {
                let status = child.wait().unwrap_or_else(|_| portable_pty::ExitStatus::with_exit_code(255));
                shared.lock().status = Some(status);
                shared.changed.notify_all();
            }
        });
        Self {
            shared,
            master: Some(pair.master),
            writer,
            slave: Some(slave),
            reader: Some(reader),
            pid,
            settings_before,
        }
    }

    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Types: `keys` goes to the program as it is. See [`key`].
    pub fn send_keys(&self, keys: &str) {
        let mut writer = self.writer.lock().expect("the reader did not panic");
        let writer = writer.as_mut().expect("the terminal is open");
        writer.write_all(keys.as_bytes()).expect("the program's input is open");
    }

    /// Pastes, in brackets if the program asked for them.
    pub fn paste(&self, text: &str) {
        if self.look(vt100::Screen::bracketed_paste) {
            self.send_keys(&format!("\x1b[200~{text}\x1b[201~"));
        } else {
            self.send_keys(text);
        }
    }

    pub fn resize(&self, columns: u16, rows: u16) {
        // The screen first: what the program draws for the new size must find it.
        self.shared.lock().parser.set_size(non_zero(rows), non_zero(columns));
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        self.master.as_ref().expect("the terminal is open").resize(size).expect("a new size");
    }

    pub fn signal(&self, signal: Signal) {
        if self.shared.lock().status.is_none() {
            kill(self.pid, signal);
        }
    }

    /// Writes to the terminal as another program would.
    pub fn disturb(&self, bytes: &str) {
        let slave = self.slave.as_ref().expect("the terminal is open");
        (&*slave).write_all(bytes.as_bytes()).expect("the terminal takes bytes");
    }

    /// `kill -9`.
    pub fn kill(&self) {
        self.signal(Signal::KILL);
    }

    /// Looks at the screen as it is now.
    pub fn look<T>(&self, look: impl FnOnce(&vt100::Screen) -> T) -> T {
        look(self.shared.lock().parser.screen())
    }

    /// The screen as lines of text, without blanks at their ends.
    pub fn screen_text(&self) -> String {
        self.look(vt100::Screen::contents)
    }

    /// Every byte the program has written so far.
    pub fn bytes(&self) -> Vec<u8> {
        self.shared.lock().bytes.clone()
    }

    /// Synchronized updates completed so far.
    pub fn frames(&self) -> u64 {
        self.shared.lock().parser.callbacks().frames
    }

    /// Waits until the screen shows `text`.
    #[track_caller]
    pub fn wait_for(&self, text: &str) {
        self.wait_until(&format!("the screen shows {text:?}"), |screen| screen.contents().contains(text));
    }

    /// Waits until the screen no longer shows `text`.
    #[track_caller]
    pub fn wait_gone(&self, text: &str) {
        self.wait_until(&format!("{text:?} is gone"), |screen| !screen.contents().contains(text));
    }

    /// Waits until `condition` holds; looks after everything the program writes.
    #[track_caller]
    pub fn wait_until(&self, what: &str, condition: impl Fn(&vt100::Screen) -> bool) {
        self.wait_within(PATIENCE, what, condition);
    }

    /// [`Terminal::wait_until`] with a deadline of its own.
    #[track_caller]
    pub fn wait_within(&self, patience: Duration, what: &str, condition: impl Fn(&vt100::Screen) -> bool) {
        let reached = self.wait(patience, |state| condition(state.parser.screen()), |state| state.closed);
        assert!(reached, "waited {patience:?} in vain until {what}; the screen:\n{}", self.screen_text());
    }

    /// Empties the draft and leaves as a person does, in order.
    #[track_caller]
    pub fn leave(self) {
        self.send_keys("\x15");
        self.send_keys(key::CTRL_C);
        self.wait_for("again");
        self.send_keys(key::CTRL_C);
        self.wait_exit().assert_code(0).assert_restored();
    }

    /// Waits until the program has ended and everything it wrote was read.
    #[track_caller]
    pub fn wait_exit(mut self) -> Ended {
        let ended = self.wait(PATIENCE, |state| state.status.is_some(), |_| false);
        assert!(ended, "waited {PATIENCE:?} in vain for the program's end; the screen:\n{}", self.screen_text());
        let settings_after = self.slave.as_ref().map(settings).unwrap_or_default();
        // Ours was the last handle, unless the program left something behind that still holds the terminal.
        self.slave = None;
        let released = self.wait(Duration::from_secs(3), |state| state.closed, |_| false);
        let state = self.shared.lock();
        let screen = state.parser.screen();
        let emulator = state.parser.callbacks();
        let mut left = Vec::new();
        let mut check = |wrong: bool, what: &str| {
            if wrong {
                left.push(what.to_owned());
            }
        };
        check(screen.alternate_screen(), "the alternate screen is still shown");
        check(screen.bracketed_paste(), "bracketed paste is still on");
        check(screen.hide_cursor(), "the cursor is still hidden");
        check(screen.mouse_protocol_mode() != vt100::MouseProtocolMode::None, "mouse reports are still on");
        check(screen.application_cursor(), "application cursor keys are still on");
        check(screen.application_keypad(), "the application keypad is still on");
        check(emulator.kitty > 0, "kitty keyboard settings are still pushed");
        check(!emulator.modes.is_empty(), &format!("modes {:?} are still on", emulator.modes));
        check(settings_after != self.settings_before, "the terminal's settings (termios) differ");
        check(!released, "something the program started still holds the terminal");
        Ended {
            status: state.status.clone().expect("waited for above"),
            text: screen.contents(),
            bytes: state.bytes.clone(),
            left,
        }
    }

    /// Closes the window: the program sees its terminal vanish (SIGHUP, end of input). Returns what is known of its
    /// end; nothing is left to be restored.
    #[track_caller]
    pub fn hang_up(mut self) -> portable_pty::ExitStatus {
        self.disconnect();
        let ended = self.wait(PATIENCE, |state| state.status.is_some(), |_| false);
        assert!(ended, "the program still runs {PATIENCE:?} after its terminal was closed");
        self.shared.lock().status.clone().expect("waited for above")
    }

    /// Closes every handle of ours.
    fn disconnect(&mut self) {
        self.shared.lock().stop = true;
        if let Some(mut slave) = self.slave.take() {
            // The reader sits in a read; a byte wakes it. And the writer would type an end-of-file key when dropped,
            // unless there is none.
            if let Ok(mut settings) = rustix::termios::tcgetattr(&slave) {
                settings.special_codes[SpecialCodeIndex::VEOF] = 0;
                rustix::termios::tcsetattr(&slave, OptionalActions::Now, &settings).ok();
            }
            slave.write_all(b"\0").ok();
        }
        if let Some(reader) = self.reader.take() {
            reader.join().ok();
        }
        *self.writer.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = None;
        self.master = None;
    }

    /// Waits for `condition`, until the deadline or until `hopeless`. Says whether it came to hold.
    fn wait(&self, patience: Duration, condition: impl Fn(&State) -> bool, hopeless: impl Fn(&State) -> bool) -> bool {
        let deadline = Instant::now() + patience;
        let mut state = self.shared.lock();
        loop {
            if condition(&state) {
                return true;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || hopeless(&state) {
                return false;
            }
            let waited = self.shared.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(std::sync::PoisonError::into_inner).0;
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.kill();
        if self.master.is_some() && self.slave.is_some() {
            self.disconnect();
        }
    }
}

/// Reads what the program writes until nobody holds the terminal, and answers its questions.
fn read(mut output: Box<dyn Read + Send>, shared: &Shared, writer: &Mutex<Option<Box<dyn Write + Send>>>) {
    let mut buffer = [0; 16 * 1024];
    loop {
        let count = match output.read(&mut buffer) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            // Linux says EIO when the last handle of the other side is gone.
            Ok(0) | Err(_) => break,
            Ok(count) => count,
        };
        let mut state = shared.lock();
        if state.stop {
            break;
        }
        state.bytes.extend_from_slice(&buffer[..count]);
        state.parser.process(&buffer[..count]);
        let replies = std::mem::take(&mut state.parser.callbacks_mut().replies);
        drop(state);
        shared.changed.notify_all();
        if let Some(writer) = writer.lock().unwrap_or_else(std::sync::PoisonError::into_inner).as_mut() {
            // A program that has ended meanwhile misses nothing.
            writer.write_all(&replies).ok();
        }
    }
    shared.lock().closed = true;
    shared.changed.notify_all();
}

/// The terminal's settings as text, to compare.
fn settings(terminal: &File) -> String {
    format!("{:?}", rustix::termios::tcgetattr(terminal).expect("the terminal's settings"))
}

/// What a program left behind.
#[derive(Debug)]
pub struct Ended {
    pub status: portable_pty::ExitStatus,
    /// The screen as the program left it: what the person's shell goes on from.
    pub text: String,
    pub bytes: Vec<u8>,
    /// What was not restored, in words.
    pub left: Vec<String>,
}

impl Ended {
    /// The exit code, or `None` when a signal ended the program.
    pub fn code(&self) -> Option<u32> {
        self.status.signal().is_none().then(|| self.status.exit_code())
    }

    /// Fails unless the terminal is as it was before.
    #[track_caller]
    pub fn assert_restored(&self) -> &Self {
        assert!(self.left.is_empty(), "the terminal was not restored: {}\n{}", self.left.join(", "), self.text);
        self
    }

    /// Fails unless the program ended with this code.
    #[track_caller]
    pub fn assert_code(&self, code: u32) -> &Self {
        assert_eq!(self.code(), Some(code), "the program ended with {:?}:\n{}", self.status, self.text);
        self
    }
}
