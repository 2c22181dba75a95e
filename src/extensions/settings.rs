//! What an engine is started with: where it is, what it may use, and what its extensions may reach.

use super::outside::Outside;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Everything an engine needs to know of the world, as values.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The working folder of the session.
    pub cwd: PathBuf,
    /// The person's home folder.
    pub home: PathBuf,
    /// Variables that `process.env` shows. Only what is known to be harmless belongs here.
    pub environment: Vec<(String, String)>,
    pub limits: Limits,
    pub policy: Policy,
    /// Who answers what extensions ask beside files; nobody where there is no session.
    pub outside: Option<Arc<dyn Outside>>,
}

/// What an engine may use.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of memory for all extensions together.
    pub memory: usize,
    /// How long JavaScript may run without a pause, in time on a processor.
    pub slice: Duration,
    /// How long a file may take to load, its waits included.
    pub load: Duration,
    /// How long a call may take, its waits included.
    pub call: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory: 256 << 20,
            slice: Duration::from_secs(5),
            load: Duration::from_secs(30),
            call: Duration::from_secs(30),
        }
    }
}

/// What extensions may reach. Whatever is not named here is refused.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// Files and folders that are not read, such as the person's keys.
    pub hidden: Vec<PathBuf>,
    /// Folders in which files are written.
    pub write: Vec<PathBuf>,
    /// Files and folders among those that are not changed.
    pub guarded: Vec<PathBuf>,
    /// A folder among the guarded ones in which anything is written: what belongs to the session.
    pub session: Option<PathBuf>,
    /// Folders among the guarded ones where folders are made and files of data are written, though nothing that runs: where
    /// extensions lie, many keep their settings beside themselves.
    pub data: Vec<PathBuf>,
    /// Extensions are looked at: nothing is kept of what they do.
    pub only_looks: bool,
    /// Files and folders of the project that somebody looked through: what lies there imports nothing else of the project.
    pub looked_through: Vec<PathBuf>,
}

impl Policy {
    /// Whether a file lies where the person could let extensions write.
    pub(super) fn may_be_named(&self, real: &Path) -> bool {
        let within = |folders: &[PathBuf]| folders.iter().any(|folder| real.starts_with(folder));
        !within(&self.guarded) && !within(&self.hidden) && !within(&self.write)
    }

    /// The folders in which something may be written.
    pub(super) fn roots(&self) -> impl Iterator<Item = &Path> {
        self.write.iter().chain(&self.data).map(PathBuf::as_path)
    }
}

impl Settings {
    /// Whether one file may import another.
    pub(super) fn may_import(&self, from: &Path, found: &Path) -> bool {
        let is_known = |path: &Path| self.policy.looked_through.iter().any(|known| path.starts_with(known));
        !is_known(from) || is_known(found) || !found.starts_with(&self.cwd)
    }
}
