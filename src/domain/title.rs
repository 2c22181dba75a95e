//! What a thread is called in lists.

/// Most letters of a title.
const LONGEST: usize = 80;

/// The title of a thread that nobody named: the beginning of the first line of its first prompt.
#[must_use]
pub fn of_prompt(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    line.chars().take(LONGEST).collect()
}

/// The title that a person gives a thread: one line, at most eighty letters, of which none steers or hides.
///
/// # Errors
/// The sentence that says what is wrong with it.
pub fn given(text: &str) -> Result<String, String> {
    let title = text.trim();
    if title.is_empty() {
        return Err("a title needs at least one character".to_owned());
    }
    if title.chars().any(super::letters::is_unseen) {
        return Err("a title is one line without invisible characters".to_owned());
    }
    let count = title.chars().count();
    if count > LONGEST {
        return Err(format!("a title has at most {LONGEST} characters (actual {count})"));
    }
    Ok(title.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s16_a_title_is_one_line_that_can_be_seen() {
        assert_eq!(given("  The release  ").as_deref(), Ok("The release"));
        for bad in ["", "  ", "two\nlines", "a\u{1b}[2J", "a\u{202e}b", &"x".repeat(81)] {
            assert!(given(bad).is_err(), "{bad:?}");
        }
        assert_eq!(of_prompt("  first\nsecond"), "first");
    }
}
