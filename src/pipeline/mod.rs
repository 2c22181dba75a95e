//! The pipeline of a prompt and of its requests: what each stage gives its handlers, and how their answers become one.
//!
//! Nothing here waits. A [`Chain`] is the value of one stage on its way through its handlers: it says what the next one
//! gets, and takes what that answers. Who asks them, with deadlines and a person who may stop it, is the driver
//! (`engine::driver`); who they are is behind the port [`crate::ports::Handlers`]. The names of stages and fields are those
//! of pi's extensions, so that one handler fits both.

mod answer;
mod arriving;
mod chain;
mod compact;
mod messages;
mod payload;
mod system;

pub use answer::{Merged, image};
pub use arriving::{Arriving, Part, PartKind};
pub use chain::Chain;
pub use compact::{Compact, CompactSettings, Summarised};
pub use messages::{Forms, Told, arriving, differs, stopped, to_json, told, used};
pub use payload::Paid;
pub use system::edited;
