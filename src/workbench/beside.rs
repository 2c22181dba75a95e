//! What stands beside the conversation: the layers of the request that led to what is chosen there, else of the newest.

use super::message::RequestShown;
use crate::domain::ThreadId;

/// What stands beside the conversation.
#[derive(Clone, Debug, Default)]
pub struct Beside {
    /// Whether the person wants it.
    pub on: bool,
    /// The request that is shown, or why there is none.
    pub shown: Option<Result<RequestShown, String>>,
    /// Whose request that is, or will be: the one of the number, else the newest.
    pub(super) asked: Option<(ThreadId, Option<u32>)>,
    /// One is being read: the next is asked for when that has come.
    pub(super) awaits: bool,
}

impl RequestShown {
    /// Only what is seen of its layers in a list: neither the request nor their texts.
    #[must_use]
    pub fn without_texts(mut self) -> Self {
        (self.whole, self.held) = (None, None);
        self.layers.iter_mut().for_each(|layer| layer.text = "".into());
        self
    }
}
