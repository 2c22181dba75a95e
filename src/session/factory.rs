//! Puts together what threads of a project are run with.

use super::built_in::{Equipment, Running};
use super::children::ThreadsOf;
use super::directive_planner::DirectivePlanner;
use super::extension_handlers::ExtensionHandlers;
use super::extension_tools::ExtensionTools;
use super::server_prompts::ServerPrompts;
use super::setup::{Setup, SetupError};
use super::toolbox::Outside;
use crate::domain::{Permissions, Slots, ThreadId};
use crate::engine::driver::Budgets;
use crate::items::Items;
use crate::ports::Ledger;
use crate::providers::ExtensionStreams;
use crate::store::KeptLedger;
use crate::store::content::KeptTexts;
use crate::store::summary::Specification;
use crate::worker::host::{Hosting, REPLAY};
use crate::worker::supervisor::{Supervisor, ThreadFactory};
use secrecy::SecretString;
use std::sync::{Arc, Weak};

/// The threads of one project, with what their process knows: settings, connections to providers, who may approve.
#[derive(Debug)]
pub struct Factory {
    pub setup: Arc<Setup>,
    /// Capabilities for which nobody needs to be asked.
    pub allowed: Vec<String>,
    /// What a client has to say to approve calls.
    pub secret: Option<SecretString>,
    /// Of the project, for all threads of this process.
    ledger: Arc<KeptLedger>,
}

impl Factory {
    /// For threads whose calls nobody approves over the socket.
    #[must_use]
    pub fn new(setup: Setup) -> Self {
        let ledger = Arc::new(KeptLedger::new(&setup.layout, REPLAY));
        Self { setup: Arc::new(setup), allowed: Vec::new(), secret: None, ledger }
    }

    /// What the thread `id`, which begins as `begun`, is hosted with by `supervisor`, where its directive was planned before.
    ///
    /// # Errors
    /// [`SetupError::Runtime`].
    pub fn planned(
        &self,
        id: &ThreadId,
        items: &Items,
        planner: DirectivePlanner,
        begun: &Specification,
        supervisor: &Supervisor,
    ) -> Result<Hosting, SetupError> {
        let Specification { lineage, ceilings, .. } = begun;
        let permissions = Permissions::below(planner.grants.clone(), ceilings.clone());
        let limits = planner.limits;
        let (risk, words) = (planner.unacknowledged.clone(), planner.tools.clone());
        let mut hosting = self.setup.hosting(id.clone(), Arc::new(planner))?;
        let extensions = Arc::new(ExtensionHandlers::new(&self.setup, Some(id.clone())));
        let connections = Arc::new(self.setup.connections());
        let prompts = ServerPrompts::new(&self.setup, items, Some(id), Arc::clone(&connections));
        let models = self.setup.models.clone();
        hosting.models = Box::new(models.answered_by(Arc::clone(&extensions) as Arc<dyn ExtensionStreams>));
        hosting.handlers = self.setup.handlers_with((items, &begun.directive), Arc::clone(&extensions), prompts);
        (hosting.limits, hosting.secret, hosting.risk) = (limits, self.secret.clone(), risk);
        let slots = match &lineage.parent {
            // A child that is waited for works in the place of its parent.
            Some(parent) if supervisor.get(parent).is_some() => Slots { threads: None, ..self.setup.slots() },
            Some(_) => self.setup.slots(),
            None => Slots::default(),
        };
        hosting.budgets = Some(Budgets { ledger: Arc::clone(&self.ledger) as Arc<dyn Ledger>, slots });
        let threads = ThreadsOf {
            thread: id.clone(),
            setup: Arc::clone(&self.setup),
            supervisor: supervisor.clone(),
            orchestrator: self.setup.orchestrator()?,
            budgets: Budgets { ledger: Arc::clone(&self.ledger) as Arc<dyn Ledger>, slots: self.setup.slots() },
        };
        let outside = Outside { threads: Some(Arc::new(threads)), connections };
        self.setup.equip(&mut hosting, items, permissions, self.allowed.clone(), outside);
        let (others, permissions) = (Arc::clone(&hosting.tools), hosting.permissions.clone());
        let running = Running::default();
        let tools = Arc::new(ExtensionTools {
            others,
            extensions: Arc::clone(&extensions),
            permissions,
            running: Arc::clone(&running),
            keeps: Some(Arc::new(KeptTexts::new(self.setup.layout.objects()))),
        });
        let (all, of_plan, of_extensions) = (Arc::downgrade(&tools), Arc::downgrade(&tools), Arc::downgrade(&tools));
        let list = move || all.upgrade().map(|tools| tools.all()).unwrap_or_default();
        let said = |of: &Weak<ExtensionTools>| of.upgrade().map(|tools| tools.words()).unwrap_or_default();
        words.come_from(move || said(&of_plan));
        extensions.equip(Equipment {
            all: Box::new(list),
            words: Box::new(move || said(&of_extensions)),
            built_in: Arc::clone(&tools.others),
            permissions: hosting.permissions.clone(),
            running,
        });
        hosting.tools = tools;
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
        let items = self.setup.items();
        let inputs = Some(begun.inputs.clone());
        let planner =
            DirectivePlanner::prepare(&self.setup, &begun.directive, inputs).map_err(|error| error.to_string())?;
        for problem in &planner.problems {
            tracing::warn!(%problem, "in the directive");
        }
        self.planned(id, &items, planner, &begun, supervisor).map_err(|error| error.to_string())
    }
}
