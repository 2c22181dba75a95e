//! What a person who looks elsewhere is told of: a call that waits for them, an end, a failure. Nothing while the window is in
//! front.

use super::message::Effect;
use super::model::Model;
use super::thread_view::{Phase, Standing};
use crate::domain::letters::is_hidden_behind;
use crate::domain::{ShownPlace, Status};

impl Model {
    fn standing(&self) -> Standing {
        let failed =
            self.view.stopped.is_some() || self.view.state.as_ref().is_some_and(|state| state.status == Status::Error);
        // Which call it is comes a little later than that one waits.
        if self.view.activity.phase == Phase::Approval && !self.view.approvals.is_empty() {
            Standing::Asks
        } else if self.view.is_working() {
            Standing::Works
        } else if failed {
            Standing::Failed
        } else {
            Standing::Rests
        }
    }

    /// Calls a person who is away, when what they wait for has come.
    pub(super) fn call_attention(&mut self) -> Option<Effect> {
        let standing = self.standing();
        let before = std::mem::replace(&mut self.standing, standing);
        let of_others = self.calling.take();
        if !self.pointer.is_away() {
            return None;
        }
        if before == standing {
            return of_others.map(Effect::Attention);
        }
        // What comes second is told with the next message.
        self.calling = of_others;
        let directive = visible(&self.directive);
        let text = match (before, standing) {
            (_, Standing::Asks) => {
                let tool = self.view.approvals.shown().map(|panel| format!(": {}", panel.tool())).unwrap_or_default();
                format!("{directive} needs approval{tool}")
            }
            (Standing::Works, Standing::Rests) => format!("{directive} is done"),
            (Standing::Works | Standing::Asks, Standing::Failed) => {
                format!("{directive} {}", self.view.stopped.unwrap_or("failed"))
            }
            _ => return self.calling.take().map(Effect::Attention),
        };
        Some(Effect::Attention(text))
    }

    /// What the window is called: what the thread does, and where.
    #[must_use]
    pub fn window_title(&self) -> String {
        let mark = match self.standing() {
            Standing::Rests => "",
            Standing::Works => "● ",
            Standing::Asks => "? ",
            Standing::Failed => "✗ ",
        };
        let given = self.shown_at(ShownPlace::Title).pop();
        match given {
            // Styles have no place in it.
            Some(title) => visible(&format!("{mark}{}", anstream::adapter::strip_str(&title))),
            None => visible(&format!("{mark}{} · {} · levain", self.project, self.directive)),
        }
    }
}

/// `text` without what turns or hides letters: names come from files.
pub(super) fn visible(text: &str) -> String {
    let mut before = ' ';
    text.chars().filter(|letter| !is_hidden_behind(std::mem::replace(&mut before, *letter), *letter)).collect()
}
