//! A prompt's way to the worker. Its text is on the screen from the first moment, and comes back into the draft when
//! it could not be handed over.

use super::layout::TranscriptLayout;
use super::message::{Effect, Level};
use super::model::Model;
use super::perform::slash;
use super::thread_view::{Link, PendingPrompt, Phase, Sent};
use super::transcript::{Kind, Prompt};
use crate::commands::TABLE;
use crate::domain::command::QueuedPrompt;
use crate::domain::event::PromptMode;
use crate::domain::{FrozenRequest, Mentions, ToAttach, nearest};
use crate::worker::protocol::Command;
use std::sync::Arc;

impl Model {
    /// Enter: a `\` before it is a newline, a `/` command runs, everything else is sent.
    pub(super) fn send(&mut self, layout: &mut dyn TranscriptLayout) -> Vec<Effect> {
        let (line, letter) = self.composer.cursor();
        if letter > 0 && self.composer.letter_before(line, letter) == Some('\\') {
            self.composer.backspace();
            self.composer.newline();
            return Vec::new();
        }
        if matches!(self.composer.first_letter(), Some('/' | '!')) {
            let text = self.composer.text();
            if let Some((command, argument)) = slash(&text) {
                self.composer.take();
                self.complete();
                self.notices.clear();
                return self.run_with(layout, command, argument).unwrap_or_else(|wrong| {
                    self.say(Level::Error, wrong);
                    self.composer.put_back(&text);
                    Vec::new()
                });
            }
            let known = self.is_prompt_name(&text) || self.may_name_commands();
            if let Some(unknown) = misspelt(&text).filter(|_| !known).or_else(|| self.missing_skill(&text)) {
                self.say(Level::Warning, unknown);
                return Vec::new();
            }
            if let Some(command) = text.trim_start().strip_prefix('!') {
                return self.run_shell(&text, command);
            }
        }
        self.submit(self.enter_mode())
    }

    pub(super) fn submit(&mut self, mode: PromptMode) -> Vec<Effect> {
        if self.asks_first() {
            return Vec::new();
        }
        let waits = !self.view.queue().is_empty() && !self.view.is_working();
        if self.composer.first_letter().is_none() && waits && self.view.can_be_told() {
            return self.tell_worker(Sent::Other, Command::Release);
        }
        if self.composer.first_letter().is_none() && waits {
            self.say(Level::Info, "the worker is being started; press Enter again in a moment");
            return Vec::new();
        }
        if self.composer.first_letter().is_none() && !self.starts_alone() {
            self.say(Level::Info, "nothing is written yet: there is no prompt to send");
            return Vec::new();
        }
        let named = Mentions::of(&self.composer.raw());
        self.hand_over(mode, None, named.to_attach())
    }

    /// Hands the draft over with `files`, or as the request that was looked at if there is one.
    pub(super) fn hand_over(
        &mut self,
        mode: PromptMode,
        held: Option<Arc<FrozenRequest>>,
        files: Vec<ToAttach>,
    ) -> Vec<Effect> {
        let images = Mentions::of(&self.composer.raw()).images;
        let text = self.composer.take();
        self.complete();
        if !text.trim().is_empty() {
            self.history.remember(&text);
        }
        self.view.follow();
        // What starts the work stands in the transcript at once; what waits for its turn stands above the draft.
        let block = if self.view.is_working() {
            None
        } else {
            let prompt = Prompt {
                text: text.clone(),
                sent: None,
                role: "user".to_owned(),
                pending: true,
                number: None,
                images: Vec::new(),
                files: Vec::new(),
            };
            Some(self.view.transcript.push(Kind::Prompt(prompt)))
        };
        let id = self.number();
        let shared: Arc<str> = text.as_str().into();
        let client = self.prompt_name(id);
        let mut waits = PendingPrompt {
            id,
            client: client.clone(),
            text: shared,
            mode,
            images: images.clone(),
            files: files.clone(),
            block,
            held: false,
            prompt: None,
        };
        let client = Some(client);
        let remember = remembered(&text);
        let sent = if held.is_some() { Sent::FrozenRequest } else { Sent::Prompt };
        // What may be a command alone is no prompt where it is none.
        let only_command = misspelt(&text).is_some() && !self.is_prompt_name(&text);
        let command = |text, held: Option<Arc<FrozenRequest>>| match held {
            None if only_command => Command::RunCommand { text, client },
            Some(held) => Command::SubmitHeld { text, held: Box::new(FrozenRequest::clone(&held)), client },
            None => Command::Submit { text, mode, images, files, client },
        };
        let effect = match (self.view.link, &self.view.thread) {
            (Link::Draft, _) => {
                self.view.link = Link::Starting;
                self.view.sent.insert(id, sent);
                let (directive, model) = (self.directive.clone(), self.model.clone());
                Some(Effect::Start { directive, model, inputs: self.inputs.clone(), id, first: command(text, held) })
            }
            (Link::Resting, Some(thread_id)) => {
                let thread_id = thread_id.clone();
                self.view.link = Link::Reviving;
                self.view.sent.insert(id, sent);
                Some(Effect::Revive { thread_id, id, command: command(text, held) })
            }
            (Link::Connected, _) => {
                self.view.sent.insert(id, sent);
                Some(Effect::Send { id, command: command(text, held) })
            }
            (Link::Starting | Link::Opening | Link::Reviving | Link::Resting, _) => {
                waits.held = true;
                None
            }
        };
        self.view.waits.push(waits);
        if !self.view.is_working() {
            self.enter(Phase::Sending);
        }
        remember.into_iter().chain(effect).collect()
    }

    /// Tells the thread's worker something, which is started where none runs.
    pub(super) fn tell_worker(&mut self, sent: Sent, command: Command) -> Vec<Effect> {
        let id = self.sending(sent);
        match (self.view.link, self.view.thread.clone()) {
            (Link::Resting, Some(thread_id)) => {
                self.view.link = Link::Reviving;
                vec![Effect::Revive { thread_id, id, command }]
            }
            _ => vec![Effect::Send { id, command }],
        }
    }

    /// `!` runs a command whose output the model gets with the next prompt, `!!` one that it never hears of.
    fn run_shell(&mut self, text: &str, command: &str) -> Vec<Effect> {
        let (shared, command) = command.strip_prefix('!').map_or((true, command), |command| (false, command));
        let command = command.trim().to_owned();
        if command.is_empty() {
            self.say(Level::Info, "write a command after `!`; with `!!` the model does not get its output");
            return Vec::new();
        }
        if self.asks_first() {
            return Vec::new();
        }
        let command = Command::Shell { command, shared };
        let effect = match (self.view.link, &self.view.thread) {
            (Link::Draft, _) => {
                self.view.link = Link::Starting;
                let id = self.sending(Sent::Shell(text.to_owned()));
                let (directive, model) = (self.directive.clone(), self.model.clone());
                Effect::Start { directive, model, inputs: self.inputs.clone(), id, first: command }
            }
            (Link::Resting, Some(thread_id)) => {
                let thread_id = thread_id.clone();
                self.view.link = Link::Reviving;
                Effect::Revive { thread_id, id: self.sending(Sent::Shell(text.to_owned())), command }
            }
            (Link::Connected, _) => Effect::Send { id: self.sending(Sent::Shell(text.to_owned())), command },
            (Link::Starting | Link::Opening | Link::Reviving | Link::Resting, _) => {
                self.say(Level::Info, "the worker is not there yet; press Enter again in a moment");
                return Vec::new();
            }
        };
        self.composer.take();
        self.complete();
        self.history.remember(text);
        self.view.follow();
        remembered(text).into_iter().chain(std::iter::once(effect)).collect()
    }

    /// Sends what was held back until somebody listens.
    pub(super) fn send_held(&mut self) -> Vec<Effect> {
        let mut effects = Vec::new();
        for waits in self.view.waits.iter_mut().filter(|waits| waits.held) {
            waits.held = false;
            self.view.sent.insert(waits.id, Sent::Prompt);
            effects.push(Effect::Send { id: waits.id, command: waits.command() });
        }
        effects
    }

    /// The thread has a prompt, and calls it `prompt`; `client` is what its client calls it. One of this screen's waits no
    /// more, unless it has a block: that stays until the prompt is said.
    pub(super) fn accepted(&mut self, prompt: u64, client: Option<&str>) {
        let Some(client) = client else { return };
        let Some(index) = self.view.waits.iter().position(|waits| waits.client == client) else { return };
        match self.view.waits[index].block {
            Some(block) => {
                self.view.waits[index].prompt = Some(prompt);
                self.view.transcript.number(block, prompt);
            }
            None => {
                self.view.waits.remove(index);
            }
        }
    }

    /// Puts prompts that never arrived back into the draft, oldest first.
    pub(super) fn give_back(&mut self, failed: impl FnMut(&PendingPrompt) -> bool) {
        let (back, stay) = std::mem::take(&mut self.view.waits).into_iter().partition(failed);
        self.view.waits = stay;
        let back: Vec<PendingPrompt> = back;
        for waits in back.iter().rev() {
            if let Some(block) = waits.block {
                self.view.transcript.remove(block);
            }
            self.composer.put_back(&waits.text);
        }
        self.complete();
        self.changed = true;
    }

    /// Nothing could be made of a prompt. Whoever sent it has its text in the draft again.
    pub(super) fn given_back(&mut self, prompt: u64) {
        if self.view.waits.iter().any(|waits| waits.prompt == Some(prompt)) {
            self.give_back(|waits| waits.prompt == Some(prompt));
            if self.view.activity.phase == Phase::Sending && self.view.waits.is_empty() {
                self.enter(Phase::Idle);
            }
            return;
        }
        let own = format!("{}-", self.screen);
        let is_own = |queued: &&QueuedPrompt| {
            queued.prompt == prompt && queued.client.as_ref().is_some_and(|client| client.starts_with(&own))
        };
        if let Some(text) = self.view.queue().iter().find(is_own).map(|queued| queued.text.clone()) {
            self.composer.put_back(&text);
            self.complete();
        }
    }

    /// Withdraws the newest queued prompt and puts it into the draft.
    pub(super) fn take_back(&mut self) -> Vec<Effect> {
        let Some(newest) = self.view.queue().last().map(|queued| queued.prompt) else {
            self.say(Level::Info, "nothing is queued");
            return Vec::new();
        };
        self.edit_queued(newest)
    }
}

/// What to say of a draft that looks like a command and is none. A path is no command, nor is what a blank stands before.
pub(super) fn misspelt(text: &str) -> Option<String> {
    let line = text.strip_prefix('/')?;
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let is_name = !word.is_empty() && word.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-');
    let known = TABLE.iter().filter_map(|row| row.slash);
    let near = nearest(word, known);
    // A sentence may begin with a folder of the root.
    if !is_name || (near.is_none() && !rest.trim().is_empty()) {
        return None;
    }
    let near = near.map(|near| format!(" (did you mean /{near}?)")).unwrap_or_default();
    Some(format!("there is no command /{word}{near}; begin with a space to send it as a message"))
}

/// Keeps what was written for later sessions, unless it is too long to be looked for.
pub(super) fn remembered(text: &str) -> Option<Effect> {
    const LONGEST: usize = 64 << 10;
    (text.len() <= LONGEST && !text.trim().is_empty()).then(|| Effect::Remember(text.to_owned()))
}
