//! Calls of built-in tools, as extensions written for pi know them: by pi's names, and a file at a time.
//!
//! A guard that asks for `write` and looks at `path` would let everything through that has another name, or several files in
//! one call.

use serde_json::{Value, json};

/// The names under which tools are offered here, and pi's for the same work.
const NAMES: [(&str, &str); 7] = [
    ("rye_bash", "bash"),
    ("rye_file_system_read", "read"),
    ("rye_file_system_write", "write"),
    ("rye_file_system_edit_lines", "edit"),
    ("rye_file_system_grep", "grep"),
    ("rye_file_system_glob", "find"),
    ("rye_file_system_ls", "ls"),
];

/// Pi's name of a tool that is offered under this one.
pub(super) fn name(own: &str) -> &str {
    NAMES.iter().find(|(name, _)| *name == own).map_or(own, |(_, pi)| pi)
}

/// The event with pi's name of its tool.
pub(super) fn named(mut event: Value) -> Value {
    let pi = event.get("toolName").and_then(Value::as_str).map(|own| name(own).to_owned());
    if let (Some(pi), Value::Object(fields)) = (pi, &mut event) {
        fields.insert("toolName".to_owned(), pi.into());
    }
    event
}

/// The files that one call writes; none where it writes no list of them.
fn files(event: &Value) -> Option<&Vec<Value>> {
    event.pointer("/input/files")?.as_array().filter(|files| !files.is_empty())
}

/// The events that a guard is asked about: the call, or one call for each of its files.
pub(super) fn pieces(event: &Value) -> Vec<Value> {
    let Some(all) = files(event) else { return vec![event.clone()] };
    let whole = event.pointer("/input/path").is_some().then(|| event.clone());
    let piece = |file: &Value| {
        let mut event = event.clone();
        if let Value::Object(fields) = &mut event {
            fields.insert("input".to_owned(), file.clone());
        }
        event
    };
    whole.into_iter().chain(all.iter().map(piece)).collect()
}

/// The answer about the whole call, of those about its pieces: none of them blocks it.
pub(super) fn joined(event: &Value, answers: Vec<Value>) -> Value {
    let Some(all) = files(event) else { return answers.into_iter().next().unwrap_or_default() };
    let of_files = answers.iter().skip(answers.len().saturating_sub(all.len()));
    let input = |answer: &Value| answer.get("input").cloned();
    let changed: Vec<Value> =
        all.iter().zip(of_files).map(|(file, answer)| input(answer).unwrap_or_else(|| file.clone())).collect();
    if changed == *all {
        return Value::Null;
    }
    let mut input = event.get("input").cloned().unwrap_or_default();
    if let Value::Object(fields) = &mut input {
        fields.insert("files".to_owned(), changed.into());
    }
    json!({"input": input})
}

/// Whether an answer blocks a call.
pub(super) fn blocks(answer: &Value) -> bool {
    // Whatever is no clear no is for whoever reads the answer.
    !matches!(answer.get("block"), None | Some(Value::Null | Value::Bool(false)))
        || !(answer.is_object() || answer.is_null())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::capability::flattened;
    use crate::items::{Items, Spaces};
    use crate::session::built_in;

    #[test]
    fn the_names_are_those_of_tools_there_are() {
        let folder = tempfile::tempdir().unwrap();
        let tools = built_in(&Items::list(&Spaces::new(folder.path(), folder.path(), [])));
        for (own, _) in NAMES {
            assert!(tools.iter().any(|tool| flattened(&tool.item) == own), "{own}");
        }
    }

    #[test]
    fn a_call_with_several_files_is_asked_about_file_by_file() {
        let file = |path: &str| json!({"path": path, "content": "x"});
        let event = json!({"toolName": "rye_file_system_write", "input": {"files": [file("a"), file(".env")]}});
        let asked: Vec<_> = pieces(&named(event.clone()));
        assert_eq!(asked.iter().map(|one| one["input"]["path"].as_str().unwrap()).collect::<Vec<_>>(), ["a", ".env"]);
        assert_eq!(asked[0]["toolName"], "write");
        assert_eq!(joined(&event, vec![Value::Null, Value::Null]), Value::Null);
        let answer = joined(&event, vec![Value::Null, json!({"input": file("b")})]);
        assert_eq!(answer, json!({"input": {"files": [file("a"), file("b")]}}));
        let both = json!({"input": {"path": "c", "content": "", "files": [file("a")]}});
        assert_eq!(pieces(&both).len(), 2);
        let answer = joined(&both, vec![Value::Null, json!({"input": file("b")})]);
        assert_eq!(answer["input"]["files"], json!([file("b")]));
    }
}
