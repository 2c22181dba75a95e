//! That a server's lists changed: told to people, once for each connection. What is kept in files changes only when they ask for it.

use super::server::Server;
use rmcp::model::{ProtocolVersion, ServerNotification, SubscriptionFilter};
use rmcp::service::{Peer, RoleClient};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use tokio::task::JoinSet;

/// The first version of the protocol in which changes are told only to who asked for them.
const ASKED_FOR: ProtocolVersion = ProtocolVersion::V_2026_07_28;

type Tell = Box<dyn Fn(String) + Send + Sync>;

/// Who tells people something, once there is somebody.
#[derive(Clone, Default)]
pub(super) struct Teller(Arc<OnceLock<Tell>>);

impl Teller {
    /// The first who is named stays.
    pub(super) fn set(&self, tell: impl Fn(String) + Send + Sync + 'static) {
        let _known = self.0.set(Box::new(tell));
    }
}

impl std::fmt::Debug for Teller {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Teller")
    }
}

/// What one connection tells of changes.
#[derive(Clone, Debug)]
pub(super) struct Changes {
    server: String,
    teller: Teller,
    told: Arc<AtomicBool>,
}

impl Changes {
    pub(super) fn of(server: &Server, teller: &Teller) -> Self {
        Self { server: server.name().to_owned(), teller: teller.clone(), told: Arc::default() }
    }

    /// `what` changed: tools, prompts or resources.
    pub(super) fn tell(&self, what: &str) {
        let Some(tell) = self.teller.0.get() else { return };
        if !self.told.swap(true, Ordering::Relaxed) {
            let server = &self.server;
            tell(format!(
                "the MCP server {server} says that its {what} changed; levain goes on with those it knows: levain mcp refresh {server}"
            ));
        }
    }

    /// Asks a server to tell of changes, where it does so only for who asked. Whoever drops what this gives back hears no more.
    pub(super) fn ask(self, peer: &Peer<RoleClient>) -> JoinSet<()> {
        let mut asking = JoinSet::new();
        let Some(info) = peer.peer_info() else { return asking };
        let mut filter = SubscriptionFilter::new();
        let capabilities = &info.capabilities;
        let list_changed = |flag: Option<bool>| flag.filter(|flag| *flag);
        filter.tools_list_changed = capabilities.tools.as_ref().and_then(|tools| list_changed(tools.list_changed));
        filter.prompts_list_changed = capabilities.prompts.as_ref().and_then(|all| list_changed(all.list_changed));
        filter.resources_list_changed = capabilities.resources.as_ref().and_then(|all| list_changed(all.list_changed));
        if info.protocol_version < ASKED_FOR || filter == SubscriptionFilter::new() {
            return asking;
        }
        let peer = peer.clone();
        asking.spawn(async move {
            // One that does not do so is as one that never changes.
            let Ok(mut subscription) = peer.listen(filter).await else { return };
            while let Ok(Some(news)) = subscription.next().await {
                if matches!(news, ServerNotification::ToolListChangedNotification(_)) {
                    self.tell("tools");
                } else if matches!(news, ServerNotification::PromptListChangedNotification(_)) {
                    self.tell("prompts");
                } else if matches!(news, ServerNotification::ResourceListChangedNotification(_)) {
                    self.tell("resources");
                }
            }
        });
        asking
    }
}
