//! Who vouches for a file: Ed25519 signatures in a comment on its first line.
//!
//! Two forms are read. `rye:signed:` lines are checked as their makers signed, which for a directive leaves the body out;
//! `levain:signed:` lines, the only ones written here, cover the whole file but the line itself. What an unsigned or
//! changed file means is decided by the policy of its space, not here.

mod content;
mod keys;
mod line;
mod verify;

pub use content::Layout;
pub use keys::{KeyError, SigningKey, TrustStore, TrustedKey, fingerprint, read_public};
pub use line::{Form, Signature, find};
pub use verify::{Covers, Verdict, sign, verify};
