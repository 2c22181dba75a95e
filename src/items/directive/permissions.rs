//! What `<permissions>` grants, as capability strings: `rye.<primary>.<kind>.<id with dots>`.
//!
//! The prefix and the form are those of the files that exist; patterns in hooks and configuration are written against
//! them.

use super::{Located, Reading};
use crate::domain::Grant;
use crate::items::markup::Element;

/// What every capability begins with.
const PREFIX: &str = "rye";

/// What a directive may do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permissions {
    /// In the order written, wildcards included; aliases as they are called, see [`crate::items::Capabilities`].
    pub capabilities: Vec<Located<Grant>>,
    pub acknowledged: Vec<Acknowledged>,
    /// Whether anything was said at all: what is granted to nothing is not inherited.
    pub declared: bool,
}

/// A risk that the author knows of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acknowledged {
    pub risk: String,
    pub reason: String,
    pub line: u32,
}

impl Permissions {
    pub(super) fn read(&mut self, element: &Element, reading: &mut Reading<'_>) {
        self.declared = true;
        reading.attributes(element, TERMS);
        let around = terms(element, Terms::default(), reading);
        match element.text.as_str() {
            "" => {}
            "*" => self.grant(format!("{PREFIX}.*"), element, around),
            other => {
                let shown: String = other.chars().take(40).collect();
                reading.fatal(
                    element.lines.0,
                    format!("`{shown}` in <permissions> grants nothing"),
                    "write *, or elements such as <execute><tool>…</tool></execute>",
                );
            }
        }
        for child in &element.children {
            match child.tag.as_str() {
                "execute" | "fetch" | "sign" => self.primary(&child.tag, child, around, reading),
                old @ ("search" | "load") => {
                    reading.warn(child.lines.0, format!("<{old}> is called <fetch> now"), "write <fetch>");
                    self.primary("fetch", child, around, reading);
                }
                "cap" => self.cap(child, around, reading),
                "capability" => self.capability(child, around, reading),
                "acknowledge" => {
                    reading.attributes(child, &["risk"]);
                    let risk = child.attribute("risk").map_or("elevated", str::trim).to_owned();
                    self.acknowledged.push(Acknowledged { risk, reason: child.text.clone(), line: child.lines.0 });
                }
                other => reading.fatal(
                    child.lines.0,
                    format!("<{other}> in <permissions> grants nothing"),
                    "write execute, fetch, sign or acknowledge",
                ),
            }
        }
    }

    fn grant(&mut self, capability: String, element: &Element, terms: Terms) {
        // Who knows of no sandbox asks.
        let ask = terms.ask || terms.sandbox;
        let value = Grant { sandbox: terms.sandbox, ..Grant::new(capability, ask) };
        self.capabilities.push(Located { value, lines: element.lines });
    }

    /// `<execute>*</execute>`, `<execute>tool.a.b</execute>`, `<execute><tool>a.b</tool></execute>`.
    fn primary(&mut self, primary: &str, element: &Element, around: Terms, reading: &mut Reading<'_>) {
        let text = element.text.replace('/', ".");
        reading.attributes(element, TERMS);
        let inside = terms(element, around, reading);
        if !text.is_empty() {
            if is_pattern(&text) {
                self.grant(format!("{PREFIX}.{primary}.{text}"), element, inside);
            } else {
                not_a_pattern(&element.text, element, reading);
            }
        } else if element.children.is_empty() {
            reading.warn(
                element.lines.0,
                format!("<{primary}> grants nothing"),
                format!("write <{primary}>*</{primary}>, or what it is for"),
            );
        }
        for child in &element.children {
            let kind = child.tag.as_str();
            if !matches!(kind, "tool" | "directive" | "knowledge" | "config") {
                reading.fatal(
                    child.lines.0,
                    format!("<{kind}> is no kind of item"),
                    "write tool, directive or knowledge",
                );
                continue;
            }
            reading.attributes(child, TERMS);
            let pattern = child.text.replace('/', ".");
            if is_pattern(&pattern) {
                self.grant(format!("{PREFIX}.{primary}.{kind}.{pattern}"), child, terms(child, inside, reading));
            } else {
                not_a_pattern(&child.text, child, reading);
            }
        }
    }

    /// `<cap>fs.read</cap>`, an alias of a capability file; and `<cap>rye.execute.tool.a</cap>`, from before there were
    /// elements.
    fn cap(&mut self, element: &Element, around: Terms, reading: &mut Reading<'_>) {
        if is_alias(&element.text) {
            return self.capability(element, around, reading);
        }
        reading.warn(element.lines.0, "<cap> is an old form", "write <execute>, <fetch> or <sign> with what it is for");
        self.capability(element, around, reading);
    }

    fn capability(&mut self, element: &Element, around: Terms, reading: &mut Reading<'_>) {
        reading.attributes(element, TERMS);
        let text = element.text.replace('/', ".");
        if is_alias(&text) {
            // Whether there is one is known where it is expanded.
            return self.grant(text, element, terms(element, around, reading));
        }
        let rest = text.strip_prefix("rye.").unwrap_or(&text);
        let rest = match rest.split_once('.') {
            Some(("search" | "load", behind)) => format!("fetch.{behind}"),
            _ => rest.to_owned(),
        };
        let capability = format!("{PREFIX}.{rest}");
        if is_capability(&capability) {
            self.grant(capability, element, terms(element, around, reading));
        } else {
            not_a_pattern(&element.text, element, reading);
        }
    }
}

/// The attributes of elements that grant.
const TERMS: &[&str] = &["ask", "sandbox"];

/// On which terms something is granted.
#[derive(Clone, Copy, Debug, Default)]
struct Terms {
    /// A person is asked before each use.
    ask: bool,
    /// It runs in a sandbox; elsewhere a person is asked.
    sandbox: bool,
}

/// The terms of what `element` grants: what it says itself, else what holds around it. A word that is neither true nor
/// false asks, since the author thought of asking.
fn terms(element: &Element, around: Terms, reading: &mut Reading<'_>) -> Terms {
    let mut said = |name: &str, around: bool, unread: bool| match element.attribute(name).map(str::trim) {
        None => around,
        Some("true") => true,
        Some("false") => false,
        Some(other) => {
            let shown: String = other.chars().take(40).collect();
            let message = format!("{name}=\"{shown}\" is neither true nor false");
            reading.fatal(element.lines.0, message, format!("write {name}=\"true\""));
            unread
        }
    };
    let ask = said("ask", around.ask, true);
    Terms { ask, sandbox: said("sandbox", around.sandbox, false) }
}

fn not_a_pattern(text: &str, element: &Element, reading: &mut Reading<'_>) {
    let shown: String = text.chars().take(40).collect();
    reading.fatal(
        element.lines.0,
        format!("`{shown}` cannot be granted"),
        "write an id or a pattern, such as team.deploy.*",
    );
}

/// Whether a text is a capability or a pattern of some, in full.
pub(in crate::items) fn is_capability(text: &str) -> bool {
    let Some(rest) = text.strip_prefix(PREFIX).and_then(|rest| rest.strip_prefix('.')) else { return false };
    let primary = rest.split('.').next().unwrap_or_default();
    is_pattern(rest) && matches!(primary, "execute" | "fetch" | "sign" | "*")
}

/// Whether a text may be a short name of capabilities: words with dots between, and no capability itself.
pub(in crate::items) fn is_alias(text: &str) -> bool {
    let first = text.split('.').next().unwrap_or_default();
    let is_word =
        |word: &str| !word.is_empty() && word.chars().all(|letter| letter.is_alphanumeric() || "_-".contains(letter));
    text.split('.').all(is_word) && !matches!(first, PREFIX | "execute" | "fetch" | "sign" | "search" | "load")
}

fn is_pattern(text: &str) -> bool {
    let allowed = |letter: char| letter.is_alphanumeric() || "._-*?[]!:{}".contains(letter);
    !text.is_empty() && text.chars().all(allowed) && text.split('.').all(|name| !name.is_empty())
}
