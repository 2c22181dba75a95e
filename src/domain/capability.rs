//! What a thread may do, as capability strings and patterns over them.
//!
//! A capability names a primary, a kind of item and an item: `rye.execute.tool.rye.file-system.read`. A grant is a
//! pattern in the manner of a shell: `*` (dots included), `?` and `[…]` over the whole string. What nothing grants is
//! refused.

use super::id::ThreadId;
pub use super::pattern::{exactness, literal, matches};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A pattern that a thread was granted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    pub capability: String,
    /// Whether a person is asked before each use.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ask: bool,
    /// Whether that is so only because the person does not trust the project that grants it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untrusted: bool,
    /// Whether what it allows runs in a sandbox, and is asked for where there is none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sandbox: bool,
    /// What gave it, where the directive names something else: an alias, or what implies it, with file and line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
    /// Its level of risk, where that calls for anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<String>,
}

impl Grant {
    /// As a directive writes it.
    #[must_use]
    pub fn new(capability: impl Into<String>, ask: bool) -> Self {
        Self { capability: capability.into(), ask, ..Self::default() }
    }
}

/// What a thread above could do when the child was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "CeilingForm")]
pub struct Ceiling {
    /// Which thread; logs of before do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<ThreadId>,
    pub grants: Vec<Grant>,
}

/// The forms of a ceiling in logs: the grants alone are the older one.
#[derive(Deserialize)]
#[serde(untagged)]
enum CeilingForm {
    Grants(Vec<Grant>),
    Named {
        #[serde(default)]
        thread: Option<ThreadId>,
        grants: Vec<Grant>,
    },
}

impl From<CeilingForm> for Ceiling {
    fn from(form: CeilingForm) -> Self {
        match form {
            CeilingForm::Grants(grants) => Self { thread: None, grants },
            CeilingForm::Named { thread, grants } => Self { thread, grants },
        }
    }
}

/// Everything a thread may do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Permissions {
    /// What its directive grants.
    pub grants: Vec<Grant>,
    /// Patterns for which a person has answered beforehand. They turn asking into allowing and grant nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<String>,
    /// Whether commands can be confined where the thread runs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub confines: bool,
    /// What the threads above it may do, the nearest first: it may do nothing that one of them may not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ceilings: Vec<Ceiling>,
}

/// What the permissions say about one capability. The stricter, the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    Allowed,
    /// A person must be asked.
    Ask,
    Denied,
}

/// A verdict, and what it is based on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judgement<'a> {
    pub verdict: Verdict,
    /// The grant that counts; none where nothing is granted.
    pub grant: Option<&'a Grant>,
    /// The ceiling because of which the verdict is not the thread's own.
    pub ceiling: Option<&'a Ceiling>,
    /// Whether what is allowed has to run in a sandbox, as the thread's own grant or one above says.
    pub confined: bool,
}

impl Permissions {
    /// What a thread may do whose directive grants `own`, below threads that could do `ceilings`, the nearest first: that,
    /// and nothing that one of them may not. A directive that says nothing of permissions (`None`) gives its thread
    /// those of the nearest; one that grants nothing has said so.
    ///
    /// The one place in which it is decided what a child may do.
    #[must_use]
    pub fn below(own: Option<Vec<Grant>>, ceilings: Vec<Ceiling>) -> Self {
        let nearest = || ceilings.first().map(|ceiling| ceiling.grants.clone()).unwrap_or_default();
        Self { grants: own.unwrap_or_else(nearest), allowed: Vec::new(), confines: false, ceilings }
    }

    /// The ceilings of a child of the thread `id`, which may do this.
    #[must_use]
    pub fn ceilings_of_child(&self, id: &ThreadId) -> Vec<Ceiling> {
        let own = Ceiling { thread: Some(id.clone()), grants: self.grants.clone() };
        std::iter::once(own).chain(self.ceilings.iter().cloned()).collect()
    }

    /// The verdict about an item that goes by `names`, each a capability: what its id needs, and what its other ids
    /// need. Of several grants the one that names the item most exactly counts; of two that are alike, the one that
    /// asks. Of the thread's own grants and those of each thread above it, the strictest verdict counts; of two that are
    /// alike, the nearest.
    ///
    /// A grant that says sandbox allows what runs in one; where there is none it asks.
    #[must_use]
    pub fn judge(&self, names: &[String]) -> Judgement<'_> {
        self.judge_in(names, false)
    }

    /// The same about a call, which a sandbox can hold if it is `confinable`: then a grant that wants one allows it where
    /// commands can be confined.
    #[must_use]
    pub fn judge_in(&self, names: &[String], confinable: bool) -> Judgement<'_> {
        let confines = self.confines && confinable;
        let answered = self.allowed.iter().any(|pattern| names.iter().any(|name| matches(pattern, name)));
        let judged = self.strictest(|grants| match counting(grants, names) {
            None => (Verdict::Denied, None),
            Some(grant) if answered => (Verdict::Allowed, Some(grant)),
            Some(grant) if grant.untrusted => (Verdict::Ask, Some(grant)),
            Some(grant) if grant.sandbox => (if confines { Verdict::Allowed } else { Verdict::Ask }, Some(grant)),
            Some(grant) if grant.ask => (Verdict::Ask, Some(grant)),
            granted @ Some(_) => (Verdict::Allowed, granted),
        });
        let mut all = std::iter::once(&self.grants).chain(self.ceilings.iter().map(|ceiling| &ceiling.grants));
        let held = confines && all.any(|grants| counting(grants, names).is_some_and(|grant| grant.sandbox));
        Judgement { confined: held, ..judged }
    }

    /// As [`Permissions::judge`] for a capability that only its own name grants: no wildcard implies it, and whoever is
    /// not granted it has to ask.
    #[must_use]
    pub fn judge_by_name(&self, capability: &str) -> Judgement<'_> {
        let answered = self.allowed.iter().any(|one| one == capability);
        self.strictest(|grants| {
            let named = grants.iter().filter(|grant| grant.capability == capability).max_by_key(|grant| grant.ask);
            let is_free = answered || named.is_some_and(|grant| !grant.ask);
            (if is_free { Verdict::Allowed } else { Verdict::Ask }, named)
        })
    }

    /// The strictest of what its own grants and those of each thread above it are judged to say.
    fn strictest<'a>(&'a self, judge: impl Fn(&'a [Grant]) -> (Verdict, Option<&'a Grant>)) -> Judgement<'a> {
        let (verdict, grant) = judge(&self.grants);
        let mut strictest = Judgement { verdict, grant, ceiling: None, confined: false };
        for ceiling in &self.ceilings {
            let (verdict, grant) = judge(&ceiling.grants);
            if verdict > strictest.verdict {
                strictest = Judgement { verdict, grant, ceiling: Some(ceiling), confined: false };
            }
        }
        strictest
    }

    /// The verdict of [`Permissions::judge`].
    #[must_use]
    pub fn verdict(&self, names: &[String]) -> Verdict {
        self.judge(names).verdict
    }
}

/// What a call needs, beside its tool's own capability, that changes what a project's directives, tools and settings are:
/// files below `.ai`.
pub const WRITE_ITEMS: &str = "rye.execute.tool.levain.write-items";

/// What a confined command needs that reaches more than its sandbox: other folders, or hosts.
pub const LEAVE_SANDBOX: &str = "rye.execute.tool.levain.leave-sandbox";

/// The grant that counts for an item that goes by `names`: the one that names it most exactly.
#[must_use]
pub fn counting<'a>(grants: &'a [Grant], names: &[String]) -> Option<&'a Grant> {
    let fitting = grants.iter().filter(|grant| names.iter().any(|name| matches(&grant.capability, name)));
    // Of two that are alike: the one that asks whatever there is, then the one that wants a sandbox, then the free one.
    fitting.max_by_key(|grant| (exactness(&grant.capability), grant.ask && !grant.sandbox, grant.sandbox))
}

/// The tool that reads back results that were cut.
pub const RESULT: &str = "rye/agent/threads/internal/result";

/// The tool that looks after commands beside the conversation.
pub const COMMANDS: &str = "rye/agent/threads/internal/commands";

/// The tool by which a directive hands back what it promises.
pub const RETURN: &str = "rye/agent/threads/directive_return";

/// Whether a tool is one by which a thread looks after itself: a call of it needs no grant.
#[must_use]
pub fn is_internal(item: &str) -> bool {
    item.starts_with("rye/agent/threads/internal/")
}

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
    use proptest::prelude::*;

    fn permissions(grants: &[(&str, bool)], allowed: &[&str]) -> Permissions {
        let grant = |(capability, ask): &(&str, bool)| Grant::new(*capability, *ask);
        let allowed = allowed.iter().map(|pattern| (*pattern).to_owned()).collect();
        Permissions { grants: grants.iter().map(grant).collect(), allowed, ..Permissions::default() }
    }

    #[test]
    fn a_sandbox_asks_nobody_but_where_the_project_is_not_trusted_or_nothing_holds_the_call() {
        let bash = [to_execute("rye/bash")];
        let judged = |untrusted: bool, confines: bool, confinable: bool| {
            let grant = Grant { sandbox: true, untrusted, ..Grant::new(bash[0].clone(), true) };
            let permissions = Permissions { grants: vec![grant], confines, ..Permissions::default() };
            let judgement = permissions.judge_in(&bash, confinable);
            (judgement.verdict, judgement.confined)
        };
        assert_eq!(judged(false, true, true), (Verdict::Allowed, true));
        assert_eq!(judged(true, true, true), (Verdict::Ask, true));
        assert_eq!(judged(false, false, true), (Verdict::Ask, false));
        assert_eq!(judged(false, true, false), (Verdict::Ask, false));
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
            assert_eq!(permissions(&[(all, false)], &[all]).judge_by_name(WRITE_ITEMS).verdict, Verdict::Ask, "{all}");
        }
        assert_eq!(permissions(&[(WRITE_ITEMS, false)], &[]).judge_by_name(WRITE_ITEMS).verdict, Verdict::Allowed);
        assert_eq!(permissions(&[(WRITE_ITEMS, true)], &[]).judge_by_name(WRITE_ITEMS).verdict, Verdict::Ask);
        assert_eq!(permissions(&[("*", false)], &[WRITE_ITEMS]).judge_by_name(WRITE_ITEMS).verdict, Verdict::Allowed);
    }

    #[test]
    fn a_flattened_name_is_one_that_providers_take() {
        assert_eq!(flattened("rye/file-system/edit_lines"), "rye_file_system_edit_lines");
    }

    /// Every pattern and id of a few letters, so that they meet.
    fn pattern() -> impl Strategy<Value = String> {
        prop::collection::vec(prop::sample::select(vec!["a", "b", ".", "*", "?", "[ab]", "[!a]"]), 0..6)
            .prop_map(|parts| parts.concat())
    }

    fn grants() -> impl Strategy<Value = Option<Vec<Grant>>> {
        let grant = (pattern(), any::<bool>()).prop_map(|(pattern, ask)| Grant::new(pattern, ask));
        prop::option::weighted(0.8, prop::collection::vec(grant, 0..4))
    }

    fn id() -> impl Strategy<Value = Vec<String>> {
        prop::collection::vec("[ab.]{0,5}", 1..3)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

        /// A model over ids: what a thread may do with one is the strictest of what its own grants and those of each
        /// thread above it say by themselves.
        #[test]
        fn s01_a_child_may_do_nothing_that_a_thread_above_it_may_not(
            tree in prop::collection::vec(grants(), 1..5),
            ids in prop::collection::vec(id(), 1..8),
            allowed in prop::collection::vec(pattern(), 0..2),
        ) {
            let name = |depth: usize| ThreadId::new("a", u64::try_from(depth).unwrap());
            let mut threads: Vec<Permissions> = Vec::new();
            for (depth, own) in tree.into_iter().enumerate() {
                let above = threads.last().map(|parent| parent.ceilings_of_child(&name(depth - 1)));
                threads.push(Permissions::below(own, above.unwrap_or_default()));
            }
            for thread in &mut threads {
                thread.allowed.clone_from(&allowed);
            }
            for names in &ids {
                let alone: Vec<Verdict> = threads
                    .iter()
                    .map(|thread| Permissions { ceilings: Vec::new(), ..thread.clone() }.verdict(names))
                    .collect();
                for (depth, thread) in threads.iter().enumerate() {
                    let expected = alone[..=depth].iter().copied().max().unwrap();
                    let judgement = thread.judge(names);
                    prop_assert_eq!(judgement.verdict, expected);
                    // Whoever is in the way is named.
                    let above = judgement.ceiling.map(|ceiling| ceiling.thread.clone().unwrap());
                    let nearest = (0..=depth).rev().find(|other| alone[*other] == expected).unwrap();
                    prop_assert_eq!(above, (nearest != depth).then(|| name(nearest)));
                }
            }
        }
    }

    #[test]
    fn s01_who_says_nothing_may_do_what_the_parent_may_and_who_grants_nothing_may_do_nothing() {
        let bash = [to_execute("rye/bash")];
        let above = permissions(&[("rye.execute.*", false)], &[]).ceilings_of_child(&ThreadId::new("a", 1));
        assert_eq!(Permissions::below(None, above.clone()).verdict(&bash), Verdict::Allowed);
        assert_eq!(Permissions::below(Some(Vec::new()), above).verdict(&bash), Verdict::Denied);
        assert_eq!(Permissions::below(None, Vec::new()).verdict(&bash), Verdict::Denied);
    }

    #[test]
    fn s04_ceilings_of_older_logs_are_read() {
        let read = |text: &str| serde_json::from_str::<Vec<Ceiling>>(text).unwrap();
        let grants = vec![Grant::new("rye.*", true)];
        assert_eq!(
            read(r#"[[{"capability":"rye.*","ask":true}]]"#),
            [Ceiling { thread: None, grants: grants.clone() }]
        );
        let named = [Ceiling { thread: Some(ThreadId::new("a", 1)), grants }];
        assert_eq!(read(&serde_json::to_string(&named).unwrap()), named);
    }

    #[test]
    fn s01_the_table_of_permissions() {
        for (granted, needed, expected) in [
            // A search over all of a kind needs the kind itself.
            ("rye.fetch.knowledge.*", "rye.fetch.knowledge", Verdict::Denied),
            ("rye.fetch.knowledge*", "rye.fetch.knowledge", Verdict::Allowed),
            ("rye.fetch.*", "rye.fetch.knowledge", Verdict::Allowed),
            // A star crosses dots, over the whole text.
            ("rye.execute.tool.team.*", "rye.execute.tool.team.a.b", Verdict::Allowed),
            ("rye.execute.tool.team.*", "rye.execute.tool.teams.a", Verdict::Denied),
            ("execute.tool.team.*", "rye.execute.tool.team.a", Verdict::Denied),
            // The other forms.
            ("rye.execute.tool.t?am.a", "rye.execute.tool.team.a", Verdict::Allowed),
            ("rye.execute.tool.team.[ab]", "rye.execute.tool.team.b", Verdict::Allowed),
            ("rye.execute.tool.team.[!ab]", "rye.execute.tool.team.b", Verdict::Denied),
            ("rye.execute.tool.TEAM.*", "rye.execute.tool.team.b", Verdict::Denied),
            ("rye.*", "rye.sign.tool.a", Verdict::Allowed),
        ] {
            let verdict = permissions(&[(granted, false)], &[]).verdict(&[needed.to_owned()]);
            assert_eq!(verdict, expected, "{granted} and {needed}");
            assert_eq!(permissions(&[], &[granted]).verdict(&[needed.to_owned()]), Verdict::Denied);
        }
    }
}
