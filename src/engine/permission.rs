//! Whether a tool call may run: what a thread's permissions mean for the tools there are. Pure.

use super::thread::Thread;
use crate::domain::capability::{flattened, to_execute};
use crate::domain::event::Denial;
use crate::domain::{
    Assembly, Channel, ContentHash, Decision, Event, Layer, LayerKind, Lifetime, Origin, Permissions, Space,
    ThreadKind, TokenCount, ToolCall, ToolRef, ToolSpec, Verdict,
};
use crate::ports::KnownTool;

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
        tool.spec.name == name || ids.any(|id| id == name || flattened(id) == name)
    };
    match tools.iter().find(|tool| goes_by(tool)) {
        Some(tool) => Meant { item: tool.item.clone(), capabilities: capabilities(tool) },
        None => Meant { item: name.to_owned(), capabilities: vec![to_execute(name)] },
    }
}

fn capabilities(tool: &KnownTool) -> Vec<String> {
    std::iter::once(&tool.item).chain(&tool.aliases).map(|id| to_execute(id)).collect()
}

/// The tools to offer to a model: those that are granted, asking included, and whose place nobody has taken.
#[must_use]
pub fn palette(permissions: &Permissions, tools: Vec<KnownTool>) -> Vec<KnownTool> {
    let granted = |tool: &KnownTool| permissions.verdict(&capabilities(tool)) != Verdict::Denied;
    tools.into_iter().filter(|tool| tool.taken_by.is_none() && granted(tool)).collect()
}

/// The tools that a thread may use, with a layer of `assembly` for each.
pub fn offer(
    assembly: &mut Assembly,
    permissions: &Permissions,
    known: Vec<KnownTool>,
) -> (Vec<ToolSpec>, Vec<ToolRef>) {
    let offered = palette(permissions, known);
    let mut refs = Vec::with_capacity(offered.len());
    let mut specs = Vec::with_capacity(offered.len());
    for tool in offered {
        let text = serde_json::to_string(&tool.spec).unwrap_or_default();
        let hash = ContentHash::of(text.as_bytes());
        assembly.layers.push(Layer {
            id: tool.item.clone(),
            kind: LayerKind::ToolSchema,
            channel: Channel::Tools,
            origin: Origin::Item {
                space: Space::System,
                id: tool.item.clone(),
                path: "(built in)".to_owned(),
                lines: None,
                signature: None,
                via: None,
            },
            tokens: TokenCount::estimated(&text),
            lifetime: Lifetime::PerCall,
            decision: Decision::Included,
            hash: hash.clone(),
            range: 0..text.len(),
        });
        assembly.texts.push(text.into());
        refs.push(ToolRef { name: tool.spec.name.clone(), item: tool.item, hash });
        specs.push(tool.spec);
    }
    (specs, refs)
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
    use crate::domain::{Grant, ToolSpec};

    fn tool(item: &str, alias: &str) -> KnownTool {
        let spec = ToolSpec { name: flattened(item), description: String::new(), schema: serde_json::json!({}) };
        KnownTool { item: item.into(), aliases: vec![alias.into()], taken_by: None, spec }
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
    fn only_what_is_granted_is_offered() {
        let grant = |capability: &str, ask| Grant { capability: capability.into(), ask };
        let grants = vec![grant("rye.execute.tool.rye.bash", true), grant("rye.fetch.*", false)];
        let permissions = Permissions { grants, allowed: Vec::new() };
        let offered = palette(&permissions, vec![tool("rye/bash", "x"), tool("rye/file-system/ls", "y")]);
        assert_eq!(offered.iter().map(|tool| tool.item.as_str()).collect::<Vec<_>>(), ["rye/bash"]);
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
