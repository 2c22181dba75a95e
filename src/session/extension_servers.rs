//! Servers for which the code of an extension speaks that answers in their place.

use super::extension_models::NO_KEY;
use super::extension_providers;
use super::model_registry::Models;
use crate::ports::Within;
use crate::tools::request::Hosts;
use serde_json::Value;

/// Whom the code of an extension asks that answers in the place of a server: where its model says, with the key that it was
/// given, and only where extensions may reach that host by name.
///
/// # Errors
/// Why nobody is asked.
pub(super) fn within(models: &Models, hosts: &Hosts, arguments: &Value) -> Result<Within, String> {
    let text = |at: &str| arguments.pointer(at).and_then(Value::as_str).filter(|text| !text.is_empty());
    let (base, form) = extension_providers::place("it", text("/model/api"), text("/model/baseUrl"))
        .map_err(|(what, remedy)| format!("{what}: {remedy}"))?;
    let key = text("/apiKey").filter(|key| *key != NO_KEY);
    let headers = arguments.get("headers").and_then(Value::as_object);
    let headers = headers.into_iter().flatten().filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)));
    let place = (form, base.as_deref().unwrap_or_default());
    models.providers().at(place, key, headers, |host, port| hosts.names(host, port)).map(Within)
}
