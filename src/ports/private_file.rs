//! Files of the person's that nobody else may read: what they signed in with.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Longest file that is read, in bytes.
const LONGEST: u64 = 1 << 20;

/// One such file, with a lock beside it. It need not be there.
#[derive(Clone, Debug)]
pub struct PrivateFile {
    path: PathBuf,
}

impl PrivateFile {
    #[must_use]
    pub fn at(path: PathBuf) -> Self {
        Self { path }
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its text; none where there is no such file.
    ///
    /// # Errors
    /// Why it is not used, with the remedy: others can read it, it is somebody else's, it is a link, or it cannot be read.
    pub fn read(&self) -> Result<Option<String>, String> {
        let Some(file) = self.open()? else { return Ok(None) };
        // Of the open file, so that it cannot be exchanged in between.
        let meta = file.metadata().map_err(|error| self.failed(&error))?;
        let shown = self.path.display();
        if meta.mode() & 0o077 != 0 {
            return Err(format!("{shown} can be read by others, so its token is not used; run `chmod 600 {shown}`"));
        }
        if meta.uid() != rustix::process::geteuid().as_raw() {
            return Err(format!("{shown} belongs to another user, so its token is not used; remove it"));
        }
        self.text(file).map(Some)
    }

    /// Its text, also where others can read it, for whoever is about to remove it.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub fn read_unchecked(&self) -> Result<Option<String>, String> {
        self.open()?.map(|file| self.text(file)).transpose()
    }

    fn failed(&self, error: &io::Error) -> String {
        format!("could not read {}: {error}", self.path.display())
    }

    fn open(&self) -> Result<Option<File>, String> {
        let flags = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
        match OpenOptions::new().read(true).custom_flags(flags).open(&self.path) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.failed(&error)),
        }
    }

    fn text(&self, file: File) -> Result<String, String> {
        let mut text = String::new();
        file.take(LONGEST).read_to_string(&mut text).map_err(|error| self.failed(&error))?;
        Ok(text)
    }

    /// Puts `text` in its place, whole or not at all, with the mode 0600.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, text: &[u8]) -> io::Result<()> {
        // Such a file has the mode 0600.
        let mut file = tempfile::NamedTempFile::new_in(self.folder()?)?;
        file.write_all(text)?;
        file.as_file().sync_all()?;
        file.persist(&self.path).map_err(|error| error.error)?;
        Ok(())
    }

    /// The folder, made if needed.
    fn folder(&self) -> io::Result<&Path> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        Ok(folder)
    }

    /// Removes it; whether it was there. Its lock stays: another process may hold it.
    ///
    /// # Errors
    /// When it is still there.
    pub fn remove(&self) -> io::Result<bool> {
        match fs::remove_file(&self.path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Waits until no other process changes it. The lock lasts as long as the file that is given.
    ///
    /// # Errors
    /// When there can be no lock.
    pub fn lock(&self) -> io::Result<File> {
        self.folder()?;
        let mut options = OpenOptions::new();
        options.create(true).write(true).truncate(false).mode(0o600);
        let file = options.open(self.path.with_extension("lock"))?;
        file.lock()?;
        Ok(file)
    }
}
