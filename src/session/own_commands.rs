//! Commands that a person gave with `!`, where an extension runs them in the place of the program.

use super::extension_handlers::ExtensionHandlers;
use super::extension_text::plain;
use super::extensions::name_of;
use crate::extensions::{Ask, Engine};
use crate::ports::tools::OwnCommand;
use crate::ports::{ToolListener, ToolOutcome};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::mpsc;

/// The event that asks who runs one.
const EVENT: &str = "user_bash";

impl ExtensionHandlers {
    /// Runs a command of the person's in the way of the first extension that has one; none where the program is to run it.
    /// A handler that fails has no say, and people are told.
    pub(super) async fn own_command(&self, own: &OwnCommand, listener: &dyn ToolListener) -> Option<ToolOutcome> {
        for notice in self.ready().await {
            self.thread.notice(notice);
        }
        let engine = self.engine()?;
        let cwd = self.root();
        let event = json!({"type": EVENT, "command": own.command, "excludeFromContext": !own.shared, "cwd": cwd});
        for handler in engine.listing().handlers.iter().filter(|handler| handler.event == EVENT) {
            let asked = engine.call(handler.clone(), event.clone()).await;
            let (answer, _) = asked.ok()?;
            let name = name_of(&answer.path);
            if let Some(problem) = &answer.error {
                self.thread.notice(format!("{name} did not run the command: {problem}"));
                continue;
            }
            let Some(answered) = answer.result else { continue };
            if let Some(result) = answered.get("result").filter(|result| result.is_object()) {
                return Some(outcome(result, &name));
            }
            if let Some(number) = answered.get("operations").and_then(Value::as_u64) {
                let options = json!({"command": own.command, "cwd": cwd});
                return Some(run(&engine, (answer.path.clone(), number), options, &name, listener).await);
            }
        }
        None
    }
}

/// What an extension says came of it.
fn outcome(result: &Value, name: &str) -> ToolOutcome {
    let output = plain(result.get("output").and_then(Value::as_str).unwrap_or_default());
    let code = result.get("exitCode").and_then(Value::as_i64);
    let cancelled = result.get("cancelled").and_then(Value::as_bool).unwrap_or_default();
    ended(output, code, cancelled, name)
}

fn ended(output: String, code: Option<i64>, cancelled: bool, name: &str) -> ToolOutcome {
    let error = match code {
        _ if cancelled => Some(format!("(stopped; {name} ran it)")),
        Some(0) => None,
        Some(code) => Some(format!("(exit code {code}; {name} ran it)")),
        None => Some(format!("(it was ended; {name} ran it)")),
    };
    ToolOutcome { output, error }
}

/// Has the runner of an extension run it; what it prints is shown while it comes.
async fn run(
    engine: &Arc<Engine>,
    (path, number): (PathBuf, u64),
    options: Value,
    name: &str,
    listener: &dyn ToolListener,
) -> ToolOutcome {
    let (said, mut pieces) = mpsc::unbounded_channel();
    let asked = engine.ask(Ask::Runner { path, number, options, said }, false);
    let mut asked = std::pin::pin!(asked);
    let mut output = String::new();
    let mut heard = |piece: &Value| {
        let text = plain(piece.as_str().unwrap_or_default());
        if output.len() < MOST {
            output.push_str(&text);
        }
        listener.said(text);
    };
    let asked = loop {
        tokio::select! {
            biased;
            Some(piece) = pieces.recv() => heard(&piece),
            asked = &mut asked => break asked,
        }
    };
    while let Ok(piece) = pieces.try_recv() {
        heard(&piece);
    }
    match asked {
        Err(error) => ToolOutcome { output, error: Some(error.to_string()) },
        Ok((answer, _)) => match (answer.error, answer.result) {
            (Some(problem), _) => ToolOutcome { output, error: Some(problem.to_string()) },
            (None, result) => {
                let code = result.as_ref().and_then(|result| result.get("exitCode")?.as_i64());
                ended(output, code, false, name)
            }
        },
    }
}

/// Bytes of its output that are kept.
const MOST: usize = 1 << 20;
