//! From what people call a model (a tier, a name, `provider/model`) to one provider's model.

use super::catalog::Catalog;
use super::known;
use super::resolver::{Providers, ResolveError};
use super::yaml::ProviderFile;
use crate::domain::{ModelRef, ThinkingLevel, nearest};

/// What goes first where several models would do, from the settings of agents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preference {
    /// The provider that is asked first.
    pub provider: Option<String>,
    /// Tiers with a meaning of their own: `provider/model`, or the name of a model.
    pub tiers: Vec<(String, String)>,
}

impl Providers {
    /// The model that `asked` stands for. In order: `provider/model` as it is, a tier of the [`Preference`], a tier of a
    /// provider, the id of a tier's model, the beginning of one, an id with a price. With `only`, that provider's. Behind each may
    /// stand how much it thinks (`general:high`).
    ///
    /// # Errors
    /// [`ResolveError`], which lists what there is. Where several providers whose keys are here have the tier and none
    /// is preferred, one has to be named.
    pub fn choose(&self, asked: &str, only: Option<&str>) -> Result<ModelRef, ResolveError> {
        let tier = |name: &str| self.preference().tiers.iter().find(|(tier, _)| only.is_none() && tier == name);
        // What is known as a whole has no level behind it.
        let split = |name| if self.direct(name).is_some() { (name, None) } else { ThinkingLevel::split(name) };
        let asked = asked.trim();
        let (asked, thinking) = if tier(asked).is_some() { (asked, None) } else { split(asked) };
        let (asked, own) = tier(asked).map_or((asked, None), |(_, model)| split(model.trim()));
        let model = match self.direct(asked) {
            Some(model) => model,
            None => self.chosen(asked, only)?,
        };
        let thinking = thinking.or(own).or(model.thinking);
        Ok(model.with_thinking(thinking))
    }

    /// The model that is called so with its provider, where there is that.
    fn direct(&self, asked: &str) -> Option<ModelRef> {
        let is_known = |model: &ModelRef| {
            known::known(&model.provider).is_some()
                || super::is_scripted(model)
                || self.files().iter().any(|file| file.tool_id == model.provider)
        };
        asked.parse().ok().filter(is_known)
    }

    fn chosen(&self, asked: &str, only: Option<&str>) -> Result<ModelRef, ResolveError> {
        let preference = self.preference();
        let mut files: Vec<&ProviderFile> = Vec::new();
        for file in self.files() {
            // Of two files with one name the nearer counts.
            if files.iter().all(|nearer| nearer.tool_id != file.tool_id) {
                files.push(file);
            }
        }
        if let Some(name) = only {
            files.retain(|file| file.tool_id == name);
            if files.is_empty() {
                return Err(self.unknown(name));
            }
        }
        files.sort_by_key(|file| preference.provider.as_ref() != Some(&file.tool_id));
        if let Some(model) = self.by_tier(asked, &files)? {
            return Ok(model);
        }
        let mapped = || files.iter().flat_map(|file| file.tiers.iter().map(|(_, model)| (*file, model.as_str())));
        let exact = mapped().find(|(_, model)| *model == asked);
        if exact.is_none()
            && let Some(listed) = listed(asked, &files)
        {
            return Ok(listed);
        }
        let near = || mapped().find(|(_, model)| model.starts_with(asked) || asked.starts_with(model));
        let priced = || {
            let has = |file: &&ProviderFile| file.part(asked).prices.iter().any(|price| price.model == asked);
            files.iter().copied().find(has).map(|file| (file, asked))
        };
        let found = exact.or_else(|| if asked.is_empty() { None } else { near() }).or_else(priced);
        found.map(|(file, model)| ModelRef::named(&file.tool_id, model)).ok_or_else(|| {
            let mut tiers: Vec<String> = Vec::new();
            for (tier, _) in files.iter().flat_map(|file| &file.tiers) {
                if !tiers.contains(tier) {
                    tiers.push(tier.clone());
                }
            }
            let mut known = tiers.clone();
            known.extend(mapped().map(|(_, model)| model.to_owned()));
            known.extend(Catalog::embedded().choices().into_iter().map(|listed| listed.model));
            known.extend(files.iter().flat_map(|file| file.part("").prices.iter().map(|price| price.model.clone())));
            let near = nearest(asked, known.iter().map(String::as_str)).map(ToOwned::to_owned);
            ResolveError::UnknownModel { asked: asked.to_owned(), tiers, near }
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
                    all.push((tier.clone(), ModelRef::named(&file.tool_id, model)));
                }
            }
        }
        all
    }

    fn by_tier(&self, tier: &str, files: &[&ProviderFile]) -> Result<Option<ModelRef>, ResolveError> {
        let offered: Vec<ModelRef> =
            files.iter().filter_map(|file| Some(ModelRef::named(&file.tool_id, file.tier(tier)?))).collect();
        if let Some(first) =
            offered.first().filter(|model| self.preference().provider.as_ref() == Some(&model.provider))
        {
            return Ok(Some(first.clone()));
        }
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

/// The model of exactly that name in the program's list: `claude-opus-5` is not `claude-opus-5-5`.
fn listed(asked: &str, files: &[&ProviderFile]) -> Option<ModelRef> {
    let mut listed = Catalog::embedded().choices().into_iter();
    listed.find(|known| known.model == asked && files.iter().any(|file| file.tool_id == known.provider))
}

#[cfg(test)]
mod tests {
    use crate::providers::{Keys, Preference, Providers, Settings};

    /// What `asked` stands for when the keys of these variables are here.
    fn choose(keys: &[&str], asked: &str, only: Option<&str>) -> String {
        prefer(keys, asked, only, Preference::default())
    }

    fn prefer(keys: &[&str], asked: &str, only: Option<&str>, preference: Preference) -> String {
        let env = |name: &str| keys.contains(&name).then(|| "k".to_owned());
        let settings = Settings { preference, ..Settings::from_env(env, Keys::from_env(env)) };
        let chosen = Providers::new(settings).choose(asked, only);
        chosen.map_or_else(|error| error.to_string(), |model| model.to_string())
    }

    #[test]
    fn a_preference_goes_before_the_providers_own_tiers() {
        let both = &["OPENAI_API_KEY", "GEMINI_API_KEY"];
        let preference = |provider: Option<&str>, tiers: &[(&str, &str)]| Preference {
            provider: provider.map(ToOwned::to_owned),
            tiers: tiers.iter().map(|(tier, model)| ((*tier).to_owned(), (*model).to_owned())).collect(),
        };
        let gemini = preference(Some("gemini"), &[]);
        assert_eq!(prefer(both, "fast", None, gemini.clone()), "gemini/gemini-3.5-flash-lite");
        // The preferred one, even when its key is missing: it says so when it is asked.
        assert_eq!(prefer(&["OPENAI_API_KEY"], "fast", None, gemini), "gemini/gemini-3.5-flash-lite");
        let own = preference(None, &[("fast", "ollama/llama3.2"), ("high", "claude-opus-4-6")]);
        assert_eq!(prefer(both, "fast", None, own.clone()), "ollama/llama3.2");
        assert_eq!(prefer(both, "high", None, own.clone()), "anthropic/claude-opus-4-6");
        assert_eq!(prefer(both, "fast", Some("openai"), own), "openai/gpt-6-luna");
    }

    #[test]
    fn tiers_names_and_beginnings() {
        const OPENAI: &[&str] = &["OPENAI_API_KEY"];
        for (asked, preferred, expected) in [
            ("openai/anything", None, "openai/anything"),
            ("fast", None, "openai/gpt-6-luna"),
            ("reasoning", None, "openai/gpt-6.2-astra"),
            ("fast", Some("gemini"), "gemini/gemini-3.5-flash-lite"),
            ("claude-opus-4-6", None, "anthropic/claude-opus-4-6"),
            ("claude-haiku", None, "anthropic/claude-haiku-5-5"),
            ("claude-haiku-5-5-20261001", None, "anthropic/claude-haiku-5-5"),
            ("claude-opus-5", None, "anthropic/claude-opus-5"),
        ] {
            assert_eq!(choose(OPENAI, asked, preferred), expected, "{asked}");
        }
        assert_eq!(choose(&[], "max", None), "anthropic/claude-opus-5-5");
    }

    #[test]
    fn s16_a_misspelt_tier_or_model_is_told_with_the_nearest() {
        assert!(choose(&[], "fats", None).contains("did you mean `fast`?"));
        assert!(choose(&[], "claude-opsu-5-5", None).contains("did you mean `claude-opus-5-5`?"));
        assert!(choose(&[], "genral", Some("openai")).contains("did you mean `general`?"));
        assert!(choose(&[], "fast", Some("opnai")).ends_with("did you mean `openai`?"));
    }

    #[test]
    fn errors_list_what_there_is() {
        let several = choose(&["OPENAI_API_KEY", "GEMINI_API_KEY"], "fast", None);
        assert!(several.contains("openai/gpt-6-luna") && several.contains("gemini/gemini-3.5-flash-lite"), "{several}");
        let unknown = choose(&[], "zzz", None);
        assert!(unknown.contains("`zzz`") && unknown.contains("fast, general, high, max"), "{unknown}");
        assert!(choose(&[], "fast", Some("mistral")).contains("`mistral`"));
    }
}
