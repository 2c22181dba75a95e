//! The thread engine: a pure machine, and the driver that waits for it.
//!
//! [`thread`] decides, [`driver`] carries out. The machine reads no clock and no file, so a recorded log replays to the
//! same state; the driver holds no rule of its own.

pub mod answer;
mod arguments;
pub mod compaction;
pub mod driver;
pub mod permission;
pub mod retry;
pub mod thread;
