//! Values that cross between Rust and JavaScript: what JSON has, and bytes.

use rquickjs::function::This;
use rquickjs::object::Property;
use rquickjs::{Array, Atom, Ctx, Error, FromJs, Function, IntoJs, Object, Result, TypedArray, Value};
use std::rc::Rc;

/// Deeper values than this do not cross.
const DEEPEST: usize = 200;
/// Bytes of one list of bytes that crosses from JavaScript, at most.
const MOST_BYTES: usize = 16 << 20;
/// Bytes that cross from JavaScript in one value, about. What is larger is kept nowhere.
const MOST_READ: usize = 64 << 20;
/// Bytes of anything.
pub(super) const LEAST: usize = 16;
/// Names of fields that are kept while one value crosses: messages have few, and to make one anew takes as long as its value.
const MOST_NAMES: usize = 32;

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

    /// Takes a field out.
    pub(super) fn take(&mut self, name: &str) -> Option<Self> {
        let Self::Map(fields) = self else { return None };
        let place = fields.iter().position(|(other, _)| other == name)?;
        Some(fields.swap_remove(place).1)
    }

    pub(super) fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    pub(super) fn number(&self) -> Option<f64> {
        if let Self::Number(number) = self { Some(*number) } else { None }
    }

    pub(super) fn is_true(&self) -> bool {
        *self == Self::Bool(true)
    }
}

/// The number of a channel.
pub(super) fn channel(value: &Plain) -> Option<u64> {
    let number = value.number().filter(|number| *number >= 0.0 && *number < 9_007_199_254_740_992.0)?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole and in bounds")]
    Some(number as u64)
}

pub(super) fn whole_number(number: u64) -> Plain {
    #[expect(clippy::cast_precision_loss, reason = "it was a number of JavaScript")]
    Plain::Number(number as f64)
}

/// The names of fields on both sides.
#[derive(Default)]
struct Names<'js>(Vec<(Atom<'js>, Rc<str>)>);

impl<'js> Names<'js> {
    fn name(&mut self, atom: Atom<'js>) -> Result<Rc<str>> {
        if let Some((_, name)) = self.0.iter().find(|(other, _)| *other == atom) {
            return Ok(Rc::clone(name));
        }
        let name: Rc<str> = atom.to_string()?.into();
        self.keep(atom, &name);
        Ok(name)
    }

    fn atom(&mut self, ctx: &Ctx<'js>, name: &str) -> Result<Atom<'js>> {
        if let Some((atom, _)) = self.0.iter().find(|(_, other)| **other == *name) {
            return Ok(atom.clone());
        }
        let atom = Atom::from_str(ctx.clone(), name)?;
        self.keep(atom.clone(), &name.into());
        Ok(atom)
    }

    fn keep(&mut self, atom: Atom<'js>, name: &Rc<str>) {
        if self.0.len() < MOST_NAMES {
            self.0.push((atom, Rc::clone(name)));
        }
    }
}

/// Reads one value of JavaScript, whoever made it: what has no form here is left out, and nothing of it runs away.
pub(super) struct Reader<'js> {
    ctx: Ctx<'js>,
    /// The prototype of plain objects.
    usual: Option<Object<'js>>,
    names: Names<'js>,
    /// What is being read: a value in itself is one that contains itself.
    above: Vec<Value<'js>>,
    /// Bytes that may still be read.
    left: usize,
}

impl<'js> Reader<'js> {
    pub(super) fn read(&mut self, value: &Value<'js>) -> Result<Plain> {
        if let Some(text) = value.as_string() {
            // A text with half a letter in it has no form here.
            let text = text.to_string().unwrap_or_else(|_| "\u{fffd}".to_owned());
            self.take(text.len())?;
            return Ok(Plain::Text(text));
        }
        self.take(LEAST)?;
        if let Some(flag) = value.as_bool() {
            return Ok(Plain::Bool(flag));
        }
        if let Some(number) = value.as_number() {
            return Ok(if number.is_finite() { Plain::Number(number) } else { Plain::Nothing });
        }
        if value.is_big_int() {
            let text: rquickjs::Coerced<String> = rquickjs::Coerced::from_js(&self.ctx, value.clone())?;
            return Ok(Plain::Text(text.0));
        }
        let Some(object) = value.as_object().filter(|_| !value.is_function()) else { return Ok(Plain::Nothing) };
        if self.above.len() >= DEEPEST {
            return Err(refused("it is nested too deeply"));
        }
        if self.above.contains(value) {
            return Err(refused("it contains itself"));
        }
        self.above.push(value.clone());
        let read = match value.as_array() {
            Some(list) => self.list(list),
            None => self.object(object),
        };
        self.above.pop();
        read
    }

    fn list(&mut self, list: &Array<'js>) -> Result<Plain> {
        let items = list.iter::<Value<'js>>().map(|item| self.read(&item?));
        Ok(Plain::List(items.collect::<Result<_>>()?))
    }

    fn object(&mut self, object: &Object<'js>) -> Result<Plain> {
        if !self.is_usual(object)?
            && let Some(read) = self.unusual(object)?
        {
            return Ok(read);
        }
        let mut fields = Vec::new();
        for entry in object.props::<Atom<'js>, Value<'js>>() {
            let (atom, value) = entry?;
            let name = self.names.name(atom)?;
            if value.is_undefined() || value.is_function() || value.is_symbol() || *name == *"__proto__" {
                continue;
            }
            self.take(name.len())?;
            fields.push((name.as_ref().to_owned(), self.read(&value)?));
        }
        Ok(Plain::Map(fields))
    }

    /// Whether `value` is what `json` became on its way, with nothing kept of it: sooner known than what it is.
    pub(super) fn is_same(&mut self, value: &Value<'js>, json: &serde_json::Value) -> Result<bool> {
        use serde_json::Value as Json;
        match json {
            Json::Null => Ok(value.is_null()),
            Json::Bool(flag) => Ok(value.as_bool() == Some(*flag)),
            // Numbers of JavaScript have 53 bits.
            Json::Number(number) => Ok(value.as_number().is_some_and(|own| number.as_f64() == Some(own))),
            Json::String(text) => {
                let Some(own) = value.as_string() else { return Ok(false) };
                Ok(own.clone().to_cstring().is_ok_and(|own| own.as_str() == text))
            }
            Json::Array(items) => {
                let Some(list) = value.as_array().filter(|list| list.len() == items.len()) else { return Ok(false) };
                for (own, item) in list.iter::<Value<'js>>().zip(items) {
                    if !self.is_same(&own?, item)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Json::Object(fields) => {
                let Some(object) = value.as_object().filter(|_| !value.is_array()) else { return Ok(false) };
                if !self.is_usual(object)? {
                    return Ok(false);
                }
                // What was made of them has them in their order.
                let (mut count, mut in_order) = (0, fields.iter());
                for entry in object.props::<Atom<'js>, Value<'js>>() {
                    let (atom, own) = entry?;
                    let name = self.names.name(atom)?;
                    let next = in_order.next().filter(|(next, _)| **next == *name).map(|(_, field)| field);
                    let Some(field) = next.or_else(|| fields.get(&*name)) else { return Ok(false) };
                    if !self.is_same(&own, field)? {
                        return Ok(false);
                    }
                    count += 1;
                }
                Ok(count == fields.len())
            }
        }
    }

    /// Whether it is no more than its fields.
    fn is_usual(&mut self, object: &Object<'js>) -> Result<bool> {
        let Some(prototype) = object.get_prototype() else { return Ok(true) };
        if self.usual.is_none() {
            self.usual = Object::new(self.ctx.clone())?.get_prototype();
        }
        Ok(self.usual.as_ref() == Some(&prototype))
    }

    /// What is more than its fields, or is not what they say: bytes, errors, dates, maps and sets.
    fn unusual(&mut self, object: &Object<'js>) -> Result<Option<Plain>> {
        if let Some(bytes) = object.as_typed_array::<u8>() {
            // One by one: the engine gives out its memory only by unsafe functions.
            if bytes.len() > MOST_BYTES {
                return Err(refused("there are too many bytes"));
            }
            self.take(bytes.len())?;
            let length = u32::try_from(bytes.len()).unwrap_or_default();
            let bytes = (0..length).map(|index| object.get::<_, u8>(index));
            return Ok(Some(Plain::Bytes(bytes.collect::<Result<_>>()?)));
        }
        if object.is_error() {
            let text = |name: &str| object.get::<_, rquickjs::Coerced<String>>(name).map(|text| Plain::Text(text.0));
            return Ok(Some(Plain::map([("name", text("name")?), ("message", text("message")?)])));
        }
        if let Some(form) = object.get::<_, Value<'js>>("toJSON")?.into_function() {
            let form: Value<'js> = form.call((This(object.clone()),))?;
            return self.read(&form).map(Some);
        }
        let globals = self.ctx.globals();
        for name in ["Map", "Set"] {
            let class: Value<'js> = globals.get(name)?;
            if class.as_object().is_some_and(|class| object.is_instance_of(class)) {
                let list: Object<'js> = globals.get("Array")?;
                let items: Value<'js> = list.get::<_, Function<'js>>("from")?.call((object.clone(),))?;
                return self.read(&items).map(Some);
            }
        }
        Ok(None)
    }

    /// Counts what is read, or looked at without being read.
    pub(super) fn take(&mut self, bytes: usize) -> Result<()> {
        self.left = self.left.checked_sub(bytes).ok_or_else(|| refused("it is too large"))?;
        Ok(())
    }
}

fn refused(why: &'static str) -> Error {
    Error::new_from_js_message("value", "plain value", why)
}

impl<'js> Reader<'js> {
    pub(super) fn new(ctx: &Ctx<'js>) -> Self {
        Self { ctx: ctx.clone(), usual: None, names: Names::default(), above: Vec::new(), left: MOST_READ }
    }
}

impl<'js> FromJs<'js> for Plain {
    fn from_js(ctx: &Ctx<'js>, value: Value<'js>) -> Result<Self> {
        Reader::new(ctx).read(&value)
    }
}

/// Whether a value of JavaScript is still what `json` became when it crossed.
pub(super) fn is_same(value: &Value<'_>, json: &serde_json::Value) -> Result<bool> {
    Reader::new(value.ctx()).is_same(value, json)
}

/// JSON that crosses as it is, without becoming [`Plain`] first.
pub(super) struct Json<'a>(pub(super) &'a serde_json::Value);

impl<'js> IntoJs<'js> for Json<'_> {
    fn into_js(self, ctx: &Ctx<'js>) -> Result<Value<'js>> {
        Writer::new(ctx).json(self.0)
    }
}

/// Makes values of JavaScript.
pub(super) struct Writer<'a, 'js> {
    ctx: &'a Ctx<'js>,
    names: Names<'js>,
}

impl<'a, 'js> Writer<'a, 'js> {
    pub(super) fn new(ctx: &'a Ctx<'js>) -> Self {
        Self { ctx, names: Names::default() }
    }

    fn plain(&mut self, value: Plain) -> Result<Value<'js>> {
        match value {
            Plain::Nothing => Ok(Value::new_null(self.ctx.clone())),
            Plain::Bool(flag) => flag.into_js(self.ctx),
            Plain::Number(number) => number.into_js(self.ctx),
            Plain::Text(text) => text.into_js(self.ctx),
            Plain::Bytes(bytes) => Ok(TypedArray::<u8>::new(self.ctx.clone(), bytes)?.into_value()),
            Plain::List(items) => self.list(items, Self::plain),
            Plain::Map(fields) => self.object(fields, Self::plain),
        }
    }

    pub(super) fn json(&mut self, value: &serde_json::Value) -> Result<Value<'js>> {
        match value {
            serde_json::Value::Null => Ok(Value::new_null(self.ctx.clone())),
            serde_json::Value::Bool(flag) => flag.into_js(self.ctx),
            serde_json::Value::Number(number) => number.as_f64().unwrap_or_default().into_js(self.ctx),
            serde_json::Value::String(text) => text.as_str().into_js(self.ctx),
            serde_json::Value::Array(items) => self.list(items, Self::json),
            serde_json::Value::Object(fields) => self.object(fields, Self::json),
        }
    }

    fn list<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        item: impl Fn(&mut Self, T) -> Result<Value<'js>>,
    ) -> Result<Value<'js>> {
        let list = Array::new(self.ctx.clone())?;
        for (index, one) in items.into_iter().enumerate() {
            list.set(index, item(self, one)?)?;
        }
        Ok(list.into_value())
    }

    fn object<T>(
        &mut self,
        fields: impl IntoIterator<Item = (impl AsRef<str>, T)>,
        field: impl Fn(&mut Self, T) -> Result<Value<'js>>,
    ) -> Result<Value<'js>> {
        let object = Object::new(self.ctx.clone())?;
        for (name, one) in fields {
            let (name, value) = (self.names.atom(self.ctx, name.as_ref())?, field(self, one)?);
            // Defined, not set: what an extension did to the prototype of all objects has no say.
            object.prop(name, Property::from(value).writable().enumerable().configurable())?;
        }
        Ok(object.into_value())
    }
}

impl<'js> IntoJs<'js> for Plain {
    fn into_js(self, ctx: &Ctx<'js>) -> Result<Value<'js>> {
        Writer::new(ctx).plain(self)
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
