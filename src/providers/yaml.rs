//! Provider files: which models a provider has, where it answers, and how its key travels.
//!
//! A file is read into a value and a list of problems; a mistake costs its own entry. What a `profile` says is laid over
//! the rest for the models that its globs match. How requests are written is code: `wire` names the form, and where it
//! is absent the address tells. A project's file speaks of tiers, prices and windows only: what it says of addresses,
//! keys and headers is left out as it is read.

use super::outline::Outline;
use crate::domain::{Problem, Severity, Space, WireForm};
use serde_yaml::{Mapping, Value};
use std::path::{Path, PathBuf};

/// Longest time that a provider may be silent, in seconds: a day.
const LONGEST_TIMEOUT: u64 = 86_400;

/// How a model is told of tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolForm {
    /// By the wire form's own declarations.
    #[default]
    Native,
    /// In words, and its text is searched for calls.
    Text,
}

/// One provider file.
#[derive(Clone, Debug, PartialEq)]
pub struct ProviderFile {
    /// The provider's name: what stands before the slash in `provider/model`.
    pub tool_id: String,
    pub space: Space,
    /// Tier and model, in the order of the file.
    pub tiers: Vec<(String, String)>,
    /// Variables that may hold its key, the usual one first.
    pub env: Vec<String>,
    /// The file of the extension whose code answers in the place of a server. No file of providers can say so.
    pub answered_by: Option<PathBuf>,
    /// The file of the extension that signs people in, for a key that no variable holds. No file of providers can say so.
    pub login: Option<PathBuf>,
    base: Part,
    profiles: Vec<Profile>,
}

#[derive(Clone, Debug, PartialEq)]
struct Profile {
    globs: Vec<String>,
    part: Part,
}

/// How a file says that a key travels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sent {
    /// `authorization: Bearer KEY`
    Bearer,
    /// The key alone under this name.
    Header(String),
}

/// Names with what stands for their values.
type Headers = Vec<(String, String)>;

/// What can differ by model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Part {
    pub form: Option<WireForm>,
    /// The address without what the wire form puts behind it.
    pub base: Option<String>,
    /// The address as it is written, where it names the path of a wire form, and that form.
    pub whole: Option<(WireForm, String)>,
    /// How the key travels; `None`: as the wire form has it.
    pub sent: Option<Sent>,
    /// The variable that the `auth` entry names.
    pub key_variable: Option<String>,
    pub headers: Headers,
    /// Headers whose value a variable holds, which is secret: the names of both.
    pub secret_headers: Headers,
    /// Seconds a provider may be silent.
    pub timeout: Option<u64>,
    pub tools: ToolForm,
    /// Tokens of the context window.
    pub window: Option<u64>,
    /// Whether its models take images.
    pub images: Option<bool>,
    /// Whether they think at a level that they are asked for.
    pub thinking: Option<bool>,
    pub prices: Vec<Price>,
}

/// US dollars for a million tokens of one model.
#[derive(Clone, Debug, PartialEq)]
pub struct Price {
    pub model: String,
    pub input: f64,
    pub output: f64,
    /// What is read from a cache and written to it; as any input without.
    pub cache_read: Option<f64>,
    pub cache_write: Option<f64>,
    pub max_output: Option<u64>,
}

impl ProviderFile {
    /// Reads the text of `path`, which lies in `space`. Without a `tool_id` there is no provider.
    #[must_use]
    pub fn parse(text: &str, space: Space, path: &Path) -> (Option<Self>, Vec<Problem>) {
        let mut reader = Reader { outline: Outline::new(text), path, problems: Vec::new() };
        let mut file = match serde_yaml::from_str::<Value>(text) {
            Ok(Value::Mapping(map)) => reader.file(&map, space),
            Ok(_) => {
                reader.problem_at(0, "is not a mapping", "begin with `tool_id: NAME`");
                None
            }
            Err(error) => {
                let line = error.location().map_or(0, |place| place.line().saturating_sub(1));
                reader.problem_at(line, &format!("this is not YAML: {error}"), "fix the line");
                None
            }
        };
        if let Some(file) = file.as_mut().filter(|file| file.space == Space::Project)
            && file.forget_where()
        {
            let message = "a project cannot set a provider's address, key or headers";
            let line = reader.outline.line_of("config", &reader.outline.all());
            let remedy = "keep tiers, prices and windows here; write `config` into a file of your own, below ~/.ai/tools/providers";
            reader.problems.push(Problem::at(path, line_number(line), Severity::Warning, message, remedy));
        }
        (file, reader.problems)
    }

    /// Drops what its models cost; whether it said so.
    pub fn forget_prices(&mut self) -> bool {
        let parts = std::iter::once(&mut self.base).chain(self.profiles.iter_mut().map(|profile| &mut profile.part));
        parts.fold(false, |any, part| any | !std::mem::take(&mut part.prices).is_empty())
    }

    /// Drops addresses, keys and headers; whether there were any.
    fn forget_where(&mut self) -> bool {
        let mut any = !std::mem::take(&mut self.env).is_empty();
        for part in std::iter::once(&mut self.base).chain(self.profiles.iter_mut().map(|profile| &mut profile.part)) {
            any |= part.base.take().is_some() | part.whole.take().is_some();
            any |= part.sent.take().is_some() | part.key_variable.take().is_some();
            any |= !std::mem::take(&mut part.headers).is_empty();
            any |= !std::mem::take(&mut part.secret_headers).is_empty();
        }
        any
    }

    /// Every variable that the file names for a key or a header.
    pub fn key_variables(&self) -> impl Iterator<Item = String> {
        let of_keys = self.parts().filter_map(|part| part.key_variable.clone());
        of_keys.chain(self.header_variables().map(ToOwned::to_owned)).chain(self.env.iter().cloned())
    }

    /// Every variable that the file names for a header.
    pub fn header_variables(&self) -> impl Iterator<Item = &str> {
        self.parts().flat_map(|part| part.secret_headers.iter().map(|(_, variable)| variable.as_str()))
    }

    fn parts(&self) -> impl Iterator<Item = &Part> {
        std::iter::once(&self.base).chain(self.profiles.iter().map(|profile| &profile.part))
    }

    /// What holds for `model`: the first profile that matches, else the file itself.
    #[must_use]
    pub fn part(&self, model: &str) -> &Part {
        let profile = self.profiles.iter().find(|profile| profile.globs.iter().any(|glob| fits(glob, model)));
        profile.map_or(&self.base, |profile| &profile.part)
    }

    /// Every model that the file names, those of tiers first.
    pub fn models(&self) -> impl Iterator<Item = &str> {
        let priced = self.parts().flat_map(|part| part.prices.iter().map(|price| price.model.as_str()));
        self.tiers.iter().map(|(_, model)| model.as_str()).chain(priced)
    }

    /// The model of a tier.
    #[must_use]
    pub fn tier(&self, name: &str) -> Option<&str> {
        self.tiers.iter().find(|(tier, _)| tier == name).map(|(_, model)| model.as_str())
    }
}

/// From the outline's count, which begins at 0.
fn line_number(line: usize) -> u32 {
    u32::try_from(line + 1).unwrap_or(u32::MAX)
}

struct Reader<'a> {
    outline: Outline<'a>,
    path: &'a Path,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn file(&mut self, map: &Mapping, space: Space) -> Option<ProviderFile> {
        // Providers of other things, such as mail, are tools like any other.
        if map.get("tool_type").and_then(Value::as_str).is_some_and(|kind| kind != "http") {
            return None;
        }
        let Some(tool_id) = map.get("tool_id").and_then(Value::as_str).filter(|id| !id.trim().is_empty()) else {
            self.problem("tool_id", "names no provider", "write `tool_id: NAME`, such as `tool_id: anthropic`");
            return None;
        };
        let mut tiers = Vec::new();
        for (tier, model) in self.mapping(map, "tier_mapping") {
            match model.as_str() {
                Some(model) => tiers.push((tier, model.to_owned())),
                None => self.problem(&tier, &format!("the tier `{tier}` names no model"), "write the name of a model"),
            }
        }
        let env = map.get("env_config").and_then(|config| config.get("env")).and_then(Value::as_sequence);
        let env = env.into_iter().flatten().filter_map(|name| name.as_str().map(ToOwned::to_owned)).collect();
        let base = self.part(map);
        let mut profiles = Vec::new();
        for (name, profile) in self.mapping(map, "profiles") {
            let globs = globs(profile.get("match"));
            if globs.is_empty() {
                let message = format!("the profile `{name}` matches no model");
                self.problem(&name, &message, "add `match`: globs over names of models");
                continue;
            }
            let mut merged = Value::Mapping(map.clone());
            lay_over(&mut merged, &profile);
            let Value::Mapping(merged) = merged else { continue };
            // What the file itself does wrong has been told.
            let told = self.problems.len();
            let part = self.part(&merged);
            let again: Vec<Problem> = self.problems.split_off(told);
            let new = again.into_iter().filter(|problem| !self.problems.contains(problem)).collect::<Vec<_>>();
            self.problems.extend(new);
            profiles.push(Profile { globs, part });
        }
        Some(ProviderFile {
            tool_id: tool_id.trim().to_owned(),
            space,
            tiers,
            env,
            answered_by: None,
            login: None,
            base,
            profiles,
        })
    }

    fn part(&mut self, map: &Mapping) -> Part {
        let config = map.get("config").cloned().unwrap_or_default();
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(|text| text.trim().to_owned());
        let url = text(config.get("stream_url")).or_else(|| text(config.get("url")));
        let (base, from_url) = url.as_deref().map_or((None, None), |url| {
            let (base, form) = base_of(url);
            (Some(base), form)
        });
        let whole = from_url.zip(url);
        // A word that is looked up: what is none of a list is told as it was written.
        let word = |value: Option<&Value>| {
            let value = value.filter(|value| !value.is_null())?;
            text(Some(value)).or_else(|| serde_yaml::to_string(value).ok().map(|text| text.trim().to_owned()))
        };
        let form = match word(map.get("wire")) {
            None => from_url,
            Some(word) => {
                let form = form_named(&word);
                if form.is_none() {
                    let message = format!("`wire` cannot be `{word}`");
                    self.problem("wire", &message, "write anthropic, chat, responses or gemini");
                }
                form.or(from_url)
            }
        };
        let auth = config.get("auth").cloned().unwrap_or_default();
        let key = ["key", "token", "value", "env"].iter().find_map(|name| text(auth.get(*name)));
        let key_variable = key.as_deref().map(variable);
        if key.is_some() && key_variable.as_ref().is_none_or(Option::is_none) {
            let remedy = "write the name of a variable, such as ${MY_API_KEY}";
            self.problem("auth", "a key does not belong in a file", remedy);
        }
        let bearer = text(Some(&auth)).or_else(|| text(auth.get("type"))).is_some_and(|kind| kind == "bearer");
        let sent = match text(auth.get("header")) {
            Some(name) if name.eq_ignore_ascii_case("authorization") => Some(Sent::Bearer),
            Some(name) => Some(Sent::Header(name)),
            None => bearer.then_some(Sent::Bearer),
        };
        let (headers, secret_headers) = self.headers(&config);
        let mut prices = Vec::new();
        for (model, price) in self.mapping(map, "pricing") {
            let dollars = |name: &str| price.get(name).and_then(Value::as_f64).filter(|price| *price >= 0.0);
            if let (Some(input), Some(output)) = (dollars("input"), dollars("output")) {
                let max_output = price.get("max_output_tokens").and_then(Value::as_u64);
                let (cache_read, cache_write) = (dollars("cache_read"), dollars("cache_write"));
                for name in ["cache_read", "cache_write"] {
                    if price.get(name).is_some_and(|price| !price.is_null()) && dollars(name).is_none() {
                        let message = format!("`{name}` of `{model}` is no price");
                        self.problem(name, &message, "write US dollars for a million tokens, or leave it out");
                    }
                }
                prices.push(Price { model, input, output, cache_read, cache_write, max_output });
            } else {
                let message = format!("the price of `{model}` is not whole");
                self.problem(&model, &message, "write `input` and `output` in US dollars for a million tokens");
            }
        }
        let tools = match word(map.get("tool_use").and_then(|tools| tools.get("mode"))).as_deref() {
            None | Some("native") => ToolForm::Native,
            Some("text_parsed" | "text") => ToolForm::Text,
            Some(word) => {
                self.problem("mode", &format!("`tool_use.mode` cannot be `{word}`"), "write native or text_parsed");
                ToolForm::Native
            }
        };
        let timeout = match config.get("timeout").filter(|value| !value.is_null()) {
            None => None,
            Some(value) => {
                let seconds = value.as_u64().filter(|seconds| (1..=LONGEST_TIMEOUT).contains(seconds));
                if seconds.is_none() {
                    let shown = serde_yaml::to_string(value).unwrap_or_default();
                    let message = format!("`timeout` cannot be {}", shown.trim());
                    self.problem("timeout", &message, "write a whole number of seconds, at most a day (86400)");
                }
                seconds
            }
        };
        let images = self.flag(map, "images", "take images");
        let thinking = self.flag(map, "thinking", "think at a level that they are asked for");
        Part {
            form,
            base,
            whole,
            sent,
            key_variable: key_variable.flatten(),
            headers,
            secret_headers,
            timeout,
            tools,
            window: map.get("context_window").and_then(Value::as_u64),
            images,
            thinking,
            prices,
        }
    }

    /// Headers whose value is text, and those whose value a variable holds.
    fn headers(&mut self, config: &Value) -> (Headers, Headers) {
        let (mut headers, mut secret_headers) = (Headers::new(), Headers::new());
        for (name, value) in config.get("headers").and_then(Value::as_mapping).into_iter().flatten() {
            let value = value.as_str().map(ToOwned::to_owned).or_else(|| value.as_i64().map(|value| value.to_string()));
            let held = value.as_deref().filter(|value| value.starts_with("${")).and_then(variable);
            match (name.as_str().map(str::to_ascii_lowercase), value, held) {
                (Some(name), _, Some(variable)) => secret_headers.push((name, variable)),
                (Some(name), Some(value), None) if !value.contains("${") => headers.push((name, value)),
                // The body's type is the program's business.
                _ => {
                    let message = "a header is no text, or holds a variable beside other text";
                    self.problem("headers", message, "write its text, or ${MY_VARIABLE} alone");
                }
            }
        }
        (headers, secret_headers)
    }

    /// What is said of whether its models do something; what is neither yes nor no is no.
    fn flag(&mut self, map: &Mapping, name: &str, what: &str) -> Option<bool> {
        let value = map.get(name).filter(|value| !value.is_null())?;
        if !value.is_bool() {
            let message = format!("`{name}` is neither true nor false");
            self.problem(name, &message, &format!("write {name}: true where its models {what}"));
        }
        Some(value.as_bool().unwrap_or_default())
    }

    /// The entries of the mapping under `name`, as far as their names are texts.
    fn mapping(&mut self, map: &Mapping, name: &str) -> Vec<(String, Value)> {
        match map.get(name) {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Mapping(entries)) => {
                entries.iter().filter_map(|(name, value)| Some((name.as_str()?.to_owned(), value.clone()))).collect()
            }
            Some(_) => {
                self.problem(name, &format!("`{name}` is not a mapping"), "write `name: value` below it");
                Vec::new()
            }
        }
    }

    fn problem(&mut self, key: &str, message: &str, remedy: &str) {
        let line = self.outline.line_of(key, &self.outline.all());
        self.problem_at(line, message, remedy);
    }

    /// `line` counts from 0.
    fn problem_at(&mut self, line: usize, message: &str, remedy: &str) {
        self.problems.push(Problem::at(self.path, line_number(line), Severity::Error, message, remedy));
    }
}

/// The wire form that files call so.
pub(super) fn form_named(word: &str) -> Option<WireForm> {
    Some(match word {
        "anthropic" => WireForm::Anthropic,
        "chat" => WireForm::Compatible,
        "responses" => WireForm::Responses,
        "gemini" => WireForm::Gemini,
        _ => return None,
    })
}

/// An address as files write it, with the path of the form, and the form that the path tells.
fn base_of(url: &str) -> (String, Option<WireForm>) {
    let path = url.split('?').next().unwrap_or(url);
    let endings = [
        ("/messages", WireForm::Anthropic),
        ("/chat/completions", WireForm::Compatible),
        ("/responses", WireForm::Responses),
    ];
    for (ending, form) in endings {
        if let Some(base) = path.strip_suffix(ending) {
            return (base.to_owned(), Some(form));
        }
    }
    match path.split_once("/models/") {
        Some((base, call)) if call.to_ascii_lowercase().contains("generatecontent") => {
            (base.to_owned(), Some(WireForm::Gemini))
        }
        _ => (path.to_owned(), None),
    }
}

/// The variable in `${NAME}` or `NAME`.
fn variable(text: &str) -> Option<String> {
    let name = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')).unwrap_or(text);
    let name = name.split(':').next().unwrap_or(name);
    let fits = |letter: char| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_';
    (!name.is_empty() && name.chars().all(fits)).then(|| name.to_owned())
}

/// One glob or several.
fn globs(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::String(glob)) => vec![glob.clone()],
        Some(Value::Sequence(globs)) => globs.iter().filter_map(|glob| glob.as_str().map(ToOwned::to_owned)).collect(),
        _ => Vec::new(),
    }
}

/// Whether `glob`, in which `*` stands for any letters, describes all of `text`.
fn fits(glob: &str, text: &str) -> bool {
    let Some((before, after)) = glob.split_once('*') else { return glob == text };
    let Some(rest) = text.strip_prefix(before) else { return false };
    rest.char_indices()
        .map(|(at, _)| at)
        .chain([rest.len()])
        .any(|at| rest.get(at..).is_some_and(|rest| fits(after, rest)))
}

/// Lays `over` on `under`: mappings entry by entry, everything else whole.
fn lay_over(under: &mut Value, over: &Value) {
    match (under, over) {
        (Value::Mapping(under), Value::Mapping(over)) => {
            for (name, value) in over {
                match under.get_mut(name) {
                    Some(place) => lay_over(place, value),
                    None => drop(under.insert(name.clone(), value.clone())),
                }
            }
        }
        (under, over) => *under = over.clone(),
    }
}

#[cfg(test)]
mod tests;
