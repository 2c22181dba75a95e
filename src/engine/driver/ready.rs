//! A request on its way to be sent.

use crate::domain::{Assembly, ModelRef, SentBody, ToolSpec};
use crate::ports::EncodedRequest;

/// A recorded request that is about to be sent.
pub(super) struct Ready {
    pub(super) assembly: Assembly,
    pub(super) tools: Vec<ToolSpec>,
    pub(super) model: ModelRef,
    pub(super) attempt: u32,
    pub(super) max_output_tokens: u64,
    pub(super) purpose: Purpose,
    /// What goes over the wire, and what its record says of that; made before it is recorded.
    pub(super) encoded: Option<(SentBody, EncodedRequest)>,
}

/// What a call is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A turn of the thread.
    Answer,
    /// A summary of older messages: shown to nobody while it arrives.
    Summary,
    /// What an extension asks beside the thread.
    Beside,
}
