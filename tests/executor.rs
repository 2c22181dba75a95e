//! Tools that are files: Python, Node, shell, HTTP and chains, called by a thread of the whole program.

use crate::support::terminal::{Home, write};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;

const ALL: &str = "<execute><tool>*</tool></execute>";

/// A project with tools, and a model that calls `tool` once.
struct Project {
    home: Home,
    model: String,
}

impl Project {
    fn new(files: &[(&str, &str)], permissions: &str, tool: &str, input: &Value) -> Self {
        let home = Home::new();
        let name = tool.replace(['/', '-'], "_");
        let script = json!({ "name": "s", "rate": 0, "replies": [
            { "when": { "after_tool": name }, "steps": [{ "text": "Done." }] },
            { "steps": [{ "tool_call": { "name": name, "input": input } }] },
        ]});
        write(&home.path().join("s.yaml"), &script.to_string());
        let directive = format!(
            "```xml\n<directive name=\"x\" version=\"1.0.0\"><metadata><description>d</description><permissions>{permissions}\
             <acknowledge risk=\"unrestricted\">a test</acknowledge></permissions></metadata></directive>\n```\nDo it.\n"
        );
        write(&home.project().join(".ai/directives/x.md"), &directive);
        for (path, text) in files {
            write(&home.project().join(path), text);
        }
        Self { model: format!("scripted/{}", home.path().join("s.yaml").display()), home }
    }

    fn trusted(self) -> Self {
        let trust = self.home.levain(&["trust"]).stdin(Stdio::null()).output().unwrap();
        assert!(trust.status.success(), "{}", String::from_utf8_lossy(&trust.stderr));
        self
    }

    fn command(&self) -> Command {
        self.home.levain(&["run", "--json", "--model", &self.model, "--directive", "x", "go"])
    }

    /// The result of the call as the model got it.
    fn result(&self) -> String {
        self.result_of(&mut self.command())
    }

    fn result_of(&self, command: &mut Command) -> String {
        let Output { stderr, .. } = command.stdin(Stdio::null()).output().unwrap();
        let threads = fs::read_dir(self.home.project().join(".ai/agent/threads")).into_iter().flatten().flatten();
        let logs = threads.filter_map(|entry| fs::read_to_string(entry.path().join("transcript.jsonl")).ok());
        let events: Vec<Value> =
            logs.collect::<String>().lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let result = events.iter().find(|event| event["event_type"] == "tool_call_result");
        let result = result.unwrap_or_else(|| panic!("no result: {}", String::from_utf8_lossy(&stderr)));
        result["payload"]["output"].as_str().unwrap().to_owned()
    }

    /// The same as an envelope.
    fn envelope(&self) -> Value {
        let text = self.result();
        serde_json::from_str(text.lines().next().unwrap()).unwrap_or_else(|error| panic!("{error}: {text}"))
    }
}

const FUNCTION: &str = r#"
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python/function"
__tool_description__ = "Adds"
CONFIG_SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}, "text": {"type": "string"}}, "required": ["a"]}

import os
import sys


async def execute(params, project_path):
    print("noise on standard output")
    return {"sum": params["a"] + 1, "text": params.get("text"), "python": sys.prefix, "project": project_path,
            "secret": os.environ.get("ANTHROPIC_API_KEY")}
"#;

#[test]
fn a_python_function_runs_in_the_projects_venv_and_gets_its_parameters_as_data() {
    let text = "${HOME} {tool_path} $(touch pwned) `id` \u{1b}]0;x\u{7}";
    let project =
        Project::new(&[(".ai/tools/team/add.py", FUNCTION)], ALL, "team/add", &json!({"a": 41, "text": text}));
    let venv = ["-m", "venv", "--without-pip", ".venv"];
    let made = Command::new("python3").args(venv).current_dir(project.home.project()).stdin(Stdio::null()).status();
    assert!(made.unwrap().success());
    let project = project.trusted();
    let envelope = project.envelope();
    assert_eq!((&envelope["status"], &envelope["data"]["sum"]), (&json!("success"), &json!(42)), "{envelope}");
    assert_eq!(envelope["data"]["text"], text, "a parameter was rewritten on its way");
    let prefix = envelope["data"]["python"].as_str().unwrap();
    assert_eq!(fs::canonicalize(prefix).unwrap(), fs::canonicalize(project.home.project().join(".venv")).unwrap());
    assert_eq!(envelope["data"]["secret"], Value::Null);
    let chain = json!(["team/add", "rye/core/runtimes/python/function", "rye/core/primitives/execute"]);
    assert_eq!(envelope["chain"], chain);
    assert!(envelope["metadata"]["duration_ms"].is_u64());
    assert!(!project.home.project().join("pwned").exists());
    project.home.wait_until_quiet();
}

#[test]
fn nothing_of_a_project_that_is_not_trusted_runs() {
    let tool = FUNCTION.replace("return {", "open('ran', 'w')\n    return {");
    let project = Project::new(&[(".ai/tools/team/add.py", &tool)], ALL, "team/add", &json!({"a": 1}));
    // Answered beforehand or not: without trust there is nothing to run.
    for extra in [&[][..], &["--allow", "team/add"]] {
        let result = project.result_of(project.command().args(extra));
        assert!(!project.home.project().join("ran").exists(), "{result}");
    }
    // Changed after it was trusted.
    let project = Project::new(&[(".ai/tools/team/add.py", FUNCTION)], ALL, "team/add", &json!({"a": 1})).trusted();
    write(&project.home.project().join(".ai/tools/team/add.py"), &tool);
    let result = project.result_of(project.command().args(["--allow", "team/add"]));
    assert!(!project.home.project().join("ran").exists(), "{result}");
}

#[test]
fn a_persons_tool_takes_no_module_and_no_interpreter_of_the_project_it_works_in() {
    let project = Project::new(&[], ALL, "team/add", &json!({"a": 41}));
    write(&project.home.home().join(".ai/tools/team/add.py"), FUNCTION);
    let evil = "open('ran', 'w')\n";
    for name in ["asyncio", "inspect", "json"] {
        write(&project.home.project().join(format!("{name}.py")), evil);
    }
    let interpreter = project.home.project().join(".venv/bin/python3");
    write(&interpreter, "#!/bin/sh\ntouch ran\n");
    fs::set_permissions(&interpreter, fs::Permissions::from_mode(0o755)).unwrap();
    let result = project.result_of(project.command().args(["--allow", "team/add"]));
    assert!(!project.home.project().join("ran").exists(), "{result}");
    assert!(result.contains("\"sum\": 42") || result.contains("\"sum\":42"), "{result}");
}

#[test]
fn running_a_tool_does_not_end_the_trust_in_its_project() {
    let tool = FUNCTION.replace("import os\n", "import os\nfrom helper import ONE\n");
    let files = [(".ai/tools/team/add.py", tool.as_str()), (".ai/tools/team/helper.py", "ONE = 1\n")];
    let project = Project::new(&files, ALL, "team/add", &json!({"a": 1})).trusted();
    for _ in 0..2 {
        let result = project.result_of(project.command().args(["--allow", "team/add"]));
        assert!(result.contains("success"), "{result}");
        assert!(!project.home.project().join(".ai/tools/team/__pycache__").exists());
        fs::remove_dir_all(project.home.project().join(".ai/agent/threads")).unwrap();
    }
}

#[test]
fn a_python_script_a_node_tool_and_a_shell_tool_run() {
    let script = "__tool_type__ = \"python\"\n__executor_id__ = \"rye/core/runtimes/python/script\"\n\
                  CONFIG_SCHEMA = {\"type\": \"object\", \"properties\": {\"n\": {\"type\": \"integer\"}}}\n\
                  import json, sys\nprint(json.dumps({\"double\": json.load(sys.stdin)[\"n\"] * 2, \"args\": sys.argv[1]}))\n";
    let project = Project::new(&[(".ai/tools/a/double.py", script)], ALL, "a/double", &json!({"n": 4})).trusted();
    let envelope = project.envelope();
    assert_eq!(envelope["data"], json!({"double": 8, "args": "--project-path"}), "{envelope}");

    let node = "export const description = \"Greets\";\nexport const tool_type = \"javascript\";\n\
                export const executor_id = \"rye/core/runtimes/node/node\";\n\
                export const CONFIG_SCHEMA = { type: \"object\", properties: { name: { type: \"string\" } } };\n\
                let text = \"\"; for await (const piece of process.stdin) text += piece;\n\
                console.log(JSON.stringify({ hello: JSON.parse(text).name }));\n";
    let project = Project::new(&[(".ai/tools/a/greet.mjs", node)], ALL, "a/greet", &json!({"name": "Ada"})).trusted();
    let envelope = project.envelope();
    assert_eq!(envelope["data"], json!({"hello": "Ada"}), "{envelope}");

    let shell = "#!/bin/bash\n# description: Counts\n# tool_type: shell\n# executor_id: rye/core/runtimes/bash/bash\n\
                 # config_schema: {\"type\": \"object\", \"properties\": {\"word\": {\"type\": \"string\"}}}\n\
                 echo \"word: $PARAM_WORD\"; cat; echo; echo \"said\" >&2; exit 0\n";
    let project =
        Project::new(&[(".ai/tools/a/count.sh", shell)], ALL, "a/count", &json!({"word": "a; touch b"})).trusted();
    let text = project.result();
    assert!(text.contains("word: a; touch b") && text.contains("said"), "{text}");
    assert!(!project.home.project().join("b").exists());
}

#[test]
fn a_chain_of_two_files_reaches_a_primitive() {
    let runtime = "version: \"1.0.0\"\ntool_type: runtime\nexecutor_id: rye/core/primitives/execute\ncategory: run\n\
                   description: d\nenv_config:\n  interpreter: {type: system_binary, binary: python3, var: MY_PYTHON}\n  \
                   env: {GREETING: \"hello from {project_path}\"}\nconfig:\n  command: \"${MY_PYTHON}\"\n  \
                   args: [\"{tool_path}\", \"--\", \"{word}\"]\n  timeout: 20\n";
    let tool = "__tool_type__ = \"python\"\n__executor_id__ = \"run/mine\"\n\
                CONFIG_SCHEMA = {\"type\": \"object\", \"properties\": {\"word\": {\"type\": \"string\"}}}\n\
                import json, os, sys\nprint(json.dumps({\"args\": sys.argv[1:], \"greeting\": os.environ[\"GREETING\"], \
                \"stdin\": json.load(sys.stdin)}))\n";
    let files = [(".ai/tools/run/mine.yaml", runtime), (".ai/tools/a/say.py", tool)];
    let project = Project::new(&files, ALL, "a/say", &json!({"word": "--x; rm"})).trusted();
    let envelope = project.envelope();
    assert_eq!(envelope["data"]["args"], json!(["--", "--x; rm"]), "{envelope}");
    assert_eq!(envelope["data"]["stdin"], json!({"word": "--x; rm"}));
    assert!(envelope["data"]["greeting"].as_str().unwrap().starts_with("hello from /"));
    assert_eq!(envelope["chain"], json!(["a/say", "run/mine", "rye/core/primitives/execute"]));
}

#[test]
fn chains_that_lead_back_up_or_nowhere_are_refused_in_words() {
    let tool = |executor: &str| {
        format!(
            "tool_type: x\nexecutor_id: {executor}\ndescription: d\nconfig_schema: {{type: object}}\nconfig: {{command: sh, args: [-c, 'echo {{word}}']}}\n"
        )
    };
    let circle = [(".ai/tools/a/one.yaml", tool("a/two")), (".ai/tools/a/two.yaml", tool("a/one"))];
    let files: Vec<(&str, &str)> = circle.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let result = Project::new(&files, ALL, "a/one", &json!({})).trusted().result();
    assert!(result.contains("lead back to `a/one`"), "{result}");
    let result =
        Project::new(&[(".ai/tools/a/one.yaml", &tool("no/such"))], ALL, "a/one", &json!({})).trusted().result();
    assert!(result.contains("`no/such` does not exist"), "{result}");
    let templated = tool("rye/core/primitives/execute");
    let result = Project::new(&[(".ai/tools/a/one.yaml", &templated)], ALL, "a/one", &json!({})).trusted().result();
    assert!(result.contains("a parameter has to be a whole argument"), "{result}");
    // A person's own tool must not lean on a file of whatever project is open.
    let project =
        Project::new(&[(".ai/tools/run/mine.yaml", &tool("rye/core/primitives/execute"))], ALL, "a/up", &json!({}));
    write(&project.home.home().join(".ai/tools/a/up.yaml"), &tool("run/mine"));
    let result = project.trusted().result();
    assert!(result.contains("cannot depend"), "{result}");
}

/// Answers one request and returns what it was.
fn server() -> (u16, mpsc::Receiver<(String, String)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, requests) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut head, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                if reader.read_line(&mut line).unwrap_or(0) <= 2 {
                    break;
                }
                if let Some(count) = line.to_lowercase().strip_prefix("content-length:") {
                    length = count.trim().parse().unwrap();
                }
                head.push_str(&line);
            }
            let mut body = vec![0; length];
            reader.read_exact(&mut body).unwrap();
            let answer = "{\"made\": 7}";
            write!(
                stream,
                "HTTP/1.1 201 Created\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{answer}",
                answer.len()
            )
            .unwrap();
            if sender.send((head, String::from_utf8(body).unwrap())).is_err() {
                return;
            }
        }
    });
    (port, requests)
}

#[test]
fn an_http_tool_sends_its_parameters_encoded_and_no_key_that_was_not_named() {
    let (port, requests) = server();
    let tool = format!(
        "tool_type: http\nexecutor_id: rye/core/primitives/http_client\ndescription: d\nconfig_schema: {{type: object}}\n\
         config:\n  method: POST\n  url: \"http://127.0.0.1:{port}/issues/{{repo}}\"\n  headers: {{X-Token: \"${{MY_TOKEN}}\"}}\n  \
         body: {{title: \"{{title}}\", labels: [\"{{label}}\"]}}\n"
    );
    let input = json!({"repo": "../admin?x", "title": "a \"b\" {label}"});
    let project = Project::new(&[(".ai/tools/a/issue.yaml", &tool)], ALL, "a/issue", &input).trusted();
    let result = project.result();
    assert!(result.contains("it needs the variable MY_TOKEN") && requests.try_recv().is_err(), "{result}");
    let project = Project::new(&[(".ai/tools/a/issue.yaml", &tool)], ALL, "a/issue", &input).trusted();
    write(&project.home.config().join("config.toml"), "tool_environment = [\"MY_TOKEN\"]\n");
    let result = project.result_of(project.command().env("MY_TOKEN", "t0k"));
    let envelope: Value = serde_json::from_str(&result).unwrap();
    assert_eq!(envelope["data"], json!({"status_code": 201, "content_type": "application/json", "body": {"made": 7}}));
    let (head, body) = requests.recv().unwrap();
    assert!(
        head.starts_with("POST /issues/%2E%2E%2Fadmin%3Fx HTTP/1.1") && head.to_lowercase().contains("x-token: t0k"),
        "{head}"
    );
    assert_eq!(serde_json::from_str::<Value>(&body).unwrap(), json!({"title": "a \"b\" {label}", "labels": []}));
}

#[test]
fn a_dry_run_says_what_would_be_done_and_does_nothing() {
    let tool = FUNCTION.replace("return {", "open('ran', 'w')\n    return {");
    let input = json!({"item_type": "tool", "item_id": "team/add", "parameters": {"a": 1}, "dry_run": true});
    let permissions = "<execute><tool>*</tool></execute>";
    let project = Project::new(&[(".ai/tools/team/add.py", &tool)], permissions, "rye/execute", &input).trusted();
    let envelope = project.envelope();
    assert_eq!((&envelope["dry_run"], &envelope["data"]["input"]), (&json!(true), &json!({"a": 1})), "{envelope}");
    assert!(
        envelope["data"]["command"].as_array().unwrap().iter().any(|word| word.as_str().unwrap().ends_with("add.py"))
    );
    assert!(!project.home.project().join("ran").exists());
    let remote = json!({"item_type": "tool", "item_id": "team/add", "target": "remote", "dry_run": true});
    let project = Project::new(&[(".ai/tools/team/add.py", &tool)], permissions, "rye/execute", &remote).trusted();
    assert!(project.result().contains("levain runs items on this machine only"));
}

#[test]
fn a_failure_says_why_in_one_line_and_a_missing_module_is_named() {
    let raises = FUNCTION.replace("print(\"noise", "raise ValueError('it is wrong')\n    print(\"noise");
    let project = Project::new(&[(".ai/tools/a/b.py", &raises)], ALL, "a/b", &json!({"a": 1})).trusted();
    let result = project.result();
    assert!(result.ends_with("a/b: ValueError: it is wrong (exit code 1)"), "{result}");
    let says = FUNCTION.replace("return {", "return {'success': False, 'error': 'no such thing',");
    let project = Project::new(&[(".ai/tools/a/b.py", &says)], ALL, "a/b", &json!({"a": 1})).trusted();
    assert!(project.result().ends_with("a/b: no such thing"));
    let imports = FUNCTION.replace("import os\n", "import os\nimport rye.engine\n");
    let project = Project::new(&[(".ai/tools/a/b.py", &imports)], ALL, "a/b", &json!({"a": 1})).trusted();
    let result = project.result();
    assert!(result.contains("it needs the Python module `rye`, which /"), "{result}");
}

#[test]
fn a_tool_that_takes_too_long_ends_with_all_that_it_started() {
    let tool = "#!/bin/bash\n# tool_type: shell\n# executor_id: rye/core/runtimes/bash/bash\n\
                # config_schema: {\"type\": \"object\"}\n# config: {\"timeout\": 1}\nsetsid sleep 4713 & sleep 4713\n";
    let project = Project::new(&[(".ai/tools/a/slow.sh", tool)], ALL, "a/slow", &json!({})).trusted();
    let result = project.result();
    assert!(result.contains("ended after 1 s"), "{result}");
    project.home.wait_until_quiet();
}

#[test]
fn a_file_of_the_project_takes_the_place_of_a_built_in_tool() {
    let tool = FUNCTION
        .replace("\"sum\": params[\"a\"] + 1", "\"sum\": params[\"command\"]")
        .replace("\"a\": {\"type\": \"integer\"}", "\"command\": {\"type\": \"string\"}")
        .replace("[\"a\"]", "[\"command\"]");
    let project =
        Project::new(&[(".ai/tools/rye/bash.py", &tool)], ALL, "rye/bash", &json!({"command": "touch ran"})).trusted();
    let envelope = project.envelope();
    assert_eq!(envelope["data"]["sum"], "touch ran", "{envelope}");
    assert!(!project.home.project().join("ran").exists());
}

#[test]
fn a_bundles_tools_run_under_the_interpreter_they_were_installed_with() {
    let project = Project::new(&[], ALL, "team/add", &json!({"a": 1}));
    // PREFIX/lib/python3/site-packages/team_items/.ai, as pip lays it out.
    let prefix = project.home.path().join("prefix");
    let bundle = prefix.join("lib/python3/site-packages/team_items");
    write(&bundle.join(".ai/tools/team/add.py"), FUNCTION);
    let python = Command::new("sh").args(["-c", "command -v python3"]).output().unwrap().stdout;
    let python = String::from_utf8(python).unwrap();
    write(
        &prefix.join("bin/python3"),
        &format!("#!/bin/sh\nexport ANTHROPIC_API_KEY=theirs\nexec {} \"$@\"\n", python.trim()),
    );
    fs::set_permissions(prefix.join("bin/python3"), PermissionsExt::from_mode(0o755)).unwrap();
    symlink(&bundle, project.home.path().join("unused")).unwrap();
    let project = project.trusted();
    let result = project.result_of(project.command().env("LEVAIN_SYSTEM_SPACE", &bundle));
    let envelope: Value = serde_json::from_str(result.lines().next().unwrap()).unwrap();
    assert_eq!((&envelope["data"]["sum"], &envelope["data"]["secret"]), (&json!(2), &json!("theirs")), "{result}");
}

#[test]
fn a_sandboxed_tool_stays_inside() {
    if !levain::tools::sandbox::Offered::here().holds() {
        return;
    }
    let tool = FUNCTION.replace("return {", "open('inside', 'w').close() if not os.path.exists('inside') else None\n    open('../outside', 'w')\n    return {");
    let granted = "<execute sandbox=\"true\"><tool>team/*</tool></execute>";
    let project = Project::new(&[(".ai/tools/team/add.py", &tool)], granted, "team/add", &json!({"a": 1})).trusted();
    let result = project.result();
    assert!(result.contains("The sandbox seems to have refused this"), "{result}");
    assert!(!project.home.path().join("outside").exists());
}

/// A Python function that answers with `answer`.
fn answering(schema: &str, answer: &str) -> String {
    format!(
        "__version__ = \"1.0.0\"\n__tool_type__ = \"python\"\n__executor_id__ = \"rye/core/runtimes/python/function\"\n\
         __tool_description__ = \"Answers\"\nCONFIG_SCHEMA = {schema}\n\n\n\
         async def execute(params, project_path):\n    return {answer}\n"
    )
}

#[test]
fn s17_two_tools_of_one_name_are_each_called_by_its_own() {
    let any = r#"{"type": "object"}"#;
    let (one, other) = (answering(any, r#"{"which": "a/b-c"}"#), answering(any, r#"{"which": "a/b_c"}"#));
    let files = [(".ai/tools/a/b-c.py", one.as_str()), (".ai/tools/a/b_c.py", other.as_str())];
    let mut reached = Vec::new();
    for name in ["a_b_c", "a_b_c_2"] {
        let project = Project::new(&files, ALL, name, &json!({})).trusted();
        let envelope = project.envelope();
        assert_eq!(envelope["data"]["which"], envelope["item_id"], "{envelope}");
        reached.push(envelope["item_id"].as_str().unwrap().to_owned());
        // What one of them is granted, the other is not.
        let grant = format!("<execute><tool>{}</tool></execute>", reached[reached.len() - 1]);
        let project = Project::new(&files, &grant, "a_b_c", &json!({})).trusted();
        let envelope = project.envelope();
        assert_eq!(envelope["data"]["which"], reached[reached.len() - 1], "{envelope}");
    }
    reached.sort();
    assert_eq!(reached, ["a/b-c", "a/b_c"]);
}

#[test]
fn s17_parameters_that_are_called_like_settings_are_parameters() {
    let schema = r#"{"type": "object", "properties": {"timeout": {"type": "integer"}, "cwd": {"type": "string"}}}"#;
    let tool = answering(schema, "{\"params\": params}");
    let input = json!({"timeout": 1, "cwd": "/etc", "server": "mcp/servers/x", "tool_name": "rm", "command": "true"});
    let project = Project::new(&[(".ai/tools/team/odd.py", &tool)], ALL, "team/odd", &input).trusted();
    let envelope = project.envelope();
    assert_eq!(envelope["data"]["params"], input, "{envelope}");
}

#[test]
fn s17_an_unsigned_tool_is_not_run_where_signatures_are_required() {
    let tool = answering(r#"{"type": "object"}"#, "{\"ran\": True}");
    for signed in [false, true] {
        let project = Project::new(&[(".ai/tools/team/odd.py", &tool)], ALL, "team/odd", &json!({}));
        let levain = |arguments: &[&str]| {
            let done = project.home.levain(arguments).stdin(Stdio::null()).output().unwrap();
            assert!(done.status.success(), "{done:?}");
        };
        let path = |name: &str| project.home.project().join(name).display().to_string();
        levain(&["keys", "generate"]);
        levain(&["sign", &path(".ai/directives/x.md")]);
        if signed {
            levain(&["sign", &path(".ai/tools/team/odd.py")]);
        }
        fs::create_dir_all(project.home.config()).unwrap();
        fs::write(project.home.config().join("config.toml"), "signatures = \"project=require\"\n").unwrap();
        let project = project.trusted();
        let result = project.result();
        if signed {
            assert!(result.contains("\"ran\":true"), "{result}");
        } else {
            assert!(result.contains("is not signed") && !result.contains("ran"), "{result}");
        }
    }
}
