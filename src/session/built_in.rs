//! Built-in tools that extensions run: theirs can take the place of one and still have it do the work.

use super::tools_of_pi;
use crate::context::ToolWords;
use crate::domain::capability::flattened;
use crate::domain::{CallId, KnownTool, Permissions, ToolCall, Verdict};
use crate::extensions::Refusal;
use crate::ports::tools::{Isolation, Waiting};
use crate::ports::{ThreadAccess, ToolOutcome, ToolRunner};
use crate::tools::program::Alone;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// The tools of a thread, and what it may use.
pub(super) struct Equipment {
    /// Lists every tool there is.
    pub(super) all: Box<dyn Fn() -> Vec<KnownTool> + Send + Sync>,
    /// What extensions say of theirs.
    pub(super) words: Box<dyn Fn() -> Vec<ToolWords> + Send + Sync>,
    /// Those that are no extension's.
    pub(super) built_in: Arc<dyn ToolRunner>,
    pub(super) permissions: Permissions,
    /// Calls of stand-ins that run now, with their items: the person was asked about them as about the tool's own.
    pub(super) running: Running,
}

/// See [`Equipment::running`].
pub(super) type Running = Arc<Mutex<BTreeSet<(String, String)>>>;

/// Has a built-in tool do what pi's tool of a name stands for: within the call that stands for that tool, else only what the
/// thread may use without a question and without a sandbox, and what its guards let through. Nothing is run that would need more
/// than the tool's own grant, and nothing that is out of use.
pub(super) fn run(
    equipment: Option<&Equipment>,
    arguments: &Value,
    is_active: impl Fn(&KnownTool) -> bool,
    thread: Arc<dyn ThreadAccess>,
) -> Waiting<'static, Result<Value, Refusal>> {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    let of_call = |name: &str| arguments.get(name).cloned().unwrap_or_default();
    let called = tools_of_pi::call(text("name"), text("cwd"), &of_call("params"), &of_call("env"));
    let (Some((item, input)), Some(equipment)) = (called, equipment) else {
        let why = format!("there is no built-in tool here that does the work of {}", text("name"));
        return Box::pin(std::future::ready(Err(Refusal::new("ENOSYS", why))));
    };
    let runner = Arc::clone(&equipment.built_in);
    let running = equipment.running.lock().unwrap_or_else(PoisonError::into_inner);
    let is_asked = running.contains(&(text("callId").to_owned(), item.to_owned()));
    drop(running);
    // A grant that wants a sandbox asks here, as nothing is said of one.
    let granted =
        |tool: &KnownTool| is_asked || equipment.permissions.verdict(&tool.capabilities()) == Verdict::Allowed;
    let may = runner
        .tools()
        .iter()
        .any(|tool| tool.item == item && tool.absent.is_none() && granted(tool) && (is_asked || is_active(tool)));
    let mut call = ToolCall { call_id: CallId(text("callId").to_owned()), tool: flattened(item), input };
    Box::pin(async move {
        let refused = || Refusal::access(format!("this thread may not use {item} for that"));
        if !may {
            return Err(refused());
        }
        if !is_asked {
            call.input = thread.guard(call.clone()).await.map_err(Refusal::access)?;
        }
        // What its guards made of it may need more.
        if !runner.guarded(item, &call).await.is_empty() {
            return Err(refused());
        }
        let ToolOutcome { output, error } = runner.run(item, &call, Isolation::Open, &Alone).await;
        match error {
            Some(why) => Err(Refusal::new("EIO", why)),
            None => Ok(json!({"content": [{"type": "text", "text": output}]})),
        }
    })
}
