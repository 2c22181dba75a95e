//! The toolbox as the driver uses it.

use super::*;
use crate::domain::event::Process;
use crate::domain::{CallId, ContentHash, Image, Persona, StateStore};
use crate::items::{Items, Spaces};
use crate::ports::Beneath;
use serde_json::{Map, Value, json};
use std::time::Duration;

#[derive(Default)]
struct Ears {
    said: Mutex<String>,
    process: Mutex<Option<Process>>,
    persona: Mutex<Option<Persona>>,
    kept: Mutex<StateStore>,
    shown: Mutex<Vec<Image>>,
    /// Takes no images.
    blind: bool,
    /// Holds the process back.
    never: bool,
    /// Lets none begin.
    refused: bool,
}

impl ToolListener for Ears {
    fn said(&self, text: String) {
        self.said.lock().unwrap().push_str(&text);
    }

    fn started(&self, process: Process) -> Waiting<'_, bool> {
        *self.process.lock().unwrap() = Some(process);
        if self.never { Box::pin(std::future::pending()) } else { Box::pin(std::future::ready(!self.refused)) }
    }

    fn keeps(&self, values: Map<String, Value>) -> Waiting<'_, Result<StateStore, String>> {
        let next = self.kept.lock().unwrap().with(&values);
        if let Ok(next) = &next {
            self.kept.lock().unwrap().clone_from(next);
        }
        Box::pin(std::future::ready(next))
    }

    fn shows(&self, image: Image) -> Waiting<'_, Result<(), String>> {
        if self.blind {
            return Box::pin(std::future::ready(Err("the model is blind".to_owned())));
        }
        self.shown.lock().unwrap().push(image);
        Box::pin(std::future::ready(Ok(())))
    }

    fn becomes(&self, persona: Option<Persona>) -> Waiting<'_, ()> {
        *self.persona.lock().unwrap() = persona;
        Box::pin(std::future::ready(()))
    }
}

/// Keeps what it is given.
#[derive(Debug, Default)]
struct Memory(Mutex<Vec<Vec<u8>>>);

impl KeptResults for Memory {
    fn keep(&self, bytes: &[u8]) -> Result<ContentHash, String> {
        self.0.lock().unwrap().push(bytes.to_vec());
        Ok(ContentHash::of(bytes))
    }

    fn result(&self, _prefix: &str) -> Result<Option<String>, String> {
        Ok(None)
    }
}

struct Bench {
    folder: tempfile::TempDir,
    toolbox: Toolbox,
    ears: Ears,
}

impl Bench {
    fn new(taken: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let variables = [("PATH".into(), std::env::var_os("PATH").unwrap()), ("MY_API_KEY".into(), "s3cret".into())];
        let claims = taken.iter().map(|(id, file)| ((*id).to_owned(), Claim::Taken((*file).to_owned()))).collect();
        let toolbox = Toolbox::new(ToolContext {
            root: Root::new(folder.path()),
            environment: Environment::allowed(variables, &[], &[]),
            keeper: Keeper::Absent,
            sandbox: Sandbox::default(),
            trusts: Trusts::new(|| true),
            spill: Some(Beneath::new(folder.path(), "spill")),
            claims,
            memory: Beneath::new(folder.path(), "memory.json"),
            personas: Beneath::new(folder.path(), "personas.json"),
            files: Vec::new(),
            reach: Reach::Public,
            reader: Reader::Here,
            items: Items::list(&Spaces::new(folder.path(), &folder.path().join("home"), [])),
            user_space: folder.path().join("home"),
            kept: Some(Arc::new(Memory::default())),
            threads: None,
        });
        Self { folder, toolbox, ears: Ears::default() }
    }

    async fn run(&self, item: &str, input: Value) -> ToolOutcome {
        let call = ToolCall { call_id: CallId("call/1".into()), tool: item.into(), input };
        self.toolbox.run(item, &call, Isolation::Open, &self.ears).await
    }

    async fn bash(&self, command: &str) -> ToolOutcome {
        self.run("rye/bash", json!({ "command": command })).await
    }
}

/// Whether anybody is left in the group.
fn lives(process: Process) -> bool {
    let group = rustix::process::Pid::from_raw(i32::try_from(process.group).unwrap()).unwrap();
    rustix::process::test_kill_process_group(group).is_ok()
}

async fn until_gone(process: Process) {
    for _ in 0..2_000 {
        if !lives(process) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("the group still lives");
}

#[tokio::test]
async fn a_command_tells_what_it_printed_and_how_it_ended() {
    let bench = Bench::new(&[]);
    let outcome = bench.bash("echo out; echo err >&2; pwd").await;
    let here = std::fs::canonicalize(bench.folder.path()).unwrap();
    assert_eq!(outcome, ToolOutcome { output: format!("out\nerr\n{}\n", here.display()), error: None });
    let outcome = bench.bash("echo no; exit 3").await;
    assert_eq!((outcome.output.as_str(), outcome.error.as_deref()), ("no\n(exit code 3)", Some("(exit code 3)")));
    assert_eq!(bench.bash("true").await.output, "(no output)");
    assert_eq!(bench.bash("cat; echo end").await.output, "end\n", "there is no input");
    assert!(bench.bash("kill -9 $$").await.error.unwrap().contains("signal 9"));
    let elsewhere = bench.run("rye/bash", json!({"command": "pwd", "working_dir": ".."})).await;
    assert!(elsewhere.error.unwrap().contains("outside the project"));
}

#[tokio::test]
async fn secrets_do_not_reach_commands() {
    let outcome = Bench::new(&[]).bash("env").await;
    assert!(outcome.output.contains("PATH=") && !outcome.output.contains("s3cret"), "{}", outcome.output);
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_ended_with_its_children() {
    let bench = Bench::new(&[]);
    let begun = std::time::Instant::now();
    let input = json!({"command": "trap '' TERM; echo begun; sleep 60 & sleep 60", "timeout": 1});
    let outcome = bench.run("rye/bash", input).await;
    assert!(outcome.output.starts_with("begun") && outcome.output.contains("too long"), "{}", outcome.output);
    assert!(begun.elapsed() < Duration::from_secs(20));
    let process = bench.ears.process.lock().unwrap().unwrap();
    until_gone(process).await;
}

#[tokio::test]
async fn what_a_command_leaves_behind_ends_with_it() {
    let bench = Bench::new(&[]);
    assert_eq!(bench.bash("sleep 60 & echo done").await.output, "done\n");
    let process = bench.ears.process.lock().unwrap().unwrap();
    until_gone(process).await;
}

#[tokio::test]
async fn a_dropped_call_ends_its_group() {
    let bench = Bench::new(&[]);
    let cut = tokio::time::timeout(Duration::from_millis(300), bench.bash("sleep 60 & sleep 60")).await;
    assert!(cut.is_err());
    let process = bench.ears.process.lock().unwrap().unwrap();
    until_gone(process).await;
}

#[tokio::test]
async fn nothing_runs_before_it_was_recorded() {
    let mut bench = Bench::new(&[]);
    bench.ears.never = true;
    let cut = tokio::time::timeout(Duration::from_millis(300), bench.bash("touch ran")).await;
    assert!(cut.is_err() && !bench.folder.path().join("ran").exists());
    let process = bench.ears.process.lock().unwrap().unwrap();
    until_gone(process).await;
}

#[tokio::test]
async fn output_is_shown_live_and_long_output_is_kept() {
    let bench = Bench::new(&[]);
    let outcome = bench.bash("echo first; sleep 0.2; seq 1 20000").await;
    assert!(bench.ears.said.lock().unwrap().starts_with("first\n"));
    assert!(outcome.output.contains("all of it is in `spill/call_1.txt`"), "{}", outcome.output.len());
    let kept =
        bench.run("rye/file-system/read", json!({"path": "spill/call_1.txt", "offset": 10_000, "limit": 1})).await;
    assert!(kept.output.contains("│ 9999\n"), "{}", kept.output);
}

#[tokio::test]
async fn a_taken_place_is_told() {
    let bench = Bench::new(&[("rye/bash", ".ai/tools/rye/bash.py")]);
    let outcome = bench.bash("echo hi").await;
    assert!(
        outcome.output.contains("stands in the place of the built-in tool")
            && outcome.output.contains(".ai/tools/rye/bash.py")
    );
    let taken: Vec<_> = bench.toolbox.tools().into_iter().filter(|tool| tool.absent.is_some()).collect();
    assert_eq!(taken.iter().map(|tool| tool.item.as_str()).collect::<Vec<_>>(), ["rye/bash"]);
}

#[tokio::test]
async fn values_are_kept_through_the_listener_and_null_takes_them_away() {
    let bench = Bench::new(&[]);
    let said = |input: Value| bench.run("levain/state", input);
    assert_eq!(said(json!({})).await.output, "{}");
    assert_eq!(said(json!({"set": {"tries": 2}})).await.output, r#"{"tries":2}"#);
    assert_eq!(said(json!({"set": "{\"tries\": null, \"x\": [1]}"})).await.output, r#"{"x":[1]}"#);
    for (input, why) in [
        (json!({"set": {"a b": 1}}), "cannot be a name"),
        (json!({"set": [1]}), "is an object"),
        (json!({"put": {}}), "unknown field `put`"),
    ] {
        let outcome = said(input).await;
        assert!(outcome.error.is_some() && outcome.output.contains(why), "{}", outcome.output);
    }
    assert_eq!(said(json!({})).await.output, r#"{"x":[1]}"#);
}

#[tokio::test]
async fn a_to_do_list_is_a_value_that_the_thread_keeps() {
    let bench = Bench::new(&[]);
    let said = |input: Value| bench.run("levain/todo", input);
    assert_eq!(said(json!({})).await.output, "Nothing is on the list.");
    let tasks = json!([{"text": "look", "progress": "done"}, {"text": "mend", "progress": "active"}]);
    assert_eq!(said(json!({ "tasks": tasks })).await.output, "[x] look\n[>] mend\n");
    assert_eq!(bench.ears.kept.lock().unwrap().value(), json!({ "todo": tasks }));
    for (input, why) in [
        (json!({"tasks": {"text": "x"}}), "`tasks` is a list"),
        (json!({"tasks": [{"text": "x", "progress": "later"}]}), "Nothing changed: task 1: unknown variant"),
        (json!({"tasks": [{"text": "  ", "progress": "done"}]}), "Nothing changed: task 1 has no text."),
        (json!({"task": []}), "unknown field `task`"),
    ] {
        let outcome = said(input).await;
        assert!(outcome.error.is_some() && outcome.output.contains(why), "{}", outcome.output);
    }
    // As other programs' models write it, and as a text.
    let todos = json!({"todos": "[{\"content\": \"look\", \"status\": \"in_progress\"}]"});
    assert_eq!(said(todos).await.output, "[>] look\n");
    assert_eq!(said(json!({"tasks": []})).await.output, "Nothing is on the list.");
    assert_eq!(bench.ears.kept.lock().unwrap().value(), json!({}));
}

#[tokio::test]
async fn a_persona_reaches_the_log_through_the_listener() {
    let bench = Bench::new(&[]);
    bench.run("levain/persona/create", json!({"name": "cook", "text": "Speaks of soup."})).await;
    let outcome = bench.run("levain/persona/switch", json!({"name": "cook"})).await;
    assert_eq!(outcome.output, "You are `cook` from here on.\n\nSpeaks of soup.");
    assert_eq!(bench.ears.persona.lock().unwrap().as_ref().map(|persona| persona.name.clone()), Some("cook".into()));
    bench.run("levain/persona/switch", json!({"name": "none"})).await;
    assert_eq!(*bench.ears.persona.lock().unwrap(), None);
    assert!(bench.run("levain/memory/add", json!({"text": "A"})).await.output.contains("[1]"));
    assert_eq!(bench.run("levain/memory/search", json!({"query": "a"})).await.output, "[1] A");
}

#[tokio::test]
async fn what_a_model_wrote_is_data() {
    let bench = Bench::new(&[]);
    let content = "${HOME} {path} $(id)\n";
    bench.run("rye/file-system/write", json!({"path": "a", "content": content})).await;
    assert_eq!(std::fs::read_to_string(bench.folder.path().join("a")).unwrap(), content);
    assert!(bench.run("rye/file-system/read", json!("a")).await.error.unwrap().contains("not a JSON object"));
    assert!(bench.run("rye/file-system/read", json!({})).await.error.unwrap().contains("`path`"));
    assert!(bench.run("team/x", json!({})).await.error.unwrap().contains("There is no tool"));
}

#[tokio::test]
async fn a_preview_says_what_would_change() {
    let bench = Bench::new(&[]);
    std::fs::write(bench.folder.path().join("a"), "one\n").unwrap();
    let input = json!({"path": "a", "content": "two\n"});
    let call = ToolCall { call_id: CallId("1".into()), tool: "w".into(), input };
    let preview = bench.toolbox.preview("rye/file-system/write", &call).await.unwrap();
    assert!(preview.contains("-one\n+two"), "{preview}");
    assert_eq!(std::fs::read_to_string(bench.folder.path().join("a")).unwrap(), "one\n");
    assert_eq!(bench.toolbox.preview("rye/bash", &call).await, None);
}

#[test]
fn offered_names_differ_and_providers_take_them() {
    let bench = Bench::new(&[]);
    let names: std::collections::BTreeSet<String> =
        bench.toolbox.tools().into_iter().map(|tool| tool.spec.name).collect();
    assert_eq!(names.len(), BUILTIN.len());
    assert!(names.iter().all(|name| name.len() <= 64), "{names:?}");
}

/// The ids and parameters that directives and models know; what is required stands with a star.
#[test]
fn built_in_tools_have_the_parameters_of_their_format() {
    let bench = Bench::new(&[]);
    let told: Vec<String> = bench
        .toolbox
        .tools()
        .iter()
        .map(|tool| {
            let required = tool.spec.schema["required"].as_array().cloned().unwrap_or_default();
            let names = tool.spec.schema["properties"]
                .as_object()
                .unwrap()
                .keys()
                .map(|name| if required.contains(&json!(name)) { format!("{name}*") } else { name.clone() });
            let mut names: Vec<String> = names.collect();
            names.sort();
            format!("{}: {}", tool.item, names.join(" "))
        })
        .collect();
    for expected in [
        "rye/file-system/read: limit offset path*",
        "rye/file-system/write: content files path",
        "rye/file-system/edit_lines: changes* path*",
        "rye/file-system/ls: path",
        "rye/file-system/glob: path pattern*",
        "rye/file-system/grep: include path pattern*",
        "rye/bash: background command* timeout working_dir",
        "rye/web/fetch/fetch: format timeout url*",
        "rye/execute: async dry_run item_id* item_type* parameters thread",
        "rye/agent/threads/thread_directive: async directive_name* inputs limit_overrides model",
        "rye/agent/threads/orchestrator: max_results operation* query search_type tail_lines thread_id thread_ids timeout",
        "rye/fetch: item_id item_type limit query scope",
        "rye/sign: item_id* item_type*",
    ] {
        assert!(told.iter().any(|tool| tool == expected), "{expected} is not in {told:?}");
    }
}

fn item(bench: &Bench, path: &str, text: &str) {
    let file = bench.folder.path().join(".ai").join(path);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

const RULES: &str =
    "```yaml\nname: rules\ntitle: House rules\nentry_type: context\nversion: \"1.0.0\"\n```\nBe kind.\n";

#[tokio::test]
async fn items_are_fetched_by_id_and_found_by_words() {
    let bench = Bench::new(&[]);
    item(&bench, "knowledge/team/rules.md", RULES);
    item(&bench, "tools/team/rules.yaml", "tool_type: config\n");
    let fetched = bench.run("rye/fetch", json!({"item_type": "knowledge", "item_id": "team/rules"})).await;
    assert_eq!(fetched.output, format!("knowledge `team/rules`, project, .ai/knowledge/team/rules.md\n\n{RULES}"));
    let both = bench.run("rye/fetch", json!({"item_id": "team/rules"})).await;
    assert_eq!(both.error.unwrap(), "`team/rules` is a tool and a knowledge: say which by `item_type`.");
    let gone = bench.run("rye/fetch", json!({"item_type": "knowledge", "item_id": "team/rule"})).await;
    assert_eq!(gone.error.unwrap(), "there is no knowledge `team/rule` (did you mean `team/rules`?).");
    let found = bench.run("rye/fetch", json!({"query": "house kind", "scope": "knowledge"})).await;
    assert_eq!(found.output, "1 item matches.\n\n- knowledge `team/rules` (project): House rules");
    let none = bench.run("rye/fetch", json!({"query": "house NOT kind"})).await;
    assert_eq!(none.output, "No item matches `house NOT kind`.");
    for bad in [json!({}), json!({"query": "("}), json!({"query": "a", "scope": "everything"})] {
        assert!(bench.run("rye/fetch", bad.clone()).await.error.is_some(), "{bad}");
    }
    item(&bench, "knowledge/team/long.md", &"word ".repeat(20_000));
    let long = bench.run("rye/fetch", json!({"item_type": "knowledge", "item_id": "team/long"})).await.output;
    assert!(
        long.len() < 52_000 && long.ends_with("[51200 of 100000 bytes; the rest is in .ai/knowledge/team/long.md]")
    );
    // Nothing outside the folders of items has an id.
    for id in ["../secret", "/etc/passwd", "team/../../secret"] {
        let outside = bench.run("rye/fetch", json!({"item_type": "knowledge", "item_id": id})).await;
        assert!(outside.error.unwrap().starts_with("there is no knowledge"), "{id}");
    }
}

#[tokio::test]
async fn knowledge_and_directives_are_executed_inline() {
    let bench = Bench::new(&[]);
    item(&bench, "knowledge/team/rules.md", RULES);
    let ship = "```xml\n<directive name=\"ship\" version=\"1.0.0\"><inputs><input name=\"to\" type=\"string\" \
                required=\"true\">Where</input></inputs></directive>\n```\nShip it to {input:to}. Keep {input:other}.\n";
    item(&bench, "directives/team/ship.md", ship);
    let execute = async |input: Value| bench.run("rye/execute", input).await;
    let told = execute(json!({"item_type": "knowledge", "item_id": "team/rules"})).await;
    assert_eq!((told.output.as_str(), told.error), ("Be kind.", None));
    let call = |parameters: Value| json!({"item_type": "directive", "item_id": "team/ship", "parameters": parameters});
    let told = execute(call(json!({"to": "{input:other}"}))).await;
    assert_eq!(told.output, "Follow these directions now:\n\nShip it to {input:other}. Keep {input:other}.");
    let spelled = execute(call(json!("{\"to\": \"the moon\"}"))).await;
    assert!(spelled.output.contains("Ship it to the moon."), "{spelled:?}");
    let missing = execute(call(Value::Null)).await;
    assert_eq!(missing.error.unwrap(), "the input `to` is missing: Where.");
    let mut forked = call(json!({"to": "x"}));
    forked["thread"] = json!("fork");
    assert!(execute(forked).await.error.unwrap().contains("No threads can be started from here."));
}

#[tokio::test]
async fn items_are_signed_with_the_persons_key_but_not_shipped_ones() {
    let bench = Bench::new(&[]);
    item(&bench, "knowledge/team/rules.md", RULES);
    let sign = async |id: &str| bench.run("rye/sign", json!({"item_type": "knowledge", "item_id": id})).await;
    assert!(sign("team/rules").await.error.unwrap().contains("levain keys generate"));
    crate::items::signature::SigningKey::generate(&bench.folder.path().join("home")).unwrap();
    let signed = sign("team/rules").await;
    assert!(signed.output.starts_with("Signed .ai/knowledge/team/rules.md by "), "{signed:?}");
    let text = std::fs::read_to_string(bench.folder.path().join(".ai/knowledge/team/rules.md")).unwrap();
    assert!(text.starts_with("<!-- levain:signed:") && text.ends_with(RULES), "{text}");
    let shipped = sign("levain/core/Identity").await;
    assert_eq!(shipped.error.unwrap(), "Items that are shipped cannot be signed.");
}

#[tokio::test]
async fn reading_an_image_shows_it() {
    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x08\0\0\0\x08\x08\x02\0\0\0";
    let mut bench = Bench::new(&[]);
    std::fs::write(bench.folder.path().join("a.PNG"), PNG).unwrap();
    std::fs::write(bench.folder.path().join("text.png"), "words\n").unwrap();
    let seen = bench.run("rye/file-system/read", json!({"path": "a.PNG"})).await;
    assert_eq!(seen, ToolOutcome { output: "[a.PNG: an image, image/png, 1 kB]".into(), error: None });
    let image = bench.ears.shown.lock().unwrap().pop().unwrap();
    assert_eq!((image.name.as_str(), image.hash, image.bytes), ("a.PNG", ContentHash::of(PNG), 29));
    let text = bench.run("rye/file-system/read", json!({"path": "text.png"})).await;
    assert!(text.error.is_none() && text.output.contains("words"), "{text:?}");
    std::fs::write(bench.folder.path().join("large.png"), [PNG, &vec![0; 4 << 20]].concat()).unwrap();
    let large = bench.run("rye/file-system/read", json!({"path": "large.png"})).await;
    assert!(large.error.is_some_and(|why| why.contains("larger than 3.7 MB")));
    bench.ears.blind = true;
    let blind = bench.run("rye/file-system/read", json!({"path": "a.PNG"})).await;
    assert_eq!(blind.error.as_deref(), Some("a.PNG is not shown: the model is blind"));
    assert!(bench.ears.shown.lock().unwrap().is_empty());
}

#[tokio::test]
async fn images_of_results_become_words_where_they_are_shown() {
    let bench = Bench::new(&[]);
    let keeps: super::images::Keeps = Some(Arc::new(Memory::default()));
    let png = "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAAA=";
    let mut content = json!([{"type": "text", "text": "a"}, {"type": "image", "data": png, "mimeType": "image/png"},
        {"type": "image", "data": "!", "mimeType": "image/png"}, {"type": "image", "data": "aGk=", "mimeType": "image/png"},
        {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"},
        {"type": "image", "data": "iVBORw0KGgoAAAANSUhEUgAAIygAAAAICAIAAAA=", "mimeType": "image/png"}]);
    super::images::shown(&mut content, &keeps, &bench.ears).await;
    let texts: Vec<&str> = content.as_array().unwrap().iter().map(|block| block["text"].as_str().unwrap()).collect();
    assert_eq!(
        texts,
        [
            "a",
            "[image 1: an image, image/png, 1 kB]",
            "[image 2 is not shown: its bytes are not in base64]",
            "[image 3 is not shown: it is not a PNG, JPEG or WebP image]",
            "[image 4 is not shown: its beginning cannot be read (failed to fill whole buffer)]",
            "[image 5 is not shown: it has 9000 x 8 pixels, and models take 8000]",
        ]
    );
    assert_eq!(bench.ears.shown.lock().unwrap().len(), 1);
}

/// A command beside the conversation may exchange a link between the judging of a call and its run.
#[tokio::test]
async fn a_call_judged_as_writing_no_items_writes_none_by_a_link_that_leads_elsewhere_since() {
    let bench = Bench::new(&[]);
    let (link, items) = (bench.folder.path().join("notes"), bench.folder.path().join(".ai/knowledge"));
    let plain = bench.folder.path().join("src");
    std::fs::create_dir_all(&items).unwrap();
    std::fs::create_dir_all(&plain).unwrap();
    std::os::unix::fs::symlink(&plain, &link).unwrap();
    let write = |id: &str| {
        let input = json!({"path": "notes/a.md", "content": "x"});
        ToolCall { call_id: CallId(id.into()), tool: "write".into(), input }
    };
    let (judged, run) = ("rye/file-system/write", Isolation::Open);
    assert_eq!(bench.toolbox.guarded(judged, &write("1")).await, Vec::<String>::new());
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(&items, &link).unwrap();
    let refused = bench.toolbox.run(judged, &write("1"), run, &bench.ears).await;
    assert!(refused.error.unwrap().contains("leads to the project's items now"), "{}", refused.output);
    assert!(!items.join("a.md").exists());
    assert_eq!(bench.toolbox.guarded(judged, &write("2")).await, [WRITE_ITEMS]);
    let written = bench.toolbox.run(judged, &write("2"), run, &bench.ears).await;
    assert_eq!((written.error, items.join("a.md").exists()), (None, true));
}
