//! What happens while a handler of the pipeline is waited for, at each stage, with handlers that are programs and with
//! handlers of an extension: nothing that a person wrote is lost or sent twice, a guard never opens by itself, and the thread
//! goes on.

use crate::support::running_thread::{RunningThread, rests};
use crate::support::scripted_project::Project;
use crate::support::terminal;
use levain::domain::event::{Approve, CancelScope, PromptMode};
use levain::domain::{Command, ModelRef, Stage, State};
use rustix::process::{Pid, Signal};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

/// In which form the handlers are written.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    Programs,
    Extension,
}

/// Where the thread is held: handlers of these stages are waited for, and the tool that runs.
const STAGES: [Stage; 9] = [
    Stage::Input,
    Stage::BeforeAgentStart,
    Stage::Context,
    Stage::BeforeProviderRequest,
    Stage::MessageEnd,
    Stage::ToolCall,
    TOOL,
    Stage::ToolResult,
    Stage::SessionBeforeCompact,
];

/// Stands for the tool itself.
const TOOL: Stage = Stage::ToolExecutionStart;

/// What happens meanwhile.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Meanwhile {
    /// Three messages are sent, and one of them is taken back.
    Sends,
    /// Escape: the handler is skipped; a guard and a tool are stopped with the turn.
    Escapes,
    /// The whole thread is stopped.
    Stops,
    /// `kill -9` of the worker.
    Dies,
    /// The worker ends in order.
    Leaves,
    /// Another model is chosen; room, which is asked for too, is made in idle threads alone.
    Chooses,
    /// The handler fails.
    Fails,
    /// The next request fails, and is tried again.
    IsRefused,
}

const MEANWHILE: [Meanwhile; 8] = [
    Meanwhile::Sends,
    Meanwhile::Escapes,
    Meanwhile::Stops,
    Meanwhile::Dies,
    Meanwhile::Leaves,
    Meanwhile::Chooses,
    Meanwhile::Fails,
    Meanwhile::IsRefused,
];

/// A handler for every stage: it notes that it was asked, waits as long as there is a file `hold-STAGE`, fails where there is
/// a file `fail-STAGE`, and changes what it got. The call becomes one that waits, too.
const PROGRAM: &str = r#"
import json, os, sys, time
stage, event = sys.argv[1], json.load(sys.stdin)
if stage == "message_end" and event["message"]["role"] != "assistant":
    sys.exit()
with open("asked", "a") as asked:
    asked.write(stage + "\n")
hold = "hold-" + stage
if os.path.exists(hold):
    open("held-" + stage, "w").close()
    while os.path.exists(hold):
        time.sleep(0.005)
if os.path.exists("fail-" + stage):
    sys.exit("on purpose")
if stage == "before_provider_request":
    json.dump(event["payload"], open("payload", "w"))
answer = {
    "input": lambda: {"action": "transform", "text": event["text"] + " (seen)"},
    "before_agent_start": lambda: {"message": {"customType": "note", "content": "A note.", "display": True}},
    "context": lambda: {"messages": event["messages"] + [{"role": "custom", "customType": "rule", "content": "A rule.", "display": False}]},
    "before_provider_request": lambda: {**event["payload"], "temperature": 0.25},
    "message_end": lambda: {"message": {**event["message"], "content": event["message"]["content"] + [{"type": "text", "text": " (kept)"}]}},
    "tool_call": lambda: {"input": {"command": "COMMAND"}},
    "tool_result": lambda: {"content": [{"type": "text", "text": "A result."}]},
    "session_before_compact": lambda: {"compaction": {"summary": "A summary."}},
}[stage]()
json.dump(answer, sys.stdout)
"#;

const EXTENSION: &str = r#"
import fs from "node:fs";
const answers: Record<string, (event: any) => any> = {
  input: (event) => ({ action: "transform", text: event.text + " (seen)" }),
  before_agent_start: () => ({ message: { customType: "note", content: "A note.", display: true } }),
  context: (event) => ({ messages: [...event.messages, { role: "custom", customType: "rule", content: "A rule.", display: false }] }),
  before_provider_request: (event) => ({ ...event.payload, temperature: 0.25 }),
  message_end: ({ message }) => ({ message: { ...message, content: [...message.content, { type: "text", text: " (kept)" }] } }),
  tool_call: () => ({ input: { command: "COMMAND" } }),
  tool_result: () => ({ content: [{ type: "text", text: "A result." }] }),
  session_before_compact: () => ({ compaction: { summary: "A summary." } }),
};
export default (pi: any) => {
  for (const [stage, answer] of Object.entries(answers)) pi.on(stage, async (event: any) => {
    if (stage === "message_end" && event.message.role !== "assistant") return;
    fs.appendFileSync("asked", stage + "\n");
    if (fs.existsSync(`hold-${stage}`)) {
      fs.writeFileSync(`held-${stage}`, "");
      while (fs.existsSync(`hold-${stage}`)) await new Promise((resolve) => setTimeout(resolve, 5));
    }
    if (fs.existsSync(`fail-${stage}`)) throw new Error("on purpose");
    if (stage === "before_provider_request") fs.writeFileSync("payload", JSON.stringify(event.payload));
    return answer(event);
  });
};
"#;

const COMMAND: &str = "touch held-tool_execution_start; while test -e hold-tool_execution_start; do sleep 0.01; done; \
                       echo guarded >> ran";

/// What the model answers: it calls a tool for `alpha`.
fn replies(refuses: bool) -> Vec<Value> {
    let error = json!({"status": 529, "type": "overloaded_error", "message": "busy", "retry_after": 0});
    let refusal = json!({"when": {"attempt": 1, "anywhere": ["alpha", "zulu"]}, "steps": [{"error": error}]});
    let replies = [
        json!({"when": {"anywhere": "zulu"}, "steps": [{"text": "Last."}]}),
        json!({"when": {"anywhere": ["bravo", "charlie"]}, "steps": [{"text": "Well."}]}),
        json!({"when": {"after_tool": "rye_bash"}, "steps": [{"text": "Done."}]}),
        json!({"steps": [{"tool_call": {"name": "rye_bash", "input": {"command": "echo unguarded >> ran"}}}]}),
    ];
    Some(refusal).filter(|_| refuses).into_iter().chain(replies).collect()
}

/// Whether there is a handler of a stage where the thread is held at another.
fn stands(form: Form, held: Stage, stage: Stage) -> bool {
    form == Form::Extension || stage == held || matches!(stage, Stage::ToolCall | Stage::BeforeProviderRequest)
}

fn project(form: Form, held: Stage, refuses: bool) -> Project {
    let stages = STAGES.iter().filter(|stage| **stage != TOOL);
    let handlers = match form {
        // Programs take longer to start, so only those stand there that this is about.
        Form::Programs => {
            stages.filter(|stage| stands(form, held, **stage)).fold("handlers:\n".to_owned(), |all, stage| {
                all + &format!(
                    "- id: h\n  stage: {stage}\n  timeout_seconds: 60\n  command: [python3, -IS, h.py, {stage}]\n"
                )
            })
        }
        Form::Extension => String::new(),
    };
    let project = Project::with(&handlers, &replies(refuses));
    match form {
        Form::Programs => project.write("h.py", &PROGRAM.replace("COMMAND", COMMAND)),
        Form::Extension => project.write(".ai/extensions/h.ts", &EXTENSION.replace("COMMAND", COMMAND)),
    }
    project.trusted()
}

/// A thread that is held at a stage, and what happens then.
struct Scene {
    project: Project,
    thread: RunningThread,
    form: Form,
    stage: Stage,
    meanwhile: Meanwhile,
}

impl Scene {
    async fn new(form: Form, stage: Stage, meanwhile: Meanwhile) -> Self {
        let project = project(form, stage, meanwhile == Meanwhile::IsRefused);
        let thread = RunningThread::start(&project, "work").await;
        Self { project, thread, form, stage, meanwhile }
    }

    fn file(&self, kind: &str) -> PathBuf {
        self.project.home.project().join(format!("{kind}-{}", self.stage))
    }

    fn events(&self) -> Vec<(String, Value)> {
        self.project.events(self.thread.id.as_str())
    }

    /// Has the thread work until it is held.
    async fn hold(&mut self) {
        let compacts = self.stage == Stage::SessionBeforeCompact;
        if compacts {
            self.thread.say("alpha", PromptMode::FollowUp).await;
            self.until_answered("Done.").await;
        }
        fs::write(self.file("hold"), "").unwrap();
        if compacts {
            self.thread.ask(Command::Compact { instructions: None }).await.unwrap();
        } else {
            self.thread.say("alpha", PromptMode::FollowUp).await;
        }
        terminal::poll("it is held", || self.file("held").exists());
    }

    fn release(&self) {
        fs::remove_file(self.file("hold")).unwrap();
    }

    async fn happens(&mut self) {
        let is_given_up = self.is_given_up();
        let thread = &mut self.thread;
        let cancel = |scope| Command::Cancel { scope };
        match self.meanwhile {
            Meanwhile::Sends => {
                thread.say("bravo", PromptMode::Steer).await;
                thread.say("charlie", PromptMode::FollowUp).await;
                thread.say("delta", PromptMode::Steer).await;
                let is_there = |state: &State| state.queue.iter().find(|queued| queued.text == "delta").cloned();
                let state = thread.until("it is queued", |state| is_there(state).is_some()).await;
                let prompt = is_there(&state).unwrap().prompt;
                thread.ask(Command::Withdraw { prompt }).await.unwrap();
            }
            Meanwhile::Escapes => {
                thread.ask(cancel(CancelScope::Turn)).await.unwrap();
                // A command that is asked to end may still come to what it waits for.
                if is_given_up {
                    thread.until("what is given up has ended", rests).await;
                    // Its keeper ends it then, which on a busy machine takes a moment.
                    let home = &self.project.home;
                    let is_held = |pid: &Pid| {
                        let words = fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).unwrap_or_default();
                        String::from_utf8_lossy(&words).contains("while test -e hold-")
                    };
                    terminal::poll("the command is gone", || !home.processes().iter().any(is_held));
                }
            }
            Meanwhile::Stops => thread.ask(cancel(CancelScope::Thread)).await.unwrap(),
            Meanwhile::Leaves => thread.leave().await,
            Meanwhile::Dies => terminal::kill(thread.process(), Signal::KILL),
            Meanwhile::Chooses => {
                let model = self.other_model();
                self.thread.ask(Command::SetModel { model }).await.unwrap();
                assert!(self.thread.ask(Command::Compact { instructions: None }).await.is_err());
            }
            Meanwhile::Fails => fs::write(self.file("fail"), "").unwrap(),
            Meanwhile::IsRefused => {}
        }
        if self.ends_worker() {
            self.thread.resume().await;
        }
        self.release();
    }

    fn other_model(&self) -> ModelRef {
        let (path, other) =
            (self.project.home.path().join("pipeline.yaml"), self.project.home.path().join("other.yaml"));
        fs::copy(path, &other).unwrap();
        ModelRef::new("scripted", other.to_str().unwrap())
    }

    fn ends_worker(&self) -> bool {
        matches!(self.meanwhile, Meanwhile::Stops | Meanwhile::Dies | Meanwhile::Leaves)
    }

    /// Whether what is under way is given up.
    fn is_given_up(&self) -> bool {
        let stops = self.meanwhile == Meanwhile::Escapes && matches!(self.stage, Stage::ToolCall | TOOL);
        self.ends_worker() || stops
    }

    /// Waits until the model has said this, and the thread rests.
    async fn until_answered(&mut self, answer: &str) -> State {
        let (project, id) = (&self.project, self.thread.id.to_string());
        let outputs = |state: &State| {
            let events = project.events(&id);
            let outs = events.into_iter().filter(|(name, _)| name == "cognition_out").map(|(_, event)| event);
            let counted = |event: &Value| event["usage"]["output"].as_u64().unwrap_or_default();
            let (mut is_there, mut all) = (false, 0);
            outs.for_each(|event| {
                is_there |= event["text"].as_str().unwrap().starts_with(answer);
                all += counted(&event);
            });
            // The log is written before the state is told.
            is_there && state.cost.usage.output.0 >= all
        };
        self.thread.until(answer, |state| rests(state) && outputs(state)).await
    }

    /// The texts of prompts in the order in which they joined the conversation.
    fn joined(&self) -> Vec<String> {
        let joined = self.events().into_iter().filter(|(name, _)| name == "cognition_in");
        joined.map(|(_, event)| event["text"].as_str().unwrap().to_owned()).collect()
    }

    /// What became of every prompt: each was sent or taken back, once.
    fn no_prompt_is_lost(&self) {
        let events = self.events();
        let queued = events.iter().filter(|(name, _)| name == "prompt_queued");
        for (_, prompt) in queued {
            let is_end = |name: &str| ["cognition_in", "prompt_withdrawn", "prompt_handled"].contains(&name);
            let ends = events.iter().filter(|(name, event)| is_end(name) && event["prompt"] == prompt["prompt"]);
            let ends: Vec<_> = ends.map(|(name, _)| name.as_str()).collect();
            let expected = if prompt["text"] == "delta" { "prompt_withdrawn" } else { "cognition_in" };
            assert_eq!(ends, [expected], "{prompt}");
        }
        let sent = ["bravo", "charlie"].into_iter().filter(|_| self.meanwhile == Meanwhile::Sends);
        let texts: Vec<_> = ["alpha"].into_iter().chain(sent).chain(["zulu"]).collect();
        let passes_by = self.stage == Stage::Input && matches!(self.meanwhile, Meanwhile::Escapes | Meanwhile::Fails);
        let expected = texts.iter().enumerate().map(|(place, text)| match place {
            0 if passes_by => (*text).to_owned(),
            _ if stands(self.form, self.stage, Stage::Input) => format!("{text} (seen)"),
            _ => (*text).to_owned(),
        });
        assert_eq!(self.joined(), expected.collect::<Vec<_>>());
        let wire = fs::read_to_string(self.project.home.project().join("payload")).unwrap();
        let places: Vec<_> =
            texts.iter().map(|text| wire.match_indices(text).map(|(at, _)| at).collect::<Vec<_>>()).collect();
        assert!(places.iter().all(|places| places.len() == 1) && places.is_sorted(), "{places:?}: {wire}");
    }

    /// Each request has a number of its own and at most one answer, of the model that it was sent to.
    fn no_request_is_sent_twice(&self) {
        let mut models = HashMap::new();
        for (name, event) in self.events() {
            let number = event["request"].as_u64().unwrap_or_default();
            match name.as_str() {
                "request_recorded" => {
                    assert_eq!(models.insert(number, event["model"].clone()), None, "request {number} is there twice");
                }
                "cognition_out" => assert_eq!(models.get(&number), Some(&event["model"]), "{event}"),
                _ => {}
            }
        }
        let newest = models.keys().max().unwrap();
        let is_other = models[newest].as_str().unwrap().ends_with("other.yaml");
        assert_eq!(is_other, self.meanwhile == Meanwhile::Chooses, "{models:?}");
    }

    /// What became of the handlers of a stage, in order, as it is recorded.
    fn steps(&self, stage: Stage) -> Vec<String> {
        let folder =
            self.project.home.project().join(".ai/agent/threads").join(self.thread.id.as_str()).join("requests");
        let mut requests: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        requests.sort();
        let records = requests.iter().map(|path| serde_json::from_slice::<Value>(&fs::read(path).unwrap()).unwrap());
        let of_requests = records.map(|record| record["pipeline"].clone());
        let of_events = self.events().into_iter().map(|(_, event)| event["steps"].clone());
        let steps = of_events.chain(of_requests).filter_map(|steps| steps.as_array().cloned()).flatten();
        let own = steps.filter(|step| step["stage"] == stage.name());
        own.map(|step| step["outcome"].as_str().unwrap().to_owned()).collect()
    }

    /// How often the handler of a stage was asked.
    fn asked(&self, stage: Stage) -> usize {
        let asked = fs::read_to_string(self.project.home.project().join("asked")).unwrap();
        asked.lines().filter(|line| *line == stage.name()).count()
    }

    /// Every asking is recorded as what it was, but those of what was given up.
    fn every_step_is_recorded(&self) {
        for stage in STAGES.into_iter().filter(|stage| *stage != TOOL && stands(self.form, self.stage, *stage)) {
            let given_up = match (self.stage, stage) {
                (Stage::BeforeAgentStart, Stage::Input) | (Stage::BeforeProviderRequest, Stage::Context) => true,
                (held, stage) => held == stage,
            };
            let lost = usize::from(given_up && self.is_given_up());
            let steps = self.steps(stage);
            assert_eq!(steps.len() + lost, self.asked(stage), "{stage}: {steps:?}");
            let first = match self.meanwhile {
                Meanwhile::Escapes if stage == self.stage && lost == 0 => "skipped",
                Meanwhile::Fails if stage == self.stage => "failed",
                _ => "changed",
            };
            // A turn has more than one request.
            let others = steps.iter().skip_while(|step| *step == first);
            assert!(steps.first().is_none_or(|step| step == first), "{stage}: {steps:?}");
            assert!(others.into_iter().all(|step| step == "changed"), "{stage}: {steps:?}");
        }
    }

    /// The call ran as the guard left it, and not at all where the guard did not answer.
    fn no_call_slips_through(&self) {
        let never = match self.stage {
            Stage::ToolCall => self.is_given_up() || self.meanwhile == Meanwhile::Fails,
            Stage::Context | Stage::BeforeProviderRequest | Stage::MessageEnd | TOOL => self.is_given_up(),
            _ => false,
        };
        let ran = fs::read_to_string(self.project.home.project().join("ran")).unwrap_or_default();
        assert_eq!(ran, if never { "" } else { "guarded\n" });
    }
}

async fn play(form: Form, stage: Stage, meanwhile: Meanwhile) {
    let mut scene = Scene::new(form, stage, meanwhile).await;
    scene.hold().await;
    scene.happens().await;
    scene.thread.until("it rests", rests).await;
    let _none = fs::remove_file(scene.file("fail"));
    // It goes on.
    scene.thread.say("zulu", PromptMode::FollowUp).await;
    let before = scene.until_answered("Last.").await;
    scene.no_prompt_is_lost();
    scene.no_request_is_sent_twice();
    scene.every_step_is_recorded();
    scene.no_call_slips_through();
    if scene.ends_worker() {
        return;
    }
    // What is recorded is not asked for again.
    let asked = STAGES.map(|stage| scene.asked(stage));
    scene.thread.leave().await;
    scene.thread.resume().await;
    let after = scene.thread.until("it is there again", |_| true).await;
    assert_eq!((after.queue, after.cost, after.model), (before.queue, before.cost, before.model));
    assert_eq!(STAGES.map(|stage| scene.asked(stage)), asked);
}

async fn play_all(form: Form, stages: &[Stage]) {
    let mut failed = Vec::new();
    for stage in stages {
        for meanwhile in MEANWHILE {
            // Nothing fails in a tool here, and a summary that a handler gives asks no model.
            let is_none = matches!((stage, meanwhile), (&TOOL, Meanwhile::Fails));
            if !is_none && tokio::spawn(play(form, *stage, meanwhile)).await.is_err() {
                failed.push((*stage, meanwhile));
            }
        }
    }
    assert!(failed.is_empty(), "{form:?}: {failed:?}");
}

#[tokio::test]
async fn whatever_happens_while_a_program_is_waited_for_at_a_prompt() {
    play_all(Form::Programs, &STAGES[..4]).await;
}

#[tokio::test]
async fn whatever_happens_while_a_program_is_waited_for_at_a_call() {
    play_all(Form::Programs, &STAGES[4..]).await;
}

#[tokio::test]
async fn whatever_happens_while_an_extension_is_waited_for_at_a_prompt() {
    play_all(Form::Extension, &STAGES[..4]).await;
}

#[tokio::test]
async fn whatever_happens_while_an_extension_is_waited_for_at_a_call() {
    play_all(Form::Extension, &STAGES[4..]).await;
}

/// The guard has let the call pass: it is not asked again while the person is, whatever becomes of the worker.
#[tokio::test]
async fn a_question_for_permission_outlives_its_worker_and_asks_no_guard_again() {
    for form in [Form::Programs, Form::Extension] {
        for dies in [false, true] {
            let project = project(form, Stage::ToolCall, false);
            let mut thread = RunningThread::start(&project, "levain/chat").await;
            thread.say("alpha", PromptMode::FollowUp).await;
            thread.until("it asks", |state| !state.approvals.is_empty()).await;
            thread.say("bravo", PromptMode::Steer).await;
            if dies {
                terminal::kill(thread.process(), Signal::KILL);
            } else {
                thread.leave().await;
            }
            thread.resume().await;
            let meanwhile = Meanwhile::Leaves;
            let mut scene = Scene { project, thread, form, stage: Stage::ToolCall, meanwhile };
            if dies {
                // Nobody can say whether the question was seen: the call is not made, and the person goes on.
                let state = scene.thread.until("it rests", rests).await;
                assert!(state.approvals.is_empty() && state.queue.iter().any(|queued| queued.text == "bravo"));
                scene.thread.say("charlie", PromptMode::FollowUp).await;
            } else {
                let state = scene.thread.until("it asks again", |state| !state.approvals.is_empty()).await;
                let asked = &state.approvals[0];
                assert_eq!(asked.input, json!({"command": COMMAND}));
                let (id, args_hash) = (asked.id, asked.args_hash.clone());
                let approve = Command::Approve { id, args_hash, decision: Approve::Once, said: None };
                scene.thread.ask(approve).await.unwrap();
            }
            scene.until_answered("Well.").await;
            assert_eq!(scene.asked(Stage::ToolCall), 1, "{form:?}");
            assert_eq!(scene.joined()[..2], ["alpha", "bravo"].map(|text| seen(form, text)), "{form:?}");
            let ran = fs::read_to_string(scene.project.home.project().join("ran")).unwrap_or_default();
            assert_eq!(ran, if dies { "" } else { "guarded\n" }, "{form:?}");
        }
    }
}

/// A prompt as it is sent where the thread is held at a call.
fn seen(form: Form, text: &str) -> String {
    if stands(form, Stage::ToolCall, Stage::Input) { format!("{text} (seen)") } else { text.to_owned() }
}

/// The calls of a worker that died have a result, and nobody asks a model for more before the person says something.
#[tokio::test]
async fn a_worker_that_takes_over_from_a_dead_one_asks_no_model_by_itself() {
    let input = json!({"command": "touch held; while true; do sleep 0.01; done"});
    let replies = [
        json!({"when": {"anywhere": "zulu"}, "steps": [{"text": "Last."}]}),
        json!({"steps": [{"tool_call": {"name": "rye_bash", "input": input}}]}),
    ];
    let project = Project::with("", &replies).trusted();
    let mut thread = RunningThread::start(&project, "work").await;
    thread.say("alpha", PromptMode::FollowUp).await;
    terminal::poll("the tool runs", || project.home.project().join("held").exists());
    terminal::kill(thread.process(), Signal::KILL);
    thread.resume().await;
    thread.until("it rests", rests).await;
    thread.say("zulu", PromptMode::FollowUp).await;
    thread.until("it is answered", |state| rests(state) && state.cost.turns == 2).await;
    let events = project.events(thread.id.as_str());
    let requests = events.iter().filter(|(name, _)| name == "request_recorded").count();
    assert_eq!(requests, 2, "{events:#?}");
}
