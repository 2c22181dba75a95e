//! A program of an extension that is to have a person's terminal: an editor, a pager.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A program that waits for a screen which gives it its terminal. The one that takes it runs it, and tells how it ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Foreground {
    /// Counts from 1 in a worker.
    pub id: u64,
    #[serde(flatten)]
    pub program: ForegroundProgram,
}

/// What is to be run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForegroundProgram {
    /// The extension that runs it, for people.
    pub from: String,
    /// The program and its arguments.
    pub words: Vec<String>,
    pub folder: PathBuf,
    /// All of its environment.
    pub environment: BTreeMap<String, String>,
}
