//! Commands that do something with words behind them: `/break input`, `/background stop`, `/mcp test`.

use super::message::Effect;
use super::model::Model;
use crate::commands::CommandId;

/// Does something with words, or says what is wrong with them.
type Act = fn(&mut Model, &str) -> Result<Vec<Effect>, String>;

/// Those that do.
const ACTS: [(CommandId, Act); 4] = [
    (CommandId::PipelineBreak, Model::add_breakpoint),
    (CommandId::PipelineGo, Model::go_on),
    (CommandId::ThreadBackground, Model::stop_background),
    (CommandId::ServersShow, Model::ask_servers),
];

impl Model {
    /// Does what a command does with words behind it; none for one that has no use for them, or does nothing now.
    pub(super) fn with_words(&mut self, command: CommandId, words: &str) -> Option<Result<Vec<Effect>, String>> {
        let (_, act) = ACTS.into_iter().find(|(known, _)| *known == command)?;
        self.obstacle(command).is_none().then(|| act(self, words))
    }
}
