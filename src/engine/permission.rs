//! Whether a tool call may run: what a thread's permissions mean for the tools there are. Pure.

use super::thread::Thread;
use crate::domain::capability::{flattened, to_execute};
use crate::domain::event::Denial;
use crate::domain::{ContentHash, Event, KnownTool, ThreadKind, ToolCall, Verdict};

/// What a call means: the item, and the capabilities any of which allows it, the item's own first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meant {
    pub item: String,
    pub capabilities: Vec<String>,
}

/// What `name` means among the tools there are: the name a tool is offered by, its id or another id of its own. A
/// name that no tool has is taken for an id, so that it is denied like one.
#[must_use]
pub fn meant(tools: &[KnownTool], name: &str) -> Meant {
    let goes_by = |tool: &KnownTool| {
        let mut ids = std::iter::once(&tool.item).chain(&tool.aliases);
        ids.any(|id| id == name || flattened(id) == name)
    };
    let offered = tools.iter().find(|tool| tool.spec.name == name);
    match offered.or_else(|| tools.iter().find(|tool| goes_by(tool))) {
        Some(tool) => Meant { item: tool.item.clone(), capabilities: tool.capabilities() },
        None => Meant { item: name.to_owned(), capabilities: vec![to_execute(name)] },
    }
}

/// Names a tool and its exact arguments.
#[must_use]
pub fn args_hash(call: &ToolCall) -> ContentHash {
    let named = serde_json::json!({ "tool": call.tool, "input": call.input });
    ContentHash::of(named.to_string().as_bytes())
}

/// The event that follows from a call that is next: it starts, waits for a person or is denied.
#[must_use]
pub fn decide(thread: &Thread, meant: Meant, call: &ToolCall) -> Event {
    let Meant { item, capabilities } = meant;
    let verdict = thread.permissions.verdict(&capabilities);
    let capability = capabilities.into_iter().next().unwrap_or_default();
    let (call_id, tool) = (call.call_id.clone(), call.tool.clone());
    match (verdict, thread.kind) {
        (Verdict::Allowed, _) => Event::ToolCallStart { tool, call_id, item: Some(item), input: call.input.clone() },
        (Verdict::Ask, ThreadKind::Interactive) => Event::ApprovalRequested {
            id: thread.approvals + 1,
            call_id,
            tool,
            item,
            capability,
            args_hash: args_hash(call),
            preview: None,
        },
        (Verdict::Ask, ThreadKind::OneShot) => {
            Event::PermissionDenied { call_id, tool, capability, reason: Denial::Unattended }
        }
        (Verdict::Denied, _) => Event::PermissionDenied { call_id, tool, capability, reason: Denial::Missing },
    }
}

/// What the model is told about a call that was not run.
#[must_use]
pub fn denial_in_words(tool: &str, capability: &str, reason: Denial) -> String {
    match reason {
        Denial::Missing => format!(
            "Permission denied: `{tool}` was not run, because this thread's directive does not grant `{capability}`. \
             Go on without it, or say what you would need it for."
        ),
        Denial::Unattended => format!(
            "Approval needed: `{tool}` was not run, because `{capability}` is only granted after asking a person, and \
             nobody can be asked in this run. Go on without it."
        ),
        Denial::Refused => format!(
            "Refused: a person looked at this call of `{tool}` and did not allow it. Do not repeat it; ask what they \
             would rather have, or go on without it."
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Origin, ToolSpec};

    fn tool(item: &str, alias: &str) -> KnownTool {
        let spec = ToolSpec { name: flattened(item), description: String::new(), schema: serde_json::json!({}) };
        KnownTool { item: item.into(), aliases: vec![alias.into()], origin: Origin::Thread, absent: None, spec }
    }

    #[test]
    fn a_tool_answers_to_all_of_its_names() {
        let tools = [tool("rye/bash", "rye/bash/bash")];
        for name in ["rye_bash", "rye/bash", "rye/bash/bash", "rye_bash_bash"] {
            let meant = meant(&tools, name);
            assert_eq!(meant.item, "rye/bash", "{name}");
            assert_eq!(meant.capabilities, ["rye.execute.tool.rye.bash", "rye.execute.tool.rye.bash.bash"]);
        }
        assert_eq!(meant(&tools, "team/deploy").capabilities, ["rye.execute.tool.team.deploy"]);
    }

    #[test]
    fn other_arguments_have_another_hash() {
        let call = |command: &str| ToolCall {
            call_id: crate::domain::CallId("1".into()),
            tool: "rye_bash".into(),
            input: serde_json::json!({ "command": command, "a": 1 }),
        };
        assert_eq!(args_hash(&call("ls")), args_hash(&call("ls")));
        assert_ne!(args_hash(&call("ls")), args_hash(&call("ls ")));
    }
}
