//! Layers in the words of people, the same on the screen and on the command line.

use super::space;
use crate::domain::{Channel, LayerKind, Origin, Via};

/// The part of the request a layer is in.
#[must_use]
pub fn part_of(channel: Channel) -> String {
    match channel {
        Channel::System => "system".to_owned(),
        Channel::Message { index } => format!("message {}", index + 1),
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
        LayerKind::ExtensionSystem | LayerKind::ExtensionMessage => "extension",
        LayerKind::Prompt => "directive",
        LayerKind::History => "history",
        LayerKind::Summary => "summary",
        LayerKind::ContextState => "state",
        LayerKind::User => "said",
        LayerKind::NextTurn => "next turn",
        LayerKind::ToolSchema => "tool",
    }
}

/// Where a layer comes from, on one line.
#[must_use]
pub fn origin(origin: &Origin) -> String {
    match origin {
        Origin::Item { space: from, path, lines, signature, via, .. } => {
            let line = lines.filter(|(first, _)| *first > 0).map(|(first, _)| format!(":{first}")).unwrap_or_default();
            let signature = signature.as_ref().filter(|word| *word != "unsigned");
            let signature = signature.map(|word| format!(", signature {word}")).unwrap_or_default();
            let via = via.as_ref().map(|via| format!(", {}", through(via))).unwrap_or_default();
            // What is not there has no path.
            let path = if path.is_empty() { String::new() } else { format!(" {path}") };
            format!("{}{path}{line}{signature}{via}", space(*from))
        }
        Origin::File { space: from, path } => format!("{} {path}", space(*from)),
        Origin::Provider { name } => format!("provider {name}"),
        Origin::User => "you".to_owned(),
        Origin::Thread => "this thread".to_owned(),
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
