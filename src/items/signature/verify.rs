//! Signing a file, and judging its signature.

use super::content::{SignatureLayout, comment, signed_parts, without_line, without_oldest_line};
use super::keys::{SigningKey, TrustStore};
use super::line::{Signature, SignatureScope, find};
use crate::domain::ContentHash;
use base64::Engine;
use base64::engine::general_purpose::{URL_SAFE, URL_SAFE_NO_PAD};
use std::path::Path;

/// What a signature is worth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Unsigned,
    /// Somebody trusted signed this text.
    Valid {
        fingerprint: String,
        owner: String,
        covers: Covers,
    },
    /// The text is another than the one that was signed.
    Changed {
        fingerprint: String,
    },
    /// The text is as it was signed, by a key that is not trusted here.
    Untrusted {
        fingerprint: String,
    },
    /// The key did not sign this.
    Forged {
        fingerprint: String,
    },
    /// The line does not read.
    Malformed {
        what: &'static str,
    },
}

/// How much of the file a signature is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Covers {
    Whole,
    /// Not the text that a model obeys: the older form leaves a directive's body out.
    AllButBody,
}

impl Verdict {
    /// The word for lists and JSON.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Unsigned => "unsigned",
            Self::Valid { covers: Covers::Whole, .. } => "valid",
            Self::Valid { covers: Covers::AllButBody, .. } => "valid, body not covered",
            Self::Changed { .. } => "changed",
            Self::Untrusted { .. } => "untrusted",
            Self::Forged { .. } => "forged",
            Self::Malformed { .. } => "malformed",
        }
    }
}

/// Judges the signature of `text`. In this order: it is there, the text is the signed one, the key is trusted, the key
/// signed it.
#[must_use]
pub fn verify(text: &str, layout: SignatureLayout, trust: &TrustStore) -> Verdict {
    let signature = match find(text) {
        None => return Verdict::Unsigned,
        Some((_, Err(bad))) => return Verdict::Malformed { what: bad.0 },
        Some((_, Ok(signature))) => signature,
    };
    let Signature { form, hash, fingerprint, .. } = &signature;
    let same = |part: &String| ContentHash::of(part.as_bytes()).as_str() == hash;
    if !signed_parts(text, layout, *form).iter().any(same) {
        return Verdict::Changed { fingerprint: fingerprint.clone() };
    }
    let Some(key) = trust.find(fingerprint) else { return Verdict::Untrusted { fingerprint: fingerprint.clone() } };
    if !is_signed_by(&signature, &key.key) {
        return Verdict::Forged { fingerprint: fingerprint.clone() };
    }
    let covers = match (form, layout) {
        (SignatureScope::Part, SignatureLayout::Directive) => Covers::AllButBody,
        (SignatureScope::Part, SignatureLayout::Knowledge | SignatureLayout::Code) | (SignatureScope::Whole, _) => {
            Covers::Whole
        }
    };
    Verdict::Valid { fingerprint: fingerprint.clone(), owner: key.owner.clone(), covers }
}

fn is_signed_by(signature: &Signature, key: &ed25519_dalek::VerifyingKey) -> bool {
    let bytes = URL_SAFE
        .decode(&signature.signature)
        .or_else(|_padding| URL_SAFE_NO_PAD.decode(signature.signature.trim_end_matches('=')));
    let Ok(Ok(signed)) = bytes.map(|bytes| ed25519_dalek::Signature::from_slice(&bytes)) else { return false };
    // The strict check: no second signature can be made from a first.
    key.verify_strict(signature.hash.as_bytes(), &signed).is_ok()
}

/// `text` with a signature over the whole of it, at `time` (`2026-11-21T10:00:00Z`); none for a file that has no room
/// for a comment. An older signature is replaced.
#[must_use]
pub fn sign(text: &str, path: &Path, key: &SigningKey, time: &str) -> Option<(String, Signature)> {
    let (open, close) = comment(path.extension()?.to_str()?)?;
    let plain = without_line(text);
    let plain = without_oldest_line(&plain);
    let hash = ContentHash::of(plain.as_bytes()).as_str().to_owned();
    let signature = Signature {
        form: SignatureScope::Whole,
        time: time.to_owned(),
        signature: URL_SAFE.encode(key.sign(&hash)),
        hash,
        fingerprint: key.fingerprint(),
        by: None,
    };
    let line = format!("{open}{signature}{close}\n");
    let signed = match plain.split_once('\n').filter(|(first, _)| first.starts_with("#!")) {
        Some((shebang, rest)) => format!("{shebang}\n{line}{rest}"),
        None => format!("{line}{plain}"),
    };
    Some((signed, signature))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TIME: &str = "2026-11-21T10:00:00Z";

    fn key() -> (tempfile::TempDir, SigningKey, TrustStore) {
        let space = tempfile::tempdir().unwrap();
        let key = SigningKey::generate(space.path()).unwrap();
        TrustStore::trust(space.path(), key.public_pem(), "me").unwrap();
        let (trust, errors) = TrustStore::read(&[space.path().to_owned()]);
        assert!(errors.is_empty(), "{errors:?}");
        (space, key, trust)
    }

    /// A file as the older form signs it.
    fn older(text: &str, part: &str, key: &SigningKey) -> String {
        let hash = ContentHash::of(part.as_bytes()).as_str().to_owned();
        let signature = URL_SAFE.encode(key.sign(&hash));
        format!("<!-- rye:signed:{TIME}:{hash}:{signature}:{} -->\n{text}", key.fingerprint())
    }

    #[test]
    fn a_signed_file_is_valid_until_a_byte_changes() {
        let (_space, key, trust) = key();
        for (path, text) in [
            ("directives/a.md", "# A\n<directive name=\"a\"></directive>\nbody\n"),
            ("tools/x.py", "#!/usr/bin/env python3\nprint(1)\n"),
            ("tools/x.ts", "export {}"),
            ("knowledge/empty.md", ""),
        ] {
            let path = Path::new(path);
            let layout = SignatureLayout::of(path).unwrap();
            let (signed, _) = sign(text, path, &key, TIME).unwrap();
            let valid = Verdict::Valid { fingerprint: key.fingerprint(), owner: "me".into(), covers: Covers::Whole };
            assert_eq!(verify(&signed, layout, &trust), valid);
            assert_eq!(verify(&format!("{signed}x"), layout, &trust).word(), "changed");
            let (again, _) = sign(&signed, path, &key, TIME).unwrap();
            assert_eq!(again, signed, "signing twice changes nothing");
        }
        assert_eq!(sign("{}", Path::new("x.json"), &key, TIME), None);
    }

    #[test]
    fn signing_takes_the_place_of_the_oldest_lines() {
        let (_space, key, trust) = key();
        for (path, line) in [
            ("knowledge/a.md", "<!-- rye:validated:2025-01-01T00:00:00Z:abc -->"),
            ("knowledge/a.md", "<!-- kiwi-mcp:validated:2024-01-01T00:00:00Z:abc -->"),
            ("tools/a.py", "# kiwi-mcp:validated:x:y"),
            ("tools/a.js", "// rye:validated:x:y"),
        ] {
            let path = Path::new(path);
            let (signed, _) = sign(&format!("{line}\ntext\n"), path, &key, TIME).unwrap();
            assert_eq!(signed.lines().count(), 2, "{signed}");
            assert!(signed.ends_with("\ntext\n"), "{signed}");
            assert_eq!(verify(&signed, SignatureLayout::of(path).unwrap(), &trust).word(), "valid");
        }
        let (signed, _) = sign("<!-- rye:unsigned -->\ntext\n", Path::new("knowledge/a.md"), &key, TIME).unwrap();
        assert!(signed.contains("rye:unsigned"), "a remark is text");
    }

    #[test]
    fn the_older_form_is_checked_as_it_was_signed() {
        let (_space, key, trust) = key();
        let fence = "<directive name=\"a\">x</directive>";
        let text = format!("# A\n```xml\n{fence}\n```\nDo this.\n");
        let signed = older(&text, fence, &key);
        assert_eq!(verify(&signed, SignatureLayout::Directive, &trust).word(), "valid, body not covered");
        let body_changed = signed.replace("Do this.", "Do that.");
        assert_eq!(verify(&body_changed, SignatureLayout::Directive, &trust).word(), "valid, body not covered");
        let fence_changed = signed.replace(">x<", ">y<");
        assert_eq!(verify(&fence_changed, SignatureLayout::Directive, &trust).word(), "changed");
    }

    #[test]
    fn strangers_and_forgers_are_told_apart() {
        let (_space, key, trust) = key();
        let (_other, stranger, _) = self::key();
        let path = Path::new("knowledge/a.md");
        let (by_stranger, _) = sign("text", path, &stranger, TIME).unwrap();
        assert_eq!(verify(&by_stranger, SignatureLayout::Knowledge, &trust).word(), "untrusted");
        let forged = by_stranger.replace(&stranger.fingerprint(), &key.fingerprint());
        assert_eq!(verify(&forged, SignatureLayout::Knowledge, &trust).word(), "forged");
        assert_eq!(verify("text", SignatureLayout::Knowledge, &trust), Verdict::Unsigned);
        assert_eq!(verify("<!-- levain:signed:x -->\ntext", SignatureLayout::Knowledge, &trust).word(), "malformed");
    }

    #[test]
    fn keys_are_kept_closed_and_never_overwritten() {
        use std::os::unix::fs::PermissionsExt;
        let (space, key, _) = key();
        assert!(SigningKey::generate(space.path()).unwrap_err().to_string().contains("already"));
        assert_eq!(SigningKey::load(space.path()).unwrap().fingerprint(), key.fingerprint());
        assert!(!format!("{key:?}").contains("PRIVATE"));
        let private = space.path().join("config/keys/signing/private_key.pem");
        std::fs::set_permissions(&private, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(SigningKey::load(space.path()).unwrap_err().to_string().contains("chmod 600"));
        let elsewhere = tempfile::tempdir().unwrap();
        assert!(SigningKey::load(elsewhere.path()).unwrap_err().to_string().contains("levain keys generate"));
        let taken_over = SigningKey::import(&private, elsewhere.path()).unwrap();
        assert_eq!(taken_over.fingerprint(), key.fingerprint());
    }

    #[test]
    fn a_trusted_file_that_lies_about_its_key_is_refused() {
        let (space, key, _) = key();
        let path = space.path().join(format!("config/keys/trusted/{}.toml", key.fingerprint()));
        let text = std::fs::read_to_string(&path).unwrap().replace(&key.fingerprint(), "0000000000000000");
        std::fs::write(&path, text).unwrap();
        let (trust, errors) = TrustStore::read(&[space.path().to_owned()]);
        assert!(trust.iter().next().is_none());
        assert!(errors[0].to_string().contains("holds the key"), "{errors:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_text_can_be_signed_and_verified(text in "(#!.{0,10}\n)?(.|\n){0,200}") {
            let (_space, key, trust) = key();
            // A text that begins with a signature loses it: that is what signing again means.
            prop_assume!(find(&text).is_none());
            let (signed, _) = sign(&text, Path::new("tools/x.sh"), &key, TIME).unwrap();
            prop_assert_eq!(verify(&signed, SignatureLayout::Code, &trust).word(), "valid");
            prop_assert_eq!(without_line(&signed), text);
        }
    }
}
