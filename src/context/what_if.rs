//! A request with layers left out, or with another text in their place.

use super::diff::Side;
use super::plan::Plan;
use crate::domain::{
    Absence, Block, Channel, ContentHash, Decision, Layer, LayerChange, LayerKind, Message, TokenCount, ToolSpec,
};
use std::collections::BTreeMap;

/// Who left out what a person did.
const YOU: &str = "you";

/// What is changed in a request, by the place of a layer among its layers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WhatIf {
    /// Nothing stands in the place of a layer that is left out.
    pub texts: BTreeMap<usize, Option<String>>,
}

/// Makes what a person wants otherwise in a thread of its plan. The constitution stays.
pub fn in_plan(plan: &mut Plan, changes: &[LayerChange]) {
    for LayerChange { id, text } in changes {
        let pieces = plan.system.iter_mut().chain(&mut plan.opening);
        for piece in pieces.filter(|piece| piece.id == *id && piece.kind.is_planned() && piece.is_included()) {
            piece.text = text.as_deref().unwrap_or_default().into();
            if text.as_ref().is_none_or(String::is_empty) {
                piece.decision = Decision::Skipped { absence: Absence::Suppressed { by: YOU.to_owned() } };
            }
        }
    }
}

/// Whether a layer can be left out or changed: the constitution stays, and what was not sent is not there.
#[must_use]
pub fn can_change(layer: &Layer) -> bool {
    layer.decision == Decision::Included && layer.kind != LayerKind::Constitution
}

/// The places of the layers that `name` means: by their id, or their number from 1 as lists have it.
#[must_use]
pub fn named(side: &Side, name: &str) -> Vec<usize> {
    let number = name.strip_prefix('#').and_then(|number| number.parse::<usize>().ok());
    let places = side.layers.iter().enumerate().filter(|(place, layer)| {
        can_change(layer) && (layer.id == name || number.is_some_and(|number| number == place + 1))
    });
    places.map(|(place, _)| place).collect()
}

/// The request with those changes.
#[must_use]
pub fn changed(side: &Side, what_if: &WhatIf) -> Side {
    let mut now = side.clone();
    // From behind, so that places in front stay what they are.
    let mut dropped: Vec<usize> = Vec::new();
    for (place, text) in what_if.texts.iter().rev() {
        let Some(layer) = side.layers.get(*place).filter(|layer| can_change(layer)) else { continue };
        let text = text.as_deref().filter(|text| !text.is_empty());
        match layer.channel {
            Channel::System => {
                let before = now.system.len();
                replace(&mut now.system, layer, text);
                shift(&mut now.layers, &side.layers, layer, before, now.system.len());
            }
            Channel::Message { index } => {
                if let Some(message) = now.messages.get_mut(index) {
                    let before = message.told().len();
                    in_message(message, layer, side.texts.get(*place).map_or("", String::as_str), text);
                    let after = message.told().len();
                    shift(&mut now.layers, &side.layers, layer, before, after);
                }
            }
            Channel::Messages { first, count } if text.is_none() => dropped.extend(first..first + count),
            Channel::Messages { .. } => continue,
            Channel::Tools => {
                if text.is_some_and(|text| serde_json::from_str::<ToolSpec>(text).is_err()) {
                    continue;
                }
            }
        }
        let (Some(layer), Some(kept)) = (now.layers.get_mut(*place), now.texts.get_mut(*place)) else { continue };
        if let Some(text) = text {
            text.clone_into(kept);
            layer.range.end = layer.range.start + text.len();
            (layer.hash, layer.tokens) = (ContentHash::of(text.as_bytes()), TokenCount::estimated(text));
        } else {
            kept.clear();
            layer.decision = Decision::Skipped { absence: Absence::Suppressed { by: YOU.to_owned() } };
        }
    }
    // Where each message stands now, and how many stand before it.
    let mut before = vec![0];
    let mut place = 0;
    now.messages.retain(|message| {
        let stays = !dropped.contains(&place) && !is_empty(message);
        place += 1;
        before.push(before.last().copied().unwrap_or(0) + usize::from(stays));
        stays
    });
    let stand = |place: usize| before.get(place).or(before.last()).copied().unwrap_or(0);
    for layer in &mut now.layers {
        layer.channel = match layer.channel {
            Channel::Message { index } => Channel::Message { index: stand(index) },
            Channel::Messages { first, count } => {
                Channel::Messages { first: stand(first), count: stand(first + count) - stand(first) }
            }
            channel @ (Channel::System | Channel::Tools) => channel,
        };
    }
    now
}

/// Moves what stands behind a layer of a text that was `before` bytes long and is `after` now.
fn shift(now: &mut [Layer], as_it_was: &[Layer], changed: &Layer, before: usize, after: usize) {
    let moved = |place: usize| (place + after).saturating_sub(before);
    for (layer, was) in now.iter_mut().zip(as_it_was) {
        if was.channel == changed.channel && was.range.start >= changed.range.end {
            layer.range = moved(layer.range.start)..moved(layer.range.end);
        }
    }
}

fn is_empty(message: &Message) -> bool {
    message.blocks.iter().all(|block| matches!(block, Block::Text { text } if text.trim().is_empty()))
}

/// Puts `text` in the place of a layer, or takes the blank lines along that stood around it.
fn replace(all: &mut String, layer: &Layer, text: Option<&str>) {
    let mut range = layer.range.clone();
    if all.get(range.clone()).is_none() {
        return;
    }
    if text.is_none() {
        if all.get(..range.start).is_some_and(|before| before.ends_with("\n\n")) {
            range.start -= 2;
        } else if all.get(range.end..).is_some_and(|after| after.starts_with("\n\n")) {
            range.end += 2;
        }
    }
    all.replace_range(range, text.unwrap_or_default());
}

fn in_message(message: &mut Message, layer: &Layer, own: &str, text: Option<&str>) {
    if let [Block::Text { text: all }] = message.blocks.as_mut_slice() {
        return replace(all, layer, text);
    }
    // A message of several parts: the layer is one of them.
    let is_it = |block: &Block| match block {
        Block::Text { text } => text == own,
        Block::Attached(attached) => *attached.text == *own,
        Block::Custom(custom) => custom.text == own,
        Block::Thinking { .. }
        | Block::RedactedThinking { .. }
        | Block::ToolCall(_)
        | Block::ToolResult { .. }
        | Block::Image { .. } => false,
    };
    let Some(place) = message.blocks.iter().position(is_it) else { return };
    match text {
        Some(text) => {
            if let Some(block) = message.blocks.get_mut(place) {
                *block = Block::Text { text: text.to_owned() };
            }
        }
        None => drop(message.blocks.remove(place)),
    }
}

/// What a search by halves asks next, and what it has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bisection {
    /// Leaving these out changes the outcome.
    suspects: Vec<usize>,
    /// Which half is being tried.
    second: bool,
    found: bool,
}

/// What leaving some layers out did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// As with the whole request.
    Same,
    Other,
}

impl Bisection {
    /// A search among layers of which it is known that leaving out all of them changes the outcome.
    #[must_use]
    pub fn among(suspects: Vec<usize>) -> Self {
        let found = suspects.len() <= 1;
        Self { suspects, second: false, found }
    }

    /// The layers to leave out next; none once the search is over.
    #[must_use]
    pub fn next(&self) -> Option<&[usize]> {
        if self.found {
            return None;
        }
        let (first, second) = self.suspects.split_at(self.suspects.len() / 2);
        Some(if self.second { second } else { first })
    }

    /// Takes the outcome of leaving those out.
    pub fn tell(&mut self, outcome: Outcome) {
        let Some(tried) = self.next().map(<[usize]>::to_vec) else { return };
        match outcome {
            Outcome::Other => *self = Self::among(tried),
            Outcome::Same if self.second => self.found = true,
            Outcome::Same => self.second = true,
        }
    }

    /// The layers that were found: one, or several that change the outcome only together.
    #[must_use]
    pub fn suspects(&self) -> &[usize] {
        &self.suspects
    }

    /// So many requests at most it takes to find one among `count`.
    #[must_use]
    pub fn most_requests(count: usize) -> u32 {
        // The whole one, the one without all, and two for each halving.
        2 + 2 * count.max(1).next_power_of_two().ilog2()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::{Parts, assemble};
    use crate::domain::{Entry, Lifetime, Origin, Piece};
    use std::sync::Arc;

    fn piece(kind: LayerKind, id: &str, text: &str) -> Piece {
        Piece {
            id: id.into(),
            kind,
            origin: Origin::User,
            lifetime: Lifetime::Once,
            decision: Decision::Included,
            text: Arc::from(text),
        }
    }

    fn side() -> Side {
        let system = [
            piece(LayerKind::Constitution, "rules", "Be honest."),
            piece(LayerKind::DirectiveSystem, "a", "Be brief."),
            piece(LayerKind::DirectiveSystem, "b", "Be kind."),
        ];
        let opening = [piece(LayerKind::HookBefore, "env", "Here."), piece(LayerKind::Prompt, "chat", "Do it.")];
        let history = [Entry::new(Message::user("hi"))];
        Side::from(&assemble(&Parts { system: &system, opening: &opening, history: &history, ..Parts::default() }))
    }

    #[test]
    fn a_plan_is_made_otherwise_but_for_the_constitution() {
        let mut plan = Plan {
            system: vec![
                piece(LayerKind::Constitution, "rules", "Be honest."),
                piece(LayerKind::DirectiveSystem, "a", "Be brief."),
            ],
            opening: vec![piece(LayerKind::HookBefore, "env", "Here."), piece(LayerKind::Prompt, "chat", "Do it.")],
            ..Plan::default()
        };
        let change = |id: &str, text: Option<&str>| LayerChange { id: id.to_owned(), text: text.map(str::to_owned) };
        in_plan(
            &mut plan,
            &[change("rules", None), change("rules", Some("Lie.")), change("a", None), change("env", Some("There."))],
        );
        let told = |piece: &Piece| piece.is_included().then(|| piece.text.to_string());
        assert_eq!(plan.system.iter().map(told).collect::<Vec<_>>(), [Some("Be honest.".to_owned()), None]);
        let opening: Vec<_> = plan.opening.iter().filter_map(told).collect();
        assert_eq!(opening, ["There.", "Do it."]);
    }

    fn without(names: &[&str]) -> Side {
        let side = side();
        let texts = names.iter().flat_map(|name| named(&side, name)).map(|place| (place, None)).collect();
        changed(&side, &WhatIf { texts })
    }

    #[test]
    fn a_layer_is_left_out_with_the_blank_lines_around_it() {
        assert_eq!(without(&["a"]).system, "Be honest.\n\nBe kind.");
        assert_eq!(without(&["b"]).system, "Be honest.\n\nBe brief.");
        assert_eq!(without(&["a", "b"]).system, "Be honest.");
        assert_eq!(without(&["rules"]).system, side().system, "the constitution stays");
        assert_eq!(without(&["env"]).messages[0].text(), "Do it.");
        assert_eq!(without(&["env", "chat"]).messages.len(), 1);
        assert_eq!(without(&["#2"]).system, "Be honest.\n\nBe kind.");
    }

    #[test]
    fn another_text_stands_in_its_place() {
        let side = side();
        let what_if = WhatIf { texts: [(1, Some("Be long.".to_owned()))].into() };
        let now = changed(&side, &what_if);
        assert_eq!(now.system, "Be honest.\n\nBe long.\n\nBe kind.");
        assert_eq!((now.texts[1].as_str(), now.layers[1].hash.clone()), ("Be long.", ContentHash::of(b"Be long.")));
    }

    proptest::proptest! {
        /// Whatever is left out or changed, each layer that stays is where it says that it is.
        #[test]
        fn layers_stand_where_they_say(changes in proptest::collection::btree_map(0..6_usize, proptest::option::of("[a-zé]{0,9}"), 0..6)) {
            let now = changed(&side(), &WhatIf { texts: changes });
            for (layer, text) in now.layers.iter().zip(&now.texts).filter(|(layer, _)| layer.decision == Decision::Included) {
                let around = match layer.channel {
                    Channel::System => now.system.clone(),
                    Channel::Message { index } => now.messages[index].told(),
                    Channel::Messages { first, count } => {
                        proptest::prop_assert!(count > 0 && first + count <= now.messages.len());
                        continue;
                    }
                    Channel::Tools => continue,
                };
                proptest::prop_assert_eq!(around.get(layer.range.clone()), Some(text.as_str()));
            }
        }

        /// One culprit is found among any number, in no more requests than were told.
        #[test]
        fn halving_finds_the_one(count in 1..200_usize, culprit in 0..200_usize) {
            let culprit = culprit % count;
            let mut bisection = Bisection::among((0..count).collect());
            let mut requests = 2;
            while let Some(tried) = bisection.next() {
                let outcome = if tried.contains(&culprit) { Outcome::Other } else { Outcome::Same };
                bisection.tell(outcome);
                requests += 1;
            }
            proptest::prop_assert_eq!(bisection.suspects(), &[culprit][..]);
            proptest::prop_assert!(requests <= Bisection::most_requests(count));
        }

        /// Two that only count together are both among what is found.
        #[test]
        fn two_that_count_together_stay_together(count in 2..64_usize, one in 0..64_usize, other in 0..64_usize) {
            let (one, other) = (one % count, other % count);
            let mut bisection = Bisection::among((0..count).collect());
            while let Some(tried) = bisection.next() {
                let both = tried.contains(&one) && tried.contains(&other);
                bisection.tell(if both { Outcome::Other } else { Outcome::Same });
            }
            proptest::prop_assert!(bisection.suspects().contains(&one) && bisection.suspects().contains(&other));
        }
    }
}
