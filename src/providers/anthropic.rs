//! Anthropic's Messages API, and servers that speak it.
//!
//! `request` writes the body, `reply` reads the stream.

mod reply;
mod request;

use super::answer;
use super::http::{self, Http, Post};
use crate::domain::event::CallError;
use crate::ports::{CallRequest, Provider, ProviderStream};
use reqwest::Url;
use reqwest::header::{HeaderName, HeaderValue};
use secrecy::SecretString;
use std::sync::Arc;

/// Where the vendor answers.
pub const BASE: &str = "https://api.anthropic.com";

/// The version of the wire form, as its header wants it.
const VERSION: &str = "2023-06-01";

/// See the module.
#[derive(Clone, Debug)]
pub struct Anthropic {
    http: Arc<Http>,
    url: Url,
    key: Option<SecretString>,
}

impl Anthropic {
    /// A provider at `base`, with or without `/v1` behind it.
    #[must_use]
    pub fn new(http: Arc<Http>, base: &Url, key: Option<SecretString>) -> Self {
        let mut url = base.clone();
        let path = url.path().trim_end_matches('/');
        let path = format!("{}/v1/messages", path.strip_suffix("/v1").unwrap_or(path));
        url.set_path(&path);
        Self { http, url, key }
    }

    fn post(self, request: &CallRequest) -> Result<Post, CallError> {
        let mut headers = vec![(HeaderName::from_static("anthropic-version"), HeaderValue::from_static(VERSION))];
        if let Some(key) = &self.key {
            headers.push((HeaderName::from_static("x-api-key"), http::secret_header("", key)?));
        }
        Ok(Post { url: self.url, headers, key: self.key, body: request::body(request)? })
    }
}

impl Provider for Anthropic {
    fn name(&self) -> &'static str {
        "anthropic"
    }

    fn endpoint(&self) -> String {
        http::place(&self.url)
    }

    fn call(&self, request: CallRequest) -> ProviderStream {
        let provider = self.clone();
        let reader = reply::MessagesReader::new(self.key.clone());
        answer::ask(Arc::clone(&self.http), move || provider.post(&request), reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_is_taken_with_and_without_its_version() {
        for base in ["http://host:1", "http://host:1/", "http://host:1/v1", "http://u:p@host:1/v1/?q=1"] {
            let http = Arc::new(Http::new(http::SILENCE));
            let provider = Anthropic::new(http, &Url::parse(base).unwrap(), Some(SecretString::from("hush-hush")));
            assert_eq!(provider.endpoint(), "http://host:1/v1/messages");
            assert!(!format!("{provider:?}").contains("hush"));
        }
    }
}
