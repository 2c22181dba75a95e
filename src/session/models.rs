//! Every model there is to choose, with what is known of it: the listed ones, those of tiers, and those that servers on
//! this machine have.

use super::model_registry::Models;
use crate::domain::{ModelRef, Space, Tokens};
use crate::engine::driver::ModelRegistry;
use crate::items::directive::ModelWish;
use crate::providers::ResolveError;
use serde::Serialize;

/// A model to choose. Serialised it is a line of `levain models --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    pub model: ModelRef,
    /// The tiers that mean it at its provider.
    pub tiers: Vec<String>,
    pub window: Option<Tokens>,
    /// US dollars for a million tokens of input.
    pub input: Option<f64>,
    /// US dollars for a million tokens of output.
    pub output: Option<f64>,
    pub ready: bool,
    /// Why it cannot be asked now.
    pub missing: Option<String>,
}

/// The provider that a directive wishes for, which it names by its own name or by its id as an item.
fn provider_of(wish: &ModelWish) -> Option<&str> {
    wish.provider.as_deref().map(|id| id.rsplit('/').next().unwrap_or(id))
}

impl Models {
    /// The model that a person means by a tier or a name: of the provider that the directive wishes for, where it names one
    /// and the person does not name a model of another.
    ///
    /// # Errors
    /// [`ResolveError`] when there is no such tier or model, or several have it.
    pub(super) fn tiered(&self, asked: &str, wish: Option<&ModelWish>) -> Result<ModelRef, ResolveError> {
        let Some(provider) = wish.and_then(provider_of) else { return self.providers().choose(asked, None) };
        let is_tier = || self.providers().tiers().iter().any(|(tier, _)| tier == asked);
        match self.providers().choose(asked, Some(provider)) {
            Err(ResolveError::UnknownModel { .. }) if !is_tier() => self.providers().choose(asked, None),
            chosen => chosen,
        }
    }

    /// The model a directive wishes for, or the sentence that says why it cannot be asked now. `usual` is the provider
    /// to take where several have the tier.
    ///
    /// # Errors
    /// [`ResolveError`] when there is no such provider, tier or model.
    pub(super) fn wished(
        &self,
        wish: &ModelWish,
        usual: Option<&str>,
    ) -> Result<Result<ModelRef, String>, ResolveError> {
        let provider = provider_of(wish);
        let choose = |asked: &str| match self.providers().choose(asked, provider) {
            Err(ResolveError::Ambiguous { tier, models }) => {
                self.providers().choose(asked, usual).map_err(|_none| ResolveError::Ambiguous { tier, models })
            }
            chosen => chosen,
        };
        let first = match (&wish.id, &wish.tier, provider) {
            (Some(id), _, Some(provider)) => match choose(id) {
                // No list of models is complete, and servers on this machine have none.
                Err(ResolveError::UnknownModel { .. }) => Ok(ModelRef::named(provider, id)),
                Err(_) if crate::providers::is_local(provider) => Ok(ModelRef::named(provider, id)),
                chosen => chosen,
            },
            (Some(id), ..) => choose(id),
            (None, tier, _) => choose(tier.as_deref().unwrap_or("general")),
        };
        let asked = |model: &ModelRef| self.providers().provider(model).map(drop).map_err(|error| error.to_string());
        let second =
            || wish.fallback.as_deref().and_then(|tier| choose(tier).ok()).filter(|model| asked(model).is_ok());
        match first {
            Ok(model) => Ok(match asked(&model) {
                Ok(()) => Ok(model),
                Err(missing) => second().ok_or(missing),
            }),
            Err(error) => second().map(Ok).ok_or(error),
        }
    }

    /// Why `model` cannot be asked now, as far as that is told without asking anybody.
    #[must_use]
    pub fn missing(&self, model: &ModelRef) -> Option<ResolveError> {
        self.providers().missing(model)
    }

    /// What a new thread uses when nobody chose: a model of a server on this machine rather than the demo. Takes 0.4 s at
    /// most.
    pub async fn default_found(&self) -> ModelRef {
        self.providers().default_model_found().await
    }

    /// Each model server that runs on this machine, with how many models it has.
    pub async fn servers(&self) -> Vec<(&'static str, usize)> {
        self.providers().probe().await.into_iter().map(|found| (found.provider, found.models.len())).collect()
    }

    /// Each provider that a file of somebody describes, with the word for its space.
    #[must_use]
    pub fn files(&self) -> Vec<(String, &'static str)> {
        let providers = self.providers();
        let people = providers.files().iter().filter_map(|file| match file.space {
            Space::Project => Some((file.tool_id.clone(), "project")),
            Space::User => Some((file.tool_id.clone(), "user")),
            Space::System => None,
        });
        people.collect()
    }

    /// Every model that is known without asking anybody: the listed ones, those of tiers, and those that files of the person's
    /// have a price for.
    fn listed(&self) -> Vec<ModelRef> {
        let providers = self.providers();
        let tiered = providers.tiers().into_iter().map(|(_, model)| model);
        let own = providers.files().iter().filter(|file| file.space == Space::User);
        let priced = own.flat_map(|file| file.models().map(|model| ModelRef::new(&file.tool_id, model)));
        self.catalog().choices().into_iter().chain(tiered).chain(priced).collect()
    }

    /// The tiers, and every model that is known without asking anybody, with what each of them is.
    #[must_use]
    pub fn named(&self) -> Vec<(String, String)> {
        let mut named: Vec<(String, String)> = Vec::new();
        let tiers = self.providers().tiers().into_iter().map(|(tier, _)| (tier, "tier".to_owned()));
        let demo = ModelRef::new("scripted", "demo");
        let models = self.listed().into_iter().chain([demo]).map(|model| (model.to_string(), String::new()));
        for one in tiers.chain(models) {
            if named.iter().all(|(name, _)| *name != one.0) {
                named.push(one);
            }
        }
        named
    }

    /// All rows, those that can be asked now first. Asks this machine's servers, which takes 0.4 s at most.
    pub async fn rows(&self) -> Vec<Row> {
        let found = self.providers().probe().await;
        let tiered = self.providers().tiers();
        let mut names = self.listed();
        names.extend(found.into_iter().flat_map(|found| found.models));
        let mut rows: Vec<Row> = Vec::new();
        for model in names {
            if rows.iter().all(|row| row.model != model) {
                rows.push(self.row(model, &tiered));
            }
        }
        rows.sort_by_key(|row| !row.ready);
        rows
    }

    fn row(&self, model: ModelRef, tiered: &[(String, ModelRef)]) -> Row {
        let free = crate::providers::is_local(&model.provider);
        let dollars = self.catalog().lookup(&model).and_then(|info| info.dollars()).or(free.then_some([0.0; 4]));
        let missing = self.providers().provider(&model).err().map(|error| error.to_string());
        Row {
            tiers: tiered.iter().filter(|(_, other)| *other == model).map(|(tier, _)| tier.clone()).collect(),
            window: self.window(&model),
            input: dollars.map(|[input, ..]| input),
            output: dollars.map(|[_, output, ..]| output),
            ready: missing.is_none(),
            missing,
            model,
        }
    }
}
