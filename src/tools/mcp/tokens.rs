//! Tokens of the MCP servers that the person signed in to: a file for each, which nobody else can read.
//!
//! A file is bound to one server's id and one address. Another server, or the same name with another address, has no token.

use super::server::Server;
use crate::domain::ContentHash;
use reqwest::Url;
use rmcp::transport::auth::{AuthError, CredentialRefreshGuard, CredentialStore, StoredCredentials};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::pin::Pin;

/// Longest file that is read, in bytes.
const LONGEST: u64 = 1 << 20;

/// Where the person's tokens lie.
#[derive(Clone, Debug)]
pub struct Tokens {
    folder: PathBuf,
}

/// The file of one server and address.
#[derive(Clone, Debug)]
pub(super) struct TokenFile {
    path: PathBuf,
    server: String,
    url: String,
}

/// What such a file holds.
#[derive(Serialize, Deserialize)]
pub(super) struct Kept {
    server: String,
    url: String,
    #[serde(flatten)]
    pub(super) known: Known,
    pub(super) credentials: StoredCredentials,
}

/// What is known of a client besides what the SDK keeps.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct Known {
    /// What the authorization server gave it besides its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) client_secret: Option<String>,
    /// What the server said to who was not signed in, which leads to the authorization server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) challenge: Option<String>,
}

impl Tokens {
    /// Those in `folder`, which is made with the first.
    #[must_use]
    pub fn in_folder(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The file for `server` at `url`.
    pub(super) fn of(&self, server: &Server, url: &Url) -> TokenFile {
        let mut url = url.clone();
        url.set_fragment(None);
        let (server, url) = (server.id.clone(), url.to_string());
        let hash = ContentHash::of(format!("{server}\n{url}").as_bytes());
        let name = hash.as_str().get(..32).unwrap_or_default();
        TokenFile { path: self.folder.join(format!("{name}.json")), server, url }
    }

    /// Forgets what is kept for the server `id`, whatever its address; how many addresses that were.
    ///
    /// # Errors
    /// When the files cannot be looked at, or stay.
    pub fn forget(&self, id: &str) -> io::Result<usize> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            Err(error) => return Err(error),
        };
        let mut gone = 0;
        for entry in entries {
            let path = entry?.path();
            if path.extension().is_none_or(|ending| ending != "json") {
                continue;
            }
            // Also one that others can read: it is gone then.
            let text = read(&path, Whose::Any).unwrap_or_default().unwrap_or_default();
            if serde_json::from_str::<Kept>(&text).is_ok_and(|kept| kept.server == id) {
                fs::remove_file(&path)?;
                let _none = fs::remove_file(path.with_extension("lock"));
                gone += 1;
            }
        }
        Ok(gone)
    }
}

/// Whose files are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// The person's, which nobody else can read.
    Private,
    Any,
}

/// The text of a file; none where there is no such file.
fn read(path: &Path, whose: Whose) -> Result<Option<String>, String> {
    let failed = |error: io::Error| format!("could not read {}: {error}", path.display());
    let file = match OpenOptions::new()
        .read(true)
        .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
        .open(path)
    {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    // Of the open file, so that it cannot be exchanged in between.
    let meta = file.metadata().map_err(failed)?;
    let shown = path.display();
    if whose == Whose::Private && meta.mode() & 0o077 != 0 {
        return Err(format!("{shown} can be read by others, so its token is not used; run `chmod 600 {shown}`"));
    }
    if whose == Whose::Private && meta.uid() != rustix::process::geteuid().as_raw() {
        return Err(format!("{shown} belongs to another user, so its token is not used; remove it"));
    }
    let mut text = String::new();
    file.take(LONGEST).read_to_string(&mut text).map_err(failed)?;
    Ok(Some(text))
}

impl TokenFile {
    /// What is kept; nothing where nobody signed in there.
    ///
    /// # Errors
    /// Why it cannot be used, in words without any of it.
    pub(super) fn kept(&self) -> Result<Option<Kept>, String> {
        let Some(text) = read(&self.path, Whose::Private)? else { return Ok(None) };
        let shown = self.path.display();
        let again = self.server.rsplit('/').next().unwrap_or_default();
        // What serde says may quote the token.
        let bad = |_quotes| format!("{shown} does not read: levain mcp login {again} writes it anew");
        let kept: Kept = serde_json::from_str(&text).map_err(bad)?;
        if kept.server != self.server || kept.url != self.url {
            return Err(format!("{shown} is for another server: levain mcp login {again} writes it anew"));
        }
        Ok(Some(kept))
    }

    /// Keeps credentials, and what is known of their client; without, what was known of the same client before.
    ///
    /// # Errors
    /// Why they cannot be written.
    pub(super) fn keep(&self, credentials: StoredCredentials, known: Option<Known>) -> Result<(), String> {
        let before = self.kept().ok().flatten().filter(|kept| kept.credentials.client_id == credentials.client_id);
        let known = known.or_else(|| before.map(|kept| kept.known)).unwrap_or_default();
        let kept = Kept { server: self.server.clone(), url: self.url.clone(), known, credentials };
        let write = || -> io::Result<()> {
            let text = serde_json::to_vec(&kept)?;
            let folder = self.folder()?;
            // Such a file has the mode 0600.
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            file.write_all(&text)?;
            file.as_file().sync_all()?;
            file.persist(&self.path).map_err(|error| error.error)?;
            Ok(())
        };
        write().map_err(|error| format!("could not write {}: {error}", self.path.display()))
    }

    /// The folder, made if needed.
    fn folder(&self) -> io::Result<&Path> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        Ok(folder)
    }

    fn forget(&self) -> Result<(), String> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(format!("could not remove {}: {error}", self.path.display()))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Waits until no other process renews the token. The lock lasts as long as the file is open.
    fn lock(&self) -> io::Result<File> {
        self.folder()?;
        let mut options = OpenOptions::new();
        options.create(true).write(true).truncate(false).mode(0o600);
        let file = options.open(self.path.with_extension("lock"))?;
        file.lock()?;
        Ok(file)
    }
}

type Stored<'a, T> = Pin<Box<dyn Future<Output = Result<T, AuthError>> + Send + 'a>>;

/// Runs what reads and writes files off the loop.
async fn off_loop<T: Send + 'static>(
    file: TokenFile,
    work: impl FnOnce(&TokenFile) -> Result<T, String> + Send + 'static,
) -> Result<T, AuthError> {
    let done = tokio::task::spawn_blocking(move || work(&file)).await;
    done.unwrap_or_else(|failed| Err(failed.to_string())).map_err(AuthError::CredentialStoreError)
}

impl CredentialStore for TokenFile {
    fn load<'life0, 'async_trait>(&'life0 self) -> Stored<'async_trait, Option<StoredCredentials>>
    where
        'life0: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(off_loop(self.clone(), |file| Ok(file.kept()?.map(|kept| kept.credentials))))
    }

    fn save<'life0, 'async_trait>(&'life0 self, credentials: StoredCredentials) -> Stored<'async_trait, ()>
    where
        'life0: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(off_loop(self.clone(), move |file| file.keep(credentials, None)))
    }

    fn clear<'life0, 'async_trait>(&'life0 self) -> Stored<'async_trait, ()>
    where
        'life0: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(off_loop(self.clone(), TokenFile::forget))
    }

    fn acquire_refresh_guard<'life0, 'async_trait>(&'life0 self) -> Stored<'async_trait, Option<CredentialRefreshGuard>>
    where
        'life0: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(off_loop(self.clone(), |file| {
            let lock = file.lock().map_err(|error| format!("could not lock {}: {error}", file.path.display()))?;
            Ok(Some(CredentialRefreshGuard::new(lock)))
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::os::unix::fs::PermissionsExt;

    fn server(name: &str) -> Server {
        Server::read(&format!("mcp/servers/{name}"), &json!({ "url": "https://h.example/mcp" })).unwrap()
    }

    fn credentials(client: &str) -> StoredCredentials {
        StoredCredentials::new(client.to_owned(), None, Vec::new(), None)
    }

    fn known() -> Known {
        Known { client_secret: Some("s3cret".to_owned()), challenge: None }
    }

    #[test]
    fn a_token_is_of_one_server_and_one_address_and_closed_to_others() {
        let folder = tempfile::tempdir().unwrap();
        let tokens = Tokens::in_folder(folder.path().join("mcp"));
        let url = |text: &str| Url::parse(text).unwrap();
        let file = tokens.of(&server("a"), &url("https://h.example/mcp"));
        assert!(file.kept().unwrap().is_none());
        file.keep(credentials("c"), Some(known())).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&file.path), mode(&folder.path().join("mcp"))), (0o600, 0o700));
        for (name, address) in [
            ("b", "https://h.example/mcp"),
            ("a", "https://h.example/mcp2"),
            ("a", "https://evil.example/mcp"),
            ("a", "http://h.example/mcp"),
        ] {
            let other = tokens.of(&server(name), &url(address));
            assert!(other.kept().unwrap().is_none(), "{name} {address}");
            // Not by exchanging files either.
            fs::copy(&file.path, &other.path).unwrap();
            assert!(other.kept().is_err_and(|why| why.contains("for another server")));
            fs::remove_file(&other.path).unwrap();
        }
        assert_eq!(tokens.forget("mcp/servers/b").unwrap(), 0);
        assert_eq!(tokens.forget("mcp/servers/a").unwrap(), 1);
        assert!(file.kept().unwrap().is_none());
    }

    #[test]
    fn a_clients_secret_stays_when_its_token_is_renewed_and_goes_with_the_client() {
        let folder = tempfile::tempdir().unwrap();
        let file =
            Tokens::in_folder(folder.path().to_owned()).of(&server("a"), &Url::parse("https://h.example").unwrap());
        file.keep(credentials("c"), Some(known())).unwrap();
        file.keep(credentials("c"), None).unwrap();
        assert_eq!(file.kept().unwrap().unwrap().known.client_secret.as_deref(), Some("s3cret"));
        file.keep(credentials("d"), None).unwrap();
        assert_eq!(file.kept().unwrap().unwrap().known.client_secret, None);
    }

    #[test]
    fn a_file_that_others_can_read_that_is_a_link_or_that_does_not_read_is_refused_without_its_words() {
        let folder = tempfile::tempdir().unwrap();
        let file =
            Tokens::in_folder(folder.path().to_owned()).of(&server("a"), &Url::parse("https://h.example").unwrap());
        file.keep(credentials("c"), None).unwrap();
        fs::set_permissions(&file.path, fs::Permissions::from_mode(0o640)).unwrap();
        assert!(file.kept().is_err_and(|why| why.contains("chmod 600")));
        fs::set_permissions(&file.path, fs::Permissions::from_mode(0o600)).unwrap();
        let elsewhere = folder.path().join("elsewhere");
        fs::rename(&file.path, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &file.path).unwrap();
        assert!(file.kept().is_err());
        fs::remove_file(&file.path).unwrap();
        fs::write(&file.path, "{\"client_secret\": s3cret").unwrap();
        fs::set_permissions(&file.path, fs::Permissions::from_mode(0o600)).unwrap();
        let why = file.kept().err().unwrap();
        assert!(why.contains("levain mcp login a") && !why.contains("s3cret"), "{why}");
    }
}
