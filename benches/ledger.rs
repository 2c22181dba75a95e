//! What the budget ledger costs. `cargo bench --bench ledger`; with many processes at once, each transaction timed:
//! `cargo bench --bench ledger -- --processes 32`.

#![allow(clippy::expect_used, reason = "a bench that cannot go on fails")]
#![allow(clippy::print_stdout, reason = "what was measured")]

use divan::{Bencher, black_box};
use levain::domain::{Allowance, Budget, CallCost, Money, Slots, Spent, ThreadId, Tokens};
use levain::ports::Ledger;
use levain::ports::ledger::{BudgetFact, Granted, Registered, Registration};
use levain::store::SqliteLedger;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// How long the processes go on.
const LASTS: Duration = Duration::from_secs(5);

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [_, "--part", number, folder] => part(number.parse().expect("a number"), Path::new(folder)),
        [_, "--processes", number, ..] => processes(number.parse().expect("a number")),
        _ => divan::main(),
    }
}

fn open(folder: &Path) -> SqliteLedger {
    SqliteLedger::new(folder.join("registry.db"))
}

fn thread(number: u64) -> ThreadId {
    ThreadId::new("thread", number)
}

/// A tree of 10,000 threads, ten below each, with limits that nothing comes near.
fn fill(ledger: &SqliteLedger) {
    let facts = (0..10_000_u64).map(|number| BudgetFact {
        thread: thread(number),
        parent: number.checked_sub(1).map(|before| thread(before / 10)),
        spend_limit: Some(Money(1_000_000_000_000)),
        tokens_limit: None,
        spent: Spent { spend: Money(100), tokens: Tokens(1_000), unpriced: Tokens(0) },
    });
    ledger.rebuild(facts.collect())().expect("a ledger");
}

fn register(ledger: &SqliteLedger, thread: ThreadId, parent: Option<ThreadId>) {
    let budget = Budget { spend: Allowance::AtMost(Money(1_000_000_000_000)), tokens: Allowance::Open };
    let registration = Registration { thread, parent, budget, slots: Slots::default(), spent: Spent::default() };
    let answer = ledger.register(registration)().expect("an answer");
    assert!(matches!(answer, Registered::Live(_)));
}

const MOST: CallCost = CallCost { spend: Some(Money(30)), tokens: Tokens(2_000) };

fn reserve(ledger: &SqliteLedger, thread: &ThreadId, request: u32) {
    let answer = ledger.reserve(thread, request, MOST)().expect("an answer");
    assert!(matches!(answer, Granted::Yes(_)));
}

/// Each call costs a little less than was reserved.
fn settle(ledger: &SqliteLedger, thread: &ThreadId, request: u32) {
    let tokens = Tokens(1_500 * (u64::from(request) + 1));
    let log = Spent { spend: Money(20 * (i64::from(request) + 1)), tokens, unpriced: Tokens(0) };
    black_box(ledger.settle(thread, request, log)().expect("an answer"));
}

/// A ledger of 10,000 threads, and below the last of them a line of ten more that are live.
fn ledger() -> &'static SqliteLedger {
    static LEDGER: OnceLock<(tempfile::TempDir, SqliteLedger)> = OnceLock::new();
    let (_, ledger) = LEDGER.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let ledger = open(folder.path());
        fill(&ledger);
        for number in 0..10_u64 {
            let parent = number.checked_sub(1).map(|above| ThreadId::new("deep", above));
            register(&ledger, ThreadId::new("deep", number), parent);
        }
        register(&ledger, thread(0), None);
        for number in [1, 10, 100, 1_000] {
            register(&ledger, thread(number), Some(thread((number - 1) / 10)));
        }
        (folder, ledger)
    });
    ledger
}

/// Two transactions, of a thread with so many ancestors.
#[divan::bench(args = [0, 3, 9])]
fn reserve_and_settle(bencher: Bencher<'_, '_>, ancestors: u64) {
    let (ledger, thread) = (ledger(), ThreadId::new("deep", ancestors));
    let mut requests = 1..;
    bencher.bench_local(|| {
        let request = requests.next().expect("a number");
        reserve(ledger, &thread, request);
        settle(ledger, &thread, request);
    });
}

/// The same of a thread that has nine thousand siblings and cousins.
#[divan::bench]
fn reserve_and_settle_in_a_tree_of_10000(bencher: Bencher<'_, '_>) {
    let (ledger, thread) = (ledger(), thread(1_000));
    let mut requests = 1..;
    bencher.bench_local(|| {
        let request = requests.next().expect("a number");
        reserve(ledger, &thread, request);
        settle(ledger, &thread, request);
    });
}

#[divan::bench]
fn report(bencher: Bencher<'_, '_>) {
    let (ledger, thread) = (ledger(), thread(1_000));
    bencher.bench(|| ledger.report(black_box(&thread))().expect("a report"));
}

#[divan::bench(sample_count = 3)]
fn rebuild_10000(bencher: Bencher<'_, '_>) {
    bencher.with_inputs(|| tempfile::tempdir().expect("a temporary folder")).bench_local_values(|folder| {
        fill(&open(folder.path()));
        folder
    });
}

// ------------------------------------------------------------------------------------------------ many processes

/// One of the processes: reserves and settles without a pause, and tells how long each transaction took.
fn part(number: u64, folder: &Path) {
    let ledger = open(folder);
    let thread = ThreadId::new("part", number);
    register(&ledger, thread.clone(), Some(self::thread(0)));
    println!("ready");
    std::io::stdin().lines().next().expect("a line").expect("a word");
    let began = Instant::now();
    let mut took = Vec::new();
    for request in 0.. {
        if began.elapsed() > LASTS {
            break;
        }
        for step in [reserve, settle] {
            let begins = Instant::now();
            step(&ledger, &thread, request);
            took.push(begins.elapsed());
        }
    }
    let mut output = BufWriter::new(std::io::stdout().lock());
    for took in took {
        writeln!(output, "{}", took.as_micros()).expect("a reader");
    }
    output.flush().expect("a reader");
}

fn processes(number: u64) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let ledger = open(folder.path());
    fill(&ledger);
    register(&ledger, thread(0), None);
    let program = std::env::current_exe().expect("this program");
    let mut children: Vec<Child> = Vec::new();
    for part in 0..number {
        let mut command = Command::new(&program);
        command.arg("--part").arg(part.to_string()).arg(folder.path());
        children.push(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a process"));
    }
    let mut outputs: Vec<_> =
        children.iter_mut().map(|child| BufReader::new(child.stdout.take().expect("a pipe"))).collect();
    for output in &mut outputs {
        output.read_line(&mut String::new()).expect("a line");
    }
    for child in &mut children {
        child.stdin.take().expect("a pipe").write_all(b"go\n").expect("a reader");
    }
    let mut took: Vec<u64> = Vec::new();
    let mut least = usize::MAX;
    for output in outputs {
        let own: Vec<u64> = output.lines().map(|line| line.expect("a line").parse().expect("a number")).collect();
        least = least.min(own.len());
        took.extend(own);
    }
    for mut child in children {
        child.wait().expect("its end");
    }
    took.sort_unstable();
    let at = |per_mille: usize| {
        let micros = took[(took.len() * per_mille / 1_000).min(took.len() - 1)];
        Duration::from_micros(micros)
    };
    let second = took.len() as u64 / LASTS.as_secs();
    println!(
        "{number} processes: {second} transactions a second; p50 {:?}, p99 {:?}, p99.9 {:?}, longest {:?}",
        at(500),
        at(990),
        at(999),
        at(1_000)
    );
    println!("the process that had the fewest had {least} of {}", took.len());
    let report = ledger.report(&thread(0))().expect("a report");
    let settled = i64::try_from(took.len() / 2).expect("a number");
    assert_eq!(report.spend.spent_below.0, 20 * settled + 100 * 9_999, "what was settled is counted");
}
