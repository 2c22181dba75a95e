//! What of the project can run, for the screen, and trusting it there.

use crate::config::trust::Runnable;
use crate::config::{Authorities, Trust, authority};
use crate::domain::ContentHash;
use crate::session::Setup;
use crate::workbench::ProjectRuns;
use std::path::PathBuf;

/// What can run now, what directives decide, and the name of both together.
struct Now {
    trust: Trust,
    runnable: Runnable,
    directives: Authorities,
    hash: String,
}

fn now(setup: &Setup) -> Now {
    let trust = setup.trust();
    let runnable = match &trust {
        Trust::Trusted(runnable) | Trust::Unknown(runnable) | Trust::Changed(runnable, _) => runnable.clone(),
        Trust::Nothing | Trust::Unreadable { .. } => Runnable::nothing(),
    };
    let directives = authority::of_project(&setup.project.root);
    let decided = serde_json::to_vec(&directives).unwrap_or_default();
    let hash = format!("{} {}", runnable.hash, ContentHash::of(&decided).as_str());
    Now { trust, runnable, directives, hash }
}

/// Lists it.
pub(super) fn runs(setup: &Setup) -> ProjectRuns {
    let root = &setup.project.root;
    let Now { trust, runnable, directives, hash } = now(setup);
    let asked = Trust::asked(&setup.dirs, root, &directives);
    let differs: &[String] = if let Trust::Changed(_, differs) = &trust { differs } else { &[] };
    let standing = match &trust {
        Trust::Unreadable { reason } => format!("it cannot be trusted: {reason}"),
        Trust::Changed(..) => format!("it changed since you trusted it: {}", differs.join(", ")),
        Trust::Unknown(_) => "you have not trusted it; levain does not check scripts that these files start".to_owned(),
        Trust::Trusted(_) | Trust::Nothing if !asked.is_empty() => {
            "directives allow what you have not trusted".to_owned()
        }
        Trust::Trusted(_) => "you trust this project as it is".to_owned(),
        Trust::Nothing => "nothing in this project could run by itself".to_owned(),
    };
    let can_be = !matches!(trust, Trust::Unreadable { .. }) && (!trust.allows() || !asked.is_empty());
    let file = |name: &String| {
        let path = PathBuf::from(".ai").join(name);
        let runs = runnable.commands.get(&path.display().to_string());
        (path, runs.map(|command| format!("runs: {}", command.join(" "))).unwrap_or_default())
    };
    let mut files: Vec<(PathBuf, String)> = runnable.files.iter().map(file).collect();
    files.extend(
        asked.into_iter().map(|path| (PathBuf::from(path), "its calls need approval until you trust it".to_owned())),
    );
    ProjectRuns { root: root.clone(), standing, hash: can_be.then_some(hash), files }
}

/// Trusts the project, if all of it is still what `hash` names.
///
/// # Errors
/// The sentence a person should read.
pub(super) fn trust(setup: &Setup, hash: &str) -> Result<String, String> {
    let found = now(setup);
    if found.hash != hash {
        return Err("nothing was trusted: what can run has changed meanwhile; look again".to_owned());
    }
    Trust::grant(&setup.dirs, &setup.project.root, &found.runnable, &found.directives).map_err(|error| {
        format!("nothing was trusted: could not write below {}: {error}", setup.dirs.config.display())
    })?;
    Ok("you trust this project as it is now; threads whose process starts from now on use that".to_owned())
}
