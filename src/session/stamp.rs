//! Whether a file was saved since it was looked at last.

use std::path::Path;
use std::time::SystemTime;

/// How a file was: its size and when it was changed; nothing where there was none.
pub(super) type Stamp = Option<(u64, Option<SystemTime>)>;

pub(super) fn stamp(file: &Path) -> Stamp {
    file.metadata().ok().map(|meta| (meta.len(), meta.modified().ok()))
}
