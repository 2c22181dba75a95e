//! What the model will see: a directive, hooks and items go in, a whole request comes out.
//!
//! [`plan`] decides once for a thread what surrounds its conversation; [`assemble`] is the one function that makes
//! requests. Sending and previewing both call them, so a preview cannot differ from what is sent. Neither waits or
//! reads a file: items come through a [`Library`], what holds now as a value.

mod assemble;
pub mod chain;
pub mod condition;
mod continuation;
pub mod control;
pub mod diff;
mod facts;
pub mod fill;
pub mod gauge;
mod library;
pub mod lint;
mod palette;
mod permit;
mod plan;
mod provider;
mod request;
mod route;
#[cfg(test)]
mod tests;
pub mod what_if;
pub mod words;

pub use assemble::{Parts, assemble};
pub use facts::Start;
pub use library::{Hidden, Library, Loaded, Lost, ProjectFile, Skill, ToolWords};
pub use palette::{Preload, offer, tree};
pub use permit::{Meaning, Riskiest, permission_problems};
pub use plan::{Ask, CONSTITUTION, Plan, PlanError, STATUS, is_told, plan};
pub use provider::{ContextQuery, EnvironmentSnapshot, State, project_file};
pub use request::{BuiltRequest, Offer, RequestBuilder};
pub use route::{Fate, Route, routes};
