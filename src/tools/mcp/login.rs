//! Signing in to an MCP server by OAuth: the authorization-code flow with PKCE, as the SDK does it. The address to open goes to the
//! person, and what their browser brings back comes to a port of this machine alone.

use super::server::{Server, Transport};
use super::tokens::{Known, TokenFile, Tokens};
use crate::ports::tls;
use crate::tools::environment::Environment;
use reqwest::redirect::{Action, Attempt, Policy};
use reqwest::{StatusCode, Url};
use rmcp::service::serve_client;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::auth::{AuthClient, AuthorizationCallback, AuthorizationManager, OAuthClientConfig};
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Where the browser comes back to.
const CALLBACK: &str = "/callback";

/// Bytes of a request of the browser's that are read, and how long it may take for them.
const LONGEST: usize = 16 << 10;
const PATIENCE: Duration = Duration::from_secs(10);

/// Most redirects of one request.
const MOST_REDIRECTS: usize = 5;

/// How long authorization servers may take for their answers before somebody signs in.
const DISCOVERY: Duration = Duration::from_mins(1);

/// A client that was registered at the authorization server by hand.
#[derive(Clone)]
pub struct OwnClient {
    pub id: String,
    pub secret: Option<String>,
}

/// How somebody signs in where it is not as usual.
#[derive(Clone, Debug, Default)]
pub struct LoginOptions {
    pub client: Option<OwnClient>,
    /// The port that the browser comes back to; any that is free without.
    pub port: Option<u16>,
    /// What to ask for besides what the server names.
    pub scopes: Vec<String>,
}

/// What a person has to do to be signed in.
pub struct Login {
    /// The address to open.
    pub address: String,
    /// The port that the browser comes back to.
    pub port: u16,
    name: String,
    state: String,
    manager: AuthorizationManager,
    listener: TcpListener,
    file: TokenFile,
    known: Known,
}

impl std::fmt::Debug for OwnClient {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("OwnClient").field("id", &self.id).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Login {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Login").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The address of a server, where tokens may be sent to it.
///
/// # Errors
/// Why there is none, in words that follow the server's name.
pub(super) fn address(server: &Server, environment: &Environment) -> Result<Url, String> {
    let Transport::Http { url, .. } = &server.transport else {
        return Err("is a process: there is nothing to sign in to".to_owned());
    };
    let url = environment.expanded(url)?;
    Url::parse(&url).map_err(|error| format!("has an address that is none: `{url}`: {error}"))
}

/// Whether what goes there can be read by nobody on the way.
fn is_private(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let is_here = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    url.scheme() == "https" || (url.scheme() == "http" && is_here)
}

/// What the server at `url` says to who is not signed in; none where it says nothing of it.
async fn challenge(url: &Url) -> Option<String> {
    let transport = StreamableHttpClientTransport::from_uri(url.as_str());
    match serve_client((), transport).await {
        Err(error) => error.auth_challenge().map(ToOwned::to_owned),
        Ok(service) => {
            let listed = service.peer().list_all_tools().await;
            listed.err().and_then(|error| error.auth_challenge().map(ToOwned::to_owned))
        }
    }
}

/// Who signs people in to the server at `url`.
///
/// # Errors
/// Why nobody does, or nobody can be asked without others reading it.
async fn manager(url: Url, challenge: Option<&str>) -> Result<AuthorizationManager, String> {
    let mut manager = AuthorizationManager::new(url).await.map_err(|error| error.to_string())?;
    let found = manager.resolve_metadata_from_challenge(challenge).await.map_err(|error| error.to_string())?;
    let metadata = found.metadata;
    let endpoints = [Some(&metadata.authorization_endpoint), Some(&metadata.token_endpoint)];
    for endpoint in endpoints.into_iter().chain([metadata.registration_endpoint.as_ref()]).flatten() {
        if !Url::parse(endpoint).is_ok_and(|url| is_private(&url)) {
            return Err(format!("its authorization server is reached by `{endpoint}`, which is not https"));
        }
    }
    manager.set_metadata(metadata);
    Ok(manager)
}

impl Login {
    /// Asks who signs people in to `server`, registers as a client there, and listens at `port`, or at any that is free.
    ///
    /// # Errors
    /// Why nobody can sign in, in words that name the server.
    pub async fn begin(
        server: &Server,
        environment: &Environment,
        tokens: &Tokens,
        options: LoginOptions,
    ) -> Result<Self, String> {
        let LoginOptions { client, port, scopes } = options;
        let name = server.name().to_owned();
        let url = address(server, environment).map_err(|why| format!("{name} {why}"))?;
        if !is_private(&url) {
            return Err(format!(
                "{name} is reached by `{url}`, where everybody on the way could read a token: use https"
            ));
        }
        tls::prepare();
        let failed = |why: &str| format!("{name}: {}", plain(why));
        let unheard = |error: std::io::Error| failed(&format!("no port of 127.0.0.1 can be listened at: {error}"));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port.unwrap_or_default())).await.map_err(unheard)?;
        let port = listener.local_addr().map_err(unheard)?.port();
        let redirect = format!("http://127.0.0.1:{port}{CALLBACK}");
        let file = tokens.of(server, &url);
        let ask = async {
            let challenge = challenge(&url).await;
            let mut manager = manager(url, challenge.as_deref()).await?;
            manager.set_credential_store(file.clone());
            let mut all = manager.select_initial_scopes(&[]).await;
            all.extend(scopes.into_iter().filter(|scope| !all.contains(scope)).collect::<Vec<_>>());
            let scopes: Vec<&str> = all.iter().map(String::as_str).collect();
            let client = match client {
                Some(OwnClient { id, secret: Some(secret) }) => {
                    OAuthClientConfig::new(id, &redirect).with_client_secret(secret)
                }
                Some(OwnClient { id, secret: None }) => OAuthClientConfig::new(id, &redirect),
                None => manager.register_client("levain", &redirect, &scopes).await.map_err(|error| {
                    format!("register a client by hand, and name it with --client-id, since levain cannot: {error}")
                })?,
            };
            manager.configure_client(client.clone()).map_err(|error| error.to_string())?;
            let address = manager.get_authorization_url(&scopes).await.map_err(|error| error.to_string())?;
            Ok::<_, String>((manager, client, address, challenge))
        };
        let asked =
            timeout(DISCOVERY, ask).await.map_err(|_late| failed("its authorization server does not answer"))?;
        let (manager, client, address, challenge) = asked.map_err(|why| failed(&why))?;
        let read = Url::parse(&address).map_err(|error| failed(&error.to_string()))?;
        let state = read.query_pairs().find(|(key, _)| key == "state").map(|(_, value)| value.into_owned());
        let state = state.ok_or_else(|| failed("the address to open has no state"))?;
        let known = Known { challenge, client_secret: client.client_secret };
        Ok(Self { address, port, name, state, manager, listener, file, known })
    }

    /// Waits until the browser comes back, at most so long, and keeps the token.
    ///
    /// # Errors
    /// Why the person is not signed in, in words that name the server.
    pub async fn finish(self, patience: Duration) -> Result<(), String> {
        let Self { name, state, manager, listener, file, known, .. } = self;
        let failed = |why: &str| format!("{name}: {}", plain(why));
        let back = timeout(patience, back(&listener, &state)).await;
        let late = || failed(&format!("nobody signed in within {} s", patience.as_secs()));
        let (mut browser, query) = back.map_err(|_late| late())?;
        let done = exchanged(&manager, &file, known, &query).await;
        let told = match &done {
            Ok(()) => format!("You are signed in to {name}. You can close this page."),
            Err(_) => format!("You are not signed in to {name}. levain says why."),
        };
        answer(&mut browser, "200 OK", &told).await;
        done.map_err(|why| failed(&why))
    }
}

/// Exchanges what the browser brought for a token.
async fn exchanged(manager: &AuthorizationManager, file: &TokenFile, known: Known, query: &str) -> Result<(), String> {
    let url = format!("http://127.0.0.1{CALLBACK}?{query}");
    let said = |key: &str| {
        let url = Url::parse(&url).ok()?;
        url.query_pairs().find(|(name, _)| name == key).map(|(_, value)| plain(&value))
    };
    if let Some(error) = said("error") {
        let about = said("error_description").map(|about| format!(" ({about})")).unwrap_or_default();
        return Err(format!("the authorization server refused: {error}{about}"));
    }
    let callback = AuthorizationCallback::from_redirect_url(&url).map_err(|error| error.to_string())?;
    let AuthorizationCallback { code, csrf_token, issuer, .. } = callback;
    // It is kept by the manager, which knows the file.
    let token = manager.exchange_code_for_token_with_issuer(&code, &csrf_token, issuer.as_deref()).await;
    token.map_err(|error| error.to_string())?;
    let file = file.clone();
    let keep = move || match file.kept()? {
        Some(kept) => file.keep(kept.credentials, Some(known)),
        None => Err("its token is gone again".to_owned()),
    };
    tokio::task::spawn_blocking(keep).await.map_err(|error| error.to_string())?
}

/// The beginning of words of a server, in one line and without what would steer a terminal.
fn plain(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).take(200).collect()
}

/// The connection and the query of the browser that comes back with `state`. Whoever else asks is sent away.
async fn back(listener: &TcpListener, state: &str) -> (TcpStream, String) {
    let mut open = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let state = state.to_owned();
                    open.spawn(async move { timeout(PATIENCE, query(stream, &state)).await.ok().flatten() });
                }
                // Too many files are open, or the like.
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            },
            done = open.join_next(), if !open.is_empty() => {
                if let Some(Ok(Some(found))) = done {
                    return found;
                }
            }
        }
    }
}

/// The query of a request of the browser's, where it has `state`.
async fn query(mut stream: TcpStream, state: &str) -> Option<(TcpStream, String)> {
    let mut read = Vec::new();
    while !read.windows(4).any(|end| end == b"\r\n\r\n") {
        let mut buffer = [0; 4 << 10];
        let count = stream.read(&mut buffer).await.ok().filter(|count| *count > 0)?;
        read.extend_from_slice(buffer.get(..count)?);
        if read.len() > LONGEST {
            return None;
        }
    }
    let line = String::from_utf8_lossy(&read).lines().next().unwrap_or_default().to_owned();
    let target = line.strip_prefix("GET ").and_then(|rest| rest.split(' ').next()).unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let url = Url::parse(&format!("http://127.0.0.1{CALLBACK}?{query}")).ok()?;
    let fits = path == CALLBACK && url.query_pairs().any(|(key, value)| key == "state" && value == state);
    if !fits {
        answer(&mut stream, "404 Not Found", "Nothing is here.").await;
        return None;
    }
    Some((stream, query.to_owned()))
}

/// Answers the browser with a sentence.
async fn answer(stream: &mut TcpStream, status: &str, told: &str) {
    let body = format!("<!doctype html><meta charset=utf-8><title>levain</title><p>{told}\n");
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
         Referrer-Policy: no-referrer\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let _gone = stream.write_all(format!("{head}{body}").as_bytes()).await;
    let _gone = stream.shutdown().await;
}

/// A client of HTTP that sends the token that is kept for `server` at `url`, and renews it; none where nobody signed in there.
///
/// # Errors
/// Why the token cannot be used.
pub(super) async fn signed_in(
    server: &Server,
    url: &Url,
    tokens: &Tokens,
) -> Result<Option<AuthClient<reqwest::Client>>, String> {
    let file = tokens.of(server, url);
    let look = file.clone();
    let kept = tokio::task::spawn_blocking(move || look.kept()).await.map_err(|error| error.to_string())??;
    let Some(kept) = kept else { return Ok(None) };
    if !is_private(url) {
        return Err(format!("no token is sent to `{url}`, where everybody on the way could read it"));
    }
    let known = kept.known;
    let mut manager = manager(url.clone(), known.challenge.as_deref()).await?;
    manager.set_credential_store(file);
    let is_known = manager.initialize_from_store().await.map_err(|error| error.to_string())?;
    if is_known && let Some(secret) = known.client_secret {
        let redirect = format!("http://127.0.0.1{CALLBACK}");
        let client = OAuthClientConfig::new(kept.credentials.client_id, redirect).with_client_secret(secret);
        manager.configure_client(client).map_err(|error| error.to_string())?;
    }
    let http = reqwest::Client::builder().redirect(Policy::custom(stays)).pool_max_idle_per_host(0).build();
    Ok(Some(AuthClient::new(http.map_err(|error| error.to_string())?, manager)))
}

/// Follows a redirect that keeps the request as it is, and the token where it belongs.
fn stays(attempt: Attempt<'_>) -> Action {
    let keeps = matches!(attempt.status(), StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
    let first = attempt.previous().first().map(Url::origin);
    let is_there = first.is_some_and(|origin| origin == attempt.url().origin());
    if keeps && is_there && attempt.previous().len() <= MOST_REDIRECTS { attempt.follow() } else { attempt.stop() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_go_only_where_nobody_reads_them_on_the_way() {
        for (url, private) in [
            ("https://h.example/mcp", true),
            ("http://127.0.0.1:8000/mcp", true),
            ("http://localhost/mcp", true),
            ("http://[::1]/mcp", true),
            ("http://h.example/mcp", false),
            ("http://localhost.evil.example/mcp", false),
            ("http://10.0.0.1/mcp", false),
            ("file:///etc/passwd", false),
        ] {
            assert_eq!(is_private(&Url::parse(url).unwrap()), private, "{url}");
        }
    }

    #[tokio::test]
    async fn only_the_browser_that_knows_the_state_is_listened_to() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let ask = async |target: &str| {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
            stream.write_all(format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).await.unwrap();
            let mut said = String::new();
            stream.read_to_string(&mut said).await.unwrap();
            said
        };
        let asking = async {
            // One that says nothing holds nobody up.
            let _silent = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
            for target in ["/", "/callback", "/callback?code=x&state=b", "/other?state=a%20b", "/callback?code=a%20b"] {
                assert!(ask(target).await.starts_with("HTTP/1.1 404"), "{target}");
            }
            ask("/callback?code=y&state=a%20b").await
        };
        let waiting = async {
            let (mut stream, query) = back(&listener, "a b").await;
            answer(&mut stream, "200 OK", "Thanks.").await;
            query
        };
        let (said, query) = tokio::join!(asking, waiting);
        assert_eq!(query, "code=y&state=a%20b");
        assert!(said.contains("Thanks.") && said.contains("no-store"), "{said}");
    }
}
