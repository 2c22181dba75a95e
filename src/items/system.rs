//! The bundled system space (`assets/system/.ai`), embedded in the program.

/// A bundled text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SystemItem {
    pub id: &'static str,
    /// Relative to the system space.
    pub path: &'static str,
    pub text: &'static str,
}

/// Rules that head every system text.
pub const CONSTITUTION: SystemItem = SystemItem {
    id: "levain/Constitution",
    path: ".ai/knowledge/levain/Constitution.md",
    text: include_str!("../../assets/system/.ai/knowledge/levain/Constitution.md"),
};

/// How to talk in a chat.
pub const CHAT: SystemItem = SystemItem {
    id: "levain/Chat",
    path: ".ai/knowledge/levain/Chat.md",
    text: include_str!("../../assets/system/.ai/knowledge/levain/Chat.md"),
};

/// The provider files.
pub const PROVIDERS: &[SystemItem] = &[
    SystemItem {
        id: "levain/providers/anthropic/anthropic",
        path: ".ai/tools/levain/providers/anthropic/anthropic.yaml",
        text: include_str!("../../assets/system/.ai/tools/levain/providers/anthropic/anthropic.yaml"),
    },
    SystemItem {
        id: "levain/providers/openai/openai",
        path: ".ai/tools/levain/providers/openai/openai.yaml",
        text: include_str!("../../assets/system/.ai/tools/levain/providers/openai/openai.yaml"),
    },
    SystemItem {
        id: "levain/providers/gemini/gemini",
        path: ".ai/tools/levain/providers/gemini/gemini.yaml",
        text: include_str!("../../assets/system/.ai/tools/levain/providers/gemini/gemini.yaml"),
    },
];

/// The directive that a bare `levain` opens.
pub const CHAT_DIRECTIVE: &str = "levain/chat";

/// The directives that can be run, by id.
pub const DIRECTIVES: &[&str] = &[CHAT_DIRECTIVE];
