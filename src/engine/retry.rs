//! Whether a failed call is tried again, and when. One function decides.

use crate::domain::event::{CallError, ErrorCategory};

/// How often a turn is tried before the failure is final.
pub const MAX_ATTEMPTS: u32 = 4;

/// First pause, doubled with every attempt.
const BASE_MS: u64 = 2_000;
/// No pause of our own is longer.
const LONGEST_MS: u64 = 60_000;
/// A provider that asks for a longer pause than this is told to the person instead of waited for.
const LONGEST_ASKED_MS: u64 = 15 * 60_000;

/// The pause before the next attempt, in milliseconds; `None` when the failure is final. `attempt` is the one that
/// failed, counted from 1.
#[must_use]
pub fn pause(error: &CallError, attempt: u32) -> Option<u64> {
    if attempt >= MAX_ATTEMPTS {
        return None;
    }
    let own = || BASE_MS.saturating_mul(1 << (attempt - 1).min(16)).min(LONGEST_MS);
    match error.category {
        ErrorCategory::Transient | ErrorCategory::RateLimited => match error.retry_after_ms {
            Some(asked) if asked > LONGEST_ASKED_MS => None,
            Some(asked) => Some(asked),
            None => Some(own()),
        },
        ErrorCategory::Quota | ErrorCategory::Auth | ErrorCategory::ContextTooLong | ErrorCategory::Permanent => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(category: ErrorCategory, retry_after_ms: Option<u64>) -> CallError {
        CallError { category, code: "x".into(), message: "x".into(), status: None, retry_after_ms }
    }

    #[test]
    fn tries_are_counted_and_the_header_is_honoured() {
        let transient = error(ErrorCategory::Transient, None);
        assert_eq!(
            (1..=4).map(|n| pause(&transient, n)).collect::<Vec<_>>(),
            [Some(2_000), Some(4_000), Some(8_000), None]
        );
        assert_eq!(pause(&error(ErrorCategory::RateLimited, Some(7_300)), 2), Some(7_300));
        assert_eq!(pause(&error(ErrorCategory::RateLimited, Some(3_600_000)), 1), None);
        assert_eq!(pause(&error(ErrorCategory::Auth, None), 1), None);
    }
}
