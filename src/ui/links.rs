//! Where links lead. Cells carry the mark of their link as the colour of their underline, which nothing else here uses:
//! so a cell whose link changed is written anew like one whose colour did. The terminal's side turns marks into OSC 8.

use ratatui::style::Color;
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Longer addresses are not offered: terminals cut or drop them.
const LONGEST: usize = 2_000;

/// What may be opened by a click.
const SCHEMES: [&str; 4] = ["https://", "http://", "file://", "mailto:"];

/// The address to offer the terminal for `url`: of a known scheme, and without a letter that could end the sequence it
/// is written in.
pub(super) fn target(url: &str) -> Option<String> {
    let known = SCHEMES.iter().any(|scheme| {
        url.get(..scheme.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(scheme)) && url.len() > scheme.len()
    });
    if !known || url.len() > LONGEST || url.chars().any(char::is_control) {
        return None;
    }
    let mut target = String::new();
    for letter in url.chars() {
        if letter.is_ascii_graphic() {
            target.push(letter);
        } else {
            for byte in letter.encode_utf8(&mut [0; 4]).bytes() {
                let _in_memory = write!(target, "%{byte:02X}");
            }
        }
    }
    Some(target)
}

/// Whether a label reads like an address, and another one than where the link leads.
pub(super) fn misleads(label: &str, url: &str) -> bool {
    let bare = |text: &str| text.trim_end_matches('/').to_owned();
    (label.contains("://") || label.contains("www.")) && bare(label.trim()) != bare(url)
}

/// The mark of the cells of a link: the same for all its rows, in every frame.
pub(super) fn mark(target: &str) -> u32 {
    let mut hasher = DefaultHasher::new();
    target.hash(&mut hasher);
    u32::try_from(hasher.finish() >> 40).unwrap_or_default()
}

pub(super) fn colour_of(mark: u32) -> Color {
    let [_, red, green, blue] = mark.to_be_bytes();
    Color::Rgb(red, green, blue)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_schemes_without_controls_are_offered() {
        assert_eq!(target("https://a.org/b?c=d#e").as_deref(), Some("https://a.org/b?c=d#e"));
        assert_eq!(target("HTTP://a.org/ü b").as_deref(), Some("HTTP://a.org/%C3%BC%20b"));
        assert_eq!(target("mailto:a@b.org").as_deref(), Some("mailto:a@b.org"));
        for bad in
            ["javascript:alert(1)", "ftp://a", "https://", "", "a/b.md", "https://a\u{1b}]8;;\u{7}", "https://a\u{9c}b"]
        {
            assert_eq!(target(bad), None, "{bad:?}");
        }
        assert_eq!(target(&format!("https://{}", "a".repeat(LONGEST))), None);
    }

    #[test]
    fn a_label_that_names_another_address_misleads() {
        assert!(misleads("https://good.org", "https://bad.org"));
        assert!(misleads("www.good.org", "https://bad.org"));
        assert!(!misleads("https://good.org/", "https://good.org"));
        assert!(!misleads("the page", "https://bad.org"));
    }
}
