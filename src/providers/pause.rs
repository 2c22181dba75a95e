//! The pause a provider asks for in the body of a refusal, where it sends no header for it.

use serde_json::Value;

/// The words before a pause in a sentence.
const WORDS: &str = "try again in ";

/// The pause in milliseconds: of Google's `RetryInfo`, else of a sentence such as `Please try again in 1m30.5s.`
#[must_use]
pub(super) fn in_body(body: &[u8]) -> Option<u64> {
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
    told.and_then(milliseconds).or_else(|| {
        let lower = text.to_ascii_lowercase();
        let at = lower.find(WORDS)?;
        milliseconds(lower.get(at + WORDS.len()..)?)
    })
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
    let whole = std::time::Duration::try_from_secs_f64(sum / 1_000.0).ok().filter(|_| found)?;
    u64::try_from(whole.as_millis()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

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
