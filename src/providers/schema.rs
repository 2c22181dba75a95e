//! Schemas of tools as vendors take them.

use serde_json::{Value, json};
use std::borrow::Cow;

/// `schema` as that of an object. Servers of MCP write `{}` or `{"type": "object"}` for a tool that takes nothing; one such tool,
/// and `OpenAI` refuses the whole request.
pub(crate) fn object_schema(schema: &Value) -> Cow<'_, Value> {
    let Some(known) = schema.as_object() else { return Cow::Owned(json!({"type": "object", "properties": {}})) };
    if known.contains_key("type") && known.contains_key("properties") {
        return Cow::Borrowed(schema);
    }
    let mut known = known.clone();
    known.entry("type").or_insert_with(|| json!("object"));
    if known.get("type") == Some(&json!("object")) {
        known.entry("properties").or_insert_with(|| json!({}));
    }
    Cow::Owned(Value::Object(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_that_takes_nothing_is_an_object_without_properties() {
        let empty = json!({"type": "object", "properties": {}});
        for schema in [json!({}), json!({"type": "object"}), json!(true), json!(null), empty.clone()] {
            assert_eq!(*object_schema(&schema), empty, "{schema}");
        }
        let whole = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]});
        assert!(matches!(object_schema(&whole), Cow::Borrowed(_)));
        let bare = json!({"properties": {"a": {}}, "additionalProperties": false});
        assert_eq!(object_schema(&bare)["type"], "object");
    }
}
