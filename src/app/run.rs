//! The loop: what happens becomes a message, `update` applies it, effects are handed out, frames are drawn.

use super::Shutdown;
use super::attention::Calls;
use super::editor::{edit, open, show};
use super::effect_runner::EffectRunner;
use super::fault;
use super::foreground::{self, sign_in};
use super::pacer::{Pacer, until};
use super::reload::{FileChange, Fresh, Reload, keymap};
use super::rest::Rest;
use super::terminal_effect::TerminalEffect;
use super::theme::ThemeSource;
use crate::commands::{CommandId, Context, Keymap};
use crate::domain::{ModelRef, Problem, ThreadId, Timestamp};
use crate::ports::{Clock, SystemClock};
use crate::providers::is_scripted;
use crate::session::{Chosen, Setup};
use crate::terminal::attention;
use crate::terminal::guard::{Foreground, take_background_panics};
use crate::terminal::{Guard, Input, InputEvent, Screen, Tty, clipboard, links};
use crate::ui::{self, Painter};
use crate::workbench::message::Button;
use crate::workbench::{self, DirectiveChoice, Effect, Level, Message, Model, Options, TranscriptLayout};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

/// Messages of the engine are drained for this long before a frame gets its turn.
const TURN_BUDGET: Duration = Duration::from_millis(8);
/// A turn of the loop or a frame that takes longer is logged.
const SLOW: Duration = Duration::from_millis(50);
/// As many messages may wait for the loop; then their senders wait.
const WAITING: usize = 1_024;

/// What the workbench opens with.
#[derive(Clone, Debug)]
pub struct Opening {
    /// The directive of a new thread.
    pub directive: String,
    /// A thread to show instead of an empty draft.
    pub thread: Option<ThreadId>,
    /// The model of a new thread.
    pub chosen: Chosen,
    /// What its directive wants to be told.
    pub draft: Option<DirectiveChoice>,
    /// Whether the command line named that directive.
    pub by_name: bool,
    /// The recording that is shown instead of a project of the person's.
    pub recording: Option<Recording>,
}

/// A recording, as whoever sees it is told.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Its folder.
    pub place: String,
    /// How to come to something else.
    pub next: String,
}

impl Recording {
    /// What it is, what to look at and by which keys, and how to leave it.
    pub(super) fn words(&self, keymap: &Keymap) -> String {
        let Self { place, next } = self;
        let named =
            [(CommandId::ContextShow, "context"), (CommandId::ThreadsShow, "threads"), (CommandId::HelpShow, "help")];
        let key = |(command, word)| Some(format!("{} {word}", keymap.key_for(command, &[Context::Anywhere])?));
        let keys: Vec<String> = named.into_iter().filter_map(key).collect();
        format!(
            "this is a recording in {place}: explore it ({}); a script answers your prompts. {next}",
            keys.join(", ")
        )
    }
}

/// How a person left.
#[derive(Debug)]
pub struct Left {
    pub code: ExitCode,
    /// The thread that was on the screen, and whether it goes on by itself.
    pub thread: Option<(ThreadId, bool)>,
}

impl Left {
    fn of(code: ExitCode, model: Model) -> Self {
        let works = model.view.is_working();
        Self { code, thread: model.view.thread.map(|thread| (thread, works)) }
    }
}

/// Why the workbench could not go on.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    #[error("the terminal failed: {0}")]
    Terminal(#[from] io::Error),
    #[error(transparent)]
    Setup(#[from] crate::session::setup::SetupError),
}

/// Everything the loop owns.
struct App {
    model: Model,
    painter: Painter,
    performer: EffectRunner,
    pacer: Pacer,
    /// Whether the last frame could not show all.
    behind: bool,
    /// Effects that need the terminal, in order.
    terminal_effects: Vec<TerminalEffect>,
    theme: ThemeSource,
    /// The model that the settings name.
    usual: Option<ModelRef>,
    /// Whether the settings give the mouse to us.
    mouse: bool,
    /// How somebody who looks elsewhere is called.
    calls: Calls,
    /// What is wrong with what people wrote, as far as it has been told.
    told: BTreeSet<String>,
}

/// Runs the workbench until the person leaves.
///
/// # Errors
/// [`AppError`].
pub async fn run(setup: Arc<Setup>, tty: Tty, opening: Opening) -> Result<Left, AppError> {
    let foreground = Foreground::enter();
    let launcher = setup.launcher()?;
    let mut shutdown = Shutdown::listen()?;
    let mut resized = signal(SignalKind::window_change())?;
    let size = tty.size()?;
    let (keymap, theme, mistakes) = looks(&setup);
    let (sender, mut messages) = mpsc::channel(WAITING);
    let Chosen { look, notice, .. } = opening.chosen.clone();
    let unseen = (opening.thread.is_none() && !opening.by_name).then(|| opening.directive.clone());
    let recording = opening.recording.as_ref().map(|recording| recording.words(&keymap));
    let (model, effects) = Model::new(options(&setup, opening, size, keymap, &theme));
    let performer = EffectRunner::new(launcher, Arc::clone(&setup), sender);
    let mut app = App::new(&setup, model, performer, theme);
    app.told.extend(mistakes.iter().map(ToString::to_string));
    let mut guard = Guard::enter(&tty, app.mouse)?;
    let mut screen = Screen::new(&tty)?;
    guard.ask()?;
    let mut input = Some(Input::start(&tty)?);
    app.perform(effects);
    app.begin(&mut guard, &mut screen, &mut input)?;

    app.tell(Level::Warning, setup.problems.iter().chain(&mistakes).map(ToString::to_string).chain(notice));
    app.tell(Level::Info, recording.into_iter());
    app.performer.look_around(&setup, unseen, look);
    let (sender, mut changed) = mpsc::channel(1);
    Reload::new(&setup).start(sender);
    fault::asked().into_iter().for_each(fault::happen);
    let (mut second, mut tick, mut code) = (None, None, ExitCode::SUCCESS);
    // The first second is full of work that nothing here awaits.
    let mut rest = Rest::since(Instant::now());
    drop(foreground);

    while !app.model.quitting {
        let armed = app.model.next_deadline().map(|at| Instant::now() + Duration::from_millis(at.since(now())));
        tokio::select! {
            biased; // top to bottom: leave, listen, draw, work
            number = shutdown.signalled() => {
                shutdown.leave();
                code = ExitCode::from(u8::try_from(128 + number).unwrap_or(1));
                break;
            }
            page = app.performer.page_read() => app.performer.follow(page),
            event = next(&mut input) => {
                let Some(event) = event else { break };
                let _front = Foreground::enter();
                if !app.listen(event, &mut guard, &mut screen, &mut input)? {
                    break;
                }
                app.pacer.request_now(Instant::now());
            }
            () = app.pacer.frame_due() => {
                let _front = Foreground::enter();
                app.fit(&tty)?;
                app.show(&mut screen, &mut guard)?;
                app.go_on();
                let Some(id) = app.model.approval_in_view() else { continue };
                app.update(Message::ApprovalDrawn { id });
            }
            _ = resized.recv() => {
                let _front = Foreground::enter();
                app.fit(&tty)?;
                // It may have changed and changed back: what did not fit meanwhile is gone from the screen.
                screen.doubt();
                app.pacer.request(Instant::now());
            }
            Some(message) = messages.recv() => {
                let _front = Foreground::enter();
                app.drain(message, &mut messages);
            }
            Some(news) = changed.recv() => {
                let _front = Foreground::enter();
                app.take_in(news, &mut guard)?;
            }
            () = until(armed) => app.update(Message::Deadline),
            () = until(app.pacer.mends_at()) => app.mend(&mut screen),
            () = until(second) => {
                second = None;
                let _front = Foreground::enter();
                app.update(Message::Second);
            }
            () = until(tick) => tick = app.tick(),
            () = until(rest.due) => {
                rest.give_back(Instant::now(), || app.draw(&mut screen))?;
                continue;
            }
        }
        rest = Rest::since(Instant::now());
        app.tell(Level::Error, take_background_panics().into_iter());
        for effect in std::mem::take(&mut app.terminal_effects) {
            shutdown.without_interrupt(app.with_terminal(effect, &tty, &mut guard, &mut screen, &mut input)).await?;
        }
        app.show_changes();
        tick = app.model.indicator_interval().map(|wait| tick.unwrap_or_else(|| Instant::now() + wait));
        second = app.model.shows_time().then(|| second.unwrap_or_else(|| Instant::now() + Duration::from_secs(1)));
    }

    // Leaving in order: the keyboard is given back first, so that nothing typed from here on is lost to us.
    drop(input);
    drop(guard);
    app.performer.finish().await;
    tracing::debug!(frames = screen.frames(), "left");
    Ok(Left::of(code, app.model))
}

/// Keys and colours, and what is wrong with what the person wrote of them.
fn looks(setup: &Setup) -> (Keymap, ThemeSource, Vec<Problem>) {
    let ((keymap, mut mistakes), theme) = (keymap(setup), ThemeSource::new(setup));
    mistakes.extend(theme.problems());
    (keymap, theme, mistakes)
}

/// What is wrong with the keymap and with every theme of the person's own.
#[must_use]
pub fn look_problems(setup: &Setup) -> Vec<Problem> {
    let (_, mut problems) = keymap(setup);
    problems.extend(ThemeSource::new(setup).all_problems());
    problems
}

/// The model that the settings name.
fn usual(setup: &Setup) -> Option<ModelRef> {
    setup.config.model.as_ref().map(|model| model.value.clone())
}

/// Whether links are given to the terminal.
fn shows_links(setup: &Setup) -> bool {
    let known = || links::are_known(&|name| std::env::var(name).ok());
    setup.config.links.as_ref().map_or_else(known, |links| links.value)
}

fn now() -> Timestamp {
    SystemClock.now()
}

/// The next event of the terminal; for ever while another program has it.
async fn next(input: &mut Option<Input>) -> Option<InputEvent> {
    match input {
        Some(input) => input.next().await,
        None => std::future::pending().await,
    }
}

impl App {
    fn new(setup: &Setup, model: Model, performer: EffectRunner, theme: ThemeSource) -> Self {
        let mut painter = Painter::new(theme.of(&model), theme.depth);
        painter.show_links(shows_links(setup));
        Self {
            painter,
            mouse: setup.config.mouse.value,
            calls: Calls::of(setup),
            performer,
            pacer: Pacer::default(),
            behind: false,
            terminal_effects: Vec::new(),
            theme,
            usual: usual(setup),
            told: setup.problems.iter().map(ToString::to_string).collect(),
            model,
        }
    }

    /// The next mark of an extension stands; when the one after it does is not known yet.
    fn tick(&mut self) -> Option<Instant> {
        self.update(Message::IndicatorTick);
        None
    }

    /// Asks for a frame where something changed.
    fn show_changes(&mut self) {
        if self.model.take_changed() {
            self.follow_theme();
            self.pacer.request(Instant::now());
        }
    }

    fn tell(&mut self, level: Level, texts: impl Iterator<Item = String>) {
        for text in texts {
            self.update(Message::Notice { level, text });
        }
    }

    /// Follows the size of the terminal. Looked at before each frame too, since the signal of a resize can be lost.
    fn fit(&mut self, tty: &Tty) -> io::Result<()> {
        let (columns, rows) = tty.size()?;
        if (columns, rows) != self.model.size {
            self.update(Message::Resize { columns, rows });
        }
        Ok(())
    }

    fn draw(&mut self, screen: &mut Screen) -> io::Result<()> {
        let begun = Instant::now();
        screen.draw(|buffer| {
            let begun = Instant::now();
            let cursor = ui::view(&self.model, &mut self.painter, buffer);
            // Without the time in which a slow terminal takes it.
            self.painter.took(begun.elapsed());
            (cursor, self.painter.take_links())
        })?;
        if begun.elapsed() > SLOW {
            tracing::warn!(milliseconds = begun.elapsed().as_millis(), "a slow frame");
        }
        Ok(())
    }

    /// Shows the first frame, with what was typed ahead in it.
    fn begin(&mut self, guard: &mut Guard, screen: &mut Screen, input: &mut Option<Input>) -> io::Result<()> {
        if let Some(event) = input.as_mut().and_then(Input::try_next) {
            self.model.quitting |= !self.listen(event, guard, screen, input)?;
        }
        self.show(screen, guard)
    }

    /// Brings what is there to the terminal.
    fn show(&mut self, screen: &mut Screen, guard: &mut Guard) -> io::Result<()> {
        self.draw(screen)?;
        self.name_window(guard)?;
        self.pacer.drawn(Instant::now());
        Ok(())
    }

    /// Calls the window after what the thread does, unless the person wants its own name.
    fn name_window(&self, guard: &mut Guard) -> io::Result<()> {
        if self.calls.title { guard.set_title(self.model.window_title()) } else { Ok(()) }
    }

    /// Goes on with what was too much for a frame, and once more when that is done.
    fn go_on(&mut self) {
        let is_behind = self.painter.is_behind() || self.model.is_behind();
        if std::mem::replace(&mut self.behind, is_behind) || is_behind {
            self.update(Message::GoOn);
            self.pacer.request(Instant::now());
        }
    }

    /// The next frame writes all of the screen.
    fn mend(&mut self, screen: &mut Screen) {
        screen.doubt();
        self.pacer.mends(Instant::now());
    }

    fn update(&mut self, message: Message) {
        let (name, begun) = (message.name(), Instant::now());
        self.model.set_now(now());
        let effects = workbench::update(&mut self.model, &mut self.painter, message);
        self.perform(effects);
        if begun.elapsed() > SLOW {
            tracing::warn!(message = name, milliseconds = begun.elapsed().as_millis(), "a slow turn");
        }
    }

    fn mouse(&mut self, button: Button, column: u16, row: u16) {
        self.update(Message::Mouse { button, column, row });
    }

    fn perform(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            if effect == Effect::Quit {
                self.model.quitting = true;
            }
            self.terminal_effects.extend(self.performer.perform(effect));
        }
    }

    /// Takes in what the engine sent, for as long as a turn may take.
    fn drain(&mut self, first: Message, messages: &mut mpsc::Receiver<Message>) {
        let turn = Instant::now();
        let mut next = Some(first);
        while let Some(message) = next {
            self.update(message);
            next = if turn.elapsed() < TURN_BUDGET { messages.try_recv().ok() } else { None };
        }
    }

    /// Takes in what the terminal sent, and what else has come meanwhile; false when the terminal is gone.
    fn listen(
        &mut self,
        first: InputEvent,
        guard: &mut Guard,
        screen: &mut Screen,
        input: &mut Option<Input>,
    ) -> io::Result<bool> {
        let turn = Instant::now();
        let mut next = Some(first);
        while let Some(event) = next {
            match event {
                InputEvent::Key(key) => self.update(Message::Key(key)),
                InputEvent::Paste(text) => self.update(Message::Paste(text)),
                InputEvent::Wheel(lines) => self.update(Message::Wheel { lines }),
                InputEvent::Pressed(column, row) => self.mouse(Button::Pressed, column, row),
                InputEvent::Dragged(column, row) => self.mouse(Button::Dragged, column, row),
                InputEvent::Released(column, row) => self.mouse(Button::Released, column, row),
                InputEvent::Focus(focused) => self.update(Message::Focus(focused)),
                InputEvent::Background { light } => self.update(Message::Background { light }),
                InputEvent::SynchronizedOutput => screen.synchronize(),
                InputEvent::KeyboardProtocol => guard.tell_keys_apart()?,
                InputEvent::Closed => return Ok(false),
            }
            // What asks for the terminal itself comes before the next key.
            let more = self.terminal_effects.is_empty() && turn.elapsed() < TURN_BUDGET;
            next = if more { input.as_mut().and_then(Input::try_next) } else { None };
        }
        Ok(true)
    }

    /// Carries out an effect that needs the terminal.
    async fn with_terminal(
        &mut self,
        effect: TerminalEffect,
        tty: &Tty,
        guard: &mut Guard,
        screen: &mut Screen,
        input: &mut Option<Input>,
    ) -> io::Result<()> {
        match effect {
            TerminalEffect::Copy(text) => {
                let path = clipboard::copy(tty, &text, std::env::var_os("TMUX").is_some())?;
                let (level, text) = if let Some(path) = path {
                    (Level::Info, format!("copied {} characters {path}", text.chars().count()))
                } else {
                    let size = text.len() / 1_000;
                    (
                        Level::Warning,
                        format!(
                            "not copied: {size} kB are too much for the terminal's clipboard; open it in your editor"
                        ),
                    )
                };
                self.update(Message::Notice { level, text });
            }
            TerminalEffect::Attention(text) => attention::call(tty, &text, self.calls.bell, self.calls.notify)?,
            TerminalEffect::Redraw => screen.forget()?,
            TerminalEffect::ToggleMouse => {
                self.give_mouse(!guard.has_mouse(), guard)?;
            }
            TerminalEffect::Suspend => {
                // The reader is stopped first: two must never share the keyboard.
                drop(input.take());
                guard.pause();
                // The whole group: whatever wraps this program stops with it.
                let _stopped = rustix::process::kill_current_process_group(rustix::process::Signal::TSTP);
                self.take_back(guard, screen, input, tty)?;
                self.update(Message::Resumed);
            }
            TerminalEffect::Edit(text) => {
                let edited = self.edited(&text, (guard, screen, input, tty)).await?;
                self.update(edited.map_or_else(|text| Message::Notice { level: Level::Error, text }, Message::Edited));
            }
            TerminalEffect::EditValue(what, text) => {
                let edited = self.edited(&text, (guard, screen, input, tty)).await?;
                self.update(match edited {
                    Ok(text) => Message::ValueEdited(what, text),
                    Err(text) => Message::Notice { level: Level::Error, text },
                });
            }
            TerminalEffect::ShowText(text) => {
                self.away(show(&text), (guard, screen, input, tty)).await?;
            }
            TerminalEffect::RunForeground(wanted) => {
                let ran = foreground::run(&wanted.program);
                let code = self.away(ran, (guard, screen, input, tty)).await?.and_then(|status| status.code());
                self.update(Message::ForegroundOver { id: wanted.id, code });
            }
            TerminalEffect::SignIn(provider) => {
                let signed_in = sign_in(&self.performer.setup, &provider);
                if let Some(text) = self.away(signed_in, (guard, screen, input, tty)).await? {
                    self.update(Message::Notice { level: Level::Info, text });
                }
            }
            TerminalEffect::OpenFile(source) => {
                self.away(open(&source), (guard, screen, input, tty)).await?;
            }
        }
        Ok(())
    }

    /// Waits for a program that has the terminal meanwhile; none where it failed, which is told.
    async fn away<T>(
        &mut self,
        program: impl Future<Output = Result<T, String>>,
        (guard, screen, input, tty): (&Guard, &mut Screen, &mut Option<Input>, &Tty),
    ) -> io::Result<Option<T>> {
        drop(input.take());
        guard.pause();
        let ended = program.await;
        self.take_back(guard, screen, input, tty)?;
        let came_to = match ended {
            Ok(came_to) => Some(came_to),
            Err(text) => {
                self.update(Message::Notice { level: Level::Error, text });
                None
            }
        };
        self.update(Message::Resumed);
        Ok(came_to)
    }

    /// What `$EDITOR` made of a text, while the terminal is its own.
    async fn edited(
        &mut self,
        text: &str,
        (guard, screen, input, tty): (&Guard, &mut Screen, &mut Option<Input>, &Tty),
    ) -> io::Result<Result<String, String>> {
        drop(input.take());
        guard.pause();
        let edited = edit(text).await;
        self.take_back(guard, screen, input, tty)?;
        Ok(edited)
    }

    fn take_back(
        &mut self,
        guard: &Guard,
        screen: &mut Screen,
        input: &mut Option<Input>,
        tty: &Tty,
    ) -> io::Result<()> {
        guard.resume()?;
        screen.forget()?;
        *input = Some(Input::start(tty)?);
        let (columns, rows) = tty.size()?;
        self.update(Message::Resize { columns, rows });
        Ok(())
    }

    /// Takes the mouse or leaves it to the terminal, and says so.
    fn give_mouse(&mut self, mouse: bool, guard: &mut Guard) -> io::Result<()> {
        guard.set_mouse(mouse)?;
        let text = if mouse {
            "levain uses the mouse to scroll, choose and mark; in most terminals shift marks without levain"
        } else {
            "the terminal uses the mouse: mark and copy as usual; /mouse gives it back to levain"
        };
        self.update(Message::Notice { level: Level::Info, text: text.to_owned() });
        Ok(())
    }

    fn take_in(&mut self, news: FileChange, guard: &mut Guard) -> io::Result<()> {
        match news {
            FileChange::Saved(fresh) => self.take_over(*fresh, guard),
            FileChange::Threads => {
                self.update(Message::ThreadsChanged);
                Ok(())
            }
        }
    }

    /// Takes over what was saved, as far as it reads, and tells what does not.
    fn take_over(&mut self, fresh: Fresh, guard: &mut Guard) -> io::Result<()> {
        let mut wrong = fresh.problems.clone();
        let theme = self.theme.name(&self.model);
        match self.theme.read(&theme) {
            Ok(_) if fresh.changed.contains(&self.theme.file(&theme)) => self.theme.forget(),
            Ok(_) => {}
            Err(problems) => wrong.extend(problems.iter().map(ToString::to_string)),
        }
        let whole = fresh.settings_are_whole();
        if let Some(keymap) = fresh.keymap.filter(|_| whole) {
            self.update(Message::Keymap(keymap));
        }
        if let Ok(setup) = fresh.setup {
            let chosen = if whole { self.theme.choose(&setup) } else { None };
            wrong.extend(self.theme.problems().iter().map(ToString::to_string));
            let name = chosen.unwrap_or_else(|| self.model.theme.clone());
            self.update(Message::Themes { names: self.theme.names(), chosen: name });
            let usual = usual(&setup);
            if whole && usual != self.usual {
                self.usual.clone_from(&usual);
                if let Some(model) = usual {
                    self.update(Message::UsualModel(model));
                }
            }
            if whole {
                self.painter.show_links(shows_links(&setup));
                self.calls = Calls::of(&setup);
                let mouse = setup.config.mouse.value;
                // Only a setting that is another now counts: by command the person may have chosen otherwise meanwhile.
                if std::mem::replace(&mut self.mouse, mouse) != mouse {
                    self.give_mouse(mouse, guard)?;
                }
            }
            self.performer.know(setup);
        }
        self.update(Message::Saved);
        // The same mistake is told once, and again after it was mended and made anew.
        let wrong: BTreeSet<String> = wrong.into_iter().collect();
        let told = std::mem::take(&mut self.told);
        let mended = self.mended(&told, &wrong, &fresh.changed);
        if !mended.is_empty() {
            self.update(Message::Mended(mended));
        }
        for text in wrong.difference(&told).cloned().chain(fresh.warning) {
            self.update(Message::Notice { level: Level::Warning, text });
        }
        if let Some(text) = fresh.mended {
            self.update(Message::Notice { level: Level::Info, text });
        }
        self.told = wrong;
        self.follow_theme();
        Ok(())
    }

    /// The notices of mistakes that hold no more: of those told here, and of those that whoever made a thread told of the
    /// files that changed.
    fn mended(&self, told: &BTreeSet<String>, wrong: &BTreeSet<String>, changed: &BTreeSet<PathBuf>) -> Vec<String> {
        let of_changed = |text: &str| {
            let rest = |file: &PathBuf| text.strip_prefix(file.to_str()?)?.strip_prefix(':');
            changed.iter().any(|file| rest(file).is_some())
        };
        let told_elsewhere = self.model.notices.iter().map(|notice| &notice.text).filter(|text| of_changed(text));
        told.iter().chain(told_elsewhere).filter(|text| !wrong.contains(*text)).cloned().collect()
    }

    /// Draws with the theme that the model names now.
    fn follow_theme(&mut self) {
        if let Some(theme) = self.theme.changed(&self.model) {
            self.painter.set_theme(theme);
        }
    }
}

pub(super) fn options(
    setup: &Setup,
    opening: Opening,
    size: (u16, u16),
    keymap: Keymap,
    theme: &ThemeSource,
) -> Options {
    let model = opening.chosen.model;
    let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    Options {
        directive: opening.directive,
        model_is_scripted: is_scripted(&model),
        model,
        project: name(&setup.project.root).unwrap_or_else(|| setup.project.root.display().to_string()),
        screen: format!("{}-{}", now().0, std::process::id()),
        open: opening.thread,
        size,
        keymap,
        now: now(),
        themes: theme.names(),
        theme: theme.chosen.clone(),
        draft: opening.draft,
        by_name: opening.by_name,
    }
}
