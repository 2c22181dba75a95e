//! The answer in flight, piece by piece.

use super::{Answer, BlockId, Kind, Thinking, Tool, ToolState, Transcript, plain_lines};
use crate::domain::CallId;
use crate::domain::event::{Delta, StopReason};

/// Bytes of a running tool's output that are kept.
const PRINTED: usize = 32 << 10;

/// Pieces of one kind in a row, joined.
enum Piece {
    Text(String),
    Thinking(String),
    Tool { id: CallId, name: String, input: String },
}

/// The piece without carriage returns. How they would break lines depends on how a text was cut, so they are left out
/// here, as they are where the text comes whole.
fn without_returns(delta: Delta) -> Delta {
    match delta {
        Delta::Text { text } => Delta::Text { text: plain_lines(text) },
        Delta::Thinking { text } => Delta::Thinking { text: plain_lines(text) },
        Delta::ToolCallStart { .. } | Delta::ToolInputDelta { .. } => delta,
    }
}

impl Transcript {
    /// Adds a piece to the answer of `request`. Pieces of answers that are already in the log are left out.
    pub(in crate::workbench) fn delta(&mut self, request: u32, delta: Delta) {
        if request <= self.answered {
            return;
        }
        self.expect_request(request);
        let delta = without_returns(delta);
        let last = self.live.last().copied().and_then(|id| self.block_mut(id)).map(|block| &mut block.kind);
        match (delta, last) {
            (Delta::Text { text }, Some(Kind::Answer(answer))) if answer.ended.is_none() => answer.text.push_str(&text),
            (Delta::Thinking { text }, Some(Kind::Thinking(thinking))) if !thinking.finished => {
                thinking.text.push_str(&text);
            }
            (Delta::ToolInputDelta { partial_json }, Some(Kind::Tool(tool))) if tool.state == ToolState::Asked => {
                tool.input.push_str(&partial_json);
            }
            (Delta::Text { text }, _) => self.begin(Piece::Text(text)),
            (Delta::Thinking { text }, _) => self.begin(Piece::Thinking(text)),
            (Delta::ToolCallStart { id, name }, _) => self.begin(Piece::Tool { id, name, input: String::new() }),
            // Arguments of a call whose beginning was missed; the log will tell.
            (Delta::ToolInputDelta { .. }, _) => {}
        }
    }

    /// Everything of the answer in flight so far: it replaces what is here, in place as far as it is the same.
    pub(in crate::workbench) fn inflight(&mut self, request: u32, deltas: Vec<Delta>) {
        if request <= self.answered {
            return;
        }
        self.expect_request(request);
        let mut pieces: Vec<Piece> = Vec::new();
        for delta in deltas.into_iter().map(without_returns) {
            match (delta, pieces.last_mut()) {
                (Delta::Text { text }, Some(Piece::Text(all)))
                | (Delta::Thinking { text }, Some(Piece::Thinking(all))) => all.push_str(&text),
                (Delta::ToolInputDelta { partial_json }, Some(Piece::Tool { input, .. })) => {
                    input.push_str(&partial_json);
                }
                (Delta::Text { text }, _) => pieces.push(Piece::Text(text)),
                (Delta::Thinking { text }, _) => pieces.push(Piece::Thinking(text)),
                (Delta::ToolCallStart { id, name }, _) => {
                    pieces.push(Piece::Tool { id, name, input: String::new() });
                }
                (Delta::ToolInputDelta { .. }, _) => {}
            }
        }
        let mut old = std::mem::take(&mut self.live).into_iter().peekable();
        for piece in pieces {
            if let Some(id) = old.peek().copied()
                && self.replace(id, &piece)
            {
                old.next();
                self.live.push(id);
            } else {
                // Ids must keep the order of the screen, so the rest is made anew.
                for id in old.by_ref() {
                    self.remove(id);
                }
                self.begin(piece);
            }
        }
        for id in old {
            self.remove(id);
        }
    }

    /// Adds to what a running tool has printed; only the end of it is kept until the log has the whole.
    pub(in crate::workbench) fn tool_said(&mut self, call_id: &CallId, text: &str) {
        self.printing(call_id, |output| output.push_str(text));
    }

    /// Everything it has printed so far, as far as it is kept.
    pub(in crate::workbench) fn tool_has_said(&mut self, call_id: &CallId, text: String) {
        self.printing(call_id, |output| *output = text);
    }

    fn printing(&mut self, call_id: &CallId, change: impl FnOnce(&mut String)) {
        if let Some(block) = self.tool_mut(call_id)
            && let Kind::Tool(tool) = &mut block.kind
            && tool.state == ToolState::Running
        {
            change(&mut tool.output);
            if tool.output.len() > 2 * PRINTED {
                let cut = tool.output.ceil_char_boundary(tool.output.len() - PRINTED);
                tool.output.drain(..cut);
            }
            block.revision += 1;
        }
    }

    /// Marks what is in flight as ended by something else than its model.
    pub(in crate::workbench) fn end_live(&mut self, reason: &StopReason) {
        for index in 0..self.live.len() {
            let id = self.live[index];
            let Some(block) = self.block_mut(id) else { continue };
            match &mut block.kind {
                Kind::Answer(answer) if answer.ended.is_none() => answer.ended = Some(reason.clone()),
                Kind::Thinking(thinking) => thinking.finished = true,
                Kind::Tool(tool)
                    if matches!(tool.state, ToolState::Asked | ToolState::Waiting | ToolState::Running) =>
                {
                    tool.state = ToolState::Failed("stopped".to_owned());
                }
                Kind::Answer(_) | Kind::Prompt(_) | Kind::Tool(_) | Kind::Marker(_) => {}
            }
            // An answer's end is seen by itself, and all of it would be laid out again.
            block.revision += u32::from(!matches!(block.kind, Kind::Answer(_)));
        }
    }

    /// Takes away the rest of an attempt that came to nothing: the next one answers again.
    pub(super) fn drop_live(&mut self) {
        for id in std::mem::take(&mut self.live) {
            self.remove(id);
        }
    }

    pub(super) fn expect_request(&mut self, request: u32) {
        if request > self.live_request {
            self.drop_live();
            self.live_request = request;
        }
    }

    fn begin(&mut self, piece: Piece) {
        let request = self.live_request;
        let kind = match piece {
            Piece::Text(text) => Kind::Answer(Answer { text, request, ended: None, summary: None }),
            Piece::Thinking(text) => Kind::Thinking(Thinking { text, request, finished: false, label: None }),
            Piece::Tool { id, name, input } => {
                let (main, output, state) = (String::new(), String::new(), ToolState::Asked);
                Kind::Tool(Tool {
                    call_id: id,
                    name,
                    main,
                    input,
                    change: None,
                    output,
                    state,
                    denied: None,
                    child: None,
                })
            }
        };
        if let Some(Kind::Thinking(thinking)) =
            self.live.last().copied().and_then(|id| self.block_mut(id)).map(|block| &mut block.kind)
        {
            thinking.finished = true;
        }
        let id = self.push(kind);
        self.live.push(id);
    }

    /// Whether the block can show the piece in its place; if so it does.
    fn replace(&mut self, id: BlockId, piece: &Piece) -> bool {
        let Some(block) = self.block_mut(id) else { return false };
        let (have, new) = match (&mut block.kind, piece) {
            (Kind::Answer(answer), Piece::Text(text)) => {
                if answer.ended.take().is_some() {
                    block.revision += 1;
                }
                (&mut answer.text, text)
            }
            (Kind::Thinking(thinking), Piece::Thinking(text)) => (&mut thinking.text, text),
            (Kind::Tool(tool), Piece::Tool { id, input, .. }) if tool.call_id == *id => (&mut tool.input, input),
            _ => return false,
        };
        if let Some(more) = new.strip_prefix(have.as_str()) {
            have.push_str(more);
        } else {
            have.clone_from(new);
            block.revision += 1;
        }
        true
    }
}
