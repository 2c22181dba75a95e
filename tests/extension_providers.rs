//! Models that answer by the code of an extension (`streamSimple`).

use crate::support::scripted_project::{Project, say};
use crate::support::terminal;
use serde_json::Value;

/// A provider that answers by itself: it counts what it was asked, calls a tool, fails, or never ends.
const OWN: &str = r#"
import { complete, createAssistantMessageEventStream } from "@mariozechner/pi-ai";
export default (pi: any) => {
  pi.registerProvider("own", {
    api: "of-its-own", baseUrl: "nowhere", apiKey: "OWN_MODEL_KEY",
    models: [{ id: "small", name: "Small", contextWindow: 32000, maxTokens: 4096, cost: { input: 10, output: 20, cacheRead: 0, cacheWrite: 0 } }],
    streamSimple(model: any, context: any, options: any) {
      const stream = createAssistantMessageEventStream();
      const last = context.messages.at(-1);
      const said = last.content.map((part: any) => part.text).join(" ");
      const message = (content: any[], stopReason: string) => ({ role: "assistant", content, stopReason, api: model.api, provider: model.provider,
        model: model.id, usage: { input: 100, output: 10, cacheRead: 0, cacheWrite: 0, totalTokens: 110, cost: {} }, timestamp: 1 });
      const end = (content: any[], reason: string) => stream.push({ type: "done", reason, message: message(content, reason) });
      const text = (words: string) => ({ type: "text", text: words });
      (async () => {
        if (said.includes("q-never")) {
          stream.push({ type: "text_delta", contentIndex: 0, delta: "waiting for ever" });
          const waits = setInterval(() => {}, 1000);
          options.signal.addEventListener("abort", () => { clearInterval(waits); console.log("aborted"); });
          return;
        }
        if (said.includes("q-again")) return end([text("asked itself: " + (await complete(model, context)).errorMessage)], "stop");
        if (said.includes("q-fail")) throw new Error("broken inside");
        if (said.includes("q-refuse")) return void stream.push({ type: "error", reason: "error", error: { ...message([], "error"), errorMessage: "no thanks" } });
        if (said.includes("q-echo")) return end([text(JSON.stringify({ model: { id: model.id }, context, options: { maxTokens: options.maxTokens } }))], "stop");
        if (said.includes("q-touch") && last.role === "user") {
          const call = { type: "toolCall", id: "t1", name: context.tools[0].name, arguments: { command: "touch made" } };
          stream.push({ type: "toolcall_end", contentIndex: 0, toolCall: call });
          return end([call], "toolUse");
        }
        for (const delta of [`${model.name} by `, `${model.provider}, key ${options.apiKey?.length}`]) {
          stream.push({ type: "text_delta", contentIndex: 0, delta });
          await new Promise((resolve) => setTimeout(resolve, 1));
        }
        end([text("")], "stop");
      })().catch((error) => stream.push({ type: "error", reason: "error", error: { ...message([], "error"), errorMessage: String(error.message) } }));
      return stream;
    },
  });
};"#;

const KEY: &str = "a-key-of-my-own-1234";

fn own() -> Project {
    let project = Project::new("");
    let folder = project.home.home().join(".pi/agent/extensions");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("own.ts"), OWN).unwrap();
    Project { model: "own/small".to_owned(), ..project }.trusted()
}

fn run(project: &Project, prompt: &str) -> (i32, Value, String) {
    let mut run = project.home.levain(&["run", "--json", "--model", "own/small", "--directive", "work", prompt]);
    let (code, out, err) = terminal::output(run.env("OWN_MODEL_KEY", KEY));
    let line = serde_json::from_str(out.lines().next().unwrap_or("null")).unwrap_or_default();
    (code, line, err)
}

#[test]
fn the_code_of_an_extension_answers_in_the_place_of_a_server() {
    let project = own();
    // Without its key it is not asked.
    let (code, _, err) = terminal::output(&mut project.home.levain(&["run", "--model", "own/small", "hello"]));
    assert!(code != 0 && err.contains("OWN_MODEL_KEY"), "{err}");
    let (code, told, err) = run(&project, "hello");
    assert_eq!(
        (code, told["result"].as_str()),
        (0, Some(format!("Small by own, key {}", KEY.len()).as_str())),
        "{err}"
    );
    // 100 tokens at 10 dollars for a million, 10 at 20: in millionths.
    assert_eq!((&told["cost"]["spend"], &told["cost"]["usage"]["input"]), (&1200.into(), &100.into()), "{told}");
    // What it is given is what is recorded, and holds no key.
    let (_, told, _) = run(&project, "q-echo");
    let id = told["thread_id"].as_str().unwrap();
    let said: Value = serde_json::from_str(told["result"].as_str().unwrap()).unwrap();
    let (_, shown, err) = project.levain(&["context", "show", "--thread", id, "--wire"]);
    let shown: Value = serde_json::from_str(&shown).unwrap_or_else(|_| panic!("{shown}{err}"));
    assert_eq!(said, shown);
    let folder = project.home.project().join(format!(".ai/agent/threads/{id}"));
    for file in ["transcript.jsonl", "requests/1.json"] {
        assert!(!std::fs::read_to_string(folder.join(file)).unwrap().contains(KEY), "{file}");
    }
    // Its calls of tools are run, and it goes on with their results.
    let (code, told, err) = run(&project, "q-touch");
    assert!(code == 0 && told["cost"]["turns"] == 2, "{told}{err}");
    assert!(project.home.project().join("made").exists());
}

#[test]
fn pis_name_of_a_provider_means_the_one_that_is_known_here() {
    let project = own();
    let file = project.home.home().join(".pi/agent/extensions/own.ts");
    std::fs::write(file, OWN.replacen("registerProvider(\"own\"", "registerProvider(\"google\"", 1)).unwrap();
    let mut run = project.home.levain(&["run", "--model", "gemini/small", "--directive", "work", "hello"]);
    let (code, out, err) = terminal::output(run.env("OWN_MODEL_KEY", KEY));
    assert!(code == 0 && out.contains("Small by google, key 20"), "{out}{err}");
}

/// `OWN`, which registers its provider when a thread begins, and takes it back where a file says so.
fn late(project: &Project) -> String {
    let gone = project.home.project().join("gone");
    let begin = format!(
        "export default (pi: any) => {{ pi.on(\"session_start\", async () => {{ if ((await import(\"node:fs\")).existsSync({:?})) return pi.unregisterProvider(\"own\");\n",
        gone.display().to_string()
    );
    let body = OWN.replacen("export default (pi: any) => {\n", &begin, 1);
    body.strip_suffix("};").unwrap().to_owned() + "}); };"
}

#[test]
fn a_provider_that_is_registered_while_a_thread_runs_counts_for_those_that_start_later() {
    let project = own();
    let file = project.home.home().join(".pi/agent/extensions/own.ts");
    std::fs::write(&file, late(&project)).unwrap();
    let listed = || project.levain(&["models"]).1.contains("own/small");
    let notices = |told: &Value| -> Vec<String> {
        let events = project.events(told["thread_id"].as_str().unwrap()).into_iter();
        let notices = events.filter(|(event, _)| event == "notice");
        notices.map(|(_, notice)| notice["text"].as_str().unwrap().to_owned()).collect()
    };
    let scripted = || {
        let (_, out, err) = project.levain(&["run", "--json", "--model", "scripted/demo", "hello"]);
        notices(&serde_json::from_str(out.lines().next().unwrap_or_else(|| panic!("{err}"))).unwrap())
    };
    assert!(!listed());
    assert_eq!(scripted(), ["own.ts: the provider own is there from here on"]);
    assert!(listed());
    let (code, told, err) = run(&project, "hello");
    assert_eq!((code, told["result"].as_str()), (0, Some("Small by own, key 20")), "{err}");
    assert_eq!(notices(&told), [""; 0], "it is told once");
    // It is taken back.
    project.write("gone", "");
    assert_eq!(scripted(), ["own.ts: the provider own is gone from here on"]);
    assert!(!listed());
    // An extension of the project could say it in its name.
    std::fs::remove_file(project.home.project().join("gone")).unwrap();
    project.write(".ai/extensions/e.ts", "export default () => {};");
    let why = "e.ts of this project may run beside it, and a project sets no address and no key";
    assert_eq!(scripted().pop(), Some(format!("own.ts: the provider own does not count: {why}")));
    assert!(!listed());
}

#[test]
fn a_provider_that_is_registered_while_a_thread_runs_can_be_chosen_in_it() {
    let project = own();
    std::fs::write(project.home.home().join(".pi/agent/extensions/own.ts"), late(&project)).unwrap();
    let levain = project.home.levain_in_terminal(&["--model", "scripted/demo"]);
    let terminal = levain.env("OWN_MODEL_KEY", KEY).size(100, 30).start();
    terminal.wait_for("A new thread");
    say(&terminal, "first");
    terminal.wait_for("the provider own is there from here on");
    terminal.wait_for("199 out");
    say(&terminal, "/model own/small");
    terminal.wait_for("small ·");
    say(&terminal, "second");
    terminal.wait_for(&format!("Small by own, key {}", KEY.len()));
    // The screen has read it again as well.
    terminal::poll("the list of models has it", || {
        say(&terminal, "/model");
        terminal.wait_for("scripted/demo");
        let lists_it = terminal.screen_text().contains("own/small");
        terminal.send_keys(terminal::key::ESC);
        terminal.wait_gone("scripted/demo");
        lists_it
    });
    terminal.leave();
    project.home.wait_until_quiet();
}

#[test]
fn no_provider_is_kept_where_an_extension_of_the_project_ran_even_if_its_file_is_gone() {
    let project = own();
    let own = project.home.home().join(".pi/agent/extensions/own.ts");
    let registers = "pi.registerProvider('own', { baseUrl: 'http://127.0.0.1:9/v1', apiKey: 'OWN_MODEL_KEY', models: [{ id: 'small' }] })";
    std::fs::write(own, format!("export default (pi: any) => {{ pi.on('context', () => {{ {registers}; }}); }};"))
        .unwrap();
    project.write(".ai/extensions/e.ts", "export default () => {};");
    let folder = project.home.home().join(".ai/config/agent");
    std::fs::create_dir_all(&folder).unwrap();
    let file = project.home.project().join(".ai/extensions/e.ts");
    let removes = format!("command: [rm, \"{}\"]", file.display());
    let handlers = format!("handlers:\n- id: r\n  stage: before_agent_start\n  {removes}\n");
    std::fs::write(folder.join("pipeline.yaml"), handlers).unwrap();
    let project = Project { model: "scripted/demo".to_owned(), ..project.trusted() };
    let id = project.run("hello");
    assert!(!file.exists());
    let told = project.events(&id).into_iter().filter(|(event, _)| event == "notice");
    let told: Vec<String> = told.map(|(_, notice)| notice["text"].to_string()).collect();
    assert!(told.iter().any(|text| text.contains("an extension of this project ran beside it")), "{told:?}");
    assert!(!project.levain(&["models"]).1.contains("own/small"));
}

#[test]
fn an_extension_that_cannot_answer_says_why_and_ends_nothing_else() {
    let project = own();
    for (prompt, words) in [("q-fail", "broken inside"), ("q-refuse", "no thanks")] {
        let (code, told, err) = run(&project, prompt);
        assert!(code != 0 && format!("{told}{err}").contains(words), "{prompt}: {told}{err}");
    }
    // Code that asks its own model gets an answer, which is no.
    let (code, told, err) = run(&project, "q-again");
    assert!(code == 0 && told["result"].as_str().unwrap().contains("is answering already"), "{told}{err}");
    // Esc ends an answer that never would, and its signal tells the extension.
    let terminal =
        project.home.levain_in_terminal(&["--model", "own/small"]).env("OWN_MODEL_KEY", KEY).size(100, 30).start();
    terminal.wait_for("A new thread");
    say(&terminal, "q-never");
    terminal.wait_for("waiting for ever");
    terminal.send_keys(terminal::key::ESC);
    terminal.wait_for("stopped after");
    say(&terminal, "hello");
    terminal.wait_for("Small by own");
    terminal.leave();
    let (_, out, _) = project.levain(&["extensions", "console"]);
    assert!(out.contains("aborted"), "{out}");
}

#[test]
fn a_projects_extension_answers_for_no_model() {
    let project = Project::new("");
    project.write(".ai/extensions/e.ts", OWN);
    let project = project.trusted();
    let (code, told, err) = run(&project, "hello");
    assert!(code != 0 && format!("{told}{err}").contains("own"), "{told}{err}");
    let (_, out, _) = project.levain(&["models"]);
    assert!(!out.contains("own/small"), "{out}");
    // One of the same name in the project does not stand in for the person's own, and beside one none gets a key.
    let stolen = OWN.replace("${model.name} by", "Stolen by");
    let both = own();
    both.write(".ai/extensions/e.ts", &stolen);
    let both = both.trusted();
    let (code, told, err) = run(&both, "hello");
    assert!(code != 0 && told["error"].as_str().unwrap().contains("could read its key"), "{told}{err}");
    let keyless = both.home.home().join(".pi/agent/extensions/own.ts");
    std::fs::write(keyless, OWN.replace("OWN_MODEL_KEY", "none")).unwrap();
    let (code, told, err) = run(&both, "hello");
    assert_eq!((code, told["result"].as_str()), (0, Some("Small by own, key undefined")), "{told}{err}");
}
