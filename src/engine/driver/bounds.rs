//! What is taken of people and of tools: no more than [`Bounds`](crate::domain::Bounds) say.

use super::Audience;
use super::run::Driver;
use crate::domain::Attachment;
use crate::domain::bounds::{MOST_QUEUED, beginning, in_words, json_size};
use crate::domain::command::LONGEST_CLIENT_ID;
use crate::ports::ToolOutcome;

impl<A: Audience> Driver<A> {
    /// Whether a client may call a prompt that.
    pub(super) fn may_be_called(client: Option<&str>) -> Result<(), String> {
        match client {
            Some(id) if id.len() > LONGEST_CLIENT_ID => {
                Err(format!("nothing was sent: the client's message id is longer than {LONGEST_CLIENT_ID} bytes"))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Whether `text` is no more than may be said.
    pub(super) fn may_take(&self, text: &str) -> Result<(), String> {
        self.may_take_all(text, &[])
    }

    /// The same of a text with all that goes along with it.
    pub(super) fn may_take_all(&self, text: &str, files: &[Attachment]) -> Result<(), String> {
        if let Some(next) = &self.thread.successor {
            return Err(format!("nothing was sent: this thread continues in {next}"));
        }
        let along = |files: &[Attachment]| files.iter().map(|file| json_size(&file.text)).sum::<usize>();
        let most = self.settings.models.bounds().prompt;
        let size = json_size(text) + along(files);
        if size > most {
            let (size, most) = (in_words(size), in_words(most));
            return Err(format!("nothing was sent: the message has {size}, the limit is {most} (max_prompt_kb)"));
        }
        let queue = &self.thread.queue;
        if queue.len() >= MOST_QUEUED {
            return Err(format!("nothing was sent: {MOST_QUEUED} messages are queued already"));
        }
        if queue.iter().map(|queued| json_size(&queued.text) + along(&queued.files)).sum::<usize>() + size > most {
            return Err(format!("nothing was sent: the queued messages would have more than {}", in_words(most)));
        }
        Ok(())
    }

    /// `outcome`, cut where it is longer than a result may be.
    pub(super) fn short(&self, outcome: ToolOutcome) -> ToolOutcome {
        let most = self.settings.models.bounds().result;
        let cut = |text: String| {
            let kept = beginning(&text, most);
            if kept.len() == text.len() {
                return text;
            }
            format!("{kept}\n… ({} of {} are left out)", in_words(text.len() - kept.len()), in_words(text.len()))
        };
        ToolOutcome { output: cut(outcome.output), error: outcome.error.map(cut) }
    }
}
