//! From `provider/model` to the provider that answers, and what there is to choose from.

use super::anthropic::Anthropic;
use super::blot::{Blot, Blotted};
use super::catalog::Catalog;
use super::from_extension::{ExtensionStreams, FromExtension};
use super::gemini::Gemini;
use super::http::{self, Http};
use super::keys::{Keys, VARIABLES};
use super::known::{self, KNOWN, Known, Place};
use super::openai_chat::OpenAiChat;
use super::openai_responses::OpenAiResponses;
use super::proxy::Proxies;
use super::scripted::{self, LoadError, Scripted};
use super::signed_in::{Login, Logins, SignedIn};
use super::site::{Auth, Site};
use super::text_calls::{TextCalls, in_words};
use super::tiers::Preference;
use super::yaml::{self, Part, ProviderFile, Sent, ToolForm};
use crate::domain::{ModelRef, OpenHeaders, Problem, Space, WireForm, nearest};
use crate::items::space::embedded_texts;
use crate::ports::{CallRequest, Provider};
use reqwest::Url;
use reqwest::header::{HeaderName, HeaderValue};
use secrecy::SecretString;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

const SCRIPTED: &str = "scripted";

/// All that providers need to know, as plain values.
#[derive(Clone, Debug)]
pub struct Settings {
    pub keys: Keys,
    /// Where to reach a provider, by its name, when not where it usually is.
    pub bases: BTreeMap<String, String>,
    /// Provider files, nearest space first; of two with one name the first counts.
    pub files: Vec<ProviderFile>,
    /// Providers whose files of the person's or the project's have a mistake, by name, and the first one: what is built in
    /// of that name may cost more, or answer elsewhere.
    pub refused: BTreeMap<String, Problem>,
    /// Values of the variables that provider files name for headers.
    pub header_values: BTreeMap<String, SecretString>,
    pub preference: Preference,
    /// What paths of scenarios are relative to.
    pub scenario_dir: PathBuf,
    /// How long a provider may send nothing.
    pub silence: Duration,
    /// Proxies to go through, where the environment of this process does not say them all.
    pub proxies: Proxies,
    /// Where keys come from that the person's logins give.
    pub logins: Option<Arc<dyn Logins>>,
}

impl Settings {
    /// The usual settings: base addresses from the variables that [`KNOWN`] names, which `env` looks up, and scenarios
    /// relative to the working folder.
    #[must_use]
    pub fn from_env(env: impl Fn(&str) -> Option<String>, keys: Keys) -> Self {
        let told = |name| env(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let mut bases: BTreeMap<String, String> =
            KNOWN.iter().filter_map(|known| Some((known.name.to_owned(), told(known.variable)?))).collect();
        if let Some(host) = told("OLLAMA_HOST") {
            bases.entry("ollama".to_owned()).or_insert_with(|| known::ollama_host(&host));
        }
        Self {
            keys,
            bases,
            files: bundled(),
            refused: BTreeMap::new(),
            header_values: BTreeMap::new(),
            preference: Preference::default(),
            scenario_dir: PathBuf::new(),
            silence: http::SILENCE,
            proxies: Proxies::default(),
            logins: None,
        }
    }
}

impl Settings {
    /// Every variable that a key is or could be read from.
    #[must_use]
    pub fn key_variables(&self) -> Vec<String> {
        let usual = VARIABLES.iter().flat_map(|(_, names)| names.iter().map(|name| (*name).to_owned()));
        let filed = self.files.iter().filter(|file| file.space != Space::Project).flat_map(ProviderFile::key_variables);
        usual.chain(filed).collect()
    }

    /// What is wrong with the names of the sections in the file of keys.
    #[must_use]
    pub fn strange_keys(&self) -> Vec<Problem> {
        let filed = self.files.iter().map(|file| file.tool_id.clone()).filter(|name| known::known(name).is_none());
        let names = KNOWN.iter().map(|known| known.key.to_owned()).chain(filed).collect();
        self.keys.strangers(&names, |name| known::known(name).map(|known| known.key))
    }

    /// Lays provider files of people over the bundled ones, nearest space first, and takes the keys from the variables
    /// they name. A project's file says nothing of keys and addresses: whoever wrote the project would get the key.
    /// Further bundles come after what is in the program: how its own providers are reached is not a bundle's to say.
    pub fn lay_over(&mut self, files: Vec<ProviderFile>, env: impl Fn(&str) -> Option<String>) {
        for file in files.iter().filter(|file| file.space != Space::Project) {
            let named = file.part("").key_variable.iter().chain(&file.env).cloned().collect::<Vec<_>>();
            self.keys.offer(&file.tool_id, &named, &env);
            for variable in file.header_variables() {
                if let Some(value) = env(variable).filter(|value| !value.is_empty()) {
                    self.header_values.insert(variable.to_owned(), value.into());
                }
            }
        }
        let (near, bundles): (Vec<_>, Vec<_>) = files.into_iter().partition(|file| file.space != Space::System);
        self.files.splice(0..0, near);
        self.files.extend(bundles);
    }
}

/// Where the provider files in the program lie.
pub(super) const BUNDLED: &str = ".ai/tools/levain/providers";

/// The provider files in the program.
fn bundled() -> Vec<ProviderFile> {
    embedded_texts(BUNDLED)
        .filter_map(|(path, text)| ProviderFile::parse(text, Space::System, Path::new(path)).0)
        .collect()
}

/// Why a model cannot be asked, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    #[error("there is no provider `{provider}`; {}", or_all(provider, known))]
    UnknownProvider { provider: String, known: Vec<String> },
    #[error("no key for {provider}: set {variable}{}, or choose scripted/demo, which needs no key", or_file(file.as_ref(), provider, fault.as_ref()))]
    MissingKey { provider: String, variable: String, file: Option<PathBuf>, fault: Option<String> },
    #[error("you are not signed in to {provider}: levain login {provider} signs you in{}", or_variable(variable.as_ref()))]
    SignedOut {
        provider: String,
        /// What may hold a key instead.
        variable: Option<String>,
    },
    #[error("{variable} is not a server address ({detail}); write for example {example}")]
    BadBase { variable: &'static str, detail: String, example: &'static str },
    #[error("`{asked}` is no model or tier; {}write provider/model, or one of the tiers {}", or_near(near.as_ref()), tiers.join(", "))]
    UnknownModel {
        asked: String,
        tiers: Vec<String>,
        /// The tier or model that was probably meant.
        near: Option<String>,
    },
    #[error("several providers have the tier `{tier}`; name one of {}, or set provider.default in .ai/config/agent/agent.yaml", models.join(", "))]
    Ambiguous { tier: String, models: Vec<String> },
    #[error("the file of provider {provider} {what}")]
    BadFile { provider: String, what: String },
    #[error("levain does not use provider {provider} while its file has a mistake: {problem}")]
    Refused { provider: String, problem: Problem },
    #[error(transparent)]
    Scenario(#[from] LoadError),
}

fn or_all(provider: &str, known: &[String]) -> String {
    match nearest(provider, known.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("choose one of {}", known.join(", ")),
    }
}

fn or_near(near: Option<&String>) -> String {
    near.map(|near| format!("did you mean `{near}`? Else ")).unwrap_or_default()
}

fn or_variable(variable: Option<&String>) -> String {
    variable.map(|variable| format!(", or set {variable}")).unwrap_or_default()
}

fn or_file(file: Option<&PathBuf>, provider: &str, fault: Option<&String>) -> String {
    if let Some(fault) = fault {
        return format!(" (credentials file: {fault})");
    }
    file.map(|file| format!(", or write `api_key` below `[{provider}]` in {}", file.display())).unwrap_or_default()
}

/// A model to choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    pub model: ModelRef,
    /// Whether it can be asked now, that is, whether its key is here.
    pub ready: bool,
}

/// Finds providers. Cheap to clone; all of its providers share one HTTP client.
#[derive(Clone, Debug)]
pub struct Providers {
    settings: Arc<Settings>,
    http: Arc<Http>,
    /// Where extensions answer; none outside of threads.
    streams: Option<Arc<dyn ExtensionStreams>>,
    /// The login to a provider, whose key comes before all others.
    login: Option<(String, Login)>,
}

/// Whether `model` is answered by a scenario instead of a model.
#[must_use]
pub fn is_scripted(model: &ModelRef) -> bool {
    model.provider == SCRIPTED
}

impl Providers {
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let http = Arc::new(Http::new(settings.silence).through(settings.proxies.clone()));
        Self { settings: Arc::new(settings), http, streams: None, login: None }
    }

    /// The same with extensions that answer.
    #[must_use]
    pub fn answered_by(self, streams: Arc<dyn ExtensionStreams>) -> Self {
        Self { streams: Some(streams), ..self }
    }

    /// The same over the connections of `other`.
    #[must_use]
    pub fn connected_like(self, other: &Self) -> Self {
        Self { http: Arc::clone(&other.http), ..self }
    }

    /// The same with a login to `provider`.
    fn with_login(&self, provider: &str, login: Login) -> Self {
        Self { login: Some((provider.to_owned(), login)), ..self.clone() }
    }

    /// The same where these are not asked either.
    #[must_use]
    pub fn refusing(mut self, more: &BTreeMap<String, Problem>) -> Self {
        if !more.is_empty() {
            let settings = Arc::make_mut(&mut self.settings);
            settings.refused.extend(more.iter().map(|(name, problem)| (name.clone(), problem.clone())));
        }
        self
    }

    /// The login to `provider`.
    fn login(&self, provider: &str) -> Option<&Login> {
        self.login.as_ref().filter(|(of, _)| of == provider).map(|(_, login)| login)
    }

    /// The key of `provider`, which others may share below the name `section`.
    fn key(&self, provider: &str, section: &str) -> Option<&SecretString> {
        let given = self.login(provider).map(|login| &login.key);
        given.or_else(|| self.settings.keys.get(section))
    }

    /// The provider of `model` where its key comes from a login.
    fn signed_in(&self, model: &ModelRef) -> Option<Result<SignedIn, ResolveError>> {
        let path = self.own_file(&model.provider)?.login.clone()?;
        let logins = Arc::clone(self.settings.logins.as_ref()?);
        if self.login.is_some() {
            return None;
        }
        let shown = self.with_login(&model.provider, logins.preview(&model.provider, &path)?).provider(model);
        let (this, provider, model) = (self.clone(), model.provider.clone(), model.clone());
        let with = Arc::new(move |login| {
            this.with_login(&model.provider, login).provider(&model).map_err(|error| error.to_string())
        });
        Some(shown.map(|shown| SignedIn { provider, with, path, logins, shown }))
    }

    /// The provider of `model` where the code of an extension answers.
    fn of_extension(&self, model: &ModelRef) -> Option<Result<FromExtension, ResolveError>> {
        let file = self.own_file(&model.provider)?;
        let path = file.answered_by.clone()?;
        if let Some(problem) = self.settings.refused.get(&model.provider) {
            return Some(Err(ResolveError::Refused { provider: model.provider.clone(), problem: problem.clone() }));
        }
        let (name, key) = (model.provider.clone(), self.key(&model.provider, &model.provider).cloned());
        if let Some(error) = self.lacks(&name, key.as_ref(), file, file.part(&model.model)) {
            return Some(Err(error));
        }
        let (silence, streams) = (self.settings.silence, self.streams.clone());
        Some(Ok(FromExtension { name, path, key, silence, streams }))
    }

    /// The provider of `model`. Connects to nothing; a scenario's file is read.
    ///
    /// # Errors
    /// [`ResolveError`], whose sentence names the next step.
    pub fn provider(&self, model: &ModelRef) -> Result<Arc<dyn Provider>, ResolveError> {
        let settings = &self.settings;
        if model.provider == SCRIPTED {
            return Ok(Arc::new(Scripted::load(&model.model, &settings.scenario_dir)?));
        }
        if let Some(signed_in) = self.signed_in(model) {
            return Ok(Arc::new(signed_in?));
        }
        if let Some(answers) = self.of_extension(model) {
            let answers = answers?;
            let blot = answers.key.as_ref().and_then(Blot::of_answers);
            return Ok(blotted(Arc::new(answers), blot));
        }
        let part = self.own_file(&model.provider).map(|file| file.part(&model.model));
        let http = match part.and_then(|part| part.timeout) {
            Some(seconds) => Arc::new(self.http.with_silence(Duration::from_secs(seconds))),
            None => Arc::clone(&self.http),
        };
        let (form, site) = self.place(model)?;
        let secrets = site.secrets();
        let speaks = speak(form, http, site);
        let provider = secrets.iter().fold(speaks, |provider, secret| blotted(provider, Blot::of_answers(secret)));
        Ok(if self.calls_in_words(model) { Arc::new(TextCalls::new(provider)) } else { provider })
    }

    /// A server that whoever answers for a model asks in turn, with a key of its own; `form` as files write it.
    ///
    /// # Errors
    /// Why it is not asked.
    pub fn at<'a>(
        &self,
        (form, base): (&str, &str),
        key: Option<&str>,
        headers: impl Iterator<Item = (&'a str, &'a str)>,
        may_reach: impl Fn(&str, u16) -> bool,
    ) -> Result<Arc<dyn Provider>, String> {
        let form = yaml::form_named(form).ok_or_else(|| format!("the wire form {form} is not known"))?;
        let base = Url::parse(base).ok().ok_or("its model has no baseUrl that is an address")?;
        let host = base.host_str().unwrap_or_default();
        if !may_reach(host, base.port_or_known_default().unwrap_or_default()) {
            return Err(format!("{host} has to stand in extension_hosts of your config.toml"));
        }
        let open = headers.filter(|(name, _)| !OpenHeaders::is_closed(name));
        let headers = open
            .filter_map(|(name, value)| Some((HeaderName::try_from(name).ok()?, HeaderValue::from_str(value).ok()?)));
        let key = key.map(SecretString::from);
        let blot = key.as_ref().and_then(Blot::of_answers);
        let site = Site { headers: headers.collect(), ..Site::new(base, key) };
        Ok(blotted(speak(form, Arc::clone(&self.http), site), blot))
    }

    /// Why `model` cannot be asked now, as far as that is told without asking anybody or reading anything but the file of a login. Whoever has the key of
    /// a provider that is known is believed: looking at addresses costs a screen 300 kB of code that it never runs else.
    #[must_use]
    pub fn missing(&self, model: &ModelRef) -> Option<ResolveError> {
        if let Some(signed_in) = self.signed_in(model) {
            return signed_in.err();
        }
        if let Some(answers) = self.of_extension(model) {
            return answers.err();
        }
        let refused = self.settings.refused.contains_key(&model.provider);
        let has_key =
            || !refused && known::known(&model.provider).is_some() && self.settings.keys.get(&model.provider).is_some();
        let is_plain = || self.own_file(&model.provider).is_none_or(|file| file.header_variables().next().is_none());
        if model.provider == SCRIPTED || has_key() && is_plain() { None } else { self.place(model).err() }
    }

    /// Where `model` answers, and in which form.
    fn place(&self, model: &ModelRef) -> Result<(WireForm, Site), ResolveError> {
        if let Some(problem) = self.settings.refused.get(&model.provider) {
            return Err(ResolveError::Refused { provider: model.provider.clone(), problem: problem.clone() });
        }
        let part = self.own_file(&model.provider).map(|file| file.part(&model.model));
        Ok(match (known::known(&model.provider), part) {
            (Some(known), part) => {
                let mut site = self.site(known)?;
                let form = part.and_then(|part| part.form).unwrap_or(known.form);
                if let Some(part) = part {
                    self.settle(&mut site, part, known.name, form)?;
                }
                self.check_key(known, &site.base)?;
                (form, site)
            }
            (None, Some(part)) => self.filed(&model.provider, part)?,
            (None, None) if self.files().iter().any(|file| file.tool_id == model.provider) => {
                let what = "is in the project, which cannot set its address; copy it to ~/.ai/tools/providers";
                return Err(ResolveError::BadFile { provider: model.provider.clone(), what: what.to_owned() });
            }
            (None, None) => return Err(self.unknown(&model.provider)),
        })
    }

    /// Whether `model` is told of tools in words.
    fn calls_in_words(&self, model: &ModelRef) -> bool {
        let filed = self.own_file(&model.provider).map(|file| file.part(&model.model).tools);
        let listed = || Catalog::embedded().lookup(model).map(|info| info.tools());
        filed.filter(|tools| *tools == ToolForm::Text).or_else(listed) == Some(ToolForm::Text)
    }

    /// `request` as it reaches the wire form of `model`: with tools in words where the model knows no others.
    #[must_use]
    pub fn settled(&self, model: &ModelRef, request: CallRequest) -> CallRequest {
        if self.calls_in_words(model) { in_words(request) } else { request }
    }

    /// The provider files, nearest space first.
    #[must_use]
    pub fn files(&self) -> &[ProviderFile] {
        &self.settings.files
    }

    pub(super) fn preference(&self) -> &Preference {
        &self.settings.preference
    }

    /// There is no provider of that name.
    pub(super) fn unknown(&self, provider: &str) -> ResolveError {
        let mut known: Vec<String> = KNOWN.iter().map(|known| known.name.to_owned()).collect();
        for file in &self.settings.files {
            if !known.contains(&file.tool_id) {
                known.push(file.tool_id.clone());
            }
        }
        known.push(SCRIPTED.to_owned());
        ResolveError::UnknownProvider { provider: provider.to_owned(), known }
    }

    /// The form in which `model` is asked. The script, which is sent nothing, is shown in the first.
    #[must_use]
    pub fn form(&self, model: &ModelRef) -> WireForm {
        if let Ok(provider) = self.provider(model) {
            return provider.form();
        }
        let known = known::known(&model.provider);
        let file = self.own_file(&model.provider);
        if file.is_some_and(|file| file.answered_by.is_some()) {
            return WireForm::Extension;
        }
        let part = file.map(|file| file.part(&model.model));
        let form = part.and_then(|part| part.form).or_else(|| known.map(|known| known.form));
        form.unwrap_or(WireForm::Anthropic)
    }

    /// The file that may say where `provider` answers: the nearest that is not a project's.
    fn own_file(&self, provider: &str) -> Option<&ProviderFile> {
        self.settings.files.iter().find(|file| file.tool_id == provider && file.space != Space::Project)
    }

    /// A provider that only a file knows.
    fn filed(&self, provider: &str, part: &Part) -> Result<(WireForm, Site), ResolveError> {
        let bad = |what: &str| ResolveError::BadFile { provider: provider.to_owned(), what: what.to_owned() };
        let form = part.form.ok_or_else(|| bad("names no `wire` (anthropic, chat, responses or gemini)"))?;
        let address = part.base.as_deref().ok_or_else(|| bad("has no `config.url`"))?;
        let base = base(Some(address), "config.url", "https://example.com/v1")?;
        let key = self.key(provider, provider).cloned();
        if let Some(error) = self.own_file(provider).and_then(|file| self.lacks(provider, key.as_ref(), file, part)) {
            return Err(error);
        }
        let mut site = Site::new(base, key);
        self.settle(&mut site, part, provider, form)?;
        Ok((form, site))
    }

    /// Lays what a file says over `site`. A variable for the address goes before the file.
    fn settle(&self, site: &mut Site, part: &Part, provider: &str, form: WireForm) -> Result<(), ResolveError> {
        let bad = |what: String| ResolveError::BadFile { provider: provider.to_owned(), what };
        let told = || part.base.as_deref().filter(|_| !self.settings.bases.contains_key(provider));
        let moved = self.login(provider).and_then(|login| login.base.as_deref());
        if let Some(address) = moved {
            site.base = base(Some(address), "the address of the login", "https://example.com/v1")?;
            site.whole = None;
        } else if let Some(address) = told() {
            site.base = base(Some(address), "config.url", "https://example.com/v1")?;
            // The path of another form is none of this one's.
            let whole = part.whole.as_ref().filter(|(of, _)| *of == form);
            let whole = whole.map(|(_, address)| base(Some(address), "config.url", "https://example.com/v1"));
            site.whole = whole.transpose()?;
        }
        match &part.sent {
            Some(Sent::Header(name)) => {
                let name = name.parse().map_err(|_bad| bad(format!("has `{name}` where a header's name belongs")))?;
                site.auth = Some(Auth::Header(name));
            }
            Some(Sent::Bearer) => site.auth = Some(Auth::Bearer),
            None => {}
        }
        for (name, value) in &part.headers {
            let header = (name.parse::<HeaderName>().ok()).zip(HeaderValue::from_str(value).ok());
            site.headers.push(header.ok_or_else(|| bad(format!("has a header `{name}` that cannot be sent")))?);
        }
        for (name, variable) in &part.secret_headers {
            let value = self.settings.header_values.get(variable);
            let value = value.ok_or_else(|| self.missing_key(provider, variable))?;
            let header = (name.parse::<HeaderName>().ok()).zip(http::secret_header("", value).ok());
            site.headers.push(header.ok_or_else(|| bad(format!("has a header `{name}` that cannot be sent")))?);
        }
        Ok(())
    }

    /// Where `known` answers, with its key if there is one.
    pub(super) fn site(&self, known: &Known) -> Result<Site, ResolveError> {
        let told = self.settings.bases.get(known.name).map(String::as_str);
        let base = base(told, known.variable, known.base)?;
        Ok(Site::new(base, self.key(known.name, known.key).cloned()))
    }

    /// What a new thread uses when nobody chose: a vendor whose key is here, a local server, else the demo.
    #[must_use]
    pub fn default_model(&self) -> ModelRef {
        let has_key = |provider| self.settings.keys.get(provider).is_some();
        if has_key("anthropic") {
            ModelRef::new("anthropic", "claude-sonnet-5-5")
        } else if self.settings.bases.contains_key("openai") {
            // Another server, which answers to any name by Chat Completions or says which it has.
            ModelRef::new("openai", "gpt-4o")
        } else if has_key("openai") {
            ModelRef::new("openai", "gpt-6.2-sol")
        } else if has_key("gemini") {
            ModelRef::new("gemini", "gemini-3.8-flash")
        } else {
            ModelRef::new(SCRIPTED, scripted::DEMO)
        }
    }

    /// The known models, those that can be asked now first: the listed ones, and those that people's files name.
    #[must_use]
    pub fn choices(&self) -> Vec<Choice> {
        let mut names = Catalog::embedded().choices();
        for file in self.files().iter().filter(|file| self.own_file(&file.tool_id).is_some()) {
            for model in file.models() {
                let model = ModelRef::new(&file.tool_id, model);
                if !names.contains(&model) {
                    names.push(model);
                }
            }
        }
        let ready = |model: &ModelRef| self.provider(model).is_ok();
        let mut choices: Vec<Choice> = names.into_iter().map(|model| Choice { ready: ready(&model), model }).collect();
        choices.sort_by_key(|choice| !choice.ready);
        choices
    }

    /// The vendor wants a key; another server may not.
    fn check_key(&self, known: &Known, base: &Url) -> Result<(), ResolveError> {
        let at_vendor = Url::parse(known.base).is_ok_and(|vendor| vendor.host_str() == base.host_str());
        if known.place == Place::Local || !at_vendor || self.key(known.name, known.key).is_some() {
            return Ok(());
        }
        let provider = known.key;
        let variables = VARIABLES.iter().find(|(name, _)| *name == provider).map(|(_, variables)| *variables);
        let variable = variables.and_then(|variables| variables.first()).copied().unwrap_or("the key");
        if self.own_file(known.name).is_some_and(|file| file.login.is_some()) {
            return Err(ResolveError::SignedOut {
                provider: known.name.to_owned(),
                variable: Some(variable.to_owned()),
            });
        }
        Err(self.missing_key(provider, variable))
    }

    /// Why a provider of a file cannot be asked with this key, where it wants one.
    fn lacks(
        &self,
        provider: &str,
        key: Option<&SecretString>,
        file: &ProviderFile,
        part: &Part,
    ) -> Option<ResolveError> {
        let variable = part.key_variable.clone();
        match (key, &file.login, variable) {
            (Some(_), ..) | (None, None, None) => None,
            (None, Some(_), variable) => Some(ResolveError::SignedOut { provider: provider.to_owned(), variable }),
            (None, None, Some(variable)) => Some(self.missing_key(provider, &variable)),
        }
    }

    fn missing_key(&self, provider: &str, variable: &str) -> ResolveError {
        let (provider, variable, keys) = (provider.to_owned(), variable.to_owned(), &self.settings.keys);
        let (file, fault) = (keys.file().map(ToOwned::to_owned), keys.fault().map(ToOwned::to_owned));
        ResolveError::MissingKey { provider, variable, file, fault }
    }
}

/// `provider` without its key in what it answers.
fn blotted(provider: Arc<dyn Provider>, blot: Option<Blot>) -> Arc<dyn Provider> {
    match blot {
        Some(blot) => Arc::new(Blotted::new(provider, blot)),
        None => provider,
    }
}

/// A provider of the given form at `site`. No server speaks the form of extensions: no file can name it.
fn speak(form: WireForm, http: Arc<Http>, site: Site) -> Arc<dyn Provider> {
    match form {
        WireForm::Anthropic | WireForm::Extension => Arc::new(Anthropic::new(http, site)),
        WireForm::OpenAi | WireForm::Compatible => Arc::new(OpenAiChat::new(http, site)),
        WireForm::Responses => Arc::new(OpenAiResponses::new(http, site)),
        WireForm::Gemini => Arc::new(Gemini::new(http, site)),
    }
}

/// The address to use: `text`, or the vendor's.
fn base(text: Option<&str>, variable: &'static str, vendor: &'static str) -> Result<Url, ResolveError> {
    // The sentence leaves the text out, because an address can hold a password.
    let bad = |detail: String| ResolveError::BadBase { variable, detail, example: vendor };
    let url = Url::parse(text.unwrap_or(vendor)).map_err(|error| bad(error.to_string()))?;
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url),
        scheme => Err(bad(format!("`{scheme}` instead of http or https"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn providers(env: &[(&str, &str)]) -> Providers {
        let env = |name: &str| env.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        let keys = Keys::load(env, Some(std::path::Path::new("no-such-folder/credentials.toml"))).0;
        Providers::new(Settings::from_env(env, keys))
    }

    fn error(env: &[(&str, &str)], model: &str) -> String {
        match providers(env).provider(&model.parse().unwrap()) {
            Ok(provider) => format!("found {}", provider.endpoint()),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn errors_name_the_next_step() {
        let missing = error(&[], "anthropic/claude-sonnet-4-5");
        assert!(missing.contains("ANTHROPIC_API_KEY") && missing.contains("credentials.toml"), "{missing}");
        let unknown = error(&[], "mistral/large");
        assert!(
            unknown.contains("`mistral`") && unknown.contains("ollama") && unknown.ends_with("scripted"),
            "{unknown}"
        );
        assert_eq!(error(&[], "openia/gpt-4o"), "there is no provider `openia`; did you mean `openai`?");
        let bad = error(&[("OPENAI_BASE_URL", "localhost:8080")], "openai/x");
        assert!(bad.contains("OPENAI_BASE_URL") && bad.contains("http"), "{bad}");
        let secret = error(&[("OPENAI_BASE_URL", "http://u:hush hush@:x")], "openai/x");
        assert!(!secret.contains("hush"), "{secret}");
    }

    #[test]
    fn servers_other_than_the_vendor_need_no_key() {
        assert_eq!(
            error(&[("OPENAI_BASE_URL", "http://localhost:1/v1/")], "openai/x"),
            "found http://localhost:1/v1/chat/completions"
        );
        assert_eq!(
            error(&[("ANTHROPIC_BASE_URL", "http://localhost:1")], "anthropic/x"),
            "found http://localhost:1/v1/messages"
        );
        assert_eq!(
            error(&[("OPENAI_API_KEY", "k")], "openai/gpt-4o"),
            "found https://api.openai.com/v1/chat/completions"
        );
        assert_eq!(error(&[], "scripted/demo"), "found none");
        assert_eq!(
            error(&[("GOOGLE_API_KEY", "k")], "gemini/x"),
            "found https://generativelanguage.googleapis.com/v1beta/models"
        );
        assert_eq!(
            error(&[("OPENAI_BASE_URL", "http://localhost:1/v1")], "openai-responses/x"),
            "found http://localhost:1/v1/responses"
        );
    }

    #[test]
    fn local_servers_are_where_they_usually_are_or_where_a_variable_says() {
        assert_eq!(error(&[], "lmstudio/x"), "found http://127.0.0.1:1234/v1/chat/completions");
        assert_eq!(error(&[("OLLAMA_HOST", "0.0.0.0:9")], "ollama/x"), "found http://127.0.0.1:9/v1/chat/completions");
        let both = [("OLLAMA_HOST", "0.0.0.0:9"), ("OLLAMA_BASE_URL", "http://box:1/v1")];
        assert_eq!(error(&both, "ollama/x"), "found http://box:1/v1/chat/completions");
    }

    #[test]
    fn the_default_follows_what_is_at_hand() {
        let default = |env: &[(&str, &str)]| providers(env).default_model().to_string();
        assert_eq!(default(&[]), "scripted/demo");
        assert_eq!(default(&[("OPENAI_BASE_URL", "http://localhost:1")]), "openai/gpt-4o");
        assert_eq!(default(&[("OPENAI_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k")]), "anthropic/claude-sonnet-5-5");
        assert_eq!(default(&[("OPENAI_API_KEY", "k")]), "openai/gpt-6.2-sol");
        assert!(is_scripted(&ModelRef::new("scripted", "x.yaml")));
    }

    #[test]
    fn what_can_be_asked_comes_first() {
        let choices = providers(&[("OPENAI_API_KEY", "k")]).choices();
        assert!(choices.is_sorted_by_key(|choice| !choice.ready));
        assert_eq!(choices.first().map(|choice| choice.model.provider.as_str()), Some("openai"));
        assert!(choices.iter().any(|choice| choice.model.to_string() == "scripted/demo" && choice.ready));
    }
}
