//! Whether a condition holds, and what it saw.

use crate::domain::Saw;
use crate::items::hook::{Condition, Op, Test};
use serde_json::Value;
use std::cmp::Ordering;

/// The answer to a condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    pub holds: bool,
    /// Every test in it, in the order written, with the value it met.
    pub saw: Vec<Saw>,
}

/// Holds `condition` against `fields`. Takes time in proportion to both.
#[must_use]
pub fn judge(condition: &Condition, fields: &Value) -> Verdict {
    let mut saw = Vec::new();
    let holds = holds(condition, fields, &mut saw);
    Verdict { holds, saw }
}

fn holds(condition: &Condition, fields: &Value, saw: &mut Vec<Saw>) -> bool {
    match condition {
        Condition::Always => true,
        Condition::Broken(_) => false,
        Condition::Test(test) => {
            let found = at(fields, &test.path);
            let holds = passes(test, found);
            saw.push(Saw {
                path: test.path.clone(),
                op: test.op.word().to_owned(),
                wanted: test.value.clone(),
                value: found.cloned().unwrap_or_default(),
                holds,
            });
            holds
        }
        // All parts are asked, so that a person sees all values.
        Condition::Any(parts) => each(parts, fields, saw).contains(&true),
        Condition::All(parts) => !each(parts, fields, saw).contains(&false),
        Condition::Not(part) => !holds(part, fields, saw),
    }
}

fn each(parts: &[Condition], fields: &Value, saw: &mut Vec<Saw>) -> Vec<bool> {
    parts.iter().map(|part| holds(part, fields, saw)).collect()
}

/// The value at a path of names and list places; everything for an empty path. Null and absent are the same.
#[must_use]
pub fn at<'a>(fields: &'a Value, path: &str) -> Option<&'a Value> {
    let mut value = fields;
    for name in path.split('.').filter(|name| !name.is_empty()) {
        value = match value {
            Value::Object(map) => map.get(name)?,
            Value::Array(values) => values.get(name.parse::<usize>().ok()?)?,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
        };
    }
    Some(value).filter(|value| !value.is_null())
}

fn passes(test: &Test, found: Option<&Value>) -> bool {
    let null = Value::Null;
    let wanted = &test.value;
    match &test.op {
        Op::Eq => equal(found.unwrap_or(&null), wanted),
        Op::Ne => !equal(found.unwrap_or(&null), wanted),
        Op::Gt => ordered(found, wanted, |order| order == Ordering::Greater),
        Op::Gte => ordered(found, wanted, |order| order != Ordering::Less),
        Op::Lt => ordered(found, wanted, |order| order == Ordering::Less),
        Op::Lte => ordered(found, wanted, |order| order != Ordering::Greater),
        Op::In => wanted.as_array().is_some_and(|values| {
            let found = found.unwrap_or(&null);
            values.iter().any(|value| equal(found, value))
        }),
        Op::Contains => match found {
            None => false,
            Some(Value::Array(values)) => values.iter().any(|value| equal(value, wanted)),
            Some(found) => text(found).contains(&text(wanted)),
        },
        Op::Exists => found.is_some(),
        Op::Regex(pattern) => found.is_some_and(|found| pattern.is_match(&text(found))),
    }
}

/// Equal as values; a number or truth value also equals the text that spells it, since inputs are texts and XML
/// knows nothing else.
fn equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::String(word), value @ (Value::Number(_) | Value::Bool(_)))
        | (value @ (Value::Number(_) | Value::Bool(_)), Value::String(word)) => text(value) == *word,
        _ => one == other,
    }
}

/// Compares numbers, also those that are texts; else texts by their letters. Anything else has no order.
fn ordered(found: Option<&Value>, wanted: &Value, is: impl Fn(Ordering) -> bool) -> bool {
    let number = |value: &Value| match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    let Some(found) = found else { return false };
    if let (Some(found), Some(wanted)) = (number(found), number(wanted)) {
        return found.partial_cmp(&wanted).is_some_and(is);
    }
    match (found, wanted) {
        (Value::String(found), Value::String(wanted)) => is(found.cmp(wanted)),
        _ => false,
    }
}

/// A value as text: texts as they are, lists joined by commas, the rest as JSON.
#[must_use]
pub fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(values) if values.iter().all(|value| !value.is_object() && !value.is_array()) => {
            values.iter().map(text).collect::<Vec<_>>().join(", ")
        }
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use regex::Regex;
    use serde_json::json;

    fn fields() -> Value {
        json!({"directive": "team/deploy/web", "model": "anthropic/fast", "depth": 2, "has_extends": true,
            "inputs": {"count": "12", "target": "moon"}, "list": [{"a": null}, "x"], "cost": {"turns": 3, "spend": 0.5}})
    }

    fn test(path: &str, op: Op, value: Value) -> Condition {
        Condition::Test(Test { path: path.into(), op, value })
    }

    fn holds(condition: &Condition) -> bool {
        judge(condition, &fields()).holds
    }

    /// Every form a condition can have, each with a case that holds and one that does not.
    #[test]
    fn all_condition_forms() {
        let regex = |pattern: &str| Op::Regex(Regex::new(pattern).unwrap());
        let yes = || test("depth", Op::Eq, json!(2));
        let no = || test("depth", Op::Eq, json!(3));
        for (condition, opposite) in [
            (test("directive", Op::Eq, json!("team/deploy/web")), test("directive", Op::Eq, json!("web"))),
            (test("directive", Op::Ne, json!("web")), test("depth", Op::Ne, json!(2.0))),
            (test("cost.turns", Op::Gt, json!(2)), test("cost.turns", Op::Gt, json!(3))),
            (test("cost.turns", Op::Gte, json!(3)), test("cost.turns", Op::Gte, json!(3.5))),
            (test("cost.spend", Op::Lt, json!(0.6)), test("cost.spend", Op::Lt, json!(0.5))),
            (test("inputs.count", Op::Lte, json!(12)), test("inputs.count", Op::Lte, json!(9))),
            (test("model", Op::In, json!(["anthropic/fast", "b"])), test("model", Op::In, json!(["fast"]))),
            (test("directive", Op::Contains, json!("deploy")), test("list", Op::Contains, json!("deploy"))),
            (test("directive", regex("^team/.*web$"), Value::Null), test("directive", regex("^web"), Value::Null)),
            (test("inputs.target", Op::Exists, Value::Null), test("list.0.a", Op::Exists, Value::Null)),
            (Condition::Not(Box::new(no())), Condition::Not(Box::new(yes()))),
            (Condition::Any(vec![no(), yes()]), Condition::Any(vec![no(), no()])),
            (Condition::All(vec![yes(), yes()]), Condition::All(vec![yes(), no()])),
            (Condition::Always, Condition::Broken("why".into())),
        ] {
            assert!(holds(&condition), "{condition:?}");
            assert!(!holds(&opposite), "{opposite:?}");
        }
    }

    #[test]
    fn what_is_absent_equals_null_and_has_no_order() {
        assert!(holds(&test("no.where", Op::Eq, Value::Null)));
        assert!(!holds(&test("no.where", Op::Lt, json!(1))));
        assert!(!holds(&test("has_extends", Op::Gt, json!(0))));
        assert!(holds(&test("list.1", Op::Eq, json!("x"))));
        assert!(holds(&test("", Op::Exists, Value::Null)));
    }

    #[test]
    fn every_value_that_was_seen_is_told() {
        let condition = Condition::Any(vec![
            test("directive", Op::Contains, json!("deploy")),
            Condition::Not(Box::new(test("depth", Op::Gt, json!(5)))),
        ]);
        let saw = judge(&condition, &fields()).saw;
        let told: Vec<_> = saw.iter().map(|saw| (saw.path.as_str(), saw.value.clone(), saw.holds)).collect();
        assert_eq!(told, [("directive", json!("team/deploy/web"), true), ("depth", json!(2), false)]);
        assert_eq!(saw[1].to_string(), "depth gt 5 (actual 2)");
    }

    #[test]
    fn a_pattern_that_would_explode_takes_no_time() {
        let start = std::time::Instant::now();
        let condition = test("text", Op::Regex(Regex::new("^(a+)+$").unwrap()), Value::Null);
        let text = "a".repeat(100_000) + "b";
        assert!(!judge(&condition, &json!({"text": text})).holds);
        assert!(start.elapsed().as_secs() < 1);
    }
}
