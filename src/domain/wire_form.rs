//! How requests and answers are written on the way to a provider and back.

use serde::{Deserialize, Serialize};

/// A wire form. Which one a request has is decided once, by the provider that encodes it; records and screens name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WireForm {
    /// Anthropic Messages.
    Anthropic,
    /// `OpenAI` Chat Completions, as the vendor takes them.
    #[serde(rename = "openai")]
    OpenAi,
    /// The same, as compatible servers take them: the limit of an answer has its older name.
    Compatible,
    /// `OpenAI` Responses.
    Responses,
    Gemini,
    /// What the code of an extension is given that answers in the place of a server.
    Extension,
}

impl WireForm {
    /// Those in which any request can be looked at.
    pub const ALL: [Self; 5] = [Self::Anthropic, Self::OpenAi, Self::Compatible, Self::Responses, Self::Gemini];

    /// What extensions know it by, which have pi's names.
    #[must_use]
    pub fn name_of_pi(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic-messages",
            Self::OpenAi | Self::Compatible => "openai-completions",
            Self::Responses => "openai-responses",
            Self::Gemini => "google-generative-ai",
            Self::Extension => "extension",
        }
    }

    /// What people call it.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Anthropic => "Anthropic Messages",
            Self::OpenAi => "OpenAI Chat Completions",
            Self::Compatible => "compatible Chat Completions",
            Self::Responses => "OpenAI Responses",
            Self::Gemini => "Gemini",
            Self::Extension => "an extension's own",
        }
    }
}
