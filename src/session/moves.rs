//! Where commands of extensions lead the person: to a new thread, to another one, or to a place of a conversation.

use crate::domain::conversation::entry_at;
use crate::domain::{MoveTo, ThreadId};
use crate::extensions::Refusal;
use serde_json::Value;
use std::path::Path;

/// Where `name` leads from `thread`, whose entries `is_prompt` knows: some where there is such an entry. None where it is
/// another action.
pub(super) fn destination(
    name: &str,
    arguments: &Value,
    thread: &ThreadId,
    is_prompt: impl Fn(&str) -> Option<bool>,
) -> Option<Result<MoveTo, Refusal>> {
    let text = |field: &str| arguments.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
    let refused = |code: &'static str, why: String| Err(Refusal::new(code, why));
    Some(match name {
        "session.new" => {
            let begins_with = arguments.get("entries").and_then(Value::as_array).is_some_and(|all| !all.is_empty());
            if begins_with {
                refused("ENOSYS", "a new thread begins with nothing said".to_owned())
            } else {
                Ok(MoveTo::New)
            }
        }
        "session.switch" => match text("path").and_then(thread_of) {
            Some(thread_id) => Ok(MoveTo::Open { thread_id }),
            None => refused("ENOENT", "that is neither the log of a thread nor its id".to_owned()),
        },
        "session.fork" | "session.navigate" => {
            let named = text("entryId").or_else(|| text("targetId")).unwrap_or_default();
            // One of another thread of the conversation has that thread's id before it.
            let (thread_id, entry) = match named.rsplit_once('#') {
                Some((other, entry)) => (other.parse().ok(), entry),
                None => (Some(thread.clone()), named),
            };
            let own = thread_id.as_ref() == Some(thread);
            let Some(thread_id) = thread_id.filter(|_| entry_at(entry).is_some()) else {
                return Some(refused("ENOENT", format!("there is no entry `{named}`")));
            };
            match is_prompt(entry).filter(|_| own) {
                None if own => return Some(refused("ENOENT", format!("there is no entry `{named}`"))),
                Some(true) if text("position") == Some("at") => {
                    return Some(refused(
                        "ENOSYS",
                        "a thread does not begin with a prompt that waits for its answer".into(),
                    ));
                }
                Some(_) | None => {}
            }
            Ok(MoveTo::Entry {
                thread_id,
                entry: entry.to_owned(),
                summarised: arguments.get("summarize").and_then(Value::as_bool) == Some(true),
                instructions: text("customInstructions").map(str::to_owned),
                label: text("label").map(str::to_owned),
            })
        }
        _ => return None,
    })
}

/// The thread whose log lies at `path`, or whose file extensions are told that is, or whose id.
pub(super) fn thread_of(path: &str) -> Option<ThreadId> {
    let path = Path::new(path);
    let is_log = path.file_name().is_some_and(|name| name == "transcript.jsonl");
    let within = path.parent().filter(|folder| folder.file_name().is_some_and(|name| name == "session"));
    // Other files in that folder are the extensions' own.
    let of_session = within.and_then(Path::parent).filter(|folder| folder.file_name() == path.file_stem());
    let folder = if is_log { path.parent()? } else { of_session.unwrap_or(path) };
    folder.file_name()?.to_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn id(text: &str) -> ThreadId {
        text.parse().unwrap()
    }

    fn led(name: &str, arguments: &Value) -> Option<Result<MoveTo, String>> {
        let known = |entry: &str| {
            [("00000010", true), ("00000020", false)].iter().find(|(id, _)| *id == entry).map(|(_, is)| *is)
        };
        let led = destination(name, arguments, &id("chat-1"), known)?;
        Some(led.map_err(|refusal| format!("{refusal:?}")))
    }

    #[test]
    fn each_action_leads_somewhere_or_says_why_not() {
        let entry = |thread: &str, entry: &str| MoveTo::Entry {
            thread_id: id(thread),
            entry: entry.to_owned(),
            summarised: false,
            instructions: None,
            label: None,
        };
        assert_eq!(led("session.new", &json!({"entries": []})), Some(Ok(MoveTo::New)));
        for path in [
            "/p/.ai/agent/threads/chat-7/session/chat-7.jsonl",
            "/p/.ai/agent/threads/chat-7/transcript.jsonl",
            "chat-7",
        ] {
            assert_eq!(
                led("session.switch", &json!({"path": path})),
                Some(Ok(MoveTo::Open { thread_id: id("chat-7") }))
            );
        }
        assert_eq!(led("session.fork", &json!({"entryId": "00000010"})), Some(Ok(entry("chat-1", "00000010"))));
        let wanted =
            json!({"targetId": "00000020", "summarize": true, "customInstructions": "what failed", "label": "here"});
        let Some(Ok(MoveTo::Entry { summarised, instructions, label, .. })) = led("session.navigate", &wanted) else {
            panic!("it leads nowhere");
        };
        assert_eq!((summarised, instructions.as_deref(), label.as_deref()), (true, Some("what failed"), Some("here")));
        let other = json!({"targetId": "chat-9#00000077"});
        assert_eq!(led("session.navigate", &other), Some(Ok(entry("chat-9", "00000077"))));
        for (name, arguments) in [
            ("session.new", json!({"entries": [1]})),
            ("session.switch", json!({"path": "/"})),
            ("session.fork", json!({"entryId": "00000099"})),
            ("session.fork", json!({"entryId": "nothing"})),
            ("session.fork", json!({"entryId": "00000010", "position": "at"})),
            ("session.navigate", json!({})),
        ] {
            assert!(matches!(led(name, &arguments), Some(Err(_))), "{name} {arguments}");
        }
        assert_eq!(led("model.set", &json!({})), None);
    }
}
