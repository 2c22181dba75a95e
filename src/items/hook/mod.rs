//! Hooks: what is to happen at an event, under a condition. Written in `hooks.yaml`, in `hook_conditions.yaml` and in a
//! directive's `<hooks>`; all three become the same value.
//!
//! Reading a hook finds every mistake that can be found without running it. What a hook does is decided elsewhere.

mod action;
mod condition;
mod files;

pub use crate::domain::Control;
pub use action::{Action, Call, Primary};
pub use condition::{Condition, Op, Test};
pub use files::{HookFile, Hooks, MOST};
pub(super) use files::{entry_lines, entry_lines_behind, line_of};

use super::markup::Lines;
use crate::domain::{Problem, Severity, meant, nearest};
use serde_json::{Map, Value};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Who wrote a hook. In this order hooks of one layer are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    User,
    Directive,
    /// `builtin_hooks` of `hook_conditions.yaml`.
    Builtin,
    /// `context_hooks` of `hook_conditions.yaml`.
    Context,
    Project,
    /// `infra_hooks` of `hook_conditions.yaml`: what they answer is passed over.
    Infra,
}

impl Source {
    /// The layer of a hook that names none.
    #[must_use]
    pub fn layer(self) -> HookLayer {
        HookLayer(match self {
            Self::User => 0,
            Self::Directive => 10,
            Self::Builtin | Self::Context => 20,
            Self::Project => 25,
            Self::Infra => 30,
        })
    }
}

/// The highest layer that a file may name.
const HIGHEST_LAYER: f64 = 99.0;

/// Where a hook stands among all hooks, in tenths: 0 is asked first. Files number 0, 1, 2, 2.5, 3 or, later ones, 0 to
/// 4; both sort the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HookLayer(u16);

impl HookLayer {
    /// From a number as files have it.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked first")]
    pub fn new(number: f64) -> Option<Self> {
        (0.0..=HIGHEST_LAYER).contains(&number).then(|| Self((number * 10.0).round() as u16))
    }

    /// As files have it.
    #[must_use]
    pub fn number(self) -> f64 {
        f64::from(self.0) / 10.0
    }
}

impl fmt::Display for HookLayer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.number())
    }
}

/// On which side of the directive a text goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Position {
    #[default]
    Before,
    After,
}

/// One hook.
#[derive(Clone, Debug)]
pub struct Hook {
    /// Named by `suppress`; made from the place where the file gives none.
    pub id: String,
    pub event: String,
    pub source: Source,
    pub layer: HookLayer,
    pub position: Position,
    /// Whether injected text is put into an element of its own.
    pub wrap: bool,
    /// Whether a thread may start without the item it names, and go on where a call of it fails.
    pub optional: bool,
    /// How long each of its calls may take, where it says so.
    pub timeout: Option<Duration>,
    /// Whether it is asked at all; one that is not is kept so that people are told.
    pub enabled: bool,
    pub condition: Condition,
    pub action: Action,
    /// Where it is written.
    pub file: PathBuf,
    pub lines: Lines,
}

/// The events that bring text along.
pub const CONTEXT_EVENTS: [&str; 3] = ["build_system_prompt", "thread_started", "thread_continued"];

/// The event that chooses what a directive extends.
pub const ROUTING_EVENT: &str = "resolve_extends";

/// The events whose answer says how to go on.
pub const CONTROL_EVENTS: [&str; 7] = [
    "error",
    "limit",
    "after_step",
    "after_complete",
    "directive_return",
    "context_limit_reached",
    "context_window_pressure",
];

/// Every event a hook may name.
pub fn events() -> impl Iterator<Item = &'static str> {
    CONTEXT_EVENTS.into_iter().chain([ROUTING_EVENT]).chain(CONTROL_EVENTS)
}

/// Where a hook is read from, and where its mistakes go.
pub(super) struct Place<'a> {
    pub(super) source: Source,
    pub(super) file: &'a Path,
    pub(super) lines: Lines,
    pub(super) problems: &'a mut Vec<Problem>,
}

impl Place<'_> {
    pub(super) fn warn(&mut self, message: impl Into<String>, remedy: impl Into<String>) {
        self.problems.push(Problem::at(self.file, self.lines.0, Severity::Warning, message, remedy));
    }

    /// How to write something in this place's form.
    pub(super) fn form(&self, xml: &'static str, yaml: &'static str) -> &'static str {
        if self.source == Source::Directive { xml } else { yaml }
    }

    /// A mistake for which no thread starts: without the hook it might be told less or go on where it was to stop.
    pub(super) fn fatal(&mut self, message: impl Into<String>, remedy: impl Into<String>) {
        self.problems.push(Problem::at(self.file, self.lines.0, Severity::Fatal, message, remedy));
    }
}

/// What a hook may say.
const KNOWN: [&str; 13] = [
    "id",
    "event",
    "layer",
    "position",
    "wrap",
    "optional",
    "timeout_seconds",
    "condition",
    "action",
    "actions",
    "inputs",
    "description",
    "enabled",
];

impl Hook {
    /// Reads the map a hook is. None when it could never do anything.
    pub(super) fn read(map: &Map<String, Value>, place: &mut Place<'_>) -> Option<Self> {
        for name in map.keys().filter(|name| !KNOWN.contains(&name.as_str())) {
            let (message, remedy) = (format!("unknown name `{name}` in a hook"), meant(name, KNOWN));
            if nearest(name, KNOWN).is_some() {
                place.fatal(message, remedy);
            } else {
                place.warn(message, remedy);
            }
        }
        if !truth(map, "enabled", true, place) {
            // Its other mistakes cost nothing while it is off.
            let mut nowhere = Vec::new();
            let mut place = Place { problems: &mut nowhere, ..*place };
            return Self::read_rest(map, &mut place).map(|hook| Self { enabled: false, ..hook });
        }
        Self::read_rest(map, place)
    }

    /// Reads all of it, so that each of its mistakes is told at once.
    fn read_rest(map: &Map<String, Value>, place: &mut Place<'_>) -> Option<Self> {
        let event = event(map, place);
        let several =
            map.get("actions").map(|list| Value::Object(Map::from_iter([("actions".to_owned(), list.clone())])));
        let action = if several.is_some() && map.contains_key("action") {
            place.fatal("the hook has `action` and `actions`, so it never runs", "write one of them");
            None
        } else {
            Action::read(map.get("action").or(several.as_ref()), map.get("inputs"), event.as_deref(), place)
        };
        let layer = layer(map.get("layer"), place);
        let position = position(map.get("position"), place);
        let (wrap, optional) = (truth(map, "wrap", true, place), truth(map, "optional", false, place));
        let timeout = timeout(map.get("timeout_seconds"), place);
        let condition = map.get("condition").map_or(Condition::Always, |value| Condition::read(value, place));
        let (event, action, layer) = (event?, action?, layer?);
        let id = text(map, "id").filter(|id| !id.is_empty()).unwrap_or_else(|| format!("{event}@{}", place.lines.0));
        Some(Self {
            id,
            source: place.source,
            layer,
            enabled: true,
            position,
            wrap,
            optional,
            timeout,
            condition,
            action,
            event,
            file: place.file.to_owned(),
            lines: place.lines,
        })
    }

    /// The ids it may be suppressed by: its own, and those of the items it names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let calls = if let Action::Calls(calls) = &self.action { calls.as_slice() } else { &[] };
        std::iter::once(self.id.as_str()).chain(calls.iter().map(|call| call.id.as_str()))
    }
}

/// The event it is for; None where there is no such event.
fn event(map: &Map<String, Value>, place: &mut Place<'_>) -> Option<String> {
    let event = text(map, "event").unwrap_or_default();
    if event.is_empty() {
        let remedy = place
            .form("write event=\"after_step\" or another event in <hook>", "write event: after_step or another event");
        place.fatal("the hook names no event, so it never runs", remedy);
        return None;
    }
    if !events().any(|known| known == event) {
        let near = nearest(&event, events()).map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default();
        let known: Vec<_> = events().collect();
        place.fatal(
            format!("there is no event `{event}`{near}, so the hook never runs"),
            format!("known events: {}", known.join(", ")),
        );
        return None;
    }
    Some(event)
}

fn text(map: &Map<String, Value>, name: &str) -> Option<String> {
    match map.get(name)? {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// None for a layer that there is not: where the hook belongs among the others is not for us to guess.
fn layer(value: Option<&Value>, place: &mut Place<'_>) -> Option<HookLayer> {
    let usual = place.source.layer();
    let Some(value) = value else { return Some(usual) };
    if place.source == Source::Directive {
        place.warn("the layer of a directive's hook is fixed", "remove layer");
        return Some(usual);
    }
    let layer = value.as_f64().and_then(HookLayer::new);
    if layer.is_none() {
        let message = format!("layer cannot be {value}, so the hook never runs");
        place.fatal(message, format!("write a number from 0 to {HIGHEST_LAYER}; the default is {usual}"));
    }
    layer
}

/// The longest that a call of a hook may take.
const LONGEST_CALL: f64 = 3_600.0;

fn timeout(value: Option<&Value>, place: &mut Place<'_>) -> Option<Duration> {
    let value = value?;
    let seconds = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok());
    let held = seconds.filter(|seconds| (0.1..=LONGEST_CALL).contains(seconds)).map(Duration::from_secs_f64);
    if held.is_none() {
        place.fatal(format!("timeout_seconds cannot be {value}"), "write a number of seconds from 0.1 to 3600");
    }
    held
}

fn position(value: Option<&Value>, place: &mut Place<'_>) -> Position {
    match value.map(|value| value.as_str()) {
        None | Some(Some("before")) => Position::Before,
        Some(Some("after")) => Position::After,
        Some(other) => {
            place.fatal(format!("position cannot be `{}`", other.unwrap_or("that")), "write before or after");
            Position::Before
        }
    }
}

/// A truth value, also as the text that XML has for it.
fn truth(map: &Map<String, Value>, name: &str, usual: bool, place: &mut Place<'_>) -> bool {
    match map.get(name) {
        None => usual,
        Some(Value::Bool(truth)) => *truth,
        Some(Value::String(text)) if matches!(text.trim(), "true" | "True" | "yes" | "1") => true,
        Some(Value::String(text)) if matches!(text.trim(), "false" | "False" | "no" | "0") => false,
        Some(other) => {
            let shown = other.as_str().map_or_else(|| other.to_string(), str::to_owned);
            place.fatal(format!("{name} cannot be `{shown}`"), "write true or false");
            usual
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(value: &Value) -> (Option<Hook>, Vec<String>) {
        let mut problems = Vec::new();
        let mut place =
            Place { source: Source::Project, file: Path::new("h.yaml"), lines: (3, 9), problems: &mut problems };
        let hook = Hook::read(value.as_object().unwrap(), &mut place);
        (hook, problems.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_hook_has_usual_values() {
        let (hook, problems) = read(&json!({"event": "thread_started",
            "action": {"primary": "load", "item_type": "knowledge", "item_id": "team/rules"}}));
        let hook = hook.unwrap();
        assert_eq!(problems, Vec::<String>::new());
        assert_eq!((hook.id.as_str(), hook.layer.number(), hook.wrap), ("thread_started@3", 2.5, true));
        assert_eq!(hook.names().collect::<Vec<_>>(), ["thread_started@3", "team/rules"]);
    }

    #[test]
    fn a_mistake_is_told_where_it_is() {
        let action = json!({"primary": "fetch", "item_id": "a"});
        for (value, expected) in [
            (json!({"action": action}), "h.yaml:3: the hook names no event, so it never runs"),
            (
                json!({"event": "after_stp", "action": action}),
                "there is no event `after_stp` (did you mean `after_step`?)",
            ),
            (json!({"event": "error", "layer": "x", "action": action}), "layer cannot be \"x\""),
            (json!({"event": "error", "position": "over", "action": action}), "position cannot be `over`"),
            (json!({"event": "error", "wrap": 3, "action": action}), "wrap cannot be `3`"),
            (json!({"event": "error", "wrp": true, "action": action}), "unknown name `wrp` in a hook"),
            (json!({"event": "error", "timeout_seconds": 0, "action": action}), "timeout_seconds cannot be 0"),
            (
                json!({"event": "error", "timeout_seconds": "soon", "action": action}),
                "timeout_seconds cannot be \"soon\"",
            ),
            (json!({"event": "error"}), "the hook has no action"),
            (json!({"event": "error", "action": {"set_extends": "a"}}), "set_extends is for resolve_extends"),
        ] {
            let (_, problems) = read(&value);
            assert!(problems.len() == 1 && problems[0].contains(expected), "{expected}: {problems:?}");
        }
    }

    #[test]
    fn s16_every_mistake_of_a_hook_is_told_at_once() {
        let (hook, problems) = read(&json!({"event": "after_stp", "layer": "x", "position": "over", "wrap": 3,
            "condition": {"path": "a", "op": "like"}, "evnt": 1, "actions": [
                {"primary": "fetsch", "item_id": "a"}, {"primary": "fetch", "item_type": "note", "item_id": ".."}, 7]}));
        assert!(hook.is_none());
        let expected = [
            "unknown name `evnt` in a hook",
            "there is no event `after_stp` (did you mean `after_step`?)",
            "an action's primary cannot be `fetsch` (did you mean `fetch`?)",
            "`note` is no kind of item",
            "`..` cannot be an id",
            "`actions` holds 7, which is no action",
            "layer cannot be \"x\"",
            "position cannot be `over`",
            "wrap cannot be `3`",
            "the condition is not valid",
        ];
        assert_eq!(problems.len(), expected.len(), "{problems:#?}");
        for (problem, expected) in problems.iter().zip(expected) {
            assert!(problem.contains(expected), "{expected}: {problem}");
        }
    }

    #[test]
    fn s06_several_actions_are_written_at_the_hook_or_in_its_action() {
        let list = json!([{"primary": "fetch", "item_id": "team/a"}, {"primary": "load", "item_id": "team/b"}]);
        let names = |value: &Value| {
            let (hook, problems) = read(value);
            (hook.map(|hook| hook.names().skip(1).map(str::to_owned).collect::<Vec<_>>()), problems)
        };
        let both = Some(vec!["team/a".to_owned(), "team/b".to_owned()]);
        assert_eq!(names(&json!({"event": "thread_started", "actions": list})), (both.clone(), Vec::new()));
        assert_eq!(names(&json!({"event": "thread_started", "action": {"actions": list}})), (both, Vec::new()));
        for (value, expected) in [
            (json!({"event": "error", "actions": list, "action": {"primary": "fetch"}}), "has `action` and `actions`"),
            (json!({"event": "error", "actions": []}), "`actions` lists no action"),
            (json!({"event": "error", "actions": "team/a"}), "`actions` lists no action"),
            (json!({"event": "error", "actions": ["team/a"]}), "`actions` holds \"team/a\""),
        ] {
            let (hook, problems) = names(&value);
            assert!(
                hook.is_none() && problems.len() == 1 && problems[0].contains(expected),
                "{expected}: {problems:?}"
            );
        }
    }

    #[test]
    fn s06_a_layer_that_there_is_not_costs_the_hook() {
        let action = json!({"primary": "fetch", "item_id": "a"});
        for layer in [json!(99.5), json!(-1), json!(1e300), json!("first")] {
            let (hook, problems) = read(&json!({"event": "error", "layer": layer, "action": action}));
            assert!(hook.is_none(), "{layer}");
            assert!(problems[0].contains("write a number from 0 to 99; the default is 2.5"), "{problems:?}");
        }
        let (hook, problems) = read(&json!({"event": "error", "layer": 99, "action": action}));
        assert_eq!((hook.unwrap().layer.number(), problems.len()), (99.0, 0));
    }

    #[test]
    fn s06_a_hook_is_switched_off_in_every_form() {
        let action = json!({"primary": "fetch", "item_id": "a"});
        for off in [json!(false), json!("false"), json!("no")] {
            let (hook, problems) = read(&json!({"event": "error", "enabled": off, "action": action}));
            assert!(!hook.unwrap().enabled && problems.is_empty(), "{off} {problems:?}");
        }
        let (hook, problems) = read(&json!({"event": "nothing", "enabled": false}));
        assert!(hook.is_none() && problems.is_empty(), "{problems:?}");
    }

    #[test]
    fn both_numberings_of_layers_sort_the_same() {
        let sources = [Source::User, Source::Directive, Source::Builtin, Source::Project, Source::Infra];
        let older: Vec<_> = sources.iter().map(|source| source.layer()).collect();
        let later: Vec<_> = [0.0, 1.0, 2.0, 3.0, 4.0].into_iter().filter_map(HookLayer::new).collect();
        assert!(older.is_sorted() && later.is_sorted());
        assert_eq!(older.iter().map(ToString::to_string).collect::<Vec<_>>(), ["0", "1", "2", "2.5", "3"]);
        assert_eq!(HookLayer::new(-1.0), None);
    }
}
