//! Capability files: YAML below `.ai/tools/rye/agent/permissions/capabilities` of every space, which give short names to
//! capabilities and say what follows from them; and what a directive grants with them.
//!
//! A directive's grants are expanded here and nowhere else. A file of a nearer space takes the place of one of the same
//! name. What does not read, an unknown name or a circle refuses the directive that uses it: passing over it could grant
//! more than somebody wrote.

mod file;
#[cfg(test)]
mod tests;

pub use file::{CapabilityFile, Entry};

use super::directive::{Located, is_capability};
use super::{Item, ItemId, Items, Kind};
use crate::domain::pattern::{covers, meet};
use crate::domain::{Grant, Problem, Severity, Space, nearest};
use std::path::Path;

/// The beginning of the files' ids.
const FOLDER: &str = "rye/agent/permissions/capabilities/";

/// A directive that is granted more patterns than this means something else.
const MOST: usize = 1_000;

/// Whether files of the project count: only what the person trusts decides what words mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProjectFiles {
    Counted,
    Ignored,
}

/// All capability files that count, and what there is to say of the others.
#[derive(Clone, Debug, Default)]
pub struct Capabilities {
    /// Those that read, the nearest first, each with its place in the list of roots.
    files: Vec<(usize, CapabilityFile)>,
    /// Those that do not.
    broken: Vec<Broken>,
    /// Those of a project that is not trusted, as far as they read.
    ignored: Vec<CapabilityFile>,
}

#[derive(Clone, Debug)]
struct Broken {
    stem: String,
    /// What could be read of it.
    text: String,
    problem: Problem,
}

/// How far one is with what a directive's grants imply.
struct Implying<'a> {
    /// What it grants itself.
    direct: &'a [Located<Grant>],
    /// From one of those to what is looked at.
    path: Vec<String>,
    /// What was followed to its end, and whether it asks.
    done: Vec<(String, bool)>,
    grants: &'a mut Vec<Located<Grant>>,
}

/// An alias, and where it is written.
#[derive(Clone, Copy, Debug)]
struct Alias<'a> {
    entry: &'a Entry,
    file: &'a Path,
    root: usize,
}

/// The name of the capability file that `item` is.
#[must_use]
pub fn stem(item: &Item) -> Option<&str> {
    stem_of(&item.id, Path::new(&item.path)).filter(|_| item.kind == Kind::Tool)
}

/// The name of the capability file that lies at `path` as the tool `id`.
pub(super) fn stem_of<'a>(id: &'a ItemId, path: &Path) -> Option<&'a str> {
    id.as_str().strip_prefix(FOLDER).filter(|_| is_yaml(path))
}

fn is_yaml(path: &Path) -> bool {
    matches!(path.extension().and_then(|ending| ending.to_str()), Some("yaml" | "yml"))
}

/// Whether a project has capability files, so that it matters whether it is trusted.
#[must_use]
pub fn in_project(items: &Items) -> bool {
    items.iter().any(|found| stem(found.item).is_some() && items.space(found.item) == Space::Project)
}

impl Capabilities {
    /// Reads the files of all spaces.
    #[must_use]
    pub fn read(items: &Items, project: ProjectFiles) -> Self {
        let mut read = Self::default();
        for found in items.iter() {
            let Some(stem) = stem(found.item) else { continue };
            for item in std::iter::once(found.item).chain(found.shadows).filter(|item| is_yaml(Path::new(&item.path))) {
                let file = items.file(item);
                let text = items.read(item);
                let parsed = text.as_ref().map(|text| CapabilityFile::parse(text, &file, stem)).map_err(Clone::clone);
                if items.space(item) == Space::Project && project == ProjectFiles::Ignored {
                    read.ignored.extend(parsed.ok().map(|(file, _)| file));
                    continue;
                }
                let refusal = match &parsed {
                    Ok((_, problems)) => Problem::refusal(problems).cloned(),
                    Err(problem) => Some(problem.clone()),
                };
                let root = items.roots().iter().position(|root| Some(root) == items.root(item)).unwrap_or(usize::MAX);
                match (refusal, parsed) {
                    (None, Ok((file, _))) => read.files.push((root, file)),
                    (problem, _) => {
                        let problem = problem.into_iter();
                        let text = text.map(std::borrow::Cow::into_owned).unwrap_or_default();
                        read.broken.extend(problem.map(|problem| Broken {
                            stem: stem.to_owned(),
                            text: text.clone(),
                            problem,
                        }));
                    }
                }
                break;
            }
        }
        read.files.sort_by_key(|(root, _)| *root);
        read
    }

    fn aliases(&self) -> impl Iterator<Item = Alias<'_>> {
        self.files.iter().flat_map(|(root, file)| {
            file.aliases.iter().map(move |entry| Alias { entry, file: &file.file, root: *root })
        })
    }

    /// What the directive in `file` grants: what `said` names as it is written, aliases as what they stand for, and what
    /// follows from either, each with the lines of what it comes of. `ask` of a grant holds for all of that.
    ///
    /// # Errors
    /// A fatal [`Problem`] where that cannot be said.
    pub fn expand(&self, said: &[Located<Grant>], file: &Path) -> Result<Vec<Located<Grant>>, Problem> {
        let mut grants = Vec::new();
        for one in said {
            if is_capability(&one.value.capability) {
                grants.push(one.clone());
            } else {
                let using = Using { file, line: one.lines.0 };
                self.unfold(&one.value.capability, one, using, &mut Vec::new(), &mut grants)?;
            }
            if grants.len() > MOST {
                let message = format!("grants more than {MOST} patterns");
                return Err(Problem::at(file, one.lines.0, Severity::Fatal, message, "grant fewer, with wildcards"));
            }
        }
        let direct = grants.clone();
        let mut implying = Implying { direct: &direct, path: Vec::new(), done: Vec::new(), grants: &mut grants };
        for one in &direct {
            implying.path = vec![one.value.capability.clone()];
            self.imply(one, &mut implying)?;
        }
        Ok(grants)
    }

    /// What the alias `name` stands for, as the directive grants it by `one`.
    fn unfold(
        &self,
        name: &str,
        one: &Located<Grant>,
        using: Using<'_>,
        path: &mut Vec<String>,
        grants: &mut Vec<Located<Grant>>,
    ) -> Result<(), Problem> {
        let alias = self.alias(name, using)?;
        let here = Using { file: alias.file, line: alias.entry.line };
        if path.iter().any(|known| known == name) {
            return Err(circle(here, "the alias leads back to itself", path, name));
        }
        path.push(name.to_owned());
        for capability in &alias.entry.stands_for {
            if is_capability(capability) {
                let via = Some(format!("{}, {}", path.first().map_or(name, String::as_str), here.place()));
                let value = Grant { capability: capability.clone(), via, ..one.value.clone() };
                let known =
                    |other: &Located<Grant>| other.value.capability == value.capability && other.value.ask == value.ask;
                if !grants.iter().any(known) {
                    grants.push(Located { value, lines: one.lines });
                }
            } else {
                self.unfold(capability, one, here, path, grants)?;
            }
        }
        path.pop();
        Ok(())
    }

    /// The alias of that name in the nearest space that has it.
    fn alias(&self, name: &str, using: Using<'_>) -> Result<Alias<'_>, Problem> {
        let found = self.aliases().find(|alias| alias.entry.name == name);
        // A file that does not read may have meant something else by it.
        let home = name.split('.').next().unwrap_or(name);
        if let Some(broken) = self.broken.iter().find(|one| one.stem == home || one.text.contains(name)) {
            let message = format!("`{name}` cannot be granted: {}", broken.problem.without_remedy());
            return Err(using.fatal(message, broken.problem.remedy.clone()));
        }
        let Some(found) = found else { return Err(self.unknown(name, using)) };
        let rival = self.aliases().filter(|other| other.root == found.root && other.entry.name == name).nth(1);
        if let Some(rival) = rival {
            let other = Using { file: rival.file, line: rival.entry.line };
            let here = Using { file: found.file, line: found.entry.line };
            let message = format!("`{name}` is there twice: {} and {}", here.place(), other.place());
            return Err(using.fatal(message, "keep one of the two"));
        }
        Ok(found)
    }

    fn unknown(&self, name: &str, using: Using<'_>) -> Problem {
        let message = format!("`{name}` is no capability, and no alias of one");
        let ignored = self.ignored.iter().find(|file| file.aliases.iter().any(|entry| entry.name == name));
        if let Some(file) = ignored {
            let message =
                format!("{message} that counts: {} is of a project that you do not trust", file.file.display());
            return using.fatal(message, "look at it, then run levain trust");
        }
        let mut known: Vec<&str> = self.aliases().map(|alias| alias.entry.name.as_str()).collect();
        known.sort_unstable();
        known.dedup();
        let remedy = match nearest(name, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if known.is_empty() => "write a capability, such as rye.execute.tool.team.*".to_owned(),
            None => format!("write a capability, such as rye.execute.tool.team.*, or one of {}", known.join(", ")),
        };
        using.fatal(message, remedy)
    }

    /// Adds what follows from `one`, where the directive does not say itself what holds for it. What meets a grant that
    /// asks is asked for too.
    fn imply(&self, one: &Located<Grant>, implying: &mut Implying<'_>) -> Result<(), Problem> {
        let Located { value: grant, lines } = one;
        for (capability, rule) in self.implied(&grant.capability) {
            if implying.path.contains(&capability) {
                return Err(circle(rule, "what is implied leads back to itself", &implying.path, &capability));
            }
            let mut direct = implying.direct.iter().map(|other| &other.value);
            let asks = direct.clone().any(|other| other.ask && meet(&other.capability, &capability));
            let is_said = direct.any(|other| covers(&other.capability, &capability));
            let via = Some(format!("implied by {}, {}", grant.capability, rule.place()));
            let (ask, sandbox) = (grant.ask || asks, grant.sandbox && !asks);
            let value = Grant { capability, ask, sandbox, via, ..grant.clone() };
            let implied = Located { value, lines: *lines };
            let seen = (implied.value.capability.clone(), implied.value.ask);
            if implying.done.contains(&seen) {
                continue;
            }
            implying.path.push(implied.value.capability.clone());
            self.imply(&implied, implying)?;
            implying.path.pop();
            implying.done.push(seen);
            if implying.done.len() > MOST {
                return Err(rule.fatal(format!("more than {MOST} capabilities are implied"), "imply fewer"));
            }
            if !is_said {
                implying.grants.push(implied);
            }
        }
        Ok(())
    }

    /// What a grant of `capability` implies at once, and by which line.
    fn implied<'a>(&'a self, capability: &str) -> Vec<(String, Using<'a>)> {
        let mut all = Vec::new();
        for (_, CapabilityFile { file, implies, hierarchy, .. }) in &self.files {
            for Entry { name, stands_for, line } in implies {
                let below = capability.strip_prefix("rye.").and_then(|rest| rest.strip_prefix(name.as_str()));
                let Some(rest) = below.filter(|rest| rest.starts_with('.')) else { continue };
                all.extend(stands_for.iter().map(|other| (format!("rye.{other}{rest}"), Using { file, line: *line })));
            }
            for Entry { name, stands_for, line } in hierarchy {
                if covers(capability, name) {
                    all.extend(stands_for.iter().map(|other| (other.clone(), Using { file, line: *line })));
                }
            }
        }
        all
    }

    /// What is wrong with one of the files by itself and beside the others.
    #[must_use]
    pub fn check(&self, file: &CapabilityFile) -> Vec<Problem> {
        let mut problems = Vec::new();
        let starts = file.aliases.iter().map(|entry| entry.name.clone());
        let implied = file.hierarchy.iter().map(|entry| entry.name.clone());
        let primaries = file.implies.iter().map(|entry| format!("rye.{}.tool.x", entry.name));
        let lines =
            [&file.aliases, &file.hierarchy, &file.implies].map(|entries| entries.iter().map(|entry| entry.line));
        for (name, line) in starts.chain(implied).chain(primaries).zip(lines.into_iter().flatten()) {
            let said = [Located { value: Grant::new(name, false), lines: (line, line) }];
            if let Err(problem) = self.expand(&said, &file.file)
                && !problems.contains(&problem)
            {
                problems.push(problem);
            }
        }
        problems
    }
}

/// Where a name is used.
#[derive(Clone, Copy, Debug)]
struct Using<'a> {
    file: &'a Path,
    line: u32,
}

impl Using<'_> {
    fn place(self) -> String {
        format!("{}:{}", self.file.display(), self.line)
    }

    fn fatal(self, message: impl Into<String>, remedy: impl Into<String>) -> Problem {
        Problem::at(self.file, self.line, Severity::Fatal, message, remedy)
    }
}

fn circle(here: Using<'_>, what: &str, path: &[String], again: &str) -> Problem {
    let names: Vec<&str> = path.iter().map(String::as_str).skip_while(|name| *name != again).chain([again]).collect();
    here.fatal(format!("{what}: {}", names.join(" → ")), "remove one of them")
}
