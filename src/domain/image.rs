//! Images that go along with a prompt, and what is known of one that was taken in.

use super::bounds::in_words;
use super::id::ContentHash;
use serde::{Deserialize, Serialize};

/// The largest image that is taken in, in bytes. Anthropic's Messages takes 5 MB of base64 (its documentation, "Vision"), which
/// writes four letters for three bytes; the others take more.
pub const LARGEST_IMAGE: u64 = (5 << 20) / 4 * 3;

/// Estimate of what an image costs a model, in tokens: Anthropic's documentation counts about as many for the largest
/// that it does not scale down.
pub const IMAGE_TOKENS: u64 = 1_600;

/// An image in the content store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// How the person named it, or the tool that shows it; empty where a handler put it into another message.
    pub name: String,
    pub media_type: String,
    pub hash: ContentHash,
    pub bytes: u64,
}

/// Why one is not taken in.
#[must_use]
pub fn too_large() -> String {
    let most = usize::try_from(LARGEST_IMAGE).unwrap_or(usize::MAX);
    format!("it is larger than {}, the most that providers take", in_words(most))
}

/// What is known of an image that may be taken in.
///
/// # Errors
/// Why it may not.
pub fn checked(name: String, bytes: &[u8]) -> Result<Image, String> {
    let size = bytes.len() as u64;
    if size > LARGEST_IMAGE {
        return Err(too_large());
    }
    let media_type = media_type(bytes).ok_or("it is not a PNG, JPEG, GIF or WebP image")?.to_owned();
    Ok(Image { name, media_type, hash: ContentHash::of(bytes), bytes: size })
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

#[cfg(test)]
mod tests {
    use super::*;

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
