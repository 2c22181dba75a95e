//! Files as extensions see them: read what the person may read, but for what the policy hides; change nothing.

use super::outside::Refusal;
use super::plain::Plain;
use super::settings::Policy;
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// A larger file is not read.
const LARGEST: u64 = 64 << 20;

/// `{ value }` of a fallible function.
pub(super) fn fine(value: Plain) -> Plain {
    Plain::map([("value", value)])
}

/// `{ error }` of a fallible function.
pub(super) fn refused(code: &str, message: &str) -> Plain {
    let error = Plain::map([("code", Plain::Text(code.to_owned())), ("message", Plain::Text(message.to_owned()))]);
    Plain::map([("error", error)])
}

/// An answer from outside as the JavaScript side opens it.
pub(super) fn answer(result: Result<serde_json::Value, Refusal>) -> Plain {
    match result {
        Ok(value) => fine(Plain::from(value)),
        Err(Refusal { code, message }) => refused(&code, &message),
    }
}

/// What the system may say, as Node does.
const WORDS: [(io::ErrorKind, &str, &str); 6] = [
    (io::ErrorKind::NotFound, "ENOENT", "no such file or directory"),
    (io::ErrorKind::PermissionDenied, "EACCES", "permission denied"),
    (io::ErrorKind::NotADirectory, "ENOTDIR", "not a directory"),
    (io::ErrorKind::IsADirectory, "EISDIR", "illegal operation on a directory"),
    (io::ErrorKind::FileTooLarge, "EFBIG", "file too large"),
    (io::ErrorKind::InvalidInput, "EINVAL", "invalid argument"),
];

/// `{ error }` for what the system refused.
fn failed(error: &io::Error, call: &str, path: &str) -> Plain {
    let known = WORDS.iter().find(|(kind, ..)| *kind == error.kind());
    let (code, words) = known.map_or(("EIO", "input/output error"), |(_, code, words)| (code, words));
    let error = Plain::map([
        ("code", Plain::Text(code.to_owned())),
        ("message", Plain::Text(format!("{code}: {words}, {call} '{path}'"))),
        ("syscall", Plain::Text(call.to_owned())),
        ("path", Plain::Text(path.to_owned())),
    ]);
    Plain::map([("error", error)])
}

/// Whether the policy lets a path be looked at. What a link leads to counts.
fn open_to(policy: &Policy, path: &Path) -> io::Result<PathBuf> {
    let real = fs::canonicalize(path)?;
    // What a process can be asked below here tells more than files: memory, and what others were started with.
    let hidden = real.starts_with("/proc") || policy.hidden.iter().any(|hidden| real.starts_with(hidden));
    if hidden { Err(io::ErrorKind::PermissionDenied.into()) } else { Ok(real) }
}

/// The bytes of a regular file.
pub(super) fn read(policy: &Policy, path: &Path) -> io::Result<Vec<u8>> {
    let real = open_to(policy, path)?;
    let meta = fs::metadata(&real)?;
    if meta.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !meta.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    if meta.len() > LARGEST {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    fs::read(real)
}

/// `module`: what `require` asks.
pub(super) fn module(policy: &Policy, operation: &str, path: &str) -> Plain {
    match operation {
        "kind" => fine(Plain::Number(f64::from(kind_of(policy, path)))),
        "text" => match read(policy, Path::new(path)) {
            Ok(bytes) => fine(Plain::Text(String::from_utf8_lossy(&bytes).into_owned())),
            Err(error) => failed(&error, "open", path),
        },
        "commonjs" => {
            refused("ERR_REQUIRE_ESM", &format!("require() of an ES module is not offered here; import {path} instead"))
        }
        other => refused("EINVAL", &format!("no such question: {other}")),
    }
}

/// 1 for a file, 2 for a folder, 0 for nothing that may be looked at.
pub(super) fn kind_of(policy: &Policy, path: &str) -> u8 {
    let Ok(meta) = open_to(policy, Path::new(path)).and_then(fs::metadata) else { return 0 };
    if meta.is_file() {
        1
    } else if meta.is_dir() {
        2
    } else {
        0
    }
}

/// `fs`.
pub(super) fn operate(policy: &Policy, cwd: &Path, operation: &str, arguments: &Plain) -> Plain {
    let asked = ["path", "from", "prefix"].iter().find_map(|name| arguments.get(name)?.text()).unwrap_or_default();
    let path = cwd.join(asked);
    let look = |call: &str, work: &dyn Fn(&Path) -> io::Result<Plain>| match open_to(policy, &path)
        .and_then(|_| work(&path))
    {
        Ok(value) => fine(value),
        Err(error) => failed(&error, call, asked),
    };
    let text = |path: PathBuf| Plain::Text(path.to_string_lossy().into_owned());
    match operation {
        "exists" => fine(Plain::Bool(open_to(policy, &path).is_ok())),
        "read" => look("open", &|path| Ok(Plain::Bytes(read(policy, path)?))),
        "access" => {
            let mode = arguments.get("mode").and_then(Plain::number).unwrap_or_default();
            // 2 is writing.
            if mode.rem_euclid(4.0) >= 2.0 {
                return failed(&io::ErrorKind::PermissionDenied.into(), "access", asked);
            }
            look("access", &|_| Ok(Plain::Nothing))
        }
        "realpath" => look("realpath", &|path| Ok(text(fs::canonicalize(path)?))),
        "readlink" => {
            let parent = path.parent().unwrap_or(&path);
            let target = open_to(policy, parent).and_then(|_| fs::read_link(&path));
            target.map_or_else(|error| failed(&error, "readlink", asked), |target| fine(text(target)))
        }
        "readdir" => look("scandir", &entries),
        "stat" => {
            if arguments.get("follow").is_some_and(Plain::is_true) {
                look("stat", &|path| Ok(stat(&fs::metadata(path)?)))
            } else {
                let parent = path.parent().unwrap_or(&path);
                let meta = open_to(policy, parent).and_then(|_| fs::symlink_metadata(&path));
                meta.map_or_else(|error| failed(&error, "lstat", asked), |meta| fine(stat(&meta)))
            }
        }
        other => refused("EACCES", &format!("EACCES: extensions may not change files here, {other} '{asked}'")),
    }
}

fn entries(path: &Path) -> io::Result<Plain> {
    let mut found = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let kind = entry.file_type().map_or("file", kind);
        let name = Plain::Text(entry.file_name().to_string_lossy().into_owned());
        found.push(Plain::map([("name", name), ("kind", Plain::Text(kind.to_owned()))]));
    }
    found.sort_by(|one, other| one.get("name").and_then(Plain::text).cmp(&other.get("name").and_then(Plain::text)));
    Ok(Plain::List(found))
}

fn kind(kind: fs::FileType) -> &'static str {
    if kind.is_dir() {
        "dir"
    } else if kind.is_symlink() {
        "link"
    } else if kind.is_fifo() {
        "fifo"
    } else if kind.is_socket() {
        "socket"
    } else if kind.is_char_device() || kind.is_block_device() {
        "char"
    } else {
        "file"
    }
}

fn stat(meta: &fs::Metadata) -> Plain {
    #[expect(clippy::cast_precision_loss, reason = "times and sizes are numbers of JavaScript there")]
    let number = |value: i64| Plain::Number(value as f64);
    let time = |seconds: i64, nanoseconds: i64| number(seconds * 1000 + nanoseconds / 1_000_000);
    Plain::map([
        ("kind", Plain::Text(kind(meta.file_type()).to_owned())),
        ("size", number(i64::try_from(meta.len()).unwrap_or(i64::MAX))),
        ("mtimeMs", time(meta.mtime(), meta.mtime_nsec())),
        ("atimeMs", time(meta.atime(), meta.atime_nsec())),
        ("ctimeMs", time(meta.ctime(), meta.ctime_nsec())),
        ("mode", Plain::Number(f64::from(meta.mode()))),
        ("ino", number(i64::try_from(meta.ino()).unwrap_or(i64::MAX))),
        ("uid", Plain::Number(f64::from(meta.uid()))),
        ("gid", Plain::Number(f64::from(meta.gid()))),
    ])
}
