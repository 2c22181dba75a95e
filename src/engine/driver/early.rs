//! Calls that begin while their answer still arrives.
//!
//! A call runs early where its outcome cannot differ from what it would be later: it only looks, as do all calls before it, and its tool
//! leaves nothing behind (`may_begin_early`); it is granted; nobody is asked about it, and no handler sees it first. The thread knows
//! nothing of it. When the answer is whole the call is judged as ever, and what runs already is taken for it, if it is still the same
//! call. Of an answer that is not whole, and when the thread rests, what began is dropped.

use super::Audience;
use super::ready::Purpose;
use super::run::Driver;
use super::tools::{RunningTool, Terms};
use crate::domain::stage::Stage;
use crate::domain::{Event, ToolCall, ToolEvent};
use crate::engine::thread::Phase;
use crate::ports::tools::Isolation;

impl<A: Audience> Driver<A> {
    /// Begins those calls of the answer so far that may.
    pub(super) async fn begin_early(&mut self) {
        while !self.early.over {
            let answering = self.call.as_ref().filter(|call| call.purpose == Purpose::Answer);
            let next = answering.and_then(|call| call.answer.call_before_another(self.early.seen));
            let Some(call) = next.filter(|_| matches!(self.thread.phase, Phase::Calling { .. })) else { return };
            self.early.seen += 1;
            self.early.over = !self.began(call).await;
        }
    }

    /// Begins `call` if it may; whether it has begun.
    async fn began(&mut self, call: ToolCall) -> bool {
        if self.has(Stage::ToolCall) {
            return false;
        }
        let starts = self.judge(&call, true).await;
        let Some(Event::Tool(ToolEvent::ToolCallStart { item: Some(item), confined, .. })) = starts else {
            return false;
        };
        if !self.settings.tools.may_begin_early(&item) {
            return false;
        }
        let (call_id, input) = (call.call_id.clone(), call.input.clone());
        self.emit(Event::Tool(ToolEvent::ToolCallEarly { call_id, item: item.clone(), input })).await;
        if self.blocked.is_some() || self.call.is_none() {
            return false;
        }
        let isolation = if confined { Isolation::Sandbox } else { Isolation::Open };
        let terms = Terms { preview: None, isolation, within_ms: None };
        let tool = RunningTool::start(self.settings.tools.clone(), call.clone(), item, terms);
        self.early.push(call, isolation, tool);
        true
    }
}
