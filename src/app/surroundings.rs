//! Looking what is around a thread just before a call: the time, the project's folder, how its branch stands.

use crate::context::Surroundings;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tokio::process::Command;

/// A git that takes longer is not waited for.
const PATIENCE: Duration = Duration::from_millis(250);

/// What is around now. `folder` is the project's.
pub(super) async fn look(folder: &Path) -> Surroundings {
    let now = jiff::Zoned::now();
    let (branch, changed) = branch(folder).await.unzip();
    Surroundings {
        now: Some(now.strftime("%A, %Y-%m-%d %H:%M %:z").to_string()),
        folder: folder.display().to_string(),
        branch: branch.flatten(),
        changed,
    }
}

/// The branch and the number of changed files; none where git does not answer.
async fn branch(folder: &Path) -> Option<(Option<String>, u32)> {
    let output = Command::new("git")
        // A project's settings must not make git run a program.
        .args(["-c", "core.fsmonitor=false", "--no-optional-locks", "-C"])
        .arg(folder)
        .args(["status", "--porcelain=v2", "--branch"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(PATIENCE, output).await.ok()?.ok()?;
    output.status.success().then(|| read(&String::from_utf8_lossy(&output.stdout)))
}

/// Reads what git said.
fn read(said: &str) -> (Option<String>, u32) {
    let head = said.lines().find_map(|line| line.strip_prefix("# branch.head "));
    let changed = said.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).count();
    (head.map(str::to_owned), u32::try_from(changed).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_has_a_branch_and_changed_files() {
        let said = "# branch.oid 1f2\n# branch.head main\n1 .M N... 100644 100644 100644 a b src/x.rs\n? new.txt\n";
        assert_eq!(read(said), (Some("main".to_owned()), 2));
        assert_eq!(read(""), (None, 0));
    }
}
