//! The person's settings: which model, directive and theme, how long workers linger, what is trusted.
//!
//! Settings come in layers: built in, the user's `config.toml`, the project's `levain.toml`, environment, arguments. A
//! later layer wins, and every value remembers the file and line (or variable, or argument) it came from. A mistake
//! costs only the setting it is in: it is reported as a [`Problem`] and the value below it stays in force.
//!
//! Keys and base URLs are no settings: a project's file must never be able to say where a key is sent.

pub mod authority;
mod file;
pub mod paths;
mod settings;
pub mod trust;

pub use crate::domain::Problem;
pub use authority::{Authorities, Authority};
pub use paths::{Dirs, FoundBy, Project};
pub use trust::Trust;

use crate::domain::{Bounds, ModelRef, Policies, SandboxMode, USUAL_DIRECTIVE};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

/// The project's settings, relative to its root.
pub const PROJECT_FILE: &str = ".ai/config/levain.toml";

/// Where a value was set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    BuiltIn,
    File {
        path: PathBuf,
        /// Counts from 1.
        line: u32,
    },
    /// The name of the variable.
    Environment(&'static str),
    /// The argument as it is written on the command line.
    Argument(&'static str),
}

impl fmt::Display for Source {
    /// `built in`, `/home/a/.config/levain/config.toml:3`, `$LEVAIN_MODEL`, `--model`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => formatter.write_str("built in"),
            Self::File { path, line } => write!(formatter, "{}:{line}", path.display()),
            Self::Environment(variable) => write!(formatter, "${variable}"),
            Self::Argument(argument) => formatter.write_str(argument),
        }
    }
}

/// A value and where it was set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sourced<T> {
    pub value: T,
    pub source: Source,
}

impl<T> Sourced<T> {
    fn built_in(value: T) -> Self {
        Self { value, source: Source::BuiltIn }
    }
}

/// How the terminal is asked to notify a person who looks elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notifications {
    /// As the terminal is known to take it, else as most do.
    Auto,
    /// `OSC 9 ; TEXT`: iTerm2, kitty, `WezTerm`, Windows Terminal and others.
    Osc9,
    /// `OSC 777 ; notify ; TITLE ; TEXT`: foot, urxvt and others.
    Osc777,
    Off,
}

impl Notifications {
    /// The word in settings.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Osc9 => "osc9",
            Self::Osc777 => "osc777",
            Self::Off => "off",
        }
    }
}

/// Which theme to draw with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ThemeChoice {
    /// Light or dark, as the terminal tells its background.
    Auto,
    /// The theme of that name, built in or from the user's `themes` folder.
    Named(String),
}

impl ThemeChoice {
    /// The theme that is named.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Auto => None,
            Self::Named(name) => Some(name),
        }
    }
}

/// What the command line said. Arguments were checked when they were parsed, so they bring no problems.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arguments {
    pub model: Option<ModelRef>,
    /// A tier or the name of a model without its provider, in the place of `model`.
    pub tier: Option<String>,
    pub directive: Option<String>,
    /// Files of extensions to load besides those that are found.
    pub extensions: Vec<PathBuf>,
    /// Flags of extensions: a name, and with `=` a value.
    pub flags: Vec<String>,
}

/// All settings, merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// `None`: the first model that can be used.
    pub model: Option<Sourced<ModelRef>>,
    pub directive: Sourced<String>,
    pub theme: Sourced<ThemeChoice>,
    /// Whether the program asks the terminal for mouse reports.
    pub mouse: Sourced<bool>,
    /// Whether the terminal's bell calls somebody who looks elsewhere.
    pub bell: Sourced<bool>,
    /// How the terminal is asked to notify them.
    pub notifications: Sourced<Notifications>,
    /// Whether the window is called after what the thread does.
    pub window_title: Sourced<bool>,
    /// Whether links are given to the terminal. `None`: if it is one that is known to make links of them.
    pub links: Option<Sourced<bool>>,
    /// How long an interactive worker with nothing to do stays after its last screen left in order.
    pub idle_seconds: Sourced<u64>,
    /// The same after a screen vanished without a word.
    pub orphan_seconds: Sourced<u64>,
    /// The same where the thread waits for a person's word on a call.
    pub unanswered_seconds: Sourced<u64>,
    /// Whether model servers on this machine are looked for when nothing else says which model to ask.
    pub local_servers: Sourced<bool>,
    /// Folders with a `.ai` that belong to the system space, behind what the program brings.
    pub bundles: Option<Sourced<Vec<PathBuf>>>,
    /// Variables that commands get beside those that are known to be harmless.
    pub tool_environment: Sourced<Vec<String>>,
    /// Hosts that extensions may reach.
    pub extension_hosts: Sourced<Vec<String>>,
    /// Folders in which extensions may write beside those that they all may.
    pub extension_folders: Sourced<Vec<PathBuf>>,
    /// Whether commands of models are confined.
    pub sandbox: Sourced<SandboxMode>,
    /// What missing and bad signatures mean in each space.
    pub signatures: Sourced<Policies>,
    /// How large what models and people send may be. Each number is set by itself.
    pub bounds: Bounds,
    /// Where those are set that are.
    pub bounded: BTreeMap<&'static str, Source>,
    /// A keymap laid over the default one. `None`: `keymap.toml` beside the user's `config.toml`, if there is one.
    pub keymap: Option<Sourced<PathBuf>>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            model: None,
            directive: Sourced::built_in(USUAL_DIRECTIVE.to_owned()),
            theme: Sourced::built_in(ThemeChoice::Auto),
            mouse: Sourced::built_in(true),
            bell: Sourced::built_in(true),
            notifications: Sourced::built_in(Notifications::Auto),
            window_title: Sourced::built_in(true),
            links: None,
            idle_seconds: Sourced::built_in(0),
            orphan_seconds: Sourced::built_in(30),
            unanswered_seconds: Sourced::built_in(3_600),
            local_servers: Sourced::built_in(true),
            bundles: None,
            tool_environment: Sourced::built_in(Vec::new()),
            extension_hosts: Sourced::built_in(Vec::new()),
            extension_folders: Sourced::built_in(Vec::new()),
            sandbox: Sourced::built_in(SandboxMode::default()),
            signatures: Sourced::built_in(Policies::default()),
            bounds: Bounds::USUAL,
            bounded: BTreeMap::new(),
            keymap: None,
        }
    }
}

impl Config {
    /// Every setting with its value as text and where it was set, by name.
    #[must_use]
    pub fn told(&self) -> Vec<(&'static str, String, Source)> {
        let theme = match &self.theme.value {
            ThemeChoice::Auto => "auto".to_owned(),
            ThemeChoice::Named(name) => name.clone(),
        };
        let path = |path: &PathBuf| path.display().to_string();
        let model = self.model.as_ref().map(|model| (model.value.to_string(), &model.source));
        let paths = |all: &[PathBuf]| all.iter().map(path).collect::<Vec<_>>().join(":");
        let bundles = self.bundles.as_ref().map(|bundles| (paths(&bundles.value), &bundles.source));
        let keymap = self.keymap.as_ref().map(|keymap| (path(&keymap.value), &keymap.source));
        let links = self.links.as_ref().map_or(("auto".to_owned(), &Source::BuiltIn), |links| {
            (if links.value { "on" } else { "off" }.to_owned(), &links.source)
        });
        let unset = (String::new(), &Source::BuiltIn);
        let mut all = vec![
            ("model", model.unwrap_or_else(|| unset.clone())),
            ("directive", (self.directive.value.clone(), &self.directive.source)),
            ("theme", (theme, &self.theme.source)),
            ("mouse", (self.mouse.value.to_string(), &self.mouse.source)),
            ("bell", (self.bell.value.to_string(), &self.bell.source)),
            ("notifications", (self.notifications.value.word().to_owned(), &self.notifications.source)),
            ("window_title", (self.window_title.value.to_string(), &self.window_title.source)),
            ("links", links),
            ("idle_seconds", (self.idle_seconds.value.to_string(), &self.idle_seconds.source)),
            ("orphan_seconds", (self.orphan_seconds.value.to_string(), &self.orphan_seconds.source)),
            ("unanswered_seconds", (self.unanswered_seconds.value.to_string(), &self.unanswered_seconds.source)),
            ("local_servers", (self.local_servers.value.to_string(), &self.local_servers.source)),
            ("bundles", bundles.unwrap_or_else(|| unset.clone())),
            ("tool_environment", (self.tool_environment.value.join(","), &self.tool_environment.source)),
            ("extension_hosts", (self.extension_hosts.value.join(","), &self.extension_hosts.source)),
            ("extension_folders", (paths(&self.extension_folders.value), &self.extension_folders.source)),
            ("sandbox", (self.sandbox.value.word().to_owned(), &self.sandbox.source)),
            ("signatures", (self.signatures.value.to_string(), &self.signatures.source)),
            ("keymap", keymap.unwrap_or(unset)),
        ];
        let bounds = [
            ("max_answer_kb", self.bounds.answer >> 10),
            ("max_arguments_kb", self.bounds.arguments >> 10),
            ("max_calls", self.bounds.calls),
            ("max_clients", self.bounds.clients),
            ("max_prompt_kb", self.bounds.prompt >> 10),
            ("max_result_kb", self.bounds.result >> 10),
        ];
        all.extend(
            bounds.map(|(name, value)| (name, (value.to_string(), self.bounded.get(name).unwrap_or(&Source::BuiltIn)))),
        );
        all.sort_by_key(|(name, _)| *name);
        all.into_iter().map(|(name, (value, source))| (name, value, source.clone())).collect()
    }

    /// Reads every layer and merges them. `environment` looks a variable up; an empty one counts as unset. Files that
    /// do not exist are no problem.
    #[must_use]
    pub fn load(
        dirs: &Dirs,
        project: Option<&Path>,
        environment: &dyn Fn(&str) -> Option<OsString>,
        arguments: Arguments,
    ) -> (Self, Vec<Problem>) {
        let mut config = Self::default();
        let mut problems = Vec::new();
        file::apply(&mut config, &dirs.config_file(), file::Owner::User, dirs, &mut problems);
        if let Some(root) = project {
            file::apply(&mut config, &root.join(PROJECT_FILE), file::Owner::Project, dirs, &mut problems);
        }
        settings::apply_environment(&mut config, environment, dirs, &mut problems);
        if let Some(model) = arguments.model {
            config.model = Some(Sourced { value: model, source: Source::Argument("--model") });
        }
        if let Some(directive) = arguments.directive {
            config.directive = Sourced { value: directive, source: Source::Argument("DIRECTIVE") };
        }
        (config, problems)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn load(
        user: &str,
        project: &str,
        variables: &[(&str, &str)],
        arguments: Arguments,
    ) -> (Config, Vec<String>, Dirs, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let dirs = Dirs::below(folder.path());
        let root = folder.path().join("project");
        fs::create_dir_all(root.join(".ai/config")).unwrap();
        fs::create_dir_all(&dirs.config).unwrap();
        fs::write(dirs.config_file(), user).unwrap();
        fs::write(root.join(PROJECT_FILE), project).unwrap();
        let environment = |name: &str| {
            variables.iter().find(|(variable, _)| *variable == name).map(|(_, value)| OsString::from(value))
        };
        let (config, problems) = Config::load(&dirs, Some(&root), &environment, arguments);
        (config, problems.iter().map(|problem| problem.message.clone()).collect(), dirs, folder)
    }

    #[test]
    fn each_layer_wins_over_the_one_before() {
        let (config, problems, dirs, folder) = load(
            "# mine\nmodel = \"openai/a\"\nmouse = false\ntheme = \"dark\"\nidle_seconds = 5\n",
            "model = \"openai/b\"\ntheme = \"light\"\n",
            &[("LEVAIN_MODEL", "openai/c"), ("LEVAIN_ORPHAN_SECONDS", "7"), ("LEVAIN_THEME", "")],
            Arguments { model: Some(ModelRef::new("openai", "d")), ..Arguments::default() },
        );
        assert_eq!(problems, Vec::<String>::new());
        let model = config.model.unwrap();
        assert_eq!((model.value.to_string().as_str(), model.source.to_string().as_str()), ("openai/d", "--model"));
        assert_eq!(config.mouse, Sourced { value: false, source: Source::File { path: dirs.config_file(), line: 3 } });
        let project_file = folder.path().join("project").join(PROJECT_FILE);
        assert_eq!(
            config.theme,
            Sourced { value: ThemeChoice::Named("light".into()), source: Source::File { path: project_file, line: 2 } }
        );
        assert_eq!(config.idle_seconds.value, 5);
        assert_eq!(config.orphan_seconds, Sourced { value: 7, source: Source::Environment("LEVAIN_ORPHAN_SECONDS") });
        assert_eq!(config.directive, Sourced::built_in("levain/chat".into()));
    }

    #[test]
    fn a_mistake_leaves_the_value_below_it_in_force() {
        let (config, problems, ..) = load(
            "model = \"openai/a\"\nmouse = 3\n",
            "model = 7\ndirective = \"team/deploy\"\n",
            &[("LEVAIN_MODEL", "gpt"), ("LEVAIN_MOUSE", "perhaps")],
            Arguments::default(),
        );
        assert_eq!(config.model.unwrap().value.to_string(), "openai/a");
        assert!(config.mouse.value);
        assert_eq!(config.directive.value, "team/deploy");
        assert_eq!(problems.len(), 4, "{problems:?}");
    }

    #[test]
    fn a_project_cannot_reach_the_users_own_settings() {
        let (config, problems, ..) = load(
            "",
            "mouse = false\nkeymap = \"/etc/passwd\"\nbase_url = \"http://elsewhere\"\nidle_seconds = 9\n",
            &[],
            Arguments::default(),
        );
        assert_eq!(config, Config::default());
        assert_eq!(problems.len(), 4, "{problems:?}");
    }

    #[test]
    fn a_keymap_is_found_beside_the_file_that_names_it() {
        let (config, _, dirs, _folder) = load("keymap = \"mine.toml\"\n", "", &[], Arguments::default());
        assert_eq!(config.keymap.unwrap().value, dirs.config.join("mine.toml"));
        let (config, _, dirs, _folder) = load("keymap = \"~/mine.toml\"\n", "", &[], Arguments::default());
        assert_eq!(config.keymap.unwrap().value, dirs.home.join("mine.toml"));
    }
}
