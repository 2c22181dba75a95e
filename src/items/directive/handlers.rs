//! Handlers that a directive brings for its own threads: the list of `pipeline.yaml`, in `<handlers>` or in front matter.

use super::{Directive, Reading};
use crate::domain::{Problem, Severity, Space};
use crate::items::handler::{self, Handler, Handlers};
use crate::items::markup::Element;
use crate::items::{Items, Kind};
use serde_json::Value;

/// Reads one `<handlers>` behind those that are `known`.
pub(super) fn read(element: &Element, known: &mut Vec<Handler>, reading: &mut Reading<'_>) {
    reading.attributes(element, &[]);
    let (file, first) = (reading.file, element.lines.0);
    let mut all = Handlers { handlers: std::mem::take(known), ..Handlers::default() };
    if element.children.is_empty() {
        all.text(&element.text, first, file);
    } else {
        // Entries of front matter, read as YAML already.
        let entry = |child: &Element| serde_json::from_str(&child.text).unwrap_or(Value::Null);
        let lines: Vec<u32> = element.children.iter().map(|child| child.lines.0).collect();
        all.list(&element.children.iter().map(entry).collect(), &lines, (file, first), Space::Project);
    }
    *known = all.handlers;
    reading.problems.append(&mut all.problems);
}

impl Directive {
    /// Its handlers, written in a file of `space`.
    pub fn handlers_in(&self, space: Space) -> impl Iterator<Item = Handler> + '_ {
        self.handlers.iter().cloned().map(move |handler| Handler { space, ..handler })
    }

    /// Knowledge that its handlers add and that is not there.
    #[must_use]
    pub fn missing_of_handlers(&self, items: &Items) -> Vec<Problem> {
        handler::missing(&self.handlers, items)
    }
}

impl Handlers {
    /// Those that are asked in threads of the directive `id`: of the files, then its own. As with hooks, those of directives
    /// that it extends are not among them.
    #[must_use]
    pub fn of_threads(items: &Items, id: &str) -> Self {
        let mut all = Self::read(items);
        // Where there is none, no thread begins.
        let Some(found) = items.get(Kind::Directive, id) else { return all };
        let text = match items.read(found.item) {
            Ok(text) => text,
            Err(problem) => {
                all.problems.push(Problem { severity: Severity::Fatal, ..problem });
                return all;
            }
        };
        let (directive, mut problems) = Directive::parse(&text, &items.file(found.item));
        problems.retain(|problem| problem.severity == Severity::Fatal);
        all.problems.append(&mut problems);
        all.problems.append(&mut directive.missing_of_handlers(items));
        let space = items.space(found.item);
        if space == Space::Project && !directive.handlers.is_empty() {
            all.authority = Some((found.item.path.clone(), directive.authority()));
        }
        all.handlers.extend(directive.handlers_in(space));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Stage;
    use crate::items::handler::Action;
    use std::path::Path;

    /// The handlers, and what is wrong, of a directive whose `<handlers>` stands on line 4.
    fn in_xml(list: &str) -> (Vec<Handler>, Vec<Problem>) {
        let text = format!(
            "```xml\n<directive name=\"a\" version=\"1.0.0\">\n<metadata>\n<handlers>{list}</handlers>\n</metadata>\n</directive>\n```\nDo it."
        );
        let (directive, problems) = Directive::parse(&text, Path::new("a.md"));
        (directive.handlers, problems)
    }

    /// The same for front matter whose `handlers` stand on line 3.
    fn in_front(list: &str) -> (Vec<Handler>, Vec<Problem>) {
        let text = format!("---\nname: a\n{list}\nversion: \"1.0.0\"\n---\nDo it.");
        let (directive, problems) = Directive::parse(&text, Path::new("a.md"));
        (directive.handlers, problems)
    }

    fn shape(handlers: &[Handler]) -> Vec<(&str, Stage, u32)> {
        handlers.iter().map(|one| (one.id.as_str(), one.stage, one.line)).collect()
    }

    #[test]
    fn both_forms_are_the_list_of_the_file_with_the_lines_of_the_directive() {
        let (handlers, problems) = in_xml(
            "\n    # Before everything.\n    - id: less\n      stage: input\n      when: {path: text, op: regex, value: \"a &lt; b\"}\n      \
             append: \" (a < b)\"\n\n    <!-- of\n    two lines -->\n    - stage: tool_call\n      block: |\n        - not\n        today\n    \
             - {id: off, stage: input, handled: true, enabled: false}\n  ",
        );
        assert_eq!(problems, []);
        assert_eq!(shape(&handlers), [("less", Stage::Input, 6), ("tool_call@13", Stage::ToolCall, 13)]);
        let Action::Block(why) = &handlers[1].action else { panic!("{handlers:?}") };
        assert_eq!(why, "- not\ntoday\n");
        assert!(format!("{:?}", handlers[0].condition).contains("a < b"), "{handlers:?}");
        for list in [
            "handlers:\n- id: a\n  stage: input\n  append: x\n# b\n- stage: context\n  keep_last: 3",
            "handlers:\n  - id: a\n    stage: input\n    append: x\n\n  - stage: context\n    keep_last: 3",
        ] {
            let (handlers, problems) = in_front(list);
            assert_eq!(problems, []);
            assert_eq!(shape(&handlers), [("a", Stage::Input, 4), ("context@8", Stage::Context, 8)], "{list}");
        }
        for empty in ["", "\n", "\n  # none\n"] {
            assert_eq!(in_xml(empty).1, [], "{empty:?}");
        }
        assert_eq!(in_front("handlers:").1, []);
    }

    #[test]
    fn a_mistake_is_fatal_and_names_its_line() {
        for (list, line, expected) in [
            ("\n- stage: imput\n  handled: true\n", 5, "no stage `imput` (did you mean `input`?)"),
            ("\n- stage: input\n  append: x\n- stage: tool_call\n  blok: true\n", 7, "unknown name `blok`"),
            ("\n- stage: input\n  append: [x\n", 7, "is not valid YAML"),
            ("\nhandlers:\n- stage: input\n  append: x\n", 4, "`handlers` is no list"),
            ("stop", 4, "`handlers` is no list"),
            ("<handler>input</handler>", 4, "`handlers` is no list"),
            ("\n- stage: input\n  append: x\n- stop\n", 7, "must be a mapping"),
            (
                "\n- {id: a, stage: input, handled: true}\n- {id: a, stage: input, handled: true}\n",
                6,
                "stands at line 5",
            ),
            ("</handlers>\n<handler>", 5, "<handler> has no effect"),
        ] {
            let (handlers, problems) = in_xml(list);
            let found = problems.iter().find(|problem| problem.to_string().contains(expected));
            let found = found.unwrap_or_else(|| panic!("{expected}: {handlers:?} {problems:?}"));
            assert_eq!((found.severity, found.line), (Severity::Fatal, Some(line)), "{expected}: {problems:?}");
        }
        for (list, line, expected) in [
            (
                "handlers:\n- stage: input\n  append: x\n- stage: context\n  append: x",
                6,
                "`append` has no meaning at context",
            ),
            ("handlers: |\n  - stage: input\n    append: x", 3, "`handlers` is no list"),
            ("handlers: {stage: input}", 3, "`handlers` is no list"),
            ("handlers: [{stage: input}]", 3, "does nothing"),
        ] {
            let (_, problems) = in_front(list);
            let found = problems.iter().find(|problem| problem.to_string().contains(expected));
            let found = found.unwrap_or_else(|| panic!("{expected}: {problems:?}"));
            assert_eq!((found.severity, found.line), (Severity::Fatal, Some(line)), "{expected}");
        }
        let beside = "```xml\n<directive name=\"a\">\n<handlers>\n- stage: input\n  append: x\n</handlers></directive>\n```\nDo it.";
        let (directive, problems) = Directive::parse(beside, Path::new("a.md"));
        assert_eq!(directive.handlers.len(), 0);
        assert!(problems.iter().any(|one| one.severity == Severity::Fatal && one.line == Some(3)), "{problems:?}");
    }

    #[test]
    fn what_handlers_do_is_part_of_what_a_directive_decides() {
        let authority = |list: &str| {
            let text = format!("---\nname: a\n{list}---\nDo it.");
            Directive::parse(&text, Path::new("a.md")).0.authority()
        };
        let plain = authority("");
        let one = authority("handlers:\n- id: a\n  stage: tool_call\n  block: no\n");
        assert_ne!(plain, one);
        assert_eq!(one, authority("description: b\nhandlers:\n- id: b\n  stage: tool_call\n  block: no\n"));
        assert_ne!(one, authority("handlers:\n- id: a\n  stage: tool_call\n  block: never\n"));
        assert_ne!(
            one,
            authority("handlers:\n- id: a\n  stage: tool_call\n  when: {path: a, op: eq, value: 1}\n  block: no\n")
        );
        assert_eq!(plain, authority("handlers:\n- {id: a, stage: tool_call, block: no, enabled: false}\n"));
    }

    proptest::proptest! {
        #[test]
        fn whatever_is_written_is_read_or_told(text in "[ -~\n]{0,200}", cut in "(<|</handlers>|&lt;|- stage: input|\n|  append: x|<!--|-->|a){0,30}") {
            let _no_panic = in_xml(&text);
            let _no_panic = in_front(&text);
            for (handlers, problems) in [in_xml(&cut), in_front(&format!("handlers:\n{cut}"))] {
                let lines = |line: u32| (1..=300).contains(&line);
                proptest::prop_assert!(handlers.iter().all(|one| lines(one.line)));
                proptest::prop_assert!(problems.iter().filter_map(|one| one.line).all(lines));
            }
        }
    }
}
