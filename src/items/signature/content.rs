//! What of a file is signed, and where the line with the signature goes.

use super::line::{SignatureScope, find};
use std::borrow::Cow;
use std::path::Path;

/// How a file is laid out, as far as signatures go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureLayout {
    Directive,
    Knowledge,
    /// Tools and settings.
    Code,
}

impl SignatureLayout {
    /// The layout of the file at `path`; none for a file that has no room for a comment.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?;
        comment(ending)?;
        if ending != "md" {
            return Some(Self::Code);
        }
        let directive = path.components().any(|part| part.as_os_str() == "directives");
        Some(if directive { Self::Directive } else { Self::Knowledge })
    }
}

/// How a comment of one line begins and ends in files of this ending.
pub(super) fn comment(ending: &str) -> Option<(&'static str, &'static str)> {
    match ending {
        "md" => Some(("<!-- ", " -->")),
        "py" | "yaml" | "yml" | "toml" | "sh" | "bash" => Some(("# ", "")),
        "js" | "ts" | "mjs" | "cjs" | "mts" | "cts" => Some(("// ", "")),
        _ => None,
    }
}

/// `text` without the line of its signature.
pub(super) fn without_line(text: &str) -> Cow<'_, str> {
    match find(text) {
        Some((range, _)) => {
            let before = text.get(..range.start).unwrap_or_default();
            let after = text.get(range.end..).unwrap_or_default();
            Cow::Owned(format!("{before}{after}"))
        }
        None => Cow::Borrowed(text),
    }
}

/// `text` without a first line that signed it in a form nobody reads any more.
pub(super) fn without_oldest_line(text: &str) -> &str {
    /// Of the lines that stood where signatures stand now.
    const OLDEST: [&str; 2] = ["rye:validated:", "kiwi-mcp:"];
    let Some((first, rest)) = text.split_once('\n') else { return text };
    let said = first.trim().trim_start_matches(['<', '!', '-', '#', '/', ' ']);
    if OLDEST.iter().any(|prefix| said.starts_with(prefix)) { rest } else { text }
}

/// The texts whose hash a signature of `form` may be about. Several, because the older form trimmed here and there.
pub(super) fn signed_parts(text: &str, layout: SignatureLayout, form: SignatureScope) -> Vec<String> {
    let whole = without_line(text);
    if form == SignatureScope::Whole {
        return vec![whole.into_owned()];
    }
    let part: &str = match layout {
        SignatureLayout::Directive => directive_part(&whole).unwrap_or(&whole),
        SignatureLayout::Knowledge => behind_front_matter(&whole),
        SignatureLayout::Code => behind_shebang(&whole),
    };
    let mut parts = vec![part.to_owned()];
    for trimmed in [part.trim(), part.trim_start_matches('\n'), part.trim_end()] {
        if !parts.iter().any(|known| known == trimmed) {
            parts.push(trimmed.to_owned());
        }
    }
    parts
}

/// From the first `<directive…>` to the last `</directive>`.
fn directive_part(text: &str) -> Option<&str> {
    const END: &str = "</directive>";
    let start = text.match_indices("<directive").find(|(at, _)| {
        let next = text.get(at + "<directive".len()..).and_then(|rest| rest.chars().next());
        next.is_some_and(|letter| letter == '>' || letter.is_whitespace())
    })?;
    let end = text.rfind(END)? + END.len();
    text.get(start.0..end).map(str::trim)
}

fn behind_front_matter(text: &str) -> &str {
    let Some(rest) = text.strip_prefix("---\n") else { return text };
    match rest.split_once("\n---\n") {
        Some((_, body)) => body,
        None => text,
    }
}

fn behind_shebang(text: &str) -> &str {
    if text.starts_with("#!") { text.split_once('\n').map_or("", |(_, rest)| rest) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_follow_folder_and_ending() {
        let of = |path: &str| SignatureLayout::of(Path::new(path));
        assert_eq!(of(".ai/directives/team/deploy.md"), Some(SignatureLayout::Directive));
        assert_eq!(of(".ai/knowledge/rules.md"), Some(SignatureLayout::Knowledge));
        assert_eq!(of(".ai/tools/x.py"), Some(SignatureLayout::Code));
        assert_eq!(of(".ai/tools/data.json"), None);
    }

    #[test]
    fn the_older_form_leaves_parts_out() {
        let directive = "# Title\n```xml\n<directive name=\"a\">\n x\n</directive>\n```\nbody\n";
        let parts = signed_parts(directive, SignatureLayout::Directive, SignatureScope::Part);
        assert_eq!(parts, ["<directive name=\"a\">\n x\n</directive>"]);
        let whole = signed_parts(directive, SignatureLayout::Directive, SignatureScope::Whole);
        assert_eq!(whole, [directive]);
        assert_eq!(signed_parts("#!/bin/sh\necho\n", SignatureLayout::Code, SignatureScope::Part)[0], "echo\n");
        assert_eq!(
            signed_parts("---\nname: x\n---\nbody\n", SignatureLayout::Knowledge, SignatureScope::Part)[0],
            "body\n"
        );
    }
}
