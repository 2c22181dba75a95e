//! Remembering what a person has allowed for good.

/// Keeps answers of the kind "always", for this project and exactly this capability.
pub trait Approvals: Send + Sync {
    /// # Errors
    /// The sentence a person should read when it could not be kept.
    fn keep(&self, capability: &str) -> Result<(), String>;
}

/// Remembers nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Forgetful;

impl Approvals for Forgetful {
    fn keep(&self, _capability: &str) -> Result<(), String> {
        Ok(())
    }
}
