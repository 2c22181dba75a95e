//! The title row and the status line.

use crate::commands::{CommandId, Context};
use crate::domain::Status;
use crate::domain::command::Handling;
use crate::domain::event::PromptMode;
use crate::ui::cells::Canvas;
use crate::ui::theme::Role;
use crate::ui::wrap::columns;
use crate::workbench::completion::Completed;
use crate::workbench::dialog::DialogPanel;
use crate::workbench::geometry::Area;
use crate::workbench::overlay::Overlay;
use crate::workbench::picker::{Picker, PickerKind};
use crate::workbench::pipeline_list::PipelineRow;
use crate::workbench::{Link, Model, Phase};

/// What Enter does to a block from which no thread was started.
const FOLD: &str = "fold";

/// What leads from a list of threads into one of them.
const PEEK: &str = "look into";

/// Where one is: directive, thread, project.
pub(super) fn title(model: &Model, area: Area, canvas: &mut Canvas<'_>) {
    if area.height == 0 {
        return;
    }
    let right = area.x + area.width;
    let thread = model.own_name().unwrap_or("new thread");
    let elsewhere = if model.view.elsewhere { " · from elsewhere" } else { "" };
    let above = breadcrumb(&model.ancestors(), usize::from(area.width / 2));
    let thread = if above.is_empty() { thread.to_owned() } else { shortened(thread, 2 * CRUMB) };
    let short = if above.is_empty() { "" } else { "… › " };
    let room = usize::from(area.width);
    let beside = columns(&model.directive) + 5;
    let lefts = [
        format!("{} · {above}{thread}{elsewhere}", model.project),
        format!("{above}{thread}{elsewhere}"),
        format!("{short}{thread}{elsewhere}"),
    ];
    let fits = lefts.iter().position(|left| beside + columns(left) <= room).unwrap_or(0);
    let left = lefts.get(fits).cloned().unwrap_or_default();
    let directive = columns(&model.directive);
    let x = canvas.put_short(area.x + 1, area.y, right, &model.directive, Role::Title);
    let asks = match model.asks_elsewhere() {
        0 => String::new(),
        1 => "another thread needs approval".to_owned(),
        more => format!("{more} other threads need approval"),
    };
    // Nobody else tells of it where the column of threads has no room.
    let forms = [(asks.as_str(), " · ", left.as_str()), (&asks, "", ""), ("", "", &left)];
    let wide = |(asks, gap, rest): &(&str, &str, &str)| columns(asks) + columns(gap) + columns(rest);
    let skipped = if asks.is_empty() { 2 } else { 0 };
    let fitting = forms.into_iter().skip(skipped).find(|form| directive + wide(form) + 5 <= room);
    if let Some(form @ (asks, gap, rest)) = fitting {
        let start = right - 1 - u16::try_from(wide(&form)).unwrap_or(0);
        let x = canvas.put(start, area.y, right, asks, Role::StatusWarning);
        let x = canvas.put(x, area.y, right, gap, Role::TitleDetail);
        canvas.put(x, area.y, right, rest, Role::TitleDetail);
    } else if x + 6 < right {
        canvas.put_short(x + 2, area.y, right.saturating_sub(1), &thread, Role::TitleDetail);
    }
}

/// The longest name of a thread in the way that leads to another.
const CRUMB: usize = 24;

/// The names of the threads above another, in so many columns at most: those in the middle are left out first.
fn breadcrumb(names: &[String], room: usize) -> String {
    let way = |names: &[&str]| names.iter().fold(String::new(), |way, name| way + &shortened(name, CRUMB) + " › ");
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    let whole = way(&all);
    let ([first, _, .., last], true) = (all.as_slice(), columns(&whole) > room) else { return whole };
    way(&[*first, "…", *last])
}

/// A name in at most so many columns.
fn shortened(name: &str, most: usize) -> String {
    if columns(name) <= most {
        return name.to_owned();
    }
    let mut wide = 0;
    let fits = |letter: &char| {
        wide += columns(letter.encode_utf8(&mut [0; 4]));
        wide < most
    };
    format!("{}…", name.chars().take_while(fits).collect::<String>().trim_end())
}

/// How it stands: the model, what it does, what it has used, and the keys that help now. What has no room is left out
/// from the end, what matters most stands first.
pub(super) fn status(model: &Model, area: Area, canvas: &mut Canvas<'_>) {
    if area.height == 0 {
        return;
    }
    canvas.fill(area, Role::Bar);
    let right = area.x + area.width;
    let start = area.x + u16::from(area.width > 30);
    let mut x = start;
    let hints = hints(model);
    // The first key has room before figures do, and those of a list have it: how to choose, and how to leave.
    let most = if model.overlay.is_some() { 3 } else { 1 };
    let first: usize = hints.iter().take(most).map(|(key, title)| columns(key) + columns(title) + 4).sum();
    let end = right.saturating_sub(u16::try_from(first).unwrap_or(0));
    for (index, (text, role)) in parts(model).into_iter().enumerate() {
        let gap = if index == 0 { "" } else { " · " };
        let needed = u16::try_from(columns(gap) + columns(&text)).unwrap_or(u16::MAX);
        if index > 0 && x.saturating_add(needed) > if index > 1 { end } else { right } {
            continue;
        }
        x = canvas.put(x, area.y, right, gap, Role::Bar);
        x = canvas.put_short(x, area.y, right, &text, role);
    }
    for (key, title) in hints {
        let gap = " · ";
        let needed = u16::try_from(columns(gap) + columns(&key) + 1 + columns(title)).unwrap_or(u16::MAX);
        if x.saturating_add(needed) > right {
            break;
        }
        x = canvas.put(x, area.y, right, if x > start { gap } else { "" }, Role::Bar);
        x = canvas.put(x, area.y, right, &key, Role::BarKey);
        x = canvas.put(x, area.y, right, " ", Role::Bar);
        x = canvas.put(x, area.y, right, title, Role::Bar);
    }
}

fn parts(model: &Model) -> Vec<(String, Role)> {
    let mut parts = Vec::new();
    if model.leaving_seconds > 0 {
        let key = model.keymap.key_for(CommandId::AppLeave, &[Context::Anywhere]);
        let key = key.map(|key| key.to_string()).unwrap_or_default();
        parts.push((format!("press {key} again to leave"), Role::BarWarning));
    }
    if model.view.reading.is_some() {
        // What helps now needs the room.
        parts.push(("reading".to_owned(), Role::BarWarning));
        return parts;
    }
    let looks = model.shows_request();
    // Who looks at a request needs the keys more than to be told that nothing happens.
    parts.extend(doing(model).filter(|_| !looks || model.view.is_working()));
    if looks {
        return parts;
    }
    parts.push((model.model.short(), Role::BarWord));
    if model.model_is_scripted {
        let words = if model.size.0 >= 100 { "scripted: no model is called" } else { "scripted" };
        parts.push((words.to_owned(), Role::BarWarning));
    }
    let queued = model.view.queued().count();
    if queued > 0 {
        parts.push((format!("{queued} queued"), Role::BarWord));
    }
    if let Some(state) = &model.view.state {
        if state.context.0 > 0 {
            let share = match state.window.and_then(|window| Some((window, state.context.percent_of(window)?))) {
                Some((window, percent)) => {
                    let window = window.to_string().replace(".0", "");
                    format!("~{}/{window} · {percent}%", state.context)
                }
                None => format!("~{} tokens", state.context),
            };
            parts.push((share, Role::BarWord));
        }
        if state.cost.turns > 0 {
            let more = if state.cost.unpriced { "+?" } else { "" };
            parts.push((format!("{}{more}", state.cost.spend), Role::BarWord));
        }
    }
    if model.size.0 >= 100 {
        parts.push((model.directive.clone(), Role::Bar));
    }
    parts
}

/// What the thread does, with a letter that tells it without colour.
fn doing(model: &Model) -> Option<(String, Role)> {
    let seconds = model.view.activity.seconds;
    let time = if seconds == 0 { String::new() } else { format!(" {seconds} s") };
    let marked = |mark: &str, word: &str| {
        let mark = if mark.is_empty() { String::new() } else { format!("{mark} ") };
        Some((format!("{mark}{word}{time}"), Role::ThreadRunning))
    };
    let working = |word: &str| marked("●", word);
    let waiting = |word: &str| {
        let word = model.working_message().unwrap_or_else(|| word.to_owned());
        if model.hides_working() { None } else { marked(model.working_mark(), &word) }
    };
    if let Some(Handling { stage, handler, paused, .. }) = model.view.handling() {
        if paused.is_some() {
            return Some((format!("○ paused before {handler} ({stage}): /go"), Role::BarWarning));
        }
        return working(&format!("{handler} ({stage})"));
    }
    match &model.view.activity.phase {
        Phase::Idle => match model.view.link {
            Link::Opening => Some(("○ opening".to_owned(), Role::ThreadWaiting)),
            Link::Resting => {
                let word = model.view.state.as_ref().map_or("idle", |state| state.status.told(state.waiting));
                Some((format!("○ {word}"), Role::ThreadDone))
            }
            Link::Connected if model.view.state.as_ref().is_some_and(|state| state.status == Status::Suspended) => {
                Some(("○ suspended".to_owned(), Role::BarWarning))
            }
            Link::Draft | Link::Starting | Link::Reviving | Link::Connected => None,
        },
        Phase::Sending if model.view.link != Link::Connected => working("starting"),
        Phase::Sending => working("sending"),
        Phase::Asking => waiting("waiting"),
        Phase::Thinking => waiting("thinking"),
        Phase::Writing => waiting("streaming"),
        Phase::Tool(name) => working(name),
        Phase::Approval => Some(("○ waiting for approval".to_owned(), Role::BarWarning)),
        Phase::Retrying { seconds } => Some((format!("○ retry in {seconds} s"), Role::ThreadWaiting)),
        Phase::Cancelling => Some((format!("■ stopping{time}"), Role::ThreadWaiting)),
    }
}

/// The keys that matter while a request is looked at.
fn request_hints(model: &Model, overlay: &Overlay) -> &'static [(CommandId, &'static str)] {
    match overlay {
        Overlay::Picker(picker) if picker.filtering => {
            &[(CommandId::ListAccept, "keep"), (CommandId::ListClose, "close")]
        }
        Overlay::Picker(_) if model.is_as_if() => &[
            (CommandId::LayerWhatIf, "put back"),
            (CommandId::LayerFork, "send in a fork"),
            (CommandId::LayerEdit, "edit"),
            (CommandId::RequestDifference, "diff"),
            (CommandId::RequestText, "text"),
            (CommandId::RequestWire, "wire"),
            (CommandId::ListClose, "close"),
        ],
        Overlay::Picker(_) if model.shows_preview() => &[
            (CommandId::RequestSend, "send"),
            (CommandId::RequestEdit, "edit"),
            (CommandId::RequestDrop, "drop"),
            (CommandId::RequestText, "text"),
            (CommandId::RequestWire, "wire"),
            (CommandId::RequestDifference, "diff"),
            (CommandId::LayerNextOut, "left out"),
            (CommandId::LayerOpen, "open"),
            (CommandId::HelpShow, "all keys"),
            (CommandId::ContextEarlier, "before"),
            (CommandId::LayerWhatIf, "what if"),
            (CommandId::LayerAsked, "asked by"),
            (CommandId::RequestMark, "mark"),
            (CommandId::LayerCopy, "copy"),
            (CommandId::PreviewDown, "scroll"),
        ],
        Overlay::Picker(_) | Overlay::Pager(_) | Overlay::Form(_) | Overlay::Dialog(_) | Overlay::Component(_) => &[
            (CommandId::ContextEarlier, "before"),
            (CommandId::ContextLater, "after"),
            (CommandId::RequestText, "text"),
            (CommandId::RequestWire, "wire"),
            (CommandId::RequestDifference, "diff"),
            (CommandId::LayerNextOut, "left out"),
            (CommandId::RequestMark, "mark"),
            (CommandId::LayerOpen, "open"),
            (CommandId::HelpShow, "all keys"),
            (CommandId::ListClose, "close"),
            (CommandId::LayerWhatIf, "what if"),
            (CommandId::LayerBisect, "find the layer"),
            (CommandId::LayerAsked, "asked by"),
            (CommandId::PreviewDown, "scroll"),
            (CommandId::LayerCopy, "copy"),
        ],
        Overlay::RequestPage(sheet) if sheet.is_searching() => {
            &[(CommandId::SearchAccept, "keep"), (CommandId::SearchDrop, "give up")]
        }
        Overlay::RequestPage(sheet) if sheet.search.is_some() => &[
            (CommandId::SearchNext, "next match"),
            (CommandId::SearchPrevious, "previous"),
            (CommandId::SearchStart, "search"),
            (CommandId::ListClose, "layers"),
            (CommandId::SheetCopy, "copy"),
        ],
        Overlay::RequestPage(_) => &[
            (CommandId::ListClose, "layers"),
            (CommandId::RequestWire, "wire"),
            (CommandId::RequestText, "text"),
            (CommandId::RequestDifference, "diff"),
            (CommandId::SheetNext, "next"),
            (CommandId::SearchStart, "search"),
            (CommandId::ContextEarlier, "before"),
            (CommandId::ContextLater, "after"),
            (CommandId::SheetCopy, "copy"),
        ],
    }
}

/// The keys that matter while a word can be completed.
fn completion_hints(model: &Model) -> &'static [(CommandId, &'static str)] {
    match model.completion.chosen() {
        Some(Completed::Offered(_)) if model.completion.is_only_offered() => {
            &[(CommandId::ListAccept, "send"), (CommandId::CompletionAccept, "insert"), (CommandId::ListClose, "close")]
        }
        Some(Completed::Offered(_)) => &[(CommandId::ListAccept, "insert"), (CommandId::ListClose, "close")],
        Some(Completed::File(_) | Completed::Thread { .. } | Completed::Prompt(_)) => {
            &[(CommandId::ListAccept, "insert"), (CommandId::ListClose, "close")]
        }
        Some(Completed::Command(_)) if model.completes() => &[
            (CommandId::ListAccept, "run"),
            (CommandId::CompletionAccept, "complete"),
            (CommandId::ListClose, "close"),
        ],
        Some(Completed::Command(_)) | None => &[(CommandId::ListAccept, "complete"), (CommandId::ListClose, "close")],
    }
}

/// The keys that matter while an extension asks.
fn dialog_hints(panel: &DialogPanel) -> &'static [(CommandId, &'static str)] {
    if panel.options().is_some() {
        return &[(CommandId::ListAccept, "answer"), (CommandId::ListDown, "next"), (CommandId::ListClose, "dismiss")];
    }
    &[(CommandId::FormStart, "answer"), (CommandId::EditNewline, "new line"), (CommandId::ListClose, "dismiss")]
}

/// The keys that matter in the list of what is queued.
const QUEUE_HINTS: &[(CommandId, &str)] = &[
    (CommandId::ListAccept, "edit"),
    (CommandId::QueueUp, "earlier"),
    (CommandId::QueueDown, "later"),
    (CommandId::QueueDrop, "withdraw"),
    (CommandId::ListClose, "close"),
];

/// The keys that matter in another list.
fn list_hints(model: &Model, picker: &Picker) -> &'static [(CommandId, &'static str)] {
    match picker.kind {
        PickerKind::Queue if !picker.filtering => QUEUE_HINTS,
        PickerKind::Pipeline if picker.filtering => &[(CommandId::ListAccept, "keep"), (CommandId::ListClose, "close")],
        PickerKind::Pipeline => step_hints(model),
        PickerKind::Conversation if !picker.filtering && picker.naming.is_none() => CONVERSATION_HINTS,
        PickerKind::Palette
        | PickerKind::Models
        | PickerKind::Threads
        | PickerKind::Thinking
        | PickerKind::Themes
        | PickerKind::History
        | PickerKind::Directives
        | PickerKind::Items
        | PickerKind::Queue
        | PickerKind::Layers
        | PickerKind::Changes
        | PickerKind::Trust
        | PickerKind::Conversation
        | PickerKind::Bisect => &[(CommandId::ListAccept, "choose"), (CommandId::ListClose, "close")],
    }
}

/// The keys that matter in the list of handlers.
fn step_hints(model: &Model) -> &'static [(CommandId, &'static str)] {
    match model.chosen_step() {
        Some(PipelineRow::Paused) => &[
            (CommandId::StepGo, "continue"),
            (CommandId::StepNext, "next"),
            (CommandId::StepOpen, "edit the value"),
            (CommandId::StepSkip, "skip"),
            (CommandId::StepAbort, "give up"),
            (CommandId::StepBreak, "breakpoint"),
            (CommandId::ListClose, "close"),
        ],
        Some(PipelineRow::Asked(_)) => &[
            (CommandId::StepView, "before/after"),
            (CommandId::StepAgain, "ask again"),
            (CommandId::StepBreak, "breakpoint"),
            (CommandId::StepOpen, "open"),
            (CommandId::FilterStart, "filter"),
            (CommandId::PreviewDown, "scroll"),
            (CommandId::ListClose, "close"),
        ],
        Some(PipelineRow::Printed(_)) => &[(CommandId::StepOpen, "open"), (CommandId::ListClose, "close")],
        Some(PipelineRow::Breakpoint(_) | PipelineRow::Known(_) | PipelineRow::Stage(_)) | None => &[
            (CommandId::StepBreak, "breakpoint"),
            (CommandId::StepBreakStage, "at the stage"),
            (CommandId::StepOpen, "open"),
            (CommandId::FilterStart, "filter"),
            (CommandId::ListClose, "close"),
        ],
    }
}

/// The keys that matter in the tree of a conversation.
const CONVERSATION_HINTS: &[(CommandId, &str)] = &[
    (CommandId::ListAccept, "go on from here"),
    (CommandId::ConversationSummary, "with a summary"),
    (CommandId::ConversationLabel, "label"),
    (CommandId::ConversationFilter, "more or less"),
    (CommandId::FilterStart, "filter"),
    (CommandId::ListClose, "close"),
];

/// The keys that matter in the list of threads.
const THREAD_HINTS: &[(CommandId, &str)] = &[
    (CommandId::ListAccept, "open"),
    (CommandId::ThreadPeek, PEEK),
    (CommandId::FilterStart, "filter"),
    (CommandId::ThreadRename, "rename"),
    (CommandId::ThreadStop, "stop"),
    (CommandId::ThreadMark, "mark"),
    (CommandId::ThreadsOrder, "order"),
    (CommandId::ThreadStopTree, "stop tree"),
    (CommandId::ThreadArchive, "archive"),
    (CommandId::ThreadRemove, "delete"),
    (CommandId::ThreadNew, "new"),
    (CommandId::ThreadsArchived, "archived"),
    (CommandId::ListClose, "close"),
];

/// The same while the list has the archived ones.
const ARCHIVED_HINTS: &[(CommandId, &str)] = &[
    (CommandId::ListAccept, "open"),
    (CommandId::ThreadPeek, PEEK),
    (CommandId::FilterStart, "filter"),
    (CommandId::ThreadArchive, "list again"),
    (CommandId::ThreadRemove, "delete"),
    (CommandId::ThreadsArchived, "other threads"),
    (CommandId::ListClose, "close"),
];

/// The keys that matter now, by what holds now.
fn hints(model: &Model) -> Vec<(String, &'static str)> {
    let contexts = model.contexts();
    let starts = model.chosen_item().is_some_and(|item| item.directive.is_some());
    let commands: &[(CommandId, &str)] = match &model.overlay {
        Some(Overlay::Component(_)) => return vec![("ctrl-c".to_owned(), "close")],
        Some(Overlay::Picker(picker)) if picker.kind == PickerKind::Threads && !picker.filtering => {
            if model.lists_archived() { ARCHIVED_HINTS } else { THREAD_HINTS }
        }
        Some(Overlay::Picker(picker)) if picker.kind == PickerKind::Items && !picker.filtering => &[
            (CommandId::ListAccept, if starts { "start" } else { "open" }),
            (CommandId::ItemsOpen, "editor"),
            (CommandId::ListClose, "close"),
            (CommandId::FilterStart, "filter"),
            (CommandId::PreviewDown, "scroll"),
        ],
        Some(Overlay::Dialog(panel)) => dialog_hints(panel),
        Some(overlay @ Overlay::RequestPage(_)) => request_hints(model, overlay),
        Some(overlay) if model.shows_request() => request_hints(model, overlay),
        Some(Overlay::Picker(picker)) => list_hints(model, picker),
        Some(Overlay::Form(_)) => &[
            (CommandId::FormStart, "start"),
            (CommandId::FormNext, "next"),
            (CommandId::ListClose, "give up"),
            (CommandId::EditNewline, "new line"),
        ],
        Some(Overlay::Pager(_)) => {
            &[(CommandId::FilterStart, "search"), (CommandId::ListPageDown, "more"), (CommandId::ListClose, "close")]
        }
        None if contexts.contains(&Context::Search) => &[
            (CommandId::SearchAccept, "keep"),
            (CommandId::SearchPrevious, "previous"),
            (CommandId::SearchDrop, "give up"),
        ],
        None if model.view.reading.as_ref().is_some_and(|reading| reading.search.is_some()) => &[
            (CommandId::SearchNext, "next match"),
            (CommandId::SearchPrevious, "previous"),
            (CommandId::ReadEnter, "open thread"),
            (CommandId::ReadEnter, FOLD),
            (CommandId::ReadCopy, "copy"),
            (CommandId::SearchStart, "search"),
            (CommandId::ReadStop, "back"),
        ],
        None if contexts.contains(&Context::Reading) => &[
            (CommandId::ReadEnter, "open thread"),
            (CommandId::ReadEnter, FOLD),
            (CommandId::ReadCopy, "copy"),
            (CommandId::SearchStart, "search"),
            (CommandId::ReadRequest, "context"),
            (CommandId::ReadMark, "range"),
            (CommandId::ReadOpen, "editor"),
            (CommandId::ReadPromptUp, "prompt before"),
            (CommandId::ReadStop, "back"),
            (CommandId::PromptRetry, "again"),
            (CommandId::PromptRevise, "edit"),
            (CommandId::ThreadFork, "fork"),
        ],
        None if !model.completion.entries.is_empty() => completion_hints(model),
        None if model.is_armed() => {
            &[(CommandId::ApprovalOnce, "allow"), (CommandId::ApprovalDeny, "deny"), (CommandId::HelpShow, "help")]
        }
        None if !model.view.approvals.is_empty() => {
            &[(CommandId::ApprovalTake, "answer"), (CommandId::ApprovalDeny, "deny"), (CommandId::PromptSend, "steer")]
        }
        None if model.view.runs_command_alone() => {
            &[(CommandId::TurnInterrupt, "stop"), (CommandId::PromptSend, "send"), (CommandId::HelpShow, "help")]
        }
        None if model.view.is_working() => &[
            (CommandId::TurnInterrupt, "stop"),
            (CommandId::PromptSend, if model.enter_mode() == PromptMode::Steer { "steer" } else { "queue again" }),
            (CommandId::PromptFollowUp, "follow up"),
            (CommandId::HelpShow, "help"),
        ],
        None => &[
            (CommandId::PromptSend, if model.starts_alone() { "start" } else { "send" }),
            (CommandId::ThreadsShow, "threads"),
            (CommandId::HelpShow, "help"),
            (CommandId::PaletteOpen, "commands"),
            (CommandId::ContextPreview, "preview"),
            (CommandId::ReadStart, "read"),
        ],
    };
    let anywhere = [Context::Anywhere];
    let key = |command: CommandId| {
        // A key that works everywhere is named as such, not by what an empty draft adds to it.
        let key = model
            .keymap
            .key_for(command, &anywhere)
            .filter(|key| model.keymap.command(*key, &contexts) == Some(command));
        key.or_else(|| model.keymap.key_for(command, &contexts))
    };
    // What would do nothing is not offered.
    let opens = model.view.chosen_child().is_some();
    let idle = |command: CommandId, word: &str| {
        (command == CommandId::RequestSend && !model.can_send_shown())
            || (command == CommandId::ReadEnter && (word == FOLD) == opens)
            || (command == CommandId::ReadEnter && word == FOLD && !model.view.chosen_folds())
    };
    let commands = commands.iter().filter(|(command, word)| !idle(*command, word));
    commands.filter_map(|(command, word)| Some((key(*command)?.to_string(), *word))).collect()
}
