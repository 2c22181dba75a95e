//! The tools of extensions, behind those of the program.

use super::built_in::Running;
use super::extension_answers::text_of;
use super::extension_handlers::ExtensionHandlers;
use crate::context::ToolWords;
use crate::domain::{KnownTool, Permissions, ToolCall};
use crate::ports::tools::{BackgroundCall, Isolation, OwnCommand, Waiting};
use crate::ports::{ToolListener, ToolOutcome, ToolRunner};
use crate::tools::images::{self, Keeps};
use serde_json::{Value, json};
use std::sync::{Arc, PoisonError};
use tokio::sync::mpsc;

/// No path is longer, in bytes.
const LONGEST_PATH: usize = 4_096;

/// See the module.
pub(super) struct ExtensionTools {
    pub(super) others: Arc<dyn ToolRunner>,
    pub(super) extensions: Arc<ExtensionHandlers>,
    /// What the thread may use.
    pub(super) permissions: Permissions,
    pub(super) running: Running,
    /// What keeps the images of their results.
    pub(super) keeps: Keeps,
}

impl ExtensionTools {
    /// Every tool, whether or not extensions want it to be offered.
    pub(super) fn all(&self) -> Vec<KnownTool> {
        self.extensions.among(self.others.tools(), &self.permissions)
    }

    /// What extensions say of their tools in the system text.
    pub(super) fn words(&self) -> Vec<ToolWords> {
        self.extensions.words(&self.tools(), &self.permissions)
    }

    /// The tool of an extension that does the work of this item.
    fn of_extension(&self, item: &str) -> Option<String> {
        self.extensions.of_item(item)
    }
}

/// The texts of arguments, as far as one could be a path.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) if text.len() <= LONGEST_PATH => vec![text],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(fields) => fields.values().flat_map(texts).collect(),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

/// A call that runs.
struct UnderWay {
    running: Running,
    call: (String, String),
}

impl UnderWay {
    fn new(running: &Running, call: &ToolCall, item: &str) -> Self {
        let (running, call) = (Arc::clone(running), (call.call_id.0.clone(), item.to_owned()));
        running.lock().unwrap_or_else(PoisonError::into_inner).insert(call.clone());
        Self { running, call }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.call);
    }
}

impl ToolRunner for ExtensionTools {
    fn tools(&self) -> Vec<KnownTool> {
        self.extensions.active(self.all())
    }

    fn reader(&self) -> Option<KnownTool> {
        self.others.reader()
    }

    fn command_tool(&self) -> Option<KnownTool> {
        self.others.command_tool()
    }

    fn background<'a>(
        &'a self,
        command: &'a BackgroundCall,
        stop: Waiting<'a, ()>,
        listener: &'a dyn ToolListener,
    ) -> Waiting<'a, ToolOutcome> {
        self.others.background(command, stop, listener)
    }

    fn may_begin_early(&self, item: &str) -> bool {
        self.of_extension(item).is_none() && self.others.may_begin_early(item)
    }

    fn mends(&self, item: &str) -> bool {
        self.of_extension(item).is_some_and(|name| self.extensions.mends(&name))
    }

    fn mended<'a>(&'a self, item: &'a str, call: &'a ToolCall) -> Waiting<'a, Result<Value, String>> {
        match self.of_extension(item) {
            Some(name) => Box::pin(self.extensions.mended(name, call.input.clone())),
            None => self.others.mended(item, call),
        }
    }

    fn guarded<'a>(&'a self, item: &'a str, call: &'a ToolCall) -> Waiting<'a, Vec<String>> {
        if self.of_extension(item).is_none() {
            return self.others.guarded(item, call);
        }
        // Under which name a stand-in takes paths is its own matter.
        let mut named = vec![call.clone()];
        let paths = texts(&call.input).into_iter().map(|path| json!({"path": path}));
        named.extend(paths.map(|input| ToolCall { input, ..call.clone() }));
        Box::pin(async move {
            let mut needs = Vec::new();
            for call in &named {
                needs.extend(self.others.guarded(item, call).await);
            }
            needs.sort();
            needs.dedup();
            needs
        })
    }

    fn preview<'a>(&'a self, item: &'a str, call: &'a ToolCall) -> Waiting<'a, Option<String>> {
        // What a stand-in will do nobody knows before.
        if self.of_extension(item).is_some() {
            return Box::pin(std::future::ready(None));
        }
        self.others.preview(item, call)
    }

    fn run<'a>(
        &'a self,
        item: &'a str,
        call: &'a ToolCall,
        isolation: Isolation,
        listener: &'a dyn ToolListener,
    ) -> Waiting<'a, ToolOutcome> {
        if self.extensions.narrows() && !self.tools().iter().any(|tool| tool.item == item) {
            let why = format!("{item} was not run: an extension has taken it out of use.");
            return Box::pin(std::future::ready(ToolOutcome::failed(why)));
        }
        let Some(name) = self.of_extension(item) else { return self.others.run(item, call, isolation, listener) };
        if isolation == Isolation::Sandbox {
            return Box::pin(std::future::ready(ToolOutcome::failed("A sandbox cannot hold an extension.")));
        }
        let under_way = UnderWay::new(&self.running, call, item);
        Box::pin(async move {
            let _under_way = under_way;
            let (pieces, mut said) = mpsc::unbounded_channel();
            let mut run = std::pin::pin!(self.extensions.tool(name, call, pieces));
            let mut told = String::new();
            let ended = loop {
                tokio::select! {
                    ended = &mut run => break ended,
                    Some(partial) = said.recv() => {
                        // A piece mostly holds what the one before held; else it stands in its place, below it where all is kept.
                        let text = text_of(partial.get("content").unwrap_or(&Value::Null));
                        listener.said(match text.strip_prefix(told.as_str()) {
                            Some(more) => more.to_owned(),
                            None => format!("\n{text}"),
                        });
                        told = text;
                    }
                }
            };
            match ended {
                Ok((mut content, failed)) => {
                    images::shown(&mut content, &self.keeps, listener).await;
                    let output = text_of(&content);
                    ToolOutcome { error: failed.then(|| output.clone()), output }
                }
                Err(error) => ToolOutcome::failed(&error),
            }
        })
    }

    fn shell<'a>(
        &'a self,
        own: &'a OwnCommand,
        stop: Waiting<'a, ()>,
        listener: &'a dyn ToolListener,
    ) -> Waiting<'a, ToolOutcome> {
        Box::pin(async move {
            let mut stop = stop;
            let asked = {
                let mut asked = std::pin::pin!(self.extensions.own_command(own, listener));
                tokio::select! {
                    outcome = &mut asked => Some(outcome),
                    () = &mut stop => None,
                }
            };
            match asked {
                None => ToolOutcome::failed("It was stopped."),
                Some(Some(outcome)) => outcome,
                Some(None) => self.others.shell(own, stop, listener).await,
            }
        })
    }
}
