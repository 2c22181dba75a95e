//! Plans of whole threads: which items arrive where, in which order, and why others do not.

mod faults;

use super::*;
use crate::domain::{
    Absence, Decision, Entry, Layer, LayerKind, Limits, Message, ModelRef, Money, Piece, Space, ThreadKind, Tokens,
};
use crate::items::directive::Values;
use crate::items::space::embedded_texts;
use crate::items::{Directive, Hooks, Items, Knowledge, Spaces};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Items in memory, over the shipped ones.
#[derive(Default)]
struct TestLibrary {
    directives: BTreeMap<String, String>,
    knowledge: BTreeMap<String, String>,
    /// Ids that exist and may not be used.
    refused: Vec<String>,
}

impl TestLibrary {
    fn text<'a>(own: &'a BTreeMap<String, String>, kind: &str, id: &str) -> Option<(&'a str, Space)> {
        let path = format!(".ai/{kind}/{id}.md");
        let shipped = || embedded_texts(".ai").find(|(other, _)| *other == path).map(|(_, text)| (text, Space::System));
        own.get(id).map(|text| (text.as_str(), Space::Project)).or_else(shipped)
    }

    fn loaded<T>(
        &self,
        own: &BTreeMap<String, String>,
        kind: &str,
        id: &str,
        parse: impl FnOnce(&str, &Path) -> T,
    ) -> Result<Loaded<T>, Lost> {
        if self.refused.iter().any(|refused| refused == id) {
            return Err(Lost::Refused(format!("`{id}` was changed after it was signed")));
        }
        let missing = || Lost::Missing(format!("there is no {kind} `{id}`"));
        let (text, space) = Self::text(own, kind, id).ok_or_else(missing)?;
        let path = format!(".ai/{kind}/{id}.md");
        let shipped = Self::text(&BTreeMap::new(), kind, id).is_some();
        let below = Hidden { space: Space::System, bundle: None, path: path.clone() };
        let shadows = if space == Space::Project && shipped { vec![below] } else { Vec::new() };
        let (bundle, signature) = (None, None);
        let value = parse(text, Path::new(&path));
        Ok(Loaded { value, space, bundle, file: path.clone(), path, signature, shadows })
    }

    /// A directive that extends `extends`, with `context` inside its `<context>`, and the items that names.
    fn directive(mut self, id: &str, extends: &str, context: &str) -> Self {
        let extends = if extends.is_empty() { String::new() } else { format!(" extends=\"{extends}\"") };
        let name = id.rsplit('/').next().unwrap();
        let metadata = format!("<metadata>{context}</metadata>");
        let text =
            format!("```xml\n<directive name=\"{name}\"{extends}>{metadata}</directive>\n```\nBody of {name}.\n");
        self.directives.insert(id.to_owned(), text);
        self
    }

    fn knowledge(mut self, id: &str, body: &str) -> Self {
        let name = id.rsplit('/').next().unwrap();
        self.knowledge.insert(id.to_owned(), format!("<!-- rye:signed:x -->\n```yaml\nname: {name}\n```\n\n{body}\n"));
        self
    }
}

impl Library for TestLibrary {
    fn directive(&self, id: &str) -> Result<Loaded<Directive>, Lost> {
        self.loaded(&self.directives, "directives", id, |text, file| Directive::parse(text, file).0)
    }

    fn knowledge(&self, id: &str) -> Result<Loaded<Knowledge>, Lost> {
        self.loaded(&self.knowledge, "knowledge", id, |text, file| Knowledge::parse(text, file).0)
    }
}

/// The shipped hooks and those of a project's `hooks.yaml`.
fn hooks(yaml: &str) -> Hooks {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(".ai/config/agent/hooks.yaml");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, yaml).unwrap();
    let hooks = Hooks::read(&Items::list(&Spaces::new(folder.path(), folder.path(), [])));
    assert!(hooks.too_many.is_some() || hooks.problems.is_empty(), "{:?}", hooks.problems);
    hooks
}

fn start() -> Start {
    let limits = Limits { turns: Some(25), spend: Some(Money(1_000_000)), ..Limits::default() };
    Start::new(ModelRef::new("anthropic", "fast"), limits, ThreadKind::OneShot)
}

fn planned(browser: &TestLibrary, directive: &str, yaml: &str) -> Result<Plan, PlanError> {
    let (inputs, start, hooks) = (Values::from([("target".into(), "${model}".into())]), start(), hooks(yaml));
    let meaning = Meaning::default();
    let ask = Ask { directive, inputs: &inputs, project: "/srv/moon", start: &start, hooks: &hooks, meaning: &meaning };
    plan(&ask, browser)
}

fn ids(pieces: &[Piece], kinds: &[LayerKind]) -> Vec<String> {
    let wanted = pieces.iter().filter(|piece| piece.is_included() && kinds.contains(&piece.kind));
    wanted.map(|piece| piece.id.clone()).collect()
}

/// What a chain brings: system, before, after.
fn context(plan: &Plan) -> [Vec<String>; 3] {
    [
        ids(&plan.system, &[LayerKind::ExtendsSystem, LayerKind::DirectiveSystem]),
        ids(&plan.opening, &[LayerKind::ContextBefore]),
        ids(&plan.opening, &[LayerKind::ContextAfter]),
    ]
}

fn absences(plan: &Plan) -> BTreeMap<String, String> {
    let skipped = plan.system.iter().chain(&plan.opening).filter_map(|piece| match &piece.decision {
        Decision::Skipped { absence } => Some((piece.id.clone(), absence.to_string())),
        Decision::Included => None,
    });
    skipped.collect()
}

#[test]
fn a_directive_names_the_one_whose_body_a_thread_is_told_that_goes_on() {
    let named = |id: &str| {
        TestLibrary::default()
            .directive("team/ship", "", &format!("<continuation_directive>{id}</continuation_directive>"))
            .directive("team/on", "", "")
    };
    let mut library = named("team/on");
    let body = "```xml\n<directive name=\"on\"></directive>\n```\nGo on with {input:original_directive}: \
                {input:original_directive_body} Was {input:previous_thread_id}.\n";
    library.directives.insert("team/on".to_owned(), body.to_owned());
    let told = planned(&library, "team/ship", "hooks: []\n").unwrap().continuation.unwrap();
    assert_eq!((&*told.text, told.id.as_str()), ("Go on with team/ship: Body of ship. Was .", "team/on"));
    // One that is not there costs only itself, and is told of.
    let plan = planned(&named("team/gone"), "team/ship", "hooks: []\n").unwrap();
    assert_eq!(plan.continuation.unwrap().id, "levain/core/Continuation");
    let told = plan.problems.iter().map(ToString::to_string).find(|told| told.contains("continuation_directive"));
    assert!(told.is_some_and(|told| told.contains("team/gone")), "{:?}", plan.problems);
}

#[test]
fn a_directive_names_the_one_whose_body_asks_for_summaries() {
    let named = |id: &str| {
        let mut library = TestLibrary::default().knowledge("levain/core/Compaction", "Summarise.").directive(
            "team/ship",
            "",
            &format!("<summary_directive>{id}</summary_directive>"),
        );
        let body = "```xml\n<directive name=\"short\"></directive>\n```\nKeep names, of {input:original_directive}.\n";
        library.directives.insert("team/short".to_owned(), body.to_owned());
        planned(&library, "team/ship", "hooks: []\n").unwrap()
    };
    assert_eq!(&*named("team/short").compaction.unwrap().text, "Keep names, of team/ship.");
    let plan = named("team/gone");
    assert_eq!(&*plan.compaction.unwrap().text, "Summarise.");
    assert!(
        plan.problems.iter().any(|problem| problem.to_string().contains("summary_directive")),
        "{:?}",
        plan.problems
    );
}

const IDENTITY: &str = "levain/core/Identity";
const BEHAVIOR: &str = "levain/core/Behavior";
const EXECUTE: &str = "levain/core/protocol/execute";
const FETCH: &str = "levain/core/protocol/fetch";
const SIGN: &str = "levain/core/protocol/sign";

/// A team's base over the shipped one, and the directive that is run.
fn deploy(leaf: &str) -> TestLibrary {
    TestLibrary::default()
        .knowledge("project/deploy/environment-rules", "Rules.")
        .knowledge("project/deploy/completion-checklist", "Checks.")
        .knowledge("project/custom-sign-protocol", "Ours.")
        .directive(
            "project/deploy/base",
            "levain/core/base",
            "<context><before>project/deploy/environment-rules</before></context>",
        )
        .directive("deploy_staging", "project/deploy/base", &format!("<context>{leaf}</context>"))
}

/// What the plan's thread may do.
fn granted(plan: &Plan) -> Vec<String> {
    plan.capabilities.iter().map(|grant| grant.capability.clone()).collect()
}

#[test]
fn chain_root_middle_leaf() {
    let plan =
        planned(&deploy("<after>project/deploy/completion-checklist</after>"), "deploy_staging", "hooks: []").unwrap();
    assert_eq!(plan.chain, ["levain/core/base", "project/deploy/base", "deploy_staging"]);
    let [system, before, after] = context(&plan);
    assert_eq!(system, [IDENTITY, BEHAVIOR]);
    assert_eq!(before, [EXECUTE, FETCH, SIGN, "project/deploy/environment-rules"]);
    assert_eq!(after, ["project/deploy/completion-checklist"]);
}

/// The chain of the first version: two system items at the root, and no protocol.
#[test]
fn chain_root_middle_leaf_of_the_first_version() {
    let browser = TestLibrary::default()
        .knowledge("agent/identity", "Who.")
        .knowledge("agent/behavior", "How.")
        .knowledge("deploy/rules", "Rules.")
        .knowledge("deploy/done", "Done.")
        .directive(
            "agent/base",
            "",
            "<context><system>agent/identity</system><system>agent/behavior</system></context>",
        )
        .directive("deploy/base", "agent/base", "<context><before>deploy/rules</before></context>")
        .directive("deploy/staging", "deploy/base", "<context><after>deploy/done</after></context>");
    let plan = planned(&browser, "deploy/staging", "hooks: []").unwrap();
    let [system, before, after] = context(&plan);
    assert_eq!((system.join(" "), before.join(" ")), ("agent/identity agent/behavior".into(), "deploy/rules".into()));
    assert_eq!(after, ["deploy/done"]);
}

#[test]
fn message_order_with_all_layers() {
    let browser =
        deploy("<before>project/custom-sign-protocol</before><after>project/deploy/completion-checklist</after>");
    let yaml = "hooks:\n- id: last\n  event: thread_started\n  position: after\n  wrap: false\n  action: {primary: load, item_type: \
                knowledge, item_id: project/custom-sign-protocol}\n";
    let plan = planned(&browser, "deploy_staging", yaml).unwrap();
    let order: Vec<_> = plan.opening.iter().map(|piece| (piece.kind, piece.id.as_str())).collect();
    let (before, after) = (LayerKind::ContextBefore, LayerKind::ContextAfter);
    assert_eq!(
        order,
        [
            (LayerKind::HookBefore, "ctx_environment"),
            (LayerKind::HookBefore, "ctx_directive_instruction"),
            (before, EXECUTE),
            (before, FETCH),
            (before, SIGN),
            (before, "project/deploy/environment-rules"),
            (before, "project/custom-sign-protocol"),
            (LayerKind::Prompt, "deploy_staging"),
            (after, "project/deploy/completion-checklist"),
            (LayerKind::HookAfter, "last"),
        ]
    );
    let (named_before, named_after) = plan.injected();
    assert_eq!(named_before.len(), 7);
    assert_eq!(named_after, ["project/deploy/completion-checklist", "last"]);
    let history = [Entry::new(Message::user("now"))];
    let assembly = assemble(&Parts {
        system: &plan.system,
        opening: &plan.opening,
        state: &[],
        history: &history,
        inherited: 0,
        edits: None,
    });
    assert!(assembly.system.starts_with("You work inside levain"));
    let first = assembly.messages[0].message.text();
    assert!(first.starts_with("<Environment id=\"levain/core/Environment\" type=\"knowledge\">\n"), "{first}");
    assert!(first.ends_with("</directive>\n\nChecks.\n\nOurs."), "{first}");
    assert_eq!(assembly.messages[1].message.text(), "now");
}

#[test]
fn wrap_false_injects_plain_text_without_signature_and_metadata() {
    let plan = planned(&deploy(""), "deploy_staging", "hooks: []").unwrap();
    let text = |id: &str| plan.opening.iter().find(|piece| piece.id == id).unwrap().text.to_string();
    assert!(text("ctx_directive_instruction").starts_with("The `<directive>` element"));
    assert_eq!(text("project/deploy/environment-rules"), "Rules.");
    let environment = text("ctx_environment");
    for filled in ["/srv/moon", "anthropic/fast", "a person", "25 turns, $1.00", "rye.execute.*, rye.fetch.*"] {
        assert!(environment.contains(filled), "{environment}");
    }
    assert_eq!(fill::unfilled(&environment), Vec::<String>::new());
}

#[test]
fn suppression_replaces_an_inherited_item() {
    let leaf = format!("<suppress>{SIGN}</suppress><before>project/custom-sign-protocol</before>");
    let plan = planned(&deploy(&leaf), "deploy_staging", "hooks: []").unwrap();
    let expected = [EXECUTE, FETCH, "project/deploy/environment-rules", "project/custom-sign-protocol"];
    assert_eq!(context(&plan)[1], expected);
    assert_eq!(absences(&plan)[SIGN], "suppressed by `deploy_staging`");
}

#[test]
fn suppression_composes_down_the_chain_and_reaches_hooks() {
    let browser = TestLibrary::default()
        .directive("mid", "levain/core/base", &format!("<context><suppress>{BEHAVIOR}</suppress></context>"))
        .directive(
            "leaf",
            "mid",
            &format!("<context><system>{BEHAVIOR}</system><suppress>ctx_environment</suppress><suppress>levain/core/DirectiveInstruction</suppress></context>"),
        );
    let plan = planned(&browser, "leaf", "hooks: []").unwrap();
    assert_eq!(context(&plan)[0], [IDENTITY]);
    assert_eq!(ids(&plan.opening, &[LayerKind::HookBefore]), Vec::<String>::new());
    assert_eq!(plan.problems, []);
}

#[test]
fn the_constitution_cannot_be_suppressed_or_preceded() {
    let browser = TestLibrary::default().directive(
        "a",
        "",
        &format!("<context><system>{CONSTITUTION}</system><suppress>{CONSTITUTION}</suppress></context>"),
    );
    let yaml = "hooks:\n- id: first\n  event: build_system_prompt\n  layer: 0\n  action: {primary: load, item_id: levain/core/Identity}\n";
    let plan = planned(&browser, "a", yaml).unwrap();
    let included: Vec<_> = plan.system.iter().filter(|piece| piece.is_included()).map(|piece| piece.kind).collect();
    assert_eq!(included, [LayerKind::Constitution, LayerKind::SystemHook]);
    assert!(plan.problems[0].message.contains("cannot be suppressed"), "{:?}", plan.problems);
}

#[test]
fn duplicates_arrive_once_for_each_position() {
    let browser = TestLibrary::default().directive(
        "leaf",
        "levain/core/base",
        &format!("<context><system>{IDENTITY}</system><after>{IDENTITY}</after></context>"),
    );
    let plan = planned(&browser, "leaf", "hooks: []").unwrap();
    assert_eq!(context(&plan)[0], [IDENTITY, BEHAVIOR]);
    assert_eq!(context(&plan)[2], [IDENTITY]);
    assert_eq!(absences(&plan)[IDENTITY], "already in the request, from `levain/core/base`");
}

const ROUTES: &str = "hooks:\n\
    - {id: route_web_extends, event: resolve_extends, layer: 2, condition: {path: directive, op: contains, value: web}, action: {set_extends: project/contexts/web}}\n\
    - {id: route_deploy_extends, event: resolve_extends, layer: 2, condition: {path: directive, op: contains, value: deploy}, action: {set_extends: project/contexts/deploy}}\n\
    - {id: early, event: resolve_extends, layer: 0, condition: {all: [{path: has_extends, value: true}, {path: category, value: team/lead}]}, action: {set_extends: levain/core/base_review}}\n";

#[test]
fn routing_by_resolve_extends() {
    let browser = TestLibrary::default()
        .knowledge("web", "Web.")
        .directive("project/contexts/web", "", "<context><system>web</system></context>")
        .directive("project/contexts/deploy", "levain/core/base_execute_only", "")
        .directive("web_and_deploy", "", "")
        .directive("team/deploy", "levain/core/base", "")
        .directive("team/lead/deploy", "levain/core/base", "")
        .directive("plain", "", "");
    let of = |id: &str| {
        let plan = planned(&browser, id, ROUTES).unwrap();
        (plan.chain.iter().rev().skip(1).rev().map(String::as_str).collect::<Vec<_>>().join(" "), plan.routed_by)
    };
    let by = |hook: &str| Some(hook.to_owned());
    assert_eq!(of("web_and_deploy"), ("project/contexts/web".into(), by("route_web_extends")));
    let deploy = "levain/core/base_execute_only project/contexts/deploy";
    assert_eq!(of("team/deploy"), (deploy.into(), by("route_deploy_extends")));
    assert_eq!(of("team/lead/deploy"), ("levain/core/base_review".into(), by("early")));
    assert_eq!(of("plain"), (String::new(), None));
    // What a hook chose is not sent round in a circle by the same hook.
    assert_eq!(of("project/contexts/deploy"), ("levain/core/base_execute_only".into(), None));
}

#[test]
fn layer_composition_table() {
    let permissions = "<permissions><execute><tool>team/*</tool></execute></permissions>";
    let browser = TestLibrary::default()
        .directive("permissions_only", "", permissions)
        .directive("deploy_hooks", "", permissions)
        .directive("with_extends", "levain/core/base_review", permissions)
        .directive("deploy_all", "levain/core/base_review", permissions)
        .directive("project/contexts/deploy", "levain/core/base_execute_only", "")
        .directive("nothing", "", "");
    let rows: Vec<_> = ["permissions_only", "deploy_hooks", "with_extends", "deploy_all", "nothing"]
        .into_iter()
        .map(|id| {
            let plan = planned(&browser, id, ROUTES).unwrap();
            let [system, before, _] = context(&plan);
            (granted(&plan).join(" "), system.len(), before.len())
        })
        .collect();
    let granted = || "rye.execute.tool.team.*".to_owned();
    let expected = [(granted(), 0, 0), (granted(), 2, 1), (granted(), 2, 2), (granted(), 2, 1), (String::new(), 0, 0)];
    assert_eq!(rows, expected);
}

#[test]
fn permissions_come_from_the_leaf_or_the_nearest_that_says_anything() {
    let browser = TestLibrary::default()
        .directive("silent", "levain/core/base_execute_only", "")
        .directive("leaf", "silent", "")
        .directive("none", "silent", "<permissions />");
    let of = |id: &str| planned(&browser, id, "hooks: []").map(|plan| granted(&plan)).unwrap();
    assert_eq!(of("leaf"), ["rye.execute.*"]);
    assert_eq!(of("none"), Vec::<String>::new());
    // Of several above it the nearest counts, not the first of all, nor all together.
    let grant = |tool: &str| format!("<permissions><execute><tool>{tool}</tool></execute></permissions>");
    let browser = TestLibrary::default()
        .directive("root", "", &grant("a/*"))
        .directive("middle", "root", &grant("b/*"))
        .directive("leaf", "middle", "");
    let of = |id: &str| planned(&browser, id, "hooks: []").map(|plan| granted(&plan)).unwrap();
    assert_eq!(of("leaf"), ["rye.execute.tool.b.*"]);
    assert_eq!(of("root"), ["rye.execute.tool.a.*"]);
}

#[test]
fn a_project_file_overrides_identity() {
    let browser = deploy("").knowledge(IDENTITY, "You are the moon's agent.");
    let plan = planned(&browser, "deploy_staging", "hooks: []").unwrap();
    let identity: Vec<_> = plan.system.iter().filter(|piece| piece.id == IDENTITY).collect();
    assert_eq!(&*identity[0].text, "You are the moon's agent.");
    assert!(matches!(&identity[1].decision, Decision::Skipped { absence: Absence::Shadowed { by } }
        if by == "project .ai/knowledge/levain/core/Identity.md"));
}

#[test]
fn a_bare_directive_carries_constitution_environment_and_instruction_only() {
    let plan = planned(&TestLibrary::default().directive("bare", "", ""), "bare", "hooks: []").unwrap();
    let all: Vec<_> = plan
        .system
        .iter()
        .chain(&plan.opening)
        .filter(|piece| piece.is_included())
        .map(|piece| piece.id.as_str())
        .collect();
    assert_eq!(all, [CONSTITUTION, "ctx_environment", "ctx_directive_instruction", "bare"]);
    assert!(plan.system.iter().all(|piece| !is_told(piece.kind)) && plan.state.is_empty());
}

#[test]
fn chains_that_go_round_or_break_off_or_never_end_are_refused() {
    let browser = TestLibrary::default().directive("a", "b", "").directive("b", "c", "").directive("c", "a", "");
    let error = planned(&browser, "a", "hooks: []").unwrap_err().to_string();
    assert!(error.contains("a → b → c → a"), "{error}");
    let browser = TestLibrary::default().directive("a", "gone", "");
    let error = planned(&browser, "a", "hooks: []").unwrap_err().to_string();
    assert!(error.contains("`a` extends `gone`, but there is no directives `gone`"), "{error}");
    let mut browser = TestLibrary::default();
    for number in 0..100 {
        browser = browser.directive(&format!("d{number}"), &format!("d{}", number + 1), "");
    }
    let error = planned(&browser, "d0", "hooks: []").unwrap_err().to_string();
    assert!(error.contains("longer than 64"), "{error}");
}

#[test]
fn more_than_two_thousand_hooks_are_refused() {
    let line = "- {event: error, action: {primary: fetch, item_id: a}}\n";
    let error = planned(&deploy(""), "deploy_staging", &format!("hooks:\n{}", line.repeat(2_001))).unwrap_err();
    assert!(matches!(error, PlanError::TooManyHooks { .. }), "{error}");
}

/// One layer lost to each reason, and all of them told with what was seen.
#[test]
fn absence_is_told_for_every_reason_at_once() {
    let mut browser = TestLibrary::default()
        .knowledge("twice", "Twice.")
        .knowledge("empty", "")
        .knowledge("rules", "Rules.")
        .knowledge(IDENTITY, "Ours.")
        .directive(
            "leaf",
            "levain/core/base",
            &format!(
                "<context><suppress>{SIGN}</suppress><system>twice</system><system>twice</system><before>empty</before>\
                 <after optional=\"true\">gone</after><after optional=\"true\">changed</after></context>"
            ),
        );
    browser.refused.push("changed".into());
    let yaml = "hooks:\n\
        - {id: for_web, event: thread_started, condition: {path: directive, op: contains, value: web}, action: {primary: fetch, item_id: rules}}\n\
        - {id: a_tool, event: thread_started, action: {primary: execute, item_type: tool, item_id: team/x}}\n";
    let plan = planned(&browser, "leaf", yaml).unwrap();
    let absences = absences(&plan);
    let expected = [
        ("a_tool", "a hook of thread_started can only add knowledge"),
        ("changed", "`changed` was changed after it was signed"),
        ("empty", "holds no text"),
        ("for_web", "condition false: directive contains \"web\" (actual \"leaf\")"),
        ("gone", "there is no knowledge `gone`"),
        (IDENTITY, "hidden by project .ai/knowledge/levain/core/Identity.md"),
        (SIGN, "suppressed by `leaf`"),
        ("twice", "already in the request, from `leaf`"),
    ];
    let told: Vec<_> = absences.iter().map(|(id, said)| (id.as_str(), said.as_str())).collect();
    assert_eq!(told.len(), expected.len(), "{told:#?}");
    for ((id, said), (expected_id, beginning)) in told.iter().zip(expected) {
        assert!(*id == expected_id && said.starts_with(beginning), "{id}: {said}");
    }
    let assembly = assemble(&Parts {
        system: &plan.system,
        opening: &plan.opening,
        state: &[],
        history: &[],
        inherited: 0,
        edits: None,
    });
    let json = serde_json::to_string(&assembly.layers).unwrap();
    for reason in ["condition", "suppressed", "duplicate", "shadowed", "missing", "refused", "empty", "not_run"] {
        assert!(json.contains(&format!("\"is\":\"skipped\",\"reason\":\"{reason}\"")), "{reason}: {json}");
    }
    let layers: Vec<Layer> = serde_json::from_str(&json).unwrap();
    assert_eq!(layers, assembly.layers);
}

#[test]
fn inputs_are_text_and_are_filled_in_once() {
    let mut browser = TestLibrary::default().knowledge("said", "To ${inputs.target} and {input:target} by ${model}");
    browser = browser.directive("a", "", "");
    let yaml = "hooks:\n- {id: said, event: thread_started, wrap: false, action: {primary: load, item_id: said}}\n";
    let plan = planned(&browser, "a", yaml).unwrap();
    let said = plan.opening.iter().find(|piece| piece.id == "said").unwrap();
    assert_eq!(&*said.text, "To ${model} and ${model} by anthropic/fast");
}

#[test]
fn providers_explain_themselves_and_say_how_it_stands() {
    let mut browser = TestLibrary::default().directive(
        "a",
        "",
        "<context><provider>project</provider><provider>time</provider><provider>team/oncall</provider></context>",
    );
    let oncall = "```yaml\nname: oncall\nentry_type: context_provider\ninstructions: Ask whoever is on call.\nstate: On call is Ada.\n```\n";
    browser.knowledge.insert("team/oncall".into(), oncall.into());
    let plan = planned(&browser, "a", "hooks: []").unwrap();
    assert_eq!(ids(&plan.system, &[LayerKind::ContextInstructions]), ["project", "time", "team/oncall"]);
    let snapshot = EnvironmentSnapshot {
        now: Some("noon".into()),
        folder: "/srv/moon".into(),
        branch: Some("main".into()),
        ..EnvironmentSnapshot::default()
    };
    let state = plan.state(&snapshot);
    let texts: Vec<_> = state.iter().map(|piece| &*piece.text).collect();
    let project = "Project: /srv/moon, git branch main";
    assert_eq!(texts, [project, "Now: noon", "On call is Ada."]);
    assert_eq!(&*plan.state(&EnvironmentSnapshot::default())[0].text, "Project: ");
}

#[test]
fn memory_and_persona_are_state() {
    let context = "<context><provider>memory</provider><provider>persona</provider></context>";
    let plan = planned(&TestLibrary::default().directive("a", "", context), "a", "hooks: []").unwrap();
    assert!(plan.state(&EnvironmentSnapshot::default()).iter().all(|piece| !piece.is_included()));
    let persona = crate::domain::Persona { name: "Ada".into(), text: "Counts everything.".into() };
    let notes = (1..=10).map(|id| (id, if id == 9 { "long ".repeat(100) } else { format!("note\n{id}") })).collect();
    let snapshot = EnvironmentSnapshot { memory: Ok(notes), persona: Some(persona), ..EnvironmentSnapshot::default() };
    let state = plan.state(&snapshot);
    let lines: Vec<&str> = state[0].text.lines().collect();
    assert_eq!((lines.len(), lines[0]), (9, "Remembered in this project (the newest 8 of 10):"));
    assert_eq!((lines[1], lines[8]), ("- [10] note 10", "- [3] note 3"));
    assert!(lines[2].chars().count() < 320 && lines[2].ends_with(" …"), "{}", lines[2]);
    assert_eq!(&*state[1].text, "You are Ada. Counts everything.");
    let broken = EnvironmentSnapshot { memory: Err("it does not read".into()), ..EnvironmentSnapshot::default() };
    let refused = Decision::Skipped { absence: Absence::Refused { message: "it does not read".into() } };
    assert_eq!(plan.state(&broken)[0].decision, refused);
}

#[test]
fn a_command_of_a_provider_says_how_it_stands_or_why_not() {
    let context =
        "<context><provider>team/load</provider><provider>team/must</provider><provider>team/bad</provider></context>";
    let mut browser = TestLibrary::default().directive("a", "", context);
    for (id, yaml) in [
        ("team/load", "instructions: Mind the load.\ncommand: [uptime, -p]\ntimeout_seconds: 90\ninputs: [a]\n"),
        ("team/must", "command: [must]\noptional: false\n"),
        ("team/bad", "command: rm\n"),
    ] {
        browser.knowledge.insert(id.into(), format!("```yaml\nname: x\n{yaml}```\n"));
    }
    let plan = planned(&browser, "a", "hooks: []").unwrap();
    assert!(absences(&plan)["team/bad"].contains("its `command` is not a list of texts"));
    let command = plan.state[0].command().unwrap();
    assert_eq!((command.target.words().join(" "), command.deadline.as_secs()), ("uptime -p".to_owned(), 30));
    assert!(command.optional && command.inputs == ["a"]);
    let said = BTreeMap::from([
        ("team/load".to_owned(), Ok("${model} up".to_owned())),
        ("team/must".to_owned(), Err("`must` ended with 1".to_owned())),
    ]);
    let snapshot = EnvironmentSnapshot { commands: said, ..EnvironmentSnapshot::default() };
    let state = plan.state(&snapshot);
    // What a command said is data.
    assert_eq!(&*state[0].text, "team/load:\n${model} up");
    assert!(matches!(&state[1].decision, Decision::Skipped { absence: Absence::Refused { .. } }));
    assert_eq!(plan.state[0].failure(&snapshot), None);
    let why = plan.state[1].failure(&snapshot).unwrap();
    assert_eq!(why, "the context provider `team/must` is required, but `must` ended with 1");
}

#[test]
fn a_thread_that_goes_on_has_its_own_hooks() {
    let browser = TestLibrary::default().directive("a", "", "");
    let (inputs, hooks) = (Values::new(), hooks("hooks: []"));
    let start = Start { previous: Some(crate::domain::ThreadId::new("a", 1)), ..start() };
    let meaning = Meaning::default();
    let ask = Ask { directive: "a", inputs: &inputs, project: "/", start: &start, hooks: &hooks, meaning: &meaning };
    let plan = plan(&ask, &browser).unwrap();
    assert_eq!(ids(&plan.opening, &[LayerKind::HookBefore]), ["ctx_environment_continued"]);
}

/// What the shipped texts weigh, against what they are allowed to.
#[test]
fn shipped_texts_keep_to_their_sizes() {
    let plan = planned(&TestLibrary::default().directive("a", "levain/core/base", ""), "a", "hooks: []").unwrap();
    let tokens = |kind: &[LayerKind]| -> u64 {
        let pieces = plan.system.iter().chain(&plan.opening).filter(|piece| kind.contains(&piece.kind));
        pieces.map(|piece| Tokens::estimate(&piece.text).0).sum()
    };
    let hooks = tokens(&[LayerKind::HookBefore]);
    let system = tokens(&[LayerKind::ExtendsSystem]);
    let protocols = tokens(&[LayerKind::ContextBefore]);
    assert!((150..=250).contains(&hooks), "environment and instruction: {hooks}");
    assert!((180..=440).contains(&system), "identity and behaviour: {system}");
    assert!((100..=440).contains(&protocols), "protocols: {protocols}");
    assert!((600..=1_000).contains(&(hooks + system + protocols)), "{}", hooks + system + protocols);
}

#[test]
fn s04_what_one_mention_needs_is_required_though_another_calls_it_optional() {
    let optional = "<context><system optional=\"true\">team/gone</system></context>";
    let required = "<context><system>team/gone</system></context>";
    for (root, leaf) in [(optional, required), (required, optional)] {
        let browser = TestLibrary::default().directive("team/base", "", root).directive("team/ship", "team/base", leaf);
        let error = planned(&browser, "team/ship", "hooks: []").unwrap_err();
        assert!(matches!(&error, PlanError::Context { id, .. } if id == "team/gone"), "{error}");
    }
    let both = "<context><before optional=\"true\">team/gone</before><before>team/gone</before></context>";
    let browser = TestLibrary::default().directive("team/ship", "", both);
    assert!(planned(&browser, "team/ship", "hooks: []").is_err());
    // With nobody who needs it the thread starts, and each mention says why it brought nothing.
    let browser =
        TestLibrary::default().directive("team/base", "", optional).directive("team/ship", "team/base", optional);
    let plan = planned(&browser, "team/ship", "hooks: []").unwrap();
    let why = "there is no knowledge `team/gone`";
    assert_eq!(absences(&plan).get("team/gone").map(String::as_str), Some(why));
    assert_eq!(plan.system.iter().filter(|piece| piece.id == "team/gone").count(), 2);
}

#[test]
fn s04_a_provider_that_one_directive_needs_is_required() {
    let mention = |optional: &str| format!("<context><provider{optional}>team/state</provider></context>");
    let (optional, required) = (mention(" optional=\"true\""), mention(""));
    for (root, leaf) in [(&optional, &required), (&required, &optional)] {
        let browser = TestLibrary::default().directive("team/base", "", root).directive("team/ship", "team/base", leaf);
        let error = planned(&browser, "team/ship", "hooks: []").unwrap_err();
        assert!(matches!(&error, PlanError::Context { id, .. } if id == "team/state"), "{error}");
    }
}

#[test]
fn s04_nothing_is_called_there_that_is_not() {
    let context = "<context><system>team/empty</system><before>team/text</before></context>";
    let browser = TestLibrary::default()
        .knowledge("team/empty", "")
        .knowledge("team/text", "Text.")
        .directive("team/base", "", context)
        .directive("team/ship", "team/base", context);
    let plan = planned(&browser, "team/ship", "hooks: []").unwrap();
    let said: Vec<String> = plan
        .system
        .iter()
        .chain(&plan.opening)
        .filter_map(|piece| match &piece.decision {
            Decision::Skipped { absence } if piece.id.starts_with("team/") => Some(format!("{} {absence}", piece.id)),
            Decision::Skipped { .. } | Decision::Included => None,
        })
        .collect();
    let empty = "team/empty holds no text";
    assert_eq!(said, [empty, empty, "team/text already in the request, from `team/base`"]);
}
