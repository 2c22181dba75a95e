//! `levain mcp serve`: levain as an MCP server over standard input and output.
//!
//! Each call is a command of this program in a process of its own, so a client gets what a person gets on the command line,
//! with the same trust, limits and permissions; what asks a person there is denied, as in any run that nobody watches.
//! Losing a call ends its process.

use super::super::failure::Failure;
use super::super::runtime;
use crate::items::{Directive, ItemId, Items, Kind};
use crate::session::Setup;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, Implementation,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, Resource, ResourceContents, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer, serve_server};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{ExitCode, Stdio};
use std::sync::Arc;
use tokio::process::Command;

/// Tools of directives are called so, with the id behind it.
const DIRECTIVE: &str = "directive_";

/// The address of a thread, with the id behind it.
const THREAD: &str = "levain://threads/";

/// As many threads are listed.
const MOST_THREADS: usize = 200;

/// Bytes of what a command printed that are passed on.
const MOST: usize = 512 << 10;

/// An argument of a tool: its name, what it is, whether it is needed.
type Argument = (&'static str, &'static str, bool);

/// A command that is a tool: name, what it does, its words, its arguments.
type View = (&'static str, &'static str, &'static [&'static str], &'static [Argument]);

/// The commands by which a request is looked at.
const VIEWS: [View; 4] = [
    (
        "context_show",
        "Shows what a model is about to receive from a directive, or has received in a thread: each layer with its origin, \
         its tokens and why it is in or left out",
        &["context", "show"],
        &[("directive", "Id of a directive", false), ("thread", "Id of a thread: its newest request instead", false)],
    ),
    (
        "context_explain",
        "Explains why something is or is not in a request: a layer, an item or a hook",
        &["context", "explain"],
        &[("what", "The id of an item or hook", true), ("in_directive", "Id of the directive", false)],
    ),
    (
        "context_diff",
        "Compares two requests and names the first byte that differs",
        &["context", "diff"],
        &[("from", "A request: THREAD#N or the id of a directive", true), ("to", "The other one", true)],
    ),
    ("threads_list", "Lists the threads of the project", &["threads"], &[]),
];

pub(super) fn run(setup: &Setup) -> Result<ExitCode, Failure> {
    let program = std::env::current_exe().map_err(|error| Failure::new(format!("where this program lies: {error}")))?;
    let server = Serving { program, project: setup.project.root.clone(), items: setup.items() };
    runtime()?.block_on(async {
        let begun = serve_server(server, rmcp::transport::stdio()).await;
        let running = begun.map_err(|error| Failure::new(format!("no MCP client: {error}")))?;
        running.waiting().await.map_err(|error| Failure::new(format!("the connection failed: {error}")))?;
        Ok(ExitCode::SUCCESS)
    })
}

struct Serving {
    program: PathBuf,
    project: PathBuf,
    items: Items,
}

fn failed(message: impl Into<String>) -> ErrorData {
    ErrorData::invalid_params(message.into(), None)
}

impl ServerHandler for Serving {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().build();
        let mut info = ServerConfig::new(capabilities);
        info.server_info = Implementation::new("levain", env!("CARGO_PKG_VERSION"));
        info.instructions = Some(
            "Directives of this project run as tools; context_* shows what a model would receive from one, with the origin \
             of every layer."
                .to_owned(),
        );
        info
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let views = VIEWS.iter().map(|(name, about, _, arguments)| {
            let properties: Map<String, Value> = arguments
                .iter()
                .map(|(name, about, _)| ((*name).to_owned(), json!({ "type": "string", "description": about })))
                .collect();
            let required: Vec<&str> =
                arguments.iter().filter(|(_, _, needed)| *needed).map(|(name, ..)| *name).collect();
            Tool::new(*name, *about, schema(properties, &required))
        });
        let items = self.items.afresh();
        let directives = items.iter().filter(|found| found.item.kind == Kind::Directive).filter_map(|found| {
            let text = items.read(found.item).ok()?;
            let directive = Directive::parse(&text, &items.file(found.item)).0;
            let about = directive.description.as_ref().map(|about| about.value.clone()).unwrap_or_default();
            let mut properties: Map<String, Value> = Map::new();
            properties
                .insert("prompt".to_owned(), json!({ "type": "string", "description": "What to say to it besides" }));
            let mut required = Vec::new();
            for input in &directive.inputs {
                let kind = match input.kind.to_ascii_lowercase().as_str() {
                    "integer" => "integer",
                    "number" => "number",
                    "boolean" | "bool" => "boolean",
                    _ => "string",
                };
                properties.insert(input.name.clone(), json!({ "type": kind, "description": input.description }));
                if input.required && input.default.is_none() {
                    required.push(input.name.as_str());
                }
            }
            Some(Tool::new(tool_name(found.item.id.as_str()), about, schema(properties, &required)))
        });
        Ok(ListToolsResult::with_all_items(views.chain(directives).collect()))
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = call.arguments.unwrap_or_default();
        let words = match VIEWS.iter().find(|(name, ..)| *name == call.name) {
            Some((_, _, words, known)) => view(words, known, &arguments)?,
            None => self.directive(&call.name, &arguments)?,
        };
        let (ok, text) = self.command(&words).await?;
        let content = vec![ContentBlock::text(text)];
        Ok(if ok { CallToolResult::success(content) } else { CallToolResult::error(content) }.into())
    }

    async fn list_resources(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let (ok, text) = self.command(&["threads".to_owned(), "--json".to_owned()]).await?;
        if !ok {
            return Err(ErrorData::internal_error(text, None));
        }
        let rows = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let resources = rows.take(MOST_THREADS).filter_map(|row| {
            let word = |name: &str| row.get(name).and_then(Value::as_str).filter(|word| !word.is_empty());
            let id = word("thread_id")?;
            let mut resource = Resource::new(format!("{THREAD}{id}"), word("title").unwrap_or(id));
            resource.mime_type = Some("text/plain".to_owned());
            Some(resource)
        });
        Ok(ListResourcesResult::with_all_items(resources.collect()))
    }

    async fn read_resource(
        &self,
        asked: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let id = asked.uri.strip_prefix(THREAD).filter(|id| !id.starts_with('-'));
        let id = id.ok_or_else(|| failed(format!("`{}` is no resource: {THREAD}ID is", asked.uri)))?;
        let (ok, text) = self.command(&["transcript".to_owned(), id.to_owned()]).await?;
        if !ok {
            return Err(failed(text));
        }
        Ok(ReadResourceResult::new(vec![ResourceContents::text(text, asked.uri)]).into())
    }
}

impl Serving {
    /// The words of a run of a directive.
    fn directive(&self, tool: &str, arguments: &Map<String, Value>) -> Result<Vec<String>, ErrorData> {
        let items = self.items.afresh();
        let id = items.ids(Kind::Directive).map(ItemId::as_str).find(|id| tool_name(id) == tool);
        let id = id.ok_or_else(|| failed(format!("there is no tool `{tool}`")))?;
        let mut words = vec!["run".to_owned(), "--json".to_owned(), "--directive".to_owned(), id.to_owned()];
        for (name, value) in arguments.iter().filter(|(name, value)| *name != "prompt" && !value.is_null()) {
            words.extend(["--input".to_owned(), format!("{name}={}", plain(value))]);
        }
        if let Some(prompt) = arguments.get("prompt").map(plain).filter(|prompt| !prompt.is_empty()) {
            words.extend(["--".to_owned(), prompt]);
        }
        Ok(words)
    }

    /// Runs this program; whether it ended well, and what it printed.
    async fn command(&self, words: &[String]) -> Result<(bool, String), ErrorData> {
        let mut command = Command::new(&self.program);
        command.args(words).arg0("levain").current_dir(&self.project).stdin(Stdio::null()).kill_on_drop(true);
        let output = command.output().await.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        let said = if output.status.success() || !output.stdout.is_empty() { &output.stdout } else { &output.stderr };
        let mut text = String::from_utf8_lossy(said).into_owned();
        if text.len() > MOST {
            let whole = text.len();
            text.truncate(text.floor_char_boundary(MOST));
            // Writing to a text cannot fail.
            let _ok = write!(text, "\n[the first {MOST} of {whole} bytes]");
        }
        Ok((output.status.success(), text))
    }
}

/// The words of a command that shows something. What a client says is a value and never an option.
fn view(
    words: &[&str],
    known: &[(&str, &str, bool)],
    arguments: &Map<String, Value>,
) -> Result<Vec<String>, ErrorData> {
    let mut all: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let mut places = Vec::new();
    for (name, _, needed) in known {
        let Some(value) = arguments.get(*name).filter(|value| !value.is_null()).map(plain) else {
            if *needed {
                return Err(failed(format!("`{name}` is missing")));
            }
            continue;
        };
        if value.starts_with('-') {
            return Err(failed(format!("`{name}` cannot begin with `-`")));
        }
        match *name {
            "thread" => all.push(format!("--thread={value}")),
            "in_directive" => all.push(format!("--directive={value}")),
            _ => places.push(value),
        }
    }
    all.extend(places);
    Ok(all)
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
}

fn schema(properties: Map<String, Value>, required: &[&str]) -> Arc<Map<String, Value>> {
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), Value::Object(properties));
    schema.insert("required".to_owned(), json!(required));
    Arc::new(schema)
}

/// The name of a directive as a tool.
fn tool_name(id: &str) -> String {
    format!("{DIRECTIVE}{}", crate::domain::capability::flattened(id))
}
