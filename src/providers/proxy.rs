//! Proxies whose address holds a password: it is no longer in the environment, where the HTTP client would look for it.

use reqwest::{ClientBuilder, NoProxy, Proxy};
use secrecy::{ExposeSecret, SecretString};

/// The usual variables; those in capitals count where the others are not set.
const HTTP: [&str; 2] = ["http_proxy", "HTTP_PROXY"];
const HTTPS: [&str; 2] = ["https_proxy", "HTTPS_PROXY"];
const ALL: [&str; 2] = ["all_proxy", "ALL_PROXY"];
const NONE: [&str; 2] = ["no_proxy", "NO_PROXY"];

/// Which proxies to go through. Empty: those that the system names.
#[derive(Clone, Debug, Default)]
pub struct Proxies {
    http: Option<SecretString>,
    https: Option<SecretString>,
    all: Option<SecretString>,
    /// Hosts that are asked without.
    none: Option<String>,
}

impl Proxies {
    /// The variables that name them.
    pub fn variables() -> impl Iterator<Item = &'static str> {
        [HTTP, HTTPS, ALL, NONE].into_iter().flatten()
    }

    /// The proxies of the usual variables, which `env` looks up.
    #[must_use]
    pub fn from_env(env: impl Fn(&str) -> Option<String>) -> Self {
        let one = |names: [&str; 2]| names.into_iter().find_map(|name| env(name).filter(|text| !text.is_empty()));
        let secret = |names| one(names).map(SecretString::from);
        Self { http: secret(HTTP), https: secret(HTTPS), all: secret(ALL), none: one(NONE) }
    }

    /// Tells `builder` of them.
    ///
    /// # Errors
    /// When one of them is no address.
    pub(super) fn lay_over(&self, mut builder: ClientBuilder) -> reqwest::Result<ClientBuilder> {
        let none = || self.none.as_deref().and_then(NoProxy::from_string);
        if let Some(address) = &self.http {
            builder = builder.proxy(Proxy::http(address.expose_secret())?.no_proxy(none()));
        }
        if let Some(address) = &self.https {
            builder = builder.proxy(Proxy::https(address.expose_secret())?.no_proxy(none()));
        }
        if let Some(address) = &self.all {
            builder = builder.proxy(Proxy::all(address.expose_secret())?.no_proxy(none()));
        }
        Ok(builder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_variables_are_read_and_not_shown() {
        let env = |name: &str| match name {
            "HTTPS_PROXY" => Some("http://me:hush@proxy:1".to_owned()),
            "http_proxy" => Some("proxy:2".to_owned()),
            "no_proxy" => Some("localhost".to_owned()),
            _ => None,
        };
        let proxies = Proxies::from_env(env);
        assert!(proxies.https.is_some() && proxies.http.is_some() && proxies.all.is_none());
        assert!(!format!("{proxies:?}").contains("hush"));
        assert!(proxies.lay_over(ClientBuilder::new()).is_ok());
        assert!(Proxies::default().lay_over(ClientBuilder::new()).is_ok());
    }
}
