//! The one place that decides what a provider's failure means.
//!
//! Providers word the same failure in many ways, and gateways before them use the wrong status, so the words count
//! before the status wherever they are plain.

use crate::domain::event::ErrorCategory;

/// Type words and phrases of an account that cannot pay. A pause does not help here, unlike with a rate limit.
const QUOTA: &[&str] = &[
    "insufficient_quota",
    "quota_exceeded",
    "exceeded your current quota",
    "billing_hard_limit",
    "billing_not_active",
    "billing_error",
    "credit balance is too low",
    "insufficient credits",
    "insufficient balance",
];

/// Type words and phrases of a request that does not fit the model's window.
const CONTEXT: &[&str] = &[
    "context_length_exceeded",
    "exceed_context_size",
    "context length",
    "context window",
    "context size",
    "context limit",
    "maximum context",
    "prompt is too long",
    "input is too long",
    "request_too_large",
];

/// Phrases of a server that refuses the longest answer that was asked for, whatever the prompt is.
const ANSWER: &[&str] = &["cannot be greater than max_model_len", "max_tokens is too large", "fewer output tokens"];

/// Type words of refused or missing keys.
const AUTH: &[&str] = &[
    "authentication_error",
    "permission_error",
    "invalid_api_key",
    "invalid x-api-key",
    "unauthenticated",
    "permission_denied",
];

/// Type words of failures on the provider's own side, which also arrive in mid-stream without a status.
const TRANSIENT: &[&str] =
    &["overloaded", "api_error", "server_error", "timeout_error", "unavailable", "internal", "deadline_exceeded"];

/// What a failure means. `status` is absent for an error inside a stream, `kind` is the provider's type or code word
/// and `text` its message; both may be empty.
#[must_use]
pub fn category(status: Option<u16>, kind: &str, text: &str) -> ErrorCategory {
    let kind = kind.to_ascii_lowercase();
    let text = text.to_ascii_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| kind.contains(word) || text.contains(word));
    let is_kind = |words: &[&str]| words.iter().any(|word| kind.contains(word));
    match status {
        Some(402) => ErrorCategory::Quota,
        // Gemini says of every limit by the minute that the quota is exceeded.
        _ if is_kind(&["resource_exhausted"]) => ErrorCategory::RateLimited,
        _ if says(QUOTA) => ErrorCategory::Quota,
        Some(429) => ErrorCategory::RateLimited,
        Some(401 | 403) => ErrorCategory::Auth,
        _ if is_kind(&["rate_limit"]) => ErrorCategory::RateLimited,
        _ if is_kind(AUTH) || says(&["api key not valid"]) => ErrorCategory::Auth,
        Some(413) => ErrorCategory::ContextTooLong,
        _ if says(ANSWER) => ErrorCategory::Permanent,
        _ if says(CONTEXT) => ErrorCategory::ContextTooLong,
        Some(408 | 425 | 500..=599) => ErrorCategory::Transient,
        _ if is_kind(TRANSIENT) => ErrorCategory::Transient,
        _ => ErrorCategory::Permanent,
    }
}

/// Whether what a server says in `text` is of the longest answer that was asked for: vLLM holds it against what the prompt leaves
/// of the window.
#[must_use]
pub fn is_of_answer_limit(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let names_it = text.contains("max_tokens") || text.contains("max_completion_tokens");
    ANSWER.iter().any(|phrase| text.contains(phrase)) || names_it && text.contains("is too large")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_of_both_vendors_and_of_local_servers() {
        use ErrorCategory::{Auth, ContextTooLong, Permanent, Quota, RateLimited, Transient};
        for (status, kind, text, expected) in [
            (Some(429), "rate_limit_error", "too many requests", RateLimited),
            (Some(429), "", "slow down", RateLimited),
            (Some(429), "tokens", "Rate limit reached: context length 4000 tokens per minute", RateLimited),
            (Some(429), "insufficient_quota", "You exceeded your current quota", Quota),
            (Some(400), "invalid_request_error", "Your credit balance is too low to access the API", Quota),
            (Some(402), "", "", Quota),
            (Some(401), "authentication_error", "invalid x-api-key", Auth),
            (Some(403), "", "<html>", Auth),
            (Some(400), "invalid_api_key", "", Auth),
            (Some(400), "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", ContextTooLong),
            (Some(400), "context_length_exceeded", "", ContextTooLong),
            (Some(500), "", "the request exceeds the available context size", ContextTooLong),
            (Some(413), "request_too_large", "", ContextTooLong),
            (
                Some(400),
                "",
                "max_tokens=16384 cannot be greater than max_model_len=8192 of this context length",
                Permanent,
            ),
            (
                Some(400),
                "BadRequestError",
                "'max_tokens' or 'max_completion_tokens' is too large: 16384. This model's maximum context length is 32768",
                ContextTooLong,
            ),
            (Some(400), "invalid_request_error", "max_tokens: field required", Permanent),
            (Some(404), "not_found_error", "model: x", Permanent),
            (Some(408), "", "", Transient),
            (Some(500), "api_error", "", Transient),
            (Some(503), "", "", Transient),
            (Some(529), "overloaded_error", "Overloaded", Transient),
            (None, "overloaded_error", "Overloaded", Transient),
            (None, "rate_limit_error", "", RateLimited),
            (Some(429), "RESOURCE_EXHAUSTED", "You exceeded your current quota, please check", RateLimited),
            (Some(400), "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", Auth),
            (None, "UNAVAILABLE", "The model is overloaded.", Transient),
            (None, "", "what", Permanent),
        ] {
            assert_eq!(category(status, kind, text), expected, "{status:?} {kind} {text}");
        }
    }
}
