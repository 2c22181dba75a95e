//! Where things lie: the person's folders, the folder for sockets, the root of the project.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Longest socket folder that leaves room for a socket's name in the 108 bytes an address may have.
const LONGEST_RUNTIME: usize = 60;

/// The person's folders. Naming them makes none of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dirs {
    pub home: PathBuf,
    /// `$XDG_CONFIG_HOME/levain`: `config.toml`, `keymap.toml`, `credentials.toml`, `mcp-tokens/`, `themes/`.
    pub config: PathBuf,
    /// `$XDG_STATE_HOME/levain`: what the program remembers for itself, such as its own log.
    pub state: PathBuf,
    /// Sockets of workers: `$XDG_RUNTIME_DIR/levain`, or `/tmp/levain-<uid>` where that is unset or too long for a
    /// socket's address. Use it through [`Dirs::runtime`].
    runtime: PathBuf,
}

/// The folder for sockets cannot be trusted or made.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    #[error("could not make the folder for sockets, {}: {source}", path.display())]
    Make { path: PathBuf, source: io::Error },
    #[error("{} must be a folder that only you can enter: {what}; remove it, or set XDG_RUNTIME_DIR to another", path.display())]
    Unsafe { path: PathBuf, what: &'static str },
}

/// The themes that came with the program.
const THEMES: [&str; 5] = ["dark", "light", "high-contrast", "sixteen", "sixteen-light"];

impl Dirs {
    /// The folders as the environment names them. Relative paths in XDG variables are ignored, as their rules ask.
    #[must_use]
    pub fn new(environment: &dyn Fn(&str) -> Option<OsString>) -> Self {
        let absolute = |name: &str| environment(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = absolute("HOME").or_else(std::env::home_dir).unwrap_or_else(|| PathBuf::from("/"));
        let below = |name: &str, otherwise: &str| absolute(name).unwrap_or_else(|| home.join(otherwise)).join("levain");
        let config = below("XDG_CONFIG_HOME", ".config");
        let state = below("XDG_STATE_HOME", ".local/state");
        let runtime = absolute("XDG_RUNTIME_DIR")
            .map(|path| path.join("levain"))
            .filter(|path| path.as_os_str().len() <= LONGEST_RUNTIME)
            .unwrap_or_else(|| PathBuf::from(format!("/tmp/levain-{}", rustix::process::geteuid().as_raw())));
        Self { home, config, state, runtime }
    }

    /// All folders below one, for tests.
    #[must_use]
    pub fn below(folder: &Path) -> Self {
        Self {
            home: folder.join("home"),
            config: folder.join("config"),
            state: folder.join("state"),
            runtime: folder.join("run"),
        }
    }

    #[must_use]
    pub fn config_file(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    #[must_use]
    pub fn keymap_file(&self) -> PathBuf {
        self.config.join("keymap.toml")
    }

    #[must_use]
    pub fn credentials_file(&self) -> PathBuf {
        self.config.join("credentials.toml")
    }

    /// Tokens of MCP servers that the person signed in to.
    #[must_use]
    pub fn mcp_tokens(&self) -> PathBuf {
        self.config.join("mcp-tokens")
    }

    /// The cache of providers that extensions register.
    #[must_use]
    pub fn extension_providers(&self) -> PathBuf {
        self.state.join("extension-providers.json")
    }

    /// What the person signed in to with providers of extensions.
    #[must_use]
    pub fn logins(&self) -> PathBuf {
        self.config.join("logins")
    }

    #[must_use]
    pub fn themes(&self) -> PathBuf {
        self.config.join("themes")
    }

    /// Names of the themes that can be chosen: those that came with the program, and the person's own files.
    #[must_use]
    pub fn theme_names(&self) -> Vec<String> {
        let files = fs::read_dir(self.themes()).into_iter().flatten().flatten();
        let own: BTreeSet<String> = files
            .map(|file| file.path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
            .filter_map(|path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned()))
            .filter(|name| !THEMES.contains(&name.as_str()))
            .collect();
        THEMES.iter().map(|name| (*name).to_owned()).chain(own).collect()
    }

    /// The folder for sockets, made if needed. It is a real folder, ours, and closed to everyone else: anything else
    /// under that name is refused, because in `/tmp` it may be somebody's trap.
    ///
    /// # Errors
    /// [`RuntimeError`].
    pub fn runtime(&self) -> Result<&Path, RuntimeError> {
        let path = self.runtime.as_path();
        match fs::DirBuilder::new().mode(0o700).create(path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(source) => return Err(RuntimeError::Make { path: path.to_owned(), source }),
        }
        let meta = fs::symlink_metadata(path).map_err(|source| RuntimeError::Make { path: path.to_owned(), source })?;
        let refuse = |what| Err(RuntimeError::Unsafe { path: path.to_owned(), what });
        if !meta.is_dir() {
            return refuse("it is not a folder");
        }
        if meta.uid() != rustix::process::geteuid().as_raw() {
            return refuse("it belongs to another user");
        }
        if meta.mode() & 0o077 != 0 {
            return refuse("others may enter it (its mode should be 0700)");
        }
        Ok(path)
    }
}

/// How a project's root was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundBy {
    /// Named on the command line.
    Argument,
    /// The nearest folder above with `.ai` in it.
    Items,
    /// The root of the git work tree.
    Git,
    /// Nothing marks a project: the working folder itself.
    WorkingFolder,
}

/// A project: the folder whose `.ai` holds its items and threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    pub root: PathBuf,
    pub found_by: FoundBy,
}

/// The folder named with `--project` is none.
#[derive(Debug, thiserror::Error)]
#[error("could not use {} as the project: {source}; name an existing folder", path.display())]
pub struct BadProject {
    path: PathBuf,
    source: io::Error,
}

impl Project {
    /// The project one works on in `working`: `named` if given, else the nearest ancestor with `.ai`, else the git
    /// root, else `working`. `~/.ai` holds the person's own items and marks no project.
    ///
    /// # Errors
    /// [`BadProject`] when `named` (or `working`) is no folder.
    pub fn find(working: &Path, named: Option<&Path>, home: &Path) -> Result<Self, BadProject> {
        let working = folder(working)?;
        if let Some(named) = named {
            return Ok(Self { root: folder(&working.join(named))?, found_by: FoundBy::Argument });
        }
        let home = fs::canonicalize(home).unwrap_or_else(|_error| home.to_owned());
        let nearest = |marks: &dyn Fn(&Path) -> bool| working.ancestors().find(|path| marks(path)).map(Path::to_owned);
        let items = nearest(&|path| path != home && path.join(".ai").is_dir());
        if let Some(root) = items {
            return Ok(Self { root, found_by: FoundBy::Items });
        }
        // A linked work tree and a submodule have a file of this name.
        if let Some(root) = nearest(&|path| path.join(".git").exists()) {
            return Ok(Self { root, found_by: FoundBy::Git });
        }
        Ok(Self { root: working, found_by: FoundBy::WorkingFolder })
    }
}

/// `path` without links and dots, if it is a folder.
fn folder(path: &Path) -> Result<PathBuf, BadProject> {
    let bad = |source| BadProject { path: path.to_owned(), source };
    let real = fs::canonicalize(path).map_err(bad)?;
    if real.is_dir() { Ok(real) } else { Err(bad(io::ErrorKind::NotADirectory.into())) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn tree(folders: &[&str]) -> (tempfile::TempDir, PathBuf) {
        let temporary = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(temporary.path()).unwrap();
        for path in folders {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        (temporary, root)
    }

    #[test]
    fn the_nearest_items_win_over_the_git_root() {
        let (_keep, root) = tree(&["a/.ai", "a/b/.git", "a/b/c"]);
        let project = Project::find(&root.join("a/b/c"), None, &root).unwrap();
        assert_eq!(project, Project { root: root.join("a"), found_by: FoundBy::Items });
    }

    #[test]
    fn the_persons_own_items_mark_no_project() {
        let (_keep, root) = tree(&["home/.ai", "home/code/.git", "home/notes"]);
        let find = |working: &str| Project::find(&root.join(working), None, &root.join("home")).unwrap();
        assert_eq!(find("home/code"), Project { root: root.join("home/code"), found_by: FoundBy::Git });
        let notes = Project { root: root.join("home/notes"), found_by: FoundBy::WorkingFolder };
        // Only where no folder above the temporary one marks a project.
        if !root.ancestors().skip(1).any(|path| path.join(".ai").is_dir() || path.join(".git").exists()) {
            assert_eq!(find("home/notes"), notes);
        }
    }

    #[test]
    fn a_named_project_must_exist() {
        let (_keep, root) = tree(&["a", "b/.ai"]);
        let named = Project::find(&root.join("b"), Some(Path::new("../a")), &root).unwrap();
        assert_eq!(named, Project { root: root.join("a"), found_by: FoundBy::Argument });
        let error = Project::find(&root, Some(Path::new("nowhere")), &root).unwrap_err();
        assert!(error.to_string().contains("nowhere"), "{error}");
    }

    #[test]
    fn folders_follow_the_environment() {
        let set = |pairs: &'static [(&str, &str)]| {
            Dirs::new(&|name: &str| pairs.iter().find(|pair| pair.0 == name).map(|pair| OsString::from(pair.1)))
        };
        let dirs = set(&[("HOME", "/home/ada"), ("XDG_CONFIG_HOME", "relative"), ("XDG_RUNTIME_DIR", "/run/user/7")]);
        assert_eq!(dirs.config_file(), Path::new("/home/ada/.config/levain/config.toml"));
        assert_eq!(dirs.state, Path::new("/home/ada/.local/state/levain"));
        assert_eq!(dirs.runtime, Path::new("/run/user/7/levain"));
        let long = "/a-very-long-path-that-leaves-no-room/for-the-name-of-a-socket/below-it";
        let dirs = Dirs::new(&|name: &str| (name == "XDG_RUNTIME_DIR").then(|| OsString::from(long)));
        assert!(dirs.runtime.starts_with("/tmp"), "{dirs:?}");
    }

    #[test]
    fn the_folder_for_sockets_must_be_ours_alone() {
        let (_keep, root) = tree(&["elsewhere"]);
        let dirs = Dirs::below(&root);
        assert_eq!(fs::metadata(dirs.runtime().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
        assert!(dirs.runtime().is_ok(), "a second call finds the first one's folder");
        fs::set_permissions(root.join("run"), fs::Permissions::from_mode(0o750)).unwrap();
        assert!(matches!(dirs.runtime(), Err(RuntimeError::Unsafe { .. })));
        fs::remove_dir(root.join("run")).unwrap();
        symlink(root.join("elsewhere"), root.join("run")).unwrap();
        assert!(matches!(dirs.runtime(), Err(RuntimeError::Unsafe { .. })));
    }
}
