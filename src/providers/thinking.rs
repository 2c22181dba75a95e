//! What the level at which a model thinks becomes in the request of each vendor.
//!
//! Where a vendor has no such level it is asked for all the same: what it answers to that says more than another level would, which
//! nobody asked for. Only models that are known to think never, or in one way alone, are spared.

use crate::domain::{ThinkingLevel, WireForm};
use serde::Serialize;

/// The two numbers in the name of a model (`claude-opus-4-5-20251101`, `gemini-2.5-pro`): dates are none of them. None for a name
/// that does not begin with `vendor`.
pub(super) fn version(model: &str, vendor: &str) -> Option<(u32, u32)> {
    let name = model.strip_prefix(vendor)?;
    let parts = name.split(['-', '.', '@']).filter_map(|part| part.parse::<u32>().ok());
    let mut numbers = parts.filter(|number| *number < 100);
    Some((numbers.next()?, numbers.next().unwrap_or_default()))
}

/// The same of Anthropic's models, whatever a reseller puts before their names.
fn claude(model: &str) -> Option<(u32, u32)> {
    version(model.get(model.find("claude-")?..)?, "claude-")
}

/// How a Messages request asks for thinking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Messages {
    /// As much as the model finds right for the effort it is asked for: since 4.6, and the only way since 4.7.
    Adaptive {
        /// Without, nothing of it is shown since 4.7.
        display: &'static str,
    },
    /// Before.
    Enabled { budget_tokens: u64 },
    /// Not at all, where a model thinks by itself and takes that.
    Disabled,
}

/// What a vendor takes at least.
const LEAST_BUDGET: u64 = 1_024;

/// How `model` is asked for `level` in a Messages request whose answer has so many tokens at most, and the effort it is asked for
/// beside it. `in_calls` says that calls are being answered that were made without thinking: a budget is refused then.
pub(super) fn messages(
    level: Option<ThinkingLevel>,
    model: &str,
    max_tokens: u64,
    in_calls: bool,
) -> (Option<Messages>, Option<&'static str>) {
    let Some(level) = level else { return (None, None) };
    let version = claude(model);
    if version.is_some_and(|version| version < (3, 7)) {
        return (None, None);
    }
    if level == ThinkingLevel::Off {
        // Since 5 they think where nothing is said of it. Some cannot be kept from it: those think as little as may be.
        let takes_off = (model.contains("sonnet") || model.contains("opus")) && version < Some((5, 5));
        return match version {
            Some(version) if version >= (5, 0) && takes_off => (Some(Messages::Disabled), None),
            Some(version) if version >= (5, 0) => (None, Some("low")),
            _ => (None, None),
        };
    }
    if let Some(version) = version.filter(|version| *version >= (4, 6)) {
        let effort = match level {
            ThinkingLevel::Off | ThinkingLevel::Minimal | ThinkingLevel::Low => "low",
            ThinkingLevel::Medium => "medium",
            ThinkingLevel::Xhigh if version > (4, 6) => "xhigh",
            ThinkingLevel::Xhigh if model.contains("opus") => "max",
            ThinkingLevel::High | ThinkingLevel::Xhigh => "high",
        };
        return (Some(Messages::Adaptive { display: "summarized" }), Some(effort));
    }
    let budget = match level {
        ThinkingLevel::Off | ThinkingLevel::Minimal => LEAST_BUDGET,
        ThinkingLevel::Low => 2_048,
        ThinkingLevel::Medium => 8_192,
        ThinkingLevel::High => 16_384,
        ThinkingLevel::Xhigh => 32_768,
    };
    // It is a part of the answer, of which something is to be left.
    let budget_tokens = budget.min(max_tokens / 2);
    let is_asked = budget_tokens >= LEAST_BUDGET && !in_calls;
    (is_asked.then_some(Messages::Enabled { budget_tokens }), None)
}

/// The effort of a request to `OpenAI` and to those who speak as it does.
pub(super) fn effort(level: ThinkingLevel) -> &'static str {
    if level == ThinkingLevel::Off { "none" } else { level.word() }
}

/// How Gemini is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Gemini {
    /// Since 3.
    ThinkingLevel(&'static str),
    /// Before: in tokens.
    ThinkingBudget(u32),
}

pub(super) fn gemini(level: ThinkingLevel, model: &str) -> Gemini {
    let is_pro = model.contains("-pro");
    if version(model, "gemini-").is_some_and(|version| version >= (3, 0)) {
        return Gemini::ThinkingLevel(match level {
            // These models always think.
            ThinkingLevel::Off | ThinkingLevel::Minimal if is_pro => "low",
            ThinkingLevel::Off | ThinkingLevel::Minimal => "minimal",
            ThinkingLevel::Low => "low",
            ThinkingLevel::Medium => "medium",
            ThinkingLevel::High | ThinkingLevel::Xhigh => "high",
        });
    }
    Gemini::ThinkingBudget(match level {
        ThinkingLevel::Off if is_pro => 128,
        ThinkingLevel::Off => 0,
        ThinkingLevel::Minimal => 512,
        ThinkingLevel::Low => 2_048,
        ThinkingLevel::Medium => 8_192,
        ThinkingLevel::High | ThinkingLevel::Xhigh if is_pro => 32_768,
        ThinkingLevel::High | ThinkingLevel::Xhigh => 24_576,
    })
}

/// Whether `model` is known to think at a level that it is asked for.
pub(crate) fn is_known(form: WireForm, model: &str) -> bool {
    match form {
        WireForm::Anthropic => claude(model).is_some_and(|version| version >= (3, 7)),
        WireForm::Responses | WireForm::OpenAi | WireForm::Compatible => {
            let reasons = |name: &str| model.rsplit('/').next().is_some_and(|model| model.starts_with(name));
            ["gpt-5", "gpt-6", "gpt-oss", "o1", "o3", "o4"].into_iter().any(reasons)
        }
        WireForm::Gemini => version(model, "gemini-").is_some_and(|version| version >= (2, 5)),
        WireForm::Extension => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn asked(model: &str, level: ThinkingLevel) -> (Value, Option<&'static str>) {
        let (thinking, effort) = messages(Some(level), model, 32_000, false);
        (json!(thinking), effort)
    }

    #[test]
    fn claude_is_asked_by_budget_by_effort_or_not_at_all() {
        use ThinkingLevel::{High, Low, Medium, Minimal, Off, Xhigh};
        let adaptive = json!({"type": "adaptive", "display": "summarized"});
        for (model, level, effort) in [
            ("claude-opus-4-6", Minimal, "low"),
            ("claude-opus-4-6", Xhigh, "max"),
            ("claude-sonnet-4-6", Xhigh, "high"),
            ("claude-opus-4-7-20260416", Xhigh, "xhigh"),
            ("anthropic/claude-sonnet-4.6", Medium, "medium"),
            ("us.anthropic.claude-opus-4-6-v1", High, "high"),
            ("claude-sonnet-5", Low, "low"),
        ] {
            assert_eq!(asked(model, level), (adaptive.clone(), Some(effort)), "{model} {level}");
        }
        for (model, level, budget) in [
            ("claude-3-7-sonnet-20250219", Low, 2_048),
            ("claude-opus-4-20250514", Medium, 8_192),
            ("claude-sonnet-4-5-20250929", Minimal, 1_024),
            ("claude-haiku-4-5", Xhigh, 16_000),
            ("kimi-k2", High, 16_000),
        ] {
            assert_eq!(
                asked(model, level),
                (json!({"type": "enabled", "budget_tokens": budget}), None),
                "{model} {level}"
            );
        }
        for (model, level) in [("claude-3-5-haiku-20241022", High), ("claude-opus-4-7", Off), ("claude-haiku-4-5", Off)]
        {
            assert_eq!(asked(model, level), (Value::Null, None), "{model} {level}");
        }
        for model in ["claude-sonnet-5", "claude-opus-5-1"] {
            assert_eq!(asked(model, Off), (json!({"type": "disabled"}), None), "{model}");
        }
        for model in ["claude-sonnet-5-5", "claude-opus-5-5", "claude-fable-5"] {
            assert_eq!(asked(model, Off), (Value::Null, Some("low")), "{model}");
        }
        // A budget is a part of the answer, and no thinking begins amid calls.
        let high = Some(High);
        assert_eq!(messages(high, "claude-haiku-4-5", 2_000, false), (None, None));
        assert_eq!(messages(high, "claude-haiku-4-5", 32_000, true), (None, None));
        assert!(messages(high, "claude-opus-4-6", 32_000, true).0.is_some());
        assert_eq!(messages(None, "claude-opus-4-6", 32_000, false), (None, None));
    }

    #[test]
    fn gemini_is_asked_by_budget_or_by_level() {
        use ThinkingLevel::{High, Minimal, Off};
        for (model, level, asked) in [
            ("gemini-3-pro-preview", Off, json!({"thinkingLevel": "low"})),
            ("gemini-3-flash", Minimal, json!({"thinkingLevel": "minimal"})),
            ("gemini-2.5-pro", Off, json!({"thinkingBudget": 128})),
            ("gemini-2.5-flash", Off, json!({"thinkingBudget": 0})),
            ("gemini-2.5-flash", High, json!({"thinkingBudget": 24_576})),
        ] {
            assert_eq!(json!(gemini(level, model)), asked, "{model} {level}");
        }
    }

    #[test]
    fn models_that_think_are_known() {
        for (form, model, thinks) in [
            (WireForm::Anthropic, "claude-sonnet-4-5", true),
            (WireForm::Anthropic, "claude-3-5-sonnet", false),
            (WireForm::Responses, "gpt-5.2-codex", true),
            (WireForm::Responses, "gpt-4o", false),
            (WireForm::Compatible, "openai/o3-mini", true),
            (WireForm::Gemini, "gemini-2.5-flash", true),
            (WireForm::Gemini, "gemini-2.0-flash", false),
        ] {
            assert_eq!(is_known(form, model), thinks, "{model}");
        }
    }
}
