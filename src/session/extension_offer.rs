//! What extensions register, as threads know it.

use super::extension_text::plain;
use crate::domain::{
    Absence, HandlerPlace, KnownTool, OfferedCommand, OfferedShortcut, Origin, Space, Stage, ToolSpec,
};
use crate::extensions::{Listing, Registration};
use crate::ports::handlers::{DEADLINE, Handler};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;

/// What begins the item of an extension's tool.
pub(super) const ITEM: &str = "extension/";

/// See the module.
#[derive(Default)]
pub(super) struct Offered {
    /// What it was made of.
    pub(super) listing: Arc<Listing>,
    /// In the order in which they are asked.
    pub(super) handlers: Vec<(Handler, Registration)>,
    pub(super) tools: Vec<KnownTool>,
    pub(super) commands: Vec<OfferedCommand>,
    pub(super) shortcuts: Vec<OfferedShortcut>,
}

impl Offered {
    pub(super) fn new(listing: Arc<Listing>, paths: &[(PathBuf, String)]) -> Self {
        let mut handlers: Vec<(Handler, Registration)> = Vec::new();
        for registration in &listing.handlers {
            let Some(stage) = Stage::from_name(&registration.event).filter(|stage| stage.takes_handlers()) else {
                continue;
            };
            let known = paths.iter().find(|(path, _)| *path == registration.path);
            let name = known.map_or_else(|| registration.path.display().to_string(), |(_, name)| name.clone());
            let before = handlers.iter();
            let before = before.filter(|(handler, other)| handler.stage == stage && other.path == registration.path);
            let id = match before.count() {
                0 => name,
                before => format!("{name}#{}", before + 1),
            };
            let place = Some(HandlerPlace { file: registration.path.display().to_string(), line: None });
            handlers.push((Handler { id, stage, place, deadline: DEADLINE, runs: true }, registration.clone()));
        }
        let tools = listing.tools.iter().filter_map(known_tool).collect();
        let commands = listing.commands.iter().filter_map(offered).collect();
        let shortcuts = listing.shortcuts.iter().filter_map(offered_shortcut).collect();
        Self { listing, handlers, tools, commands, shortcuts }
    }
}

/// A tool as the JavaScript side describes it.
fn known_tool(told: &Value) -> Option<KnownTool> {
    let text = |name: &str| told.get(name).and_then(Value::as_str).map(str::to_owned);
    let name = text("name")?;
    let fits = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    let is_usable = !name.is_empty() && name.chars().all(fits);
    let schema = told.get("parameters").filter(|schema| schema.is_object()).cloned();
    let message = || "its name may have letters, digits, _ and - alone".to_owned();
    let item = format!("{ITEM}{name}");
    Some(KnownTool {
        spec: ToolSpec {
            name,
            description: text("description").unwrap_or_default(),
            schema: schema.unwrap_or_else(|| json!({"type": "object", "properties": {}})),
        },
        origin: Origin::Item {
            space: Space::Project,
            bundle: None,
            id: item.clone(),
            path: text("path").unwrap_or_default(),
            lines: None,
            signature: None,
            via: None,
        },
        item,
        aliases: Vec::new(),
        absent: (!is_usable).then(|| Absence::Refused { message: message() }),
        parallel: false,
        confinable: false,
    })
}

fn offered_shortcut(told: &Value) -> Option<OfferedShortcut> {
    let text = |name: &str| told.get(name).and_then(Value::as_str).map(str::to_owned);
    Some(OfferedShortcut { key: text("key")?, about: plain(&text("description").unwrap_or_default()) })
}

fn offered(told: &Value) -> Option<OfferedCommand> {
    let text = |name: &str| told.get(name).and_then(Value::as_str);
    let name = text("name").filter(|name| !name.is_empty() && !name.contains(char::is_whitespace))?;
    let about = text("description").unwrap_or_default().to_owned();
    Some(OfferedCommand { name: name.to_owned(), about, completes: told["completes"] == true })
}
