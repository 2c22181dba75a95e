//! The line that holds a signature: `<prefix>:<UTC time>:<sha256 hex>:<base64url Ed25519>:<fingerprint>`.

use std::fmt;
use std::ops::Range;

/// What a signature covers, told by its prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureScope {
    /// `rye:signed`: parts of the file, by the rules of its kind.
    Part,
    /// `levain:signed`: the whole file but this line.
    Whole,
}

impl SignatureScope {
    fn prefix(self) -> &'static str {
        match self {
            Self::Part => "rye:signed:",
            Self::Whole => "levain:signed:",
        }
    }
}

/// A signature as its line tells it. Nothing is verified yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    pub form: SignatureScope,
    /// `2026-11-21T10:00:00Z`.
    pub time: String,
    /// Hash of what was signed: 64 hexadecimal digits. Their text, not their value, is what the key signed.
    pub hash: String,
    /// Base64url.
    pub signature: String,
    /// First 16 hexadecimal digits of the hash of the public key's file.
    pub fingerprint: String,
    /// Who signed it where, `provider@user`, as some services add.
    pub by: Option<String>,
}

/// A signature that does not read, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the signature is malformed: {0}; sign the file again")]
pub struct BadLine(pub &'static str);

impl fmt::Display for Signature {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { form, time, hash, signature, fingerprint, by } = self;
        write!(formatter, "{}{time}:{hash}:{signature}:{fingerprint}", form.prefix())?;
        by.as_ref().map_or(Ok(()), |by| write!(formatter, "|{by}"))
    }
}

/// The signature of a file, and the bytes of its line with the line's end. It stands on the first line, or on the second
/// behind `#!`.
#[must_use]
pub fn find(text: &str) -> Option<(Range<usize>, Result<Signature, BadLine>)> {
    let mut start = 0;
    for line in text.split_inclusive('\n').take(2) {
        let end = start + line.len();
        let words = uncommented(line.trim_end_matches(['\n', '\r']));
        for form in [SignatureScope::Part, SignatureScope::Whole] {
            if let Some(rest) = words.strip_prefix(form.prefix()) {
                let signature = read(form, rest).map_err(BadLine);
                return Some((start..end, signature));
            }
        }
        if !line.starts_with("#!") {
            return None;
        }
        start = end;
    }
    None
}

fn uncommented(line: &str) -> &str {
    let line = line.trim();
    if let Some(inner) = line.strip_prefix("<!--").and_then(|rest| rest.strip_suffix("-->")) {
        return inner.trim();
    }
    line.strip_prefix("//").or_else(|| line.strip_prefix('#')).map_or("", str::trim)
}

fn read(form: SignatureScope, text: &str) -> Result<Signature, &'static str> {
    let (text, by) = match text.split_once('|') {
        Some((text, by)) => (text, Some(by.trim().to_owned())),
        None => (text, None),
    };
    // The time has colons of its own.
    let mut parts = text.trim().rsplitn(4, ':');
    let (Some(fingerprint), Some(signature), Some(hash), Some(time)) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err("a part is missing");
    };
    let hexadecimal = |text: &str, length: usize| {
        text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    };
    if !hexadecimal(hash, 64) {
        return Err("its hash is not 64 hexadecimal digits");
    }
    if !hexadecimal(fingerprint, 16) {
        return Err("its fingerprint is not 16 hexadecimal digits");
    }
    if time.parse::<jiff::Timestamp>().is_err() {
        return Err("its time is not a valid time");
    }
    Ok(Signature {
        form,
        time: time.to_owned(),
        hash: hash.to_owned(),
        signature: signature.to_owned(),
        fingerprint: fingerprint.to_owned(),
        by,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(prefix: &str) -> String {
        format!("{prefix}:2026-03-01T12:00:00Z:{}:QUJD:{}", "ab".repeat(32), "0123456789abcdef")
    }

    #[test]
    fn it_is_found_in_every_comment_form() {
        for (text, end) in [
            (format!("<!-- {} -->\nbody", line("rye:signed")), "body"),
            (format!("# {}\ncode", line("levain:signed")), "code"),
            (format!("// {}|hub@ann\ncode", line("rye:signed")), "code"),
        ] {
            let (range, signature) = find(&text).unwrap();
            assert_eq!((range.start, text.get(range.end..)), (0, Some(end)));
            let signature = signature.unwrap();
            assert_eq!(signature.fingerprint, "0123456789abcdef");
            assert!(text.contains(&signature.to_string()));
        }
        let script = format!("#!/bin/sh\n# {}\necho", line("levain:signed"));
        assert_eq!(script.get(find(&script).unwrap().0.end..), Some("echo"));
    }

    #[test]
    fn elsewhere_it_is_text() {
        assert_eq!(find(&format!("first\n# {}\n", line("rye:signed"))), None);
        assert_eq!(find("<!-- rye:unsigned -->\n"), None);
        assert_eq!(find(""), None);
    }

    #[test]
    fn a_broken_line_says_what_is_wrong() {
        let broken = |text: &str| find(text).unwrap().1.unwrap_err().to_string();
        assert!(broken("# rye:signed:x\n").contains("a part is missing"));
        assert!(broken(&format!("# {}\n", line("rye:signed").replace("abab", "xyxy"))).contains("64 hexadecimal"));
        assert!(broken(&format!("# {}\n", line("rye:signed").replace("2026", "when"))).contains("not a valid time"));
    }

    proptest! {
        #[test]
        fn no_text_brings_it_down(text in "(#!|# |// |<!-- )?(rye|levain):signed:.{0,120}(\n.{0,40})?") {
            if let Some((range, _)) = find(&text) {
                prop_assert!(text.get(range).is_some());
            }
        }
    }
}
