//! What a thread does about failures and a full window, as the settings have it. Numbers that could do harm are held
//! within bounds, and who wrote them is told.

use super::{Cascade, Node};
use crate::domain::event::ErrorCategory;
use crate::domain::{
    ErrorPattern, FollowUp, Pause, Problem, Retry, Rules, Severity, Steering, Tokens, WindowRules, nearest,
};
use serde_json::Value;

impl Cascade {
    /// The rules for threads. What does not fit is told and has its usual value.
    #[must_use]
    pub fn rules(&self) -> (Rules, Vec<Problem>) {
        let mut reading = Reading { cascade: self, problems: Vec::new() };
        let rules = Rules {
            retry: reading.retry(),
            patterns: reading.patterns(),
            fallback: reading.fallback(),
            window: Some(reading.window()),
            outputs: Vec::new(),
            asks: Vec::new(),
            steering: reading.choice(
                "coordination.queue.steering",
                [("after_batch", Steering::AfterBatch), ("skip_remaining", Steering::SkipRemaining)],
            ),
            follow_up: reading.choice(
                "coordination.queue.follow_up",
                [("one_at_a_time", FollowUp::OneAtATime), ("all", FollowUp::All)],
            ),
        };
        (rules, reading.problems)
    }
}

struct Reading<'a> {
    cascade: &'a Cascade,
    problems: Vec<Problem>,
}

impl Reading<'_> {
    fn tell(&mut self, node: &Node, severity: Severity, message: String, remedy: String) {
        if let Some(origin) = self.cascade.origin(node) {
            self.problems.push(Problem::at(origin.file, origin.line, severity, message, remedy));
        }
    }

    /// The value that the word at `key` means; the first where there is none, or another word.
    fn choice<T: Copy>(&mut self, key: &str, known: [(&str, T); 2]) -> T {
        let [(usual, value), (other, _)] = known;
        let Some(node) = self.cascade.get(key) else { return value };
        let said = node.value();
        if let Some((_, value)) = known.iter().find(|(word, _)| said.as_str() == Some(word)) {
            return *value;
        }
        let short = key.split_once('.').map_or(key, |(_, short)| short);
        let message = format!("`{short}` is {said}; levain uses {usual}");
        self.tell(node, Severity::Warning, message, format!("write {usual} or {other}"));
        value
    }

    /// The number at `key` between `least` and `most`.
    fn number(&mut self, key: &str, usual: f64, (least, most): (f64, f64)) -> f64 {
        let Some(node) = self.cascade.get(key) else { return usual };
        let Some(number) = node.value().as_f64() else { return usual };
        let held = number.clamp(least, most);
        if (held - number).abs() > f64::EPSILON {
            let short = key.split_once('.').map_or(key, |(_, short)| short);
            let message = format!("`{short}` is {number}; levain uses {held}");
            self.tell(node, Severity::Warning, message, format!("write a number from {least} to {most}"));
        }
        held
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "held between one and ten")]
    fn retry(&mut self) -> Retry {
        let longest = seconds(Retry::LONGEST_MS);
        let first = self.number("resilience.retry.first_pause_seconds", 2.0, (0.0, longest));
        let last = self.number("resilience.retry.longest_pause_seconds", 60.0, (0.0, longest));
        let asked = self.number("resilience.retry.longest_asked_seconds", longest, (0.0, longest));
        let most = f64::from(Retry::MOST_ATTEMPTS);
        Retry {
            max_attempts: self.number("resilience.retry.max_attempts", 4.0, (1.0, most)).round() as u32,
            pause: Pause::Exponential { first_ms: milliseconds(first), longest_ms: milliseconds(last) },
            longest_asked_ms: milliseconds(asked),
        }
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "held in range")]
    fn window(&mut self) -> WindowRules {
        let usual = WindowRules::default();
        let keep = self.number("coordination.continuation.keep_tokens", 16_000.0, (0.0, 1e9));
        WindowRules {
            pressure: self.number("coordination.continuation.pressure_threshold", usual.pressure, (0.1, 1.0)),
            // A lower one would pay for a summary again and again.
            full: self.number("coordination.continuation.trigger_threshold", usual.full, (0.5, 1.0)),
            keep: Tokens(keep as u64),
            hands_off: self
                .cascade
                .get("coordination.continuation.hand_off")
                .is_some_and(|node| node.value().as_bool() == Some(true)),
        }
    }

    fn patterns(&mut self) -> Vec<ErrorPattern> {
        let Some(list) = self.cascade.get("error_classification.patterns") else { return Vec::new() };
        let nodes = list.children();
        (1..).zip(nodes).filter_map(|(number, node)| self.pattern(node, &format!("pattern {number}"))).collect()
    }

    fn fallback(&mut self) -> Option<ErrorPattern> {
        let node = self.cascade.get("error_classification.default")?;
        self.pattern(node, "default")
    }

    fn pattern(&mut self, node: &Node, unnamed: &str) -> Option<ErrorPattern> {
        let id = node.id().unwrap_or(unnamed).to_owned();
        let text = |name: &str| node.child(name).map(Node::value).and_then(|value| value.as_str().map(str::to_owned));
        let word = text("category").unwrap_or_default();
        let Some((_, category)) = ErrorCategory::ALL.into_iter().find(|(known, _)| *known == word) else {
            let known: Vec<&str> = ErrorCategory::ALL.iter().map(|(word, _)| *word).collect();
            let near = nearest(&word, known.iter().copied())
                .map(|near| format!(" (did you mean `{near}`?)"))
                .unwrap_or_default();
            let message = format!("`{id}` has an unknown category: `{word}`{near}");
            self.tell(node, Severity::Fatal, message, format!("write one of {}", known.join(", ")));
            return None;
        };
        let list = |name: &str| match node.child(name).map(Node::value) {
            Some(Value::Array(values)) => values,
            Some(Value::Null) | None => Vec::new(),
            Some(one) => vec![one],
        };
        let texts = |name: &str| -> Vec<String> {
            list(name)
                .iter()
                .filter_map(|value| Some(value.as_str()?.to_owned()))
                .filter(|text| !text.is_empty())
                .collect()
        };
        let status = list("status");
        let status = status.iter().filter_map(Value::as_u64).filter_map(|code| u16::try_from(code).ok()).collect();
        let pattern = ErrorPattern {
            category,
            retryable: node
                .child("retryable")
                .and_then(|node| node.value().as_bool())
                .unwrap_or_else(|| category.may_pass()),
            status,
            codes: texts("codes"),
            words: texts("words"),
            pause: node.child("retry_policy").and_then(|policy| self.pause(policy, &id)),
            id,
        };
        let empty = pattern.status.is_empty() && pattern.codes.is_empty() && pattern.words.is_empty();
        if empty && unnamed != "default" {
            let message = format!("`{}` matches no error", pattern.id);
            let remedy = "write status: [429], codes: [overloaded_error] or words: [slow down]".to_owned();
            self.tell(node, Severity::Warning, message, remedy);
        }
        Some(pattern)
    }

    /// `exponential`, `fixed`, or `use_header` with what holds where the provider names no pause; when it does, that
    /// counts with each of them.
    fn pause(&mut self, node: &Node, id: &str) -> Option<Pause> {
        let longest = seconds(Retry::LONGEST_MS);
        let mut number = |name: &str, usual: f64| {
            let Some(child) = node.child(name) else { return milliseconds(usual) };
            let given = child.value().as_f64();
            let held = given.unwrap_or(usual).clamp(0.0, longest);
            if given.is_none_or(|given| (held - given).abs() > f64::EPSILON) {
                let message = format!("`{name}` of `{id}` is {}; levain uses {held}", child.value());
                let remedy = format!("write a number of seconds from 0 to {longest}");
                self.tell(child, Severity::Warning, message, remedy);
            }
            milliseconds(held)
        };
        let kind = node.child("type").map(Node::value);
        match kind.as_ref().and_then(Value::as_str).unwrap_or_default() {
            "exponential" => {
                Some(Pause::Exponential { first_ms: number("base", 2.0), longest_ms: number("max", 60.0) })
            }
            "fixed" => Some(Pause::Fixed { delay_ms: number("delay", 60.0) }),
            "use_header" => node.child("fallback").and_then(|fallback| self.pause(fallback, id)),
            other => {
                let message = format!("`{id}` has a retry_policy of an unknown type: `{other}`");
                self.tell(node, Severity::Fatal, message, "write exponential, fixed or use_header".to_owned());
                None
            }
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "ten minutes")]
fn seconds(milliseconds: u64) -> f64 {
    milliseconds as f64 / 1_000.0
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between zero and ten minutes")]
fn milliseconds(seconds: f64) -> u64 {
    (seconds * 1_000.0).round() as u64
}

#[cfg(test)]
mod tests {
    use super::super::Layer;
    use super::*;
    use crate::domain::Space;
    use crate::domain::event::CallError;
    use crate::items::Spaces;
    use crate::items::signature::TrustStore;
    use std::path::Path;

    fn shipped() -> Rules {
        let (rules, problems) = Cascade::read(&Spaces::embedded(), &TrustStore::default()).0.rules();
        assert_eq!(problems, []);
        rules
    }

    fn rules(texts: &[(&'static str, &str)]) -> (Rules, Vec<String>) {
        let layer = || Layer { space: Space::User, file: Path::new("u.yaml").to_owned() };
        let texts = texts.iter().map(|(name, text)| (*name, layer(), (*text).to_owned())).collect();
        let (cascade, mistakes) = Cascade::merge(texts);
        assert_eq!(mistakes, []);
        let (rules, problems) = cascade.rules();
        (rules, problems.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn shipped_rules_try_four_times_and_know_the_common_failures() {
        let rules = shipped();
        assert_eq!(rules.retry, Retry { longest_asked_ms: 600_000, ..Retry::default() });
        assert_eq!(rules.window, Some(WindowRules::default()));
        let error = |status: Option<u16>, code: &str, message: &str| CallError {
            category: ErrorCategory::Permanent,
            code: code.into(),
            message: message.into(),
            status,
            retry_after_ms: None,
        };
        for (error, id) in [
            (error(Some(429), "insufficient_quota", ""), "quota"),
            (error(Some(402), "", ""), "quota"),
            (error(Some(400), "context_length_exceeded", ""), "context_too_long"),
            (error(Some(401), "", ""), "auth"),
            (error(Some(429), "rate_limit_error", ""), "rate_limited"),
            (error(Some(529), "overloaded_error", "Overloaded"), "overloaded"),
            (error(None, "overloaded_error", ""), "overloaded"),
            (error(Some(502), "", ""), "server"),
            (error(None, "no_connection", "could not reach it"), "network_connection"),
            (error(None, "truncated", ""), "network_connection"),
            (error(None, "silence", ""), "network_timeout"),
            (error(Some(422), "", ""), "validation"),
        ] {
            let found = rules.patterns.iter().find(|pattern| pattern.fits(&error)).map(|pattern| pattern.id.as_str());
            assert_eq!(found, Some(id), "{error:?}");
        }
        assert_eq!(rules.fallback.map(|pattern| (pattern.id, pattern.retryable)), Some(("default".into(), false)));
    }

    #[test]
    fn s16_pauses_of_a_pattern_beyond_their_bounds_are_told() {
        let (rules, problems) = rules(&[(
            "error_classification",
            "patterns:\n  - id: slow\n    category: rate_limited\n    codes: [slow]\n    retry_policy:\n      type: fixed\n      \
             delay: 5000\n  - id: odd\n    category: transient\n    codes: [odd]\n    retry_policy: {type: exponential, base: soon}\n",
        )]);
        assert_eq!(
            problems,
            [
                "u.yaml:7: `delay` of `slow` is 5000; levain uses 600; write a number of seconds from 0 to 600",
                "u.yaml:11: `base` of `odd` is \"soon\"; levain uses 2; write a number of seconds from 0 to 600",
            ]
        );
        assert_eq!(rules.patterns[0].pause, Some(Pause::Fixed { delay_ms: 600_000 }));
    }

    #[test]
    fn numbers_are_held_within_bounds() {
        let text = "retry: {max_attempts: 500, first_pause_seconds: 0.5, longest_pause_seconds: 86400}\n";
        let (rules, problems) = rules(&[("resilience", text)]);
        assert_eq!(rules.retry.max_attempts, 10);
        assert_eq!(rules.retry.pause, Pause::Exponential { first_ms: 500, longest_ms: 600_000 });
        assert_eq!(problems.len(), 2);
        assert!(problems[1].contains("u.yaml:1: `retry.max_attempts` is 500; levain uses 10"), "{problems:?}");
    }

    #[test]
    fn patterns_have_policies_and_mistakes_cost_only_themselves() {
        let text = "patterns:\n\
            - {id: a, category: transient, status: 503, retry_policy: {type: fixed, delay: 7}}\n\
            - {id: b, category: rate_limited, codes: [slow], retry_policy: {type: use_header, fallback: {type: exponential, base: 1, max: 4}}}\n\
            - {id: c, category: transcient, words: [x]}\n\
            - {id: d, category: auth}\n\
            - {id: e, category: permanent, words: [y], retryable: true, retry_policy: {type: never}}\n";
        let (rules, problems) = rules(&[("error_classification", text)]);
        let told: Vec<_> =
            rules.patterns.iter().map(|one| (one.id.as_str(), one.retryable, one.pause, one.status.len())).collect();
        let doubled = Pause::Exponential { first_ms: 1_000, longest_ms: 4_000 };
        assert_eq!(
            told,
            [
                ("a", true, Some(Pause::Fixed { delay_ms: 7_000 }), 1),
                ("b", true, Some(doubled), 0),
                ("d", false, None, 0),
                ("e", true, None, 0),
            ]
        );
        assert_eq!(problems.len(), 3, "{problems:?}");
        for (problem, part) in
            problems.iter().zip(["did you mean `transient`?", "`d` matches no error", "unknown type: `never`"])
        {
            assert!(problem.contains(part), "{problem}");
        }
    }
}
