//! Models that answer by the code of an extension (`streamSimple`).

use crate::support::files::all_files;
use crate::support::scripted_project::{Project, say};
use crate::support::terminal;
use crate::support::wire_server::{self, WireServer};
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

/// What a model of a vendor answers to `hello`, which is asked at `server`.
fn at_vendor(project: &Project, server: &WireServer) -> (i32, String) {
    let mut run = project.home.levain(&["run", "--model", "openai/gpt-4.1", "hello"]);
    run.env("OPENAI_BASE_URL", server.base("/v1")).env("OPENAI_API_KEY", wire_server::KEY);
    let (code, out, err) = terminal::output(&mut run);
    (code, out + &err)
}

/// Whoever watches limits reads them from the headers, which hold neither cookies nor the key.
#[test]
fn an_extension_is_told_how_a_provider_begins_to_answer() {
    let project = Project::with("", &[]);
    project.write(
        ".ai/extensions/e.ts",
        r#"import fs from "node:fs";
export default (pi: any) => {
  pi.on("after_provider_response", (event: any) => fs.writeFileSync("head", JSON.stringify([event.status, event.headers])));
};"#,
    );
    let project = project.trusted();
    let server = WireServer::start("Hello.");
    let (code, told) = at_vendor(&project, &server);
    assert_eq!(code, 0, "{told}");
    let head = std::fs::read_to_string(project.home.project().join("head")).unwrap();
    let head: Value = serde_json::from_str(&head).unwrap();
    assert_eq!((&head[0], &head[1]["x-ratelimit-remaining"]), (&200.into(), &"7".into()), "{head}");
    assert!(head[1].get("set-cookie").is_none() && head[1].get("x-echo").is_none(), "{head}");
}

/// Gateways are told by headers whose request it is. A key is neither seen nor set, and no value is kept.
#[test]
fn an_extension_sets_headers_of_requests_and_sees_no_key() {
    let project = own();
    let file = project.home.home().join(".pi/agent/extensions/own.ts");
    std::fs::write(
        file,
        r#"import fs from "node:fs";
export default (pi: any) => {
  pi.registerProvider("openai", { headers: { "x-team": "bread", "x-old": "1", "authorization": "Bearer other" } });
  pi.on("before_provider_headers", (event: any) => {
    fs.writeFileSync("headers", JSON.stringify(event.headers));
    event.headers["X-Session-Id"] = "session 7";
    event.headers["x-old"] = null;
    return { headers: { "x-answered": "counts for nothing" } };
  });
  pi.on("before_provider_headers", (event: any) => { event.headers.authorization = "Bearer mine"; });
  pi.on("before_provider_headers", (event: any) => { event.headers["x-seen"] = Object.keys(event.headers).sort().join(" "); });
};"#,
    )
    .unwrap();
    let server = WireServer::start("Hello.");
    let (code, told) = at_vendor(&project, &server);
    assert_eq!(code, 0, "{told}");
    let seen = std::fs::read_to_string(project.home.project().join("headers")).unwrap();
    let seen: Value = serde_json::from_str(&seen).unwrap();
    assert_eq!(seen, serde_json::json!({"x-team": "bread", "x-old": "1"}));
    let [headers] = server.headers().try_into().unwrap();
    let header = |name: &str| headers.get(name).map(|value| value.to_str().unwrap().to_owned());
    assert_eq!(header("x-session-id").as_deref(), Some("session 7"));
    assert_eq!(header("x-seen").as_deref(), Some("x-session-id x-team"));
    assert_eq!(header("x-team").as_deref(), Some("bread"));
    assert_eq!((header("x-old"), header("x-answered")), (None, None));
    assert_eq!(header("authorization"), Some(format!("Bearer {}", wire_server::KEY)));
    // What became of it is told by name, and what was set is kept nowhere.
    let threads = project.home.project().join(".ai/agent/threads");
    let thread = std::fs::read_dir(threads).unwrap().next().unwrap().unwrap().path();
    let id = thread.file_name().unwrap().to_str().unwrap().to_owned();
    let told = serde_json::to_string(&project.events(&id)).unwrap();
    assert!(told.contains("it set the header `authorization`, which the provider itself sends"), "{told}");
    let steps = project.of_request(&id);
    assert_eq!(steps.len(), 3, "{steps:?}");
    let ai = project.home.project().join(".ai");
    let files = all_files(&ai);
    for (path, bytes) in &files {
        assert!(!bytes.windows(9).any(|window| window == b"session 7"), "{}", path.display());
    }
    assert!(files.len() > 5, "{}", files.len());
}

/// As pi has it: `$NAME` and a name of a variable that is set are that, anything else is the key itself.
#[test]
fn keys_and_headers_of_a_provider_are_variables_or_stand_there() {
    let project = own();
    let server = WireServer::start("Hello.");
    let text = r#"const models = [{ id: "m", name: "m", input: ["text"], cost: { input: 0, output: 0 }, contextWindow: 10000, maxTokens: 1000 }];
const base = { baseUrl: "BASE", api: "openai-completions", models };
export default (pi: any) => {
  pi.registerProvider("dollar", { ...base, apiKey: "$OWN_PASS", headers: { "x-mine": "${OWN_PASS}", "x-team": "bread" } });
  pi.registerProvider("named", { ...base, apiKey: "OWN_PASS" });
  pi.registerProvider("literal", { ...base, apiKey: "KEY" });
  pi.registerProvider("command", { ...base, apiKey: "!echo x" });
  pi.on("before_provider_headers", (event: any) => { event.headers["x-seen"] = Object.keys(event.headers).sort().join(" "); });
};"#;
    let text = text.replace("BASE", &server.base("/v1")).replace("KEY", wire_server::KEY);
    std::fs::write(project.home.home().join(".pi/agent/extensions/own.ts"), text).unwrap();
    let ask = |provider: &str, is_set: bool| {
        let mut run = project.home.levain(&["run", "--model", &format!("{provider}/m"), "hello"]);
        if is_set {
            run.env("OWN_PASS", wire_server::KEY);
        }
        let (code, out, err) = terminal::output(&mut run);
        (code, out + &err)
    };
    for (provider, is_set) in [("dollar", true), ("named", true), ("literal", false)] {
        let (code, told) = ask(provider, is_set);
        assert!(code == 0 && told.contains("Hello."), "{provider}: {told}");
    }
    let all = server.headers();
    let header = |at: usize, name: &str| all[at].get(name).map(|value| value.to_str().unwrap().to_owned());
    for at in 0..3 {
        assert_eq!(header(at, "authorization"), Some(format!("Bearer {}", wire_server::KEY)), "{at}");
    }
    assert_eq!(header(0, "x-mine").as_deref(), Some(wire_server::KEY));
    // Handlers do not see what a variable holds.
    assert_eq!(header(0, "x-seen").as_deref(), Some("x-team"));
    let (code, told) = ask("dollar", false);
    assert!(code != 0 && told.contains("OWN_PASS"), "{told}");
    let (code, told) = ask("command", false);
    assert!(code != 0 && told.contains("wants a command run for its key"), "{told}");
    for (path, bytes) in all_files(&project.home.project().join(".ai")) {
        let holds = bytes.windows(wire_server::KEY.len()).any(|window| window == wire_server::KEY.as_bytes());
        assert!(!holds, "{}", path.display());
    }
}

/// Its prompts would go to the vendor, and not where the extension would have them.
#[test]
fn a_provider_that_is_built_in_is_not_asked_while_an_extension_describes_it_with_a_mistake() {
    let project = own();
    let server = WireServer::start("Hello from the vendor.");
    let file = project.home.home().join(".pi/agent/extensions/own.ts");
    let write = |body: &str| std::fs::write(&file, format!("export default (pi: any) => {{ {body} }};")).unwrap();
    let proxy = "\"openai\", { api: \"smoke\", baseUrl: \"http://127.0.0.1:9/v1\" }";
    let lacks = "\"openai\", { apiKey: \"OPENAI_API_KEY\", models: [{ id: \"gpt-4.1\" }] }";
    for (body, why) in [
        (format!("pi.registerProvider({proxy})"), "the api `smoke`, which is not known"),
        (format!("pi.registerProvider({lacks})"), "\"baseUrl\" is required"),
        (format!("pi.registerProvider({proxy}); throw new Error(\"half done\")"), "half done"),
        (format!("pi.registerProvider({proxy}"), "own.ts"),
    ] {
        write(&body);
        let (code, told) = at_vendor(&project, &server);
        let refused = "does not use provider openai while its file has a mistake";
        assert!(code != 0 && told.contains(refused) && told.contains(why), "{body}: {told}");
    }
    for (config, why) in [(proxy, "the api `smoke`"), (lacks, "\"baseUrl\" is required")] {
        write(&format!("pi.on(\"session_start\", () => {{ pi.registerProvider({config}); }});"));
        let (code, told) = at_vendor(&project, &server);
        assert!(code != 0 && told.contains("does not use provider openai") && told.contains(why), "{config}: {told}");
    }
    assert_eq!(server.asked(), [""; 0]);
    write(&format!(
        "pi.on(\"session_start\", () => {{ try {{ pi.registerProvider({lacks}); }} catch {{ }} pi.unregisterProvider(\"openai\"); }});"
    ));
    let (code, told) = at_vendor(&project, &server);
    assert!(code == 0 && told.contains("Hello from the vendor."), "{told}");
    write("pi.registerProvider(\"openai\", { headers: { \"X-Of\": \"me\" } })");
    let (code, told) = at_vendor(&project, &server);
    assert!(code == 0 && told.contains("Hello from the vendor."), "{told}");
    assert_eq!(server.asked().len(), 2);
    // What is known already may be said again, also beside an extension of the project.
    let config = "{ headers: { \"X-Of\": \"me\" } }";
    write(&format!(
        "pi.registerProvider(\"openai\", {config}); pi.on(\"session_start\", () => pi.registerProvider(\"openai\", {config}));"
    ));
    project.write(".ai/extensions/e.ts", "export default () => {};");
    let project = project.trusted();
    let (code, told) = at_vendor(&project, &server);
    assert!(code == 0 && told.contains("Hello from the vendor."), "{told}");
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

/// The notices of a thread that `levain run --json` told of.
fn notices(project: &Project, told: &Value) -> Vec<String> {
    let events = project.events(told["thread_id"].as_str().unwrap()).into_iter();
    let notices = events.filter(|(event, _)| event == "notice");
    notices.map(|(_, notice)| notice["text"].as_str().unwrap().to_owned()).collect()
}

/// Those of a thread that asks no vendor.
fn told_in_a_thread(project: &Project) -> Vec<String> {
    let (_, out, err) = project.levain(&["run", "--json", "--model", "scripted/demo", "hello"]);
    notices(project, &serde_json::from_str(out.lines().next().unwrap_or_else(|| panic!("{err}"))).unwrap())
}

#[test]
fn a_provider_that_is_registered_while_a_thread_runs_counts_for_those_that_start_later() {
    let project = own();
    let file = project.home.home().join(".pi/agent/extensions/own.ts");
    std::fs::write(&file, late(&project)).unwrap();
    let listed = || project.levain(&["models"]).1.contains("own/small");
    let scripted = || told_in_a_thread(&project);
    assert!(!listed());
    assert_eq!(scripted(), ["own.ts: the provider own is there from here on"]);
    assert!(listed());
    let (code, told, err) = run(&project, "hello");
    assert_eq!((code, told["result"].as_str()), (0, Some("Small by own, key 20")), "{err}");
    assert_eq!(notices(&project, &told), [""; 0], "it is told once");
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

/// A provider that is asked at `server`.
fn asked_at(server: &WireServer) -> String {
    let models = "[{ id: \"small\", contextWindow: 32000, maxTokens: 4096 }]";
    let address = server.base("/v1");
    format!("pi.registerProvider(\"own\", {{ baseUrl: \"{address}\", apiKey: \"OWN_MODEL_KEY\", models: {models} }});")
}

#[test]
fn a_provider_may_be_registered_by_another_file_of_the_folder_or_by_a_package() {
    let project = own();
    let extensions = project.home.home().join(".pi/agent/extensions");
    let write = |path: &str, text: &str| {
        let path = extensions.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let server = WireServer::start("Said at the first address.");
    let other = WireServer::start("Said at the second address.");
    let answer = |model: &str| {
        let mut run = project.home.levain(&["run", "--model", model, "--directive", "work", "hello"]);
        let (code, out, err) = terminal::output(run.env("OWN_MODEL_KEY", wire_server::KEY));
        assert_eq!(code, 0, "{err}");
        out + &err
    };
    std::fs::remove_file(extensions.join("own.ts")).unwrap();
    write("own/index.ts", "import { register } from \"./lib/models.ts\"; export default register;");
    let models = |server| format!("export const register = (pi: any) => {{ {} }};", asked_at(server));
    write("own/lib/models.ts", &models(&server));
    assert!(answer("own/small").contains("Said at the first address."));
    write("own/lib/models.ts", &(models(&other) + "\n"));
    assert!(answer("own/small").contains("Said at the second address."));
    // What a package of others registers is known once a thread has loaded it.
    std::fs::remove_dir_all(extensions.join("own")).unwrap();
    write("own/index.ts", "export { default } from \"of-others\";");
    let package = format!("export default (pi) => {{ {} }};", asked_at(&server));
    write("own/node_modules/of-others/index.js", &package);
    let described = r#"{"name": "of-others", "version": "1.0.0", "type": "module", "main": "index.js"}"#;
    write("own/node_modules/of-others/package.json", described);
    let listed = || project.levain(&["models"]).1.contains("own/small");
    assert!(!listed());
    assert_eq!(told_in_a_thread(&project), ["own/index.ts: the provider own is there from here on"]);
    assert!(listed());
    assert!(answer("own/small").contains("Said at the first address."));
    assert_eq!(told_in_a_thread(&project), [""; 0], "it is told once");
}

#[test]
fn a_provider_is_asked_where_its_file_says_since_it_was_saved() {
    let project = own();
    let file = project.home.home().join(".pi/agent/extensions/own.ts");
    let (first, second) = (WireServer::start("Said at the first."), WireServer::start("Said at the second."));
    let write = |body: &str| std::fs::write(&file, format!("export default (pi: any) => {{ {body} }};\n")).unwrap();
    write(&asked_at(&first));
    let levain = project.home.levain_in_terminal(&["--model", "own/small"]);
    let terminal = levain.env("OWN_MODEL_KEY", wire_server::KEY).size(100, 30).start();
    terminal.wait_for("A new thread");
    say(&terminal, "hello");
    terminal.wait_for("Said at the first.");
    write(&format!("// moved\n{}", asked_at(&second)));
    say(&terminal, "hello again");
    terminal.wait_for("Said at the second.");
    write(&format!("// with a mistake\n{}", asked_at(&second).replace("baseUrl", "api: \"none\", baseUrl")));
    say(&terminal, "hello once more");
    terminal.wait_for("the api `none`");
    terminal.leave();
    assert_eq!((first.asked().len(), second.asked().len()), (1, 1));
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
    terminal.wait_for("· stopped");
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

/// The usual shape of a provider of one's own: `streamSimple` changes a little and hands on to pi's stream of a wire form.
#[test]
fn code_that_answers_may_ask_the_server_for_which_it_speaks() {
    let project = own();
    let server = WireServer::start("Said by the server.");
    let file = project.home.home().join(".pi/agent/extensions/own.ts");
    let wraps = format!(
        r#"import {{ streamSimpleOpenAICompletions }} from "@earendil-works/pi-ai";
export default (pi: any) => pi.registerProvider("own", {{ baseUrl: "{}", apiKey: "OWN_MODEL_KEY", api: "openai-completions",
  models: [{{ id: "small", contextWindow: 32000, maxTokens: 4096, cost: {{ input: 10, output: 20, cacheRead: 0, cacheWrite: 0 }} }}],
  streamSimple: (model: any, context: any, options: any) => streamSimpleOpenAICompletions(model, {{ ...context, systemPrompt: "Its own words." }}, {{ ...options, headers: {{ "x-extra": "1", host: "elsewhere" }} }}),
}});"#,
        server.base("/v1")
    );
    std::fs::write(file, wraps).unwrap();
    let asked = |hosts: &str| {
        let mut run = project.home.levain(&["run", "--json", "--model", "own/small", "--directive", "work", "hello"]);
        terminal::output(run.env("OWN_MODEL_KEY", wire_server::KEY).env("LEVAIN_EXTENSION_HOSTS", hosts))
    };
    let (code, out, err) = asked("127.0.0.1");
    assert!(code == 0 && out.contains("Said by the server."), "{out}{err}");
    let (texts, headers) = (server.asked(), server.headers());
    assert!(texts.len() == 1 && texts[0].contains("Its own words.") && texts[0].contains("hello"), "{texts:?}");
    assert_eq!(headers[0].get("x-extra").map(|value| value.to_str().unwrap()), Some("1"));
    assert!(headers[0].get("host").is_none_or(|value| value != "elsewhere"));
    // It counts once: with the answer.
    let line: Value = serde_json::from_str(out.lines().next().unwrap()).unwrap();
    let events = project.events(line["thread_id"].as_str().unwrap());
    let beside = events.iter().filter(|(_, event)| event["entry"]["entry"] == "model_call").collect::<Vec<_>>();
    assert!(beside.len() == 1 && beside[0].1["entry"]["usage"]["output"] == 0, "{beside:?}");
    let answer = events.iter().find(|(event, _)| event == "cognition_out").unwrap();
    assert!(answer.1["usage"]["output"].as_u64() > Some(0), "{answer:?}");
    // Only where the person named the host.
    let (code, out, err) = asked("example.org");
    assert!(code != 0 && format!("{out}{err}").contains("127.0.0.1 has to stand in extension_hosts"), "{out}{err}");
    assert_eq!(server.asked().len(), 1);
    for (file, bytes) in all_files(&project.home.project().join(".ai")) {
        assert!(!String::from_utf8_lossy(&bytes).contains(wire_server::KEY), "{}", file.display());
    }
}
