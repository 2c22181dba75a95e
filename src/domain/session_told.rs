//! What those who are asked before room is made know of the session beside the messages that would give way.

use serde_json::Value;
use std::collections::BTreeSet;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionTold {
    /// All of it, as entries of a session of pi.
    pub entries: Vec<Value>,
    /// The entry of each message that was asked about.
    pub named: Vec<Option<String>>,
    /// The files that calls read and changed.
    pub files: FileOps,
}

/// Files by what calls did with them, as the calls name them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileOps {
    pub read: BTreeSet<String>,
    pub written: BTreeSet<String>,
    pub edited: BTreeSet<String>,
}
