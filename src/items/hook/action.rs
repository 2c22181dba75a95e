//! What a hook does.

use super::{CONTEXT_EVENTS, Place, ROUTING_EVENT};
use crate::domain::{Control, nearest};
use crate::items::id::{ItemId, Kind};
use serde_json::{Map, Value};

/// What a hook does when it is due.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// In order.
    Calls(Vec<Call>),
    /// The directive to extend. Only for `resolve_extends`.
    SetExtends(String),
}

/// The use of one item.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub primary: Primary,
    pub kind: Kind,
    /// May hold placeholders.
    pub id: String,
    /// May hold placeholders.
    pub params: Map<String, Value>,
}

/// The kinds of use. Older files say `load` and `search` where later ones say `fetch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Primary {
    Execute,
    Fetch,
    Sign,
}

/// Ids under which the control tool is known; it runs inside the program.
const CONTROL_TOOLS: [&str; 3] =
    ["levain/control", "rye/agent/threads/internal/control", "rye/agent/threads/internal/control_action"];

/// What only the model of a thread hands back.
const RETURNS: [&str; 2] = ["directive_return", "rye/agent/threads/directive_return"];

impl Call {
    /// Whether this asks for the control tool.
    #[must_use]
    pub fn is_control(&self) -> bool {
        self.kind == Kind::Tool && CONTROL_TOOLS.contains(&self.id.as_str())
    }
}

impl Call {
    /// Whether it runs something before the thread goes on: a tool, or a directive in a thread of its own.
    #[must_use]
    pub fn runs(&self) -> bool {
        let kind = matches!(self.kind, Kind::Tool | Kind::Directive);
        self.primary == Primary::Execute && kind && !self.is_control() && !RETURNS.contains(&self.id.as_str())
    }
}

impl Action {
    /// Leaves out what would run something.
    pub fn run_nothing(&mut self) {
        if let Self::Calls(calls) = self {
            calls.retain(|call| !call.runs());
        }
    }

    pub(super) fn read(
        value: Option<&Value>,
        inputs: Option<&Value>,
        event: Option<&str>,
        place: &mut Place<'_>,
    ) -> Option<Self> {
        let Some(Value::Object(map)) = value.filter(|value| value.as_object().is_none_or(|map| !map.is_empty())) else {
            let remedy = place.form(
                "write <action primary=\"…\" item_type=\"…\" item_id=\"…\" />",
                "write action: {primary: fetch, item_type: knowledge, item_id: …}",
            );
            place.fatal("the hook has no action", remedy);
            return None;
        };
        if let Some(target) = map.get("set_extends") {
            return set_extends(target, event, place);
        }
        if event == Some(ROUTING_EVENT) {
            let remedy =
                place.form("write <action set_extends=\"team/base\" />", "write action: {set_extends: team/base}");
            place.fatal("a resolve_extends hook chooses a directive and does nothing else", remedy);
            return None;
        }
        let params = |map: &Map<String, Value>| match map.get("params").or(inputs) {
            Some(Value::Object(params)) => params.clone(),
            _ => Map::new(),
        };
        let form = place.form(
            "write <fetch item_type=\"…\" item_id=\"…\" />, one for each action, in <hook>",
            "write a list of {primary: …, item_type: …, item_id: …}",
        );
        let calls: Vec<Option<Call>> = match map.get("actions") {
            Some(Value::Array(several)) if !several.is_empty() => {
                let one = |one: &Value| {
                    if let Some(map) = one.as_object() {
                        return call(map, params(map), event, place);
                    }
                    place.fatal(format!("`actions` holds {one}, which is no action"), form);
                    None
                };
                several.iter().map(one).collect()
            }
            Some(_) => {
                place.fatal("`actions` lists no action", form);
                return None;
            }
            None => vec![call(map, params(map), event, place)],
        };
        calls.into_iter().collect::<Option<_>>().map(Self::Calls)
    }
}

fn set_extends(target: &Value, event: Option<&str>, place: &mut Place<'_>) -> Option<Action> {
    if let Some(event) = event.filter(|event| *event != ROUTING_EVENT) {
        let remedy = place.form("write event=\"resolve_extends\" in <hook>", "write event: resolve_extends");
        place.fatal(format!("set_extends is for resolve_extends, not for {event}"), remedy);
        return None;
    }
    match target.as_str().map(str::trim) {
        Some(id) if ItemId::parse(id).is_ok() || id.contains("${") => Some(Action::SetExtends(id.to_owned())),
        _ => {
            place.fatal(format!("`{target}` cannot be an id to extend"), "write the id of a directive");
            None
        }
    }
}

/// Reads all of it, so that each of its mistakes is told at once.
fn call(
    map: &Map<String, Value>,
    params: Map<String, Value>,
    event: Option<&str>,
    place: &mut Place<'_>,
) -> Option<Call> {
    let word = |name: &str| map.get(name).and_then(Value::as_str).map(str::trim).filter(|word| !word.is_empty());
    let primary = match word("primary") {
        Some("execute") => Some(Primary::Execute),
        Some("fetch" | "load" | "search") => Some(Primary::Fetch),
        Some("sign") => Some(Primary::Sign),
        other => {
            let shown = other.unwrap_or_default();
            let near = near(shown, &["execute", "fetch", "sign"]);
            place.fatal(format!("an action's primary cannot be `{shown}`{near}"), "write execute, fetch or sign");
            None
        }
    };
    let brings_text = event.is_some_and(|event| CONTEXT_EVENTS.contains(&event)) || primary == Some(Primary::Fetch);
    let kind = match word("item_type") {
        None => Some(if brings_text { Kind::Knowledge } else { Kind::Tool }),
        Some(named) => {
            let found = Kind::ALL.into_iter().find(|kind| kind.word() == named);
            if found.is_none() {
                let near = near(named, &Kind::ALL.map(Kind::word));
                place.fatal(format!("`{named}` is no kind of item{near}"), "write tool, directive or knowledge");
            }
            found
        }
    };
    let id = word("item_id").or_else(|| params.get("item_id").and_then(Value::as_str)).unwrap_or_default().to_owned();
    if ItemId::parse(&id).is_err() && !id.contains("${") && !id.contains("{input:") {
        let remedy = place.form("write item_id=\"team/rules\"", "write item_id: team/rules");
        place.fatal(
            if id.is_empty() { "the action names no item".to_owned() } else { format!("`{id}` cannot be an id") },
            remedy,
        );
        return None;
    }
    let call = Call { primary: primary?, kind: kind?, id, params };
    if call.is_control() {
        let asked = call.params.get("action").and_then(Value::as_str).unwrap_or_default();
        if Control::from_word(asked).is_none() && !asked.contains("${") {
            let known: Vec<_> = Control::ALL.iter().map(|(word, _)| *word).collect();
            let message = format!("the control tool knows no action `{asked}`{}", near(asked, &known));
            let form = place.form("write <param name=\"action\">…</param>", "write params: {action: …}");
            place.fatal(message, format!("{form} with one of {}", known.join(", ")));
            return None;
        }
    }
    Some(call)
}

/// The word of `known` that `word` was probably meant to be, to end a message with.
fn near(word: &str, known: &[&str]) -> String {
    nearest(word, known.iter().copied()).map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default()
}
