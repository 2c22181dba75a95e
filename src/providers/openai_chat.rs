//! The Chat Completions API, which many servers speak besides its vendor.
//!
//! `request` writes the body, `reply` reads the stream. Local servers need no key.

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

/// The vendor's host, where the output limit has a new name for every model.
const VENDOR_HOST: &str = "api.openai.com";

/// See the module.
#[derive(Clone, Debug)]
pub struct OpenAiChat {
    http: Arc<Http>,
    url: Url,
    site: Arc<Site>,
}

/// Under which name a server takes the output limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LimitName {
    MaxTokens,
    MaxCompletionTokens,
}

impl LimitName {
    /// The name elsewhere: the vendor's newer models refuse the old one behind other hosts too.
    pub(super) fn of(model: &str) -> Self {
        let name = model.rsplit('/').next().unwrap_or_default();
        let number = |rest: &str| {
            rest.split(|letter: char| !letter.is_ascii_digit()).next().and_then(|digits| digits.parse().ok())
        };
        let newer = name.strip_prefix("gpt-").and_then(number).is_some_and(|version: u32| version >= 5);
        let reasons = name.strip_prefix('o').and_then(number).is_some_and(|version: u32| version > 0);
        if newer || reasons { Self::MaxCompletionTokens } else { Self::MaxTokens }
    }
}

impl OpenAiChat {
    /// A provider at `site`, whose base is taken with and without a slash at its end.
    #[must_use]
    pub fn new(http: Arc<Http>, site: Site) -> Self {
        let url = site.whole("").unwrap_or_else(|| site.url("", "/chat/completions"));
        Self { http, url, site: Arc::new(site) }
    }

    fn post(self, request: &CallRequest, body: Vec<u8>) -> Result<Post, CallError> {
        let headers = self.site.request_headers(Auth::Bearer)?;
        let url = self.site.whole(&request.model).unwrap_or(self.url);
        Ok(Post { url, headers, secrets: self.site.secrets(), body, options: HttpOptions::default() })
    }
}

impl Provider for OpenAiChat {
    fn name(&self) -> &'static str {
        "openai"
    }

    fn endpoint(&self) -> String {
        http::place(&self.url)
    }

    fn headers(&self) -> OpenHeaders {
        self.site.open_headers(&Auth::Bearer)
    }

    fn form(&self) -> WireForm {
        match self.url.host_str() {
            Some(VENDOR_HOST) => WireForm::OpenAi,
            Some(_) | None => WireForm::Compatible,
        }
    }

    fn encode(&self, request: CallRequest) -> Result<EncodedRequest, CallError> {
        encode::encoded(self.form(), request)
    }

    fn send(&self, EncodedRequest { request, body, options, .. }: EncodedRequest) -> ProviderStream {
        let provider = self.clone();
        let reader = reply::ChatReader::new(self.site.secrets(), request.next_call());
        let asked = (request.model.clone(), options);
        answer::ask(Arc::clone(&self.http), asked, move || provider.post(&request, body), reader)
    }
}

/// A reader for the fuzzer.
#[cfg(fuzzing)]
pub(super) fn reader() -> impl answer::Reader {
    reply::ChatReader::new(Vec::new(), 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use secrecy::SecretString;

    #[test]
    fn the_limit_of_the_vendors_newer_models_has_its_new_name_everywhere() {
        for model in ["gpt-5", "openai/gpt-5.4-mini", "gpt-6", "o3", "o4-mini"] {
            assert_eq!(LimitName::of(model), LimitName::MaxCompletionTokens, "{model}");
        }
        for model in ["gpt-4o", "gpt-oss-120b", "olmo-2", "o", "opus", "llama3.2", ""] {
            assert_eq!(LimitName::of(model), LimitName::MaxTokens, "{model}");
        }
    }

    #[test]
    fn the_base_is_taken_with_and_without_its_slash() {
        for base in ["http://host:1/v1", "http://host:1/v1/", "http://u:p@host:1/v1?q=1"] {
            let http = Arc::new(Http::new(http::SILENCE));
            let provider =
                OpenAiChat::new(http, Site::new(Url::parse(base).unwrap(), Some(SecretString::from("hush-hush"))));
            assert_eq!(provider.endpoint(), "http://host:1/v1/chat/completions");
            assert!(!format!("{provider:?}").contains("hush"));
        }
    }
}
