//! Providers whose key comes from a login of the person's: it is asked for with every call, since it changes.
//!
//! [`SignedIn`] stands before a provider. What it writes holds no key, so it is written without one.

use crate::domain::event::{CallError, ErrorCategory};
use crate::domain::{OpenHeaders, WireForm};
use crate::ports::tools::Waiting;
use crate::ports::{CallRequest, Counting, EncodedRequest, Provider, ProviderStream};
use futures_util::stream::{self, StreamExt as _};
use secrecy::SecretString;
use std::fmt;
use std::future::ready;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a login gives.
#[derive(Clone, Debug)]
pub struct Login {
    pub key: SecretString,
    /// Where the provider answers whoever signed in so, where that is somewhere else than its file says.
    pub base: Option<String>,
}

/// The person's logins.
pub trait Logins: Send + Sync {
    /// What is known without asking anybody of the login to `provider` of the extension in the file `path`, with a word in the
    /// place of the key; none where the person is not signed in.
    fn preview(&self, provider: &str, path: &Path) -> Option<Login>;

    /// That login now. An old key is renewed first.
    ///
    /// # Errors
    /// Why there is none, in a sentence without any of it that names the next step.
    fn login(&self, provider: String, path: PathBuf) -> Waiting<'static, Result<Login, String>>;
}

impl fmt::Debug for dyn Logins {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Logins")
    }
}

/// Makes the provider that asks with a login.
type WithLogin = Arc<dyn Fn(Login) -> Result<Arc<dyn Provider>, String> + Send + Sync>;

/// See the module.
#[derive(Clone)]
pub(super) struct SignedIn {
    /// Its name as people write it, which is not always that of its form.
    pub(super) provider: String,
    pub(super) with: WithLogin,
    /// The extension that signs in.
    pub(super) path: PathBuf,
    pub(super) logins: Arc<dyn Logins>,
    /// The provider as it is without the key.
    pub(super) shown: Arc<dyn Provider>,
}

impl SignedIn {
    /// The provider with the key that there is now.
    async fn keyed(self) -> Result<Arc<dyn Provider>, CallError> {
        let login = self.logins.login(self.provider, self.path).await.map_err(refused)?;
        (self.with)(login).map_err(refused)
    }
}

/// There is no key.
fn refused(message: String) -> CallError {
    CallError { category: ErrorCategory::Auth, code: "login".to_owned(), message, status: None, retry_after_ms: None }
}

/// What the server says to who is signed in no more, with the next step.
fn with_remedy(mut error: CallError, provider: &str) -> CallError {
    if error.category == ErrorCategory::Auth && error.code != "login" {
        error.message = format!("{}; levain login {provider} signs you in again", error.message);
    }
    error
}

impl Provider for SignedIn {
    fn name(&self) -> &str {
        self.shown.name()
    }

    fn endpoint(&self) -> String {
        self.shown.endpoint()
    }

    fn headers(&self) -> OpenHeaders {
        self.shown.headers()
    }

    fn count(&self, request: CallRequest) -> Option<Counting> {
        // Whether it can be asked is told without the key; what is not waited for asks nobody.
        drop(self.shown.count(request.clone())?);
        let (this, provider) = (self.clone(), self.provider.clone());
        Some(Box::pin(async move {
            match this.keyed().await?.count(request) {
                Some(counting) => counting.await.map_err(|error| with_remedy(error, &provider)),
                None => Err(refused(format!("{provider} counts nothing"))),
            }
        }))
    }

    fn form(&self) -> WireForm {
        self.shown.form()
    }

    fn encode(&self, request: CallRequest) -> Result<EncodedRequest, CallError> {
        self.shown.encode(request)
    }

    fn send(&self, request: EncodedRequest) -> ProviderStream {
        let (this, provider) = (self.clone(), self.provider.clone());
        let begun = async move {
            match this.keyed().await {
                Ok(keyed) => keyed.send(request),
                Err(error) => Box::pin(stream::once(ready(Err(error)))) as ProviderStream,
            }
        };
        let answer = stream::once(begun).flatten();
        Box::pin(answer.map(move |event| event.map_err(|error| with_remedy(error, &provider))))
    }
}
