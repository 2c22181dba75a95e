//! Layers in the words of people, the same on the screen and on the command line.

use super::plan::place;
use crate::domain::{Block, Channel, Layer, LayerKind, Message, Origin, Role, Via};

/// The part of the request a layer is in.
#[must_use]
pub fn part_of(channel: Channel) -> String {
    match channel {
        Channel::System => "system".to_owned(),
        Channel::Message { index } => format!("message {}", index + 1),
        Channel::Messages { count: 0, .. } => "messages".to_owned(),
        Channel::Messages { first, count } => format!("messages {} to {}", first + 1, first + count),
        Channel::Tools => "tools".to_owned(),
    }
}

/// A kind in a word or two.
#[must_use]
pub fn kind(kind: LayerKind) -> &'static str {
    match kind {
        LayerKind::Constitution => "constitution",
        LayerKind::ContextInstructions => "instructions",
        LayerKind::SystemHook | LayerKind::HookBefore | LayerKind::HookAfter => "hook",
        LayerKind::ExtendsSystem => "base",
        LayerKind::DirectiveSystem | LayerKind::ContextBefore | LayerKind::ContextAfter => "context",
        LayerKind::ToolSnippets => "tools",
        LayerKind::Guidelines => "guidelines",
        LayerKind::AppendSystem => "appended",
        LayerKind::ProjectFile => "project file",
        LayerKind::Skills => "skills",
        LayerKind::DateCwd => "date, folder",
        // Of an extension, a program or a file: where it comes from is said beside it.
        LayerKind::ExtensionSystem | LayerKind::ExtensionMessage => "handler",
        LayerKind::Prompt => "directive",
        LayerKind::History => "history",
        LayerKind::Summary => "summary",
        LayerKind::ContextState => "state",
        LayerKind::Attachment => "attached",
        LayerKind::User => "message",
        LayerKind::NextTurn => "next turn",
        LayerKind::ToolSchema => "tool",
    }
}

/// What was said, called and answered in the messages that a layer stands for, as people read it; `None` for one that has
/// a text of its own.
pub fn conversation<'a>(layer: &Layer, messages: impl Iterator<Item = &'a Message>) -> Option<String> {
    // What is not sent has a text of its own.
    let Channel::Messages { first, count: count @ 1.. } = layer.channel else { return None };
    let told: Vec<String> = messages.skip(first).take(count).map(said).collect();
    Some(told.join("\n\n"))
}

/// A message with who said it.
fn said(message: &Message) -> String {
    let who = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    let block = |block: &Block| match block {
        Block::Text { text } => text.clone(),
        Block::Thinking { text, .. } => format!("[thinking] {text}"),
        Block::RedactedThinking { .. } => "[thinking, encrypted]".to_owned(),
        Block::ToolCall(call) => format!("[calls {} {}]", call.tool, call.input),
        Block::ToolResult { output, error: false, .. } => format!("[result]\n{output}"),
        Block::ToolResult { output, error: true, .. } => format!("[failed]\n{output}"),
        Block::Image { media_type, .. } => format!("[image, {media_type}]"),
        // Their texts are layers of their own.
        Block::Custom(custom) => format!("[{} of {}]", custom.custom_type, custom.by),
        Block::Attached(attached) => format!("[{}]", attached.in_words()),
    };
    let blocks: Vec<String> = message.blocks.iter().map(block).collect();
    format!("{who}: {}", blocks.join("\n"))
}

/// Where a layer comes from, on one line.
#[must_use]
pub fn origin(origin: &Origin) -> String {
    match origin {
        Origin::Item { space: from, bundle, path, lines, signature, via, .. } => {
            let line = lines.filter(|(first, _)| *first > 0).map(|(first, _)| format!(":{first}")).unwrap_or_default();
            let signature = signature.as_ref().filter(|word| *word != "unsigned");
            let signature = signature.map(|word| format!(", signature {word}")).unwrap_or_default();
            let via = via.as_ref().map(|via| format!(", {}", through(via))).unwrap_or_default();
            // What is not there has no path.
            let path = if path.is_empty() { String::new() } else { format!(" {path}") };
            format!("{}{path}{line}{signature}{via}", place(*from, bundle.as_deref()))
        }
        Origin::File { space: from, path } => format!("{} {path}", from.word()),
        Origin::Provider { name } => format!("provider {name}"),
        Origin::User => "you".to_owned(),
        Origin::Thread => "this thread".to_owned(),
        Origin::OtherThread { id } => format!("thread {id}"),
        Origin::Handler { stage, handler, .. } => format!("handler {handler} ({stage})"),
    }
}

/// Who asked for a layer, where somebody did.
#[must_use]
pub fn asker(origin: &Origin) -> Option<String> {
    let Origin::Item { via, .. } = origin else { return None };
    via.as_ref().map(through)
}

/// Who asked for it.
fn through(via: &Via) -> String {
    match via {
        Via::Hook { id, layer, file, line, .. } => format!("by hook {id} (layer {layer}, {file}:{line})"),
        Via::Directive { id, line, .. } => format!("by {id}, line {line}"),
        Via::Provider { by, .. } => format!("by {by}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{CallId, ToolCall};

    #[test]
    fn a_message_is_told_with_calls_and_results() {
        let input = serde_json::json!({});
        let call = Block::ToolCall(ToolCall { call_id: CallId("c".into()), tool: "ls".into(), input });
        let text = |text: &str| Block::Text { text: text.into() };
        let asked = Message { role: Role::Assistant, blocks: vec![text("Let me look."), call] };
        assert_eq!(said(&asked), "assistant: Let me look.\n[calls ls {}]");
        let result = |output: &str, error| Block::ToolResult {
            call_id: CallId("c".into()),
            output: output.into(),
            error,
            images: Vec::new(),
        };
        let answered = Message { role: Role::User, blocks: vec![result("a.txt", false), result("no", true)] };
        assert_eq!(said(&answered), "user: [result]\na.txt\n[failed]\nno");
    }
}
