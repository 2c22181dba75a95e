//! Headers of requests to providers, as far as handlers see and change them.

use std::collections::BTreeMap;

/// Headers by their names in small letters: a value to be sent, or none where it is not to be.
pub type HeaderEdits = BTreeMap<String, Option<String>>;

/// The headers of requests to a provider, as far as handlers may see and change them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenHeaders {
    /// By their names in small letters; none that holds a key.
    pub told: BTreeMap<String, String>,
    /// The name under which the key travels.
    pub key: Option<String>,
}

impl OpenHeaders {
    /// Whether handlers neither see nor change it: it holds a key, or says how the request itself is to be read.
    #[must_use]
    pub fn is_closed(name: &str) -> bool {
        const CLOSED: [&str; 14] = [
            "accept",
            "accept-encoding",
            "api-key",
            "authorization",
            "connection",
            "content-encoding",
            "content-length",
            "content-type",
            "cookie",
            "host",
            "proxy-authorization",
            "transfer-encoding",
            "x-api-key",
            "x-goog-api-key",
        ];
        CLOSED.iter().any(|closed| closed.eq_ignore_ascii_case(name))
    }
}
