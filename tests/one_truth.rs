//! The context screen and `levain context show` say the same of the same request: layers, words and bytes.

use crate::support::conversation::{say, screen};
use crate::support::model_server::{KEY, ModelServer};
use crate::support::terminal::{Home, Terminal, key, poll};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use std::fs;

/// What the program put on the clipboard, in order. A sequence of which only a part has arrived is not counted.
fn copied(terminal: &Terminal) -> Vec<String> {
    let bytes = terminal.bytes();
    let said = String::from_utf8_lossy(&bytes);
    let whole = said.split("\x1b]52;c;").skip(1).filter_map(|rest| Some(rest.split_once(['\x07', '\x1b'])?.0));
    whole.map(|coded| String::from_utf8(STANDARD.decode(coded).unwrap()).unwrap()).collect()
}

/// Copies what is chosen or shown.
fn copy(terminal: &Terminal) -> String {
    let before = copied(terminal).len();
    terminal.send_keys("y");
    poll("it is copied", || copied(terminal).len() > before);
    copied(terminal).pop().unwrap()
}

#[test]
fn s16_the_context_screen_and_the_command_line_say_the_same_of_a_request() {
    let (home, server) = (Home::new(), ModelServer::start());
    fs::write(home.project().join("AGENTS.md"), "Use tabs.\n").unwrap();
    fs::write(home.project().join("notes.txt"), "a note 漢字\n").unwrap();
    let terminal = screen(&home, &server).size(160, 45).start();
    terminal.wait_for("test-model");
    for (prompt, answer) in [("first, with @notes.txt", "One."), ("and then?", "Two.")] {
        say(&terminal, &server, prompt, answer);
    }
    let id = fs::read_dir(home.project().join(".ai/agent/threads")).unwrap().next().unwrap().unwrap().file_name();
    let id = id.into_string().unwrap();
    let shown = |form: &str| {
        let mut command = home.levain(&["context", "show", "--thread", &id, form]);
        command.env("ANTHROPIC_BASE_URL", server.base()).env("ANTHROPIC_API_KEY", KEY);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let json: Value = serde_json::from_str(&shown("--json")).unwrap();
    let layers = json["layers"].as_array().unwrap();
    assert!(
        layers.iter().any(|layer| layer["kind"] == "attachment")
            && layers.iter().any(|layer| layer["kind"] == "history")
    );
    let whole = shown("--text");
    terminal.send_keys("\x1bOS"); // F4
    terminal.wait_for("┌ context · ");
    terminal.wait_for(&format!("{id}#2"));
    terminal.send_keys("g");
    for layer in layers {
        let name = layer["id"].as_str().unwrap();
        terminal.wait_for(&format!("· {name}"));
        if layer["decision"]["is"] == "included" {
            let text = copy(&terminal);
            // Messages are told in words, the same on both sides; everything else is the layer's own text.
            let same = if layer["kind"] == "history" { whole.contains(&text) } else { layer["text"] == text.as_str() };
            assert!(same, "{name}: {text}");
            let tokens = layer["tokens"]["count"].as_u64().unwrap();
            terminal.wait_for(&format!("~{tokens} tokens"));
        }
        terminal.send_keys("j");
    }
    // The body, byte for byte.
    terminal.send_keys("w");
    terminal.wait_for("as it was sent");
    assert_eq!(copy(&terminal), shown("--wire").trim_end_matches('\n'));
    for title in ["as it was sent", "┌ context · "] {
        terminal.send_keys(key::ESC);
        terminal.wait_gone(title);
    }
    terminal.leave();
    home.wait_until_quiet();
}
