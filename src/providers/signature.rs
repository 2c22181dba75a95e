//! Whose signature a thought carries. A provider takes back only what it signed itself, and a thread may change its
//! model, so each wire form marks its signatures and passes over those of others.

/// A wire form that signs thoughts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Maker {
    /// Bare, as in logs from before there were others.
    Messages,
    Responses,
    /// On the call that follows the thought.
    GeminiCall,
    /// On the text before the thought.
    GeminiText,
}

const MARKED: [(Maker, &str); 3] =
    [(Maker::Responses, "responses:"), (Maker::GeminiCall, "gemini-call:"), (Maker::GeminiText, "gemini-text:")];

/// `signature` as it is kept.
pub(crate) fn mark(maker: Maker, signature: &str) -> String {
    let mark = MARKED.iter().find(|(other, _)| *other == maker).map_or("", |(_, mark)| mark);
    format!("{mark}{signature}")
}

/// Who made a kept signature, and the signature as it was made.
pub(crate) fn made(kept: &str) -> (Maker, &str) {
    let marked = MARKED.iter().find_map(|(maker, mark)| Some((*maker, kept.strip_prefix(mark)?)));
    marked.unwrap_or((Maker::Messages, kept))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_finds_its_own() {
        for maker in [Maker::Messages, Maker::Responses, Maker::GeminiCall, Maker::GeminiText] {
            assert_eq!(made(&mark(maker, "a:b=")), (maker, "a:b="));
        }
    }
}
