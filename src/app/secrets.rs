//! What of the environment is secret, and how it is kept from other processes.
//!
//! Whoever runs as the same user may read the environment that a process was started with, and what a thread's tools
//! print a model reads. So secrets do not stay in the environment: a process that starts others starts itself again
//! without them and gets them through memory that it shares with nobody; a worker gets them as the first line of its
//! input. Here they are looked up by name as if they were still there. None of it is ever in a Debug output.
//!
//! Root may read the memory of any process, so against root none of this helps; nor does it help where the person's
//! other programs hold the same variables.

use crate::tools::environment::{is_harmless, looks_secret};
use secrecy::{ExposeSecret, SecretString};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::OnceLock;

/// Says to a process that was started again where its secrets are.
const MARK: &str = "LEVAIN_HANDED_OVER";

/// Longest line of secrets that is read, in bytes; an environment is at most some megabytes.
const LONGEST: u64 = 16 << 20;

/// Variables that are not in the environment of this process.
static HELD: OnceLock<BTreeMap<String, SecretString>> = OnceLock::new();

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
    let seen = std::env::vars_os().filter(|(name, _)| name != MARK);
    let secret = held().iter().map(|(name, value)| (name.into(), value.expose_secret().into()));
    seen.chain(secret).collect()
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
    let _set_once = HELD.set(secrets);
    Ok(approver)
}

fn held() -> &'static BTreeMap<String, SecretString> {
    static NONE: BTreeMap<String, SecretString> = BTreeMap::new();
    HELD.get().unwrap_or(&NONE)
}

fn written(secrets: &BTreeMap<String, String>) -> SecretString {
    serde_json::to_string(secrets).unwrap_or_default().into()
}

fn read(text: &str) -> Option<BTreeMap<String, SecretString>> {
    let secrets: BTreeMap<String, String> = serde_json::from_str(text).ok()?;
    Some(secrets.into_iter().map(|(name, value)| (name, value.into())).collect())
}

#[cfg(target_os = "linux")]
pub use again::{begin, withdraw};

/// Closes this process to others, as far as the system can.
#[cfg(not(target_os = "linux"))]
pub fn begin() {
    no_core();
}

/// Secrets stay in the environment where a process cannot be handed memory by name.
#[cfg(not(target_os = "linux"))]
pub fn withdraw(_hidden: &[String]) {}

/// No core file: it would hold keys.
fn no_core() {
    let none = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
    let _as_it_was = rustix::process::setrlimit(rustix::process::Resource::Core, none);
}

#[cfg(target_os = "linux")]
mod again {
    use super::{HELD, LONGEST, MARK, all, held, looks_secret, no_core, read, written};
    use rustix::fs::{MemfdFlags, memfd_create};
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    use secrecy::ExposeSecret;
    use std::collections::BTreeMap;
    use std::ffi::OsString;
    use std::fs::File;
    use std::io::{self, Read, Write};
    use std::os::fd::AsRawFd;
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    /// The memory's name.
    const NAME: &str = "levain-secrets";

    /// Closes this process to others of the same user: no core file, no tracing, nothing of its environment and memory to
    /// read. Takes the secrets it was started again with.
    pub fn begin() {
        let _as_it_was = set_dumpable_behavior(DumpableBehavior::NotDumpable);
        no_core();
        let Some(mark) = std::env::var(MARK).ok() else { return };
        if let Some(secrets) = taken(&mark) {
            let _set_once = HELD.set(secrets);
        }
    }

    /// The secrets in the memory that `mark` names. They are gone from it afterwards: others get the descriptor too.
    fn taken(mark: &str) -> Option<BTreeMap<String, secrecy::SecretString>> {
        let number: u32 = mark.parse().ok()?;
        let path = format!("/proc/self/fd/{number}");
        let target = std::fs::read_link(&path).ok()?;
        if !target.to_str()?.starts_with(&format!("/memfd:{NAME}")) {
            return None;
        }
        let mut file = File::options().read(true).write(true).open(&path).ok()?;
        let mut text = String::new();
        let got = (&mut file).take(LONGEST).read_to_string(&mut text);
        let emptied = file.set_len(0);
        got.and(emptied).ok()?;
        read(&text)
    }

    /// Starts this program again without the secrets of its environment, if there are any: what looks like one, and
    /// `hidden`. Does nothing else; where it fails, the process goes on as it is, closed to others.
    ///
    /// To be called before anything is read from standard input and before there is a second thread.
    pub fn withdraw(hidden: &[String]) {
        let is_secret = |name: &str, value: &str| hidden.iter().any(|other| other == name) || looks_secret(name, value);
        let secret = |name: &std::ffi::OsStr, value: &std::ffi::OsStr| {
            let (name, value) = (name.to_str()?, value.to_str()?);
            is_secret(name, value).then(|| (name.to_owned(), value.to_owned()))
        };
        let found: BTreeMap<String, String> =
            std::env::vars_os().filter_map(|(name, value)| secret(&name, &value)).collect();
        if !found.is_empty() {
            // It only comes back when it failed.
            let error = start_again(found).unwrap_or_else(|error| error);
            tracing::warn!(%error, "secrets stay in the environment");
        }
    }

    fn start_again(mut secrets: BTreeMap<String, String>) -> io::Result<io::Error> {
        secrets.extend(held().iter().map(|(name, value)| (name.clone(), value.expose_secret().to_owned())));
        let is_secret = |name: &OsString| name.to_str().is_some_and(|name| secrets.contains_key(name));
        let environment: Vec<_> = all().into_iter().filter(|(name, _)| !is_secret(name)).collect();
        // Without the flag that closes it with the next program: that is who it is for.
        let mut memory = File::from(memfd_create(NAME, MemfdFlags::empty())?);
        memory.write_all(written(&secrets).expose_secret().as_bytes())?;
        let mut arguments = std::env::args_os();
        let name = arguments.next().unwrap_or_else(|| "levain".into());
        let mut command = Command::new(std::env::current_exe()?);
        command.arg0(name).args(arguments).env_clear().envs(environment).env(MARK, memory.as_raw_fd().to_string());
        Ok(command.exec())
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
}
