//! The index of all items: which file an id means, and which files it shadows.
//!
//! It is made by listing folders and opens no file. A text is read when it is asked for, and then it is made sure once
//! more that the file lies in its space.

use super::id::{ItemId, Kind, is_same};
use super::signature::{Covers, SignatureLayout, TrustStore, Verdict, verify};
use super::space::{Place, Root, Spaces, embedded_file, embedded_files};
use super::walk;
use crate::domain::{Policies, Policy, Problem, Severity, Space};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Longest text of an item that is read: one mebibyte, more than most context windows hold.
const LONGEST: u64 = 1 << 20;

/// A file that can be meant by an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    pub kind: Kind,
    pub id: ItemId,
    /// Relative to its root: `.ai/directives/team/deploy.md`.
    pub path: String,
    root: usize,
    rank: usize,
}

/// The item an id means, and the files that would be meant without it.
#[derive(Clone, Copy, Debug)]
pub struct Found<'a> {
    pub item: &'a Item,
    pub shadows: &'a [Item],
}

/// No item has this id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no {kind} `{asked}`{}", suggestion(near))]
pub struct NotFound {
    pub kind: Kind,
    pub asked: String,
    /// Ids that might have been meant, the likeliest first.
    pub near: Vec<String>,
}

fn suggestion(near: &[String]) -> String {
    let names: Vec<_> = near.iter().map(|id| format!("`{id}`")).collect();
    match names.len() {
        0 => String::new(),
        1 => format!(" (did you mean {}?)", names.concat()),
        _ => format!(" (did you mean one of {}?)", names.join(", ")),
    }
}

/// Every item of the spaces, as they were when it was made.
#[derive(Clone, Debug, Default)]
pub struct Items {
    spaces: Spaces,
    /// For each id its files, the one that is meant first.
    files: BTreeMap<(Kind, ItemId), Vec<Item>>,
    /// The same for ids of base items, with the files of the other id among them.
    bases: BTreeMap<(Kind, ItemId), Vec<Item>>,
    problems: Vec<Problem>,
    /// Whose signatures are believed.
    trust: TrustStore,
    policies: Policies,
}

impl Items {
    /// Lists all folders.
    #[must_use]
    pub fn list(spaces: &Spaces) -> Self {
        Self::list_kinds(spaces, &Kind::ALL)
    }

    /// Lists the folders of some kinds.
    #[must_use]
    pub fn list_kinds(spaces: &Spaces, kinds: &[Kind]) -> Self {
        let mut index = Self { spaces: spaces.clone(), ..Self::default() };
        for (number, root) in spaces.roots().iter().enumerate() {
            match &root.place {
                Place::Folder(base) => index.add_folder(number, root, base, kinds),
                Place::Embedded => index.add_embedded(number, kinds),
            }
        }
        for files in index.files.values_mut() {
            files.sort_by(|one, other| (one.root, one.rank, &one.path).cmp(&(other.root, other.rank, &other.path)));
        }
        index.tell_twins();
        index.join_bases();
        index.problems.sort_by(|one, other| one.file.cmp(&other.file));
        index
    }

    fn add_folder(&mut self, number: usize, root: &Root, base: &Path, kinds: &[Kind]) {
        if root.bundle.is_some() && !base.join(".ai").is_dir() {
            let message = "this system space holds no `.ai` folder";
            let remedy = "name folders that hold one in `bundles` of config.toml, or in LEVAIN_SYSTEM_SPACE";
            self.problems.push(Problem::at(base, None, Severity::Warning, message, remedy));
        }
        for &kind in kinds {
            for file in walk::files(kind, root, base, &mut self.problems) {
                self.add(Item { kind, id: file.id, path: file.path, root: number, rank: file.rank });
            }
        }
    }

    fn add_embedded(&mut self, number: usize, kinds: &[Kind]) {
        for (path, _) in embedded_files() {
            for &kind in kinds {
                let below = path.strip_prefix(".ai/").and_then(|rest| rest.strip_prefix(kind.folder()));
                if let Some((id, rank)) = below.and_then(|rest| walk::item(kind, rest.strip_prefix('/')?)) {
                    self.add(Item { kind, id, path: path.to_owned(), root: number, rank });
                }
            }
        }
    }

    fn add(&mut self, item: Item) {
        self.files.entry((item.kind, item.id.clone())).or_default().push(item);
    }

    /// Shipped base items answer to the original's ids too. Knowledge of either id replaces the other's; a directive that
    /// is asked for by its shipped id is never another one, since that would change what it grants.
    fn join_bases(&mut self) {
        for (kind, shipped) in self.files.keys() {
            let Some(original) = shipped.original() else { continue };
            let of = |id: &ItemId| self.files.get(&(*kind, id.clone())).map_or(&[][..], Vec::as_slice);
            if !of(shipped).iter().any(|item| self.root(item).is_some_and(|root| root.place == Place::Embedded)) {
                continue;
            }
            let joined = |asked: &ItemId, other: &ItemId| {
                let mut all = [of(asked), of(other)].concat();
                all.sort_by_key(|item| item.root);
                ((*kind, asked.clone()), all)
            };
            self.bases.extend([joined(&original, shipped)]);
            if *kind == Kind::Knowledge {
                self.bases.extend([joined(shipped, &original)]);
            }
        }
    }

    /// Two files of one id in one space: the winner is certain, yet hardly meant.
    fn tell_twins(&mut self) {
        for files in self.files.values() {
            for pair in files.windows(2) {
                let [first, second] = pair else { continue };
                if first.root == second.root {
                    let message = format!("has the same id as {}, which wins", first.path);
                    let file = self.file(second);
                    self.problems.push(Problem::at(&file, None, Severity::Warning, message, "rename one of them"));
                }
            }
        }
    }

    /// What is wrong with the folders themselves.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Every id with the file it means, by kind and id.
    pub fn iter(&self) -> impl Iterator<Item = Found<'_>> {
        self.files.values().filter_map(|files| files.split_first().map(|(item, shadows)| Found { item, shadows }))
    }

    /// The ids of one kind that files have, in order.
    pub fn ids(&self, kind: Kind) -> impl Iterator<Item = &ItemId> {
        self.files.keys().filter(move |(other, _)| *other == kind).map(|(_, id)| id)
    }

    /// The item that `id` means.
    ///
    /// # Errors
    /// [`NotFound`] with ids that look like it.
    pub fn find(&self, kind: Kind, id: &str) -> Result<Found<'_>, NotFound> {
        self.get(kind, id).ok_or_else(|| NotFound { kind, asked: id.to_owned(), near: self.near(kind, id) })
    }

    /// As [`Self::find`], where nobody is told what else there is: comparing all ids takes far longer than to look for one.
    #[must_use]
    pub fn get(&self, kind: Kind, id: &str) -> Option<Found<'_>> {
        let key = (kind, ItemId::parse(id).ok()?);
        let (item, shadows) = self.bases.get(&key).or_else(|| self.files.get(&key))?.split_first()?;
        Some(Found { item, shadows })
    }

    /// At most five ids: those that end alike first, then those a few letters off.
    fn near(&self, kind: Kind, asked: &str) -> Vec<String> {
        let last = |id: &str| id.rsplit('/').next().unwrap_or(id).to_lowercase();
        let asked_last = last(asked);
        let mut near: Vec<(usize, &ItemId)> = self
            .ids(kind)
            .chain(self.bases.keys().filter(|key| key.0 == kind && !self.files.contains_key(key)).map(|(_, id)| id))
            .filter_map(|id| {
                let distance = strsim::osa_distance(&asked.to_lowercase(), &id.as_str().to_lowercase())
                    .min(strsim::osa_distance(&asked_last, &last(id.as_str())) + 1);
                (distance <= 1 + asked_last.chars().count() / 3).then_some((distance, id))
            })
            .collect();
        near.sort();
        let mut told: Vec<String> = Vec::new();
        for (_, id) in near {
            if told.len() < 5 && !told.iter().any(|other| is_same(other, id.as_str())) {
                told.push(id.as_str().to_owned());
            }
        }
        told
    }

    /// The roots of the spaces, the one that wins first.
    #[must_use]
    pub fn roots(&self) -> &[Root] {
        self.spaces.roots()
    }

    /// The text at `path` below a root, such as `.ai/config/agent/hooks.yaml`, with what there is to say about its signature;
    /// `None` when there is no such file. An error, as for an item, where signatures are required and its own is missing or bad.
    pub(super) fn read_at(&self, root: &Root, path: &str) -> Option<Result<Judged, Problem>> {
        match &root.place {
            Place::Folder(base) => {
                base.join(path).symlink_metadata().ok()?;
                let told = root.file(path);
                let bad = |message: String, remedy: &str| Problem::at(&told, None, Severity::Error, message, remedy);
                let text = match read_inside(base, path, &bad) {
                    Ok(text) => text,
                    Err(problem) => return Some(Err(problem)),
                };
                let verdict = self.verdict(root, path, &text);
                let objection = verdict.and_then(|verdict| self.objects(root, &told, &verdict));
                Some(match objection {
                    Some(problem) if problem.severity >= Severity::Error => Err(problem),
                    objection => Ok((Cow::Owned(text), objection)),
                })
            }
            Place::Embedded => {
                std::str::from_utf8(embedded_file(path)?).ok().map(|text| Ok((Cow::Borrowed(text), None)))
            }
        }
    }

    /// The root an item lies in.
    #[must_use]
    pub fn root(&self, item: &Item) -> Option<&Root> {
        self.spaces.roots().get(item.root)
    }

    /// The space an item lies in.
    #[must_use]
    pub fn space(&self, item: &Item) -> Space {
        self.root(item).map_or(Space::System, |root| root.space)
    }

    /// The item's file, as told to people.
    #[must_use]
    pub fn file(&self, item: &Item) -> PathBuf {
        self.root(item).map_or_else(|| PathBuf::from(&item.path), |root| root.file(&item.path))
    }

    /// The items of the same spaces as they are now, judged as these are.
    #[must_use]
    pub fn afresh(&self) -> Self {
        Self::list(&self.spaces).judged(self.trust.clone(), self.policies)
    }

    /// The same items, judged by who signed them.
    #[must_use]
    pub fn judged(self, trust: TrustStore, policies: Policies) -> Self {
        Self { trust, policies, ..self }
    }

    /// What the signature of an item with this text is worth; none where nobody wants to know: in the program itself,
    /// and where the policy is off.
    #[must_use]
    pub fn signature(&self, item: &Item, text: &str) -> Option<Verdict> {
        self.verdict(self.root(item)?, &item.path, text)
    }

    fn verdict(&self, root: &Root, path: &str, text: &str) -> Option<Verdict> {
        if root.place == Place::Embedded || self.policies.of(root.space) == Policy::Off {
            return None;
        }
        let layout = SignatureLayout::of(Path::new(path));
        Some(layout.map_or(Verdict::Unsigned, |layout| verify(text, layout, &self.trust)))
    }

    /// What there is to say about an item's signature: an error where the item must not be used.
    #[must_use]
    pub fn objection(&self, item: &Item, text: &str) -> Option<Problem> {
        self.objects(self.root(item)?, &self.file(item), &self.signature(item, text)?)
    }

    /// The same of the file of a root whose signature is worth that.
    fn objects(&self, space: &Root, file: &Path, verdict: &Verdict) -> Option<Problem> {
        let required = self.policies.of(space.space) == Policy::Require;
        let sign = format!("levain sign {}", file.display());
        let look = format!("look at it, then {sign}");
        let (message, remedy) = match verdict {
            Verdict::Valid { covers: Covers::Whole, .. } => return None,
            Verdict::Valid { covers: Covers::AllButBody, .. } | Verdict::Unsigned if !required => return None,
            Verdict::Valid { .. } => ("its signature does not cover its body".to_owned(), sign),
            Verdict::Unsigned => ("is not signed".to_owned(), sign),
            Verdict::Changed { .. } => ("was changed after it was signed".to_owned(), look),
            Verdict::Untrusted { fingerprint } => {
                let message = format!("is signed by {fingerprint}, whom you do not trust");
                (message, "to trust it, run: levain keys trust FILE --owner NAME".to_owned())
            }
            Verdict::Forged { fingerprint } => (format!("is not signed by {fingerprint}, as it says"), look),
            Verdict::Malformed { what } => (format!("its signature is malformed: {what}"), sign),
        };
        let (severity, message) = if required {
            (Severity::Error, format!("{message}, and items of the {space} space must be signed"))
        } else {
            (Severity::Warning, message)
        };
        Some(Problem::at(file, 1, severity, message, remedy))
    }

    /// The item's text, for use.
    ///
    /// # Errors
    /// A [`Problem`] when the file is gone, is no text, is too long, or has been replaced by a link out of its space,
    /// and where signatures are required and its own is missing or bad.
    pub fn read(&self, item: &Item) -> Result<Cow<'static, str>, Problem> {
        let text = self.look(item)?;
        match self.objection(item, &text) {
            Some(problem) if problem.severity >= Severity::Error => Err(problem),
            Some(_) | None => Ok(text),
        }
    }

    /// The item's text, to look at, whoever signed it.
    ///
    /// # Errors
    /// As [`Items::read`], without regard to signatures.
    pub fn look(&self, item: &Item) -> Result<Cow<'static, str>, Problem> {
        let told = self.file(item);
        let bad = |message: String, remedy: &str| Problem::at(&told, None, Severity::Error, message, remedy);
        match self.root(item).map(|root| &root.place) {
            Some(Place::Folder(base)) => read_inside(base, &item.path, &bad).map(Cow::Owned),
            Some(Place::Embedded) | None => embedded_file(&item.path)
                .and_then(|bytes| std::str::from_utf8(bytes).ok())
                .map(Cow::Borrowed)
                .ok_or_else(|| bad("is not in the program".to_owned(), "build it again")),
        }
    }
}

/// A text, and what there is to say about its signature.
pub(super) type Judged = (Cow<'static, str>, Option<Problem>);

/// The text at `path`, relative to `base`, made sure to lie in its `.ai`. `bad` makes a problem of a message and a remedy.
pub(super) fn read_inside(base: &Path, path: &str, bad: &dyn Fn(String, &str) -> Problem) -> Result<String, Problem> {
    let unreadable = |error: std::io::Error| bad(format!("could not be read: {error}"), "look at its permissions");
    let inside = fs::canonicalize(base.join(".ai")).map_err(unreadable)?;
    let real = fs::canonicalize(base.join(path)).map_err(unreadable)?;
    if !real.starts_with(&inside) {
        return Err(bad("this link leads out of its space".to_owned(), "copy the file"));
    }
    // A pipe would never end.
    if !real.is_file() {
        return Err(bad("is not a file".to_owned(), "remove it"));
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(real).map_err(unreadable)?;
    file.take(LONGEST + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > LONGEST {
        return Err(bad("is longer than one mebibyte".to_owned(), "split it: few models read that much"));
    }
    let text = String::from_utf8(bytes).map_err(|_bytes| bad("is not UTF-8 text".to_owned(), "save it as UTF-8"))?;
    Ok(text.strip_prefix('\u{feff}').map_or(text.clone(), str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    struct Tree {
        folder: tempfile::TempDir,
    }

    impl Tree {
        fn new(files: &[(&str, &str)]) -> Self {
            let tree = Self { folder: tempfile::tempdir().unwrap() };
            for (path, text) in files {
                let path = tree.path(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            tree
        }

        fn path(&self, path: &str) -> PathBuf {
            self.folder.path().join(path)
        }

        fn items(&self) -> Items {
            Items::list(&Spaces::new(&self.path("project"), &self.path("user"), [self.path("team")]))
        }
    }

    fn shape(items: &Items, found: Found<'_>) -> (String, Vec<String>) {
        let name = |item: &Item| format!("{} {}", items.root(item).unwrap(), item.path);
        (name(found.item), found.shadows.iter().map(name).collect())
    }

    #[test]
    fn the_first_space_wins_and_the_others_are_shadowed() {
        let tree = Tree::new(&[
            ("project/.ai/knowledge/a.yaml", ""),
            ("project/.ai/knowledge/a.md", "mine"),
            ("user/.ai/knowledge/a.md", ""),
            ("team/.ai/knowledge/a.yml", ""),
            ("team/.ai/knowledge/b/c.v2.md", "\u{feff}text"),
        ]);
        let items = tree.items();
        let found = items.find(Kind::Knowledge, "a").unwrap();
        assert_eq!(items.read(found.item).unwrap(), "mine");
        let (winner, shadows) = shape(&items, found);
        assert_eq!(winner, "project .ai/knowledge/a.md");
        let rest = ["project .ai/knowledge/a.yaml", "user .ai/knowledge/a.md", "system:team .ai/knowledge/a.yml"];
        assert_eq!(shadows, rest);
        assert_eq!(items.read(items.find(Kind::Knowledge, "b/c.v2").unwrap().item).unwrap(), "text");
        let problems: Vec<_> = items.problems().iter().map(|problem| problem.message.as_str()).collect();
        assert_eq!(problems, ["has the same id as .ai/knowledge/a.md, which wins"]);
    }

    #[test]
    fn s03_shipped_base_items_answer_to_the_ids_of_the_original() {
        let mine = "project/.ai/knowledge/rye/agent/core/Identity.md";
        let tree = Tree::new(&[(mine, ""), ("user/.ai/directives/rye/agent/core/base.md", "")]);
        let items = tree.items();
        let meant = |kind, id: &str| shape(&items, items.find(kind, id).unwrap());
        let shipped = |id: &str| format!("system .ai/knowledge/levain/core/{id}.md");
        for id in ["levain/core/Identity", "rye/agent/core/Identity"] {
            let expected = ("project .ai/knowledge/rye/agent/core/Identity.md".to_owned(), vec![shipped("Identity")]);
            assert_eq!(meant(Kind::Knowledge, id), expected, "{id}");
        }
        for name in ["Behavior", "Environment", "DirectiveInstruction", "protocol/execute", "protocol/fetch"] {
            let id = format!("rye/agent/core/{name}");
            assert_eq!(meant(Kind::Knowledge, &id), (shipped(name), Vec::new()), "{id}");
        }
        // What a directive grants is that of the id that was asked for.
        let base = |id: &str| meant(Kind::Directive, id).0;
        assert_eq!(base("rye/agent/core/base"), "user .ai/directives/rye/agent/core/base.md");
        assert_eq!(base("levain/core/base"), "system .ai/directives/levain/core/base.md");
        assert_eq!(base("rye/agent/core/base_review"), "system .ai/directives/levain/core/base_review.md");
        let near = items.find(Kind::Knowledge, "rye/agent/core/behavior").unwrap_err().near;
        assert!(near.contains(&"rye/agent/core/Behavior".to_owned()), "{near:?}");
    }

    #[test]
    fn a_link_stays_in_its_space() {
        let tree = Tree::new(&[
            ("secret/key.md", "secret"),
            ("user/.ai/knowledge/real/a.md", "a"),
            ("user/.ai/knowledge/swapped.md", "ours"),
        ]);
        let link = |target: &str, link: &str| symlink(tree.path(target), tree.path(link)).unwrap();
        link("secret", "user/.ai/knowledge/out");
        link("secret/key.md", "user/.ai/knowledge/key.md");
        link("user/.ai/knowledge/real", "user/.ai/knowledge/alias");
        link("user/.ai/knowledge", "user/.ai/knowledge/real/round");
        link("nowhere", "user/.ai/knowledge/gone.md");
        link("secret", "user/.ai/tools");
        let items = tree.items();
        let ids: Vec<_> = items.ids(Kind::Knowledge).map(ItemId::as_str).filter(|id| !id.contains("levain")).collect();
        assert_eq!(ids, ["alias/a", "real/a", "swapped"]);
        let messages: Vec<_> = items
            .problems()
            .iter()
            .filter(|problem| problem.file.as_ref().is_some_and(|file| file.starts_with(tree.path("user"))))
            .map(|problem| (problem.file.as_ref().unwrap().file_name().unwrap().to_str().unwrap(), problem.severity))
            .collect();
        let (warning, error) = (Severity::Warning, Severity::Error);
        let expected = [
            ("round", warning),
            ("gone.md", warning),
            ("key.md", error),
            ("out", error),
            ("round", warning),
            ("tools", error),
        ];
        assert_eq!(messages, expected);
        fs::remove_file(tree.path("user/.ai/knowledge/swapped.md")).unwrap();
        link("secret/key.md", "user/.ai/knowledge/swapped.md");
        let swapped = items.find(Kind::Knowledge, "swapped").unwrap().item;
        assert_eq!(items.read(swapped).unwrap_err().message, "this link leads out of its space");
    }

    #[test]
    fn an_unknown_id_is_told_its_neighbours() {
        let tree = Tree::new(&[("project/.ai/directives/team/deploy.md", ""), ("project/.ai/directives/chart.md", "")]);
        let items = tree.items();
        let near = |asked: &str| items.find(Kind::Directive, asked).unwrap_err().near;
        assert_eq!(near("deploy"), ["team/deploy"]);
        assert_eq!(near("team/depoly"), ["team/deploy"]);
        assert_eq!(near("zzz"), Vec::<String>::new());
        assert!(near("../chart").contains(&"chart".to_owned()));
        let error = items.find(Kind::Directive, "deploy").unwrap_err().to_string();
        assert_eq!(error, "there is no directive `deploy` (did you mean `team/deploy`?)");
    }

    #[test]
    fn what_cannot_be_read_is_told() {
        let tree = Tree::new(&[("project/.ai/knowledge/a.md", ""), ("project/.ai/knowledge/b.md", "")]);
        let items = tree.items();
        fs::write(tree.path("project/.ai/knowledge/a.md"), [0xff, 0xfe, 0x00]).unwrap();
        fs::remove_file(tree.path("project/.ai/knowledge/b.md")).unwrap();
        let said = |id: &str| items.read(items.find(Kind::Knowledge, id).unwrap().item).unwrap_err().message;
        assert_eq!(said("a"), "is not UTF-8 text");
        assert!(said("b").starts_with("could not be read"), "{}", said("b"));
    }
}
