//! The roles: what a piece of the screen is, not how it looks.

macro_rules! roles {
    ($($role:ident $name:literal)*) => {
        /// What a piece of the screen is.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Role { #[default] $($role,)* }

        impl Role {
            pub const ALL: &[Self] = &[$(Self::$role,)*];

            /// The name in theme files.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$role => $name,)* }
            }
        }
    };
}

roles! {
    Text "text"
    TextMuted "text.muted"
    Title "title"
    TitleDetail "title.detail"
    Border "border"
    BorderFocused "border.focused"
    Bar "bar"
    BarKey "bar.key"
    BarWord "bar.word"
    BarWarning "bar.warning"
    Pill "pill"
    Match "match"
    Selection "selection"
    Prompt "prompt"
    PromptMark "prompt.mark"
    Thinking "thinking"
    Tool "tool"
    ToolMain "tool.main"
    ToolOutput "tool.output"
    Markdown "markdown"
    MarkdownHeading "markdown.heading"
    MarkdownCode "markdown.code"
    MarkdownCodeBlock "markdown.code.block"
    MarkdownCodeLanguage "markdown.code.language"
    CodeKeyword "markdown.code.block.keyword"
    CodeString "markdown.code.block.string"
    CodeComment "markdown.code.block.comment"
    CodeNumber "markdown.code.block.number"
    CodeType "markdown.code.block.type"
    CodeFunction "markdown.code.block.function"
    CodeAdded "markdown.code.block.added"
    CodeRemoved "markdown.code.block.removed"
    MarkdownQuote "markdown.quote"
    MarkdownMark "markdown.mark"
    MarkdownLink "markdown.link"
    MarkdownUrl "markdown.url"
    MarkdownTable "markdown.table"
    Status "status"
    StatusInfo "status.info"
    StatusOk "status.ok"
    StatusWarning "status.warning"
    StatusError "status.error"
    StatusLimit "status.limit"
    Thread "thread"
    ThreadRunning "thread.running"
    ThreadWaiting "thread.waiting"
    ThreadDone "thread.done"
    ThreadFailed "thread.failed"
    List "list"
    ListChosen "list.chosen"
    ListDetail "list.detail"
    ListUnusable "list.unusable"
    Draft "draft"
    DraftPaste "draft.paste"
    DraftHint "draft.hint"
    Key "key"
}

impl Role {
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|role| role.name() == name)
    }
}
