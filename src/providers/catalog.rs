//! What is known about models: window, longest answer, prices. The list is `assets/models.toml`.
//!
//! Provider files of project and user go before the list, those of the system behind it. A model that is listed nowhere
//! can still be used; its spend is then unknown, and its answers have the usual limit.

use super::yaml::{ProviderFile, ToolForm};
use crate::domain::{ModelRef, Money, Space, Tokens, Usage};
use serde::Deserialize;
use std::sync::LazyLock;

/// Longest answer asked of a model whose own limit is not known.
pub const USUAL_MAX_OUTPUT: u64 = 16_384;

/// All known models.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// Another list than the one in the program.
    list: Option<Vec<ModelInfo>>,
    /// Provider files, nearest space first.
    files: Vec<ProviderFile>,
    /// Longest answer to ask of a model whose own limit is not known, where it is not the usual one.
    usual_max_output: Option<u64>,
}

/// What stands in `assets/models.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    #[serde(rename = "model")]
    models: Vec<ModelInfo>,
}

/// One model, or several of one kind.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelInfo {
    pub provider: String,
    /// Names of the model; one that ends in `*` stands for all that begin so. The first is what people choose by.
    names: Vec<String>,
    window: Option<u64>,
    max_output: Option<u64>,
    price: Option<Prices>,
    /// How the model is told of tools.
    #[serde(default)]
    tools: Option<ToolForm>,
    /// Whether it takes images.
    images: Option<bool>,
    /// Whether it thinks at a level that it is asked for.
    thinking: Option<bool>,
}

/// US dollars for a million tokens, as vendors print them.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Prices {
    input: f64,
    output: f64,
    /// Where absent, a cached token costs what any input token costs.
    cache_read: Option<f64>,
    cache_write: Option<f64>,
    /// What a long prompt costs.
    long: Option<LongPrompt>,
}

/// Of a prompt of more tokens than these, every class costs so many times as much, and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct LongPrompt {
    from: u64,
    input: f64,
    output: f64,
}

impl Catalog {
    /// The list in the program, which is read when it is first asked for something.
    #[must_use]
    pub fn embedded() -> Self {
        Self::default()
    }

    /// A list in the form of `assets/models.toml`.
    ///
    /// # Errors
    /// The reader's own, with line and column.
    pub fn parse(text: &str) -> Result<Self, toml::de::Error> {
        let List { models } = toml::from_str(text)?;
        Ok(Self { list: Some(models), ..Self::default() })
    }

    fn models(&self) -> &[ModelInfo] {
        // The test below reads the same text, so it is never empty.
        static LIST: LazyLock<Vec<ModelInfo>> = LazyLock::new(|| {
            let read = Catalog::parse(include_str!("../../assets/models.toml"));
            read.ok().and_then(|catalog| catalog.list).unwrap_or_default()
        });
        self.list.as_deref().unwrap_or(&LIST)
    }

    /// The list with the prices and windows of provider files, nearest space first.
    #[must_use]
    pub fn with_files(self, files: &[ProviderFile]) -> Self {
        Self { files: files.to_vec(), ..self }
    }

    /// The list with another answer for models whose longest answer is not known.
    #[must_use]
    pub fn with_usual_max_output(self, tokens: u64) -> Self {
        Self { usual_max_output: Some(tokens), ..self }
    }

    /// The longest answer to ask of `model`.
    #[must_use]
    pub fn max_output(&self, model: &ModelRef) -> Tokens {
        let info = self.lookup(model);
        let known = info.as_ref().and_then(|info| info.max_output).or(self.usual_max_output);
        let window = info.as_ref().and_then(ModelInfo::window);
        // Some servers refuse more than the prompt leaves of the window.
        let usual = || window.map_or(USUAL_MAX_OUTPUT, |window| (window.0 / 4).clamp(1, USUAL_MAX_OUTPUT));
        Tokens(known.unwrap_or_else(usual))
    }

    /// Whether `model` is known to take images: by what its provider's file says, else those in the list do.
    #[must_use]
    pub fn takes_images(&self, model: &ModelRef) -> bool {
        self.lookup(model).is_some_and(|info| info.images.unwrap_or(!info.names.is_empty()))
    }

    /// What is known about `model`: in the list by its own name, else by the longest beginning that fits; in provider
    /// files by its own name.
    #[must_use]
    pub fn lookup(&self, model: &ModelRef) -> Option<ModelInfo> {
        // The same models behind another wire form.
        let provider = if model.provider == "openai-responses" { "openai" } else { &model.provider };
        let listed = self
            .models()
            .iter()
            .filter(|info| info.provider == provider)
            .filter_map(|info| Some((info.fit(&model.model)?, info)))
            .max_by_key(|(fit, _)| *fit)
            .map(|(_, info)| info.clone());
        let mut info = self.filed(provider, &model.model, &|space| space != Space::System);
        info.fill(listed.unwrap_or_default());
        info.fill(self.filed(provider, &model.model, &|space| space == Space::System));
        info.is_something().then(|| ModelInfo { provider: provider.to_owned(), ..info })
    }

    /// What the provider files of some spaces say about a model, the nearest first for each value.
    fn filed(&self, provider: &str, model: &str, of: &dyn Fn(Space) -> bool) -> ModelInfo {
        let mut info = ModelInfo::default();
        for file in self.files.iter().filter(|file| file.tool_id == provider && of(file.space)) {
            let part = file.part(model);
            let price = part.prices.iter().find(|price| price.model == model);
            info.fill(ModelInfo {
                window: part.window,
                images: part.images,
                thinking: part.thinking,
                max_output: price.and_then(|price| price.max_output),
                price: price.map(|price| Prices {
                    input: price.input,
                    output: price.output,
                    cache_read: price.cache_read,
                    cache_write: price.cache_write,
                    long: None,
                }),
                ..ModelInfo::default()
            });
        }
        info
    }

    /// The known models under the names people choose by, in the order of the list.
    #[must_use]
    pub fn choices(&self) -> Vec<ModelRef> {
        self.models()
            .iter()
            .filter_map(|info| Some(ModelRef::new(&info.provider, info.names.first()?)))
            .filter(|model| !model.model.ends_with('*'))
            .collect()
    }
}

impl ModelInfo {
    /// How well `model` fits: letters of the beginning, or more than any beginning for a whole name.
    fn fit(&self, model: &str) -> Option<usize> {
        let fits = self.names.iter().filter_map(|name| match name.strip_suffix('*') {
            Some(beginning) => model.starts_with(beginning).then_some(beginning.len()),
            None => (name == model).then_some(usize::MAX),
        });
        fits.max()
    }

    /// Takes from `other` what is not known here.
    fn fill(&mut self, other: Self) {
        if self.names.is_empty() {
            self.names = other.names;
        }
        self.window = self.window.or(other.window);
        self.max_output = self.max_output.or(other.max_output);
        self.price = self.price.or(other.price);
        self.tools = self.tools.or(other.tools);
        self.images = self.images.or(other.images);
        self.thinking = self.thinking.or(other.thinking);
    }

    fn is_something(&self) -> bool {
        !self.names.is_empty()
            || self.window.is_some()
            || self.max_output.is_some()
            || self.price.is_some()
            || self.images.is_some()
            || self.thinking.is_some()
    }

    /// Tokens that prompt and answer together may take.
    #[must_use]
    pub fn window(&self) -> Option<Tokens> {
        self.window.map(Tokens)
    }

    /// How the model is told of tools.
    #[must_use]
    pub fn tools(&self) -> ToolForm {
        self.tools.unwrap_or_default()
    }

    /// US dollars for a million tokens of input, of output, of what is read from a cache and of what is written to it.
    #[must_use]
    pub fn dollars(&self) -> Option<[f64; 4]> {
        let price = self.price?;
        let cache = |price: Option<f64>, usual| price.unwrap_or(usual);
        let (read, write) = (cache(price.cache_read, price.input), cache(price.cache_write, price.input));
        Some([price.input, price.output, read, write])
    }

    /// Whether its provider's file says that it thinks at a level that it is asked for.
    #[must_use]
    pub fn thinks(&self) -> Option<bool> {
        self.thinking
    }

    /// The price of `usage`, each class rounded up to a millionth of a dollar; `None` when the price is not known.
    #[must_use]
    pub fn spend(&self, usage: &Usage) -> Option<Money> {
        let price = self.price?;
        let long = price.long.filter(|long| usage.prompt().0 > long.from);
        let (input, output) = long.map_or((1.0, 1.0), |long| (long.input, long.output));
        let classes = [
            (usage.input, price.input * input),
            (usage.output, price.output * output),
            (usage.cache_read, price.cache_read.unwrap_or(price.input) * input),
            (usage.cache_write, price.cache_write.unwrap_or(price.input) * input),
        ];
        let spend = classes.into_iter().fold(Money::ZERO, |sum, (tokens, dollars)| {
            let micro = u64::try_from(Money::from_dollars(dollars).0).unwrap_or(0);
            sum + Money::price(tokens, micro)
        });
        Some(spend)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lookup(model: &str) -> Option<ModelInfo> {
        Catalog::embedded().lookup(&model.parse().unwrap())
    }

    #[test]
    fn the_list_in_the_program_is_sound() {
        let catalog = Catalog::parse(include_str!("../../assets/models.toml")).unwrap();
        for info in catalog.models() {
            assert!(!info.names.is_empty());
            assert!(info.max_output.unwrap_or(USUAL_MAX_OUTPUT) <= info.window().unwrap().0, "{info:?}");
            let price = info.price.unwrap();
            assert!(price.input <= price.output && price.cache_read.unwrap() <= price.input, "{info:?}");
        }
        for choice in catalog.choices() {
            let found = catalog.lookup(&choice).unwrap();
            assert_eq!(found.names.first(), Some(&choice.model), "two entries for {choice}");
        }
    }

    #[test]
    fn whole_names_go_before_beginnings_and_long_beginnings_before_short() {
        let catalog = Catalog::parse(
            "[[model]]\nprovider='p'\nnames=['a*']\nwindow=1\n[[model]]\nprovider='p'\nnames=['ab*']\nwindow=2\n\
             [[model]]\nprovider='p'\nnames=['abc']\nwindow=3\n",
        )
        .unwrap();
        for (model, window) in
            [("p/ax", Some(1)), ("p/abx", Some(2)), ("p/abc", Some(3)), ("p/x", None), ("q/ab", None)]
        {
            let found = catalog.lookup(&model.parse().unwrap());
            assert_eq!(found.and_then(|info| info.window).unwrap_or(0), window.unwrap_or(0), "{model}");
        }
    }

    #[test]
    fn spend_counts_every_class_once() {
        let usage = Usage {
            input: Tokens(1_000),
            output: Tokens(100),
            cache_read: Tokens(10_000),
            cache_write: Tokens(2_000),
            reasoning: Tokens(50),
        };
        let sonnet = lookup("anthropic/claude-sonnet-4-5-20250929").unwrap();
        assert_eq!(sonnet.spend(&usage), Some(Money(3_000 + 1_500 + 3_000 + 7_500)));
        assert_eq!(sonnet.spend(&Usage::default()), Some(Money::ZERO));
        assert_eq!(lookup("openai/gpt-4o-mini").unwrap().spend(&usage), Some(Money(150 + 60 + 750 + 300)));
        assert_eq!(lookup("scripted/anything").unwrap().spend(&usage), Some(Money::ZERO));
    }

    #[test]
    fn a_long_prompt_costs_more() {
        let haiku = lookup("anthropic/claude-haiku-5-5").unwrap();
        let usage = |input| Usage { input: Tokens(input), output: Tokens(1_000), ..Usage::default() };
        let spend = |tokens| haiku.spend(&usage(tokens)).unwrap();
        assert_eq!((spend(100_000), spend(500_000)), (Money(10_500), Money(252_500)));
        // Whichever class it is in.
        let cached = Usage { cache_read: Tokens(100_001), ..Usage::default() };
        assert_eq!(haiku.spend(&cached), Some(Money(5_001)));
        let sol = lookup("openai/gpt-6.2-sol").unwrap();
        assert_eq!(sol.spend(&usage(300_000)), Some(Money(1_215_000)));
    }

    #[test]
    fn an_unknown_model_has_no_price() {
        assert_eq!(lookup("openai/my-own-llama"), None);
        assert_eq!(lookup("openai/gpt-4o-audio-preview"), None);
        let bare = Catalog::parse("[[model]]\nprovider='p'\nnames=['m']\n").unwrap();
        let info = bare.lookup(&"p/m".parse().unwrap()).unwrap();
        assert_eq!(info.spend(&Usage::default()), None);
        assert_eq!(bare.max_output(&"p/m".parse().unwrap()), Tokens(USUAL_MAX_OUTPUT));
        let small = Catalog::parse("[[model]]\nprovider='p'\nnames=['m']\nwindow=8192\n").unwrap();
        assert_eq!(small.max_output(&"p/m".parse().unwrap()), Tokens(2_048));
        assert_eq!(bare.with_usual_max_output(7).max_output(&"q/x".parse().unwrap()), Tokens(7));
    }

    #[test]
    fn peoples_files_go_before_the_list_and_the_systems_behind_it() {
        let file = |space, text: &str| ProviderFile::parse(text, space, std::path::Path::new("p.yaml")).0.unwrap();
        let anthropic = "tool_id: anthropic\ncontext_window: ";
        let price = "\npricing: {claude-haiku-4-5: {input: 9, output: 9, max_output_tokens: 5}}";
        let catalog = Catalog::embedded().with_files(&[
            file(Space::Project, &format!("{anthropic}111")),
            file(Space::User, &format!("{anthropic}222{price}")),
            file(Space::System, "tool_id: anthropic\ncontext_window: 333"),
            file(Space::System, "tool_id: openai\ncontext_window: 444"),
        ]);
        let look = |model: &str| catalog.lookup(&model.parse().unwrap()).unwrap();
        let haiku = look("anthropic/claude-haiku-4-5");
        assert_eq!((haiku.window(), haiku.dollars(), haiku.max_output), (Some(Tokens(111)), Some([9.0; 4]), Some(5)));
        let listed = lookup("openai/gpt-4o").unwrap();
        assert_eq!(look("openai/gpt-4o"), listed);
        assert_eq!((look("openai/unlisted").window(), look("openai/unlisted").dollars()), (Some(Tokens(444)), None));
        assert_eq!(catalog.lookup(&"ollama/x".parse().unwrap()), None);
    }
}
