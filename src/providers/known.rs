//! The providers this program knows by name: wire form, address, and the variables that say otherwise.

use crate::domain::WireForm;

/// A provider with a name of its own.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// What stands before the slash in `provider/model`.
    pub name: &'static str,
    pub form: WireForm,
    /// Where it answers unless told otherwise.
    pub base: &'static str,
    /// The variable that tells another address.
    pub variable: &'static str,
    /// Under which name its key is kept.
    pub key: &'static str,
    pub place: Place,
}

/// Where a provider runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At a vendor, who wants a key.
    Vendor,
    /// On this machine, without a key and a price.
    Local,
}

/// All of them. A local server speaks Chat Completions, whatever else it speaks.
pub const KNOWN: [Known; 8] = [
    vendor("anthropic", WireForm::Anthropic, "https://api.anthropic.com", "ANTHROPIC_BASE_URL", "anthropic"),
    vendor("openai", WireForm::OpenAi, "https://api.openai.com/v1", "OPENAI_BASE_URL", "openai"),
    vendor("openai-responses", WireForm::Responses, "https://api.openai.com/v1", "OPENAI_BASE_URL", "openai"),
    vendor("gemini", WireForm::Gemini, "https://generativelanguage.googleapis.com", "GOOGLE_GEMINI_BASE_URL", "gemini"),
    local("ollama", "http://127.0.0.1:11434/v1", "OLLAMA_BASE_URL"),
    local("lmstudio", "http://127.0.0.1:1234/v1", "LMSTUDIO_BASE_URL"),
    local("llamacpp", "http://127.0.0.1:8080/v1", "LLAMACPP_BASE_URL"),
    local("vllm", "http://127.0.0.1:8000/v1", "VLLM_BASE_URL"),
];

const fn vendor(
    name: &'static str,
    form: WireForm,
    base: &'static str,
    variable: &'static str,
    key: &'static str,
) -> Known {
    Known { name, form, base, variable, key, place: Place::Vendor }
}

const fn local(name: &'static str, base: &'static str, variable: &'static str) -> Known {
    Known { name, form: WireForm::Compatible, base, variable, key: name, place: Place::Local }
}

/// The provider called `name`.
#[must_use]
pub fn known(name: &str) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.name == name)
}

/// Whether `provider` runs on this machine.
#[must_use]
pub fn is_local(provider: &str) -> bool {
    known(provider).is_some_and(|known| known.place == Place::Local)
}

/// Where Ollama's own variable says that it listens, as an address to ask: `OLLAMA_HOST` is written with or without
/// scheme and port, and may name every address of the machine.
pub(super) fn ollama_host(text: &str) -> String {
    let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
    let host = rest.split('/').next().unwrap_or_default();
    let port_given = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let (name, port) = if port_given { host.rsplit_once(':').unwrap_or((host, "")) } else { (host, "11434") };
    let name = if matches!(name, "0.0.0.0" | "[::]" | "") { "127.0.0.1" } else { name };
    format!("{scheme}://{name}:{port}/v1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ollamas_variable_in_its_forms() {
        for (text, address) in [
            ("127.0.0.1", "http://127.0.0.1:11434/v1"),
            ("0.0.0.0:8000", "http://127.0.0.1:8000/v1"),
            (":8000", "http://127.0.0.1:8000/v1"),
            ("https://box.example:443/", "https://box.example:443/v1"),
            ("[::1]:9", "http://[::1]:9/v1"),
        ] {
            assert_eq!(ollama_host(text), address);
        }
    }
}
