//! What the thread runs beside its conversation: a page with the end of what each command printed, and stopping one.

use super::message::{Effect, Level, Ran};
use super::model::Model;
use super::overlay::{Pager, PagerLine};
use super::thread_view::Sent;
use crate::domain::CallId;
use crate::worker::protocol::Command;

impl Model {
    pub(super) fn ask_background(&mut self) -> Vec<Effect> {
        let Some(thread_id) = self.meant_thread() else {
            self.say(Level::Info, "this thread has not begun");
            return Vec::new();
        };
        vec![Effect::LoadBackground { thread_id }]
    }

    /// Shows them, the newest first.
    pub(super) fn show_background(&mut self, ran: Result<Vec<Ran>, String>) {
        let ran = match ran {
            Ok(ran) if ran.is_empty() => {
                return self.say(Level::Info, "the thread runs nothing beside its conversation");
            }
            Ok(ran) => ran,
            Err(why) => return self.say(Level::Error, why),
        };
        let mut lines = Vec::new();
        for (command, printed) in ran.into_iter().rev() {
            if !lines.is_empty() {
                lines.push(PagerLine::Blank);
            }
            lines.push(PagerLine::Heading(format!("{} {}: {}", command.name.0, command.stands(), command.line())));
            match printed {
                Ok(text) if text.is_empty() => lines.push(PagerLine::Whole("(nothing printed)".to_owned())),
                Ok(text) => lines.extend(text.lines().map(|line| PagerLine::Whole(line.to_owned()))),
                Err(why) => lines.push(PagerLine::Whole(format!("what it printed cannot be read: {why}"))),
            }
        }
        self.lay_over(Pager::new("background commands · /background stop NAME stops one", lines));
    }

    /// `/background stop`, `/background stop NAME`.
    ///
    /// # Errors
    /// What is wrong with the words.
    pub(super) fn stop_background(&mut self, words: &str) -> Result<Vec<Effect>, String> {
        let running: Vec<CallId> = self.view.background().map(|command| command.name.clone()).collect();
        let names = || running.iter().map(|name| name.0.as_str()).collect::<Vec<_>>().join(", ");
        let name = match (words.split_whitespace().collect::<Vec<_>>().as_slice(), running.as_slice()) {
            (["stop"], [only]) => only.clone(),
            (["stop", ..], []) => return Err("nothing runs beside the conversation".to_owned()),
            (["stop"], _) => return Err(format!("say which: {}", names())),
            (["stop", name], _) => {
                let known = running.iter().find(|known| known.0 == **name).cloned();
                known.ok_or_else(|| format!("`{name}` does not run; there is {}", names()))?
            }
            _ => return Err("/background shows what runs; /background stop NAME stops a command".to_owned()),
        };
        Ok(self.tell_worker(Sent::Other, Command::StopCommand { command: name }))
    }
}
