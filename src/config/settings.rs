//! The table of settings: name, variable, who may set it, and how its value is read. Files, environment and the
//! messages about them all come from here.

use super::{Config, Dirs, Notifications, Source, Sourced, ThemeChoice};
use crate::domain::{Policies, Policy, Problem, SandboxMode, Severity};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use toml::de::DeValue;

/// A question that nobody answers keeps a process for so long at most.
const DAY: u64 = 24 * 60 * 60;

/// Longest time that can be set, so that no deadline overflows: one year.
const MAX_SECONDS: u64 = 365 * 24 * 3_600;

/// One setting.
pub(super) struct Setting {
    pub(super) name: &'static str,
    pub(super) variable: &'static str,
    /// Whether a project's file may set it: only what cannot harm the person who opens somebody's project.
    pub(super) in_project: bool,
    /// Whether a thread without it might do more, spend more or be told less, so that none starts while it does not read.
    pub(super) decides: bool,
    /// What a good value is, to finish "write …".
    pub(super) expects: &'static str,
    read: fn(&mut Config, &Given<'_>, Source) -> Result<(), Wrong>,
}

/// The value does not fit; [`Setting::expects`] says what would.
pub(super) struct Wrong;

/// A value as it was written.
pub(super) struct Given<'a> {
    pub(super) written: Written<'a>,
    /// What a relative path is relative to.
    pub(super) folder: &'a Path,
    pub(super) home: &'a Path,
}

pub(super) enum Written<'a> {
    Toml(&'a DeValue<'a>),
    Variable(&'a str),
}

pub(super) const SETTINGS: &[Setting] = &[
    Setting {
        name: "model",
        variable: "LEVAIN_MODEL",
        in_project: true,
        decides: true,
        expects: "provider/model as text, for example \"anthropic/claude-sonnet-4-5\"",
        read: |config, given, source| {
            let value = given.text()?.parse().map_err(|_bad| Wrong)?;
            config.model = Some(Sourced { value, source });
            Ok(())
        },
    },
    Setting {
        name: "directive",
        variable: "LEVAIN_DIRECTIVE",
        in_project: true,
        decides: true,
        expects: "the id of a directive, for example \"levain/chat\"",
        read: |config, given, source| {
            let value = given.text()?;
            let plain = value.split('/').all(|part| !part.is_empty() && part != "." && part != "..");
            if !plain || value.chars().any(char::is_control) {
                return Err(Wrong);
            }
            config.directive = Sourced { value: value.to_owned(), source };
            Ok(())
        },
    },
    Setting {
        name: "theme",
        variable: "LEVAIN_THEME",
        in_project: true,
        decides: false,
        expects: "\"auto\" or the name of a theme (letters, digits, - and _)",
        read: |config, given, source| {
            let name = given.text()?;
            let plain =
                !name.is_empty() && name.chars().all(|letter| letter.is_alphanumeric() || "-_".contains(letter));
            let value = match name {
                "auto" => ThemeChoice::Auto,
                _ if plain => ThemeChoice::Named(name.to_owned()),
                _ => return Err(Wrong),
            };
            config.theme = Sourced { value, source };
            Ok(())
        },
    },
    Setting {
        name: "mouse",
        variable: "LEVAIN_MOUSE",
        in_project: false,
        decides: false,
        expects: "true or false",
        read: |config, given, source| {
            config.mouse = Sourced { value: given.truth()?, source };
            Ok(())
        },
    },
    Setting {
        name: "bell",
        variable: "LEVAIN_BELL",
        in_project: false,
        decides: false,
        expects: "true or false",
        read: |config, given, source| {
            config.bell = Sourced { value: given.truth()?, source };
            Ok(())
        },
    },
    Setting {
        name: "notifications",
        variable: "LEVAIN_NOTIFICATIONS",
        in_project: false,
        decides: false,
        expects: "\"auto\", \"osc9\", \"osc777\" or \"off\"",
        read: |config, given, source| {
            let value = match given.text()? {
                "auto" => Notifications::Auto,
                "osc9" => Notifications::Osc9,
                "osc777" => Notifications::Osc777,
                "off" => Notifications::Off,
                _ => return Err(Wrong),
            };
            config.notifications = Sourced { value, source };
            Ok(())
        },
    },
    Setting {
        name: "window_title",
        variable: "LEVAIN_WINDOW_TITLE",
        in_project: false,
        decides: false,
        expects: "true or false",
        read: |config, given, source| {
            config.window_title = Sourced { value: given.truth()?, source };
            Ok(())
        },
    },
    Setting {
        name: "links",
        variable: "LEVAIN_LINKS",
        in_project: false,
        decides: false,
        expects: "\"auto\", \"on\" or \"off\"",
        read: |config, given, source| {
            config.links = match given.text()? {
                "auto" => None,
                "on" => Some(Sourced { value: true, source }),
                "off" => Some(Sourced { value: false, source }),
                _ => return Err(Wrong),
            };
            Ok(())
        },
    },
    Setting {
        name: "idle_seconds",
        variable: "LEVAIN_IDLE_SECONDS",
        in_project: false,
        decides: false,
        expects: "a whole number of seconds, at most a year",
        read: |config, given, source| {
            config.idle_seconds = Sourced { value: given.seconds()?, source };
            Ok(())
        },
    },
    Setting {
        name: "orphan_seconds",
        variable: "LEVAIN_ORPHAN_SECONDS",
        in_project: false,
        decides: false,
        expects: "a whole number of seconds, at most a year",
        read: |config, given, source| {
            config.orphan_seconds = Sourced { value: given.seconds()?, source };
            Ok(())
        },
    },
    Setting {
        name: "unanswered_seconds",
        variable: "LEVAIN_UNANSWERED_SECONDS",
        in_project: false,
        decides: false,
        expects: "a whole number of seconds, at most a day (86400)",
        read: |config, given, source| {
            let value = given.seconds()?;
            config.unanswered_seconds =
                Sourced { value: Some(value).filter(|value| *value <= DAY).ok_or(Wrong)?, source };
            Ok(())
        },
    },
    Setting {
        name: "local_servers",
        variable: "LEVAIN_LOCAL_SERVERS",
        in_project: false,
        decides: false,
        expects: "true or false",
        read: |config, given, source| {
            config.local_servers = Sourced { value: given.truth()?, source };
            Ok(())
        },
    },
    Setting {
        name: "bundles",
        variable: "LEVAIN_SYSTEM_SPACE",
        in_project: false,
        decides: true,
        expects: "folders that hold a .ai, for example [\"~/team-items\"]",
        read: |config, given, source| {
            config.bundles = Some(Sourced { value: given.paths()?, source });
            Ok(())
        },
    },
    Setting {
        name: "tool_environment",
        variable: "LEVAIN_TOOL_ENVIRONMENT",
        in_project: false,
        decides: false,
        expects: "names of variables, for example [\"DOCKER_HOST\"]",
        read: |config, given, source| {
            config.tool_environment = Sourced { value: given.names()?, source };
            Ok(())
        },
    },
    Setting {
        name: "extension_hosts",
        variable: "LEVAIN_EXTENSION_HOSTS",
        in_project: false,
        decides: false,
        expects: "hosts, for example [\"api.example.com\", \"*.example.org\"]",
        read: |config, given, source| {
            config.extension_hosts = Sourced { value: given.hosts()?, source };
            Ok(())
        },
    },
    Setting {
        name: "extension_folders",
        variable: "LEVAIN_EXTENSION_FOLDERS",
        in_project: false,
        decides: false,
        expects: "folders, for example [\"~/.config/acme\"]",
        read: |config, given, source| {
            config.extension_folders = Sourced { value: given.paths()?, source };
            Ok(())
        },
    },
    Setting {
        name: "sandbox",
        variable: "LEVAIN_SANDBOX",
        in_project: false,
        decides: true,
        expects: "\"auto\", \"off\" or \"require\"",
        read: |config, given, source| {
            let value = match given.text()? {
                "auto" => SandboxMode::Auto,
                "off" => SandboxMode::Off,
                "require" => SandboxMode::Require,
                _ => return Err(Wrong),
            };
            config.sandbox = Sourced { value, source };
            Ok(())
        },
    },
    Setting {
        name: "signatures",
        variable: "LEVAIN_SIGNATURES",
        in_project: false,
        decides: true,
        expects: "\"off\", \"warn\" or \"require\", or one for each space: \"project=require,user=warn\"",
        read: |config, given, source| {
            config.signatures = Sourced { value: policies(given.text()?).ok_or(Wrong)?, source };
            Ok(())
        },
    },
    Setting {
        name: "max_answer_kb",
        variable: "LEVAIN_MAX_ANSWER_KB",
        in_project: false,
        decides: true,
        expects: "a whole number of kB from 64 to 8192",
        read: |config, given, source| {
            config.bounds.answer = given.size(64..=8192)? << 10;
            config.bounded.insert("max_answer_kb", source);
            Ok(())
        },
    },
    Setting {
        name: "max_arguments_kb",
        variable: "LEVAIN_MAX_ARGUMENTS_KB",
        in_project: false,
        decides: true,
        expects: "a whole number of kB from 16 to 8192",
        read: |config, given, source| {
            config.bounds.arguments = given.size(16..=8192)? << 10;
            config.bounded.insert("max_arguments_kb", source);
            Ok(())
        },
    },
    Setting {
        name: "max_calls",
        variable: "LEVAIN_MAX_CALLS",
        in_project: false,
        decides: true,
        expects: "a whole number of calls from 1 to 1024",
        read: |config, given, source| {
            config.bounds.calls = given.size(1..=1024)?;
            config.bounded.insert("max_calls", source);
            Ok(())
        },
    },
    Setting {
        name: "max_clients",
        variable: "LEVAIN_MAX_CLIENTS",
        in_project: false,
        decides: true,
        expects: "a whole number of clients from 2 to 256",
        read: |config, given, source| {
            config.bounds.clients = given.size(2..=256)?;
            config.bounded.insert("max_clients", source);
            Ok(())
        },
    },
    Setting {
        name: "max_prompt_kb",
        variable: "LEVAIN_MAX_PROMPT_KB",
        in_project: false,
        decides: true,
        expects: "a whole number of kB from 16 to 8192",
        read: |config, given, source| {
            config.bounds.prompt = given.size(16..=8192)? << 10;
            config.bounded.insert("max_prompt_kb", source);
            Ok(())
        },
    },
    Setting {
        name: "max_result_kb",
        variable: "LEVAIN_MAX_RESULT_KB",
        in_project: false,
        decides: true,
        expects: "a whole number of kB from 16 to 4096",
        read: |config, given, source| {
            config.bounds.result = given.size(16..=4096)? << 10;
            config.bounded.insert("max_result_kb", source);
            Ok(())
        },
    },
    Setting {
        name: "keymap",
        variable: "LEVAIN_KEYMAP",
        in_project: false,
        decides: false,
        expects: "the path of a keymap file",
        read: |config, given, source| {
            config.keymap = Some(Sourced { value: given.path()?, source });
            Ok(())
        },
    },
];

impl Setting {
    /// How much a value that does not fit costs.
    pub(super) fn severity(&self) -> Severity {
        if self.decides { Severity::Fatal } else { Severity::Error }
    }

    /// Puts the value into `config`, or says what a good value would be.
    pub(super) fn set(&self, config: &mut Config, given: &Given<'_>, source: Source) -> Result<(), String> {
        (self.read)(config, given, source).map_err(|Wrong| format!("write {}", self.expects))
    }
}

impl Given<'_> {
    fn text(&self) -> Result<&str, Wrong> {
        match &self.written {
            Written::Toml(value) => value.as_str().ok_or(Wrong),
            Written::Variable(text) => Ok(text),
        }
    }

    fn truth(&self) -> Result<bool, Wrong> {
        match &self.written {
            Written::Toml(value) => value.as_bool().ok_or(Wrong),
            Written::Variable("true" | "1" | "yes" | "on") => Ok(true),
            Written::Variable("false" | "0" | "no" | "off") => Ok(false),
            Written::Variable(_) => Err(Wrong),
        }
    }

    fn number(&self) -> Option<u64> {
        match &self.written {
            Written::Toml(value) => {
                value.as_integer().and_then(|number| u64::from_str_radix(number.as_str(), number.radix()).ok())
            }
            Written::Variable(text) => text.parse().ok(),
        }
    }

    fn seconds(&self) -> Result<u64, Wrong> {
        self.number().filter(|seconds| *seconds <= MAX_SECONDS).ok_or(Wrong)
    }

    fn size(&self, range: std::ops::RangeInclusive<usize>) -> Result<usize, Wrong> {
        let number = self.number().and_then(|number| usize::try_from(number).ok());
        number.filter(|number| range.contains(number)).ok_or(Wrong)
    }

    fn path(&self) -> Result<PathBuf, Wrong> {
        self.resolve(self.text()?)
    }

    /// What `text` stands for in a file of this folder.
    fn resolve(&self, text: &str) -> Result<PathBuf, Wrong> {
        match text {
            "" => Err(Wrong),
            text => Ok(match text.strip_prefix("~/") {
                Some(below) => self.home.join(below),
                None => self.folder.join(text),
            }),
        }
    }

    /// Names of variables; in a variable they stand with commas between them.
    fn names(&self) -> Result<Vec<String>, Wrong> {
        self.words("_")
    }

    /// Names of hosts, which may have a port, and `*` for more than one; written like names.
    fn hosts(&self) -> Result<Vec<String>, Wrong> {
        self.words("-.:*")
    }

    /// Words of letters, digits and these.
    fn words(&self, others: &str) -> Result<Vec<String>, Wrong> {
        let checked = |name: &str| {
            let plain = |letter: char| letter.is_ascii_alphanumeric() || others.contains(letter);
            if name.is_empty() || !name.chars().all(plain) { Err(Wrong) } else { Ok(name.to_owned()) }
        };
        match &self.written {
            Written::Toml(value) => {
                let all = value.as_array().ok_or(Wrong)?.iter();
                all.map(|name| checked(name.get_ref().as_str().ok_or(Wrong)?)).collect()
            }
            Written::Variable(text) => text.split(',').map(|name| checked(name.trim())).collect(),
        }
    }

    /// A list of paths; in a variable they stand as in `PATH`.
    fn paths(&self) -> Result<Vec<PathBuf>, Wrong> {
        match &self.written {
            Written::Toml(value) => {
                let all = value.as_array().ok_or(Wrong)?.iter();
                all.map(|path| self.resolve(path.get_ref().as_str().ok_or(Wrong)?)).collect()
            }
            Written::Variable(text) => {
                Ok(std::env::split_paths(text).filter(|path| !path.as_os_str().is_empty()).collect())
            }
        }
    }
}

/// `warn`, or `project=require,user=off`; a space that is not named keeps the usual policy.
fn policies(text: &str) -> Option<Policies> {
    let policy = |word: &str| {
        [Policy::Off, Policy::Warn, Policy::Require].into_iter().find(|policy| policy.word() == word.trim())
    };
    if let Some(all) = policy(text) {
        return Some(Policies { project: all, user: all, system: all });
    }
    let mut policies = Policies::default();
    for part in text.split(',') {
        let (space, word) = part.split_once('=')?;
        let place = match space.trim() {
            "project" => &mut policies.project,
            "user" => &mut policies.user,
            "system" => &mut policies.system,
            _ => return None,
        };
        *place = policy(word)?;
    }
    Some(policies)
}

/// Lays the `LEVAIN_…` variables over `config`.
pub(super) fn apply_environment(
    config: &mut Config,
    environment: &dyn Fn(&str) -> Option<OsString>,
    dirs: &Dirs,
    problems: &mut Vec<Problem>,
) {
    for setting in SETTINGS {
        let Some(value) = environment(setting.variable).filter(|value| !value.is_empty()) else { continue };
        let text = value.to_string_lossy();
        let given = Given { written: Written::Variable(&text), folder: Path::new(""), home: &dirs.home };
        if let Err(remedy) = setting.set(config, &given, Source::Environment(setting.variable)) {
            let message = format!("${} cannot be `{text}`", setting.variable);
            problems.push(Problem { file: None, line: None, severity: setting.severity(), message, remedy });
        }
    }
}
