//! Texts that go along with a prompt because it names them behind `@`: files, listings of folders, transcripts of threads.
//!
//! They are read once, by the worker that takes the prompt, and stand in the log with it. What is changed on disk later
//! changes nothing of what was said.

use super::id::ThreadId;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::sync::Arc;

/// The largest file that goes along, in bytes: about 64,000 tokens.
pub const LARGEST_FILE: u64 = 256 << 10;

/// As much of a thread's transcript goes along, in bytes: the newest of it.
pub const LONGEST_TRANSCRIPT: usize = 64 << 10;

/// As many names of a folder are listed.
pub const MOST_NAMES: usize = 500;

/// As many texts go along with one prompt.
pub const MOST_ATTACHMENTS: usize = 16;

/// What stands before the id of a thread behind `@`.
pub const THREAD: &str = "thread:";

/// What stands before the id of a thread in the id of its transcript, which is read like a knowledge item.
pub const TRANSCRIPTS: &str = "agent/threads/";

/// The thread whose transcript the knowledge item `id` is.
#[must_use]
pub fn transcript_of(id: &str) -> Option<ThreadId> {
    id.strip_prefix(TRANSCRIPTS)?.parse().ok()
}

/// What a text is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttachmentKind {
    File,
    /// The names in it.
    Folder,
    /// What was said in it.
    Thread,
}

impl AttachmentKind {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Folder => "folder",
            Self::Thread => "thread",
        }
    }
}

/// A text that goes along with a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    pub kind: AttachmentKind,
    /// Path from the project's root, or the id of the thread.
    pub name: String,
    /// Size of the text.
    pub bytes: u64,
    /// Empty where it is only told of, as in the state of a thread.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub text: Arc<str>,
}

impl Attachment {
    #[must_use]
    pub fn new(kind: AttachmentKind, name: String, text: &str) -> Self {
        Self { kind, name, bytes: text.len() as u64, text: text.into() }
    }

    /// The same without its text, for those who only tell of it.
    #[must_use]
    pub fn without_text(&self) -> Self {
        Self { text: Arc::default(), ..self.clone() }
    }

    /// Name, kind and size, as people read it.
    #[must_use]
    pub fn in_words(&self) -> String {
        format!("{} · {} · {}", self.name, self.kind.word(), size_in_words(self.bytes))
    }

    /// What stands before the text in a request.
    fn head(&self) -> String {
        let Self { kind, name, .. } = self;
        let attribute = if *kind == AttachmentKind::Thread { "id" } else { "path" };
        let mut head = format!("<{} {attribute}=\"", kind.word());
        for letter in name.chars() {
            match letter {
                '"' => head.push_str("&quot;"),
                '<' => head.push_str("&lt;"),
                '&' => head.push_str("&amp;"),
                letter => head.push(letter),
            }
        }
        head.push_str("\">\n");
        head
    }

    /// What the model reads: the text between two lines that say what it is.
    #[must_use]
    pub fn told(&self) -> String {
        let mut told = self.head();
        told.push_str(&self.text);
        if !told.ends_with('\n') {
            told.push('\n');
        }
        let _never_fails = writeln!(told, "</{}>", self.kind.word());
        told
    }

    /// Where the text begins in what the model reads.
    #[must_use]
    pub fn text_begins(&self) -> usize {
        self.head().len()
    }
}

/// `820 bytes`, `3.2 kB`.
fn size_in_words(bytes: u64) -> String {
    match bytes {
        ..1_000 => format!("{bytes} bytes"),
        1_000..10_000 => format!("{}.{} kB", bytes / 1_000, bytes % 1_000 / 100),
        _ => format!("{} kB", bytes / 1_000),
    }
}

/// What is to go along with a prompt: by its name, or as it was read for the same prompt before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ToAttach {
    /// As it stands behind `@`.
    Name(String),
    Kept(Attachment),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_stands_between_two_lines_that_name_it() {
        let file = Attachment::new(AttachmentKind::File, "a \"b\".rs".into(), "fn main() {}");
        assert_eq!(file.told(), "<file path=\"a &quot;b&quot;.rs\">\nfn main() {}\n</file>\n");
        assert_eq!(file.told().get(file.text_begins()..file.text_begins() + 12), Some("fn main() {}"));
        let thread = Attachment::new(AttachmentKind::Thread, "chat-1".into(), "[You]\nhi\n");
        assert_eq!(thread.told(), "<thread id=\"chat-1\">\n[You]\nhi\n</thread>\n");
        assert_eq!(file.in_words(), "a \"b\".rs · file · 12 bytes");
        assert_eq!([999, 3_250, 70_000].map(size_in_words), ["999 bytes", "3.2 kB", "70 kB"]);
    }

    #[test]
    fn what_is_to_go_along_is_a_name_or_a_whole_text() {
        let kept = ToAttach::Kept(Attachment::new(AttachmentKind::Folder, "src".into(), "a.rs\n"));
        let all = vec![ToAttach::Name("src/a.rs".into()), kept];
        let json = serde_json::to_string(&all).unwrap();
        assert_eq!(json, r#"["src/a.rs",{"kind":"folder","name":"src","bytes":5,"text":"a.rs\n"}]"#);
        assert_eq!(serde_json::from_str::<Vec<ToAttach>>(&json).unwrap(), all);
    }
}
