//! The body of a request without sending it: the same functions write it that write what is sent.

use super::openai_chat::LimitName;
use super::{anthropic, gemini, openai_chat, openai_responses};
use crate::domain::event::CallError;
use crate::ports::CallRequest;

/// The forms a request can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    /// Anthropic Messages.
    Anthropic,
    /// `OpenAI` Chat Completions, as the vendor takes them.
    OpenAi,
    /// The same, as compatible servers take them.
    Compatible,
    /// `OpenAI` Responses.
    Responses,
    Gemini,
}

/// Writes `request` in a form.
///
/// # Errors
/// [`CallError`] when it cannot be written.
pub fn body(form: Form, request: &CallRequest) -> Result<Vec<u8>, CallError> {
    match form {
        Form::Anthropic => anthropic::request::body(request),
        Form::OpenAi => openai_chat::request::body(request, LimitName::MaxCompletionTokens),
        Form::Compatible => openai_chat::request::body(request, LimitName::MaxTokens),
        Form::Responses => openai_responses::request::body(request),
        Form::Gemini => gemini::request::body(request),
    }
}
