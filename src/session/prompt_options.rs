//! What extensions are told of how the system text of their thread is made: `systemPromptOptions` of `before_agent_start`, and
//! what `ctx.getSystemPromptOptions()` gives.

use super::extension_thread::ExtensionThread;
use super::tools_of_pi;
use crate::context::{ToolWords, project_file};
use crate::domain::{LayerKind, Origin, Piece, Space};
use crate::items::prompt_file::PromptFile;
use serde_json::{Map, Value, json};
use std::sync::{Mutex, PoisonError, RwLock};
use std::time::Instant;

/// What of it is kept.
#[derive(Default)]
pub(super) struct PromptOptions {
    /// The files that are in the system text, as they were when it was planned.
    files: RwLock<Vec<Piece>>,
    /// What the handlers of the newest prompt were told, and when that began its way through them.
    told: Mutex<Option<(Instant, Value)>>,
}

impl ExtensionThread {
    /// The system text consists of these pieces.
    pub(super) fn planned(&self, system: &[Piece]) {
        let is_file = |piece: &&Piece| matches!(piece.kind, LayerKind::AppendSystem | LayerKind::ProjectFile);
        let files = system.iter().filter(is_file).filter(|piece| piece.is_included()).cloned().collect();
        *self.prompt_options.files.write().unwrap_or_else(PoisonError::into_inner) = files;
    }

    /// What all handlers of a prompt are told that began its way through them then. Skills are looked for once.
    pub(super) fn prompt_options_since(&self, since: Instant) -> Value {
        let mut told = self.prompt_options.told.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, options)) = &*told
            && *known == since
        {
            return options.clone();
        }
        told.insert((since, self.prompt_options())).1.clone()
    }

    /// What is known of it now: the tools that are offered, by pi's names, what extensions say of them, the skills that there
    /// are, which are looked for, and the files that are in it.
    pub(super) fn prompt_options(&self) -> Value {
        let active = self.of_tools("tools.active", &Value::Null).unwrap_or_default();
        let words = self.tools.get().map_or_else(Vec::new, |equipment| (equipment.words)());
        let named = |one: &ToolWords| Some((tools_of_pi::name(&one.name).to_owned(), one.snippet.clone()?.into()));
        let snippets: Map<String, Value> = words.iter().filter_map(named).collect();
        let guidelines: Vec<&String> = words.iter().flat_map(|one| &one.guidelines).collect();
        let cwd = self.root.display().to_string();
        let skills: Vec<Value> = self.prompt_files().skills.iter().map(skill).collect();
        let files = self.prompt_options.files.read().unwrap_or_else(PoisonError::into_inner);
        let context_files: Vec<Value> = files.iter().filter_map(|piece| self.context_file(piece)).collect();
        let mut options = json!({"cwd": cwd, "selectedTools": active, "toolSnippets": snippets,
            "promptGuidelines": guidelines, "skills": skills, "contextFiles": context_files});
        if let Some(appended) = files.iter().find(|piece| piece.kind == LayerKind::AppendSystem) {
            options["appendSystemPrompt"] = Value::from(&*appended.text);
        }
        options
    }

    /// A project file as extensions of pi know it.
    fn context_file(&self, piece: &Piece) -> Option<Value> {
        let content = project_file(piece)?;
        let is_own = matches!(piece.origin, Origin::File { space: Space::User, .. });
        let folder = if is_own { &self.home } else { &self.root };
        Some(json!({"path": folder.join(&piece.id), "content": content}))
    }
}

/// A skill as extensions of pi know it.
fn skill(file: &PromptFile) -> Value {
    let folder = file.file.parent().unwrap_or(&file.file);
    json!({"name": file.name, "description": file.description, "filePath": file.file, "baseDir": folder,
        "disableModelInvocation": !file.listed})
}
