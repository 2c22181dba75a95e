//! The environment that commands get: the person's, without what looks like a secret.
//!
//! A model reads what its commands print, and `env` prints everything. So a variable is left out when a provider's key
//! is known to be in it, when a word of its name says that it holds a secret, or when its value is an address with a
//! password in it.

use std::ffi::OsString;

/// Words of names that hold secrets.
const WORDS: [&str; 12] = [
    "KEY",
    "KEYS",
    "APIKEY",
    "TOKEN",
    "TOKENS",
    "SECRET",
    "SECRETS",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "CREDENTIALS",
];

/// What every command gets: nothing waits for a person, nothing is drawn for one.
const GIVEN: [(&str, &str); 4] =
    [("TERM", "dumb"), ("PAGER", "cat"), ("GIT_PAGER", "cat"), ("GIT_TERMINAL_PROMPT", "0")];

/// Variables for commands.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    variables: Vec<(OsString, OsString)>,
}

impl Environment {
    /// `variables` without secrets; `hidden` names more that hold one.
    #[must_use]
    pub fn scrubbed(variables: impl IntoIterator<Item = (OsString, OsString)>, hidden: &[&str]) -> Self {
        let harmless = |(name, value): &(OsString, OsString)| {
            let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
            !hidden.contains(&name.as_ref()) && !names_a_secret(&name) && !holds_a_password(&value)
        };
        let given = |name: &OsString| GIVEN.iter().any(|(own, _)| name == *own);
        let mut kept: Vec<_> = variables.into_iter().filter(harmless).filter(|(name, _)| !given(name)).collect();
        kept.extend(GIVEN.iter().map(|(name, value)| (name.into(), value.into())));
        Self { variables: kept }
    }

    /// Names and values.
    pub fn variables(&self) -> impl Iterator<Item = (&OsString, &OsString)> {
        self.variables.iter().map(|(name, value)| (name, value))
    }
}

fn names_a_secret(name: &str) -> bool {
    name.split(|letter: char| !letter.is_ascii_alphanumeric())
        .any(|word| WORDS.iter().any(|secret| word.eq_ignore_ascii_case(secret)))
}

/// `scheme://user:password@host`
fn holds_a_password(value: &str) -> bool {
    value.split("://").skip(1).any(|rest| {
        let authority = rest.split(['/', '?', '#', ' ']).next().unwrap_or_default();
        authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_left_out_and_the_rest_stays() {
        let variables = [
            ("PATH", "/bin"),
            ("ANTHROPIC_API_KEY", "x"),
            ("github_token", "x"),
            ("DB_PASSWORD", "x"),
            ("DATABASE_URL", "postgres://me:pw@host/db"),
            ("PROJECT_URL", "https://host/a:b@c"),
            ("KEYBOARD", "us"),
            ("MY_LLM", "x"),
            ("TERM", "xterm"),
        ];
        let variables = variables.map(|(name, value)| (name.into(), value.into()));
        let kept = Environment::scrubbed(variables, &["MY_LLM"]).variables;
        let names: Vec<_> = kept.iter().map(|(name, _)| name.to_str().unwrap()).collect();
        assert_eq!(names, ["PATH", "PROJECT_URL", "KEYBOARD", "TERM", "PAGER", "GIT_PAGER", "GIT_TERMINAL_PROMPT"]);
        assert_eq!(kept[3].1, "dumb");
    }
}
