//! Requests of the web that programs of extensions make: to hosts that the person named, and to no others.
//!
//! A host is named as it stands in addresses (`example.com`), with all below it (`*.example.com`), or as `*`, which is every
//! public one. Addresses of this machine and its network are reached only where their host is named as it stands. Redirects are
//! followed by hand, each checked the same way; to another host no key goes along. Nothing of the person's is sent.

use super::fetch::is_public;
use crate::ports::tls;
use reqwest::header::{
    ACCEPT, ACCEPT_LANGUAGE, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, HeaderName,
    HeaderValue, LOCATION, TE, TRANSFER_ENCODING, UPGRADE, USER_AGENT,
};
use reqwest::{Client, Method, Response, StatusCode, Url};
use std::net::SocketAddr;
use std::time::Duration;

/// Most redirects.
const HOPS: usize = 10;
/// A server that says nothing for so long is given up.
const SILENCE: Duration = Duration::from_mins(2);
/// Bytes of a body, at most.
const MOST: usize = 64 << 20;

/// Headers that go along to another host.
const KEPT_FAR: [HeaderName; 4] = [ACCEPT, ACCEPT_LANGUAGE, CONTENT_TYPE, USER_AGENT];
/// Headers that say who is asked and how, which the address and the body do.
const OF_CONNECTION: [HeaderName; 6] = [HOST, CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING, TE, UPGRADE];

/// The hosts that may be reached, as the person named them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hosts(Vec<String>);

/// A request.
#[derive(Clone, Debug)]
pub struct WebRequest {
    pub url: String,
    pub method: String,
    pub headers: Vec<(String, String)>,
    pub body: Option<Vec<u8>>,
    /// `follow`, `manual` or `error`.
    pub redirect: String,
}

/// An answer whose body can be read.
#[derive(Debug)]
pub struct WebAnswer {
    response: Response,
    read: usize,
}

impl Hosts {
    #[must_use]
    pub fn new(named: &[String]) -> Self {
        Self(named.iter().map(|name| name.trim().to_ascii_lowercase()).filter(|name| !name.is_empty()).collect())
    }

    /// Whether a host is named as it stands, perhaps with its port.
    #[must_use]
    pub fn names(&self, host: &str, port: u16) -> bool {
        let with_port = format!("{host}:{port}");
        self.0.iter().any(|name| *name == host || *name == with_port)
    }

    /// Whether it may be reached where it is public.
    fn covers(&self, host: &str, port: u16) -> bool {
        let below = |name: &String| {
            let end = name.strip_prefix('*').filter(|end| end.starts_with('.'));
            end.is_some_and(|end| host.len() > end.len() && host.ends_with(end))
        };
        self.names(host, port) || self.0.iter().any(|name| name == "*" || below(name))
    }

    /// The addresses of a host, each of which may be connected to.
    ///
    /// # Errors
    /// What the system calls it, and a sentence: which host may not be reached and how it can be allowed, or that it was not found.
    pub async fn addresses(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, (&'static str, String)> {
        let refused = |why| Err(("EACCES", why));
        if !self.covers(host, port) {
            return refused(format!(
                "extensions may not reach {host}: name it in extension_hosts of your config.toml to allow it"
            ));
        }
        let found = tokio::net::lookup_host((host, port)).await;
        let found = found.map_err(|error| ("ENOTFOUND", format!("`{host}` was not found: {error}")))?;
        let found: Vec<SocketAddr> = found.collect();
        let are_public = !found.is_empty() && found.iter().all(|address| is_public(address.ip()));
        if !are_public && !self.names(host, port) {
            return refused(format!(
                "`{host}` is not a public address; extension_hosts of your config.toml has to name it as it stands"
            ));
        }
        Ok(found)
    }
}

impl WebRequest {
    /// Makes the request.
    ///
    /// # Errors
    /// A sentence: which host may not be reached and how it can be allowed, or what failed.
    pub async fn open(self, hosts: &Hosts) -> Result<WebAnswer, String> {
        let Self { url, method, headers, mut body, redirect } = self;
        let mut url = Url::parse(&url).map_err(|error| format!("`{url}` is not a URL: {error}"))?;
        let mut method =
            Method::from_bytes(method.as_bytes()).map_err(|error| format!("`{method}` is no method: {error}"))?;
        let mut headers = header_map(headers)?;
        for _ in 0..=HOPS {
            let client = client(hosts, &url).await?;
            let mut request = client.request(method.clone(), url.clone()).headers(headers.clone());
            if let Some(body) = &body {
                request = request.body(body.clone());
            }
            let response = request.send().await.map_err(|error| failed(&url, &error))?;
            let status = response.status();
            let next = response.headers().get(LOCATION).filter(|_| status.is_redirection());
            let Some(next) = next.filter(|_| redirect != "manual") else {
                return Ok(WebAnswer { response, read: 0 });
            };
            if redirect == "error" {
                return Err(format!("`{url}` redirects, which was not wanted"));
            }
            let next = next.to_str().unwrap_or_default();
            let next = url.join(next).map_err(|error| format!("it redirects to `{next}`, which is no URL: {error}"))?;
            if next.origin() != url.origin() {
                // Any other may hold a key.
                let kept = KEPT_FAR.iter().filter_map(|name| Some((name.clone(), headers.get(name)?.clone())));
                headers = kept.collect();
            }
            let posts_on = matches!(status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
            if !posts_on && method != Method::GET && method != Method::HEAD {
                (method, body) = (Method::GET, None);
                for name in [CONTENT_TYPE, CONTENT_ENCODING] {
                    headers.remove(name);
                }
            }
            url = next;
        }
        Err(format!("it redirects more than {HOPS} times"))
    }
}

impl WebAnswer {
    #[must_use]
    pub fn status(&self) -> (u16, &'static str) {
        let status = self.response.status();
        (status.as_u16(), status.canonical_reason().unwrap_or_default())
    }

    #[must_use]
    pub fn url(&self) -> &str {
        self.response.url().as_str()
    }

    pub fn headers(&self) -> impl Iterator<Item = (&str, String)> {
        let all = self.response.headers().iter();
        all.map(|(name, value)| (name.as_str(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
    }

    /// The next piece of the body; none at its end.
    ///
    /// # Errors
    /// What failed.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, String> {
        let piece = tokio::time::timeout(SILENCE, self.response.chunk()).await;
        let piece = piece.map_err(|_late| format!("nothing came for {} s", SILENCE.as_secs()))?;
        let piece = piece.map_err(|error| failed(self.response.url(), &error))?;
        self.read += piece.as_deref().map_or(0, <[u8]>::len);
        if self.read > MOST {
            return Err(format!("the answer has more than {} MB", MOST >> 20));
        }
        Ok(piece.map(|piece| piece.to_vec()))
    }
}

fn header_map(headers: Vec<(String, String)>) -> Result<HeaderMap, String> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let wrong = || format!("`{name}` is no header that can be sent");
        let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_strange| wrong())?;
        if OF_CONNECTION.contains(&header) {
            continue;
        }
        map.append(header, HeaderValue::from_str(&value).map_err(|_strange| wrong())?);
    }
    Ok(map)
}

/// A client that connects to the addresses that were looked at.
async fn client(hosts: &Hosts, url: &Url) -> Result<Client, String> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("only http and https can be asked, not {}", url.scheme()));
    }
    let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
        return Err("the URL has no host".to_owned());
    };
    let bare = host.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
    let found = hosts.addresses(&bare, port).await.map_err(|(_, why)| why)?;
    tls::prepare();
    Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .resolve_to_addrs(host, &found)
        .read_timeout(SILENCE)
        .user_agent(concat!("levain/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| format!("the connection could not be prepared: {error}"))
}

fn failed(url: &Url, error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    format!("the request to `{}` failed: {cause}", url.host_str().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_named_as_they_stand_or_with_all_below_them() {
        let hosts = Hosts::new(&["api.a.org".into(), " *.B.org ".into(), "localhost:81".into(), String::new()]);
        for (host, port, expected) in [
            ("api.a.org", 443, true),
            ("a.org", 443, false),
            ("evil-api.a.org", 443, false),
            ("x.b.org", 443, true),
            ("b.org", 443, false),
            ("evilb.org", 443, false),
            ("localhost", 81, true),
            ("localhost", 80, false),
        ] {
            assert_eq!(hosts.covers(host, port), expected, "{host}:{port}");
        }
        let all = Hosts::new(&["*".into()]);
        assert!(all.covers("c.org", 1) && !all.names("c.org", 1));
    }
}
