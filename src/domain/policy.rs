//! What the person wants done about signatures, space by space.

use super::Space;
use std::fmt;

/// What a missing or bad signature means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// Signatures are not looked at.
    Off,
    /// A bad signature is told; a missing one is nothing.
    #[default]
    Warn,
    /// Only what somebody trusted signed as a whole is used.
    Require,
}

impl Policy {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Warn => "warn",
            Self::Require => "require",
        }
    }
}

/// The [`Policy`] of each space. What is in the program itself needs no signature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Policies {
    pub project: Policy,
    pub user: Policy,
    /// For further bundles.
    pub system: Policy,
}

impl Policies {
    /// What holds in `space`.
    #[must_use]
    pub fn of(&self, space: Space) -> Policy {
        match space {
            Space::Project => self.project,
            Space::User => self.user,
            Space::System => self.system,
        }
    }
}

impl fmt::Display for Policies {
    /// `warn`, or `project=require,user=warn,system=warn`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { project, user, system } = self;
        if project == user && user == system {
            return formatter.write_str(project.word());
        }
        write!(formatter, "project={},user={},system={}", project.word(), user.word(), system.word())
    }
}

/// Whether commands of models are confined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SandboxMode {
    /// Those whose grant says so, where it can be enforced; elsewhere such a grant asks.
    #[default]
    Auto,
    /// None. A grant that says so asks.
    Off,
    /// All. Where it cannot be enforced none runs.
    Require,
}

impl SandboxMode {
    /// The word in settings.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Off => "off",
            Self::Require => "require",
        }
    }
}
