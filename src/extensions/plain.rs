//! Values that cross between Rust and JavaScript: what JSON has, and bytes.

use rquickjs::object::Property;
use rquickjs::{Array, Ctx, Error, FromJs, IntoJs, Object, Result, TypedArray, Value};

/// Deeper values than this do not cross.
const DEEPEST: usize = 200;
/// Bytes that cross from JavaScript in one value, at most.
const MOST_BYTES: usize = 16 << 20;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Plain {
    Nothing,
    Bool(bool),
    Number(f64),
    Text(String),
    Bytes(Vec<u8>),
    List(Vec<Plain>),
    Map(Vec<(String, Plain)>),
}

impl Plain {
    pub(super) fn map<const N: usize>(fields: [(&str, Self); N]) -> Self {
        Self::Map(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    pub(super) fn get(&self, name: &str) -> Option<&Self> {
        let Self::Map(fields) = self else { return None };
        fields.iter().find(|(other, _)| other == name).map(|(_, value)| value)
    }

    pub(super) fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    pub(super) fn number(&self) -> Option<f64> {
        if let Self::Number(number) = self { Some(*number) } else { None }
    }

    /// Whether it is what `value` became on its way through JavaScript, whose numbers have 53 bits.
    pub(super) fn is_same(&self, value: &serde_json::Value) -> bool {
        use serde_json::Value;
        match (self, value) {
            (Self::Nothing, Value::Null) => true,
            (Self::Bool(own), Value::Bool(other)) => own == other,
            (Self::Number(own), Value::Number(other)) => other.as_f64() == Some(*own),
            (Self::Text(own), Value::String(other)) => own == other,
            (Self::List(own), Value::Array(other)) => {
                own.len() == other.len() && own.iter().zip(other).all(|(own, other)| own.is_same(other))
            }
            (Self::Map(own), Value::Object(other)) => {
                let is_same = |(name, own): &(String, Self)| other.get(name).is_some_and(|other| own.is_same(other));
                own.len() == other.len() && own.iter().all(is_same)
            }
            _ => false,
        }
    }

    pub(super) fn is_true(&self) -> bool {
        *self == Self::Bool(true)
    }

    fn read<'js>(value: &Value<'js>, depth: usize) -> Result<Self> {
        if depth > DEEPEST {
            return Err(Error::new_from_js_message("object", "plain value", "it is nested too deeply"));
        }
        if let Some(flag) = value.as_bool() {
            return Ok(Self::Bool(flag));
        }
        if let Some(number) = value.as_number() {
            return Ok(Self::Number(number));
        }
        if let Some(text) = value.as_string() {
            // A text with half a letter in it has no form here.
            return Ok(Self::Text(text.to_string().unwrap_or_else(|_| "\u{fffd}".to_owned())));
        }
        if value.is_function() {
            return Ok(Self::Nothing);
        }
        if let Some(list) = value.as_array() {
            let items = list.iter::<Value<'js>>().map(|item| Self::read(&item?, depth + 1));
            return Ok(Self::List(items.collect::<Result<_>>()?));
        }
        let Some(object) = value.as_object() else { return Ok(Self::Nothing) };
        if let Some(bytes) = object.as_typed_array::<u8>() {
            // One by one: the engine gives out its memory only by unsafe functions.
            if bytes.len() > MOST_BYTES {
                return Err(Error::new_from_js_message("Uint8Array", "bytes", "there are too many"));
            }
            let length = u32::try_from(bytes.len()).unwrap_or_default();
            let bytes = (0..length).map(|index| object.get::<_, u8>(index));
            return Ok(Self::Bytes(bytes.collect::<Result<_>>()?));
        }
        let mut fields = Vec::new();
        for entry in object.props::<String, Value<'js>>() {
            let (name, value) = entry?;
            if !value.is_undefined() {
                fields.push((name, Self::read(&value, depth + 1)?));
            }
        }
        Ok(Self::Map(fields))
    }
}

impl<'js> FromJs<'js> for Plain {
    fn from_js(_: &Ctx<'js>, value: Value<'js>) -> Result<Self> {
        Self::read(&value, 0)
    }
}

impl<'js> IntoJs<'js> for Plain {
    fn into_js(self, ctx: &Ctx<'js>) -> Result<Value<'js>> {
        match self {
            Self::Nothing => Ok(Value::new_null(ctx.clone())),
            Self::Bool(flag) => flag.into_js(ctx),
            Self::Number(number) => number.into_js(ctx),
            Self::Text(text) => text.into_js(ctx),
            Self::Bytes(bytes) => Ok(TypedArray::<u8>::new(ctx.clone(), bytes)?.into_value()),
            Self::List(items) => {
                let list = Array::new(ctx.clone())?;
                for (index, item) in items.into_iter().enumerate() {
                    list.set(index, item)?;
                }
                Ok(list.into_value())
            }
            Self::Map(fields) => {
                let object = Object::new(ctx.clone())?;
                for (name, value) in fields {
                    // Defined, not set: what an extension did to the prototype of all objects has no say.
                    let value = value.into_js(ctx)?;
                    object.prop(name, Property::from(value).writable().enumerable().configurable())?;
                }
                Ok(object.into_value())
            }
        }
    }
}

impl From<serde_json::Value> for Plain {
    fn from(value: serde_json::Value) -> Self {
        match value {
            serde_json::Value::Null => Self::Nothing,
            serde_json::Value::Bool(flag) => Self::Bool(flag),
            serde_json::Value::Number(number) => Self::Number(number.as_f64().unwrap_or_default()),
            serde_json::Value::String(text) => Self::Text(text),
            serde_json::Value::Array(items) => Self::List(items.into_iter().map(Self::from).collect()),
            serde_json::Value::Object(fields) => {
                Self::Map(fields.into_iter().map(|(name, value)| (name, Self::from(value))).collect())
            }
        }
    }
}

impl From<Plain> for serde_json::Value {
    fn from(value: Plain) -> Self {
        match value {
            Plain::Nothing => Self::Null,
            Plain::Bool(flag) => Self::Bool(flag),
            Plain::Number(number) => whole(number).map_or_else(|| Self::from(number), Self::from),
            Plain::Text(text) => Self::String(text),
            Plain::Bytes(bytes) => Self::String(String::from_utf8_lossy(&bytes).into_owned()),
            Plain::List(items) => Self::Array(items.into_iter().map(Self::from).collect()),
            Plain::Map(fields) => {
                Self::Object(fields.into_iter().map(|(name, value)| (name, Self::from(value))).collect())
            }
        }
    }
}

/// A number of JavaScript that JSON writes without a point.
fn whole(number: f64) -> Option<i64> {
    #[expect(clippy::cast_possible_truncation, reason = "exact in these bounds")]
    (number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0).then_some(number as i64)
}
