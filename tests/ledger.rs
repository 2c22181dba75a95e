//! The budget ledger with many processes at once, of which some are killed, and on a disk that is full.
//!
//! The processes are this test binary again, asked for one of the tests that are ignored otherwise.

use levain::domain::{Allowance, Budget, BudgetReport, CallCost, Money, Slots, Spent, ThreadId, Tokens};
use levain::ports::Ledger;
use levain::ports::ledger::{Granted, Registered, Registration};
use levain::store::SqliteLedger;
use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

const PROCESSES: u64 = 8;
const OPERATIONS: usize = 400;
/// Children of each process's thread.
const CHILDREN: u64 = 3;
/// Less than the processes ask for altogether.
const LIMIT: Money = Money(400_000);
/// How often the first process is killed and started again.
const KILLS: usize = 4;
const NUMBER: &str = "LEDGER_TEST_NUMBER";
const FOLDER: &str = "LEDGER_TEST_FOLDER";

fn open(folder: &Path) -> SqliteLedger {
    SqliteLedger::new(folder.join("registry.db"))
}

fn root() -> ThreadId {
    ThreadId::new("root", 0)
}

fn lead(number: u64) -> ThreadId {
    ThreadId::new("lead", number)
}

fn child(number: u64, which: u64) -> ThreadId {
    ThreadId::new("child", number * CHILDREN + which)
}

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }
}

/// What stands for a thread's log: a line for each call, written before the call is settled.
fn log(folder: &Path, thread: &ThreadId) -> PathBuf {
    folder.join(format!("{thread}.log"))
}

fn keep(folder: &Path, thread: &ThreadId, cost: CallCost) {
    let mut file = OpenOptions::new().create(true).append(true).open(log(folder, thread)).unwrap();
    let spend = cost.spend.map_or_else(|| "-".to_owned(), |spend| spend.0.to_string());
    file.write_all(format!("{spend} {}\n", cost.tokens.0).as_bytes()).unwrap();
}

fn logged(folder: &Path, thread: &ThreadId) -> Spent {
    let mut sum = Spent::default();
    for line in fs::read_to_string(log(folder, thread)).unwrap_or_default().lines() {
        let (spend, tokens) = line.split_once(' ').unwrap();
        let tokens = Tokens(tokens.parse().unwrap());
        sum.tokens += tokens;
        match spend.parse() {
            Ok(spend) => sum.spend += Money(spend),
            Err(_) => sum.unpriced += tokens,
        }
    }
    sum
}

/// One process: a thread below the root and children below that, which reserve and settle, come and go.
struct Part {
    folder: PathBuf,
    ledger: SqliteLedger,
    dice: Dice,
    number: u64,
    /// Calls that are reserved.
    open: Vec<(ThreadId, u32, CallCost)>,
    requests: u32,
    refused: usize,
}

impl Part {
    fn register(&mut self, thread: ThreadId, parent: ThreadId) -> bool {
        self.open.retain(|(of, ..)| *of != thread);
        let amount = i64::try_from(self.dice.below(20_000)).unwrap();
        let used = self.ledger.report(&thread)().map(|report| used(&report).0).unwrap_or_default();
        let spend = match self.dice.below(4) {
            0 => Allowance::Open,
            1 => Allowance::AtMost(Money(used + amount)),
            2 => Allowance::SetAside(Money(used + amount)),
            _ => Allowance::Share { children: u32::try_from(PROCESSES).unwrap() },
        };
        let budget = Budget { spend, tokens: Allowance::Open };
        let log = logged(&self.folder, &thread);
        let registration = Registration { thread, parent: Some(parent), budget, slots: Slots::default(), spent: log };
        let live = matches!(self.ledger.register(registration)().unwrap(), Registered::Live(_));
        self.refused += usize::from(!live);
        live
    }

    fn release(&mut self, thread: &ThreadId) {
        self.open.retain(|(of, ..)| of != thread);
        self.ledger.release(thread, logged(&self.folder, thread))().unwrap();
    }

    /// Takes over what a process before this one left behind.
    fn begin(&mut self) {
        while !self.register(lead(self.number), root()) {}
        for which in 0..CHILDREN {
            let child = child(self.number, which);
            if self.ledger.report(&child)().is_ok_and(|report| report.live) {
                assert!(self.register(child, lead(self.number)));
            }
        }
    }

    fn step(&mut self) {
        let which = self.dice.below(CHILDREN);
        let (lead, child) = (lead(self.number), child(self.number, which));
        let thread = if self.dice.below(3) == 0 { lead.clone() } else { child.clone() };
        match self.dice.below(10) {
            0 => drop(self.register(child, lead)),
            1 => self.release(&child),
            2..=5 => {
                let spend = (self.dice.below(8) > 0).then(|| Money(i64::try_from(self.dice.below(2_000)).unwrap()));
                let most = CallCost { spend, tokens: Tokens(self.dice.below(5_000)) };
                self.requests += 1;
                match self.ledger.reserve(&thread, self.requests, most)() {
                    Ok(Granted::Yes(_)) => self.open.push((thread, self.requests, most)),
                    Ok(Granted::Refused(_)) => self.refused += 1,
                    Err(error) => assert!(
                        error.to_string().contains("as ended") || error.to_string().contains("is not in"),
                        "{error}"
                    ),
                }
            }
            _ => {
                let Some((thread, request, most)) = self.open.pop() else { return };
                let part = i64::try_from(self.dice.below(101)).unwrap();
                let spend = most.spend.map(|spend| Money(spend.0 * part / 100));
                let cost = CallCost { spend, tokens: Tokens(most.tokens.0 / 2) };
                keep(&self.folder, &thread, cost);
                self.ledger.settle(&thread, request, logged(&self.folder, &thread))().unwrap();
            }
        }
    }
}

/// Not a test: what each of the processes does. The first goes on until it is killed.
#[test]
#[ignore = "the other test starts it, in processes of its own"]
fn one_of_many_processes() {
    let (Ok(number), Ok(folder)) = (std::env::var(NUMBER), std::env::var(FOLDER)) else { return };
    let (number, folder) = (number.parse().unwrap(), PathBuf::from(folder));
    let ledger = open(&folder);
    // One that is started again does something else.
    let seen = logged(&folder, &lead(number)).tokens.0;
    let dice = Dice(0x9e37_79b9_7f4a_7c15 ^ (number + 1) ^ (seen << 8));
    let mut part = Part { folder, ledger, dice, number, open: Vec::new(), requests: 0, refused: 0 };
    part.begin();
    let mut steps = 0;
    while number == 0 || steps < OPERATIONS {
        part.step();
        steps += 1;
        if steps == OPERATIONS / 2 {
            println!("\nhalf");
        }
    }
    // Every other ends in order.
    if number.is_multiple_of(2) {
        for which in 0..CHILDREN {
            part.release(&child(number, which));
        }
        part.release(&lead(number));
    }
    println!("\ndone {}", part.refused);
}

/// Starts this binary again for one of its tests.
fn start(test: &str, number: u64, folder: &Path) -> (Process, BufReader<ChildStdout>) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", &format!("ledger::{test}"), "--ignored", "--nocapture"]);
    run(command.env(NUMBER, number.to_string()).env(FOLDER, folder))
}

fn run(command: &mut Command) -> (Process, BufReader<ChildStdout>) {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    (Process(child), output)
}

/// A process that is killed when it is not needed any more.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        let _its_end = self.0.wait();
    }
}

fn used(report: &BudgetReport) -> Money {
    let spend = &report.spend;
    spend.spent + spend.spent_below + spend.reserved_by_calls + spend.reserved_by_children
}

/// Waits for a line of `output` that begins with `word`, and returns the rest of it.
fn line(output: &mut impl BufRead, word: &str) -> String {
    for line in output.lines() {
        if let Some(rest) = line.unwrap().strip_prefix(word) {
            return rest.trim().to_owned();
        }
    }
    panic!("a process ended without `{word}`");
}

/// The root, with all the money there is.
fn begin(ledger: &SqliteLedger) {
    let budget = Budget { spend: Allowance::SetAside(LIMIT), tokens: Allowance::Open };
    let registration =
        Registration { thread: root(), parent: None, budget, slots: Slots::default(), spent: Spent::default() };
    assert!(matches!(ledger.register(registration)().unwrap(), Registered::Live(_)));
}

#[test]
fn no_limit_is_exceeded_by_many_processes_of_which_some_are_killed() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(folder.path());
    ledger.rebuild(Vec::new())().unwrap();
    begin(&ledger);

    let mut refused = 0;
    std::thread::scope(|scope| {
        let others = (1..PROCESSES).map(|number| {
            let (process, mut output) = start("one_of_many_processes", number, folder.path());
            scope.spawn(move || {
                let refused = line(&mut output, "done").parse::<usize>().unwrap();
                drop(process);
                refused
            })
        });
        let others: Vec<_> = others.collect();
        let killed = scope.spawn(|| {
            for _ in 0..KILLS {
                let (process, mut output) = start("one_of_many_processes", 0, folder.path());
                line(&mut output, "half");
                drop(process);
            }
        });
        while !(killed.is_finished() && others.iter().all(std::thread::ScopedJoinHandle::is_finished)) {
            let report = ledger.report(&root())().unwrap();
            assert!(used(&report) <= LIMIT && report.spend.over == Money(0), "{report:?}");
        }
        killed.join().unwrap();
        refused += others.into_iter().map(|other| other.join().unwrap()).sum::<usize>();
    });
    assert!(refused > 0, "nobody came near the limit");

    // Whoever finds them dead releases them, side by side and more than once.
    let threads =
        || (0..PROCESSES).flat_map(|number| (0..CHILDREN).map(move |which| child(number, which)).chain([lead(number)]));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let reaper = open(folder.path());
                for thread in threads() {
                    reaper.release(&thread, logged(folder.path(), &thread))().unwrap();
                }
            });
        }
    });
    let mut sum = Spent::default();
    for thread in threads() {
        let logged = logged(folder.path(), &thread);
        (sum.spend, sum.tokens, sum.unpriced) =
            (sum.spend + logged.spend, sum.tokens + logged.tokens, sum.unpriced + logged.unpriced);
        let Ok(report) = ledger.report(&thread)() else { continue };
        let told = Spent { spend: report.spend.spent, tokens: report.tokens.spent, unpriced: report.unpriced };
        assert_eq!(told, logged, "{thread}");
        assert!(!report.live && report.spend.over == Money(0), "{report:?}");
        assert_eq!((report.spend.reserved_by_calls, report.spend.reserved_by_children), (Money(0), Money(0)));
    }
    let report = ledger.report(&root())().unwrap();
    assert_eq!(report.live_children, 0);
    assert_eq!((report.spend.spent, report.spend.spent_below), (Money(0), sum.spend));
    assert_eq!((report.tokens.spent_below, report.unpriced_below), (sum.tokens, sum.unpriced));
    assert_eq!(report.spend.left, Some(Money(LIMIT.0 - sum.spend.0)));
    assert!(sum.spend > Money(LIMIT.0 / 4), "too little was spent to tell anything: {sum:?}");
}

const CALL: CallCost = CallCost { spend: Some(Money(1)), tokens: Tokens(1) };

/// Not a test: reserves and settles until the disk is full.
#[test]
#[ignore = "the other test starts it, where files cannot grow"]
fn one_on_a_full_disk() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let (folder, root) = (PathBuf::from(folder), root());
    let ledger = open(&folder);
    let error = (1..).find_map(|request| {
        let reserve = || {
            let granted = ledger.reserve(&root, request, CALL)()?;
            assert!(matches!(granted, Granted::Yes(_)));
            keep(&folder, &root, CALL);
            ledger.settle(&root, request, logged(&folder, &root))()
        };
        reserve().err()
    });
    // Asked again, it says so again, and looking is possible still.
    assert!(ledger.reserve(&root, 0, CALL)().is_err());
    let report = ledger.report(&root)().unwrap();
    println!("\nfull {} {}", report.spend.spent.0, error.unwrap());
}

/// The process may not write files of more than some hundred kilobytes, which looks like a full disk to the database.
#[test]
fn on_a_full_disk_nothing_is_granted_and_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(folder.path());
    ledger.rebuild(Vec::new())().unwrap();
    begin(&ledger);
    let limited = r#"trap "" XFSZ; ulimit -f 400; exec "$0" "$@""#;
    let mut command = Command::new("sh");
    command.args(["-c", limited]).arg(std::env::current_exe().unwrap());
    command.args(["--exact", "ledger::one_on_a_full_disk", "--ignored", "--nocapture"]).env(FOLDER, folder.path());
    let (_process, mut output) = run(&mut command);
    let told = line(&mut output, "full");
    let (settled, error) = told.split_once(' ').unwrap();
    assert!(error.contains("could not ") && error.contains("registry.db"), "{error}");
    assert!(error.ends_with("no call is sent while the budget cannot be checked"), "{error}");

    // There is room again, and the log has what could not be settled.
    let log = logged(folder.path(), &root());
    assert!(log.spend.0 - settled.parse::<i64>().unwrap() <= 1, "{told}, {log:?}");
    assert!(matches!(ledger.reserve(&root(), 0, CALL)().unwrap(), Granted::Yes(_)));
    let report = ledger.settle(&root(), 0, log)().unwrap();
    assert_eq!((report.spend.spent, report.spend.over), (log.spend, Money(0)));
}
