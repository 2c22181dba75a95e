//! What is kept of how the system text of a thread is made, for its extensions: `systemPromptOptions` of `before_agent_start`,
//! and what `ctx.getSystemPromptOptions()` gives.

use crate::context::project_file;
use crate::domain::{LayerKind, Origin, Piece, Space};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::{Mutex, PoisonError, RwLock};
use std::time::Instant;

/// See the module.
#[derive(Default)]
pub(super) struct PromptOptions {
    /// The files that are in the system text, as they were when it was planned.
    files: RwLock<Vec<Piece>>,
    /// What the handlers of the newest prompt were told, and when that began its way through them.
    told: Mutex<Option<(Instant, Value)>>,
}

impl PromptOptions {
    /// The system text consists of these pieces.
    pub(super) fn planned(&self, system: &[Piece]) {
        let is_file = |piece: &&Piece| matches!(piece.kind, LayerKind::AppendSystem | LayerKind::ProjectFile);
        let files = system.iter().filter(is_file).filter(|piece| piece.is_included()).cloned().collect();
        *self.files.write().unwrap_or_else(PoisonError::into_inner) = files;
    }

    /// What all handlers of a prompt are told that began its way through them then: it is made once.
    pub(super) fn since(&self, since: Instant, make: impl FnOnce() -> Value) -> Value {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, options)) = &*told
            && *known == since
        {
            return options.clone();
        }
        told.insert((since, make())).1.clone()
    }

    /// Tells of the files that are in the system text, which lie below the project or the person's own folder.
    pub(super) fn tell_files(&self, root: &Path, home: &Path, options: &mut Value) {
        let files = self.files.read().unwrap_or_else(PoisonError::into_inner);
        let told = |piece: &Piece| {
            let content = project_file(piece)?;
            let is_own = matches!(piece.origin, Origin::File { space: Space::User, .. });
            let path = if is_own { home } else { root }.join(&piece.id);
            Some(json!({"path": path, "content": content}))
        };
        options["contextFiles"] = files.iter().filter_map(told).collect();
        if let Some(appended) = files.iter().find(|piece| piece.kind == LayerKind::AppendSystem) {
            options["appendSystemPrompt"] = Value::from(&*appended.text);
        }
    }
}
