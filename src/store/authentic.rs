//! Which lines of a log this person's own program wrote.
//!
//! A log lies below its project, and a project may be untrusted, logs included: one that grants itself every tool, or
//! has a prompt waiting, would be gone on with by whoever opens it. So each line ends with a code over the thread, the
//! line's place and its text, made with a key that lies in the person's state folder. A line without its code is nobody's
//! word here; a thread whose first line has none is from elsewhere.
//!
//! The code is HMAC-SHA-256, cut to 128 bits (RFC 2104 allows half of the hash).

use crate::domain::ThreadId;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

const NAME: &str = "log.key";
const KEY_BYTES: usize = 32;
const CODE_BYTES: usize = 16;

/// What stands between a line's text, without its last brace, and its code.
const BEFORE: &[u8] = b",\"mac\":\"";
const BEHIND: &[u8] = b"\"}";

/// The key of a person's logs.
#[derive(Clone)]
pub struct LogKey(Arc<[u8; KEY_BYTES]>);

impl std::fmt::Debug for LogKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("LogKey(…)")
    }
}

impl LogKey {
    /// The key in the state folder; `None` where none was made.
    pub(super) fn load(state: &Path) -> io::Result<Option<Self>> {
        match fs::read(state.join(NAME)) {
            Ok(bytes) => {
                let key: [u8; KEY_BYTES] = bytes.try_into().map_err(|_other_length| {
                    let text = format!("{} is not a log key; move it away", state.join(NAME).display());
                    io::Error::new(io::ErrorKind::InvalidData, text)
                })?;
                Ok(Some(Self(Arc::new(key))))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Makes the key in the state folder, which is there. Of several processes that do the first wins.
    pub(super) fn make(state: &Path) -> io::Result<Self> {
        let mut key = [0; KEY_BYTES];
        getrandom::fill(&mut key).map_err(|error| io::Error::other(error.to_string()))?;
        let mut file = tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o600)).tempfile_in(state)?;
        file.write_all(&key)?;
        file.as_file().sync_all()?;
        match file.persist_noclobber(state.join(NAME)) {
            Ok(_kept) => Ok(Self(Arc::new(key))),
            Err(late) if late.error.kind() == io::ErrorKind::AlreadyExists => {
                Self::load(state)?.ok_or_else(|| io::ErrorKind::NotFound.into())
            }
            Err(error) => Err(error.error),
        }
    }

    fn state(&self, thread: &ThreadId, offset: u64, text: &[u8]) -> Hmac<Sha256> {
        // Keys of any length are taken.
        let mut code = Hmac::<Sha256>::new_from_slice(self.0.as_slice()).unwrap_or_else(|_any| unreachable!());
        code.update(thread.as_str().as_bytes());
        code.update(&[0]);
        code.update(&offset.to_be_bytes());
        code.update(text);
        code
    }

    /// Puts the code into `object`, the text of a JSON object that will stand at `offset` of the thread's log.
    pub(super) fn seal(&self, thread: &ThreadId, offset: u64, object: &mut Vec<u8>) {
        let code = self.state(thread, offset, object).finalize().into_bytes();
        object.pop();
        object.extend_from_slice(BEFORE);
        let mut text = String::with_capacity(2 * CODE_BYTES);
        for byte in code.iter().take(CODE_BYTES) {
            // Writing to a text does not fail.
            let _written = write!(text, "{byte:02x}");
        }
        object.extend_from_slice(text.as_bytes());
        object.extend_from_slice(BEHIND);
    }

    /// Whether `object` with the code `code` was put at `offset` of the thread's log by whoever has this key.
    pub(super) fn fits(&self, thread: &ThreadId, offset: u64, (object, code): (&[u8], &[u8])) -> bool {
        let mut bytes = [0; CODE_BYTES];
        let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        for (byte, pair) in bytes.iter_mut().zip(code.chunks_exact(2)) {
            let (Some(high), Some(low)) = (pair.first().and_then(digit), pair.last().and_then(digit)) else {
                return false;
            };
            *byte = high << 4 | low;
        }
        self.state(thread, offset, object).verify_truncated_left(&bytes).is_ok()
    }
}

/// Parts the text of a line (without its end) from its code: the object as it was before, and the code in hexadecimal.
/// `None` for a line without one.
pub(super) fn part(line: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let rest = line.strip_suffix(BEHIND)?;
    let (rest, code) = rest.split_at_checked(rest.len().checked_sub(2 * CODE_BYTES)?)?;
    let mut object = rest.strip_suffix(BEFORE)?.to_vec();
    object.push(b'}');
    Some((object, code))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> LogKey {
        LogKey(Arc::new([7; KEY_BYTES]))
    }

    #[test]
    fn a_line_is_believed_as_it_was_where_it_was() {
        let id = ThreadId::new("chat", 1);
        let mut line = br#"{"a":1}"#.to_vec();
        key().seal(&id, 40, &mut line);
        assert_eq!(serde_json::from_slice::<serde_json::Value>(&line).unwrap()["a"], 1);
        let (object, code) = part(&line).unwrap();
        assert_eq!(object, br#"{"a":1}"#);
        assert!(key().fits(&id, 40, (&object, code)));
        assert!(!key().fits(&id, 41, (&object, code)), "at another place");
        assert!(!key().fits(&ThreadId::new("chat", 2), 40, (&object, code)), "in another thread");
        assert!(!key().fits(&id, 40, (br#"{"a":2}"#, code)), "with another text");
        assert!(!LogKey(Arc::new([8; KEY_BYTES])).fits(&id, 40, (&object, code)), "by another person");
        assert!(part(br#"{"a":1}"#).is_none() && part(b"").is_none() && part(b"\"}").is_none());
    }

    #[test]
    fn the_key_is_made_once_and_closed_to_others() {
        let folder = tempfile::tempdir().unwrap();
        assert!(LogKey::load(folder.path()).unwrap().is_none());
        let keys: Vec<_> = (0..8)
            .map(|_| folder.path().to_owned())
            .map(|path| std::thread::spawn(move || LogKey::make(&path).unwrap().0))
            .collect();
        let keys: Vec<_> = keys.into_iter().map(|key| key.join().unwrap()).collect();
        let kept = LogKey::load(folder.path()).unwrap().unwrap().0;
        assert!(keys.iter().all(|key| *key == kept));
        assert_eq!(fs::metadata(folder.path().join(NAME)).unwrap().permissions().mode() & 0o777, 0o600);
        fs::write(folder.path().join(NAME), "short").unwrap();
        assert!(LogKey::load(folder.path()).is_err());
    }
}
