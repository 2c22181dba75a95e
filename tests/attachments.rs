//! What a prompt names behind `@` goes along with it: files, folders and threads, in the whole program.

use crate::support::model_server::{KEY, ModelServer};
use crate::support::terminal::{Home, Terminal, key};
use serde_json::Value;
use std::fs;
use std::process::{Child, Stdio};

const OLD: &str = "<file path=\"src/a.rs\">\nfn old() { ${not_a_placeholder} }\n</file>\n";

fn project() -> (Home, ModelServer) {
    let home = Home::new();
    fs::create_dir_all(home.project().join("src")).unwrap();
    fs::write(home.project().join("src/a.rs"), "fn old() { ${not_a_placeholder} }\n").unwrap();
    (home, ModelServer::start())
}

fn start(home: &Home, server: &ModelServer) -> Terminal {
    let launch = home.levain_in_terminal(&["--model", "anthropic/test-model"]).size(120, 40);
    let terminal = launch.env("ANTHROPIC_BASE_URL", &server.base()).env("ANTHROPIC_API_KEY", KEY).start();
    terminal.wait_for("test-model");
    terminal
}

fn run(home: &Home, server: &ModelServer, arguments: &[&str]) -> Child {
    let mut command = home.levain(&[&["run", "--json"], arguments].concat());
    command.env("ANTHROPIC_BASE_URL", server.base()).env("ANTHROPIC_API_KEY", KEY).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn result(child: Child) -> Value {
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Every text that the model was sent, one after the other.
fn texts(body: &Value) -> Vec<String> {
    let blocks = |content: &Value| match content {
        Value::Array(blocks) => blocks.iter().filter_map(|block| Some(block["text"].as_str()?.to_owned())).collect(),
        text => vec![text.as_str().unwrap_or_default().to_owned()],
    };
    body["messages"].as_array().unwrap().iter().flat_map(|message| blocks(&message["content"])).collect()
}

fn received(body: &Value, text: &str) -> usize {
    texts(body).iter().filter(|one| *one == text).count()
}

#[test]
fn s16_a_file_goes_along_as_a_layer_and_stays_as_it_was() {
    let (home, server) = project();
    let terminal = start(&home, &server);
    terminal.send_keys("explain @src/a");
    terminal.wait_for("@src/a.rs");
    terminal.send_keys("\t");
    terminal.wait_for("request ~");
    // The preview has it as a layer with its path; what Enter sends is what it shows.
    terminal.send_keys("\x10"); // ctrl-p
    terminal.wait_for("attached");
    fs::write(home.project().join("src/a.rs"), "fn new() {}\n").unwrap();
    terminal.send_keys(key::ENTER);
    let call = server.call();
    assert_eq!(received(&call.body, OLD), 1, "{}", call.body);
    call.answer("An old function.");
    terminal.wait_for("An old function.");
    terminal.wait_for("+ src/a.rs · file · 34 bytes");
    terminal.wait_gone("● ");
    // The next turn has the text as it was, and what is written now besides.
    terminal.send_keys("and @src/a.rs now?");
    terminal.send_keys(key::ENTER);
    let call = server.call();
    assert_eq!(
        (received(&call.body, OLD), received(&call.body, "<file path=\"src/a.rs\">\nfn new() {}\n</file>\n")),
        (1, 1)
    );
    call.answer("A new one.");
    terminal.wait_for("A new one.");
    terminal.wait_gone("● ");
    // Tried again it is the same request, though the file is gone.
    fs::remove_file(home.project().join("src/a.rs")).unwrap();
    terminal.send_keys("/retry\r");
    let call = server.call();
    assert_eq!(
        (received(&call.body, OLD), received(&call.body, "<file path=\"src/a.rs\">\nfn new() {}\n</file>\n")),
        (1, 1)
    );
    call.answer("Still new.");
    terminal.wait_for("difference · ");
    terminal.send_keys(key::ESC);
    terminal.wait_for("┌ context · ");
    terminal.wait_for("attached");
    terminal.send_keys(key::ESC);
    terminal.wait_for("Still new.");
    terminal.leave();
    home.wait_until_quiet();
}

#[test]
fn s16_what_cannot_go_along_is_said_and_nothing_is_sent() {
    let (home, server) = project();
    fs::write(home.project().join("large.txt"), vec![b'x'; 300 << 10]).unwrap();
    fs::write(home.project().join("data.bin"), b"\0\x01\x02").unwrap();
    let terminal = start(&home, &server);
    for (name, why) in [
        ("large.txt", "it is larger than 256 kB"),
        ("data.bin", "it is not text"),
        ("none.txt", "there is no such file"),
        ("../x.txt", "it is outside the project"),
        ("thread:chat-1", "there is no thread `chat-1`"),
    ] {
        terminal.send_keys(&format!("see @{name} please"));
        terminal.wait_for(&format!("see @{name} please"));
        terminal.send_keys(key::ENTER);
        terminal.wait_for(why);
        terminal.wait_for(&format!("› see @{name} please"));
        terminal.send_keys("\x15");
    }
    assert!(server.is_asked().is_none());
    // What is no name of a file is a word.
    terminal.send_keys("ask @ada about `@none.txt`");
    terminal.send_keys(key::ENTER);
    let call = server.call();
    assert!(received(&call.body, "ask @ada about `@none.txt`") == 1, "{}", call.body);
    call.answer("She knows.");
    terminal.wait_for("She knows.");
    terminal.leave();
    home.wait_until_quiet();
}

#[test]
fn s16_a_folder_and_a_thread_go_along_without_a_screen_and_in_forks() {
    let (home, server) = project();
    let first = run(&home, &server, &["--model", "anthropic/test-model", "look at @src/ and @src/a.rs"]);
    let call = server.call();
    assert_eq!(received(&call.body, "<folder path=\"src/\">\na.rs\n</folder>\n"), 1, "{}", call.body);
    assert_eq!(received(&call.body, OLD), 1);
    call.answer("Seen.");
    let id = result(first)["thread_id"].as_str().unwrap().to_owned();
    // Another thread takes in what was said.
    let other = run(&home, &server, &["--model", "anthropic/test-model", &format!("sum up @thread:{id}")]);
    let call = server.call();
    let said = format!(
        "<thread id=\"{id}\">\n[user]\n(src/ · folder · 5 bytes)\n(src/a.rs · file · 34 bytes)\nlook at @src/ and @src/a.rs\n\n[assistant]\nSeen.\n</thread>\n"
    );
    assert_eq!(received(&call.body, &said), 1, "{}", call.body);
    call.answer("Short.");
    let other = result(other)["thread_id"].as_str().unwrap().to_owned();
    // The command line and a fork know both as they were.
    fs::remove_file(home.project().join("src/a.rs")).unwrap();
    let shown = home.levain(&["context", "show", "--thread", &id]).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("attached      src/a.rs  project src/a.rs"), "{shown}");
    let json = home.levain(&["context", "show", "--thread", &id, "--json"]).output().unwrap();
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    let layer = json["layers"].as_array().unwrap().iter().find(|layer| layer["id"] == "src/a.rs").unwrap();
    assert_eq!((&layer["kind"], &layer["decision"]["is"]), (&Value::from("attachment"), &Value::from("included")));
    assert_eq!(layer["text"], "fn old() { ${not_a_placeholder} }\n");
    assert!(layer["hash"].as_str().is_some() && layer["tokens"]["count"].as_u64().unwrap() > 8, "{layer}");
    let shown = home.levain(&["context", "show", "--thread", &other]).output().unwrap();
    assert!(String::from_utf8(shown.stdout).unwrap().contains(&format!("  thread {id}")));
    for (arguments, asked) in
        [(vec!["--fork", &id, "and now?"], "and now?"), (vec!["--fork", &format!("{id}#1")], "look at")]
    {
        let fork = run(&home, &server, &arguments);
        let call = server.call();
        assert_eq!(received(&call.body, OLD), 1, "{asked}: {}", call.body);
        call.answer("The same.");
        result(fork);
    }
    // Data that is piped in names nothing.
    let mut piped = home.levain(&["run", "--json", "--model", "anthropic/test-model"]);
    piped.env("ANTHROPIC_BASE_URL", server.base()).env("ANTHROPIC_API_KEY", KEY);
    let mut piped = piped.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut piped.stdin.take().unwrap(), b"mail of @none.txt").unwrap();
    let call = server.call();
    assert_eq!(received(&call.body, "mail of @none.txt"), 1);
    call.answer("Read.");
    result(piped);
    home.wait_until_quiet();
}
