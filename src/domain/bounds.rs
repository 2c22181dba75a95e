//! How large what others send may be: answers of models, prompts, results, and the crowd that looks at a thread.
//! `docs/limits.md` lists all bounds; these are the ones that a person can set.

/// See the module. Sizes are in bytes as JSON writes them, which is how they lie in logs and go over sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Text, thinking and arguments of one answer together. The longest that models give is about 0.5 MB.
    pub answer: usize,
    /// Arguments of one tool call.
    pub arguments: usize,
    /// Tool calls of one answer.
    pub calls: usize,
    /// One prompt, and all that wait together. A window of a million tokens holds about 4 MB.
    pub prompt: usize,
    /// The result of a tool, for tools that do not keep it short themselves.
    pub result: usize,
    /// Clients that look at a thread at a time.
    pub clients: usize,
}

/// So many prompts may wait.
pub const MOST_QUEUED: usize = 64;

impl Bounds {
    pub const USUAL: Self =
        Self { answer: 4 << 20, arguments: 1 << 20, calls: 128, prompt: 4 << 20, result: 1 << 20, clients: 32 };

    /// The most that can be set.
    pub const MOST: Self =
        Self { answer: 8 << 20, arguments: 8 << 20, calls: 1_024, prompt: 8 << 20, result: 4 << 20, clients: 256 };
}

impl Default for Bounds {
    fn default() -> Self {
        Self::USUAL
    }
}

/// How many bytes JSON needs for a letter that is this byte or has it.
fn weight(byte: u8) -> usize {
    match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
        0..=0x1f => 6,
        _ => 1,
    }
}

/// How many bytes JSON needs for `text`, without its quotes.
#[must_use]
pub fn json_size(text: &str) -> usize {
    text.bytes().map(weight).sum()
}

/// The longest beginning of `text` for which JSON needs `most` bytes.
#[must_use]
pub fn beginning(text: &str, most: usize) -> &str {
    let mut left = most;
    let fits = text.bytes().position(|byte| match left.checked_sub(weight(byte)) {
        Some(rest) => {
            left = rest;
            false
        }
        None => true,
    });
    text.get(..text.floor_char_boundary(fits.unwrap_or(text.len()))).unwrap_or_default()
}

/// `4 MB`, `1.5 MB`, `64 kB`.
#[must_use]
pub fn in_words(bytes: usize) -> String {
    let tenths = bytes.saturating_mul(10) >> 20;
    match (bytes, tenths % 10) {
        (..1_048_576, _) => format!("{} kB", bytes.div_ceil(1 << 10)),
        (_, 0) => format!("{} MB", bytes >> 20),
        (_, tenth) => format!("{}.{tenth} MB", bytes >> 20),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_weighs_what_json_makes_of_it() {
        for text in ["plain", "a\"b\\c\n\r\t\u{8}\u{c}\u{1}\u{1f}", "größe €🦀\u{7f}", ""] {
            assert_eq!(json_size(text) + 2, serde_json::to_string(text).unwrap().len(), "{text:?}");
        }
        assert_eq!(beginning("a\u{1}b", 6), "a");
        assert_eq!(beginning("a\u{1}b", 7), "a\u{1}");
        assert_eq!(beginning("ab€", 4), "ab");
        assert_eq!(beginning("ab€", 5), "ab€");
    }

    #[test]
    fn sizes_read_well() {
        assert_eq!([4 << 20, 3 << 19, 64 << 10, 1].map(in_words), ["4 MB", "1.5 MB", "64 kB", "1 kB"]);
    }
}
