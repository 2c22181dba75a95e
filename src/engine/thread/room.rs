//! Room in the window: what it is made for, and whether another thread goes on with what stays.

/// What room is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactionCause {
    /// The coming request of a turn; so many times it was tried to get there, this one included.
    ForRequest {
        attempt: u32,
    },
    Asked,
    /// A summary of a branch that was left; no room is made.
    Branch,
}

/// Whether another thread is to go on with this one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Handoff {
    #[default]
    No,
    /// Somebody asked for it: before the next request.
    Due,
    /// It is being made because somebody asked, whether or not the window has room.
    Asked,
    /// It is being made because the window is full.
    Full,
}

impl Handoff {
    /// Whether room is being made for another thread that goes on.
    #[must_use]
    pub fn is_being_made(self) -> bool {
        matches!(self, Self::Asked | Self::Full)
    }
}
