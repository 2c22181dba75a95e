//! The files of MCP servers and of their tools.
//!
//! `tools/mcp/servers/NAME.yaml` says how a server is reached, `tools/mcp/NAME/TOOL.yaml` what one of its tools takes. The
//! latter are written by `levain mcp refresh`, so that nobody has to ask a server what it offers when a thread begins.

use crate::items::{Found, Items, Kind, Tool};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// How long a call may take where nothing is said, in seconds, and at most.
const USUAL: u64 = 60;
const LONGEST: u64 = 3_600;

/// The folder of servers, as the beginning of their ids.
pub const SERVERS: &str = "mcp/servers/";

/// How a server is reached.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// Its item: `mcp/servers/NAME`.
    pub id: String,
    pub transport: Transport,
    /// How long a call may take.
    pub timeout: Duration,
}

/// The two ways of reaching a server.
#[derive(Clone, Debug, PartialEq)]
pub enum Transport {
    /// A process that reads and writes lines.
    Stdio { command: String, arguments: Vec<String>, variables: Vec<(String, String)>, folder: Option<String> },
    /// Streamable HTTP.
    Http { url: String, headers: Vec<(String, String)> },
}

/// What a server was found to offer.
#[derive(Clone, Debug, Default)]
pub struct Listed {
    /// Its name and version, as it says them.
    pub told: String,
    /// Name, description and schema of each tool.
    pub tools: Vec<(String, String, Value)>,
    /// Address, name and description of each resource; none where it did not say.
    pub resources: Option<Vec<(String, String, String)>>,
    /// None where it did not say.
    pub prompts: Option<Vec<ListedPrompt>>,
}

/// A prompt that a server offers.
#[derive(Clone, Debug)]
pub struct ListedPrompt {
    pub name: String,
    pub description: String,
    /// Name, description, and whether it has to be given.
    pub arguments: Vec<(String, String, bool)>,
}

impl Server {
    /// The name people know it by.
    #[must_use]
    pub fn name(&self) -> &str {
        self.id.rsplit('/').next().unwrap_or(&self.id)
    }

    /// Reads the configuration of the server `id`, as a server's file or an entry of `.mcp.json` has it.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(id: &str, config: &Value) -> Result<Self, String> {
        let word = |name: &str| config.get(name).and_then(Value::as_str).map(ToOwned::to_owned);
        let pairs = |name: &str| {
            let all = config.get(name).and_then(Value::as_object).into_iter().flatten();
            all.map(|(name, value)| (name.clone(), value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)))
                .collect::<Vec<_>>()
        };
        let said = word("transport").or_else(|| word("type"));
        let transport = match (said.as_deref(), word("url"), word("command")) {
            (Some("stdio") | None, _, Some(command)) => {
                let arguments = config.get("args").and_then(Value::as_array).into_iter().flatten();
                let arguments = arguments.map(|one| one.as_str().map_or_else(|| one.to_string(), ToOwned::to_owned));
                Transport::Stdio {
                    command,
                    arguments: arguments.collect(),
                    variables: pairs("env"),
                    folder: word("cwd"),
                }
            }
            (Some("http" | "streamable-http" | "streamable_http") | None, Some(url), _) => {
                if !url.starts_with("https://") && !url.starts_with("http://") && !url.starts_with("${") {
                    return Err(format!("its address `{url}` is neither http nor https"));
                }
                Transport::Http { url, headers: pairs("headers") }
            }
            (Some("sse"), ..) => {
                return Err("it speaks the old transport `sse`, which MCP has replaced; ask for its address of \
                            streamable HTTP"
                    .to_owned());
            }
            (Some("stdio"), ..) => return Err("it names no command".to_owned()),
            (Some("http" | "streamable-http" | "streamable_http"), ..) => return Err("it names no url".to_owned()),
            (Some(other), ..) => return Err(format!("its transport `{other}` is neither stdio nor http")),
            (None, None, None) => return Err("it names neither a command nor a url".to_owned()),
        };
        let timeout = config.get("timeout").and_then(Value::as_u64).unwrap_or(USUAL).clamp(1, LONGEST);
        Ok(Self { id: id.to_owned(), transport, timeout: Duration::from_secs(timeout) })
    }

    /// The server of the item `id`.
    ///
    /// # Errors
    /// Why there is none, in words that follow a tool's name.
    pub fn find<'a>(items: &'a Items, id: &str) -> Result<(Self, Found<'a>), String> {
        let found = items.find(Kind::Tool, id).map_err(|missing| format!("its server is missing: {missing}"))?;
        let text = items.read(found.item).map_err(|problem| problem.to_string())?;
        let file = items.file(found.item);
        let (tool, problems) = Tool::parse(&text, &file);
        if let Some(problem) = problems.into_iter().find(|problem| problem.severity >= crate::domain::Severity::Error) {
            return Err(problem.to_string());
        }
        let config = tool.config.unwrap_or(Value::Null);
        let server = Self::read(id, &config).map_err(|why| format!("{}: {why}", file.display()))?;
        Ok((server, found))
    }
}

/// A server's file, ready to be written.
#[derive(Clone, Debug)]
pub struct ServerFile {
    pub name: String,
    pub config: Map<String, Value>,
    /// When it was asked last, and how many tools it had.
    pub asked: Option<(String, usize)>,
}

impl ServerFile {
    /// Its text.
    #[must_use]
    pub fn text(&self) -> String {
        let mut file = json!({
            "version": "1.0.0", "tool_type": "mcp_server", "executor_id": null, "category": "mcp/servers",
            "description": format!("The MCP server {}", self.name), "config": self.config,
        });
        if let (Some((time, count)), Some(file)) = (&self.asked, file.as_object_mut()) {
            file.insert("cache".to_owned(), json!({ "discovered_at": time, "tool_count": count }));
        }
        yaml(&file)
    }
}

/// The text of the file of one tool of a server.
#[must_use]
pub fn tool_file(server: &Server, tool: &str, description: &str, schema: &Value) -> String {
    let transport = match server.transport {
        Transport::Stdio { .. } => "stdio",
        Transport::Http { .. } => "http",
    };
    yaml(&json!({
        "version": "1.0.0", "tool_type": "mcp", "executor_id": format!("rye/core/runtimes/mcp/{transport}"),
        "category": format!("mcp/{}", server.name()), "description": description,
        "config": { "server": server.id, "tool_name": tool }, "input_schema": schema,
    }))
}

/// The text of the file of one resource of a server: a context provider, so that a directive can ask for it.
#[must_use]
pub fn resource_file(server: &Server, uri: &str, name: &str, description: &str) -> String {
    let about = if description.is_empty() { format!("`{name}`") } else { description.to_owned() };
    yaml(&json!({
        "name": name, "entry_type": "context_provider", "description": about,
        "instructions": format!("Under \"Current context\" you are told what {} says of {about}.", server.name()),
        "resource": { "server": server.id, "uri": uri }, "timeout_seconds": 10,
    }))
}

/// YAML of a value, which is JSON where that cannot be written otherwise.
pub(super) fn yaml(value: &Value) -> String {
    serde_yaml::to_string(value).unwrap_or_else(|_| value.to_string())
}

/// The name of a file for a tool: what letters a path takes, and never a hidden or a foreign place.
#[must_use]
pub fn file_name(tool: &str) -> String {
    let kept = |letter: char| if letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_') { letter } else { '_' };
    let name: String = tool.chars().take(100).map(kept).collect();
    if name.is_empty() { "_".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_read_as_their_files_and_as_those_of_others_have_them() {
        let read = |text: &str| Server::read("mcp/servers/x", &serde_json::from_str(text).unwrap());
        let stdio = read(r#"{"command": "npx", "args": ["-y", "a", 3], "env": {"A": "${B}"}, "timeout": 5}"#).unwrap();
        assert_eq!(
            stdio.transport,
            Transport::Stdio {
                command: "npx".into(),
                arguments: vec!["-y".into(), "a".into(), "3".into()],
                variables: vec![("A".into(), "${B}".into())],
                folder: None,
            }
        );
        assert_eq!((stdio.name(), stdio.timeout), ("x", Duration::from_secs(5)));
        let http =
            read(r#"{"type": "http", "url": "https://h/mcp", "headers": {"Authorization": "Bearer ${T}"}}"#).unwrap();
        assert!(matches!(http.transport, Transport::Http { ref url, .. } if url == "https://h/mcp"));
        for (text, why) in [
            ("{}", "neither a command nor a url"),
            (r#"{"type": "sse", "url": "https://h"}"#, "old transport"),
            (r#"{"transport": "pigeon", "url": "x"}"#, "neither stdio nor http"),
            (r#"{"url": "file:///etc/passwd"}"#, "neither http nor https"),
        ] {
            assert!(read(text).unwrap_err().contains(why), "{text}");
        }
    }

    #[test]
    fn a_tools_name_leads_nowhere() {
        assert_eq!((file_name("../../etc/x").as_str(), file_name("").as_str()), ("______etc_x", "_"));
    }
}
