//! The registry and the budget ledger as files that other programs for this format read.

use super::kept_ledger::KeptLedger;
use super::layout::{Layout, failed};
use super::recover::Replay;
use super::registry::{Part, ThreadEntry};
use super::threads::Threads;
use crate::domain::{BudgetReport, ThreadId, ThreadOrigin, Timestamp};
use crate::ports::{Ledger, StoreError};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::path::PathBuf;

/// As many threads are told.
const MOST: usize = 100_000;

/// Writes `registry.json` and `budget_ledger.json` beside the folders of the threads, each whole or not at all, and returns
/// their paths. A thread that never was in the ledger is not in its file.
///
/// # Errors
/// [`StoreError`].
pub fn write(layout: &Layout, now: Timestamp, replay: Replay) -> Result<[PathBuf; 2], StoreError> {
    let rows = Threads::look(layout, now, replay)?.list(Part::All, MOST)?;
    let ledger = KeptLedger::new(layout, replay);
    let put = |name: &str, value: &Value| {
        let path = layout.threads().join(name);
        let mut text = serde_json::to_vec_pretty(value).unwrap_or_default();
        text.push(b'\n');
        path.replace(&text).map_err(failed("write", &path)).map(|()| path.path())
    };
    let budgets = rows.iter().filter_map(|row| Some((row, ledger.report(&row.thread_id)().ok()?)));
    Ok([put("registry.json", &registry(&rows, now))?, put("budget_ledger.json", &budget_ledger(budgets, now))?])
}

/// As RFC 3339 tells a time, in UTC.
fn moment(time: Timestamp) -> Option<String> {
    let millisecond = i64::try_from(time.0).ok()?;
    jiff::Timestamp::from_millisecond(millisecond).ok().map(|time| format!("{time:.3}"))
}

fn registry(rows: &[ThreadEntry], now: Timestamp) -> Value {
    let handed_off = |row: &&ThreadEntry| row.lineage.origin == ThreadOrigin::Handoff;
    let next: HashMap<&ThreadId, &ThreadId> = rows
        .iter()
        .filter(handed_off)
        .filter_map(|row| Some((row.lineage.previous.as_ref()?, &row.thread_id)))
        .collect();
    let mut children: HashMap<&ThreadId, u32> = HashMap::new();
    for parent in rows.iter().filter_map(|row| row.lineage.parent.as_ref()) {
        *children.entry(parent).or_default() += 1;
    }
    let entry = |row: &ThreadEntry| {
        let (cost, lineage) = (&row.cost, &row.lineage);
        let told = json!({
            "thread_id": row.thread_id,
            "directive": row.directive,
            "parent_id": lineage.parent,
            "status": row.status,
            "model": row.model.to_string(),
            "created_at": moment(row.created_at),
            "updated_at": moment(row.updated_at),
            "completed_at": row.status.is_terminal().then(|| moment(row.updated_at)),
            "turns": cost.turns,
            "input_tokens": cost.usage.prompt(),
            "output_tokens": cost.usage.output,
            "spend": cost.spend.dollars(),
            "spawn_count": children.get(&row.thread_id).copied().unwrap_or_default(),
            "pid": row.pid,
            "continuation_of": lineage.previous.as_ref().filter(|_| handed_off(&row)),
            "continuation_thread_id": next.get(&row.thread_id),
            "chain_root_id": lineage.chain,
        });
        (row.thread_id.to_string(), told)
    };
    json!({ "version": 1, "exported_at": moment(now), "threads": rows.iter().map(entry).collect::<Map<_, _>>() })
}

/// In the shape of `.ai/config/agent/budget_ledger_schema.yaml`.
fn budget_ledger<'a>(budgets: impl Iterator<Item = (&'a ThreadEntry, BudgetReport)>, now: Timestamp) -> Value {
    let entry = |(row, report): (&ThreadEntry, BudgetReport)| {
        let spend = report.spend;
        let told = json!({
            "thread_id": row.thread_id,
            "parent_thread_id": report.parent,
            "reserved_spend": (spend.reserved_by_calls + spend.reserved_by_children).dollars(),
            "actual_spend": (spend.spent + spend.spent_below).dollars(),
            "max_spend": spend.limit.map(crate::domain::Money::dollars),
            "status": if report.live { json!("active") } else { json!(row.status) },
            "created_at": moment(row.created_at),
            "updated_at": moment(row.updated_at),
        });
        (row.thread_id.to_string(), told)
    };
    json!({ "version": 1, "exported_at": moment(now), "threads": budgets.map(entry).collect::<Map<_, _>>() })
}
