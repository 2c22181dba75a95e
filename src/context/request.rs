//! The one way in which a request is put together, whether it is sent, shown beforehand, or compared with one that was
//! shown.

use super::{Parts, Plan, assemble};
use crate::domain::{Assembly, FrozenRequest, KnownTool, Permissions, ToolRef, ToolSpec};

/// Everything of a request but its model.
#[derive(Clone, Debug)]
pub struct RequestBuilder<'a> {
    pub parts: Parts<'a>,
    pub tools: Offer<'a>,
}

/// Which tools a request offers.
#[derive(Clone, Debug)]
pub enum Offer<'a> {
    /// Those of `known` that the thread may use, as the plan makes room for them.
    Granted { plan: &'a Plan, permissions: &'a Permissions, known: Vec<KnownTool> },
    /// Those of a request that somebody has looked at.
    Frozen(&'a FrozenRequest),
    /// None.
    Nothing,
}

/// A request that was put together.
#[derive(Clone, Debug, PartialEq)]
pub struct BuiltRequest {
    /// System text, messages and layers, those of the tools among them.
    pub assembly: Assembly,
    /// The tools as the provider is told of them.
    pub specs: Vec<ToolSpec>,
    /// The tools as the request's record names them.
    pub tools: Vec<ToolRef>,
}

impl RequestBuilder<'_> {
    /// Puts it together. Reads no file and asks no clock.
    #[must_use]
    pub fn build(self) -> BuiltRequest {
        let mut assembly = assemble(&self.parts);
        let (specs, tools) = match self.tools {
            Offer::Granted { plan, permissions, known } => plan.offer(&mut assembly, permissions, known),
            Offer::Frozen(frozen) => frozen.offer(&mut assembly),
            Offer::Nothing => (Vec::new(), Vec::new()),
        };
        BuiltRequest { assembly, specs, tools }
    }
}
