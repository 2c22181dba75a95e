//! Messages that extensions send: `pi.sendMessage` and `pi.sendUserMessage`.

use super::extension_thread::{ExtensionThread, is_idle};
use crate::domain::command::EXTENSION_CLIENT;
use crate::domain::event::PromptMode;
use crate::domain::{Command, CustomMessage, ExtensionEntry};
use crate::extensions::Refusal;
use crate::ports::ThreadAccess;
use crate::ports::tools::Waiting;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What one says.
pub(super) struct SaidByExtension {
    pub(super) text: String,
    /// So many images that cannot go along.
    images: usize,
}

impl SaidByExtension {
    /// What of it was not sent.
    pub(super) fn left_out(&self) -> Option<Refusal> {
        let why = "its images were left out: a handler of `input` can add images to a prompt";
        (self.images > 0).then(|| Refusal::new("EINVAL", why))
    }
}

impl ExtensionThread {
    /// What the message says that is to be sent; none where `name` sends none.
    pub(super) fn said(name: &str, arguments: &Value) -> Result<Option<SaidByExtension>, Refusal> {
        let wrong = |why: String| Refusal::new("EINVAL", why);
        let content = match name {
            "message.sendUser" => arguments.get("content"),
            "message.send" => {
                let of_message = |name: &str| arguments.pointer(&format!("/message/{name}"));
                if of_message("customType").and_then(Value::as_str).is_none_or(str::is_empty) {
                    return Err(wrong(
                        "its customType is no text: a message of an extension is called something".into(),
                    ));
                }
                of_message("content")
            }
            _ => return Ok(None),
        };
        let said = words(content.unwrap_or(&Value::Null)).map_err(wrong)?;
        if name == "message.sendUser" && said.text.trim().is_empty() {
            return Err(wrong("there is no text to send".into()));
        }
        Ok(Some(said))
    }

    /// When the model is to answer a message of an extension without a prompt: while the thread works, and where it says so.
    fn turn(&self, arguments: &Value) -> Option<PromptMode> {
        let option = |name: &str| arguments.pointer(&format!("/options/{name}"));
        let works = self.state.borrow().as_ref().is_some_and(|state| !is_idle(state));
        let next = option("deliverAs").and_then(Value::as_str) == Some("nextTurn");
        let asks = !next && (works || option("triggerTurn").and_then(Value::as_bool) == Some(true));
        asks.then(|| mode(arguments.get("options")))
    }

    /// Whether a message of an extension has to begin the conversation, which a prompt alone can. One that comes while the first
    /// prompt is on its way goes along with it.
    pub(super) fn begins(&self, arguments: &Value) -> bool {
        let rests_unsaid = self.state.borrow().as_ref().is_some_and(|state| state.cost.turns == 0 && is_idle(state));
        rests_unsaid && self.turn(arguments).is_some()
    }

    /// Leaves a message that joins the conversation with the next prompt, or that the model answers.
    pub(super) fn leave_message(
        &self,
        thread: &Arc<dyn ThreadAccess>,
        by: String,
        said: &SaidByExtension,
        arguments: &Value,
    ) -> Waiting<'static, Result<Value, Refusal>> {
        if let Err(why) = self.allowance.entry(arguments.to_string().len()) {
            return Box::pin(std::future::ready(Err(Refusal::new("EMSGSIZE", why))));
        }
        let of_message = |name: &str| arguments.pointer(&format!("/message/{name}"));
        let message = CustomMessage {
            custom_type: of_message("customType").and_then(Value::as_str).unwrap_or_default().to_owned(),
            text: said.text.clone(),
            display: of_message("display").and_then(Value::as_bool).unwrap_or_default(),
            details: of_message("details").cloned().unwrap_or_default(),
            by,
        };
        let behind = arguments.pointer("/options/deliverAs").and_then(Value::as_str) == Some("nextTurn");
        let left = thread.append(ExtensionEntry::Message { message, behind, turn: self.turn(arguments) });
        let left_out = said.left_out();
        Box::pin(async move {
            left.await;
            left_out.map_or(Ok(Value::Null), Err)
        })
    }

    /// A message of an extension to the thread.
    pub(super) fn submit(&self, arguments: &Value, text: String) -> Command {
        let mode = mode(arguments.get("options"));
        let number = self.sent.fetch_add(1, Ordering::Relaxed);
        let client = Some(format!("{EXTENSION_CLIENT}{}-{number}", std::process::id()));
        Command::Submit { text, mode, images: Vec::new(), files: Vec::new(), client }
    }
}

/// What is said, of the parts that a message can have.
fn words(content: &Value) -> Result<SaidByExtension, String> {
    let mut said = SaidByExtension { text: String::new(), images: 0 };
    match content {
        Value::String(text) => said.text.clone_from(text),
        Value::Array(parts) => {
            let mut texts = Vec::new();
            for part in parts {
                match (part.get("type").and_then(Value::as_str), part.get("text").and_then(Value::as_str)) {
                    (Some("text"), Some(text)) => texts.push(text),
                    (Some("image"), _) => said.images += 1,
                    _ => return Err("a part of its content is neither a text nor an image".to_owned()),
                }
            }
            said.text = texts.join("\n");
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            return Err("its content is neither a text nor a list of parts".to_owned());
        }
    }
    Ok(said)
}

fn mode(options: Option<&Value>) -> PromptMode {
    let named = options.and_then(|options| options.get("deliverAs")).and_then(Value::as_str);
    if named == Some("followUp") { PromptMode::FollowUp } else { PromptMode::Steer }
}
