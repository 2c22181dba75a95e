//! Small JSON files that a project's threads keep together. Several threads may change one at the same time: a change holds
//! a lock, reads, and replaces the file whole.

use super::{Answer, Failed};
use crate::ports::Beneath;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io;

/// Longest file that is read, in bytes.
const LONGEST: u64 = 4 << 20;
/// Most notes of a project, and most personas.
pub(super) const MOST: usize = 1_000;
/// Longest note and longest persona, in letters.
const LONGEST_TEXT: usize = 2_000;

/// How a file stands on disk.
#[derive(Serialize, Deserialize)]
struct Versioned<T> {
    version: u32,
    #[serde(flatten)]
    content: T,
}

const VERSION: u32 = 1;

pub(super) fn checked(text: &str) -> Result<String, Failed> {
    if text.trim().is_empty() {
        return Err(Failed("`text` is empty.".to_owned()));
    }
    if text.chars().count() > LONGEST_TEXT {
        return Err(Failed(format!("`text` is longer than {LONGEST_TEXT} characters; shorten it.")));
    }
    Ok(text.trim().to_owned())
}

fn lost(path: &Beneath, error: &io::Error) -> Failed {
    Failed(format!("{} could not be used: {error}.", path.path().display()))
}

pub(super) fn read<T: DeserializeOwned + Default>(path: &Beneath) -> Result<T, Failed> {
    let Some(bytes) = path.read(LONGEST).map_err(|error| lost(path, &error))? else { return Ok(T::default()) };
    let broken =
        |why: String| Failed(format!("could not read {}: {why}. Fix it or move it away.", path.path().display()));
    let found: Versioned<T> = serde_json::from_slice(&bytes).map_err(|error| broken(error.to_string()))?;
    if found.version > VERSION {
        return Err(broken("a newer levain wrote it".to_owned()));
    }
    Ok(found.content)
}

/// Changes the file at `path`. Nothing is written when `change` fails.
pub(super) fn change<T: DeserializeOwned + Default + Serialize>(
    path: &Beneath,
    change: impl FnOnce(&mut T) -> Answer,
) -> Answer {
    let lost = |error: io::Error| lost(path, &error);
    path.folder().map_or(Ok(false), |folder| folder.make_folder()).map_err(lost)?;
    let lock = path.with_ending("lock").open_append().map_err(lost)?;
    lock.lock().map_err(lost)?;
    let mut content = read::<T>(path)?;
    let answer = change(&mut content)?;
    let text =
        serde_json::to_vec_pretty(&Versioned { version: VERSION, content }).map_err(|error| lost(error.into()))?;
    path.replace(&text).map_err(lost)?;
    Ok(answer)
}
