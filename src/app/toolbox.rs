//! What a thread's tools work with, and what the thread may do with them.

use super::approvals::ApprovalsFile;
use super::setup::Setup;
use crate::domain::capability::to_execute;
use crate::domain::{Grant, Permissions};
use crate::items::{Directive, Items, Kind};
use crate::providers::keys::VARIABLES;
use crate::tools::{self, Environment, Reach, Root, Toolbox, Workshop};
use crate::worker::host::Hosting;
use std::sync::Arc;

/// Lets `fetch` ask private addresses too.
const PRIVATE: &str = "LEVAIN_FETCH_PRIVATE";

impl Setup {
    /// Gives a thread that runs `directive` its tools and permissions. `allowed` are patterns for which nobody needs to
    /// be asked in this run.
    pub fn equip(&self, hosting: &mut Hosting, items: &Items, directive: &str, allowed: Vec<String>) {
        let answers = ApprovalsFile::new(&self.dirs.config, &self.project.root);
        let (mut known, problem) = answers.allowed();
        if let Some(problem) = problem {
            tracing::warn!(%problem, "approvals");
        }
        known.extend(allowed);
        hosting.permissions = Permissions { grants: grants(items, directive), allowed: known };
        hosting.approvals = Box::new(answers);
        let hidden: Vec<&str> = VARIABLES.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let private = std::env::var_os(PRIVATE).is_some_and(|value| !value.is_empty());
        hosting.tools = Arc::new(Toolbox::new(Workshop {
            root: Root::new(&self.project.root),
            environment: Environment::scrubbed(std::env::vars_os(), &hidden),
            spill: Some(self.layout.thread(&hosting.thread_id).path().join("output")),
            shadowed: tools::ids().filter_map(|id| Some((id.to_owned(), shadow(items, id)?))).collect(),
            reach: if private { Reach::Private } else { Reach::Public },
        }));
    }
}

/// The file of an item that has a built-in tool's id.
fn shadow(items: &Items, id: &str) -> Option<String> {
    let found = items.find(Kind::Tool, id).ok()?;
    Some(items.file(found.item).display().to_string())
}

/// What the directive grants; nothing where it cannot be read.
fn grants(items: &Items, directive: &str) -> Vec<Grant> {
    let Ok(found) = items.find(Kind::Directive, directive) else { return Vec::new() };
    let Ok(text) = items.read(found.item) else { return Vec::new() };
    let (directive, _told_by_briefing) = Directive::parse(&text, &items.file(found.item));
    directive.permissions.capabilities.into_iter().map(|granted| granted.value).collect()
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
    use crate::domain::Verdict;
    use crate::items::Spaces;

    #[test]
    fn the_chat_reads_and_asks_before_it_does_more() {
        let items = Items::list(&Spaces::embedded());
        let permissions = Permissions { grants: grants(&items, "levain/chat"), allowed: Vec::new() };
        let verdict = |id: &str| permissions.verdict(&[to_execute(id)]);
        for id in ["read", "ls", "glob", "grep"] {
            assert_eq!(verdict(&format!("rye/file-system/{id}")), Verdict::Allowed, "{id}");
        }
        for id in ["rye/file-system/write", "rye/file-system/edit_lines", "rye/bash", "rye/web/fetch/fetch"] {
            assert_eq!(verdict(id), Verdict::Ask, "{id}");
        }
        assert_eq!(verdict("team/deploy"), Verdict::Denied);
        assert!(grants(&items, "no/such").is_empty());
    }

    #[test]
    fn a_capability_is_named_in_three_ways() {
        for text in ["bash", "rye/bash", "rye.execute.tool.rye.bash"] {
            assert_eq!(capability(text), "rye.execute.tool.rye.bash", "{text}");
        }
        assert_eq!(capability("team/deploy"), "rye.execute.tool.team.deploy");
    }
}
