//! From system texts and history to an [`Assembly`].

use crate::domain::{
    Assembly, Block, Channel, ContentHash, Decision, Entry, Layer, LayerKind, Lifetime, Origin, Role, Space,
    TokenCount, Tokens,
};
use std::sync::Arc;

/// A text for the system channel and where it lies.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    pub kind: LayerKind,
    pub id: String,
    pub space: Space,
    /// Relative to the space.
    pub path: String,
    pub text: Arc<str>,
}

/// Puts a request together: `system` texts in the order of their kinds, then the `history`.
///
/// The last thing the user said is a layer of its own, so is what came before it and, after tool rounds, what came
/// after it.
#[must_use]
pub fn assemble(system: &[Source], history: &[Entry]) -> Assembly {
    let mut assembly =
        Assembly { system: String::new(), messages: history.to_vec(), layers: Vec::new(), texts: Vec::new() };
    let mut ordered: Vec<&Source> = system.iter().collect();
    ordered.sort_by_key(|source| source.kind);
    for source in ordered {
        add_system(&mut assembly, source);
    }
    let prompt = history.iter().rposition(is_prompt).unwrap_or(history.len());
    add_messages(&mut assembly, "history", history, 0, prompt);
    if let Some(entry) = history.get(prompt) {
        add_prompt(&mut assembly, entry, prompt);
        add_messages(&mut assembly, "turn", history, prompt + 1, history.len());
    }
    assembly
}

fn add_system(assembly: &mut Assembly, source: &Source) {
    let text = source.text.trim();
    if !assembly.system.is_empty() {
        assembly.system.push_str("\n\n");
    }
    let start = assembly.system.len();
    assembly.system.push_str(text);
    assembly.layers.push(Layer {
        id: source.id.clone(),
        kind: source.kind,
        channel: Channel::System,
        origin: Origin::Item {
            space: source.space,
            id: source.id.clone(),
            path: source.path.clone(),
            lines: Some((1, u32::try_from(source.text.lines().count()).unwrap_or(u32::MAX))),
        },
        tokens: TokenCount::estimated(text),
        lifetime: Lifetime::PerPrompt,
        decision: Decision::Included,
        hash: ContentHash::of(text.as_bytes()),
        range: start..assembly.system.len(),
    });
    assembly.texts.push(Arc::from(text));
}

/// Whether a person (or a parent) said this, as opposed to a message that only carries tool results.
fn is_prompt(entry: &Entry) -> bool {
    entry.message.role == Role::User && entry.message.blocks.iter().any(|block| matches!(block, Block::Text { .. }))
}

fn add_prompt(assembly: &mut Assembly, entry: &Entry, index: usize) {
    let text = entry.message.text();
    let first = index == 0;
    assembly.layers.push(Layer {
        id: if first { "prompt".to_owned() } else { "user".to_owned() },
        kind: if first { LayerKind::Prompt } else { LayerKind::User },
        channel: Channel::Message { index },
        origin: Origin::User,
        tokens: TokenCount { count: entry.tokens, exact: false },
        lifetime: Lifetime::PerPrompt,
        decision: Decision::Included,
        hash: ContentHash::of(text.as_bytes()),
        range: 0..text.len(),
    });
    assembly.texts.push(Arc::from(text));
}

fn add_messages(assembly: &mut Assembly, id: &str, history: &[Entry], first: usize, end: usize) {
    let Some(entries) = history.get(first..end).filter(|entries| !entries.is_empty()) else { return };
    let mut hashes = String::with_capacity(entries.len() * 65);
    for entry in entries {
        hashes.push_str(entry.hash.as_str());
        hashes.push('\n');
    }
    assembly.layers.push(Layer {
        id: id.to_owned(),
        kind: LayerKind::History,
        channel: Channel::Messages { first, count: entries.len() },
        origin: Origin::Thread,
        tokens: TokenCount { count: entries.iter().map(|entry| entry.tokens).sum::<Tokens>(), exact: false },
        lifetime: Lifetime::PerCall,
        decision: Decision::Included,
        hash: ContentHash::of(hashes.as_bytes()),
        range: 0..hashes.len(),
    });
    assembly.texts.push(Arc::from(hashes));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{CallId, Message};

    fn source(kind: LayerKind, id: &str, text: &str) -> Source {
        Source { kind, id: id.into(), space: Space::System, path: format!("{id}.md"), text: text.into() }
    }

    #[test]
    fn the_constitution_comes_first_and_ranges_point_at_the_text() {
        let system = [
            source(LayerKind::DirectiveSystem, "chat", "Be brief.\n"),
            source(LayerKind::Constitution, "rules", "Be honest.\n"),
        ];
        let assembly = assemble(&system, &[Entry::new(Message::user("hi"))]);
        assert_eq!(assembly.system, "Be honest.\n\nBe brief.");
        let slices: Vec<_> =
            assembly.layers.iter().take(2).map(|layer| assembly.system.get(layer.range.clone()).unwrap()).collect();
        assert_eq!(slices, ["Be honest.", "Be brief."]);
        assert_eq!(assembly.layers[2].kind, LayerKind::Prompt);
    }

    #[test]
    fn tool_rounds_stay_behind_the_prompt_they_belong_to() {
        let result = Block::ToolResult { call_id: CallId("1".into()), output: "ok".into(), error: false };
        let history = [
            Entry::new(Message::user("first")),
            Entry::new(Message::assistant("one")),
            Entry::new(Message::user("second")),
            Entry::new(Message::assistant("calling")),
            Entry::new(Message { role: Role::User, blocks: vec![result] }),
        ];
        let assembly = assemble(&[], &history);
        let shape: Vec<_> = assembly.layers.iter().map(|layer| (layer.id.as_str(), layer.channel)).collect();
        assert_eq!(
            shape,
            [
                ("history", Channel::Messages { first: 0, count: 2 }),
                ("user", Channel::Message { index: 2 }),
                ("turn", Channel::Messages { first: 3, count: 2 }),
            ]
        );
    }

    #[test]
    fn a_request_without_history_has_no_message_layers() {
        assert!(assemble(&[], &[]).layers.is_empty());
    }
}
