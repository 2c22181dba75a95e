//! Anthropic's Messages API, and servers that speak it.
//!
//! `request` writes the body, `reply` reads the stream.

mod reply;
pub(super) mod request;

use super::http::{self, Http, Post};
use super::site::{Auth, Site};
use super::{answer, count, encode};
use crate::domain::event::CallError;
use crate::domain::{OpenHeaders, WireForm};
use crate::ports::{CallRequest, Counting, EncodedRequest, HttpOptions, Provider, ProviderStream};
use reqwest::Url;
use reqwest::header::{HeaderName, HeaderValue};
use std::sync::Arc;

/// The version of the wire form, as its header wants it.
const VERSION: &str = "2023-06-01";

/// See the module.
#[derive(Clone, Debug)]
pub struct Anthropic {
    http: Arc<Http>,
    url: Url,
    site: Arc<Site>,
}

impl Anthropic {
    /// A provider at `site`, whose base is taken with and without `/v1` behind it.
    #[must_use]
    pub fn new(http: Arc<Http>, site: Site) -> Self {
        let url = site.whole("").unwrap_or_else(|| site.url("/v1", "/messages"));
        Self { http, url, site: Arc::new(site) }
    }

    fn post(self, request: &CallRequest, body: Vec<u8>) -> Result<Post, CallError> {
        let mut headers = vec![(HeaderName::from_static("anthropic-version"), HeaderValue::from_static(VERSION))];
        // A version that the site asks for replaces the usual one.
        headers.extend(self.site.request_headers(usual_auth())?);
        let url = self.site.whole(&request.model).unwrap_or(self.url);
        Ok(Post { url, headers, secrets: self.site.secrets(), body, options: HttpOptions::default() })
    }
}

/// How a key travels where nobody says otherwise.
fn usual_auth() -> Auth {
    Auth::Header(HeaderName::from_static("x-api-key"))
}

impl Provider for Anthropic {
    fn name(&self) -> &'static str {
        "anthropic"
    }

    fn endpoint(&self) -> String {
        http::place(&self.url)
    }

    /// What a request holds is counted by itself; what says how to answer is refused there.
    fn count(&self, request: CallRequest) -> Option<Counting> {
        let provider = self.clone();
        Some(Box::pin(async move {
            let http = Arc::clone(&provider.http);
            let mut post = provider.post(&request, encode::body(WireForm::Anthropic, &request)?)?;
            let path = format!("{}/count_tokens", post.url.path().trim_end_matches('/'));
            post.url.set_path(&path);
            let mut body: serde_json::Map<String, serde_json::Value> = count::object(&post.body)?;
            let counted = ["model", "messages", "system", "tools", "tool_choice", "thinking"];
            body.retain(|name, _| counted.contains(&name.as_str()));
            post.body = count::written(&body)?;
            count::told(&http.ask(post).await?, "input_tokens")
        }))
    }

    fn headers(&self) -> OpenHeaders {
        self.site.open_headers(&usual_auth())
    }

    fn form(&self) -> WireForm {
        WireForm::Anthropic
    }

    fn encode(&self, request: CallRequest) -> Result<EncodedRequest, CallError> {
        encode::encoded(self.form(), request)
    }

    fn send(&self, EncodedRequest { request, body, options, .. }: EncodedRequest) -> ProviderStream {
        let provider = self.clone();
        let reader = reply::MessagesReader::new(self.site.secrets(), request.next_call());
        let asked = (request.model.clone(), options);
        answer::ask(Arc::clone(&self.http), asked, move || provider.post(&request, body), reader)
    }
}

/// A reader for the fuzzer.
#[cfg(fuzzing)]
pub(super) fn reader() -> impl answer::Reader {
    reply::MessagesReader::new(Vec::new(), 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use secrecy::SecretString;

    #[test]
    fn the_base_is_taken_with_and_without_its_version() {
        for base in ["http://host:1", "http://host:1/", "http://host:1/v1", "http://u:p@host:1/v1/?q=1"] {
            let http = Arc::new(Http::new(http::SILENCE));
            let provider =
                Anthropic::new(http, Site::new(Url::parse(base).unwrap(), Some(SecretString::from("hush-hush"))));
            assert_eq!(provider.endpoint(), "http://host:1/v1/messages");
            assert!(!format!("{provider:?}").contains("hush"));
        }
    }
}
