//! A tree of background threads, three levels deep, of which some are cancelled, some have their process killed, and some
//! fail by themselves: whatever happens to them, no process, no reservation and no unreadable log stays, and the sums of the
//! ledger are those of the logs.
//!
//! `LEVAIN_TREE_BRANCHES` and `LEVAIN_TREE_LEAVES` make it larger (5 and 6 in the test, 9 and 21 for a run of 200 threads).

#![allow(clippy::print_stdout, reason = "a run says what became of its threads")]

use crate::support::terminal::{Home, Terminal, kill};
use rustix::process::{Pid, Signal};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const START: &str = "rye_agent_threads_thread_directive";

/// What a leaf does. The last three end by themselves, the first only if they are stopped or let.
const KINDS: [&str; 6] = ["hangs", "slow", "quick", "fails", "refused", "cut"];

/// How long a run may take, with all its waits.
const PATIENCE: Duration = Duration::from_mins(10);

fn size(variable: &str, usual: usize) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// A whole number that is told as one with a fraction.
fn count(value: &Value) -> u64 {
    let told = value.as_f64().unwrap();
    format!("{told:.0}").parse().unwrap()
}

/// A generator of numbers that are the same in each run: xorshift.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % most as u64).unwrap()
    }
}

struct Forest {
    home: Home,
    model: String,
    threads: usize,
}

fn call(directive: &str, inputs: &Value, waits: bool) -> Value {
    json!({ "tool_call": { "name": START, "input":
        { "directive_name": directive, "async": !waits, "inputs": inputs } } })
}

impl Forest {
    fn new(branches: usize, leaves: usize, raised: bool) -> Self {
        let home = Home::new();
        let write = |path: &str, text: &str| {
            let path = home.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let directive = |name: &str, threads: bool, body: &str| {
            let grant = "<permissions><execute><tool>rye/agent/threads/*</tool></execute></permissions>";
            let grant = if threads { grant } else { "" };
            let metadata = format!("<metadata><limits spawns=\"100\" spend=\"0.10\"/>{grant}</metadata>");
            let inputs = "<inputs><input name=\"kind\" default=\"none\">what it does</input></inputs>";
            let text = format!("```xml\n<directive name=\"{name}\">{metadata}{inputs}</directive>\n```\n{body}\n");
            write(&format!("project/.ai/directives/{name}.md"), &text);
        };
        directive("root", true, "Lead the forest.");
        directive("branch", true, "Grow a branch.");
        directive("leaf", false, "A leaf of kind {input:kind}.");
        if raised {
            write("home/.ai/config/agent/coordination.yaml", "children: { max_concurrent: 1000, max_threads: 1000 }\n");
        }
        write(
            "home/.ai/config/agent/resilience.yaml",
            "retry: { max_attempts: 2, first_pause_seconds: 0.05, longest_pause_seconds: 0.1 }\n",
        );
        let error = |status: u16| json!({ "error": { "status": status, "kind": "broken", "message": "it is broken" } });
        let roots: Vec<Value> = (0..branches).map(|_| call("branch", &json!({}), false)).collect();
        // The last is waited for.
        let branch: Vec<Value> = (0..leaves)
            .map(|n| {
                call(
                    "leaf",
                    &json!({ "kind": if n + 1 == leaves { "quick" } else { KINDS[n % KINDS.len()] } }),
                    n + 1 == leaves,
                )
            })
            .collect();
        let replies = [
            ("\"pid\"", json!([{ "text": "All are started." }])),
            ("lead the forest", json!(roots)),
            ("grow a branch", json!(branch)),
            ("kind hangs", json!([{ "text": "I begin" }, { "hang": true }])),
            ("kind slow", json!([{ "text": "one two three four five six seven eight nine ten", "rate": 20 }])),
            ("kind quick", json!([{ "text": "Done." }])),
            ("kind fails", json!([{ "text": "I" }, error(500)])),
            ("kind refused", json!([error(401)])),
            ("kind cut", json!([{ "text": "half an ans" }, "cut"])),
        ];
        let mut script = "name: forest\nrate: 0\nreplies:\n".to_owned();
        for (contains, steps) in replies {
            writeln!(script, "  - {}", json!({ "when": { "anywhere": contains }, "steps": steps })).unwrap();
        }
        write("forest.yaml", &script);
        let model = format!("scripted/{}", home.path().join("forest.yaml").display());
        let forest = Self { home, model, threads: 1 + branches + branches * leaves };
        forest.ask(&["trust"]);
        forest
    }

    fn ask(&self, arguments: &[&str]) -> String {
        let output = self.home.levain(arguments).stdin(Stdio::null()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    fn rows(&self) -> Vec<Value> {
        self.ask(&["threads", "--json", "--most", "1000"])
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// Stops threads and kills processes at random until all threads were made, then until none runs.
    fn disturb(&self, root: &str, screen: &Terminal) -> BTreeMap<&'static str, usize> {
        let (mut numbers, began) = (Numbers(0x9e37_79b9_7f4a_7c15), Instant::now());
        let mut done = BTreeMap::new();
        let mut seen = 0;
        loop {
            let rows = self.rows();
            seen = seen.max(rows.len());
            let running: Vec<&Value> =
                rows.iter().filter(|row| row["pid"].is_number() && row["thread_id"] != root).collect();
            let leaves: Vec<&&Value> = running.iter().filter(|row| row["directive"] == "leaf").collect();
            // One whose process was killed before it did anything is as it was made, and begins when it is resumed.
            let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
            let works = |row: &Value| match row["status"].as_str().unwrap() {
                "created" => seconds - row["created_at"].as_f64().unwrap() < 5.0,
                status => ["running", "queued"].contains(&status),
            };
            if rows.len() > self.threads / 2 {
                screen.kill();
            }
            if running.is_empty() && !rows.iter().any(works) {
                return done;
            }
            assert!(
                began.elapsed() < PATIENCE,
                "{} of {} threads still run: {:#?}",
                running.len(),
                rows.len(),
                rows.iter().filter(|row| works(row)).collect::<Vec<_>>()
            );
            // While threads are still made, leaves alone are disturbed: a branch that is killed makes fewer.
            let Some(row) = leaves.get(numbers.below(leaves.len().max(1))).or(leaves.first()) else { continue };
            let id = row["thread_id"].as_str().unwrap();
            let what = ["cancel", "kill", "kill -9", "none"][numbers.below(4)];
            match what {
                "kill -9" => {
                    let pid = i32::try_from(row["pid"].as_i64().unwrap()).unwrap();
                    // Of a leaf that its branch waits for it is the branch's process.
                    kill(Pid::from_raw(pid).unwrap(), Signal::KILL);
                }
                "none" => {}
                word => drop(self.ask(&["threads", word, id])),
            }
            *done.entry(what).or_default() += 1;
        }
    }

    /// What must hold once nothing runs.
    fn settled(&self, root: &str) {
        self.home.wait_until_quiet();
        let rows = self.rows();
        let mut spent = 0;
        for row in &rows {
            let id = row["thread_id"].as_str().unwrap();
            let status = row["status"].as_str().unwrap();
            assert!(["completed", "error", "cancelled", "killed", "created"].contains(&status), "{row}");
            let usage = &row["cost"]["usage"];
            let used: u64 = usage
                .as_object()
                .unwrap()
                .iter()
                .filter(|(name, _)| *name != "reasoning")
                .map(|(_, count)| count.as_u64().unwrap())
                .sum();
            spent += used;
            let transcript = self.home.levain(&["transcript", id]).stdin(Stdio::null()).output().unwrap();
            assert!(transcript.status.success(), "{id} cannot be read: {transcript:?}, {row}");
            // A process that was killed before it took its thread over left nothing to tell.
            let is_told = !transcript.stdout.is_empty() || status == "created";
            assert!(is_told, "nothing is told of {id}: {transcript:?}, {row}");
            let told = self.ask(&["threads", "budget", "--json", id]);
            if told.is_empty() {
                assert_eq!(used, 0, "{id} has spent, and the ledger does not know it");
                continue;
            }
            let budget: Value = serde_json::from_str(&told).unwrap();
            assert_eq!(budget["live"], false, "{budget}");
            for dimension in ["spend", "tokens"] {
                let reserved = budget[dimension]["reserved"].as_f64().unwrap();
                assert!(reserved.abs() < 1e-9, "{budget}");
            }
            let told = count(&budget["tokens"]["spent"]);
            assert_eq!(told, used, "what the ledger says of {id} is not what its log says");
        }
        let budget: Value = serde_json::from_str(&self.ask(&["threads", "budget", "--json", root])).unwrap();
        let all = count(&budget["tokens"]["spent"]) + count(&budget["tokens"]["spent_below"]);
        assert_eq!(all, spent, "{budget}");
        let checked = self.home.levain(&["check"]).stdin(Stdio::null()).output().unwrap();
        assert!(checked.status.success(), "{checked:?}");
    }
}

fn run(raised: bool) {
    let (branches, leaves) = (size("LEVAIN_TREE_BRANCHES", 5), size("LEVAIN_TREE_LEAVES", 6));
    let forest = Forest::new(branches, leaves, raised);
    // A screen looks on, and its process is killed too.
    let screen = forest.home.levain_in_terminal(&[]).size(160, 45).start();
    screen.wait_for("write a prompt");
    screen.send_keys("\x14");
    screen.wait_for("threads · ");
    let root = forest.ask(&["run", "--background", "--model", &forest.model, "--directive", "root"]);
    let root = root.trim().to_owned();
    assert!(!root.is_empty(), "the root did not begin");
    let done = forest.disturb(&root, &screen);
    screen.wait_exit();
    let rows = forest.rows();
    let mut told: BTreeMap<&str, usize> = BTreeMap::new();
    for row in &rows {
        *told.entry(row["status"].as_str().unwrap()).or_default() += 1;
    }
    println!("{} of {} threads: {told:?} after {done:?}", rows.len(), forest.threads);
    forest.settled(&root);
}

#[test]
fn a_disturbed_tree_of_background_threads_leaves_nothing_behind() {
    run(true);
}

#[test]
fn a_disturbed_tree_under_the_usual_limits_queues_and_leaves_nothing_behind() {
    run(false);
}
