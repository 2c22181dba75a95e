//! A file that was dropped on the terminal arrives as a paste of its path.

use crate::domain::image::is_image_name;
use percent_encoding::percent_decode_str;

/// The image that a pasted text is the path of, as terminals write what is dropped on them: plain, in quotes, with
/// escaped blanks, or as a `file://` address.
pub(super) fn image(text: &str) -> Option<String> {
    /// Bytes of the longest path there is, three for each as an address may have.
    const LONGEST: usize = 3 * 4_096;
    if text.len() > LONGEST {
        return None;
    }
    let text = text.trim();
    if text.is_empty() || text.contains('\n') {
        return None;
    }
    let quoted = ['\'', '"'].iter().find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote));
    let path = match (quoted, text.strip_prefix("file://")) {
        (Some(path), _) => path.to_owned(),
        (None, Some(address)) => percent_decode_str(address).decode_utf8().ok()?.into_owned(),
        (None, None) => text.replace("\\ ", " "),
    };
    let is_path = path.starts_with(['/', '~']) || path.starts_with("./") || path.starts_with("../");
    (is_path && !path.contains(['"', '\n']) && is_image_name(&path)).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_image_is_recognised_and_other_texts_are_not() {
        let forms = ["/tmp/a b.png", "'/tmp/a b.png'", "\"/tmp/a b.png\"", "/tmp/a\\ b.png ", "file:///tmp/a%20b.png"];
        for text in forms {
            assert_eq!(image(text).as_deref(), Some("/tmp/a b.png"), "{text}");
        }
        for text in ["", "shot.png", "/tmp/a.txt", "/tmp/a.png\n/tmp/b.png", "see /tmp/a.png", "/tmp/.png/"] {
            assert_eq!(image(text), None, "{text}");
        }
    }
}
