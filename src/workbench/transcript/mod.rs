//! What the thread has said and done, as a list of blocks in the order of the screen.
//!
//! Blocks come from log records ([`fold`]) and from live pieces ([`live`]). A block keeps its id for life and gets a
//! new revision whenever something other than the end of its text changed, so a drawing cache knows what it still
//! holds. Texts are held once.

mod fold;
mod live;

use crate::domain::event::{Denial, StopReason};
use crate::domain::{
    Attachment, CallId, CustomEntry, CustomMessage, Drawing, Image, ModelRef, Money, Note, NoteKind, Record, ThreadId,
    Tokens,
};
use std::collections::VecDeque;
use std::sync::Arc;

/// Name of a block. Later blocks have higher ids; older pages get negative ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(pub i64);

/// One piece of the transcript.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    pub id: BlockId,
    /// Changes when anything changed but text that was added at the end.
    pub revision: u32,
    /// Whether thinking, tool arguments and results are shown in full.
    pub open: bool,
    pub kind: Kind,
    /// The message of an extension that it shows.
    pub message: Option<Box<CustomMessage>>,
    /// What an extension left in the log and may draw; nobody else shows anything of it.
    pub entry: Option<Box<CustomEntry>>,
    /// How an extension draws it.
    pub drawn: Option<Box<Drawn>>,
}

/// How an extension drew a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawn {
    pub terms: DrawingTerms,
    pub drawing: Drawing,
}

/// What a drawing was made for: it is made anew when something of it changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrawingTerms {
    /// Columns.
    pub width: u16,
    pub open: bool,
    /// Whether the result of a call was there.
    pub ended: bool,
    /// The count of [`DrawnKinds::redraws`](crate::domain::DrawnKinds::redraws).
    pub redraws: u64,
}

impl Block {
    /// Whether it may show more than it does, or less. A short prompt never does.
    #[must_use]
    pub fn folds(&self) -> bool {
        match &self.kind {
            _ if (self.message.is_some() || self.entry.is_some()) && self.drawn.is_some() => true,
            Kind::Tool(_) | Kind::Thinking(_) => true,
            Kind::Prompt(prompt) => {
                prompt.sent.is_some() || prompt.text.len() > 2_000 || prompt.text.lines().nth(24).is_some()
            }
            Kind::Answer(_) | Kind::Marker(_) => false,
        }
    }

    /// About how much text it holds.
    fn bytes(&self) -> usize {
        let drawn = self.drawn.as_ref().map_or(0, |drawn| drawn.drawing.bytes());
        let message = self.message.as_ref().map_or(0, |message| message.text.len());
        let entry = self.entry.as_ref().map_or(0, |entry| entry.data.to_string().len());
        64 + drawn
            + message
            + entry
            + match &self.kind {
                Kind::Prompt(prompt) => prompt.text.len() + prompt.sent.as_ref().map_or(0, String::len),
                Kind::Answer(answer) => answer.text.len(),
                Kind::Thinking(thinking) => thinking.text.len(),
                Kind::Tool(tool) => tool.input.len() + tool.output.len(),
                Kind::Marker(marker) => marker.text.len(),
            }
    }

    /// How an extension draws it as it is shown now. Why a call was not run is always told in words of the program.
    #[must_use]
    pub fn drawing(&self) -> Option<&Drawing> {
        let denied = matches!(&self.kind, Kind::Tool(tool) if tool.denied.is_some());
        let drawn = self.drawn.as_ref().filter(|drawn| drawn.terms.open == self.open && !denied)?;
        Some(&drawn.drawing)
    }

    /// Whether it tells what the context of the answer below was made from.
    pub(super) fn tells_context(&self) -> bool {
        matches!(&self.kind, Kind::Marker(marker) if marker.sort == NoteKind::Context)
    }

    /// Shows it in full or folds it; an answer is always shown in full.
    pub(super) fn set_open(&mut self, open: bool) {
        if self.open != open && !matches!(self.kind, Kind::Answer(_)) {
            self.open = open;
            self.revision += 1;
        }
    }
}

/// What a block shows.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    Prompt(Prompt),
    Answer(Answer),
    Thinking(Thinking),
    Tool(Tool),
    Marker(Marker),
}

/// What somebody said to the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Prompt {
    /// As it was written.
    pub text: String,
    /// What handlers, skills and templates made of it, where that is something else.
    pub sent: Option<String>,
    /// `user`, or another role of the log.
    pub role: String,
    /// Not confirmed by the worker yet.
    pub pending: bool,
    /// The worker's number of it, where that is known.
    pub number: Option<u64>,
    /// What goes along with it.
    pub images: Vec<Image>,
    /// The same, without their texts.
    pub files: Vec<Attachment>,
}

impl Prompt {
    /// What stands in its place where it says nothing: a directive was begun as it is.
    #[must_use]
    pub fn stands_in(&self) -> Option<&'static str> {
        let says_nothing = self.text.trim().is_empty() && self.images.is_empty();
        says_nothing.then_some("(the directive, without a prompt)")
    }
}

/// Text of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub text: String,
    pub request: u32,
    /// `None` while it is being written.
    pub ended: Option<StopReason>,
    /// Known once it has ended; shown below the last part of an answer.
    pub summary: Option<Summary>,
}

/// What an answer took.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    pub model: ModelRef,
    /// Tokens of the request, from a provider's cache or not.
    pub input: Tokens,
    pub output: Tokens,
    pub spend: Option<Money>,
    pub elapsed_ms: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Thinking {
    pub text: String,
    pub request: u32,
    pub finished: bool,
    /// What an extension calls it while it is folded.
    pub label: Option<Arc<str>>,
}

/// A tool call and its result.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    pub call_id: CallId,
    pub name: String,
    /// The argument by which a person recognises the call: a command, a path, a pattern.
    pub main: String,
    /// The arguments as people read them; JSON while the model still writes them.
    pub input: String,
    /// What it changes in files, as a unified difference.
    pub change: Option<String>,
    pub output: String,
    pub state: ToolState,
    /// Why it was not run; what the model was told of it is how it failed.
    pub denied: Option<Denial>,
    /// The thread that it started.
    pub child: Option<ThreadId>,
}

impl Tool {
    /// Who denied it, in few words.
    #[must_use]
    pub fn denied_by(&self) -> Option<&'static str> {
        Some(match self.denied? {
            Denial::Refused => "denied by you",
            Denial::Missing => "denied: the directive does not grant it",
            Denial::Unattended => "denied: nobody could be asked",
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolState {
    /// The model is still writing the call, or it has not started.
    Asked,
    /// A person has to allow it.
    Waiting,
    Running,
    Done,
    Failed(String),
}

/// A line of the program itself between what was said.
#[derive(Clone, Debug, PartialEq)]
pub struct Marker {
    pub sort: NoteKind,
    pub text: String,
}

/// The blocks and what is known about the answer in flight.
#[derive(Clone, Debug, Default)]
pub struct Transcript {
    blocks: VecDeque<Block>,
    next_id: i64,
    /// Blocks of the answer in flight, in order.
    live: Vec<BlockId>,
    live_request: u32,
    /// The newest request whose answer is in the log.
    answered: u32,
    /// Whether what the thread may do has been told.
    permitted: bool,
    /// Whether foldable blocks are born open.
    open: bool,
    thought_label: Option<Arc<str>>,
    /// What handlers made for the prompt that joins next.
    prepared: Option<Prepared>,
    /// What is to be told of the handlers of the answer that follows.
    of_answer: Option<Note>,
    /// No block has had a lower id than this.
    lowest: i64,
    /// Where requests begin: in the log, and the id of the block that came next.
    turns: VecDeque<(u64, BlockId)>,
}

/// What is told of a prompt's handlers, behind the prompt.
#[derive(Clone, Debug, Default)]
struct Prepared {
    typed: Option<String>,
    messages: Vec<CustomMessage>,
    note: Option<Note>,
}

/// So many bytes of text are held; what is older is let go, and read again when somebody looks for it.
const MOST: usize = 16 << 20;

/// Text whose lines end with `\n` alone.
fn plain_lines(text: String) -> String {
    if text.contains('\r') { text.replace('\r', "") } else { text }
}

/// Ids of two transcripts lie this far apart, with room for older pages between.
const APART: i64 = 1 << 40;

impl Transcript {
    /// An empty transcript whose blocks share no id with this one's, so that nothing kept for these is taken for its.
    pub(super) fn successor(&self) -> Self {
        let next_id = self.next_id + APART;
        Self { next_id, lowest: next_id, open: self.open, ..Self::default() }
    }

    /// An empty transcript that is shown beside others: neither it nor its successors share an id with those that begin
    /// with the first block of all.
    pub(super) fn apart() -> Self {
        let next_id = i64::MIN / 2;
        Self { next_id, lowest: next_id, ..Self::default() }
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// The block at a place counted from the oldest loaded.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&Block> {
        self.blocks.get(index)
    }

    #[must_use]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Block> {
        self.blocks.iter()
    }

    /// The place of a block, or of the one that took its place.
    #[must_use]
    pub fn index_of(&self, id: BlockId) -> usize {
        match self.blocks.binary_search_by_key(&id, |block| block.id) {
            Ok(index) => index,
            Err(index) => index.min(self.blocks.len().saturating_sub(1)),
        }
    }

    #[must_use]
    pub fn block(&self, id: BlockId) -> Option<&Block> {
        let index = self.blocks.binary_search_by_key(&id, |block| block.id).ok()?;
        self.blocks.get(index)
    }

    pub(super) fn block_mut(&mut self, id: BlockId) -> Option<&mut Block> {
        let index = self.blocks.binary_search_by_key(&id, |block| block.id).ok()?;
        self.blocks.get_mut(index)
    }

    /// Adds a block at the end.
    pub(super) fn push(&mut self, mut kind: Kind) -> BlockId {
        let id = BlockId(self.next_id);
        self.next_id += 1;
        if let Kind::Thinking(thinking) = &mut kind {
            thinking.label.clone_from(&self.thought_label);
        }
        self.blocks.push_back(Block {
            id,
            revision: 0,
            open: self.open,
            kind,
            message: None,
            entry: None,
            drawn: None,
        });
        id
    }

    pub(super) fn mark(&mut self, sort: NoteKind, text: impl Into<String>) -> BlockId {
        self.push(Kind::Marker(Marker { sort, text: text.into() }))
    }

    /// What draws blocks is another extension, or none.
    pub(super) fn forget_drawings(&mut self) {
        for block in self.blocks.iter_mut().filter(|block| block.drawn.is_some()) {
            block.drawn = None;
            block.revision += 1;
        }
    }

    pub(super) fn remove(&mut self, id: BlockId) {
        if let Ok(index) = self.blocks.binary_search_by_key(&id, |block| block.id) {
            self.blocks.remove(index);
        }
    }

    /// What folded thoughts are called from here on; as usual without.
    pub(super) fn label_thoughts(&mut self, label: Option<&str>) {
        if self.thought_label.as_deref() == label {
            return;
        }
        self.thought_label = label.map(Arc::from);
        for block in &mut self.blocks {
            if let Kind::Thinking(thinking) = &mut block.kind {
                thinking.label.clone_from(&self.thought_label);
                block.revision += 1;
            }
        }
    }

    /// Shows or folds all details.
    pub(super) fn set_open(&mut self, open: bool) {
        self.open = open;
        for block in &mut self.blocks {
            block.set_open(open);
        }
    }

    /// A request begins in the log at `offset`.
    pub(super) fn turn_at(&mut self, offset: u64) {
        self.turns.push_back((offset, BlockId(self.next_id)));
    }

    /// Lets go of what is older than a request, where more than enough is held; returns where in the log that begins.
    pub(super) fn let_go(&mut self) -> Option<u64> {
        let mut held: usize = self.blocks.iter().map(Block::bytes).sum();
        if held <= MOST {
            return None;
        }
        let pending = |block: &&Block| matches!(&block.kind, Kind::Prompt(prompt) if prompt.pending);
        let first_pending = self.blocks.iter().find(pending).map(|block| block.id);
        let mut from = None;
        while held > MOST / 2
            && let Some((offset, id)) =
                self.turns.front().copied().filter(|(_, id)| first_pending.is_none_or(|at| *id <= at))
        {
            self.turns.pop_front();
            while self.blocks.front().is_some_and(|block| block.id < id) {
                held -= self.blocks.pop_front().map_or(0, |block| block.bytes());
            }
            from = Some(offset);
        }
        from
    }

    /// Puts an older page of the log before what is loaded.
    pub(super) fn prepend(&mut self, records: Vec<Record>) {
        let mut older = Self { open: self.open, thought_label: self.thought_label.clone(), ..Self::default() };
        for record in records {
            older.apply(record);
        }
        // An id that was let go is not given again: what was drawn of it is still known.
        let first = self.lowest;
        for (step, mut block) in (1..).zip(older.blocks.into_iter().rev()) {
            block.id = BlockId(first - step);
            self.lowest = block.id.0;
            if let Kind::Tool(asked) = &block.kind
                && asked.state == ToolState::Running
                && let Some(answered) = self.tool_mut(&asked.call_id)
                && let Kind::Tool(tool) = &mut answered.kind
            {
                tool.name.clone_from(&asked.name);
                tool.main.clone_from(&asked.main);
                tool.input.clone_from(&asked.input);
                answered.revision += 1;
                continue;
            }
            self.blocks.push_front(block);
        }
    }

    /// The newest tool block of that call.
    fn tool_mut(&mut self, call_id: &CallId) -> Option<&mut Block> {
        self.blocks.iter_mut().rev().find(|block| matches!(&block.kind, Kind::Tool(tool) if tool.call_id == *call_id))
    }

    /// The name of the tool or command that runs, among the newest blocks.
    pub(super) fn runs(&self) -> Option<&str> {
        const NEWEST: usize = 64;
        self.blocks.iter().rev().take(NEWEST).find_map(|block| match &block.kind {
            Kind::Tool(tool) if tool.state == ToolState::Running => Some(tool.name.as_str()),
            Kind::Tool(_) | Kind::Prompt(_) | Kind::Answer(_) | Kind::Thinking(_) | Kind::Marker(_) => None,
        })
    }

    /// How many calls of the newest answer have not begun.
    #[must_use]
    pub fn unanswered_calls(&self) -> usize {
        const NEWEST: usize = 64;
        let newest = self.blocks.iter().rev().take(NEWEST);
        let of_answer = newest.take_while(|block| matches!(block.kind, Kind::Tool(_) | Kind::Marker(_)));
        let waits = |block: &&Block| matches!(&block.kind, Kind::Tool(tool) if matches!(tool.state, ToolState::Asked | ToolState::Waiting));
        of_answer.filter(waits).count()
    }

    /// The text of the newest answer, all its parts together.
    #[must_use]
    pub fn last_answer(&self) -> Option<String> {
        let request = self.blocks.iter().rev().find_map(|block| match &block.kind {
            Kind::Answer(answer) if !answer.text.is_empty() => Some(answer.request),
            Kind::Prompt(_) | Kind::Answer(_) | Kind::Thinking(_) | Kind::Tool(_) | Kind::Marker(_) => None,
        })?;
        let mut text = String::new();
        for block in &self.blocks {
            if let Kind::Answer(answer) = &block.kind
                && answer.request == request
            {
                text.push_str(&answer.text);
            }
        }
        Some(text)
    }
}
