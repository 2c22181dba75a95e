//! What a directive tells the model before anybody speaks: the constitution, the knowledge it names for the system text,
//! and its own body.

use crate::domain::{LayerKind, Limits, Problem, Severity};
use crate::engine::driver::SystemText;
use crate::items::directive::{BadInput, Mention, Values};
use crate::items::{Directive, Item, Items, Kind, Knowledge, NotFound};

/// Rules that head every system text.
const CONSTITUTION: &str = "levain/Constitution";

/// A directive made ready to run.
#[derive(Clone, Debug)]
pub struct Briefing {
    /// Limits the directive sets.
    pub limits: Limits,
    pub system: Vec<SystemText>,
    /// What is wrong with the directive and what it names; it runs without.
    pub problems: Vec<Problem>,
}

/// Why a directive cannot run.
#[derive(Debug, thiserror::Error)]
pub enum BriefingError {
    #[error("{0}; `levain items` lists what there is")]
    NotFound(#[from] NotFound),
    #[error("{0}")]
    Unreadable(Problem),
    #[error("`{directive}` cannot run: {}; give inputs with levain run --directive {directive} --input NAME=VALUE", joined(.bad))]
    Inputs { directive: String, bad: Vec<BadInput> },
}

fn joined(bad: &[BadInput]) -> String {
    bad.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl Briefing {
    /// Reads the directive `id` and what it brings along. Without `inputs` (a thread that goes on) it gets its defaults.
    ///
    /// # Errors
    /// [`BriefingError`].
    pub fn prepare(items: &Items, id: &str, inputs: Option<Values>) -> Result<Self, BriefingError> {
        let item = items.find(Kind::Directive, id)?.item;
        let text = items.read(item).map_err(BriefingError::Unreadable)?;
        let file = items.file(item);
        let (directive, mut problems) = Directive::parse(&text, &file);
        let inputs = match inputs {
            Some(given) => {
                directive.accept(given).map_err(|bad| BriefingError::Inputs { directive: id.to_owned(), bad })?
            }
            None => directive.defaults(),
        };
        let mut system = Vec::new();
        let constitution = items.find(Kind::Knowledge, CONSTITUTION)?.item;
        system.push(knowledge(items, constitution, LayerKind::Constitution)?);
        for mention in &directive.context.system {
            match items.find(Kind::Knowledge, &mention.id) {
                Ok(found) => system.push(knowledge(items, found.item, LayerKind::DirectiveSystem)?),
                Err(missing) if mention.optional => {
                    let remedy = "write the item, or remove the line";
                    problems.push(Problem::at(&file, mention.lines.0, Severity::Warning, missing.to_string(), remedy));
                }
                Err(missing) => return Err(missing.into()),
            }
        }
        // Said rather than passed over: these come with the context engine.
        let later = |what: &str, line: u32| {
            let message = format!("{what} is not brought along yet");
            Problem::at(&file, line, Severity::Warning, message, "name it as <system> for now")
        };
        problems.extend(directive.extends.iter().map(|extends| later("what it extends", extends.lines.0)));
        let around = directive.context.before.iter().chain(&directive.context.after);
        problems.extend(around.map(|Mention { id, lines, .. }| later(&format!("`{id}`"), lines.0)));
        system.push(source(items, item, LayerKind::DirectiveSystem, &directive.prompt(&inputs)));
        Ok(Self { limits: directive.limits.limits, system, problems })
    }
}

/// A knowledge item's body as a layer.
fn knowledge(items: &Items, item: &Item, kind: LayerKind) -> Result<SystemText, BriefingError> {
    let text = items.read(item).map_err(BriefingError::Unreadable)?;
    let (knowledge, _told_by_check) = Knowledge::parse(&text, &items.file(item));
    Ok(source(items, item, kind, &knowledge.body))
}

fn source(items: &Items, item: &Item, kind: LayerKind, text: &str) -> SystemText {
    SystemText { kind, id: item.id.to_string(), space: items.space(item), path: item.path.clone(), text: text.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::items::Spaces;
    use std::fs;

    #[test]
    fn a_directive_brings_its_context_and_its_body() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(".ai").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("knowledge/team/rules.md", "```yaml\nname: rules\n```\n\nBe kind.\n");
        write(
            "directives/team/ship.md",
            "```xml\n<directive name=\"ship\" extends=\"levain/core/base\"><metadata><limits turns=\"3\"/><context>\
             <system>team/rules</system><system optional=\"true\">team/gone</system></context></metadata>\n\
             <inputs><input name=\"target\" required=\"true\"/></inputs></directive>\n```\nShip to {input:target}.\n",
        );
        let items = Items::list(&Spaces::new(folder.path(), folder.path(), []));
        let prepare = |values: Option<Values>| Briefing::prepare(&items, "team/ship", values);
        let briefing = prepare(Some(Values::from([("target".into(), "the moon".into())]))).unwrap();
        let ids: Vec<_> = briefing.system.iter().map(|source| (source.kind, source.id.as_str())).collect();
        let system = LayerKind::DirectiveSystem;
        assert_eq!(ids, [(LayerKind::Constitution, CONSTITUTION), (system, "team/rules"), (system, "team/ship")]);
        assert_eq!(&*briefing.system[1].text, "Be kind.");
        assert_eq!(&*briefing.system[2].text, "<directive name=\"ship\">\nShip to the moon.\n</directive>");
        assert_eq!((briefing.limits.turns, briefing.problems.len()), (Some(3), 2), "{:?}", briefing.problems);
        let refused = prepare(Some(Values::new())).unwrap_err().to_string();
        assert!(refused.starts_with("`team/ship` cannot run: the input `target` is missing; give"), "{refused}");
        assert!(prepare(None).unwrap().system[2].text.contains("{input:target}"));
        let unknown = Briefing::prepare(&items, "team/shop", None).unwrap_err().to_string();
        assert!(unknown.contains("near is `team/ship`"), "{unknown}");
    }
}
