//! A place that answers: its address, its key, and what every request to it carries.

use super::http;
use crate::domain::OpenHeaders;
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
    /// The address of calls as somebody wrote it, in the place of one made from the base. `{model}` in its path stands for
    /// the model.
    pub whole: Option<Url>,
    pub key: Option<SecretString>,
    /// `None`: as the wire form has it.
    pub auth: Option<Auth>,
    /// More headers; one that is secret says so.
    pub headers: Vec<(HeaderName, HeaderValue)>,
}

impl Site {
    #[must_use]
    pub fn new(base: Url, key: Option<SecretString>) -> Self {
        Self { base, whole: None, key, auth: None, headers: Vec::new() }
    }

    /// The key, and the values of secret headers.
    pub(crate) fn secrets(&self) -> Vec<SecretString> {
        let headers = self.headers.iter().filter(|(_, value)| value.is_sensitive());
        let headers = headers.filter_map(|(_, value)| Some(value.to_str().ok()?.into()));
        self.key.iter().cloned().chain(headers).collect()
    }

    /// The address for calls of `model` that somebody wrote as a whole.
    pub(crate) fn whole(&self, model: &str) -> Option<Url> {
        let mut url = self.whole.clone()?;
        // Braces in a path are escaped when an address is read.
        let path = url.path().replace("%7Bmodel%7D", model);
        url.set_path(&path);
        Some(url)
    }

    /// The base address with `path` behind it; an `ending` that the base has already is not said twice.
    pub(crate) fn url(&self, ending: &str, path: &str) -> Url {
        let mut url = self.base.clone();
        let base = url.path().trim_end_matches('/');
        let path = format!("{}{ending}{path}", base.strip_suffix(ending).unwrap_or(base));
        url.set_path(&path);
        url
    }

    /// What handlers may see and change of them, where the wire form sends keys by `usual`.
    pub(crate) fn open_headers(&self, usual: &Auth) -> OpenHeaders {
        let told = self.headers.iter().filter_map(|(name, value)| {
            let told = !OpenHeaders::is_closed(name.as_str()) && !value.is_sensitive();
            Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())).filter(|_| told)
        });
        let key = match self.auth.as_ref().unwrap_or(usual) {
            Auth::Bearer => AUTHORIZATION,
            Auth::Header(name) => name.clone(),
        };
        OpenHeaders { told: told.collect(), key: Some(key.as_str().to_owned()) }
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
