//! Directives with their inputs, items, names behind `@`, and the queue, with wide letters in every field.

use super::*;
use crate::domain::{Input, Problem, Severity};
use crate::workbench::{DirectiveChoice, ItemRow};

pub(super) fn directives() -> Vec<DirectiveChoice> {
    let input = |name: &str, kind: &str, required, default: Option<&str>, description: &str| Input {
        name: name.into(),
        kind: kind.into(),
        required,
        default: default.map(str::to_owned),
        description: description.into(),
        choices: Vec::new(),
        lines: (1, 1),
    };
    let choice = |id: &str, space: &str, description: &str| DirectiveChoice {
        id: id.into(),
        space: space.into(),
        description: description.into(),
        ..DirectiveChoice::default()
    };
    let deploy = DirectiveChoice {
        inputs: vec![
            input("target", "string", true, None, "where to: staging, 本番 or 🌙"),
            input(
                "tag",
                "string",
                false,
                Some("latest 🏷️"),
                "what to ship; without it the newest build that passed all of its tests on the main branch is taken, which takes a while to find",
            ),
            input("dry_run", "boolean", false, None, ""),
            Input {
                choices: ["small 小", "large", "as large as the machine allows"].map(str::to_owned).to_vec(),
                ..input("size", "string", false, Some("small 小"), "of what is shipped")
            },
        ],
        ..choice("team/deploy_展開", "project", "Ship a build 🚀 to an environment and watch 見守る it for ten minutes")
    };
    let refused = DirectiveChoice {
        refusal: Some("was changed after it was signed".into()),
        ..choice("team/rotate", "user", "")
    };
    vec![deploy, choice("levain/chat", "system", "Talk with a model"), refused]
}

pub(super) fn items() -> Vec<ItemRow> {
    let problem = |line, severity, message: &str| {
        Problem::at("a.md".as_ref(), line, severity, message, "remove it, or write 直す")
    };
    let row = |kind, id: &str, space: &str| ItemRow {
        kind,
        id: id.into(),
        space: space.into(),
        place: format!(".ai/{kind}/{id}.md"),
        file: Some("/tmp/x".into()),
        ..ItemRow::default()
    };
    vec![
        ItemRow {
            shadows: vec!["user".into(), "system:team".into()],
            signature: Some("changed"),
            problems: vec![
                problem(3, Severity::Error, "was changed 変 after it was signed"),
                problem(12, Severity::Warning, "`colour🎨` means nothing"),
            ],
            directive: Some(directives().remove(0)),
            ..row("directive", "team/deploy_展開", "project")
        },
        ItemRow {
            problems: vec![problem(1, Severity::Warning, "has no name")],
            ..row("knowledge", "team/規則/rules👩‍🚀", "user")
        },
        ItemRow {
            signature: Some("valid"),
            ..row("tool", "levain/files/read_a_rather_long_name_that_does_not_fit_everywhere", "system")
        },
    ]
}

pub(super) fn files() -> Vec<String> {
    ["README.md", "docs/手引き.md", "src/main.rs", "src/🦀 crab.rs", "src/ui/screens/overlay.rs"]
        .map(str::to_owned)
        .to_vec()
}

#[test]
fn the_directives() {
    check("directives", |columns, rows| {
        let mut session = Session::new(columns, rows);
        session.keys("alt-s").tell(Message::Directives(directives())).keys("up up");
        session
    });
}

#[test]
fn a_form() {
    check("form", |columns, rows| {
        let mut session = Session::new(columns, rows);
        session.keys("alt-s").tell(Message::Directives(directives())).keys("up up enter");
        session.keys("tab").type_in("v1.2 漢字").keys("enter").type_in("月面 🌙");
        session
    });
}

#[test]
fn a_form_refused() {
    check("form_refused", |columns, rows| {
        let mut session = Session::new(columns, rows);
        session.keys("alt-s").tell(Message::Directives(directives())).keys("up up enter tab tab enter");
        session
    });
}

#[test]
fn a_draft_with_inputs() {
    check("begun", |columns, rows| {
        let mut session = Session::new(columns, rows);
        session.keys("alt-s").tell(Message::Directives(directives())).keys("up up enter");
        session.type_in("月面 🌙").keys("enter");
        session
    });
}

#[test]
fn the_items() {
    check("items", |columns, rows| {
        let mut session = Session::new(columns, rows);
        session.keys("alt-i").tell(Message::Items(items())).keys("g");
        let text = "```xml\n<directive name=\"deploy_展開\">\n  <description>Ship 🚀\u{1b}[31m</description>\n</directive>\n```\n\nShip {input:target} and watch 見守る it for ten minutes, then tell what you saw in two sentences.\n\tIndented.";
        let (kind, id) = ("directive", "team/deploy_展開".into());
        session.tell(Message::ItemText { kind, id, text: Ok(text.into()) });
        session
    });
}

#[test]
fn completing_a_name() {
    check("mention", |columns, rows| {
        let mut session = Session::new(columns, rows);
        session.tell(Message::threads(rows_of_threads())).tell(Message::Files(files()));
        session.type_in("compare 比べる @s").keys("down");
        session
    });
}

#[test]
fn the_queue() {
    check("queue", |columns, rows| {
        let mut session = Session::started(columns, rows);
        let queued = |prompt, text: &str, mode| QueuedPrompt {
            prompt,
            text: text.into(),
            mode,
            images: Vec::new(),
            files: Vec::new(),
            client: None,
        };
        let queue = vec![
            queued(2, "not so fast 🐢", PromptMode::Steer),
            queued(3, "also tag the release 発売\nand tell everybody about it", PromptMode::FollowUp),
            queued(4, &"then sum up ".repeat(20), PromptMode::FollowUp),
        ];
        session.state(Status::Running, 1, queue).keys("alt-q j");
        session
    });
}
