//! Reading directives, and the prompt that comes of them.

use super::*;
use crate::domain::{Limits, Money};
use crate::items::hook::{Action, Condition, Primary};
use crate::items::id::Kind;
use proptest::prelude::*;
use serde_json::json;

fn read(text: &str) -> (Directive, Vec<String>) {
    let (directive, problems) = Directive::parse(text, Path::new("a.md"));
    (directive, problems.iter().map(ToString::to_string).collect())
}

/// A directive whose metadata is `inside`, which begins on line 4.
fn with(inside: &str) -> (Directive, Vec<String>) {
    read(&format!(
        "```xml\n<directive name=\"a\" version=\"1.0.0\">\n<metadata>\n{inside}\n</metadata>\n</directive>\n```\nDo it."
    ))
}

fn values(pairs: &[(&str, &str)]) -> Values {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

const WHOLE: &str = r#"<!-- rye:signed:2026-01-01T00:00:00Z:00:00:00 -->
# Ship it

Only for people.

```xml
<directive name="ship" version="1.2.0" extends="team/base">
  <metadata>
    <description>Ships {input:target} & tells</description>
    <category>team</category>
    <author>ada</author>
    <model tier="fast" fallback="general" />
    <limits turns="8" spend="0.25" spend_currency="USD" spawns="2" />
    <permissions>
      <execute><tool>team/ship.*</tool><directive>team/check</directive></execute>
      <fetch>knowledge.*</fetch>
      <acknowledge risk="elevated">it is slow</acknowledge>
    </permissions>
    <context>
      <system>team/rules</system>
      <before optional="true">team/weather</before>
      <suppress>levain/core/protocol/sign</suppress>
    </context>
    <hooks>
      <hook id="loud" event="after_step" wrap="false">
        <condition path="cost.turns" op="gte" value="3" />
        <action primary="execute" item_type="tool" item_id="team/notify"><param name="text">turn ${cost.turns}</param></action>
      </hook>
    </hooks>
    <stage>beta</stage>
  </metadata>
  <inputs>
    <input name="target" type="string" required="true">Where to</input>
    <input name="speed" default="slow" />
  </inputs>
  <outputs>
    <output name="url" required="true">Where it is</output>
    <output name="notes" type="array" />
  </outputs>
</directive>
```

Ship to {input:target}, {input:speed}.
<process><step>if (a < b)</process>
"#;

#[test]
fn a_whole_directive_is_read() {
    let (directive, problems) = read(WHOLE);
    assert_eq!(problems, Vec::<String>::new());
    let text = |value: &Option<Located<String>>| value.as_ref().unwrap().value.clone();
    assert_eq!((text(&directive.name), text(&directive.version)), ("ship".into(), "1.2.0".into()));
    assert_eq!(directive.extends, Some(Located { value: "team/base".into(), lines: (7, 7) }));
    assert_eq!((text(&directive.category), text(&directive.author)), ("team".into(), "ada".into()));
    let model = directive.model.as_ref().unwrap();
    assert_eq!(
        (model.tier.as_deref(), model.fallback.as_deref(), model.lines),
        (Some("fast"), Some("general"), (12, 12))
    );
    let limits = Limits { turns: Some(8), spend: Some(Money(250_000)), ..Limits::default() };
    assert_eq!(directive.limits.limits, Limits { spawns: Some(2), ..limits });
    let capabilities: Vec<_> =
        directive.permissions.capabilities.iter().map(|one| one.value.capability.as_str()).collect();
    assert_eq!(
        capabilities,
        ["rye.execute.tool.team.ship.*", "rye.execute.directive.team.check", "rye.fetch.knowledge.*"]
    );
    assert_eq!(directive.permissions.acknowledged[0].reason, "it is slow");
    let wanted: Vec<_> = directive.context.wanted().map(|one| (one.id.as_str(), one.optional, one.lines.0)).collect();
    assert_eq!(wanted, [("team/rules", false, 20), ("team/weather", true, 21)]);
    assert_eq!(directive.context.suppress[0].id, "levain/core/protocol/sign");
    let hook = &directive.hooks[0];
    assert_eq!((hook.event.as_str(), hook.wrap, hook.lines), ("after_step", false, (25, 28)));
    let Condition::Test(asked) = &hook.condition else { panic!("{:?}", hook.condition) };
    assert_eq!((asked.path.as_str(), asked.op.word(), &asked.value), ("cost.turns", "gte", &json!(3)));
    let Action::Calls(calls) = &hook.action else { panic!("{:?}", hook.action) };
    assert_eq!((calls[0].primary, calls[0].kind, calls[0].id.as_str()), (Primary::Execute, Kind::Tool, "team/notify"));
    assert_eq!(calls[0].params["text"], json!("turn ${cost.turns}"));
    assert_eq!(directive.other, [("stage".to_owned(), Located { value: "beta".into(), lines: (30, 30) })]);
    assert_eq!(directive.preamble, "# Ship it\n\nOnly for people.");
    assert_eq!((directive.fence_lines, directive.body_lines), ((7, 40), (43, 44)));
    assert_eq!(directive.inputs[1].default.as_deref(), Some("slow"));
    assert_eq!(directive.compare(&ItemId::parse("team/ship").unwrap(), Path::new("a.md")), []);
}

#[test]
fn the_prompt_has_its_parts_in_order() {
    let (directive, _) = read(WHOLE);
    let inputs = directive.accept(values(&[("target", "the moon")])).unwrap();
    let prompt = directive.prompt(&inputs);
    let lines: Vec<&str> = prompt.lines().collect();
    assert_eq!(lines[0], "<directive name=\"ship\">");
    assert_eq!(lines[1], "<description>Ships {input:target} & tells</description>");
    assert_eq!(lines[2], "<permissions>");
    assert_eq!(lines[6].trim(), "</permissions>");
    assert_eq!(&lines[7..9], ["Ship to the moon, slow.", "<process><step>if (a < b)</process>"]);
    assert_eq!(
        &lines[11..15],
        ["{", "  \"url\": \"<Where it is (string) [required]>\"", "  \"notes\": \"<notes (array)>\"", "}"]
    );
    assert_eq!(lines.last(), Some(&"</directive>"));
}

#[test]
fn inputs_are_judged_in_order() {
    let (directive, _) = read(WHOLE);
    let said = |pairs: &[(&str, &str)]| -> Vec<String> {
        directive.accept(values(pairs)).unwrap_err().iter().map(ToString::to_string).collect()
    };
    assert_eq!(said(&[("taget", "x")]), ["there is no input `taget`; did you mean `target`?"]);
    assert_eq!(said(&[("zzz", "x")]), ["there is no input `zzz`; known inputs: target, speed"]);
    assert_eq!(said(&[("speed", "x")]), ["the input `target` is missing: Where to"]);
    let (free, _) = with("<description>x</description>");
    assert!(free.accept(values(&[("anything", "goes")])).is_ok());
}

#[test]
fn an_input_is_kept_whatever_its_letters() {
    let names = ["🚀", "the place", "naïve", "अनुच्छेद", "👩\u{200d}👩\u{200d}👧"];
    let inputs = names.map(|name| format!("<input name=\"{name}\" required=\"true\"/>")).concat();
    let (directive, problems) = read(&format!(
        "```xml\n<directive name=\"a\" version=\"1.0.0\">\n<metadata><description>x</description></metadata>\n\
         <inputs>{inputs}\n<input name=\"a:b\"/></inputs>\n</directive>\n```\nDo it."
    ));
    assert_eq!(directive.inputs.iter().map(|input| input.name.as_str()).collect::<Vec<_>>(), names);
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].contains("`a:b` cannot be the name of an input"), "{problems:?}");
}

#[test]
fn placeholders_take_values_or_stay() {
    let inputs = values(&[("a", "A {input:b}"), ("empty", ""), ("🚀", "up"), ("the place", "here")]);
    for (text, expected) in [
        ("{input:a}", "A {input:b}"),
        ("{input:b}", "{input:b}"),
        ("{input:b?}|{input:a?}", "|A {input:b}"),
        ("{input:b:x: y|z}{input:b|d}{input:b:}", "x: y|zd"),
        ("{input:empty:default}", ""),
        ("${inputs.a} ${inputs.b} ${other} $", "A {input:b} ${inputs.b} ${other} $"),
        ("{env:HOME} {env:HOME:x} {output:a}", "{env:HOME} {env:HOME:x} {output:a}"),
        ("{input:a b} {input:} {{input:a}} {input:a", "{input:a b} {input:} {A {input:b}} {input:a"),
        ("é{input:a}é", "éA {input:b}é"),
        ("{input:🚀} {input:the place} {input:e\u{301}:x} {input:नहीं?}{input: a}", "up here x {input: a}"),
        ("${inputs.🚀}${inputs.the place}", "uphere"),
    ] {
        assert_eq!(interpolate(text, &inputs), expected, "{text}");
    }
}

#[test]
fn old_forms_are_read_with_a_word() {
    let (directive, problems) = with(
        "<limits max_turns=\"5\" max_tokens=\"9\" turn=\"3\"/>\n\
         <permissions><cap>rye.load.knowledge.a/b</cap><cap>rye.search.directive.*</cap><search><tool>*</tool></search><load>*</load></permissions>",
    );
    assert_eq!(directive.limits.limits.turns, Some(5));
    let capabilities: Vec<_> =
        directive.permissions.capabilities.iter().map(|one| one.value.capability.as_str()).collect();
    assert_eq!(capabilities, ["rye.fetch.knowledge.a.b", "rye.fetch.directive.*", "rye.fetch.tool.*", "rye.fetch.*"]);
    let lines: Vec<_> = problems.iter().map(|problem| problem.split(';').next().unwrap()).collect();
    assert_eq!(
        lines,
        [
            "a.md:4: the limit `max_turns` is called `turns` now",
            "a.md:4: the limit `max_tokens` is called `tokens` now",
            "a.md:4: unknown limit `turn`",
            "a.md:5: <cap> is an old form",
            "a.md:5: <cap> is an old form",
            "a.md:5: <search> is called <fetch> now",
            "a.md:5: <load> is called <fetch> now",
        ]
    );
}

#[test]
fn everything_can_be_granted_at_once() {
    for (written, granted) in [
        ("<permissions>*</permissions>", "rye.*"),
        ("<permissions><execute>*</execute></permissions>", "rye.execute.*"),
        ("<permissions><execute>tool.x.y</execute></permissions>", "rye.execute.tool.x.y"),
    ] {
        let (directive, problems) = with(written);
        assert_eq!(directive.permissions.capabilities[0].value.capability, granted);
        assert_eq!(problems, Vec::<String>::new());
    }
    let (directive, problems) = with("<permissions />");
    assert_eq!((directive.permissions.capabilities.len(), problems.len()), (0, 0));
}

#[test]
fn front_matter_says_the_same() {
    let text = "---\nname: ship\nversion: 1.2.0\ndescription: Ships\nlimits:\n  max_turns: 4\nmodel: {tier: fast}\n\
                permissions: [rye.execute.tool.team.*]\ncontext:\n  system: [team/rules]\n  before: {id: team/a, optional: true}\n\
                inputs:\n  - {name: target, required: true, description: Where to}\nhooks:\n  - event: after_step\n    action: {primary: fetch, item_id: a}\n    condition: {any: [{path: model, op: in, value: [a, b]}, {not: {path: depth, value: 1}}]}\n---\nBody";
    let (directive, problems) = read(text);
    assert_eq!(problems, ["a.md:5: the limit `max_turns` is called `turns` now; write turns=\"4\""]);
    assert_eq!(directive.limits.limits.turns, Some(4));
    assert_eq!(directive.model.unwrap().tier.as_deref(), Some("fast"));
    assert_eq!(directive.permissions.capabilities[0].value.capability, "rye.execute.tool.team.*");
    assert_eq!((directive.context.system[0].id.as_str(), directive.context.before[0].optional), ("team/rules", true));
    assert_eq!((directive.inputs[0].required, directive.inputs[0].description.as_str()), (true, "Where to"));
    assert_eq!((directive.hooks.len(), directive.body.as_str(), directive.body_lines), (1, "Body", (19, 19)));
    let Condition::Any(parts) = &directive.hooks[0].condition else { panic!("{:?}", directive.hooks[0].condition) };
    assert!(matches!(parts.as_slice(), [Condition::Test(_), Condition::Not(_)]), "{parts:?}");
}

proptest! {
    #[test]
    fn any_text_is_a_directive(text in "(```xml\n|\n```\n|---\n|<directive name=\"a\">|<metadata>|</metadata>|<limits turns=\"x\"/>|<permissions>|<execute>|<hooks><hook>|<inputs><input name=\"a\"|name: a\n|é| |\n){0,30}") {
        let (directive, _) = read(&text);
        prop_assert!(directive.prompt(&values(&[])).ends_with("</directive>"));
    }

    #[test]
    fn any_text_is_filled_in(text in "(\\{input:|\\$\\{inputs\\.|a|\\}|:|\\?|\\||é|\\{){0,20}") {
        let _filled = interpolate(&text, &values(&[("a", "1")]));
    }
}

#[test]
fn conditions_nest_in_markup() {
    let hook = |condition: &str| {
        let text = format!(
            "```xml\n<directive name=\"a\"><metadata><hooks><hook event=\"error\">{condition}<action primary=\"fetch\" item_id=\"x\"/></hook></hooks></metadata></directive>\n```\nBody"
        );
        let (directive, problems) = read(&text);
        (directive.hooks.into_iter().next().unwrap().condition, problems)
    };
    let test = "<condition path=\"a\" value=\"1\"/>";
    let (condition, problems) =
        hook(&format!("<condition><any>{test}<not>{test}</not><all>{test}{test}</all></any></condition>"));
    assert!(problems.iter().all(|problem| !problem.contains("condition")), "{problems:?}");
    let Condition::Any(parts) = condition else { panic!() };
    assert!(matches!(parts.as_slice(), [Condition::Test(_), Condition::Not(_), Condition::All(_)]), "{parts:?}");
    let (condition, _) = hook("<condition path=\"a\" op=\"in\" value=\"x, 2\"/>");
    let Condition::Test(test) = condition else { panic!() };
    assert_eq!(test.value, json!(["x", 2]));
    let deep = format!("<condition>{}{}{}</condition>", "<not>".repeat(200), test_element(), "</not>".repeat(200));
    assert!(matches!(hook(&deep).0, Condition::Broken(_)));
}

fn test_element() -> &'static str {
    "<condition path=\"a\"/>"
}

#[test]
fn slips_of_the_pen_are_told() {
    let (_, problems) = read(
        "```xml\n<directive name=\"a\" version=\"1.0.0\" extnds=\"b\">\n<metadata><description>d</description>\n\
         <contxt><system>a/b</system></contxt>\n<context><before optinal=\"true\">a/b</before>\n\
         <after optional=\"ture\">a/b</after></context>\n<continuation_directive>kept</continuation_directive>\n\
         </metadata><inputs>\n<input name=\"n\" type=\"integer\" requird=\"true\" default=\"many\"/>\n</inputs></directive>\n\
         ```\nDo it.",
    );
    assert_eq!(
        problems,
        [
            "a.md:2: unknown attribute `extnds` in <directive>; did you mean `extends`?",
            "a.md:4: <contxt> has no effect; did you mean <context>?",
            "a.md:5: unknown attribute `optinal` in <before>; did you mean `optional`?",
            "a.md:6: optional cannot be `ture`; write true or false",
            "a.md:9: unknown attribute `requird` in <input>; did you mean `required`?",
            "a.md:9: the default of the input `n` must be a whole number, such as 12; fix the default or the type",
        ]
    );
}
