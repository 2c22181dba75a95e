//! Google's Gemini API.
//!
//! `request` writes the body, `reply` reads the stream. Calls of tools are matched by name and order here; an id where
//! the model gives none is made from the call's place in the thread, so that a replay makes the same one.

mod reply;
pub(super) mod request;

use super::http::{self, Http, Post};
use super::site::{Auth, Site};
use super::{answer, count, encode};
use crate::domain::event::CallError;
use crate::domain::{OpenHeaders, WireForm};
use crate::ports::{CallRequest, Counting, EncodedRequest, HttpOptions, Provider, ProviderStream};
use reqwest::Url;
use reqwest::header::HeaderName;
use std::sync::Arc;

/// The version of the API, as its addresses name it.
const VERSION: &str = "/v1beta";

/// What ids made here begin with.
const MADE: &str = "gemini_call_";

/// See the module.
#[derive(Clone, Debug)]
pub struct Gemini {
    http: Arc<Http>,
    site: Arc<Site>,
}

impl Gemini {
    /// A provider at `site`, whose base is taken with and without `/v1beta` behind it.
    #[must_use]
    pub fn new(http: Arc<Http>, site: Site) -> Self {
        Self { http, site: Arc::new(site) }
    }

    /// Where `method` of a model is. An address that was written as a whole keeps its path and its query but for those.
    fn url(&self, model: &str, method: &str) -> Url {
        let Some(mut url) = self.site.whole(model) else {
            let mut url = self.site.url(VERSION, &format!("/models/{model}:{method}"));
            url.set_query(None);
            return url;
        };
        let path = url.path().rsplit_once(':').map_or_else(|| url.path().to_owned(), |(path, _)| path.to_owned());
        url.set_path(&format!("{path}:{method}"));
        let kept: Vec<String> = url.query().into_iter().flat_map(|query| query.split('&')).map(str::to_owned).collect();
        let kept: Vec<String> = kept.into_iter().filter(|pair| !pair.is_empty() && !pair.starts_with("alt=")).collect();
        url.set_query(Some(kept.join("&")).as_deref().filter(|query| !query.is_empty()));
        url
    }

    fn post(self, request: &CallRequest, body: Vec<u8>) -> Result<Post, CallError> {
        let model = request.model.strip_prefix("models/").unwrap_or(&request.model);
        let mut url = self.url(model, "streamGenerateContent");
        url.query_pairs_mut().append_pair("alt", "sse");
        let headers = self.site.request_headers(usual_auth())?;
        Ok(Post { url, headers, secrets: self.site.secrets(), body, options: HttpOptions::default() })
    }
}

/// How a key travels where nobody says otherwise.
fn usual_auth() -> Auth {
    Auth::Header(HeaderName::from_static("x-goog-api-key"))
}

impl Provider for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn endpoint(&self) -> String {
        let mut url = self.site.whole("").unwrap_or_else(|| self.site.url(VERSION, "/models"));
        let models = url.path().rsplit_once("/models/").map(|(path, _)| format!("{path}/models"));
        if let Some(path) = models {
            url.set_path(&path);
        }
        http::place(&url)
    }

    fn count(&self, request: CallRequest) -> Option<Counting> {
        let provider = self.clone();
        Some(Box::pin(async move {
            let http = Arc::clone(&provider.http);
            let model = request.model.strip_prefix("models/").unwrap_or(&request.model).to_owned();
            let url = provider.url(&model, "countTokens");
            let mut post = Post { url, ..provider.post(&request, encode::body(WireForm::Gemini, &request)?)? };
            let mut body = count::object(&post.body)?;
            body.insert("model".to_owned(), format!("models/{model}").into());
            post.body = count::written(&serde_json::json!({ "generateContentRequest": body }))?;
            count::told(&http.ask(post).await?, "totalTokens")
        }))
    }

    fn headers(&self) -> OpenHeaders {
        self.site.open_headers(&usual_auth())
    }

    fn form(&self) -> WireForm {
        WireForm::Gemini
    }

    fn encode(&self, request: CallRequest) -> Result<EncodedRequest, CallError> {
        encode::encoded(self.form(), request)
    }

    fn send(&self, EncodedRequest { request, body, options, .. }: EncodedRequest) -> ProviderStream {
        let provider = self.clone();
        let reader = reply::GeminiReader::new(self.site.secrets(), request.next_call());
        let asked = (request.model.clone(), options);
        answer::ask(Arc::clone(&self.http), asked, move || provider.post(&request, body), reader)
    }
}

/// A reader for the fuzzer.
#[cfg(fuzzing)]
pub(super) fn reader() -> impl answer::Reader {
    reply::GeminiReader::new(Vec::new(), 0)
}
