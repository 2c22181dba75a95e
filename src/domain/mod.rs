//! Plain values that everything else shares: ids, messages, amounts, events, layers, request records.
//!
//! Nothing here waits, reads a file or asks a clock. Whatever is written to disk or sent over a socket is one of
//! these types, so their serialised names are the file formats (`docs/events.md`, `docs/json.md`).

pub mod amount;
pub mod assembly;
pub mod attachment;
pub mod background;
pub mod bounds;
pub mod budget;
pub mod capability;
pub mod command;
pub mod completing;
pub mod component;
pub mod control;
pub mod conversation;
pub mod custom_message;
pub mod dialog;
pub mod event;
pub mod extension_entry;
pub mod foreground;
pub mod frozen_request;
pub mod headers;
pub mod hook_fields;
pub mod hook_step;
pub mod id;
pub mod image;
pub mod input;
pub mod letters;
pub mod lineage;
pub mod mention;
pub mod message;
pub mod message_facts;
pub mod note;
pub mod outputs;
pub mod pattern;
pub mod persona;
pub mod pipeline;
pub mod policy;
pub mod postmortem;
pub mod preview;
pub mod problem;
pub mod prompt_mode;
pub mod request;
pub mod risk;
pub mod rules;
pub mod session_told;
pub mod stage;
pub mod stage_value;
pub mod state_store;
pub mod status;
pub mod thinking;
pub mod thread_order;
pub mod thread_result;
pub mod timeline;
pub mod title;
pub mod todo;
pub mod tool;
pub mod tree;
pub mod wire_form;

pub use amount::{Money, Tokens, Usage};
pub use assembly::{
    Absence, Assembly, Channel, Decision, Layer, LayerChange, LayerKind, Lifetime, Origin, Piece, Saw, Space,
    TokenCount, Via,
};
pub use attachment::{Attachment, AttachmentKind, ToAttach};
pub use bounds::Bounds;
pub use budget::{Allowance, Balance, Budget, BudgetReport, CallCost, NoSlot, Refusal, Shortage, Slots, Spent};
pub use capability::{Ceiling, Grant, Judgement, Permissions, Verdict};
pub use command::{Approval, Command, Leaving, OfExtensions, OfferedCommand, State, Successor};
pub use completing::{DraftEdit, ExtensionCompletion, OwnCompletion, Suggestion, ToComplete};
pub use component::{
    CustomEntry, Drawable, Drawing, DrawnKinds, Editor, EditorAct, Gesture, Indicator, Look, Looks, NumberedAct,
    NumberedWish, OfferedShortcut, OpenComponent, ScreenSize, Spot, Themes, ToDraw,
};
pub use control::Control;
pub use custom_message::CustomMessage;
pub use dialog::{
    Dialog, DialogReply, Insertion, MoveTo, Moved, NumberedText, OpenDialog, Shown, ShownPlace, Suggested,
};
pub use event::{
    ApprovalEvent, ContextEvent, ControlEvent, Event, PromptEvent, Record, RequestEvent, SettingsEvent, ThreadEvent,
    Timestamp, ToolEvent,
};
pub use extension_entry::ExtensionEntry;
pub use foreground::{Foreground, ForegroundProgram};
pub use frozen_request::{FrozenRequest, FrozenTool, HistoryEdits};
pub use headers::{HeaderEdits, OpenHeaders};
pub use hook_step::{HookCall, HookStep};
pub use id::{CallId, ContentHash, ModelRef, ThreadId};
pub use image::Image;
pub use input::{BadInput, Input, Values};
pub use lineage::{ForkPoint, LimitSource, LimitSources, Lineage, Parent, SetLimits, ThreadOrigin};
pub use mention::Mentions;
pub use message::{Block, Entry, Message, Role, ToolCall, ToolSpec};
pub use message_facts::{AnswerFacts, MessageFacts};
pub use note::{Note, NoteKind};
pub use outputs::Outputs;
pub use persona::Persona;
pub use pipeline::{Step, StepOutcome};
pub use policy::{Policies, Policy, SandboxMode};
pub use preview::{Draft, Preview};
pub use problem::{Problem, Severity, meant, nearest};
pub use request::{MessageRef, RequestRecord, SentBody, ToolRef};
pub use risk::{Classification, Risk, RiskLevel, RiskPolicy, RiskTable, Risks};
pub use rules::{ErrorPattern, FollowUp, Pause, Retry, Rules, Steering, WindowRules};
pub use session_told::{FileOps, SessionTold};
pub use stage::{HandlerPlace, Merge, OnError, Stage};
pub use stage_value::{Messages, StageValue};
pub use state_store::StateStore;
pub use status::{Cost, LimitKind, Limits, Status, ThreadKind, Waiting};
pub use thinking::ThinkingLevel;
pub use thread_order::{Stand, ThreadOrder};
pub use thread_result::{Operation, ResultCost, SearchType, ThreadResult};
pub use todo::TodoList;
pub use tool::KnownTool;
pub use wire_form::WireForm;

/// The directive of a thread where nobody names another.
pub const USUAL_DIRECTIVE: &str = "levain/chat";
