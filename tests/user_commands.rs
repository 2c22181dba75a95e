//! What a person adds beside their words, in the whole program: commands of their own, and images.

use crate::support::model_server::{KEY, ModelServer};
use crate::support::terminal::{Home, Launch, Terminal, key, kill, poll};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs;
use std::process::Stdio;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nnot much of an image";
const PNG_BASE64: &str = "iVBORw0KGgpub3QgbXVjaCBvZiBhbiBpbWFnZQ==";

fn levain(home: &Home, server: &ModelServer, arguments: &[&str]) -> Launch {
    let mut all = vec!["--model", "anthropic/test"];
    all.extend(arguments);
    home.levain_in_terminal(&all).env("ANTHROPIC_BASE_URL", &server.base()).env("ANTHROPIC_API_KEY", KEY)
}

fn open(home: &Home, server: &ModelServer) -> Terminal {
    let terminal = levain(home, server, &[]).start();
    terminal.wait_for("A new thread");
    terminal
}

/// The texts and images of the last thing that was said.
fn said(body: &Value) -> Vec<Value> {
    let said = body["messages"].as_array().unwrap().last().unwrap();
    let without_marks = |block: &Value| {
        let mut block = block.clone();
        block.as_object_mut().unwrap().remove("cache_control");
        block
    };
    match &said["content"] {
        Value::Array(blocks) => blocks.iter().map(without_marks).collect(),
        text => vec![json!({"type": "text", "text": text})],
    }
}

fn texts(body: &Value) -> String {
    said(body).iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n---\n")
}

#[test]
fn what_a_command_printed_reaches_the_model_with_the_next_prompt() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = open(&home, &server);
    // The first thing in a thread, so it makes one; nobody is asked.
    terminal.send_keys("!echo shared-$((20+1)); exit 3\r");
    terminal.wait_for("exit code 3");
    terminal.send_keys("!! echo secret-$((30+1))\r");
    terminal.wait_until("the second ended", |screen| screen.contents().matches('✓').count() == 1);
    assert!(server.is_asked().is_none());
    terminal.send_keys("what was that?\r");
    let call = server.call();
    let texts = texts(&call.body);
    assert!(texts.contains("    echo shared-$((20+1)); exit 3\n\nIt printed:\n\n```\nshared-21"), "{texts}");
    assert!(texts.contains("exit code 3") && texts.ends_with("what was that?"), "{texts}");
    assert!(!String::from_utf8_lossy(&call.bytes).contains("secret-"), "what is run alone stays alone");
    call.answer("I see.");
    terminal.wait_for("I see.");
    terminal.leave();
    let terminal = levain(&home, &server, &["--continue"]).start();
    terminal.wait_for("I see.");
    terminal.wait_for("!  echo shared");
    terminal.leave();
}

#[test]
fn a_running_command_is_stopped_by_esc_and_leaves_nothing_behind() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = open(&home, &server);
    terminal.send_keys("!echo begun; sleep 300\r");
    terminal.wait_for("begun");
    // A second one has to wait; what was written is not lost.
    terminal.send_keys("!echo two\r");
    terminal.wait_for("still runs");
    terminal.wait_for("!echo two");
    terminal.send_keys(key::ESC);
    terminal.wait_for("✗ (stopped)");
    // What it had printed by then stays.
    terminal.wait_for("begun");
    poll("the command's processes ended", || running(&home, "sleep 300") == 0);
    terminal.send_keys("\r");
    terminal.wait_until("the second ran", |screen| screen.contents().contains('✓'));
    terminal.leave();
}

#[test]
fn a_command_ends_with_the_worker_that_was_killed() {
    let (home, server) = (Home::new(), ModelServer::start());
    let terminal = open(&home, &server);
    terminal.send_keys("!echo begun; sleep 301\r");
    terminal.wait_for("begun");
    let worker = home.processes().into_iter().find(|pid| line(pid.as_raw_nonzero().get()).contains("worker")).unwrap();
    kill(worker, Signal::KILL);
    terminal.wait_for("the worker ended unexpectedly");
    terminal.wait_for("Interrupted");
    poll("the command's processes ended", || running(&home, "sleep 301") == 0);
    terminal.send_keys("and now?\r");
    let call = server.call();
    assert!(texts(&call.body).contains("Interrupted: the process that ran this call ended."), "{}", call.body);
    call.answer("Now it is over.");
    terminal.wait_for("Now it is over.");
    terminal.leave();
}

fn line(pid: i32) -> String {
    String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default()).replace('\0', " ")
}

fn running(home: &Home, word: &str) -> usize {
    home.processes().into_iter().filter(|pid| line(pid.as_raw_nonzero().get()).contains(word)).count()
}

#[test]
fn an_image_goes_along_and_stays_in_the_thread() {
    let (home, server) = (Home::new(), ModelServer::start());
    fs::write(home.project().join("shot.png"), PNG).unwrap();
    let dropped = home.path().join("two words.png");
    fs::write(&dropped, PNG).unwrap();
    let terminal = open(&home, &server);
    terminal.send_keys("what is on @sho");
    terminal.wait_for("@shot.png");
    terminal.send_keys("\r");
    terminal.wait_until("the name is whole", |screen| screen.contents().contains("› what is on @shot.png"));
    terminal.send_keys("?\r");
    let call = server.call();
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG_BASE64}});
    assert!(said(&call.body).contains(&image), "{}", call.body);
    assert!(texts(&call.body).ends_with("what is on @shot.png ?"), "{}", call.body);
    let sent = String::from_utf8(call.bytes.clone()).unwrap();
    call.answer("A cat.");
    terminal.wait_for("shot.png · image/png · 1 kB");
    // What was sent can be seen: whole where a program reads it, with a word for the image where a person does.
    let show = ["context", "show", "--thread", "chat-", "--wire", "anthropic"];
    let shown = home.levain(&show).stdin(Stdio::null()).output().unwrap();
    assert_eq!(String::from_utf8(shown.stdout).unwrap().trim_end(), sent);
    terminal.send_keys("\x1bOS"); // F4
    terminal.wait_for("#1 ·");
    terminal.send_keys("w");
    terminal.wait_for("Anthropic Messages, as it was sent · ");
    terminal.send_keys("/as base64");
    terminal.wait_for("iVBORw0KGgpub3QgbXVjaCBv… 28 bytes as base64");
    terminal.send_keys(key::ENTER);
    terminal.send_keys("\x1b[27u");
    terminal.wait_gone("bytes as base64");
    terminal.send_keys("\x1b[27u");
    terminal.wait_gone("#1 ·");
    // It was kept: the file may go.
    fs::remove_file(home.project().join("shot.png")).unwrap();
    terminal.paste(&format!("'{}'", dropped.display()));
    terminal.wait_for("two words.png\"");
    terminal.send_keys("and on this?\r");
    let call = server.call();
    assert_eq!(call.body.to_string().matches(PNG_BASE64).count(), 2);
    assert!(said(&call.body).contains(&image), "{}", call.body);
    call.answer("A dog.");
    terminal.wait_for("A dog.");
    // What is not an image is refused before anything is sent, and the draft comes back.
    fs::write(home.project().join("fake.png"), "<svg>").unwrap();
    terminal.send_keys("and @fake.png \r");
    terminal.wait_for("it is not a PNG, JPEG, GIF or WebP image");
    terminal.wait_until("the draft is back", |screen| screen.contents().contains("› and @fake.png"));
    assert!(server.is_asked().is_none());
    terminal.leave();
}

#[test]
fn an_image_is_given_on_the_command_line() {
    let (home, server) = (Home::new(), ModelServer::start());
    fs::write(home.project().join("shot.png"), PNG).unwrap();
    let run = |image: &str| {
        let arguments = ["run", "--model", "anthropic/test", "--image", image, "what is it?"];
        let mut command = home.levain(&arguments);
        command.env("ANTHROPIC_BASE_URL", server.base()).env("ANTHROPIC_API_KEY", KEY);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let child = run("shot.png");
    let call = server.call();
    assert!(said(&call.body).iter().any(|block| block["source"]["data"] == PNG_BASE64), "{}", call.body);
    call.answer("A cat.");
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "A cat.\n");
    let output = run("gone.png").wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(error.contains("gone.png` was not attached: No such file"), "{error}");
    assert!(server.is_asked().is_none());
}

#[test]
fn a_first_prompt_that_is_refused_comes_back_into_the_draft() {
    let (home, server) = (Home::new(), ModelServer::start());
    fs::write(home.project().join("fake.png"), "<svg>").unwrap();
    let terminal = open(&home, &server);
    terminal.send_keys("look at @fake.png \r");
    terminal.wait_for("it is not a PNG, JPEG, GIF or WebP image");
    terminal.wait_for("› look at @fake.png");
    assert!(server.is_asked().is_none());
    // The thread is there, and takes what is sent next.
    fs::write(home.project().join("fake.png"), PNG).unwrap();
    terminal.send_keys(" again");
    terminal.wait_for("again");
    terminal.send_keys(key::ENTER);
    let call = server.call();
    assert!(texts(&call.body).contains("look at @fake.png"), "{}", call.body);
    call.answer("A cat.");
    terminal.wait_for("A cat.");
    terminal.leave();
}

#[test]
fn a_first_command_comes_back_when_no_worker_comes_up() {
    let (home, server) = (Home::new(), ModelServer::start());
    let directive = home.project().join(".ai/directives/team/short.md");
    fs::create_dir_all(directive.parent().unwrap()).unwrap();
    fs::write(&directive, "```xml\n<directive name=\"short\"/>\n```\nBe brief.\n").unwrap();
    let terminal = levain(&home, &server, &["team/short"]).start();
    terminal.wait_for("A new thread with team/short");
    fs::remove_file(&directive).unwrap();
    terminal.send_keys("!echo hello\r");
    terminal.wait_for("the worker did not start");
    terminal.wait_for("› !echo hello");
    terminal.leave();
}
