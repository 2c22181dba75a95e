//! Workers: the processes that run threads and outlive the screen, and the clients that talk to them.
//!
//! [`protocol`] is what they say, [`server`] the worker's side, [`client`] the other, [`launch`] starts and finds
//! workers, [`host`] puts engine, store and server together.

pub mod client;
pub mod host;
pub mod launch;
mod outbox;
pub mod protocol;
pub mod server;
mod socket;
