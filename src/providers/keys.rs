//! Keys of providers: from the vendors' usual variables, else from `credentials.toml`.
//!
//! Keys are held as secrets: no output of this module shows one, not even the error about a line that holds one.

use crate::domain::{Problem, Severity, meant};
use secrecy::SecretString;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use toml::de::DeTable;
use toml::{Table, Value};

/// Providers that take a key, each with the variables its vendor uses, the usual one first.
pub const VARIABLES: [(&str, &[&str]); 3] = [
    ("anthropic", &["ANTHROPIC_API_KEY"]),
    ("openai", &["OPENAI_API_KEY"]),
    ("gemini", &["GEMINI_API_KEY", "GOOGLE_API_KEY"]),
];

/// The keys at hand, by provider.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    by_provider: BTreeMap<String, SecretString>,
    /// Where a key would be looked for, to tell people who have none.
    file: Option<PathBuf>,
    /// Why what that file holds is not used, or not all of it.
    fault: Option<String>,
    /// The sections of that file, each with its line from 1.
    sections: Vec<(String, u32)>,
}

/// Why `credentials.toml`, or an entry of it, was not used.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    #[error("{} can be read by others, so its keys are not used; run `chmod 600 {}`", path.display(), path.display())]
    Exposed { path: PathBuf },
    #[error("could not read {}: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    /// The sentence does not quote the line, which may hold a key.
    #[error("{}, line {line}: {detail}", path.display())]
    Malformed { path: PathBuf, line: usize, detail: String },
}

impl Keys {
    /// The keys of the environment, which `env` looks up, and of the file at `credentials` where the environment has
    /// none. A missing file is an empty one. A file that must not or cannot be used costs its keys and nothing else, a
    /// mistake in it its own entry.
    pub fn load(env: impl Fn(&str) -> Option<String>, credentials: Option<&Path>) -> (Self, Vec<KeysError>) {
        let mut keys = Self::from_env(env);
        let Some(path) = credentials else { return (keys, Vec::new()) };
        keys.file = Some(path.to_owned());
        let (found, errors) = match read_private(path) {
            Ok(text) => {
                let text = text.unwrap_or_default();
                keys.sections = sections(&text);
                parse(&text, path)
            }
            Err(error) => (Vec::new(), vec![error]),
        };
        for (provider, key) in found {
            keys.by_provider.entry(provider).or_insert(key);
        }
        keys.fault = errors.first().map(ToString::to_string);
        (keys, errors)
    }

    /// The keys of the environment alone.
    #[must_use]
    pub fn from_env(env: impl Fn(&str) -> Option<String>) -> Self {
        let by_provider = VARIABLES
            .into_iter()
            .filter_map(|(provider, variables)| {
                let key = variables.iter().find_map(|variable| secret(&env(variable)?))?;
                Some((provider.to_owned(), key))
            })
            .collect();
        Self { by_provider, ..Self::default() }
    }

    /// Takes the key of `provider` from the first of `variables` that `env` knows, unless there is one.
    pub fn offer(&mut self, provider: &str, variables: &[String], env: impl Fn(&str) -> Option<String>) {
        if !self.by_provider.contains_key(provider)
            && let Some(key) = variables.iter().find_map(|variable| secret(&env(variable)?))
        {
            self.by_provider.insert(provider.to_owned(), key);
        }
    }

    /// Takes this key of `provider`, unless there is one.
    pub fn give(&mut self, provider: String, key: SecretString) {
        self.by_provider.entry(provider).or_insert(key);
    }

    /// The key of `provider`.
    #[must_use]
    pub fn get(&self, provider: &str) -> Option<&SecretString> {
        self.by_provider.get(provider)
    }

    /// What keeps keys of the file from being used.
    #[must_use]
    pub fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    /// What is wrong with the sections of the file: one whose name no key is looked for under, which are `known`. Of a
    /// provider that has its key from another, `shared` says which.
    #[must_use]
    pub fn strangers(&self, known: &BTreeSet<String>, shared: impl Fn(&str) -> Option<&'static str>) -> Vec<Problem> {
        let Some(file) = &self.file else { return Vec::new() };
        let strange = self.sections.iter().filter(|(name, _)| !known.contains(name));
        let told = strange.map(|(name, line)| {
            let (message, remedy) = if let Some(other) = shared(name) {
                (format!("levain reads no key from `[{name}]`"), format!("write the key below `[{other}]`"))
            } else {
                let message = format!("there is no provider `{name}`, so the key in `[{name}]` is not used");
                (message, meant(name, known.iter().map(String::as_str)))
            };
            Problem::at(file, *line, Severity::Error, message, remedy)
        });
        told.collect()
    }

    /// The file that was or would be read.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }
}

/// A key without the blanks that copying leaves around it; an empty one is none.
fn secret(text: &str) -> Option<SecretString> {
    let text = text.trim();
    (!text.is_empty()).then(|| SecretString::from(text))
}

/// The text of the file, if it exists and nobody else can read it.
fn read_private(path: &Path) -> Result<Option<String>, KeysError> {
    let io = |source| KeysError::Io { path: path.to_owned(), source };
    let mut file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io(error)),
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Of the open file, so that it cannot be exchanged in between.
        if file.metadata().map_err(io)?.permissions().mode() & 0o077 != 0 {
            return Err(KeysError::Exposed { path: path.to_owned() });
        }
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(io)?;
    Ok(Some(text))
}

/// The sections of the file, each with its line.
fn sections(text: &str) -> Vec<(String, u32)> {
    let Ok(table) = DeTable::parse(text) else { return Vec::new() };
    let tables = table.get_ref().iter().filter(|(_, value)| value.get_ref().is_table());
    tables.map(|(name, _)| (name.get_ref().to_string(), line_at(text, name.span().start))).collect()
}

/// The line, from 1, on which byte `offset` lies.
fn line_at(text: &str, offset: usize) -> u32 {
    let before = text.get(..offset).unwrap_or(text);
    u32::try_from(before.split('\n').count()).unwrap_or(u32::MAX)
}

/// The keys in `text`, and what is wrong with its other entries.
fn parse(text: &str, path: &Path) -> (Vec<(String, SecretString)>, Vec<KeysError>) {
    let malformed = |line, detail: String| KeysError::Malformed { path: path.to_owned(), line, detail };
    let line_of = |word: &str| text.lines().position(|line| line.contains(word)).map_or(1, |index| index + 1);
    let (mut keys, mut errors) = (Vec::new(), Vec::new());
    let table: Table = match text.parse() {
        Ok(table) => table,
        Err(error) => {
            let error: toml::de::Error = error;
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            let detail = "this is not TOML; write `api_key = \"…\"` below `[anthropic]`".to_owned();
            return (keys, vec![malformed(before.lines().count().max(1), detail)]);
        }
    };
    for (provider, value) in table {
        let Value::Table(entries) = value else {
            let detail = format!("`{provider}` is not a section; write `[{provider}]` and `api_key = \"…\"` below it");
            errors.push(malformed(line_of(&provider), detail));
            continue;
        };
        for (name, value) in entries {
            let line = line_of(&name);
            match (name.as_str(), value) {
                ("api_key", Value::String(key)) => keys.extend(secret(&key).map(|key| (provider.clone(), key))),
                ("api_key", _) => errors.push(malformed(line, "`api_key` must be a text in quotes".into())),
                (other, _) => {
                    let detail = format!("unknown name `{other}` in `[{provider}]`; write the key as `api_key`");
                    errors.push(malformed(line, detail));
                }
            }
        }
    }
    (keys, errors)
}

impl From<KeysError> for Problem {
    fn from(error: KeysError) -> Self {
        match error {
            KeysError::Exposed { path } => {
                let remedy = format!("run `chmod 600 {}`", path.display());
                Self::at(&path, None, Severity::Error, "can be read by others, so its keys are not used", remedy)
            }
            KeysError::Io { path, source } => Self::at(
                &path,
                None,
                Severity::Error,
                format!("could not be read: {source}"),
                "look at its permissions",
            ),
            KeysError::Malformed { path, line, detail } => {
                let (message, remedy) = detail.split_once("; ").unwrap_or((&detail, "write it in quotes"));
                Self::at(&path, u32::try_from(line).ok(), Severity::Error, message, remedy)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use secrecy::ExposeSecret;
    use std::os::unix::fs::PermissionsExt;

    fn load(text: &str, mode: u32, env: &[(&str, &str)]) -> (Keys, Vec<KeysError>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("credentials.toml");
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        Keys::load(
            |name| env.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()),
            Some(&path),
        )
    }

    fn key(keys: &Keys, provider: &str) -> Option<String> {
        keys.get(provider).map(|key| key.expose_secret().to_owned())
    }

    #[test]
    fn the_environment_goes_before_the_file() {
        let text = "[anthropic]\napi_key = \"file-a\"\n[openai]\napi_key = \" file-o \"\n";
        let (keys, errors) = load(text, 0o600, &[("ANTHROPIC_API_KEY", "env-a\n"), ("OPENAI_API_KEY", " ")]);
        assert!(errors.is_empty(), "{errors:?}");
        assert_eq!(key(&keys, "anthropic").as_deref(), Some("env-a"));
        assert_eq!(key(&keys, "openai").as_deref(), Some("file-o"));
        assert_eq!(key(&keys, "else"), None);
    }

    #[test]
    fn a_missing_file_is_an_empty_one() {
        let (keys, errors) = Keys::load(|_| None, Some(Path::new("no-such-folder/credentials.toml")));
        assert!(errors.is_empty());
        assert!(keys.get("anthropic").is_none());
    }

    #[test]
    fn a_file_open_to_others_is_refused_with_the_remedy() {
        for mode in [0o640, 0o604, 0o644] {
            let (keys, errors) = load("[openai]\napi_key = \"hush-hush\"\n", mode, &[("GEMINI_API_KEY", "g")]);
            let text = errors[0].to_string();
            assert_eq!((key(&keys, "openai"), key(&keys, "gemini").as_deref()), (None, Some("g")));
            assert_eq!(keys.fault(), Some(text.as_str()));
            assert!(text.contains("chmod 600") && text.contains("credentials.toml"), "{text}");
        }
    }

    #[test]
    fn no_output_shows_a_key() {
        let (keys, _) = load("[openai]\napi_key = \"hush-hush\"\n", 0o600, &[]);
        assert!(!format!("{keys:?}").contains("hush"));
        for bad in [
            "[openai]\napi_key = hush-hush\n",
            "openai = \"hush-hush\"\n",
            "[openai]\napikey = \"hush-hush\"\n",
            "[openai]\napi_key = [\"hush-hush\"]\n",
        ] {
            let (_, mut errors) = load(bad, 0o600, &[]);
            let error = errors.remove(0);
            assert!(!format!("{error} {error:?}").contains("hush"), "{error}");
            let line = if bad.starts_with("openai") { "line 1" } else { "line 2" };
            assert!(error.to_string().contains(line), "{error}");
            assert!(!Problem::from(error).to_string().contains("hush"));
        }
    }

    #[test]
    fn s16_a_section_of_nobody_is_told_with_the_nearest_name() {
        let text = "[openai]\napi_key = \"o\"\n\n[antropic]\napi_key = \"hush\"\n[openai-responses]\napi_key = \"x\"\n";
        let (keys, errors) = load(text, 0o600, &[]);
        assert!(errors.is_empty(), "{errors:?}");
        let known = BTreeSet::from(["anthropic".to_owned(), "openai".to_owned()]);
        let shared = |name: &str| (name == "openai-responses").then_some("openai");
        let mut told: Vec<_> = keys.strangers(&known, shared);
        told.sort_by_key(|problem| problem.line);
        let told: Vec<_> = told.iter().map(|it| (it.line, it.message.as_str(), it.remedy.as_str())).collect();
        let unused = "there is no provider `antropic`, so the key in `[antropic]` is not used";
        assert_eq!(told[0], (Some(4), unused, "did you mean `anthropic`?"));
        assert_eq!(told[1].2, "write the key below `[openai]`");
        assert_eq!(told.len(), 2);
    }

    #[test]
    fn s07_a_mistake_costs_its_own_entry() {
        let text = "[anthropic]\nkey = \"a\"\n[openai]\napi_key = \"o\"\n[gemini]\napi_key = 7\n";
        let (keys, errors) = load(text, 0o600, &[]);
        assert_eq!((key(&keys, "openai").as_deref(), key(&keys, "gemini"), errors.len()), (Some("o"), None, 2));
    }
}
