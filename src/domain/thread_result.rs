//! What came of a thread, for whoever started it or asks: the keys are those that programs for this format read.

use super::id::ThreadId;
use super::status::{Cost, Status};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The longest text of an answer that a result holds, in bytes. The whole of it is in the thread's transcript.
pub const LONGEST_RESULT: usize = 4_000;

/// What came of a thread so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThreadResult {
    /// Whether it completed what it was asked.
    pub success: bool,
    pub thread_id: ThreadId,
    pub status: Status,
    pub directive: String,
    pub cost: ResultCost,
    /// The text of its last answer, up to [`LONGEST_RESULT`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub result_truncated: bool,
    /// What its directive handed back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outputs: Option<Value>,
    /// Why it did not complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Whether it waits for a person to let it go on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspended: bool,
    /// The thread that goes on with its conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continuation_thread_id: Option<ThreadId>,
}

/// What a thread has used.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResultCost {
    pub turns: u32,
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// US dollars, as far as prices are known.
    pub spend: f64,
    pub elapsed_seconds: f64,
}

impl From<Cost> for ResultCost {
    #[expect(clippy::cast_precision_loss, reason = "milliseconds of work fit in 53 bits")]
    fn from(cost: Cost) -> Self {
        let Cost { turns, usage, spend, elapsed_ms, .. } = cost;
        let output_tokens = usage.output.0;
        let input_tokens = usage.total().0.saturating_sub(output_tokens);
        Self {
            turns,
            input_tokens,
            output_tokens,
            spend: spend.dollars(),
            elapsed_seconds: elapsed_ms as f64 / 1_000.0,
        }
    }
}

impl ThreadResult {
    /// With the text of the last answer, as much of it as a result holds.
    #[must_use]
    pub fn saying(mut self, text: &str) -> Self {
        let end = text.floor_char_boundary(LONGEST_RESULT);
        self.result_truncated = end < text.len();
        self.result = text.get(..end).map(str::to_owned);
        self
    }
}

/// The tool by which a thread does them.
pub const ORCHESTRATOR: &str = "rye/agent/threads/orchestrator";

/// What is done with threads: the operations of the orchestrator, with their parameters.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "operation", rename_all = "snake_case", deny_unknown_fields)]
pub enum Operation {
    /// Waits until each of the threads has ended, or waits for a person.
    WaitThreads {
        thread_ids: Vec<ThreadId>,
        /// Seconds.
        #[serde(default)]
        timeout: Option<u64>,
    },
    /// Asks a thread to end as cancelled.
    CancelThread {
        thread_id: ThreadId,
    },
    /// Ends a thread whatever it does.
    KillThread {
        thread_id: ThreadId,
    },
    GetStatus {
        thread_id: ThreadId,
    },
    /// The threads that run.
    ListActive {},
    /// What came of each thread.
    AggregateResults {
        thread_ids: Vec<ThreadId>,
    },
    /// The threads of one conversation, the first first.
    GetChain {
        thread_id: ThreadId,
    },
    /// Looks for something in the conversation that the thread is of.
    ChainSearch {
        thread_id: ThreadId,
        query: String,
        #[serde(default)]
        search_type: SearchType,
        #[serde(default)]
        max_results: Option<usize>,
    },
    /// Goes on with a thread that has ended: in a new one of the same directive, behind it in its chain.
    ResumeThread {
        thread_id: ThreadId,
        message: String,
    },
    /// Has a new thread go on with one that works or waits for a message: behind it in its chain, with what is left of its
    /// limits.
    HandoffThread {
        thread_id: ThreadId,
    },
    /// What was said in a thread, or its end.
    ReadTranscript {
        thread_id: ThreadId,
        #[serde(default)]
        tail_lines: Option<usize>,
    },
}

impl Operation {
    /// The words of the operations that a model is told of: all but going on with a thread, which is a person's.
    pub const NAMES: [&str; 10] = [
        "wait_threads",
        "cancel_thread",
        "kill_thread",
        "handoff_thread",
        "get_status",
        "list_active",
        "aggregate_results",
        "get_chain",
        "chain_search",
        "read_transcript",
    ];

    /// The threads that it names.
    #[must_use]
    pub fn threads(&self) -> &[ThreadId] {
        match self {
            Self::WaitThreads { thread_ids, .. } | Self::AggregateResults { thread_ids } => thread_ids,
            Self::CancelThread { thread_id }
            | Self::KillThread { thread_id }
            | Self::GetStatus { thread_id }
            | Self::GetChain { thread_id }
            | Self::ChainSearch { thread_id, .. }
            | Self::ResumeThread { thread_id, .. }
            | Self::HandoffThread { thread_id }
            | Self::ReadTranscript { thread_id, .. } => std::slice::from_ref(thread_id),
            Self::ListActive {} => &[],
        }
    }
}

/// How a search reads what it looks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchType {
    /// Letters as they are, whatever their case.
    #[default]
    Text,
    Regex,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn operations_read_as_models_write_them() {
        let read = |value: Value| serde_json::from_value::<Operation>(value);
        let wait = read(json!({"operation": "wait_threads", "thread_ids": ["a-1"], "timeout": 3})).unwrap();
        assert_eq!(wait.threads().len(), 1);
        assert_eq!(read(json!({"operation": "list_active"})).unwrap(), Operation::ListActive {});
        for bad in [json!({}), json!({"operation": "dance"}), json!({"operation": "get_status"})] {
            assert!(read(bad.clone()).is_err(), "{bad}");
        }
        let why = read(json!({"operation": "list_active", "thread_id": "a-1"})).unwrap_err().to_string();
        assert!(why.contains("thread_id"), "{why}");
        for name in Operation::NAMES {
            let why = read(json!({"operation": name, "nonsense": 1})).unwrap_err().to_string();
            assert!(!why.contains("unknown variant"), "{name}: {why}");
        }
    }
}
