//! What is previewed, shown, recorded and received is the same, byte for byte, in every wire form: random threads against a
//! server that keeps what it is sent. two hundred of them, and ten times as many with `LEVAIN_LONG_TESTS=1`.

use crate::support::terminal::Home;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{Response, Uri};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use levain::domain::event::PromptMode;
use levain::domain::{
    Command as ThreadCommand, ContentHash, Draft, Lineage, Mentions, ModelRef, Preview, RequestRecord, SetLimits,
    State as ThreadState, ThreadId, ThreadKind, Timestamp, ToAttach, Tokens, Values, Waiting,
};
use levain::ports::ThreadSpec;
use levain::store::Layout;
use levain::store::summary::Summary;
use levain::workbench::counter::{Basis, Coming, Counter};
use levain::worker::client::Client;
use levain::worker::host::REPLAY;
use levain::worker::protocol::{FromWorker, ToWorker};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

/// Keeps every body; asks for a tool once in each run, then answers.
struct Recorder {
    address: SocketAddr,
    bodies: Arc<Mutex<Vec<Vec<u8>>>>,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Recorder {
    fn start() -> Self {
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let (ready, address) = std::sync::mpsc::channel();
        let bodies = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&bodies);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
                ready.send(listener.local_addr().unwrap()).unwrap();
                let router = Router::new().fallback(answer).layer(DefaultBodyLimit::disable()).with_state(shared);
                tokio::select! {
                    served = axum::serve(listener, router) => served.unwrap(),
                    _ = stopped => {}
                }
            });
        });
        Self { address: address.recv().unwrap(), bodies, stop: Some(stop), thread: Some(thread) }
    }

    fn taken(&self) -> Vec<Vec<u8>> {
        std::mem::take(&mut *self.bodies.lock().unwrap())
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _joined = thread.join();
        }
    }
}

async fn answer(State(bodies): State<Arc<Mutex<Vec<Vec<u8>>>>>, uri: Uri, body: Bytes) -> Response<String> {
    let text = String::from_utf8(body.to_vec()).unwrap();
    let _json: Value = serde_json::from_str(&text).unwrap();
    let asks = text.contains("please read") && !text.contains("NUMBERED-LINE");
    bodies.lock().unwrap().push(body.to_vec());
    let path = uri.path();
    let events = if path.ends_with("/messages") {
        messages(asks)
    } else if path.ends_with("/chat/completions") {
        chat(asks)
    } else if path.ends_with("/responses") {
        responses(asks)
    } else {
        gemini(asks)
    };
    Response::builder().header("content-type", "text/event-stream").body(events).unwrap()
}

/// One pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGNgZGIGAAAOAAfXb+R4AAAAAElFTkSuQmCC";

const TOOL: &str = "rye_file_system_read";
const ARGUMENTS: &str = "{\"path\":\"notes.txt\"}";

fn sse(events: &[Value]) -> String {
    let line = |event: &Value| match event["type"].as_str() {
        Some(name) => format!("event: {name}\ndata: {event}\n\n"),
        None => format!("data: {event}\n\n"),
    };
    events.iter().map(line).collect()
}

fn messages(asks: bool) -> String {
    let block = if asks {
        [
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "toolu_1", "name": TOOL, "input": {}}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": ARGUMENTS}}),
        ]
    } else {
        [
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Done “so” — ✓"}}),
        ]
    };
    let reason = if asks { "tool_use" } else { "end_turn" };
    let [start, delta] = block;
    sse(&[
        json!({"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "x", "usage": {"input_tokens": 1, "output_tokens": 1}}}),
        start,
        delta,
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 2}}),
        json!({"type": "message_stop"}),
    ])
}

fn chat(asks: bool) -> String {
    let (delta, reason) = if asks {
        let function = json!({"name": TOOL, "arguments": ARGUMENTS});
        (json!({"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]}), "tool_calls")
    } else {
        (json!({"content": "Done “so” — ✓"}), "stop")
    };
    let events = sse(&[
        json!({"choices": [{"index": 0, "delta": delta}]}),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}),
    ]);
    format!("{events}data: [DONE]\n\n")
}

fn responses(asks: bool) -> String {
    let item = if asks {
        json!({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": TOOL, "arguments": ARGUMENTS})
    } else {
        json!({"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "Done “so” — ✓"}]})
    };
    let mut events = vec![json!({"type": "response.output_item.added", "output_index": 0, "item": item})];
    if !asks {
        events.push(json!({"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "Done “so” — ✓"}));
    }
    events.push(json!({"type": "response.output_item.done", "output_index": 0, "item": item}));
    let usage = json!({"input_tokens": 1, "output_tokens": 1});
    events.push(json!({"type": "response.completed", "response": {"id": "r", "status": "completed", "usage": usage}}));
    sse(&events)
}

fn gemini(asks: bool) -> String {
    let part = if asks {
        json!({"functionCall": {"name": TOOL, "args": {"path": "notes.txt"}}})
    } else {
        json!({"text": "Done “so” — ✓"})
    };
    sse(&[json!({"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}]})])
}

/// Numbers that look random and are the same each time.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % below
    }

    /// Some words with everything that a writer of JSON has to look at.
    fn words(&mut self, most: usize) -> String {
        const WORDS: [&str; 12] = [
            "plain",
            "\"quoted\"",
            "back\\slash",
            "tab\there",
            "line\nend",
            "é",
            "日本語",
            "🦀",
            "</a>",
            "{input:x}",
            "\u{7f}",
            "\u{2028}",
        ];
        (0..=self.next(most)).map(|_| WORDS[self.next(WORDS.len())]).collect::<Vec<_>>().join(" ")
    }
}

/// A provider name, a model, and what leads its requests to the server.
struct Form {
    name: &'static str,
    model: &'static str,
    variables: fn(&str) -> Vec<(&'static str, String)>,
}

const FORMS: [Form; 5] = [
    Form {
        name: "anthropic",
        model: "anthropic/test-model",
        variables: |base| vec![("ANTHROPIC_BASE_URL", base.to_owned()), ("ANTHROPIC_API_KEY", "k".to_owned())],
    },
    Form {
        // The vendor's own address, which a proxy stands before.
        name: "openai",
        model: "openai/test-model",
        variables: |base| {
            vec![
                ("OPENAI_BASE_URL", "http://api.openai.com/v1".to_owned()),
                ("OPENAI_API_KEY", "k".to_owned()),
                ("HTTP_PROXY", base.to_owned()),
                ("http_proxy", base.to_owned()),
            ]
        },
    },
    Form {
        name: "compatible",
        model: "openai/test-model",
        variables: |base| vec![("OPENAI_BASE_URL", format!("{base}/v1")), ("OPENAI_API_KEY", "k".to_owned())],
    },
    Form {
        name: "responses",
        model: "openai-responses/test-model",
        variables: |base| vec![("OPENAI_BASE_URL", format!("{base}/v1")), ("OPENAI_API_KEY", "k".to_owned())],
    },
    Form {
        name: "gemini",
        model: "gemini/test-model",
        variables: |base| vec![("GOOGLE_GEMINI_BASE_URL", base.to_owned()), ("GEMINI_API_KEY", "k".to_owned())],
    },
];

fn printed(mut command: Command, variables: &[(&str, String)]) -> Vec<u8> {
    let output = command.envs(variables.iter().cloned()).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    output.stdout
}

/// The body, which ends with a line end of its own when printed.
fn body(home: &Home, arguments: &[&str], variables: &[(&str, String)]) -> Vec<u8> {
    let mut bytes = printed(home.levain(arguments), variables);
    assert_eq!(bytes.pop(), Some(b'\n'));
    bytes
}

/// Handlers at every stage, texts and programs.
const HANDLERS: &str = r#"handlers:
- {id: a, stage: input, append: " (a)"}
- id: b
  stage: before_agent_start
  prepend: "Be b.\n\n"
- {id: c, stage: before_agent_start, message: "C é says."}
- id: d
  stage: context
  command: [sh, -c, "sed 's/says/said/g'"]
- {id: e, stage: context, message: "E."}
- {id: f, stage: before_provider_request, set: {metadata: {by: f}}}
- {id: g, stage: tool_result, append: " (g)"}
"#;

fn threads_of(form: &Form, count: usize) {
    let (home, server) = (Home::new(), Recorder::start());
    let variables = (form.variables)(&format!("http://{}", server.address));
    let directives = home.project().join(".ai/directives");
    fs::create_dir_all(&directives).unwrap();
    let lines: Vec<String> = (0..400).map(|number| format!("NUMBERED-LINE {number} é\t\"x\"")).collect();
    fs::write(home.project().join("notes.txt"), lines.join("\n")).unwrap();
    let png = home.path().join("dot.png");
    fs::write(&png, STANDARD.decode(PNG).unwrap()).unwrap();
    let png = png.to_str().unwrap().to_owned();
    let mut numbers = Numbers(form.name.len() as u64);
    for number in 0..count {
        let grants = if numbers.next(3) == 0 {
            ""
        } else {
            "<permissions><execute><tool>rye/file-system/*</tool></execute></permissions>"
        };
        let context =
            if numbers.next(2) == 0 { "<context><system>levain/core/Behavior</system></context>" } else { "" };
        let text = format!(
            "```xml\n<directive name=\"x\" version=\"1.0.0\"><metadata><description>d</description>{grants}{context}</metadata></directive>\n```\n{}\n",
            numbers.words(40)
        );
        fs::write(directives.join("x.md"), text).unwrap();
        let handlers = if numbers.next(2) == 0 { HANDLERS } else { "" };
        fs::create_dir_all(home.project().join(".ai/config/agent")).unwrap();
        fs::write(home.project().join(".ai/config/agent/pipeline.yaml"), handlers).unwrap();
        assert!(home.levain(&["trust"]).stdin(Stdio::null()).output().unwrap().status.success());
        let asks = if numbers.next(2) == 0 && !grants.is_empty() { " please read" } else { "" };
        let prompt = format!("{}{asks}", numbers.words(30));
        let with_image = numbers.next(3) == 0;
        let mut run = vec!["run", "--json", "--model", form.model, "--directive", "x"];
        if with_image {
            run.extend(["--image", &png]);
        }
        run.extend(["--", &prompt]);
        let preview = (!with_image).then(|| {
            body(&home, &["context", "show", "x", "--model", form.model, "--prompt", &prompt, "--wire"], &variables)
        });
        let result: Value = serde_json::from_slice(&printed(home.levain(&run), &variables)).unwrap();
        let id = result["thread_id"].as_str().unwrap();
        let received = server.taken();
        assert_eq!(received.len(), if asks.is_empty() { 1 } else { 2 }, "{result}");
        if let Some(preview) = preview {
            assert!(
                preview == received[0],
                "{number}: the preview is\n{}\nreceived was\n{}",
                String::from_utf8_lossy(&preview),
                String::from_utf8_lossy(&received[0])
            );
        }
        for (number, received) in (1..).zip(&received) {
            let file = home.project().join(format!(".ai/agent/threads/{id}/requests/{number}.json"));
            let record: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
            assert_eq!(record["sent"]["form"], form.name);
            assert_eq!(record["sent"]["hash"], ContentHash::of(received).as_str());
            assert_eq!(record["sent"]["length"], received.len());
            let shown = body(
                &home,
                &["context", "show", "--thread", id, "--request", &number.to_string(), "--wire"],
                &variables,
            );
            assert!(shown == *received, "{}\n{}", String::from_utf8_lossy(&shown), String::from_utf8_lossy(received));
            // Without a key and an address it is the same: the record says how it was sent.
            let shown =
                body(&home, &["context", "show", "--thread", id, "--request", &number.to_string(), "--wire"], &[]);
            assert!(shown == *received, "without the provider");
        }
    }
    home.wait_until_quiet();
}

fn count() -> usize {
    if std::env::var_os("LEVAIN_LONG_TESTS").is_some() { 400 } else { 40 }
}

#[test]
fn what_is_shown_is_what_anthropic_receives() {
    threads_of(&FORMS[0], count());
}

#[test]
fn what_is_shown_is_what_openai_receives() {
    threads_of(&FORMS[1], count());
}

#[test]
fn what_is_shown_is_what_a_compatible_server_receives() {
    threads_of(&FORMS[2], count());
}

#[test]
fn what_is_shown_is_what_responses_receives() {
    threads_of(&FORMS[3], count());
}

#[test]
fn what_is_shown_is_what_gemini_receives() {
    threads_of(&FORMS[4], count());
}

/// Talks to the worker of a thread, and waits until it rests again.
async fn tell(socket: &Path, command: ThreadCommand) {
    let mut client = Client::connect(socket).await.unwrap();
    client.greet(u64::MAX).await.unwrap();
    client.sender().command(1, command).await.unwrap();
    let (mut acknowledged, mut rests) = (false, false);
    while let Some(message) = client.next().await {
        match message {
            FromWorker::Error { message, .. } => panic!("{message}"),
            FromWorker::Ack { id: 1 } => acknowledged = true,
            // How it stands is told before the answer.
            FromWorker::State(state) => rests = state.waiting == Some(Waiting::User) && state.queue.is_empty(),
            _ => {}
        }
        if acknowledged && rests {
            return;
        }
    }
    panic!("the worker ended");
}

/// How the thread stands.
async fn stands(socket: &Path) -> ThreadState {
    let mut client = Client::connect(socket).await.unwrap();
    client.greet(u64::MAX).await.unwrap();
    while let Some(message) = client.next().await {
        if let FromWorker::State(state) = message {
            return state;
        }
    }
    panic!("the worker ended");
}

/// Images and files among what goes along with a prompt.
fn sorted(names: &[&str]) -> (Vec<String>, Vec<ToAttach>) {
    let text: Vec<String> = names.iter().map(|name| format!("@{name}")).collect();
    let mentions = Mentions::of(&text.join(" "));
    let files = mentions.to_attach();
    (mentions.images, files)
}

/// What the worker of a thread says that sending a draft would send.
async fn previewed(socket: &Path, text: &str, names: &[&str]) -> Preview {
    let mut client = Client::connect(socket).await.unwrap();
    client.greet(u64::MAX).await.unwrap();
    let (images, files) = sorted(names);
    let draft = Draft { text: text.to_owned(), images, files, runs_commands: true };
    client.sender().send(ToWorker::Preview { id: 5, draft }).await.unwrap();
    while let Some(message) = client.next().await {
        match message {
            FromWorker::Preview { id: 5, preview } => return *preview,
            FromWorker::Error { message, .. } => panic!("{message}"),
            _ => {}
        }
    }
    panic!("the worker ended");
}

/// Looks at what a prompt would send, sends it, and compares.
async fn look_and_send(requests: &Path, socket: &Path, text: String, names: &[&str]) {
    let number = 1 + fs::read_dir(requests).map_or(0, Iterator::count);
    let preview = previewed(socket, &text, names).await;
    let (images, files) = sorted(names);
    tell(socket, ThreadCommand::Submit { text, mode: PromptMode::FollowUp, images, files, client: None }).await;
    let record: RequestRecord =
        serde_json::from_slice(&fs::read(requests.join(format!("{number}.json"))).unwrap()).unwrap();
    let Preview { model, max_output_tokens, assembly, .. } = preview;
    assert_eq!((record.model, record.max_output_tokens), (model, max_output_tokens));
    assert_eq!(record.system, ContentHash::of(assembly.system.as_bytes()));
    let sent: Vec<ContentHash> = record.messages.into_iter().map(|message| message.hash).collect();
    assert_eq!(sent, assembly.messages.iter().map(|entry| entry.hash.clone()).collect::<Vec<_>>());
    assert_eq!(record.layers, assembly.layers);
}

/// A thread of the directive `x`, its worker, and where that listens.
fn worker_of(home: &Home, form: &Form, variables: &[(&str, String)]) -> (ThreadId, Child, PathBuf) {
    let layout = Layout::new(&home.project().canonicalize().unwrap(), &home.path().join("state/levain"));
    let spec = ThreadSpec {
        id: None,
        directive: "x".into(),
        inputs: levain::domain::Values::new(),
        model: form.model.parse().unwrap(),
        kind: ThreadKind::Interactive,
        limits: SetLimits::default(),
        lineage: Lineage::default(),
        ceilings: Vec::new(),
    };
    let id = Summary::make(&layout, spec, Timestamp(1)).unwrap().thread_id;
    let mut worker = home
        .levain(&["worker", "--thread", id.as_str()])
        .envs(variables.iter().cloned())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(worker.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let said: Value = serde_json::from_str(&line).unwrap();
    let socket = PathBuf::from(said["ready"].as_str().unwrap_or_else(|| panic!("{line}")));
    (id, worker, socket)
}

/// A trusted project with an image and the directive `x`, which may use files.
fn project_of_conversations(home: &Home, handlers: &str) {
    fs::write(home.project().join("dot.png"), STANDARD.decode(PNG).unwrap()).unwrap();
    let directives = home.project().join(".ai/directives");
    fs::create_dir_all(&directives).unwrap();
    let grants = "<permissions><execute><tool>rye/file-system/*</tool></execute></permissions>";
    let text = format!(
        "```xml\n<directive name=\"x\" version=\"1.0.0\"><metadata><description>d</description>{grants}</metadata></directive>\n```\nGo.\n"
    );
    fs::write(directives.join("x.md"), text).unwrap();
    fs::create_dir_all(home.project().join(".ai/config/agent")).unwrap();
    fs::write(home.project().join(".ai/config/agent/pipeline.yaml"), handlers).unwrap();
    assert!(home.levain(&["trust"]).stdin(Stdio::null()).output().unwrap().status.success());
}

/// A conversation that grows, goes on with another model, and gives way to a summary.
fn conversation_of(form: &Form) {
    let (home, server) = (Home::new(), Recorder::start());
    let variables = (form.variables)(&format!("http://{}", server.address));
    fs::write(home.project().join("notes.txt"), "NUMBERED-LINE 1\n").unwrap();
    project_of_conversations(&home, HANDLERS);
    let (id, mut worker, socket) = worker_of(&home, form, &variables);
    let mut numbers = Numbers(form.name.len() as u64);
    let requests = home.project().join(format!(".ai/agent/threads/{id}/requests"));
    let say = |text: String, names: &'static [&'static str]| look_and_send(&requests, &socket, text, names);
    let other: ModelRef = format!("{}-2", form.model).parse().unwrap();
    let long = numbers.words(20) + &" long words".repeat(12_000);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        say(format!("{} please read", numbers.words(9)), &["dot.png"]).await;
        say(long, &[]).await;
        tell(&socket, ThreadCommand::SetModel { model: other.clone() }).await;
        say(format!("say {}", numbers.words(30)), &["dot.png", "notes.txt", ".ai/"]).await;
        say(" even longer".repeat(9_000), &[]).await;
        tell(&socket, ThreadCommand::Compact { instructions: None }).await;
        say(format!("say {}", numbers.words(30)), &[]).await;
    });
    let received = server.taken();
    let events = String::from_utf8(printed(home.levain(&["transcript", id.as_str(), "--json"]), &[])).unwrap();
    assert!(events.contains("\"event_type\":\"context_compacted\""), "{events}");
    assert_eq!(received.len(), 7, "a call of a tool and a summary among them");
    for (number, received) in (1..).zip(&received) {
        let file = home.project().join(format!(".ai/agent/threads/{id}/requests/{number}.json"));
        let record: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
        assert_eq!(record["sent"]["hash"], ContentHash::of(received).as_str());
        let asked = record["model"].as_str().unwrap();
        match number {
            // The summary is asked of a quicker model, where one is known.
            6 => assert!(record["tools"].as_array().unwrap().is_empty(), "{record}"),
            _ => assert_eq!(asked == other.to_string(), number > 3, "{number}: {asked}"),
        }
        let shown =
            body(&home, &["context", "show", "--thread", id.as_str(), "--request", &number.to_string(), "--wire"], &[]);
        assert!(shown == *received, "{number}: {}", String::from_utf8_lossy(&shown));
    }
    let killed = printed(home.levain(&["threads", "kill", id.as_str()]), &[]);
    assert!(String::from_utf8_lossy(&killed).contains("killed"));
    worker.wait().unwrap();
    home.wait_until_quiet();
}

#[test]
fn what_is_shown_is_what_is_received_across_models_and_summaries() {
    FORMS.iter().for_each(conversation_of);
}

/// What a draft comes to, by what the status line shows: before the first request by an empty preview.
async fn counted(socket: &Path, text: &str, names: &[&str]) -> Counter {
    let ThreadState { context, model, window, .. } = stands(socket).await;
    let tokens = if context == Tokens(0) { previewed(socket, "", &[]).await.assembly.tokens() } else { context };
    let (images, files) = sorted(names);
    let attached = previewed(socket, "", names).await.attached;
    let coming = Coming { thread: None, directive: String::new(), model, inputs: Values::new(), context, files };
    Counter::of(&Basis { coming, tokens, attached, window, per_million: None }, text.len(), images.len())
}

/// Composer, status line, preview, what is recorded and `levain context show` say one number, whatever a thread has been
/// through.
fn numbers_of(form: &Form, threads: u64) {
    let (home, server) = (Home::new(), Recorder::start());
    let variables = (form.variables)(&format!("http://{}", server.address));
    fs::write(home.project().join("notes.txt"), "NUMBERED-LINE 1\n".repeat(30)).unwrap();
    // What is typed is counted before handlers have seen it.
    project_of_conversations(&home, "");
    let layout = Layout::new(&home.project().canonicalize().unwrap(), &home.path().join("state/levain"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let other: ModelRef = format!("{}-2", form.model).parse().unwrap();
    for seed in 0..threads {
        let mut numbers = Numbers(seed * 31 + form.name.len() as u64);
        let (id, mut worker, socket) = worker_of(&home, form, &variables);
        let requests = home.project().join(format!(".ai/agent/threads/{id}/requests"));
        for step in 0..5 {
            let told = format!("{} thread {seed}, step {step}", form.name);
            match numbers.next(6) {
                0 if step > 0 => runtime.block_on(tell(&socket, ThreadCommand::Compact { instructions: None })),
                1 => runtime.block_on(tell(&socket, ThreadCommand::SetModel { model: other.clone() })),
                2 => {
                    let command = "echo a note that goes along".to_owned();
                    runtime.block_on(tell(&socket, ThreadCommand::Shell { command, shared: true }));
                }
                _ => {}
            }
            let asks = if numbers.next(3) == 0 { " please read" } else { "" };
            let text = format!("{}{asks}", numbers.words(60));
            let names: &[&str] = match numbers.next(5) {
                0 => &["dot.png"],
                1 => &["notes.txt"],
                2 => &["dot.png", "./", "notes.txt"],
                _ => &[],
            };
            let number = 1 + fs::read_dir(&requests).map_or(0, Iterator::count);
            let (composer, preview) = runtime.block_on(async {
                let composer = counted(&socket, &text, names).await;
                (composer, previewed(&socket, &text, names).await)
            });
            assert_eq!(composer.total, preview.assembly.tokens(), "{told}: {text:?} with {names:?}");
            runtime.block_on(look_and_send(&requests, &socket, text, names));
            let request = number.to_string();
            let shown = printed(
                home.levain(&["context", "show", "--json", "--thread", id.as_str(), "--request", &request]),
                &variables,
            );
            let shown: Value = serde_json::from_slice(&shown).unwrap();
            assert_eq!(shown["tokens"], composer.total.0, "{told}");
        }
        let last = runtime.block_on(stands(&socket)).context;
        let _killed = printed(home.levain(&["threads", "kill", id.as_str()]), &[]);
        worker.wait().unwrap();
        let rests = Summary::look(&layout, &id, REPLAY.summary).unwrap();
        assert_eq!(rests.context, last, "the status line of a thread that nobody runs");
        fs::remove_file(layout.thread(&id).summary().path()).unwrap();
        let told_anew = Summary::look(&layout, &id, REPLAY.summary).unwrap();
        assert_eq!(told_anew.context, last, "told by the log alone");
    }
    home.wait_until_quiet();
}

#[test]
fn one_number_is_said_of_one_request() {
    let threads = if std::env::var_os("LEVAIN_LONG_TESTS").is_some() { 16 } else { 4 };
    for form in &FORMS {
        numbers_of(form, threads);
    }
}
