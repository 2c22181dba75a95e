//! How two requests differ: layer by layer, then word by word, and where the second leaves the text that a provider's
//! cache holds of the first.

use crate::domain::{Assembly, Channel, Decision, Layer, LayerKind, Message, Tokens};
use serde::Serialize;
use similar::{ChangeTag, DiffOp, TextDiff};
use std::collections::BTreeMap;

/// A request to compare.
#[derive(Clone, Debug, Default)]
pub struct Side {
    pub system: String,
    pub messages: Vec<Message>,
    pub layers: Vec<Layer>,
    /// The text of each layer.
    pub texts: Vec<String>,
}

impl From<&Assembly> for Side {
    fn from(assembly: &Assembly) -> Self {
        Self {
            system: assembly.system.clone(),
            messages: assembly.messages.iter().map(|entry| Message::clone(&entry.message)).collect(),
            layers: assembly.layers.clone(),
            texts: assembly.texts.iter().map(ToString::to_string).collect(),
        }
    }
}

impl Side {
    /// Estimate of all tokens in it.
    #[must_use]
    pub fn tokens(&self) -> Tokens {
        let included = self.layers.iter().filter(|layer| layer.decision == Decision::Included);
        included.map(|layer| layer.tokens.count).sum()
    }
}

/// What is different.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Layers that are not the same on both sides, in the order of the second, those only the first has at the end.
    pub layers: Vec<LayerChange>,
    /// Where the second leaves the first; `None` when it only goes on from its end.
    pub leaves: Option<Leaving>,
    /// Tokens of the first and the second.
    pub tokens: [Tokens; 2],
}

impl Difference {
    /// How many layers were added, removed and changed, and by how many tokens that is more or less.
    #[must_use]
    pub fn in_short(&self) -> String {
        let (mut added, mut removed, mut changed, mut moved) = (0_usize, 0_usize, 0_usize, 0_usize);
        for layer in &self.layers {
            match layer.change {
                Change::Added { .. } => added += 1,
                Change::Removed { .. } => removed += 1,
                Change::Moved { .. } => moved += 1,
                Change::Words { .. } | Change::Messages { .. } | Change::Reason { .. } => changed += 1,
            }
        }
        let counts = [(added, "added"), (removed, "removed"), (changed, "changed"), (moved, "moved")];
        let told: Vec<String> =
            counts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
        let told = if told.is_empty() { "the same layers".to_owned() } else { told.join(", ") };
        let [before, after] = self.tokens.map(|tokens| i128::from(tokens.0));
        match after - before {
            0 => format!("{told} · the same size"),
            more => format!("{told} · {more:+} tokens"),
        }
    }
}

/// What became of one layer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayerChange {
    pub id: String,
    pub kind: LayerKind,
    #[serde(flatten)]
    pub change: Change,
    /// Its place in the second request, where that has it.
    #[serde(skip)]
    pub place: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum Change {
    /// Only the second request has it.
    Added { tokens: Tokens },
    /// Only the first has it.
    Removed { tokens: Tokens },
    /// Both have it as it is, at another place among the layers that both have.
    Moved { before: usize, after: usize },
    /// Both have it, with other words.
    Words { words: Vec<Word> },
    /// It is messages, so many of which are the same at the beginning.
    Messages { same: usize, before: usize, after: usize },
    /// It is left out of both, for other reasons.
    Reason { before: String, after: String },
}

/// Words that stay, go or come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "is", content = "text", rename_all = "snake_case")]
pub enum Word {
    Same(String),
    Gone(String),
    New(String),
}

/// The first byte that differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Leaving {
    /// `tools`, `system`, or `message 3`, which is the order in which providers keep them.
    pub part: String,
    /// Byte of that part's text.
    pub byte: usize,
    /// The layer of the second request that byte belongs to.
    pub layer: Option<String>,
    /// About how much of the second request is before that byte.
    pub kept: Tokens,
}

/// Compares `before` with `after`.
#[must_use]
pub fn difference(before: &Side, after: &Side) -> Difference {
    let tokens = [before, after].map(Side::tokens);
    Difference { layers: layers(before, after), leaves: leaves(before, after), tokens }
}

/// Layers by kind and id; a name that comes twice is told apart by its number.
fn keyed(side: &Side) -> Vec<((LayerKind, &str, usize), usize)> {
    let mut counts: BTreeMap<(LayerKind, &str), usize> = BTreeMap::new();
    let layers = side.layers.iter().enumerate();
    layers
        .map(|(index, layer)| {
            let count = counts.entry((layer.kind, &layer.id)).or_default();
            *count += 1;
            ((layer.kind, layer.id.as_str(), *count), index)
        })
        .collect()
}

fn layers(before: &Side, after: &Side) -> Vec<LayerChange> {
    let olds: BTreeMap<_, _> = keyed(before).into_iter().collect();
    let news = keyed(after);
    let mut changes = Vec::new();
    let mut add = |layer: &Layer, place: Option<usize>, change: Change| {
        changes.push(LayerChange { id: layer.id.clone(), kind: layer.kind, change, place });
    };
    let layer = |side: &'_ Side, index: usize| side.layers.get(index).cloned();
    let text = |side: &'_ Side, index: usize| side.texts.get(index).cloned().unwrap_or_default();
    let moved = moved(before, after);
    for (key, index) in &news {
        let Some(new) = layer(after, *index) else { continue };
        let old = olds.get(key).and_then(|index| Some((layer(before, *index)?, text(before, *index))));
        match (old, &new.decision) {
            (None, Decision::Included) => add(&new, Some(*index), Change::Added { tokens: new.tokens.count }),
            (None, Decision::Skipped { .. }) => {}
            (Some((old, old_text)), _) => {
                let moved = moved.get(index).map(|(before, after)| Change::Moved { before: *before, after: *after });
                if let Some(change) = changed(&old, &old_text, &new, &text(after, *index)).or(moved) {
                    add(&new, Some(*index), change);
                }
            }
        }
    }
    for (key, index) in &olds {
        let Some(old) = layer(before, *index).filter(|old| old.decision == Decision::Included) else { continue };
        if !news.iter().any(|(other, _)| other == key) {
            add(&old, None, Change::Removed { tokens: old.tokens.count });
        }
    }
    changes
}

/// Layers that both sides include and that stand elsewhere now: by their index in `after`, their places among the
/// included ones, counted from 1.
fn moved(before: &Side, after: &Side) -> BTreeMap<usize, (usize, usize)> {
    let included = |side: &Side| -> Vec<(LayerKind, String, usize)> {
        let is_in = |index: usize| side.layers.get(index).is_some_and(|layer| layer.decision == Decision::Included);
        let keys = keyed(side).into_iter().filter(|(_, index)| is_in(*index));
        keys.map(|((kind, id, number), _)| (kind, id.to_owned(), number)).collect()
    };
    let (old, new) = (included(before), included(after));
    let mut stays = vec![false; new.len()];
    // As texts: for every type of its own the library compiles all that it can do anew.
    let texts = [&old, &new].map(|keys| keys.iter().map(|key| format!("{key:?}")).collect::<Vec<_>>());
    let [olds, news] = texts.each_ref().map(|texts| texts.iter().map(String::as_str).collect::<Vec<_>>());
    for operation in TextDiff::from_slices(&olds, &news).ops() {
        if let DiffOp::Equal { new_index, len, .. } = *operation {
            stays.iter_mut().skip(new_index).take(len).for_each(|stays| *stays = true);
        }
    }
    let indices = keyed(after).into_iter().map(|(_, index)| index);
    let mut indices =
        indices.filter(|index| after.layers.get(*index).is_some_and(|layer| layer.decision == Decision::Included));
    let mut moved = BTreeMap::new();
    for (place, (key, stays)) in new.iter().zip(stays).enumerate() {
        let Some(index) = indices.next() else { break };
        if let Some(from) = old.iter().position(|other| other == key).filter(|_| !stays) {
            moved.insert(index, (from + 1, place + 1));
        }
    }
    moved
}

fn changed(old: &Layer, old_text: &str, new: &Layer, new_text: &str) -> Option<Change> {
    match (&old.decision, &new.decision) {
        (Decision::Included, Decision::Included) if old.hash == new.hash => None,
        (Decision::Included, Decision::Included) if new.kind == LayerKind::History => {
            let (old, new): (Vec<_>, Vec<_>) = (old_text.lines().collect(), new_text.lines().collect());
            let same = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
            Some(Change::Messages { same, before: old.len(), after: new.len() })
        }
        (Decision::Included, Decision::Included) => Some(Change::Words { words: words(old_text, new_text) }),
        (Decision::Included, Decision::Skipped { .. }) => Some(Change::Removed { tokens: old.tokens.count }),
        (Decision::Skipped { .. }, Decision::Included) => Some(Change::Added { tokens: new.tokens.count }),
        (Decision::Skipped { absence: old }, Decision::Skipped { absence: new }) => {
            (old != new).then(|| Change::Reason { before: old.to_string(), after: new.to_string() })
        }
    }
}

fn words(before: &str, after: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    for change in TextDiff::from_words(before, after).iter_all_changes() {
        let text = change.value();
        match (change.tag(), words.last_mut()) {
            (ChangeTag::Equal, Some(Word::Same(all)))
            | (ChangeTag::Delete, Some(Word::Gone(all)))
            | (ChangeTag::Insert, Some(Word::New(all))) => all.push_str(text),
            (ChangeTag::Equal, _) => words.push(Word::Same(text.to_owned())),
            (ChangeTag::Delete, _) => words.push(Word::Gone(text.to_owned())),
            (ChangeTag::Insert, _) => words.push(Word::New(text.to_owned())),
        }
    }
    words
}

/// Two texts as a unified difference, without a head.
#[must_use]
pub fn unified(before: &str, after: &str) -> String {
    let diff = TextDiff::configure().timeout(std::time::Duration::from_secs(1)).diff_lines(before, after);
    diff.unified_diff().context_radius(2).to_string()
}

/// A message as a text: texts as they are, everything else as JSON.
fn flat(message: &Message) -> String {
    let mut all = String::new();
    for block in &message.blocks {
        match block.told() {
            Some(told) => all.push_str(&told),
            None => all.push_str(&serde_json::to_string(block).unwrap_or_default()),
        }
    }
    all
}

fn leaves(before: &Side, after: &Side) -> Option<Leaving> {
    let mut kept = Tokens(0);
    let (old_tools, new_tools) = (tools(before), tools(after));
    let mut byte = 0;
    for (number, (_, text)) in new_tools.iter().enumerate() {
        let old = old_tools.get(number).map_or("", |(_, text)| *text);
        if let Some(at) = first_difference(old, text) {
            let layer = new_tools.get(number).map(|(id, _)| (*id).to_owned());
            let kept = kept + kept_before(text, at);
            return Some(Leaving { part: "tools".to_owned(), byte: byte + at, layer, kept });
        }
        byte += text.len();
        kept += Tokens::estimate(text);
    }
    if old_tools.len() > new_tools.len() {
        return Some(Leaving { part: "tools".to_owned(), byte, layer: None, kept });
    }
    if let Some(byte) = first_difference(&before.system, &after.system) {
        let part = "system".to_owned();
        return Some(Leaving {
            part,
            byte,
            layer: owner(after, None, byte),
            kept: kept + kept_before(&after.system, byte),
        });
    }
    kept += Tokens::estimate(&after.system);
    for (index, old) in before.messages.iter().enumerate() {
        let (old_text, new) = (flat(old), after.messages.get(index));
        let new_text = new.map(flat).unwrap_or_default();
        let same_role = new.is_some_and(|new| new.role == old.role);
        let byte = if same_role { first_difference(&old_text, &new_text) } else { Some(0) };
        if let Some(byte) = byte {
            let layer = owner(after, Some(index), byte);
            let kept = kept + kept_before(&new_text, byte);
            return Some(Leaving { part: format!("message {}", index + 1), byte, layer, kept });
        }
        kept += Tokens::estimate(&new_text);
    }
    None
}

/// Ids and schemas of the tools that are offered: every provider keeps them before everything else.
fn tools(side: &Side) -> Vec<(&str, &str)> {
    let layers = side.layers.iter().zip(&side.texts);
    let offered = layers.filter(|(layer, _)| layer.channel == Channel::Tools && layer.decision == Decision::Included);
    offered.map(|(layer, text)| (layer.id.as_str(), text.as_str())).collect()
}

fn kept_before(text: &str, byte: usize) -> Tokens {
    Tokens::estimate(text.get(..byte).unwrap_or_default())
}

/// The first byte at which two texts part; none when they are the same.
fn first_difference(one: &str, other: &str) -> Option<usize> {
    if one == other {
        return None;
    }
    let letters = one.char_indices().zip(other.chars());
    let parted = letters.into_iter().find(|((_, one), other)| one != other).map(|((at, _), _)| at);
    Some(parted.unwrap_or_else(|| one.len().min(other.len())))
}

/// The layer at a byte of the system text or of a message. A byte between two layers belongs to the second.
fn owner(side: &Side, message: Option<usize>, byte: usize) -> Option<String> {
    let layers = side.layers.iter().filter(|layer| match (layer.channel, message) {
        (Channel::System, None) => layer.range.end >= byte,
        (Channel::Message { index }, Some(message)) => index == message && layer.range.end >= byte,
        (Channel::Messages { first, count }, Some(message)) => (first..first + count).contains(&message),
        (Channel::System | Channel::Tools, Some(_))
        | (Channel::Message { .. } | Channel::Messages { .. } | Channel::Tools, None) => false,
    });
    let mut included = layers.filter(|layer| layer.decision == Decision::Included);
    included
        .find(|layer| layer.range.end > byte || layer.range.contains(&byte) || layer.kind == LayerKind::History)
        .map(|layer| layer.id.clone())
}

/// The ends of a text that stays, as far as they touch what changed before or after it.
#[must_use]
pub fn near(text: &str, after_change: bool, before_change: bool) -> String {
    const NEAR: usize = 60;
    let letters: Vec<char> = text.chars().collect();
    if letters.len() <= NEAR * 2 {
        return text.to_owned();
    }
    let beginning: String = if after_change { letters.iter().take(NEAR).collect() } else { String::new() };
    let end: String = if before_change { letters.iter().skip(letters.len() - NEAR).collect() } else { String::new() };
    format!("{beginning} … {end}")
}

impl Leaving {
    /// Where a cached beginning ends, in words.
    #[must_use]
    pub fn told(&self) -> String {
        let Self { part, byte, layer, kept } = self;
        let owner = layer.as_deref().map(|layer| format!(", in `{layer}`")).unwrap_or_default();
        format!("a cached beginning holds up to byte {byte} of {part}{owner}: ~{} tokens", kept.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::{Parts, assemble};
    use crate::domain::{Entry, Lifetime, Origin, Piece};
    use std::sync::Arc;

    fn side(system: &[(&str, &str)], said: &[&str]) -> Side {
        let pieces: Vec<Piece> = system
            .iter()
            .map(|(id, text)| Piece {
                id: (*id).to_owned(),
                kind: LayerKind::DirectiveSystem,
                origin: Origin::User,
                lifetime: Lifetime::Once,
                decision: Decision::Included,
                text: Arc::from(*text),
            })
            .collect();
        let history: Vec<Entry> = said
            .iter()
            .enumerate()
            .map(|(at, text)| Entry::new(if at % 2 == 0 { Message::user(*text) } else { Message::assistant(*text) }))
            .collect();
        Side::from(&assemble(&Parts { system: &pieces, history: &history, ..Parts::default() }))
    }

    #[test]
    fn a_request_that_goes_on_keeps_the_cache() {
        let one = side(&[("a", "Rules.")], &["hi"]);
        let two = side(&[("a", "Rules.")], &["hi", "hello", "and?"]);
        let difference = difference(&one, &two);
        assert_eq!(difference.leaves, None);
        let kinds: Vec<_> = difference.layers.iter().map(|change| change.kind).collect();
        assert_eq!(kinds, [LayerKind::History, LayerKind::User]);
    }

    #[test]
    fn a_layer_that_stands_elsewhere_has_moved() {
        let one = side(&[("a", "Rules."), ("b", "Second."), ("c", "End.")], &["hi"]);
        let two = side(&[("b", "Second."), ("c", "End."), ("a", "Rules.")], &["hi"]);
        let difference = difference(&one, &two);
        let shown: Vec<_> = difference.layers.iter().map(|change| (change.id.as_str(), &change.change)).collect();
        assert_eq!(shown, [("a", &Change::Moved { before: 1, after: 3 })]);
    }

    #[test]
    fn tools_come_before_the_system_text_in_a_cache() {
        let tool = |text: &str| {
            let mut side = side(&[("a", "Rules.")], &["hi"]);
            let mut layer = side.layers[0].clone();
            (layer.id, layer.kind, layer.channel) = ("t".into(), LayerKind::ToolSchema, Channel::Tools);
            layer.hash = crate::domain::ContentHash::of(text.as_bytes());
            side.layers.push(layer);
            side.texts.push(text.to_owned());
            side
        };
        let leaves = difference(&tool("{\"name\":\"one\"}"), &tool("{\"name\":\"two\"}")).leaves.unwrap();
        assert_eq!((leaves.part.as_str(), leaves.byte, leaves.layer.as_deref()), ("tools", 9, Some("t")));
        assert_eq!(difference(&tool("{}"), &tool("{}")).leaves, None);
    }

    #[test]
    fn the_first_changed_byte_names_its_layer() {
        let one = side(&[("a", "Rules."), ("b", "It is ten."), ("c", "End.")], &["hi"]);
        let two = side(&[("a", "Rules."), ("b", "It is two."), ("d", "Stop.")], &["hi"]);
        let difference = difference(&one, &two);
        let leaves = difference.leaves.unwrap();
        assert_eq!((leaves.part.as_str(), leaves.byte, leaves.layer.as_deref()), ("system", 15, Some("b")));
        let shown: Vec<_> = difference.layers.iter().map(|change| (change.id.as_str(), &change.change)).collect();
        let words = [Word::Same("It is ".into()), Word::Gone("ten.".into()), Word::New("two.".into())];
        assert_eq!(shown[0], ("b", &Change::Words { words: words.to_vec() }));
        assert_eq!(shown[1], ("d", &Change::Added { tokens: Tokens(2) }));
        assert_eq!(shown[2], ("c", &Change::Removed { tokens: Tokens(1) }));
    }
}
