//! What a model gets of the results of its calls: a long one is cut and kept whole, one that it has already is told of.
//!
//! Tools keep their results short themselves as well as they can, since they know what matters in them. This is for those
//! that do not, and for conversations whose window is nearly full.

use super::Audience;
use super::run::Driver;
use crate::domain::capability::{RESULT, flattened};
use crate::domain::{Block, CallId, Event, KnownTool, Tokens, ToolEvent};
use crate::engine::thread::{CallStage, Phase};
use crate::ports::ToolOutcome;

/// The longest result that a model gets whole, in bytes.
const LONGEST: usize = 64 << 10;

/// The same where more than three quarters of the window are taken.
const LONGEST_CROWDED: usize = 16 << 10;

/// From this length on a result that a model has already is not repeated.
const REPEATED: usize = 1 << 10;

/// So many letters of a hash name what is kept.
const NAME: usize = 20;

impl<A: Audience> Driver<A> {
    /// The tools there are, those for reading back cut results and for commands among them where there are such.
    pub(super) fn known_tools(&self) -> Vec<KnownTool> {
        let mut known = self.settings.tools.tools();
        if self.thread.kept_results > 0 {
            known.extend(self.settings.tools.reader());
        }
        if !self.thread.commands.is_empty() {
            known.extend(self.settings.tools.command_tool());
        }
        known
    }

    /// `outcome` as the model gets it. What is kept is in the log before.
    pub(super) async fn guarded(&mut self, call_id: &CallId, outcome: ToolOutcome) -> ToolOutcome {
        if outcome.error.is_some() || self.is_of_a_hook() {
            return self.short(outcome);
        }
        let most = if self.is_crowded() { LONGEST_CROWDED } else { LONGEST };
        let outcome = if outcome.output.len() > most {
            self.kept(call_id, &outcome.output, most).await.unwrap_or_else(|| self.short(outcome))
        } else {
            self.short(outcome)
        };
        let Some(earlier) = self.repeated(&outcome.output) else { return outcome };
        let bytes = outcome.output.len();
        let output =
            format!("The same as the result of your earlier call {earlier}: {bytes} bytes, not repeated here.");
        ToolOutcome { output, error: None }
    }

    /// Keeps a long result whole, and gives what the model gets of it; `None` where it cannot be kept.
    async fn kept(&mut self, call_id: &CallId, whole: &str, most: usize) -> Option<ToolOutcome> {
        let hash = match self.settings.store.keep_result(whole) {
            Ok(hash) => hash,
            Err(error) => {
                self.complain(&error);
                return None;
            }
        };
        let bytes = whole.len() as u64;
        let output = cut(whole, most, hash.as_str().get(..NAME).unwrap_or_default());
        self.emit(Event::Tool(ToolEvent::ResultKept { call_id: call_id.clone(), hash, bytes })).await;
        Some(self.short(ToolOutcome { output, error: None }))
    }

    fn is_crowded(&self) -> bool {
        let used = self.thread.context().max(self.thread.counted.unwrap_or_default());
        let window = self.settings.models.window(&self.thread.model);
        window.is_some_and(|Tokens(window)| used.0 > window / 4 * 3)
    }

    fn is_of_a_hook(&self) -> bool {
        matches!(self.thread.phase, Phase::Hooks(_))
    }

    /// The earlier call whose result the model has that is the same as `output`.
    fn repeated(&self, output: &str) -> Option<String> {
        if output.len() < REPEATED {
            return None;
        }
        let said = self.thread.history.iter().flat_map(|entry| &entry.message.blocks);
        let now = self.thread.phase.calls().iter().filter_map(|staged| match &staged.stage {
            CallStage::Done(block) => Some(block),
            CallStage::Queued | CallStage::AwaitingApproval(_) | CallStage::Running { .. } => None,
        });
        let mut results = said.chain(now).filter_map(|block| {
            let Block::ToolResult { call_id, output, error: false, images } = block else { return None };
            // Two pictures may have the same words.
            images.is_empty().then_some((call_id, output))
        });
        results.find(|(_, earlier)| *earlier == output).map(|(call_id, _)| call_id.0.clone())
    }
}

/// The beginning and the end of a text, and where the rest is.
fn cut(text: &str, most: usize, name: &str) -> String {
    let head = text.get(..text.floor_char_boundary(most / 4 * 3)).unwrap_or_default();
    // Whole lines, where there are any.
    let head =
        head.rfind('\n').and_then(|end| head.get(..=end)).filter(|cut| cut.len() > head.len() / 2).unwrap_or(head);
    let tail = text.get(text.ceil_char_boundary(text.len() - most / 4)..).unwrap_or_default();
    let tail =
        tail.find('\n').and_then(|at| tail.get(at + 1..)).filter(|cut| cut.len() > tail.len() / 2).unwrap_or(tail);
    let (from, whole) = (head.len(), text.len());
    let left_out = whole - from - tail.len();
    let tool = flattened(RESULT);
    format!(
        "{head}\n… {left_out} of {whole} bytes are left out here; read them with {tool}: \
         {{\"result\": \"{name}\", \"offset\": {from}}} …\n{tail}"
    )
}

#[cfg(test)]
mod tests {
    #[test]
    fn both_ends_of_a_long_text_stay_in_whole_lines_and_the_rest_is_named() {
        let text: String = (0..2_000).fold(String::new(), |all, number| all + &format!("line {number}\n"));
        let cut = super::cut(&text, 4_000, "abc");
        assert!(cut.starts_with("line 0\n") && cut.ends_with("line 1999\n"), "{cut}");
        let (head, rest) = cut.split_once("\n… ").unwrap();
        let from = head.len();
        assert!(rest.contains(&format!("{{\"result\": \"abc\", \"offset\": {from}}}")), "{rest}");
        let tail = rest.split_once(" …\n").unwrap().1;
        assert!(rest.starts_with(&format!("{} of {} bytes", text.len() - head.len() - tail.len(), text.len())));
        assert!(tail.starts_with("line "), "{tail}");
        assert!(super::cut(&"é".repeat(9_000), 4_000, "x").contains("bytes are left out"));
    }
}
