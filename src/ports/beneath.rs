//! Files below a project that this program keeps for itself, opened without following a link.
//!
//! A project's folder may come from somebody else: below it anything can lie under the name of a log, a lock or a stored
//! text, also a link to a file of the person's own, or a pipe that holds up whoever opens it. So these files are named by
//! a root and a path below it, each folder on the way is opened by itself, and neither it nor the file may be a link.

use super::faults;
use rustix::fs::{self as system, AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Mode of the folders made here: nobody but their owner looks into them.
const FOLDER: u32 = 0o700;
/// Mode of the files made here.
const FILE: u32 = 0o600;
/// Mode of `.ai` itself, which holds what people write and share; the umask takes from it.
const SHARED_FOLDER: u32 = 0o777;

const SHARED_FILE: u32 = 0o644;

/// As many names of a folder are read at most.
const MOST_ENTRIES: usize = 200_000;

/// What lies at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lies {
    File,
    Folder,
    /// A link, a pipe, a socket or a device.
    Else,
}

/// A path below a root. Whatever is done through it stays below that root.
#[derive(Clone, Debug)]
pub struct Beneath {
    root: Arc<Path>,
    /// The root, opened, where it was reached without a link: then the way there is not gone again.
    opened: Option<Arc<OwnedFd>>,
    below: PathBuf,
}

impl PartialEq for Beneath {
    fn eq(&self, other: &Self) -> bool {
        self.root == other.root && self.below == other.below
    }
}

impl Eq for Beneath {}

impl std::hash::Hash for Beneath {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (&self.root, &self.below).hash(state);
    }
}

/// A part of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    pub bytes: Vec<u8>,
    /// Where it begins, in bytes.
    pub from: u64,
    /// Bytes of the whole file.
    pub size: u64,
}

impl Beneath {
    /// The path `below` the folder `root`, which is taken as it is, links included.
    #[must_use]
    pub fn new(root: &Path, below: impl AsRef<Path>) -> Self {
        Self { root: root.into(), opened: None, below: below.as_ref().to_owned() }
    }

    #[must_use]
    pub fn join(&self, name: impl AsRef<Path>) -> Self {
        Self { below: self.below.join(name), ..self.clone() }
    }

    /// The file beside this one with `ending` in place of its own.
    #[must_use]
    pub fn with_ending(&self, ending: &str) -> Self {
        Self { below: self.below.with_extension(ending), ..self.clone() }
    }

    /// The whole path: to tell it to people and to watch it, not to open it.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.root.join(&self.below)
    }

    /// What lies there; `None` when nothing does, or when the way there does not exist.
    ///
    /// # Errors
    /// When the way leads over a link, or cannot be looked at.
    pub fn lies(&self) -> io::Result<Option<Lies>> {
        let result = self.in_folder(|folder, name| {
            let meta = system::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
            Ok(match FileType::from_raw_mode(meta.st_mode) {
                FileType::RegularFile => Lies::File,
                FileType::Directory => Lies::Folder,
                FileType::Symlink
                | FileType::Fifo
                | FileType::Socket
                | FileType::CharacterDevice
                | FileType::BlockDevice
                | FileType::Unknown => Lies::Else,
            })
        });
        missing(result)
    }

    /// When something was last written there, or put into the folder or taken out of it; in milliseconds since 1970.
    ///
    /// # Errors
    /// As [`Self::lies`], and where nothing lies there.
    pub fn changed_at(&self) -> io::Result<u64> {
        let meta = self.in_folder(|folder, name| Ok(system::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?))?;
        // Of which type they are differs between systems.
        let milliseconds = i128::from(meta.st_mtime) * 1_000 + i128::from(meta.st_mtime_nsec) / 1_000_000;
        Ok(u64::try_from(milliseconds).unwrap_or_default())
    }

    /// Whether a file or folder lies there that may be used.
    #[must_use]
    pub fn exists(&self) -> bool {
        matches!(self.lies(), Ok(Some(Lies::File | Lies::Folder)))
    }

    /// The file, to read it; `None` when there is none.
    ///
    /// # Errors
    /// When it is no regular file, or the way leads over a link.
    pub fn open(&self) -> io::Result<Option<File>> {
        missing(self.regular(OFlags::RDONLY))
    }

    /// The file, to read it and to write at its end; made where there is none.
    ///
    /// # Errors
    /// As [`Beneath::open`].
    pub fn open_append(&self) -> io::Result<File> {
        faults::point()?;
        let file = self.regular(OFlags::RDWR | OFlags::APPEND | OFlags::CREATE)?;
        // An older program, or somebody who copied it, may have left it open to others.
        if system::fstat(&file)?.st_mode & 0o077 != 0 {
            let _of_another_user = system::fchmod(&file, Mode::from_raw_mode(FILE));
        }
        Ok(file)
    }

    /// The file, empty; made where there is none.
    ///
    /// # Errors
    /// As [`Beneath::open`].
    pub fn create(&self) -> io::Result<File> {
        let file = self.open_append()?;
        file.set_len(0)?;
        Ok(file)
    }

    /// A part of the file, at most `most` bytes: from `offset` on, else its end. Of a file that is not there, nothing.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub fn page(&self, offset: Option<u64>, most: u64) -> io::Result<Page> {
        let Some(mut file) = self.open()? else { return Ok(Page::default()) };
        let size = file.metadata()?.len();
        let from = file.seek(SeekFrom::Start(offset.unwrap_or(size.saturating_sub(most)).min(size)))?;
        let mut bytes = Vec::new();
        file.take(most).read_to_end(&mut bytes)?;
        let size = size.max(from + bytes.len() as u64);
        Ok(Page { bytes, from, size })
    }

    /// The bytes of the file, or `None` where there is none.
    ///
    /// # Errors
    /// As [`Beneath::open`]; [`io::ErrorKind::FileTooLarge`] for more than `most` bytes.
    pub fn read(&self, most: u64) -> io::Result<Option<Vec<u8>>> {
        let Some(file) = self.open()? else { return Ok(None) };
        let mut bytes = Vec::new();
        file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > most {
            let text = format!("it is larger than the limit of {most} bytes");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
        }
        Ok(Some(bytes))
    }

    /// Puts `bytes` there by a temporary file and a rename: readers see the old text or the new one, never a part. The
    /// file is on disk when this returns; that its folder names it is so after [`Beneath::sync_folders`].
    ///
    /// # Errors
    /// When it cannot be written, or the way leads over a link.
    pub fn replace(&self, bytes: &[u8]) -> io::Result<()> {
        self.put(bytes)?.sync_all()
    }

    /// As [`Beneath::replace`], for what people share: others may read it.
    ///
    /// # Errors
    /// As [`Beneath::replace`].
    pub fn replace_shared(&self, bytes: &[u8]) -> io::Result<()> {
        let file = self.put(bytes)?;
        system::fchmod(&file, Mode::from_raw_mode(SHARED_FILE))?;
        file.sync_all()
    }

    /// As [`Beneath::replace`]; whoever gets the file sees to it that it comes on disk.
    ///
    /// # Errors
    /// As [`Beneath::replace`].
    pub fn put(&self, bytes: &[u8]) -> io::Result<File> {
        self.in_folder(|folder, name| {
            let new = format!(".new-{}", random()?);
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let mut file = File::from(system::openat(folder, &new, flags, Mode::from_raw_mode(FILE))?);
            let rename = || {
                faults::point()?;
                Ok(system::renameat(folder, &new, folder, name)?)
            };
            let written = faults::point().and_then(|()| file.write_all(bytes)).and_then(|()| rename());
            if let Err(error) = written {
                let _gone_with_the_disk = system::unlinkat(folder, &new, AtFlags::empty());
                return Err(error);
            }
            Ok(file)
        })
    }

    /// The folder that this lies in; `None` where that is the root.
    #[must_use]
    pub fn folder(&self) -> Option<Self> {
        let below = self.below.parent().filter(|below| !below.as_os_str().is_empty())?;
        Some(Self { below: below.to_owned(), ..self.clone() })
    }

    /// This folder, opened: what is done below it does not go the way there again.
    ///
    /// # Errors
    /// When there is none, or the way there leads over a link.
    pub fn opened(&self) -> io::Result<Self> {
        let mut folder = self.base()?;
        for name in self.names()? {
            folder = enter(&folder, name)?;
        }
        Ok(Self { root: self.path().into(), opened: Some(Arc::new(folder)), below: PathBuf::new() })
    }

    /// The folder that this is below.
    #[must_use]
    pub fn base_folder(&self) -> Self {
        Self { below: PathBuf::new(), ..self.clone() }
    }

    /// Waits until this folder and those above it, up to the root, are on disk, with the names in them.
    ///
    /// # Errors
    /// When the system cannot.
    pub fn sync_folders(&self) -> io::Result<()> {
        let mut folder = self.base()?;
        for name in self.names()? {
            system::fsync(&folder)?;
            folder = enter(&folder, name)?;
        }
        Ok(system::fsync(&folder)?)
    }

    /// Removes a file that may not be there.
    ///
    /// # Errors
    /// When it is there and stays.
    pub fn remove(&self) -> io::Result<()> {
        faults::point()?;
        let removed = self.in_folder(|folder, name| Ok(system::unlinkat(folder, name, AtFlags::empty())?));
        missing(removed).map(drop)
    }

    /// Removes a folder that may not be there, with everything in it. No link is followed: it goes itself. Folders in it are
    /// moved up and emptied one by one, so that no depth of them is too much.
    ///
    /// # Errors
    /// When something of it stays.
    pub fn remove_tree(&self) -> io::Result<()> {
        faults::point()?;
        let removed = self.in_folder(|above, name| {
            let top = enter(above, name)?;
            empty(&top)?;
            Ok(system::unlinkat(above, name, AtFlags::REMOVEDIR)?)
        });
        missing(removed).map(drop)
    }

    /// Gives the file or folder another name in its folder; a link goes by itself.
    ///
    /// # Errors
    /// When it stays where it is.
    pub fn rename(&self, new: &str) -> io::Result<Self> {
        faults::point()?;
        self.in_folder(|folder, name| Ok(system::renameat(folder, name, folder, new)?))?;
        Ok(Self { below: self.below.with_file_name(new), ..self.clone() })
    }

    /// Removes a folder that may not be there and has to be empty.
    ///
    /// # Errors
    /// When it is there and stays.
    pub fn remove_folder(&self) -> io::Result<()> {
        faults::point()?;
        let removed = self.in_folder(|folder, name| Ok(system::unlinkat(folder, name, AtFlags::REMOVEDIR)?));
        missing(removed).map(drop)
    }

    /// Makes this folder and those above it, below the root. False when it was there.
    ///
    /// # Errors
    /// When something else lies there or on the way.
    pub fn make_folder(&self) -> io::Result<bool> {
        faults::point()?;
        let mut folder = self.base()?;
        let mut made = false;
        for (depth, name) in self.names()?.into_iter().enumerate() {
            let open_to = if depth == 0 { SHARED_FOLDER } else { FOLDER };
            made = match system::mkdirat(&folder, name, Mode::from_raw_mode(open_to)) {
                Ok(()) => true,
                Err(Errno::EXIST) => false,
                Err(error) => return Err(error.into()),
            };
            folder = enter(&folder, name)?;
        }
        Ok(made)
    }

    /// Makes this folder in one that is there already; nobody but its owner enters it.
    ///
    /// # Errors
    /// When something else lies there.
    pub fn make_private_folder(&self) -> io::Result<()> {
        faults::point()?;
        self.in_folder(|folder, name| match system::mkdirat(folder, name, Mode::from_raw_mode(FOLDER)) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(error) => Err(error.into()),
        })
    }

    /// Waits until this folder is on disk, with the names in it.
    ///
    /// # Errors
    /// When the system cannot.
    pub fn sync_folder(&self) -> io::Result<()> {
        let mut folder = self.base()?;
        for name in self.names()? {
            folder = enter(&folder, name)?;
        }
        Ok(system::fsync(&folder)?)
    }

    /// Closes this folder to everybody but its owner, where it belongs to this user.
    pub fn close_to_others(&self) {
        let _of_another_user = self.in_folder(|folder, name| {
            let inner = enter(folder, name)?;
            let meta = system::fstat(&inner)?;
            if meta.st_uid == rustix::process::geteuid().as_raw() && meta.st_mode & 0o077 != 0 {
                system::fchmod(&inner, Mode::from_raw_mode(FOLDER))?;
            }
            Ok(())
        });
    }

    /// The names in this folder that are text, in no order; none where there is no folder.
    ///
    /// # Errors
    /// When it cannot be listed, or the way leads over a link.
    pub fn entries(&self) -> io::Result<Vec<String>> {
        let list = || -> io::Result<Vec<String>> {
            let mut folder = self.base()?;
            for name in self.names()? {
                folder = enter(&folder, name)?;
            }
            let mut names = Vec::new();
            for entry in system::Dir::new(folder)?.take(MOST_ENTRIES) {
                if let Ok(name) = entry?.file_name().to_str()
                    && !matches!(name, "." | "..")
                {
                    names.push(name.to_owned());
                }
            }
            Ok(names)
        };
        Ok(missing(list())?.unwrap_or_default())
    }

    fn regular(&self, flags: OFlags) -> io::Result<File> {
        // A pipe without another end would hold up whoever opens it.
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened =
            self.in_folder(|folder, name| match system::openat(folder, name, flags, Mode::from_raw_mode(FILE)) {
                Err(Errno::LOOP | Errno::MLINK) => Err(is_link()),
                result => Ok(File::from(result?)),
            })?;
        if FileType::from_raw_mode(system::fstat(&opened)?.st_mode) != FileType::RegularFile {
            return Err(io::Error::other("it is not a regular file"));
        }
        Ok(opened)
    }

    fn in_folder<T>(&self, work: impl FnOnce(&OwnedFd, &Path) -> io::Result<T>) -> io::Result<T> {
        let names = self.names()?;
        let Some((last, above)) = names.split_last() else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it names the root itself"));
        };
        let mut folder = self.base()?;
        for name in above {
            folder = enter(&folder, name)?;
        }
        work(&folder, last)
    }

    fn base(&self) -> io::Result<OwnedFd> {
        if let Some(opened) = &self.opened {
            return opened.try_clone();
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(system::open(&*self.root, flags, Mode::empty())?)
    }

    fn names(&self) -> io::Result<Vec<&Path>> {
        let name = |part| match part {
            Component::Normal(name) => Ok(Path::new(name)),
            Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => {
                Err(io::Error::new(io::ErrorKind::InvalidInput, "the path leads out of its folder"))
            }
        };
        self.below.components().map(name).collect()
    }
}

/// Removes everything in the folder `top`. A folder in it that is not empty gives all it holds to `top`, which are emptied
/// in their turn.
fn empty(top: &OwnedFd) -> io::Result<()> {
    let mut moved = 0_u64;
    loop {
        let names = listed(top)?;
        if names.is_empty() {
            return Ok(());
        }
        for name in names {
            let name = Path::new(&name);
            match system::unlinkat(top, name, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => continue,
                // POSIX says PERM for a folder, Linux ISDIR.
                Err(Errno::ISDIR | Errno::PERM) => {}
                Err(error) => return Err(error.into()),
            }
            match system::unlinkat(top, name, AtFlags::REMOVEDIR) {
                Ok(()) | Err(Errno::NOENT) => continue,
                Err(Errno::NOTEMPTY | Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            let inner = enter(top, name)?;
            for below in listed(&inner)? {
                moved += 1;
                move_up(&inner, Path::new(&below), top, moved)?;
            }
        }
    }
}

/// Moves what is called `name` in `inner` to `top`, under a name that begins with `number`. What has that name there is
/// about to be removed as well.
fn move_up(inner: &OwnedFd, name: &Path, top: &OwnedFd, number: u64) -> io::Result<()> {
    let mut opened = false;
    for other in 0.. {
        match system::renameat(inner, name, top, format!(".moved-{number}-{other}")) {
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            Err(Errno::EXIST | Errno::NOTEMPTY | Errno::ISDIR | Errno::NOTDIR) if other < MOST_NAMES => {}
            // Moving a folder writes to it and to the one it is in; their owner may allow that.
            Err(Errno::ACCESS) if !opened => {
                opened = true;
                system::fchmod(inner, Mode::from_raw_mode(FOLDER))?;
                if let Ok(folder) = enter(inner, name) {
                    system::fchmod(&folder, Mode::from_raw_mode(FOLDER))?;
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// As many names are tried for what is moved.
const MOST_NAMES: u32 = 1_000;

/// As many names as are taken at once from a folder that is emptied.
const AT_ONCE: usize = 1_000;

/// Some of the names in a folder, whatever they are made of.
fn listed(folder: &OwnedFd) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in system::Dir::read_from(folder)? {
        let name = OsStr::from_bytes(entry?.file_name().to_bytes()).to_owned();
        if name != "." && name != ".." {
            names.push(name);
        }
        if names.len() == AT_ONCE {
            break;
        }
    }
    Ok(names)
}

/// Opens the folder `name` in `folder`, unless it is a link.
fn enter(folder: &OwnedFd, name: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match system::openat(folder, name, flags, Mode::empty()) {
        Ok(inner) => Ok(inner),
        Err(error @ (Errno::LOOP | Errno::MLINK | Errno::NOTDIR)) => {
            let meta = system::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
            let link = FileType::from_raw_mode(meta.st_mode) == FileType::Symlink;
            Err(if link { is_link() } else { error.into() })
        }
        Err(error) => Err(error.into()),
    }
}

fn is_link() -> io::Error {
    io::Error::other("the path is or contains a symbolic link, which is not followed here; replace it with its target")
}

fn missing<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn random() -> io::Result<String> {
    use std::fmt::Write as _;
    let mut bytes = [0_u8; 8];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a text does not fail.
        let _written = write!(text, "{byte:02x}");
        text
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn s02_no_link_is_followed_whatever_is_done() {
        let folder = tempfile::tempdir().unwrap();
        let (root, outside) = (folder.path().join("project"), folder.path().join("outside"));
        fs::create_dir_all(root.join(".ai/agent")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("secret"), "untouched\n").unwrap();
        symlink(&outside, root.join(".ai/agent/threads")).unwrap();
        symlink(outside.join("secret"), root.join(".ai/agent/history.jsonl")).unwrap();
        symlink(outside.join("new"), root.join(".ai/agent/memory.json")).unwrap();
        for below in ["threads/secret", "history.jsonl", "memory.json"] {
            let file = Beneath::new(&root, ".ai/agent").join(below);
            assert!(file.open().is_err() || below == "memory.json", "{below} was read");
            assert!(file.open_append().is_err(), "{below} was opened for writing");
            assert!(file.create().is_err(), "{below} was emptied");
            assert!(!file.exists());
        }
        assert!(Beneath::new(&root, ".ai/agent/threads").entries().is_err());
        assert!(Beneath::new(&root, ".ai/agent/threads/t").make_folder().is_err());
        // A rename replaces the link itself.
        Beneath::new(&root, ".ai/agent/memory.json").replace(b"ours").unwrap();
        assert_eq!(fs::read_to_string(root.join(".ai/agent/memory.json")).unwrap(), "ours");
        assert_eq!(fs::read_to_string(outside.join("secret")).unwrap(), "untouched\n");
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
        assert!(Beneath::new(&root, "../outside/secret").open().is_err());
        assert!(Beneath::new(&root, outside.join("secret")).open().is_err());
    }

    #[test]
    fn s02_a_pipe_holds_nobody_up() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let pipe = Beneath::new(folder.path(), "pipe");
        assert!(pipe.open().is_err() && pipe.open_append().is_err() && pipe.read(10).is_err());
        assert_eq!(pipe.lies().unwrap(), Some(Lies::Else));
    }

    #[test]
    fn s16_a_folder_goes_with_all_that_is_in_it_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let (root, outside) = (folder.path().join("project"), folder.path().join("outside"));
        let thread = root.join("threads/t");
        fs::create_dir_all(thread.join("a/b/.moved-1-0/c")).unwrap();
        fs::create_dir_all(outside.join("in")).unwrap();
        fs::write(outside.join("in/kept"), "kept").unwrap();
        fs::write(thread.join("a/.moved-2-0"), "").unwrap();
        symlink(&outside, thread.join("link")).unwrap();
        symlink(&outside, thread.join("a/b/link")).unwrap();
        symlink(outside.join("in/kept"), thread.join("file")).unwrap();
        fs::hard_link(outside.join("in/kept"), thread.join("hard")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(thread.join("a/pipe")).status().unwrap().success());
        fs::write(thread.join(std::ffi::OsStr::from_bytes(b"\xff\xfe")), "no text").unwrap();
        for number in 0..2_100 {
            fs::write(thread.join(format!("a/b/{number}")), "").unwrap();
        }
        // Deeper than a path may be long, and than descriptors there are.
        let mut deep = Beneath::new(&root, "threads/t/a").opened().unwrap();
        for _ in 0..3_000 {
            deep.join("deeper").make_private_folder().unwrap();
            deep = deep.join("deeper").opened().unwrap();
        }
        fs::set_permissions(thread.join("a/b"), fs::Permissions::from_mode(0o555)).unwrap();
        Beneath::new(&root, "threads/t").remove_tree().unwrap();
        assert!(!thread.exists());
        assert_eq!(fs::read_to_string(outside.join("in/kept")).unwrap(), "kept");
        // A link in the place of a folder, or on the way to it, is no folder of ours.
        symlink(&outside, root.join("threads/l")).unwrap();
        for place in ["threads/l", "threads/l/in"] {
            assert!(Beneath::new(&root, place).remove_tree().is_err(), "{place}");
        }
        assert!(outside.join("in/kept").exists());
        Beneath::new(&root, "threads/gone").remove_tree().unwrap();
    }

    #[test]
    fn s07_what_is_made_is_closed_to_others() {
        let folder = tempfile::tempdir().unwrap();
        let thread = Beneath::new(folder.path(), ".ai/agent/threads/t");
        assert!(thread.make_folder().unwrap() && !thread.make_folder().unwrap());
        drop(thread.join("transcript.jsonl").open_append().unwrap());
        thread.join("thread.json").replace(b"{}").unwrap();
        assert_eq!(mode(&folder.path().join(".ai/agent")), 0o700);
        assert_eq!(mode(&folder.path().join(".ai/agent/threads/t")), 0o700);
        for name in ["transcript.jsonl", "thread.json"] {
            assert_eq!(mode(&thread.join(name).path()), 0o600, "{name}");
        }
        fs::set_permissions(thread.join("transcript.jsonl").path(), fs::Permissions::from_mode(0o644)).unwrap();
        drop(thread.join("transcript.jsonl").open_append().unwrap());
        assert_eq!(mode(&thread.join("transcript.jsonl").path()), 0o600);
    }

    #[test]
    fn a_file_that_is_not_there_is_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = Beneath::new(folder.path(), "a/b");
        assert!(file.open().unwrap().is_none() && file.lies().unwrap().is_none());
        assert!(file.read(1).unwrap().is_none() && file.remove().is_ok());
        assert!(Beneath::new(folder.path(), "a").entries().unwrap().is_empty());
        fs::create_dir(folder.path().join("a")).unwrap();
        file.replace(b"12345").unwrap();
        assert_eq!(file.read(5).unwrap().unwrap(), b"12345");
        assert_eq!(file.read(4).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(Beneath::new(folder.path(), "a").entries().unwrap(), ["b"]);
    }
}
