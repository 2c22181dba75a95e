//! `levain mcp`: the servers whose tools threads can call, and levain as such a server.

mod login;
mod serve;

use super::failure::{Failure, code, written};
use super::{Common, runtime};
use crate::domain::Tokens;
use crate::items::{Found, Items, Kind, Tool};
use crate::session::Setup;
use crate::session::people::{json_line, out};
use crate::tools::mcp::{
    Listed, SERVERS, Server, ServerFile, Transport, discover, file_name, prompt_file, resource_file, tool_file,
};
use clap::{Args, Subcommand};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(super) struct McpArguments {
    #[command(subcommand)]
    command: McpCommand,
}

#[derive(Debug, Subcommand)]
enum McpCommand {
    /// Add a server, ask it what it offers, and keep its tools, resources and prompts
    Add(AddArguments),
    /// Take over the servers of another program's file, such as a project's .mcp.json
    Import(ImportArguments),
    /// List the servers, with their tools and what these take of a context
    List(ListArguments),
    /// Ask a server what it offers, and change nothing
    Test(NamedArguments),
    /// Ask servers again, and keep what they offer now
    Refresh(NamedArguments),
    /// Remove a server with its tools
    Remove(NamedArguments),
    /// Sign in to a server that asks for it, in your browser
    Login(login::LoginArguments),
    /// Forget that you signed in to servers
    Logout(NamedArguments),
    /// Be a server: directives as tools, threads as resources, requests to look at. Over standard input and output
    Serve,
}

#[derive(Debug, Args)]
struct AddArguments {
    /// What to call it: letters, digits, - and _
    #[arg(value_name = "NAME")]
    name: String,
    /// The command that starts it, behind --
    #[arg(value_name = "COMMAND", last = true, conflicts_with = "url")]
    command: Vec<String>,
    /// Its address, where it is reached by HTTP
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// A header of HTTP, as NAME=VALUE; ${VARIABLE} is filled when it is used
    #[arg(long, value_name = "NAME=VALUE")]
    header: Vec<String>,
    /// A variable of its environment, as NAME=VALUE; ${VARIABLE} is filled when it is used
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<String>,
    /// Seconds that a call may take
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
    /// Keep it in this project, for everybody who works in it, instead of among your own items
    #[arg(long)]
    here: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct ImportArguments {
    /// The file; the project's .mcp.json where none is named
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Keep them in this project instead of among your own items
    #[arg(long)]
    here: bool,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct ListArguments {
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct NamedArguments {
    /// The server
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

/// A line about a server.
#[derive(Debug, Serialize)]
struct ServerLine {
    schema: &'static str,
    name: String,
    /// `project`, `user`, `system:BUNDLE`.
    space: String,
    transport: &'static str,
    /// The command or the address, without variables and headers.
    reached: String,
    tools: usize,
    /// Estimated tokens of their descriptions and schemas.
    tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    discovered_at: Option<String>,
    /// What it says of itself, where it was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resources: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompts: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

pub(super) fn run(common: &Common, arguments: &McpArguments) -> Result<ExitCode, Failure> {
    let setup = Setup::gather(common.project.as_deref(), common.arguments(None))?;
    match &arguments.command {
        McpCommand::Add(arguments) => add(&setup, arguments),
        McpCommand::Import(arguments) => import(&setup, arguments),
        McpCommand::List(arguments) => list(&setup, arguments.json),
        McpCommand::Test(arguments) => each(&setup, arguments, |setup, name| Ok(ask(setup, name)?.0)),
        McpCommand::Refresh(arguments) => each(&setup, arguments, refresh),
        McpCommand::Remove(arguments) => remove(&setup, arguments),
        McpCommand::Login(arguments) => login::login(&setup, arguments),
        McpCommand::Logout(arguments) => login::logout(&setup, &arguments.names, arguments.json),
        McpCommand::Serve => serve::run(&setup),
    }
}

/// The folder that `.ai/tools` lies in: the project's, or the person's.
fn base(setup: &Setup, here: bool) -> PathBuf {
    if here { setup.project.root.join(".ai/tools") } else { setup.user_space().join("tools") }
}

fn server_path(base: &Path, name: &str) -> PathBuf {
    base.join("mcp/servers").join(format!("{name}.yaml"))
}

fn add(setup: &Setup, arguments: &AddArguments) -> Result<ExitCode, Failure> {
    let AddArguments { name, command, url, header, env, timeout, here, json } = arguments;
    let mut config = Map::new();
    match (command.split_first(), url) {
        (Some((program, rest)), None) => {
            config.insert("transport".into(), "stdio".into());
            config.insert("command".into(), program.clone().into());
            config.insert("args".into(), json!(rest));
        }
        (None, Some(url)) => {
            config.insert("transport".into(), "http".into());
            config.insert("url".into(), url.clone().into());
        }
        (None, None) | (Some(_), Some(_)) => {
            let failure = Failure::usage("a server needs either --url or a command behind --");
            return Err(failure.hint("levain mcp add files -- npx -y @modelcontextprotocol/server-filesystem ."));
        }
    }
    for (key, pairs) in [("headers", header), ("env", env)] {
        if !pairs.is_empty() {
            config.insert(key.into(), Value::Object(split(pairs)?));
        }
    }
    if let Some(seconds) = timeout {
        config.insert("timeout".into(), json!(seconds));
    }
    let of_project = server_path(&base(setup, true), name);
    if !here && of_project.exists() {
        let failure = Failure::new(format!(
            "the project has a server `{name}`, which stands in the place of yours: {}",
            of_project.display()
        ));
        return Err(failure.hint("choose another name"));
    }
    let path = keep_server(&base(setup, *here), name, config)?;
    let line = refresh(setup, name)?;
    tell(&line, *json)?;
    if let Some(error) = &line.error {
        let failure = Failure::new(format!("{} is kept, and could not be asked: {error}", path.display()));
        return Err(failure.hint(format!("mend it, then levain mcp refresh {name}")));
    }
    if !json {
        let allow = format!("grant its tools in a directive: <execute><tool>mcp/{name}/*</tool></execute>");
        written(writeln!(out(), "{allow}"))?;
        if *here {
            written(writeln!(out(), "the project has changed: levain trust"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// `NAME=VALUE` pairs.
fn split(pairs: &[String]) -> Result<Map<String, Value>, Failure> {
    let split = |pair: &String| {
        let (name, value) = pair.split_once('=').filter(|(name, _)| !name.is_empty())?;
        Some((name.to_owned(), Value::from(value)))
    };
    pairs.iter().map(|pair| split(pair).ok_or_else(|| Failure::usage(format!("`{pair}` is not NAME=VALUE")))).collect()
}

/// Writes the file of a server that is new.
fn keep_server(base: &Path, name: &str, config: Map<String, Value>) -> Result<PathBuf, Failure> {
    if name != file_name(name) || name == "servers" {
        return Err(Failure::usage(format!("`{name}` is no name for a server: letters, digits, - and _")));
    }
    let id = format!("{SERVERS}{name}");
    Server::read(&id, &Value::Object(config.clone())).map_err(|why| Failure::usage(format!("{name}: {why}")))?;
    let path = server_path(base, name);
    if path.exists() {
        let failure = Failure::new(format!("there is a server `{name}` already: {}", path.display()));
        return Err(failure.hint(format!("levain mcp remove {name}, or another name")));
    }
    write(&path, &ServerFile { name: name.to_owned(), config, asked: None }.text())?;
    Ok(path)
}

/// Writes a file at once, making folders as needed.
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let write = || -> io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(|error| Failure::new(format!("{} could not be written: {error}", path.display())))
}

fn import(setup: &Setup, arguments: &ImportArguments) -> Result<ExitCode, Failure> {
    let file = arguments.file.clone().unwrap_or_else(|| setup.project.root.join(".mcp.json"));
    let bad = |why: String| Failure::new(format!("{}: {why}", file.display()));
    let text = fs::read_to_string(&file).map_err(|error| bad(error.to_string()))?;
    let all: Value = serde_json::from_str(&text).map_err(|error| bad(format!("is no JSON: {error}")))?;
    let servers = all.get("mcpServers").or_else(|| all.get("servers")).and_then(Value::as_object);
    let servers = servers.ok_or_else(|| bad("names no servers (mcpServers)".to_owned()))?;
    let (mut output, mut failed) = (out(), false);
    for (name, config) in servers {
        let config = config.as_object().cloned().unwrap_or_default();
        let kept = keep_server(&base(setup, arguments.here), name, config);
        failed |= kept.is_err();
        written(match (&kept, arguments.json) {
            (Ok(path), false) => writeln!(output, "{name}: {}", path.display()),
            (Err(failure), false) => writeln!(output, "{name}: not taken over: {}", failure.message()),
            (_, true) => {
                let error = kept.as_ref().err().map(Failure::message);
                let path = kept.as_ref().ok();
                json_line(
                    &mut output,
                    &json!({ "schema": "levain.mcp_import/1", "name": name, "path": path, "error": error }),
                )
            }
        })?;
    }
    if !arguments.json && !failed {
        written(writeln!(output, "nothing was started; ask them for their tools with levain mcp refresh NAME"))?;
    }
    Ok(if failed { ExitCode::from(code::ERROR) } else { ExitCode::SUCCESS })
}

/// The items of servers, by name.
fn servers(items: &Items) -> Vec<(String, Found<'_>)> {
    let all = items.iter().filter(|found| found.item.kind == Kind::Tool);
    let named = all.filter_map(|found| {
        let name = found.item.id.as_str().strip_prefix(SERVERS)?.to_owned();
        Some((name, found))
    });
    named.collect()
}

fn list(setup: &Setup, json: bool) -> Result<ExitCode, Failure> {
    let items = setup.items();
    let all = servers(&items);
    for (name, _) in &all {
        tell(&line(&items, name)?, json)?;
    }
    if all.is_empty() && !json {
        written(writeln!(out(), "no servers; levain mcp add NAME -- COMMAND, or --url"))?;
    }
    let others = setup.project.root.join(".mcp.json");
    if !json && others.is_file() {
        written(writeln!(out(), "{} names servers, too: levain mcp import", others.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What is known of a server without asking it.
fn line(items: &Items, name: &str) -> Result<ServerLine, Failure> {
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

fn unknown(items: &Items, name: &str) -> Failure {
    let all = servers(items);
    let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    let failure = Failure::new(format!("there is no MCP server `{name}`"));
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
fn ask(setup: &Setup, name: &str) -> Result<(ServerLine, Option<Discovered>), Failure> {
    let items = setup.items();
    let mut line = line(&items, name)?;
    let (server, found) = match Server::find(&items, &format!("{SERVERS}{name}")) {
        Ok(found) => found,
        Err(_told) => return Ok((line, None)),
    };
    let file = items.file(found.item);
    let asked = runtime()?.block_on(discover(&server, &setup.mcp(), &setup.tokens()));
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
fn refresh(setup: &Setup, name: &str) -> Result<ServerLine, Failure> {
    let (mut line, asked) = ask(setup, name)?;
    let Some((server, file, listed)) = asked else { return Ok(line) };
    if line.space.starts_with("system") {
        return Err(Failure::new(format!("`{name}` is of a bundle, whose files are not changed")));
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
fn folders(server: &Path, name: &str) -> Result<[PathBuf; 3], Failure> {
    let tools = server.parent().and_then(Path::parent).unwrap_or(Path::new("."));
    let space = tools.parent().and_then(Path::parent).unwrap_or(Path::new("."));
    let folders = [tools.join(name), space.join("knowledge/mcp").join(name), space.join("prompts/mcp").join(name)];
    let inside = fs::canonicalize(space).unwrap_or_else(|_| space.to_owned());
    for folder in &folders {
        let there = folder.ancestors().find_map(|above| fs::canonicalize(above).ok());
        if !there.is_some_and(|real| real.starts_with(&inside)) {
            return Err(Failure::new(format!("{} leads out of {}", folder.display(), space.display())));
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
fn written_for(folder: &Path, server: &str) -> Vec<PathBuf> {
    let all = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    all.filter(|path| path.extension().is_some_and(|ending| ending == "yaml") && is_of(path, server)).collect()
}

/// Writes the files of what a server offers, and removes those of what it no longer does. Files of others stay.
fn keep<'a>(folder: &Path, server: &str, files: impl Iterator<Item = (&'a String, String)>) -> Result<(), Failure> {
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

fn each(
    setup: &Setup,
    arguments: &NamedArguments,
    ask: impl Fn(&Setup, &str) -> Result<ServerLine, Failure>,
) -> Result<ExitCode, Failure> {
    let mut failed = false;
    for name in &arguments.names {
        trusted(setup, name)?;
        let line = ask(setup, name)?;
        failed |= line.error.is_some();
        tell(&line, arguments.json)?;
    }
    Ok(if failed { ExitCode::from(code::ERROR) } else { ExitCode::SUCCESS })
}

/// Refuses a server of a project that nobody has trusted as it is.
fn trusted(setup: &Setup, name: &str) -> Result<(), Failure> {
    let items = setup.items();
    let of_project = servers(&items)
        .iter()
        .any(|(other, found)| other == name && items.space(found.item) == crate::domain::Space::Project);
    if of_project && !setup.trust().allows() {
        let failure =
            Failure::new(format!("`{name}` is a server of this project, which you have not trusted as it is"));
        return Err(failure.hint("levain trust"));
    }
    Ok(())
}

fn remove(setup: &Setup, arguments: &NamedArguments) -> Result<ExitCode, Failure> {
    for name in &arguments.names {
        let items = setup.items();
        let found =
            servers(&items).into_iter().find(|(other, _)| other == name).ok_or_else(|| unknown(&items, name))?.1;
        if items.space(found.item) == crate::domain::Space::System {
            return Err(Failure::new(format!("`{name}` is of a bundle, whose files are not changed")));
        }
        let file = items.file(found.item);
        let folders = folders(&file, name)?;
        let failed = |error: io::Error| Failure::new(format!("{} could not be removed: {error}", file.display()));
        fs::remove_file(&file).map_err(failed)?;
        if items.space(found.item) == crate::domain::Space::User {
            setup.tokens().forget(&format!("{SERVERS}{name}")).map_err(failed)?;
        }
        for folder in folders {
            for path in written_for(&folder, &format!("{SERVERS}{name}")) {
                fs::remove_file(path).map_err(failed)?;
            }
            let _not_empty = fs::remove_dir(&folder);
        }
        written(if arguments.json {
            json_line(&mut out(), &json!({ "schema": "levain.mcp_removed/1", "name": name, "path": file }))
        } else {
            writeln!(out(), "removed {}", file.display())
        })?;
    }
    Ok(ExitCode::SUCCESS)
}

fn tell(line: &ServerLine, json: bool) -> Result<(), Failure> {
    let mut output = out();
    if json {
        return written(json_line(&mut output, line));
    }
    let ServerLine { name, space, transport, reached, tools, tokens, .. } = line;
    let when = line.discovered_at.as_deref().map_or("never asked".to_owned(), |time| format!("asked {time}"));
    let says = line.server.as_deref().map(|server| format!(" · {server}")).unwrap_or_default();
    let more = [("resources", line.resources), ("prompts", line.prompts)];
    let more: String = more
        .iter()
        .filter_map(|(what, count)| count.filter(|count| *count > 0).map(|count| format!(", {count} {what}")))
        .collect();
    written(writeln!(
        output,
        "{name:<16} {space:<8} {transport:<6} {tools} tools, ~{tokens} tokens{more} · {when}{says}"
    ))?;
    written(writeln!(output, "{:<16} {reached}", ""))?;
    match &line.error {
        Some(error) => written(writeln!(output, "{:<16} error: {error}", "")),
        None => Ok(()),
    }
}
