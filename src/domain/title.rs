//! What a thread is called in lists.

use super::Values;

/// Most letters of a title.
const LONGEST: usize = 80;

/// The title of a thread that nobody named: the beginning of the first line of its first prompt.
#[must_use]
pub fn of_prompt(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    line.chars().take(LONGEST).collect()
}

/// The title of a thread that began without a word of a person's: its directive, and what that was told.
#[must_use]
pub fn of_directive(directive: &str, inputs: &Values) -> String {
    let name = directive.rsplit('/').next().unwrap_or(directive);
    let told = inputs.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(", ");
    let title = if told.is_empty() { name.to_owned() } else { format!("{name} · {told}") };
    of_prompt(&title)
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

    #[test]
    fn s16_without_a_prompt_the_directive_and_its_inputs_are_the_title() {
        let inputs =
            |values: &[(&str, &str)]| values.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        assert_eq!(of_directive("team/ship", &inputs(&[])), "ship");
        let told = [("note", "in haste\nor not"), ("target", "staging")];
        assert_eq!(of_directive("team/ship", &inputs(&told[1..])), "ship · target=staging");
        assert_eq!(of_directive("team/ship", &inputs(&told)), "ship · note=in haste", "one line");
    }
}
