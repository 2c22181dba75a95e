//! The environment that commands get: variables that are known to be harmless, and those that the person names.
//!
//! A model reads what its commands print, and `env` prints everything. No list of words tells every secret by its name,
//! so it is the other way round: a variable is left out unless it is listed here or in the person's own settings. Of
//! those, one with a password in an address is left out too, and the variables of providers' keys always.

use std::ffi::OsString;

/// Variables that commands need and that hold no secret: who and where the person is, the language, and where the
/// usual tools keep their things.
const HARMLESS: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "HOSTNAME",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "TMP",
    "TEMP",
    "XDG_CONFIG_HOME",
    "XDG_CONFIG_DIRS",
    "XDG_DATA_HOME",
    "XDG_DATA_DIRS",
    "XDG_STATE_HOME",
    "XDG_CACHE_HOME",
    "XDG_RUNTIME_DIR",
    "NO_COLOR",
    "CI",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "CC",
    "CXX",
    "CFLAGS",
    "CPPFLAGS",
    "CXXFLAGS",
    "LDFLAGS",
    "MAKEFLAGS",
    "PKG_CONFIG_PATH",
    "LD_LIBRARY_PATH",
    "LIBRARY_PATH",
    "CPATH",
    "CARGO_HOME",
    "CARGO_TARGET_DIR",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "RUSTFLAGS",
    "GOPATH",
    "GOROOT",
    "GOBIN",
    "GOCACHE",
    "GOMODCACHE",
    "GOFLAGS",
    "JAVA_HOME",
    "JDK_HOME",
    "M2_HOME",
    "MAVEN_HOME",
    "GRADLE_HOME",
    "GRADLE_USER_HOME",
    "ANDROID_HOME",
    "ANDROID_SDK_ROOT",
    "DOTNET_ROOT",
    "NVM_DIR",
    "NVM_BIN",
    "FNM_DIR",
    "VOLTA_HOME",
    "PNPM_HOME",
    "BUN_INSTALL",
    "DENO_DIR",
    "NODE_PATH",
    "NODE_ENV",
    "PYENV_ROOT",
    "PYENV_VERSION",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "CONDA_DEFAULT_ENV",
    "PYTHONPATH",
    "PYTHONHOME",
    "PIPX_HOME",
    "UV_CACHE_DIR",
    "RBENV_ROOT",
    "RBENV_VERSION",
    "GEM_HOME",
    "GEM_PATH",
    "BUNDLE_PATH",
    "ASDF_DIR",
    "ASDF_DATA_DIR",
    "MISE_DATA_DIR",
    "SDKMAN_DIR",
    "HOMEBREW_PREFIX",
    "NIX_PATH",
    "NIX_PROFILES",
    "NIX_SSL_CERT_FILE",
    "OPAMROOT",
    "GHCUP_INSTALL_BASE_PREFIX",
    "PERL5LIB",
    "LUA_PATH",
];

/// Names that begin like this are harmless too.
const HARMLESS_BEGINNING: &str = "LC_";

/// What every command gets: nothing waits for a person, nothing is drawn for one, and Python leaves no compiled modules beside
/// its files, where a project would have to be trusted anew: it runs them without a look at what they were made from.
const GIVEN: [(&str, &str); 5] = [
    ("TERM", "dumb"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("PYTHONDONTWRITEBYTECODE", "1"),
];

/// Words of names that hold secrets.
const WORDS: [&str; 27] = [
    "KEY",
    "KEYS",
    "APIKEY",
    "TOKEN",
    "TOKENS",
    "SECRET",
    "SECRETS",
    "PASS",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "CREDENTIALS",
    "CREDS",
    "PAT",
    "JWT",
    "COOKIE",
    "COOKIES",
    "BEARER",
    "AUTHORIZATION",
    "OTP",
    "DSN",
    "SIGNATURE",
    "SIGNING",
    "PIN",
    "SALT",
    "WEBHOOK",
];

/// Parts of names that hold secrets, wherever they stand.
const PARTS: [&str; 6] = ["SECRET", "PASSW", "TOKEN", "APIKEY", "API_KEY", "CREDENTIAL"];

/// Variables for commands.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    variables: Vec<(OsString, OsString)>,
}

impl Environment {
    /// Of `variables` the harmless ones and those that the person `named`; never one of `hidden`, which hold providers'
    /// keys, and none whose value is an address with a password in it unless the person named it.
    #[must_use]
    pub fn allowed(
        variables: impl IntoIterator<Item = (OsString, OsString)>,
        named: &[String],
        hidden: &[String],
    ) -> Self {
        let given = |name: &str| GIVEN.iter().any(|(own, _)| name == *own);
        let allowed = |(name, value): &(OsString, OsString)| {
            let (Some(name), value) = (name.to_str(), value.to_string_lossy()) else { return false };
            let is_named = named.iter().any(|other| other == name);
            let is_known = is_harmless(name) && !holds_a_password(&value);
            (is_named || is_known) && !hidden.iter().any(|other| other == name) && !given(name)
        };
        let mut kept: Vec<_> = variables.into_iter().filter(allowed).collect();
        kept.extend(GIVEN.iter().map(|(name, value)| (name.into(), value.into())));
        Self { variables: kept }
    }

    /// With this variable beside them.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.retain(|(own, _)| own != name);
        self.variables.push((name.into(), value.into()));
        self
    }

    /// Names and values.
    pub fn variables(&self) -> impl Iterator<Item = (&OsString, &OsString)> {
        self.variables.iter().map(|(name, value)| (name, value))
    }
}

impl Environment {
    /// `text` with each `${NAME}` and `${NAME:-usual}` filled from these variables, and no others.
    ///
    /// # Errors
    /// The variable that is missing, in a sentence.
    pub fn expanded(&self, text: &str) -> Result<String, String> {
        let mut made = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            made.push_str(before);
            let (inside, behind) = after.split_once('}').ok_or_else(|| format!("`{text}` has no }}"))?;
            let (name, usual) = inside.split_once(":-").map_or((inside, None), |(name, usual)| (name, Some(usual)));
            let value = self.variables().find(|(other, _)| other.to_str() == Some(name)).map(|(_, value)| value);
            let value = value.and_then(|value| value.to_str()).or(usual);
            made.push_str(value.ok_or_else(|| {
                format!("it needs the variable {name}: name it in `tool_environment` of your settings, and set it")
            })?);
            rest = behind;
        }
        made.push_str(rest);
        Ok(made)
    }
}

/// Whether a variable of this name is known to hold no secret.
#[must_use]
pub fn is_harmless(name: &str) -> bool {
    name.starts_with(HARMLESS_BEGINNING) || HARMLESS.contains(&name)
}

/// Whether a variable looks as if it held a secret: by its name, or because its value is an address with a password.
#[must_use]
pub fn looks_secret(name: &str, value: &str) -> bool {
    if is_harmless(name) {
        return holds_a_password(value);
    }
    let upper = name.to_ascii_uppercase();
    let by_word = upper.split(|letter: char| !letter.is_ascii_alphanumeric()).any(|word| WORDS.contains(&word));
    by_word || PARTS.iter().any(|part| upper.contains(part)) || upper.ends_with("KEY") || holds_a_password(value)
}

/// `scheme://user:password@host`, also without the scheme, as proxies are written.
fn holds_a_password(value: &str) -> bool {
    let in_authority = |rest: &str| {
        let authority = rest.split(['/', '?', '#', ' ']).next().unwrap_or_default();
        authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
    };
    if value.contains("://") { value.split("://").skip(1).any(in_authority) } else { in_authority(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(variables: &[(&str, &str)], named: &[&str], hidden: &[&str]) -> Vec<String> {
        let variables = variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let kept = Environment::allowed(variables, &owned(named), &owned(hidden)).variables;
        assert!(kept.contains(&("TERM".into(), "dumb".into())));
        let given = |name: &str| GIVEN.iter().any(|(own, _)| *own == name);
        kept.iter().filter_map(|(name, _)| name.to_str()).filter(|name| !given(name)).map(str::to_owned).collect()
    }

    #[test]
    fn s08_only_listed_variables_reach_a_command() {
        let variables = [
            ("PATH", "/bin"),
            ("LC_ALL", "C"),
            ("CARGO_HOME", "/c"),
            ("https_proxy", "http://proxy:3128"),
            ("HTTP_PROXY", "http://me:pw@proxy:3128"),
            ("ALL_PROXY", "me:pw@proxy:1080"),
            ("DOCKER_HOST", "unix:///x"),
            ("EDITOR", "vi"),
            ("SSH_AUTH_SOCK", "/tmp/a"),
            ("MY_LLM", "x"),
            ("TERM", "xterm"),
        ];
        assert_eq!(names(&variables, &[], &[]), ["PATH", "LC_ALL", "CARGO_HOME", "https_proxy"]);
        let named = names(&variables, &["DOCKER_HOST", "MY_LLM", "TERM"], &["MY_LLM"]);
        assert_eq!(named, ["PATH", "LC_ALL", "CARGO_HOME", "https_proxy", "DOCKER_HOST"]);
        let secrets = [
            "OPENAI_KEY",
            "MYAPIKEY",
            "PGPASSWORD",
            "GH_PAT",
            "AWS_SESSION",
            "STRIPE_SK",
            "SENTRY_DSN",
            "DB_PASS",
            "DATABASE_URL",
            "GITHUB_AUTH",
            "JWT",
            "SLACK_WEBHOOK",
            "NPM_CONFIG__AUTH",
            "KUBECONFIG_DATA",
            "LLM",
        ];
        assert_eq!(names(&secrets.map(|name| (name, "x")), &[], &[]), [""; 0]);
    }

    #[test]
    fn what_looks_secret_is_told() {
        for (name, value) in [
            ("ANTHROPIC_API_KEY", "x"),
            ("MYAPIKEY", "x"),
            ("github_token", "x"),
            ("PGPASSWORD", "x"),
            ("DATABASE_URL", "postgres://me:pw@host/db"),
            ("HTTPS_PROXY", "http://me:pw@host"),
            ("GH_PAT", "x"),
        ] {
            assert!(looks_secret(name, value), "{name}");
        }
        for (name, value) in [
            ("PATH", "/a:/b"),
            ("KEYBOARD", "us"),
            ("PROJECT_URL", "https://host/a:b@c"),
            ("SSH_AUTH_SOCK", "/tmp/x"),
            ("PWD", "/a"),
            ("PATTERN", "x"),
        ] {
            assert!(!looks_secret(name, value), "{name}");
        }
    }
}
