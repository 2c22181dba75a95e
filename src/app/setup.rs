//! What every form of the program starts with: folders, project, settings, providers.

use super::briefing::BriefingError;
use super::outside::Models;
use crate::config::paths::{BadProject, RuntimeError};
use crate::config::{Arguments, Config, Dirs, Problem, Project, Source, Sourced};
use crate::domain::{ModelRef, ThreadId};
use crate::engine::driver::Planner;
use crate::items::{Items, Spaces};
use crate::ports::{Clock, SystemClock, ToolRunner};
use crate::providers::{Catalog, Keys, KeysError, Providers, ResolveError, Settings};
use crate::store::Layout;
use crate::tools::NoTools;
use crate::worker::host::Hosting;
use crate::worker::launch::Launcher;
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
    /// What is wrong with the settings; each cost only itself.
    pub problems: Vec<Problem>,
    pub models: Models,
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
    Keys(#[from] KeysError),
    #[error(transparent)]
    Model(#[from] ResolveError),
    #[error(transparent)]
    Briefing(#[from] BriefingError),
}

impl Setup {
    /// Reads settings and keys for the project that `named` or the working folder stands for.
    ///
    /// # Errors
    /// [`SetupError`], whose sentence names the next step.
    pub fn gather(named: Option<&Path>, arguments: Arguments) -> Result<Self, SetupError> {
        let environment = |name: &str| std::env::var_os(name);
        let dirs = Dirs::new(&environment);
        let project = Project::find(&std::env::current_dir()?, named, &dirs.home)?;
        let tier = arguments.tier.clone();
        let (mut config, problems) = Config::load(&dirs, Some(&project.root), &environment, arguments);
        let text = |name: &str| std::env::var(name).ok();
        let keys = Keys::load(text, Some(&dirs.credentials_file()))?;
        let providers = Providers::new(Settings::from_env(text, keys));
        if let Some(tier) = tier {
            config.model = Some(Sourced { value: providers.choose(&tier, None)?, source: Source::Argument("--model") });
        }
        let models = Models::new(providers, Catalog::embedded());
        let layout = Layout::new(&project.root);
        Ok(Self { dirs, project, layout, config, problems, models })
    }

    /// The model a new thread uses.
    #[must_use]
    pub fn model(&self) -> ModelRef {
        self.config.model.as_ref().map_or_else(|| self.models.default_model(), |model| model.value.clone())
    }

    /// Every item of this project's spaces, as they are now. `USER_SPACE` names the folder that holds the person's
    /// `.ai`, `LEVAIN_SYSTEM_SPACE` further ones.
    #[must_use]
    pub fn items(&self) -> Items {
        Items::list(&self.spaces())
    }

    /// Those spaces.
    #[must_use]
    pub fn spaces(&self) -> Spaces {
        let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let user = folder("USER_SPACE").map_or_else(|| self.dirs.home.clone(), PathBuf::from);
        let user = std::fs::canonicalize(&user).unwrap_or(user);
        let bundles = folder("LEVAIN_SYSTEM_SPACE").unwrap_or_default();
        let bundles = std::env::split_paths(&bundles).filter(|path| !path.as_os_str().is_empty());
        Spaces::new(&self.project.root, &user, bundles)
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
        Ok(Launcher {
            program: program()?,
            runtime: self.dirs.runtime()?.to_owned(),
            layout: self.layout.clone(),
            arguments: Vec::new(),
        })
    }

    /// What a host needs to run `thread_id` in this process, with `planner` for what surrounds its conversation.
    ///
    /// # Errors
    /// [`SetupError::Runtime`].
    pub fn hosting(&self, thread_id: ThreadId, planner: Arc<dyn Planner>) -> Result<Hosting, SetupError> {
        Ok(Hosting {
            layout: self.layout.clone(),
            thread_id,
            runtime: self.dirs.runtime()?.to_owned(),
            outside: Box::new(self.models.clone()),
            tools: self.tools(),
            clock: Arc::new(SystemClock),
            planner,
            idle: Duration::from_secs(self.config.idle_seconds.value),
            orphaned: Duration::from_secs(self.config.orphan_seconds.value),
        })
    }

    /// Who runs the tools that threads call, and says which there are.
    #[must_use]
    pub fn tools(&self) -> Arc<dyn ToolRunner> {
        Arc::new(NoTools)
    }

    /// Now, for new threads.
    #[must_use]
    pub fn now(&self) -> crate::domain::Timestamp {
        SystemClock.now()
    }
}

/// This program's own file.
fn program() -> std::io::Result<PathBuf> {
    std::env::current_exe()
}
