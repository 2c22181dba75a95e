use super::*;

const GATEWAY: &str = r#"tool_id: gateway
tier_mapping:
  fast: small-1
  max: 7
pricing:
  small-1: { input: 1, output: 5.5, max_output_tokens: 4096 }
  odd: { input: cheap }
context_window: 100000
config:
  url: https://gateway.example/v1/chat/completions
  timeout: 120
  headers: { X-Team: bread, X-Key: "${SECRET}", X-Odd: "a ${B}" }
  auth: { type: bearer, token: "${GATEWAY_KEY}" }
tool_use: { mode: text_parsed }
profiles:
  gemini:
    match: ["gem*-pro"]
    config:
      url: https://gateway.example/v1beta/models/{model}:generateContent
      auth: { header: x-goog-api-key, key: GATEWAY_KEY }
    tool_use: { mode: native }
  lost: {}
"#;

fn problems(text: &str) -> Vec<String> {
    ProviderFile::parse(text, Space::User, Path::new("p.yaml")).1.iter().map(ToString::to_string).collect()
}

#[test]
fn a_file_with_profiles_and_mistakes() {
    let (file, found) = ProviderFile::parse(GATEWAY, Space::User, Path::new("p.yaml"));
    let file = file.unwrap();
    assert_eq!((file.tier("fast"), file.tier("max")), (Some("small-1"), None));
    let part = file.part("small-1");
    assert_eq!((part.form, part.base.as_deref()), (Some(WireForm::Compatible), Some("https://gateway.example/v1")));
    assert_eq!((&part.sent, part.key_variable.as_deref()), (&Some(Sent::Bearer), Some("GATEWAY_KEY")));
    assert_eq!((part.tools, part.window, part.timeout), (ToolForm::Text, Some(100_000), Some(120)));
    assert_eq!(part.headers, [("x-team".to_owned(), "bread".to_owned())]);
    assert_eq!(part.secret_headers, [("x-key".to_owned(), "SECRET".to_owned())]);
    assert!(file.key_variables().any(|name| name == "SECRET"), "tools must not see it");
    let price = Price {
        model: "small-1".into(),
        input: 1.0,
        output: 5.5,
        cache_read: None,
        cache_write: None,
        max_output: Some(4_096),
    };
    assert_eq!(part.prices, [price]);
    let gemini = file.part("gemini-2-pro");
    assert_eq!((gemini.form, gemini.base.as_deref()), (Some(WireForm::Gemini), Some("https://gateway.example/v1beta")));
    assert_eq!((&gemini.sent, gemini.tools), (&Some(Sent::Header("x-goog-api-key".into())), ToolForm::Native));
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        [
            "p.yaml:4: the tier `max` names no model; write the name of a model",
            "p.yaml:12: a header is no text, or holds a variable beside other text; write its text, or ${MY_VARIABLE} alone",
            "p.yaml:7: the price of `odd` is not whole; write `input` and `output` in US dollars for a million tokens",
            "p.yaml:22: the profile `lost` matches no model; add `match`: globs over names of models",
        ]
    );
}

#[test]
fn what_is_no_provider() {
    assert!(problems("tool_id: [").first().is_some_and(|problem| problem.contains("not YAML")));
    assert_eq!(problems("- a"), ["p.yaml:1: is not a mapping; begin with `tool_id: NAME`"]);
    assert_eq!(
        problems("version: 1"),
        ["p.yaml:1: names no provider; write `tool_id: NAME`, such as `tool_id: anthropic`"]
    );
    assert_eq!(
        problems("tool_id: a\nwire: grpc\n"),
        ["p.yaml:2: `wire` cannot be `grpc`; write anthropic, chat, responses or gemini"]
    );
}

#[test]
fn a_key_in_a_file_is_a_problem_that_does_not_show_it() {
    let found = problems("tool_id: a\nconfig:\n  auth: { token: sk-hush-hush }\n");
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("p.yaml:3: ") && !found[0].contains("hush"), "{found:?}");
}

#[test]
fn a_projects_file_says_nothing_of_addresses_and_keys() {
    let (file, found) = ProviderFile::parse(GATEWAY, Space::Project, Path::new("p.yaml"));
    let file = file.unwrap();
    for model in ["small-1", "gemini-2-pro"] {
        let part = file.part(model);
        assert_eq!((&part.base, &part.whole, &part.sent, &part.key_variable), (&None, &None, &None, &None));
        assert!(part.headers.is_empty() && file.env.is_empty());
        assert_eq!(part.window, Some(100_000));
    }
    assert!(found.iter().any(|problem| problem.message.contains("a project cannot set")), "{found:?}");
}

#[test]
fn globs_describe_whole_names() {
    for (glob, text, expected) in
        [("a*c", "abc", true), ("a*c", "abcd", false), ("*", "", true), ("a", "ab", false), ("*-*-x", "é-b-x", true)]
    {
        assert_eq!(fits(glob, text), expected, "{glob} {text}");
    }
}

#[test]
fn the_files_in_the_program_have_no_problems() {
    let files: Vec<_> = crate::items::space::embedded_texts(crate::providers::resolver::BUNDLED).collect();
    assert!(files.len() >= 3, "{files:?}");
    for (path, text) in files {
        let (file, problems) = ProviderFile::parse(text, Space::System, Path::new(path));
        assert_eq!(problems, [], "{path}");
        let file = file.unwrap();
        for tier in ["fast", "general", "high", "max", "orchestrator", "reasoning"] {
            let model = crate::domain::ModelRef::new(&file.tool_id, file.tier(tier).unwrap());
            assert!(crate::providers::Catalog::embedded().lookup(&model).is_some(), "{model} is not in the list");
        }
    }
}

proptest::proptest! {
    #[test]
    fn any_damage_is_told_or_harmless(at in 0_usize..900, with in "[ -~\n]{0,3}") {
        let at = GATEWAY.floor_char_boundary(at % GATEWAY.len());
        let (before, after) = GATEWAY.split_at(at);
        let damaged = format!("{before}{with}{}", after.get(with.len()..).unwrap_or_default());
        let (file, problems) = ProviderFile::parse(&damaged, Space::User, Path::new("p.yaml"));
        proptest::prop_assert!(file.is_some() || !problems.is_empty());
    }
}
