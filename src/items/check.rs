//! What is wrong with items: as files, against their place, and in what they mention.

use super::capability::{self, Capabilities, CapabilityFile, ProjectFiles};
use super::directive::{BuiltInProvider, CONTINUATION_DIRECTIVE, Directive, Mention, SUMMARY_DIRECTIVE, input_name};
use super::find::{Item, Items};
use super::hook::{Action, Hook};
use super::id::{ItemId, Kind};
use super::knowledge::{CONSTITUTION, Knowledge};
use super::tool::Tool;
use crate::domain::attachment::transcript_of;
use crate::domain::{Problem, Severity, hook_fields};
use std::path::Path;

/// Everything wrong with one item, by line.
#[must_use]
pub fn item(items: &Items, item: &Item) -> Vec<Problem> {
    match items.look(item) {
        Ok(text) => looked(items, item, &text),
        Err(problem) => vec![problem],
    }
}

/// Everything wrong with an item whose text was read already.
#[must_use]
pub fn looked(items: &Items, item: &Item, text: &str) -> Vec<Problem> {
    let mut problems = self::text(item.kind, text, &items.file(item), Some(&item.id), Some(items));
    problems.splice(0..0, items.objection(item, text));
    problems
}

/// Everything wrong with a text. Without `id` its place is not judged, without `items` not what it mentions.
#[must_use]
pub fn text(kind: Kind, text: &str, file: &Path, id: Option<&ItemId>, items: Option<&Items>) -> Vec<Problem> {
    let mut problems = match kind {
        Kind::Directive => {
            let (directive, mut problems) = Directive::parse(text, file);
            problems.extend(id.map(|id| directive.compare(id, file)).unwrap_or_default());
            problems.extend(placeholders(&directive, file));
            problems.extend(items.map(|items| mentions(&directive, items, id, file)).unwrap_or_default());
            problems
        }
        Kind::Knowledge => {
            let (knowledge, mut problems) = Knowledge::parse(text, file);
            problems.extend(id.map(|id| knowledge.compare(id, file)).unwrap_or_default());
            problems
        }
        Kind::Tool if id.is_some_and(|id| capability::stem_of(id, file).is_some()) => {
            let stem = id.and_then(|id| capability::stem_of(id, file)).unwrap_or_default();
            let (read, mut problems) = CapabilityFile::parse(text, file, stem);
            if let Some(items) = items.filter(|_| Problem::refusal(&problems).is_none()) {
                // As its project means it, trusted or not.
                problems.append(&mut Capabilities::read(items, ProjectFiles::Counted).check(&read));
            }
            problems
        }
        Kind::Tool => {
            let (tool, mut problems) = Tool::parse(text, file);
            problems.extend(id.map(|id| tool.compare(id, file)).unwrap_or_default());
            problems
        }
    };
    problems.sort_by_key(|problem| problem.line);
    problems
}

/// The directive it extends, and the knowledge that it and its hooks bring along.
fn mentions(directive: &Directive, items: &Items, id: Option<&ItemId>, file: &Path) -> Vec<Problem> {
    let mut problems = Vec::new();
    if let Some(extends) = &directive.extends {
        match items.find(Kind::Directive, &extends.value) {
            Err(missing) => {
                let message = format!("extends {missing}").replacen(
                    "extends there is no directive",
                    "extends a directive that does not exist,",
                    1,
                );
                let remedy = "fix the id, or remove extends";
                problems.push(Problem::at(file, extends.lines.0, Severity::Error, message, remedy));
            }
            Ok(found) => {
                // A file that another hides extends nothing where it is hidden.
                let counts = |id: &&ItemId| {
                    items.get(Kind::Directive, id.as_str()).is_some_and(|found| items.file(found.item) == file)
                };
                if let Some(circle) = id.filter(counts).and_then(|id| circle(items, id, found.item)) {
                    let message = format!("`extends` forms a cycle: {}", circle.join(" → "));
                    let remedy = "remove it from one of them";
                    problems.push(Problem::at(file, extends.lines.0, Severity::Error, message, remedy));
                }
            }
        }
    }
    let named =
        directive.other.iter().filter(|(name, _)| matches!(name.as_str(), SUMMARY_DIRECTIVE | CONTINUATION_DIRECTIVE));
    for (name, id) in named {
        if let Err(missing) = items.find(Kind::Directive, id.value.trim()) {
            let (message, remedy) = (format!("{name}: {missing}"), "fix the id, or leave the element out");
            problems.push(Problem::at(file, id.lines.0, Severity::Warning, message, remedy));
        }
    }
    for mention in directive.context.suppress.iter().filter(|mention| mention.id == CONSTITUTION) {
        let message = format!("`{CONSTITUTION}` cannot be suppressed: every request begins with it");
        problems.push(Problem::at(file, mention.lines.0, Severity::Error, message, "remove the <suppress>"));
    }
    // Which threads there are is known when one begins.
    let is_item = |mention: &&Mention| transcript_of(&mention.id).is_none();
    let written = |mention: &&Mention| BuiltInProvider::from_name(&mention.id).is_none();
    for mention in directive.context.wanted().filter(is_item).chain(directive.context.providers.iter().filter(written))
    {
        if let Err(missing) = items.find(Kind::Knowledge, &mention.id) {
            let form = "optional=\"true\"";
            let asked = directive.context.providers.contains(mention);
            let near = asked.then(|| BuiltInProvider::near(&mention.id)).flatten();
            let missing = near.unwrap_or_else(|| missing.to_string());
            problems.push(lost(&missing, mention.optional, form, file, mention.lines.0));
        }
    }
    problems.append(&mut hooks(&directive.hooks, items, "optional=\"true\""));
    problems.append(&mut directive.missing_of_handlers(items));
    problems
}

/// Knowledge that hooks bring along and that is not there, and fields they test that their event does not have. `form` is how
/// their file says that they can do without.
#[must_use]
pub fn hooks<'a>(hooks: impl IntoIterator<Item = &'a Hook>, items: &Items, form: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    for hook in hooks.into_iter().filter(|hook| hook.enabled) {
        for path in hook.condition.paths().into_iter().filter(|path| !hook_fields::is_known(&hook.event, path)) {
            let (message, remedy) = hook_fields::unknown(&hook.event, path);
            problems.push(Problem::at(&hook.file, hook.lines.0, Severity::Warning, message, remedy));
        }
        let Action::Calls(calls) = &hook.action else { continue };
        // What holds a placeholder is known when the hook is asked.
        for call in calls
            .iter()
            .filter(|call| call.kind == Kind::Knowledge && !call.id.contains('{'))
            .filter(|call| transcript_of(&call.id).is_none())
        {
            if let Err(missing) = items.find(Kind::Knowledge, &call.id) {
                problems.push(lost(&missing.to_string(), hook.optional, form, &hook.file, hook.lines.0));
            }
        }
    }
    problems
}

fn lost(missing: &str, optional: bool, form: &str, file: &Path, line: u32) -> Problem {
    if optional {
        let remedy = "fix the id, write the item, or leave the entry out";
        return Problem::at(file, line, Severity::Warning, missing, remedy);
    }
    Problem::at(file, line, Severity::Error, missing, format!("fix the id, write the item, or add {form}"))
}

/// The ids from `id` over `next`, which it extends, back to itself.
fn circle(items: &Items, id: &ItemId, next: &Item) -> Option<Vec<String>> {
    let mut chain = vec![id.as_str().to_owned()];
    let mut next = next;
    loop {
        chain.push(next.id.as_str().to_owned());
        if next.id == *id {
            return Some(chain);
        }
        if chain.iter().filter(|known| *known == next.id.as_str()).count() > 1 {
            // Another circle, which is told where it is.
            return None;
        }
        let text = items.read(next).ok()?;
        let extends = Directive::parse(&text, &items.file(next)).0.extends?;
        next = items.get(Kind::Directive, &extends.value)?.item;
    }
}

/// Placeholders that nothing will ever fill.
fn placeholders(directive: &Directive, file: &Path) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (number, line) in (directive.body_lines.0..).zip(directive.body.lines()) {
        for rest in line.split("{input:").skip(1) {
            let Some((name, rest)) = input_name(rest) else { continue };
            let declared = directive.inputs.iter().any(|input| input.name == name);
            if rest.contains('}') && !declared && !directive.inputs.is_empty() {
                let message = format!("the input `{name}` is used and not declared");
                let remedy = format!("declare it: <input name=\"{name}\" type=\"string\">…</input>");
                problems.push(Problem::at(file, number, Severity::Warning, message, remedy));
            }
        }
        if line.contains("{env:") {
            let message = "`{env:…}` is not filled in: no directive reads the environment";
            problems.push(Problem::at(file, number, Severity::Warning, message, "take the value as an input"));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::items::Spaces;

    #[test]
    fn nobody_is_told_to_write_what_stands_there() {
        let items = Items::list(&Spaces::embedded());
        let said = |attribute: &str| {
            let text = format!(
                "```xml\n<directive name=\"a\" version=\"1.0.0\"><metadata><description>d</description>\
                 <context><before{attribute}>no/such</before></context></metadata></directive>\n```\nGo.\n"
            );
            let problems = self::text(Kind::Directive, &text, Path::new("a.md"), None, Some(&items));
            problems.into_iter().map(|problem| (problem.severity, problem.remedy)).collect::<Vec<_>>()
        };
        let wanted = "fix the id, write the item, or add optional=\"true\"";
        assert_eq!(said(""), [(Severity::Error, wanted.to_owned())]);
        let wanted = "fix the id, write the item, or leave the entry out";
        assert_eq!(said(" optional=\"true\""), [(Severity::Warning, wanted.to_owned())]);
    }

    #[test]
    fn s24_leaving_the_constitution_out_is_told_before_a_thread_starts() {
        let items = Items::list(&Spaces::embedded());
        let text = format!(
            "```xml\n<directive name=\"a\" version=\"1.0.0\"><metadata><description>d</description>\n\
             <context><suppress>{CONSTITUTION}</suppress></context></metadata></directive>\n```\nGo.\n"
        );
        let problems = self::text(Kind::Directive, &text, Path::new("a.md"), None, Some(&items));
        assert_eq!((problems[0].severity, problems[0].line), (Severity::Error, Some(3)), "{problems:?}");
        assert!(problems[0].message.contains("cannot be suppressed"), "{problems:?}");
    }

    #[test]
    fn a_directive_for_summaries_that_is_not_there_is_told() {
        let items = Items::list(&Spaces::embedded());
        for name in [SUMMARY_DIRECTIVE, CONTINUATION_DIRECTIVE] {
            let said = |id: &str| {
                let text = format!(
                    "```xml\n<directive name=\"a\" version=\"1.0.0\"><metadata><description>d</description>\n\
                     <{name}>{id}</{name}></metadata></directive>\n```\nGo.\n"
                );
                self::text(Kind::Directive, &text, Path::new("a.md"), None, Some(&items))
            };
            let problems = said("levain/chad");
            assert_eq!((problems[0].severity, problems[0].line), (Severity::Warning, Some(3)), "{problems:?}");
            assert!(problems[0].message.contains("did you mean `levain/chat`"), "{problems:?}");
            assert!(said("levain/chat").is_empty());
        }
    }

    #[test]
    fn s16_a_misspelt_provider_is_told_with_the_nearest() {
        let items = Items::list(&Spaces::embedded());
        let text = "```xml\n<directive name=\"a\" version=\"1.0.0\"><metadata><description>d</description>\
             <context><provider>tiem</provider></context></metadata></directive>\n```\nGo.\n";
        let problems = self::text(Kind::Directive, text, Path::new("a.md"), None, Some(&items));
        assert_eq!(problems[0].message, "there is no context provider `tiem` (did you mean `time`?)");
    }

    #[test]
    fn a_provider_of_the_program_is_no_missing_knowledge() {
        let items = Items::list(&Spaces::embedded());
        for provider in BuiltInProvider::ALL {
            let text = format!(
                "```xml\n<directive name=\"a\" version=\"1.0.0\"><metadata><description>d</description>\
                 <context><provider>{}</provider></context></metadata></directive>\n```\nGo.\n",
                provider.name()
            );
            assert_eq!(self::text(Kind::Directive, &text, Path::new("a.md"), None, Some(&items)), []);
        }
    }
}
