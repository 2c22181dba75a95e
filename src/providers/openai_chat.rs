//! The Chat Completions API, which many servers speak besides its vendor.
//!
//! `request` writes the body, `reply` reads the stream. Local servers need no key.

mod reply;
mod request;

use super::answer;
use super::http::{self, Http, Post};
use crate::domain::event::CallError;
use crate::ports::{CallRequest, Provider, ProviderStream};
use reqwest::Url;
use reqwest::header::AUTHORIZATION;
use secrecy::SecretString;
use std::sync::Arc;

/// Where the vendor answers.
pub const BASE: &str = "https://api.openai.com/v1";

/// The vendor's host, which alone has renamed the output limit.
const VENDOR_HOST: &str = "api.openai.com";

/// See the module.
#[derive(Clone, Debug)]
pub struct OpenAiChat {
    http: Arc<Http>,
    url: Url,
    key: Option<SecretString>,
}

/// Under which name a server takes the output limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LimitName {
    MaxTokens,
    MaxCompletionTokens,
}

impl OpenAiChat {
    /// A provider at `base`, with or without a slash at its end.
    #[must_use]
    pub fn new(http: Arc<Http>, base: &Url, key: Option<SecretString>) -> Self {
        let mut url = base.clone();
        url.set_path(&format!("{}/chat/completions", base.path().trim_end_matches('/')));
        Self { http, url, key }
    }

    fn post(self, request: &CallRequest) -> Result<Post, CallError> {
        let limit = match self.url.host_str() {
            Some(VENDOR_HOST) => LimitName::MaxCompletionTokens,
            Some(_) | None => LimitName::MaxTokens,
        };
        let mut headers = Vec::new();
        if let Some(key) = &self.key {
            headers.push((AUTHORIZATION, http::secret_header("Bearer ", key)?));
        }
        Ok(Post { url: self.url, headers, key: self.key, body: request::body(request, limit)? })
    }
}

impl Provider for OpenAiChat {
    fn name(&self) -> &'static str {
        "openai"
    }

    fn endpoint(&self) -> String {
        http::place(&self.url)
    }

    fn call(&self, request: CallRequest) -> ProviderStream {
        let provider = self.clone();
        let reader = reply::ChatReader::new(self.key.clone());
        answer::ask(Arc::clone(&self.http), move || provider.post(&request), reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_is_taken_with_and_without_its_slash() {
        for base in ["http://host:1/v1", "http://host:1/v1/", "http://u:p@host:1/v1?q=1"] {
            let http = Arc::new(Http::new(http::SILENCE));
            let provider = OpenAiChat::new(http, &Url::parse(base).unwrap(), Some(SecretString::from("hush-hush")));
            assert_eq!(provider.endpoint(), "http://host:1/v1/chat/completions");
            assert!(!format!("{provider:?}").contains("hush"));
        }
    }
}
