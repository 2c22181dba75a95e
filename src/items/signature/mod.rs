//! Who vouches for a file: Ed25519 signatures in a comment on its first line.
//!
//! Two forms are read. `rye:signed:` lines are checked as their makers signed, which for a directive leaves the body out;
//! `levain:signed:` lines, the only ones written here, cover the whole file but the line itself. What an unsigned or
//! changed file means is decided by the policy of its space, not here.

mod content;
mod keys;
mod line;
mod verify;

pub use content::SignatureLayout;
pub use keys::{KeyError, SigningKey, TrustStore, TrustedKey, fingerprint, read_public};
pub use line::{Signature, SignatureScope, find};
pub use verify::{Covers, Verdict, sign, verify};

use std::io::{self, Write};
use std::path::Path;

/// Signs one file in its place, by a temporary file and a rename. `time` is in the form `2026-01-05T09:00:00Z`.
///
/// # Errors
/// What could not be done with the file, in words.
pub fn sign_file(path: &Path, key: &SigningKey, time: &str) -> Result<Signature, String> {
    let failed = |error: io::Error| format!("{}: {error}", path.display());
    // A link stays one.
    let path = &std::fs::canonicalize(path).map_err(failed)?;
    let failed = |error: io::Error| format!("{}: {error}", path.display());
    let text = std::fs::read_to_string(path).map_err(failed)?;
    let Some((signed, signature)) = sign(&text, path, key, time) else {
        return Err(format!("{}: levain cannot sign a file of this kind", path.display()));
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    file.write_all(signed.as_bytes()).map_err(failed)?;
    let permissions = std::fs::metadata(path).map_err(failed)?.permissions();
    file.as_file().set_permissions(permissions).map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(signature)
}
