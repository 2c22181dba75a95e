//! Tokens of the MCP servers that the person signed in to: a file for each, which nobody else can read.
//!
//! A file is bound to one server's id and one address. Another server, or the same name with another address, has no token.

use super::server::Server;
use crate::domain::ContentHash;
use crate::ports::private_file::PrivateFile;
use reqwest::Url;
use rmcp::transport::auth::{AuthError, CredentialRefreshGuard, CredentialStore, StoredCredentials};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;

/// Where the person's tokens lie.
#[derive(Clone, Debug)]
pub struct Tokens {
    folder: PathBuf,
}

/// The file of one server and address.
#[derive(Clone, Debug)]
pub(super) struct TokenFile {
    file: PrivateFile,
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
        TokenFile { file: PrivateFile::at(self.folder.join(format!("{name}.json"))), server, url }
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
            let file = PrivateFile::at(path);
            let text = file.read_unchecked().unwrap_or_default().unwrap_or_default();
            if serde_json::from_str::<Kept>(&text).is_ok_and(|kept| kept.server == id) {
                gone += usize::from(file.remove()?);
            }
        }
        Ok(gone)
    }
}

impl TokenFile {
    /// What is kept; nothing where nobody signed in there.
    ///
    /// # Errors
    /// Why it cannot be used, in words without any of it.
    pub(super) fn kept(&self) -> Result<Option<Kept>, String> {
        let Some(text) = self.file.read()? else { return Ok(None) };
        let shown = self.file.path().display();
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
        let text = serde_json::to_vec(&kept).map_err(|error| error.to_string())?;
        self.file.write(&text).map_err(|error| format!("could not write {}: {error}", self.file.path().display()))
    }

    fn forget(&self) -> Result<(), String> {
        let gone = self.file.remove();
        gone.map(drop).map_err(|error| format!("could not remove {}: {error}", self.file.path().display()))
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
            let lock = file.file.lock();
            let lock = lock.map_err(|error| format!("could not lock {}: {error}", file.file.path().display()))?;
            Ok(Some(CredentialRefreshGuard::new(lock)))
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

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
        assert_eq!((mode(file.file.path()), mode(&folder.path().join("mcp"))), (0o600, 0o700));
        for (name, address) in [
            ("b", "https://h.example/mcp"),
            ("a", "https://h.example/mcp2"),
            ("a", "https://evil.example/mcp"),
            ("a", "http://h.example/mcp"),
        ] {
            let other = tokens.of(&server(name), &url(address));
            assert!(other.kept().unwrap().is_none(), "{name} {address}");
            // Not by exchanging files either.
            fs::copy(file.file.path(), other.file.path()).unwrap();
            assert!(other.kept().is_err_and(|why| why.contains("for another server")));
            fs::remove_file(other.file.path()).unwrap();
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
        fs::set_permissions(file.file.path(), fs::Permissions::from_mode(0o640)).unwrap();
        assert!(file.kept().is_err_and(|why| why.contains("chmod 600")));
        fs::set_permissions(file.file.path(), fs::Permissions::from_mode(0o600)).unwrap();
        let elsewhere = folder.path().join("elsewhere");
        fs::rename(file.file.path(), &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, file.file.path()).unwrap();
        assert!(file.kept().is_err());
        fs::remove_file(file.file.path()).unwrap();
        fs::write(file.file.path(), "{\"client_secret\": s3cret").unwrap();
        fs::set_permissions(file.file.path(), fs::Permissions::from_mode(0o600)).unwrap();
        let why = file.kept().err().unwrap();
        assert!(why.contains("levain mcp login a") && !why.contains("s3cret"), "{why}");
    }
}
