//! Tools that are a request of HTTP: a file names method, address, headers and body, and where parameters belong in them.
//!
//! A parameter in an address is encoded, in a body it is a value of JSON. The scheme and host are the file's own, so no
//! model chooses where a request goes, and redirects are not followed.

use super::Broken;
use crate::tools::Environment;
use futures_util::StreamExt as _;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{Client, Method, Url};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// How long a request may take where nothing is said, in seconds.
const USUAL: u64 = 30;

/// Bytes of an answer that are read.
const MOST: usize = 512_000;

/// A request with places for parameters.
#[derive(Debug)]
pub(super) struct Request {
    method: Method,
    url: String,
    headers: Vec<(String, String)>,
    query: Map<String, Value>,
    body: Option<Value>,
    longest: Duration,
}

impl Request {
    /// Reads what a file says.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn read(config: &Map<String, Value>) -> Result<Self, String> {
        let text = |name: &str| config.get(name).and_then(Value::as_str);
        let url = text("url").ok_or("it names no address (config: url)")?;
        let host_ends =
            url.find("://").and_then(|at| url.get(at + 3..).map(|rest| at + 3 + rest.find('/').unwrap_or(rest.len())));
        let host_ends = host_ends.ok_or_else(|| format!("its address `{url}` is no URL"))?;
        if url.get(..host_ends).is_some_and(|host| host.contains('{')) {
            return Err(
                "its address takes the host from a parameter: levain lets no model choose where a request goes"
                    .to_owned(),
            );
        }
        if !url.starts_with("http://") && !url.starts_with("https://") {
            return Err(format!("its address `{url}` is neither http nor https"));
        }
        let method = text("method").unwrap_or("GET").to_uppercase();
        let method: Method = method.parse().map_err(|_unread| format!("`{method}` is no method of HTTP"))?;
        let object = |name: &str| config.get(name).and_then(Value::as_object).cloned().unwrap_or_default();
        let headers = object("headers").into_iter().map(|(name, value)| {
            let value = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
            (name, value)
        });
        Ok(Self {
            method,
            url: url.to_owned(),
            headers: headers.collect(),
            query: object("query").into_iter().chain(object("params")).collect(),
            body: config.get("body").cloned(),
            longest: super::seconds(&Value::Object(config.clone()), USUAL),
        })
    }

    fn address(&self, parameters: &Map<String, Value>) -> Result<Url, Broken> {
        let mut url = Url::parse(&encoded(&self.url, parameters)?).map_err(|error| error.to_string())?;
        let query = self.query.iter().map(|(name, value)| Some((name, put(value, parameters)?)));
        let query: Vec<(&String, Value)> = query.flatten().filter(|(_, value)| !value.is_null()).collect();
        if !query.is_empty() {
            let mut pairs = url.query_pairs_mut();
            for (name, value) in query {
                pairs.append_pair(name, &plain(&value));
            }
        }
        Ok(url)
    }

    /// The body: as the file says it, else the parameters themselves where the method has a body.
    fn content(&self, parameters: &Map<String, Value>) -> Option<Value> {
        if let Some(body) = &self.body {
            return put(body, parameters);
        }
        let has_body = matches!(self.method, Method::POST | Method::PUT | Method::PATCH);
        has_body.then(|| Value::Object(parameters.clone()))
    }

    /// What would be sent, without the values of headers.
    pub(super) fn told(&self, parameters: &Map<String, Value>) -> Result<Value, Broken> {
        let names: Vec<&String> = self.headers.iter().map(|(name, _)| name).collect();
        Ok(json!({
            "method": self.method.as_str(), "url": self.address(parameters)?.as_str(), "headers": names,
            "body": self.content(parameters), "timeout": self.longest.as_secs(),
        }))
    }

    pub(super) async fn send(
        &self,
        parameters: &Map<String, Value>,
        environment: &Environment,
    ) -> Result<Value, Broken> {
        crate::ports::tls::prepare();
        let client = Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(self.longest)
            .user_agent(concat!("levain/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| error.to_string())?;
        let mut request = client.request(self.method.clone(), self.address(parameters)?);
        for (name, value) in &self.headers {
            request = request.header(name, environment.expanded(value)?);
        }
        if let Some(body) = self.content(parameters) {
            request = if let Value::String(text) = body { request.body(text) } else { request.json(&body) };
        }
        let answer = request.send().await.map_err(|error| told(&error))?;
        let status = answer.status();
        let kind =
            answer.headers().get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default().to_owned();
        let mut bytes: Vec<u8> = Vec::new();
        let mut pieces = answer.bytes_stream();
        let mut cut = false;
        while let Some(piece) = pieces.next().await {
            bytes.extend_from_slice(&piece.map_err(|error| told(&error))?);
            if bytes.len() > MOST {
                bytes.truncate(MOST);
                cut = true;
                break;
            }
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let body = serde_json::from_str::<Value>(&text).unwrap_or(Value::String(text));
        let mut data = json!({ "status_code": status.as_u16(), "content_type": kind, "body": body });
        if let (true, Some(data)) = (cut, data.as_object_mut()) {
            data.insert("truncated".to_owned(), json!(MOST));
        }
        if status.is_success() {
            Ok(data)
        } else {
            Err(Broken { error: format!("the server answered {status}"), data: Some(data) })
        }
    }
}

fn told(error: &reqwest::Error) -> Broken {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    Broken::from(format!("the request failed: {cause}"))
}

/// A value as the text it stands for.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
}

/// An address with its `{parameters}` encoded, so that none leaves its place.
fn encoded(text: &str, parameters: &Map<String, Value>) -> Result<String, Broken> {
    let mut made = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        made.push_str(before);
        let Some((name, behind)) = after.split_once('}') else { return Err(format!("`{text}` has no }}").into()) };
        let value = parameters.get(name).filter(|value| !value.is_null());
        let value = plain(value.ok_or_else(|| format!("the parameter `{name}` is missing"))?);
        if matches!(value.as_str(), "." | "..") {
            return Err(format!("`{name}` cannot be `{value}` in an address").into());
        }
        made.extend(utf8_percent_encode(&value, NON_ALPHANUMERIC));
        rest = behind;
    }
    made.push_str(rest);
    Ok(made)
}

/// A value of the file in which each text that is one `{parameter}` is that parameter, of its own type; none where that was
/// not given. Other texts stay as they are.
fn put(value: &Value, parameters: &Map<String, Value>) -> Option<Value> {
    Some(match value {
        Value::String(text) => match text.strip_prefix('{').and_then(|text| text.strip_suffix('}')) {
            Some(name) => parameters.get(name)?.clone(),
            None => value.clone(),
        },
        Value::Array(all) => Value::Array(all.iter().filter_map(|one| put(one, parameters)).collect()),
        Value::Object(fields) => {
            let fields = fields.iter().filter_map(|(name, one)| Some((name.clone(), put(one, parameters)?)));
            Value::Object(fields.collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> Map<String, Value> {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn parameters_stay_in_their_places() {
        let config = object(
            r#"{"url": "https://h/a/{id}?x=1", "query": {"q": "{text}", "no": "{absent}"}, "method": "post",
                "body": {"a": ["{id}", "{absent}"], "b": "{n}", "c": "x {id}"}}"#,
        );
        let request = Request::read(&config).unwrap();
        let given = object(r#"{"id": "../b?c#d/é", "text": "a&b=c", "n": 3}"#);
        let told = request.told(&given).unwrap_or_else(|broken| panic!("{}", broken.error));
        assert_eq!(told["url"], "https://h/a/%2E%2E%2Fb%3Fc%23d%2F%C3%A9?x=1&q=a%26b%3Dc");
        assert_eq!(told["body"], json!({"a": ["../b?c#d/é"], "b": 3, "c": "x {id}"}));
        assert!(request.told(&object(r#"{"id": ".."}"#)).is_err());
    }

    #[test]
    fn no_parameter_chooses_a_host() {
        for url in ["https://{host}/a", "{url}", "https://a.{domain}/", "ftp://h/a"] {
            assert!(Request::read(&object(&json!({ "url": url }).to_string())).is_err(), "{url}");
        }
    }
}
