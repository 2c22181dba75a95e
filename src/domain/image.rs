//! Images that go along with a prompt: how a person names them, and what is known of one that was taken in.

use super::id::ContentHash;
use serde::{Deserialize, Serialize};

/// The largest image that is taken in, in bytes: what Anthropic's Messages takes at most for one (its documentation,
/// "Vision"); the others take more.
pub const LARGEST_IMAGE: u64 = 5 << 20;

/// Estimate of what an image costs a model, in tokens: Anthropic's documentation counts about as many for the largest
/// that it does not scale down.
pub const IMAGE_TOKENS: u64 = 1_600;

/// An image in the content store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// How the person named it.
    pub name: String,
    pub media_type: String,
    pub hash: ContentHash,
    pub bytes: u64,
}

/// The media type of an image that models take, by its first bytes.
#[must_use]
pub fn media_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// Whether a file of this name would be an image.
#[must_use]
pub fn is_image_name(name: &str) -> bool {
    const ENDINGS: [&str; 5] = ["png", "jpg", "jpeg", "gif", "webp"];
    name.rsplit_once('.').is_some_and(|(stem, ending)| {
        !stem.is_empty() && ENDINGS.iter().any(|known| known.eq_ignore_ascii_case(ending))
    })
}

/// The images that a text names: `@shot.png`, or `@"two words.png"` where the name has blanks. Each once, in order.
#[must_use]
pub fn named_in(text: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut rest = text;
    let mut begins_word = true;
    while let Some(letter) = rest.chars().next() {
        let tail = rest.get(letter.len_utf8()..).unwrap_or_default();
        let found = (begins_word && letter == '@').then(|| name_at(tail)).flatten();
        begins_word = letter.is_whitespace();
        rest = tail;
        if let Some((name, after)) = found {
            rest = after;
            begins_word = false;
            if is_image_name(name) && !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
    }
    names
}

/// The name that begins here and what comes after it.
fn name_at(text: &str) -> Option<(&str, &str)> {
    if let Some(quoted) = text.strip_prefix('"') {
        return quoted.split_once('"').filter(|(name, _)| !name.contains('\n'));
    }
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let (word, after) = text.split_at_checked(end)?;
    // A name at the end of a sentence is followed by its full stop.
    let name = word.trim_end_matches(['.', ',', ';', ':', '?', '!', ')']);
    (!name.is_empty()).then_some((name, after))
}

/// How an image is named in a text.
#[must_use]
pub fn mention(name: &str) -> String {
    if name.contains(char::is_whitespace) { format!("@\"{name}\"") } else { format!("@{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_named_by_words() {
        let text = "look at @shot.png, @\"two words.JPG\" and me@home.png.\n@a/b.webp? @notes.md @shot.png @\"open.png";
        assert_eq!(named_in(text), ["shot.png", "two words.JPG", "a/b.webp"]);
        assert_eq!(named_in("@"), Vec::<String>::new());
        for name in ["shot.png", "two words.gif", "é/ü.jpeg"] {
            assert_eq!(named_in(&format!("see {} please", mention(name))), [name]);
        }
    }

    #[test]
    fn the_type_is_told_by_the_bytes() {
        assert_eq!(media_type(b"\x89PNG\r\n\x1a\nrest"), Some("image/png"));
        assert_eq!(media_type(b"\xff\xd8\xff\xe0"), Some("image/jpeg"));
        assert_eq!(media_type(b"GIF89a"), Some("image/gif"));
        assert_eq!(media_type(b"RIFF\0\0\0\0WEBPVP8 "), Some("image/webp"));
        assert_eq!(media_type(b"<svg>"), None);
        assert_eq!(media_type(b""), None);
    }
}
