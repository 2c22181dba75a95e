//! How dangerous capabilities are, as the settings have it. A project's file is laid over the person's, and both count:
//! see [`Risks`].

use super::{Cascade, Node, Tree};
use crate::domain::{Classification, Problem, RiskLevel, RiskPolicy, RiskTable, Risks, Severity, meant};
use serde_json::Value;

pub(super) const FILE: &str = "capability_risk";

impl Cascade {
    /// What is classified. A mistake is fatal: passing over it could make something milder than was written.
    #[must_use]
    pub fn risks(&self) -> (Risks, Vec<Problem>) {
        let mut reading = Reading { cascade: self, problems: Vec::new() };
        let whole = self.get(FILE).map(|node| reading.table(node));
        let own = self.get_own(FILE);
        // What is wrong with the person's was told with the whole.
        let own = own.map(|node| Reading { cascade: self, problems: Vec::new() }.table(node));
        let mut tables: Vec<RiskTable> = own.into_iter().chain(whole).collect();
        tables.dedup();
        (Risks { tables }, reading.problems)
    }
}

struct Reading<'a> {
    cascade: &'a Cascade,
    problems: Vec<Problem>,
}

impl Reading<'_> {
    fn tell(&mut self, node: &Node, message: String, remedy: String) {
        if let Some(origin) = self.cascade.origin(node) {
            self.problems.push(Problem::at(origin.file, origin.line, Severity::Fatal, message, remedy));
        }
    }

    fn table(&mut self, node: &Node) -> RiskTable {
        let mut table = RiskTable::default();
        if let Some(Node { tree: Tree::Map(levels), .. }) = node.child("levels") {
            for (name, level) in levels {
                if let Some(policy) = self.policy(name, level) {
                    table.levels.push(RiskLevel { name: name.clone(), policy });
                }
            }
        }
        for (number, node) in (1..).zip(node.child("classifications").map(Node::children).unwrap_or_default()) {
            let id = node.id().map_or_else(|| format!("classification {number}"), str::to_owned);
            let one = self.classification(&id, node, &table.levels);
            table.classifications.extend(one);
        }
        table
    }

    fn policy(&mut self, name: &str, level: &Node) -> Option<RiskPolicy> {
        let word = text(level.child("policy"));
        let known = RiskPolicy::ALL.iter().find(|(known, _)| *known == word);
        if known.is_none() {
            let message = format!("the level `{name}` has an unknown policy: `{word}`");
            self.tell(level, message, meant(&word, RiskPolicy::ALL.iter().map(|(known, _)| *known)));
        }
        known.map(|(_, policy)| *policy)
    }

    fn classification(&mut self, id: &str, node: &Node, levels: &[RiskLevel]) -> Option<Classification> {
        let pattern = text(node.child("pattern")).replace('/', ".");
        if pattern.is_empty() {
            let remedy = "write pattern: \"rye.execute.tool.team.*\"".to_owned();
            self.tell(node, format!("`{id}` classifies nothing"), remedy);
            return None;
        }
        let word = text(node.child("level"));
        let level = levels.iter().position(|level| level.name == word);
        if level.is_none() {
            let message = format!("`{id}` is of an unknown level: `{word}`");
            self.tell(node, message, meant(&word, levels.iter().map(|level| level.name.as_str())));
        }
        Some(Classification { pattern, level: level? })
    }
}

fn text(node: Option<&Node>) -> String {
    match node.map(|node| &node.tree) {
        Some(Tree::Plain(Value::String(text))) => text.trim().to_owned(),
        Some(Tree::Plain(_) | Tree::List(_) | Tree::Map(_)) | None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Layer;
    use super::*;
    use crate::domain::Space;
    use crate::domain::{Grant, Risk};
    use crate::items::Spaces;
    use crate::items::signature::TrustStore;
    use std::path::Path;

    fn risks(texts: &[(Space, &str)]) -> (Risks, Vec<String>) {
        let shipped =
            std::str::from_utf8(crate::items::space::embedded_file(".ai/config/agent/capability_risk.yaml").unwrap());
        let all = [(Space::System, shipped.unwrap())].into_iter().chain(texts.iter().copied());
        let layer = |space: Space| Layer { space, file: Path::new(&format!("{space:?}.yaml")).to_owned() };
        let (cascade, mistakes) =
            Cascade::merge(all.map(|(space, text)| (FILE, layer(space), text.to_owned())).collect());
        assert_eq!(mistakes, []);
        let (risks, problems) = cascade.risks();
        (risks, problems.iter().map(ToString::to_string).collect())
    }

    fn judged(risks: &Risks, pattern: &str) -> Risk {
        risks.judge(&mut [Grant::new(pattern, false)], &[]).pop().flatten().unwrap()
    }

    fn level(risks: &Risks, pattern: &str) -> String {
        judged(risks, pattern).level
    }

    #[test]
    fn s03_the_shipped_levels() {
        let (risks, problems) = Cascade::read(&Spaces::embedded(), &TrustStore::default()).0.risks();
        assert_eq!(problems, []);
        for (pattern, expected) in [
            ("rye.*", "unrestricted"),
            ("rye.*.tool.a", "unrestricted"),
            ("rye.execute.*", "elevated"),
            ("rye.execute.tool.rye.bash", "elevated"),
            ("rye.execute.tool.rye.web.*", "elevated"),
            ("rye.execute.tool.team.deploy", "elevated"),
            ("rye.execute.tool.levain.write-items", "elevated"),
            ("rye.execute.tool.rye.file-system.*", "write"),
            ("rye.execute.tool.rye.file-system.read", "safe"),
            ("rye.execute.tool.rye.agent.threads.*", "write"),
            ("rye.execute.tool.levain.memory.search", "safe"),
            ("rye.execute.tool.levain.memory.*", "write"),
            ("rye.execute.knowledge.*", "safe"),
            ("rye.fetch.*", "safe"),
            ("rye.fetch.knowledge.secret.*", "safe"),
            ("rye.sign.tool.a", "safe"),
        ] {
            assert_eq!(level(&risks, pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn s03_the_person_makes_milder_and_a_project_only_stricter() {
        let milder = "classifications:\n- {id: everything, pattern: \"rye.*\", level: safe}\n";
        assert_eq!(level(&risks(&[(Space::User, milder)]).0, "rye.*"), "elevated");
        assert_eq!(level(&risks(&[(Space::Project, milder)]).0, "rye.*"), "unrestricted");
        let policy = "levels: {unrestricted: {policy: allow}}\n";
        let risk = judged(&risks(&[(Space::Project, policy)]).0, "rye.*");
        assert_eq!(risk.policy, RiskPolicy::Block);
        let stricter =
            "classifications:\n- {id: ours, pattern: \"rye.fetch.knowledge.secret.*\", level: unrestricted}\n";
        let stricter = risks(&[(Space::User, ""), (Space::Project, stricter)]).0;
        assert_eq!(level(&stricter, "rye.fetch.knowledge.secret.a"), "unrestricted");
        assert_eq!(level(&stricter, "rye.fetch.*"), "unrestricted");
        assert_eq!(level(&stricter, "rye.fetch.knowledge.open.a"), "safe");
    }

    #[test]
    fn s03_mistakes_are_fatal_and_told_with_the_nearest() {
        let (_, problems) = risks(&[(
            Space::User,
            "levels:\n  odd: {policy: alow}\nclassifications:\n- {id: a, pattern: x, level: saef}\n- {id: b, level: safe}\n",
        )]);
        assert_eq!(
            problems,
            [
                "User.yaml:2: the level `odd` has an unknown policy: `alow`; did you mean `allow`?",
                "User.yaml:4: `a` is of an unknown level: `saef`; did you mean `safe`?",
                "User.yaml:5: `b` classifies nothing; write pattern: \"rye.execute.tool.team.*\"",
            ]
        );
    }
}
