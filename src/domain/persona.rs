//! Who a thread speaks and works as.

use serde::{Deserialize, Serialize};

/// A part that a model plays until it is given another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Persona {
    pub name: String,
    /// How it speaks and works, for the model.
    pub text: String,
}
