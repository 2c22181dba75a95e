//! From a plan and a history to an [`Assembly`].

use crate::domain::{
    Absence, Assembly, Attachment, AttachmentKind, Block, Channel, ContentHash, Decision, Entry, HistoryEdits, Layer,
    LayerKind, Lifetime, Message, Origin, Piece, Space, Stage, TokenCount, Tokens,
};
use std::sync::Arc;

/// What a request is made of.
#[derive(Clone, Copy, Debug, Default)]
pub struct Parts<'a> {
    /// Candidates for the system text, in its order.
    pub system: &'a [Piece],
    /// Candidates for the beginning of the first message that is the thread's own, in its order.
    pub opening: &'a [Piece],
    /// What holds now.
    pub state: &'a [Piece],
    /// What was said, without anything around it.
    pub history: &'a [Entry],
    /// So many of the oldest messages come before the opening: they were said in a thread that this one goes on with.
    pub inherited: usize,
    /// What handlers made of the history for this request alone.
    pub edits: Option<&'a HistoryEdits>,
}

/// What stands above the state.
const STATE: &str = "Current context:";

/// Puts a request together: the system text; what was inherited; the opening, as a message of its own; the history with the
/// state just before the last thing that was said. Candidates that were left out are layers too.
#[must_use]
pub fn assemble(parts: &Parts<'_>) -> Assembly {
    let count = parts.system.len() + parts.opening.len() + parts.state.len() + 3;
    let history = parts.edits.map_or(parts.history, |edits| &edits.history);
    let mut making = Making {
        assembly: Assembly {
            system: String::new(),
            messages: Vec::with_capacity(parts.history.len() + 2),
            layers: Vec::with_capacity(count),
            texts: Vec::with_capacity(count),
        },
        edits: parts.edits,
    };
    making.assembly.system = making.joined(parts.system, Channel::System, String::new());
    // With edits, as many of the first as still are what was inherited.
    let inherited = parts.edits.map_or(parts.inherited, |edits| {
        let theirs = parts.history.get(..parts.inherited).unwrap_or_default();
        let stays = |(place, entry): &(usize, &Entry)| {
            !edits.made.contains(place) && theirs.iter().any(|known| known.hash == entry.hash)
        };
        edits.history.iter().enumerate().take_while(stays).count().min(parts.inherited)
    });
    let (inherited, history) = history.split_at(inherited.min(history.len()));
    making.history("inherited", inherited, 0);
    making.message(parts.opening, String::new());
    let prompt = history.iter().rposition(|entry| entry.message.is_prompt()).unwrap_or(history.len());
    making.history("history", history.get(..prompt).unwrap_or_default(), inherited.len());
    making.message(parts.state, STATE.to_owned());
    if let Some((entry, after)) = history.get(prompt..).and_then(<[Entry]>::split_first) {
        making.said(entry, prompt == 0 && inherited.is_empty(), inherited.len() + prompt);
        making.history("turn", after, inherited.len() + prompt + 1);
    }
    making.gone();
    making.assembly
}

struct Making<'a> {
    assembly: Assembly,
    edits: Option<&'a HistoryEdits>,
}

impl Making<'_> {
    /// Who made the message at a place of the history, if it is not the thread's own.
    fn maker(&self, place: usize) -> Option<&Origin> {
        self.edits.filter(|edits| edits.made.contains(&place)).map(|edits| &edits.by)
    }

    fn add(&mut self, layer: Layer, text: Arc<str>) {
        self.assembly.layers.push(layer);
        self.assembly.texts.push(text);
    }

    /// The included texts behind `text`, with blank lines between, each a layer.
    fn joined(&mut self, pieces: &[Piece], channel: Channel, mut text: String) -> String {
        for piece in pieces {
            if piece.is_included() && !text.is_empty() {
                text.push_str("\n\n");
            }
            let start = text.len();
            text.push_str(&piece.text);
            self.add(piece.layer(channel, start..text.len()), piece.text.clone());
        }
        text
    }

    /// A message of the user's role made of `pieces`, if there is anything to say.
    fn message(&mut self, pieces: &[Piece], heading: String) {
        let any = pieces.iter().any(Piece::is_included);
        let channel = Channel::Message { index: self.assembly.messages.len() };
        let text = self.joined(pieces, channel, if any { heading } else { String::new() });
        if any {
            self.assembly.messages.push(Entry::new(Message::user(text)));
        }
    }

    fn said(&mut self, entry: &Entry, first: bool, place: usize) {
        let index = self.assembly.messages.len();
        self.assembly.messages.push(entry.clone());
        let attached = self.attached(index, entry);
        let text = entry.message.text();
        if first && text.is_empty() {
            // A directive that was run without a word of the person's.
            return;
        }
        let begins = entry.message.told().len() - text.len();
        let layer = Layer {
            id: "user".to_owned(),
            kind: LayerKind::User,
            channel: Channel::Message { index },
            origin: self.maker(place).cloned().unwrap_or(Origin::User),
            tokens: TokenCount { count: Tokens(entry.tokens.0.saturating_sub(attached.0)), exact: false },
            lifetime: Lifetime::PerPrompt,
            decision: Decision::Included,
            hash: ContentHash::of(text.as_bytes()),
            range: begins..begins + text.len(),
        };
        self.add(layer, Arc::from(text));
    }

    /// The texts that go along with the message at `index`, each a layer; answers with the tokens of all.
    fn attached(&mut self, index: usize, entry: &Entry) -> Tokens {
        let (mut at, mut all) = (0, Tokens(0));
        for block in &entry.message.blocks {
            let told = block.told().map_or(0, |told| told.len());
            if let Block::Attached(attachment) = block {
                let Attachment { kind, name, text, .. } = attachment;
                let (begins, tokens) = (at + attachment.text_begins(), Tokens::of_bytes(told));
                let origin = match kind {
                    AttachmentKind::File | AttachmentKind::Folder => {
                        Origin::File { space: Space::Project, path: name.clone() }
                    }
                    AttachmentKind::Thread => Origin::OtherThread { id: name.clone() },
                };
                let layer = Layer {
                    id: name.clone(),
                    kind: LayerKind::Attachment,
                    channel: Channel::Message { index },
                    origin,
                    tokens: TokenCount { count: tokens, exact: false },
                    lifetime: Lifetime::Once,
                    decision: Decision::Included,
                    hash: ContentHash::of(text.as_bytes()),
                    range: begins..begins + text.len(),
                };
                self.add(layer, Arc::clone(text));
                all += tokens;
            }
            at += told;
        }
        all
    }

    /// Messages as they were sent before, as one layer; what went along with them is behind it. What handlers added or made
    /// of them stands apart. The first of `entries` is at `place` in the history.
    fn history(&mut self, id: &str, entries: &[Entry], place: usize) {
        let is_own =
            |index: usize, entry: &Entry| entry.message.as_custom().is_none() && self.maker(place + index).is_none();
        let own: Vec<bool> = entries.iter().enumerate().map(|(index, entry)| is_own(index, entry)).collect();
        let (mut index, mut runs) = (0, 0_u32);
        while let Some(entry) = entries.get(index) {
            if own.get(index) == Some(&false) {
                self.made(entry, place + index);
                index += 1;
                continue;
            }
            let count = own.iter().skip(index).take_while(|own| **own).count();
            runs += 1;
            let id = if runs == 1 { id.to_owned() } else { format!("{id}#{runs}") };
            self.run(id, entries.get(index..index + count).unwrap_or_default());
            index += count;
        }
    }

    /// A message that a handler added to the thread, or made for this request.
    fn made(&mut self, entry: &Entry, place: usize) {
        let index = self.assembly.messages.len();
        self.assembly.messages.push(entry.clone());
        let tokens = TokenCount { count: entry.tokens, exact: false };
        let (kind, decision) = (LayerKind::ExtensionMessage, Decision::Included);
        let (origin, lifetime) = match self.maker(place) {
            Some(by) => (by.clone(), Lifetime::PerCall),
            None => (Origin::Thread, Lifetime::PerPrompt),
        };
        let layer = if let Some(custom) = entry.message.as_custom() {
            let by = Origin::Handler { stage: Stage::BeforeAgentStart, handler: custom.by.clone(), place: None };
            Layer {
                id: custom.custom_type.clone(),
                kind,
                channel: Channel::Message { index },
                origin: if origin == Origin::Thread { by } else { origin },
                tokens,
                lifetime,
                decision,
                hash: ContentHash::of(custom.text.as_bytes()),
                range: 0..custom.text.len(),
            }
        } else {
            let hash = entry.hash.as_str();
            Layer {
                id: format!("message {}", index + 1),
                kind,
                channel: Channel::Messages { first: index, count: 1 },
                origin,
                tokens,
                lifetime,
                decision,
                hash: ContentHash::of(format!("{hash}\n").as_bytes()),
                range: 0..hash.len() + 1,
            }
        };
        let text = match entry.message.as_custom() {
            Some(custom) => Arc::from(custom.text.as_str()),
            None => Arc::from(format!("{}\n", entry.hash.as_str())),
        };
        self.add(layer, text);
    }

    /// What handlers left out of this request.
    fn gone(&mut self) {
        let Some(edits) = self.edits else { return };
        let Origin::Handler { stage, handler, .. } = &edits.by else { return };
        let absence = Absence::Removed { stage: *stage, by: handler.clone() };
        for (number, entry) in (1_u32..).zip(&edits.gone) {
            let text: Arc<str> = Arc::from(entry.message.told());
            let layer = Layer {
                id: format!("left out {number}"),
                kind: LayerKind::History,
                channel: Channel::Messages { first: 0, count: 0 },
                origin: Origin::Thread,
                tokens: TokenCount { count: entry.tokens, exact: false },
                lifetime: Lifetime::PerCall,
                decision: Decision::Skipped { absence: absence.clone() },
                hash: ContentHash::of(text.as_bytes()),
                range: 0..0,
            };
            self.add(layer, text);
        }
    }

    fn run(&mut self, id: String, entries: &[Entry]) {
        let first = self.assembly.messages.len();
        self.assembly.messages.extend_from_slice(entries);
        let mut hashes = String::with_capacity(entries.len() * 65);
        for entry in entries {
            hashes.push_str(entry.hash.as_str());
            hashes.push('\n');
        }
        let own: Tokens = entries.iter().map(|entry| entry.tokens).sum();
        let place = self.assembly.layers.len();
        let attached: Tokens =
            entries.iter().enumerate().map(|(number, entry)| self.attached(first + number, entry)).sum();
        let layer = Layer {
            id,
            kind: LayerKind::History,
            channel: Channel::Messages { first, count: entries.len() },
            origin: Origin::Thread,
            tokens: TokenCount { count: Tokens(own.0.saturating_sub(attached.0)), exact: false },
            lifetime: Lifetime::PerCall,
            decision: Decision::Included,
            hash: ContentHash::of(hashes.as_bytes()),
            range: 0..hashes.len(),
        };
        self.assembly.layers.insert(place, layer);
        self.assembly.texts.insert(place, Arc::from(hashes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{CallId, Role};

    fn piece(kind: LayerKind, id: &str, text: &str) -> Piece {
        let decision = if text.is_empty() { Decision::Skipped { absence: Absence::Empty } } else { Decision::Included };
        let (id, text, lifetime) = (id.to_owned(), Arc::from(text), Lifetime::Once);
        Piece { id, kind, origin: Origin::User, lifetime, decision, text }
    }

    fn slice<'a>(assembly: &'a Assembly, layer: &Layer) -> &'a str {
        let text = if let Channel::Message { index } = layer.channel {
            let Block::Text { text } = &assembly.messages[index].message.blocks[0] else { panic!("{layer:?}") };
            text
        } else {
            assembly.system.as_str()
        };
        text.get(layer.range.clone()).unwrap()
    }

    #[test]
    fn ranges_point_at_the_text_of_every_layer() {
        let system = [
            piece(LayerKind::Constitution, "rules", "Be honest."),
            piece(LayerKind::SystemHook, "gone", ""),
            piece(LayerKind::DirectiveSystem, "chat", "Be brief."),
        ];
        let opening = [piece(LayerKind::HookBefore, "env", "Here."), piece(LayerKind::Prompt, "chat", "Do it.")];
        let state = [piece(LayerKind::ContextState, "time", "Now: noon")];
        let history = [Entry::new(Message::user("hi"))];
        let assembly = assemble(&Parts {
            system: &system,
            opening: &opening,
            state: &state,
            history: &history,
            ..Parts::default()
        });
        assert_eq!(assembly.system, "Be honest.\n\nBe brief.");
        let texts: Vec<_> = assembly.layers.iter().map(|layer| slice(&assembly, layer)).collect();
        assert_eq!(texts, ["Be honest.", "", "Be brief.", "Here.", "Do it.", "Now: noon", "hi"]);
        assert!(texts.iter().zip(&assembly.texts).all(|(slice, text)| *slice == &**text));
        let said: Vec<_> = assembly.messages.iter().map(|entry| entry.message.text()).collect();
        assert_eq!(said, ["Here.\n\nDo it.", "Current context:\n\nNow: noon", "hi"]);
    }

    #[test]
    fn state_stays_before_what_was_said_last_and_tool_rounds_behind_it() {
        let result =
            Block::ToolResult { call_id: CallId("1".into()), output: "ok".into(), error: false, images: Vec::new() };
        let history = [
            Entry::new(Message::user("first")),
            Entry::new(Message::assistant("one")),
            Entry::new(Message::user("second")),
            Entry::new(Message::assistant("calling")),
            Entry::new(Message { role: Role::User, blocks: vec![result] }),
        ];
        let state = [piece(LayerKind::ContextState, "time", "noon")];
        let opening = [piece(LayerKind::Prompt, "chat", "Do it.")];
        let assembly = assemble(&Parts { state: &state, opening: &opening, history: &history, ..Parts::default() });
        let shape: Vec<_> = assembly.layers.iter().map(|layer| (layer.id.as_str(), layer.channel)).collect();
        assert_eq!(
            shape,
            [
                ("chat", Channel::Message { index: 0 }),
                ("history", Channel::Messages { first: 1, count: 2 }),
                ("time", Channel::Message { index: 3 }),
                ("user", Channel::Message { index: 4 }),
                ("turn", Channel::Messages { first: 5, count: 2 }),
            ]
        );
        assert_eq!(assembly.messages.len(), 7);
    }

    #[test]
    fn a_request_without_history_has_no_message_layers() {
        assert!(assemble(&Parts::default()).layers.is_empty());
    }
}
