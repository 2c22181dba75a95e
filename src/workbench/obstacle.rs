//! What stands in the way of a command now: lists show it in the place of its keys, and who runs it all the same is told.

use super::geometry;
use super::layout::{Position, TranscriptLayout};
use super::message::{Effect, Level};
use super::model::Model;
use super::thread_view::Link;
use super::transcript::Kind;
use crate::commands::{CommandId, Need};

impl Model {
    /// Why a command would do nothing now, in few words; none when it can be run.
    #[must_use]
    pub fn obstacle(&self, command: CommandId) -> Option<&'static str> {
        let folds = |kind: &Kind| matches!(kind, Kind::Tool(_) | Kind::Thinking(_));
        let (is_there, missing) = match command.row().needs {
            Need::Nothing => return None,
            Need::Call => (!self.view.approvals.is_empty(), "no call needs approval"),
            Need::SeenCall if self.view.approvals.is_empty() => (false, "no call needs approval"),
            Need::SeenCall => (self.view.has_seen_call(), "the call has not been shown yet"),
            Need::Queue => (!self.view.queue().is_empty(), "nothing is queued"),
            Need::Parent => (self.view.parent.is_some(), "no other thread started this one"),
            Need::SiblingAfter | Need::SiblingBefore if self.view.parent.is_none() => {
                (false, "no other thread started this one")
            }
            Need::SiblingAfter => (self.sibling(true).is_some(), "its parent started no thread after it"),
            Need::SiblingBefore => (self.sibling(false).is_some(), "its parent started no thread before it"),
            Need::Previous => (self.view.previous.is_some(), "it continues no other thread"),
            Need::Next => (self.view.successor.is_some(), "no other thread continues this one"),
            Need::Work => (self.view.is_working(), "nothing is running"),
            Need::Earlier => (!self.history.prompts.is_empty(), "nothing was sent before"),
            Need::Transcript => (!self.view.transcript.is_empty(), "nothing was said yet"),
            Need::Folds => {
                (self.view.transcript.iter().any(|block| folds(&block.kind)), "there is nothing to fold yet")
            }
            Need::Scrolled => (self.view.position != Position::Follow, "the end is on the screen"),
            Need::Answer => (self.view.transcript.last_answer().is_some(), "there is no answer yet"),
            Need::Thread => (self.view.link != Link::Draft, "this thread has not begun"),
            Need::Worker if self.view.link == Link::Draft => (false, "this thread has not begun"),
            Need::Worker => (matches!(self.view.link, Link::Connected | Link::Resting), "this thread is being opened"),
            Need::Again if self.view.thread.is_none() => (false, "nothing was said yet"),
            Need::Again => (!self.view.is_working(), "the thread is working; stop it first"),
            Need::Prompt => (!self.drafts_command(), "the draft is a command, not a prompt"),
            Need::Width => (geometry::has_room_for_panel(self), "the terminal is too narrow"),
            Need::Split => (geometry::has_room_for_beside(self), "the terminal has fewer than 140 columns"),
            Need::Request => (self.shows_request(), "no request is open: /context or /preview opens one"),
            Need::Unsent => (self.shows_request() && self.shows_preview(), "no preview is open: /preview opens one"),
        };
        (!is_there).then_some(missing)
    }

    /// Runs a command that was chosen by name, or says what stands in its way.
    pub(super) fn run(&mut self, layout: &mut dyn TranscriptLayout, command: CommandId) -> Vec<Effect> {
        match self.obstacle(command) {
            Some(why) => {
                self.say(Level::Info, why);
                Vec::new()
            }
            None => self.perform(layout, command, false),
        }
    }
}
