//! Leaving the thread on the screen: extensions that want to be asked are asked before.

use super::fork::ForkAsked;
use super::message::{Effect, Level};
use super::model::Model;
use super::thread_view::{Destination, Link, Sent};
use crate::domain::conversation::entry_id;
use crate::domain::{ForkPoint, Leaving, ThreadId};
use crate::worker::protocol::Command;

impl Model {
    /// Goes where the person wants, as soon as nobody has anything against it.
    pub(super) fn leave_for(&mut self, destination: Destination) -> Vec<Effect> {
        let asks = self.view.state.as_ref().is_some_and(|state| state.extensions.guards_leaving);
        if !asks || self.view.link != Link::Connected {
            return self.go_to(destination);
        }
        if self.view.sent.values().any(|sent| matches!(sent, Sent::Leave(_))) {
            self.say(Level::Info, "extensions are being asked; /answer shows what they want to know");
            return Vec::new();
        }
        let leaving = match &destination {
            Destination::New => Leaving::New,
            Destination::Open(thread_id) => Leaving::Open { thread_id: thread_id.clone() },
            Destination::Fork(ForkAsked { from, at, summary, .. }) => match at {
                ForkPoint::End => Leaving::Fork { back: None },
                ForkPoint::Prompt(back) => Leaving::Fork { back: Some(*back) },
                ForkPoint::Request(number) => Leaving::Fork { back: self.prompt_of_request(*number) },
                ForkPoint::Entry(at) => {
                    Leaving::Entry { thread_id: from.clone(), entry: entry_id(*at), summarised: summary.is_some() }
                }
            },
        };
        vec![Effect::Send { id: self.sending(Sent::Leave(destination)), command: Command::Leave { leaving } }]
    }

    /// Nobody has anything against it.
    pub(super) fn go_to(&mut self, destination: Destination) -> Vec<Effect> {
        match destination {
            Destination::New => self.begin_new(),
            Destination::Open(thread_id) => self.show_thread(thread_id),
            Destination::Fork(asked) => {
                let shown = self.view.thread.clone().unwrap_or_else(|| asked.from.clone());
                vec![Effect::Fork { shown, asked: Box::new(asked) }]
            }
        }
    }

    /// Has the thread do `command`, in a worker that is started where none runs.
    pub(super) fn tell_thread(&mut self, command: Command) -> Vec<Effect> {
        match (self.view.link, &self.view.thread) {
            (Link::Connected, _) => {
                vec![Effect::Send { id: self.sending(Sent::Other), command }]
            }
            (Link::Resting, Some(thread_id)) => {
                let thread_id = thread_id.clone();
                self.view.link = Link::Reviving;
                vec![Effect::Revive { thread_id, id: self.sending(Sent::Other), command }]
            }
            (Link::Draft | Link::Starting | Link::Opening | Link::Resting | Link::Reviving, _) => {
                self.say(Level::Warning, "nothing was said in this thread yet");
                Vec::new()
            }
        }
    }

    /// Opens a thread in the place of the one on the screen.
    pub(super) fn open_thread(&mut self, thread_id: ThreadId) -> Vec<Effect> {
        if self.view.is_of(&thread_id) {
            self.show_thread(thread_id)
        } else {
            self.leave_for(Destination::Open(thread_id))
        }
    }

    /// A new thread in the place of the one on the screen.
    fn begin_new(&mut self) -> Vec<Effect> {
        self.new_thread();
        self.draft_for_new();
        // A directive that wants to be told something says so before the first prompt.
        if self.draft.is_none() { vec![Effect::LoadDirectives] } else { Vec::new() }
    }
}
