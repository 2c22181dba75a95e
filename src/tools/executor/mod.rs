//! Tools that are files: which chain runs them, running them, and what they answer.
//!
//! A tool names what executes it by its `executor_id`, that names the next, until a primitive is reached: a process or a
//! request. Parameters are data all the way: JSON on the tool's input, a whole argument, a part of an address that is
//! encoded. Nothing that a model writes is put into a text that anybody interprets.

mod http;
mod runtime;

use super::command::{Ended, Launch, ending};
use super::images;
use super::mcp::{Called, Connections, Server, Transport, With};
use super::sandbox::refusal;
use super::{Answer, Failed, ToolContext};
use crate::domain::{Severity, Space};
use crate::items::{Found, Item, Items, Kind, Tool};
use crate::ports::{Beneath, ToolListener};
use http::Request;
use runtime::{Process, Runtime};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A chain has so many links at most.
const LONGEST_CHAIN: usize = 10;

/// Bytes of an answer that a model gets; the whole is kept as any output.
const LONGEST_ANSWER: usize = 51_200;

/// How a tool is run: worked out from its file and those that execute it.
#[derive(Debug)]
pub(crate) struct Chain {
    /// Ids of the links, the tool first.
    pub(super) ids: Vec<String>,
    /// Whether a file of the project is among them: such run only in a trusted project.
    pub(crate) of_project: bool,
    way: Way,
}

#[derive(Debug)]
enum Way {
    Process(Box<Process>),
    Request(Box<Request>),
    /// A tool of an MCP server.
    Mcp {
        server: Box<Server>,
        tool: String,
    },
}

impl Chain {
    /// Whether a sandbox can hold all that the tool does.
    pub(crate) fn is_confinable(&self) -> bool {
        match &self.way {
            Way::Process(_) => true,
            Way::Request(_) => false,
            Way::Mcp { server, .. } => matches!(server.transport, Transport::Stdio { .. }),
        }
    }
}

/// One file of a chain.
struct Link<'a> {
    item: &'a Item,
    tool: Tool,
}

fn read<'a>(items: &'a Items, item: &'a Item) -> Result<Link<'a>, String> {
    let text = items.read(item).map_err(|problem| problem.to_string())?;
    let (tool, problems) = Tool::parse(&text, &items.file(item));
    match problems.into_iter().find(|problem| problem.severity >= Severity::Error) {
        Some(problem) => Err(problem.to_string()),
        None => Ok(Link { item, tool }),
    }
}

/// How far a file is from the person: a link may lead to its own space and to those farther away, never nearer.
fn rank(space: Space) -> u8 {
    match space {
        Space::Project => 0,
        Space::User => 1,
        Space::System => 2,
    }
}

/// Works out how the tool `item` is run in `project`. Reads the files of the chain and looks for programs.
///
/// # Errors
/// Why it cannot be run, in words that follow the tool's name.
pub(crate) fn resolve(items: &Items, item: &Item, project: &Path) -> Result<Chain, String> {
    let first = read(items, item)?;
    let file = items.file(item);
    let usual = || {
        let ending = file.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        Some(match ending {
            "py" => runtime::PYTHON_FUNCTION,
            "js" | "ts" | "mjs" | "cjs" => runtime::NODE,
            "sh" => runtime::BASH,
            _ => return None,
        })
    };
    let named = match &first.tool.executor_id {
        Some(Some(id)) => Some(id.clone()),
        Some(None) => return Err("it names no executor (executor_id is null), so it is no tool to be run".to_owned()),
        None => usual().map(ToOwned::to_owned),
    };
    let mut next = named.ok_or("it names no executor: write executor_id: rye/core/primitives/execute, for example")?;
    let mut space = items.space(item);
    let mut of_project = space == Space::Project;
    let mut ids = vec![item.id.as_str().to_owned()];
    let mut links = vec![first];
    loop {
        if ids.contains(&next) {
            return Err(format!("its executors lead back to `{next}`"));
        }
        if ids.len() == LONGEST_CHAIN {
            return Err(format!("its chain of executors has more than {LONGEST_CHAIN} links"));
        }
        ids.push(next.clone());
        let found = items.get(Kind::Tool, &next);
        // What is built in stands for these ids unless the project or the person replaces it.
        let replaced = found.as_ref().filter(|found| items.space(found.item) != Space::System);
        if replaced.is_none()
            && let Some(known) = Runtime::known(&next)
        {
            if known == Runtime::Mcp {
                let (way, of_server) = server(items, &links)?;
                return Ok(Chain { ids, of_project: of_project || of_server, way });
            }
            let way = end(items, &links, known, project)?;
            if known != Runtime::Http && known != Runtime::Execute {
                ids.push(runtime::EXECUTE.to_owned());
            }
            return Ok(Chain { ids, of_project, way });
        }
        if let Some(why) = runtime::foreign(&next) {
            return Err(why.to_owned());
        }
        let Some(Found { item, .. }) = found else {
            return Err(format!("its executor `{next}` does not exist"));
        };
        if rank(items.space(item)) < rank(space) {
            let to = items.root(item).map(ToString::to_string).unwrap_or_default();
            return Err(format!(
                "its executor `{next}` lies in the {to} space, on which a space farther away cannot depend"
            ));
        }
        space = items.space(item);
        of_project |= space == Space::Project;
        let link = read(items, item)?;
        let Some(Some(after)) = link.tool.executor_id.clone() else {
            return Err(format!(
                "its executor `{next}` is nothing that levain can run: it names no executor of its own"
            ));
        };
        links.push(link);
        next = after;
    }
}

/// A tool of an MCP server, and whether that is one of the project.
fn server(items: &Items, links: &[Link<'_>]) -> Result<(Way, bool), String> {
    let config = links.first().and_then(|link| link.tool.config.as_ref());
    let word = |name: &str| config.and_then(|config| config.get(name)).and_then(Value::as_str);
    let (Some(id), Some(tool)) = (word("server"), word("tool_name")) else {
        return Err("it names no server and tool (config: server, tool_name)".to_owned());
    };
    let (server, found) = Server::find(items, id)?;
    let of_project = items.space(found.item) == Space::Project;
    Ok((Way::Mcp { server: Box::new(server), tool: tool.to_owned() }, of_project))
}

fn end(items: &Items, links: &[Link<'_>], known: Runtime, project: &Path) -> Result<Way, String> {
    let Some((tool, runtimes)) = links.split_first() else { return Err("it has no links".to_owned()) };
    let own = tool.tool.config.clone().unwrap_or(Value::Null);
    if known == Runtime::Http {
        let mut config = Map::new();
        for link in runtimes.iter().rev().chain([tool]) {
            config.extend(link.tool.config.clone().and_then(|config| config.as_object().cloned()).unwrap_or_default());
        }
        return Ok(Way::Request(Box::new(Request::read(&config)?)));
    }
    let place = runtime::Places::of(items, tool.item, project);
    let process = Process::make(
        known,
        runtimes.iter().map(|link| (items.file(link.item), &link.tool)),
        &own,
        &tool.tool,
        &place,
    )?;
    Ok(Way::Process(Box::new(process)))
}

/// From where a tool is run.
pub(super) struct Call<'a> {
    pub(super) context: &'a ToolContext,
    pub(super) connections: &'a Connections,
    pub(super) confined: bool,
    /// Where its output goes when it is too long for an answer.
    pub(super) spill: Option<Beneath>,
}

/// Runs the tool `id` with these parameters. Everything is looked up afresh: a thread outlives many changes of files.
pub(super) async fn run(from: Call<'_>, id: &str, input: Value, listener: &dyn ToolListener) -> Answer {
    let context = from.context;
    let chain = look(context, id).await?;
    let parameters = object(input)?;
    let begun = Instant::now();
    let result = match &chain.way {
        Way::Request(request) => request.send(&parameters, &context.environment).await,
        Way::Process(process) => in_process(from, process, &parameters, listener).await,
        Way::Mcp { server, tool } => {
            let with = With {
                keeper: context.keeper.clone(),
                folder: context.root.path().to_owned(),
                environment: context.environment.clone(),
                confinement: from.confined.then(|| context.sandbox.confinement(&[], &[])),
            };
            let called = from.connections.call(server, tool, &parameters, &with, listener).await;
            match called {
                Ok(Called { mut data, images, place }) => {
                    let mut blocks = Value::Array(images);
                    images::shown(&mut blocks, &context.kept, listener).await;
                    if let Value::Array(words) = blocks
                        && !words.is_empty()
                        && let Some(list) = data.entry(place).or_insert_with(|| json!([])).as_array_mut()
                    {
                        list.extend(words);
                    }
                    Ok(Value::Object(data))
                }
                Err(failed) => Err(Broken::from(failed)),
            }
        }
    };
    let took = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    let metadata = json!({ "duration_ms": took });
    match result {
        Ok(data) => Ok(cut(&json!({
            "status": "success", "type": "tool", "item_id": id, "data": data, "chain": chain.ids, "metadata": metadata,
        }))),
        Err(Broken { error, data }) => {
            let mut envelope = json!({
                "status": "error", "type": "tool", "item_id": id, "error": error, "chain": chain.ids, "metadata": metadata,
            });
            if let (Some(data), Some(envelope)) = (data, envelope.as_object_mut()) {
                envelope.insert("data".to_owned(), data);
            }
            let first = error.lines().next().unwrap_or("failed").to_owned();
            Err(Failed(format!("{}\n{id}: {first}", cut(&envelope))))
        }
    }
}

/// What [`run`] would do, without doing it.
pub(super) async fn dry_run(context: &ToolContext, id: &str, input: Value) -> Answer {
    let chain = look(context, id).await?;
    let parameters = object(input)?;
    let would = match &chain.way {
        Way::Request(request) => request.told(&parameters).map_err(|broken| Failed(broken.error))?,
        Way::Mcp { server, tool } => json!({ "server": server.id, "tool": tool, "arguments": parameters }),
        Way::Process(process) => {
            let words = process.words(&parameters).map_err(Failed)?;
            let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
            json!({
                "command": words, "cwd": process.folder, "timeout": process.longest.as_secs(), "input": parameters,
                "environment": process.variables.iter().map(|(name, _)| name).collect::<Vec<_>>(),
            })
        }
    };
    Ok(json!({ "status": "success", "type": "tool", "item_id": id, "dry_run": true, "chain": chain.ids, "data": would })
        .to_string())
}

/// The chain of the tool `id` as its files are now.
async fn look(context: &ToolContext, id: &str) -> Result<Chain, Failed> {
    let (items, id, trusts) = (context.items.clone(), id.to_owned(), context.trusts.clone());
    let project = context.root.path().to_owned();
    super::off_loop(move |_| {
        let items = items.afresh();
        let found = items.find(Kind::Tool, &id).map_err(|missing| Failed(format!("{missing}.")))?;
        let chain =
            resolve(&items, found.item, &project).map_err(|why| Failed(format!("`{id}` was not run: {why}.")))?;
        if chain.of_project && !trusts.allows() {
            return Err(Failed(format!(
                "`{id}` was not run: it is a file of this project, which the person does not trust as it is now \
                 (levain trust)."
            )));
        }
        Ok(chain)
    })
    .await
}

/// Whether the person trusts the project as it is now.
#[derive(Clone)]
pub struct Trusts(std::sync::Arc<dyn Fn() -> bool + Send + Sync>);

impl Trusts {
    #[must_use]
    pub fn new(asks: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(std::sync::Arc::new(asks))
    }

    fn allows(&self) -> bool {
        (self.0)()
    }
}

impl std::fmt::Debug for Trusts {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Trusts")
    }
}

/// A tool that failed: why, and what it said besides.
pub(super) struct Broken {
    pub(super) error: String,
    pub(super) data: Option<Value>,
}

impl From<String> for Broken {
    fn from(error: String) -> Self {
        Self { error, data: None }
    }
}

impl From<Failed> for Broken {
    fn from(Failed(error): Failed) -> Self {
        Self { error, data: None }
    }
}

async fn in_process(
    Call { context, confined, spill, .. }: Call<'_>,
    process: &Process,
    parameters: &Map<String, Value>,
    listener: &dyn ToolListener,
) -> Result<Value, Broken> {
    let confinement = confined.then(|| context.sandbox.confinement(&[], &[]));
    let launch = Launch {
        words: process.words(parameters)?,
        folder: &process.folder,
        environment: &context.environment,
        variables: process.variables(parameters),
        input: Some(serde_json::to_vec(parameters).map_err(|error| error.to_string())?),
        confinement: confinement.clone(),
        longest: process.longest,
        spill,
        apart: true,
        whole: false,
    };
    let finished = context.keeper.run(launch, std::future::pending(), listener).await?;
    let said = finished.output.finish(|path| context.root.told(&path.path()));
    let printed = String::from_utf8_lossy(&finished.result).into_owned();
    if let Some(ending) = ending(&finished.ended, process.longest) {
        let code = if let Ended::Itself(status) = &finished.ended { status.code() } else { None };
        let refused = confinement.and_then(|confinement| refusal(&format!("{said}\n{printed}"), &confinement));
        let why = refused.or_else(|| missing_module(&said, process)).unwrap_or_else(|| last_words(&said, &printed));
        let data = json!({ "stdout": printed, "stderr": said, "return_code": code });
        return Err(Broken { error: format!("{why} ({ending})"), data: Some(data) });
    }
    match serde_json::from_str::<Value>(printed.trim()) {
        Ok(Value::Object(fields)) if fields.is_empty() => {
            Ok(json!({ "stdout": "{}", "stderr": said, "return_code": 0 }))
        }
        Ok(Value::Object(fields)) if fields.get("success") == Some(&Value::Bool(false)) => {
            let error =
                fields.get("error").and_then(Value::as_str).unwrap_or("the tool says that it failed").to_owned();
            Err(Broken { error, data: Some(Value::Object(fields)) })
        }
        Ok(data) => Ok(data),
        Err(_no_json) => Ok(json!({ "stdout": printed, "stderr": said, "return_code": 0 })),
    }
}

/// What a failed tool said last.
fn last_words(said: &str, printed: &str) -> String {
    let last = |text: &str| text.trim_end().lines().next_back().map(str::trim).unwrap_or_default().to_owned();
    Some(last(said)).filter(|line| !line.is_empty()).unwrap_or_else(|| last(printed))
}

/// That a module is not there, in one line, where that is why a Python tool failed.
fn missing_module(said: &str, process: &Process) -> Option<String> {
    let line = said.lines().rev().find_map(|line| line.trim().strip_prefix("ModuleNotFoundError: No module named "))?;
    Some(format!(
        "it needs the Python module {}, which {} does not have",
        line.trim().replace('\'', "`"),
        process.program.to_string_lossy()
    ))
}

fn object(input: Value) -> Result<Map<String, Value>, Failed> {
    if let Value::Object(fields) = input {
        return Ok(fields);
    }
    Err(Failed("The arguments are not a JSON object.".to_owned()))
}

/// An envelope as text, within what an answer may have.
fn cut(envelope: &Value) -> String {
    let text = envelope.to_string();
    let most = text.floor_char_boundary(LONGEST_ANSWER);
    match text.split_at_checked(most) {
        Some((head, rest)) if !rest.is_empty() => {
            format!("{head}\n[the first {most} of {} bytes of the result]", text.len())
        }
        Some(_) | None => text,
    }
}

/// A number of seconds in a configuration, within what a tool may take.
fn seconds(config: &Value, usual: u64) -> Duration {
    const LONGEST: u64 = 3_600;
    let asked = config.get("timeout").and_then(Value::as_f64).and_then(|asked| Duration::try_from_secs_f64(asked).ok());
    asked.unwrap_or(Duration::from_secs(usual)).clamp(Duration::from_secs(1), Duration::from_secs(LONGEST))
}

/// The program of that name in `folders`, else in the search path of the person.
fn program(name: &str, folders: &[PathBuf]) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;
    let runs =
        |path: &PathBuf| path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0);
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(runs);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual: Vec<PathBuf> = std::env::split_paths(&path).filter(|folder| folder.is_absolute()).collect();
    folders.iter().chain(&usual).map(|folder| folder.join(name)).find(runs)
}
