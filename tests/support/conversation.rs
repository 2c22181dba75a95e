//! A conversation on the screen with the scripted model server.

use super::model_server::{KEY, ModelServer};
use super::terminal::{Home, Launch, Terminal, key};
use std::fs;

/// The screen on `server` with the model `test-model`; its size is still to be said.
pub fn screen(home: &Home, server: &ModelServer) -> Launch {
    let launch = home.levain_in_terminal(&["--model", "anthropic/test-model"]);
    launch.env("ANTHROPIC_BASE_URL", &server.base()).env("ANTHROPIC_API_KEY", KEY)
}

/// Sends `prompt`, has the server answer it, and waits until the answer has ended.
pub fn say(terminal: &Terminal, server: &ModelServer, prompt: &str, answer: &str) {
    terminal.send_keys(prompt);
    terminal.wait_for(prompt);
    terminal.send_keys(key::ENTER);
    server.call().answer(answer);
    terminal.wait_for(answer);
    terminal.wait_gone("● ");
}

/// What was said in the messages of a call, without what surrounds it.
pub fn has_said(messages: &[(String, String)], words: &str) -> bool {
    messages.iter().any(|(_, text)| text.contains(words))
}

/// How many threads the project has.
pub fn threads(home: &Home) -> usize {
    fs::read_dir(home.project().join(".ai/agent/threads")).unwrap().count()
}
