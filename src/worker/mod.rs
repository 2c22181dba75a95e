//! Workers: the processes that run threads and outlive the screen, and the clients that talk to them.
//!
//! [`protocol`] is what they say, [`server`] the worker's side, [`client`] the other, [`launch`] starts and finds
//! workers, [`host`] puts engine, store and server together, [`code_pages`] is what any process does that comes to rest.
//! [`supervisor`] owns the threads of a process, and [`detached`] those that run in workers of their own: two forms of the
//! port [`Executor`](crate::ports::Executor).

mod answers;
pub mod client;
pub mod code_pages;
pub mod detached;
pub mod host;
pub mod launch;
mod outbox;
pub mod presence;
pub mod protocol;
pub mod server;
mod socket;
pub mod supervisor;
