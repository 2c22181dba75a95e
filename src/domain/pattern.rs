//! Patterns in the manner of a shell: `*` (dots included), `?` and `[…]`, over the whole of a text.

/// The pattern that fits `text` and nothing else.
#[must_use]
pub fn literal(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '*' | '?' | '[' => pattern.extend(['[', letter, ']']),
            _ => pattern.push(letter),
        }
    }
    pattern
}

/// How exactly a pattern names what it fits: without wildcards first, then by the letters that stand for themselves.
#[must_use]
pub fn exactness(pattern: &str) -> (bool, usize) {
    let wild = |letter: char| matches!(letter, '*' | '?' | '[');
    (!pattern.contains(wild), pattern.chars().filter(|letter| !wild(*letter)).count())
}

/// Whether `pattern` fits the whole of `text`. An unclosed `[` stands for itself.
#[must_use]
pub fn matches(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut at, mut read) = (0, 0);
    // The newest star and how far the text was read when it was met: the only place worth going back to.
    let mut star = None;
    while let Some(letter) = text.get(read) {
        if pattern.get(at) == Some(&'*') {
            at += 1;
            star = Some((at, read));
        } else if let Some(next) = fits_one(&pattern, at, *letter) {
            (at, read) = (next, read + 1);
        } else if let Some((after, from)) = star {
            (at, read) = (after, from + 1);
            star = Some((after, from + 1));
        } else {
            return false;
        }
    }
    pattern.get(at..).is_some_and(|rest| rest.iter().all(|letter| *letter == '*'))
}

/// Where the pattern goes on after the one sign at `at`, if that fits `letter`.
fn fits_one(pattern: &[char], at: usize, letter: char) -> Option<usize> {
    match pattern.get(at)? {
        '?' => Some(at + 1),
        '[' => match class(pattern, at) {
            Some((members, negated, next)) => (holds(members, letter) != negated).then_some(next),
            None => (letter == '[').then_some(at + 1),
        },
        other => (*other == letter).then_some(at + 1),
    }
}

/// What stands in the brackets that open at `at`, whether it is negated, and where the pattern goes on.
fn class(pattern: &[char], at: usize) -> Option<(&[char], bool, usize)> {
    let negated = pattern.get(at + 1) == Some(&'!');
    let first = at + 1 + usize::from(negated);
    // A bracket in the first place is a member.
    let length = pattern.get(first + 1..)?.iter().position(|letter| *letter == ']')? + 1;
    Some((pattern.get(first..first + length)?, negated, first + length + 1))
}

fn holds(members: &[char], letter: char) -> bool {
    let mut rest = members;
    loop {
        match rest {
            [low, '-', high, more @ ..] => {
                if (*low..=*high).contains(&letter) {
                    return true;
                }
                rest = more;
            }
            [one, more @ ..] => {
                if *one == letter {
                    return true;
                }
                rest = more;
            }
            [] => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_those_of_a_shell() {
        for (pattern, text, expected) in [
            ("rye.*", "rye.execute.tool.a", true),
            ("rye.execute.tool.*", "rye.execute.tool.rye.bash", true),
            ("rye.fetch.knowledge.*", "rye.fetch.knowledge", false),
            ("rye.execute.tool.a?", "rye.execute.tool.ab", true),
            ("a*b*c", "a.x.b.y.c", true),
            ("a*b*c", "a.x.b.y", false),
            ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false),
            ("[]x]", "]", true),
            ("[x", "[x", true),
            ("[x", "x", false),
            ("A", "a", false),
            ("", "", true),
            ("***", "", true),
            ("*a*a*a*a*a*a*a*b", &"a".repeat(400), false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} and {text}");
        }
    }
}
