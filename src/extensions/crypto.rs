//! Random bytes and digests of extensions.

use super::files::{fine, refused};
use super::plain::Plain;
use hmac::{Hmac, KeyInit as _, Mac as _};
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha384, Sha512};

/// Random bytes of one call.
const MOST_RANDOM: f64 = 65_536.0;

/// Random bytes.
pub(super) fn random(size: &Plain) -> Plain {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
    let size = size.number().unwrap_or_default().clamp(0.0, MOST_RANDOM) as usize;
    let mut bytes = vec![0; size];
    if getrandom::fill(&mut bytes).is_err() {
        // Without random bytes none are given, which the JavaScript side finds too short.
        bytes.clear();
    }
    Plain::Bytes(bytes)
}

/// A digest, or a code of authentication where there is a key.
pub(super) fn hash(name: &str, data: &Plain, key: &Plain) -> Plain {
    let bytes = |value: &Plain| match value {
        Plain::Bytes(bytes) => bytes.clone(),
        Plain::Text(text) => text.clone().into_bytes(),
        Plain::Nothing | Plain::Bool(_) | Plain::Number(_) | Plain::List(_) | Plain::Map(_) => Vec::new(),
    };
    let (data, key) = (bytes(data), (*key != Plain::Nothing).then(|| bytes(key)));
    macro_rules! digest {
        ($kind:ty) => {
            match key {
                None => Some(<$kind>::digest(&data).to_vec()),
                Some(key) => Hmac::<$kind>::new_from_slice(&key).ok().map(|mut code| {
                    code.update(&data);
                    code.finalize().into_bytes().to_vec()
                }),
            }
        };
    }
    let made = match name {
        "md5" => digest!(Md5),
        "sha1" => digest!(Sha1),
        "sha256" => digest!(Sha256),
        "sha384" => digest!(Sha384),
        "sha512" => digest!(Sha512),
        _ => None,
    };
    made.map_or_else(
        || refused("ERR_CRYPTO_INVALID_DIGEST", &format!("Invalid digest: {name}")),
        |made| fine(Plain::Bytes(made)),
    )
}
