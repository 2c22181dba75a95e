//! Items under `.ai/`: for now the few that are bundled with the program. Finding and reading the items of projects and
//! users comes with the item engine.

pub mod signature;
pub mod system;
