//! MCP servers as a client: their tools are called like tools that are files.
//!
//! What a server offers is kept in files (see [`server`]), so a thread begins without asking any server, however many there
//! are and whatever state they are in. A connection is made with the first call that needs it, is shared by the thread's
//! calls, and is made again when it was lost. A server that hangs, floods or dies costs only its calls.

mod bounded;
mod changes;
mod login;
mod prompt;
mod server;
mod tokens;

pub use login::{Login, LoginOptions, OwnClient};
pub use prompt::prompt_file;
pub use server::{Listed, ListedPrompt, SERVERS, Server, ServerFile, Transport, file_name, resource_file, tool_file};
pub use tokens::Tokens;

use super::Failed;
use super::command::{Keeper, Launch, Running, not_started};
use super::environment::Environment;
use super::keeper::Input;
use super::sandbox::Confinement;
use crate::domain::event::Process;
use crate::ports::tools::Waiting;
use crate::ports::{ToolListener, tls};
use bounded::Bounded;
use changes::{Changes, Teller};
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use rmcp::ServiceError;
use rmcp::handler::client::ClientHandler;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, CancelledNotificationParam, ClientConfig, ClientRequest,
    ContentBlock, GetPromptRequestParams, Implementation, ProgressNotificationParam, ReadResourceRequestParams,
    ReadResourceResult, ServerResult,
};
use rmcp::service::{NotificationContext, Peer, PeerRequestOptions, RoleClient, RunningService, serve_client};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::AsyncReadExt as _;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// How long making a connection may take.
const CONNECT: Duration = Duration::from_secs(30);

/// Bytes of what a server says beside its answers that are kept: the last.
const SAID: usize = 4 << 10;

/// Most tools of one server that are looked at.
const MOST_TOOLS: usize = 2_000;

/// Most resources of one server that are looked at.
const MOST_RESOURCES: usize = 500;

/// Most prompts of one server that are looked at.
const MOST_PROMPTS: usize = 500;

/// Where a thread's connections live.
#[derive(Debug, Default)]
pub struct Connections {
    slots: Mutex<HashMap<(String, bool), Slot>>,
    teller: Teller,
    /// Where the person's tokens lie; none are sent without.
    tokens: Option<Tokens>,
}

type Slot = Arc<tokio::sync::Mutex<Option<Arc<Connection>>>>;

/// With what connections are made.
#[derive(Debug)]
pub struct With {
    pub keeper: Keeper,
    pub folder: PathBuf,
    pub environment: Environment,
    /// What a server that is a process may reach.
    pub confinement: Option<Confinement>,
}

impl Connections {
    /// Those that send servers the tokens of whom the person signed in to.
    #[must_use]
    pub fn signed_in(tokens: Tokens) -> Self {
        Self { tokens: Some(tokens), ..Self::default() }
    }

    /// By whom people are told what servers say without being asked.
    pub fn tell_by(&self, tell: impl Fn(String) + Send + Sync + 'static) {
        self.teller.set(tell);
    }

    /// Calls a tool of `server`.
    ///
    /// # Errors
    /// Why there is no result, in words; where a server answered with an error, that.
    pub(super) async fn call(
        &self,
        server: &Server,
        tool: &str,
        parameters: &Map<String, Value>,
        with: &With,
        listener: &dyn ToolListener,
    ) -> Result<Called, Failed> {
        self.reach(server, with, listener).await?.call(tool, parameters, server.timeout, listener).await
    }

    /// The text of a resource of `server`; of parts that are no text, how long they are.
    ///
    /// # Errors
    /// Why there is none, in words.
    pub async fn read(&self, server: &Server, uri: &str, with: &With) -> Result<String, String> {
        let read = async {
            let connection = self.reach(server, with, &Nobody).await?;
            let asked = connection.service.peer().read_resource(ReadResourceRequestParams::new(uri));
            match timeout(server.timeout, asked).await {
                Ok(Ok(result)) => Ok(resource_text(&result)),
                Ok(Err(error)) => Err(connection.failed(&error)),
                Err(_late) => Err(unanswered(server)),
            }
        };
        read.await.map_err(|Failed(why)| why)
    }

    /// The text that `server` makes of its prompt `name` with these arguments.
    ///
    /// # Errors
    /// Why there is none, in words.
    pub async fn prompt(
        &self,
        server: &Server,
        name: &str,
        arguments: Map<String, Value>,
        with: &With,
    ) -> Result<String, String> {
        let asked = async {
            let connection = self.reach(server, with, &Nobody).await?;
            let params = GetPromptRequestParams::new(name);
            let params = if arguments.is_empty() { params } else { params.with_arguments(arguments) };
            match timeout(server.timeout, connection.service.peer().get_prompt(params)).await {
                Ok(Ok(result)) => {
                    prompt::prompt_text(&result).map_err(|why| Failed(format!("{}: {why}", server.name())))
                }
                Ok(Err(error)) => Err(connection.failed(&error)),
                Err(_late) => Err(unanswered(server)),
            }
        };
        asked.await.map_err(|Failed(why)| why)
    }

    /// The connection to `server`, made where there is none.
    async fn reach(
        &self,
        server: &Server,
        with: &With,
        listener: &dyn ToolListener,
    ) -> Result<Arc<Connection>, Failed> {
        let key = (server.id.clone(), with.confinement.is_some());
        let slot = Arc::clone(self.slots.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default());
        let mut slot = slot.lock().await;
        let alive = slot.as_ref().filter(|connection| !connection.is_closed() && connection.server == *server).cloned();
        if let Some(connection) = alive {
            return Ok(connection);
        }
        let word = if slot.is_some() { "reconnecting to" } else { "connecting to" };
        listener.said(format!("{word} {}…\n", server.name()));
        let about = About { changes: Changes::of(server, &self.teller), tokens: self.tokens.as_ref() };
        let made = Arc::new(Connection::make(server, with, about, listener).await?);
        *slot = Some(Arc::clone(&made));
        Ok(made)
    }
}

/// What a server offers, asked now.
///
/// # Errors
/// Why it could not be asked, in words.
pub async fn discover(server: &Server, with: &With, tokens: &Tokens) -> Result<Listed, String> {
    asked(server, with, tokens).await.map_err(|Failed(why)| why)
}

async fn asked(server: &Server, with: &With, tokens: &Tokens) -> Result<Listed, Failed> {
    let about = About { changes: Changes::of(server, &Teller::default()), tokens: Some(tokens) };
    let connection = Connection::make(server, with, about, &Nobody).await?;
    let peer = connection.service.peer();
    let ask = async {
        let info = peer.peer_info();
        let tools = peer.list_all_tools().await?;
        let has = |capability: &str| {
            let all = info.as_ref().map(|info| serde_json::to_value(&info.capabilities).unwrap_or_default());
            all.is_some_and(|all| all.get(capability).is_some_and(|one| !one.is_null()))
        };
        let resources = if has("resources") { peer.list_all_resources().await.ok() } else { Some(Vec::new()) };
        let prompts = if has("prompts") { peer.list_all_prompts().await.ok() } else { Some(Vec::new()) };
        let told = info.and_then(|info| info.server_info.clone()).map(|told| format!("{} {}", told.name, told.version));
        Ok::<_, ServiceError>((told, tools, resources, prompts))
    };
    let asked = timeout(server.timeout, ask).await;
    let (told, tools, resources, prompts) = match asked {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => return Err(connection.failed(&error)),
        Err(_late) => return Err(connection.late(server.timeout)),
    };
    let tools = tools.into_iter().take(MOST_TOOLS).map(|tool| {
        let schema = Value::Object(tool.input_schema.as_ref().clone());
        (tool.name.into_owned(), tool.description.map(std::borrow::Cow::into_owned).unwrap_or_default(), schema)
    });
    let resources = resources.map(|all| {
        let told = |resource| {
            let resource = serde_json::to_value(resource).ok()?;
            let word = |key: &str| resource.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
            Some((word("uri"), word("name"), word("description")))
        };
        all.iter().take(MOST_RESOURCES).filter_map(told).collect()
    });
    let prompts = prompts.map(|all| all.into_iter().take(MOST_PROMPTS).map(ListedPrompt::from).collect());
    Ok(Listed { told: told.unwrap_or_default(), tools: tools.collect(), resources, prompts })
}

/// Nobody listens: a command line asks by itself.
struct Nobody;

impl ToolListener for Nobody {
    fn said(&self, _text: String) {}

    fn started(&self, _process: Process) -> Waiting<'_, bool> {
        Box::pin(std::future::ready(true))
    }

    fn becomes(&self, _persona: Option<crate::domain::Persona>) -> Waiting<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// What a connection is made with besides.
struct About<'a> {
    changes: Changes,
    tokens: Option<&'a Tokens>,
}

/// A connection to a server. Dropping it ends a server that is a process.
struct Connection {
    server: Server,
    service: RunningService<RoleClient, Client>,
    progress: Progress,
    said: Arc<Mutex<String>>,
    _asking: JoinSet<()>,
    _process: Option<Running>,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Connection").field("server", &self.server.id).finish_non_exhaustive()
    }
}

/// Who wants to hear of the progress of which request, by its token.
type Progress = Arc<Mutex<HashMap<String, mpsc::Sender<String>>>>;

/// What a server can ask or tell us.
struct Client {
    progress: Progress,
    changes: Changes,
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let mut info = ClientConfig::default();
        info.client_info = Implementation::new("levain", env!("CARGO_PKG_VERSION"));
        info
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changes.tell("tools");
    }

    async fn on_prompt_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changes.tell("prompts");
    }

    async fn on_resource_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changes.tell("resources");
    }

    async fn on_progress(&self, told: ProgressNotificationParam, _context: NotificationContext<RoleClient>) {
        let token = json!(told.progress_token).to_string();
        let listener = self.progress.lock().unwrap_or_else(PoisonError::into_inner).get(&token).cloned();
        let Some(listener) = listener else { return };
        let of = told.total.map(|total| format!(" of {total}")).unwrap_or_default();
        let text = told.message.map(|text| format!(": {text}")).unwrap_or_default();
        // Whoever listens too slowly misses some.
        let _full = listener.try_send(format!("{}{of}{text}\n", told.progress));
    }
}

impl Connection {
    async fn make(
        server: &Server,
        with: &With,
        About { changes, tokens }: About<'_>,
        listener: &dyn ToolListener,
    ) -> Result<Self, Failed> {
        let progress = Progress::default();
        let client = Client { progress: Arc::clone(&progress), changes: changes.clone() };
        let said = Arc::new(Mutex::new(String::new()));
        let (service, process) = match &server.transport {
            Transport::Stdio { command, arguments, variables, folder } => {
                let place = folder.as_ref().map_or_else(|| with.folder.clone(), |folder| with.folder.join(folder));
                let mut given = Vec::new();
                for (name, value) in variables {
                    given.push((name.clone(), expanded(value, &with.environment)?.into()));
                }
                let mut words = vec![expanded(command, &with.environment)?.into()];
                for argument in arguments {
                    words.push(expanded(argument, &with.environment)?.into());
                }
                let launch = Launch {
                    words,
                    folder: &place,
                    environment: &with.environment,
                    variables: given,
                    input: None,
                    confinement: with.confinement.clone(),
                    longest: server.timeout,
                    spill: None,
                    apart: true,
                    whole: false,
                };
                let pipes = (Stdio::piped(), Stdio::piped());
                let mut running = with.keeper.start(&launch, Input::Open, pipes, listener).await?;
                let (output, errors) = (running.child.stdout.take(), running.child.stderr.take());
                let (Some(input), Some(output), Some(errors)) = (running.take_input(), output, errors) else {
                    return Err(not_started("it has no pipes"));
                };
                tokio::spawn(keep_said(errors, Arc::clone(&said)));
                let connect = timeout(CONNECT, serve_client(client, (Bounded::new(output), input)));
                match connect.await {
                    Ok(Ok(service)) => (service, Some(running)),
                    Ok(Err(error)) => return Err(unreachable(server, &error.to_string(), &said)),
                    Err(_late) => return Err(unreachable(server, "it did not answer within 30 s", &said)),
                }
            }
            Transport::Http { headers, .. } => (Self::over_http(server, headers, with, client, tokens).await?, None),
        };
        let asking = changes.ask(service.peer());
        Ok(Self { server: server.clone(), service, progress, said, _asking: asking, _process: process })
    }

    async fn over_http(
        server: &Server,
        headers: &[(String, String)],
        with: &With,
        client: Client,
        tokens: Option<&Tokens>,
    ) -> Result<RunningService<RoleClient, Client>, Failed> {
        tls::prepare();
        let said = Arc::default();
        let mut all = HashMap::new();
        for (name, value) in headers {
            let value = expanded(value, &with.environment)?;
            let bad = |what: &str| Failed(format!("{}: `{name}` is no {what} of HTTP", server.name()));
            let key: HeaderName = name.parse().map_err(|_unread| bad("header"))?;
            let value: HeaderValue = value.parse().map_err(|_unread| bad("value of a header"))?;
            all.insert(key, value);
        }
        let url =
            login::address(server, &with.environment).map_err(|why| Failed(format!("{} {why}", server.name())))?;
        // Who gives a header of their own signs in by it.
        let tokens = tokens.filter(|_| !all.contains_key(&AUTHORIZATION));
        let config = StreamableHttpClientTransportConfig::with_uri(url.as_str()).custom_headers(all);
        let connect = async {
            let signed_in = match tokens {
                Some(tokens) => login::signed_in(server, &url, tokens).await,
                None => Ok(None),
            };
            let signed_in = signed_in.map_err(|why| unreachable(server, &why, &said))?;
            let connected = match signed_in {
                Some(http) => serve_client(client, StreamableHttpClientTransport::with_client(http, config)).await,
                None => serve_client(client, StreamableHttpClientTransport::from_config(config)).await,
            };
            connected.map_err(|error| match error.auth_challenge() {
                Some(challenge) => wants_login(server, challenge),
                None => unreachable(server, &error.to_string(), &said),
            })
        };
        let late = |_late| unreachable(server, "it did not answer within 30 s", &said);
        timeout(CONNECT, connect).await.map_err(late)?
    }

    fn is_closed(&self) -> bool {
        self.service.is_closed() || self.service.peer().is_transport_closed()
    }

    async fn call(
        &self,
        tool: &str,
        parameters: &Map<String, Value>,
        longest: Duration,
        listener: &dyn ToolListener,
    ) -> Result<Called, Failed> {
        let peer = self.service.peer();
        let mut request = CallToolRequestParams::new(tool.to_owned());
        request.arguments = Some(parameters.clone());
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(request));
        let sent = peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await;
        let handle = sent.map_err(|error| self.failed(&error))?;
        let token = json!(handle.progress_token).to_string();
        let (sender, mut told) = mpsc::channel(16);
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).insert(token.clone(), sender);
        let mut stop = StopOnDrop { peer: peer.clone(), id: Some(handle.id.clone()), token, progress: &self.progress };
        let deadline = tokio::time::sleep(longest);
        let answer = handle.await_response();
        tokio::pin!(deadline, answer);
        let answered = loop {
            tokio::select! {
                biased;
                answered = &mut answer => break answered,
                Some(text) = told.recv() => listener.said(text),
                () = &mut deadline => return Err(self.late(longest)),
            }
        };
        stop.id = None;
        match answered {
            Ok(ServerResult::CallToolResult(result)) => told_result(tool, &result),
            Ok(_other) => Err(Failed(format!("{} answered with something that is no result", self.server.name()))),
            Err(error) => Err(self.failed(&error)),
        }
    }

    fn failed(&self, error: &ServiceError) -> Failed {
        if let ServiceError::McpError(error) = error {
            return Failed(format!("{}: {}", self.server.name(), error.message));
        }
        if let Some(challenge) = error.auth_challenge() {
            return wants_login(&self.server, challenge);
        }
        unreachable(&self.server, &error.to_string(), &self.said)
    }

    fn late(&self, longest: Duration) -> Failed {
        Failed(format!(
            "{} did not answer within {} s; the request was cancelled",
            self.server.name(),
            longest.as_secs()
        ))
    }
}

/// Cancels a request that nobody waits for any more.
struct StopOnDrop<'a> {
    peer: Peer<RoleClient>,
    id: Option<rmcp::model::RequestId>,
    token: String,
    progress: &'a Progress,
}

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.token);
        let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current()) else { return };
        let peer = self.peer.clone();
        runtime.spawn(async move {
            let cancelled = CancelledNotificationParam::new(Some(id), Some("nobody waits for it".to_owned()));
            let _gone = peer.notify_cancelled(cancelled).await;
        });
    }
}

/// Keeps the last of what a server says on its standard error.
async fn keep_said(mut errors: tokio::process::ChildStderr, said: Arc<Mutex<String>>) {
    let mut buffer = vec![0; 4 << 10];
    while let Ok(count @ 1..) = errors.read(&mut buffer).await {
        let text = String::from_utf8_lossy(buffer.get(..count).unwrap_or_default()).into_owned();
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        said.push_str(&text);
        if said.len() > 2 * SAID {
            let from = said.ceil_char_boundary(said.len() - SAID);
            said.replace_range(..from, "");
        }
    }
}

/// That a server answers only people whom it knows, or who may do more.
fn wants_login(server: &Server, challenge: &str) -> Failed {
    let name = server.name();
    let word = |key: &str| challenge.split_once(&format!("{key}=\"")).and_then(|(_, rest)| rest.split('"').next());
    let scopes = word("scope").filter(|_| word("error") == Some("insufficient_scope")).unwrap_or_default();
    // It is told as words to run.
    let is_plain =
        |scope: &&str| scope.chars().all(|letter| letter.is_ascii_alphanumeric() || ":._/-".contains(letter));
    let scopes = scopes.split_whitespace().filter(is_plain);
    let wanted = scopes.fold(String::new(), |all, scope| all + " --scope " + scope);
    let what = if wanted.is_empty() { "you to sign in" } else { "more of you than you signed in for" };
    Failed(format!("{name} wants {what}: levain mcp login {name}{wanted}"))
}

fn unanswered(server: &Server) -> Failed {
    Failed(format!("{} did not answer within {} s", server.name(), server.timeout.as_secs()))
}

fn unreachable(server: &Server, why: &str, said: &Arc<Mutex<String>>) -> Failed {
    let said = said.lock().unwrap_or_else(PoisonError::into_inner);
    let last = said.trim_end().lines().next_back().map(str::trim).filter(|line| !line.is_empty());
    let last = last.map(|line| format!("; it said: {line}")).unwrap_or_default();
    Failed(format!("{} cannot be reached: {why}{last}", server.name()))
}

/// A text of a server's file with its `${VARIABLES}`: those alone that commands of tools get, too.
fn expanded(text: &str, environment: &Environment) -> Result<String, Failed> {
    environment.expanded(text).map_err(Failed)
}

/// What a tool answered, as the result of a call.
fn told_result(tool: &str, result: &CallToolResult) -> Result<Called, Failed> {
    let is_error = result.is_error.unwrap_or_default();
    let text_of = |block: &ContentBlock| serde_json::to_value(block).ok();
    let is_image = |block: &Value| block.get("type").and_then(Value::as_str) == Some("image");
    let (images, content): (Vec<Value>, Vec<Value>) = result.content.iter().filter_map(text_of).partition(is_image);
    let content: Vec<Value> = content.into_iter().map(without_bytes).collect();
    let texts: Vec<&str> = content.iter().filter_map(|block| block.get("text").and_then(Value::as_str)).collect();
    if is_error {
        let text = texts.join("\n");
        return Err(Failed(if text.is_empty() { format!("`{tool}` says that it failed") } else { text }));
    }
    let parsed = match (&result.structured_content, texts.as_slice()) {
        (Some(structured), _) => Some(structured.clone()),
        (None, [one]) if content.len() == 1 && images.is_empty() => {
            serde_json::from_str::<Value>(one).ok().filter(Value::is_object)
        }
        (None, _) => None,
    };
    Ok(match parsed {
        Some(Value::Object(fields)) => Called { data: fields, images, place: "shown" },
        _ => Called { data: Map::from_iter([("content".to_owned(), content.into())]), images, place: "content" },
    })
}

/// What a call came to.
#[derive(Debug)]
pub(super) struct Called {
    pub(super) data: Map<String, Value>,
    /// Blocks with their bytes.
    pub(super) images: Vec<Value>,
    /// The list in `data` in which they are told of.
    pub(super) place: &'static str,
}

/// The text of a resource. Its parts stand below each other.
fn resource_text(result: &ReadResourceResult) -> String {
    let parts = result.contents.iter().filter_map(|part| serde_json::to_value(part).ok());
    let text = |part: Value| {
        let word = |key: &str| part.get(key).and_then(Value::as_str);
        let bytes = || format!("({} letters of base64 left out)", word("blob").map_or(0, str::len));
        word("text").map_or_else(bytes, ToOwned::to_owned)
    };
    parts.map(text).collect::<Vec<_>>().join("\n")
}

/// A block without the bytes of sounds and files, which are no text for a model.
fn without_bytes(mut block: Value) -> Value {
    if let Some(fields) = block.as_object_mut()
        && let Some(data) = fields.get("data").and_then(Value::as_str).map(str::len)
    {
        fields.insert("data".to_owned(), json!(format!("({data} letters of base64 left out)")));
    }
    block
}
