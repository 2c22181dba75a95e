//! Files as extensions see them: read what the person may read, but for what the policy hides; change what lies in the
//! folders that it names.

use super::outside::Refusal;
use super::plain::Plain;
use super::settings::{Policy, Settings};
use std::fs::{self, DirBuilder, FileTimes, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// A link in the place of a file that is written is not followed; see `open(2)`.
const O_NOFOLLOW: i32 = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
/// Nobody waits for who writes into a pipe.
const O_NONBLOCK: i32 = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
/// A larger file is not read.
const LARGEST: u64 = 64 << 20;

/// Why nothing is changed where a thread would.
pub(super) const LOOKS: &str = "nothing is changed while somebody only looks";

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
const WORDS: [(io::ErrorKind, &str, &str); 8] = [
    (io::ErrorKind::AlreadyExists, "EEXIST", "file already exists"),
    (io::ErrorKind::DirectoryNotEmpty, "ENOTEMPTY", "directory not empty"),
    (io::ErrorKind::NotFound, "ENOENT", "no such file or directory"),
    (io::ErrorKind::PermissionDenied, "EACCES", "permission denied"),
    (io::ErrorKind::NotADirectory, "ENOTDIR", "not a directory"),
    (io::ErrorKind::IsADirectory, "EISDIR", "illegal operation on a directory"),
    (io::ErrorKind::FileTooLarge, "EFBIG", "file too large"),
    (io::ErrorKind::InvalidInput, "EINVAL", "invalid argument"),
];

/// `{ error }` for what the system refused.
pub(super) fn failed(error: &io::Error, call: &str, path: &str) -> Plain {
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
pub(super) fn open_to(policy: &Policy, path: &Path) -> io::Result<PathBuf> {
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
pub(super) fn module(settings: &Settings, operation: &str, path: &str, other: &str) -> Plain {
    let policy = &settings.policy;
    match operation {
        "import" => fine(Plain::Bool(settings.may_import(Path::new(path), Path::new(other)))),
        "kind" => fine(Plain::Number(f64::from(kind_of(policy, path)))),
        "text" => match read(policy, Path::new(path)) {
            Ok(bytes) => fine(Plain::Text(String::from_utf8_lossy(&bytes).into_owned())),
            Err(error) => failed(&error, "open", path),
        },
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

/// `fs`. Where nothing `changes`, it only reads.
pub(super) fn operate(policy: &Policy, cwd: &Path, operation: &str, arguments: &Plain, changes: bool) -> Plain {
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
            let writes = mode.rem_euclid(4.0) >= 2.0;
            look("access", &|path| {
                let may = !writes || changes && takes_files(policy, &fs::canonicalize(path)?);
                if may { Ok(Plain::Nothing) } else { Err(io::ErrorKind::PermissionDenied.into()) }
            })
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
        other if !changes => refused("EACCES", &format!("EACCES: {LOOKS}, {other} '{asked}'")),
        other => match change(policy, cwd, other, arguments) {
            Ok(value) => fine(value),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                refused("EACCES", &unchanged(policy, &path, other, asked))
            }
            Err(error) => failed(&error, other, asked),
        },
    }
}

/// What changes files.
fn change(policy: &Policy, cwd: &Path, operation: &str, arguments: &Plain) -> io::Result<Plain> {
    let text = |name: &str| arguments.get(name).and_then(Plain::text).unwrap_or_default();
    let is = |name: &str| arguments.get(name).is_some_and(Plain::is_true);
    let at = |name: &str| file(policy, &cwd.join(text(name)));
    let entry = |name: &str| moved_entry(policy, &cwd.join(text(name)));
    let told = |path: &Path| Plain::Text(path.to_string_lossy().into_owned());
    match operation {
        "write" => {
            let data = match arguments.get("data") {
                Some(Plain::Bytes(bytes)) => bytes.as_slice(),
                Some(Plain::Text(text)) => text.as_bytes(),
                _ => &[],
            };
            let (append, exclusive) = (is("append"), is("exclusive"));
            let mut options = OpenOptions::new();
            options.write(true).append(append).truncate(!append).custom_flags(O_NOFOLLOW);
            // As with Node, of a file that is made; one that is there keeps its own.
            options.mode(mode_of(arguments).unwrap_or(0o666));
            let options = if exclusive { options.create_new(true) } else { options.create(true) };
            let path = made_ready(policy, at("path")?)?;
            options.open(path)?.write_all(data)?;
            Ok(Plain::Nothing)
        }
        "mkdir" => {
            // As with Node, nothing happens where it is there, which need not be a place to change anything in.
            let is_there = || open_to(policy, &cwd.join(text("path"))).is_ok_and(|real| real.is_dir());
            if is("recursive") && is_there() {
                return Ok(Plain::Nothing);
            }
            let path = followed(&cwd.join(text("path")))?;
            // A folder that things may be changed in is made where it is not there.
            let is_root = policy.data.contains(&path) || policy.write.contains(&path) && takes_files(policy, &path);
            if !is_open(policy, &path) && !is_among_data(policy, &path) && !is_root {
                return Err(io::ErrorKind::PermissionDenied.into());
            }
            let first = path.ancestors().filter(|path| !path.exists()).last().map(Path::to_owned);
            let mode = mode_of(arguments).unwrap_or(0o777);
            DirBuilder::new().recursive(is("recursive")).mode(mode).create(&path)?;
            Ok(first.map_or(Plain::Nothing, |first| told(&first)))
        }
        "mkdtemp" => {
            for _ in 0..100 {
                let mut bytes = [0; 4];
                getrandom::fill(&mut bytes).map_err(io::Error::other)?;
                let path = writable(policy, &cwd.join(format!("{}{:08x}", text("prefix"), u32::from_ne_bytes(bytes))))?;
                match fs::create_dir(&path) {
                    Ok(()) => return Ok(told(&path)),
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                    Err(error) => return Err(error),
                }
            }
            Err(io::ErrorKind::AlreadyExists.into())
        }
        "remove" => remove(policy, &cwd.join(text("path")), &is).map(|()| Plain::Nothing),
        "chmod" => {
            let mode = mode_of(arguments).ok_or(io::ErrorKind::InvalidInput)?;
            let file = OpenOptions::new().read(true).custom_flags(O_NOFOLLOW | O_NONBLOCK).open(at("path")?)?;
            file.set_permissions(Permissions::from_mode(mode)).map(|()| Plain::Nothing)
        }
        "utimes" => {
            let time = |name: &str| {
                let ms = arguments.get(name).and_then(Plain::number).filter(|ms| (0.0..1e15).contains(ms));
                ms.map(|ms| UNIX_EPOCH + Duration::from_secs_f64(ms / 1e3)).ok_or(io::ErrorKind::InvalidInput)
            };
            let times = FileTimes::new().set_accessed(time("atimeMs")?).set_modified(time("mtimeMs")?);
            let file = OpenOptions::new().read(true).custom_flags(O_NOFOLLOW | O_NONBLOCK).open(at("path")?)?;
            file.set_times(times).map(|()| Plain::Nothing)
        }
        "symlink" => {
            // Like a file in both places: what it leads to is looked at again whenever it is followed.
            let (link, target) = (entry_of(policy, &cwd.join(text("path")))?, text("target"));
            let folder = link.parent().unwrap_or(cwd);
            writable(policy, &folder.join(target))?;
            std::os::unix::fs::symlink(target, link).map(|()| Plain::Nothing)
        }
        "rename" => rename(policy, &entry("from")?, &entry("to")?).map(|()| Plain::Nothing),
        "copy" => {
            let (from, to) = (read(policy, &cwd.join(text("from")))?, at("to")?);
            if is("exclusive") && to.exists() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            fs::write(to, from).map(|()| Plain::Nothing)
        }
        _ => Err(io::ErrorKind::PermissionDenied.into()),
    }
}

fn remove(policy: &Policy, path: &Path, is: &dyn Fn(&str) -> bool) -> io::Result<()> {
    let path = moved_entry(policy, path).or_else(|error| {
        // Many keep others away by a folder, which is made and goes again.
        let folder = fs::canonicalize(path)?;
        let is_own = is("dir") && !is("recursive") && !policy.data.contains(&folder);
        if is_own && is_among_data(policy, &folder) { Ok(folder) } else { Err(error) }
    })?;
    let removed = match fs::symlink_metadata(&path) {
        Ok(meta) if meta.is_dir() && (is("dir") || is("any")) => {
            if is("recursive") {
                fs::remove_dir_all(&path)
            } else {
                fs::remove_dir(&path)
            }
        }
        Ok(_) => fs::remove_file(&path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if is("force") && error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn rename(policy: &Policy, from: &Path, to: &Path) -> io::Result<()> {
    // A folder, whatever it is called, may hold what runs.
    if policy.data.iter().any(|data| to.starts_with(data))
        && !is_open(policy, to)
        && !fs::symlink_metadata(from)?.is_file()
    {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    fs::rename(from, to)
}

/// Who may do what with a file, where that is said: none of the bits beyond it.
fn mode_of(arguments: &Plain) -> Option<u32> {
    let mode = arguments.get("mode")?;
    if let Some(octal) = mode.text() {
        return u32::from_str_radix(octal.trim_start_matches("0o"), 8).ok().map(|mode| mode & 0o777);
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "too large a number becomes the largest"
    )]
    let mode = mode.number()? as u32;
    Some(mode & 0o777)
}

/// Where a change to `path` would happen, with every link on the way followed: below a folder of the policy, and not where it
/// guards or hides.
pub(super) fn writable(policy: &Policy, path: &Path) -> io::Result<PathBuf> {
    let real = followed(path)?;
    if is_open(policy, &real) { Ok(real) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}

/// Why something is not changed at `path`, which was asked for as `asked`, and what would let it be.
pub(super) fn unchanged(policy: &Policy, path: &Path, operation: &str, asked: &str) -> String {
    if policy.only_looks {
        return format!("EACCES: {LOOKS}, {operation} '{asked}'");
    }
    let may_be_named = followed(path).is_ok_and(|real| policy.may_be_named(&real));
    let remedy =
        if may_be_named { ": name its folder in extension_folders of your config.toml to allow it" } else { "" };
    format!("EACCES: extensions may not change this here, {operation} '{asked}'{remedy}")
}

/// Makes the folder of a file that is to be written where it is one of the policy's: with pi its own is there.
pub(super) fn made_ready(policy: &Policy, path: PathBuf) -> io::Result<PathBuf> {
    if let Some(folder) = path.parent().filter(|folder| policy.roots().any(|root| root == *folder)) {
        fs::create_dir_all(folder)?;
    }
    Ok(path)
}

/// As [`writable`], and of a file of data where nothing else is changed.
fn file(policy: &Policy, path: &Path) -> io::Result<PathBuf> {
    let real = followed(path)?;
    if is_open(policy, &real) || is_data(policy, &real) {
        Ok(real)
    } else {
        Err(io::ErrorKind::PermissionDenied.into())
    }
}

/// Endings of files that hold data: nobody runs or imports them but JSON. Who writes JSON at once writes something else first and
/// renames it, or keeps others away by a lock (`.json.lock`).
const OF_DATA: [&str; 6] = ["json", "jsonl", "log", "txt", "bak", "tmp"];

/// Files with such an ending that decide what is installed and run.
const DECIDES: [&str; 5] =
    ["package.json", "package-lock.json", "npm-shrinkwrap.json", "tsconfig.json", "jsconfig.json"];

/// Whether it lies in a folder for data and decides nothing of what runs. Some file systems take a letter that is not ASCII for
/// another.
fn is_data(policy: &Policy, real: &Path) -> bool {
    let name = real.file_name().and_then(|name| name.to_str()).filter(|name| name.is_ascii());
    let Some(name) = name.map(str::to_ascii_lowercase) else { return false };
    let held = name.strip_suffix(".lock").unwrap_or(&name);
    let is_data = Path::new(held).extension().is_some_and(|ending| OF_DATA.iter().any(|known| ending == *known));
    is_data && !DECIDES.contains(&held) && real.parent().is_some_and(|folder| is_among_data(policy, folder))
}

/// Whether it is a folder for data or one in it, but none of packages and none that begins with a dot, in which programs keep what
/// they run.
fn is_among_data(policy: &Policy, folder: &Path) -> bool {
    let Some(below) = policy.data.iter().find_map(|data| folder.strip_prefix(data).ok()) else { return false };
    let is_plain = |name: &str| name.is_ascii() && !name.starts_with('.') && !name.eq_ignore_ascii_case("node_modules");
    let within = |folders: &[PathBuf]| folders.iter().any(|other| folder.starts_with(other));
    below.iter().all(|name| name.to_str().is_some_and(is_plain)) && within(&policy.write) && !within(&policy.hidden)
}

/// Where `path` leads, which need not exist.
pub(super) fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut missing = Vec::new();
    let mut there = path.to_owned();
    let real = loop {
        match fs::canonicalize(&there) {
            Ok(real) => break real,
            // A link that leads nowhere would be made a file there.
            Err(_) if fs::symlink_metadata(&there).is_ok() => return Err(io::ErrorKind::PermissionDenied.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let Some(name) = there.file_name().map(ToOwned::to_owned) else { return Err(error) };
                missing.push(name);
                if !there.pop() {
                    return Err(error);
                }
            }
            Err(error) => return Err(error),
        }
    };
    Ok(missing.into_iter().rev().fold(real, |path, name| path.join(name)))
}

/// Where the entry of a folder lies that is removed or renamed: a link is that itself, not what it leads to. It may hold
/// nothing that the policy guards or hides.
fn entry_of(policy: &Policy, path: &Path) -> io::Result<PathBuf> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let real = fs::canonicalize(parent)?.join(name);
    let holds = |paths: &[PathBuf]| paths.iter().any(|path| path.starts_with(&real));
    if is_open(policy, &real) && !holds(&policy.guarded) && !holds(&policy.hidden) {
        Ok(real)
    } else {
        Err(io::ErrorKind::PermissionDenied.into())
    }
}

/// The same, and of a file of data where nothing else is changed.
fn moved_entry(policy: &Policy, path: &Path) -> io::Result<PathBuf> {
    let is_file = |path: &Path| fs::symlink_metadata(path).map_or(true, |found| found.is_file());
    match entry_of(policy, path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Err(error) };
            let real = fs::canonicalize(parent)?.join(name);
            if is_data(policy, &real) && is_file(&real) { Ok(real) } else { Err(error) }
        }
        found => found,
    }
}

/// Whether something may be changed there.
fn is_open(policy: &Policy, real: &Path) -> bool {
    let is_folder_itself = policy.write.iter().any(|folder| folder == real);
    takes_files(policy, real) && !is_folder_itself
}

/// The same of a folder for what it holds.
fn takes_files(policy: &Policy, real: &Path) -> bool {
    let within = |folders: &[PathBuf]| folders.iter().any(|folder| real.starts_with(folder));
    let is_of_session = policy.session.as_ref().is_some_and(|folder| real.starts_with(folder));
    within(&policy.write) && (is_of_session || !within(&policy.guarded)) && !within(&policy.hidden)
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
