//! The merge rule of every stage, row by row.

use super::*;
use crate::domain::{CallId, ContentHash, SessionTold, Stage};
use crate::pipeline::Summarised;

fn input(text: &str) -> Chain {
    Chain::Input { text: text.into(), images: Vec::new(), added: Vec::new(), source: "interactive", handled: false }
}

fn begins(base: &str) -> Chain {
    Chain::BeforeAgentStart {
        prompt: "do it".into(),
        images: Vec::new(),
        base: base.into(),
        system: None,
        messages: Vec::new(),
    }
}

fn call() -> ToolCall {
    ToolCall { call_id: CallId("c".into()), tool: "rye_bash".into(), input: json!({"command": "ls"}) }
}

fn result(text: &str, error: bool) -> Chain {
    Chain::ToolResult { call: call(), text: text.into(), details: Value::Null, error, images: Vec::new() }
}

/// Asks one after the other as the driver does, until one ends it.
fn through(mut chain: Chain, answers: &[Value]) -> (Chain, Vec<Result<Merged, String>>) {
    let mut merged = Vec::new();
    for answer in answers {
        let one = chain.merge(&answer.clone().into(), "h");
        let ends = one.as_ref().is_ok_and(|one| !one.goes_on());
        merged.push(one);
        if ends {
            break;
        }
    }
    (chain, merged)
}

#[test]
fn inputs_chain_and_handled_ends_it() {
    let (chain, merged) = through(
        input("a"),
        &[
            Value::Null,
            json!({"action": "continue"}),
            json!({"action": "transform", "text": "b"}),
            json!({"action": "handled"}),
            json!({"action": "transform", "text": "never"}),
        ],
    );
    assert_eq!(merged, [Ok(Merged::Unchanged), Ok(Merged::Unchanged), Ok(Merged::Changed), Ok(Merged::Handled)]);
    assert!(matches!(chain, Chain::Input { text, handled: true, .. } if text == "b"));
}

#[test]
fn the_next_handler_of_input_sees_what_the_one_before_made() {
    let (chain, _) = through(input("a"), &[json!({"action": "transform", "text": "b"})]);
    let event = chain.event().json().into_owned();
    assert_eq!(
        (&event["type"], &event["text"], &event["source"]),
        (&"input".into(), &"b".into(), &"interactive".into())
    );
}

#[test]
fn an_answer_that_does_not_fit_changes_nothing() {
    for (chain, answer) in [
        (input("a"), json!({"action": "transfrom"})),
        (input("a"), json!({"text": "b"})),
        (input("a"), json!({"action": "transform"})),
        (input("a"), json!("b")),
        (begins("base"), json!({"systemPrompt": 3})),
        (begins("base"), json!({"message": "x"})),
        (begins("base"), json!({"message": {"customType": "x"}})),
        (begins("base"), json!({"message": {"content": [{"type": "video"}]}})),
        (Chain::Context { messages: shared(&[json!({"role": "user", "content": "x"})]) }, json!({"messages": "x"})),
        (Chain::Context { messages: Arc::default() }, json!({"messages": [3]})),
        (Chain::ToolCall { call: call(), blocked: None, terminates: false }, json!({"block": "yes"})),
        (Chain::ToolCall { call: call(), blocked: None, terminates: false }, json!({"input": "rm"})),
        (result("x", false), json!({"isError": "no"})),
        (result("x", false), json!({"content": 3})),
        (result("x", false), json!({"content": "y", "details": 1, "isError": "no"})),
        (Chain::Compact(Box::default()), json!({"compaction": {"summary": " "}})),
    ] {
        let before = chain.clone();
        let (after, merged) = through(chain, std::slice::from_ref(&answer));
        assert!(merged[0].is_err(), "{answer}");
        assert_eq!(after, before, "{answer}");
    }
}

#[test]
fn system_prompts_chain_from_the_base_and_messages_accumulate() {
    let message = |text: &str| json!({"message": {"customType": "t", "content": text, "display": false}});
    let (chain, _) = through(
        begins("base"),
        &[
            json!({"systemPrompt": "base\none", "message": {"content": [{"type": "text", "text": "m1"}]}}),
            message("m2"),
            json!({"systemPrompt": "base\none\ntwo"}),
        ],
    );
    let event = chain.event().json().into_owned();
    assert_eq!(event["systemPrompt"], "base\none\ntwo");
    let Chain::BeforeAgentStart { system, messages, .. } = chain else { panic!() };
    assert_eq!(system.as_deref(), Some("base\none\ntwo"));
    let told: Vec<_> = messages.iter().map(|m| (m.custom_type.as_str(), m.text.as_str(), m.display)).collect();
    assert_eq!(told, [("h", "m1", true), ("t", "m2", false)]);
}

#[test]
fn an_empty_system_prompt_is_the_base() {
    let (chain, merged) = through(begins("base"), &[json!({"systemPrompt": ""})]);
    assert_eq!(merged, [Ok(Merged::Unchanged)]);
    assert!(matches!(chain, Chain::BeforeAgentStart { system: None, .. }));
    let (chain, _) = through(begins("base"), &[json!({"systemPrompt": "x"}), json!({"systemPrompt": "base"})]);
    assert!(matches!(chain, Chain::BeforeAgentStart { system: None, .. }), "back to the base is the base");
}

#[test]
fn contexts_chain_as_lists() {
    let one = json!({"role": "user", "content": [{"type": "text", "text": "x"}]});
    let (chain, merged) = through(
        Chain::Context { messages: shared(&[one.clone(), one.clone()]) },
        &[json!({}), json!({"messages": [one.clone(), one]}), json!({"messages": [one]})],
    );
    assert_eq!(merged, [Ok(Merged::Unchanged), Ok(Merged::Unchanged), Ok(Merged::Changed)]);
    assert!(matches!(chain, Chain::Context { messages } if messages.len() == 1));
}

#[test]
fn headers_chain_and_neither_a_key_nor_the_form_of_a_request_is_set() {
    let headers = || [("x-team".to_owned(), "bread".to_owned())].into();
    let begin = || Chain::BeforeProviderHeaders { headers: headers(), key: Some("x-own-key".to_owned()) };
    let (chain, merged) = through(
        begin(),
        &[
            json!({}),
            json!({"headers": {"x-team": "bread"}}),
            json!({"headers": {"X-Team": "cake", "x-trace": 7, "x-gone": null}}),
            json!({"headers": {"x-trace": "8"}}),
        ],
    );
    assert_eq!(
        merged,
        [Ok(Merged::Unchanged), Ok(Merged::Unchanged), Ok(Merged::Changed), Ok(Merged::Changed)],
        "what is left out is gone"
    );
    assert_eq!(chain.event().json()["headers"], json!({"x-trace": "8"}));
    let many: serde_json::Map<_, _> = (0..101).map(|number| (format!("x-{number}"), "1".into())).collect();
    for (headers, why) in [
        (json!({"Authorization": "Bearer mine"}), "`authorization`, which the provider itself sends"),
        (json!({"x-own-key": "mine"}), "`x-own-key`, which"),
        (json!({"X-API-Key": "mine"}), "`x-api-key`, which"),
        (json!({"Content-Length": "0"}), "`content-length`, which"),
        (json!({"x-a": "one\r\nx-b: two"}), "cannot be sent"),
        (json!({"x-a": "größe"}), "cannot be sent"),
        (json!({"x-a": ["one"]}), "is no text"),
        (json!({"x a": "one"}), "no name of a header"),
        (json!({"": "one"}), "no name of a header"),
        (json!(["x"]), "where an object is expected"),
        (Value::Object(many), "more than 100"),
    ] {
        let (chain, merged) = through(begin(), &[json!({ "headers": headers })]);
        assert!(matches!(&merged[..], [Err(error)] if error.contains(why)), "{headers}: {merged:?}");
        assert_eq!(chain, begin(), "an answer counts whole or not at all");
    }
}

#[test]
fn any_payload_replaces_the_one_before() {
    let (chain, merged) =
        through(Chain::BeforeProviderRequest { payload: json!({"a": 1}), paid: None }, &[json!({"a": 2})]);
    assert_eq!(merged, [Ok(Merged::Changed)]);
    assert_eq!(chain.event().json()["payload"], json!({"a": 2}));
}

#[test]
fn the_first_block_of_a_call_wins_and_stops() {
    let (chain, merged) = through(
        Chain::ToolCall { call: call(), blocked: None, terminates: false },
        &[json!({"input": {"command": "ls -l"}}), json!({"block": true}), json!({"block": true, "reason": "later"})],
    );
    assert_eq!(merged, [Ok(Merged::Changed), Ok(Merged::Blocked)]);
    let Chain::ToolCall { call, blocked, .. } = chain else { panic!() };
    assert_eq!((call.input, blocked.as_deref()), (json!({"command": "ls -l"}), Some("Tool execution was blocked")));
}

#[test]
fn the_guard_of_tools_fails_closed_and_nothing_else_does() {
    let mut guard = Chain::ToolCall { call: call(), blocked: None, terminates: false };
    assert_eq!(guard.failed("it broke"), Merged::Blocked);
    assert!(matches!(&guard, Chain::ToolCall { blocked: Some(why), .. } if why == "it broke"));
    for mut chain in [
        input("a"),
        begins("b"),
        Chain::Context { messages: Arc::default() },
        Chain::BeforeProviderRequest { payload: json!({}), paid: None },
        result("x", false),
        Chain::Compact(Box::default()),
    ] {
        let before = chain.clone();
        assert_eq!((chain.failed("x"), &chain), (Merged::Unchanged, &before));
    }
}

#[test]
fn each_field_of_a_result_overrides_and_is_seen_by_the_next() {
    let (chain, _) = through(
        result("failed", true),
        &[
            json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}),
            json!({"isError": false}),
        ],
    );
    let event = chain.event().json().into_owned();
    assert_eq!((&event["content"][0]["text"], &event["isError"]), (&"a\nb".into(), &false.into()));
    assert_eq!(event["input"], json!({"command": "ls"}));
}

#[test]
fn the_last_answer_before_a_summary_counts_as_a_whole_and_a_cancel_ends_it() {
    let summary = |text: &str| json!({"compaction": {"summary": text, "firstKeptEntryId": "1", "tokensBefore": 3}});
    let of = |chain: Chain| if let Chain::Compact(compact) = chain { *compact } else { panic!("{chain:?}") };
    let (chain, _) = through(Chain::Compact(Box::default()), &[summary("one"), summary("two")]);
    assert_eq!(of(chain).summary.unwrap().text, "two");
    let (chain, _) = through(Chain::Compact(Box::default()), &[summary("one"), json!({})]);
    assert_eq!(of(chain).summary, None, "fields are not merged across handlers");
    let (chain, merged) = through(Chain::Compact(Box::default()), &[json!({"cancel": true}), summary("late")]);
    assert_eq!(merged, [Ok(Merged::Blocked)]);
    let Compact { cancelled, summary, .. } = of(chain);
    assert_eq!((cancelled.as_deref(), summary), (Some("h"), None));
}

#[test]
fn what_stays_begins_where_a_handler_says_if_it_can() {
    let compact = Compact {
        from: 5,
        places: vec![1, 3, 5, 6],
        session: SessionTold {
            named: ["a", "b", "c", "d"].map(|id| Some(id.to_owned())).into(),
            ..SessionTold::default()
        },
        ..Compact::default()
    };
    let chain = || Chain::Compact(Box::new(compact.clone()));
    assert_eq!(chain().event().json()["preparation"]["firstKeptEntryId"], "c");
    let summary = |id: Value| json!({"compaction": {"summary": "s", "firstKeptEntryId": id, "details": {"n": 1}}});
    for (id, from) in [(json!("b"), 3), (json!("c"), 5), (json!("d"), 6), (Value::Null, 5)] {
        let (chain, _) = through(chain(), &[summary(id.clone())]);
        let Chain::Compact(compact) = chain else { panic!("{chain:?}") };
        let Summarised { from: now, details, .. } = compact.summary.unwrap();
        assert_eq!((now, details), (from, Some(json!({"n": 1}))), "{id}");
    }
    for id in [json!("x"), json!(3)] {
        let (chain, merged) = through(chain(), &[summary(id)]);
        assert!(merged[0].is_err(), "{merged:?}");
        let Chain::Compact(compact) = chain else { panic!("{chain:?}") };
        assert_eq!(compact.summary, None);
    }
}

#[test]
fn a_prompt_may_get_images_that_were_taken_in_and_no_others() {
    let image = |name: &str| Image {
        name: name.to_owned(),
        media_type: "image/png".into(),
        hash: ContentHash::of(name.as_bytes()),
        bytes: 3,
    };
    let (own, new) = (image("own"), image("new"));
    let chain = || Chain::Input {
        text: "t".into(),
        images: vec![own.clone()],
        added: vec![new.clone()],
        source: "interactive",
        handled: false,
    };
    let named = |all: &[&Image]| -> Value { all.iter().map(|image| json!({"hash": image.hash.as_str()})).collect() };
    for (list, kept) in [
        (named(&[&new, &own]), vec!["new", "own"]),
        (named(&[&new, &image("secret")]), vec!["new"]),
        (Value::Null, vec!["own"]),
        (json!([]), vec![]),
    ] {
        let (chain, _) = through(chain(), &[json!({"action": "transform", "text": "t", "images": list})]);
        let Chain::Input { images, .. } = chain else { panic!("{chain:?}") };
        assert_eq!(images.iter().map(|image| image.name.as_str()).collect::<Vec<_>>(), kept);
    }
    let (_, merged) = through(chain(), &[json!({"action": "transform", "text": "x", "images": "none"})]);
    assert!(merged[0].is_err(), "{merged:?}");
}

#[test]
fn a_person_puts_another_value_in_place() {
    let mut chain = input("a");
    assert_eq!(chain.replace(&json!({"text": "b"})), Ok(()));
    assert_eq!(chain.event().json()["text"], "b");
    assert!(chain.replace(&json!({"txt": "b"})).is_err() && chain.replace(&json!(3)).is_err());
    let mut chain = Chain::ToolCall { call: call(), blocked: None, terminates: false };
    assert_eq!(chain.replace(&json!({"input": {"command": "pwd"}})), Ok(()));
    assert_eq!(chain.event().json()["input"], json!({"command": "pwd"}));
}

#[test]
fn every_event_names_its_stage() {
    for (chain, stage) in [
        (input("a"), Stage::Input),
        (begins("b"), Stage::BeforeAgentStart),
        (Chain::Context { messages: Arc::default() }, Stage::Context),
        (Chain::ToolCall { call: call(), blocked: None, terminates: false }, Stage::ToolCall),
        (Chain::Observe { stage: Stage::AgentEnd, event: Map::new() }, Stage::AgentEnd),
    ] {
        assert_eq!(chain.event().json()["type"], stage.name());
    }
}

#[test]
fn a_handler_takes_images_out_of_a_result() {
    use crate::domain::ContentHash;
    let image = |name: &str| Image {
        name: String::new(),
        media_type: "image/png".into(),
        hash: ContentHash::of(name.as_bytes()),
        bytes: 1,
    };
    let chain = || Chain::ToolResult {
        call: call(),
        text: "two".into(),
        details: Value::Null,
        error: false,
        images: vec![image("a"), image("b")],
    };
    let content = chain().event().json()["content"].clone();
    assert_eq!(content.as_array().unwrap().len(), 3);
    let left = |answer: Value| {
        let (chain, merged) = through(chain(), &[answer]);
        let Chain::ToolResult { images, text, .. } = chain else { panic!("another stage") };
        (images.len(), text, merged[0].clone().unwrap())
    };
    assert_eq!(left(json!({"content": content})), (2, "two".into(), Merged::Unchanged));
    assert_eq!(left(json!({"content": [content[0], content[2]]})), (1, "two".into(), Merged::Changed));
    assert_eq!(
        left(json!({"content": [{"type": "text", "text": "[redacted]"}]})),
        (0, "[redacted]".into(), Merged::Changed)
    );
    assert_eq!(left(json!({"content": "two"})), (0, "two".into(), Merged::Changed));
    assert_eq!(left(json!({"isError": true})), (2, "two".into(), Merged::Changed));
    // What cannot be taken changes nothing.
    let (unchanged, merged) = through(chain(), &[json!({"content": [{"type": "audio"}]})]);
    assert!(merged[0].is_err() && unchanged == chain());
    // One that the result does not show is none.
    let other = json!({"type": "image", "mimeType": "image/png", "hash": ContentHash::of(b"c").as_str()});
    assert_eq!(left(json!({"content": [content[0], other]})), (0, "two".into(), Merged::Changed));
}
