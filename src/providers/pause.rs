//! The pause a provider asks for with a refusal, in whatever way it says it.

use crate::domain::event::Timestamp;
use reqwest::header::{HeaderMap, HeaderName, RETRY_AFTER};
use serde_json::Value;
use std::time::Duration;

/// The words before a pause in a sentence.
const WORDS: &str = "try again in ";

/// The pause in milliseconds, the plainest word first: the header for it, the body, and of a rate limit when it is
/// reset.
#[must_use]
pub(super) fn asked_for(status: u16, headers: &HeaderMap, body: &[u8], now: Timestamp) -> Option<u64> {
    // The limits stand beside other failures too, which have nothing to do with them.
    let reset = || (status == 429).then(|| reset(headers, now)).flatten();
    retry_after(headers, now).or_else(|| in_body(body)).or_else(reset)
}

/// `retry-after-ms`, else `retry-after` in seconds or as a date.
fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<u64> {
    let number = |text: &str| whole(text.parse::<f64>().ok()?);
    text(headers, "retry-after-ms").and_then(number).or_else(|| {
        let text = text(headers, RETRY_AFTER.as_str())?;
        match text.parse::<f64>() {
            Ok(seconds) => whole(seconds * 1_000.0),
            Err(_not_a_number) => until(jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?, now),
        }
    })
}

/// Until the limits that are used up are reset: `x-ratelimit-reset-tokens`, `anthropic-ratelimit-requests-reset` and
/// their like, the last of them. One beside which a header says that something remains is not what was hit.
fn reset(headers: &HeaderMap, now: Timestamp) -> Option<u64> {
    let names = headers.keys().map(HeaderName::as_str).filter(|name| {
        let name = name.strip_prefix("x-").or_else(|| name.strip_prefix("anthropic-")).unwrap_or(name);
        name.strip_prefix("ratelimit-").is_some_and(|limit| limit.split('-').any(|part| part == "reset"))
    });
    let used_up = names.filter(|name| {
        let remaining = text(headers, &name.replace("reset", "remaining")).and_then(|text| text.parse::<f64>().ok());
        remaining.is_none_or(|remaining| remaining <= 0.0)
    });
    used_up.filter_map(|name| due(text(headers, name)?, now)).max()
}

/// How long until the moment that a header names: `6m0s`, seconds, seconds or milliseconds since 1970, or a time as
/// RFC 3339 writes it.
fn due(text: &str, now: Timestamp) -> Option<u64> {
    /// No limit lasts for thirty years: a larger number is a moment.
    const MOMENT: f64 = 1e9;
    match text.parse::<f64>() {
        Ok(number) if number < MOMENT => whole(number * 1_000.0),
        Ok(number) => {
            let moment = whole(if number < MOMENT * 1_000.0 { number * 1_000.0 } else { number })?;
            Some(Timestamp(moment).since(now))
        }
        Err(_not_a_number) => milliseconds(text).or_else(|| until(text.parse().ok()?, now)),
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim)
}

fn until(date: jiff::Timestamp, now: Timestamp) -> Option<u64> {
    Some(Timestamp(u64::try_from(date.as_millisecond()).ok()?).since(now))
}

/// Whole milliseconds; none of what is no length of time.
fn whole(milliseconds: f64) -> Option<u64> {
    u64::try_from(Duration::try_from_secs_f64(milliseconds / 1_000.0).ok()?.as_millis()).ok()
}

/// The pause in milliseconds: of Google's `RetryInfo`, else of a sentence such as `Please try again in 1m30.5s.`
fn in_body(body: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(body).ok()?;
    let value: Option<Value> = serde_json::from_str(text).ok();
    let told = value.as_ref().and_then(|value| {
        let error = value.get(0).unwrap_or(value).get("error")?;
        let details = error.get("details")?.as_array()?;
        details.iter().find_map(|detail| {
            let kind = detail.get("@type")?.as_str()?;
            kind.ends_with("google.rpc.RetryInfo").then(|| detail.get("retryDelay")?.as_str())?
        })
    });
    told.and_then(milliseconds).or_else(|| in_words(text))
}

/// The pause in milliseconds of a sentence.
pub(super) fn in_words(text: &str) -> Option<u64> {
    let lower = text.to_ascii_lowercase();
    let at = lower.find(WORDS)?;
    milliseconds(lower.get(at + WORDS.len()..)?)
}

/// What `1m30.5s`, `20s` or `600ms` at the beginning of `text` come to; `None` where a unit is missing.
fn milliseconds(text: &str) -> Option<u64> {
    let mut rest = text;
    let mut sum = 0.0;
    let mut found = false;
    while let Some(end) = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').filter(|end| *end > 0) {
        let (number, behind) = rest.split_at_checked(end)?;
        let Ok(number) = number.parse::<f64>() else { break };
        let unit = ["ms", "h", "m", "s"].into_iter().find(|unit| behind.starts_with(unit))?;
        sum += number
            * match unit {
                "ms" => 1.0,
                "s" => 1_000.0,
                "m" => 60_000.0,
                _ => 3_600_000.0,
            };
        found = true;
        rest = behind.strip_prefix(unit).unwrap_or_default();
    }
    if found { whole(sum) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderValue;

    fn check_wait(status: u16, headers: &[(&'static str, &'static str)], expected: Option<u64>) {
        let map = headers.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        // 2015-10-21T07:28:00Z
        let now = Timestamp(1_445_412_480_000);
        assert_eq!(asked_for(status, &map.collect(), b"", now), expected, "{headers:?}");
    }

    #[test]
    fn the_pause_asked_for_in_its_three_forms() {
        for status in [429, 529] {
            check_wait(status, &[("retry-after", "7")], Some(7_000));
            check_wait(status, &[("retry-after", "0.5")], Some(500));
            check_wait(status, &[("retry-after-ms", "1250"), ("retry-after", "2")], Some(1_250));
            check_wait(status, &[("retry-after", "Wed, 21 Oct 2015 07:28:30 GMT")], Some(30_000));
            check_wait(status, &[("retry-after", "Wed, 21 Oct 2015 07:27:30 GMT")], Some(0));
            for bad in ["", "soon", "-3", "NaN", "1e300"] {
                check_wait(status, &[("retry-after", bad)], None);
            }
            check_wait(status, &[], None);
        }
    }

    #[test]
    fn a_rate_limit_is_waited_for_until_it_is_reset() {
        for (text, expected) in [
            ("6m0s", Some(360_000)),
            ("7.66s", Some(7_660)),
            ("20ms", Some(20)),
            ("12", Some(12_000)),
            ("1445412490", Some(10_000)),
            ("1445412480250", Some(250)),
            ("1445412000", Some(0)),
            ("2015-10-21T07:28:30Z", Some(30_000)),
            ("2015-10-21T09:28:30+02:00", Some(30_000)),
            ("2015-10-21T07:00:00Z", Some(0)),
            ("", None),
            ("soon", None),
            ("-5", None),
            ("NaN", None),
            ("1e300", None),
        ] {
            for name in [
                "x-ratelimit-reset",
                "x-ratelimit-reset-requests",
                "ratelimit-reset",
                "anthropic-ratelimit-tokens-reset",
            ] {
                check_wait(429, &[(name, text)], expected);
                check_wait(500, &[(name, text)], None);
            }
        }
        check_wait(429, &[("retry-after", "1"), ("x-ratelimit-reset", "60")], Some(1_000));
        let limits = |requests: &'static str, tokens: &'static str, expected| {
            let headers = [
                ("x-ratelimit-remaining-requests", requests),
                ("x-ratelimit-reset-requests", "1s"),
                ("x-ratelimit-remaining-tokens", tokens),
                ("x-ratelimit-reset-tokens", "6m0s"),
            ];
            check_wait(429, &headers, expected);
        };
        limits("0", "0", Some(360_000));
        limits("0", "5000", Some(1_000));
        limits("59", "0", Some(360_000));
        limits("59", "5000", None);
        check_wait(429, &[("x-ratelimit-limit", "3"), ("x-other-reset", "3"), ("x-ratelimit-resetting", "3")], None);
    }

    #[test]
    fn pauses_in_bodies_of_refusals() {
        let google = r#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[
            {"@type":"type.googleapis.com/google.rpc.QuotaFailure"},
            {"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"17.5s"}]}}"#;
        let openai = r#"{"error":{"message":"Rate limit reached for gpt-4o. Please try again in 1m20.5s. Visit"}}"#;
        for (body, expected) in [
            (google, Some(17_500)),
            (openai, Some(80_500)),
            ("Please Try Again in 600ms.", Some(600)),
            ("try again in 20s", Some(20_000)),
            ("try again in 20", None),
            ("try again in a while", None),
            ("try again in 9999999999999999999999999h", None),
            (r#"{"error":{"details":[{"@type":"google.rpc.RetryInfo","retryDelay":7}]}}"#, None),
            (r#"{"error":"no"}"#, None),
            ("", None),
        ] {
            assert_eq!(in_body(body.as_bytes()), expected, "{body}");
        }
        assert_eq!(in_body(&[0xff, 0xfe]), None);
    }

    proptest::proptest! {
        #[test]
        fn no_body_brings_it_down(body in "(try again in |[0-9.]{0,30}|h|ms?|s|é|\\{\"error\":|\\}){0,12}") {
            let _pause = in_body(body.as_bytes());
        }
    }
}
