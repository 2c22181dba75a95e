//! A project with handlers, and a model that is a script.

use super::terminal::{Home, Terminal, key, output};
use serde_json::{Value, json};
use std::fs;

/// A project with handlers, and a script that answers.
pub struct Project {
    pub home: Home,
    /// What `--model` is given.
    pub model: String,
}

impl Project {
    pub fn new(handlers: &str) -> Self {
        Self::with(handlers, &[done()])
    }

    pub fn with(handlers: &str, replies: &[Value]) -> Self {
        let home = Home::new();
        let script = home.path().join("pipeline.yaml");
        let replies = replies.iter().fold(String::new(), |all, reply| all + &format!("  - {reply}\n"));
        fs::write(&script, format!("name: pipeline\nrate: 0\nreplies:\n{replies}")).unwrap();
        let project = Self { model: format!("scripted/{}", script.display()), home };
        let directive = "```xml\n<directive name=\"work\"><metadata><permissions><execute><tool>rye/bash</tool></execute>\
                         </permissions></metadata></directive>\n```\nWork.\n";
        project.write(".ai/directives/work.md", directive);
        project.write(".ai/config/agent/pipeline.yaml", handlers);
        project
    }

    /// One with an extension that may run.
    pub fn extended(extension: &str, replies: &[Value]) -> Self {
        let project = Self::with("", replies);
        project.write(".ai/extensions/e.ts", extension);
        project.trusted()
    }

    /// The screen, of so many columns and rows.
    pub fn open(&self, arguments: &[&str], (columns, rows): (u16, u16)) -> Terminal {
        let arguments = [&["--model", &self.model], arguments].concat();
        let terminal = self.home.levain_in_terminal(&arguments).size(columns, rows).start();
        terminal.wait_for("A new thread");
        terminal
    }

    /// The same with a thread that has begun, so that its extensions are there.
    pub fn begun(&self, size: (u16, u16)) -> Terminal {
        let terminal = self.open(&[], size);
        say(&terminal, "begin");
        terminal.wait_for("Done.");
        terminal
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.home.project().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn trusted(self) -> Self {
        let (code, _, err) = self.levain(&["trust"]);
        assert_eq!(code, 0, "{err}");
        self
    }

    pub fn levain(&self, arguments: &[&str]) -> (i32, String, String) {
        output(&mut self.home.levain(arguments))
    }

    /// Runs the directive with a prompt; the thread's id.
    pub fn run(&self, prompt: &str) -> String {
        let (code, out, err) = self.levain(&["run", "--json", "--model", &self.model, "--directive", "work", prompt]);
        assert_eq!(code, 0, "{out}{err}");
        let line: Value = serde_json::from_str(out.lines().next().unwrap()).unwrap();
        line["thread_id"].as_str().unwrap().to_owned()
    }

    pub fn events(&self, id: &str) -> Vec<(String, Value)> {
        let log = self.home.project().join(format!(".ai/agent/threads/{id}/transcript.jsonl"));
        let line = |line: &str| {
            let record: Value = serde_json::from_str(line).unwrap();
            (record["event_type"].as_str().unwrap().to_owned(), record["payload"].clone())
        };
        fs::read_to_string(log).unwrap().lines().map(line).collect()
    }

    pub fn event(&self, id: &str, name: &str) -> Value {
        let events = self.events(id);
        events.into_iter().find(|(event, _)| event == name).unwrap_or_else(|| panic!("no {name}")).1
    }

    /// What the handlers of the first request did.
    pub fn of_request(&self, id: &str) -> Vec<Value> {
        let path = self.home.project().join(format!(".ai/agent/threads/{id}/requests/1.json"));
        let record: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        record["pipeline"].as_array().cloned().unwrap_or_default()
    }

    /// Every message of the first request, as `levain context show` tells it.
    pub fn told(&self, id: &str) -> String {
        let (_, out, err) = self.levain(&["context", "show", "--thread", id, "--text"]);
        assert!(!out.is_empty(), "{err}");
        out
    }
}

/// Writes a prompt and sends it.
pub fn say(terminal: &Terminal, text: &str) {
    terminal.send_keys(text);
    terminal.wait_for(text);
    terminal.send_keys(key::ENTER);
}

/// What a model answers that has nothing to say.
pub fn done() -> Value {
    json!({"steps": [{"text": "Done."}]})
}

/// Replies of a model that calls bash once.
pub fn calls_bash(command: &str) -> Vec<Value> {
    vec![
        json!({"when": {"after_tool": "rye_bash"}, "steps": [{"text": "Done."}]}),
        json!({"steps": [{"tool_call": {"name": "rye_bash", "input": {"command": command}}}]}),
    ]
}

/// What the body of an extension's function comes to, or what it throws, where these hosts may be reached.
pub fn extension_returns(body: &str, hosts: &str) -> Value {
    let project = Project::new("");
    let extension = format!(
        "export default (pi: any) => {{ pi.on('input', async () => {{
  let told: any;
  try {{ told = await (async () => {{ {body} }})(); }} catch (error: any) {{ told = `${{error.name}}: ${{error.message}}: ${{error.cause?.message}}`; }}
  return {{ action: 'transform', text: JSON.stringify(told) }};
}}); }};"
    );
    project.write(".ai/extensions/e.ts", &extension);
    let project = project.trusted();
    let mut run = project.home.levain(&["run", "--json", "--model", &project.model, "hello"]);
    let (code, out, err) = output(run.env("LEVAIN_EXTENSION_HOSTS", hosts));
    assert_eq!(code, 0, "{out}{err}");
    let line: Value = serde_json::from_str(out.lines().next().unwrap()).unwrap();
    let prompt = project.event(line["thread_id"].as_str().unwrap(), "cognition_in");
    serde_json::from_str(prompt["text"].as_str().unwrap()).unwrap_or_else(|_| prompt["text"].clone())
}
