//! What the words of a piece of code are: keyword, comment, number.
//!
//! Grammars cost milliseconds for a line and megabytes for a language, and give neither back. So this runs in a process
//! of its own that ends when it has nothing to do (`app::colouring`), never where frames are drawn.

use crate::workbench::code::{CodeKind, Colouring};
use std::time::{Duration, Instant};
use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};
use unicode_segmentation::UnicodeSegmentation;

/// A longer line has no colours: it is data rather than code, and patterns take longest on it.
const LONGEST_LINE: usize = 2 << 10;

/// Code that takes longer has no colours from there on.
const PATIENCE: Duration = Duration::from_secs(5);

/// Names that people write above code, and the grammars' names for the same.
const ALIASES: [(&str, &str); 10] = [
    ("console", "bash"),
    ("docker", "Dockerfile"),
    ("golang", "go"),
    ("jsonc", "json"),
    ("jsonl", "json"),
    ("patch", "diff"),
    ("python3", "python"),
    ("shell", "bash"),
    ("shellscript", "bash"),
    ("zsh", "bash"),
];

/// What scopes mean, by their first words. Within a line of `KINDS` the longer name comes first.
const KINDS: [(&str, Option<CodeKind>); 38] = [
    ("comment", Some(CodeKind::Comment)),
    ("string", Some(CodeKind::String)),
    ("constant.character", Some(CodeKind::String)),
    ("constant", Some(CodeKind::Number)),
    ("support.constant", Some(CodeKind::Number)),
    ("keyword.operator.logical", Some(CodeKind::Keyword)),
    ("keyword.operator.word", Some(CodeKind::Keyword)),
    ("keyword.operator", None),
    ("keyword", Some(CodeKind::Keyword)),
    ("storage", Some(CodeKind::Keyword)),
    ("variable.language", Some(CodeKind::Keyword)),
    ("entity.name.tag", Some(CodeKind::Keyword)),
    ("markup.heading", Some(CodeKind::Keyword)),
    ("entity.name.function", Some(CodeKind::Function)),
    ("entity.name.macro", Some(CodeKind::Function)),
    ("entity.other.attribute-name", Some(CodeKind::Function)),
    ("support.function", Some(CodeKind::Function)),
    ("support.macro", Some(CodeKind::Function)),
    ("variable.function", Some(CodeKind::Function)),
    ("variable.annotation", Some(CodeKind::Function)),
    ("meta.diff.header", Some(CodeKind::Function)),
    ("meta.diff.range", Some(CodeKind::Function)),
    ("entity.name.class", Some(CodeKind::Type)),
    ("entity.name.enum", Some(CodeKind::Type)),
    ("entity.name.impl", Some(CodeKind::Type)),
    ("entity.name.interface", Some(CodeKind::Type)),
    ("entity.name.namespace", Some(CodeKind::Type)),
    ("entity.name.section", Some(CodeKind::Type)),
    ("entity.name.struct", Some(CodeKind::Type)),
    ("entity.name.trait", Some(CodeKind::Type)),
    ("entity.name.type", Some(CodeKind::Type)),
    ("entity.other.inherited-class", Some(CodeKind::Type)),
    ("support.class", Some(CodeKind::Type)),
    ("support.type", Some(CodeKind::Type)),
    ("markup.inserted", Some(CodeKind::Added)),
    ("markup.deleted", Some(CodeKind::Removed)),
    // Code within a string is code again.
    ("meta.interpolation", None),
    ("source", None),
];

/// The grammars, and what their scopes mean.
#[derive(Debug)]
pub struct Highlighter {
    grammars: SyntaxSet,
    kinds: Vec<(Scope, Option<CodeKind>)>,
}

impl Default for Highlighter {
    fn default() -> Self {
        let kinds = KINDS.iter().filter_map(|(name, kind)| Some((Scope::new(name).ok()?, *kind)));
        Self { grammars: two_face::syntax::extra_newlines(), kinds: kinds.collect() }
    }
}

impl Highlighter {
    /// What the pieces of `text` are. Nothing in particular in a language nobody knows.
    #[must_use]
    pub fn colour(&self, language: &str, text: &str) -> Colouring {
        let mut colouring = Colouring::default();
        let Some(grammar) = self.grammar(language) else { return colouring };
        let (mut state, mut stack) = (ParseState::new(grammar), ScopeStack::new());
        let begun = Instant::now();
        for line in text.split_inclusive('\n') {
            if begun.elapsed() > PATIENCE {
                break;
            }
            if line.len() <= LONGEST_LINE {
                let Ok(changes) = state.parse_line(line, &self.grammars) else { break };
                let mut begins = 0;
                for (at, change) in changes {
                    let at = line.len().min(at);
                    self.put(&mut colouring, line, begins, at, &stack);
                    begins = begins.max(at);
                    if stack.apply(&change).is_err() {
                        return colouring;
                    }
                }
                self.put(&mut colouring, line, begins, line.len(), &stack);
            }
            colouring.end_line();
        }
        colouring
    }

    fn grammar(&self, language: &str) -> Option<&SyntaxReference> {
        let small = language.to_lowercase();
        let known = ALIASES.iter().find(|(alias, _)| *alias == small).map_or(language, |(_, name)| name);
        self.grammars.find_syntax_by_token(known)
    }

    /// Adds a run. Letters are not cut: one that begins in a run belongs to it.
    fn put(&self, colouring: &mut Colouring, line: &str, from: usize, to: usize, stack: &ScopeStack) {
        let (from, to) = (whole(line, from), whole(line, to));
        if from < to {
            colouring.put(to - from, self.kind(stack));
        }
    }

    /// The innermost scope that means something tells.
    fn kind(&self, stack: &ScopeStack) -> Option<CodeKind> {
        let meaning = |scope: &Scope| self.kinds.iter().find(|(known, _)| known.is_prefix_of(*scope));
        stack.as_slice().iter().rev().find_map(meaning).and_then(|(_, kind)| *kind)
    }
}

/// The first place at or after `at` where what people see as a letter begins.
fn whole(line: &str, at: usize) -> usize {
    if line.is_ascii() {
        return at;
    }
    line.grapheme_indices(true).map(|(start, _)| start).find(|start| *start >= at).unwrap_or(line.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(language: &str, text: &str, expected: &[&[(&str, Option<CodeKind>)]]) {
        let colouring = Highlighter::default().colour(language, text);
        for (number, (line, expected)) in text.lines().zip(expected).enumerate() {
            let mut at = 0;
            let runs = colouring.line(number).iter().map(|(bytes, kind)| {
                let start = at;
                at += *bytes as usize;
                (line.get(start..at.min(line.len())).unwrap(), *kind)
            });
            assert_eq!(runs.filter(|(run, _)| !run.is_empty()).collect::<Vec<_>>(), *expected, "line {number}");
        }
    }

    #[test]
    fn words_are_told_apart() {
        check(
            "rust",
            "fn main() {\n    let x = 12; // twelve\n}\n",
            &[
                &[("fn", Some(CodeKind::Keyword)), (" ", None), ("main", Some(CodeKind::Function)), ("() {", None)],
                &[
                    ("    ", None),
                    ("let", Some(CodeKind::Keyword)),
                    (" x = ", None),
                    ("12", Some(CodeKind::Number)),
                    ("; ", None),
                    ("// twelve", Some(CodeKind::Comment)),
                ],
            ],
        );
        check("diff", "-one\n+two\n", &[&[("-one", Some(CodeKind::Removed))], &[("+two", Some(CodeKind::Added))]]);
    }

    #[test]
    fn languages_go_by_many_names() {
        let highlighter = Highlighter::default();
        for name in [
            "rs",
            "Rust",
            "py",
            "python",
            "python3",
            "js",
            "javascript",
            "ts",
            "tsx",
            "typescript",
            "c",
            "cpp",
            "c++",
            "go",
            "golang",
            "sh",
            "bash",
            "shell",
            "zsh",
            "console",
            "json",
            "jsonc",
            "yaml",
            "yml",
            "toml",
            "html",
            "css",
            "sql",
            "java",
            "kotlin",
            "swift",
            "ruby",
            "php",
            "diff",
            "patch",
            "xml",
            "markdown",
            "md",
            "dockerfile",
            "docker",
            "make",
            "lua",
            "zig",
            "nix",
            "hcl",
            "terraform",
            "elixir",
            "haskell",
            "cs",
        ] {
            assert!(highlighter.grammar(name).is_some(), "{name}");
        }
        assert_eq!(highlighter.colour("klingon", "Qapla'"), Colouring::default());
    }

    #[test]
    fn letters_stay_whole() {
        let text = "x = \"e\u{301}\u{302}漢👩\u{200d}👩\u{200d}👧\" # e\u{301}\n\u{301}= 1\n";
        let colouring = Highlighter::default().colour("python", text);
        for (number, line) in text.lines().enumerate() {
            let starts: Vec<usize> = line.grapheme_indices(true).map(|(start, _)| start).collect();
            let mut at = 0;
            for (bytes, _) in colouring.line(number) {
                assert!(at == line.len() || starts.contains(&at), "line {number} is cut at {at}");
                at += *bytes as usize;
            }
        }
    }

    #[test]
    fn a_line_that_is_data_costs_nothing() {
        let text = format!("a = 1\n{}\nb = 2\n", "[".repeat(10_000));
        let colouring = Highlighter::default().colour("python", &text);
        assert!(!colouring.line(0).is_empty() && colouring.line(1).is_empty() && !colouring.line(2).is_empty());
    }
}
