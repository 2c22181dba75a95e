//! What extensions say that can complete a draft, and what they make of what is typed.

use super::extension_handlers::ExtensionHandlers;
use super::extension_text::plain;
use crate::domain::{DraftEdit, ExtensionCompletion, Suggestion, ToComplete};
use crate::extensions::Ask;
use serde_json::{Value, json};

/// Suggestions of one answer, letters of what is shown of each, and bytes that they all put into the draft, at most.
const MOST: usize = 50;
const LONGEST_WORDS: usize = 200;
const MOST_BYTES: usize = 256 << 10;

impl ExtensionHandlers {
    /// Whether one completes other things than the arguments of its commands.
    pub(super) fn completes(&self) -> bool {
        !self.listing().completions.is_empty()
    }

    /// What becomes of something that was typed; none where one took it. Where nobody can be asked it stays as it is.
    pub(super) async fn typed(&self, data: String) -> Option<String> {
        let Some(engine) = self.engine() else { return Some(data) };
        let ask = Ask::Function { name: "terminalInput", arguments: vec![data.clone().into()] };
        let Ok((answer, _)) = engine.ask(ask, false).await else { return Some(data) };
        match (answer.error, answer.result) {
            (Some(_), _) => Some(data),
            (None, Some(Value::String(data))) => Some(data),
            (None, _) => None,
        }
    }

    /// What can complete a draft; nothing where it cannot be asked.
    pub(super) async fn completions(&self, draft: ToComplete) -> Vec<Suggestion> {
        let Some(engine) = self.engine() else { return Vec::new() };
        let item = |word: &str, about: &str| json!({"value": word, "label": word, "description": about});
        let own: Vec<_> = draft.own.iter().map(|own| item(value(&own.word, &draft.word), &own.about)).collect();
        let own = (!own.is_empty()).then(|| json!({"items": own, "prefix": draft.word}));
        let question = json!({"lines": draft.lines, "line": draft.line, "column": draft.column,
            "command": draft.command, "own": own});
        let ask = Ask::Function { name: "complete", arguments: vec![question] };
        // Not as somebody who only looks: while such a one is answered nothing may be left behind by whoever else runs.
        let Ok((answer, _)) = engine.ask(ask, false).await else { return Vec::new() };
        let told = answer.result.as_ref().and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let mut left = MOST_BYTES;
        let fits = |suggestion: &Suggestion| {
            let bytes = if let Suggestion::Extension(offered) = suggestion { offered.edit.text.len() } else { 0 };
            left = left.saturating_sub(bytes);
            left > 0
        };
        told.iter().filter_map(|told| suggestion(told, &draft)).take(MOST).take_while(fits).collect()
    }
}

/// What pi calls the value of an own completion: the name of a command has no `/` there.
fn value<'a>(word: &'a str, begun: &str) -> &'a str {
    if begun.starts_with('/') { word.trim_start_matches('/') } else { word }
}

fn suggestion(told: &Value, draft: &ToComplete) -> Option<Suggestion> {
    let text = |name: &str| told.get(name).and_then(Value::as_str);
    let Some(edit) = told.get("edit").filter(|edit| edit.is_object()) else {
        let chosen = text("value")?;
        let own = draft.own.iter().find(|own| value(&own.word, &draft.word) == chosen)?;
        return Some(Suggestion::Program { word: own.word.clone() });
    };
    let number = |name: &str| usize::try_from(edit.get(name)?.as_u64()?).ok();
    let put = edit.get("text")?.as_str()?;
    let edit = DraftEdit { from: number("from")?, to: number("to")?, text: put.to_owned(), cursor: number("cursor")? };
    let shown = |name: &str| {
        let line = plain(text(name).unwrap_or_default());
        let letters = line.chars().map(|letter| if letter.is_control() { ' ' } else { letter });
        letters.take(LONGEST_WORDS).collect::<String>().trim().to_owned()
    };
    Some(Suggestion::Extension(ExtensionCompletion { label: shown("label"), about: shown("description"), edit }))
}
