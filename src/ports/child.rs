//! A program, or another machine behind a socket, that is talked with: what is said to it, and what is heard of it.

use super::tools::Waiting;
use futures_util::Stream;
use rustix::process::Signal;
use std::any::Any;
use std::fmt;
use std::pin::Pin;

/// Room that what waits to be read takes; dropped once it is written.
pub type Room = Box<dyn Any + Send>;

/// What is said to it.
#[derive(Debug)]
pub enum Order {
    /// More of what it reads.
    Write(Vec<u8>, Room),
    /// There is no more to read.
    Close,
    Signal(Signal),
    /// Whether more of what comes over a socket is to be read. Programs are not told.
    Flow(bool),
}

/// What is heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Printed {
    /// Bytes of its output, or of what came over a socket.
    Output,
    Errors,
    /// How a socket stands, in JSON.
    State,
}

/// Told what it prints, as it prints it. As long as this waits nothing more is read, so that the program waits, too.
pub type Hears = Box<dyn Fn(Printed, Vec<u8>) -> Waiting<'static, ()> + Send + Sync>;

/// Both ways of talking with it.
pub struct Talk {
    pub orders: Pin<Box<dyn Stream<Item = Order> + Send>>,
    pub hears: Hears,
}

impl fmt::Debug for Talk {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Talk")
    }
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// None where a signal ended it.
    pub code: Option<i32>,
    pub signal: Option<i32>,
    /// It was ended because it took too long.
    pub too_long: bool,
}
