//! Calls of built-in tools, as extensions written for pi know them: by pi's names, and a file at a time.
//!
//! A guard that asks for `write` and looks at `path` would let everything through that has another name, or several files in
//! one call.

use crate::domain::{FileOps, ToolCall};
use serde_json::{Value, json};

/// The names under which tools are offered here, their items, and pi's names for the same work.
const NAMES: [(&str, &str, &str); 7] = [
    ("rye_bash", "rye/bash", "bash"),
    ("rye_file_system_read", "rye/file-system/read", "read"),
    ("rye_file_system_write", "rye/file-system/write", "write"),
    ("rye_file_system_edit_lines", "rye/file-system/edit_lines", "edit"),
    ("rye_file_system_grep", "rye/file-system/grep", "grep"),
    ("rye_file_system_glob", "rye/file-system/glob", "find"),
    ("rye_file_system_ls", "rye/file-system/ls", "ls"),
];

/// The item of the tool that pi calls so.
pub(super) fn item(pi: &str) -> Option<&'static str> {
    NAMES.iter().find(|(_, _, known)| *known == pi).map(|(_, item, _)| *item)
}

/// What pi calls the tool of an item.
pub(super) fn name_of(item: &str) -> Option<&'static str> {
    NAMES.iter().find(|(_, known, _)| *known == item).map(|(_, _, pi)| *pi)
}

/// A call of a built-in tool, from the arguments of pi's tool for the same work; none where nothing here does it.
pub(super) fn call(pi: &str, cwd: &str, arguments: &Value, environment: &Value) -> Option<(&'static str, Value)> {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let is = |name: &str| arguments.get(name).and_then(Value::as_bool).unwrap_or_default();
    let input = match pi {
        "read" | "write" | "ls" | "find" => arguments.clone(),
        "bash" => {
            let quoted = |value: &str| format!("'{}'", value.replace('\'', "'\\''"));
            let named = |name: &&String| name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
            let variables = environment.as_object().into_iter().flatten().filter(|(name, _)| named(name));
            let exports =
                variables.filter_map(|(name, value)| Some(format!("export {name}={}\n", quoted(value.as_str()?))));
            let command = exports.collect::<String>() + text("command").unwrap_or_default();
            let mut input = json!({"command": command, "working_dir": cwd});
            if let Some(timeout) = arguments.get("timeout").and_then(Value::as_u64) {
                input["timeout"] = timeout.into();
            }
            input
        }
        "grep" => {
            let pattern = text("pattern").unwrap_or_default();
            let pattern = if is("literal") { regex::escape(pattern) } else { pattern.to_owned() };
            let pattern = if is("ignoreCase") { format!("(?i){pattern}") } else { pattern };
            let mut input = json!({"pattern": pattern});
            for (own, theirs) in [("path", "path"), ("include", "glob")] {
                if let Some(value) = text(theirs) {
                    input[own] = value.into();
                }
            }
            input
        }
        _ => return None,
    };
    Some((item(pi)?, input))
}

/// Pi's name of a tool that is offered under this one.
pub(super) fn name(own: &str) -> &str {
    NAMES.iter().find(|(name, _, _)| *name == own).map_or(own, |(_, _, pi)| pi)
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

/// The files that calls read, write and edit, by the names of pi for such tools.
pub(super) fn file_ops(calls: &[ToolCall]) -> FileOps {
    let mut all = FileOps::default();
    for call in calls {
        let files = match name(&call.tool) {
            "read" => &mut all.read,
            "write" => &mut all.written,
            "edit" => &mut all.edited,
            _ => continue,
        };
        let several = call.input.get("files").and_then(Value::as_array).into_iter().flatten();
        let paths = std::iter::once(&call.input).chain(several).filter_map(|one| one.get("path")?.as_str());
        files.extend(paths.map(str::to_owned));
    }
    all
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
        for (own, item, pi) in NAMES {
            assert!(tools.iter().any(|tool| tool.item == item && flattened(&tool.item) == own), "{own}");
            assert_eq!((super::item(pi), name_of(item)), (Some(item), Some(pi)));
        }
    }

    #[test]
    fn calls_of_pi_are_calls_here() {
        let bash = json!({"command": "ls", "timeout": 3});
        let environment = json!({"A": "it's", "not a name": "x"});
        let (item, input) = call("bash", "/project", &bash, &environment).unwrap();
        assert_eq!(item, "rye/bash");
        assert_eq!(input, json!({"command": "export A='it'\\''s'\nls", "working_dir": "/project", "timeout": 3}));
        let grep = json!({"pattern": "a.b", "literal": true, "ignoreCase": true, "glob": "*.rs"});
        let (_, input) = call("grep", "/project", &grep, &Value::Null).unwrap();
        assert_eq!(input, json!({"pattern": "(?i)a\\.b", "include": "*.rs"}));
        assert_eq!(call("edit", "/project", &json!({}), &Value::Null), None);
    }

    #[test]
    fn files_are_told_by_what_calls_did_with_them() {
        let call =
            |tool: &str, input| ToolCall { call_id: crate::domain::CallId("c".into()), tool: tool.into(), input };
        let calls = [
            call("rye_file_system_read", json!({"path": "a"})),
            call("read", json!({"path": "b"})),
            call("rye_file_system_write", json!({"files": [{"path": "c"}, {"path": "d"}]})),
            call("rye_file_system_edit_lines", json!({"path": "a", "changes": []})),
            call("rye_bash", json!({"command": "ls"})),
        ];
        let FileOps { read, written, edited } = file_ops(&calls);
        let told = [read, written, edited].map(|files| files.into_iter().collect::<Vec<_>>().join(" "));
        assert_eq!(told, ["a b", "c d", "a"]);
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
