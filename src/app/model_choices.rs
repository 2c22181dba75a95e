//! The models that the screen's picker offers.

use crate::domain::ModelRef;
use crate::engine::driver::ModelRegistry;
use crate::providers::is_scripted;
use crate::session::Models;
use crate::workbench::ModelChoice;

impl Models {
    /// The known models for a picker, those that can be asked now first.
    #[must_use]
    pub fn choices(&self) -> Vec<ModelChoice> {
        let note = |model: &ModelRef, ready: bool| {
            if is_scripted(model) {
                return "scripted: no model is called".to_owned();
            }
            let window = self.window(model).map(|window| format!("{window} tokens")).unwrap_or_default();
            if ready { window } else { format!("{window} · no key") }
        };
        self.providers
            .choices()
            .into_iter()
            .map(|choice| ModelChoice {
                note: note(&choice.model, choice.ready),
                usable: choice.ready,
                model: choice.model,
            })
            .collect()
    }

    /// The models for a picker with those of servers on this machine, which come first.
    pub async fn choices_found(&self) -> Vec<ModelChoice> {
        let found = self.providers.probe().await;
        let models = self.clone();
        // Looking for each model's provider may read a file.
        let listed = tokio::task::spawn_blocking(move || models.choices()).await.unwrap_or_default();
        let found = found.into_iter().flat_map(|found| found.models).map(|model| {
            let window = self.window(&model).map(|window| format!("{window} tokens · "));
            ModelChoice { note: format!("{}on this machine", window.unwrap_or_default()), usable: true, model }
        });
        let mut choices: Vec<ModelChoice> = found.collect();
        choices.extend(listed);
        choices
    }
}
