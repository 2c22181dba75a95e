//! Workers: the processes that run threads and outlive the screen, and the clients that talk to them.

pub mod protocol;
