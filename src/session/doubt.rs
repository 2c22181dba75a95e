//! What people name that is not there: models, tiers and directives in settings and directives, held against what there is.

use super::Setup;
use crate::config::{Problem, Source};
use crate::context::{Meaning, permission_problems};
use crate::domain::{ModelRef, Severity, nearest};
use crate::items::directive::Directive;
use crate::items::{Item, Items, Kind};
use crate::providers::{ResolveError, is_local, is_scripted};

impl Setup {
    /// What the settings name and is not there, each at its place: the model, the directive, and of the settings of agents
    /// the usual provider and the models of tiers.
    #[must_use]
    pub fn doubts(&self, items: &Items) -> Vec<Problem> {
        let mut problems = Vec::new();
        if let Some(model) = &self.config.model {
            let doubt = self.doubt_model(&model.value);
            problems.extend(doubt.map(|(severity, said)| at(&model.source, severity, &said)));
        }
        let directive = &self.config.directive;
        if let Err(missing) = items.find(Kind::Directive, &directive.value) {
            let said = missing.to_string();
            let said = if missing.near.is_empty() { format!("{said}; levain items lists all items") } else { said };
            problems.push(at(&directive.source, Severity::Error, &said));
        }
        let usual = self.cascade.entries(Some("agent.provider.default"));
        let usual = usual.into_iter().map(|entry| (entry, true));
        let tiers = self.cascade.entries(Some("agent.tier_mapping")).into_iter().map(|entry| (entry, false));
        for (entry, is_provider) in usual.chain(tiers) {
            let Some(name) = entry.value.as_str().map(str::trim) else { continue };
            let said = if is_provider {
                self.models.missing(&ModelRef::new(name, "any"))
            } else {
                self.models.tiered(name, None).err()
            };
            if let Some(said) = said.filter(is_unknown) {
                let source = Source::File { path: entry.origin.file.to_owned(), line: entry.origin.line };
                problems.push(at(&source, Severity::Error, &said.to_string()));
            }
        }
        problems
    }

    /// Why a model that somebody set cannot be asked however many keys there are, or is probably another.
    fn doubt_model(&self, model: &ModelRef) -> Option<(Severity, String)> {
        if is_scripted(model) {
            let broken = self.models.providers().provider(model).err()?;
            return Some((Severity::Error, broken.to_string()));
        }
        if let Some(unknown) = self.models.missing(model).filter(is_unknown) {
            return Some((Severity::Error, unknown.to_string()));
        }
        // Servers on this machine, and those that only a file describes, have no list.
        let listed: Vec<ModelRef> = self.models.catalog().choices();
        let listed = listed.iter().filter(|known| known.provider == model.provider);
        let tiered = self.models.providers().tiers();
        let tiered = tiered.iter().map(|(_, known)| known).filter(|known| known.provider == model.provider);
        let known: Vec<&str> = listed.chain(tiered).map(|known| known.model.as_str()).collect();
        if is_local(&model.provider) || known.is_empty() || known.contains(&model.model.as_str()) {
            return None;
        }
        if let Some(near) = nearest(&model.model, known).filter(|near| is_slip(&model.model, near)) {
            let remedy = format!("did you mean `{}/{near}`?", model.provider);
            return Some((Severity::Warning, format!("no model `{model}` is listed; {remedy}")));
        }
        let remedy = "levain models lists the known models";
        let unknown = self.models.catalog().lookup(model).is_none();
        unknown.then(|| (Severity::Warning, format!("the model `{model}` and its price are unknown; {remedy}")))
    }

    /// What is wrong with what a directive grants, and how dangerous it is where it does not say so itself. None for an item
    /// that is no directive.
    #[must_use]
    pub fn permission_doubts(&self, items: &Items, meaning: &Meaning, item: &Item) -> Vec<Problem> {
        let text = (item.kind == Kind::Directive).then(|| items.read(item).ok()).flatten();
        let Some(text) = text else { return Vec::new() };
        let file = items.file(item);
        permission_problems(&Directive::parse(&text, &file).0.permissions, &file, meaning)
    }

    /// What is wrong with the model that a directive wishes for: there is none of that name, so that it cannot start.
    /// None also for an item that is no directive.
    #[must_use]
    pub fn doubt(&self, items: &Items, item: &Item) -> Option<Problem> {
        let text = (item.kind == Kind::Directive).then(|| items.read(item).ok()).flatten()?;
        let file = items.file(item);
        let wish = Directive::parse(&text, &file).0.model?;
        let usual = self.config.model.as_ref().map(|model| model.value.provider.as_str());
        let error = self.models.wished(&wish, usual).err()?;
        let said = error.to_string();
        let (message, remedy) = said.split_once("; ").unwrap_or((&said, "levain models lists all models"));
        is_unknown(&error).then(|| Problem::at(&file, wish.lines.0, Severity::Error, message, remedy))
    }
}

/// Whether the name of a model is a known one misspelt, rather than that of another: those differ in a number, or in what
/// stands behind.
fn is_slip(name: &str, known: &str) -> bool {
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    digits(name) == digits(known) && !name.starts_with(known) && !known.starts_with(name)
}

fn is_unknown(error: &ResolveError) -> bool {
    matches!(error, ResolveError::UnknownModel { .. } | ResolveError::UnknownProvider { .. })
}

/// What is said, `message; remedy`, of a value that was set there.
fn at(source: &Source, severity: Severity, said: &str) -> Problem {
    let (message, remedy) = said.split_once("; ").unwrap_or((said, "levain models lists all models"));
    let (file, line, message) = match source {
        Source::File { path, line } => (Some(path.clone()), Some(*line), message.to_owned()),
        Source::BuiltIn => (None, None, message.to_owned()),
        Source::Environment(_) | Source::Argument(_) => (None, None, format!("{source}: {message}")),
    };
    Problem { file, line, severity, message, remedy: remedy.to_owned() }
}
