//! Models as extensions know them, and what they ask of one. They get no key: whose that is calls the model for them.

use super::model_registry::Models;
use crate::domain::{Entry, ModelRef, ThinkingLevel, Tokens, ToolSpec, WireForm};
use crate::engine::driver::ModelRegistry as _;
use crate::pipeline::{Forms, stopped, to_json, used};
use crate::ports::{ModelAnswer, ModelCall};
use crate::providers::ModelInfo;
use crate::providers::thinking::is_known;
use serde_json::{Value, json};

/// What extensions get in the place of a key. Models are called for them, whatever they say it is.
pub(super) const NO_KEY: &str = "levain-keeps-the-key";

/// The window of a model that nobody has described, as pi takes it for its custom models.
const USUAL_WINDOW: Tokens = Tokens(128_000);

/// Providers that pi calls otherwise: by their names here, and by pi's.
const PROVIDERS: [(&str, &str); 1] = [("gemini", "google")];

/// The name here of a provider that pi calls so.
pub(super) fn own(pi: &str) -> &str {
    PROVIDERS.iter().find(|(_, known)| *known == pi).map_or(pi, |(own, _)| own)
}

/// What pi calls a provider.
pub(super) fn of_pi(own: &str) -> &str {
    PROVIDERS.iter().find(|(known, _)| *known == own).map_or(own, |(_, pi)| pi)
}

/// Answers what is asked of models at once; none for other names.
pub(super) fn told(models: &Models, name: &str, arguments: &Value) -> Option<Value> {
    let named = || {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str);
        Some(ModelRef::new(own(text("provider")?), text("id")?))
    };
    let listed = || models.named().into_iter().filter_map(|(name, _)| name.parse::<ModelRef>().ok());
    let may_ask = |model: &ModelRef| models.missing(model).is_none();
    Some(match name {
        "model.list" => listed().map(|model| described(models, &model)).collect(),
        "model.available" => listed().filter(may_ask).map(|model| described(models, &model)).collect(),
        "model.find" => {
            let known = |model: &ModelRef| listed().any(|other| other == *model) || may_ask(model);
            named().filter(known).map_or(Value::Null, |model| described(models, &model))
        }
        "model.hasKey" => {
            let provider = own(arguments.get("provider").and_then(Value::as_str).unwrap_or_default());
            listed().filter(|model| model.provider == provider).any(|model| may_ask(&model)).into()
        }
        "model.providerCount" => {
            let mut providers: Vec<String> = listed().filter(may_ask).map(|model| model.provider).collect();
            providers.sort();
            providers.dedup();
            providers.len().into()
        }
        _ => return None,
    })
}

/// What stands in the place of the key for a model; none where it cannot be asked.
pub(super) fn key(models: &Models, arguments: &Value) -> Value {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let provider = own(text("provider").unwrap_or_default());
    let may_ask = match text("model") {
        Some(id) => models.missing(&ModelRef::new(provider, id)).is_none(),
        None => told(models, "model.hasKey", arguments).is_some_and(|has| has == true),
    };
    if may_ask { NO_KEY.into() } else { Value::Null }
}

/// Where a model is asked, without what its wire form adds, as pi writes it; empty where that is nowhere, or cannot be said.
fn base(models: &Models, model: &ModelRef) -> String {
    let endpoint = models.provider(model).map(|provider| provider.endpoint()).unwrap_or_default();
    let ends = match models.form(model) {
        WireForm::Anthropic => "/v1/messages",
        WireForm::OpenAi | WireForm::Compatible => "/chat/completions",
        WireForm::Responses => "/responses",
        WireForm::Gemini => "/models",
        WireForm::Extension => return String::new(),
    };
    if endpoint.starts_with("http") { endpoint.trim_end_matches(ends).to_owned() } else { String::new() }
}

/// As pi describes a model. Prices are dollars for a million tokens.
pub(super) fn described(models: &Models, model: &ModelRef) -> Value {
    let info = models.catalog().lookup(model);
    let [input, output, read, write] = info.as_ref().and_then(ModelInfo::dollars).unwrap_or_default();
    let thinks = info.as_ref().and_then(ModelInfo::thinks);
    let kinds: &[&str] = if models.takes_images(model) { &["text", "image"] } else { &["text"] };
    json!({
        "provider": of_pi(&model.provider), "id": model.model, "name": model.model, "api": models.form(model).name_of_pi(),
        "baseUrl": base(models, model), "contextWindow": models.window(model).unwrap_or(USUAL_WINDOW), "maxTokens": models.max_output(model), "input": kinds,
        "reasoning": thinks.unwrap_or_else(|| is_known(models.form(model), &model.model)),
        "cost": {"input": input, "output": output, "cacheRead": read, "cacheWrite": write},
    })
}

/// A level as pi calls it, which knows one more above the highest.
pub(super) fn level(word: &str) -> Option<ThinkingLevel> {
    if word == "max" { Some(ThinkingLevel::Xhigh) } else { word.parse().ok() }
}

/// The call that `llm.stream` asks for.
pub(super) fn call(from: String, arguments: &Value) -> Option<ModelCall> {
    let text = |at: &str| arguments.pointer(at).and_then(Value::as_str);
    let list = |at: &str| arguments.pointer(at).and_then(Value::as_array).cloned().unwrap_or_default();
    let tool = |tool: &Value| {
        let text = |name: &str| tool.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let schema = tool.get("parameters").cloned().unwrap_or_else(|| json!({"type": "object"}));
        ToolSpec { name: text("name"), description: text("description"), schema }
    };
    Some(ModelCall {
        from,
        model: ModelRef::new(own(text("/model/provider")?), text("/model/id")?)
            .with_thinking(text("/options/reasoning").and_then(level)),
        system: text("/context/systemPrompt").unwrap_or_default().to_owned(),
        messages: list("/context/messages"),
        tools: list("/context/tools").iter().map(tool).collect(),
        most_output: arguments.pointer("/options/maxTokens").and_then(Value::as_u64),
        within: None,
    })
}

/// Its answer as a message of pi.
pub(super) fn answered(answer: ModelAnswer, at: u64) -> Value {
    let ModelAnswer { message, stop, usage, spend, model } = answer;
    let mut told = to_json(&[Entry::new(message)], &Forms::default())
        .pop()
        .unwrap_or_else(|| json!({"role": "assistant", "content": []}));
    told["provider"] = of_pi(&model.provider).into();
    told["model"] = model.model.into();
    told["stopReason"] = stopped(&stop).into();
    told["usage"] = used(&usage, spend);
    told["timestamp"] = at.into();
    told
}
