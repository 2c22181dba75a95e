//! The ledger by example, and what happens when its file is gone or broken. `property` has random operations,
//! compared with `model`.

mod model;
mod property;

use super::*;
use crate::domain::{Allowance, Money, NoSlot, Refusal, Slots, Tokens};
use crate::store::registry::Registry;

struct Fixture {
    folder: tempfile::TempDir,
    ledger: SqliteLedger,
}

fn id(name: &str) -> ThreadId {
    ThreadId::new(name, 1)
}

fn cost(spend: i64, tokens: u64) -> CallCost {
    CallCost { spend: Some(Money(spend)), tokens: Tokens(tokens) }
}

/// A log that says so.
fn spent(spend: i64, tokens: u64) -> Spent {
    Spent { spend: Money(spend), tokens: Tokens(tokens), unpriced: Tokens(0) }
}

fn money(spend: Allowance<Money>) -> Budget {
    Budget { spend, ..Budget::OPEN }
}

fn thread(name: &str, parent: Option<&str>, budget: Budget) -> Registration {
    let parent = parent.map(id);
    Registration { thread: id(name), parent, budget, slots: Slots::default(), spent: Spent::default() }
}

fn report_of(granted: Granted) -> BudgetReport {
    match granted {
        Granted::Yes(report) => *report,
        Granted::Refused(refusal) => panic!("{refusal}"),
    }
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ledger = SqliteLedger::new(folder.path().join("registry.db"));
        assert_eq!(ledger.rebuild(Vec::new())().unwrap(), Rebuilt::Threads(0));
        Self { folder, ledger }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("registry.db")
    }

    /// Another connection to the same file, as other processes have.
    fn database(&self) -> Connection {
        database::open(&self.path()).unwrap()
    }

    fn register(&self, name: &str, parent: Option<&str>, spend: Allowance<Money>) -> Registered {
        self.ledger.register(thread(name, parent, money(spend)))().unwrap()
    }

    fn live(&self, name: &str, parent: Option<&str>, spend: Allowance<Money>) -> BudgetReport {
        match self.register(name, parent, spend) {
            Registered::Live(report) => *report,
            no @ (Registered::Refused(_) | Registered::NoSlot(_)) => panic!("{no:?}"),
        }
    }

    fn reserve(&self, name: &str, request: u32, most: CallCost) -> Granted {
        self.ledger.reserve(&id(name), request, most)().unwrap()
    }

    fn settle(&self, name: &str, request: u32, log: Spent) -> BudgetReport {
        self.ledger.settle(&id(name), request, log)().unwrap()
    }

    /// A call that costs what was reserved for it.
    fn spend(&self, name: &str, request: u32, amount: i64) {
        let before = report_of(self.reserve(name, request, cost(amount, 0))).spend.spent;
        self.settle(name, request, spent(before.0 + amount, 0));
    }

    fn release(&self, name: &str) -> Released {
        self.ledger.release(&id(name), Spent::default())().unwrap()
    }

    fn report(&self, name: &str) -> BudgetReport {
        self.ledger.report(&id(name))().unwrap()
    }

    fn refused(&self, name: &str, amount: i64) -> Refusal {
        match self.reserve(name, 999, cost(amount, 0)) {
            Granted::Refused(refusal) => refusal,
            Granted::Yes(report) => panic!("{report:?}"),
        }
    }

    fn left(&self, name: &str) -> Option<Money> {
        self.report(name).spend.left
    }
}

#[test]
fn a_call_that_may_cost_more_than_is_left_is_refused_with_the_amounts() {
    let at = Fixture::new();
    at.live("root", None, Allowance::SetAside(Money(1_000_000)));
    at.spend("root", 1, 700_000);
    let report = report_of(at.reserve("root", 2, cost(120_000, 9_000)));
    assert_eq!((report.spend.reserved_by_calls, report.spend.left), (Money(120_000), Some(Money(180_000))));
    let refusal = at.refused("root", 180_001);
    assert_eq!(
        refusal.to_string(),
        "$0.180001 may be needed, $0.18 left: the limit of root-1 is $1.00, with $0.70 spent and $0.12 reserved"
    );
    assert_eq!(at.report("root"), report, "a refusal changes nothing");
    // Asked again for the same request, what it has counts for it.
    assert!(matches!(at.reserve("root", 2, cost(300_001, 0)), Granted::Refused(_)));
    assert_eq!(report_of(at.reserve("root", 2, cost(300_000, 0))).spend.left, Some(Money(0)));
    // What it did not need goes back.
    let report = at.settle("root", 2, spent(750_000, 800));
    assert_eq!(
        (report.spend.spent, report.spend.left, report.tokens.spent),
        (Money(750_000), Some(Money(250_000)), Tokens(800))
    );
}

#[test]
fn what_is_spent_deep_down_counts_once_at_every_ancestor_while_it_runs() {
    let at = Fixture::new();
    at.live("root", None, Allowance::SetAside(Money(100)));
    at.live("lead", Some("root"), Allowance::SetAside(Money(60)));
    at.live("hand", Some("lead"), Allowance::SetAside(Money(30)));
    at.spend("root", 1, 5);
    at.spend("lead", 1, 7);
    at.spend("hand", 1, 11);
    report_of(at.reserve("hand", 2, cost(2, 0)));
    let told = |name: &str| {
        let spend = at.report(name).spend;
        [spend.spent, spend.spent_below, spend.reserved_by_calls, spend.reserved_by_children, spend.left.unwrap()]
            .map(|money| money.0)
    };
    // 60 are set aside for lead, of which 18 are spent; 30 of them for hand, of which 11 are.
    assert_eq!(told("root"), [5, 18, 0, 42, 35]);
    assert_eq!(told("lead"), [7, 11, 0, 19, 23]);
    assert_eq!(told("hand"), [11, 0, 2, 0, 17]);
    // Ended, they have spent what they have spent.
    for name in ["hand", "lead"] {
        at.release(name);
    }
    assert_eq!(told("root"), [5, 18, 0, 0, 77]);
}

#[test]
fn children_without_a_spend_of_their_own_run_side_by_side() {
    let at = Fixture::new();
    at.live("root", None, Allowance::SetAside(Money(600)));
    for child in ["a", "b", "c", "d", "e"] {
        let report = at.live(child, Some("root"), Allowance::Share { children: 5 });
        assert_eq!((report.spend.limit, report.spend.set_aside), (Some(Money(100)), Money(100)));
    }
    assert_eq!(at.left("root"), Some(Money(100)), "the parent keeps as much");
    // One more than was planned for has half of what is left; never everything.
    assert_eq!(at.live("f", Some("root"), Allowance::Share { children: 5 }).spend.limit, Some(Money(50)));
    // One that ends makes room for another.
    at.spend("a", 1, 40);
    let Released::Ended { spend, tokens, .. } = at.release("a") else { panic!() };
    assert_eq!((spend, tokens), (Money(60), Tokens(0)));
    assert_eq!(at.left("root"), Some(Money(110)));
    assert_eq!(at.live("a", Some("root"), Allowance::Share { children: 6 }).spend.limit, Some(Money(40 + 55)));
}

#[test]
fn nothing_is_no_share() {
    let at = Fixture::new();
    at.live("root", None, Allowance::SetAside(Money(100)));
    at.spend("root", 1, 100);
    let Registered::Refused(refusal) = at.register("child", Some("root"), Allowance::Share { children: 5 }) else {
        panic!("it was let in");
    };
    assert_eq!(refusal.capped_by(), &id("root"));
    assert!(matches!(at.ledger.report(&id("child"))(), Err(LedgerError::NotRegistered { .. })));
    assert_eq!(at.report("root").live_children, 0);
    // Where nobody has a limit there is nothing to share.
    at.live("free", None, Allowance::Open);
    let child = at.live("guest", Some("free"), Allowance::Share { children: 5 });
    assert_eq!((child.spend.limit, child.spend.left), (None, None));
}

#[test]
fn what_is_set_aside_cannot_be_spent_twice() {
    let at = Fixture::new();
    at.live("root", None, Allowance::SetAside(Money(100)));
    at.live("a", Some("root"), Allowance::SetAside(Money(70)));
    let Registered::Refused(refusal) = at.register("b", Some("root"), Allowance::SetAside(Money(31))) else { panic!() };
    assert_eq!(
        refusal.to_string(),
        "$0.000031 may be needed, $0.00003 left: the limit of root-1 is $0.0001, with $0.00 spent and $0.00007 reserved"
    );
    at.live("b", Some("root"), Allowance::SetAside(Money(30)));
    at.refused("root", 1);
    at.spend("a", 1, 70);
    at.spend("b", 1, 30);
    assert_eq!(at.refused("a", 1).capped_by(), &id("a"));
}

#[test]
fn one_without_a_share_draws_on_its_ancestors() {
    let at = Fixture::new();
    at.live("root", None, Allowance::SetAside(Money(100)));
    at.live("open", Some("root"), Allowance::Open);
    at.live("most", Some("open"), Allowance::AtMost(Money(80)));
    at.live("kept", Some("root"), Allowance::SetAside(Money(40)));
    assert_eq!(at.report("most").spend.capped_by, Some(id("root")));
    assert_eq!(at.left("most"), Some(Money(60)));
    at.spend("most", 1, 50);
    assert_eq!(
        (at.left("root"), at.left("open"), at.left("kept")),
        (Some(Money(10)), Some(Money(10)), Some(Money(40)))
    );
    assert_eq!(at.refused("most", 11).capped_by(), &id("root"));
}

#[test]
fn a_model_without_a_price_is_counted_in_tokens() {
    let at = Fixture::new();
    let budget = Budget { spend: Allowance::SetAside(Money(10)), tokens: Allowance::SetAside(Tokens(1_000)) };
    at.ledger.register(thread("root", None, budget))().unwrap();
    at.live("child", Some("root"), Allowance::Open);
    let unpriced = |tokens| CallCost { spend: None, tokens: Tokens(tokens) };
    report_of(at.reserve("child", 1, unpriced(700)));
    at.settle("child", 1, Spent { unpriced: Tokens(600), ..spent(0, 600) });
    at.spend("child", 2, 4);
    let (root, child) = (at.report("root"), at.report("child"));
    assert_eq!((child.unpriced, root.unpriced, root.unpriced_below), (Tokens(600), Tokens(0), Tokens(600)));
    assert_eq!((root.spend.spent_below, root.tokens.spent_below), (Money(4), Tokens(600)));
    // No limit of money can hold it, one of tokens does.
    let Granted::Refused(refusal) = at.reserve("child", 3, unpriced(401)) else { panic!() };
    assert_eq!(
        refusal.to_string(),
        "401 tokens may be needed, 400 tokens left: the limit of root-1 is 1000 tokens, with 600 tokens spent and 0 tokens reserved"
    );
}

#[test]
fn a_thread_waits_for_a_slot_and_says_why() {
    let at = Fixture::new();
    let slots = Slots { children: Some(2), threads: Some(4) };
    let ask = |name: &str, parent: Option<&str>| {
        at.ledger.register(Registration { slots, ..thread(name, parent, Budget::OPEN) })().unwrap()
    };
    for (name, parent) in [("root", None), ("a", Some("root")), ("b", Some("root"))] {
        assert!(matches!(ask(name, parent), Registered::Live(_)));
    }
    let Registered::NoSlot(taken) = ask("c", Some("root")) else { panic!() };
    assert_eq!(taken.to_string(), "waits for a child of root-1 to end: 2 running, limit 2");
    assert!(matches!(ask("b", Some("root")), Registered::Live(_)), "it has its slot");
    assert!(matches!(ask("other", None), Registered::Live(_)));
    let Registered::NoSlot(taken) = ask("another", None) else { panic!() };
    assert_eq!(taken, NoSlot::Threads { live: 4, most: 4 });
    for _ in 0..2 {
        at.release("b");
    }
    assert!(matches!(ask("c", Some("root")), Registered::Live(_)));
    assert!(matches!(ask("b", Some("root")), Registered::NoSlot(_)), "a thread that is resumed needs one as well");
    assert_eq!(at.report("root").live_children, 2);
}

/// Whatever waits for what: some of those that wait can go on.
#[test]
fn threads_that_wait_for_their_children_do_not_hold_all_slots() {
    let at = Fixture::new();
    let slots = Slots { children: None, threads: Some(3) };
    let ask = |name: &str, parent: Option<&str>| {
        at.ledger.register(Registration { slots, ..thread(name, parent, Budget::OPEN) })().unwrap()
    };
    let mut above: Option<String> = None;
    for name in ["a", "b", "c", "d", "e"] {
        assert!(matches!(ask(name, above.as_deref()), Registered::Live(_)), "{name}");
        above = Some(name.to_owned());
    }
    let Registered::NoSlot(taken) = ask("other", None) else { panic!() };
    assert_eq!(taken, NoSlot::Threads { live: 5, most: 3 });
    for name in ["c", "d", "e"] {
        at.release(name);
    }
    for (name, parent) in [("x", None), ("y", Some("x"))] {
        assert!(matches!(ask(name, parent), Registered::Live(_)), "{name}");
    }
    // Two wait for a child each: there is room below both.
    for (name, parent) in [("b1", "b"), ("y1", "y")] {
        let begins = matches!(ask(name, Some(parent)), Registered::Live(_));
        assert_eq!(begins, name == "b1", "{name}");
    }
    at.release("b1");
    assert!(matches!(ask("y1", Some("y")), Registered::Live(_)));
}

#[test]
fn released_twice_is_released_once() {
    let at = Fixture::new();
    at.live("root", None, Allowance::SetAside(Money(100)));
    at.live("a", Some("root"), Allowance::SetAside(Money(50)));
    at.live("a1", Some("a"), Allowance::SetAside(Money(20)));
    report_of(at.reserve("a", 1, cost(10, 0)));
    report_of(at.reserve("a", 2, cost(5, 0)));
    let Released::Ended { spend, report, .. } = at.release("a") else { panic!() };
    assert_eq!((spend, report.spend.reserved_by_calls), (Money(30), Money(0)));
    let before = at.report("root");
    assert_eq!((at.release("a"), at.release("nobody")), (Released::Before, Released::Before));
    assert_eq!(at.report("root"), before);
    // Its child goes on with what was set aside for it, and its parent's limit holds it still.
    assert_eq!(before.spend.reserved_by_children, Money(20));
    at.spend("a1", 1, 20);
    at.release("a1");
    assert_eq!(at.left("root"), Some(Money(80)));
    // One that has ended gets nothing.
    assert!(matches!(at.ledger.reserve(&id("a"), 3, cost(0, 0))(), Err(LedgerError::Ended { .. })));
    // A child that works by itself may begin behind it, within what its parent has.
    let new = at.ledger.register(thread("a2", Some("a"), Budget::OPEN))();
    assert!(matches!(new, Ok(Registered::Live(_))));
    assert_eq!(at.left("a2"), Some(Money(30)));
}

#[test]
fn a_settlement_counts_once_and_what_was_lost_is_counted_with_the_next() {
    let at = Fixture::new();
    at.live("root", None, Allowance::SetAside(Money(100)));
    report_of(at.reserve("root", 1, cost(10, 100)));
    let report = at.settle("root", 1, spent(8, 80));
    assert_eq!((report.spend.spent, report.spend.reserved_by_calls), (Money(8), Money(0)));
    assert_eq!(at.settle("root", 1, spent(8, 80)), report);
    assert_eq!(at.settle("root", 1, spent(3, 0)), report, "a log that knows less takes nothing back");
    // Of two calls side by side the first could not be settled.
    report_of(at.reserve("root", 2, cost(10, 100)));
    report_of(at.reserve("root", 3, cost(10, 100)));
    let report = at.settle("root", 3, spent(26, 200));
    assert_eq!((report.spend.spent, report.spend.reserved_by_calls), (Money(26), Money(10)));
    assert_eq!(at.settle("root", 2, spent(26, 200)).spend.left, Some(Money(74)));
    // The process died between the log's line and the settlement.
    report_of(at.reserve("root", 4, cost(10, 100)));
    let log = Spent { spend: Money(30), tokens: Tokens(250), unpriced: Tokens(20) };
    for _ in 0..2 {
        at.ledger.release(&id("root"), log)().unwrap();
        let report = at.report("root");
        assert_eq!((report.spend.spent, report.tokens.spent, report.unpriced), (Money(30), Tokens(250), Tokens(20)));
        assert_eq!((report.live, report.spend.left), (false, Some(Money(70))));
    }
    // What is known of an ended thread later counts too.
    assert_eq!(at.settle("root", 4, spent(33, 0)).spend.spent, Money(33));
    let budget = money(Allowance::SetAside(Money(40)));
    let again = Registration { spent: spent(35, 0), ..thread("root", None, budget) };
    let Registered::Live(report) = at.ledger.register(again)().unwrap() else { panic!() };
    assert_eq!((report.spend.spent, report.spend.left), (Money(35), Some(Money(5))));
}

#[test]
fn whoever_takes_a_thread_over_has_its_budget_and_none_of_its_calls() {
    let at = Fixture::new();
    at.live("root", None, Allowance::SetAside(Money(100)));
    at.live("child", Some("root"), Allowance::SetAside(Money(50)));
    report_of(at.reserve("child", 1, cost(30, 0)));
    let log = Registration { spent: spent(5, 0), ..thread("child", Some("root"), money(Allowance::Open)) };
    let Registered::Live(report) = at.ledger.register(log)().unwrap() else { panic!() };
    assert_eq!((report.spend.limit, report.spend.set_aside), (Some(Money(50)), Money(50)));
    assert_eq!((report.spend.spent, report.spend.reserved_by_calls), (Money(5), Money(0)));
    assert_eq!((at.report("root").live_children, at.left("root")), (1, Some(Money(50))));
    assert_eq!(at.ledger.live()().unwrap(), [id("root"), id("child")]);
    at.release("child");
    assert_eq!(at.ledger.live()().unwrap(), [id("root")]);
}

#[test]
fn more_than_was_reserved_is_counted_and_told() {
    let at = Fixture::new();
    at.live("root", None, Allowance::SetAside(Money(100)));
    at.live("a", Some("root"), Allowance::SetAside(Money(50)));
    at.live("b", Some("root"), Allowance::SetAside(Money(50)));
    report_of(at.reserve("a", 1, cost(50, 0)));
    let report = at.settle("a", 1, spent(70, 0));
    assert_eq!((report.spend.spent, report.spend.over), (Money(70), Money(20)));
    // The root has 30, whatever was promised.
    assert_eq!((at.report("root").spend.over, at.left("b")), (Money(0), Some(Money(30))));
    assert_eq!(at.refused("b", 31).capped_by(), &id("root"));
    at.spend("b", 1, 30);
    assert_eq!(at.left("b"), Some(Money(0)));
}

#[test]
fn a_limit_can_be_changed_while_it_holds() {
    let at = Fixture::new();
    at.live("root", None, Allowance::SetAside(Money(100)));
    at.live("a", Some("root"), Allowance::SetAside(Money(40)));
    at.spend("root", 1, 30);
    let adjust = |name: &str, spend| at.ledger.adjust(&id(name), money(spend))().unwrap();
    let Granted::Refused(refusal) = adjust("a", Allowance::SetAside(Money(71))) else { panic!() };
    assert_eq!(refusal.capped_by(), &id("root"));
    assert_eq!(report_of(adjust("a", Allowance::SetAside(Money(70)))).spend.left, Some(Money(70)));
    assert_eq!(at.left("root"), Some(Money(0)));
    // The root's lowered limit is in the way of what was promised.
    assert_eq!(report_of(adjust("root", Allowance::SetAside(Money(50)))).spend.over, Money(0));
    assert_eq!((at.left("a"), at.report("a").spend.capped_by), (Some(Money(20)), Some(id("root"))));
    at.spend("a", 1, 20);
    let report = report_of(adjust("root", Allowance::SetAside(Money(45))));
    assert_eq!((report.spend.over, report.spend.left), (Money(5), Some(Money(0))));
    assert_eq!(report_of(adjust("root", Allowance::Open)).spend.left, None);
    assert_eq!(at.left("a"), Some(Money(50)));
}

#[test]
fn what_does_not_fit_is_refused_in_words() {
    let at = Fixture::new();
    at.live("root", None, Allowance::Open);
    at.live("child", Some("root"), Allowance::Open);
    let register = |name, parent, spend| at.ledger.register(thread(name, parent, money(spend)))();
    assert!(matches!(register("child", None, Allowance::Open), Err(LedgerError::OtherParent { .. })));
    assert!(matches!(register("x", Some("nobody"), Allowance::Open), Err(LedgerError::NotRegistered { .. })));
    for bad in [-1, i64::MAX] {
        assert!(matches!(register("x", None, Allowance::AtMost(Money(bad))), Err(LedgerError::Amount)));
        assert!(matches!(at.ledger.reserve(&id("root"), 1, cost(bad, 0))(), Err(LedgerError::Amount)));
        assert!(matches!(at.ledger.settle(&id("root"), 1, spent(bad, 0))(), Err(LedgerError::Amount)));
    }
    assert!(matches!(at.ledger.settle(&id("root"), 1, spent(0, u64::MAX))(), Err(LedgerError::Amount)));
    // Amounts that can be counted, and their sum that cannot.
    at.live("other", Some("root"), Allowance::Open);
    at.settle("child", 1, spent(account::MOST, 0));
    assert!(matches!(at.ledger.settle(&id("other"), 1, spent(1, 5))(), Err(LedgerError::Amount)));
    assert_eq!(at.report("other").tokens.spent, Tokens(0), "nothing was kept of it");
    for number in 0..=tables::MOST_ANCESTORS {
        let parent = number.checked_sub(1).map(|above| format!("deep{above}"));
        at.live(&format!("deep{number}"), parent.as_deref(), Allowance::Open);
    }
    let deepest = format!("deep{}", tables::MOST_ANCESTORS);
    assert!(matches!(register("x", Some(&deepest), Allowance::Open), Err(LedgerError::TooDeep { .. })));
}

#[test]
fn an_operation_touches_a_thread_and_its_ancestors_alone() {
    let at = Fixture::new();
    at.live("root", None, Allowance::SetAside(Money(1_000_000)));
    at.live("lead", Some("root"), Allowance::Open);
    for number in 0..50 {
        at.live(&format!("child{number}"), Some("lead"), Allowance::Open);
    }
    let changes = |operation: &dyn Fn()| {
        let count = || at.ledger.shared.opened.lock().unwrap().as_ref().unwrap().connection.total_changes();
        let before = count();
        operation();
        count() - before
    };
    // Three lines, and the reservation's row.
    assert_eq!(changes(&|| drop(at.reserve("child7", 1, cost(5, 5)))), 4);
    assert_eq!(changes(&|| drop(at.settle("child7", 1, spent(4, 4)))), 4);
    assert_eq!(changes(&|| drop(at.report("root"))), 0);
    // The thread, its parent's children, the number of live threads.
    assert_eq!(changes(&|| drop(at.release("child7"))), 3);
    let plan = |sql: &str| -> String {
        at.database().query_row(&format!("EXPLAIN QUERY PLAN {sql}"), [], |row| row.get(3)).unwrap()
    };
    for found in ["thread_id = 'x'", "account = 1"] {
        assert!(plan(&format!("SELECT * FROM budgets WHERE {found}")).starts_with("SEARCH"), "{found}");
    }
    assert!(plan("DELETE FROM reservations WHERE account = 1").starts_with("SEARCH"));
}

// ------------------------------------------------------------------------------------------------ a lost file

fn fact(name: &str, parent: Option<&str>, spent: i64) -> BudgetFact {
    let spent = Spent { spend: Money(spent), tokens: Tokens(10), unpriced: Tokens(1) };
    let parent = parent.map(id);
    BudgetFact { thread: id(name), parent, spend_limit: Some(Money(100)), tokens_limit: None, spent }
}

#[test]
fn a_ledger_that_was_never_filled_allows_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("registry.db");
    // The list of threads is there and was made anew; it says nothing about money.
    drop(Registry::open(&path).unwrap());
    let ledger = SqliteLedger::new(path);
    let root = id("root");
    assert!(matches!(ledger.register(thread("root", None, Budget::OPEN))(), Err(LedgerError::NotBuilt)));
    assert!(matches!(ledger.reserve(&root, 1, cost(0, 0))(), Err(LedgerError::NotBuilt)));
    assert!(matches!(ledger.settle(&root, 1, spent(0, 0))(), Err(LedgerError::NotBuilt)));
    assert!(matches!(ledger.adjust(&root, Budget::OPEN)(), Err(LedgerError::NotBuilt)));
    assert!(matches!(ledger.release(&root, spent(0, 0))(), Err(LedgerError::NotBuilt)));
    assert!(matches!(ledger.live()(), Err(LedgerError::NotBuilt)));
    assert!(matches!(ledger.report(&root)(), Err(LedgerError::NotBuilt)));
}

#[test]
fn a_lost_ledger_is_rebuilt_from_what_the_logs_say() {
    let at = Fixture::new();
    at.live("root", None, Allowance::SetAside(Money(100)));
    at.spend("root", 1, 5);
    std::fs::remove_file(at.path()).unwrap();
    assert!(matches!(at.ledger.reserve(&id("root"), 2, cost(1, 0))(), Err(LedgerError::NotBuilt)));
    // In any order.
    let facts =
        vec![fact("a1", Some("a"), 20), fact("a", Some("root"), 10), fact("root", None, 5), fact("other", None, 3)];
    assert_eq!(at.ledger.rebuild(facts)().unwrap(), Rebuilt::Threads(4));
    assert_eq!(at.ledger.rebuild(Vec::new())().unwrap(), Rebuilt::WasBuilt);
    let root = at.report("root");
    assert_eq!((root.live, root.spend.spent, root.spend.spent_below), (false, Money(5), Money(30)));
    assert_eq!((root.tokens.spent_below, root.unpriced, root.unpriced_below), (Tokens(20), Tokens(1), Tokens(2)));
    // What ran all the while has no reservation, and registers again.
    assert_eq!(at.settle("root", 2, spent(7, 0)).spend.spent, Money(7));
    assert!(matches!(at.ledger.reserve(&id("root"), 2, cost(1, 0))(), Err(LedgerError::Ended { .. })));
    let again = Registration { spent: spent(12, 0), ..thread("root", None, money(Allowance::SetAside(Money(100)))) };
    let Registered::Live(report) = at.ledger.register(again)().unwrap() else { panic!() };
    assert_eq!((report.spend.spent, report.spend.left), (Money(12), Some(Money(58))));
}

#[test]
fn facts_that_do_not_fit_together_rebuild_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = SqliteLedger::new(folder.path().join("registry.db"));
    let rebuild = |facts| ledger.rebuild(facts)().unwrap_err().to_string();
    assert_eq!(
        rebuild(vec![fact("a", Some("gone"), 1), fact("b", None, 1)]),
        "thread gone-1 is not in the budget ledger"
    );
    let circle = rebuild(vec![fact("a", Some("b"), 1), fact("b", Some("a"), 1)]);
    assert!(circle.ends_with("has no root: its ancestors form a cycle"), "{circle}");
    assert_eq!(rebuild(vec![fact("a", None, 1), fact("a", None, 1)]), "thread a-1 is listed twice");
    assert!(matches!(ledger.rebuild(vec![fact("a", None, 1), fact("b", Some("a"), -1)])(), Err(LedgerError::Amount)));
    assert!(matches!(ledger.report(&id("a"))(), Err(LedgerError::NotBuilt)));
}

#[test]
fn a_broken_file_allows_nothing_and_is_not_made_again() {
    let at = Fixture::new();
    at.live("root", None, Allowance::Open);
    let path = at.path();
    drop(at.ledger);
    let broken = vec![b'x'; 10_000];
    std::fs::write(&path, &broken).unwrap();
    let ledger = SqliteLedger::new(path.clone());
    let error = ledger.reserve(&id("root"), 1, cost(1, 0))().unwrap_err();
    assert!(matches!(error, LedgerError::Store(StoreError::Database { .. })), "{error:?}");
    assert!(error.to_string().ends_with("no call is sent while the budget cannot be checked"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), broken);
    // The list of threads makes the file again. What was spent is not in it, and the ledger knows.
    drop(Registry::open_or_renew(&path).unwrap());
    assert!(matches!(ledger.register(thread("root", None, Budget::OPEN))(), Err(LedgerError::NotBuilt)));
}

#[test]
fn a_folder_that_is_not_there_allows_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = SqliteLedger::new(folder.path().join("gone/registry.db"));
    assert!(matches!(ledger.report(&id("root"))(), Err(LedgerError::Store(_))));
}

#[test]
fn a_file_that_cannot_be_written_allows_nothing() {
    use std::os::unix::fs::PermissionsExt;
    let at = Fixture::new();
    at.live("root", None, Allowance::Open);
    let path = at.path();
    drop(at.ledger);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o444)).unwrap();
    if std::fs::OpenOptions::new().write(true).open(&path).is_ok() {
        // Nothing is forbidden to this user.
        return;
    }
    let ledger = SqliteLedger::new(path);
    let error = ledger.reserve(&id("root"), 1, cost(1, 0))().unwrap_err().to_string();
    assert!(error.ends_with("no call is sent while the budget cannot be checked"), "{error}");
}
