//! What is known when a thread's context is planned: the fields that conditions test and placeholders name.

use crate::domain::{Grant, Limits, ModelRef, StateStore, ThreadId, ThreadKind};
use crate::items::directive::Values;
use serde_json::{Value, json};

/// What the thread knows of itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Start {
    /// `None` in a preview: the thread is not there yet.
    pub thread_id: Option<ThreadId>,
    pub model: ModelRef,
    pub limits: Limits,
    pub kind: ThreadKind,
    /// The thread that this one goes on from.
    pub previous: Option<ThreadId>,
    /// The thread that started this one.
    pub parent: Option<ThreadId>,
    /// How many threads stand above it.
    pub depth: u32,
    /// What it keeps under names already, because it goes on with another.
    pub state: StateStore,
}

impl Start {
    /// A thread of a person's, not started yet.
    #[must_use]
    pub fn new(model: ModelRef, limits: Limits, kind: ThreadKind) -> Self {
        Self {
            thread_id: None,
            model,
            limits,
            kind,
            previous: None,
            parent: None,
            depth: 0,
            state: StateStore::default(),
        }
    }

    /// The event at which the thread's first message is put together.
    #[must_use]
    pub fn event(&self) -> &'static str {
        if self.previous.is_some() { "thread_continued" } else { "thread_started" }
    }
}

/// All of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts<'a> {
    pub(super) start: &'a Start,
    pub(super) directive: &'a str,
    pub(super) category: &'a str,
    pub(super) body: &'a str,
    pub(super) has_extends: bool,
    pub(super) inputs: &'a Values,
    pub(super) project: &'a str,
    pub(super) capabilities: &'a [Grant],
}

impl Facts<'_> {
    /// The fields of the events that bring context along; every such event has them all.
    #[must_use]
    pub(super) fn fields(&self) -> Value {
        let Start { thread_id, model, limits, kind, previous, parent, depth, state } = self.start;
        let id = |thread: &Option<ThreadId>| thread.as_ref().map(ToString::to_string);
        let spend = limits.spend.map(crate::domain::Money::dollars);
        let capabilities: Vec<&str> = self.capabilities.iter().map(|grant| grant.capability.as_str()).collect();
        let told = self.capabilities.iter().map(|Grant { capability, ask, sandbox, .. }| match (ask, sandbox) {
            (_, true) => format!("{capability} (in a sandbox; where there is none, a person is asked)"),
            (true, false) => format!("{capability} (a person is asked)"),
            (false, false) => capability.clone(),
        });
        json!({
            "directive": self.directive,
            "category": self.category,
            "directive_body": self.body,
            "has_extends": self.has_extends,
            "inputs": self.inputs,
            "model": model.to_string(),
            "limits": {
                "turns": limits.turns,
                "tokens": limits.tokens,
                "spend": spend,
                "duration_seconds": limits.duration_seconds,
            },
            "limits_summary": limits_summary(limits),
            "spend_limit": spend,
            "max_turns": limits.turns,
            "project_path": self.project,
            "depth": depth,
            "kind": kind,
            "thread_id": thread_id.as_ref().map_or_else(|| "(not started)".to_owned(), ToString::to_string),
            "parent_thread_id": id(parent),
            "previous_thread_id": id(previous),
            "state": state.value(),
            "capabilities": capabilities,
            "capabilities_summary": if capabilities.is_empty() {
                "what needs no permission".to_owned()
            } else {
                told.collect::<Vec<_>>().join(", ")
            },
        })
    }
}

/// `25 turns, 200.0k tokens, $1.00, 1800 seconds`
fn limits_summary(limits: &Limits) -> String {
    let parts: Vec<String> = [
        limits.turns.map(|turns| format!("{turns} turns")),
        limits.tokens.map(|tokens| format!("{} tokens", tokens.0)),
        limits.spend.map(|spend| spend.to_string()),
        limits.duration_seconds.map(|seconds| format!("{seconds} seconds of work")),
    ]
    .into_iter()
    .flatten()
    .collect();
    if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::hook_fields;

    #[test]
    fn every_field_is_listed_and_every_one_listed_is_there() {
        let start = Start::new(ModelRef::new("scripted", "demo"), Limits::default(), ThreadKind::OneShot);
        let facts = Facts {
            start: &start,
            directive: "a",
            category: "",
            body: "",
            has_extends: false,
            inputs: &Values::new(),
            project: "/",
            capabilities: &[],
        };
        let fields = facts.fields();
        for (name, value) in fields.as_object().unwrap() {
            let inner = value.as_object().into_iter().flat_map(|inner| inner.keys().map(|key| format!("{name}.{key}")));
            for path in inner.chain([name.clone()]) {
                assert!(hook_fields::is_known("thread_started", &path), "{path} is not listed");
            }
        }
        for name in hook_fields::of("thread_started") {
            let pointer = format!("/{}", name.trim_end_matches(".*").replace('.', "/"));
            assert!(fields.pointer(&pointer).is_some(), "{name} is not there");
        }
    }
}
