//! Leaving the thread on the screen: extensions that want to be asked are asked before.

use super::message::{Effect, Level};
use super::model::Model;
use super::thread_view::{Left, Link, Sent};
use crate::domain::{Leaving, ThreadId};
use crate::worker::protocol::Command;

impl Model {
    /// Goes where the person wants, as soon as nobody has anything against it.
    pub(super) fn leave_thread(&mut self, left: Left) -> Vec<Effect> {
        let asks = self.view.state.as_ref().is_some_and(|state| state.extensions.guards_leaving);
        if !asks || self.view.link != Link::Connected {
            return self.left(left);
        }
        if self.view.sent.values().any(|sent| matches!(sent, Sent::Leave(_))) {
            self.say(Level::Info, "extensions are being asked; /answer shows what they want to know");
            return Vec::new();
        }
        let leaving = match &left {
            Left::New => Leaving::New,
            Left::Open(thread_id) => Leaving::Open { thread_id: thread_id.clone() },
            Left::Fork { back, .. } => Leaving::Fork { back: *back },
        };
        vec![Effect::Send { id: self.sending(Sent::Leave(left)), command: Command::Leave { leaving } }]
    }

    /// Nobody has anything against it.
    pub(super) fn left(&mut self, left: Left) -> Vec<Effect> {
        match left {
            Left::New => self.begin_new(),
            Left::Open(thread_id) => self.show_thread(thread_id),
            Left::Fork { thread_id, back, model, forking, request } => {
                vec![Effect::Fork { thread_id, back, model, forking, request }]
            }
        }
    }

    /// Opens a thread in the place of the one on the screen.
    pub(super) fn open_thread(&mut self, thread_id: ThreadId) -> Vec<Effect> {
        if self.view.is_of(&thread_id) { self.show_thread(thread_id) } else { self.leave_thread(Left::Open(thread_id)) }
    }

    /// A new thread in the place of the one on the screen.
    fn begin_new(&mut self) -> Vec<Effect> {
        self.new_thread();
        self.draft_for_new();
        // A directive that wants to be told something says so before the first prompt.
        if self.draft.is_none() { vec![Effect::LoadDirectives] } else { Vec::new() }
    }
}
