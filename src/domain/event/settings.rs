//! What holds for the thread from here on.

use crate::domain::assembly::LayerChange;
use crate::domain::capability::Grant;
use crate::domain::id::ModelRef;
use crate::domain::note::{Note, NoteKind, limits_in_words};
use crate::domain::persona::Persona;
use crate::domain::rules::Rules;
use crate::domain::status::Limits;
use crate::domain::todo::TodoList;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use strum::VariantNames;

/// What holds for the thread from here on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, VariantNames)]
#[serde(tag = "event_type", content = "payload", rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "there is one such event for each process that takes a thread over")]
pub enum SettingsEvent {
    /// The thread answers with another model from here on.
    ModelChanged { model: ModelRef },
    /// The limits are different from here on.
    LimitsChanged { limits: Limits },
    /// What the thread does from here on about failures, limits and a full window.
    RulesSet { rules: Rules },
    /// What the thread may do from here on.
    PermissionsSet {
        grants: Vec<Grant>,
        allowed: Vec<String>,
        /// Whether commands can be confined where it runs.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        confines: bool,
    },
    /// The thread is called so from here on, whatever was said first.
    TitleSet { title: String },
    /// The thread is listed apart from here on, or with the others again.
    Archived { archived: bool },
    /// The thread speaks and works as somebody else from here on, or as itself again.
    PersonaChanged { persona: Option<Persona> },
    /// These layers are otherwise in the thread than its directive and settings say, in each of its requests.
    LayersChanged { layers: Vec<LayerChange> },
    /// The thread keeps these values from here on; one that is null is no longer kept.
    StateSet { values: Map<String, Value> },
}

impl SettingsEvent {
    /// See [`super::Event::is_critical`].
    pub(super) fn is_critical(&self) -> bool {
        matches!(
            self,
            Self::ModelChanged { .. } | Self::LimitsChanged { .. } | Self::TitleSet { .. } | Self::Archived { .. }
        )
    }

    /// See [`super::Event::note`].
    pub(super) fn note(&self) -> Option<Note> {
        let (kind, text) = match self {
            Self::ModelChanged { model } => (NoteKind::Info, format!("model is now {model}")),
            Self::LimitsChanged { limits } => (NoteKind::Info, format!("limits are now {}", limits_in_words(limits))),
            Self::PermissionsSet { grants, .. } => {
                (NoteKind::Info, format!("permissions changed: {} grants", grants.len()))
            }
            Self::PersonaChanged { persona: Some(persona) } => {
                (NoteKind::Info, format!("persona is now {}", persona.name))
            }
            Self::LayersChanged { layers } => {
                let told = layers.iter().map(|change| match &change.text {
                    Some(_) => format!("{} with another text", change.id),
                    None => format!("without {}", change.id),
                });
                (NoteKind::Context, format!("what if: {}", told.collect::<Vec<_>>().join(", ")))
            }
            Self::PersonaChanged { persona: None } => (NoteKind::Info, "persona is now none".to_owned()),
            Self::StateSet { values } if values.len() == 1 && TodoList::set_by(values).is_some() => {
                let list = TodoList::set_by(values).unwrap_or_default();
                (NoteKind::Info, format!("to-do list: {}", list.summary()))
            }
            Self::StateSet { values } => (NoteKind::Info, format!("state is now {}", told(values))),
            Self::TitleSet { title } => (NoteKind::Info, format!("title is now \"{title}\"")),
            Self::Archived { archived: true } => (NoteKind::Info, "the thread was archived".to_owned()),
            Self::Archived { archived: false } => (NoteKind::Info, "the thread is no longer archived".to_owned()),
            Self::RulesSet { .. } => return None,
        };
        Some(Note { kind, text })
    }
}

/// `tries = 2, done removed`
fn told(values: &Map<String, Value>) -> String {
    const MOST: usize = 60;
    let one = |(name, value): (&String, &Value)| {
        if value.is_null() {
            return format!("{name} removed");
        }
        let text = value.to_string();
        let most = text.floor_char_boundary(MOST);
        let cut = text.get(..most).unwrap_or_default();
        format!("{name} = {cut}{}", if cut.len() < text.len() { "…" } else { "" })
    };
    values.iter().map(one).collect::<Vec<_>>().join(", ")
}
