//! What a thread's tools work with, and what the thread may do with them.

use super::approvals::ApprovalsFile;
use super::parent::PARENT;
use super::secrets;
use super::setup::{Setup, program};
use crate::config::Trust;
use crate::domain::capability::{flattened, to_execute};
use crate::domain::{Absence, KnownTool, Origin, Permissions, Severity, Space, ToolSpec, Verdict};
use crate::items::prompt_file::PromptFiles;
use crate::items::{Found, Items, Kind, Place, Tool, capability};
use crate::ports::Beneath;
use crate::ports::threads::Threads;
use crate::store::Layout;
use crate::store::content::KeptTexts;
use crate::tools::mcp::{Connections, Tokens, With};
use crate::tools::page::Reader;
use crate::tools::{self, Claim, Environment, Keeper, Reach, Root, Sandbox, ToolContext, Toolbox, Trusts};
use crate::worker::host::Hosting;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Lets `fetch` ask private addresses too.
const PRIVATE: &str = "LEVAIN_FETCH_PRIVATE";

/// What the tools of a thread reach outside of it.
pub(super) struct Outside {
    /// The other threads.
    pub(super) threads: Option<Arc<dyn Threads>>,
    /// MCP servers.
    pub(super) connections: Arc<Connections>,
}

impl Setup {
    /// Gives a thread its tools and its permissions, with what was answered for earlier. `allowed` are patterns for which
    /// nobody needs to be asked in this run.
    pub(super) fn equip(
        &self,
        hosting: &mut Hosting,
        items: &Items,
        permissions: Permissions,
        allowed: Vec<String>,
        outside: Outside,
    ) {
        let permissions = self.answered(permissions, allowed);
        hosting.approvals = Box::new(ApprovalsFile::new(&self.dirs.config, &self.project.root));
        let output = self.layout.thread(&hosting.thread_id).output();
        let context = self.tool_context(items, &permissions, Some(output), outside.threads);
        let environment = context.environment.with(PARENT, hosting.thread_id.as_str());
        hosting.tools = Arc::new(Toolbox::sharing(ToolContext { environment, ..context }, outside.connections));
        hosting.permissions = permissions;
    }

    /// The permissions with the answers that were given for good, and `allowed` for this run.
    #[must_use]
    pub fn answered(&self, permissions: Permissions, allowed: Vec<String>) -> Permissions {
        let (mut known, problem) = ApprovalsFile::new(&self.dirs.config, &self.project.root).allowed();
        if let Some(problem) = problem {
            tracing::warn!(%problem, "approvals");
        }
        known.extend(allowed);
        Permissions { allowed: known, confines: self.sandbox().holds(), ..permissions }
    }

    /// With what MCP servers are asked from outside of a thread.
    #[must_use]
    pub fn mcp(&self) -> With {
        With {
            keeper: Keeper::Process(program().unwrap_or_else(|_| "levain".into())),
            folder: self.project.root.clone(),
            environment: self.environment(),
            confinement: None,
        }
    }

    /// Where the tokens lie of MCP servers that the person signed in to.
    #[must_use]
    pub fn tokens(&self) -> Tokens {
        Tokens::in_folder(self.dirs.mcp_tokens())
    }

    /// Connections to MCP servers, for one thread.
    #[must_use]
    pub(super) fn connections(&self) -> Connections {
        Connections::signed_in(self.tokens())
    }

    /// How commands of models are confined here.
    #[must_use]
    pub fn sandbox(&self) -> Sandbox {
        let runtime = self.dirs.runtime().ok().map(ToOwned::to_owned);
        let own = [self.dirs.config.clone(), self.dirs.state.clone(), self.user_space()];
        Sandbox {
            mode: self.config.sandbox.value,
            root: self.project.root.clone(),
            home: self.dirs.home.clone(),
            own: own.into_iter().chain(runtime).filter(|folder| !self.project.root.starts_with(folder)).collect(),
        }
    }

    /// What commands of tools and of the context find in their environment.
    #[must_use]
    pub fn environment(&self) -> Environment {
        Environment::allowed(secrets::all(), &self.config.tool_environment.value, &self.key_variables)
    }

    /// The tools that work in this project, and of those that do not the ones that are granted. Results that are too long
    /// are kept whole in `output`; `threads` is how it reaches others. Reads the files of granted tools.
    #[must_use]
    pub fn toolbox(
        &self,
        items: &Items,
        permissions: &Permissions,
        output: Option<Beneath>,
        threads: Option<Arc<dyn Threads>>,
    ) -> Toolbox {
        Toolbox::new(self.tool_context(items, permissions, output, threads))
    }

    /// The project, and beside it the person's skills that models are told of.
    fn readable_root(&self) -> Root {
        let root = Root::new(&self.project.root).without(&[&self.dirs.config, &self.dirs.state]);
        let (project, home) = (self.project.root.clone(), self.user_space());
        let skills = move || {
            let found = PromptFiles::find(&project, &home).skills.into_iter();
            found.filter(|skill| skill.listed && skill.space == Space::User).map(|skill| skill.readable()).collect()
        };
        root.reading(&self.user_space(), skills)
    }

    fn tool_context(
        &self,
        items: &Items,
        permissions: &Permissions,
        output: Option<Beneath>,
        threads: Option<Arc<dyn Threads>>,
    ) -> ToolContext {
        let private = secrets::var_os(PRIVATE).is_some_and(|value| !value.is_empty());
        ToolContext {
            root: self.readable_root(),
            environment: self.environment(),
            keeper: Keeper::Process(program().unwrap_or_else(|_| "levain".into())),
            sandbox: self.sandbox(),
            spill: output,
            trusts: {
                let (dirs, root) = (self.dirs.clone(), self.project.root.clone());
                Trusts::new(move || Trust::of(&dirs, &root).allows())
            },
            claims: claims(items),
            memory: Layout::memory_of(&self.project.root),
            personas: self.layout.personas(),
            files: files(items, permissions, || self.trust().allows()),
            reach: if private { Reach::Private } else { Reach::Public },
            reader: Reader::Process(program().unwrap_or_else(|_| "levain".into())),
            items: items.clone(),
            user_space: self.user_space(),
            kept: Some(Arc::new(KeptTexts::new(self.layout.objects()))),
            threads,
        }
    }
}

/// Every tool that a thread with these permissions could be told of: the built-in ones, and those of files that are
/// granted. Whether the project is trusted is asked when it matters.
pub(crate) fn known(items: &Items, permissions: &Permissions, trusted: impl FnMut() -> bool) -> Vec<KnownTool> {
    tools::known(&claims(items), &files(items, permissions, trusted))
}

/// The built-in tools whose place no item has taken.
#[must_use]
pub fn built_in(items: &Items) -> Vec<KnownTool> {
    tools::known(&claims(items), &[]).into_iter().filter(|tool| tool.absent.is_none()).collect()
}

/// The items that have ids of built-in tools. One of the project or the person stands in the tool's place; a bundle's
/// describes it and is never run, since what runs it is built in.
fn claims(items: &Items) -> BTreeMap<String, Claim> {
    tools::ids().filter_map(|id| Some((id.to_owned(), claim(items, id)?))).collect()
}

/// Tools that are files and are granted, each with the reason why it is not offered.
fn files(items: &Items, permissions: &Permissions, mut trusted: impl FnMut() -> bool) -> Vec<KnownTool> {
    let mut asked = None;
    let mut files = Vec::new();
    let folder = items.roots().first().and_then(|root| match &root.place {
        Place::Folder(folder) => Some(folder.clone()),
        Place::Embedded => None,
    });
    let folder = folder.unwrap_or_default();
    let project = folder.as_path();
    for Found { item, .. } in items.iter().filter(|found| found.item.kind == Kind::Tool) {
        let id = item.id.as_str();
        let space = items.space(item);
        let built_in = tools::ids().any(|own| own == id);
        if (built_in && space == Space::System) || permissions.verdict(&[to_execute(id)]) == Verdict::Denied {
            continue;
        }
        let mut confinable = false;
        let (absent, told) = match read(items, item) {
            Ok(None) => continue,
            Err(message) => (Some(Absence::Refused { message }), ToolDescription::default()),
            Ok(Some(told)) => match tools::resolve(items, item, project) {
                Ok(chain) => {
                    confinable = chain.is_confinable();
                    let strange = chain.of_project && !*asked.get_or_insert_with(&mut trusted);
                    let message = || "you have not trusted this project (levain trust)".to_owned();
                    (strange.then(|| Absence::NotRun { message: message() }), told)
                }
                Err(message) => (Some(Absence::NotRun { message }), told),
            },
        };
        let (id, path) = (id.to_owned(), item.path.clone());
        let bundle = items.root(item).and_then(|root| root.bundle.clone());
        files.push(KnownTool {
            spec: ToolSpec { name: flattened(&id), description: told.description, schema: told.schema },
            origin: Origin::Item { space, bundle, id: id.clone(), path, lines: None, signature: None, via: None },
            item: id,
            aliases: Vec::new(),
            absent,
            parallel: false,
            confinable,
        });
    }
    files
}

/// What else lies among tools: it is no tool for a model.
const PARTS: [&str; 9] = [
    "runtime",
    "primitive",
    "config",
    "config-schema",
    "parser",
    "processor",
    "extractor",
    "email_provider",
    "mcp_server",
];

/// What a tool says of itself to a model.
#[derive(Default)]
struct ToolDescription {
    description: String,
    schema: serde_json::Value,
}

/// What a tool that a model could be told of says; none for a file that is something else.
///
/// # Errors
/// What is wrong with the file.
fn read(items: &Items, item: &crate::items::Item) -> Result<Option<ToolDescription>, String> {
    if item.id.as_str().split('/').any(|name| name == "providers") || capability::stem(item).is_some() {
        return Ok(None);
    }
    let file = items.file(item);
    let text = items.read(item).map_err(|problem| problem.to_string())?;
    let (tool, problems) = Tool::parse(&text, &file);
    if let Some(problem) = problems.iter().find(|problem| problem.severity >= Severity::Error) {
        return Err(problem.to_string());
    }
    if !tool.is_declared() || tool.tool_type.as_deref().is_some_and(|kind| PARTS.contains(&kind)) {
        return Ok(None);
    }
    let Some(schema) = tool.config_schema.or(tool.input_schema).or(tool.parameters.map(listed)) else {
        return Err("it declares no parameters (CONFIG_SCHEMA), so no model can call it".to_owned());
    };
    let told = ToolDescription { description: tool.description.unwrap_or_default(), schema };
    Ok(Some(told))
}

/// Parameters as a schema, where a file lists them: name, type, description, whether required.
fn listed(parameters: Value) -> Value {
    let Value::Array(all) = parameters else { return parameters };
    let word = |one: &Value, name: &str| one.get(name).and_then(Value::as_str).map(ToOwned::to_owned);
    let name = |one: &Value| word(one, "name");
    let properties = all.iter().filter_map(|one| {
        let kind = word(one, "type").unwrap_or_else(|| "string".to_owned());
        let about = word(one, "description").unwrap_or_default();
        Some((name(one)?, json!({ "type": kind, "description": about })))
    });
    let properties: serde_json::Map<String, Value> = properties.collect();
    let is_required = |one: &&Value| one.get("required").and_then(Value::as_bool).unwrap_or_default();
    let required: Vec<String> = all.iter().filter(is_required).filter_map(name).collect();
    json!({ "type": "object", "properties": properties, "required": required })
}

/// What the item of that id is to the built-in tool.
fn claim(items: &Items, id: &str) -> Option<Claim> {
    let found = items.get(Kind::Tool, id)?;
    Some(match items.root(found.item).filter(|root| root.space == Space::System) {
        Some(root) => Claim::Described(format!("{root} {}", found.item.path)),
        None => Claim::Taken(items.file(found.item).display().to_string()),
    })
}

/// The capability that a person means by `text`: a capability or pattern as it is, the id of a tool, or its last part
/// where it is built in.
#[must_use]
pub fn capability(text: &str) -> String {
    if text.starts_with("rye.") || text.starts_with('*') {
        return text.to_owned();
    }
    let named = tools::ids().find(|id| *id == text || id.rsplit('/').next() == Some(text));
    to_execute(named.unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capability_is_named_in_three_ways() {
        for text in ["bash", "rye/bash", "rye.execute.tool.rye.bash"] {
            assert_eq!(capability(text), "rye.execute.tool.rye.bash", "{text}");
        }
        assert_eq!(capability("team/deploy"), "rye.execute.tool.team.deploy");
    }
}
