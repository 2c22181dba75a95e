//! Providers that the person's own extensions register: where a model is asked, with which key, what it costs.
//!
//! Whether a model can be asked is told before any thread runs, so what extensions register is kept in a cache, by how their
//! files were: code runs for it only where a file that speaks of providers is new or was changed. As with provider files, a
//! project says nothing of addresses and keys: only extensions of the person's own folders and of the command line count.

use super::extension_models::own;
use super::extension_sources::Sources;
use super::extensions::{Extension, Extensions, Registered};
use super::secrets;
use crate::domain::{Problem, Severity, Space};
use crate::ports::private_file::PrivateFile;
use crate::providers::ProviderFile;
use crate::providers::keys::VARIABLES;
use crate::providers::known::{KNOWN, known};
use crate::tools::environment::is_harmless;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What a file that registers some calls.
const CALL: &str = "registerProvider";

/// Wire forms by pi's names, and what pi writes behind an address that is not part of it here.
const FORMS: [(&str, &str, &str); 4] = [
    ("openai-completions", "chat", ""),
    ("openai-responses", "responses", ""),
    ("anthropic-messages", "anthropic", "/v1"),
    ("google-generative-ai", "gemini", "/v1beta"),
];

/// More providers of one file than this are not kept while a thread runs.
const MOST: usize = 100;

/// What was registered by files, and how they were then.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Cache(BTreeMap<PathBuf, Known>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Known {
    bytes: u64,
    /// Milliseconds since 1970.
    modified: u128,
    /// As the JavaScript side describes them (`providerDescriptions`).
    providers: Vec<Value>,
}

impl Cache {
    fn read(path: &Path) -> Self {
        fs::read(path).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
    }

    fn keep(&self, path: &Path) -> io::Result<()> {
        PrivateFile::at(path.to_owned()).write(&serde_json::to_vec(self)?)
    }
}

/// When an extension registers a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    AtLoad,
    Later,
}

/// The person's own among these extensions of which the cache does not say how they are now.
pub(super) fn changed(paths: Vec<PathBuf>, extensions: &Extensions, cache: &Path) -> Vec<PathBuf> {
    let known = Cache::read(cache);
    let is_known = |path: &PathBuf| {
        known.0.get(path).is_some_and(|known| Sources::of(path).stamp() == Some((known.bytes, known.modified)))
    };
    let found = extensions.found();
    let is_own = |path: &PathBuf| found.iter().any(|one| !one.of_project && one.path == *path);
    paths.into_iter().filter(|path| is_own(path) && !is_known(path)).collect()
}

/// Of what extensions describe at load, what their files did not say where they were looked for: packages of others do.
pub(super) fn hidden<'a>(cache: &Path, described: &'a [Value]) -> Vec<(&'a Path, &'a str, &'a Value)> {
    let known = Cache::read(cache);
    let all = described.iter().filter_map(|one| Some((Path::new(one["path"].as_str()?), one["name"].as_str()?, one)));
    let is_new = |(path, name, _): &(&Path, &str, &Value)| {
        known.0.get(*path).is_some_and(|known| !known.providers.iter().any(|other| other["name"] == **name))
    };
    all.filter(is_new).collect()
}

/// Keeps what an extension registered while a thread ran, or that it took it back (without `config`): that counts for whatever
/// starts from then on. True where it was not known so. Where its engine `is_shared` with extensions of the project, what is
/// new does not count: nobody can tell who says it.
///
/// # Errors
/// Why it does not count.
pub(super) fn register(
    (extensions, cache): (&Extensions, &Path),
    path: &Path,
    (name, config): (&str, Option<&Value>),
    (when, is_shared): (When, bool),
) -> Result<bool, String> {
    let described = match config {
        Some(Value::Object(config)) => {
            let mut described = config.clone();
            described.insert("name".to_owned(), name.into());
            described.insert("path".to_owned(), path.display().to_string().into());
            let mut described = Value::Object(described);
            uncounted(&mut described);
            Some(described)
        }
        Some(_) => return Err("it is described by no object".to_owned()),
        None => None,
    };
    let of_name = |one: &Value| one.get("name").is_some_and(|other| other == name);
    let mut all = Cache::read(cache);
    let now = Sources::of(path).stamp();
    let known = all.0.get_mut(path).filter(|known| Some((known.bytes, known.modified)) == now);
    if known.as_ref().is_some_and(|known| described.as_ref() == known.providers.iter().find(|one| of_name(one))) {
        return Ok(false);
    }
    if is_shared {
        return Err("an extension of this project ran beside it, and a project sets no address and no key".to_owned());
    }
    let found = extensions.found();
    if let Some(other) = found.iter().find(|one| one.of_project) {
        return Err(format!(
            "{} of this project may run beside it, and a project sets no address and no key",
            other.name
        ));
    }
    if !found.iter().any(|one| one.path == path) {
        return Err("its file is none of your extensions".to_owned());
    }
    if let Some(described) = &described {
        let (_, problems) = file(described, path).map_err(|(message, remedy)| format!("{message}; {remedy}"))?;
        if let Some(problem) = problems.first() {
            return Err(problem.message.clone());
        }
    }
    let known = known.ok_or("its file was changed meanwhile: start again")?;
    let signs_in = |one: &Value| one.get("oauth").is_some_and(Value::is_object);
    let at_load = when == When::AtLoad || known.providers.iter().any(|one| of_name(one) && signs_in(one));
    if described.as_ref().is_some_and(signs_in) && !at_load {
        return Err("its login is known only where it is registered at load".to_owned());
    }
    known.providers.retain(|one| !of_name(one));
    if described.is_some() && known.providers.len() >= MOST {
        return Err(format!("its file has {MOST} others"));
    }
    known.providers.extend(described);
    all.keep(cache).map_err(|error| format!("{} could not be written: {error}", cache.display()))?;
    Ok(true)
}

/// What the person's own extensions say of providers.
#[derive(Debug, Default)]
pub(super) struct Described {
    pub(super) files: Vec<ProviderFile>,
    /// Keys that stand in the extensions themselves, by provider: most are words for servers that want any key.
    pub(super) keys: Vec<(String, SecretString)>,
    /// Providers that are not to be asked, by name, and why: as with provider files, what is built in of that name may answer
    /// elsewhere, or cost more, than the extension would have it.
    pub(super) refused: BTreeMap<String, Problem>,
    /// Each mistake costs its provider.
    pub(super) problems: Vec<Problem>,
}

impl Described {
    /// What `path` registers is not known: those that are built in and that it calls for by name are not to be asked.
    fn unknown(&mut self, path: &Path, why: &str) {
        let problem = problem(path, &format!("its providers are not known: {why}"), "see levain extensions");
        let sources = Sources::of(path);
        for name in KNOWN.iter().map(|known| known.name).filter(|name| sources.call_with(CALL, name)) {
            self.refused.entry(name.to_owned()).or_insert_with(|| problem.clone());
        }
        self.problems.push(problem);
    }

    /// What `path` says of a provider.
    fn take(&mut self, path: &Path, described: &Value) {
        let (file, mut problems) = match file(described, path) {
            Ok(read) => read,
            Err((message, remedy)) => (None, vec![problem(path, &message, remedy)]),
        };
        if let Some(mistake) = problems.iter().find(|problem| problem.severity >= Severity::Error) {
            let name = own(described.get("name").and_then(Value::as_str).unwrap_or_default());
            self.refused.entry(name.to_owned()).or_insert_with(|| mistake.clone());
        }
        if let Some(file) = &file
            && let Some(word) = described.get("apiKey").and_then(Value::as_str).filter(|word| !word.is_empty())
            && let Ok(Written::Text(key)) = written(&file.tool_id, "its key", word, Bare::Key)
            && known(&file.tool_id).is_none()
            // Its own code knows it.
            && file.answered_by.is_none()
        {
            self.keys.push((file.tool_id.clone(), key.into()));
        }
        self.files.extend(file);
        self.problems.append(&mut problems);
    }
}

/// What the person's own extensions say of providers.
pub(super) fn files(extensions: &Extensions, cache: &Path) -> Described {
    let own: Vec<Extension> = extensions.found().into_iter().filter(|one| !one.of_project).collect();
    if own.is_empty() {
        return Described::default();
    }
    let before = Cache::read(cache);
    let (mut now, mut unknown) = (BTreeMap::new(), Vec::new());
    for Extension { path, .. } in &own {
        let sources = Sources::of(path);
        let Some((bytes, modified)) = sources.stamp() else { continue };
        let known = before.0.get(path).filter(|known| (known.bytes, known.modified) == (bytes, modified));
        let silent = Known { bytes, modified, providers: Vec::new() };
        if known.is_none() && sources.hold(CALL) {
            unknown.push((path.clone(), silent));
        } else {
            now.insert(path.clone(), known.cloned().unwrap_or(silent));
        }
    }
    let mut described = Described::default();
    if !unknown.is_empty() {
        match extensions.registered_by(unknown.iter().map(|(path, _)| path.clone()).collect()) {
            Ok(Registered { providers: mut all, failed, .. }) => {
                // They are asked again the next time, so that it is told for as long as it is so.
                unknown.retain(|(path, _)| !failed.iter().any(|(other, _)| other == path));
                for (path, why) in failed {
                    described.unknown(&path, &why);
                }
                all.iter_mut().for_each(uncounted);
                for (path, mut known) in unknown {
                    let of_file = |one: &Value| one.get("path").and_then(Value::as_str).map(Path::new) == Some(&*path);
                    (known.providers, all) = all.into_iter().partition(of_file);
                    now.insert(path, known);
                }
            }
            Err(why) => unknown.iter().for_each(|(path, _)| described.unknown(path, &why)),
        }
    }
    // What others load stays: of two that run at once each would else have the other read its files again.
    let is_other = |(path, known): &(&PathBuf, &Known)| {
        !own.iter().any(|one| one.path == **path) && Sources::of(path).stamp() == Some((known.bytes, known.modified))
    };
    let others = before.0.iter().filter(is_other).map(|(path, known)| (path.clone(), known.clone()));
    let all = Cache(now.clone().into_iter().chain(others).collect());
    if all != before
        && let Err(error) = all.keep(cache)
    {
        // They are asked again the next time.
        tracing::warn!(%error, "the cache of providers of extensions");
    }
    for (path, known) in now {
        known.providers.iter().for_each(|one| described.take(&path, one));
    }
    described
}

/// Without the number that each engine gives an extension anew.
fn uncounted(described: &mut Value) {
    described.as_object_mut().map(|fields| fields.remove("extension"));
}

/// A mistake of an extension that costs a provider.
pub(super) fn problem(path: &Path, message: &str, remedy: &str) -> Problem {
    Problem::at(path, 1, Severity::Error, message, remedy)
}

/// A provider file as it was read.
type Read = (Option<ProviderFile>, Vec<Problem>);

/// A provider as a provider file says it.
fn file(described: &Value, path: &Path) -> Result<Read, (String, &'static str)> {
    let text = |name: &str| described.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let name = own(text("name").unwrap_or_default());
    if let Some(mistake) = text("mistake") {
        return Err((mistake.to_owned(), "mend it in the extension"));
    }
    let streams = described.get("streams").and_then(Value::as_bool).unwrap_or_default();
    let signs_in = described.get("oauth").is_some_and(Value::is_object);
    // Where its own code answers, it alone knows where and how.
    let place = if streams { None } else { Some(place(name, text("api"), text("baseUrl"))?) };
    let mut auth = Map::new();
    if let Some(word) = text("apiKey")
        && let Written::Variable(variable) = written(name, "its key", word, Bare::Key)?
    {
        auth.insert("key".to_owned(), format!("${{{variable}}}").into());
    }
    if described.get("authHeader").and_then(Value::as_bool).unwrap_or_default() {
        auth.insert("type".to_owned(), "bearer".into());
    }
    let (mut pricing, mut profiles) = (Map::new(), Map::new());
    for model in described.get("models").and_then(Value::as_array).into_iter().flatten() {
        let Some(id) = model.get("id").and_then(Value::as_str) else { continue };
        let number = |pointer: &str| model.pointer(pointer).and_then(Value::as_f64).unwrap_or_default();
        let mut price = json!({"input": number("/cost/input"), "output": number("/cost/output")});
        for (own, theirs) in [("cache_read", "/cost/cacheRead"), ("cache_write", "/cost/cacheWrite")] {
            // Nothing beside a price for the rest is one that nobody looked up: those tokens cost what any others do then.
            let cost = model.pointer(theirs).and_then(Value::as_f64).filter(|cost| *cost > 0.0);
            if let Some(cost) = cost {
                price[own] = cost.into();
            }
        }
        if let Some(most) = model.get("maxTokens").and_then(Value::as_u64) {
            price["max_output_tokens"] = most.into();
        }
        pricing.insert(id.to_owned(), price);
        let mut profile = json!({"match": [id]});
        if let Some(window) = model.get("contextWindow").and_then(Value::as_u64) {
            profile["context_window"] = window.into();
        }
        if let Some(kinds) = model.get("input").and_then(Value::as_array) {
            profile["images"] = kinds.iter().any(|kind| kind == "image").into();
        }
        if let Some(thinks) = model.get("reasoning").and_then(Value::as_bool) {
            profile["thinking"] = thinks.into();
        }
        profiles.insert(id.to_owned(), profile);
    }
    let mut headers = Map::new();
    for (header, value) in described.get("headers").and_then(Value::as_object).into_iter().flatten() {
        let value = match value.as_str() {
            None => value.clone(),
            Some(word) => match written(name, &format!("its header {header}"), word, Bare::Header)? {
                Written::Variable(variable) => format!("${{{variable}}}").into(),
                Written::Text(text) => text.into(),
            },
        };
        headers.insert(header.clone(), value);
    }
    let mut whole = json!({"tool_id": name, "pricing": pricing, "profiles": profiles,
        "config": {"auth": auth, "headers": headers}});
    if let Some((url, wire)) = place {
        if let Some(url) = url {
            whole["config"]["url"] = url.into();
        }
        // One that is known has its own form.
        if text("api").is_some() || known(name).is_none() {
            whole["wire"] = wire.into();
        }
    }
    let text = serde_yaml::to_string(&whole).unwrap_or_default();
    let (mut file, problems) = ProviderFile::parse(&text, Space::User, path);
    if let Some(file) = &mut file {
        file.answered_by = streams.then(|| path.to_owned());
        file.login = signs_in.then(|| path.to_owned());
    }
    Ok((file, problems))
}

/// Where a provider answers, without what its form puts behind that, and the form. One that is known may leave the place as
/// it is.
pub(super) fn place(
    name: &str,
    api: Option<&str>,
    url: Option<&str>,
) -> Result<(Option<String>, &'static str), (String, &'static str)> {
    let api = api.unwrap_or("openai-completions");
    let Some((_, wire, ending)) = FORMS.iter().find(|(known, ..)| *known == api) else {
        let forms = "write openai-completions, openai-responses, anthropic-messages or google-generative-ai";
        return Err((format!("the provider {name} has the api `{api}`, which is not known"), forms));
    };
    let Some(url) = url else {
        let nowhere = || (format!("the provider {name} has no baseUrl"), "say where it answers");
        return known(name).map(|_usual| (None, *wire)).ok_or_else(nowhere);
    };
    let url = url.trim_end_matches('/');
    let url = url.strip_suffix(ending).filter(|_| !ending.is_empty()).unwrap_or(url);
    Ok((Some(url.to_owned()), wire))
}

/// What stands for a key or a header.
#[derive(Debug, PartialEq, Eq)]
enum Written {
    /// The variable that holds it, which is secret.
    Variable(String),
    Text(String),
}

/// What a bare name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bare {
    /// For a variable where it says that it holds a key, or where there is one of that name.
    Key,
    /// For a variable where there is one of that name.
    Header,
}

/// What `word` means for `what` of the provider `name`. `$NAME` and `${NAME}` name a variable.
fn written(name: &str, what: &str, word: &str, bare: Bare) -> Result<Written, (String, &'static str)> {
    const REMEDY: &str = "name a variable that holds it";
    let named = word.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')).or_else(|| word.strip_prefix('$'));
    let is_name = |word: &str| {
        let fits = |letter: char| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_';
        !word.is_empty() && word.chars().all(fits)
    };
    let holds_key = || bare == Bare::Key && ["KEY", "TOKEN", "SECRET"].iter().any(|part| word.contains(part));
    let variable = match named {
        Some(variable) if is_name(variable) => variable,
        _ if word.starts_with('!') => {
            return Err((format!("the provider {name} wants a command run for {what}"), REMEDY));
        }
        _ if is_name(word) && !is_harmless(word) && (holds_key() || secrets::var(word).is_some()) => word,
        _ if names_within(word) => {
            return Err((format!("{what} of the provider {name} has a variable beside other text"), REMEDY));
        }
        _ => return Ok(Written::Text(word.to_owned())),
    };
    let of_another = |(vendor, names): &&(&str, &[&str])| *vendor != name && names.contains(&variable);
    if let Some((vendor, _)) = VARIABLES.iter().find(of_another) {
        let message = format!("the provider {name} wants {variable} for {what}, which is the key of {vendor}");
        return Err((message, "give it a variable of its own"));
    }
    // One that tools see anyway is no secret.
    let open = secrets::var(variable).filter(|_| is_harmless(variable));
    Ok(open.map_or_else(|| Written::Variable(variable.to_owned()), Written::Text))
}

/// Whether something in a text looks as if it named a variable.
fn names_within(text: &str) -> bool {
    text.split('$')
        .skip(1)
        .any(|rest| rest.starts_with(|letter: char| letter == '{' || letter == '_' || letter.is_alphabetic()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use secrecy::ExposeSecret as _;

    #[test]
    fn a_key_is_a_variable_a_text_or_a_command() {
        let variable = |name: &str| Some(Written::Variable(name.to_owned()));
        let text = |text: &str| Some(Written::Text(text.to_owned()));
        let home = secrets::var("HOME").unwrap();
        let cases = [
            ("$MY_VAR", variable("MY_VAR"), variable("MY_VAR")),
            ("${MY_VAR}", variable("MY_VAR"), variable("MY_VAR")),
            ("OWN_API_KEY", variable("OWN_API_KEY"), text("OWN_API_KEY")),
            // What tools see anyway is no secret, and a bare word may be one.
            ("$HOME", text(&home), text(&home)),
            ("HOME", text("HOME"), text("HOME")),
            ("EMPTY", text("EMPTY"), text("EMPTY")),
            ("ollama", text("ollama"), text("ollama")),
            ("$5 a day", text("$5 a day"), text("$5 a day")),
            ("Bearer $MY_VAR", None, None),
            ("Bearer ${MY_VAR}", None, None),
            ("!pass show key", None, None),
            ("$OPENAI_API_KEY", None, None),
            ("ANTHROPIC_API_KEY", None, text("ANTHROPIC_API_KEY")),
        ];
        for (word, key, header) in cases {
            assert_eq!(written("own", "its key", word, Bare::Key).ok(), key, "{word}");
            assert_eq!(written("own", "its header x", word, Bare::Header).ok(), header, "{word}");
        }
        let given = json!({"name": "own", "baseUrl": "https://api.own.org", "apiKey": "sk-own", "headers": {"X-Of": "$OWN_PASS", "X-By": "me"}});
        let mut described = Described::default();
        described.take(Path::new("/e.ts"), &given);
        assert_eq!((described.keys[0].0.as_str(), described.keys[0].1.expose_secret()), ("own", "sk-own"));
        let part = described.files[0].part("");
        assert_eq!(part.secret_headers, [("x-of".to_owned(), "OWN_PASS".to_owned())]);
        assert_eq!(part.headers, [("x-by".to_owned(), "me".to_owned())]);
        assert!(described.files[0].key_variables().any(|name| name == "OWN_PASS"));
        described.take(Path::new("/e.ts"), &json!({"name": "other", "baseUrl": "https://a.b", "apiKey": "!pass"}));
        assert!(described.refused.contains_key("other"), "{described:?}");
    }

    #[test]
    fn a_provider_is_read_as_its_file_would_be() {
        let described = json!({"name": "own", "baseUrl": "https://api.own.org/v1/", "apiKey": "OWN_KEY", "api": "openai-completions",
            "authHeader": true, "headers": {"X-Of": "me"}, "streams": false,
            "models": [{"id": "small", "contextWindow": 32000, "maxTokens": 4096, "cost": {"input": 1.5, "output": 3}}, {"id": "big"}]});
        let (file, problems) = file(&described, Path::new("/e.ts")).unwrap();
        let file = file.unwrap();
        assert_eq!(problems, []);
        assert_eq!((file.tool_id.as_str(), file.space), ("own", Space::User));
        let part = file.part("small");
        assert_eq!((part.base.as_deref(), part.window), (Some("https://api.own.org/v1"), Some(32_000)));
        assert_eq!(part.key_variable.as_deref(), Some("OWN_KEY"));
        assert_eq!(
            (part.prices[1].model.as_str(), part.prices[1].input, part.prices[1].max_output),
            ("small", 1.5, Some(4096))
        );
        let models: Vec<&str> = file.models().collect();
        assert!(models.contains(&"small") && models.contains(&"big"), "{models:?}");
        let mut answers = json!({"streams": true, "api": "of-its-own"});
        for field in ["name", "apiKey", "models"] {
            answers[field] = described[field].clone();
        }
        let (own, problems) = super::file(&answers, Path::new("/e.ts")).unwrap();
        assert_eq!((own.unwrap().answered_by, problems), (Some(PathBuf::from("/e.ts")), Vec::new()));
        answers["apiKey"] = Value::Null;
        assert_eq!(super::file(&answers, Path::new("/e.ts")).unwrap().0.unwrap().login, None);
        answers["oauth"] = json!({"name": "Own"});
        let (own, _) = super::file(&answers, Path::new("/e.ts")).unwrap();
        assert_eq!(own.unwrap().login, Some(PathBuf::from("/e.ts")));
        // Of one that is known the login or a header may be all that is said, by pi's name for it.
        let described = |name: &str| json!({"name": name, "headers": {"X-Of": "me"}, "oauth": {"name": "Own"}});
        for (pi, here) in [("anthropic", "anthropic"), ("google", "gemini")] {
            let (known, problems) = super::file(&described(pi), Path::new("/e.ts")).unwrap();
            let known = known.unwrap();
            assert_eq!((known.tool_id.as_str(), known.login.is_some(), problems), (here, true, Vec::new()));
            assert_eq!((&known.part("m").base, known.part("m").form), (&None, None));
        }
        assert!(super::file(&described("elsewhere"), Path::new("/e.ts")).unwrap_err().0.contains("no baseUrl"));
        let described = json!({"name": "own", "baseUrl": "https://api.own.org/v1/", "api": "openai-completions"});
        for (field, value, words) in [("api", json!("other"), "not known"), ("baseUrl", json!(""), "no baseUrl")] {
            let mut wrong = described.clone();
            wrong[field] = value;
            let (message, _) = super::file(&wrong, Path::new("/e.ts")).unwrap_err();
            assert!(message.contains(words), "{message}");
        }
    }
}
