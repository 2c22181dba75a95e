//! What every form of the program starts with: folders, project, settings, providers.

use super::directive_planner::PlannerError;
use super::extension_providers;
use super::extensions::Extensions;
use super::logins::LoginStore;
use super::model_registry::Models;
use super::orchestrator::{Orchestrator, WAIT};
use super::secrets::{self, Handover};
use crate::config::paths::{BadProject, RuntimeError};
use crate::config::{Arguments, Config, Dirs, Problem, Project, Source, Sourced, Trust};
use crate::context::{Meaning, Preload};
use crate::domain::{Limits, ModelRef, Money, Permissions, Risks, Severity, Slots, Space, ThreadId, Tokens};
use crate::engine::driver::Planner;
use crate::items::capability::{self, ProjectFiles};
use crate::items::directive::ModelWish;
use crate::items::pi_settings::PiSettings;
use crate::items::signature::TrustStore;
use crate::items::{Capabilities, Cascade, Directive, Item, Items, Kind, Place, Spaces};
use crate::ports::{Clock, Forgetful, NoHandlers, SystemClock};
use crate::providers::{
    Catalog, Keys, Preference, ProviderFile, Providers, Proxies, ResolveError, Settings, is_scripted,
};
use crate::store::Layout;
use crate::tools::request::Hosts;
use crate::tools::{Environment, NoTools};
use crate::worker::host::Hosting;
use crate::worker::launch::{Launcher, Started};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The gathered settings.
#[derive(Debug)]
pub struct Setup {
    pub dirs: Dirs,
    pub project: Project,
    pub layout: Layout,
    pub config: Config,
    pub spaces: Spaces,
    /// The settings of agents.
    pub cascade: Cascade,
    /// How dangerous capabilities are, as they say it.
    pub risks: Risks,
    /// Whose signatures are believed.
    pub believed: TrustStore,
    /// What is wrong with the settings and the providers' files; each cost only itself.
    pub problems: Vec<Problem>,
    pub models: Models,
    /// What the person signed in to.
    pub logins: LoginStore,
    /// Variables that hold providers' keys, those that the person's own provider files name included.
    pub key_variables: Vec<String>,
    /// What the command line said.
    pub(crate) arguments: Arguments,
}

/// The model of a new thread.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    pub model: ModelRef,
    /// Nobody chose it, and it is no model at all: a server on this machine would be better.
    pub look: bool,
    /// Why it is not what the directive wishes for.
    pub notice: Option<String>,
}

/// Why the program cannot start.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error("could not find the working folder: {0}")]
    WorkingFolder(#[from] std::io::Error),
    #[error(transparent)]
    Project(#[from] BadProject),
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    #[error(transparent)]
    Model(#[from] ResolveError),
    #[error(transparent)]
    DirectivePlanner(#[from] PlannerError),
}

impl Setup {
    /// Reads settings and keys for the project that `named` or the working folder stands for.
    ///
    /// # Errors
    /// [`SetupError`], whose sentence names the next step.
    pub fn gather(named: Option<&Path>, arguments: Arguments) -> Result<Self, SetupError> {
        let environment = |name: &str| secrets::var_os(name);
        let dirs = Dirs::new(&environment);
        let project = Project::find(&std::env::current_dir()?, named, &dirs.home)?;
        let (tier, told) = (arguments.tier.clone(), arguments.clone());
        let (mut config, mut problems) = Config::load(&dirs, Some(&project.root), &environment, arguments);
        let bundles = config.bundles.iter().flat_map(|bundles| bundles.value.clone());
        let user = user_root(&dirs);
        let spaces = Spaces::new(&project.root, &fs::canonicalize(&user).unwrap_or(user), bundles);
        let believed = believed(&dirs, &project.root, &mut problems);
        let (cascade, mut mistakes) = Cascade::read(&spaces, &believed);
        problems.append(&mut mistakes);
        problems.append(&mut cascade.rules().1);
        let (risks, mut mistakes) = cascade.risks();
        problems.append(&mut mistakes);
        let tools = Items::list_kinds(&spaces, &[Kind::Tool]).judged(believed.clone(), config.signatures.value);
        let of_pi = PiSettings::both(&project.root, &user_root(&dirs));
        problems.extend([of_pi.0.problems, of_pi.1.problems].concat());
        let (mut files, refused, mut mistakes) =
            provider_files(&tools, &spaces, || Trust::of(&dirs, &project.root).allows());
        problems.append(&mut mistakes);
        // Behind the files that the person wrote for it.
        let extensions = extensions(&dirs, &project, &told);
        let mut described = extension_providers::files(&extensions, &dirs.extension_providers());
        files.append(&mut described.files);
        problems.append(&mut described.problems);
        let text = secrets::var;
        let (keys, faults) = Keys::load(text, Some(&dirs.credentials_file()));
        problems.extend(faults.into_iter().map(Problem::from));
        let mut settings = Settings::from_env(text, keys);
        settings.lay_over(files, text);
        for (provider, key) in described.keys {
            settings.keys.give(provider, key);
        }
        problems.append(&mut settings.strange_keys());
        settings.refused = described.refused.into_iter().chain(refused).collect();
        let logins = LoginStore::new(dirs.logins(), extensions, Hosts::new(&config.extension_hosts.value));
        settings.logins = Some(Arc::new(logins.clone()));
        let key_variables = settings.key_variables();
        secrets::withdraw(&key_variables);
        // The HTTP client finds those of the environment by itself.
        if Proxies::variables().any(secrets::is_withheld) {
            settings.proxies = Proxies::from_env(text);
        }
        settings.preference = Preference {
            provider: cascade.text("agent.provider.default").map(ToOwned::to_owned),
            tiers: cascade.texts("agent.tier_mapping"),
        };
        let providers = Providers::new(settings);
        if let Some(tier) = tier {
            match providers.choose(&tier, None) {
                Ok(value) => config.model = Some(Sourced { value, source: Source::Argument("--model") }),
                // The directive may name the provider; where it does not, whoever asks for the model is told.
                Err(ResolveError::Ambiguous { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let mut catalog = Catalog::embedded().with_files(providers.files());
        if let Some(tokens) = cascade.get("agent.max_output_tokens").and_then(|node| node.value().as_u64()) {
            catalog = catalog.with_usual_max_output(tokens.max(1));
        }
        let models = Models::new(providers, catalog).within(config.bounds);
        let layout = Layout::new(&project.root, &dirs.state);
        Ok(Self {
            dirs,
            project,
            layout,
            config,
            spaces,
            cascade,
            risks,
            believed,
            problems,
            models,
            logins,
            key_variables,
            arguments: told,
        })
    }

    /// The extensions of the project and the person's own.
    #[must_use]
    pub fn extensions(&self) -> Extensions {
        let places = (self.dirs.clone(), self.project.root.clone(), self.prompt_home());
        Extensions::new(places, self.environment(), &self.arguments).with_folders(&self.config.extension_folders.value)
    }

    /// The model a new thread uses when its directive wishes for none.
    #[must_use]
    pub fn model(&self) -> ModelRef {
        self.config.model.as_ref().map_or_else(|| self.models.default_model(), |model| model.value.clone())
    }

    /// The model of a new thread that runs `directive`: what the command line or the environment names, else what the
    /// directive wishes for, else what the settings name, else the default.
    ///
    /// # Errors
    /// [`ResolveError`] when the directive wishes for something that does not exist.
    pub fn choose(&self, items: &Items, directive: &str) -> Result<Chosen, ResolveError> {
        if let Some(tier) = &self.arguments.tier {
            let model = self.models.tiered(tier, wish(items, directive).as_ref())?;
            return Ok(Chosen { model, look: false, notice: None });
        }
        let set = self.config.model.as_ref();
        let now = set.filter(|model| matches!(model.source, Source::Argument(_) | Source::Environment(_)));
        if let Some(model) = now {
            return Ok(Chosen { model: model.value.clone(), look: false, notice: None });
        }
        let model = self.model();
        let Some(wish) = wish(items, directive) else {
            let look = set.is_none() && is_scripted(&model) && self.config.local_servers.value;
            return Ok(Chosen { model, look, notice: None });
        };
        let usual = set.map(|model| model.value.provider.as_str());
        match self.models.wished(&wish, usual)? {
            Ok(model) => Ok(Chosen { model, look: false, notice: None }),
            Err(missing) => {
                let look = set.is_none() && is_scripted(&model) && self.config.local_servers.value;
                let notice = format!("the model that `{directive}` names is not available ({missing}); using {model}");
                Ok(Chosen { model, look, notice: Some(notice) })
            }
        }
    }

    /// The model that is meant by the name of a model or tier, in a thread that runs `directive`.
    ///
    /// # Errors
    /// [`ResolveError`] when there is none.
    pub(super) fn model_named(&self, items: &Items, directive: &str, asked: &str) -> Result<ModelRef, ResolveError> {
        self.models.tiered(asked, wish(items, directive).as_ref())
    }

    /// The model that `directive` wishes for, if it wishes for one that can be asked.
    ///
    /// # Errors
    /// [`ResolveError`] when it wishes for something that does not exist.
    pub(super) fn model_wished(&self, items: &Items, directive: &str) -> Result<Option<ModelRef>, ResolveError> {
        let Some(wish) = wish(items, directive) else { return Ok(None) };
        let usual = self.config.model.as_ref().map(|model| model.value.provider.as_str());
        Ok(self.models.wished(&wish, usual)?.ok())
    }

    /// As [`Setup::choose`], and instead of the demo a model of a server on this machine, if one answers.
    ///
    /// # Errors
    /// As [`Setup::choose`].
    pub async fn choose_found(&self, items: &Items, directive: &str) -> Result<Chosen, ResolveError> {
        let chosen = self.choose(items, directive)?;
        Ok(if chosen.look { Chosen { model: self.models.default_found().await, ..chosen } } else { chosen })
    }

    /// The limits of a thread that nobody watches, where neither directive nor command line says more.
    #[must_use]
    pub fn one_shot_limits(&self) -> Limits {
        let limits = |get: &dyn Fn(&str) -> Option<serde_json::Value>| {
            let whole = |name: &str| get(name)?.as_u64();
            let small = |name: &str| whole(name).and_then(|count| u32::try_from(count).ok());
            Limits::ONE_SHOT.overridden(Limits {
                turns: small("turns"),
                tokens: whole("tokens").map(Tokens),
                spend: get("spend").and_then(|dollars| dollars.as_f64()).map(Money::from_dollars),
                duration_seconds: whole("duration_seconds"),
                spawns: small("spawns"),
                depth: small("depth"),
            })
        };
        let key = |name: &str| format!("resilience.limits.one_shot.{name}");
        let all = limits(&|name| Some(self.cascade.get(&key(name))?.value()));
        let of_project = |name: &str| self.cascade.get(&key(name)).is_some_and(|node| self.cascade.is_of_project(node));
        let names = ["turns", "tokens", "spend", "duration_seconds", "spawns", "depth"];
        if !names.into_iter().any(of_project) || self.is_trusted() {
            return all;
        }
        // Limits are the person's money: a project that they have not trusted lowers them only.
        all.lowest(limits(&|name| Some(self.cascade.get_own(&key(name))?.value())))
    }

    /// Whether what the project brings along may do anything here. Reads every file that can run.
    fn is_trusted(&self) -> bool {
        Trust::of(&self.dirs, &self.project.root).allows()
    }

    /// How many children of one thread may run side by side, and how many threads of the project; no more of the latter than
    /// of background threads together, since a child that is waited for takes its parent's place.
    #[must_use]
    pub fn slots(&self) -> Slots {
        let small = |path: &str| {
            let node = self.cascade.get(path)?;
            node.value().as_u64().and_then(|count| u32::try_from(count).ok())
        };
        Slots {
            children: small("coordination.children.max_concurrent").or(Slots::USUAL.children),
            threads: small("coordination.children.max_threads").or(Slots::USUAL.threads),
        }
    }

    /// How many tools a model is told of.
    #[must_use]
    pub fn preload(&self) -> Preload {
        preload(&self.cascade)
    }

    /// The person's keymap, which need not be there.
    #[must_use]
    pub fn keymap_file(&self) -> PathBuf {
        self.config.keymap.as_ref().map_or_else(|| self.dirs.keymap_file(), |path| path.value.clone())
    }

    /// The person's own `.ai`: below `$USER_SPACE`, else below the home folder.
    #[must_use]
    pub fn user_space(&self) -> PathBuf {
        user_root(&self.dirs).join(".ai")
    }

    /// Every item of this project's spaces, as they are now.
    #[must_use]
    pub fn items(&self) -> Items {
        Items::list(&self.spaces).judged(self.believed.clone(), self.config.signatures.value)
    }

    /// How far the person trusts this project. Whoever is about to run a command hook, a context command, a tool or an
    /// extension of the project asks this first. Reads every file that could run, so ask off the loop.
    #[must_use]
    pub fn trust(&self) -> Trust {
        Trust::of(&self.dirs, &self.project.root)
    }

    /// What the grants of directives mean: what `items` say of capabilities, those of the project where the person trusts
    /// it, and how dangerous they are.
    #[must_use]
    pub fn meaning(&self, items: &Items) -> Meaning {
        let counts = !capability::in_project(items) || self.trust().allows();
        let project = if counts { ProjectFiles::Counted } else { ProjectFiles::Ignored };
        Meaning { capabilities: Capabilities::read(items, project), risks: self.risks.clone() }
    }

    /// The directive a new thread runs, by id.
    #[must_use]
    pub fn directive(&self) -> &str {
        &self.config.directive.value
    }

    /// Starts and finds workers of this project.
    ///
    /// # Errors
    /// [`SetupError::Runtime`], and when this program does not know where it lies.
    pub fn launcher(&self) -> Result<Launcher, SetupError> {
        let Handover { environment, line: secrets } = secrets::hand_over(&self.key_variables);
        Ok(Launcher {
            program: program()?,
            runtime: self.dirs.runtime()?.to_owned(),
            layout: self.layout.clone(),
            arguments: self.worker_arguments(),
            environment,
            secrets,
            started: Started::default(),
        })
    }

    /// What another process of this program is told of extensions, as its command line.
    #[must_use]
    pub fn worker_arguments(&self) -> Vec<String> {
        let files = self.arguments.extensions.iter().map(|file| format!("--extension={}", file.display()));
        files.chain(self.arguments.flags.iter().map(|flag| format!("--flag={flag}"))).collect()
    }

    /// What is done with threads from outside of them.
    ///
    /// # Errors
    /// As [`Setup::launcher`].
    pub fn orchestrator(&self) -> Result<Orchestrator, SetupError> {
        let node = self.cascade.get("coordination.wait.timeout_seconds");
        let wait = node.and_then(|node| node.value().as_u64()).map_or(WAIT, Duration::from_secs);
        Ok(Orchestrator::new(self.launcher()?, wait))
    }

    /// What a host needs to run `thread_id` in this process, with `planner` for what surrounds its conversation. It
    /// has no tools and may do nothing until [`Setup::equip`] says otherwise.
    ///
    /// # Errors
    /// [`SetupError::Runtime`].
    pub fn hosting(&self, thread_id: ThreadId, planner: Arc<dyn Planner>) -> Result<Hosting, SetupError> {
        Ok(Hosting {
            layout: self.layout.clone(),
            thread_id,
            runtime: self.dirs.runtime()?.to_owned(),
            models: Box::new(self.models.clone()),
            tools: Arc::new(NoTools),
            limits: Limits::default(),
            permissions: Permissions::default(),
            approvals: Box::new(Forgetful),
            rules: Some(self.cascade.rules().0),
            clock: Arc::new(SystemClock),
            planner,
            risk: None,
            budgets: None,
            handlers: Arc::new(NoHandlers),
            idle: Duration::from_secs(self.config.idle_seconds.value),
            orphaned: Duration::from_secs(self.config.orphan_seconds.value),
            unanswered: Duration::from_secs(self.config.unanswered_seconds.value),
            secret: None,
        })
    }

    /// Now, for new threads.
    #[must_use]
    pub fn now(&self) -> crate::domain::Timestamp {
        SystemClock.now()
    }
}

/// How many tools a model is told of, as the settings of agents say it.
pub(super) fn preload(cascade: &Cascade) -> Preload {
    let node = |name: &str| cascade.get(&format!("resilience.tool_preload.{name}"));
    let off = node("enabled").filter(|node| node.value() == serde_json::Value::Bool(false));
    let budget = node("max_tokens").and_then(|node| node.value().as_u64()).map(Tokens);
    Preload {
        off: off.map(|node| {
            let place = cascade.origin(node).map(|origin| origin.to_string()).unwrap_or_default();
            format!("resilience.tool_preload.enabled in {place}")
        }),
        budget: budget.unwrap_or(Preload::default().budget),
    }
}

/// The folder that holds the person's own `.ai`.
fn user_root(dirs: &Dirs) -> PathBuf {
    let named = secrets::var_os("USER_SPACE").map(PathBuf::from).filter(|path| path.is_absolute());
    named.unwrap_or_else(|| dirs.home.clone())
}

/// The keys that are believed: the person's, and those of a project that the person trusts.
fn believed(dirs: &Dirs, project: &Path, problems: &mut Vec<Problem>) -> TrustStore {
    let mut spaces = vec![user_root(dirs).join(".ai")];
    let own = project.join(".ai");
    if own.join("config/keys/trusted").is_dir() && Trust::of(dirs, project).allows() {
        spaces.push(own);
    }
    let (store, errors) = TrustStore::read(&spaces);
    problems.extend(errors.into_iter().map(|error| Problem {
        file: None,
        line: None,
        severity: Severity::Warning,
        message: format!("a key is not trusted: {error}"),
        remedy: "remove the file, or trust the key again".to_owned(),
    }));
    store
}

/// The provider files among tools, nearest space first: YAML in or below a folder `providers`. Then the providers that are
/// not to be asked while their files have a mistake, and all mistakes. A bundle's file refuses nothing: what is in the
/// program stands before it.
fn provider_files(
    tools: &Items,
    spaces: &Spaces,
    trusted: impl Fn() -> bool,
) -> (Vec<ProviderFile>, BTreeMap<String, Problem>, Vec<Problem>) {
    let (mut files, mut refused, mut problems) = (Vec::new(), BTreeMap::new(), Vec::new());
    let all = tools.iter().flat_map(|found| std::iter::once(found.item).chain(found.shadows));
    let is_provider = |item: &&Item| {
        let ending = Path::new(&item.path).extension().and_then(|ending| ending.to_str());
        let folders = item.id.as_str().rsplit_once('/').map_or("", |(folders, _)| folders);
        matches!(ending, Some("yaml" | "yml")) && folders.split('/').any(|folder| folder == "providers")
    };
    for item in all.filter(is_provider) {
        let root = tools.root(item).filter(|root| root.place != Place::Embedded);
        let Some(rank) = root.and_then(|root| spaces.roots().iter().position(|other| other == root)) else { continue };
        let (file, mut mistakes) = match tools.read(item) {
            Ok(text) => ProviderFile::parse(&text, tools.space(item), &tools.file(item)),
            Err(problem) => (None, vec![problem]),
        };
        let mistake = mistakes.iter().find(|problem| problem.severity >= Severity::Error);
        if let Some(mistake) = mistake.filter(|_| tools.space(item) != Space::System) {
            let id = item.id.as_str();
            let named = file.as_ref().map_or_else(|| id.rsplit('/').next().unwrap_or(id), |file| &file.tool_id);
            refused.entry(named.to_owned()).or_insert_with(|| mistake.clone());
        }
        problems.append(&mut mistakes);
        let mut file = file;
        // With a price too low no limit of money holds. Longest answers go with the prices.
        if let Some(file) = file.as_mut().filter(|file| file.space == Space::Project)
            && file.clone().forget_prices()
            && !trusted()
        {
            file.forget_prices();
            let message = "the prices of a project that you have not trusted do not count";
            let remedy = "run `levain trust` once you have looked through the project";
            problems.push(Problem::at(&tools.file(item), None, Severity::Warning, message, remedy));
        }
        files.extend(file.map(|file| (rank, file)));
    }
    files.sort_by_key(|(rank, _)| *rank);
    (files.into_iter().map(|(_, file)| file).collect(), refused, problems)
}

/// What finds and starts extensions, with no variable of a person's own but those that tools get.
fn extensions(dirs: &Dirs, project: &Project, arguments: &Arguments) -> Extensions {
    let environment = Environment::allowed(secrets::all(), &[], &[]);
    Extensions::new((dirs.clone(), project.root.clone(), user_root(dirs)), environment, arguments)
}

/// The model that a directive wishes for.
fn wish(items: &Items, directive: &str) -> Option<ModelWish> {
    let item = items.get(Kind::Directive, directive)?.item;
    let text = items.read(item).ok()?;
    Directive::parse(&text, &items.file(item)).0.model
}

/// This program's own file.
pub fn program() -> std::io::Result<PathBuf> {
    std::env::current_exe()
}
