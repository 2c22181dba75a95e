//! The tools that extensions want to be offered.

use super::tools_of_pi;
use std::collections::BTreeSet;

/// See the module.
pub(super) struct ActiveTools {
    /// By pi's names or those of levain.
    pub(super) names: BTreeSet<String>,
    /// Those of which they knew then: what they do not know of they do not take away.
    pub(super) known: BTreeSet<String>,
}

impl ActiveTools {
    /// Whether the tool that is offered under `name` stays.
    pub(super) fn have(&self, name: &str) -> bool {
        self.names.contains(tools_of_pi::name(name)) || self.names.contains(name) || !self.known.contains(name)
    }
}
