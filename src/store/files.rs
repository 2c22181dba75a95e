//! Small file operations with errors that name the file.

use crate::ports::StoreError;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

fn failed(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> StoreError {
    move |source| StoreError::Io { doing, path: path.to_owned(), source }
}

/// Makes a folder and those above it.
pub(crate) fn make_folder(path: &Path) -> Result<(), StoreError> {
    std::fs::create_dir_all(path).map_err(failed("make the folder", path))
}

/// Writes a file by a temporary file beside it and a rename: readers see the old text or the new one, never a part.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let write = || -> std::io::Result<()> {
        let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(folder)?;
        file.write_all(bytes)?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(failed("write", path))
}

/// A file as text, or nothing when there is none.
pub(crate) fn read(path: &Path) -> Result<Option<String>, StoreError> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed("read", path)(error)),
    }
}

/// A file's bytes, or nothing when there is none or one of more than `most` bytes.
pub(crate) fn read_bytes(path: &Path, most: u64) -> Result<Option<Vec<u8>>, StoreError> {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    match read() {
        Ok(bytes) => Ok(Some(bytes).filter(|bytes| bytes.len() as u64 <= most)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed("read", path)(error)),
    }
}

/// Removes a file that may not be there.
pub(crate) fn remove(path: &Path) -> Result<(), StoreError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed("remove", path)(error)),
        _ => Ok(()),
    }
}
