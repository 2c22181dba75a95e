//! Requests as bodies: one function for what is sent, previewed and shown.

use super::openai_chat::LimitName;
use super::{anthropic, gemini, openai_chat, openai_responses};
use crate::domain::WireForm;
use crate::domain::event::CallError;
use crate::ports::{CallRequest, EncodedRequest};
use std::sync::Arc;

/// Writes `request` in a form.
///
/// # Errors
/// [`CallError`] when it cannot be written.
pub fn body(form: WireForm, request: &CallRequest) -> Result<Vec<u8>, CallError> {
    match form {
        WireForm::Anthropic => anthropic::request::body(request),
        WireForm::OpenAi => openai_chat::request::body(request, LimitName::MaxCompletionTokens),
        WireForm::Compatible => openai_chat::request::body(request, LimitName::MaxTokens),
        WireForm::Responses => openai_responses::request::body(request),
        WireForm::Gemini => gemini::request::body(request),
    }
}

/// `request` with its body, for a provider of this form.
pub(super) fn encoded(form: WireForm, request: CallRequest) -> Result<EncodedRequest, CallError> {
    Ok(EncodedRequest { body: body(form, &request)?, form, request: Arc::new(request) })
}
