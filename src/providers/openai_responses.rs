//! The Responses API: the newer form of the vendor of Chat Completions, and of servers that follow it.
//!
//! `request` writes the body, `reply` reads the stream. Nothing is stored at the provider: each request carries the
//! whole history, reasoning included in its encrypted form.

mod reply;
pub(super) mod request;

use super::http::{self, Http, Post};
use super::site::{Auth, Site};
use super::{answer, encode};
use crate::domain::event::CallError;
use crate::domain::{OpenHeaders, WireForm};
use crate::ports::{CallRequest, EncodedRequest, HttpOptions, Provider, ProviderStream};
use reqwest::Url;
use std::sync::Arc;

/// See the module.
#[derive(Clone, Debug)]
pub struct OpenAiResponses {
    http: Arc<Http>,
    url: Url,
    site: Arc<Site>,
}

impl OpenAiResponses {
    /// A provider at `site`, whose base is that of Chat Completions too.
    #[must_use]
    pub fn new(http: Arc<Http>, site: Site) -> Self {
        let url = site.whole("").unwrap_or_else(|| site.url("", "/responses"));
        Self { http, url, site: Arc::new(site) }
    }

    fn post(self, request: &CallRequest, body: Vec<u8>) -> Result<Post, CallError> {
        let headers = self.site.request_headers(Auth::Bearer)?;
        let url = self.site.whole(&request.model).unwrap_or(self.url);
        Ok(Post { url, headers, secrets: self.site.secrets(), body, options: HttpOptions::default() })
    }
}

impl Provider for OpenAiResponses {
    fn name(&self) -> &'static str {
        "openai-responses"
    }

    fn endpoint(&self) -> String {
        http::place(&self.url)
    }

    fn headers(&self) -> OpenHeaders {
        self.site.open_headers(&Auth::Bearer)
    }

    fn form(&self) -> WireForm {
        WireForm::Responses
    }

    fn encode(&self, request: CallRequest) -> Result<EncodedRequest, CallError> {
        encode::encoded(self.form(), request)
    }

    fn send(&self, EncodedRequest { request, body, options, .. }: EncodedRequest) -> ProviderStream {
        let provider = self.clone();
        let reader = reply::ResponsesReader::new(self.site.secrets(), request.next_call());
        let asked = (request.model.clone(), options);
        answer::ask(Arc::clone(&self.http), asked, move || provider.post(&request, body), reader)
    }
}

/// A reader for the fuzzer.
#[cfg(fuzzing)]
pub(super) fn reader() -> impl answer::Reader {
    reply::ResponsesReader::new(Vec::new(), 0)
}
