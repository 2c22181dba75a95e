//! The fields that conditions of hooks can test, by the event that they are asked at. A hook that tests another never holds,
//! which people are told where they write it; docs/context.md lists the same.

use super::problem::nearest;

/// Of every event. What ends in `.*` holds names that somebody else chose, or a list.
const OF_EVERY_EVENT: &[&str] = &[
    "directive",
    "category",
    "directive_body",
    "has_extends",
    "inputs.*",
    "model",
    "limits.turns",
    "limits.tokens",
    "limits.spend",
    "limits.duration_seconds",
    "limits_summary",
    "spend_limit",
    "max_turns",
    "project_path",
    "depth",
    "kind",
    "thread_id",
    "parent_thread_id",
    "previous_thread_id",
    "state.*",
    "capabilities.*",
    "capabilities_summary",
];

/// Of the events whose answer says how to go on.
const OF_A_RUNNING_THREAD: &[&str] = &[
    "cost.turns",
    "cost.tokens",
    "cost.input_tokens",
    "cost.output_tokens",
    "cost.spend",
    "cost.current",
    "cost.elapsed_seconds",
    "loop_count",
];

const OF_THE_WINDOW: &[&str] = &["usage_ratio", "pressure_ratio", "tokens_used", "tokens_limit"];

/// What an event has of its own; `None` for one that is no control point.
fn own(event: &str) -> Option<&'static [&'static str]> {
    Some(match event {
        "error" => &[
            "error.type",
            "error.code",
            "error.message",
            "error.status",
            "error.retry_after_seconds",
            "classification.id",
            "classification.code",
            "classification.category",
            "classification.retryable",
            "classification.retry_policy.*",
            "attempt",
            "max_attempts",
        ],
        "limit" => &["limit_code", "current_value", "current_max"],
        "context_window_pressure" | "context_limit_reached" => OF_THE_WINDOW,
        "directive_return" => &["outputs.*"],
        "after_complete" => &["status", "error.message", "continuation_thread_id"],
        "after_step" => &[],
        _ => return None,
    })
}

/// All that `event` has.
pub fn of(event: &str) -> impl Iterator<Item = &'static str> + Clone {
    let more: [&'static [&'static str]; 2] = own(event).map_or([&[], &[]], |own| [OF_A_RUNNING_THREAD, own]);
    OF_EVERY_EVENT.iter().chain(more[0]).chain(more[1]).copied()
}

/// Whether `path` leads to something that `event` has, or may have.
#[must_use]
pub fn is_known(event: &str, path: &str) -> bool {
    of(event).any(|name| {
        let (name, open) = name.strip_suffix(".*").map_or((name, false), |name| (name, true));
        let below = |inner: &str, outer: &str| inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('.'));
        // The whole of it, a part of what others named, or the object that it is in.
        name == path || open && below(path, name) || below(name, path)
    })
}

/// What is wrong with a path that `event` does not have, and what to do.
#[must_use]
pub fn unknown(event: &str, path: &str) -> (String, String) {
    let message = format!("`{path}` is no field of `{event}`, so nothing is ever there");
    let names = of(event).map(|name| name.trim_end_matches(".*"));
    let remedy = nearest(path, names.clone()).map_or_else(
        || {
            let own: Vec<&str> = names.skip(OF_EVERY_EVENT.len()).collect();
            let fields = if own.is_empty() { String::new() } else { format!(": {}", own.join(", ")) };
            format!("see the fields of every event in docs/context.md, and those of this one{fields}")
        },
        |near| format!("did you mean `{near}`?"),
    );
    (message, remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_known_where_its_event_has_it() {
        let known = |path| is_known("error", path);
        assert!(
            ["error", "error.message", "inputs.any", "cost", "cost.turns", "capabilities.0", "state"].map(known)
                == [true; 7]
        );
        assert!(["eror.message", "error.mesage", "error.message.more", "limit_code", "cost."].map(known) == [false; 5]);
        assert!(!is_known("thread_started", "cost.turns") && is_known("thread_started", "model"));
        assert_eq!(unknown("error", "error.mesage").1, "did you mean `error.message`?");
        assert!(unknown("limit", "whatever").1.ends_with("limit_code, current_value, current_max"));
    }
}
