//! What of the environment is secret, and how it is kept from other processes.
//!
//! Whoever runs as the same user may read the environment that a process was started with, and what a thread's tools
//! print a model reads. So secrets do not stay in the environment: each process overwrites the memory that the system
//! shows as its environment, and a worker gets them as the first line of its input. Here they are looked up by name as if
//! they were still there. None of it is ever in a Debug output.
//!
//! Root may read the memory of any process, so against root none of this helps; nor does it help where the person's
//! other programs hold the same variables.

use crate::tools::environment::{is_harmless, looks_secret};
use secrecy::{ExposeSecret, SecretString};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

/// Longest line of secrets that is read, in bytes; an environment is at most some megabytes.
const LONGEST: u64 = 16 << 20;

/// Variables that are not in the environment of this process.
static HELD: RwLock<BTreeMap<String, SecretString>> = RwLock::new(BTreeMap::new());

/// The environment of a worker: what may be seen, and the line of its input that brings the rest.
#[derive(Clone, Debug)]
pub struct Handover {
    pub environment: Vec<(OsString, OsString)>,
    pub line: SecretString,
}

/// The value of a variable, secret or not.
#[must_use]
pub fn var(name: &str) -> Option<String> {
    held().get(name).map(|value| value.expose_secret().to_owned()).or_else(|| std::env::var(name).ok())
}

/// As [`var`], for values that need not be text.
#[must_use]
pub fn var_os(name: &str) -> Option<OsString> {
    held().get(name).map(|value| value.expose_secret().into()).or_else(|| std::env::var_os(name))
}

/// Whether a variable is set and is not in the environment of this process.
#[must_use]
pub fn is_withheld(name: &str) -> bool {
    held().contains_key(name)
}

/// The whole environment as the person has it.
#[must_use]
pub fn all() -> Vec<(OsString, OsString)> {
    let held = held();
    let secret = held.iter().map(|(name, value)| (name.into(), value.expose_secret().into()));
    std::env::vars_os().chain(secret).collect()
}

/// Splits the environment for a worker. Only what is known to be harmless stays where others can see it, and levain's
/// own variables; `hidden` are those of providers' keys.
#[must_use]
pub fn hand_over(hidden: &[String]) -> Handover {
    let may_be_seen = |name: &str, value: &str| {
        let ours = name.starts_with("LEVAIN_") || is_harmless(name);
        ours && !looks_secret(name, value) && !hidden.iter().any(|other| other == name)
    };
    let (mut environment, mut secret) = (Vec::new(), BTreeMap::new());
    for (name, value) in all() {
        match (name.to_str(), value.to_str()) {
            (Some(name), Some(value)) if !may_be_seen(name, value) => {
                secret.insert(name.to_owned(), value.to_owned());
            }
            (Some(name), None) if !is_harmless(name) => {}
            (Some(_), _) => environment.push((name, value)),
            (None, _) => {}
        }
    }
    Handover { environment, line: written(&secret) }
}

/// Takes the secrets that the one who started this worker wrote as the first line of `input`, and returns what they have to
/// say to approve calls, which is the second.
///
/// # Errors
/// What is wrong with the line; it is not quoted.
pub fn receive(input: impl std::io::BufRead) -> Result<Option<SecretString>, String> {
    use std::io::BufRead as _;
    let (mut line, mut second) = (String::new(), String::new());
    let mut input = input.take(LONGEST);
    let read_both = input.read_line(&mut line).and_then(|_| input.read_line(&mut second));
    read_both.map_err(|error| format!("the secrets could not be read: {error}"))?;
    let approver = Some(second.trim()).filter(|secret| !secret.is_empty()).map(SecretString::from);
    if line.trim().is_empty() {
        return Ok(approver);
    }
    let secrets = read(&line).ok_or("the line of secrets could not be read")?;
    hold(secrets);
    Ok(approver)
}

fn held() -> RwLockReadGuard<'static, BTreeMap<String, SecretString>> {
    HELD.read().unwrap_or_else(PoisonError::into_inner)
}

fn hold(secrets: BTreeMap<String, SecretString>) {
    HELD.write().unwrap_or_else(PoisonError::into_inner).extend(secrets);
}

fn written(secrets: &BTreeMap<String, String>) -> SecretString {
    serde_json::to_string(secrets).unwrap_or_default().into()
}

fn read(text: &str) -> Option<BTreeMap<String, SecretString>> {
    let secrets: BTreeMap<String, String> = serde_json::from_str(text).ok()?;
    Some(secrets.into_iter().map(|(name, value)| (name, value.into())).collect())
}

#[cfg(target_os = "linux")]
pub use erase::{begin, withdraw};

/// Closes this process to others, as far as the system can.
#[cfg(not(target_os = "linux"))]
pub fn begin() {
    no_core();
}

/// Secrets stay in the environment where a process cannot reach the memory that it was started with.
#[cfg(not(target_os = "linux"))]
pub fn withdraw(_hidden: &[String]) {}

/// No core file: it would hold keys.
fn no_core() {
    let none = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
    let _as_it_was = rustix::process::setrlimit(rustix::process::Resource::Core, none);
}

/// Overwriting the environment where the system keeps it.
///
/// `/proc/PID/environ` shows the bytes between two addresses of the process's memory, which the C library's variables
/// point into. Whole entries become zeros: an entry without a name is passed over by whoever lists the environment, by
/// the standard library and by the programs that inherit it. The memory is written through `/proc/self/mem`, as a file.
#[cfg(target_os = "linux")]
mod erase {
    use super::{hold, looks_secret, no_core};
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    use secrecy::SecretString;
    use secrecy::zeroize::Zeroize;
    use std::collections::BTreeMap;
    use std::ffi::OsStr;
    use std::fs::File;
    use std::io;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::FileExt;
    use std::sync::{Mutex, PoisonError};

    /// This process's memory. Opened before the process is closed: afterwards only root's may open it.
    static MEMORY: Mutex<Option<File>> = Mutex::new(None);

    /// Which of the fields of `/proc/PID/stat` after the name say where the environment begins; the next says where it
    /// ends (proc(5): `env_start` is field 50, and the state, 3, is the first one after the name).
    const ENVIRONMENT_FIELD: usize = 50 - 3;

    /// Closes this process to others of the same user: no core file, no tracing, nothing of its environment and memory to
    /// read. Takes what looks like a secret out of its environment.
    ///
    /// To be called first of all, before there is a second thread.
    pub fn begin() {
        let memory = File::options().read(true).write(true).open("/proc/self/mem");
        *MEMORY.lock().unwrap_or_else(PoisonError::into_inner) = memory.ok();
        let _as_it_was = set_dumpable_behavior(DumpableBehavior::NotDumpable);
        no_core();
        withdraw(&[]);
    }

    /// Takes what looks like a secret, and `hidden`, out of the environment. Where that fails the process goes on as it is,
    /// closed to others.
    pub fn withdraw(hidden: &[String]) {
        let is_secret = |name: &OsStr, value: &OsStr| {
            let (name, value) = (name.to_str()?, value.to_str()?);
            let is_secret = hidden.iter().any(|other| other == name) || looks_secret(name, value);
            is_secret.then(|| (name.to_owned(), SecretString::from(value)))
        };
        let found: BTreeMap<String, SecretString> =
            std::env::vars_os().filter_map(|(name, value)| is_secret(&name, &value)).collect();
        if found.is_empty() {
            return;
        }
        match overwrite(|name| found.keys().any(|secret| OsStr::new(secret).as_bytes() == name)) {
            Ok(()) => hold(found),
            Err(error) => tracing::warn!(%error, "secrets stay in the environment"),
        }
    }

    /// Fills the entries whose names `is_secret` picks with zeros.
    fn overwrite(is_secret: impl Fn(&[u8]) -> bool) -> io::Result<()> {
        let memory = MEMORY.lock().unwrap_or_else(PoisonError::into_inner);
        let memory = memory.as_ref().ok_or_else(|| io::Error::other("the memory of this process cannot be opened"))?;
        let (start, end) = place(&std::fs::read_to_string("/proc/self/stat")?)
            .ok_or_else(|| io::Error::other("the system does not say where the environment is"))?;
        let mut bytes = vec![0; usize::try_from(end - start).map_err(io::Error::other)?];
        memory.read_exact_at(&mut bytes, start)?;
        let erased = erased(&bytes, is_secret);
        bytes.zeroize();
        for (offset, length) in erased {
            memory.write_all_at(&vec![0; length], start + offset)?;
        }
        Ok(())
    }

    /// Where the environment begins and ends in memory.
    pub(super) fn place(status: &str) -> Option<(u64, u64)> {
        // The name stands in parentheses and may hold some itself.
        let mut fields = status.get(status.rfind(')')? + 1..)?.split_whitespace().skip(ENVIRONMENT_FIELD);
        let (start, end) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        (0 < start && start < end).then_some((start, end))
    }

    /// Offset and length of the entries to erase, in bytes.
    pub(super) fn erased(bytes: &[u8], is_secret: impl Fn(&[u8]) -> bool) -> Vec<(u64, usize)> {
        let (mut offset, mut found) = (0, Vec::new());
        for entry in bytes.split(|&byte| byte == 0) {
            if let Some(name) = entry.split(|&byte| byte == b'=').next()
                && name.len() < entry.len()
                && is_secret(name)
            {
                found.push((offset, entry.len()));
            }
            offset += entry.len() as u64 + 1;
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s08_a_line_of_secrets_is_read_and_never_shown() {
        let secrets = BTreeMap::from([("A_KEY".to_owned(), "hush-hush".to_owned())]);
        let line = written(&secrets);
        assert!(!format!("{line:?}").contains("hush"));
        let back = read(line.expose_secret()).unwrap();
        assert_eq!(back["A_KEY"].expose_secret(), "hush-hush");
        assert!(read("hush").is_none());
        let error = receive(b"hush-hush\n".as_slice()).unwrap_err();
        assert!(!error.contains("hush"), "{error}");
        assert!(receive(b"".as_slice()).unwrap().is_none());
        let second = receive(b"\n s3cret \n".as_slice()).unwrap().unwrap();
        assert_eq!(second.expose_secret(), "s3cret");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn s08_the_entries_of_an_environment_are_found_in_memory() {
        let bytes = b"A=1\0KEY=hush\0\0KEYS=2\0noname\0KEY=again";
        let found = erase::erased(bytes, |name| name == b"KEY");
        assert_eq!(found, [(4, 8), (28, 9)]);
        let fields: Vec<String> = (3..=52).map(|number| number.to_string()).collect();
        assert_eq!(erase::place(&format!("7 (a) b) {}", fields.join(" "))), Some((50, 51)));
        assert_eq!(erase::place("7 (a) S 1"), None);
        let own = std::fs::read_to_string("/proc/self/stat").unwrap();
        let (start, end) = erase::place(&own).unwrap();
        let shown = std::fs::read("/proc/self/environ").unwrap();
        assert_eq!(end - start, shown.len() as u64);
    }
}
