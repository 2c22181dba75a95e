//! Where the metadata of an item stands in its file: in a fenced block, or in front matter between `---` lines.

use super::markup::Lines;

/// A file taken apart. Texts are trimmed; lines count from 1 and are those of the trimmed text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parts<'a> {
    pub(super) preamble: &'a str,
    pub(super) inside: &'a str,
    /// The line that `inside` begins on.
    pub(super) first: u32,
    pub(super) body: &'a str,
    pub(super) body_lines: Lines,
    /// Whether the end was found.
    pub(super) closed: bool,
}

/// Each line with its number and the byte it begins at.
fn lines(text: &str) -> impl Iterator<Item = (u32, usize, &str)> {
    let mut at = 0;
    (1..).zip(text.split_inclusive('\n')).map(move |(number, line)| {
        let begin = at;
        at += line.len();
        (number, begin, line.trim_end_matches(['\n', '\r']))
    })
}

/// The first block fenced as `language` that no longer fence encloses; everything behind it is the body.
pub(super) fn fenced<'a>(text: &'a str, language: &str) -> Option<Parts<'a>> {
    let opening = format!("```{language}");
    let mut outer: Option<usize> = None;
    let mut open: Option<(usize, usize, u32)> = None;
    for (number, begin, line) in lines(text) {
        let next = text.get(begin..).and_then(|rest| rest.find('\n')).map_or(text.len(), |end| begin + end + 1);
        if let Some((before, inside, first)) = open {
            if line.trim_end() == "```" {
                return Some(parts(text, before, (inside, begin), first, next, true));
            }
            continue;
        }
        let ticks = line.len() - line.trim_start_matches('`').len();
        match outer {
            Some(length) if ticks >= length && line.trim_end().len() == ticks => outer = None,
            None if ticks >= 4 => outer = Some(ticks),
            None if line.trim_end() == opening => open = Some((begin, next, number + 1)),
            Some(_) | None => {}
        }
    }
    let (before, inside, first) = open?;
    Some(parts(text, before, (inside, text.len()), first, text.len(), false))
}

/// The block between a first line `---` and the next one. Comments may stand before it.
pub(super) fn front_matter(text: &str) -> Option<Parts<'_>> {
    let mut open: Option<(usize, usize, u32)> = None;
    for (number, begin, line) in lines(text) {
        let next = begin + text.get(begin..)?.split_inclusive('\n').next().map_or(0, str::len);
        match open {
            Some((before, inside, first)) if matches!(line.trim_end(), "---" | "...") => {
                return Some(parts(text, before, (inside, begin), first, next, true));
            }
            Some(_) => {}
            None if line.trim_end() == "---" => open = Some((begin, next, number + 1)),
            None if line.trim().is_empty() || is_comment(line) => {}
            None => return None,
        }
    }
    // An opening line alone is a rule that somebody drew.
    None
}

/// A file without metadata is all body.
pub(super) fn without(text: &str) -> Parts<'_> {
    parts(text, 0, (0, 0), 1, 0, true)
}

fn is_comment(line: &str) -> bool {
    let line = line.trim();
    line.starts_with("<!--") && line.ends_with("-->")
}

fn parts(text: &str, before: usize, inside: (usize, usize), first: u32, after: usize, closed: bool) -> Parts<'_> {
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    let mut preamble = part(0, before).trim();
    let mut rest = part(after, text.len());
    let mut body_at = after;
    // Signatures and other comments of one line are no text.
    if before == 0 && inside.1 == 0 {
        while let Some((line, behind)) = rest.split_once('\n').filter(|(line, _)| is_comment(line)) {
            body_at += line.len() + 1;
            rest = behind;
        }
    }
    while let Some((_, behind)) = preamble.split_once('\n').filter(|(line, _)| is_comment(line)) {
        preamble = behind.trim_start();
    }
    if is_comment(preamble) && !preamble.contains('\n') {
        preamble = "";
    }
    let body_at = body_at + rest.len() - rest.trim_start().len();
    let body = rest.trim();
    let count = |part: &str| u32::try_from(part.matches('\n').count()).unwrap_or(u32::MAX);
    let body_first = 1 + count(part(0, body_at));
    let body_lines = (body_first, body_first + count(body));
    Parts { preamble, inside: part(inside.0, inside.1), first, body, body_lines, closed }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_first_fence_counts_and_the_rest_is_body() {
        let text = "<!-- rye:signed:x -->\n# Title\n\n```xml  \n<a/>\n```\n\nBody\n```xml\nmore\n```\n";
        let found = fenced(text, "xml").unwrap();
        assert_eq!((found.preamble, found.inside, found.first), ("# Title", "<a/>\n", 5));
        assert_eq!((found.body, found.body_lines), ("Body\n```xml\nmore\n```", (8, 11)));
    }

    #[test]
    fn a_fence_in_a_longer_fence_is_an_example() {
        let text = "````markdown\n```xml\nexample\n```\n````\n```xml\nreal\n```";
        assert_eq!(fenced(text, "xml").unwrap().inside, "real\n");
        assert_eq!(fenced("text ```xml\n``` \n", "xml"), None);
        let open = fenced("```xml\n<a>\n", "xml").unwrap();
        assert_eq!((open.inside, open.closed, open.body), ("<a>\n", false, ""));
    }

    #[test]
    fn front_matter_stands_first() {
        let found = front_matter("<!-- signed -->\r\n---\r\nname: a\r\n---\r\n\r\nBody\r\n").unwrap();
        assert_eq!((found.inside, found.first, found.body, found.body_lines), ("name: a\r\n", 3, "Body", (6, 6)));
        assert_eq!(front_matter("Text\n---\na: b\n---\n"), None);
        assert_eq!(front_matter("---\nopen"), None);
        assert_eq!(without("<!-- signed -->\n\nAll\n").body, "All");
        assert_eq!(without("<!-- signed -->\n\nAll\n").body_lines, (3, 3));
    }

    proptest! {
        #[test]
        fn any_text_is_taken_apart(text in "(`|```|````|xml|---|\r|\n|\n|a|é| |<!--|-->){0,40}") {
            for parts in [fenced(&text, "xml"), front_matter(&text), Some(without(&text))].into_iter().flatten() {
                prop_assert!(text.contains(parts.body) && text.contains(parts.inside));
                prop_assert!(parts.body_lines.0 <= parts.body_lines.1);
            }
        }
    }
}
