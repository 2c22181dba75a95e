//! A request as it is looked at, and the pages that are made about it.

use crate::domain::{Assembly, ModelRef, SentBody, ThreadId, WireForm};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// A request as it is sent, before it takes a provider's form.
#[derive(Clone, Debug, PartialEq)]
pub struct AssembledRequest {
    /// `THREAD#NUMBER`, or what it would be.
    pub name: String,
    pub thread_id: ThreadId,
    pub model: ModelRef,
    pub max_output_tokens: u64,
    /// What went over the wire, where it was sent.
    pub sent: Option<SentBody>,
    /// What handlers would make of the body of one that was not sent.
    pub payload: Option<String>,
    /// With a layer for each tool.
    pub assembly: Assembly,
}

/// What a text is for that `$EDITOR` changes, other than the draft.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditedValue {
    /// The value at a breakpoint.
    Paused,
    /// The layer at this place of the request on the screen, to see what if.
    Layer(usize),
}

/// A request from which layers are taken, or get another text, to see what it would be.
#[derive(Clone, Debug, PartialEq)]
pub struct WhatIf {
    /// As it is.
    pub whole: Arc<AssembledRequest>,
    /// Its number, and those of all requests of the thread.
    pub number: Option<u32>,
    pub numbers: Vec<u32>,
    /// What layers have in the place of their texts, by their places in it; those without a text are left out.
    pub texts: BTreeMap<usize, Option<String>>,
}

/// What a page shows of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum View {
    /// All of its text, with a rule where each layer begins.
    Text,
    /// The body as it goes over the wire; without a form, in the one in which its model is asked.
    Wire(Option<WireForm>),
    /// How it differs from this one.
    Difference(Compared),
}

/// The request that another is compared with.
#[derive(Clone, Debug, PartialEq)]
pub enum Compared {
    Whole(Arc<AssembledRequest>),
    /// One that was sent, by its number.
    Sent {
        thread_id: ThreadId,
        number: u32,
    },
}

/// A page.
#[derive(Clone, Debug, PartialEq)]
pub struct PageContent {
    pub view: View,
    pub title: String,
    pub lines: Vec<SheetLine>,
    /// What copying it gives, where that is something else than its lines.
    pub copy: Option<String>,
    /// Name of the request it is about.
    pub of: String,
}

/// A line before it is wrapped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SheetLine {
    pub text: String,
    pub sort: LineKind,
    /// Bytes of the text that are of another sort, in order and apart.
    pub marks: Vec<(Range<usize>, LineKind)>,
    /// The layer that begins here, by its id.
    pub layer: Option<String>,
}

/// What a piece of a page is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LineKind {
    #[default]
    Plain,
    Muted,
    Heading,
    Added,
    Removed,
    Changed,
    /// The name of a value.
    Name,
    /// A text value.
    Text,
    /// A number, true, false or null.
    Number,
    /// The text of a layer; the next one's is [`Self::OtherLayer`].
    Layer,
    OtherLayer,
}

impl SheetLine {
    #[must_use]
    pub fn new(sort: LineKind, text: impl Into<String>) -> Self {
        Self { text: text.into(), sort, ..Self::default() }
    }
}
