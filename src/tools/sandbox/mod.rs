//! What a confined command may reach.
//!
//! A confinement is a plain value: the worker makes it, the [keeper](super::keeper) holds the command to it, and the
//! kernel enforces it. Where any part of it cannot be enforced the command does not run: nothing is taken for confined that
//! is not.

mod git;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
mod placeholder;

#[cfg(target_os = "linux")]
pub(super) use linux::Held;

use crate::domain::SandboxMode;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// What a command may reach. Everything else is refused by the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// Folders below which it may write; it gets a temporary folder of its own beside them.
    pub write: Vec<PathBuf>,
    /// What lies below those and stays as it is, whether it is there already or not.
    pub guarded: Vec<PathBuf>,
    /// Files and folders that it cannot read.
    pub hidden: Vec<PathBuf>,
    /// TCP ports of any host that it may connect to. With none it has no network, with some it may ask for names, too.
    pub ports: Vec<u16>,
}

/// Where people and their programs keep secrets, below the home folder.
const SECRETS: [&str; 29] = [
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".config/gcloud",
    ".config/gh",
    ".config/glab-cli",
    ".config/op",
    ".config/rclone",
    ".config/doctl",
    ".config/hub",
    ".config/git/credentials",
    ".docker/config.json",
    ".kube",
    ".netrc",
    ".git-credentials",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".local/share/keyrings",
    ".mozilla",
    ".config/google-chrome",
    ".config/chromium",
    ".password-store",
    ".vault-token",
    ".terraform.d/credentials.tfrc.json",
];

/// What this system offers for confining commands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offered {
    /// What is missing, in words: with anything missing no command is taken for confined.
    pub missing: Vec<String>,
    /// What works less well, in words.
    pub remarks: Vec<String>,
    /// What there is, in words.
    pub found: String,
}

impl Offered {
    /// What this system offers. Asks the kernel, which takes microseconds.
    #[must_use]
    pub fn here() -> Self {
        #[cfg(target_os = "linux")]
        return linux::offered();
        #[cfg(target_os = "macos")]
        return Self {
            missing: Vec::new(),
            remarks: vec!["sandbox-exec of macOS holds commands to the same rules; this is not tested".to_owned()],
            found: "sandbox-exec".to_owned(),
        };
        #[cfg(not(any(target_os = "linux", target_os = "macos")))]
        return Self { missing: vec!["a sandbox that levain knows".to_owned()], ..Self::default() };
    }

    /// Whether a confined command is really confined.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.missing.is_empty()
    }
}

/// How the commands of a thread are confined.
#[derive(Clone, Debug, Default)]
pub struct Sandbox {
    pub mode: SandboxMode,
    /// The project's folder.
    pub root: PathBuf,
    pub home: PathBuf,
    /// levain's own folders: settings, state, sockets, the person's items.
    pub own: Vec<PathBuf>,
}

impl Sandbox {
    /// Whether commands whose grant says so are confined here.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.mode != SandboxMode::Off && Offered::here().holds()
    }

    /// What a confined command of this project may reach, with `write` and `ports` that a person allowed for it. What is
    /// guarded or hidden stays so.
    #[must_use]
    pub fn confinement(&self, write: &[PathBuf], ports: &[u16]) -> Confinement {
        let real = |path: PathBuf| std::fs::canonicalize(&path).unwrap_or(path);
        let root = real(self.root.clone());
        let own: Vec<PathBuf> = self.own.iter().cloned().map(real).collect();
        let write: Vec<PathBuf> = std::iter::once(root.clone()).chain(write.iter().cloned().map(real)).collect();
        // What decides what runs later, outside of the sandbox. Below other folders no repository is expected.
        let is_repository = |folder: &&PathBuf| **folder == root || folder.join(".git").symlink_metadata().is_ok();
        let mut guarded = vec![root.join(".ai")];
        guarded.extend(write.iter().filter(is_repository).flat_map(|folder| git::guarded(folder)));
        guarded.extend(own.iter().cloned());
        let named: Vec<PathBuf> = guarded.iter().filter_map(|path| named_by(path)).collect();
        guarded.extend(named);
        let secrets = SECRETS.iter().map(|path| real(self.home.join(path)));
        let hidden = secrets.chain(own).filter(|path| path.exists() && !root.starts_with(path)).collect();
        Confinement { write, guarded, hidden, ports: ports.to_vec() }
    }
}

/// What the link at `path` names, whether it is there or not; nothing if it is no link.
fn named_by(path: &Path) -> Option<PathBuf> {
    let folder = path.parent()?;
    let named = folder.join(std::fs::read_link(path).ok()?);
    let missing = || Some(std::fs::canonicalize(named.parent()?).ok()?.join(named.file_name()?));
    std::fs::canonicalize(&named).ok().or_else(missing)
}

/// What a model is told of a confined command that failed with these words, if they look like a refusal of the kernel.
#[must_use]
pub fn refusal(output: &str, confinement: &Confinement) -> Option<String> {
    const SIGNS: [&str; 6] = [
        "permission denied",
        "operation not permitted",
        "read-only file system",
        "eacces",
        "eperm",
        "temporary failure in name resolution",
    ];
    let is_sign = |line: &&str| {
        let line = line.to_lowercase();
        SIGNS.iter().any(|sign| line.contains(sign)) || line.contains("could not resolve host")
    };
    let line = output.lines().find(is_sign)?.trim();
    let first: String = line.chars().take(160).collect();
    let places = confinement.write.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
    let network = match confinement.ports.as_slice() {
        [] => "no network".to_owned(),
        ports => format!("TCP port {}", ports.iter().map(u16::to_string).collect::<Vec<_>>().join(", ")),
    };
    Some(format!(
        "The sandbox seems to have refused this: `{first}`. A confined command writes below {places} and $TMPDIR, not \
         to .ai or to the hooks and settings of git, reads no secrets, and has {network}. If it needs more, call it again with \
         `write_paths` (folders) or `ports` (TCP ports): a person is asked."
    ))
}

/// Holds what the calling thread starts from now on to `confinement`.
///
/// # Errors
/// What could not be enforced, in words. Nothing may be started then.
#[cfg(target_os = "linux")]
pub(super) fn enforce(confinement: &Confinement, own: &Path, held: &Held) -> Result<(), String> {
    linux::enforce(confinement, own, held)
}

/// Makes what is guarded and hidden so by mounts of this process alone, where the system lets it. Asked before the process
/// has a second thread. Without it less can be written: nothing new directly in a folder that holds something guarded.
#[cfg(target_os = "linux")]
pub(super) fn hold(confinement: &Confinement, empty: &Path) -> Held {
    linux::hold(confinement, empty)
}

/// The profile for `sandbox-exec` that says the same.
#[cfg(any(target_os = "macos", test))]
#[cfg_attr(test, expect(dead_code, reason = "used on macOS; compiled in tests so that it stays valid"))]
pub(super) fn profile(confinement: &Confinement, own: &Path) -> String {
    use std::fmt::Write as _;
    let quoted = |path: &Path| format!("\"{}\"", path.display().to_string().replace('\\', "\\\\").replace('"', "\\\""));
    let mut text = String::from(
        "(version 1)\n(deny default)\n(allow process*)\n(allow sysctl-read)\n(allow mach-lookup)\n(allow signal (target \
         same-sandbox))\n(allow file-read*)\n(allow file-write-data (literal \"/dev/null\") (literal \"/dev/zero\"))\n\
         (deny file-read* file-write* (regex #\"^/dev/(tty|pty|console)\"))\n",
    );
    let mut rule = |what: &str, path: &Path| {
        // Writing to a text cannot fail.
        let _ok = writeln!(text, "({what} (subpath {}))", quoted(path));
    };
    confinement.write.iter().map(PathBuf::as_path).chain([own]).for_each(|path| rule("allow file-write*", path));
    confinement.guarded.iter().for_each(|path| rule("deny file-write*", path));
    confinement.hidden.iter().for_each(|path| rule("deny file-read* file-write*", path));
    for port in &confinement.ports {
        let _ok = writeln!(text, "(allow network-outbound (remote tcp \"*:{port}\"))");
    }
    if !confinement.ports.is_empty() {
        text.push_str("(allow network-outbound (remote udp \"*:53\") (literal \"/private/var/run/mDNSResponder\"))\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_guarded_hidden_and_written_follows_from_the_project() {
        let folder = tempfile::tempdir().unwrap();
        let base = std::fs::canonicalize(folder.path()).unwrap();
        let (root, home) = (base.join("home/project"), base.join("home"));
        std::fs::create_dir_all(root.join(".git/hooks")).unwrap();
        std::fs::write(root.join(".git/HEAD"), "").unwrap();
        std::fs::create_dir_all(home.join(".ssh")).unwrap();
        std::fs::create_dir_all(home.join(".config/levain")).unwrap();
        let own = vec![home.join(".config/levain")];
        let sandbox = Sandbox { mode: SandboxMode::Auto, root: root.clone(), home: home.clone(), own: own.clone() };
        let confinement = sandbox.confinement(&[base.join("cache")], &[443]);
        assert_eq!(confinement.write, [root.clone(), base.join("cache")]);
        assert!(confinement.guarded.contains(&root.join(".ai")) && confinement.guarded.contains(&own[0]));
        assert!(confinement.guarded.contains(&root.join(".git/hooks")));
        assert!(!confinement.guarded.contains(&root.join(".git")));
        assert_eq!(confinement.hidden, [home.join(".ssh"), own[0].clone()]);
        assert_eq!(confinement.ports, [443]);
        // An empty folder is no repository.
        std::fs::remove_file(root.join(".git/HEAD")).unwrap();
        assert!(sandbox.confinement(&[], &[]).guarded.contains(&root.join(".git")));
    }

    #[test]
    fn a_refusal_is_told_in_words_and_nothing_else_is() {
        let confinement = Confinement { write: vec!["/p".into()], ..Confinement::default() };
        let told = refusal("x\ntouch: cannot touch '/etc/x': Permission denied\n", &confinement).unwrap();
        assert!(told.contains("'/etc/x'") && told.contains("write_paths") && told.contains("no network"), "{told}");
        assert_eq!(refusal("assertion failed", &confinement), None);
    }
}
