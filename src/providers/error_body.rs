//! What a failed response says: the provider's words out of whatever body came with the status, cleaned for people.
//!
//! Bodies are JSON of several shapes, pages of HTML from gateways, or nothing. Text from a server is never trusted:
//! control characters go, length is bounded, and key text that a server echoes is blotted out.

use super::blot::{BLOT, Blot, RUN};
use secrecy::SecretString;
use serde_json::Value;

/// Longest text taken from a server, in letters.
const LONGEST: usize = 300;

/// The provider's word for the failure and its sentence; either may be empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ErrorDetail {
    pub(crate) kind: String,
    pub(crate) message: String,
    /// The status in it, as gateways put it into a stream that had begun.
    pub(crate) status: Option<u16>,
}

/// Reads an error body of any form.
pub(crate) fn read(body: &[u8], secrets: &[SecretString]) -> ErrorDetail {
    let text = String::from_utf8_lossy(body);
    let told = match serde_json::from_str::<Value>(&text) {
        Ok(value) => {
            from_json(&value).unwrap_or_else(|| ErrorDetail { message: text.into_owned(), ..ErrorDetail::default() })
        }
        Err(_) if looks_like_html(&text) => ErrorDetail { message: text_of_html(&text), ..ErrorDetail::default() },
        Err(_) => ErrorDetail { message: text.into_owned(), ..ErrorDetail::default() },
    };
    ErrorDetail { kind: clean(&told.kind, secrets), message: clean(&told.message, secrets), ..told }
}

/// The shapes in use: `{error: {type, code, status, message}}`, `{error: "…"}`, `{message}`, `{detail}`, and any of them in a
/// list of one.
pub(crate) fn from_json(value: &Value) -> Option<ErrorDetail> {
    let value = value.get(0).unwrap_or(value);
    let error = match value.get("error") {
        Some(Value::String(message)) => {
            return Some(ErrorDetail { message: message.clone(), ..ErrorDetail::default() });
        }
        Some(error @ Value::Object(_)) => error,
        _ => value,
    };
    let text = |name: &str| error.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let message = match text("message").or_else(|| text("detail")) {
        Some(message) => message.to_owned(),
        None => error.get("detail").or_else(|| error.get("message"))?.to_string(),
    };
    // The code is the finer word where it is a word: a quota is told from a rate limit by it alone.
    let kind = text("code").or_else(|| text("type")).or_else(|| text("status")).unwrap_or_default();
    let number = |name: &str| error.get(name).and_then(Value::as_u64).and_then(|number| u16::try_from(number).ok());
    let status = number("code").or_else(|| number("status")).filter(|status| (400..600).contains(status));
    Some(ErrorDetail { kind: kind.to_owned(), message, status })
}

/// Text fit for a line on the screen: one line, no control characters, bounded, without keys and other secrets.
pub(crate) fn clean(text: &str, secrets: &[SecretString]) -> String {
    let text = without_secrets(text, secrets);
    let mut line = String::new();
    for (count, letter) in text.split_whitespace().flat_map(|word| word.chars().chain([' '])).enumerate() {
        if count == LONGEST {
            line.push('…');
            break;
        }
        if !letter.is_control() && !is_invisible(letter) {
            line.push(letter);
        }
    }
    line.trim_end().to_owned()
}

/// Letters that reorder or hide their neighbours.
fn is_invisible(letter: char) -> bool {
    matches!(letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// `text` with these secrets, any run of them, and everything of the form `sk-…` blotted out.
fn without_secrets(text: &str, secrets: &[SecretString]) -> String {
    let text = secrets.iter().filter_map(Blot::new).fold(text.to_owned(), |text, blot| blot.clean(text));
    let mut kept = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(letter) = rest.chars().next() {
        let starts_word = !kept.ends_with(|before: char| before.is_ascii_alphanumeric());
        let looks_so = rest.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("sk-"));
        let word = if starts_word && looks_so { word_length(rest) } else { 0 };
        if word >= RUN {
            kept.push_str(BLOT);
            rest = rest.get(word..).unwrap_or_default();
        } else {
            kept.push(letter);
            rest = rest.get(letter.len_utf8()..).unwrap_or_default();
        }
    }
    kept
}

/// Bytes of the word at the start of `text`, with what keys and their masked forms are made of.
fn word_length(text: &str) -> usize {
    text.find(|letter: char| !letter.is_ascii_alphanumeric() && !matches!(letter, '-' | '_' | '*'))
        .unwrap_or(text.len())
}

fn looks_like_html(text: &str) -> bool {
    let start: String = text.trim_start().chars().take(15).collect::<String>().to_ascii_lowercase();
    start.starts_with("<!doctype") || start.starts_with("<html") || start.starts_with("<head")
}

/// The title of a page, or else its visible words.
fn text_of_html(page: &str) -> String {
    let mut title = String::new();
    let mut visible = String::new();
    let mut inside = String::new();
    for piece in page.split('<') {
        let (tag, text) = piece.split_once('>').unwrap_or(("", piece));
        let name = tag.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
        if matches!(name.as_str(), "script" | "/script" | "style" | "/style" | "title" | "/title") {
            inside = name;
        }
        match inside.as_str() {
            "script" | "style" => {}
            "title" => title.push_str(text),
            _ => {
                visible.push(' ');
                visible.push_str(text);
            }
        }
    }
    if title.trim().is_empty() { visible } else { title }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, kind: &str, message: &str) {
        let told = read(body.as_bytes(), &[SecretString::from("topsecretkey123")]);
        assert_eq!((told.kind.as_str(), told.message.as_str()), (kind, message), "{body}");
    }

    #[test]
    fn errors_of_every_shape() {
        check(
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            "overloaded_error",
            "Overloaded",
        );
        check(
            r#"{"error":{"message":"no money","type":"x","param":null,"code":"insufficient_quota"}}"#,
            "insufficient_quota",
            "no money",
        );
        check(r#"{"error":{"message":"bad","type":"server_error","code":500}}"#, "server_error", "bad");
        check(
            r#"[{"error":{"code":429,"message":"later","status":"RESOURCE_EXHAUSTED"}}]"#,
            "RESOURCE_EXHAUSTED",
            "later",
        );
        check(r#"{"error":"model not found"}"#, "", "model not found");
        check(r#"[{"error":{"type":"a","message":"b"}}]"#, "a", "b");
        check(r#"{"detail":[{"msg":"field required"}]}"#, "", r#"[{"msg":"field required"}]"#);
        check("", "", "");
        check("\u{1b}[31mred\u{7}\n  tape", "", "[31mred tape");
        check(r#"{"unknown":1}"#, "", r#"{"unknown":1}"#);
    }

    #[test]
    fn a_page_is_its_title_or_its_words() {
        check("<!DOCTYPE html><html><head><title>502 Bad\nGateway</title></head><body>x</body>", "", "502 Bad Gateway");
        check("<html><style>p{}</style><p>Please <b>wait</b></p><script>go()</script></html>", "", "Please wait");
    }

    #[test]
    fn keys_are_blotted_out() {
        check("you sent topsecretkey123!", "", "you sent [key]!");
        check("you sent topsecretk***, no", "", "you sent [key], no");
        check("you sent TopSecretKey123!", "", "you sent [key]!");
        check("ends in cretkey123", "", "ends in [key]");
        check("Incorrect API key provided: sk-proj-****wxyz. Visit", "", "Incorrect API key provided: [key]. Visit");
        check("the task-oriented topic of sk-1", "", "the task-oriented topic of sk-1");
    }

    #[test]
    fn long_text_is_cut_after_blotting() {
        let body = format!("{} topsecretkey123", "é".repeat(290));
        let told = read(body.as_bytes(), &[SecretString::from("topsecretkey123")]);
        assert!(!told.message.contains("topse"), "{}", told.message);
        assert!(read("x".repeat(9_000).as_bytes(), &[]).message.chars().count() <= LONGEST + 1);
    }
}
