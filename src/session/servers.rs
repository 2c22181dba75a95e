//! The MCP servers of a project and its person: what is known of each, asking them, and keeping what they offer as items.

use super::Setup;
use crate::domain::Tokens;
use crate::items::{Found, Items, Kind, Tool};
use crate::tools::mcp::{
    Listed, SERVERS, Server, ServerFile, Transport, discover, file_name, prompt_file, resource_file, tool_file,
};
use serde::Serialize;
use serde_json::Value;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Why something cannot be done with a server, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerError {
    pub message: String,
    pub hint: Option<String>,
}

impl ServerError {
    fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

/// A line about a server.
#[derive(Debug, Serialize)]
pub struct ServerLine {
    pub schema: &'static str,
    pub name: String,
    /// `project`, `user`, `system:BUNDLE`.
    pub space: String,
    pub transport: &'static str,
    /// The command or the address, without variables and headers.
    pub reached: String,
    pub tools: usize,
    /// Estimated tokens of their descriptions and schemas.
    pub tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discovered_at: Option<String>,
    /// What it says of itself, where it was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompts: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The items of servers, by name.
#[must_use]
pub fn servers(items: &Items) -> Vec<(String, Found<'_>)> {
    let all = items.iter().filter(|found| found.item.kind == Kind::Tool);
    let named = all.filter_map(|found| {
        let name = found.item.id.as_str().strip_prefix(SERVERS)?.to_owned();
        Some((name, found))
    });
    named.collect()
}

/// What is known of all of them without asking any.
#[must_use]
pub fn all(setup: &Setup) -> Vec<ServerLine> {
    let items = setup.items();
    servers(&items).iter().filter_map(|(name, _)| line(&items, name).ok()).collect()
}

/// What is known of a server without asking it.
pub fn line(items: &Items, name: &str) -> Result<ServerLine, ServerError> {
    let id = format!("{SERVERS}{name}");
    let found = items.find(Kind::Tool, &id).map_err(|_missing| unknown(items, name))?;
    let read = Server::find(items, &id);
    let (transport, reached, error) = match &read {
        Ok((server, _)) => (way(&server.transport), reached(&server.transport), None),
        Err(why) => ("unknown", String::new(), Some(why.clone())),
    };
    let tools = kept_tools(items, name);
    let text = items.look(found.item).map(std::borrow::Cow::into_owned).unwrap_or_default();
    let file: Value = serde_yaml::from_str(&text).unwrap_or_default();
    let time = file.pointer("/cache/discovered_at").and_then(Value::as_str).map(ToOwned::to_owned);
    Ok(ServerLine {
        schema: "levain.mcp_server/1",
        name: name.to_owned(),
        space: items.root(found.item).map(ToString::to_string).unwrap_or_default(),
        transport,
        reached,
        tools: tools.len(),
        tokens: tools.iter().map(|tokens| tokens.0).sum(),
        discovered_at: time,
        server: None,
        resources: None,
        prompts: None,
        error,
    })
}

fn way(transport: &Transport) -> &'static str {
    match transport {
        Transport::Stdio { .. } => "stdio",
        Transport::Http { .. } => "http",
    }
}

fn reached(transport: &Transport) -> String {
    match transport {
        Transport::Stdio { command, arguments, .. } => {
            std::iter::once(command).chain(arguments).map(String::as_str).collect::<Vec<_>>().join(" ")
        }
        Transport::Http { url, .. } => url.clone(),
    }
}

#[must_use]
pub fn unknown(items: &Items, name: &str) -> ServerError {
    let all = servers(items);
    let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    let failure = ServerError::new(format!("there is no MCP server `{name}`"));
    match crate::domain::nearest(name, names.iter().copied()) {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None => failure.hint("levain mcp list names those there are"),
    }
}

/// Estimated tokens of each tool that is kept of a server.
fn kept_tools(items: &Items, name: &str) -> Vec<Tokens> {
    let folder = format!("mcp/{name}/");
    let own = items.iter().filter(|found| found.item.kind == Kind::Tool && found.item.id.as_str().starts_with(&folder));
    let tokens = own.filter_map(|found| {
        let text = items.look(found.item).ok()?;
        let tool = Tool::parse(&text, &items.file(found.item)).0;
        Some(tokens(tool.description.as_deref().unwrap_or_default(), &tool.input_schema.unwrap_or_default()))
    });
    tokens.collect()
}

fn tokens(description: &str, schema: &Value) -> Tokens {
    Tokens::estimate(&format!("{description}{schema}"))
}

/// A server with its file and what it offers.
type Discovered = (Server, PathBuf, Listed);

/// Asks a server what it offers.
pub async fn ask(setup: &Setup, name: &str) -> Result<(ServerLine, Option<Discovered>), ServerError> {
    let items = setup.items();
    let mut line = line(&items, name)?;
    let (server, found) = match Server::find(&items, &format!("{SERVERS}{name}")) {
        Ok(found) => found,
        Err(_told) => return Ok((line, None)),
    };
    let file = items.file(found.item);
    let asked = discover(&server, &setup.mcp(), &setup.tokens()).await;
    match asked {
        Ok(listed) => {
            line.tools = listed.tools.len();
            line.tokens = listed.tools.iter().map(|(_, text, schema)| tokens(text, schema).0).sum();
            line.server = Some(listed.told.clone());
            line.resources = listed.resources.as_ref().map(Vec::len);
            line.prompts = listed.prompts.as_ref().map(Vec::len);
            Ok((line, Some((server, file, listed))))
        }
        Err(why) => {
            line.error = Some(why);
            Ok((line, None))
        }
    }
}

/// Asks a server and keeps what it offers.
pub async fn refresh(setup: &Setup, name: &str) -> Result<ServerLine, ServerError> {
    let (mut line, asked) = ask(setup, name).await?;
    let Some((server, file, listed)) = asked else { return Ok(line) };
    if line.space.starts_with("system") {
        return Err(ServerError::new(format!("`{name}` is of a bundle, whose files are not changed")));
    }
    let tools = listed.tools.iter().map(|(tool, text, schema)| (tool, tool_file(&server, tool, text, schema)));
    let [of_tools, of_resources, of_prompts] = folders(&file, name)?;
    keep(&of_tools, &server.id, tools)?;
    if let Some(resources) = &listed.resources {
        let files = resources.iter().map(|(uri, name, text)| (name, resource_file(&server, uri, name, text)));
        keep(&of_resources, &server.id, files)?;
    }
    if let Some(prompts) = &listed.prompts {
        keep(&of_prompts, &server.id, prompts.iter().map(|prompt| (&prompt.name, prompt_file(&server, prompt))))?;
    }
    let time = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let text = fs::read_to_string(&file).unwrap_or_default();
    let said: Value = serde_yaml::from_str(&text).unwrap_or_default();
    let config = said.get("config").and_then(Value::as_object).cloned().unwrap_or_default();
    let asked = Some((time.clone(), listed.tools.len()));
    write(&file, &ServerFile { name: name.to_owned(), config, asked }.text())?;
    line.discovered_at = Some(time);
    Ok(line)
}

/// The folders that hold what a server offers: its tools, its resources, and its prompts. A link that leads out of their space is
/// refused: what lies there is nobody's here to write or remove.
pub fn folders(server: &Path, name: &str) -> Result<[PathBuf; 3], ServerError> {
    let tools = server.parent().and_then(Path::parent).unwrap_or(Path::new("."));
    let space = tools.parent().and_then(Path::parent).unwrap_or(Path::new("."));
    let folders = [tools.join(name), space.join("knowledge/mcp").join(name), space.join("prompts/mcp").join(name)];
    let inside = fs::canonicalize(space).unwrap_or_else(|_| space.to_owned());
    for folder in &folders {
        let there = folder.ancestors().find_map(|above| fs::canonicalize(above).ok());
        if !there.is_some_and(|real| real.starts_with(&inside)) {
            return Err(ServerError::new(format!("{} leads out of {}", folder.display(), space.display())));
        }
    }
    Ok(folders)
}

/// Whether the file is one that was written for what the server offers.
fn is_of(path: &Path, server: &str) -> bool {
    let file: Value =
        fs::read_to_string(path).ok().and_then(|text| serde_yaml::from_str(&text).ok()).unwrap_or_default();
    ["/config/server", "/resource/server", "/prompt/server"]
        .iter()
        .any(|place| file.pointer(place).and_then(Value::as_str) == Some(server))
}

/// The files in the folder that were written for what the server offers.
#[must_use]
pub fn written_for(folder: &Path, server: &str) -> Vec<PathBuf> {
    let all = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    all.filter(|path| path.extension().is_some_and(|ending| ending == "yaml") && is_of(path, server)).collect()
}

/// Writes the files of what a server offers, and removes those of what it no longer does. Files of others stay.
fn keep<'a>(folder: &Path, server: &str, files: impl Iterator<Item = (&'a String, String)>) -> Result<(), ServerError> {
    let mut kept = Vec::new();
    for (name, text) in files {
        let name = file_name(name);
        let path = |name: &str| folder.join(format!("{name}.yaml"));
        let others = (2..).map(|number| path(&format!("{name}-{number}")));
        let free = |path: &PathBuf| !kept.contains(path) && (!path.exists() || is_of(path, server));
        let path = std::iter::once(path(&name)).chain(others).find(free).unwrap_or_default();
        write(&path, &text)?;
        kept.push(path);
    }
    for path in written_for(folder, server).into_iter().filter(|path| !kept.contains(path)) {
        let _gone = fs::remove_file(&path);
    }
    Ok(())
}

/// Refuses a server of a project that nobody has trusted as it is.
pub fn trusted(setup: &Setup, name: &str) -> Result<(), ServerError> {
    let items = setup.items();
    let of_project = servers(&items)
        .iter()
        .any(|(other, found)| other == name && items.space(found.item) == crate::domain::Space::Project);
    if of_project && !setup.trust().allows() {
        let failure =
            ServerError::new(format!("`{name}` is a server of this project, which you have not trusted as it is"));
        return Err(failure.hint("levain trust"));
    }
    Ok(())
}

/// Writes a file at once, making folders as needed.
pub fn write(path: &Path, text: &str) -> Result<(), ServerError> {
    let write = || -> io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(|error| ServerError::new(format!("{} could not be written: {error}", path.display())))
}
