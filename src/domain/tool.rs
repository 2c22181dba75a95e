//! A tool there is, whether or not a thread may use it.

use super::assembly::{Absence, Origin, Space};
use super::capability::to_execute;
use super::message::ToolSpec;

/// Letters in the name of a tool that every provider takes.
const LONGEST_NAME: usize = 64;

/// A tool, and whether it can be run.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownTool {
    /// Id of the item it is.
    pub item: String,
    /// Further ids it answers to.
    pub aliases: Vec<String>,
    pub origin: Origin,
    /// Why it cannot be run: then it is offered to nobody, and a call says so.
    pub absent: Option<Absence>,
    /// It changes nothing and minds no other call of it or of its kind: such calls of one answer run side by side.
    pub parallel: bool,
    /// All that it does is done by commands, which a sandbox can hold.
    pub confinable: bool,
    pub spec: ToolSpec,
}

impl KnownTool {
    /// How the place of a tool begins that is a part of the program.
    pub const BUILT_IN: &str = "(built in)";

    /// Whether it is a part of the program.
    #[must_use]
    pub fn is_built_in(&self) -> bool {
        matches!(&self.origin, Origin::Item { path, space: Space::System, .. } if path.starts_with(Self::BUILT_IN))
    }

    /// The capabilities any of which allows a call, the item's own first.
    #[must_use]
    pub fn capabilities(&self) -> Vec<String> {
        std::iter::once(&self.item).chain(&self.aliases).map(|id| to_execute(id)).collect()
    }

    /// Gives every tool a name of its own, no longer than providers take: of two ids that come to the same name, the first
    /// keeps it and the other gets a number behind it.
    pub fn settle_names(tools: &mut [Self]) {
        let mut taken: Vec<String> = Vec::with_capacity(tools.len());
        for tool in tools {
            let plain = tool.spec.name.clone();
            let cut = |most: usize| plain.chars().take(most).collect::<String>();
            tool.spec.name = cut(LONGEST_NAME);
            for number in 2_u32.. {
                if !taken.contains(&tool.spec.name) {
                    break;
                }
                let end = format!("_{number}");
                tool.spec.name = cut(LONGEST_NAME - end.len()) + &end;
            }
            taken.push(tool.spec.name.clone());
        }
    }
}
