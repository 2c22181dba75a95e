//! Patterns in the manner of a shell: `*` (dots included), `?` and `[…]`, over the whole of a text; and what can be said
//! of all texts that a pattern fits.

use std::collections::HashSet;

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
    (!has_wildcards(pattern), pattern.chars().filter(|letter| !is_wildcard(*letter)).count())
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

/// How much work [`greatest`] does before it gives up.
const MOST_STEPS: usize = 400_000;

/// The greatest of what `worth` gives for the texts that `pattern` fits; it is told which of `others` fit the same text.
/// `None` where the pattern fits no text, `unknown` where it takes too long to find out, as patterns of many stars can
/// make it.
///
/// All patterns are followed side by side, letter by letter, over every text that the first still may fit. Letters that
/// none of them tells from others are tried once.
pub fn greatest<T: Ord>(pattern: &str, others: &[&str], unknown: T, worth: impl Fn(&[bool]) -> T) -> Option<T> {
    let patterns = SideBySide::new(std::iter::once(pattern).chain(others.iter().copied()));
    let first = patterns.begin();
    let (mut seen, mut open, mut steps) = (HashSet::from([first.clone()]), vec![first], 0);
    let mut greatest: Option<T> = None;
    while let Some(state) = open.pop() {
        let mut ends = patterns.ends.iter().map(|end| state.has(*end));
        if ends.next() == Some(true) {
            let fits: Vec<bool> = ends.collect();
            greatest = greatest.max(Some(worth(&fits)));
        }
        let work = state.count() + patterns.ends.len();
        for letter in patterns.letters(&state) {
            steps += work;
            if steps > MOST_STEPS {
                return Some(unknown);
            }
            if let Some(next) = patterns.read(&state, letter)
                && !seen.contains(&next)
            {
                seen.insert(next.clone());
                open.push(next);
            }
        }
    }
    greatest
}

/// Whether every text that `narrow` fits is one that `wide` fits; no where it takes too long to find out.
#[must_use]
pub fn covers(wide: &str, narrow: &str) -> bool {
    if !has_wildcards(narrow) {
        return matches(wide, narrow);
    }
    // The greatest is true where a text is missed.
    !begin_apart(wide, narrow) && greatest(narrow, &[wide], true, |fits| !fits.iter().all(|fits| *fits)) != Some(true)
}

/// Whether any text is one that both fit; yes where it takes too long to find out.
#[must_use]
pub fn meet(one: &str, other: &str) -> bool {
    match (has_wildcards(one), has_wildcards(other)) {
        (false, _) => matches(other, one),
        (_, false) => matches(one, other),
        _ => {
            !begin_apart(one, other)
                && greatest(one, &[other], true, |fits| fits.iter().all(|fits| *fits)) == Some(true)
        }
    }
}

fn is_wildcard(letter: char) -> bool {
    matches!(letter, '*' | '?' | '[')
}

fn has_wildcards(pattern: &str) -> bool {
    pattern.contains(is_wildcard)
}

/// Whether two patterns ask for different letters before either has a wildcard, as most do.
fn begin_apart(one: &str, other: &str) -> bool {
    let begin = |pattern: &str| pattern.find(is_wildcard).unwrap_or(pattern.len());
    let (one, other) = (one.as_bytes().iter().take(begin(one)), other.as_bytes().iter().take(begin(other)));
    one.zip(other).any(|(one, other)| one != other)
}

/// What may stand at a place of a pattern.
#[derive(Debug)]
enum Sign {
    /// Any number of letters.
    Star,
    /// Any one letter.
    Any,
    One(char),
    /// One of the members, or of all others, and the place behind the bracket.
    Class {
        members: Vec<char>,
        negated: bool,
        next: usize,
    },
    End,
}

/// Some patterns, one behind the other: the places of all are numbered through.
#[derive(Debug)]
struct SideBySide {
    signs: Vec<Sign>,
    /// The place at which each pattern begins.
    begins: Vec<usize>,
    /// The place at which each has been read to its end.
    ends: Vec<usize>,
}

/// Where the patterns may go on after a text was read: a bit for each place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Places(Box<[u64]>);

impl SideBySide {
    fn new<'a>(patterns: impl Iterator<Item = &'a str>) -> Self {
        let mut all = Self { signs: Vec::new(), begins: Vec::new(), ends: Vec::new() };
        for pattern in patterns {
            let pattern: Vec<char> = pattern.chars().collect();
            let begin = all.signs.len();
            all.begins.push(begin);
            all.ends.push(begin + pattern.len());
            all.signs.extend(pattern.iter().enumerate().map(|(at, letter)| match letter {
                '*' => Sign::Star,
                '?' => Sign::Any,
                '[' => class(&pattern, at).map_or(Sign::One('['), |(members, negated, next)| Sign::Class {
                    members: members.to_vec(),
                    negated,
                    next: begin + next,
                }),
                _ => Sign::One(*letter),
            }));
            all.signs.push(Sign::End);
        }
        all
    }

    fn begin(&self) -> Places {
        let mut places = self.nowhere();
        for begin in &self.begins {
            self.add(&mut places, *begin);
        }
        places
    }

    fn nowhere(&self) -> Places {
        Places(vec![0; self.signs.len().div_ceil(64)].into())
    }

    /// Adds a place, and those behind stars, which may stand for nothing.
    fn add(&self, places: &mut Places, mut place: usize) {
        while places.insert(place) && matches!(self.signs.get(place), Some(Sign::Star)) {
            place += 1;
        }
    }

    /// Where they go on behind `letter`, if the first still does.
    fn read(&self, state: &Places, letter: char) -> Option<Places> {
        let (mut next, mut goes_on) = (self.nowhere(), false);
        let own = self.ends.first().copied().unwrap_or_default();
        for place in state.iter() {
            if place > own && !goes_on {
                return None;
            }
            let to = match self.signs.get(place) {
                Some(Sign::Star) => place,
                Some(Sign::Any) => place + 1,
                Some(Sign::One(one)) if *one == letter => place + 1,
                Some(Sign::Class { members, negated, next }) if holds(members, letter) != *negated => *next,
                _ => continue,
            };
            goes_on |= place <= own;
            self.add(&mut next, to);
        }
        goes_on.then_some(next)
    }

    /// Letters, one at least of all that lead on from a state to the same: those that stand for themselves at one of its
    /// places, and another; where a class is among them, the first letter of each stretch between two that are named.
    fn letters(&self, state: &Places) -> Vec<char> {
        let (mut letters, mut has_class) = (Vec::new(), false);
        for place in state.iter() {
            match self.signs.get(place) {
                Some(Sign::One(letter)) => letters.push(*letter),
                Some(Sign::Class { members, .. }) => {
                    has_class = true;
                    letters.extend(members);
                }
                _ => {}
            }
        }
        letters.sort_unstable();
        letters.dedup();
        if has_class {
            let behind: Vec<char> = letters.iter().filter_map(|letter| (*letter..=char::MAX).nth(1)).collect();
            letters.extend(behind);
            letters.push('\0');
            letters.sort_unstable();
            letters.dedup();
        } else {
            letters.extend(('a'..=char::MAX).find(|letter| !letters.contains(letter)));
        }
        letters
    }
}

impl Places {
    /// Whether that is news.
    fn insert(&mut self, place: usize) -> bool {
        let Some(word) = self.0.get_mut(place / 64) else { return false };
        let bit = 1 << (place % 64);
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    fn has(&self, place: usize) -> bool {
        self.0.get(place / 64).is_some_and(|word| word >> (place % 64) & 1 == 1)
    }

    fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// In order.
    fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().flat_map(|(at, word)| {
            let bits = std::iter::successors(Some(*word), |rest| Some(rest & rest.wrapping_sub(1)));
            bits.take_while(|rest| *rest != 0).map(move |rest| at * 64 + rest.trailing_zeros() as usize)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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

    fn pattern() -> impl Strategy<Value = String> {
        let parts = vec!["a", "b", "c", ".", "*", "?", "[ab]", "[!a]", "[a-b]", "[!b-c]", "["];
        prop::collection::vec(prop::sample::select(parts), 0..7).prop_map(|parts| parts.concat())
    }

    /// Every text of four letters at most.
    fn texts() -> Vec<String> {
        let mut texts = vec![String::new()];
        let mut from = 0;
        for _ in 0..4 {
            let to = texts.len();
            for at in from..to {
                texts.extend(['a', 'b', 'c', '.', '[', 'z'].map(|letter| format!("{}{letter}", texts[at])));
            }
            from = to;
        }
        texts
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

        #[test]
        fn what_is_said_of_all_texts_holds_for_each(one in pattern(), others in prop::collection::vec(pattern(), 1..4)) {
            let others: Vec<&str> = others.iter().map(String::as_str).collect();
            let number = |fits: &[bool]| fits.iter().fold(0_u32, |sum, fits| sum * 2 + u32::from(*fits));
            let greatest = greatest(&one, &others, 1_000, number);
            let there = texts().into_iter().filter(|text| matches(&one, text)).map(|text| {
                number(&others.iter().map(|other| matches(other, &text)).collect::<Vec<_>>())
            });
            // Longer texts may be worth more.
            prop_assert!(greatest >= there.max());
            let (covers, meet) = (covers(&one, others[0]), meet(&one, others[0]));
            for text in texts() {
                let (fits, fitted) = (matches(&one, &text), matches(others[0], &text));
                prop_assert!(!(covers && fitted && !fits), "{one} does not cover {}: {text}", others[0]);
                prop_assert!(meet || !(fits && fitted), "{one} and {} meet at {text}", others[0]);
            }
        }
    }

    #[test]
    fn patterns_cover_and_meet_each_other() {
        for (wide, narrow, expected) in [
            ("rye.*", "rye.execute.*", true),
            ("rye.execute.*", "rye.*", false),
            ("rye.*", "rye.*", true),
            ("a.[ab]", "a.a", true),
            ("a.[a-y]", "a.z", false),
            ("a.?", "a.[!x]", true),
            ("*", "rye.?*[x]", true),
            ("a*", "*a", false),
        ] {
            assert_eq!(covers(wide, narrow), expected, "{wide} and {narrow}");
        }
        for (one, other, expected) in [
            ("rye.execute.*", "rye.*.tool.a", true),
            ("rye.execute.*", "rye.fetch.*", false),
            ("a*", "*b", true),
            ("[a-c]", "[d-z]", false),
            ("[!a-c]", "[a-z]", true),
        ] {
            assert_eq!((meet(one, other), meet(other, one)), (expected, expected), "{one} and {other}");
        }
    }

    #[test]
    fn what_takes_too_long_is_unknown() {
        let wild = format!("{}*", "*a?".repeat(40));
        let other = format!("{}*", "*b?".repeat(40));
        assert!(!covers(&other, &wild) && meet(&wild, &other));
    }
}
