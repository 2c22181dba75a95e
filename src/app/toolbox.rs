//! What a thread's tools work with, and what the thread may do with them.

use super::approvals::ApprovalsFile;
use super::setup::Setup;
use crate::domain::capability::to_execute;
use crate::domain::{Grant, Permissions};
use crate::items::{Items, Kind};
use crate::providers::keys::VARIABLES;
use crate::tools::{self, Environment, Reach, Root, Toolbox, Workshop};
use crate::worker::host::Hosting;
use std::path::PathBuf;
use std::sync::Arc;

/// Lets `fetch` ask private addresses too.
const PRIVATE: &str = "LEVAIN_FETCH_PRIVATE";

impl Setup {
    /// Gives a thread its tools, and the permissions that `grants` and earlier answers make. `allowed` are patterns for
    /// which nobody needs to be asked in this run.
    pub fn equip(&self, hosting: &mut Hosting, items: &Items, grants: Vec<Grant>, allowed: Vec<String>) {
        hosting.permissions = self.permissions(grants, allowed);
        hosting.approvals = Box::new(ApprovalsFile::new(&self.dirs.config, &self.project.root));
        let output = self.layout.thread(&hosting.thread_id).path().join("output");
        hosting.tools = Arc::new(self.toolbox(items, Some(output)));
    }

    /// What a thread with these grants may do, answers that were given for good included.
    #[must_use]
    pub fn permissions(&self, grants: Vec<Grant>, allowed: Vec<String>) -> Permissions {
        let (mut known, problem) = ApprovalsFile::new(&self.dirs.config, &self.project.root).allowed();
        if let Some(problem) = problem {
            tracing::warn!(%problem, "approvals");
        }
        known.extend(allowed);
        Permissions { grants, allowed: known }
    }

    /// The tools that work in this project. Results that are too long are kept whole in `output`.
    #[must_use]
    pub fn toolbox(&self, items: &Items, output: Option<PathBuf>) -> Toolbox {
        let hidden: Vec<&str> = VARIABLES.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let private = std::env::var_os(PRIVATE).is_some_and(|value| !value.is_empty());
        Toolbox::new(Workshop {
            root: Root::new(&self.project.root),
            environment: Environment::scrubbed(std::env::vars_os(), &hidden),
            spill: output,
            shadowed: tools::ids().filter_map(|id| Some((id.to_owned(), shadow(items, id)?))).collect(),
            reach: if private { Reach::Private } else { Reach::Public },
        })
    }
}

/// The file of an item that has a built-in tool's id.
fn shadow(items: &Items, id: &str) -> Option<String> {
    let found = items.find(Kind::Tool, id).ok()?;
    Some(items.file(found.item).display().to_string())
}

/// The capability that a person means by `text`: a capability or pattern as it is, the id of a tool, or its last part
/// where it is built in.
#[must_use]
pub fn capability(text: &str) -> String {
    if text.starts_with("rye.") || text.starts_with('*') {
        return text.to_owned();
    }
    let named = tools::ids().find(|id| *id == text || id.rsplit('/').next() == Some(text));
    to_execute(named.unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capability_is_named_in_three_ways() {
        for text in ["bash", "rye/bash", "rye.execute.tool.rye.bash"] {
            assert_eq!(capability(text), "rye.execute.tool.rye.bash", "{text}");
        }
        assert_eq!(capability("team/deploy"), "rye.execute.tool.team.deploy");
    }
}
