use super::*;
use crate::items::Spaces;
use proptest::prelude::*;

fn merged(texts: &[(Space, &str)]) -> (Cascade, Vec<String>) {
    let layers = texts.iter().map(|(space, text)| {
        let file = PathBuf::from(format!("{space:?}.yaml").to_lowercase());
        ("agent", Layer { space: *space, file }, (*text).to_owned())
    });
    let (cascade, problems) = Cascade::merge(layers.collect());
    (cascade, problems.iter().map(ToString::to_string).collect())
}

fn told(cascade: &Cascade, key: &str) -> String {
    let node = cascade.get(key).unwrap();
    format!("{} {}", node.value(), cascade.origin(node).unwrap())
}

const BELOW: &str =
    "a:\n  one: 1\n  two: two\nlist: [x, y]\nfree: {}\nrules:\n  - id: p\n    n: 1\n  - id: q\n    n: 2\n";

#[test]
fn maps_merge_deeply_and_every_value_knows_its_line() {
    let (cascade, problems) = merged(&[
        (Space::System, BELOW),
        (Space::User, "a: {one: 7}\nfree: {x: y}\n"),
        (Space::Project, "extends: somewhere\na:\n  two: zwei\nlist:\n  - z\n"),
    ]);
    assert_eq!(problems, Vec::<String>::new());
    assert_eq!(told(&cascade, "agent.a.one"), "7 user.yaml:1");
    assert_eq!(told(&cascade, "agent.a.two"), "\"zwei\" project.yaml:3");
    assert_eq!(told(&cascade, "agent.list"), "[\"z\"] project.yaml:4");
    assert_eq!(told(&cascade, "agent.free.x"), "\"y\" user.yaml:2");
    assert!(cascade.get("agent.extends").is_none() && cascade.get("agent.a.three").is_none());
}

#[test]
fn lists_of_things_with_ids_merge_by_id() {
    let (cascade, problems) =
        merged(&[(Space::System, BELOW), (Space::User, "rules:\n  - {id: q, n: 9}\n  - {id: r, n: 3}\n")]);
    assert_eq!(problems, Vec::<String>::new());
    let rules = cascade.entries(Some("agent.rules"));
    let keys: Vec<_> = rules.iter().map(|entry| entry.key.as_str()).filter(|key| !key.contains(".id")).collect();
    assert_eq!(keys, ["agent.rules.p.n", "agent.rules.q.n", "agent.rules.r.n"]);
    assert_eq!(told(&cascade, "agent.rules.p.n"), "1 system.yaml:8");
    assert_eq!(told(&cascade, "agent.rules.q.n"), "9 user.yaml:2");
    assert_eq!(told(&cascade, "agent.rules.2.n"), "3 user.yaml:3");
}

#[test]
fn s02_what_a_file_says_of_itself_is_no_setting() {
    let head = "category: agent\ntool_type: config\nversion: \"1.0.0\"\nschema_version: \"1.0.0\"\ndescription: x\n";
    let (cascade, problems) = merged(&[(Space::System, BELOW), (Space::System, &format!("{head}a: {{one: 3}}\n"))]);
    assert_eq!(problems, Vec::<String>::new());
    assert!(cascade.get("agent.version").is_none() && told(&cascade, "agent.a.one") == "3 system.yaml:6");
    // Below the top such a name would be a setting.
    let (_, problems) = merged(&[(Space::System, BELOW), (Space::User, "a: {version: 1}\n")]);
    assert_eq!(problems.len(), 1, "{problems:?}");
}

#[test]
fn what_does_not_fit_changes_nothing() {
    let (cascade, problems) =
        merged(&[(Space::System, BELOW), (Space::Project, "a:\n  one: many\n  twoo: x\nlist: 3\nfree:\n")]);
    assert_eq!(
        problems,
        [
            "project.yaml:2: `a.one` must be a number; write a number such as 1",
            "project.yaml:3: unknown setting `a.twoo`; did you mean `two`?",
            "project.yaml:4: `list` must be a list; write a list such as [a, b]",
        ]
    );
    assert_eq!(told(&cascade, "agent.a.one"), "1 system.yaml:2");
    assert_eq!(told(&cascade, "agent.list"), "[\"x\",\"y\"] system.yaml:4");
}

#[test]
fn texts_that_do_not_read_are_told_with_their_line() {
    for (text, expected) in [
        ("a: {one: 1\nb: [", "not YAML"),
        ("- x\n", "is not a mapping"),
        ("a: 1\na: 2\n", ":2: `a` is there twice"),
        ("a: *gone\n", "not YAML"),
        ("? [a]\n: b\n", "a name is no text"),
    ] {
        let (_, problems) = merged(&[(Space::User, text)]);
        assert!(problems.len() == 1 && problems[0].contains(expected), "{text}: {problems:?}");
    }
    let mut bomb = "l0: &l0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n".to_owned();
    for level in 1..10 {
        let below = format!("*l{}, ", level - 1).repeat(10);
        bomb.extend([format!("l{level}: &l{level} [{below}]\n")]);
    }
    assert!(merged(&[(Space::User, &bomb)]).1[0].contains("more values than settings have"));
    let deep = format!("a: {}1{}\n", "[".repeat(200), "]".repeat(200));
    assert!(merged(&[(Space::User, &deep)]).1[0].contains("nested"));
}

#[test]
fn words_become_values() {
    let (cascade, _) =
        merged(&[(Space::User, "a: \"7\"\nb: 7\nc: 0.5\nd: on\ne: ~\nf: true\ng: -3\nh: 1.2.3\ni: infinity\n")]);
    let value = cascade.get("agent").unwrap().value();
    let expected = serde_json::json!({"a": "7", "b": 7, "c": 0.5, "d": "on", "e": null, "f": true, "g": -3,
        "h": "1.2.3", "i": "infinity"});
    assert_eq!(value, expected);
    assert_eq!(
        (cascade.number("agent.c"), cascade.number("agent.g"), cascade.text("agent.a")),
        (Some(0.5), None, Some("7"))
    );
}

#[test]
fn spaces_are_read_from_the_program_to_the_project() {
    let folder = tempfile::tempdir().unwrap();
    let (user, project) = (folder.path().join("user"), folder.path().join("project"));
    let write = |root: &Path, name: &str, text: &str| {
        let path = root.join(FOLDER).join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write(&user, "agent.yaml", "provider: {default: gemini}\n");
    write(&project, "agent.yml", "provider: {default: openai}\nmax_output_tokens: lots\n");
    write(&project, "agnet.yaml", "x: 1\n");
    write(&project, "hooks.yaml", "hooks: []\n");
    write(
        &user,
        "events.yaml",
        &format!("# levain:signed:2026-01-01T00:00:00Z:{}:QUJD:0123456789abcdef\nx: 1\n", "ab".repeat(32)),
    );
    let (cascade, problems) = Cascade::read(&Spaces::new(&project, &user, []), &TrustStore::default());
    assert_eq!(cascade.text("agent.provider.default"), Some("openai"));
    assert!(cascade.number("agent.max_output_tokens").is_some());
    let told: Vec<_> = problems.iter().map(|problem| problem.message.as_str()).collect();
    assert_eq!(
        told,
        [
            "its signature is changed, so levain ignores the file",
            "is not a settings file",
            "`max_output_tokens` must be a number",
        ]
    );
}

#[test]
fn what_is_shipped_reads_without_a_word() {
    let (cascade, problems) = Cascade::read(&Spaces::embedded(), &TrustStore::default());
    assert_eq!(problems, []);
    for name in FILES {
        let node = cascade.get(name).unwrap_or_else(|| panic!("{name} is not shipped"));
        assert_eq!(cascade.origin(node).unwrap().file, Path::new(&format!("levain:/{FOLDER}/{name}.yaml")));
    }
}

proptest! {
    #[test]
    fn no_text_brings_it_down(text in "([a-c]: |- |[\\[{}\\]&*!|>'\"#?:\n ]|[a-z0-9]{1,3}){0,60}") {
        let (_, problems) = merged(&[(Space::System, BELOW), (Space::User, &text)]);
        for problem in problems {
            prop_assert!(problem.starts_with("user.yaml:"), "{}", problem);
        }
    }
}
