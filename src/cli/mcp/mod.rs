//! `levain mcp`: the servers whose tools threads can call, and levain as such a server.

mod login;
mod serve;

use super::failure::{Failure, code, written};
use super::{Common, runtime};
use crate::session::Setup;
use crate::session::people::{json_line, out};
use crate::session::servers::{
    ServerError, ServerLine, ask, folders, line, refresh, servers, trusted, unknown, write, written_for,
};
use crate::tools::mcp::{SERVERS, Server, ServerFile, file_name};
use clap::{Args, Subcommand};
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

pub(super) fn run(common: &Common, arguments: &McpArguments) -> Result<ExitCode, Failure> {
    let setup = Setup::gather(common.project.as_deref(), common.arguments(None))?;
    match &arguments.command {
        McpCommand::Add(arguments) => add(&setup, arguments),
        McpCommand::Import(arguments) => import(&setup, arguments),
        McpCommand::List(arguments) => list(&setup, arguments.json),
        McpCommand::Test(arguments) => each(&setup, arguments, &async |setup, name| Ok(ask(setup, name).await?.0)),
        McpCommand::Refresh(arguments) => each(&setup, arguments, &async |setup, name| refresh(setup, name).await),
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
    let line = runtime()?.block_on(refresh(setup, name))?;
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

fn each(
    setup: &Setup,
    arguments: &NamedArguments,
    ask: &impl AsyncFn(&Setup, &str) -> Result<ServerLine, ServerError>,
) -> Result<ExitCode, Failure> {
    let mut failed = false;
    for name in &arguments.names {
        trusted(setup, name)?;
        let line = runtime()?.block_on(ask(setup, name))?;
        failed |= line.error.is_some();
        tell(&line, arguments.json)?;
    }
    Ok(if failed { ExitCode::from(code::ERROR) } else { ExitCode::SUCCESS })
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
