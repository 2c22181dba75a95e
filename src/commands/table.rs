//! The table of commands: id, title, one line of help, where it applies.

/// Where a key means something. Several contexts hold at once; the most particular is asked first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Context {
    /// Everywhere, asked last.
    Anywhere,
    /// The draft is being written.
    Composer,
    /// The draft is empty.
    Empty,
    /// The thread is at work.
    Working,
    /// The transcript does not show its end, and nothing is written.
    Scrolled,
    /// The transcript is read block by block.
    Reading,
    /// What to look for is being written.
    Search,
    /// A call waits until it is allowed or denied.
    Approval,
    /// It has the keyboard, and may be scrolled.
    Waiting,
    /// It has the keyboard, and its end was seen.
    Answering,
    /// Completions of what is being written are shown.
    Completion,
    /// A list with a filter line.
    Picker,
    /// The list of threads while its filter is not being written.
    Threads,
    /// A page of text that scrolls: help, notices.
    Pager,
    /// Text is being written: the draft, or a field of a form.
    Text,
    /// A list while its filter is not being written.
    List,
    /// The list of items.
    Items,
    /// The layers of a request.
    Layers,
    /// The request on the screen has not been sent.
    Preview,
    /// A page about a request.
    Sheet,
    /// The files that a thread changed.
    Changes,
    /// The list of queued messages.
    Queue,
    /// What was said in a conversation.
    Conversation,
    /// The handlers of a pipeline.
    Steps,
    /// The inputs of a directive are being given.
    Form,
}

impl Context {
    /// The word in keymap files.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Anywhere => "anywhere",
            Self::Composer => "composer",
            Self::Empty => "empty",
            Self::Working => "working",
            Self::Scrolled => "scrolled",
            Self::Reading => "reading",
            Self::Search => "search",
            Self::Approval => "approval",
            Self::Waiting => "waiting",
            Self::Answering => "answering",
            Self::Completion => "completion",
            Self::Picker => "picker",
            Self::Threads => "threads",
            Self::Pager => "pager",
            Self::Text => "text",
            Self::List => "list",
            Self::Items => "items",
            Self::Layers => "layers",
            Self::Preview => "preview",
            Self::Sheet => "sheet",
            Self::Changes => "changes",
            Self::Queue => "queue",
            Self::Conversation => "conversation",
            Self::Steps => "steps",
            Self::Form => "form",
        }
    }

    /// All contexts, in the order in which help lists them.
    pub const ALL: [Self; 25] = [
        Self::Composer,
        Self::Text,
        Self::Empty,
        Self::Working,
        Self::Scrolled,
        Self::Approval,
        Self::Answering,
        Self::Waiting,
        Self::Anywhere,
        Self::Reading,
        Self::Search,
        Self::Completion,
        Self::Form,
        Self::Picker,
        Self::List,
        Self::Threads,
        Self::Items,
        Self::Layers,
        Self::Preview,
        Self::Sheet,
        Self::Changes,
        Self::Queue,
        Self::Conversation,
        Self::Steps,
        Self::Pager,
    ];

    /// What help calls it.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Anywhere => "Anywhere",
            Self::Composer => "Writing",
            Self::Empty => "Nothing written yet",
            Self::Working => "While the thread works",
            Self::Scrolled => "Scrolled up",
            Self::Reading => "Reading the transcript",
            Self::Search => "Writing what to look for",
            Self::Approval => "While a call needs approval",
            Self::Waiting => "Reading it",
            Self::Answering => "Answering it",
            Self::Completion => "Completing a / command or an @ name",
            Self::Picker => "Writing the filter of a list",
            Self::Threads => "Threads",
            Self::Pager => "Help and notices",
            Self::Text => "Editing text",
            Self::List => "Lists",
            Self::Items => "Items",
            Self::Layers => "The context of a request",
            Self::Sheet => "A request as text, on the wire, compared",
            Self::Preview => "The coming request, before it is sent",
            Self::Changes => "Files that the thread changed",
            Self::Queue => "Queued messages",
            Self::Conversation => "The conversation as a tree",
            Self::Steps => "The pipeline",
            Self::Form => "Giving a directive its inputs",
        }
    }

    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|context| context.word() == word)
    }
}

/// What has to be there for a command to do anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    Nothing,
    /// A call that waits for the person.
    Call,
    /// The same, and it was on the screen.
    SeenCall,
    /// A message in the queue.
    Queue,
    /// A thread that another one started.
    Parent,
    /// A thread that the same one started later.
    SiblingAfter,
    /// A thread that the same one started earlier.
    SiblingBefore,
    /// A thread that it continues.
    Previous,
    /// A thread that continues it.
    Next,
    /// A thread that is at work.
    Work,
    /// A prompt that was sent before.
    Earlier,
    /// Something in the transcript.
    Transcript,
    /// Something in it that folds.
    Folds,
    /// A view that does not show its end.
    Scrolled,
    /// An answer.
    Answer,
    /// A thread: not a new one that has not begun.
    Thread,
    /// A thread whose worker listens or can be started.
    Worker,
    /// A prompt that was answered, or may be, by a thread that rests.
    Again,
    /// A draft that is no command.
    Prompt,
    /// A terminal that has room for the threads column.
    Width,
    /// A terminal that has room for the context beside the conversation.
    Split,
    /// A request that is looked at.
    Request,
    /// The same, and it has not been sent.
    Unsent,
}

/// One thing a person can do.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    pub id: CommandId,
    /// The id in keymap files.
    pub name: &'static str,
    pub title: &'static str,
    /// One line.
    pub help: &'static str,
    /// The word behind `/`, if it can be run that way.
    pub slash: Option<&'static str>,
    /// Whether it makes sense to pick it from the palette.
    pub in_palette: bool,
    /// Without it the command is not offered.
    pub needs: Need,
}

impl Command {
    /// The heading under which the palette lists it, by the first part of its name.
    #[must_use]
    pub fn group(&self) -> Group {
        match self.name.split('.').next().unwrap_or_default() {
            "prompt" | "history" | "queue" => Group::Messages,
            "turn" | "approval" => Group::Work,
            "transcript" | "read" | "search" => Group::Transcript,
            "context" => Group::Context,
            "thread" | "threads" => Group::Threads,
            "directive" | "model" | "items" | "servers" => Group::Choices,
            _ => Group::Program,
        }
    }
}

/// What commands of the palette are about, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    Messages,
    Work,
    Context,
    Threads,
    Choices,
    Transcript,
    Program,
}

impl Group {
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Messages => "messages",
            Self::Work => "running work and approvals",
            Self::Context => "context",
            Self::Threads => "threads",
            Self::Choices => "directives, items and models",
            Self::Transcript => "transcript",
            Self::Program => "screen and program",
        }
    }
}

macro_rules! commands {
    ($($id:ident $name:literal $title:literal $help:literal $(/ $slash:literal)? $([$hidden:ident])? $({$need:ident})?;)*) => {
        /// The name of a command inside the program.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum CommandId { $($id,)* }

        /// Every command.
        pub const TABLE: &[Command] = &[$(
            Command {
                id: CommandId::$id,
                name: $name,
                title: $title,
                help: $help,
                slash: commands!(@slash $($slash)?),
                in_palette: commands!(@palette $($hidden)?),
                needs: commands!(@need $($need)?),
            },
        )*];
    };
    (@slash) => { None };
    (@slash $slash:literal) => { Some($slash) };
    (@palette) => { true };
    (@palette hidden) => { false };
    (@need) => { Need::Nothing };
    (@need $need:ident) => { Need::$need };
}

commands! {
    PromptSend "prompt.send" "Send" "Send the draft; while the thread works it steers the next turn." [hidden];
    PromptFollowUp "prompt.follow_up" "Queue as follow-up" "Queue the draft until the thread has finished." [hidden];
    PromptTakeBack "prompt.take_back" "Take back the last queued prompt" "Withdraw the newest queued prompt and put its text into the draft." {Queue};
    PromptEditor "prompt.editor" "Open the draft in $EDITOR" "Write the draft in your own editor." / "editor";
    TurnInterrupt "turn.interrupt" "Stop" "Stop the running turn; the draft stays as it is." / "stop" {Work};
    ApprovalOnce "approval.once" "Allow this call" "Allow the waiting call once." {SeenCall};
    ApprovalThread "approval.thread" "Allow in this thread" "Allow the waiting call, and calls like it in this thread." {SeenCall};
    ApprovalAlways "approval.always" "Allow always" "Allow the waiting call, and calls like it in every thread of this project." {SeenCall};
    ApprovalDeny "approval.deny" "Deny this call" "Deny the waiting call; the thread continues without it. /deny REASON sends the reason to the model." / "deny" {Call};
    ApprovalRefuse "approval.refuse" "Deny and say why" "Deny the waiting call with a reason that the model gets." [hidden] {Call};
    ApprovalTake "approval.take" "Answer the waiting call" "Keep the draft as it is and answer the waiting call with keys." {Call};
    ApprovalFold "approval.fold" "Show or hide the arguments" "Show or hide the raw arguments of the waiting call, below its difference." [hidden] {Call};
    HistorySearch "history.search" "Search earlier prompts" "Find a prompt you sent before and put it into the draft." / "history" {Earlier};
    EditNewline "edit.newline" "New line" "Start a new line in the draft." [hidden];
    EditBackspace "edit.backspace" "Delete back" "Delete the letter before the cursor." [hidden];
    EditDelete "edit.delete" "Delete" "Delete the letter under the cursor." [hidden];
    EditDeleteWordBack "edit.delete_word_back" "Delete word back" "Delete the word before the cursor." [hidden];
    EditDeleteWord "edit.delete_word" "Delete word" "Delete the word after the cursor." [hidden];
    EditDeleteToStart "edit.delete_to_start" "Delete to line start" "Delete from the start of the line to the cursor." [hidden];
    EditDeleteToEnd "edit.delete_to_end" "Delete to line end" "Delete from the cursor to the end of the line." [hidden];
    EditYank "edit.yank" "Insert what was deleted" "Insert the text that was deleted last." [hidden];
    EditUndo "edit.undo" "Undo" "Undo the last change of the draft." [hidden];
    EditRedo "edit.redo" "Redo" "Do again what was undone." [hidden];
    EditLeft "edit.left" "Left" "Move one letter left." [hidden];
    EditRight "edit.right" "Right" "Move one letter right." [hidden];
    EditUp "edit.up" "Up, earlier prompt" "Move one line up; on the first line show the prompt sent before." [hidden];
    EditDown "edit.down" "Down, later prompt" "Move one line down; on the last line show the prompt sent after." [hidden];
    EditWordLeft "edit.word_left" "Word left" "Move to the start of the word." [hidden];
    EditWordRight "edit.word_right" "Word right" "Move past the end of the word." [hidden];
    EditLineStart "edit.line_start" "Line start" "Move to the start of the line." [hidden];
    EditLineEnd "edit.line_end" "Line end" "Move to the end of the line." [hidden];
    CompletionAccept "completion.accept" "Complete" "Put the chosen command into the draft." [hidden];
    TranscriptPageUp "transcript.page_up" "Page up" "Scroll the transcript one page up." {Transcript};
    TranscriptPageDown "transcript.page_down" "Page down" "Scroll the transcript one page down." {Scrolled};
    TranscriptLineUp "transcript.line_up" "Line up" "Scroll the transcript one line up." [hidden];
    TranscriptLineDown "transcript.line_down" "Line down" "Scroll the transcript one line down." [hidden];
    TranscriptTop "transcript.top" "Go to the first loaded line" "Scroll to the top of what is loaded; more loads by itself." {Transcript};
    TranscriptEnd "transcript.end" "Follow the end" "Scroll to the end and stay there." {Scrolled};
    TranscriptDetails "transcript.details" "Show or fold details" "Show thinking, tool arguments and results in full, or fold them." / "details" {Folds};
    TranscriptCopy "transcript.copy" "Copy the last answer" "Put the last answer on the clipboard as it was written." / "copy" {Answer};
    TranscriptExport "transcript.export" "Export the thread" "Write the thread into a file: /export md, html, jsonl or pi; /export registry writes the list of all threads and their budgets." / "export" {Thread};
    ReadStart "read.start" "Read the transcript" "Go through the transcript block by block: fold, copy, search." / "read" {Transcript};
    ReadStop "read.stop" "Back to writing" "Leave the transcript and go on writing." [hidden];
    ReadUp "read.up" "Block above" "Choose the block above." [hidden];
    ReadDown "read.down" "Block below" "Choose the block below." [hidden];
    ReadFirst "read.first" "First block" "Choose the first loaded block." [hidden];
    ReadLast "read.last" "Last block" "Choose the last block." [hidden];
    ReadPromptUp "read.prompt_up" "Prompt before" "Choose the prompt before." [hidden];
    ReadPromptDown "read.prompt_down" "Prompt after" "Choose the prompt after." [hidden];
    ReadEnter "read.enter" "Open or fold" "Open the thread that the chosen call started; of any other block, unfold or fold it." [hidden];
    ReadFold "read.fold" "Unfold or fold" "Show the chosen block in full, or fold it; a line on the context leads to its request." [hidden];
    ReadMark "read.mark" "Begin a range" "Choose a range of blocks that begins here." [hidden];
    ReadCopy "read.copy" "Copy" "Put the chosen block or range on the clipboard." [hidden];
    ReadRequest "read.request" "Its request" "Show the request that led to the chosen block, layer by layer." [hidden];
    ReadUndo "read.undo" "Take back its changes" "List the files that the chosen answer changed, and take them back." [hidden];
    ReadOpen "read.open" "Open in $EDITOR" "Look at the chosen block or range in your own editor." [hidden];
    SearchStart "search.start" "Search the transcript" "Find words in the transcript." / "find" {Transcript};
    SearchAccept "search.accept" "Accept the search" "Keep the search words and go from match to match." [hidden];
    SearchDrop "search.drop" "Cancel the search" "Go back to where the search began." [hidden];
    SearchBackspace "search.backspace" "Delete back" "Delete the last letter." [hidden];
    SearchClear "search.clear" "Clear" "Delete all letters." [hidden];
    SearchNext "search.next" "Next match" "Go to the next match below." [hidden];
    SearchPrevious "search.previous" "Previous match" "Go to the next match above." [hidden];
    ThreadsShow "threads.show" "Threads" "List the threads of this project; open one." / "threads";
    ThreadsAttention "threads.attention" "Threads that need you" "List the threads that wait for you first, then those that failed." / "attention";
    ThreadMarkTree "thread.mark_tree" "Mark the tree" "Mark the chosen thread and all below it, or take these marks off." [hidden];
    ThreadsArchived "threads.archived" "Archived threads" "List the archived threads; again lists the others." / "archived";
    ThreadsOrder "threads.order" "Order" "Put the list into another order: trees, needs you, cost, quiet the longest." [hidden];
    ThreadMark "thread.mark" "Mark" "Mark the chosen thread: stop, kill and archive are for all that are marked." [hidden];
    ThreadPeek "thread.peek" "Look into the thread" "Show the chosen thread in the place of the list, live; again for the list." [hidden];
    ThreadsPanel "threads.panel" "Show or hide the threads column" "Keep the list of threads beside the transcript on a wide terminal." {Width};
    ThreadNew "thread.new" "New thread" "Leave this thread as it is and start a new one with the next prompt." / "new" {Thread};
    ModelChoose "model.choose" "Choose a model" "Answer with another model from the next request on." / "model";
    ThinkingChoose "model.thinking" "Choose how much it thinks" "How much the model thinks from the next request on: /thinking high, or /model NAME:high; default leaves it to its provider." / "thinking";
    ModelLogin "model.login" "Sign in" "Sign in to a provider of an extension: /login NAME, and /model shows which there are. The terminal is given away until you are signed in." / "login";
    ThemeChoose "theme.choose" "Choose a theme" "Change the colours." / "theme";
    PaletteOpen "palette.open" "All commands" "Find a command by name and run it." [hidden];
    HelpShow "help.show" "Help" "Show every key and command." / "help";
    NoticesShow "notices.show" "Notices" "Show the messages of this session again." / "notices";
    ListUp "list.up" "Up" "Choose the entry above; scroll up." [hidden];
    ListDown "list.down" "Down" "Choose the entry below; scroll down." [hidden];
    ListPageUp "list.page_up" "Page up" "Go one page up." [hidden];
    ListPageDown "list.page_down" "Page down" "Go one page down." [hidden];
    ListFirst "list.first" "First" "Go to the first entry." [hidden];
    ListLast "list.last" "Last" "Go to the last entry." [hidden];
    ListAccept "list.accept" "Choose" "Take the chosen entry." [hidden];
    ListClose "list.close" "Close" "Close the list and change nothing." [hidden];
    FilterStart "filter.start" "Filter" "Type to narrow the list." [hidden];
    FilterBackspace "filter.backspace" "Delete back" "Delete the last letter of the filter." [hidden];
    FilterClear "filter.clear" "Clear" "Empty the filter." [hidden];
    ThreadParent "thread.parent" "Go to the parent" "Open the thread that started this one." / "parent" {Parent};
    ThreadSiblingNext "thread.sibling_next" "Go to the next sibling" "Open the thread that the same parent started after this one." / "sibling" {SiblingAfter};
    ThreadSiblingPrevious "thread.sibling_previous" "Go to the sibling before" "Open the thread that the same parent started before this one." / "sibling-before" {SiblingBefore};
    ThreadPrevious "thread.previous" "Go to the previous thread" "Open the thread that this one continues." / "previous" {Previous};
    ThreadNext "thread.next" "Go to the next thread" "Open the thread that continues this one." / "next" {Next};
    ThreadHandoff "thread.handoff" "Hand off" "Let a new thread continue this one, with a summary and the newest messages." / "handoff" {Worker};
    ThreadBudget "thread.budget" "Budget" "Show what the thread may use, has used and has reserved, with everything below it." / "budget" {Thread};
    ThreadState "thread.state" "State" "Show the values that the thread keeps under names, for its hooks and tools." / "state" {Thread};
    ThreadBackground "thread.background" "Background commands" "Show what the thread runs beside its conversation, and what that printed; /background stop NAME stops one." / "background" {Thread};
    ThreadChanges "thread.changes" "Take back its changes" "List the files that the thread changed with its file tools, and take them back." / "undo" {Thread};
    ThreadTimeline "thread.timeline" "Timeline" "Draw what the threads of this tree did when, and what they waited for." / "timeline" {Thread};
    ThreadPostmortem "thread.postmortem" "Post-mortem" "Say why the thread ended, what it was doing then, and what had gone wrong." / "postmortem" {Thread};
    PipelineShow "pipeline.show" "Pipeline" "List what handlers did with prompts and requests, set breakpoints, go on from one, ask a handler again." / "pipeline";
    PipelineBreak "pipeline.break" "Breakpoint" "Pause before handlers: /break STAGE, /break STAGE:HANDLER, either with contains TEXT; /break off removes all." / "break";
    DialogAnswer "dialog.answer" "Answer an extension" "Show the question of an extension that waits for you." / "answer" {Worker};
    PipelineGo "pipeline.go" "Continue from a breakpoint" "Continue; /go next pauses before the next handler, /go edit changes the value first, /go skip leaves the handler out, /go abort gives up." / "go" {Worker};
    StepOpen "step.open" "Open" "Open the file of the chosen handler; at a breakpoint, change the value in $EDITOR and continue with that." [hidden];
    StepView "step.view" "What is shown" "Show what the handler changed, what it got, what it made of that." [hidden];
    StepAgain "step.again" "Ask again" "Ask the chosen handler again, as it is written now, with what it got then. Nothing is sent." [hidden];
    StepBreak "step.break" "Breakpoint on or off" "Pause before the chosen handler, or no more." [hidden];
    StepBreakStage "step.break_stage" "Breakpoint at the stage" "Pause before every handler of the stage, or no more." [hidden];
    StepGo "step.go" "Continue" "Continue from the breakpoint." [hidden];
    StepNext "step.next" "Next handler" "Continue, and pause before the next handler." [hidden];
    StepSkip "step.skip" "Skip the handler" "Continue from the breakpoint without the handler." [hidden];
    StepAbort "step.abort" "Give up" "Give up the turn at the breakpoint." [hidden];
    ThreadStop "thread.stop" "Stop the thread" "Stop the process of the chosen thread; its messages are kept." [hidden];
    ThreadStopTree "thread.stop_tree" "Stop the tree" "Stop the chosen thread and every thread below it that runs." / "stop-tree" {Thread};
    ThreadKill "thread.kill" "Kill the thread" "End the chosen thread at once, whatever it does; repeat to confirm." [hidden];
    ThreadRename "thread.rename" "Rename" "Rename the chosen thread; /rename NAME renames the one on the screen." / "rename" {Thread};
    ThreadArchive "thread.archive" "Archive" "Hide the thread from the list; its next prompt brings it back." / "archive" {Thread};
    ThreadRemove "thread.remove" "Delete" "Delete the thread and everything in it; repeat to confirm." / "delete" {Thread};
    AppTrust "app.trust" "Trust this project" "List what can run in this project, and whether you trust it; the first row trusts it." / "trust";
    AppMouse "app.mouse" "Mouse on or off" "Leave the mouse to the terminal, or use it in levain to scroll, choose and mark." / "mouse";
    AppRedraw "app.redraw" "Draw again" "Draw the whole screen again.";
    AppSuspend "app.suspend" "Suspend" "Go back to the shell; fg continues." [hidden];
    AppLeave "app.leave" "Stop, then leave" "Stop the running turn; repeat to leave. /quit leaves without stopping it." [hidden];
    AppLeaveEmpty "app.leave_empty" "Leave" "Leave when the draft is empty; otherwise delete the letter under the cursor." [hidden];
    AppQuit "app.quit" "Quit" "Leave levain. Threads at work go on." / "quit";
    DirectiveChoose "directive.choose" "Start a directive" "Choose a directive for a new thread, and give it its inputs." / "directive";
    FormNext "form.next" "Next field" "Go to the next input." [hidden];
    FormPrevious "form.previous" "Field before" "Go to the input before." [hidden];
    FormStart "form.start" "Start" "Begin a new thread with these inputs." [hidden];
    PromptRetry "prompt.retry" "Try again" "Send the prompt again in a fork and compare the two requests. /retry MODEL uses another model." / "retry" {Again};
    PromptRetryWith "prompt.retry_with" "Try again with another model" "Choose a model, and send the prompt to that in a new thread." / "retry-with" {Again};
    PromptRevise "prompt.revise" "Edit and send again" "Fork the thread before the prompt and put the prompt into the draft." / "edit" {Again};
    ThreadFork "thread.fork" "Fork here" "Fork the thread with everything up to here; this thread stays as it is." / "fork" {Again};
    ConversationShow "conversation.show" "Conversation tree" "Show the conversation with all its forks, and go on from any place of it." / "tree" {Thread};
    ConversationSummary "conversation.summary" "Go on with a summary" "Go on from there, and tell the model in short what is left behind." [hidden];
    ConversationFilter "conversation.filter" "List more or less" "List what was said, prompts alone, what has a label, or everything." [hidden];
    ConversationLabel "conversation.label" "Label" "Give the chosen entry a label; an empty one removes it." [hidden];
    ContextShow "context.show" "Context" "Show the newest request of the thread: every layer, where it comes from, and what was left out and why." / "context";
    ContextBeside "context.beside" "Context beside the conversation" "Show the layers of the chosen turn's request at the right, or take them away." / "split" {Split};
    ContextCompact "context.compact" "Compact" "Let the model summarise older messages, so that later requests are smaller." / "compact" {Worker};
    ContextPreview "context.preview" "Preview" "Show what Enter would send now, layer by layer; Enter there sends it as it is shown." / "preview" {Prompt};
    ContextEarlier "context.earlier" "Request before" "Show the thread's request before this one." / "earlier" [hidden] {Request};
    ContextLater "context.later" "Request after" "Show the thread's request after this one." / "later" [hidden] {Request};
    RequestText "request.text" "Whole text" "Show all text of the request, with a rule where each layer begins." / "text" [hidden] {Request};
    RequestWire "request.wire" "Wire form" "Show the body as it goes over the wire; again for the next provider's form, and back to text." / "wire" [hidden] {Request};
    RequestDifference "request.difference" "Difference" "Compare the request with the marked one, else with the one before: layers, words, and where a provider's cache ends." / "diff" [hidden] {Request};
    RequestMark "request.mark" "Mark for comparing" "Compare other requests with this one, of whatever thread." / "mark" [hidden] {Request};
    LayerBisect "layer.bisect" "Find the layer" "Find the layer that makes a check of the answer come out otherwise, by leaving out halves; what that takes is told first." [hidden];
    SheetCopy "sheet.copy" "Copy" "Put the whole page on the clipboard; a wire form byte for byte as it is sent." [hidden];
    SheetNext "sheet.next" "Next layer" "Go to where the next layer begins." [hidden];
    SheetPrevious "sheet.previous" "Layer before" "Go to where the layer before begins." [hidden];
    LayerAsked "layer.asked" "Open who asks for it" "Open the hook or the entry of a directive that brings the layer." [hidden];
    RequestSend "request.send" "Send it" "Send the request that is shown, as it is shown." / "send" [hidden] {Unsent};
    RequestEdit "request.edit" "Back to the draft" "Go on writing; nothing is sent." [hidden];
    RequestDrop "request.drop" "Drop it" "Send nothing and empty the draft; the prompt history keeps it." / "drop" [hidden] {Unsent};
    LayerOpen "layer.open" "Open in $EDITOR" "Open the file that the layer is written in; other texts are shown as a copy." [hidden];
    LayerNextOut "layer.next_out" "Next layer that was left out" "Choose the next layer that is not in the request, and see why." [hidden];
    LayerPreviousOut "layer.previous_out" "Layer before that was left out" "Choose the layer before that is not in the request." [hidden];
    LayerWhatIf "layer.what_if" "What if without it" "Show the request as it would be without the layer; again with it." [hidden];
    LayerEdit "layer.edit" "What if with another text" "Change the layer's text in $EDITOR and show the request as it would be; nothing is written." [hidden];
    LayerFork "layer.fork" "Send it in a fork" "Send the prompt of the request again in a fork that is as it would be, and compare the two." [hidden];
    LayerCopy "layer.copy" "Copy" "Put the layer's text on the clipboard." [hidden];
    ServersShow "servers.show" "MCP servers" "List the MCP servers, what they offer and what that takes of a context; /mcp test asks them, /mcp refresh NAME keeps what one offers." / "mcp";
    ItemsShow "items.show" "Items" "List items, hooks, skills, templates and extensions: where they lie, what they hide, what is wrong with them." / "items";
    ItemsOpen "items.open" "Open in $EDITOR" "Open the item's file in your own editor." [hidden];
    PreviewUp "preview.up" "Preview up" "Scroll the preview up." [hidden];
    PreviewDown "preview.down" "Preview down" "Scroll the preview down." [hidden];
    QueueShow "queue.show" "Queued messages" "List what waits for its turn; edit it, move it, take it back." / "queue" {Queue};
    QueueUp "queue.up" "Earlier" "Let the chosen message go one place earlier." [hidden];
    QueueDown "queue.down" "Later" "Let the chosen message go one place later." [hidden];
    QueueDrop "queue.drop" "Withdraw" "Remove the chosen message from the queue; the prompt history keeps it." [hidden];
}

impl CommandId {
    /// Its row in the table.
    #[must_use]
    pub fn row(self) -> &'static Command {
        &TABLE[self as usize]
    }

    /// The command of that id.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        TABLE.iter().find(|command| command.name == name).map(|command| command.id)
    }

    /// The command behind `/word`.
    #[must_use]
    pub fn from_slash(word: &str) -> Option<Self> {
        TABLE.iter().find(|command| command.slash == Some(word)).map(|command| command.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_stands_at_its_own_place() {
        for command in TABLE {
            assert_eq!(command.id.row().name, command.name);
            assert_eq!(
                CommandId::from_name(command.name),
                Some(command.id),
                "two commands are called {}",
                command.name
            );
            if let Some(slash) = command.slash {
                assert_eq!(CommandId::from_slash(slash), Some(command.id), "two commands are called /{slash}");
            }
            assert!(command.help.ends_with('.') && !command.help.contains('\n'), "{}", command.name);
        }
    }

    #[test]
    fn contexts_are_found_by_their_word() {
        for context in Context::ALL {
            assert_eq!(Context::from_word(context.word()), Some(context));
        }
    }
}
