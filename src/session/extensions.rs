//! The extensions of a project and of the person: which there are, whether they may run, and what runs them.

use crate::config::{Arguments, Dirs, Trust, trust};
use crate::domain::Space;
use crate::extensions::{Ask, Engine, EngineError, Limits, Outside, Policy, Settings};
use crate::items::pi_settings::{self, PiSettings};
use crate::items::resource_files::found_in;
use crate::tools::Environment;
use serde_json::Value;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Where a project keeps extensions, that of pi behind our own.
pub const FOLDERS: [&str; 2] = [".ai/extensions", ".pi/extensions"];
/// Where a person keeps theirs, below the home folder or `$USER_SPACE`.
pub const OWN_FOLDERS: [&str; 2] = [".ai/extensions", ".pi/agent/extensions"];

/// What no extension changes in a project, as it runs or decides what does; with it goes what decides in the folders of pi.
const GUARDED: [&str; 4] = [".ai", ".pi/extensions", ".git/hooks", ".git/config"];

/// What a flag that is set or not may be.
const SWITCH: [&str; 2] = ["true", "false"];

/// An extension that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extension {
    /// What people call it: its path in the folder of extensions, or its package and the path there.
    pub name: String,
    pub path: PathBuf,
    /// It comes with the project, so it runs only where the person trusts that.
    pub of_project: bool,
}

/// What some files register at load.
#[derive(Debug)]
pub(super) struct Registered {
    /// As the JavaScript side describes them (`providerDescriptions`).
    pub(super) providers: Vec<Value>,
    flags: Vec<Value>,
    /// Those that do not load, with the reason.
    pub(super) failed: Vec<(PathBuf, String)>,
}

/// What finds and starts them.
#[derive(Clone, Debug)]
pub struct Extensions {
    pub(super) dirs: Dirs,
    pub(super) root: PathBuf,
    /// The folder that holds the person's own `.ai`.
    home: PathBuf,
    environment: Environment,
    /// Those that the command line names, and the flags that it gives.
    named: Vec<PathBuf>,
    flags: Vec<String>,
    /// Folders of the person's settings in which they may write, too.
    folders: Vec<PathBuf>,
}

/// The files of extensions that a path stands for; none where there is none.
#[must_use]
pub fn named(path: &Path) -> Vec<PathBuf> {
    let Ok(absolute) = std::path::absolute(path) else { return Vec::new() };
    let path: PathBuf = absolute.components().collect();
    if path.is_file() {
        return vec![path];
    }
    let of_package = pi_settings::extensions_of(&path);
    if of_package.is_empty() { found_in(&path) } else { of_package }
}

/// The path of a file below a folder, for people.
fn name_in(folder: Option<&Path>, path: &Path) -> String {
    let below = folder.and_then(|folder| path.strip_prefix(folder).ok()).unwrap_or(path);
    below.display().to_string()
}

/// Names of files and folders that say nothing of what is in them.
const COMMON: [&str; 11] =
    ["index", "extension", "extensions", "main", "mod", "src", "dist", "build", "lib", "out", "pi"];

/// The name of an extension, for people: its file, with the folders whose names tell it apart; of what npm installed, its package.
pub(super) fn name_of(path: &Path) -> String {
    let named = path.components().filter(|part| matches!(part, Component::Normal(_)));
    let parts: Vec<_> = named.map(|part| part.as_os_str().to_string_lossy()).collect();
    let says = |part: &str| !COMMON.contains(&part);
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let of_package = parts.iter().rposition(|part| part == "node_modules").map(|place| place + 1);
    if let Some(first) = of_package.filter(|first| *first < parts.len()) {
        let scoped = usize::from(parts.get(first).is_some_and(|part| part.starts_with('@')));
        let (name, rest) = parts.split_at((first + 1 + scoped).min(parts.len()));
        let name = name.get(first..).unwrap_or_default().join("/");
        // A package may bring several.
        let file = rest.last().filter(|_| says(&stem));
        return file.map_or_else(|| name.clone(), |file| format!("{name}/{file}"));
    }
    let last = parts.len().saturating_sub(1);
    let first = if says(&stem) { last } else { parts.iter().take(last).rposition(|part| says(part)).unwrap_or(last) };
    parts.get(first..).unwrap_or_default().join("/")
}

impl Extensions {
    /// Those of these folders: the program's own, the project and the one that holds the person's `.ai`.
    pub(super) fn new(
        (dirs, root, home): (Dirs, PathBuf, PathBuf),
        environment: Environment,
        arguments: &Arguments,
    ) -> Self {
        let (named, flags) = (arguments.extensions.clone(), arguments.flags.clone());
        Self { dirs, root, home, environment, named, flags, folders: Vec::new() }
    }

    /// The same, which may write in these folders, too.
    pub(super) fn with_folders(self, folders: &[PathBuf]) -> Self {
        // What is a link now is followed, as it is when they write.
        let real = |folder: &PathBuf| folder.canonicalize().unwrap_or_else(|_| folder.clone());
        Self { folders: folders.iter().map(real).collect(), ..self }
    }

    /// Those there are now, in the order in which they are loaded, each file once: those of the command line, what pi's
    /// settings of the project name, the project's folders, the same of the person, and what packages bring.
    #[must_use]
    pub fn found(&self) -> Vec<Extension> {
        let mut all: Vec<Extension> = Vec::new();
        let mut add = |path: &Path, name: String, of_project| {
            if !all.iter().any(|known| known.path == path) {
                all.push(Extension { name, path: path.to_owned(), of_project });
            }
        };
        for path in &self.named {
            add(path, name_in(path.parent(), path), false);
        }
        let (of_project, own) = PiSettings::both(&self.root, &self.home);
        let scopes = [(&self.root, of_project, FOLDERS, true), (&self.home, own, OWN_FOLDERS, false)];
        for (root, settings, folders, is_of_project) in &scopes {
            for path in &settings.named.extensions {
                add(path, name_in(Some(root), path), *is_of_project);
            }
            for folder in folders.map(|folder| root.join(folder)) {
                let of_pi = folder.starts_with(root.join(pi_settings::FOLDER));
                for path in found_in(&folder).iter().filter(|path| !of_pi || settings.leaves_on(path)) {
                    add(path, name_in(Some(&folder), path), *is_of_project);
                }
            }
        }
        for (_, settings, _, is_of_project) in &scopes {
            for package in &settings.packages {
                let name = |path: &Path| format!("{}/{}", package.identity, name_in(Some(&package.folder), path));
                for path in &package.resources.extensions {
                    add(path, name(path), *is_of_project);
                }
            }
        }
        all
    }

    /// Where a file of theirs lies: in the project or below the person's folder, and its path there; else its whole path.
    pub(super) fn place(&self, file: &Path) -> (Space, String) {
        let of_project = file.strip_prefix(&self.root).ok().map(|below| (Space::Project, below));
        let own = || (Space::User, file.strip_prefix(&self.home).unwrap_or(file));
        let (space, below) = of_project.unwrap_or_else(own);
        (space, below.display().to_string())
    }

    /// What the command line says of a flag: a text, or that it is set.
    #[must_use]
    pub fn flag(&self, name: &str) -> Option<Value> {
        self.flags.iter().rev().find_map(|given| match given.split_once('=') {
            Some((known, value)) => (known == name).then(|| value.into()),
            None => (given == name).then_some(Value::Bool(true)),
        })
    }

    /// Whether the flags of the command line can be what extensions are told; loads those that may run where there are any. A
    /// flag that is not understood may be the one that turns a guard on, so whoever starts something refuses.
    ///
    /// # Errors
    /// What is wrong with them, and what to do.
    pub fn check_flags(&self) -> Result<(), (String, String)> {
        if self.flags.is_empty() {
            return Ok(());
        }
        let trusted = self.are_trusted();
        let (may_run, held): (Vec<_>, Vec<_>) = self.found().into_iter().partition(|one| trusted || !one.of_project);
        let registered = self.registered_by(may_run.into_iter().map(|one| one.path).collect()).map_err(|why| {
            (format!("the flags of extensions are not known: {why}"), "see levain extensions".to_owned())
        })?;
        let strange = self.strange_flags(&registered.flags);
        if strange.is_empty() {
            return Ok(());
        }
        let hint = match (registered.failed.first(), held.first()) {
            (Some((path, why)), _) => format!("{} is not loaded: {why}", path.display()),
            (None, Some(one)) => format!("{} runs when you trust the project: levain trust", one.name),
            (None, None) => "levain extensions lists the flags that there are".to_owned(),
        };
        Err((strange.join("; "), hint))
    }

    /// Loads these files, and asks what they register. On a thread of its own: whoever gathers settings may be waiting for
    /// something already.
    pub(super) fn registered_by(&self, paths: Vec<PathBuf>) -> Result<Registered, String> {
        let ask = || -> Result<Registered, String> {
            let text = |error: &dyn std::fmt::Display| error.to_string();
            let engine = self.engine(Limits::default(), None, &Changes::None).map_err(|error| text(&error))?;
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
            runtime.map_err(|error| text(&error))?.block_on(async {
                let mut failed = Vec::new();
                for path in paths {
                    let loaded = engine.load(&path).await.map_err(|error| text(&error))?;
                    failed.extend(loaded.result.err().map(|problem| (path, problem.message)));
                }
                let ask = Ask::Function { name: "providerDescriptions", arguments: Vec::new() };
                let (answer, _) = engine.ask(ask, false).await.map_err(|error| text(&error))?;
                let providers = answer.result.and_then(|all| all.as_array().cloned()).unwrap_or_default();
                let flags = engine.list().await.map_err(|error| text(&error))?.flags.clone();
                Ok(Registered { providers, flags, failed })
            })
        };
        std::thread::scope(|scope| scope.spawn(ask).join()).unwrap_or_else(|_| Err("the engine failed".to_owned()))
    }

    /// What is wrong with those flags, where these are the ones that extensions have.
    #[must_use]
    pub(super) fn strange_flags(&self, known: &[Value]) -> Vec<String> {
        let wrong = |given: &String| {
            let name = given.split_once('=').map_or(given.as_str(), |(name, _)| name);
            let of = known.iter().find(|flag| flag.get("name").is_some_and(|other| other == name));
            let is_text = |flag: &Value| flag.get("type").is_some_and(|kind| kind == "string");
            match (of, self.flag(name)) {
                (None, _) => Some(format!("no extension has the flag {name}")),
                (Some(flag), Some(Value::Bool(_))) if is_text(flag) => {
                    Some(format!("the flag {name} needs a value, as --flag {name}=…"))
                }
                (Some(flag), Some(Value::String(value))) if !is_text(flag) && !SWITCH.contains(&value.as_str()) => {
                    Some(format!("the flag {name} is true or false, not `{value}`"))
                }
                _ => None,
            }
        };
        self.flags.iter().filter_map(wrong).collect()
    }

    /// Whether those of the project may run. Reads every file that can run there.
    #[must_use]
    pub fn are_trusted(&self) -> bool {
        Trust::of(&self.dirs, &self.root).allows()
    }

    /// Starts an engine with none of them in it. Waits for it.
    ///
    /// # Errors
    /// As [`Engine::start`].
    pub fn engine(
        &self,
        limits: Limits,
        outside: Option<Arc<dyn Outside>>,
        changes: &Changes,
    ) -> Result<Engine, EngineError> {
        let text = |value: &std::ffi::OsStr| value.to_str().map(str::to_owned);
        let variables = self.environment.variables();
        let environment = variables.filter_map(|(name, value)| Some((text(name)?, text(value)?))).collect();
        let hidden = vec![self.dirs.config.clone(), self.dirs.state.clone()];
        let temporary = environment_of(&self.environment, "TMPDIR").unwrap_or_else(|| "/tmp".into());
        // Some make a folder for temporary files as they load; whoever only looks lets them do that.
        let (write, kept) = match changes {
            Changes::OfThread { .. } => (
                [pi_settings::FOLDER, pi_settings::OWN_FOLDER]
                    .map(|folder| self.dirs.home.join(folder))
                    .into_iter()
                    .chain([self.root.clone(), temporary])
                    .chain(self.folders.clone())
                    .collect(),
                Vec::new(),
            ),
            Changes::None => (vec![temporary], vec![self.root.clone(), self.dirs.home.clone()]),
        };
        // The home folder may be a project, too.
        let guarded = [&self.root, &self.home].into_iter().flat_map(|root| GUARDED.map(|path| root.join(path)));
        let own = OWN_FOLDERS.iter().map(|path| self.home.join(path));
        let of_pi = [&self.root, &self.home].map(|root| root.join(pi_settings::FOLDER));
        let of_pi = of_pi.into_iter().chain([self.home.join(pi_settings::OWN_FOLDER)]).collect::<Vec<_>>();
        let own = own.chain(of_pi.iter().flat_map(|folder| pi_settings::DECIDES.map(|name| folder.join(name))));
        let (of_project, of_person) = PiSettings::both(&self.root, &self.home);
        let named = of_project.runnable.iter().cloned().chain(of_person.runnable);
        let guarded = guarded.chain(own).chain(named).chain(kept).collect();
        let trusted = trust::FOLDERS.iter().map(|folder| self.root.join(".ai").join(folder));
        let trusted = trusted.chain([self.root.join(FOLDERS[1])]).chain(of_project.runnable.iter().cloned());
        let (data, session) = match changes {
            Changes::OfThread { session } => (vec![self.home.join(OWN_FOLDERS[1])], session.clone()),
            Changes::None => (Vec::new(), None),
        };
        let (only_looks, looked_through) = (*changes == Changes::None, trusted.collect());
        let policy = Policy { hidden, write, guarded, session, data, only_looks, looked_through };
        let (cwd, home) = (self.root.clone(), self.dirs.home.clone());
        Engine::start(Settings { cwd, home, environment, limits, policy, outside })
    }
}

/// What extensions may change, beside temporary files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Changes {
    None,
    /// Files of the project and what they keep for themselves, as in a thread; where that has a folder for them, also there.
    OfThread {
        session: Option<PathBuf>,
    },
}

fn environment_of(environment: &Environment, name: &str) -> Option<PathBuf> {
    let found = environment.variables().find(|(other, _)| other.to_str() == Some(name));
    found.map(|(_, value)| PathBuf::from(value)).filter(|path| path.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_are_called_by_what_tells_them_apart() {
        for (path, name) in [
            ("/p/.pi/extensions/guard.ts", "guard.ts"),
            ("/p/.pi/extensions/guard/index.ts", "guard/index.ts"),
            ("/home/a/packages/cwd/src/index.ts", "cwd/src/index.ts"),
            ("/p/node_modules/pi-btw/extensions/index.ts", "pi-btw"),
            ("/p/node_modules/@a/pi-cwd/src/index.ts", "@a/pi-cwd"),
            ("/p/node_modules/@a/pi-many/dist/todo.js", "@a/pi-many/todo.js"),
            ("/index.ts", "index.ts"),
        ] {
            assert_eq!(name_of(Path::new(path)), name);
        }
    }
}
