//! From what people call a model (a tier, a name, `provider/model`) to one provider's model.

use super::known;
use super::resolver::{Providers, ResolveError};
use super::yaml::ProviderFile;
use crate::domain::ModelRef;

impl Providers {
    /// The model that `asked` stands for. In order: `provider/model` as it is, a tier, the id of a tier's model, the
    /// beginning of one, an id with a price. With `preferred`, only that provider's.
    ///
    /// # Errors
    /// [`ResolveError`], which lists what there is. Where several providers whose keys are here have the tier, one has
    /// to be named.
    pub fn choose(&self, asked: &str, preferred: Option<&str>) -> Result<ModelRef, ResolveError> {
        let asked = asked.trim();
        if let Ok(model) = asked.parse::<ModelRef>()
            && (known::known(&model.provider).is_some()
                || super::is_scripted(&model)
                || self.files().iter().any(|file| file.tool_id == model.provider))
        {
            return Ok(model);
        }
        let mut files: Vec<&ProviderFile> = Vec::new();
        for file in self.files() {
            // Of two files with one name the nearer counts.
            if files.iter().all(|nearer| nearer.tool_id != file.tool_id) {
                files.push(file);
            }
        }
        if let Some(name) = preferred {
            files.retain(|file| file.tool_id == name);
            if files.is_empty() {
                return Err(self.unknown(name));
            }
        }
        if let Some(model) = self.by_tier(asked, &files)? {
            return Ok(model);
        }
        let mapped = || files.iter().flat_map(|file| file.tiers.iter().map(|(_, model)| (*file, model.as_str())));
        let exact = mapped().find(|(_, model)| *model == asked);
        let near = || mapped().find(|(_, model)| model.starts_with(asked) || asked.starts_with(model));
        let priced = || {
            let has = |file: &&ProviderFile| file.part(asked).prices.iter().any(|price| price.model == asked);
            files.iter().copied().find(has).map(|file| (file, asked))
        };
        let found = exact.or_else(|| if asked.is_empty() { None } else { near() }).or_else(priced);
        found.map(|(file, model)| ModelRef::new(&file.tool_id, model)).ok_or_else(|| {
            let mut tiers: Vec<String> = Vec::new();
            for (tier, _) in files.iter().flat_map(|file| &file.tiers) {
                if !tiers.contains(tier) {
                    tiers.push(tier.clone());
                }
            }
            ResolveError::UnknownModel { asked: asked.to_owned(), tiers }
        })
    }

    /// Each tier with the model it means, provider by provider.
    #[must_use]
    pub fn tiers(&self) -> Vec<(String, ModelRef)> {
        let mut all: Vec<(String, ModelRef)> = Vec::new();
        for file in self.files() {
            for (tier, model) in &file.tiers {
                // Of two files with one name the nearer counts.
                if !all.iter().any(|(known, model)| known == tier && model.provider == file.tool_id) {
                    all.push((tier.clone(), ModelRef::new(&file.tool_id, model)));
                }
            }
        }
        all
    }

    fn by_tier(&self, tier: &str, files: &[&ProviderFile]) -> Result<Option<ModelRef>, ResolveError> {
        let offered: Vec<ModelRef> =
            files.iter().filter_map(|file| Some(ModelRef::new(&file.tool_id, file.tier(tier)?))).collect();
        let ready: Vec<&ModelRef> = offered.iter().filter(|model| self.provider(model).is_ok()).collect();
        match ready.as_slice() {
            // The first that is offered says what it misses when it is asked.
            [] => Ok(offered.into_iter().next()),
            [model] => Ok(Some((*model).clone())),
            several => Err(ResolveError::Ambiguous {
                tier: tier.to_owned(),
                models: several.iter().map(ToString::to_string).collect(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::providers::{Keys, Providers, Settings};

    /// What `asked` stands for when the keys of these variables are here.
    fn choose(keys: &[&str], asked: &str, preferred: Option<&str>) -> String {
        let env = |name: &str| keys.contains(&name).then(|| "k".to_owned());
        let providers = Providers::new(Settings::from_env(env, Keys::from_env(env)));
        providers.choose(asked, preferred).map_or_else(|error| error.to_string(), |model| model.to_string())
    }

    #[test]
    fn tiers_names_and_beginnings() {
        const OPENAI: &[&str] = &["OPENAI_API_KEY"];
        for (asked, preferred, expected) in [
            ("openai/anything", None, "openai/anything"),
            ("fast", None, "openai/gpt-5-mini"),
            ("reasoning", None, "openai/o3"),
            ("fast", Some("gemini"), "gemini/gemini-2.5-flash-lite"),
            ("claude-opus-4-6", None, "anthropic/claude-opus-4-6"),
            ("claude-haiku", None, "anthropic/claude-haiku-4-5"),
            ("claude-haiku-4-5-20251001", None, "anthropic/claude-haiku-4-5"),
        ] {
            assert_eq!(choose(OPENAI, asked, preferred), expected, "{asked}");
        }
        assert_eq!(choose(&[], "max", None), "anthropic/claude-opus-4-6");
    }

    #[test]
    fn errors_list_what_there_is() {
        let several = choose(&["OPENAI_API_KEY", "GEMINI_API_KEY"], "fast", None);
        assert!(several.contains("openai/gpt-5-mini") && several.contains("gemini/gemini-2.5-flash-lite"), "{several}");
        let unknown = choose(&[], "zzz", None);
        assert!(unknown.contains("`zzz`") && unknown.contains("fast, general, high, max"), "{unknown}");
        assert!(choose(&[], "fast", Some("mistral")).contains("`mistral`"));
    }
}
