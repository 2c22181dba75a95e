//! What is said when the window is full: how older messages are summarised, and what a thread is told that goes on with the work of
//! another. For each a directive may name one whose body is used; else an item is.

use super::chain::Link;
use super::facts::Start;
use super::library::Library;
use crate::domain::{Decision, LayerKind, Lifetime, Piece, Problem, Severity};
use crate::items::directive::{CONTINUATION_DIRECTIVE, SUMMARY_DIRECTIVE, Values, interpolate};
use std::path::Path;

/// The item that is told where no directive is named.
pub(super) const CONTINUATION: &str = "levain/core/Continuation";

/// What follows where that item may not be used.
pub(super) const PLAIN: &str = "a thread that is handed off gets a plain message to go on";

/// By such an element of its metadata a directive names another one, and what holds where that is not used.
type Element = (&'static str, &'static str);

/// Whose body asks for the summary of older messages.
const SUMMARISES: Element = (SUMMARY_DIRECTIVE, "older messages are summarised as usual");

/// Whose body is told to the thread that goes on.
const GOES_ON: Element = (CONTINUATION_DIRECTIVE, "a thread that goes on is told the usual message");

/// What the directives say that `own` names to ask for summaries, and for the thread that goes on, with what is known of the thread filled
/// in; none where it names none, and where that does not read, which goes into `problems`.
pub(super) fn named(
    own: Option<&Link>,
    start: &Start,
    library: &dyn Library,
    problems: &mut Vec<Problem>,
) -> (Option<Piece>, Option<Piece>) {
    let Some(own) = own else { return (None, None) };
    let mut named = |element| said(element, own, start, library, problems);
    (named(SUMMARISES), named(GOES_ON))
}

fn said(
    (element, until_then): Element,
    own: &Link,
    start: &Start,
    library: &dyn Library,
    problems: &mut Vec<Problem>,
) -> Option<Piece> {
    let directive = &own.loaded.value;
    let (_, named) = directive.other.iter().find(|(name, _)| name == element)?;
    let id = named.value.trim();
    match library.directive(id) {
        Ok(loaded) => {
            let previous = start.thread_id.as_ref().map(ToString::to_string).unwrap_or_default();
            let values = [
                ("original_directive", own.id.clone()),
                ("original_directive_body", directive.body.clone()),
                ("previous_thread_id", previous),
                ("continuation_message", String::new()),
            ];
            let mut inputs = loaded.value.defaults();
            inputs.extend(values.map(|(name, value)| (name.to_owned(), value)));
            let text = interpolate(&loaded.value.body, &Values::from_iter(inputs));
            let text = text.trim();
            (!text.is_empty()).then(|| Piece {
                id: id.to_owned(),
                kind: LayerKind::DirectiveSystem,
                origin: loaded.origin(id, None, None),
                lifetime: Lifetime::PerPrompt,
                decision: Decision::Included,
                text: text.into(),
            })
        }
        Err(why) => {
            let file = Path::new(&own.loaded.file);
            let message = format!("its {element} is not used: {why}");
            let remedy = format!("fix the id; until then {until_then}");
            problems.push(Problem::at(file, named.lines.0, Severity::Warning, message, remedy));
            None
        }
    }
}
