//! Which hook chooses what a directive extends: the first whose condition holds. Those behind it are not reached.

use super::condition::judge;
use super::fill::Filling;
use crate::domain::{Absence, Saw};
use crate::items::Hook;
use crate::items::directive::Values;
use crate::items::hook::{Action, Condition, ROUTING_EVENT};
use serde_json::Value;
use std::fmt;

/// A hook that could choose, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    pub hook: String,
    /// Where it is written, as told to people.
    pub file: String,
    pub line: u32,
    /// The directive it would choose.
    pub target: String,
    pub fate: Fate,
}

/// What became of a hook that could choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    Chose,
    /// The hook of this id, whose condition holds too, is asked before.
    NotReached {
        by: String,
    },
    /// It would choose the directive itself.
    Itself,
    Condition {
        saw: Vec<Saw>,
    },
    Broken {
        message: String,
    },
}

impl fmt::Display for Route {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let target = &self.target;
        match &self.fate {
            Fate::Chose => write!(formatter, "chose `{target}` to extend"),
            Fate::NotReached { by } => write!(formatter, "not reached: the hook {by} chose first"),
            Fate::Itself => write!(formatter, "would choose `{target}`, which is the directive itself"),
            Fate::Condition { saw } => Absence::Condition { saw: saw.clone() }.fmt(formatter),
            Fate::Broken { message } => Absence::BrokenCondition { message: message.clone() }.fmt(formatter),
        }
    }
}

impl Route {
    #[must_use]
    pub fn is_of(&self, hook: &Hook) -> bool {
        self.hook == hook.id && self.line == hook.lines.0 && self.file == hook.file.display().to_string()
    }
}

/// What became of every hook that could choose what `directive` extends, in the order in which they are asked.
#[must_use]
pub fn routes(hooks: &[Hook], fields: &Value, inputs: &Values, directive: &str) -> Vec<Route> {
    let filling = Filling { fields, inputs };
    let mut routes: Vec<Route> = Vec::new();
    for hook in hooks.iter().filter(|hook| hook.event == ROUTING_EVENT) {
        let Action::SetExtends(target) = &hook.action else { continue };
        let target = filling.text(target);
        let verdict = judge(&hook.condition, fields);
        let first = routes.iter().find(|route| route.fate == Fate::Chose);
        let fate = match (&hook.condition, first) {
            (Condition::Broken(message), _) => Fate::Broken { message: message.clone() },
            _ if !verdict.holds => Fate::Condition { saw: verdict.saw },
            _ if target == directive => Fate::Itself,
            (_, Some(first)) => Fate::NotReached { by: first.hook.clone() },
            (_, None) => Fate::Chose,
        };
        let (file, line) = (hook.file.display().to_string(), hook.lines.0);
        routes.push(Route { hook: hook.id.clone(), file, line, target, fate });
    }
    routes
}
