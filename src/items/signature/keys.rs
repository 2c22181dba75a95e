//! Keys: one's own, and those one trusts.
//!
//! `config/keys/signing/private_key.pem` (0600) and `public_key.pem` below a space's `.ai`; trusted keys are
//! `config/keys/trusted/<fingerprint>.toml` in any space.

use crate::items::regular;
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{DecodePrivateKey, DecodePublicKey, EncodePrivateKey, EncodePublicKey};
use ed25519_dalek::{Signer, VerifyingKey};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// More than this, in bytes, is no key.
const LONGEST: u64 = 64 << 10;

/// A key that cannot be used, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    #[error("could not {doing} {}: {source}", path.display())]
    Io { doing: &'static str, path: PathBuf, source: std::io::Error },
    #[error("{} is not an Ed25519 key in PEM form: {detail}", path.display())]
    Malformed { path: PathBuf, detail: String },
    #[error("{} can be read by others; close it with: chmod 600 {}", path.display(), path.display())]
    Exposed { path: PathBuf },
    #[error("{} already has a key; remove it by hand if you no longer need its signatures", path.display())]
    Exists { path: PathBuf },
    #[error("there is no signing key in {}; make one with: levain keys generate", path.display())]
    Missing { path: PathBuf },
    #[error("the system gives no random numbers: {0}")]
    NoRandom(String),
}

/// One's own key.
pub struct SigningKey {
    key: ed25519_dalek::SigningKey,
    public_pem: String,
}

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("SigningKey").field("fingerprint", &self.fingerprint()).finish_non_exhaustive()
    }
}

fn folder(space: &Path) -> PathBuf {
    space.join("config/keys/signing")
}

fn private_path(space: &Path) -> PathBuf {
    folder(space).join("private_key.pem")
}

/// Name of a public key: first 16 hexadecimal digits of the hash of its PEM text with the final newline.
#[must_use]
pub fn fingerprint(public_pem: &str) -> String {
    let hash = crate::domain::ContentHash::of(public_pem.as_bytes());
    hash.as_str().get(..16).unwrap_or_default().to_owned()
}

impl SigningKey {
    /// Makes a new key below `space` (a folder `.ai`).
    ///
    /// # Errors
    /// [`KeyError::Exists`] when one is there; keys are never overwritten.
    pub fn generate(space: &Path) -> Result<Self, KeyError> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(|error| KeyError::NoRandom(error.to_string()))?;
        Self::from_dalek(ed25519_dalek::SigningKey::from_bytes(&seed), &private_path(space))?.write(space)
    }

    /// Takes over a private key from a PEM file.
    ///
    /// # Errors
    /// [`KeyError::Malformed`], [`KeyError::Exists`].
    pub fn import(file: &Path, space: &Path) -> Result<Self, KeyError> {
        Self::read(file)?.write(space)
    }

    /// The key below `space`.
    ///
    /// # Errors
    /// [`KeyError::Missing`], [`KeyError::Exposed`] when others can read it.
    pub fn load(space: &Path) -> Result<Self, KeyError> {
        let path = private_path(space);
        let meta = match fs::metadata(&path) {
            Ok(meta) => meta,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(KeyError::Missing { path: folder(space) });
            }
            Err(source) => return Err(KeyError::Io { doing: "look at", path, source }),
        };
        if meta.mode() & 0o077 != 0 {
            return Err(KeyError::Exposed { path });
        }
        Self::read(&path)
    }

    fn read(path: &Path) -> Result<Self, KeyError> {
        let pem = regular::read_text(path, LONGEST).map_err(|source| KeyError::Io {
            doing: "read",
            path: path.to_owned(),
            source,
        })?;
        let key = ed25519_dalek::SigningKey::from_pkcs8_pem(&pem)
            .map_err(|error| KeyError::Malformed { path: path.to_owned(), detail: error.to_string() })?;
        Self::from_dalek(key, path)
    }

    fn from_dalek(key: ed25519_dalek::SigningKey, path: &Path) -> Result<Self, KeyError> {
        let public_pem = key
            .verifying_key()
            .to_public_key_pem(LineEnding::LF)
            .map_err(|error| KeyError::Malformed { path: path.to_owned(), detail: error.to_string() })?;
        Ok(Self { key, public_pem })
    }

    fn write(self, space: &Path) -> Result<Self, KeyError> {
        let (folder, path) = (folder(space), private_path(space));
        let failed = |doing: &'static str, path: &Path| {
            let path = path.to_owned();
            move |source| KeyError::Io { doing, path, source }
        };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(failed("make", &folder))?;
        let pem = self
            .key
            .to_pkcs8_pem(LineEnding::LF)
            .map_err(|error| KeyError::Malformed { path: path.clone(), detail: error.to_string() })?;
        let made = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        let mut file = match made {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => return Err(KeyError::Exists { path }),
            Err(source) => return Err(failed("write", &path)(source)),
        };
        file.write_all(pem.as_bytes()).map_err(failed("write", &path))?;
        let public = folder.join("public_key.pem");
        fs::write(&public, &self.public_pem).map_err(failed("write", &public))?;
        Ok(self)
    }

    #[must_use]
    pub fn fingerprint(&self) -> String {
        fingerprint(&self.public_pem)
    }

    #[must_use]
    pub fn public_pem(&self) -> &str {
        &self.public_pem
    }

    /// The 64 bytes of a signature over `text`.
    #[must_use]
    pub(super) fn sign(&self, text: &str) -> [u8; 64] {
        self.key.sign(text.as_bytes()).to_bytes()
    }
}

/// A public key from a PEM file or from a trusted key's file, as its PEM text.
///
/// # Errors
/// [`KeyError::Io`], [`KeyError::Malformed`].
pub fn read_public(path: &Path) -> Result<String, KeyError> {
    let text = regular::read_text(path, LONGEST).map_err(|source| KeyError::Io {
        doing: "read",
        path: path.to_owned(),
        source,
    })?;
    let bad = |detail: String| KeyError::Malformed { path: path.to_owned(), detail };
    let pem = match toml::from_str::<TrustedFile>(&text) {
        Ok(file) => file.public_key.pem,
        Err(_) => text,
    };
    VerifyingKey::from_public_key_pem(&pem).map_err(|error| bad(error.to_string()))?;
    Ok(pem)
}

/// A key somebody's signatures are believed by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedKey {
    pub fingerprint: String,
    pub owner: String,
    pub path: PathBuf,
    pub(super) key: VerifyingKey,
}

/// `trusted/<fingerprint>.toml`.
#[derive(Debug, Serialize, Deserialize)]
struct TrustedFile {
    fingerprint: String,
    #[serde(default)]
    owner: String,
    public_key: PublicKey,
}

#[derive(Debug, Serialize, Deserialize)]
struct PublicKey {
    pem: String,
}

/// The keys that are trusted, from all spaces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustStore {
    keys: Vec<TrustedKey>,
}

impl TrustStore {
    /// Reads the trusted keys below each of `spaces` (folders `.ai`). A file that does not read costs itself: its error
    /// is returned beside the store.
    #[must_use]
    pub fn read(spaces: &[PathBuf]) -> (Self, Vec<KeyError>) {
        let (mut store, mut errors) = (Self::default(), Vec::new());
        for space in spaces {
            let folder = space.join("config/keys/trusted");
            let mut files: Vec<PathBuf> =
                fs::read_dir(folder).into_iter().flatten().flatten().map(|file| file.path()).collect();
            files.sort();
            for path in files.into_iter().filter(|path| path.extension().is_some_and(|ending| ending == "toml")) {
                match read_trusted(&path) {
                    Ok(key) if store.find(&key.fingerprint).is_none() => store.keys.push(key),
                    Ok(_) => {}
                    Err(error) => errors.push(error),
                }
            }
        }
        (store, errors)
    }

    /// Trusts a key from here on, below `space`; returns the file that says so.
    ///
    /// # Errors
    /// [`KeyError::Io`], [`KeyError::Malformed`].
    pub fn trust(space: &Path, public_pem: &str, owner: &str) -> Result<PathBuf, KeyError> {
        let folder = space.join("config/keys/trusted");
        let fingerprint = fingerprint(public_pem);
        let path = folder.join(format!("{fingerprint}.toml"));
        let failed = |source| KeyError::Io { doing: "write", path: path.clone(), source };
        let file =
            TrustedFile { fingerprint, owner: owner.to_owned(), public_key: PublicKey { pem: public_pem.to_owned() } };
        let text = toml::to_string(&file)
            .map_err(|error| KeyError::Malformed { path: path.clone(), detail: error.to_string() })?;
        fs::create_dir_all(&folder).map_err(failed)?;
        fs::write(&path, text).map_err(failed)?;
        Ok(path)
    }

    #[must_use]
    pub fn find(&self, fingerprint: &str) -> Option<&TrustedKey> {
        self.keys.iter().find(|key| key.fingerprint == fingerprint)
    }

    pub fn iter(&self) -> impl Iterator<Item = &TrustedKey> {
        self.keys.iter()
    }
}

fn read_trusted(path: &Path) -> Result<TrustedKey, KeyError> {
    let bad = |detail: String| KeyError::Malformed { path: path.to_owned(), detail };
    let text = regular::read_text(path, LONGEST).map_err(|source| KeyError::Io {
        doing: "read",
        path: path.to_owned(),
        source,
    })?;
    let file: TrustedFile = toml::from_str(&text).map_err(|error| bad(error.to_string()))?;
    // What the file calls itself proves nothing.
    let real = fingerprint(&file.public_key.pem);
    if real != file.fingerprint {
        return Err(bad(format!("it says {} and holds the key {real}", file.fingerprint)));
    }
    let key = VerifyingKey::from_public_key_pem(&file.public_key.pem).map_err(|error| bad(error.to_string()))?;
    Ok(TrustedKey { fingerprint: real, owner: file.owner, path: path.to_owned(), key })
}
