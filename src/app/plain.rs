//! The workbench without a screen: lines in, lines out. The same model, effects and workers; what is new is told by
//! [`Narrator`], and nothing that was written is written over.

use super::Shutdown;
use super::effect_runner::EffectRunner;
use super::reload::keymap;
use super::run::{AppError, Opening, options};
use super::terminal_effect::TerminalEffect;
use super::theme::ThemeSource;
use crate::domain::Bounds;
use crate::ports::{Clock, SystemClock};
use crate::session::Setup;
use crate::session::people;
use crate::ui::{ColourDepth, Narrator, Painter, Theme, as_lines, rests};
use crate::workbench::{self, Effect, Level, Message, Model};
use rustix::process::Signal;
use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// Cells of the screen that is not there: what is asked in cells needs some.
const SIZE: (u16, u16) = (100, 40);

/// As many messages may wait for the loop; then their senders wait.
const WAITING: usize = 1_024;

struct Plain {
    model: Model,
    /// Only measures.
    painter: Painter,
    performer: EffectRunner,
    narrator: Narrator,
}

/// Runs the workbench line by line until the person leaves, or the lines end and nothing works any more.
///
/// # Errors
/// [`AppError`].
pub async fn run_plain(setup: Arc<Setup>, opening: Opening) -> Result<ExitCode, AppError> {
    let launcher = setup.launcher()?;
    let mut shutdown = Shutdown::listen()?;
    let (keymap, keymap_problems) = keymap(&setup);
    let theme = ThemeSource::new(&setup);
    let (sender, mut messages) = mpsc::channel(WAITING);
    let (look, notice) = (opening.chosen.look, opening.chosen.notice.clone());
    let recording = opening.recording.as_ref().map(|recording| recording.words(&keymap));
    let (model, effects) = Model::new(options(&setup, opening, SIZE, keymap, &theme));
    let mut painter = Painter::new(Theme::default(), ColourDepth::None);
    painter.take_all();
    let mut plain = Plain {
        model,
        painter,
        performer: EffectRunner::new(launcher, Arc::clone(&setup), sender),
        narrator: Narrator::default(),
    };
    for text in setup.problems.iter().chain(&keymap_problems).map(ToString::to_string).chain(notice) {
        plain.update(Message::Notice { level: Level::Warning, text })?;
    }
    if let Some(text) = recording {
        plain.update(Message::Notice { level: Level::Info, text })?;
    }
    plain.perform(effects)?;
    plain.performer.look_around(&setup, None, look);
    // A script says everything at once: each line waits for its turn.
    let scripted = !io::stdin().is_terminal();
    let mut lines = read_lines();
    let mut typing = true;
    let mut code = ExitCode::SUCCESS;
    let mut clock = tokio::time::interval(Duration::from_secs(1));
    loop {
        if plain.tell().is_err() || plain.model.quitting || (!typing && rests(&plain.model)) {
            break;
        }
        let armed = plain.model.next_deadline().map(|at| Duration::from_millis(at.since(SystemClock.now())));
        let listens = typing && (!scripted || rests(&plain.model));
        tokio::select! {
            biased;
            number = shutdown.signalled() => {
                if number == Signal::INT.as_raw() && plain.model.view.is_working() {
                    plain.update(Message::Interrupt)?;
                } else {
                    shutdown.leave();
                    code = ExitCode::from(u8::try_from(128 + number).unwrap_or(1));
                    break;
                }
            }
            page = plain.performer.page_read() => plain.performer.follow(page),
            Some(message) = messages.recv() => {
                plain.update(message)?;
                while let Ok(message) = messages.try_recv() {
                    plain.update(message)?;
                }
            }
            line = lines.recv(), if listens => match line {
                Some(line) => plain.update(Message::Line(line))?,
                None => typing = false,
            },
            () = tokio::time::sleep(armed.unwrap_or_default()), if armed.is_some() => {
                plain.update(Message::Deadline)?;
            }
            _ = clock.tick(), if plain.model.shows_time() => plain.update(Message::Second)?,
        }
    }
    plain.performer.finish().await;
    Ok(code)
}

impl Plain {
    fn update(&mut self, message: Message) -> io::Result<()> {
        self.model.set_now(SystemClock.now());
        let effects = workbench::update(&mut self.model, &mut self.painter, message);
        self.perform(effects)
    }

    fn perform(&mut self, effects: Vec<Effect>) -> io::Result<()> {
        for effect in effects {
            // Nobody sees colours here.
            if matches!(effect, Effect::Colour(_)) {
                continue;
            }
            self.model.quitting |= effect == Effect::Quit;
            // Those that need a terminal come back.
            let Some(effect) = self.performer.perform(effect) else { continue };
            if let TerminalEffect::Copy(text) | TerminalEffect::ShowText(text) = &effect {
                print(&as_lines(text))?;
            } else if let TerminalEffect::RunForeground(wanted) = &effect {
                print(&as_lines(&format!(
                    "{} wants the terminal for a program, which needs the screen",
                    wanted.program.from
                )))?;
                self.update(Message::ForegroundOver { id: wanted.id, code: None })?;
            } else if let TerminalEffect::OpenFile(source) = &effect {
                let line = source.line.map(|line| format!(", line {line}")).unwrap_or_default();
                print(&as_lines(&format!("Its file is {}{line}", source.file.display())))?;
            } else if effect != TerminalEffect::Redraw {
                print("That needs the screen: levain without --plain has it.\n\n")?;
            }
        }
        Ok(())
    }

    /// Tells what is new. A waiting call that was read out may be answered from a moment later on.
    fn tell(&mut self) -> io::Result<()> {
        let text = self.narrator.tell(&self.model);
        print(&text)?;
        if let Some(id) = self.model.approval_in_view() {
            self.update(Message::ApprovalTold { id })?;
        }
        self.model.take_changed();
        Ok(())
    }
}

fn print(text: &str) -> io::Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    let mut output = people::out();
    output.write_all(text.as_bytes())?;
    output.flush()
}

/// Lines of standard input, read by a thread that may stay behind: reading cannot be interrupted. Of a line that is longer
/// than anything that could be said there is enough to tell.
#[must_use]
pub fn read_lines() -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel(16);
    let read = move || {
        let mut input = io::stdin().lock();
        while let Ok(Some(line)) = read_line(&mut input, Bounds::MOST.prompt) {
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    };
    drop(std::thread::Builder::new().name("lines".into()).spawn(read));
    receiver
}

/// A line without its end, and of a longer one than `most` bytes the beginning.
fn read_line(input: &mut impl BufRead, most: usize) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    input.by_ref().take(most as u64 + 1).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
        if line.last() == Some(&b'\r') {
            line.pop();
        }
    } else if line.len() > most {
        input.skip_until(b'\n')?;
        let letters = String::from_utf8_lossy(&line).into_owned();
        return Ok(Some(letters));
    }
    String::from_utf8(line).map(Some).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s16_a_line_without_end_is_not_kept() {
        let mut input = io::Cursor::new(format!("one\r\n{}\ntwo\nthree", "x".repeat(1_000)));
        let mut next = || read_line(&mut input, 10).unwrap();
        assert_eq!(next().as_deref(), Some("one"));
        assert_eq!(next().map(|line| line.len()), Some(11), "enough to be refused");
        assert_eq!((next().as_deref(), next().as_deref(), next()), (Some("two"), Some("three"), None));
    }
}
