//! Puts together what threads of a project are run with.

use super::directive_planner::DirectivePlanner;
use super::setup::{Setup, SetupError};
use crate::domain::ThreadId;
use crate::items::Items;
use crate::store::summary::Specification;
use crate::worker::host::Hosting;
use crate::worker::supervisor::ThreadFactory;
use secrecy::SecretString;
use std::sync::Arc;

/// The threads of one project, with what their process knows: settings, connections to providers, who may approve.
#[derive(Debug)]
pub struct Factory {
    pub setup: Setup,
    /// Capabilities for which nobody needs to be asked.
    pub allowed: Vec<String>,
    /// What a client has to say to approve calls.
    pub secret: Option<SecretString>,
}

impl Factory {
    /// For threads whose calls nobody approves over the socket.
    #[must_use]
    pub fn new(setup: Setup) -> Self {
        Self { setup, allowed: Vec::new(), secret: None }
    }

    /// What the thread `id` is hosted with, where its directive was planned before.
    ///
    /// # Errors
    /// [`SetupError::Runtime`].
    pub fn planned(&self, id: &ThreadId, items: &Items, planner: DirectivePlanner) -> Result<Hosting, SetupError> {
        let (grants, limits) = (planner.grants.clone(), planner.limits);
        let mut hosting = self.setup.hosting(id.clone(), Arc::new(planner))?;
        (hosting.limits, hosting.secret) = (limits, self.secret.clone());
        self.setup.equip(&mut hosting, items, grants, self.allowed.clone());
        Ok(hosting)
    }
}

impl ThreadFactory for Factory {
    fn hosting(&self, id: &ThreadId, begun: Specification) -> Result<Hosting, String> {
        let items = self.setup.items();
        let planner = DirectivePlanner::prepare(&self.setup, &begun.directive, Some(begun.inputs))
            .map_err(|error| error.to_string())?;
        for problem in &planner.problems {
            tracing::warn!(%problem, "in the directive");
        }
        self.planned(id, &items, planner).map_err(|error| error.to_string())
    }
}
