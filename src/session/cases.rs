//! Cases of `.ai/context-tests`: a directive with everything fixed that could change its request by itself, so that only a
//! change of the project's items does.
//!
//! Of the three spaces a case knows the project's and the program's: what a person keeps at home is nothing to a project.

use super::directive_planner::DirectivePlanner;
use super::item_library::ItemLibrary;
use super::setup::{Setup, preload};
use super::toolbox;
use crate::context::{Ask, EnvironmentSnapshot, Meaning, Parts, Start, assemble, plan};
use crate::domain::{Assembly, Entry, Limits, Message, ModelRef, Permissions, Persona, ThreadId, ThreadKind, TodoList};
use crate::items::capability::ProjectFiles;
use crate::items::directive::Values;
use crate::items::signature::TrustStore;
use crate::items::{Capabilities, Cascade, Directive, Hooks, Items, Kind, Spaces};
use crate::ports::Beneath;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// The folder of cases, below a project.
pub const FOLDER: &str = ".ai/context-tests";

/// Longest case, in bytes.
const LONGEST: u64 = 64 << 10;

/// The folder a project seems to lie in.
const PROJECT: &str = "/project";

/// One case as its file says it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The directive, by id.
    pub directive: String,
    #[serde(default)]
    inputs: Values,
    /// `provider/model`.
    #[serde(default)]
    model: Option<String>,
    /// What a person would say.
    #[serde(default)]
    prompt: String,
    /// As the workbench would start it, without the limits of a single run.
    #[serde(default)]
    interactive: bool,
    /// What the clock says.
    #[serde(default = "noon")]
    now: String,
    /// The git branch.
    #[serde(default)]
    branch: Option<String>,
    /// What is remembered.
    #[serde(default)]
    memory: Vec<String>,
    #[serde(default)]
    persona: Option<Persona>,
    /// Tasks of the to-do list.
    #[serde(default)]
    todo: TodoList,
    /// What commands of context providers say, by the provider's id. None is run.
    #[serde(default)]
    commands: BTreeMap<String, String>,
}

/// When the thread of a case was made: the usual time of a case, in milliseconds since 1970.
const NOON_MS: u64 = 1_767_614_400_000;

fn noon() -> String {
    "Monday, 2026-01-05 12:00 +00:00".to_owned()
}

/// Names and files of a project's cases, in the order of names.
#[must_use]
pub fn list(project: &Path) -> Vec<(String, Beneath)> {
    let folder = Beneath::new(project, FOLDER);
    let names = folder.entries().unwrap_or_default();
    let case = |name: String| {
        let stem = name.strip_suffix(".yaml").or_else(|| name.strip_suffix(".yml"))?.to_owned();
        Some((stem, folder.join(name)))
    };
    let mut cases: Vec<(String, Beneath)> = names.into_iter().filter_map(case).collect();
    cases.sort_by(|one, other| one.0.cmp(&other.0));
    cases
}

impl Case {
    /// # Errors
    /// The sentence a person should read.
    pub fn read(file: &Beneath) -> Result<Self, String> {
        let unreadable = |error: &dyn std::fmt::Display| format!("{}: {error}", file.path().display());
        let bytes = file.read(LONGEST).map_err(|error| unreadable(&error))?;
        let text = String::from_utf8(bytes.unwrap_or_default()).map_err(|error| unreadable(&error))?;
        serde_yaml::from_str(&text).map_err(|error| unreadable(&error))
    }

    /// The request of this case, and the model it is for.
    ///
    /// # Errors
    /// The sentence a person should read.
    pub fn assembled(&self, setup: &Setup) -> Result<(ModelRef, Assembly), String> {
        let model = match &self.model {
            Some(name) => name.parse().map_err(|error| format!("`{name}` is no model: {error}"))?,
            None => ModelRef::new("scripted", "demo"),
        };
        let root = &setup.project.root;
        let spaces = Spaces::new(root, root, []);
        let items = Items::list(&spaces);
        let (cascade, _told_by_check) = Cascade::read(&spaces, &TrustStore::default());
        let found = items.find(Kind::Directive, &self.directive).map_err(|missing| missing.to_string())?;
        let text = items.read(found.item).map_err(|problem| problem.to_string())?;
        let (directive, _told_by_check) = Directive::parse(&text, &items.file(found.item));
        let inputs =
            directive.accept(self.inputs.clone()).map_err(|bad| DirectivePlanner::refused(&self.directive, bad))?;
        let (kind, limits) = if self.interactive {
            (ThreadKind::Interactive, directive.limits.limits)
        } else {
            (ThreadKind::OneShot, Limits::ONE_SHOT.overridden(directive.limits.limits))
        };
        let thread_id = Some(ThreadId::new(&self.directive, NOON_MS));
        let (start, hooks) = (Start { thread_id, ..Start::new(model, limits, kind) }, Hooks::read(&items));
        let (capabilities, risks) = (Capabilities::read(&items, ProjectFiles::Counted), cascade.risks().0);
        let meaning = Meaning { capabilities, risks };
        let (directive, hooks, meaning) = (&self.directive, &hooks, &meaning);
        let ask = Ask { directive, inputs: &inputs, project: PROJECT, start: &start, hooks, meaning };
        let mut plan = plan(&ask, &ItemLibrary::new(&items)).map_err(|error| error.to_string())?;
        plan.preload = preload(&cascade);
        let state = plan.state(&self.snapshot());
        let history = [Entry::new(Message::user(self.prompt.as_str()))];
        let mut assembly = assemble(&Parts {
            system: &plan.system,
            opening: &plan.opening,
            state: &state,
            history: &history,
            inherited: 0,
            edits: None,
        });
        let permissions = Permissions { grants: plan.capabilities.clone(), ..Permissions::default() };
        // Whether the person at hand trusts the project is nothing to a case.
        let tools = toolbox::known(&items, &permissions, || true);
        let (_specs, _refs) = plan.offer(&mut assembly, &permissions, tools);
        Ok((start.model, assembly))
    }

    fn snapshot(&self) -> EnvironmentSnapshot {
        EnvironmentSnapshot {
            now: Some(self.now.clone()),
            folder: PROJECT.to_owned(),
            branch: self.branch.clone(),
            memory: Ok((1..).zip(self.memory.iter().cloned()).collect()),
            persona: self.persona.clone(),
            todo: Some(self.todo.clone()),
            background: Vec::new(),
            commands: self.commands.iter().map(|(name, said)| (name.clone(), Ok(said.clone()))).collect(),
        }
    }
}
