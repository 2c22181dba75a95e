//! What `node:zlib` of extensions asks for: gzip, zlib and bare deflate, and back.

use super::files::{fine, refused};
use super::plain::Plain;
use flate2::bufread::{DeflateDecoder, DeflateEncoder, GzDecoder, GzEncoder, ZlibDecoder, ZlibEncoder};
use flate2::{Compression, Crc};
use std::io::{BufRead, Error, ErrorKind, Read};

/// Bytes that come out of one call, at most: a few that come in may stand for very many.
const MOST: u64 = 64 << 20;

/// The first bytes of a member of gzip.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Does what an operation says with these bytes; the level is 0 to 9, that of zlib without. Where it is `lenient`, what has no end
/// gives what there is.
pub(super) fn operate(operation: &str, data: &Plain, level: &Plain, lenient: bool) -> Plain {
    let bytes = match data {
        Plain::Bytes(bytes) => bytes.as_slice(),
        Plain::Text(text) => text.as_bytes(),
        Plain::Nothing | Plain::Bool(_) | Plain::Number(_) | Plain::List(_) | Plain::Map(_) => &[],
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
    let level =
        level.number().map_or_else(Compression::default, |level| Compression::new(level.clamp(0.0, 9.0) as u32));
    let made = match operation {
        "crc32" => {
            let mut sum = Crc::new();
            sum.update(bytes);
            return fine(Plain::Number(f64::from(sum.sum())));
        }
        "gzip" => whole(GzEncoder::new(bytes, level), lenient),
        "deflate" => whole(ZlibEncoder::new(bytes, level), lenient),
        "deflateRaw" => whole(DeflateEncoder::new(bytes, level), lenient),
        "inflateRaw" => whole(DeflateDecoder::new(bytes), lenient),
        "gunzip" => members(bytes, lenient),
        "unzip" if bytes.starts_with(&GZIP) => members(bytes, lenient),
        "inflate" | "unzip" => whole(ZlibDecoder::new(bytes), lenient),
        other => return refused("ERR_NOT_SUPPORTED", &format!("{other} is not offered")),
    };
    match made {
        Ok(made) => fine(Plain::Bytes(made)),
        Err(error) if error.kind() == ErrorKind::FileTooLarge => {
            refused("ERR_BUFFER_TOO_LARGE", &format!("Cannot create a Buffer larger than {MOST} bytes"))
        }
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => refused("Z_BUF_ERROR", "unexpected end of file"),
        Err(_) if matches!(operation, "gunzip" | "inflate" | "unzip") && !begins(operation, bytes) => {
            refused("Z_DATA_ERROR", "incorrect header check")
        }
        Err(error) => refused("Z_DATA_ERROR", &error.to_string()),
    }
}

/// Whether they may be what is to be read: gzip by its first bytes, zlib by the sum of its two (RFC 1950, 2.2).
fn begins(operation: &str, bytes: &[u8]) -> bool {
    let is_zlib = |bytes: &[u8]| match bytes {
        [method, flags, ..] => method & 15 == 8 && (u16::from(*method) << 8 | u16::from(*flags)).is_multiple_of(31),
        _ => false,
    };
    match operation {
        "gunzip" => bytes.starts_with(&GZIP),
        "inflate" => is_zlib(bytes),
        _ => bytes.starts_with(&GZIP) || is_zlib(bytes),
    }
}

/// All that there is to read, as far as it may be.
fn read(from: impl Read, made: &mut Vec<u8>, lenient: bool) -> Result<(), Error> {
    match from.take(MOST + 1 - made.len() as u64).read_to_end(made) {
        Err(error) if !(lenient && error.kind() == ErrorKind::UnexpectedEof) => Err(error),
        _ => Ok(()),
    }
}

fn whole(from: impl Read, lenient: bool) -> Result<Vec<u8>, Error> {
    let mut made = Vec::new();
    read(from, &mut made, lenient)?;
    if made.len() as u64 > MOST { Err(ErrorKind::FileTooLarge.into()) } else { Ok(made) }
}

/// All members of a file; what else stands behind them does not count, as in Node.
fn members(mut bytes: &[u8], lenient: bool) -> Result<Vec<u8>, Error> {
    let mut made = Vec::new();
    loop {
        let mut member = GzDecoder::new(bytes);
        read(member.by_ref(), &mut made, lenient)?;
        if made.len() as u64 > MOST {
            return Err(ErrorKind::FileTooLarge.into());
        }
        bytes = member.into_inner();
        if !bytes.fill_buf()?.starts_with(&GZIP) {
            return Ok(made);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes(operation: &str, data: &[u8]) -> Result<Vec<u8>, String> {
        let came = operate(operation, &Plain::Bytes(data.to_vec()), &Plain::Nothing, false);
        match came.get("value") {
            Some(Plain::Bytes(bytes)) => Ok(bytes.clone()),
            _ => Err(came
                .get("error")
                .and_then(|error| error.get("code")?.text().map(str::to_owned))
                .unwrap_or_default()),
        }
    }

    proptest! {
        #[test]
        fn what_was_made_smaller_comes_back(data in prop::collection::vec(any::<u8>(), 0..2_000), cut in 1_usize..8) {
            for (there, back) in [("gzip", "gunzip"), ("gzip", "unzip"), ("deflate", "inflate"), ("deflate", "unzip"), ("deflateRaw", "inflateRaw")] {
                let small = bytes(there, &data).unwrap();
                prop_assert_eq!(&bytes(back, &small).unwrap(), &data);
                // With its end missing it is an error, never less than there was.
                prop_assert!(bytes(back, &small[..small.len().saturating_sub(cut).max(1)]).is_err());
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(data in prop::collection::vec(any::<u8>(), 0..200)) {
            for operation in ["gunzip", "inflate", "inflateRaw", "unzip"] {
                let _either = bytes(operation, &data);
            }
        }
    }

    #[test]
    fn what_would_be_too_much_is_refused_and_members_are_joined() {
        let zeros = bytes("gzip", &vec![0; usize::try_from(MOST).unwrap() + 1]).unwrap();
        assert!(zeros.len() < 100_000);
        assert_eq!(bytes("gunzip", &zeros).unwrap_err(), "ERR_BUFFER_TOO_LARGE");
        let two = [bytes("gzip", b"one ").unwrap(), bytes("gzip", b"two").unwrap(), b"garbage".to_vec()].concat();
        assert_eq!(bytes("gunzip", &two).unwrap(), b"one two");
        assert_eq!(bytes("gunzip", b"no gzip at all").unwrap_err(), "Z_DATA_ERROR");
    }
}
