//! The thread machine: `apply(thread, record) -> effects`.
//!
//! A thread's state is what its log makes of it. Every change comes in as a [`Record`](crate::domain::Record) that is
//! already in the log; the effects say what the driver is to do next. Replaying a log and dropping the effects gives
//! the state the thread had.

mod control_point;
mod shell;
mod state;
mod transition;

pub use control_point::{ControlPoint, Share};
pub use state::{CompactionCause, Phase, Shell, Thread};
pub use transition::{Effect, apply};

#[cfg(test)]
mod tests;
