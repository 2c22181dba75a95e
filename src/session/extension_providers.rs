//! Providers that the person's own extensions register: where a model is asked, with which key, what it costs.
//!
//! Whether a model can be asked is told before any thread runs, so what extensions register is kept in a cache, by how their
//! files were: code runs for it only where a file that speaks of providers is new or was changed. As with provider files, a
//! project says nothing of addresses and keys: only extensions of the person's own folders and of the command line count.

use super::extension_models::own;
use super::extensions::{Extensions, Registered};
use crate::domain::{Problem, Severity, Space};
use crate::ports::private_file::PrivateFile;
use crate::providers::ProviderFile;
use crate::providers::keys::VARIABLES;
use crate::providers::known::known;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// What a file that registers some calls.
const CALL: &[u8] = b"registerProvider";

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

/// Keeps what an extension registered while a thread ran, or that it took it back (without `config`): that counts for whatever
/// starts from then on. True where it was not known so.
///
/// # Errors
/// Why it does not count.
pub(super) fn register(
    extensions: &Extensions,
    cache: &Path,
    path: &Path,
    (name, config): (&str, Option<&Value>),
) -> Result<bool, String> {
    let found = extensions.found();
    // They share an engine, so nobody can tell who says it.
    if let Some(other) = found.iter().find(|one| one.of_project) {
        return Err(format!(
            "{} of this project may run beside it, and a project sets no address and no key",
            other.name
        ));
    }
    if !found.iter().any(|one| one.path == path) {
        return Err("its file is none of your extensions".to_owned());
    }
    let described = match config {
        Some(Value::Object(config)) if config.get("oauth").is_some_and(Value::is_object) => {
            return Err("its login is known only where it is registered at load".to_owned());
        }
        Some(Value::Object(config)) => {
            let mut described = config.clone();
            described.insert("name".to_owned(), name.into());
            described.insert("path".to_owned(), path.display().to_string().into());
            // Each engine counts them anew.
            described.remove("extension");
            let described = Value::Object(described);
            let (_, problems) = file(&described, path).map_err(|(message, remedy)| format!("{message}; {remedy}"))?;
            if let Some(problem) = problems.first() {
                return Err(problem.message.clone());
            }
            Some(described)
        }
        Some(_) => return Err("it is described by no object".to_owned()),
        None => None,
    };
    let mut all = Cache::read(cache);
    let now = stamp(path);
    let known = all.0.get_mut(path).filter(|known| Some((known.bytes, known.modified)) == now);
    let Some(known) = known else {
        return Err("its file was changed, or says registerProvider nowhere: start again".to_owned());
    };
    let of_name = |one: &Value| one.get("name").is_some_and(|other| other == name);
    if described.as_ref() == known.providers.iter().find(|one| of_name(one)) {
        return Ok(false);
    }
    known.providers.retain(|one| !of_name(one));
    if described.is_some() && known.providers.len() >= MOST {
        return Err(format!("its file has {MOST} others"));
    }
    known.providers.extend(described);
    all.keep(cache).map_err(|error| format!("{} could not be written: {error}", cache.display()))?;
    Ok(true)
}

/// The providers of the person's own extensions, and what is wrong with them. Each mistake costs its provider.
pub(super) fn files(extensions: &Extensions, cache: &Path) -> (Vec<ProviderFile>, Vec<Problem>) {
    let own = extensions.found().into_iter().filter(|one| !one.of_project).map(|one| one.path);
    let own: Vec<PathBuf> = own.filter(|path| speaks_of_them(path)).collect();
    if own.is_empty() {
        return (Vec::new(), Vec::new());
    }
    let before = Cache::read(cache);
    let (mut now, mut problems) = (BTreeMap::new(), Vec::new());
    let mut unknown = Vec::new();
    for path in &own {
        let (path, Some((bytes, modified))) = (path.clone(), stamp(path)) else { continue };
        match before.0.get(&path).filter(|known| (known.bytes, known.modified) == (bytes, modified)) {
            Some(known) => {
                now.insert(path, known.clone());
            }
            None => unknown.push((path, bytes, modified)),
        }
    }
    if !unknown.is_empty() {
        match extensions.registered_by(unknown.iter().map(|(path, ..)| path.clone()).collect()) {
            Ok(Registered { providers: mut all, failed, .. }) => {
                // They are asked again the next time, so that it is told for as long as it is so.
                unknown.retain(|(path, ..)| !failed.iter().any(|(other, _)| other == path));
                for (path, why) in failed {
                    problems.push(problem(
                        &path,
                        &format!("its providers are not known: {why}"),
                        "see levain extensions",
                    ));
                }
                for (path, bytes, modified) in unknown {
                    let of_file = |one: &Value| one.get("path").and_then(Value::as_str).map(Path::new) == Some(&*path);
                    let (providers, rest) = all.into_iter().partition(of_file);
                    all = rest;
                    now.insert(path, Known { bytes, modified, providers });
                }
            }
            Err(why) => {
                let (path, ..) = &unknown[0];
                problems.push(problem(path, &format!("its providers are not known: {why}"), "see levain extensions"));
            }
        }
    }
    // What others load stays: of two that run at once each would else have the other read its files again.
    let is_other =
        |(path, known): &(&PathBuf, &Known)| !own.contains(path) && stamp(path) == Some((known.bytes, known.modified));
    let others = before.0.iter().filter(is_other).map(|(path, known)| (path.clone(), known.clone()));
    let all = Cache(now.clone().into_iter().chain(others).collect());
    if all != before
        && let Err(error) = all.keep(cache)
    {
        // They are asked again the next time.
        tracing::warn!(%error, "the cache of providers of extensions");
    }
    let mut files = Vec::new();
    for (path, known) in now {
        for described in known.providers {
            match file(&described, &path) {
                Ok((file, mut mistakes)) => {
                    files.extend(file);
                    problems.append(&mut mistakes);
                }
                Err((message, remedy)) => problems.push(problem(&path, &message, remedy)),
            }
        }
    }
    (files, problems)
}

fn problem(path: &Path, message: &str, remedy: &str) -> Problem {
    Problem::at(path, 1, Severity::Warning, message, remedy)
}

fn speaks_of_them(path: &Path) -> bool {
    fs::read(path).is_ok_and(|text| text.windows(CALL.len()).any(|part| part == CALL))
}

fn stamp(path: &Path) -> Option<(u64, u128)> {
    let meta = path.metadata().ok()?;
    let modified = meta.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some((meta.len(), modified.as_millis()))
}

/// A provider file as it was read.
type Read = (Option<ProviderFile>, Vec<Problem>);

/// A provider as a provider file says it.
fn file(described: &Value, path: &Path) -> Result<Read, (String, &'static str)> {
    let text = |name: &str| described.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let name = own(text("name").unwrap_or_default());
    let streams = described.get("streams").and_then(Value::as_bool).unwrap_or_default();
    let signs_in = described.get("oauth").is_some_and(Value::is_object);
    // Where its own code answers, it alone knows where and how.
    let place = if streams { None } else { Some(place(name, text("api"), text("baseUrl"))?) };
    let mut auth = Map::new();
    if let Some(variable) = text("apiKey").filter(|key| is_variable(key)) {
        let of_another = |(vendor, names): &&(&str, &[&str])| *vendor != name && names.contains(&variable);
        if let Some((vendor, _)) = VARIABLES.iter().find(of_another) {
            let message = format!("the provider {name} wants {variable}, which is the key of {vendor}");
            return Err((message, "give it a variable of its own"));
        }
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
        profiles.insert(id.to_owned(), profile);
    }
    let headers = described.get("headers").cloned().filter(Value::is_object).unwrap_or_else(|| json!({}));
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

/// Whether a word is the name of a variable that holds a key, and not a key or a stand-in for one (`EMPTY`).
fn is_variable(word: &str) -> bool {
    let fits = |letter: char| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_';
    word.chars().all(fits) && ["KEY", "TOKEN", "SECRET"].iter().any(|part| word.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

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
