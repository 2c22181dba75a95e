//! What the model will see: layers with origins go in, a whole request comes out.
//!
//! [`assemble`] is the one function that makes requests. Sending and previewing both call it, so a preview cannot
//! differ from what is sent. It waits for nothing and reads no file.

mod assemble;

pub use assemble::{Source, assemble};
