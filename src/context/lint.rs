//! What is probably wrong with a context that could be sent as it is.

use super::fill::unfilled;
use super::plan::Plan;
use crate::domain::capability::is_primary;
use crate::domain::{Absence, Assembly, Channel, Decision, Layer, LayerKind, Origin, Piece, Severity, Tokens, Via};
use regex::RegexSet;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Something that is probably wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Which check found it.
    pub rule: &'static str,
    pub severity: Severity,
    pub layer: String,
    pub message: String,
    pub remedy: String,
}

/// A layer may be this part of all tokens before it is told, once it is larger than [`LARGE`].
const SHARE: u64 = 2;
const LARGE: Tokens = Tokens(2_000);

/// Texts that look like secrets.
const SECRETS: [&str; 6] = [
    r"\bsk-(ant-|proj-)?[A-Za-z0-9_-]{20,}",
    r"\bAKIA[0-9A-Z]{16}\b",
    r"\bgh[pousr]_[A-Za-z0-9]{30,}",
    r"\bxox[abprs]-[A-Za-z0-9-]{10,}",
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----",
    r"(?i)\b(password|passwd|secret|api[_-]?key|token)\s*[:=]\s*[A-Za-z0-9+/_.-]{12,}",
];

/// Looks at a plan and the request it makes. `again` is the same plan made for another thread: what differs there cannot
/// be kept by a provider's cache.
#[must_use]
pub fn lint(plan: &Plan, again: &Plan, assembly: &Assembly) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(plan.problems.iter().map(|problem| Finding {
        rule: "problem",
        severity: problem.severity,
        layer: problem.file.as_ref().map(|file| file.display().to_string()).unwrap_or_default(),
        message: match problem.line {
            Some(line) => format!("line {line}: {}", problem.message),
            None => problem.message.clone(),
        },
        remedy: problem.remedy.clone(),
    }));
    absences(plan, &mut findings);
    unstable(plan, again, &mut findings);
    texts(plan, &mut findings);
    findings.extend(sent(&assembly.layers));
    findings
}

/// Looks at the layers of one request, also of one that was sent.
#[must_use]
pub fn sent(layers: &[Layer]) -> Vec<Finding> {
    let mut findings = Vec::new();
    duplicates(layers, &mut findings);
    palette(layers, &mut findings);
    shares(layers, &mut findings);
    findings
}

/// Tools that the request tells of and that none of the thread's `turns` called, by their items. A thread of fewer than
/// `least` turns may still need them.
#[must_use]
pub fn unused(layers: &[Layer], called: &BTreeSet<String>, turns: u32, least: u32) -> Vec<Finding> {
    let tools = included(layers).filter(|layer| layer.kind == LayerKind::ToolSchema && turns >= least);
    // What goes through a primary is called by its own name.
    let tools = tools.filter(|layer| !is_primary(&layer.id));
    tools
        .filter(|layer| !called.contains(&layer.id))
        .map(|layer| {
            let message =
                format!("was offered in {turns} turns and never called: ~{} tokens each time", layer.tokens.count.0);
            finding("unused", &layer.id, message, "grant it where it is needed")
        })
        .collect()
}

fn included(layers: &[Layer]) -> impl Iterator<Item = &Layer> {
    layers.iter().filter(|layer| layer.decision == Decision::Included)
}

/// Tools that are granted and for which no room was left.
fn palette(layers: &[Layer], findings: &mut Vec<Finding>) {
    for layer in layers {
        if let Decision::Skipped { absence: absence @ Absence::OverBudget { .. } } = &layer.decision {
            let remedy = "grant fewer tools, name this one, or raise resilience.tool_preload.max_tokens";
            findings.push(finding("palette", &layer.id, absence.to_string(), remedy));
        }
    }
}

fn finding(rule: &'static str, layer: &str, message: impl Into<String>, remedy: &str) -> Finding {
    let (layer, message, remedy) = (layer.to_owned(), message.into(), remedy.to_owned());
    Finding { rule, severity: Severity::Warning, layer, message, remedy }
}

/// The same text twice in one request.
fn duplicates(layers: &[Layer], findings: &mut Vec<Finding>) {
    let mut seen: BTreeMap<&str, &Layer> = BTreeMap::new();
    for layer in included(layers).filter(|layer| layer.kind != LayerKind::History && layer.tokens.count > Tokens(4)) {
        match seen.get(layer.hash.as_str()) {
            Some(first) => findings.push(finding(
                "duplicate",
                &layer.id,
                format!("says the same as `{}`", first.id),
                "leave one of them out with <suppress>, or write it once",
            )),
            None => drop(seen.insert(layer.hash.as_str(), layer)),
        }
    }
}

fn pieces(plan: &Plan) -> impl Iterator<Item = &Piece> {
    plan.system.iter().chain(&plan.opening)
}

fn absences(plan: &Plan, findings: &mut Vec<Finding>) {
    let depth = |id: &String| plan.chain.iter().rev().position(|link| link == id);
    for piece in pieces(plan) {
        let Decision::Skipped { absence } = &piece.decision else { continue };
        let via = if let Origin::Item { via, .. } = &piece.origin { via.as_ref() } else { None };
        match absence {
            Absence::Suppressed { by } => {
                if let Some(Via::Directive { id, depth: asked, .. }) = via
                    && depth(by).is_some_and(|suppressed| *asked as usize <= suppressed)
                {
                    let message = format!("`{id}` adds it and `{by}` suppresses it: it is left out");
                    findings.push(finding(
                        "suppressed",
                        &piece.id,
                        message,
                        "remove the <suppress>, or the line that brings it",
                    ));
                }
            }
            Absence::Missing { message } => {
                findings.push(finding("missing", &piece.id, message.clone(), "write the item, or remove the line"));
            }
            Absence::Refused { message } => findings.push(Finding {
                severity: Severity::Error,
                ..finding("refused", &piece.id, message.clone(), "fix the item, or sign it again")
            }),
            Absence::Shadowed { by } => findings.push(finding(
                "shadowed",
                &piece.id,
                format!("{by} hides the file of another space"),
                "ignore this if you intend it",
            )),
            Absence::Empty => {
                findings.push(finding("empty", &piece.id, "holds no text", "write it, or remove the line"));
            }
            Absence::BrokenCondition { .. }
            | Absence::Condition { .. }
            | Absence::Duplicate { .. }
            | Absence::NothingToSay
            | Absence::NotRun { .. }
            | Absence::OverBudget { .. }
            | Absence::SwitchedOff { .. }
            | Absence::Removed { .. } => {}
        }
    }
}

/// Text that is another one in the next thread, at the front where every thread could share it.
fn unstable(plan: &Plan, again: &Plan, findings: &mut Vec<Finding>) {
    for (piece, other) in plan.system.iter().zip(&again.system) {
        if piece.id == other.id && piece.text != other.text {
            findings.push(finding(
                "unstable",
                &piece.id,
                "differs from thread to thread, so the system prompt after it is never cached",
                "move it after what stays the same, or add it with a thread_started hook",
            ));
        }
    }
}

fn texts(plan: &Plan, findings: &mut Vec<Finding>) {
    for piece in pieces(plan).filter(|piece| piece.is_included()) {
        for placeholder in unfilled(&piece.text) {
            findings.push(Finding {
                severity: Severity::Error,
                ..finding(
                    "placeholder",
                    &piece.id,
                    format!("`{placeholder}` is not filled in"),
                    "give it a value, or a default",
                )
            });
        }
    }
    let texts = pieces(plan).filter(|piece| piece.is_included()).map(|piece| (piece.id.as_str(), &*piece.text));
    findings.extend(secrets(texts));
}

/// Texts, each with the id of its layer, that hold something like a key.
pub fn secrets<'a>(texts: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<Finding> {
    // The patterns are constants; a test compiles them.
    let Ok(secrets) = RegexSet::new(SECRETS) else { return Vec::new() };
    let (message, remedy) =
        ("holds something that looks like a key or a password", "remove it: every request sends it");
    let found = texts.filter(|(_, text)| secrets.is_match(text));
    found.map(|(id, _)| Finding { severity: Severity::Error, ..finding("secret", id, message, remedy) }).collect()
}

fn shares(layers: &[Layer], findings: &mut Vec<Finding>) {
    let all: Tokens = included(layers).map(|layer| layer.tokens.count).sum();
    for layer in included(layers).filter(|layer| !matches!(layer.channel, Channel::Messages { .. })) {
        if layer.tokens.count > LARGE && layer.tokens.count.0 > all.0 / SHARE {
            let message = format!("is about {} of {all} tokens", layer.tokens.count);
            findings.push(finding("share", &layer.id, message, "add only what is needed; let the model read the rest"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_a_secret_is_one() {
        let secrets = RegexSet::new(SECRETS).unwrap();
        for secret in
            ["key sk-ant-api03-abcdefghijklmnopqrst", "password: hunter2hunter2", "-----BEGIN PRIVATE KEY-----"]
        {
            assert!(secrets.is_match(secret), "{secret}");
        }
        for plain in ["the token budget is small", "password: ask me", "task-1234567890123456789012"] {
            assert!(!secrets.is_match(plain), "{plain}");
        }
    }

    #[test]
    fn tools_that_nobody_called_are_told_after_some_turns() {
        use crate::domain::{ContentHash, Lifetime, TokenCount};
        let layer = |id: &str, decision: Decision| Layer {
            id: id.to_owned(),
            kind: LayerKind::ToolSchema,
            channel: Channel::Tools,
            origin: Origin::Thread,
            tokens: TokenCount { count: Tokens(120), exact: false },
            lifetime: Lifetime::PerCall,
            decision,
            hash: ContentHash::of(id.as_bytes()),
            range: 0..0,
        };
        let absence = Absence::OverBudget { needs: Tokens(90), left: Tokens(10), budget: Tokens(100) };
        let layers = [
            layer("a/used", Decision::Included),
            layer("a/idle", Decision::Included),
            layer("a/wide", Decision::Skipped { absence }),
        ];
        let called = BTreeSet::from(["a/used".to_owned()]);
        let found = unused(&layers, &called, 5, 5);
        assert_eq!((found.len(), found[0].layer.as_str(), found[0].rule), (1, "a/idle", "unused"));
        assert!(found[0].message.contains("in 5 turns") && found[0].message.contains("~120 tokens"));
        assert_eq!(unused(&layers, &called, 4, 5), []);
        let found = sent(&layers);
        assert_eq!((found.len(), found[0].rule, found[0].layer.as_str()), (1, "palette", "a/wide"));
    }
}
