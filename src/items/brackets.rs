//! How deep brackets nest in a text, before a parser sees it whose time or stack grows with the depth.

/// Brackets open at once in text that somebody wrote: far below.
const DEEPEST: usize = 1_000;

/// Whether brackets stay shallow. Those in quotes and comments are counted too: text that is written has few there that
/// are never closed.
pub(super) fn is_shallow(text: &str) -> bool {
    let mut depth = 0_usize;
    text.bytes().all(|byte| {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth <= DEEPEST
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_counts_and_length_does_not() {
        assert!(is_shallow(&"[()]{}".repeat(10_000)));
        assert!(is_shallow(&"}])".repeat(10_000)));
        assert!(!is_shallow(&"[".repeat(1_001)));
    }
}
