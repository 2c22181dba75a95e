use super::*;
use serde_json::json;

/// The problems of `text`, one a line, and how many replies are left.
fn check(text: &str, replies: usize, problems: &[&str]) {
    let (scenario, found) = parse(text);
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(found, problems, "{text}");
    assert_eq!(scenario.replies.len(), replies, "{text}");
}

#[test]
fn every_step_and_condition() {
    let (scenario, problems) = parse(
        "name: all\ndescription: d\nrate: 80\nreplies:\n  - when: {contains: [a, b], equals: c, starts_with: d, turn: 2, after_tool: look, attempt: 3}\n    steps:\n      - text: hi {input}\n        rate: 5\n        echo: true\n      - thinking: hm\n      - tool_call: {name: look, input: {at: [1]}}\n      - pause: 20\n      - error: {status: 529, type: overloaded_error, message: busy, retry_after: 1.5}\n      - cut: true\n      - hang\n      - stop: max_tokens\n  - steps: []\n",
    );
    assert_eq!(problems, []);
    assert_eq!((scenario.name.as_str(), scenario.description.as_str(), scenario.rate), ("all", "d", 80));
    let when = When {
        anywhere: Vec::new(),
        contains: vec!["a".into(), "b".into()],
        equals: vec!["c".into()],
        starts_with: vec!["d".into()],
        turn: Some(2),
        after_tool: Some("look".into()),
        attempt: Some(3),
    };
    let steps = vec![
        Step::Text { text: "hi {input}".into(), rate: Some(5), echo: Echo::Input },
        Step::Thinking { text: "hm".into(), rate: None },
        Step::ToolCall { name: "look".into(), input: json!({"at": [1]}) },
        Step::Pause(Duration::from_millis(20)),
        Step::Error {
            status: Some(529),
            kind: "overloaded_error".into(),
            message: "busy".into(),
            retry_after: Some(Duration::from_millis(1_500)),
        },
        Step::Cut,
        Step::Hang,
        Step::Stop(StopReason::MaxTokens),
    ];
    assert_eq!(scenario.replies, [Reply { when, steps }, Reply::default()]);
}

#[test]
fn a_bad_reply_costs_only_itself() {
    let good = "  - steps:\n      - text: fine\n";
    for (bad, problem) in [
        (
            "  - stepps: []\n",
            &["line 3: a reply needs `steps`, a list", "line 3: unknown name `stepps`; did you mean `steps`?"][..],
        ),
        ("  - steps:\n      - tekst: x\n", &["line 4: unknown name `tekst`; did you mean `text`?"]),
        ("  - when:\n      contain: x\n    steps: []\n", &["line 4: unknown name `contain`; did you mean `contains`?"]),
        ("  - when: {turn: first}\n    steps: []\n", &["line 3: `turn` must be a whole number"]),
        (
            "  - steps:\n      - text: ok\n      - stop: never\n",
            &["line 5: `stop` must be one of end_turn, max_tokens, refusal"],
        ),
        ("  - 3\n", &["line 3: a reply is a map with `steps` and perhaps `when`"]),
    ] {
        let mut sorted = problem.to_vec();
        sorted.sort_by_key(|problem| problem.contains("needs"));
        check(&format!("name: x\nreplies:\n{bad}{good}"), 1, &sorted);
    }
}

#[test]
fn a_reply_that_is_not_yaml_costs_only_itself() {
    let text = "name: x\nreplies:\n  - steps:\n      - text: one\n  - steps:\n      - text: \"open\n  - steps:\n      - text: three\n";
    let (scenario, problems) = parse(text);
    assert_eq!(scenario.name, "x");
    assert_eq!(scenario.replies.len(), 2);
    assert!(matches!(&problems[..], [problem] if (5..=7).contains(&problem.line)), "{problems:?}");
}

#[test]
fn unknown_keys_that_harm_nothing_are_only_reported() {
    check(
        "nam: x\nreplies:\n  - steps:\n      - text: a\n        speed: 3\n      - thinking: b\n        rates: 3\n",
        1,
        &[
            "line 1: unknown name `nam`; did you mean `name`?",
            "line 5: unknown name `speed`; known: text, rate, echo",
            "line 7: unknown name `rates`; did you mean `rate`?",
        ],
    );
}

#[test]
fn other_texts_never_panic() {
    for text in [
        "",
        "x",
        "- a",
        "replies: 3",
        "replies:",
        "\t",
        "{",
        "replies:\n-",
        "a: &x [*x]",
        "replies: [ {steps: [text: a]} ]",
    ] {
        let (_, problems) = parse(text);
        assert!(!problems.is_empty() || text.starts_with("replies: ["), "{text}");
    }
}
