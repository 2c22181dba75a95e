//! What `node:crypto` and `crypto.subtle` of extensions make of keys: AES, and keys of passwords.

use super::files::{fine, refused};
use super::plain::Plain;
use aes::cipher::{
    Block, BlockModeDecrypt, BlockModeEncrypt, KeyInit, KeyIvInit, StreamCipher as _, StreamCipherSeek as _,
};
use aes::{Aes128, Aes192, Aes256};
use aes_gcm::AesGcm;
use aes_gcm::aead::consts::{U12, U16};
use aes_gcm::aead::{Aead, Payload};
use ctr::Ctr128BE;
use pbkdf2::pbkdf2_hmac;
use sha1::Sha1;
use sha2::{Sha256, Sha384, Sha512};

/// Bytes of a block of AES.
const BLOCK: usize = 16;
/// Rounds of PBKDF2 in one call, for each of its blocks: a few seconds. JavaScript stands still meanwhile.
const MOST_ROUNDS: f64 = 5e6;
/// Memory that scrypt takes, in bytes.
const MOST_MEMORY: f64 = 134_217_728.0;
/// Bytes of a key that is made.
const LONGEST_KEY: f64 = 4_096.0;

/// Why it was not done: a code and words of Node's.
type Refusal = (&'static str, &'static str);

const BAD_KEY: Refusal = ("ERR_CRYPTO_INVALID_KEYLEN", "Invalid key length");
const BAD_VECTOR: Refusal = ("ERR_CRYPTO_INVALID_IV", "Invalid initialization vector");
const BAD_STATE: Refusal = ("ERR_OSSL_BAD_DECRYPT", "Unsupported state or unable to authenticate data");
const OUT_OF_RANGE: Refusal = ("ERR_OUT_OF_RANGE", "The value of an argument is out of range here");
const BAD_MEMORY: Refusal = ("ERR_CRYPTO_INVALID_SCRYPT_PARAMS", "Invalid scrypt params: memory limit exceeded");
const BAD_DIGEST: Refusal = ("ERR_CRYPTO_INVALID_DIGEST", "Invalid digest");

/// See `cipher` in `HOST.md`.
pub(super) fn operate(operation: &str, arguments: &Plain) -> Plain {
    let made = match operation {
        "cbc" => chained(arguments),
        "ctr" => counted(arguments),
        "gcm" => sealed(arguments),
        "pbkdf2" => of_password(arguments),
        "scrypt" => scrypted(arguments),
        _ => Err(("ERR_CRYPTO_UNKNOWN_CIPHER", "Unknown cipher")),
    };
    match made {
        Ok(bytes) => fine(Plain::Bytes(bytes)),
        Err((code, message)) => refused(code, message),
    }
}

fn bytes<'a>(arguments: &'a Plain, name: &str) -> &'a [u8] {
    if let Some(Plain::Bytes(bytes)) = arguments.get(name) { bytes } else { &[] }
}

fn is(arguments: &Plain, name: &str) -> bool {
    arguments.get(name).is_some_and(Plain::is_true)
}

/// A whole number in bounds.
fn number(arguments: &Plain, name: &str, most: f64) -> Result<u64, Refusal> {
    let number = arguments.get(name).and_then(Plain::number).filter(|number| (0.0..=most).contains(number));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is in bounds")]
    number.map(|number| number as u64).ok_or(OUT_OF_RANGE)
}

fn length(arguments: &Plain) -> Result<usize, Refusal> {
    number(arguments, "length", LONGEST_KEY).and_then(|length| usize::try_from(length).ok().ok_or(OUT_OF_RANGE))
}

/// Calls with the AES that a key is for.
macro_rules! with_aes {
    ($key:expr, |$kind:ident| $work:expr) => {
        match $key.len() {
            16 => {
                type $kind = Aes128;
                $work
            }
            24 => {
                type $kind = Aes192;
                $work
            }
            32 => {
                type $kind = Aes256;
                $work
            }
            _ => Err(BAD_KEY),
        }
    };
}

/// Whole blocks, each with the one before; what fills the last one is of whoever asks.
fn chained(arguments: &Plain) -> Result<Vec<u8>, Refusal> {
    let (key, vector) = (bytes(arguments, "key"), bytes(arguments, "iv"));
    let mut data = bytes(arguments, "data").to_vec();
    with_aes!(key, |Kind| {
        let (blocks, rest) = Block::<Kind>::slice_as_chunks_mut(&mut data);
        if !rest.is_empty() {
            return Err(("ERR_OSSL_WRONG_FINAL_BLOCK_LENGTH", "wrong final block length"));
        }
        if is(arguments, "decrypt") {
            let made = cbc::Decryptor::<Kind>::new_from_slices(key, vector);
            made.ok().ok_or(BAD_VECTOR)?.decrypt_blocks(blocks);
        } else {
            let made = cbc::Encryptor::<Kind>::new_from_slices(key, vector);
            made.ok().ok_or(BAD_VECTOR)?.encrypt_blocks(blocks);
        }
        Ok(data)
    })
}

/// Bytes that stand so far behind the first.
fn counted(arguments: &Plain) -> Result<Vec<u8>, Refusal> {
    let (key, vector) = (bytes(arguments, "key"), bytes(arguments, "iv"));
    let mut data = bytes(arguments, "data").to_vec();
    let skip = number(arguments, "skip", 9e15)?;
    with_aes!(key, |Kind| {
        let mut cipher = Ctr128BE::<Kind>::new_from_slices(key, vector).ok().ok_or(BAD_VECTOR)?;
        cipher.try_seek(skip).ok().ok_or(OUT_OF_RANGE)?;
        cipher.try_apply_keystream(&mut data).ok().ok_or(OUT_OF_RANGE)?;
        Ok(data)
    })
}

/// All of a message; its tag stands behind it.
fn sealed(arguments: &Plain) -> Result<Vec<u8>, Refusal> {
    let (key, vector) = (bytes(arguments, "key"), bytes(arguments, "iv"));
    let payload = Payload { msg: bytes(arguments, "data"), aad: bytes(arguments, "aad") };
    let opens = is(arguments, "decrypt");
    macro_rules! with {
        ($cipher:ty) => {{
            let cipher = <$cipher>::new_from_slice(key).ok().ok_or(BAD_KEY)?;
            let nonce = vector.try_into().ok().ok_or(BAD_VECTOR)?;
            let made = if opens { cipher.decrypt(&nonce, payload) } else { cipher.encrypt(&nonce, payload) };
            made.ok().ok_or(BAD_STATE)
        }};
    }
    with_aes!(key, |Kind| match vector.len() {
        12 => with!(AesGcm<Kind, U12>),
        BLOCK => with!(AesGcm<Kind, U16>),
        _ => Err(BAD_VECTOR),
    })
}

fn of_password(arguments: &Plain) -> Result<Vec<u8>, Refusal> {
    let (password, salt) = (bytes(arguments, "password"), bytes(arguments, "salt"));
    let rounds = number(arguments, "iterations", MOST_ROUNDS)?;
    let rounds = u32::try_from(rounds).ok().filter(|rounds| *rounds > 0).ok_or(OUT_OF_RANGE)?;
    let mut made = vec![0; length(arguments)?];
    // The shortest digest has 20 bytes.
    #[expect(clippy::cast_precision_loss, reason = "it is in bounds")]
    if f64::from(rounds) * (made.len().div_ceil(20).max(1) as f64) > MOST_ROUNDS {
        return Err(OUT_OF_RANGE);
    }
    match arguments.get("digest").and_then(Plain::text).unwrap_or_default() {
        "sha1" => pbkdf2_hmac::<Sha1>(password, salt, rounds, &mut made),
        "sha256" => pbkdf2_hmac::<Sha256>(password, salt, rounds, &mut made),
        "sha384" => pbkdf2_hmac::<Sha384>(password, salt, rounds, &mut made),
        "sha512" => pbkdf2_hmac::<Sha512>(password, salt, rounds, &mut made),
        _ => return Err(BAD_DIGEST),
    }
    Ok(made)
}

fn scrypted(arguments: &Plain) -> Result<Vec<u8>, Refusal> {
    let cost = number(arguments, "cost", MOST_MEMORY)?;
    let (size, lanes) = (number(arguments, "blockSize", 1e4)?, number(arguments, "parallelization", 16.0)?);
    #[expect(clippy::cast_precision_loss, reason = "it is in bounds")]
    let memory = 128.0 * cost as f64 * size as f64;
    if !cost.is_power_of_two() || cost < 2 || memory > MOST_MEMORY {
        return Err(BAD_MEMORY);
    }
    let small = |number: u64| u32::try_from(number).ok().ok_or(OUT_OF_RANGE);
    let log = u8::try_from(cost.ilog2()).ok().ok_or(OUT_OF_RANGE)?;
    let params = scrypt::Params::new(log, small(size)?, small(lanes)?).ok().ok_or(BAD_MEMORY)?;
    let mut made = vec![0; length(arguments)?];
    if !made.is_empty() {
        scrypt::scrypt(bytes(arguments, "password"), bytes(arguments, "salt"), &params, &mut made)
            .ok()
            .ok_or(OUT_OF_RANGE)?;
    }
    Ok(made)
}
