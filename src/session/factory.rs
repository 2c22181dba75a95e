//! Puts together what threads of a project are run with.

use super::children::ThreadsOf;
use super::directive_planner::DirectivePlanner;
use super::orchestrator::Orchestrator;
use super::setup::{Setup, SetupError};
use crate::domain::{Grant, ThreadId};
use crate::items::Items;
use crate::store::summary::Specification;
use crate::worker::host::Hosting;
use crate::worker::supervisor::{Supervisor, ThreadFactory};
use secrecy::SecretString;
use std::sync::Arc;

/// The threads of one project, with what their process knows: settings, connections to providers, who may approve.
#[derive(Debug)]
pub struct Factory {
    pub setup: Arc<Setup>,
    /// Capabilities for which nobody needs to be asked.
    pub allowed: Vec<String>,
    /// What a client has to say to approve calls.
    pub secret: Option<SecretString>,
}

impl Factory {
    /// For threads whose calls nobody approves over the socket.
    #[must_use]
    pub fn new(setup: Setup) -> Self {
        Self { setup: Arc::new(setup), allowed: Vec::new(), secret: None }
    }

    /// What the thread `id` is hosted with by `supervisor`, where its directive was planned before. It grants nothing beyond
    /// `ceilings`.
    ///
    /// # Errors
    /// [`SetupError::Runtime`].
    pub fn planned(
        &self,
        id: &ThreadId,
        items: &Items,
        planner: DirectivePlanner,
        ceilings: &[Vec<Grant>],
        supervisor: &Supervisor,
    ) -> Result<Hosting, SetupError> {
        let (mut grants, limits) = (planner.grants.clone(), planner.limits);
        // A child that names nothing may do what its parent may.
        if let Some(nearest) = ceilings.first().filter(|_| grants.is_empty()) {
            grants.clone_from(nearest);
        }
        let mut hosting = self.setup.hosting(id.clone(), Arc::new(planner))?;
        (hosting.limits, hosting.secret) = (limits, self.secret.clone());
        let threads = ThreadsOf {
            thread: id.clone(),
            setup: Arc::clone(&self.setup),
            supervisor: supervisor.clone(),
            orchestrator: Orchestrator::new(self.setup.launcher()?),
        };
        self.setup.equip(&mut hosting, items, grants, self.allowed.clone(), Some(Arc::new(threads)));
        Ok(hosting)
    }
}

impl ThreadFactory for Factory {
    fn hosting(
        self: Arc<Self>,
        id: &ThreadId,
        begun: Specification,
        supervisor: &Supervisor,
    ) -> Result<Hosting, String> {
        let Specification { directive, inputs, ceilings } = begun;
        let items = self.setup.items();
        let planner =
            DirectivePlanner::prepare(&self.setup, &directive, Some(inputs)).map_err(|error| error.to_string())?;
        for problem in &planner.problems {
            tracing::warn!(%problem, "in the directive");
        }
        self.planned(id, &items, planner, &ceilings, supervisor).map_err(|error| error.to_string())
    }
}
