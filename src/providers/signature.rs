//! Whose signature a thought carries. A model takes back only what it signed itself, and a thread may change its model, so
//! each wire form marks its signatures, and with the model ([`by`]), and passes over those of others.

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
    /// No signature: the name of the field in which a server of Chat Completions tells its thoughts, and wants them back.
    Chat,
}

const MARKED: [(Maker, &str); 4] = [
    (Maker::Responses, "responses:"),
    (Maker::GeminiCall, "gemini-call:"),
    (Maker::GeminiText, "gemini-text:"),
    (Maker::Chat, "chat:"),
];

/// What stands before the model.
const BY: &str = "by:";

/// What a model sealed, with its name.
pub(crate) fn by(model: &str, sealed: &str) -> String {
    let model = model.replace(char::is_whitespace, "_");
    format!("{BY}{model} {sealed}")
}

/// What was sealed, where it goes back to `model`: what it made itself, or what was kept before makers were.
pub(crate) fn sealed_by<'a>(model: &str, kept: &'a str) -> Option<&'a str> {
    let Some((maker, sealed)) = parted(kept) else { return Some(kept) };
    (maker == model.replace(char::is_whitespace, "_")).then_some(sealed)
}

/// A kept signature as its maker made it.
#[must_use]
pub fn bare(kept: &str) -> &str {
    made(parted(kept).map_or(kept, |(_, sealed)| sealed)).1
}

/// The model and what it sealed.
fn parted(kept: &str) -> Option<(&str, &str)> {
    kept.strip_prefix(BY)?.split_once(' ')
}

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
        for maker in [Maker::Messages, Maker::Responses, Maker::GeminiCall, Maker::GeminiText, Maker::Chat] {
            assert_eq!(made(&mark(maker, "a:b=")), (maker, "a:b="));
            let kept = by("a model", &mark(maker, "a:b="));
            assert_eq!(sealed_by("a model", &kept).map(made), Some((maker, "a:b=")));
            assert_eq!(sealed_by("a-model", &kept), None);
            assert_eq!(bare(&kept), "a:b=");
        }
        assert_eq!(sealed_by("any", "kept before"), Some("kept before"));
    }
}
