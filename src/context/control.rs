//! What hooks answer when something happened that can be gone on from in several ways.

use super::condition::judge;
use super::fill::Filling;
use crate::domain::Saw;
use crate::items::Hook;
use crate::items::directive::Values;
use crate::items::hook::{Action, Call, Control, Source};
use serde_json::{Map, Value};
use std::time::Duration;

/// A hook of an event, and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct HookOutcome {
    pub hook: String,
    pub holds: bool,
    /// Whether its answer is the one that counts.
    pub decides: bool,
    pub saw: Vec<Saw>,
    /// What it answers: a word on how to go on. What infrastructure answers is passed over.
    pub answer: Option<Control>,
    /// What it runs before the thread goes on.
    pub runs: HookRuns,
}

/// The calls that a hook makes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HookRuns {
    /// In order.
    pub calls: Vec<Call>,
    /// How long each of them may take, where the hook says so.
    pub timeout: Option<Duration>,
    /// Whether the thread goes on where one of them fails.
    pub optional: bool,
    /// Whether what they answer is passed over.
    pub unheard: bool,
}

/// The answer of all hooks together.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Decided {
    /// The first answer in layer order.
    pub answer: Option<Control>,
    /// Whose answer that is.
    pub by: Option<String>,
    /// Every hook of the event in order, those included whose condition does not hold.
    pub asked: Vec<HookOutcome>,
}

/// Asks the hooks of a control event. The first whose condition holds and that says how to go on decides. Where whoever started the
/// thread set what it has reached (`bound`), its directive's hooks do not say that it goes on.
#[must_use]
pub fn decide(hooks: &[Hook], event: &str, fields: &Value, inputs: &Values, bound: bool) -> Decided {
    let filling = Filling { fields, inputs };
    let mut decided = Decided::default();
    for hook in hooks.iter().filter(|hook| hook.event == event) {
        let verdict = judge(&hook.condition, fields);
        let (hook_id, holds, saw) = (hook.id.clone(), verdict.holds, verdict.saw);
        let (infra, bound) = (hook.source == Source::Infra, bound && hook.source == Source::Directive);
        let (optional, unheard) = (hook.optional || infra, infra || bound);
        let runs = HookRuns { calls: Vec::new(), timeout: hook.timeout, optional, unheard };
        let onward = |answer: &Control| matches!(answer, Control::Continue | Control::Skip | Control::Retry);
        let mut asked = HookOutcome { hook: hook_id, holds, decides: false, saw, answer: None, runs };
        if let (true, Action::Calls(calls)) = (verdict.holds, &hook.action) {
            let all: Vec<Call> = calls.iter().map(|call| filled(call, filling)).collect();
            asked.runs.calls = all.iter().filter(|call| call.runs()).cloned().collect();
            let mut controls = all.into_iter().filter(Call::is_control);
            let word = |call: Call| call.params.get("action").and_then(Value::as_str).and_then(Control::from_word);
            asked.answer = controls.find_map(word).filter(|answer| !(infra || bound && onward(answer)));
        }
        if decided.answer.is_none() && asked.answer.is_some() {
            (decided.answer, decided.by) = (asked.answer, Some(hook.id.clone()));
            asked.decides = true;
        }
        decided.asked.push(asked);
    }
    decided
}

fn filled(call: &Call, filling: Filling<'_>) -> Call {
    let params: Map<String, Value> = filling.map(&call.params);
    Call { id: filling.text(&call.id), params, ..call.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::items::{Hooks, Items, Spaces};
    use serde_json::json;
    use std::fs;

    fn hooks(text: &str) -> Vec<Hook> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".ai/config/agent/hooks.yaml");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        let read = Hooks::read(&Items::list(&Spaces::new(folder.path(), folder.path(), [])));
        assert_eq!(read.problems, []);
        read.hooks
    }

    fn answer(hooks: &[Hook], event: &str, fields: &Value) -> (Option<Control>, Option<String>) {
        let decided = decide(hooks, event, fields, &Values::new(), false);
        (decided.answer, decided.by)
    }

    #[test]
    fn shipped_hooks_answer_errors_and_limits() {
        let hooks = hooks("hooks: []\n");
        let error = |category: &str, retryable: bool| {
            let fields = json!({"error": {"type": "x"}, "kind": "one_shot", "classification": {"category": category, "retryable": retryable}});
            answer(&hooks, "error", &fields).0
        };
        assert_eq!(error("transient", true), Some(Control::Retry));
        assert_eq!(error("permanent", false), Some(Control::Fail));
        assert_eq!(error("cancelled", false), Some(Control::Abort));
        assert_eq!(answer(&hooks, "limit", &json!({"limit_code": "turns_exceeded"})).0, Some(Control::Escalate));
    }

    #[test]
    fn the_first_answer_in_layer_order_wins_and_every_hook_is_asked() {
        let hooks = hooks(
            "hooks:\n- id: note\n  event: limit\n  action: {primary: execute, item_type: tool, item_id: team/notify, \
             params: {text: \"${limit_code}\", turns: \"${current_value}\"}}\n- id: go_on\n  event: limit\n  layer: 1\n  condition: \
             {path: current_value, op: lt, value: 10}\n  action: {primary: execute, item_type: tool, item_id: \
             rye/agent/threads/internal/control, params: {action: continue}}\n",
        );
        let fields = json!({"limit_code": "turns_exceeded", "current_value": 5, "current_max": 5});
        let decided = decide(&hooks, "limit", &fields, &Values::new(), false);
        assert_eq!((decided.answer, decided.by.as_deref()), (Some(Control::Continue), Some("go_on")));
        let note = decided.asked.iter().find(|asked| asked.hook == "note").unwrap();
        assert!(note.holds && note.answer.is_none());
        let fields = json!({"limit_code": "turns_exceeded", "current_value": 50});
        let decided = decide(&hooks, "limit", &fields, &Values::new(), false);
        assert_eq!(decided.answer, Some(Control::Escalate));
        let go_on = decided.asked.iter().find(|asked| asked.hook == "go_on").unwrap();
        assert!(!go_on.holds && go_on.saw[0].value == json!(50));
    }

    /// What a person or a parent allowed a thread its own directive does not undo.
    #[test]
    fn the_directives_hooks_let_no_thread_past_a_limit_that_its_starter_set() {
        let action = |word: &str| {
            format!(
                "  action: {{primary: execute, item_type: tool, item_id: levain/control, params: {{action: {word}}}}}\n"
            )
        };
        for (word, source, passed_over) in [
            ("continue", Source::Directive, true),
            ("skip", Source::Directive, true),
            ("suspend", Source::Directive, false),
            ("continue", Source::User, false),
        ] {
            let mut hooks = hooks(&format!("hooks:\n- id: on\n  event: limit\n  layer: 1\n{}", action(word)));
            hooks.iter_mut().filter(|hook| hook.id == "on").for_each(|hook| hook.source = source);
            for bound in [false, true] {
                let decided = decide(&hooks, "limit", &json!({}), &Values::new(), bound);
                let counts = decided.by.as_deref() == Some("on");
                assert_eq!(counts, !(bound && passed_over), "{word} {source:?} {decided:?}");
            }
        }
    }
}
