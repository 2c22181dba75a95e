//! Whether the arguments of a call fit the schema of its tool.
//!
//! Schemas come from whoever brings a tool, so nothing here grows but with the arguments: what combines schemas or refers to
//! others is passed over, and nothing that fits is refused because of it. A library that knows all of JSON Schema can be made
//! to take minutes and gigabytes by two kilobytes of it (`allOf` of two references, twenty deep; measured 2026-11-25).

use serde_json::{Map, Value};

/// Letters that a model is told of what does not fit.
const LONGEST: usize = 400;
/// Values of an `enum` that are named.
const NAMED: usize = 12;

/// What of `arguments` does not fit `schema`: what is missing, else the first that does not fit.
///
/// What a person would take for the same fits, as some models write it: null for what may be left out, `"5"` for a number. A
/// schema that is none itself asks for nothing.
pub(super) fn misfit(schema: &Value, arguments: &Value) -> Option<String> {
    if !arguments.is_object() {
        return Some("the arguments are not a JSON object".to_owned());
    }
    check(schema, arguments, "").err().map(|words| cut(&words, LONGEST))
}

/// `words`, or their beginning.
fn cut(words: &str, most: usize) -> String {
    match words.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", words.get(..at).unwrap_or_default()),
        None => words.to_owned(),
    }
}

fn check(schema: &Value, value: &Value, place: &str) -> Result<(), String> {
    let Some(schema) = schema.as_object().filter(|schema| !schema.contains_key("$ref")) else { return Ok(()) };
    let refused = |what: String| Err(format!("`{}` {what}", cut(place, 80)));
    if let Some(kinds) = kinds(schema)
        && !kinds.iter().any(|kind| is_of(value, kind))
    {
        let means = |kind: &&str| is_meant_as(value, kind);
        return if kinds.iter().any(means) {
            Ok(())
        } else {
            refused(format!("is not of type {}", kinds.join(" or ")))
        };
    }
    let one_of = schema
        .get("enum")
        .and_then(Value::as_array)
        .map_or_else(|| schema.get("const").map(std::slice::from_ref).unwrap_or_default(), Vec::as_slice);
    if !one_of.is_empty() && !one_of.iter().any(|one| is_equal(one, value)) {
        let named: Vec<String> = one_of.iter().take(NAMED).map(|one| cut(&one.to_string(), 40)).collect();
        let more = if one_of.len() > NAMED { ", …" } else { "" };
        return refused(format!("is not one of {}{more}", named.join(", ")));
    }
    let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
    match value {
        Value::Object(fields) => return check_fields(schema, fields, place),
        Value::Array(items) => {
            within(items.len(), "items", (bound("minItems"), bound("maxItems"))).or_else(refused)?;
            let each = schema.get("items").filter(|_| !schema.contains_key("prefixItems"));
            for (index, item) in items.iter().enumerate().filter(|_| each.is_some()) {
                check(each.unwrap_or(&Value::Null), item, &joined(place, &index.to_string()))?;
            }
        }
        Value::String(text) => {
            let bounds = (bound("minLength"), bound("maxLength"));
            if bounds != (None, None) {
                within(text.chars().count(), "letters", bounds).or_else(refused)?;
            }
        }
        Value::Number(number) => {
            let number = number.as_f64().unwrap_or_default();
            if bound("minimum").is_some_and(|least| number < least)
                || bound("exclusiveMinimum").is_some_and(|below| number <= below)
            {
                return refused("is too small".to_owned());
            }
            if bound("maximum").is_some_and(|most| number > most)
                || bound("exclusiveMaximum").is_some_and(|above| number >= above)
            {
                return refused("is too large".to_owned());
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
    Ok(())
}

fn check_fields(schema: &Map<String, Value>, fields: &Map<String, Value>, place: &str) -> Result<(), String> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let property = |name: &str| properties.and_then(|properties| properties.get(name));
    // Null says that there is nothing, unless it is a value here.
    let is_nothing = |name: &str, value: &Value| value.is_null() && property(name).is_some_and(|one| !takes_null(one));
    let is_given = |name: &str| fields.get(name).is_some_and(|value| !is_nothing(name, value));
    let asked = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let missing: Vec<String> =
        asked.filter(|name| !is_given(name)).map(|name| format!("`{}`", joined(place, name))).collect();
    if !missing.is_empty() {
        let verb = if missing.len() == 1 { "is" } else { "are" };
        return Err(format!("{} {verb} missing", missing.join(", ")));
    }
    let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    for (name, value) in fields {
        match property(name) {
            Some(_) if is_nothing(name, value) => {}
            Some(one) => check(one, value, &joined(place, name))?,
            None if closed && !schema.contains_key("patternProperties") => {
                let known = properties.into_iter().flat_map(Map::keys).map(|name| format!("`{name}`"));
                let known = known.take(NAMED).collect::<Vec<_>>().join(", ");
                return Err(format!("there is no `{}`, but {known}", cut(&joined(place, name), 80)));
            }
            None => {}
        }
    }
    Ok(())
}

fn joined(place: &str, name: &str) -> String {
    if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "lengths of what is in memory, compared with a bound that is written out"
)]
fn within(length: usize, what: &str, (least, most): (Option<f64>, Option<f64>)) -> Result<(), String> {
    let length = length as f64;
    if least.is_some_and(|least| length < least) {
        return Err(format!("has fewer than {} {what}", least.unwrap_or_default()));
    }
    if most.is_some_and(|most| length > most) {
        return Err(format!("has more than {} {what}", most.unwrap_or_default()));
    }
    Ok(())
}

/// The types that a schema names, where it names any that there are.
fn kinds(schema: &Map<String, Value>) -> Option<Vec<&str>> {
    const ALL: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];
    let named: Vec<&str> = match schema.get("type")? {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().map(|kind| kind.as_str().unwrap_or_default()).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return None,
    };
    named.iter().all(|kind| ALL.contains(kind)).then_some(named)
}

fn is_of(value: &Value, kind: &str) -> bool {
    match value {
        Value::Null => kind == "null",
        Value::Bool(_) => kind == "boolean",
        Value::Number(number) => {
            kind == "number" || kind == "integer" && number.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        Value::String(_) => kind == "string",
        Value::Array(_) => kind == "array",
        Value::Object(_) => kind == "object",
    }
}

/// Whether a value of another type says one of this.
fn is_meant_as(value: &Value, kind: &str) -> bool {
    match (value, kind) {
        (Value::String(text), "number") => text.trim().parse::<f64>().is_ok(),
        (Value::String(text), "integer") => text.trim().parse::<i64>().is_ok(),
        (Value::String(text), "boolean") => matches!(text.as_str(), "true" | "false"),
        (Value::Number(_) | Value::Bool(_), "string") => true,
        _ => false,
    }
}

fn is_equal(one: &Value, other: &Value) -> bool {
    one == other || one.is_number() && one.as_f64() == other.as_f64()
}

/// Whether null is one of the values that a schema may mean.
fn takes_null(schema: &Value) -> bool {
    let Some(map) = schema.as_object() else { return true };
    let combines = ["$ref", "anyOf", "oneOf", "allOf", "not", "if"].iter().any(|name| map.contains_key(*name));
    let listed = |list: &Value| list.as_array().is_some_and(|all| all.contains(&Value::Null));
    combines
        || map.get("const").is_some_and(Value::is_null)
        || map.get("enum").is_some_and(listed)
        || kinds(map).map_or(!map.contains_key("enum"), |kinds| kinds.contains(&"null"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn edits() -> Value {
        json!({"type": "object", "required": ["path", "edits"], "additionalProperties": false, "properties": {
            "path": {"type": "string"}, "limit": {"type": "integer", "minimum": 1}, "mode": {"enum": ["all", "one"]},
            "edits": {"type": "array", "items": {"type": "object", "required": ["new"], "properties":
                {"new": {"type": "string"}, "old": {"type": "string"}}}}}})
    }

    #[test]
    fn what_fits_is_taken_and_null_is_left_out() {
        for good in [
            json!({"path": "a", "edits": []}),
            json!({"path": "a", "edits": [{"new": "", "old": null}], "limit": 1, "mode": "all"}),
            json!({"path": "a", "edits": [], "limit": null, "mode": null}),
            json!({"path": 3, "edits": [], "limit": "5"}),
        ] {
            assert_eq!(misfit(&edits(), &good), None, "{good}");
        }
        for nullable in [json!({"type": ["string", "null"]}), json!({"anyOf": [{"type": "null"}]}), json!({})] {
            let schema = json!({"required": ["a"], "properties": {"a": nullable}});
            assert_eq!(misfit(&schema, &json!({"a": null})), None, "{schema}");
        }
    }

    #[test]
    fn what_does_not_fit_is_named_with_its_place() {
        let long = "x".repeat(5_000);
        for (bad, words) in [
            (json!([]), "the arguments are not a JSON object"),
            (json!({}), "`path`, `edits` are missing"),
            (json!({"path": null, "edits": []}), "`path` is missing"),
            (json!({"path": [], "edits": []}), "`path` is not of type string"),
            (json!({"path": "a", "edits": long}), "`edits` is not of type array"),
            (json!({"path": "a", "edits": [{"new": "b"}, {}]}), "`edits.1.new` is missing"),
            (json!({"path": "a", "edits": [], "limit": 0}), "`limit` is too small"),
            (json!({"path": "a", "edits": [], "limit": 1.5}), "`limit` is not of type integer"),
            (json!({"path": "a", "edits": [], "mode": "some"}), "`mode` is not one of \"all\", \"one\""),
            (json!({"path": "a", "edits": [], "pth": 1}), "there is no `pth`, but `edits`, `limit`, `mode`, `path`"),
        ] {
            assert_eq!(misfit(&edits(), &bad).as_deref(), Some(words), "{bad}");
        }
        let all: Vec<String> = (0..1_000).map(|number| format!("{number}{long}")).collect();
        let schema = json!({"properties": {"a": {"enum": all}}});
        assert!(misfit(&schema, &json!({"a": "b"})).is_some_and(|words| words.chars().count() <= LONGEST + 1));
    }

    #[test]
    fn schemas_that_are_none_or_explode_ask_for_nothing() {
        let schema = json!({"type": 5, "required": "a", "properties": {"a": {"type": "text"}, "b": 5}});
        assert_eq!(misfit(&schema, &json!({"a": 1, "b": 2})), None);
        let elsewhere = json!({"$ref": "https://example.com/schema.json", "required": ["b"]});
        assert_eq!(misfit(&elsewhere, &json!({"a": 1})), None);
        let next = |number: u32| json!({"$ref": format!("#/$defs/a{number}")});
        let defs: Map<String, Value> = (0..60)
            .map(|number| (format!("a{number}"), json!({"allOf": [next(number + 1), next(number + 1)]})))
            .collect();
        assert_eq!(misfit(&json!({"$defs": defs, "allOf": [next(0)]}), &json!({})), None);
    }

    fn schema() -> impl Strategy<Value = Value> {
        let kind =
            prop::sample::select(vec!["null", "boolean", "integer", "number", "string", "array", "object", "strange"]);
        let leaf = prop_oneof![
            kind.clone().prop_map(|kind| json!({"type": kind})),
            (kind, -2..3_i64, 0..3_u64)
                .prop_map(|(kind, low, high)| json!({"type": kind, "minimum": low, "maxLength": high,
                "minItems": high, "exclusiveMaximum": 2})),
            value().prop_map(|value| json!({"enum": [value, "a", 1]})),
            value().prop_map(|value| json!({"const": value})),
            Just(json!({})),
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            let named = prop::collection::btree_map("[ab]", inner.clone(), 0..3);
            prop_oneof![
                (named, prop::collection::vec("[ab]", 0..2), any::<bool>())
                    .prop_map(|(properties, required, more)| json!(
                    {"type": "object", "properties": properties, "required": required, "additionalProperties": more})),
                inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
                inner.prop_map(|inner| json!({"anyOf": [inner]})),
            ]
        })
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-3..4_i64).prop_map(Value::from),
            Just(json!(1.5)),
            "[a1]{0,3}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map("[abc]", inner, 0..3).prop_map(|map| json!(map)),
            ]
        })
    }

    proptest! {
        #[test]
        fn nothing_is_refused_that_fits(schema in schema(), value in prop::collection::btree_map("[abc]", value(), 0..3)) {
            let value = json!(value);
            if let Ok(validator) = jsonschema::validator_for(&schema)
                && let Some(words) = misfit(&schema, &value)
            {
                prop_assert!(!validator.is_valid(&value), "{}: {} {}", words, schema, value);
            }
        }
    }
}
