//! Asking MCP servers for their prompts, which people use like templates.

use super::parent::PARENT;
use super::setup::Setup;
use crate::config::{Dirs, Trust};
use crate::domain::{SandboxMode, Space, ThreadId};
use crate::items::Items;
use crate::items::prompt_file::PromptFile;
use crate::items::server_prompt::ServerPrompt;
use crate::ports::ThreadAccess;
use crate::tools::mcp::{Connections, Server, With};
use serde_json::{Map, Value};
use std::path::PathBuf;
use std::sync::Arc;

/// What is said of a file or a server of a project that nobody has trusted as it is.
const UNTRUSTED: &str = "you have not trusted this project as it is (levain trust)";

/// Who asks.
#[derive(Debug)]
pub(super) struct ServerPrompts {
    items: Items,
    /// Where the person's trust is written.
    dirs: Dirs,
    root: PathBuf,
    with: With,
    connections: Arc<Connections>,
}

impl ServerPrompts {
    /// Asks by the connections of the thread `thread`, as its tools do.
    pub(super) fn new(
        setup: &Setup,
        items: &Items,
        thread: Option<&ThreadId>,
        connections: Arc<Connections>,
    ) -> Arc<Self> {
        let mut with = setup.mcp();
        if let Some(thread) = thread {
            with.environment = with.environment.with(PARENT, thread.as_str());
        }
        let sandbox = setup.sandbox();
        with.confinement = (sandbox.mode == SandboxMode::Require).then(|| sandbox.confinement(&[], &[]));
        let (dirs, root) = (setup.dirs.clone(), setup.project.root.clone());
        Arc::new(Self { items: items.clone(), dirs, root, with, connections })
    }

    /// The thread in which they are asked: what servers say without being asked is told there.
    pub(super) fn join(&self, thread: Arc<dyn ThreadAccess>) {
        self.connections.tell_by(move |text| thread.notice(text));
    }

    /// The text that the server makes of the prompt in `file`. What a project brings is asked once the person trusts it.
    ///
    /// # Errors
    /// Why there is none, in words that name the server.
    pub(super) async fn ask(
        self: Arc<Self>,
        file: PromptFile,
        asks: ServerPrompt,
        arguments: Map<String, Value>,
    ) -> Result<String, String> {
        let this = Arc::clone(&self);
        let name = asks.name.clone();
        let find =
            move || this.server(&file, &asks).map_err(|why| format!("{} was not asked: {why}", asks.server_name()));
        let server = tokio::task::spawn_blocking(find).await.map_err(|error| error.to_string())??;
        self.connections.prompt(&server, &name, arguments, &self.with).await
    }

    /// The server, as its file is now.
    fn server(&self, file: &PromptFile, asks: &ServerPrompt) -> Result<Server, String> {
        let mut trust = None;
        let mut trust = || trust.get_or_insert_with(|| Trust::of(&self.dirs, &self.root)).clone();
        if file.space == Space::Project {
            let below = file.file.strip_prefix(&self.root).map_err(|_elsewhere| UNTRUSTED)?;
            if !trust().covers_file(&below.to_string_lossy()) {
                return Err(UNTRUSTED.to_owned());
            }
        }
        let items = self.items.afresh();
        let (server, found) = Server::find(&items, &asks.server)?;
        if items.space(found.item) == Space::Project && !trust().allows() {
            return Err(UNTRUSTED.to_owned());
        }
        Ok(server)
    }
}
