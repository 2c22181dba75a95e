//! Promises that are easily broken without anybody noticing: each test is named after one.

use super::*;
use crate::context::{Parts, assemble, is_told, tree};
use crate::domain::capability::{flattened, to_execute};
use crate::domain::{KnownTool, Origin, Permissions, ToolSpec};

fn tool(item: &str) -> KnownTool {
    let spec = ToolSpec { name: flattened(item), description: String::new(), schema: serde_json::json!({}) };
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

#[test]
fn the_standard_base_registers_every_tool_and_all_primaries() {
    let plan = planned(&TestLibrary::default().directive("a", "levain/core/base", ""), "a", "hooks: []").unwrap();
    let permissions = Permissions { grants: plan.capabilities.clone(), ..Permissions::default() };
    let known = ["rye/execute", "rye/fetch", "rye/sign", "rye/bash", "team/ship"].map(tool).to_vec();
    let mut assembly = assemble(&Parts::default());
    let (specs, _) = plan.offer(&mut assembly, &permissions, known);
    assert_eq!(specs.len(), 5);
    let lines = tree(&plan.capabilities, assembly.layers.iter(), |id| vec![to_execute(id)]);
    assert!(lines.iter().any(|line| line.trim() == "bash"), "{lines:?}");
}

#[test]
fn a_directive_without_extends_tells_no_system_layers() {
    let browser = TestLibrary::default().directive("bare", "", "").directive("based", "levain/core/base", "");
    let told = |id: &str| {
        let plan = planned(&browser, id, "hooks: []").unwrap();
        let told = plan.system.iter().filter(|piece| piece.is_included() && is_told(piece.kind));
        told.map(|piece| piece.id.clone()).collect::<Vec<_>>()
    };
    assert_eq!(told("bare"), Vec::<String>::new());
    assert_eq!(told("based"), [IDENTITY, BEHAVIOR]);
}

#[test]
fn injected_context_names_hooks_and_items_of_the_chain() {
    let browser = TestLibrary::default().knowledge("done", "Check it.").directive(
        "a",
        "levain/core/base_review",
        "<context><after>done</after></context>",
    );
    let (before, after) = planned(&browser, "a", "hooks: []").unwrap().injected();
    assert_eq!(before, ["ctx_environment", "ctx_directive_instruction", EXECUTE, FETCH]);
    assert_eq!(after, ["done"]);
}

#[test]
fn environment_and_instruction_stand_before_the_directive() {
    let plan = planned(&TestLibrary::default().directive("a", "", ""), "a", "hooks: []").unwrap();
    let kinds: Vec<LayerKind> =
        plan.opening.iter().filter(|piece| piece.is_included()).map(|piece| piece.kind).collect();
    assert_eq!(kinds, [LayerKind::HookBefore, LayerKind::HookBefore, LayerKind::Prompt]);
    assert!(plan.opening[0].text.contains("/srv/moon") && plan.opening[0].text.starts_with("<Environment id="));
    assert!(!plan.opening[1].text.starts_with('<'), "{}", plan.opening[1].text);
}

#[test]
fn a_hook_that_fetches_brings_no_signature_and_no_metadata() {
    let browser = TestLibrary::default().knowledge("rules", "Be kind.").directive("a", "", "");
    for primary in ["fetch", "execute", "load", "search"] {
        let yaml = format!(
            "hooks:\n- {{id: r, event: thread_started, wrap: false, action: {{primary: {primary}, item_type: knowledge, item_id: rules}}}}\n"
        );
        let plan = planned(&browser, "a", &yaml).unwrap();
        let rules = plan.opening.iter().find(|piece| piece.id == "r").unwrap();
        assert_eq!(&*rules.text, "Be kind.", "{primary}");
    }
}

#[test]
fn an_item_that_is_not_there_is_never_skipped_in_silence() {
    let browser = TestLibrary::default().directive("a", "", "<context><before>team/gone</before></context>");
    let error = planned(&browser, "a", "hooks: []").unwrap_err().to_string();
    assert!(error.contains("team/gone") && error.contains("optional=\"true\""), "{error}");
}
