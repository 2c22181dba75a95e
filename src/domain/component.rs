//! Components of extensions: they draw themselves, and one has the person's keys until it is closed.

use super::custom_message::CustomMessage;
use super::id::CallId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A component that is on the screen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenComponent {
    /// Counts from 1 in the process that draws it.
    pub id: u64,
    /// The extension it is of.
    pub from: String,
    /// Where it lies over the screen; below the conversation without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Spot>,
    /// Whether it has the keys, where no later one has.
    pub focused: bool,
    /// It stands in the place of the draft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub editor: Option<Editor>,
    /// As drawn for a screen of the size that was told last: text with sequences of styles (SGR) and no others.
    pub lines: Vec<String>,
}

/// How an editor stands that an extension put in the place of the draft.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Editor {
    pub text: String,
    /// What it asked the screen for last, oldest first: eight at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acts: Vec<NumberedAct>,
}

/// What an editor asks for; numbers count from 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumberedAct {
    pub number: u64,
    /// The screen at which a person typed last: of several, that one does it.
    #[serde(default)]
    pub by: String,
    #[serde(flatten)]
    pub act: EditorAct,
}

/// What an editor of an extension asks the screen for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "asks", rename_all = "snake_case")]
pub enum EditorAct {
    /// Send this as if it had been written in the draft.
    Submit { text: String },
    /// What a key of pi does beside writing: `interrupt`, `followUp`, `externalEditor` …
    Action { name: String },
}

/// A place on the screen, in cells from its top left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spot {
    pub column: u16,
    pub row: u16,
    pub width: u16,
}

/// How large the screen is, in cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScreenSize {
    pub columns: u16,
    pub rows: u16,
    /// Columns of the conversation.
    pub inner: u16,
}

impl Default for ScreenSize {
    /// Where nobody has told.
    fn default() -> Self {
        Self { columns: 80, rows: 24, inner: 80 }
    }
}

/// The themes of a screen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Themes {
    pub names: Vec<String>,
    /// The one that is shown, chosen or as the background of the terminal has it; none where nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<String>,
}

/// Something of a conversation that an extension may draw.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Drawable {
    /// A call of a tool, with its result where that is there.
    Call {
        call_id: CallId,
    },
    Message {
        message: Box<CustomMessage>,
    },
    /// What an extension left in the log under a name of its own.
    Entry {
        entry: Box<CustomEntry>,
    },
    /// The Markdown of an answer that is whole.
    Markdown {
        text: String,
    },
}

/// What an extension keeps in the log under a name of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CustomEntry {
    pub custom_type: String,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub data: Value,
}

/// What is to be drawn, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToDraw {
    pub subject: Drawable,
    /// Columns of each row.
    pub width: u16,
    /// In full, where it can be folded.
    pub open: bool,
}

/// What an extension drew: rows of text with sequences of styles (SGR) and no others. A part that is none is drawn by the
/// screen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drawing {
    /// The call of a tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<Vec<String>>,
    /// Its result; a message or an entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Vec<String>>,
    /// What is drawn in the place of an answer's Markdown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub markdown: Option<String>,
}

impl Drawing {
    /// Bytes of its rows.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let rows: usize = self.head.iter().chain(&self.body).flatten().map(String::len).sum();
        rows + self.markdown.as_ref().map_or(0, String::len)
    }
}

/// What of a conversation extensions draw.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrawnKinds {
    /// Short names of tools.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// Types of messages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<String>,
    /// Types of entries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<String>,
    /// The Markdown of answers.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub markdown: bool,
    /// Counts up when something is to be drawn anew.
    #[serde(default)]
    pub redraws: u64,
}

impl DrawnKinds {
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.draws_as(&Self::default())
    }

    /// Whether the same is drawn, however often anew.
    #[must_use]
    pub fn draws_as(&self, other: &Self) -> bool {
        let drawn = |kinds: &Self| Self { redraws: 0, ..kinds.clone() };
        drawn(self) == drawn(other)
    }
}

/// How extensions have a thread shown, where that is not the screen's own way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Looks {
    /// What stands before the word for what the thread does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub indicator: Option<Indicator>,
    /// What the thread does is left out while a model is waited for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hides_working: bool,
    /// What a folded thought is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thought_label: Option<String>,
    /// Whether details are shown in full, as one wished last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfolds: Option<NumberedWish>,
    /// They are asked about each key before the screen does anything with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hears_keys: bool,
}

/// Marks that stand in turn at one place; with none nothing stands there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Indicator {
    pub frames: Vec<String>,
    /// How long each stands.
    pub interval_ms: u64,
}

/// A wish that is to be followed once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumberedWish {
    /// Counts from 1 in the process that wishes.
    pub number: u64,
    pub wish: bool,
}

/// One change of [`Looks`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Look {
    Indicator(Option<Indicator>),
    HidesWorking(bool),
    ThoughtLabel(Option<String>),
    Unfolds(bool),
    HearsKeys(bool),
    /// The screen's own way, as for extensions that begin again.
    Own,
}

impl Looks {
    #[must_use]
    pub fn are_own(&self) -> bool {
        *self == Self::default()
    }

    pub fn change(&mut self, look: Look) {
        match look {
            Look::Indicator(indicator) => self.indicator = indicator,
            Look::HidesWorking(hides) => self.hides_working = hides,
            Look::ThoughtLabel(label) => self.thought_label = label,
            Look::Unfolds(wish) => {
                let number = self.unfolds.map_or(0, |before| before.number) + 1;
                self.unfolds = Some(NumberedWish { number, wish });
            }
            Look::HearsKeys(hears) => self.hears_keys = hears,
            Look::Own => *self = Self { unfolds: self.unfolds, ..Self::default() },
        }
    }
}

/// What a person does that extensions are to know of at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "does", rename_all = "snake_case")]
pub enum Gesture {
    /// Keys or a paste for a component, as a terminal sends them, typed at a screen of this name.
    Type {
        component: u64,
        data: String,
        #[serde(default)]
        by: String,
    },
    /// The text of an editor is this from here on.
    Write { component: u64, text: String },
    /// Closes a component, whatever it does.
    Close { component: u64 },
    /// The screen has this size from here on.
    Resize(ScreenSize),
    /// The screen can show these themes from here on, and shows one of them.
    Themes(Themes),
    /// The draft is this from here on.
    Draft { text: String },
    /// Details are shown in full from here on, or folded.
    Unfold { open: bool },
}

/// A key that runs something of an extension.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferedShortcut {
    /// As extensions write it: `ctrl+x`.
    pub key: String,
    pub about: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_gesture_and_look_comes_back_as_it_was_sent() {
        let screen = ScreenSize { columns: 80, rows: 24, inner: 78 };
        for gesture in [
            Gesture::Type { component: 1, data: "x".to_owned(), by: "s".to_owned() },
            Gesture::Write { component: 1, text: "x".to_owned() },
            Gesture::Close { component: 1 },
            Gesture::Resize(screen),
            Gesture::Themes(Themes::default()),
            Gesture::Draft { text: "x\ny".to_owned() },
            Gesture::Unfold { open: true },
        ] {
            let sent = serde_json::to_string(&gesture).unwrap();
            assert_eq!(serde_json::from_str::<Gesture>(&sent).unwrap(), gesture, "{sent}");
        }
        let mut looks = Looks::default();
        assert!(looks.are_own());
        for look in [
            Look::Indicator(Some(Indicator { frames: vec!["x".to_owned()], interval_ms: 80 })),
            Look::HidesWorking(true),
            Look::ThoughtLabel(Some("musing".to_owned())),
            Look::Unfolds(true),
            Look::HearsKeys(true),
        ] {
            looks.change(look);
            let sent = serde_json::to_string(&looks).unwrap();
            assert_eq!(serde_json::from_str::<Looks>(&sent).unwrap(), looks, "{sent}");
            assert!(!looks.are_own());
        }
        looks.change(Look::Own);
        // A wish is not made again.
        assert_eq!(looks, Looks { unfolds: Some(NumberedWish { number: 1, wish: true }), ..Looks::default() });
    }
}
