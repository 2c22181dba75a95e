//! One call to a model, as a stream of events.
//!
//! A provider turns an assembled request into its own wire form and the answer into [`ProviderEvent`]s. It keeps no
//! state between calls, retries nothing (the engine decides that) and closes its connection when the stream is dropped.

use crate::domain::event::{CallError, StopReason};
use crate::domain::{
    CallId, ContentHash, HeaderEdits, Message, OpenHeaders, SentBody, ThinkingLevel, Tokens, ToolSpec, Usage, WireForm,
};
use futures_util::stream::{self, Stream};
use std::collections::BTreeMap;
use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::{Arc, Mutex};

/// What to ask: the assembled texts and the settings of the call.
#[derive(Clone, Debug, Default)]
pub struct CallRequest {
    /// The model's own name, without the provider.
    pub model: String,
    /// How much it thinks; as its provider does it by itself without.
    pub thinking: Option<ThinkingLevel>,
    pub system: String,
    pub messages: Vec<Arc<Message>>,
    /// The tools the model may call.
    pub tools: Vec<ToolSpec>,
    /// The bytes of the images in `messages`. The model is told of one that is missing here.
    pub images: Arc<BTreeMap<ContentHash, Vec<u8>>>,
    pub max_output_tokens: u64,
    /// 1 for the first try of a turn. Only the scripted provider looks at it.
    pub attempt: u32,
}

impl CallRequest {
    /// A number for a call without an id, higher than any such number in the conversation.
    #[must_use]
    pub fn next_call(&self) -> usize {
        let number =
            |id: &str| id.rsplit(|letter: char| !letter.is_ascii_digit()).next().and_then(|end| end.parse().ok());
        let numbers =
            self.messages.iter().flat_map(|message| message.calls()).filter_map(|call| number(&call.call_id.0));
        numbers.max().map_or(0, |highest: usize| highest.saturating_add(1)).max(self.calls())
    }

    /// How many calls of tools were made so far.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.messages.iter().map(|message| message.calls().count()).sum()
    }
}

/// A request in the bytes of its wire form, ready to be sent.
#[derive(Clone, Debug)]
pub struct EncodedRequest {
    /// What it was made from; whoever reads the answer looks at it.
    pub request: Arc<CallRequest>,
    pub form: WireForm,
    /// The body, as it goes over the wire.
    pub body: Vec<u8>,
    pub options: HttpOptions,
}

/// What goes with a request beside its body, where it goes over HTTP.
#[derive(Clone, Debug, Default)]
pub struct HttpOptions {
    /// What handlers made of its headers.
    pub headers: HeaderEdits,
    /// Who wants to know how the provider begins to answer.
    pub watch: Option<ResponseWatch>,
}

/// How a provider began to answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponseHead {
    /// Of HTTP.
    pub status: u16,
    /// By their names in small letters; none that holds a key or a cookie.
    pub headers: BTreeMap<String, String>,
}

/// Where it is left by whoever sends, until it is taken.
pub type ResponseWatch = Arc<Mutex<Option<ResponseHead>>>;

impl EncodedRequest {
    /// What the record of the request says of it.
    #[must_use]
    pub fn sent(&self) -> SentBody {
        SentBody { form: self.form, hash: ContentHash::of(&self.body), length: self.body.len() as u64, body: None }
    }
}

/// A piece of an answer. A stream is zero or more pieces and then exactly one `Finished`, or an error.
#[derive(Clone, Debug, PartialEq)]
pub enum ProviderEvent {
    Text(String),
    Thinking(String),
    /// Closes the thinking block before it with the provider's signature.
    ThinkingSignature(String),
    /// A whole thinking block that came encrypted.
    RedactedThinking(String),
    ToolCallStarted {
        index: u32,
        call_id: CallId,
        tool: String,
    },
    /// More of the arguments of call `index`, a piece of JSON text.
    ToolInput {
        index: u32,
        partial_json: String,
    },
    /// What has been used so far; later values replace earlier ones.
    Usage(Usage),
    /// The provider's end marker has arrived.
    Finished(StopReason),
}

/// An answer under way. Ends after `Finished` or after an error; dropping it closes the connection.
pub type ProviderStream = Pin<Box<dyn Stream<Item = Result<ProviderEvent, CallError>> + Send>>;

/// A count of tokens under way.
pub type Counting = Pin<Box<dyn Future<Output = Result<Tokens, CallError>> + Send>>;

/// A place where models answer.
pub trait Provider: Send + Sync {
    /// The name before the slash in `provider/model`.
    fn name(&self) -> &str;

    /// Where it is reached, for the request record; never holds a key.
    fn endpoint(&self) -> String;

    /// The headers that somebody wrote for requests to it.
    fn headers(&self) -> OpenHeaders {
        OpenHeaders::default()
    }

    /// Asks how many tokens `request` is, without answering it. None where there is no way to ask.
    fn count(&self, _request: CallRequest) -> Option<Counting> {
        None
    }

    /// The wire form in which it is asked.
    fn form(&self) -> WireForm;

    /// Writes `request` as it is sent. Reads and asks nothing: the same request gives the same bytes.
    ///
    /// # Errors
    /// [`CallError`] when it cannot be written.
    fn encode(&self, request: CallRequest) -> Result<EncodedRequest, CallError>;

    /// Starts a call. Failures before the first byte are the stream's first item.
    fn send(&self, request: EncodedRequest) -> ProviderStream;

    /// [`Provider::encode`] and [`Provider::send`].
    fn call(&self, request: CallRequest) -> ProviderStream {
        match self.encode(request) {
            Ok(request) => self.send(request),
            Err(error) => Box::pin(stream::once(ready(Err(error)))),
        }
    }
}
