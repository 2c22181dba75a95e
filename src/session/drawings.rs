//! How extensions draw calls of tools, messages and entries of theirs, and the Markdown of answers.

use super::extension_handlers::ExtensionHandlers;
use super::extension_text::{plain, styled};
use super::extension_thread::ExtensionThread;
use super::tools_of_pi;
use crate::domain::{Drawable, Drawing, DrawnKinds, ToDraw};
use crate::extensions::{Ask, Engine};
use serde_json::{Value, json};
use std::sync::Arc;

/// Rows and bytes of one part, at most.
const MOST_ROWS: usize = 400;
const MOST_BYTES: usize = 256 << 10;

impl ExtensionHandlers {
    /// What of the conversation extensions draw.
    pub(super) fn drawn(&self) -> DrawnKinds {
        let listing = self.listing();
        let of_kind = |kind: &'static str| {
            let all = listing.drawings.iter().filter(move |one| one["kind"] == kind);
            all.filter_map(|one| one["name"].as_str())
        };
        // People see the last part of an item.
        let shown =
            |name: &str| tools_of_pi::item(name).and_then(|item| item.rsplit('/').next()).unwrap_or(name).to_owned();
        let named = |kind| of_kind(kind).map(str::to_owned).collect();
        DrawnKinds {
            tools: of_kind("tool").map(shown).collect(),
            messages: named("message"),
            entries: named("entry"),
            markdown: of_kind("markdown").next().is_some(),
            redraws: self.thread.redraws(),
        }
    }

    /// How they draw something; nothing of it where they do not.
    pub(super) async fn drawing(&self, to_draw: ToDraw) -> Drawing {
        let Some(engine) = self.engine() else { return Drawing::default() };
        if let Drawable::Markdown { text } = to_draw.subject {
            return Drawing { markdown: markdown(&engine, text).await, ..Drawing::default() };
        }
        let (width, open) = (to_draw.width, to_draw.open);
        let of_call = matches!(to_draw.subject, Drawable::Call { .. });
        let thread = Arc::clone(&self.thread);
        // The log is read for it.
        let asked = tokio::task::spawn_blocking(move || asks(&thread, to_draw)).await.unwrap_or_default();
        let mut drawing = Drawing::default();
        for (part, name, mut arguments, mut options) in asked {
            options["expanded"] = open.into();
            arguments.extend([width.into(), options]);
            let rows = rows(&engine, name, arguments).await;
            let rows = if of_call { rows } else { rows.map(without_edges) };
            match part {
                Part::Head => drawing.head = rows,
                Part::Body => drawing.body = rows,
            }
        }
        drawing
    }
}

enum Part {
    Head,
    Body,
}

/// The functions of the JavaScript side to ask, with their arguments before the width and their options without `expanded`.
fn asks(thread: &ExtensionThread, to_draw: ToDraw) -> Vec<(Part, &'static str, Vec<Value>, Value)> {
    match to_draw.subject {
        Drawable::Message { message } => {
            let told = json!({"role": "custom", "customType": message.custom_type, "content": message.text,
                "display": message.display, "details": message.details});
            vec![(Part::Body, "renderMessage", vec![told], json!({}))]
        }
        Drawable::Entry { entry } => {
            let told = json!({"type": "custom", "customType": entry.custom_type, "data": entry.data});
            vec![(Part::Body, "renderEntry", vec![told], json!({}))]
        }
        // Drawn by whoever draws Markdown.
        Drawable::Markdown { .. } => Vec::new(),
        Drawable::Call { call_id } => {
            let found = thread.entries(|entries| {
                entries.call(&call_id.0).map(|(call, result)| {
                    (tools_of_pi::name(&call.tool).to_owned(), call.input.clone(), result.cloned())
                })
            });
            let Some((name, input, result)) = found else { return Vec::new() };
            let is_error = result.as_ref().is_some_and(|result| result["isError"] == true);
            let options = json!({"cwd": thread.root, "isError": is_error, "isPartial": result.is_none(),
                "args": input, "executionStarted": result.is_some()});
            let call = vec![name.clone().into(), call_id.0.clone().into(), input];
            let mut all = vec![(Part::Head, "renderToolCall", call, options.clone())];
            // Of one that runs the JavaScript side knows what it has reported.
            let told = result.map(|result| json!({"content": result["content"], "details": result["details"]}));
            let told = told.unwrap_or_default();
            all.push((Part::Body, "renderToolResult", vec![name.into(), call_id.0.into(), told], options));
            all
        }
    }
}

/// Without the blank rows above and below that boxes of pi have: their mark would stand before nothing.
fn without_edges(mut rows: Vec<String>) -> Vec<String> {
    let is_blank = |row: &String| plain(row).trim().is_empty();
    let end = rows.iter().rposition(|row| !is_blank(row)).map_or(0, |last| last + 1);
    rows.truncate(end);
    let start = rows.iter().position(|row| !is_blank(row)).unwrap_or_default();
    rows.drain(..start);
    rows
}

/// The Markdown that is drawn in the place of this one; none where it is the same, or too long.
async fn markdown(engine: &Engine, text: String) -> Option<String> {
    let ask = Ask::Function { name: "transformMarkdown", arguments: vec![text.clone().into()] };
    let drawn = engine.ask(ask, true).await.ok()?.0.result?;
    let drawn = drawn.as_str().filter(|drawn| drawn.len() <= MOST_BYTES && *drawn != text)?;
    Some(drawn.to_owned())
}

async fn rows(engine: &Engine, name: &'static str, arguments: Vec<Value>) -> Option<Vec<String>> {
    let answered = engine.ask(Ask::Function { name, arguments }, true).await;
    let drawn = answered.ok()?.0.result?;
    let drawn = drawn.as_array()?;
    let mut left = MOST_BYTES;
    let fits = |row: &String| {
        left = left.saturating_sub(row.len());
        left > 0
    };
    let all = drawn.iter().filter_map(Value::as_str).map(styled);
    let mut rows: Vec<String> = all.take(MOST_ROWS).take_while(fits).collect();
    if drawn.len() > rows.len() {
        rows.push(format!("… {} more rows", drawn.len() - rows.len()));
    }
    Some(rows)
}
