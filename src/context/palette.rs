//! The palette: which tools a model is told of, and why the others are not.
//!
//! What a thread may use is decided by its grants alone. This only decides what is worth the tokens: tools that are
//! granted by name come before those a wildcard reaches, until the budget is spent.

use crate::domain::capability::{COMMANDS, RESULT, RETURN, counting, exactness, is_primary, matches, to_execute, verb};
use crate::domain::{
    Absence, Assembly, Channel, ContentHash, Decision, Grant, KnownTool, Layer, LayerKind, Lifetime, Permissions,
    TokenCount, Tokens, ToolRef, ToolSpec, Verdict,
};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// How many tools may be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preload {
    /// Where tools are switched off, if they are.
    pub off: Option<String>,
    /// What the descriptions of all tools but the primaries may take together.
    pub budget: Tokens,
}

impl Default for Preload {
    fn default() -> Self {
        Self { off: None, budget: Tokens(2_000) }
    }
}

/// A granted tool, its offer as JSON, and what became of it.
struct Candidate {
    tool: KnownTool,
    text: String,
    decision: Decision,
}

/// Offers tools in a request: each that is granted becomes a layer of `assembly`, told or left out. Gives what goes to
/// the provider, and what the record says of it.
pub fn offer(
    assembly: &mut Assembly,
    permissions: &Permissions,
    known: Vec<KnownTool>,
    preload: &Preload,
) -> (Vec<ToolSpec>, Vec<ToolRef>) {
    let (mut specs, mut refs) = (Vec::new(), Vec::new());
    for Candidate { tool, text, decision } in decided(permissions, known, preload) {
        let told = decision == Decision::Included;
        let hash = ContentHash::of(text.as_bytes());
        assembly.layers.push(Layer {
            id: tool.item.clone(),
            kind: LayerKind::ToolSchema,
            channel: Channel::Tools,
            origin: tool.origin,
            tokens: TokenCount::estimated(&text),
            lifetime: Lifetime::PerCall,
            decision,
            hash: hash.clone(),
            range: if told { 0..text.len() } else { 0..0 },
        });
        assembly.texts.push(text.into());
        if told {
            refs.push(ToolRef { name: tool.spec.name.clone(), item: tool.item, hash });
            specs.push(tool.spec);
        }
    }
    (specs, refs)
}

/// Whether a tool is for what the thread itself has: results that were cut, commands that run.
fn is_own(item: &str) -> bool {
    item == RESULT || item == COMMANDS
}

/// Whether a model should know of a tool. One that is granted; a primary of whose kind anything is granted, and all of
/// them where nothing is: calls are judged by what they reach. And how the directive returns.
fn is_listed(permissions: &Permissions, tool: &KnownTool) -> bool {
    let grants = &permissions.grants;
    match verb(&tool.item) {
        Some(_) if grants.is_empty() => true,
        Some(verb) => {
            let (every, some) = (to_execute(&tool.item), format!("rye.{verb}."));
            grants.iter().any(|grant| grant.capability.starts_with(&some) || matches(&grant.capability, &every))
        }
        None => {
            tool.item == RETURN || is_own(&tool.item) || permissions.verdict(&tool.capabilities()) != Verdict::Denied
        }
    }
}

/// The listed tools in the order in which they are known, which stays the same from call to call.
fn decided(permissions: &Permissions, known: Vec<KnownTool>, preload: &Preload) -> Vec<Candidate> {
    let granted = known.into_iter().filter(|tool| is_listed(permissions, tool));
    let mut candidates: Vec<Candidate> = granted
        .map(|tool| {
            let off = preload.off.clone().map(|by| Absence::SwitchedOff { by });
            let absence = tool.absent.clone().or(off);
            // A tool that cannot be run shows what it would take; one that says nothing has nothing to show.
            let shows = absence.is_none() || (tool.absent.is_some() && !tool.spec.schema.is_null());
            let text = if shows { serde_json::to_string(&tool.spec).unwrap_or_default() } else { String::new() };
            let decision = absence.map_or(Decision::Included, |absence| Decision::Skipped { absence });
            Candidate { tool, text, decision }
        })
        .collect();
    let closeness = |candidate: &Candidate| {
        counting(&permissions.grants, &candidate.tool.capabilities()).map(|grant| exactness(&grant.capability))
    };
    let priced = |candidate: &Candidate| {
        let free = is_primary(&candidate.tool.item) || is_own(&candidate.tool.item);
        candidate.decision == Decision::Included && !free
    };
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by_key(|index| Reverse(candidates.get(*index).and_then(closeness)));
    let mut left = preload.budget;
    for index in order {
        let Some(candidate) = candidates.get_mut(index).filter(|candidate| priced(candidate)) else { continue };
        let needs = Tokens::estimate(&candidate.text);
        if needs > left {
            let absence = Absence::OverBudget { needs, left, budget: preload.budget };
            candidate.decision = Decision::Skipped { absence };
            candidate.text.clear();
        } else {
            left = Tokens(left.0 - needs.0);
        }
    }
    candidates
}

/// A folder or a tool of the tree.
#[derive(Default)]
struct Branch {
    below: BTreeMap<String, Self>,
    /// What stands behind the name.
    note: &'static str,
}

/// What a thread may do, as a tree: each grant, and below those with wildcards the tools of `layers` that count by them.
/// `capabilities` gives those by any of which an item is allowed. One line each, two blanks a level.
#[must_use]
pub fn tree<'a>(
    grants: &[Grant],
    layers: impl Iterator<Item = &'a Layer>,
    capabilities: impl Fn(&str) -> Vec<String>,
) -> Vec<String> {
    let mut branches: Vec<(&Grant, Branch)> = grants.iter().map(|grant| (grant, Branch::default())).collect();
    for layer in layers.filter(|layer| layer.kind == LayerKind::ToolSchema) {
        let Some(grant) = counting(grants, &capabilities(&layer.id)) else { continue };
        let Some((_, branch)) = branches.iter_mut().find(|(own, _)| *own == grant) else { continue };
        let (exact, _) = exactness(&grant.capability);
        let folders = layer.id.split('/').filter(|_| !exact);
        let place = folders.fold(branch, |branch, name| branch.below.entry(name.to_owned()).or_default());
        place.note = if layer.decision == Decision::Included { "" } else { " (not offered)" };
    }
    let mut lines = Vec::new();
    for (grant, branch) in &branches {
        let asks = match (grant.sandbox, grant.ask) {
            (true, _) => " (in a sandbox; where there is none, needs approval)",
            (false, true) => " (needs approval)",
            (false, false) => "",
        };
        let via = grant.via.as_ref().map(|via| format!(" ({via})")).unwrap_or_default();
        lines.push(format!("{}{asks}{via}{}", grant.capability, branch.note));
        branch.write(1, &mut lines);
    }
    lines
}

impl Branch {
    fn write(&self, depth: usize, lines: &mut Vec<String>) {
        for (name, branch) in &self.below {
            let slash = if branch.below.is_empty() { "" } else { "/" };
            lines.push(format!("{}{name}{slash}{}", "  ".repeat(depth), branch.note));
            branch.write(depth + 1, lines);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::{Parts, assemble};
    use crate::domain::Origin;
    use crate::domain::capability::{flattened, to_execute};

    fn tool(item: &str, letters: usize) -> KnownTool {
        let spec = ToolSpec {
            name: flattened(item),
            description: "x".repeat(letters),
            schema: serde_json::json!({"type": "object"}),
        };
        KnownTool {
            item: item.into(),
            aliases: Vec::new(),
            origin: Origin::Thread,
            absent: None,
            parallel: false,
            confinable: false,
            spec,
        }
    }

    fn permissions(grants: &[&str]) -> Permissions {
        let grant = |text: &&str| match text.strip_suffix('?') {
            Some(text) => Grant::new(text, true),
            None => Grant::new(*text, false),
        };
        Permissions { grants: grants.iter().map(grant).collect(), ..Permissions::default() }
    }

    fn offered(grants: &[&str], known: Vec<KnownTool>, preload: &Preload) -> (Vec<String>, Assembly) {
        let mut assembly = assemble(&Parts::default());
        let (specs, refs) = offer(&mut assembly, &permissions(grants), known, preload);
        let told: Vec<&str> = assembly.included().map(|layer| layer.id.as_str()).collect();
        assert_eq!(told, refs.iter().map(|tool| tool.item.as_str()).collect::<Vec<_>>());
        (specs.into_iter().map(|spec| spec.name).collect(), assembly)
    }

    fn reason(assembly: &Assembly, item: &str) -> String {
        let layer = assembly.layers.iter().find(|layer| layer.id == item).unwrap();
        let Decision::Skipped { absence } = &layer.decision else { panic!("{item} is there") };
        absence.to_string()
    }

    #[test]
    fn broad_grants_register_tools() {
        let known = || vec![tool("rye/bash", 1), tool("team/ship", 1)];
        for grant in ["*", "rye.*", "rye.execute.*", "rye.execute.tool.*"] {
            assert_eq!(offered(&[grant], known(), &Preload::default()).0, ["rye_bash", "team_ship"], "{grant}");
        }
        assert_eq!(offered(&["rye.execute.tool.team.*"], known(), &Preload::default()).0, ["team_ship"]);
        assert_eq!(offered(&["rye.fetch.*"], known(), &Preload::default()).0, Vec::<String>::new());
    }

    #[test]
    fn what_is_granted_by_name_comes_before_what_a_wildcard_reaches() {
        let known = vec![tool("a/wide", 100), tool("a/b/close", 100), tool("a/b/named", 100)];
        let grants = ["rye.execute.tool.*", "rye.execute.tool.a.b.*", "rye.execute.tool.a.b.named"];
        let preload = Preload { off: None, budget: Tokens(100) };
        let (names, assembly) = offered(&grants, known, &preload);
        assert_eq!(names, ["a_b_close", "a_b_named"]);
        let told = "needs ~41 tokens, only 18 of 100 for tools were left (resilience.tool_preload.max_tokens)";
        assert_eq!(reason(&assembly, "a/wide"), told);
    }

    #[test]
    fn what_does_not_fit_leaves_room_for_what_comes_after() {
        let preload = Preload { off: None, budget: Tokens(40) };
        let (names, _) = offered(&["*"], vec![tool("a/long", 400), tool("a/short", 4)], &preload);
        assert_eq!(names, ["a_short"]);
    }

    #[test]
    fn primaries_cost_nothing() {
        let preload = Preload { off: None, budget: Tokens(0) };
        let known = vec![tool("rye/fetch", 400), tool("rye/agent/threads/directive_return", 400), tool("a/b", 1)];
        assert_eq!(offered(&["*"], known, &preload).0, ["rye_fetch", "rye_agent_threads_directive_return"]);
    }

    #[test]
    fn a_primary_is_listed_where_anything_is_granted_through_it_or_nothing_at_all() {
        let primaries = || vec![tool("rye/execute", 1), tool("rye/fetch", 1), tool("rye/sign", 1), tool("a/b", 1)];
        for (grants, names) in [
            (&[][..], &["rye_execute", "rye_fetch", "rye_sign"][..]),
            (&["rye.fetch.knowledge.*"], &["rye_fetch"]),
            (&["rye.execute.tool.a.b"], &["rye_execute", "a_b"]),
            (&["rye.fetch.*", "rye.sign.*?"], &["rye_fetch", "rye_sign"]),
            (&["rye.*"], &["rye_execute", "rye_fetch", "rye_sign", "a_b"]),
        ] {
            assert_eq!(offered(grants, primaries(), &Preload::default()).0, names, "{grants:?}");
        }
    }

    #[test]
    fn nothing_is_offered_when_tools_are_switched_off() {
        let preload = Preload { off: Some("resilience.yaml:3".into()), budget: Tokens(2_000) };
        let (names, assembly) = offered(&["*"], vec![tool("rye/fetch", 1), tool("a/b", 1)], &preload);
        assert_eq!(names, Vec::<String>::new());
        assert_eq!(reason(&assembly, "a/b"), "tools are switched off by resilience.yaml:3");
    }

    #[test]
    fn what_cannot_run_is_listed_and_not_offered() {
        let absent = KnownTool { absent: Some(Absence::NotRun { message: "no Python".into() }), ..tool("a/b", 1) };
        let (names, assembly) = offered(&["*"], vec![absent, tool("a/c", 1)], &Preload::default());
        assert_eq!(names, ["a_c"]);
        assert_eq!(reason(&assembly, "a/b"), "no Python");
    }

    #[test]
    fn s06_what_cannot_run_shows_its_schema_and_its_size() {
        let absent =
            |item: &str| KnownTool { absent: Some(Absence::NotRun { message: "no Python".into() }), ..tool(item, 40) };
        let mut silent = absent("a/silent");
        silent.spec.schema = serde_json::Value::Null;
        let (names, assembly) = offered(&["*"], vec![absent("a/b"), silent, tool("a/c", 1)], &Preload::default());
        assert_eq!(names, ["a_c"]);
        let shown = |item: &str| {
            let at = assembly.layers.iter().position(|layer| layer.id == item).unwrap();
            (assembly.layers[at].tokens.count, assembly.layers[at].range.clone(), assembly.texts[at].to_string())
        };
        let (tokens, range, text) = shown("a/b");
        assert!(tokens > Tokens(10) && range.is_empty() && text.contains("\"type\":\"object\""), "{tokens} {text}");
        assert_eq!((shown("a/silent").0, shown("a/silent").2), (Tokens(0), String::new()));
        assert_eq!(assembly.tokens(), assembly.included().map(|layer| layer.tokens.count).sum());
    }

    #[test]
    fn two_ids_of_one_name_get_two_names() {
        let mut known = vec![tool("a/b-c", 1), tool("a/b_c", 1), tool("a/b/c", 1)];
        KnownTool::settle_names(&mut known);
        assert_eq!(offered(&["*"], known, &Preload::default()).0, ["a_b_c", "a_b_c_2", "a_b_c_3"]);
    }

    #[test]
    fn a_long_name_is_cut_and_stays_its_own() {
        let long = "x".repeat(70);
        let mut known = vec![tool(&format!("{long}/a"), 1), tool(&format!("{long}/b"), 1), tool(&"x".repeat(64), 1)];
        KnownTool::settle_names(&mut known);
        let (whole, cut) = ("x".repeat(64), "x".repeat(62));
        let names = offered(&["*"], known, &Preload::default()).0;
        assert_eq!(names, [whole, format!("{cut}_2"), format!("{cut}_3")]);
    }

    #[test]
    fn the_tree_puts_each_tool_under_the_grant_that_counts() {
        let bash = KnownTool { aliases: vec!["rye/bash/bash".into()], ..tool("rye/bash", 9_000) };
        let known = vec![tool("team/a/one", 1), tool("team/a/two", 1), bash.clone()];
        let grants = [
            "rye.execute.tool.team.*",
            "rye.execute.tool.team.a.two?",
            "rye.execute.tool.rye.bash.bash",
            "rye.fetch.*",
        ];
        let capabilities = |id: &str| if id == bash.item { bash.capabilities() } else { vec![to_execute(id)] };
        let (_, assembly) = offered(&grants, known, &Preload::default());
        let expected = [
            "rye.execute.tool.team.*",
            "  team/",
            "    a/",
            "      one",
            "rye.execute.tool.team.a.two (needs approval)",
            "rye.execute.tool.rye.bash.bash (not offered)",
            "rye.fetch.*",
        ];
        assert_eq!(tree(&permissions(&grants).grants, assembly.layers.iter(), capabilities), expected);
    }
}
