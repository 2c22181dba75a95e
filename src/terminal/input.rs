//! Keys, pastes and the terminal's answers, read as they come.
//!
//! The loop that draws reads them itself: a reader on another thread would have to wake it for each key, which takes as long
//! as drawing half a frame.

use super::tty::Tty;
use crate::commands::{Key, KeyCode};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;
use std::time::Duration;
use termina::escape::csi::{Csi, DecModeSetting, DecPrivateMode, DecPrivateModeCode, Keyboard, Mode};
use termina::escape::osc::{ColorOrQuery, DynamicColorNumber, Osc};
use termina::event::{KeyCode as Code, KeyEventKind, Modifiers, MouseButton, MouseEventKind};
use termina::{Event, Parser};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::{Instant, timeout_at};

/// An escape byte with nothing behind it for this long is the Esc key.
const ESCAPE_AFTER: Duration = Duration::from_millis(25);
/// As much is taken from the terminal at a time. Linux gives out no more than 4 KiB.
const AT_A_TIME: usize = 16 * 1024;
const ESCAPE: u8 = 0x1b;
const PASTE_BEGIN: &[u8] = b"\x1b[200~";
const PASTE_END: &[u8] = b"\x1b[201~";

/// What came from the terminal.
#[derive(Debug, PartialEq, Eq)]
pub enum InputEvent {
    Key(Key),
    /// A bracketed paste, whole.
    Paste(String),
    /// The wheel, in lines; positive is up.
    Wheel(i32),
    /// The left button at a cell: pressed, moved while down, let go.
    Pressed(u16, u16),
    Dragged(u16, u16),
    Released(u16, u16),
    Focus(bool),
    /// The terminal's background is light.
    Background {
        light: bool,
    },
    /// The terminal shows a frame at once when asked to.
    SynchronizedOutput,
    /// The terminal can tell keys apart that look alike.
    KeyboardProtocol,
    /// The terminal is gone.
    Closed,
}

/// The reader. While there is none, another program can have the keyboard.
#[derive(Debug)]
pub struct Input {
    tty: AsyncFd<Arc<File>>,
    decoder: Decoder,
    /// When an escape byte that stands alone becomes the Esc key.
    decides: Option<Instant>,
    /// What has come and was not asked for yet.
    events: VecDeque<InputEvent>,
    buffer: Box<[u8]>,
    closed: bool,
}

impl Input {
    /// Starts reading, in the runtime that it is called in.
    ///
    /// # Errors
    /// When the system cannot tell of this terminal's keys.
    #[expect(deprecated, reason = "its successor is unsafe, for what may change its descriptor; a file does not")]
    pub fn start(tty: &Tty) -> io::Result<Self> {
        Ok(Self {
            tty: AsyncFd::with_interest(tty.input(), Interest::READABLE)?,
            decoder: Decoder::default(),
            decides: None,
            events: VecDeque::new(),
            buffer: vec![0; AT_A_TIME].into(),
            closed: false,
        })
    }

    /// The next event; none after [`InputEvent::Closed`]. Losing this future loses nothing.
    pub async fn next(&mut self) -> Option<InputEvent> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            if self.closed {
                return None;
            }
            // The runtime is told of keys when it rests, which it does not while others have work for the loop. And keys that
            // it tells of may have been taken by whoever else has the terminal: reading would wait for the next ones.
            if has_more(self.tty.get_ref()) {
                self.read();
                if self.events.is_empty() {
                    // In the middle of a paste, which may have no end.
                    tokio::task::yield_now().await;
                }
                continue;
            }
            let come = async {
                self.tty.readable().await?.clear_ready();
                io::Result::Ok(())
            };
            let come = match self.decides {
                Some(at) => timeout_at(at, come).await,
                None => Ok(come.await),
            };
            match come {
                Ok(Ok(())) => {}
                Ok(Err(error)) => self.close(&error),
                // What follows may have come while the loop was busy.
                Err(_late) if has_more(self.tty.get_ref()) => {}
                Err(_late) => self.nothing_more(),
            }
        }
    }

    /// An event that has already come.
    pub fn try_next(&mut self) -> Option<InputEvent> {
        if self.events.is_empty() && !self.closed && has_more(self.tty.get_ref()) {
            self.read();
        }
        self.events.pop_front()
    }

    /// Takes what has come.
    fn read(&mut self) {
        let count = match self.tty.get_ref().as_ref().read(&mut self.buffer) {
            Ok(0) => return self.close(&io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return,
            Err(error) => return self.close(&error),
        };
        let mut events = Vec::new();
        self.decoder.feed(self.buffer.get(..count).unwrap_or_default(), &mut events);
        gather_burst(&mut events);
        self.events.extend(events);
        self.decides = self.decoder.is_undecided().then(|| Instant::now() + ESCAPE_AFTER);
    }

    fn nothing_more(&mut self) {
        let mut events = Vec::new();
        self.decoder.nothing_more(&mut events);
        self.events.extend(events);
        self.decides = None;
    }

    fn close(&mut self, error: &io::Error) {
        tracing::info!(%error, "the terminal is gone");
        self.closed = true;
        self.events.push_back(InputEvent::Closed);
    }
}

/// Whether reading would give something now: keys, or that the terminal is gone.
fn has_more(tty: &File) -> bool {
    let mut descriptors = [PollFd::new(tty, PollFlags::IN)];
    poll(&mut descriptors, Some(&Timespec::default())).is_ok_and(|count| count > 0)
}

/// Makes a paste of keys that came at once with an Enter among them and letters behind it: no hand types like that, but
/// a terminal without bracketed paste hands over pasted lines so. They must not be sent line by line.
fn gather_burst(events: &mut Vec<InputEvent>) {
    let letter = |event: &InputEvent| match event {
        InputEvent::Key(key) if *key == Key::plain(KeyCode::Enter) => Some('\n'),
        InputEvent::Key(key) if *key == Key::plain(KeyCode::Tab) => Some('\t'),
        InputEvent::Key(key) => key.typed(),
        InputEvent::Paste(_)
        | InputEvent::Wheel(_)
        | InputEvent::Pressed(..)
        | InputEvent::Dragged(..)
        | InputEvent::Released(..)
        | InputEvent::Focus(_)
        | InputEvent::Background { .. }
        | InputEvent::SynchronizedOutput
        | InputEvent::KeyboardProtocol
        | InputEvent::Closed => None,
    };
    let mut gathered = Vec::with_capacity(events.len());
    let mut run: Vec<(char, InputEvent)> = Vec::new();
    let flush = |run: &mut Vec<(char, InputEvent)>, gathered: &mut Vec<InputEvent>| {
        let text: String = run.iter().map(|(letter, _)| *letter).collect();
        if text.trim_end_matches('\n').contains('\n') {
            run.clear();
            gathered.push(InputEvent::Paste(text));
        } else {
            gathered.extend(run.drain(..).map(|(_, event)| event));
        }
    };
    for event in events.drain(..) {
        if let Some(letter) = letter(&event) {
            run.push((letter, event));
        } else {
            flush(&mut run, &mut gathered);
            gathered.push(event);
        }
    }
    flush(&mut run, &mut gathered);
    *events = gathered;
}

/// Bytes to events. A paste is taken out before the parser sees it: it may be megabytes.
#[derive(Debug, Default)]
struct Decoder {
    parser: Parser,
    paste: Option<Vec<u8>>,
    /// An escape byte came in lately: what follows decides whether it was the Esc key.
    undecided: bool,
    /// Escape bytes at the end of what came, kept from the parser until it is known what follows.
    escapes: usize,
    /// The next key was pressed together with alt.
    alt: bool,
    /// A sequence that has begun and has no end yet, as far as it came.
    open: Vec<u8>,
}

impl Decoder {
    fn is_undecided(&self) -> bool {
        self.undecided
    }

    fn feed(&mut self, bytes: &[u8], events: &mut Vec<InputEvent>) {
        let mut rest = bytes;
        while !rest.is_empty() {
            rest = match &mut self.paste {
                Some(paste) => {
                    let from = paste.len().saturating_sub(PASTE_END.len() - 1);
                    let before = paste.len();
                    paste.extend_from_slice(rest);
                    let Some(end) = find(paste.get(from..).unwrap_or_default(), PASTE_END).map(|at| from + at) else {
                        return;
                    };
                    let behind = end + PASTE_END.len() - before;
                    paste.truncate(end);
                    events.push(InputEvent::Paste(String::from_utf8_lossy(paste).into_owned()));
                    self.paste = None;
                    rest.get(behind..).unwrap_or_default()
                }
                None => {
                    if let Some(at) = find(rest, PASTE_BEGIN) {
                        self.parse(rest.get(..at).unwrap_or_default(), events);
                        self.nothing_more(events);
                        self.paste = Some(Vec::new());
                        rest.get(at + PASTE_BEGIN.len()..).unwrap_or_default()
                    } else {
                        self.parse(rest, events);
                        &[]
                    }
                }
            };
        }
    }

    /// Hands bytes to the parser. It takes two escape bytes for one Esc key and types the rest of the sequence behind
    /// them, but that is how some terminals send alt with an arrow or a function key.
    fn parse(&mut self, bytes: &[u8], events: &mut Vec<InputEvent>) {
        self.undecided |= bytes.contains(&ESCAPE);
        let mut all = vec![ESCAPE; std::mem::take(&mut self.escapes)];
        all.extend_from_slice(bytes);
        let ends = all.iter().rev().take_while(|byte| **byte == ESCAPE).count();
        self.escapes = ends;
        let mut rest = all.get(..all.len() - ends).unwrap_or_default();
        while let Some(at) = find(rest, &[ESCAPE, ESCAPE]) {
            self.parse_plain(rest.get(..at).unwrap_or_default(), events);
            rest = rest.get(at + 1..).unwrap_or_default();
            if matches!(rest.get(1), Some(b'[' | b'O')) {
                self.alt = true;
            } else {
                self.escape_key(events);
            }
        }
        self.parse_plain(rest, events);
    }

    fn parse_plain(&mut self, bytes: &[u8], events: &mut Vec<InputEvent>) {
        self.open.extend_from_slice(bytes);
        let start = self.open.iter().rposition(|byte| *byte == ESCAPE).unwrap_or(self.open.len());
        self.open.drain(..start);
        let is_over = match self.open.get(1) {
            Some(b'[') => self.open.iter().skip(2).any(|byte| (0x40..=0x7E).contains(byte)),
            Some(_) => true,
            None => false,
        };
        if is_over {
            self.open.clear();
        }
        self.parser.parse(bytes, true);
        self.drain(events);
    }

    fn escape_key(&mut self, events: &mut Vec<InputEvent>) {
        self.parser.parse(&[ESCAPE], false);
        self.drain(events);
    }

    /// Nothing followed: a lone escape byte was the Esc key.
    fn nothing_more(&mut self, events: &mut Vec<InputEvent>) {
        self.undecided = false;
        for _ in 0..std::mem::take(&mut self.escapes) {
            self.escape_key(events);
        }
        // No key sends more than `ESC [` alone: such a sequence was cut on its way, and its end will come.
        if self.open.len() <= 2 {
            self.open.clear();
            self.parser.parse(&[], false);
            self.drain(events);
        }
    }

    fn drain(&mut self, events: &mut Vec<InputEvent>) {
        while let Some(event) = self.parser.pop() {
            let mut event = translate(event);
            if let Some(InputEvent::Key(key)) = &mut event {
                key.alt |= std::mem::take(&mut self.alt);
            }
            events.extend(event);
        }
    }
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

fn translate(event: Event) -> Option<InputEvent> {
    match event {
        Event::Key(key) if key.kind == KeyEventKind::Release => None,
        Event::Key(key) => {
            let ctrl = key.modifiers.contains(Modifiers::CONTROL);
            let mut code = key_code(key.code)?;
            if let KeyCode::Char(letter) = &mut code
                && ctrl
            {
                *letter = of_control(*letter);
            }
            let (alt, shift) = (key.modifiers.contains(Modifiers::ALT), key.modifiers.contains(Modifiers::SHIFT));
            Some(InputEvent::Key(Key { code, ctrl, alt, shift }))
        }
        Event::Paste(text) => Some(InputEvent::Paste(text)),
        Event::Mouse(mouse) => match mouse.kind {
            MouseEventKind::ScrollUp => Some(InputEvent::Wheel(3)),
            MouseEventKind::ScrollDown => Some(InputEvent::Wheel(-3)),
            MouseEventKind::Down(MouseButton::Left) => Some(InputEvent::Pressed(mouse.column, mouse.row)),
            MouseEventKind::Drag(MouseButton::Left) => Some(InputEvent::Dragged(mouse.column, mouse.row)),
            MouseEventKind::Up(MouseButton::Left) => Some(InputEvent::Released(mouse.column, mouse.row)),
            MouseEventKind::Down(_)
            | MouseEventKind::Up(_)
            | MouseEventKind::Drag(_)
            | MouseEventKind::Moved
            | MouseEventKind::ScrollLeft
            | MouseEventKind::ScrollRight => None,
        },
        Event::FocusIn => Some(InputEvent::Focus(true)),
        Event::FocusOut => Some(InputEvent::Focus(false)),
        Event::Osc(Osc::ChangeDynamicColors(DynamicColorNumber::TextBackgroundColor, colours)) => {
            colours.into_iter().find_map(|colour| match colour {
                ColorOrQuery::Color(colour) => {
                    Some(InputEvent::Background { light: is_light(colour.red, colour.green, colour.blue) })
                }
                ColorOrQuery::Query => None,
            })
        }
        Event::Csi(Csi::Mode(Mode::ReportDecPrivateMode {
            mode: DecPrivateMode::Code(DecPrivateModeCode::SynchronizedOutput),
            setting: DecModeSetting::Set | DecModeSetting::Reset,
        })) => Some(InputEvent::SynchronizedOutput),
        Event::Csi(Csi::Keyboard(Keyboard::ReportFlags(_))) => Some(InputEvent::KeyboardProtocol),
        Event::WindowResized(_) | Event::Csi(_) | Event::Osc(_) | Event::Dcs(_) => None,
    }
}

/// The sign that a control byte is of: the parser tells the bytes 1C to 1F as ctrl with the digits 4 to 7, which send them, too.
fn of_control(letter: char) -> char {
    match letter {
        '4' => '\\',
        '5' => ']',
        '6' => '^',
        '7' => '_',
        letter => letter,
    }
}

/// Whether a colour is nearer to white, by the weights of ITU-R BT.709.
fn is_light(red: u8, green: u8, blue: u8) -> bool {
    2126 * u32::from(red) + 7152 * u32::from(green) + 722 * u32::from(blue) > 10_000 * 255 / 2
}

fn key_code(code: Code) -> Option<KeyCode> {
    Some(match code {
        Code::Char(letter) => KeyCode::Char(letter),
        Code::Enter => KeyCode::Enter,
        Code::Backspace => KeyCode::Backspace,
        Code::Tab => KeyCode::Tab,
        Code::Escape => KeyCode::Esc,
        Code::Left => KeyCode::Left,
        Code::Right => KeyCode::Right,
        Code::Up => KeyCode::Up,
        Code::Down => KeyCode::Down,
        Code::Home => KeyCode::Home,
        Code::End => KeyCode::End,
        Code::BackTab => KeyCode::BackTab,
        Code::PageUp => KeyCode::PageUp,
        Code::PageDown => KeyCode::PageDown,
        Code::Insert => KeyCode::Insert,
        Code::Delete => KeyCode::Delete,
        Code::Function(number) => KeyCode::F(number),
        Code::KeypadBegin
        | Code::CapsLock
        | Code::ScrollLock
        | Code::NumLock
        | Code::PrintScreen
        | Code::Pause
        | Code::Menu
        | Code::Null
        | Code::Modifier(_)
        | Code::Media(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write as _;

    /// A reader of what is written into a pipe.
    fn of_pipe() -> (Input, io::PipeWriter) {
        let (reader, writer) = io::pipe().unwrap();
        let reader = Arc::new(File::from(std::os::fd::OwnedFd::from(reader)));
        (Input::start(&Tty::into_file(&reader)).unwrap(), writer)
    }

    #[tokio::test]
    async fn a_paste_without_an_end_does_not_hold_up_the_loop() {
        let (mut input, mut writer) = of_pipe();
        writer.write_all(PASTE_BEGIN).unwrap();
        // As much as a pipe holds, and more than is read at a time.
        writer.write_all("x".repeat(60_000).as_bytes()).unwrap();
        tokio::select! {
            biased;
            event = input.next() => panic!("{event:?}"),
            () = tokio::task::yield_now() => {}
        }
        assert!(has_more(input.tty.get_ref()), "others had their turn before all was read");
    }

    #[tokio::test]
    async fn keys_come_before_whatever_else_is_ready() {
        let (mut input, mut writer) = of_pipe();
        for _ in 0..1_000 {
            writer.write_all(b"k").unwrap();
            tokio::select! {
                biased;
                event = input.next() => assert_eq!(event, Some(key(KeyCode::Char('k')))),
                () = std::future::ready(()) => panic!("what was ready came first"),
            }
        }
        writer.write_all(b"\x1b").unwrap();
        assert_eq!(input.next().await, Some(key(KeyCode::Esc)));
        drop(writer);
        assert_eq!((input.next().await, input.next().await), (Some(InputEvent::Closed), None));
    }

    fn decode(pieces: &[&[u8]]) -> Vec<InputEvent> {
        let (mut decoder, mut events) = (Decoder::default(), Vec::new());
        for piece in pieces {
            decoder.feed(piece, &mut events);
        }
        decoder.nothing_more(&mut events);
        events
    }

    fn key(code: KeyCode) -> InputEvent {
        InputEvent::Key(Key::plain(code))
    }

    #[test]
    fn a_lone_escape_is_the_key() {
        assert_eq!(decode(&[b"\x1b"]), [key(KeyCode::Esc)]);
        assert_eq!(decode(&[b"\x1b", b"[A"]), [key(KeyCode::Up)]);
    }

    #[test]
    fn two_escapes_before_a_sequence_are_alt_and_never_typed() {
        let alt = |code| Key { alt: true, ..Key::plain(code) };
        let bytes: &[u8] = b"\x1b\x1b[A\x1b\x1bOQx";
        for cut in 0..=bytes.len() {
            let events = decode(&[&bytes[..cut], &bytes[cut..]]);
            assert_eq!(
                events,
                [InputEvent::Key(alt(KeyCode::Up)), InputEvent::Key(alt(KeyCode::F(2))), key(KeyCode::Char('x'))],
                "cut at {cut}"
            );
        }
        assert_eq!(decode(&[b"\x1b\x1b"]), [key(KeyCode::Esc), key(KeyCode::Esc)]);
        assert_eq!(decode(&[b"\x1b\x1b\x1b"]).len(), 3);
    }

    #[test]
    fn answers_of_the_terminal_are_not_typed() {
        let answers: &[u8] = b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\\x1b[?2026;2$y\x1b[?0ux";
        let expected = [
            InputEvent::Background { light: true },
            InputEvent::SynchronizedOutput,
            InputEvent::KeyboardProtocol,
            key(KeyCode::Char('x')),
        ];
        assert_eq!(decode(&[answers]), expected);
        for cut in 1..answers.len() {
            assert_eq!(decode(&[&answers[..cut], &answers[cut..]]), expected, "cut at {cut}");
        }
        assert_eq!(decode(&[b"\x1b]11;rgb:1010/1010/1818\x07"]), [InputEvent::Background { light: false }]);
        assert_eq!(decode(&[b"\x1b[?2026;0$y"]), []);
    }

    #[test]
    fn a_mouse_report_split_over_two_reads_types_nothing() {
        let report: &[u8] = b"\x1b[<64;150;7M";
        for cut in 1..report.len() {
            assert_eq!(decode(&[&report[..cut], &report[cut..]]), [InputEvent::Wheel(3)], "cut at {cut}");
        }
    }

    #[test]
    fn a_mouse_report_whose_end_comes_late_types_nothing() {
        let report: &[u8] = b"\x1b[<64;150;7Mx";
        for cut in 3..report.len() - 1 {
            let (mut decoder, mut events) = (Decoder::default(), Vec::new());
            decoder.feed(&report[..cut], &mut events);
            decoder.nothing_more(&mut events);
            decoder.feed(&report[cut..], &mut events);
            assert_eq!(events, [InputEvent::Wheel(3), key(KeyCode::Char('x'))], "cut at {cut}");
        }
    }

    #[test]
    fn lines_that_come_at_once_are_a_paste() {
        let burst = |bytes: &[u8]| {
            let mut events = decode(&[bytes]);
            gather_burst(&mut events);
            events
        };
        assert_eq!(burst(b"one\rtwo"), [InputEvent::Paste("one\ntwo".into())]);
        assert_eq!(burst(b"one\rtwo\r"), [InputEvent::Paste("one\ntwo\n".into())]);
        assert_eq!(burst(b"a\r"), [key(KeyCode::Char('a')), key(KeyCode::Enter)]);
        assert_eq!(burst(b"\r\r"), [key(KeyCode::Enter), key(KeyCode::Enter)]);
        let around = [InputEvent::Focus(true), InputEvent::Paste("a\nb".into()), key(KeyCode::Up)];
        assert_eq!(burst(b"\x1b[Ia\rb\x1b[A"), around);
    }

    #[test]
    fn a_paste_is_whole_whatever_it_holds() {
        let text = "line\n\x1b[<35;1;1M\x1b[I end";
        let bytes = format!("a\x1b[200~{text}\x1b[201~b");
        let expected = [key(KeyCode::Char('a')), InputEvent::Paste(text.into()), key(KeyCode::Char('b'))];
        assert_eq!(decode(&[bytes.as_bytes()]), expected);
        for size in 8..bytes.len() {
            let pieces: Vec<&[u8]> = bytes.as_bytes().chunks(size).collect();
            assert_eq!(decode(&pieces), expected, "in pieces of {size}");
        }
    }

    #[test]
    fn modifiers_come_through() {
        let shift_enter = InputEvent::Key(Key { shift: true, ..Key::plain(KeyCode::Enter) });
        assert_eq!(decode(&[b"\x1b[13;2u"]), [shift_enter]);
        let alt_enter = InputEvent::Key(Key { alt: true, ..Key::plain(KeyCode::Enter) });
        assert_eq!(decode(&[b"\x1b\r"]), [alt_enter]);
        assert_eq!(decode(&[b"\x10"]), [InputEvent::Key(Key::ctrl('p'))]);
        assert_eq!(decode(&[b"\n"]), [InputEvent::Key(Key::ctrl('j'))]);
        for (byte, sign) in [(0x1c, '\\'), (0x1d, ']'), (0x1e, '^'), (0x1f, '_')] {
            assert_eq!(decode(&[&[byte]]), [InputEvent::Key(Key::ctrl(sign))]);
        }
    }

    proptest! {
        #[test]
        fn no_bytes_bring_it_down(pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..8)) {
            let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
            decode(&pieces);
        }
    }
}
