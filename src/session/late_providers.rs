//! Providers that extensions register, or take back, while a thread runs.

use super::extension_models::own;
use super::extension_providers::{When, changed, hidden, problem, register};
use super::extension_text::plain;
use super::extensions::{Extensions, name_of};
use super::model_registry::Models;
use super::setup::Setup;
use crate::config::Arguments;
use crate::domain::Problem;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Where they go.
pub(super) struct LateProviders {
    /// The cache of providers that extensions register.
    cache: PathBuf,
    root: PathBuf,
    /// What the command line of the process says.
    arguments: Arguments,
    extensions: Extensions,
    models: Models,
    /// An extension of the project was loaded beside the person's own, whether or not its file is still there.
    with_project: AtomicBool,
}

impl LateProviders {
    pub(super) fn new(setup: &Setup) -> Self {
        Self {
            cache: setup.dirs.extension_providers(),
            root: setup.project.root.clone(),
            arguments: setup.arguments.clone(),
            extensions: setup.extensions(),
            models: setup.models.clone(),
            with_project: AtomicBool::new(false),
        }
    }

    /// An extension of the project is about to be loaded beside the person's own.
    pub(super) fn shares_engine(&self) {
        self.with_project.store(true, Ordering::Release);
    }

    /// These extensions were loaded, perhaps again, and describe these providers: what was not known of them counts from here
    /// on. What people should know of that.
    pub(super) fn loaded(&self, paths: Vec<PathBuf>, described: &[Value]) -> Vec<String> {
        let mut told = Vec::new();
        let changed = changed(paths, &self.extensions, &self.cache);
        if !changed.is_empty() {
            self.models.forget_refusals(&changed);
            let problems = self.learn().unwrap_or_default().into_iter();
            let theirs = problems.filter(|one| one.file.as_ref().is_some_and(|file| changed.contains(file)));
            told.extend(theirs.map(|problem| plain(&problem.to_string())));
        }
        for (path, name, config) in hidden(&self.cache, described) {
            let said = self.take(path, (name, Some(config)), When::AtLoad);
            told.extend(said.map(|said| plain(&format!("{}: {said}", name_of(path)))));
        }
        told
    }

    /// Takes what the extension at `path` says of a provider, that it is taken back where nothing is said. What people should
    /// know of that.
    pub(super) fn take(&self, path: &Path, (name, config): (&str, Option<&Value>), when: When) -> Option<String> {
        let is_of_project = self.extensions.found().iter().any(|one| one.of_project && one.path == path);
        // A project sets no address and no key.
        if is_of_project && when == When::AtLoad {
            return None;
        }
        let is_shared = self.with_project.load(Ordering::Acquire);
        match register((&self.extensions, &self.cache), path, (name, config), (when, is_shared)) {
            Ok(is_new) => {
                let was_refused = self.models.forget_refusal(own(name));
                if !is_new && !was_refused {
                    return None;
                }
                let stands = if config.is_some() { "there" } else { "gone" };
                let since = if self.learn().is_some() { "here" } else { "the next start of levain" };
                Some(format!("the provider {name} is {stands} from {since} on"))
            }
            Err(why) => {
                // What is built in of that name would be asked in its place.
                if config.is_some() && !is_of_project {
                    self.models.refuse(own(name), problem(path, &why, "mend it in the extension"));
                }
                Some(format!("the provider {name} does not count: {why}"))
            }
        }
    }

    /// Reads settings and providers again, for every thread of this process. What is wrong with them; none where they could
    /// not be read, and stay as they were.
    fn learn(&self) -> Option<Vec<Problem>> {
        let later = Setup::gather(Some(&self.root), self.arguments.clone());
        let later = later.inspect_err(|error| tracing::warn!(%error, "providers of extensions are not known yet"));
        let later = later.ok()?;
        self.models.learn(&later.models);
        Some(later.problems)
    }
}
