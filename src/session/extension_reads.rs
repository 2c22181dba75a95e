//! What extensions read of their thread, answered at once, and what of it they change in passing.

use super::active_tools::ActiveTools;
use super::built_in::Equipment;
use super::extension_models;
use super::extension_text::plain;
use super::extension_thread::{ExtensionThread, is_idle};
use super::other_sessions;
use super::tools_of_pi;
use crate::context::ToolWords;
use crate::domain::{
    Command, ExtensionEntry, KnownTool, Space, StageValue, State, Themes, ThinkingLevel, ToolSpec, Verdict,
};
use crate::extensions::Asker;
use crate::items::prompt_file::{PromptFile, PromptFiles};
use crate::ports::StoreError;
use serde_json::{Map, Value, json};
use std::sync::PoisonError;

/// The theme that is asked for.
fn name_of(arguments: &Value) -> Option<&str> {
    arguments.get("name").and_then(Value::as_str).filter(|name| !name.is_empty())
}

impl ExtensionThread {
    /// How the thread stands.
    pub(super) fn of_thread(&self, name: &str, asker: &Asker, arguments: &Value) -> Option<Value> {
        let state = self.state.borrow().clone();
        let of_state = |read: &dyn Fn(&State) -> Value| state.as_ref().map_or(Value::Null, read);
        Some(match name {
            "mode" => (if self.has_person() && !asker.preview { "tui" } else { "print" }).into(),
            "ui.available" => (self.has_person() && !asker.preview).into(),
            "terminal.size" => {
                let screen = self.components.screen();
                json!({"columns": screen.columns, "rows": screen.rows})
            }
            "project.trusted" => true.into(),
            "ui.setTheme" => self.set_theme(name_of(arguments), self.has_person() && !asker.preview),
            "ui.themes" => self.themes().names.iter().map(|name| json!({"name": name})).collect(),
            // In its sixteen colours every terminal has the roles that extensions name.
            "ui.theme" => {
                let Themes { names, chosen } = self.themes();
                match name_of(arguments).or(chosen.as_deref()) {
                    Some(name) if names.iter().any(|known| known == name) => json!({"name": name}),
                    Some(_) | None => Value::Null,
                }
            }
            "ui.editorText" => self.components.editor_text().into(),
            "ui.toolsExpanded" => self.components.shows_details().into(),
            "flag" => self.extensions.flag(arguments.get("name").and_then(Value::as_str)?)?,
            "run.idle" => of_state(&|state| is_idle(state).into()),
            "run.pending" => of_state(&|state| (!state.queue.is_empty()).into()),
            "run.usage" => of_state(&|state| {
                let window = state.window.map(|window| window.0);
                let share = |window| percent(state.context.0, window);
                json!({"tokens": state.context.0, "contextWindow": window, "percent": window.map(share)})
            }),
            "model.current" => of_state(&|state| extension_models::described(&self.models, &state.model)),
            "model.thinking" => self.thinking().map_or(Value::Null, |level| level.word().into()),
            "model.setThinking" => {
                self.think(arguments.get("level").and_then(Value::as_str).unwrap_or_default());
                Value::Null
            }
            "commands.others" => commands(&self.prompt_files()),
            _ => return None,
        })
    }

    /// What was read of other threads; nothing where that fails.
    fn of_others(&self, read: Result<Value, StoreError>) -> Value {
        read.unwrap_or_else(|error| {
            tracing::warn!(%error, thread = ?self.file, "an extension asked for the threads of the project");
            Value::Null
        })
    }

    /// How it is told that the thread begins: with the log of the one that it goes on with.
    pub(super) fn begun(&self, event: &StageValue) -> StageValue {
        let before = event.get("previousSession").and_then(|id| id.as_str()?.parse().ok());
        let Some(before) = before else { return event.clone() };
        let mut event = event.json().into_owned();
        event["previousSessionFile"] = json!(self.file_of(&before));
        event.into()
    }

    /// How much the model thinks, where that was said.
    pub(super) fn thinking(&self) -> Option<ThinkingLevel> {
        let wished = self.wished.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|(_, level)| *level);
        wished.or_else(|| self.state.borrow().as_ref()?.model.thinking)
    }

    /// Has the model think so much from the next request on.
    pub(super) fn think(&self, word: &str) {
        let Some(level) = extension_models::level(word) else {
            let known: Vec<_> = ThinkingLevel::all().map(ThinkingLevel::word).collect();
            let said = format!("no model thinks `{}`; use {}", plain(word), known.join(", "));
            return self.notice(said);
        };
        let Some(model) = self.state.borrow().as_ref().map(|state| state.model.clone()) else { return };
        if self.thinking() == Some(level) {
            return;
        }
        *self.wished.lock().unwrap_or_else(PoisonError::into_inner) = Some((model.clone(), level));
        self.settle(Command::SetModel { model: model.with_thinking(Some(level)) });
    }

    /// Those of the person's screen.
    fn themes(&self) -> Themes {
        if self.has_person() { self.components.themes() } else { Themes::default() }
    }

    /// Has the screen show a theme, if it has told of that or of none.
    fn set_theme(&self, name: Option<&str>, is_shown: bool) -> Value {
        let refused = |why: String| json!({"success": false, "error": why});
        let Some(name) = name else { return refused("a theme has a name".to_owned()) };
        if !is_shown {
            return refused("there is no screen".to_owned());
        }
        let Themes { names, .. } = self.themes();
        if !names.is_empty() && !names.iter().any(|known| known == name) {
            return refused(format!("there is no theme {name}; there are {}", names.join(", ")));
        }
        self.components.choose(name);
        self.choose_theme(name.to_owned());
        json!({"success": true})
    }

    /// What was said in it, and what extensions left there.
    pub(super) fn of_session(&self, name: &str, arguments: &Value) -> Option<Value> {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str).map(str::to_owned);
        Some(match name {
            "session.info" => {
                let cwd = self.root.display().to_string();
                let id = self.entries(|entries| entries.header()["id"].clone());
                json!({"cwd": cwd, "id": id, "file": self.file, "dir": self.file.as_ref().and_then(|file| file.parent())})
            }
            "session.entries" => self.entries(|entries| entries.all().into()),
            "session.branch" => {
                let from = text("fromId");
                self.entries(|entries| entries.up_to(from.as_deref()).into())
            }
            "session.entry" => {
                let id = text("id").unwrap_or_default();
                self.entries(|entries| entries.one(&id).cloned().unwrap_or_default())
            }
            "session.leafId" => self.entries(|entries| entries.leaf().into()),
            "session.header" => self.entries(|entries| entries.header().clone()),
            "session.name" => self.entries(|entries| entries.name().into()),
            "session.label" => {
                let id = text("id").unwrap_or_default();
                self.entries(|entries| entries.label(&id).into())
            }
            "session.context" => self.entries(|entries| {
                let level = self.thinking().unwrap_or(ThinkingLevel::Off).word();
                let messages = entries.all().iter().filter_map(|entry| entry.get("message"));
                json!({"messages": messages.collect::<Vec<_>>(), "thinkingLevel": level, "model": null})
            }),
            "sessions.list" => self.of_others(other_sessions::listed(&self.layout, &self.root)),
            "sessions.entries" => {
                self.of_others(other_sessions::entries(&self.layout, &text("path").unwrap_or_default()))
            }
            "session.treePreparation" => {
                let target = text("targetId").unwrap_or_default();
                let (thread, entry) = match target.rsplit_once('#') {
                    Some((thread, entry)) => (thread.parse().ok(), entry),
                    None => (self.entries(|entries| entries.header()["id"].as_str()?.parse().ok()), target.as_str()),
                };
                let summarised = arguments.get("summarize").and_then(Value::as_bool) == Some(true);
                thread.map_or(Value::Null, |thread| self.tree_preparation(&thread, entry, summarised))
            }
            "session.append" => {
                let custom_type = text("customType").unwrap_or_default();
                let data = arguments.get("data").cloned().unwrap_or_default();
                self.append(ExtensionEntry::Custom { custom_type, data });
                self.entries(|entries| entries.leaf().into())
            }
            "session.setLabel" => {
                let (target, label) = (text("entryId").unwrap_or_default(), text("label"));
                self.append(ExtensionEntry::Label { target, label });
                Value::Null
            }
            "session.setName" => {
                self.rename(text("name").unwrap_or_default());
                Value::Null
            }
            "run.systemPrompt" => self.entries(|entries| entries.system().into()),
            "run.abort" => {
                self.stop_turn();
                Value::Null
            }
            "run.shutdown" => {
                // Who looks at the thread leaves with it.
                self.leave();
                self.tell(Command::Shutdown);
                Value::Null
            }
            _ => return None,
        })
    }

    /// The tools that the thread may use, by the names that pi's extensions know.
    pub(super) fn of_tools(&self, name: &str, arguments: &Value) -> Option<Value> {
        Some(match name {
            "tools.all" => {
                let one = |tool: &KnownTool| {
                    let ToolSpec { name, description, schema } = &tool.spec;
                    json!({"name": tools_of_pi::name(name), "description": description, "parameters": schema})
                };
                self.granted().iter().map(one).collect()
            }
            "tools.active" => {
                let names = self.granted().into_iter().filter(|tool| self.is_active(tool));
                names.map(|tool| tools_of_pi::name(&tool.spec.name).to_owned()).collect()
            }
            "tools.setActive" => {
                let names = arguments.get("names").and_then(Value::as_array)?;
                let names = names.iter().filter_map(Value::as_str).map(str::to_owned).collect();
                let known = self.granted().into_iter().map(|tool| tool.spec.name).collect();
                *self.active.write().unwrap_or_else(PoisonError::into_inner) = Some(ActiveTools { names, known });
                Value::Null
            }
            "run.systemPromptOptions" => self.prompt_options(),
            _ => return None,
        })
    }

    fn prompt_files(&self) -> PromptFiles {
        PromptFiles::find(&self.root, &self.home).with(&self.named())
    }

    /// What is known of how the system text is made: the tools that are offered, by pi's names, what extensions say of them,
    /// the skills that there are, which are looked for, and the files that are in it.
    pub(super) fn prompt_options(&self) -> Value {
        let active = self.of_tools("tools.active", &Value::Null).unwrap_or_default();
        let words = self.tools.get().map_or_else(Vec::new, |equipment| (equipment.words)());
        let named = |one: &ToolWords| Some((tools_of_pi::name(&one.name).to_owned(), one.snippet.clone()?.into()));
        let snippets: Map<String, Value> = words.iter().filter_map(named).collect();
        let guidelines: Vec<&String> = words.iter().flat_map(|one| &one.guidelines).collect();
        let cwd = self.root.display().to_string();
        let skills: Vec<Value> = self.prompt_files().skills.iter().map(skill).collect();
        let mut options = json!({"cwd": cwd, "selectedTools": active, "toolSnippets": snippets,
            "promptGuidelines": guidelines, "skills": skills});
        self.prompt_options.tell_files(&self.root, &self.home, &mut options);
        options
    }

    /// The tools that it may use, whether or not they are active.
    fn granted(&self) -> Vec<KnownTool> {
        let Some(Equipment { all, permissions, .. }) = self.tools.get() else { return Vec::new() };
        let mut all = all();
        all.retain(|tool| tool.absent.is_none() && permissions.verdict(&tool.capabilities()) != Verdict::Denied);
        all
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share for people")]
fn percent(tokens: u64, window: u64) -> f64 {
    tokens as f64 * 100.0 / window.max(1) as f64
}

/// A skill as extensions of pi know it.
fn skill(file: &PromptFile) -> Value {
    let folder = file.file.parent().unwrap_or(&file.file);
    json!({"name": file.name, "description": file.description, "filePath": file.file, "baseDir": folder,
        "sourceInfo": source_of(file), "disableModelInvocation": !file.listed})
}

/// Where a skill or a template is from.
fn source_of(file: &PromptFile) -> Value {
    let scope = match file.space {
        Space::Project => "project",
        Space::User => "user",
        Space::System => "temporary",
    };
    let folder = file.file.parent().unwrap_or(&file.file);
    json!({"path": file.file, "source": "local", "scope": scope, "origin": "top-level", "baseDir": folder})
}

/// Skills and templates as `pi.getCommands` lists them.
fn commands(files: &PromptFiles) -> Value {
    let one = |source: &str, prefix: &str, file: &PromptFile| {
        json!({"name": format!("{prefix}{}", file.name), "description": file.description, "source": source,
            "path": file.file, "sourceInfo": source_of(file)})
    };
    let templates = files.templates.iter().map(|file| one("prompt", "", file));
    let skills = files.skills.iter().map(|file| one("skill", "skill:", file));
    templates.chain(skills).collect()
}
