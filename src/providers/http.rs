//! One HTTP client for all providers, and one way to ask: POST JSON, get a stream of bytes or a classified error.
//!
//! Connections are held by a thread of their own ([`network`](super::network)). There is no limit on the length of an
//! answer, only on silence. Redirects are not followed, because a key must not
//! travel to a place nobody named. Errors never hold keys, user names or queries of addresses.

use super::classify::{category, is_of_answer_limit};
use super::error_body::{self, ErrorDetail};
use super::network::{Batches, Network};
use super::pause;
use super::proxy::Proxies;
use crate::domain::event::{CallError, ErrorCategory};
use crate::ports::tls;
use crate::ports::{Clock, HttpOptions, ResponseHead, ResponseWatch, SystemClock};
use futures_util::stream::{Stream, StreamExt, unfold};
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, PROXY_AUTHENTICATE, SET_COOKIE,
};
use reqwest::{Client, RequestBuilder, Response, Url};
use secrecy::{ExposeSecret, SecretString};
use std::error::Error as _;
use std::future::Future;
use std::sync::{Arc, OnceLock, PoisonError};
use std::time::Duration;
use tokio::time::timeout;

/// How long a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a provider may send nothing before the call counts as failed. Vendors send pings far more often.
pub const SILENCE: Duration = Duration::from_mins(2);

/// How much of an error body is read.
const LARGEST_ERROR: usize = 64 * 1024;

/// Headers of an answer that are told, and letters of each, at most.
const MOST_HEADERS: usize = 100;
const LONGEST_HEADER: usize = 4 << 10;

/// The shared client. Cheap to clone; made at the first call, because loading certificates takes milliseconds that a
/// start without a call need not spend.
#[derive(Clone, Debug)]
pub struct Http {
    silence: Duration,
    proxies: Proxies,
    line: Arc<OnceLock<Line>>,
}

#[derive(Debug)]
struct Line {
    client: Client,
    network: Arc<Network>,
}

/// One POST.
pub(crate) struct Post {
    pub(crate) url: Url,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    /// Blotted out of whatever comes back as an error or a header.
    pub(crate) secrets: Vec<SecretString>,
    pub(crate) body: Vec<u8>,
    pub(crate) options: HttpOptions,
}

impl Http {
    #[must_use]
    pub fn new(silence: Duration) -> Self {
        Self { silence, proxies: Proxies::default(), line: Arc::default() }
    }

    /// A client that goes through `proxies`.
    #[must_use]
    pub fn through(self, proxies: Proxies) -> Self {
        Self { proxies, ..self }
    }

    /// The same client with another limit on silence.
    #[must_use]
    pub fn with_silence(&self, silence: Duration) -> Self {
        Self { silence, proxies: self.proxies.clone(), line: Arc::clone(&self.line) }
    }

    fn line(&self) -> Result<&Line, CallError> {
        if let Some(line) = self.line.get() {
            return Ok(line);
        }
        tls::prepare();
        let client = self
            .proxies
            .lay_over(Client::builder())
            .map_err(|error| no_client(&root_cause(&error)))?
            .connect_timeout(CONNECT_TIMEOUT)
            .redirect(reqwest::redirect::Policy::none())
            .tcp_nodelay(true)
            .user_agent(concat!("levain/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| no_client(&root_cause(&error)))?;
        let network = Arc::new(Network::start().map_err(|error| no_client(&error.to_string()))?);
        Ok(self.line.get_or_init(|| Line { client, network }))
    }

    /// Sends `post` and returns the bytes of the answer in batches; a refusal or a failure is their last item.
    ///
    /// # Errors
    /// When nothing can be sent at all.
    pub(crate) fn send(&self, post: Post) -> Result<Batches, CallError> {
        let Line { client, network } = self.line()?;
        let (place, secrets, watch) = (place(&post.url), post.secrets.clone(), post.options.watch.clone());
        let request = prepared(client, post, "text/event-stream");
        Ok(network.stream(open(request, place, (secrets, watch), self.silence)))
    }

    /// Sends `post` and returns the whole of a short answer.
    ///
    /// # Errors
    /// A refusal or a failure, classified.
    pub(crate) async fn ask(&self, post: Post) -> Result<Vec<u8>, CallError> {
        let (place, secrets) = (place(&post.url), post.secrets.clone());
        let request = prepared(&self.line()?.client, post, "application/json");
        let sent = within(self.silence, &place, request.send()).await?;
        let mut response = sent.map_err(|error| transport_error(&error, &place, &secrets))?;
        if !response.status().is_success() {
            return Err(within(self.silence, &place, refusal(response, &place, &secrets))
                .await
                .unwrap_or_else(|error| error));
        }
        let mut body = Vec::new();
        while let Some(piece) = within(self.silence, &place, response.chunk())
            .await?
            .map_err(|error| transport_error(&error, &place, &secrets))?
        {
            body.extend_from_slice(&piece);
            if body.len() > LARGEST_ERROR {
                break;
            }
        }
        Ok(body)
    }
}

/// `post` as a request that accepts an answer of this kind.
fn prepared(client: &Client, post: Post, accepts: &'static str) -> RequestBuilder {
    // Of two values under one name the later counts.
    let mut headers = HeaderMap::new();
    for (name, value) in post.headers {
        headers.insert(name, value);
    }
    for (name, value) in post.options.headers {
        let Ok(name) = name.parse::<HeaderName>() else { continue };
        // A key is the provider's own matter.
        if headers.get(&name).is_some_and(HeaderValue::is_sensitive) {
            continue;
        }
        match value.map(|value| HeaderValue::from_str(&value)) {
            Some(Ok(value)) => drop(headers.insert(name, value)),
            Some(Err(_)) => {}
            None => drop(headers.remove(name)),
        }
    }
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(ACCEPT, HeaderValue::from_static(accepts));
    client.post(post.url).headers(headers).body(post.body)
}

/// The bytes of the answer, once the provider has begun a stream.
async fn open(
    request: RequestBuilder,
    place: String,
    (secrets, watch): (Vec<SecretString>, Option<ResponseWatch>),
    silence: Duration,
) -> Result<impl Stream<Item = Result<impl AsRef<[u8]> + Send, CallError>> + Send + Unpin, CallError> {
    let sent = within(silence, &place, request.send()).await?;
    let response = sent.map_err(|error| transport_error(&error, &place, &secrets))?;
    if let Some(watch) = watch {
        *watch.lock().unwrap_or_else(PoisonError::into_inner) = Some(head(&response, &secrets));
    }
    if !response.status().is_success() || !is_stream(response.headers()) {
        return Err(within(silence, &place, refusal(response, &place, &secrets)).await.unwrap_or_else(|error| error));
    }
    let pieces = Box::pin(response.bytes_stream());
    Ok(Box::pin(unfold((pieces, place, secrets), move |(mut pieces, place, secrets)| async move {
        let item = match within(silence, &place, pieces.next()).await {
            Ok(item) => item?.map_err(|error| transport_error(&error, &place, &secrets)),
            Err(error) => Err(error),
        };
        Some((item, (pieces, place, secrets)))
    })))
}

/// How a response begins, without what is a secret between the two ends.
fn head(response: &Response, secrets: &[SecretString]) -> ResponseHead {
    let is_secret = |name: &HeaderName, value: &str| {
        [SET_COOKIE, AUTHORIZATION, PROXY_AUTHENTICATE].contains(name)
            || secrets.iter().any(|secret| value.contains(secret.expose_secret()))
    };
    let told = |(name, value): (&HeaderName, &HeaderValue)| {
        let value = value.to_str().ok().filter(|value| value.len() <= LONGEST_HEADER && !is_secret(name, value))?;
        Some((name.as_str().to_owned(), value.to_owned()))
    };
    let headers = response.headers().iter().filter_map(told).take(MOST_HEADERS).collect();
    ResponseHead { status: response.status().as_u16(), headers }
}

/// What `wait` brings, if the provider is not silent for too long.
async fn within<T>(silence: Duration, place: &str, wait: impl Future<Output = T>) -> Result<T, CallError> {
    timeout(silence, wait).await.map_err(|_elapsed| CallError {
        category: ErrorCategory::Transient,
        code: "silence".to_owned(),
        message: format!("{place} sent nothing for {} s", silence.as_secs_f64()),
        status: None,
        retry_after_ms: None,
    })
}

fn no_client(cause: &str) -> CallError {
    CallError {
        category: ErrorCategory::Permanent,
        code: "no_client".to_owned(),
        message: format!("could not prepare the connection: {cause}"),
        status: None,
        retry_after_ms: None,
    }
}

/// A header whose value is a key: kept out of every debug output.
pub(crate) fn secret_header(prefix: &str, key: &SecretString) -> Result<HeaderValue, CallError> {
    let mut value = HeaderValue::from_str(&format!("{prefix}{}", key.expose_secret())).map_err(|_bad| CallError {
        category: ErrorCategory::Auth,
        code: "bad_key".to_owned(),
        message: "the key holds letters that no key has (a line break?); set it again".to_owned(),
        status: None,
        retry_after_ms: None,
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// An address as people may see it: without user, password, query and fragment.
pub(crate) fn place(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{host}{port}{}", url.scheme(), url.path().trim_end_matches('/'))
}

/// Something arrived that is not the protocol.
pub(crate) fn protocol_error(detail: &str) -> CallError {
    CallError {
        category: ErrorCategory::Transient,
        code: "bad_event".to_owned(),
        message: format!("the provider sent something unreadable: {}", error_body::clean(detail, &[])),
        status: None,
        retry_after_ms: None,
    }
}

/// The error an answer carries inside its stream.
pub(crate) fn streamed_error(told: &ErrorDetail, secrets: &[SecretString]) -> CallError {
    let kind = error_body::clean(&told.kind, secrets);
    let message = error_body::clean(&told.message, secrets);
    CallError {
        category: category(told.status, &kind, &message),
        retry_after_ms: pause::in_words(&message),
        message: if message.is_empty() { format!("the provider reported an error: {kind}") } else { message },
        code: if kind.is_empty() { "stream_error".to_owned() } else { kind },
        status: told.status,
    }
}

/// Whether the body can be an event stream. Local servers are lax about the type, so only what is surely another
/// thing is refused.
fn is_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    !["text/html", "application/json"].iter().any(|other| kind.to_ascii_lowercase().starts_with(other))
}

/// The connection failed before or within the answer.
fn transport_error(error: &reqwest::Error, place: &str, secrets: &[SecretString]) -> CallError {
    let cause = error_body::clean(&root_cause(error), secrets);
    let (code, message) = if error.is_connect() {
        ("no_connection", format!("could not reach {place}: {cause}"))
    } else if error.is_builder() {
        ("bad_request", format!("could not ask {place}: {cause}"))
    } else {
        ("connection_lost", format!("the connection to {place} failed: {cause}"))
    };
    let category = if error.is_builder() { ErrorCategory::Permanent } else { ErrorCategory::Transient };
    CallError { category, code: code.to_owned(), message, status: None, retry_after_ms: None }
}

/// The innermost cause: the outer ones only say that a request was being sent, and to which address.
fn root_cause(error: &reqwest::Error) -> String {
    let mut cause: Option<&dyn std::error::Error> = error.source();
    while let Some(inner) = cause.and_then(std::error::Error::source) {
        cause = Some(inner);
    }
    cause.map_or_else(|| "no cause given".to_owned(), ToString::to_string)
}

/// A response that is not the answer asked for.
async fn refusal(response: Response, place: &str, secrets: &[SecretString]) -> CallError {
    let status = response.status();
    let number = status.as_u16();
    let headers = response.headers().clone();
    let target = headers.get(LOCATION).and_then(|value| value.to_str().ok()).and_then(|to| to.parse().ok());
    let mut body = Vec::new();
    let mut pieces = response.bytes_stream();
    while let Some(Ok(piece)) = pieces.next().await {
        body.extend_from_slice(&piece);
        if body.len() > LARGEST_ERROR {
            break;
        }
    }
    let retry_after_ms = pause::asked_for(number, &headers, &body, SystemClock.now());
    let ErrorDetail { kind, message, .. } = error_body::read(&body, secrets);
    let said = if message.is_empty() { String::new() } else { format!(": {message}") };
    let reason = status.canonical_reason().map(|reason| format!(" {reason}")).unwrap_or_default();
    let message = if status.is_success() {
        format!("{place} answered with something other than an event stream{said}")
    } else if let Some(target) = target.as_ref().filter(|_| status.is_redirection()) {
        let target = error_body::clean(&self::place(target), secrets);
        format!("{place} redirects to {target}; set the base address of the service")
    } else {
        format!("{place} answered {number}{reason}{said}{}", hint(number, &said))
    };
    let code = match (kind.is_empty(), status.is_success()) {
        (false, _) => kind.clone(),
        (true, true) => "not_a_stream".to_owned(),
        (true, false) => format!("http_{number}"),
    };
    // A status of success says nothing about what failed.
    let counted = (!status.is_success()).then_some(number);
    CallError { category: category(counted, &kind, &message), code, message, status: Some(number), retry_after_ms }
}

/// The next step, where status or words tell it.
fn hint(status: u16, said: &str) -> &'static str {
    match status {
        400 if is_of_answer_limit(said) => " — set `max_output_tokens` in .ai/config/agent/agent.yaml",
        401 => " — check the key",
        404 => " — check the model's name and the base address",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lose_what_is_private() {
        let url = Url::parse("http://me:secret@host:8080/v1/?token=abc#x").unwrap();
        assert_eq!(place(&url), "http://host:8080/v1");
    }

    #[test]
    fn a_key_stays_out_of_debug_output() {
        let header = secret_header("Bearer ", &SecretString::from("hush-hush")).unwrap();
        assert!(!format!("{header:?}").contains("hush"));
        let error = secret_header("", &SecretString::from("hush\nhush")).unwrap_err();
        assert!(!format!("{error:?}").contains("hush"));
    }
}
