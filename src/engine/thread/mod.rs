//! The thread machine: `apply(thread, record) -> effects`.
//!
//! A thread's state is what its log makes of it. Every change comes in as a [`Record`](crate::domain::Record) that is
//! already in the log; the effects say what the driver is to do next. Replaying a log and dropping the effects gives
//! the state the thread had.

mod background;
mod calls;
mod control_point;
mod effect;
mod handoff;
mod history;
mod hooks;
mod nudge;
mod room;
mod shell;
mod state;
mod transition;
mod turn;

pub use effect::Effect;
pub use handoff::staying;
pub use room::{CompactionCause, Handoff};
pub use state::{CallStage, ControlPoint, Filing, HookRun, Phase, Share, Shell, StagedCall, Thread};
pub use transition::apply;

#[cfg(test)]
mod tests;
