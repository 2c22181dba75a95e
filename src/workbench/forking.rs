//! Trying again from an earlier place: a new thread begins with the same words up to there, and the old one stays as it is.

use super::fork::{Begun, ForkAsked, ForkMade, Forking, LeftBranch};
use super::message::{Effect, Level};
use super::model::Model;
use super::request::Compared;
use super::thread_view::{Destination, Link};
use super::transcript::Kind;
use crate::domain::event::PromptMode;
use crate::domain::{ForkPoint, LayerChange, ModelRef, ThreadId, ToAttach};
use crate::worker::protocol::Command;

impl Model {
    /// Forks the thread at the chosen prompt, or the one that led to what is chosen; at the newest where none is.
    pub(super) fn fork(&mut self, forking: Forking, model: Option<ModelRef>) -> Vec<Effect> {
        self.browser.fork_model = false;
        let Some(thread_id) = self.view.thread.clone() else { return Vec::new() };
        let chosen = self.view.chosen_blocks().map_or(usize::MAX, |(_, at)| at);
        let blocks: Vec<(usize, &Kind)> =
            self.view.transcript.iter().enumerate().map(|(index, block)| (index, &block.kind)).collect();
        let is_said = |kind: &Kind| matches!(kind, Kind::Prompt(prompt) if !prompt.pending);
        let prompts: Vec<usize> = blocks.iter().filter(|(_, kind)| is_said(kind)).map(|(index, _)| *index).collect();
        let Some(place) = prompts.iter().rposition(|index| *index <= chosen) else {
            self.say(Level::Info, "nothing was said yet that could be sent again");
            return Vec::new();
        };
        let begin = prompts.get(place).copied().unwrap_or(0);
        let end = prompts.get(place + 1).copied().unwrap_or(usize::MAX);
        let requests = blocks.iter().filter(|(index, _)| (begin..end).contains(index));
        let request = requests
            .filter_map(|(_, kind)| if let Kind::Answer(answer) = kind { Some(answer.request) } else { None })
            .find(|number| *number > 0);
        let back = prompts.len() - place;
        // Behind the answers of the prompt, which is before the next one.
        let at = match back - usize::from(forking == Forking::Here) {
            0 => ForkPoint::End,
            back => ForkPoint::Prompt(back),
        };
        self.leave_for(Destination::Fork(ForkAsked { model, request, ..ForkAsked::of(thread_id, at, forking) }))
    }

    /// How many prompts from the newest on there are to the one that led to a request, as far as the transcript is loaded.
    pub(super) fn prompt_of_request(&self, number: u32) -> Option<usize> {
        let kinds = || self.view.transcript.iter().map(|block| &block.kind);
        let from = kinds().position(|kind| matches!(kind, Kind::Answer(answer) if answer.request == number))?;
        let later = kinds().skip(from).filter(|kind| matches!(kind, Kind::Prompt(prompt) if !prompt.pending));
        Some(later.count() + 1)
    }

    /// Whether a request that was sent is shown as it would be without some layers.
    #[must_use]
    pub fn is_as_if(&self) -> bool {
        self.browser.what_if.as_ref().is_some_and(|(asked, _)| asked.number.is_some())
    }

    /// Sends the prompt of the request that is shown as it would be again, in a fork whose requests are like that.
    pub(super) fn fork_as_if(&mut self) -> Vec<Effect> {
        let Some((asked, _)) = &self.browser.what_if else {
            self.say(Level::Info, "take a layer out first (-), or change its text (E): a fork like that is made then");
            return Vec::new();
        };
        let Some(number) = asked.number else {
            self.say(Level::Info, "only a request that was sent can be sent again in a fork");
            return Vec::new();
        };
        let layers = &asked.whole.assembly.layers;
        let layers = asked.texts.iter().filter_map(|(place, text)| Some((layers.get(*place)?, text)));
        if let Some((stays, _)) = layers.clone().find(|(layer, _)| !layer.kind.is_planned()) {
            let text = format!("{} cannot be changed in a fork: it is made for each call, or was said", stays.id);
            self.say(Level::Info, text);
            return Vec::new();
        }
        let thread_id = asked.whole.thread_id.clone();
        let changes = layers.map(|(layer, text)| LayerChange { id: layer.id.clone(), text: text.clone() }).collect();
        self.overlay = None;
        let fork = ForkAsked::of(thread_id, ForkPoint::Request(number), Forking::Again);
        self.leave_for(Destination::Fork(ForkAsked { request: Some(number), changes, ..fork }))
    }

    /// Shows the fork; the draft of the thread that is left stays there.
    pub(super) fn fork_made(&mut self, made: ForkMade) -> Vec<Effect> {
        let ForkMade { from, shown, thread_id, forking, prompt, files, request, left } = made;
        if self.view.thread.as_ref() != Some(&shown) || self.view.is_working() {
            self.say(Level::Info, format!("{thread_id} is a fork of {from}"));
            return Vec::new();
        }
        let compared = request.map(|number| Compared::Sent { thread_id: from.clone(), number });
        let effects = self.show_thread(thread_id.clone());
        let said = if forking == Forking::Here || prompt.is_none() { "up to here" } else { "before that prompt" };
        self.say(Level::Info, format!("this is a fork with everything {said}; {from} stays as it is"));
        let left = left.map(|left| (shown, left));
        self.begun = Some(Begun { thread_id, forking, prompt, files, left, compared });
        effects
    }

    /// Goes on with a fork whose log is on the screen.
    pub(super) fn begin_fork(&mut self) -> Vec<Effect> {
        let is_here = self.view.link == Link::Resting
            && self.begun.as_ref().is_some_and(|begun| self.view.thread.as_ref() == Some(&begun.thread_id));
        let Some(Begun { thread_id, forking, prompt, files, left, compared }) = self.begun.take_if(|_| is_here) else {
            return Vec::new();
        };
        let summarises = left.map(|(from, LeftBranch { text, asked })| {
            let command = Command::SummariseBranch { from, text, instructions: asked.instructions };
            self.tell_thread(command)
        });
        let summarises = summarises.unwrap_or_default();
        // What is said behind other words has nothing to be compared with.
        let Some(prompt) = prompt.filter(|_| forking != Forking::Here) else { return summarises };
        self.awaited = compared.map(|compared| (thread_id, compared));
        self.composer.set(&prompt);
        self.complete();
        self.changed = true;
        if forking != Forking::Again {
            return summarises;
        }
        // The same request again: with the files as they were.
        self.hand_over(PromptMode::FollowUp, None, files.into_iter().map(ToAttach::Kept).collect())
    }

    /// The first request of a fork was recorded: it is shown beside the one that it stands for.
    pub(super) fn compare_fork(&mut self, request: u32) -> Vec<Effect> {
        let is_here = |(id, _): &mut (ThreadId, Compared)| self.view.thread.as_ref() == Some(id);
        let Some((_, compared)) = self.awaited.take_if(is_here) else { return Vec::new() };
        if self.overlay.is_some() {
            return Vec::new();
        }
        self.browser.compares = Some(compared);
        self.show_request(Some(request))
    }
}
