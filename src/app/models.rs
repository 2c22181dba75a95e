//! Every model there is to choose, with what is known of it: the listed ones, those of tiers, and those that servers on
//! this machine have.

use super::outside::Models;
use crate::domain::{ModelRef, Tokens};
use crate::engine::driver::Outside;
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

impl Models {
    /// All rows, those that can be asked now first. Asks this machine's servers, which takes 0.4 s at most.
    pub async fn rows(&self) -> Vec<Row> {
        let found = self.providers.probe().await;
        let mut names: Vec<ModelRef> = self.catalog.choices();
        let tiered = self.providers.tiers();
        names.extend(tiered.iter().map(|(_, model)| model.clone()));
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
        let dollars = self.catalog.lookup(&model).and_then(|info| info.dollars()).or(free.then_some((0.0, 0.0)));
        let missing = self.providers.provider(&model).err().map(|error| error.to_string());
        Row {
            tiers: tiered.iter().filter(|(_, other)| *other == model).map(|(tier, _)| tier.clone()).collect(),
            window: self.window(&model),
            input: dollars.map(|(input, _)| input),
            output: dollars.map(|(_, output)| output),
            ready: missing.is_none(),
            missing,
            model,
        }
    }
}
