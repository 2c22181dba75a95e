//! What a thread may do, as capability strings and patterns over them.
//!
//! A capability names a primary, a kind of item and an item: `rye.execute.tool.rye.file-system.read`. A grant is a
//! pattern in the manner of a shell: `*` (dots included), `?` and `[…]` over the whole string. What nothing grants is
//! refused.

pub use super::pattern::{exactness, literal, matches};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A pattern that a thread was granted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    pub capability: String,
    /// Whether a person is asked before each use.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ask: bool,
    /// Whether that is so only because the person does not trust the project that grants it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untrusted: bool,
}

/// Everything a thread may do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permissions {
    /// What its directive grants.
    pub grants: Vec<Grant>,
    /// Patterns for which a person has answered beforehand. They turn asking into allowing and grant nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<String>,
    /// What the threads above it may do, the nearest first: it may do nothing that one of them may not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ceilings: Vec<Vec<Grant>>,
}

/// What the permissions say about one capability. The stricter, the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    Allowed,
    /// A person must be asked.
    Ask,
    Denied,
}

impl Permissions {
    /// The verdict about an item that goes by `names`, each a capability: what its id needs, and what its other ids
    /// need. Of several grants the one that names the item most exactly counts; of two that are alike, the one that
    /// asks. Of the thread's own grants and those of each thread above it, the strictest verdict counts.
    #[must_use]
    pub fn verdict(&self, names: &[String]) -> Verdict {
        self.all().map(|grants| self.verdict_of(grants, names)).max().unwrap_or(Verdict::Denied)
    }

    /// Its own grants, then those of the threads above it.
    fn all(&self) -> impl Iterator<Item = &[Grant]> {
        std::iter::once(&self.grants).chain(&self.ceilings).map(Vec::as_slice)
    }

    fn verdict_of(&self, grants: &[Grant], names: &[String]) -> Verdict {
        let fits = |pattern: &str| names.iter().any(|name| matches(pattern, name));
        match counting(grants, names) {
            None => Verdict::Denied,
            Some(Grant { ask: true, .. }) if !self.allowed.iter().any(|pattern| fits(pattern)) => Verdict::Ask,
            Some(_) => Verdict::Allowed,
        }
    }

    /// The grant because of which a person is asked about what goes by `names`.
    #[must_use]
    pub fn asking(&self, names: &[String]) -> Option<&Grant> {
        let asks = self.all().find(|grants| self.verdict_of(grants, names) == Verdict::Ask);
        asks.and_then(|grants| counting(grants, names))
    }

    /// What a child of a thread with these permissions may do, whose directive grants `own`: that and nothing that its
    /// parent may not; all that its parent may where it names nothing.
    #[must_use]
    pub fn child(&self, own: Vec<Grant>) -> Self {
        let grants = if own.is_empty() { self.grants.clone() } else { own };
        Self { grants, allowed: self.allowed.clone(), ceilings: self.ceilings_of_child() }
    }

    /// The ceilings of a child.
    #[must_use]
    pub fn ceilings_of_child(&self) -> Vec<Vec<Grant>> {
        self.all().map(<[Grant]>::to_vec).collect()
    }
}

/// What a call needs, beside its tool's own capability, that changes what a project's directives, tools and settings are:
/// files below `.ai`.
pub const WRITE_ITEMS: &str = "rye.execute.tool.levain.write-items";

impl Permissions {
    /// As [`Permissions::verdict`] for a capability that only its own name grants: no wildcard implies it, and whoever is
    /// not granted it has to ask.
    #[must_use]
    pub fn verdict_by_name(&self, capability: &str) -> Verdict {
        let is_free = |grants: &[Grant]| {
            let mut named = grants.iter().filter(|grant| grant.capability == capability).peekable();
            named.peek().is_some() && named.all(|grant| !grant.ask)
        };
        let free = self.all().all(is_free);
        if free || self.allowed.iter().any(|one| one == capability) { Verdict::Allowed } else { Verdict::Ask }
    }
}

/// The grant that counts for an item that goes by `names`: the one that names it most exactly.
#[must_use]
pub fn counting<'a>(grants: &'a [Grant], names: &[String]) -> Option<&'a Grant> {
    let fitting = grants.iter().filter(|grant| names.iter().any(|name| matches(&grant.capability, name)));
    fitting.max_by_key(|grant| (exactness(&grant.capability), grant.ask))
}

/// The tool by which a directive hands back what it promises.
pub const RETURN: &str = "rye/agent/threads/directive_return";

/// The primaries, through which every item can be reached.
pub const PRIMARIES: [&str; 3] = ["rye/execute", "rye/fetch", "rye/sign"];

/// The capability that running the tool `item` needs; for a primary, everything that can be reached through it.
#[must_use]
pub fn to_execute(item: &str) -> String {
    match verb(item) {
        Some(verb) => format!("rye.{verb}.*"),
        None => format!("rye.execute.tool.{}", item.replace('/', ".")),
    }
}

/// Whether a tool is a primary, or how a directive returns: its place in a palette costs nothing.
#[must_use]
pub fn is_primary(item: &str) -> bool {
    item == RETURN || verb(item).is_some()
}

/// What a primary does: `execute`, `fetch` or `sign`.
#[must_use]
pub fn verb(item: &str) -> Option<&str> {
    item.strip_prefix("rye/").filter(|_| PRIMARIES.contains(&item))
}

/// The capabilities that a call of the primary `item` with these arguments needs, all of them: what is done to which
/// item, and for every kind where the call leaves the kind open.
#[must_use]
pub fn to_reach(item: &str, input: &Value) -> Vec<String> {
    let verb = verb(item).unwrap_or(item);
    let word = |name: &str| input.get(name).and_then(Value::as_str).filter(|word| !word.is_empty());
    let scope = |scope: &str| scope.strip_suffix(".*").unwrap_or(scope).to_owned();
    let one = |kind: &str, id: &str| format!("rye.{verb}.{kind}.{}", id.replace('/', "."));
    match (word("item_type"), word("item_id"), word("scope")) {
        (Some(kind), Some(id), _) => vec![one(kind, id)],
        (None, Some(id), _) => ["directive", "knowledge", "tool"].map(|kind| one(kind, id)).into(),
        (None, None, Some(within)) => vec![format!("rye.{verb}.{}.*", scope(within))],
        (Some(kind), None, None) => vec![format!("rye.{verb}.{kind}.*")],
        (Some(_), None, Some(_)) | (None, None, None) => vec![format!("rye.{verb}.*")],
    }
}

/// The name under which an item is offered to a model: letters, digits and `_`.
#[must_use]
pub fn flattened(item: &str) -> String {
    item.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permissions(grants: &[(&str, bool)], allowed: &[&str]) -> Permissions {
        let grant =
            |(capability, ask): &(&str, bool)| Grant { capability: (*capability).into(), ask: *ask, untrusted: false };
        let allowed = allowed.iter().map(|pattern| (*pattern).to_owned()).collect();
        Permissions { grants: grants.iter().map(grant).collect(), allowed, ..Permissions::default() }
    }

    #[test]
    fn what_nothing_grants_is_denied() {
        let bash = [to_execute("rye/bash"), to_execute("rye/bash/bash")];
        assert_eq!(bash[0], "rye.execute.tool.rye.bash");
        assert_eq!(permissions(&[], &["*"]).verdict(&bash), Verdict::Denied);
        assert_eq!(permissions(&[("rye.fetch.*", false)], &[]).verdict(&bash), Verdict::Denied);
        assert_eq!(permissions(&[("*", false)], &[]).verdict(&[]), Verdict::Denied);
        assert_eq!(permissions(&[("rye.execute.tool.rye.bash.bash", false)], &[]).verdict(&bash), Verdict::Allowed);
    }

    #[test]
    fn the_most_exact_grant_counts_and_asking_wins() {
        let bash = [to_execute("rye/bash")];
        let (all, one) = ("rye.execute.*", "rye.execute.tool.rye.bash");
        assert_eq!(permissions(&[(all, false), (one, true)], &[]).verdict(&bash), Verdict::Ask);
        assert_eq!(permissions(&[(one, false), (all, true)], &[]).verdict(&bash), Verdict::Allowed);
        assert_eq!(permissions(&[(one, false), (one, true)], &[]).verdict(&bash), Verdict::Ask);
        assert_eq!(permissions(&[(one, true)], &[one]).verdict(&bash), Verdict::Allowed);
        assert_eq!(permissions(&[(one, true)], &["rye.execute.tool.rye.web.*"]).verdict(&bash), Verdict::Ask);
    }

    #[test]
    fn s05_writing_below_ai_is_implied_by_no_wildcard() {
        for all in ["*", "rye.*", "rye.execute.*", "rye.execute.tool.levain.*", "rye.execute.tool.levain.write-item?"] {
            assert_eq!(permissions(&[(all, false)], &[all]).verdict_by_name(WRITE_ITEMS), Verdict::Ask, "{all}");
        }
        assert_eq!(permissions(&[(WRITE_ITEMS, false)], &[]).verdict_by_name(WRITE_ITEMS), Verdict::Allowed);
        assert_eq!(permissions(&[(WRITE_ITEMS, true)], &[]).verdict_by_name(WRITE_ITEMS), Verdict::Ask);
        assert_eq!(permissions(&[("*", false)], &[WRITE_ITEMS]).verdict_by_name(WRITE_ITEMS), Verdict::Allowed);
    }

    #[test]
    fn a_flattened_name_is_one_that_providers_take() {
        assert_eq!(flattened("rye/file-system/edit_lines"), "rye_file_system_edit_lines");
    }
}
