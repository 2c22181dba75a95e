//! Whether a tool call may run: what a thread's permissions mean for the tools there are. Pure.

use super::thread::Thread;
use crate::domain::capability::{LEAVE_SANDBOX, RETURN, flattened, is_internal, to_execute, to_reach, verb};
use crate::domain::event::Denial;
use crate::domain::{
    ApprovalEvent, ContentHash, Event, Grant, Judgement, KnownTool, Origin, Space, ThreadId, ToolCall, ToolEvent,
    Verdict,
};

/// What a call means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meant {
    pub item: String,
    /// What it needs: each of these. Every one goes by several names, the item's own first.
    pub needs: Vec<Vec<String>>,
    /// What it needs besides that only its own name grants.
    pub guarded: Vec<String>,
    /// Whether it needs no grant: what the program itself offers a thread to return by, or to look at its own state.
    pub free: bool,
    /// Whether it may run beside others.
    pub parallel: bool,
    /// Whether a sandbox holds all that it does.
    pub confinable: bool,
}

/// What `call` means among the tools there are: it has the name a tool is offered by, its id or another id of its own. A
/// name that no tool has is taken for an id, so that it is denied like one.
#[must_use]
pub fn meant(tools: &[KnownTool], call: &ToolCall) -> Meant {
    let name = call.tool.as_str();
    let goes_by = |tool: &KnownTool| {
        let mut ids = std::iter::once(&tool.item).chain(&tool.aliases);
        ids.any(|id| id == name || flattened(id) == name)
    };
    let offered = tools.iter().find(|tool| tool.spec.name == name);
    match offered.or_else(|| tools.iter().find(|tool| goes_by(tool))) {
        Some(tool) if verb(&tool.item).is_some() => {
            let needs = to_reach(&tool.item, &call.input).into_iter().map(|one| vec![one]).collect();
            let (item, parallel) = (tool.item.clone(), tool.parallel);
            Meant { item, needs, guarded: Vec::new(), free: false, parallel, confinable: false }
        }
        Some(tool) => {
            let (item, needs) = (tool.item.clone(), vec![tool.capabilities()]);
            // A file that somebody put there is a tool like any other.
            let is_built_in = !matches!(&tool.origin, Origin::Item { space, .. } if *space != Space::System);
            let free = item == RETURN || (is_internal(&item) && is_built_in);
            Meant { item, needs, guarded: Vec::new(), free, parallel: tool.parallel, confinable: tool.confinable }
        }
        None => {
            let needs = vec![vec![to_execute(name)]];
            Meant {
                item: name.to_owned(),
                needs,
                guarded: Vec::new(),
                free: name == RETURN || is_internal(name),
                parallel: false,
                confinable: false,
            }
        }
    }
}

/// Names a tool and its exact arguments.
#[must_use]
pub fn args_hash(call: &ToolCall) -> ContentHash {
    let named = serde_json::json!({ "tool": call.tool, "input": call.input });
    ContentHash::of(named.to_string().as_bytes())
}

/// The event that follows from a call that is next: it starts, waits for a person or is denied. It names what the call
/// needs, the grant that counts, and the thread above that is in the way.
#[must_use]
pub fn decide(thread: &Thread, meant: Meant, call: &ToolCall) -> Event {
    let Meant { item, needs, guarded, free, parallel, confinable } = meant;
    let permissions = &thread.permissions;
    let judged: Vec<_> = needs.into_iter().map(|names| (permissions.judge_in(&names, confinable), names)).collect();
    let confined = judged.iter().any(|(judgement, _)| judgement.confined);
    // What is not confined leaves no sandbox.
    let guarded = guarded.into_iter().filter(|one| confined || one != LEAVE_SANDBOX);
    let by_name = guarded.map(|one| (permissions.judge_by_name(&one), vec![one]));
    // The strictest counts.
    let strictest = judged.into_iter().chain(by_name).max_by_key(|(judgement, _)| judgement.verdict);
    let nothing = Judgement { verdict: Verdict::Denied, grant: None, ceiling: None, confined: false };
    let (judgement, names) = strictest.unwrap_or((nothing, Vec::new()));
    let grant = judgement.grant.map(|grant| grant.capability.clone());
    let above = judgement.ceiling.and_then(|ceiling| ceiling.thread.clone());
    let why = (judgement.verdict == Verdict::Ask).then(|| why_asked(judgement.grant, &names));
    let capability = names.into_iter().next().unwrap_or_default();
    let verdict = if free { Verdict::Allowed } else { judgement.verdict };
    let (call_id, tool) = (call.call_id.clone(), call.tool.clone());
    let denied = |reason: Denial| {
        let (call_id, tool, capability) = (call.call_id.clone(), call.tool.clone(), capability.clone());
        let (grant, above) = (grant.clone(), above.clone());
        Event::Approval(ApprovalEvent::PermissionDenied { call_id, tool, capability, reason, grant, above, said: None })
    };
    match (verdict, thread.is_attended()) {
        (Verdict::Allowed, _) => Event::Tool(ToolEvent::ToolCallStart {
            tool,
            call_id,
            item: Some(item),
            input: call.input.clone(),
            capability: (!free).then_some(capability),
            grant: grant.filter(|_| !free),
            parallel,
            confined,
            change: None,
        }),
        (Verdict::Ask, true) => Event::Approval(ApprovalEvent::ApprovalRequested {
            id: thread.approvals + 1,
            call_id,
            tool,
            item,
            capability,
            grant,
            args_hash: args_hash(call),
            preview: None,
            confined,
            why,
        }),
        (Verdict::Ask, false) => denied(Denial::Unattended),
        (Verdict::Denied, _) => denied(Denial::Missing),
    }
}

/// Why a person is asked about what goes by `names`, because of this grant.
fn why_asked(grant: Option<&Grant>, names: &[String]) -> String {
    if names.iter().any(|name| name == LEAVE_SANDBOX) {
        return "it reaches out of its sandbox: see `write_paths` and `ports`".to_owned();
    }
    match grant {
        Some(Grant { untrusted: true, .. }) => "this project is not trusted".to_owned(),
        Some(Grant { sandbox: true, .. }) => {
            "it is granted in a sandbox only, and no sandbox holds it here (see levain doctor)".to_owned()
        }
        Some(Grant { capability, ask: true, .. }) if names.contains(capability) => {
            "the directive requires approval".to_owned()
        }
        Some(Grant { capability, ask: true, .. }) => format!("the directive requires approval for {capability}"),
        Some(_) | None => "no wildcard grants it".to_owned(),
    }
}

/// What the model is told about a call that was not run; `above` is the thread that is in the way, `said` by the person
/// who refused it.
#[must_use]
pub fn denial_in_words(
    tool: &str,
    capability: &str,
    reason: Denial,
    above: Option<&ThreadId>,
    said: Option<&str>,
) -> String {
    if let (Denial::Refused, Some(said)) = (reason, said) {
        return format!("Refused: a person looked at this call of `{tool}`, did not allow it, and says: {said}");
    }
    match (reason, above) {
        (Denial::Missing, Some(above)) => format!(
            "Permission denied: `{tool}` was not run, because the thread {above}, above this one, is not granted \
             `{capability}`. Go on without it, or say what you would need it for."
        ),
        (Denial::Missing, None) => format!(
            "Permission denied: `{tool}` was not run, because this thread's directive does not grant `{capability}`. \
             Go on without it, or say what you would need it for."
        ),
        (Denial::Unattended, _) => format!(
            "Approval needed: `{tool}` was not run, because `{capability}` is only granted after asking a person, and \
             nobody can be asked in this run. Go on without it."
        ),
        (Denial::Refused, _) => format!(
            "Refused: a person looked at this call of `{tool}` and did not allow it. Do not repeat it; ask what they \
             would rather have, or go on without it."
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{CallId, Ceiling, Origin, ThreadKind, ToolSpec};
    use serde_json::{Value, json};

    fn call(tool: &str, input: Value) -> ToolCall {
        ToolCall { call_id: CallId("1".into()), tool: tool.into(), input }
    }

    fn tool(item: &str, alias: &str) -> KnownTool {
        let spec = ToolSpec { name: flattened(item), description: String::new(), schema: serde_json::json!({}) };
        KnownTool {
            item: item.into(),
            aliases: vec![alias.into()],
            origin: Origin::Thread,
            absent: None,
            parallel: false,
            confinable: false,
            spec,
        }
    }

    #[test]
    fn a_tool_answers_to_all_of_its_names() {
        let tools = [tool("rye/bash", "rye/bash/bash")];
        for name in ["rye_bash", "rye/bash", "rye/bash/bash", "rye_bash_bash"] {
            let meant = meant(&tools, &call(name, json!({})));
            assert_eq!(meant.item, "rye/bash", "{name}");
            assert_eq!(meant.needs, [["rye.execute.tool.rye.bash", "rye.execute.tool.rye.bash.bash"]]);
        }
        assert_eq!(meant(&tools, &call("team/deploy", json!({}))).needs, [["rye.execute.tool.team.deploy"]]);
    }

    #[test]
    fn a_primary_needs_what_its_arguments_reach() {
        let tools = [tool("rye/fetch", "rye/load"), tool("rye/execute", ""), tool("rye/sign", "")];
        for (name, input, needed) in [
            ("rye_fetch", json!({"item_type": "knowledge", "item_id": "team/rules"}), "rye.fetch.knowledge.team.rules"),
            ("rye/load", json!({"item_type": "tool", "item_id": "rye/bash"}), "rye.fetch.tool.rye.bash"),
            ("rye_fetch", json!({"query": "rules", "scope": "knowledge"}), "rye.fetch.knowledge.*"),
            ("rye_fetch", json!({"query": "rules", "scope": "knowledge.team.*"}), "rye.fetch.knowledge.team.*"),
            ("rye_fetch", json!({"query": "rules"}), "rye.fetch.*"),
            ("rye_execute", json!({"item_type": "directive", "item_id": "a/b"}), "rye.execute.directive.a.b"),
            ("rye_sign", json!({"item_type": "knowledge", "item_id": "a"}), "rye.sign.knowledge.a"),
        ] {
            assert_eq!(meant(&tools, &call(name, input.clone())).needs, [[needed]], "{name} {input}");
        }
        let open = meant(&tools, &call("rye_fetch", json!({"item_id": "a/b"})));
        assert_eq!(open.needs, [["rye.fetch.directive.a.b"], ["rye.fetch.knowledge.a.b"], ["rye.fetch.tool.a.b"]]);
    }

    #[test]
    fn leaving_the_kind_open_gets_round_no_question() {
        let mut thread = Thread::new(
            crate::domain::ThreadId::new("chat", 1),
            "a",
            ThreadKind::Interactive,
            crate::domain::ModelRef::new("a", "b"),
            crate::domain::Limits::default(),
        );
        let grant = |capability: &str, ask| crate::domain::Grant::new(capability, ask);
        thread.permissions.grants = vec![grant("rye.fetch.*", false), grant("rye.fetch.knowledge.secret.*", true)];
        let tools = [tool("rye/fetch", "")];
        let decided = |input: Value| {
            let call = call("rye_fetch", input);
            decide(&thread, meant(&tools, &call), &call)
        };
        let Event::Approval(ApprovalEvent::ApprovalRequested { capability, .. }) =
            decided(json!({"item_id": "secret/x"}))
        else {
            panic!()
        };
        assert_eq!(capability, "rye.fetch.knowledge.secret.x");
        assert!(matches!(decided(json!({"item_id": "open/x"})), Event::Tool(ToolEvent::ToolCallStart { .. })));
    }

    fn bare(grants: Vec<Grant>) -> Thread {
        let mut thread = Thread::new(
            ThreadId::new("chat", 1),
            "a",
            ThreadKind::Interactive,
            crate::domain::ModelRef::new("a", "b"),
            crate::domain::Limits::default(),
        );
        thread.permissions.grants = grants;
        thread
    }

    fn decided(thread: &Thread, tools: &[KnownTool], call: &ToolCall) -> Event {
        decide(thread, meant(tools, call), call)
    }

    #[test]
    fn s01_internal_tools_of_threads_need_no_grant_and_files_of_their_names_do() {
        let call = call("rye/agent/threads/internal/cost_tracker", json!({}));
        let internal = tool("rye/agent/threads/internal/cost_tracker", "");
        for tools in [vec![], vec![internal.clone()]] {
            let event = decided(&bare(Vec::new()), &tools, &call);
            assert!(matches!(event, Event::Tool(ToolEvent::ToolCallStart { .. })), "{event:?}");
        }
        let origin = Origin::Item {
            space: Space::Project,
            bundle: None,
            id: internal.item.clone(),
            path: String::new(),
            lines: None,
            signature: None,
            via: None,
        };
        let event = decided(&bare(Vec::new()), &[KnownTool { origin, ..internal }], &call);
        assert!(matches!(event, Event::Approval(ApprovalEvent::PermissionDenied { .. })), "{event:?}");
    }

    #[test]
    fn s04_a_decision_names_the_capability_the_grant_and_who_is_in_the_way() {
        let tools = [tool("rye/bash", "rye/bash/bash")];
        let call = call("rye_bash", json!({}));
        let thread = bare(vec![Grant::new("rye.execute.*", false)]);
        let Event::Tool(ToolEvent::ToolCallStart { capability, grant, .. }) = decided(&thread, &tools, &call) else {
            panic!()
        };
        assert_eq!(capability.as_deref(), Some("rye.execute.tool.rye.bash"));
        assert_eq!(grant.as_deref(), Some("rye.execute.*"));
        let thread = bare(vec![Grant::new("rye.execute.tool.rye.bash.*", true), Grant::new("rye.*", true)]);
        let Event::Approval(ApprovalEvent::ApprovalRequested { capability, grant, .. }) =
            decided(&thread, &tools, &call)
        else {
            panic!()
        };
        assert_eq!(capability, "rye.execute.tool.rye.bash");
        assert_eq!(grant.as_deref(), Some("rye.execute.tool.rye.bash.*"));
        let mut thread = bare(vec![Grant::new("rye.*", false)]);
        let ceiling = |time, grants| Ceiling { thread: Some(ThreadId::new("above", time)), grants };
        thread.permissions.ceilings = vec![ceiling(2, vec![Grant::new("rye.*", false)]), ceiling(1, Vec::new())];
        let Event::Approval(ApprovalEvent::PermissionDenied { capability, grant, above, reason, .. }) =
            decided(&thread, &tools, &call)
        else {
            panic!()
        };
        assert_eq!((capability.as_str(), grant, reason), ("rye.execute.tool.rye.bash", None, Denial::Missing));
        assert_eq!(above, Some(ThreadId::new("above", 1)));
        let told = denial_in_words("rye_bash", &capability, reason, above.as_ref(), None);
        assert!(told.contains("the thread above-1, above this one, is not granted"), "{told}");
    }

    #[test]
    fn executing_a_tool_is_a_call_of_that_tool() {
        let through = |parameters: Value| {
            call("rye_execute", json!({"item_type": "tool", "item_id": "rye/bash", "parameters": parameters}))
                .straight()
        };
        assert_eq!(through(json!({"command": "ls"})), call("rye/bash", json!({"command": "ls"})));
        assert_eq!(through(json!("{\"command\": \"ls\"}")), call("rye/bash", json!({"command": "ls"})));
        assert_eq!(through(Value::Null), call("rye/bash", json!({})));
        let other = call("rye_execute", json!({"item_type": "directive", "item_id": "a/b"}));
        assert_eq!(other.clone().straight(), other);
    }

    #[test]
    fn other_arguments_have_another_hash() {
        let hash = |command: &str| args_hash(&call("rye_bash", json!({ "command": command, "a": 1 })));
        assert_eq!(hash("ls"), hash("ls"));
        assert_ne!(hash("ls"), hash("ls "));
    }
}
