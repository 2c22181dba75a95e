//! `fetch`: a page of the web as text.
//!
//! Only http and https, and only public addresses: a name is looked up here, every address it has must be public, and
//! the connection goes to the address that was looked at. Redirects are followed by hand, each checked the same way.
//! Proxies are not used, since what they reach cannot be checked. No cookie, key or header of the person is sent.

use super::page::Reader;
use super::{Answer, Failed};
use crate::ports::tls;
use futures_util::StreamExt;
use reqwest::header::{CONTENT_TYPE, LOCATION};
use reqwest::{Client, Response, Url};
use serde::Deserialize;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

/// Most bytes of a page.
const MOST: usize = 512_000;

/// Most redirects.
const HOPS: usize = 5;

const USUAL: Duration = Duration::from_secs(30);
const LONGEST: Duration = Duration::from_mins(2);

/// Which addresses may be asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// Those that everybody can ask.
    #[default]
    Public,
    /// This machine and its network too. The person has said so.
    Private,
}

#[derive(Deserialize)]
pub(super) struct Fetch {
    url: String,
    #[serde(default)]
    format: Format,
    /// Seconds.
    timeout: Option<f64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Format {
    #[default]
    Markdown,
    Text,
    Html,
}

/// Gets the page.
pub(super) async fn fetch(reach: Reach, reader: &Reader, arguments: Fetch) -> Answer {
    let longest = arguments.timeout.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let longest = longest.unwrap_or(USUAL).clamp(Duration::from_secs(1), LONGEST);
    match tokio::time::timeout(longest, get(reach, reader, &arguments.url, arguments.format)).await {
        Ok(answer) => answer,
        Err(_) => Err(Failed(format!("no answer within {} s", longest.as_secs()))),
    }
}

async fn get(reach: Reach, reader: &Reader, asked: &str, format: Format) -> Answer {
    let mut url = Url::parse(asked).map_err(|error| Failed(format!("`{asked}` is not a URL: {error}")))?;
    for _ in 0..=HOPS {
        let response = ask(reach, &url).await?;
        let status = response.status();
        if status.is_redirection()
            && let Some(next) = response.headers().get(LOCATION)
        {
            let next = next.to_str().unwrap_or_default();
            url = url
                .join(next)
                .map_err(|error| Failed(format!("it redirects to `{next}`, which is not a URL: {error}")))?;
            continue;
        }
        if !status.is_success() {
            return Err(Failed(format!("the server answered {status}")));
        }
        return page(response, reader, &url, format).await;
    }
    Err(Failed(format!("it redirects more than {HOPS} times")))
}

async fn ask(reach: Reach, url: &Url) -> Result<Response, Failed> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Failed(format!("only http and https are fetched, not {}", url.scheme())));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Failed("a URL with a user or password is not fetched".to_owned()));
    }
    let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
        return Err(Failed("the URL has no host".to_owned()));
    };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let found = tokio::net::lookup_host((bare, port)).await;
    let addresses: Vec<SocketAddr> =
        found.map_err(|error| Failed(format!("`{host}` was not found: {error}")))?.collect();
    if reach == Reach::Public && (addresses.is_empty() || !addresses.iter().all(|address| is_public(address.ip()))) {
        return Err(Failed(format!(
            "`{host}` is not a public address; addresses of this machine and its network are not fetched"
        )));
    }
    tls::prepare();
    let client = Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .resolve_to_addrs(host, &addresses)
        .user_agent(concat!("levain/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| Failed(format!("the connection could not be prepared: {error}")))?;
    client.get(url.clone()).send().await.map_err(|error| {
        let mut cause: &dyn std::error::Error = &error;
        while let Some(deeper) = cause.source() {
            cause = deeper;
        }
        Failed(format!("the request to `{host}` failed: {cause}"))
    })
}

async fn page(response: Response, reader: &Reader, url: &Url, format: Format) -> Answer {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or("text/plain");
    let kind = kind.split(';').next().unwrap_or_default().trim().to_lowercase();
    let is_text =
        kind.starts_with("text/") || ["json", "xml", "javascript", "yaml"].iter().any(|word| kind.contains(word));
    if !is_text {
        return Err(Failed(format!("the page is not text (actual {kind})")));
    }
    let mut bytes: Vec<u8> = Vec::new();
    let mut pieces = response.bytes_stream();
    let mut cut = false;
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|error| Failed(format!("the connection failed: {error}")))?;
        bytes.extend_from_slice(&piece);
        if bytes.len() > MOST {
            bytes.truncate(MOST);
            cut = true;
            break;
        }
    }
    let text = match format {
        Format::Markdown | Format::Text if kind.contains("html") => reader.read(bytes, format).await?,
        Format::Markdown | Format::Text | Format::Html => String::from_utf8_lossy(&bytes).into_owned(),
    };
    let more = if cut { format!("\n(only the first {MOST} bytes were read)") } else { String::new() };
    Ok(format!("{url}\n\n{}{more}", text.trim()))
}

/// Whether everybody can reach the address: not this machine, not its network, nothing set aside for other uses.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => {
            if let Some(inside) = address.to_ipv4_mapped() {
                return is_public_v4(inside);
            }
            // Global unicast, without the parts of it that lead back to IPv4 or are for examples.
            let [first, second, ..] = address.segments();
            let is_global = first & 0xe000 == 0x2000;
            is_global && first != 0x2002 && !(first == 0x2001 && (second == 0 || second == 0xdb8))
        }
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    let set_aside = address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_broadcast()
        || address.is_documentation()
        || first == 0
        || first >= 240
        || (first == 100 && (64..128).contains(&second))
        || (first == 192 && second == 0 && third == 0)
        || (first == 198 && (18..20).contains(&second));
    !set_aside
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    #[test]
    fn private_addresses_are_known() {
        for private in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "0.0.0.0",
            "100.64.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "::ffff:127.0.0.1",
            "2002:7f00:1::",
            "ff02::1",
        ] {
            assert!(!is_public(private.parse().unwrap()), "{private}");
        }
        for public in ["1.1.1.1", "93.184.216.34", "2606:4700::1111"] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
    }

    /// A server that gives each of `answers` to one request; its address.
    async fn serve(answers: Vec<String>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        drop(tokio::spawn(async move {
            for answer in answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut buffer = [0; 4096];
                let _count = stream.read(&mut buffer).await.unwrap();
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        }));
        format!("http://{address}")
    }

    fn answer(head: &str, body: &str) -> String {
        format!("HTTP/1.1 {head}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
    }

    async fn ask(url: &str, reach: Reach) -> Result<String, String> {
        let arguments = Fetch { url: url.into(), format: Format::Markdown, timeout: None };
        fetch(reach, &Reader::Here, arguments).await.map_err(|failed| failed.0)
    }

    #[tokio::test]
    async fn a_page_is_given_as_text() {
        let page =
            "<html><head><script>x()</script></head><body><h1>Hi</h1><p>See <a href=\"/b\">b</a>.</p></body></html>";
        let moved = answer("302 Found\r\nlocation: /there", "");
        let base = serve(vec![moved, answer("200 OK\r\ncontent-type: text/html; charset=utf-8", page)]).await;
        let text = ask(&base, Reach::Private).await.unwrap();
        assert!(
            text.starts_with(&format!("{base}/there\n\n# Hi")) && text.contains("See") && !text.contains("x()"),
            "{text}"
        );
    }

    #[tokio::test]
    async fn what_is_not_fetched_is_told() {
        for (url, words) in [
            ("http://127.0.0.1:1/", "not a public address"),
            ("http://localhost/", "not a public address"),
            ("http://[::1]/", "not a public address"),
            ("file:///etc/passwd", "only http and https"),
            ("http://me:pw@example.org/", "user or password"),
            ("nonsense", "is not a URL"),
        ] {
            let error = ask(url, Reach::Public).await.unwrap_err();
            assert!(error.contains(words), "{url}: {error}");
        }
        let base = serve(vec![answer("200 OK\r\ncontent-type: image/png", "x"), answer("404 Not Found", "")]).await;
        assert!(ask(&base, Reach::Private).await.unwrap_err().contains("image/png"));
        assert!(ask(&base, Reach::Private).await.unwrap_err().contains("404"));
        let round = serve(vec![answer("301 Moved\r\nlocation: /", ""); 7]).await;
        assert!(ask(&round, Reach::Private).await.unwrap_err().contains("more than 5"));
    }
}
