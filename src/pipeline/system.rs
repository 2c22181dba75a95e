//! The system text as handlers made it, laid out in layers again.

use crate::domain::{Absence, Decision, HandlerPlace, LayerKind, Lifetime, Origin, Piece, Stage};
use std::sync::Arc;

/// The pieces of a system text of which a handler made `now`: those whose text is still there in order stay what they are,
/// the others are left out by it, and what is new is a piece of its own. `pieces` are without the constitution.
#[must_use]
pub fn edited(pieces: &[Piece], now: &str, (handler, place): (&str, Option<&HandlerPlace>)) -> Vec<Piece> {
    let origin =
        || Origin::Handler { stage: Stage::BeforeAgentStart, handler: handler.to_owned(), place: place.cloned() };
    let mut made = Vec::with_capacity(pieces.len() + 2);
    let mut rest = now;
    let mut added = 0_u32;
    let mut add = |text: &str, made: &mut Vec<Piece>| {
        let text = text.trim_matches('\n');
        if text.trim().is_empty() {
            return;
        }
        added += 1;
        made.push(Piece {
            id: if added == 1 { handler.to_owned() } else { format!("{handler}#{added}") },
            kind: LayerKind::ExtensionSystem,
            origin: origin(),
            lifetime: Lifetime::PerPrompt,
            decision: Decision::Included,
            text: Arc::from(text),
        });
    };
    for piece in pieces {
        if !piece.is_included() {
            made.push(piece.clone());
        } else if let Some(at) = whole(rest, &piece.text) {
            let (before, after) = rest.split_at(at);
            add(before, &mut made);
            made.push(piece.clone());
            rest = after.get(piece.text.len()..).unwrap_or_default();
        } else {
            let absence = Absence::Removed { stage: Stage::BeforeAgentStart, by: handler.to_owned() };
            made.push(Piece { decision: Decision::Skipped { absence }, text: Arc::from(""), ..piece.clone() });
        }
    }
    add(rest, &mut made);
    made
}

/// Where `text` stands in `all` as lines of its own.
fn whole(all: &str, text: &str) -> Option<usize> {
    let ends = |at: usize| all.get(at + text.len()..).is_some_and(|rest| rest.is_empty() || rest.starts_with('\n'));
    let begins = |at: usize| at == 0 || all.as_bytes().get(at - 1) == Some(&b'\n');
    all.match_indices(text).map(|(at, _)| at).find(|at| begins(*at) && ends(*at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(id: &str, text: &str) -> Piece {
        Piece {
            id: id.into(),
            kind: LayerKind::DirectiveSystem,
            origin: Origin::User,
            lifetime: Lifetime::PerPrompt,
            decision: Decision::Included,
            text: Arc::from(text),
        }
    }

    fn shape(pieces: &[Piece]) -> Vec<(&str, bool, &str)> {
        pieces.iter().map(|piece| (piece.id.as_str(), piece.is_included(), &*piece.text)).collect()
    }

    fn made(now: &str) -> Vec<Piece> {
        edited(&[piece("a", "Be brief."), piece("b", "Be kind.\nAlways.")], now, ("pirate", None))
    }

    #[test]
    fn what_is_added_is_a_layer_of_its_own() {
        let pieces = made("Be brief.\n\nBe kind.\nAlways.\n\nTalk like a pirate.");
        assert_eq!(
            shape(&pieces),
            [("a", true, "Be brief."), ("b", true, "Be kind.\nAlways."), ("pirate", true, "Talk like a pirate.")]
        );
    }

    #[test]
    fn what_is_gone_is_left_out_by_its_handler() {
        let pieces = made("First.\n\nBe kind.\nAlways.\n\nLast.");
        assert_eq!(
            shape(&pieces),
            [
                ("a", false, ""),
                ("pirate", true, "First."),
                ("b", true, "Be kind.\nAlways."),
                ("pirate#2", true, "Last.")
            ]
        );
        assert!(
            matches!(&pieces[0].decision, Decision::Skipped { absence: Absence::Removed { by, .. } } if by == "pirate")
        );
    }

    #[test]
    fn a_text_within_a_line_is_no_layer() {
        let pieces = made("Do not Be brief. ever\n\nBe kind.\nAlways.");
        assert_eq!(shape(&pieces)[..2], [("a", false, ""), ("pirate", true, "Do not Be brief. ever")]);
    }
}
