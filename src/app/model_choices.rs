//! The models that the screen's picker offers.

use crate::domain::{ModelRef, Money, Tokens, Usage};
use crate::engine::driver::ModelRegistry;
use crate::providers::{ResolveError, is_scripted};
use crate::session::Models;
use crate::workbench::ModelChoice;

impl Models {
    /// The known models for a picker: those that can be used now, then a line for each provider that cannot.
    #[must_use]
    pub fn choices(&self) -> Vec<ModelChoice> {
        let (ready, missing): (Vec<_>, Vec<_>) =
            self.providers().choices().into_iter().partition(|choice| choice.ready);
        let mut choices: Vec<ModelChoice> =
            ready.into_iter().map(|choice| usable(self.note(&choice.model), choice.model)).collect();
        let mut providers: Vec<(ModelRef, usize)> = Vec::new();
        for choice in missing {
            match providers.iter_mut().find(|(model, _)| model.provider == choice.model.provider) {
                Some((_, count)) => *count += 1,
                None => providers.push((choice.model, 1)),
            }
        }
        choices.extend(providers.into_iter().map(|(model, count)| {
            let models = if count == 1 { "1 model".to_owned() } else { format!("{count} models") };
            let why = match self.providers().provider(&model).err() {
                Some(ResolveError::MissingKey { variable, .. }) => format!("no API key: set {variable}"),
                Some(ResolveError::SignedOut { provider, .. }) => format!("not signed in: /login {provider}"),
                other => other.map(|error| error.to_string()).unwrap_or_default(),
            };
            ModelChoice { label: model.provider, model: None, note: format!("{models} · {why}") }
        }));
        choices
    }

    /// Window and prices of a model.
    fn note(&self, model: &ModelRef) -> String {
        if is_scripted(model) {
            return "scripted: no model is called".to_owned();
        }
        let million = Tokens(1_000_000);
        let price = |usage: Usage| self.spend(model, &usage).filter(|price| *price > Money::ZERO);
        let input = price(Usage { input: million, ..Usage::default() });
        let output = price(Usage { output: million, ..Usage::default() });
        let window = self.window(model).map(|window| format!("{window} tokens").replace(".0k", "k"));
        // For a million tokens of input and of output.
        let prices = input.zip(output).map(|(input, output)| format!("{input} / {output}"));
        window.into_iter().chain(prices).collect::<Vec<_>>().join(" · ")
    }

    /// The models for a picker with those of servers on this machine, which come first.
    pub async fn choices_found(&self) -> Vec<ModelChoice> {
        let found = self.providers().probe().await;
        let models = self.clone();
        // Looking for each model's provider may read a file.
        let listed = tokio::task::spawn_blocking(move || models.choices()).await.unwrap_or_default();
        let found = found.into_iter().flat_map(|found| found.models).map(|model| {
            let window = self.window(&model).map(|window| format!("{window} tokens · "));
            usable(format!("{}on this machine", window.unwrap_or_default()), model)
        });
        let mut choices: Vec<ModelChoice> = found.collect();
        choices.extend(listed);
        choices
    }
}

fn usable(note: String, model: ModelRef) -> ModelChoice {
    ModelChoice { label: model.to_string(), model: Some(model), note }
}
