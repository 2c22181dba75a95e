//! Providers and prices behind the driver's port.

use crate::domain::{Bounds, ModelRef, Money, Problem, Tokens, Usage, WireForm};
use crate::engine::driver::ModelRegistry;
use crate::ports::{CallRequest, Provider};
use crate::providers::{Catalog, ExtensionStreams, Providers, is_local, is_scripted};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

/// Who answers for a model, and what is known of it. What one clone learns later, all know.
#[derive(Clone, Debug)]
pub struct Models {
    known: Arc<RwLock<Known>>,
    /// Where extensions answer; none outside of threads.
    streams: Option<Arc<dyn ExtensionStreams>>,
    bounds: Bounds,
}

#[derive(Clone, Debug)]
struct Known {
    providers: Providers,
    catalog: Arc<Catalog>,
    /// Providers that an extension described with a mistake while a thread ran.
    refused: BTreeMap<String, Problem>,
}

impl Models {
    #[must_use]
    pub fn new(providers: Providers, catalog: Catalog) -> Self {
        let known = Known { providers, catalog: Arc::new(catalog), refused: BTreeMap::new() };
        Self { known: Arc::new(RwLock::new(known)), streams: None, bounds: Bounds::default() }
    }

    /// The same with extensions that answer.
    #[must_use]
    pub(super) fn answered_by(self, streams: Arc<dyn ExtensionStreams>) -> Self {
        Self { streams: Some(streams), ..self }
    }

    /// Takes on the providers and prices of `later`. Connections stay.
    pub(super) fn learn(&self, later: &Self) {
        let Known { providers, catalog, .. } = later.known();
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.providers = providers.connected_like(&known.providers).refusing(&known.refused);
        known.catalog = catalog;
    }

    /// A provider of that name is not asked from here on, whoever describes it.
    pub(super) fn refuse(&self, provider: &str, problem: Problem) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.refused.insert(provider.to_owned(), problem);
        known.providers = known.providers.clone().refusing(&known.refused);
    }

    /// What an extension said of providers counts no longer, since its file was changed.
    pub(super) fn forget_refusals(&self, files: &[PathBuf]) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        known.refused.retain(|_, problem| problem.file.as_ref().is_none_or(|file| !files.contains(file)));
    }

    /// What [`Models::refuse`] said of it counts no longer, once these learn the providers again. Whether it said so.
    pub(super) fn forget_refusal(&self, provider: &str) -> bool {
        self.known.write().unwrap_or_else(PoisonError::into_inner).refused.remove(provider).is_some()
    }

    fn known(&self) -> Known {
        self.known.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Those that are known now.
    pub(crate) fn providers(&self) -> Providers {
        let providers = self.known().providers;
        match &self.streams {
            Some(streams) => providers.answered_by(Arc::clone(streams)),
            None => providers,
        }
    }

    /// What is known of models now.
    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        self.known().catalog
    }

    /// The same with bounds of a person's own.
    #[must_use]
    pub fn within(self, bounds: Bounds) -> Self {
        Self { bounds, ..self }
    }

    /// What a new thread uses when nobody chose.
    #[must_use]
    pub fn default_model(&self) -> ModelRef {
        self.providers().default_model()
    }
}

impl Models {
    /// The wire form in which `model` is asked.
    pub(crate) fn form(&self, model: &ModelRef) -> WireForm {
        self.providers().form(model)
    }

    /// `request` as it reaches the wire form of `model`.
    pub(crate) fn settled(&self, model: &ModelRef, request: CallRequest) -> CallRequest {
        self.providers().settled(model, request)
    }
}

impl ModelRegistry for Models {
    fn bounds(&self) -> Bounds {
        self.bounds
    }

    fn provider(&self, model: &ModelRef) -> Result<Arc<dyn Provider>, String> {
        self.providers().provider(model).map_err(|error| error.to_string())
    }

    fn wire_form(&self, model: &ModelRef) -> Option<WireForm> {
        Some(self.form(model))
    }

    fn window(&self, model: &ModelRef) -> Option<Tokens> {
        self.catalog().lookup(model)?.window()
    }

    fn takes_images(&self, model: &ModelRef) -> bool {
        is_scripted(model) || self.catalog().takes_images(model)
    }

    fn max_output(&self, model: &ModelRef) -> u64 {
        self.catalog().max_output(model).0
    }

    fn spend(&self, model: &ModelRef, usage: &Usage) -> Option<Money> {
        if is_scripted(model) || is_local(&model.provider) {
            return Some(Money::ZERO);
        }
        self.catalog().lookup(model)?.spend(usage)
    }

    fn quick(&self, model: &ModelRef) -> ModelRef {
        let quick = self.providers().choose("fast", Some(&model.provider)).ok();
        quick.filter(|quick| self.providers().provider(quick).is_ok()).unwrap_or_else(|| model.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::{Keys, Settings};

    #[test]
    fn work_on_the_side_stays_with_the_provider() {
        let env = |name: &str| (name == "ANTHROPIC_API_KEY").then(|| "k".to_owned());
        let keys = Keys::load(env, Some(std::path::Path::new("no-such-folder/credentials.toml"))).0;
        let models = Models::new(Providers::new(Settings::from_env(env, keys)), Catalog::embedded());
        let quick = |model: &str| models.quick(&model.parse().unwrap()).to_string();
        assert_eq!(quick("anthropic/claude-opus-5-5"), "anthropic/claude-haiku-5-5");
        assert_eq!(quick("ollama/llama3"), "ollama/llama3", "it has no tiers");
        assert_eq!(quick("openai/o3"), "openai/o3", "there is no key for another one either");
        assert_eq!(quick("scripted/demo"), "scripted/demo");
    }
}
