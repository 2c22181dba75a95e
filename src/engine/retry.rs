//! What a failed call means, whether it is tried again, and when. One place decides.

use crate::domain::event::{CallError, ErrorCategory};
use crate::domain::{ErrorPattern, Pause, Rules};

/// What rules say of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meaning<'a> {
    /// Of the pattern that fits.
    pub id: &'a str,
    pub category: ErrorCategory,
    pub retryable: bool,
    pub pause: Pause,
}

/// The id of what the program itself knows of a failure.
const OWN: &str = "builtin";

/// What `error` means: as the first pattern that fits says, else as its provider was understood, else as the rules say
/// of everything else.
#[must_use]
pub fn meaning<'a>(rules: &'a Rules, error: &CallError) -> Meaning<'a> {
    let usual = rules.retry.pause;
    let of = |pattern: &'a ErrorPattern| Meaning {
        id: &pattern.id,
        category: pattern.category,
        retryable: pattern.retryable,
        pause: pattern.pause.unwrap_or(usual),
    };
    let own = Meaning { id: OWN, category: error.category, retryable: error.category.may_pass(), pause: usual };
    let fallback = rules.fallback.as_ref().filter(|_| error.category == ErrorCategory::Permanent);
    rules.patterns.iter().find(|pattern| pattern.fits(error)).or(fallback).map_or(own, of)
}

/// The pause before another try, in milliseconds, whatever the failure means; `None` when there were enough tries, or
/// the provider wants too long a pause. `attempt` is the one that failed, counted from 1.
#[must_use]
pub fn next_try(rules: &Rules, error: &CallError, attempt: u32) -> Option<u64> {
    if attempt >= rules.retry.max_attempts {
        return None;
    }
    match error.retry_after_ms {
        Some(asked) if asked > rules.retry.longest_asked_ms => None,
        Some(asked) => Some(asked),
        None => Some(meaning(rules, error).pause.after(attempt)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Retry;

    fn error(category: ErrorCategory, retry_after_ms: Option<u64>) -> CallError {
        CallError { category, code: "x".into(), message: "so".into(), status: Some(418), retry_after_ms }
    }

    fn pattern(id: &str, status: u16, category: ErrorCategory, pause: Option<Pause>) -> ErrorPattern {
        ErrorPattern {
            id: id.into(),
            category,
            retryable: category.may_pass(),
            status: vec![status],
            codes: Vec::new(),
            words: Vec::new(),
            pause,
        }
    }

    #[test]
    fn tries_are_counted_and_the_header_is_honoured() {
        let rules = Rules::default();
        let transient = error(ErrorCategory::Transient, None);
        assert_eq!(
            (1..=4).map(|attempt| next_try(&rules, &transient, attempt)).collect::<Vec<_>>(),
            [Some(2_000), Some(4_000), Some(8_000), None]
        );
        let limited = |asked| next_try(&rules, &error(ErrorCategory::RateLimited, Some(asked)), 2);
        assert_eq!((limited(7_300), limited(3_600_000)), (Some(7_300), None));
        let few = Rules { retry: Retry { max_attempts: 2, ..Retry::default() }, ..Rules::default() };
        assert_eq!((next_try(&few, &transient, 1), next_try(&few, &transient, 2)), (Some(2_000), None));
    }

    #[test]
    fn the_first_pattern_that_fits_says_what_a_failure_means() {
        let fixed = Pause::Fixed { delay_ms: 5 };
        let mut rules = Rules {
            patterns: vec![
                pattern("other", 500, ErrorCategory::Quota, None),
                pattern("teapot", 418, ErrorCategory::Transient, Some(fixed)),
                pattern("late", 418, ErrorCategory::Auth, None),
            ],
            ..Rules::default()
        };
        let failed = error(ErrorCategory::Permanent, None);
        let found = meaning(&rules, &failed);
        assert_eq!((found.id, found.category, found.retryable), ("teapot", ErrorCategory::Transient, true));
        assert_eq!(next_try(&rules, &failed, 3), Some(5));
        rules.patterns.clear();
        rules.fallback = Some(pattern("default", 0, ErrorCategory::Transient, None));
        assert_eq!(meaning(&rules, &failed).id, "default");
        // What the program understood needs no fallback.
        let known = error(ErrorCategory::Auth, None);
        let found = meaning(&rules, &known);
        assert_eq!((found.id, found.retryable), ("builtin", false));
    }
}
