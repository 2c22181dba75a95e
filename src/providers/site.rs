//! A place that answers: its address, its key, and what every request to it carries.

use super::http;
use crate::domain::event::CallError;
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use secrecy::SecretString;

/// How a key travels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Auth {
    /// `authorization: Bearer KEY`
    Bearer,
    /// The key alone under this name.
    Header(HeaderName),
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Site {
    pub base: Url,
    pub key: Option<SecretString>,
    /// `None`: as the wire form has it.
    pub auth: Option<Auth>,
    /// More headers, none of them secret.
    pub headers: Vec<(HeaderName, HeaderValue)>,
}

impl Site {
    #[must_use]
    pub fn new(base: Url, key: Option<SecretString>) -> Self {
        Self { base, key, auth: None, headers: Vec::new() }
    }

    /// The base address with `path` behind it; an `ending` that the base has already is not said twice.
    pub(crate) fn url(&self, ending: &str, path: &str) -> Url {
        let mut url = self.base.clone();
        let base = url.path().trim_end_matches('/');
        let path = format!("{}{ending}{path}", base.strip_suffix(ending).unwrap_or(base));
        url.set_path(&path);
        url
    }

    /// The headers of a request whose wire form sends keys by `usual`.
    pub(crate) fn request_headers(&self, usual: Auth) -> Result<Vec<(HeaderName, HeaderValue)>, CallError> {
        let mut headers = self.headers.clone();
        if let Some(key) = &self.key {
            headers.push(match self.auth.clone().unwrap_or(usual) {
                Auth::Bearer => (AUTHORIZATION, http::secret_header("Bearer ", key)?),
                Auth::Header(name) => (name, http::secret_header("", key)?),
            });
        }
        Ok(headers)
    }
}
