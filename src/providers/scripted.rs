//! A provider without a network: answers come from a scenario, a YAML file of replies.
//!
//! `scripted/demo` is in the program, for a first look without a key, `scripted/tools`, which calls tools, and
//! `scripted/bakery`, which answers in the recording; `scripted/PATH.yaml` is a file. Scenarios also stand in for models
//! in tests: they can think, call tools, pause, fail, break off and hang.
//! [`scenario`] says what they are made of.

mod parse;
mod play;
pub mod scenario;

use super::encode;
use crate::domain::WireForm;
use crate::domain::event::CallError;
use crate::ports::{CallRequest, EncodedRequest, Provider, ProviderStream};
use scenario::{Problem, Scenario};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The scenario that people meet first.
pub const DEMO: &str = "demo";

/// The scenarios in the program.
const EMBEDDED: [(&str, &str); 4] = [
    (DEMO, include_str!("../../assets/scenarios/demo.yaml")),
    ("tools", include_str!("../../assets/scenarios/tools.yaml")),
    ("tree", include_str!("../../assets/scenarios/tree.yaml")),
    ("bakery", include_str!("../../assets/scenarios/bakery.yaml")),
];

/// See the module.
#[derive(Clone, Debug)]
pub struct Scripted {
    scenario: Arc<Scenario>,
    problems: Arc<[Problem]>,
}

/// Why a scenario cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error(
        "there is no scenario `{name}`; use scripted/demo, scripted/tools or the path of a file, as in scripted/talk.yaml"
    )]
    Unknown { name: String },
    #[error("could not read the scenario {}: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    #[error("the scenario {} has no reply that works{}", path.display(), first.as_ref().map(|problem| format!(": {problem}")).unwrap_or_default())]
    NoReply { path: PathBuf, first: Option<Problem> },
}

impl Scripted {
    /// The scenario `name`: `demo`, `tools`, `bakery`, or the path of a file, relative to `folder`.
    ///
    /// # Errors
    /// [`LoadError`]. Entries that cannot be read cost only themselves; see [`Scripted::problems`].
    pub fn load(name: &str, folder: &Path) -> Result<Self, LoadError> {
        if let Some((_, text)) = EMBEDDED.iter().find(|(own, _)| *own == name) {
            return Ok(Self::from_text(text));
        }
        let path = Path::new(name);
        if !path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml") {
            return Err(LoadError::Unknown { name: name.to_owned() });
        }
        let path = folder.join(path);
        let text = std::fs::read_to_string(&path).map_err(|source| LoadError::Io { path: path.clone(), source })?;
        let scripted = Self::from_text(&text);
        for problem in scripted.problems.iter() {
            tracing::warn!(path = %path.display(), %problem, "scenario");
        }
        if scripted.scenario.replies.is_empty() {
            return Err(LoadError::NoReply { path, first: scripted.problems.first().cloned() });
        }
        Ok(scripted)
    }

    /// The scenario in `text`.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        let (scenario, problems) = Scenario::parse(text);
        Self { scenario: Arc::new(scenario), problems: problems.into() }
    }

    /// What of the file could not be used.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

impl Provider for Scripted {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn endpoint(&self) -> String {
        "none".to_owned()
    }

    /// It is sent nowhere; people see this one.
    fn form(&self) -> WireForm {
        WireForm::Anthropic
    }

    fn encode(&self, request: CallRequest) -> Result<EncodedRequest, CallError> {
        encode::encoded(self.form(), request)
    }

    fn send(&self, request: EncodedRequest) -> ProviderStream {
        play::play(&self.scenario, &request.request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Message;
    use crate::domain::event::{ErrorCategory, StopReason};
    use crate::ports::ProviderEvent;
    use futures_util::StreamExt;

    #[test]
    fn the_embedded_scenarios_have_no_problems() {
        for (name, _) in EMBEDDED {
            assert_eq!(Scripted::load(name, Path::new("")).unwrap().problems(), [], "{name}");
        }
    }

    /// The last item of the demo's answer, and its text.
    async fn demo(prompt: &str, attempt: u32) -> (Result<ProviderEvent, CallError>, String) {
        let messages = vec![Arc::new(Message::user(prompt))];
        let request = CallRequest { model: DEMO.into(), messages, attempt, ..CallRequest::default() };
        let mut text = String::new();
        let mut last = None;
        let mut answer = Scripted::load(DEMO, Path::new("")).unwrap().call(request);
        while let Some(item) = answer.next().await {
            if let Ok(ProviderEvent::Text(piece)) = &item {
                text.push_str(piece);
            }
            last = Some(item);
        }
        (last.unwrap(), text)
    }

    #[tokio::test(start_paused = true)]
    async fn the_demo_does_what_it_promises() {
        for (prompt, word) in [
            ("Hello!", "debugger for context"),
            ("show me code", "```rust"),
            ("think", "changes last"),
            ("long", "end."),
            ("what is love", "OPENAI_BASE_URL"),
        ] {
            let (last, text) = demo(prompt, 1).await;
            assert_eq!(last, Ok(ProviderEvent::Finished(StopReason::EndTurn)), "{prompt}");
            assert!(text.contains(word), "{prompt}: {text}");
        }
        let (cut, _) = demo("cut", 1).await;
        assert!(matches!(cut, Ok(ProviderEvent::Finished(StopReason::Truncated { .. }))));
        let (failed, _) = demo("error", 1).await;
        assert_eq!(failed.unwrap_err().category, ErrorCategory::Transient);
        let (second, text) = demo("error", 2).await;
        assert!(second.is_ok() && text.contains("second try"), "{text}");
    }

    #[test]
    fn errors_say_where_and_what() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("bad.yaml"), "name: x\nreplies:\n  - stepps: []\n").unwrap();
        let error = |name| Scripted::load(name, folder.path()).unwrap_err().to_string();
        assert!(error("demos").contains("scripted/demo"));
        assert!(error("no.yaml").contains("no.yaml"));
        let bad = error("bad.yaml");
        assert!(bad.contains("line 3") && bad.contains("`steps`"), "{bad}");
    }
}
