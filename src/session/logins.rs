//! What the person signed in to with the providers of their own extensions (`oauth`): the code that signs in runs in an engine
//! of its own, with no other extension beside it, and what it gives lies in a file for each provider that nobody else can read.
//!
//! A file is bound to the provider's name and the extension's file: another extension that takes the name gets nothing of it.

use super::extension_models::of_pi;
use super::extension_network::Network;
use super::extension_providers::place;
use super::extension_text::plain;
use super::extensions::{Changes, Extensions};
use crate::domain::ContentHash;
use crate::extensions::{Ask, Asker, Engine, Limits, Outside, Refusal};
use crate::ports::child::Talk;
use crate::ports::private_file::PrivateFile;
use crate::ports::tools::Waiting;
use crate::ports::{Clock as _, SystemClock};
use crate::providers::{Login, Logins};
use crate::tools::request::Hosts;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::fs::File;
use std::future::ready;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long the renewal of a key may take.
const RENEWAL: Duration = Duration::from_mins(1);

/// Letters of what an extension says while somebody signs in.
const LONGEST: usize = 2_000;

/// So many letters of a credential are not said again by an error.
const SECRET: usize = 8;

/// Where the person signs in: what they are shown, and asked.
pub trait Person: Send + Sync {
    /// A page to open, with what else there is to know of it.
    fn open(&self, page: Page);
    /// How it goes.
    fn tell(&self, message: &str);
    /// Asks for a text; none where they leave.
    fn ask(&self, message: String, placeholder: String) -> Waiting<'static, Option<String>>;
    /// Asks for one of these; none where they leave.
    fn choose(&self, message: String, options: Vec<Choice>) -> Waiting<'static, Option<String>>;
}

/// A page that signs somebody in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    pub url: String,
    /// What to do there, in the extension's words.
    pub instructions: Option<String>,
    /// What is to be entered there.
    pub code: Option<String>,
}

/// An answer that can be given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    pub id: String,
    pub label: String,
}

/// What a file holds.
#[derive(Clone, Serialize, Deserialize)]
struct StoredLogin {
    provider: String,
    /// The extension's file.
    path: PathBuf,
    /// As the extension gave them; `expires` is in milliseconds since 1970.
    credentials: Value,
    /// What the extension makes of them.
    key: String,
    /// Where the provider answers whoever signed in so, where that is somewhere else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base: Option<String>,
}

impl StoredLogin {
    fn expires(&self) -> Option<u64> {
        let at = self.credentials.get("expires")?.as_f64().filter(|at| *at > 0.0)?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "milliseconds, above 0")]
        Some(at as u64)
    }

    fn login(&self) -> Login {
        Login { key: self.key.as_str().into(), base: self.base.clone() }
    }

    fn is_old(&self) -> bool {
        self.expires().is_some_and(|at| at <= SystemClock.now().0)
    }
}

/// How it is with a login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoginStatus {
    /// When its key is renewed, in milliseconds since 1970.
    pub expires: Option<u64>,
}

/// The person's logins.
#[derive(Clone, Debug)]
pub struct LoginStore {
    folder: PathBuf,
    extensions: Extensions,
    hosts: Hosts,
}

impl LoginStore {
    /// Those in `folder`, which is made with the first.
    pub(super) fn new(folder: PathBuf, extensions: Extensions, hosts: Hosts) -> Self {
        Self { folder, extensions, hosts }
    }

    fn file(&self, provider: &str, path: &Path) -> PrivateFile {
        let hash = ContentHash::of(format!("{provider}\n{}", path.display()).as_bytes());
        let name = hash.as_str().get(..32).unwrap_or_default();
        PrivateFile::at(self.folder.join(format!("{name}.json")))
    }

    /// What is kept of a login; none where there is none.
    fn kept(&self, provider: &str, path: &Path) -> Result<Option<StoredLogin>, String> {
        let file = self.file(provider, path);
        let Some(text) = file.read()? else { return Ok(None) };
        let shown = file.path().display();
        // What serde says may quote the token.
        let bad = |_quotes| format!("{shown} does not read; levain login {provider} writes it anew");
        let kept: StoredLogin = serde_json::from_str(&text).map_err(bad)?;
        if kept.provider != provider || kept.path != path {
            return Err(format!("{shown} is for another provider; levain login {provider} writes it anew"));
        }
        Ok(Some(kept))
    }

    /// How the login to `provider` of the extension in `path` stands; none where the person is not signed in.
    ///
    /// # Errors
    /// Why what is kept of it is not used.
    pub fn status(&self, provider: &str, path: &Path) -> Result<Option<LoginStatus>, String> {
        Ok(self.kept(provider, path)?.map(|kept| LoginStatus { expires: kept.expires() }))
    }

    /// Forgets a login; whether there was one.
    ///
    /// # Errors
    /// When it is still there.
    pub fn sign_out(&self, provider: &str, path: &Path) -> std::io::Result<bool> {
        let file = self.file(provider, path);
        // A renewal that is under way would bring it back.
        let _lock = file.lock()?;
        file.remove()
    }

    /// Has the extension in `path` sign `person` in to `provider`, within so long.
    ///
    /// # Errors
    /// Why the person is not signed in.
    pub async fn sign_in(
        &self,
        provider: &str,
        path: &Path,
        person: Arc<dyn Person>,
        patience: Duration,
    ) -> Result<(), String> {
        let engine = LoginEngine::begin(self, (provider, path), Some(person), patience).await?;
        let credentials = engine.step("login", &Value::Null).await?;
        let kept = engine.keyed(credentials).await?;
        let _lock = self.lock(provider, path).await?;
        self.keep(kept).await
    }

    /// Waits until no other process changes what is kept of a login.
    async fn lock(&self, provider: &str, path: &Path) -> Result<File, String> {
        let file = self.file(provider, path);
        let lock = move || file.lock().map_err(|error| format!("could not lock {}: {error}", file.path().display()));
        off_loop(lock).await
    }

    /// Whoever calls this has the lock.
    async fn keep(&self, kept: StoredLogin) -> Result<(), String> {
        let file = self.file(&kept.provider, &kept.path);
        let write = move || {
            let text = serde_json::to_vec(&kept).map_err(|error| error.to_string())?;
            file.write(&text).map_err(|error| format!("could not write {}: {error}", file.path().display()))
        };
        off_loop(write).await
    }

    /// The key, renewed where it is old.
    async fn renewed(self, provider: String, path: PathBuf) -> Result<Login, String> {
        let read = {
            let (this, provider, path) = (self.clone(), provider.clone(), path.clone());
            move || this.kept(&provider, &path)
        };
        let signed_out = || format!("you are not signed in to {provider}; levain login {provider} signs you in");
        let kept = off_loop(read.clone()).await?.ok_or_else(signed_out)?;
        if !kept.is_old() {
            return Ok(kept.login());
        }
        // Many give out a new token for the old one once: one process renews, the others read what it got.
        let _lock = self.lock(&provider, &path).await?;
        let kept = off_loop(read).await?.ok_or_else(signed_out)?;
        if !kept.is_old() {
            return Ok(kept.login());
        }
        let renew = async {
            let engine = LoginEngine::begin(&self, (&provider, &path), None, RENEWAL).await?;
            let credentials = engine.step("refresh", &kept.credentials).await?;
            engine.keyed(credentials).await
        };
        let again = |why: String| {
            let why = redacted(&kept.credentials, why);
            format!("your login to {provider} could not be renewed: {why}; levain login {provider} signs you in again")
        };
        let fresh = renew.await.map_err(again)?;
        let login = fresh.login();
        self.keep(fresh).await?;
        Ok(login)
    }
}

impl Logins for LoginStore {
    fn preview(&self, provider: &str, path: &Path) -> Option<Login> {
        // One that cannot be used is told of when it is asked for.
        let base = self.kept(provider, path).transpose()?.ok().and_then(|kept| kept.base);
        Some(Login { key: SecretString::from("none"), base })
    }

    fn login(&self, provider: String, path: PathBuf) -> Waiting<'static, Result<Login, String>> {
        // To its end, also where nobody waits for it any more: the server may know the old token no longer.
        let renewed = tokio::spawn(self.clone().renewed(provider, path));
        Box::pin(async move { renewed.await.unwrap_or_else(|failed| Err(failed.to_string())) })
    }
}

async fn off_loop<T: Send + 'static>(work: impl FnOnce() -> Result<T, String> + Send + 'static) -> Result<T, String> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|failed| Err(failed.to_string()))
}

/// `text` with a mark in the place of each text of these credentials.
fn redacted(credentials: &Value, mut text: String) -> String {
    let mut rest = vec![credentials];
    while let Some(value) = rest.pop() {
        match value {
            Value::String(word) if word.len() >= SECRET => text = text.replace(word.as_str(), "[key]"),
            Value::Array(all) => rest.extend(all),
            Value::Object(fields) => rest.extend(fields.values()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    text
}

/// An engine with one extension that signs in.
struct LoginEngine {
    engine: Engine,
    host: Arc<LoginHost>,
    provider: String,
    path: PathBuf,
}

impl LoginEngine {
    async fn begin(
        logins: &LoginStore,
        (provider, path): (&str, &Path),
        person: Option<Arc<dyn Person>>,
        patience: Duration,
    ) -> Result<Self, String> {
        let host = Arc::new(LoginHost {
            person,
            network: Network::new(logins.hosts.clone()),
            extensions: logins.extensions.clone(),
            refused: Arc::default(),
        });
        let outside = Arc::clone(&host);
        let (extensions, limits) = (logins.extensions.clone(), Limits { call: patience, ..Limits::default() });
        let engine = off_loop(move || {
            extensions.engine(limits, Some(outside), &Changes::None).map_err(|error| error.to_string())
        })
        .await?;
        let loaded = engine.load(path).await.map_err(|error| error.to_string())?;
        loaded.result.map_err(|problem| format!("{} does not load: {problem}", path.display()))?;
        Ok(Self { engine, host, provider: provider.to_owned(), path: path.to_owned() })
    }

    async fn asked(&self, name: &'static str, arguments: Vec<Value>) -> Result<Value, String> {
        let (answer, _) =
            self.engine.ask(Ask::Function { name, arguments }, false).await.map_err(|error| error.to_string())?;
        match answer.error {
            Some(problem) => {
                // What an extension says of a request that failed need not tell why.
                let why = self.host.refused.lock().unwrap_or_else(PoisonError::into_inner).take();
                let why = why.filter(|why| !problem.message.contains(why.as_str()));
                Err(said(&why.map_or(problem.message.clone(), |why| format!("{}: {why}", problem.message))))
            }
            None => Ok(answer.result.unwrap_or_default()),
        }
    }

    async fn step(&self, step: &str, credentials: &Value) -> Result<Value, String> {
        self.asked(
            "providerAuth",
            vec![json!({"provider": of_pi(&self.provider), "step": step, "credentials": credentials})],
        )
        .await
    }

    /// What is kept of credentials: with the key, and where it is used.
    async fn keyed(&self, credentials: Value) -> Result<StoredLogin, String> {
        if !credentials.is_object() {
            return Err("its extension gave credentials that are no object".to_owned());
        }
        let clean = |why| redacted(&credentials, why);
        let key = self.step("key", &credentials).await.map_err(clean)?;
        let key =
            key.as_str().map(str::trim).filter(|key| !key.is_empty()).ok_or("its extension makes no key of it")?;
        let base = self.base(&credentials).await.map_err(clean)?;
        let (provider, path, key) = (self.provider.clone(), self.path.clone(), key.to_owned());
        Ok(StoredLogin { provider, path, credentials, key, base })
    }

    /// Where its models answer whoever has these credentials, if the extension says so: all of them, as a provider has one place.
    async fn base(&self, credentials: &Value) -> Result<Option<String>, String> {
        let described = self.asked("providerDescriptions", Vec::new()).await?;
        let mut described = described.as_array().into_iter().flatten();
        let Some(described) = described.rfind(|one| one["name"] == *of_pi(&self.provider)) else { return Ok(None) };
        if described["oauth"]["modifiesModels"] != true {
            return Ok(None);
        }
        let listed = described["models"].as_array().cloned().unwrap_or_default();
        let whole = |mut model: Value| {
            for (field, value) in
                [("provider", &described["name"]), ("api", &described["api"]), ("baseUrl", &described["baseUrl"])]
            {
                if model.is_object() && model.get(field).is_none_or(Value::is_null) {
                    model[field] = value.clone();
                }
            }
            model
        };
        let models: Vec<Value> = listed.into_iter().map(whole).collect();
        let asked =
            json!({"provider": described["name"], "step": "models", "credentials": credentials, "models": models});
        let models = self.asked("providerAuth", vec![asked]).await?;
        let of_it = models.as_array().into_iter().flatten().filter(|model| model["provider"] == described["name"]);
        let mut places = of_it.filter_map(|model| model["baseUrl"].as_str());
        let Some(first) = places.next().filter(|first| described["baseUrl"] != **first) else { return Ok(None) };
        if places.any(|other| other != first) {
            return Err("its extension sends models to several addresses, which is not done here".to_owned());
        }
        let (base, _) = place(&self.provider, described["api"].as_str(), Some(first)).map_err(|(why, _)| why)?;
        Ok(base)
    }
}

/// Words of an extension, for people.
fn said(text: &str) -> String {
    plain(text).chars().take(LONGEST).collect()
}

/// What an extension may do while it signs somebody in: it reaches the network, and the person where there is one.
struct LoginHost {
    person: Option<Arc<dyn Person>>,
    network: Network,
    extensions: Extensions,
    /// Why the last request that failed did.
    refused: Arc<Mutex<Option<String>>>,
}

impl Outside for LoginHost {
    fn call(&self, _asker: &Asker, name: &str, arguments: Value) -> Result<Value, Refusal> {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
        Ok(match name {
            "mode" => "print".into(),
            "ui.available" | "project.trusted" => false.into(),
            "run.idle" => true.into(),
            "flag" => self.extensions.flag(text("name")).unwrap_or_default(),
            "session.info" => json!({"cwd": self.extensions.root}),
            "session.entries" | "session.branch" | "tools.all" | "tools.active" | "commands.others" => json!([]),
            "http.close" => {
                self.network.close(arguments.get("id").and_then(Value::as_u64).unwrap_or_default());
                Value::Null
            }
            "login.progress" => {
                self.person.iter().for_each(|person| person.tell(&said(text("message"))));
                Value::Null
            }
            "console" => {
                self.person.iter().for_each(|person| person.tell(said(text("text")).trim_end()));
                Value::Null
            }
            _ => Value::Null,
        })
    }

    fn act(&self, _asker: Asker, name: String, arguments: Value) -> Waiting<'static, Result<Value, Refusal>> {
        if let Some(asked) = self.network.act(&name, &arguments) {
            let refused = Arc::clone(&self.refused);
            return Box::pin(async move {
                let came_to = asked.await;
                let why = came_to.as_ref().err().map(|refusal| refusal.message.clone());
                *refused.lock().unwrap_or_else(PoisonError::into_inner) = why;
                came_to
            });
        }
        let text = |name: &str| arguments.get(name).and_then(Value::as_str).map(said);
        let Some(person) = &self.person else {
            return Box::pin(ready(Err(Refusal::access("nobody is here to sign in"))));
        };
        let answered = |answer: Waiting<'static, Option<String>>| -> Waiting<'static, Result<Value, Refusal>> {
            Box::pin(async move {
                answer.await.map(Value::from).ok_or_else(|| Refusal::new("ECANCELED", "the person left"))
            })
        };
        match name.as_str() {
            "login.open" => {
                // An address is whole or of no use.
                let address = |name| arguments.get(name).and_then(Value::as_str).map(plain);
                let address = ["url", "verificationUri", "verification_uri"].into_iter().find_map(address);
                let code = ["userCode", "user_code"].into_iter().find_map(text);
                person.open(Page { url: address.unwrap_or_default(), instructions: text("instructions"), code });
                Box::pin(ready(Ok(Value::Null)))
            }
            "login.prompt" => {
                let message = text("message").unwrap_or_else(|| "an answer".to_owned());
                answered(person.ask(message, text("placeholder").unwrap_or_default()))
            }
            "login.select" => {
                let options = arguments.get("options").and_then(Value::as_array).into_iter().flatten();
                let option = |option: &Value| {
                    let field = |name: &str| option.get(name).and_then(Value::as_str);
                    let id = option.as_str().or_else(|| field("id")).or_else(|| field("value"))?;
                    Some(Choice { id: id.to_owned(), label: said(field("label").unwrap_or(id)) })
                };
                answered(person.choose(text("message").unwrap_or_default(), options.filter_map(option).collect()))
            }
            "model.key" => Box::pin(ready(Ok(Value::Null))),
            other => Box::pin(ready(Err(Refusal::access(format!("`{other}` is not done while somebody signs in"))))),
        }
    }

    fn spawn(&self, _asker: Asker, _spec: Value, _talk: Talk) -> Waiting<'static, Result<Value, Refusal>> {
        Box::pin(ready(Err(Refusal::access("no program runs while somebody signs in"))))
    }

    fn socket(&self, _asker: Asker, spec: Value, talk: Talk) -> Waiting<'static, Result<Value, Refusal>> {
        self.network.socket(&spec, talk)
    }
}
